"""endoxa report: one page that opens offline."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.cli.under_doubt import Doubt


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("report")(report)


def report(
    words: o.Words = None,
    measures: o.Measures = None,
    to: Annotated[str, typer.Option("--to", metavar="FILE", help=".html, .md or .tex")] = "report.html",
    figures: Annotated[
        str | None, typer.Option("--figures", metavar="DIR", help="Also the figures, as SVG and PNG.")
    ] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    baseline: Annotated[str | None, typer.Option("-b", "--baseline", help="Compare all systems with this one.")] = None,
    collection: Annotated[
        int | None, typer.Option("-N", help="Size of the collection, for the line of a random ranking.")
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option("--costs", metavar="FILE", help="Costs beside quality: costs.csv of `endoxa images run`."),
    ] = None,
    complete: o.Complete = False,
    level: o.Level = None,
    cut: o.Cut = None,
    judged_only: o.JudgedOnly = False,
    compat: o.Compat = "none",
    ties: o.Ties = "trec",
    missing: o.Missing = None,
    unjudged: o.Unjudged = "nonrelevant",
    undefined: o.Undefined = None,
    assessors: o.Assessors = "one",
    lenient: o.Lenient = False,
    name_from: o.NameFrom = "tag",
    model: o.Model = None,
    depth: o.Depth = 100,
    weights: o.Weights = "cluster",
    prior: o.Prior = "1,1",
    worlds: o.Worlds = 400,
    seed: o.Seed = 0,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Write one self-contained page: summary with intervals, curves, differences, warnings, policies.

    Without judgments, or under a belief: distributions, P(A better), the three doubts.

    [bold]Examples[/bold]

      endoxa report runs/*.gz --to report.html

      endoxa report qrels.txt runs/*.gz --to report.html

      endoxa report qrels.txt runs/*.gz nDCG@10 AP --baseline bm25 --figures figures --to report.html
    """
    from endoxa import verbs
    from endoxa.io.tables import read_costs

    if Path(to).suffix.lower() not in {".html", ".htm", ".md", ".tex"}:
        raise typer.BadParameter(f"--to ends in .html, .md or .tex, not {to!r}")
    inputs = o.sort_words(words, measures, qrels, runs)
    doubt = Doubt(
        depth=depth, weights=o.weights_of(weights), prior=o.prior_of(prior), model=model, worlds=worlds, lenient=lenient
    )
    in_doubt = doubt.concerns(inputs)
    if in_doubt:
        doubt.refuse(inputs, {"unjudged": unjudged})
    if inputs.kind == "answers" or (in_doubt and not inputs.runs):
        raise typer.BadParameter("a page is made of runs, with judgments, a belief, or alone; for this use endoxa eval")
    judged, paths = (inputs.qrels, inputs.runs) if in_doubt else o.need_both(inputs)
    settings = o.policy_of(
        compat=compat, ties=ties, missing=missing, unjudged=unjudged, undefined=undefined, assessors=assessors,
        cut=cut, complete=complete, judged_only=judged_only,
    )  # fmt: skip
    settings.pop("seed")
    belief: Any = judged
    if in_doubt:
        settings |= {"worlds": worlds}
        if judged is None:
            settings |= {"depth": depth, "weights": doubt.weights, "prior": doubt.prior}
        else:
            belief = doubt.belief(inputs, {"seed": seed})
    with show.progress_bar(len(paths)) as progress:
        made = verbs.report(
            paths, belief, inputs.measures or verbs.DEFAULT, title=title, baseline=baseline, N=collection, seed=seed,
            command=shlex.join(["endoxa", *sys.argv[1:]]), level=level, lenient=lenient, name_from=name_from,
            progress=progress, **settings,
        )  # fmt: skip
    if costs is not None:
        made = replace(made, costs=read_costs(costs))
    with show.busy("drawing"):
        verbs.write(made, to)
    show.note(f"wrote {to}")
    if figures is not None:
        for path in verbs.write_figures(made, figures):
            show.note(f"wrote {path}")
