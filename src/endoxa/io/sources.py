"""Opens a path, a pipe, standard input, gzip or zstd, and yields the text in pieces of whole lines.

A `Source` is made once for each input and handed on. It is opened when it is recognised and when it is read, and must
not change in between. What can be read only once is copied to a temporary file when it is first opened: a FIFO, process
substitution and /dev/stdin for as long as the process lasts, `-` and the content of a zstd file as long as the Source.

A piece ends where a query ends, as far as its last lines show, so that a reader can work query by query in bounded
memory. Error messages name the file as the user named it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from gzip import BadGzipFile, GzipFile
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from endoxa.errors import FileError, MissingFile, advice
from endoxa.frozen import dataclass
from endoxa.io.beir import qrels_of
from endoxa.io.limits import allowed_content, allowed_pipe, refuse_content, too_long
from endoxa.io.missing_files import near_file, unreadable
from endoxa.later import np, pl

if TYPE_CHECKING:
    from concurrent.futures import Future

PIECE = 8 << 20  # bytes; larger pieces cost page faults and memory, smaller ones cost calls
LONGEST_LINE = 1 << 16  # bytes of a line of TREC's text, and so of a word in it
LONGEST_HEAD = 1 << 20  # bytes that are searched for the first line that is not empty
WINDOW = 1 << 18
IGNORED = 10_000  # runs of empty lines among which the start of a query is searched
FIRST = 1 << 13  # bytes that hold the first lines of most files
CONTENT = re.compile(rb"^[ \t\r]*+[^ \t\r\n].*+\n", re.MULTILINE)  # a whole line that is not empty
GLOB = frozenset("*?[")  # what a pattern holds
BOM = b"\xef\xbb\xbf"
JSON = {b"{", b"["}  # how it begins
GZIP, ZSTD, PARQUET, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04"
SUFFIXES = (
    ".gz", ".zst", ".zstd", ".run", ".txt", ".trec", ".res", ".results", ".csv", ".tsv", ".jsonl", ".ndjson", ".json",
    ".parquet", ".qrels",
)  # fmt: skip


@dataclass(frozen=True)
class Content:
    """Where the bytes of an input can be read again and again, with their size and the time of their last change.

    `path` is a copy if the input was a pipe, standard input or zstd, and `packed` is then the zstd file. `magic` are
    the first bytes on disk, which identify the compression and Parquet.
    """

    path: Path
    size: int
    time: int
    magic: bytes
    packed: Path | None = None


class Seen:
    """What is known of an input since it was first opened, so that nobody opens or recognises it again."""

    content: Content | FileError | None = None
    first: bytes | None = None
    document: Any = None  # of `json_documents`
    pipe: Seen | None = None  # of the Source that copied this pipe

    def __init__(self) -> None:
        self.looks: dict[str, Any] = {}  # of `formats`, by the kind that was wanted


@dataclass(frozen=True)
class Source:
    """An input, and its name in error messages. It is opened when its content is first needed, and read once more.

    `given` is a path, or - for standard input. `span` are the bytes of a text (whole lines, whose numbers begin at 1)
    or rows of Parquet that are read, if not all.
    """

    given: str
    label: str
    span: tuple[int, int] | None = None
    seen: Seen = field(default_factory=Seen, compare=False, repr=False)

    def __str__(self) -> str:
        return self.label

    @property
    def content(self) -> Content:
        """The bytes; a pipe is copied and zstd unpacked, once."""
        if self.seen.content is None:
            try:
                self.seen.content = _content(self)
            except FileError as error:  # kept too: the rest of a pipe would be read next time
                self.seen.content = error
        return _known(self.seen)

    @property
    def path(self) -> Path:
        """Where the bytes can be read again."""
        return self.content.path

    @property
    def whole(self) -> int:
        """Size on disk, in bytes."""
        return self.content.size

    @property
    def stem(self) -> str:
        """The file name without directories and without the suffixes of runs: `a/bm25.v2.run.gz` is `bm25.v2`."""
        name = Path(self.label).name
        while name.lower().endswith(SUFFIXES):
            name = name[: name.rindex(".")]
        return name or Path(self.label).name

    @property
    def first(self) -> bytes:
        """The first bytes, decompressed: 8 KiB; a mebibyte if these have no line with content, or may be JSON.

        For Parquet and zip the last bytes, which hold the schema or the names of the members.
        """
        _, first = self.content, self.seen.first  # opening it sets the latter
        if first is None:
            with raw(self) as (stream, file):
                first = self.seen.first = _first(self.content, stream, file)
        return first


@dataclass(frozen=True)
class Piece:
    """Whole lines of a text: the bytes, the number of the first line, and the bytes of the file read so far."""

    data: bytes
    line: int
    done: int


S = TypeVar("S")
T = TypeVar("T")
Where = str | os.PathLike[str] | Source


_PIPES: dict[tuple[int, int], tuple[Seen, int]] = {}  # by device and number, with the time somebody last wrote into it


def source_of(where: Where, label: str | None = None) -> Source:
    """Return the input at a path. A folder is a collection of BEIR, and stands for its judgments."""
    if isinstance(where, Source):
        return where
    given = os.fspath(where)
    if _is_folder(Path(given)):
        with suppress(FileError):  # said again when it is opened
            label = label or str(qrels_of(Path(given), given))
    return Source(given, ("<stdin>" if given == "-" else given) if label is None else label)


def _content(source: Source) -> Content:
    """Open an input for the first time, and note its first bytes."""
    path = Path(source.given)
    if source.given == "-":
        if sys.stdin is None:
            raise FileError("<stdin>", "standard input is closed", "give a file or a pipe")
        path = _copied(sys.stdin.buffer, source)
    elif _is_folder(path):
        path = qrels_of(path, source.given)
    elif is_stream(path):
        state = path.stat()
        copied, changed = _PIPES.get((state.st_dev, state.st_ino), (None, 0))
        if copied is not None and (changed == state.st_mtime_ns or stat.S_ISCHR(state.st_mode)):
            source.seen.pipe, source.seen.first = copied, copied.first
            return _known(copied)
        path = _piped(path, source)
    content = _begun(source, path)
    if content.magic != ZSTD:
        return content
    return replace(_begun(source, _unpacked(content, source)), packed=path)


def _known(seen: Seen) -> Content:
    """What was opened before, or why it could not be."""
    if isinstance(seen.content, FileError):
        raise seen.content.with_traceback(None)
    assert seen.content is not None
    return seen.content


def _piped(path: Path, source: Source) -> Path:
    """Copy a pipe, whatever path leads to it, for all Sources until somebody writes into it again."""
    try:
        with path.open("rb", buffering=0) as pipe:
            try:
                return _copied(pipe, source)
            finally:
                state = os.fstat(pipe.fileno())
                _PIPES[state.st_dev, state.st_ino] = source.seen, state.st_mtime_ns
    except OSError as error:
        raise FileError(source.label, f"cannot be opened: {error.strerror or error}") from None


def _begun(source: Source, path: Path) -> Content:
    """Open a file and keep its first bytes."""
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        pattern = "a pattern is not expanded here: give a list of files" if GLOB & {*str(path)} else ""
        raise MissingFile(source.label, "no such file", advice(pattern, near_file(str(path)))) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(source.label, f"cannot be opened: {reason}") from None
    with file:
        content = Content(path, *_state(file), os.pread(file.fileno(), len(ZSTD), 0))
        if content.magic != ZSTD:
            with _decompressed(source, content, file) as stream:
                source.seen.first = _first(content, stream, file)
    return content


def _first(content: Content, stream: FileIO | GzipFile, file: FileIO) -> bytes:
    if content.magic in {PARQUET, ZIP}:
        length = LONGEST_HEAD
        if content.magic == PARQUET:  # ends with the footer, its length and the magic bytes
            length = 8 + int.from_bytes(os.pread(file.fileno(), 4, max(content.size - 8, 0)), "little")
            length = length if length <= content.size else 8
        start = max(content.size - length, 0)
        return os.pread(file.fileno(), content.size - start, start)
    data = stream.read(FIRST)
    if len(data) == FIRST and (not CONTENT.search(data) or data.removeprefix(BOM).lstrip()[:1] in JSON):
        data += stream.read(LONGEST_HEAD - FIRST)
    return data.removeprefix(BOM)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def is_stream(path: Path) -> bool:
    """Whether there is something at this path that is neither a file nor a folder: a pipe, a terminal, a device."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # there is nothing, or it cannot be a path
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _refuse_device(stream: IO[bytes], label: str) -> None:
    """Refuse /dev/zero, a disk and other devices: they have no end, or are no text. Terminals and /dev/null do end."""
    try:
        state = os.fstat(stream.fileno())
    except OSError:  # a stream that is no file
        return
    ends = stream.isatty() or state.st_rdev == Path(os.devnull).stat().st_rdev
    if stat.S_ISBLK(state.st_mode) or (stat.S_ISCHR(state.st_mode) and not ends):
        raise FileError(label, "this is a device, and may have no end", "give a file or a pipe")


