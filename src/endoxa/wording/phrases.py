"""Parts of sentences that several notes have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Template = str | Callable[..., str]  # over the facts: of str.format, or a function


def if_any(count: float | None, words: str) -> str:
    """The words with the count in them; nothing if there is none."""
    return words.format(count) if count else ""


def queries_of(count: int) -> str:
    """`1 query`, `2,000 queries`."""
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def few_of(names: Sequence[str], most: int = 4) -> str:
    """A list of names in words, shortened."""
    rest = len(names) - most
    shown = list(names[:most]) + ([f"{rest} others" if rest > 1 else "one other"] if rest > 0 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
