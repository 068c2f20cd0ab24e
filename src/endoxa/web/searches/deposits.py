"""What people bring to a search: pictures and sketches, decoded at once and kept as copies without metadata."""

from __future__ import annotations

import base64
import binascii
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from endoxa.errors import RefusedError, needed
from endoxa.frozen import dataclass
from endoxa.io.picture_copies import copy_apart
from endoxa.io.pictures import LARGE
from endoxa.io.sketch_files import read_sketch
from endoxa.io.write import replacing
from endoxa.searches.sketches import Sketch

PICTURE = 16 * 1024 * 1024  # bytes of an uploaded picture
MOST = 20  # uploaded pictures of one search
DAY = 86_400.0


@dataclass(frozen=True)
class Deposits:
    """Files by search, in two folders: `kept` ones stay with the search, `passing` ones go when the server stops.

    Every server has a folder of its own for what passes. That of one that was killed is removed a day later.
    """

    folder: Path
    server: str = field(default_factory=lambda: uuid4().hex)

    @property
    def passing(self) -> Path:
        """The folder of what is not kept."""
        return self.folder / "passing" / self.server

    def upload(self, search: str, source: Path, *, keep: bool) -> str:
        """Store an uploaded picture as a JPEG; returns its digest."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            copy_apart(source, copy, side=LARGE, label="the picture")
            content = copy.read_bytes()
        name = f"{sha256(content).hexdigest()}.jpg"
        if self.find(search, name) is None and self._count(search) >= MOST:
            raise RefusedError(f"a search takes {MOST} pictures of your own", 409, remedy="start a new search for more")
        self._write((self.folder / "kept" if keep else self.passing) / search / name, content)
        return name.removesuffix(".jpg")

    def sketch(self, search: str, sketch: str) -> str:
        """Store a sketch, which comes as a PNG in base64; returns its digest. An empty one is refused."""
        pixels, png = read_sketch(decoded(sketch))
        Sketch.of(pixels)
        name = sha256(png).hexdigest()
        self._write(self.folder / "kept" / search / f"{name}.png", png)
        return name

    def uploaded(self, search: str, sha: str) -> Path:
        """The uploaded picture of a search."""
        return needed(self.find(search, f"{sha}.jpg"), "picture")

    def find(self, search: str, name: str) -> Path | None:
        """The file of that name, kept or passing."""
        places = (self.folder / "kept" / search / name, self.passing / search / name)
        return next((path for path in places if path.is_file()), None)

    def inherit(self, new: str, old: str) -> None:
        """Give a fork of a search what the search has."""
        for folder in (self.folder / "kept", self.passing):
            if (folder / old).is_dir():
                shutil.copytree(folder / old, folder / new, dirs_exist_ok=True)

    def forget(self) -> None:
        """Remove what is not kept, also by servers that were killed long ago."""
        shutil.rmtree(self.passing, ignore_errors=True)
        for other in self.passing.parent.glob("*"):
            with suppress(OSError):
                if time.time() - other.stat().st_mtime > DAY:
                    shutil.rmtree(other, ignore_errors=True)

    def forget_search(self, search: str) -> None:
        """Remove what one search does not keep."""
        shutil.rmtree(self.passing / search, ignore_errors=True)

    def _count(self, search: str) -> int:
        folders = (self.folder / "kept" / search, self.passing / search)
        return sum(1 for folder in folders if folder.is_dir() for _ in folder.glob("*.jpg"))

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            with replacing(path) as part:
                part.write_bytes(content)


def decoded(sketch: str) -> bytes:
    """The bytes of a sketch in base64."""
    try:
        return base64.b64decode(sketch, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError("the sketch is not base64", 422) from None
