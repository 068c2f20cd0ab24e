from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape
from itertools import pairwise

import polars as pl
import pytest
from evaluation_samples import HOSTILE, LONG, read, sample_evaluation, sample_scores, sample_summary

from endoxa.evaluations.evaluation import Evaluation
from endoxa.measures.explain import definition_line
from endoxa.notes import text, texts
from endoxa.reports.pages.evaluation import page
from endoxa.tables import Costs

SAMPLES = {
    "one": sample_evaluation(1),
    "six": sample_evaluation(6),
    "many": sample_evaluation(14),
    "baseline": sample_evaluation(6, baseline="bm25"),
    "hostile": sample_evaluation(
        systems=[HOSTILE, LONG + "1", LONG + "2", "Å\x00\u202e検索", '"><img src=x onerror=y>']
    ),
    "bare": sample_evaluation(2, compared=None, tables={}, warnings=(), provenance={}, files=(), notes=()),
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page(evaluation) for name, evaluation in SAMPLES.items()}


@pytest.mark.parametrize("name", SAMPLES)
def test_page_is_well_formed(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    reader = read(html)
    assert reader.errors == []
    assert reader.open == []
    assert html.startswith("<!DOCTYPE html>")
    ids = [str(attributes["id"]) for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        if tag == "a":
            assert str(attributes["href"])[1:] in ids
    for reference in re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', html):
        assert reference in ids


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_loaded_from_anywhere(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    for tag, attributes in read(html).tags:
        assert tag not in {"iframe", "object", "embed", "base", "form", "img"}
        for key, value in attributes.items():
            assert not key.startswith("on")
            if key in {"src", "href", "xlink:href", "action"}:
                assert str(value).startswith(("#", "data:,")), (tag, key, value)
    assert set(re.findall(r"url\((.)", html)) <= {"#"}


@pytest.mark.parametrize("name", SAMPLES)
def test_only_our_own_script_runs(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_hostile_names_are_escaped(pages: dict[str, str]) -> None:
    html = pages["hostile"]
    assert "alert(" in html
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "\x00" not in html
    assert "\u202e" not in html
    assert LONG + "1" in html  # in full at least once
    assert "".join(read(html).text).count(HOSTILE) >= 2
    evaluation = replace(
        sample_evaluation(2),
        title="<b>T</b>",
        warnings=(text("<i>w</i>", "warning"),),
        notes=(text("<u>n</u>"),),
        provenance={"<q>": "<s>"},
    )
    escaped = page(evaluation)
    for tag in ("<b>T", "<i>w", "<u>n", "<q>", "<s>"):
        assert tag not in escaped
    assert "&lt;b&gt;T&lt;/b&gt;" in escaped


@pytest.mark.parametrize("name", ["one", "six", "many", "baseline"])
def test_every_number_of_the_summary_appears(pages: dict[str, str], name: str) -> None:
    text = "".join(read(pages[name]).text)
    for row in SAMPLES[name].summary.iter_rows(named=True):
        if row["lo"] is None:
            assert f"{row['value']:.0f}" in text
            continue
        assert f"{row['value']:.4f}" in text
        assert f"[{row['lo']:.4f}, {row['hi']:.4f}]" in text


def test_verdict_comes_first(pages: dict[str, str]) -> None:
    html = pages["six"]
    verdict = re.search(r'<p class="verdict">(.*?)</p>', html)
    assert verdict is not None
    sentence = unescape(re.sub(r"<[^>]+>", "", verdict[1])).replace("\u00a0", " ")
    assert sentence.startswith("hybrid-rrf is ahead on AP with 0.3508 over 47 queries, 0.026 above the runner-up bm25")
    assert "after Holm" in sentence
    assert html.index("verdict") < html.index('id="warnings"') < html.index('id="summary"')
    assert "there is no other system" in pages["one"]
    assert "above the baseline <b>bm25-rm3</b>" in page(sample_evaluation(6, baseline="bm25-rm3"))


def test_sections_follow_what_is_there(pages: dict[str, str]) -> None:
    everything = ["summary", "curves", "differences", "pairs", "coverage", "policies", "measures", "provenance"]
    assert re.findall(r'<h2 id="(\w+)">', pages["six"]) == ["warnings", *everything]
    assert re.findall(r'<h2 id="(\w+)">', pages["bare"]) == [
        "summary", "differences", "coverage", "policies", "measures",
    ]  # fmt: skip
    assert re.findall(r'<h2 id="(\w+)">', pages["one"]) == [
        "warnings", "summary", "curves", "coverage", "policies", "measures", "provenance",
    ]  # fmt: skip


def test_page_tells_how_the_numbers_were_made(pages: dict[str, str]) -> None:
    text = "".join(read(pages["six"]).text)
    evaluation = SAMPLES["six"]
    for line in evaluation.scores.policy.lines():
        setting, _, meaning = line.partition(": ")
        assert setting in text
        assert meaning in text
    assert evaluation.comparison is not None
    for part in (
        *texts((*evaluation.warnings, *evaluation.notes)),
        *texts(evaluation.comparison.notes),
        *evaluation.provenance.values(),
    ):
        assert part in text
    for source in evaluation.files:
        assert source.name in text
        assert source.sha256 in text
    for name in evaluation.scores.measures:
        meaning = definition_line(name)
        assert name in text
        assert meaning in text


def test_measures_with_one_definition_share_an_entry() -> None:
    scores = sample_scores(["a", "b"], measures=("P@5", "AP", "P@10"))
    evaluation = sample_evaluation(systems=["a", "b"], scores=scores)
    assert re.findall(r"<dt>([^<]+)</dt><dd class", page(evaluation)) == ["P@5, P@10", "AP"]


def test_notes_given_twice_are_printed_once() -> None:
    evaluation = sample_evaluation(2)
    assert evaluation.comparison is not None
    html = page(replace(evaluation, notes=evaluation.comparison.notes))
    assert html.count(str(evaluation.comparison.notes[0])) == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_figures_and_tables_are_accessible(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    reader = read(html)
    assert html.count("<figure>") == html.count("<figcaption>")
    figures = [attributes for tag, attributes in reader.tags if attributes.get("role") == "img"]
    assert len(figures) == html.count("<figure>")
    assert all(attributes["aria-label"] for attributes in figures)
    for figure in re.findall(r"<figure>.*?</figure>", html, flags=re.DOTALL):
        assert "<details>" in figure
        assert "<table" in figure
    assert html.count("<table") == html.count("<caption>")
    for tag, attributes in reader.tags:
        if tag == "th":
            assert attributes.get("scope") in {"row", "col"}
    headings = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_summary_is_sorted_by_the_first_measure(pages: dict[str, str]) -> None:
    table = pages["six"].split("<tbody>")[1].split("</tbody>")[0]
    values = [float(value) for value in re.findall(r'</th>\s*<td class="n" data-sort="([^"]+)"', table)]
    assert values == sorted(values, reverse=True)
    assert 'aria-sort="descending">AP<' in pages["six"]
    scores = sample_scores(["a", "b"], measures=("Unjudged@10",))
    lower = page(sample_evaluation(systems=["a", "b"], scores=scores, summary=sample_summary(scores), compared=None))
    assert 'aria-sort="ascending">Unjudged@10<' in lower


def test_missing_topics_stand_out_in_the_coverage(pages: dict[str, str]) -> None:
    table = pages["six"].split('id="coverage"')[1].split("</table>")[0]
    assert "<b>2</b>" in table
    assert "58.8 %" in table


def test_many_queries_are_cut_in_the_table_not_in_the_figure() -> None:
    scores = sample_scores(["a", "b"], 300, ("AP",))
    evaluation = sample_evaluation(systems=["a", "b"], scores=scores, tables={}, compared=None)
    html = page(evaluation)
    assert "The 100 largest gains and losses of" in html
    assert html.count("<title>query ") > 2 * 200


def test_many_warnings_are_folded() -> None:
    html = page(replace(sample_evaluation(2), warnings=tuple(f"warning number {i}" for i in range(30))))
    assert "<summary>22 more</summary>" in html
    assert "warning number 29" in html


def test_same_report_same_page() -> None:
    assert page(sample_evaluation(2)) == page(sample_evaluation(2))


def test_undefined_everywhere_still_makes_a_page() -> None:
    evaluation = sample_evaluation(2)
    nothing = pl.lit(float("nan"))
    frame = evaluation.scores.frame.with_columns(value=nothing, undefined=pl.lit(1.0))
    empty = Evaluation(
        "judgments",
        type(evaluation.scores)(frame, evaluation.scores.policy, evaluation.scores.coverage),
        evaluation.summary.with_columns(value=nothing, lo=pl.lit(None, pl.Float64), hi=pl.lit(None, pl.Float64)),
    )
    html = page(empty)
    assert "is undefined for every system" in html
    assert read(html).errors == []


def test_colours_follow_light_and_dark(pages: dict[str, str]) -> None:
    svg = pages["six"].split("<svg")[1]
    assert "var(--ink)" in svg
    assert "#1d2330" not in svg
    assert "prefers-color-scheme: dark" in pages["six"]
    assert "@media print" in pages["six"]


def test_an_evaluation_without_scores_per_query_has_a_page() -> None:
    evaluation = sample_evaluation(3, scores=None, tables={})
    html = page(evaluation)
    assert read(html).errors == []
    assert re.findall(r'<h2 id="(\w+)">', html) == [
        "warnings",
        "summary",
        "pairs",
        "policies",
        "measures",
        "provenance",
    ]
    assert "3 systems" in html
    assert "50 queries" in html


def test_costs_have_a_section() -> None:
    rows = [("bm25", "build", 10, 0.25, 7000, None, None)]
    costs = Costs.of(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    html = page(sample_evaluation(2, costs=costs))
    assert '<h2 id="costs">What the systems cost</h2>' in html
    assert "7.0 kB" in html
