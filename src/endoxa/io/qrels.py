"""Reads judgments from TREC's text: qrels (four columns) and sampled qrels (five columns)."""

from __future__ import annotations

import polars as pl

from endoxa.errors import FileError
from endoxa.io.sources import Source
from endoxa.io.trec_text import QRELS, SAMPLED, Report, Skipped, exact, line_of_repeat, parts, tell
from endoxa.tables import DuplicateJudgmentError, Opinions

NO_METHOD = "-"  # stands in the method column of sampled qrels if no method is known


def read_qrels(
    source: Source, *, assessors: bool = False, sampled: bool = False, lenient: bool = False,
    report: Report | None = None,
) -> Opinions:  # fmt: skip
    """Read judgments from qrels. With `assessors`, column 2 names the assessor; otherwise it is ignored."""
    form = SAMPLED if sampled else QRELS
    frames: list[pl.DataFrame] = []
    skipped = Skipped(source.label)
    for part in parts(source, form, lenient=lenient):
        frames.append(part.frame)
        skipped += part.skipped
    try:
        opinions = Opinions.of(_arranged(pl.concat(frames), assessors, sampled))
    except DuplicateJudgmentError as error:
        if not lenient:
            raise _with_line(source, error, assessors, sampled) from None
        frame, repeats = _without_repeats(source, assessors, sampled)
        opinions, skipped = Opinions.of(_arranged(frame, assessors, sampled)), skipped + repeats
    tell(skipped, report)
    return opinions


def _arranged(frame: pl.DataFrame, assessors: bool, sampled: bool) -> pl.DataFrame:
    if sampled:
        return frame.with_columns(pl.col("selected_by").replace(NO_METHOD, None))
    unnamed = frame["source"].n_unique() == 1 and frame["source"][0] == "0"  # TREC's iteration, not a person
    return frame if assessors and not unnamed else frame.drop("source")


def _with_line(source: Source, error: DuplicateJudgmentError, assessors: bool, sampled: bool) -> FileError:
    key = {"query": error.query, "item": error.item} | ({"source": error.source} if assessors else {})
    what, _, remedy = str(error).partition("; ")
    if assessors:
        what, remedy = f"{error.source!r} judges item {error.item!r} of query {error.query!r} twice", "remove one"
    return FileError(source.label, what, remedy, line_of_repeat(source, SAMPLED if sampled else QRELS, key))


def _without_repeats(source: Source, assessors: bool, sampled: bool) -> tuple[pl.DataFrame, Skipped]:
    """Return the first judgment of each pair, and a record of the lines with the others."""
    form = SAMPLED if sampled else QRELS
    frames: list[pl.DataFrame] = []
    lines: list[int] = []
    for part in parts(source, form, lenient=True):
        frame, numbers, _ = exact(part.piece, form, source.label, lenient=True)
        frames.append(frame)
        lines += numbers
    frame = pl.concat(frames)
    key = ["source", "query", "item"] if assessors else ["query", "item"]
    first = frame.select(pl.struct(key).is_first_distinct()).to_series()
    others = (~first).arg_true().to_list()
    errors = tuple(
        FileError(source.label, f"item {frame['item'][row]!r} is judged again", "", lines[row]) for row in others[:5]
    )
    return frame.filter(first), Skipped(source.label, len(others), errors)
