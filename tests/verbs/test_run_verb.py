"""Runs over pictures: queries from the corpus, from outside and of words, and what changed since indexing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from corpus_samples import FAST, SMALL
from PIL import Image
from vector_samples import write_vectors

from endoxa.engines.registry import ENGINES
from endoxa.errors import FileError, JoinError, TextError
from endoxa.io.opening import open_corpus
from endoxa.verbs.find import find
from endoxa.verbs.index import index
from endoxa.verbs.inputs import run_of
from endoxa.verbs.run import run


def test_every_engine_gives_a_run_without_the_query_itself(indexed: Path) -> None:
    ran = run(indexed, depth=10)
    corpus = open_corpus(indexed)
    assert set(ran.run.systems) == {name for name in ENGINES if name != "embeddings"}
    frame = ran.run.frame
    assert frame.filter(pl.col("item") == pl.col("query")).height == 0
    counts = frame.group_by("system", "query").len()
    pictured = counts.filter(pl.col("system") != "keywords")
    assert pictured.height == (len(ENGINES) - 2) * len(corpus) and (pictured["len"] == 10).all()
    words = dict(zip(corpus.items, corpus.words, strict=True))
    spoken = frame.filter(pl.col("system") == "keywords").select("query", "item").rows()
    assert spoken and all(set(words[q]) & set(words[i]) for q, i in spoken)
    costs = {(row["system"], row["phase"]) for row in ran.costs.frame.iter_rows(named=True)}
    assert ("histograms", "query") in costs and (ran.costs.frame["median"] > 0).all()
    assert any(note.startswith("keywords:") and "ties" in note for note in ran.notes)
    own = run(indexed, ["histograms"], itself=True, depth=1).run.frame
    assert (own["item"] == own["query"]).all()


def test_the_same_seed_gives_the_same_run(indexed: Path, tmp_path: Path) -> None:
    names = [name for name in ENGINES if name != "embeddings"]
    some = open_corpus(indexed).take(range(8))
    for home in ("one", "two"):
        index(some, names, settings=SMALL, workers=1, home=tmp_path / home)
    one, two = (run(some, home=tmp_path / home, depth=5).run.frame for home in ("one", "two"))
    assert one.equals(two)


def test_a_query_from_outside_is_described_as_the_pictures_were(indexed: Path, tmp_path: Path) -> None:
    corpus = open_corpus(indexed)
    outside = tmp_path / "my picture.jpg"
    shutil.copy(indexed / corpus.frame["path"][3], outside)
    ran = run(indexed, ["histograms", "integrated-regions"], queries=[str(outside)], depth=3).run.frame
    assert set(ran["query"]) == {"my_picture"}
    best = ran.filter(pl.col("rank") == 1)["item"].to_list()
    assert best == [corpus.items[3]] * 2  # the same picture under another name
    with pytest.raises(FileError, match=r"is neither an item of the corpus.* nor a file"):
        run(indexed, ["histograms"], queries=["nowhere.jpg"])
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(FileError, match=r"broken\.png"):
        run(indexed, ["histograms"], queries=[str(tmp_path / "broken.png")])


def test_words_are_asked_of_those_that_know_words(indexed: Path) -> None:
    ran = run(indexed, ["keywords", "histograms", "rwmm"], texts={"t1": "Sky", "t2": "sky and sea"}, depth=5)
    assert set(ran.run.systems) == {"keywords", "rwmm"}
    assert "histograms takes no text, and has no run" in ran.notes
    corpus = open_corpus(indexed)
    words = dict(zip(corpus.items, corpus.words, strict=True))
    first = ran.run.frame.filter((pl.col("system") == "keywords") & (pl.col("query") == "t1"))["item"].to_list()
    assert all("sky" in words[item] for item in first)
    with pytest.raises(TextError, match="none of the systems takes text"):
        run(indexed, ["histograms"], texts={"t": "sky"})


def test_a_corpus_that_changed_is_refused_and_told(scenes: Path) -> None:
    lines = (scenes / "manifest.jsonl").read_text().splitlines()
    first, second = json.loads(lines[0]), json.loads(lines[1])
    run(scenes, FAST, sample=2)  # as it was
    Image.new("RGB", (64, 48), "red").save(scenes / first["path"])
    with pytest.raises(FileError, match=r"changed since keywords was indexed: 1 changed \(.*index it again"):
        run(scenes, FAST)
    second["words"] = ["other"]
    third = {**second, "path": first["path"].replace(".jpg", "-new.jpg"), "words": ["new"]}
    Image.new("RGB", (64, 48), "blue").save(scenes / third["path"])
    kept = [lines[0], json.dumps(second), *lines[3:], json.dumps(third)]
    (scenes / "manifest.jsonl").write_text("\n".join(kept) + "\n")
    with pytest.raises(FileError, match=r"1 added \(.*1 removed \(.*1 changed \(.*1 given other words \("):
        run(scenes, FAST)
    again = index(scenes, FAST, workers=1)
    assert again.described == 2  # the changed and the new one
    assert len(run(scenes, FAST).run.frame["query"].unique()) == 30


def test_words_that_are_missing_are_no_score(tmp_path: Path) -> None:
    for number in range(3):
        Image.new("RGB", (8, 8)).save(tmp_path / f"p{number}.png")
    for name in ("p0", "p1"):
        (tmp_path / f"{name}.txt").write_text("Ein Fuchs\n", encoding="utf-8")
    Image.new("RGB", (8, 8)).save(tmp_path / "p3.png")
    index(tmp_path, ["keywords"])
    ran = run(tmp_path)
    assert set(ran.run.frame.select("query", "item").iter_rows()) == {("p0", "p1"), ("p1", "p0")}
    assert "keywords: 2 pairs of query and item have no score, and are not returned" in ran.notes  # p2 and p3


def test_a_file_called_like_an_item_is_another_picture(indexed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "flat"
    folder.mkdir()
    for number in range(5):
        Image.new("RGB", (16, 16), (50 * number, 0, 0)).save(folder / f"b{number}.png")
    index(folder, ["histograms"], workers=1)
    (tmp_path / "out").mkdir()
    outside = tmp_path / "out" / "b3.png"
    shutil.copy(folder / "b3.png", outside)
    frame = run(folder, queries=[str(outside), str(outside), "b3"]).run.frame
    assert set(frame["query"]) == {"b3~", "b3"}
    assert frame.filter(pl.col("query") == "b3~")["item"][0] == "b3"
    (tmp_path / "again").mkdir()
    shutil.copy(outside, tmp_path / "again" / "b3.png")
    with pytest.raises(TextError, match="two queries are called 'b3~'"):
        run(folder, queries=[str(outside), str(tmp_path / "again" / "b3.png")])


def test_a_system_that_returns_nothing_is_told(tmp_path: Path) -> None:
    for number in range(4):
        Image.new("RGB", (16, 16), (60 * number, 0, 0)).save(tmp_path / f"#{number}.png")
    index(tmp_path, FAST, workers=1)
    ran = run(tmp_path, FAST)
    assert ran.run.systems == ["histograms", "random"]
    why = ": no picture has a word; they come from captions"
    assert any(note.startswith(f"keywords returned nothing, and has no run{why}") for note in ran.notes)
    assert set(ran.run.frame["item"]) == {"_0", "_1", "_2", "_3"}  # a line of a run must not begin with #
    with pytest.raises(JoinError, match="no system returned anything"):
        run(tmp_path, ["keywords"])


def test_systems_that_search_different_pictures_are_not_mixed(scenes: Path) -> None:
    index(scenes, ["keywords"], train=0.5)
    with pytest.raises(JoinError, match="search different pictures, for they were indexed with different --train"):
        run(scenes, ["keywords", "random"])
    assert run(scenes, ["random"]).run.systems == ["random"]
    assert find(scenes, "sky").system == "keywords"


def test_queries_that_a_system_lacks_are_told(indexed: Path, tmp_path: Path) -> None:
    corpus = open_corpus(indexed)
    write_vectors(tmp_path / "v.npz", corpus.items[:20], np.random.default_rng(0).standard_normal((20, 4)))
    index(indexed, ["random"], vectors={"clip": tmp_path / "v.npz"}, home=tmp_path / "home")
    assert "20 of 30 pictures are queries: clip lacks 10" in run(indexed, home=tmp_path / "home").notes


def test_runs_are_written_to_a_folder(indexed: Path, tmp_path: Path) -> None:
    ran = run(indexed, FAST, sample=5, depth=4, to=tmp_path / "deep" / "runs")
    paths = sorted((tmp_path / "deep" / "runs").iterdir())
    assert [path.name for path in paths] == ["costs.csv", "histograms.run", "keywords.run", "random.run"]
    assert run_of([str(path) for path in paths[1:]]).frame["query"].n_unique() == 5
    assert ran.pictures == 30
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        run(indexed, ["random"], sample=2, to=tmp_path / "file" / "runs")


def test_settings_that_do_not_go_together_are_refused(indexed: Path) -> None:
    item = open_corpus(indexed).items[0]
    with pytest.raises(TextError, match="queries or texts, not both"):
        run(indexed, ["keywords"], queries=[item], texts={"t": "sky"})
    for given in ({"queries": [item]}, {"texts": {"t": "sky"}}):
        with pytest.raises(TextError, match="sample draws queries from the corpus"):
            run(indexed, ["keywords"], sample=3, **given)
    with pytest.raises(FileError, match="there is no index and no engine 'keyword'; did you mean keywords"):
        run(indexed, ["keyword"])
