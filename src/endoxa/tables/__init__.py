"""The tables that every verb takes and returns.

Each is a frozen value around one Polars frame with fixed column names. `of(frame)` checks the frame once, on entry;
nothing checks it again. Parts are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endoxa.tables.answers import Answers as Answers
    from endoxa.tables.belief import Belief as Belief
    from endoxa.tables.belief import Unmentioned as Unmentioned
    from endoxa.tables.bundle import Bundle as Bundle
    from endoxa.tables.checks import OTHER_NAMES as OTHER_NAMES
    from endoxa.tables.checks import Bools as Bools
    from endoxa.tables.checks import Counts as Counts
    from endoxa.tables.checks import Floats as Floats
    from endoxa.tables.checks import Ints as Ints
    from endoxa.tables.checks import Table as Table
    from endoxa.tables.checks import cast as cast
    from endoxa.tables.checks import coded as coded
    from endoxa.tables.checks import nearest_columns as nearest_columns
    from endoxa.tables.checks import places as places
    from endoxa.tables.checks import refuse_null as refuse_null
    from endoxa.tables.checks import rename_known as rename_known
    from endoxa.tables.checks import require as require
    from endoxa.tables.checks import unknown_columns as unknown_columns
    from endoxa.tables.costs import Costs as Costs
    from endoxa.tables.grade_words import grades_of as grades_of
    from endoxa.tables.opinions import ASIDE as ASIDE
    from endoxa.tables.opinions import COUNTED as COUNTED
    from endoxa.tables.opinions import DRAW as DRAW
    from endoxa.tables.opinions import KINDS as KINDS
    from endoxa.tables.opinions import DuplicateJudgmentError as DuplicateJudgmentError
    from endoxa.tables.opinions import Judged as Judged
    from endoxa.tables.opinions import Opinions as Opinions
    from endoxa.tables.opinions import with_draws as with_draws
    from endoxa.tables.run import DuplicateItemError as DuplicateItemError
    from endoxa.tables.run import Run as Run
    from endoxa.tables.scores import Comparison as Comparison
    from endoxa.tables.scores import Draws as Draws
    from endoxa.tables.scores import Scored as Scored
    from endoxa.tables.scores import Scores as Scores
    from endoxa.tables.taxonomy import Labels as Labels
    from endoxa.tables.taxonomy import Taxonomy as Taxonomy

_NAMES = {
    "answers": "Answers",
    "belief": "Belief Unmentioned",
    "bundle": "Bundle",
    "checks": "OTHER_NAMES Bools Counts Floats Ints Table cast coded nearest_columns places refuse_null rename_known "
    "require unknown_columns",
    "costs": "Costs",
    "grade_words": "grades_of",
    "opinions": "ASIDE COUNTED DRAW KINDS DuplicateJudgmentError Judged Opinions with_draws",
    "run": "DuplicateItemError Run",
    "scores": "Comparison Draws Scored Scores",
    "taxonomy": "Labels Taxonomy",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Load a part when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'endoxa.tables' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"endoxa.tables.{_HOME[name]}"), name)
    return value
