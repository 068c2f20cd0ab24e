"""Ratings that people gave: agreement, calibration, and how well systems' scores follow them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from endoxa.beliefs import models
from endoxa.errors import InstallError, JoinError, TableError, TextError, did_you_mean
from endoxa.evaluations.evaluation import Evaluation, File
from endoxa.evaluations.rating_sentences import cautions, inputs_said
from endoxa.evaluations.settings import Settings
from endoxa.formatting import counted
from endoxa.frozen import dataclass
from endoxa.notes import Note, noted, text, warning
from endoxa.policies import Inputs, Method, Metric
from endoxa.studies import agreement as agreements
from endoxa.studies import rater_calibration as calibrations
from endoxa.studies import score_mapping as mappings
from endoxa.studies.agreement import Agreement
from endoxa.studies.comparison import Comparison, attempted
from endoxa.studies.dominance import Dominance, dominance
from endoxa.studies.estimates import Curves, curves
from endoxa.studies.grades import CALIBRATED, MOVED, UNJUDGED, cut
from endoxa.studies.rater_calibration import Benefit, Calibration
from endoxa.studies.score_mapping import Mapping as Mapped
from endoxa.studies.selection import Selection, selection_bias
from endoxa.studies.uniformity import Uniformity, deviation, of_counts
from endoxa.tables import Belief, Opinions, Run

Progress = Callable[[str, int, int], None]

EXCLUDED = ("practice", "gold", "attention")  # roles that test the rater rather than rate the item
METHODS: tuple[Method, ...] = get_args(Method)
SCALE = re.compile(rf"^(?:{CALIBRATED} )?(-?\d+(?:\.\d+)?) ?[-–] ?(\d+(?:\.\d+)?)$")
CLASSES = 20  # more different grades than this are put into ten bins
BINS = 10
STEPS = 5  # calls of `progress`, besides one for each map
REPEATED = (  # notes of the parts that counts, warnings and tables repeat
    "flagged constant",
    "flagged reversed",
    "lowers the variance too",
    "opinions are undecided, or negative",
    "% of the ratings",
    "scored pairs of",
)
FIGURES = {"part": pl.String, "of": pl.String, "figure": pl.String} | dict.fromkeys(
    ("value", "se", "lo", "hi"), pl.Float64
) | {"n": pl.Int64}  # fmt: skip
SUMMARY = {"system": pl.String, "measure": pl.String} | dict.fromkeys(
    ("value", "lo", "hi", "se"), pl.Float64
) | {"queries": pl.Int64, "undefined": pl.Int64}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Analysis:
    """All results about people's ratings: the details of an evaluation of kind "ratings".

    answers, undecided   answers that count (without practice, gold, attention); how many of them have no grade
    roles                the number of answers of each role, excluded ones too
    agreement, after     as given; and calibrated, None where no rater was calibrated
    calibration          what calibration does, or would do, to every rater; `calibrated` says if it was used
    per_rater            source, answers, undecided, shared, without, change, correlation; common, mean, sd, a, b,
                         shift (what calibration adds to the mean), flags
    classes, uniformity  the grades that could be given, and how evenly they were used
    mappings             by method; sentences are about the first
    points               system, query, item, score, rating, sources: what the maps were fitted on
    """

    raters: int
    pairs: int
    queries: int
    answers: int
    undecided: int
    roles: Mapping[str, int]
    scale: tuple[float, float]
    threshold: float
    threshold_reason: str
    calibrated: bool
    shrinkage: float
    metric: Metric
    confidence: float
    resamples: int
    seed: int
    agreement: Agreement
    after: Agreement | None
    calibration: Calibration
    benefit: Benefit | None
    per_rater: pl.DataFrame
    classes: tuple[str, ...]
    uniformity: Uniformity | None
    systems: tuple[str, ...] = ()
    mappings: Mapping[str, Mapped] = field(default_factory=dict)
    points: pl.DataFrame | None = None
    selection: Selection | None = None
    dominance: Dominance | None = None
    curves: Curves | None = None
    comparison: Comparison | Note | None = None  # of the systems, by the ratings as given; a note where impossible
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def final(self) -> Agreement:
        """Agreement of the ratings that all other results use: calibrated if they were."""
        return self.agreement if self.after is None else self.after

    @property
    def first(self) -> Mapped | None:
        """The map that sentences are about; None without one."""
        return next(iter(self.mappings.values()), None)

    def benefit_of(self, stage: str) -> float:
        """Alpha before calibration, in sample or on held-out pairs; NaN where nobody was calibrated."""
        stages = {} if self.benefit is None else dict(self.benefit.frame.select("stage", "alpha").iter_rows())
        return float(stages.get(stage, math.nan))

    def policies(self) -> list[str]:
        """The choices behind the figures, one per line: `name: meaning`."""
        use = (
            f"a shift and a stretch for each rater, from {self.calibration.common:,} common pairs, shrinkage "
            f"{self.shrinkage:g}"
            if self.calibrated
            else "none; ratings are used as they were given"
        )
        lines = [
            f"calibration: {use}",
            f"agreement: {self.metric} distances between grades; {self.confidence:.0%} intervals over pairs, "
            f"{self.resamples:,} resamples",
        ]
        if self.systems or not math.isnan(self.threshold):
            lines.append(f"threshold: a rating above {self.threshold:g} is relevant ({self.threshold_reason})")
        if self.mappings:
            lines.append(
                f"maps: {', '.join(self.mappings)}; five folds of queries, each predicted by maps fitted on the others"
            )
        return [*lines, f"seed: {self.seed}"]

    def remarks(self) -> list[str]:
        """Notes of all parts, each once, without those that counts, warnings and tables repeat."""
        parts: list[Sequence[str]] = [self.notes, self.agreement.notes, self.calibration.notes]
        parts += [part.notes for part in (self.benefit, *self.mappings.values()) if part is not None]
        parts += [part.notes for part in (self.selection, self.dominance, self.curves) if part is not None]
        notes = dict.fromkeys(note for part in parts for note in part)
        kept = [note for note in notes if not any(text in note for text in REPEATED)]
        return [*kept, *([] if self.first is None else inputs_said(self.first)), *self._priors()]

    def _priors(self) -> list[str]:
        """How far another prior moves the Bayesian maps at most."""
        bayes = self.mappings.get("bayes")
        rows = bayes.frame.filter(pl.col("moved").is_finite()).sort("moved") if bayes is not None else pl.DataFrame()
        if not rows.height:
            return []
        last = rows.row(-1, named=True)
        change = f"moves the maps by at most {last['moved']:.2g} ({last['system']}, of {rows.height} systems)"
        return [f"bayes: another prior (v0 x 4, lam x 3) {change}"]


def evaluation_of(
    found: Analysis, *, title: str = "", provenance: Mapping[str, str] | None = None, files: Sequence[File] = ()
) -> Evaluation:
    """The analysis as an evaluation: its summary has r on held-out queries of every system and map."""
    rows = [
        (row["system"], f"r, {method}", row["held_out"], None, None, row["se"], row["queries"], 0)
        for method, mapping in found.mappings.items()
        for row in mapping.frame.iter_rows(named=True)
    ]
    tables = {"figures": figures_of(found), "raters": found.per_rater}
    if found.curves is not None:
        tables["curves"] = found.curves.points
    if isinstance(found.comparison, Comparison):
        tables["compared"] = found.comparison.pairs
    raters = counted(found.raters, "rater", "raters")
    systems = counted(len(found.systems), "system", "systems")
    return Evaluation(
        kind="ratings", scores=None, summary=pl.DataFrame(rows, schema=SUMMARY, orient="row"),
        settings=Settings(confidence=found.confidence, resamples=found.resamples, seed=found.seed), tables=tables,
        warnings=tuple(text(one, "warning") for one in found.warnings), notes=tuple(map(text, found.remarks())),
        title=title or (f"{systems} against {raters}" if found.systems else f"Ratings of {raters}"),
        provenance=provenance or {}, files=tuple(files), details=found,
    )  # fmt: skip


def analyse(
    opinions: Opinions, run: Run | None = None, *, threshold: float | None = None, calibrated: bool = True,
    shrinkage: float = 5.0, metric: Metric = "interval", methods: Sequence[Method] = METHODS,
    input: Inputs = "auto",  # noqa: A002 (the name of the option and of the column)
    distances: bool | Literal["auto"] | Collection[str] = False, confidence: float = 0.95, resamples: int = 500,
    seed: int = 0, progress: Progress | None = None,
) -> Analysis:  # fmt: skip
    """Analyse people's ratings, and how well systems' scores follow them.

    The analysis has the agreement before and after calibration, each rater, and the use of the scale; with runs also
    maps from scores to ratings (the figure is the correlation on queries that the map was not fitted on),
    self-advantage where `selected_by` names systems, the rater with most answers against the others, and, where pairs
    were drawn with known probabilities, precision and recall of the whole lists.
    `threshold`: a mean rating above it is relevant; without one, the middle of the scale. `metric`: what the distance
    between two grades means for alpha. `input`, `distances`: see `endoxa.studies.score_mapping`. Practice, gold
    and attention answers never count, nor do votes of systems. A part that cannot be computed (one rater, all
    undecided, no numba) is left out, and a note says why.
    """
    _refuse(methods, confidence, resamples)
    table, notes, roles = _counted(opinions)
    answered = table.frame.filter(pl.col("grade").is_not_null())
    lo, hi, source = scale_of(table)

    def tell(step: str) -> None:
        if progress is not None:
            progress(step, 0, 1)

    rng = _chances(seed)
    done = _already(table)
    if done and calibrated:
        notes.append("The ratings are already calibrated; they are used as they are.")
    if calibrated and metric == "nominal":
        notes.append("Nominal grades have no shift and no stretch: nobody is calibrated.")

    tell("agreement")
    before = agreements.agreement(table, level=metric, confidence=confidence, resamples=resamples, rng=rng(0))
    tell("calibration")
    calibration = calibrations.calibrate(table, shrinkage=shrinkage)
    use = calibrated and not done and metric != "nominal" and calibration.common > 0
    judged = calibration.apply(table) if use else table
    after = benefit = None
    if use:
        after = agreements.agreement(judged, level=metric, confidence=confidence, resamples=resamples, rng=rng(0))
        benefit = calibrations.benefit(table, shrinkage=shrinkage, rng=rng(1))
    asked = (lo + hi) / 2 if threshold is None else threshold
    at = cut(asked, answered["grade"]) if use else asked
    reason = "given" if threshold is not None else f"the middle of {lo:g} to {hi:g}, {source}"
    if at != asked:
        reason = f"halfway from {asked:g}, {reason}, to the next grade: calibrated ratings lie between grades"
    classes, uniformity = _uniformity(answered["grade"], lo, hi)
    found = Analysis(
        raters=len(table.sources), pairs=answered.select("query", "item").n_unique(),
        queries=answered["query"].n_unique(), answers=table.frame.height,
        undecided=table.frame.height - answered.height, roles=roles, scale=(lo, hi), threshold=at,
        threshold_reason=reason, calibrated=use, shrinkage=shrinkage, metric=metric, confidence=confidence,
        resamples=resamples, seed=seed, agreement=before, after=after, calibration=calibration, benefit=benefit,
        per_rater=_raters(before.per_rater, calibration.frame), classes=classes, uniformity=uniformity,
        systems=() if run is None else tuple(run.systems), notes=tuple(notes),
    )  # fmt: skip
    if run is not None and answered.height:
        compared = attempted(run, table, scale=(lo, hi), confidence=confidence, agreement=before)
        found = replace(found, comparison=compared)
        found = _with_systems(found, run, judged, methods=methods, input=input, distances=distances, tell=tell, rng=rng)
    elif run is not None:
        found = replace(found, notes=(*found.notes, "Nobody gave a rating: there is nothing to compare the runs with."))
    several = [source] if source.startswith("ratings are") else []
    return replace(found, warnings=(*several, *cautions(found)))


def _with_systems(
    found: Analysis, run: Run, judged: Opinions, *, methods: Sequence[Method],
    input: Inputs,  # noqa: A002
    distances: bool | Literal["auto"] | Collection[str], tell: Callable[[str], None],
    rng: Callable[[int], np.random.Generator],
) -> Analysis:  # fmt: skip
    """The analysis with what the ratings say about the systems' scores."""
    points, confidence, resamples = _points(run, judged), found.confidence, found.resamples
    notes, maps = [*found.notes], dict[str, Mapped]()
    for method in methods:
        tell(f"map by {method}")
        try:
            maps[method] = mappings.mapping(
                run,
                judged,
                method=method,
                input=input,
                distances=distances,
                resamples=resamples,
                confidence=confidence,
                rng=rng(2),
            )
        except InstallError as error:
            notes.append(f"no map by {method}: {error}")
    tell("selection")
    chosen = master = None
    if len(_choosers(judged) & set(run.systems)) > 1:
        chosen = selection_bias(run, judged, distances=distances, confidence=confidence, rng=rng(3))
    tell("dominance")
    if judged.frame.filter(pl.col("grade").is_not_null())["source"].n_unique() > 1:
        master = dominance(run, judged, distances=distances, confidence=confidence, rng=rng(4))
    tell("curves")
    estimated = None
    if judged.frame["propensity"].null_count() < judged.frame.height:  # pairs were drawn with known probabilities
        try:
            estimated = curves(
                run, judged, threshold=found.threshold, confidence=confidence, resamples=resamples, rng=rng(5)
            )
        except (JoinError, TableError) as error:
            notes.append(f"no curves of precision and recall: {error}")
    return replace(
        found, mappings=maps, points=points, selection=chosen, dominance=master, curves=estimated, notes=tuple(notes)
    )


