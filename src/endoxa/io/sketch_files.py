"""Sketches as they come from a page: small PNGs of exactly one size, encoded again before they are kept."""

from __future__ import annotations

import io

import numpy as np

from endoxa.errors import FileError
from endoxa.io.decoding import Canvas, decode_canvas
from endoxa.searches.sketches import SIDE

BYTES = 64_000


def read_sketch(raw: bytes) -> tuple[Canvas, bytes]:
    """The pixels of a sketch (256 × 256, red, green, blue, alpha), and a PNG of them that holds nothing else.

    The same pixels give the same PNG: unpainted ones (alpha 0) lose their colour, which nobody can see.
    """
    if len(raw) > BYTES:
        raise FileError("sketch", f"has {len(raw):,} bytes", f"expected a PNG of at most {BYTES:,}")
    pixels = decode_canvas(raw, SIDE, name="sketch")
    pixels[pixels[..., 3] == 0] = 0
    return pixels, _png(pixels)


def _png(pixels: Canvas) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG")
    return buffer.getvalue()
