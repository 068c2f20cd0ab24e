"""Texts that a spreadsheet would run as formulas: CSV gets a quote in front of them, and readers take it away again.

A judge may call herself `=HYPERLINK(…)`, and a comment may begin with `=cmd|…`. The quote is the sign by which
spreadsheets know a text. A text that already begins with quotes before such a sign gets one more, so that reading gives
back exactly what was written. Numbers stay as they are.
"""

from __future__ import annotations

import polars as pl

SIGNS = "=+-@\t\r"
FORMULA = r"^'*[=+\-@\t\r]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def escaped(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame as a file that a spreadsheet may open."""
    return frame.with_columns(_escaped(column) for column in frame if column.dtype == pl.String)


def _escaped(column: pl.Series) -> pl.Series:
    formula = column.str.contains(FORMULA) & ~column.str.contains(NUMBER)
    return ("'" + column).zip_with(formula.fill_null(False), column).alias(column.name) if formula.any() else column


def unescaped(frame: pl.DataFrame, data: bytes) -> pl.DataFrame:
    """Return the frame of a CSV file, read from these bytes, as it was before `escaped`."""
    if b"'" not in data:
        return frame
    return frame.with_columns(pl.col(pl.String).str.replace(r"^'('*[=+\-@\t\r])", "$1"))
