"""Indexing: what is computed, what is kept, and what is left out."""

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

from endoxa.errors import FileError, JoinError, TextError
from endoxa.images.corpus import Corpus
from endoxa.io import indexes
from endoxa.io.opening import open_corpus
from endoxa.verbs.contest import contest
from endoxa.verbs.find import open_searcher
from endoxa.verbs.index import index
from endoxa.verbs.run import run


def test_learning_from_some_and_searching_the_others(indexed: Path, tmp_path: Path) -> None:
    shutil.copytree(indexed / ".endoxa", tmp_path / "home")
    index(indexed, ["keywords", "romm"], settings={"romm": SMALL["romm"]}, train=0.5, home=tmp_path / "home", workers=1)
    searcher = open_searcher(indexed, home=tmp_path / "home")
    searched, learnt = set(searcher.saved("romm").index.items), searcher.saved("romm").train
    assert len(searched) == len(learnt) == 15 and not searched & learnt
    assert set(searcher.saved("keywords").index.items) == searched
    ran = run(indexed, ["romm"], home=tmp_path / "home")
    assert set(ran.run.frame["item"]) | set(ran.run.frame["query"]) == searched
    with pytest.raises(TextError, match="between 0 and 1"):
        index(indexed, ["keywords"], train=1.5, home=tmp_path / "home")


def test_vectors_of_your_own(indexed: Path, tmp_path: Path) -> None:
    corpus = open_corpus(indexed)
    write_vectors(tmp_path / "v.npz", corpus.items[:-1], np.random.default_rng(0).standard_normal((29, 5)))
    done = index(indexed, ["keywords"], vectors={"clip": tmp_path / "v.npz"}, home=tmp_path / "home")
    assert done.notes == ("clip: 1 of 30 pictures have no vector",)
    ran = run(indexed, home=tmp_path / "home")
    assert set(ran.run.systems) == {"keywords", "clip"}
    assert corpus.items[-1] not in set(ran.run.frame["query"])  # only what every system knows is asked
    write_vectors(tmp_path / "strange.npz", ["x"], np.ones((1, 5)))
    with pytest.raises(JoinError, match="none of its 1 items is in the corpus"):
        index(indexed, [], vectors={"clip": tmp_path / "strange.npz"}, home=tmp_path / "home")


def test_where_no_picture_has_words_rwmm_is_not_run_beside_romm(tmp_path: Path, monkeypatch) -> None:
    """Two equal systems would vote as one. An engine that was asked for by name stays, and a note says what it is."""
    from endoxa.engines import registry

    small = {"components": 2, "restarts": 1, "iterations": 3}
    rng = np.random.default_rng(1)
    for name in ("a1", "b2", "c3", "d4"):
        Image.fromarray(rng.integers(0, 255, (30, 40, 3), dtype=np.uint8)).save(tmp_path / f"{name}.png")
    monkeypatch.setattr(registry, "available", lambda _suits="": ("histograms", "romm", "rwmm"))
    sized = {"settings": {"romm": small, "rwmm": small}, "workers": 1}
    silent = Corpus.of(pl.DataFrame({"path": [f"{name}.png" for name in ("a1", "b2", "c3", "d4")]}), tmp_path)
    done = index(silent, home=tmp_path / "one", **sized)
    assert done.systems == ("histograms", "romm")
    assert done.notes == ("rwmm is left out: no picture has words, so that it is romm",)
    asked = index(silent, ["romm", "rwmm"], home=tmp_path / "two", **sized)
    assert asked.systems == ("romm", "rwmm") and asked.notes[0].startswith("no picture has words: rwmm learns from")
    ran = run(silent, home=tmp_path / "two").run.frame
    lists = [ran.filter(pl.col("system") == name).drop("system") for name in ("romm", "rwmm")]
    assert lists[0].equals(lists[1])  # the claim itself
    worded = Corpus.of(silent.frame.with_columns(words=pl.Series([["sea"]] * 4)), tmp_path)
    assert index(worded, home=tmp_path / "three", **sized).systems == ("histograms", "romm", "rwmm")


