"""endoxa backtest: check on a judged collection whether stated probabilities are true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import loudness, output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.verbs.backtest import backtest

if TYPE_CHECKING:
    import polars as pl

    from endoxa.evaluations.backtest import Backtest

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex", "html", "svg")
TABLES = ("statements", "reliability", "best", "leaders", "settled", "courses", "forecast", "horizons", "looks")


def print_backtest(
    found: Backtest,
    *,
    table: Annotated[str, option("The table that is written, where it is one.", choices=TABLES)] = "statements",
    form: Annotated[str, output.form_of(*FORMS)] = "table",
    to: output.To = None,
) -> None:
    """Print the answer, the evidence and the tables; or write a table, all of them (json), or a page."""
    from endoxa.evaluations.backtest_sentences import answer, evidence, further

    if form == "table" or to is not None:
        output.say(answer(found))
    lines = [evidence(found), *further(found)]
    if form == "table":
        output.tell(*lines)
        _tables(found)
        output.tell("", *(note.marked for note in found.notes))
    elif form in {"html", "svg"}:
        from endoxa.verbs.write import write

        assert to is not None
        write(found, to)
        output.tell(*lines, f"The {'page' if form == 'html' else 'curve'}: {Path(to).resolve().as_uri()}")
    elif form == "json":
        import json

        output.emit(json.dumps(found.plain(), ensure_ascii=False, indent=1), to)
    else:
        output.table(_named(found, table), form, to, (note.marked for note in found.notes))


def _named(found: Backtest, table: str) -> pl.DataFrame:
    from endoxa.errors import CallError

    if table not in found.tables:
        raise CallError(f"there is no table {table} without courses", remedy="add --courses 100")
    return found.tables[table]


def _tables(found: Backtest) -> None:
    """The tables of the terminal: statements, reliability of the field, P(best), courses and forecast."""
    from endoxa.evaluations.backtest import FIELD, PARTS, QUARTER, pooled

    for part in PARTS if loudness.is_full() else (FIELD, QUARTER):
        output.show([f"\n[bold]Pairs stated above {found.plan.until:g}: {part}[/bold]"])
        output.show_frame(_written(found.statements.filter(part=part).drop("part"), {"share": 2, "right": 3}))
    output.show(["\n[bold]Reliability: what was said and what was true, all measures together[/bold]"])
    bins = pooled(found.reliability.filter(part=FIELD), "field", "labels")
    output.show_frame(_written(bins, {"lo": 2, "hi": 2, "said": 3, "right": 3}))
    output.show(["\n[bold]P(best) of the leader[/bold]"])
    output.show_frame(_written(found.best, {"said": 3, "right": 3, "unjudged": 2}))
    rest: dict[str, Any] = {"settled": "Courses", "forecast": "Forecast", "horizons": "P(settled within so many more)"}
    for name, heading in rest.items():
        if name in found.tables:
            frame = found.tables[name]
            output.show([f"\n[bold]{heading}[/bold]"])
            output.show_frame(_written(frame, dict.fromkeys(frame.columns, 3)))


def _written(frame: pl.DataFrame, decimals: dict[str, int]) -> pl.DataFrame:
    """The frame with its real numbers as text."""
    import polars as pl

    from endoxa.formatting import number

    return frame.with_columns(
        pl.Series(name, [number(value, places) for value in frame[name]], dtype=pl.String)
        for name, places in decimals.items()
        if name in frame.columns and frame.schema[name].is_float()
    )


def _stages(values: dict[str, Any]) -> Any:
    return output.stages(1 + bool(values.get("courses")))


COMMANDS = (derived("backtest", backtest, print_backtest, during=_stages),)
