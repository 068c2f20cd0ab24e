"""Moments by closed form: worked examples, every outcome listed, and long lists by another way."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_outcomes import (
    NAN,
    SEVEN,
    chances,
    hits,
    listed_ap,
    outcomes,
    plain_ap,
    plain_f,
    plain_precision,
    plain_recall,
    plain_rr,
    plain_success,
)

from endoxa.errors import TableError, TextError
from endoxa.measures import closed_forms, ranked, sets
from endoxa.measures.lists import BEYOND, Lists
from endoxa.measures.uncertain import expectation
from endoxa.statistics.poisson_binomial import pmf

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
    """docs/methods/distributions.md, Closed forms; R = the first 4."""
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
    listed = listed_ap(p, rest, rank)
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
