"""The belief that a few labels teach: the worked example, its invariances, its posterior, its labels."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest
from deciding_samples import dense, design, precision
from scipy.optimize import minimize
from scipy.special import expit

import endoxa
from endoxa.beliefs import learned as module
from endoxa.beliefs.learned import Judged, Universe, belief_of, believe, cross_fitted, fit, learn
from endoxa.errors import JoinError, TextError
from endoxa.measures.grammar import parse_all
from endoxa.measures.linear import Places
from endoxa.notes import texts
from endoxa.tables import Opinions, Run

LISTS = {"1": {"A": "abc", "B": "bad", "C": "eab"}, "2": {"A": "uvw", "B": "vux", "C": "wyu"}}
LABELS = {("1", "a"): 1.0, ("1", "e"): 0.0, ("2", "v"): 1.0, ("2", "w"): 0.0}


def run_of(lists: Mapping[str, Mapping[str, Sequence[str]]]) -> Run:
    rows = [
        (s, q, d, -float(n)) for q, by in lists.items() for s, items in by.items() for n, d in enumerate(items, start=1)
    ]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def labels_of(grades: dict[tuple[str, str], float | None], **more: str) -> Opinions:
    rows = [(*pair, grade) for pair, grade in grades.items()]
    frame = pl.DataFrame(rows, schema={"query": pl.String, "item": pl.String, "grade": pl.Float64}, orient="row")
    return Opinions.of(frame.with_columns(pl.lit(value).alias(name) for name, value in more.items()))


@pytest.fixture(scope="module")
def universe() -> Universe:
    """The worked example, in which every system has a vote of its own (A and B are alike at .4)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ALIKE", 0.8)
        return Universe.of(run_of(LISTS), depth=3)


@pytest.fixture(scope="module")
def taught(universe: Universe) -> module.Learned:
    return learn(universe, Judged.of(universe, labels_of(LABELS)))


