"""Parses TREC's text files: runs, judgments, sampled judgments.

    run      query Q0 item rank score tag           the tag may contain blanks; rank and Q0 are ignored
    qrels    query iteration item grade             the iteration may name the assessor
    sampled  query item grade method probability    as ir_datasets' TrecPrel

Columns are separated by any number of blanks and tabs, as trec_eval does it; or by one tab each, with blanks within
ids, if every line has as many columns by tabs as the form (`separated`). Blanks at either end, CRLF and empty lines are
ignored. There are no comments and no header: `#1` may be a query, and a line that cannot be read is an error. Only
where trec_eval's habits are asked for (`blanks`), a line that begins with `#` and cannot be read is left out. A
carriage return within a line is refused: where CR alone ends lines, the whole file is one line. The text is UTF-8.
`exact` reads line by line and defines the format. `regular` and `ragged` are faster; each returns None rather than a
table that could differ from the exact one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from math import isinf
from warnings import warn

from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.io.sources import BOM, PIECE, WINDOW, Piece, Source, ahead, pieces, raw, source_of
from endoxa.later import np, pl
from endoxa.tables.checks import COLUMN_NAMES
from endoxa.tables.grade_words import EXPECTED, GRADES

BLANK = b" \t\r"
# Possessive, so that a long word that is no number is refused in one pass.
NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?+|\.\d++)(e[+-]?\d++)?+|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
NOT_A_NUMBER = re.compile("[+-]?nan", re.IGNORECASE)
NO_COMMENTS = "TREC text has no comments: remove the line"
NO_HEADER = "TREC text has no header: remove the line, or separate names and values by commas or tabs"
HEADER = {"q0", "iter", "it", "doc", "passage", "pos", "runid", "runtag", "run_tag", "method", "probability"}
NUMBER_AT = {3: 2, 4: 3, 5: 4, 6: 4}  # which column must be a number, by how many there are
MIXED = "grades are words from the first line on, or numbers in every line"
SHOWN = 60
KEPT = 5


@dataclass(frozen=True)
class Form:
    """The columns of a text, in order; `_` marks those that are not kept. Anything may follow an `open` form.

    With `tabs`, one tab separates two columns, and ids may have blanks within; else any blanks do. With `comments`, a
    line that begins with `#` and cannot be read is left out, as by trec_eval.
    """

    name: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    open: bool = False
    tabs: bool = False
    comments: bool = False

    @property
    def kept(self) -> list[str]:
        """Names of the columns that are kept."""
        return [name for name in self.columns if not name.startswith("_")]

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Type of every column."""
        return {name: pl.Float64 if name in self.numbers else pl.String for name in self.columns}

    @property
    def pattern(self) -> str:
        """Regular expression with one group per column that is kept."""
        if self.tabs:
            column = "[^ \t\r](?:[^\t\r]*[^ \t\r])?"
            groups = [column if name.startswith("_") else f"({column})" for name in self.columns]
            return "^[ \t]*" + " *\t *".join(groups) + "[ \t\r]*$"
        groups = ["[^ \t\r]+" if name.startswith("_") else "([^ \t\r]+)" for name in self.columns]
        end = "(?:[ \t][^\r]*)?[ \t\r]*$" if self.open else "[ \t\r]*$"
        return "^[ \t]*" + "[ \t]+".join(groups) + end

    @property
    def words(self) -> str:
        """The columns as error messages name them."""
        return " ".join(WORDS.get(name, name) for name in self.columns)


WORDS = {
    "_q0": "Q0", "_rank": "rank", "system": "tag", "source": "iteration", "selected_by": "method",
    "propensity": "probability",
}  # fmt: skip
RUN = Form("run", ("query", "_q0", "item", "_rank", "score", "system"), ("score",), open=True)
QRELS = Form("qrels", ("query", "source", "item", "grade"), ("grade",))
SAMPLED = Form("sampled qrels", ("query", "item", "grade", "selected_by", "propensity"), ("grade", "propensity"))


@dataclass(frozen=True)
class Skipped:
    """Lines of one file that a lenient reader skipped: their number, and what is wrong with the first few."""

    path: str
    count: int = 0
    first: tuple[FileError, ...] = ()

    def __add__(self, other: Skipped) -> Skipped:
        return Skipped(self.path, self.count + other.count, (self.first + other.first)[:KEPT])

    def __str__(self) -> str:
        lines = "line" if self.count == 1 else "lines"
        return f"{self.path}: {self.count} {lines} skipped; {'; '.join(str(error) for error in self.first)}"


