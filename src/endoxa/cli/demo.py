"""endoxa demo: the whole way on a collection that it makes itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import show


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("demo")(demo)


def demo(
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the files go.")] = Path("demo"),
    seed: o.Seed = 1,
) -> None:
    """Make a small collection (six systems, three assessors), evaluate it, and write a page.

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
