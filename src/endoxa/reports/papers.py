"""The table of an evaluation for a paper: sorted, the best bold, letters for significant differences, a caption."""

from __future__ import annotations

import string

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.judged import ALL_PAIRS
from endoxa.evaluations.standings import SURE, chances, contenders, correction, headline, pairs_of
from endoxa.later import pl
from endoxa.reports.text import Style, summary_table
from endoxa.tables import Comparison

LETTERS = string.ascii_lowercase + string.ascii_uppercase
TESTS = {
    "randomisation": "paired randomisation test", "t": "paired t test", "wilcoxon": "Wilcoxon signed-rank test",
    "tukey": "randomised Tukey HSD test",
}  # fmt: skip
WITHIN = {
    "consensus": "Expected values within the consensus of the systems", "votes": "Expected values within the consensus",
    "sample": "Values that a few labels teach",
}  # fmt: skip


def paper_table(evaluation: Evaluation, style: Style, *, intervals: bool = True) -> str:
    """Systems by measures, best first, as LaTeX or Markdown.

    The best of each measure is bold. Each system has a letter; those above a value are of the systems that it is
    significantly better than, as in ranx. The caption names the test, its correction and the number of topics. Columns
    without any value are left out. Of more than 30 systems there are no letters: nobody can read them.
    """
    if evaluation.kind == "bundle":
        parts = evaluation.summary.partition_by("by", maintain_order=True)
        return "\n".join(summary_table(part, style, lower=evaluation.lower, intervals=intervals) for part in parts)
    order = [one.system for one in contenders(evaluation, headline(evaluation))]
    place = pl.col("system").replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    summary = evaluation.summary.filter(pl.col("system") != (evaluation.virtual or "")).sort(place, maintain_order=True)
    known = summary.group_by("measure", maintain_order=True).agg(pl.col("value").fill_nan(None).is_not_null().any())
    kept = known.filter("value")["measure"].to_list() or evaluation.measures
    summary = summary.filter(pl.col("measure").is_in(kept))
    letters = dict(zip(order, LETTERS, strict=False)) if 1 < len(order) <= ALL_PAIRS else {}
    beaten = _beaten(evaluation, letters) if letters and evaluation.comparison is not None else {}
    return summary_table(
        summary, style, caption=caption(evaluation, lettered=bool(beaten), intervals=intervals),
        lower=evaluation.lower, intervals=intervals, letters=letters if beaten else None, beaten=beaten,
    )  # fmt: skip


def _beaten(evaluation: Evaluation, letters: dict[str, str]) -> dict[tuple[str, str], str]:
    """The letters of the systems that a system is significantly better than, for each measure."""
    assert evaluation.comparison is not None
    found: dict[tuple[str, str], list[str]] = {}
    for measure in evaluation.measures:
        if evaluation.in_doubt:
            pairs = [(one.system, one.against, one.difference) for one in chances(evaluation, measure) if one.differs]
        else:
            tested = pairs_of(evaluation.comparison, measure)
            apart = [one for one in tested if one.differs(1 - evaluation.confidence)]
            pairs = [(one.system, one.baseline, one.difference) for one in apart]
        for system, other, difference in pairs:
            won, lost = (system, other) if (difference > 0) != (measure in evaluation.lower) else (other, system)
            if won in letters and lost in letters:
                found.setdefault((won, measure), []).append(letters[lost])
    return {cell: "".join(sorted(above, key=LETTERS.index)) for cell, above in found.items()}


def caption(evaluation: Evaluation, *, lettered: bool, intervals: bool = True) -> str:
    """What the table shows: topics, what is bold, what brackets hold, the test with its correction."""
    queries = max((int(count) for count in evaluation.summary["queries"].drop_nulls()), default=0)
    if evaluation.scores is not None:
        queries = len(evaluation.scores.queries)
    what = WITHIN.get(evaluation.kind, "Expected values under a belief" if evaluation.in_doubt else "Effectiveness")
    text = f"{what} on {queries:,} topic{'' if queries == 1 else 's'}."
    if len(evaluation.systems) > 1:
        text += " The best of each measure is bold."
    if intervals and evaluation.summary["lo"].is_not_nan().any():
        text += f" Brackets hold {100 * evaluation.confidence:g} % intervals."
    comparison = evaluation.comparison if len(evaluation.systems) <= ALL_PAIRS else None
    if comparison is None or not comparison.frame.height:
        return text
    against = f" (only the comparisons with {evaluation.baseline} were made)" if evaluation.baseline else ""
    if evaluation.kind == "sample":
        how = f"probability of at least {SURE:g}"
    elif evaluation.in_doubt:
        how = f"{100 * evaluation.confidence:g} % interval of the difference, with all doubts"
    else:
        test = str(comparison.frame["test"][0])
        how = f"{TESTS.get(test, test)}, p < {1 - evaluation.confidence:.2g}{_corrected(comparison)}"
    if lettered:
        return f"{text} Superscripts name the systems that a value is significantly better than ({how}){against}."
    return f"{text} No difference is significant ({how}){against}."


def _corrected(comparison: Comparison) -> str:
    """How the p-values were corrected; Tukey's test needs no correction."""
    adjusted = correction(comparison)
    if "Tukey" in adjusted:
        return ""
    if not adjusted:
        return ", no correction"
    count = max(comparison.frame.group_by("measure").len()["len"].to_list())
    measures = comparison.frame["measure"].n_unique()
    each = " of each measure" if measures > 1 else ""
    return f", {adjusted} correction over {count} comparison{'' if count == 1 else 's'}{each}"
