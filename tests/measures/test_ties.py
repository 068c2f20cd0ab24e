"""Equal scores: each way of treating them against all orders that they allow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain_lists import CHOICES, NUMERIC, Grade, Plain, batch, full_mark, grades_for, some_settings

from endoxa.errors import TableError, TextError
from endoxa.measures import ties
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import Measure, make, parse
from endoxa.measures.registry import REGISTRY
from endoxa.policies import Policy
from endoxa.tables import Opinions, Run

LISTED = [name for name in NUMERIC if name != "xinfAP"]  # strata have a test of their own
DRAWN = [name for name in LISTED if REGISTRY[name].mean_of_orders is None]
POLICIES: list[dict[str, Any]] = [{}, {"unjudged": "condensed"}, {"compat": "trec_eval-10"}]
UNUSUAL: dict[str, tuple[Any, ...]] = {
    "rel": (*CHOICES["rel"], 0), "gains": (*CHOICES["gains"], {0: -1}, {1: 2.5}, {1: 5, 2: -3}),
}  # fmt: skip


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


def tables(lists: list[Tied], order: Any = "trec") -> tuple[Run, Opinions]:
    """The lists as a run with equal scores, and the judgments."""
    run: list[tuple[str, str, float]] = []
    judged: list[tuple[str, str, float]] = []
    for q, one in enumerate(lists):
        items = [(len(one.blocks) - b, grade) for b, block in enumerate(one.blocks) for grade in block]
        run += [(f"q{q:03}", f"d{n}", float(score)) for n, (score, _) in enumerate(items)]
        judged += [(f"q{q:03}", f"d{n}", float(grade)) for n, (_, grade) in enumerate(items) if grade is not None]
        judged += [(f"q{q:03}", f"m{n}", float(grade)) for n, grade in enumerate(one.missed)]
    return (
        Run.of(pl.DataFrame(run, schema=["query", "item", "score"], orient="row"), ties=order),
        Opinions.of(pl.DataFrame(judged, schema=["query", "item", "grade"], orient="row")),
    )


def condensed(one: Tied) -> Tied:
    """The list without the items that have no judgment; the pooled ones of them stay pooled."""
    kept = tuple(tuple(g for g in block if g is not None and g >= 0) for block in one.blocks)
    return Tied(kept, (*one.missed, *(g for block in one.blocks for g in block if g is not None and g < 0)))


def all_values(one: Measure, lists: list[Tied], **policy: Any) -> list[Any]:
    """Per list, the values over all orders, by the kernel on lists without ties."""
    top = full_mark([each.orders()[0] for each in lists])
    settled = [condensed(each) for each in lists] if policy.get("unjudged") == "condensed" else lists
    return [np.asarray(one(batch(each.orders(), top=top), compat=policy.get("compat", "none"))) for each in settled]


def scored(lists: list[Tied], wanted: list[Measure], **policy: Any) -> pl.DataFrame:
    run, opinions = tables(lists, "input" if policy.get("ties") == "input" else "trec")
    return measure(run, opinions, wanted, Policy(**policy)).frame.sort("query")


@pytest.mark.parametrize("policy", POLICIES, ids=["nonrelevant", "condensed", "compat"])
@pytest.mark.parametrize("name", LISTED)
def test_average_is_the_mean_over_all_orders(
    name: str, policy: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting, values in UNUSUAL.items():
        monkeypatch.setitem(CHOICES, setting, values)
    random = Random(3)
    for _ in range(6):
        lists = [some_tied(random, grades_for(name)) for _ in range(8)]
        one = make(name, some_settings(name, random))
        rows = scored(lists, [one], ties="average", **policy)
        assert rows.height == len(lists)
        for row, values in zip(rows.iter_rows(named=True), all_values(one, lists, **policy), strict=True):
            mean = values.mean()
            assert row["value"] == pytest.approx(mean, abs=1e-10, nan_ok=True), one
            assert row["undefined"] == np.isnan(mean)
            assert (row["sd"], row["lo"], row["hi"]) == (0, None, None)  # nothing is sampled


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly any list has few enough orders to take all."""
    monkeypatch.setattr(ties, "ORDERS", 3)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", LISTED)
