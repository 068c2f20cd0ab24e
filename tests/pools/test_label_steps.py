"""The loop of labels with an oracle: the sizes of its batches, and where it ends."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs.learned import Universe
from endoxa.measures.grammar import parse
from endoxa.pools.deciding import Deciding, Question, simulate
from endoxa.pools.guaranteed import Draws
from endoxa.tables import Run


@pytest.fixture(scope="module")
def universe() -> Universe:
    """Two systems, three topics, lists of twelve of which P@3 sees the first three."""
    rng = np.random.default_rng(1)
    rows = [
        (system, f"q{topic}", f"d{item}", float(-rank))
        for system in "ab"
        for topic in range(3)
        for rank, item in enumerate(rng.permutation(30)[:12])
    ]
    return Universe.of(Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")))


def looks(universe: Universe, batch, most: int = 1_000):
    question = Question(parse("P@3"))
    unknowable = np.arange(universe.rows.height) % 2.0  # nothing that a system could be better at
    return list(
        simulate(universe, question, unknowable.__getitem__, batch=batch, most=most, rng=np.random.default_rng(0))
    )


def test_the_last_size_of_a_batch_repeats(universe) -> None:
    assert [len(now.learned.judged) for now in looks(universe, (1, 2, 3), most=9)] == [0, 1, 3, 6, 9]
    assert [len(now.learned.judged) for now in looks(universe, 4, most=8)] == [0, 4, 8]


def test_it_ends_when_everything_that_may_be_asked_is_judged(universe) -> None:
    """Pairs below the depth of the measure are in the universe and never asked for."""
    shallow = np.unique(universe.row[universe.rank <= 3])
    assert len(shallow) < 25 < universe.rows.height
    last = looks(universe, 5)[-1]
    assert last.learned.judged.rows.tolist() == shallow.tolist()
    assert not last.is_settled
    assert last.deciding.left == 0
    assert Deciding(last.question, last.learned, Draws.none()).verdict.leader == last.leader
