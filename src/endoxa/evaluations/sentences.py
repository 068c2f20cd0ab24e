"""What an evaluation says in words: the answer, how sure it is, and what to know before trusting the numbers.

The sentences never claim more than the reference supports: what holds within a consensus of systems is said to hold
there, and a value within it is never called the quality of a system. `name` is applied to everything that came from
outside (names of systems and measures): a page escapes them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from endoxa.evaluations import search_rounds
from endoxa.evaluations.settings import LEARNED, VOTED
from endoxa.evaluations.standings import (
    DOUBTS,
    SURE,
    Chances,
    Pair,
    chances,
    comparison_with_best,
    contenders,
    correction,
    counts,
    headline,
    modelled,
    p_best,
    pair_of,
    rival,
    title_of,
    undecided,
)  # fmt: skip
from endoxa.formatting import capitalised, chance, listed, number, probability, share
from endoxa.later import pl
from endoxa.measures.grammar import parse
from endoxa.notes import Note, warning
from endoxa.policies import ORDERS, TAUGHT
from endoxa.tables import Scores
from endoxa.wording.machine_judges import judges_of

if TYPE_CHECKING:
    from endoxa.comparisons.forecast import Forecast
    from endoxa.comparisons.prediction import Estimates
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.pools.deciding import Look, Proof
    from endoxa.tables import Belief

NAMED = 3  # systems that an answer names before it only counts them
TIED = 0.05  # share of items with equal scores from which the order of ties matters
JUDGED = 0.5  # share of retrieved items with a judgment below which "not relevant" is mostly a guess
MANY = 20  # times the queries at hand beyond which nobody will collect them
USUAL = "125 to 450"  # labels in the median of several collections; docs/decide.md has the figures
DECIDE = "endoxa decide RUNS"
AGAIN = "endoxa next RUNS --labels FILE -o csv --to more.csv"
WITH_JUDGES = AGAIN.replace("--labels FILE", "--labels FILE --judge FILE")
STEP, FAR = 25, 600  # forecasts are rounded up to 25 labels; beyond 600 only a probability is given
PART = 0.1  # share of the queries beyond which the answer itself says that a run lacks them
SPREAD = 2.0  # ratio of generalities from which curves should not be compared

SHAKY = 0.8  # Kendall's tau between orders at several vote depths, below which an order is said to be shaky


def sentences(evaluation: Evaluation) -> tuple[str, ...]:
    """What the evaluation says; the first sentence is the answer."""
    if evaluation.kind == "sample":
        more = [*caveats(evaluation), taught(evaluation)]
    elif evaluation.kind == "answers":
        from endoxa.evaluations.answered_sentences import among_people

        more = [among_people(evaluation)]
    else:
        more = [*caveats(evaluation), *advice(evaluation)]
    return (answer(evaluation), *(text for text in more if text))


def answer(evaluation: Evaluation, *, name: Callable[[str], str] = str) -> str:
    """One sentence: who leads, by how much, how sure that is, who cannot be told apart, and what would settle it."""
    if evaluation.kind == "ratings":
        from endoxa.evaluations import rating_sentences

        return rating_sentences.answer(evaluation.details, name=name)
    if not evaluation.measures:
        return "There is no score: nothing can be compared."
    if search_rounds.are_rounds(evaluation.systems):
        searches = len(evaluation.scores.queries) if evaluation.scores is not None else 1
        return search_rounds.answer(evaluation.systems, searches, name=name)
    first = under_doubt(evaluation, name=name) if evaluation.in_doubt else verdict(evaluation, name=name)
    return first + by_other_measures(evaluation, name=name)


def by_other_measures(evaluation: Evaluation, *, name: Callable[[str], str] = str) -> str:
    """Which system has the best mean on each further measure; empty with one measure, or where the lead is shared."""
    first = evaluation.measures[0] if evaluation.in_doubt else headline(evaluation)
    leaders: dict[str, list[str]] = {}
    whole = counts(evaluation.rows)
    for measure in (first, *(one for one in evaluation.measures if one != first and one not in whole)):
        known = [one for one in contenders(evaluation, measure) if not math.isnan(one.value)]
        if len(known) > 1 and known[0].value != known[1].value:
            leaders.setdefault(known[0].system, []).append(name(title_of(evaluation, measure)))
    same, *others = leaders.values() or [[]]
    if len(same) > 1 and not others:
        return f" It has the best {listed(same[1:], NAMED)} too."
    parts = [f"{name(system)} has the best {listed(titles, NAMED)}" for system, titles in list(leaders.items())[1:]]
    return f" The measures disagree: {', '.join(parts)}." if parts else ""


def caveats(evaluation: Evaluation) -> list[str]:
    """What to know before acting on the answer where the truth is in doubt."""
    if not evaluation.in_doubt or not evaluation.measures:
        return []
    shaky = _shaky(evaluation)
    return [shaky] if shaky else []


# With judgments


def verdict(evaluation: Evaluation, measure: str | None = None, *, name: Callable[[str], str] = str) -> str:
    """Which system leads on a measure (the headline, if none is named), by how much, and how sure that is.

    A value of a bundle is by the first kind of judgment that the bundle has.
    """
    measure = measure or headline(evaluation)
    lower = measure in evaluation.lower
    standings = [one for one in contenders(evaluation, measure) if not math.isnan(one.value)]
    what = name(measure)
    if not standings:
        return f"{what} is undefined for every system: there is nothing to compare."
    best = standings[0]
    queries = f"over {best.queries:,} quer{'y' if best.queries == 1 else 'ies'}"
    if len(standings) == 1:
        interval = "" if math.isnan(best.lo) else f", {_interval(best.lo, best.hi, 4, evaluation.confidence)}"
        others = len(evaluation.systems) > 1
        alone = f"{what} is undefined for all others" if others else "there is no other system to compare it with"
        return f"{name(best.system)} has {what} {number(best.value)} ({queries}{interval}); {alone}."
    if len({one.value for one in standings}) == 1 and len(standings) > 2:
        return f"All {len(standings)} systems have the same {what}, {number(best.value)} ({queries})."
    _, other = rival(evaluation, measure) or ("", standings[1].system)
    opponent = next(one for one in standings if one.system == other)
    role = f"the {'baseline' if other == evaluation.baseline else 'runner-up'} {name(other)}"
    role += _without(evaluation.scores, other, best.queries)
    shared = opponent.value == best.value
    on = f"on {what}{' (lower is better)' if lower else ''} with {number(best.value)} {queries}"
    same, compared = undecided(evaluation, measure) or ([], 0)
    lead = f"{name(best.system)} {_verb(compared > 0 and not same)} {on}"
    if shared:
        lead = f"{name(best.system)} and {name(other)} share the lead {on}"
    pair = pair_of(comparison_with_best(evaluation, measure), measure, best.system, other)
    gap = abs(best.value - opponent.value) if pair is None else abs(pair.difference)
    turned = pair is not None and pair.difference != 0 and (pair.difference < 0) != lower
    reason = "" if pair is None else _reason(evaluation, pair)
    if shared and _alike(evaluation.scores, measure, best.system, other):
        reason = " (the same on every query)"
    fewer = pair is not None and 0 < pair.queries < (1 - PART) * best.queries
    both = f" on the {pair.queries:,} that both answered" if pair is not None and fewer else ""
    by = "" if shared or turned else f", {number(gap, _decimals(gap))} {_side(lower)} {role}{both}"
    if pair is None:
        return f"{lead}{by}; the difference was not tested."
    if not turned:
        return f"{lead}{by}{reason}{_apart(evaluation, measure, best.system, pair, name)}."
    # The means need not be over the same queries; the paired difference is.
    size = f"{number(gap, _decimals(gap))}{_reason(evaluation, pair.turned())}"
    return f"{lead}; on the queries that both answered, however, {name(other)} is {_side(lower)} it by {size}."


def _without(scores: Scores | None, system: str, queries: int) -> str:
    """How many of the queries a run lacks, where they count as empty lists and are many; a warning counts the few."""
    if scores is None or scores.policy.missing != "empty":
        return ""
    lacks = next((row["missing"] for row in scores.covered if row["system"] == system), 0)
    return f", which lacks {lacks:,} of them" if lacks > PART * queries else ""


def _alike(scores: Scores | None, measure: str, one: str, other: str) -> bool:
    """Whether two systems have the same value on every query."""
    if scores is None:
        return False
    rows = scores.frame.filter(pl.col("measure") == measure).select("system", "query", "value")
    mine, theirs = (rows.filter(pl.col("system") == name).drop("system").sort("query") for name in (one, other))
    return mine.height > 0 and mine.equals(theirs)


def _reason(evaluation: Evaluation, pair: Pair) -> str:
    decimals = _decimals(pair.difference)
    reasons = [] if math.isnan(pair.lo) else [_interval(pair.lo, pair.hi, decimals, evaluation.confidence)]
    if not math.isnan(pair.p):
        adjustment = correction(evaluation.decisive) if evaluation.decisive and pair.adjusted else ""
        reasons.append(probability(pair.p) + (f" after {adjustment}" if adjustment else ", not adjusted"))
    return f" ({', '.join(reasons)})" if reasons else ""


def _apart(evaluation: Evaluation, measure: str, best: str, pair: Pair, name: Callable[[str], str]) -> str:
    """Which systems cannot be told apart from the best, and what would settle it."""
    same, compared = undecided(evaluation, measure) or ([], 0)
    if not same:
        them = f"the {compared} others" if compared > 1 else "it"
        return f"; {name(best)} can be told apart from {them}"
    names = listed([name(one) for one in same], NAMED, len(same))
    return f"; {name(best)} cannot be told apart from {names}{_by_queries(evaluation, pair)}"


def _by_queries(evaluation: Evaluation, pair: Pair) -> str:
    """How many queries would settle it, if the difference is as large as it looks."""
    if not pair.difference or math.isnan(pair.effect) or pair.effect == 0:
        return ""
    from endoxa.comparisons.power import queries_needed

    needed = queries_needed(pair.effect, 1.0, alpha=1 - evaluation.confidence) - pair.queries
    if needed > MANY * pair.queries:
        return "; no realistic number of queries would settle it"
    return f"; about {_round(needed)} more queries like these would settle it" if needed > 0 else ""


def warnings_of(scores: Scores, curves: pl.DataFrame | None = None) -> list[Note]:
    """Warnings about ties, missing topics, unjudged items, undefined values and differing generality."""
    policy = scores.policy
    rows = scores.covered

    def part(column: str) -> Callable[[dict[str, Any]], float]:
        return lambda row: row[column] / max(row["items"], 1)

    found = [
        *lacking(scores, "Judged topics"),
        *_worst(rows, "scores.unknown_topics", lambda row: row["unknown"], bool),
        *_worst(rows, "scores.tied", part("tied"), lambda x: x > TIED, ties=policy.ties),
    ]
    if policy.unjudged != "condensed":
        found += _worst(rows, "scores.few_judged", part("judged"), lambda x: x < JUDGED, few=True)
    if policy.unjudged == "bounds":
        bounded = scores.frame.group_by("measure", maintain_order=True).agg(pl.col("lo").is_null().all())
        closed = bounded.filter("lo")["measure"].to_list()
        if closed:
            found.append(warning("scores.no_bounds", measures=closed))
    if policy.ties == "range":
        unknown = (pl.col("lo").is_null() & pl.col("value").is_not_nan()).sum()
        counts = scores.frame.group_by("measure", maintain_order=True).agg(unknown, pl.len())
        found += [
            warning("scores.range_unknown", measure=measure, lists=count, every=every, orders=ORDERS)
            for measure, count, every in counts.iter_rows()
            if count
        ]
    found += [
        warning("scores.undefined", measure=measure, lists=count, every=every)
        for measure, count, every in scores.undefined_lists()
        if count
    ]
    if curves is not None and curves.height:
        low, high = curves["generality_low"][0], curves["generality_high"][0]
        if high > SPREAD * max(low, 1e-12):
            found.append(warning("scores.generality", low=low, high=high))
    return found


def sampled(scores: Scores) -> list[Note]:
    """Which measures are means over random orders of tied items, on how many lists, and with which error."""
    alike: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for measure, count, every, error in scores.sampled_lists():
        alike.setdefault((count, every), []).append((measure, error))
    return [
        warning(
            "scores.sampled", measures=[name for name, _ in some], lists=count, every=every, orders=ORDERS,
            shuffles=scores.policy.shuffles, error=max(error for _, error in some),
        )
        for (count, every), some in alike.items()
    ]  # fmt: skip


def lacking(scores: Scores, topics: str) -> list[Note]:
    """How many of these topics each run lacks, and what becomes of them."""
    policy = scores.policy.missing
    return _worst(scores.covered, "scores.missing", itemgetter("missing"), bool, topics=topics, missing=policy)


def _worst(
    rows: list[dict[str, Any]], code: str, value: Callable[[dict[str, Any]], float], wrong: Callable[[float], bool],
    *, few: bool = False, **facts: str,  # few: the smallest number is the worst
) -> list[Note]:  # fmt: skip
    """A warning about the systems whose value is wrong, the worst first."""
    found = [(row["system"], value(row)) for row in rows if wrong(value(row))]
    if not found:
        return []
    found.sort(key=lambda pair: pair[1], reverse=not few)
    return [warning(code, systems=dict(found), **facts)]


# Under doubt


def consensual(evaluation: Evaluation) -> bool:
    """Whether the belief is made of the systems' own votes."""
    voted = evaluation.belief is not None and evaluation.belief.model.startswith("consensus")
    return voted or evaluation.kind in VOTED


