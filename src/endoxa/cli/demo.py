"""endoxa demo: the whole way on a collection that it makes itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import show

if TYPE_CHECKING:
    import polars as pl

    from endoxa.tables import Run


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("demo")(demo)


def demo(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the files go.")] = Path("demo"),
    seed: o.Seed = 1,
) -> None:
    """Make a small collection (six systems, three assessors), evaluate it with and without judgments, write two pages;
    and the pictures of a study to try.

    [bold]Examples[/bold]

      endoxa demo --to demo
    """
    import numpy as np
    import polars as pl

    from endoxa import verbs
    from endoxa.examples import ITEMS, collection
    from endoxa.tables import Run

    run, opinions = collection(rng=np.random.default_rng(seed))
    (to / "runs").mkdir(parents=True, exist_ok=True)
    qrels = to / "qrels.txt"
    verbs.write(opinions, qrels)
    paths = []
    for system in run.systems:
        paths.append(str(to / "runs" / f"{system}.run"))
        verbs.write(Run(run.frame.filter(pl.col("system") == system)), paths[-1])
    measures = ["nDCG@10", "AP", "P@10", "RR"]
    title = "Six systems, three assessors: a generated collection"
    program = sys.argv[0] if Path(sys.argv[0]).name == "endoxa" else "endoxa"
    command = (
        f"{program} report {qrels} {to}/runs/*.run {' '.join(measures)} --assessors mean -N {ITEMS} "
        f"--title '{title}' --seed {seed} --to {to}/report.html"
    )
    page = to / "report.html"
    made = verbs.report(
        paths,
        str(qrels),
        measures,
        title=title,
        N=ITEMS,
        seed=seed,
        command=command,
        assessors="mean",
    )
    verbs.write(made, page)
    console = show.console()
    console.print(show.summary_table(made.summary, width=console.width))
    print("\n" + "\n".join(show.policies(made.scores, confidence=0.95)))
    for line in made.warnings:
        print(f"! {line}")
    print(f"\nThe page: {page.resolve().as_uri()}\nThe same by hand: {command}")
    _without(
        run,
        paths,
        made.summary,
        to / "without-judgments.html",
        f"{program} eval {to}/runs/*.run nDCG@10 AP --worlds 200 --seed {seed}",
        seed,
    )
    _study(to / "study", program, seed)


def _study(folder: Path, program: str, seed: int) -> None:
    """What a study is made of, and how to start it."""
    import numpy as np

    from endoxa import examples

    try:
        path = examples.study(folder, rng=np.random.default_rng(seed))
    except ModuleNotFoundError:
        return  # without Pillow there are no studies
    home = folder.parent / "studies"
    print(
        f"\nPeople: {path} is a study of pictures, to try in the browser (make serve does it all):\n"
        f"  {program} study new {path} --home {home}\n"
        f"  {program} study invite shapes ana ben --home {home}\n"
        f"  {program} study serve --home {home}"
    )


def _without(run: Run, paths: list[str], judged: pl.DataFrame, page: Path, command: str, seed: int) -> None:
    """The same systems with the judgments put away: what their consensus says, and how far it agrees."""
    import numpy as np
    import polars as pl

    from endoxa import verbs
    from endoxa.cli.under_doubt import ranking
    from endoxa.comparisons.orders import tau

    measure = "nDCG@10"
    title = "The same six systems, judgments put away"
    made = verbs.report(paths, None, [measure, "AP"], title=title, seed=seed, command=command, worlds=200)
    verbs.write(made, page)
    assert made.appraisal is not None
    console = show.console()
    console.print(f"\n[bold]Judgments put away: {measure} within the consensus of the systems[/bold]")
    console.print(show.frame_table(ranking(made.appraisal, measure)))
    orders = [
        dict(table.filter(pl.col("measure") == measure).select("system", "value").iter_rows())
        for table in (judged, made.summary)
    ]
    known, believed = ([order[system] for system in run.systems] for order in orders)
    print(f"\nKendall's tau of this order to the judged one: {tau(np.array(known), np.array(believed)):.2f}")
    print(f"The page: {page.resolve().as_uri()}\nThe same by hand: {command}")