def believe(
    opinions: Opinions, *, threshold: float, model: str | None = None, calibrated: bool = True, shrinkage: float = 5.0,
    seed: int = 0, settings: Mapping[str, Any] | None = None,
) -> Belief:  # fmt: skip
    """Turn ratings into a belief: a rating above `threshold` says relevant; raters are calibrated first.

    Votes of several raters are shares (p = share of those above), unless `model` names a rater model (dawid-skene);
    the ratings of a single rater are certain. `settings` are those of the model. Practice, gold and attention answers
    never count.
    """
    if not np.isfinite(threshold):
        raise TextError(f"a threshold is a number on the scale of the ratings, not {threshold}")
    table, excluded, _ = _counted(opinions)
    lo, hi, source = scale_of(table)
    judged, state = table, "as they were given"
    if _already(table):
        state = "calibrated before"
    elif calibrated:
        calibration = calibrations.calibrate(table, shrinkage=shrinkage)
        if calibration.common:
            judged = calibration.apply(table)
            state = (
                f"calibrated: a shift and a stretch for each rater from {calibration.common:,} common pairs, "
                f"shrinkage {shrinkage:g}"
            )
        else:
            state = "as they were given: no two raters share a pair to calibrate them on"
    given = table.frame["grade"].drop_nulls().to_numpy()
    at = cut(threshold, given) if judged is not table else threshold
    yes = (pl.col("grade") > at).cast(pl.Float64)
    votes = Opinions.of(judged.frame.with_columns(yes.alias("grade"), pl.lit(None, pl.String).alias("scale")))
    belief = models.believe(votes, model, seed=seed, **(settings or {}))
    notes = [f"a rating above {at:g} is relevant (scale {lo:g} to {hi:g}, {source}); ratings {state}", *excluded]
    if at != threshold:
        notes.append(f"{at:g} is halfway from {threshold:g} to the next grade: calibrated ratings lie between grades")
    loud = []
    if (table.frame["propensity"] < 1).any():
        loud.append(warning("ratings.sample"))
    if len(given) and not given.min() <= threshold < given.max():
        loud.append(warning("ratings.one_side", above=threshold < given.min(), threshold=threshold))
    return replace(belief, notes=(*map(noted, notes), *loud, *belief.notes))


