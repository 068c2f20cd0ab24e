"""What an evaluation says in words: the answer, how sure it is, and what to know before trusting the numbers.

The sentences never claim more than the reference supports: what holds within a consensus of systems is said to hold
there, and a value within it is never called the quality of a system. `name` is applied to everything that came from
outside (names of systems and measures): a page escapes them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from endoxa.evaluations.settings import VOTED
from endoxa.evaluations.standings import (
    DOUBTS,
    SURE,
    Pair,
    Standing,
    chances,
    contenders,
    correction,
    headline,
    order_of,
    p_best,
    pair_of,
    rival,
    undecided,
)  # fmt: skip
from endoxa.formatting import capitalised, chance, clean, listed, number, probability, share
from endoxa.later import pl
from endoxa.tables import Scores

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.pools.deciding import Look, Proof

LIMITS_OF_CONSENSUS = (
    "A consensus shows which systems return what the others return too, and so roughly how a field of systems is "
    "ordered. It cannot show how good a system is, or which of the best is best. Where judgments exist, such rankings "
    "agree with them for the whole field and much less among the best, because systems make the same errors and no "
    "other system confirms what a single better one finds. About 100 judged pairs (endoxa next) give intervals that "
    "stay valid even if the consensus is wrong."
)

NAMED = 3  # systems that an answer names before it only counts them
WARNED = 4  # systems that a warning names before it only counts them
TIED = 0.05  # share of items with equal scores from which the order of ties matters
JUDGED = 0.5  # share of retrieved items with a judgment below which "not relevant" is mostly a guess
SPREAD = 2.0  # ratio of generalities from which curves should not be compared

TIES = {
    "trec": "item id decides their order", "input": "the order read decides",
    "average": "values are means over their orders", "range": "least and most show the worst and best order",
}  # fmt: skip
SHAKY = 0.8  # Kendall's tau between orders at several vote depths, below which an order is said to be shaky
MISSING = {"empty": "they count as empty lists", "skip": "they are left out", "error": ""}


def sentences(evaluation: Evaluation) -> tuple[str, ...]:
    """What the evaluation says; the first sentence is the answer."""
    more = [taught(evaluation)] if evaluation.kind == "sample" else []
    if not more:
        more = [*advice(evaluation)] if evaluation.doubts is not None else [remark(evaluation)]
    return (answer(evaluation), *(text for text in more if text))


def answer(evaluation: Evaluation, *, name: Callable[[str], str] = str) -> str:
    """Which system is best on the headline measure, by how much, and how sure that is."""
    if evaluation.kind == "ratings":
        from endoxa.evaluations import rating_sentences

        return rating_sentences.answer(evaluation.details, name=name)
    if not evaluation.measures:
        return "There is no score: nothing can be compared."
    if not evaluation.in_doubt:
        return verdict(evaluation, name=name)
    return f"{guess(evaluation)} {under_doubt(evaluation, name=name)}".strip()


def guess(evaluation: Evaluation) -> str:
    """Without any label: that the order is a guess, how much it depends on the depth of the votes, and what to do.

    No sign without labels is reliable; how far the orders at several vote depths agree is the best known.
    """
    if evaluation.kind != "consensus" or len(evaluation.systems) < 2:
        return ""
    depths = evaluation.tables.get("depths")
    taus = [] if depths is None else depths["tau"].drop_nulls().drop_nans().to_list()
    shaky = f", and here it changes with the vote depth (tau {min(taus):.2f})" if taus and min(taus) < SHAKY else ""
    return (
        f"Nobody judged: this order is a guess by the consensus of the systems, which is often wrong at the top{shaky}."
        " A few labels settle it: endoxa decide, with the same runs."
    )


# With judgments


def verdict(evaluation: Evaluation, measure: str | None = None, *, name: Callable[[str], str] = str) -> str:
    """Which system is best on a measure (the headline, if none is named), by how much, and how sure that is."""
    measure = measure or headline(evaluation)
    lower = measure in evaluation.lower
    standings = [one for one in contenders(evaluation, measure) if not math.isnan(one.value)]
    what = name(measure)
    if not standings:
        return f"{what} is undefined for every system: there is nothing to compare."
    best = standings[0]
    queries = f"over {best.queries} quer{'y' if best.queries == 1 else 'ies'}"
    if len(standings) == 1:
        interval = "" if math.isnan(best.lo) else f", {_interval(best.lo, best.hi, 4, evaluation.confidence)}"
        others = len(evaluation.systems) > 1
        alone = f"{what} is undefined for all others" if others else "there is no other system to compare it with"
        return f"{name(best.system)} has {what} {number(best.value)} ({queries}{interval}); {alone}."
    extreme = "lowest" if lower else "highest"
    equals = [one for one in standings if one.value == best.value]
    if len(equals) == len(standings) > 2:
        return f"All {len(standings)} systems have the same {what}, {number(best.value)} ({queries})."
    _, other = rival(evaluation, measure) or ("", standings[1].system)
    opponent = next(one for one in standings if one.system == other)
    role = f"the {'baseline' if other == evaluation.baseline else 'runner-up'} {name(other)}"
    shared = opponent.value == best.value
    who = f"{name(best.system)} and {name(other)} share" if shared else f"{name(best.system)} has"
    lead = f"{who} the {extreme} {what}, {number(best.value)} ({queries})"
    pair = pair_of(evaluation.comparison, measure, best.system, other)
    if pair is not None:
        return f"{lead}{_against(evaluation, pair, name, role, lower=lower, shared=shared)}."
    if shared:
        return f"{lead}; the difference was not tested."
    gap = abs(best.value - opponent.value)
    return f"{lead}, {number(gap, _decimals(gap))} {_side(lower)} {role}; the difference was not tested."


def _against(
    evaluation: Evaluation, pair: Pair, name: Callable[[str], str], role: str, *, lower: bool, shared: bool
) -> str:
    decimals = _decimals(pair.difference)
    reasons = [] if math.isnan(pair.lo) else [_interval(pair.lo, pair.hi, decimals, evaluation.confidence)]
    if not math.isnan(pair.p):
        adjustment = correction(evaluation.comparison) if evaluation.comparison and pair.adjusted else ""
        reasons.append(probability(pair.p) + (f" after {adjustment}" if adjustment else ", not adjusted"))
    reason = f" ({', '.join(reasons)})" if reasons else ""
    gap = f"{number(abs(pair.difference), decimals)}{reason}"
    if not pair.differs(1 - evaluation.confidence):
        text = "; they cannot be told apart" if shared else f", but cannot be told apart from {role}"
        return f"{text}: the difference is {number(pair.difference, decimals)}{reason}"
    if (pair.difference < 0) != lower:
        # The means need not be over the same queries; the paired difference is.
        return f"; on the queries that both answered, however, {name(pair.baseline)} is {_side(lower)} it by {gap}"
    return f", and is {_side(lower)} {role} by {gap}"


def remark(evaluation: Evaluation) -> str:
    """How many systems cannot be told apart from the best; empty where fewer than two were compared with it."""
    if evaluation.kind == "ratings" or evaluation.summary.is_empty():
        return ""
    measure = headline(evaluation)
    same, compared = undecided(evaluation, measure) or (0, 0)
    if compared < 2:
        return ""
    apart = {0: "All of them differ significantly from it", 1: "One of them cannot be told apart from it"}
    text = apart.get(same, f"{same} of them cannot be told apart from it")
    level = f"{1 - evaluation.confidence:.2g}"
    return f"The best system was compared with {compared} others on {clean(measure)}. {text} at the {level} level."


def warnings_of(scores: Scores, curves: pl.DataFrame | None = None) -> list[str]:
    """Warnings about ties, missing topics, unjudged items, undefined values and differing generality."""
    policy = scores.policy
    rows = scores.covered

    def warning(
        what: str, value: Callable[[dict[str, Any]], float], wrong: Callable[[float], bool], form: str, *,
        few: bool = False,  # the smallest number is the worst
    ) -> list[str]:  # fmt: skip
        found = [(row["system"], value(row)) for row in rows if wrong(value(row))]
        if not found:
            return []
        found.sort(key=lambda pair: pair[1], reverse=not few)
        named = ", ".join(f"{system} {form.format(number_)}" for system, number_ in found[:WARNED])
        rest = f" and {len(found) - WARNED} more systems" if len(found) > WARNED else ""
        return [f"{what}: {named}{rest}."]

    def part(column: str) -> Callable[[dict[str, Any]], float]:
        return lambda row: row[column] / max(row["items"], 1)

    missing = f"Judged topics that a run lacks ({MISSING[policy.missing]})"
    found = [
        *warning(missing, lambda row: row["missing"], bool, "{:,.0f}"),
        *warning("Topics without judgments (ignored)", lambda row: row["unknown"], bool, "{:,.0f}"),
        *warning(f"Items with tied scores ({TIES[policy.ties]})", part("tied"), lambda x: x > TIED, "{:.1%}"),
    ]
    if policy.unjudged != "condensed":
        text = "Few of the retrieved items were judged (the rest counts as not relevant)"
        found += warning(text, part("judged"), lambda x: x < JUDGED, "{:.1%}", few=True)
    if policy.unjudged == "bounds" or policy.ties == "range":
        bounded = scores.frame.group_by("measure", maintain_order=True).agg(pl.col("lo").is_null().all())
        closed = bounded.filter("lo")["measure"].to_list()
        if closed:
            found.append(f"{', '.join(closed)}: no least and greatest value is known; unjudged items count as misses.")
    found += [
        f"{measure} is undefined (0/0) for {count:,} of {every:,} lists; they are left out of the means."
        for measure, count, every in scores.undefined_lists()
        if count
    ]
    if curves is not None and curves.height:
        low, high = curves["generality_low"][0], curves["generality_high"][0]
        if high > SPREAD * max(low, 1e-12):
            found.append(
                f"The queries differ in generality: the share of relevant items runs from {low:.3f} to {high:.3f} "
                "(10th and 90th percentile). Precision-recall curves over such queries, or over collections that "
                "differ as much, cannot be compared by eye; the dashed line shows what a random ranking would reach."
            )
    return found


# Under doubt


def consensual(evaluation: Evaluation) -> bool:
    """Whether the belief is made of the systems' own votes."""
    voted = evaluation.belief is not None and evaluation.belief.model.startswith("consensus")
    return voted or evaluation.kind in VOTED


