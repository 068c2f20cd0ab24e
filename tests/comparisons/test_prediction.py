"""Estimates from a belief and labels drawn by chance: worked numbers, plain oracles, enumeration, coverage.

Coverage of 95 % intervals measured by hand (150 labels of 600 pairs, 20 queries, 4 systems, 8 measures, 300 draws each,
single rows / differences), with beliefs that are good, nearly perfect, reversed (1 - y), constant (.9) and random:
even propensities .935-.977 / .943-.979, those of choose() .927-.970 / .941-.973. Propensities from .02 to 1 that have
nothing to do with anything: .849-.986 / .939-.994. Over redrawn queries (t interval, 150 problems each): 10 queries
.894-.968 / .936-.979, 20 queries .915-.967 / .928-.968, 50 queries .912-.963 / .922-.967.
"""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from endoxa.comparisons.prediction import active_mean, active_terms, estimate, ppi_mean
from endoxa.errors import JoinError, TableError, TextError
from endoxa.measures.evaluate import measure as score
from endoxa.measures.grammar import parse
from endoxa.notes import texts
from endoxa.tables import Belief, Opinions, Run

Y = np.array([1, 0, 1, 1, 0, 1, 0, 1.0])
F = np.array([0.9, 0.4, 0.7, 0.8, 0.3, 0.6, 0.2, 0.5])
REST = np.array([0.8, 0.6, 0.4, 0.3, 0.9, 0.7, 0.2, 0.5, 0.6, 0.1, 0.8, 0.9, 0.3, 0.4, 0.5, 0.7])
LINEAR, RATIOS = ["P@3", "DCG@4", "SetP"], ["R@3", "SetR", "F@3", "SetF"]


# The textbook forms


def test_worked_example_of_ppi() -> None:
    """docs/methods/comparisons.md, Prediction-powered estimates."""
    found = ppi_mean(Y, F, REST)
    assert found.lam == 1  # 1.226394, clipped
    assert found.estimate == pytest.approx(0.61875)
    assert found.se == pytest.approx(0.134265, abs=5e-7)
    assert (found.lo, found.hi) == pytest.approx((0.355595, 0.881905), abs=5e-7)
    assert ppi_mean(Y, F, REST, ddof=0, lam=1).se == pytest.approx(0.126543, abs=5e-7)
    alone = ppi_mean(Y, F, REST, lam=0)
    assert (alone.estimate, alone.se) == (0.625, pytest.approx(0.182981, abs=5e-7))


def test_lam_before_it_is_clipped() -> None:
    """Twice the predictions need half the λ: 1.226394 / 2, and the same estimate as λ = 1.226394 would give."""
    assert ppi_mean(Y, 2 * F, 2 * REST).lam == pytest.approx(1.226394 / 2, abs=5e-7)
    assert ppi_mean(Y, 1 - F, 1 - REST).lam == 0
    assert ppi_mean(Y, np.full(8, 0.5), np.full(16, 0.5)).lam == 0  # predictions without spread say nothing


def test_ppi_covers() -> None:
    rng = np.random.default_rng(4)
    hits = []
    for _ in range(1500):
        f = rng.random(500)
        y = (rng.random(100) < 0.2 + 0.5 * f[:100]).astype(float)
        found = ppi_mean(y, f[:100], f[100:])
        hits.append(found.lo <= 0.45 <= found.hi)
    assert np.mean(hits) >= 0.93


def test_worked_example_of_active_judging() -> None:
    """By hand: terms (.9, 1.5, .2, 1.3), θ .975, SE .286865. Items without a label have no y."""
    f, pi = np.array([0.9, 0.5, 0.2, 0.7]), np.array([0.25, 0.5, 0.25, 0.5])
    y, labelled = np.array([np.nan, 1, np.nan, 1]), np.array([False, True, False, True])
    assert active_terms(f, y, labelled, pi).tolist() == pytest.approx([0.9, 1.5, 0.2, 1.3])
    found = active_mean(f, y, labelled, pi)
    assert found.estimate == pytest.approx(0.975)
    assert found.se == pytest.approx(0.286865, abs=5e-7)
    assert found.hi - found.estimate == pytest.approx(1.959964 * 0.286865, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.floats(0.05, 1)), min_size=2, max_size=7),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_mean_over_all_samples_is_the_truth(items, lam) -> None:
    y, f, pi = (np.array(part, dtype=float) for part in zip(*items, strict=True))
    total = 0.0
    for sample in itertools.product([False, True], repeat=len(y)):
        xi = np.array(sample)
        total += np.where(xi, pi, 1 - pi).prod() * active_mean(f, y, xi, pi, lam=lam).estimate
    assert total == pytest.approx(y.mean(), abs=1e-9)


