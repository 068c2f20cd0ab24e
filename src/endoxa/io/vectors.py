"""Vectors of your own for pictures: a name and a vector each, all of the same length.

    .parquet  a column `item` and a column of lists (`vector`); or `item` and a column for every number
    .npz      two arrays, `items` (texts) and `vectors` (rows × numbers)
    .npy      the rows; their names are in a file beside it, a line each: `clip.npy` and `clip.items.txt`

Nothing in a file is executed: arrays of Python objects are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.engines import Material
from endoxa.errors import FileError, JoinError, MissingFile, TableError, advice
from endoxa.images.corpus import Corpus
from endoxa.io import faults
from endoxa.io.limits import refuse_content
from endoxa.io.missing_files import near_file
from endoxa.io.parquet import parquet_rows
from endoxa.tables import rename_known

Vectors = npt.NDArray[np.float32]
Named = tuple[tuple[str, ...], Vectors]
SUFFIXES = (".parquet", ".npz", ".npy")
FAULTS = (*faults.ARRAY, *faults.ZIP, *faults.PARQUET)
TEXTS = "names as texts: np.array(names, dtype=str)"


def read_vectors(path: str | Path) -> Named:
    """The names of the items and their vectors, a row each: at least one, all finite, all names distinct."""
    place = Path(path)
    suffix = place.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(str(path), "is not named as a file of vectors", f"expected {', '.join(SUFFIXES)}")
    try:
        if suffix == ".parquet":
            items, vectors = _from_parquet(place)
        elif suffix == ".npz":
            items, vectors = _from_npz(place)
        else:
            with place.open("rb") as stream:
                vectors = np.load(stream, allow_pickle=False)
            items = _beside(place)
    except FileNotFoundError as error:
        missing = str(error.filename or path)
        raise MissingFile(missing, "there is no such file", advice("check the name", near_file(missing))) from None
    except FAULTS as error:
        what = f"cannot be read as {suffix[1:]} ({faults.first_line(error)})"
        raise FileError(str(path), what, f"write it again; {TEXTS}") from None
    try:
        return checked(items, vectors)
    except TableError as error:
        raise FileError.of(error, str(path)) from None


def vectors_for(corpus: Corpus, path: str | Path) -> tuple[Material, int]:
    """The vectors of a file for the items of a corpus, and the number of items without a vector."""
    items, vectors = read_vectors(path)
    at = {item: number for number, item in enumerate(items)}
    present = [number for number, item in enumerate(corpus.items) if item in at]
    if not present:
        raise JoinError(
            f"{path}: none of its {len(items):,} items is in the corpus (which has {corpus.items[0]!r}, the file "
            f"{items[0]!r})"
        )
    names, words = tuple(corpus.items[n] for n in present), tuple(corpus.words[n] for n in present)
    rows = vectors[[at[name] for name in names]]
    return Material(names, words, {"vector": rows}, np.ones(len(present), np.int64)), len(corpus) - len(present)


def checked(items: Sequence[Any], vectors: npt.NDArray[Any]) -> Named:
    """Names and rows that fit together. A TableError names the first row that does not."""
    if vectors.dtype.kind not in "fiu":
        raise TableError(
            f"the vectors are of type {vectors.dtype}, expected real numbers", remedy="save them as float32"
        )
    if vectors.ndim != 2:
        shape = " × ".join(map(str, vectors.shape)) or "a single number"
        raise TableError(f"the vectors have the shape {shape}, expected rows × numbers", remedy="a row for each item")
    if not vectors.size:
        raise TableError("there are no vectors, expected a row of numbers for each item", remedy="write it again")
    if len(items) != len(vectors):
        raise TableError(
            f"there are {len(items):,} items and {len(vectors):,} vectors, expected as many",
            remedy="write both together",
        )
    names = tuple(map(str, items))
    seen: dict[str, int] = {}
    for row, name in enumerate(names, 1):
        if not name:
            raise TableError(f"row {row} has no name, expected that of its item", remedy="name it or leave it out")
        if (first := seen.setdefault(name, row)) != row:
            raise TableError(
                f"rows {first} and {row} are both of item {name!r}, expected one each", remedy="remove one of them"
            )
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = (int(at) for at in wrong[0])
        raise TableError(
            f"row {row + 1} (item {names[row]!r}): number {column + 1} is {vectors[row, column]}, expected a finite "
            "float32",
            remedy="compute the vector again or leave the item out",
        )
    return names, rows


def _from_npz(path: Path) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    with path.open("rb") as stream:
        arrays = np.load(stream, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            remedy = "rename it to .npy, or write it with np.savez"
            raise FileError(str(path), "is a single array, expected .npz", remedy)
        for info in arrays.zip.infolist() if arrays.zip else ():
            refuse_content(str(path), info.compress_size, info.file_size, f"member {info.filename}")
        for name in ("items", "vectors"):
            if name not in arrays.files:
                what = f"has no array {name!r}; its arrays are {', '.join(arrays.files) or '(none)'}"
                raise FileError(str(path), what, "np.savez(path, items=names, vectors=rows)")
        items, vectors = arrays["items"], arrays["vectors"]
    for name, array in (("items", items), ("vectors", vectors)):
        if not isinstance(array, np.ndarray):  # NumPy gives the bytes of a member that is no array
            raise FileError(str(path), f"member {name} is not an array", "np.savez(path, items=names, vectors=rows)")
    if items.ndim != 1 or items.dtype.kind not in "USiu":
        raise FileError(str(path), f"items are {items.ndim}-dimensional, of type {items.dtype}", f"give the {TEXTS}")
    names: list[Any] = (np.char.decode(items, "utf-8") if items.dtype.kind == "S" else items).tolist()
    return names, vectors


def _beside(path: Path) -> list[str]:
    """The names in the file beside an .npy, a line each."""
    place = path.with_name(f"{path.stem}.items.txt")
    try:
        lines = place.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise FileError(str(place), f"is missing; it holds the items of {path.name}, a line each", "write it") from None
    except UnicodeDecodeError:
        raise FileError(str(place), "is not UTF-8", "write it again in UTF-8") from None
    names = [line.removesuffix("\r") for line in lines]
    names = names[: max((at for at, name in enumerate(names, 1) if name), default=0)]
    if "" in names:
        raise FileError(str(place), "the line is empty, expected an item", "remove it", line=names.index("") + 1)
    return names


def _from_parquet(path: Path) -> tuple[Sequence[Any], npt.NDArray[Any]]:
    frame = rename_known(parquet_rows(path, str(path)), ("item",))
    label, columns = str(path), ", ".join(frame.columns) or "(none)"
    if "item" not in frame.columns:
        raise FileError(label, f"has no column 'item'; its columns are {columns}", "name the column of names `item`")
    items = frame["item"]
    if not (isinstance(items.dtype, pl.String | pl.Categorical | pl.Enum) or items.dtype.is_integer()):
        raise FileError(label, f"column 'item' holds {items.dtype}, expected texts", "write the names as texts")
    if items.null_count():
        raise FileError(label, f"row {int(items.is_null().arg_true()[0]) + 1}: item is missing", "name it")
    lists = [name for name in frame.columns if isinstance(frame[name].dtype, pl.List | pl.Array)]
    if "vector" in frame.columns or len(lists) == 1:
        vectors = _from_lists(label, frame["vector" if "vector" in frame.columns else lists[0]])
    else:
        vectors = _from_columns(label, frame.drop("item"))
    return items.cast(pl.String).to_list(), vectors


def _from_lists(label: str, column: pl.Series) -> npt.NDArray[Any]:
    inner = column.dtype.inner if isinstance(column.dtype, pl.List | pl.Array) else None
    if inner is None or not isinstance(inner, pl.DataType) or not inner.is_numeric():
        raise FileError(label, f"column {column.name!r} holds {column.dtype}, expected lists of numbers", "write lists")
    column = column.cast(pl.List(inner))
    sizes = column.list.len()
    expected = Counter(sizes.drop_nulls().to_list()).most_common(1)[0][0] if sizes.count() else 0
    odd = sizes.ne_missing(expected).arg_true()
    if len(odd):
        row = int(odd[0])
        what = "is missing" if sizes[row] is None else f"has {sizes[row]:,} numbers"
        what = f"row {row + 1}: the vector {what}, expected {expected:,} like most"
        raise FileError(label, what, "compute it again or leave it out")
    if not expected:
        return np.zeros((len(column), 0))
    numbers = column.explode()
    if numbers.null_count():
        row = int(numbers.is_null().arg_true()[0]) // expected
        raise FileError(label, f"row {row + 1}: a number is missing", "compute the vector again or leave it out")
    return numbers.to_numpy().reshape(len(column), -1)


def _from_columns(label: str, frame: pl.DataFrame) -> npt.NDArray[Any]:
    if not frame.width:
        remedy = "add a column `vector` of lists, or a column for every number"
        raise FileError(label, "has items but no vectors", remedy)
    for name, dtype in frame.schema.items():
        if not dtype.is_numeric():
            what = f"column {name!r} holds {dtype}, expected numbers"
            raise FileError(label, what, "leave it out, or name the lists `vector`")
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_true()[0]) + 1
            raise FileError(label, f"row {row}: {name} is missing", "fill it in or leave the item out")
    return frame.cast(pl.Float64).to_numpy()