def within(evaluation: Evaluation) -> str:
    """Where the numbers hold."""
    if evaluation.kind == "sample":
        labels = evaluation.tables["labels"]["labels"][0]
        return f"by what {labels:,} label{'' if labels == 1 else 's'} teach{'es' if labels == 1 else ''}"
    return "within this consensus" if consensual(evaluation) else "under this belief"


def doubt_name(evaluation: Evaluation, doubt: str) -> str:
    """A source of doubt in plain words."""
    who = "who voted" if consensual(evaluation) else "who was asked"
    return {"truth": "what is relevant", "people": who, "queries": "which queries"}[doubt]


def under_doubt(evaluation: Evaluation, *, name: Callable[[str], str] = str) -> str:
    """Which system leads on the first measure, how sure that is, and which ones cannot be told apart from it.

    Two systems can be told apart where the interval of their difference, with all doubts, excludes 0; with labels,
    where P(better) of one is at least .95, on every measure.
    """
    measure = evaluation.measures[0]
    standings = [one for one in contenders(evaluation, measure) if not math.isnan(one.value)]
    where, what = capitalised(within(evaluation)) + ("," if evaluation.kind == "sample" else ""), name(measure)
    if not standings:
        return f"{where} {what} is undefined for every system: there is nothing to compare."
    best = standings[0]
    interval = "" if math.isnan(best.lo) else f" ({_interval(best.lo, best.hi, 4, evaluation.confidence)})"
    value = f"{what} {number(best.value)}{interval}"
    if len(standings) == 1:
        text = f"{where} {name(best.system)} has {value}; there is no other system to compare it with."
        return text + _no_better(evaluation, best, name, several=False)
    equals = [one.system for one in standings if one.value == best.value]
    if len(equals) > 1:
        lead = f"{where} {listed([name(one) for one in equals], NAMED)} share the lead with {value}"
    else:
        lead = f"{where} {name(best.system)} leads with {value}"
    certainty = _certainty(evaluation, measure, best.system, len(standings), name, shared=len(equals) > 1)
    return f"{lead}{certainty}" + _no_better(evaluation, best, name, several=True)


