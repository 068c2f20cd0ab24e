"""Pictures and sentences where the truth is in doubt."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from report_samples import HOSTILE, LONG, sample_report, system_names
from scipy import stats

from endoxa.comparisons import shared
from endoxa.comparisons.appraisal import EVERYTHING, Appraisal, appraise, by_consensus
from endoxa.policies import Policy
from endoxa.reports import Report, page
from endoxa.reports import doubts as d
from endoxa.reports.figures import _styled, to_svg
from endoxa.tables import Belief, Draws, Run, Scores

SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = (3.6, 9.0)
NAMES = ("ridges", "better", "shares")
VOID = {"meta", "link", "br", "img", "input", "hr"}


def sample_appraisal(
    systems: list[str],
    *,
    measures: tuple[str, ...] = ("AP", "P@10"),
    queries: int = 12,
    worlds: int = 40,
    model: str = "consensus",
    baseline: str | None = EVERYTHING,
    people: float = 0.02,
    truth: float = 0.01,
    step: float = 0.02,
) -> Appraisal:
    """Systems a step apart, the first best; the baseline stands below the second. 0: that doubt is not known."""
    rng = np.random.default_rng(11)
    everyone = [*systems, *([baseline] if baseline else [])]
    level = 0.5 - step * np.arange(len(systems))
    if baseline:
        level = np.append(level, level[min(1, len(systems) - 1)] - step / 2)
    values = level[:, None] + rng.normal(0, 0.03, (len(everyone), queries)) + rng.normal(0, 0.1, queries)
    values += (level - values.mean(1))[:, None]
    grid = np.stack([values + 0.01 * place for place in range(len(measures))])[..., None]
    shape = (*grid.shape[:3], worlds)
    drawn = grid + rng.normal(0, truth, shape) if truth else None
    shift = np.repeat(rng.normal(0, people or 1, (1, len(everyone), 1, worlds // 2)), 2, axis=3)
    others = grid + shift + rng.normal(0, truth, shape) if people else None
    names = [str(301 + query) for query in range(queries)]
    rows = [
        (system, query, measure, float(grid[m, s, q, 0]), 0.0)
        for s, system in enumerate(everyone)
        for q, query in enumerate(names)
        for m, measure in enumerate(measures)
    ]
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value", "undefined"], orient="row")
    frame = frame.with_columns(*(pl.lit(None, pl.Float64).alias(name) for name in ("sd", "lo", "hi")))
    coverage = pl.DataFrame({"system": everyone}).with_columns(
        pl.lit(value).alias(name)
        for name, value in (
            ("queries", queries), ("missing", 0), ("unknown", 0), ("items", 900), ("judged", 450), ("tied", 9),
        )
    )  # fmt: skip
    draws = None if drawn is None and others is None else Draws(list(measures), everyone, names, drawn, others)
    scores = Scores(frame.select(list(Scores.SCHEMA)), Policy(), coverage, draws=draws)
    belief = Belief.of(
        pl.DataFrame({"query": names, "item": ["a"] * queries, "p": [0.5] * queries}),
        model=model,
        notes=("votes: made for a test", "! one query is answered by one system only"),
    )
    made = appraise(scores, belief, baseline=baseline)
    if model != "consensus":
        return made
    own = {system: 0.1 + 0.8 * place / len(systems) for place, system in enumerate(systems)}
    summary = made.summary.with_columns(
        alone=pl.when(pl.col("system") == (baseline or "")).then(None).otherwise(pl.col("value") - 0.05),
        unique=pl.col("system").replace_strict(own, default=None, return_dtype=pl.Float64),
    )
    depths = pl.DataFrame({"depth": [10, 100], "tau": [0.62, 1.0], "leader": [systems[-1], systems[0]]})
    said = "What this can tell: little."
    return replace(made, summary=summary, depths=depths, warnings=("beware of <clones>",), sentence=said)


def report_of(made: Appraisal, **more: Any) -> Report:
    return Report("Without judgments", made.scores, made.summary, made.comparison, appraisal=made, **more)


def texts_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titles_of(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def figures_of(made: Appraisal, width: float, names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    measure = made.scores.measures[0]
    draw = {
        "ridges": lambda: d.ridges(made, measure, width=width),
        "better": lambda: d.better(made, measure, width=width),
        "shares": lambda: d.shares(made, width=width),
    }
    return {name: draw[name]() for name in names}


class Reader(HTMLParser):
    """Reads a page strictly: every tag that opens closes, in order; keeps the text and the tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.errors: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.tables: list[list[list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"th", "td"}:
            self.tables[-1][-1].append("")
        if tag == "small":
            self.tables[-1][-1][-1] += " "
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if set(self.open) & {"script", "style"}:
            return
        self.text.append(data)
        if set(self.open) & {"th", "td"}:
            self.tables[-1][-1][-1] += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


SIX = sample_appraisal(system_names(6))
APPRAISALS = {
    "six": SIX,
    "belief": sample_appraisal(["a", "b", "c"], measures=("AP",), model="raters", baseline=None, people=0.0),
    "one": sample_appraisal(["lonely"], measures=("AP",)),
    "nothing": sample_appraisal(["a", "b"], measures=("AP",), queries=1, people=0.0, truth=0.0),
    "hostile": sample_appraisal([HOSTILE, LONG + "1", LONG + "2", '"><img src=x onerror=y>'], measures=("AP",)),
}
REPORTS = {name: report_of(made, notes=tuple(made.belief.lines())) for name, made in APPRAISALS.items()}
REPORTS["beside"] = replace(sample_report(2), appraisal=APPRAISALS["belief"])


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page(report) for name, report in REPORTS.items()}


