"""What is looked for in a text: its words, or the names in it."""

from __future__ import annotations

from collections.abc import Callable

from endoxa.documents.entities import entities, joined

SIGNS = "".join(chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum()) + "‘’“”„–—…·•«»|¦"


def plain(word: str) -> str:
    """A word without the punctuation around it; empty if there is no letter and no digit in it."""
    bare = word.strip(SIGNS)
    return bare if any(letter.isalnum() for letter in bare) else ""


def words(text: str) -> list[str]:
    """The words of a text in order, without the punctuation around them; letter case is kept.

    >>> words("«Paid 12.50 to Mr. Reed,» he wro-\\nte — twice.")
    ['Paid', '12.50', 'to', 'Mr', 'Reed', 'he', 'wrote', 'twice']
    """
    return [bare for word in joined(text).split() if (bare := plain(word))]


FINDERS: dict[str, Callable[[str], list[str]]] = {"entities": entities, "words": words}
