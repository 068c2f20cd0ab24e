"""Real photographs: the stamps of Tux Paint, fetched from Debian's packages into the cache; all 323 as queries.

Labels are the folders that the stamps lie in. They are labels, not truth.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.beliefs.learned import Universe
from endoxa.evaluations.contest import FOLDERS, LEVELS, judged, labelled, sampled, ties_of, verdicts
from endoxa.images.corpus import same_category
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import parse, parse_all
from endoxa.policies import Policy
from endoxa.pools.deciding import Question, simulate
from endoxa.tables import Opinions, Run
from endoxa.verbs.fetch import fetch
from endoxa.verbs.index import index
from endoxa.verbs.run import run

# P@5 with the top and the leaf folder as labels, as the data's README has them; it does not say how they were made.
README = {"embeddings": (0.644, 0.422), "histograms": (0.337, 0.138), "random": (0.147, 0.033)}
ORDER = ("embeddings", "histograms", "random")


@pytest.fixture(scope="module")
def stamps(tmp_path_factory: pytest.TempPathFactory):
    """The corpus, and the runs of all systems over every picture."""
    corpus = fetch("stamps")
    home = tmp_path_factory.mktemp("stamps")
    indexed = index(corpus, home=home)
    assert not indexed.skipped
    return corpus, run(corpus, home=home), indexed


def labels(corpus, depth: int | None) -> Opinions:
    """What shares the first `depth` folders with the query; None: all of them."""
    kinds = corpus.frame.select(
        "item", pl.col("category").str.split("/").list.head(depth or 9).list.join("/").alias("kind")
    )
    pairs = kinds.join(kinds.rename({"item": "query"}), on="kind").filter(pl.col("item") != pl.col("query"))
    return Opinions.of(pairs.select("query", "item", pl.lit(1.0).alias("grade")))


def test_the_corpus_is_the_one_that_was_measured(stamps) -> None:
    corpus, _, _ = stamps
    kinds = corpus.frame["category"]
    assert len(corpus) == 323
    assert kinds.str.split("/").list.first().n_unique() == 12 and kinds.n_unique() == 61


def test_embeddings_before_histograms_before_chance(stamps) -> None:
    corpus, ran, _ = stamps
    found = {}
    for name, depth in (("top", 1), ("leaf", None)):
        scores = measure(ran.run, labels(corpus, depth), parse_all(["P@5", "nDCG@10"]), Policy())
        found[name] = scores
        pairs = endoxa.compare(scores, seed=1).frame
        for better, worse in (ORDER[:2], ORDER[1:]):
            for one in ("P@5", "nDCG@10"):
                rows = pairs.filter(pl.col("measure") == one)
                row = rows.filter((pl.col("system") == better) & (pl.col("baseline") == worse))
                turned = rows.filter((pl.col("system") == worse) & (pl.col("baseline") == better))
                lo, hi = (row["lo"][0], row["hi"][0]) if row.height else (-turned["hi"][0], -turned["lo"][0])
                print(f"\n{name:4} {one:8} {better} - {worse}: [{lo:+.3f}, {hi:+.3f}]", end="")
                assert lo > 0
    ties = ties_of(ran.run)
    print(f"\n{'system':20} P@5 top/leaf      the data's README   ranks tied")
    for system in ran.run.systems:
        means = [
            found[name]
            .frame.filter((pl.col("system") == system) & (pl.col("measure") == "P@5"))["value"]
            .fill_nan(0)
            .mean()
            for name in ("top", "leaf")
        ]
        told = "{:.3f} / {:.3f}".format(*README[system]) if system in README else ""
        print(f"{system:20} {means[0]:.3f} / {means[1]:.3f}     {told:15}     {ties[system]:.3f}")
    assert ties["keywords"] > 0.5


def test_chance_is_what_the_sizes_of_the_folders_make_it(stamps) -> None:
    corpus, ran, _ = stamps
    for depth in (1, None):
        kinds = np.array(["/".join(kind.split("/")[: depth or 9]) for kind in corpus.frame["category"]])
        share = np.mean([(kinds == kind).sum() - 1 for kind in kinds]) / (len(kinds) - 1)
        judged = set(labels(corpus, depth).frame.select("query", "item").iter_rows())
        own = ran.run.frame.filter((pl.col("system") == "random") & (pl.col("rank") <= 5))
        hits = np.mean([pair in judged for pair in own.select("query", "item").iter_rows()])
        print(f"\nrandom, {'top' if depth else 'leaf'}: {hits:.3f}, expected {share:.3f}", end="")
        assert abs(hits - share) < 4 * np.sqrt(share * (1 - share) / own.height)


def test_three_ways_to_judge(stamps) -> None:
    corpus, ran, _ = stamps
    queries = sampled(corpus, corpus.items, 120, 0)
    sample = Run(ran.run.frame.filter(pl.col("query").is_in(queries)))
    ways = judged(sample, corpus, queries, measures=["nDCG@10"], worlds=200, seed=0)
    found = verdicts(ways)
    print()
    for a, b, t in found.agreement.iter_rows():
        print(f"Kendall's tau, {a} and {b}: {t:.2f}")
    leaders = {way: found.standings.filter(pl.col("way") == way)["system"][0] for way in ways}
    print(leaders)
    assert leaders[FOLDERS] == leaders[LEVELS] == "embeddings"


def test_labels_until_embeddings_are_first(stamps) -> None:
    """The loop of `endoxa decide` in rounds of 25, over 20 seeds, with the folders in the place of a judge."""
    corpus, ran, _ = stamps
    judgments = same_category(corpus, corpus.items).frame.select("query", "item", "grade")
    kept = ran.run.frame.filter(pl.col("query").is_in(judgments["query"].unique().to_list()))
    universe = Universe.of(Run(kept))
    filed = universe.rows.join(judgments, on=["query", "item"], how="left", maintain_order="left")
    grades = filed["grade"].fill_null(0.0).to_numpy()
    needed, wrong = [], 0
    for seed in range(20):
        passed = []
        looks = simulate(
            universe, Question(parse("nDCG@10"), "best"), grades.__getitem__, rng=np.random.default_rng(seed)
        )
        for now in looks:
            passed += [now.leader] if now.chance >= now.question.until else []
        wrong += bool(set(passed) - {"embeddings"})
        needed.append(len(now.learned.judged))
        assert now.is_settled and now.leader == "embeddings"
    middle, most = np.quantile(needed, [0.5, 0.9])
    print(
        f"\nlabels until embeddings are first with P(best) >= .95: median {middle:g}, 90th percentile {most:g}, ",
        end="",
    )
    print(f"most {max(needed)}; a wrong system passed .95 in {wrong} of {len(needed)} courses")
    assert middle <= 200 and not wrong  # the scale of 1.25 asks for more: 150, before 112 to 125


def test_the_contest_says_that_labels_turn_its_verdict(stamps) -> None:
    corpus, ran, _ = stamps
    for seed in range(3):
        queries = sampled(corpus, corpus.items, 120, seed)
        sample = Run(ran.run.frame.filter(pl.col("query").is_in(queries)))
        found = labelled(sample, corpus, queries, measure="nDCG@10", seed=seed)
        assert found is not None
        leaders = found.curve.filter(pl.col("p_best") == pl.col("p_best").max().over("labels"))["system"].to_list()
        print(f"\nseed {seed}: leaders {leaders}; {found.leader} {found.chance:.3f} after {found.labels}", end="")
        assert leaders[0] != "embeddings" and found.leader == "embeddings" and found.is_settled