def within(evaluation: Evaluation) -> str:
    """Where the numbers hold."""
    if evaluation.kind == "sample":
        labels, machines = labels_of(evaluation), machines_of(evaluation)
        based = [f"{labels:,} label{'' if labels == 1 else 's'}"] if labels else []
        based += [judges_of(machines)] if machines else []
        return f"based on {' and '.join(based or ['the consensus of the systems'])}"
    return "within this consensus" if consensual(evaluation) else "under this belief"


def labels_of(evaluation: Evaluation) -> int:
    """The number of pairs that people labelled, beside runs alone."""
    table = evaluation.tables.get("labels")
    return 0 if table is None else int(table["labels"][0])


def machines_of(evaluation: Evaluation) -> int:
    """The number of machine judges that the values rest on."""
    table = evaluation.tables.get("judges")
    return 0 if table is None else table.height


def lacks_labels(evaluation: Evaluation) -> int:
    """How many labels are missing before anything is settled: all, or with machine judges those up to 5 a query."""
    labels = labels_of(evaluation)
    if not machines_of(evaluation):
        return int(not labels)
    queries = max(int(row["queries"]) for row in evaluation.rows)
    return max(TAUGHT * queries - labels, 0)


def doubt_name(evaluation: Evaluation, doubt: str) -> str:
    """A source of doubt in plain words."""
    who = "who voted" if consensual(evaluation) else "who was asked"
    return {"truth": "what is relevant", "people": who, "queries": "which queries"}[doubt]


