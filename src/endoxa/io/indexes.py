"""Indexes on disk: a folder each, arrays as plain .npy files that are mapped, not read.

HOME/indexes/histograms/
    index.json       format, engine and settings, the corpus it was built of
    items.parquet    item, words, rows, digest of the picture
    column-NAME.npy  what the descriptor found    array-NAME.npy  what the engine learnt
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.engines import Columns, Engine, Index, Material
from endoxa.engines.registry import kind_of, restore
from endoxa.errors import EndoxaError, FileError
from endoxa.io.write import unwritten

FORMAT = 1
PATIENCE = 10  # looks, a fiftieth of a second apart, before an index counts as missing
AGAIN = "build it again with `endoxa images index`"


@dataclass(frozen=True, eq=False)
class Saved:
    """An index as it was saved: the digest of each item's picture then, and the facts that went with it."""

    index: Index
    digests: dict[str, str]
    facts: dict[str, Any]


def save(saved: Saved, folder: Path) -> int:
    """Write an index in place of an older one, whole or not at all; its size in bytes."""
    index = saved.index
    if folder.exists() and not (folder / "index.json").is_file():
        raise FileError(str(folder), "is no index, and is not replaced", "give the system another name")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise unwritten(folder, error) from None
    try:
        counts = index.material.counts if index.material.columns else np.zeros(len(index.material), np.int64)
        pl.DataFrame(
            {
                "item": index.items,
                "words": [list(words) for words in index.material.words],
                "rows": counts,
                "digest": [saved.digests.get(item, "") for item in index.items],
            },
            schema={"item": pl.String, "words": pl.List(pl.String), "rows": pl.Int64, "digest": pl.String},
        ).write_parquet(part / "items.parquet")
        for prefix, arrays in (("column", index.material.columns), ("array", index.arrays)):
            for name, array in arrays.items():
                np.save(part / f"{prefix}-{name}.npy", array, allow_pickle=False)
        settings: Any = index.engine
        described = {
            "format": FORMAT,
            "engine": kind_of(index.engine),
            "settings": asdict(settings),
            "descriptor": _described_by(index.engine),
            "columns": sorted(index.material.columns),
            "arrays": sorted(index.arrays),
            "facts": saved.facts,
        }
        (part / "index.json").write_text(json.dumps(described, indent=1, default=list) + "\n", encoding="utf-8")
        size = sum(file.stat().st_size for file in part.iterdir())
        older = folder.with_name(f".{folder.name}.{os.getpid()}.old")
        if folder.exists():
            folder.rename(older)
        part.rename(folder)
        shutil.rmtree(older, ignore_errors=True)
    except (OSError, pl.exceptions.ComputeError) as error:
        raise unwritten(folder, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return size


def load(folder: Path, *, patience: int = PATIENCE) -> Saved:
    """The index of a folder. One of another format, or made with another version of its descriptor, is refused."""
    for _ in range(patience):  # another process may be putting a new one in its place
        if (folder / "index.json").is_file():
            break
        time.sleep(0.02)
    try:
        described = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        written = described["format"]
    except FileNotFoundError:
        raise FileError(str(folder), "there is no index here", AGAIN) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(str(folder / "index.json"), f"is damaged ({error})", AGAIN) from None
    if written != FORMAT:
        raise FileError(
            str(folder),
            f"is an index of format {written}, written by endoxa {_writer(described)}; this one reads format {FORMAT}",
            AGAIN,
        )
    try:
        engine, facts = restore(described["engine"], described["settings"]), dict(described["facts"])
        items = pl.read_parquet(folder / "items.parquet")
        columns, arrays = _arrays(folder, "column"), _arrays(folder, "array")
        counts = items["rows"].to_numpy().astype(np.int64)
        lost = (set(described["columns"]) - set(columns)) | (set(described["arrays"]) - set(arrays))
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError, EndoxaError) as error:
        raise FileError(str(folder), f"is damaged ({error})", AGAIN) from None
    if lost:
        raise FileError(str(folder), f"is damaged: {', '.join(sorted(lost))} is missing", AGAIN)
    if described.get("descriptor") != _described_by(engine):
        raise FileError(str(folder), "was built from descriptions that are made otherwise now", AGAIN)
    total = int(counts.sum())
    for name, column in columns.items():
        if len(column) != total:
            raise FileError(str(folder), f"is damaged: {name} has {len(column):,} rows, expected {total:,}", AGAIN)
    words = tuple(tuple(one) for one in items["words"].to_list())
    material = Material(tuple(items["item"]), words, columns, counts if columns else np.zeros(0, np.int64))
    digests = dict(items.select("item", "digest").iter_rows())
    return Saved(Index(engine, material, arrays), digests, facts)


def _described_by(engine: Engine) -> list[str | int] | None:
    descriptor = engine.descriptor
    return None if descriptor is None else [descriptor.name, descriptor.version]


def _writer(described: dict[str, Any]) -> str:
    facts = described.get("facts")
    return str(facts.get("endoxa", "?")) if isinstance(facts, dict) else "?"


def _arrays(folder: Path, prefix: str) -> Columns:
    """The arrays of one kind, mapped into memory; never pickled objects."""
    return {
        file.stem.removeprefix(f"{prefix}-"): np.load(file, mmap_mode="r", allow_pickle=False)
        for file in sorted(folder.glob(f"{prefix}-*.npy"))
    }
