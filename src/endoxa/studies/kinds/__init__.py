"""Study kinds: everything that differs between rating, filing and ranking, one file per kind.

The store, the pages and the exports ask the kind of a study (`settings.kind`) and decide nothing by its name. A new
kind is a module in this package that calls `register`, a JavaScript module in `web/static/`, and a test. If it needs a
screen of its own, the module registers that too (`endoxa.studies.design.register_screen`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.tables import Answers, Labels, Opinions, Run, Taxonomy

if TYPE_CHECKING:
    from endoxa.studies.design import Screen, Settings
    from endoxa.studies.planning import Material, Work

COLUMNS = ("grade", "category", "rank", "relevance")  # what the database keeps of a response
Table: TypeAlias = Opinions | Labels | Answers


@dataclass(frozen=True)
class Response:
    """What a judge answers about one item. A response without any value means undecided."""

    item: int
    grade: float | None = None
    category: str | None = None
    rank: int | None = None
    relevance: float | None = None


@dataclass(frozen=True)
class Answered:
    """What a status is computed from.

    answers  the current answers, as `studies.latest.latest` returns them
    draws    task, query, system, item: which system drew what
    order    the tasks in the order in which they were given out
    run      the runs whose systems are compared; None where nothing is to be compared
    shares   the share of the tasks of each round that somebody answered
    """

    answers: pl.DataFrame
    draws: pl.DataFrame
    order: Sequence[int]
    run: Run | None = None
    shares: Mapping[int, float] = field(default_factory=dict)


def near(expected: str, value: float | None, tolerance: float) -> bool:
    """Whether a number lies within the tolerance of a known answer; text that is no number is never near."""
    try:
        return value is not None and abs(value - float(expected)) <= tolerance + 1e-9
    except ValueError:
        return False


def no_summary(_: Screen, __: Answered) -> dict[str, Any]:
    """The summary of a kind that has no agreement, use of grades or verdict to show."""
    return {}


@dataclass(frozen=True)
class StudyKind:
    """One kind of study.

    name            the name by which screens refer to it
    columns         the columns of a response that it uses, out of `COLUMNS`
    table           the type of table that its answers become
    tabulate        that table from the current answers; None where there are no answers
    plan            the tasks of a new study; where `asks_every_item`, also the tasks for items added later
    check           what is wrong with the responses to a task, in one sentence, or None
    read_expected   a known answer of a gold, attention or practice file in its standard form; raises TextError with
                    the possible answers where it is none
    is_right        whether a response agrees with a known answer, within a tolerance in grades
    summary         the parts of the status that depend on the kind: agreement, uniformity, verdict
    next_round      tasks of a further round, chosen from the answers so far; None where there are no rounds
    asks_every_item whether every item becomes a task
    needs_taxonomy  whether judges answer with categories of a taxonomy
    omitted         further columns that an export leaves out, because they carry no information in this kind
    """

    name: str
    columns: tuple[str, ...]
    table: type[Table]
    tabulate: Callable[[pl.DataFrame, Screen], Table | None]
    plan: Callable[[Settings, Material, np.random.Generator], Work]
    check: Callable[[Screen, Sequence[Response], Taxonomy | None], str | None]
    read_expected: Callable[[str, Screen, Taxonomy | None], str]
    is_right: Callable[[str, Response, float], bool]
    summary: Callable[[Screen, Answered], dict[str, Any]] = no_summary
    next_round: Callable[[Settings, Run, Opinions, int, pl.DataFrame, np.random.Generator], Work] | None = None
    asks_every_item: bool = False
    needs_taxonomy: bool = False
    omitted: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The file in `web/static/` that draws the screens of this kind."""
        return f"{self.name}.js"

    @property
    def gives_opinions(self) -> bool:
        """Whether answers become opinions, which have grades and propensities."""
        return self.table is Opinions

    @property
    def not_exported(self) -> tuple[str, ...]:
        """Columns that an export leaves out."""
        unused = tuple(name for name in COLUMNS if name not in self.columns)
        return (*unused, *(() if "grade" in self.columns else ("scale",)), *self.omitted)

    def opinions(self, answers: pl.DataFrame, screen: Screen) -> Opinions | None:
        """The current answers as opinions; None where this kind gives none, or nobody has answered."""
        table = self.tabulate(answers, screen) if self.gives_opinions else None
        return table if isinstance(table, Opinions) else None


KINDS: dict[str, StudyKind] = {}


def register(kind: StudyKind) -> StudyKind:
    """Add a kind of study; its name must be free and its columns must be columns of a response."""
    if kind.name in KINDS:
        raise TableError(f"a study kind called {kind.name!r} exists already", remedy="choose another name")
    for name in kind.columns:
        if name not in COLUMNS:
            raise TableError(f"study kind {kind.name!r}: a response has the columns {', '.join(COLUMNS)}, not {name!r}")
    KINDS[kind.name] = kind
    return kind


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
