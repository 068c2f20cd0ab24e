"""How often the loop of labels stops with the wrong winner, and how many labels it needs.

    python -m benchmarks.decisions [--runs 500] [--until .95] [--guarantee]

Fields of 6 systems on 15 topics, in two worlds: `model` draws relevance from the learned belief's own prior, `other`
draws it first and lets systems score it with noise of their own, of their team and of the topic. Three ways to choose
what is judged share the rest of the loop: `endoxa` (what `endoxa decide` does), `uniform` (any pair alike) and `top`
(the top of the consensus first). With --guarantee, the stop by the model stands beside the one that holds whatever the
model, also in a world `wrong` that contradicts the model: what most systems agree on is irrelevant, and in every topic
another system is right.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
from scipy.special import expit

from endoxa.beliefs.learned import Learned, Universe
from endoxa.measures.grammar import parse
from endoxa.measures.linear import Places
from endoxa.pools.deciding import Pick, Question, simulate
from endoxa.tables import Floats, Ints, Run

SYSTEMS, TOPICS, ITEMS, LISTED, MOST = 6, 15, 40, 30, 400


def lists(scores: Floats) -> Run:
    """A run from scores [system, topic, item]."""
    order = np.argsort(-scores, axis=2)[:, :, :LISTED]
    system, topic, _ = np.indices(order.shape)
    value = np.take_along_axis(scores, order, 2)
    frame = pl.DataFrame(
        {
            "system": [f"s{s}" for s in system.ravel()],
            "query": [f"t{t:02}" for t in topic.ravel()],
            "item": [f"t{t:02}d{d:03}" for t, d in zip(topic.ravel(), order.ravel(), strict=True)],
            "score": value.ravel(),
        }
    )
    return Run.of(frame)


def of_model(rng: np.random.Generator) -> tuple[Universe, Floats]:
    """Lists that share a part of their order; relevance from the prior of the model."""
    common = rng.normal(size=(1, TOPICS, ITEMS))
    own = rng.normal(size=(SYSTEMS, TOPICS, ITEMS))
    universe = Universe.of(lists(common + own))
    mean, precision = universe.prior()
    b = mean + rng.standard_normal(len(mean)) / np.sqrt(precision)
    return universe, (rng.random(universe.rows.height) < expit(universe.predict(b))).astype(float)


def of_other(rng: np.random.Generator) -> tuple[Universe, Floats]:
    """Relevance first; systems score it with noise of their own, of their team and of the topic."""
    relevant = rng.random((TOPICS, ITEMS)) < rng.beta(1.5, 5, size=(TOPICS, 1))
    skill = rng.uniform(0.2, 2.0, size=(SYSTEMS, 1, 1)) * rng.lognormal(0, 0.3, size=(SYSTEMS, TOPICS, 1))
    team = rng.integers(4, size=SYSTEMS)
    shared = 0.7 * rng.normal(size=(4, TOPICS, ITEMS))[team]
    universe = Universe.of(lists(skill * relevant + shared + rng.normal(size=(SYSTEMS, TOPICS, ITEMS))))
    names = universe.rows["item"].str.slice(4).cast(pl.Int64).to_numpy()
    return universe, relevant[universe.topic, names].astype(float)


def of_wrong(rng: np.random.Generator) -> tuple[Universe, Floats]:
    """What systems agree on is irrelevant, and another system is right in every topic, one of them more often."""
    common = rng.normal(size=(1, TOPICS, ITEMS))
    own = rng.normal(size=(SYSTEMS, TOPICS, ITEMS))
    universe = Universe.of(lists(common + own))
    right = np.where(rng.random(TOPICS) < 0.4, 0, rng.integers(SYSTEMS, size=TOPICS))
    chance = expit(2 * own[right, np.arange(TOPICS)] - 1.5 * common[0] - 2)
    names = universe.rows["item"].str.slice(4).cast(pl.Int64).to_numpy()
    return universe, (rng.random((TOPICS, ITEMS)) < chance)[universe.topic, names].astype(float)


def winner(universe: Universe, truth: Floats, measure: str = "AP") -> set[str]:
    """The systems with the highest value by the whole truth."""
    places = Places(
        universe.system, universe.row, universe.rank, universe.topic, len(universe.systems), len(universe.queries)
    )
    form = parse(measure).linear
    assert form is not None
    means = np.nanmean(form.slopes(places, truth[None], np.ones(1)).value, axis=1)
    return {name for name, mean in zip(universe.systems, means, strict=True) if mean >= means.max() - 1e-9}


def uniform(learned: Learned, count: int, rng: np.random.Generator) -> Ints:
    """Any pair without a label alike."""
    return rng.choice(np.flatnonzero(learned.unjudged), size=count, replace=False)


def top(learned: Learned, count: int, _: np.random.Generator) -> Ints:
    """The top of the consensus of every topic first."""
    universe = learned.universe
    open_ = np.flatnonzero(learned.unjudged)
    order = open_[np.lexsort((-universe.consensus[open_], universe.topic[open_]))]
    place = np.arange(len(order)) - np.searchsorted(universe.topic[order], universe.topic[order])
    return order[np.argsort(place, kind="stable")[:count]]


def courses(world: str, question: Question, runs: int, pick: Pick | None = None) -> Iterator[tuple[int, str, bool]]:
    """Labels, leader and whether it stopped, run by run; the leader is '' where it is wrong."""
    for run in range(runs):
        rng = np.random.default_rng((run, len(world)))
        universe, truth = WORLDS[world](rng)
        best = winner(universe, truth, str(question.measure))
        *_, now = simulate(universe, question, truth.__getitem__, most=MOST, rng=rng, pick=pick)
        yield len(now.learned.judged), now.leader if now.leader in best else "", now.is_settled


def line(names: tuple[str, ...], found: list[tuple[int, str, bool]]) -> str:
    """One line of the table."""
    labels = [count for count, _, stopped in found if stopped]
    wrong = sum(stopped and not leader for _, leader, stopped in found)
    middle, most = (np.median(labels), np.quantile(labels, 0.9)) if labels else (np.nan, np.nan)
    return (
        "".join(f"{name:11}" for name in names)
        + f"{len(labels):9}{wrong:9}{wrong / len(found):14.3f}{middle:15.0f}{most:7.0f}"
        + f"{np.median([count for count, _, _ in found]):15.0f}"
    )


WORLDS = {"model": of_model, "other": of_other, "wrong": of_wrong}
CHOICES = {"endoxa": None, "uniform": uniform, "top": top}
NUMBERS = f"{'stopped':>9}{'wrong':>9}{'wrong of all':>14}{'median stopped':>15}{'90 %':>7}{'median of all':>15}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--until", type=float, default=0.95)
    parser.add_argument("--guarantee", action="store_true", help="compare the stop by the model with the guarantee")
    given = parser.parse_args()
    print(f"{given.runs} runs, {SYSTEMS} systems, {TOPICS} topics, until {given.until:g}, at most {MOST} labels")
    if given.guarantee:
        print("".join(f"{name:11}" for name in ("measure", "world", "stop by")) + NUMBERS)
        for measure, world, by in product(("P@10", "AP"), WORLDS, ("model", "guarantee")):
            question = Question(parse(measure), "best", given.until, guarantee=by == "guarantee")
            print(line((measure, world, by), list(courses(world, question, given.runs))), flush=True)
        return
    print("".join(f"{name:11}" for name in ("world", "choice")) + NUMBERS)
    for world, (name, pick) in product(("model", "other"), CHOICES.items()):
        question = Question(parse("AP"), "best", given.until)
        print(line((world, name), list(courses(world, question, given.runs, pick))), flush=True)


if __name__ == "__main__":
    main()