def test_faulty_pictures_are_left_out_by_name(tmp_path: Path) -> None:
    for name, colour in (("red", "red"), ("blue", "blue"), ("dot", "white")):
        Image.new("RGB", (1, 1) if name == "dot" else (40, 30), colour).save(tmp_path / f"{name}.png")
    whole = (tmp_path / "red.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[:50])
    (tmp_path / "posing.png").write_text("<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    done = index(tmp_path, ["histograms", "integrated-regions", "romm"], workers=1)
    assert [one.name for one in done.skipped] == ["cut", "posing"]
    ran = run(tmp_path)
    assert set(ran.run.frame["query"]) == {"red", "blue", "dot"}
    assert np.isfinite(ran.run.frame["score"].to_numpy()).all()


def test_nothing_to_index(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=str(tmp_path)):
        index(tmp_path)
    (tmp_path / "bad.png").write_bytes(b"no picture")
    with pytest.raises(JoinError, match="none of the 1 pictures could be described"):
        index(tmp_path, ["histograms"], workers=1)
    with pytest.raises(FileError, match="there is no index"):
        run(tmp_path)


def test_a_name_of_vectors_is_no_path(scenes: Path, tmp_path: Path) -> None:
    corpus = open_corpus(scenes)
    write_vectors(tmp_path / "v.npz", corpus.items, np.ones((30, 3)))
    before = sorted(path for path in scenes.rglob("*") if path.is_file())
    for name in ("../../masks", ".", "..", "a/b", ".hid", "", "keywords"):
        with pytest.raises(TextError):
            index(scenes, ["random"], vectors={name: tmp_path / "v.npz"}, workers=1)
    assert sorted(path for path in scenes.rglob("*") if path.is_file()) == before
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileError, match="is not an index, and is not replaced"):
        indexes.save(open_searcher(corpus).saved("random"), tmp_path / "mine")


def test_a_picture_that_could_not_be_read_is_tried_again(scenes: Path) -> None:
    corpus = open_corpus(scenes)
    path = scenes / corpus.frame["path"][2]
    content = path.read_bytes()
    path.unlink()
    some = index(corpus, ["histograms"], workers=1)
    assert [one.why for one in some.skipped] == ["cannot be read: No such file or directory"]
    path.write_bytes(content)
    assert not index(corpus, ["histograms"], workers=1).skipped


def test_what_is_known_is_not_built_again(scenes: Path, tmp_path: Path) -> None:
    names = ["keywords", "histograms", "romm"]
    how = {"settings": {"romm": SMALL["romm"]}, "workers": 1}
    index(scenes, names, **how)
    places = [scenes / ".endoxa" / "indexes" / name / "index.json" for name in names]
    before = [place.stat().st_mtime_ns for place in places]
    again = index(scenes, names, **how)
    assert [place.stat().st_mtime_ns for place in places] == before and again.described == 0
    assert (again.costs.frame["seconds"] >= 0).all()
    other = index(scenes, names, settings={"romm": {**SMALL["romm"], "components": 3}}, workers=1)
    assert other.notes == ("romm is built anew, with other settings: components 3, was 4",)
    assert [place.stat().st_mtime_ns == time for place, time in zip(places, before, strict=True)] == [True, True, False]
    seeded = index(scenes, ["romm"], settings={"romm": SMALL["romm"]}, seed=9, workers=1)
    assert seeded.costs.frame.height == 2 and places[2].stat().st_mtime_ns != before[2]


def test_every_system_searches_the_same_pictures(scenes: Path) -> None:
    """A picture that does not decode is left out of systems that look at words only, too."""
    corpus = open_corpus(scenes)
    broken = corpus.items[2]
    (scenes / corpus.frame["path"][2]).write_bytes(b"no picture")
    done = index(scenes, FAST, workers=1)
    assert [one.name for one in done.skipped] == [broken]
    assert broken not in done.items and len(done.items) == 29
    frame = run(scenes, FAST).run.frame
    assert broken not in set(frame["item"]) | set(frame["query"])
    result, _ = contest(scenes, FAST, sample=6, worlds=10, workers=1)
    assert any(broken in warning for warning in result.warnings)
    assert any("ties" in remark for remark in result.remarks)
    alone, _ = contest(scenes, ["keywords", "random"], sample=6, worlds=10)  # nothing was decoded
    assert alone.gallery is not None and broken not in json.loads(alone.gallery.pictures)
