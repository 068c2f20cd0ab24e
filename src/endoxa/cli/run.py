"""endoxa images run: run the indexed systems over queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.images.command("run")(run)


def run(
    corpus: g.Where,
    engines: g.Engines = None,
    queries: Annotated[
        list[str] | None,
        typer.Option("--query", "-q", metavar="ITEM|FILE", help="A query: an item, or a file; may be repeated."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", help="Draw N pictures as queries. Default: every picture.", min=1)
    ] = None,
    texts: Annotated[
        str | None, typer.Option("--texts", metavar="FILE", help="Queries of words, a line each: name, tab, words.")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="Number of items returned for a query.", min=1)] = 100,
    itself: Annotated[bool, typer.Option("--itself", help="Let a query retrieve itself.")] = False,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder of the runs, one file per system.")] = Path(
        "runs"
    ),
    without: g.Without = None,
    home: g.Home = None,
    seed: o.Seed = 0,
) -> None:
    """Run the indexed systems over queries. Writes DIR/SYSTEM.run and DIR/costs.csv.

    [bold]Examples[/bold]

      endoxa images run photos --sample 60 --to runs && endoxa eval runs/*.run

      endoxa images run photos -q holiday/beach -q ~/new.jpg -e histograms
    """
    from endoxa.evaluations.contest import vote_depth
    from endoxa.verbs.run import run as run_systems

    with output.stages(2) as progress:
        ran = run_systems(
            corpus, engines or None, queries=queries or None, sample=sample, texts=texts, depth=depth, itself=itself,
            to=to, home=home, without=without or None, seed=seed, progress=progress,
        )  # fmt: skip
    systems = ran.run.systems
    older = sorted({path.stem for path in to.glob("*.run")} - set(systems))
    paths = [str(to / f"{system}.run") for system in systems] if older else [f"{to}/*.run"]
    count = "1 run" if len(systems) == 1 else f"{len(systems)} runs"
    depths = f"--depth {vote_depth(ran.pictures)}"
    are = "is" if len(systems) == 1 else "are"
    output.say(f"{count} {are} in {to} (evaluate without labels: endoxa eval {' '.join(paths)} {depths}).")
    g.print_costs(ran.costs.frame)
    for note in ran.notes:
        output.note(f"! {note}")
    if older:
        output.note(f"! {to} also holds older runs: {', '.join(older)}")
