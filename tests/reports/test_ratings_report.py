"""The page of people's ratings: whole, safe, the same every time, and true to the figures."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from endoxa import ratings
from endoxa.reports import Source
from endoxa.reports import rating_figures as drawn
from endoxa.reports.figures import to_svg
from endoxa.reports.rating_findings import FIGURES, Analysis, figures_of, sentences, verdict
from endoxa.reports.ratings import page
from endoxa.tables import Opinions, Run

HOSTILE = '<script>alert("x")</script>'
VOID = {"meta", "link", "br"}


class Reader(HTMLParser):
    """Reads strictly: every tag that opens closes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.errors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.errors.append(tag)


def sample(people: int = 5, queries: int = 12, names: tuple[str, ...] = ("good", "fair", HOSTILE)) -> Analysis:
    """Pairs drawn by three systems, raters of which the last is upside down and called a script."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(queries, 8))
    rows, lists = [], []
    for q in range(queries):
        for i in range(8):
            pair = (f"q{q:02}", f"i{i}")
            chosen = names[(q + i) % len(names)]
            for p in range(people):
                sign = -1 if p == people - 1 and people > 2 else 1
                said = 3 + sign * 1.2 * truth[q, i] + 0.4 * rng.normal() + 0.4 * p - 0.8
                grade = None if rng.random() < 0.03 else float(np.clip(round(said), 1, 5))
                who = HOSTILE if sign < 0 else f"p{p}"
                rows.append((who, *pair, grade, "1-5", chosen, 0.5))
            lists += [(name, *pair, truth[q, i] + (s + 0.2) * rng.normal()) for s, name in enumerate(names)]
    columns = ["source", "query", "item", "grade", "scale", "selected_by", "propensity"]
    opinions = Opinions.of(pl.DataFrame(rows, schema=columns, orient="row"))
    run = Run.of(pl.DataFrame(lists, schema=["system", "query", "item", "score"], orient="row"))
    return ratings.analyse(opinions, run, methods=("isotonic", "ogive"), resamples=100)


@pytest.fixture(scope="module")
def found() -> Analysis:
    return sample()


@pytest.fixture(scope="module")
def html(found: Analysis) -> str:
    return page(found, provenance={"Command": "endoxa ratings <x>"}, files=[Source("a<b.csv", 12, "ab" * 32)])


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def test_the_page_is_whole(html: str) -> None:
    reader = read(html)
    assert reader.errors == []
    assert reader.open == []
    ids = [str(attributes["id"]) for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"])[1:] for tag, attributes in reader.tags if tag == "a"]
    assert set(links) <= set(ids)
    assert {"maps", "curves", "agreement", "raters", "scale", "selection", "dominance", "policies"} <= set(ids)
    assert html.count("Numbers of this figure") == html.count("<figure>") == 9


def test_nothing_is_fetched_and_only_our_script_runs(html: str) -> None:
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert not re.search(r"(?:src|href)=[\"']https?:", html)


def test_names_from_outside_are_text(html: str) -> None:
    assert HOSTILE not in html
    assert html.count("<script>") == 1
    assert "a&lt;b.csv" in html
    assert "alert(&#34;x&#34;)" in html


def test_the_same_bytes_every_time(found: Analysis, html: str) -> None:
    assert page(found, provenance={"Command": "endoxa ratings <x>"}, files=[Source("a<b.csv", 12, "ab" * 32)]) == html


def test_the_figures_of_the_page_are_those_found(found: Analysis, html: str) -> None:
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    first = found.first
    assert first is not None
    for row in first.frame.iter_rows(named=True):
        assert f"{row['held_out']:.3f}".replace("-", "−") in text
        assert f"± {row['se']:.3f}" in text
    assert found.after is not None
    assert f"{found.after.alpha:.3f}" in text
    assert found.selection is not None
    assert f"{abs(found.selection.advantage.gamma):.3f}" in text
    for warning in found.warnings:
        assert " ".join(warning.split()) in " ".join(text.split())


def test_a_page_without_runs_and_with_next_to_nothing() -> None:
    for rows in ([("a", "q", "x", 2.0)], [("a", "q", "x", None), ("b", "q", "x", None)]):
        people = Opinions.of(
            pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row", strict=False)
        )
        reader = read(page(ratings.analyse(people)))
        assert reader.errors == []
        assert "maps" not in [attributes.get("id") for _, attributes in reader.tags]


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


def test_who_follows_people_best_is_the_highest_held_out(found: Analysis) -> None:
    said = verdict(found, name=lambda name: f"«{name}»")
    assert said.startswith("The scores of «good» follow people’s ratings best: r = 0.")
    assert "5 raters agree with alpha" in said
    assert found.first is not None
    frame = found.first.frame
    near = frame.with_columns(
        pl.when(pl.col("system") == "fair").then(frame["held_out"][0] - 0.001).otherwise("held_out").alias("held_out")
    )
    close = replace(found, mappings={"isotonic": replace(found.first, frame=near)})
    assert "«fair» is within the errors of both" in verdict(close, name=lambda name: f"«{name}»")


def test_warnings_say_what_is_wrong(found: Analysis) -> None:
    said = " | ".join(sentences(found))
    assert f"{HOSTILE}: rate against the others" in said
    assert found.benefit is not None
    worse = found.benefit.frame.with_columns(
        pl.when(pl.col("stage") == "held out").then(-1.0).otherwise("alpha").alias("alpha")
    )
    spoilt = replace(found, benefit=replace(found.benefit, frame=worse))
    assert "calibration does not help on pairs it was not learnt on: alpha −1.000 there" in " | ".join(
        sentences(spoilt)
    )
    assert "does not help" not in said


@pytest.mark.parametrize("width", [3.6, 9.0])
@pytest.mark.parametrize("count", [2, 130])
def test_pictures_of_few_and_of_many_raters(width: float, count: int) -> None:
    rng = np.random.default_rng(0)
    raters = pl.DataFrame(
        {
            "source": [f"rater-{n} $x_{n}$" for n in range(count)],
            "answers": rng.integers(1, 500, count),
            "correlation": np.where(rng.random(count) < 0.1, np.nan, rng.uniform(-1, 1, count)),
            "shift": rng.normal(size=count),
            "a": rng.uniform(0.5, 2, count),
            "b": rng.normal(size=count),
            "mean": rng.uniform(1, 5, count),
            "sd": rng.uniform(0, 1, count),
            "flags": ["reversed" if n == 1 else "" for n in range(count)],
        }
    )
    svg = to_svg(drawn.rater_map(raters, width=width))
    assert svg.count("<title>rater-") == count
    assert "rater-1" in svg
    bars = to_svg(drawn.calibration(raters, width=width))
    assert bars.count("as given: mean") == 2 * min(count, drawn.ROWS)
    assert (f"of {count} raters" in bars) == (count > drawn.ROWS)


def test_at_most_some_points_are_drawn() -> None:
    rng = np.random.default_rng(0)
    points = pl.DataFrame({"score": rng.normal(size=50_000), "rating": rng.integers(1, 6, 50_000).astype(float)})
    x = np.linspace(-2, 2, 50)
    maps = {"bayes": pl.DataFrame({"x": x, "mean": 3 + x / 2, "lo": 2.8 + x / 2, "hi": 3.2 + x / 2})}
    svg = to_svg(drawn.score_map(points, maps, threshold=3.0))
    assert 1_000 < svg.count("<use") <= drawn.POINTS + 50
    assert "threshold: relevant is above 3" in svg


def test_a_band_is_drawn_only_where_there_is_one() -> None:
    table = {
        "system": ["a"] * 3, "cutoff": [1, 2, 3], "precision": [0.9, 0.8, 0.7], "recall": [0.1, 0.2, 0.3],
        "precision_lo": [np.nan, 0.7, 0.6], "precision_hi": [np.nan, 0.9, 0.8], "sampled": [3, 40, 60],
        "effective": [2.0, 35.0, 50.0],
    }  # fmt: skip
    svg = to_svg(drawn.precision_recall(pl.DataFrame(table)))
    assert "a, first 1: precision 0.90, recall 0.10, 3 asked, effective 2" in svg
    assert "a, first 2: precision 0.80 [0.70, 0.90], recall 0.20, 40 asked, effective 35" in svg
