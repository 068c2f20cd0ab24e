"""endoxa eval: score runs against judgments, under a belief, or within their own consensus."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.evaluations.settings import PAIRS

FORMS = ("table", "trec", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex", "html")
TREC_MEASURES = {"qrels_jg": "qrels_jg", "prefs": "prefs", "qrels_prefs": "prefs"}  # else: official


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("eval")(evaluate)


@o.takes_settings(quiet=(PAIRS,))
def evaluate(
    words: o.Words = None,
    measures: o.Measures = None,
    per_query: Annotated[bool, typer.Option("-q", help="Print every query too.")] = False,
    no_summary: Annotated[bool, typer.Option("-n", help="Print no summary over queries.")] = False,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None,
    labels: o.Labels = None,
    zscores: Annotated[
        str | None,
        typer.Option(
            "-Z", metavar="FILE", help="Print z-scores against the means and deviations in FILE.", hidden=True
        ),
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option(
            "--tokens", metavar="bag|align", help="The files are texts that systems extracted, not runs.", hidden=True
        ),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines", help="With --tokens: a line is one word, such as New York.", hidden=True)
    ] = False,
    near: Annotated[
        float | None,
        typer.Option(
            "--near",
            metavar="SHARE",
            hidden=True,
            help="With --tokens align: align misread words that share this part of their letters; .8 is usual.",
        ),
    ] = None,
    taxonomy: o.Taxonomy = None,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Score runs against judgments, with an interval on every mean; without judgments, within their consensus.

    [bold]Examples[/bold]

      endoxa eval runs/*.gz

      endoxa eval runs/*.gz --labels judged.csv P@10

      endoxa eval votes.txt bm25.run dense.run --model dawid-skene AP

      endoxa eval qrels.txt bm25.run dense.run nDCG@10 AP

      endoxa eval -q -c -m official -o trec --compat trec_eval-9 qrels.txt bm25.run

      endoxa eval qrels.txt runs/*.gz --unjudged bounds P@10 RBP -o tsv --to scores.tsv
    """
    from endoxa.io.read import is_there
    from endoxa.verbs.evaluate import evaluate as verb

    form = output.need_form(form, to, FORMS)
    if tokens is not None:
        o.one_of("--tokens", tokens, ("bag", "align"))
        paths = [word for word in words or [] if is_there(word)]
        named = [*(measures or []), *(word for word in words or [] if not is_there(word))]
        inputs = o.Inputs(None, paths, o.told_apart(named).measures)
    else:
        inputs = o.told_apart(words, measures, qrels, runs)
    wanted: Any = inputs.measures or None
    if form == "trec":
        output.need_judgments(inputs.reference, settings)
        wanted = wanted or TREC_MEASURES.get(settings.get("format", ""), "official")
    with output.progress_bar(max(len(inputs.runs), 2)) as progress:
        evaluation = verb(
            inputs.runs, inputs.reference, wanted, labels=labels, taxonomy=taxonomy, tokens=tokens,
            lines=lines, near=near, command=o.command_line(), progress=progress, report=output.skipped, **settings,
        )  # fmt: skip
    if form == "trec" or zscores is not None:
        output.trec_lines(evaluation, form, to, per_query=per_query, summary=not no_summary, zscores=zscores)
    else:
        output.evaluation(evaluation, form, to, per_query=per_query, summary=not no_summary)
