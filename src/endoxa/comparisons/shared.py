"""Systems compared in the same possible worlds, with three doubts kept apart.

    truth     which items are relevant, given the belief
    people    what the belief would be if other people of the same kind had been asked
    queries   what the mean would be over other queries of the same kind

For a mean over Q queries: Var = Var_q(E[M_q]) / Q + mean_q Var(M_q | belief) / Q + Var_people(E[mean]). A draw that
holds all doubts takes queries at random and for each query a world of its own: where one system is at least as good in
every world, it is at least as good in every draw. Q - 1 of Q queries are drawn, with replacement: their mean varies as
that of Q queries should, whereas Q of Q would vary too little. Only the second term is larger, by Q/(Q - 1). `Doubts`
makes these draws once for every measure, and intervals, P(best), pairs and shares are read from them.
Source: McCarthy and Snowden 1985 for drawing one query less; docs/methods/comparisons.md, Shared worlds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from endoxa.comparisons.exact import settled
from endoxa.comparisons.intervals import FLOOR, SUMMARY
from endoxa.errors import JoinError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.statistics.bootstrap import BLOCK, TINY, blocks, widened
from endoxa.tables import Bools, Comparison, Floats, Ints, Scores

Doubt = Literal["truth", "people", "queries", "all"]
RESAMPLES = 4_000
CACHED = 8  # sets of queries whose draws one measure keeps


@dataclass(frozen=True, eq=False)
class Spread:
    """The possible values of the means over queries, for one measure.

    values     [system, query] expectations; NaN where a system has none
    truth      [system, query, world] values in the worlds. Where a measure is undefined in some worlds, these are the
               values given that it is defined: such a world takes the values of another, the same one for every system,
               or the expectation where there is no other
    people     the same for the people's worlds, in pairs, with the random numbers of the first worlds of `truth`;
               None if nobody can be resampled
    contends   [system] False for a virtual system: its values change nothing about the other systems
    """

    systems: list[str]
    values: Floats
    truth: Floats | None
    people: Floats | None
    contends: Bools
    resamples: int
    seed: int
    _drawn: dict[tuple[Doubt, bytes], Floats | None] = field(default_factory=dict, repr=False)

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

        Without `kept` every system has its own queries. The doubt about people has no draws of its own, only a
        variance.
        """
        if kept is not None:
            return self._means(doubt, kept)
        known = self.known
        patterns, group = np.unique(known, axis=0, return_inverse=True)
        if len(patterns) == 1:
            return self._means(doubt, patterns[0])
        parts = {number: self._means(doubt, pattern) for number, pattern in enumerate(patterns)}
        width = max((part.shape[1] for part in parts.values() if part is not None), default=0)
        means = np.full((len(known), width), np.nan)
        for number, part in parts.items():
            if part is not None:  # over one query there is a draw for each world only: they are repeated
                rows = group.ravel() == number
                means[rows] = part[rows][:, np.arange(width) % part.shape[1]]
        return means if width else None

    def _means(self, doubt: Doubt, kept: Bools) -> Floats | None:
        """The draws over one set of queries, made once."""
        key = (doubt, kept.tobytes())
        if key not in self._drawn:
            if len(self._drawn) >= CACHED:
                self._drawn.pop(next(iter(self._drawn)))
            self._drawn[key] = self._draw(doubt, np.flatnonzero(kept))
        return self._drawn[key]

    def _draw(self, doubt: Doubt, at: Ints) -> Floats | None:
        worlds = self.people if self.people is not None else self.truth
        if doubt == "people" or not len(at):
            return None
        if doubt == "truth" or (doubt == "all" and len(at) < 2):
            chosen = self.truth if doubt == "truth" else worlds
            return None if chosen is None else np.asarray(chosen[:, at].mean(1))
        if len(at) < 2:
            return None
        source = self.values[..., None] if doubt == "queries" or worlds is None else worlds
        flat = source.reshape(len(source), -1)
        means = np.empty((len(self.systems), self.resamples))
        for block, cells in self._cells(at, source.shape[2], paired=source is self.people):
            for system, row in enumerate(flat):
                means[system, block] = row[cells].mean(-1)
        return means

    def _cells(self, at: Ints, worlds: int, *, paired: bool) -> Iterator[tuple[slice, Ints]]:
        """Which query and world every draw takes: numbers in [query, world], flattened. The systems play no part."""
        rng = np.random.default_rng((self.seed, len(at)))
        size = self._more(at) if paired else len(at) - 1
        for block in blocks(self.resamples, BLOCK // (8 * (size + 1))):
            shape = (block.stop - block.start, size)
            query = at[rng.integers(len(at), size=shape)]
            if worlds == 1:
                yield block, query
            elif paired:  # all queries of a draw meet the same people
                pair = rng.integers(worlds // 2, size=(shape[0], 1))
                yield block, query * worlds + 2 * pair + rng.integers(2, size=shape)
            else:
                yield block, query * worlds + rng.integers(worlds, size=shape)

    def _more(self, at: Ints) -> int:
        """The number of queries in a draw where people are resampled.

        A resample has two worlds, whose own random numbers do not average out over the draws and add half of the
        doubt about the truth once more. Therefore so many more queries are drawn that the sum is right:
        (Q - 1) / (1 - τ/2), τ the share of the truth in the variance of single values.
        """
        known = self.known[self.contends][:, at]
        values = np.where(known, self.values[self.contends][:, at], 0.0)
        count = np.maximum(known.sum(1, keepdims=True), 1)
        apart = np.where(known, values - values.sum(1, keepdims=True) / count, 0.0)
        queries = float((apart**2).sum() / max(int(known.sum()) - len(known), 1))
        truth = 0.0
        if self.truth is not None:
            truth = float(np.nan_to_num(self.truth[self.contends][:, at].var(-1)).mean())
        share = truth / (truth + queries) if truth + queries > 0 else 0.0
        return max(1, round((len(at) - 1) / (1 - share / 2)))

    def variances(self, left: Ints, right: Ints | None = None) -> dict[str, Floats]:
        """Variance of the means of these systems (or of left minus right) by doubt: [row]; NaN where it is unknown.

        The worlds of the people come in pairs under one resample, and each has its twin among the worlds of the belief
        as it is: the covariance of the two differences is the variance that the choice of people makes. It is an
        estimate, and can be 0 where it is small.
        """
        variance = {name: np.full(len(left), np.nan) for name in ("truth", "people", "queries")}
        both = self.known[left] if right is None else self.known[left] & self.known[right]
        patterns, group = np.unique(both, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            at = np.flatnonzero(pattern)
            rows = np.flatnonzero(group.ravel() == number)
            if len(at):
                self._add_variances(variance, at, rows, left[rows], None if right is None else right[rows])
        return variance

    def _add_variances(self, variance: dict[str, Floats], at: Ints, rows: Ints, left: Ints, right: Ints | None) -> None:
        def apart(means: Floats) -> Floats:
            return means[left] if right is None else means[left] - means[right]

        if self.truth is not None:
            truth = self.truth[:, at].mean(1)
            variance["truth"][rows] = np.var(apart(truth), axis=1, ddof=1)
            if self.people is not None:
                people = self.people[:, at].mean(1)
                size = min(truth.shape[1], people.shape[1]) // 2 * 2
                moved = apart(people[:, :size] - truth[:, :size])
                moved = moved - moved.mean(1, keepdims=True)
                together = np.einsum("rw,rw->r", moved[:, 0::2], moved[:, 1::2])
                variance["people"][rows] = np.maximum(together / max(size // 2 - 1, 1), 0.0)
        if len(at) > 1:
            variance["queries"][rows] = np.var(apart(self.values[:, at]), axis=1, ddof=1) / len(at)


@dataclass(frozen=True, eq=False)
class Doubts:
    """The doubts about the means of every system, drawn once for every measure.

    aside   virtual systems: they are summarised, but are no contenders, and leave the numbers of the others as they are
    """

    scores: Scores
    resamples: int = RESAMPLES
    seed: int = 0
    aside: tuple[str, ...] = ()
    _spreads: dict[tuple[str, float | None], Spread] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in self.aside:
            refuse_unknown("system", name, self.scores.systems)

    def spread(self, measure: str, floor: float | None = None) -> Spread:
        """The possible means of a measure. With a `floor` they are means of logarithms, for a geometric mean."""
        key = (measure, floor)
        if key not in self._spreads:
            self._spreads[key] = self._spread(measure, floor)
        return self._spreads[key]

    def _spread(self, measure: str, floor: float | None) -> Spread:
        systems, queries, values = self.scores.matrix(measure)
        contends = np.array([system not in self.aside for system in systems])
        truth = people = None
        draws = self.scores.draws
        if draws is not None and measure in draws.measures:
            row, kept = draws.measures.index(measure), [draws.queries.index(query) for query in queries]
            truth, people = (_defined(part, row, kept, contends, values) for part in (draws.truth, draws.people))
        if floor is not None:
            truth, people = (None if part is None else np.log(np.maximum(part, floor)) for part in (truth, people))
            values = np.log(np.maximum(values, floor)) if truth is None else truth.mean(-1)
        return Spread(systems, values, truth, people, contends, self.resamples, self.seed)

    def best(self, measure: str, *, lower: bool = False) -> dict[str, float]:
        """P(best) of every contender with all doubts, over the queries that all of them have; ties share it.

        A system without any value cannot be the best: its probability is NaN.
        """
        spread = self.spread(measure)
        able = spread.contends & spread.known.any(1)
        chances = {system: float("nan") for system, in_it in zip(spread.systems, spread.contends, strict=True) if in_it}
        if not able.any():
            return chances
        shared = np.logical_and.reduce(spread.known[able], axis=0)
        drawn = spread.drawn("all", shared if shared.any() else None)
        if drawn is None:
            return chances
        means = -drawn[able] if lower else drawn[able]
        first = means >= means.max(0) - TINY
        shares = (first / first.sum(0)).mean(1)
        names = [system for system, in_it in zip(spread.systems, able, strict=True) if in_it]
        return chances | dict(zip(names, shares.tolist(), strict=True))

    def summarise(
        self, *, limits: Mapping[str, tuple[float, float]] | None = None, aggregate: Mapping[str, str] | None = None,
        doubt: Doubt = "all", confidence: float = 0.95,
    ) -> pl.DataFrame:  # fmt: skip
        """Mean of every system on every measure with an interval that holds the doubt; as `intervals.summarise`.

        The interval is the middle part of the draws, extended to the mean where skewed draws leave it outside.
        `undefined` is the expected number of queries on which the measure is 0/0.
        """
        holes = self.scores.frame.group_by("system", "measure").agg(pl.col("undefined").sum())
        undefined = {(system, measure): total for system, measure, total in holes.iter_rows()}
        rows: list[tuple[str, str, float, float, float, float, int, int]] = []
        for measure in self.scores.measures:
            way = (aggregate or {}).get(measure, "mean")
            spread = self.spread(measure, FLOOR if way == "geometric" else None)
            centre, drawn, number = spread.centre(), spread.drawn(doubt), spread.known.sum(1)
            if way == "sum":
                centre, drawn = centre * number, None if drawn is None else drawn * number[:, None]
            if way == "geometric":
                centre, drawn = np.exp(centre), None if drawn is None else np.exp(drawn)
            ends, error = np.full((2, len(number)), np.nan), np.full(len(number), np.nan)
            if drawn is not None:
                ends = np.where(number > 0, _ends(drawn, confidence), np.nan)
                error = np.where(number > 0, drawn.std(1, ddof=1), np.nan)
            low, high = (limits or {}).get(measure, (-np.inf, np.inf))
            ends = np.clip(ends, low, high) if way == "mean" else ends
            lo, hi = widened(ends[0], ends[1], centre)
            for place, system in enumerate(spread.systems):
                count = round(undefined.get((system, measure)) or 0.0)
                numbers = (float(part[place]) for part in (centre, lo, hi, error))
                rows.append((system, measure, *numbers, int(number[place]), count))  # type: ignore[arg-type]
        frame = pl.DataFrame(rows, schema=SUMMARY, orient="row")
        order = {system: place for place, system in enumerate(self.scores.systems)}
        return frame.sort(pl.col("system").replace_strict(order, return_dtype=pl.Int64), maintain_order=True)

    def compare(
        self, *, baseline: str | None = None, measures: Sequence[str] | None = None, lower: Sequence[str] = (),
        confidence: float = 0.95, doubts: Sequence[Doubt] = get_args(Doubt),
    ) -> Comparison:  # fmt: skip
        """Every pair of contenders, or every contender against `baseline`, on every measure: a row for each doubt.

        `p_better` is the probability that the system's mean is better than the baseline's; `p_tie` that they are equal;
        `superiority` p_better + p_tie/2; `sd` the deviation of the difference; [lo, hi] the middle part, of the size
        `confidence`, of the differences, extended to their mean where it lies outside. In the row `people` these follow
        from the variance by the normal law. The row `truth` of P@k is exact where the scores know their runs and
        belief. There is no p-value: the distribution is known, not sampled. Where one doubt is unknown its row holds
        NaN, and `all` does not include it.
        """
        contenders = [place for place, system in enumerate(self.scores.systems) if system not in self.aside]
        if len(contenders) < 2:
            raise JoinError("a comparison needs two systems", remedy="add a run")
        if baseline is not None:
            refuse_unknown("system", baseline, self.scores.systems)
        pairs = _pairs(contenders, None if baseline is None else self.scores.systems.index(baseline))
        names = pl.Series(self.scores.systems, dtype=pl.String)
        frames = []
        for measure in measures or self.scores.measures:
            spread = self.spread(measure)
            for doubt in doubts:
                columns = _rows(spread, pairs, doubt, confidence, lower=measure in lower)
                heads = {"measure": pl.lit(measure), "doubt": pl.lit(doubt)}
                heads |= {"system": names[pairs[0]], "baseline": names[pairs[1]]}
                frames.append(pl.DataFrame(columns).with_columns(**heads))
        frame = pl.concat(frames)
        absent = [pl.lit(None, kind).alias(name) for name, kind in Comparison.SCHEMA.items() if name not in frame]
        frame = frame.with_columns(absent).select(list(Comparison.SCHEMA)).cast(Comparison.SCHEMA)
        found = settled(Comparison(frame, tuple(self._notes(confidence))), self.scores, confidence=confidence)
        lo, hi = widened(*(found.frame[name].to_numpy() for name in ("lo", "hi", "difference")))
        return replace(found, frame=found.frame.with_columns(pl.Series("lo", lo), pl.Series("hi", hi)))

    def shares(self, measure: str, *, baseline: str | None = None) -> pl.DataFrame:
        """Variance of each system's mean (or of its difference to `baseline`) by doubt, and the share of each.

        Columns: system, doubt, variance, share. More people help against `people`, more queries against `queries`;
        against `truth` only clearer questions or judged pairs help.
        """
        spread = self.spread(measure)
        every, against = np.arange(len(spread.systems)), None
        if baseline is not None:
            refuse_unknown("system", baseline, spread.systems)
            against = np.full(len(every), spread.systems.index(baseline))
        parts = spread.variances(every, against)
        frame = pl.DataFrame(
            {
                "system": pl.Series(spread.systems, dtype=pl.String)[np.repeat(every, len(parts))],
                "doubt": list(parts) * len(every),
                "variance": np.stack(list(parts.values()), axis=1).ravel(),
            }
        )
        total = pl.col("variance").fill_nan(None).sum().over("system")
        return frame.with_columns(pl.when(total > 0).then(pl.col("variance") / total).otherwise(None).alias("share"))

    def _notes(self, confidence: float) -> list[Note]:
        draws = self.scores.draws
        worlds = 0 if draws is None or draws.truth is None else draws.truth.shape[-1]
        people = 0 if draws is None or draws.people is None else draws.people.shape[-1] // 2
        sizes = {"worlds": worlds, "people": people, "resamples": self.resamples}
        how = note("compared.worlds", **sizes, confidence=confidence)
        return [how] if people else [how, note("compared.people_unknown")]


def compare(
    scores: Scores, *, baseline: str | None = None, measures: Sequence[str] | None = None, lower: Sequence[str] = (),
    confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0, aside: Sequence[str] = (),
) -> Comparison:  # fmt: skip
    """Every pair of systems in the same possible worlds; see `Doubts.compare`."""
    doubts = Doubts(scores, resamples, seed, tuple(aside))
    return doubts.compare(baseline=baseline, measures=measures, lower=lower, confidence=confidence)


def _defined(
    draws: Floats | None, row: int, kept: list[int], contends: Bools, expected: Floats
) -> Floats | None:  # fmt: skip
    """The worlds of a measure, those in which it is undefined replaced by others of the same query.

    For the contenders their own holes count alone, so that a virtual system does not change them. Where no world is
    left, because the measure is defined in too few, the expectation stands for all.
    """
    if draws is None:
        return None
    values: Floats = draws[row][:, kept]
    if not np.isnan(values).any():
        return values
    filled = _filled(values)
    filled[contends] = _filled(values[contends])
    return np.where(np.isnan(filled), expected[..., None], filled)


def _filled(values: Floats) -> Floats:
    """[system, query, world] with a world that has a hole replaced by one that has none."""
    values = values.copy()
    for query in range(values.shape[1]):
        holes = np.isnan(values[:, query])
        able = ~holes.all(1)  # systems for which it is ever defined
        usable = np.flatnonzero(~holes[able].any(0)) if able.any() else np.zeros(0, dtype=np.int64)
        if len(usable):
            instead = np.arange(values.shape[2])
            bad = np.setdiff1d(instead, usable)
            instead[bad] = usable[bad % len(usable)]
            values[:, query] = values[:, query][:, instead]
    return values


def _ends(draws: Floats, confidence: float) -> Floats:
    """The ends of the middle part, of the size `confidence`, of each row: [2, row]. NaN stays NaN."""
    size, tail = draws.shape[1], (1 - confidence) / 2
    low, high = int(np.floor(tail * (size - 1))), int(np.ceil((1 - tail) * (size - 1)))
    ordered = np.partition(draws, (low, high), axis=1)
    return np.stack([ordered[:, low], ordered[:, high]])


def _pairs(places: list[int], base: int | None) -> Ints:
    """[2, pair]: the numbers of the two systems of every pair."""
    pairs = list(combinations(places, 2)) if base is None else [(place, base) for place in places if place != base]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def _rows(spread: Spread, pairs: Ints, doubt: Doubt, confidence: float, *, lower: bool) -> dict[str, Any]:
    """The columns of all pairs under one doubt, each pair over the queries that both have."""
    left, right = pairs
    columns: dict[str, Any] = {
        name: np.full(len(left), np.nan)
        for name in ("difference", "lo", "hi", "p_better", "p_tie", "superiority", "sd")
    }
    both = spread.known[left] & spread.known[right]
    columns["queries"] = both.sum(1)
    patterns, group = np.unique(both, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.ravel() == number)
        if not pattern.any():
            continue
        centre = spread.centre(pattern)
        columns["difference"][rows] = centre[left[rows]] - centre[right[rows]]
        drawn = spread.drawn(doubt, pattern)
        if drawn is None:
            continue
        for block in blocks(len(rows), BLOCK // drawn.shape[1]):
            at = rows[block]
            a, b = drawn[left[at]], drawn[right[at]]
            d = a - b
            d[np.abs(d) <= TINY * np.maximum(np.abs(a), np.abs(b))] = 0
            columns["lo"][at], columns["hi"][at] = _ends(d, confidence)
            columns["p_better"][at] = ((d < 0) if lower else (d > 0)).mean(1)
            columns["p_tie"][at] = (d == 0).mean(1)
            columns["sd"][at] = d.std(1, ddof=1)
    if doubt == "people" and spread.people is not None:
        columns["sd"] = np.sqrt(spread.variances(left, right)["people"])
        columns |= _by_normal_law(columns["difference"], columns["sd"], confidence, lower=lower)
    columns["superiority"] = columns["p_better"] + columns["p_tie"] / 2
    return columns


def _by_normal_law(difference: Floats, sd: Floats, confidence: float, *, lower: bool) -> dict[str, Floats]:
    """The doubt about people: its variance is known, its draws are not."""
    from scipy import special

    sd[sd == 0] = np.where(difference[sd == 0] == 0, 0.0, np.nan)  # too small to be seen is not none
    reach = float(special.ndtri((1 + confidence) / 2))
    signed = -difference if lower else difference
    better = np.where(sd > 0, special.ndtr(signed / np.where(sd > 0, sd, 1.0)), np.where(sd == 0, 0.0, np.nan))
    tie = np.where(sd == 0, 1.0, np.where(sd > 0, 0.0, np.nan))
    return {"lo": difference - reach * sd, "hi": difference + reach * sd, "p_better": better, "p_tie": tie}
