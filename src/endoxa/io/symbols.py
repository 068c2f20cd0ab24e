"""Electrical symbols: the elements of QElectroTech (.elmt), drawn once into a folder of pictures.

An element is XML: its name in several languages, and lines, rectangles, ellipses, arcs and polygons. Texts and
terminals are not part of the shape, and are left out, like the arrows at the ends of lines.
"""

from __future__ import annotations

import itertools
import math
import posixpath
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.images.strokes import Paint, Stroke, arc, draw
from endoxa.io.corpora import read_corpus
from endoxa.io.write import making_folder

SUFFIX = ".elmt"
ELEMENT = 1 << 19  # bytes of an element that are read; real ones have fewer than 200,000
FARTHEST = 1e6  # a coordinate beyond it is an error
LEFT_OUT = ".left-out"  # a line for each element that was not drawn: its path, tab, the reason
_FORBIDDEN = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Element:
    """The names of a symbol by language, and its strokes."""

    names: Mapping[str, str]
    strokes: tuple[Stroke, ...]


def element_of(raw: bytes, label: str = "element") -> Element:
    """Names and strokes of an element; a FileError if it is damaged, declares entities, or has nothing to draw."""
    if len(raw) > ELEMENT:
        raise FileError(label, f"has more than {ELEMENT >> 10} KiB")
    if _FORBIDDEN.search(raw):
        raise FileError(label, "declares a document type or entities, which an element does not need")
    try:
        root = ElementTree.fromstring(raw)
        parts = [part for part in root.iterfind("description/*") if part.tag in SHAPES]
        strokes = tuple(_stroke(part) for part in parts)
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # a LookupError: an encoding that nobody knows
        raise FileError(label, f"is not an element of QElectroTech ({error})") from None
    if not any("ink" in (stroke.line, stroke.filling) for stroke in strokes):
        raise FileError(label, "has no stroke")
    names = {name.get("lang", ""): " ".join((name.text or "").split()) for name in root.iterfind("names/name")}
    return Element({language: name for language, name in names.items() if name}, strokes)


def read_symbols(elements: Path, drawn: Path, *, language: str = "", progress: Progress | None = None) -> Corpus:
    """The symbols as a corpus: folders are categories, names are captions. They are drawn if `drawn` does not exist."""
    if not drawn.is_dir():
        draw_symbols(elements, drawn, progress=progress)
    corpus = read_corpus(drawn, language=language, progress=progress)
    lines = (drawn / LEFT_OUT).read_text(encoding="utf-8").splitlines()
    return Corpus(corpus.frame, corpus.root, corpus.name, tuple(Skipped(*line.split("\t", 1)) for line in lines))


def draw_symbols(elements: Path, target: Path, *, progress: Progress | None = None) -> None:
    """A PNG and a caption for every element below a folder, in the same tree; completely or not at all.

    An element without strokes is left out, and so is one that looks like an earlier one, by the order of paths.
    """
    paths = sorted(path.relative_to(elements).as_posix() for path in elements.rglob(f"*{SUFFIX}"))
    if not paths:
        raise FileError(str(elements), "there is no symbol in it", "fetch the symbols again")
    with making_folder(target) as part:
        left_out, seen = [], dict[str, str]()
        for at, path in enumerate(paths, start=1):
            if why := _drawn(elements / path, part / path.removesuffix(SUFFIX), path, seen):
                left_out.append(f"{path}\t{why}\n")
            if progress is not None:
                progress("drawing symbols", at, len(paths))
        (part / LEFT_OUT).write_text("".join(left_out), encoding="utf-8")


def _drawn(source: Path, target: Path, path: str, seen: dict[str, str]) -> str:
    """Draw one element, unless one of those seen looks the same; the reason why it is left out, or nothing."""
    from PIL import Image

    try:
        with source.open("rb") as file:
            element = element_of(file.read(ELEMENT + 1), path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except FileError as error:
        return error.problem
    pixels = draw(element.strokes).pixels
    first = seen.setdefault(sha256(pixels.tobytes()).hexdigest(), path)
    if first != path:
        return f"looks like {first}"
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(posixpath.join(target.parent, f"{target.name}.png"))
    (target.parent / f"{target.name}.txt").write_text(_caption(element.names), encoding="utf-8")
    return ""


def _caption(names: Mapping[str, str]) -> str:
    """The English name, or the first one, and a line for each language, as corpora are read: `de.utf8=…`."""
    first = names.get("en") or next(iter(names.values()), "")
    return "".join([f"{first}\n", *(f"{language}.utf8={name}\n" for language, name in names.items())])


# ---- shapes ---------------------------------------------------------------------------------------------------


def _stroke(part: ElementTree.Element) -> Stroke:
    style = dict(pair.partition(":")[::2] for pair in part.get("style", "").split(";"))
    names, points_of = SHAPES[part.tag]
    wanted = names.split()
    if part.tag == "polygon":
        corners = next(count for count in itertools.count(1) if part.get(f"x{count + 1}") is None)
        wanted = [f"{axis}{at}" for at in range(1, corners + 1) for axis in "xy"]
    points = points_of(*(_number(part, name) for name in wanted))
    line: Paint = "" if style.get("line-weight") == "none" else _paint(style.get("color", "black"))
    filled = part.tag not in {"line", "arc"}  # QElectroTech does not fill these
    closed = filled and (part.tag != "polygon" or part.get("closed") != "false")
    filling: Paint = _paint(style.get("filling", "none")) if filled else ""
    return Stroke(points=points, closed=closed, line=line, filling=filling)


def _paint(colour: str) -> Paint:
    """White is paper, which hides what lies below it; every other colour is ink."""
    return {"none": "", "white": "paper"}.get(colour, "ink")  # type: ignore[return-value]


def _number(part: ElementTree.Element, name: str) -> float:
    value = float(part.get(name, "missing"))
    if not math.isfinite(value) or abs(value) > FARTHEST:
        raise ValueError(f"{name} of a {part.tag} is {value:g}")
    return value


def _points(*numbers: float) -> Any:
    import numpy as np

    return np.array(numbers, dtype=np.float64).reshape(-1, 2)


# Its attributes, and the points that they give; a polygon has as many corners as it names.
SHAPES: dict[str, tuple[str, Callable[..., Any]]] = {
    "line": ("x1 y1 x2 y2", _points),
    "rect": ("x y width height", lambda x, y, w, h: _points(x, y, x + w, y, x + w, y + h, x, y + h)),
    "ellipse": ("x y width height", arc),
    "circle": ("x y diameter", lambda x, y, diameter: arc(x, y, diameter, diameter)),
    "arc": (
        "x y width height start angle",
        lambda x, y, w, h, start, angle: arc(x, y, w, h, start, max(-360.0, min(angle, 360.0))),
    ),
    "polygon": ("", _points),
}
