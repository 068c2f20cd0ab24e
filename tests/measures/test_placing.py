"""Lists placed in a belief: ranks, places, lengths and coverage."""

import numpy as np
import polars as pl
import pytest

from endoxa.errors import JoinError
from endoxa.measures import placing
from endoxa.measures.lists import BEYOND
from endoxa.measures.placing import place
from endoxa.policies import Policy
from endoxa.tables import Belief, Run

RUN = Run.of(
    pl.DataFrame(
        [
            ("s", "q1", "b", 4.0),
            ("s", "q1", "x", 3.0),
            ("s", "q1", "a", 2.0),
            ("t", "q1", "a", 1.0),
            ("t", "q1", "y", 1.0),
            ("t", "q2", "c", 9.0),
            ("t", "other", "c", 9.0),
        ],
        schema=["system", "query", "item", "score"],
        orient="row",
    )
)
BELIEF = Belief.of(pl.DataFrame({"query": ["q1", "q1", "q2"], "item": ["a", "b", "c"], "p": [0.5, 0.25, 0.75]}))


def test_every_list_is_found_at_its_ranks() -> None:
    placed = place(RUN, BELIEF)
    assert (placed.systems, placed.queries, placed.top) == (["s", "t"], ["q1", "q2"], 1.0)
    first, second = placed.lists
    assert first.rank.tolist() == [[1, 3], [2, BEYOND]]
    assert first.at.tolist() == [[1, 0], [0, 0]]
    assert first.retrieved.tolist() == [3, 2]
    assert second.present.tolist() == [False, True]
    assert placed.coverage == {"s": (0, 3, 2, 0), "t": (1, 3, 2, 2)}


def test_cuts_and_some_of_the_systems() -> None:
    placed = place(RUN, BELIEF, Policy(cut=1)).some(["t"])
    assert placed.systems == ["t"]
    assert [one.rank.tolist() for one in placed.lists] == [[[]], [[1]]]
    assert placed.coverage == {"t": (1, 2, 1, 0)}


def test_a_collision_of_hashes_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = place(RUN, BELIEF)
    monkeypatch.setattr(placing, "keys_of", lambda items, places: np.zeros(len(items), dtype=np.uint64))
    again = place(RUN, BELIEF)
    for one, other in zip(whole.lists, again.lists, strict=True):
        assert np.array_equal(one.rank, other.rank)
        assert np.array_equal(one.at, other.at)


def test_what_is_not_mentioned_may_have_a_probability() -> None:
    belief = Belief.of(BELIEF.frame.select("query", "item", "p"), unmentioned=0.1)
    placed = place(RUN, belief)
    assert placed.readings[0].items.to_list() == ["a", "b", "x", "y"]
    assert placed.lists[0].rank.tolist() == [[1, 2, 3], [1, 2, BEYOND]]


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(JoinError, match=r"share no query; the runs have other, q1, q2 …, the belief z …"):
        place(RUN, Belief.of(pl.DataFrame({"query": ["z"], "item": ["a"], "p": [0.5]})))
