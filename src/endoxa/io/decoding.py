"""Decoding: the only module that turns a file from an unknown source into pixels.

The header of a file is checked before anything is decoded. A file that is damaged, truncated, too large or of another
type than its name says is refused by a FileError that names it. Only the raster formats listed here are tried.
"""

from __future__ import annotations

import base64
import io
import math
import stat
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from endoxa.errors import FileError, InstallError
from endoxa.images import Picture, Pixels
from endoxa.io.missing_files import unreadable

if TYPE_CHECKING:
    from PIL import Image

Canvas = npt.NDArray[np.uint8]  # height × width × red, green, blue, alpha

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")
CANVAS = ("PNG",)  # formats of a canvas that a page sends
SUFFIXES = frozenset(".jpg .jpeg .png .gif .webp .bmp .tif .tiff .ppm .pgm .pbm .pnm".split())
PIXELS = 100_000_000  # a file that claims more is a decompression bomb, or too large for a page
BYTES = 1 << 28  # of a file; files of 100 million pixels are rarely larger
BAND = 1 << 20  # pixels that are converted at once, so that there is never a second copy of a large picture
OPAQUE = 128  # pixels with at least this alpha are opaque
QUALITY = 85
REMEDY = "replace it or leave it out"

# First bytes of files that are not pictures of these formats, and what they are.
OTHERS = (
    (b"<svg", "it is an SVG drawing, not pixels"), (b"<!doctype svg", "it is an SVG drawing, not pixels"),
    (b"<!doctype html", "it is a web page"), (b"<html", "it is a web page"), (b"%pdf", "it is a PDF"),
    (b"%!ps", "it is PostScript"), (b"pk\x03\x04", "it is a zip"), (b"\x1f\x8b", "it is packed with gzip"),
    (b"8bps", "it is a Photoshop file"), (b"\0\0\0\x0cjp  ", "it is JPEG 2000"),
)  # fmt: skip

# What Pillow's decoders raise on hostile files, as found by fuzzing.
FAULTS = (
    OSError, ValueError, SyntaxError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, MemoryError,
    RuntimeError, AssertionError, struct.error, zlib.error,
)  # fmt: skip


def is_picture(path: Path) -> bool:
    """Whether the file has the suffix of a picture."""
    return path.suffix.lower() in SUFFIXES


def decode(source: Path | bytes, *, side: int | None = 1024, name: str = "") -> Picture:
    """The picture in a file or in its bytes, upright, its long side at most `side` pixels (None: the original size).

    Transparent parts become white; the mask marks pixels that are half opaque or more; it is None if all are. Greys of
    16 bits are scaled to 8; greys without a known range (32 bits, floats) are stretched from black to white. Of an
    animation, the first frame is used. Colour profiles are not applied: CMYK becomes (1 - C)(1 - K), …, which differs
    from print. JPEGs much larger than needed are decoded at a half, quarter or eighth of their size, which is several
    times faster and differs by one or two grey values. `name` is the name of the bytes in errors.
    """
    label = name or (str(source) if isinstance(source, Path) else "picture")
    raw = source if isinstance(source, bytes) else read(source, label)
    flat, alpha = flattened(raw, label, side=side)
    mask = np.asarray(alpha) >= OPAQUE if alpha is not None else None
    return Picture(_pixels(flat), None if mask is None or mask.all() else mask)