def field(systems: int = 6, topics: int = 12, items: int = 60, length: int = 25, seed: int = 0):
    """Systems of falling quality over items of a known worth: a run, and what is relevant."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for q in range(topics):
        worth = rng.normal(size=items)
        truth |= {(f"q{q:02}", f"d{d:02}"): float(worth[d] > 0.8) for d in range(items)}
        for s in range(systems):
            best = np.argsort(-(worth + rng.normal(0, 0.3 + s / 2, items)))[:length]
            rows += [(f"s{s}", f"q{q:02}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


def some(universe: Universe, truth: dict[tuple[str, str], float], count: int, seed: int = 0) -> Opinions:
    drawn = np.random.default_rng(seed).permutation(universe.rows.height)[:count]
    return labels_of({pair: truth[pair] for pair in universe.rows[np.sort(drawn)].iter_rows()})


# ---- the worked example -------------------------------------------------------------------------------


def test_the_consensus_of_the_example(universe: Universe) -> None:
    assert universe.rows.rows() == [("1", item) for item in "abcde"] + [("2", item) for item in "uvwxy"]
    assert (universe.clusters, universe.weights.tolist()) == (3, pytest.approx([1 / 3] * 3))
    expected = [0.510826, 0.208268, -1.537633, -1.537633, -0.510826, 0.208268, 0, -0.294593, -1.537633, -1.098612]
    assert universe.offset == pytest.approx(expected, abs=5e-7)
    # cons = Σ w phi, from c = logit((.5 + 3 cons)/4)
    cons = [0.666667, 0.569173, 0.069173, 0.069173, 0.333333, 0.569173, 0.5, 0.402506, 0.069173, 0.166667]
    assert (4 * expit(universe.offset) - 0.5) / 3 == pytest.approx(cons, abs=1e-6)
    shares = [3, 3, 1, 1, 1, 3, 2, 2, 1, 1]  # of the three systems that have it
    assert universe.consensus == pytest.approx([(1 + v) / 5 for v in shares])


def test_the_features_of_the_example(universe: Universe) -> None:
    phi = [1, 1 - np.log(2) / np.log(4), 1 - np.log(3) / np.log(4)]
    by_hand = np.array([phi[0], phi[1], phi[1]]) / np.sqrt(1 + phi[0] ** 2 + 2 * phi[1] ** 2)
    assert universe.features[0].toarray()[0] == pytest.approx(by_hand)
    assert universe.features[4].toarray()[0] == pytest.approx([0, 0, 1 / np.sqrt(2)])


def test_the_prior_of_the_example(universe: Universe) -> None:
    mean, sure = universe.prior()
    expected = [
        0.380088, 0.311797, 0.073262, 0.073262, 0.180816, 0.311797, 0.268941, 0.215076, 0.073262, 0.109232,
    ]  # fmt: skip
    assert expit(universe.predict(mean)) == pytest.approx(expected, abs=5e-7)
    assert sure == pytest.approx([0.3, 1] + [1 / 2.25] * 5)


def test_the_posterior_of_the_example(taught: module.Learned) -> None:
    (found,) = taught.fits
    b = [-0.420909, 1.339452, 0.183203, 0.207684, 0.603675, 0.772293, -0.574252]
    p = [0.709085, 0.661927, 0.102052, 0.105235, 0.209492, 0.654911, 0.623132, 0.284565, 0.107562, 0.125475]
    sd = [1.457494, 1.476, 2.046183, 2.053712, 1.480938, 1.401232, 1.389828, 1.387015, 1.914863, 1.599185]
    assert found.b == pytest.approx(b, abs=5e-7)
    assert taught.free[0] == pytest.approx(p, abs=5e-7)
    half = found.half(design(taught.universe))
    assert np.sqrt((half**2).sum(1)) == pytest.approx(sd, abs=5e-7)
    pinned = [1, *p[1:4], 0, p[5], 1, 0, *p[8:]]
    assert taught.tails[0] == pytest.approx(pinned, abs=5e-7)


def test_average_precision_of_the_example(taught: module.Learned) -> None:
    u = taught.universe
    linear = parse_all("AP")[0].linear
    assert linear is not None
    slopes = linear.slopes(Places(u.system, u.row, u.rank, u.topic, 3, 2), taught.tails, np.ones(1))
    expected = [(0.937549, 0.785174), (0.848628, 0.926986), (0.503573, 0.163369)]
    assert slopes.value.tolist() == [pytest.approx(row, abs=5e-7) for row in expected]
    assert slopes.value.mean(1) == pytest.approx([0.861361, 0.887807, 0.333471], abs=1e-6)


def test_alike_at_two_fifths_share_a_vote() -> None:
    """A and B have two of four items in common in each topic: a Jaccard of .5."""
    found = Universe.of(run_of(LISTS), depth=3)
    assert found.clusters == 2
    assert found.weights == pytest.approx([0.25, 0.25, 0.5])


# ---- invariances --------------------------------------------------------------------------------------


def test_a_clone_changes_nothing_of_the_consensus() -> None:
    run, _ = field()
    twin = run.frame.filter(pl.col("system") == "s2").with_columns(pl.lit("twin").alias("system"))
    one, two = Universe.of(run, 20), Universe.of(Run(pl.concat([run.frame, twin])), 20)
    assert one.rows.equals(two.rows)
    assert np.abs(one.consensus - two.consensus).max() < 1e-9
    assert np.abs(one.offset - two.offset).max() < 1e-9
    assert one.clusters == two.clusters


def test_a_copy_has_no_vote_and_no_weight() -> None:
    """The same lists under another name, wherever they stand: the fit of every other coefficient stays."""
    run, truth = field()
    twin = run.frame.filter(pl.col("system") == "s2").with_columns(pl.lit("a copy").alias("system"))
    one, two = (
        Universe.of(run, 20),
        Universe.of(Run.of(pl.concat([twin, run.frame]).select("system", "query", "item", "score")), 20),
    )
    place = two.systems.index("a copy")
    original = two.systems.index("s2")
    assert two.twins[place] == two.twins[original] == min(place, original)
    assert (two.same() == two.twins).all()
    copy = max(place, original)
    assert two.weights[copy] == 0
    assert not two.features.toarray()[:, copy].any()
    given = some(one, truth, 40)
    first, second = learn(one, Judged.of(one, given)), learn(two, Judged.of(two, given))
    assert second.free == pytest.approx(first.free, abs=1e-12)


def test_systems_that_agree_as_deep_as_a_measure_looks() -> None:
    """A and B agree on their first 2 items, and not on their third; C returns A's items on one topic only."""
    lists = {"1": {"A": "abc", "B": "abd", "C": "abc"}, "2": {"A": "uvw", "B": "uvx", "C": "vuw"}}
    universe = Universe.of(run_of(lists), 3)
    assert universe.same(1).tolist() == [0, 0, 2]
    assert universe.same(2).tolist() == [0, 0, 2]
    assert universe.same(3).tolist() == universe.same().tolist() == [0, 1, 2]
    short = {"1": {"A": "ab", "B": "abd"}, "2": {"A": "uvw", "B": "uvw"}}
    assert Universe.of(run_of(short), 3).same(2).tolist() == [0, 0]
    assert Universe.of(run_of(short), 3).same(3).tolist() == [0, 1]
    lacking = {"1": {"A": "ab", "B": "ab"}, "2": {"A": "uv"}}
    assert Universe.of(run_of(lacking), 3).same(1).tolist() == [0, 1]


