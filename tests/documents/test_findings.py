"""Words without the punctuation around them."""

from __future__ import annotations

import pytest

from endoxa.documents.findings import FINDERS, plain, words


@pytest.mark.parametrize(
    ("word", "bare"), [("Reed,", "Reed"), ("“12.50”", "12.50"), ("--", ""), ("|", ""), ("it's", "it's"), ("(a)", "a")]
)
def test_punctuation_around_a_word_goes(word: str, bare: str) -> None:
    assert plain(word) == bare


def test_words_keep_order_case_and_number() -> None:
    assert words("The the, THE ... wo-\nrd — 7%") == ["The", "the", "THE", "word", "7"]
    assert words(" \n") == []


def test_what_can_be_found() -> None:
    assert {name: find("at Salem.") for name, find in FINDERS.items()} == {
        "entities": ["Salem"], "words": ["at", "Salem"],
    }  # fmt: skip