# Figures


@pytest.mark.parametrize(("count", "width"), [(2, 3.6), (6, 9.0), (20, 9.0)])
def test_one_hill_one_bar_and_a_cell_per_pair(count: int, width: float) -> None:
    made = sample_appraisal(system_names(count), measures=("AP",), step=0.2 / count)
    everyone = made.scores.systems
    drawn = {name: titles_of(to_svg(figure)) for name, figure in figures_of(made, width).items()}
    hills = [title.partition(": ")[0] for title in drawn["ridges"]]
    assert set(hills) == set(everyone)
    assert all(hills.count(system) == 5 for system in everyone)  # hill, its middle, interval, mean, name
    assert len(drawn["better"]) == len(set(drawn["better"])) == len(everyone) * (len(everyone) - 1)
    parts = {tuple(title.partition(": ")[0].rsplit(", ", 1)) for title in drawn["shares"]}
    words = ("what is relevant", "who voted", "which queries")
    known = made.doubts.filter(pl.col("variance") > 0)
    assert len(parts) == known.height
    assert parts <= {(system, word) for system in everyone for word in words}


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_stand_by_value_with_the_baseline_in_its_place(width: float) -> None:
    order = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)["system"].to_list()
    assert order.index(EVERYTHING) == 2
    named = [f"{system} (baseline)" if system == EVERYTHING else system for system in order]
    drawn = figures_of(SIX, width)
    for name in ("ridges", "shares"):
        assert [text for text in texts_of(to_svg(drawn[name])) if text in named] == named
    rows = [text for text in texts_of(to_svg(drawn["better"])) if re.match(r"\d+ +\S", text)]
    assert [text.split()[0] for text in rows] == [str(place + 1) for place in range(7)]
    assert [text.split()[1][:4] for text in rows] == [system[:4] for system in order]
    turned = [text for text in texts_of(to_svg(d.ridges(SIX, "AP", width=width, lower=True))) if text in named]
    assert turned == named[::-1]


def test_more_systems_than_can_be_drawn_are_cut_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert d.DRAWN == 40
    monkeypatch.setattr(d, "DRAWN", 4)
    made = sample_appraisal(system_names(7), measures=("AP",), step=0.008)
    best = made.summary.filter(pl.col("system") != EVERYTHING).sort("value", descending=True)["system"].to_list()
    for name, figure in figures_of(made, 9.0).items():
        svg = to_svg(figure)
        assert "The best 4 of 7 systems are drawn; the tables hold all." in texts_of(svg), name
        for place, system in enumerate(best):
            assert any(title.startswith(system) for title in titles_of(svg)) == (place < 4), (name, system)
        assert any(title.startswith(EVERYTHING) for title in titles_of(svg)), name
    monkeypatch.undo()
    assert not any("drawn" in text for text in texts_of(to_svg(d.ridges(made, "AP"))))


