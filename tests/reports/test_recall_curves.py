"""Curves of precision at recall."""

from __future__ import annotations

import polars as pl
import pytest
from evaluation_samples import sample_curves, system_names, texts_of, titles_of

from endoxa.reports.figures.recall_curves import curves, generality_note
from endoxa.reports.figures.style import to_svg

WIDTHS = (3.6, 7.0)


def test_generality_line_and_its_note() -> None:
    alike, unlike = sample_curves(["a"], low=0.05, high=0.06), sample_curves(["a"], low=0.01, high=0.09)
    assert "random ranking: 0.055" in texts_of(to_svg(curves(alike)))
    assert generality_note(alike) is None
    note = generality_note(unlike)
    assert note is not None
    assert "0.01 to 0.09" in note
    for width in WIDTHS:
        assert note in " ".join(texts_of(to_svg(curves(unlike, width=width))))
        assert "Generality" not in " ".join(texts_of(to_svg(curves(alike, width=width))))
    two = pl.concat([alike, sample_curves(["b"], low=0.2, high=0.21)])
    assert generality_note(two) is not None  # collections differ, though each is even
    none = unlike.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in ("generality", "generality_low", "generality_high")
    )
    assert not any("random" in text for text in texts_of(to_svg(curves(none))))


@pytest.mark.parametrize("points", [11, 21, 101])
def test_one_line_per_system_and_six_in_colour(points: int) -> None:
    names = system_names(40)
    svg = to_svg(curves(sample_curves(names, points), highlight=[names[-1]]))
    assert set(names) <= set(titles_of(svg))
    texts = texts_of(svg)
    assert names[-1] in texts
    assert "34 other systems" in texts
    assert sum(text in names for text in texts) == 6
