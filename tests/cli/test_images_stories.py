"""Stories with pictures, through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from command_line import endoxa, fails
from PIL import Image

from endoxa.io.opening import open_corpus
from endoxa.verbs import demo
from endoxa.verbs.inputs import run_of

FAST = ["-e", "keywords", "-e", "histograms", "-e", "random"]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stories") / "scenes"
    done = endoxa("images", "compose", folder, "--count", 24, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "24 scenes" in done.stdout
    done = endoxa("images", "index", folder, *FAST, "--workers", 1)
    assert done.exit_code == 0, done.output
    assert re.search(r"histograms +describe +24", done.stdout) and "24 pictures are indexed by 3 systems" in done.stdout
    return folder


def test_runs_are_written_and_judged_without_truth(scenes: Path, tmp_path: Path) -> None:
    done = endoxa("images", "run", scenes, "--sample", 12, "--to", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    assert "endoxa eval" in done.stdout and "ties" in done.stderr
    paths = sorted((tmp_path / "runs").glob("*.run"))
    assert [path.stem for path in paths] == ["histograms", "keywords", "random"]
    assert run_of([str(path) for path in paths]).frame["query"].n_unique() == 12
    assert pl.read_csv(tmp_path / "runs" / "costs.csv").columns == [
        "system", "phase", "items", "seconds", "bytes", "median", "p95"
    ]  # fmt: skip
    done = endoxa("eval", *paths, "P@5", "--depth", 5)
    assert done.exit_code == 0, done.output
    page = tmp_path / "gallery.html"
    done = endoxa("images", "gallery", scenes, *paths, "--to", page, "--queries", 3)
    assert done.exit_code == 0, done.output
    html = page.read_text()
    assert html.count('<details class="query"') == 3
    pictures = json.loads(re.search(r'id="pictures">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    assert pictures and all(address.startswith("data:image/jpeg;base64,") for address in pictures.values())


def test_words_in_a_file_are_queries(scenes: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked.tsv"
    asked.write_text("blue\tsky and sea\nsnow\n", encoding="utf-8")
    done = endoxa("images", "run", scenes, "-e", "keywords", "--texts", asked, "--to", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    assert set(run_of(str(tmp_path / "runs" / "keywords.run")).frame["query"]) == {"blue", "text-2"}
    asked.write_text("\n")
    assert "the file has no queries" in fails(
        "images", "run", scenes, "-e", "keywords", "--texts", asked, "--to", tmp_path
    )
    asked.write_text("a\tx\na\ty\n")
    assert "asked.tsv:2" in fails("images", "run", scenes, "-e", "keywords", "--texts", asked, "--to", tmp_path)


def test_somebody_searches(scenes: Path, tmp_path: Path) -> None:
    done = endoxa("images", "search", scenes, "sea", "-n", 3, "--to", tmp_path / "found.html")
    assert done.exit_code == 0, done.output
    assert "by keywords." in done.stdout and (tmp_path / "found.html").stat().st_size > 10_000
    assert "did you mean" in fails("images", "search", scenes, "x", "-e", "histogram")


def test_somebody_asks_for_good_matches(scenes: Path, tmp_path: Path) -> None:
    rows, items = ["query,item,grade,source"], sorted(open_corpus(scenes).items)
    for query in items[:15]:
        rows += [f"{query},{item},{1 + 4 * (item[:3] == query[:3])},ann" for item in items if item != query]
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("\n".join(rows))
    words = ("images", "search", scenes, items[-1], "-e", "histograms", "-n", 6)
    assert "rating" not in endoxa(*words).stdout
    done = endoxa(*words, "--ratings", ratings, "--good", 1.05)
    assert done.exit_code == 0, done.output
    assert re.search(r"by histograms\. \d of the 6 shown (is a good match|are good matches)\.", done.stdout)
    assert "Good matches:" in done.stdout and re.search(r"\d\.\d of 5", done.stdout)
    assert "people rated" in done.stdout and "rated pairs of 15 queries" in done.stdout
    none = endoxa(*words, "--ratings", ratings, "--good", 5).stdout
    assert "No good match; these are the nearest." in none and "Good matches:" not in none
    assert "learned from ratings" in fails(*words, "--good", 4)
    ratings.write_text("\n".join(rows[:20]))
    assert "all rated pairs belong to one query" in fails(*words, "--ratings", ratings)


def test_words_on_a_folder_of_photographs(tmp_path: Path) -> None:
    (tmp_path / "beach").mkdir()
    for name in ("beach/rex.jpg", "IMG_1.jpg"):
        Image.new("RGB", (20, 20)).save(tmp_path / name)
    done = endoxa("images", "search", tmp_path, "beach tent")
    assert done.exit_code == 0, done.output
    assert "beach/rex.jpg comes first of 1 picture for 'beach tent'" in done.stdout and "IMG_1" not in done.stdout
    assert re.search(r"beach/rex\.jpg +0\.\d+ +beach +beach", done.stdout)  # the word by which it was found
    assert "no picture has the word 'tent'" in done.stderr
    told = fails("images", "search", tmp_path, "beech")
    assert "nearest: beach" in told and "from a caption beside a picture" in told
    assert "there is no such file" in fails("images", "search", tmp_path, tmp_path / "beach" / "rx.jpg")


def test_the_folder_of_what_is_known_is_announced_or_lies_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("RGB", (20, 20)).save(photos / "a.jpg")
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "caches"))
    done = endoxa("images", "index", photos, "-e", "histograms", "--workers", 1, "--home", "cache")
    assert done.exit_code == 0, done.output
    assert f"is kept in {tmp_path / 'caches' / 'indexes' / 'photos-'}" in done.stderr
    assert [path.name for path in photos.iterdir()] == ["a.jpg"]
    # one picture has no other: but there is an index
    assert "returned nothing" in fails("images", "run", photos, "--home", "cache", "--to", tmp_path / "runs")
    done = endoxa("images", "index", photos, "-e", "histograms", "--workers", 1)
    assert f"is kept in {photos / '.endoxa'}, which you may remove at any time; --home cache keeps it" in done.stderr
    done = endoxa("images", "index", photos, "-e", "histograms", "--workers", 1)
    assert "is kept in" not in done.stderr  # told once


def test_a_contest_is_held(scenes: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "contest.html"
    done = endoxa("images", "contest", scenes, *FAST, "--sample", 15, "--worlds", 50, "--to", page, "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "Kendall's tau, consensus and folders" in done.stdout and page.resolve().as_uri() in done.stdout
    assert re.match(r"After \d+ labels of the folder names, \w+ is the best", done.stdout.strip())
    assert "labels of the folder names" in done.stdout and "Without labels an order is a guess." in done.stdout
    html = page.read_text()
    for heading in (
        "judged side by side",
        "What a few labels change",
        "Where the verdicts disagree",
        "Which system is better than which",
        "What the systems cost",
        "Gallery",
    ):
        assert heading in html
    assert "labels, not truth" in html
    assert "http:" not in html and "https:" not in html


def test_the_demo_draws_where_photographs_cannot_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no apt-get there
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(demo, "SCENES", 30)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # in this process: two others take 6 s to start
    few = ("keywords", "histograms", "integrated-regions", "random")
    monkeypatch.setattr("endoxa.engines.registry.available", lambda *_: few)
    done = endoxa("demo", "--to", tmp_path / "demo", "--seed", 2)
    assert done.exit_code == 0, done.output
    assert "apt-get is not on this machine" in done.stderr and "drawing 30 scenes instead" in done.stderr
    html = (tmp_path / "demo" / "pictures.html").read_text()
    assert "<h1>4 systems over 30 drawn scenes (the photographs could not be fetched)</h1>" in html
    assert "pictures.html" in done.stdout
    assert "the demo is one of pictures, documents, study, search" in fails("demo", "x")


def test_what_is_typed_wrongly_is_told(scenes: Path, tmp_path: Path) -> None:
    assert "did you mean rwmm" in fails("images", "index", scenes, "-e", "rwm")
    assert "expected ENGINE.SETTING=VALUE" in fails("images", "index", scenes, "--set", "components=3")
    assert "did you mean components" in fails("images", "index", scenes, "-e", "rwmm", "--set", "rwmm.component=3")
    assert "which is not among the engines" in fails("images", "index", scenes, *FAST, "--set", "rwmm.components=3")
    assert "expected NAME=FILE" in fails("images", "index", scenes, *FAST, "--vectors", "x.npz")
    assert "there is no index" in fails("images", "run", scenes, "--home", tmp_path)
    assert str(tmp_path) in fails("images", "index", tmp_path)
    Image.new("RGB", (3, 3)).save(tmp_path / "one.png")
    assert "is a picture, not a corpus" in fails("images", "index", tmp_path / "one.png")
    assert "nowhere" in fails("images", "index", tmp_path / "nowhere")


def test_places_that_cannot_be_written_are_told(scenes: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in fails("images", "run", scenes, "--sample", 2, "--to", tmp_path / "file" / "runs")
    for to in (tmp_path, tmp_path / "page.pdf"):
        assert "names a page (.html)" in fails("images", "contest", scenes, *FAST, "--sample", 4, "--to", to)
    assert "cannot be written" in fails("images", "index", scenes, *FAST, "--home", tmp_path / "file")


def test_older_runs_are_not_judged_with_the_new(scenes: Path, tmp_path: Path) -> None:
    (tmp_path / "old.run").write_text("q Q0 d 1 1 old\n")
    done = endoxa("images", "run", scenes, "-e", "random", "--sample", 2, "--to", tmp_path)
    assert done.exit_code == 0, done.output
    assert "also holds older runs: old" in done.stderr
    assert f"endoxa eval {tmp_path}/random.run" in done.stdout


@pytest.mark.parametrize("value", ["0", '"many"', "1.5", "null", "-3", "[1]"])
def test_settings_of_the_wrong_kind_are_told(scenes: Path, value: str) -> None:
    said = fails("images", "index", scenes, "-e", "romm", "--set", f"romm.components={value}")
    assert "components" in said and "expected" in said


def test_costs_stand_beside_quality_in_the_report(scenes: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    endoxa("images", "run", scenes, "--sample", 8, "--to", runs)
    page = tmp_path / "report.html"
    paths = sorted(runs.glob("*.run"))
    done = endoxa("report", *paths, "P@5", "--worlds", 20, "--costs", runs / "costs.csv", "--to", page)
    assert done.exit_code == 0, done.output
    assert "What the systems cost" in page.read_text()
    (runs / "costs.csv").write_text("system,phase\na,b\n")
    assert "needs a column 'items'" in fails("report", *paths, "P@5", "--costs", runs / "costs.csv", "--to", page)
