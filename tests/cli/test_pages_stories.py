"""Stories with pages of text, and with texts that pipelines extracted, through the command line."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from command_line import done, fails
from page_samples import pages, reader, script

from endoxa.io import ocr as ocr_module

TEXTS = {f"p{number}": f"we met John Reed at Salem and came to Boston on day {number}" for number in range(4)}


def rows(printed: str) -> dict[tuple[str, str], float]:
    table = csv.DictReader(printed.splitlines(), delimiter="\t")
    return {(row["system"], row["measure"]): float(row["value"]) for row in table}


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """Four pages with transcriptions."""
    return pages(tmp_path / "scans", TEXTS)


@pytest.fixture
def engines(tmp_path: Path) -> list[str]:
    """Three OCRs of one's own: one reads rightly, one misreads a name, one loses the end of every page."""
    right = reader(tmp_path, "right", TEXTS)
    wrong = reader(tmp_path, "wrong", {page: text.replace("Reed", "Reecl") for page, text in TEXTS.items()})
    short = reader(tmp_path, "short", {page: text[:26] for page, text in TEXTS.items()})
    return [word for one in (right, wrong, short) for word in ("--ocr", one)]


def test_own_commands_are_compared_without_and_with_truth(scans: Path, engines: list[str], tmp_path: Path) -> None:
    page = tmp_path / "study.html"
    printed = done("pages", "study", scans, "-b", "grey", *engines, "--to", page, "--seed", 2)
    assert printed.startswith(
        "Only 4 pages have a transcription; fewer than 6 tell no pipelines apart. By agreement, not by truth, 3 "
    )
    assert "Pairs, page by page: F1, truth" in printed and re.search(r"grey\+right +grey\+wrong +\+0", printed)
    assert (
        "Kendall's tau, Method II and truth, precision:" in printed and "Do not trust the order by consensus" in printed
    )
    html = page.read_text()
    assert "as Table 8 of Lamiroy and Sun" in html and "<mark>Reecl</mark>" in html
    assert (scans / ".endoxa" / "pages" / "grey+wrong" / "p1.txt").read_text() == "John Reecl\nSalem\nBoston\n"


