"""Dawid-Skene: worked numbers, a slow dense EM, enumeration of all truths, crowd-kit's own output."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from vote_samples import votes_of_frame

from endoxa.beliefs import raters
from endoxa.beliefs.raters import Prior, Votes, believe, cavity, fit, held_out
from endoxa.errors import TableError, TextError
from endoxa.notes import texts
from endoxa.tables import Opinions

# Table 1 of Lamiroy and Sun: what three systems returned of seven items.
TABLE_1 = np.array([[1, 1, 0, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1, 0]], dtype=float)


def votes_of(matrix: np.ndarray, classes=None, weight=None, pinned=None) -> Votes:
    """Votes from [rater, item] labels, -1 where a rater did not vote; weights alike."""
    rater, item = np.nonzero(matrix >= 0)
    K = int(matrix.max()) + 1
    return Votes(
        item=item,
        rater=rater,
        label=matrix[rater, item].astype(np.int64),
        weight=None if weight is None else weight[rater, item],
        items=[f"i{at}" for at in range(matrix.shape[1])],
        raters=[f"r{at}" for at in range(matrix.shape[0])],
        classes=np.arange(K, dtype=float) if classes is None else classes,
        pinned=np.full(matrix.shape[1], -1) if pinned is None else np.asarray(pinned),
    )


def soft_votes(shares: np.ndarray) -> Votes:
    """Two classes: v for class 1 and 1 - v for class 0."""
    R, n = shares.shape
    item, rater = np.tile(np.arange(n), R), np.repeat(np.arange(R), n)
    v = shares.ravel()
    return Votes(
        item=np.tile(item, 2),
        rater=np.tile(rater, 2),
        label=np.repeat([1, 0], n * R),
        weight=np.concatenate([v, 1 - v]),
        items=[f"i{at}" for at in range(n)],
        raters=[f"r{at}" for at in range(R)],
        classes=np.array([0.0, 1.0]),
        pinned=np.full(n, -1),
    )


# --- the votes of Lamiroy and Sun's Table 1 (docs/methods/beliefs.md, Rater models)


def test_worked_example_to_the_digits_printed() -> None:
    found = fit(votes_of(TABLE_1))
    q = found.posterior[:, 1]
    assert q == pytest.approx([0.944459, 0.944459, 0.153045, 0.097476, 0.097476, 0.153045, 0.014197], abs=5e-7)
    assert found.prior[1] == pytest.approx(0.378240, abs=5e-7)
    assert found.confusion[:, 1, 1] == pytest.approx([0.793839, 0.787295, 0.787295], abs=5e-7)
    assert found.confusion[:, 0, 0] == pytest.approx([0.660751, 0.772211, 0.772211], abs=5e-7)
    assert found.objective[-1] == pytest.approx(-28.588294, abs=5e-7)
    precision, recall = TABLE_1 @ q / TABLE_1.sum(1), TABLE_1 @ q / q.sum()
    assert precision == pytest.approx([0.520968, 0.680654, 0.680654], abs=5e-7)
    assert recall == pytest.approx([0.866778, 0.849347, 0.849347], abs=5e-7)
    f1 = 2 * TABLE_1 @ q / (TABLE_1.sum(1) + q.sum())
    assert [2 * q.sum() / (7 + q.sum()), *f1[:2]] == pytest.approx([0.511297, 0.650787, 0.755701], abs=5e-7)
    assert found.converged
    assert texts(found.warnings) == ()


def test_symmetric_priors_are_a_trap() -> None:
    found = fit(votes_of(TABLE_1), prior=Prior(1, 1, 1), iterations=5_000)
    assert found.posterior == pytest.approx(np.full((7, 2), 0.5), abs=1e-6)
    assert "changed places" in texts(found.warnings)[0]  # Σ(α + β - 1) is 0


def two_coins(v: np.ndarray, answered: np.ndarray, rounds: int) -> tuple[np.ndarray, float]:
    """The EM steps line by line, with soft votes and unanswered items."""
    q = (1 + (v * answered).sum(0)) / (2 + answered.sum(0))
    for _ in range(rounds):
        alpha = ((answered * v) @ q + 3) / (answered @ q + 4)
        beta = ((answered * (1 - v)) @ (1 - q) + 3) / (answered @ (1 - q) + 4)
        pi = (q.sum() + 1) / (len(q) + 2)
        l1 = np.log(pi) + (answered * v).T @ np.log(alpha) + (answered * (1 - v)).T @ np.log(1 - alpha)
        l0 = np.log(1 - pi) + (answered * (1 - v)).T @ np.log(beta) + (answered * v).T @ np.log(1 - beta)
        q = 1 / (1 + np.exp(l0 - l1))
    prior = 3 * np.log(alpha * beta).sum() + np.log((1 - alpha) * (1 - beta)).sum() + np.log(pi * (1 - pi))
    return q, np.logaddexp(l0, l1).sum() + prior


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_soft_votes_enter_linearly(data: st.DataObject) -> None:
    R, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    v = np.array(data.draw(st.lists(st.sampled_from([0, 0.2, 0.5, 0.9, 1]), min_size=R * n, max_size=R * n)))
    v = v.reshape(R, n)
    found = fit(soft_votes(v), iterations=12, tolerance=0)
    q, objective = two_coins(v, np.ones_like(v), 12)
    assert found.posterior[:, 1] == pytest.approx(q, abs=1e-10)
    assert found.objective[-1] == pytest.approx(objective, abs=1e-9)


def test_a_simulation_recovers_precision_where_the_vote_average_compresses_it() -> None:
    rng = np.random.default_rng(7)
    alpha, beta = np.array([0.92, 0.70, 0.62, 0.85]), np.array([0.95, 0.90, 0.81, 0.70])
    truth = rng.random(2000) < 0.3
    said = rng.random((4, 2000)) < np.where(truth, alpha[:, None], 1 - beta[:, None])
    actual = (said & truth).sum(1) / said.sum(1)
    assert actual == pytest.approx([0.887, 0.746, 0.581, 0.550], abs=0.04)
    q = fit(votes_of(said.astype(float))).posterior[:, 1]
    modelled = said @ q / said.sum(1)
    consensus = said @ ((1 + said.sum(0)) / 6) / said.sum(1)
    assert modelled == pytest.approx(actual, abs=0.03)
    assert consensus == pytest.approx([0.665, 0.653, 0.604, 0.565], abs=0.02)
    assert np.ptp(consensus) < 0.4 * np.ptp(actual)
    assert list(np.argsort(-modelled)) == list(np.argsort(-consensus)) == [0, 1, 2, 3]


# --- oracles -------------------------------------------------------------------------------------------------------


def dense(matrix, weight, K, prior, variant, rounds, pinned=None, classes=None):
    """EM as one would write it on a blackboard: loops over raters, items and classes."""
    R, n = matrix.shape
    pinned = np.full(n, -1) if pinned is None else pinned
    classes = np.arange(K) if classes is None else classes
    right, wrong, extra = (0, 0, 0) if prior == "flat" else (6 / K, 2 / K, 1)
    q = np.zeros((n, K))
    for i in range(n):
        for r in range(R):
            if matrix[r, i] >= 0:
                q[i, int(matrix[r, i])] += weight[r, i]
        q[i] += 0 if prior == "flat" else 1
        q[i] = q[i] / q[i].sum() if q[i].sum() else 1 / K
        if pinned[i] >= 0:
            q[i] = np.eye(K)[pinned[i]]
    for _ in range(rounds):
        theta = np.zeros((R, K, K))
        for r in range(R):
            for t, said in product(range(K), repeat=2):
                theta[r, t, said] = sum(q[i, t] * weight[r, i] for i in range(n) if matrix[r, i] == said)
            if variant == "full":
                theta[r] += np.where(np.eye(K) > 0, right, wrong)
                used = [said for said in range(K) if (matrix[r] == said).any()] or list(range(K))
                for t in range(K):
                    if prior == "flat":
                        theta[r, t] = [max(theta[r, t, said], 1e-10) if said in used else 0 for said in range(K)]
                    theta[r, t] /= theta[r, t].sum()
            elif variant == "one-coin" and prior == "flat" and not theta[r].any():
                theta[r] = 1 / K  # a rater without votes
            elif variant == "one-coin":
                hit = max(np.trace(theta[r]) + right, 1e-10)
                miss = max(theta[r].sum() - np.trace(theta[r]) + wrong * (K - 1), 1e-10)
                theta[r] = np.where(np.eye(K) > 0, hit, miss / (K - 1)) / (hit + miss)
            else:
                counts = theta[r] + np.where(np.eye(K) > 0, right, wrong) / K

                def decay(steepness):
                    table = np.array([[np.exp(-steepness * abs(a - b)) for b in classes] for a in classes])
                    return table / table.sum(1, keepdims=True)

                best = minimize_scalar(
                    lambda x, counts=counts: -(counts * np.log(decay(x))).sum(), bounds=(-23, 23), method="bounded",
                    options={"xatol": 1e-11},
                )  # fmt: skip
                theta[r] = decay(best.x)
        pi = np.maximum((q.sum(0) + extra) / (n + K * extra), 1e-10) if variant == "full" else np.full(K, 1 / K)
        likelihood = 0.0
        for i in range(n):
            scores = np.log(pi).copy()
            for r in range(R):
                if matrix[r, i] >= 0:
                    scores += weight[r, i] * np.log(theta[r, :, int(matrix[r, i])])
            q[i] = np.exp(scores - np.logaddexp.reduce(scores))
            likelihood += np.logaddexp.reduce(scores) if pinned[i] < 0 else scores[pinned[i]]
            if pinned[i] >= 0:
                q[i] = np.eye(K)[pinned[i]]
    return q, theta, pi, likelihood


@st.composite
def tables(draw, most_classes: int = 4, weights: bool = True):
    """Labels [rater, item] with gaps, weights, and some known items; every class occurs."""
    R, n, K = draw(st.integers(1, 5)), draw(st.integers(2, 7)), draw(st.integers(2, most_classes))
    cells = st.lists(st.integers(-1, K - 1), min_size=R * n, max_size=R * n)
    matrix = np.array(draw(cells), dtype=float).reshape(R, n)
    matrix[0, :2] = (0, K - 1)
    shares = st.lists(st.sampled_from([0.25, 0.5, 1.0, 1.0, 2.0]), min_size=R * n, max_size=R * n)
    weight = np.array(draw(shares)).reshape(R, n) if weights else np.ones((R, n))
    pinned = np.array(draw(st.lists(st.sampled_from([-1, -1, -1, *range(K)]), min_size=n, max_size=n)))
    return matrix, weight, pinned, K


@pytest.mark.parametrize("prior", ["informed", "flat"])
@pytest.mark.parametrize("variant", ["full", "one-coin"])
@given(case=tables())
@settings(max_examples=25, deadline=None)
def test_sparse_equals_dense(prior: str, variant: str, case) -> None:
    matrix, weight, pinned, K = case
    found = fit(votes_of(matrix, None, weight, pinned), prior=prior, variant=variant, iterations=6, tolerance=0)
    q, theta, pi, likelihood = dense(matrix, weight, K, prior, variant, 6, pinned)
    assert found.posterior == pytest.approx(q, abs=1e-9)
    assert found.confusion == pytest.approx(theta, abs=1e-9)
    assert found.prior == pytest.approx(pi, abs=1e-9)
    if prior == "flat":
        assert found.objective[-1] == pytest.approx(likelihood, abs=1e-8)


@given(case=tables())
@settings(max_examples=15, deadline=None)
def test_ordinal_equals_dense(case) -> None:
    matrix, weight, pinned, K = case
    grades = np.array([0.0, 1.0, 2.0, 4.0])[:K]
    steps = grades * (K - 1) / grades[-1]
    found = fit(votes_of(matrix, grades, weight, pinned), variant="ordinal", iterations=4, tolerance=0)
    q, theta, _, _ = dense(matrix, weight, K, "informed", "ordinal", 4, pinned, steps)
    assert found.posterior == pytest.approx(q, abs=1e-6)  # the search of the oracle is no finer
    assert found.confusion == pytest.approx(theta, abs=1e-6)


@given(case=tables(most_classes=3))
@settings(max_examples=25, deadline=None)
def test_posterior_and_likelihood_equal_enumeration_of_all_truths(case) -> None:
    matrix, weight, pinned, K = case
    found = fit(votes_of(matrix, None, weight, pinned), prior="flat", iterations=3, tolerance=0)
    n = matrix.shape[1]
    total, mass = 0.0, np.zeros((n, K))
    for truth in product(range(K), repeat=n):
        if any(known >= 0 and known != t for known, t in zip(pinned, truth, strict=True)):
            continue
        p = float(np.prod([found.prior[t] for t in truth]))
        for r, i in zip(*np.nonzero(matrix >= 0), strict=True):
            p *= found.confusion[r, truth[i], int(matrix[r, i])] ** weight[r, i]
        total += p
        mass[np.arange(n), list(truth)] += p
    if total > 1e-200:
        assert found.posterior == pytest.approx(mass / total, abs=1e-9)
        assert found.objective[-1] == pytest.approx(np.log(total), abs=1e-7)


# Written by crowd-kit 1.4.2, DawidSkene(n_iter=3, tol=-inf).fit(…).probas_, on these votes; labels 0, 1, 2.
CROWDKIT_VOTES = (
    "a:ann=0 a:bob=0 a:cy=1 b:ann=1 b:bob=1 b:cy=1 c:ann=2 c:bob=1 c:cy=2 d:ann=0 d:bob=0 d:cy=0 e:ann=2 e:cy=2 "
    "f:bob=1 f:cy=1 f:dan=2 a:dan=2 b:dan=2 c:dan=2 g:ann=1 g:bob=2 g:cy=0"
)
CROWDKIT_POSTERIOR = [
    [0.999943, 0.000057, 0.000000],
    [0.000000, 0.993618, 0.006382],
    [0.000000, 0.000004, 0.999996],
    [0.999989, 0.000011, 0.000000],
    [0.000000, 0.000005, 0.999995],
    [0.000000, 0.816913, 0.183087],
    [0.351048, 0.648929, 0.000023],
]


def crowdkit_frame() -> pl.DataFrame:
    rows = [(*pair.split(":"), int(label)) for pair, label in (vote.split("=") for vote in CROWDKIT_VOTES.split())]
    return pl.DataFrame(rows, schema=["item", "rater", "label"], orient="row")


def test_flat_prior_gives_what_crowdkit_gives() -> None:
    found = fit(votes_of_frame(crowdkit_frame()), prior="flat", iterations=3, tolerance=0)
    assert found.posterior == pytest.approx(np.array(CROWDKIT_POSTERIOR), abs=6e-7)
    assert any("always gave the same answer (dan)" in text for text in texts(found.warnings))


# --- laws ----------------------------------------------------------------------------------------------------------

SETTINGS = [(prior, variant) for prior in ("informed", "flat") for variant in ("full", "one-coin", "ordinal")]


@pytest.mark.parametrize(("prior", "variant"), SETTINGS)
@given(case=tables())
@settings(max_examples=15, deadline=None)
def test_objective_does_not_fall_and_rows_sum_to_one(prior: str, variant: str, case) -> None:
    matrix, weight, pinned, _ = case
    found = fit(votes_of(matrix, None, weight, pinned), prior=prior, variant=variant, iterations=40)
    assert (np.diff(found.objective) >= -1e-7).all()  # the floor of the flat prior may cost 1e-10 a cell
    assert len(found.objective) == found.iterations
    assert found.posterior.sum(1) == pytest.approx(1, abs=1e-12)
    assert found.confusion.sum(2) == pytest.approx(1, abs=1e-12)
    assert found.prior.sum() == pytest.approx(1, abs=1e-12)
    assert np.isfinite(found.objective).all()
    known = pinned >= 0
    assert (found.posterior[known, pinned[known]] == 1).all()


@pytest.mark.parametrize(("prior", "variant"), SETTINGS)
@given(case=tables(), seed=st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_order_of_raters_items_and_votes_does_not_matter(prior: str, variant: str, case, seed: int) -> None:
    matrix, weight, pinned, _ = case
    rng = np.random.default_rng(seed)
    who, what = rng.permutation(len(matrix)), rng.permutation(matrix.shape[1])
    found = fit(votes_of(matrix, None, weight, pinned), prior=prior, variant=variant, iterations=5)
    moved = votes_of(matrix[who][:, what], None, weight[who][:, what], pinned[what])
    order = rng.permutation(len(moved))
    other = fit(moved.where(order), prior=prior, variant=variant, iterations=5)  # type: ignore[arg-type]
    assert other.posterior == pytest.approx(found.posterior[what], abs=1e-8)
    assert other.confusion == pytest.approx(found.confusion[who], abs=1e-8)


@given(case=tables(), drop=st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_cavity_equals_the_e_step_without_these_raters(case, drop: int) -> None:
    matrix, weight, pinned, K = case
    out = {drop % len(matrix), (drop + 1) % len(matrix)}
    votes = votes_of(matrix, None, weight, pinned)
    found = fit(votes, iterations=10)
    left = cavity(votes, found, [f"r{at}" for at in out])
    for i in range(matrix.shape[1]):
        scores = np.log(found.prior)
        for r in range(len(matrix)):
            if r not in out and matrix[r, i] >= 0:
                scores = scores + weight[r, i] * np.log(found.confusion[r, :, int(matrix[r, i])])
        wanted = np.exp(scores) / np.exp(scores).sum() if pinned[i] < 0 else np.eye(K)[pinned[i]]
        assert left[i] == pytest.approx(wanted, abs=1e-9)
    assert cavity(votes, found, []) == pytest.approx(found.posterior, abs=1e-12)


@pytest.mark.parametrize("prior", ["informed", "flat"])
@given(case=tables(most_classes=2))
@settings(max_examples=15, deadline=None)
def test_with_two_classes_ordinal_is_one_coin(prior: str, case) -> None:
    matrix, weight, pinned, _ = case
    votes = votes_of(matrix, None, weight, pinned)
    coin = fit(votes, prior=prior, variant="one-coin", iterations=5)
    step = fit(votes, prior=prior, variant="ordinal", iterations=5)
    assert step.posterior == pytest.approx(coin.posterior, abs=1e-6)


def test_an_item_without_votes_is_like_the_others() -> None:
    matrix = np.array([[1, 1, 0, 0, -1], [1, 1, 1, 0, -1], [1, 0, 0, 0, -1]], dtype=float)
    with_gap, without = fit(votes_of(matrix)), fit(votes_of(matrix[:, :4]))
    assert with_gap.posterior[4] == pytest.approx(with_gap.prior, abs=1e-7)
    assert with_gap.posterior[:4] == pytest.approx(without.posterior, abs=1e-6)  # the same summit


# --- models that were drawn ----------------------------------------------------------------------------------------


def drawn(rng, confusion, classes, n, each):
    """Votes [rater, item] of raters with these matrices, `each` raters an item, and the truth."""
    R, K, _ = confusion.shape
    truth = rng.choice(K, size=n, p=classes)
    reach = np.cumsum(confusion, axis=2)
    labels = (rng.random((R, n))[:, :, None] > reach[:, truth]).sum(2).clip(max=K - 1).astype(float)
    asked = np.argsort(rng.random((R, n)), axis=0) < each
    return np.where(asked, labels, -1), truth


def test_recovers_confusion_matrices_and_predicts_votes_better_than_one_coin() -> None:
    rng = np.random.default_rng(3)
    lean = np.array([[0.8, 0.15, 0.05], [0.4, 0.5, 0.1], [0.05, 0.05, 0.9]])
    fair = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    confusion = np.stack([lean, fair] * 5)
    matrix, truth = drawn(rng, confusion, [0.5, 0.3, 0.2], 3000, 6)
    votes = votes_of(matrix)
    found = fit(votes)
    assert found.confusion == pytest.approx(confusion, abs=0.08)
    assert found.prior == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    assert (found.posterior.argmax(1) == truth).mean() > 0.92
    some = votes.where(votes.item < 600)
    full = held_out(some, rng=np.random.default_rng(1)).mean()
    assert full > held_out(some, variant="one-coin", rng=np.random.default_rng(1)).mean() + 0.02


def test_ordinal_recovers_raters_whose_errors_decay() -> None:
    rng = np.random.default_rng(5)
    distance = np.abs(np.arange(5)[:, None] - np.arange(5))
    steep = np.array([0.4, 0.8, 1.2, 1.6, 2.0, 2.4])
    table = np.exp(-steep[:, None, None] * distance)
    confusion = table / table.sum(2, keepdims=True)
    matrix, truth = drawn(rng, confusion, np.full(5, 0.2), 1500, 4)
    ordinal = fit(votes_of(matrix), variant="ordinal")
    assert ordinal.confusion == pytest.approx(confusion, abs=0.06)
    coin = fit(votes_of(matrix), variant="one-coin")
    assert (ordinal.posterior.argmax(1) == truth).mean() > (coin.posterior.argmax(1) == truth).mean()
    shifted = fit(votes_of(matrix, classes=np.arange(5) * 10.0 - 20), variant="ordinal")
    assert shifted.posterior == pytest.approx(ordinal.posterior, abs=1e-9)  # a scale has no unit


def test_one_coin_keeps_a_class_that_a_fitted_share_swallows() -> None:
    """PEERS, tools that ask people, finding 10: crowd-kit's one coin fits π as well, and loses classes."""
    rng = np.random.default_rng(0)
    lean = np.array([[0.4, 0.6], [0.2, 0.8]])
    matrix, truth = drawn(rng, np.stack([lean] * 12), [0.5, 0.5], 600, 5)
    found = fit(votes_of(matrix), variant="one-coin", prior="flat")
    said = (matrix == 1).sum(0)
    asked = (matrix >= 0).astype(float)
    q = said / asked.sum(0)
    for _ in range(300):  # one coin with a share of its own
        right = (asked * np.where(matrix == 1, q, 1 - q)).sum(1) / asked.sum(1)
        ratio = asked * np.where(matrix == 1, 1, -1) * np.log(right / (1 - right))[:, None]
        q = 1 / (1 + np.exp(-ratio.sum(0) - np.log(q.mean() / (1 - q.mean()))))
    assert 1 - q.mean() < 0.1  # of a class that half the items have
    assert found.posterior[:, 0].mean() > 0.2
    assert (found.posterior.argmax(1) == truth).mean() > ((q > 0.5) == truth).mean() + 0.05
    assert found.prior.tolist() == [0.5, 0.5]


