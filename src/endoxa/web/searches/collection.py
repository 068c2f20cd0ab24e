"""The collection as the page shows it: pictures by their place in the index, copies of them, and their orders."""

from __future__ import annotations

import math
import os
from dataclasses import field
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

import numpy as np

from endoxa.errors import EndoxaError, absent, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus
from endoxa.io import pictures
from endoxa.io.search_maps import open_map
from endoxa.searches.arms import Features
from endoxa.searches.maps import ALL, Map, read_path
from endoxa.tables import Ints

CORES = os.cpu_count() or 1
LOCKS = 64  # of copies that are made at the same time
PER_PAGE = 40
WORDS = 300  # characters of a picture's words that a tile carries


@dataclass(frozen=True)
class Collection:
    """Pictures and features of a corpus. `cache` is the folder of their small and large copies.

    A picture is asked for by its place in the index, so that no path comes from a request. What leaves the server is a
    copy without metadata.
    """

    corpus: Corpus
    features: Features
    cache: Path
    cores: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(CORES))
    locks: tuple[Lock, ...] = field(default_factory=lambda: tuple(Lock() for _ in range(LOCKS)))
    maps: dict[tuple[str, int, int], Map] = field(default_factory=dict)  # by group, columns and rows
    layouts: tuple[Lock, ...] = field(default_factory=lambda: tuple(Lock() for _ in range(LOCKS)))

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self.corpus.name if self.corpus.name not in {"", "manifest"} else Path(self.corpus.root).name

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The file of each picture, by place."""
        root, rows = Path(self.corpus.root), self.corpus.rows
        files = self.corpus.frame["path"].to_list()
        return tuple(root / files[rows[item]] for item in self.features.items)

    @cached_property
    def captions(self) -> tuple[str, ...]:
        """What is known about each picture in words: its caption, or its words."""
        rows, captions = self.corpus.rows, self.corpus.frame["caption"].to_list()
        found = (captions[rows[item]] for item in self.features.items)
        words = self.features.words or ((),) * len(self.features)
        return tuple((caption or " ".join(own))[:WORDS] for caption, own in zip(found, words, strict=True))

    @cached_property
    def beside(self) -> Ints:
        """How many near-duplicates each picture has."""
        stacks = self.features.stacks
        if len(stacks) != len(self.features):
            return np.zeros(len(self.features), np.int64)
        return np.asarray(np.bincount(stacks)[stacks] - 1, dtype=np.int64)

    def view(self, group: str, path: str, columns: int, rows: int) -> list[dict[str, Any]]:
        """A view of the map: pictures that stand for those in their cell. Grids are laid out when first seen."""
        groups = [ALL, *(one.name for one in self.features.groups)]
        refuse_unknown("group of features", group, groups, listed=True)  # before it names a file
        place, cells = read_path(path), (group, columns, rows)
        with self.layouts[hash(cells) % LOCKS], self.cores:
            if cells not in self.maps:
                self.maps[cells] = open_map(self.features, self.cache, group, rows=rows, columns=columns)
            tiles = self.maps[cells].sheet(place).tiles
        return [
            {**self.tile(tile.place, slot="map"), "cell": tile.cell, "count": tile.count, "opens": tile.count > 1}
            for tile in tiles
        ]

    def need(self, place: int) -> int:
        """The place, if there is one."""
        if not 0 <= place < len(self.features):
            raise absent("picture")
        return place

    def copy(self, place: int, *, small: bool) -> Path:
        """The copy of a picture, made when it is first asked for."""
        path = self.paths[self.need(place)]
        try:
            with self.locks[place % LOCKS], self.cores:
                return pictures.cached(path, self.cache, small=small)
        except EndoxaError:
            raise absent("picture") from None  # its path is nobody's business

    def tile(
        self, place: int, *, slot: str = "browse", expected: float | None = None, mark: int | None = None
    ) -> dict[str, Any]:
        """A picture as the page shows it."""
        return {
            "place": place, "name": self.features.items[place], "slot": slot,
            "expected": expected if expected is not None and math.isfinite(expected) else None, "mark": mark,
            "stack": int(self.beside[place]), "missing": not self.paths[place].is_file(),
            "words": self.captions[place],
        }  # fmt: skip

    def page(self, order: str, seed: int, number: int) -> dict[str, Any]:
        """A page of the whole collection; a number beyond the last gives the last."""
        places = self.ordered(order, seed)
        pages = max(1, math.ceil(len(places) / PER_PAGE))
        number = min(number, pages)
        shown = places[PER_PAGE * (number - 1) : PER_PAGE * number].tolist()
        return {"tiles": [self.tile(place) for place in shown], "page": number, "pages": pages}

    def ordered(self, order: str, seed: int) -> Ints:
        """All places by name, by the time of the file, or shuffled by a seed."""
        if order == "shuffle":
            return np.asarray(np.random.default_rng(seed).permutation(len(self.features)), dtype=np.int64)
        return self._by_time if order == "time" else self._by_name

    @cached_property
    def _by_name(self) -> Ints:
        items = self.features.items
        return np.asarray(sorted(range(len(items)), key=items.__getitem__), dtype=np.int64)

    @cached_property
    def _by_time(self) -> Ints:
        times = np.array([_time(path) for path in self.paths])
        return np.asarray(np.argsort(times, kind="stable"), dtype=np.int64)


def _time(path: Path) -> float:
    """When the file was changed; a missing one comes last."""
    try:
        return path.stat().st_mtime
    except OSError:
        return math.inf
