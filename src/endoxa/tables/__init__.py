"""The tables that every verb takes and returns.

Each is a frozen value around one Polars frame with fixed column names. `of(frame)` checks the frame once, on entry;
nothing checks it again. Parts are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endoxa.tables.answers import *  # noqa: F403
    from endoxa.tables.belief import *  # noqa: F403
    from endoxa.tables.bundle import *  # noqa: F403
    from endoxa.tables.checks import *  # noqa: F403
    from endoxa.tables.costs import *  # noqa: F403
    from endoxa.tables.grade_words import *  # noqa: F403
    from endoxa.tables.gradings import *  # noqa: F403
    from endoxa.tables.opinions import *  # noqa: F403
    from endoxa.tables.run import *  # noqa: F403
    from endoxa.tables.scores import *  # noqa: F403
    from endoxa.tables.taxonomy import *  # noqa: F403

_NAMES = {
    "answers": "Answers",
    "belief": "Belief Unmentioned",
    "bundle": "Bundle",
    "checks": "OTHER_NAMES Bools Counts Floats Ints Table cast coded nearest_columns places refuse_null rename_known "
    "require unknown_columns",
    "costs": "Costs",
    "grade_words": "grades_of",
    "gradings": "Gradings",
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
