"""Reads runs, whole or in blocks of whole queries. Blocks bound the memory, whatever the size of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Literal, TypeVar
from warnings import warn

from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.io.formats import look
from endoxa.io.native_files import looked_up, run_of, run_of_text
from endoxa.io.sources import PIECE, Piece, Source, Where, in_parallel, pieces, source_of
from endoxa.io.trec_text import (
    RUN,
    Form,
    Report,
    Skipped,
    distinct,
    line_of_repeat,
    part_of,
    refuse_empty,
    separated,
    tell,
    whole,
)
from endoxa.later import pl
from endoxa.measures.looked_up import Sought
from endoxa.policies import CHOICES, Ties, refuse_choice
from endoxa.tables import DuplicateItemError, Run

T = TypeVar("T")
Progress = Callable[[int, int], None]
ROWS = 500_000  # rows per block of a table that is already in memory
WORKERS = 3  # blocks that are parsed, ranked and scored in parallel; NumPy and Polars release the GIL


class _NotGroupedError(Exception):
    """A query occurs again after other queries: the file must be grouped before it can be cut into blocks."""


def map_blocks(
    where: Where, kernel: Callable[[Run], T], *, name: str | None = None, name_from: Literal["tag", "file"] = "tag",
    ties: Ties = "trec", lenient: bool = False, blanks: bool = False, progress: Progress | None = None,
    report: Report | None = None, size: int = PIECE, workers: int = WORKERS,
) -> list[T]:  # fmt: skip
    """Return kernel(block) for each block of whole queries of a run file, in the order of the file.

    The kernel is called from several threads (`workers`) and must not change shared state.

    The name of the system is the tag (several tags make several systems), or `name`, or the file's name; in the last
    two cases all lines belong to one system. If the file is not grouped by query, the results so far are discarded, and
    the file is read whole and grouped. `progress` gets the bytes read and the size of the file; `report` gets the lines
    that a lenient reader skipped.
    """
    reading: dict[str, Any] = {"ties": ties, "lenient": lenient, "blanks": blanks, "report": report}
    source = source_of(where)
    system = source.stem if name is None and name_from == "file" else name
    form = look(source, "run").format
    if form != "trec":
        from endoxa.io.table_files import read_table

        whole = read_table(source, "run", form, name=system, **reading)
        return _mapped_whole(whole, kernel, source, progress) if isinstance(whole, Run) else []
    try:
        return _mapped(source, kernel, system=system, progress=progress, size=size, workers=workers, **reading)
    except _NotGroupedError:
        whole = read_run(source, name=system, **reading)
        return _mapped_whole(whole, kernel, source, progress)


@dataclass(frozen=True)
class RunFiles:
    """Run files that are read and scored in blocks of whole queries, so that memory stays bounded."""

    sources: tuple[Source, ...]
    name_from: Literal["tag", "file"] = "tag"
    ties: Ties = "trec"
    lenient: bool = False
    blanks: bool = False
    progress: Callable[[str, int, int], None] | None = None
    report: Report | None = None

    def map(
        self, kernel: Callable[[Run], T], sought: Sought[T] | None = None
    ) -> Iterator[tuple[list[str], dict[str, str], list[T]]]:
        """For each file the names of its systems, distinct names for them, and the results of the kernel.

        A file that the native core can read gives one result, that of `sought`.
        """
        taken: list[str] = []
        for source in self.sources:
            names, results = self._mapped(source, kernel, sought)
            renamed = distinct_names(names, taken, source)
            taken += renamed.values()
            yield names, renamed, results

    def _mapped(
        self, source: Source, kernel: Callable[[Run], T], sought: Sought[T] | None
    ) -> tuple[list[str], list[T]]:
        progress = None if self.progress is None else partial(self.progress, source.label)
        if sought is not None and look(source, "run").format == "trec":
            system = source.stem if self.name_from == "file" else None
            found = looked_up(source, sought, system, progress)
            if found is not None:
                return found[0], [found[1]]
        results = map_blocks(
            source,
            lambda block: (block.systems, kernel(block)),
            name_from=self.name_from,
            ties=self.ties,
            lenient=self.lenient,
            blanks=self.blanks,
            progress=progress,
            report=self.report,
        )
        names = list(dict.fromkeys(name for systems, _ in results for name in systems))
        return names, [result for _, result in results]

    def whole(self) -> Run:
        """All systems as one table."""
        from endoxa.io.read import read_runs

        names = [source.stem for source in self.sources] if self.name_from == "file" else None
        return read_runs(
            self.sources, names=names, ties=self.ties, lenient=self.lenient, blanks=self.blanks, report=self.report
        )


def distinct_names(names: list[str], taken: list[str], source: Source) -> dict[str, str]:
    """A name for each system that no other file uses: the tag, else the file's name, else its whole path."""
    stem = source.stem
    renamed = {}
    for name in names:
        candidates = [name, stem if len(names) == 1 else f"{stem}:{name}", f"{source}:{name}"]
        free = [candidate for candidate in candidates if candidate not in taken]
        if not free:
            raise FileError(source.label, "the same file is given twice", "name each run file once")
        renamed[name] = free[0]
        if free[0] != name:
            warn(f"another run has the tag {name!r}; that of {source} is called {free[0]!r}", stacklevel=5)
    return renamed