def test_lists_that_agree_within_the_universe_and_not_below_it_are_not_the_same() -> None:
    """At depth 2 the third item is in no universe, so a measure that looks deeper takes whole lists."""
    universe = Universe.of(run_of({"1": {"A": "abc", "B": "abd"}}), 2)
    assert universe.same(2).tolist() == [0, 0]
    assert universe.same(3).tolist() == universe.same().tolist() == [0, 1]


def test_the_order_of_systems_and_the_names_of_items_do_not_matter() -> None:
    run, truth = field()
    names = {f"s{s}": f"x{9 - s}" for s in range(6)}
    other = {f"d{d:02}": f"{string.ascii_letters[(7 * d) % 52]}{d}" for d in range(60)}
    renamed = Run.of(
        run.frame.select(
            pl.col("system").replace_strict(names), "query", pl.col("item").replace_strict(other), "score"
        ).reverse()
    )
    one, two = Universe.of(run, 20), Universe.of(renamed, 20)
    given = some(one, truth, 40)
    moved = Opinions.of(given.frame.with_columns(pl.col("item").replace_strict(other)))
    first, second = learn(one, Judged.of(one, given)), learn(two, Judged.of(two, moved))
    a = one.rows.with_columns(pl.Series("p", first.tails[0]), pl.col("item").replace_strict(other))
    b = two.rows.with_columns(pl.Series("p", second.tails[0]))
    both = a.join(b, on=["query", "item"], how="full", coalesce=True)
    assert both.height == one.rows.height == two.rows.height
    assert both["p"].to_numpy() == pytest.approx(both["p_right"].to_numpy(), abs=1e-9)


