"""Systems compared in the same possible worlds, with three doubts kept apart.

    truth     which items are relevant, given the belief
    people    what the belief would be had others of the same kind been asked
    queries   what the mean would be over other queries of the same kind

For a mean over Q queries: Var = Var_q(E[M_q]) / Q + mean_q Var(M_q | belief) / Q + Var_people(E[mean]). Queries are
resampled on their expectations and the worlds are added as deviations: resampling the worlds' values themselves
would count the doubt about the truth twice. Source: METHODS 0.3, A.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import polars as pl

from endoxa.comparisons.intervals import SUMMARY
from endoxa.errors import EndoxaError, JoinError, TextError, did_you_mean
from endoxa.statistics.bootstrap import BLOCK, TINY, blocks, query_counts
from endoxa.tables import Comparison, Floats, Ints, Scores

Doubt = Literal["truth", "people", "queries", "all"]
RESAMPLES = 4_000


@dataclass(frozen=True)
class Spread:
    """Means over queries, and how they may deviate: one row per system, one column per draw.

    centre   [system] mean over queries of the expectations
    truth    [system, world] means in the worlds
    people   [system, world] means in the people's worlds, in pairs, with the chance of the first worlds of `truth`;
             they hold the doubt about the truth too; None if nobody can be resampled
    queries  [system, resample] deviations from the centre
    """

    systems: list[str]
    centre: Floats
    truth: Floats | None
    people: Floats | None
    queries: Floats | None

    def drawn(self, doubt: Doubt) -> Floats | None:
        """Means in draws that hold this doubt: [system, draw]. People's doubt alone has no draws, only a variance."""
        worlds = self.people if self.people is not None else self.truth
        if doubt == "truth":
            return self.truth
        if doubt == "queries":
            return None if self.queries is None else self.centre[:, None] + self.queries
        if doubt == "people":
            return None
        if worlds is None or self.queries is None:
            return worlds if worlds is not None else self.drawn("queries")
        size = self.queries.shape[1]
        if self.people is not None:  # resampling shifts means a little; the centre is that of the belief as it is
            worlds = worlds - worlds.mean(1, keepdims=True) + self.centre[:, None]
        # the worlds of the truth stay as they are: moved by a hair, equal values would no longer be ties
        return self.queries + np.resize(worlds.T, (size, len(self.systems))).T

    def variances(self, weights: Floats) -> dict[str, float]:
        """Variance of a combination of the systems' means, by doubt; NaN where it cannot be known.

        The worlds of the people come in pairs under one resample, and each has its twin among the worlds of the
        belief as it is: the covariance of the two differences is the variance that the choice of people makes.
        """
        made = dict.fromkeys(("truth", "people", "queries"), float("nan"))
        if self.truth is not None:
            made["truth"] = float(np.var(weights @ self.truth, ddof=1))
        if self.people is not None:
            both = weights @ self.people
            if self.truth is not None:
                size = min(self.truth.shape[1], len(both)) // 2 * 2
                both = both[:size] - weights @ self.truth[:, :size]
            one, two = both[0::2] - both.mean(), both[1::2] - both.mean()
            made["people"] = max(0.0, float((one * two).sum() / max(len(one) - 1, 1)))
        if self.queries is not None:
            made["queries"] = float(np.var(weights @ self.queries))
        return made


def spread(scores: Scores, measure: str, *, resamples: int = RESAMPLES, rng: np.random.Generator) -> Spread:
    """How the mean of each system on a measure may deviate. Queries without a value are left out of a system's mean."""
    systems, queries, values = scores.matrix(measure)
    seen = ~np.isnan(values)
    number = seen.sum(1)
    centre = np.where(number > 0, np.where(seen, values, 0.0).sum(1) / np.maximum(number, 1), np.nan)
    truth = people = None
    if scores.draws is not None and measure in scores.draws.measures:
        row = scores.draws.measures.index(measure)
        kept = [scores.draws.queries.index(query) for query in queries]
        truth = _means(scores.draws.truth, row, kept)
        people = _means(scores.draws.people, row, kept)
    return Spread(systems, centre, truth, people, _query_deviations(values, centre, resamples, rng))


def _means(draws: Floats | None, row: int, kept: list[int]) -> Floats | None:
    """Means over queries in each world."""
    if draws is None:
        return None
    values = draws[row][:, kept]
    seen = ~np.isnan(values)
    return np.asarray(np.where(seen, values, 0.0).sum(1) / np.maximum(seen.sum(1), 1))