def test_textbook_forms_refuse() -> None:
    ones = np.ones(3)
    with pytest.raises(TableError, match="8 labels and 3 predictions"):
        ppi_mean(Y, ones, REST)
    with pytest.raises(TableError, match="at least 2 of each"):
        ppi_mean(ones[:1], ones[:1], REST)
    with pytest.raises(TextError, match="lam lies between"):
        ppi_mean(Y, F, REST, lam=1.2)
    with pytest.raises(TextError, match="confidence"):
        ppi_mean(Y, F, REST, confidence=95)
    with pytest.raises(TableError, match="every propensity"):
        active_mean(ones, ones, ones > 0, np.array([0.5, 0, 1]))
    with pytest.raises(TableError, match="same items"):
        active_mean(ones, ones, ones > 0, ones[:2])
    with pytest.raises(TableError, match="1 labelled items have no y"):
        active_mean(ones, np.array([1, np.nan, 0]), ones > 0, ones)
    with pytest.raises(TableError, match="at least 2"):
        active_mean(ones[:1], ones[:1], ones[:1] > 0, ones[:1])


# A small world, and the estimate of it in plain loops


class World:
    """Queries with graded items, three systems, a belief; labels are drawn from it."""

    def __init__(self, seed=0, queries=12, items=20, belief="good", short=5):
        rng = np.random.default_rng(seed)
        self.queries = [f"q{q:02}" for q in range(queries)]
        self.pairs = [(q, f"d{d:02}") for q in self.queries for d in range(items)]
        n = len(self.pairs)
        prevalence = np.repeat(rng.beta(2, 3, queries), items)
        y = (rng.random(n) < prevalence).astype(float)
        self.grade = y * (1 + (rng.random(n) < 0.4))
        rows = []
        for s, noise in enumerate((0.6, 0.9, 1.3)):
            value = 0.7 * self.grade + noise * rng.normal(size=n)
            for q, name in enumerate(self.queries):
                order = np.argsort(-value[q * items : (q + 1) * items])[: rng.integers(short, 9)]
                rows += [(f"s{s}", name, f"d{d:02}", -float(place)) for place, d in enumerate(order)]
        self.rows = rows
        self.run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
        self.f = {
            "good": np.clip(np.where(y > 0, 0.8, 0.15) + 0.12 * rng.normal(size=n), 0.02, 0.98),
            "reversed": np.clip(1 - y + 0.2 * rng.normal(size=n), 0.02, 0.98),
            "constant": np.full(n, 0.9),
        }[belief]
        query, item = zip(*self.pairs, strict=True)
        self.frame = pl.DataFrame({"query": query, "item": item})
        self.belief = Belief.of(self.frame.with_columns(pl.Series("p", self.f)))

    def labels(self, drawn, pi):
        frame = self.frame.with_columns(pl.Series("grade", self.grade), pl.Series("propensity", pi))
        return Opinions.of(frame.filter(pl.Series(drawn)))

    def draw(self, rng, pi):
        return self.labels(rng.random(len(pi)) < pi, pi)

    def lists(self):
        found = {}
        for system, query, item, _ in self.rows:
            found.setdefault((system, query), []).append(item)
        return found


def weights(world, system, name):
    """{pair: weight}, {query: size}, ratio: the measure in plain loops."""
    kind, _, k = name.partition("@")
    weight, size, lists = {}, {}, world.lists()
    for query in world.queries:
        found = lists.get((system, query), [])
        size[query] = int(k) if k else len(found)
        for place, item in enumerate(found[: int(k) if k else None]):
            worth = {"P": 1 / size[query], "SetP": 1 / size[query], "DCG": 1 / math.log2(place + 2)}
            weight[query, item] = worth.get(kind, 2.0 if kind in {"F", "SetF"} else 1.0)
    if kind in {"R", "SetR"}:
        size = dict.fromkeys(size, 0)
    return weight, size, kind in {"R", "SetR", "F", "SetF"}


