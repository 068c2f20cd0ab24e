"""Opening a corpus, and finding its pictures by what people type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from endoxa.images.corpus import Corpus, items_of
from endoxa.io import corpora, packages

HOME = ".endoxa"


def open_corpus(place: str | Path | Corpus, *, without: Sequence[str] | None = None, **how: Any) -> Corpus:
    """A corpus: a folder of pictures, a manifest (CSV, JSONL, Parquet), or `stamps`, `clipart`: fetched if need be.

    `without` leaves out categories whose path holds one of these parts; None leaves out what the corpus itself names
    (of the stamps: drawings), () nothing.
    """
    if isinstance(place, Corpus):
        return place if without is None else place.within(without=without)
    if str(place) in packages.COLLECTIONS and not Path(place).exists():
        return packages.corpus_of(str(place), without=without, **how)
    opened = corpora.read_corpus(Path(place), **how)
    return opened if without is None else opened.within(without=without)


def home_of(corpus: Corpus, home: str | Path | None = None) -> Path:
    """Where descriptions and indexes lie: beside the corpus, unless said otherwise."""
    return Path(home) if home is not None else Path(corpus.root) / HOME


def item_of(corpus: Corpus, typed: str) -> str | None:
    """The item that was meant: by its name, by its path below the corpus, or by the path of its file; None if none."""
    items = set(corpus.items)
    if typed in items:
        return typed
    by_path = dict(corpus.frame.select("path", "item").iter_rows())
    if typed in by_path:
        return str(by_path[typed])
    bare = items_of(pl.Series([typed]))[0]
    if bare in items and not Path(typed).is_file():
        return str(bare)
    try:
        below = Path(typed).resolve().relative_to(Path(corpus.root).resolve())
    except (ValueError, OSError):
        return None
    return by_path.get(below.as_posix())
