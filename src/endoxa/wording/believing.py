"""What beliefs say about how they were made."""

from __future__ import annotations

from collections.abc import Sequence

from endoxa.wording.phrases import Template, if_any, queries_of

MIXES = {
    "assigned": "one reading per category that somebody filed the query in, weighted by the share who did",
    "normalised": "one reading per category that holds the query for somebody, the root too; general ones weigh most",
    "normalised_no_root": "one reading per category below the root that holds the query for somebody",
    "subject": "one reading per person who filed the query; what she did not file is not relevant to her",
}


def _size(model: str, queries: int, readings: int, pairs: int, unmentioned: str | float) -> str:
    rule = unmentioned if isinstance(unmentioned, str) else f"relevant with probability {unmentioned:g}"
    several = f", {readings / max(queries, 1):.3g} readings each" if readings > queries else ""
    size = f"{queries_of(queries)}{several}, {pairs:,} pairs of query and item"
    return f"belief={model}: {size}; an item that it does not mention is {rule}"


def _votes(systems: int, depth: int | None, prior: Sequence[float], weights: str, votes: float) -> str:
    universe = ", yes for rank ≤ {} (--depth); the universe is the union of these items"
    return (
        f"votes: {systems} systems{'' if depth is None else universe.format(depth)}"
        f"; prior ({prior[0]:g}, {prior[1]:g}); weights {weights}"
        + (f", {votes:.3g} votes in all" if votes < systems else "")
    )


def _fit(prior: str | Sequence[float], variant: str, converged: bool, iterations: int) -> str:
    if not isinstance(prior, str):
        prior = "right {:g}, wrong {:g}, classes {:g}".format(*prior)
    settled = "converged" if converged else "stopped"
    return f"dawid-skene: prior {prior}, variant {variant}, {settled} after {iterations:,} iterations"


def _universe(labels: int, topics: int, whole: int, depth: int, systems: int, pairs: int, groups: int) -> str:
    universe = f"universe: the first {depth} items of {systems} systems, {pairs:,} pairs; {groups} groups of systems"
    if not labels:
        return universe
    return f"learned from {labels:,} label{'' if labels == 1 else 's'} on {topics:,} of {whole:,} topics; {universe}"


NOTES: dict[str, Template] = {
    "belief.size": _size,
    "belief.crisp": "judgments are taken as certain",
    "belief.graded": "a grade is read as the probability of being relevant",
    "belief.votes": lambda sources, smoothing, dropped: (
        f"votes of {sources} sources, smoothing {smoothing:g}"
        + if_any(dropped, "; {:,} undecided answers dropped")
    ),
    "belief.one_source": "one source: how much the result depends on who was asked is unknown",
    "belief.subjects": lambda people, gaps: f"{people} people, one reading each" + (
        f"; {gaps:.0%} of the pairs were not judged by a person and count as not relevant for them" if gaps > 0 else ""
    ),
    "belief.pinned": lambda pairs, lost: f"{pairs:,} judged pairs are certain (pinned)" + if_any(
        lost, "; {:,} belong to queries that it does not mention, and are left out"
    ),
    "belief.votes_left_out": "the votes of {systems[0]} and {systems[1]} are left out",
    "categories.mix": lambda mix: f"mix={mix}: {MIXES[mix]}",
    "categories.smoothing": lambda smoothing: f"smoothing={smoothing:g}: " + (
        "added to every category but the root before shares are taken" if smoothing else "shares as they are"
    ),
    "categories.filed": lambda people, items, least, most: (
        f"{people:,} people filed {items:,} items, "
        f"{f'{least:,}' if least == most else f'{least:,} to {most:,}'} people an item"
    ),
    "categories.resampled": "people={people}: the people were resampled {people:,} times",
    "categories.levels": "levels: one reading per category that holds the query, but the root; all weigh the same",
    "categories.one_labelling": lambda items, people: f"{items:,} items in one labelling" + (
        f", on which {people:,} people agree" if people > 1 else ""
    ),
    "categories.root_only": "{items:,} items filed in the root only are no queries",
    "categories.missing_labels":
        "{missing:.1%} of the labels are missing; an item that a person did not file is irrelevant to her",
    "categories.filed_alone": "{times:,} times a person filed the query and nothing else; to her, nothing is relevant",
    "categories.no_queries": "{items:,} items are no queries, as who filed them filed nothing else",
    "consensus.votes": _votes,
    "consensus.lonely_queries":
        "{lonely} of {queries} queries are answered by one system only, which agrees with itself",
    "learned.labels": "learned from {labels:,} labels: {systems} systems in {groups} groups",
    "learned.universe": _universe,
    "scores.learned": "learned from labels",
    "raters.fit": _fit,
    "raters.votes": "{votes:,} votes by {raters:,} raters on {pairs:,} pairs, {undecided:,} undecided",
    "raters.gold": "{pairs:,} pairs are known (gold)",
    "raters.confidence_unused": "confidence is used with two grades only; here are {grades}",
    "raters.without": lambda raters: f"without the votes of {', '.join(raters)}",
    "raters.no_convergence":
        "no convergence after {iterations:,} iterations: a posterior still moved by {change:.1g}; raise iterations",
    "raters.one_class": "every vote names the same class; the raters cannot be told apart",
    "raters.few": lambda raters: (
        f"{raters} rater{'s' * (raters != 1)}: with fewer than 3 the votes cannot tell who errs"
    ),
    "raters.same_answer": lambda same, raters: (
        f"{len(same)} of {raters} raters always gave the same answer "
        f"({', '.join(same[:3])}{', …' if len(same) > 3 else ''}), which says nothing about an item"
    ),
    "raters.no_better_than_chance":
        "raters are right with probability {right:.2g} by this fit, no more than by chance among {classes} classes: "
        "the classes may have changed places; add gold, or take the informed prior",
    "raters.swallowed_class":
        "class {label} has {votes:.0%} of the votes but {items:.1%} of the items: "
        "another may have swallowed it; add gold, or compare another variant",
    "ratings.sample":
        "The pairs are a sample, and pairs that were not asked count as irrelevant: scores come out too low. "
        "`endoxa ratings` and `endoxa eval BUNDLE` weight the sample.",
    "ratings.one_side": lambda above, threshold: (
        f"Every rating is {'above' if above else 'at or below'} the threshold {threshold:g}; "
        "is it on the scale of the ratings?"
    ),
    "recalibrated.labels": "recalibrated: isotonic regression on {labels:,} labels, {distinct:,} distinct p",
    "recalibrated.one_reading": "recalibrated: readings are mixed into one",
    "recalibrated.no_people": "recalibrated: resamples of the people are dropped",
    "reliability.certain":
        "{labels:,} labels meet a belief that is certain (p 0 or 1), {against:,} of them against it; "
        "they have no part in slope and intercept",
    "reliability.unknown_queries": "{labels:,} labels are of queries that the belief does not know",
    "reliability.no_propensity": "{labels:,} labels have no propensity; each stands for itself only",
    "reliability.no_propensities":
        "labels without propensities: what is found holds for pairs chosen as these were",
    "reliability.left_out": "{labels:,} labels are of items that the belief does not mention; they are left out",
    "reliability.unmentioned": "{labels:,} labels are of items that the belief does not mention",
}  # fmt: skip