def plain(world, system, name, drawn, pi, lam):
    """Estimate, weights u of all pairs, and residuals per query, as the docstring has them, one pair at a time."""
    weight, size, ratio = weights(world, system, name)
    graded = name.startswith("DCG")
    above, below = dict.fromkeys(world.queries, 0.0), {query: float(size[query]) for query in world.queries}
    for place, pair in enumerate(world.pairs):
        y = world.grade[place] if graded else float(world.grade[place] >= 1)
        term = lam * world.f[place] + (drawn[place] / pi[place]) * (y - lam * world.f[place])
        above[pair[0]] += weight.get(pair, 0.0) * term
        below[pair[0]] += term
    Q = len(world.queries)
    if not ratio:
        theta = sum(above.values()) / Q
        u = [weight.get(pair, 0.0) / Q for pair in world.pairs]
        return theta, np.array(u), np.array([above[query] - theta for query in world.queries])
    total = sum(below.values())
    theta = sum(above.values()) / total
    u = [(weight.get(pair, 0.0) - theta) / total for pair in world.pairs]
    residual = [(above[query] - theta * below[query]) * Q / total for query in world.queries]
    return theta, np.array(u), np.array(residual)


def spread(world, u, name, drawn, pi, lam):
    """Σ v over labelled, and (Σ v)²/Σ v²."""
    y = world.grade if name.startswith("DCG") else (world.grade >= 1).astype(float)
    v = drawn * u**2 * (1 - pi) / pi**2 * (y - lam * world.f) ** 2
    return v.sum(), v.sum() ** 2 / (v**2).sum()


def check(row, theta, u, residual, world, drawn, pi, name):
    lam, Q = row["lam"], len(residual)
    variance, degrees = spread(world, u, name, drawn, pi, lam)
    reach = stats.t.ppf(0.95, degrees) * math.sqrt(variance)
    se_queries = math.sqrt((residual**2).sum() / (Q - 1) / Q)
    value = row["estimate"] if "estimate" in row else row["difference"]
    assert value == pytest.approx(theta)
    assert row["se"] == pytest.approx(math.sqrt(variance))
    assert (row["lo"], row["hi"]) == pytest.approx((theta - reach, theta + reach))
    assert row["se_queries"] == pytest.approx(se_queries)
    assert row["hi_queries"] - value == pytest.approx(stats.t.ppf(0.95, Q - 1) * se_queries)
    assert row["labels"] == int((drawn & (u != 0)).sum())


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0, None])
def test_estimate_is_that_of_plain_loops(lam) -> None:
    world, rng = World(1), np.random.default_rng(2)
    pi = np.where(rng.random(240) < 0.1, 1.0, rng.uniform(0.4, 0.9, 240))
    drawn = rng.random(240) < pi
    found = estimate(world.run, world.belief, world.labels(drawn, pi), LINEAR + RATIOS, lam=lam, confidence=0.9)
    assert found.frame.select("system", "measure").rows() == [
        (system, name) for name in LINEAR + RATIOS for system in ("s0", "s1", "s2")
    ]
    for row in found.frame.iter_rows(named=True):
        assert lam is None or row["lam"] == lam
        made = plain(world, row["system"], row["measure"], drawn, pi, row["lam"])
        check(row, *made, world, drawn, pi, row["measure"])
        assert row["outside"] == 0
    for row in found.pairs.iter_rows(named=True):
        left, right = (
            plain(world, row[side], row["measure"], drawn, pi, row["lam"]) for side in ("system", "baseline")
        )
        made = (a - b for a, b in zip(left, right, strict=True))
        check(row, *made, world, drawn, pi, row["measure"])


