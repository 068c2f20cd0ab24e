"""The verb: a folder of pictures with words, from files to a page; and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import polars as pl
import pytest
from PIL import Image
from vector_samples import write_vectors

from endoxa.errors import FileError, JoinError, TextError
from endoxa.verbs.visual import visual, with_norms

COUNT = 48
FAST = {"segmenter": "grid", "regions": 12, "components": 12, "mixtures": 2, "draws": 99, "workers": 1, "least": 10}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures in four folders; the right half of those with the word red is red, that of others has another colour."""
    folder = tmp_path_factory.mktemp("coloured")
    rng, reds = np.random.default_rng(0), []
    for at in range(COUNT):
        red = rng.random() < 0.4
        reds.append(red)
        colours = rng.integers(0, 256, (2, 3))
        colours[1] = (220, 20, 20) if red else colours[1] // (2, 1, 1)
        pixels = np.repeat(colours[:, None], 24, axis=1).reshape(1, 48, 3).repeat(36, axis=0).astype(np.uint8)
        pixels = pixels + rng.integers(0, 8, pixels.shape).astype(np.uint8) * (pixels < 240)
        place = folder / "abcd"[at % 4]
        place.mkdir(exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{at:02d}.png")
        words = ["picture", *(["red"] if red else []), *(["idea"] if at % 5 < 2 else [])]
        (place / f"{at:02d}.txt").write_text(" ".join(words) + "\n")
    items = [str(path.relative_to(folder).with_suffix("")) for path in sorted(folder.rglob("*.png"))]
    looks = rng.normal(size=(COUNT, 6)) + 3 * np.array([reds[int(item[2:])] for item in items])[:, None] * np.eye(6)[0]
    write_vectors(folder / "look.npz", items, looks)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def test_from_files_to_a_page(folder: Path, home: Path, tmp_path: Path) -> None:
    look = folder / "look.npz"
    found = visual(folder, home=home, vectors=look, null="pictures", to=tmp_path / "page.html", seed=1, **FAST)
    assert found.frame["word"].to_list() == ["red", "idea"] and found.look == "vectors"
    red, idea = found.frame.iter_rows(named=True)
    assert red["call"] == "visual" and red["D"] > 0.95 and red["p"] == 0.01 and red["topics"] == 4
    assert idea["call"] != "visual" and idea["p"] > 0.05
    assert 0.3 < idea["hessel"] < 2 and np.isnan(red["norm"])
    assert found.notes == ("1 word is left out, on more than 50 % of the pictures: picture (48)",)
    html = (tmp_path / "page.html").read_text()
    assert html.count("data:image/jpeg") == 24 and "1 of 2 words is visual" in html
    assert f"Which words are visual in {folder.name}" in html and "48 pictures" in html


def test_topics_are_used_by_default(folder: Path, home: Path) -> None:
    found = visual(folder, ["red"], home=home, vectors=folder / "look.npz", **FAST)
    assert found.null == "topics" and found.topics == 4 and found.frame["left_out"].to_list() == ["topic"]
    with pytest.raises(TextError, match="have 1 levels, not 3"):
        visual(folder, home=home, vectors=folder / "look.npz", topics=3, **FAST)


def test_a_word_on_no_picture_is_refused_before_anything_is_described(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"no picture has the word 'reed'; did you mean red\?"):
        visual(folder, ["reed"], home=tmp_path / "home", **FAST)
    assert not (tmp_path / "home").exists()


def test_copies_of_pictures_are_counted_and_left_out_together(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    copytree(folder, copied)
    for place in sorted(copied.glob("a/*.png"))[:3]:
        for suffix in (".png", ".txt"):
            source = place.with_suffix(suffix)
            (copied / "b" / f"again-{source.name}").write_bytes(source.read_bytes())
    few = visual(copied, home=tmp_path / "home", vectors=folder / "look.npz", **FAST)
    assert "3 pictures are copies of others: copies are left out together" in few.notes
    assert few.look == "histograms" and any("3 pictures have no vector (b/again-00 first)" in one for one in few.notes)


def test_norms_from_a_file_or_a_dict(folder: Path, home: Path, tmp_path: Path) -> None:
    with pytest.raises(JoinError, match=r"none of the 3 words of the corpus .like 'idea'. has a rating"):
        visual(folder, home=home, vectors=folder / "look.npz", norms={"himmel": 4.5}, **FAST)
    (tmp_path / "norms.csv").write_text("word,rating\nRed,4.2\nidea,1.6\n")
    few = visual(folder, home=home, vectors=folder / "look.npz", norms=tmp_path / "norms.csv", **FAST)
    assert dict(few.frame.select("word", "norm").iter_rows()) == {"red": 4.2, "idea": 1.6}
    assert few.correlations is None and "2 of the words have a rating" in few.notes[-1]
    (tmp_path / "norms.csv").write_text("word,rating\nred,x\n")
    with pytest.raises(FileError, match=r"norms.csv:2: the rating 'x'"):
        visual("nowhere", norms=tmp_path / "norms.csv")


def test_every_method_is_correlated_with_the_ratings(folder: Path, home: Path) -> None:
    found = visual(folder, home=home, vectors=folder / "look.npz", **FAST)
    rng = np.random.default_rng(1)
    rows = pl.concat([found.frame.head(1)] * 8).with_columns(
        pl.Series("word", [f"w{at}" for at in range(8)]), pl.Series("V", rng.normal(size=8)),
        *(pl.Series(name, rng.normal(size=8)) for name in ("excess_z", "E", "E_z")),
        pl.Series("hessel", np.arange(8.0)),
    )  # fmt: skip
    ratings = {f"w{at}": float(at) for at in range(8)}
    told = with_norms(replace(found, frame=rows), ratings)
    assert told.frame["norm"].to_list() == list(ratings.values())
    assert told.correlations is not None
    by_method = {row["method"]: row for row in told.correlations.iter_rows(named=True)}
    assert list(by_method) == ["V", "excess_z", "E_z", "E", "hessel"], "what was not computed has no row"
    assert by_method["hessel"]["rho"] == pytest.approx(1.0)
    order = np.argsort(np.argsort(-rows["E"].to_numpy()))
    assert by_method["E"]["rho"] == pytest.approx(np.corrcoef(order, np.arange(8))[0, 1]), "low entropy is visual"


def test_pictures_without_vectors_leave_concreteness_out(folder: Path, home: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "few.npz", ["a/00", "a/04"], np.eye(2))
    found = visual(folder, ["red"], home=home, vectors=tmp_path / "few.npz", **FAST)
    assert found.frame["hessel"].is_nan().all()
    assert any("46 pictures have no vector (a/08 first): looks are colours and textures" in n for n in found.notes)
    assert found.look == "histograms" and found.frame["call"].to_list() == ["visual"]


def test_what_is_refused_before_anything_is_read() -> None:
    for settings, message in (
        ({"segmenter": "slick"}, "no segmenter is called 'slick'; did you mean slic"),
        ({"null": "words"}, "no null is called 'words'"),
        ({"most": 2.0}, "most is 2"),
    ):
        with pytest.raises(TextError, match=message):
            visual("nowhere", **settings)


def test_a_corpus_without_words_or_without_pictures_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    Image.new("RGB", (20, 20), (9, 9, 9)).save(tmp_path / "one" / "a.png")
    write_vectors(tmp_path / "v.npz", ["a"], np.ones((1, 2)))
    with pytest.raises(JoinError, match="no picture has a word; give captions"):
        visual(tmp_path / "one", vectors=tmp_path / "v.npz", workers=1)
    (tmp_path / "two").mkdir()
    for name in "abcd":
        (tmp_path / "two" / f"{name}.png").write_bytes(b"not a picture")
        (tmp_path / "two" / f"{name}.txt").write_text("sky" if name < "c" else "sea")
    with pytest.raises(JoinError, match="none of the 4 pictures could be described; a: does not decode"):
        visual(tmp_path / "two", vectors=tmp_path / "v.npz", workers=1, least=2)