@pytest.mark.parametrize("width", WIDTHS)
def test_text_stays_in_the_frame(width: float) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for systems in ([LONG + "1", LONG + "2", "MMMMMMMMMMMMMMM"], system_names(17)):
        made = sample_appraisal(systems, measures=("AP",), step=0.01)
        for name, figure in figures_of(made, width).items():
            with _styled():
                canvas = FigureCanvasAgg(figure)
                canvas.draw()
                box = figure.get_tightbbox(canvas.get_renderer())
            assert box.x0 >= 0, name
            assert box.y0 >= 0, name
            assert box.x1 <= figure.get_figwidth(), name
            assert box.y1 <= figure.get_figheight(), name


def test_rows_of_forty_systems_do_not_overlap() -> None:
    made = sample_appraisal(system_names(40), measures=("AP",), step=0.005)
    names = {*system_names(40), f"{EVERYTHING} (baseline)"}
    for width, name in ((3.6, "ridges"), (9.0, "ridges"), (9.0, "shares")):
        root = ElementTree.fromstring(to_svg(figures_of(made, width, (name,))[name]))
        heights = sorted(float(node.get("y", "nan")) for node in root.iter(f"{SVG}text") if node.text in names)
        assert len(heights) == 41
        assert min(after - before for before, after in pairwise(heights)) > 14


def test_cells_hold_numbers_while_they_can_be_read() -> None:
    for count, width, numbered in ((15, 9.0, True), (16, 9.0, False), (7, 3.6, True), (8, 3.6, False)):
        made = sample_appraisal(system_names(count), measures=("AP",), step=0.3 / count)
        texts = texts_of(to_svg(d.better(made, "AP", width=width)))
        in_cells = sum(bool(re.fullmatch(r"[<>]?0?\.\d\d", text)) for text in texts) - 2  # 0.25 and 0.75 of the key
        assert in_cells == (count * (count + 1) if numbered else 0), (count, width)  # the baseline is one more
        assert ("Bold" if numbered else "Dot") in " ".join(texts)


def test_same_bytes_twice_and_hostile_names_are_text() -> None:
    made = APPRAISALS["hostile"]
    first, second = figures_of(made, 3.6), figures_of(made, 3.6)
    for name, figure in first.items():
        svg = to_svg(figure, prefix="p")
        assert svg == to_svg(second[name], prefix="p")
        root = ElementTree.fromstring(svg)
        assert not [node for node in root.iter() if node.tag.endswith(("script", "img"))]
        assert any(HOSTILE in title for title in titles_of(svg)), name


def test_hill_is_a_density_of_the_draws() -> None:
    rng = np.random.default_rng(5)
    draws = np.concatenate([rng.normal(0.3, 0.02, 1500), rng.normal(0.42, 0.03, 500)])
    at = np.linspace(0.1, 0.6, 400)
    heights = d.density(draws, at, size=2000)
    assert heights is not None
    assert np.trapezoid(heights, at) == pytest.approx(1, abs=1e-3)
    quarter, three = np.quantile(draws, [0.25, 0.75])
    wide = 0.9 * min(draws.std(ddof=1), (three - quarter) / 1.349) * 2000**-0.2
    known = stats.gaussian_kde(draws, bw_method=wide / draws.std(ddof=1))
    np.testing.assert_allclose(heights, known(at), atol=0.02 * known(at).max())
    few = d.density(draws, at, size=50)
    assert few is not None
    assert few.max() < heights.max()  # fewer draws show less detail
    assert d.density(np.full(50, 0.3), at, size=50) is None
    assert d.density(np.full(50, np.nan), at, size=50) is None


def test_hill_stands_where_the_draws_are() -> None:
    """The top of each hill, read from the picture, is near the middle of its interval, and the mean is marked."""
    figure = d.ridges(SIX, "AP", width=9.0)
    axes = figure.axes[0]
    hills = [patch for patch in axes.get_children() if type(patch).__name__ == "Polygon"]
    rows = {row["system"]: row for row in SIX.summary.filter(pl.col("measure") == "AP").iter_rows(named=True)}
    for system, row in rows.items():
        own = [patch.get_xy() for patch in hills if patch.get_gid().startswith(f"hint:{system}: ")]
        assert len(own) == 2
        assert row["lo"] < own[0][own[0][:, 1].argmin(), 0] < row["hi"]
        np.testing.assert_allclose([own[1][:, 0].min(), own[1][:, 0].max()], [row["lo"], row["hi"]])
        marks = [line for line in axes.lines if str(line.get_gid()).startswith(f"hint:{system}: ")]
        assert [list(line.get_xdata()) for line in marks if len(line.get_xdata()) == 1] == [[row["value"]]]


