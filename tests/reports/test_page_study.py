"""The page of a study of pipelines: the answer first, the tables of the source, tau, and marked words."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from pipeline_samples import sample_of_a_wrong_consensus, sample_study

from endoxa.comparisons.winners import Apart
from endoxa.evaluations.pipelines import ON_RECALL, PipelineStudy, compare_pipelines
from endoxa.reports.pages.page_study import Mark, Reported, View, _pairs, _tables, answer, page, pairs, tables


@pytest.fixture(scope="module")
def study() -> PipelineStudy:
    return sample_study()


def test_the_answer_claims_what_paired_differences_support(study: PipelineStudy) -> None:
    """`best` has the greatest mean by every way, and eight pages do not tell it from `middle`."""
    ahead, less = (study.compared["truth", "F1"].difference(one, "worst")[0] for one in ("best", "middle"))
    assert ahead > less > 0
    assert answer(study) == (
        "By 8 transcriptions, best and middle cannot be told apart; both read better than worst "
        f"(F1 +{ahead:.3f} and +{less:.3f}). By consensus precision (Method II), best and middle cannot be told apart; "
        "worst is worse than best. The consensus orders both decided pairs as the transcriptions do."
    )


def test_the_answer_where_the_consensus_prefers_a_pipeline_that_reads_less() -> None:
    """`short` reads four or five of ten words and nothing wrong; the others read eight rightly and two wrongly.

    By hand: F1 of the others is 2 · 8/(10 + 10) = .8, of `short` 2 · 4/14 and 2 · 5/15 in turn, a mean of .6190.
    """
    study = sample_of_a_wrong_consensus()
    assert study.means("truth", "F1") == pytest.approx({"long": 0.8, "other": 0.8, "short": (4 / 7 + 2 / 3) / 2})
    assert answer(study) == (
        "The consensus is wrong here: its precision puts short above long and short above other, the transcriptions "
        "(F1) the other way round. By 12 transcriptions, long and other cannot be told apart; both read better than "
        "short (F1 +0.181 and +0.181). By consensus precision (Method II), short, long and other cannot be told "
        "apart. The consensus orders none of the 2 decided pairs as the transcriptions do."
    )


NAMES = ("a", "b", "c")
DECIDED = [  # pairs decided by truth; the order of the means by consensus; what the answer says of both
    ({"ab"}, "abc", "The consensus orders the one decided pair as the transcriptions do."),
    ({"ab"}, "bca", "The consensus does not order the one decided pair as the transcriptions do."),
    ({"ac", "bc"}, "bac", "The consensus orders both decided pairs as the transcriptions do."),
    ({"ac", "bc"}, "bca", "The consensus orders 1 of the 2 decided pairs as the transcriptions do."),
    ({"ab", "ac"}, "bca", "The consensus orders none of the 2 decided pairs as the transcriptions do."),
    ({"ab", "ac", "bc"}, "abc", "The consensus orders all 3 decided pairs as the transcriptions do."),
    (set(), "cba", "The transcriptions decide no pair, so they do not say whether the consensus is right."),
]


@pytest.mark.parametrize(("decided", "consensus", "said"), DECIDED)
def test_of_the_pairs_that_truth_decides_the_answer_counts_those_that_the_consensus_orders_alike(
    study: PipelineStudy, decided: set[str], consensus: str, said: str
) -> None:
    true = Apart(NAMES, {
        (one, other): (0.2, 0.1 if one + other in decided else -0.1, 0.3) for one, other in combinations(NAMES, 2)
    })  # fmt: skip
    values = pl.DataFrame({
        "way": ["Method II"] * 3, "measure": ["precision"] * 3, "pipeline": list(consensus), "value": [0.9, 0.7, 0.5],
    })  # fmt: skip
    text = answer(replace(study, pipelines=NAMES, compared={**study.compared, ("truth", "F1"): true}, values=values))
    turned = [one + other for one, other in sorted(decided) if consensus.index(one) > consensus.index(other)]
    assert text.endswith(said)
    assert text.startswith("The consensus is wrong here: its precision puts ") == bool(turned)
    for better, worse in turned:
        assert f"{worse} above {better}" in text.partition(".")[0]


def test_consensus_means_that_are_equal_are_neither_alike_nor_turned(study: PipelineStudy) -> None:
    true = Apart(NAMES[:2], {("a", "b"): (0.2, 0.1, 0.3)})
    values = pl.DataFrame({
        "way": ["Method II"] * 2, "measure": ["precision"] * 2, "pipeline": ["a", "b"], "value": [0.5, 0.5],
    })  # fmt: skip
    compared = {**study.compared, ("truth", "F1"): true}
    text = answer(replace(study, pipelines=NAMES[:2], compared=compared, values=values))
    assert text.startswith("By 8 transcriptions, a reads best (F1 ") and "does not order the one decided" in text


def test_a_winner_is_named_with_its_difference_from_the_nearest(study: PipelineStudy) -> None:
    sure = Apart(("best", "middle", "worst"), {
        ("best", "middle"): (0.2, 0.1, 0.3), ("best", "worst"): (0.5, 0.4, 0.6), ("middle", "worst"): (0.3, 0, 0.6),
    })  # fmt: skip
    text = answer(replace(study, compared={**study.compared, ("truth", "F1"): sure}))
    assert text.startswith("By 8 transcriptions, best reads best (F1 +0.200 [0.100, 0.300] against middle). ")


def test_the_same_name_at_the_top_is_no_agreement(study: PipelineStudy) -> None:
    names = ("best", "middle", "worst")
    undecided = Apart(names, dict.fromkeys(combinations(names, 2), (0.1, -0.1, 0.3)))
    text = answer(replace(study, compared=dict.fromkeys(study.compared, undecided)))
    assert text == (
        "By 8 transcriptions, best, middle and worst cannot be told apart. By consensus precision (Method II), best, "
        "middle and worst cannot be told apart. The transcriptions decide no pair, so they do not say whether the "
        "consensus is right."
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
    untyped = compare_pipelines(found)
    text = answer(untyped)
    assert text.startswith("By agreement, not by truth, good reads most precisely (precision +")
    undecided = Apart(tuple(found), dict.fromkeys(combinations(found, 2), (0.1, -0.1, 0.3)))
    text = answer(replace(untyped, compared=dict.fromkeys(untyped.compared, undecided)))
    assert text.startswith("By agreement, not by truth, no two of 4 pipelines can be told apart. Nobody has typed")
    typed = compare_pipelines(found, {"p00": list("abcdefgh")})
    first = "Only 1 page has a transcription; fewer than 6 tell no pipelines apart. By agreement, not by truth, good "
    assert answer(typed).startswith(first)
    html = page(Reported("t", typed, "words"))
    assert "only pages won are counted" in html


def test_pairs_for_the_terminal(study: PipelineStudy) -> None:
    found = pairs(study, "truth", "F1")
    assert found.columns == ["pipeline", "against", "F1", "P(better)", "won", "lost"]
    assert set(found.select("pipeline", "against").iter_rows()) == {
        ("best", "middle"), ("best", "worst"), ("middle", "worst"),
    }  # fmt: skip


def test_recall_and_f1_by_consensus_are_never_bold(study: PipelineStudy) -> None:
    """Whatever the pages decide: here every pair, by every measure and way."""
    names = ("best", "middle", "worst")
    sure = Apart(names, dict.fromkeys(combinations(names, 2), (0.3, 0.2, 0.4)))
    frame = study.pairs.with_columns(lo=pl.lit(0.2), hi=pl.lit(0.4))
    decided = replace(study, compared=dict.fromkeys(study.compared, sure), pairs=frame)
    for grids, truth in ((_tables(decided).grids, 1), (_pairs(decided).grids, 3)):
        for at, grid in enumerate(grids):
            heads = [str(head).lower() for head in grid.heads]
            bold = {head: sum(line[place].strong for line in grid.rows) for place, head in enumerate(heads)}
            claimed = {"precision", "recall", "f1"} if at == 0 else {"precision"}
            assert {head: count for head, count in bold.items() if count} == dict.fromkeys(claimed, truth)


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