def test_a_class_that_vanishes_is_told() -> None:
    lean = np.array([[0.25, 0.75], [0.1, 0.9]])
    matrix, _ = drawn(np.random.default_rng(4), np.stack([lean] * 9), [0.5, 0.5], 500, 9)
    warnings = texts(fit(votes_of(matrix), variant="one-coin").warnings)
    assert any("class 0.0 has 1" in text and "another may have swallowed it" in text for text in warnings)
    assert not any("swallowed" in text for text in texts(fit(votes_of(TABLE_1)).warnings))


# --- warnings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("prior", "variant"), SETTINGS)
def test_a_rater_who_always_says_the_same_breaks_nothing(prior: str, variant: str) -> None:
    matrix = np.array([[0, 1, 1, 0, 1, 0], [0, 1, 1, 0, 1, 1], [1, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1]], dtype=float)
    found = fit(votes_of(matrix), prior=prior, variant=variant)
    assert np.isfinite(found.posterior).all()
    assert "1 of 4 raters always gave the same answer (r3), which says nothing about an item" in texts(found.warnings)
    if variant == "full":
        alone = fit(votes_of(matrix[:3]), prior="flat")
        if prior == "flat":  # nothing is learnt from such a rater
            assert found.posterior == pytest.approx(alone.posterior, abs=1e-6)


