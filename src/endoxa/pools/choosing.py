"""What to judge next: pairs drawn by chance, more often where a label would say more about the order of the systems."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from endoxa.beliefs.learned import Learned, Universe, learn
from endoxa.comparisons.posterior import places_of, posterior
from endoxa.errors import JoinError, TextError, refuse_unknown
from endoxa.measures.grammar import Measure
from endoxa.policies import MIXING
from endoxa.tables import Bools, Floats, Ints

SHARPNESS = 2.5  # the score is (√(p (1 - p)) · influence) to this power
DOUBTFUL = 0.02  # added to P(best) where the best system is sought, so that no system is ignored
About = Literal["order", "best"] | tuple[str, str]


def choose(
    learned: Learned, measure: Measure, count: int, *, about: About = "order", p: Floats | None = None,
    depth: int | None = None, mixing: float = MIXING, rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """Exactly `count` pairs to judge, in random order: order, query, item, p, influence, systems, propensity.

    Systematic sampling with the propensities of `propensities`, in random order of topics and of pairs within them: the
    number drawn is fixed, and every topic gets its share to within one pair. Fewer are drawn only where fewer are left.
    Keep the propensity with the label: estimates that stay valid whatever the belief are weighted by it. `order` is
    random: a judge who stops after a share s of the list has a sample with propensities s times as large.
    Source: Madow 1949 for systematic sampling; docs/methods/deciding.md, Choice of questions.
    """
    table = propensities(learned, measure, count, about=about, p=p, depth=depth, mixing=mixing)
    drawn = table.filter(pl.Series(systematic(table["propensity"].to_numpy(), table["query"].rle_id().to_numpy(), rng)))
    order = pl.Series("order", rng.permutation(drawn.height) + 1, dtype=pl.Int64)
    return drawn.with_columns(order).sort("order").select("order", *table.columns)


def propensities(
    learned: Learned, measure: Measure, count: int, *, about: About = "order", p: Floats | None = None,
    depth: int | None = None, mixing: float = MIXING,
) -> pl.DataFrame:  # fmt: skip
    """The pairs that may be drawn, with their chances: query, item, p, influence, systems, propensity.

    These are the pairs without a label that some system has among its first `depth`: as deep as the measure looks, or
    as the universe reaches.
        p            probability of relevance: the consensus, half mixed with what was learned once there are labels;
                     or as given, one per row of the universe (NaN: never drawn)
        influence    standard deviation over systems of the derivative of the measure with respect to p. With
                     about="best" systems weigh by P(best) + .02; about=(A, B) takes the difference of the two
        systems      how many systems have it within depth
        propensity   min(1, c · share), Σ = count; share = (1 - mixing) score/Σ score + mixing/pairs within the topic,
                     score = (√(p (1 - p)) · influence)^2.5
    Misleads: a mixing near 0 relies on the belief. What it calls certain is then hardly ever drawn, and if it is wrong
    there, that one label has a large weight.
    """
    if count < 1:
        raise TextError(f"at least 1 pair is chosen, not {count}")
    if not 0 < mixing <= 1:
        raise TextError(
            f"mixing must be above 0 and at most 1, not {mixing}; at 0 some pairs could never be drawn, and no "
            "estimate would be valid"
        )
    universe = learned.universe
    deep = depth or depth_of(universe, measure)
    given = default_chances(learned, measure) if p is None else p
    inside = (universe.rank <= deep) & ~np.isnan(given[universe.row])
    systems = np.bincount(universe.row[inside], minlength=universe.rows.height)
    if not systems.any():
        raise JoinError(
            f"the belief mentions no pair that a system has in its first {deep}",
            remedy="do run and belief belong together?",
        )
    open_ = (systems > 0) & learned.unjudged
    if not open_.any():
        raise JoinError(
            f"all {int((systems > 0).sum()):,} pairs are judged",
            remedy="there is nothing left to choose from: raise the depth",
        )
    influence = influences(learned, measure, np.nan_to_num(given), about)[open_]
    chance, topic = given[open_], universe.topic[open_]
    score = (np.sqrt(chance * (1 - chance)) * influence) ** SHARPNESS
    return universe.rows.filter(pl.Series(open_)).with_columns(
        pl.Series("p", chance), pl.Series("influence", influence), pl.Series("systems", systems[open_]),
        pl.Series("propensity", inclusion(_shares(score, topic, mixing), count)),
    )  # fmt: skip


def default_chances(learned: Learned, measure: Measure) -> Floats:
    """The consensus of the systems; once there are labels, half of it and half of what they taught.

    Machine judges have no say: what they cannot see must be asked about too.
    """
    universe, judged = learned.universe, learned.judged
    if not len(judged):
        return universe.consensus
    level = measure.rel if measure.rel in learned.levels else learned.levels[0]
    place = learned.levels.index(level)
    free = learned.free[place] if not universe.judges else learn(universe.without_judges, judged, [level]).free[0]
    return np.asarray((free + universe.consensus) / 2)


def influences(learned: Learned, measure: Measure, p: Floats, about: About = "order") -> Floats:
    """How far a label of each row of the universe would move the systems apart on the measure: [row]."""
    linear = measure.linear
    if linear is None:
        raise TextError(f"{measure} does not say what to judge next", remedy="name AP, P@k, R@k, DCG@k or nDCG@k")
    universe = learned.universe
    slopes = linear.slopes(places_of(learned), p[None], np.ones(1))
    entry = np.where(universe.rank <= universe.depth, np.nan_to_num(slopes.entry), 0.0)
    shared = np.nan_to_num(slopes.shared)
    if isinstance(about, tuple):
        first, second = (universe.systems.index(system_of(universe, name)) for name in about)
        sign = (universe.system == first).astype(np.float64) - (universe.system == second)
        apart = np.bincount(universe.row, weights=entry * sign, minlength=len(p))
        return np.asarray(np.abs(apart + (shared[first] - shared[second])[universe.topic]))
    weight = (universe.twins == np.arange(len(universe.systems))).astype(np.float64)  # a copy adds nothing
    if about == "best":
        weight = weight * (posterior(learned, measure).best + DOUBTFUL)
    elif about != "order":
        raise TextError(f"a choice is about the order, the best, or two systems, not {about!r}")
    weight = weight / weight.sum()
    own, topic = weight[universe.system], universe.topic
    mean = np.bincount(universe.row, weights=own * entry, minlength=len(p)) + (weight @ shared)[topic]
    beside = shared[universe.system, topic[universe.row]]
    square = np.bincount(universe.row, weights=own * entry * (entry + 2 * beside), minlength=len(p))
    square += (weight @ shared**2)[topic]
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))


def about_of(text: str) -> About:
    """What labels are to settle, as it is written: best, order, or two systems `A,B`."""
    words: dict[str, About] = {"best": "best", "order": "order"}
    if text in words:
        return words[text]
    first, *others = (part.strip() for part in text.split(","))
    if len(others) != 1 or not first or not others[0] or first == others[0]:
        raise TextError(f"about is best, order, or two systems A,B; not {text!r}")
    return first, others[0]


def system_of(universe: Universe, name: str) -> str:
    """The name of a system; refused where there is none of that name."""
    refuse_unknown("system", name, universe.systems)
    return name


def depth_of(universe: Universe, measure: Measure) -> int:
    """How deep pairs are drawn: as deep as the measure looks, or as the universe reaches."""
    return (measure.linear.k if measure.linear else None) or universe.depth


def askable(universe: Universe, measure: Measure) -> Bools:
    """[row] the rows that bear on the measure: as deep as it looks."""
    found = np.zeros(universe.rows.height, dtype=bool)
    found[universe.row[universe.rank <= depth_of(universe, measure)]] = True
    return found


def _shares(score: Floats, topic: Ints, mixing: float) -> Floats:
    """Shares of each pair in its topic, which sum to 1: by score, and evenly for the part `mixing`."""
    total = np.bincount(topic, weights=score)[topic]
    even = 1 / np.bincount(topic)[topic]
    known = (1 - mixing) * score / np.where(total > 0, total, 1.0) + mixing * even
    return np.asarray(np.where(total > 0, known, even))


def inclusion(share: Floats, count: float) -> Floats:
    """Chances that sum to `count`: min(1, c · share), c found exactly. All are 1 where there are no more."""
    share = np.asarray(share, dtype=np.float64)
    n = len(share)
    if n <= count:
        return np.ones(n)
    order = np.argsort(-share, kind="stable")
    falling = share[order]
    rest = np.cumsum(falling[::-1])[::-1]  # sum of the shares from here on
    c = (count - np.arange(n)) / rest
    first = int(np.argmax(c * falling <= 1))  # the least number at 1 with which no other goes beyond it
    return np.asarray(np.minimum(1.0, c[first] * share))


def systematic(propensity: Floats, topic: Ints, rng: np.random.Generator) -> Bools:
    """A sample of fixed size with these chances, topics and the pairs of each in random order: [pair]."""
    order = np.lexsort((rng.random(len(propensity)), rng.random(int(topic.max(initial=0)) + 1)[topic]))
    reached = np.cumsum(propensity[order])
    size = round(float(reached[-1])) if len(reached) else 0
    reached = reached * (size / reached[-1]) if size else reached
    drawn = np.zeros(len(propensity), dtype=bool)
    steps = np.floor(np.concatenate([[0.0], reached]) + rng.random())
    steps[-1] = size + steps[0]  # a sum of many shares ends beside a whole number
    drawn[order] = np.diff(steps) > 0
    return drawn
