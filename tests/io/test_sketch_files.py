"""Sketches from a page: one size, few bytes, nothing kept but pixels."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from endoxa.errors import FileError, TextError
from endoxa.io.sketch_files import read_sketch
from endoxa.searches.sketches import Sketch


def png(pixels: np.ndarray, **more: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", **more)
    return buffer.getvalue()


def painted() -> np.ndarray:
    pixels = np.zeros((256, 256, 4), np.uint8)
    pixels[40:200, 60:90] = (200, 30, 30, 255)
    pixels[10:20, 60:90] = (0, 30, 30, 77)
    return pixels


def test_the_pixels_come_back_and_only_they_are_kept() -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("author", "somebody")
    pixels, kept = read_sketch(png(painted(), pnginfo=notes))
    assert np.array_equal(pixels, painted()) and b"somebody" not in kept
    assert np.array_equal(read_sketch(kept)[0], pixels) and read_sketch(kept)[1] == kept
    hidden = painted()
    hidden[250:, 250:, :3] = 9  # a colour that nobody can see
    assert read_sketch(png(hidden))[1] == kept
    assert Sketch.of(pixels).shares.any()


def test_a_canvas_without_alpha_is_painted_all_over() -> None:
    pixels, _ = read_sketch(png(np.full((256, 256, 3), 40, np.uint8)))
    assert (Sketch.of(pixels).shares == 1).all()


def bomb() -> bytes:
    """A PNG that claims 60,000 × 60,000 pixels."""
    chunks = (b"IHDR" + (60_000).to_bytes(4, "big") * 2 + bytes([8, 6, 0, 0, 0]), b"IDAT" + zlib.compress(b"\0" * 99))
    framed = ((len(one) - 4).to_bytes(4, "big") + one + zlib.crc32(one).to_bytes(4, "big") for one in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "does not decode as PNG"),
        (b"<svg/>", "SVG"),
        (png(painted())[:-300], "does not decode as PNG"),
        (png(np.zeros((256, 255, 4), np.uint8)), "has 255 × 256 pixels; expected 256 × 256"),
        (png(np.random.default_rng(1).integers(0, 256, (256, 256, 4)).astype(np.uint8)), "at most 64,000"),
        (bomb(), "pixels; expected 256 × 256"),
    ],
)
def test_other_files_are_refused(raw: bytes, what: str) -> None:
    with pytest.raises(FileError, match=f"sketch: .*{what}"):
        read_sketch(raw)


def test_a_jpeg_is_refused_and_an_empty_canvas_kindly() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (256, 256)).save(buffer, "JPEG")
    with pytest.raises(FileError, match=r"does not decode as PNG \(it is no PNG\)"):
        read_sketch(buffer.getvalue())
    pixels, _ = read_sketch(png(np.zeros((256, 256, 4), np.uint8)))
    with pytest.raises(TextError, match="paint a little more"):
        Sketch.of(pixels)