def test_warnings_of_too_few_raters_no_convergence_and_one_class() -> None:
    assert "2 raters: with fewer than 3" in texts(fit(votes_of(TABLE_1[:2])).warnings)[0]
    assert "1 rater: with" in texts(fit(votes_of(TABLE_1[:1])).warnings)[0]
    short = fit(votes_of(TABLE_1), iterations=2)
    assert not short.converged
    assert "no convergence after 2 iterations" in texts(short.warnings)[-1]
    for variant in ("full", "one-coin", "ordinal"):
        one = fit(votes_of(np.zeros((3, 4))), variant=variant)
        assert one.posterior == pytest.approx(np.ones((4, 1)))
        assert texts(one.warnings) == ("every vote names the same class; the raters cannot be told apart",)


def test_gold_turns_raters_around() -> None:
    """Three raters who say the opposite look like three who are right, until some truth is known."""
    truth = np.array([0, 1] * 10)
    matrix = np.stack([1 - truth] * 3).astype(float)
    assert (fit(votes_of(matrix)).posterior.argmax(1) == 1 - truth).all()
    pinned = np.where(np.arange(20) < 14, truth, -1)
    found = fit(votes_of(matrix, pinned=pinned))
    assert (found.posterior.argmax(1) == truth).all()
    assert "changed places" in texts(found.warnings)[0]


