"""The dashboard's numbers: consistent with the answers, JSON all through, and never dying on a poor study."""

import json
import math

import polars as pl
import pytest
from store_samples import NOW, Judge, fresh, held_of, study_of
from study_samples import make

from endoxa.io.study_files import Sources
from endoxa.store import catalogue, people, status, work
from endoxa.studies.design import Settings
from endoxa.tables import Taxonomy


def status_of(place, study, now=NOW):
    with place.store.reading() as connection:
        found = status.status(connection, study, now=now)
    json.dumps(found, allow_nan=False)  # what a page can read
    return found


@pytest.mark.parametrize("screen", ["four-results", "one-result", "yes-no", "five-levels", "file-it", "rank-it"])
def test_a_study_without_answers(place, screen):
    study = study_of(place, screen=screen, main=3, common=1, settings={"overlap": 2})
    found = status_of(place, study)
    assert found["progress"] == {
        "planned": 6, "done": 0, "raters": 0, "answers": 0, "undecided": 0, "skipped": 0, "per_hour": [],
    }  # fmt: skip
    assert found["raters"] == [] and found["agreement"] is None and found["verdict"] is None
    assert found["uniformity"] is None
    Judge(place, study)
    assert status_of(place, study)["progress"]["raters"] == 1


def test_a_study_without_anything(place):
    study = study_of(place, main=0)
    assert status_of(place, study)["progress"]["planned"] == 0


def test_a_judge_with_one_answer(place, material):
    settings = Settings(name=fresh(), screen="four-results", common=1)
    made = make(place, settings, Sources(material.items, runs=material.runs), now=NOW)
    ana = Judge(place, made.study)
    ana.answer(ana.tasks()[0], 4.0)
    found = status_of(place, made.study)
    (row,) = found["raters"]
    held = held_of(place, made.study).height
    assert (row["nickname"], row["answers"], row["undecided"], row["skipped"]) == ("ana", held, 0, 0)
    assert row["drift"] is None and row["correlation"] is None
    assert found["agreement"]["alpha"] is None  # nobody to agree with
    assert found["progress"]["answers"] == held
    assert found["verdict"]["pairs"], "the verdict speaks, even if only of why it cannot say more"
    assert not any(one["decided"] for one in found["verdict"]["pairs"])
    assert all(one["state"] in {"one query", "unrated", "same"} for one in found["verdict"]["pairs"])
    assert all(one["lo"] is None and one["hi"] is None for one in found["verdict"]["pairs"])


@pytest.mark.parametrize("judges", [1, 3])
def test_all_answers_undecided(place, material, judges):
    settings = Settings(name=fresh(), screen="four-results", common=2, overlap=3)
    made = make(place, settings, Sources(material.items, runs=material.runs), now=NOW)
    for number in range(judges):
        Judge(place, made.study, f"judge {number}").finish(None)
    found = status_of(place, made.study)
    assert found["progress"]["undecided"] == found["progress"]["answers"] > 0
    assert found["uniformity"] is None
    assert found["agreement"] is None or found["agreement"]["alpha"] is None
    assert any("undecided" in flag for row in found["raters"] for flag in row["flags"])


def test_all_answers_alike(place):
    study = study_of(place, common=10)
    for name in ("ana", "ben"):
        Judge(place, study, name).finish(5.0)
    found = status_of(place, study)
    assert math.isclose(found["uniformity"]["normalised"], 1)
    assert all("gives every item the grade 5" in row["flags"] for row in found["raters"])
    assert all(row["correlation"] is None for row in found["raters"])


def test_a_judge_who_only_skipped_is_listed(place):
    study = study_of(place, main=12)
    ana = Judge(place, study)
    for _ in range(3):
        ana.skip(ana.tasks()[0])
    (row,) = status_of(place, study)["raters"]
    assert (row["nickname"], row["answers"], row["skipped"]) == ("ana", 0, 3)
    assert status_of(place, study)["progress"]["skipped"] == 3


