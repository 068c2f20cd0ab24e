"""Emoji: what the annotations and groups say, and what is drawn once."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest
from PIL import Image

from endoxa.errors import FileError, InstallError
from endoxa.io import emoji, packages
from endoxa.io.emoji import groups_of, read_emoji, signs_of
from endoxa.io.packages import COLLECTIONS, corpus_of

FONT = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
LABELS = "# a comment\n[A-C♥{👨‍⚕️}]  ;  Smileys & People  ;  face-positive\n[D] ; Symbols\nnot a line\n"


def annotation(sign: str, keywords: str, name: str) -> str:
    return f'<annotation cp="{sign}">{keywords}</annotation><annotation cp="{sign}" type="tts">{name}</annotation>'


def annotations(*parts: str) -> bytes:
    head = '<?xml version="1.0"?><!DOCTYPE ldml SYSTEM "../../common/dtd/ldml.dtd">'
    return f"{head}<ldml><annotations>{''.join(parts)}</annotations></ldml>".encode()


SOME = annotations(
    annotation("A", "first | letter a", "letter A"),
    annotation("B", "letter | second", "letter B"),
    annotation("Z", "letter | last", "letter Z"),
    annotation("👨‍⚕️", "doctor", "man: health worker"),
    '<annotation cp="Q">unnamed</annotation>',
    annotation("R", "|", "empty"),
    annotation("А", "cyrillic", "looks like A"),
    annotation("\U000f0000", "private", "no glyph"),
)


@pytest.fixture
def common(tmp_path: Path) -> Path:
    folder = tmp_path / "common"
    for name, content in ((emoji.ANNOTATIONS, SOME), (emoji.LABELS, LABELS.encode())):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(content)
    return folder


def test_groups_are_sets_with_ranges_and_sequences() -> None:
    groups = groups_of(LABELS)
    assert {sign: groups[sign] for sign in "ABC♥"} == dict.fromkeys("ABC♥", "smileys-people/face-positive")
    assert groups["👨‍⚕️"] == "smileys-people/face-positive" and groups["D"] == "symbols"


def test_signs_of_one_code_point_with_name_and_keywords() -> None:
    signs = signs_of(SOME, LABELS)
    assert [one.sign for one in signs] == ["A", "B", "Z", "А", "\U000f0000"]
    assert signs[0].words == ("first", "letter") and signs[0].category == "smileys-people/face-positive"
    assert signs[2].category == "newer"


def test_signs_are_drawn_once_and_those_that_look_alike_left_out(common: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn"
    corpus = read_emoji(FONT, common, drawn)
    names = sorted(item.rpartition("/")[2] for item in corpus.items)
    assert {"letter-a-41", "letter-b-42", "letter-z-5a"} <= set(names)
    assert "looks-like-a-410" not in names  # the same drawing
    assert corpus.words[corpus.items.index("smileys-people/face-positive/letter-a-41")] == ("first", "letter")
    with Image.open(drawn / "smileys-people/face-positive/letter-a-41.png") as picture:
        assert picture.mode == "RGBA" and picture.getbbox() is not None
    before = (drawn / "manifest.jsonl").stat().st_mtime_ns
    assert read_emoji(FONT, common, drawn).items == corpus.items
    assert (drawn / "manifest.jsonl").stat().st_mtime_ns == before


def test_bad_files_are_refused(common: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not XML"):
        signs_of(b"<ldml>", LABELS)
    with pytest.raises(FileError, match="declares entities"):
        signs_of(b'<!DOCTYPE x [<!ENTITY a "b">]><x/>', LABELS)
    (tmp_path / "font.ttf").write_bytes(b"no font")
    with pytest.raises(InstallError, match=r"font\.ttf cannot be opened"):
        read_emoji(tmp_path / "font.ttf", common, tmp_path / "drawn")
    (common / emoji.LABELS).unlink()
    with pytest.raises(FileError, match="cannot be read"):
        read_emoji(FONT, common, tmp_path / "drawn")
    assert not (tmp_path / "drawn").exists() and not list(tmp_path.glob(".drawn*"))


def test_the_collection(common: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unpacked collection in the cache is read as emoji."""
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "cache"))
    place, collection = tmp_path / "cache/emoji", COLLECTIONS["emoji"]
    (place / collection.pictures).parent.mkdir(parents=True)
    (place / collection.pictures).write_bytes(FONT.read_bytes())
    (place / collection.letters).parent.mkdir(parents=True)
    common.rename(place / collection.letters)
    (place / packages.MARKER).write_text("fonts-noto-color-emoji 1\n")
    corpus = corpus_of("emoji")
    assert corpus.name == "emoji" and len(corpus) >= 3 and packages.suits(corpus) == "pictures"
