"""What is said of a comparison of systems by people's ratings."""

from __future__ import annotations

from endoxa.formatting import number
from endoxa.wording.phrases import Template, if_any


def _n(value: float) -> str:
    """A number of grades."""
    return number(value, 2)


def _interval(lo: float, hi: float) -> str:
    return f"{_n(lo)} to {_n(hi)}"


def _of_results(first: int) -> str:
    return "first result" if first == 1 else f"first {first} results"


def _alpha(alpha: float, lo: float, hi: float, confidence: float) -> str:
    interval = "" if lo is None or lo != lo else f"; {confidence:.0%} interval {_interval(lo, hi)}"  # noqa: PLR0124
    return f"alpha {_n(alpha)}{interval}"


FIGURES = {"r": "The correlation of scores with ratings"}


def _why(figure: str) -> str:
    if figure == "r":
        return "scores can rise with the ratings although the results are worse."
    if figure.startswith("rating@"):
        return "it takes the ratings after calibration, the mean as the judges gave them."
    return f"{figure} counts results above the threshold; the mean rating also counts how far above or below they are."


NOTES: dict[str, Template] = {
    "filings.several": lambda source, item, categories, filings: (
        f"{source!r} filed item {item!r} in {len(categories)} categories ({', '.join(categories[:3])})"
        + if_any(filings - 1, "; so were {:,} other items by a person")
        + ". A person counts once in each of them and above, and her direct share is split evenly."
    ),
    "filings.agreement": lambda items, enough, confidence: (
        f"agreement over {items:,} items that two people or more filed; "
        + (f"no interval below {enough}" if items < enough
           else f"{100 * confidence:g} % intervals by resampling items")
    ),
    "study.no_agreement": lambda alpha, lo, hi, confidence: (
        f"The judges do not agree ({_alpha(alpha, lo, hi, confidence)})."
    ),
    "study.no_agreement_follows":
        "So a rating shows who judged rather than how good a result is. Look at the question and the instructions "
        "before you compare systems.",
    "study.agreement_unsure": lambda alpha, lo, hi, confidence: (
        f"It is open whether the judges agree at all ({_alpha(alpha, lo, hi, confidence)})."
    ),
    "study.agreement_unsure_follows":
        "So the ratings may show who judged rather than how good a result is. Have more pairs rated by several judges.",
    "study.better": lambda system, baseline, difference, lo, hi, first: (
        f"{system} is better than {baseline}: its {_of_results(first)} are rated {_n(difference)} higher on average "
        f"({_interval(lo, hi)})."
    ),
    "study.open": lambda system, baseline, difference, lo, hi, first: (
        f"{system} and {baseline} cannot be told apart: the mean ratings of their {_of_results(first)} differ by "
        f"{_n(difference)} ({_interval(lo, hi)})."
    ),
    "study.one_judge": lambda system, baseline, difference, lo, hi, first: (
        f"One judge rates the {_of_results(first)} of {system} {_n(difference)} higher than those of {baseline} "
        f"({_interval(lo, hi)} over other queries). Other judges may rate differently, so neither is called better."
    ),
    "study.one_query": lambda system, baseline, difference, lo, hi, first: (
        f"On one query, the {_of_results(first)} of {system} are rated {_n(difference)} higher than those of "
        f"{baseline}. There is no interval, because one query does not show how queries differ."
    ),
    "study.unreached": lambda system, baseline, difference, lo, hi, first: (
        f"{system} and {baseline} cannot be compared yet: the rated pairs stand for less than half of the "
        f"{_of_results(first)} of one of them."
    ),
    "study.same": lambda system, baseline, difference, lo, hi, first: (
        f"{system} and {baseline} return the same {_of_results(first)} on every query: they are equal, whatever the "
        "ratings."
    ),
    "study.unrated": lambda system, baseline, difference, lo, hi, first: (
        f"{system} and {baseline} cannot be compared yet: none of the {_of_results(first)} of one of them is rated."
    ),
    "study.estimand": lambda first, lowest, highest: (
        f"Compared is the mean rating of each system's {_of_results(first)} per query, as the judges gave the ratings, "
        f"on the scale from {lowest:g} to {highest:g}."
    ),
    "study.doubts": lambda confidence, judges, pairs: (
        ("The intervals cover other queries and pairs that were not asked, but no other judges: there is only one."
         if judges == 1 else "The intervals cover other judges, other queries and pairs that were not asked.")
        + f" They hold at {confidence:.0%}{' for all pairs of systems together' if pairs > 1 else ''}, however often "
        "you look."
    ),
    "study.one_by_one":
        "The pairs of this study were drawn one by one to settle a question; endoxa decide compares the systems.",
    "study.no_comparison": "The systems are not compared by their mean ratings: {reason}.",
    "study.other_question": lambda figure, leader, other, settled: (
        f"{FIGURES.get(figure, figure)} puts {leader} before {other}, but the mean rating puts {other} before {leader}"
        f"{'' if settled else ', without settling it'}: {_why(figure)}"
    ),
    "study.headline": lambda measure, threshold: (
        f"{measure} asks something else: "
        + (f"which share of the first {measure[2:]} results is rated above {threshold:g}."
           if measure.startswith("P@") else f"it counts results rated above {threshold:g} as relevant.")
    ),
    "study.planned": lambda system, baseline, lo, hi, answered, tasks: (
        f"Planned tasks alone: {answered:,} of {tasks:,} are answered. Once all are, the first ratings of what "
        f"{system} drew will on average lie {_interval(lo, hi)} above those of {baseline}."
    ),
    "study.planned_done": lambda system, baseline, lo, hi, answered, tasks: (
        f"All {tasks:,} planned tasks are answered: in them, the first ratings of what {system} drew lie on average "
        f"{_n(lo)} above those of {baseline}."
    ),
    "study.planned_none":
        "{system} and {baseline} cannot be compared over the planned tasks: one of them has no decided draw.",
    "matches.precision": lambda called, right, good: (
        f"Of {called:,} rated {'pair' if called == 1 else 'pairs'} predicted at {good:g} or more from other queries, "
        f"people rated {right / called:.0%} so."
    ),
    "matches.untested":
        "No rated pair of another query is predicted at {good:g} or more, so it is unknown how often that is right.",
    "matches.learned": lambda system, pairs, queries, read: (
        f"The ratings are predicted from {pairs:,} rated pairs of {queries:,} queries, by "
        + {"raw": "the scores", "z": "the scores within each query (z)", "rank": "the ranks"}[read]
        + f" of {system}."
    ),
    "plan.worth": "the {pairs:,} pairs have an effective sample size of {effective:,.1f}",
    "round.drawn":
        "round {round}: {pairs:,} pairs in {tasks:,} tasks, drawn from {left:,} that were not asked before",
    "round.evenness": lambda before, after: (
        f"deviation from an even use of the scale (0 even, 1 one grade only): {_n(before)} so far, {_n(after)} "
        "predicted for all answers after this round"
    ),
    "round.one_grade": lambda grade, pairs: (
        f"all {pairs:,} rated pairs have grade {grade:g}, which teaches nothing about the others: this round is drawn "
        "by 1/rank"
    ),
    "round.rare": lambda grades: (
        "about " + " and ".join(f"{left:,.0f} pairs of grade {grade:g}" for grade, left in grades)
        + " are left, too few for an even use of the scale"
    ),
    "study.unfinished": lambda tasks: (
        f"{tasks:,} {'task was' if tasks == 1 else 'tasks were'} given out but not completely answered: "
        f"{'it does' if tasks == 1 else 'they do'} not count yet, as if drawn at random."
    ),
    "study.undecided": lambda pairs: (
        f"{pairs:,} undecided {'pair is' if pairs == 1 else 'pairs are'} left out as if not drawn."
    ),
}  # fmt: skip
