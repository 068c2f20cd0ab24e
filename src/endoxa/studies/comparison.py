"""Which of two systems returns what people rate higher: one estimand, and one interval that holds every doubt.

The dashboard, `study status`, `ratings` and the evaluation of a bundle show this comparison, from the same answers with
the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import EndoxaError, JoinError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.policies import Metric, refuse_outside
from endoxa.statistics.anytime import Reach, crossed_reach
from endoxa.studies.agreement import Agreement
from endoxa.studies.agreement import agreement as agreement_of
from endoxa.studies.estimates import weights
from endoxa.studies.grades import GIVEN
from endoxa.studies.sampling import lists_of
from endoxa.tables import COUNTED, Floats, Ints, Opinions, Run

FIRST = 10  # at most that many first results of each query are compared
TYPICAL = 1 / 8  # of the width of the scale: the size of a difference that the intervals are best for
ROUNDING = 1e-12  # relative to the width of the scale: smaller differences are 0
REACHED = 0.5  # least share of a system's first results that the rated pairs stand for
RESAMPLES = 500  # of the pairs, for the interval of agreement
NO_AGREEMENT = 0.1  # below this alpha judges do not agree
STATES = {  # what may be said of a pair, and the code of its sentence
    "better": "study.better", "open": "study.open", "one judge": "study.one_judge", "one query": "study.one_query",
    "unreached": "study.unreached", "same": "study.same", "unrated": "study.unrated",
}  # fmt: skip
NOTHING = Reach(math.nan, math.nan, math.nan, 0, 0)
SYSTEMS: dict[str, Any] = {
    "system": pl.String, "mean": pl.Float64, "pairs": pl.Int64, "reached": pl.Float64,
}  # fmt: skip
PAIRS: dict[str, Any] = {
    "system": pl.String, "baseline": pl.String, "difference": pl.Float64, "lo": pl.Float64, "hi": pl.Float64,
    "decided": pl.Boolean, "judges": pl.Int64, "queries": pl.Int64, "state": pl.String,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Comparison:
    """The comparison of systems by the mean rating of the first `first` results of each query.

    systems     system, mean, pairs (rated, among its first results), reached (share of its first results that they
                stand for); the highest mean first
    pairs       system (the higher of the two), baseline, difference, lo, hi, decided, judges, queries, state. lo and hi
                are NaN where there is no interval; `state` is what may be said:
                  better       the interval lies above 0
                  open         it does not
                  one judge    the interval covers other queries, but nobody knows how judges differ
                  one query    no interval: nobody knows how queries differ
                  unreached    the rated pairs stand for less than half of the first results of one of the two
                  same         the two return the same first results
                  unrated      none of the first results of one of the two is rated
    scale       the lowest and the highest grade
    confidence  with this probability all intervals are right, at all times
    """

    systems: pl.DataFrame
    pairs: pl.DataFrame
    first: int
    scale: tuple[float, float]
    confidence: float
    judges: int
    queries: int
    agreement: Agreement | None = None

    @property
    def leads(self) -> tuple[Note, ...]:
        """What comes before the verdict: that judges do not agree, and what follows from it; nothing if they do."""
        one = self.agreement
        if one is None or math.isnan(one.alpha):
            return ()
        facts = {"alpha": one.alpha, "lo": one.lo, "hi": one.hi, "confidence": one.confidence}
        if one.alpha < NO_AGREEMENT:
            return note("study.no_agreement", **facts), note("study.no_agreement_follows")
        if not one.lo > 0:
            return note("study.agreement_unsure", **facts), note("study.agreement_unsure_follows")
        return ()

    @property
    def estimand(self) -> Note:
        """What is compared, in plain words: the same on every surface."""
        return note("study.estimand", first=self.first, lowest=self.scale[0], highest=self.scale[1])

    @property
    def doubts(self) -> Note:
        """What the intervals cover."""
        return note("study.doubts", confidence=self.confidence, judges=self.judges, pairs=self.pairs.height)

    def statements(self, name: Callable[[str], str] = str) -> list[Note]:
        """A sentence about each pair of systems, in their order. `name` is applied to the names of systems."""
        return [
            note(
                STATES[row["state"]], system=name(row["system"]), baseline=name(row["baseline"]),
                difference=row["difference"], lo=row["lo"], hi=row["hi"], first=self.first,
            )
            for row in self.pairs.iter_rows(named=True)
        ]  # fmt: skip

    def headline(self, name: Callable[[str], str] = str) -> list[Note]:
        """The verdict in a few sentences: whether judges agree, if that is in doubt; then the two best systems."""
        return [*self.leads, *self.statements(name)[:1]]

    def against(self, figure: str, values: Mapping[str, float]) -> Note | None:
        """Why another figure orders its two best systems the other way round; None where it does not.

        `figure` is the name of a measure, or `r` for the correlation of scores with ratings; more is better.
        """
        means: dict[str, float] = dict(self.systems.select("system", "mean").iter_rows())
        known = [name for name, value in values.items() if not math.isnan(value + means.get(name, math.nan))]
        best = sorted(known, key=lambda name: -values[name])[:2]
        if len(best) < 2 or not (values[best[0]] > values[best[1]] and means[best[0]] < means[best[1]]):
            return None
        pair = (pl.col("system") == best[1]) & (pl.col("baseline") == best[0])
        settled = bool(self.pairs.filter(pair)["decided"].any())
        return note("study.other_question", figure=figure, leader=best[0], other=best[1], settled=settled)


def comparison(
    run: Run, opinions: Opinions, *, scale: tuple[float, float], first: int | None = None,
    queries: Iterable[str] | None = None, confidence: float = 0.95, agreement: Agreement | None = None,
) -> Comparison:  # fmt: skip
    """Compare systems by the mean rating of the first k results of each query, as the judges gave the ratings.

    With w = 1/pi the weight of a pair, n the number of judges who rated it, and y a rating:
        R_a = Σ_{rated, rank_a <= k} w/n y / Σ_{rated, rank_a <= k} w/n            (Hájek)
        part of an answer in R_a - R_b = w/n ([rank_a <= k](y - R_a)/W_a - [rank_b <= k](y - R_b)/W_b)
    and `crossed_reach` makes the interval of these parts, which covers three doubts: other queries, the pairs of these
    queries that were not asked (they vary with the query), and other judges. It holds whenever one looks. alpha is
    divided equally among the pairs of systems (Bonferroni). `first` is k; by default 10, or the deepest rank that was
    asked, if that is less.
    Misleads: with two or three judges intervals are wide, because so few show little of how judges differ. Ratings are
    as given: a severe judge lowers all means, and the difference of two only if the two were not asked of the judge
    alike, which the interval covers. Undecided answers are left out.
    Source: docs/methods/studies.md, Comparing systems.
    """
    refuse_outside("confidence", confidence)
    if first is not None and first < 1:
        raise TextError(f"the first results are at least 1, not {first}")
    if not scale[0] < scale[1]:
        raise TableError(f"all ratings are {scale[0]:g}", remedy="systems are compared where ratings differ")
    lists = lists_of(run, queries).select("system", "query", "item", "rank")
    answers = opinions.frame.filter(GIVEN & COUNTED).select("source", "query", "item", "grade")
    pairs = weights(opinions).filter(pl.col("rating").is_not_null()).select("query", "item", "weight")
    asked = pairs.join(lists.group_by("query", "item").agg(pl.col("rank").min()), on=["query", "item"], how="inner")
    if not asked.height:
        raise JoinError(
            "no rated pair is in a list of these runs", remedy="do the answers and the runs belong together?"
        )
    k = min(FIRST, int(asked["rank"].to_numpy().max())) if first is None else first
    within = lists.filter(pl.col("rank") <= k)
    judged = answers.join(pairs, on=["query", "item"], how="inner").with_columns(
        (pl.col("weight") / pl.len().over("query", "item")).alias("weight")
    )
    judged = judged.join(within.select("query", "item").unique(), on=["query", "item"], how="semi")
    return _compared(within, run.systems, judged.sort("query", "item", "source"), k, scale, confidence, agreement)


def attempted(
    run: Run | None, opinions: Opinions | None, *, scale: tuple[float, float], first: int | None = None,
    queries: Iterable[str] | None = None, confidence: float = 0.95, agreement: Agreement | None = None,
) -> Comparison | Note | None:  # fmt: skip
    """The comparison; None with fewer than two systems or without answers; a note where it is impossible."""
    if run is None or opinions is None or len(run.systems) < 2:
        return None
    if opinions.frame["draw_after"].null_count() < opinions.frame.height:
        return note("study.one_by_one")
    if not opinions.frame.filter(GIVEN & COUNTED).height:
        return None
    try:
        return comparison(
            run, opinions, scale=scale, first=first, queries=queries, confidence=confidence, agreement=agreement
        )
    except EndoxaError as error:
        return note("study.no_comparison", reason=str(error))


def agreed(
    opinions: Opinions,
    *,
    level: Metric = "interval",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """The agreement that stands beside a comparison: the same digits on every surface."""
    return agreement_of(
        opinions, level=level, confidence=confidence, resamples=resamples, rng=np.random.default_rng((seed, 0))
    )


def _compared(
    within: pl.DataFrame, names: list[str], judged: pl.DataFrame, k: int, scale: tuple[float, float], confidence: float,
    agreement: Agreement | None,
) -> Comparison:  # fmt: skip
    """The tables of a comparison, from one row per answer."""
    width = scale[1] - scale[0]
    w, y = judged["weight"].to_numpy(), judged["grade"].to_numpy()
    judge, query, pair = (_codes(judged, *columns) for columns in (("source",), ("query",), ("query", "item")))
    returned = {name: _held(judged, within, name) for name in names}
    sizes: dict[str, int] = dict(within.group_by("system").len().iter_rows())
    means: dict[str, float] = {}
    parts: dict[str, Floats] = {}
    for name, held in returned.items():
        total = float(w @ held)
        means[name] = float((w * held) @ y) / total if total > 0 else math.nan
        parts[name] = w * held * (y - means[name]) / total if total > 0 else np.full(len(y), math.nan)
    names = sorted(names, key=lambda name: (-means[name] if means[name] == means[name] else math.inf, name))
    reached = {name: float(w @ returned[name]) / max(sizes.get(name, 0), 1) for name in names}
    systems = [(name, means[name], len(np.unique(pair[returned[name] > 0])), reached[name]) for name in names]
    couples = list(combinations(names, 2))
    alpha = (1 - confidence) / max(len(couples), 1)
    compared = []
    for a, b in couples:
        difference = means[a] - means[b]
        difference = 0.0 if abs(difference) < ROUNDING * width else difference
        bearing = (returned[a] > 0) | (returned[b] > 0)
        found = NOTHING
        if not math.isnan(difference):
            found = crossed_reach(
                (parts[a] - parts[b])[bearing], judge[bearing], query[bearing], alpha=alpha, spread=width / 2,
                typical=TYPICAL * width,
            )  # fmt: skip
        lo, hi = (min(max(difference + side * found.reach, -width), width) for side in (-1, 1))
        if math.isnan(difference):
            state = "unrated"
        elif _alike(within, a, b):
            state, lo, hi = "same", math.nan, math.nan
        elif found.queries < 2:
            state, lo, hi = "one query", math.nan, math.nan
        elif found.judges < 2:
            state = "one judge"
        elif min(reached[a], reached[b]) < REACHED:
            state = "unreached"
        else:
            state = "better" if lo > 0 else "open"
        compared.append((a, b, difference, lo, hi, state == "better", found.judges, found.queries, state))
    return Comparison(
        systems=pl.DataFrame(systems, schema=SYSTEMS, orient="row"),
        pairs=pl.DataFrame(compared, schema=PAIRS, orient="row"),
        first=k, scale=scale, confidence=confidence, judges=judged["source"].n_unique(),
        queries=judged["query"].n_unique(), agreement=agreement,
    )  # fmt: skip


def _held(judged: pl.DataFrame, within: pl.DataFrame, system: str) -> Floats:
    """1 for the answers to pairs among the system's first results, 0 for the others."""
    mine = within.filter(pl.col("system") == system).select("query", "item", pl.lit(1.0).alias("held"))
    found = judged.select("query", "item").join(mine, on=["query", "item"], how="left", maintain_order="left")
    return found["held"].fill_null(0.0).to_numpy()


def _alike(within: pl.DataFrame, a: str, b: str) -> bool:
    """Whether the two return the same items at the same ranks."""
    first, second = (
        within.filter(pl.col("system") == name).select("query", "rank", "item").sort("query", "rank") for name in (a, b)
    )
    return first.equals(second)


def _codes(frame: pl.DataFrame, *columns: str) -> Ints:
    """A number for each combination of values."""
    return frame.select(pl.struct(columns).rank("dense")).to_series().cast(pl.Int64).to_numpy() - 1
