"""Reads judgments from TREC's text: qrels (four columns), sampled qrels and trec_eval's preferences (five columns)."""

from __future__ import annotations

from endoxa.errors import FileError, TableError
from endoxa.io.sources import Source, pieces
from endoxa.io.trec_text import QRELS, SAMPLED, Form, Report, distinct, line_of_repeat, numbered, separated, tell, whole
from endoxa.later import pl
from endoxa.measures.preference_judgments import COLUMNS, Preferences
from endoxa.tables import DuplicateJudgmentError, Opinions

NO_METHOD = "-"  # stands in the method column of sampled qrels if no method is known
PREFERENCES = Form("preferences", COLUMNS, ("level",))


def read_qrels(
    source: Source, *, assessors: bool = False, sampled: bool = False, lenient: bool = False,
    report: Report | None = None, blanks: bool = False,
) -> Opinions:  # fmt: skip
    """Read judgments from qrels. With `assessors`, column 2 names the assessor; otherwise it is ignored."""
    form = separated(source, SAMPLED if sampled else QRELS, blanks=blanks, lenient=lenient)
    frame, skipped = whole(source, form, lenient=lenient)
    rows = arranged(frame, assessors, sampled)
    try:
        opinions = Opinions.of(rows)
    except DuplicateJudgmentError as error:
        named = "source" in rows.columns  # sampled qrels name no assessor, whatever was asked for
        key = {"query": error.query, "item": error.item} | ({"source": error.source} if named else {})
        if not lenient:
            line = line_of_repeat(source, form, key)
            if named:
                problem = f"{error.source!r} judges item {error.item!r} of query {error.query!r} twice"
                raise FileError(source.label, problem, "remove one", line) from None
            raise FileError.of(error, source.label, line) from None
        frame, _, repeats = distinct(pieces(source), form, source.label, key, "is judged again")
        opinions, skipped = Opinions.of(arranged(frame, assessors, sampled)), skipped + repeats
    tell(skipped, report)
    return opinions


def arranged(frame: pl.DataFrame, assessors: bool, sampled: bool) -> pl.DataFrame:
    """The columns of a table of judgments: column 2 is left out unless it names the assessor."""
    if sampled:
        return frame.with_columns(pl.col("selected_by").replace(NO_METHOD, None))
    unnamed = frame["source"].n_unique() == 1 and frame["source"][0] == "0"  # TREC's iteration, not a person
    return frame if assessors and not unnamed else frame.drop("source")


def read_preferences(
    source: Source, *, lenient: bool = False, report: Report | None = None, blanks: bool = False
) -> Preferences:
    """Read preferences: query, judge (group), part of the order (subgroup), item, level; contradictions are errors."""
    form = separated(source, PREFERENCES, blanks=blanks, lenient=lenient)
    frame, skipped = whole(source, form, lenient=lenient)
    key, lines = ("query", "group", "subgroup", "item"), None
    if lenient and frame.select(key).is_duplicated().any():
        what = "is listed again in its subgroup"
        frame, lines, repeats = distinct(pieces(source), form, source.label, key, what)
        skipped += repeats
    try:
        preferences = Preferences.of(frame)
    except TableError as error:
        if error.row is None:
            raise
        line = (lines or numbered(pieces(source), form, source.label)[1])[error.row - 1]
        raise FileError.of(error, source.label, line) from None
    tell(skipped, report)
    return preferences
