"""Ratings of words by people: a table with the columns `word` and `rating`.

The names of columns may be in any letter case. The file of Brysbaert et al. (2014) can be used as it is: its column
Conc.M holds the ratings. CSV, TSV (also as .txt), JSON lines or Parquet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from endoxa.errors import FileError
from endoxa.io.formats import FORMATS, Format
from endoxa.io.sources import PARQUET, Source, source_of, text_of
from endoxa.io.table_files import lines_of, rows_of

WORD = ("word",)
RATING = ("rating", "conc.m", "concreteness")


def read_norms(place: str | Path) -> dict[str, float]:
    """The rating of each word, words in lower case; rows without a rating are left out."""
    source = source_of(place)
    form = _form(source)
    norms: dict[str, float] = {}
    for line, row in _rows(source, form):
        names = {str(name).strip().lower(): name for name in row}
        word, rating = (_column(source, names, known, line) for known in (WORD, RATING))
        if row[word] is None or row[rating] is None:
            continue
        key = " ".join(str(row[word]).split()).casefold()
        if key in norms:
            raise FileError(source.label, f"the word {key!r} has two ratings", "remove one of them", line)
        norms[key] = _number(source, row[rating], line)
    if not norms:
        raise FileError(source.label, "holds no rating", "expected the columns word and rating, a word per line")
    return norms


def _form(source: Source) -> Format:
    """The format by the suffix; a text of another suffix is TSV if its first line has a tab, else CSV."""
    if source.content.magic == PARQUET:
        return "parquet"
    suffix = Path(source.label.removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    return FORMATS.get(suffix) or ("tsv" if b"\t" in source.first.partition(b"\n")[0] else "csv")


def _rows(source: Source, form: Format) -> Iterator[tuple[int, dict[str, Any]]]:
    if form == "parquet":
        yield from enumerate(rows_of(source, form)[0].iter_rows(named=True), start=1)
        return
    for line, row in lines_of(source, text_of(source), form):
        if isinstance(row, FileError):
            raise row
        yield line, row


def _column(source: Source, names: dict[str, str], known: tuple[str, ...], line: int) -> str:
    found = next((names[name] for name in known if name in names), None)
    if found is None:
        what = f"has the columns {', '.join(names.values())}"
        raise FileError(source.label, what, f"expected word and rating; {known[0]} is missing", line)
    return found


def _number(source: Source, value: Any, line: int) -> float:
    try:
        rating = float(value)
    except (TypeError, ValueError):
        rating = math.nan
    if not math.isfinite(rating):
        raise FileError(source.label, f"the rating {value!r:.40} is not a number", "expected one, like 4.5", line)
    return rating
