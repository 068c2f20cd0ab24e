"""Indexes on disk: a folder each, with arrays as plain .npy files that are memory-mapped.

HOME/indexes/histograms/
    index.json       format, engine and settings, facts about the corpus
    items.parquet    item, words, rows, digest of the picture
    column-NAME.npy  an array of the descriptor    array-NAME.npy  an array of the engine
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.engines import Columns, Engine, Index, Material, Saved
from endoxa.engines.registry import ENGINES, kind_of, restore
from endoxa.errors import EndoxaError, FileError
from endoxa.images.corpus import Corpus
from endoxa.io import (
    efficientnet,  # noqa: F401  it registers the network that makes vectors
    faults,
)
from endoxa.io.descriptions import digests_of
from endoxa.io.write import replacing_folder

FORMAT = 1
PATIENCE = 10  # attempts, a fiftieth of a second apart, before an index counts as missing
SHOWN = 3  # names in an error; further ones are counted
AGAIN = "build it again with `endoxa images index`"


def save(saved: Saved, folder: Path) -> int:
    """Write an index in place of an older one, completely or not at all; its size in bytes."""
    index = saved.index
    if folder.exists() and not (folder / "index.json").is_file():
        raise FileError(str(folder), "is not an index, and is not replaced", "give the system another name")
    with replacing_folder(folder) as part:
        counts = index.material.counts if index.material.columns else np.zeros(len(index.material), np.int64)
        pl.DataFrame(
            {
                "item": index.items, "words": [list(words) for words in index.material.words], "rows": counts,
                "digest": [saved.digests.get(item, "") for item in index.items],
            },
            schema={"item": pl.String, "words": pl.List(pl.String), "rows": pl.Int64, "digest": pl.String},
        ).write_parquet(part / "items.parquet")  # fmt: skip
        for prefix, arrays in (("column", index.material.columns), ("array", index.arrays)):
            for name, array in arrays.items():
                np.save(part / f"{prefix}-{name}.npy", array, allow_pickle=False)
        settings: Any = index.engine
        described = {
            "format": FORMAT, "engine": kind_of(index.engine), "settings": asdict(settings),
            "descriptor": _described_by(index.engine), "columns": sorted(index.material.columns),
            "arrays": sorted(index.arrays), "facts": dict(saved.facts),
        }  # fmt: skip
        (part / "index.json").write_text(json.dumps(described, indent=1, default=list) + "\n", encoding="utf-8")
        size = sum(file.stat().st_size for file in part.iterdir())
    return size


def load(folder: Path, *, patience: int = PATIENCE) -> Saved:
    """The index in a folder. An index of another format, or of another version of its descriptor, is refused."""
    for _ in range(patience):  # another process may be replacing it
        if (folder / "index.json").is_file():
            break
        time.sleep(0.02)
    try:
        described = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        written = described["format"]
    except FileNotFoundError:
        raise FileError(str(folder), "there is no index here", AGAIN) from None
    except (OSError, *faults.JSON, *faults.CONTENT) as error:
        raise FileError(str(folder / "index.json"), f"is damaged ({error})", AGAIN) from None
    if written != FORMAT:
        facts = described.get("facts")
        writer = facts.get("endoxa", "?") if isinstance(facts, dict) else "?"
        what = f"is an index of format {written}, written by endoxa {writer}; this version reads format {FORMAT}"
        raise FileError(str(folder), what, AGAIN)
    try:
        engine, facts = restore(described["engine"], described["settings"]), dict(described["facts"])
        items = pl.read_parquet(folder / "items.parquet", glob=False)
        columns, arrays = _arrays(folder, "column"), _arrays(folder, "array")
        counts = items["rows"].to_numpy().astype(np.int64)
        lost = (set(described["columns"]) - set(columns)) | (set(described["arrays"]) - set(arrays))
    except (*faults.ARRAY, *faults.PARQUET, *faults.CONTENT, EndoxaError) as error:
        raise FileError(str(folder), f"is damaged ({faults.first_line(error)})", AGAIN) from None
    if lost:
        raise FileError(str(folder), f"is damaged: {', '.join(sorted(lost))} is missing", AGAIN)
    if described.get("descriptor") != _described_by(engine):
        raise FileError(str(folder), "was built from descriptions of another version", AGAIN)
    total = int(counts.sum())
    for name, column in columns.items():
        if len(column) != total:
            raise FileError(str(folder), f"is damaged: {name} has {len(column):,} rows, expected {total:,}", AGAIN)
    words = tuple(tuple(one) for one in items["words"].to_list())
    material = Material(tuple(items["item"]), words, columns, counts if columns else np.zeros(0, np.int64))
    digests = dict(items.select("item", "digest").iter_rows())
    return Saved(Index(engine, material, arrays), digests, facts)


def systems_in(home: Path) -> tuple[str, ...]:
    """The systems that have an index, in the order of the engines; systems with vectors of your own come last.

    There is none before anything was indexed.
    """
    folder = home / "indexes"
    names = sorted(path.name for path in folder.glob("*") if path.is_dir() and not path.name.startswith("."))
    order = list(ENGINES)
    return tuple(sorted(names, key=lambda name: order.index(name) if name in order else len(order)))


def loader(corpus: Corpus, home: Path) -> Callable[[str], Saved]:
    """A function that loads the index of a system, and refuses it if the corpus has changed since."""
    digests = cache(lambda: digests_of(corpus, home))  # of all pictures, when the first index is loaded
    return lambda system: _load_current(corpus, home, digests(), system)


def _load_current(corpus: Corpus, home: Path, digests: Mapping[str, str], system: str) -> Saved:
    saved = load(home / "indexes" / system)
    aside = saved.train | set(saved.facts.get("skipped", ()))
    listed = changes_since(corpus, digests, saved.index.items, saved.index.material.words, saved.digests, aside)
    if listed:
        what = f"the corpus changed since {system} was indexed: {listed}"
        option = f"--vectors {system}=FILE" if saved.facts.get("vectors") else f"-e {system}"
        remedy = f"index it again with `endoxa images index … {option}`; what did not change is kept"
        raise FileError(corpus.root, what, remedy)
    return saved


def changes_since(
    corpus: Corpus, digests: Mapping[str, str], items: Sequence[str], words: Sequence[Sequence[str]],
    old_digests: Mapping[str, str], aside: Collection[str] = (),
) -> str:  # fmt: skip
    """What is added to a corpus, removed from it or changed since its items had these words and digests; "" if nothing.

    `digests` are those of now. Items `aside` were there, but left out.
    """
    now, then = set(corpus.items), set(items)
    new_words, old_words = dict(zip(corpus.items, corpus.words, strict=True)), dict(zip(items, words, strict=True))
    changes = {
        "added": sorted(now - then - set(aside)),
        "removed": sorted(then - now),
        "changed": sorted(item for item in now & then if old_digests.get(item) != digests.get(item)),
        "given other words": sorted(item for item in now & then if old_words[item] != new_words[item]),
    }
    return ", ".join(
        f"{len(names):,} {change} ({', '.join([*names[:SHOWN], *(['…'] if len(names) > SHOWN else [])])})"
        for change, names in changes.items()
        if names
    )


def _described_by(engine: Engine) -> list[str | int] | None:
    descriptor = engine.descriptor
    return None if descriptor is None else [descriptor.name, descriptor.version]


def _arrays(folder: Path, prefix: str) -> Columns:
    """The arrays of one kind, mapped into memory; never pickled objects."""
    return {
        file.stem.removeprefix(f"{prefix}-"): np.load(file, mmap_mode="r", allow_pickle=False)
        for file in sorted(folder.glob(f"{prefix}-*.npy"))
    }
