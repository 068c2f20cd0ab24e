"""Measures under probable relevance: worked examples, every outcome listed, and long lists by another way."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError, TextError
from endoxa.measures import closed_forms, distributions, ranked, sets
from endoxa.measures.distributions import (
    NOTHING,
    Distribution,
    average_precision,
    gathered,
    mixture,
    precision,
    reciprocal_rank,
    success,
    sum_over_queries,
)
from endoxa.measures.lists import BEYOND, Lists
from endoxa.measures.uncertain import expectation
from endoxa.statistics.poisson_binomial import pmf

NAN = math.nan
SEVEN = np.array([0.9, 0.6, 0.8, 0.2, 0.5, 0.1, 0.3])  # METHODS 0.4 and A.4
chances = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-9, 1 - 1e-9]), st.floats(0, 1))


def outcomes(p):
    """Every assignment of relevance, with its probability."""
    for z in product((0, 1), repeat=len(p)):
        yield z, math.prod(one if there else 1 - one for one, there in zip(p, z, strict=True))


# ---- plain definitions; z says which items of the pool are relevant, `found` = [(rank, place in the pool)]


def hits(z, found, k):
    return sum(z[place] for rank, place in found if k is None or rank <= k)


def plain_precision(z, found, length, k=None):
    size = length if k is None else k
    return hits(z, found, k) / size if size else NAN


def plain_recall(z, found, length, k=None):
    return hits(z, found, k) / sum(z) if any(z) else NAN


def plain_f(z, found, length, k=None, beta=1.0):
    if not any(z):
        return NAN
    size = length if k is None else k
    below = beta**2 * sum(z) + size
    return (1 + beta**2) * hits(z, found, k) / below if below else NAN


def plain_rr(z, found, length, k=None):
    return next((1 / rank for rank, place in found if z[place] and (k is None or rank <= k)), 0.0)


def plain_success(z, found, length, k=None):
    return float(hits(z, found, k) > 0)


def plain_ap(z, found, length, k=None):
    if not any(z):
        return NAN
    within = [(rank, place) for rank, place in found if z[place] and (k is None or rank <= k)]
    return sum((i + 1) / rank for i, (rank, _) in enumerate(within)) / sum(z)


PLAIN = {
    "P": plain_precision,
    "SetP": plain_precision,
    "R": plain_recall,
    "SetR": plain_recall,
    "F": plain_f,
    "SetF": plain_f,
    "RR": plain_rr,
    "Success": plain_success,
    "AP": plain_ap,
    "NumRel": lambda z, found, length: float(sum(z)),
    "NumRelRet": lambda z, found, length: float(hits(z, found, None)),
}
SETTINGS = [
    ("P", {"k": 1}),
    ("P", {"k": 5}),
    ("SetP", {}),
    ("R", {"k": 3}),
    ("SetR", {}),
    ("F", {"k": 4}),
    ("F", {"k": 1, "beta": 2.0}),  # t^¼ in the integrand
    ("F", {"k": 3, "beta": 0.0}),
    ("SetF", {}),
    ("SetF", {"beta": 3.0}),
    ("SetF", {"beta": 0.7}),
    ("SetF", {"beta": 1e-3}),
    ("SetF", {"beta": 1e-160}),
    ("SetF", {"beta": 0.0}),
    ("RR", {}),
    ("RR", {"k": 4}),
    ("Success", {"k": 4}),
    ("AP", {}),
    ("AP", {"k": 4}),
    ("AP", {"norm": "min"}),  # the same as without, where nothing is cut
    ("NumRel", {}),
    ("NumRelRet", {}),
]


def enumerated(value, pool):
    """E[M; defined], E[M²; defined], Pr(undefined) of a function of the outcome."""
    mean = square = undefined = 0.0
    for z, chance in outcomes(pool):
        one = value(z)
        if math.isnan(one):
            undefined += chance
        else:
            mean, square = mean + chance * one, square + chance * one**2
    return mean, square, undefined


@st.composite
def batches(draw):
    """A pool, and lists of (rank, place in the pool) with gaps, some of them empty; lengths of the lists."""
    pool = draw(st.lists(chances, max_size=7))
    lists, lengths = [], []
    for _ in range(draw(st.integers(1, 3))):
        places = draw(st.permutations(range(len(pool))))[: draw(st.integers(0, len(pool)))]
        gaps = draw(st.lists(st.integers(1, 3), min_size=len(places), max_size=len(places)))
        lists.append(list(zip(np.cumsum(gaps).tolist(), places, strict=True)))
        lengths.append(sum(gaps) + draw(st.integers(0, 2)))
    return pool, lists, lengths


def padded(pool, lists):
    """rank and p as arrays."""
    width = max(map(len, lists))
    rank, p = np.full((len(lists), width), BEYOND, dtype=np.int64), np.full((len(lists), width), NAN)
    for row, found in enumerate(lists):
        for column, (place, item) in enumerate(found):
            rank[row, column], p[row, column] = place, pool[item]
    return rank, p


@settings(max_examples=60, deadline=None)
@given(batches())
def test_expectations_agree_with_enumeration(batch):
    pool, lists, lengths = batch
    rank, p = padded(pool, lists)
    for name, how in SETTINGS:
        made = expectation(name, rank, p, np.array(lengths), np.array(pool), **how)
        given_to_plain = {setting: value for setting, value in how.items() if setting != "norm"}
        for row, (found, length) in enumerate(zip(lists, lengths, strict=True)):
            mean, square, undefined = enumerated(
                lambda z, f=found, n=length, m=name, s=given_to_plain: PLAIN[m](z, f, n, **s), pool
            )
            where = f"{name} {how}, list {row}"
            assert made.mean[row] == pytest.approx(mean, rel=1e-11, abs=1e-12), where
            assert made.square[row] == pytest.approx(square, rel=1e-11, abs=1e-12), where
            assert made.undefined[row] == pytest.approx(undefined, rel=1e-12, abs=1e-15), where


KERNELS = {
    "P": sets.P,
    "SetP": sets.SetP,
    "R": sets.R,
    "SetR": sets.SetR,
    "F": sets.F,
    "SetF": sets.SetF,
    "RR": ranked.RR,
    "Success": sets.Success,
    "AP": ranked.AP,
    "NumRel": sets.NumRel,
    "NumRelRet": sets.NumRelRet,
}


@pytest.mark.parametrize(("name", "how"), SETTINGS)
@pytest.mark.parametrize("length", [0, 9])
def test_expectations_are_those_of_the_measures_themselves(name, how, length):
    pool = np.array([0.3, 0.0, 0.8, 0.5, 0.9, 0.05])
    found = np.array([4, 0, 2, 1])[: 4 if length else 0]
    rank = np.array([1, 3, 4, 8])[: len(found)]
    worlds = np.array(list(product((0, 1), repeat=len(pool))))
    chance = np.where(worlds, pool, 1 - pool).prod(1)
    grade = worlds.astype(float)
    retrieved = np.full(len(worlds), length)
    lists = Lists(np.broadcast_to(rank, (len(worlds), len(rank))), grade[:, found], retrieved, -np.sort(-grade))
    value = KERNELS[name](lists, **how)
    defined = ~np.isnan(value)
    made = expectation(name, rank[None], pool[found][None], np.array([length]), pool, **how)
    assert made.mean[0] == pytest.approx(chance[defined] @ value[defined], abs=1e-13)
    assert made.square[0] == pytest.approx(chance[defined] @ value[defined] ** 2, abs=1e-13)
    assert made.undefined[0] == pytest.approx(chance[~defined].sum(), abs=1e-15)


def test_worked_example_of_the_integrals():
    """METHODS 0.4; R = the first 4."""
    rank, p, n = np.arange(1, 8)[None], SEVEN[None], np.array([4])
    four = (rank[:, :4], p[:, :4], n, SEVEN)
    recall, f1 = expectation("SetR", *four), expectation("SetF", *four)
    f2 = expectation("SetF", *four, beta=2.0)
    ap = expectation("AP", rank, p, np.array([7]), SEVEN)
    assert recall.mean[0] == pytest.approx(0.756082, abs=5e-7)
    assert f1.mean[0] == pytest.approx(0.665339, abs=5e-7)
    assert f2.mean[0] == pytest.approx(0.709251, abs=5e-7)
    assert ap.mean[0] == pytest.approx(0.831741, abs=5e-7)
    assert ap.undefined[0] == pytest.approx(0.002016, abs=5e-7)
    # What one would get by taking p for the gain is biased, one way and the other.
    assert SEVEN[:4].sum() / SEVEN.sum() == pytest.approx(recall.mean[0] - 0.020788, abs=1e-6)
    assert 2 * SEVEN[:4].sum() / (4 + SEVEN.sum()) == pytest.approx(f1.mean[0] + 0.010337, abs=1e-6)
    before = np.cumsum(SEVEN) - SEVEN
    as_gain = (SEVEN * (before + SEVEN) / np.arange(1, 8)).sum() / SEVEN.sum()
    of_expectations = (SEVEN * (before + 1) / np.arange(1, 8)).sum() / SEVEN.sum()
    assert as_gain == pytest.approx(0.734034, abs=5e-7)
    assert of_expectations == pytest.approx(0.851190, abs=5e-7)
    assert as_gain < ap.mean[0] < of_expectations


def test_recall_and_f_of_long_lists_agree_with_all_counts():
    """2,000 items: the number of hits and of misses, each with its probability, instead of integrals."""
    rng = np.random.default_rng(4)
    for pool in (rng.beta(0.3, 1.5, 2_000), np.full(2_000, 0.01), np.where(np.arange(2_000) % 3, 0.02, 1.0)):
        found = pool[:700]
        hit, miss = np.indices((701, 1_301))
        chance = np.outer(pmf(found), pmf(pool[700:]))
        chance[0, 0], total = 0, np.maximum(hit + miss, 1)
        arrays = np.arange(1, 701)[None], found[None], np.array([900]), pool
        for name, beta, value in (
            ("SetR", 1.0, hit / total),
            ("SetF", 1.0, 2 * hit / (total + 900)),
            ("SetF", 4.0, 17 * hit / (16 * total + 900)),
            ("SetF", 0.02, 1.0004 * hit / (0.0004 * total + 900)),
        ):
            made = expectation(name, *arrays, **({"beta": beta} if name == "SetF" else {}))
            assert made.mean[0] == pytest.approx((chance * value).sum(), rel=1e-11)
            assert made.square[0] == pytest.approx((chance * value**2).sum(), rel=1e-11)


@pytest.mark.parametrize("one", [1e-6, 0.01, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("size", [1, 7, 60, 3_000, 100_000])
def test_equal_items_share_recall_equally(size, one):
    """Where all p are equal, so is each item's expected share of T: 1/N, wherever something is relevant."""
    found = max(1, size // 50)
    rank, p = np.arange(1, found + 1)[None], np.full((1, found), one)
    made = expectation("SetR", rank, p, np.array([found]), np.full(size, one))
    some = -math.expm1(size * math.log1p(-one)) if one < 1 else 1.0
    assert made.mean[0] == pytest.approx(found / size * some, rel=1e-11)
    if one == 1:
        assert made.square[0] == pytest.approx((found / size) ** 2, rel=1e-11)
        ap = expectation("AP", rank, p, np.array([found]), np.full(size, one))
        assert (ap.mean[0], ap.square[0]) == pytest.approx((found / size, (found / size) ** 2), rel=1e-11)


def test_mean_ap_of_a_long_list_agrees_with_all_pairs():
    """E[z_j z_k / T] = p_j p_k E[1/(2 + T')], T' the number relevant among the other items."""
    rng = np.random.default_rng(6)
    for p in (rng.random(90) ** 0.2, rng.random(90) / 30):  # many relevant, and hardly any
        pairs = [(j, k) for k in range(60) for j in range(k + 1)]  # 60 retrieved, j = k for the item itself
        others = np.tile(p, (len(pairs), 1))
        for row, (j, k) in enumerate(pairs):
            others[row, [j, k]] = NAN
        both = np.array([p[j] * p[k] if j < k else p[k] for j, k in pairs])
        least = np.array([2 if j < k else 1 for j, k in pairs])
        inverse = (pmf(others) / (least[:, None] + np.arange(91))).sum(1)
        expected = (both * inverse / np.array([k + 1 for _, k in pairs])).sum()
        made = expectation("AP", np.arange(1, 61)[None], p[None, :60], np.array([60]), p)
        assert made.mean[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("sure", [0, 3, 80])
def test_spread_of_ap_agrees_with_the_listed_outcomes(sure):
    """Up to 80 items that are surely relevant, so that the integrand falls steeply."""
    rng = np.random.default_rng(sure)
    p = np.concatenate([rng.random(11), np.ones(sure)])[rng.permutation(11 + sure)]
    rest = np.concatenate([rng.random(3), np.ones(sure // 2), np.zeros(2)])
    rank = np.cumsum(rng.integers(1, 4, len(p)))
    listed = average_precision(p, rest, rank)
    made = expectation("AP", rank[None], p[None], rank[-1:], np.concatenate([p, rest]))
    assert made.mean[0] == pytest.approx(listed.mean_and, rel=1e-11)
    assert made.square[0] == pytest.approx(listed.values**2 @ listed.mass, rel=1e-11)
    assert made.undefined[0] == pytest.approx(listed.undefined, abs=1e-15)


def test_lists_of_very_different_length_do_not_disturb_each_other():
    rng = np.random.default_rng(8)
    pool = rng.random(40)
    p, rank = np.tile(pool[:30], (4, 1)), np.tile(np.arange(1, 31), (4, 1))
    lengths = np.array([30, 300, 5_000, 400_000])
    together = expectation("SetF", rank, p, lengths, pool, beta=1.3)
    hit, miss = np.indices((31, 11))
    chance = np.outer(pmf(pool[:30]), pmf(pool[30:]))
    for row, length in enumerate(lengths):
        value = 2.69 * hit / (1.69 * (hit + miss) + length)
        assert together.mean[row] == pytest.approx((chance * value).sum(), rel=1e-11)
        assert together.square[row] == pytest.approx((chance * value**2).sum(), rel=1e-11)


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(9)
    pool = rng.random(300)
    rank, p = np.tile(np.arange(1, 101), (70, 1)), rng.permuted(np.tile(pool, (70, 1)), axis=1)[:, :100]
    arrays = rank, p, np.full(70, 100), pool
    whole = [expectation(name, *arrays) for name in ("SetR", "AP")]
    monkeypatch.setattr(closed_forms, "CACHED", 1)
    for name, made in zip(("SetR", "AP"), whole, strict=True):
        one = expectation(name, *(part[17:18] for part in arrays[:3]), pool)
        assert made.mean[17] == pytest.approx(one.mean[0], rel=1e-13)
        assert made.square[17] == pytest.approx(one.square[0], rel=1e-13)


def test_no_lists_and_padding_in_the_pool():
    none = expectation("AP", np.empty((0, 3), dtype=np.int64), np.empty((0, 3)), np.empty(0, dtype=np.int64), SEVEN)
    assert none.mean.shape == none.square.shape == none.undefined.shape == (0,)
    pool = np.array([0.5, NAN, 0.25, NAN])
    made = expectation("SetR", np.array([[1, BEYOND]]), np.array([[0.5, NAN]]), np.array([1]), pool)
    assert made.mean[0] == pytest.approx(0.5 * (0.75 + 0.25 / 2))
    assert made.undefined[0] == 0.375


def test_measures_without_a_closed_form_say_so():
    arrays = np.array([[1]]), np.array([[0.5]]), np.array([1]), np.array([0.5])
    assert expectation("nDCG", *arrays) is None
    assert expectation("P", *arrays, k=1, relative=True) is None
    assert expectation("AP", *arrays, k=1, norm="min") is None


def test_expectations_refuse_what_does_not_fit():
    rank, p, length, pool = np.array([[1]]), np.array([[0.5]]), np.array([1]), np.array([0.5])
    with pytest.raises(TextError, match="P needs k"):
        expectation("P", rank, p, length, pool)
    with pytest.raises(TextError, match="SetR has no setting 'k'"):
        expectation("SetR", rank, p, length, pool, k=3)
    with pytest.raises(TextError, match="counts from 1"):
        expectation("R", rank, p, length, pool, k=0)
    with pytest.raises(TextError, match="beta must be a number"):
        expectation("SetF", rank, p, length, pool, beta=math.inf)
    with pytest.raises(TableError, match="pool holds 2"):
        expectation("SetR", rank, p, length, np.array([2.0]))
    with pytest.raises(TableError, match=r"got rank \(1, 1\), p \(1, 2\)"):
        expectation("SetR", rank, np.array([[0.5, 0.5]]), length, pool)


# ---- whole distributions


def test_precision_of_the_worked_example():
    """METHODS A.3."""
    made = precision(SEVEN[:4])
    np.testing.assert_array_equal(made.values, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(made.mass, [0.0064, 0.0944, 0.3784, 0.4344, 0.0864], atol=1e-15)
    np.testing.assert_allclose(made.cdf(made.values), [0.0064, 0.1008, 0.4792, 0.9136, 1], atol=1e-15)
    assert (made.mean, made.sd**2, made.sd) == pytest.approx((0.625, 0.040625, 0.201556), abs=5e-7)
    printed = precision(SEVEN[:4], mode="as_printed")
    assert printed.total == pytest.approx(0.25)
    assert printed.mean == pytest.approx(0.625)


def test_precision_of_short_and_empty_lists():
    assert precision(np.array([0.5, 1.0]), n=10).mean == pytest.approx(0.15)
    assert precision(np.empty(0), n=10).values.tolist() == [0.0]
    assert precision(np.empty(0)).undefined == 1


def test_recall_of_the_worked_example():
    """METHODS A.4."""
    made = distributions.recall(SEVEN[:4], np.array([0.5, 0.1, 0.3, 0]))
    expected = {
        "0": 0.004384, "1/4": 0.001416, "1/3": 0.017464, "2/5": 0.005676, "1/2": 0.122304, "4/7": 0.001296,
        "3/5": 0.080364, "2/3": 0.199508, "3/4": 0.210684, "4/5": 0.041904, "1": 0.312984,
    }  # fmt: skip
    assert made.values.tolist() == [float(Fraction(value)) for value in expected]
    np.testing.assert_allclose(made.mass, list(expected.values()), atol=5e-7)
    assert made.undefined == pytest.approx(0.002016, abs=5e-7)
    assert (made.mean_and, made.mean, made.sd**2) == pytest.approx((0.756082, 0.757610, 0.037110), abs=5e-7)
    fixed = distributions.recall(SEVEN[:4], np.array([0.5, 0.1, 0.3, 0]), size="expected")
    np.testing.assert_allclose(fixed.values, [0, 0.294118, 0.588235, 0.882353, 1.176471], atol=5e-7)
    assert fixed.mean == pytest.approx(0.735294, abs=5e-7)
    assert fixed.mass[fixed.values > 1].sum() == pytest.approx(0.0864)


def test_consensus_of_systems():
    """METHODS B.3: P of the seven items of LS; S1 has four of them, S2 and S3 three."""
    s1, s2 = np.array([0.8, 0.8, 0.4, 0.4]), np.array([0.8, 0.8, 0.4])
    assert (precision(s1).mean, precision(s1).sd ** 2) == pytest.approx((0.6, 0.05))
    rest1, rest2 = np.array([0.4, 0.4, 0.2]), np.array([0.4, 0.4, 0.4, 0.2])
    assert distributions.recall(s1, rest1).mean == pytest.approx(0.727021, abs=5e-7)
    assert distributions.recall(s2, rest2).mean == pytest.approx(0.616719, abs=5e-7)
    assert distributions.recall(s1, rest1, size="expected").mean == pytest.approx(0.705882, abs=5e-7)
    assert distributions.recall(s2, rest2, size="expected").mean == pytest.approx(0.588235, abs=5e-7)


ABOVE = {  # METHODS A.1: the tree, as each node with its ancestors
    "all": {"all"},
    "people": {"all", "people"},
    "crowd": {"all", "people", "crowd"},
    "portrait": {"all", "people", "portrait"},
    "outdoor": {"all", "outdoor"},
    "city": {"all", "outdoor", "city"},
    "landscape": {"all", "outdoor", "landscape"},
}
LABELS = {  # METHODS A.5
    "q": ["people", "people", "crowd", "city", "city"],
    "r1": ["people", "portrait", "crowd", "city", "people"],
    "r2": ["city", "city", "crowd", "city", "landscape"],
    "r3": ["portrait", "people", "people", "people", "city"],
    "r4": ["landscape", "landscape", "landscape", "city", "landscape"],
}


def rolled_up(category, image):
    return sum(category in ABOVE[label] for label in LABELS[image]) / 5


def test_readings_of_a_query():
    """METHODS A.5, from the votes."""
    by_category = {w: np.array([rolled_up(w, r) for r in ("r1", "r2", "r3")]) for w in ABOVE}
    direct = np.array([LABELS["q"].count(w) / 5 for w in ABOVE])
    rolled = np.array([rolled_up(w, "q") for w in ABOVE])
    assert rolled.sum() == pytest.approx(2.6)
    precisions = [precision(p) for p in by_category.values()]

    assigned = mixture(precisions, direct)
    np.testing.assert_allclose(assigned.mass, [0.2432, 0.3744, 0.3216, 0.0608], atol=5e-7)
    assert (assigned.total, assigned.mean, assigned.sd**2) == pytest.approx((1, 0.4, 0.085333), abs=5e-7)

    printed = mixture([precision(p, mode="as_printed") for p in by_category.values()], rolled, as_printed=True)
    np.testing.assert_allclose(printed.mass, [0.100267, 0.2192, 0.1808, 0.3664], atol=5e-7)
    assert (printed.total, printed.mean) == pytest.approx((0.866667, 0.646154), abs=5e-7)

    normalised = mixture(precisions, rolled / rolled.sum())
    np.testing.assert_allclose(normalised.mass, [0.115692, 0.252923, 0.208615, 0.422769], atol=5e-7)
    assert (normalised.mean, normalised.sd**2) == pytest.approx((0.646154, 0.126075), abs=5e-7)

    no_root = mixture(precisions[1:], rolled[1:] / rolled[1:].sum())
    np.testing.assert_allclose(no_root.mass, [0.188, 0.411, 0.339, 0.062], atol=5e-7)
    assert (no_root.mean, no_root.sd**2) == pytest.approx((0.425, 0.077708), abs=5e-7)

    other = mixture([precision(np.array([rolled_up(w, r) for r in ("r1", "r2", "r4")])) for w in ABOVE], direct)
    np.testing.assert_allclose(other.mass, [0.2944, 0.5408, 0.1552, 0.0096], atol=5e-7)
    assert other.mean == pytest.approx(0.293333, abs=5e-7)


@pytest.mark.parametrize(
    ("images", "mass", "mean", "variance"),
    [
        (("r1", "r2", "r3"), {1 / 3: 0.2, 2 / 3: 0.8}, 0.6, 0.017778),
        (("r1", "r2", "r4"), {0: 0.2, 1 / 3: 0.4, 2 / 3: 0.2, 1: 0.2}, 0.466667, 0.115556),
    ],
)
def test_readings_by_subject(images, mass, mean, variance):
    """METHODS A.5c: each subject judges by her own reading. The last variance is ours."""
    share = [sum(LABELS["q"][s] in ABOVE[LABELS[r][s]] for r in images) / 3 for s in range(5)]
    made = gathered(np.array(share), np.full(5, 0.2))
    assert dict(zip(made.values.tolist(), made.mass.tolist(), strict=True)) == pytest.approx(mass)
    assert (made.mean, made.sd**2) == pytest.approx((mean, variance), abs=5e-7)


def listed(value, pool):
    """Masses by value, from every outcome; values within rounding are one."""
    masses, undefined = {}, 0.0
    for z, chance in outcomes(pool):
        one = value(z)
        if math.isnan(one):
            undefined += chance
        else:
            masses[round(one, 11)] = masses.get(round(one, 11), 0.0) + chance
    return masses, undefined


def agrees(made, value, pool):
    masses, undefined = listed(value, pool)
    ours = {round(one, 11): mass for one, mass in zip(made.values.tolist(), made.mass.tolist(), strict=True)}
    for one in masses.keys() | ours.keys():
        assert ours.get(one, 0.0) == pytest.approx(masses.get(one, 0.0), abs=1e-13), one
    assert made.undefined == pytest.approx(undefined, abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.lists(chances, max_size=5), st.lists(chances, max_size=4), st.sampled_from([0.0, 0.5, 1.0, 2.0, 0.3, 1.7]))
def test_distributions_agree_with_enumeration(p, rest, beta):
    found, pool = [(i + 1, i) for i in range(len(p))], [*p, *rest]
    p, rest = np.array(p), np.array(rest)
    n, k = len(p), 3
    agrees(precision(p), lambda z: plain_precision(z, found, n), pool)
    agrees(precision(p[:k], n=k), lambda z: plain_precision(z, found, n, k), pool)
    agrees(distributions.recall(p, rest), lambda z: plain_recall(z, found, n), pool)
    agrees(distributions.f(p, rest, beta), lambda z: plain_f(z, found, n, beta=beta), pool)
    agrees(distributions.f(p, rest, beta, n=n + 2), lambda z: plain_f(z, found, n + 2, beta=beta), pool)
    agrees(success(p), lambda z: plain_success(z, found, n), pool)
    agrees(average_precision(p, rest), lambda z: plain_ap(z, found, n), pool)


@settings(deadline=None)
@given(st.lists(st.tuples(chances, st.integers(1, 4)), max_size=6), st.one_of(st.none(), st.integers(1, 8)))
def test_reciprocal_ranks_agree_with_enumeration(items, k):
    pool = [p for p, _ in items]
    rank = np.cumsum([gap for _, gap in items], dtype=np.int64)
    found = list(zip(rank.tolist(), range(len(pool)), strict=True))
    agrees(reciprocal_rank(np.array(pool), rank, k), lambda z: plain_rr(z, found, 0, k), pool)
    first = [(i + 1, i) for i in range(len(pool))]
    agrees(reciprocal_rank(np.array(pool), k=k), lambda z: plain_rr(z, first, 0, k), pool)


@settings(deadline=None)
@given(st.lists(st.lists(chances, max_size=4), min_size=1, max_size=3))
def test_mean_over_queries_agrees_with_enumeration(queries):
    kept = [p[:2] for p in queries]
    pool = [one for p in kept for one in p]
    made = sum_over_queries([np.array(p) for p in queries], k=2)
    agrees(made, lambda z: sum(z) / 2 / len(queries), pool)


def test_mean_over_no_queries_is_undefined():
    assert sum_over_queries([], k=5).undefined == 1


def test_average_precision_counts_items_in_doubt_only():
    p = np.concatenate([np.full(20, 0.5), np.ones(30), np.zeros(30)])
    made = average_precision(p, np.ones(5))
    assert made.total == pytest.approx(1)
    assert made.mean == pytest.approx(
        expectation("AP", np.arange(1, 81)[None], p[None], np.array([80]), np.append(p, np.ones(5))).mean[0]
    )
    with pytest.raises(TextError, match=r"21 items are in doubt \(at most 20\); draw worlds"):
        average_precision(p, np.array([0.5]))


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(-5, 5), st.floats(0, 1), min_size=1, max_size=7).filter(
        lambda m: sum(m.values()) > 0.1
    ),
    st.floats(0.05, 0.99),
)
def test_interval_is_the_smallest_with_its_tails(masses, level):
    values = sorted(masses)
    made = Distribution(np.array(values, float), np.array([masses[v] for v in values]), 0.3)
    total, share = sum(masses.values()), (1 - level) / 2
    lo, hi = made.interval(level)

    def below(x):
        return sum(m for v, m in masses.items() if v < x) / total

    def above(x):
        return sum(m for v, m in masses.items() if v > x) / total

    assert below(lo) <= share + 1e-9
    assert above(hi) <= share + 1e-9
    assert all(below(v) > share - 1e-9 for v in values if v > lo)
    assert all(above(v) > share - 1e-9 for v in values if v < hi)
    assert lo <= hi


def test_interval_on_a_lattice_holds_at_least_its_level():
    made = precision(np.full(4, 0.5))
    assert made.interval(0.95) == (0, 1)  # 1/16 lies at either end: more than 0.025
    assert made.interval(0.875) == (0.25, 0.75)  # exactly 1/16 beyond either end
    assert made.cdf(np.array([-1, 0.3, 2])).tolist() == [0, 0.3125, 1]


def test_nothing_defined_is_nan():
    assert all(math.isnan(x) for x in (NOTHING.mean, NOTHING.mean_and, NOTHING.sd, *NOTHING.interval()))
    assert np.isnan(NOTHING.cdf(np.array([0.5]))).all()
    never = distributions.recall(np.zeros(3), np.zeros(2))
    assert never.undefined == 1
    assert math.isnan(never.mean)
    assert distributions.recall(np.zeros(3), np.zeros(2), size="expected").undefined == 1


def test_mixture_lives_on_the_union_of_the_supports():
    made = mixture([precision(np.array([0.5])), precision(np.full(3, 0.5)), NOTHING], np.array([0.4, 0.4, 0.2]))
    assert made.values.tolist() == [0, 1 / 3, 2 / 3, 1]
    np.testing.assert_allclose(made.mass, [0.25, 0.15, 0.15, 0.25])
    assert made.undefined == pytest.approx(0.2)


def test_bad_input_is_named():
    half = np.array([0.5, 0.5])
    with pytest.raises(TableError, match=r"p holds 1\.2 at place 1"):
        precision(np.array([0.5, 1.2]))
    with pytest.raises(TableError, match="p_rest is NaN at place 0"):
        distributions.recall(half, np.array([NAN]))
    with pytest.raises(TableError, match="2 axes"):
        success(half[None])
    with pytest.raises(TableError, match="n = 1 cannot hold 2 items"):
        precision(half, n=1)
    with pytest.raises(TextError, match="did you mean as_printed"):
        precision(half, mode="as_print")
    with pytest.raises(TextError, match="size is random or expected"):
        distributions.recall(half, half, size="subject")
    with pytest.raises(TableError, match="ascending"):
        reciprocal_rank(half, np.array([2, 2]))
    with pytest.raises(TableError, match="too many outcomes"):
        distributions.recall(np.full(2_000, 0.5), np.full(2_000, 0.5))
    with pytest.raises(TextError, match="level must lie"):
        precision(half).interval(95)
    with pytest.raises(TextError, match="counts from 1"):
        sum_over_queries([half], k=0)
    with pytest.raises(TableError, match=r"sum to 2\.6, expected 1"):
        mixture([precision(half)], np.array([2.6]))
    with pytest.raises(TableError, match="1 readings, 2 weights"):
        mixture([precision(half)], half)
    with pytest.raises(TableError, match="negative or NaN"):
        mixture([precision(half)] * 2, np.array([1.5, -0.5]))
    with pytest.raises(TableError, match="ascend"):
        Distribution(np.array([1.0, 0.0]), half)
    with pytest.raises(TableError, match="one mass for each value"):
        Distribution(np.array([1.0]), half)
    with pytest.raises(TableError, match="negative or NaN"):
        Distribution(np.array([0.0, 1.0]), np.array([0.5, NAN]))
