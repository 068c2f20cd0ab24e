"""The page of a backtest: the answer first, the numbers of the tables, and only the sections that have content."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from answer_samples import first_sentence, is_answer

import endoxa
from endoxa.evaluations.backtest import Backtest
from endoxa.evaluations.backtest_sentences import answer
from endoxa.examples import collection
from endoxa.reports.pages.backtest import page
from endoxa.tables import Opinions, Run


@pytest.fixture(scope="module")
def found() -> Backtest:
    run, opinions = collection(rng=np.random.default_rng(4))
    kept = pl.col("query").is_in(run.frame["query"].unique().sort()[:10].to_list())
    judgments = Opinions(opinions.frame.filter(kept & (pl.col("source") == "ada")))
    own = Run(run.frame.filter(kept & (pl.col("rank") <= 30)))
    return endoxa.backtest(own, judgments, ["P@5", "AP"], labels=(0, 5), draws=4, courses=4, most=100)


def test_the_answer_comes_first(found: Backtest) -> None:
    text = page(found)
    assert first_sentence(text) == answer(found) and is_answer(first_sentence(text))
    for name in ("reliability", "statements", "best", "courses", "forecast"):
        assert f'id="{name}"' in text
    assert "<svg" in text


def test_sections_without_content_are_left_out(found: Backtest) -> None:
    bare = replace(found, courses=found.courses.clear(), looks=found.looks.clear())
    assert 'id="courses"' not in page(bare) and 'id="forecast"' not in page(bare)
    few = replace(bare, reliability=found.reliability.with_columns(pairs=pl.lit(1)).unique(["lo"]))
    assert "<svg" not in page(few)  # no bin has enough statements for a point


def test_forecasts_have_their_section_and_curve(found: Backtest) -> None:
    count = 40
    looks = pl.DataFrame(
        {"course": [0] * count, "measure": ["AP"] * count, "labels": [25] * count, "median": [50.0] * count,
         "low": [25.0] * count, "high": [100.0] * count, "actual": [75] * count, "within_100": [0.7] * count,
         "within_300": [0.9] * count, "ends": [100] * count}
    )  # fmt: skip
    text = page(replace(found, looks=looks))
    assert 'id="forecast"' in text
    assert "within 100: said 0.700, true 1.000, 40 looks" in text


def test_a_title_is_text(found: Backtest) -> None:
    assert "<script>x" not in page(found.named("<script>x", {}))