def under_doubt(evaluation: Evaluation, *, name: Callable[[str], str] = str) -> str:
    """Which system leads on the first measure, how sure that is, which ones cannot be told apart, what settles it.

    Two systems can be told apart where the interval of their difference, with all doubts, excludes 0; beside labels,
    and without any judgment, where P(better) of one is at least .95. Without any label the order is a guess, and the
    sentence says so.
    """
    measure = evaluation.measures[0]
    standings = [one for one in contenders(evaluation, measure) if not math.isnan(one.value)]
    where, what = capitalised(within(evaluation)), name(title_of(evaluation, measure))
    where += "," if evaluation.kind == "sample" else ""
    if not standings:
        return f"{where} {what} is undefined for every system: there is nothing to compare."
    known = {one.system for one in standings}
    without = [name(system) for system in evaluation.systems if system not in known]
    undefined = f"; {what} is undefined for {listed(without, NAMED, len(without))}" if without else ""
    best, order = standings[0], [one.system for one in standings]
    if evaluation.is_modelled and lacks_labels(evaluation) and len(standings) > 1:
        return f"{_guess(evaluation, order, name)}{undefined}."
    interval = "" if math.isnan(best.lo) else f" ({_interval(best.lo, best.hi, 4, evaluation.confidence)})"
    if len(standings) == 1:
        value = f"{what} {number(best.value)}{interval}"
        alone = f"{what} is undefined for all others" if without else "there is no other system to compare it with"
        return f"{where} {name(best.system)} has {value}; {alone}."
    value = (
        f"on {what}{' (lower is better)' if measure in evaluation.lower else ''} with {number(best.value)}{interval}"
    )
    equals = [one.system for one in standings if one.value == best.value]
    if len(equals) > 1:
        lead = f"{where} {listed([name(one) for one in equals], NAMED)} share the lead {value}"
    else:
        twins, same, against = _beside(evaluation, measure, order)
        lead = f"{where} {name(best.system)} {_verb(len(against) > len(twins) and not same)} {value}"
    return f"{lead}{_certainty(evaluation, measure, order, name)}{undefined}."


