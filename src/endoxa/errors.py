"""The tree of errors, ordered by what the user must correct.

    EndoxaError
    ├── FileError      a file: path, line, what is wrong, what was expected
    │   └── MissingFile  a file to be read that does not exist
    ├── TableError     a table that was passed in Python
    ├── TextError      a text that was typed: a measure, a setting
    │   └── CallError  a call: words, settings or inputs that cannot be carried out; the command line exits with 2
    ├── JoinError      two inputs that do not match: no topic in common
    ├── InstallError   a part that is not installed
    └── RefusedError   a request that the store or the web application refuses, with its HTTP status

Every message says in one line what is wrong, where, what was expected, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Self, TypeVar

LONGEST = 4000  # characters of what is wrong with a file


class EndoxaError(Exception):
    """Any error that the user can correct. Its attributes are facts; only str() words them.

    `problem` says what is wrong, `remedy` what to do or what was expected. `row`, counted from 1, is the row of a
    table; the message shows it if the table has a name: `row 3 of the run: score is NaN; remove the row`.
    """

    def __init__(self, problem: str, *, remedy: str = "", row: int | None = None, table: str = "") -> None:
        super().__init__()
        self.problem, self.remedy, self.row, self.table = problem, remedy, row, table

    @property
    def place(self) -> str:
        """Where the problem is, as the message begins: `row 3 of the run: `, or nothing."""
        return f"row {self.row} of the {self.table}: " if self.row is not None and self.table else ""

    def __str__(self) -> str:
        return f"{self.place}{self.problem}" + (f"; {self.remedy}" if self.remedy else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, so that the error can be passed between processes: its facts, whatever its class takes."""
        return _bare, (type(self),), self.__dict__


def _bare(kind: type[EndoxaError]) -> EndoxaError:
    """An error without its facts, which unpickling adds."""
    return kind.__new__(kind)


class FileError(EndoxaError):
    """A file that cannot be read or written: `runs/bm25.run:1042: score 'abc' is not a number; …`."""

    def __init__(
        self, path: str, problem: str, remedy: str = "", line: int | None = None, *, row: int | None = None,
        table: str = "",
    ) -> None:  # fmt: skip
        if len(problem) > LONGEST:  # a name in a file may be as long as the file
            problem = f"{problem[:LONGEST]}…"
        super().__init__(problem, remedy=remedy, row=row, table=table)
        self.path, self.line = path, line

    @classmethod
    def of(cls, error: EndoxaError, path: str, line: int | None = None) -> Self:
        """The same problem, in a file."""
        return cls(path, error.problem, error.remedy, line, row=error.row, table=error.table)

    @property
    def place(self) -> str:
        """The file and the line; without a line, the row."""
        return f"{self.path}:{self.line}: " if self.line is not None else f"{self.path}: {super().place}"


class MissingFile(FileError):  # noqa: N818  it is a FileError by name and by nature
    """A file to be read that does not exist."""


class TableError(EndoxaError):
    """A table with missing columns, wrong types or impossible values."""


class TextError(EndoxaError):
    """A text that cannot be parsed. The message shows the text with a caret under the error."""

    def __init__(self, problem: str, text: str = "", at: int | None = None, *, remedy: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.text, self.at = text, at

    def __str__(self) -> str:
        return super().__str__() + (f"\n    {self.text}\n    {' ' * self.at}^" if self.at is not None else "")


class CallError(TextError):
    """A call that cannot be carried out: a setting that is unknown or does not apply, an input that is missing.

    `command` is the command that was called, if it was called on the command line: `endoxa eval`.
    """

    def __init__(
        self, problem: str, text: str = "", at: int | None = None, *, remedy: str = "", command: str = ""
    ) -> None:
        super().__init__(problem, text, at, remedy=remedy)
        self.command = command

    def __str__(self) -> str:
        told = super().__str__()
        if not self.command or self.at is not None or "\n" in told:
            return told
        return f"{told} See {self.command} -h" if told.endswith("?") else f"{told.rstrip('.')}; see {self.command} -h"


class JoinError(EndoxaError):
    """Inputs that have nothing in common, or too little to be measured."""


class InstallError(EndoxaError):
    """A part that is not installed; the remedy has the command that installs it."""


class RefusedError(EndoxaError):
    """A request that is not allowed, or not at this time; `status` is its HTTP status."""

    def __init__(self, problem: str, status: int = 409, *, remedy: str = "") -> None:
        super().__init__(problem, remedy=remedy)
        self.status = status


Refusal = TypeVar("Refusal", bound=EndoxaError)
Found = TypeVar("Found")


def absent(what: str) -> RefusedError:
    """Return the same refusal for what does not exist and for what belongs to somebody else."""
    return RefusedError(f"there is no such {what} here", 404)


def needed(found: Found | None, what: str) -> Found:
    """Return what was found; what was not is refused as absent."""
    if found is None:
        raise absent(what)
    return found


def did_you_mean(word: str, known: Iterable[str], *, before: str = "", cutoff: float = 0.6) -> str:
    """Return the remedy `did you mean nDCG?`, or nothing if no known word is close. Letter case is ignored.

    `before` is put before the word: the folder of a file. `cutoff` is how alike words must be, from 0 to 1.
    """
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f"did you mean {before}{by_lower[near[0]]}?" if near else ""


def advice(*remedies: str) -> str:
    """Several remedies as one; those that are empty are left out."""
    return "; ".join(filter(None, remedies))


def unknown(
    kind: Callable[..., Refusal], problem: str, word: str, known: Collection[str], *, listed: str = "", **facts: Any
) -> Refusal:
    """Return the error for a name that nothing known has; its remedy is the nearest name.

    `listed` says which names there are; it ends the message, in parentheses.
    """
    near, there = did_you_mean(word, known), f" ({listed})" if listed else ""
    return kind(problem, remedy=f"{near}{there}", **facts) if near else kind(f"{problem}{there}", **facts)


def refuse_unknown(what: str, word: str, known: Collection[str], *, listed: bool = False) -> None:
    """Refuse a name that nothing known has: `no system is called 'bm52'; did you mean bm25?`."""
    if word not in known:
        there = f"there are: {', '.join(known)}" if listed else ""
        raise unknown(TextError, f"no {what} is called {word!r}", word, known, listed=there)
