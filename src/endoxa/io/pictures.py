"""Pictures that people will look at: decoded once, made small enough to send, kept by their hash.

Re-encoding drops whatever else a file may carry (scripts in SVG, positions in EXIF), and finds at import what does
not decode, so that no judge meets it.
"""

from __future__ import annotations

import io
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from endoxa.io.decoding import flattened, is_picture, read

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["LARGE", "SMALL", "is_picture", "keep", "place"]

LARGE, SMALL = 1600, 480  # pixels of the long side


def keep(path: Path, folder: Path) -> tuple[str, str]:
    """Put a picture into a folder, large and small; its hash there, and the hash of the file as it was."""
    raw = read(path)
    flat, _ = flattened(raw, str(path), side=2 * LARGE)  # twice, for the last step is the finest
    folder.mkdir(parents=True, exist_ok=True)
    large = _jpeg(flat, LARGE)
    name = sha256(large).hexdigest()
    _write(folder / f"{name}.jpg", large)
    _write(folder / f"{name}.small.jpg", _jpeg(flat, SMALL))
    return name, sha256(raw).hexdigest()


def place(folder: Path, name: str, *, small: bool = False) -> Path:
    """Where a picture of that hash lies."""
    return folder / f"{name}{'.small' if small else ''}.jpg"


def _jpeg(picture: Image.Image, side: int) -> bytes:
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
