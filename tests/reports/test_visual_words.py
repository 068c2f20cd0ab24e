"""The page of visualness: the answer first, the numbers of the result, pictures of the first and last words."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from visualness_samples import PIXEL, found

from endoxa.reports.pages.layout import Thumbnail
from endoxa.reports.pages.visual_words import Shown, answer, ends_of, heads, lines, norm_lines, page


def test_the_answer_says_how_many_and_which() -> None:
    assert answer(found()) == (
        "12 of 45 words are visual: their pictures tell more than the other words do (1 visual by its company, 30 not "
        "visual, 1 too rare to say, 1 one topic only). Highest V, not compared with one another: word00, word01, "
        "word02, word03 and word04."
    )
    one = answer(found(visual=1))
    assert one.startswith("1 of 45 words is visual: its pictures tell more than the other words do (")
    none = answer(found(visual=0))
    assert none.startswith("None of 45 words is shown to be visual (1 visual by its company")
    assert "The highest V has word00 (V = 0.33 ± 0.10)." in none
    every = answer(found(6, visual=6))
    assert every.endswith("than the other words do. Highest V, not compared with one another: word00, word01, word02, "
                          "word03 and word04.")  # fmt: skip


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("visual", "word00 is visual: its 29 pictures tell more than the other words do (V = "),
        (
            "visual by its company",
            "by its company: its 29 pictures can be told, but the words beside it explain that (a)",
        ),
        ("not visual", "word00 is not shown to be visual: its 29 pictures are not told clearly enough"),
        ("too rare to say", "word00 is too rare to say: its 29 pictures"),
        ("one topic only", "word00 is in one topic only: whether its 29 pictures show the word or the topic"),
    ],
)
def test_one_word_is_answered_for_itself(call: str, says: str) -> None:
    one = found(1, visual=1, norms=False)
    frame = one.frame.with_columns(
        n=pl.lit(29), call=pl.lit(call), company=pl.lit("a" if call == "visual by its company" else "")
    )
    assert says in answer(replace(one, frame=frame))


def test_the_table_has_the_numbers() -> None:
    """Every cell is sorted by its number."""
    result = found()
    rows = lines(result)
    assert len(rows) == 45 and all(len(row) == len(heads(result)) for row in rows)
    names = {"called": "call", "pictures": "n", "excess": "excess", "V": "V", "A": "A", "B": "B", "D": "D", "z": "z",
             "p": "p", "q": "q", "E, bits": "E", "Hessel": "hessel"}  # fmt: skip
    for head, column in names.items():
        assert [row[heads(result).index(head)].sort for row in rows] == result.frame[column].to_list()
    v, topics, called = (heads(result).index(head) for head in ("V", "topics", "called"))
    assert rows[0][v].small.startswith("± 0.") and rows[0][v].strong and not rows[12][v].strong
    assert rows[12][called].small == "with word00, word01" and rows[0][called].small == ""
    assert rows[-1][topics].small == "tested on single pictures" and rows[0][topics].small == ""


def test_the_source_s_selection_has_columns_where_it_was_asked_for() -> None:
    assert "selected E" not in heads(found()) and "selected E" in heads(found(selected=True))
    assert all(len(row) == 19 for row in lines(found(selected=True)))


def test_ratings_by_people() -> None:
    said = norm_lines(found())
    assert len(said) == 2 and said[0].startswith("V: ") and "minus that of V" in said[1]
    assert norm_lines(found(norms=False)) == []
    assert "Beside ratings by people" in page(Shown("t", found())) and "rho" in page(Shown("t", found()))
    assert "Beside ratings" not in page(Shown("t", found(norms=False)))


def test_the_page_shows_the_first_and_the_last_words() -> None:
    result = found()
    shown = ends_of(result.frame)["word"].to_list()
    assert len(shown) == 40 and shown[0] == "word00" and shown[-1] == "word44" and "word32" not in shown
    pictures = {word: [Thumbnail(PIXEL, f"a <{word}>", "0.90")] for word in shown}
    html = page(Shown("Visual <words>", result, pictures))
    assert html == page(Shown("Visual <words>", result, pictures))
    assert html.count('<details class="pictures"') == 40 and html.count('<details class="pictures" open>') == 5
    assert html.count(PIXEL) == 40 and "a &lt;word00&gt;" in html and "Visual &lt;words&gt;" in html
    assert "The first 30 and the last 10 of 45." in html
    assert html.index("12 of 45") < html.index("<figure>")
    assert "3 words are left out, on fewer …" in html
    assert "most visual" not in html and "least visual" not in html, "no two words are compared"


@pytest.mark.parametrize("words", [1, 3])
def test_a_few_words(words: int) -> None:
    html = page(Shown("t", found(words, visual=1, norms=False)))
    assert "<figure>" in html and 'class="pictures"' not in html and ".pictures" not in html