# Numbers


def test_chances_are_counted_from_the_same_draws() -> None:
    seed = int(np.random.default_rng(0).integers(1 << 62))
    made = shared.spread(SIX.scores, "AP", rng=np.random.default_rng(seed))
    drawn = made.drawn("all")
    assert drawn is not None
    found = d.chances(SIX, "AP")
    assert len(found) == 21
    for one in found:
        gap = drawn[made.systems.index(one.system)] - drawn[made.systems.index(one.against)]
        assert one.better == pytest.approx((gap > 0).mean())
        assert one.turned().better == pytest.approx((gap < 0).mean())
        assert one.turned().turned() == one
        assert one.superiority + one.turned().superiority == pytest.approx(1)
        assert one.differs == one.turned().differs == (one.lo > 0 or one.hi < 0)


def test_matrix_says_what_the_comparison_says() -> None:
    assert SIX.comparison is not None
    rows = SIX.comparison.frame.filter((pl.col("measure") == "AP") & (pl.col("doubt") == "all"))
    titles = titles_of(to_svg(d.better(SIX, "AP")))
    for row in rows.iter_rows(named=True):
        for system, against, p in (
            (row["system"], row["baseline"], row["p_better"]),
            (row["baseline"], row["system"], 1 - row["p_better"] - row["p_tie"]),
        ):
            (title,) = [title for title in titles if title.startswith(f"{system} better than {against}: ")]
            said = title.split(": ")[1].split("; ")[0]
            if 0.005 < p < 0.995:
                assert float(said) == pytest.approx(p, abs=0.005)
            else:
                assert said in {"< 0.01", "> 0.99", "0.01", "0.99"}


def test_bars_are_the_shares_of_the_table() -> None:
    titles = titles_of(to_svg(d.shares(SIX, width=9.0)))
    words = {"truth": "what is relevant", "people": "who voted", "queries": "which queries"}
    for system, doubt, part in SIX.doubts.select("system", "doubt", "share").iter_rows():
        (title,) = [title for title in titles if title.startswith(f"{system}, {words[doubt]}: ")]
        assert float(title.split(": ")[1].split(" %")[0]) == pytest.approx(100 * part, abs=0.05)
    axes = d.shares(SIX, width=9.0).axes[0]
    bars = [patch for patch in axes.get_children() if type(patch).__name__ == "Rectangle" and patch.get_gid()]
    assert sum(bar.get_width() for bar in bars) == pytest.approx(7)


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.62, "0.62"), (0.9999, "> 0.99"), (1.0, "> 0.99"), (0.0, "< 0.01"), (0.004, "< 0.01"), (math.nan, "–")],
)
def test_no_probability_is_printed_as_sure(p: float, said: str) -> None:
    assert d.chance(p) == said
    assert d.chance(None) == "–"
    assert d.chance(0.9999, 3) == "> 0.999"


# Sentences


def test_verdict_names_the_leader_and_whom_it_cannot_be_told_from() -> None:
    said = d.verdict(SIX)
    rows = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    best = rows.row(0, named=True)
    assert best["system"] == "bm25"
    assert said.startswith(
        f"Within this consensus bm25 leads with AP {best['value']:.4f} (95 % interval {best['lo']:.4f} to "
        f"{best['hi']:.4f}); it is the best of 6 systems with probability {best['p_best']:.2f}"
    )
    assert SIX.comparison is not None
    pairs = SIX.comparison.frame.filter(
        (pl.col("measure") == "AP") & (pl.col("doubt") == "all") & (pl.col("system") == "bm25")
    )
    same = pairs.filter((pl.col("lo") <= 0) & (pl.col("baseline") != EVERYTHING)).sort("p_better")
    assert same.height == 2
    first, second = same.select("baseline", "p_better").iter_rows()
    assert f"It cannot be told apart from {first[0]} (it is better with probability {first[1]:.2f})" in said
    assert said.endswith(f" and {second[0]} ({second[1]:.2f}).")
    assert EVERYTHING not in said


