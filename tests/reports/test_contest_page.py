"""The page of a contest: what it says about verdicts that disagree and verdicts that agree."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from evaluation_samples import sample_in_doubt

from endoxa.evaluations.contest import Course, Verdicts, verdicts
from endoxa.evaluations.standings import SURE
from endoxa.reports.pages.contest import Contest, answer, doubt, page, turn
from endoxa.tables import Costs
from endoxa.wording.evaluating import LIMITS_OF_CONSENSUS


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
    text = answer(Contest("t", parted, {}))
    assert text.startswith("First on P@2: by consensus, ")
    assert "by labels, lone (best with probability > 0.99)" in text
    assert "by consensus, lone" not in text
    assert "it cannot recognise a single better system whose results no other system confirms" in text
    assert "Kendall's tau of the rankings: −" in text  # they disagree


def test_agreement_is_the_pairs_that_both_decide(parted) -> None:
    """One name at the top of both is no agreement: the pairs count, and of these the decided ones."""
    frame = parted.pairs.with_columns(
        pl.Series("consensus", [0.99, 0.97, 0.5, 0.02, 0.6, 0.96]),
        pl.Series("labels", [0.99, 0.01, 0.99, 0.03, 0.4, 0.9]),
    )
    text = answer(Contest("t", replace(parted, pairs=frame), {}))
    assert "Consensus and labels both decide 3 of 6 pairs, 2 of them alike." in text
    none = answer(Contest("t", replace(parted, pairs=frame.with_columns(pl.lit(0.5).alias("labels"))), {}))
    assert "Of 6 pairs, consensus and labels both decide none." in none


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
        against += (one >= SURE and other <= 1 - SURE) or (one <= 1 - SURE and other >= SURE)
        agreed += (one >= SURE and other >= SURE) or (one <= 1 - SURE and other <= 1 - SURE)
    assert f"prefer the same system in {agreed} (each" in html and f"in {against}, one way prefers one" in html
    lone = parted.pairs.filter((pl.col("system") == "lone") | (pl.col("baseline") == "lone"))
    assert lone.height == 3 and ((lone["consensus"] > 0.5) != (lone["labels"] > 0.5)).all()


def course(leader: str, chance: float, other: str = "a") -> Course:
    """A system that is behind at first and leads after 50 labels."""
    rows = [(0, leader, 0.2), (0, other, 0.75), (0, "c", 0.05), (50, leader, chance), (50, other, 1 - chance)]
    curve = pl.DataFrame([*rows, (50, "c", 0.0)], schema=["labels", "system", "p_best"], orient="row")
    return Course("P@2", curve, leader, chance, 50, chance >= 0.95)


def test_the_answer_leads_with_the_doubt_where_labels_contradict_the_consensus(parted) -> None:
    first = parted.standings.filter(pl.col("way") == "consensus")["system"][0]
    contest = Contest("t", parted, {}, course=course("lone", 0.97, first))
    assert answer(contest).startswith(
        f"The consensus of the systems is doubtful: it puts {first} first, but after 50 labels of the folder names "
        "lone is the best with probability 0.97. First on P@2: "
    )
    open_ = turn(replace(contest, course=course("lone", 0.6, first)))
    assert open_.endswith("with probability 0.60. That is not settled: 0.95 at two looks in a row would be.")
    assert open_.startswith(f"The consensus of the systems puts {first} first. After 50 labels of the folder names, ")
    assert "doubtful" not in open_  # labels that settle nothing contradict nobody
    same = turn(replace(contest, course=course(first, 0.99, "b")))
    assert same == (
        f"After 50 labels of the folder names, {first} is the best with probability 0.99. The consensus of the "
        "systems, without labels, puts it first."
    )
    leaning = turn(replace(contest, course=course(first, 0.7, "b")))
    assert "not settled: 0.95" in leaning
    assert not any("agree" in text or "confirm" in text for text in (same, leaning))
    assert turn(Contest("t", parted, {})) == ""
    alone = verdicts({"labels": parted.ways["labels"]})
    assert turn(Contest("t", alone, {}, course=course("lone", 0.97))) == doubt(alone) == ""


def test_why_a_consensus_is_doubtful(parted) -> None:
    one = parted.ways["consensus"]
    first = parted.standings.filter(pl.col("way") == "consensus")["system"][0]

    def said(unique: dict[str, float], p_best: float = 0.9, **tables: pl.DataFrame) -> str:
        share = pl.col("system").replace_strict(unique, default=0.1, return_dtype=pl.Float64)
        changed = replace(one, summary=one.summary.with_columns(share.alias("unique")), tables=tables)
        standings = parted.standings.with_columns(pl.lit(p_best).alias("p_best"))
        return doubt(replace(parted, ways={**parted.ways, "consensus": changed}, standings=standings))

    guess = f"Without labels an order is a guess. The consensus puts {first} first on P@2"
    assert said({}) == f"{guess}. Nothing in the runs speaks against it, but no sign without labels is reliable."
    assert "this is doubtful: even within the consensus it is the best only with probability 0.30." in said({}, 0.3)
    depths = pl.DataFrame({"depth": [10, 20, 100], "tau": [0.9, 1.0, 0.25], "leader": [first, first, "lone"]})
    assert said({}, depths=depths) == (
        f"{guess}, and this is doubtful: the order changes with the vote depth (Kendall's tau 0.25 at depth 100, where "
        "lone is first)."
    )
    steady = said({}, depths=depths.head(2))
    assert steady.endswith(
        "is reliable. At other vote depths the order is nearly the same (Kendall's tau 0.90 or more)."
    )
    same = depths.head(2).with_columns(tau=pl.lit(1.0))
    assert said({}, depths=same).endswith("is reliable. At other vote depths the order is the same.")
    nearly = said({}, depths=same.with_columns(tau=pl.lit(0.997)))
    assert nearly.endswith("the order is nearly the same (Kendall's tau above 0.99).")
    values = dict(one.summary.filter(pl.col("measure") == "P@2").select("system", "value").iter_rows())
    beaten = min(values, key=lambda system: values[system])
    assert values[beaten] <= values["⊤"] and beaten not in {first, "⊤"}
    text = said({first: 0.72, beaten: 0.9})
    assert f"a third or more of the first items of {first} (72%) are returned by no other system, which" in text


def test_the_page_shows_what_a_few_labels_change(parted) -> None:
    first = parted.standings.filter(pl.col("way") == "consensus")["system"][0]
    contest = Contest("t", parted, {"consensus": "x", "labels": "y"}, course=course("lone", 0.97, first))
    html = page(contest)
    assert html.index("judged side by side") < html.index("What a few labels change") < html.index("verdicts disagree")
    assert "Asked for labels of the folder names, lone is the best with probability 0.97 after 50 labels. The" in html
    section = html[html.index("What a few labels change") : html.index("Where the verdicts disagree")]
    assert section.count("<svg") == 2 and "labels given" in section and "settled: 0.95" in section
    assert "lone</th>" in section and ">0.20<" in section and ">0.97<" in section
    assert "c</th>" not in section  # it never leads and stays below .1
    assert "does not settle it" in page(replace(contest, course=course("lone", 0.6, first)))
    assert "What a few labels change" not in page(replace(contest, course=None))
