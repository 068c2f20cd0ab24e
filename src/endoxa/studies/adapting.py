"""A further round of pairs, chosen from the answers so far so that all answers use the scale evenly."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.notes import Note, note, warning
from endoxa.pools.pooling import pool
from endoxa.statistics import ordinal
from endoxa.statistics.propensity import effective, systematic
from endoxa.studies.sampling import DRAWS, Plan, in_tasks, refuse_tasks
from endoxa.studies.uniformity import of_counts
from endoxa.tables import COUNTED, Floats, Ints, Opinions, Run

FEWEST = 30  # answered pairs that a model of the grades needs
MOST = 0.8  # chance of a pair, at most, while there are pairs to choose from
SMALLEST = 8  # pairs in a cell, at least


@dataclass(frozen=True, eq=False)
class Round:
    """The pairs that can still be asked, the chance of each, and what the model expects of them.

    expected   the number of pairs of each grade among all that are left; None without a model
    predicted  the number of answers of each grade that the round is expected to give; None without a model
    """

    pi: Floats
    expected: Floats | None = None
    predicted: Floats | None = None


def adapt(
    run: Run,
    opinions: Opinions,
    count: int,
    *,
    round: int,  # noqa: A002 (the column's name)
    scale: tuple[float, float, int],
    floor: float = 0.2,
    depth: int | None = None,
    asked: pl.DataFrame | None = None,
    per_task: int = 4,
    rng: np.random.Generator,
) -> Plan:
    """A further round of `count` pairs, drawn so that all answers together use the `scale` evenly.

    A proportional-odds model predicts the grade of every pooled pair that was not asked yet, from its ranks and its
    standardised scores in all systems. Pairs are cut into cells by prediction, fine at both ends; a linear programme
    shares the round among the cells so that the predicted answers fill what the earlier ones lack. A share `floor` of
    the round is spread over all n pairs, so that every propensity is at least floor·count/n; none is above .8 while
    count ≤ .8 n, and each is exact. Propensities are conditional on earlier rounds; estimates.weights combines the
    rounds. `asked` (query, item) are pairs that are planned but not answered yet. `scale` is the lowest grade, the
    highest grade and the number of grades. If all answers so far have one grade, there is nothing to learn from, and
    pairs are drawn by 1/rank.
    Misleads: pairs outside the pool (with a collection in round 1) have propensity 0; then do not combine the rounds.
    Adaptive rounds have few effective pairs: to estimate precision and recall, do not adapt.
    Source: Barnard et al., section 2.1, for the aim; docs/methods/studies.md, Adaptive rounds.
    """
    refuse_tasks(per_task)
    lo, hi, grades = scale
    if count < 1 or round < 2:
        raise TextError(
            f"an adaptive round has at least 1 pair and number 2 or more, not {count} pairs and number {round}"
        )
    if not 0 < floor <= 1:
        raise TextError(f"the floor is above 0 and at most 1, not {floor:g}; at 0 some pairs have propensity 0")
    if not lo < hi or grades < 2:
        raise TextError(f"the scale is the lowest grade, the highest grade and the number of grades, not {scale}")
    deepest = int(run.frame["rank"].to_numpy().max(initial=1))
    pairs = pool(run, deepest if depth is None else depth).select("query", "item", "best")
    known = [opinions.frame.select("query", "item")] + ([] if asked is None else [asked.select("query", "item")])
    left = pairs.join(pl.concat(known), on=["query", "item"], how="anti", maintain_order="left")
    if not left.height:
        raise JoinError(f"all {pairs.height:,} pooled pairs were asked already; there is nothing left to draw from")
    rated = _rated(run, opinions)
    grade = _nearest(rated["grade"].to_numpy(), scale)
    so_far = np.bincount(grade, minlength=grades).astype(np.float64)
    if np.count_nonzero(so_far) > 1:
        drawn = _by_model(features(run, rated), features(run, left), grade, so_far, count, floor)
    else:
        best = left["best"].to_numpy().astype(np.float64)
        drawn = Round(_limited(1 / best, count, floor))
    chosen = systematic(drawn.pi, rng)
    rows = left[chosen].select(
        "query", "item", pl.Series("propensity", drawn.pi[chosen]), pl.lit("adaptive").alias("selected_by"),
        pl.lit(round).alias("draw"),
    )  # fmt: skip
    tasks = in_tasks(rows, per_task, rng, round)
    notes = [note("round.drawn", round=round, pairs=tasks.height, tasks=tasks["task"].n_unique(), left=left.height)]
    notes += _notes(drawn, so_far, count, scale)
    notes.append(note("plan.worth", pairs=tasks.height, effective=effective(1 / tasks["propensity"].to_numpy())))
    return Plan(tasks, pl.DataFrame(schema=DRAWS), tuple(notes))


def features(run: Run, pairs: pl.DataFrame) -> Floats:
    """For each pair and system −ln rank and z = (score − mean)/sd over the system's list of the query.

    A pair that the system did not return has the rank after its longest list and its least z. The sd of a list of equal
    scores is 0, and so is its z; a score that is not finite has the least z too.
    """
    score, keys = pl.col("score"), ["query", "item"]
    spread = score.std(ddof=0).over("query")
    z = pl.when(spread > 1e-12 * score.abs().max().over("query")).then((score - score.mean().over("query")) / spread)
    columns = []
    for system in run.systems:
        mine = run.frame.filter(pl.col("system") == system)
        finite = mine.filter(score.is_finite()).select(*keys, z.fill_null(0.0).alias("z"))
        lists = mine.select(*keys, "rank").join(finite, on=keys, how="left")
        last, least = float(mine["rank"].to_numpy().max()) + 1, float(finite["z"].to_numpy().min(initial=0.0))
        at = pairs.select(keys).join(lists, on=keys, how="left", maintain_order="left")
        columns += [
            -np.log(at["rank"].cast(pl.Float64).fill_null(last).to_numpy()),
            at["z"].fill_null(least).to_numpy(),
        ]
    return np.column_stack(columns)


def cells(eta: Floats, count: int) -> Ints:
    """The cell of each pair by its prediction: sizes s, s, 2s, 4s … from both ends to the middle, s = max(8, count/40).

    Cells are fine at the ends, because a rare grade drowns in a large cell.
    """
    n = len(eta)
    top, bottom = n // 2, n - n // 2
    size = max(SMALLEST, round(count / 40))
    ends = [size * 2**step for step in range(64) if size * 2**step < bottom]  # s, s, 2s, 4s … cumulated: s, 2s, 4s …
    edges = sorted({0, n, top, *(end for end in ends if end < top), *(n - end for end in ends)})
    cell = np.empty(n, dtype=np.int64)
    cell[np.argsort(-eta, kind="stable")] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    return cell


def shares(p: Floats, size: Ints, target: Floats, count: int, floor: float) -> Floats:
    """The share of the round that each cell gets, by a linear programme; Σ shares = 1.

    p [cell, grade] is the mean predicted distribution of a cell. With w the shares above the floor, minimise
        Σ_c |Σ_k p_kc (w_k + floor N_k/n) − target_c|,   w ≥ 0,  Σ w = 1 − floor,  w_k + floor N_k/n ≤ .8 N_k/count
    Where more than .8 of all pairs are asked, nothing satisfies that; the shares are then those of the pairs.
    """
    from scipy.optimize import linprog

    k, grades = p.shape
    even = size / size.sum()
    most = MOST * size / count - floor * even
    if most.sum() < 1 - floor or most.min() < 0:
        return np.asarray(even)
    base = target - floor * even @ p
    # the unknowns are w and one bound t_c ≥ |…| per grade
    sides = np.block([[p.T, -np.eye(grades)], [-p.T, -np.eye(grades)]])
    found = linprog(
        np.concatenate([np.zeros(k), np.ones(grades)]), A_ub=sides, b_ub=np.concatenate([base, -base]),
        A_eq=np.concatenate([np.ones(k), np.zeros(grades)])[None], b_eq=[1 - floor],
        bounds=[*((0, end) for end in most), *((0, None) for _ in range(grades))],
    )  # fmt: skip
    if not found.success:
        return np.asarray(even)
    w = np.clip(found.x[:k], 0, most)
    return np.asarray(w * (1 - floor) / w.sum() + floor * even) if w.sum() > 0 else np.asarray(even)


def _by_model(known: Floats, left: Floats, grade: Ints, so_far: Floats, count: int, floor: float) -> Round:
    """The chances of the pairs that are left, so that the predicted answers fill what the answers so far lack."""
    grades, n = len(so_far), len(left)
    model = ordinal.fit(known, grade, grades)
    eta = model.predictor(left)
    each = model.probabilities(eta)
    if n <= count:
        return Round(np.ones(n), each.sum(axis=0), each.sum(axis=0))
    cell = cells(eta, count)
    size = np.bincount(cell)
    p = np.stack([np.bincount(cell, each[:, c]) for c in range(grades)], axis=1) / size[:, None]
    lack = np.maximum((so_far.sum() + count) / grades - so_far, 0)
    share = shares(p, size, lack / lack.sum(), count, floor)
    return Round((count * share / size)[cell], each.sum(axis=0), count * share @ p)


def _limited(mass: Floats, count: int, floor: float) -> Floats:
    """Chances proportional to the mass, with the floor, at most .8, that sum to `count`; all 1 if no more are left."""
    n = len(mass)
    if n <= count:
        return np.ones(n)
    q = (1 - floor) * mass / mass.sum() + floor / n
    most, full = max(MOST, count / n), np.zeros(n, dtype=bool)
    while True:
        pi = np.where(full, most, q * ((count - most * full.sum()) / q[~full].sum()))
        if not (over := pi > most * (1 + 1e-12)).any():
            return np.asarray(np.minimum(pi, most))
        full |= over


def _rated(run: Run, opinions: Opinions) -> pl.DataFrame:
    """The mean grade of each answered pair of the queries of the run: query, item, grade."""
    given = opinions.frame.filter(pl.col("grade").is_not_null() & COUNTED)
    rated = given.group_by("query", "item", maintain_order=True).agg(pl.col("grade").mean())
    rated = rated.join(run.frame.select("query").unique(), on="query", how="semi", maintain_order="left")
    if not rated.height:
        raise JoinError(
            "no query of this run has answers yet", remedy="collect answers of a first round before adapting"
        )
    if rated.height < FEWEST:
        raise JoinError(
            f"{rated.height} pairs have answers, and a round that adapts to them needs {FEWEST}",
            remedy=f"collect {FEWEST - rated.height} more first",
        )
    return rated


def _nearest(values: Floats, scale: tuple[float, float, int]) -> Ints:
    """The number of the nearest grade of the scale, from 0."""
    lo, hi, grades = scale
    share = np.clip((values - lo) / (hi - lo), 0, 1)
    return np.asarray(np.floor(share * (grades - 1) + 0.5), dtype=np.int64)


def _notes(drawn: Round, so_far: Floats, count: int, scale: tuple[float, float, int]) -> list[Note]:
    """How evenly the scale is used so far and will be, and which grades are too rare for an even use."""
    lo, hi, grades = scale
    if drawn.predicted is None or drawn.expected is None:
        grade = lo + (hi - lo) * int(so_far.argmax()) / (grades - 1)
        return [warning("round.one_grade", grade=grade, pairs=int(so_far.sum()))]
    before, after = of_counts(so_far).normalised, of_counts(so_far + drawn.predicted).normalised
    notes = [note("round.evenness", before=before, after=after)]
    need = np.maximum((so_far.sum() + count) / grades - so_far, 0)
    rare = [
        [lo + (hi - lo) * c / (grades - 1), float(drawn.expected[c])]
        for c in range(grades)
        if drawn.expected[c] < need[c]
    ]
    return [*notes, warning("round.rare", grades=rare)] if rare else notes
