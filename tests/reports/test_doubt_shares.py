"""Bars of the shares of each doubt."""

from __future__ import annotations

import pytest
from evaluation_samples import sample_in_doubt, system_names, titles_of

from endoxa.reports.figures.doubt_shares import shares
from endoxa.reports.figures.style import to_svg

SIX = sample_in_doubt(system_names(6))


def test_bars_are_the_shares_of_the_table() -> None:
    titles = titles_of(to_svg(shares(SIX, width=9.0)))
    words = {"truth": "what is relevant", "people": "who voted", "queries": "which queries"}
    for system, doubt, part in SIX.doubts.select("system", "doubt", "share").iter_rows():
        (title,) = [title for title in titles if title.startswith(f"{system}, {words[doubt]}: ")]
        assert float(title.split(": ")[1].split(" %")[0]) == pytest.approx(100 * part, abs=0.05)
    axes = shares(SIX, width=9.0).axes[0]
    bars = [patch for patch in axes.get_children() if type(patch).__name__ == "Rectangle" and patch.get_gid()]
    assert sum(bar.get_width() for bar in bars) == pytest.approx(7)


def test_an_unknown_doubt_has_no_part() -> None:
    evaluation = sample_in_doubt(["a", "b", "c"], measures=("AP",), model="raters", virtual=None, people=0.0)
    assert not any("who was asked" in title for title in titles_of(to_svg(shares(evaluation))))
