"""Feeds the native core with files and dicts. None means that it declined, and that the exact reader must take over."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from gzip import GzipFile
from io import FileIO
from typing import Any, TypeVar

from endoxa.frozen import dataclass
from endoxa.io.sources import BOM, Source, ahead, raw
from endoxa.later import np, pl
from endoxa.measures.looked_up import Sought
from endoxa.native import DECLINED, OK, UNGROUPED, core
from endoxa.policies import Ties
from endoxa.tables import Judged, Run

T = TypeVar("T")
Progress = Callable[[int, int], None]
CHUNK = 1 << 18  # bytes that are read at once; they stay in the cache
SLICE = 1 << 22  # bytes between two looks at the progress, the other parts and Ctrl-C
WINDOW = 1 << 24  # bytes in which the first line of a query is looked for; without one, a file is read in one part
THREADS = 2  # parts of a file that are read at once; a third only waits for the memory
SMALL = 2 << 20  # bytes below which a second thread costs more than it saves


# ---- judgments ----------------------------------------------------------------------------------------


def judged_of(source: Source) -> Judged | None:
    """Judgments in a file of TREC's qrels."""
    native = core()
    if native is None:
        return None
    reader = native.qrels()
    with raw(source) as (stream, file):
        for chunk in _chunks(stream, file, _start(stream), source.whole):
            if native.feed_qrels(reader, chunk) != OK:
                return None
    return _judged(native, reader)


def judged_of_dict(values: dict[Any, Any]) -> Judged | None:
    """Judgments in {query: {item: grade}}."""
    native = core()
    if native is None:
        return None
    reader = native.qrels()
    return _judged(native, reader) if native.qrels_of_dict(reader, values) == OK else None


def _judged(native: Any, reader: Any) -> Judged | None:
    closed = native.close_qrels(reader)
    if closed is None:
        return None
    table, queries, offsets, grades = closed

    def rows() -> tuple[list[str], list[str], Any]:
        query, item, grade = native.rows_of_qrels(reader)
        return query, item, np.frombuffer(grade)

    return Judged.of(queries, offsets, grades, table, rows)


# ---- runs ---------------------------------------------------------------------------------------------


def looked_up(
    source: Source, sought: Sought[T], system: str | None, progress: Progress | None
) -> tuple[list[str], T] | None:
    """The systems of a run file and what their lists give; `system` is the name of all of them, where tags are not."""
    native = core()
    if native is None or source.span is not None or (system is not None and not _is_text(system)):
        return None
    reader, close = partial(sought.reader, native, system), partial(sought.close, native)
    found = _read(native, source, reader, close, progress, plain=sought.plain is not None)
    return (found[0], sought.score(found)) if isinstance(found, tuple) else None


def run_of(source: Source, system: str | None, ties: Ties) -> Run | None:
    """All lists of a run file as a table; `system` is the name of all of them, where the tags are not."""
    native = core()
    if native is None or source.span is not None or (system is not None and not _is_text(system)):
        return None

    def reader(*, gather: bool) -> Any:
        return native.run(None, system, ties == "input", False, gather, 0)

    found = _read(native, source, reader, native.close_lists, None)
    return _table(found, ties) if isinstance(found, tuple) else None


def run_of_text(text: bytes, system: str | None, ties: Ties) -> Run | None:
    """The same of a text that is grouped by query."""
    native = core()
    if native is None or (system is not None and not _is_text(system)):
        return None
    reader = native.run(None, system, ties == "input", False, False, 0)
    if native.feed_run(reader, text) != OK:
        return None
    found = native.close_lists([reader], 1)
    return _table(found, ties) if isinstance(found, tuple) else None


def _table(found: tuple[Any, ...], ties: Ties) -> Run:
    systems, queries, system_of, query_of, size, schema, array, score, block = found
    sizes = np.frombuffer(size, np.int64)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = {
        name: pl.Series(name, names)[np.repeat(np.frombuffer(numbers, np.int64), sizes)]
        for name, names, numbers in (("system", systems, system_of), ("query", queries, query_of))
    }
    columns["item"] = pl.Series("item", _Arrow(schema, array))
    columns["rank"] = pl.Series("rank", (np.arange(1, len(starts) + 1) - starts).astype(np.uint32))
    columns["block"] = pl.Series("block", np.frombuffer(block, np.uint32))
    columns["score"] = pl.Series("score", np.frombuffer(score))
    return Run(pl.DataFrame(columns), ties)


