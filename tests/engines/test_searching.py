"""A searcher: many queries against indexes in memory, without any file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.engines import Material, Saved
from endoxa.engines.ranking import rank
from endoxa.engines.registry import engine
from endoxa.engines.searching import Outside, Searcher, Text
from endoxa.errors import FileError, JoinError, TextError
from endoxa.images import Picture
from endoxa.images.corpus import Corpus

WORDS = [["sky", "sea"], ["sky", "sea", "boat"], ["cat"], ["cat", "sofa"], []]


def pixels(value: int) -> Picture:
    return Picture(np.full((32, 32, 3), value, np.uint8))


class Opened:
    """A searcher over five pictures, and the systems that it loaded, in order."""

    def __init__(self, **facts: dict[str, list[str]]) -> None:
        items = [f"i{number}" for number in range(len(WORDS))]
        frame = pl.DataFrame({"item": items, "path": items, "words": WORDS, "category": ["a", "a", "b", "b", None]})
        self.corpus = Corpus.of(frame, "/corpus")
        self.loaded: list[str] = []
        self.facts = facts
        self.searcher = Searcher(self.corpus, ("keywords", "histograms", "vectors"), self.load)

    def load(self, system: str) -> Saved:
        self.loaded.append(system)
        items, words = tuple(self.corpus.items), self.corpus.words
        one = engine("embeddings", source="file") if system == "vectors" else engine(system)
        if system == "vectors":
            rows = np.eye(len(items), 3, dtype=np.float32)
            material = Material(items[:3], words[:3], {"vector": rows[:3]}, np.ones(3, np.int64))
        elif one.descriptor is not None:
            parts = [one.descriptor.describe(pixels(40 * number)) for number in range(len(items))]
            columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            material = Material(items, words, columns, np.ones(len(items), np.int64))
        else:
            material = Material(items, words)
        return Saved(one.build(material), {}, self.facts.get(system, {}))


def test_each_index_is_loaded_once_when_it_is_first_used() -> None:
    opened = Opened()
    assert opened.loaded == []
    for item in ("i0", "i1", "i2"):
        opened.searcher.search(item, "keywords")
        opened.searcher.search(item, "histograms")
    opened.searcher.run(["i0"], ["keywords", "histograms"])
    assert opened.loaded == ["keywords", "histograms"]


def test_a_search_gives_what_ranking_gives_with_what_is_known() -> None:
    opened = Opened()
    found = opened.searcher.search("i0", count=3)
    assert found.system == "histograms"
    index = opened.searcher.saved("histograms").index
    expected = rank(index, index.material.take([0]), depth=3).run.frame
    assert found.run.frame.equals(expected)
    assert found.frame.columns == ["item", "rank", "score", "path", "words", "category", "caption", "matched"]
    assert found.total == 4 and found.frame["matched"].to_list() == [[], [], []]
    known = dict(zip(opened.corpus.items, WORDS, strict=True))
    assert found.frame["words"].to_list() == [known[item] for item in found.frame["item"]]


def test_words_and_pictures_from_outside() -> None:
    searcher = Opened().searcher
    found = searcher.search(Text("t", "a boat at sea"))
    assert found.system == "keywords" and found.frame["item"].to_list() == ["i1", "i0"]
    assert found.frame["matched"].to_list() == [["boat", "sea"], ["sea"]]
    assert searcher.search(Text("t", "sea"), count=1).total == 2  # all that match, not those that are returned
    decoded = []
    outside = Outside("mine", "/mine.png", lambda: decoded.append(1) or pixels(80), ("cat",))
    assert searcher.search(outside, "keywords").frame["item"].to_list() == ["i2", "i3"] and not decoded
    assert searcher.search(outside, "histograms", count=1).frame["item"].to_list() == ["i2"] and decoded == [1]
    ran = searcher.run(["i2", outside], ["histograms"], depth=2)
    assert ran.run.frame["query"].unique(maintain_order=True).to_list() == ["i2", "mine"] and ran.pictures == 5
    with pytest.raises(FileError, match=r"/mine\.png: has no vector"):
        searcher.search(outside, "vectors")
    with pytest.raises(TextError, match="two queries are called 'mine'"):
        searcher.run([outside, Outside("mine", "/other.png", lambda: pixels(0))], ["histograms"])


def test_queries_are_what_every_system_knows_or_a_sample_of_it() -> None:
    searcher = Opened().searcher
    ran = searcher.run(systems=["histograms", "vectors"])
    assert set(ran.run.frame["query"]) == {"i0", "i1", "i2"}
    assert ran.notes[0] == "3 of 5 pictures are queries: vectors lacks 2"
    drawn = [searcher.run(systems=["histograms"], sample=2, seed=seed).run.frame["query"].unique() for seed in (1, 1)]
    assert len(drawn[0]) == 2 and set(drawn[0]) == set(drawn[1])


def test_what_cannot_be_answered_is_refused() -> None:
    searcher = Opened().searcher
    with pytest.raises(JoinError, match="'i4' is in the corpus but not in the index of vectors"):
        searcher.search("i4", "vectors")
    with pytest.raises(JoinError, match="keywords returns nothing for 'i4'"):
        searcher.search("i4", "keywords")
    with pytest.raises(JoinError, match="'i9' is neither an item nor a file, and no picture has the word 'i9'"):
        searcher.search(Text("t", "i9"))
    with pytest.raises(TextError, match="'sky' is neither an item nor a file, and histograms takes no text"):
        searcher.search(Text("t", "sky"), "histograms")
    with pytest.raises(FileError, match="there is no index and no engine 'keyword'; did you mean keywords"):
        searcher.saved("keyword")
    with pytest.raises(TextError, match="either pictures or words"):
        searcher.run(["i0", Text("t", "sky")], ["keywords"])
    with pytest.raises(TextError, match="leave it out where queries are given"):
        searcher.run(["i0"], ["keywords"], sample=1)
    with pytest.raises(TextError, match="none of the systems takes text: histograms"):
        searcher.run([Text("t", "sky")], ["histograms"])


def test_systems_that_search_different_pictures_are_not_compared() -> None:
    searcher = Opened(vectors={"train": ["i3", "i4"]}).searcher
    assert searcher.saved("vectors").train == {"i3", "i4"}
    with pytest.raises(JoinError, match="keywords and vectors search different pictures"):
        searcher.run(["i0"], ["vectors", "keywords"])
    assert searcher.run(["i0"], ["vectors"]).run.systems == ["vectors"]
