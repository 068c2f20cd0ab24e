"""What ratings say in words: which system follows them best, how far raters agree, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import polars as pl

from endoxa.formatting import clean, listed, number
from endoxa.notes import texts
from endoxa.studies.comparison import Comparison
from endoxa.studies.score_mapping import Mapping

if TYPE_CHECKING:
    from endoxa.evaluations.ratings import Analysis

TENTATIVE = 2 / 3  # below this alpha Krippendorff draws no conclusion at all
UNEVEN = 0.5  # normalised deviation from an even use of the scale
DOMINANT = 0.5  # share of one rater in all ratings
PAIRS = 10  # pairs of systems with a sentence; the rest is counted
NAMED = 5  # raters or systems that a warning names


def answer(found: Analysis, *, name: Callable[[str], str] = str) -> str:
    """Whose results are rated higher, which scores follow the ratings, and how far raters agree.

    Where agreement is in doubt, that comes first. `name` is applied to names of systems.
    """
    verdict = " ".join(texts(found.comparison.headline(name))) if isinstance(found.comparison, Comparison) else ""
    return f"{verdict} {_followed(found, name)}".strip()


def _followed(found: Analysis, name: Callable[[str], str]) -> str:
    """Which system's scores follow the raters best, and how far raters agree."""
    agreed = _agreed(found)
    mapping = found.first
    if mapping is None:
        return agreed
    ranked = mapping.frame.filter(pl.col("held_out").is_not_nan())
    if not ranked.height:
        return f"No map from scores to ratings could be fitted. {agreed}"
    best, *others = ranked.sort("held_out", descending=True, maintain_order=True).iter_rows(named=True)
    value = f"r = {number(best['held_out'], 3)} ± {number(best['se'], 3)} on held-out queries ({mapping.method} map)"
    if best["held_out"] <= 2 * best["se"]:
        leader = f"the best, {name(best['system'])}, has {value}"
        return f"No system’s scores follow people’s ratings beyond chance: {leader}. {agreed}"
    if not others:
        return f"The scores of {name(best['system'])} follow people’s ratings with {value}. {agreed}"
    second = others[0]
    near = best["held_out"] - second["held_out"] <= math.hypot(best["se"], second["se"])
    place = "is within the standard errors of both" if near else "is next"
    runner_up = f"{name(second['system'])} {place} (r = {number(second['held_out'], 3)})"
    return f"The scores of {name(best['system'])} follow people’s ratings best: {value}; {runner_up}. {agreed}"


def _agreed(found: Analysis) -> str:
    one = found.agreement
    if math.isnan(one.alpha):
        reason = one.notes[0] if one.notes else "alpha is undefined"
        return f"The agreement of the raters is unknown: {clean(reason)}."
    text = f"{one.raters:,} raters agree with alpha {_ranged(one.alpha, one.lo, one.hi)}"
    if found.after is None or found.benefit is None:
        return f"{text}."
    after = _ranged(found.after.alpha, found.after.lo, found.after.hi)
    return f"{text}; after calibration with {after} ({number(found.benefit_of('held out'), 3)} on held-out pairs)."


def by_rating(found: Analysis) -> list[str]:
    """The comparison of systems by mean rating, in sentences: each pair, what was compared, how sure it is."""
    one = found.comparison
    if not isinstance(one, Comparison):
        return [] if one is None else [str(one)]
    pairs = texts(one.statements())
    more = [f"({len(pairs) - PAIRS:,} more pairs of systems are in the figures: -o csv)"] if len(pairs) > PAIRS else []
    why = None
    if found.first is not None:
        why = one.against("r", dict(found.first.frame.select("system", "held_out").iter_rows()))
    return [*pairs[:PAIRS], *more, *([str(why)] if why else []), str(one.estimand), str(one.doubts)]


def inputs_said(mapping: Mapping) -> list[str]:
    """Which systems' scores are not mapped as they are."""
    lines = []
    for kind, what in (("z", "scores are compared per query (z)"), ("rank", "only ranks are compared")):
        systems = mapping.frame.filter(pl.col("input") == kind)["system"].to_list()
        if systems:
            lines.append(f"{listed(systems, NAMED)}: {what}, which predicts ratings of other queries best")
    return lines


def _ranged(value: float, lo: float, hi: float) -> str:
    return number(value, 3) + ("" if math.isnan(lo) else f" [{number(lo, 3)}, {number(hi, 3)}]")


def cautions(found: Analysis) -> list[str]:
    """Warnings for readers who would take the figures at face value."""
    return [*_about_raters(found), *_about_systems(found)]


def _about_raters(found: Analysis) -> Iterator[str]:
    alpha = found.final.alpha
    if alpha < TENTATIVE:
        yield (
            f"The raters agree little: alpha is {number(alpha, 3)}{' after calibration' if found.after else ''}. Below "
            "0.667 it is usual to draw no conclusion from single ratings; means over several raters may still be sound."
        )
    for flag, what in (
        ("reversed", "their ratings run against those of the others (correlation 0 or below), which no shift and no "
         "stretch can correct."),
        ("constant", "all common pairs have the same grade."),
    ):  # fmt: skip
        flagged = found.per_rater.filter(pl.col("flags").fill_null("").str.contains(flag, literal=True))["source"]
        if len(flagged):
            yield f"{listed(flagged.to_list(), NAMED)}: {what}"
    if found.benefit is not None and found.benefit_of("held out") < found.benefit_of("before"):
        yield (
            f"Calibration does not help on pairs that it was not fitted on: alpha is "
            f"{number(found.benefit_of('held out'), 3)} there, and {number(found.benefit_of('before'), 3)} without "
            "calibration (--no-calibrate)."
        )
    if found.uniformity is not None and found.uniformity.normalised > UNEVEN:
        yield (
            f"The scale is used unevenly (deviation {number(found.uniformity.normalised, 2)} of the greatest "
            "possible): the data say little about the rare grades."
        )


def _about_systems(found: Analysis) -> Iterator[str]:
    if found.first is not None:
        weak = found.first.frame.filter(pl.col("held_out") - 1.96 * pl.col("se") <= 0)["system"].to_list()
        if weak:
            yield f"{listed(weak, NAMED)}: on held-out queries the mapped scores cannot be told apart from noise."
    one = found.dominance
    if one is not None and one.share > DOMINANT:
        yield f"{one.master} gave {one.share:.0%} of all ratings; the results depend on one person."
        outside = one.frame.filter(pl.col("outside"))["system"].to_list()
        if outside:
            yield (
                f"{listed(outside, NAMED)}: the correlation with all raters lies outside those with {one.master} and "
                "with the others; they rated other pairs, or used another scale."
            )
    if found.curves is not None and found.curves.refused:
        yield (
            f"{found.curves.refused:,} points of the precision and recall curves have an effective sample size below "
            "30, and no band."
        )
