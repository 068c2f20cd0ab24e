"""endoxa next: which pairs to judge next."""

from __future__ import annotations

from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import show

FORMATS = ("table", "csv", "tsv", "jsonl")


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("next")(next_)


def next_(
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
            "-k", "--first", help="Draw from the first so many of each run; as deep as a measure looks (10).", min=1
        ),
    ] = None,
    depth: o.Depth = 100,
    weights: o.Weights = "cluster",
    prior: o.Prior = "1,1",
    form: Annotated[str, typer.Option("-o", "--output", metavar="|".join(FORMATS))] = "table",
    to: o.To = None,
    seed: o.Seed = 0,
    runs: o.Runs = None,
) -> None:
    """List pairs whose judgment tells most about the order of the systems, each with its probability of being chosen.

    Fill in the empty column `grade` of the file and hand it back with --labels: the probabilities keep estimates
    unbiased.

    [bold]Examples[/bold]

      endoxa next runs/*.gz P@10 -n 300 -o csv --to judge.csv

      endoxa eval runs/*.gz --labels judge.csv P@10
    """
    import polars as pl

    from endoxa import doubt
    from endoxa.io.read import read
    from endoxa.measures.grammar import parse_all
    from endoxa.reports.text import render

    if form not in FORMATS:
        raise typer.BadParameter(f"-o is one of {', '.join(FORMATS)}, not {form!r}")
    show.need_form(form, to)
    inputs = o.sort_words(words, None, None, runs)
    cutoffs = [dict(m.settings).get("k") for m in parse_all(inputs.measures)] if inputs.measures else []
    deep = first or max((int(k) for k in cutoffs if k is not None), default=10)
    if not inputs.runs:
        raise typer.BadParameter("no run was given; name a file with 6 columns, or say --run FILE")
    run = read(inputs.runs, kind="run")
    if inputs.qrels is not None:
        belief = doubt.believe(inputs.qrels)
    else:
        belief = doubt.believe(run, depth=depth, weights=o.weights_of(weights), prior=o.prior_of(prior), people=0)
    known = doubt.rounds_of(judged) if judged else None
    chosen = doubt.choose(run, belief, count, judged=known, mixing=mixing, depth=deep, seed=seed)
    told = chosen.with_columns(pl.lit(None, pl.Float64).alias("grade"), pl.lit(f"next@{deep}").alias("selected_by"))
    if form == "table":
        show.console().print(show.frame_table(chosen.head(20)))
        if chosen.height > 20:
            print(f"… {chosen.height - 20:,} pairs more; -o csv --to judge.csv writes them all")
    else:
        columns = ["query", "item", "grade", "propensity", "selected_by", "p", "systems"]
        kept = told.select(columns)
        show.emit(kept.write_csv() if form == "csv" else render(kept, form), to)  # type: ignore[arg-type]
    show.note(
        f"{chosen.height:,} pairs of {chosen['query'].n_unique():,} queries, in the first {deep} of some run, "
        "each drawn by itself with its propensity; fill in grade and hand the file back: endoxa eval … --labels FILE"
        + (", after the files of the rounds before" if judged else "")
    )
