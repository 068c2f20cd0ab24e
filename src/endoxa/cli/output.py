"""Where results, progress and errors go: standard output, standard error, a file."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from endoxa.cli import loudness
from endoxa.declared import Declared, Role, option
from endoxa.errors import CallError

# Control characters but tab and line feed, and marks that reverse the direction of text; not the escapes of colours.
CONTROLS = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
WIDE = 200  # columns of a pipe, so that nothing is cut
NARROW = 80  # columns of a summary that is piped
PATIENCE = 1.0  # seconds after which work gets a progress bar


class Shown:
    """A terminal that shows control characters of others instead of obeying them; colours pass."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text; what would move the cursor or name the window becomes visible, as \\x1b."""
        self.stream.write(CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard_terminal() -> None:
    """Names in files may hold escapes; a pipe gets them as they are."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name).isatty():
            setattr(sys, name, Shown(getattr(sys, name)))


def _moving() -> Any:
    """A Rich console on stderr for bars, which move the cursor."""
    from rich.console import Console

    return Console(file=getattr(sys.stderr, "stream", sys.stderr))


def say(answer: str) -> None:
    """Print the answer: the first line of every command that prints no data, and all of it with -q."""
    print(wrapped(answer), flush=True)


def tell(*lines: str) -> None:
    """Print further lines, unless only the answer is wanted."""
    if not loudness.is_quiet():
        for line in lines:
            print(wrapped(line), flush=True)


def prompt(text: str) -> None:
    """Print what a person is asked, whatever else is said."""
    print(text, flush=True)


def note(text: str) -> None:
    """A remark beside the result, unless only the answer is wanted; to stderr, so that the result can be piped."""
    if not loudness.is_quiet():
        complain(text)


def complain(text: str) -> None:
    """What went wrong, to stderr."""
    print(wrapped(text, sys.stderr), file=sys.stderr)


def emit(text: str, to: str | None) -> None:
    """Print the result, or write it to a file."""
    if to is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from endoxa.io.write import replacing

    with replacing(Path(to)) as part:
        part.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    note(f"wrote {to}")


def write_to(result: Any, to: Any) -> None:
    """Write a table or an evaluation in the format that the suffix names."""
    from endoxa.verbs.write import write

    write(result, to)
    note(f"wrote {to}")


def refuse_own_input(words: list[str]) -> None:
    """A result must not replace a file that it is made of; `decide` adds to the labels that it is given."""
    parts = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    places = [at + 1 for at, word in enumerate(parts[:-1]) if word == "--to"]
    for to in (parts[at] for at in places if "decide" not in parts):
        if any(_is_same_file(to, word) for at, word in enumerate(parts) if at not in places):
            raise CallError(f"--to {to} would replace a file that is read", remedy="give another name")


def _is_same_file(one: str, other: str) -> bool:
    try:
        return Path(one).is_file() and Path(one).samefile(other)
    except (OSError, ValueError):  # what is not there, and a NUL, which is in no name
        return False


SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet", ".md": "markdown",
    ".tex": "latex", ".html": "html", ".htm": "html", ".svg": "svg",
}  # fmt: skip
TO_FILES = {"parquet", "html", "svg"}


def need_form(form: str, to: str | None, forms: Iterable[str]) -> str:
    """The form of the output: that of -o, else that of the suffix of the file. A table is for the terminal."""
    if form not in forms:
        raise CallError(f"-o is one of {', '.join(forms)}, not {form!r}")
    if form == "table" and to is not None:
        form = SUFFIXES.get(Path(to).suffix.lower(), "")
        if form not in forms:
            known = ", ".join(suffix for suffix, named in SUFFIXES.items() if named in forms)
            raise CallError(f"--to takes the form from the suffix ({known}), not from {to!r}; or say -o")
    if form in TO_FILES and to is None:
        raise CallError(f"-o {form} needs --to FILE")
    return form


def form_of(*forms: str, to_file: bool = True) -> Declared:
    """-o, with the forms of a command; the first is usual. `to_file`: whether --to names a file of this form."""
    role: Role = "form" if to_file else "option"
    return Declared("Form of the output.", ("-o", "--output"), "|".join(forms), forms, role=role)


To = Annotated[str | None, option("Write there, not to the terminal; the suffix chooses the form.", metavar="FILE")]


def need_page(to: str | Path) -> None:
    """A page is a file for a browser; said before the work, not after it."""
    if Path(to).suffix.lower() not in {".html", ".htm"}:
        raise CallError(f"--to names a page (.html), not {str(to)!r}")


def need_judgments(reference: Any, settings: dict[str, Any]) -> None:
    """trec_eval's lines are for judgments and preferences only."""
    kinds = set() if reference is None else set(reference.kinds.values())
    judged = kinds and kinds <= {"qrels", "sampled", "opinions", "preferences", "both"} and "model" not in settings
    if not judged:
        raise CallError("trec_eval's lines are for judgments; without them use -o tsv or jsonl")


def skipped(record: Any) -> None:
    """What a lenient reader passed over."""
    note(f"endoxa: {record}")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A sign on stderr that work goes on whose length is not known beforehand."""
    if not sys.stderr.isatty():
        yield
        return
    with _moving().status(what):
        yield


@contextmanager
def progress_bar(total: int = 1) -> Iterator[Any]:
    """A bar on stderr that appears once the work has taken a second; yields progress(name, done, whole)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
        console=_moving(), transient=True,
    )  # fmt: skip
    task = bar.add_task("", total=float(total))
    begun = time.monotonic()
    names: list[str] = []

    def progress(name: str, done: int, whole: int) -> None:
        if name not in names:
            names.append(name)
        if not bar.live.is_started and time.monotonic() - begun > PATIENCE:
            bar.start()
        share = done / whole if whole else 1.0
        bar.update(task, completed=len(names) - 1 + share, description=Path(name).name)

    try:
        yield progress
    finally:
        bar.stop()