# --- held-out votes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", ["informed", "flat"])
def test_leave_one_out_equals_the_dense_fit_without_that_vote(prior: str) -> None:
    matrix = np.array([[0, 1, 2, 0], [0, 1, 1, -1], [2, 1, 2, 0]], dtype=float)
    votes = votes_of(matrix)
    got = held_out(votes, prior=prior, folds=len(votes), iterations=5, tolerance=0, rng=np.random.default_rng(0))
    for at, (r, i, label) in enumerate(zip(votes.rater, votes.item, votes.label, strict=True)):
        rest = matrix.copy()
        rest[r, i] = -1
        q, theta, _, _ = dense(rest, np.ones_like(matrix), 3, prior, "full", 5)
        assert got[at] == pytest.approx(np.log(max(q[i] @ theta[r, :, label], 1e-10)), abs=1e-8)
    assert got.min() >= np.log(1e-10)


def test_a_split_vote_is_held_out_whole() -> None:
    votes = soft_votes(np.array([[0.9, 0.1, 0.8, 0.7], [0.8, 0.3, 0.9, 0.2], [0.7, 0.1, 0.6, 0.4]]))
    got = np.exp(held_out(votes, folds=12, rng=np.random.default_rng(0)))
    assert got[:12] + got[12:] == pytest.approx(np.ones(12))  # either answer of one vote under one fit


