"""EM for ROMM and RWMM, against worked numbers and an E-step with the whole array tau."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from endoxa.errors import TableError, TextError
from endoxa.statistics import mixtures
from endoxa.statistics.mixtures import Images, MixtureModel, Rules

ROWS = np.array([0, 5, 0.2, 5.2, 4.8, 0.1])[:, None]
IMAGES = Images.of([2, 1, 1, 2], [[0, 1], [0], [1], [1]], 2)  # sky, tiger
START = MixtureModel(
    np.array([0.5, 0.5]), np.array([[1.0], [4.0]]), np.ones((2, 1)), np.array([[0.6, 0.4], [0.4, 0.6]])
)


def worked(iterations, precision="double"):
    rules = Rules(eta=0.1, floor=0.05 / ROWS.var(), iterations=iterations, tolerance=0, precision=precision)
    return mixtures.refine(START, ROWS, IMAGES, rules=rules)


def near(values, expected, digits=6):
    np.testing.assert_allclose(values, expected, atol=0.51 * 10**-digits, rtol=0)


@pytest.mark.parametrize(("precision", "digits"), [("double", 6), ("single", 4)])
def test_one_iteration_of_the_worked_example(precision, digits):
    model = worked(1, precision)
    near(model.history, [-26.270605, -6.027183], digits)
    near(model.objective, -6.027183, digits)
    near(model.p_l, [0.488997, 0.511003], digits)
    near(model.means[:, 0], [0.102719, 5.010112], digits)
    near(model.variances, 0.05, digits)
    near(model.words[:, 0], [0.658805, 0.177506], digits)


def test_the_worked_example_converged():
    model = worked(50)
    near(model.objective, -5.896144)
    near(model.p_l, [0.480001, 0.519999])
    near(model.means[:, 0], [0.098894, 5.007750])
    near([model.words[0, 0], model.words[1, 1]], [0.812368, 0.936536])
    predicted = mixtures.word_chances(model, np.array([[0.0], [5.0], [0.3], [4.9]]), np.array([2, 1, 1]))
    near(predicted, [[0.437916, 0.562084], [0.812368, 0.187632], [0.063464, 0.936536]])


def test_the_worked_example_by_average():
    """The same start, each word drawn from the mean of p(l|b)."""
    rules = Rules("average", eta=0.1, floor=0.05 / ROWS.var(), iterations=1, tolerance=0, precision="double")
    model = mixtures.refine(START, ROWS, IMAGES, rules=rules)
    near(model.history, [-15.820349, -4.605618])
    near(model.p_l, [0.490838, 0.509162])
    near(model.means[:, 0], [0.102697, 5.010853])
    near(model.words[:, 0], [0.653674, 0.178789])
    model = mixtures.refine(START, ROWS, IMAGES, rules=replace(rules, iterations=50))
    near(model.objective, -4.410938)
    near(model.words[:, 0], [0.832543, 0.055743])
    predicted = mixtures.word_chances(model, np.array([[0.0], [5.0], [0.3], [4.9]]), np.array([2, 1, 1]))
    near(predicted, [[0.444143, 0.555857], [0.832543, 0.167457], [0.055743, 0.944257]])


def test_retrieval_scores_of_the_worked_example():
    model = worked(50)
    held = mixtures.concepts(model, ROWS, IMAGES.counts, lam=0.1)
    for query, expected in (
        ([0.1, 4.9], [-0.172284, -0.984086, -1.021999, -0.172284]),
        ([0.1], [-0.118240, 0.525515, -2.457636, -0.118240]),
    ):
        density = np.exp(mixtures.log_components(model, np.array(query)[:, None]))
        near(np.log(density @ held.T).mean(0), expected)


def test_responsibilities_of_the_worked_entropy():
    """docs/methods/words.md, Image region entropy: p(j|X) of the default variant."""
    model = MixtureModel(
        np.array([0.5, 0.3, 0.2]), np.array([[0.0], [3.0], [6.0]]), np.array([[1.0], [1.0], [0.01]]), np.zeros((3, 0))
    )
    share = np.array([0.2, 0.1, 0.9, 0.8])
    found = share @ mixtures.responsibilities(model, np.array([[0.1], [-0.2], [5.9], [6.0]])) / share.sum()
    near(found, [0.148926, 0.003394, 0.847680])


# A plain EM step with the whole array tau[word, row, component], image by image.


def log_joint(model, x):
    return np.log(model.p_l) + norm.logpdf(x[:, None, :], model.means, np.sqrt(model.variances)).sum(-1)


def plain_step(model, x, weights, counts, words, rules):
    """The objective of the model, and the model after one iteration."""
    joint = log_joint(model, x)
    total = logsumexp(joint, axis=1)
    g = np.exp(joint - total[:, None])
    objective = rules.kappa * (weights * total).sum() + rules.eta * np.log(model.words).sum()
    held = rules.kappa * weights[:, None] * g
    table = np.zeros_like(model.words.T)
    first = 0
    for count, said in zip(counts, words, strict=True):
        at = slice(first, first + count)
        first += count
        w = weights[at]
        for word in said:
            if rules.correspondence == "average":
                terms = np.log(w)[:, None] + np.log(g[at]) + np.log(model.words[:, word])
            else:
                terms = joint[at] + np.log(model.words[:, word])
                if rules.correspondence == "pair":
                    terms = terms + np.log(w)[:, None]
                else:
                    terms[np.arange(count) != logsumexp(terms, axis=1).argmax()] = -np.inf
            objective += logsumexp(terms) - math.log(w.sum())
            tau = np.exp(terms - logsumexp(terms))
            held[at] += tau
            table[word] += tau.sum(0)
    mass = held.sum(0)
    means = held.T @ x / mass[:, None]
    spread = np.stack([held[:, k] @ (x - means[k]) ** 2 / mass[k] for k in range(len(mass))])
    least = rules.floor * np.average((x - np.average(x, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
    table = (table + rules.eta).T
    return objective, MixtureModel(
        mass / mass.sum(), means, np.maximum(spread, least), table / table.sum(1, keepdims=True)
    )


def tiny(seed, *, images=5, features=2, vocabulary=3, components=3, whole=False):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, images)
    n = counts.sum()
    x = rng.normal(size=(n, features)) * [10, 0.1][:features] + [100, 0][:features]
    weights = rng.integers(1, 4, n).astype(float) if whole else rng.uniform(0.2, 2, n)
    words = [sorted(rng.choice(vocabulary, rng.integers(0, vocabulary), replace=False).tolist()) for _ in counts]
    start = MixtureModel(
        rng.dirichlet(np.full(components, 5)),
        x[rng.choice(n, components, replace=False)] + 0.1,
        np.ones((components, features)) * x.var(0) * rng.uniform(0.5, 2, (components, features)),
        rng.dirichlet(np.full(vocabulary, 3), components),
    )
    return x, weights, counts, words, start


@pytest.mark.parametrize("correspondence", ["pair", "average", "max"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kappa=st.sampled_from([0.5, 1.0, 2.0]), eta=st.sampled_from([0.01, 0.3]))
def test_a_step_is_that_of_the_whole_array(correspondence, seed, kappa, eta):
    x, weights, counts, words, start = tiny(seed)
    rules = Rules(
        correspondence=correspondence, kappa=kappa, eta=eta, floor=0.05, iterations=1, tolerance=0, precision="double"
    )
    model = mixtures.refine(start, x, Images.of(counts, words, 3), rules=rules, weights=weights)
    before, expected = plain_step(start, x, weights, counts, words, rules)
    after, _ = plain_step(expected, x, weights, counts, words, rules)
    np.testing.assert_allclose(model.history, [before, after], rtol=1e-9)
    if after >= before:  # else the start, the better of the two, is kept
        for part in ("p_l", "means", "variances", "words"):
            np.testing.assert_allclose(getattr(model, part), getattr(expected, part), rtol=1e-7)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), correspondence=st.sampled_from(["pair", "max"]))
def test_the_objective_never_falls(seed, correspondence):
    x, weights, counts, words, start = tiny(seed, images=12)
    rules = Rules(correspondence=correspondence, iterations=40, tolerance=0, precision="double", floor=0.02)
    model = mixtures.refine(start, x, Images.of(counts, words, 3), rules=rules, weights=weights)
    assert len(model.history) > 2
    steps = np.delete(np.diff(model.history), model.reseeded - 1)
    assert (steps >= -1e-9 * np.abs(model.history).max()).all()
    assert model.objective == model.history.max()


def test_a_weighted_row_is_a_repeated_row():
    for correspondence in ("pair", "average", "max"):
        x, weights, counts, words, start = tiny(3, images=8, whole=True)
        rules = Rules(correspondence=correspondence, iterations=5, tolerance=0, precision="double")
        times = weights.astype(int)
        image = np.repeat(np.arange(len(counts)), counts)
        longer = np.bincount(np.repeat(image, times))
        once = mixtures.refine(start, x, Images.of(counts, words, 3), rules=rules, weights=weights)
        often = mixtures.refine(start, np.repeat(x, times, axis=0), Images.of(longer, words, 3), rules=rules)
        np.testing.assert_allclose(once.history, often.history, rtol=1e-10)
        for part in ("p_l", "means", "variances", "words"):
            np.testing.assert_allclose(getattr(once, part), getattr(often, part), rtol=1e-7)


def test_rows_of_weight_0_are_absent():
    x, weights, counts, words, start = tiny(4, images=6)
    rules = Rules(iterations=4, tolerance=0, precision="double")
    image = np.repeat(np.arange(6), counts)
    gone = image == 2  # a whole image: its words go too
    with_zeros = mixtures.refine(
        start, x, Images.of(counts, words, 3), rules=rules, weights=np.where(gone, 0.0, weights)
    )
    left = Images.of(np.delete(counts, 2), [w for k, w in enumerate(words) if k != 2], 3)
    without = mixtures.refine(start, x[~gone], left, rules=rules, weights=weights[~gone])
    np.testing.assert_array_equal(with_zeros.history, without.history)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_rows_of_hardly_any_weight_do_no_harm(precision):
    rows, _, images = clustered(200)
    weights = np.where(np.arange(200) < 120, 1.0, 1e-200)
    rules = Rules(precision=precision, iterations=5)
    found, expected = (
        mixtures.fit(rows, 5, images, rng=np.random.default_rng(0), rules=rules, weights=w, restarts=1)
        for w in (weights, np.floor(weights))
    )
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-6)
    assert np.isfinite(found.words).all()


def clustered(n=1200, features=6, groups=8, seed=0):
    rng = np.random.default_rng(seed)
    own = rng.integers(0, groups, n)
    centres = rng.normal(size=(groups, features)) * 5
    rows = centres[own] + rng.normal(size=(n, features)) * rng.uniform(0.2, 1, (groups, 1))[own]
    words = [sorted(set(own[k : k + 4].tolist())) for k in range(0, n, 4)]
    return rows, own, Images.of(np.full(n // 4, 4), words, groups)


@pytest.mark.parametrize("with_words", [False, True])
def test_single_precision_is_near_double(with_words):
    rows, _, images = clustered()
    found = {}
    for precision in ("single", "double"):
        rules = Rules(iterations=15, tolerance=0, precision=precision)
        data = (rows + 1000, 20, images if with_words else None)  # centred first: the offset does no harm
        found[precision] = mixtures.fit(*data, rng=np.random.default_rng(2), rules=rules, restarts=1)
        steps = np.delete(np.diff(found[precision].history), found[precision].reseeded - 1)
        slack = 1e-6 if precision == "single" else 1e-9
        assert steps.min() >= -slack * np.abs(found[precision].history).max()
    np.testing.assert_allclose(found["single"].history, found["double"].history, rtol=1e-4)
    np.testing.assert_allclose(found["single"].means, found["double"].means, atol=0.05)


def test_blocks_change_nothing(monkeypatch):
    rows, _, images = clustered(400)
    rules = Rules(iterations=6, tolerance=0, precision="double")
    whole = mixtures.fit(rows, 10, images, rng=np.random.default_rng(0), rules=rules, restarts=1)
    monkeypatch.setattr(mixtures, "ENTRIES", 70)
    parts = mixtures.fit(rows, 10, images, rng=np.random.default_rng(0), rules=rules, restarts=1)
    np.testing.assert_allclose(parts.history, whole.history, rtol=1e-10)
    np.testing.assert_allclose(
        mixtures.concepts(whole, rows, images.counts),
        0.9 * mixtures.responsibilities(whole, rows).reshape(100, 4, 10).mean(1) + 0.1 * whole.p_l,
        rtol=1e-9,
    )


def test_clusters_and_their_words_are_found():
    rows, own, images = clustered()
    for correspondence in ("pair", "average", "max"):
        rules = Rules(correspondence=correspondence)
        model = mixtures.fit(rows, 8, images, rng=np.random.default_rng(1), rules=rules)
        assert model.converged
        found = mixtures.responsibilities(model, rows).argmax(1)
        of_group = [np.bincount(found[own == group], minlength=8).argmax() for group in range(8)]
        assert sorted(of_group) == list(range(8))
        assert np.mean(np.array(of_group)[own] == found) > 0.99
        if correspondence == "average":  # the words of a region are those of its own group
            assert (model.words[of_group].argmax(1) == np.arange(8)).all()


def test_the_best_of_the_restarts_is_kept():
    rows, _, _ = clustered(600)
    rules = Rules(iterations=1)  # run on, every start may reach the same optimum; that depends on the machine
    singles = []
    rng = np.random.default_rng(5)
    for _ in range(4):
        singles.append(mixtures.fit(rows, 8, rng=rng, rules=rules, restarts=1).objective)
    together = mixtures.fit(rows, 8, rng=np.random.default_rng(5), rules=rules, restarts=4)
    assert together.objective == max(singles) > min(singles)


def test_same_seed_same_result():
    rows, _, images = clustered(400)
    one, two = (mixtures.fit(rows, 9, images, rng=np.random.default_rng(7), restarts=2) for _ in range(2))
    np.testing.assert_array_equal(one.history, two.history)
    np.testing.assert_array_equal(one.words, two.words)


def test_a_starved_component_is_put_at_the_worst_row():
    rows = np.concatenate([np.random.default_rng(0).normal(size=(60, 1)), [[40.0]] * 3])
    far = MixtureModel(np.array([0.5, 0.5]), np.array([[0.0], [-500.0]]), np.ones((2, 1)), np.zeros((2, 0)))
    model = mixtures.refine(far, rows, rules=Rules(precision="double", tolerance=1e-9))
    assert model.reseeded.tolist() == [1]
    near(model.means[1], [40.0], 3)
    near(model.p_l[1], 3 / 63, 3)
    # What is reported is the objective of what is returned, and it is the best that was met.
    np.testing.assert_allclose(model.objective, mixtures.log_density(model, rows).sum(), rtol=1e-9)
    assert model.objective == model.history.max()
    assert (np.delete(np.diff(model.history), model.reseeded - 1) >= -1e-9).all()


@pytest.mark.parametrize(("iterations", "moved"), [(1, []), (2, [1])])
def test_a_starved_component_is_not_moved_in_the_last_iteration(iterations, moved):
    """A component that is moved needs one more M-step to be fitted."""
    rows = np.concatenate([np.random.default_rng(0).normal(size=(60, 1)), [[40.0]] * 3])
    far = MixtureModel(np.array([0.5, 0.5]), np.array([[0.0], [-500.0]]), np.ones((2, 1)), np.zeros((2, 0)))
    model = mixtures.refine(far, rows, rules=Rules(precision="double", tolerance=0, iterations=iterations))
    assert model.reseeded.tolist() == moved


def test_a_row_that_starves_its_component_again_and_again_comes_to_an_end():
    rows = np.concatenate([np.zeros((50, 2)), np.ones((50, 2)), np.full((1, 2), 0.5)])
    model = mixtures.fit(rows, 40, rng=np.random.default_rng(0), rules=Rules(iterations=60), restarts=1)
    assert len(model.reseeded) <= mixtures.RESEEDINGS
    assert np.isfinite(model.history).all()


def test_the_floor_and_a_feature_that_never_varies():
    rows = np.stack([np.repeat([0.0, 1.0], 30), np.full(60, 7.0)], axis=1)
    model = mixtures.fit(rows, 2, rng=np.random.default_rng(0), rules=Rules(floor=0.01, precision="double"))
    np.testing.assert_allclose(model.variances[:, 0], 0.01 * 0.25)
    np.testing.assert_allclose(model.means[:, 1], 7)
    assert np.isfinite(model.objective)


def test_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    model = MixtureModel(
        np.array([0.2, 0.8]), rng.normal(size=(2, 3)) + 1e4, rng.uniform(0.1, 1, (2, 3)), np.zeros((2, 0))
    )
    rows = rng.normal(size=(50, 3)) * 3 + 1e4
    joint = log_joint(model, rows)
    np.testing.assert_allclose(mixtures.log_components(model, rows, prior=True), joint, rtol=1e-7)
    np.testing.assert_allclose(mixtures.log_density(model, rows), logsumexp(joint, axis=1), rtol=1e-7)
    shares = mixtures.responsibilities(model, rows)
    np.testing.assert_allclose(shares, np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), atol=1e-7)
    np.testing.assert_allclose(
        mixtures.log_density(model, rows, precision="single"), logsumexp(joint, axis=1), rtol=1e-4
    )


def test_an_image_without_rows_has_no_concepts():
    model = worked(1)
    found = mixtures.concepts(model, ROWS, np.array([0, 4, 0, 2, 0]))
    assert np.isnan(found[[0, 2, 4]]).all()
    np.testing.assert_allclose(found[[1, 3]].sum(1), 1)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"rows": np.zeros((0, 2))}, TableError, "at least one row"),
        ({"rows": np.array([[1.0], [np.nan]])}, TableError, "row 1 .* not finite"),
        ({"components": 7}, TableError, "7 components for 6 rows"),
        ({"components": 0}, TableError, "0 components"),
        ({"restarts": 0}, TextError, "restarts is 0"),
        ({"weights": np.zeros(6)}, TableError, "not all 0"),
        ({"weights": np.ones(5)}, TableError, "6 rows need as many weights"),
        ({"weights": -np.ones(6)}, TableError, "at least 0"),
        ({"images": Images.of([2, 1], [[0], [0]], 1)}, TableError, "do not fit 6 rows"),
    ],
)
def test_bad_input_is_named(change, error, message):
    given = {"rows": ROWS, "components": 2, "restarts": 1, "rng": np.random.default_rng(0)} | change
    with pytest.raises(error, match=message):
        mixtures.fit(**given)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"correspondence": "averge"}, "did you mean average"),
        ({"precision": "half"}, "there are: single, double"),
        ({"kappa": 0}, "kappa is 0"),
        ({"eta": -1}, "eta is -1"),
        ({"floor": math.nan}, "floor is nan"),
        ({"iterations": 0}, "iterations is 0"),
    ],
)
def test_bad_rules_are_named(setting, message):
    with pytest.raises(TextError, match=message):
        Rules(**setting)


def test_misfits_are_named():
    with pytest.raises(TableError, match="numbers from 0 to 1, not 0 to 2"):
        Images.of([1, 1], [[0], [2]], 2)
    with pytest.raises(TableError, match="2 images have rows, but 1"):
        Images.of([1, 1], [[0]], 2)
    with pytest.raises(TableError, match="1 features and 2 words, the rows have 2 and 0"):
        mixtures.refine(START, np.zeros((3, 2)))
    with pytest.raises(TableError, match="expects 1 features"):
        mixtures.log_density(START, np.zeros((3, 2)))
    with pytest.raises(TableError, match="images with 3 rows do not fit 6"):
        mixtures.concepts(START, ROWS, np.array([1, 2]))


@pytest.mark.parametrize("floor", [1e-4, 1e-6, 1e-9])
def test_single_gives_way_to_double_where_it_is_not_enough(floor: float) -> None:
    """Two tight clusters: squares minus the squared mean cancel in float32, and L would fall."""
    rng = np.random.default_rng(5)
    rows = np.concatenate([rng.normal(centre, 1e-4, (2000, 6)) for centre in (-1.0, 1.0)])
    made = {
        precision: mixtures.fit(
            rows, 2, rng=np.random.default_rng(1), rules=Rules(precision=precision, floor=floor), restarts=1
        )
        for precision in ("single", "double")
    }
    steps = np.diff(made["single"].history) / np.abs(made["single"].history[1:])
    assert steps.min(initial=0.0) > -1e-6
    assert made["single"].objective == pytest.approx(made["double"].objective, rel=1e-3)


def test_as_many_components_as_rows_and_no_more():
    rows = np.array([[0.0], [1.0], [5.0]])
    model = mixtures.fit(rows, 3, rng=np.random.default_rng(0), restarts=1)
    assert len(model.p_l) == 3
    with pytest.raises(TableError, match="4 components for 3 rows"):
        mixtures.fit(rows, 4, rng=np.random.default_rng(0), restarts=1)


def test_densities_are_the_same_row_by_row(monkeypatch):
    whole = mixtures.log_density(START, ROWS), mixtures.responsibilities(START, ROWS)
    monkeypatch.setattr(mixtures, "ENTRIES", 1)  # fewer than there are components
    np.testing.assert_allclose(mixtures.log_density(START, ROWS), whole[0], rtol=1e-12)
    np.testing.assert_allclose(mixtures.responsibilities(START, ROWS), whole[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("entries", "blocks"),
    [(10, [(0, 1), (1, 3), (3, 4), (4, 5)]), (1, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]), (99, [(0, 5)])],
)
def test_blocks_hold_whole_images(monkeypatch, entries, blocks):
    monkeypatch.setattr(mixtures, "ENTRIES", entries)
    assert list(mixtures._blocks_of(np.array([0, 2, 4, 5, 9, 10]), 3)) == blocks
    assert list(mixtures._blocks_of(np.array([0, 1, 2]), 99)) == [(0, 1), (1, 2)]


def test_doubled_data_is_computed_in_double_precision():
    data = mixtures._laid_out(ROWS, IMAGES, None, Rules(precision="single")).doubled(Rules(precision="double"))
    assert data.table.dtype == np.float64 and data.rules.dtype == np.float64
    np.testing.assert_array_equal(data.table[:, 0], data.table[:, 1] ** 2)


def test_a_decrease_of_the_objective_is_its_relative_size():
    model = replace(START, history=np.array([-5.0, -4.0, -6.0, -3.0]), reseeded=np.array([], dtype=np.int64))
    assert mixtures._fall(model) == pytest.approx(2 / 6)
    assert mixtures._fall(replace(model, reseeded=np.array([2]))) == 0


def test_a_row_far_from_every_component_does_not_draw_the_words_of_its_image():
    x, weights = np.array([[0.0], [1.0], [40.0], [0.5], [0.2]]), np.ones(5)
    counts, words = [3, 2], [[0, 1], [1]]
    rules = Rules("pair", eta=0.1, floor=1e-6, iterations=1, tolerance=0, precision="double")
    start = replace(START, means=np.array([[0.0], [1.0]]))
    objective, expected = plain_step(start, x, weights, counts, words, rules)
    found = mixtures.refine(start, x, Images.of(counts, words, 2), rules=rules)
    assert found.history[0] == pytest.approx(objective, rel=1e-9)
    np.testing.assert_allclose(found.words, expected.words, rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_start_has_the_moments_of_its_groups(seed):
    rows, rules = np.array([[0.0], [0.2], [10.0], [10.4]]), Rules(eta=0.1, precision="double")
    data = mixtures._laid_out(rows, Images.of([2, 2], [[0], [1]], 2), None, rules)
    start = mixtures._start(data, 2, rules, np.random.default_rng(seed))
    z = (rows[:, 0] - rows.mean()) / rows.std()
    order = start.means[:, 0].argsort()
    groups = [z[:2], z[2:]]
    np.testing.assert_allclose(start.means[order, 0], [group.mean() for group in groups])
    np.testing.assert_allclose(start.variances[order, 0], [(2 * group.var() + 1) / 3 for group in groups])
    np.testing.assert_allclose(start.p_l, 0.5)
    seen, unseen = 1 + 2 / 4 + 0.1, 2 / 4 + 0.1  # one word each, a prior of (1 + 1) / (2 + 2), and eta
    np.testing.assert_allclose(start.words[order, 0], [seen / (seen + unseen), unseen / (seen + unseen)])


@pytest.mark.parametrize("seed", range(8))
def test_two_rows_are_two_centres(seed):
    rules = Rules(precision="double")
    data = mixtures._laid_out(np.array([[1.0], [3.0]]), Images.of([1, 1], [[], []], 0), None, rules)
    start = mixtures._start(data, 2, rules, np.random.default_rng(seed))
    assert sorted(start.means[:, 0].tolist()) == [-1.0, 1.0]
