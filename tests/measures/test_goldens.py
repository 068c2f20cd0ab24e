"""Worked numbers of trec_eval's measures, Gimel'farb's and those robust to holes, computed by hand to six decimals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain_lists import Plain, batch

from endoxa.errors import TableError, TextError
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import parse
from endoxa.measures.judgments import Judgments
from endoxa.policies import Policy
from endoxa.tables import Opinions, Run

SIX = 5e-7


def value(text: str, one: Plain, **more: Any) -> float:
    return float(parse(text)(batch([one]), **more)[0])


def bounds(text: str, one: Plain, top: float = 1.0) -> tuple[float, float]:
    wanted = parse(text)
    assert wanted.definition.bounds is not None
    low, high = wanted.definition.bounds(batch([one], top=top), **wanted.keywords())
    return float(low[0]), float(high[0])


# ---- 0.2: an empty list, and nothing relevant


@pytest.mark.parametrize(
    ("text", "relevant", "nothing"),
    [
        ("SetP", np.nan, np.nan), ("SetR", 0, np.nan), ("SetF", 0, np.nan), ("P@5", 0, 0), ("R@5", 0, np.nan),
        ("F@5", 0, np.nan), ("AP", 0, np.nan), ("nDCG", 0, np.nan), ("GradedP@5", np.nan, np.nan),
        ("GradedR@5", 0, np.nan), ("Judged@5", np.nan, np.nan), ("RR", 0, 0), ("Bpref", 0, np.nan),
    ],
)  # fmt: skip
def test_empty_list(text: str, relevant: float, nothing: float) -> None:
    assert value(text, Plain((), (1, 0))) == pytest.approx(relevant, nan_ok=True)
    assert value(text, Plain((), (0,))) == pytest.approx(nothing, nan_ok=True)


# ---- graded counts

W = (0.9, 0.8, 0.7, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2)
TABLE = {
    "A": (0.9, 1.7, 2.4, 2.8, 3.2, 3.6, 3.8, 4.0, 4.2, 4.4),
    "C": (3.5, 2.7, 2.0, 1.6, 1.2, 0.8, 0.6, 0.4, 0.2, 0),
    "GradedR": (0.204545, 0.386364, 0.545455, 0.636364, 0.727273, 0.818182, 0.863636, 0.909091, 0.954545, 1),
    "GradedP": (0.9, 0.85, 0.8, 0.7, 0.64, 0.6, 0.542857, 0.5, 0.466667, 0.44),
    "B": (0.1, 0.3, 0.6, 1.2, 1.8, 2.4, 3.2, 4.0, 4.8, 5.6),
    "D(N=10)": (5.5, 5.3, 5.0, 4.4, 3.8, 3.2, 2.4, 1.6, 0.8, 0),
    "Fallout(N=10)": (0.017857, 0.053571, 0.107143, 0.214286, 0.321429, 0.428571, 0.571429, 0.714286, 0.857143, 1),
}
LOWER = (0.090909, 0.175258, 0.255319, 0.318182, 0.390244, 0.473684, 0.558824, 0.666667, 0.807692, 1)
PRINTED = (0.111111, 0.269841, 0.521739, 0.875, 1.777778, 9, -4.75, -2, -1.3125, -1)


@pytest.mark.parametrize("name", TABLE)
def test_graded_counts(name: str) -> None:
    found = [value(f"{name}@{n}", Plain(W)) for n in range(1, 11)]
    assert found == pytest.approx(TABLE[name], abs=SIX)


def test_graded_counts_hold_when_the_list_is_cut() -> None:
    for n in range(1, 11):
        cut = Plain(W[:n], W[n:])
        assert value("GradedR@10", cut) == pytest.approx(TABLE["GradedR"][n - 1], abs=SIX)
        assert value("Fallout(N=10)@10", cut) == pytest.approx(TABLE["Fallout(N=10)"][n - 1], abs=SIX)


def test_generality_links_precision_recall_and_fallout() -> None:
    g = value("Generality(N=10)", Plain(W))
    assert g == pytest.approx(0.44)
    for n in range(1, 11):
        r, f = value(f"GradedR@{n}", Plain(W)), value(f"Fallout(N=10)@{n}", Plain(W))
        assert value(f"GradedP@{n}", Plain(W)) == pytest.approx(r * g / (r * g + f * (1 - g)))


def test_graded_bounds_when_only_the_first_n_are_judged() -> None:
    for n in range(1, 11):
        judged = Plain(W[:n])
        low, high = bounds(f"GradedR(N=10)@{n}", judged)
        assert low == pytest.approx(LOWER[n - 1], abs=SIX)
        assert high == 1
        true_recall = TABLE["GradedR"][n - 1]
        assert low - SIX <= true_recall <= high + SIX
        b = TABLE["B"][n - 1]
        low, high = bounds(f"Fallout(N=10)@{n}", judged)
        assert (low, high) == pytest.approx((b / (b + 10 - n), 1))
        assert low - SIX <= TABLE["Fallout(N=10)"][n - 1] <= high + SIX


def test_errata_of_the_graded_table() -> None:
    assert value("D(N=10)@6", Plain(W)) == pytest.approx(3.2)  # C-E1: printed 4.20
    assert value("GradedR@7", Plain(W)) == pytest.approx(0.863636, abs=SIX)  # C-E2: printed .83
    assert value("GradedR@9", Plain(W)) == pytest.approx(0.954545, abs=SIX)  # C-E3: printed .96
    wrong = [a / (10 - n - a) for n, a in enumerate(TABLE["A"], 1)]  # C-E4
    assert wrong == pytest.approx(PRINTED, abs=SIX)
    assert [n for n in range(1, 11) if wrong[n - 1] > TABLE["GradedR"][n - 1]] == [4, 5, 6]
    assert [n for n in range(1, 11) if wrong[n - 1] > 1] == [5, 6]
    assert [n for n in range(1, 11) if wrong[n - 1] < 0] == [7, 8, 9, 10]


def test_edges_of_the_graded_counts() -> None:
    assert np.isnan(value("GradedR@2", Plain((0, 0))))
    assert np.isnan(value("Fallout(N=2)@2", Plain((1, 1))))
    assert np.isnan(value("GradedP@2", Plain((), (1,))))
    with pytest.raises(TableError, match=r"relevances in \[0, 1\], and a grade is 2; rescale"):
        value("GradedP@2", Plain((2, 0)))
    with pytest.raises(TextError, match="N=1 is smaller than a list or its judgments"):
        value("Fallout(N=1)@2", Plain((1, 0)))
    with pytest.raises(TextError, match=r"bounds of graded recall need the size of the collection"):
        bounds("GradedR@2", Plain((1, 0)))


# ---- sets and ranks

E1 = Plain((1, 0, 1, 0, 0, 1, 0, 0, 0, 1), (1,))


@pytest.mark.parametrize(
    ("text", "number"),
    [("AP", 0.513333), ("P@5", 0.4), ("P@10", 0.4), ("P@20", 0.2), ("SetF", 0.533333), ("SetR", 0.8), ("Rprec", 0.4)],
)
def test_set_and_rank_measures(text: str, number: float) -> None:
    assert value(text, E1) == pytest.approx(number, abs=SIX)


def test_average_precision_is_not_the_area_under_the_raw_curve() -> None:
    points = [(0.0, 1.0)] + [(value(f"R@{n}", E1), value(f"P@{n}", E1)) for n in range(1, 11)]
    area = sum((r1 - r0) * (p0 + p1) / 2 for (r0, p0), (r1, p1) in pairwise(points))
    assert area == pytest.approx(0.48)
    assert abs(area - value("AP", E1)) > 0.02


# ---- the interpolated curve

E2 = Plain((1, 0, 1, 1, 0, 0, 1, 0, 1, 0), (1, 1))
CEILING = (1, 1, 0.75, 0.75, 0.75, 0.571429, 0.555556, 0.555556, 0, 0, 0)
NEAREST = (1, 1, 1, 0.75, 0.75, 0.571429, 0.571429, 0.555556, 0, 0, 0)


@pytest.mark.parametrize(
    ("compat", "curve", "mean"),
    [("none", CEILING, 0.539322), ("trec_eval-9", CEILING, 0.539322), ("trec_eval-10", NEAREST, 0.563492)],
)
def test_eleven_points(compat: str, curve: tuple[float, ...], mean: float) -> None:
    found = [value(f"IPrec@{i / 10}", E2, compat=compat) for i in range(11)]
    assert found == pytest.approx(curve, abs=SIX)
    assert value("AvgIPrec", E2, compat=compat) == pytest.approx(mean, abs=SIX)
    assert value("AP", E2) == pytest.approx(0.506236, abs=SIX)


@pytest.mark.parametrize("relevant", range(1, 60))
def test_the_ceiling_is_exact(relevant: int) -> None:
    """(i·R + 9)//10 items are needed at level i/10, whatever the binary fractions do."""
    for i in range(11):
        needed = max((i * relevant + 9) // 10, 1)
        reached = Plain((1,) * needed, (1,) * (relevant - needed))
        assert value(f"IPrec@{i / 10}", reached) == 1
        short = Plain((1,) * (needed - 1), (1,) * (relevant - needed + 1))
        assert value(f"IPrec@{i / 10}", short) == (1 if i == 0 and needed > 1 else 0)


@pytest.mark.parametrize(("level", "relevant", "needed"), [(0.07, 100, 7), (0.28, 25, 7), (0.56, 25, 14)])
def test_the_ceiling_is_exact_where_binary_fractions_exceed_it(level: float, relevant: int, needed: int) -> None:
    assert level * relevant > needed
    assert value(f"IPrec@{level}", Plain((1,) * needed, (1,) * (relevant - needed))) == 1
    assert value("Rprec(mult=1.1)", Plain((1,) * 10 + (0,))) == pytest.approx(10 / 11)  # 1.1 · 10 = 11.000000000000002


# ---- what the pool does to precision and recall


def test_a_pool_flatters_its_contributors_and_wrongs_outsiders() -> None:
    truth = Plain((1,) * 6 + (0,) * 4, (1,) * 4)
    assert (value("SetP", truth), value("SetR", truth)) == pytest.approx((0.6, 0.6))
    contributor = Plain((1,) * 5 + (None,) + (0,) * 4, (1,) * 2)
    assert (value("SetP", contributor), value("SetR", contributor)) == pytest.approx((0.5, 0.714286), abs=SIX)
    outsider = Plain((1,) * 3 + (None,) * 3 + (0,) * 4, (1,) * 4)
    assert (value("SetP", outsider), value("SetR", outsider)) == pytest.approx((0.3, 0.428571), abs=SIX)


def test_bounds_of_the_unjudged() -> None:
    one = Plain((1, None, 0, -1, 1))
    assert bounds("P@5", one) == pytest.approx((0.4, 0.8))
    assert bounds("P@10", one) == pytest.approx((0.2, 0.4))
    assert bounds("RR", Plain((0, None, 1))) == pytest.approx((1 / 3, 1 / 2))
    assert bounds("Success@2", Plain((0, None, 1))) == (0, 1)
    # RBP: three judged items at p = .9 leave a tail of .729 (trec_eval 10 says 0)
    assert value("RBPResidual(p=0.9)", Plain((1, 0, 1))) == pytest.approx(0.729)
    assert value("RBPResidual(p=0.9,compat='trec_eval-10')", Plain((1, 0, 1))) == 0
    low, high = bounds("RBP(p=0.5)", one)
    assert (low, high) == pytest.approx((0.5 + 0.03125, 1 - 0.125))


# ---- holes


def test_bpref() -> None:
    assert value("Bpref", Plain((1, 0, 1, None, 0, 1, 0), (1,))) == pytest.approx(0.5)


def test_inferred_average_precision() -> None:
    assert value("infAP", Plain((1, -1, 0, None, 1, -1, 1, 0, 1, -1))) == pytest.approx(0.674206, abs=SIX)
    assert value("infAP", E1) == pytest.approx(0.5133335, abs=5e-8)
    assert abs(value("infAP", E1) - value("AP", E1)) < 1e-6


def test_stratified_inferred_average_precision() -> None:
    """Strata of 4 items (all judged, 3 relevant) and 20 (8 judged, 3 relevant): five-column judgments."""
    listed = ["r1", "n1", "r2", "u2", "o", "r1", "u2", "r2", "n2", "u2"]
    items = [f"{name}-{place}" for place, name in enumerate(listed)]
    missed = ["r1-x", "r2-x", *(f"n2-{i}" for i in range(4)), *(f"u2-{i}x" for i in range(9))]
    rows = []
    for item in [*items, *missed]:
        kind, stratum = item[0], item[1]
        if kind != "o":
            grade = {"r": 1, "n": 0, "u": -1}[kind]
            rows.append(("q", item, grade, stratum, 1.0 if stratum == "1" else 0.4))
    names = ["query", "item", "grade", "selected_by", "propensity"]
    opinions = Opinions.of(pl.DataFrame(rows, schema=names, orient="row"))
    run = Run.of(pl.DataFrame({"query": "q", "item": items, "score": range(10, 0, -1)}))
    scores = measure(run, opinions, ["xinfAP", "infAP"], Policy())
    assert scores.frame["value"][0] == pytest.approx(0.496029, abs=SIX)
    judgments = Judgments.of(opinions)
    assert judgments.sizes == pytest.approx(np.array([[4, 20]]))
    relevant, drawn = np.array([3, 3]), np.array([4, 8])
    assert (relevant * judgments.sizes[0] / drawn).sum() == pytest.approx(10.5)


def test_stratified_inferred_average_precision_needs_strata() -> None:
    with pytest.raises(TableError, match="xinfAP needs to know how each item was drawn"):
        value("xinfAP", E1)
