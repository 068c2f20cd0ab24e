"""How much a file may hold, by its size: a small file of somebody else must not fill the memory or the disk.

Texts of retrieval compress to a tenth, and a row of Parquet takes a byte or more, so that what exceeds these limits was
made to exceed them. ENDOXA_TRUST_FILES=1 lifts the limits, for data of one's own; it also lets a table name files
outside its folder.
"""

from __future__ import annotations

import math
import os

from endoxa.errors import FileError

RATIO = 100  # bytes of content for each byte of a packed file
FREE = 64 << 20  # bytes of content that are allowed however small the file is: an array of zeros may be honest
FREE_TEXT = 2 << 20  # bytes of text, which takes many times its size in memory
ROWS = 10  # rows of Parquet for each byte
FREE_ROWS = 200_000
CELLS = 1  # cells of a table of text for each byte; a full row of n columns has n bytes or more
FREE_CELLS = 1_000_000
PIPE = 64 << 30  # bytes of a pipe, which are copied to a temporary file
TRUST = "ENDOXA_TRUST_FILES"


def refuse_content(label: str, size: int, content: int, what: str = "it", *, text: bool = False) -> None:
    """Refuse `content` unpacked bytes in a file, or a member of one, of `size` bytes."""
    if content > allowed_content(size, text=text):
        holds = f"unpacked, {what} has more than {RATIO} times its {size:,} bytes"
        raise FileError(label, holds, f"unpack it first, or set {TRUST}=1 if the file is yours")


def allowed_content(size: int, *, text: bool = False) -> float:
    """How many unpacked bytes a file of `size` bytes may have."""
    return math.inf if trusted() else max(FREE_TEXT if text else FREE, RATIO * size)


def allowed_pipe() -> float:
    """How many bytes a pipe may deliver."""
    return math.inf if trusted() else PIPE


def too_long(most: float) -> tuple[str, str]:
    """Return what is wrong with a pipe that does not end within the limit, and the remedy."""
    return f"the pipe has more than {most:,.0f} bytes", f"save its content as a file, or set {TRUST}=1 if it ends"


def refuse_rows(label: str, size: int, rows: int) -> None:
    """Refuse so many rows in a Parquet file of `size` bytes."""
    if rows > max(FREE_ROWS, ROWS * size) and not trusted():
        what = f"there are {rows:,} rows in {size:,} bytes"
        raise FileError(label, what, f"check where the file comes from, or set {TRUST}=1 if it is yours")


def refuse_cells(label: str, size: int, lines: int, columns: int) -> None:
    """Refuse a text of `size` bytes that would become a table of empty cells."""
    if lines * columns > max(FREE_CELLS, CELLS * size) and not trusted():
        what = f"{lines:,} lines have {columns:,} columns in all, most of them empty"
        raise FileError(label, what, f"expected the same columns in every line; or set {TRUST}=1 if the file is yours")


def trusted() -> bool:
    """Whether the owner of the files lifts the limits."""
    return os.environ.get(TRUST, "") not in {"", "0"}