def _refuse(methods: Iterable[str], confidence: float, resamples: int) -> None:
    for method in methods:
        if method not in get_args(Method):
            known = get_args(Method)
            raise TextError(f"a map is isotonic, bayes or ogive, not {method!r}", remedy=did_you_mean(method, known))
    if not 0 < confidence < 1:
        raise TextError(f"confidence must lie between 0 and 1, not {confidence}", remedy="0.95 is usual")
    if resamples * (1 - confidence) < 2 - 1e-9:
        least = 2 / (1 - confidence)
        raise TextError(
            f"{resamples} resamples are too few for confidence {confidence}", remedy=f"take {least:.0f} or more"
        )


def _counted(opinions: Opinions) -> tuple[Opinions, list[str], dict[str, int]]:
    """The answers that count, what was left out, and the number of answers of each role."""
    frame = opinions.frame.with_columns(pl.col("role").fill_null("main"))
    roles = dict(frame.group_by("role").len().sort("role").iter_rows())
    notes = []
    excluded = {role: count for role, count in roles.items() if role in EXCLUDED}
    if excluded:
        named = ", ".join(f"{count:,} of {role}" for role, count in excluded.items())
        notes.append(f"{sum(excluded.values()):,} answers do not count: {named}")
    if "gold" in excluded:
        notes.append("A table of opinions does not say which gold answers were right; endoxa study status does.")
    kept = frame.filter(~pl.col("role").is_in(EXCLUDED))
    if systems := kept.filter(pl.col("kind") == "system").height:
        notes.append(f"{systems:,} opinions are of systems and do not count as ratings")
        kept = kept.filter(pl.col("kind").ne_missing("system"))
    if unjudged := kept.filter(UNJUDGED).height:
        notes.append(f"{unjudged:,} grades are below 0, which means not judged; they do not count")
        kept = kept.filter(~UNJUDGED)
    if not kept.height:
        raise JoinError(
            f"none of the {frame.height:,} opinions is a rating of a person (practice, gold, attention, votes of "
            "systems and grades below 0 do not count)",
            remedy="give the answers of the main part",
        )
    return Opinions(kept), notes, roles


