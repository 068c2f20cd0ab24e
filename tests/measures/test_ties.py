"""Equal scores: each way of treating them against all orders that they allow."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain_lists import NUMERIC, Grade, Plain, batch, full_mark, grades_for, some_settings

from endoxa.errors import TableError, TextError
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import Measure, make, parse
from endoxa.measures.registry import REGISTRY
from endoxa.policies import Policy
from endoxa.tables import Opinions, Run

LISTED = [name for name in NUMERIC if name != "xinfAP"]  # strata have a test of their own

# The worst and best order by gain are not the ends for these, so no range is given. Judged, Unjudged and RBPResidual
# ask who was judged, not who is relevant; infAP and G may fall when a relevant item rises (see test_laws).
NOT_AT_THE_ENDS = {"Judged", "Unjudged", "RBPResidual", "infAP", "G"}


@dataclass(frozen=True)
class Tied:
    """One list as runs of equal scores."""

    blocks: tuple[tuple[Grade, ...], ...]
    missed: tuple[float, ...]

    def orders(self) -> list[Plain]:
        """Every order of the equal scores."""
        choices = product(*(list(permutations(block)) for block in self.blocks))
        return [Plain(tuple(grade for block in chosen for grade in block), self.missed) for chosen in choices]


def some_tied(random: Random, grades: tuple[float, ...], *, pooled: bool = True) -> Tied:
    kinds: list[Grade] = [*grades, *grades, None, *([-1] if pooled else [])]
    blocks = tuple(
        tuple(random.choice(kinds) for _ in range(random.choice([1, 2, 3, 4]))) for _ in range(random.choice([1, 2]))
    )
    return Tied(blocks, (1, *(random.choice(grades) for _ in range(random.randrange(3)))))


def tables(lists: list[Tied], ties: Any = "trec") -> tuple[Run, Opinions]:
    """The lists as a run with equal scores, and the judgments."""
    run: list[tuple[str, str, float]] = []
    judged: list[tuple[str, str, float]] = []
    for q, one in enumerate(lists):
        items = [(len(one.blocks) - b, grade) for b, block in enumerate(one.blocks) for grade in block]
        run += [(f"q{q:03}", f"d{n}", float(score)) for n, (score, _) in enumerate(items)]
        judged += [(f"q{q:03}", f"d{n}", float(grade)) for n, (_, grade) in enumerate(items) if grade is not None]
        judged += [(f"q{q:03}", f"m{n}", float(grade)) for n, grade in enumerate(one.missed)]
    return (
        Run.of(pl.DataFrame(run, schema=["query", "item", "score"], orient="row"), ties=ties),
        Opinions.of(pl.DataFrame(judged, schema=["query", "item", "grade"], orient="row")),
    )


def all_values(one: Measure, lists: list[Tied]) -> list[Any]:
    """Per list, the values over all orders."""
    top = full_mark([order for each in lists for order in each.orders()[:1]])
    return [np.asarray(one(batch(each.orders(), top=top))) for each in lists]


def scored(lists: list[Tied], wanted: list[Measure], **policy: Any) -> pl.DataFrame:
    run, opinions = tables(lists, "input" if policy.get("ties") == "input" else "trec")
    return measure(run, opinions, wanted, Policy(**policy)).frame.sort("query")


@pytest.mark.parametrize("name", LISTED)
def test_average_is_the_mean_over_all_orders(name: str) -> None:
    random = Random(3)
    additive = REGISTRY[name].additive
    for _ in range(4 if additive else 1):
        lists = [some_tied(random, grades_for(name)) for _ in range(12)]
        one = make(name, some_settings(name, random))
        rows = scored(lists, [one], ties="average", shuffles=100)
        for row, values, each in zip(rows.iter_rows(named=True), all_values(one, lists), lists, strict=True):
            mean = values.mean()
            open_ties = any(len(block) > 1 and set(block) != {None} for block in each.blocks)
            if np.isnan(mean):
                assert np.isnan(row["value"])
                assert row["undefined"] == 1
            elif additive:
                assert row["value"] == pytest.approx(mean, abs=1e-10), one
                assert (row["sd"], row["lo"], row["hi"]) == (0, None, None)
            else:
                true_error = values.std() / 10
                assert abs(row["value"] - mean) <= 5 * true_error + 1e-9, one
                assert row["sd"] == pytest.approx(true_error, rel=0.5, abs=1e-9)
                assert (row["lo"] is not None) == open_ties
                assert not open_ties or row["lo"] <= row["value"] <= row["hi"]


def test_average_is_reproducible_by_seed() -> None:
    lists = [some_tied(Random(seed), (0, 1)) for seed in range(8)]
    wanted = [parse(text) for text in ("AP", "RR", "Bpref")]
    first = scored(lists, wanted, ties="average", seed=1)
    assert first.equals(scored(lists, wanted, ties="average", seed=1))
    assert not first.equals(scored(lists, wanted, ties="average", seed=2))
    alone = scored(lists, wanted[1:2], ties="average", seed=1)
    assert alone.equals(first.filter(pl.col("measure") == "RR"))


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "graded"])
def test_range_is_the_worst_and_best_of_all_orders(name: str, binary: bool) -> None:
    random = Random(4)
    grades = grades_for(name, binary=binary)
    for _ in range(2):
        lists = [some_tied(random, grades) for _ in range(10)]
        settings = some_settings(name, random)
        one = make(name, {key: value for key, value in settings.items() if not (binary and key == "gains")})
        rows = scored(lists, [one], ties="range")
        for row, values in zip(rows.iter_rows(named=True), all_values(one, lists), strict=True):
            if np.isnan(values).all():
                assert (row["lo"], row["hi"]) == (None, None)
                continue
            low, high = values.min(), values.max()
            assert low - 1e-10 <= row["value"] <= high + 1e-10
            if name in NOT_AT_THE_ENDS:
                assert (row["lo"], row["hi"]) == (None, None)
            else:
                assert (row["lo"], row["hi"]) == pytest.approx((low, high), abs=1e-10), one


@pytest.mark.parametrize("text", ["DCG(gains={0:-1})", "nDCG(gains={0:-1,1:0.5})", "DCG(gains={1:5,2:-3})@2"])
def test_range_puts_items_that_do_harm_last(text: str) -> None:
    """An unjudged item gains nothing, which is more than a loss."""
    lists = [some_tied(Random(seed), (0, 1, 2), pooled=False) for seed in range(30)]
    rows = scored(lists, [parse(text)], ties="range", missing="skip")
    for low, high, values in zip(rows["lo"], rows["hi"], all_values(parse(text), lists), strict=True):
        if not np.isnan(values).all():
            assert (low, high) == pytest.approx((values.min(), values.max()))


@pytest.mark.parametrize("ties", ["average", "range"])
@pytest.mark.parametrize("text", ["P@2", "AP", "nDCG", "RR"])
def test_condensed_lists_with_ties(text: str, ties: str) -> None:
    """Items without a judgment are taken out of every order, not only out of the first."""
    one = parse(text)
    lists = [some_tied(Random(seed), (0, 1, 2)) for seed in range(10)]
    kept = [
        Tied(tuple(tuple(g for g in block if g is not None and g >= 0) for block in each.blocks), each.missed)
        for each in lists
    ]
    rows = scored(lists, [one], ties=ties, unjudged="condensed")
    top = full_mark([each.orders()[0] for each in lists])
    for row, each in zip(rows.iter_rows(named=True), kept, strict=True):
        values = one(batch(each.orders(), top=top))
        if ties == "range":
            assert (row["lo"], row["hi"]) == pytest.approx((values.min(), values.max()))
        else:
            assert abs(row["value"] - values.mean()) <= 5 * values.std() / np.sqrt(200) + 1e-9


def test_strata_follow_their_items_through_ties() -> None:
    """xinfAP of a tied list: the mean over the two orders of a pair."""
    rows = [("q", "a", 1, "s", 1.0), ("q", "b", 0, "t", 0.5), ("q", "c", 1, "t", 0.5)]
    opinions = Opinions.of(
        pl.DataFrame(rows, schema=["query", "item", "grade", "selected_by", "propensity"], orient="row")
    )

    def value(scores: list[float], **policy: Any) -> dict[str, Any]:
        run = Run.of(pl.DataFrame({"query": "q", "item": ["a", "b", "c"], "score": scores}))
        return measure(run, opinions, "xinfAP", Policy(**policy)).frame.row(0, named=True)

    first, second = value([3.0, 2, 1])["value"], value([2.0, 3, 1])["value"]
    assert first != second
    average = value([2.0, 2, 1], ties="average", shuffles=300)
    assert abs(average["value"] - (first + second) / 2) < 4 * average["sd"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["a", "b", "c"], ["c", "b", "a"]),
        (["10", "9", "100"], ["9", "100", "10"]),
        (["a", "B", "A"], ["a", "B", "A"]),
        (["z", "é", "€", "😀", "ÿ"], ["😀", "€", "ÿ", "é", "z"]),  # by UTF-8 bytes
        (["doc", "doc1", "doc#2"], ["doc1", "doc#2", "doc"]),
    ],
)
def test_trec_order_is_item_id_descending_by_bytes(items: list[str], expected: list[str]) -> None:
    assert expected == sorted(items, key=lambda item: item.encode(), reverse=True)
    for given in permutations(items):
        run = Run.of(pl.DataFrame({"query": "q", "item": list(given), "score": 1.0}))
        assert run.frame["item"].to_list() == expected
        kept = Run.of(pl.DataFrame({"query": "q", "item": list(given), "score": 1.0}), ties="input")
        assert kept.frame["item"].to_list() == list(given)


def test_trec_and_input_order_reach_the_scores() -> None:
    frame = pl.DataFrame({"query": "q", "item": ["a", "b"], "score": [1.0, 1.0]})
    opinions = Opinions.of(pl.DataFrame({"query": ["q"], "item": ["a"], "grade": [1]}))
    assert measure(Run.of(frame), opinions, "RR").frame["value"][0] == 0.5
    kept = measure(Run.of(frame, ties="input"), opinions, "RR")
    assert kept.frame["value"][0] == 1
    assert kept.policy.ties == "input"


def test_without_ties_every_way_gives_the_same() -> None:
    lists = [Tied(tuple((grade,) for grade in (1, None, 0, 2, -1)), (1,))]
    wanted = [make(name, some_settings(name, Random(1))) for name in LISTED if name not in {"A", "B", "C", "D"}]
    wanted = [one for one in wanted if one.name not in {"GradedP", "GradedR", "GradedF", "Fallout", "Generality"}]
    values = {ties: scored(lists, wanted, ties=ties, shuffles=5) for ties in ("trec", "input", "average", "range")}
    for frame in values.values():
        assert frame["value"].to_numpy() == pytest.approx(values["trec"]["value"].to_numpy(), nan_ok=True)
    spread = values["average"].filter(~pl.col("undefined").cast(bool))["sd"]
    assert spread.to_numpy() == pytest.approx(0, abs=1e-12)
    ends = values["range"].drop_nulls("lo")
    ranged = [str(one) for one in wanted if one.definition.by_gain]
    assert ends.height == values["range"].filter(pl.col("measure").is_in(ranged) & (pl.col("undefined") == 0)).height
    assert ends["lo"].to_list() == pytest.approx(ends["hi"].to_list())


def test_shuffles_of_a_list_do_not_depend_on_its_neighbours() -> None:
    lists = [some_tied(Random(seed), (0, 1)) for seed in range(8)]
    run, opinions = tables(lists)
    policy = Policy(ties="average", shuffles=20)
    whole = measure(run, opinions, "AP", policy).frame
    for query in run.frame["query"].unique():
        alone = measure(Run(run.frame.filter(pl.col("query") == query)), opinions, "AP", policy).frame
        one, other = (frame.filter(pl.col("query") == query).row(0)[3:] for frame in (alone, whole))
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("other", [{"cut": 5}, {"unjudged": "bounds"}])
@pytest.mark.parametrize("ties", ["average", "range"])
def test_what_does_not_go_together_is_refused(ties: Any, other: dict[str, Any]) -> None:
    with pytest.raises(TextError, match="cannot be combined"):
        Policy(ties=ties, **other)


def test_a_run_is_measured_as_it_was_ranked() -> None:
    run, opinions = tables([Tied(((1, 0),), (1,))])
    with pytest.raises(TableError, match="read it with ties='input'"):
        measure(run, opinions, "AP", Policy(ties="input"))
