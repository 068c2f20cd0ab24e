"""The page of a contest: what it says of verdicts that part and verdicts that agree."""

from __future__ import annotations

import polars as pl
import pytest

from endoxa import doubt
from endoxa.evaluations.contest import verdicts
from endoxa.reports.contest import Contest, page, verdict
from endoxa.tables import Costs, Opinions, Run


def run() -> Run:
    """Three systems alike, which agree, and a lone one that finds other things."""
    rows = []
    for query in range(12):
        for system, items in (("a", "uvwx"), ("b", "uvxw"), ("c", "vuwy"), ("lone", "mnop")):
            rows += [(system, f"q{query}", item, float(-rank)) for rank, item in enumerate(items)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


@pytest.fixture(scope="module")
def parted():
    rows = [(f"q{query}", item, 1.0) for query in range(12) for item in "mn"]
    labels = Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))
    held = {"consensus": None, "labels": doubt.believe(labels, "crisp")}
    return verdicts({way: doubt.appraise(run(), belief, ["P@2"], worlds=60) for way, belief in held.items()})


def test_a_lone_better_system_is_explained(parted) -> None:
    said = verdict(parted)
    assert "by labels, lone (best with probability > 0.99)" in said
    assert "by consensus, lone" not in said
    assert "a lone better one, whose finds nobody confirms, it cannot see" in said
    assert "Kendall's tau of the orders: −" in said  # they disagree


def test_one_way_alone_has_nothing_to_agree_with(parted) -> None:
    alone = verdicts({"labels": parted.ways["labels"]})
    html = page(Contest("t", alone, {"labels": "what we were told"}))
    assert "judged in 1 way" in html and "Where the verdicts part" not in html
    assert "cannot see" not in html


def test_costs_ties_and_pairs_stand_on_the_page(parted) -> None:
    rows = [("a", "describe", 10, 1.0, 5000, 0.1, 0.2), ("a", "build", 10, 0.25, 7000, None, None)]
    costs = Costs.of(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    ties = dict.fromkeys(("a", "b", "c", "lone"), 0.5)
    html = page(
        Contest("t", parted, {"consensus": "x", "labels": "y"}, costs, ties, warnings=["p.png was left out: z"])
    )
    assert "What it costs" in html and "7.0 kB" in html and "50.0 %" in html and "p.png was left out: z" in html
    assert "Of 6 pairs of systems" in html
    against = agreed = 0
    for row in parted.pairs.iter_rows(named=True):
        one, other = row["consensus"], row["labels"]
        against += (one >= 0.9 and other <= 0.1) or (one <= 0.1 and other >= 0.9)
        agreed += (one >= 0.9 and other >= 0.9) or (one <= 0.1 and other <= 0.1)
    assert f"better in {agreed} (with" in html and f"in {against} one way holds the one better" in html
    lone = parted.pairs.filter((pl.col("system") == "lone") | (pl.col("baseline") == "lone"))
    assert lone.height == 3 and ((lone["consensus"] > 0.5) != (lone["labels"] > 0.5)).all()