def _pixels(flat: Image.Image) -> Pixels:
    """The pixels of an RGB image, in bands: Pillow would copy the whole of it twice."""
    pixels = np.empty((flat.height, flat.width, 3), dtype=np.uint8)
    rows = max(1, BAND // flat.width)
    for top in range(0, flat.height, rows):
        pixels[top : top + rows] = np.asarray(flat.crop((0, top, flat.width, min(top + rows, flat.height))))
    return pixels


def decode_canvas(raw: bytes, side: int, *, name: str = "canvas") -> Canvas:
    """The red, green, blue and alpha of a PNG of exactly `side` × `side` pixels."""
    pillow = _pillow()
    try:
        with _quiet(), pillow.open(io.BytesIO(raw), formats=CANVAS) as opened:
            if opened.size != (side, side):
                what = f"has {opened.size[0]} × {opened.size[1]} pixels"
                raise FileError(name, what, f"expected {side} × {side}")
            return np.array(opened.convert("RGBA"))
    except pillow.DecompressionBombError:
        raise FileError(name, "has far too many pixels", f"expected {side} × {side}") from None
    except FAULTS as error:
        raise FileError(name, f"does not decode as PNG ({_reason(raw, error, CANVAS)})", "send it again") from None


def thumbnail(source: Picture | Path | bytes, side: int, *, form: Literal["JPEG", "WEBP"] = "JPEG") -> bytes:
    """A small copy for a gallery, on white, without metadata."""
    picture = source if isinstance(source, Picture) else decode(source, side=side)
    pillow = _pillow()
    small = pillow.fromarray(np.ascontiguousarray(picture.pixels))
    if max(small.size) > side:
        small = small.resize(_fitted(small.size, side), pillow.Resampling.BOX)
    buffer = io.BytesIO()
    small.save(buffer, form, quality=QUALITY)
    return buffer.getvalue()


def data_address(source: Picture | Path | bytes, side: int) -> str:
    """A small copy as a data: address, for a page that opens offline."""
    return "data:image/jpeg;base64," + base64.b64encode(thumbnail(source, side)).decode()


def read(path: Path, label: str = "") -> bytes:
    """The bytes of a file that is not too large; a pipe or a device, which may not end, is refused."""
    label = label or str(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
            raise FileError(label, f"cannot be read: it is {kind}", "name a picture")
        _refuse_heavy(label, status.st_size)
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise unreadable(label, error, suggest=False) from None


def flattened(raw: bytes, label: str, *, side: int | None = None) -> tuple[Image.Image, Image.Image | None]:
    """The picture as a Pillow image: RGB on white, upright, its long side at most `side`; and its alpha, if any."""
    pillow = _pillow()
    _refuse_heavy(label, len(raw))
    if not raw:
        raise FileError(label, "does not decode as a picture (it is empty)", REMEDY)
    try:
        with _quiet(), pillow.open(io.BytesIO(raw), formats=FORMATS) as opened:
            _refuse_vast(opened, label)
            _refuse_gaps(opened)
            size = _fitted(opened.size, side)
            shrunk = opened.draft(None, size)  # None unless a JPEG is decoded at a half, a quarter or an eighth
            opened.load()
            turn = _turn(opened)
            flat, alpha = _on_white(opened, size, extent=shrunk[1][2:] if shrunk else opened.size)
    except pillow.DecompressionBombError:
        raise FileError(label, "has far too many pixels", _FEWER) from None
    except FAULTS as error:
        raise FileError(label, f"does not decode as a picture ({_reason(raw, error)})", REMEDY) from None
    if turn is None:
        return flat, alpha
    return flat.transpose(turn), alpha.transpose(turn) if alpha is not None else None


# ---- refusals --------------------------------------------------------------------------------------------------


_FEWER = f"make it smaller, {PIXELS // 1_000_000} million pixels at most"


def _refuse_heavy(label: str, size: int) -> None:
    if size > BYTES:
        raise FileError(label, f"has {size >> 20} MiB", f"make it smaller, {BYTES >> 20} MiB at most")


def _refuse_vast(opened: Image.Image, label: str) -> None:
    width, height = opened.size
    if width * height > PIXELS:
        raise FileError(label, f"has {width} × {height} pixels", _FEWER)
    tags = getattr(opened, "tag_v2", {})  # TIFF: a small picture may claim large tiles
    tile = tags.get(322, 0), tags.get(323, 0)
    if tile[0] * tile[1] > PIXELS:
        raise FileError(label, f"has tiles of {tile[0]} × {tile[1]} pixels", _FEWER)


def _refuse_gaps(opened: Image.Image) -> None:
    """A TIFF may hold fewer strips than its height needs; Pillow would leave the rest black."""
    if opened.format == "TIFF":
        held = sum((right - left) * (lower - upper) for _, (left, upper, right, lower), *_ in opened.tile)  # type: ignore[attr-defined]
        if held < opened.width * opened.height:
            raise OSError("image file is truncated")


def _reason(raw: bytes, error: BaseException, formats: tuple[str, ...] = FORMATS) -> str:
    """The reason why it cannot be decoded, in readable form."""
    head = raw[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for mark, what in OTHERS:
        if head.startswith(mark) or (head.startswith((b"<?xml", b"<!--")) and mark in head):
            return what
    if head[4:8] == b"ftyp":
        return "it is HEIC, AVIF or a film; save it as JPEG"
    message = " ".join(str(error).split())
    if "truncated" in message.lower() or isinstance(error, EOFError):
        return "it is truncated"
    if isinstance(error, MemoryError):
        return "there is not enough memory for the size it claims"
    if type(error).__name__ == "UnidentifiedImageError":
        return f"it is none of {', '.join(formats)}" if len(formats) > 1 else f"it is no {formats[0]}"
    return f"it is damaged: {message[:80] or type(error).__name__}"


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise InstallError("Pillow is not installed", remedy="pip install 'endoxa[images]'") from None
    return Image


_LOCK = threading.Lock()
_FILTERS: list[warnings.catch_warnings[None]] = []  # one for each thread that decodes; the first has the old filters


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress Pillow's warnings (large pictures, odd EXIF); of concurrent threads, the last restores the filters."""
    with _LOCK:
        _FILTERS.append(warnings.catch_warnings())
        if len(_FILTERS) == 1:
            _FILTERS[0].__enter__()
            warnings.simplefilter("ignore")
    try:
        yield
    finally:
        with _LOCK:
            last = _FILTERS.pop()
            if not _FILTERS:
                last.__exit__(None, None, None)


# ---- modes, sizes, directions ---------------------------------------------------------------------------------


def _fitted(size: tuple[int, int], side: int | None) -> tuple[int, int]:
    if side is None or max(size) <= side:
        return size
    scale = side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _turn(opened: Image.Image) -> Any:
    """The transposition that EXIF asks for; None if there is none, or if EXIF cannot be read."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM, 5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90,
    }  # fmt: skip
    try:
        asked = opened.getexif().get(0x0112)
    except FAULTS:  # a picture with damaged metadata is still a picture
        return None
    return turns.get(asked) if isinstance(asked, int) else None


def _on_white(
    opened: Image.Image, size: tuple[int, int], extent: tuple[float, float]
) -> tuple[Image.Image, Image.Image | None]:
    """RGB on white, and alpha, at this size: reduced in bands by an integer factor, then by area means.

    `extent` is the extent of the picture: less than its size if the last column or row represents a fraction of one.
    """
    from PIL import Image

    width, height = opened.size
    factor = max(1, max(width, height) // max(size))
    bounds = _bounds(opened)
    clear = bounds is None and opened.has_transparency_data
    flat = Image.new("RGB", (math.ceil(width / factor), math.ceil(height / factor)))
    alpha = Image.new("L", flat.size) if clear else None
    rows = max(1, BAND // (width * factor)) * factor
    for top in range(0, height, rows):
        band = opened.crop((0, top, width, min(top + rows, height)))
        if bounds is not None:
            values, (lo, hi) = np.asarray(band, dtype=np.float64), bounds
            scaled = (values - lo) * (255 / (hi - lo)) if lo < hi else np.zeros(values.shape)
            band = Image.fromarray(np.rint(np.clip(np.nan_to_num(scaled, nan=0.0), 0, 255)).astype(np.uint8))
        if alpha is not None:
            band = band.convert("RGBA")
            alpha.paste(band.getchannel("A").reduce(factor), (0, top // factor))
            band = Image.alpha_composite(Image.new("RGBA", band.size, "white"), band)
        flat.paste(band.convert("RGB").reduce(factor), (0, top // factor))
    box = (0.0, 0.0, extent[0] / factor, extent[1] / factor)
    if box == (0.0, 0.0, *size) and size == flat.size:
        return flat, alpha
    means = Image.Resampling.BOX
    return flat.resize(size, means, box), alpha.resize(size, means, box) if alpha is not None else None


def _bounds(opened: Image.Image) -> tuple[float, float] | None:
    """The values of black and white in a deep grey picture; None for other pictures."""
    if opened.mode.startswith("I;16") or (opened.mode == "I" and opened.format == "PPM"):
        return 0.0, 65535.0
    if opened.mode not in {"I", "F"}:
        return None
    lo, hi = math.inf, -math.inf
    width, height = opened.size
    rows = max(1, BAND // width)
    for top in range(0, height, rows):
        values = np.asarray(opened.crop((0, top, width, min(top + rows, height))), dtype=np.float64)
        known = np.isfinite(values)
        lo, hi = float(values.min(where=known, initial=lo)), float(values.max(where=known, initial=hi))
    return lo, hi
