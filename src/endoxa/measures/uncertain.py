"""Measures under a belief: every list is scored in the same possible worlds, and exactly where a closed form exists.

The unit of work is a query: `score_query` scores all its lists together, and `gather` joins the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.worlds import Readings, draw, draw_people
from endoxa.errors import CallError, TextError, did_you_mean, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.measures import distributions
from endoxa.measures.closed_forms import Chances, Moments, OneList
from endoxa.measures.distributions import Distribution
from endoxa.measures.evaluate import measure as measure_certain
from endoxa.measures.gather import NOT_COVERED, Block, gather
from endoxa.measures.grammar import KNOWN, REQUIRED, Measure, Wanted, parse_all
from endoxa.measures.judgments import refuse_out_of_reach
from endoxa.measures.lists import BEYOND, PADDING, Drawn, Lists, alike
from endoxa.measures.placing import Placed, Placement, place
from endoxa.policies import WORLDS, Policy
from endoxa.statistics import poisson_binomial
from endoxa.statistics.bootstrap import blocks, widened
from endoxa.tables import Belief, Floats, Ints, Opinions, Run, Scores

CONFIDENCE = 0.95
TOGETHER = 400  # worlds whose grades are kept in one array
NEAR = 2_000_000  # cells of an array that stays near the processor
LONGEST = 256  # lists up to this length have the exact interval of precision
Progress = Callable[[str, int, int], None]
Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


def measure_belief(
    run: Run,
    belief: Belief,
    measures: Wanted,
    policy: Policy | None = None,
    *,
    worlds: int = WORLDS,
    confidence: float = CONFIDENCE,
    plugin: bool = False,
    progress: Progress | None = None,
    mapper: Mapper = map,
    placement: Placement | None = None,
) -> Scores:
    """Score every list under the belief: expectation, spread, interval and undefined mass per query, and the draws.

    Formula: value = E[M | M defined], by the closed form of the measure if it has one, else the mean over `worlds`;
    [lo, hi] holds the middle `confidence` of the worlds (of the exact distribution for P) and the value. A certain
    belief gives the values of ordinary judgments. plugin=True scores expected grades as if they were grades, which is
    biased. `mapper` maps the kernel over the queries, as `map` does.
    `placement` is the run placed in this belief, if the caller has placed it already.
    """
    policy = policy or Policy(ties=run.ties)
    wanted = parse_all(measures)
    refuse_grades(wanted, belief)
    if plugin and not belief.certain:
        _refuse_thresholds(wanted, belief)
    if plugin or belief.certain:
        opinions = belief.expected() if plugin else opinions_of(belief)
        return measure_certain(run, opinions, wanted, _openly(belief, policy))
    _refuse(wanted, policy, worlds)
    policy = _openly(belief, policy)
    placed = placement or place(run, belief, policy)
    kernel = partial(score_query, placed.systems, wanted, policy, worlds, confidence, placed.top)
    scored = mapper(kernel, list(zip(range(len(placed.lists)), placed.readings, placed.lists, strict=True)))
    scores = gather(
        {"": placed},
        [chain([_covering(placed, wanted)], _watched(scored, progress, len(placed.lists)))],
        wanted,
        policy,
        systems=placed.systems,
        empty=partial(_score_empty, worlds=worlds, confidence=confidence),
        noun="belief",
        lines=tuple(belief.lines()),
    )
    return scores if scores.draws is None else replace(scores, draws=replace(scores.draws, origin=(run, belief)))


def refuse_grades(measures: Sequence[Measure], belief: Belief) -> None:
    """Refuse a measure of grades that the belief does not have, as a consensus of votes has none above 1.

    A belief that is certain amounts to judgments; among those nothing may be that relevant.
    """
    voted = belief.model.startswith("consensus")
    if voted or not belief.certain:
        whose = "a consensus of votes" if voted else "this belief"
        refuse_out_of_reach(measures, belief.frame["grade"].unique(), whose)


GRADED = {"P": "GradedP", "SetP": "GradedP", "R": "GradedR", "SetR": "GradedR", "F": "GradedF", "SetF": "GradedF"}


def _refuse_thresholds(measures: Sequence[Measure], belief: Belief) -> None:
    """Refuse a measure that counts what has a least grade, if no expected grade can reach it: all values would be 0."""
    top = float(belief.frame["grade"].cast(float).max() or 0.0)  # type: ignore[arg-type]
    for one in measures:
        if one.rel is None or "rel" not in one.definition.settings or top > one.rel:
            continue
        cutoff = str(one).partition("@")[2]
        graded = GRADED.get(one.name)
        instead = f"take {graded}{f'@{cutoff}' if cutoff else ''}, which adds up expected grades, or " if graded else ""
        raise CallError(
            f"{one} counts items of grade {one.rel:g} or more, and an expected grade is less unless it is certain, so "
            "that nearly every value would be 0",
            remedy=f"{instead}leave out --plugin (plugin=False)",
        )


def score_query(
    systems: Sequence[str], measures: Sequence[Measure], policy: Policy, worlds: int, confidence: float, top: float,
    query: tuple[int, Readings, Placed],
) -> Block:  # fmt: skip
    """Score the lists of one query, those that are there: (its number, the belief about it, its lists)."""
    number, one, every = query
    rows = np.flatnonzero(every.present)
    placed = every.some(rows)
    return replace(
        _scored(one, placed, measures, policy, worlds, confidence, top),
        systems=[systems[row] for row in rows.tolist()],
        places=np.full(len(rows), number),
    )


def _scored(
    one: Readings,
    placed: Placed,
    measures: Sequence[Measure],
    policy: Policy,
    worlds: int,
    confidence: float,
    top: float,
) -> Block:
    """Scores of the lists of one query; systems and places are for the caller to fill in."""
    grades = draw(one, worlds, policy.seed)
    truth = in_worlds(one, grades, placed, measures, policy, top=top)
    undefined = np.isnan(truth).mean(-1)
    truth = _settled(truth, policy)
    described = describe(truth, confidence)
    if policy.unjudged == "bounds":
        described[2:] = _bounds(one, grades, placed, measures, policy, top)
    elif policy.unjudged == "nonrelevant":
        seen = _Seen(one, placed)
        for row, m in enumerate(measures):
            if (moments := seen.expected(m)) is not None:
                value, sd = _value_and_sd(moments, policy)
                described[:2, row] = value, np.where(np.isnan(sd), described[1, row], sd)
                undefined[row] = moments.undefined
            if (ends := seen.ends(m, confidence)) is not None:
                described[2:, row] = ends
    described[2:] = widened(described[2], described[3], described[0])
    people = None
    if one.people is not None:
        people = _settled(in_worlds(one, draw_people(one, policy.seed), placed, measures, policy, top=top), policy)
    return Block(
        [], np.zeros(0, dtype=np.int64), described[0], described[1:], [], NOT_COVERED, undefined, truth, people
    )


def _score_empty(
    placed: Placement, places: Ints, measures: Sequence[Measure], policy: Policy, *, worlds: int, confidence: float
) -> Block:
    """Scores of an empty list for these queries."""
    nothing = np.zeros((1, 0), dtype=np.int64)
    empty = Placed(nothing, nothing, np.zeros(1, dtype=np.int64))
    queries, at = np.unique(places, return_inverse=True)
    scored = [
        _scored(placed.readings[query], empty, measures, policy, worlds, confidence, placed.top)
        for query in queries.tolist()
    ]

    def joined(name: str, axis: int = 1) -> Any:
        parts = [getattr(block, name) for block in scored]
        return None if parts[0] is None else np.concatenate(parts, axis).take(at, axis)

    doubts = (joined(name) for name in ("undefined", "truth", "people"))
    return Block([""] * len(places), places, joined("values"), joined("spread", 2), [], NOT_COVERED, *doubts)


def _covering(placed: Placement, measures: Sequence[Measure]) -> Block:
    """A block without lists that holds the coverage of the run."""
    count = len(measures)
    return Block([], np.zeros(0, dtype=np.int64), np.zeros((count, 0)), None, [], placed.coverage, np.zeros((count, 0)))


def _watched(blocks: Iterable[Block], progress: Progress | None, total: int) -> Iterator[Block]:
    for number, block in enumerate(blocks):
        yield block
        if progress is not None:
            progress("worlds", number + 1, total)


def opinions_of(belief: Belief) -> Opinions:
    """The judgments that a certain belief amounts to."""
    sure = belief.frame.filter(pl.col("p") == 1)
    rest = belief.frame.filter(pl.col("p") == 0).join(sure, on=["query", "item"], how="anti")
    zero = rest.select("query", "item").unique(maintain_order=True).with_columns(pl.lit(0.0).alias("grade"))
    return Opinions.of(pl.concat([sure.select("query", "item", "grade"), zero]))


def _openly(belief: Belief, policy: Policy) -> Policy:
    """The policy; items that are unknown to the belief have bounds."""
    return replace(policy, unjudged="bounds") if belief.unmentioned == "unknown" else policy


def _refuse(measures: Sequence[Measure], policy: Policy, worlds: int) -> None:
    if policy.ties in {"average", "range"}:
        raise TextError(f"ties={policy.ties} cannot be combined with a belief", remedy="use ties=trec or ties=input")
    if policy.assessors != "one":
        raise TextError(
            "assessors=mean is for judgments", remedy="several people form a belief with --model votes or subjects"
        )
    if worlds < 2:
        raise TextError(f"worlds must be at least 2, not {worlds}")
    for m in measures:
        if m.definition.text:
            raise TextError(f"{m} is a text and has no expectation", remedy="leave it out")


# ---- in possible worlds


def in_worlds(
    one: Readings, grades: Floats, placed: Placed, measures: Sequence[Measure], policy: Policy, *, top: float
) -> Floats:
    """The value of every list in every world: [measure, list, world]. `grades` is [world, item]."""
    values = np.empty((len(measures), len(placed.rank), len(grades)))
    cuts = {row: cut for row, m in enumerate(measures) if (cut := dict(m.settings).get("k")) is not None}
    cuts = {} if policy.unjudged == "condensed" else cuts
    wide = [row for row in range(len(measures)) if row not in cuts]
    groups = [(wide, lists, placed.some(lists)) for lists in alike(placed.mentioned)] if wide else []
    if cuts:  # no such measure looks further than its cut-off: the lists are scored together
        groups.append((list(cuts), np.arange(len(placed.rank)), placed.first(max(cuts.values()))))
    for begin in range(0, len(grades), TOGETHER):
        table, pool = _table_and_pool(one, grades[begin : begin + TOGETHER])
        for rows, lists, some in groups:
            asked = [measures[row] for row in rows]
            for worlds in blocks(len(pool), max(NEAR // max(some.rank.size, 1), 1)):
                drawn = _drawn(table[:, worlds], some)
                scored = score_worlds(Lists(some.rank, drawn, some.retrieved, pool[worlds], top), asked, policy)
                for row, value in zip(rows, scored, strict=True):
                    values[row, lists, begin + worlds.start : begin + worlds.stop] = value
    return values


def _table_and_pool(one: Readings, grades: Floats) -> tuple[Floats, Floats]:
    """Grades [world, item] as Drawn takes them, and sorted as Lists takes them: [world, 1, item]."""
    table = np.empty((grades.shape[1] + 1, len(grades)), dtype=grades.dtype)
    table[:-1], table[-1] = grades.T, np.nan if grades.dtype == float else PADDING
    possible = np.unique(np.append(one.grades, 0.0)).astype(grades.dtype)
    pool = np.full(grades.shape, possible[0])
    place_ = np.arange(grades.shape[1])
    for grade in possible[1:]:  # counting the few grades is faster than sorting all items
        count = (table[:-1] >= grade).sum(0, dtype=np.int32)
        pool = np.where(place_ < count[:, None], grade, pool)
    return table, pool[:, None]


def _drawn(table: Floats, placed: Placed) -> Drawn:
    return Drawn(table, np.ascontiguousarray(np.where(placed.rank < BEYOND, placed.at, len(table) - 1).T))


def score_worlds(lists: Lists, measures: Sequence[Measure], policy: Policy) -> Floats:
    """Values of lists whose grades are [world, list, h]: [measure, list, world]."""
    condensed = policy.unjudged == "condensed"
    lists = lists.condensed() if condensed else lists
    shape = (len(lists.pool), len(lists.retrieved)) if not condensed else lists.retrieved.shape
    values = np.empty((len(measures), *shape[::-1]))
    for row, m in enumerate(measures):
        k = dict(m.settings).get("k")
        narrow = lists if k is None or condensed else _within(lists, int(k))
        values[row] = np.broadcast_to(m(narrow, compat=policy.compat), shape).T
    return values


def _within(lists: Lists, k: int) -> Lists:
    """Without columns in which no list has an item of its first k: they do not matter to a measure at k."""
    width = int((lists.rank <= k).sum(-1).max(initial=0))
    grades = lists.grades.narrow(width) if isinstance(lists.grades, Drawn) else lists.grades[..., :width]
    return replace(lists, rank=lists.rank[:, :width], grades=grades)


def _settled(values: Floats, policy: Policy) -> Floats:
    """Undefined values as 0, where the policy says so."""
    return np.nan_to_num(values, nan=0.0) if policy.undefined == "zero" else values


def describe(values: Floats, confidence: float) -> Floats:
    """Mean, deviation and ends of the middle `confidence` over the last axis: [4, …]; NaN where all is undefined."""
    defined = ~np.isnan(values)
    count = defined.sum(-1)
    share = np.maximum(count, 1)
    mean = np.where(count > 0, np.where(defined, values, 0.0).sum(-1) / share, np.nan)
    apart = np.where(defined, values - mean[..., None], 0.0)
    ordered = np.sort(values, -1)  # NaN last
    tail = (1 - confidence) / 2
    ends = (np.floor(tail * (share - 1)), np.ceil((1 - tail) * (share - 1)))
    low, high = (np.take_along_axis(ordered, end.astype(np.int64)[..., None], -1)[..., 0] for end in ends)
    return np.stack([mean, np.where(count > 0, np.sqrt((apart**2).sum(-1) / share), np.nan), low, high])


def _bounds(
    one: Readings, grades: Floats, placed: Placed, measures: Sequence[Measure], policy: Policy, top: float
) -> Floats:
    """Mean over worlds of the least and greatest value if unmentioned items may be anything: [2, measure, list]."""
    table, pool = _table_and_pool(one, grades)
    lists = Lists(placed.rank, _drawn(table, placed), placed.retrieved, pool, top)
    made = np.full((2, len(measures), len(placed.rank)), np.nan)
    for row, m in enumerate(measures):
        if m.definition.bounds is None:
            continue
        for end, value in enumerate(m.definition.bounds(lists, **m.keywords(compat=policy.compat))):
            drawn_ends = np.broadcast_to(value, (len(grades), len(placed.rank)))
            seen = ~np.isnan(drawn_ends)
            total = np.where(seen, drawn_ends, 0.0).sum(0)
            made[end, row] = np.where(seen.any(0), total / np.maximum(seen.sum(0), 1), np.nan)
    return made


# ---- by closed forms


@dataclass(frozen=True, eq=False)
class _Seen:
    """The lists of one query with the probabilities of their items. Those are looked up once for each `rel`."""

    one: Readings
    placed: Placed
    spread: bool = True

    @cached_property
    def _tables(self) -> dict[float, list[Chances]]:
        return {}

    def tables(self, rel: float) -> list[Chances]:
        """The lists in each reading."""
        if rel not in self._tables:
            self._tables[rel] = [chances_of(self.placed, p, spread=self.spread) for p in self.one.reaches(rel)]
        return self._tables[rel]

    def expected(self, m: Measure) -> Moments | None:
        """E[M; defined], E[M²; defined] and P(undefined) over the readings; None without a closed form."""
        if m.definition.moments is None or m.rel is None:
            return None
        parts = [m.closed_form(m.definition.moments, table) for table in self.tables(m.rel)]
        if any(part is None for part in parts):
            return None
        names = ("mean", "square", "undefined")
        stacked = (np.stack([getattr(part, name) for part in parts]) for name in names)
        return Moments(*(np.einsum("r,rs->s", self.one.weights, part) for part in stacked))

    def ends(self, m: Measure, confidence: float) -> tuple[Floats, Floats] | None:
        """The exact interval of a value that is a Poisson-binomial count divided by a number, mixed over readings."""
        form = m.sum_form
        if form is None or form.divisor is None or form.k is None or form.k > LONGEST or m.rel is None:
            return None
        inside = self.placed.rank <= form.k
        width = int(inside.sum(1).max(initial=0))
        pmf = np.zeros((len(inside), width + 1))
        for weight, table in zip(self.one.weights, self.tables(m.rel), strict=True):
            pmf += weight * poisson_binomial.pmf(np.where(inside, table.p, 0.0)[:, :width])
        tail = (1 - confidence) / 2 + 1e-12
        low = (np.cumsum(pmf, 1) <= tail).sum(1)
        high = width - (np.cumsum(pmf[:, ::-1], 1) <= tail).sum(1)
        return low / form.divisor, high / form.divisor


def chances_of(placed: Placed, chances: Floats, *, spread: bool) -> Chances:
    """The lists with the probabilities of their items, [item], or [list, item] where every list has its own."""
    at = placed.at
    found = chances[at] if chances.ndim == 1 else np.take_along_axis(chances, at, 1)
    return Chances(placed.rank, np.where(placed.rank < BEYOND, found, 0.0), placed.retrieved, chances, spread)


def expectation(name: str, rank: Ints, p: Floats, retrieved: Ints, pool: Floats, **settings: Any) -> Moments | None:
    """E[M; defined], E[M²; defined] and Pr(M undefined) of a measure for S lists of one query; None if unknown.

    The arrays are those of `Chances`, with NaN as padding in `p` and `pool`. The settings are those of the measure
    except `rel`, which p already respects.
    Misleads: a plug-in (p taken as gain) is not this; it is biased both ways.
    """
    definition = KNOWN[name]
    for setting in settings:
        if setting not in definition.settings:
            raise TextError(f"{name} has no setting {setting!r}", remedy=did_you_mean(setting, definition.settings))
    for setting, default in definition.settings.items():
        if default is REQUIRED and setting not in settings:
            raise TextError(f"{name} needs {setting}")
    table = Chances.of(rank, p, retrieved, pool)
    return None if definition.moments is None else definition.moments(table, **settings)


def _value_and_sd(moments: Moments, policy: Policy) -> tuple[Floats, Floats]:
    """Mean and deviation of M given that it is defined; or with undefined values as 0, where the policy says so."""
    defined = np.ones_like(moments.undefined) if policy.undefined == "zero" else 1 - moments.undefined
    possible = defined > 1e-15
    share = np.where(possible, defined, 1.0)
    value = np.where(possible, moments.mean / share, np.nan)
    return value, np.where(possible, np.sqrt(np.maximum(moments.square / share - value**2, 0.0)), np.nan)


def expectations(
    run: Run,
    belief: Belief,
    measures: Wanted,
    policy: Policy | None = None,
    *,
    worlds: int = 64,
    mapper: Mapper = map,
    placement: Placement | None = None,
) -> Floats:
    """Mean over queries of the expectation of each measure, by closed form, else in a few worlds: [measure, system]."""
    policy = policy or Policy(ties=run.ties)
    wanted = parse_all(measures)
    placed = placement or place(run, belief, policy)
    kernel = partial(expected_or_drawn, wanted, policy, worlds, placed.top)
    values = np.stack(list(mapper(kernel, list(zip(placed.readings, placed.lists, strict=True)))), axis=-1)
    return mean_over_queries(values)


def mean_over_queries(values: Floats) -> Floats:
    """Mean over the last axis of what is defined; NaN where nothing is."""
    seen = ~np.isnan(values)
    return np.where(seen.any(-1), np.where(seen, values, 0.0).sum(-1) / np.maximum(seen.sum(-1), 1), np.nan)


def expected_or_drawn(
    measures: Sequence[Measure], policy: Policy, worlds: int, top: float, query: tuple[Readings, Placed]
) -> Floats:
    """E[M | defined] of every list of a query: [measure, list]."""
    one, placed = query

    def drawn(some: Sequence[Measure]) -> Floats:
        return in_worlds(one, draw(one, worlds, policy.seed), placed, some, policy, top=top)

    return means_of_lists(_Seen(one, placed, spread=False).expected, drawn, placed, measures, policy)


Expected = Callable[[Measure], Moments | None]  # the closed form of a measure for the lists of a query
InWorlds = Callable[[Sequence[Measure]], Floats]  # their values in drawn worlds: [measure, list, world]


def means_of_lists(
    expected: Expected, drawn: InWorlds, placed: Placed, measures: Sequence[Measure], policy: Policy
) -> Floats:
    """E[M | defined] of every list of a query, by closed form, else over worlds: [measure, list]."""
    values, rest = np.full((len(measures), len(placed.rank)), np.nan), []
    for row, m in enumerate(measures):
        moments = expected(m) if policy.unjudged == "nonrelevant" else None
        if moments is None:
            rest.append(row)
        else:
            values[row] = _value_and_sd(moments, policy)[0]
    if rest:
        values[rest] = mean_over_queries(_settled(drawn([measures[row] for row in rest]), policy))
    if policy.missing == "skip":
        values[:, ~placed.present] = np.nan
    return values


# ---- whole distributions


def distribute(
    run: Run, belief: Belief, m: Measure, system: str, query: str | None, *, worlds: int, seed: int = 0
) -> Distribution:
    """The distribution of a measure for one system on a query, or of its mean over all: exact, else over worlds."""
    refuse_unknown("system", system, run.systems)
    refuse_grades([m], belief)
    placed = place(run, belief).some([system])
    if query is not None and query not in placed.queries:
        raise TextError(f"the belief has no query {query!r}", remedy=did_you_mean(query, placed.queries))
    pairs = [
        (one, own)
        for one, own in zip(placed.readings, placed.lists, strict=True)
        if query is None or one.query == query
    ]
    exact = _mean_law(pairs, m) if query is None else _law(*pairs[0], m)
    if exact is not None:
        return exact
    top = max(float(one.grades[0]) for one, _ in pairs)
    drawn = np.stack([in_worlds(one, draw(one, worlds, seed), own, [m], Policy(), top=top)[0, 0] for one, own in pairs])
    means = mean_over_queries(drawn.T)
    means = means[~np.isnan(means)]
    return distributions.gathered(means, np.full(len(means), 1 / worlds), 1 - len(means) / worlds)


def _law(one: Readings, placed: Placed, m: Measure) -> Distribution | None:
    """The exact distribution on one query, mixed over its readings; None without a closed form."""
    if m.definition.law is None or m.rel is None:
        return None
    real = placed.rank[0] < BEYOND
    at, rank = placed.at[0][real], placed.rank[0][real]
    laws = [
        m.closed_form(m.definition.law, OneList(rank, p[at], np.delete(p, at), int(placed.retrieved[0])))
        for p in one.reaches(m.rel)
    ]
    known = [law for law in laws if law is not None]
    return distributions.mixture(known, one.weights) if len(known) == len(laws) else None


def _mean_law(pairs: Sequence[tuple[Readings, Placed]], m: Measure) -> Distribution | None:
    """The exact distribution of the mean over queries where it is a count divided by a number: mean P@k."""
    form = m.sum_form
    if form is None or form.divisor is None or form.k is None or m.rel is None:
        return None
    if any(len(one.weights) > 1 for one, _ in pairs):
        return None
    found = [one.reaches(m.rel)[0][placed.at[0][placed.rank[0] <= form.k]] for one, placed in pairs]
    return distributions.sum_over_queries(found, form.k)
