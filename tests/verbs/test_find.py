"""Search: one query at a time, and a searcher that is opened once for many."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from endoxa.errors import CallError, FileError, JoinError, TextError
from endoxa.io import indexes, opening
from endoxa.io.opening import open_corpus
from endoxa.studies import score_mapping
from endoxa.verbs.find import find, open_searcher
from endoxa.verbs.index import index
from endoxa.verbs.run import run


def test_search_takes_items_files_and_words(indexed: Path) -> None:
    corpus = open_corpus(indexed)
    found = find(indexed, corpus.items[0], count=4)
    assert found.system == "integrated-regions" and found.frame.height == 4
    assert find(indexed, "sea", count=3).system == "keywords"
    with pytest.raises(TextError, match="neither an item nor a file"):
        find(indexed, "sea", "histograms")
    with pytest.raises(JoinError, match="rwmm knows none of the words of 'zzz', which is no item and no file"):
        find(indexed, "zzz", "rwmm")
    with pytest.raises(JoinError, match="'zzz' is neither an item nor a file, and no picture has the word 'zzz'"):
        find(indexed, "zzz", "keywords")
    near = corpus.items[0][:-1]
    with pytest.raises(FileError, match=r"no such file, and no picture of that name; did you mean .+/0000"):
        find(indexed, near + "x")


def test_files_that_swap_their_names_are_seen(tmp_path: Path) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        Image.new("RGB", (20, 20), colour).save(tmp_path / f"{name}.bmp")
        os.utime(tmp_path / f"{name}.bmp", (1_000_000, 1_000_000))
    index(tmp_path, ["histograms"], workers=1)
    assert find(tmp_path, "a", count=1).frame["item"].to_list() == ["c"]
    (tmp_path / "a.bmp").rename(tmp_path / "x")
    (tmp_path / "b.bmp").rename(tmp_path / "a.bmp")
    (tmp_path / "x").rename(tmp_path / "b.bmp")  # the same sizes and times
    with pytest.raises(FileError, match="2 changed"):
        find(tmp_path, "a", count=1)
    assert index(tmp_path, ["histograms"], workers=1).described == 2
    assert find(tmp_path, "b", count=1).frame["item"].to_list() == ["c"]


def test_an_item_is_found_by_what_one_sees(tmp_path: Path) -> None:
    (tmp_path / "my cats").mkdir()
    for number in range(3):
        Image.new("RGB", (16, 16), (80 * number, 0, 0)).save(tmp_path / "my cats" / f"cat {number}.png")
    index(tmp_path, ["histograms"], workers=1)
    typed = ["my_cats/cat_1", "my cats/cat 1", "my cats/cat 1.png", str(tmp_path / "my cats" / "cat 1.png")]
    found = [find(tmp_path, one).run.frame["query"].unique().to_list() for one in typed]
    assert found == [["my_cats/cat_1"]] * 4
    assert all(find(tmp_path, one).frame["item"].to_list() != "my_cats/cat_1" for one in typed)


def test_the_corpus_is_read_once_and_each_index_loaded_once(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, loaded = [], []
    read_corpus, load = opening.read_corpus, indexes.load
    monkeypatch.setattr(opening, "read_corpus", lambda *a, **k: read.append(a) or read_corpus(*a, **k))
    monkeypatch.setattr(indexes, "load", lambda folder, **k: loaded.append(folder.name) or load(folder, **k))
    searcher = open_searcher(indexed)
    assert (len(read), loaded) == (1, [])  # an index is loaded when it is first used
    items = searcher.corpus.items[:10]
    for item in items:
        assert find(searcher, item, "histograms", count=3).system == "histograms"
        assert find(searcher, "sea", count=3).system == "keywords"
        assert find(searcher, item, count=3).system == "integrated-regions"
    assert run(searcher, ["histograms", "random"], queries=items).run.systems == ["histograms", "random"]
    assert len(read) == 1
    assert sorted(loaded) == ["histograms", "integrated-regions", "random"]  # words need no index
    again = [find(indexed, item, "histograms", count=3) for item in items[:2]]
    assert len(read) == 3 and loaded.count("histograms") == 3  # without a searcher everything is read again
    for one, item in zip(again, items[:2], strict=True):
        assert one.frame.equals(find(searcher, item, "histograms", count=3).frame)
    with pytest.raises(TextError, match="give them to open_searcher"):
        find(searcher, "sea", home=indexed)


def test_words_on_an_ordinary_folder_need_no_index(tmp_path: Path) -> None:
    for place in ("Holidays 2019/BeachParty1.jpg", "Holidays 2019/IMG_0042.jpg", "dogs/rex_on_the_beach.png"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        Image.new("RGB", (16, 16)).save(tmp_path / place)
    (tmp_path / "dogs" / "rex_on_the_beach.txt").write_text("a brown mongrel\n")
    found = find(tmp_path, "beach")
    assert set(found.frame["item"]) == {"Holidays_2019/BeachParty1", "dogs/rex_on_the_beach"}
    assert (found.system, found.notes) == ("keywords", ())
    assert find(tmp_path, "mongrel").frame["item"].to_list() == ["dogs/rex_on_the_beach"]  # a caption beside it
    assert find(tmp_path, "2019").frame.height == 2
    assert find(tmp_path, "dogs zebra").notes == ("no picture has the word 'zebra'",)
    with pytest.raises(
        JoinError, match=r"no picture has the word 'beech' \(nearest: beach\); words come from the names"
    ):
        find(tmp_path, "beech")
    with pytest.raises(FileError, match="there is no index"):
        find(tmp_path, "dogs/rex_on_the_beach")
    for typed in ("rex.jpg", "dogs/rex", "~/rex", "./rex_on_the_beac", str(tmp_path / "dogs" / "rex_on_a_beach.png")):
        with pytest.raises(FileError, match="there is no such file, and no picture of that name"):
            find(tmp_path, typed)
    with pytest.raises(JoinError, match="neither an item nor a file"):
        find(tmp_path, "x" * 5000)
    assert not (tmp_path / ".endoxa").exists()


def test_folder_names_are_no_words_of_systems_that_learn(tmp_path: Path) -> None:
    (tmp_path / "dogs").mkdir()
    for number in range(3):
        Image.new("RGB", (16, 16), (90 * number, 0, 0)).save(tmp_path / "dogs" / f"rex{number}.png")
    index(tmp_path, ["keywords", "histograms"], workers=1)
    searcher = open_searcher(tmp_path)
    assert all(
        words == () for words in searcher.saved("keywords").index.material.words
    )  # folders are labels in a contest
    assert find(searcher, "dogs").frame.height == 3


def test_words_that_name_a_picture_too(tmp_path: Path) -> None:
    pets = tmp_path / "my pets"
    pets.mkdir()
    for number, name in enumerate(("cat", "black_cat", "dog")):
        Image.new("RGB", (16, 16), (90 * number, 0, 0)).save(pets / f"{name}.jpg")
    for system in (None, "keywords"):  # without an index it can only mean words
        found = find(pets, "cat", system)
        assert (found.system, found.total) == ("keywords", 2)
        assert found.frame["path"].to_list() == ["cat.jpg", "black_cat.jpg"]
        assert found.frame["matched"].to_list() == [["cat"], ["cat"]]
        assert found.notes == (("'cat' is taken as words; pictures like cat.jpg need an index",) if not system else ())
        assert find(pets, "black cat", system).frame["path"].to_list() == ["black_cat.jpg", "cat.jpg"]
    for typed, system, remedy in (
        ("cat.jpg", None, "images index '.+my pets'`"),
        ("cat", "histograms", "images index '.+my pets' -e histograms`"),
    ):
        with pytest.raises(FileError, match=f"there is no index.*{remedy}"):
            find(pets, typed, system)
    with pytest.raises(FileError, match="there is no index and no engine 'histogram'; did you mean histograms"):
        find(pets, "cat", "histogram")
    index(pets, ["keywords"], workers=1)
    assert find(pets, "cat").frame.height == 2  # an index of words looks at no picture
    index(pets, ["histograms"], workers=1)
    found = find(pets, "cat")
    assert (found.system, found.notes) == (
        "histograms",
        ("'cat' is taken as the picture cat.jpg; by words: -e keywords",),
    )
    assert find(pets, "cat.jpg").notes == ()
    assert find(pets, "cat", "keywords").frame["path"].to_list() == ["cat.jpg", "black_cat.jpg"]


def test_names_that_cameras_give_are_no_words(tmp_path: Path) -> None:
    for number in range(3):
        Image.new("RGB", (16, 16)).save(tmp_path / f"IMG_000{number}.jpg")
    for typed, system in (("flower", None), ("flower", "keywords"), ("IMG_0001", "keywords")):
        with pytest.raises(JoinError, match=r"no picture has any word here; .*without words, .*`endoxa search /"):
            find(tmp_path, typed, system)
    with pytest.raises(FileError, match="there is no index"):
        find(tmp_path, "IMG_0001")


def rated(indexed: Path, queries: int) -> pl.DataFrame:
    """Ratings of all results of some queries: 5 for the same category, 2 for the same first part, otherwise 1."""
    frame = open_corpus(indexed).frame.select("item", "category").sort("item")
    pairs = frame.head(queries).rename({"item": "query", "category": "of"}).join(frame, how="cross")
    part = pl.col("category").str.split("/").list.first() == pl.col("of").str.split("/").list.first()
    grade = pl.when(pl.col("category") == pl.col("of")).then(5.0).when(part).then(2.0).otherwise(1.0)
    pairs = pairs.filter(pl.col("query") != pl.col("item"))
    return pairs.select("query", "item", grade.alias("grade"), pl.lit("ann").alias("source"))


def test_ratings_of_other_queries_tell_good_matches_from_the_rest(indexed: Path) -> None:
    searcher = open_searcher(indexed)
    ratings, last = rated(indexed, 20), sorted(searcher.corpus.items)[-1]
    plain = find(searcher, last, "histograms", count=5)
    assert plain.matches is None and "rating" not in plain.frame.columns and plain.good == 0
    found = find(searcher, last, "histograms", count=5, ratings=ratings)
    assert found.matches is not None and found.matches.queries == 20 and found.matches.pairs == 20 * 29
    assert found.frame.drop("rating").equals(plain.frame) and found.run.frame.equals(plain.run.frame)
    assert found.frame["rating"].is_sorted(descending=True) and found.frame["rating"].is_between(1, 5).all()
    whole = find(searcher, last, "histograms", count=29, ratings=ratings)
    assert (
        whole.frame["rating"].head(5).equals(found.frame["rating"])
    )  # what is read is the whole list, not what is shown
    assert found.total == plain.total and found.matches.good == 3.5
    levels = [find(searcher, last, "histograms", count=29, ratings=ratings, good=level).good for level in (1.1, 2, 4.9)]
    assert levels == sorted(levels, reverse=True) and levels[0] > levels[-1]
    lost = find(searcher, last, "histograms", ratings=ratings.with_columns(pl.col("query").replace({last: "gone"})))
    assert not any("not used" in note for note in lost.notes)
    some = pl.concat([ratings, ratings.head(1).with_columns(query=pl.lit("gone"))])
    assert (
        "1 rated queries are not used: histograms has no list for them"
        in find(searcher, last, "histograms", ratings=some).notes
    )


def test_predictions_read_the_whole_list_not_what_is_shown(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_mapping, "choose", lambda given, y, fold: "z")
    searcher, ratings = open_searcher(indexed), rated(indexed, 20)
    last = sorted(searcher.corpus.items)[-1]
    few, many = (find(searcher, last, "histograms", count=count, ratings=ratings).frame for count in (6, 29))
    assert few["rating"].equals(many["rating"].head(6))


def test_ratings_of_words_are_for_words(indexed: Path) -> None:
    searcher = open_searcher(indexed)
    words = pl.DataFrame(
        {"query": ["sea", "zzz"] * 12, "item": (searcher.corpus.items * 2)[:24], "grade": [1.0, 5.0] * 12}
    )
    with pytest.raises(JoinError, match=r"keywords has no list for any of the 20 rated queries.+rate results of words"):
        find(searcher, "sea", ratings=rated(indexed, 20))
    with pytest.raises(JoinError, match=r"histograms has no list for any of the 2 rated.+of pictures of this corpus"):
        find(searcher, searcher.corpus.items[0], "histograms", ratings=words)
    with pytest.raises(JoinError, match="teach nothing about the scores of keywords"):
        find(searcher, "sea", ratings=words)


def test_bad_ratings_of_a_search(indexed: Path) -> None:
    item = open_corpus(indexed).items[0]
    with pytest.raises(JoinError, match=r"all rated pairs belong to one query.+rate results of a second query"):
        find(indexed, item, "histograms", ratings=rated(indexed, 1))
    with pytest.raises(CallError, match="learned from ratings"):
        find(indexed, item, "histograms", good=4)
    with pytest.raises(TextError, match="rated above 1 and at most 5, not 7"):
        find(indexed, item, "histograms", ratings=rated(indexed, 5), good=7)