def test_lam_is_the_one_of_least_variance() -> None:
    world, rng = World(3, belief="constant"), np.random.default_rng(4)
    pi = rng.uniform(0.4, 0.9, 240)
    drawn = rng.random(240) < pi
    found = estimate(world.run, world.belief, world.labels(drawn, pi), LINEAR + RATIOS)
    inner = 0
    for row in found.frame.iter_rows(named=True):

        def variance(lam, row=row):
            _, u, _ = plain(world, row["system"], row["measure"], drawn, pi, lam)
            return spread(world, u, row["measure"], drawn, pi, lam)[0]

        best = optimize.minimize_scalar(variance, bounds=(0, 1), method="bounded")
        exact = row["measure"] in LINEAR  # a ratio's weights move with λ, and are held while it is sought
        assert row["lam"] == pytest.approx(best.x, abs=1e-4 if exact else 0.15)
        assert row["se"] ** 2 <= best.fun * (1 + (1e-6 if exact else 0.03))
        inner += 0.01 < row["lam"] < 0.99
    assert inner > 10


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_mean_over_all_samples_is_the_truth(lam) -> None:
    """Of 120 pairs all but five are certain to be judged: 32 samples, weighted by their chance."""
    world = World(5, queries=10, items=12)
    pi = np.ones(120)
    loose = [3, 17, 40, 41, 77]
    pi[loose] = [0.2, 0.5, 0.7, 0.3, 0.9]
    sums = np.zeros((3, len(LINEAR)))
    for sample in itertools.product([False, True], repeat=5):
        drawn = np.ones(120, dtype=bool)
        drawn[loose] = sample
        chance = np.where(sample, pi[loose], 1 - pi[loose]).prod()
        found = estimate(world.run, world.belief, world.labels(drawn, pi), LINEAR, lam=lam)
        sums += chance * found.frame["estimate"].to_numpy().reshape(len(LINEAR), 3).T
    every = np.ones(120, dtype=bool)
    truth = [[plain(world, f"s{s}", name, every, np.ones(120), 0)[0] for name in LINEAR] for s in range(3)]
    assert sums == pytest.approx(np.array(truth))


def test_the_variance_is_unbiased_over_all_samples() -> None:
    """The formula Σ v, against the variance of the estimate itself, over 2^6 samples."""
    rng = np.random.default_rng(6)
    u, y, f, pi = rng.normal(size=6), (rng.random(6) < 0.5) * 1.0, rng.random(6), rng.uniform(0.2, 0.9, 6)
    chances, thetas, found = [], [], []
    for sample in itertools.product([0, 1], repeat=6):
        xi = np.array(sample)
        chances.append(np.where(xi, pi, 1 - pi).prod())
        thetas.append((u * (0.4 * f + xi / pi * (y - 0.4 * f))).sum())
        found.append((xi * u**2 * (1 - pi) / pi**2 * (y - 0.4 * f) ** 2).sum())
    chance, theta = np.array(chances), np.array(thetas)
    assert chance @ theta == pytest.approx(u @ y)
    assert chance @ np.array(found) == pytest.approx(chance @ (theta - u @ y) ** 2)


def test_what_is_wholly_judged_is_known() -> None:
    """Propensity 1 everywhere: the values of measure(), without an interval for these queries."""
    world = World(7)
    labels = world.labels(np.ones(240, dtype=bool), np.ones(240))
    found = estimate(world.run, world.belief, labels, LINEAR + RATIOS)
    scores = score(world.run, labels, [parse(name) for name in LINEAR])
    for name in LINEAR:
        _, _, values = scores.matrix(name)
        rows = found.frame.filter(pl.col("measure") == name)
        assert rows["estimate"].to_list() == pytest.approx(values.mean(1).tolist())
        assert rows["se_queries"].to_list() == pytest.approx((values.std(1, ddof=1) / math.sqrt(12)).tolist())
        pair = found.pairs.filter((pl.col("measure") == name) & (pl.col("baseline") == "s1"))
        assert pair["difference"].item() == pytest.approx(float((values[0] - values[1]).mean()))
        assert pair["se_queries"].item() == pytest.approx((values[0] - values[1]).std(ddof=1) / math.sqrt(12))
    counts = score(world.run, labels, [parse("NumRelRet"), parse("NumRel")])
    hits, relevant = (counts.matrix(name)[2].sum(1) for name in ("NumRelRet", "NumRel"))
    recall = found.frame.filter(pl.col("measure") == "SetR")["estimate"]
    assert recall.to_list() == pytest.approx((hits / relevant).tolist())
    assert found.frame["se"].to_list() == [0] * 21
    assert found.frame["lo"].equals(found.frame["hi"])


# Claims about chance


def truths(world, names):
    every = np.ones(len(world.pairs), dtype=bool)
    return np.array(
        [[plain(world, f"s{s}", name, every, np.ones(len(every)), 0)[0] for s in range(3)] for name in names]
    )


