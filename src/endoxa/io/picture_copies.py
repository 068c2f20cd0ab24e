"""Copies of pictures that strangers bring, without metadata; they are decoded in a process of its own."""

from __future__ import annotations

from pathlib import Path

from endoxa.io.apart import answer, run_apart
from endoxa.io.decoding import flattened, read

QUALITY = 88


def copy_apart(source: Path, target: Path, *, side: int, label: str) -> None:
    """Write a JPEG of a picture whose long side has at most `side` pixels."""
    given = {"source": str(source), "target": str(target), "side": side, "label": label}
    run_apart("endoxa.io.picture_copies", given, label, remedy="send a smaller one")


def copy(source: str, target: str, side: int, label: str) -> None:
    """Write the copy, in this process."""
    picture, _ = flattened(read(Path(source), label), label, side=side)
    picture.save(target, "JPEG", quality=QUALITY)


if __name__ == "__main__":
    answer(copy)