def _already(opinions: Opinions) -> bool:
    """Whether these ratings were calibrated before."""
    return bool(opinions.frame.select(MOVED.any()).item())


def scale_of(opinions: Opinions) -> tuple[float, float, str]:
    """The ends of the scale, and where they come from: named in the table, or seen in the answers."""
    named = opinions.frame["scale"].drop_nulls().unique().sort().to_list()
    parsed = {(float(found[1]), float(found[2])) for name in named if (found := SCALE.match(name))}
    if len(parsed) == 1:
        lo, hi = parsed.pop()
        if lo < hi:
            return lo, hi, "the scale that the answers name"
    given = opinions.frame["grade"].drop_nulls().to_numpy()
    if not len(given):
        return float("nan"), float("nan"), "unknown: nobody gave a rating"
    lo, hi = float(given.min()), float(given.max())
    if len(parsed) > 1:
        ends = ", ".join(f"{a:g} to {b:g}" for a, b in sorted(parsed))
        return lo, hi, f"ratings are on several scales ({ends}); the range that was used is taken: rescale them first"
    return lo, hi, "the range that was used"


def _chances(seed: int) -> Callable[[int], np.random.Generator]:
    """A generator for each step, so that leaving one out does not change the others; all maps share their folds."""
    return lambda step: np.random.default_rng((seed, step))


