"""Decisions replayed on a judged collection: what was stated after a few labels, and what all judgments say of it.

Labels are drawn by the design of `endoxa next` and `decide`, and answered by the judgments; an item without a judgment
is not relevant, as in trec_eval. A statement about two systems is right if all judgments put them into the same order
on the same measure and topics. Pairs that all judgments call equal are left out and counted.
Misleads: "right" is about these topics, not about new ones; draws share topics and systems, so the counts are not
independent; the best quarter by the truth is chosen by what nobody can see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field as field_of
from dataclasses import fields as fields_of
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Universe
from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.measures.evaluate import measure as scored
from endoxa.measures.grammar import Measure
from endoxa.notes import Note, note
from endoxa.policies import BATCH, UNTIL, Policy
from endoxa.pools.choosing import askable
from endoxa.pools.deciding import Deciding, Look, Question, rows_of, simulate
from endoxa.progress import Progress
from endoxa.tables import COUNTED, Bools, Floats, Ints, Opinions, Run
from endoxa.tables.checks import finite

LEVELS = (0, 1, 5, 20)  # labels a topic
DRAWS, SIZE, MOST = 20, 10, 600
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # bins of P(better), open on the left
BEST_EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)  # bins of P(best) and of P(settled within h)
HORIZONS = (100, 300)  # further labels within which the forecast says how likely a settlement is
NEAR = 0.01  # of the best value: a winner within this distance is hardly a loss
TINY = 1e-12  # differences of means below this are rounding
WHOLE, RANDOM = "whole", "random"
FIELD, QUARTER, TRUE_QUARTER = PARTS = ("field", "best quarter", "true best quarter")
ALL = "all"  # measures together


@dataclass(frozen=True)
class Plan:
    """What is replayed.

    levels   labels a topic; None: those of 0, 1, 5 and 20 that the judgments suffice for
    draws    draws of labels at each level
    fields   number of random fields, of `size` systems each, beside the whole field
    courses  number of courses of the loop, each until it is settled or has `most` labels
    """

    levels: tuple[int, ...] | None = None
    draws: int = DRAWS
    fields: int = 0
    size: int = SIZE
    courses: int = 0
    most: int = MOST
    until: float = UNTIL
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("fields", 0), ("size", 2), ("courses", 0), ("most", 1)):
            if getattr(self, name) < least:
                raise TextError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if self.levels is not None and (not self.levels or min(self.levels) < 0):
            raise TextError("the numbers of labels a topic are 0 or more", remedy="0,1,5,20 is usual")


@dataclass(frozen=True, eq=False)
class Field:
    """Systems that are compared with each other: the whole field, or a few of them drawn at random.

    places  [system] their numbers among all systems
    grades  [row of the universe] by the judgments; 0 without a judgment
    judged  [row] whether there is a judgment
    """

    kind: str
    number: int
    places: Ints
    universe: Universe
    grades: Floats
    judged: Bools


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over statements about pairs, for each of PARTS. Those of several draws and fields add up.

    bins    [part, bin, 3] number of pairs, sum of what was said, number right
    stated  [part, 3] number of pairs, of those stated above `until`, of those right among these
    equal   [part] number of pairs that all judgments call equal, which are left out of the others
    seen    [part, system, system] whether a pair was ever stated above `until`
    """

    bins: Floats
    stated: Floats
    equal: Floats
    seen: Bools

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.bins + other.bins, self.stated + other.stated, self.equal + other.equal, self.seen | other.seen
        )


