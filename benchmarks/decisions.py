"""How often the loop of labels stops with the wrong winner, and how many labels it needs.

    python -m benchmarks.decisions [--runs 500] [--until .95]

Fields of 6 systems on 15 topics, in two worlds: `model` draws relevance from the learned belief's own prior, `other`
draws it first and lets systems score it with noise of their own, of their team and of the topic. Three ways to choose
what is judged share the rest of the loop: `endoxa` (what `endoxa decide` does), `uniform` (any pair alike) and `top`
(the top of the consensus first).
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
from scipy.special import expit

from endoxa.beliefs.learned import Learned, Universe
from endoxa.measures.grammar import parse
from endoxa.measures.linear import Places
from endoxa.pools.deciding import Question, simulate
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


def winner(universe: Universe, truth: Floats) -> set[str]:
    """The systems with the highest AP by the whole truth."""
    places = Places(
        universe.system, universe.row, universe.rank, universe.topic, len(universe.systems), len(universe.queries)
    )
    form = parse("AP").linear
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--until", type=float, default=0.95)
    given = parser.parse_args()
    question = Question(parse("AP"), "best", given.until)
    print(
        f"{given.runs} runs, {SYSTEMS} systems, {TOPICS} topics, until P(best) {given.until:g}, at most {MOST} labels"
    )
    print(f"{'world':8}{'choice':10}{'stopped':>9}{'wrong':>9}{'wrong of all':>14}{'median labels':>15}{'90 %':>7}")
    for world, make in (("model", of_model), ("other", of_other)):
        for name, pick in (("endoxa", None), ("uniform", uniform), ("top", top)):
            stopped, wrong, labels = 0, 0, []
            for run in range(given.runs):
                rng = np.random.default_rng((run, len(world)))
                universe, truth = make(rng)
                best = winner(universe, truth)
                *_, now = simulate(universe, question, truth.__getitem__, most=MOST, rng=rng, pick=pick)
                labels.append(len(now.learned.judged))
                if now.is_settled:
                    stopped += 1
                    wrong += now.leader not in best
            print(
                f"{world:8}{name:10}{stopped:9}{wrong:9}{wrong / given.runs:14.3f}{np.median(labels):15.0f}"
                f"{np.quantile(labels, 0.9):7.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