def propensity(world, kind, count):
    n = len(world.pairs)
    if kind == "even":
        return np.full(n, count / n)
    doubt = np.sqrt(world.f * (1 - world.f)) * np.random.default_rng(1).gamma(2, 1, n)
    return np.minimum(1, 0.5 * count / n + 0.5 * count * doubt / doubt.sum())


NAMES = ["P@3", "DCG@4", "SetP", "R@3", "F@3"]


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize("belief", ["good", "reversed", "constant"])
def test_intervals_cover_these_queries(belief, kind) -> None:
    """30 samples of about 150 labels, 5 measures, 3 systems and 3 pairs: 900 intervals, not independent."""
    world, rng = World(11, queries=20, items=25, belief=belief), np.random.default_rng(12)
    truth, pi = truths(world, NAMES), propensity(world, kind, 150)
    pairs = np.stack([truth[:, 0] - truth[:, 1], truth[:, 0] - truth[:, 2], truth[:, 1] - truth[:, 2]], axis=1)
    hits, gaps = [], []
    for _ in range(30):
        found = estimate(world.run, world.belief, world.draw(rng, pi), NAMES)
        for frame, right in ((found.frame, truth), (found.pairs, pairs)):
            lo, hi = frame["lo"].to_numpy(), frame["hi"].to_numpy()
            hits.append(((lo <= right.ravel()) & (right.ravel() <= hi))[~np.isnan(lo)])
        gaps.append(found.frame["estimate"].to_numpy() - truth.ravel())
    covered = float(np.concatenate(hits).mean())
    print(f"{belief} {kind}: {covered:.3f}")
    assert covered >= 0.93
    linear = np.array(gaps)[:, :9]
    assert (np.abs(linear.mean(0)) < 4.5 * linear.std(0) / math.sqrt(30)).all()  # λ tuned on the labels does not bias


@pytest.fixture(scope="module")
def kind():
    """What 1,500 queries of the kind have, all judged."""
    whole = World(14, queries=1_500, items=15)
    labels = whole.labels(np.ones(len(whole.pairs), dtype=bool), np.ones(len(whole.pairs)))
    return estimate(whole.run, whole.belief, labels, ["P@3", "DCG@4", "R@3"])


@pytest.mark.parametrize("belief", ["good", "reversed"])
def test_intervals_cover_queries_of_this_kind(belief, kind) -> None:
    """40 problems of 15 fresh queries."""
    rng, names = np.random.default_rng(13), ["P@3", "DCG@4", "R@3"]
    hits = []
    for seed in range(40):
        world = World(1000 + seed, queries=15, items=15, belief=belief)
        found = estimate(world.run, world.belief, world.draw(rng, np.full(225, 0.6)), names)
        for one, other, name in ((found.frame, kind.frame, "estimate"), (found.pairs, kind.pairs, "difference")):
            right, lo, hi = other[name].to_numpy(), one["lo_queries"].to_numpy(), one["hi_queries"].to_numpy()
            hits.append((lo <= right) & (right <= hi))
    covered = float(np.mean(hits))
    print(f"{belief}: {covered:.3f}")
    assert covered >= 0.92


def test_a_good_belief_shortens_the_interval_and_a_bad_one_does_little_harm() -> None:
    widths = {}
    for belief in ("good", "reversed"):
        world = World(15, queries=20, items=25, belief=belief)
        labels = world.draw(np.random.default_rng(16), np.full(500, 0.4))
        for lam in (None, 0.0):
            found = estimate(world.run, world.belief, labels, NAMES, lam=lam)
            widths[belief, lam] = found.frame["se"].to_numpy()
    assert (widths["good", None] < 0.7 * widths["good", 0.0]).all()
    assert (widths["reversed", None] <= 1.05 * widths["reversed", 0.0]).all()


# What is known, what is out of reach, and what cannot be told


def test_a_label_where_two_systems_agree_adds_nothing_to_their_difference() -> None:
    world = World(17)
    twin = pl.concat(
        [world.run.frame, world.run.frame.filter(pl.col("system") == "s0").with_columns(system=pl.lit("t"))]
    )
    labels = world.draw(np.random.default_rng(18), np.full(240, 0.6))
    found = estimate(
        Run.of(twin.select("system", "query", "item", "score")), world.belief, labels, ["P@3", "R@3", "SetF"]
    )
    rows = found.pairs.filter((pl.col("system") == "s0") & (pl.col("baseline") == "t"))
    assert rows.height == 3
    for name in ("difference", "lo", "hi", "lo_queries", "hi_queries", "labels"):
        assert rows[name].to_list() == [0, 0, 0]


