"""Several ways to judge the same run, set side by side."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa import doubt
from endoxa.errors import TableError
from endoxa.evaluations.verdicts import verdicts
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
    beliefs = {"truth": doubt.believe(truth, "crisp"), "wrong": doubt.believe(wrong, "crisp"), "nobody": None}
    return {
        way: doubt.evaluation_of(doubt.appraise(run, belief, ["P@4", "AP"], worlds=100))
        for way, belief in beliefs.items()
    }


def test_standings_places_and_tau(ways) -> None:
    found = verdicts(ways)
    assert found.measure == "P@4"
    truth = found.standings.filter(pl.col("way") == "truth")
    assert truth["system"].to_list() == ["good", "fair", "poor"] and truth["place"].to_list() == [1, 2, 3]
    assert "⊤" not in found.standings["system"].to_list()
    by_pair = {(a, b): t for a, b, t in found.agreement.iter_rows()}
    values = {w: dict(found.standings.filter(pl.col("way") == w).select("system", "value").iter_rows()) for w in ways}
    concordant = 0
    for a, b in (("good", "fair"), ("good", "poor"), ("fair", "poor")):
        concordant += np.sign(values["truth"][a] - values["truth"][b]) * np.sign(
            values["nobody"][a] - values["nobody"][b]
        )
    assert by_pair["truth", "nobody"] == pytest.approx(concordant / 3)


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
