"""endoxa fuse: one ranked list out of those of several systems."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.errors import CallError


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("fuse")(fuse)


def fuse(
    files: Annotated[
        list[str], typer.Argument(metavar="RUN…", help="Runs of two or more systems.", show_default=False)
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="FILE", help="The fused run; the suffix chooses the format: .run, .csv, .parquet …"
        ),
    ] = "",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="By ranks: rrf, borda, condorcet. By scores: sum, mnz, anz, max, min, med. By what is known: fitted "
            "(weights learnt from --labels), belief (by the probability of relevance).",
        ),
    ] = "rrf",
    norm: Annotated[
        str,
        typer.Option(
            "--norm", metavar="NAME", help="How scores are made comparable: min-max, max, sum, zmuv, rank, none."
        ),
    ] = "min-max",
    weights: Annotated[
        str | None, typer.Option("--weights", metavar="SYSTEM=W,…", help="Weights of the systems, for sum.")
    ] = None,
    k: Annotated[float, typer.Option("-k", help="The constant of rrf.")] = 60.0,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="FILE", help="Judged pairs, for fitted and belief.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="fitted: a query is fused by weights of the other folds.")] = 5,
    depth: Annotated[
        int | None, typer.Option("--depth", help="How many items of a query are kept.", show_default="all")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The name of the fused system.", show_default="the method")
    ] = None,
    lenient: o.Lenient = False,
    seed: o.Seed = 0,
) -> None:
    """Fuse the lists of several systems into one run.

    [bold]Examples[/bold]

      endoxa fuse runs/*.run --to fused.run

      endoxa fuse bm25.run dense.run --method sum --norm zmuv --weights bm25=1,dense=2 --to fused.run

      endoxa fuse runs/*.run --method fitted --labels qrels.txt --to fused.run

      endoxa eval qrels.txt runs/*.run fused.run nDCG@10
    """
    from endoxa.verbs import fuse as verbs
    from endoxa.verbs.write import write

    o.one_of("--method", method, verbs.METHODS)
    given = None if weights is None else o.weights_of(weights)
    if isinstance(given, str):
        raise CallError(f"--weights reads SYSTEM=NUMBER,…, not {given!r}")
    with output.busy("fusing"):
        made = verbs.fused(
            files, method, norm=norm, weights=given, k=k, labels=labels, folds=folds, depth=depth, name=name,
            lenient=lenient, seed=seed,
        )  # fmt: skip
    queries = made.run.frame["query"].n_unique()
    said = f"Fused by {method}: {made.run.frame.height:,} items for {queries:,} queries."
    if to:
        write(made.run, to)
        output.say(f"{said} Wrote {to}.")
    else:
        output.say(said)
        output.head(made.run.frame.drop("block"), "--to fused.run")
    for line in made.notes:
        output.note(line)
