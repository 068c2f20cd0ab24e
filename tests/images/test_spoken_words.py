"""The words by which pictures can be asked for."""

from __future__ import annotations

import pytest

from endoxa.images.spoken_words import SOURCES, name_words, spoken, unknown_words


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("IMG_20240101_123456", ()), ("DSC00042", ()), ("animals/birds/rosella2", ("animals", "birds", "rosella")),
        ("Holidays_2019/beachParty", ("holidays", "2019", "beach", "party")), ("a/b/c7", ()),
        ("Été/Plage", ("été", "plage")),
        ("2019-07-04/the_dog's.bowl", ("2019", "dog's", "bowl")), ("", ()), ("NYC/NewYork", ("nyc", "new", "york")),
    ],
)  # fmt: skip
def test_the_words_of_a_name(item: str, words: tuple[str, ...]) -> None:
    assert name_words(item) == words


def test_captions_and_names_together() -> None:
    items = ("dogs/rex", "IMG_1")
    assert spoken(items, (("brown", "dogs"), ("sea",))) == (("brown", "dogs", "rex"), ("sea",))
    assert spoken(items, ()) == (("dogs", "rex"), ())


def test_unknown_words_are_told_with_the_nearest() -> None:
    known = (("beach", "dogs"), ("bench",), ("beach",))
    assert unknown_words(["beach"], known) == []
    (one,) = unknown_words(["beech"], known)
    assert one.startswith("no picture has the word 'beech' (nearest: bench, beach)") and one.endswith(SOURCES)
    (one,) = unknown_words(["zebra", "dogs"], known)
    assert one == "no picture has the word 'zebra'"  # the other word is known, and answers
    (one,) = unknown_words(["quux"], known)
    assert "frequent words here: beach, bench, dogs; words come from" in one
    (one,) = unknown_words(["quux"], ((),))
    assert "no picture has any word here" in one
