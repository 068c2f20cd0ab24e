"""endoxa images contest: from a corpus to a page in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import command_line, derived
from endoxa.declared import option
from endoxa.verbs.parameters import Seed, Worlds

if TYPE_CHECKING:
    import polars as pl

    from endoxa.evaluations.cutoffs import Cutoffs
    from endoxa.reports.pages.contest import Contest


def contest(
    corpus: g.Where, engines: g.Engines = None, settings: g.Settings = None, vectors: g.Vectors = None,
    without: g.Without = None,
    sample: Annotated[
        int | None,
        option("Number of queries that are drawn. Default: 120; of symbols all.", least=2),
    ] = None,
    cutoffs: Annotated[
        int | None,
        option(
            "Set consensus beside folders at cut-offs 1 to K. Default: 10 for symbols, else 0 (no cut-offs).",
            metavar="K", least=0,
        ),
    ] = None,
    worlds: Worlds = 400, title: Annotated[str, option("Heading of the page.")] = "",
    to: Annotated[Path, option("The page to write.", metavar="PAGE.html")] = Path("contest.html"),
    home: g.Home = None, workers: g.Workers = None, seed: Seed = 0,
) -> None:  # fmt: skip
    """Index the pictures, run every system, judge by consensus and by folders, and write a page with a gallery.

    The folders also answer as judges would: the page shows how many labels settle which system is best.

    Examples:
        endoxa images contest photos --to contest.html
        endoxa images contest symbols
    """
    output.need_page(to)
    g.announce_home(corpus, home)
    from endoxa.verbs.contest import contest as verb

    with output.stages(8) as progress:
        result, _ = verb(
            corpus, engines or None, home=home, without=without or None, sample=sample, cutoffs=cutoffs,
            worlds=worlds, title=title, command=command_line(), to=to, seed=seed, workers=workers,
            settings=g.settings_of(settings), vectors=g.vectors_of(vectors), progress=progress,
        )  # fmt: skip
    print_contest(result, to)


def print_contest(result: Contest, page: Path) -> None:
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
    output.tell(f"The page: {page.resolve().as_uri()}")


def _print_cutoffs(found: Cutoffs) -> None:
    """Print precision and recall at every cut-off, by folders and by consensus."""
    from endoxa.reports.pages.contest_cutoffs import missed, tables

    for measure, table in tables(found).items():
        output.show([f"\n[bold]{measure} at cut-off k, by folders / by consensus[/bold]"])
        output.show_frame(table)
    output.tell(missed(found))


def _standings(frame: pl.DataFrame) -> pl.DataFrame:
    """Systems down, ways across: mean, interval and place."""
    import polars as pl

    cells: list[Any] = [
        f"{value:.3f} [{lo:.3f}, {hi:.3f}] #{place}"
        for value, lo, hi, place in frame.select("value", "lo", "hi", "place").iter_rows()
    ]
    return frame.with_columns(pl.Series("cell", cells)).pivot("way", index="system", values="cell", maintain_order=True)


COMMANDS = (derived("contest", contest, needs=("images",)),)
