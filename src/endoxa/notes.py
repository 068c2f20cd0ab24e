"""Warnings and notes as values: a kind, a code and facts. `wording` has the sentence of every code.

    warning("consensus.lonely_queries", lonely=1, queries=2)

A surface decides how a note looks: the command line marks warnings by `! `, a page by a colour, JSON has the facts
beside the sentence. Decisions read the code and the facts, never the sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

Kind = Literal["warning", "note"]
BEFORE = frozenset({  # warnings that stand before the answer, because it means little without them
    "study.no_agreement", "study.no_agreement_follows", "study.agreement_unsure", "study.agreement_unsure_follows",
})  # fmt: skip
TEXT = "text"  # the code of a note of which only the sentence is known
ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # facts in a file that are none of ours


class Note(NamedTuple):
    """What to know about a result; str() is its sentence. The facts are numbers, texts, and lists of these."""

    kind: Kind
    code: str
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        from endoxa.wording import sentence

        return sentence(self.code, self.facts)

    def __hash__(self) -> int:
        return hash((self.kind, self.code, str(self)))

    def of(self, part: str) -> Note:
        """The same about a part of the whole, whose name begins the sentence: `labels: …`."""
        return self._replace(facts={**self.facts, "of": [part, *self.facts.get("of", ())]})

    @property
    def part(self) -> str:
        """What `of` was told last; nothing if the note is about the whole."""
        return str(self.facts.get("of", [""])[0])

    @property
    def whole(self) -> Note:
        """The same without that part."""
        return self._replace(facts={**self.facts, "of": self.facts.get("of", [])[1:]})

    @property
    def marked(self) -> str:
        """The sentence as a terminal shows it."""
        return f"! {self}" if self.kind == "warning" else str(self)

    def plain(self) -> dict[str, Any]:
        """What JSON and files hold."""
        return {"kind": self.kind, "code": self.code, "facts": _plain(self.facts, finite=True), "text": str(self)}


def warning(code: str, /, **facts: Any) -> Note:
    """What to know before trusting a number."""
    return Note("warning", code, _plain(facts))


def note(code: str, /, **facts: Any) -> Note:
    """How a number was made."""
    return Note("note", code, _plain(facts))


def text(sentence: str, kind: Kind = "note") -> Note:
    """A sentence whose facts are not known: of a file that has only that, or of a caller in Python."""
    return Note(kind, TEXT, {"text": sentence})


def noted(value: Note | str) -> Note:
    """A note as it is, a sentence as a note."""
    return value if isinstance(value, Note) else text(value)


def of_plain(values: Any, kind: Kind = "note") -> tuple[Note, ...]:
    """The notes in a file, which holds sentences or what `plain` gives; ValueError if it holds anything else.

    Where code and facts do not make the sentence that is stored, the file is of another version: the sentence counts.
    """
    if not isinstance(values, list):
        raise ValueError("not a list of notes")
    return tuple(_of_plain(value, kind) for value in values)


def _of_plain(value: Any, kind: Kind) -> Note:
    if isinstance(value, str):
        return text(value, kind)
    known = isinstance(value, dict) and isinstance(value.get("text"), str) and value.get("kind") in get_args(Kind)
    if not known:
        raise ValueError("not a note")
    stored = Note(value["kind"], str(value.get("code")), value.get("facts") or {})
    try:
        same = str(stored) == value["text"]
    except ODD:
        same = False
    return stored if same else text(value["text"], value["kind"])


def plain(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """What JSON and files hold of several."""
    return [one.plain() for one in notes]


def texts(notes: Iterable[Note]) -> tuple[str, ...]:
    """The sentences."""
    return tuple(map(str, notes))


def marked(notes: Iterable[Note]) -> tuple[str, ...]:
    """The sentences as a terminal shows them."""
    return tuple(one.marked for one in notes)


def _plain(value: Any, *, finite: bool = False) -> Any:
    """The value as JSON holds it: numbers of NumPy as numbers of Python, tuples as lists; `finite`: NaN as None."""
    if isinstance(value, Mapping):
        return {name: _plain(one, finite=finite) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, finite=finite) for one in value]
    if finite and isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if hasattr(value, "item") else value