class SkippedLinesWarning(UserWarning):
    """Warns that a lenient reader skipped lines, if the caller did not ask for the record."""


Report = Callable[[Skipped], None]


def tell(skipped: Skipped, report: Report | None) -> None:
    """Pass the record to `report`, or warn if there is no `report`. Do nothing if no line was skipped."""
    if skipped.count and report is not None:
        report(skipped)
    elif skipped.count:
        warn(str(skipped), SkippedLinesWarning, stacklevel=3)


def shortened(text: str) -> str:
    """Return a text as error messages show it: quoted, at most 60 characters."""
    quoted = repr(text)
    return quoted if len(quoted) <= SHOWN else quoted[: SHOWN - 1] + "…"


# ---- the format, line by line -------------------------------------------------------------------------


def exact(piece: Piece, form: Form, label: str, *, lenient: bool = False) -> tuple[pl.DataFrame, list[int], Skipped]:
    """Return the table, the line of each row, and the skipped lines. This is slow, but its errors are exact."""
    rows: list[tuple[str | float, ...]] = []
    lines: list[int] = []
    skipped = Skipped(label)
    for number, line in enumerate(piece.data.split(b"\n"), piece.line):
        if not line.strip(BLANK):
            continue
        try:
            refuse_cr(line, label, number)
            rows.append(parsed(line, form, label, number))
        except FileError as error:
            if form.comments and line.startswith(b"#"):
                continue
            if not lenient:
                raise
            skipped += Skipped(label, 1, (error,))
        else:
            lines.append(number)
    schema = {name: dtype for name, dtype in form.schema.items() if name in form.kept}
    return pl.DataFrame(rows, schema=schema, orient="row"), lines, skipped


def parsed(line: bytes, form: Form, label: str, number: int) -> tuple[str | float, ...]:
    """Return the columns of one line that are kept, or raise a FileError."""
    if b"\0" in line:
        raise FileError(label, "the file contains binary data", f"expected UTF-8 text: {form.words}", number)
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} of {shortened(line.decode('utf-8', 'replace'))} is not UTF-8"
        raise FileError(label, what, "convert the file: iconv -t UTF-8", number) from None
    width = len(form.columns)
    words = split(text, tabs=form.tabs)
    if len(words) < width or (len(words) > width and (form.tabs or not form.open)) or "" in words:
        what = f"{len(words)} columns{' by tabs' if form.tabs else ''} in {shortened(text.strip())}"
        raise wrong(words, label, what, f"a {form.name} line has {width}: {form.words}", number)
    try:
        return tuple(
            _number(word, name, form, label, number) if name in form.numbers else word
            for word, name in zip(words[:width], form.columns, strict=True)
            if not name.startswith("_")
        )
    except FileError as error:
        raise wrong(words, label, error.problem, error.remedy, number) from None


def wrong(words: list[str], label: str, what: str, remedy: str, number: int | None) -> FileError:
    """Return the error for a line of these words that cannot be read; headers and comments are called by their name."""
    if is_header(words):
        return FileError(label, f"the line is a header: {shortened(' '.join(words))}", NO_HEADER, number)
    return FileError(label, what, NO_COMMENTS if words[0].startswith("#") else remedy, number)


def is_header(words: list[str]) -> bool:
    """Whether most words of a line are names of columns, and none is a number."""
    names = [name for word in words if (name := word.lstrip("#").lower())]
    known = sum(name in COLUMN_NAMES or name in HEADER for name in names)
    return len(names) > 1 and 2 * known > len(names) and not any(map(is_number, names))


def split(text: str, *, tabs: bool) -> list[str]:
    """Return the columns of a line, separated by any blanks, or by one tab each."""
    text = text.strip(" \t\r")
    return [word.strip(" ") for word in text.split("\t")] if tabs else re.split("[ \t]+", text) if text else []


def refuse_cr(line: bytes, label: str, number: int) -> None:
    """Refuse a carriage return within a line: what follows it would be lost."""
    if b"\r" in line.strip(BLANK):
        what = "a carriage return (CR) within the line: the lines may end with CR alone"
        raise FileError(label, what, "convert the line ends: tr '\\r' '\\n'", number)


