"""The verbs for pictures: from a folder to runs, what changed since, what is asked from outside."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from endoxa import contests, doubt, pictures
from endoxa.engines import Material
from endoxa.engines.ranking import rank
from endoxa.engines.registry import ENGINES, KINDS, engine, kind_of, restore
from endoxa.errors import FileError, JoinError, TextError
from endoxa.io import indexes
from endoxa.io.scenes import write_scenes
from endoxa.io.vectors import write_vectors

FAST = ["keywords", "histograms", "random"]
SMALL = {
    "rwmm": {"components": 4, "restarts": 1, "iterations": 5},
    "romm": {"components": 4, "restarts": 1, "iterations": 5},
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty scenes, indexed by every system that needs no model from elsewhere."""
    folder = tmp_path_factory.mktemp("pictures") / "scenes"
    write_scenes(folder, 30, seed=4)
    names = [name for name in ENGINES if name != "embeddings"]
    pictures.index(folder, names, settings=SMALL, workers=1)
    return folder


@pytest.fixture
def scenes(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil; the times of the files are kept, so that nothing is described again."""
    return Path(shutil.copytree(made, tmp_path / "scenes"))


def test_every_engine_gives_a_run_without_the_query_itself(made: Path) -> None:
    ran = pictures.run(made, depth=10)
    corpus = pictures.open_corpus(made)
    assert set(ran.run.systems) == {name for name in ENGINES if name != "embeddings"}
    frame = ran.run.frame
    assert frame.filter(pl.col("item") == pl.col("query")).height == 0
    counts = frame.group_by("system", "query").len()
    pictured = counts.filter(pl.col("system") != "keywords")
    assert pictured.height == 7 * len(corpus) and (pictured["len"] == 10).all()
    words = dict(zip(corpus.items, corpus.words, strict=True))
    spoken = frame.filter(pl.col("system") == "keywords").select("query", "item").rows()
    assert spoken and all(set(words[q]) & set(words[i]) for q, i in spoken)
    costs = {(row["system"], row["phase"]) for row in ran.costs.frame.iter_rows(named=True)}
    assert ("histograms", "query") in costs and (ran.costs.frame["median"] > 0).all()
    assert any(note.startswith("keywords:") and "ties" in note for note in ran.notes)
    own = pictures.run(made, ["histograms"], itself=True, depth=1).run.frame
    assert (own["item"] == own["query"]).all()


def test_the_same_seed_gives_the_same_run(made: Path, tmp_path: Path) -> None:
    names = [name for name in ENGINES if name != "embeddings"]
    some = pictures.open_corpus(made).take(range(8))
    for home in ("one", "two"):
        pictures.index(some, names, settings=SMALL, workers=1, home=tmp_path / home)
    one, two = (pictures.run(some, home=tmp_path / home, depth=5).run.frame for home in ("one", "two"))
    assert one.equals(two)


def test_saved_engines_come_back(made: Path) -> None:
    for name, (kind, _) in ENGINES.items():
        one = engine(name)
        assert kind_of(one) == kind and isinstance(one, KINDS[kind])
        plain = json.loads(json.dumps(one.__dict__))
        assert restore(kind, plain) == one
    with pytest.raises(TextError, match="did you mean histograms"):
        engine("histogram")
    with pytest.raises(TextError, match=r"no setting 'component'.*did you mean components"):
        engine("rwmm", component=3)


def test_a_query_from_outside_is_described_as_the_pictures_were(made: Path, tmp_path: Path) -> None:
    corpus = pictures.open_corpus(made)
    outside = tmp_path / "my picture.jpg"
    shutil.copy(made / corpus.frame["path"][3], outside)
    ran = pictures.run(made, ["histograms", "integrated-regions"], queries=[str(outside)], depth=3).run.frame
    assert set(ran["query"]) == {"my_picture"}
    best = ran.filter(pl.col("rank") == 1)["item"].to_list()
    assert best == [corpus.items[3]] * 2  # the same picture under another name
    with pytest.raises(FileError, match=r"is neither an item of the index.* nor a file"):
        pictures.run(made, ["histograms"], queries=["nowhere.jpg"])
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(FileError, match=r"broken\.png"):
        pictures.run(made, ["histograms"], queries=[str(tmp_path / "broken.png")])


def test_words_are_asked_of_those_that_know_words(made: Path) -> None:
    ran = pictures.run(made, ["keywords", "histograms", "rwmm"], texts={"t1": "Sky", "t2": "sky and sea"}, depth=5)
    assert set(ran.run.systems) == {"keywords", "rwmm"}
    assert "histograms takes no text, and has no run" in ran.notes
    corpus = pictures.open_corpus(made)
    words = dict(zip(corpus.items, corpus.words, strict=True))
    first = ran.run.frame.filter((pl.col("system") == "keywords") & (pl.col("query") == "t1"))["item"].to_list()
    assert all("sky" in words[item] for item in first)
    with pytest.raises(TextError, match="none of the systems takes text"):
        pictures.run(made, ["histograms"], texts={"t": "sky"})


def test_search_takes_items_files_and_words(made: Path) -> None:
    corpus = pictures.open_corpus(made)
    found = pictures.search(made, corpus.items[0], count=4)
    assert found.system == "integrated-regions" and found.frame.height == 4
    assert pictures.search(made, "sea", count=3).system == "keywords"
    with pytest.raises(TextError, match="neither an item nor a file"):
        pictures.search(made, "sea", "histograms")
    for system in ("rwmm", "keywords"):
        with pytest.raises(JoinError, match=f"{system} knows none of the words of 'zzz', which is no item and no file"):
            pictures.search(made, "zzz", system)
    near = corpus.items[0][:-1]
    with pytest.raises(JoinError, match="did you mean"):
        pictures.search(made, near + "x")


def test_a_corpus_that_changed_is_refused_and_told(scenes: Path) -> None:
    lines = (scenes / "manifest.jsonl").read_text().splitlines()
    first, second = json.loads(lines[0]), json.loads(lines[1])
    pictures.run(scenes, FAST, sample=2)  # as it was
    Image.new("RGB", (64, 48), "red").save(scenes / first["path"])
    with pytest.raises(FileError, match=r"changed since keywords was indexed: 1 changed \(.*index it again"):
        pictures.run(scenes, FAST)
    second["words"] = ["other"]
    third = {**second, "path": first["path"].replace(".jpg", "-new.jpg"), "words": ["new"]}
    Image.new("RGB", (64, 48), "blue").save(scenes / third["path"])
    kept = [lines[0], json.dumps(second), *lines[3:], json.dumps(third)]
    (scenes / "manifest.jsonl").write_text("\n".join(kept) + "\n")
    with pytest.raises(FileError, match=r"1 added \(.*1 removed \(.*1 changed \(.*1 given other words \("):
        pictures.run(scenes, FAST)
    again = pictures.index(scenes, FAST, workers=1)
    assert again.described == 2  # the changed and the new one
    assert len(pictures.run(scenes, FAST).run.frame["query"].unique()) == 30


def test_learning_from_some_and_searching_the_others(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / ".endoxa", tmp_path / "home")
    pictures.index(
        made, ["keywords", "romm"], settings={"romm": SMALL["romm"]}, train=0.5, home=tmp_path / "home", workers=1
    )
    saved = pictures.load(pictures.open_corpus(made), ["keywords", "romm"], home=tmp_path / "home")
    searched, learnt = set(saved["romm"].index.items), set(saved["romm"].facts["train"])
    assert len(searched) == len(learnt) == 15 and not searched & learnt
    assert set(saved["keywords"].index.items) == searched
    ran = pictures.run(made, ["romm"], home=tmp_path / "home")
    assert set(ran.run.frame["item"]) | set(ran.run.frame["query"]) == searched
    with pytest.raises(TextError, match="between 0 and 1"):
        pictures.index(made, ["keywords"], train=1.5, home=tmp_path / "home")


def test_vectors_of_your_own(made: Path, tmp_path: Path) -> None:
    corpus = pictures.open_corpus(made)
    write_vectors(tmp_path / "v.npz", corpus.items[:-1], np.random.default_rng(0).standard_normal((29, 5)))
    done = pictures.index(made, ["keywords"], vectors={"clip": tmp_path / "v.npz"}, home=tmp_path / "home")
    assert done.notes == ("clip: 1 of 30 pictures have no vector",)
    ran = pictures.run(made, home=tmp_path / "home")
    assert set(ran.run.systems) == {"keywords", "clip"}
    assert corpus.items[-1] not in set(ran.run.frame["query"])  # only what every system knows is asked
    write_vectors(tmp_path / "strange.npz", ["x"], np.ones((1, 5)))
    with pytest.raises(JoinError, match="none of its 1 items is in the corpus"):
        pictures.index(made, [], vectors={"clip": tmp_path / "strange.npz"}, home=tmp_path / "home")


def test_faulty_pictures_are_left_out_by_name(tmp_path: Path) -> None:
    for name, colour in (("red", "red"), ("blue", "blue"), ("dot", "white")):
        Image.new("RGB", (1, 1) if name == "dot" else (40, 30), colour).save(tmp_path / f"{name}.png")
    whole = (tmp_path / "red.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[:50])
    (tmp_path / "posing.png").write_text("<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    done = pictures.index(tmp_path, ["histograms", "integrated-regions", "romm"], workers=1)
    assert [one.name for one in done.skipped] == ["cut", "posing"]
    ran = pictures.run(tmp_path)
    assert set(ran.run.frame["query"]) == {"red", "blue", "dot"}
    assert np.isfinite(ran.run.frame["score"].to_numpy()).all()


def test_nothing_to_index(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=str(tmp_path)):
        pictures.index(tmp_path)
    (tmp_path / "bad.png").write_bytes(b"no picture")
    with pytest.raises(JoinError, match="none of the 1 pictures could be described"):
        pictures.index(tmp_path, ["histograms"], workers=1)
    with pytest.raises(FileError, match="there is no index"):
        pictures.run(tmp_path)


def test_words_that_are_missing_are_no_score(tmp_path: Path) -> None:
    for number in range(3):
        Image.new("RGB", (8, 8)).save(tmp_path / f"p{number}.png")
    for name in ("p0", "p1"):
        (tmp_path / f"{name}.txt").write_text("Ein Fuchs\n", encoding="utf-8")
    Image.new("RGB", (8, 8)).save(tmp_path / "p3.png")
    pictures.index(tmp_path, ["keywords"])
    ran = pictures.run(tmp_path)
    assert set(ran.run.frame.select("query", "item").iter_rows()) == {("p0", "p1"), ("p1", "p0")}
    assert "keywords: 2 pairs of query and item have no score, and are not returned" in ran.notes  # p2 and p3


def test_an_index_of_another_format_is_refused(scenes: Path) -> None:
    place = scenes / ".endoxa" / "indexes" / "keywords" / "index.json"
    told = json.loads(place.read_text())
    place.write_text(json.dumps({**told, "format": 0}))
    with pytest.raises(
        FileError, match=r"index of format 0, written by endoxa 0\.1\.0; this one reads format 1; build it again"
    ):
        pictures.run(scenes, ["keywords"])
    place.write_text("{")
    with pytest.raises(FileError, match=r"index\.json: is damaged"):
        pictures.run(scenes, ["keywords"])
    (place.parent / "items.parquet").unlink()
    place.write_text(json.dumps(told))
    with pytest.raises(FileError, match="is damaged"):
        pictures.run(scenes, ["keywords"])


def test_an_index_is_what_was_saved(made: Path, tmp_path: Path) -> None:
    corpus = pictures.open_corpus(made)
    for name, saved in pictures.load(corpus).items():
        size = indexes.save(saved, tmp_path / name)
        assert size == sum(file.stat().st_size for file in (tmp_path / name).iterdir())
        again = indexes.load(tmp_path / name)
        assert again.index.engine == saved.index.engine and again.digests == saved.digests
        material: Material = again.index.material.take([0, 5])
        one, two = (rank(index, material).run.frame for index in (saved.index, again.index))
        assert one.equals(two)


def test_the_tree_as_labels(made: Path) -> None:
    corpus = pictures.open_corpus(made)
    kinds = dict(corpus.frame.select("item", "category").iter_rows())
    asked = corpus.items[:5]
    judged = pictures.same_leaf(corpus, asked).frame
    expected = {(q, i) for q in asked for i in corpus.items if i != q and kinds[i] == kinds[q]}
    assert set(judged.select("query", "item").iter_rows()) == expected
    labels, tree = pictures.categories(corpus)
    belief = doubt.believe(labels, "levels", taxonomy=tree, queries=asked)
    for query in asked:
        path = kinds[query].split("/")
        rows = belief.frame.filter(pl.col("query") == query)
        weights = rows.select("reading", "weight").unique()
        assert weights.height == len(path)  # one reading per category on the path below the root
        assert np.allclose(weights["weight"].to_numpy(), 1 / len(path))
        for item in corpus.items[5:9]:
            held = rows.filter(pl.col("item") == item)
            depth = sum(kinds[item].split("/")[: n + 1] == path[: n + 1] for n in range(len(path)))
            assert (held["weight"] * held["p"]).sum() == pytest.approx(depth / len(path))


def test_a_name_of_vectors_is_no_path(scenes: Path, tmp_path: Path) -> None:
    corpus = pictures.open_corpus(scenes)
    write_vectors(tmp_path / "v.npz", corpus.items, np.ones((30, 3)))
    before = sorted(path for path in scenes.rglob("*") if path.is_file())
    for name in ("../../masks", ".", "..", "a/b", ".hid", "", "keywords"):
        with pytest.raises(TextError):
            pictures.index(scenes, ["random"], vectors={name: tmp_path / "v.npz"}, workers=1)
    assert sorted(path for path in scenes.rglob("*") if path.is_file()) == before
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileError, match="is no index, and is not replaced"):
        indexes.save(pictures.load(corpus, ["random"])["random"], tmp_path / "mine")


def test_every_system_searches_the_same_pictures(scenes: Path) -> None:
    """A picture that does not decode is left out of systems that look at words only, too."""
    corpus = pictures.open_corpus(scenes)
    broken = corpus.items[2]
    (scenes / corpus.frame["path"][2]).write_bytes(b"no picture")
    done = pictures.index(scenes, FAST, workers=1)
    assert [one.name for one in done.skipped] == [broken]
    assert broken not in done.items and len(done.items) == 29
    frame = pictures.run(scenes, FAST).run.frame
    assert broken not in set(frame["item"]) | set(frame["query"])
    made, _ = contests.contest(scenes, FAST, sample=6, worlds=10, workers=1)
    assert any(broken in warning for warning in made.warnings)
    assert any("ties" in remark for remark in made.remarks)
    alone, _ = contests.contest(scenes, ["keywords", "random"], sample=6, worlds=10)  # nothing was decoded
    assert alone.gallery is not None and broken not in json.loads(alone.gallery.pictures)


def test_a_picture_that_could_not_be_read_is_tried_again(scenes: Path) -> None:
    corpus = pictures.open_corpus(scenes)
    path = scenes / corpus.frame["path"][2]
    content = path.read_bytes()
    path.unlink()
    some = pictures.index(corpus, ["histograms"], workers=1)
    assert [one.why for one in some.skipped] == ["cannot be read: No such file or directory"]
    path.write_bytes(content)
    assert not pictures.index(corpus, ["histograms"], workers=1).skipped


def test_files_that_swap_their_names_are_seen(tmp_path: Path) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        Image.new("RGB", (20, 20), colour).save(tmp_path / f"{name}.bmp")
        os.utime(tmp_path / f"{name}.bmp", (1_000_000, 1_000_000))
    pictures.index(tmp_path, ["histograms"], workers=1)
    assert pictures.search(tmp_path, "a", count=1).frame["item"].to_list() == ["c"]
    (tmp_path / "a.bmp").rename(tmp_path / "x")
    (tmp_path / "b.bmp").rename(tmp_path / "a.bmp")
    (tmp_path / "x").rename(tmp_path / "b.bmp")  # the same sizes and times
    with pytest.raises(FileError, match="2 changed"):
        pictures.search(tmp_path, "a", count=1)
    assert pictures.index(tmp_path, ["histograms"], workers=1).described == 2
    assert pictures.search(tmp_path, "b", count=1).frame["item"].to_list() == ["c"]


def test_a_file_called_like_an_item_is_another_picture(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "flat"
    folder.mkdir()
    for number in range(5):
        Image.new("RGB", (16, 16), (50 * number, 0, 0)).save(folder / f"b{number}.png")
    pictures.index(folder, ["histograms"], workers=1)
    (tmp_path / "out").mkdir()
    outside = tmp_path / "out" / "b3.png"
    shutil.copy(folder / "b3.png", outside)
    frame = pictures.run(folder, queries=[str(outside), str(outside), "b3"]).run.frame
    assert set(frame["query"]) == {"b3~", "b3"}
    assert frame.filter(pl.col("query") == "b3~")["item"][0] == "b3"
    (tmp_path / "again").mkdir()
    shutil.copy(outside, tmp_path / "again" / "b3.png")
    with pytest.raises(TextError, match="two queries are called 'b3~'"):
        pictures.run(folder, queries=[str(outside), str(tmp_path / "again" / "b3.png")])


def test_an_index_of_other_descriptions_is_refused(scenes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endoxa.engines.histogram_features.HistogramFeatures.version", 99)
    with pytest.raises(FileError, match="from descriptions that are made otherwise now; build it again"):
        pictures.run(scenes, ["histograms"])
    monkeypatch.undo()
    place = scenes / ".endoxa" / "indexes" / "histograms"
    (place / "column-colour_blocks.npy").unlink()
    with pytest.raises(FileError, match="is damaged: colour_blocks is missing"):
        pictures.run(scenes, ["histograms"])


def test_a_system_that_returns_nothing_is_told(tmp_path: Path) -> None:
    for number in range(4):
        Image.new("RGB", (16, 16), (60 * number, 0, 0)).save(tmp_path / f"#{number}.png")
    pictures.index(tmp_path, FAST, workers=1)
    ran = pictures.run(tmp_path, FAST)
    assert ran.run.systems == ["histograms", "random"]
    assert "keywords returned nothing, and has no run" in ran.notes
    assert set(ran.run.frame["item"]) == {"_0", "_1", "_2", "_3"}  # a line of a run must not begin with #
    with pytest.raises(JoinError, match="no system returned anything"):
        pictures.run(tmp_path, ["keywords"])


def test_one_picture_in_each_folder_says_nothing_at_its_word(tmp_path: Path) -> None:
    for number in range(6):
        folder = tmp_path / f"top{number % 2}" / f"leaf{number}"
        folder.mkdir(parents=True)
        Image.new("RGB", (16, 16), (40 * number, 0, 0)).save(folder / "p.png")
    made, _ = contests.contest(tmp_path, ["histograms", "random"], sample=6, worlds=10, workers=1)
    assert list(made.verdicts.ways) == [contests.CONSENSUS, contests.LEVELS]


def test_what_is_known_is_not_built_again(scenes: Path, tmp_path: Path) -> None:
    names = ["keywords", "histograms", "romm"]
    how = {"settings": {"romm": SMALL["romm"]}, "workers": 1}
    pictures.index(scenes, names, **how)
    places = [scenes / ".endoxa" / "indexes" / name / "index.json" for name in names]
    before = [place.stat().st_mtime_ns for place in places]
    again = pictures.index(scenes, names, **how)
    assert [place.stat().st_mtime_ns for place in places] == before and again.described == 0
    assert (again.costs.frame["seconds"] >= 0).all()
    other = pictures.index(scenes, names, settings={"romm": {**SMALL["romm"], "components": 3}}, workers=1)
    assert other.notes == ("romm is built anew, with other settings: components 3, was 4",)
    assert [place.stat().st_mtime_ns == time for place, time in zip(places, before, strict=True)] == [True, True, False]
    seeded = pictures.index(scenes, ["romm"], settings={"romm": SMALL["romm"]}, seed=9, workers=1)
    assert seeded.costs.frame.height == 2 and places[2].stat().st_mtime_ns != before[2]


def test_systems_that_search_different_pictures_are_not_mixed(scenes: Path) -> None:
    pictures.index(scenes, ["keywords"], train=0.5)
    with pytest.raises(JoinError, match="search different pictures, for they were indexed with different --train"):
        pictures.run(scenes, ["keywords", "random"])
    assert pictures.run(scenes, ["random"]).run.systems == ["random"]
    assert pictures.search(scenes, "sky").system == "keywords"


def test_an_item_is_found_by_what_one_sees(tmp_path: Path) -> None:
    (tmp_path / "my cats").mkdir()
    for number in range(3):
        Image.new("RGB", (16, 16), (80 * number, 0, 0)).save(tmp_path / "my cats" / f"cat {number}.png")
    pictures.index(tmp_path, ["histograms"], workers=1)
    typed = ["my_cats/cat_1", "my cats/cat 1", "my cats/cat 1.png", str(tmp_path / "my cats" / "cat 1.png")]
    found = [pictures.search(tmp_path, one).run.frame["query"].unique().to_list() for one in typed]
    assert found == [["my_cats/cat_1"]] * 4
    assert all(pictures.search(tmp_path, one).frame["item"].to_list() != "my_cats/cat_1" for one in typed)


def test_queries_that_a_system_lacks_are_told(made: Path, tmp_path: Path) -> None:
    corpus = pictures.open_corpus(made)
    write_vectors(tmp_path / "v.npz", corpus.items[:20], np.random.default_rng(0).standard_normal((20, 4)))
    pictures.index(made, ["random"], vectors={"clip": tmp_path / "v.npz"}, home=tmp_path / "home")
    assert "20 of 30 pictures are queries: clip lacks 10" in pictures.run(made, home=tmp_path / "home").notes