def _certainty(
    evaluation: Evaluation, measure: str, best: str, count: int, name: Callable[[str], str], *, shared: bool
) -> str:
    """P(best) of the leader, and which systems cannot be told apart from it."""
    won = p_best(evaluation, measure)
    if best not in won:
        return "; how sure that is, is unknown."
    it = name(best) if shared else "it"
    text = f"; {it} is the best of {count} systems with probability {chance(won[best])}"
    most = max(won, key=lambda system: won[system])
    if round(won[most], 2) > round(won[best], 2):
        text += f", but {name(most)} is the best more often, with probability {chance(won[most])}"
    against = [one if one.system == best else one.turned() for one in chances(evaluation, measure)]
    against = [one for one in against if one.system == best and one.against != evaluation.virtual]
    if not against:
        return text + "."
    if len(against) == 1 and count == 2:
        one = against[0]
        can = "can" if one.differs else "cannot"
        ahead = f"; {it} is better than {name(one.against)} with probability {chance(one.better)}"
        return f"{ahead}. The two {can} be told apart."
    same = sorted((one for one in against if not one.differs), key=lambda one: one.superiority)
    subject = "It" if it == "it" else it
    if not same:
        return f"{text}. {subject} can be told apart from all others."
    named = [
        f"{name(one.against)} ({'it is better with probability ' if not place else ''}{chance(one.better)})"
        for place, one in enumerate(same[:NAMED])
    ]
    return f"{text}. {subject} cannot be told apart from {listed(named, NAMED, len(same))}."


