"""Several ways to judge the same run, set side by side."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.errors import TableError
from endoxa.evaluations.contest import MOST, labelled, verdicts
from endoxa.images.corpus import Corpus
from endoxa.tables import Opinions, Run


@pytest.fixture(scope="module")
def ways():
    rng = np.random.default_rng(3)
    frames = []
    relevant = {f"q{q}": [f"d{k}" for k in range(4)] for q in range(12)}
    for system, noise in (("good", 0.3), ("fair", 1.0), ("poor", 5.0)):
        for query, known in relevant.items():
            items = [f"d{k}" for k in range(20)]
            score = np.array([item in known for item in items], float) + noise * rng.standard_normal(20)
            frames.append(
                pl.DataFrame({"system": system, "query": query, "item": items, "score": score}).top_k(8, by="score")
            )
    run = Run.of(pl.concat(frames))
    rows = [(q, i, 1.0) for q, items in relevant.items() for i in items]
    truth = Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))
    wrong = Opinions.of(
        pl.DataFrame([(q, "d19", 1.0) for q in relevant], schema=["query", "item", "grade"], orient="row")
    )
    told = {"truth": endoxa.believe(truth, "crisp"), "wrong": endoxa.believe(wrong, "crisp"), "nobody": None}
    return {way: endoxa.evaluate(run, belief, ["P@4", "AP"], worlds=100) for way, belief in told.items()}


def test_standings_places_and_tau(ways) -> None:
    found = verdicts(ways)
    assert found.measure == "P@4"
    truth = found.standings.filter(pl.col("way") == "truth")
    assert truth["system"].to_list() == ["good", "fair", "poor"] and truth["place"].to_list() == [1, 2, 3]
    assert "⊤" not in found.standings["system"].to_list()
    by_pair = {(a, b): t for a, b, t in found.agreement.iter_rows()}
    values = {w: dict(found.standings.filter(pl.col("way") == w).select("system", "value").iter_rows()) for w in ways}
    concordant, apart = 0.0, {"truth": 0, "nobody": 0}
    for a, b in (("good", "fair"), ("good", "poor"), ("fair", "poor")):
        concordant += np.sign(values["truth"][a] - values["truth"][b]) * np.sign(
            values["nobody"][a] - values["nobody"][b]
        )
        for way in apart:
            apart[way] += abs(values[way][a] - values[way][b]) > 1e-9
    assert by_pair["truth", "nobody"] == pytest.approx(concordant / np.sqrt(apart["truth"] * apart["nobody"]))


def test_pairs_are_turned_to_the_order_of_the_first_way(ways) -> None:
    found = verdicts(ways, "AP")
    assert found.pairs.select("system", "baseline").rows() == [("good", "fair"), ("good", "poor"), ("fair", "poor")]
    assert (found.pairs["truth"] >= 0.5).all()
    raw = ways["wrong"].comparison.frame.filter((pl.col("measure") == "AP") & (pl.col("doubt") == "all"))
    for system, baseline, p in found.pairs.select("system", "baseline", "wrong").iter_rows():
        one = raw.filter((pl.col("system") == system) & (pl.col("baseline") == baseline))
        other = raw.filter((pl.col("system") == baseline) & (pl.col("baseline") == system))
        row = (one if one.height else other).row(0, named=True)
        better = row["p_better"] + 0.5 * row["p_tie"]
        assert p == pytest.approx(better if one.height else 1 - better)


def test_what_cannot_be_compared(ways) -> None:
    with pytest.raises(TableError, match="nothing to compare"):
        verdicts({})
    with pytest.raises(TableError, match="has no nDCG@10"):
        verdicts(ways, "nDCG@10")


@pytest.fixture(scope="module")
def pictures() -> tuple[Corpus, Run, list[str]]:
    """Forty queries in folders of eight. Four systems share a wrong idea, and agree; one alone knows the folders."""
    rng = np.random.default_rng(5)
    items = np.array([f"f{folder}/p{number}" for folder in range(20) for number in range(8)])
    folder = np.repeat(np.arange(20), 8)
    corpus = Corpus.of(pl.DataFrame({"path": items, "item": items, "category": [f"f{one}" for one in folder]}), "/")
    frames = []
    for query in range(0, 160, 4):
        idea, known = rng.standard_normal(160), (folder == folder[query]).astype(float)
        for system in ("alike-1", "alike-2", "alike-3", "alike-4", "lone"):
            own = 3 * known if system == "lone" else idea + known
            score = own + rng.standard_normal(160)
            score[query] = -99  # a query never retrieves itself
            frame = pl.DataFrame({"system": system, "query": items[query], "item": items, "score": score})
            frames.append(frame.top_k(20, by="score"))
    run = Run.of(pl.concat(frames))
    return corpus, run, run.frame["query"].unique(maintain_order=True).to_list()


def test_labels_turn_the_verdict_to_the_lone_better_system(pictures) -> None:
    corpus, run, queries = pictures
    found = labelled(run, corpus, queries, measure="nDCG@10", seed=1)
    assert found is not None and (found.leader, found.is_settled) == ("lone", True)
    assert found.chance >= found.until == 0.95
    counts = found.curve["labels"].unique(maintain_order=True).to_list()
    assert counts == [0, 5, 10, 20, 25, 50, 75, 100, 125, 150][: len(counts)] and counts[-1] == found.labels >= 25
    sums = found.curve.group_by("labels").agg(pl.col("p_best").sum())["p_best"]
    assert sums.to_list() == pytest.approx([1.0] * len(counts))
    leaders = found.curve.sort("p_best").group_by("labels", maintain_order=True).last().sort("labels")["system"]
    assert leaders[0] != "lone" and leaders[-1] == "lone"  # the consensus alone has another one
    again = labelled(run, corpus, queries, measure="nDCG@10", seed=1)
    assert again is not None and again.curve.equals(found.curve)
    other = labelled(run, corpus, queries, measure="nDCG@10", seed=2)
    assert other is not None and other.leader == "lone" and not other.curve.equals(found.curve)


def test_systems_that_are_the_same_are_settled_without_a_label(pictures) -> None:
    corpus, run, queries = pictures
    lone = run.frame.filter(pl.col("system") == "lone")
    twins = Run(pl.concat([lone, lone.with_columns(pl.lit("twin").alias("system"))]))
    stages: list[tuple[str, int, int]] = []
    found = labelled(twins, corpus, queries, measure="nDCG@10", seed=1, progress=lambda *stage: stages.append(stage))
    assert found is not None and found.is_settled and found.labels == 0
    assert found.curve["p_best"].to_list() == [1, 1]  # the group of two is the best, and both show its value
    assert stages[0][1] == 0 and stages[-1][1:] == (MOST, MOST)


def test_queries_in_no_folder_are_not_asked_about(pictures) -> None:
    corpus, run, queries = pictures
    gone = pl.when(pl.col("item").is_in(queries[:20])).then(None).otherwise(pl.col("category")).alias("category")
    partly = Corpus.of(corpus.frame.with_columns(gone), "/")
    half = Run(run.frame.filter(pl.col("query").is_in(queries[20:])))
    found, expected = (labelled(one, partly, queries, measure="P@5", seed=1) for one in (run, half))
    assert found is not None and expected is not None and found.curve.equals(expected.curve)


def test_nothing_to_settle_or_nobody_to_ask(pictures) -> None:
    corpus, run, queries = pictures
    alone = Run(run.frame.filter(pl.col("system") == "lone"))
    flat = Corpus.of(corpus.frame.with_columns(pl.lit(None, pl.String).alias("category")), "/")
    assert labelled(alone, corpus, queries, measure="nDCG@10", seed=1) is None
    assert labelled(run, flat, queries, measure="nDCG@10", seed=1) is None
    assert labelled(run, corpus, queries, measure="RR", seed=1) is None