def test_numbers_follow_the_answers(place):
    study = study_of(
        place, common=4, main=6, practice=1, gold=3, settings={"overlap": 2, "gold_every": 4},
    )  # fmt: skip
    ana, ben = Judge(place, study), Judge(place, study, "ben")
    done = ana.finish(4.0)  # gold wants 4
    ana.undo()
    ana.skip(ana.tasks()[0])
    first = ben.tasks()[0]
    ben.answer(first, 9.0)
    found = status_of(place, study)
    held = held_of(place, study)
    judged = held.filter(pl.col("role").is_in(["main", "common"]))
    assert found["progress"]["answers"] == judged.height
    assert found["progress"]["skipped"] + found["progress"]["done"] >= len(done) - 1 - 1 - 3
    rows = {row["nickname"]: row for row in found["raters"]}
    assert rows["ana"]["answers"] == judged.filter(pl.col("source") == "ana").height
    assert rows["ana"]["skipped"] == 1
    gold = held.filter((pl.col("source") == "ana") & (pl.col("role") == "gold")).height
    assert (rows["ana"]["gold_asked"], rows["ana"]["gold_right"]) == (gold, gold)
    assert rows["ben"]["answers"] == 0  # practice only
    assert sum(one["answers"] for one in found["progress"]["per_hour"]) == found["progress"]["answers"]
    shares = found["uniformity"]["shares"]
    assert sum(one["count"] for one in shares) == judged.height
    assert math.isclose(sum(one["share"] for one in shares), 1)


def test_planned_is_reached(place):
    study = study_of(place, common=2, main=4, settings={"overlap": 2})
    for name in ("ana", "ben"):
        Judge(place, study, name).finish()
    progress = status_of(place, study)["progress"]
    assert progress["done"] == progress["planned"] == 2 * 2 + 4 * 2


def test_filing_agrees_or_not(place):
    study = study_of(place, screen="file-it", common=6)
    tree = Taxonomy.of(pl.DataFrame({"category": ["top", "cats", "dogs"], "parent": [None, "top", "top"]}))
    with place.store.writing() as connection:
        catalogue.add_taxonomy(connection, study, tree, now=NOW)
    for name in ("ana", "ben"):
        judge = Judge(place, study, name)
        while given := judge.tasks():
            item = given[0].items[0]
            where = "cats" if int(item["name"].split("-")[1]) % 2 else "dogs"
            judge.answer(given[0], responses=[work.Response(item["id"], category=where)])
    found = status_of(place, study)
    assert found["agreement"]["alpha"] == 1.0 and found["agreement"]["level"] == "nominal"
    assert found["verdict"] is None and found["uniformity"] is None


def test_invitations_and_their_state(place):
    study = study_of(place, main=2)
    with place.store.writing() as connection:
        one, _ = people.invite(connection, place.key, study, "judge", nickname="gone", now=NOW)
        people.withdraw(connection, study, one, now=NOW)
        people.invite(connection, place.key, study, "judge", days=1, now=NOW - 2 * 86_400)
        people.invite(connection, place.key, study, "participant", now=NOW)
    ana = Judge(place, study)
    ana.answer(ana.tasks()[0], 1.0)
    rows = status_of(place, study)["invitations"]
    assert [(row["role"], row["nickname"], row["state"], row["answers"]) for row in rows] == [
        ("judge", "gone", "withdrawn", 0), ("judge", None, "expired", 0), ("participant", None, "open", 0),
        ("judge", "ana", "used", 1),
    ]  # fmt: skip


def test_the_same_status_twice(place, material):
    """Tasks given out at the same moment keep their order, and so do the intervals of the verdict."""
    settings = Settings(name=fresh(), screen="four-results", common=0, tasks_per_query=8)
    made = make(place, settings, Sources(material.items, runs=material.runs), now=NOW)
    ana = Judge(place, made.study)
    for number, task in enumerate(ana.tasks(10)):
        ana.answer(task, 1.0 + number % 5)
    first = status_of(place, made.study)
    assert all(status_of(place, made.study) == first for _ in range(3))
