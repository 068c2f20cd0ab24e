"""The same runs over a corpus judged in several ways: what each way says, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Universe
from endoxa.beliefs.models import believe
from endoxa.comparisons.orders import tau
from endoxa.errors import TableError, TextError
from endoxa.evaluations import believed, consensus
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus, Progress, labels_of, same_category
from endoxa.measures.grammar import parse, parse_all
from endoxa.policies import UNTIL
from endoxa.pools.deciding import Question, simulate
from endoxa.tables import Belief, Run

CONSENSUS, FOLDERS, LEVELS = "consensus", "folders", "folders, level in doubt"
MEANINGS = {
    CONSENSUS: "nobody judged; an item is relevant to the degree that the systems agree on it. Each system has a vote, "
    "and systems that return the same items share one",
    FOLDERS: "labels, not truth: what is in the same folder (category) as the query is relevant, nothing else",
    LEVELS: "labels, not truth: it is unknown how general the query was meant; each category on its path below the "
    "root is one reading, and all have the same weight",
}
VOTES = 20  # a system votes for its first 20 items
STEPS = (5, 5, 10, 5, 25)  # labels between two looks at the verdict: after 5, 10, 20, 25, 50, 75, …
MOST = 600  # labels after which the folders are not asked any more


@dataclass(frozen=True)
class Verdicts:
    """What several ways of judging say about the same systems, on one measure.

    standings   way, system, value, lo, hi, place (1 is best; equal values share the better place), p_best
    agreement   way, other, tau: Kendall's tau-b of the two orders; NaN where all values of one are tied
    pairs       system, baseline, and a column per way with its name: P(system better), ties counted half; the system
                is the one that the first way ranks higher
    """

    measure: str
    ways: Mapping[str, Evaluation]
    standings: pl.DataFrame
    agreement: pl.DataFrame
    pairs: pl.DataFrame


@dataclass(frozen=True)
class Course:
    """How labels, asked for one batch after the other, change which system is called the best.

    curve       labels, system, p_best: after every batch, from no label at all
    leader      the system that leads in the end; with probability `chance` it is the best, or within `margin` of it
    labels      number of labels given
    is_settled  whether the question is settled
    """

    measure: str
    curve: pl.DataFrame
    leader: str
    chance: float
    labels: int
    is_settled: bool
    until: float = UNTIL
    margin: float = 0.0


def sampled(corpus: Corpus, items: Iterable[str], sample: int, seed: int) -> list[str]:
    """Queries drawn from these items with `seed`. Each shares its category with another item, if two or more do."""
    if sample < 2:
        raise TextError(f"a contest needs two queries or more, not {sample}", remedy="about 60 distinguish systems")
    usable = corpus.frame.filter(pl.col("item").is_in(list(items)))
    mates = usable.filter(pl.col("category").is_not_null() & (pl.col("category").count().over("category") > 1))
    names = (mates if mates.height >= 2 else usable)["item"].to_list()
    drawn = np.random.default_rng(seed).permutation(len(names))[:sample]
    return [names[at] for at in sorted(drawn)]


def judged(
    run: Run, corpus: Corpus, queries: Sequence[str], *, measures: Sequence[str], worlds: int, seed: int,
    progress: Progress | None = None,
) -> dict[str, Evaluation]:  # fmt: skip
    """The run under each way of judging: by consensus; by category; by category with doubt about the level.

    Without categories there is only the first. If every category holds one picture, the second is left out.
    """
    beliefs: dict[str, Belief | None] = {CONSENSUS: None}
    if corpus.frame["category"].drop_nulls().n_unique() > 1:
        labels, taxonomy = labels_of(corpus)
        judgments = same_category(corpus, queries)
        if len(judgments):
            beliefs[FOLDERS] = believe(judgments, "crisp")
        beliefs[LEVELS] = believe(labels, "levels", taxonomy=taxonomy, queries=list(queries))
    depth = vote_depth(len(corpus))
    ways = {}
    for number, (way, belief) in enumerate(beliefs.items()):
        if progress is not None:
            progress(f"judging by {way}", number, len(beliefs))
        ways[way] = _evaluated(run, belief, measures, worlds=worlds, seed=seed, depth=depth)
    if progress is not None:
        progress("judging", len(beliefs), len(beliefs))
    return ways


def labelled(
    run: Run, corpus: Corpus, queries: Sequence[str], *, measure: str, seed: int, progress: Progress | None = None
) -> Course | None:
    """Ask the folders for labels, in the loop in which `endoxa decide` asks people, until the best system is known.

    It ends when the question is settled, or after 600 labels. A pair is relevant if both pictures are in the same
    folder; the query itself is in no list, and so never asked for. None where there is nothing to settle or nobody to
    ask: fewer than two systems, no folder with two pictures, or a measure without a linear form.
    """
    judgments = same_category(corpus, queries)
    known = run.frame.filter(pl.col("query").is_in(judgments.frame["query"].unique().to_list()))
    chosen = parse(measure)
    if len(run.systems) < 2 or chosen.linear is None or not known.height:
        return None
    universe = Universe.of(Run(known, run.ties))
    pairs = judgments.frame.select("query", "item", "grade")
    filed = universe.rows.join(pairs, on=["query", "item"], how="left", maintain_order="left")
    grades = filed["grade"].fill_null(0.0).to_numpy()
    looks = simulate(
        universe, Question(chosen, "best"), lambda rows: grades[rows], batch=STEPS, most=MOST,
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    parts = []
    for now in looks:
        count = len(now.learned.judged)
        parts.append(pl.DataFrame({"labels": count, "system": universe.systems, "p_best": now.best}))
        if progress is not None:
            progress("asking for labels", count, MOST)
    if progress is not None:
        progress("asking for labels", MOST, MOST)
    return Course(measure, pl.concat(parts), now.leader, now.chance, count, now.is_settled, margin=now.question.margin)


def vote_depth(pictures: int) -> int:
    """The number of items that a system votes for: 20, or a fifth of a small corpus.

    A system that votes for every picture carries no information.
    """
    return max(1, min(VOTES, pictures // 5))


def _evaluated(
    run: Run, belief: Belief | None, measures: Sequence[str], *, worlds: int, seed: int, depth: int
) -> Evaluation:
    """The run under a belief, or by the consensus of its systems if there is none."""
    settings = Settings(worlds=worlds, seed=seed, depth=depth)
    if belief is None:
        return consensus.evaluate(run, parse_all(measures), settings)
    return believed.evaluate(run, belief, parse_all(measures), settings)


def ties_of(run: Run) -> dict[str, float]:
    """The share of each system's ranks that are tied."""
    blocks = run.frame.group_by("system", "query", "block").len()
    tied = blocks.group_by("system").agg(
        (pl.col("len").filter(pl.col("len") > 1).sum() / pl.col("len").sum()).alias("share")
    )
    return dict(tied.select("system", "share").iter_rows())


