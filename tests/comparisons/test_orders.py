"""Order agreement against worked numbers, enumeration of tied orders, and plain sums."""

import math
from itertools import pairwise, permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.comparisons.orders import between_measures, orders, rbo, tau, tau_ap, tau_ap_b, tau_interval
from endoxa.errors import JoinError, TableError, TextError
from endoxa.policies import Policy
from endoxa.tables import Scores

SCORES = st.lists(st.integers(0, 3), min_size=2, max_size=5)


def ranked(names):
    """{name: score}, first name best."""
    return {name: float(len(names) - place) for place, name in enumerate(names)}


def plain_tau_ap(truth, estimate):
    """Two strict orders, best first (docs/methods/comparisons.md, Agreement of orders)."""
    n, total = len(truth), 0.0
    for i in range(2, n + 1):
        item = estimate[i - 1]
        total += sum(truth.index(other) < truth.index(item) for other in estimate[: i - 1]) / (i - 1)
    return 2 / (n - 1) * total - 1


def strict_orders(values):
    """Every strict order of the places, best first, that keeps to the scores."""
    return [
        order
        for order in permutations(range(len(values)))
        if all(values[one] >= values[two] for one, two in pairwise(order))
    ]


@pytest.mark.parametrize(
    ("truth", "estimate", "expected_tau", "expected_tau_ap"),
    [("ABCDE", "BACED", 0.6, 0.375), ("ABCDE", "BACDE", 0.8, 0.5), ("ABCDE", "ABCED", 0.8, 0.875)],
)
def test_worked_examples(truth, estimate, expected_tau, expected_tau_ap):
    """docs/methods/comparisons.md, Agreement of orders."""
    made = orders(ranked(truth), ranked(estimate))
    assert made.tau == pytest.approx(expected_tau)
    assert made.tau_ap == pytest.approx(expected_tau_ap)
    assert made.n == 5


@pytest.mark.parametrize(
    ("a", "b", "p", "expected"),
    [("ABCDE", "BACED", 0.9, (0.881775, 0.553764, 0.881775)), ("abcd", "baec", 0.8, (0.629333, 0.484412, 0.731733))],
)
def test_worked_overlaps(a, b, p, expected):
    """docs/methods/comparisons.md, Agreement of orders."""
    made = rbo(a, b, p=p)
    assert (made.ext, made.low, made.high) == pytest.approx(expected, abs=5e-7)
    assert made.residual == pytest.approx(expected[2] - expected[1], abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(6)))
def test_tau_ap_of_strict_orders_is_its_definition(estimate):
    truth = list(range(6))
    falling = -np.arange(6.0)
    scores = np.empty(6)
    scores[estimate] = falling
    assert tau_ap(falling, scores) == pytest.approx(plain_tau_ap(truth, list(estimate)))
    both = (plain_tau_ap(truth, list(estimate)) + plain_tau_ap(list(estimate), truth)) / 2
    assert tau_ap(falling, scores, symmetric=True) == pytest.approx(both)
    assert tau_ap_b(falling, scores) == pytest.approx(both)


@settings(max_examples=60, deadline=None)
@given(SCORES.flatmap(lambda a: st.tuples(st.just(a), st.lists(st.integers(0, 3), min_size=len(a), max_size=len(a)))))
def test_ties_are_the_mean_over_all_orders(pair):
    truth, estimate = pair
    every = [plain_tau_ap(one, two) for one, two in product(strict_orders(truth), strict_orders(estimate))]
    assert tau_ap(np.array(truth), np.array(estimate)) == pytest.approx(np.mean(every))


def test_ties_as_urbano_and_marrero():
    """The example in the README of julian-urbano/ircor, the authors' own code for ICTIR 2017."""
    x = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
    y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
    assert tau(x, y) == pytest.approx(0.7777778)
    assert tau_ap(x, y) == pytest.approx(0.7491182)
    x_tied, y_tied = np.round(x * 5) / 5, np.round(y * 5) / 5
    assert tau_ap(x, y_tied) == pytest.approx(0.6074515)
    assert tau(x_tied, y_tied) == pytest.approx(0.75)
    assert tau_ap_b(x_tied, y_tied) == pytest.approx(0.6269841)
    assert tau_ap_b(y_tied, x_tied) == pytest.approx(0.6269841)


def test_a_tied_order_and_itself():
    tied = np.array([3, 3, 2, 1, 1])
    assert tau_ap_b(tied, tied) == 1
    assert tau_ap(tied, tied) < 1
    assert math.isnan(tau_ap_b(np.ones(3), np.arange(3)))
    assert math.isnan(tau(np.ones(3), np.arange(3)))


def plain_rbo(a, b, p, depth=300):
    """(1-p) Σ p^(d-1) |first d of a ∩ first d of b| / d over two long lists."""
    total, first, second = 0.0, set(), set()
    for d in range(1, depth + 1):
        first.update(a[d - 1 : d])
        second.update(b[d - 1 : d])
        total += p ** (d - 1) * len(first & second) / d
    return (1 - p) * total