@contextmanager
def stages(total: int = 1) -> Iterator[Any]:
    """A bar on a terminal. Elsewhere nothing, or with -v a line on stderr per stage that begins after a second."""
    with progress_bar(total) as bar:
        if bar is not None:
            yield bar
            return
        told: list[str] = []
        begun = time.monotonic()

        def progress(name: str, done: int, whole: int) -> None:
            if loudness.is_full() and name not in told and done < whole and time.monotonic() - begun > PATIENCE:
                told.append(name)
                note(f"{Path(name).name} …")

        yield progress


def console(width: int | None = None) -> Any:
    """A Rich console on stdout; wide when the output is not a terminal, so that nothing is cut."""
    from rich.console import Console

    return Console(width=width if width is not None else None if sys.stdout.isatty() else WIDE)


def width() -> int:
    """How wide a table may be."""
    return int(console().width) if sys.stdout.isatty() else WIDE


def wrapped(text: str, stream: Any = None) -> str:
    """Text whose lines are broken at the width of the terminal, between words; as it is where the stream is none."""
    if not (stream or sys.stdout).isatty():
        return text
    import shutil
    import textwrap

    columns = max(40, shutil.get_terminal_size().columns)
    fill = textwrap.TextWrapper(columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(line if len(line) <= columns else fill.fill(line) for line in text.split("\n"))


def show(parts: Iterable[Any], *, narrow: bool = False) -> None:
    """Print tables with Rich, and lines of text broken at the width of the terminal; a pipe gets them unbroken."""
    if loudness.is_quiet():
        return
    from endoxa.reports.sheets import Sheet, unmarked

    for part in parts:
        if not sys.stdout.isatty() and not narrow:
            text = unmarked(part) if isinstance(part, str) else part.text(WIDE) if isinstance(part, Sheet) else None
            if text is not None:
                print(text)
                continue
        screen = console(NARROW if narrow and not sys.stdout.isatty() else None)
        if isinstance(part, Sheet):
            screen.print(part.rich())
        elif isinstance(part, str):
            for line in part.split("\n"):
                # Rich would break a long address in the middle.
                screen.print(wrapped(line), highlight=False, soft_wrap=sys.stdout.isatty())
        else:
            screen.print(part)


def evaluation(result: Any, form: str, to: str | None, *, per_query: bool = False, summary: bool = True) -> None:
    """Print or write an evaluation in the form asked for; where the output is data, the remarks go to stderr."""

    from endoxa.reports import terminal

    if per_query and not terminal.has_queries(result):
        raise CallError(f"-q: an evaluation against {result.kind} has no values per query")
    if form == "table" or to is not None:
        say(result.sentences[0])
    if form == "table":
        tell("")
        show(terminal.parts(result, width=width(), per_query=per_query, summary=summary, full=loudness.is_full()))
        return
    if form == "parquet":
        write_to(result.summary if result.scores is None else result.scores, to)
    elif form == "html" or (form == "json" and to is not None):
        write_to(result, to)
    elif form in {"csv", "json"}:
        emit(_rows(terminal.frame_of(result, per_query=per_query), form), to)
    else:
        emit(terminal.as_text(result, form, per_query=per_query), to)  # type: ignore[arg-type]
    for line in terminal.remarks(result, full=loudness.is_full()):
        note(line)


def trec_lines(result: Any, form: str, to: str | None, *, per_query: bool, summary: bool, zscores: str | None) -> None:
    """Print trec_eval's own lines."""

    from endoxa.io.trec_text import read_zscores
    from endoxa.reports.trec_lines import lines

    if form != "trec":
        raise CallError("z-scores are printed in trec_eval's form: add -o trec")
    reference = None if zscores is None else read_zscores(zscores)
    emit("\n".join(lines(result.scores, result.wanted, per_query=per_query, summary=summary, zscores=reference)), to)


def comparison(result: Any, form: str, to: str | None) -> None:
    """Print or write the pairs of an evaluation."""
    from endoxa.reports import terminal
    from endoxa.reports.papers import paper_table
    from endoxa.verbs.compare import compare

    pairs = compare(result)
    if form == "table" or to is not None:
        say(result.sentences[0])
    if form == "table":
        tell("")
        show(terminal.comparison_parts(result, width=width(), full=loudness.is_full()))
    elif form == "html" and to is not None:
        write_to(result, to)
    elif form in {"latex", "markdown"}:
        emit(paper_table(result, form, intervals=False), to)  # type: ignore[arg-type]
        for line in terminal.comparison_remarks(result, full=loudness.is_full()):
            note(line)
    else:
        table(pairs, form, to, terminal.comparison_remarks(result, full=loudness.is_full()))


def table(
    result: Any,
    form: str,
    to: str | None,
    remarks: Iterable[object] = (),
    whole: tuple[str, ...] = (),
    answer: str = "",
) -> None:
    """Print or write a table or a frame, after the answer unless standard output is data; remarks go to stderr."""
    import polars as pl

    from endoxa.reports import terminal
    from endoxa.reports.text import render

    frame = result if isinstance(result, pl.DataFrame) else result.frame
    if answer and (form == "table" or to is not None):
        say(answer)
    if form == "table":
        show([terminal.frame_table(terminal.tidy(frame), whole, width())])
    elif form == "parquet":
        write_to(result, to)
    elif form in {"csv", "json"}:
        emit(_rows(frame, form), to)
    else:
        emit(render(terminal.tidy(frame) if frame is not result else frame, form), to)  # type: ignore[arg-type]
    for line in remarks:
        note(str(line))


def _rows(frame: Any, form: str) -> str:
    """A frame as CSV that a spreadsheet may open, or as a list of rows in JSON, which has no NaN."""
    if form == "json":
        import json

        from endoxa.tables.checks import finite

        return json.dumps(finite(frame.to_dicts()), ensure_ascii=False, indent=1)
    from endoxa.io.spreadsheets import escaped

    return str(escaped(frame).write_csv())


def head(frame: Any, remedy: str, rows: int = 20) -> None:
    """Print the first rows of a frame, and how to get the others."""
    from endoxa.reports import terminal

    show([terminal.frame_table(terminal.tidy(frame).head(rows), width=width())])
    if frame.height > rows:
        tell(f"… {frame.height - rows:,} more rows; {remedy} writes them all")


def frame_of(heads: list[str], lines: Iterable[Iterable[Any]]) -> Any:
    """The cells of a table of a page as a frame of text."""
    import polars as pl

    rows = [[f"{cell.text} {cell.small}".strip() for cell in line] for line in lines]
    return pl.DataFrame(rows, schema=heads, orient="row")


def tell_page(page: str | Path | None) -> None:
    """Print the address of a page, if one was written."""
    if page is not None:
        tell(f"The page: {Path(page).resolve().as_uri()}")


def show_frame(frame: Any) -> None:
    """Print any small frame as a table."""
    from endoxa.reports import terminal

    show([terminal.frame_table(frame, width=width())])