def test_too_few_labels_that_bear_on_a_row_give_no_interval() -> None:
    """t has one item in each of 8 queries, and few of them are drawn; the estimate stands, its ends are NaN."""
    world = World(19)
    few = pl.DataFrame({"system": ["t"] * 8, "query": world.queries[:8], "item": ["d00"] * 8, "score": [1.0] * 8})
    run = Run.of(pl.concat([world.run.frame.select(few.columns), few]))
    pi = np.full(240, 0.6)
    drawn = np.random.default_rng(20).random(240) < pi
    found = estimate(run, world.belief, world.labels(drawn, pi), ["P@1", "R@1"])
    row = found.frame.filter((pl.col("system") == "t") & (pl.col("measure") == "P@1")).row(0, named=True)
    assert 0 < row["labels"] < 10
    assert not math.isnan(row["estimate"])
    assert all(math.isnan(row[name]) for name in ("se", "lo", "hi", "se_queries", "lo_queries", "hi_queries"))
    assert any("rows without an interval" in note for note in texts(found.notes))
    other = found.frame.filter((pl.col("system") == "t") & (pl.col("measure") == "R@1")).row(0, named=True)
    assert not math.isnan(other["se"])  # every relevant item bears on recall


def test_labels_without_spread_give_no_interval() -> None:
    world = World(21)
    labels = world.draw(np.random.default_rng(22), np.full(240, 0.6)).frame.with_columns(pl.lit(0.0).alias("grade"))
    found = estimate(world.run, world.belief, Opinions.of(labels), ["P@3", "R@3"])
    row = found.frame.row(0, named=True)
    assert (row["estimate"], row["lam"]) == (0, 0)
    assert math.isnan(row["hi"])
    assert found.frame.filter(pl.col("measure") == "R@3")["estimate"].is_nan().all()  # 0/0


def test_what_lies_outside_the_universe_counts_as_irrelevant() -> None:
    world, rng = World(23), np.random.default_rng(24)
    pi = np.full(240, 0.6)
    inside = world.frame.with_columns(pl.Series("y", world.grade >= 1)).filter(pl.col("item") < "d16")
    labels = world.draw(rng, pi).frame.filter(pl.col("item") < "d16")
    found = estimate(world.run, world.belief, Opinions.of(labels), ["P@3", "SetR"], universe=inside)
    smaller = Belief.of(world.belief.frame.filter(pl.col("item") < "d16"))
    same = estimate(world.run, smaller, Opinions.of(labels), ["P@3", "SetR"])
    assert found.frame.equals(same.frame)
    assert found.pairs.equals(same.pairs)
    lists = world.lists()
    for system, name, outside in found.frame.select("system", "measure", "outside").iter_rows():
        tops = [item for query in world.queries for item in lists[system, query][: 3 if name == "P@3" else None]]
        assert outside == pytest.approx(np.mean([item >= "d16" for item in tops]))
    assert any("could not be drawn" in note for note in texts(found.notes))


def test_a_label_outside_the_universe_counts_without_the_belief() -> None:
    world, pi = World(25), np.full(240, 0.6)
    drawn = np.random.default_rng(26).random(240) < pi
    inside = world.frame.filter(pl.col("item") < "d16")
    found = estimate(world.run, world.belief, world.labels(drawn, pi), ["P@3"], universe=inside, lam=1.0)
    world.f = np.where([item < "d16" for _, item in world.pairs], world.f, 0.0)
    for row in found.frame.iter_rows(named=True):
        assert row["estimate"] == pytest.approx(plain(world, row["system"], "P@3", drawn, pi, 1.0)[0])
    assert any("labelled pairs lie outside the universe" in note for note in texts(found.notes))


