"""Systems compared in the same possible worlds, with three doubts kept apart.

    truth     which items are relevant, given the belief
    people    what the belief would be had others of the same kind been asked
    queries   what the mean would be over other queries of the same kind

For a mean over Q queries: Var = Var_q(E[M_q]) / Q + mean_q Var(M_q | belief) / Q + Var_people(E[mean]). A draw that
holds all doubts takes queries at random and of each a world of its own: that has just this variance, and where one
system is at least as good in every world it is so in every draw. Q - 1 of Q queries are drawn, with replacement: their
mean varies as that of Q queries should, where Q of Q would vary too little. Source: METHODS 0.3, A.6; McCarthy and
Snowden 1985 for drawing one less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from endoxa.comparisons.intervals import FLOOR, SUMMARY
from endoxa.errors import EndoxaError, JoinError, TextError, did_you_mean
from endoxa.statistics.bootstrap import BLOCK, TINY, blocks
from endoxa.tables import Bools, Comparison, Floats, Ints, Scores

Doubt = Literal["truth", "people", "queries", "all"]
RESAMPLES = 4_000


@dataclass(frozen=True)
class Spread:
    """What the means over queries may be.

    values  [system, query] expectations; NaN where a system has none
    truth   [system, query, world] values in the worlds. Where a measure is undefined in some worlds these are given
            that it is defined: such a world takes the values of another, the same one for every system
    people  the same for the people's worlds, in pairs, with the chance of the first worlds of `truth`; None if nobody
            can be resampled
    """

    systems: list[str]
    values: Floats
    truth: Floats | None
    people: Floats | None
    resamples: int
    seed: int

    @property
    def known(self) -> Bools:
        """Which queries each system has a value on: [system, query]."""
        return np.asarray(~np.isnan(self.values))

    def centre(self, kept: Bools | None = None) -> Floats:
        """Mean of the expectations over these queries, or over each system's own: [system]."""
        known = self.known if kept is None else self.known & kept
        count = known.sum(1)
        total = np.where(known, self.values, 0.0).sum(1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def drawn(self, doubt: Doubt, kept: Bools | None = None) -> Floats | None:
        """Means over these queries in draws that hold this doubt: [system, draw]; NaN for a system that lacks one.

        Without `kept` every system has its own queries. People's doubt alone has no draws, only a variance.
        """
        if kept is not None:
            return self._means(doubt, np.flatnonzero(kept))
        known = self.known
        made: Floats | None = None
        for pattern in np.unique(known, axis=0):
            some = self._means(doubt, np.flatnonzero(pattern))
            if some is None:
                continue
            rows = (known == pattern).all(1)
            made = np.full((len(known), some.shape[1]), np.nan) if made is None else made
            made[rows] = some[rows]
        return made

    def _means(self, doubt: Doubt, at: Ints) -> Floats | None:
        worlds = self.people if self.people is not None else self.truth
        if doubt == "people" or not len(at):
            return None
        if doubt == "truth" or (doubt == "all" and len(at) < 2):
            chosen = self.truth if doubt == "truth" else worlds
            return None if chosen is None else np.asarray(chosen[:, at].mean(1))
        if len(at) < 2:
            return None
        rng = np.random.default_rng((self.seed, len(at)))
        made = np.empty((len(self.systems), self.resamples))
        size = len(at) - 1 if doubt == "queries" or self.people is None else self._more(at)
        for block in blocks(self.resamples, BLOCK // (len(self.systems) * (size + 1))):
            shape = (block.stop - block.start, size)
            query = at[rng.integers(len(at), size=shape)]
            if doubt == "queries" or worlds is None:
                made[:, block] = self.values[:, query].mean(-1)
            elif self.people is not None:  # all queries of a draw meet the same people
                pair = rng.integers(worlds.shape[2] // 2, size=(shape[0], 1))
                made[:, block] = worlds[:, query, 2 * pair + rng.integers(2, size=shape)].mean(-1)
            else:
                made[:, block] = worlds[:, query, rng.integers(worlds.shape[2], size=shape)].mean(-1)
        return made

    def _more(self, at: Ints) -> int:
        """How many queries a draw takes where people are resampled.

        A resample has two worlds, whose own chance does not average out over the draws and adds half of the doubt
        about the truth once more. So many more queries are drawn that the sum is right: (Q - 1) / (1 - τ/2), τ the
        share of the truth in the variance of single values.
        """
        known = self.known[:, at]
        values = np.where(known, self.values[:, at], 0.0)
        count = np.maximum(known.sum(1, keepdims=True), 1)
        apart = np.where(known, values - values.sum(1, keepdims=True) / count, 0.0)
        queries = float((apart**2).sum() / max(int(known.sum()) - len(known), 1))
        truth = 0.0 if self.truth is None else float(np.nan_to_num(self.truth[:, at].var(-1)).mean())
        share = truth / (truth + queries) if truth + queries > 0 else 0.0
        return max(1, round((len(at) - 1) / (1 - share / 2)))

    def variances(self, weights: Floats) -> dict[str, float]:
        """Variance of a combination of the systems' means, by doubt; NaN where it cannot be known.

        The worlds of the people come in pairs under one resample, and each has its twin among the worlds of the
        belief as it is: the covariance of the two differences is the variance that the choice of people makes. It
        is an estimate, and may come out as 0 where it is small.
        """
        made = dict.fromkeys(("truth", "people", "queries"), float("nan"))
        at = np.flatnonzero(self.known[weights != 0].all(0))
        weights = np.where(weights != 0, weights, 0.0)
        used = weights != 0
        if not len(at):
            return made
        if self.truth is not None:
            truth = np.einsum("s,sw->w", weights[used], self.truth[used][:, at].mean(1))
            made["truth"] = float(np.var(truth, ddof=1))
            if self.people is not None:
                both = np.einsum("s,sw->w", weights[used], self.people[used][:, at].mean(1))
                size = min(len(truth), len(both)) // 2 * 2
                apart = both[:size] - truth[:size]
                one, two = apart[0::2] - apart.mean(), apart[1::2] - apart.mean()
                made["people"] = max(0.0, float((one * two).sum() / max(len(one) - 1, 1)))
        if len(at) > 1:
            made["queries"] = float(np.var(weights[used] @ self.values[used][:, at], ddof=1) / len(at))
        return made


def spread(
    scores: Scores, measure: str, *, resamples: int = RESAMPLES, floor: float | None = None, rng: np.random.Generator
) -> Spread:
    """What the means of a measure may be. With a `floor` it is of logarithms, for a geometric mean."""
    systems, queries, values = scores.matrix(measure)
    truth = people = None
    if scores.draws is not None and measure in scores.draws.measures:
        row = scores.draws.measures.index(measure)
        kept = [scores.draws.queries.index(query) for query in queries]
        truth, people = (_defined(worlds, row, kept) for worlds in (scores.draws.truth, scores.draws.people))
    if floor is not None:
        truth, people = (None if part is None else np.log(np.maximum(part, floor)) for part in (truth, people))
        values = np.log(np.maximum(values, floor)) if truth is None else truth.mean(-1)
    return Spread(systems, values, truth, people, resamples, int(rng.integers(1 << 62)))


def _defined(draws: Floats | None, row: int, kept: list[int]) -> Floats | None:
    """The worlds of a measure, those in which it is undefined replaced by others of the same query."""
    if draws is None:
        return None
    values: Floats = draws[row][:, kept]
    if not np.isnan(values).any():
        return values
    values = values.copy()
    for query in range(values.shape[1]):
        holes = np.isnan(values[:, query])
        some = ~holes.all(1)  # systems for which it is ever defined
        usable = np.flatnonzero(~holes[some].any(0)) if some.any() else np.zeros(0, dtype=np.int64)
        if len(usable):
            instead = np.arange(values.shape[2])
            bad = np.setdiff1d(instead, usable)
            instead[bad] = usable[bad % len(usable)]
            values[:, query] = values[:, query][:, instead]
    return values


def best(made: Spread, *, lower: bool = False, leave_out: Sequence[str] = ()) -> dict[str, float]:
    """P(best) of every system, all doubts in, over the queries that all have; equals share.

    Systems left out (a baseline) have no part in it, nor has one without any value: its chance is NaN.
    """
    able = made.known.sum(1) > 0
    rows = [place for place, system in enumerate(made.systems) if system not in leave_out and able[place]]
    chances = {system: float("nan") for system in made.systems if system not in leave_out}
    if not rows:
        return chances
    shared = np.logical_and.reduce(made.known[rows], axis=0)
    drawn = made.drawn("all", shared if shared.any() else None)
    if drawn is None:
        return chances
    means = -drawn[rows] if lower else drawn[rows]
    first = means >= means.max(0) - TINY
    shares = (first / first.sum(0)).mean(1)
    return chances | {made.systems[place]: float(share) for place, share in zip(rows, shares, strict=True)}


def summarise(
    scores: Scores,
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
    aggregate: Mapping[str, str] | None = None,
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
        way = (aggregate or {}).get(measure, "mean")
        floor = FLOOR if way == "geometric" else None
        made = spread(scores, measure, resamples=resamples, floor=floor, rng=np.random.default_rng(seed))
        centre, drawn, number = made.centre(), made.drawn(doubt), made.known.sum(1)
        if way == "sum":
            centre, drawn = centre * number, None if drawn is None else drawn * number[:, None]
        if way == "geometric":
            centre, drawn = np.exp(centre), None if drawn is None else np.exp(drawn)
        low, high = (limits or {}).get(measure, (-np.inf, np.inf))
        holes = scores.frame.filter(pl.col("measure") == measure).group_by("system").agg(pl.col("undefined").sum())
        undefined = dict(holes.iter_rows())
        for place, system in enumerate(made.systems):
            ends, error = np.full(2, np.nan), float("nan")
            if drawn is not None and number[place]:
                ends, error = _ends(drawn[place : place + 1], level)[:, 0], float(drawn[place].std(ddof=1))
            lo, hi = np.clip(ends, low, high) if way == "mean" else ends
            count = round(undefined.get(system, 0.0))
            rows.append((system, measure, float(centre[place]), float(lo), float(hi), error, int(number[place]), count))
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
        for doubt in get_args(Doubt):
            columns = _rows(made, pairs, doubt, level, lower=measure in lower)
            names = {
                "measure": [measure] * len(pairs),
                "system": [made.systems[a] for a, _ in pairs],
                "baseline": [made.systems[b] for _, b in pairs],
                "doubt": [doubt] * len(pairs),
            }
            frames.append(pl.DataFrame(names | columns))
    frame = pl.concat(frames)
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in Comparison.SCHEMA.items() if name not in frame.columns]
    frame = frame.with_columns(absent).select(list(Comparison.SCHEMA)).cast(Comparison.SCHEMA)  # type: ignore[arg-type]
    return Comparison(frame, tuple(_notes(scores, level, resamples)))


def _pairs(systems: list[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    base = systems.index(baseline)
    return [(place, base) for place in range(len(systems)) if place != base]


def _rows(made: Spread, pairs: list[tuple[int, int]], doubt: Doubt, level: float, *, lower: bool) -> dict[str, Any]:
    """The columns of all pairs under one doubt, each pair over the queries that both have."""
    left, right = np.array(pairs).T
    known = made.known
    columns: dict[str, Any] = {
        name: np.full(len(pairs), np.nan)
        for name in ("difference", "lo", "hi", "p_better", "p_tie", "superiority", "sd")
    }
    both = known[left] & known[right]
    columns["queries"] = both.sum(1)
    patterns, group = np.unique(both, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.ravel() == number)
        if not pattern.any():
            continue
        centre = made.centre(pattern)
        columns["difference"][rows] = centre[left[rows]] - centre[right[rows]]
        drawn = made.drawn(doubt, pattern)
        if drawn is None:
            continue
        for block in blocks(len(rows), BLOCK // drawn.shape[1]):
            at = rows[block]
            a, b = drawn[left[at]], drawn[right[at]]
            d = a - b
            d[np.abs(d) <= TINY * np.maximum(np.abs(a), np.abs(b))] = 0
            columns["lo"][at], columns["hi"][at] = _ends(d, level)
            columns["p_better"][at] = ((d < 0) if lower else (d > 0)).mean(1)
            columns["p_tie"][at] = (d == 0).mean(1)
            columns["sd"][at] = d.std(1, ddof=1)
    if doubt == "people":
        _by_normal_law(made, columns, left, right, level, lower=lower)
    columns["superiority"] = columns["p_better"] + columns["p_tie"] / 2
    return columns


def _by_normal_law(
    made: Spread, columns: dict[str, Any], left: Ints, right: Ints, level: float, *, lower: bool
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
    sd[sd == 0] = np.where(difference[sd == 0] == 0, 0.0, np.nan)  # too small to be seen is not none
    reach = float(special.ndtri((1 + level) / 2))
    columns["lo"], columns["hi"] = difference - reach * sd, difference + reach * sd
    signed = -difference if lower else difference
    columns["p_better"] = np.where(
        sd > 0, special.ndtr(signed / np.where(sd > 0, sd, 1.0)), np.where(sd == 0, 0.0, np.nan)
    )
    columns["p_tie"] = np.where(sd == 0, 1.0, np.where(sd > 0, 0.0, np.nan))


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