def test_verdict_of_any_other_belief_and_of_far_and_equal_systems() -> None:
    far = sample_appraisal(["a", "b", "c"], model="raters", baseline=None, step=0.2)
    assert d.verdict(far).startswith("Under this belief a leads with AP ")
    assert d.verdict(far).endswith("probability > 0.99. It can be told apart from all others.")
    assert "P@10" not in d.verdict(far)
    two = sample_appraisal(["a", "b"], step=0.01)
    assert re.search(r"it is better than b with probability 0\.\d\d\. The two cannot be told apart\.", d.verdict(two))
    alone = d.verdict(APPRAISALS["one"])
    assert "lonely has AP 0.5000" in alone
    assert "there is no other system to hold it against." in alone
    even = replace(two, summary=two.summary.with_columns(value=pl.lit(0.4)))
    assert "a and b share the lead with AP 0.4000" in d.verdict(even)
    nothing = replace(two, summary=two.summary.with_columns(value=pl.lit(math.nan)))
    assert d.verdict(nothing) == "Within this consensus AP is undefined for every system: there is nothing to compare."
    marked = d.verdict(two, name=lambda text: f"<{text}>")
    assert "<a> leads with <AP>" in marked
    assert "than <b>" in marked


def test_verdict_says_when_another_is_the_best_more_often_and_when_none_beats_the_baseline() -> None:
    third = SIX.summary["system"].unique(maintain_order=True)[2]
    often = SIX.summary.with_columns(p_best=pl.when(pl.col("system") == third).then(0.9).otherwise("p_best"))
    assert f", {third} more often, with 0.90" in d.verdict(replace(SIX, summary=often))
    high = SIX.summary.with_columns(value=pl.when(pl.col("system") == EVERYTHING).then(0.9).otherwise("value"))
    said = d.verdict(replace(SIX, summary=high))
    assert said.startswith("Within this consensus bm25 leads")
    assert said.endswith(f" But no system does better than the baseline {EVERYTHING} (0.9000).")
    assert "But" not in d.verdict(replace(SIX, summary=high.filter(pl.col("system") != EVERYTHING)))
    low = SIX.summary.with_columns(value=pl.when(pl.col("system") == EVERYTHING).then(0.01).otherwise("value"))
    assert d.verdict(replace(SIX, summary=low), lower=True).endswith(f"the baseline {EVERYTHING} (0.0100).")
    assert "But" not in d.verdict(replace(SIX, summary=high), lower=True)


def with_shares(made: Appraisal, truth: float, people: float, queries: float) -> Appraisal:
    parts = {"truth": truth, "people": people, "queries": queries}
    variance = pl.col("doubt").replace_strict(parts, return_dtype=pl.Float64)
    total = sum(part for part in parts.values() if not math.isnan(part))
    part = variance / total if total else pl.lit(None, pl.Float64)
    return replace(made, doubts=made.doubts.with_columns(variance=variance, share=part))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((0.7, 0.2, 0.1), "Most of the doubt (70.0 % of the variance, on average) hangs on what is relevant: judged"),
        ((0.1, 0.8, 0.1), "Most of the doubt (80.0 % of the variance, on average) hangs on who voted: more voters"),
        ((0.1, 0.2, 0.7), "Most of the doubt (70.0 % of the variance, on average) hangs on which queries: more q"),
        ((0.3, 0.3, 0.4), "The largest part of the doubt (40.0 % of"),
        ((0.0, 0.0, 0.0), "None of the doubts that are known moves a mean."),
    ],
)  # fmt: skip
def test_advice_follows_the_largest_doubt(parts: tuple[float, float, float], said: str) -> None:
    told = d.advice(with_shares(SIX, *parts))
    assert len(told) == 1
    assert told[0].startswith(said)


def test_advice_says_which_doubt_is_not_known() -> None:
    made = APPRAISALS["belief"]
    told = d.advice(made)
    assert told[1:] == [
        "How much hangs on who was asked is not known: there is one voice, or none that can be resampled. "
        "The intervals are without it."
    ]
    assert "asking more people" in d.advice(with_shares(made, 0.1, 0.8, 0.1))[0]
    nan = math.nan
    assert [line.split(":")[0] for line in d.advice(with_shares(made, nan, nan, nan))] == [
        "How much hangs on what is relevant is not known",
        "How much hangs on who was asked is not known",
        "How much hangs on which queries is not known",
    ]
    assert not any("who was asked" in title for title in titles_of(to_svg(d.shares(made))))


