"""Where texts of a page differ."""

from __future__ import annotations

from endoxa.documents.differing import Box, Place, Word, places

BOXES = [Box(10 * at, 0, 9, 5) for at in range(9)]


def texts(**typed: str) -> dict[str, list[Word]]:
    return {name: [Word(word, BOXES[at]) for at, word in enumerate(text.split())] for name, text in typed.items()}


def test_words_stand_side_by_side_and_differences_are_found() -> None:
    found = places(
        texts(a="John Smith visited Paris.", b="John Smlth visited Paris | France", c="John Smith, visted Paris")
    )
    assert [[place.bare(name) for name in "abc"] for place in found] == [
        ["John"] * 3, ["Smith", "Smlth", "Smith"], ["visited", "visited", "visted"], ["Paris"] * 3, ["", "France", ""],
    ]  # fmt: skip
    assert [place.differs("abc") for place in found] == [False, True, True, False, True]
    assert [place.differs("ac") for place in found] == [False, False, True, False, False]
    assert [place.majority("abc") for place in found] == ["John", "Smith", "visited", "Paris", ""]


def test_the_box_is_of_a_text_that_has_the_common_word() -> None:
    found = places(texts(a="Smlth", b="Smith", c="Smith"))
    assert found[0].reader("abc") == "b"
    only = places(texts(a="John", b="John France", c="John"))[1]
    assert only.reader("abc") == "b" and only.words["b"] == Word("France", BOXES[1])


def test_no_majority_and_no_box() -> None:
    place = Place({"a": Word("x"), "b": Word("y"), "c": None})
    assert place.majority("abc") is None and place.reader("abc") is None and place.differs("abc")


def test_texts_without_words() -> None:
    assert places(texts(a="", b="")) == []
    assert [place.bare("b") for place in places(texts(a="", b="one ... two"))] == ["one", "two"]
