"""endoxa next: which pairs to judge next."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.errors import CallError
from endoxa.verbs.choose import choose

if TYPE_CHECKING:
    import polars as pl

FORMS = ("table", "csv", "tsv", "json", "jsonl")
# of the file that judges fill in
COLUMNS = ["query", "item", "grade", "propensity", "selected_by", "draw", "draw_depth", "p", "systems"]


def print_pairs(
    pairs: pl.DataFrame,
    *,
    about: Any,
    judged: Any,
    judges: Any,
    form: Annotated[str, output.form_of(*FORMS)] = "table",
    to: output.To = None,
) -> None:
    """Print or write the pairs, with an empty column for the grade."""
    import polars as pl

    from endoxa.tables import DRAW

    settles = {"order": "the order of the systems", "best": "which system is best"}.get(
        about, f"which of {','.join(about)} is better"
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
        + (" and --judge as here" if judges else "")
    )


def refuse_filled(values: dict[str, Any]) -> None:
    """The file that is to be filled in may be filled in already: its grades must not be lost."""
    to = values.get("to")
    if to is None or not Path(to).is_file():
        return
    import polars as pl

    with suppress(pl.exceptions.PolarsError, OSError, UnicodeError):  # another form is replaced, as everywhere
        frame = pl.read_csv(to, infer_schema=False, separator="\t" if to.endswith(".tsv") else ",")
        grades = frame["grade"].drop_nulls().len() if "grade" in frame.columns else 0
        if grades:
            what = f"{grades:,} grade{'' if grades == 1 else 's'}"
            raise CallError(f"{to} holds {what}, which would be lost", remedy=f"give --labels {to} and another --to")


COMMANDS = (
    derived(
        "next", choose, print_pairs, before=refuse_filled,
        more="Fill in the empty column `grade` of the file and hand it back with --labels: the propensities keep "
        "estimates unbiased.",
    ),
)  # fmt: skip
