"""Names by a rule (docs/methods/documents.md, Entities): a sentence, and each part of the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.documents.entities import entities, joined


def test_a_sentence() -> None:
    text = (
        "Mr. Adams wrote from New York on Monday. The Board of War met John Reed; Boston was quiet. Nothing came to "
        "Boston."
    )
    assert entities(text) == ["Adams", "New York", "Monday", "Board of War", "John Reed", "Boston", "Boston"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we met John\nReed here", ["John Reed"]),
        ("we met John, Reed here", ["John", "Reed"]),
        ("they came to Charles-\nton at night", ["Charleston"]),
        ("Nothing came.", []),
        ("Boston fell. We left Boston.", ["Boston", "Boston"]),
        ("John Reed fell.", ["John Reed"]),
        ("Captain Reed fell.", ["Reed"]),
        ("I saw Dr. J. Reed there", ["Reed"]),
        ("of Boston of course of Salem", ["Boston", "Salem"]),
        ("the Bank of the North", ["Bank", "North"]),
        ("at Bank of", ["Bank"]),
        ("near Boston's walls", ["Boston"]),
        ("we saw O'Brien at Saint-Denis", ["O'Brien", "Saint-Denis"]),
        ("we saw X and Émile", ["Émile"]),
        ("Salem\n\nReed wrote to Reed.", ["Reed", "Reed"]),
        ("General Hale of Salem", ["Hale of Salem"]),
        ("", []),
        ("12 ... --- 7", []),
    ],
)
def test_the_rule(text: str, found: list[str]) -> None:
    assert entities(text) == found


def test_letters_are_composed() -> None:
    assert entities("we saw E\u0301mile") == ["Émile"] and joined("e\u0301") == "é"


@given(st.text(alphabet="AB ab.,;\n-ofthe'", max_size=60))
def test_every_name_stands_in_the_text(text: str) -> None:
    flat = " ".join(joined(text).split())
    for name in entities(text):
        assert name in flat and name[0].isupper() and name.split()[-1] != "of"