@dataclass(frozen=True, eq=False)
class Backtest:
    """A record of what was stated and what was right. `field` is "whole" or "random", `labels` are labels a topic.

    In `courses` and `looks` the labels are counted over all topics. `distinct` is the number of pairs of systems that
    were ever stated above `until`.

    statements   field, measure, labels, part, pairs, equal, stated, share, right, draws, distinct: pairs of systems,
                 once for every draw; `share` of them stated above `until`, and the share of these that is `right`
    reliability  field, measure, labels, part, lo, hi, pairs, said, right: by bins of P(better), each above lo up to hi
    best         field, measure, labels, draws, said, right, unjudged: P(best) of the leader, and how often it is the
                 best; the share of the drawn labels without a judgment
    leaders      field, labels, lo, hi, draws, said, right: the same by bins of P(best), all measures together
    courses      course, field, number, measure, settled, labels, leader, chance, right, loss, gap: one row for each
                 course; `loss` is the best value minus that of the leader, `gap` the best minus the second
    looks        course, measure, labels, median, low, high, actual, within_100, within_300, ends: a row for each look
                 at a course before it was settled; `actual` further labels are null where it never was, and `ends` are
                 the labels of the whole course
    """

    measures: tuple[str, ...]
    levels: tuple[int, ...]
    plan: Plan
    systems: int
    topics: int
    judgments: int
    distinct: int
    statements: pl.DataFrame
    reliability: pl.DataFrame
    best: pl.DataFrame
    leaders: pl.DataFrame
    courses: pl.DataFrame
    looks: pl.DataFrame
    notes: tuple[Note, ...] = ()
    title: str = ""
    provenance: Mapping[str, str] = field_of(default_factory=dict)

    @cached_property
    def settled(self) -> pl.DataFrame:
        """measure, courses, settled, right, near, labels_25, labels_50, labels_75, gap_…: what became of the courses.

        `right` and `near` are shares of the settled courses: the winner is the best, or within .01 of it. The gaps are
        quartiles of the true difference between the best and the second, of settled courses and of open ones.
        """
        return _by_measure(self.courses, _settled)

    @cached_property
    def forecast(self) -> pl.DataFrame:
        """measure, looks, settled, ratio_25, ratio_50, ratio_75, by_then, inside, beyond: forecast against actual.

        ratio    predicted by actual further labels, quartiles over looks at courses that were settled
        by_then  share of looks that were settled by the median forecast, of those whose forecast lies within `most`
        inside   share of the actual numbers that lie between the quartiles of the forecast
        beyond   share of looks that were settled, of those whose forecast lies beyond `most`
        """
        return _by_measure(self.looks, self._forecast)

    @cached_property
    def horizons(self) -> pl.DataFrame:
        """further, lo, hi, looks, said, right: P(settled within so many further labels) by bins, and how often."""
        parts = []
        for further in HORIZONS:
            known = self.looks.filter(pl.col("actual").is_not_null() | (pl.col("labels") + further <= pl.col("ends")))
            said = known[f"within_{further}"].to_numpy()
            true = (known["actual"] <= further).fill_null(False).to_numpy().astype(np.float64)
            parts += [{"further": further} | row for row in _binned(said, true, BEST_EDGES, "looks")]
        kinds = {"further": pl.Int64, **_BIN, "looks": pl.Int64, "said": pl.Float64, "right": pl.Float64}
        return pl.DataFrame(parts, schema=kinds)

    def _forecast(self, rows: pl.DataFrame) -> dict[str, Any]:
        known = rows.filter(pl.col("actual").is_not_null())
        ratio = (known["median"] / known["actual"]).to_numpy()
        inside = rows.filter(pl.col("labels") + pl.col("median") <= self.plan.most)
        beyond = rows.filter(pl.col("labels") + pl.col("median") > self.plan.most)
        return {
            "looks": rows.height, "settled": known.height, **_quartiles("ratio", ratio),
            "by_then": _mean((inside["actual"] <= inside["median"]).fill_null(False)),
            "inside": _mean((known["actual"] >= known["low"]) & (known["actual"] <= known["high"])),
            "beyond": _mean(beyond["actual"].is_not_null()),
        }  # fmt: skip

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name; those about courses only where there were courses."""
        names = ["statements", "reliability", "best", "leaders"]
        names += ["settled", "courses"] if self.courses.height else []
        names += ["forecast", "horizons", "looks"] if self.looks.height else []
        return {name: getattr(self, name) for name in names}

    def plain(self) -> dict[str, Any]:
        """What JSON holds: the facts, all tables as lists of rows, notes and provenance."""
        plan = {one.name: getattr(self.plan, one.name) for one in fields_of(self.plan) if one.name != "levels"}
        made: dict[str, Any] = finite(
            {
                "title": self.title, "measures": self.measures, "labels": self.levels, **plan, "systems": self.systems,
                "topics": self.topics, "judgments": self.judgments, "distinct": self.distinct,
                "tables": {name: table.to_dicts() for name, table in self.tables.items()},
                "notes": [one.plain() for one in self.notes], "provenance": self.provenance,
            }
        )  # fmt: skip
        return made

    def named(self, title: str, provenance: Mapping[str, str]) -> Backtest:
        """The same with a title and its provenance."""
        return replace(self, title=title, provenance=provenance)


_BIN = {"lo": pl.Float64, "hi": pl.Float64}
_COURSES = {
    "course": pl.Int64, "field": pl.String, "number": pl.Int64, "measure": pl.String, "settled": pl.Boolean,
    "labels": pl.Int64, "leader": pl.String, "chance": pl.Float64, "right": pl.Boolean, "loss": pl.Float64,
    "gap": pl.Float64,
}  # fmt: skip
_LOOKS = {
    "course": pl.Int64, "measure": pl.String, "labels": pl.Int64, "median": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "actual": pl.Int64, **{f"within_{further}": pl.Float64 for further in HORIZONS},
    "ends": pl.Int64,
}  # fmt: skip


def replay(
    run: Run, judgments: Opinions, measures: Sequence[Measure], plan: Plan, *, progress: Progress | None = None
) -> Backtest:
    """Replay decisions on a judged collection: statements after a few labels, and courses of the loop."""
    for measure in measures:
        Question(measure, "order", plan.until)  # refuses a measure without a linear form
    run, judged = _shared(run, judgments)
    if plan.fields and plan.size >= len(run.systems):
        raise JoinError(
            f"a random field of {plan.size} systems needs more than these {len(run.systems)}",
            remedy="give a smaller size, or no fields",
        )
    truth = _truth(run, judged, measures)
    fields = list(_fields(run, judged, plan))
    levels = _levels(fields, measures, plan)
    tallies, leaders = _statements(fields, measures, levels, truth, plan, progress)
    courses, looks = _courses(fields, measures, truth, plan, progress)
    distinct = np.any([one.seen[0] for one in tallies.values()], axis=0).sum()
    return Backtest(
        tuple(map(str, measures)), levels, plan, len(run.systems), judged.frame["query"].n_unique(),
        judged.frame.height, int(distinct), _stated(tallies, leaders), _reliability(tallies), _best(leaders),
        _by_chance(leaders), courses, looks, tuple(_notes(leaders, levels, plan)),
    )  # fmt: skip


# ---- the collection -----------------------------------------------------------------------------------


def _shared(run: Run, judgments: Opinions) -> tuple[Run, Opinions]:
    """Runs and judgments of the queries that both have."""
    if len(run.systems) < 2:
        raise JoinError("a backtest compares two systems or more", remedy="add a run")
    counted = judgments.frame.filter(COUNTED)
    twice = counted.filter(counted.select("query", "item").is_duplicated())
    if twice.height:
        raise JoinError(
            f"{twice['source'].n_unique()} people judged the same pairs",
            remedy="keep the judgments of one of them: the labels are drawn from what one person said",
        )
    common = set(counted["query"].unique()) & set(run.frame["query"].unique())
    if not common:
        ours, theirs = run.frame["query"][0], judgments.frame["query"][0] if judgments.frame.height else None
        raise JoinError(
            "runs and judgments have no query in common",
            remedy=f"the first query of the runs is {ours!r}, of the judgments {theirs!r}",
        )
    kept = pl.col("query").is_in(list(common))
    return Run(run.frame.filter(kept), run.ties), Opinions(counted.filter(kept))


def _truth(run: Run, judged: Opinions, measures: Sequence[Measure]) -> dict[str, Floats]:
    """[system] means by all judgments, over the topics on which the measure is defined."""
    scores = scored(run, judged, measures, Policy(ties=run.ties))
    truth = {}
    for measure in measures:
        systems, _, values = scores.matrix(str(measure))
        known = ~np.isnan(values).all(0)
        if not np.nansum(values[:, known]):
            raise JoinError(
                f"by these judgments {measure} is 0 for every system", remedy="give judgments of what the runs found"
            )
        means = dict(zip(systems, np.nan_to_num(values[:, known]).mean(1), strict=True))
        truth[str(measure)] = np.array([means[system] for system in run.systems])
    return truth


def _fields(run: Run, judged: Opinions, plan: Plan) -> Iterator[Field]:
    """The whole field, and random fields."""
    rng = np.random.default_rng((plan.seed, 0))
    every = np.arange(len(run.systems))
    grades = judged.frame.select("query", "item", pl.col("grade").clip(lower_bound=0))
    for number in range(plan.fields + 1):
        places = np.sort(rng.choice(every, plan.size, replace=False)) if number else every
        names = [run.systems[place] for place in places]
        own = Run(run.frame.filter(pl.col("system").is_in(names)), run.ties) if number else run
        universe = Universe.of(own)
        known = universe.rows.join(grades, on=["query", "item"], how="left", maintain_order="left")["grade"]
        yield Field(
            RANDOM if number else WHOLE, number, places, universe, known.fill_null(0.0).to_numpy().astype(np.float64),
            known.is_not_null().to_numpy(),
        )  # fmt: skip


def _levels(fields: Sequence[Field], measures: Sequence[Measure], plan: Plan) -> tuple[int, ...]:
    """The numbers of labels a topic. Those beyond what is judged are refused, or left out where none were given."""
    reach, scarce = min(
        (int((field.judged & askable(field.universe, measure)).sum()) // len(field.universe.queries), str(measure))
        for field in fields
        for measure in measures
    )
    if plan.levels is None:
        return tuple(level for level in LEVELS if level <= reach)
    if max(plan.levels) > reach:
        raise JoinError(
            f"{max(plan.levels)} labels a topic are more than are judged: {reach} a topic within the reach of {scarce}",
            remedy=f"at most {reach} can be drawn",
        )
    return tuple(dict.fromkeys(plan.levels))


# ---- statements ---------------------------------------------------------------------------------------


def _statements(
    fields: Sequence[Field], measures: Sequence[Measure], levels: Sequence[int], truth: Mapping[str, Floats],
    plan: Plan, progress: Progress | None,
) -> tuple[dict[tuple[str, str, int], Tally], pl.DataFrame]:  # fmt: skip
    """Counts by field, measure and labels a topic; and what every draw said of its leader."""
    tallies: dict[tuple[str, str, int], Tally] = {}
    rows, done = [], 0
    draws = {level: plan.draws if level else 1 for level in levels}  # without labels there is nothing to draw
    whole = len(fields) * len(measures) * sum(draws.values())
    for field in fields:
        for place, measure in enumerate(measures):
            name = str(measure)
            means = truth[name][field.places]
            begun = Deciding.of(field.universe, Question(measure, "order", plan.until))
            for level in levels:
                for draw in range(draws[level]):
                    rng = np.random.default_rng((plan.seed, 1, field.number, place, level, draw))
                    look, unjudged = _look(begun, field, level, rng)
                    found = look.found
                    tally = tally_of(found.better, found.mean, means, plan.until, field.places, len(truth[name]))
                    key = (field.kind, name, level)
                    tallies[key] = tallies[key] + tally if key in tallies else tally
                    leader = found.systems.index(look.leader)
                    right = bool(means[leader] >= means.max() - TINY)
                    rows.append((*key, field.number, draw, float(look.best[leader]), right, unjudged))
                    done += 1
                    if progress is not None:
                        progress("statements", done, whole)
    kinds = {
        "field": pl.String, "measure": pl.String, "labels": pl.Int64, "number": pl.Int64, "draw": pl.Int64,
        "said": pl.Float64, "right": pl.Boolean, "unjudged": pl.Float64,
    }  # fmt: skip
    return tallies, pl.DataFrame(rows, schema=kinds, orient="row")


def _look(begun: Deciding, field: Field, level: int, rng: np.random.Generator) -> tuple[Look, float]:
    """What is stated about the best and all pairs after so many labels a topic; the share without a judgment."""
    deciding, unjudged = begun, 0.0
    if level:
        rows = rows_of(field.universe, begun.ask(level * len(field.universe.queries), number=1, rng=rng))
        deciding, unjudged = begun.answered(rows, field.grades[rows]), float((~field.judged[rows]).mean())
    return deciding.asking(replace(begun.question, about="best")).verdict, unjudged


def tally_of(
    better: Floats, mean: Floats, truth: Floats, until: float, places: Ints | None = None, systems: int = 0
) -> Tally:
    """Count what P(better) [system, system] states about every pair, against the true means.

    `mean` are the estimates, which make the best quarter. `places` are the numbers of the systems among all `systems`.
    """
    n = len(mean)
    places = np.arange(n) if places is None else places
    left, right = np.triu_indices(n, 1)
    forward, backward = better[left, right], better[right, left]
    said = np.maximum(forward, backward)
    apart = truth[left] - truth[right]
    apart = np.where(np.abs(apart) <= TINY, 0.0, apart)
    agrees = np.where(forward == backward, 0.5, (forward > backward) == (apart > 0))
    counted = np.searchsorted(EDGES[1:], np.minimum(said, 1.0))
    quarters = [_quarter(mean), _quarter(truth)]
    parts = [np.ones(len(left), dtype=bool), *(best[left] & best[right] for best in quarters)]
    bins, stated = np.zeros((len(PARTS), len(EDGES) - 1, 3)), np.zeros((len(PARTS), 3))
    equal, seen = np.zeros(len(PARTS)), np.zeros((len(PARTS), max(systems, n), max(systems, n)), dtype=bool)
    for part, inside in enumerate(parts):
        differs = inside & (apart != 0)
        high = differs & (said > until)
        for column, weight in enumerate((np.ones(len(said)), said, agrees)):
            bins[part, :, column] = np.bincount(counted[differs], weights=weight[differs], minlength=len(EDGES) - 1)
        stated[part] = differs.sum(), high.sum(), agrees[high].sum()
        equal[part] = (inside & (apart == 0)).sum()
        seen[part, places[left[high]], places[right[high]]] = True
    return Tally(bins, stated, equal, seen)


def _quarter(values: Floats) -> Bools:
    """The best quarter of the systems by a value: at least three."""
    best = np.zeros(len(values), dtype=bool)
    best[np.argsort(-values, kind="stable")[: max(3, len(values) // 4)]] = True
    return best


def _stated(tallies: Mapping[tuple[str, str, int], Tally], leaders: pl.DataFrame) -> pl.DataFrame:
    drawn = {row[:3]: row[3] for row in leaders.group_by("field", "measure", "labels").len().iter_rows()}
    rows = [
        (
            *key, part, int(pairs), int(one.equal[place]), int(stated), _ratio(stated, pairs), _ratio(right, stated),
            drawn[key], int(one.seen[place].sum()),
        )
        for key, one in tallies.items()
        for place, part in enumerate(PARTS)
        for pairs, stated, right in [one.stated[place].tolist()]
    ]  # fmt: skip
    kinds = {
        "field": pl.String, "measure": pl.String, "labels": pl.Int64, "part": pl.String, "pairs": pl.Int64,
        "equal": pl.Int64, "stated": pl.Int64, "share": pl.Float64, "right": pl.Float64, "draws": pl.Int64,
        "distinct": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _reliability(tallies: Mapping[tuple[str, str, int], Tally]) -> pl.DataFrame:
    rows = [
        (*key, part, lo, hi, int(pairs), said / pairs, right / pairs)
        for key, one in tallies.items()
        for place, part in enumerate(PARTS)
        for (lo, hi), (pairs, said, right) in zip(pairwise(EDGES), one.bins[place].tolist(), strict=True)
        if pairs
    ]
    kinds = {
        "field": pl.String, "measure": pl.String, "labels": pl.Int64, "part": pl.String, **_BIN, "pairs": pl.Int64,
        "said": pl.Float64, "right": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=kinds, orient="row")


def pooled(reliability: pl.DataFrame, *by: str) -> pl.DataFrame:
    """The bins of `reliability`, added up over all columns but these: columns by, lo, hi, pairs, said, right."""
    pairs = pl.col("pairs")
    means = [((pl.col(name) * pairs).sum() / pairs.sum()).alias(name) for name in ("said", "right")]
    return reliability.group_by(*by, "lo", "hi").agg(pairs.sum(), *means).sort(*by, "lo")


def _best(leaders: pl.DataFrame) -> pl.DataFrame:
    return leaders.group_by("field", "measure", "labels", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("draws"), pl.col("said").mean(), pl.col("right").mean(), pl.col("unjudged").mean()
    )


def _by_chance(leaders: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {"field": kind, "labels": labels} | row
        for (kind, labels), part in leaders.group_by("field", "labels", maintain_order=True)
        for row in _binned(part["said"].to_numpy(), part["right"].to_numpy().astype(np.float64), BEST_EDGES, "draws")
    ]
    kinds = {
        "field": pl.String, "labels": pl.Int64, **_BIN, "draws": pl.Int64, "said": pl.Float64, "right": pl.Float64
    }  # fmt: skip
    return pl.DataFrame(rows, schema=kinds)


def _binned(said: Floats, right: Floats, edges: Sequence[float], count: str) -> Iterator[dict[str, Any]]:
    """Number, mean of what was said and share that was right, by bins of what was said."""
    place = np.searchsorted(edges[1:-1], said)
    for at, (lo, hi) in enumerate(pairwise(edges)):
        if len(own := np.flatnonzero(place == at)):
            means = {"said": float(said[own].mean()), "right": float(right[own].mean())}
            yield {"lo": lo, "hi": hi, count: len(own), **means}


# ---- courses ------------------------------------------------------------------------------------------


def _courses(
    fields: Sequence[Field], measures: Sequence[Measure], truth: Mapping[str, Floats], plan: Plan,
    progress: Progress | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """One row for each course, and one for each look before it was settled."""
    eligible = [field for field in fields if field.kind == (RANDOM if plan.fields else WHOLE)]
    rows: list[tuple[Any, ...]] = []
    looks: list[tuple[Any, ...]] = []
    for course in range(plan.courses):
        measure = measures[course % len(measures)]
        field = eligible[course // len(measures) % len(eligible)]
        rng = np.random.default_rng((plan.seed, 2, course))
        question = Question(measure, "best", plan.until)
        passed = []
        for now in simulate(
            field.universe, question, field.grades.__getitem__, batch=BATCH, most=plan.most, rng=rng
        ):  # fmt: skip
            passed.append((len(now.learned.judged), getattr(now, "forecast", None)))
        ends, settled = passed[-1][0], now.is_settled
        means = truth[str(measure)][field.places]
        leader = field.universe.systems.index(now.leader)
        high = np.sort(means)[::-1]
        rows.append(
            (
                course, field.kind, field.number, str(measure), settled, ends, now.leader, now.chance,
                bool(means[leader] >= high[0] - TINY), float(high[0] - means[leader]), float(high[0] - high[1]),
            )
        )  # fmt: skip
        looks += [
            (course, str(measure), count, *_foreseen(said), ends - count if settled else None, *_within(said), ends)
            for count, said in passed[: -1 if settled else None]
            if said is not None
        ]
        if progress is not None:
            progress("courses", course + 1, plan.courses)
    return pl.DataFrame(rows, schema=_COURSES, orient="row"), pl.DataFrame(looks, schema=_LOOKS, orient="row")


def _foreseen(forecast: Any) -> tuple[float, float, float]:
    """Median, low and high number of further labels."""
    low, median, high = (getattr(forecast, name) for name in ("low", "median", "high"))
    return tuple(np.inf if value is None else float(value) for value in (median, low, high))  # type: ignore[return-value]


def _within(forecast: Any) -> list[float]:
    """P(settled within so many further labels)."""
    return [float(forecast.within(further)) for further in HORIZONS]


def _by_measure(rows: pl.DataFrame, summary: Callable[[pl.DataFrame], dict[str, Any]]) -> pl.DataFrame:
    """A summary for each measure, and for all of them together where there are several."""
    parts = [(name, part) for (name,), part in rows.group_by("measure", maintain_order=True)]
    parts += [(ALL, rows)] if len(parts) > 1 else []
    return pl.DataFrame([{"measure": name} | summary(part) for name, part in parts], infer_schema_length=None)


def _settled(rows: pl.DataFrame) -> dict[str, Any]:
    settled, left = rows.filter("settled"), rows.filter(~pl.col("settled"))
    return {
        "courses": rows.height, "settled": settled.height, "right": _mean(settled["right"]),
        "near": _mean(settled["loss"] <= NEAR + TINY), **_quartiles("labels", settled["labels"].to_numpy()),
        **_quartiles("gap_settled", settled["gap"].to_numpy()), **_quartiles("gap_open", left["gap"].to_numpy()),
    }  # fmt: skip


def _quartiles(name: str, values: Floats) -> dict[str, float]:
    """Quartiles, each one of the values; NaN where there are none."""
    found = np.quantile(values, [0.25, 0.5, 0.75], method="nearest") if len(values) else [np.nan] * 3
    return {f"{name}_{percent}": float(value) for percent, value in zip((25, 50, 75), found, strict=True)}


def _mean(right: pl.Series) -> float:
    """The share that is true; NaN where there are none."""
    return float(right.to_numpy().mean()) if len(right) else np.nan


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else np.nan


def _notes(leaders: pl.DataFrame, levels: Sequence[int], plan: Plan) -> Iterator[Note]:
    yield note("backtest.right")
    yield note("backtest.true_quarter")
    if plan.levels is None and (left := [level for level in LEVELS if level not in levels]):
        yield note("backtest.scarce", levels=left)
    if share := float(leaders.filter(pl.col("labels") > 0)["unjudged"].mean() or 0.0):  # type: ignore[arg-type]
        yield note("backtest.unjudged", share=share)
