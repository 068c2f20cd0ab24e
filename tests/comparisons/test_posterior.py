"""The order of systems under a learned belief: covariance by drawing, P(better) by Φ, P(best), sure cases."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from deciding_samples import design, precision
from scipy.special import expit
from scipy.stats import norm

from endoxa.beliefs.learned import Judged, Learned, Universe, learn
from endoxa.comparisons.posterior import Posterior, levels_of, posterior
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
    H, X = precision(u, learned.judged.rows, found.b), design(u)
    b = rng.multivariate_normal(np.zeros(u.size), np.linalg.inv(H), size=draws)
    moved = (b @ X.T) * p * (1 - p)  # what b does to p, linearised; 0 where p is 0 or 1
    truth = (rng.random((draws, len(p))) < p) - p
    sample = np.cov((moved + truth) @ a.T, rowvar=False)
    assert result.covariance == pytest.approx(sample, rel=0.05, abs=0.03 * sample.max())
    exact = a @ np.diag(p * (1 - p)) @ a.T
    assert result.truth == pytest.approx(exact, abs=1e-8)
    G = a @ (X * (p * (1 - p))[:, None])
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
    for place, fit in enumerate(learned.fits):
        step = np.diff(levels)[place]
        tail = learned.tails[place]
        G = a @ (design(u) * (step * tail * (1 - tail))[:, None])
        root += fit.half(G)  # the same draw moves every level; test_learned has half against a dense matrix
    assert result.covariance - result.truth == pytest.approx(root @ root.T, abs=1e-10)


def test_doubt_about_the_model_is_that_of_the_belief_itself() -> None:
    """Means of P@5 at relevance drawn from the posterior spread as the linear part says, where doubt is small."""
    run, truth = field(topics=10)
    learned = taught(run, truth, 150)
    u, (fit,) = learned.universe, learned.fits
    rng = np.random.default_rng(0)
    covariance = np.linalg.inv(precision(u, learned.judged.rows, fit.b))
    b = rng.multivariate_normal(fit.b, covariance, size=8_000)
    p = expit(b @ design(u).T)
    p[:, learned.judged.rows] = learned.judged.tails[0]
    a = np.zeros((4, u.rows.height))
    inside = u.rank <= 5
    a[u.system[inside], u.row[inside]] = 1 / 5 / len(u.queries)
    result = posterior(learned, one("P@5"))
    drawn = (p @ a.T).std(0)
    assert np.sqrt(np.diag(result.model @ result.model.T)) == pytest.approx(drawn, rel=0.3)


@pytest.mark.parametrize("count", [0, 6, 20, 100])
def test_p_better_is_phi_of_the_difference_by_the_same_scale_at_any_number_of_labels(count: int) -> None:
    found = posterior(taught(*field(), count), one("AP"))
    assert found.labels == pytest.approx(count / 6)
    for i in range(4):
        for j in range(4):
            gap = found.covariance[i, i] + found.covariance[j, j] - 2 * found.covariance[i, j]
            if i != j:
                expected = norm.cdf((found.mean[i] - found.mean[j]) / (1.25 * math.sqrt(gap)))
                assert found.better[i, j] == pytest.approx(expected)
    assert found.better + found.better.T == pytest.approx(1 - np.eye(4))  # nobody is better than itself
    assert np.diag(found.tie).all()
    assert np.diag(found.superiority) == pytest.approx(np.full(4, 0.5))
    turned = replace(found, lower=True)
    assert turned.better == pytest.approx(found.better.T)


def two(apart: float, sd: float, **more: float) -> Posterior:
    """A and B, whose difference has this mean and this standard deviation before it is scaled."""
    values, none = np.array([[0.5 + apart], [0.5]]), np.zeros((2, 1))
    return Posterior("P@10", ["A", "B"], values, none, np.eye(2) * sd**2 / 2, np.arange(2), **more)


@pytest.mark.parametrize("labels", [0.0, 0.4, 1.0, 5.0, 20.0])
def test_the_worked_number(labels: float) -> None:
    """A difference of .03 with a standard deviation of .015: Φ(.03/.01875) = .9452, at any number of labels."""
    found = two(0.03, 0.015, labels=labels)
    assert found.sd[0, 1] == pytest.approx(0.01875)
    assert found.better[0, 1] == pytest.approx(0.9452, abs=5e-5)


def test_the_worked_example_of_two_systems() -> None:
    """Δ = .02, sd = .015: P(A is the best) .857, P(within .01 of the best) .945."""
    found = two(0.02, 0.015)
    assert found.best[0] == pytest.approx(0.857, abs=2e-3)
    assert found.nearly_best[0] == pytest.approx(0.945, abs=2e-3)
    assert found.better[0, 1] == pytest.approx(0.857, abs=5e-4)
    assert norm.cdf(0.03 / 0.01875) == pytest.approx(0.945, abs=5e-4)
    assert found.best.sum() == pytest.approx(1)
    worse = replace(found, lower=True)
    assert worse.best[1] == pytest.approx(0.857, abs=2e-3)
    assert worse.nearly_best[1] == pytest.approx(0.945, abs=2e-3)


def copied(run: Run, system: str, *names: str) -> Run:
    """The run, and the same lists under further names."""
    own = run.frame.filter(pl.col("system") == system)
    copies = [own.with_columns(pl.lit(name).alias("system")) for name in names]
    return Run.of(pl.concat([run.frame, *copies]).select("system", "query", "item", "score"))


def best_of(run: Run, truth: dict[tuple[str, str], float], count: int, measure: str) -> dict[str, float]:
    found = posterior(taught(run, truth, count), one(measure))
    return dict(zip(found.systems, found.best.tolist(), strict=True))


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "P@5"])
@pytest.mark.parametrize("count", [0, 20, 90])
def test_p_best_does_not_depend_on_order_names_or_copies(count: int, measure: str) -> None:
    """The difference is exactly 0: another order of files, other names, and the leader given three times."""
    run, truth = field(systems=6)
    before = best_of(run, truth, count, measure)
    frame = run.frame.select("system", "query", "item", "score")
    for order in ([5, 2, 0, 4, 1, 3], [3, 4, 5, 0, 1, 2]):
        parts = [frame.filter(pl.col("system") == f"s{number}") for number in order]
        assert best_of(Run.of(pl.concat(parts)), truth, count, measure) == before
    names = {f"s{number}": name for number, name in enumerate(["m", "z", "b", "y", "a", "k"])}
    renamed = Run.of(frame.with_columns(pl.col("system").replace_strict(names)))
    assert best_of(renamed, truth, count, measure) == {names[system]: chance for system, chance in before.items()}
    leader = max(before, key=lambda system: before[system])
    more = best_of(copied(run, leader, "a copy", "zz copy"), truth, count, measure)
    assert {system: more[system] for system in before} == before
    assert more["a copy"] == more["zz copy"] == before[leader]  # shared: the value of the group


def test_copies_are_equal_whatever_the_labels() -> None:
    run, truth = field()
    for count in (0, 20):
        found = posterior(taught(copied(run, "s0", "s9"), truth, count), one("AP"))
        assert found.same.tolist() == [0, 1, 2, 3, 0]
        assert found.tie[0, 4]
        assert found.tie.sum() == 5 + 2
        assert found.better[0, 4] == found.better[4, 0] == 0
        assert found.superiority[0, 4] == found.superiority[4, 0] == 0.5
        assert found.practically_same[0, 4]
        assert (found.drawn[:, 0] == found.drawn[:, 4]).all()
        assert (found.values[0] == found.values[4]).all()  # to the last bit, so that neither leads
        assert (found.covariance[0] == found.covariance[4]).all()


def test_systems_that_agree_to_the_cutoff_are_the_same_on_that_measure_alone() -> None:
    """s9 has the first 5 items of s0, and the rest of its lists the other way round."""
    run, truth = field()
    own = run.frame.filter(pl.col("system") == "s0")
    turned = pl.when(pl.col("rank") > 5).then(-100 + pl.col("rank").cast(pl.Float64)).otherwise(pl.col("score"))
    frame = pl.concat([run.frame, own.with_columns(pl.lit("s9").alias("system"), turned.alias("score"))])
    learned = taught(Run.of(frame.select("system", "query", "item", "score")), truth, 20)
    near, far = posterior(learned, one("nDCG@5")), posterior(learned, one("nDCG@10"))
    assert (near.tie[0, 4], far.tie[0, 4]) == (True, False)
    assert near.best[0] == near.best[4]
    assert far.better[0, 4] + far.better[4, 0] == pytest.approx(1)


def test_practically_the_same_is_said_from_five_labels_a_topic_on() -> None:
    """P(-.01 < difference < .01) by draws; it is .95 at sd .0049/1.25 where the means are equal, and not at .0055."""
    rng = np.random.default_rng(0)
    for apart, sd in ((0.0, 0.0045 / 1.25), (0.0, 0.0055 / 1.25), (0.005, 0.002 / 1.25), (0.005, 0.0045 / 1.25)):
        within = (np.abs(rng.normal(apart, 1.25 * sd, 100_000)) <= 0.01).mean()
        assert abs(within - 0.95) > 0.01  # the case decides clearly
        assert two(apart, sd, labels=5.0).practically_same[0, 1] == (within >= 0.95)
        assert not two(apart, sd, labels=4.9).practically_same[0, 1]
        assert not two(apart, sd, labels=5.0).tie[0, 1]


def test_p_best_is_that_of_normal_draws() -> None:
    found = posterior(taught(*field(), 12), one("AP"))
    assert found.best.sum() == pytest.approx(1)
    rng = np.random.default_rng(9)
    drawn = rng.multivariate_normal(found.mean, 1.25**2 * found.covariance, size=200_000)
    expected = np.bincount(drawn.argmax(1), minlength=4) / 200_000
    assert found.best == pytest.approx(expected, abs=0.007)
    near = (drawn >= drawn.max(1, keepdims=True) - 0.01).mean(0)
    assert found.nearly_best == pytest.approx(near, abs=0.007)
    assert (found.nearly_best > found.best).all()
    least = replace(found, lower=True).best
    assert least == pytest.approx(np.bincount(drawn.argmin(1), minlength=4) / 200_000, abs=0.007)


def test_draws_have_the_mean_and_the_covariance_of_the_posterior() -> None:
    found = posterior(taught(*field(), 12), one("AP"))
    assert found.drawn.mean(0) == pytest.approx(found.mean, abs=1e-3)
    assert np.cov(found.drawn.T) == pytest.approx(1.25**2 * found.covariance, rel=0.02, abs=1e-6)


def test_one_system_is_the_best() -> None:
    alone = Posterior("AP", ["A"], np.array([[0.5]]), np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1, np.int64))
    assert alone.best.tolist() == alone.nearly_best.tolist() == [1]


def test_systems_without_a_value_have_no_chance() -> None:
    """B returned nothing that a set measure could count; without any value there is nothing to draw."""
    values = np.array([[0.5], [np.nan], [0.4]])
    found = Posterior("SetP", list("ABC"), values, np.zeros((3, 1)), np.eye(3) * 1e-4, np.arange(3))
    assert np.isnan(found.best).tolist() == np.isnan(found.nearly_best).tolist() == [False, True, False]
    assert np.nansum(found.best) == pytest.approx(1)
    assert np.isnan(found.better[1, [0, 2]]).all()
    nothing = replace(found, values=np.full((3, 1), np.nan))
    assert np.isnan(nothing.best).all()
    assert np.isnan(nothing.nearly_best).all()


@pytest.mark.parametrize("name", ["AP", "P@5", "nDCG@5", "R@5", "DCG@5"])
def test_labels_everywhere_leave_no_doubt(name: str) -> None:
    run, truth = field()
    learned = taught(run, truth, 10_000)
    found = posterior(learned, one(name))
    assert found.sd == pytest.approx(np.zeros((4, 4)), abs=1e-9)
    apart = found.mean[:, None] - found.mean
    assert (found.better == (apart > 1e-9)).all()
    assert (found.tie == (np.abs(apart) <= 1e-9)).all()
    assert found.best.tolist() == (found.mean == found.mean.max()).tolist()


def test_means_that_differ_by_rounding_alone_are_a_tie() -> None:
    """Every pair is judged; A and B have the same values on other topics, whose sums differ in the last bit."""
    values = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    assert values[0].mean() != values[1].mean()
    found = Posterior("P@10", ["A", "B"], values, np.zeros((2, 1)), np.zeros((2, 2)), np.arange(2), 9.0)
    assert found.tie.all()
    assert not found.better.any()
    assert found.best.sum() == pytest.approx(1)


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


def test_grades_do_not_make_the_order_of_systems_matter() -> None:
    """Three grades have three fits, whose roots are added up: names that turn the systems round change nothing."""
    run, truth = field(systems=5, seed=2)
    turned = {name: f"z{9 - place}" for place, name in enumerate(run.systems)}
    frame = run.frame.with_columns(pl.col("system").replace_strict(turned)).reverse()
    one = posterior(taught(run, truth, 40, binary=False), parse_all(["nDCG@10"])[0])
    other = posterior(
        taught(Run.of(frame.select("system", "query", "item", "score")), truth, 40, binary=False),
        parse_all(["nDCG@10"])[0],
    )
    places = [other.systems.index(turned[name]) for name in one.systems]
    assert places == sorted(places, reverse=True)
    assert other.better[np.ix_(places, places)] == pytest.approx(one.better, abs=1e-12)
    assert (other.best[places] == one.best).all()