def _guess(evaluation: Evaluation, order: list[str], name: Callable[[str], str]) -> str:
    """What runs say that no person judged: the likeliest best, who cannot be told apart from it, and what helps."""
    measure, best = evaluation.measures[0], order[0]
    what = name(title_of(evaluation, measure))
    twins, same, _ = _beside(evaluation, measure, order)
    won = chance(p_best(evaluation, measure)[best])
    machines, labels = machines_of(evaluation), labels_of(evaluation)
    lead = "Best guess without judgments"
    if machines:
        lead = f"Best guess by {judges_of(machines)} and the systems"
        lead = f"{lead}, with {labels:,} label{'' if labels == 1 else 's'}" if labels else f"Nobody judged. {lead}"
    guess = f"{lead}: {name(best)} (P(best) {won} of {len(order)} systems, by {what})"
    if len(twins) == len(order) - 1:
        return f"{_twins([best, *twins], name)}: they are equal, whatever the labels"
    equal = f"; {_twins([best, *twins], name)}" if twins else ""
    if machines:  # which systems can be told apart is not said before people have checked the judges
        more = f"{lacks_labels(evaluation):,} {'more ' * bool(labels)}labels ({TAUGHT} a query)"
        trust = f"show how far to trust the judge{'' if machines == 1 else 's'}"
        return f"{guess}{equal}. Nothing is settled: {more} {trust}: {DECIDE} --judge FILE"
    if not same:
        return f"{guess}{equal}"
    others = listed([name(one.against) for one in same], NAMED, len(same))
    return (
        f"{guess}{equal}. Nothing is settled: it cannot be told apart from {others}. {USUAL} labels usually settle it: "
        f"{DECIDE}"
    )


