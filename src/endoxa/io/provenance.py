"""Identifies the files behind a result by name, size and SHA-256."""

from __future__ import annotations

import hashlib
from pathlib import Path

from endoxa.errors import FileError
from endoxa.evaluations.evaluation import File


def provenance(path: str, kind: str = "") -> File:
    """Return the name, size and SHA-256 of a file that was read."""
    try:
        with Path(path).open("rb") as file:
            return File(
                Path(path).name, Path(path).stat().st_size, hashlib.file_digest(file, "sha256").hexdigest(), kind
            )
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}", "check the path") from None
