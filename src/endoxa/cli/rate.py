"""endoxa ratings: what people's ratings say, of themselves and of systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import loudness, output
from endoxa.cli.derived import derived
from endoxa.cli.typed import at_call
from endoxa.declared import Declared, option
from endoxa.errors import CallError
from endoxa.evaluations.settings import Settings
from endoxa.verbs.rate import METHODS, rate

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation

FORMS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex")
STEPS = 5  # that progress reports, beside one for each map
FILES = Declared(
    "Ratings (CSV, JSONL, Parquet, or qrels whose column 2 says who judged) and runs, told apart by content.",
    metavar="FILE… [RUN…]", least=1, many=True, role="argument",
)  # fmt: skip


def _is_page(to: str | None) -> bool:
    return to is not None and Path(to).suffix.lower() in {".html", ".htm"}


def need_ratings(values: dict[str, Any]) -> dict[str, Any]:
    """There are ratings; the form is that of the file, and a page has none."""
    at_call(lambda: Settings(confidence=values.get("confidence", 0.95)))
    to, form = values.get("to"), values.get("form", "table")
    if _is_page(to) and form != "table":
        raise CallError("a page has one form; remove -o, or name another file")
    form = output.need_form(form, None if _is_page(to) else to, FORMS)
    if "opinions" not in values:
        raise CallError("no ratings were given; name a table with query, item, grade and source")
    return values | {"run": values["run"] or None, "form": form}


def print_ratings(
    evaluation: Evaluation,
    *,
    form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table",
    to: Annotated[str | None, option("report.html is the page; other files take -o's form.", metavar="FILE")] = None,
) -> None:
    """Print what was found, or write it as a page or a table."""
    from endoxa.reports.rating_terminal import parts
    from endoxa.verbs.write import write

    details = evaluation.details
    if form != "table":
        remarks = (*(f"! {line}" for line in details.warnings), *details.remarks())
        output.table(evaluation.tables["figures"], form, to, remarks, answer=evaluation.sentences[0])
        return
    output.say(evaluation.sentences[0])
    output.tell("")
    output.show(parts(details, full=loudness.is_full()), narrow=True)
    if to is not None:
        with output.busy("drawing"):
            write(evaluation, to)
        output.note(f"wrote {to}")


COMMANDS = (
    derived(
        "ratings", rate, print_ratings, before=need_ratings, words=FILES,
        during=lambda values: output.progress_bar(STEPS + len(values.get("methods", METHODS))),
        more="The figure to compare systems by is r: the correlation of ratings with what a map from scores, made on "
        "other queries, predicts. Where pairs were drawn with known chances, precision and recall of whole lists.",
    ),
)  # fmt: skip
