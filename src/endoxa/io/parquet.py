"""Rows of Parquet, as many as the size of the file allows: pages of equal values pack to a thousandth and less."""

from __future__ import annotations

import io
from pathlib import Path

from endoxa.errors import TableError
from endoxa.io.limits import refuse_content, refuse_rows
from endoxa.later import pl

FIRST, PARTS = 64, 64  # rows of the first part; about how many parts a table has
LARGE = 32 << 20  # bytes from which a file is read at once: what it can fill is in proportion to what it is


def parquet_rows(
    where: Path | bytes, label: str, *, most: int | None = None, footer: bytes | None = None
) -> pl.DataFrame:
    """All rows. Refused are more than `most`, and more rows or larger ones than honest data of this size have.

    A small file is opened once, and so is a large one whose `footer` is given.
    """
    size = len(where) if isinstance(where, bytes) else where.stat().st_size
    content = where.read_bytes() if isinstance(where, Path) and size < LARGE else where

    def scan(part: Path | bytes = content) -> pl.LazyFrame:
        return pl.scan_parquet(io.BytesIO(part) if isinstance(part, bytes) else part, glob=False)

    rows = int(scan(footer or content).select(pl.len()).collect().item())
    if most is not None and rows > most:
        raise TableError(f"there are {rows:,} rows", remedy=f"a table of a bundle has at most {most:,}")
    refuse_rows(label, size, rows)
    if size >= LARGE:
        return scan().collect()
    parts, begin, step, filled = [scan().slice(0, 0).collect()], 0, FIRST, 0
    while begin < rows:
        parts.append(scan().slice(begin, step).collect())
        filled += int(parts[-1].estimated_size())
        refuse_content(label, size, filled)
        begin, step = begin + step, min(2 * step, max(FIRST, rows // PARTS))
    return pl.concat(parts, rechunk=True)
