"""Pairs of systems over the same queries: difference, interval, test and correction in one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import polars as pl

from endoxa.comparisons.chosen_intervals import OF_DIFFERENCES, Interval, can_be_short, intervals_over_queries
from endoxa.errors import JoinError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.statistics.bootstrap import BLOCK, RESAMPLES, TINY, blocks, enough, moments
from endoxa.statistics.multiplicity import CORRECTIONS, Correction, uncorrected
from endoxa.statistics.randomisation import EXACT, sign_flip, tukey
from endoxa.tables import Comparison, Floats, Ints, Scores

MOST = 1_000_000  # random assignments that a test draws at the most, unless asked

Test = Literal["randomisation", "t", "wilcoxon", "tukey"]


@dataclass(frozen=True)
class _Settings:
    """How the rows of one call are made; `seed` is drawn once, so that a row depends on nothing beside it."""

    test: Test
    interval: Interval
    confidence: float
    correction: Correction
    resamples: int  # of the queries, for the interval
    draws: int  # of signs or labels, for the test
    seed: int
    spans: Mapping[str, float]  # largest difference on one query, of the measures where it is known


def compare(
    scores: Scores, *, baseline: str | None = None, measures: Sequence[str] | None = None, test: Test = "randomisation",
    interval: Interval = OF_DIFFERENCES, confidence: float = 0.95, correction: Correction = "holm",
    spans: Mapping[str, float] | None = None, resamples: int | None = None, rng: np.random.Generator,
) -> Comparison:  # fmt: skip
    """Every pair of systems, or every system against `baseline`, on every measure.

    Without a baseline, `system` is the one of the pair that was given first and `baseline` the one given
    later. `difference` is the mean of d = system - baseline over the queries where both have a value,
    counted in `queries`; [lo, hi] its interval, `effect` = mean(d)/sd(d), NaN where all d are equal. A pair
    that shares fewer than two queries keeps its row, with NaN. `spans` gives the largest difference of a measure on
    one query: no end lies beyond, and where few queries differ, the ends follow from it (`chosen_intervals`).

    test        randomisation   exchangeable systems; needs no normality
                t               mean difference 0; p NaN where all d are equal but not 0
                wilcoxon        symmetric d around 0: about ranks, may contradict the sign of the mean
                tukey           all systems at once, corrected by construction (p_adjusted = p_value), on the
                                queries that every system has; a baseline only chooses the rows shown
    `p_adjusted` is corrected over the pairs of one measure, not across measures: choosing the measure after
    looking is not covered. All p-values are about the choice of queries (`doubt`), given the judgments as
    they are; the size of the difference and its interval say more than p. Every pair and measure meets the
    same resamples, so that a row (but for p_adjusted, and Tukey's p) does not depend on the other rows.
    Source: Smucker, Allan & Carterette, CIKM 2007; Carterette, ACM TOIS 30 (2012); Sakai 2018.
    """
    refuse_unknown("test", test, get_args(Test), listed=True)
    refuse_unknown("correction", correction, get_args(Correction), listed=True)
    pairs = _pairs(scores.systems, baseline)
    settings = _Settings(
        test,
        interval,
        confidence,
        correction,
        enough(len(scores.queries)) if resamples is None else resamples,
        _draws(len(pairs), 1 - confidence) if resamples is None else resamples,
        int(rng.integers(1 << 62)),
        spans or {},
    )
    found = [_compared(scores, measure, pairs, settings) for measure in measures or scores.measures]
    frame = pl.concat(rows for rows, _ in found) if found else pl.DataFrame(schema=Comparison.SCHEMA)
    if not (frame["queries"] >= 2).any():
        raise JoinError(
            f"no two of the {len(scores.systems)} systems share two queries with a value",
            remedy="check that the runs answer the same queries, or measure on more of them",
        )
    short = settings.interval != "bounded" and any(short for _, short in found)
    return Comparison(frame, _notes(frame, len(scores.systems), settings, short=short))


def _draws(pairs: int, alpha: float) -> int:
    """Random assignments that a test needs: p is never below 1/(draws + 1), and a correction multiplies it.

    With 630 pairs and 10,000 draws nothing could ever be significant; 20 draws per pair and unit of alpha let
    the strongest pair reach a twentieth of alpha. Beyond a million a note says that p-values end there.
    """
    return min(max(RESAMPLES, math.ceil(20 * pairs / alpha)), MOST)


def _pairs(systems: list[str], baseline: str | None) -> list[tuple[int, int]]:
    """Places of (system, baseline), in the order given."""
    if len(systems) < 2:
        raise JoinError(
            "a comparison needs two systems", remedy=f"there is {systems[0] if systems else 'none'}: add a run"
        )
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    refuse_unknown("baseline", baseline, systems, listed=True)
    base = systems.index(baseline)
    return [(place, base) for place in range(len(systems)) if place != base]


def _compared(
    scores: Scores, measure: str, pairs: list[tuple[int, int]], settings: _Settings
) -> tuple[pl.DataFrame, bool]:
    """The rows of one measure, and whether an interval among them can be too short."""
    systems, _, values = scores.matrix(measure)
    if settings.test == "tukey":
        values = values[:, ~np.isnan(values).any(axis=0)]
    left, right = np.array(pairs).T
    span = settings.spans.get(measure, math.inf)
    parts: list[tuple[Floats | Ints, ...]] = []
    short = False
    for block in blocks(len(pairs), BLOCK // max(1, values.shape[1])):
        d = _differences(values[left[block]], values[right[block]])
        found = intervals_over_queries(
            d, -span, span, interval=settings.interval, confidence=settings.confidence, resamples=settings.resamples,
            rng=np.random.default_rng(settings.seed),
        )  # fmt: skip
        p: Floats = TESTS[settings.test](d, settings) if settings.test in TESTS else np.full(len(d), np.nan)
        sd = found.se * np.sqrt(found.n)
        effect: Floats = np.divide(found.mean, sd, out=np.full(len(d), np.nan), where=sd > 0)
        short = short or bool(can_be_short(d).any())
        lone = np.where(found.n < 2, np.nan, 0.0)  # a pair that shares one query
        parts.append((found.mean, found.lo + lone, found.hi + lone, p, effect, found.n))
    difference, lo, hi, p, effect, queries = (np.concatenate(part) for part in zip(*parts, strict=True))
    if settings.test == "tukey" and values.shape[1] > 1:
        p = tukey(values, resamples=min(settings.draws, RESAMPLES), rng=_stream(settings))[left, right]
    p = np.where(queries < 2, np.nan, p)
    correct = uncorrected if settings.test == "tukey" else CORRECTIONS[settings.correction]
    frame = pl.DataFrame(
        {
            "measure": [measure] * len(pairs), "system": [systems[place] for place in left],
            "baseline": [systems[place] for place in right], "doubt": ["queries"] * len(pairs),
            "difference": difference, "lo": lo, "hi": hi, "p_better": [None] * len(pairs), "p_tie": [None] * len(pairs),
            "superiority": [None] * len(pairs), "sd": [None] * len(pairs), "p_value": p, "p_adjusted": correct(p),
            "effect": effect, "test": [settings.test] * len(pairs), "queries": queries,
        },
        schema=Comparison.SCHEMA,
    )  # fmt: skip
    return frame, short


def _differences(system: Floats, baseline: Floats) -> Floats:
    """system - baseline; what is only rounding becomes 0, so that equal scores are seen as equal."""
    d = system - baseline
    d[np.abs(d) <= TINY * np.maximum(np.abs(system), np.abs(baseline))] = 0
    return d


def _stream(settings: _Settings) -> np.random.Generator:
    """Chance for the test, apart from that of the interval."""
    return np.random.default_rng((settings.seed, 1))


def _t(d: Floats, settings: _Settings) -> Floats:
    """Paired t: mean·√n/sd against Student's t with n-1 degrees of freedom; all d = 0: p = 1."""
    from scipy import stats

    mean, sd, n = moments(d)
    t = np.divide(mean * np.sqrt(n), sd, out=np.full(len(d), np.nan), where=sd > 0)
    p: Floats = 2 * stats.t.sf(np.abs(t), np.maximum(n - 1, 1))
    return np.where((sd == 0) & (mean == 0), 1.0, p)


def _wilcoxon(d: Floats, settings: _Settings) -> Floats:
    """Signed-rank p of each row, zeros left out; all d = 0: p = 1. Sizes equal to 10 digits are ties."""
    from scipy import stats

    p = np.ones(len(d))
    for place, row in enumerate(d):
        nonzero = row[~np.isnan(row) & (row != 0)]
        if len(nonzero):
            p[place] = stats.wilcoxon(np.round(nonzero / np.abs(nonzero).max(), 10)).pvalue
    return p


TESTS: dict[str, Callable[[Floats, _Settings], Floats]] = {
    "randomisation": lambda d, settings: sign_flip(d, resamples=settings.draws, rng=_stream(settings)),
    "t": _t,
    "wilcoxon": _wilcoxon,
}


def _notes(frame: pl.DataFrame, systems: int, settings: _Settings, *, short: bool) -> tuple[Note, ...]:
    """How the rows were made."""
    tested = dict(frame.group_by("measure", maintain_order=True).agg(pl.col("p_value").is_not_nan().sum()).iter_rows())
    counts = sorted(set(tested.values()))
    drawn = {"draws": settings.draws, "permutations": min(settings.draws, RESAMPLES), "exact": EXACT}
    how = {"confidence": settings.confidence, "interval": settings.interval, "resamples": settings.resamples}
    method = "tukey" if settings.test == "tukey" else settings.correction
    notes = [
        note("compared.test", test=settings.test, systems=systems, **drawn),
        note("compared.interval", **how),
        note("compared.correction", method=method, least=counts[0], most=counts[-1]),
    ]
    if settings.test == "tukey":
        notes.append(note("compared.own_intervals"))
    if (
        settings.test == "randomisation"
        and settings.correction != "none"
        and counts[-1] / (settings.draws + 1) > 1 - settings.confidence
    ):
        notes.append(note("compared.least_p", least=settings.draws + 1))
    if frame["lo"].is_infinite().any() or frame["hi"].is_infinite().any():
        notes.append(note("compared.infinite_interval"))
    if short:
        notes.append(note("compared.few_queries"))
    if (frame["queries"] < 2).any():
        notes.append(note("compared.not_shared"))
    return tuple(notes)
