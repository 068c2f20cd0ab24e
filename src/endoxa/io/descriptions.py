"""Results of descriptors, stored beside the corpus: computed once, in parallel, and resumed after an interruption.

    HOME/descriptions/regions-1a2b3c4d/   one folder per descriptor and settings
        settings.json                     the settings
        part-00000-PID.parquet …          a row per picture: item, size, changed, digest, why, seconds, rows, columns

A part is written completely or not at all, every few seconds, so that an interruption loses little. A picture is
described again only if its bytes have changed; other settings have a folder of their own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from polars import selectors

from endoxa.engines import Descriptor, Material
from endoxa.errors import EndoxaError, FileError
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.io import faults
from endoxa.io.provenance import fingerprint
from endoxa.io.write import folder_at, replacing, write_whole
from endoxa.scale.processes import in_processes
from endoxa.tables import Floats

FORMAT = 1
PART = 256  # pictures per file
SECONDS = 5.0  # after which a file is written, even if it has fewer pictures
CHUNK = 8  # pictures that a worker takes at a time
FEW = 24  # for fewer pictures no other processes are started
# The columns of every descriptor; it adds `column NAME` and `width NAME` for each array.
SCHEMA = {
    "item": pl.String, "size": pl.Int64, "changed": pl.String, "digest": pl.String, "why": pl.String,
    "seconds": pl.Float64, "rows": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Described:
    """The results of a descriptor: `material` of the pictures, those left out, and seconds per picture.

    `computed` is the number of pictures that were described now; the others were known.
    """

    material: Material
    skipped: tuple[Skipped, ...]
    seconds: Floats
    computed: int
    bytes: int


def describe(
    corpus: Corpus, descriptors: Sequence[Descriptor], home: Path, *, workers: int | None = None,
    progress: Progress | None = None, columns: Collection[str] | None = None,
) -> list[Described]:  # fmt: skip
    """Describe every picture by every descriptor, decoding each picture once; known results are kept.

    `columns` names the arrays that are wanted; None gives all of them.
    """
    shelves = [Shelf(home, descriptor) for descriptor in descriptors]
    stamps = stamps_of(corpus)
    known = [shelf.known(stamps) for shelf in shelves]
    lacking = [[which for which, items in enumerate(known) if stamp.item not in items] for stamp in stamps]
    paired = zip(stamps, lacking, strict=True)
    tasks = [(stamp, {which: descriptors[which] for which in lacks}) for stamp, lacks in paired if lacks]
    done = 0
    try:
        for rows in _work(tasks, workers or os.cpu_count() or 1):
            for row in rows:
                for which, result in row.results.items():
                    why = row.why or (result if isinstance(result, str) else None)
                    shelves[which].add(row.stamp, row.digest, why, None if isinstance(result, str) else result)
            done += len(rows)
            if progress is not None:
                progress("describing pictures", done, len(tasks))
    finally:  # an interruption keeps what was done
        for shelf in shelves:
            shelf.close()
    computed = [len(stamps) - len(items) for items in known]
    return [shelf.load(corpus, count, columns) for shelf, count in zip(shelves, computed, strict=True)]


@dataclass(frozen=True)
class Stamp:
    """Size and time of a picture's file, to find without reading it that it has not changed; and its mask's file."""

    item: str
    path: str
    size: int
    changed: str
    mask: str = ""


@runtime_checkable
class Located(Protocol):
    """A descriptor that needs to know which picture it describes, because it reads something beside it."""

    def describe_at(self, picture: Picture, stamp: Stamp) -> dict[str, Any]:
        """As `describe`; a FileError leaves the picture out, with its reason."""


def stamps_of(corpus: Corpus) -> list[Stamp]:
    """Size and time of each picture's file; a missing picture has size -1."""
    root = Path(corpus.root)
    stamps = []
    for item, path, mask in corpus.frame.select("item", "path", "mask").iter_rows():
        try:
            found = (root / path).stat()
            size, changed = found.st_size, f"{found.st_mtime_ns}-{found.st_ctime_ns}"  # swapping names changes ctime
        except OSError:
            size, changed = -1, ""
        stamps.append(Stamp(item, str(root / path), size, changed, str(root / mask) if mask else ""))
    return stamps


_Task = tuple[Stamp, dict[int, Descriptor]]  # a picture, and the descriptors that lack it, by their position


@dataclass(frozen=True)
class _Result:
    """The arrays of one descriptor for one picture, and the seconds that it took."""

    arrays: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class _Row:
    stamp: Stamp
    digest: str
    why: str | None  # of a picture that no descriptor can describe
    results: dict[int, _Result | str]  # of each descriptor, or why it has none


