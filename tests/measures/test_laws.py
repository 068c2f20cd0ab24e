"""Laws over the whole table of measures. A measure that is in none of the tables below fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_lists import GRADED, NUMERIC, Plain, batch, grades_for, measures, plains, some_plain, some_settings

from endoxa.measures.evaluate import measure
from endoxa.measures.explain import PARTS, parts
from endoxa.measures.grammar import Measure, make
from endoxa.measures.lists import BEYOND, Lists
from endoxa.measures.registry import REGISTRY
from endoxa.policies import Policy
from endoxa.tables import Floats, Opinions, Run

SETS = {"SetP", "SetR", "SetF", "SetAP", "Utility", "Generality"}
COUNTS = {"NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelJudgedRet"}

# What happens when an item changes places with a less relevant one above it.
MOVES: dict[str, set[str]] = {
    "up": {
        "P", "R", "F", "Success", "AP", "GMAP", "RR", "Rprec", "IPrec", "AvgIPrec", "DCG", "nDCG", "ERR", "RBP",
        "nDCGrel", "Rndcg", "binG", "Bpref", "GMBpref", "A", "D", "GradedP", "GradedR", "GradedF", "Judged",
    },
    "down": {"B", "C", "Fallout", "RBPResidual", "Unjudged"},
    "same": SETS | COUNTS,
    "any": {"infAP", "xinfAP", "G"},
}  # fmt: skip

# What happens when an item that nobody pooled is put behind the list.
TAILS: dict[str, set[str]] = {
    "same": {
        "P", "R", "F", "Success", "AP", "GMAP", "RR", "Rprec", "IPrec", "AvgIPrec", "DCG", "nDCG", "ERR", "RBP",
        "nDCGrel", "binG", "G", "Bpref", "GMBpref", "infAP", "xinfAP", "A", "C", "GradedR", "SetR", "Generality",
        "NumQ", "NumRel", "NumRelRet", "NumNonrelJudgedRet",
    },
    "down": {"SetP", "SetF", "SetAP", "GradedP", "GradedF", "Judged", "D"},
    "up": {"B", "Fallout", "Unjudged", "NumRet", "RBPResidual"},  # the residual: only as trec_eval 10 has it
    "any": {"Rndcg", "Utility"},
}  # fmt: skip

LAWS = {"MOVES": MOVES, "TAILS": TAILS}

# Undefined where nothing relevant is known; the others have a value even then.
NEED_RELEVANT = {
    "R", "F", "SetR", "SetF", "SetAP", "AP", "GMAP", "Rprec", "IPrec", "AvgIPrec", "nDCG", "nDCGrel", "Rndcg", "binG",
    "G", "Bpref", "GMBpref", "infAP", "xinfAP", "GradedR",
}  # fmt: skip
NEED_ITEMS = {"SetP", "SetAP", "GradedP", "Judged"}  # undefined for an empty list

# 1 when every relevant item stands in front, the best first, and everything is judged.
PERFECT = {
    "R", "SetR", "AP", "GMAP", "RR", "Success", "Rprec", "IPrec", "AvgIPrec", "nDCG", "nDCGrel", "binG", "G",
    "Rndcg", "Bpref", "GMBpref", "infAP", "GradedR", "Judged",
}  # fmt: skip

TIGHT = {"P", "Success", "RR", "GradedP"}  # some grades of the unjudged reach the bounds
BOUNDED = {"P", "Success", "RR", "RBP", "GradedP", "GradedR", "Fallout"}

Law = Callable[..., None]


def check(law: Law, *strategies: st.SearchStrategy[Any], examples: int = 8) -> None:
    settings(max_examples=examples, deadline=None)(given(*strategies)(law))()


def score(one: Measure, lists: Lists) -> Floats:
    if one.name == "xinfAP":
        lists = sampled(lists)
    return np.asarray(one(lists), dtype=float)


def sampled(lists: Lists) -> Lists:
    """The same lists, with everything drawn from one stratum at one half."""
    return replace(
        lists,
        stratum=np.where(lists.rank < BEYOND, 0, -1),
        pool_stratum=np.where(np.isnan(lists.pool), -1, 0),
        stratum_size=2.0 * (lists.pool >= 0).sum(-1)[..., None],
    )


def same(a: Floats, b: Floats) -> bool:
    return bool(np.allclose(a, b, rtol=1e-10, atol=1e-12, equal_nan=True))


def batches(name: str) -> st.SearchStrategy[list[Plain]]:
    return st.lists(plains(grades_for(name)), min_size=1, max_size=5)


@pytest.mark.parametrize("table", ["MOVES", "TAILS"])
def test_every_measure_has_declared_laws(table: str) -> None:
    declared = [name for names in LAWS[table].values() for name in names]
    lacking = sorted(set(NUMERIC) - set(declared))
    assert not lacking, f"enter {lacking} into {table} of this file, and into the sets below it that hold"
    unknown = sorted(set(declared) - set(NUMERIC))
    assert not unknown, f"{table} names {unknown}, which are not registered; measures/grammar.py imports the modules"
    assert len(declared) == len(set(declared)), f"a measure is in two sets of {table}"


def way_of(table: str, name: str) -> str:
    """What happens to a measure, by this table; "undeclared" if it is not there."""
    return next((way for way, names in LAWS[table].items() if name in names), "undeclared")


def test_declared_laws_agree_with_the_registry() -> None:
    for name in NUMERIC:
        definition = REGISTRY[name]
        if name in MOVES["down"] | MOVES["any"]:
            assert not definition.monotone, f"{name}: MOVES says that it may fall; register it with monotone=False"
        if name in MOVES["up"]:
            assert definition.monotone, f"{name}: MOVES says that it never falls; register it with monotone=True"
        assert (definition.bounds is not None) == (name in BOUNDED), f"{name}: BOUNDED and its registration differ"
        assert not (definition.lower and name in MOVES["up"]), f"{name}: smaller is better, but MOVES says up"


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_help_says_what_how_when_not_and_whence(name: str) -> None:
    said = parts(REGISTRY[name])
    assert list(said) == ["Meaning", *PARTS]
    assert all(said.values())


@pytest.mark.parametrize("name", NUMERIC)
def test_values_lie_in_the_range_or_are_undefined(name: str) -> None:
    definition = REGISTRY[name]

    def law(one: Measure, lists: list[Plain]) -> None:
        values = score(one, batch(lists))
        assert values.shape == (len(lists),)
        assert not np.isinf(values).any()
        known = values[~np.isnan(values)]
        assert (known >= definition.low - 1e-12).all()
        assert (known <= definition.high + 1e-12).all()

    check(law, measures(name), batches(name))


@pytest.mark.parametrize("name", NUMERIC)
def test_padding_and_neighbours_do_not_leak(name: str) -> None:
    def law(one: Measure, lists: list[Plain], padding: int) -> None:
        top = 3.0
        whole = score(one, batch(lists, top=top))
        apart = np.concatenate([score(one, batch([alone], top=top)) for alone in lists])
        assert same(whole, apart)
        assert same(whole, score(one, batch(lists, top=top, padding=padding)))
        assert same(whole[::-1], score(one, batch(lists[::-1], top=top)))

    check(law, measures(name), batches(name), st.integers(1, 3))


@pytest.mark.parametrize("name", [*NUMERIC, "relstring"])
def test_leading_axes_broadcast(name: str) -> None:
    """Grades [world, query, item] on ranks [query, item] give what a loop over worlds gives."""
    random = Random(5)
    numeric = name in NUMERIC
    for _ in range(6):
        one = make(name, some_settings(name, random))
        first = [some_plain(random, grades_for(name)) for _ in range(4)]
        worlds = [[regraded(lists, random, grades_for(name)) for lists in first] for _ in range(3)]
        loop = [batch(world, top=3.0) for world in worlds]
        stacked = replace(
            loop[0], grades=np.stack([each.grade for each in loop]), pool=np.stack([each.pool for each in loop])
        )
        if numeric:
            assert same(np.broadcast_to(score(one, stacked), (3, 4)), np.stack([score(one, each) for each in loop]))
            again = replace(stacked, grades=stacked.grade[:, None], pool=stacked.pool[:, None])
            deep = score(one, again)
            assert same(np.broadcast_to(deep, (3, 1, 4))[:, 0], np.broadcast_to(score(one, stacked), (3, 4)))
        else:
            assert (np.asarray(one(stacked)) == np.stack([one(each) for each in loop])).all()


def regraded(lists: Plain, random: Random, grades: tuple[float, ...]) -> Plain:
    ranking = tuple(None if grade is None else random.choice([*grades, -1]) for grade in lists.ranking)
    return Plain(ranking, tuple(random.choice(grades) for _ in lists.missed))


@pytest.mark.parametrize("name", sorted(set(NUMERIC) - MOVES["any"]))
def test_moving_a_relevant_item_up(name: str) -> None:
    direction = way_of("MOVES", name)
    assert direction != "undeclared", f"enter {name} into MOVES of this file"

    def law(one: Measure, lists: Plain) -> None:
        one = make(one.name, {setting: value for setting, value in one.keywords().items() if setting != "gains"})
        worth = [max(grade or 0, 0) for grade in lists.ranking]
        moved = [lists.swapped(at) for at in range(len(worth) - 1) if worth[at + 1] > worth[at]]
        if not moved:
            return
        before = score(one, batch([lists], top=3.0))
        after = score(one, batch(moved, top=3.0))
        assert same(np.isnan(after), np.isnan(before)), "a move makes nothing undefined"
        if direction in {"up", "same"}:
            assert not (after < before - 1e-12).any()
        if direction in {"down", "same"}:
            assert not (after > before + 1e-12).any()

    check(law, measures(name), plains(grades_for(name), least=2), examples=12)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        # the gain of an early 3 is spent when the lesser items come, and they are discounted by it
        ("G", Plain((1, 2, 3, 0, 0)), Plain((1, 3, 2, 0, 0))),
        # passing a pooled but unjudged item forgoes the share of it that would count as relevant
        ("infAP", Plain((1, None, None, -1, 1)), Plain((1, None, None, 1, -1))),
        ("xinfAP", Plain((1, None, 1, -1, 1)), Plain((1, None, 1, 1, -1))),
    ],
)
def test_three_measures_may_fall_when_a_relevant_item_rises(name: str, before: Plain, after: Plain) -> None:
    low, high = score(make(name, {}), batch([after, before]))
    assert low < high - 0.01


@pytest.mark.parametrize("name", sorted(set(NUMERIC) - TAILS["any"]))
def test_an_unpooled_item_behind_the_list(name: str) -> None:
    direction = way_of("TAILS", name)
    assert direction != "undeclared", f"enter {name} into TAILS of this file"

    def law(one: Measure, lists: list[Plain]) -> None:
        before = score(one, batch(lists, top=3.0))
        longer = [Plain((*each.ranking, None), each.missed) for each in lists]
        after = score(one, batch(longer, top=3.0))
        if direction == "same":
            assert same(before, after)
        elif direction == "down":
            assert not (after > before + 1e-12).any()
        else:
            assert not (after < before - 1e-12).any()

    check(law, measures(name), batches(name))


@pytest.mark.parametrize("name", NUMERIC)
def test_undefined_where_nothing_is_relevant_or_nothing_was_returned(name: str) -> None:
    def law(one: Measure) -> None:
        one = make(one.name, {setting: value for setting, value in one.keywords().items() if setting != "gains"})
        worthless = [Plain((0, None, -1, 0), (0, -1)), Plain((), (0,)), Plain((0,))]
        values = score(one, batch(worthless, top=1.0))
        relative = dict(one.settings).get("relative", False)
        assert np.isnan(values).all() == (name in NEED_RELEVANT or relative)
        empty = score(one, batch([Plain((), (1, 3, 0) if name not in GRADED else (1, 0.5))], top=3.0))
        least = dict(one.settings).get("rel") or 0
        if least <= 1 and "N" not in dict(one.settings):
            assert np.isnan(empty).all() == (name in NEED_ITEMS or (name == "SetP" and relative))

    check(law, measures(name), examples=8)


@pytest.mark.parametrize("name", sorted(PERFECT))
def test_the_perfect_list_scores_one(name: str) -> None:
    def law(one: Measure, grades: list[float]) -> None:
        given_settings = {s: v for s, v in one.keywords().items() if s not in {"gains", "k", "mult", "rel"}}
        if "k" in one.definition.settings:
            given_settings["k"] = 20
        best = sorted(grades, reverse=True)
        if not any(grade >= 1 for grade in best):
            return
        assert score(make(name, given_settings), batch([Plain(tuple(best))])) == pytest.approx(1, abs=1e-4)

    # G charges at least 1 for each place, so that a gain below 1 falls behind even in the perfect list
    grades = grades_for(name) if name in GRADED else (0, 1, 2, 3)
    check(law, measures(name), st.lists(st.sampled_from(grades), min_size=1, max_size=7))


@pytest.mark.parametrize("name", sorted(BOUNDED))
def test_bounds_hold_for_every_grade_of_the_unjudged(name: str) -> None:
    """Whatever the unjudged retrieved items turn out to be, and one item more that nobody found."""
    levels = (0, 0.5, 1) if name in GRADED else (0, 1, 3)

    def law(one: Measure, lists: Plain) -> None:
        given_settings = one.keywords()
        if name == "GradedR":
            given_settings["N"] = 60
        if given_settings.get("compat") == "trec_eval-10":
            return  # its residual leaves out the tail
        one = make(name, given_settings)
        definition = one.definition
        assert definition.bounds is not None
        low, high = definition.bounds(batch([lists], top=3.0), **one.keywords())
        holes = [place for place, grade in enumerate(lists.ranking) if grade is None or grade < 0]
        reached = []
        for chosen in product(levels, repeat=len(holes)):
            ranking = list(lists.ranking)
            for place, grade in zip(holes, chosen, strict=True):
                ranking[place] = grade
            completed = [Plain(tuple(ranking), (*lists.missed, *extra)) for extra in ((), (1,))]
            values = score(one, batch(completed, top=3.0))
            assert not (values < low - 1e-12).any(), chosen
            assert not (values > high + 1e-12).any(), chosen
            reached.append(values[0])
        if name in TIGHT and not np.isnan(low).any():
            assert (low[0], high[0]) == pytest.approx((min(reached), max(reached)))

    check(law, measures(name), plains((0, 1) if name in GRADED else (0, 1, 3), longest=5), examples=15)


# ---- through the tables

RunRow = tuple[str, str, str, float]
JudgedRow = tuple[str, str, float]


def whole_registry() -> list[Measure]:
    needed = {"k": 3, "recall": 0.5, "N": 50}
    return [
        make(name, {setting: needed[setting] for setting in REGISTRY[name].settings if setting in needed})
        for name in NUMERIC
        if name != "xinfAP"
    ]


def some_rows(random: Random) -> tuple[list[RunRow], list[JudgedRow]]:
    """Two systems, five queries, items with ties; relevances in [0, 1] so that every measure takes them."""
    run = [
        (system, f"q{q}", f"d{d}", random.randrange(8) / 2)
        for system in ("a", "b")
        for q in range(5)
        for d in random.sample(range(12), random.randrange(2, 10))
    ]
    judged = [(f"q{q}", f"d{d}", random.choice([0, 0, 0.5, 1, 1, -1])) for q in range(5) for d in range(0, 12, 2)]
    return run, judged


def scored(
    run: list[tuple[str, str, str, float]], judged: list[tuple[str, str, float]], policy: Policy
) -> pl.DataFrame:
    table = Run.of(pl.DataFrame(run, schema=["system", "query", "item", "score"], orient="row"))
    opinions = Opinions.of(pl.DataFrame(judged, schema=["query", "item", "grade"], orient="row"))
    return measure(table, opinions, whole_registry(), policy).frame.sort("system", "query", "measure")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unjudged", ["nonrelevant", "condensed"])
def test_the_order_of_rows_does_not_matter(seed: int, unjudged: Any) -> None:
    random = Random(seed)
    run, judged = some_rows(random)
    first = scored(run, judged, Policy(unjudged=unjudged))
    random.shuffle(run)
    random.shuffle(judged)
    again = scored(run, judged, Policy(unjudged=unjudged))
    assert first.drop("value").equals(again.drop("value"))
    assert same(first["value"].to_numpy(), again["value"].to_numpy())


@pytest.mark.parametrize("seed", range(4))
def test_one_system_and_one_query_at_a_time_give_the_same(seed: int) -> None:
    run, judged = some_rows(Random(seed))
    whole = scored(run, judged, Policy(missing="skip"))
    parts_apart = [
        scored([r for r in run if r[:2] == (s, q)], judged, Policy(missing="skip"))
        for s in ("a", "b")
        for q in sorted({row[1] for row in run if row[0] == s})
    ]
    apart = pl.concat(parts_apart).sort("system", "query", "measure")
    assert whole.drop("value").equals(apart.drop("value"))
    assert same(whole["value"].to_numpy(), apart["value"].to_numpy())
