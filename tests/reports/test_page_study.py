"""The page of a study of pipelines: the answer first, the tables of the source, tau, and marked words."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from itertools import combinations

import numpy as np
import pytest
from pipeline_samples import sample_study

from endoxa.comparisons.winners import Apart
from endoxa.evaluations.pipelines import ON_RECALL, PipelineStudy, compare_pipelines
from endoxa.reports.pages.page_study import Mark, Reported, View, answer, page, pairs, tables


@pytest.fixture(scope="module")
def study() -> PipelineStudy:
    return sample_study()


def test_the_answer_claims_what_paired_differences_support(study: PipelineStudy) -> None:
    """`best` has the greatest mean by every way, and eight pages do not tell it from `middle`."""
    d, lo, hi = study.compared["truth", "F1"].difference("best", "worst")
    assert lo > 0
    assert answer(study) == (
        "By 8 transcriptions, best and middle cannot be told apart; worst is worse than best "
        f"(F1 +{d:.3f} [{lo:.3f}, {hi:.3f}]). By consensus precision (Method II), best and middle cannot be told "
        "apart; worst is worse than best. Both decide 2 of 3 pairs, 2 of them alike."
    )


def test_a_winner_is_named_with_its_difference_from_the_nearest(study: PipelineStudy) -> None:
    sure = Apart(("best", "middle", "worst"), {
        ("best", "middle"): (0.2, 0.1, 0.3), ("best", "worst"): (0.5, 0.4, 0.6), ("middle", "worst"): (0.3, 0, 0.6),
    })  # fmt: skip
    text = answer(replace(study, compared={**study.compared, ("truth", "F1"): sure}))
    assert text.startswith("By 8 transcriptions, best reads best (F1 +0.200 [0.100, 0.300] against middle). ")


def test_a_consensus_that_decides_a_pair_against_the_truth_opens_the_answer(study: PipelineStudy) -> None:
    turned = Apart(("worst", "middle", "best"), {
        ("worst", "middle"): (0.1, -0.1, 0.2), ("worst", "best"): (0.2, 0.1, 0.3), ("middle", "best"): (0.1, -0.1, 0.2),
    })  # fmt: skip
    text = answer(replace(study, compared={**study.compared, ("Method II", "precision"): turned}))
    assert text.startswith(
        "The consensus is wrong here: it puts worst above best, the transcriptions the other way round. By 8 "
    )
    assert text.endswith("Both decide 1 of 3 pairs, 0 of them alike.")


def test_the_same_name_at_the_top_is_no_agreement(study: PipelineStudy) -> None:
    names = ("best", "middle", "worst")
    undecided = Apart(names, dict.fromkeys(combinations(names, 2), (0.1, -0.1, 0.3)))
    text = answer(replace(study, compared=dict.fromkeys(study.compared, undecided)))
    assert text == (
        "By 8 transcriptions, best, middle and worst cannot be told apart. By consensus precision (Method II), best, "
        "middle and worst cannot be told apart. No pair of 3 is decided by both."
    )
    html = page(Reported("t", replace(study, compared=dict.fromkeys(study.compared, undecided)), "words"))
    tables_ = html[html.index('id="tables"') : html.index('id="pairs"')]
    assert "<b>" not in tables_ and "strong" not in tables_  # the greatest mean is no winner


def test_without_a_truth_few_voters_name_nobody() -> None:
    text = answer(sample_study(typed=False))
    assert text.startswith("By agreement, not by truth, 3 pipelines are too few to say which reads best.")
    assert text.endswith("Nobody has typed these pages, and without a truth an order is a guess.")
    html = page(Reported("t", sample_study(typed=False), "words"))
    assert "Table 6" not in html and "Kendall" not in html and "no transcription" in html


def test_without_a_truth_four_voters_say_whom_they_confirm() -> None:
    rng = np.random.default_rng(0)
    found = {
        name: {f"p{page:02}": [word if rng.random() > share else f"{name}{rng.random()}" for word in "abcdefgh"]
               for page in range(30)}
        for name, share in {"good": 0.0, "fair": 0.3, "poor": 0.35, "bad": 0.8}.items()
    }  # fmt: skip
    text = answer(compare_pipelines(found))
    assert text.startswith("By agreement, not by truth, good reads most precisely (precision +")
    typed = compare_pipelines(found, {"p00": list("abcdefgh")})
    assert "Only 1 page has a transcription; fewer than 6 tell no pipelines apart." in answer(typed)
    html = page(Reported("t", typed, "words"))
    assert "only pages won are counted" in html


def test_pairs_for_the_terminal(study: PipelineStudy) -> None:
    found = pairs(study, "truth", "F1")
    assert found.columns == ["pipeline", "against", "F1", "P(better)", "won", "lost"]
    assert set(found.select("pipeline", "against").iter_rows()) == {
        ("best", "middle"), ("best", "worst"), ("middle", "worst"),
    }  # fmt: skip


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
    assert html.index("By 8 transcriptions, <b>best</b> and") < html.index('class="warnings"')
    assert "Which pipeline reads better than which" in html and " · 8–0" in html
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
