"""The page of a contest: what it says about verdicts that disagree and verdicts that agree."""

from __future__ import annotations

import polars as pl
import pytest
from evaluation_samples import sample_in_doubt

from endoxa.evaluations.contest import Verdicts, verdicts
from endoxa.evaluations.sentences import LIMITS_OF_CONSENSUS
from endoxa.reports.pages.contest import Contest, answer, page
from endoxa.tables import Costs


@pytest.fixture(scope="module")
def parted() -> Verdicts:
    """By consensus a lone system is the worst, by labels the best."""
    return verdicts(
        {
            "consensus": sample_in_doubt(["a", "b", "c", "lone"], measures=("P@2",), step=0.1),
            "labels": sample_in_doubt(
                ["lone", "b", "a", "c"], measures=("P@2",), step=0.1, model="crisp", virtual=None
            ),
        }
    )


def test_a_lone_better_system_is_explained(parted) -> None:
    text = answer(parted)
    assert "by labels, lone (best with probability > 0.99)" in text
    assert "by consensus, lone" not in text
    assert "it cannot recognise a single better system whose results no other system confirms" in text
    assert "Kendall's tau of the rankings: −" in text  # they disagree


def test_one_way_alone_has_nothing_to_agree_with(parted) -> None:
    alone = verdicts({"labels": parted.ways["labels"]})
    html = page(Contest("t", alone, {"labels": "the labels given"}))
    assert "judged in 1 way" in html and "Where the verdicts disagree" not in html
    assert "cannot recognise" not in html


def test_costs_ties_and_pairs_are_on_the_page(parted) -> None:
    rows = [("a", "describe", 10, 1.0, 5000, 0.1, 0.2), ("a", "build", 10, 0.25, 7000, None, None)]
    costs = Costs.of(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    ties = dict.fromkeys(("a", "b", "c", "lone"), 0.5)
    html = page(
        Contest("t", parted, {"consensus": "x", "labels": "y"}, costs, ties, warnings=["p.png was left out: z"])
    )
    assert "What the systems cost" in html and "7.0 kB" in html and "50.0 %" in html and "p.png was left out: z" in html
    assert "Of 6 pairs of systems" in html and LIMITS_OF_CONSENSUS in html
    assert "⊤ returns everything: a system that does not beat it carries no information." in html
    against = agreed = 0
    for row in parted.pairs.iter_rows(named=True):
        one, other = row["consensus"], row["labels"]
        against += (one >= 0.9 and other <= 0.1) or (one <= 0.1 and other >= 0.9)
        agreed += (one >= 0.9 and other >= 0.9) or (one <= 0.1 and other <= 0.1)
    assert f"prefer the same system in {agreed} (each" in html and f"in {against}, one way prefers one" in html
    lone = parted.pairs.filter((pl.col("system") == "lone") | (pl.col("baseline") == "lone"))
    assert lone.height == 3 and ((lone["consensus"] > 0.5) != (lone["labels"] > 0.5)).all()
