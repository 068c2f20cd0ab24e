"""What evaluations warn of, and what they say about how their numbers were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from endoxa.formatting import listed
from endoxa.wording.phrases import Template, few_of, if_any, queries_of

LIMITS_OF_CONSENSUS = (
    "A consensus shows which systems return what the others return too, and so roughly how a field of systems is "
    "ordered. It cannot show how good a system is, or which of the best is best. Where judgments exist, such rankings "
    "agree with them for the whole field and much less among the best, because systems make the same errors and no "
    "other system confirms what a single better one finds. About 100 judged pairs (endoxa next) give intervals that "
    "stay valid even if the consensus is wrong."
)
WARNED = 4  # systems that a warning names before it only counts them
TIES = {
    "trec": "item id decides their order", "input": "the order read decides",
    "average": "values are means over their orders", "range": "least and most show the worst and best order",
}  # fmt: skip
MISSING = {"empty": "they count as empty lists", "skip": "they are left out", "error": ""}
REMEDIES = {
    "truth": "judged pairs (endoxa next) or clearer questions", "people": "more or other people",
    "voters": "more independent systems", "queries": "more queries",
}  # fmt: skip
SCALES = {
    "mean": "the mean displacement of an item", "chance": "the displacement divided by that of a random order",
    "raw": "the displacement w",
}  # fmt: skip
JUDGED = {
    "opinions": "were judged", "sample": "were judged", "labels": "had been filed",
    "categories": "were categories known", "answers": "were in some subject's answer",
}  # fmt: skip


def _worst(what: str, systems: Mapping[str, float], form: str) -> str:
    """The systems with their values, the first ones by name."""
    named = ", ".join(f"{system} {form.format(value)}" for system, value in list(systems.items())[:WARNED])
    more = len(systems) - WARNED
    return f"{what}: {named}{f' and {more} more system' + 's' * (more > 1) if more > 0 else ''}."


def _over(queries: int, worlds: int | None, people: bool, plugin: bool, confidence: float) -> str:
    if worlds is None:
        return queries_of(queries) + (": expected grades taken as grades" if plugin else "")
    known = "all doubts" if people else "the doubts that are known"
    return f"{queries_of(queries)}, {worlds:,} possible worlds; intervals: the middle {confidence:.0%}, with {known}"


def _shares(shares: Mapping[str, float], unknown: Sequence[str]) -> str:
    parts = ", ".join(f"{doubt} {share:.0%}" for doubt, share in shares.items())
    silent = f"; the doubt about the {unknown[0]} is unknown" if unknown else ""
    helps = REMEDIES[max(shares, key=lambda doubt: shares[doubt])]
    return f"doubt about the means: {parts}{silent}; what would help most: {helps}"


def _coverage(
    system: str, by: str, judged: float, of_first: int, first_10: float, queries: float, effective: float | None
) -> str:
    count = f"{judged:.0f}" if judged >= 10 or judged == round(judged) else f"{judged:.1f}"
    return f"{system}: {count} of the first {of_first} results per query {JUDGED[by]} at collection time " + (
        f"({first_10:.0%} of the first 10), on {queries:.0%} of the queries"
    ) + (
        "" if effective is None
        else f"; the judged pairs are a random sample with known probabilities, effective sample size {effective:.1f}"
    )  # fmt: skip


NOTES: dict[str, Template] = {
    "consensus.limits": LIMITS_OF_CONSENSUS,
    "consensus.unique": lambda systems: (
        "No other system returned half or more of what "
        f"{few_of([f'{system} ({share:.0%})' for system, share in systems.items()])} returned. The consensus counts "
        "these items against the system, whether it is wrong or better than the others. Judge a sample of them "
        "(endoxa next)."
    ),
    "consensus.clones": lambda groups: (
        f"These systems return nearly the same lists: {'; '.join(map(few_of, groups))}. They outvote others; try "
        "--weights redundancy or --weights cluster."
    ),
    "consensus.depth": lambda depths, taus: (
        "The ranking depends on the vote depth: it changes at depth "
        + ", ".join(f"{depth} (tau {tau:.2f})" for depth, tau in zip(depths, taus, strict=True)) + "."
    ),
    "consensus.few_queries": lambda queries: (
        f"With only {queries} {'query' if queries == 1 else 'queries'}, other queries may order the systems "
        "differently."
    ),
    "consensus.few_voters": "{systems} systems are few voters; use at least four or five independent ones.",
    "consensus.none_better":
        "No system scores better on {measure} than {everything} (everything in random order): {everything} returns "
        "every item that is believed relevant, and the lists of the systems are too short to do so.",
    "consensus.not_better": lambda systems, measure, everything: (
        f"{few_of(systems)} {'does' if len(systems) == 1 else 'do'} not score better on {measure} than {everything} "
        "(everything in random order)."
    ),
    "doubt.over": _over,
    "doubt.everything": "{system}: returns everything in random order; a baseline, not a contender",
    "doubt.shares": _shares,
    "doubt.skew":
        "a mean at an end of its interval: draws are skewed, and it lies outside their middle {confidence:.0%}",
    "doubt.undefined":
        "{measure} is undefined with probability {mass:.2g} on average (nothing relevant, or nothing returned); "
        "its values are conditional on being defined.",
    "doubt.few_queries": lambda queries: (
        f"With only {queries} {'query' if queries == 1 else 'queries'}, the intervals over queries are too narrow."
    ),
    "doubt.few_mentioned": lambda systems: (
        f"The belief mentions less than a tenth of the items of {few_of(systems)}; its rule for unmentioned items "
        "decides about the others."
    ),
    "doubt.no_chances":
        "This belief is made of the systems' own lists, so it gives no interval and no P(better). Evaluate the runs "
        "alone, or with labels, for probabilities that were measured to hold.",
    "doubt.people": lambda systems: (
        f"Asking other people of the same kind moves the mean of {few_of(systems)} by more than its spread: the belief "
        "depends on who was asked, and the order by P(best) can differ from the order by mean."
    ),
    "labels.no_measure": lambda measures: (
        f"No valid interval exists for {', '.join(measures)} from a sample of labels; ask for P@k, DCG@k, R@k or F@k."
    ),
    "labels.no_interval": "No interval: {reason}",
    "labels.drawn_unknown":
        "The labels do not say from which pairs they were drawn: all pairs that the belief mentions are assumed.",
    "scores.missing": lambda topics, missing, systems: _worst(
        f"{topics} that a run lacks ({MISSING[missing]})", systems, "{:,.0f}"
    ),
    "scores.unknown_topics": lambda systems: _worst("Topics without judgments (ignored)", systems, "{:,.0f}"),
    "scores.tied": lambda ties, systems: _worst(f"Items with tied scores ({TIES[ties]})", systems, "{:.1%}"),
    "scores.few_judged": lambda systems: _worst(
        "Few of the retrieved items were judged (the rest counts as not relevant)", systems, "{:.1%}"
    ),
    "scores.no_bounds": lambda measures: (
        f"{', '.join(measures)}: no least and greatest value is known; unjudged items count as misses."
    ),
    "scores.range_unknown":
        "{measure}: the worst and best order are unknown on {lists:,} of {every:,} lists, because their ties allow "
        "more than {orders:,} orders. Its range leaves these lists out.",
    "scores.undefined":
        "{measure} is undefined (0/0) for {lists:,} of {every:,} lists; they are left out of the means.",
    "scores.generality":
        "The queries differ in generality: the share of relevant items runs from {low:.3f} to {high:.3f} (10th and "
        "90th percentile). Precision-recall curves over such queries, or over collections that differ as much, cannot "
        "be compared by eye; the dashed line shows what a random ranking would reach.",
    "scores.sampled": lambda measures, lists, every, orders, shuffles, error: (
        f"{listed(measures, WARNED)}: sampled on {lists:,} of {every:,} lists, because their ties allow more than "
        f"{orders:,} orders and the mean has no closed form. With {shuffles:,} random orders, the standard error of a "
        f"mean over queries is at most {error:.2g}; raise --shuffles to lower it."
    ),
    "scores.sample_as_judgments":
        "These judgments are a sample that endoxa next chose, and all that was not chosen counts as not relevant. Give "
        "them as labels (--labels FILE, labels=): then the rest is learned.",
    "scores.unbounded": lambda measure, systems: (
        f"{measure} of {listed(systems, WARNED)}: the sample does not bound the mean, because nearly all values are "
        "equal and the measure has no limit."
    ),
    "scores.short_intervals": lambda enough, measures: (
        f"With fewer than {enough} queries, the intervals of {listed(measures, WARNED)} can be too short if the values "
        "are skewed."
    ),
    "curves.random": lambda collection, known: (
        f"Random ranking: of a collection of {collection:,} items." if collection is not None else
        f"Random ranking: the size of the collection was not given (-N). The {known:,} items judged for any query "
        "stand for it, so the line is an upper bound."
    ),
    "answers.size": "{subjects:,} subjects, {queries:,} queries",
    "answers.measures":
        "order: chance-corrected displacement, 1 is the subject's own order and 0 is chance; ranks off: mean "
        "displacement of an item in ranks; quality: 1 without displacement, falling to 0; returned: share of the "
        "subject's items that are in the list",
    "answers.quality": lambda quality, power, scale: (
        "quality: "
        + (f"1/(1 + x)^{power:g}" if quality == "rational" else f"exp(-{power:g} x)")
        + f", x {SCALES[scale]} (scale={scale})"
    ),
    "answers.panels": lambda alone: (
        "a subject's own list is judged by all other subjects; a system by the panels that leave one of them out in "
        "turn"
        + if_any(alone, "; queries that one subject alone answered are left out ({:,})")
    ),
    "answers.unknown_queries": lambda source, query, queries: (
        f"{source!r} answered query {query!r}, which no run has"
        + if_any(queries - 1, " (nor {:,} other answered queries)")
        + ": it counts as an empty list of every system. Check the names of the queries."
    ),
    "answers.unanswered": lambda queries: (
        f"{queries_of(queries)} of the runs {'was' if queries == 1 else 'were'} answered by no subject: ignored."
    ),
    "answers.rule": lambda rule, collection: (
        f"rule={rule}: where the subject's items that a system did not return are assumed to stand, in "
        + ("all items that were returned or named (-N not given)" if collection is None
           else f"a collection of {collection:,} items")
    ),
    "answers.interval": lambda confidence, subjects: (
        f"interval: {100 * confidence:g} % over "
        + ("queries; one subject says nothing about other people" if subjects == 1
           else "subjects and queries, resampled together")
    ),
    "sample.torn": "pairs on which judges disagree ({pairs:,}) count by the share of judges",
    "sample.ratios": lambda measures: (
        f"modelled {', '.join(measures)}: the expected numerator divided by the expected denominator (a ratio of "
        f"expectations); {measures[0]} under a belief is the expectation of the ratio"
    ),
    "sample.modelled":
        "modelled: values, P(better) and P(best) are for these topics, as if every pair were judged; differences are "
        "too small, the order is what to act on",
    "sample.no_propensity":
        "no design-based interval: some labels have no propensity (draw pairs with endoxa next or decide)",
    "sample.little_worth": lambda worth, more, left: (
        f"no design-based interval: the labels say as much as {worth:.0f} drawn evenly; "
        + (f"about {more:,} more labels are needed" if more < left else f"only {left:,} pairs are left to judge")
    ),
    "sample.no_interval": lambda measures, reason: (
        f"no design-based interval for {', '.join(measures)}: {reason}"
    ),
    "sample.all_alike": lambda labels, relevant: (
        f"All {labels:,} labels are {'relevant' if relevant else 'not relevant'}: they hardly tell systems apart."
    ),
    "sample.few_groups":
        "If systems whose lists largely overlap count once, there are {groups}: with fewer than {few}, the consensus "
        "is a poor start.",
    "sample.outside": lambda labels, depth: (
        f"{labels:,} {'label is' if labels == 1 else 'labels are'} left out: no system has the pair among its first "
        f"{depth} items."
    ),
    "sample.empty_lists": lambda systems: (
        f"{few_of(systems)} returned nothing for some topics; these count as empty lists."
    ),
    "sample.few_labels": "Nothing counts as settled before {least} labels; there are {labels:,}.",
    "sample.against_consensus":
        "The labels contradict the consensus of the systems (tau {tau:.2f} between the two orders): trust the labels.",
    "sample.same": lambda systems, measure, depth: (
        f"{listed(systems, WARNED)} return the same {f'first {depth} items' if depth else 'items'} on every query: "
        f"they are equal on {measure}, whatever the labels"
    ),
    "sample.practically_same": lambda pairs, measure, within: (
        f"practically the same on {measure} (apart by at most {f'{within:g}'.lstrip('0')}, with a probability of .95): "
        + listed([f"{one} and {other}" for one, other in pairs], WARNED, len(pairs))
    ),
    "sample.own_finds": lambda systems, first, pair: (
        f"Many of the first {first} items of {few_of([f'{one} ({share:.0%})' for one, share in systems.items()])} were "
        "returned by no other system and have no label. Such a system stays underrated until its own finds are "
        f"labelled: endoxa next RUNS --labels FILE --about {','.join(pair)}"
    ),
    "bundle.coverage": _coverage,
    "bundle.strange": "not scored by everything in the bundle: {reason}",
    "bundle.intervals": "intervals: {confidence:.0%}, where the judgments support one",
    "bundle.name": lambda name, task, licence: (
        f"bundle {name}: {task}; licence: {licence or 'none given: ask the makers'}"
    ),
    "bundle.no_propensity": "{ratings:,} ratings of pairs whose chance of being drawn is not known are left out",
    "bundle.sample":
        "estimated from pairs drawn with known probabilities, weighted by the inverse; relevant is a pair whose mean "
        "rating lies above the threshold; recall is that of what could be drawn",
    "bundle.no_taxonomy": "the bundle has no taxonomy: categories stand side by side",
    "bundle.categories": "a category is right for all who filed the item in it or below",
    "bundle.itself": "a query that returned itself: it is taken out of its list",
    "bundle.unjudged": "results that nobody judged count as not relevant; queries that a run lacks as empty lists",
    "bundle.left_out": "{queries:,} queries of the run were judged by nobody and are left out",
    "bundle.threshold": lambda above, threshold, scale: (
        f"relevant: rated above {above:g}"
        + ("" if above == threshold else f" (halfway from {threshold:g} to the next grade)")
        + f" on the scale from {scale[0]:g} to {scale[1]:g}"
    ),
    "bundle.undecided": "{answers:,} undecided answers do not count",
    "bundle.calibrated": lambda raters, bare: (
        f"ratings of {raters:,} raters are calibrated (a·x + b)"
        + if_any(bare, "; {:,} raters have no calibration, their ratings count as they are")
    ),
    "bundle.few_queries":
        "{system} answers {queries:.0%} of the judged queries: its values are of those or too low",
    "bundle.thin_sample":
        "{share:.0%} of the first 10 of {system} were judged: the rest is estimated from them, with no interval where "
        "they are worth less than {least} evenly drawn pairs",
    "bundle.out_of_reach":
        "about {share:.0%} of the first 10 of {system} could have been drawn: of the others the sample says nothing; "
        "have some judged",
    "bundle.thin": lambda share, system, by: (
        f"{share:.0%} of the first 10 of {system} are "
        f"{'in no answer' if by == 'answers' else 'judged by nobody, and count as not relevant'}: a system that nobody "
        "knew at collection time is worth more than its values say; have these results judged"
    ),
}  # fmt: skip
