"""Opening a corpus by what people type, and finding its pictures by what they type."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import polars as pl

from endoxa.engines.searching import Outside
from endoxa.errors import MissingFile, advice
from endoxa.images.corpus import Corpus, Progress, items_of, words_of
from endoxa.io import packages
from endoxa.io.corpora import caption_of, read_corpus
from endoxa.io.decoding import decode, is_picture
from endoxa.io.missing_files import near_file
from endoxa.io.read import is_there

HOME = ".endoxa"
CACHE = "cache"  # in place of a folder


def open_corpus(
    place: str | Path | Corpus, *, without: Sequence[str] | None = None, language: str = "",
    progress: Progress | None = None, seconds: float | None = None,
) -> Corpus:  # fmt: skip
    """A corpus: a folder of pictures, a manifest (CSV, JSONL, Parquet), or a collection (`stamps`), fetched if missing.

    `without` leaves out categories whose path contains one of these parts; None leaves out what the collection itself
    excludes (of the stamps: drawings). `language` is that of the captions; `seconds` limits the time for fetching.
    """
    if isinstance(place, Corpus):
        return place if without is None else place.within(without=without)
    if str(place) in packages.COLLECTIONS and not Path(place).exists():
        return packages.corpus_of(str(place), without=without, language=language, progress=progress, seconds=seconds)
    corpus = read_corpus(Path(place), language=language, progress=progress)
    return corpus if without is None else corpus.within(without=without)


def called(corpus: Corpus) -> str:
    """What a title calls a corpus: the name of a collection, or that of the folder."""
    return corpus.name if corpus.name in packages.COLLECTIONS else Path(corpus.root).name


def home_of(corpus: Corpus, home: str | Path | None = None) -> Path:
    """The folder of descriptions and indexes: `.endoxa` in the corpus, unless another is named (`home_at`)."""
    return home_at(corpus.root, home)


def home_at(root: str | Path, home: str | Path | None = None) -> Path:
    """The same for the folder of a corpus. `cache` is a folder of its own in the user's cache, outside the pictures."""
    if home is None:
        return Path(root) / HOME
    if str(home) != CACHE:
        return Path(home)
    whole = Path(root).resolve()
    return packages.cache_folder() / "indexes" / f"{whole.name}-{sha256(str(whole).encode()).hexdigest()[:12]}"


def find_item(corpus: Corpus, typed: str) -> str | None:
    """The item that was meant: by its name, by its path in the corpus, or by the path of its file; None if none."""
    if typed in corpus.rows:
        return typed
    if typed in corpus.by_path:
        return corpus.by_path[typed]
    bare = str(items_of(pl.Series([typed]))[0])
    if bare in corpus.rows and not Path(typed).is_file():
        return bare
    try:
        below = Path(typed).resolve().relative_to(Path(corpus.root).resolve())
    except (ValueError, OSError):
        return None
    return corpus.by_path.get(below.as_posix())


def find_query(corpus: Corpus, typed: str) -> str | Outside | None:
    """The item that was meant, or a picture outside the corpus; None if it is neither an item nor a file."""
    item = find_item(corpus, typed)
    if item is not None:
        return item
    path = _expanded(typed)
    if not is_there(path) or not path.is_file():
        return None
    name = str(items_of(pl.Series([path.name]))[0])
    while name in corpus.rows:  # it is not that item, which may be among the results
        name += "~"
    caption = caption_of(path.parent, f"{path.stem}.txt", "", [])
    return Outside(name, typed, cache(partial(decode, path)), words_of(caption or ""))


def is_path(typed: str) -> bool:
    """Whether a text looks like the path of a picture, not like words."""
    rooted = typed.startswith(("/", "~", "./", "../", "\\"))
    parted = "/" in typed and not any(sign.isspace() for sign in typed)
    return rooted or parted or is_picture(_expanded(typed))


def refuse_missing(corpus: Corpus, typed: str) -> None:
    """Refuse what looks like the path of a picture, which is none: it is not meant as words."""
    path = _expanded(typed)
    if not is_path(typed):
        return
    beside: list[str] = []
    with suppress(OSError, ValueError):  # there is no such folder, or it cannot be listed
        beside = [one.name for one in path.parent.iterdir()]
    named = {name.rpartition("/")[2]: name for name in (*corpus.items, *corpus.by_path)}
    near = get_close_matches(path.name, [*beside, *named], n=1)
    hint = f"did you mean {named.get(near[0]) or path.with_name(near[0])}?" if near else ""
    remedy = advice(hint, "to search by words, leave out / and .jpg", "" if hint else near_file(typed))
    raise MissingFile(typed, "there is no such file, and no picture of that name", remedy)


def _expanded(typed: str) -> Path:
    """The path, with ~ as the home of the user, where there is one."""
    try:
        return Path(typed).expanduser()
    except RuntimeError:
        return Path(typed)
