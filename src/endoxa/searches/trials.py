"""Trials of learners with simulated people: which finds more of a kind, and which finds one picture sooner.

Kind search. A picture is the query. The first page is the same for every learner: the ranking by the query alone. Then
every learner goes on with the marks of its own pages. Pictures that were shown do not return (residual collection), so
that the honest reference is `none`: the next page of the same first ranking.

Target search. There is no query, and the first page, the same for every learner, shows pictures that stand for all.
Counted are the pictures on all pages up to the one with the target. No learner can do better than the second page where
the first does not show it, so that ratios of these counts are near 1 where pages are large; the pictures beyond the
least possible are compared too.

Source: docs/methods/search.md, Trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from time import perf_counter
from typing import Literal, get_args

import numpy as np
import polars as pl

from endoxa.comparisons.intervals import summarise
from endoxa.comparisons.orders import query_weights
from endoxa.comparisons.paired import compare
from endoxa.comparisons.winners import Apart, pairwise, resamples_for
from endoxa.errors import JoinError, TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.policies import Policy
from endoxa.searches.arms import Arm, Features
from endoxa.searches.baselines import none
from endoxa.searches.kernels import Rows
from endoxa.searches.learner import Evidence, Fitted, Model
from endoxa.searches.learners import LEARNERS
from endoxa.searches.paging import choose_page, exploring
from endoxa.searches.priors import Counts
from endoxa.searches.searchers import Marking, People, Person, person_of
from endoxa.searches.seeking import standing_for
from endoxa.searches.signals import ROWS, SURE, UNMARKED, VAGUE
from endoxa.tables import Comparison, Floats, Ints, Scores

Task = Literal["kind", "target"]
Progress = Callable[[str, int, int], None]
REFERENCE = "none"
OWN = "kernel"  # the learner of `endoxa search`; the others are baselines
DRAWS = 2000  # of the sessions, for the interval of a ratio
NEITHER = Evidence(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Competitor:
    """A learner, and where its metrics come from.

    metric  a metric that every group uses which has it (others keep their first); empty: chosen by the marks
    prior   start: what holds before any search; learnt: what the earlier sessions of the trial taught; thompson: drawn
            from that
    """

    learner: str = "kernel"
    metric: str = ""
    prior: Literal["start", "learnt", "thompson"] = "start"

    @classmethod
    def of(cls, name: str) -> Competitor:
        """`kernel`, `kernel/l1` (a fixed metric), `kernel/learnt`, `kernel/thompson`, `rbf-svm` …"""
        learner, _, policy = name.partition("/")
        refuse_unknown("learner", learner, LEARNERS, listed=True)
        if policy in {"learnt", "thompson"}:
            return cls(learner, "", "learnt" if policy == "learnt" else "thompson")
        return cls(learner, policy)

    def sees(self, features: Features) -> Features:
        """The features with the metrics that this competitor may use."""
        if not self.metric:
            return features
        if not any(self.metric in group.metrics for group in features.groups):
            known = sorted({metric for group in features.groups for metric in group.metrics})
            raise TextError(
                f"no group of features has the metric {self.metric!r}", remedy=f"expected {', '.join(known)}"
            )
        groups = tuple(
            replace(group, metrics=(self.metric if self.metric in group.metrics else group.metrics[0],))
            for group in features.groups
        )
        return replace(features, groups=groups)


@dataclass(frozen=True)
class Setting:
    """What is tried: the task, the people, how they mark, and how long."""

    task: Task = "target"
    people: People = "mixed"
    marking: Marking = "all"
    noise: float = 0.1
    sessions: int = 80
    size: int = 20
    rounds: int = 3  # of a kind search, after the first page
    most: int = 320  # pictures after which a target search is given up

    def __post_init__(self) -> None:
        refuse_unknown("task", self.task, get_args(Task), listed=True)
        refuse_unknown("kind of people", self.people, get_args(People), listed=True)
        refuse_unknown("way of marking", self.marking, get_args(Marking), listed=True)
        for name, least in (("sessions", 2), ("size", 2), ("rounds", 1), ("most", 1)):
            if getattr(self, name) < least:
                raise TextError(f"{name} is {getattr(self, name)}", remedy=f"expected {least} or more")

    @property
    def pages(self) -> int:
        """The number of pages of the longest session."""
        return self.rounds + 1 if self.task == "kind" else -(-self.most // self.size)

    def __str__(self) -> str:
        return f"{self.task} search, {self.people} people, pages of {self.size}"


@dataclass(frozen=True, eq=False)
class Trial:
    """What came out.

    scores   one row per competitor, session and measure. Kind search: P, the precision of the pages after the first;
             `P, first page`, `P, round 1` …; recall, of all pages. Target search: pictures, until the target is found;
             beyond, those beyond the least that any learner could need: one page, or two where the first lacks it
    summary  the mean of each with its 95 % interval over sessions, and its median
    pairs    the paired difference of every two competitors, with interval and p; the intervals of all pairs of a
             measure hold together with 95 %
    harmed   of each competitor, the share of sessions whose P is below that of the reference; of a target search empty
    curve    competitor, pictures, found: the share of targets found by then; of a kind search empty
    seconds  per round, of each competitor
    ceiling  the share of sessions in which fewer relevant pictures than a page holds are left after the first page
    """

    setting: Setting
    competitors: tuple[str, ...]
    scores: Scores
    summary: pl.DataFrame
    pairs: pl.DataFrame
    harmed: Mapping[str, float]
    curve: pl.DataFrame
    seconds: Mapping[str, float]
    ceiling: float = 0.0

    @property
    def measure(self) -> str:
        """What decides: P, of which more is better, or pictures, of which fewer are."""
        return "P" if self.setting.task == "kind" else "pictures"

    @property
    def order(self) -> list[str]:
        """The competitors, the best first."""
        rows = self.summary.filter(pl.col("measure") == self.measure)
        return rows.sort("value", descending=self.measure == "P", maintain_order=True)["system"].to_list()

    def value(self, name: str, measure: str = "") -> dict[str, float]:
        """value, lo, hi, median of a competitor on a measure; empty: the one that decides."""
        wanted = (pl.col("system") == name) & (pl.col("measure") == (measure or self.measure))
        return self.summary.filter(wanted).select("value", "lo", "hi", "median").row(0, named=True)

    @cached_property
    def apart(self) -> Apart:
        """Which competitors the sessions tell apart on the measure that decides."""
        order = self.order
        pairs = combinations(order, 2)
        return Apart(tuple(order), {pair: self.difference(*pair) for pair in pairs}, self.measure == "pictures")

    @property
    def least(self) -> float:
        """The least possible mean of a target search: one page where the first shows the target, else two."""
        return self.value(self.order[0])["value"] - self.value(self.order[0], "beyond")["value"]

    @property
    def baseline(self) -> str | None:
        """The best learner that is not the one of `endoxa search`; no feedback only where there is no other."""
        others = [name for name in self.order if name.partition("/")[0] != OWN]
        return next((name for name in others if name != REFERENCE), others[0] if others else None)

    def ratio(self, name: str, other: str, measure: str) -> tuple[float, float, float]:
        """Mean of `name` / mean of `other`, with its 95 % interval over resamples of the sessions; NaN if `other` is 0.

        Misleads: `other` is often the best of several, which makes the ratio a little too large.
        """
        systems, queries, values = self.scores.matrix(measure)
        weights = query_weights(len(queries), DRAWS, np.random.default_rng(DRAWS))
        one, rest = (values[systems.index(each)] for each in (name, other))
        if not rest.any():
            return np.nan, np.nan, np.nan
        over, under = one @ weights, rest @ weights
        drawn = np.divide(over, under, out=np.full(DRAWS, np.inf), where=under > 0)
        lo, hi = np.quantile(drawn, [0.025, 0.975], method="nearest")
        return float(one.mean() / rest.mean()), float(lo), float(hi)

    def difference(self, name: str, other: str) -> tuple[float, float, float]:
        """The mean paired difference of two competitors on the measure that decides, with its interval."""
        if name == other:
            return 0.0, 0.0, 0.0
        rows = self.pairs.filter(pl.col("measure") == self.measure)
        one = rows.filter((pl.col("system") == name) & (pl.col("baseline") == other))
        if one.height:
            return one.select("difference", "lo", "hi").row(0)
        d, lo, hi = self.difference(other, name)
        return -d, -hi, -lo


def hold(
    features: Features, categories: Sequence[str | None], competitors: Sequence[str], setting: Setting, *,
    seed: int = 0, progress: Progress | None = None,
) -> Trial:  # fmt: skip
    """Let every competitor meet the same people, who make the same mistakes.

    `categories` is the category path of each picture, or None. Sessions, people and chance depend on `seed` only. Every
    picture stands for itself: near-duplicates are not stacked, since one of them is wanted.
    """
    features = replace(features, stacks=np.arange(len(features)))
    names = tuple(dict.fromkeys([*competitors, *([REFERENCE] if setting.task == "kind" else [])]))
    wanted = drawn(categories, setting, seed)
    people = [
        person_of(features, categories, at, setting.people, one=setting.task == "target", noise=setting.noise,
                  marking=setting.marking, rng=np.random.default_rng((seed, 1, number)))
        for number, at in enumerate(wanted)
    ]  # fmt: skip
    firsts = [_first(features, person, setting, np.random.default_rng((seed, 2, n))) for n, person in enumerate(people)]
    rows: list[tuple[str, str, str, float]] = []
    seconds = {}
    for number, name in enumerate(names):
        begun, turns = perf_counter(), 0
        for session, pages in enumerate(_sessions(features, Competitor.of(name), people, firsts, setting, seed)):
            label = f"{session + 1:04d}"
            rows += [(name, label, measure, value) for measure, value in _values(people[session], pages, setting)]
            turns += len(pages) - 1
            if progress is not None:
                progress(f"{setting}", number * len(people) + session + 1, len(names) * len(people))
        seconds[name] = (perf_counter() - begun) / turns if turns else np.nan
    return _trial(setting, names, rows, seconds, people, firsts, seed)


def drawn(categories: Sequence[str | None], setting: Setting, seed: int) -> Ints:
    """The wanted pictures, all different while there are enough; those with a category, and with another picture in it.

    A person who thinks in looks may want any picture.
    """
    rng = np.random.default_rng((seed, 0))
    counts = Counter(categories)
    usable = np.array([at for at, one in enumerate(categories) if one and counts[one] > 1], np.int64)
    if setting.people != "class" or setting.task == "target":
        usable = np.arange(len(categories))
    if len(usable) < 2:
        raise JoinError("no two pictures share a category; people who think in categories have nothing to look for")
    order = np.concatenate([rng.permutation(usable) for _ in range(-(-setting.sessions // len(usable)))])
    return np.asarray(order[: setting.sessions])


def evidence_of(query: int | None, marked: Mapping[int, int], passed: Sequence[int]) -> Evidence:
    """What a session knows: the query, the newest marks, then the newest pictures that were passed without one."""
    rows = [(query, 1.0, SURE)] if query is not None and query not in marked else []
    rows += [(at, grade / 2, SURE) for at, grade in list(marked.items())[-(ROWS - len(rows)) :]]
    left = ROWS - len(rows)
    rows += [(at, UNMARKED, VAGUE) for at in passed[-left:]] if left > 0 else []
    if not rows:
        return NEITHER
    places, y, noise = zip(*rows, strict=True)
    return Evidence(np.array(places, np.int64), np.array(y), np.array(noise))


def play(
    features: Features, competitor: Competitor, person: Person, first: Ints, setting: Setting,
    prior: Mapping[Arm, float],
) -> tuple[list[Ints], Fitted | None]:  # fmt: skip
    """One session: its pages, and what the learner knew in the end."""
    learner = LEARNERS[competitor.learner][0]
    query = person.wanted if setting.task == "kind" else None
    unseen = np.ones(len(features), np.bool_)
    unseen[[] if query is None else [query]] = False
    kept, marked, passed = Rows(features), dict[int, int](), list[int]()
    pages, fitted = [first], None
    while len(pages) < setting.pages and not (setting.task == "target" and person.wanted in pages[-1]):
        page = pages[-1]
        unseen[page] = False
        given = person.mark(page)
        marked |= {int(at): int(person.marks[at]) for at in given}
        passed += [int(at) for at in page if at not in marked]
        evidence = evidence_of(query, marked, passed)
        if competitor.learner == REFERENCE and query is None:
            evidence = NEITHER
        fitted = learner(
            features, evidence, prior=prior, metrics=fitted.metrics if fitted is not None else None, rows=kept
        )  # fmt: skip
        liked = sum(grade > 0 for grade in marked.values())
        share = float(np.mean([marked.get(int(at), 0) > 0 for at in page])) if len(page) else 0.0
        explore = 0 if competitor.learner == REFERENCE else exploring(setting.size, liked, share)
        pages.append(choose_page(features, fitted, unseen, setting.size, explore).places)
        if not len(pages[-1]):
            break
    return pages, fitted


def _sessions(
    features: Features, competitor: Competitor, people: Sequence[Person], firsts: Sequence[Ints], setting: Setting,
    seed: int,
) -> Iterator[list[Ints]]:  # fmt: skip
    """The pages of every session of a competitor; what a session taught is known to the next, if it learns that."""
    sees = competitor.sees(features)
    counts = Counts.start(sees)
    for number, (person, first) in enumerate(zip(people, firsts, strict=True)):
        prior = counts.weights()
        if competitor.prior == "thompson":
            prior, _ = counts.thompson(np.random.default_rng((seed, 3, number)))
        pages, fitted = play(sees, competitor, person, first, setting, prior)
        if competitor.prior != "start" and isinstance(fitted, Model):
            y = fitted.evidence.y[fitted.evidence.noise <= SURE]
            counts = counts.add(fitted.concordance) if (y > 0).any() and (y < 0).any() else counts
        yield pages


def _first(features: Features, person: Person, setting: Setting, rng: np.random.Generator) -> Ints:
    """The first page, the same for all: the ranking by the query alone, or pictures that stand for all."""
    if setting.task == "target":
        return standing_for(features, np.ones(len(features), np.bool_), setting.size, rng=rng)
    asked = evidence_of(person.wanted, {}, [])
    unseen = np.arange(len(features)) != person.wanted
    found = none(features, asked, prior=Counts.start(features).weights())
    return choose_page(features, found, unseen, setting.size).places


def _values(person: Person, pages: Sequence[Ints], setting: Setting) -> Iterator[tuple[str, float]]:
    """The measures of one session."""
    if setting.task == "target":
        found = person.wanted in pages[-1]
        pictures = min(setting.most, sum(map(len, pages))) if found else setting.most
        least = min(setting.most, len(pages[0]) + (0 if person.wanted in pages[0] else setting.size))
        yield "pictures", float(pictures)
        yield "beyond", float(pictures - least)
        return
    relevant = person.relevant
    hits = [int(relevant[page].sum()) for page in pages] + [0] * (setting.pages - len(pages))
    if not relevant.any():
        return
    yield "P", sum(hits[1:]) / (setting.rounds * setting.size)
    yield "recall", sum(hits) / int(relevant.sum())
    for number, count in enumerate(hits):
        yield f"P, round {number}" if number else "P, first page", count / setting.size


def _trial(
    setting: Setting, names: tuple[str, ...], rows: list[tuple[str, str, str, float]], seconds: Mapping[str, float],
    people: Sequence[Person], firsts: Sequence[Ints], seed: int,
) -> Trial:  # fmt: skip
    """The tables of a trial."""
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value"], orient="row")
    scores = _scores(frame, names)
    main = "P" if setting.task == "kind" else "pictures"
    decisive = frame.filter(pl.col("measure") == main).sort("query")
    values = {name: decisive.filter(pl.col("system") == name)["value"].to_numpy() for name in names}
    medians = frame.group_by("system", "measure").agg(pl.col("value").median().alias("median"))
    summary = summarise(scores, rng=np.random.default_rng((seed, 4))).join(
        medians, on=["system", "measure"], how="left"
    )
    pairs = pl.DataFrame(schema=Comparison.SCHEMA)
    if len(names) > 1:
        spans = dict.fromkeys(scores.measures, float(setting.most) if setting.task == "target" else 1.0)
        pairs = compare(
            scores, spans=spans, confidence=pairwise(len(names)),
            resamples=resamples_for(setting.sessions, pairwise(len(names))), rng=np.random.default_rng((seed, 5)),
        ).frame  # fmt: skip
    harmed, ceiling = dict[str, float](), 0.0
    curve = pl.DataFrame(schema={"system": pl.String, "pictures": pl.Int64, "found": pl.Float64})
    if setting.task == "kind":
        harmed = {name: float((mine < values[REFERENCE]).mean()) for name, mine in values.items()}
        left = [
            person.relevant.sum() - person.relevant[page].sum() for person, page in zip(people, firsts, strict=True)
        ]
        ceiling = float((np.array(left) < setting.size).mean())
    else:
        curve = _curve(values, setting)
    return Trial(setting, names, scores, summary, pairs, harmed, curve, dict(seconds), ceiling)


def _curve(values: Mapping[str, Floats], setting: Setting) -> pl.DataFrame:
    """The share of targets that were found after each page; the last page counts those given up as not found."""
    rows = [
        (name, step, float(((pictures <= step) & (pictures < setting.most)).mean()))
        for name, pictures in values.items()
        for step in range(setting.size, setting.size * setting.pages + 1, setting.size)
    ]
    return pl.DataFrame(rows, schema=["system", "pictures", "found"], orient="row")


def _scores(frame: pl.DataFrame, names: tuple[str, ...]) -> Scores:
    whole = frame.with_columns(
        *(pl.lit(None, pl.Float64).alias(name) for name in ("sd", "lo", "hi")), pl.lit(0.0).alias("undefined")
    )
    sessions = frame["query"].n_unique()
    coverage = pl.DataFrame({"system": list(names), "queries": [sessions] * len(names)})
    return Scores(whole.select(list(Scores.SCHEMA)), Policy(), coverage)