def completed(a, b, rest=300):
    """The two ways to write on both lists that agree least and most."""
    worst = (list(a) + [("a", k) for k in range(rest)], list(b) + [("b", k) for k in range(rest)])
    best = []
    for mine, other in ((a, b), (b, a)):
        best.append([*mine, *(item for item in other if item not in mine), *range(rest)])
    return worst, tuple(best)


@settings(max_examples=80, deadline=None)
@given(
    st.permutations("abcdefgh"),
    st.permutations("abcdefgh"),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([0.5, 0.8, 0.9]),
)
def test_bounds_of_overlap_are_attained(one, two, length, other, p):
    a, b = one[:length], two[:other]
    made = rbo(a, b, p=p)
    worst, best = completed(a, b)
    assert made.low == pytest.approx(plain_rbo(*worst, p), abs=1e-9)
    assert made.high == pytest.approx(plain_rbo(*best, p), abs=1e-9)
    assert made.low - 1e-12 <= made.ext <= made.high + 1e-12
    assert made.low - 1e-9 <= plain_rbo(one, two, p) <= made.high + 1e-9  # one more way to go on
    assert rbo(b, a, p=p) == made


@settings(max_examples=40, deadline=None)
@given(st.permutations("abcdefgh"), st.permutations("abcdefgh"), st.integers(1, 6), st.sampled_from([0.5, 0.9]))
def test_even_lists_go_on_agreeing(one, two, length, p):
    a, b = one[:length], two[:length]
    seen = [len(set(a[:d]) & set(b[:d])) / d for d in range(1, length + 1)]
    plain = (1 - p) * sum(p ** (d - 1) * x for d, x in enumerate(seen, 1)) + seen[-1] * p**length
    assert rbo(a, b, p=p).ext == pytest.approx(plain)


def test_uneven_lists_go_on_agreeing():
    """By hand: S=ab, L=bxa, p=.5. X=0,1,2; the third of S agrees ½, so X_3=2.5 and agreement stays 5/6."""
    assert rbo("ab", "bxa", p=0.5).ext == pytest.approx(0.5 * (0 + 0.5 * 0.5 + 0.25 * 2.5 / 3) + 0.125 * 2.5 / 3)


def test_overlap_of_equal_disjoint_and_empty_lists():
    assert rbo("abc", "abc").ext == pytest.approx(1)
    assert rbo("abc", "xyz").ext == rbo("abc", "xyz").low == 0
    empty = rbo("", "abc")
    assert math.isnan(empty.ext)
    assert (empty.low, empty.high) == pytest.approx((0, 1))
    assert math.isnan(rbo("", "").ext)


def test_names_are_joined_and_ties_stand_by_name():
    made = orders({"a": 0.3, "b": 0.3, "c": 0.1, "x": 0.9, "y": math.nan}, {"a": 0.2, "b": 0.2, "c": 0.0, "y": 0.4})
    assert made.n == 3
    assert (made.tau, made.rbo) == pytest.approx((1, 1))


def test_says_what_is_wrong():
    with pytest.raises(JoinError, match="share 1 names"):
        orders({"a": 1, "b": 2}, {"a": 1, "c": 2})
    with pytest.raises(TableError, match="3 and 2 scores"):
        tau_ap(np.arange(3), np.arange(2))
    with pytest.raises(TextError, match="persistence"):
        rbo("ab", "ba", p=1)
    with pytest.raises(TableError, match="twice"):
        rbo("aba", "ba")


def test_tau_of_means_and_its_interval_over_resamples():
    one = np.array([[0.1, 0.2], [0.3, 0.4], [0.8, 0.6]])
    other = np.array([[0.5, 0.1], [0.2, 0.6], [0.9, 0.8]])
    weights = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])  # [query, resample]: both queries, the first, the second
    taus = [tau(one @ column, other @ column) for column in weights.T]
    assert taus == pytest.approx([1.0, 1 / 3, 1.0])
    value, lo, hi = tau_interval(one, other, weights, confidence=0.9)
    assert value == taus[0]
    assert (lo, hi) == pytest.approx(tuple(np.quantile(taus, [0.05, 0.95])))


def test_tau_interval_is_nan_where_every_resample_is_tied():
    one, other = np.full((3, 2), 0.5), np.arange(6.0).reshape(3, 2)
    assert all(math.isnan(number) for number in tau_interval(one, other, np.ones((2, 4))))


def test_three_systems_are_enough_to_compare_measures():
    rows = [(s, q, m, v) for s, v in (("a", 1.0), ("b", 2.0), ("c", 3.0)) for q in "xy" for m in ("AP", "RR")]
    names = ["system", "query", "measure", "value"]
    frame = pl.DataFrame([(s, q, m, -v if m == "RR" else v) for s, q, m, v in rows], schema=names, orient="row")
    (row,) = between_measures(Scores(frame, Policy(), pl.DataFrame({"system": ["a", "b", "c"]}))).rows(named=True)
    assert (row["measure"], row["other"], row["tau"], row["tau_AP"]) == ("AP", "RR", -1.0, -1.0)
    two = Scores(frame.filter(pl.col("system") != "c"), Policy(), pl.DataFrame({"system": ["a", "b"]}))
    assert between_measures(two) is None
