"""endoxa images contest: from a corpus to a page in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output

if TYPE_CHECKING:
    import polars as pl

    from endoxa.reports.pages.contest import Contest


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.images.command("contest")(contest)


def contest(
    corpus: g.Where, engines: g.Engines = None, settings: g.Settings = None, vectors: g.Vectors = None,
    without: g.Without = None,
    sample: Annotated[int, typer.Option("--sample", help="Number of queries that are drawn.", min=2)] = 120,
    worlds: o.Worlds = 400, title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "",
    to: Annotated[Path, typer.Option("--to", metavar="PAGE.html", help="The page to write.")] = Path("contest.html"),
    home: g.Home = None, workers: g.Workers = None, seed: o.Seed = 0,
) -> None:  # fmt: skip
    """Index the pictures, run every system, judge by consensus and by folders, and write a page with a gallery.

    The folders also answer as judges would: the page shows how many labels settle which system is best.

    [bold]Examples[/bold]

      endoxa images contest photos --to contest.html
    """
    g.need_pictures()
    from endoxa.verbs.contest import contest as verb

    with output.stages(8) as progress:
        result, _ = verb(
            corpus, engines or None, home=home, without=without or None, sample=sample, worlds=worlds, title=title,
            command=o.command_line(), to=to, seed=seed, workers=workers, settings=g.settings_of(settings),
            vectors=g.vectors_of(vectors), progress=progress,
        )  # fmt: skip
    print_contest(result, to)


def print_contest(result: Contest, page: Path) -> None:
    """Print what labels make of the consensus, the verdicts, and the address of the page."""
    from endoxa.reports.pages.contest import doubt, turn

    console = output.console()
    verdicts = result.verdicts
    print()
    for sentence in (turn(result), doubt(verdicts)):
        if sentence:
            print(output.wrapped(sentence))
    console.print(f"\n[bold]{result.title}: {verdicts.measure}[/bold]")
    output.show_frame(_standings(verdicts.standings))
    for way, meaning in result.meanings.items():
        print(output.wrapped(f"{way}: {meaning}"))
    for a, b, tau in verdicts.agreement.iter_rows():
        print(f"Kendall's tau, {a} and {b}: {tau:.2f}")
    print()
    further = len(result.warnings) - g.NAMED
    more = [f"and {further:,} more, on the page"] if further > 0 else []
    for remark in (*result.warnings[: g.NAMED], *more, *result.remarks):
        print(output.wrapped(f"! {remark}"))
    print(f"The page: {page.resolve().as_uri()}")


def _standings(frame: pl.DataFrame) -> pl.DataFrame:
    """Systems down, ways across: mean, interval and place."""
    import polars as pl

    cells: list[Any] = [
        f"{value:.3f} [{lo:.3f}, {hi:.3f}] #{place}"
        for value, lo, hi, place in frame.select("value", "lo", "hi", "place").iter_rows()
    ]
    return frame.with_columns(pl.Series("cell", cells)).pivot("way", index="system", values="cell", maintain_order=True)