def _twins(systems: list[str], name: Callable[[str], str]) -> str:
    return f"{listed([name(one) for one in systems], NAMED)} are the same on every query"


def _beside(evaluation: Evaluation, measure: str, order: list[str]) -> tuple[list[str], list[Chances], list[Chances]]:
    """The leader beside the others: those that are the same on every query, those it cannot be told apart from, all."""
    best, others = order[0], set(order[1:])
    pairs = chances(evaluation, measure, comparison_with_best(evaluation, measure))
    against = [one if one.system == best else one.turned() for one in pairs]
    against = [one for one in against if one.system == best and one.against in others]
    twins = [one.against for one in against if one.tie == 1 and _alike(evaluation.scores, measure, best, one.against)]
    same = [one for one in against if not one.differs and one.against not in twins]
    return twins, sorted(same, key=lambda one: one.superiority), against


def _certainty(evaluation: Evaluation, measure: str, order: list[str], name: Callable[[str], str]) -> str:
    """P(best) of the leader, which systems cannot be told apart from it, and what would settle it."""
    best, won = order[0], p_best(evaluation, measure)
    if best not in won:
        return ". How sure that is, is unknown"
    twins, same, against = _beside(evaluation, measure, order)
    equal = f"{_twins([best, *twins], name)}: no label tells them apart" if twins else ""
    settles = _by_labels(evaluation) if same else ""
    if len(order) == 2 and against:
        if twins:
            return f". {equal}"
        text = f"{name(best)} is better than {name(order[1])} with probability {_odds(against[0])}"
        return f". {text}; the two {'cannot' if same else 'can'} be told apart{settles}"
    text = f"{name(best)} is the best of {len(order)} systems with probability {chance(won[best])}"
    most = max(won, key=lambda system: won[system])
    if round(won[most], 2) > round(won[best], 2):
        text += f" ({name(most)}: {chance(won[most])})"
    if same:
        shown = [
            f"{name(one.against)} ({'P(better) ' if not place else ''}{_odds(one)})"
            for place, one in enumerate(same[:NAMED])
        ]
        text += f" and cannot be told apart from {listed(shown, NAMED, len(same))}"
    elif len(against) > len(twins):
        text += f" and can be told apart from all {'other systems' if twins else 'others'}"
    return f". {text}{'; ' if equal else ''}{equal}{settles}"