def verdicts(ways: Mapping[str, Evaluation], measure: str | None = None) -> Verdicts:
    """Compare evaluations of the same systems, on the first measure of the first one unless a measure is named.

    Probabilities include all doubts that a way knows of. The virtual system of a way (⊤) is left out.
    """
    if not ways:
        raise TableError("there is nothing to compare", remedy="expected one evaluation or more")
    first = next(iter(ways.values()))
    name = measure or first.measures[0]
    systems = first.systems
    for way, one in ways.items():
        if set(one.systems) != set(systems):
            odd = sorted(set(one.systems) ^ set(systems))[0]
            raise TableError(f"{way!r} judges other systems than the first way ({odd!r} is in only one of them)")
        if name not in one.measures:
            raise TableError(f"{way!r} has no {name}", remedy=f"it has {', '.join(one.measures)}")
    lower = parse(name).definition.lower
    tables = {way: _standings(way, one, name, lower=lower) for way, one in ways.items()}
    values = {way: dict(table.select("system", "value").iter_rows()) for way, table in tables.items()}
    agreement = [
        (a, b, tau(np.array([values[a][s] for s in systems]), np.array([values[b][s] for s in systems])))
        for a, b in combinations(ways, 2)
    ]
    schema = {"way": pl.String, "other": pl.String, "tau": pl.Float64}
    leading = next(iter(values.values()))
    order = sorted(systems, key=lambda system: (leading[system] if lower else -leading[system], system))
    return Verdicts(
        name, ways, pl.concat(tables.values()), pl.DataFrame(agreement, schema=schema, orient="row"),
        _pairs(ways, name, order),
    )  # fmt: skip


def _standings(way: str, one: Evaluation, measure: str, *, lower: bool) -> pl.DataFrame:
    own = one.summary.filter((pl.col("measure") == measure) & pl.col("system").is_in(one.systems))
    return own.select(
        pl.lit(way).alias("way"),
        "system",
        "value",
        "lo",
        "hi",
        pl.col("value").rank("min", descending=not lower).cast(pl.Int64).alias("place"),
        "p_best",
    ).sort("place", "system")


def _pairs(ways: Mapping[str, Evaluation], measure: str, order: list[str]) -> pl.DataFrame:
    """P(better) of every pair under every way."""
    frame = pl.DataFrame(
        list(combinations(order, 2)), schema={"system": pl.String, "baseline": pl.String}, orient="row"
    )
    for way, one in ways.items():
        if one.comparison is None:
            return frame
        rows = (pl.col("measure") == measure) & (pl.col("doubt") == "all")
        forward = one.comparison.frame.filter(rows).select(
            "system", "baseline", (pl.col("p_better") + 0.5 * pl.col("p_tie")).alias(way)
        )
        backward = forward.select(
            pl.col("baseline").alias("system"), pl.col("system").alias("baseline"), (1 - pl.col(way)).alias(way)
        )
        both = pl.concat([forward, backward])
        frame = frame.join(both, on=["system", "baseline"], how="left", maintain_order="left")
    return frame
