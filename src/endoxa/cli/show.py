"""How results, progress and errors look on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endoxa.errors import EndoxaError

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from endoxa.tables import Scores

NAMES = {"system", "baseline", "group", "query", "item", "by", "measure", "other"}  # columns that may be long
PATIENCE = 1.0  # seconds after which work gets a progress bar


def fail(error: EndoxaError) -> int:
    """Print an error for people; the exit code."""
    print(f"endoxa: {error}", file=sys.stderr)
    return 1


def note(text: str) -> None:
    """A remark beside the result; to stderr, so that the result can be piped."""
    print(text, file=sys.stderr)


def emit(text: str, to: str | None) -> None:
    """Print the result, or write it to a file."""
    if to is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from endoxa.io.write import replacing

    with replacing(Path(to)) as part:
        part.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    note(f"wrote {to}")


def need_form(form: str, to: str | None) -> None:
    """A table is for the terminal; Parquet is for a file."""
    import typer

    if form == "table" and to is not None:
        raise typer.BadParameter("--to needs a form: -o tsv, jsonl, latex, markdown …")
    if form == "parquet" and to is None:
        raise typer.BadParameter("-o parquet needs --to FILE")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A sign on stderr that work goes on whose length is not known beforehand."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def progress_bar(total: int = 1) -> Iterator[Any]:
    """A bar on stderr that appears once the work has taken a second; yields progress(name, done, whole)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
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
    """A bar where there is a terminal; else, after a second, a line on stderr per stage: a log shows what goes on."""
    with progress_bar(total) as bar:
        if bar is not None:
            yield bar
            return
        told: list[str] = []
        begun = time.monotonic()

        def progress(name: str, done: int, whole: int) -> None:
            if name not in told and done < whole and time.monotonic() - begun > PATIENCE:
                told.append(name)
                note(f"{Path(name).name} …")

        yield progress


def console(width: int | None = None) -> Any:
    """A Rich console on stdout; wide when the output is not a terminal, so that nothing is cut."""
    from rich.console import Console

    return Console(width=width if width is not None else None if sys.stdout.isatty() else 200)


def wrapped(text: str) -> str:
    """Text broken at the width of the terminal; as it is where the output is none."""
    import shutil
    import textwrap

    if not sys.stdout.isatty():
        return text
    return textwrap.fill(text, max(40, shutil.get_terminal_size().columns), subsequent_indent="  ")


def number(value: float | None, whole: bool = False) -> str:
    """Four decimals; a dash where there is no value."""
    if value is None or value != value:  # noqa: PLR0124
        return "–"
    return f"{value:.0f}" if whole else f"{value:.4f}"


def interval(lo: float | None, hi: float | None) -> str:
    """[lo, hi] with three decimals, or nothing."""
    if lo is None or hi is None or lo != lo:  # noqa: PLR0124
        return ""
    return f"[{lo:.3f}, {hi:.3f}]"


def summary_table(summary: pl.DataFrame, lower: Sequence[str] = (), width: int = 200) -> Table:
    """Systems down and measures across where that fits; else a row for each of their pairs."""
    from rich.table import Table

    systems = summary["system"].unique(maintain_order=True).to_list()
    measures = summary["measure"].unique(maintain_order=True).to_list()
    cells = {(row["system"], row["measure"]): row for row in summary.iter_rows(named=True)}
    counts = {row["measure"] for row in summary.iter_rows(named=True) if row["se"] is None}

    def cell(system: str, measure: str) -> str:
        row = cells.get((system, measure))
        if row is None:
            return "–"
        return f"{number(row['value'], measure in counts)} [dim]{interval(row['lo'], row['hi'])}[/dim]".strip()

    table = Table(box=None, header_style="bold", pad_edge=False)
    if max(map(len, systems)) + 23 * len(measures) > width and len(systems) > 1 and len(measures) > 1:
        return frame_table(_long(summary))
    if len(systems) == 1 or len(measures) > 6:
        table.add_column("measure")
        for system in systems:
            table.add_column(plain(system), justify="left", overflow="fold")
        for measure in measures:
            table.add_row(plain(measure), *(cell(system, measure) for system in systems))
        return table
    first = measures[0]
    sign = 1 if first in lower else -1
    ordered = sorted(systems, key=lambda s: (_missing(cells, s, first), sign * (cells[s, first]["value"] or 0)))
    table.add_column("system", overflow="fold")
    for measure in measures:
        table.add_column(plain(measure), no_wrap=True)
    for system in ordered:
        table.add_row(plain(system), *(cell(system, measure) for measure in measures))
    return table


def _long(summary: pl.DataFrame) -> pl.DataFrame:
    """One row per measure and system."""
    import polars as pl

    ends = [interval(lo, hi) for lo, hi in summary.select("lo", "hi").iter_rows()]
    order = summary["measure"].unique(maintain_order=True).to_list()
    place = summary["measure"].replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    long = summary.select("measure", "system", "value", pl.Series("interval", ends, dtype=pl.String), "queries")
    return long.sort(place, "value", descending=[False, True], nulls_last=True, maintain_order=True)


def _missing(cells: dict[tuple[str, str], Any], system: str, measure: str) -> bool:
    row = cells.get((system, measure))
    return row is None or row["value"] is None or row["value"] != row["value"]


def plain(text: str) -> str:
    """Text that Rich prints as it is."""
    from rich.markup import escape

    return escape(text)


def frame_table(frame: pl.DataFrame, whole: Sequence[str] = ()) -> Table:
    """Any small frame as a table. Headings break at blanks, names anywhere; numbers and intervals stay whole."""
    from rich.table import Table

    def cell(name: str, value: Any) -> str:
        return number(value, name in whole) if isinstance(value, float) else "" if value is None else str(value)

    rows = [[cell(name, value) for name, value in row.items()] for row in frame.iter_rows(named=True)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, (name, dtype) in enumerate(frame.schema.items()):
        widest = max((len(row[place]) for row in rows), default=1)
        table.add_column(
            name.replace("_", " "),
            justify="right" if dtype.is_numeric() else "left",
            overflow="fold",
            min_width=min(widest, 6) if name in NAMES else widest,
            no_wrap=name not in NAMES and " " not in name.replace("_", " "),
        )
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def tidy(frame: pl.DataFrame, *but: str) -> pl.DataFrame:
    """Without columns that are empty, and without those named."""
    kept = [name for name in frame.columns if name not in but]
    return frame.select(name for name in kept if frame[name].null_count() < max(frame.height, 1))


def policies(scores: Scores, *, confidence: float, interval_kind: str = "bootstrap-t") -> list[str]:
    """The lines that say under which choices the numbers were made."""
    lines = [f"{len(scores.queries):,} queries; intervals: {confidence:.0%} {interval_kind} over queries"]
    return lines + scores.policy.lines()