def _odds(one: Chances) -> str:
    """P(better); with P(equal) where it is not 0, and with P(worse) where that is greater."""
    text = chance(one.better)
    text += f", equal with {chance(one.tie)}" if round(one.tie, 2) > 0 else ""
    return text + (f", worse with {chance(one.worse)}" if round(one.worse, 2) > round(one.better, 2) else "")


def _by_labels(evaluation: Evaluation) -> str:
    """What would settle it: labels, with the command that chooses them, or what the doubt mostly comes from."""
    if evaluation.kind == "sample":
        forecast = evaluation.further
        enough = forecast is not None and not forecast.median
        again = WITH_JUDGES if machines_of(evaluation) else AGAIN
        return "" if enough else f". {capitalised(foreseen(forecast))}: {again}"
    helps = remedy(evaluation)
    return f"; {helps}" if helps else ""


def foreseen(forecast: Forecast | None) -> str:
    """How many more labels will settle it: the median with the quartiles, or how likely 300 are to be enough."""
    if forecast is None:
        return "more labels would settle it"
    known = not math.isnan(forecast.low)  # a file of 0.1 has the median alone
    if forecast.median > FAR:
        likely = f" (300 are enough with probability {chance(forecast.later)})" if known else ""
        return f"more than {FAR} more labels are likely needed{likely}"
    between = f" ({_up(forecast.low):,} to {_up(forecast.high):,})" if known else ""
    return f"about {_up(forecast.median):,} more labels{between} would settle it"


def _up(labels: float) -> int:
    return STEP * math.ceil(labels / STEP)


def _shaky(evaluation: Evaluation) -> str:
    """How much the order of a consensus depends on the depth of the votes: the best known sign without labels."""
    depths = evaluation.tables.get("depths")
    taus = [] if depths is None else depths["tau"].drop_nulls().drop_nans().to_list()
    if evaluation.kind != "consensus" or not taus or min(taus) >= SHAKY:
        return ""
    return f"The order changes with the vote depth (tau {min(taus):.2f})."


def _parts(evaluation: Evaluation) -> tuple[dict[str, float], list[str]]:
    """The mean share of each doubt in the variance of the systems, and the doubts that are unknown."""
    parts: dict[str, float] = {}
    unknown: list[str] = []
    if evaluation.doubts is None:
        return parts, unknown
    rows = evaluation.doubts.filter(pl.col("system") != (evaluation.virtual or ""))
    for doubt in DOUBTS:
        own = rows.filter(pl.col("doubt") == doubt)
        if own["variance"].fill_nan(None).drop_nulls().is_empty():
            unknown.append(doubt)
        elif len(known := own["share"].fill_nan(None).drop_nulls()):
            parts[doubt] = float(known.mean())  # type: ignore[arg-type]
    return parts, unknown


def remedy(evaluation: Evaluation) -> str:
    """What would reduce the doubt most; empty where no doubt is known."""
    parts, _ = _parts(evaluation)
    if not parts:
        return ""
    helps = {
        "truth": "judged pairs (endoxa next) or clearer questions would help most",
        "people": "labels remove it; without labels more voters would help most, above all systems that make other "
        "errors"
        if consensual(evaluation)
        else "asking more people would help most",
        "queries": "more queries would help most",
    }
    return helps[max(parts, key=lambda doubt: parts[doubt])]


