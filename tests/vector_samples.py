"""Writes the files of vectors that people bring: .parquet, .npz, or .npy with the names beside it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl


def write_vectors(path: Path, items: Sequence[str], vectors: npt.ArrayLike) -> None:
    """Write names and vectors in the format of the suffix."""
    rows = np.asarray(vectors, np.float32)
    if path.suffix == ".parquet":
        pl.DataFrame({"item": items, "vector": rows}).write_parquet(path)
    elif path.suffix == ".npz":
        np.savez(path, items=np.array(items, dtype=np.str_), vectors=rows)
    else:
        np.save(path, rows, allow_pickle=False)
        names = "".join(f"{name}\n" for name in items)
        path.with_name(f"{path.stem}.items.txt").write_text(names, encoding="utf-8", newline="\n")
