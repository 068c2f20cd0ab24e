"""endoxa compare: which differences between systems are more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.cli.under_doubt import Doubt

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("table", "tsv", "jsonl", "parquet", "latex", "markdown")


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("compare")(compare)


def compare(
    words: o.Words = None,
    measures: o.Measures = None,
    baseline: Annotated[str | None, typer.Option("-b", "--baseline", help="Compare all systems with this one.")] = None,
    test: Annotated[
        str, typer.Option(metavar="randomisation|t|wilcoxon|tukey", help="Significance test.")
    ] = "randomisation",
    interval: Annotated[str, typer.Option(metavar="bootstrap-t|percentile", help="Kind of interval.")] = "bootstrap-t",
    correction: Annotated[str, typer.Option(metavar="holm|bh|none", help="For many comparisons.")] = "holm",
    between: Annotated[
        tuple[str, str] | None,
        typer.Option("--between", metavar="A B", help="Without judgments: these two only, the votes of both left out."),
    ] = None,
    model: o.Model = None,
    depth: o.Depth = 100,
    weights: o.Weights = "cluster",
    prior: o.Prior = "1,1",
    worlds: o.Worlds = 400,
    power: Annotated[
        bool, typer.Option("--power", help="Also swap rates, discriminative power, queries needed.")
    ] = False,
    form: Annotated[str, typer.Option("-o", "--output", metavar="|".join(FORMATS))] = "table",
    to: o.To = None,
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
    confidence: o.Confidence = 0.95,
    seed: o.Seed = 0,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Compare systems pair by pair: difference, interval, test, correction, effect size.

    Without judgments, or under a belief: the probability that one is better, in the same possible worlds.

    [bold]Examples[/bold]

      endoxa compare runs/*.gz AP

      endoxa compare runs/*.gz AP --between bm25 dense

      endoxa compare qrels.txt bm25.run dense.run hybrid.run nDCG@10

      endoxa compare qrels.txt runs/*.gz AP --baseline bm25 --test tukey

      endoxa compare qrels.txt runs/*.gz AP nDCG@10 --power -o markdown
    """
    from endoxa import verbs
    from endoxa.comparisons import orders
    from endoxa.comparisons import power as power_of
    from endoxa.comparisons.paired import Test
    from endoxa.reports.text import render
    from endoxa.statistics.bootstrap import Method
    from endoxa.statistics.multiplicity import Correction

    if form not in FORMATS:
        raise typer.BadParameter(f"-o is one of {', '.join(FORMATS)}, not {form!r}")
    show.need_form(form, to)
    o.share("--confidence", confidence)
    for name, value, known in (
        ("--test", test, get_args(Test)),
        ("--correction", correction, get_args(Correction)),
        ("--interval", interval, get_args(Method)),
    ):
        if value not in known:
            raise typer.BadParameter(f"{name} is one of {', '.join(known)}, not {value!r}")
    inputs = o.sort_words(words, measures, qrels, runs)
    doubt = Doubt(
        depth=depth, weights=o.weights_of(weights), prior=o.prior_of(prior), model=model, worlds=worlds,
        confidence=confidence, level=level, lenient=lenient,
    )  # fmt: skip
    if doubt.concerns(inputs):
        if power or test != "randomisation":
            raise typer.BadParameter(
                "--test and --power are for judgments; under doubt there is P(better), and no test"
            )
        settings = o.policy_of(
            compat=compat, ties=ties, missing=missing, unjudged=unjudged, undefined=undefined, assessors=assessors,
            cut=cut, complete=complete, judged_only=judged_only, seed=seed,
        )  # fmt: skip
        _under_doubt(doubt, inputs, settings, between=between, baseline=baseline, form=form, to=to)
        return
    if between is not None:
        raise typer.BadParameter("--between leaves votes out, and with judgments nobody votes; leave it away")
    judged, paths = o.need_both(inputs)
    settings = o.policy_of(
        compat=compat, ties=ties, missing=missing, unjudged=unjudged, undefined=undefined, assessors=assessors,
        cut=cut, complete=complete, judged_only=judged_only, seed=seed,
    )  # fmt: skip
    with show.progress_bar(len(paths)) as progress:
        scores = verbs.measure(
            paths, judged, inputs.measures or ("AP", "nDCG@10"), level=level, lenient=lenient, name_from=name_from,
            progress=progress, report=lambda skipped: show.note(f"endoxa: {skipped}"), **settings,
        )  # fmt: skip
    how: dict[str, Any] = {"baseline": baseline, "test": test, "interval": interval, "correction": correction}
    with show.busy("comparing"):
        compared = verbs.compare(scores, confidence=confidence, seed=seed, **how)
    if form == "parquet":
        assert to is not None
        verbs.write(compared, to, form="parquet")
        show.note(f"wrote {to}")
        return
    if form != "table":
        show.emit(render(compared.frame.drop("p_better", "p_tie"), form), to)  # type: ignore[arg-type]
        for line in compared.notes:
            show.note(line)
        return
    console = show.console()
    for (name,), rows in compared.frame.group_by("measure", maintain_order=True):
        counts = sorted({int(count) for count in rows["queries"]})
        over = f"{counts[0]} queries" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} queries, by pair"
        console.print(f"[bold]{show.plain(str(name))}[/bold], {over}")
        console.print(show.frame_table(_shown(rows)))
    agreement = orders.between_measures(scores)
    if agreement is not None:
        console.print("\n[bold]Do the measures order the systems alike?[/bold]")
        console.print(show.frame_table(agreement))
    if power:
        with show.busy("splitting the queries"):
            found = power_of.of_scores(scores, seed)
        if found is not None:
            console.print("\n[bold]How well do these queries tell systems apart?[/bold]")
            console.print(show.frame_table(found))
    print("\n" + "\n".join([*compared.notes, *scores.policy.lines()]))


