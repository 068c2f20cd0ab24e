"""Interactive search from Python: in memory over a folder of pictures, and what is done with stored searches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import endoxa
from endoxa.errors import FileError, RefusedError, TextError
from endoxa.io.opening import open_corpus
from endoxa.io.search_features import open_features
from endoxa.searches.arms import Features
from endoxa.verbs import search as verb
from endoxa.verbs import study
from endoxa.verbs.compose import compose


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Features]:
    """Twenty scenes and their features."""
    folder = tmp_path_factory.mktemp("pictures") / "scenes"
    compose(folder, 20, seed=4)
    return folder, open_features(open_corpus(folder), workers=1)


def test_a_search_in_memory(pictures: tuple[Path, Features]) -> None:
    folder, features = pictures
    search = endoxa.search(folder, size=6, seed=2, workers=1)
    assert search.features.items == features.items
    page = search.show()
    assert len(page) == 6
    for place in page.places[:2]:
        search.mark(int(place), 2)
    assert len(search.refine()) == 6
    assert len(search.opinions()) == 2 and search.run().systems == ["round-01", "round-02"]
    assert search.events[-1].at > 1.7e9, "events have their time"
    same = endoxa.search(features, size=6, seed=2)
    assert same.show().places.tolist() == page.places.tolist()


def test_pictures_and_sketches_from_files(pictures: tuple[Path, Features], tmp_path: Path) -> None:
    folder, features = pictures
    corpus = open_corpus(folder)
    item = features.items[7]
    file = folder / corpus.frame["path"][corpus.rows[item]]
    search = endoxa.search(features, size=5)
    search.picture(file)
    assert search.page is not None and search.page.items[0] == item
    search.picture(str(file), crop=(0, 0, 0.5, 0.5))
    assert search.state.query.crop == (0, 0, 0.5, 0.5) and len(search.points) == 2
    assert search.picture(item).places.tolist().count(7) == 0
    canvas = np.zeros((256, 256, 4), np.uint8)
    canvas[:100] = (20, 60, 200, 255)
    Image.fromarray(canvas).save(tmp_path / "sketch.png")
    search.picture(None)
    page = search.sketch(tmp_path / "sketch.png")
    assert set(page.slots) == {"best"} and page.mean.max() > -1
    Image.fromarray(canvas[:10]).save(tmp_path / "small.png")
    (tmp_path / "page.jpg").write_text("<html>")
    events = len(search.events)
    for act in (
        lambda: search.sketch(tmp_path / "small.png"), lambda: search.picture(tmp_path / "page.jpg"),
        lambda: search.picture(tmp_path / "none.jpg"), lambda: search.picture("nothing"),
    ):  # fmt: skip
        with pytest.raises(endoxa.EndoxaError):
            act()
    assert len(search.events) == events, "what cannot be read has not happened"


@pytest.fixture
def stored(pictures: tuple[Path, Features], tmp_path: Path) -> tuple[Path, str]:
    from stored_search_samples import stored_search

    return stored_search(tmp_path, pictures[0])


def test_a_stored_search_replays_exactly(stored: tuple[Path, str], pictures: tuple[Path, Features]) -> None:
    home, name = stored
    outcome = verb.replayed(name, home=home)
    assert outcome.exact and outcome.pages == 2
    assert verb.replayed(name, pictures[0], home=home).exact
    with pytest.raises(RefusedError, match="no search is called"):
        verb.replayed("nothing", home=home)
    with pytest.raises(FileError, match="no features"):
        verb.replayed(name, home=home, index=home)


def test_searches_are_listed(stored: tuple[Path, str], tmp_path: Path) -> None:
    home, name = stored
    row = verb.searches(home=home).row(0, named=True)
    assert (row["search"], row["title"], row["rounds"], row["marks"], row["found"]) == (name, "cows", 2, 4, 1)
    assert row["closed"]
    with pytest.raises(FileError, match="endoxa search PHOTOS"):
        verb.searches(home=tmp_path / "none")


def test_parts_are_exported(stored: tuple[Path, str], tmp_path: Path) -> None:
    home, name = stored
    assert verb.export(name, tmp_path / "marks.csv", home=home) == 5  # four marks, and what was found
    marks = endoxa.read(tmp_path / "marks.csv")
    assert isinstance(marks, endoxa.Opinions)
    assert sorted(marks.frame["grade"]) == [0, 1, 3, 4, 4] and set(marks.frame["selected_by"]) == {"best"}
    verb.export(name, tmp_path / "rounds.run", part="rounds", home=home)
    rounds = endoxa.read(tmp_path / "rounds.run")
    assert isinstance(rounds, endoxa.Run) and rounds.systems == ["round-01", "round-02"]
    assert verb.export(name, tmp_path / "found.csv", part="found", home=home) == 1
    assert isinstance(endoxa.read(tmp_path / "found.csv"), endoxa.Answers)
    with pytest.raises(TextError, match="did you mean marks"):
        verb.export(name, tmp_path / "x.csv", part="mark", home=home)
    # Rounds are evaluated against the marks like any run against judgments.
    verb.export(name, tmp_path / "marks.qrels", home=home)
    scores = endoxa.measure(str(tmp_path / "rounds.run"), str(tmp_path / "marks.qrels"), ["P(rel=3)@5"])
    assert scores.to_dict()["round-01"][name]["P(rel=3)@5"] == pytest.approx(2 / 5)


def test_others_are_asked_the_same(stored: tuple[Path, str], tmp_path: Path) -> None:
    home, name = stored
    assert verb.ask_others(name, tmp_path / "judged", home=home) == 10
    parts = {part: tmp_path / "judged" / f"{part}.csv" for part in ("items", "queries", "pairs")}
    assert pl.read_csv(parts["queries"])["text"].to_list() == ["cows; a picture like this one"]
    planned = study.new("judged", screen=verb.SCREEN, **parts, home=home, settings={"seed": 1})
    assert planned.tasks >= 10


def test_what_was_learnt_is_reset(stored: tuple[Path, str], pictures: tuple[Path, Features]) -> None:
    home, _ = stored
    assert verb.reset(pictures[0], home=home) == len(pictures[1].arms)
    assert verb.reset(pictures[0], home=home) == 0
