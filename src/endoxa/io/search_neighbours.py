"""Approximate neighbours for collections that are too large to scan: an index of faiss per group of features, on disk.

HOME/search/neighbours/
    GROUP.faiss        an inverted file of 8-bit vectors, mapped into memory
    neighbours.json    the digest of the features that it belongs to

It only proposes candidates, by the Euclidean distance of each group; the search ranks them exactly.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from endoxa.errors import FileError, InstallError
from endoxa.images.corpus import Progress
from endoxa.io.write import replacing, write_whole
from endoxa.searches.arms import Features, Group, Values
from endoxa.searches.candidates import needs_pool
from endoxa.tables import Ints

FOLDER = "neighbours"
BLOCK = 65_536  # pictures that are added at a time
LEARNT = 100_000  # pictures that the cells are learnt from
PROBED = 0.06  # share of the cells that a query looks into
AGAIN = "build them again with `endoxa search neighbours`"


def build_neighbours(features: Features, folder: Path, *, progress: Progress | None = None) -> None:
    """Write an index for every group that tells pictures apart, in place of older ones."""
    faiss = _faiss()
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    groups = [group for group in features.groups if group.audible]
    for number, group in enumerate(groups):
        if progress is not None:
            progress(f"neighbours by {group.name}", number, len(groups))
        with replacing(place / f"{group.name}.faiss") as part:
            faiss.write_index(_built(faiss, group), str(part))
    write_whole(place / "neighbours.json", json.dumps({"digest": features.digest}) + "\n")


class Neighbours:
    """Proposes neighbours from the indexes in a folder; see `endoxa.searches.arms.Nearest`."""

    def __init__(self, features: Features, folder: Path) -> None:
        self.faiss = _faiss()
        place = folder / FOLDER
        try:
            digest = json.loads((place / "neighbours.json").read_text(encoding="utf-8"))["digest"]
            self.indexes = {
                group.name: self.faiss.read_index(str(place / f"{group.name}.faiss"), self.faiss.IO_FLAG_MMAP)
                for group in features.groups
                if group.audible
            }
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise FileError(str(place), f"the neighbours cannot be read ({error})", AGAIN) from None
        if digest != features.digest:
            raise FileError(str(place), "the neighbours belong to other features", AGAIN)

    def __call__(self, group: Group, points: Values, count: int) -> list[Ints]:
        """The places nearest to each point, nearly."""
        index = self.indexes[group.name]
        index.nprobe = max(1, math.ceil(PROBED * index.nlist))
        _, places = index.search(_prepared(group, points), min(count, len(group.values)))
        return [np.sort(row[row >= 0]).astype(np.int64) for row in places]


def with_neighbours(features: Features, folder: Path) -> Features:
    """The features with the neighbours that were built for them, if there are any and they are needed."""
    if not needs_pool(features) or not (folder / FOLDER / "neighbours.json").is_file():
        return features
    return replace(features, nearest=Neighbours(features, folder))


def _built(faiss: ModuleType, group: Group) -> Any:
    n, width = group.values.shape
    cells = max(1, min(4 * math.isqrt(n), n // 39))  # faiss asks for 39 pictures a cell
    index = faiss.index_factory(width, f"IVF{cells},SQ8", faiss.METRIC_L2)
    step = max(1, n // LEARNT)
    index.train(_prepared(group, group.values[::step]))
    for start in range(0, n, BLOCK):
        index.add(_prepared(group, group.values[start : start + BLOCK]))
    return index


def _prepared(group: Group, values: Values) -> npt.NDArray[np.float32]:
    """Numbers for the index: of length 1 where the default metric looks at directions; 0 where there are none."""
    numbers = np.nan_to_num(np.asarray(values, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    if group.metrics[0] == "cosine":
        length = np.linalg.norm(numbers, axis=1, keepdims=True)
        numbers = np.divide(numbers, length, out=np.zeros_like(numbers), where=length > 0)
    return np.ascontiguousarray(numbers)


def _faiss() -> ModuleType:
    try:
        import faiss
    except ModuleNotFoundError:
        raise InstallError("faiss is not installed", remedy="pip install 'endoxa[neighbours]'") from None
    module: ModuleType = faiss
    return module