def _describe_one(stamp: Stamp, descriptors: dict[int, Descriptor]) -> _Row:
    """Decode a picture and describe it; for a faulty file, give the reason instead."""
    from endoxa.io.decoding import decode

    digest, results = "", dict[int, _Result | str](dict.fromkeys(descriptors, ""))
    try:
        raw = Path(stamp.path).read_bytes()
        digest = sha256(raw).hexdigest()
        begun = time.perf_counter()
        picture = decode(raw, name=stamp.path)
    except OSError as error:
        return _Row(stamp, digest, f"cannot be read: {error.strerror}", results)
    except FileError as error:
        return _Row(stamp, digest, error.problem, results)
    decoding = time.perf_counter() - begun
    for which, descriptor in descriptors.items():
        begun = time.perf_counter()
        try:
            if isinstance(descriptor, Located):
                described = descriptor.describe_at(picture, stamp)
            else:
                described = descriptor.describe(picture)
        except FileError as error:
            results[which] = error.problem
            continue
        arrays = {name: np.ascontiguousarray(array) for name, array in described.items()}
        results[which] = _Result(arrays, decoding + time.perf_counter() - begun)
    return _Row(stamp, digest, None, results)


def _describe_chunk(chunk: list[_Task]) -> list[_Row]:
    return [_describe_one(*task) for task in chunk]


def _work(tasks: list[_Task], workers: int) -> Iterator[list[_Row]]:
    """The rows of all tasks, chunk by chunk, as they finish; few chunks are submitted at a time."""
    chunks = [tasks[at : at + CHUNK] for at in range(0, len(tasks), CHUNK)]
    if workers == 1 or len(tasks) <= FEW:
        yield from map(_describe_chunk, chunks)
        return

    def killed(chunk: int) -> EndoxaError:
        names = ", ".join(stamp.item for stamp, _ in chunks[chunk])
        return EndoxaError(
            f"a process that described pictures was killed at one of: {names}",
            remedy="finished work is kept. Start again, with fewer workers if memory ran out. A script must do its "
            'work below `if __name__ == "__main__":`, because each process imports it again',
        )

    named = dict(enumerate(chunks))
    yield from (rows for _, rows in in_processes(_describe_chunk, named, workers, most=3 * workers, killed=killed))