def _spool(source: Source) -> Path:
    """Return the path of a temporary file, which is removed with the last Source of this input or with the process."""
    import shutil
    import tempfile
    import weakref

    folder = tempfile.mkdtemp(prefix="endoxa-")
    weakref.finalize(source.seen, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / "text"


def _copied(stream: IO[bytes], source: Source) -> Path:
    """Copy a stream to a temporary file, up to the limit."""
    _refuse_device(stream, source.label)
    to, size, most = _spool(source), 0, allowed_pipe()
    try:
        with to.open("wb") as file:
            while data := stream.read(1 << 20):
                size += file.write(data)
                if size > most:
                    raise FileError(source.label, *too_long(most))
    except OSError as error:
        what = f"cannot be copied to {to.parent}: {error.strerror or error}"
        raise FileError(source.label, what, "free some space, or name another folder with TMPDIR") from None
    return to


def _unpacked(packed: Content, source: Source) -> Path:
    """Unpack a zstd file, unless it holds too much. Polars includes the decoder, so no other package is needed."""
    to, content = _spool(source), 0
    try:
        with to.open("wb") as file:

            def add(lines: pl.DataFrame) -> bool:
                nonlocal content
                lines.write_csv(file, include_header=False, quote_style="never", separator="\x01")
                content = file.tell()
                return content > allowed_content(packed.size, text=True)

            pl.scan_lines(packed.path, glob=False).sink_batches(add)
    except pl.exceptions.ComputeError:
        remedy = "unpack the file and read it again to see the line"
        raise FileError(source.label, "the text inside is not UTF-8", remedy) from None
    except OSError as error:
        raise FileError(source.label, f"damaged zstd data ({error})", "copy or compress the file again") from None
    refuse_content(source.label, packed.size, content, text=True)
    return to


class _Unpacking(GzipFile):
    """The content of a gzip file, which is refused where it exceeds what the size of the file allows."""

    def __init__(self, file: FileIO, label: str) -> None:
        super().__init__(fileobj=file)
        self.label, self.size, self.content = label, os.fstat(file.fileno()).st_size, 0

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes."""
        data = super().read(size)
        self.content += len(data)
        refuse_content(self.label, self.size, self.content, text=True)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go back to the beginning."""
        self.content = 0
        return super().seek(offset, whence)


@contextmanager
def raw(source: Source) -> Iterator[tuple[FileIO | GzipFile, FileIO]]:
    """Yield the decompressed bytes as a stream, and the file, whose position shows the progress."""
    content = source.content
    try:
        file = content.path.open("rb", buffering=0)
    except OSError as error:
        raise unreadable(source.label, error, "read it again when it is complete") from None
    with file, _decompressed(source, content, file) as stream:
        yield stream, file


@contextmanager
def _decompressed(source: Source, content: Content, file: FileIO) -> Iterator[FileIO | GzipFile]:
    """Yield the content of an open file, which must be the same as when the input was first opened, to its end."""
    refuse_change(source, content, file)
    try:  # the first bytes decide the compression, not the suffix
        yield _Unpacking(file, source.label) if content.magic.startswith(GZIP) else file
        refuse_change(source, content, file)
    except (EOFError, BadGzipFile, zlib.error) as error:
        refuse_change(source, content, file)
        what = "the gzip data are truncated" if isinstance(error, EOFError) else f"damaged gzip data ({error})"
        raise FileError(source.label, what, "copy or compress the file again") from None
    except FileError:
        refuse_change(source, content, file)
        raise


def _state(file: FileIO | Path) -> tuple[int, int]:
    """Size and time of the last change."""
    found = file.stat() if isinstance(file, Path) else os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def refuse_change(source: Source, content: Content, file: FileIO | Path) -> None:
    """Refuse a file that somebody writes to: what was read is neither the old nor the new content."""
    if _state(file) != (content.size, content.time):
        remedy = "wait until it is complete, and read it again"
        raise FileError(source.label, "the file changed while it was read", remedy)


def text_of(source: Source) -> bytes:
    """Return the whole text; refuse it with the line if it is not UTF-8."""
    with raw(source) as (stream, _):
        data = b"".join(iter(lambda: stream.read(1 << 26), b"")).removeprefix(BOM)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        what, line = f"byte {data[error.start]:#04x} is not UTF-8", data.count(b"\n", 0, error.start) + 1
        raise FileError(source.label, what, "convert the file: iconv -t UTF-8", line) from None
    return data


def pieces(source: Source, size: int = PIECE) -> Generator[Piece]:
    """Yield the text in pieces of about `size` bytes that end with a line and, where visible, with a query."""
    line = 1
    with raw(source) as (stream, file):
        # unzipping takes as long as parsing, so it runs in parallel
        cuts = (
            ahead(_cut_stream(stream, size)) if isinstance(stream, GzipFile) else _cut_file(stream, size, source.span)
        )
        for data in cuts:
            _refuse_long_lines(source, data, line)
            yield Piece(data, line, file.tell())
            line += count(data, b"\n")


def ahead(items: Iterator[T]) -> Generator[T]:
    """Yield the same items; another thread computes the next one while this one is in use."""
    from concurrent.futures import ThreadPoolExecutor

    end = object()
    item = next(items, end)
    pool = ThreadPoolExecutor(1, thread_name_prefix="endoxa-read")
    future: Future[T | object] | None = None
    try:
        while item is not end:
            future = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
            item = future.result()
    finally:
        # The file may be closed only when nobody reads it. The thread is not joined: the garbage collector may end a
        # reader that an error has left behind, in a thread that is just starting, and a join there waits for ever.
        if future is not None:
            future.exception()
        pool.shutdown(wait=False)


def in_parallel(work: Callable[[S], T], items: Iterable[S], workers: int) -> Generator[T]:
    """Yield work(item) of each item, in order; threads compute a few of them in parallel (0: this one does)."""
    if not workers:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="endoxa-block") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _cut_file(file: FileIO, size: int, span: tuple[int, int] | None) -> Iterator[bytes]:
    """A piece is read once and never copied."""
    for start, end in _cuts(file, size, span):
        file.seek(start)
        yield file.read(end - start)