def test_only_measures_without_a_closed_form_are_sampled(name: str) -> None:
    """And their standard error is that of the sample."""
    random = Random(3)
    lists = [some_tied(random, grades_for(name)) for _ in range(12)]
    one = make(name, some_settings(name, random))
    rows = scored(lists, [one], ties="average", shuffles=100)
    assert (name in DRAWN) == rows["lo"].is_not_null().any()
    for row, values, each in zip(rows.iter_rows(named=True), all_values(one, lists), lists, strict=True):
        if np.isnan(values).all():
            assert np.isnan(row["value"])
            continue
        sampled = name in DRAWN and len({order.ranking for order in each.orders()}) > 3
        assert (row["lo"] is not None) == sampled
        assert sampled or row["value"] == pytest.approx(values.mean(), abs=1e-10)
        error = sampled * values.std() / 10
        assert abs(row["value"] - values.mean()) <= 5 * error + 1e-9, one
        assert row["sd"] == pytest.approx(error, rel=0.5, abs=1e-9)
        assert not sampled or row["hi"] - row["lo"] == pytest.approx(2 * 1.96 * row["sd"])


@pytest.mark.usefixtures("few")
def test_sampled_lists_are_counted_with_the_error_of_the_mean() -> None:
    lists = [some_tied(Random(seed), (0, 1, 2)) for seed in range(8)]
    run, opinions = tables(lists)
    scores = measure(run, opinions, ["AP", "infAP", "G"], Policy(ties="average"))
    rows = scores.frame.filter(pl.col("lo").is_not_null())
    assert 0 < rows.filter(pl.col("measure") == "G").height < len(lists)
    expected = [
        (name, part.height, len(lists), np.sqrt((part["sd"] ** 2).sum()) / len(lists))
        for name in ("infAP", "G")
        for part in [rows.filter(pl.col("measure") == name)]
    ]
    counted = scores.sampled_lists()
    assert [row[:3] for row in counted] == [row[:3] for row in expected]
    assert [row[3] for row in counted] == pytest.approx([row[3] for row in expected])
    assert measure(run, opinions, ["AP", "nDCG"], Policy(ties="average")).sampled_lists() == []
    assert measure(run, opinions, ["infAP"], Policy()).sampled_lists() == []


@pytest.mark.usefixtures("few")
def test_average_is_reproducible_by_seed() -> None:
    lists = [some_tied(Random(seed), (0, 1)) for seed in range(8)]
    wanted = [parse(text) for text in ("IPrec@0.5", "infAP", "AP")]
    first = scored(lists, wanted, ties="average", seed=1)
    assert first.equals(scored(lists, wanted, ties="average", seed=1))
    assert not first.equals(scored(lists, wanted, ties="average", seed=2))
    alone = scored(lists, wanted[1:2], ties="average", seed=1)
    assert alone.equals(first.filter(pl.col("measure") == "infAP"))


def test_a_large_block_is_sampled_without_a_number_per_place_and_order() -> None:
    """Three judged items in a block of 200,000: 200 orders of all places would be 40 million numbers."""
    size = 200_000
    tied = replace(batch([Plain((2, 1, 1))]), block=np.full((1, 3), 1), length=np.full((1, 3), size))
    shuffles = ties.shuffled(replace(tied, retrieved=np.array([size])), 200, 0, np.array([0]))
    assert shuffles.rank.shape == (200, 1, 3)
    assert (np.diff(shuffles.rank, axis=-1) > 0).all()
    assert 1 <= shuffles.rank.min() < 0.05 * size
    assert size >= shuffles.rank.max() > 0.95 * size
    assert shuffles.rank.mean() == pytest.approx(size / 2, rel=0.1)
    assert sorted(shuffles.grade[0, 0]) == [1, 1, 2]


