"""Pages read by pipelines: kept, resumed, and those that fail named and left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from page_samples import calls, ended, pages, reader, script
from PIL import Image

from endoxa.documents.differing import Word
from endoxa.errors import CallError, FileError, InstallError
from endoxa.io.commands import CommandError
from endoxa.io.ocr import ocr_of
from endoxa.io.page_folders import pages_of
from endoxa.io.reading import Failure, Readings, finder_of, load_texts, pipelines_of, read_pages

TEXTS = {"p1": "we met John Reed at Salem", "p2": "", "p3": "they left Boston"}


def done(
    folder: Path, out: Path, ocr: str, *, names: tuple[str, ...] = ("otsu", "grey"), find: str = "entities",
    seconds: float = 20.0, workers: int = 2, window: int = 41,
) -> Readings:  # fmt: skip
    pipelines = pipelines_of(names, [ocr_of(ocr)], window=window)
    return read_pages(pages_of(folder), pipelines, out, finder_of(find), seconds=seconds, workers=workers)


def files(out: Path) -> dict[str, str]:
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.glob("*/*.txt"))}


def test_pages_are_read_found_and_kept(tmp_path: Path) -> None:
    folder, ocr, out = pages(tmp_path / "pages", TEXTS), reader(tmp_path, "fake", TEXTS), tmp_path / "out"
    found = done(folder, out, ocr)
    assert found.read == 6 and not found.failures
    assert found.outputs["otsu+fake"] == {"p1": ["John Reed", "Salem"], "p2": [], "p3": ["Boston"]}
    assert files(out)["grey+fake/p1.txt"] == "John Reed\nSalem\n" and files(out)["otsu+fake/p2.txt"] == ""
    assert found.readings["grey+fake"]["p3"].words == (Word("they"), Word("left"), Word("Boston"))
    assert found.readings["grey+fake"]["p3"].size == (60, 40)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    again = done(folder, out, ocr)
    assert again.read == 0 and again.outputs == found.outputs and again.readings == found.readings
    assert calls(tmp_path, "fake") == 6
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}


def test_other_settings_and_other_pictures_are_read_anew(tmp_path: Path) -> None:
    folder, ocr, out = pages(tmp_path / "pages", TEXTS), reader(tmp_path, "fake", TEXTS), tmp_path / "out"
    done(folder, out, ocr)
    assert done(folder, out, ocr, find="words").outputs["otsu+fake"]["p3"] == ["they", "left", "Boston"]
    assert calls(tmp_path, "fake") == 6  # another find reads nothing again
    assert done(folder, out, ocr, window=21).read == 6
    Image.fromarray(np.eye(40, dtype=np.uint8) * 200).save(folder / "p3.png")
    assert done(folder, out, ocr, window=21).read == 2
    record = out / "otsu+fake" / ".read" / "p1.json"
    record.write_text(record.read_text()[:40])  # damaged
    (out / "otsu+fake" / "p3.txt").unlink()
    assert done(folder, out, ocr, window=21).read == 1
    assert files(out)["otsu+fake/p3.txt"] == "Boston\n"


def test_a_page_that_fails_is_named_and_tried_again(tmp_path: Path) -> None:
    folder, out = pages(tmp_path / "pages", TEXTS), tmp_path / "out"
    ocr = reader(tmp_path, "fake", {"p1": TEXTS["p1"], "p3": TEXTS["p3"]})  # it knows no p2
    found = done(folder, out, ocr, names=("otsu",))
    assert [one.page for one in found.failures] == ["p2"] and set(found.outputs["otsu+fake"]) == {"p1", "p3"}
    assert found.failures[0].pipeline == "otsu+fake" and "fake ended with status 1" in found.failures[0].why
    assert "otsu+fake/p2.txt" not in files(out)
    again = done(folder, out, reader(tmp_path, "fake", TEXTS), names=("otsu",))
    assert again.read == 1 and not again.failures and again.outputs["otsu+fake"]["p2"] == []


def test_a_text_of_other_settings_goes_where_the_page_now_fails(tmp_path: Path) -> None:
    folder, out = pages(tmp_path / "pages", TEXTS), tmp_path / "out"
    done(folder, out, reader(tmp_path, "fake", TEXTS), names=("otsu",))
    (tmp_path / "fake-texts" / "p1").unlink()
    found = done(folder, out, reader(tmp_path, "fake", {}), names=("otsu",), window=21)
    assert [one.page for one in found.failures] == ["p1"] and "otsu+fake/p1.txt" not in files(out)


def test_a_page_that_hangs_is_ended_and_the_others_go_on(tmp_path: Path) -> None:
    folder, out = pages(tmp_path / "pages", TEXTS), tmp_path / "out"
    body = f'case "$1" in */p2*) sleep 300 & echo $! > "{tmp_path}/child"; sleep 300;; esac\necho at Salem'
    ocr = f"slow={script(tmp_path, 'slow', body)} {{page}}"
    found = done(folder, out, ocr, names=("otsu",), seconds=8)  # a busy machine may need some to begin
    assert found.failures == (Failure("p2", "otsu+slow", "slow did not end within 8 s"),)
    assert found.outputs["otsu+slow"] == {"p1": ["Salem"], "p3": ["Salem"]}
    assert ended(int((tmp_path / "child").read_text()))


def test_an_unreadable_picture_is_named_once(tmp_path: Path) -> None:
    folder, out = pages(tmp_path / "pages", TEXTS), tmp_path / "out"
    (folder / "p2.png").write_bytes(b"no picture")
    found = done(folder, out, reader(tmp_path, "fake", TEXTS))
    assert len(found.failures) == 1
    assert found.failures[0].page == "p2" and "does not decode as a picture" in found.failures[0].why
    assert set(found.outputs["otsu+fake"]) == {"p1", "p3"}


def test_a_constant_page_is_read_like_any_other(tmp_path: Path) -> None:
    folder, out = pages(tmp_path / "pages", TEXTS), tmp_path / "out"
    Image.new("L", (60, 40), 200).save(folder / "p2.png")
    names = ("otsu", "sauvola", "wolf", "niblack", "nick", "phansalkar", "mean")
    found = done(folder, out, reader(tmp_path, "fake", TEXTS), names=names)
    assert not found.failures and all(own["p2"] == [] for own in found.outputs.values())


def test_a_binariser_of_ones_own(tmp_path: Path) -> None:
    """It gets the page and writes the picture that the OCR reads; what goes wrong is named."""
    folder, out, ocr = pages(tmp_path / "pages", TEXTS), tmp_path / "out", reader(tmp_path, "fake", TEXTS)
    bodies = {"copy": 'cp "$1" "$2"', "lazy": "true", "wrong": 'echo text > "$2"'}
    own = tuple(f"{name}={script(tmp_path, name, body)} {{page}} {{out}}" for name, body in bodies.items())
    found = done(folder, out, ocr, names=own)
    assert found.outputs["copy+fake"]["p3"] == ["Boston"]
    whys = {one.pipeline: one.why for one in found.failures}
    assert whys["lazy+fake"] == "lazy wrote no picture to {out}"
    assert "what wrong wrote to {out} does not decode" in whys["wrong+fake"]


def test_what_is_found_can_be_a_command(tmp_path: Path) -> None:
    folder, out, ocr = pages(tmp_path / "pages", TEXTS), tmp_path / "out", reader(tmp_path, "fake", TEXTS)
    first = script(tmp_path, "first", 'cut -d" " -f1,2 "$1"; echo')
    assert done(folder, out, ocr, find=f"{first} {{text}}").outputs["grey+fake"]["p1"] == ["we met"]
    with pytest.raises(CommandError, match="false ended with status 1"):
        finder_of("false {text}")("x")
    with pytest.raises(CallError, match="did you mean words"):
        finder_of("word")
    with pytest.raises(InstallError, match="take --find entities"):
        finder_of("spacy:no_such_model")


def test_pipelines_have_names_of_their_own() -> None:
    ocr = ocr_of("mine=cat {page}")
    with pytest.raises(CallError, match=r"two pipelines are called 'otsu\+mine'; remove one, or name it"):
        pipelines_of(["otsu", "otsu"], [ocr])
    with pytest.raises(CallError, match=r"two pipelines are called 'otsu\+mine'"):
        pipelines_of(["otsu"], [ocr, ocr_of("mine=head {page}")])
    with pytest.raises(CallError, match=r"no binariser is called 'ostu'; did you mean otsu\?"):
        pipelines_of(["ostu"], [ocr])
    with pytest.raises(CallError, match=r"lacks \{out\}"):
        pipelines_of(["cp {page}"], [ocr])
    assert [one.name for one in pipelines_of(["otsu", "x=cp {page} {out}"], [ocr])] == ["otsu+mine", "x+mine"]


def test_an_interruption_keeps_what_was_read(tmp_path: Path) -> None:
    folder, ocr, out = pages(tmp_path / "pages", TEXTS), reader(tmp_path, "fake", TEXTS), tmp_path / "out"
    pipelines = pipelines_of(("otsu",), [ocr_of(ocr)])

    def stop(_what: str, read: int, _whole: int) -> None:
        if read == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_pages(pages_of(folder), pipelines, out, finder_of("entities"), workers=1, progress=stop)
    left = 3 - len(files(out))
    assert left <= 1 and not list(out.rglob("*.part"))
    assert done(folder, out, ocr, names=("otsu",)).read == left


def test_texts_of_other_programs_are_loaded(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name / "p1.txt").write_text(f"New York\n{name}\n")
    found = load_texts(tmp_path / "out")
    assert found.outputs == {"one": {"p1": ["New York", "one"]}, "two": {"p1": ["New York", "two"]}}
    assert found.readings == {"one": {}, "two": {}}
    with pytest.raises(FileError, match="cannot be read"):
        load_texts(tmp_path / "nowhere")


def test_what_was_read_is_loaded_with_its_words(tmp_path: Path) -> None:
    folder, ocr, out = pages(tmp_path / "pages", TEXTS), reader(tmp_path, "fake", TEXTS), tmp_path / "out"
    found, loaded = done(folder, out, ocr), load_texts(out)
    assert loaded.readings == found.readings and loaded.outputs == found.outputs
    settings = json.loads((out / "otsu+fake" / ".read" / "p1.json").read_text())["settings"]
    assert settings["binariser"] == "otsu" and settings["window"] == 41 and len(settings["page"]) == 64


def test_texts_of_pipelines_that_looked_for_different_things_are_refused(tmp_path: Path) -> None:
    folder, ocr, out = pages(tmp_path / "pages", TEXTS), reader(tmp_path, "fake", TEXTS), tmp_path / "out"
    done(folder, out, ocr, find="words")
    assert load_texts(out).find == "words"
    done(folder, out, ocr, names=("otsu",))
    with pytest.raises(FileError, match=r"grey\+fake has looked for words and otsu\+fake for entities"):
        load_texts(out)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = pages(tmp_path / "pages", TEXTS)
    (tmp_path / "out").write_text("a file")
    with pytest.raises(FileError, match="cannot be written"):
        done(folder, tmp_path / "out", "mine=cat {page}")
