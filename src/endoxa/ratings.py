"""The front door for ratings of people: analyse them, hold systems against them, believe them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from endoxa import doubt
from endoxa.errors import InstallError, JoinError, TableError, TextError, did_you_mean
from endoxa.io.read import judgments_of, run_of
from endoxa.reports.rating_findings import Analysis, sentences
from endoxa.studies import agreement as agreements
from endoxa.studies import rater_calibration as calibrations
from endoxa.studies import score_mapping as mappings
from endoxa.studies.agreement import Level
from endoxa.studies.dominance import Dominance, dominance
from endoxa.studies.estimates import Curves, curves
from endoxa.studies.grades import CALIBRATED, MOVED, UNJUDGED, cut
from endoxa.studies.score_mapping import Mapping, Method
from endoxa.studies.selection import Selection, selection_bias
from endoxa.studies.uniformity import Uniformity, deviation, of_counts
from endoxa.tables import Belief, Opinions, Run

__all__ = ["Analysis", "analyse", "believe", "opinions_of"]

ASIDE = ("practice", "gold", "attention")  # roles that try the rater, not the item
METHODS: tuple[Method, ...] = ("isotonic", "bayes", "ogive")
Progress = Callable[[str, int, int], None]
SCALE = re.compile(rf"^(?:{CALIBRATED} )?(-?\d+(?:\.\d+)?) ?[-–] ?(\d+(?:\.\d+)?)$")
CLASSES = 20  # more different grades than this are put into ten bins
BINS = 10
STEPS = 5  # that progress tells of, beside one for each map


def analyse(
    opinions: Any,
    run: Any = None,
    *,
    threshold: float | None = None,
    calibrated: bool = True,
    shrinkage: float = 5.0,
    level: Level = "interval",
    methods: Sequence[Method] = METHODS,
    distances: bool | Literal["auto"] | Collection[str] = False,
    confidence: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
    progress: Progress | None = None,
) -> Analysis:
    """All there is to say of people's ratings, and of systems' scores against them.

    Agreement before and after calibration; each rater; even use of the scale; with runs: maps of scores to ratings
    (the figure is the correlation on queries that the map was not made on), self-advantage where `selected_by` names
    systems, the rater with most answers against the others, and, where pairs were drawn with known chances,
    precision and recall of the whole lists.
    `threshold`: a mean rating above it is relevant; without, the middle of the scale. `distances`: see
    `endoxa.studies.score_mapping`. Practice, gold and attention answers never count, nor do votes of systems.
    What cannot be said (one rater, all undecided, no numba) is left out, and a note says why.

    >>> found = analyse({"q": {"a": 1, "b": 5}})
    >>> found.raters, found.pairs, found.threshold
    (1, 2, 3.0)
    """
    _refuse(methods, confidence, resamples)
    table, notes, roles = _counted(opinions_of(opinions))
    lists = None if run is None else run_of(run)
    given = table.frame["grade"].drop_nulls()
    lo, hi, told = _scale(table)
    warnings = [told] if told.startswith("ratings are") else []
    done = _already(table)
    use = calibrated and not done and level != "nominal"
    if done and calibrated:
        notes.append("the ratings are calibrated already; they are taken as they are")
    if calibrated and level == "nominal":
        notes.append("names have no shift and no stretch: at the nominal level nobody is calibrated")

    def tell(step: str) -> None:
        if progress is not None:
            progress(step, 0, 1)

    rng = _chances(seed)

    tell("agreement")
    how: dict[str, Any] = {"level": level, "confidence": confidence, "resamples": resamples}
    before = agreements.agreement(table, **how, rng=rng(0))
    tell("calibration")
    calibration = calibrations.calibrate(table, shrinkage=shrinkage)
    use = use and calibration.common > 0
    judged = calibration.apply(table) if use else table
    after = agreements.agreement(judged, **how, rng=rng(0)) if use else None
    benefit = calibrations.benefit(table, shrinkage=shrinkage, rng=rng(1)) if use else None
    asked = (lo + hi) / 2 if threshold is None else threshold
    at = cut(asked, given) if use else asked
    why = "given" if threshold is not None else f"the middle of {lo:g} to {hi:g}, {told}"
    if at != asked:
        why = f"halfway from {asked:g}, {why}, to the next grade: calibrated ratings lie between grades"

    maps: dict[str, Mapping] = {}
    points: pl.DataFrame | None = None
    chosen: Selection | None = None
    master: Dominance | None = None
    estimated: Curves | None = None
    if lists is not None and len(given):
        points = _points(lists, judged)
        for method in methods:
            tell(f"map by {method}")
            try:
                made = mappings.mapping(
                    lists, judged, method=method, distances=distances, resamples=resamples, confidence=confidence,
                    rng=rng(2),
                )  # fmt: skip
            except InstallError as error:
                notes.append(f"no map by {method}: {error}")
                continue
            maps[method] = made
        both: dict[str, Any] = {"distances": distances, "confidence": confidence}
        tell("selection")
        if len(_choosers(judged) & set(lists.systems)) > 1:
            chosen = selection_bias(lists, judged, **both, rng=rng(3))
        tell("dominance")
        if len(_deciding(judged)) > 1:
            master = dominance(lists, judged, **both, rng=rng(4))
        tell("curves")
        estimated, remark = _curves(lists, judged, at, confidence, resamples, rng(5))
        notes += remark
    elif lists is not None:
        notes.append("nobody gave a rating: there is nothing to hold the runs against")
    answered = table.frame.filter(pl.col("grade").is_not_null())
    classes, uniformity = _uniformity(answered["grade"], lo, hi, told)
    made_of = Analysis(
        raters=len(table.sources),
        pairs=answered.select("query", "item").n_unique(),
        queries=answered["query"].n_unique(),
        answers=table.frame.height,
        undecided=table.frame.height - answered.height,
        roles=roles,
        scale=(lo, hi),
        scale_told=told,
        threshold=at,
        threshold_told=why,
        calibrated=use,
        shrinkage=shrinkage,
        level=level,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        agreement=before,
        after=after,
        calibration=calibration,
        benefit=benefit,
        per_rater=_raters(before.per_rater, calibration.frame),
        classes=classes,
        uniformity=uniformity,
        systems=tuple(lists.systems) if lists is not None else (),
        mappings=maps,
        points=points,
        selection=chosen,
        dominance=master,
        curves=estimated,
        notes=tuple(notes),
        warnings=tuple(warnings),
    )
    return replace(made_of, warnings=(*warnings, *sentences(made_of)))


def believe(
    opinions: Any,
    *,
    threshold: float,
    model: str | None = None,
    calibrated: bool = True,
    shrinkage: float = 5.0,
    seed: int = 0,
    **settings: Any,
) -> Belief:
    """Ratings become a belief: relevant is what a rater put above `threshold`, the raters calibrated first.

    Votes of several raters are shares (p = share of those above), unless `model` names a rater model (dawid-skene);
    one rater is taken at their word. Settings are those of the model. Practice, gold and attention never count.

    >>> rows = [{"source": who, "query": "q", "item": "x", "grade": g} for who, g in (("a", 5), ("b", 4), ("c", 2))]
    >>> believe(rows, threshold=3, calibrated=False).frame["p"].round(3).to_list()
    [0.667]
    """
    if not np.isfinite(threshold):
        raise TextError(f"a threshold is a number on the scale of the ratings, not {threshold}")
    table, left_out, _ = _counted(opinions_of(opinions))
    lo, hi, told = _scale(table)
    judged, how = table, "as they were given"
    if _already(table):
        how = "calibrated before"
    elif calibrated:
        calibration = calibrations.calibrate(table, shrinkage=shrinkage)
        if calibration.common:
            judged = calibration.apply(table)
            how = (
                f"calibrated: a shift and a stretch for each rater from {calibration.common:,} common pairs, "
                f"shrinkage {shrinkage:g}"
            )
        else:
            how = "as they were given: no two raters share a pair to be calibrated on"
    given = table.frame["grade"].drop_nulls().to_numpy()
    at = cut(threshold, given) if judged is not table else threshold
    yes = (pl.col("grade") > at).cast(pl.Float64)
    votes = Opinions.of(judged.frame.with_columns(yes.alias("grade"), pl.lit(None, pl.String).alias("scale")))
    made = doubt.believe(votes, model, seed=seed, **settings)
    notes = [f"relevant is a rating above {at:g} (scale {lo:g} to {hi:g}, {told}); ratings {how}", *left_out]
    if at != threshold:
        notes.append(f"{at:g} is halfway from {threshold:g} to the next grade: calibrated ratings lie between grades")
    if (table.frame["propensity"] < 1).any():
        notes.append(
            "! the pairs are a sample, and what was not asked is held irrelevant: levels come out too low; "
            "`endoxa ratings` and `endoxa eval BUNDLE` weigh the sample"
        )
    if len(given) and not given.min() <= threshold < given.max():
        side = "above" if threshold < given.min() else "at or below"
        notes.append(f"! every rating is {side} the threshold {threshold:g}; is it on the scale of the ratings?")
    return replace(made, notes=(*notes, *made.notes))


def opinions_of(source: Any) -> Opinions:
    """Ratings from whatever holds them: a table, a file (column 2 of qrels says who judged), or several files."""
    if isinstance(source, Opinions):
        return source
    several = isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source)
    tables = [judgments_of(place, "mean") for place in (source if several else [source])]
    return tables[0] if len(tables) == 1 else Opinions.of(pl.concat([table.frame for table in tables]))


def _refuse(methods: Iterable[str], confidence: float, resamples: int) -> None:
    for method in methods:
        if method not in get_args(Method):
            known = get_args(Method)
            raise TextError(f"a map is isotonic, bayes or ogive, not {method!r}{did_you_mean(method, known)}")
    if not 0 < confidence < 1:
        raise TextError(f"confidence must lie between 0 and 1, not {confidence}; 0.95 is usual")
    if resamples * (1 - confidence) < 2 - 1e-9:
        least = 2 / (1 - confidence)
        raise TextError(f"{resamples} resamples are too few for confidence {confidence}; take {least:.0f} or more")


def _counted(opinions: Opinions) -> tuple[Opinions, list[str], dict[str, int]]:
    """The answers that count, what was left out, and how many answers each role has."""
    frame = opinions.frame.with_columns(pl.col("role").fill_null("main"))
    roles = dict(frame.group_by("role").len().sort("role").iter_rows())
    notes = []
    aside = {role: count for role, count in roles.items() if role in ASIDE}
    if aside:
        named = ", ".join(f"{count:,} of {role}" for role, count in aside.items())
        notes.append(f"{sum(aside.values()):,} answers do not count: {named}")
    if "gold" in aside:
        notes.append("how many gold answers were right is not in a table of opinions; endoxa study status says it")
    kept = frame.filter(~pl.col("role").is_in(ASIDE))
    if systems := kept.filter(pl.col("kind") == "system").height:
        notes.append(f"{systems:,} opinions are of systems and do not count as ratings")
        kept = kept.filter(pl.col("kind").ne_missing("system"))
    if unjudged := kept.filter(UNJUDGED).height:
        notes.append(f"{unjudged:,} grades are below 0, which means not judged; they do not count")
        kept = kept.filter(~UNJUDGED)
    if not kept.height:
        raise JoinError(
            f"none of the {frame.height:,} opinions is a rating of a person (practice, gold, attention, votes of "
            "systems and grades below 0 do not count); give the answers of the main part"
        )
    return Opinions(kept), notes, roles


def _already(opinions: Opinions) -> bool:
    """Whether these ratings were calibrated before."""
    return bool(opinions.frame.select(MOVED.any()).item())


def _scale(opinions: Opinions) -> tuple[float, float, str]:
    """The ends of the scale, and how they are known: said in the table, or seen in the answers."""
    named = opinions.frame["scale"].drop_nulls().unique().sort().to_list()
    parsed = {(float(found[1]), float(found[2])) for name in named if (found := SCALE.match(name))}
    if len(parsed) == 1:
        lo, hi = parsed.pop()
        if lo < hi:
            return lo, hi, "the scale that the answers name"
    given = opinions.frame["grade"].drop_nulls().to_numpy()
    if not len(given):
        return float("nan"), float("nan"), "not known: nobody gave a rating"
    lo, hi = float(given.min()), float(given.max())
    if len(parsed) > 1:
        ends = ", ".join(f"{a:g} to {b:g}" for a, b in sorted(parsed))
        return lo, hi, f"ratings are on several scales ({ends}); the range that was used is taken: rescale them first"
    return lo, hi, "the range that was used"


def _chances(seed: int) -> Callable[[int], np.random.Generator]:
    """A generator of its own for each step, so that leaving one out does not change the others; maps share folds."""
    return lambda step: np.random.default_rng((seed, step))


def _points(run: Run, judged: Opinions) -> pl.DataFrame:
    """What each system says of each rated pair: system, query, item, score, rating, sources."""
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
            f"{query!r}; the run begins with {run.frame['item'][0]!r} of {run.frame['query'][0]!r}); do they belong "
            "together, and are queries and items called the same in both?"
        )
    return points


def _choosers(opinions: Opinions) -> set[str]:
    """Who chose pairs."""
    names = opinions.frame["selected_by"].drop_nulls().unique().to_list()
    return {part.strip() for name in names for part in name.split("+")}


def _deciding(opinions: Opinions) -> list[str]:
    """Raters who gave a grade."""
    return opinions.frame.filter(pl.col("grade").is_not_null())["source"].unique().to_list()


def _curves(
    run: Run, judged: Opinions, threshold: float, confidence: float, resamples: int, rng: np.random.Generator
) -> tuple[Curves | None, list[str]]:
    """Estimated precision and recall where pairs were drawn with known chances; what to say where they were not."""
    if judged.frame["propensity"].null_count() == judged.frame.height:
        return None, []
    try:
        made = curves(run, judged, threshold=threshold, confidence=confidence, resamples=resamples, rng=rng)
    except (JoinError, TableError) as error:
        return None, [f"no curves of precision and recall: {error}"]
    return made, []


def _uniformity(grades: pl.Series, lo: float, hi: float, told: str) -> tuple[tuple[str, ...], Uniformity | None]:
    """The grades that could be given, in words, and how evenly they were."""
    if not len(grades):
        return (), None
    seen = grades.unique().sort().to_numpy()
    whole = bool((seen == np.round(seen)).all()) and hi - lo < CLASSES
    if whole and lo == round(lo) and seen[0] >= lo and seen[-1] <= hi:
        levels = np.arange(lo, hi + 1)
    elif len(seen) <= CLASSES:
        levels = seen
    else:
        counts, edges = np.histogram(grades.to_numpy(), bins=BINS, range=(min(lo, seen[0]), max(hi, seen[-1])))
        names = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(edges)]
        return tuple(names), of_counts(counts.astype(np.float64))
    return tuple(f"{level:g}" for level in levels), deviation(grades.to_numpy(), levels.tolist())


def _raters(agreed: pl.DataFrame, calibration: pl.DataFrame) -> pl.DataFrame:
    """A row per rater: what was answered, how it agrees, and what calibration makes of it."""
    a, b, mean = pl.col("a"), pl.col("b"), pl.col("mean")
    moved = calibration.rename({"n": "common"}).with_columns((a * mean + b - mean).alias("shift")).drop("correlation")
    return agreed.rename({"ratings": "answers"}).join(moved, on="source", how="left", maintain_order="left")
