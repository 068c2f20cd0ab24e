"""Measures under doubt: every list scored in the same possible worlds, exact where a closed form exists.

The unit of work is a query: all its lists are scored together, so that what depends on the world alone (how many
items are relevant, the ideal list) is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.worlds import Readings, draw, draw_people, extended, readings_of
from endoxa.errors import JoinError, TextError, did_you_mean
from endoxa.measures import distributions
from endoxa.measures.evaluate import measure as measure_certain
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.lists import BEYOND, Lists
from endoxa.policies import WORLDS, Policy
from endoxa.statistics import poisson_binomial
from endoxa.tables import Belief, Bools, Draws, Floats, Ints, Opinions, Run, Scores

LEVEL = 0.95
SETTINGS = {"k", "beta", "norm", "relative"}  # beside rel, those of which closed forms know
NEAR = 400_000  # cells of an array that stays near the processor: twice as fast as one five times as large
WORKERS = 2  # queries scored side by side: NumPy lets other threads run
LONGEST = 256  # lists up to this length have the exact interval of precision
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Placed:
    """The lists of one query seen through its belief: rank and place (among the belief's items) of what it mentions."""

    rank: Ints  # [system, h]; padding is BEYOND
    at: Ints  # [system, h]; padding is 0
    retrieved: Ints  # [system]
    present: Bools  # [system]

    def some(self, rows: Ints) -> Placed:
        """The lists with these numbers, no wider than they need be."""
        width = int((self.rank[rows] < BEYOND).sum(1).max(initial=0))
        return Placed(self.rank[rows, :width], self.at[rows, :width], self.retrieved[rows], self.present[rows])


def measure_belief(
    run: Run,
    belief: Belief,
    measures: str | Measure | Iterable[str | Measure],
    policy: Policy | None = None,
    *,
    worlds: int = WORLDS,
    level: float = LEVEL,
    plugin: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """Score every list under the belief: expectation, spread, interval and undefined mass per query, and the draws.

    Formula: value = E[M | M defined], by closed form for P, R, F, RR, Success, AP and their set forms, else the mean
    over `worlds`; [lo, hi] the middle `level` of the worlds (of the exact distribution for P). A certain belief gives
    the crisp values. plugin=True scores expected grades as if they were grades: named so because it is biased.
    """
    policy = policy or Policy(ties=run.ties)
    wanted = parse_all(measures)
    if plugin or belief.certain:
        return measure_certain(
            run, belief.expected() if plugin else opinions_of(belief), wanted, _openly(belief, policy)
        )
    _refuse(wanted, policy, worlds)
    held = extended(belief, run)
    policy = _openly(belief, policy)
    kept = cut_to(run, policy)
    systems, readings = run.systems, list(readings_of(held))
    made = _Table(systems, [one.query for one in readings], [m for m in wanted if not m.definition.text], worlds)
    top = max((float(one.grades[0]) for one in readings), default=1.0)
    if readings and readings[0].people is not None:
        made.allow(2 * len(readings[0].people))

    def enter(number: int, one: Readings, placed: Placed) -> None:
        made.enter(number, one, placed, policy, top=top, level=level)

    with ThreadPoolExecutor(WORKERS, thread_name_prefix="endoxa-worlds") as pool:
        waiting = [
            pool.submit(enter, number, one, placed)
            for number, (one, placed) in enumerate(zip(readings, place(kept, systems, readings), strict=True))
        ]
        try:
            for number, done in enumerate(waiting):
                done.result()
                if progress is not None:
                    progress("worlds", number + 1, len(readings))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return made.scores(run, belief, policy)


def opinions_of(belief: Belief) -> Opinions:
    """The judgments that a certain belief amounts to."""
    sure = belief.frame.filter(pl.col("p") == 1)
    rest = belief.frame.filter(pl.col("p") == 0).join(sure, on=["query", "item"], how="anti")
    zero = rest.select("query", "item").unique(maintain_order=True).with_columns(pl.lit(0.0).alias("grade"))
    return Opinions.of(pl.concat([sure.select("query", "item", "grade"), zero]))


def _openly(belief: Belief, policy: Policy) -> Policy:
    """What is unknown has bounds."""
    return replace(policy, unjudged="bounds") if belief.unmentioned == "unknown" else policy


def _refuse(measures: Sequence[Measure], policy: Policy, worlds: int) -> None:
    if policy.ties in {"average", "range"}:
        raise TextError(f"ties={policy.ties} is not joined with doubt about the truth; take ties=trec or ties=input")
    if policy.assessors != "one":
        raise TextError("assessors=mean is for judgments; several people make a belief by --model votes or subjects")
    if worlds < 2:
        raise TextError(f"worlds must be at least 2, not {worlds}")
    for m in measures:
        if m.definition.text:
            raise TextError(f"{m} is a text and has no expectation; leave it out")


def place(frame: pl.DataFrame, systems: Sequence[str], readings: Sequence[Readings]) -> Iterator[Placed]:
    """The lists of each query of the belief, in its order."""
    queries = [one.query for one in readings]
    names = pl.DataFrame(
        {
            "query": pl.Series([q for one in readings for q in [one.query] * len(one.items)], dtype=pl.String),
            "item": pl.concat([one.items for one in readings]) if readings else pl.Series([], dtype=pl.String),
            "at": np.concatenate([np.arange(len(one.items)) for one in readings] or [np.zeros(0, dtype=np.int64)]),
        }
    )
    coded = frame.select(
        pl.col("system").replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64).alias("s"),
        pl.col("query"),
        pl.col("item"),
        pl.col("rank").cast(pl.Int64),
    )
    sizes = coded.group_by("s", "query").agg(pl.col("rank").max())
    place_of = {query: number for number, query in enumerate(queries)}
    retrieved = np.zeros((len(queries), len(systems)), dtype=np.int64)
    shared = sizes.filter(pl.col("query").is_in(queries))
    if not shared.height:
        shown = ", ".join(frame["query"].unique().sort()[:3]), ", ".join(queries[:3])
        raise JoinError(f"the runs and the belief share no query; the runs have {shown[0]} …, the belief {shown[1]} …")
    q = shared["query"].replace_strict(queries, list(range(len(queries))), return_dtype=pl.Int64).to_numpy()
    retrieved[q, shared["s"].to_numpy()] = shared["rank"].to_numpy()
    found = coded.join(names, on=["query", "item"], how="inner")
    found = found.with_columns(pl.col("query").replace_strict(place_of, return_dtype=pl.Int64)).sort(
        "query", "s", "rank"
    )
    owner, s, rank, at = (found[name].to_numpy() for name in ("query", "s", "rank", "at"))
    bounds = np.searchsorted(owner, np.arange(len(queries) + 1))
    for number in range(len(queries)):
        rows = slice(bounds[number], bounds[number + 1])
        hits = np.bincount(s[rows], minlength=len(systems))
        column = np.arange(hits.sum()) - np.repeat(np.cumsum(hits) - hits, hits)
        shape = (len(systems), int(hits.max(initial=0)))
        ranks, places = np.full(shape, BEYOND, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        ranks[s[rows], column], places[s[rows], column] = rank[rows], at[rows]
        yield Placed(ranks, places, retrieved[number], retrieved[number] > 0)


def in_worlds(grades: Floats, placed: Placed, measures: Sequence[Measure], policy: Policy, *, top: float) -> Floats:
    """The value of every list in every world: [measure, system, world]. `grades` is [world, item]."""
    values = np.empty((len(measures), len(placed.rank), len(grades)))
    for rows in _alike((placed.rank < BEYOND).sum(1)):
        values[:, rows] = _some_in_worlds(grades, placed.some(rows), measures, policy, top=top)
    return values


def _alike(lengths: Ints) -> Iterator[Ints]:
    """Lists of about the same length: one long list must not widen the arrays of all."""
    order = np.argsort(lengths, kind="stable")
    begin = 0
    while begin < len(order):
        end = int(np.searchsorted(lengths[order], 1.5 * lengths[order[begin]] + 16, side="right"))
        yield order[begin:end]
        begin = end


def _some_in_worlds(
    grades: Floats, placed: Placed, measures: Sequence[Measure], policy: Policy, *, top: float
) -> Floats:
    systems, width = placed.rank.shape
    values = np.empty((len(measures), systems, len(grades)))
    step = max(1, NEAR // max(systems * width, grades.shape[1], 1))
    for begin in range(0, len(grades), step):
        some = grades[begin : begin + step]
        lists = _seen(some, placed, top)
        lists = lists.condensed() if policy.unjudged == "condensed" else lists
        for number, m in enumerate(measures):
            k = dict(m.settings).get("k")
            narrow = lists if k is None or policy.unjudged == "condensed" else _within(lists, placed, int(k))
            value = np.broadcast_to(m(narrow, compat=policy.compat), (len(some), systems))
            values[number, :, begin : begin + len(some)] = value.T
    return values


def _seen(grades: Floats, placed: Placed, top: float) -> Lists:
    grade = grades[:, placed.at]
    grade[:, placed.rank == BEYOND] = np.nan
    pool = -np.sort(-grades, axis=1)
    return Lists(placed.rank, grade, placed.retrieved, pool[:, None, :], top)


def _within(lists: Lists, placed: Placed, k: int) -> Lists:
    """Without columns in which no list has an item of its first k: they cannot matter to a measure at k."""
    width = int((placed.rank <= k).sum(1).max(initial=0))
    return replace(lists, rank=lists.rank[:, :width], grade=lists.grade[..., :width])


def expected(one: Readings, placed: Placed, m: Measure) -> distributions.Moments | None:
    """Closed forms over the readings of a query: E[M; defined], E[M²; defined], P(undefined), per system."""
    settings = m.keywords()
    rel = settings.pop("rel", 1)
    if rel is None or not set(settings) <= SETTINGS:
        return None
    parts = []
    for chances in one.reaches(rel):
        p = np.where(placed.rank < BEYOND, chances[placed.at], np.nan)
        made = distributions.expectation(m.name, placed.rank, p, placed.retrieved, chances, **settings)
        if made is None:
            return None
        parts.append(made)
    mixed = (
        np.einsum("r,rs->s", one.weights, np.stack([getattr(part, name) for part in parts]))
        for name in ("mean", "square", "undefined")
    )
    return distributions.Moments(*mixed)


def precision_ends(one: Readings, placed: Placed, m: Measure, level: float) -> tuple[Floats, Floats] | None:
    """The exact interval of precision in the first k (Poisson-binomial, mixed over readings)."""
    settings = m.keywords()
    k = settings.get("k")
    if m.name != "P" or settings.get("relative") or k is None or k > LONGEST:
        return None
    inside = placed.rank <= k
    width = int(inside.sum(1).max(initial=0))
    pmf = np.zeros((len(placed.rank), width + 1))
    for weight, chances in zip(one.weights, one.reaches(settings.get("rel", 1)), strict=True):
        pmf += weight * poisson_binomial.pmf(np.where(inside, chances[placed.at], 0.0)[:, :width])
    below = np.cumsum(pmf, 1)
    tail = (1 - level) / 2 + 1e-12
    low = (below <= tail).sum(1)
    high = width - (np.cumsum(pmf[:, ::-1], 1) <= tail).sum(1)
    return low / k, high / k


class _Table:
    """Scores in the making: one array per column, each query in its own place, so that queries can go side by side."""

    def __init__(self, systems: list[str], queries: list[str], measures: list[Measure], worlds: int) -> None:
        self.systems, self.queries, self.measures, self.worlds = systems, queries, measures, worlds
        shape = (len(measures), len(systems), len(queries))
        self.columns = {name: np.full(shape, np.nan) for name in ("value", "sd", "lo", "hi", "undefined")}
        self.truth = np.full((*shape, worlds), np.nan)
        self.people: Floats | None = None
        self.counts = np.zeros((len(queries), 3, len(systems)), dtype=np.int64)  # items, mentioned, missing

    def allow(self, worlds: int) -> None:
        """Make room for the people's worlds."""
        self.people = np.full((*self.truth.shape[:3], worlds), np.nan)

    def enter(self, number: int, one: Readings, placed: Placed, policy: Policy, *, top: float, level: float) -> None:
        """Score the lists of one query."""
        drawn = in_worlds(draw(one, self.worlds, policy.seed), placed, self.measures, policy, top=top)
        undefined = np.isnan(drawn).mean(-1)
        drawn = np.nan_to_num(drawn, nan=0.0) if policy.undefined == "zero" else drawn
        self.truth[:, :, number] = drawn
        for name, part in described(drawn, level).items():
            self.columns[name][:, :, number] = part
        self.columns["undefined"][:, :, number] = undefined
        if policy.unjudged == "bounds":
            self._bound(number, one, placed, policy, top)
        elif policy.unjudged == "nonrelevant":
            for row, m in enumerate(self.measures):
                ends = precision_ends(one, placed, m, level)
                self._settle(row, number, expected(one, placed, m), ends, zero=policy.undefined == "zero")
        if one.people is not None:
            several = in_worlds(draw_people(one, policy.seed), placed, self.measures, policy, top=top)
            several = np.nan_to_num(several, nan=0.0) if policy.undefined == "zero" else several
            assert self.people is not None
            self.people[:, :, number] = several
        if policy.missing == "skip":
            for array in (*self.columns.values(), self.truth, *([] if self.people is None else [self.people])):
                array[:, ~placed.present, number] = np.nan
        self.counts[number] = np.stack([placed.retrieved, (placed.rank < BEYOND).sum(1), ~placed.present])
        if policy.missing == "error" and not placed.present.all():
            system = self.systems[int(np.flatnonzero(~placed.present)[0])]
            raise JoinError(f"run {system!r} lacks query {one.query!r}; allow it with missing=empty or missing=skip")

    def _settle(
        self,
        row: int,
        number: int,
        moments: distributions.Moments | None,
        ends: tuple[Floats, Floats] | None,
        *,
        zero: bool,
    ) -> None:
        """Exact values in place of those of the worlds; with `zero` what is undefined counts as 0."""
        if moments is not None:
            defined = np.ones_like(moments.undefined) if zero else 1 - moments.undefined
            some = defined > 1e-15
            share = np.where(some, defined, 1.0)
            value = np.where(some, moments.mean / share, np.nan)
            self.columns["value"][row, :, number] = value
            self.columns["undefined"][row, :, number] = moments.undefined
            spread = np.sqrt(np.maximum(moments.square / share - value**2, 0.0))
            known = ~np.isnan(moments.square) & some
            self.columns["sd"][row, known, number] = spread[known]
        if ends is not None:
            self.columns["lo"][row, :, number], self.columns["hi"][row, :, number] = ends

    def _bound(self, number: int, one: Readings, placed: Placed, policy: Policy, top: float) -> None:
        """Mean over worlds of the least and the greatest value, where unmentioned items may be anything."""
        lists = _seen(draw(one, self.worlds, policy.seed), placed, top)
        for row, m in enumerate(self.measures):
            ends = m.definition.bounds
            for name, place_ in (("lo", 0), ("hi", 1)):
                value: Any = np.nan if ends is None else ends(lists, **m.keywords(compat=policy.compat))[place_]
                made = np.broadcast_to(value, (self.worlds, len(self.systems)))
                seen = ~np.isnan(made)
                total = np.where(seen, made, 0.0).sum(0)
                self.columns[name][row, :, number] = np.where(seen.any(0), total / np.maximum(seen.sum(0), 1), np.nan)

    def scores(self, run: Run, belief: Belief, policy: Policy) -> Scores:
        """The table, with undefined values treated as the policy says."""
        columns = self.columns
        names = [str(m) for m in self.measures]
        s, q, m = (part.ravel() for part in np.indices((len(self.systems), len(self.queries), len(names))))
        frame = pl.DataFrame(
            {
                "system": pl.Series(self.systems, dtype=pl.String)[s],
                "query": pl.Series(self.queries, dtype=pl.String)[q],
                "measure": pl.Series(names, dtype=pl.String)[m],
            }
            | {name: column[m, s, q] for name, column in columns.items()}
        )
        draws = Draws(names, self.systems, self.queries, self.truth, self.people, tuple(belief.lines()), (run, belief))
        scored = ~np.isnan(columns["undefined"][m, s, q])
        frame = frame.filter(pl.Series(scored))
        if policy.undefined == "skip":
            bad = frame.filter(pl.col("undefined") > 1 - 1e-9)["query"].unique()  # in every world
            if len(bad) == frame["query"].n_unique():
                raise JoinError(
                    "every query has a score that is 0/0 in every world; nothing is left under undefined=skip"
                )
            frame = frame.filter(~pl.col("query").is_in(bad.implode()))
            kept = [place_ for place_, query in enumerate(self.queries) if query not in set(bad)]
            draws = _some_queries(draws, kept)
        return Scores(frame, policy, self._coverage(run), draws=draws)

    def _coverage(self, run: Run) -> pl.DataFrame:
        own = run.frame.filter(pl.col("query").is_in(self.queries))
        tied = own.group_by("system").agg(
            (pl.struct("query", "block").is_duplicated()).sum().cast(pl.Int64).alias("tied")
        )
        lists = run.frame.group_by("system").agg(
            pl.col("query").filter(~pl.col("query").is_in(self.queries)).n_unique().cast(pl.Int64).alias("unknown")
        )
        items, mentioned, missing = self.counts.sum(0)
        base = pl.DataFrame(
            {
                "system": pl.Series(self.systems, dtype=pl.String),
                "queries": len(self.queries) - missing,
                "missing": missing,
                "items": items,
                "judged": mentioned,
            }
        )
        joined = base.join(lists, on="system", how="left", maintain_order="left").join(
            tied, on="system", how="left", maintain_order="left"
        )
        order = ("system", "queries", "missing", "unknown", "items", "judged", "tied")
        return joined.select(pl.col(name).fill_null(0) if name != "system" else pl.col(name) for name in order)


def described(values: Floats, level: float) -> dict[str, Floats]:
    """Mean, deviation, middle `level` and undefined share over the last axis; NaN where nothing is defined."""
    defined = ~np.isnan(values)
    count = defined.sum(-1)
    filled = np.where(defined, values, 0.0)
    share = np.maximum(count, 1)
    mean = np.where(count > 0, filled.sum(-1) / share, np.nan)
    spread = np.where(defined, values - mean[..., None], 0.0)
    ordered = np.sort(values, -1)  # NaN last
    tail = (1 - level) / 2
    low = np.floor(tail * (share - 1)).astype(np.int64)
    high = np.ceil((1 - tail) * (share - 1)).astype(np.int64)
    return {
        "value": mean,
        "sd": np.where(count > 0, np.sqrt((spread**2).sum(-1) / share), np.nan),
        "lo": np.take_along_axis(ordered, low[..., None], -1)[..., 0],
        "hi": np.take_along_axis(ordered, high[..., None], -1)[..., 0],
        "undefined": 1 - count / values.shape[-1],
    }


def _some_queries(draws: Draws, kept: list[int]) -> Draws:
    return replace(
        draws,
        queries=[draws.queries[place_] for place_ in kept],
        truth=None if draws.truth is None else draws.truth[:, :, kept],
        people=None if draws.people is None else draws.people[:, :, kept],
    )


def expectations(
    run: Run, belief: Belief, measures: str | Measure | Iterable[str | Measure], policy: Policy | None = None, *,
    worlds: int = 64,
) -> Floats:  # fmt: skip
    """Mean over queries of each measure's expectation, no more: [measure, system]; few worlds without a closed form."""
    policy = policy or Policy(ties=run.ties)
    wanted = parse_all(measures)
    readings = list(readings_of(extended(belief, run)))
    top = max((float(one.grades[0]) for one in readings), default=1.0)
    values = np.full((len(wanted), len(run.systems), len(readings)), np.nan)
    for q, (one, placed) in enumerate(zip(readings, place(cut_to(run, policy), run.systems, readings), strict=True)):
        values[:, :, q] = expected_or_drawn(one, placed, wanted, policy, worlds, top)
        if policy.missing == "skip":
            values[:, ~placed.present, q] = np.nan
    seen = ~np.isnan(values)
    return np.where(seen.any(2), np.where(seen, values, 0.0).sum(2) / np.maximum(seen.sum(2), 1), np.nan)


def expected_or_drawn(
    one: Readings, placed: Placed, measures: Sequence[Measure], policy: Policy, worlds: int, top: float
) -> Floats:
    """E[M | defined] of every list: [measure, system]; by closed form, else over worlds."""
    made = np.full((len(measures), len(placed.rank)), np.nan)
    drawn = []
    for row, m in enumerate(measures):
        moments = expected(one, placed, m) if policy.unjudged == "nonrelevant" else None
        if moments is None:
            drawn.append(row)
        else:
            made[row] = mean_of(moments, policy)
    if drawn:
        values = in_worlds(draw(one, worlds, policy.seed), placed, [measures[row] for row in drawn], policy, top=top)
        values = np.nan_to_num(values, nan=0.0) if policy.undefined == "zero" else values
        made[drawn] = described(values, LEVEL)["value"]
    return made


def mean_of(moments: distributions.Moments, policy: Policy) -> Floats:
    """E[M | defined], or with what is undefined as 0 where the policy says so."""
    if policy.undefined == "zero":
        return moments.mean
    defined = 1 - moments.undefined
    return np.where(defined > 1e-15, moments.mean / np.where(defined > 1e-15, defined, 1.0), np.nan)


def cut_to(run: Run, policy: Policy) -> pl.DataFrame:
    """The rows of the run within the policy's cut."""
    return run.frame if policy.cut is None else run.frame.filter(pl.col("rank") <= policy.cut)


def distribute(
    run: Run, belief: Belief, m: Measure, system: str, query: str | None, *, worlds: int, seed: int = 0
) -> distributions.Distribution:
    """The distribution of a measure for one system on a query, or of its mean over all: exact, else over worlds."""
    if system not in run.systems:
        raise TextError(f"no system is called {system!r}{did_you_mean(system, run.systems)}")
    own = Run(run.frame.filter(pl.col("system") == system), run.ties)
    readings = list(readings_of(extended(belief, run)))
    queries = [one.query for one in readings]
    if query is not None and query not in queries:
        raise TextError(f"the belief has no query {query!r}{did_you_mean(query, queries)}")
    pairs = [
        (one, placed)
        for one, placed in zip(readings, place(own.frame, [system], readings), strict=True)
        if query is None or one.query == query
    ]
    if query is not None:
        exact = _exactly(*pairs[0], m)
        if exact is not None:
            return exact
    elif m.name == "P" and not m.keywords().get("relative") and all(len(one.weights) == 1 for one, _ in pairs):
        k = int(m.keywords()["k"])
        chances = [_first(placed, one.reaches(m.keywords().get("rel", 1))[0], k) for one, placed in pairs]
        return distributions.sum_over_queries(chances, k)
    top = max(float(one.grades[0]) for one, _ in pairs)
    drawn = np.stack(
        [in_worlds(draw(one, worlds, seed), placed, [m], Policy(), top=top)[0, 0] for one, placed in pairs]
    )
    defined = ~np.isnan(drawn)
    means = np.where(defined, drawn, 0.0).sum(0)[defined.any(0)] / defined.sum(0)[defined.any(0)]
    return distributions.gathered(means, np.full(len(means), 1 / worlds), 1 - len(means) / worlds)


def _first(placed: Placed, chances: Floats, k: int | None) -> Floats:
    """The chances of what stands in the first k, in rank order."""
    inside = placed.rank[0] <= (BEYOND - 1 if k is None else k)
    return np.asarray(chances[placed.at[0][inside]])


def _exactly(one: Readings, placed: Placed, m: Measure) -> distributions.Distribution | None:
    """The exact distribution on one query, mixed over its readings; None where there is no closed form."""
    settings = m.keywords()
    if settings.get("relative") or settings.get("norm") == "min" or settings.get("rel", 1) is None:
        return None
    k, beta = settings.get("k"), settings.get("beta", 1.0)
    size = int(placed.retrieved[0]) if m.name.startswith("Set") else k
    parts = []
    for chances in one.reaches(settings.get("rel", 1)):
        found = _first(placed, chances, k)
        inside = placed.rank[0] <= (BEYOND - 1 if k is None else k)
        rest = np.delete(chances, placed.at[0][inside])
        if m.name in {"P", "SetP"}:
            parts.append(distributions.precision(found, size))
        elif m.name in {"R", "SetR"}:
            parts.append(distributions.recall(found, rest))
        elif m.name in {"F", "SetF"}:
            parts.append(distributions.f(found, rest, beta, size))
        elif m.name == "RR":
            parts.append(distributions.reciprocal_rank(found, placed.rank[0][inside], k))
        elif m.name == "Success":
            parts.append(distributions.success(found))
        else:
            return None
    return distributions.mixture(parts, one.weights)