def advice(evaluation: Evaluation) -> list[str]:
    """Where the doubt comes from, what would reduce it most, and which part of it is unknown.

    By the mean over the systems of each doubt's share of the variance; the virtual system does not count.
    """
    if evaluation.doubts is None:
        return []
    parts, unknown = _parts(evaluation)
    whom = "voters" if consensual(evaluation) else "people"
    sources = {"truth": "the uncertain relevance of items", "people": f"the choice of {whom}"}
    sources["queries"] = "the choice of queries"
    reasons = {
        "truth": "no possible worlds were drawn",
        "people": "there is only one source, or none that can be resampled",
        "queries": "one query says nothing about others",
    }
    texts = []
    if parts:
        most = max(parts, key=lambda doubt: parts[doubt])
        lead = "Most" if parts[most] > 0.5 else "The largest part"
        texts.append(
            f"{lead} of the doubt ({share(parts[most], 1)} of the variance, on average) comes from {sources[most]}: "
            f"{remedy(evaluation)}."
        )
    elif len(unknown) < len(DOUBTS):
        texts.append("None of the known doubts changes a mean.")
    for doubt in unknown:
        texts.append(f"The doubt from {sources[doubt]} is unknown: {reasons[doubt]}. The intervals do not include it.")
    return texts


def taught(evaluation: Evaluation) -> str:
    """How many pairs of systems labels have decided, and which number to act on."""
    pairs = chances(evaluation, evaluation.measures[0])
    if not pairs or lacks_labels(evaluation):
        return ""
    done = sum(one.differs for one in pairs)
    act = "act on the order and on P(better)"
    if "estimates" in evaluation.tables:
        act += "; take sizes from the estimates, which hold whatever the model"
    else:
        act += ", not on the sizes of differences: the model makes them smaller than they are"
    what = f"{done:,} of {len(pairs):,} pairs of systems are decided"
    if len(pairs) == 1:
        what = f"The pair is {'' if done else 'not '}decided"
    return f"{what} (P(better) of at least {SURE:g}): {act}."


# Of other verbs


def measured(scores: Scores) -> str:
    """Which system has the best mean on the first measure, from values without intervals."""
    if not scores.frame.height:
        return "There is no score: nothing can be compared."
    if search_rounds.are_rounds(scores.systems):
        return search_rounds.answer(scores.systems, len(scores.queries))
    measure = scores.measures[0]
    means = scores.mean().filter(pl.col(measure).is_not_nan())
    if not means.height:
        return f"{measure} is undefined for every system."
    lower = parse(measure).definition.lower
    best, value = means.sort(measure, descending=not lower, maintain_order=True).select("system", measure).row(0)
    title = modelled(measure) if scores.draws is not None and LEARNED in scores.draws.lines else measure
    what = f"the {'lowest' if lower else 'highest'} mean {title}," if means.height > 1 else f"a mean {title} of"
    queries = f"{len(scores.queries):,} quer{'y' if len(scores.queries) == 1 else 'ies'}"
    return f"{best} has {what} {number(value)} over {queries}; endoxa eval says how sure that is."


def believed(belief: Belief) -> str:
    """What a belief holds, in one sentence."""
    frame = belief.frame
    queries, pairs = frame["query"].n_unique(), frame.select(pl.struct("query", "item").n_unique()).item()
    relevant = frame.filter(pl.col("grade") > 0)
    expected = float((relevant["weight"] * relevant["p"]).sum()) / max(queries, 1)
    return (
        f"The belief by {belief.model} covers {pairs:,} pairs of {queries:,} quer{'y' if queries == 1 else 'ies'} and "
        f"expects {expected:,.1f} relevant items per query."
    )


def estimated(found: Estimates, confidence: float) -> str:
    """Which system has the highest estimate on the first measure, whatever the belief: the first row of the table."""
    measure = found.frame["measure"][0]
    rows = found.best_first().filter((pl.col("measure") == measure) & pl.col("estimate").is_not_nan())
    if not rows.height or rows["lo"].is_nan().all():
        return f"The labels do not bound {measure} of any system: judge more pairs (endoxa next)."
    best = rows.row(0, named=True)
    bounds = f"{_interval(best['lo'], best['hi'], 4, confidence)}, whatever the belief"
    if math.isnan(best["lo"]):
        bounds = "no interval: too few of its labels were left to chance, or all are alike"
    elif best["outside"] > 0:
        bounds += f"; {share(best['outside'], 1)} of its items could not be drawn and count as irrelevant"
    value = f"{number(best['estimate'])} ({bounds})"
    if rows.height == 1:
        return f"{best['system']} has {measure} {value}."
    pairs = found.pairs.filter((pl.col("measure") == measure) & ((pl.col("lo") > 0) | (pl.col("hi") < 0)))
    apart = {
        frozenset(pair) for pair in pairs.filter(pl.col("lo").is_not_nan()).select("system", "baseline").iter_rows()
    }
    same = [
        system
        for system, outside in rows.select("system", "outside").rows()[1:]
        if frozenset((best["system"], system)) not in apart or max(outside, best["outside"]) > 0
    ]
    if not same:
        return f"{best['system']} {_verb(True)} on {measure} with {value} and can be told apart from all others."
    named = listed(same, NAMED, len(same))
    return (
        f"{best['system']} {_verb(False)} on {measure} with {value} and cannot be told apart from {named}; judge more "
        f"({AGAIN})."
    )


