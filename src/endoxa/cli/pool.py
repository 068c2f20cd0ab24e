"""endoxa pool: what to judge, and what pooling does to the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.errors import CallError

if TYPE_CHECKING:
    import polars as pl

FORMS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("pool")(pool)


def pool(
    words: o.Words = None,
    depth: Annotated[int, typer.Option("-k", "--depth", help="How many items of each list go into the pool.")] = 100,
    measures: o.Measures = None,
    uniques: Annotated[
        bool,
        typer.Option("--leave-out-uniques", help="How much each system owes to being in the pool (needs judgments)."),
    ] = False,
    groups: Annotated[
        list[str] | None, typer.Option("--group", metavar="SYSTEM=TEAM", help="Systems that are left out together.")
    ] = None,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    to: o.To = None,
    ties: Annotated[str, typer.Option("--ties", metavar="trec|input", help="Order of items with equal scores.")] = (
        "trec"
    ),
    lenient: o.Lenient = False,
    on: o.On = None,
    qrels: o.Qrels = None,
    runs: o.Runs = None,
) -> None:
    """Pool the tops of runs; with judgments, say what was judged and who depends on it.

    [bold]Examples[/bold]

      endoxa pool runs/*.gz --depth 50 -o tsv --to pool.tsv

      endoxa pool qrels.txt runs/*.gz --depth 100

      endoxa pool qrels.txt runs/*.gz --leave-out-uniques -m AP --group bm25a=ours --group bm25b=ours
    """
    from endoxa.verbs import pool as verbs

    form = output.need_form(form, to, FORMS)
    o.one_of("--ties", ties, ("trec", "input"))
    inputs = o.told_apart(words, measures, qrels, runs)
    how: dict[str, Any] = {"ties": ties, "lenient": lenient}
    if on is not None and inputs.reference is not None:
        raise CallError("--on is for pools of runs; with judgments, leave it out")
    if inputs.reference is None:
        if uniques:
            raise CallError("--leave-out-uniques needs judgments; name a file with 4 columns")
        pairs = verbs.pool(inputs.runs, depth, **how, on=on)
        topics = pairs["query"].n_unique()
        each = pairs.height / max(topics, 1)
        answer = (
            f"The pool of depth {depth} has {pairs.height:,} pairs in {topics:,} queries, {each:.1f} to judge in each."
        )
        output.table(pairs.with_columns(pairs["by"].list.join(" ")), form, to, whole=("systems", "best"), answer=answer)
    elif not uniques:
        states = verbs.pool_states(inputs.runs, inputs.reference, depth, **how)
        output.table(states, form, to, answer=_judged(states, depth))
        if (found := verbs.unseen(inputs.runs, inputs.reference, depth, **how)) is not None:
            output.note(_unseen(found))
    else:
        with output.progress_bar() as progress:
            bar = None if progress is None else lambda done, whole: progress("re-scoring", done, whole)
            left = verbs.leave_out_uniques(
                inputs.runs, inputs.reference, (inputs.measures or ["AP"])[0], depth=depth,
                groups=dict(o.pair(group) for group in groups or []), progress=bar, **how,
            )  # fmt: skip
        answer = (
            f"Without the items that only it found, a system loses at most {left.largest:.4f} of {left.measure}; the "
            f"lowest tau with the full order is {min(left.frame['tau'].to_list()):.3f}."
        )
        output.table(left.frame, form, to, answer=answer)
        output.note("A new system would score as a system does without its uniques.")


def _judged(states: pl.DataFrame, depth: int) -> str:
    """How much of what systems returned was judged, from the least judged system to the most."""
    import polars as pl

    shares = states.filter(pl.col("state") == "judged")["share"].to_list()
    reach = f"{min(shares):.0%} to {max(shares):.0%}" if min(shares) < max(shares) else f"{min(shares):.0%}"
    waiting = int(states.filter(pl.col("state") == "pooled-unjudged")["pairs"].sum())
    left = (
        f"{waiting:,} returned pairs of the pool of depth {depth} are not"
        if waiting
        else f"the pool of depth {depth} is"
    )
    return f"Of what each system returned, {reach} was judged; {left} judged{'' if waiting else ' completely'}."


def _unseen(found: Any) -> str:
    """Chao's estimate over all queries, in words."""
    import polars as pl

    whole = found.filter(pl.col("query").is_null()).row(0, named=True)
    return (
        f"relevant items found: {whole['found']:,}, {whole['once']:,} by one system only, {whole['twice']:,} by two; "
        f"Chao's lower bound for all there are: {whole['estimate']:,.0f}, so that the recall of the pool is at most "
        f"{whole['recall_at_most']:.2f} (systems that find alike make the bound too low)"
    )
