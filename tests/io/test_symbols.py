"""Electrical symbols: what an element says, what is refused, and what is drawn once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endoxa.errors import FileError
from endoxa.io import symbols
from endoxa.io.symbols import element_of, read_symbols

LINE = '<line x1="0" y1="0" x2="10" y2="5" style="line-style:normal;filling:black;color:black"/>'
NAMES = '<name lang="de">Ein  Motor</name><name lang="en">A motor</name><name lang="fr"/>'


def element(*parts: str, names: str = NAMES) -> bytes:
    inside = f"<names>{names}</names><description>{''.join(parts)}</description>"
    return f'<definition type="element">{inside}</definition>'.encode()


def test_names_and_shapes_of_an_element() -> None:
    found = element_of(
        element(
            LINE,
            '<rect x="1" y="2" width="3" height="4" style="filling:white;color:white"/>',
            '<ellipse x="0" y="0" width="4" height="2" style="filling:blue"/>',
            '<circle x="0" y="0" diameter="2" style="line-weight:none"/>',
            '<arc x="0" y="0" width="2" height="2" start="0" angle="90" style="filling:black"/>',
            '<polygon x1="0" y1="0" x2="1" y2="0" x3="1" y3="1" closed="false"/>',
            '<text x="0" y="900" text="M"/><terminal x="500" y="0" orientation="n"/>',
        )
    )
    assert dict(found.names) == {"de": "Ein Motor", "en": "A motor"}
    line, rect, ellipse, circle, arc, polygon = found.strokes
    assert line.points.tolist() == [[0, 0], [10, 5]] and not line.closed and not line.filling
    assert rect.points.tolist() == [[1, 2], [4, 2], [4, 6], [1, 6]] and rect.closed
    assert (rect.line, rect.filling) == ("paper", "paper")
    assert (ellipse.line, ellipse.filling) == ("ink", "ink") and ellipse.points.max(axis=0).tolist() == [4, 2]
    assert not circle.line and circle.closed
    assert arc.points[-1] == pytest.approx([1, 0]) and not arc.filling  # arcs are never filled
    assert len(polygon.points) == 3 and not polygon.closed


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is not an element"),
        (b"<definition>", "is not an element"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "is not an element"),
        (element(), "has no stroke"),
        (b"<definition/>", "has no stroke"),
        (element('<rect x="1" y="2" width="3" height="4" style="line-weight:none"/>'), "has no stroke"),
        (element('<line x1="0" y1="0" x2="3" y2="5" style="color:white"/>'), "has no stroke"),
        (element('<line x1="0" y1="0" x2="nan" y2="5"/>'), "x2 of a line is nan"),
        (element('<line x1="0" y1="0" x2="1e300" y2="5"/>'), r"x2 of a line is 1e\+300"),
        (element('<line x1="0" y1="0" x2="wide" y2="5"/>'), "is not an element.*wide"),
        (element('<line x1="0" y1="0" x2="3"/>'), "is not an element"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + element(LINE), "declares a document type or entities"),
        (b"<!doctype a>" + element(LINE), "declares a document type"),
        (b" " * ((1 << 19) + 1), "has more than 512 KiB"),
    ],
)
def test_what_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(FileError, match=f"m.elmt: .*{said}"):
        element_of(raw, "m.elmt")


@pytest.fixture
def elements(tmp_path: Path) -> Path:
    root = tmp_path / "elements"
    (root / "motors/small").mkdir(parents=True)
    (root / "motors/small/a.elmt").write_bytes(element(LINE))
    (root / "motors/same.elmt").write_bytes(element(LINE.replace("10", "20").replace('"5"', '"10"')))
    (root / "motors/other one.elmt").write_bytes(element('<circle x="0" y="0" diameter="2"/>', names=""))
    (root / "motors/none.elmt").write_bytes(element())
    (root / "motors/qet_directory").write_text("<qet-directory/>")
    return root


def test_symbols_are_drawn_once_and_read_as_any_corpus(elements: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    corpus = read_symbols(elements, tmp_path / "drawn", progress=lambda *step: told.append(step))
    assert corpus.items == ["motors/other_one", "motors/same"]
    assert corpus.frame["category"].to_list() == ["motors", "motors"]
    assert corpus.words == ((), ("motor",))
    assert [(one.name, one.why) for one in corpus.skipped] == [
        ("motors/none.elmt", "has no stroke"), ("motors/small/a.elmt", "looks like motors/same.elmt")
    ]  # fmt: skip
    assert ("drawing symbols", 4, 4) in told
    picture = np.asarray(Image.open(tmp_path / "drawn/motors/same.png"))
    assert picture.shape == (128, 128, 3) and picture.min() == 0
    (elements / "motors/same.elmt").unlink()
    assert len(read_symbols(elements, tmp_path / "drawn")) == 2
    assert read_symbols(elements, tmp_path / "drawn", language="de").words[1] == ("ein", "motor")


def test_an_interrupt_leaves_nothing(elements: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_symbols(elements, tmp_path / "drawn", progress=interrupted)
    monkeypatch.setattr(symbols, "draw", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(FileError, match="drawn: cannot be written: No space left"):
        read_symbols(elements, tmp_path / "drawn")
    assert [path.name for path in tmp_path.iterdir()] == ["elements"]


def test_symbols_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no symbol in it; fetch the symbols again"):
        read_symbols(tmp_path, tmp_path / "drawn")
