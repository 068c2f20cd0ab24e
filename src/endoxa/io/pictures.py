"""Pictures of studies and searches: decoded once, reduced to a size that can be sent, stored by their hash.

Re-encoding removes metadata (positions in EXIF) and scripts; files that cannot be decoded are found at import.
"""

from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from endoxa.io.decoding import flattened, read
from endoxa.io.missing_files import unreadable
from endoxa.io.write import write_whole

if TYPE_CHECKING:
    from PIL import Image

LARGE, SMALL = 1600, 480  # pixels of the long side


def keep(path: Path, folder: Path) -> tuple[str, str]:
    """Store a picture in a folder, large and small; its hash there, and the hash of the original file."""
    raw = read(path)
    flat, _ = flattened(raw, str(path), side=2 * LARGE)  # twice the size, so that the last reduction is accurate
    folder.mkdir(parents=True, exist_ok=True)
    large = _jpeg(flat, LARGE)
    name = sha256(large).hexdigest()
    for copy, content in ((place(folder, name), large), (place(folder, name, small=True), _jpeg(flat, SMALL))):
        if not copy.exists():
            write_whole(copy, content)
    return name, sha256(raw).hexdigest()


def cached(path: Path, folder: Path, *, small: bool = False) -> Path:
    """A copy of a picture, made when it is first wanted, under the hash of its path, time and length."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(str(path), error, suggest=False) from None
    name = sha256(f"{path}\0{status.st_mtime_ns}\0{status.st_size}".encode("utf-8", "surrogateescape")).hexdigest()
    copy = place(folder, name, small=small)
    if not copy.exists():
        side = SMALL if small else LARGE
        flat, _ = flattened(read(path), str(path), side=2 * side)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(copy, _jpeg(flat, side))
    return copy


def place(folder: Path, name: str, *, small: bool = False) -> Path:
    """The path of the picture with this hash."""
    return folder / f"{name}{'.small' if small else ''}.jpg"


def _jpeg(picture: Image.Image, side: int) -> bytes:
    copy = picture.copy()
    copy.thumbnail((side, side))
    buffer = io.BytesIO()
    copy.save(buffer, "JPEG", quality=88, optimize=True)
    return buffer.getvalue()
