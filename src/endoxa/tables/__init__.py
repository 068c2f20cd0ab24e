"""The tables that every verb takes and returns.

Each is a frozen value around one Polars frame with fixed column names. `of(frame)` checks the frame once, on entry;
nothing checks it again.
"""

from endoxa.tables.answers import Answers
from endoxa.tables.belief import Belief, Unmentioned
from endoxa.tables.bundle import Bundle
from endoxa.tables.checks import (
    OTHER_NAMES,
    Bools,
    Counts,
    Floats,
    Ints,
    Table,
    cast,
    coded,
    places,
    refuse_null,
    rename_known,
    require,
)
from endoxa.tables.costs import Costs
from endoxa.tables.grade_words import grades_of
from endoxa.tables.opinions import ASIDE, COUNTED, KINDS, DuplicateJudgmentError, Opinions
from endoxa.tables.run import DuplicateItemError, Run
from endoxa.tables.scores import Comparison, Draws, Scores
from endoxa.tables.taxonomy import Labels, Taxonomy

__all__ = [
    "ASIDE", "COUNTED", "KINDS", "OTHER_NAMES", "Answers", "Belief", "Bools", "Bundle", "Comparison", "Costs", "Counts",
    "Draws", "DuplicateItemError", "DuplicateJudgmentError", "Floats", "Ints", "Labels", "Opinions", "Run", "Scores",
    "Table", "Taxonomy", "Unmentioned", "cast", "coded", "grades_of", "places", "refuse_null", "rename_known",
    "require",
]  # fmt: skip
