"""Grades that are words: people write yes and no, relevant and not relevant."""

from __future__ import annotations

from endoxa.errors import TableError
from endoxa.later import pl
from endoxa.tables.checks import first_true

# Words of two classes only: whether `partially relevant` is more or less than 1 depends on the other words of a file.
GRADES = {
    **dict.fromkeys(("yes", "y", "true", "relevant", "rel"), 1.0),
    **dict.fromkeys(
        ("no", "n", "false", "irrelevant", "not relevant", "not-relevant", "not_relevant", "nonrelevant",
         "non-relevant", "non relevant", "notrelevant"), 0.0,
    ),
}  # fmt: skip
SHOWN = 40  # characters of a word in an error message
EXPECTED = "expected a number, or yes, no, relevant, not relevant, irrelevant, true, false"


def grades_of(column: pl.Series) -> pl.Series:
    """The grades in a column, of numbers or words; null where it holds neither. Letter case does not count."""
    grades = column.cast(pl.Float64, strict=False)
    if column.dtype != pl.String or not (grades.is_null() & column.is_not_null()).any():
        return grades
    words = column.str.strip_chars().str.to_lowercase()
    return grades.fill_null(words.replace_strict(GRADES, default=None, return_dtype=pl.Float64))


def numbered(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Return the frame with the words in its column `grade` as numbers; a word that is not known is refused."""
    column = frame["grade"]
    if column.dtype != pl.String:
        return frame
    grades = grades_of(column)
    if (row := first_true(grades.is_null() & column.is_not_null())) is not None:
        word = column[row] if len(column[row]) <= SHOWN else f"{column[row][:SHOWN]}…"
        raise TableError(f"grade {word!r} is not a number, nor a known word", remedy=EXPECTED, row=row + 1, table=table)
    return frame.with_columns(grades.alias("grade"))