def test_an_ordinal_rater_needs_grades() -> None:
    with pytest.raises(TextError, match="ordinal needs classes that are grades"):
        fit(votes_of(TABLE_1, classes=["no", "yes"]), variant="ordinal")


def test_held_out_refuses_impossible_folds() -> None:
    with pytest.raises(TextError, match="folds must be from 2 to the number of votes"):
        held_out(votes_of(TABLE_1), folds=1, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"prior": "informd"}, "prior must be one of informed, flat, not 'informd'; did you mean informed"),
        ({"prior": Prior(1, 0, 1)}, "the votes of a prior are greater than 0"),
        ({"variant": "two-coin"}, "variant must be one of full, one-coin, ordinal, not 'two-coin'"),
        ({"iterations": 0}, "iterations must be 1 or more, not 0"),
    ],
)
def test_bad_settings_are_refused(wrong: dict, said: str) -> None:
    with pytest.raises(TextError, match=said):
        fit(votes_of(TABLE_1), **wrong)


def test_cavity_refuses_a_rater_that_is_not_there() -> None:
    votes = votes_of(TABLE_1)
    with pytest.raises(TableError, match="no rater is called 'R0'; did you mean r0"):
        cavity(votes, fit(votes), "R0")


# --- believe -------------------------------------------------------------------------------------------------------


