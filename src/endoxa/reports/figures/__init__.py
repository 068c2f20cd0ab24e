"""Figures of an evaluation. Everything here is pure: it returns matplotlib figures and writes no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endoxa.evaluations.standings import counts, headline, rival
from endoxa.measures.grammar import parse
from endoxa.reports.figures.chance_matrix import better
from endoxa.reports.figures.dots import intervals
from endoxa.reports.figures.doubt_shares import shares
from endoxa.reports.figures.hills import ridges
from endoxa.reports.figures.pair_matrix import pairs
from endoxa.reports.figures.query_bars import differences
from endoxa.reports.figures.recall_curves import curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from endoxa.evaluations.evaluation import Evaluation


def first_of(evaluation: Evaluation) -> Figure | None:
    """The figure that belongs to the answer: intervals, or where each mean may lie; None where there is none."""
    if evaluation.kind in {"ratings", "bundle"} or evaluation.is_modelled or not evaluation.measures:
        return None
    measure = evaluation.measures[0] if evaluation.in_doubt else headline(evaluation)
    if evaluation.in_doubt:
        return ridges(evaluation, measure)
    return intervals(evaluation.summary, measure, lower=measure in evaluation.lower)


def all_of(evaluation: Evaluation) -> dict[str, Figure]:
    """Every figure of an evaluation, by the name of its file."""
    drawn: dict[str, Figure] = {}
    if evaluation.kind == "ratings":
        return drawn
    if evaluation.doubts is not None:
        drawn["doubts"] = shares(evaluation)
    if "curves" in evaluation.tables:
        drawn["precision-recall"] = curves(evaluation.tables["curves"])
    for measure in evaluation.measures:
        # Sums and geometric means over queries have neither intervals nor pairs.
        averaged = evaluation.scores is None or parse(measure).definition.aggregate == "mean"
        if measure in counts(evaluation.summary) or not (evaluation.in_doubt or averaged):
            continue
        name = "".join(sign if sign.isalnum() else "-" for sign in measure).strip("-")
        lower = measure in evaluation.lower
        if evaluation.in_doubt:
            if not evaluation.is_modelled:
                drawn[f"ridges-{name}"] = ridges(evaluation, measure)
            if evaluation.comparison is not None:
                drawn[f"better-{name}"] = better(evaluation, measure)
            continue
        drawn[f"intervals-{name}"] = intervals(evaluation.summary, measure, lower=lower)
        two = rival(evaluation, measure)
        if two is not None and evaluation.scores is not None:
            drawn[f"differences-{name}"] = differences(evaluation.scores, *two, measure)
        if evaluation.comparison is not None:
            alpha = 1 - evaluation.confidence
            drawn[f"pairs-{name}"] = pairs(evaluation.comparison, measure, alpha=alpha, lower=lower)
    return drawn
