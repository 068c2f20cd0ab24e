"""endoxa demo: the whole way, on pictures that it fetches or draws, or on a collection that it makes itself."""

from __future__ import annotations

import shlex
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


WHAT = ("pictures", "documents", "study")
PATIENCE = 90.0  # seconds for fetching photographs
SCENES = 400  # drawn instead


def demo(
    what: Annotated[
        str,
        typer.Argument(
            metavar="|".join(WHAT),
            help="pictures: nine systems over photographs. documents: six systems, three assessors. study: pictures to "
            "ask people about.",
        ),
    ] = "pictures",
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the files go.")] = Path("demo"),
    seed: o.Seed = 1,
) -> None:
    """Something real to look at, start to end: systems run over pictures, judged without ground truth, one page.

    Fetches 323 photographs from Debian's packages (160 MB, kept in the cache); where that cannot be done within 90
    seconds it draws scenes instead, and says so.

    [bold]Examples[/bold]

      endoxa demo --to demo

      endoxa demo documents --to demo
    """
    if what not in WHAT:
        raise typer.BadParameter(f"there is no demo {what!r}; there are {', '.join(WHAT)}")
    program = sys.argv[0] if Path(sys.argv[0]).name == "endoxa" else "endoxa"
    if what == "pictures":
        _pictures(to, program, seed)
    elif what == "documents":
        _documents(to, program, seed)
    else:
        _study(to / "study", program, seed)


def _pictures(to: Path, program: str, seed: int) -> None:
    """A contest over photographs, or over drawn scenes where there are none to be had."""
    from endoxa.cli import images
    from endoxa.errors import FileError, InstallError

    verbs = images.pictures_verbs()
    with show.stages(1) as progress:
        try:
            corpus = verbs.open_corpus("stamps", progress=progress, seconds=PATIENCE)
        except (FileError, InstallError) as error:
            why = str(error).splitlines()[0]
            corpus = None
    where = "stamps"
    title = f"{len(verbs.available())} systems over {0 if corpus is None else len(corpus)} photographs"
    if corpus is None:
        from endoxa.io.scenes import write_scenes

        show.note(f"the photographs could not be fetched ({why}); drawing {SCENES} scenes instead")
        where = str(to / "scenes")
        write_scenes(Path(where), SCENES, seed=seed)
        corpus = verbs.open_corpus(where)
        title = f"{len(verbs.available())} systems over {SCENES} drawn scenes (the photographs could not be fetched)"
    page = str(to / "pictures.html")
    command = shlex.join([program, "images", "contest", where, "--seed", str(seed), "--to", page])
    images.hold(corpus, None, to / "pictures.html", title=title, seed=seed, command=command)
    print(
        f"The same by hand: {command}\n"
        "Search it yourself: "
        + shlex.join([program, "images", "search", where, corpus.items[0], "--to", str(to / "found.html")])
    )


def _documents(to: Path, program: str, seed: int) -> None:
    """Six systems and three assessors, judged with and without the judgments; two pages."""
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
    assert made.scores is not None
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
    console = show.console()
    console.print(f"\n[bold]Judgments put away: {measure} within the consensus of the systems[/bold]")
    console.print(show.frame_table(ranking(made, measure)))
    orders = [
        dict(table.filter(pl.col("measure") == measure).select("system", "value").iter_rows())
        for table in (judged, made.summary)
    ]
    known, believed = ([order[system] for system in run.systems] for order in orders)
    print(f"\nKendall's tau of this order to the judged one: {tau(np.array(known), np.array(believed)):.2f}")
    print(f"The page: {page.resolve().as_uri()}\nThe same by hand: {command}")
