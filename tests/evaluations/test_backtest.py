"""Decisions replayed: counts by hand, a slow oracle of what was right, and what became of courses and forecasts."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import endoxa
from endoxa.beliefs.learned import Universe
from endoxa.comparisons.posterior import posterior
from endoxa.errors import CallError, EndoxaError, FileError, JoinError, TextError
from endoxa.evaluations.backtest import EDGES, FIELD, PARTS, QUARTER, TRUE_QUARTER, Backtest, pooled, tally_of
from endoxa.examples import collection
from endoxa.measures.grammar import parse
from endoxa.pools.deciding import Deciding, Question, rows_of, simulate
from endoxa.tables import Belief, Opinions, Run

MEASURES = ["AP", "nDCG@10", "P@5"]
LEVELS, DRAWS = (0, 1, 4), 3


@pytest.fixture(scope="module")
def small() -> tuple[Run, Opinions]:
    """Eight queries, five systems, and what one person said."""
    run, opinions = collection(rng=np.random.default_rng(11))
    queries = run.frame["query"].unique().sort()[:8].to_list()
    names = run.systems[:5]
    kept = pl.col("query").is_in(queries)
    own = Run(run.frame.filter(kept & pl.col("system").is_in(names) & (pl.col("rank") <= 30)))
    return own, Opinions(opinions.frame.filter(kept & (pl.col("source") == "ada")))


@pytest.fixture(scope="module")
def found(small: tuple[Run, Opinions]) -> Backtest:
    run, judgments = small
    return endoxa.backtest(run, judgments, MEASURES, labels=LEVELS, draws=DRAWS, courses=6, most=100, seed=5)


# ---- by hand ------------------------------------------------------------------------------------------


def test_counts_of_four_systems_by_hand() -> None:
    """a, b, c, d: estimates .4 .3 .2 .1; the truth puts c before b, and d beside a."""
    better = np.array(
        [[0.5, 0.97, 0.96, 0.9], [0.03, 0.5, 0.995, 0.95], [0.04, 0.005, 0.5, 0.6], [0.1, 0.05, 0.4, 0.5]]
    )
    tally = tally_of(better, np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.1, 0.2, 0.5]), 0.95)
    field, quarter, true = (PARTS.index(part) for part in (FIELD, QUARTER, TRUE_QUARTER))
    # a-d are equal in truth; b-d (.95) is not above .95; of a-b, a-c, b-c the last is wrong
    assert tally.stated[field].tolist() == [5, 3, 2] and tally.equal.tolist() == [1, 0, 1]
    assert tally.stated[quarter].tolist() == [3, 3, 2]  # a, b, c by the estimate
    assert tally.stated[true].tolist() == [2, 1, 1]  # a, c, d by the truth: a-c right; c-d is no statement
    counts = dict(zip(EDGES, tally.bins[field, :, 0].tolist(), strict=False))
    assert counts == {0.5: 1, 0.6: 0, 0.7: 0, 0.8: 0, 0.9: 1, 0.95: 2, 0.99: 1}
    assert tally.bins[field, 5].tolist() == pytest.approx([2, 0.97 + 0.96, 2])
    assert tally.bins[field, 6].tolist() == pytest.approx([1, 0.995, 0])
    assert tally.bins[field, 4].tolist() == pytest.approx([1, 0.95, 0])  # b before d is wrong
    assert tally.bins[field, 0].tolist() == pytest.approx([1, 0.6, 0])
    assert np.argwhere(tally.seen[field]).tolist() == [[0, 1], [0, 2], [1, 2]]


def test_a_half_is_half_right_and_draws_add_up() -> None:
    even = tally_of(np.full((2, 2), 0.5), np.zeros(2), np.array([0.2, 0.1]), 0.95)
    assert even.bins[0, 0].tolist() == [1, 0.5, 0.5]
    sure = tally_of(np.array([[0.5, 0.0], [1.0, 0.5]]), np.zeros(2), np.array([0.2, 0.1]), 0.95)
    both = even + sure + sure
    assert both.stated[0].tolist() == [3, 2, 0] and both.bins[0, -1].tolist() == [2, 2, 0]
    assert both.seen[0].sum() == 1


def test_two_systems_by_hand() -> None:
    """All items are labelled: the better one is stated with certainty, and rightly so; without labels nothing is."""
    runs = {"a": {"q": {"x": 3, "y": 2, "z": 1}}, "b": {"q": {"z": 3, "y": 2, "x": 1}}}
    one = endoxa.backtest(runs, {"q": {"x": 1, "y": 0, "z": 0}}, ["AP"], labels=(0, 3), draws=2)
    rows = one.statements.filter(part=FIELD).select("labels", "pairs", "stated", "right", "draws", "distinct").rows()
    assert rows[0][:3] == (0, 1, 0) and math.isnan(rows[0][3]) and rows[0][4:] == (1, 0)
    assert rows[1] == (3, 2, 2, 1.0, 2, 1)
    assert one.distinct == 1 and (one.systems, one.topics, one.judgments) == (2, 1, 3)
    best = one.best.filter(labels=3).row(0, named=True)
    assert (best["draws"], best["said"], best["right"], best["unjudged"]) == (2, 1.0, 1.0, 0.0)
    with pytest.raises(JoinError, match="4 labels a topic are more than are judged: 3 a topic within the reach of AP"):
        endoxa.backtest(runs, {"q": {"x": 1, "y": 0, "z": 0}}, ["AP"], labels=[4])


def test_pairs_that_are_equal_by_all_judgments_are_left_out_and_counted() -> None:
    runs = {name: {"q": {"x": 3, "y": 2, "z": 1}} for name in "ab"} | {"c": {"q": {"z": 3, "y": 2, "x": 1}}}
    one = endoxa.backtest(runs, {"q": {"x": 1, "y": 0, "z": 0}}, ["P@1"], labels=(0,))
    assert one.statements.filter(part=FIELD).select("pairs", "equal").row(0) == (2, 1)


# ---- a slow oracle ------------------------------------------------------------------------------------


def slow(measure: str, ranked: list[float], every: list[float]) -> float:
    """The measure of one list by its definition; `every` are the grades of all judged items."""
    relevant = sum(grade > 0 for grade in every)
    if measure == "P@5":
        return sum(grade > 0 for grade in ranked[:5]) / 5
    if measure == "AP":
        hits = [place for place, grade in enumerate(ranked, 1) if grade > 0]
        return sum(number / place for number, place in enumerate(hits, 1)) / relevant
    gain = [grade / math.log2(place + 1) for place, grade in enumerate(ranked[:10], 1)]
    ideal = [grade / math.log2(place + 1) for place, grade in enumerate(sorted(every, reverse=True)[:10], 1)]
    return sum(gain) / sum(ideal)


def slow_truth(run: Run, judgments: Opinions, measure: str) -> dict[str, float]:
    grades = {(q, d): g for q, d, g in judgments.frame.select("query", "item", "grade").iter_rows()}
    queries = sorted({query for query, _ in grades})
    means = {}
    for system in run.systems:
        values = []
        for query in queries:
            rows = run.frame.filter((pl.col("system") == system) & (pl.col("query") == query)).sort("rank")
            ranked = [grades.get((query, item), 0.0) for item in rows["item"]]
            values.append(slow(measure, ranked, [grade for (q, _), grade in grades.items() if q == query]))
        means[system] = sum(values) / len(values)
    return means


def test_what_is_right_is_what_a_slow_oracle_says(small: tuple[Run, Opinions], found: Backtest) -> None:
    run, judgments = small
    grades = {(q, d): g for q, d, g in judgments.frame.select("query", "item", "grade").iter_rows()}
    universe = Universe.of(run)
    answers = np.array([grades.get(pair, 0.0) for pair in universe.rows.iter_rows()])
    for place, name in enumerate(MEASURES):
        truth = slow_truth(run, judgments, name)
        measure = parse(name)
        for level in LEVELS:
            pairs = stated = right = leading = 0
            bins = dict.fromkeys(EDGES[:-1], 0)
            for draw in range(DRAWS if level else 1):
                deciding = Deciding.of(universe, Question(measure, "order"))
                if level:
                    rng = np.random.default_rng((5, 1, 0, place, level, draw))
                    rows = rows_of(universe, deciding.ask(level * 8, number=1, rng=rng))
                    deciding = deciding.answered(rows, answers[rows])
                said = posterior(deciding.learned, measure)
                for i, one in enumerate(run.systems):
                    for j, other in enumerate(run.systems[:i]):
                        p = max(said.better[i, j], said.better[j, i])
                        ahead = one if said.better[i, j] > said.better[j, i] else other
                        behind = other if ahead == one else one
                        pairs += 1
                        stated += p > 0.95
                        right += p > 0.95 and truth[ahead] > truth[behind]
                        bins[max(edge for edge in EDGES[:-1] if edge < p)] += 1
                best = deciding.asking(Question(measure, "best")).verdict.leader
                leading += truth[best] == max(truth.values())
            row = found.statements.filter(measure=name, labels=level, part=FIELD).row(0, named=True)
            assert (row["pairs"], row["stated"]) == (pairs, stated) and row["equal"] == 0
            assert math.isnan(row["right"]) if not stated else row["right"] == pytest.approx(right / stated)
            rows_ = found.reliability.filter(measure=name, labels=level, part=FIELD)
            assert dict(rows_.select("lo", "pairs").iter_rows()) == {lo: n for lo, n in bins.items() if n}
            leader = found.best.filter(measure=name, labels=level)["right"][0]
            assert leader == pytest.approx(leading / (DRAWS if level else 1))


def test_when_everything_is_labelled_every_statement_is_right(small: tuple[Run, Opinions]) -> None:
    """Each list is cut to three items, all are judged, and all are drawn: what is stated is the truth."""
    run, _ = small
    short = Run(run.frame.filter(pl.col("rank") <= 3))
    pairs = short.frame.select("query", "item").unique(maintain_order=True)
    rng = np.random.default_rng(0)
    judged = Opinions.of(pairs.with_columns(pl.Series("grade", rng.integers(0, 2, pairs.height).astype(float))))
    deepest = pairs.group_by("query").len()["len"]
    few = deepest.min()
    assert isinstance(few, int)
    queries = pairs.group_by("query").len().filter(len=few)["query"].to_list()
    kept = pl.col("query").is_in(queries)
    one = endoxa.backtest(
        Run(short.frame.filter(kept)), Opinions(judged.frame.filter(kept)), ["P@3"], labels=few, draws=2
    )
    rows = one.statements.filter(part=FIELD)
    assert rows["pairs"].to_list() == rows["stated"].to_list() and rows["right"].to_list() == [1.0]


def test_courses_are_those_of_the_loop(small: tuple[Run, Opinions], found: Backtest) -> None:
    run, judgments = small
    grades = {(q, d): g for q, d, g in judgments.frame.select("query", "item", "grade").iter_rows()}
    universe = Universe.of(run)
    answers = np.array([grades.get(pair, 0.0) for pair in universe.rows.iter_rows()])
    assert found.courses["measure"].to_list() == [*MEASURES, *MEASURES]
    for row in found.courses.iter_rows(named=True):
        truth = slow_truth(run, judgments, row["measure"])
        rng = np.random.default_rng((5, 2, row["course"]))
        *_, last = simulate(
            universe, Question(parse(row["measure"]), "best"), answers.__getitem__, batch=25, most=100, rng=rng
        )
        assert (row["settled"], row["leader"], row["labels"]) == (
            last.is_settled, last.leader, len(last.learned.judged)
        )  # fmt: skip
        first, second = sorted(truth.values())[:-3:-1]
        assert row["right"] == (truth[row["leader"]] == first)
        assert (row["loss"], row["gap"]) == pytest.approx((first - truth[row["leader"]], first - second))
    total = found.settled.row(-1, named=True)
    assert (total["measure"], total["courses"]) == ("all", 6)
    assert total["settled"] == found.courses["settled"].sum()


# ---- forecasts ----------------------------------------------------------------------------------------


LOOKS = {
    "course": [0, 0, 1, 1], "measure": ["AP"] * 4, "labels": [25, 50, 25, 500], "median": [100.0, 25.0, 50.0, 700.0],
    "low": [25.0, 25.0, 25.0, 300.0], "high": [75.0, 100.0, 100.0, 900.0], "actual": [100, 75, None, None],
    "within_100": [0.5, 0.9, 0.7, 0.1], "within_300": [0.9, 1.0, 0.9, 0.2], "ends": [125, 125, 600, 600],
}  # fmt: skip


def test_forecast_against_actual_by_hand(found: Backtest) -> None:
    """Course 0 was settled at 125 labels, course 1 not by 600."""
    one = replace(found, measures=("AP",), plan=replace(found.plan, most=600), looks=pl.DataFrame(LOOKS))
    row = one.forecast.row(0, named=True)
    assert (row["looks"], row["settled"]) == (4, 2)
    assert (row["ratio_25"], row["ratio_75"]) == pytest.approx((25 / 75, 1.0))  # 100 of 100, 25 of 75
    assert row["by_then"] == pytest.approx(1 / 3)  # only the first of those whose median lies within 600
    assert row["inside"] == pytest.approx(1 / 2)  # 75 lies within 25 to 100; 100 not within 25 to 75
    assert row["beyond"] == 0.0
    hundred = one.horizons.filter(further=100)
    assert hundred.select("lo", "looks", "said", "right").rows() == [
        (0.0, 1, 0.1, 0.0), (0.4, 1, 0.5, 1.0), (0.6, 1, 0.7, 0.0), (0.8, 1, 0.9, 1.0)
    ]  # fmt: skip
    longer = one.horizons.filter(further=300)  # whether 500 + 300 labels would settle it is unknown
    assert longer["looks"].sum() == 3


@dataclass(frozen=True)
class Foreseen:
    """A forecast as a look has it."""

    median: float | None
    low: float | None
    high: float | None

    def within(self, further: int) -> float:
        return further / 1000


def test_what_a_look_forecasts_is_kept() -> None:
    from endoxa.evaluations.backtest import _foreseen, _within

    assert _foreseen(Foreseen(50, 25, None)) == (50.0, 25.0, math.inf)
    assert _within(Foreseen(50, 25, None)) == [0.1, 0.3]


# ---- forms of input, bad input ------------------------------------------------------------------------


def test_the_order_of_the_arguments_and_of_the_systems_does_not_matter(small: tuple[Run, Opinions]) -> None:
    run, judgments = small
    turned = Run.of(run.frame.reverse().select("system", "query", "item", "score"))
    assert turned.systems == run.systems[::-1]
    known = {"labels": LEVELS, "draws": DRAWS, "seed": 5}
    one = endoxa.backtest(run, judgments, ["AP", "P@5"], **known)  # type: ignore[arg-type]
    other = endoxa.backtest(judgments, turned, ["AP", "P@5"], **known)  # type: ignore[arg-type]
    assert_frame_equal(other.statements, one.statements)
    assert_frame_equal(other.reliability, one.reliability)


def test_a_query_that_only_one_side_has_is_left_out(small: tuple[Run, Opinions]) -> None:
    run, judgments = small
    two = Opinions(judgments.frame.filter(pl.col("query").is_in(["q01", "q02"])))
    one = endoxa.backtest(run, two, ["P@5"], labels=(2,), draws=2)
    assert one.topics == 2 and one.judgments == len(two.frame)
    kept = Run(run.frame.filter(pl.col("query").is_in(["q01", "q02"])))
    assert_frame_equal(endoxa.backtest(kept, two, ["P@5"], labels=(2,), draws=2).statements, one.statements)


def test_random_fields_have_their_size_and_their_own_rows(small: tuple[Run, Opinions]) -> None:
    run, judgments = small
    one = endoxa.backtest(run, judgments, ["P@5"], labels=(0, 1), draws=2, fields=3, size=3, courses=3, most=25)
    assert one.statements.filter(field="random", part=FIELD, labels=1).row(0, named=True)["pairs"] == 3 * 2 * 3
    assert one.statements.filter(field="whole", part=FIELD, labels=1).row(0, named=True)["pairs"] == 2 * 10
    assert one.courses["number"].to_list() == [1, 2, 3] and set(one.courses["field"]) == {"random"}
    assert one.best.filter(field="random", labels=0)["draws"].to_list() == [3]


def test_pooled_bins_are_weighted_means() -> None:
    table = pl.DataFrame(
        {"labels": [1, 5, 1], "lo": [0.5, 0.5, 0.6], "hi": [0.6, 0.6, 0.7], "pairs": [1, 3, 2],
         "said": [0.5, 0.6, 0.65], "right": [1.0, 0.0, 0.5]}
    )  # fmt: skip
    assert pooled(table).rows() == [(0.5, 0.6, 4, pytest.approx(0.575), 0.25), (0.6, 0.7, 2, 0.65, 0.5)]
    assert pooled(table, "labels").select("labels", "pairs").rows() == [(1, 1), (1, 2), (5, 3)]


def test_default_levels_beyond_what_is_judged_are_left_out_with_a_note(small: tuple[Run, Opinions]) -> None:
    run, judgments = small
    few = Opinions(judgments.frame.filter(pl.int_range(pl.len()).over("query") < 6))
    one = endoxa.backtest(run, few, ["AP"], draws=1)
    assert 20 not in one.levels
    (scarce,) = [note for note in one.notes if note.code == "backtest.scarce"]
    assert scarce.facts["levels"] == [level for level in (0, 1, 5, 20) if level not in one.levels]
    assert 0 < next(note for note in one.notes if note.code == "backtest.unjudged").facts["share"] < 1


def test_bad_input_is_one_clear_line(small: tuple[Run, Opinions]) -> None:
    run, judgments = small
    one = Run(run.frame.filter(pl.col("system") == run.systems[0]))
    other = Opinions(judgments.frame.with_columns(query="other" + pl.col("query")))
    nothing = Opinions(judgments.frame.with_columns(grade=pl.lit(0.0)))
    twice = Opinions(pl.concat([judgments.frame, judgments.frame.with_columns(source=pl.lit("bob"))]))
    belief = Belief.of(
        judgments.frame.select("query", "item", pl.lit(1.0).alias("grade"), pl.lit(0.5).alias("p")), model="x"
    )
    cases: list[tuple[type[EndoxaError], str, tuple[object, ...], dict[str, object]]] = [
        (JoinError, "a backtest compares two systems or more; add a run", (one, judgments), {}),
        (JoinError, "have no query in common", (run, other), {}),
        (JoinError, "by these judgments AP is 0 for every system", (run, nothing), {}),
        (JoinError, "2 people judged the same pairs", (run, twice), {}),
        (CallError, "a backtest needs judgments, not Belief", (run, belief), {}),
        (CallError, "a backtest needs judgments; name a file", (run,), {}),
        (CallError, "no run was given", ([], judgments), {}),
        (TextError, "labels cannot settle RR; name AP", (run, judgments, ["RR"]), {}),
        (JoinError, "500 labels a topic are more than are judged", (run, judgments), {"labels": (1, 500)}),
        (TextError, "0 or more", (run, judgments), {"labels": (-1,)}),
        (TextError, "0 or more", (run, judgments), {"labels": ()}),
        (TextError, "draws must be at least 1, not 0", (run, judgments), {"draws": 0}),
        (TextError, "until must lie between 0 and 1", (run, judgments), {"until": 1.5}),
        (JoinError, "a random field of 10 systems needs more than these 5", (run, judgments), {"fields": 1}),
    ]  # fmt: skip
    for kind, words, given, known in cases:
        with pytest.raises(kind, match=words) as error:
            endoxa.backtest(*given, **known)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)


# ---- files --------------------------------------------------------------------------------------------


def test_a_backtest_is_written_as_a_page_or_as_json(found: Backtest, tmp_path: Path) -> None:
    endoxa.write(found, tmp_path / "found.json")
    kept = json.loads((tmp_path / "found.json").read_text())
    assert set(kept["tables"]) == set(found.tables) and kept["labels"] == list(LEVELS) and kept["draws"] == DRAWS
    assert kept["tables"]["statements"][0]["right"] is None  # nothing is stated: undefined, not 0
    assert [note["code"] for note in kept["notes"]] == [note.code for note in found.notes]
    endoxa.write(found, tmp_path / "page.html")
    assert "<!doctype html>" in (tmp_path / "page.html").read_text().lower()
    endoxa.write(found, tmp_path / "curve.svg")
    assert "1 label a topic" in (tmp_path / "curve.svg").read_text()
    with pytest.raises(FileError, match=r"a backtest is not written as \.csv"):
        endoxa.write(found, tmp_path / "found.csv")
