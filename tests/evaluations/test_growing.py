"""Curves under a common generality: by hand, by the library's own measure, and by the model curves of the source."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from endoxa.errors import JoinError, TextError
from endoxa.evaluations.growing import RECALLS, Growing, growing
from endoxa.measures.evaluate import measure
from endoxa.tables import Opinions, Run


def run_of(lists: dict[str, dict[str, list[str]]]) -> Run:
    rows = [
        (system, query, item, -float(at))
        for system, queries in lists.items()
        for query, items in queries.items()
        for at, item in enumerate(items)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def judged(relevant: dict[str, list[str]], grade: float = 1.0) -> Opinions:
    rows = [(query, item, grade) for query, items in relevant.items() for item in items]
    return Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))


def curve(found: Growing, system: str, level: float) -> list[float]:
    rows = found.curves.filter((pl.col("system") == system) & ((pl.col("generality") - level).abs() < 1e-9))
    return rows.sort("recall")["precision"].to_list()


def test_one_relevant_item_behind_one_other_by_hand() -> None:
    """Of nine irrelevant items each stays with the chance 1/9 at G = .5: the precision is 1 - 1/18. At .1 all stay."""
    found = growing(
        run_of({"s": {"q": ["other", "right"]}}), judged({"q": ["right"]}), levels=[0.1, 0.5], size=10, draws=4000
    )
    assert curve(found, "s", 0.5) == pytest.approx([1 - 1 / 18] * 11, abs=4 * 0.5 * np.sqrt(8 / 81 / 4000))
    assert curve(found, "s", 0.1) == [0.5] * 11
    assert found.curves["irrelevant"].unique().sort().to_list() == pytest.approx([1, 9])


@pytest.fixture(scope="module")
def drawn() -> tuple[Run, Opinions, dict[str, list[str]]]:
    """Two systems and twenty queries with 2 to 6 relevant of 200 items, ranked to the end."""
    rng = np.random.default_rng(3)
    items = [f"i{number:03}" for number in range(200)]
    relevant = {f"q{at:02}": rng.choice(items, int(rng.integers(2, 7)), replace=False).tolist() for at in range(20)}
    lists: dict[str, dict[str, list[str]]] = {"good": {}, "chance": {}}
    for query, own in relevant.items():
        worth = {item: rng.normal() + 1.5 * (item in own) for item in items}
        lists["good"][query] = sorted(items, key=worth.__getitem__, reverse=True)
        lists["chance"][query] = rng.permutation(items).tolist()
    return run_of(lists), judged(relevant), relevant


def test_the_least_generality_is_that_of_the_query_with_the_most_and_leaves_its_items_alone(drawn) -> None:
    run, judgments, relevant = drawn
    most = max(map(len, relevant.values()))
    found = growing(run, judgments)
    assert found.queries == 20 and found.size == 200
    assert found.means["generality"].min() == pytest.approx(most / 200)
    one = {query: items for query, items in relevant.items() if len(items) == most}
    alone = growing(Run(run.frame.filter(pl.col("query").is_in(list(one)))), judged(one), levels=[most / 200], size=200)
    own = measure(run, judged(one), [f"IPrec@{recall:g}" for recall in RECALLS])
    means = own.frame.filter(pl.col("system") == "good").group_by("measure").agg(pl.col("value").mean())
    at = dict(means.iter_rows())
    assert curve(alone, "good", most / 200) == pytest.approx([at[f"IPrec@{recall:g}"] for recall in RECALLS])


def test_precision_falls_at_every_recall_as_irrelevant_items_grow(drawn) -> None:
    """Exactly, since an item that stays in a small collection stays in every larger one."""
    run, judgments, _ = drawn
    found = growing(run, judgments, draws=3)
    levels = found.means["generality"].unique().sort(descending=True).to_list()
    assert len(levels) > 3
    for system in ("good", "chance"):
        curves = np.array([curve(found, system, level) for level in levels])
        assert (np.diff(curves, axis=0) <= 1e-12).all() and (curves[0] > curves[-1]).all()


def test_a_random_ranking_reaches_the_generality(drawn) -> None:
    """At recall 1, where no later rank is better: the last of R relevant among n items lies at (n + 1) R / (R + 1)."""
    run, judgments, relevant = drawn
    found = growing(run, judgments, levels=[0.1], draws=200)
    expected = np.mean(
        [1.0 * len(own) / ((len(own) / 0.1 + 1) * len(own) / (len(own) + 1)) for own in relevant.values()]
    )
    assert curve(found, "chance", 0.1)[-1] == pytest.approx(expected, rel=0.25)


def test_the_curves_of_the_source_come_back() -> None:
    """20 relevant items two deviations above 1980 others, thinned to 380, 80 and 20: the model of sources.gimelfarb."""
    places = stats.norm.ppf((np.arange(1980) + 0.5) / 1980)
    relevant = 2.0 + stats.norm.ppf((np.arange(20) + 0.5) / 20)
    scores = {f"o{at}": value for at, value in enumerate(places)} | {
        f"r{at}": value for at, value in enumerate(relevant)
    }
    run = run_of({"s": {"q": sorted(scores, key=scores.__getitem__, reverse=True)}})
    found = growing(run, judged({"q": [f"r{at}" for at in range(20)]}), levels=[0.5, 0.2, 0.05, 0.01], draws=60)
    # docs/sources.md, generality: printed there from the same model with 20, 80, 380 and 1980 others.
    assert curve(found, "s", 0.01) == pytest.approx(
        [1.0, 0.667, 0.571, 0.400, 0.286, 0.204, 0.148, 0.104, 0.070, 0.044, 0.020], abs=6e-4
    )
    for level, model in (
        (0.05, [1.0, 1.0, 0.833, 0.750, 0.667, 0.588, 0.480, 0.378, 0.281, 0.194, 0.098]),
        (0.2, [1.0, 1.0, 1.0, 1.0, 0.900, 0.846, 0.800, 0.737, 0.640, 0.529, 0.339]),
        (0.5, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.933, 0.933, 0.889, 0.818, 0.667]),
    ):
        assert curve(found, "s", level) == pytest.approx(model, abs=0.11)
        assert np.mean(curve(found, "s", level)) == pytest.approx(np.mean(model), abs=0.035)


def test_queries_with_more_relevant_than_other_items_are_left_out_and_counted() -> None:
    run = run_of({"s": {"easy": ["a", "b", "c"], "q": ["a", "b", "c", "d"]}})
    found = growing(run, judged({"easy": ["a", "b", "c"], "q": ["a"]}))
    assert found.queries == 1 and found.size == 4
    assert any("1 query is left out (easy)" in note for note in found.notes)
    assert any("taken to have 4 items" in note for note in found.notes)
    with pytest.raises(JoinError, match="no query has a relevant item among"):
        growing(run, judged({"easy": ["a", "b", "c"]}))


def test_what_cannot_be_reached_is_refused(drawn) -> None:
    run, judgments, _ = drawn
    with pytest.raises(TextError, match=r"generality of 0\.01 cannot be reached"):
        growing(run, judgments, levels=[0.01])
    with pytest.raises(TextError, match="generality of 1 cannot be reached"):
        growing(run, judgments, levels=[1.0])
    with pytest.raises(TextError, match="200 are judged or retrieved"):
        growing(run, judgments, size=100)
    assert growing(run, judgments, levels=[0.01], size=5000, draws=1).means["generality"].to_list() == [0.01, 0.01]


def test_a_system_without_a_list_has_a_precision_of_0_and_the_seed_decides(drawn) -> None:
    run, judgments, _ = drawn
    silent = run.frame.filter((pl.col("system") == "good") | (pl.col("query") == "q00"))
    found = growing(Run(silent), judgments, levels=[0.2], draws=2)
    full = growing(run, judgments, levels=[0.2], draws=2)
    assert max(curve(found, "chance", 0.2)) < 1 / 20 + 1e-9 < max(curve(full, "chance", 0.2))
    again, other = (growing(run, judgments, levels=[0.2], draws=2, seed=seed) for seed in (0, 1))
    assert again.curves.equals(full.curves) and not other.curves.equals(full.curves)
