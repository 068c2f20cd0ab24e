"""endoxa images contest: from a corpus to a page in one command."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.contest import contest

if TYPE_CHECKING:
    import polars as pl

    from endoxa.evaluations.cutoffs import Cutoffs
    from endoxa.reports.pages.contest import Contest
    from endoxa.tables import Run


def print_contest(result: Contest, page: str | Path) -> None:
    """Print what labels make of the consensus, the verdicts, and the address of the page."""
    from endoxa.reports.pages.contest import answer, doubt

    verdicts = result.verdicts
    output.say(answer(result))
    output.tell(*filter(None, [doubt(verdicts)]))
    output.show([f"\n[bold]{result.title}: {verdicts.measure}[/bold]"])
    output.show_frame(_standings(verdicts.standings))
    output.tell(*(f"{way}: {meaning}" for way, meaning in result.meanings.items()))
    output.tell(*(f"Kendall's tau, {a} and {b}: {tau:.2f}" for a, b, tau in verdicts.agreement.iter_rows()))
    if result.cutoffs is not None:
        _print_cutoffs(result.cutoffs)
    output.tell("")
    further = len(result.warnings) - g.NAMED
    more = [f"and {further:,} more, on the page"] if further > 0 else []
    output.tell(*(f"! {remark}" for remark in (*result.warnings[: g.NAMED], *more, *result.remarks)))
    output.tell_page(page)


def _print_cutoffs(found: Cutoffs) -> None:
    """Print precision, recall and F at every cut-off, by folders and by consensus, and F where all three are one."""
    from endoxa.formatting import capitalised
    from endoxa.reports.pages.contest_cutoffs import even, even_tau, missed, tables

    for measure, table in tables(found).items():
        output.show([f"\n[bold]{capitalised(measure)} at cut-off k, by folders / by consensus[/bold]"])
        output.show_frame(table)
    output.show(["\n[bold]F at the cut-off of R-precision[/bold]"])
    output.show_frame(even(found))
    output.tell(even_tau(found))
    output.tell(missed(found))


def _standings(frame: pl.DataFrame) -> pl.DataFrame:
    """Systems down, ways across: mean, interval and place. A consensus has no interval."""
    import polars as pl

    intervals = ["" if isnan(lo) else f" [{lo:.3f}, {hi:.3f}]" for lo, hi in frame.select("lo", "hi").iter_rows()]
    cells: list[Any] = [
        f"{value:.3f}{interval} #{place}"
        for (value, place), interval in zip(frame.select("value", "place").iter_rows(), intervals, strict=True)
    ]
    return frame.with_columns(pl.Series("cell", cells)).pivot("way", index="system", values="cell", maintain_order=True)


def need_page(values: dict[str, Any]) -> None:
    """The page is one; where an index will be kept."""
    output.need_page(values["to"])
    g.announced(values)


def print_result(result: tuple[Contest, Run], *, to: str) -> None:
    """Print the contest."""
    print_contest(result[0], to)


COMMANDS = (
    g.pictured(
        "contest", contest, print_result, stages=8, before=need_page, defaults={"to": "contest.html"},
        more="The folders also answer as judges would: the page shows how many labels settle which system is best.",
    ),
)  # fmt: skip
