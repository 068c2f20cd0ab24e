"""From scores to runs: the best of each query, ties as in a Run, nothing that cannot be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.engines import Index, Material
from endoxa.engines.ranking import best, latency, rank, rank_texts
from endoxa.errors import TableError, TextError
from endoxa.tables import Floats, Run


@dataclass(frozen=True)
class Given:
    """An engine whose scores stand in its index."""

    name: str = "given"
    descriptor: None = None
    takes_text: bool = True

    def build(self, material: Material, *, train: Material | None = None, seed: int = 0) -> Index:
        return Index(self, material, {})

    def score(self, index: Index, queries: Material) -> Floats:
        return np.array(queries.columns["scores"])

    def score_words(self, index: Index, texts: Sequence[tuple[str, ...]]) -> Floats:
        return np.array([[float(len(set(text) & set(words))) for words in index.material.words] for text in texts])


def material(scores: list[list[float]]) -> Material:
    n = len(scores)
    names = tuple(f"i{k}" for k in range(n))
    return Material(names, ((),) * n, {"scores": np.array(scores)}, np.ones(n, np.int64))


def rows(run: Run) -> list[tuple[str, str, int]]:
    return run.frame.select("query", "item", "rank").rows()


def test_a_query_does_not_retrieve_itself() -> None:
    own = material([[9.0, 1.0, 2.0], [3.0, 9.0, 1.0], [1.0, 2.0, 9.0]])
    index = Given().build(own)
    assert rows(rank(index, own).run)[:2] == [("i0", "i2", 1), ("i0", "i1", 2)]
    assert rows(rank(index, own, itself=True).run)[:2] == [("i0", "i0", 1), ("i0", "i2", 2)]


def test_what_cannot_be_said_is_left_out_and_counted() -> None:
    own = material([[np.nan, np.nan, 1.0], [np.nan, 0.0, np.nan], [1.0, 1.0, 1.0]])
    made = rank(Given().build(own), own)
    assert made.undefined == 3  # the query with itself is no pair
    assert [row[:2] for row in rows(made.run)] == [("i0", "i2"), ("i2", "i1"), ("i2", "i0")]


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=1, max_size=12), st.integers(1, 13))
def test_the_cut_is_that_of_a_run(scores: list[float], depth: int) -> None:
    items = [f"i{k}" for k in range(len(scores))]
    kept = best(np.array(scores), depth, pl.Series(items))
    told = [(s, i) for s, i in zip(scores, items, strict=True) if s == s]  # noqa: PLR0124
    expected = sorted(sorted(told, key=lambda pair: pair[1].encode(), reverse=True), key=lambda pair: -pair[0])[:depth]
    assert {items[k] for k in kept} == {item for _, item in expected}


def test_texts_and_latency() -> None:
    own = Material(("a", "b"), (("sky", "sea"), ("sea",)), {"scores": np.zeros((2, 2))}, np.ones(2, np.int64))
    index = Given().build(own)
    made = rank_texts(index, [("t1", ("sky",))], depth=1)
    assert rows(made.run) == [("t1", "a", 1)]
    assert len(latency(index, own, sample=1)) == 1


def test_taking_items_keeps_their_rows_together() -> None:
    ragged = Material(("a", "b", "c"), ((), ("w",), ()), {"x": np.arange(6)}, np.array([1, 3, 2]))
    taken = ragged.take([2, 1])
    assert taken.items == ("c", "b") and taken.words == ((), ("w",))
    assert taken.columns["x"].tolist() == [4, 5, 1, 2, 3]
    assert taken.counts.tolist() == [2, 3] and taken.offsets.tolist() == [0, 2, 5]
    assert ragged.take([0, 0]).columns["x"].tolist() == [0, 0]
    with pytest.raises(IndexError):
        ragged.take([3])
    for wrong in ([-1], np.array([True, False, True])):
        with pytest.raises(TableError, match="by their positions"):
            ragged.take(wrong)


def test_queries_of_later_blocks_keep_their_names() -> None:
    n = 150  # more than two blocks
    scores = np.zeros((n, n))
    scores[np.arange(n), (np.arange(n) + 7) % n] = 1
    own = material(scores.tolist())
    first = rank(Given().build(own), own, depth=1).run.frame
    assert first.select("query", "item").rows() == [(f"i{k}", f"i{(k + 7) % n}") for k in range(n)]


def test_nothing_to_rank_is_told() -> None:
    own = material([[1.0]])
    with pytest.raises(TextError, match="1 or more, not 0"):
        rank(Given().build(own), own, depth=0)
    with pytest.raises(TableError, match="no query to rank for"):
        rank(Given().build(own), own.take([]))
