"""endoxa pool: what to judge, and what pooling does to the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.cli.typed import pair
from endoxa.declared import option
from endoxa.errors import CallError
from endoxa.verbs.parameters import Against, Lenient, Measures, On, Runs

if TYPE_CHECKING:
    import polars as pl

FORMS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "latex")


# By hand: judgments and --leave-out-uniques choose between four verbs.
def pool(
    run: Runs,
    reference: Against = None,
    measures: Measures = (),
    depth: Annotated[int, option("How many items of each list go into the pool.", "-k", "--depth")] = 100,
    uniques: Annotated[
        bool, option("How much each system owes to being in the pool (needs judgments).", "--leave-out-uniques")
    ] = False,
    groups: Annotated[
        list[str] | None, option("Systems that are left out together.", "--group", metavar="SYSTEM=TEAM")
    ] = None,
    form: Annotated[str, output.form_of(*FORMS)] = "table",
    to: output.To = None,
    ties: Annotated[str, option("Order of items with equal scores.", choices=("trec", "input"))] = ("trec"),
    lenient: Lenient = False,
    on: On = None,
) -> None:
    """Pool the tops of runs; with judgments, say what was judged and who depends on it.

    Examples:
        endoxa pool runs/*.gz --depth 50 -o tsv --to pool.tsv
        endoxa pool qrels.txt runs/*.gz --depth 100
        endoxa pool qrels.txt runs/*.gz --leave-out-uniques -m AP --group bm25a=ours --group bm25b=ours
    """
    from endoxa.verbs import pool as verbs

    how: dict[str, Any] = {"ties": ties, "lenient": lenient}
    if on is not None and reference is not None:
        raise CallError("--on is for pools of runs; with judgments, leave it out")
    if reference is None:
        if uniques:
            raise CallError("--leave-out-uniques needs judgments; name a file with 4 columns")
        pairs = verbs.pool(run, depth, **how, on=on)
        topics = pairs["query"].n_unique()
        each = pairs.height / max(topics, 1)
        answer = (
            f"The pool of depth {depth} has {pairs.height:,} pairs in {topics:,} queries, {each:.1f} to judge in each."
        )
        output.table(pairs.with_columns(pairs["by"].list.join(" ")), form, to, whole=("systems", "best"), answer=answer)
    elif not uniques:
        states = verbs.pool_states(run, reference, depth, **how)
        output.table(states, form, to, answer=_judged(states, depth))
        if (found := verbs.unseen(run, reference, depth, **how)) is not None:
            output.note(_unseen(found))
    else:
        with output.progress_bar() as progress:
            bar = None if progress is None else lambda done, whole: progress("re-scoring", done, whole)
            left = verbs.leave_out_uniques(
                run, reference, (measures or ["AP"])[0], depth=depth,
                groups=dict(pair(group) for group in groups or []), progress=bar, **how,
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


COMMANDS = (derived("pool", pool),)
