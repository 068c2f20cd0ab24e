"""Ratings from whatever holds them, as one evaluation."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import endoxa

ROWS = [(who, "q", item, grade) for who, shift in (("a", 0.0), ("b", 1.0)) for item, grade in
        (("x", 1.0 + shift), ("y", 4.0 + shift), ("z", 3.0))]  # fmt: skip


def test_an_evaluation_of_ratings(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["source", "query", "item", "grade"], orient="row")
    found = endoxa.rate(frame, resamples=60)
    assert found.kind == "ratings"
    assert (found.details.raters, found.details.pairs) == (2, 3)
    assert found.sentences[0]
    endoxa.write(endoxa.Opinions.of(frame), tmp_path / "ratings.csv")
    again = endoxa.rate(tmp_path / "ratings.csv", resamples=60)
    assert again.tables["figures"].equals(found.tables["figures"])
    assert [file.name for file in again.files] == ["ratings.csv"]
    endoxa.write(found, tmp_path / "page.html")
    assert "<h1" in (tmp_path / "page.html").read_text()


def test_what_is_not_a_rating_is_refused() -> None:
    belief = endoxa.Belief.of(pl.DataFrame({"query": ["q"], "item": ["x"], "p": [0.5]}))
    with pytest.raises(endoxa.EndoxaError, match=r"expected judgments or ratings .* got Belief"):
        endoxa.rate(belief)
    with pytest.raises(endoxa.EndoxaError, match="got nothing"):
        endoxa.rate(None)