def _mapped(
    source: Source, kernel: Callable[[Run], T], *, system: str | None, ties: Ties, lenient: bool, blanks: bool,
    progress: Progress | None, report: Report | None, size: int, workers: int,
) -> list[T]:  # fmt: skip
    form = separated(source, RUN, blanks=blanks, lenient=lenient)
    results: list[T] = []
    finished: set[tuple[str, str]] = set()
    rows, refusals, skipped = 0, 0, Skipped(source.label)

    def work(piece: Piece) -> tuple[int, int, bool, set[tuple[str, str]], Skipped, list[T]]:
        run = None if form.tabs else run_of_text(piece.data, system, ties)
        if run is not None:
            height, regular, left_out = len(run), True, Skipped(source.label)
        else:
            part = part_of(piece, form, source.label, lenient=lenient, refusals=refusals)
            run, repeats = _run_of(source, form, part.frame, [piece], system, ties, lenient)
            height, regular, left_out = part.frame.height, part.regular, part.skipped + repeats
        heads = (run.frame["rank"] == 1).arg_true()
        lists = set(zip(run.frame["system"][heads].to_list(), run.frame["query"][heads].to_list(), strict=True))
        values = [kernel(run)] if len(run) else []
        return piece.done, height, regular, lists, left_out, values

    with closing(in_parallel(work, pieces(source, size), workers)) as done:
        for read, height, regular, lists, left_out, values in done:
            if not finished.isdisjoint(lists):
                raise _NotGroupedError
            finished.update(lists)
            rows, refusals, skipped = rows + height, refusals + (not regular), skipped + left_out
            results.extend(values)
            if progress:
                progress(read, source.whole)
    if source.span is None:  # a part of a file may hold empty lines only
        refuse_empty(source, RUN, rows, skipped.count)
    tell(skipped, report)
    return results


def _run_of(
    source: Source, form: Form, frame: pl.DataFrame, text: Iterable[Piece], system: str | None, ties: Ties,
    lenient: bool,
) -> tuple[Run, Skipped]:  # fmt: skip
    """Return the rows of a text as a Run. An item that is listed twice is refused with its line, or skipped."""
    key = ["query", "item"] if system else ["system", "query", "item"]

    def run(rows: pl.DataFrame) -> Run:
        return Run.of(rows if system is None else rows.drop("system"), system=system, ties=ties)

    try:
        return run(frame), Skipped(source.label)
    except DuplicateItemError as error:
        if not lenient:
            line = line_of_repeat(source, form, {name: getattr(error, name) for name in key})
            raise FileError.of(error, source.label, line) from None
    rows, _, repeats = distinct(text, form, source.label, key, "is listed again")
    return run(rows), repeats


def read_run(
    source: Source, *, name: str | None = None, ties: Ties = "trec", lenient: bool = False, blanks: bool = False,
    report: Report | None = None,
) -> Run:  # fmt: skip
    """Read a whole TREC run."""
    refuse_choice("ties", ties, CHOICES["ties"])
    found = run_of(source, name, ties)
    if found is not None:
        return found
    form = separated(source, RUN, blanks=blanks, lenient=lenient)
    frame, skipped = whole(source, form, lenient=lenient)
    run, repeats = _run_of(source, form, frame, pieces(source), name, ties, lenient)
    tell(skipped + repeats, report)
    return run


def _mapped_whole(whole: Run, kernel: Callable[[Run], T], source: Source, progress: Progress | None) -> list[T]:
    results = []
    for block in blocks(whole):
        results.append(kernel(block))
        if progress:
            progress(source.whole * len(results) * ROWS // max(len(whole), len(results) * ROWS), source.whole)
    return results


def blocks(run: Run, rows: int = ROWS) -> Iterator[Run]:
    """Cut a run into runs of whole lists, with about `rows` rows each."""
    frame = run.frame
    heads = (frame["rank"] == 1).arg_true().to_list()
    start = 0
    for end in [*heads[1:], frame.height]:
        if end - start >= rows or start < end == frame.height:
            yield Run(frame[start:end], run.ties)
            start = end