def test_orders_that_can_be_told_apart() -> None:
    """Items of one grade, and items without a judgment, change places unseen."""
    lists = batch([Plain((1, 1, 0, None, 2, None))])
    tied = replace(lists, block=np.array([[1, 1, 1, 5]]), length=np.array([[4, 4, 4, 2]]))
    blocks = ties.blocks_of(tied, 0)
    assert [(block.first, block.size, sorted(block.kinds)) for block in blocks] == [(1, 4, [1, 2]), (5, 2, [1])]
    seen = {tuple(places) for places in ties.arrangements(4, (1, 2)).tolist()}
    assert seen == {(a, b, c) for a, b, c in permutations(range(4), 3) if b < c}
    assert ties.count_orders(blocks) == 12 * 2
    assert ties.count_orders([ties.TiedBlock(1, 5040, np.array([0]), (1,))]) == 5040
    assert ties.count_orders([ties.TiedBlock(1, 5041, np.array([0]), (1,))]) == np.inf
    assert ties.count_orders([ties.TiedBlock(1, 10**6, np.arange(500_000), (500_000,))]) == np.inf
    assert ties.count_orders([ties.TiedBlock(1, 10**6, np.arange(10**6), (10**6,))]) == 1


@pytest.mark.parametrize("policy", POLICIES, ids=["nonrelevant", "condensed", "compat"])
@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "graded"])
def test_range_is_the_worst_and_best_of_all_orders(
    name: str, binary: bool, policy: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting, values in UNUSUAL.items():
        monkeypatch.setitem(CHOICES, setting, values)
    random = Random(4)
    for _ in range(4):
        lists = [some_tied(random, grades_for(name, binary=binary)) for _ in range(6)]
        one = make(name, some_settings(name, random))
        rows = scored(lists, [one], ties="range", **policy)
        for row, values in zip(rows.iter_rows(named=True), all_values(one, lists, **policy), strict=True):
            if np.isnan(values).all():
                assert (row["lo"], row["hi"]) == (None, None)
            else:
                assert (row["lo"], row["hi"]) == pytest.approx((values.min(), values.max()), abs=1e-10), one
                assert row["lo"] - 1e-10 <= row["value"] <= row["hi"] + 1e-10


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("AP(rel=0)", (0, 1, None)),  # an item of grade 0 is relevant, one without a judgment is not
        ("DCG(dcg='exp-log2',gains={1:2.5})", (0, 1, 2)),  # 2.5 and 3; as linear gains 2.5 and 2
        ("nDCGrel(gains={0:-1,1:0.5})", (0, 1, None)),  # harm right before a gain is worse than at the very front
        ("Judged@2", (-1, 0, None, 1)),
        ("infAP", (1, -1, 1, None)),
    ],
)
def test_range_where_sorting_by_grade_misses_an_end(text: str, grades: tuple[Grade, ...]) -> None:
    one, tied = parse(text), Tied((grades,), (1, 1))
    values = all_values(one, [tied])[0]
    row = scored([tied], [one], ties="range").row(0, named=True)
    assert values.min() < values.max()
    assert (row["lo"], row["hi"]) == pytest.approx((values.min(), values.max()))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", LISTED)
def test_a_range_is_unknown_only_where_no_order_is_known_to_be_best(name: str) -> None:
    lists = [Tied(((1, 0, None, -1),), (1,))]
    row = scored(lists, [make(name, some_settings(name, Random(2)))], ties="range").row(0, named=True)
    assert (row["lo"] is None) == (name in {"infAP", "G"})


