"""Answers given elsewhere: taken in once, all of them, without touching what judges gave here."""

from datetime import UTC, datetime

import polars as pl
import pytest
from store_samples import NOW, Judge, fresh, held_of, rows_of, study_of

from endoxa.errors import EndoxaError, JoinError, RefusedError
from endoxa.store import making, status
from endoxa.studies.latest import opinions
from endoxa.tables import Opinions

PAIRS = [("red", "item-0-0"), ("red", "item-0-1"), ("red", "item-0-2"), ("green", "item-1-0")]


def table(*rows, **columns):
    """Rows of source, query, item, grade."""
    names = ("source", "query", "item", "grade")
    frame = pl.DataFrame(
        rows, schema=dict.fromkeys(names[:3], pl.String) | {"grade": pl.Float64}, orient="row"
    ).with_columns(pl.Series(name, values) for name, values in columns.items())
    return Opinions.of(frame)


def study_here(place, **settings):
    return study_of(place, screen="four-results", per_task=3, main=2, name=fresh("imported"), settings=settings)


def held(place, study):
    return held_of(place, study).select("source", "query", "item", "grade").sort("source", "query", "item").rows()


def test_every_answer_is_held_though_a_page_shows_several(place):
    study = study_here(place)
    rows = [("old", query, item, float(grade)) for grade, (query, item) in enumerate(PAIRS, 1)]
    said = making.add_answers(place, study.name, table(*rows), now=NOW)
    assert said == "4 answers imported; 0 were imported before"
    assert held(place, study) == sorted(rows, key=lambda row: row[1:3])


def test_importing_again_changes_nothing(place):
    study = study_here(place)
    rows = [("old", *pair, 2.0) for pair in PAIRS] + [("older", *pair, None) for pair in PAIRS]
    making.add_answers(place, study.name, table(*rows), now=NOW)
    before = rows_of(place, study)
    said = making.add_answers(place, study.name, table(*rows[::-1]), now=NOW + 1)
    assert said == "0 answers imported; 8 were imported before"
    assert rows_of(place, study).equals(before)


def test_a_corrected_file_adds_what_is_new_and_the_latest_counts(place):
    study = study_here(place)
    making.add_answers(place, study.name, table(*[("old", *pair, 2.0) for pair in PAIRS]), now=NOW)
    corrected = table(("old", *PAIRS[0], 5.0), ("old", *PAIRS[1], 2.0))
    assert making.add_answers(place, study.name, corrected, now=NOW).startswith("1 answers imported; 1 ")
    assert [row[3] for row in held(place, study)] == [2.0, 5.0, 2.0, 2.0]
    assert rows_of(place, study).height == 5


def test_answers_given_here_stay(place):
    """The judge of that name has rated a page of three; earlier answers about one of them take nothing away."""
    study = study_here(place, overlap=1)
    ana = Judge(place, study)
    ana.finish(4.0)
    before = held(place, study)
    assert len(before) == 6
    making.add_answers(place, study.name, table(("ana", *PAIRS[0], 1.0)), now=NOW + 1)
    given = opinions(held_of(place, study), "1-5").frame
    assert given.height == 6
    assert held_of(place, study).height == 7
    assert ana.undo().id  # and the slots know nothing of the import
    assert ana.progress().done == 1


def test_what_was_recorded_comes_along(place):
    study = study_here(place)
    at = datetime(2020, 2, 3, 4, 5, 6, 789, UTC)
    pairs = [("blue", "item-0-0"), PAIRS[2]]
    rich = table(
        *[("old", *pair, 3.0) for pair in pairs], propensity=[0.125] * 2, selected_by=["pool"] * 2,
        role=["common"] * 2, at=pl.Series([at] * 2, dtype=pl.Datetime("us", "UTC")),
    )  # fmt: skip
    making.add_answers(place, study.name, rich, now=NOW)
    rows = rows_of(place, study)
    assert set(rows.select("source", "role", "method", "at").rows()) == {("old", "common", "import", at)}
    # of a pair that is planned here counts how it was chosen here
    assert rows.select("propensity", "selected_by").rows() == [(0.125, "pool"), (0.75, "a+b")]
    making.add_answers(place, study.name, table(("old", *PAIRS[3], 3.0)), now=NOW)
    assert rows_of(place, study).row(-1, named=True)["at"].timestamp() == NOW


def test_a_pair_that_nobody_was_asked_about(place):
    study = study_here(place)
    pair = ("blue", "item-0-0")
    making.add_answers(place, study.name, table(("old", *pair, 3.0), ("new", *pair, 4.0)), now=NOW)
    assert held(place, study) == [("new", *pair, 4.0), ("old", *pair, 3.0)]
    assert rows_of(place, study)["task"].n_unique() == 1
    assert Judge(place, study).progress().total == 2  # nobody is asked about it because of this


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("old", "red", "no such item", 3.0)], "no pair 'red', 'no such item'"),
        ([("old", "no such query", "item-0-0", 3.0)], "import the items and queries first"),
        ([("old", *PAIRS[0], 7.0)], "7 is not on the scale from 1 to 5"),
        ([("old", *PAIRS[0], 2.5)], "2.5 is not on the scale"),
        ([("x" * 61, *PAIRS[0], 2.0)], "at most 60 characters"),
        ([("Ana", *PAIRS[0], 2.0), ("ANA", *PAIRS[1], 2.0)], "'ANA' and 'Ana' differ only in letter case"),
    ],
)
def test_what_does_not_fit_is_refused_whole(place, rows, message):
    study = study_here(place)
    with pytest.raises(EndoxaError, match=message):
        making.add_answers(place, study.name, table(("old", *PAIRS[3], 1.0), *rows), now=NOW)
    assert rows_of(place, study).height == 0


def test_roles_that_are_none(place):
    study = study_here(place)
    with pytest.raises(EndoxaError, match="role 'nonsense and long' is none of"):
        making.add_answers(place, study.name, table(("old", *PAIRS[0], 1.0), role=["nonsense and long"]), now=NOW)


def test_only_ratings_are_taken_in(place):
    study = study_of(place, screen="rank-it", per_task=2, main=1)
    with pytest.raises(RefusedError, match="does not collect ratings"):
        making.add_answers(place, study.name, table(("old", "red", "item-0-0", 1.0)), now=NOW)
    with pytest.raises(RefusedError, match="no study is called"):
        making.add_answers(place, "nowhere-at-all", table(("old", "red", "item-0-0", 1.0)), now=NOW)


def test_status_after_an_import(place):
    study = study_here(place)
    rows = [(source, *pair, float(grade)) for grade, pair in enumerate(PAIRS, 1) for source in ("old", "older")]
    making.add_answers(place, study.name, table(*rows), now=NOW)
    with place.store.reading() as connection:
        found = status.status(connection, study, now=NOW)
    assert found["progress"]["answers"] == 8
    assert found["agreement"]["alpha"] == 1.0
    assert {one["nickname"] for one in found["raters"]} == {"old", "older"}


def test_the_error_names_the_join(place):
    study = study_here(place)
    with pytest.raises(JoinError):
        making.add_answers(place, study.name, table(("old", "red", "nope", 1.0)), now=NOW)
