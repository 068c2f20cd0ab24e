"""Measures at expected relevance: the measure itself where all is certain, and derivatives by small differences."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.beliefs.learned import Universe
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.linear import LinearForm, Places, Slopes
from endoxa.tables import Opinions, Run

EVERY = ["AP", "AP@5", "P@5", "R@5", "DCG@5", "nDCG@5", "nDCG", "DCG", "R@100", "nDCG(dcg='exp-log2')@7"]
EXACT = ["AP", "AP@5", "P@5", "R@5", "DCG@5", "DCG"]


def one(name: str) -> Measure:
    return parse_all([name])[0]


def form(name: str) -> LinearForm:
    found = one(name).linear
    assert found is not None
    return found


def made(systems: int = 4, topics: int = 3, items: int = 30, length: int = 20, seed: int = 0) -> Run:
    rng = np.random.default_rng(seed)
    rows = [
        (f"s{s}", f"q{q}", f"d{d:03}", -float(n))
        for s in range(systems)
        for q in range(topics)
        for n, d in enumerate(rng.permutation(items)[:length])
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def places_of(run: Run, depth: int = 20) -> tuple[Universe, Places]:
    u = Universe.of(run, depth)
    return u, Places(u.system, u.row, u.rank, u.topic, len(u.systems), len(u.queries))


def listed(places: Places, entry: np.ndarray) -> np.ndarray:
    """[system, row] the derivative of an entry, 0 where the system does not list the item."""
    whole = np.zeros((places.systems, len(places.topic)))
    whole[places.system, places.row] = entry
    return whole


def measured(run: Run, u: Universe, grades: np.ndarray, name: str) -> np.ndarray:
    """The measure itself: [system, topic]."""
    qrels = Opinions.of(u.rows.with_columns(pl.Series("grade", grades)))
    systems, queries, values = endoxa.measure(run, qrels, [name]).matrix(name)
    assert (list(systems), list(queries)) == (u.systems, u.queries)
    return values


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_certain_has_the_value_of_the_measure(name: str, seed: int) -> None:
    run = made(seed=seed)
    u, places = places_of(run)
    grades = (np.random.default_rng(seed).random(u.rows.height) < 0.3).astype(np.float64)
    slopes = form(name).slopes(places, grades[None], np.ones(1))
    assert slopes.value == pytest.approx(measured(run, u, grades, name), abs=1e-12)


@pytest.mark.parametrize("name", ["DCG@5", "nDCG@5", "nDCG(dcg='exp-log2')@7", "nDCG(gains={1:3,2:4})@5"])
def test_grades_are_worth_their_steps(name: str) -> None:
    run = made(seed=5)
    u, places = places_of(run)
    grades = np.random.default_rng(2).choice([0.0, 1.0, 2.0, 4.0], size=u.rows.height, p=[0.6, 0.2, 0.1, 0.1])
    levels = [1.0, 2.0, 4.0]
    tails = np.array([(grades >= level).astype(np.float64) for level in levels])
    found = form(name)
    slopes = found.slopes(places, tails, found.steps(levels))
    assert slopes.value == pytest.approx(measured(run, u, grades, name), abs=1e-12)
    assert found.steps(levels).sum() == pytest.approx({"nDCG(dcg='exp-log2')@7": 15.0}.get(name, 4.0))


@pytest.mark.parametrize("name", ["P@5", "AP"])
def test_a_relevant_item_counts_one(name: str) -> None:
    assert form(name).steps([2.0]).tolist() == [1.0]


def test_a_level_is_that_of_the_measure() -> None:
    run = made(seed=1)
    u, places = places_of(run)
    grades = np.random.default_rng(1).choice([0.0, 1.0, 2.0], size=u.rows.height)
    found = form("AP(rel=2)").slopes(places, (grades >= 2).astype(np.float64)[None], np.ones(1))
    assert found.value == pytest.approx(measured(run, u, grades, "AP(rel=2)"), abs=1e-12)


@pytest.mark.parametrize("name", ["AP", "nDCG@5", "R@5"])
def test_where_nothing_can_be_relevant_there_is_no_value(name: str) -> None:
    u, places = places_of(made())
    tails = np.where(u.topic == 1, 0.0, 0.4)[None]
    found = form(name).slopes(places, tails, np.ones(1))
    assert np.isnan(found.value).tolist() == [[False, True, False]] * 4


def numeric(found: LinearForm, places: Places, p: np.ndarray, row: int, step: float = 1e-5) -> np.ndarray:
    """[system] derivative of the sum over topics with respect to p of one row."""
    far = []
    for side in (step, -step):
        moved = p.copy()
        moved[row] += side
        far.append(found.slopes(places, moved[None], np.ones(1)).value.sum(1))
    return (far[0] - far[1]) / (2 * step)


def whole(places: Places, slopes: Slopes) -> np.ndarray:
    """[system, row] the derivative with respect to each item, listed or not."""
    return listed(places, slopes.entry) + slopes.shared[:, places.topic]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("depth", [5, 20])
def test_derivatives_are_those_of_small_differences(name: str, depth: int) -> None:
    """Also in lists that reach beyond the universe: it is of the first five, the lists are of twenty."""
    u, places = places_of(made(seed=7), depth)
    p = np.random.default_rng(3).uniform(0.05, 0.95, u.rows.height)
    slopes = form(name).slopes(places, p[None], np.ones(1))
    found = whole(places, slopes)
    for row in range(u.rows.height):
        assert found[:, row] == pytest.approx(numeric(form(name), places, p, row), abs=1e-7)


@pytest.mark.parametrize(("name", "among", "close"), [("nDCG@20", (0.02, 0.1), 0.1), ("nDCG@140", (0.3, 0.6), 0.03)])
def test_derivatives_of_the_normalised_sum(name: str, among: tuple[float, float], close: float) -> None:
    """The part of an entry is that of its discount by the ideal; the shared part is right to a few per cent."""
    run = made(systems=3, topics=2, items=400, length=150, seed=4)
    u, places = places_of(run, 150)
    p = np.random.default_rng(5).uniform(*among, u.rows.height)
    k = int(name.partition("@")[2])
    found = form(name).slopes(places, p[None], np.ones(1))
    dcg = form(f"DCG@{k}").slopes(places, p[None], np.ones(1))
    ideal = (dcg.value / found.value)[0]
    by_hand = np.where(places.rank <= k, 1 / np.log2(places.rank + 1), 0.0) / ideal[places.topic[places.row]]
    assert found.entry == pytest.approx(by_hand, rel=1e-12)
    # P(count >= i) by exact convolution of the counts
    for topic in range(2):
        mass = np.ones(1)
        for chance in p[u.topic == topic]:
            mass = np.convolve(mass, [1 - chance, chance])
        at_least = mass[::-1].cumsum()[::-1]
        exact = (at_least[1 : k + 1] / np.log2(np.arange(2, k + 2))).sum()
        assert ideal[topic] == pytest.approx(exact, rel=0.02)
    rows = [int(np.flatnonzero(u.topic == topic)[3]) for topic in range(2)]
    for row in rows:
        inside = listed(places, found.entry)[:, row]
        shared = numeric(form(name), places, p, row) - inside
        assert found.shared[:, u.topic[row]] == pytest.approx(shared, rel=close)


@pytest.mark.parametrize("name", ["nDCG", "DCG", "AP", "R@20"])
def test_a_list_that_is_deeper_than_the_universe_counts_by_its_ranks(name: str) -> None:
    """Without a cut every rank counts: an item of the universe at rank 18 too, however small the universe is."""
    run = made(systems=2, topics=1, items=20, length=20, seed=9)
    u, places = places_of(run, 3)
    assert places.rank.max() > u.rows.height
    grades = np.ones(u.rows.height)
    found = form(name).slopes(places, grades[None], np.ones(1))
    assert found.value == pytest.approx(measured(run, u, grades, name), abs=1e-12)


@pytest.mark.parametrize(
    "name", ["AP(norm='min')@5", "P(relative=True)@5", "RR", "Bpref", "SetF", "RBP(p=0.8)", "ERR@5", "Judged@10"]
)
def test_what_has_no_linear_form(name: str) -> None:
    assert one(name).linear is None


def test_how_deep_a_form_looks() -> None:
    assert {name: form(name).k for name in ("AP", "AP@5", "P@3", "nDCG@10", "R@7")} == {
        "AP": None, "AP@5": 5, "P@3": 3, "nDCG@10": 10, "R@7": 7,
    }  # fmt: skip
    assert {name: form(name).gain is None for name in ("AP", "P@3", "nDCG@10", "DCG")} == {
        "AP": True, "P@3": True, "nDCG@10": False, "DCG": False,
    }  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_what_is_not_the_expectation_is_called_a_ratio(name: str) -> None:
    """AP by hand: .851190 as a ratio of expectations, .831741/(1 - .002016) as an expectation."""
    p = np.array([0.9, 0.6, 0.8, 0.2, 0.5, 0.1, 0.3])
    items = list("abcdefg")
    run = Run.of(pl.DataFrame({"system": "s", "query": "q", "item": items, "score": -np.arange(7.0)}))
    _, places = places_of(run)
    own = form(name)
    value = float(own.slopes(places, p[None], own.steps([1.0])).value[0, 0])
    belief = endoxa.Belief.of(pl.DataFrame({"query": "q", "item": items, "p": p}))
    expected = float(endoxa.measure(run, belief, name, worlds=4000).frame["value"][0])
    if name == "AP":
        assert (value, expected) == pytest.approx((0.851190, 0.831741 / (1 - 0.002016)), abs=1e-6)
    if own.ratio:
        assert name == "R@100" or abs(value - expected) > 1e-4
    else:
        assert value == pytest.approx(expected, abs=0.03 if name.startswith("DCG") else 1e-12)  # DCG is drawn
