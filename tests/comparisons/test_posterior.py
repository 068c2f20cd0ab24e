"""The order of systems under a learned belief: covariance by drawing, P(better) by Φ, P(best), sure cases."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import norm

from endoxa.beliefs.learned import Judged, Learned, Universe, learn
from endoxa.comparisons.posterior import Posterior, levels_of, posterior, scale_of
from endoxa.errors import TextError
from endoxa.measures.grammar import Measure, parse_all
from endoxa.tables import Opinions, Run


def one(name: str) -> Measure:
    return parse_all([name])[0]


def field(systems: int = 4, topics: int = 6, items: int = 25, length: int = 15, seed: int = 0):
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for q in range(topics):
        worth = rng.normal(size=items)
        truth |= {(f"q{q}", f"d{d:02}"): float(max(0, np.ceil(worth[d]))) for d in range(items)}
        for s in range(systems):
            best = np.argsort(-(worth + rng.normal(0, 0.2 + s, items)))[:length]
            rows += [(f"s{s}", f"q{q}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


def taught(run: Run, truth: dict[tuple[str, str], float], count: int, depth: int = 15, binary: bool = True) -> Learned:
    universe = Universe.of(run, depth)
    pairs = universe.rows[np.sort(np.random.default_rng(1).permutation(universe.rows.height)[:count])]
    grades = [truth[pair] for pair in pairs.iter_rows()]
    given = np.minimum(grades, 1.0) if binary else np.array(grades)
    labels = Opinions.of(pairs.with_columns(pl.Series("grade", given, dtype=pl.Float64)))
    return learn(universe, Judged.of(universe, labels))


def gradient(learned: Learned, values, p: np.ndarray) -> np.ndarray:
    """[system, row] derivative of the mean of a measure, written out here, by small differences."""
    found = np.zeros((len(learned.universe.systems), len(p)))
    for row in range(len(p)):
        up, down = p.copy(), p.copy()
        up[row] += 1e-6
        down[row] -= 1e-6
        found[:, row] = (values(up) - values(down)) / 2e-6
    return found


def average_precision(learned: Learned):
    """Mean of Σ p_i (1 + Σ_{j<i} p_j)/i by Σ p, list by list."""
    u = learned.universe

    def values(p: np.ndarray) -> np.ndarray:
        found = np.zeros((len(u.systems), len(u.queries)))
        for s in range(len(u.systems)):
            for t in range(len(u.queries)):
                mine = (u.system == s) & (u.topic[u.row] == t)
                chances, ranks = p[u.row[mine]], u.rank[mine]
                before = np.concatenate([[0], np.cumsum(chances)[:-1]])
                found[s, t] = (chances * (1 + before) / ranks).sum() / p[u.topic == t].sum()
        return found.mean(1)

    return values


def test_covariance_is_that_of_draws_from_the_linearised_means() -> None:
    """Draw b, then the relevance of unjudged items; the means are moved by the derivative written out above."""
    learned = taught(*field(), 20)
    u, (found,) = learned.universe, learned.fits
    p = learned.tails[0]
    values = average_precision(learned)
    a = gradient(learned, values, p)
    result = posterior(learned, one("AP"))
    assert result.mean == pytest.approx(values(p))
    rng = np.random.default_rng(3)
    draws = 40_000
    H = found.factor @ found.factor.T
    b = rng.multivariate_normal(np.zeros(u.size), np.linalg.inv(H), size=draws)
    design = u.design(np.arange(len(p)))
    moved = (b @ design.T) * p * (1 - p)  # what b does to p, linearised; 0 where p is 0 or 1
    truth = (rng.random((draws, len(p))) < p) - p
    sample = np.cov((moved + truth) @ a.T, rowvar=False)
    assert result.covariance == pytest.approx(sample, rel=0.05, abs=0.03 * sample.max())
    exact = a @ np.diag(p * (1 - p)) @ a.T
    assert result.truth == pytest.approx(exact, abs=1e-8)
    G = a @ (design * (p * (1 - p))[:, None])
    assert result.model @ result.model.T == pytest.approx(G @ np.linalg.inv(H) @ G.T, abs=1e-8)


def test_covariance_of_graded_worth() -> None:
    """DCG@5 of four grades: Var of the gain of an item by its distribution; the same draw moves every level."""
    learned = taught(*field(seed=2), 40, binary=False)
    u = learned.universe
    assert learned.levels == (1, 2, 3)
    levels = np.array([0.0, *learned.levels])
    tails = np.vstack([np.ones(u.rows.height), learned.tails, np.zeros(u.rows.height)])
    masses = tails[:-1] - tails[1:]
    variance = levels**2 @ masses - (levels @ masses) ** 2
    a = np.zeros((4, u.rows.height))
    inside = u.rank <= 5
    a[u.system[inside], u.row[inside]] = 1 / np.log2(u.rank[inside] + 1) / len(u.queries)
    result = posterior(learned, one("DCG@5"))
    assert result.mean == pytest.approx(a @ (levels @ masses))
    assert result.truth == pytest.approx(a @ np.diag(variance) @ a.T, abs=1e-12)
    root = np.zeros((4, u.size))
    design = u.design(np.arange(u.rows.height))
    for place, fit in enumerate(learned.fits):
        step = np.diff(levels)[place]
        tail = learned.tails[place]
        G = a @ (design * (step * tail * (1 - tail))[:, None])
        root += G @ np.linalg.inv(fit.factor).T
    assert result.covariance - result.truth == pytest.approx(root @ root.T, abs=1e-10)


def test_doubt_about_the_model_is_that_of_the_belief_itself() -> None:
    """Means of P@5 at relevance drawn from the posterior spread as the linear part says, where doubt is small."""
    run, truth = field(topics=10)
    learned = taught(run, truth, 150)
    u, (fit,) = learned.universe, learned.fits
    rng = np.random.default_rng(0)
    b = fit.b + (np.linalg.inv(fit.factor).T @ rng.standard_normal((u.size, 8_000))).T
    p = expit(b @ u.design(np.arange(u.rows.height)).T)
    p[:, learned.judged.rows] = learned.judged.tails[0]
    a = np.zeros((4, u.rows.height))
    inside = u.rank <= 5
    a[u.system[inside], u.row[inside]] = 1 / 5 / len(u.queries)
    result = posterior(learned, one("P@5"))
    drawn = (p @ a.T).std(0)
    assert np.sqrt(np.diag(result.model @ result.model.T)) == pytest.approx(drawn, rel=0.3)


def test_p_better_is_phi_of_the_scaled_difference() -> None:
    learned = taught(*field(), 20)
    found = posterior(learned, one("AP"))
    c = 1 - 0.63 * math.exp(-0.75 * 20 / 6)
    assert found.scale == pytest.approx(c)
    for i in range(4):
        for j in range(4):
            gap = found.covariance[i, i] + found.covariance[j, j] - 2 * found.covariance[i, j]
            if i != j:
                expected = norm.cdf((found.mean[i] - found.mean[j]) / (c * math.sqrt(gap)))
                assert found.better[i, j] == pytest.approx(expected)
    assert found.better + found.better.T == pytest.approx(np.ones((4, 4)))
    assert np.diag(found.better) == pytest.approx(np.full(4, 0.5))
    turned = replace(found, lower=True)
    assert turned.better == pytest.approx(found.better.T)


@pytest.mark.parametrize(("count", "expected"), [(0, 0.37), (6, 1 - 0.63 * math.exp(-0.75)), (60, 0.99965)])
def test_the_scale_grows_with_labels_per_topic(count: int, expected: float) -> None:
    assert scale_of(taught(*field(), count)) == pytest.approx(expected, abs=1e-5)


def test_clones_are_a_toss_up_and_share_the_first_place() -> None:
    run, truth = field()
    twin = run.frame.filter(pl.col("system") == "s0").with_columns(pl.lit("s9").alias("system"))
    both = Run(pl.concat([run.frame, twin]))
    found = posterior(taught(both, truth, 20), one("AP"))
    assert found.better[0, 4] == found.better[4, 0] == 0.5
    assert found.sd[0, 4] == pytest.approx(0, abs=1e-7)
    best = found.best()
    assert best[0] == pytest.approx(best[4], abs=1e-3)
    assert best.sum() == pytest.approx(1)


def test_p_best_sums_to_one_and_is_that_of_normal_draws() -> None:
    found = posterior(taught(*field(), 12), one("AP"))
    best = found.best()
    assert best.sum() == pytest.approx(1)
    rng = np.random.default_rng(9)
    drawn = rng.multivariate_normal(found.mean, found.scale**2 * found.covariance, size=20_000)
    expected = np.bincount(drawn.argmax(1), minlength=4) / 20_000
    assert best == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 4_000))
    assert np.array_equal(best, found.best(0))
    least = replace(found, lower=True).best()
    assert least == pytest.approx(np.bincount(drawn.argmin(1), minlength=4) / 20_000, abs=4 * math.sqrt(0.25 / 4_000))


def test_two_systems_have_p_best_by_phi() -> None:
    found = Posterior("AP", ["A", "B"], np.array([[0.5], [0.4]]), np.zeros((2, 1)), np.diag([0.01, 0.02]), 0.8)
    expected = norm.cdf(0.1 / (0.8 * math.sqrt(0.03)))
    assert found.better[0, 1] == pytest.approx(expected)
    assert found.best()[0] == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 4_000))


def test_one_system_is_the_best() -> None:
    assert Posterior("AP", ["A"], np.array([[0.5]]), np.zeros((1, 1)), np.ones((1, 1)), 1.0).best().tolist() == [1]


@pytest.mark.parametrize("name", ["AP", "P@5", "nDCG@5", "R@5", "DCG@5"])
def test_labels_everywhere_leave_no_doubt(name: str) -> None:
    run, truth = field()
    learned = taught(run, truth, 10_000)
    found = posterior(learned, one(name))
    assert found.sd == pytest.approx(np.zeros((4, 4)), abs=1e-9)
    apart = found.mean[:, None] - found.mean
    assert (found.better == np.where(apart > 1e-9, 1, np.where(apart < -1e-9, 0, 0.5))).all()
    assert found.best().sum() == pytest.approx(1)
    assert found.best()[found.mean.argmax()] > 0


def test_topics_without_anything_relevant_are_left_out() -> None:
    run, truth = field()
    none = {pair: 0.0 if pair[0] == "q3" else grade for pair, grade in truth.items()}
    found = posterior(taught(run, none, 10_000), one("AP"))
    assert np.isnan(found.values).sum(0).tolist() == [0, 0, 0, 4, 0, 0]
    assert found.mean == pytest.approx(found.values[:, [0, 1, 2, 4, 5]].mean(1))
    assert np.isfinite(found.covariance).all()


def test_levels_that_count() -> None:
    learned = taught(*field(seed=2), 40, binary=False)
    levels, steps = levels_of(one("nDCG(dcg='exp-log2')@5"), learned)
    assert (levels, steps.tolist()) == ([0, 1, 2], [1, 2, 4])
    levels, steps = levels_of(one("AP(rel=2)"), learned)
    assert (levels, steps.tolist()) == ([1], [1])
    with pytest.raises(TextError, match="RR has no linear form"):
        posterior(learned, one("RR"))


def test_covariance_over_a_single_topic() -> None:
    learned = taught(*field(topics=1), 8)
    p = learned.tails[0]
    a = gradient(learned, average_precision(learned), p)
    assert posterior(learned, one("AP")).truth == pytest.approx(a @ np.diag(p * (1 - p)) @ a.T, abs=1e-8)