def test_reading_and_studying_are_two_steps_and_the_second_needs_no_ocr(
    scans: Path, engines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    printed = done("pages", "read", scans, "--to", out, "-b", "otsu", *engines)
    assert "12 texts of 3 pipelines" in printed and "12 of them read now" in printed
    assert ", 0 of them read now" in done("pages", "read", scans, "--to", out, "-b", "otsu", *engines)
    monkeypatch.setattr(ocr_module, "find_spec", lambda _name: None)
    monkeypatch.setattr(ocr_module.shutil, "which", lambda _name: None)
    assert "pip install 'endoxa[pages]'" in fails("pages", "study", scans)
    assert "no OCR is installed" in fails("pages", "read", scans, "--to", out)
    printed = done("pages", "study", scans, "--texts", out, "--to", tmp_path / "study.html")
    assert "looked for entities" in (tmp_path / "study.html").read_text()
    assert "are entities, not words" in fails("pages", "study", scans, "--texts", out, "--find", "words")
    by_hand = rows(done("eval", "--tokens", "bag", "--lines", "--plugin", "-o", "tsv", *sorted(out.iterdir())))
    for name in ("right", "wrong", "short"):
        shown = re.search(rf"^otsu\+{name} +\S+ \[.*?\] +(\S+) ", printed, re.MULTILINE)
        assert shown is not None and float(shown[1]) == pytest.approx(by_hand[f"otsu+{name}", "GradedP"], abs=6e-4)


def test_pages_that_fail_or_cannot_be_read_are_named(scans: Path, engines: list[str], tmp_path: Path) -> None:
    (scans / "p1.png").write_bytes(b"GIF89a")
    broken = script(tmp_path, "broken", 'case "$1" in */p2*) echo bad page >&2; exit 4;; esac; echo at Salem')
    printed = done(
        "pages",
        "study",
        scans,
        "-b",
        "grey",
        *engines,
        "--ocr",
        f"broken={broken} {{page}}",
        "--to",
        tmp_path / "s.html",
    )
    assert "! p1 is left out, it could not be read: does not decode as a picture" in printed
    assert "p2 is left out, it could not be read by grey+broken: broken ended with status 4: bad page" in printed
    assert "1 page (p2) could not be read by every pipeline, and is left out for all" in printed
    assert "p1 is left out" in (tmp_path / "s.html").read_text()


def test_transcriptions_that_miss_a_page_and_pages_without_text(
    scans: Path, engines: list[str], tmp_path: Path
) -> None:
    (scans / "p0.txt").unlink()
    for name in ("right", "wrong", "short"):
        (tmp_path / f"{name}-texts" / "p3").write_text("")
    printed = done("pages", "study", scans, "-b", "grey", *engines, "--to", tmp_path / "study.html")
    assert "1 page has no transcription (p0)" in printed
    assert "No pipeline found anything on 1 page (p3)" in printed


def test_nothing_that_can_be_compared(scans: Path, tmp_path: Path) -> None:
    fake = reader(tmp_path, "fake", TEXTS)
    assert "two pipelines are called 'otsu+fake'" in fails(
        "pages", "study", scans, "-b", "otsu", "-b", "otsu", "--ocr", fake
    )
    assert "two pipelines or more" in fails("pages", "study", scans, "-b", "otsu", "--ocr", fake)
    for command in (("study",), ("read", "--to", tmp_path / "none")):
        failed = fails("pages", *command, scans, "-b", "otsu", "-b", "grey", "--ocr", "no=false {page}")
        assert "none of its 4 pages could be read; p0: false ended with status 1" in failed
    blank = ("--ocr", "blank=true {page}")
    assert "no pipeline found anything on any of 4 pages" in fails(
        "pages", "study", scans, "-b", "otsu", "-b", "grey", *blank
    )
    (tmp_path / "out" / "a").mkdir(parents=True)
    assert "holds no picture" in fails("pages", "study", tmp_path / "out" / "a")
    for name in ("a", "b"):
        (tmp_path / "out" / name).mkdir(exist_ok=True)
        (tmp_path / "out" / name / "other.txt").write_text("x")
    assert "holds no text of the 4 pages (the first is 'p0')" in fails(
        "pages", "study", scans, "--texts", tmp_path / "out"
    )
    assert "expected one number or two" in fails("pages", "compose", tmp_path / "letters", "--level", "a,b")


def test_texts_by_lines_and_with_near_words(tmp_path: Path) -> None:
    """`New York` is one word by lines."""
    texts = {"a": "New York\nSalem\n", "b": "New York\nSalem\n", "c": "New Yorl\nBoston\n"}
    paths = [tmp_path / f"{name}.txt" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    equal = (*paths, "--weights", "equal", "--plugin", "-o", "tsv", "GradedP")
    apart, whole = (rows(done("eval", "--tokens", "bag", *lines, *equal)) for lines in ((), ("--lines",)))
    assert apart["c", "GradedP"] == pytest.approx((0.8 + 0.4 + 0.4) / 3)
    assert whole["c", "GradedP"] == pytest.approx(0.4) and whole["a", "GradedP"] == pytest.approx(0.6)
    near = rows(done("eval", "--tokens", "align", "--lines", "--near", "0.8", *equal))
    assert near["c", "GradedP"] == pytest.approx(0.4)
    assert "near is for aligned words" in fails("eval", "--tokens", "bag", "--near", ".8", *paths)
    assert "between 0.5 and 1" in fails("eval", "--tokens", "align", "--near", ".3", *paths)


def test_lines_and_near_without_texts_are_refused(material) -> None:
    for words in (("--lines",), ("--near", ".8")):
        assert "lines and near are for texts" in fails("eval", *words, *material.runs)


def test_a_plugin_of_a_measure_with_a_least_grade_is_refused(material) -> None:
    """It would print 0 for every system: expected grades are below 1."""
    told = fails("eval", *material.runs, "P@5", "--plugin")
    assert "P@5 counts items of grade 1 or more" in told and "take GradedP@5" in told
    told = fails("eval", *material.runs, "AP", "--plugin")
    assert "take Graded" not in told and "leave out --plugin" in told
    assert min(rows(done("eval", *material.runs, "GradedP@5", "--plugin", "-o", "tsv")).values()) > 0.2
    usual = rows(done("eval", *material.runs, "--plugin", "-o", "tsv"))
    assert {measure for _, measure in usual} == {"nDCG@10", "GradedP@10"}


@pytest.mark.parametrize("command", ["compose", "read", "study"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert "Examples" in done("pages", command, "--help")


def test_the_demo_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tesseract: None) -> None:
    from endoxa.verbs import demo

    monkeypatch.setattr(demo, "LETTERS", 1)
    printed = done("demo", "pages", "--to", tmp_path)
    assert printed.startswith("Only 1 page has a transcription") and "By agreement, not by truth, " in printed
    assert "pages compose" in printed
    assert [path.name for path in (tmp_path / "letters").glob("*.png")] == ["letter-0001.png"]
    assert (tmp_path / "pages.html").stat().st_size > 50_000
