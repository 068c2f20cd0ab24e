"""Doubly robust means: unbiased for the linearised target whatever the model, intervals that cover, shrinkage."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from endoxa.beliefs.learned import Judged, Learned, Universe, cross_fitted, learn
from endoxa.comparisons.posterior import places_of
from endoxa.comparisons.robust import Robust, robust, shrunk
from endoxa.errors import TextError
from endoxa.measures.grammar import Measure, parse_all
from endoxa.tables import Opinions, Run


def one(name: str) -> Measure:
    return parse_all([name])[0]


def field(
    topics: int, systems: int = 3, items: int = 20, length: int = 8, seed: int = 0
) -> tuple[Universe, np.ndarray]:
    """Lists, and a truth that does not follow them: relevant is what most systems leave out."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(topics):
        worth = rng.normal(size=items)
        for s in range(systems):
            best = np.argsort(-(worth + rng.normal(0, 0.5 + s, items)))[:length]
            rows += [(f"s{s}", f"q{q:03}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    universe = Universe.of(run, length)
    chance = np.where(universe.consensus > 0.5, 0.15, 0.6)
    return universe, (rng.random(len(chance)) < chance).astype(np.float64)


def labelled(universe: Universe, truth: np.ndarray, rows: np.ndarray) -> Learned:
    frame = universe.rows[np.sort(rows)].with_columns(pl.Series("grade", truth[np.sort(rows)]))
    return learn(universe, Judged.of(universe, Opinions.of(frame)))


def target(learned: Learned, measure: Measure, p: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """[system, topic] M(p) + Σ a (y - p) over all items: what the estimate aims at."""
    u = learned.universe
    assert measure.linear is not None
    slopes = measure.linear.slopes(places_of(learned), p[None], np.ones(1))
    values = slopes.value.copy()
    for s, row, a in zip(u.system, u.row, slopes.entry, strict=True):
        values[s, u.topic[row]] += a * (truth[row] - p[row])
    for row in range(len(p)):
        values[:, u.topic[row]] += slopes.shared[:, u.topic[row]] * (truth[row] - p[row])
    return values


@pytest.mark.parametrize("name", ["AP", "P@5", "nDCG@5"])
def test_unbiased_for_the_linearised_target_whatever_the_model(name: str) -> None:
    """Predictions are held fixed, and wrong; labels are redrawn with known, uneven propensities."""
    universe, truth = field(topics=10)
    rng = np.random.default_rng(5)
    n = len(truth)
    free = rng.uniform(0.2, 0.8, n)  # a prediction that knows nothing
    pi = rng.uniform(0.15, 1.0, n)
    pi[:10] = 1.0
    measure = one(name)
    base, found, said = labelled(universe, truth, np.arange(4)), [], []
    for _ in range(400):
        rows = np.flatnonzero(rng.random(n) < pi)
        learned = replace(base, judged=Judged(rows, (1.0,), truth[rows][None], np.arange(len(rows))))
        made = robust(learned, measure, pi[rows], free[None])
        found.append(made.mean)
        said.append(np.diag(made.truth))
    expected = target(learned, measure, free, truth).mean(1)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - expected) < 4 * error + 1e-12).all()
    assert np.mean(said, axis=0) == pytest.approx(np.var(found, axis=0), rel=0.25)  # the error for these topics


def test_labels_of_everything_give_the_truth() -> None:
    """Where every pair is sure to be judged, a sum over items has the value of the judgments and no error."""
    universe, truth = field(topics=6)
    learned = labelled(universe, truth, np.arange(len(truth)))
    made = robust(learned, one("P@5"), np.ones(len(truth)))
    u = universe
    inside = u.rank <= 5
    by_hand = np.zeros((3, 6))
    np.add.at(by_hand, (u.system[inside], u.topic[u.row[inside]]), truth[u.row[inside]] / 5)
    assert made.values == pytest.approx(by_hand)
    assert made.truth == pytest.approx(np.zeros((3, 3)))
    assert (made.effective, made.labels) == (pytest.approx(len(truth)), len(truth))


def test_predictions_are_cross_fitted_unless_given() -> None:
    universe, truth = field(topics=10)
    rows = np.arange(0, len(truth), 2)
    learned = labelled(universe, truth, rows)
    pi = np.full(len(rows), 0.5)
    free = cross_fitted(learned)
    alone, given = robust(learned, one("AP"), pi), robust(learned, one("AP"), pi, free)
    assert alone.values == pytest.approx(given.values)
    measure = one("AP")
    assert measure.linear is not None
    slopes = measure.linear.slopes(places_of(learned), free, np.ones(1))
    by_hand = slopes.value.copy()
    for row in rows:
        a = slopes.shared[:, universe.topic[row]].copy()
        for s, r, entry in zip(universe.system, universe.row, slopes.entry, strict=True):
            a[s] += entry if r == row else 0.0
        by_hand[:, universe.topic[row]] += a * (truth[row] - free[0, row]) / 0.5
    assert alone.values == pytest.approx(by_hand)


def test_intervals_over_topics_cover() -> None:
    """Topics drawn from one population: the interval of a difference of P@5 has the population's in it as said."""
    big, truth = field(topics=400, seed=8)
    u = big
    inside = u.rank <= 5
    real = np.zeros((3, 400))
    np.add.at(real, (u.system[inside], u.topic[u.row[inside]]), truth[u.row[inside]] / 5)
    pairs = list(combinations(range(3), 2))
    expected = [float((real[a] - real[b]).mean()) for a, b in pairs]
    rng = np.random.default_rng(1)
    rows_of = [np.flatnonzero(u.topic == topic) for topic in range(400)]
    inside_ones, told = 0, 0
    for _ in range(60):
        chosen = rng.choice(400, 20, replace=False)
        rows = np.concatenate([rows_of[topic] for topic in chosen])
        part = Universe.of(_part(u, chosen), 8)
        own = part.rows.join(u.rows.with_columns(pl.Series("y", truth)), on=["query", "item"], how="left")[
            "y"
        ].to_numpy()
        assert len(rows) == len(own)
        drawn = np.flatnonzero(rng.random(len(own)) < 0.5)
        learned = labelled(part, own, drawn)
        made = robust(learned, one("P@5"), np.full(len(drawn), 0.5)).estimates(0.9)
        for (lo, hi), value in zip(made.pairs.select("lo_queries", "hi_queries").iter_rows(), expected, strict=True):
            told += 1
            inside_ones += lo <= value <= hi
    assert 0.8 < inside_ones / told < 0.98


def _part(u: Universe, topics: np.ndarray) -> Run:
    """The run of some topics."""
    kept = np.isin(u.topic[u.row], topics)
    names = pl.Series(u.systems)
    return Run.of(
        pl.DataFrame(
            {
                "system": names[u.system[kept]], "query": u.rows["query"][u.row[kept]],
                "item": u.rows["item"][u.row[kept]], "score": -u.rank[kept].astype(float),
            }
        )
    )  # fmt: skip


VALUES = np.array([[0.5, 0.7, 0.3, 0.9], [0.4, 0.8, 0.1, 0.7], [0.2, 0.2, 0.2, 0.3]])
TRUTH = np.array([[0.010, 0.004, 0.001], [0.004, 0.020, 0.002], [0.001, 0.002, 0.015]])


def test_the_table_by_hand() -> None:
    made = Robust("AP", ["A", "B", "C"], VALUES, TRUTH, 120.0, 200).estimates(0.95)
    assert made.frame["estimate"].to_list() == pytest.approx([0.6, 0.5, 0.225])
    assert made.frame["se"].to_list() == pytest.approx(np.sqrt([0.010, 0.020, 0.015]))
    apart = VALUES[0] - VALUES[1]
    wide = apart.std(ddof=1) / 2
    first = made.pairs.row(0, named=True)
    assert (first["system"], first["baseline"], first["measure"], first["labels"]) == ("A", "B", "AP", 200)
    assert first["difference"] == pytest.approx(0.1)
    assert first["se"] == pytest.approx(np.sqrt(0.010 + 0.020 - 2 * 0.004))
    assert first["se_queries"] == pytest.approx(wide)
    reach = t.ppf(0.975, 3) * wide
    assert (first["lo_queries"], first["hi_queries"]) == pytest.approx((0.1 - reach, 0.1 + reach))
    for table in (made.frame, made.pairs):  # `se` is of these topics, for which there is no interval
        assert table["lo"].is_nan().all() and table["hi"].is_nan().all()
    assert made.pairs.select("system", "baseline").rows() == [("A", "B"), ("A", "C"), ("B", "C")]


def test_an_undefined_topic_is_left_out() -> None:
    values = np.column_stack([VALUES, np.full(3, np.nan)])
    one_less = Robust("AP", ["A", "B", "C"], values, TRUTH, 120.0, 200)
    whole = Robust("AP", ["A", "B", "C"], VALUES, TRUTH, 120.0, 200)
    for first, second in zip(one_less.differences(), whole.differences(), strict=True):
        assert first == pytest.approx(second)
    columns = ["estimate", "se_queries", "lo_queries", "hi_queries"]
    for name in columns:
        found, expected = (table.estimates(0.95).frame[name].to_list() for table in (one_less, whole))
        assert found == pytest.approx(expected), name


def test_kish_counts_uneven_labels_less() -> None:
    universe, truth = field(topics=3)
    rows = np.arange(4)
    made = robust(labelled(universe, truth, rows), one("P@5"), np.array([1.0, 1.0, 0.5, 0.25]))
    assert made.effective == pytest.approx((1 + 1 + 2 + 4) ** 2 / (1 + 1 + 4 + 16))


def test_shrinkage_by_hand() -> None:
    model, corrected = np.array([0.1, 0.2, -0.1]), np.array([0.3, 0.1, -0.4])
    variance = np.array([0.01, 0.02, 0.03])
    # corrections .2, -.1, -.3: mean square .14/3; mean variance .02; τ² = .14/3 - .02
    tau = 0.14 / 3 - 0.02
    lam = tau / (tau + 0.02)
    assert shrunk(model, corrected, variance) == pytest.approx(model + lam * np.array([0.2, -0.1, -0.3]))
    assert shrunk(model, corrected, np.full(3, 9.0)) == pytest.approx(model)  # all noise
    assert shrunk(model, corrected, np.zeros(3)) == pytest.approx(corrected)  # no noise
    assert shrunk(model, model, np.zeros(3)) == pytest.approx(model)


def test_a_measure_without_a_linear_form_is_refused() -> None:
    universe, truth = field(topics=3)
    with pytest.raises(TextError, match="RR has no linear form"):
        robust(labelled(universe, truth, np.arange(4)), one("RR"), np.ones(4))


def test_error_over_topics_is_that_of_a_mean() -> None:
    values = np.array([[0.1, 0.5, 0.3, 0.9], [0.2, 0.4, 0.4, 0.4]])
    found = Robust("AP", ["a", "b"], values, np.eye(2) * 1e-4, 10.0, 12).estimates(0.9)
    expected = np.std(values, axis=1, ddof=1) / 2
    assert found.frame["se_queries"].to_list() == pytest.approx(expected.tolist(), rel=1e-12)
    reach = t.ppf(0.95, 3) * expected
    assert found.frame["hi_queries"].to_list() == pytest.approx((values.mean(1) + reach).tolist(), rel=1e-12)
