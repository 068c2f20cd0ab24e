"""Maps of a collection on disk: the vectors by which it is sorted, and the grids that were laid out.

HOME/search/maps/DIGEST/          of the features
    all.npy, look.npy …           a vector for each picture
    all-12x12/top.parquet         a grid: place, cell, shown
    all-12x12/3.17.parquet        the grid of cell 17 of the grid of cell 3

Everything here can be laid out again: what is damaged is, and where nothing can be written nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

import numpy as np
import polars as pl

from endoxa.errors import FileError
from endoxa.io import faults
from endoxa.io.search_features import FOLDER
from endoxa.io.write import replacing
from endoxa.searches.arms import Features
from endoxa.searches.maps import ALL, Map, Sheet, Trail, map_vectors, read_path
from endoxa.searches.projections import Vectors

TOP = "top"
_LOCK = Lock()  # threads of one process write a file one after the other


def open_map(features: Features, home: Path, group: str = ALL, *, rows: int = 12, columns: int = 12) -> Map:
    """The map of a collection by a group of features, or by look and layout; what is laid out is kept in `home`."""
    folder = home / FOLDER / "maps" / features.digest[:16]
    return Map(_vectors(features, group, folder), rows, columns, kept=Sheets(folder / f"{group}-{columns}x{rows}"))


def _vectors(features: Features, group: str, folder: Path) -> Vectors:
    path = folder / f"{group}.npy"
    with suppress(*faults.ARRAY):
        kept: Vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        if kept.ndim == 2 and len(kept) == len(features):
            return kept
    vectors = map_vectors(features, group)
    with suppress(OSError, FileError), _LOCK:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as stream:
            np.save(stream, vectors, allow_pickle=False)
    return vectors


class Sheets(MutableMapping[Trail, Sheet]):
    """The grids of a map in a folder, a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _file(self, trail: Trail) -> Path:
        return self.folder / f"{'.'.join(map(str, trail)) or TOP}.parquet"

    def __getitem__(self, trail: Trail) -> Sheet:
        try:
            frame = pl.read_parquet(self._file(trail), glob=False)
            columns = (frame["place"].to_numpy(), frame["cell"].to_numpy(), frame["shown"].to_numpy())
        except faults.PARQUET:
            raise KeyError(trail) from None
        return Sheet(*columns)

    def __setitem__(self, trail: Trail, sheet: Sheet) -> None:
        frame = pl.DataFrame({"place": sheet.places, "cell": sheet.cells, "shown": sheet.shown})
        with suppress(OSError, FileError), _LOCK:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self._file(trail)) as part:
                frame.write_parquet(part)

    def __delitem__(self, trail: Trail) -> None:
        try:
            self._file(trail).unlink()
        except FileNotFoundError:
            raise KeyError(trail) from None

    def __iter__(self) -> Iterator[Trail]:
        names = sorted(path.stem for path in self.folder.glob("*.parquet"))
        return (read_path("" if name == TOP else name) for name in names)

    def __len__(self) -> int:
        return sum(1 for _ in self)