def test_weights_that_may_not_vary_give_the_calibrated_consensus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without freedom of topics and systems the order of the items is that of the consensus by rank."""
    run, truth = field()
    monkeypatch.setattr(module, "SPREAD", 1e-6)
    universe = Universe.of(run, 20)
    found = learn(universe, Judged.of(universe, some(universe, truth, 80)))
    b0, b1 = found.fits[0].b[:2]
    assert found.free[0] == pytest.approx(expit(b0 + b1 * universe.offset), abs=1e-6)


@pytest.mark.parametrize("grade", [0.0, 1.0])
def test_labels_of_one_class_stay_finite(grade: float) -> None:
    run, _ = field()
    universe = Universe.of(run, 20)
    found = learn(universe, Judged.of(universe, labels_of(dict.fromkeys(universe.rows.rows()[:200], grade))))
    assert np.isfinite(found.fits[0].b).all()
    assert np.abs(found.fits[0].b).max() < 20
    free = found.free[0][found.unjudged]
    assert ((free > 0) & (free < 1)).all()
    assert (free.mean() > universe.consensus.mean()) == bool(grade)


def test_many_labels_bring_the_truth() -> None:
    run, truth = field()
    universe = Universe.of(run, 25)
    real = np.array([truth[pair] for pair in universe.rows.iter_rows()])
    errors = [float(((universe.consensus - real) ** 2).mean())]
    for count in (60, 300, universe.rows.height):
        found = learn(universe, Judged.of(universe, some(universe, truth, count)))
        errors.append(float(((found.tails[0] - real) ** 2).mean()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0


# ---- labels -------------------------------------------------------------------------------------------


def test_several_judges_count_by_their_share(universe: Universe) -> None:
    who = [labels_of({("1", "a"): a, ("2", "u"): 0.0}, source=n).frame for n, a in (("x", 1.0), ("y", 0.0), ("z", 1.0))]
    judged = Judged.of(universe, Opinions.of(pl.concat(who)))
    assert judged.rows.tolist() == [0, 5]
    assert judged.tails.tolist() == [[pytest.approx(2 / 3), 0]]
    assert (len(judged), judged.torn, judged.outside) == (2, 1, 0)
    found = learn(universe, judged)
    assert found.tails[0, [0, 5]] == pytest.approx([2 / 3, 0])


def ordered(judged: Judged, universe: Universe) -> list[str]:
    """The items in the order in which their labels were given."""
    return [universe.rows["item"][int(judged.rows[place])] for place in np.argsort(judged.given)]


def test_labels_stand_in_the_order_of_their_rounds_and_times(universe: Universe) -> None:
    """First what has neither round nor time, then by round, then by time within a round."""
    rows = [("1", "a", 2, 30), ("1", "b", 1, 40), ("1", "c", 2, 10), ("2", "u", 1, 20), ("2", "x", None, None)]
    frame = pl.DataFrame(rows, schema=["query", "item", "draw", "at"], orient="row").with_columns(
        pl.lit(1.0).alias("grade"), pl.from_epoch("at").dt.replace_time_zone("UTC")
    )
    for seed in range(4):
        labels = Opinions.of(frame.sample(fraction=1, shuffle=True, seed=seed))
        assert ordered(Judged.of(universe, labels), universe) == ["x", "u", "b", "c", "a"]
    judged = Judged.of(universe, Opinions.of(frame))
    last = judged.some(judged.given >= 3)
    assert ordered(last, universe) == ["c", "a"]
    assert sorted(last.given.tolist()) == [0, 1]


def test_without_rounds_and_times_the_order_of_rows_and_files_does_not_matter() -> None:
    run, truth = field()
    universe = Universe.of(run, 20)
    frame = some(universe, truth, 60).frame
    parts = [frame.sample(fraction=1, shuffle=True, seed=1), pl.concat([frame[40:], frame[:40]]), frame.reverse()]
    first = Judged.of(universe, Opinions(frame))
    for part in parts:
        judged = Judged.of(universe, Opinions.of(part))
        assert (judged.rows.tolist(), judged.given.tolist()) == (first.rows.tolist(), first.given.tolist())
    assert sorted(first.given.tolist()) == list(range(60))
    early = first.rows[first.given < 30]
    assert (
        0.3 < (early < np.median(first.rows)).mean() < 0.7
    )  # not the order of the rows: that is one topic after another


def test_what_does_not_count_is_left_out(universe: Universe, taught: module.Learned) -> None:
    noise: dict[tuple[str, str], float | None] = {("1", "b"): None, ("1", "c"): -1.0}
    rows = [labels_of(LABELS).frame, labels_of(noise).frame]
    rows += [labels_of({("2", "x"): 1.0}, role=role).frame for role in ("practice",)]
    rows += [labels_of({("1", "zz"): 1.0, ("9", "a"): 0.0}).frame]
    judged = Judged.of(universe, Opinions.of(pl.concat(rows)))
    assert judged.rows.tolist() == taught.judged.rows.tolist() == [0, 4, 6, 7]
    assert (judged.outside, judged.torn) == (2, 0)
    assert learn(universe, judged).fits[0].b == pytest.approx(taught.fits[0].b)


def test_grades_fall_with_their_level() -> None:
    run, truth = field(seed=3)
    universe = Universe.of(run, 20)
    rng = np.random.default_rng(1)
    given = {pair: truth[pair] * float(rng.integers(1, 4)) for pair in universe.rows.sample(150, seed=2).iter_rows()}
    judged = Judged.of(universe, labels_of(given))
    assert judged.levels == (1, 2, 3)
    found = learn(universe, judged)
    assert (np.diff(found.tails, axis=0) <= 0).all()
    grade = np.array([given[pair] for pair in universe.rows[judged.rows].iter_rows()])
    for place, level in enumerate((1, 2, 3)):
        assert (found.tails[place, judged.rows] == (grade >= level)).all()
    assert (found.judged.at_least(1.5) == (grade >= 1.5)).all()
    assert not found.judged.at_least(4).any()
    belief = belief_of(found, 20, np.random.default_rng(0))
    total = belief.frame.group_by("query", "item").agg(pl.col("p").sum())
    assert total["p"].max() <= 1 + 1e-12
    assert total.join(universe.rows.with_columns(pl.Series("tail", found.tails[0])), on=["query", "item"]).select(
        (pl.col("p") - pl.col("tail")).abs().max()
    ).item() == pytest.approx(0, abs=1e-12)
    each = np.stack(belief.frame.sort("query", "item")["people"].to_numpy()).reshape(-1, 3, 20).sum(1)
    assert each.max() <= 1 + 1e-5


def test_one_level_more_does_not_change_the_others(universe: Universe) -> None:
    given = labels_of({("1", "a"): 2.0, ("1", "e"): 0.0, ("2", "v"): 1.0, ("2", "w"): 0.0})
    found = learn(universe, Judged.of(universe, given))
    assert found.levels == (1, 2)
    binary = learn(universe, Judged.of(universe, labels_of(LABELS)))
    assert found.fits[0].b == pytest.approx(binary.fits[0].b)


# ---- the fit ------------------------------------------------------------------------------------------


def posterior_of(universe: Universe, rows: np.ndarray, share: np.ndarray):
    """Minus the log posterior, by its definition: priors as in docs/methods/deciding.md, Learned belief."""
    T, S = len(universe.queries), len(universe.systems)
    x = universe.features.toarray()

    def minus(b: np.ndarray) -> float:
        a0, a1, u, g = b[0], b[1], b[2 : 2 + T], b[2 + T :]
        eta = a0 + a1 * universe.offset[rows] + u[universe.topic[rows]] + x[rows] @ g
        likelihood = share * np.log(expit(eta)) + (1 - share) * np.log(expit(-eta))
        prior = 0.3 * (a0 + 1) ** 2 + (a1 - 1) ** 2 + ((u / 1.5) ** 2).sum() + ((g / 1.5) ** 2).sum()
        return float(prior / 2 - likelihood.sum())

    return minus, 2 + T + S


def test_newton_finds_the_maximum() -> None:
    run, truth = field(topics=5)
    universe = Universe.of(run, 15)
    judged = Judged.of(universe, some(universe, truth, 30))
    share = judged.tails[0].copy()
    share[:3] = 0.4  # judges who disagree
    minus, size = posterior_of(universe, judged.rows, share)
    found = fit(universe, judged.rows, share)
    best = minimize(minus, np.zeros(size), method="BFGS", options={"gtol": 1e-7})
    assert found.b == pytest.approx(best.x, abs=1e-4)
    steps = np.eye(size) * 1e-5
    gradient = [(minus(found.b + step) - minus(found.b - step)) / 2e-5 for step in steps]
    assert np.abs(gradient).max() < 1e-5
    wide = np.eye(size) * 1e-3
    second = np.array([[(minus(found.b + a + b) - minus(found.b + a - b) - minus(found.b - a + b)
                         + minus(found.b - a - b)) / 4e-6 for a in wide] for b in wide])  # fmt: skip
    assert np.linalg.inv(dense(found, universe)) == pytest.approx(second, abs=1e-4)


@pytest.mark.parametrize("count", [0, 1, 7, 60])
def test_the_parts_of_the_precision_are_the_dense_one(count: int) -> None:
    """`half` is a root of G H⁻¹ Gᵀ and `drawn` has H⁻¹ as its covariance, H written out as one matrix."""
    run, truth = field(topics=5)
    universe = Universe.of(run, 15)
    judged = Judged.of(universe, some(universe, truth, count))
    found = fit(universe, judged.rows, judged.tails[0])
    H = precision(universe, judged.rows, found.b)
    G = np.random.default_rng(4).normal(size=(9, universe.size))
    half = found.half(G)
    assert half @ half.T == pytest.approx(G @ np.linalg.solve(H, G.T), abs=1e-9)
    assert found.drawn(np.zeros((universe.size, 1)))[:, 0] == pytest.approx(found.b)
    root = found.drawn(np.eye(universe.size)) - found.b[:, None]  # drawn is linear in its noise
    assert root @ root.T == pytest.approx(np.linalg.inv(H), abs=1e-9)


def test_no_label_leaves_the_prior(universe: Universe) -> None:
    found = fit(universe, np.zeros(0, np.int64), np.zeros(0))
    mean, sure = universe.prior()
    assert found.b == pytest.approx(mean)
    assert dense(found, universe) == pytest.approx(np.diag(1 / sure))


def test_a_warm_start_ends_at_the_same_place() -> None:
    run, truth = field()
    universe = Universe.of(run, 20)
    before = learn(universe, Judged.of(universe, some(universe, truth, 20)))
    judged = Judged.of(universe, some(universe, truth, 60))
    cold, warm = learn(universe, judged), learn(universe, judged, start=before)
    assert warm.fits[0].b == pytest.approx(cold.fits[0].b, abs=1e-13)
    far = fit(universe, judged.rows, judged.tails[0], np.full(universe.size, 30.0))
    assert far.b == pytest.approx(cold.fits[0].b, abs=1e-13)


def test_a_fit_after_every_label_ends_at_the_same_place() -> None:
    """Steps that the rounding of the objective hides were halved to nothing: fits differed by up to 2e-8."""
    run, truth = field(systems=3, topics=4, items=30, seed=11)
    universe = Universe.of(run, 20)
    warm = learn(universe, Judged.of(universe, None))
    for count in range(5, 60):
        judged = Judged.of(universe, some(universe, truth, count, 11))
        cold, warm = learn(universe, judged), learn(universe, judged, start=warm)
        assert warm.fits[0].b == pytest.approx(cold.fits[0].b, abs=1e-13), count


def test_draws_have_the_mean_and_spread_of_the_posterior(taught: module.Learned) -> None:
    drawn = taught.drawn(20_000, np.random.default_rng(0))
    assert drawn.shape == (1, 10, 20_000)
    free = drawn[0][taught.unjudged].astype(np.float64)
    eta = np.log(free) - np.log1p(-free)
    u = taught.universe
    X = design(u, np.flatnonzero(taught.unjudged))
    covariance = X @ np.linalg.inv(precision(u, taught.judged.rows, taught.fits[0].b)) @ X.T
    assert eta.mean(1) == pytest.approx(X @ taught.fits[0].b, abs=4 * 2.1 / np.sqrt(20_000))
    assert np.cov(eta) == pytest.approx(covariance, abs=0.2)
    assert (drawn[0, taught.judged.rows] == np.array([1, 0, 1, 0])[:, None]).all()


def test_draws_of_several_levels_fall_too() -> None:
    run, truth = field()
    universe = Universe.of(run, 20)
    given = {pair: 2 * truth[pair] + (n % 3 == 0) for n, pair in enumerate(universe.rows.iter_rows()) if n % 7 == 0}
    drawn = learn(universe, Judged.of(universe, labels_of(given))).drawn(30, np.random.default_rng(1))
    assert drawn.shape[0] == 3
    assert (np.diff(drawn, axis=0) <= 0).all()


def test_cross_fitted_predictions_have_not_seen_their_fold() -> None:
    run, truth = field()
    universe = Universe.of(run, 20)
    given = some(universe, truth, 120)
    taught = learn(universe, Judged.of(universe, given))
    found = cross_fitted(taught)
    fold = universe.topic % 5
    for number in range(5):
        own = [query for place, query in enumerate(universe.queries) if place % 5 == number]
        turned = pl.when(pl.col("query").is_in(own)).then(1 - pl.col("grade")).otherwise(pl.col("grade"))
        other = learn(universe, Judged.of(universe, Opinions.of(given.frame.with_columns(turned.alias("grade")))))
        again = cross_fitted(other)
        assert again[0, fold == number] == pytest.approx(found[0, fold == number], abs=1e-8)
        assert np.abs(again[0, fold != number] - found[0, fold != number]).max() > 0.01
    alone = taught.judged.rows[fold[taught.judged.rows] != 2]
    by_hand = fit(universe, alone, np.array([truth[pair] for pair in universe.rows[alone].iter_rows()]))
    assert found[0, fold == 2] == pytest.approx(expit(universe.predict(by_hand.b))[fold == 2], abs=1e-8)


# ---- the belief ---------------------------------------------------------------------------------------


def test_the_belief_through_the_library() -> None:
    run, truth = field()
    universe = Universe.of(run)
    given = some(universe, truth, 60)
    belief = endoxa.believe(run, "learned", labels=given, people=8, seed=2)
    assert (belief.model, universe.depth) == ("learned", 20)
    taught = learn(universe, Judged.of(universe, given))
    assert belief.frame["p"].to_numpy() == pytest.approx(taught.tails[0])
    assert belief.frame["people"].dtype == pl.Array(pl.Float32, 8)
    known = belief.frame.join(given.frame.select("query", "item", "grade"), on=["query", "item"], suffix="_label")
    assert known.height == 60
    assert (known["p"] == known["grade_label"]).all()
    assert "learned from 60 labels: 6 systems" in texts(belief.notes)[0]
    parts = [Opinions(given.frame[:20]), Opinions(given.frame[20:])]
    assert endoxa.believe(run, "learned", labels=parts, people=8, seed=2).frame.equals(belief.frame)


def test_without_labels_it_is_the_consensus() -> None:
    run, _ = field()
    belief = endoxa.believe(run, "learned")
    assert "people" not in belief.frame.columns or belief.frame["people"].null_count() == belief.frame.height
    universe = Universe.of(run)
    q = universe.clusters
    tops = run.frame.filter(pl.col("rank") <= 20)
    weight = pl.col("system").replace_strict(dict(zip(universe.systems, universe.weights, strict=True)))
    shares = tops.group_by("query", "item").agg(weight.sum().alias("v"))
    both = belief.frame.join(shares, on=["query", "item"])
    assert both.height == belief.frame.height == shares.height
    assert both["p"].to_numpy() == pytest.approx(((1 + q * both["v"]) / (2 + q)).to_numpy())


def test_a_collection_of_few_items_is_looked_at_less_deeply() -> None:
    run = run_of({"1": {s: [f"{s}{n:04}" for n in range(600)] for s in "AB"}})
    few = Run(run.frame.filter(pl.col("rank") <= 499))
    assert (Universe.of(run).depth, Universe.of(few).depth) == (100, 20)
    assert Universe.of(run).rows.height == 200
    assert Universe.of(few).rows.height == 40
    assert Universe.of(few, 100).rows.height == 200


def test_a_system_that_lacks_a_topic_is_told() -> None:
    run = run_of({"1": LISTS["1"], "2": {"A": "uvw", "B": "vux"}})
    universe = Universe.of(run, 3)
    assert universe.missing.tolist() == [0, 0, 1]
    assert dict(zip(universe.systems, np.bincount(universe.system), strict=True)) == {"A": 6, "B": 6, "C": 3}


def test_items_below_the_depth_keep_their_rank() -> None:
    """Of the universe of depth 1 (a, b, e), A has b at rank 2, and c is in no universe."""
    universe = Universe.of(run_of({"1": LISTS["1"]}), 1)
    assert universe.rows["item"].to_list() == ["a", "b", "e"]
    names = universe.rows["item"].to_list()
    places = zip(universe.system.tolist(), universe.row.tolist(), universe.rank.tolist(), strict=True)
    entries = [f"{universe.systems[s]}{names[r]}{k}" for s, r, k in places]
    assert entries == ["Aa1", "Ab2", "Bb1", "Ba2", "Ce1", "Ca2", "Cb3"]
    assert universe.features.toarray().tolist() == [pytest.approx(row) for row in np.eye(3) / np.sqrt(2)]


def test_what_is_refused() -> None:
    run = run_of(LISTS)
    with pytest.raises(TextError, match="depth of a list is at least 1"):
        Universe.of(run, 0)
    with pytest.raises(JoinError, match="no system returned anything"):
        Universe.of(Run(run.frame.filter(pl.lit(False))))


def test_the_seed_decides_the_draws_alone() -> None:
    run, labels = run_of(LISTS), labels_of(LABELS)
    one, two = (believe(run, labels, people=5, rng=np.random.default_rng(seed)) for seed in (1, 1))
    assert one.frame.equals(two.frame)
    other = believe(run, labels, people=5, rng=np.random.default_rng(2))
    assert one.frame["p"].equals(other.frame["p"])
    assert not one.frame["people"].equals(other.frame["people"])


def test_draws_that_cross_give_no_probability_below_0() -> None:
    """Each grade has its own draws: P(grade >= 1) may be drawn below P(grade >= 2)."""
    universe = Universe.of(run_of(LISTS), depth=3)
    taught = learn(universe, Judged.of(universe, labels_of({("1", "a"): 2.0, ("1", "e"): 0.0, ("2", "v"): 1.0})))
    rows = universe.rows.height
    tails = np.stack([np.full(rows, 0.5), np.full(rows, 0.25)])
    drawn = np.stack([np.tile([0.5, 0.25], (rows, 1)), np.tile([0.25, 0.75], (rows, 1))])  # [grade, row, draw]
    table = module.table_of(taught, tails, drawn).frame
    each = {
        grade: np.unique(np.stack(part["people"].to_numpy()), axis=0).tolist()
        for (grade,), part in table.group_by("grade")
    }
    assert each == {1.0: [[0.25, 0.0]], 2.0: [[0.25, 0.75]]}
    assert table.filter(pl.col("grade") == 1)["p"].unique().to_list() == [0.25]
