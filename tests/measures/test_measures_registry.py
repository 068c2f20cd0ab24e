"""Closed forms are fields of a definition: all agree with enumeration, also those of a measure added at run time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
import test_laws

from endoxa.measures.closed_forms import Chances, Moments, OneList, SumForm
from endoxa.measures.distributions import Distribution
from endoxa.measures.explain import explain, reference
from endoxa.measures.grammar import Measure, make, parse
from endoxa.measures.lists import Lists
from endoxa.measures.registry import REGISTRY, register
from endoxa.measures.uncertain import distribute, measure_belief
from endoxa.statistics.poisson_binomial import pmf
from endoxa.tables import Belief, Floats, Run

P = {"a": 0.9, "b": 0.6, "c": 1.0, "d": 0.2, "e": 0.5}
LISTS = {"s": "abxcd", "t": "dcy", "u": "e"}
RUN = Run.of(
    pl.DataFrame(
        [(s, "q", item, -float(n)) for s, items in LISTS.items() for n, item in enumerate(items)],
        schema=["system", "query", "item", "score"],
        orient="row",
    )
)
BELIEF = Belief.of(pl.DataFrame({"query": "q", "item": list(P), "p": list(P.values())}))


def outcomes() -> Iterator[tuple[float, dict[str, float]]]:
    """Every grading of the items, with its probability."""
    for grades in itertools.product((0.0, 1.0), repeat=len(P)):
        chance = np.prod([p if grade else 1 - p for p, grade in zip(P.values(), grades, strict=True)])
        yield float(chance), dict(zip(P, grades, strict=True))


def enumerated(m: Measure, items: str) -> list[tuple[float, float]]:
    """(probability, value) of every outcome, by the measure's own kernel; NaN where undefined."""
    found = [(rank, item) for rank, item in enumerate(items, 1) if item in P]
    rank = np.array([[rank for rank, _ in found]])
    values = []
    for chance, grades in outcomes():
        grade, pool = np.array([[grades[item] for _, item in found]]), -np.sort([[-g for g in grades.values()]])
        values.append((chance, float(m(Lists(rank, grade, np.array([len(items)]), -np.sort(-pool)))[0])))
    return values


def moments_agree(m: Measure) -> None:
    """Value, spread and undefined mass under a belief are those of the enumeration."""
    rows = measure_belief(RUN, BELIEF, [m], worlds=2).frame
    for system, items in LISTS.items():
        row = rows.filter(pl.col("system") == system).row(0, named=True)
        outcome = [(chance, value) for chance, value in enumerated(m, items) if not np.isnan(value)]
        defined = sum(chance for chance, _ in outcome)
        mean = sum(chance * value for chance, value in outcome) / defined
        square = sum(chance * value**2 for chance, value in outcome) / defined
        assert row["value"] == pytest.approx(mean, abs=1e-12), (m, system)
        assert row["sd"] == pytest.approx(np.sqrt(max(square - mean**2, 0.0)), abs=1e-7), (m, system)
        assert row["undefined"] == pytest.approx(1 - defined, abs=1e-12), (m, system)


def laws_agree(m: Measure) -> None:
    """The distribution on a query is that of the enumeration."""
    for system, items in LISTS.items():
        law = distribute(RUN, BELIEF, m, system, "q", worlds=2)
        for at in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
            below = sum(chance for chance, value in enumerated(m, items) if value <= at + 1e-9)
            assert law.total * law.cdf(at + 1e-9) == pytest.approx(below, abs=1e-12), (m, system, at)


def plainest(name: str) -> Measure:
    return make(name, {"k": 3} if "k" in REGISTRY[name].settings else {})


@pytest.mark.parametrize("name", sorted(name for name, known in REGISTRY.items() if known.moments is not None))
def test_moments_of_every_definition_agree_with_enumeration(name: str) -> None:
    moments_agree(plainest(name))


@pytest.mark.parametrize("name", sorted(name for name, known in REGISTRY.items() if known.law is not None))
def test_laws_of_every_definition_agree_with_enumeration(name: str) -> None:
    laws_agree(plainest(name))


@pytest.mark.parametrize("name", sorted(name for name, known in REGISTRY.items() if known.sum_form is not None))
def test_sum_forms_of_every_definition_give_the_kernels_value(name: str) -> None:
    m = plainest(name)
    form = m.sum_form
    assert isinstance(form, SumForm)
    rank, grade, length = np.array([1, 2, 4]), np.array([1.0, 0.0, 1.0]), np.array([5])
    lists = Lists(rank[None], grade[None], length, -np.sort(-np.append(grade, 1.0))[None])
    inside = rank <= (form.k or 5)
    total = (form.weight(rank, np.full(3, 5)) * grade * inside).sum()
    below = 3 + (form.size(length)[0] if form.size else 0.0) if form.ratio else 1.0
    assert total / below == pytest.approx(float(m(lists)[0]))


def toy_moments(lists: Chances, *, k: int) -> Moments:
    """Moments of a squared share, from the distribution of the count."""
    mass = pmf(lists.first(k)[0])
    share = np.arange(mass.shape[1]) / k
    return Moments(mass @ share**2, mass @ share**4, np.zeros(len(mass)))


def toy_law(one: OneList, *, k: int) -> Distribution:
    mass = pmf(one.first(k))
    return Distribution((np.arange(len(mass)) / k) ** 2, mass)


def squared_share(lists: Lists, *, k: int, rel: float = 1) -> Floats:
    """Square of the share of the first k that are relevant.

    Formula: (hits in the first k / k)².
    Misleads: a toy.
    Source: this test.
    """
    return np.asarray((lists.hits(rel, k) / k) ** 2)


@pytest.fixture
def toy() -> Iterator[Measure]:
    register("Toy", moments=toy_moments, law=toy_law)(squared_share)
    yield parse("Toy@3")
    del REGISTRY["Toy"]


def test_a_measure_added_at_run_time_is_exact_explained_and_lawful(toy: Measure) -> None:
    moments_agree(toy)
    laws_agree(toy)
    assert "mean and spread; distribution on one query" in explain("Toy")
    assert "## Toy" in reference()
    test_laws.test_help_says_what_how_when_not_and_whence("Toy")
    test_laws.test_values_lie_in_the_range_or_are_undefined("Toy")
    test_laws.test_padding_and_neighbours_do_not_leak("Toy")
    test_laws.test_leading_axes_broadcast("Toy")


def test_without_its_closed_form_the_measure_is_drawn(toy: Measure) -> None:
    exact = measure_belief(RUN, BELIEF, [toy], worlds=2).frame
    register("Toy")(squared_share)
    drawn = measure_belief(RUN, BELIEF, [toy], worlds=2)
    assert drawn.frame["value"].to_list() == pytest.approx(drawn.draws.truth[0, :, 0].mean(-1).tolist())
    assert drawn.frame["value"].to_list() != pytest.approx(exact["value"].to_list())


def test_settings_without_a_closed_form_have_none() -> None:
    assert parse("P(relative=True)@3").sum_form is None
    assert parse("F(beta=2)@3").sum_form is None
    assert parse("nDCG@3").sum_form is None
    assert parse("P@3").sum_form.divisor == 3
    assert parse("SetP").sum_form.divisor is None
