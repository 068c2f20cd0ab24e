from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from report_samples import HOSTILE, LONG, sample_comparison, sample_curves, sample_report, sample_scores, system_names

from endoxa.errors import EndoxaError
from endoxa.reports import figures
from endoxa.reports.figures import (
    curves,
    differences,
    generality_note,
    intervals,
    pair_matrix,
    pairs,
    query_differences,
    to_png,
    to_svg,
)

SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = (3.6, 7.0)


def texts_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titles_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def drawn(systems: list[str], width: float) -> dict[str, Any]:
    report = sample_report(systems=systems)
    figures = {
        "intervals": intervals(report.summary, "AP", width=width),
        "curves": curves(sample_curves(systems), width=width),
    }
    if report.comparison is not None:
        figures["differences"] = differences(report.scores, systems[0], systems[1], "AP", width=width)
        figures["pairs"] = pairs(report.comparison, "AP", width=width)
    return figures


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 6, 40])
def test_figures_stay_in_their_frame_and_rows_do_not_overlap(count: int, width: float) -> None:
    for name, figure in drawn(system_names(count), width).items():
        svg = to_svg(figure)
        root = ElementTree.fromstring(svg)
        _, _, wide, high = (float(part) for part in root.get("viewBox", "").split())
        for text in root.iter(f"{SVG}text"):
            x, y = float(text.get("x", "0")), float(text.get("y", "0"))
            assert 0 <= x <= wide, (name, text.text)
            assert 0 <= y <= high, (name, text.text)
        if name in {"intervals", "pairs"}:
            names = [text for text in root.iter(f"{SVG}text") if re.search(r"bm25|splade|dense", text.text or "")]
            heights = sorted(float(text.get("y", "0")) for text in names)
            gaps = [after - before for before, after in pairwise(heights)]
            assert all(gap > 10 for gap in gaps if gap > 0.01), name


@pytest.mark.parametrize("width", WIDTHS)
def test_text_does_not_run_out_of_the_frame(width: float) -> None:
    for systems in (system_names(6), [LONG + "1", LONG + "2", "c"], ["NTU_NMLAB_BM25_HUMAN_WWW", "MMMMMMMMMMMMMMM"]):
        for name, figure in drawn(systems, width).items():
            with figures._styled():
                from matplotlib.backends.backend_agg import FigureCanvasAgg

                canvas = FigureCanvasAgg(figure)
                canvas.draw()
                box = figure.get_tightbbox(canvas.get_renderer())
            assert box.x0 >= 0, name
            assert box.y0 >= 0, name
            assert box.x1 <= figure.get_figwidth(), name
            assert box.y1 <= figure.get_figheight(), name


@pytest.mark.parametrize("make", [lambda: drawn(system_names(3), 7.0), lambda: drawn([HOSTILE, LONG], 3.6)])
def test_the_same_bytes_twice(make: Callable[[], dict[str, Any]]) -> None:
    first, second = make(), make()
    for name in first:
        svg = to_svg(first[name])
        assert svg == to_svg(second[name]) == to_svg(first[name])
        assert to_png(first[name], dpi=60) == to_png(second[name], dpi=60)
        assert "<metadata" not in svg
        assert svg.startswith("<svg")


def test_png_is_a_png_of_the_size_asked_for() -> None:
    png = to_png(intervals(sample_report(2).summary, "AP", width=5.0), dpi=100)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 500


def test_hostile_names_are_text_and_nothing_else() -> None:
    names = [HOSTILE, LONG, "$\\frac$ % # ^", ' d="1.23456789" id="x" url(#a)', "a\x00\x1b\u202eb"]
    for figure in drawn(names, 7.0).values():
        svg = to_svg(figure, prefix="p")
        root = ElementTree.fromstring(svg)
        assert not list(root.iter("script"))
        assert not list(root.iter(f"{SVG}script"))
    svg = to_svg(intervals(sample_report(systems=names).summary, "AP"), prefix="p")
    assert any(title.startswith(HOSTILE) for title in titles_of(svg))
    assert any(title.startswith(names[3]) for title in titles_of(svg))
    assert any(text.startswith(' d="1.2345') for text in texts_of(svg))


def test_prefix_keeps_ids_apart() -> None:
    figure = curves(sample_curves(["a", "b"]))
    one, two = to_svg(figure, prefix="one"), to_svg(figure, prefix="two")
    ids = set(re.findall(r' id="([^"]+)"', one))
    assert ids
    assert not ids & set(re.findall(r' id="([^"]+)"', two))
    for reference in re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', one):
        assert reference in ids


def test_intervals_are_sorted_best_first() -> None:
    summary = sample_report(6).summary
    order = summary.filter(pl.col("measure") == "AP").sort("value", descending=True)["system"].to_list()
    for width in WIDTHS:
        shown = [text for text in texts_of(to_svg(intervals(summary, "AP", width=width))) if text in order]
        assert shown == order
    shown = [text for text in texts_of(to_svg(intervals(summary, "AP", lower=True))) if text in order]
    assert shown == order[::-1]


def test_intervals_without_bounds_or_value() -> None:
    summary = sample_report(3).summary.with_columns(
        value=pl.when(pl.col("system") == "bm25").then(math.nan).otherwise("value"),
        lo=pl.when(pl.col("system") == "splade-v3").then(-math.inf).otherwise(None),
        hi=pl.when(pl.col("system") == "splade-v3").then(math.inf).otherwise(None),
    )
    texts = texts_of(to_svg(intervals(summary, "AP")))
    assert "undefined" in texts
    assert any("[−∞, ∞]" in text for text in texts)
    assert "50000" in texts_of(to_svg(intervals(summary, "NumRet")))
    with pytest.raises(EndoxaError, match="no measure"):
        intervals(summary, "MAP")


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


def test_reading_reports_does_not_load_matplotlib_or_jinja() -> None:
    code = (
        "import sys, endoxa.reports.html, endoxa.reports.figures; "
        "sys.exit(any(name.split('.')[0] in {'matplotlib', 'jinja2'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
