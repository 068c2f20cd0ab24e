"""The matrix of differences."""

from __future__ import annotations

from evaluation_samples import sample_comparison, sample_scores, system_names, texts_of, titles_of

from endoxa.reports.figures.pair_matrix import pair_matrix, pairs
from endoxa.reports.figures.style import to_svg


def test_matrix_shows_each_pair_once_best_first() -> None:
    comparison = sample_comparison(sample_scores(system_names(6)))
    rows, columns, cells = pair_matrix(comparison, "AP")
    assert rows[0] == "hybrid-rrf"
    assert columns == rows[1:]
    assert len(cells) == 15
    assert all(pair.difference >= 0 for pair in cells.values())
    svg = to_svg(pairs(comparison, "AP"))
    starred = [text for text in texts_of(svg) if text.endswith("*")]
    assert len(starred) == sum(pair.differs(0.05) for pair in cells.values()) == 12
    assert any(title.startswith("hybrid-rrf minus bm25: +0.026, interval") for title in titles_of(svg))


def test_matrix_against_a_baseline_is_one_column() -> None:
    comparison = sample_comparison(sample_scores(system_names(6)), "bm25")
    rows, columns, cells = pair_matrix(comparison, "AP")
    assert columns == ["bm25"]
    gaps = [cells[place, 0].difference for place in range(len(rows))]
    assert gaps == sorted(gaps, reverse=True)
    to_svg(pairs(comparison, "AP", width=3.6))


def test_small_values_may_be_better() -> None:
    comparison = sample_comparison(sample_scores(system_names(6)))
    rows, _, cells = pair_matrix(comparison, "AP", lower=True)
    assert rows == pair_matrix(comparison, "AP")[0][::-1]
    assert all(pair.difference <= 0 for pair in cells.values())
