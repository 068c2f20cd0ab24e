"""What comparisons and estimates say about how they were made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from endoxa.formatting import listed
from endoxa.wording.phrases import Template, if_any

NAMED = 3  # contenders that a sentence names before it only counts them

TESTS = {
    "randomisation": "paired sign-flip randomisation of the mean difference, two-sided",
    "t": "paired t test, two-sided",
    "wilcoxon": "Wilcoxon signed-rank test, two-sided, equal scores left out",
    "tukey": "randomised Tukey HSD over {systems} systems, {permutations:,} permutations, on the queries that "
    "all of them have",
}
CORRECTIONS = {"holm": "Holm", "bh": "Benjamini–Hochberg"}


def test_in_short(test: str, systems: int, draws: int, permutations: int, exact: int) -> str:
    """Which test it was."""
    return "test: " + TESTS[test].format(systems=systems, permutations=permutations)


def _test(test: str, systems: int, draws: int, permutations: int, exact: int) -> str:
    signs = f"; every sign assignment up to {exact} differing queries, {draws:,} random ones beyond"
    return test_in_short(test, systems, draws, permutations, exact) + (signs if test == "randomisation" else "")


def _correction(method: str, least: int, most: int) -> str:
    if method == "tukey":
        return "correction: none added: Tukey's p-values already hold for all pairs of a measure at once"
    noun = "comparison" if least == most == 1 else "comparisons"
    over = f"over {least if least == most else f'{least} to {most}'} {noun} per measure"
    return f"correction: none, {over}" if method == "none" else (
        f"correction: {CORRECTIONS[method]} {over}, not across measures"
    )  # fmt: skip


def told_apart(
    best: str, *, leader: str, level: Sequence[str], behind: Sequence[str], mutual: bool,
    name: Callable[[str], str] = str,
) -> str:  # fmt: skip
    """What paired comparisons allow to be said, without a full stop: `a reads best`, or who cannot be told apart.

    best    the predicate of a winner, as `reads best`; said only where nobody is level with the leader
    level   those that cannot be told apart from the leader; mutual: nor from one another
    behind  those that are worse than the leader
    """
    first, others, worse = name(leader), list(map(name, level)), list(map(name, behind))
    if not others:
        return f"{first} {best}" if worse else f"{first} is the only one"
    if mutual:
        text = f"{listed([first, *others], NAMED)} cannot be told apart"
    else:
        text = f"{first} cannot be told apart from {listed(others, NAMED)}"
    if not worse:
        return text
    return f"{text}; {listed(worse, NAMED)} {'is' if len(worse) == 1 else 'are'} worse than {first}"


NOTES: dict[str, Template] = {
    "compared.test": _test,
    "compared.interval": lambda confidence, interval, resamples: (
        f"interval: {100 * confidence:g} % {interval}, {resamples:,} resamples of the queries"
    ),
    "compared.correction": _correction,
    "compared.own_intervals":
        "the intervals are each pair's own, not simultaneous: Tukey's p holds for all pairs at once",
    "compared.least_p":
        "p-values end at 1/{least:,}: with this many pairs none can be significant after correction; "
        "take more resamples, a baseline, or Tukey's test",
    "compared.infinite_interval":
        "infinite interval: so few queries differ that the sample does not bound the difference",
    "compared.few_queries":
        "few queries: an interval can be too short where the differences are skewed; the interval `bounded` is "
        "not, but longer",
    "compared.not_shared": "NaN: the pair shares fewer than two queries with a value",
    "compared.worlds": lambda worlds, people, resamples, confidence: (
        f"P(better): over {worlds:,} possible worlds shared by all systems"
        + if_any(people, ", {:,} resamples of the voters")
        + f" and {resamples:,} resamples of the queries; interval: the middle {100 * confidence:g} %"
    ),
    "compared.people_unknown":
        "The doubt about the people is unknown (one source, or none that can be resampled); `all` excludes it.",
    "compared.exact": lambda measures: f"The doubt about the truth of {', '.join(measures)} is exact.",
    "compared.modelled": "P(better) is modelled: it is about these topics, as if every pair were judged.",
    "estimate.labels":
        "{labels:,} labels in {labelled:,} of {queries:,} queries, {sure:,} of them of pairs sure to be drawn; "
        "{pairs:,} pairs could be",
    "estimate.uneven":
        "propensities are so uneven that few labels decide; intervals may be too short: "
        "draw with a larger share of even chances (mixing)",
    "estimate.undecided":
        "{pairs:,} pairs were drawn but have no grade; they count as not drawn, so that estimates lean "
        "towards the belief, or towards 0 without it, by about that share",
    "estimate.stray": "{pairs:,} labelled pairs lie outside the universe; they count, with f = 0",
    "estimate.not_judged": "{queries:,} queries of the run could not be judged; they are ignored",
    "estimate.empty_lists": "{lists:,} lists are empty: nothing found (SetP: left out)",
    "estimate.tuning": lambda lam: (
        "λ of each row is that of least variance" if lam is None
        else f"λ = {lam:g} for all rows" + (": labels alone (Horvitz–Thompson)" if lam == 0 else "")
    ),
    "estimate.intervals": lambda confidence: (
        f"se, lo, hi: {100 * confidence:g} % for these queries as they are, the draw of labels being the only chance; "
        "lo_queries, hi_queries: for queries of this kind (t over queries)"
    ),
    "estimate.ratios": lambda measures: (
        f"{', '.join(measures)}: micro-averaged, a ratio of sums over all queries (delta method), "
        "not the mean of each query's own"
    ),
    "estimate.own_tuning": "a difference has its own λ, and need not equal the difference of the two rows",
    "estimate.outside": "up to {share:.1%} of a system's items could not be drawn; they count as irrelevant",
    "estimate.no_interval":
        "{rows:,} rows without an interval: fewer than {bearing} labels left to chance bear on them, or these "
        "show no spread",
    "estimate.rough": "{rows:,} rows rest on fewer than {few} labels; their intervals are rough",
}  # fmt: skip