def _points(run: Run, judged: Opinions) -> pl.DataFrame:
    """The score of each system for each rated pair: system, query, item, score, rating, sources."""
    pairs, _ = mappings.rated(judged)
    parts = [
        mappings.scored(run, system, pairs).select(
            pl.lit(system).alias("system"), "query", "item", "score", "rating", "sources"
        )
        for system in run.systems
    ]
    points = pl.concat(parts)
    if not points.height:
        query, item = pairs.row(0)[:2]
        raise JoinError(
            f"no run has a score for any of the {pairs.height:,} rated pairs (the first: item {item!r} of query "
            f"{query!r}; the run begins with {run.frame['item'][0]!r} of {run.frame['query'][0]!r})",
            remedy="do they belong together, and are queries and items called the same in both?",
        )
    return points


def _choosers(opinions: Opinions) -> set[str]:
    """The systems or people that chose pairs."""
    names = opinions.frame["selected_by"].drop_nulls().unique().to_list()
    return {part.strip() for name in names for part in name.split("+")}


def _uniformity(grades: pl.Series, lo: float, hi: float) -> tuple[tuple[str, ...], Uniformity | None]:
    """The grades that could be given, in words, and how evenly they were used."""
    if not len(grades):
        return (), None
    seen = grades.unique().sort().to_numpy()
    whole = bool((seen == np.round(seen)).all()) and hi - lo < CLASSES
    if whole and lo == round(lo) and seen[0] >= lo and seen[-1] <= hi:
        steps = np.arange(lo, hi + 1)
    elif len(seen) <= CLASSES:
        steps = seen
    else:
        counts, edges = np.histogram(grades.to_numpy(), bins=BINS, range=(min(lo, seen[0]), max(hi, seen[-1])))
        names = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges)]
        return tuple(names), of_counts(counts.astype(np.float64))
    return tuple(f"{step:g}" for step in steps), deviation(grades.to_numpy(), steps.tolist())


def _raters(agreed: pl.DataFrame, calibration: pl.DataFrame) -> pl.DataFrame:
    """A row per rater: the answers, how they agree with others, and what calibration does to them."""
    a, b, mean = pl.col("a"), pl.col("b"), pl.col("mean")
    moved = calibration.rename({"n": "common"}).with_columns((a * mean + b - mean).alias("shift")).drop("correlation")
    return agreed.rename({"ratings": "answers"}).join(moved, on="source", how="left", maintain_order="left")


