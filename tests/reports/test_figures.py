"""Laws of all figures of an evaluation: they stay in their frame, are the same every time, and contain no code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from evaluation_samples import (
    EVERYTHING,
    HOSTILE,
    LONG,
    SVG,
    sample_curves,
    sample_evaluation,
    sample_in_doubt,
    system_names,
    texts_of,
    titles_of,
)

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.sentences import under_doubt
from endoxa.reports.figures import all_of, hills
from endoxa.reports.figures.chance_matrix import better
from endoxa.reports.figures.dots import intervals
from endoxa.reports.figures.doubt_shares import shares
from endoxa.reports.figures.hills import ridges
from endoxa.reports.figures.pair_matrix import pairs
from endoxa.reports.figures.query_bars import differences
from endoxa.reports.figures.recall_curves import curves
from endoxa.reports.figures.style import styled, to_png, to_svg

WIDTHS = (3.6, 7.0)
NAMES = ("ridges", "better", "shares")
SIX = sample_in_doubt(system_names(6))


def drawn(systems: list[str], width: float) -> dict[str, Any]:
    evaluation = sample_evaluation(systems=systems)
    figures = {
        "intervals": intervals(evaluation.summary, "AP", width=width),
        "curves": curves(sample_curves(systems), width=width),
    }
    if evaluation.comparison is not None:
        figures["differences"] = differences(evaluation.scores, systems[0], systems[1], "AP", width=width)
        figures["pairs"] = pairs(evaluation.comparison, "AP", width=width)
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
            with styled():
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


def test_hostile_names_are_text_and_nothing_else() -> None:
    names = [HOSTILE, LONG, "$\\frac$ % # ^", ' d="1.23456789" id="x" url(#a)', "a\x00\x1b\u202eb"]
    for figure in drawn(names, 7.0).values():
        svg = to_svg(figure, apart=True)
        root = ElementTree.fromstring(svg)
        assert not list(root.iter("script"))
        assert not list(root.iter(f"{SVG}script"))
    svg = to_svg(intervals(sample_evaluation(systems=names).summary, "AP"), apart=True)
    assert any(title.startswith(HOSTILE) for title in titles_of(svg))
    assert any(title.startswith(names[3]) for title in titles_of(svg))
    assert any(text.startswith(' d="1.2345') for text in texts_of(svg))


# Under doubt


def figures_of(made: Evaluation, width: float, names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    measure = made.measures[0]
    draw = {
        "ridges": lambda: ridges(made, measure, width=width),
        "better": lambda: better(made, measure, width=width),
        "shares": lambda: shares(made, width=width),
    }
    return {name: draw[name]() for name in names}


@pytest.mark.parametrize(("count", "width"), [(2, 3.6), (6, 9.0), (20, 9.0)])
def test_one_hill_one_bar_and_a_cell_per_pair(count: int, width: float) -> None:
    made = sample_in_doubt(system_names(count), measures=("AP",), step=0.2 / count)
    everyone = [*made.systems, *([made.virtual] if made.virtual else [])]
    drawn = {name: titles_of(to_svg(figure)) for name, figure in figures_of(made, width).items()}
    hills = [title.partition(": ")[0] for title in drawn["ridges"]]
    assert set(hills) == set(everyone)
    assert all(hills.count(system) == 5 for system in everyone)  # hill, its middle, interval, mean, name
    contenders = len(everyone) - 1  # the virtual system takes no part in pairs
    assert len(drawn["better"]) == len(set(drawn["better"])) == contenders * (contenders - 1)
    parts = {tuple(title.partition(": ")[0].rsplit(", ", 1)) for title in drawn["shares"]}
    words = ("what is relevant", "who voted", "which queries")
    known = made.doubts.filter(pl.col("variance") > 0)
    assert len(parts) == known.height
    assert parts <= {(system, word) for system in everyone for word in words}


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_sorted_with_the_virtual_system_in_its_place(width: float) -> None:
    order = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)["system"].to_list()
    assert order.index(EVERYTHING) == 2
    named = [f"{system} (everything)" if system == EVERYTHING else system for system in order]
    drawn = figures_of(SIX, width)
    for name in ("ridges", "shares"):
        assert [text for text in texts_of(to_svg(drawn[name])) if text in named] == named
    rows = [text for text in texts_of(to_svg(drawn["better"])) if re.match(r"\d+ +\S", text)]
    assert [text.split()[0] for text in rows] == [str(place + 1) for place in range(6)]
    assert [text.split()[1][:4] for text in rows] == [system[:4] for system in order if system != EVERYTHING]
    low = sample_in_doubt(system_names(6), measures=("Unjudged@10",))
    turned = [text for text in texts_of(to_svg(ridges(low, "Unjudged@10", width=width))) if text in named]
    assert turned == named[::-1]


def test_more_systems_than_can_be_drawn_are_cut_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hills.DRAWN == 40
    monkeypatch.setattr(hills, "DRAWN", 4)
    made = sample_in_doubt(system_names(7), measures=("AP",), step=0.008)
    best = made.summary.filter(pl.col("system") != EVERYTHING).sort("value", descending=True)["system"].to_list()
    for name, figure in figures_of(made, 9.0).items():
        svg = to_svg(figure)
        assert "The best 4 of 7 systems are drawn; the tables have all." in texts_of(svg), name
        for place, system in enumerate(best):
            assert any(title.startswith(system) for title in titles_of(svg)) == (place < 4), (name, system)
        assert any(title.startswith(EVERYTHING) for title in titles_of(svg)) == (name != "better"), name
    monkeypatch.undo()
    assert not any("drawn" in text for text in texts_of(to_svg(ridges(made, "AP"))))


@pytest.mark.parametrize("width", WIDTHS)
def test_text_stays_in_the_frame(width: float) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for systems in ([LONG + "1", LONG + "2", "MMMMMMMMMMMMMMM"], system_names(17)):
        made = sample_in_doubt(systems, measures=("AP",), step=0.01)
        for name, figure in figures_of(made, width).items():
            with styled():
                canvas = FigureCanvasAgg(figure)
                canvas.draw()
                box = figure.get_tightbbox(canvas.get_renderer())
            assert box.x0 >= 0, name
            assert box.y0 >= 0, name
            assert box.x1 <= figure.get_figwidth(), name
            assert box.y1 <= figure.get_figheight(), name


def test_rows_of_forty_systems_do_not_overlap() -> None:
    made = sample_in_doubt(system_names(40), measures=("AP",), step=0.005)
    names = {*system_names(40), f"{EVERYTHING} (everything)"}
    for width, name in ((3.6, "ridges"), (9.0, "ridges"), (9.0, "shares")):
        root = ElementTree.fromstring(to_svg(figures_of(made, width, (name,))[name]))
        heights = sorted(float(node.get("y", "nan")) for node in root.iter(f"{SVG}text") if node.text in names)
        assert len(heights) == 41
        assert min(after - before for before, after in pairwise(heights)) > 14


def test_same_bytes_twice_and_hostile_names_are_text() -> None:
    made = sample_in_doubt([HOSTILE, LONG + "1", LONG + "2", '"><img src=x onerror=y>'], measures=("AP",))
    first, second = figures_of(made, 3.6), figures_of(made, 3.6)
    for name, figure in first.items():
        svg = to_svg(figure, apart=True)
        assert svg == to_svg(second[name], apart=True)
        root = ElementTree.fromstring(svg)
        assert not [node for node in root.iter() if node.tag.endswith(("script", "img"))]
        assert any(HOSTILE in title for title in titles_of(svg)), name


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_known_still_draws(width: float) -> None:
    made = sample_in_doubt(["a", "b"], measures=("AP",), queries=1, people=0.0, truth=0.0)
    assert made.summary["p_best"].is_nan().any()
    drawn = {name: to_svg(figure) for name, figure in figures_of(made, width).items()}
    assert "no known doubt changes it" in " ".join(texts_of(drawn["shares"]))
    assert "–" in texts_of(drawn["better"])
    assert under_doubt(made).endswith(" a is ahead on AP with 0.5000. How sure that is, is unknown.")
    hole = made.summary.with_columns(value=pl.when(pl.col("system") == "b").then(math.nan).otherwise("value"))
    assert "undefined" in texts_of(to_svg(ridges(replace(made, summary=hole), "AP", width=width)))


# Every figure of an evaluation


def test_all_figures_of_an_evaluation_by_name() -> None:
    judged = sample_evaluation(3)
    names = [
        f"{kind}-{measure}" for measure in ("AP", "nDCG-10", "P-10") for kind in ("intervals", "differences", "pairs")
    ]
    assert list(all_of(judged)) == ["precision-recall", *names]
    doubtful = ["doubts", "ridges-AP", "better-AP", "ridges-P-10", "better-P-10"]
    assert list(all_of(sample_in_doubt(["a", "b"]))) == doubtful
    assert list(all_of(sample_evaluation(1))) == [
        "precision-recall",
        "intervals-AP",
        "intervals-nDCG-10",
        "intervals-P-10",
    ]
