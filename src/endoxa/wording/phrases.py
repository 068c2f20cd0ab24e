"""Parts of sentences that several notes have."""

from __future__ import annotations

from collections.abc import Callable

Template = str | Callable[..., str]  # over the facts: of str.format, or a function


def if_any(count: float | None, words: str) -> str:
    """The words with the count in them; nothing if there is none."""
    return words.format(count) if count else ""
