"""What was found in people's ratings: one value that pages and prints are made of, sentences, a table of figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from endoxa.reports.labels import clean, number
from endoxa.studies.agreement import Agreement, Level
from endoxa.studies.dominance import Dominance
from endoxa.studies.estimates import Curves
from endoxa.studies.rater_calibration import Benefit, Calibration
from endoxa.studies.score_mapping import Mapping as Mapped
from endoxa.studies.selection import Selection
from endoxa.studies.uniformity import Uniformity

TENTATIVE = 2 / 3  # below this alpha Krippendorff draws no conclusion at all
UNEVEN = 0.5  # normalised deviation from an even use of the scale
DOMINANT = 0.5  # share of one rater in all ratings
TOLD = (  # what notes of the parts say that stands elsewhere: in counts, warnings, tables
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


@dataclass(frozen=True, eq=False)
class Analysis:
    """All that was found in people's ratings; see `endoxa.ratings.analyse`.

    answers, undecided   answers that count (roles of trial left out) and how many of them have no grade
    roles                how many answers each role has, those of trial too
    agreement, after     as given; and calibrated, None where nobody was
    calibration          what calibration makes, or would make, of every rater; `calibrated` says if it was used
    per_rater            source, answers, undecided, shared, without, change, correlation; common, mean, sd, a, b,
                         shift (what calibration adds to the mean), flags
    classes, uniformity  the grades that could be given, and how evenly they were
    mappings             by method; the first is the one that sentences speak of
    points               system, query, item, score, rating, sources: what the maps were made of
    """

    raters: int
    pairs: int
    queries: int
    answers: int
    undecided: int
    roles: Mapping[str, int]
    scale: tuple[float, float]
    scale_told: str
    threshold: float
    threshold_told: str
    calibrated: bool
    shrinkage: float
    level: Level
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
    systems: tuple[str, ...]
    mappings: Mapping[str, Mapped]
    points: pl.DataFrame | None
    selection: Selection | None
    dominance: Dominance | None
    curves: Curves | None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def held(self) -> Agreement:
        """Agreement as all else here takes the ratings: calibrated if they were."""
        return self.agreement if self.after is None else self.after

    @property
    def first(self) -> Mapped | None:
        """The map that sentences speak of; None without one."""
        return next(iter(self.mappings.values()), None)

    def policies(self) -> list[str]:
        """The choices behind the figures, one a line: `name: what`."""
        moved = (
            f"a shift and a stretch for each rater, from {self.calibration.common:,} common pairs, shrinkage "
            f"{self.shrinkage:g}"
            if self.calibrated
            else "none; ratings are taken as they were given"
        )
        lines = [
            f"calibration: {moved}",
            f"agreement: at the {self.level} level; {self.confidence:.0%} intervals over pairs, "
            f"{self.resamples:,} resamples",
        ]
        if self.systems or not math.isnan(self.threshold):
            lines.append(f"threshold: relevant is a rating above {self.threshold:g} ({self.threshold_told})")
        if self.mappings:
            lines.append(
                f"maps: {', '.join(self.mappings)}; five folds of queries, each predicted by maps made on the others"
            )
        return [*lines, f"seed: {self.seed}"]

    def remarks(self) -> list[str]:
        """Notes of all parts, each once, without what counts, warnings and tables tell."""
        parts: list[Sequence[str]] = [self.notes, self.agreement.notes, self.calibration.notes]
        parts += [part.notes for part in (self.benefit, *self.mappings.values()) if part is not None]
        parts += [part.notes for part in (self.selection, self.dominance, self.curves) if part is not None]
        said = dict.fromkeys(note for part in parts for note in part)
        kept = [note for note in said if not any(told in note for told in TOLD)]
        return [*kept, *_priors(self.mappings.get("bayes"))]


def _priors(made: Mapped | None) -> list[str]:
    """How far another prior moves the maps: the system whose map it moves most."""
    rows = made.frame.filter(pl.col("moved").is_finite()).sort("moved") if made is not None else pl.DataFrame()
    if not rows.height:
        return []
    last = rows.row(-1, named=True)
    told = f"moves the maps by at most {last['moved']:.2g} ({last['system']}, of {rows.height} systems)"
    return [f"bayes: another prior (v0 x 4, lam x 3) {told}"]


def sentences(found: Analysis) -> list[str]:
    """Warnings, in plain words, for whoever would take the figures at their word."""
    return [*_of_raters(found), *_of_systems(found)]


def _of_raters(found: Analysis) -> Iterator[str]:
    alpha = found.held.alpha
    if alpha < TENTATIVE:
        yield (
            f"raters agree little: alpha {number(alpha, 3)}{' after calibration' if found.after else ''}; below 0.667 "
            "it is usual to draw no conclusion from single ratings (means over several raters may still be sound)"
        )
    for flag, what in (
        ("reversed", "rate against the others (correlation 0 or below); a shift and a stretch cannot mend that"),
        ("constant", "gave one and the same grade to all common pairs"),
    ):
        named = found.per_rater.filter(pl.col("flags").fill_null("").str.contains(flag, literal=True))["source"]
        if len(named):
            who = ", ".join(named[:5].to_list()) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
            yield f"{who}: {what}"
    if found.benefit is not None:
        stages = dict(found.benefit.frame.select("stage", "alpha").iter_rows())
        if stages["held out"] < stages["before"]:
            yield (
                f"calibration does not help on pairs it was not learnt on: alpha {number(stages['held out'], 3)} "
                f"there, "
                f"{number(stages['before'], 3)} without (--no-calibrate)"
            )
    if found.uniformity is not None and found.uniformity.normalised > UNEVEN:
        yield (
            f"the scale is used unevenly (deviation {number(found.uniformity.normalised, 2)} of the greatest "
            f"possible): "
            "little is learnt about the grades that are rare"
        )


def _of_systems(found: Analysis) -> Iterator[str]:
    made = found.first
    if made is not None:
        weak = made.frame.filter(pl.col("held_out") - 1.96 * pl.col("se") <= 0)["system"].to_list()
        if weak:
            yield (
                f"{', '.join(weak[:5])}{' …' if len(weak) > 5 else ''}: on queries not seen, the mapped scores cannot "
                "be told from noise"
            )
    if found.dominance is not None:
        if found.dominance.share > DOMINANT:
            yield f"{found.dominance.master} gave {found.dominance.share:.0%} of all ratings; all leans on one person"
        apart = found.dominance.frame.filter(pl.col("outside"))["system"].to_list()
        if apart and found.dominance.share > DOMINANT:
            yield (
                f"{', '.join(apart[:5])}: the correlation with everybody lies outside those with "
                f"{found.dominance.master} "
                "and with the others; they rated other pairs, or on another scale"
            )
    if found.curves is not None and found.curves.refused:
        yield (
            f"{found.curves.refused:,} points of the precision and recall curves rest on an effective sample size "
            f"below "
            "30 and have no band"
        )


def verdict(found: Analysis, *, name: Callable[[str], str] = str) -> str:
    """Which system follows the raters best, and how far raters agree. `name` is applied to what came from outside."""
    agreed = _agreed(found)
    made = found.first
    if made is None:
        return agreed
    ranked = made.frame.filter(pl.col("held_out").is_not_nan()).sort("held_out", descending=True, maintain_order=True)
    if not ranked.height:
        return f"No map from scores to ratings could be made. {agreed}"
    best = ranked.row(0, named=True)
    told = f"r = {number(best['held_out'], 3)} ± {number(best['se'], 3)} on queries not seen ({made.method} map)"
    if best["held_out"] <= 2 * best["se"]:
        best_of = f"the best, {name(best['system'])}, has {told}"
        return f"No system’s scores follow people’s ratings beyond chance: {best_of}. {agreed}"
    if ranked.height == 1:
        return f"The scores of {name(best['system'])} follow people’s ratings with {told}. {agreed}"
    second = ranked.row(1, named=True)
    near = best["held_out"] - second["held_out"] <= math.hypot(best["se"], second["se"])
    after = (
        f"{name(second['system'])} is within the errors of both (r = {number(second['held_out'], 3)})"
        if near
        else f"{name(second['system'])} is next with r = {number(second['held_out'], 3)}"
    )
    return f"The scores of {name(best['system'])} follow people’s ratings best: {told}; {after}. {agreed}"


def _agreed(found: Analysis) -> str:
    one = found.agreement
    if math.isnan(one.alpha):
        reason = one.notes[0] if one.notes else "alpha is undefined"
        return f"How far raters agree cannot be said: {clean(reason)}."
    told = f"{one.raters:,} raters agree with alpha {_with(one.alpha, one.lo, one.hi)}"
    if found.after is None or found.benefit is None:
        return f"{told}."
    held = dict(found.benefit.frame.select("stage", "alpha").iter_rows())["held out"]
    return (
        f"{told}; calibrated, {_with(found.after.alpha, found.after.lo, found.after.hi)} "
        f"(on pairs held out {number(held, 3)})."
    )


def _with(value: float, lo: float, hi: float, decimals: int = 3) -> str:
    interval = "" if math.isnan(lo) else f" [{number(lo, decimals)}, {number(hi, decimals)}]"
    return f"{number(value, decimals)}{interval}"


def figures_of(found: Analysis) -> pl.DataFrame:
    """Every figure, one a row: part, of, figure, value, se, lo, hi, n. For programs; NaN where undefined."""
    rows: list[tuple[Any, ...]] = []

    def add(part: str, of: str, figure: str, value: float | None, *more: float | None, n: int | None = None) -> None:
        se, lo, hi = (*more, None, None, None)[:3]
        rows.append((part, of, figure, value, se, lo, hi, n))

    for name in ("raters", "pairs", "queries", "answers", "undecided"):
        add("answers", "all", name, float(getattr(found, name)))
    add("answers", "all", "threshold", found.threshold)
    for stage, one in (("before", found.agreement), ("after", found.after)):
        if one is None:
            continue
        add("agreement", stage, f"alpha {one.level}", one.alpha, None, one.lo, one.hi, n=one.units)
        for name, value in (("kappa", one.kappa), ("kappa quadratic", one.quadratic), ("kappa fleiss", one.fleiss)):
            add("agreement", stage, name, value)
        for form, value, lo, hi in one.icc.iter_rows():
            add("agreement", stage, form, value, None, lo, hi, n=one.complete)
        for query, units, _, value in one.per_query.iter_rows():
            add(f"agreement by query, {stage}", query, "alpha", value, n=units)
    if found.benefit is not None:
        for stage, variance, value in found.benefit.frame.iter_rows():
            add("calibration", stage, "variance", variance, n=found.benefit.items)
            add("calibration", stage, "alpha", value, n=found.benefit.items)
    for row in found.per_rater.iter_rows(named=True):
        for name in ("a", "b", "shift", "correlation", "change"):
            add("raters", row["source"], name, row[name], n=row["answers"])
    if found.uniformity is not None:
        add("uniformity", "all", "deviation", found.uniformity.dev)
        add("uniformity", "all", "normalised", found.uniformity.normalised)
        for name, value in zip(found.classes, found.uniformity.shares, strict=True):
            add("uniformity", name, "share", value)
    for method, made in found.mappings.items():
        for row in made.frame.iter_rows(named=True):
            add(f"map by {method}", row["system"], "held_out", row["held_out"], row["se"], n=row["pairs"])
            for name in ("in_sample", "null", "pearson"):
                add(f"map by {method}", row["system"], name, row[name], n=row["pairs"])
    if found.selection is not None:
        one_, advantage = found.selection, found.selection.advantage
        add("selection", "all", "gamma", advantage.gamma, one_.se, one_.lo, one_.hi)
        add("selection", "all", "p", advantage.p_value, n=advantage.permutations)
        for system, by, r, pairs in one_.frame.iter_rows():
            add("selection", system, f"r on pairs of {by}", r, n=pairs)
    if found.dominance is not None:
        for row in found.dominance.frame.iter_rows(named=True):
            for who in ("master", "others", "all"):
                add("dominance", row["system"], f"r_{who}", row[f"r_{who}"], row[f"se_{who}"], n=row[f"pairs_{who}"])
            ends = (row["se"], row["lo"], row["hi"])
            add("dominance", row["system"], "difference", row["difference"], *ends)
            add("dominance", row["system"], "p_equivalent", row["p_equivalent"])
    if found.curves is not None:
        for row in found.curves.points.iter_rows(named=True):
            for name in ("precision", "recall", "rating"):
                ends = (None, row[f"{name}_lo"], row[f"{name}_hi"])
                add("curves", row["system"], f"{name}@{row['cutoff']}", row[name], *ends, n=row["sampled"])
    return pl.DataFrame(rows, schema=FIGURES, orient="row")