def figures_of(found: Analysis) -> pl.DataFrame:
    """Every figure, one per row: part, of, figure, value, se, lo, hi, n. For programs; NaN where undefined."""
    return pl.DataFrame([*_rater_figures(found), *_system_figures(found)], schema=FIGURES, orient="row")


def _row(
    part: str, of: str, figure: str, value: float | None, se: float | None = None,
    ends: tuple[float | None, float | None] = (None, None), n: int | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    return part, of, figure, value, se, *ends, n


def _rater_figures(found: Analysis) -> Iterator[tuple[Any, ...]]:
    for name in ("raters", "pairs", "queries", "answers", "undecided", "threshold"):
        yield _row("answers", "all", name, float(getattr(found, name)))
    for stage, one in (("before", found.agreement), ("after", found.after)):
        if one is None:
            continue
        yield _row("agreement", stage, f"alpha {found.metric}", one.alpha, ends=(one.lo, one.hi), n=one.units)
        for name, value in (("kappa", one.kappa), ("kappa quadratic", one.quadratic), ("kappa fleiss", one.fleiss)):
            yield _row("agreement", stage, name, value)
        for form, value, lo, hi in one.icc.iter_rows():
            yield _row("agreement", stage, form, value, ends=(lo, hi), n=one.complete)
        for query, units, _, value in one.per_query.iter_rows():
            yield _row(f"agreement by query, {stage}", query, "alpha", value, n=units)
    if found.benefit is not None:
        for stage, variance, value in found.benefit.frame.iter_rows():
            yield _row("calibration", stage, "variance", variance, n=found.benefit.items)
            yield _row("calibration", stage, "alpha", value, n=found.benefit.items)
    for row in found.per_rater.iter_rows(named=True):
        for name in ("a", "b", "shift", "correlation", "change"):
            yield _row("raters", row["source"], name, row[name], n=row["answers"])
    if found.uniformity is not None:
        yield _row("uniformity", "all", "deviation", found.uniformity.dev)
        yield _row("uniformity", "all", "normalised", found.uniformity.normalised)
        for name, value in zip(found.classes, found.uniformity.shares, strict=True):
            yield _row("uniformity", name, "share", value)


def _system_figures(found: Analysis) -> Iterator[tuple[Any, ...]]:
    if isinstance(one := found.comparison, Comparison):
        for row in one.systems.iter_rows(named=True):
            yield _row("comparison", row["system"], f"mean rating@{one.first}", row["mean"], n=row["pairs"])
        for row in one.pairs.iter_rows(named=True):
            of = f"{row['system']} - {row['baseline']}"
            ends = (row["lo"], row["hi"])
            yield _row("comparison", of, f"mean rating@{one.first}", row["difference"], ends=ends, n=row["queries"])
    for method, mapping in found.mappings.items():
        for row in mapping.frame.iter_rows(named=True):
            yield _row(f"map by {method}", row["system"], "held_out", row["held_out"], row["se"], n=row["pairs"])
            for name in ("in_sample", "null", "pearson"):
                yield _row(f"map by {method}", row["system"], name, row[name], n=row["pairs"])
    if (chosen := found.selection) is not None:
        yield _row("selection", "all", "gamma", chosen.advantage.gamma, chosen.se, (chosen.lo, chosen.hi))
        yield _row("selection", "all", "p", chosen.advantage.p_value, n=chosen.advantage.permutations)
        for system, by, r, pairs in chosen.frame.iter_rows():
            yield _row("selection", system, f"r on pairs of {by}", r, n=pairs)
    for row in found.dominance.frame.iter_rows(named=True) if found.dominance is not None else ():
        for who in ("master", "others", "all"):
            yield _row("dominance", row["system"], f"r_{who}", row[f"r_{who}"], row[f"se_{who}"], n=row[f"pairs_{who}"])
        yield _row("dominance", row["system"], "difference", row["difference"], row["se"], (row["lo"], row["hi"]))
        yield _row("dominance", row["system"], "p_equivalent", row["p_equivalent"])
    for row in found.curves.points.iter_rows(named=True) if found.curves is not None else ():
        for name in ("precision", "recall", "rating"):
            ends = (row[f"{name}_lo"], row[f"{name}_hi"])
            yield _row("curves", row["system"], f"{name}@{row['cutoff']}", row[name], ends=ends, n=row["sampled"])