@pytest.mark.parametrize("how", ["average", "range"])
def test_a_missing_topic_is_an_empty_list_without_ties(how: Any) -> None:
    """Its ends are its value, so that means over queries include it."""
    run, opinions = tables([Tied(((1, 0),), (1,)), Tied(((1,),), (1,))])
    first = Run(run.frame.filter(pl.col("query") == "q000"))
    row = measure(first, opinions, "AP", Policy(ties=how)).frame.filter(pl.col("query") == "q001").row(0, named=True)
    assert (row["value"], row["lo"], row["hi"]) == ((0, 0, 0) if how == "range" else (0, None, None))


@pytest.mark.parametrize("text", ["DCG(gains={0:-1})", "nDCG(gains={0:-1,1:0.5})", "DCG(gains={1:5,2:-3})@2"])
def test_range_puts_items_that_do_harm_last(text: str) -> None:
    """An unjudged item gains nothing, which is more than a loss."""
    lists = [some_tied(Random(seed), (0, 1, 2), pooled=False) for seed in range(30)]
    rows = scored(lists, [parse(text)], ties="range", missing="skip")
    for low, high, values in zip(rows["lo"], rows["hi"], all_values(parse(text), lists), strict=True):
        if not np.isnan(values).all():
            assert (low, high) == pytest.approx((values.min(), values.max()))


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
    average = value([2.0, 2, 1], ties="average")
    assert (average["value"], average["lo"]) == (pytest.approx((first + second) / 2), None)
    reach = value([2.0, 2, 1], ties="range")
    assert (reach["lo"], reach["hi"]) == pytest.approx(tuple(sorted((first, second))))


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
    values = {how: scored(lists, wanted, ties=how, shuffles=5) for how in ("trec", "input", "average", "range")}
    for frame in values.values():
        assert frame["value"].to_numpy() == pytest.approx(values["trec"]["value"].to_numpy(), nan_ok=True)
    spread = values["average"].filter(~pl.col("undefined").cast(bool))["sd"]
    assert spread.to_numpy() == pytest.approx(0, abs=1e-12)
    ends = values["range"].drop_nulls("lo")
    assert ends.height == values["range"].filter(pl.col("undefined") == 0).height
    assert ends["lo"].to_list() == pytest.approx(ends["hi"].to_list())


@pytest.mark.usefixtures("few")
def test_shuffles_of_a_list_do_not_depend_on_its_neighbours() -> None:
    lists = [some_tied(Random(seed), (0, 1)) for seed in range(8)]
    run, opinions = tables(lists)
    policy = Policy(ties="average", shuffles=20)
    whole = measure(run, opinions, "infAP", policy).frame
    assert whole["lo"].is_not_null().sum() > 2
    for query in run.frame["query"].unique():
        alone = measure(Run(run.frame.filter(pl.col("query") == query)), opinions, "infAP", policy).frame
        one, other = (frame.filter(pl.col("query") == query).row(0)[3:] for frame in (alone, whole))
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("other", [{"cut": 5}, {"unjudged": "bounds"}])
@pytest.mark.parametrize("how", ["average", "range"])
def test_what_does_not_go_together_is_refused(how: Any, other: dict[str, Any]) -> None:
    with pytest.raises(TextError, match="cannot be combined"):
        Policy(ties=how, **other)


def test_a_run_is_measured_as_it_was_ranked() -> None:
    run, opinions = tables([Tied(((1, 0),), (1,))])
    with pytest.raises(TableError, match="read it with ties='input'"):
        measure(run, opinions, "AP", Policy(ties="input"))


def test_orders_are_tried_in_parts_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = [some_tied(Random(seed), (0, 1, 2)) for seed in range(6)]
    wanted = [make(name, some_settings(name, Random(1))) for name in ("IPrec", "infAP", "G")]
    whole = {how: scored(lists, wanted, ties=how) for how in ("average", "range")}
    for cells in (1, 100):
        monkeypatch.setattr(ties, "CELLS", cells)
        for how, frame in whole.items():
            assert scored(lists, wanted, ties=how).equals(frame)
