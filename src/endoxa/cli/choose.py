"""endoxa next: which pairs to judge next."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output

FORMS = ("table", "csv", "tsv", "jsonl")
COLUMNS = ["query", "item", "grade", "propensity", "selected_by", "p", "systems"]  # of the file that judges fill in


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("next")(choose)


def choose(
    words: o.Words = None,
    count: Annotated[int, typer.Option("-n", "--count", help="About how many pairs.", min=1)] = 100,
    judged: Annotated[
        list[str] | None,
        typer.Option("--labels", metavar="FILE", help="What is judged already; it is not asked again."),
    ] = None,
    mixing: Annotated[
        float, typer.Option("--mixing", help="Share of the choice that is made at random over all pairs.", min=0, max=1)
    ] = 0.5,
    first: Annotated[
        int | None,
        typer.Option(
            "-k", "--first", help="Draw from the first N items of each run; default: as deep as a measure looks.", min=1
        ),
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="A run votes for its first N items.", min=1)] = 100,
    weights: Annotated[str, typer.Option("--weights", metavar="METHOD|NAME=W,…", help="Weights of the votes.")] = (
        "cluster"
    ),
    prior: Annotated[str, typer.Option("--prior", metavar="A,B", help="Votes for yes and no added to a pair.")] = "1,1",
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None,
    seed: o.Seed = 0,
    runs: o.Runs = None,
) -> None:
    """List the pairs whose judgment says most about the order of the systems, each with its propensity.

    Fill in the empty column `grade` of the file and hand it back with --labels: the propensities keep estimates
    unbiased.

    [bold]Examples[/bold]

      endoxa next runs/*.gz P@10 -n 300 -o csv --to judge.csv

      endoxa eval runs/*.gz --labels judge.csv P@10
    """
    import polars as pl

    from endoxa.verbs.choose import choose as verb

    output.need_form(form, to, FORMS)
    inputs = o.told_apart(words, None, None, runs)
    pairs = verb(
        inputs.runs, inputs.reference, count, measures=inputs.measures or None, first=first, judged=judged,
        mixing=mixing, depth=depth, weights=o.weights_of(weights), prior=o.prior_of(prior), seed=seed,
    )  # fmt: skip
    if form == "table":
        output.head(pairs.drop("selected_by"), "-o csv --to judge.csv")
    else:
        blank = pairs.with_columns(pl.lit(None, pl.Float64).alias("grade"))
        output.table(blank.select(COLUMNS), form, to)
    deep = str(pairs["selected_by"][0]).removeprefix("next@") if pairs.height else "0"
    output.note(
        f"{pairs.height:,} pairs of {pairs['query'].n_unique():,} queries, from the first {deep} items of some run, "
        "each drawn independently with its propensity; fill in grade and pass the file: endoxa eval … --labels FILE"
        + (", after the files of the rounds before" if judged else "")
    )
