"""fuse: one ranked list out of those of several systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.errors import CallError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.policies import refuse_choice
from endoxa.verbs.parameters import Lenient, Seed

if TYPE_CHECKING:
    from endoxa import fusion
    from endoxa.tables import Run

LEARNT = {"fitted": "a weighted sum, its weights learnt from labels", "belief": "by the probability of relevance"}
DIGITS = 6  # of a probability; what remains equal is ordered by reciprocal ranks


@dataclass(frozen=True, eq=False)
class Fused:
    """The fused run, and what was said on the way (weights, queries that a system lacks)."""

    run: Run
    notes: tuple[str, ...]


def methods() -> tuple[str, ...]:
    """The names of all methods."""
    from endoxa import fusion

    return (*fusion.METHODS, *LEARNT)


def fuse(
    runs: Any,
    method: str = "rrf",
    *,
    norm: str = "min-max",
    weights: Mapping[str, float] | None = None,
    k: float = 60.0,
    labels: Any = None,
    folds: int = 5,
    depth: int | None = None,
    name: str | None = None,
    ties: str = "trec",
    lenient: bool = False,
    seed: int = 0,
) -> Run:
    """Fuse the lists of two or more systems into one run.

    method   rrf, borda, condorcet look at ranks; sum, mnz, anz, max, min, med at scores made comparable by `norm`
             (min-max, max, sum, zmuv, rank, none); fitted learns the weights of a sum from `labels`; belief orders by
             the probability of relevance, with `labels` by the learned one
    weights  {system: weight}, of the method sum
    k        of rrf
    depth    how many items of a query are kept; all, unless given
    name     of the fused system; the method, unless given

    >>> fuse({"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"x": 9, "z": 8}}}).to_dict()
    {'rrf': {'q': {'x': 0.03278688524590164, 'z': 0.016129032258064516, 'y': 0.016129032258064516}}}
    """
    return fused(
        runs, method, norm=norm, weights=weights, k=k, labels=labels, folds=folds, depth=depth, name=name, ties=ties,
        lenient=lenient, seed=seed,
    ).run  # fmt: skip


def weighting(text: str) -> Mapping[str, float]:
    """SYSTEM=NUMBER,… as it is typed."""
    try:
        return {name: float(number) for name, _, number in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        sign = "SYSTEM=NUMBER,…" if "=" not in text else "a name or NAME=NUMBER,…"
        raise CallError(f"--weights {'reads' if '=' not in text else 'is'} {sign}, not {text!r}") from None


def fused(
    runs: Annotated[Any, argument("Runs of two or more systems.", "RUN…", many=True)],
    method: Annotated[
        str,
        option(
            "By ranks: rrf, borda, condorcet. By scores: sum, mnz, anz, max, min, med. By what is known: fitted "
            "(weights learnt from --labels), belief (by the probability of relevance).",
            metavar="NAME",
        ),
    ] = "rrf",
    *,
    norm: Annotated[
        str, option("How scores are made comparable: min-max, max, sum, zmuv, rank, none.", metavar="NAME")
    ] = "min-max",
    weights: Annotated[
        Mapping[str, float] | None, option("Weights of the systems, for sum.", metavar="SYSTEM=W,…", parse=weighting)
    ] = None,
    k: Annotated[float, option("The constant of rrf.", "-k")] = 60.0,
    labels: Annotated[Any, option("Judged pairs, for fitted and belief.", metavar="FILE")] = None,
    folds: Annotated[int, option("fitted: a query is fused by weights of the other folds.")] = 5,
    depth: Annotated[int | None, option("How many items of a query are kept.", usual="(all)")] = None,
    name: Annotated[str | None, option("The name of the fused system.", usual="(the method)")] = None,
    ties: str = "trec",
    lenient: Lenient = False,
    seed: Seed = 0,
) -> Fused:
    """Fuse the lists of several systems into one run.

    As `fuse`, with notes: the weights that were fitted, and systems that lack queries.

    Examples:
        endoxa fuse runs/*.run --to fused.run
        endoxa fuse bm25.run dense.run --method sum --norm zmuv --weights bm25=1,dense=2 --to fused.run
        endoxa fuse runs/*.run --method fitted --labels qrels.txt --to fused.run
        endoxa eval qrels.txt runs/*.run fused.run nDCG@10
    """
    from endoxa import fusion
    from endoxa.evaluations.dispatch import no_run
    from endoxa.verbs.inputs import labels_of, run_of, settings_of

    refuse_choice("method", method, methods())
    if runs is None or (isinstance(runs, list) and not runs):
        raise no_run()
    run = run_of(runs, settings_of({"ties": ties, "lenient": lenient}))
    if len(run.systems) < 2:
        raise CallError("fusion needs the runs of at least two systems", remedy="name more files")
    if labels is not None and method not in LEARNT:
        raise CallError(f"labels teach the methods {' and '.join(LEARNT)}; {method} learns nothing")
    if weights is not None and method in LEARNT:
        raise CallError(f"weights are given to the method sum; {method} finds its own")
    notes = _lacking(run)
    if method == "fitted":
        known = labels_of(labels)
        if known is None:
            raise CallError("the method fitted learns its weights from labels: give labels=, a file of judgments")
        made = fusion.fit_weights(run, known, norm=norm, folds=folds, seed=seed, name=name or method)
        notes += (_weights(run.systems, made),)
        fused_run = made.run
    elif method == "belief":
        fused_run = _believed(run, labels, name or method, seed)
    else:
        fused_run = fusion.fuse(run, method, norm=norm, weights=weights, k=k, name=name)
    return Fused(_cut(fused_run, depth), notes)


def _lacking(run: Run) -> tuple[str, ...]:
    """Systems that lack queries, which they say nothing about."""
    lists = run.frame.filter(pl.col("rank") == 1)
    every = lists["query"].n_unique()
    counts = lists.group_by("system", maintain_order=True).len()
    return tuple(
        f"{system} lists {count:,} of {every:,} queries; it says nothing about the others"
        for system, count in counts.iter_rows()
        if count < every
    )


def _weights(systems: list[str], made: fusion.Fitted) -> str:
    """The weights in words, the greatest first."""
    mean, least, most = made.weights.mean(axis=0), made.weights.min(axis=0), made.weights.max(axis=0)
    parts = [
        f"{systems[at]} {mean[at]:.2f} ({least[at]:.2f} to {most[at]:.2f})" for at in np.argsort(-mean, kind="stable")
    ]
    return f"weights from {made.labels:,} labels on {made.queries:,} queries, over the folds: " + ", ".join(parts)


def _believed(run: Run, labels: Any, name: str, seed: int) -> Run:
    """By expected grade; what nobody believes anything about comes last, by reciprocal ranks, as ties do."""
    from endoxa import fusion
    from endoxa.beliefs import models
    from endoxa.tables import Run
    from endoxa.verbs.inputs import labels_of

    if labels is None:
        belief = models.believe(run, "consensus", seed=seed)
    else:
        belief = models.believe(run, "learned", labels=labels_of(labels), seed=seed)
    expected = belief.frame.group_by("query", "item").agg(
        (pl.col("weight") * pl.col("grade") * pl.col("p")).sum().round(DIGITS).alias("expected")
    )
    ranked = fusion.fuse(run, "rrf").frame
    order = pl.col("expected").fill_null(0.0) + pl.col("score") / pl.col("score").max() * 10**-DIGITS / 2
    joined = ranked.join(expected, on=["query", "item"], how="left", maintain_order="left")
    return Run.of(joined.select("query", "item", order.alias("score")), system=name)


def _cut(run: Run, depth: int | None) -> Run:
    """The first `depth` items of each query."""
    return run if depth is None else replace(run, frame=run.frame.filter(pl.col("rank") <= depth))
