"""All there is to say where the truth is in doubt: scores, P(best), the three doubts, and when not to trust them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import polars as pl

from endoxa.beliefs import consensus
from endoxa.beliefs.consensus import DEPTH, WEIGHTS, Tally, Weights
from endoxa.beliefs.votes import pinned
from endoxa.comparisons import orders, shared
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.own_votes import left_out
from endoxa.measures.uncertain import expectations, measure_belief
from endoxa.policies import WORLDS, Policy
from endoxa.tables import Belief, Comparison, Opinions, Run, Scores

EVERYTHING = "⊤"  # Lamiroy and Sun's virtual system that returns the whole universe
DEPTHS = (10, 30, 100, 1000)
FEW = 10  # queries below which resampling them says too little
LONELY = 0.5  # share of unique items from which a warning is due

CAN = (
    "What this can tell: which systems return what the others return too, and so, roughly, how a field is ordered. "
    "What it cannot: how good any of them is, or which of the best is best. Where judgments exist, such orders agree "
    "with them for the whole field and much less among the best, because systems err together and a lone better one "
    "finds what nobody confirms. Some hundred judged pairs (endoxa next) give intervals that hold whatever is believed."
)


@dataclass(frozen=True)
class Appraisal:
    """Scores under a belief, and what follows from them.

    summary   system, measure, value, lo, hi, se, queries, undefined, p_best, alone, unique: `alone` is the level
              without the system's own vote, `unique` the share of its votes that nobody shares (consensus only)
    doubts    system, doubt, variance, share: of the mean of the first measure
    depths    depth, tau, leader: how the order on the first measure changes with the depth of votes (consensus only)
    """

    scores: Scores
    belief: Belief
    summary: pl.DataFrame
    doubts: pl.DataFrame
    comparison: Comparison | None = None
    depths: pl.DataFrame | None = None
    warnings: tuple[str, ...] = ()
    sentence: str = ""
    baseline: str | None = None  # the virtual system among the scores
    level: float = 0.95


def appraise(
    scores: Scores, belief: Belief, *, level: float = 0.95, seed: int = 0, baseline: str | None = None
) -> Appraisal:
    """What follows from scores under a belief: means with intervals, P(best), pairs, doubts."""
    known = {name: parse_all(name)[0].definition for name in scores.measures}
    limits = {name: (definition.low, definition.high) for name, definition in known.items()}
    lower = [name for name, definition in known.items() if definition.lower]
    ways: dict[str, str] = {name: definition.aggregate for name, definition in known.items()}
    summary = shared.summarise(scores, limits=limits, aggregate=ways, level=level, rng=np.random.default_rng(seed))
    chances = []
    aside = [baseline] if baseline is not None else []
    for name in scores.measures:
        made = shared.spread(scores, name, rng=np.random.default_rng(seed))
        won = shared.best(made, lower=name in lower, leave_out=aside)
        chances += [(system, name, share) for system, share in won.items()]
    best = pl.DataFrame(chances, schema={"system": pl.String, "measure": pl.String, "p_best": pl.Float64}, orient="row")
    summary = summary.join(best, on=["system", "measure"], how="left", maintain_order="left")
    several = len(scores.systems) > 1
    pairs = shared.compare(scores, lower=lower, level=level, rng=np.random.default_rng(seed)) if several else None
    doubts = shared.doubts(scores, scores.measures[0], rng=np.random.default_rng(seed))
    warnings = (*_of_belief(scores), *_of_people(scores, seed))
    return Appraisal(scores, belief, summary, doubts, pairs, warnings=warnings, baseline=baseline, level=level)


def _of_belief(scores: Scores) -> list[str]:
    """Warnings that hold for any belief."""
    holes = scores.frame.group_by("measure", maintain_order=True).agg(pl.col("undefined").mean())
    warnings = [
        f"{measure} is undefined with probability {mass:.2g} on average (nothing relevant, or nothing returned); "
        "its values are given that it is defined"
        for measure, mass in holes.iter_rows()
        if mass > 0.01
    ]
    queries = len(scores.queries)
    if queries < FEW:
        warnings.append(f"{queries} queries are few: what is said of other queries is too sure")
    coverage = scores.coverage.filter((pl.col("items") > 0) & (pl.col("judged") < 0.1 * pl.col("items")))
    if coverage.height:
        warnings.append(
            f"of the items of {_some(coverage['system'].to_list())} the belief mentions less than a tenth; "
            "the others count as its rule for them says"
        )
    return warnings


def _of_people(scores: Scores, seed: int) -> list[str]:
    """Whether resampling the people moves the means away from those of the belief: then it is a shaky one."""
    made = shared.spread(scores, scores.measures[0], rng=np.random.default_rng(seed))
    if made.people is None or made.truth is None:
        return []
    size = min(made.truth.shape[-1], made.people.shape[-1])
    with np.errstate(invalid="ignore"):
        apart = np.nanmean(made.people[..., :size] - made.truth[..., :size], axis=(1, 2))
        spread = np.nanstd(np.nanmean(made.people, axis=1), axis=1)
    moved = [
        system for system, shift, sd in zip(made.systems, apart, spread, strict=True) if abs(shift) > max(sd, 0.02)
    ]
    if not moved:
        return []
    return [
        f"asking others of the same kind moves the mean of {_some(moved)} by more than its spread: the belief hangs on "
        "who was asked, and P(best) need not follow the means"
    ]


def by_consensus(
    run: Run,
    measures: str | Measure | Iterable[str | Measure],
    policy: Policy | None = None,
    *,
    votes: Opinions | None = None,
    labels: Opinions | None = None,
    depth: int = DEPTH,
    prior: tuple[float, float] = (1.0, 1.0),
    weights: Weights | Mapping[str, float] = WEIGHTS,
    families: Mapping[str, str] | bool = False,
    worlds: int = WORLDS,
    people: int = consensus.PEOPLE,
    level: float = 0.95,
    depths: Sequence[int] = DEPTHS,
    plugin: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Appraisal:
    """Runs alone: the consensus of their votes, every system scored within it, ⊤ as baseline.

    One belief with all votes in it serves worlds, orders, P(A better) and P(best); `alone` is each system's level
    without its own votes (or its family's). `votes` are given where systems said yes, no or unknown to named items
    instead of ranking; then depths play no part. `labels` are judged pairs: the belief holds them certain.
    """
    policy = policy or Policy(ties=run.ties)
    wanted = parse_all(measures)
    said = votes if votes is not None else consensus.votes(run, depth)
    counted = consensus.tally(said, prior=prior, weights=weights)
    rng = np.random.default_rng(policy.seed)
    belief = consensus.belief_of(
        counted, people=people, rng=rng, depth=None if votes is not None else depth, weights=weights
    )
    belief = belief if labels is None else pinned(belief, labels)
    whole = with_everything(run, counted, policy.seed)
    scores = measure_belief(whole, belief, wanted, policy, worlds=worlds, level=level, plugin=plugin, progress=progress)
    made = appraise(scores, belief, level=level, seed=policy.seed, baseline=EVERYTHING)
    summary = made.summary
    if labels is None and not plugin:
        alone = left_out(run, counted, wanted, policy, families=families).rename({"value": "alone"})
        summary = summary.join(alone, on=["system", "measure"], how="left", maintain_order="left")
    unique = pl.DataFrame({"system": counted.systems, "unique": counted.unique})
    summary = summary.join(unique, on="system", how="left", maintain_order="left")
    table = None
    if votes is None:
        table = _by_depth(
            run, wanted[0], policy, depth, depths, prior=prior, weights=weights, labels=labels, progress=progress
        )
    warnings = (*_of_consensus(summary, counted, table, wanted[0]), *made.warnings)
    return replace(made, summary=summary, depths=table, warnings=warnings, sentence=CAN)


def with_everything(run: Run, counted: Tally, seed: int) -> Run:
    """The run and ⊤: all items of the universe, in an order drawn from the seed."""
    parts = []
    for (query,), rows in counted.rows.group_by("query", maintain_order=True):
        rng = np.random.default_rng((seed, crc32(str(query).encode()), 2))
        parts.append(rows.with_columns(pl.Series("rank", rng.permutation(rows.height) + 1, dtype=pl.UInt32)))
    frame = pl.concat(parts).sort("query", "rank")
    frame = frame.select(
        pl.lit(EVERYTHING).alias("system"), "query", "item", "rank", pl.col("rank").alias("block"),
        (-pl.col("rank").cast(pl.Float64)).alias("score"),
    )  # fmt: skip
    return Run(pl.concat([run.frame, frame.cast(dict(run.frame.schema))]), run.ties)  # type: ignore[arg-type]


def _by_depth(
    run: Run, first: Measure, policy: Policy, depth: int, depths: Sequence[int], *, prior: tuple[float, float],
    weights: Weights | Mapping[str, float], labels: Opinions | None, progress: Callable[[str, int, int], None] | None,
) -> pl.DataFrame | None:  # fmt: skip
    """The order on the first measure where votes are taken at other depths."""
    deepest = int(run.frame["rank"].max() or 0)  # type: ignore[arg-type]
    asked = sorted(
        {depth, *(d for d in depths if d <= deepest), *([deepest] if deepest < max(depths, default=0) else [])}
    )
    if len(asked) < 2:
        return None
    means = {}
    for number, d in enumerate(asked):
        counted = consensus.tally(consensus.votes(run, d), prior=prior, weights=weights)
        held = consensus.belief_of(counted)
        means[d] = expectations(run, held if labels is None else pinned(held, labels), first, policy)[0]
        if progress is not None:
            progress("depths", number + 1, len(asked))
    sign = -1 if first.definition.lower else 1
    rows = [
        (d, orders.tau(sign * mean, sign * means[depth]), run.systems[int(np.nanargmax(sign * mean))])
        for d, mean in means.items()
    ]
    return pl.DataFrame(rows, schema={"depth": pl.Int64, "tau": pl.Float64, "leader": pl.String}, orient="row")


def _of_consensus(summary: pl.DataFrame, counted: Tally, depths: pl.DataFrame | None, first: Measure) -> list[str]:
    """When not to trust a consensus."""
    warnings = []
    lonely = [
        f"{system} ({share:.0%})"
        for system, share in sorted(zip(counted.systems, counted.unique, strict=True), key=lambda pair: -pair[1])
        if share >= LONELY
    ]
    if lonely:
        warnings.append(
            f"nobody else returned half or more of what {_some(lonely)} returned: the consensus can only count that "
            "against it, be it wrong or the best; judge a sample of these items (endoxa next)"
        )
    groups = {tuple(group) for group in counted.families() if len(group) > 1}
    if groups and (counted.weights == 1).all():
        told = "; ".join(_some([counted.systems[place] for place in group]) for group in sorted(groups))
        warnings.append(f"nearly the same lists: {told}. They outvote others; try --weights redundancy or cluster")
    own = summary.filter(pl.col("measure") == str(first))
    everything = own.filter(pl.col("system") == EVERYTHING)
    if everything.height:
        mark = everything["value"][0]
        worse = (pl.col("value") >= mark) if first.definition.lower else (pl.col("value") <= mark)
        below = own.filter((pl.col("system") != EVERYTHING) & worse)["system"].to_list()
        if len(below) == len(counted.systems):
            warnings.append(
                f"no system does better on {first} than {EVERYTHING}, everything in random order: it finds all that is "
                "believed, and lists end"
            )
        elif below:
            do = "does" if len(below) == 1 else "do"
            warnings.append(f"{_some(below)} {do} no better on {first} than {EVERYTHING}, everything in random order")
    if depths is not None and (unstable := depths.filter(pl.col("tau") < 0.8)).height:
        told = ", ".join(f"{d} (tau {tau:.2f})" for d, tau in unstable.select("depth", "tau").iter_rows())
        warnings.append(f"the order hangs on the depth of votes: it changes at depth {told}")
    if len(counted.systems) < 4:
        warnings.append(f"{len(counted.systems)} systems are few voters; four or five independent ones are the least")
    return warnings


def _some(names: Sequence[str], most: int = 4) -> str:
    """A list of names in words, shortened."""
    rest = len(names) - most
    shown = list(names[:most]) + ([f"{rest} others" if rest > 1 else "one other"] if rest > 0 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