def _under_doubt(
    doubt: Doubt, inputs: o.Inputs, settings: dict[str, Any], *, between: tuple[str, str] | None, baseline: str | None,
    form: str, to: str | None,
) -> None:  # fmt: skip
    """Pairs in the same possible worlds: P(better) with all doubts in, and each doubt's part."""

    from endoxa import doubt as front
    from endoxa import verbs
    from endoxa.evaluations.consensus import LIMITS
    from endoxa.policies import Policy
    from endoxa.reports.text import render

    doubt.refuse(inputs, settings)
    wanted = inputs.measures or ["AP", "nDCG@10"]
    run = doubt.run(inputs, settings)
    with show.busy("drawing worlds"):
        if between is not None:
            if inputs.qrels is not None:
                raise typer.BadParameter("--between leaves votes out; it is for runs without judgments")
            scores = front.between(
                run, *between, wanted, depth=doubt.depth, weights=doubt.weights, prior=doubt.prior,
                worlds=doubt.worlds, policy=Policy.like(settings["compat"], **_but_compat(settings)),
            )  # fmt: skip
        else:
            held = (
                doubt.belief(inputs, settings)
                if inputs.qrels is not None
                else front.believe(
                    run, depth=doubt.depth, weights=doubt.weights, prior=doubt.prior, seed=settings["seed"]
                )
            )
            scores = verbs.measure(run, held, wanted, worlds=doubt.worlds, level=doubt.level, **settings)
        compared = verbs.compare(scores, baseline=baseline, confidence=doubt.confidence, seed=settings["seed"])
    if form == "parquet":
        assert to is not None
        verbs.write(compared, to, form="parquet")
        show.note(f"wrote {to}")
        return
    remarks = [*compared.notes, *(scores.draws.lines if scores.draws is not None else ()), *scores.policy.lines()]
    remarks += [LIMITS] if inputs.qrels is None else []
    if form != "table":
        kept = compared.frame.drop("p_value", "p_adjusted", "effect", "test")
        show.emit(render(kept, form), to)  # type: ignore[arg-type]
        for line in remarks:
            show.note(line)
        return
    console = show.console()
    for (name,), rows in compared.frame.group_by("measure", maintain_order=True):
        console.print(
            f"[bold]{show.plain(str(name))}[/bold], {rows['queries'][0]} queries; sd of the difference by doubt"
        )
        console.print(show.frame_table(_by_doubt(rows)))
    print("\n" + "\n".join(map(show.wrapped, remarks)))


def _but_compat(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "compat"}


def _by_doubt(rows: pl.DataFrame) -> pl.DataFrame:
    """A row per pair: with all doubts in, and how much each adds."""
    import polars as pl

    whole = rows.filter(pl.col("doubt") == "all")
    parts = [rows.filter(pl.col("doubt") == doubt)["sd"].alias(doubt) for doubt in ("truth", "people", "queries")]
    ends = [show.interval(lo, hi) for lo, hi in whole.select("lo", "hi").iter_rows()]
    return whole.select(
        "system",
        "baseline",
        pl.col("difference").alias("diff"),
        pl.Series("interval", ends, dtype=pl.String),
        pl.col("p_better").round(2).cast(pl.String).alias("P(better)"),
    ).with_columns(parts)


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns that fit a terminal."""
    import polars as pl

    ends = [show.interval(lo, hi) for lo, hi in rows.select("lo", "hi").iter_rows()]
    return rows.select(
        "system",
        "baseline",
        pl.col("difference").alias("diff"),
        pl.Series("interval", ends, dtype=pl.String),
        pl.col("p_value").alias("p"),
        pl.col("p_adjusted").alias("adjusted"),
        pl.col("effect").round(2).cast(pl.String).alias("effect"),
    )
