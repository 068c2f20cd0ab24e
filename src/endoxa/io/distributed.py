"""Runs that workers of a cluster read and score: files by their names, on storage that all share, and Spark frames.

A big file is cut where queries end. Files whose queries come back later are shuffled by query first.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from endoxa.errors import EndoxaError, FileError, TableError
from endoxa.frozen import dataclass
from endoxa.io.formats import look
from endoxa.io.run_files import RunFiles, distinct_names, map_blocks
from endoxa.io.sources import GZIP, PIECE, Source, count, is_stream, source_of, spans
from endoxa.io.table_files import row_spans
from endoxa.io.trec_text import RUN, Skipped, refuse_empty, separated, tell
from endoxa.measures.looked_up import Sought
from endoxa.policies import Ties
from endoxa.scale import spark
from endoxa.tables import Run, rename_known

T = TypeVar("T")
LARGEST = 64 << 20  # bytes of a text that are one task, at most; less where the cores would wait
BYTES_OF_ROW = 40  # of a text; so many rows of Parquet are one task
TASKS = 4  # per core, so that none waits long for the last one; each costs some 20 ms beside its work
COLUMNS = ("system", "query", "item", "score")
NO_ROWS = pl.DataFrame(
    schema={"system": pl.String, "query": pl.String, "item": pl.String, "rank": pl.UInt32, "block": pl.UInt32,
            "score": pl.Float64}
)  # fmt: skip
ROWS = "system string, query string, item string, score double, part long, rank long"


@dataclass(frozen=True)
class Part:
    """What a task reads: a file as it was seen here, whole or a part of it."""

    path: str
    label: str
    size: int
    text: bool = True
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Read:
    """What a task gives back: the lists, what the kernel made of them, and the lines that a lenient reader skipped."""

    lists: list[tuple[str, str]]
    results: list[Any]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class DistributedFiles:
    """Run files that the workers at an address read and score."""

    files: RunFiles
    on: str

    def map(
        self, kernel: Callable[[Run], T], sought: Sought[T] | None = None
    ) -> Iterator[tuple[list[str], dict[str, str], list[T]]]:
        """For each file the names of its systems, distinct names for them, and the results of the kernel.

        What the native core looks up (`sought`) stays in this process; the workers make tables of blocks.
        """
        planned = self._planned()
        task = partial(_scored, kernel, self._reading)
        every = spark.mapped(self.on, task, [part for parts in planned for part in parts], apart=True)
        taken: list[str] = []
        for source, parts in zip(self.files.sources, planned, strict=True):
            read = [next(every) for _ in parts]
            lists = [one for part in read for one in part.lists]
            for skipped in (one for part in read for one in part.skipped):
                tell(skipped, self.files.report)
            if not lists:
                refuse_empty(source, RUN, 0, len(read[0].skipped))
            names = list(dict.fromkeys(system for system, _ in lists))
            renamed = distinct_names(names, taken, source)
            taken += renamed.values()
            grouped = len(set(lists)) == len(lists)
            yield names, renamed, self._joined(read) if grouped else self._shuffled(source, parts, kernel)
            if self.files.progress is not None:
                self.files.progress(source.label, parts[0].size, parts[0].size)

    def whole(self) -> Run:
        """All systems as one table, in the memory of this machine."""
        return self.files.whole()

    def first(self, depth: int) -> Run:
        """The first items of every list as one table. The workers drop the others."""
        parts = []
        for _, renamed, frames in self.map(partial(_first, depth)):
            parts += [frame.with_columns(pl.col("system").replace(renamed)) for frame in frames]
        return Run(pl.concat(parts), self.files.ties)

    @property
    def _reading(self) -> dict[str, Any]:
        names = ("name_from", "ties", "lenient", "blanks")
        return {name: getattr(self.files, name) for name in names}

    def _planned(self) -> list[list[Part]]:
        """The tasks of each file."""
        wholes = [self._whole(source) for source in self.files.sources]
        every = sum(part.size for part, _ in wholes)
        size = min(max(every // (TASKS * spark.cores(self.on)), PIECE), LARGEST)
        return [self._cut(part, size) if divisible else [part] for part, divisible in wholes]

    def _whole(self, source: Source) -> tuple[Part, bool]:
        """A file, and whether it can be cut."""
        if source.given == "-" or is_stream(Path(source.given)):
            name = "standard input" if source.given == "-" else "a pipe"
            raise FileError(source.given, f"workers cannot read {name}", "save it where all workers see it")
        content = source.content
        path = content.packed or content.path
        packed = content.packed is not None or content.magic.startswith(GZIP)
        form = None if packed or self.files.lenient else look(source, "run").format
        part = Part(str(path.resolve()), source.label, path.stat().st_size, text=form != "parquet")
        tabs = form == "trec" and separated(source, RUN, blanks=self.files.blanks).tabs
        return part, form in {"trec", "parquet"} and not tabs

    @staticmethod
    def _cut(part: Part, size: int) -> list[Part]:
        """Parts of a file of about the same size."""
        size = part.size // max(-(-part.size // size), 1)
        size += size // 32  # a cut is at the end of the query before; what is left is no part of its own
        source = source_of(part.path, part.label)
        cuts = spans(source, size) if part.text else row_spans(source, size // BYTES_OF_ROW)
        return [replace(part, span=span) for span in cuts] if len(cuts) > 1 else [part]

    @staticmethod
    def _joined(read: list[_Read]) -> list[Any]:
        return [result for part in read for result in part.results]

    def _shuffled(self, source: Source, parts: list[Part], kernel: Callable[[Run], T]) -> list[T]:
        """The results of a file that is not grouped by query. What is wrong with it the reader of one machine says."""
        numbered = list(enumerate(parts))
        rows = spark.rows_of(self.on, partial(_rows, self._reading), numbered, ROWS)
        try:
            return list(spark.mapped_rows(rows, partial(_ranked, kernel, self.files.ties), ("system", "part", "rank")))
        except EndoxaError:
            list(replace(self.files, sources=(source,), progress=None).map(len))
            raise


@dataclass(frozen=True)
class DistributedFrame:
    """A Spark frame of runs. Its rows have no order, so that systems are in the order of their names."""

    frame: Any
    ties: Ties = "trec"

    def map(
        self, kernel: Callable[[Run], T], sought: Sought[T] | None = None
    ) -> Iterator[tuple[list[str], dict[str, str], list[T]]]:
        """The names of the systems, no new names, and the results of the kernel; `sought` is for files."""
        known = rename_known(pl.DataFrame(schema=self.frame.columns), COLUMNS).columns
        if "query" not in known:
            raise TableError("a run needs a column 'query'", remedy=f"the columns are {', '.join(known) or '(none)'}")
        named = self.frame.toDF(*known)
        texts = [named[name].cast("string").alias(name) for name in COLUMNS[:3] if name in known]
        rows = named.select(*texts, *(named[name] for name in COLUMNS[3:] if name in known))
        found = list(spark.mapped_rows(rows, partial(_named, kernel, self.ties)))
        names = sorted({name for systems, _ in found for name in systems})
        yield names, {}, [result for _, result in found]

    def whole(self) -> Run:
        """All systems as one table, in the memory of this machine."""
        return Run.of(pl.DataFrame(pl.from_arrow(self.frame.toArrow())), ties=self.ties)

    def first(self, depth: int) -> Run:
        """The first items of every list as one table. The workers drop the others."""
        return Run(
            pl.concat([frame for _, _, frames in self.map(partial(_first, depth)) for frame in frames]), self.ties
        )


# ---- in a worker --------------------------------------------------------------------------------------


def _scored(kernel: Callable[[Run], Any], reading: dict[str, Any], part: Part) -> _Read:
    """Read a part of a file and score its blocks, by the reader and the kernel of one machine."""
    skipped: list[Skipped] = []
    source = Source(_seen(part), part.label, part.span)
    try:
        read = map_blocks(source, partial(_with_lists, kernel), **reading, report=skipped.append, workers=0)
    except FileError as error:
        raise _moved(error, part) from None
    return _Read([one for lists, _ in read for one in lists], [result for _, result in read], tuple(skipped))


def _with_lists(kernel: Callable[[Run], Any], block: Run) -> tuple[list[tuple[str, str]], Any]:
    heads = (block.frame["rank"] == 1).arg_true()
    systems, queries = block.frame["system"][heads], block.frame["query"][heads]
    return list(zip(systems.to_list(), queries.to_list(), strict=True)), kernel(block)


def _seen(part: Part) -> str:
    """The path, if the file there is the one that was seen when the work was planned."""
    try:
        known = Path(part.path).stat()
    except OSError:
        known = None
    if known is None or known.st_size != part.size:
        what = f"the worker {socket.gethostname()} sees {'no such file' if known is None else 'another file'}"
        remedy = "put it on storage that all workers share, under one path, and do not change it meanwhile"
        raise FileError(part.label, what, remedy)
    return part.path


def _moved(error: FileError, part: Part) -> FileError:
    """The error with the line, or the row, in the whole file."""
    begin = 0 if part.span is None else part.span[0]
    if not begin:
        return error
    if not part.text:
        if error.row is None:
            return error
        return FileError(error.path, error.problem, error.remedy, row=error.row + begin, table=error.table)
    if error.line is None:
        return error
    with Path(part.path).open("rb") as file:
        before = sum(count(file.read(min(PIECE, begin - at)), b"\n") for at in range(0, begin, PIECE))
    return FileError.of(error, error.path, before + error.line)


def _rows(reading: dict[str, Any], numbered: tuple[int, Part]) -> pl.DataFrame:
    """The rows of a part, with all that is needed to put them in order again."""
    number, part = numbered
    frames: list[pl.DataFrame] = _scored(_frame_of, reading, part).results
    rows = pl.concat([NO_ROWS, *frames]).with_columns(
        pl.lit(number, pl.Int64).alias("part"), pl.col("rank").cast(pl.Int64)
    )
    return rows.select("system", "query", "item", "score", "part", "rank")


def _frame_of(block: Run) -> pl.DataFrame:
    return block.frame


def _ranked(kernel: Callable[[Run], Any], ties: Ties, rows: pl.DataFrame) -> Any:
    return kernel(Run.of(rows, ties=ties))


def _named(kernel: Callable[[Run], Any], ties: Ties, rows: pl.DataFrame) -> Any:
    run = Run.of(rows, ties=ties)
    return run.systems, kernel(run)


def _first(depth: int, block: Run) -> pl.DataFrame:
    return block.frame.filter(pl.col("rank") <= depth)