def _number(word: str, name: str, form: Form, label: str, line: int) -> float:
    what = WORDS.get(name, name)
    if not NUMBER.fullmatch(word):
        remedy = f"a {form.name} line is: {form.words}"
        if form.name == QRELS.name:
            remedy = MIXED if word.lower() in GRADES else f"{EXPECTED}; {remedy}"
        if word.lower().lstrip("+-") == "nan":
            remedy = f"remove the line, because an item needs a {what}"
        raise FileError(label, f"{what} {shortened(word)} is not a number", remedy, line)
    value = float(word)
    if name == "grade" and isinf(value):
        raise FileError(label, f"grade {shortened(word)} is not finite", "give a number", line)
    if name == "propensity" and not 0 < value <= 1:
        remedy = f"a {form.name} line is: {form.words}"
        raise FileError(label, f"probability {shortened(word)} is not in (0, 1]", remedy, line)
    return value


# ---- faster parsers ------------------------------------------------------------------------------------


def regular(data: bytes, form: Form) -> pl.DataFrame | None:
    """Parse a text with exactly one blank (or one tab) between columns by Polars; return None for any other text.

    Columns that are not kept are not parsed. The separators show that these columns exist, are not empty, and that no
    column follows the last: there are as many separators as the rows need, and never two in a row.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    end = data.find(b"\n")
    separator = b"\t" if b"\t" in data[: end if end >= 0 else len(data)] else b" "
    other = b" " if separator == b"\t" else b"\t"
    if (form.tabs and separator != b"\t") or other in data or b"\r" in data or b"\0" in data or data.startswith(BOM):
        return None
    scan = pl.scan_csv(data, separator=separator.decode(), has_header=False, quote_char=None, schema=form.schema)
    try:
        # Polars checks the UTF-8 only of the columns that it keeps
        frame = (scan.select(form.kept) if data.isascii() else scan).collect()
    except (pl.exceptions.PolarsError, OSError):  # OSError: the first bytes look like a compressed file
        return None
    count, doubled = _separators(data, separator[0])
    if doubled or count != (len(form.columns) - 1) * frame.height:
        return None
    # in one chunk: later steps gather rows, which takes three times as long from the five chunks that Polars made
    return _plausible(frame.select(form.kept).rechunk(), form)


def _separators(data: bytes, separator: int) -> tuple[int, bool]:
    """Return the number of separators, and whether two are adjacent, by windows that stay in the cache."""
    text, count, before = np.frombuffer(data, np.uint8), 0, False
    for start in range(0, len(text), WINDOW):
        found = text[start : start + WINDOW] == separator
        count += int(np.count_nonzero(found))
        if (before and found[0]) or (found[1:] & found[:-1]).any():
            return count, True
        before = bool(found[-1])
    return count, False


def ragged(data: bytes, form: Form) -> pl.DataFrame | None:
    """Parse any blanks and CRLF by a regular expression; return None if any line does not match."""
    if b"\0" in data:
        return None
    try:
        # an empty line in front, because Polars takes `x^` for the start of a compressed file
        lines = pl.read_lines(b"\n" + data if data.startswith(b"x") else data)
    except (pl.exceptions.PolarsError, OSError):
        return None
    line = pl.col("line")
    groups = lines.select(line.str.extract_groups(form.pattern).alias("groups")).unnest("groups")
    groups = groups.rename(dict(zip(groups.columns, form.kept, strict=True)))
    unfit = groups["query"].is_null()
    if unfit.any():
        if lines.filter(unfit).select(line.str.strip_chars(" \t\r") != "").to_series().any():
            return None
        groups = groups.filter(~unfit)
    numbers = (pl.col(name).cast(pl.Float64, strict=False) for name in form.numbers)
    return _plausible(groups.with_columns(numbers), form)


def _plausible(frame: pl.DataFrame, form: Form) -> pl.DataFrame | None:
    """Return the frame, or None if it has a value that only the exact reader can judge."""
    if any(column.null_count() for column in frame):
        return None
    for name in form.numbers:
        if frame[name].is_nan().any():
            return None
        if name == "grade" and frame[name].is_infinite().any():
            return None
        if name == "propensity" and not frame[name].is_between(0, 1, closed="right").all():
            return None
    return frame


# ---- tabs or blanks ------------------------------------------------------------------------------------


def separated(source: Source, form: Form, *, blanks: bool = False, lenient: bool = False) -> Form:
    """Return the form, with `tabs` if every line has its number of columns by tabs, and some have blanks within.

    With `blanks`, any blanks separate, as in trec_eval, and there are `comments`. A part of a file (`span`) is
    separated by blanks: one with tabs is not cut. Where ids have blanks within, a line with another number of columns
    is refused: by blanks, the others would be read wrongly.
    """
    if blanks or source.span is not None or b"\t" not in source.first:
        return replace(form, comments=blanks)
    width, spaced, ids = len(form.columns), False, False
    with closing(pieces(source)) as text:
        for piece in text:
            for line in piece.data.split(b"\n") if b" " in piece.data and b"\t" in piece.data else ():
                if (words := _tabbed(line, width)) is not None:
                    spaced, ids = True, ids or any(" " in word for word in words[:-1])
    if not spaced:
        return form
    with closing(pieces(source)) as text:
        for piece in text:
            for number, line in enumerate(piece.data.split(b"\n"), piece.line):
                shown = line.decode("utf-8", "replace")
                words = split(shown, tabs=True)
                if words == [""] or (len(words) == width and "" not in words):
                    continue
                if ids and not lenient:
                    what = f"{len(words)} columns by tabs in {shortened(shown.strip())}"
                    raise wrong(words, source.label, what, f"other lines have {width}, and blanks within ids", number)
                return replace(form, tabs=ids)
    return replace(form, tabs=True)


def _tabbed(line: bytes, width: int | None = None) -> list[str] | None:
    """Return the columns of a line by tabs if some has a blank within, and they are those of a known form."""
    if b" " not in line or b"\t" not in line:
        return None
    text = line.decode("utf-8", "replace")
    words = split(text, tabs=True)
    count = len(words)
    if count not in NUMBER_AT or width not in {None, count} or "" in words or not any(" " in word for word in words):
        return None
    number = words[NUMBER_AT[count]]
    if not is_number(number) and not (count == 4 and number.lower() in GRADES):
        return None
    by_blanks = split(text, tabs=False)  # a run whose tag is a number may have some tabs too
    return None if len(by_blanks) == 6 and is_number(by_blanks[4]) else words


# ---- a whole file -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """The content of a piece of a file: the rows and the skipped lines."""

    frame: pl.DataFrame
    skipped: Skipped
    regular: bool  # whether `regular` could parse it


PATIENCE = 3  # after this many pieces that `regular` refuses, it is not tried again; an empty line costs only one piece


def part_of(piece: Piece, form: Form, label: str, *, lenient: bool, refusals: int) -> Part:
    """Parse a piece by the fastest correct method; `refusals` is the number of pieces that `regular` has refused."""
    data = piece.data
    while b"\n\n" in data:  # millions of empty lines would become millions of rows
        data = data.replace(b"\n\n", b"\n")
    fast = regular(data, form) if refusals < PATIENCE else None
    frame, left_out = ragged(data, form) if fast is None else fast, Skipped(label)
    if frame is None:
        frame, _, left_out = exact(piece, form, label, lenient=lenient)
    return Part(frame, left_out, regular=fast is not None)


def parts(source: Source, form: Form, *, lenient: bool = False, size: int = PIECE) -> Generator[Part]:
    """Yield the table of a text piece by piece; a piece ends with a query if the file is grouped by query."""
    rows, refusals, skipped = 0, 0, 0
    with closing(pieces(source, size)) as text:
        for piece in text:
            part = part_of(piece, form, source.label, lenient=lenient, refusals=refusals)
            rows, skipped = rows + part.frame.height, skipped + part.skipped.count
            refusals += not part.regular
            yield part
    refuse_empty(source, form, rows, skipped)


def refuse_empty(source: Source, form: Form, rows: int, skipped: int) -> None:
    """Refuse a file without any usable line; it is an error, not an empty table."""
    if not rows:
        remedy = f"expected lines of {form.words}"
        raise FileError(source.label, "no line can be read" if skipped else "the file has no lines", remedy)


def whole(source: Source, form: Form, *, lenient: bool) -> tuple[pl.DataFrame, Skipped]:
    """Return the table of a whole file, and the skipped lines."""
    frames: list[pl.DataFrame] = []
    skipped = Skipped(source.label)
    found = parts(source, form, lenient=lenient)
    with closing(ahead(found) if source.whole > PIECE else found) as each:  # a thread pays off for large files only
        for part in each:
            frames.append(part.frame)
            skipped += part.skipped
    return pl.concat(frames, rechunk=True), skipped


def numbered(text: Iterable[Piece], form: Form, label: str) -> tuple[pl.DataFrame, list[int]]:
    """Return the table of a text and the line of each row. This is slow; it serves to locate errors."""
    frames, lines, _ = zip(*(exact(piece, form, label, lenient=True) for piece in text), strict=True)
    return pl.concat(frames), [number for numbers in lines for number in numbers]


def distinct(
    text: Iterable[Piece], form: Form, label: str, key: Iterable[str], what: str
) -> tuple[pl.DataFrame, list[int], Skipped]:
    """Return the first row of each key, the lines of these rows, and a record of the others."""
    frame, lines = numbered(text, form, label)
    first = frame.select(pl.struct(*key).is_first_distinct()).to_series()
    others = (~first).arg_true().to_list()
    errors = tuple(FileError(label, f"item {frame['item'][row]!r} {what}", "", lines[row]) for row in others[:KEPT])
    return frame.filter(first), [lines[row] for row in first.arg_true()], Skipped(label, len(others), errors)


def line_of_repeat(source: Source, form: Form, key: dict[str, str]) -> int | None:
    """Return the line on which these values occur for the second time."""
    seen, rarest = False, max(key.values(), key=len).encode()
    places = [form.kept.index(name) for name in key]
    for piece in pieces(source):
        for number, line in _lines_with(piece, rarest):
            with suppress(FileError):
                row = parsed(line, form, source.label, number)
                if [row[place] for place in places] == list(key.values()):
                    if seen:
                        return number
                    seen = True
    return None


def _lines_with(piece: Piece, word: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that contain a word, with their numbers."""
    number, counted, at = piece.line, 0, piece.data.find(word)
    while at >= 0:
        begin, end = piece.data.rfind(b"\n", 0, at) + 1, piece.data.find(b"\n", at)
        line = piece.data[begin : end if end >= 0 else len(piece.data)]
        number, counted = number + piece.data.count(b"\n", counted, begin), begin
        yield number, line
        at = piece.data.find(word, end) if end >= 0 else -1