def test_empty_lists_and_strange_queries() -> None:
    """A query that a system lacks: nothing found; for SetP it is left out. One that nobody could judge: ignored."""
    world, pi = World(27), np.full(240, 0.7)
    drawn = np.random.default_rng(28).random(240) < pi
    frame = world.run.frame.select("system", "query", "item", "score")
    gone = frame.filter(~((pl.col("system") == "s1") & pl.col("query").is_in(["q03", "q07"])))
    odd = pl.DataFrame({"system": ["s0"], "query": ["zz"], "item": ["d00"], "score": [1.0]})
    labels = world.labels(drawn, pi)
    found = estimate(Run.of(pl.concat([gone, odd])), world.belief, labels, ["P@3", "SetP"], lam=0.5)
    world.rows = gone.rows()
    whole = {(row["system"], row["measure"]): row["estimate"] for row in found.frame.iter_rows(named=True)}
    assert whole["s1", "P@3"] == pytest.approx(plain(world, "s1", "P@3", drawn, pi, 0.5)[0])
    means = {}
    for system in ("s0", "s1"):
        each = plain(world, system, "SetP", drawn, pi, 0.5)
        means[system] = each[2] + each[0]
    kept = [place for place, query in enumerate(world.queries) if query not in {"q03", "q07"}]
    assert whole["s1", "SetP"] == pytest.approx(means["s1"][kept].mean())
    pair = found.pairs.filter((pl.col("measure") == "SetP") & (pl.col("baseline") == "s1")).row(0, named=True)
    d = (means["s0"] - means["s1"])[kept]
    assert pair["difference"] == pytest.approx(d.mean())
    assert pair["se_queries"] == pytest.approx(d.std(ddof=1) / math.sqrt(10))
    assert "1 queries of the run could not be judged; they are ignored" in texts(found.notes)
    assert "2 lists are empty: nothing found (SetP: left out)" in texts(found.notes)


def test_a_system_that_answers_no_known_query() -> None:
    world = World(39)
    odd = pl.DataFrame({"system": ["x"], "query": ["zz"], "item": ["d00"], "score": [1.0]})
    run = Run.of(pl.concat([world.run.frame.select(odd.columns), odd]))
    found = estimate(run, world.belief, world.draw(np.random.default_rng(40), np.full(240, 0.6)), LINEAR + RATIOS)
    rows = {row["measure"]: row for row in found.frame.filter(pl.col("system") == "x").iter_rows(named=True)}
    assert math.isnan(rows["SetP"]["estimate"])
    for name in ("P@3", "DCG@4", "R@3", "SetR", "F@3", "SetF"):
        assert (rows[name]["estimate"], rows[name]["se"]) == (0, 0)  # known: it finds nothing
    assert math.isnan(rows["P@3"]["outside"])
    against = found.pairs.filter((pl.col("baseline") == "x") & (pl.col("system") == "s0"))
    alone = found.frame.filter(pl.col("system") == "s0")
    defined = pl.col("measure") != "SetP"
    assert against.filter(defined)["difference"].to_list() == pytest.approx(alone.filter(defined)["estimate"].to_list())


def test_graded_beliefs_with_readings() -> None:
    """f is Pr(grade >= 1), or the expected grade for DCG, mixed over readings."""
    world, pi = World(29), np.full(240, 0.6)
    frame = world.frame.with_columns(pl.Series("a", world.f))
    parts = [
        frame.select("query", "item", reading=pl.lit(r), weight=pl.lit(w), grade=pl.lit(g), p=pl.col("a") * share)
        for r, w, g, share in (("x", 3.0, 0.5, 0.2), ("x", 3.0, 2.0, 0.6), ("y", 1.0, 1.0, 0.5))
    ]
    belief = Belief.of(pl.concat(parts))
    drawn = np.random.default_rng(30).random(240) < pi
    found = estimate(world.run, belief, world.labels(drawn, pi), ["P@3", "DCG@4"], lam=1.0)
    original = world.f
    for name, factor in (("P@3", 0.75 * 0.6 + 0.25 * 0.5), ("DCG@4", 0.75 * (0.1 + 1.2) + 0.25 * 0.5)):
        world.f = original * factor
        rows = found.frame.filter(pl.col("measure") == name)
        expected = [plain(world, f"s{s}", name, drawn, pi, 1.0)[0] for s in range(3)]
        assert rows["estimate"].to_list() == pytest.approx(expected)


