"""Pages and fake OCRs for tests: shell scripts that print, fail, hang or write as told."""

from __future__ import annotations

import os
import select
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def pages(folder: Path, texts: dict[str, str], *, typed: bool = True) -> Path:
    """A folder of small pictures, and beside each its transcription."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, text) in enumerate(texts.items()):
        grey = np.full((40, 60), 220, dtype=np.uint8)
        grey[10:14, 5 : 30 + number] = 20
        Image.fromarray(grey).save(folder / f"{name}.png")
        if typed:
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def script(folder: Path, name: str, body: str) -> str:
    """An executable shell script; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def reader(folder: Path, name: str, outputs: dict[str, str]) -> str:
    """`NAME=COMMAND {page}`: an OCR that prints these texts by the name of the page, and counts its calls."""
    kept = folder / f"{name}-texts"
    kept.mkdir(parents=True, exist_ok=True)
    for page, text in outputs.items():
        (kept / page).write_text(text, encoding="utf-8")
    body = f'echo x >> "{folder}/{name}-calls"\ncat "{kept}/$(basename "$1" .png)"'
    return f"{name}={script(folder, name, body)} {{page}}"


def calls(folder: Path, name: str) -> int:
    """How often the OCR was called."""
    path = folder / f"{name}-calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def ended(pid: int) -> bool:
    """Whether a process ends, now or within 20 seconds; one that was killed takes a moment."""
    if not hasattr(os, "pidfd_open"):
        pytest.skip("only Linux says when a process of others has ended")
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 20)[0])
    finally:
        os.close(handle)
