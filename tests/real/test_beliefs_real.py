"""Belief against official judgments: how far consensus orders systems, how reliable P(A better) is, what labels add.

Everything is printed as measured; asserted is only what must not get worse unseen.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.beliefs import consensus
from endoxa.beliefs.votes import pinned
from endoxa.comparisons import orders, shared
from endoxa.comparisons.prediction import estimate
from endoxa.measures.uncertain import expectations, measure_belief
from endoxa.tables import Opinions, Run

SETS = {"covid-r1": "qrels.txt", "robust03": "qrels.txt.gz"}
REDRAWS = 200


@pytest.fixture(scope="module", params=list(SETS))
def collection(request, folder):
    """Name, runs, judgments, official mean of AP and of P@10 per system, the best quartile."""
    where = folder(request.param)
    run = endoxa.read(sorted(map(str, (where / "runs").iterdir())))
    judged = endoxa.read(where / SETS[request.param], kind="qrels")
    scores = endoxa.measure(run, judged, ["AP", "P@10"])
    official = {name: np.nanmean(scores.matrix(name)[2], axis=1) for name in ("AP", "P@10")}
    best = np.argsort(-official["AP"])[: max(3, len(run.systems) // 4)]
    return request.param, run, judged, official, best


def taus(mean: np.ndarray, official: np.ndarray, best: np.ndarray) -> tuple[float, float]:
    return orders.tau(mean, official), orders.tau(mean[best], official[best])


def test_order_without_judgments(collection) -> None:
    name, run, _, official, best = collection
    print(
        f"\n{name}: tau of the order without judgments to official MAP, {len(run.systems)} systems / best {len(best)}"
    )
    for weights in ("equal", "cluster", "redundancy"):
        for depth in (10, 30, 100, 1000):
            belief = consensus.believe(run, depth=depth, weights=weights, people=0)
            field, top = taus(expectations(run, belief, "AP")[0], official["AP"], best)
            print(f"  weights {weights:10} depth {depth:4}: field {field:5.2f}, best quartile {top:5.2f}")
            if name == "covid-r1" and weights == "equal" and depth == 100:
                assert (field, top) == pytest.approx((0.86, 0.61), abs=0.005)


def test_reliability_of_p_better(collection) -> None:
    name, run, _, official, _ = collection
    for people in (0, 100):
        belief = consensus.believe(run, people=people, rng=np.random.default_rng(0))
        scores = measure_belief(run, belief, ["AP"], worlds=200)
        made = shared.compare(scores, seed=1).frame.filter(pl.col("doubt") == "all")
        place = {system: n for n, system in enumerate(run.systems)}
        really = np.array(
            [
                official["AP"][place[a]] > official["AP"][place[b]]
                for a, b in made.select("system", "baseline").iter_rows()
            ]
        )
        p = made["p_better"].to_numpy()
        stated, right = np.maximum(p, 1 - p), np.where(p >= 0.5, really, ~really)
        loss = float(-np.log(np.clip(np.where(really, p, 1 - p), 1e-3, 1)).mean())
        voters = "with" if people else "without"
        print(f"\n{name}: P(A better) {voters} doubt about the voters, against the official order; log loss {loss:.3f}")
        for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 0.99), (0.99, 1.01)):
            inside = (stated >= low) & (stated < high)
            if inside.any():
                mean, really_so = stated[inside].mean(), right[inside].mean()
                print(f"  stated {low:.2f}-{min(high, 1):.2f}: {inside.sum():4} pairs, {mean:.3f}, so {really_so:.3f}")
        summary = endoxa.summarise(scores)
        covered = [
            lo <= official["AP"][place[s]] <= hi for s, lo, hi in summary.select("system", "lo", "hi").iter_rows()
        ]
        print(f"  official MAP lies in the 95 % interval of the consensus level for {np.mean(covered):.0%} of systems")
    assert right[stated > 0.99].mean() > 0.9


def some_labels(judged: Opinions, universe: pl.DataFrame, count: int, rng: np.random.Generator) -> Opinions:
    """`count` pairs a topic, drawn from the universe; what the official judges did not judge is not relevant."""
    known = universe.join(
        judged.frame.select("query", "item", "grade"), on=["query", "item"], how="left", maintain_order="left"
    )
    known = known.with_columns(
        pl.col("grade").fill_null(0.0).clip(lower_bound=0.0), pl.Series("u", rng.random(known.height))
    )
    drawn = known.filter(pl.col("u").rank("ordinal").over("query") <= count)
    return Opinions.of(drawn.select("query", "item", "grade"))


def test_a_few_labels_mend_the_order(collection) -> None:
    name, run, judged, official, best = collection
    belief = consensus.believe(run, people=0)
    universe = belief.frame.select("query", "item")
    print(f"\n{name}: tau to official MAP of the order with some judged pairs pinned (field / best quartile)")
    found = {}
    for how in ("at random", "by endoxa next"):
        for count in (0, 1, 5, 20):
            both = []
            for draw in range(3 if count else 1):
                rng = np.random.default_rng(draw)
                if not count:
                    held = belief
                elif how == "at random":
                    held = pinned(belief, some_labels(judged, universe, count, rng))
                else:
                    pairs = endoxa.choose(run, belief, count * len(belief.queries), seed=draw).select("query", "item")
                    held = pinned(belief, some_labels(judged, pairs, len(pairs), rng))
                both.append(taus(expectations(run, held, "AP")[0], official["AP"], best))
            field, top = np.mean(both, axis=0)
            found[how, count] = field
            print(f"  {count:2} a topic {how:14}: {field:.2f} / {top:.2f}")
    assert found["at random", 20] > found["at random", 0] - 0.05


@pytest.mark.parametrize("each", [10, 40])
def test_prediction_powered_intervals_cover_the_full_judgments(collection, each) -> None:
    """Labels drawn anew 200 times, each pair with its propensity: P@10 by all judgments is the truth."""
    name, run, judged, official, _ = collection
    belief = consensus.believe(run, people=0)
    tops = run.frame.filter(pl.col("rank") <= 10).select("query", "item").unique()
    universe = tops.join(judged.frame.select("query", "item", "grade"), on=["query", "item"], how="left")
    universe = universe.with_columns(pl.col("grade").fill_null(0.0).clip(lower_bound=0.0)).sort("query", "item")
    share = each * universe["query"].n_unique() / universe.height
    truth, inside, wider, widths = official["P@10"], [], [], []
    for draw in range(REDRAWS):
        chance = np.random.default_rng(draw).random(universe.height)
        drawn = universe.filter(pl.Series(chance < share)).with_columns(pl.lit(share).alias("propensity"))
        made = estimate(run, belief, Opinions.of(drawn), ["P@10"], universe=universe.select("query", "item")).frame
        lo, hi, low, high = (made[c].to_numpy() for c in ("lo", "hi", "lo_queries", "hi_queries"))
        inside.append(np.where(np.isnan(lo), np.nan, (lo <= truth + 1e-9) & (hi >= truth - 1e-9)))
        wider.append(np.where(np.isnan(low), np.nan, (low <= truth) & (high >= truth)))
        widths.append(hi - lo)
    refused, covered, own = np.isnan(inside).mean(), np.nanmean(inside), np.nanmean(inside, 0)
    print(
        f"\n{name}: 95 % prediction-powered intervals of P@10, {len(run.systems)} systems x {REDRAWS} redraws of about "
        f"{share * universe.height:.0f} labels of {universe.height:,} pairs:\n  refused (too few labels bear on the "
        f"system) {refused:.1%}; of those given {covered:.3f} cover the official P@10 of these topics (by system "
        f"{own.min():.2f} to {own.max():.2f}), mean width {np.nanmean(widths):.3f}; those for topics of this kind "
        f"{np.nanmean(wider):.3f}"
    )
    assert covered > 0.9


def test_own_votes_lift_a_system(collection) -> None:
    name, run, _, official, best = collection
    made = endoxa.evaluate(Run(run.frame.filter(pl.col("rank") <= 100)), None, ["P@10"], worlds=50)
    rows = made.summary.filter(pl.col("without_own_vote").is_not_null())
    order = [run.systems.index(system) for system in rows["system"]]
    with_, without = (
        taus(rows[column].to_numpy(), official["P@10"][order], np.array([order.index(b) for b in best]))
        for column in ("consensus", "without_own_vote")
    )
    print(
        f"\n{name}: tau to official P@10 with own votes {with_[0]:.2f} / {with_[1]:.2f}, "
        f"without {without[0]:.2f} / {without[1]:.2f}"
    )
    print(f"  own votes lift P@10 by {(rows['consensus'] - rows['without_own_vote']).mean():.3f} on average")
    assert (rows["consensus"] > rows["without_own_vote"]).all()