class Shelf:
    """The stored results of one descriptor with one choice of settings."""

    def __init__(self, home: Path, descriptor: Descriptor) -> None:
        self.settings = {
            "format": FORMAT, "descriptor": descriptor.name, "version": descriptor.version,
            "settings": asdict(descriptor),  # type: ignore[call-overload]
        }  # fmt: skip
        key = sha256(json.dumps(self.settings, sort_keys=True, default=list).encode()).hexdigest()[:10]
        self.folder = home / "descriptions" / f"{descriptor.name}-{key}"
        self.rows: list[dict[str, Any]] = []
        self.written = time.monotonic()

    def parts(self) -> list[Path]:
        """The files, oldest first."""
        return sorted(self.folder.glob("part-*.parquet"))

    def known(self, stamps: Sequence[Stamp]) -> set[str]:
        """The items whose picture has been described and has not changed since."""
        at = {item: rest for item, *rest in self._stored(["item", "size", "changed", "digest"]).iter_rows()}
        known = set()
        for stamp in stamps:
            size, changed, digest = at.get(stamp.item, (None, None, None))
            same = (size, changed) == (stamp.size, stamp.changed)
            # A picture that could not be read has no digest, and is tried again.
            if digest and (same or (size == stamp.size and digest == _digest(stamp))):
                known.add(stamp.item)
        return known

    def _stored(self, columns: list[str] | None = None) -> pl.DataFrame:
        """The newest row of each item."""
        try:
            wanted = selectors.all() if columns is None else selectors.by_name(*columns, require_all=False)
            frames = [pl.scan_parquet(part, glob=False).select(wanted).collect() for part in self.parts()]
        except faults.PARQUET as error:
            what = f"cannot be read ({faults.first_line(error)})"
            raise FileError(str(self.folder), what, "remove this folder and index again") from None
        frame = pl.concat(frames, how="diagonal") if frames else pl.DataFrame(schema=SCHEMA).select(columns or SCHEMA)
        return frame.unique("item", keep="last", maintain_order=True)

    def add(self, stamp: Stamp, digest: str, why: str | None, result: _Result | None) -> None:
        """Add a row, and write a part if it is full."""
        row: dict[str, Any] = {
            "item": stamp.item, "size": stamp.size, "changed": stamp.changed, "digest": digest, "why": why,
            "seconds": None if result is None else result.seconds, "rows": 0,
        }  # fmt: skip
        if result is not None:
            shapes = {len(array) for array in result.arrays.values()}
            row["rows"] = shapes.pop()
            if shapes or not row["rows"]:
                raise EndoxaError(f"{self.folder.name} gave columns of different lengths, or no rows, for {stamp.item}")
            for name, array in result.arrays.items():
                row[f"column {name}"] = array.ravel()
                row[f"width {name}"] = array.shape[1] if array.ndim > 1 else 0
        self.rows.append(row)
        if len(self.rows) >= PART or time.monotonic() - self.written > SECONDS:
            self.close()

    def close(self) -> None:
        """Write the rows that have been added."""
        if not self.rows:
            return
        settings = json.dumps(self.settings, indent=1, default=list)
        write_whole(folder_at(self.folder) / "settings.json", settings + "\n")
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        frame = pl.DataFrame([_series(name, [row.get(name) for row in self.rows]) for name in names])
        taken = [int(path.stem.split("-")[1]) for path in self.parts()]
        name = f"part-{max(taken, default=-1) + 1:05d}-{os.getpid()}.parquet"  # another process may use the same number
        with replacing(self.folder / name) as part:
            frame.write_parquet(part)
        self.rows, self.written = [], time.monotonic()

    def load(self, corpus: Corpus, computed: int, columns: Collection[str] | None = None) -> Described:
        """The material of the corpus, in its order, with these arrays (None: all)."""
        arrays = [f"{part} {name}" for name in columns or () for part in ("column", "width")]
        order = pl.DataFrame({"item": corpus.items, "at": np.arange(len(corpus))}, schema_overrides={"item": pl.String})
        frame = order.join(
            self._stored(None if columns is None else [*SCHEMA, *arrays]), on="item", how="left", maintain_order="left"
        )
        fine = frame.filter(pl.col("rows") > 0)
        skipped = tuple(
            Skipped(item, why) for item, why in frame.filter(pl.col("why").is_not_null()).select("item", "why").rows()
        )
        words = corpus.words
        counts = fine["rows"].cast(pl.Int64).to_numpy().astype(np.int64)
        found = {}
        for name in (c.removeprefix("column ") for c in fine.columns if c.startswith("column ")):
            flat = fine[f"column {name}"].explode(empty_as_null=False).to_numpy()
            width = int(fine[f"width {name}"].to_numpy().max(initial=0))
            found[name] = flat.reshape(-1, width) if width else flat
        material = Material(tuple(fine["item"]), tuple(words[at] for at in fine["at"]), found, counts)
        size = sum(part.stat().st_size for part in self.parts())
        return Described(material, skipped, fine["seconds"].to_numpy().astype(float), computed, size)


def _series(name: str, values: list[Any]) -> pl.Series:
    """A column of a part; arrays keep their type."""
    if not name.startswith("column "):
        return pl.Series(name, values, dtype=SCHEMA.get(name, pl.Int64))
    first = next(value for value in values if value is not None)
    inner = pl.Series(first).dtype
    return pl.Series(name, [None if value is None else pl.Series(value) for value in values], dtype=pl.List(inner))


def digests_of(corpus: Corpus, home: Path) -> dict[str, str]:
    """The SHA-256 of each picture's bytes; files are read only if size or time has changed."""
    cache = home / "digests.parquet"
    stamps = stamps_of(corpus)
    try:
        cached = {path: rest for path, *rest in pl.read_parquet(cache, glob=False).iter_rows()}
    except (*faults.PARQUET, ValueError):
        cached = {}
    rows = []
    for stamp in stamps:
        size, changed, digest = cached.get(stamp.path, (None, None, ""))
        same = (size, changed) == (stamp.size, stamp.changed)
        rows.append((stamp.path, stamp.size, stamp.changed, digest if same else _digest(stamp)))
    if [row for row in rows if tuple(cached.get(row[0], ())) != row[1:]]:
        schema = {"path": pl.String, "size": pl.Int64, "changed": pl.String, "digest": pl.String}
        with suppress(OSError, FileError):  # it only saves time, and the home may be read-only
            home.mkdir(parents=True, exist_ok=True)
            with replacing(cache) as part:
                pl.DataFrame(rows, schema=schema, orient="row").write_parquet(part)
    return {stamp.item: row[3] for stamp, row in zip(stamps, rows, strict=True)}


def _digest(stamp: Stamp) -> str:
    """SHA-256 of a picture's bytes; empty if they cannot be read."""
    with suppress(FileError):
        return fingerprint(Path(stamp.path))
    return ""