def spans(source: Source, size: int) -> list[tuple[int, int]]:
    """Where to cut a text into pieces that end with a query. Only a little is read, before each cut."""
    with source.path.open("rb", buffering=0) as file:
        return list(_cuts(file, size, None))


def _cuts(file: FileIO, size: int, span: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    """Search for the cut in the last bytes of a piece first."""
    start, length = span or (len(BOM) if file.read(len(BOM)) == BOM else 0, file.seek(0, os.SEEK_END))
    wanted, window = size, min(size, WINDOW)
    while start < length:
        end = length
        if start + wanted < length:
            file.seek(start + wanted - window)
            tail = file.read(window)
            # the window starts in the middle of a line, unless it is the whole piece
            cut = last_query(tail, tail.find(b"\n") + 1 if window < wanted else 0)
            if cut == 0 and not _endless(tail):
                wanted, window = (wanted, min(8 * window, wanted)) if window < wanted else (2 * wanted, 2 * wanted)
                continue
            end = start + wanted - window + (cut or window)
        yield start, end
        start, wanted, window = end, size, min(size, WINDOW)


def _cut_stream(stream: GzipFile, size: int) -> Iterator[bytes]:
    rest, wanted = stream.read(len(BOM)).removeprefix(BOM), size
    while True:
        data = stream.read(wanted)
        last = len(data) < wanted
        data = rest + data
        cut = len(data) if last else last_query(data)
        if cut == 0 and _endless(data):
            cut = len(data)
        if data[:cut]:
            yield data[:cut]
        if last:
            return
        rest, wanted = data[cut:], size if cut else 2 * wanted


def _endless(data: bytes) -> bool:
    """Whether the last line is longer than the limit, so that reading on to find its end is pointless."""
    return len(data) - data.rfind(b"\n") - 1 > LONGEST_LINE


def last_query(data: bytes, start: int = 0) -> int:
    """Return where the lines of the last query begin, 0 if before `start`; they may continue in the next piece.

    Where hardly anything but empty lines is left, the piece ends with its last line instead.
    """
    whole = end = data.rfind(b"\n") + 1
    name: bytes | None = None
    ignored = 0
    while end > start and ignored < IGNORED:
        begin = data.rfind(b"\n", start, end - 1) + 1 or start
        words = data[begin:end].split(None, 1)
        if not words:
            begin, ignored = max(start, data.find(b"\n", _text_end(data, start, begin)) + 1), ignored + 1
        elif name is None:
            name = words[0]
        elif words[0] != name:
            return end
        end = begin
    return whole if ignored == IGNORED or name is None else 0


def _text_end(data: bytes, start: int, end: int) -> int:
    """Return the end of the text before a run of blanks, which may be millions of empty lines."""
    size = 64
    while end > start:
        begin = max(start, end - size)
        if text := data[begin:end].rstrip():
            return begin + len(text)
        end, size = begin, 2 * size
    return start


def count(data: bytes, byte: bytes) -> int:
    """Count a byte. Windows that stay in the cache make this several times as fast as bytes.count."""
    text = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(text[start : start + WINDOW] == byte[0])) for start in range(0, len(text), WINDOW))


def _refuse_long_lines(source: Source, data: bytes, line: int) -> None:
    """Refuse lines that are too long. Such a line covers at least one window of half its length completely."""
    window = LONGEST_LINE // 2
    for start in range(0, len(data) - window, window):
        if data.find(b"\n", start, start + window) < 0:
            begin, end = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", start)
            if (len(data) if end < 0 else end) - begin > LONGEST_LINE:
                remedy = "expected one short line per item; check that this is a text file"
                line += data.count(b"\n", 0, begin)
                raise FileError(source.label, f"the line is longer than {LONGEST_LINE >> 10} KiB", remedy, line)