def opinions(matrix: np.ndarray, **more) -> Opinions:
    rater, item = np.nonzero(matrix >= 0)
    frame = pl.DataFrame(
        {
            "source": [f"r{at}" for at in rater],
            "query": ["q1" if at < 4 else "q2" for at in item],
            "item": [f"i{at}" for at in item],
            "grade": matrix[rater, item],
            **{name: value[rater, item] for name, value in more.items()},
        }
    )
    return Opinions.of(frame)


def test_believe_gives_the_worked_example_as_a_belief() -> None:
    belief = believe(opinions(TABLE_1))
    q = [0.944459, 0.944459, 0.153045, 0.097476, 0.097476, 0.153045, 0.014197]
    assert belief.frame["item"].to_list() == [f"i{at}" for at in range(7)]
    assert belief.frame["query"].to_list() == ["q1"] * 4 + ["q2"] * 3
    assert belief.frame["p"].to_list() == pytest.approx(q, abs=5e-7)
    assert belief.frame["grade"].to_list() == [1.0] * 7
    assert belief.model == "dawid-skene"
    assert texts(belief.notes)[0].startswith("dawid-skene: prior informed, variant full, converged after ")
    assert texts(belief.notes)[1] == "21 votes by 3 raters on 7 pairs, 0 undecided"
    assert "people" not in belief.frame.columns


