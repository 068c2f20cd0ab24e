"""The files that `make bench` measures on, made from a seed: no download, the same everywhere."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Shape:
    """A collection: queries, items per list, how many judgments a query has, how many runs.

    The lines of a run may be shuffled, and its file packed by gzip.
    """

    name: str
    queries: int
    depth: int
    judged: int
    runs: int = 1
    shuffled: bool = False
    packed: bool = False

    @property
    def lines(self) -> int:
        """Lines of run files in all."""
        return self.queries * self.depth * self.runs


SHAPES = {
    "small": Shape("small", 50, 1000, 200),
    "large": Shape("large", 6980, 1000, 1),  # like MS MARCO passage, dev small
    "shuffled": Shape("shuffled", 6980, 1000, 1, shuffled=True),
    "gzip": Shape("gzip", 6980, 1000, 1, packed=True),
    "deep": Shape("deep", 250, 1000, 1200),  # every retrieved item is judged
    "many": Shape("many", 350, 1000, 200, runs=20),
}


def make(shape: Shape) -> tuple[Path, list[Path]]:
    """Judgments and runs of a shape; made once."""
    folder = ROOT / shape.name
    qrels = folder / "qrels.txt"
    runs = [folder / f"run{number:02d}.txt{'.gz' if shape.packed else ''}" for number in range(shape.runs)]
    if qrels.exists() and all(run.exists() for run in runs):
        return qrels, runs
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    names = [str(1_000_000 + 7 * number) for number in range(shape.queries)]
    wide = max(shape.depth, shape.judged)
    # the first `wide` ids of a query's own permutation are its candidates; the first `judged` are judged
    candidates = rng.integers(0, 8_800_000 // (wide * 2), (shape.queries, 1)) + np.arange(wide * 2) * (
        8_800_000 // (wide * 2)
    )
    grades = (rng.random((shape.queries, shape.judged)) < (0.1 if shape.judged > 1 else 1.0)).astype(int)
    grades *= rng.integers(1, 4, grades.shape)
    judged = candidates[:, : shape.judged]
    _write(
        qrels,
        {
            "query": np.repeat(names, shape.judged),
            "zero": np.zeros(judged.size, dtype=int),
            "item": judged.ravel(),
            "grade": grades.ravel(),
        },
    )
    for number, run in enumerate(runs):
        lift = np.zeros((shape.queries, wide))
        lift[:, : shape.judged] = grades * 0.3
        noise = rng.random((shape.queries, wide)) + lift[:, :wide]
        order = np.argsort(-noise, axis=1)[:, : shape.depth]
        items = np.take_along_axis(candidates, order, 1)
        scores = np.sort(rng.uniform(5, 60, items.shape), axis=1)[:, ::-1]
        _write(
            run,
            {
                "query": np.repeat(names, shape.depth),
                "q0": ["Q0"] * items.size,
                "item": items.ravel(),
                "rank": np.tile(np.arange(1, shape.depth + 1), shape.queries),
                "score": np.round(scores.ravel(), 6),
                "tag": [f"run{number:02d}"] * items.size,
            },
            rng.permutation(items.size) if shape.shuffled else None,
        )
    return qrels, runs


def _write(path: Path, columns: dict[str, object], order: Any = None) -> None:
    frame = pl.DataFrame(columns)
    frame = frame if order is None else frame[order]
    if path.suffix == ".gz":
        with gzip.open(path, "wb", compresslevel=6) as file:
            frame.write_csv(file, separator=" ", include_header=False)  # type: ignore[call-overload]
    else:
        frame.write_csv(path, separator=" ", include_header=False)
