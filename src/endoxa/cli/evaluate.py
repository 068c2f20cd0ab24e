"""endoxa eval: score runs against judgments, under a belief, or within their own consensus."""

from __future__ import annotations

from typing import Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.evaluations.settings import PAIRS
from endoxa.verbs import evaluate as verbs

FORMS = ("table", "trec", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex", "html")
TREC_MEASURES = {"qrels_jg": "qrels_jg", "prefs": "prefs", "qrels_prefs": "prefs"}  # else: official


def as_trec(values: dict[str, Any]) -> dict[str, Any]:
    """trec_eval's lines are for judgments, and have measures of their own."""
    if values["form"] != "trec":
        return values
    output.need_judgments(values.get("reference"), values)
    return {"measures": TREC_MEASURES.get(values.get("format", ""), "official")} | values


def print_evaluation(
    evaluation: Any,
    *,
    per_query: Annotated[bool, option("Print every query too.", "-q")] = False,
    no_summary: Annotated[bool, option("Print no summary over queries.", "-n")] = False,
    form: Annotated[str, output.form_of(*FORMS)] = "table",
    to: output.To = None,
    zscores: Annotated[
        str | None,
        option("Print z-scores against the means and deviations in FILE.", "-Z", metavar="FILE", hidden=True),
    ] = None,
) -> None:
    """Print or write the evaluation."""
    if form == "trec" or zscores is not None:
        output.trec_lines(evaluation, form, to, per_query=per_query, summary=not no_summary, zscores=zscores)
    else:
        output.evaluation(evaluation, form, to, per_query=per_query, summary=not no_summary)


COMMANDS = (derived("eval", verbs.evaluate, print_evaluation, before=as_trec, quiet=(PAIRS,)),)