def test_believe_gives_every_grade_but_zero_and_keeps_each_pair_mentioned() -> None:
    matrix = np.array([[0, 1, 2, 2, 0]] * 4, dtype=float)
    belief = believe(opinions(matrix), prior="flat")
    rows = belief.frame.select("item", "grade", pl.col("p").round(6)).rows()
    assert [row for row in rows if row[2] > 0.5] == [("i1", 1.0, 1.0), ("i2", 2.0, 1.0), ("i3", 2.0, 1.0)]
    assert {row[0] for row in rows} == {"i0", "i1", "i2", "i3", "i4"}
    assert not any(row[1] == 0 for row in rows)
    assert all(p <= 1e-9 for item, _, p in rows if item in ("i0", "i4"))
    nothing = believe(opinions(np.zeros((3, 2))))
    assert nothing.frame.select("item", "grade", "p").rows() == [("i0", 0.0, 1.0), ("i1", 0.0, 1.0)]
    shifted = opinions(np.array([[0, 1, 2, 3, 4]] * 3, dtype=float)).frame.with_columns(pl.col("grade") - 2)
    held = believe(Opinions.of(shifted))  # negative: pooled but not judged, so no vote
    assert set(held.frame["grade"]) == {1.0, 2.0}
    assert set(held.frame["item"]) == {"i0", "i1", "i2", "i3", "i4"}


def test_undecided_and_practice_are_no_votes_and_confidence_splits_one() -> None:
    said = opinions(TABLE_1).frame
    more = pl.DataFrame(
        {
            "source": ["r0", "r0", "new"],
            "query": ["q9", "q9", "q9"],
            "item": ["undecided", "practice", "undecided"],
            "grade": [None, 1.0, None],
            "role": ["main", "practice", "main"],
        }
    )
    table = Opinions.of(pl.concat([said.select(more.columns), more]))
    belief = believe(table)
    assert "21 votes by 3 raters on 8 pairs, 2 undecided" in texts(belief.notes)
    row = belief.frame.filter(query="q9")
    assert row["item"].to_list() == ["undecided"]
    assert row["p"][0] == pytest.approx(0.378240, abs=1e-6)  # π: it is like the others
    sure = np.array([[0.9, 0.8, 1, 0.6, 1, 0.9, 0.7]] * 3)
    belief = believe(opinions(TABLE_1, confidence=sure))
    shares = np.where(TABLE_1 == 1, sure, 1 - sure)
    assert belief.frame["p"].to_numpy() == pytest.approx(two_coins(shares, np.ones_like(shares), 2000)[0], abs=1e-6)
    three = believe(opinions(np.array([[0, 1, 2.0]] * 3), confidence=np.full((3, 3), 0.8)))
    assert "confidence is used with two grades only; here are 3" in texts(three.notes)
    with pytest.raises(TableError, match="'r0' has confidence 80 in item 'i0' of query 'q1'"):
        believe(opinions(TABLE_1, confidence=np.full((3, 7), 80.0)))