def test_baseline_has_no_part_in_the_advice() -> None:
    loud = SIX.doubts.with_columns(share=pl.when(pl.col("system") == EVERYTHING).then(1e6).otherwise("share"))
    assert d.advice(replace(SIX, doubts=loud)) == d.advice(SIX)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_known_still_draws(width: float) -> None:
    made = APPRAISALS["nothing"]
    assert made.summary["p_best"].is_nan().any()
    drawn = {name: to_svg(figure) for name, figure in figures_of(made, width).items()}
    assert "no doubt that is known moves it" in " ".join(texts_of(drawn["shares"]))
    assert "–" in texts_of(drawn["better"])
    assert d.verdict(made).startswith("Within this consensus a leads with AP 0.5000; how sure that is, is not known.")
    hole = made.summary.with_columns(value=pl.when(pl.col("system") == "b").then(math.nan).otherwise("value"))
    assert "undefined" in texts_of(to_svg(d.ridges(replace(made, summary=hole), "AP", width=width)))


# The page


@pytest.mark.parametrize("name", REPORTS)
def test_page_is_well_formed_and_loads_nothing(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    reader = read(html)
    assert reader.errors == []
    assert reader.open == []
    ids = [str(attributes["id"]) for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        assert tag not in {"iframe", "object", "embed", "base", "form", "img"}
        assert not any(key.startswith("on") for key in attributes)
        if tag == "a":
            assert str(attributes["href"])[1:] in ids
    for reference in re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', html):
        assert reference in ids
    assert "http://" not in html
    assert "https://" not in html
    assert html.count("<figure>") == html.count("<figcaption>") == html.count('role="img"')
    assert html.count("<table") == html.count("<caption>")
    headings = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_sections_follow_what_is_there(pages: dict[str, str]) -> None:
    def sections(name: str) -> list[str]:
        return re.findall(r'<h2 id="(\w+)">', pages[name])

    rest = ["coverage", "policies"]
    assert sections("six") == ["warnings", "doubts", "ridges", "better", "shares", "depths", "differences", *rest]
    assert sections("belief") == ["warnings", "doubts", "ridges", "better", "shares", "differences", *rest]
    assert sections("nothing") == ["warnings", "doubts", "ridges", "shares", "depths", "differences", *rest]
    assert sections("one") == ["warnings", "doubts", "ridges", "better", "shares", "depths", *rest]
    beside = [
        "warnings",
        "doubts",
        "doubtful",
        "ridges",
        "better",
        "shares",
        "summary",
        "curves",
        "differences",
        "pairs",
    ]
    assert sections("beside") == [*beside, *rest, "measures", "provenance"]


def test_page_says_within_this_consensus_and_never_calls_it_map(pages: dict[str, str]) -> None:
    text = " ".join("".join(read(pages["six"]).text).split())
    assert text.count("within this consensus") > 5
    assert not re.search(r"\b(MAP|map|mean average precision|truth|true|correct|really)\b", text)
    assert "this consensus" not in "".join(read(pages["belief"]).text)
    assert "under this belief" in "".join(read(pages["belief"]).text)


def test_verdict_warnings_and_how_the_belief_was_made(pages: dict[str, str]) -> None:
    html = pages["six"]
    (top,) = re.findall(r'<p class="verdict">(.*?)</p>', html)
    assert unescape(re.sub("<[^>]+>", "", top)).replace("\u00a0", " ") == d.verdict(SIX)
    text = "".join(read(html).text)
    assert SIX.sentence in text
    assert "beware of <clones>" in text
    assert "beware of <clones>" not in html
    assert "one query is answered by one system only" in text
    assert "! one" not in text
    for line in SIX.belief.lines()[:2]:
        assert text.count(line) == 1  # under the summary, not among the notes again
    for line in d.advice(SIX):
        assert line in text
    assert SIX.comparison is not None
    assert all(note in text for note in SIX.comparison.notes)
    assert "6 systems12 queries" in text  # the baseline is none
    assert html.index('class="verdict"') < html.index(SIX.sentence) < html.index('id="doubts"')


def test_tables_hold_the_numbers_of_the_appraisal(pages: dict[str, str]) -> None:
    first, others, *_ = read(pages["six"]).tables
    assert first[0] == ["system", "AP", "P(best)", "without own vote", "unique"]
    rows = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    for shown, row in zip(first[1:], rows.iter_rows(named=True), strict=True):
        value = f"{row['value']:.4f} [{row['lo']:.4f}, {row['hi']:.4f}]"
        if row["system"] == EVERYTHING:
            assert shown == [f"{EVERYTHING} baseline", value, "–", "–", "–"]
        else:
            rest = [d.chance(row["p_best"]), f"{row['alone']:.4f}", f"{100 * row['unique']:.1f} %"]
            assert shown == [row["system"], value, *rest]
    assert others[0] == ["system", "P@10", "P(best)"]
    assert [shown[0] for shown in others] == [shown[0] for shown in first]
    known = {row["system"]: row for row in SIX.summary.filter(pl.col("measure") == "P@10").iter_rows(named=True)}
    for shown in others[1:]:
        row = known[shown[0].removesuffix(" baseline")]
        assert shown[1].startswith(f"{row['value']:.4f} [")
        assert shown[2] == d.chance(row["p_best"])
    baselines = re.findall(r'<tr class="baseline">\s*<th[^>]*>(.)', pages["six"])
    assert set(baselines) == {EVERYTHING}
    assert len(baselines) == 6  # both tables, a hill each, the doubts, the coverage
    depth = read(pages["six"].split('id="depths"')[1].split("</section>")[0]).tables[0]
    assert depth == [["depth", "tau", "leader"], ["10", "0.62", "rerank-mono"], ["100", "1.00", "bm25"]]


def test_columns_that_are_not_known_are_left_out(pages: dict[str, str]) -> None:
    assert read(pages["belief"]).tables[0][0] == ["system", "AP", "P(best)"]
    assert read(pages["one"]).tables[0][0] == ["system", "AP", "without own vote", "unique"]
    assert 'class="baseline"' not in pages["belief"]


def test_pairs_stand_under_the_matrix(pages: dict[str, str]) -> None:
    tables = read(pages["six"].split('id="better"')[1].split("</section>")[0]).tables
    assert len(tables) == 2
    for measure, table in zip(("AP", "P@10"), tables, strict=True):
        found = {
            frozenset((one.system, one.against)): one
            for pair in d.chances(SIX, measure)
            for one in ((pair, pair.turned())[pair.difference < 0],)
        }
        assert len(table) == 22
        for row in table[1:]:
            one = found[frozenset((row[0].removesuffix(" baseline"), row[1]))]
            assert row[2:5] == [d.chance(p, 3) for p in (one.better, one.tie, one.worse)]


def test_names_are_escaped(pages: dict[str, str]) -> None:
    html = pages["hostile"]
    assert "alert(" in html
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "".join(read(html).text).count(HOSTILE) > 5


def test_doubts_stand_beside_judged_scores(pages: dict[str, str]) -> None:
    html = pages["beside"]
    top, below = re.findall(r'<p class="verdict">(.*?)</p>', html)
    assert "after" in top
    assert "Under this belief" in below
    assert html.index('id="doubts"') < html.index('id="summary"')
    tables = read(html).tables
    assert tables[0][0] == ["system", "AP", "P(best)"]  # in doubt
    assert ["system", "queries", "missing", "unknown", "items", "unjudged", "tied"] in [table[0] for table in tables]


def test_page_from_runs_alone() -> None:
    rng = np.random.default_rng(2)
    rows = [
        (system, f"q{query}", f"d{item}", float(score))
        for system, noise in (("a", 0.3), ("b", 0.6), ("c", 1.0), ("e", 2.0))
        for query in range(6)
        for item, score in enumerate(np.arange(30) / 10 + rng.normal(0, noise, 30))
    ]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    made = by_consensus(run, "AP", depth=10, worlds=30, people=10)
    reader = read(page(report_of(made)))
    assert reader.errors == []
    text = "".join(reader.text)
    assert text.count("ithin this consensus") > 5
    assert made.sentence in text
    rows = made.summary.sort("value", descending=True)
    shown = [row[1] for row in reader.tables[0][1:]]
    assert shown == [f"{row['value']:.4f} [{row['lo']:.4f}, {row['hi']:.4f}]" for row in rows.iter_rows(named=True)]
    assert made.depths is not None
    told = [
        [str(depth), "–" if math.isnan(tau) else f"{tau:.2f}", leader] for depth, tau, leader in made.depths.iter_rows()
    ]
    assert told in [table[1:] for table in reader.tables]
    coverage = next(table for table in reader.tables if "tied" in table[0])
    assert coverage[0][5] == "unmentioned"
    assert [row[0] for row in coverage[1:]] == ["a", "b", "c", "e", EVERYTHING]
