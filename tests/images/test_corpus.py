"""A corpus: names, words in any script, what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs.models import believe
from endoxa.errors import JoinError, TableError
from endoxa.images.corpus import Corpus, items_of, labels_of, same_category, words_of


def test_words_of_captions_in_several_scripts() -> None:
    assert words_of("An Adelaide Rosella.") == ("adelaide", "rosella")
    assert words_of("Der Ölbaum – und ein Öl-Baum!") == ("der", "ölbaum", "und", "ein", "öl", "baum")
    assert words_of("Μια γάτα, μια ΓΆΤΑ") == ("μια", "γάτα")
    assert words_of("красная ЛИСА") == ("красная", "лиса")
    assert words_of("ﬁsh　魚") == ("fish", "魚")  # a ligature and a wide blank
    assert words_of("don’t_stop 3 birds") == ("don’t", "stop", "3", "birds")
    assert words_of("हिन्दी भाषा") == ("हिन्दी", "भाषा")  # vowel signs are marks, not letters
    assert words_of("İstanbul") == words_of("I\u0307stanbul")
    assert len(words_of("İstanbul, γῆ, שָׁלוֹם, ภาษาไทย")) == 4
    assert words_of("'rock ’n’ roll'") == ("rock", "n", "roll")
    assert words_of("") == () == words_of("the of a …")


def test_a_caption_gives_the_words_where_there_are_none() -> None:
    frame = pl.DataFrame({"path": ["a.png", "b.png"], "words": [["x", "x", "y"], None], "caption": ["A cat", "A cat"]})
    assert Corpus.of(frame, "/").words == (("x", "y"), ("cat",))


def test_items_are_paths_without_their_ending_where_that_tells_them_apart() -> None:
    paths = pl.Series(["a/x.png", "a/x.jpg", "b/my cat.png", "b/c.tar.png"])
    assert items_of(paths).to_list() == ["a/x.png", "a/x.jpg", "b/my_cat", "b/c.tar"]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TableError, match="needs a column 'path'"):
        Corpus.of(pl.DataFrame({"file": ["a"]}), "/")
    with pytest.raises(TableError, match="'x' occurs twice"):
        Corpus.of(pl.DataFrame({"item": ["x", "x"], "path": ["a", "b"]}), "/")
    with pytest.raises(TableError, match="expected lists of words"):
        Corpus.of(pl.DataFrame({"path": ["a"], "words": ["x y"]}), "/")


def test_categories_are_left_out_by_a_part_of_their_path() -> None:
    frame = pl.DataFrame({"path": ["1", "2", "3"], "category": ["animals/cartoon", "animals/birds", None]})
    kept = Corpus.of(frame, "/").within(without=["cartoon"])
    assert kept.items == ["2", "3"]
    assert Corpus.of(frame, "/").take([2, 0]).items == ["3", "1"]


def test_the_tree_as_labels() -> None:
    paths = [f"{kind}/{number}" for kind in ("animals/birds", "animals/cats", "sea") for number in range(4)]
    corpus = Corpus.of(pl.DataFrame({"path": paths, "category": [path.rpartition("/")[0] for path in paths]}), "/")
    kinds = dict(corpus.frame.select("item", "category").iter_rows())
    asked = corpus.items[:5]
    judged = same_category(corpus, asked).frame
    expected = {(q, i) for q in asked for i in corpus.items if i != q and kinds[i] == kinds[q]}
    assert set(judged.select("query", "item").iter_rows()) == expected
    labels, tree = labels_of(corpus)
    belief = believe(labels, "levels", taxonomy=tree, queries=asked)
    for query in asked:
        path = kinds[query].split("/")
        rows = belief.frame.filter(pl.col("query") == query)
        weights = rows.select("reading", "weight").unique()
        assert weights.height == len(path)  # one reading per category on the path below the root
        assert np.allclose(weights["weight"].to_numpy(), 1 / len(path))
        for item in corpus.items[5:9]:
            believed = rows.filter(pl.col("item") == item)
            depth = sum(kinds[item].split("/")[: n + 1] == path[: n + 1] for n in range(len(path)))
            assert (believed["weight"] * believed["p"]).sum() == pytest.approx(depth / len(path))


def test_a_corpus_without_categories_has_no_labels() -> None:
    with pytest.raises(JoinError, match="no picture has a category"):
        labels_of(Corpus.of(pl.DataFrame({"path": ["a", "b"]}), "/"))
