"""Differences query by query."""

from __future__ import annotations

import math

import polars as pl
import pytest
from evaluation_samples import sample_scores, texts_of, titles_of

from endoxa.errors import EndoxaError
from endoxa.reports.figures.query_bars import differences, query_differences
from endoxa.reports.figures.style import to_svg


def test_bars_carry_titles_sorted_by_difference() -> None:
    scores = sample_scores(["a", "b"])
    rows = query_differences(scores, "a", "b", "AP")
    assert rows.height == 47  # three queries are undefined
    assert rows["difference"].is_sorted(descending=True)
    titles = [title for title in titles_of(to_svg(differences(scores, "a", "b", "AP"))) if title.startswith("query ")]
    assert [title.split()[1].rstrip(":") for title in titles] == rows["query"].to_list()
    first = rows.row(0, named=True)
    assert titles[0] == f"query {first['query']}: +{first['difference']:.3f}"
    wins = (rows["difference"] > 0).sum()
    assert f"a higher: {wins}" in texts_of(to_svg(differences(scores, "a", "b", "AP")))


def test_few_queries_are_named_many_become_one_shape() -> None:
    assert "301" in texts_of(to_svg(differences(sample_scores(["a", "b"], 5), "a", "b", "AP")))
    svg = to_svg(differences(sample_scores(["a", "b"], 900), "a", "b", "AP"))
    assert not any(title.startswith("query") for title in titles_of(svg))
    assert len(svg) < 120_000


def test_no_query_and_equal_systems_still_draw() -> None:
    scores = sample_scores(["a", "b"], 4)
    assert "4 queries, sorted, 4 equal" in texts_of(to_svg(differences(scores, "a", "a", "AP")))
    empty = type(scores)(scores.frame.with_columns(value=pl.lit(math.nan)), scores.policy, scores.coverage)
    assert "0 queries, sorted" in texts_of(to_svg(differences(empty, "a", "b", "AP")))
    with pytest.raises(EndoxaError, match="no system is called 'c'"):
        differences(scores, "c", "a", "AP")
