"""Pictures that people will look at: decoded once, made small enough to send, kept by their hash.

Re-encoding drops whatever else a file may carry (scripts in SVG, positions in EXIF), and finds at import what does
not decode, so that no judge meets it.
"""

from __future__ import annotations

import io
import os
import warnings
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from endoxa.errors import FileError, InstallError

if TYPE_CHECKING:
    from PIL import Image

LARGE, SMALL = 1600, 480  # pixels of the long side
PIXELS = 100_000_000  # a file that claims more is a bomb, or not for a page
SUFFIXES = {".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff"}


def is_picture(path: Path) -> bool:
    """Whether the name says that it is a picture."""
    return path.suffix.lower() in SUFFIXES


def keep(path: Path, folder: Path) -> tuple[str, str]:
    """Put a picture into a folder, large and small; its hash there, and the hash of the file as it was."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise InstallError("Pillow is not installed; pip install 'endoxa[studio]'") from None
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise FileError(str(path), f"cannot be read: {error.strerror}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large pictures; we refuse very large ones ourselves
            with Image.open(io.BytesIO(raw)) as opened:
                _refuse_vast(path, opened.width, opened.height)
                turned = _eight_bits(ImageOps.exif_transpose(opened))
                whole = turned.convert("RGBA") if "A" in turned.getbands() or turned.mode == "P" else turned
                flat = Image.new("RGB", whole.size, "white")
                flat.paste(whole.convert("RGB"), mask=whole.getchannel("A") if whole.mode == "RGBA" else None)
    except FileError:
        raise
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise FileError(
            str(path), f"does not decode as a picture ({type(error).__name__})", "replace it or leave it out"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    large = _jpeg(flat, LARGE)
    name = sha256(large).hexdigest()
    _write(folder / f"{name}.jpg", large)
    _write(folder / f"{name}.small.jpg", _jpeg(flat, SMALL))
    return name, sha256(raw).hexdigest()


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Deep greys brought down to what a page shows; Pillow would cut them off, and nearly all would be white."""
    if picture.mode.startswith("I;16"):
        return picture.point(lambda value: value / 257, "F").convert("L")
    if picture.mode not in {"I", "F"}:
        return picture
    lo, hi = (float(bound) for bound in picture.getextrema())  # type: ignore[arg-type]
    scale = 255 / (hi - lo) if hi > lo else 0.0
    return picture.convert("F").point(lambda value: value * scale - lo * scale).convert("L")


def _refuse_vast(path: Path, width: int, height: int) -> None:
    if width * height > PIXELS:
        raise FileError(str(path), f"has {width} × {height} pixels", "make it smaller, 100 million at most")


def place(folder: Path, name: str, *, small: bool = False) -> Path:
    """Where a picture of that hash lies."""
    return folder / f"{name}{'.small' if small else ''}.jpg"


def _jpeg(picture: object, side: int) -> bytes:
    from PIL import Image

    assert isinstance(picture, Image.Image)
    copy = picture.copy()
    copy.thumbnail((side, side))
    buffer = io.BytesIO()
    copy.save(buffer, "JPEG", quality=88, optimize=True)
    return buffer.getvalue()


def _write(path: Path, content: bytes) -> None:
    if path.exists():
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(path)