def test_gold_is_believed_whichever_way_it_comes() -> None:
    truth = pl.DataFrame(
        {
            "source": ["truth"] * 2,
            "query": ["q1", "q2"],
            "item": ["i0", "new"],
            "grade": [0.0, 1.0],
            "role": ["gold"] * 2,
        }
    )
    inside = believe(Opinions.of(pl.concat([opinions(TABLE_1).frame.select(truth.columns), truth])))
    beside = believe(opinions(TABLE_1), gold=Opinions.of(truth))
    assert inside.frame.equals(beside.frame)
    p = dict(inside.frame.select("item", "p").rows())
    assert p["i0"] == 0
    assert p["new"] == 1
    assert p["i1"] < 0.944459  # those who said yes to i0 erred
    assert "2 pairs are known (gold)" in texts(inside.notes)
    asked = opinions(TABLE_1).frame.with_columns(pl.lit("gold").alias("role"))  # answers to planted items are votes
    assert believe(Opinions.of(asked)).frame["p"][0] == pytest.approx(0.944459, abs=1e-6)
    torn = Opinions.of(truth.with_columns(grade=1 - pl.col("grade"), source=pl.lit("other")))
    with pytest.raises(TableError, match="has two known grades"):
        believe(Opinions.of(pl.concat([opinions(TABLE_1).frame.select(truth.columns), truth])), gold=torn)


def test_believe_without_the_system_that_is_scored() -> None:
    belief = believe(opinions(TABLE_1), without=["r0"])
    votes = votes_of(TABLE_1)
    assert belief.frame["p"].to_numpy() == pytest.approx(cavity(votes, fit(votes), "r0")[:, 1], abs=1e-12)
    assert "without the votes of r0" in texts(belief.notes)
    with pytest.raises(TableError, match="no rater is called 'S1'"):
        believe(opinions(TABLE_1), without="S1")


def test_believe_says_what_is_wrong() -> None:
    with pytest.raises(TableError, match="nobody gave a grade"):
        believe(Opinions.of(opinions(TABLE_1).frame.with_columns(grade=pl.lit(None, dtype=pl.Float64))))
    with pytest.raises(TextError, match="resampling people needs chance"):
        believe(opinions(TABLE_1), people=10)
    two = believe(opinions(TABLE_1[:2]))
    assert texts(two.notes)[-1].startswith("warning: 2 raters")


def test_people_are_the_fit_of_raters_drawn_again() -> None:
    rng = np.random.default_rng(6)
    table = np.array([[0.8, 0.2], [0.3, 0.7]])
    matrix, _ = drawn(rng, np.stack([table] * 8), [0.6, 0.4], 120, 7)
    belief = believe(opinions(matrix), people=6, rng=np.random.default_rng(11))
    assert belief.frame.schema["people"] == pl.Array(pl.Float32, 6)
    several = belief.frame.sort(pl.col("item").str.slice(1).cast(pl.Int64))["people"].to_numpy()
    stream = np.random.default_rng(11)
    for draw in range(6):
        counts = stream.multinomial(8, np.full(8, 1 / 8))
        again = fit(votes_of(np.repeat(matrix, counts, axis=0)), iterations=2_000)
        assert several[:, draw] == pytest.approx(again.posterior[:, 1], abs=2e-3)
    assert several.std(1).mean() > 0.02


def test_people_are_drawn_within_their_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = raters._weighted
    monkeypatch.setattr(
        raters, "_weighted", lambda logs, weight, K: (seen.append(weight), original(logs, weight, K))[1]
    )
    frame = opinions(np.vstack([TABLE_1, TABLE_1])).frame
    kinds = pl.when(pl.col("source").is_in(["r0", "r1"])).then(pl.lit("system")).otherwise(pl.lit("person"))
    believe(Opinions.of(frame.with_columns(kinds.alias("kind"))), people=20, rng=np.random.default_rng(0))
    weights = np.array(seen)
    assert (weights[:, :2].sum(1) == 2).all()
    assert (weights[:, 2:].sum(1) == 4).all()
    assert weights.max() > 1


def test_people_of_a_belief_without_a_system_leave_it_out_too() -> None:
    both = believe(opinions(TABLE_1), people=30, without=["r0"], rng=np.random.default_rng(0)).frame
    lone = both.filter(item="i4")["people"][0].to_list()  # only r0 said yes to i4
    assert max(lone) < 0.6
    assert np.mean(lone) < both.filter(item="i0")["people"].to_numpy().mean()


def test_votes_are_held_out_in_five_folds_by_default() -> None:
    votes = votes_of(TABLE_1)
    plain, five = (held_out(votes, rng=np.random.default_rng(3), **how) for how in ({}, {"folds": 5}))
    assert plain.tolist() == five.tolist()
    assert plain.tolist() != held_out(votes, folds=4, rng=np.random.default_rng(3)).tolist()