def words_of(line: bytes, *, tabs: bool = False) -> list[str]:
    """Return the columns of a line; none if it is empty."""
    text = line.decode("utf-8", "replace")
    return split(text, tabs=tabs) if text.strip(" \t\r") else []


def telling(lines: Iterable[bytes], *, tabs: bool = False) -> list[list[str]]:
    """Return the columns of the lines by which a text is recognised.

    Headers are left out, and lines that begin with `#` and have not as many words as the first other line: these may be
    comments. The reader refuses both, or skips them if it is lenient.
    """
    rows = [words for line in lines if (words := words_of(line, tabs=tabs)) and not is_header(words)]
    width = next((len(words) for words in rows if not words[0].startswith("#")), None)
    return [words for words in rows if width in {None, len(words)} or not words[0].startswith("#")]


def first_columns(head: bytes, *, tabs: bool = False) -> list[str] | None:
    """Return the columns of the first line that is neither a header nor begins with `#`, or else of the first."""
    found = None
    for line in head.split(b"\n"):
        words = words_of(line, tabs=tabs)
        if words and not words[0].startswith("#") and not is_header(words):
            return words
        found = found or words or None
    return found


def columns_by_tabs(head: bytes) -> int:
    """Return how many columns the first lines have by tabs, if there are blanks within ids; else 0."""
    for line in head.split(b"\n") if b" " in head and b"\t" in head else ():
        words = _tabbed(line)
        if words is not None and any(" " in word for word in words[:-1]):
            return len(words)
    return 0


def is_number(word: str) -> bool:
    """Whether the word is a number. NaN counts, although readers refuse it."""
    return NUMBER.fullmatch(word) is not None or NOT_A_NUMBER.fullmatch(word) is not None


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Read trec_eval's z-scores of a reference set of runs: {(query, measure): (mean, standard deviation)}."""
    try:
        with raw(source_of(path)) as (stream, _):
            text = stream.read().decode()
    except UnicodeDecodeError as error:
        raise FileError(path, f"cannot be read: {error}", "give a file of z-scores") from None
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        words = line.split()
        try:
            query, label, mean, deviation = words
            found[query, label] = float(mean), float(deviation)
        except ValueError:
            raise FileError(
                path, f"{line[:60]!r} is not a z-score", "expected: query measure mean deviation", number
            ) from None
    if not found:
        raise FileError(path, "the file has no lines", "expected lines of query measure mean deviation")
    return found