def _no_better(evaluation: Evaluation, best: Standing, name: Callable[[str], str], *, several: bool) -> str:
    """A sentence where not even the leader beats the virtual system."""
    measure = evaluation.measures[0]
    everything = next((one.value for one in order_of(evaluation, measure) if one.system == evaluation.virtual), None)
    lower = measure in evaluation.lower
    if everything is None or math.isnan(everything) or (best.value < everything if lower else best.value > everything):
        return ""
    who = "no system does" if several else "it does no"
    virtual = f"{name(str(evaluation.virtual))}, which returns everything in random order"
    return f" But {who} better than {virtual} ({number(everything)})."


def advice(evaluation: Evaluation) -> list[str]:
    """Where the doubt comes from, what would reduce it most, and which part of it is unknown.

    By the mean over the systems of each doubt's share of the variance; the virtual system does not count.
    """
    if evaluation.doubts is None:
        return []
    rows = evaluation.doubts.filter(pl.col("system") != (evaluation.virtual or ""))
    parts: dict[str, float] = {}
    unknown = []
    for doubt in DOUBTS:
        own = rows.filter(pl.col("doubt") == doubt)
        if own["variance"].fill_nan(None).drop_nulls().is_empty():
            unknown.append(doubt)
        elif len(known := own["share"].fill_nan(None).drop_nulls()):
            parts[doubt] = float(known.mean())  # type: ignore[arg-type]
    whom = "voters" if consensual(evaluation) else "people"
    sources = {"truth": "the uncertain relevance of items", "people": f"the choice of {whom}"}
    sources["queries"] = "the choice of queries"
    helps = {
        "truth": "judged pairs (endoxa next) or clearer questions would help most",
        "people": "more voters would help most, above all systems that make other errors"
        if consensual(evaluation)
        else "asking more people would help most",
        "queries": "more queries would help most",
    }
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
            f"{helps[most]}."
        )
    elif len(unknown) < len(DOUBTS):
        texts.append("None of the known doubts changes a mean.")
    for doubt in unknown:
        texts.append(f"The doubt from {sources[doubt]} is unknown: {reasons[doubt]}. The intervals do not include it.")
    return texts


def taught(evaluation: Evaluation) -> str:
    """How many pairs of systems labels have decided, and which number to act on."""
    pairs = chances(evaluation, evaluation.measures[0])
    if not pairs:
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


def settled(now: Look) -> str:
    """The verdict of a loop of labels: what they say, and whether it is settled, by the model or by a guarantee."""
    count = len(now.learned.judged)
    if not count:
        return "No label yet: what follows is only the consensus of the systems, and it is often wrong at the top."
    end = f"It counts as settled from {now.question.until:g} on."
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
    if about == "best":
        return f"{now.leader} is the best with probability {sure}"
    return f"{now.done:,} of {now.pairs:,} pairs of systems are in order; {now.leader} leads"


def _guaranteed(now: Look, proof: Proof) -> str:
    """What holds whatever the model."""
    error = f"the chance of an error is at most {1 - now.question.until:.2g}, whatever the model"
    if now.is_settled:
        return f"Settled with a guarantee: {error}; you may stop."
    if now.question.about == "order":
        return f"Guaranteed so far: {proof.won:,} of {now.pairs:,} pairs; {error}."
    return f"Not settled with a guarantee: {listed(list(proof.left), NAMED, len(proof.left))} may still be the best."


def _side(lower: bool) -> str:
    return "below" if lower else "above"


def _decimals(difference: float) -> int:
    return 3 if abs(difference) >= 0.005 else 4


def _interval(lo: float, hi: float, decimals: int, confidence: float) -> str:
    return f"{100 * confidence:g} % interval {number(lo, decimals)} to {number(hi, decimals)}"
