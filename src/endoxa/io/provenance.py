"""Identifies the files behind a result by name, size and SHA-256."""

from __future__ import annotations

from pathlib import Path

from endoxa.evaluations.evaluation import File
from endoxa.io.missing_files import unreadable
from endoxa.io.sources import Where, source_of


def provenance(where: Where, kind: str = "") -> File:
    """Return the name, size and SHA-256 of a file that was read; of a collection of BEIR, those of its judgments."""
    source = source_of(where)
    path = source.content.packed or source.path
    return File(Path(source.label).name, path.stat().st_size, fingerprint(path), kind)


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file."""
    from hashlib import file_digest

    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(str(path), error, "check the path") from None
