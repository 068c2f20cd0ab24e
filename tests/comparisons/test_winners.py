"""Contenders told apart by paired comparisons: equal ones have no winner, and what is said is what is decided."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from score_samples import scores

from endoxa.comparisons.paired import compare
from endoxa.comparisons.winners import Apart, apart, ordered, pairwise, resamples_for
from endoxa.tables import Floats
from endoxa.wording.comparing import told_apart

STUDIES = 200


def drawn(kind: str, contenders: int, units: int, rng: np.random.Generator) -> Floats:
    """Values of equal contenders, between 0 and 1: units differ, contenders do not."""
    level = rng.beta(2, 2, units)
    if kind == "hits":
        return (rng.random((contenders, units)) < level).astype(float)
    if kind == "skewed":
        failed = rng.random((contenders, units)) < 0.4
        return np.clip(0.9 - failed * rng.exponential(0.1, (contenders, units)), 0, 1)
    return np.clip(level + rng.normal(0, 0.1, (contenders, units)), 0, 1)


@pytest.mark.parametrize(
    ("kind", "contenders", "units"), [("near", 3, 12), ("skewed", 3, 12), ("hits", 3, 12), ("hits", 2, 40)]
)
def test_of_equal_contenders_a_winner_is_named_in_at_most_5_percent(kind: str, contenders: int, units: int) -> None:
    """The sentence, too: "reads best" stands only where there is a winner. 5 % and two standard errors."""
    rng = np.random.default_rng(11)
    names = [f"s{number}" for number in range(contenders)]
    winners = claims = 0
    for _ in range(STUDIES):
        found = apart(names, drawn(kind, contenders, units, rng), span=1.0, rng=rng)
        winners += found.winner is not None
        claims += bool(found.decided)
        said = told_apart("reads best", **found.facts)
        assert ("reads best" in said) == (found.winner is not None)
        assert ("cannot be told apart" in said) == (found.winner is None)
    assert winners <= claims <= STUDIES * 0.05 + 2 * math.sqrt(STUDIES * 0.05 * 0.95)


def test_a_contender_that_is_better_wins() -> None:
    """A test that never names anybody would pass the one above."""
    rng = np.random.default_rng(3)
    values = drawn("near", 3, 40, rng) * 0.8
    values[1] += 0.2
    found = apart(["a", "b", "c"], values, span=1.0, rng=rng)
    assert found.winner == found.leader == "b" and not found.level and set(found.behind) == {"a", "c"}
    assert set(found.decided) == {("b", "a"), ("b", "c")} and found.tells("a", "b") == -1
    low = apart(["a", "b", "c"], -values, span=1.0, lower=True, rng=rng)
    assert low.winner == "b" and low.order == found.order and low.difference("b", "a")[0] < 0


def test_differences_are_those_of_the_paired_comparison() -> None:
    rng = np.random.default_rng(4)
    values = drawn("near", 3, 30, rng)
    found = apart(["a", "b", "c"], values, rng=np.random.default_rng(9))
    given = scores(AP={name: row.tolist() for name, row in zip("abc", values, strict=True)})
    rows = compare(
        given, confidence=pairwise(3), resamples=resamples_for(30, pairwise(3)), rng=np.random.default_rng(9)
    ).frame  # fmt: skip
    for row in rows.iter_rows(named=True):
        d, lo, hi = found.difference(row["system"], row["baseline"])
        assert d == pytest.approx(row["difference"])
        assert hi - lo == pytest.approx(row["hi"] - row["lo"], rel=0.15)  # other resamples


def test_the_confidence_of_a_pair() -> None:
    assert pairwise(2) == pytest.approx(0.95) and pairwise(1) == pytest.approx(0.95)
    assert pairwise(3) == pytest.approx(1 - 0.05 / 3) and pairwise(6, 0.9) == pytest.approx(1 - 0.1 / 15)
    assert resamples_for(12, 0.95) == 10_000 and resamples_for(12, pairwise(40)) >= 20 * 780 / 0.05 - 1


def test_units_that_one_lacks_do_not_count_and_few_units_tell_nothing() -> None:
    values = np.array([[1.0, 1.0, 1.0, 1.0, np.nan], [0.0, 0.1, 0.0, 0.2, 0.9], [np.nan] * 5])
    found = apart(["a", "b", "none"], values, rng=np.random.default_rng(0))
    assert found.order == ("a", "b", "none")
    assert found.difference("a", "b")[0] == pytest.approx(0.925)
    assert found.tells("a", "none") == 0 and found.winner is None
    few = apart(["a", "b"], values[:2], least=5, rng=np.random.default_rng(0))
    d, lo, hi = few.difference("a", "b")
    assert d == pytest.approx(0.925) and math.isnan(lo) and math.isnan(hi) and few.level == ("b",)
    alone = apart(["a"], values[:1], rng=np.random.default_rng(0))
    assert alone.winner is None and alone.order == ("a",) and told_apart("wins", **alone.facts) == "a is the only one"


def test_equal_values_on_few_units_name_no_winner() -> None:
    """All differences equal: a bootstrap has no spread, and two units prove nothing."""
    values = np.array([[0.6, 0.8], [0.5, 0.7]])
    assert apart(["a", "b"], values, span=1.0, rng=np.random.default_rng(0)).winner is None


def test_the_order_of_contenders() -> None:
    assert ordered({"a": 1.0, "b": math.nan, "c": 2.0, "d": 2.0}) == ("c", "d", "a", "b")
    assert ordered({"a": 1.0, "b": math.nan, "c": 2.0}, lower=True) == ("a", "c", "b")


def of(decided: set[tuple[str, str]], names: str = "abcd") -> Apart:
    """Contenders in this order, the first of each decided pair better."""
    return Apart(tuple(names), {
        pair: (0.1, 0.05 if pair in decided else -0.05, 0.2) for pair in combinations(names, 2)
    })  # fmt: skip


@pytest.mark.parametrize(
    ("decided", "said"),
    [
        (set(), "a, b, c and 1 other cannot be told apart"),
        ({("a", "b"), ("a", "c"), ("a", "d")}, "a wins"),
        ({("a", "d")}, "a, b and c cannot be told apart; d is worse than a"),
        ({("a", "c"), ("a", "d")}, "a and b cannot be told apart; c and d are worse than a"),
        ({("b", "c"), ("a", "d")}, "a cannot be told apart from b and c; d is worse than a"),
    ],
)
def test_the_sentence_says_what_is_decided(decided: set[tuple[str, str]], said: str) -> None:
    found = of(decided)
    assert told_apart("wins", **found.facts) == said
    assert told_apart("wins", **found.facts, name=str.upper).startswith("A")


def test_some_of_the_contenders() -> None:
    found = of({("a", "b"), ("b", "c")}).among(("b", "c", "d"))
    assert found.order == ("b", "c", "d") and found.behind == ("c",) and found.level == ("d",)
