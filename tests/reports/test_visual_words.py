"""The page of visualness: the answer first, the numbers of the result, pictures of the first and last words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from visualness_samples import PIXEL, found

from endoxa.reports.pages.layout import Thumbnail
from endoxa.reports.pages.visual_words import Shown, answer, ends_of, heads, lines, norm_lines, page


def test_the_answer_says_how_many_and_which() -> None:
    assert answer(found()) == (
        "12 of 45 words are visual: the regions of their pictures are more alike than those of random topics "
        "(q ≤ 0.05). Highest z, not compared with one another: word00, word01, word02, word03 and word04."
    )
    one = answer(found(visual=1))
    assert one.startswith("1 of 45 words is visual: the regions of its pictures")
    assert answer(found(visual=0)).startswith("None of 45 words is shown to be visual")
    assert "The nearest is word00 (p = 0.200, q = 0.400)." in answer(found(visual=0))
    every = answer(replace(found(6, visual=6), null="pictures"))
    assert "than those of as many random pictures" in every and "least" not in every


def test_one_word_is_answered_for_itself() -> None:
    yes, no = (found(1, visual=count, norms=False) for count in (1, 0))
    assert answer(yes).startswith("word00 is visual: the regions of its ")
    assert "more alike than those of random topics (excess " in answer(yes) and "0.200 by chance, p = 0.005)" in answer(
        yes
    )
    assert answer(no).startswith("word00 is not shown to be visual: ") and "not clearly more alike" in answer(no)


def test_the_table_has_the_numbers(  # every cell is sorted by its number
) -> None:
    result = found()
    rows = lines(result)
    assert len(rows) == 45 and all(len(row) == len(heads(result)) for row in rows)
    names = {
        "excess": "excess",
        "above chance": "above",
        "z": "z",
        "p": "p",
        "q": "q",
        "E, bits": "E",
        "Hessel": "hessel",
    }
    for head, column in names.items():
        assert [row[heads(result).index(head)].sort for row in rows] == result.frame[column].to_list()
    above = heads(result).index("above chance")
    assert rows[1][above].small == "" and rows[0][above].small.startswith("[")
    assert rows[0][above].strong and not rows[20][above].strong


def test_the_source_s_selection_has_columns_where_it_was_asked_for() -> None:
    assert "selected E" not in heads(found()) and "selected E" in heads(found(selected=True))
    assert all(len(row) == 15 for row in lines(found(selected=True)))


def test_ratings_by_people() -> None:
    said = norm_lines(found())
    assert len(said) == 2 and said[0].startswith("excess, z: ") and "minus that of excess" in said[1]
    assert norm_lines(found(norms=False)) == []
    assert "Beside ratings by people" in page(Shown("t", found())) and "rho" in page(Shown("t", found()))
    assert "Beside ratings" not in page(Shown("t", found(norms=False)))


def test_the_page_shows_the_most_and_the_least_visual_words() -> None:
    result = found()
    shown = ends_of(result.frame)["word"].to_list()
    assert len(shown) == 40 and shown[0] == "word00" and shown[-1] == "word44" and "word32" not in shown
    pictures = {word: [Thumbnail(PIXEL, f"a <{word}>", "0.90")] for word in shown}
    html = page(Shown("Visual <words>", result, pictures))
    assert html == page(Shown("Visual <words>", result, pictures))
    assert html.count('<details class="pictures"') == 40 and html.count('<details class="pictures" open>') == 5
    assert html.count(PIXEL) == 40 and "a &lt;word00&gt;" in html and "Visual &lt;words&gt;" in html
    assert "The 30 most and the 10 least visual of 45." in html
    assert html.index("12 of 45") < html.index("<figure>")
    assert "3 words are left out, on fewer …" in html


@pytest.mark.parametrize("words", [1, 3])
def test_a_few_words(words: int) -> None:
    html = page(Shown("t", found(words, visual=1, norms=False)))
    assert "<figure>" in html and 'class="pictures"' not in html and ".pictures" not in html