def _query_deviations(values: Floats, centre: Floats, resamples: int, rng: np.random.Generator) -> Floats | None:
    """Means over resampled queries, less the mean; widened by √(n/(n−1)), as the variance of few queries asks for."""
    size = values.shape[1]
    if size < 2:
        return None
    seen = ~np.isnan(values)
    filled = np.where(seen, values - centre[:, None], 0.0)
    parts = []
    for block in blocks(resamples, BLOCK // size):
        drawn = query_counts(size, block.stop - block.start, rng)
        parts.append((filled @ drawn.T) / np.maximum(seen @ drawn.T, 1))
    n = np.maximum(seen.sum(1, keepdims=True), 2)
    return np.asarray(np.concatenate(parts, 1) * np.sqrt(n / (n - 1)))


def best(made: Spread, *, lower: bool = False, leave_out: Sequence[str] = ()) -> dict[str, float]:
    """P(best) of every system, all doubts in; equals share. Systems left out (a baseline) have no part in it."""
    rows = [place for place, system in enumerate(made.systems) if system not in leave_out]
    drawn = made.drawn("all")
    if drawn is None:
        return {made.systems[place]: float("nan") for place in rows}
    means = -drawn[rows] if lower else drawn[rows]
    means = np.where(np.isnan(means), -np.inf, means)
    first = means >= means.max(0) - TINY
    shares = (first / first.sum(0)).mean(1)
    return {made.systems[place]: float(share) for place, share in zip(rows, shares, strict=True)}


def summarise(
    scores: Scores,
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
    doubt: Doubt = "all",
    level: float = 0.95,
    resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Mean of every system on every measure with an interval that holds the doubt: as `intervals.summarise`.

    `undefined` is the expected number of queries on which the measure is 0/0.
    """
    seed = int(rng.integers(1 << 62))
    rows: list[tuple[str, str, float, float, float, float, int, int]] = []
    for measure in scores.measures:
        made = spread(scores, measure, resamples=resamples, rng=np.random.default_rng(seed))
        _, _, values = scores.matrix(measure)
        drawn = made.drawn(doubt)
        low, high = (limits or {}).get(measure, (-np.inf, np.inf))
        holes = scores.frame.filter(pl.col("measure") == measure).group_by("system").agg(pl.col("undefined").sum())
        undefined = dict(holes.iter_rows())
        for place, system in enumerate(made.systems):
            ends = np.full(2, np.nan) if drawn is None else _ends(drawn[place : place + 1], level)[:, 0]
            error = float("nan") if drawn is None else float(drawn[place].std(ddof=1))
            lo, hi = np.clip(ends, low, high)
            number, holes_ = int((~np.isnan(values[place])).sum()), round(undefined.get(system, 0.0))
            rows.append((system, measure, float(made.centre[place]), float(lo), float(hi), error, number, holes_))
    frame = pl.DataFrame(rows, schema=SUMMARY, orient="row")
    order = {system: place for place, system in enumerate(scores.systems)}
    return frame.sort(pl.col("system").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)


def _ends(draws: Floats, level: float) -> Floats:
    """The middle `level` of each row: [2, row]."""
    ordered = np.sort(draws, 1)
    size, tail = ordered.shape[1], (1 - level) / 2
    return np.stack([ordered[:, int(np.floor(tail * (size - 1)))], ordered[:, int(np.ceil((1 - tail) * (size - 1)))]])


def compare(
    scores: Scores,
    *,
    baseline: str | None = None,
    measures: Sequence[str] | None = None,
    lower: Sequence[str] = (),
    level: float = 0.95,
    resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> Comparison:
    """Every pair of systems, or every system against `baseline`, on every measure: a row for each doubt.

    `p_better` is the probability that the system's mean is better than the baseline's; `p_tie` that they are equal;
    `superiority` p_better + p_tie/2; `sd` the deviation of the difference; [lo, hi] its middle `level`. Of the row
    `people` these follow from the variance by the normal law. There is no p-value: the distribution is known, not
    sampled. Where one doubt cannot be known its row holds NaN, and `all` is without it.
    """
    if len(scores.systems) < 2:
        raise JoinError("a comparison needs two systems; add a run")
    if baseline is not None and baseline not in scores.systems:
        raise TextError(f"no system is called {baseline!r}{did_you_mean(baseline, scores.systems)}")
    seed = int(rng.integers(1 << 62))
    frames = []
    for measure in measures or scores.measures:
        made = spread(scores, measure, resamples=resamples, rng=np.random.default_rng(seed))
        pairs = _pairs(made.systems, baseline)
        shared = _shared_queries(scores, measure, pairs)
        for doubt in get_args(Doubt):
            columns = _rows(made, pairs, doubt, level, lower=measure in lower)
            names = {
                "measure": [measure] * len(pairs),
                "system": [made.systems[a] for a, _ in pairs],
                "baseline": [made.systems[b] for _, b in pairs],
                "doubt": [doubt] * len(pairs),
            }
            frames.append(pl.DataFrame(names | columns | {"queries": shared}))
    frame = pl.concat(frames)
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in Comparison.SCHEMA.items() if name not in frame.columns]
    frame = frame.with_columns(absent).select(list(Comparison.SCHEMA)).cast(Comparison.SCHEMA)  # type: ignore[arg-type]
    return Comparison(frame, tuple(_notes(scores, level, resamples)))


def _pairs(systems: list[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    base = systems.index(baseline)
    return [(place, base) for place in range(len(systems)) if place != base]


def _shared_queries(scores: Scores, measure: str, pairs: list[tuple[int, int]]) -> list[int]:
    seen = (~np.isnan(scores.matrix(measure)[2])).astype(np.int64)
    both = seen @ seen.T
    return [int(both[a, b]) for a, b in pairs]


def _rows(made: Spread, pairs: list[tuple[int, int]], doubt: Doubt, level: float, *, lower: bool) -> dict[str, Floats]:
    left, right = np.array(pairs).T
    difference = made.centre[left] - made.centre[right]
    columns = {"difference": difference} | {
        name: np.full(len(pairs), np.nan) for name in ("lo", "hi", "p_better", "p_tie", "superiority", "sd")
    }
    if doubt == "people":
        _by_normal_law(made, columns, left, right, level, lower=lower)
        return columns
    drawn = made.drawn(doubt)
    if drawn is None:
        return columns
    for block in blocks(len(pairs), BLOCK // drawn.shape[1]):
        a, b = drawn[left[block]], drawn[right[block]]
        d = a - b
        d[np.abs(d) <= TINY * np.maximum(np.abs(a), np.abs(b))] = 0
        columns["lo"][block], columns["hi"][block] = _ends(d, level)
        columns["p_better"][block] = ((d < 0) if lower else (d > 0)).mean(1)
        columns["p_tie"][block] = (d == 0).mean(1)
        columns["sd"][block] = d.std(1, ddof=1)
    columns["superiority"] = columns["p_better"] + columns["p_tie"] / 2
    return columns


def _by_normal_law(
    made: Spread, columns: dict[str, Floats], left: Ints, right: Ints, level: float, *, lower: bool
) -> None:
    """The people's doubt: its variance is known, its draws are not."""
    from scipy import special

    if made.people is None:
        return
    for number, (a, b) in enumerate(zip(left, right, strict=True)):
        weights = np.zeros(len(made.systems))
        weights[a], weights[b] = 1.0, -1.0
        columns["sd"][number] = np.sqrt(made.variances(weights)["people"])
    sd, difference = columns["sd"], columns["difference"]
    reach = float(special.ndtri((1 + level) / 2))
    columns["lo"], columns["hi"] = difference - reach * sd, difference + reach * sd
    signed = -difference if lower else difference
    sure = np.where(signed > 0, 1.0, np.where(signed < 0, 0.0, np.nan))
    columns["p_better"] = np.where(sd > 0, special.ndtr(signed / np.where(sd > 0, sd, 1.0)), np.nan_to_num(sure))
    columns["p_tie"] = np.where((sd == 0) & (difference == 0), 1.0, 0.0)
    columns["superiority"] = columns["p_better"] + columns["p_tie"] / 2


def doubts(scores: Scores, measure: str, *, baseline: str | None = None, rng: np.random.Generator) -> pl.DataFrame:
    """Variance of each system's mean (or of its difference to `baseline`) by doubt, and the share of each.

    Columns: system, doubt, variance, share. More people help against `people`, more queries against `queries`;
    against `truth` only clearer questions or judged pairs help.
    """
    made = spread(scores, measure, rng=rng)
    rows: list[tuple[str, str, float]] = []
    for place, system in enumerate(made.systems):
        weights = np.zeros(len(made.systems))
        weights[place] = 1.0
        if baseline is not None:
            if baseline not in made.systems:
                raise EndoxaError(f"no system is called {baseline!r}{did_you_mean(baseline, made.systems)}")
            weights[made.systems.index(baseline)] -= 1.0
        rows += [(system, doubt, value) for doubt, value in made.variances(weights).items()]
    frame = pl.DataFrame(rows, schema={"system": pl.String, "doubt": pl.String, "variance": pl.Float64}, orient="row")
    total = pl.col("variance").fill_nan(None).sum().over("system")
    return frame.with_columns(pl.when(total > 0).then(pl.col("variance") / total).otherwise(None).alias("share"))


def _notes(scores: Scores, level: float, resamples: int) -> list[str]:
    draws = scores.draws
    worlds = 0 if draws is None or draws.truth is None else draws.truth.shape[-1]
    others = 0 if draws is None or draws.people is None else draws.people.shape[-1] // 2
    notes = [
        f"P(better): over {worlds:,} possible worlds shared by all systems"
        + (f", {others:,} resamples of the voters" if others else "")
        + f" and {resamples:,} resamples of the queries; interval: the middle {100 * level:g} %",
    ]
    if not others:
        notes.append(
            "doubt about the people: not known (one voice, or none that can be resampled); `all` is without it"
        )
    return notes
