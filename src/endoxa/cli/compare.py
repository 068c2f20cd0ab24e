"""endoxa compare: which differences between systems are more than chance."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from endoxa.cli import options as o
from endoxa.cli import show

if TYPE_CHECKING:
    import polars as pl

    from endoxa.tables import Scores

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

    [bold]Examples[/bold]

      endoxa compare qrels.txt bm25.run dense.run hybrid.run nDCG@10

      endoxa compare qrels.txt runs/*.gz AP --baseline bm25 --test tukey

      endoxa compare qrels.txt runs/*.gz AP nDCG@10 --power -o markdown
    """
    from endoxa import verbs
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
        compared = verbs.compare(scores, level=confidence, seed=seed, **how)
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
    agreement = orders_frame(scores)
    if agreement is not None:
        console.print("\n[bold]Do the measures order the systems alike?[/bold]")
        console.print(show.frame_table(agreement))
    if power:
        with show.busy("splitting the queries"):
            found = power_frame(scores, seed)
        if found is not None:
            console.print("\n[bold]How well do these queries tell systems apart?[/bold]")
            console.print(show.frame_table(found))
    print("\n" + "\n".join([*compared.notes, *scores.policy.lines()]))


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


def orders_frame(scores: Scores) -> pl.DataFrame | None:
    """Kendall's tau-b, tau_AP and RBO between the orders that each two measures give."""
    import numpy as np
    import polars as pl

    from endoxa.comparisons.orders import orders

    if len(scores.measures) < 2 or len(scores.systems) < 3:
        return None
    means = {}
    for name in scores.measures:
        systems, _, values = scores.matrix(name)
        known = ~np.isnan(values).all(1)
        if known.all():
            means[name] = dict(zip(systems, np.nanmean(values, 1).tolist(), strict=True))
    rows = []
    for one, other in combinations(means, 2):
        found = orders(means[one], means[other])
        rows.append((one, other, found.tau, found.tau_ap, found.rbo))
    return pl.DataFrame(rows, schema=["measure", "other", "tau", "tau_AP", "RBO"], orient="row") if rows else None


def power_frame(scores: Scores, seed: int) -> pl.DataFrame | None:
    """Swap rate between halves, share of pairs told apart, and the queries needed to see a difference of 0.05."""
    import numpy as np
    import polars as pl

    from endoxa.comparisons.power import discriminative_power, queries_needed, swap_rates

    rows = []
    for name in scores.measures:
        systems, queries, values = scores.matrix(name)
        half = len(queries) // 2
        if half < 2:
            continue
        rng = np.random.default_rng(seed)
        swaps = swap_rates(scores, name, sizes=[half], rng=rng).by_size
        found = discriminative_power(scores, name, rng=rng)
        i, j = np.triu_indices(len(systems), 1)
        spread = float(np.median(np.nanstd(values[i] - values[j], axis=1, ddof=1)))
        needed = queries_needed(0.05, spread) if spread > 0 else None
        rows.append((name, swaps["rate"][0], half, found.share, found.needed, needed))
    names = ["measure", "swap rate", "at queries", "pairs told apart", "by a difference of", "queries to see 0.05"]
    return pl.DataFrame(rows, schema=names, orient="row") if rows else None
