"""What ratings say in words."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from evaluation_samples import SCRIPT, sample_ratings

from endoxa.evaluations.rating_sentences import answer, cautions
from endoxa.evaluations.ratings import FIGURES, Analysis, evaluation_of, figures_of
from endoxa.notes import texts
from endoxa.studies.comparison import Comparison


@pytest.fixture(scope="module")
def found() -> Analysis:
    return sample_ratings()


def test_who_follows_people_best_is_the_highest_held_out(found: Analysis) -> None:
    text = answer(found, name=lambda name: f"«{name}»")
    assert "The scores of «good» follow people’s ratings best: r = 0." in text
    assert isinstance(found.comparison, Comparison)
    first, second = found.comparison.systems["system"][:2]
    assert text.startswith(f"«{first}» and «{second}» cannot be told apart: the mean ratings of their first 8 results")
    assert "5 raters agree with alpha" in text
    assert found.first is not None
    frame = found.first.frame
    near = frame.with_columns(
        pl.when(pl.col("system") == "fair").then(frame["held_out"][0] - 0.001).otherwise("held_out").alias("held_out")
    )
    close = replace(found, mappings={"isotonic": replace(found.first, frame=near)})
    assert "«fair» is within the standard errors of both" in answer(close, name=lambda name: f"«{name}»")


def test_warnings_say_what_is_wrong(found: Analysis) -> None:
    text = " | ".join(cautions(found))
    assert f"{SCRIPT}: their ratings run against those of the others" in text
    assert found.benefit is not None
    worse = found.benefit.frame.with_columns(
        pl.when(pl.col("stage") == "held out").then(-1.0).otherwise("alpha").alias("alpha")
    )
    spoilt = replace(found, benefit=replace(found.benefit, frame=worse))
    assert "Calibration does not help on pairs that it was not fitted on: alpha is −1.000 there" in " | ".join(
        cautions(spoilt)
    )
    assert "does not help" not in text


def test_all_figures_in_one_table(found: Analysis) -> None:
    table = figures_of(found)
    assert table.schema == pl.Schema(FIGURES)
    row = table.filter((pl.col("part") == "agreement") & (pl.col("of") == "before")).row(0, named=True)
    assert (row["value"], row["lo"], row["hi"]) == (found.agreement.alpha, found.agreement.lo, found.agreement.hi)
    assert row["n"] == found.agreement.units
    held = table.filter((pl.col("part") == "map by ogive") & (pl.col("figure") == "held_out"))
    assert held["value"].to_list() == found.mappings["ogive"].frame["held_out"].to_list()
    assert held["se"].to_list() == found.mappings["ogive"].frame["se"].to_list()
    parts = table["part"].unique().to_list()
    assert {"raters", "calibration", "uniformity", "selection", "dominance", "curves"} <= set(parts)


def test_an_evaluation_of_ratings(found: Analysis) -> None:
    evaluation = evaluation_of(found)
    assert evaluation.kind == "ratings"
    assert evaluation.title == "3 systems against 5 raters"
    assert evaluation.sentences == (answer(found),)
    assert texts(evaluation.warnings) == found.warnings
    assert found.first is not None
    first = evaluation.summary.filter(pl.col("measure") == "r, isotonic")
    assert first["value"].to_list() == found.first.frame["held_out"].to_list()
    assert set(evaluation.tables) == {"figures", "raters", "curves", "compared"}
    assert "follow people" in evaluation._repr_html_()
    assert evaluation.to_dict()["summary"][0]["system"] == "good"
    bare = replace(found, mappings={}, systems=(), curves=None)
    assert evaluation_of(bare).summary.is_empty()
    assert evaluation_of(bare).title == "Ratings of 5 raters"
    assert "5 raters agree with alpha" in evaluation_of(bare)._repr_html_()
