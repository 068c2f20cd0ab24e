"""Fusion against slow definitions, its laws, and its bad input."""

from __future__ import annotations

import statistics
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import EndoxaError
from endoxa.fusion import METHODS, NORMS, combining, fuse
from endoxa.tables import Run

Lists = dict[str, dict[str, dict[str, float]]]


def run_of(lists: Lists) -> Run:
    rows = [(s, q, d, v) for s, own in lists.items() for q, scored in own.items() for d, v in scored.items()]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


@st.composite
def lists_of(draw: st.DrawFn) -> Lists:
    """Two to four systems over one to three queries; a system may lack a query."""
    found: Lists = {}
    for system in [f"s{n}" for n in range(draw(st.integers(2, 4)))]:
        for query in draw(st.sets(st.sampled_from(["q1", "q2", "q3"]), min_size=1)):
            items = draw(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6, unique=True))
            scores = draw(st.lists(st.integers(1, 60), min_size=len(items), max_size=len(items)))
            found.setdefault(system, {})[query] = {i: v / 4 for i, v in zip(items, scores, strict=True)}
    return found


def ranked(scored: dict[str, float]) -> list[str]:
    return [item for item, _ in sorted(scored.items(), key=lambda one: (one[1], one[0].encode()), reverse=True)]


def normed(scored: dict[str, float], norm: str) -> dict[str, float]:
    low, high, count = min(scored.values()), max(scored.values()), len(scored)
    mean, spread = statistics.fmean(scored.values()), statistics.pstdev(scored.values())
    order = ranked(scored)
    return {
        item: {
            "none": value,
            "max": value / high,
            "min-max": (value - low) / max(high - low, 1e-9),
            "sum": (value - low) / max(sum(scored.values()) - low * count, 1e-9),
            "zmuv": (value - mean) / max(spread, 1e-9),
            "rank": 1 - order.index(item) / count,
        }[norm]
        for item, value in scored.items()
    }


def slowly(lists: Lists, query: str, method: str, norm: str) -> dict[str, float]:
    """The fused scores of a query, item by item, by the definitions."""
    own = [scored[query] for scored in lists.values() if query in scored]
    values = [normed(scored, norm) for scored in own]
    items = {item for scored in own for item in scored}
    found = {}
    for item in items:
        said = [scored[item] for scored in values if item in scored]
        places = [ranked(scored).index(item) + 1 if item in scored else None for scored in own]
        points = sum(
            len(items) - place + 1 if place else (len(items) - len(scored) + 1) / 2
            for place, scored in zip(places, own, strict=True)
        )
        found[item] = {
            "rrf": sum(1 / (60 + place) for place in places if place),
            "sum": sum(said), "mnz": sum(said) * len(said), "anz": sum(said) / len(said), "max": max(said),
            "min": min(said), "med": statistics.median(said), "borda": points,
        }[method]  # fmt: skip
    return found


@given(lists_of(), st.sampled_from([name for name in METHODS if name != "condorcet"]), st.sampled_from(list(NORMS)))
def test_every_method_is_its_definition(lists: Lists, method: str, norm: str) -> None:
    fused = fuse(run_of(lists), method, norm=norm).to_dict()[method]
    for query, scored in fused.items():
        points = 0.0  # a system without the query gives every item the same points, which the definition leaves out
        if method == "borda":
            points = sum((len(scored) + 1) / 2 for own in lists.values() if query not in own)
        expected = slowly(lists, query, method, norm)
        assert scored.keys() == expected.keys()
        for item, value in scored.items():
            assert value - points == pytest.approx(expected[item], rel=1e-9, abs=1e-9)


@given(lists_of(), st.sampled_from(list(METHODS)))
def test_the_order_of_the_systems_does_not_matter(lists: Lists, method: str) -> None:
    fused = {
        tuple(fuse(run_of({name: lists[name] for name in order}), method).frame.sort("query", "rank").rows())
        for order in permutations(lists)
    }
    assert len(fused) == 1


@given(lists_of(), st.sampled_from(list(METHODS)))
def test_small_blocks_change_nothing(lists: Lists, method: str) -> None:
    run = run_of(lists)
    whole = fuse(run, method).frame
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combining, "ROWS", 1)
        patch.setattr(combining, "COMPARED", 3)
        assert fuse(run, method).frame.equals(whole)


@given(lists_of())
def test_who_beats_everybody_is_first_by_condorcet(lists: Lists) -> None:
    fused = fuse(run_of(lists), "condorcet").to_dict()["condorcet"]
    for query, scored in fused.items():
        own = [ranked(lists[system][query]) for system in lists if query in lists[system]]

        def beats(one: str, other: str, own: list[list[str]] = own) -> bool:
            place = [[order.index(x) if x in order else 99 for x in (one, other)] for order in own]
            return sum(a < b for a, b in place) > sum(a > b for a, b in place)

        winner = [x for x in scored if all(beats(x, y) for y in scored if y != x)]
        assert winner == [] or winner == [ranked(scored)[0]]
        wins = {
            x: sum(beats(x, y) + (not beats(x, y) and not beats(y, x)) / 2 for y in scored if y != x) for x in scored
        }
        for x, value in scored.items():
            assert 0 <= value - wins[x] < 0.5


def test_hashes_that_meet_are_told_apart_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    lists: Lists = {"a": {"q": {"x": 3, "y": 2}}, "b": {"q": {"y": 3, "z": 2}}}
    right = fuse(run_of(lists), "sum").frame
    monkeypatch.setattr(combining, "HASHED", 63)  # one bit is left
    assert fuse(run_of(lists), "sum").frame.equals(right)


def test_weights_and_depth() -> None:
    lists: Lists = {"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"y": 2, "z": 1}}}
    fused = fuse(run_of(lists), "sum", norm="none", weights={"a": 2, "b": 0.5}, depth=2, name="both").to_dict()
    assert fused == {"both": {"q": {"x": 4.0, "y": 3.0}}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "rff"}, "did you mean rrf"),
        ({"method": "sum", "norm": "minmax"}, "did you mean min-max"),
        ({"method": "sum", "weights": {"a": 1}}, "b has no weight"),
        ({"method": "sum", "weights": {"a": 1, "b": -1}}, "expected a number of 0 or more"),
        ({"method": "sum", "weights": {"a": 1, "b": 1, "c": 1}}, "not among the systems"),
        ({"weights": {"a": 1, "b": 1}}, "weights go with the method sum"),
        ({"k": -1}, "so that no rank divides by 0"),
        ({"depth": 0}, "at least 1"),
        ({"method": "mnz", "norm": "max"}, "use min-max"),
    ],
)
def test_bad_settings_are_told(settings: dict[str, object], message: str) -> None:
    lists: Lists = {"a": {"q": {"x": -2, "y": -3}}, "b": {"q": {"y": 2}}}
    with pytest.raises(EndoxaError, match=message):
        fuse(run_of(lists), **settings)  # type: ignore[arg-type]


def test_an_infinite_score_has_a_rank_only() -> None:
    lists: Lists = {"a": {"q": {"x": np.inf, "y": 1}}, "b": {"q": {"y": 2}}}
    assert set(fuse(run_of(lists), "rrf").frame["item"]) == {"x", "y"}
    with pytest.raises(EndoxaError, match="'x' inf; an infinite score cannot be normalised"):
        fuse(run_of(lists), "sum")
