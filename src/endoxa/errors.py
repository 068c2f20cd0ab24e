"""The tree of errors, ordered by what the user must correct.

    EndoxaError
    ├── FileError      a file: path, line, what is wrong, what was expected
    ├── TableError     a table that was passed in Python
    ├── TextError      a text that was typed: a measure, a setting
    │   └── CallError  a call: words, settings or inputs that cannot be carried out; the command line exits with 2
    ├── JoinError      two inputs that do not match: no topic in common
    ├── InstallError   a part that is not installed
    └── RefusedError   a request that the store or the web application refuses, with its HTTP status

Every message says in one line what is wrong, where, what was expected, and what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

LONGEST = 4000  # characters of what is wrong with a file


class EndoxaError(Exception):
    """Any error that the user can correct."""


class FileError(EndoxaError):
    """A file that cannot be read or written: `runs/bm25.run:1042: score 'abc' is not a number; …`."""

    def __init__(self, path: str, what: str, remedy: str = "", line: int | None = None) -> None:
        what = what if len(what) <= LONGEST else f"{what[:LONGEST]}…"  # a name in a file may be as long as the file
        self.path, self.line, self.what, self.remedy = path, line, what, remedy
        place = f"{path}:{line}" if line is not None else path
        super().__init__(f"{place}: {what}" + (f"; {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str, str, int | None]]:
        """Support pickling, so that the error can be passed between processes."""
        return type(self), (self.path, self.what, self.remedy, self.line)


class TableError(EndoxaError):
    """A table with missing columns, wrong types or impossible values."""


class TextError(EndoxaError):
    """A text that cannot be parsed. The message shows the text with a caret under the error."""

    def __init__(self, what: str, text: str = "", at: int | None = None) -> None:
        self.what, self.text, self.at = what, text, at
        caret = f"\n    {text}\n    {' ' * at}^" if at is not None else ""
        super().__init__(what + caret)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, so that the error can be passed between processes."""
        return type(self), (self.what, self.text, self.at)


class CallError(TextError):
    """A call that cannot be carried out: a setting that is unknown or does not apply, an input that is missing.

    `command` is the command that was called, if it was called on the command line: `endoxa eval`.
    """

    def __init__(self, what: str, text: str = "", at: int | None = None, *, command: str = "") -> None:
        self.command = command
        super().__init__(what, text, at)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, so that the error can be passed between processes."""
        return (*super().__reduce__(), {"command": self.command})


class JoinError(EndoxaError):
    """Inputs that have nothing in common, or too little to be measured."""


class InstallError(EndoxaError):
    """A part that is not installed; the message has the command that installs it."""


class RefusedError(EndoxaError):
    """A request that is not allowed, or not at this time; `status` is its HTTP status."""

    def __init__(self, text: str, status: int = 409) -> None:
        self.status = status
        super().__init__(text)


def absent(what: str) -> RefusedError:
    """Return the same refusal for what does not exist and for what belongs to somebody else."""
    return RefusedError(f"there is no such {what} here", 404)


def did_you_mean(word: str, known: Iterable[str], *, before: str = "", cutoff: float = 0.6) -> str:
    """Return `; did you mean nDCG?`, or nothing if no known word is close. Letter case is ignored.

    `before` is put before the word: the folder of a file. `cutoff` is how alike words must be, from 0 to 1.
    """
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f"; did you mean {before}{by_lower[near[0]]}?" if near else ""


def refuse_unknown(what: str, word: str, known: Collection[str], *, listed: bool = False) -> None:
    """Refuse a name that nothing known has: `no system is called 'bm52'; did you mean bm25?`."""
    if word not in known:
        there = f" (there are: {', '.join(known)})" if listed else ""
        raise TextError(f"no {what} is called {word!r}{did_you_mean(word, known)}{there}")
