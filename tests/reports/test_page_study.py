"""The page of a study of pipelines: the answer first, the tables of the source, tau, and marked words."""

from __future__ import annotations

from html import unescape

import pytest
from pipeline_samples import sample_study

from endoxa.evaluations.pipelines import ON_RECALL, PipelineStudy, compare_pipelines
from endoxa.reports.pages.page_study import Mark, Reported, View, answer, page, tables


@pytest.fixture(scope="module")
def study() -> PipelineStudy:
    return sample_study()


def test_the_answer_comes_first(study: PipelineStudy) -> None:
    text = answer(study)
    assert text.startswith("By consensus, best reads most precisely: precision 0.")
    assert "The transcriptions agree: 0." in text and "by precision is 1.00 [" in text


def test_without_a_truth_the_order_is_called_a_guess() -> None:
    text = answer(sample_study(typed=False))
    assert text.endswith("Nobody has typed these pages, and without a truth an order is a guess.")
    html = page(Reported("t", sample_study(typed=False), "words"))
    assert "Table 6" not in html and "Kendall" not in html and "no transcription" in html


def test_tables_for_the_terminal(study: PipelineStudy) -> None:
    found = tables(study)
    assert list(found) == ["precision", "recall", "F1"]
    assert found["precision"].columns == ["pipeline", "truth", "Method I", "Method II"]
    assert found["precision"]["pipeline"].to_list() == ["best", "middle", "worst"]
    means = study.means("truth", "precision")
    assert found["precision"]["truth"][0].startswith(f"{means['best']:.3f} [")


def test_the_page_has_the_tables_of_the_source_tau_and_the_warning(study: PipelineStudy) -> None:
    html = unescape(page(Reported("A study", study, "words", failures=["p9 is left out"])))
    for text in (
        "as Table 6 of Lamiroy and Sun", "as Table 7 of Lamiroy and Sun", "as Table 8 of Lamiroy and Sun",
        "Kendall's tau of the order by consensus and by truth", ON_RECALL, "p9 is left out", "finds everything",
        "finds nothing", "Pages without output",
    ):  # fmt: skip
        assert text in html, text
    assert html.index("By consensus, <b>best</b> reads") < html.index('class="warnings"')
    assert 'id="views"' not in html


def test_words_are_marked_on_the_picture_and_in_the_text_and_are_escaped(study: PipelineStudy) -> None:
    marks = [Mark(10, 20, 5, 2, [("a", "<b>"), ("b", "")], split=True)]
    views = [View("p1", "data:image/jpeg;base64,AAAA", 0.25, marks, {"a": [("<b>", True), ("x", False)], "b": []})]
    html = page(Reported("t", study, "words", views))
    assert '<span aria-hidden="true" class="split" style="left:10%;top:20%;width:5%;height:2%"' in html
    assert 'title="a: &lt;b&gt; · b: –"' in html and "<mark>&lt;b&gt;</mark> x" in html
    assert "<em>no words</em>" in html and "all pipelines share 25 % of what was found" in html
    without = page(Reported("t", study, "words", [View("p1", "", 1.0, [], {"a": [("", True)]})]))
    assert "<img" not in without and "<mark>–</mark>" in without


def test_a_pipeline_without_any_right_word_is_on_the_page() -> None:
    found = {"a": {"p0": ["x"], "p1": ["y"]}, "b": {"p0": ["x"], "p1": ["y"]}, "c": {"p0": [], "p1": ["y"]}}
    study = compare_pipelines(found, {"p0": ["x"]})
    assert page(Reported("t", study, "words")) and tables(study)["precision"]["truth"][-1] == "– [–, –]"