def test_notes_say_how_it_was_made() -> None:
    world, pi = World(31), np.full(240, 0.6)
    labels = world.draw(np.random.default_rng(32), pi)
    said = " ".join(texts(estimate(world.run, world.belief, labels, ["P@3", "R@3", "SetF"]).notes))
    assert "R@3, SetF: micro-averaged" in said
    assert f"{len(labels)} labels in 12 of 12 queries, 0 of them of pairs sure to be drawn; 240 pairs could be" in said
    assert "a difference has its own λ" in said
    assert "uneven" not in said
    alone = " ".join(texts(estimate(world.run, world.belief, labels, ["P@3"], lam=0).notes))
    assert "λ = 0 for all rows: labels alone" in alone
    assert "micro" not in alone
    undecided = labels.frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 4).then(None).otherwise("grade").alias("grade")
    )
    said = " ".join(texts(estimate(world.run, world.belief, Opinions.of(undecided), ["P@3"]).notes))
    assert "4 pairs were drawn but have no grade" in said
    wild = np.where(np.arange(240) % 10 == 0, 0.03, 0.8)
    drawn = np.arange(240) % 10 != 1
    assert "so uneven" in " ".join(texts(estimate(world.run, world.belief, world.labels(drawn, wild), ["P@3"]).notes))


@pytest.mark.parametrize(
    "name", ["nDCG@10", "AP", "RR", "AP(rel=2)", "P(relative=True)@10", "F(beta=2)@10", "Success@5"]
)
def test_other_measures_have_no_interval(name) -> None:
    world = World(33)
    labels = world.draw(np.random.default_rng(34), np.full(240, 0.6))
    with pytest.raises(TextError, match=r"has no valid interval from a sample of labels.* DCG@k, F@k, P@k, R@k, SetF"):
        estimate(world.run, world.belief, labels, [name])
    from_1 = r"P\(rel=2\)@10 counts .* from grade 1 on; take P@10"
    for wrong, message in (
        ("P@0", "whole number from 1 on"), ("P", "names 9 measures"), ("P(rel=2)@10", from_1)
    ):  # fmt: skip
        with pytest.raises(TextError, match=message):
            estimate(world.run, world.belief, labels, [wrong])


def test_refusals() -> None:
    world = World(35)
    labels = world.draw(np.random.default_rng(36), np.full(240, 0.6))
    bare = labels.frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("propensity").alias("propensity")
    )
    with pytest.raises(TableError, match=r"3 of \d+ labels have no propensity: labels chosen by hand give an order"):
        estimate(world.run, world.belief, Opinions.of(bare), ["P@3"])
    with pytest.raises(JoinError, match="there are 99 labels in 12 queries; an interval needs at least 100"):
        estimate(world.run, world.belief, Opinions.of(labels.frame.sample(99, seed=1)), ["P@3"])
    nine = labels.frame.filter(pl.col("query") < "q09")
    with pytest.raises(JoinError, match=r"there are \d+ labels in 9 queries"):
        estimate(world.run, world.belief, Opinions.of(nine), ["P@3"])
    with pytest.raises(TextError, match="no measure was asked for"):
        estimate(world.run, world.belief, labels, [])
    with pytest.raises(TextError, match="lam lies between"):
        estimate(world.run, world.belief, labels, ["P@3"], lam=2)
    with pytest.raises(TextError, match="confidence"):
        estimate(world.run, world.belief, labels, ["P@3"], confidence=95)
    with pytest.raises(TableError, match="a universe needs a column 'item'"):
        estimate(world.run, world.belief, labels, ["P@3"], universe=pl.DataFrame({"query": ["q00"]}))
    other = Run.of(pl.DataFrame({"system": ["a"], "query": ["zz"], "item": ["d00"], "score": [1.0]}))
    with pytest.raises(JoinError, match="do run and belief belong together"):
        estimate(other, world.belief, labels, ["P@3"])
    two = pl.concat([labels.frame, labels.frame.with_columns(source=pl.lit("other"))])
    with pytest.raises(TableError, match="have several labels"):
        estimate(world.run, world.belief, Opinions.of(two), ["P@3"])


def test_one_system_has_no_pairs() -> None:
    world = World(37)
    alone = Run.of(world.run.frame.filter(pl.col("system") == "s0").select("system", "query", "item", "score"))
    found = estimate(alone, world.belief, world.draw(np.random.default_rng(38), np.full(240, 0.6)), ["P@3", "R@3"])
    assert found.frame.height == 2
    assert found.pairs.height == 0
    assert found.pairs.columns[:4] == ["measure", "system", "baseline", "difference"]
    assert found.frame.columns == [
        *("system", "measure", "estimate", "se", "lo", "hi", "se_queries", "lo_queries", "hi_queries"),
        *("lam", "labels", "outside"),
    ]