@dataclass(frozen=True)
class _Arrow:
    """A column that Polars takes over through Arrow's C data interface."""

    schema: Any
    array: Any

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return self.schema, self.array


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8; that of a file need not be."""
    with suppress(UnicodeEncodeError):
        return "\0" not in name and bool(name.encode())
    return False


def _read(
    native: Any, source: Source, reader: Callable[..., Any], close: Callable[[list[Any], int], Any],
    progress: Progress | None, *, plain: bool = False,
) -> Any:  # fmt: skip
    """What `close` finds in the readers of the parts of a file, or a status; `plain` needs no NumPy."""
    with raw(source) as (stream, file):
        read = partial(_parts_read, native, source.whole, stream, file, reader, close, progress, plain=plain)
        found = read(gather=False)
        if found == UNGROUPED:  # a query comes back: all rows are kept, and grouped at the end
            stream.seek(0)
            found = read(gather=True)
    return found


def _parts_read(
    native: Any, whole: int, stream: FileIO | GzipFile, file: FileIO, reader: Callable[..., Any],
    close: Callable[[list[Any], int], Any], progress: Progress | None, *, gather: bool, plain: bool,
) -> Any:  # fmt: skip
    start = _start(stream)
    packed = stream if isinstance(stream, GzipFile) else None
    ends = [start, whole] if packed is not None else _ends(file, start, whole, gather=gather)
    readers = [reader(gather=gather) for _ in ends[1:]]
    statuses = [OK] * len(readers)

    def tell(done: int) -> None:
        if progress is not None:
            progress(min(done, whole), whole)

    def unpack(number: int) -> None:
        assert packed is not None
        for chunk in _unpacked(packed):
            statuses[number] = native.feed_run(readers[number], chunk)
            if statuses[number]:
                return
            tell(file.tell())

    def pour(number: int) -> None:
        for begin in range(ends[number], ends[number + 1], SLICE):
            end = min(begin + SLICE, ends[number + 1])
            statuses[number] = native.pour_run(readers[number], file.fileno(), begin, end, CHUNK)
            if any(statuses):
                return
            if number == 0:
                tell((end - start) * len(readers))

    work = pour if packed is None else unpack
    others: list[_Thread] = []
    try:
        for number in range(1, len(readers)):
            others.append(_Thread(work, number))
        if others and not plain:  # the native core does not need Python meanwhile, which can load what scores
            with suppress(RuntimeError):  # no thread is left: it is loaded later
                others.append(_Thread(_load_numpy, len(readers)))
        work(0)
        for one in others:
            one.join()
    except BaseException:
        statuses[0] = DECLINED  # the others end, before the file is closed
        for one in others:
            one.join()
        raise
    for one in others:
        one.result()
    failed = max(statuses)
    return failed if failed != OK else close(readers, THREADS)


def _load_numpy(_: int) -> None:
    np.ndarray  # noqa: B018  asking for something loads it


class _Thread(threading.Thread):
    """A thread that has begun; its error is raised by `result`."""

    def __init__(self, work: Callable[[int], None], number: int) -> None:
        super().__init__(name=f"endoxa-native-{number}")
        self.work, self.number, self.error = work, number, None
        self.start()

    error: BaseException | None

    def run(self) -> None:
        try:
            self.work(self.number)
        except BaseException as error:  # noqa: BLE001  it is raised where the result is asked for
            self.error = error

    def result(self) -> None:
        if self.error is not None:
            raise self.error


def _start(stream: FileIO | GzipFile) -> int:
    """Where the text begins in a file; that of a gzip file is found when it is read."""
    if isinstance(stream, GzipFile):
        return 0
    return len(BOM) if os.pread(stream.fileno(), len(BOM), 0) == BOM else 0


def _unpacked(stream: GzipFile) -> Iterator[bytes]:
    """The text of a gzip file, in pieces."""
    yield stream.read(CHUNK).removeprefix(BOM)
    yield from ahead(iter(lambda: stream.read(4 * CHUNK), b""))  # unzipping takes as long as reading: in parallel


def _chunks(stream: FileIO | GzipFile, file: FileIO, start: int, end: int) -> Iterator[Any]:
    """The text from `start` to `end` of a file, or all of a gzip file, in pieces that are used at once."""
    if isinstance(stream, GzipFile):
        yield from _unpacked(stream)
        return
    buffer = memoryview(bytearray(min(CHUNK, max(end - start, 1))))
    while start < end:
        size = os.preadv(file.fileno(), [buffer[: end - start]], start)
        if size == 0:  # the file has become shorter; `raw` says so
            return
        yield buffer[:size]
        start += size


def _ends(file: FileIO, start: int, whole: int, *, gather: bool) -> list[int]:
    """Where the parts of a file begin and end: at the first line of a query, or at any line if rows are gathered."""
    ends = [start]
    for number in range(1, THREADS if whole >= SMALL else 1):
        at, window = whole * number // THREADS, CHUNK
        while at > ends[-1] and window < min(whole, WINDOW):
            text = os.pread(file.fileno(), window, at)
            cut = _cut(text, gather=gather)
            if cut:
                ends.append(at + cut)
                break
            window *= 8
    return [*ends, whole]


def _cut(text: bytes, *, gather: bool) -> int:
    """Where a query begins in a text that begins somewhere in a line; 0 where none does."""
    begin = text.find(b"\n") + 1
    if gather or not begin:
        return begin
    name = None
    while (end := text.find(b"\n", begin)) >= 0:
        line = text[begin:end].replace(b"\t", b" ").strip(b" \r")
        if line:
            query = line.partition(b" ")[0]
            if name is not None and query != name:
                return begin
            name = query
        begin = end + 1
    return 0


@dataclass(frozen=True)
class DictRun:
    """A run in a dict {query: {item: score}}, which the native core walks; anything unusual becomes a table first."""

    values: dict[Any, Any]
    table: Callable[[], Run]
    ties: Ties = "trec"

    def map(
        self, kernel: Callable[[Run], T], sought: Sought[T] | None = None
    ) -> Iterator[tuple[list[str], dict[str, str], list[T]]]:
        """The one system, and the result of the kernel."""
        native = core()
        if native is not None and sought is not None:
            reader = sought.reader(native)
            status = native.run_of_dict(reader, self.values, NAME)
            found = sought.close(native, [reader], 1) if status == OK else status
            if isinstance(found, tuple):
                yield [NAME], {}, [sought.score(found)]
                return
        run = self.table()
        yield run.systems, {}, [kernel(run)]

    def whole(self) -> Run:
        """All of it as one table."""
        return self.table()


NAME = "run"  # of the system in a dict, as in Run.of
