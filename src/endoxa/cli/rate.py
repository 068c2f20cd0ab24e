"""endoxa ratings: what people's ratings say, of themselves and of systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from endoxa.cli import loudness, output
from endoxa.cli import options as o
from endoxa.errors import CallError
from endoxa.evaluations.settings import Settings

FORMS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex")
METRICS = ("nominal", "ordinal", "interval", "ratio")
METHODS = ("isotonic", "bayes", "ogive")
STEPS = 5  # that progress reports, beside one for each map


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("ratings")(rate)


def rate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE… [RUN…]",
            help="Ratings (CSV, JSONL, Parquet, or qrels whose column 2 says who judged) and runs, told apart by "
            "content.",
            show_default=False,
        ),
    ],
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Relevant is above it; without: the middle of the scale.")
    ] = None,
    no_calibrate: Annotated[
        bool, typer.Option("--no-calibrate", help="Take every rater's grades as they are.")
    ] = False,
    shrinkage: Annotated[
        float, typer.Option("--shrinkage", help="Shrinks the calibration of a rater as if by N more items.", min=0)
    ] = 5.0,
    metric: Annotated[
        str, typer.Option("--metric", metavar="|".join(METRICS), help="What distance between grades means, for alpha.")
    ] = "interval",
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="|".join(METHODS), help="Map from scores to ratings; all three without."),
    ] = None,
    distances: Annotated[
        bool, typer.Option("--distances", help="Scores are distances: they fall where ratings rise.")
    ] = False,
    resamples: Annotated[int, typer.Option("--resamples", help="Of pairs and queries, for intervals.", min=2)] = 500,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: Annotated[
        str | None, typer.Option("--to", metavar="FILE", help="report.html is the page; other files take -o's form.")
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    confidence: o.Confidence = 0.95,
    seed: o.Seed = 0,
) -> None:
    """Analyse people's ratings: agreement, calibration, each rater; with runs, which system people agree with.

    The figure to compare systems by is r: the correlation of ratings with what a map from scores, made on other
    queries, predicts. Where pairs were drawn with known chances, precision and recall of whole lists.

    [bold]Examples[/bold]

      endoxa ratings answers.csv

      endoxa ratings answers.csv runs/*.gz --threshold 3 --to report.html

      endoxa ratings votes.qrels --metric ordinal --no-calibrate

      endoxa ratings answers.parquet dense.run --method isotonic -o jsonl

      endoxa believe answers.csv --threshold 3 --to belief.parquet
    """  # fmt: skip
    from endoxa.reports.rating_terminal import parts
    from endoxa.verbs.rate import rate as verb
    from endoxa.verbs.write import write

    for option, value, known in (("--metric", metric, METRICS), *(("--method", one, METHODS) for one in methods or [])):
        o.one_of(option, value, known)
    o.at_call(lambda: Settings(confidence=confidence))
    page = to is not None and Path(to).suffix.lower() in {".html", ".htm"}
    if page and form != "table":
        raise CallError("a page has one form; remove -o, or name another file")
    form = output.need_form(form, None if page else to, FORMS)
    inputs = o.told_apart(files)
    if inputs.reference is None:
        raise CallError("no ratings were given; name a table with query, item, grade and source")
    chosen = methods or list(METHODS)
    with output.progress_bar(STEPS + len(chosen)) as progress:
        evaluation = verb(
            inputs.reference, inputs.runs or None, threshold=threshold, calibrated=not no_calibrate,
            shrinkage=shrinkage, metric=metric, methods=chosen,  # type: ignore[arg-type]
            distances=distances, confidence=confidence,
            resamples=resamples, seed=seed, title=title, command=o.command_line(), progress=progress,
        )  # fmt: skip
    found = evaluation.details
    if form != "table":
        remarks = (*(f"! {line}" for line in found.warnings), *found.remarks())
        output.table(evaluation.tables["figures"], form, to, remarks, answer=evaluation.sentences[0])
        return
    output.say(evaluation.sentences[0])
    output.tell("")
    output.show(parts(found, full=loudness.is_full()), narrow=True)
    if page and to is not None:
        with output.busy("drawing"):
            write(evaluation, to)
        output.note(f"wrote {to}")