def settled(now: Look) -> str:
    """The verdict of a loop of labels: what they say, and whether it is settled, by the model or by a guarantee."""
    count = len(now.learned.judged)
    if now.equal:
        what = "The two" if isinstance(now.question.about, tuple) else "All systems"
        return f"{what} return the same items: they are equal on {now.question.measure}, whatever the labels."
    machines = len(now.learned.universe.judges)
    if machines and count < now.least:
        so_far = f"{count:,} label{'' if count == 1 else 's'} so far" if count else "No label yet"
        judges = "judge" if machines == 1 else "judges"
        return (
            f"{so_far}: the order rests on {judges_of(machines)} and the systems, and a system that uses the same "
            f"model as {'the' if machines == 1 else 'a'} judge is favoured. {now.least:,} labels check the {judges}. "
            f"P(best) of {now.leader} is {chance(float(now.best[now.found.systems.index(now.leader)]))}."
        )
    if not count:
        return (
            "No label yet: the order is a guess by the consensus of the systems, which is often wrong at the top. "
            f"P(best) of {now.leader} is {chance(float(now.best[now.found.systems.index(now.leader)]))}."
        )
    end = f"It counts as settled from {now.question.until:g} on, at two looks in a row."
    if now.proof is not None:
        end = _guaranteed(now, now.proof)
    elif now.is_settled:
        end = "Settled by the model: you may stop."
    return f"{_modelled(now)}, by the model and {count:,} label{'' if count == 1 else 's'}. {end}"


def _modelled(now: Look) -> str:
    about, sure = now.question.about, chance(now.chance)
    if isinstance(about, tuple):
        other = about[1] if now.leader == about[0] else about[0]
        return f"{now.leader} is better than {other} with probability {sure}"
    if about == "order":
        return f"{now.done:,} of {now.pairs:,} pairs of systems are in order; {now.leader} {_verb(now.is_settled)}"
    text = f"{now.leader} is {best_or_near(now.question.margin)} with probability {sure}"
    best = chance(float(now.best[now.found.systems.index(now.leader)]))
    return f"{text} (the best: {best})" if now.question.margin else text


def best_or_near(margin: float) -> str:
    """What a system is that counts as the best: `the best`, or `the best, or within .01 of it,`."""
    return f"the best, or within {f'{margin:g}'.lstrip('0')} of it," if margin else "the best"


def _guaranteed(now: Look, proof: Proof) -> str:
    """What holds whatever the model."""
    error = f"the chance of an error is at most {1 - now.question.until:.2g}, whatever the model"
    if now.is_settled:
        return f"Settled with a guarantee: {error}; you may stop."
    if now.question.about == "order":
        return f"Guaranteed so far: {proof.won:,} of {now.pairs:,} pairs; {error}."
    return f"Not settled with a guarantee: {listed(list(proof.left), NAMED, len(proof.left))} may still be the best."


def _round(count: int) -> str:
    """A forecast: no more digits than it deserves."""
    digits = 1 if count < 100 else 2
    return f"{round(count, digits - len(str(count))):,}"


def _verb(apart: bool) -> str:
    """A system leads if it can be told apart from all others; otherwise its value is the best, and it is ahead."""
    return "leads" if apart else "is ahead"


def _side(lower: bool) -> str:
    return "below" if lower else "above"


def _decimals(difference: float) -> int:
    return 3 if abs(difference) >= 0.005 else 4


def _interval(lo: float, hi: float, decimals: int, confidence: float) -> str:
    return f"{100 * confidence:g} % interval {number(lo, decimals)} to {number(hi, decimals)}"
