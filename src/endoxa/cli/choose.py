"""endoxa next: which pairs to judge next."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from endoxa.cli import options as o
from endoxa.cli import output

FORMS = ("table", "csv", "tsv", "json", "jsonl")
# of the file that judges fill in
COLUMNS = ["query", "item", "grade", "propensity", "selected_by", "draw", "draw_depth", "p", "systems"]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("next")(choose)


def choose(
    words: o.Words = None,
    count: Annotated[int, typer.Option("-n", "--count", help="How many pairs.", min=1)] = 100,
    judged: Annotated[
        list[str] | None,
        typer.Option("--labels", metavar="FILE", help="What is judged already: learned from, and not asked again."),
    ] = None,
    about: o.About = "order",
    mixing: Annotated[
        float, typer.Option("--mixing", help="Share of the choice that is made at random over all pairs.", min=0, max=1)
    ] = 0.1,
    first: Annotated[
        int | None,
        typer.Option(
            "-k", "--first", help="Draw from the first N items of each run; default: as deep as a measure looks.", min=1
        ),
    ] = None,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None,
    seed: o.Seed = 0,
    runs: o.Runs = None,
) -> None:
    """List the pairs whose judgment says most about the order of the systems, each with its propensity.

    Fill in the empty column `grade` of the file and hand it back with --labels: the propensities keep estimates
    unbiased.

    [bold]Examples[/bold]

      endoxa next runs/*.gz -n 150 -o csv --to judge.csv

      endoxa eval runs/*.gz --labels judge.csv

      endoxa next runs/*.gz --labels judge.csv --about best -n 50 -o csv --to more.csv
    """
    import polars as pl

    from endoxa.pools.choosing import about_of
    from endoxa.tables import DRAW
    from endoxa.verbs.choose import choose as verb

    form = output.need_form(form, to, FORMS)
    _refuse_filled(to)
    inputs = o.told_apart(words, None, None, runs)
    pairs = verb(
        inputs.runs, inputs.reference, count, measures=inputs.measures or None, about=about_of(about), first=first,
        judged=judged, mixing=mixing, seed=seed,
    )  # fmt: skip
    settles = {"order": "the order of the systems", "best": "which system is best"}.get(
        about, f"which of {about} is better"
    )
    answer = f"Judge these {pairs.height:,} pairs of {pairs['query'].n_unique():,} queries to learn {settles}."
    if form == "table":
        output.say(answer)
        output.head(pairs.drop("selected_by", *DRAW), "-o csv --to judge.csv")
    else:
        blank = pairs.with_columns(pl.lit(None, pl.Float64).alias("grade"))
        output.table(blank.select(COLUMNS), form, to, answer=answer)
    number, deep = pairs.select("draw", "draw_depth").row(0)
    output.note(
        f"round {number}: {pairs.height:,} pairs of {pairs['query'].n_unique():,} queries, from the first {deep} items "
        "of some run, drawn with these propensities; fill in grade and pass the file: endoxa eval … --labels FILE"
        + (", with the files of the other rounds" if judged else "")
    )


def _refuse_filled(to: str | None) -> None:
    """The file that is to be filled in may be filled in already: its grades must not be lost."""
    import polars as pl

    from endoxa.errors import CallError

    if to is None or not Path(to).is_file():
        return
    with suppress(pl.exceptions.PolarsError, OSError, UnicodeError):  # another form is replaced, as everywhere
        frame = pl.read_csv(to, infer_schema=False, separator="\t" if to.endswith(".tsv") else ",")
        grades = frame["grade"].drop_nulls().len() if "grade" in frame.columns else 0
        if grades:
            what = f"{grades:,} grade{'' if grades == 1 else 's'}"
            raise CallError(f"{to} holds {what}, which would be lost", remedy=f"give --labels {to} and another --to")
