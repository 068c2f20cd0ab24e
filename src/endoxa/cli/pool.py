"""endoxa pool: what to judge, and what pooling does to the scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("pool")(pool)


def pool(
    words: o.Words = None,
    depth: Annotated[int, typer.Option("-k", "--depth", help="How many of each list go into the pool.")] = 100,
    measures: o.Measures = None,
    uniques: Annotated[
        bool,
        typer.Option("--leave-out-uniques", help="How much each system owes to being in the pool (needs judgments)."),
    ] = False,
    groups: Annotated[
        list[str] | None, typer.Option("--group", metavar="SYSTEM=TEAM", help="Systems that leave together.")
    ] = None,
    form: Annotated[str, typer.Option("-o", "--output", metavar="table|tsv|jsonl|markdown|latex")] = "table",
    to: o.To = None,
    ties: o.Ties = "trec",
    lenient: o.Lenient = False,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Pool the tops of runs; with judgments, say what was judged and who depends on it.

    [bold]Examples[/bold]

      endoxa pool runs/*.gz --depth 50 -o tsv --to pool.tsv

      endoxa pool qrels.txt runs/*.gz --depth 100

      endoxa pool qrels.txt runs/*.gz --leave-out-uniques -m AP --group bm25a=ours --group bm25b=ours
    """
    from endoxa import pools
    from endoxa.io.read import read
    from endoxa.policies import Policy

    inputs = o.sort_words(words, measures, qrels, runs)
    if not inputs.runs:
        raise typer.BadParameter("no run was given; name a file with 6 columns, or say --run FILE")
    order: Any = "input" if Policy(ties=ties).ties == "input" else "trec"  # type: ignore[arg-type]
    run = read(inputs.runs, kind="run", ties=order, lenient=lenient)
    if inputs.qrels is None:
        if uniques:
            raise typer.BadParameter("--leave-out-uniques needs judgments; name a file with 4 columns")
        made = pools.pool(run, depth)
        flat = made.with_columns(made["by"].list.join(" "))
        _print(flat, form, to, whole=("systems", "best"))
        topics = made["query"].n_unique()
        show.note(f"{made.height:,} pairs in {topics:,} queries, {made.height / max(topics, 1):.1f} to judge in each")
        return
    opinions = read(inputs.qrels, kind="qrels", assessors=True, lenient=lenient)
    several = opinions.frame.select("query", "item").is_duplicated().any()
    policy = Policy(assessors="mean" if several else "one")
    if not uniques:
        _print(pools.states(run, opinions, depth), form, to)
        show.note(f"pool of depth {depth} over {len(run.systems)} systems; shares of the retrieved pairs")
        if len(run.systems) > 1:
            show.note(_unseen(pools.unseen(run, opinions, depth)))
        return
    team = dict(o.pair(group) for group in groups or [])
    with show.progress_bar() as progress:
        bar = None if progress is None else lambda done, whole: progress("re-scoring", done, whole)
        found = pools.leave_out_uniques(
            run, opinions, (inputs.measures or ["AP"])[0], depth=depth, groups=team, policy=policy, progress=bar
        )
    _print(found.frame, form, to)
    worst = min(found.frame["tau"].to_list())
    show.note(
        f"{found.measure}: largest drop {found.largest:.4f}; lowest tau with the full order {worst:.3f}. "
        "A new system would fare as a system does without its uniques."
    )


def _unseen(found: Any) -> str:
    """Chao's estimate over all queries, in words."""
    import polars as pl

    whole = found.filter(pl.col("query").is_null()).row(0, named=True)
    return (
        f"relevant items found: {whole['found']:,}, {whole['once']:,} by one system only, {whole['twice']:,} by two; "
        f"Chao's lower bound for all there are: {whole['estimate']:,.0f}, so that recall of the pool is at most "
        f"{whole['recall_at_most']:.2f} (systems that find alike make the bound too low)"
    )


def _print(frame: Any, form: str, to: str | None, whole: tuple[str, ...] = ()) -> None:
    from endoxa.reports.text import render

    show.need_form(form, to)
    if form == "table":
        show.console().print(show.frame_table(frame, whole))
    elif form in {"tsv", "jsonl", "latex", "markdown"}:
        show.emit(render(frame, form), to)  # type: ignore[arg-type]
    else:
        raise typer.BadParameter(f"-o is one of table, tsv, jsonl, latex, markdown, not {form!r}")
