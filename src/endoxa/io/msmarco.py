"""Runs of MS MARCO: three columns, query, passage and rank, without a header. The score of an item is 1/rank.

Three columns may also be judgments (query, item, grade). They are ranks where those of a query differ; a file with one
line for every query, all of rank 1, may be both, and the caller must say which.
"""

from __future__ import annotations

import re
from itertools import pairwise

from endoxa.errors import FileError
from endoxa.io.sources import Source, count
from endoxa.io.trec_text import Form, Skipped, refuse_cr, separated, shortened, telling, words_of, wrong
from endoxa.later import pl

FORM = "query passage rank"
COLUMNS = Form("MS MARCO run", ("query", "item", "rank"), ("rank",))
RANK = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
JUDGED = "judgments have four columns (query iteration item grade), or a header: query-id corpus-id score"


def are_ranks(head: bytes, label: str, *, wanted: bool, tabs: bool = False) -> bool:
    """Whether the first lines are a run of MS MARCO. What may also be judgments is refused, unless a run is wanted."""
    lines = head.split(b"\n")
    rows = telling(lines[: -1 if len(lines) > 1 else None], tabs=tabs)
    if wanted or not rows or rows[0][2:] != ["1"]:
        return wanted
    ranks = [(row[0], row[2]) for row in rows if len(row) == 3 and RANK.fullmatch(row[2])]
    if len(set(ranks)) < len(ranks):
        raise FileError(label, "three columns, and the third is not a rank: it recurs within a query", JUDGED)
    if {rank for _, rank in ranks} == {"1"}:
        what = "three columns may be a run of MS MARCO (query passage rank) or judgments: every third one is 1"
        raise FileError(label, what, f"name the run with --run (in Python kind='run'); {JUDGED}")
    return True


def refuse_ranks_with_scores(head: bytes, label: str) -> None:
    """Refuse lines of query, passage, rank and score (ColBERT's): as judgments they would give wrong numbers."""
    query, scores = "", list[float]()
    for words in telling(head.split(b"\n")[:-1]):
        query = query or words[0]
        if len(words) != 4 or words[0] != query:
            continue
        if words[2] != str(len(scores) + 1):  # most judgments have an item here: their first line is enough
            return
        try:
            scores.append(float(words[3]))
        except ValueError:
            return
    falling = all(one >= two for one, two in pairwise(scores))
    if len(scores) > 2 and falling and not all(score.is_integer() for score in scores):
        what = "four columns, but the third counts 1, 2, 3 and the fourth falls: this is a run with ranks and scores"
        raise FileError(label, what, f"keep its first three columns ({FORM}), or say that it is judgments: --qrels")


def rows_of_ranks(
    source: Source, data: bytes, *, lenient: bool, blanks: bool = False
) -> tuple[pl.DataFrame, list[int | None], Skipped]:
    """Return query, item and score = 1/rank, the line of each row, and the lines that were skipped."""
    frame = _regular(data)
    if frame is not None:
        return frame, list(range(1, frame.height + 1)), Skipped(source.label)
    queries, items, scores, lines = [], [], [], list[int | None]()
    skipped = Skipped(source.label)
    tabs = separated(source, COLUMNS, blanks=blanks, lenient=lenient).tabs
    for number, line in enumerate(data.split(b"\n"), 1):
        words = words_of(line, tabs=tabs)
        if not words:
            continue
        try:
            refuse_cr(line, source.label, number)
            _check(words, source.label, number)
        except FileError as error:
            if not lenient:
                raise
            skipped += Skipped(source.label, 1, (error,))
            continue
        queries.append(words[0])
        items.append(words[1])
        scores.append(1 / int(words[2]))
        lines.append(number)
    if not queries:
        raise FileError(source.label, "no line can be read", f"expected lines of {FORM}")
    return pl.DataFrame({"query": queries, "item": items, "score": scores}), lines, skipped


def _check(words: list[str], label: str, number: int) -> None:
    if len(words) != 3 or "" in words:
        what = f"{len(words)} columns in {shortened(' '.join(words))}"
        raise wrong(words, label, what, f"a line of MS MARCO's run has 3: {FORM}", number)
    if not RANK.fullmatch(words[2]):
        what = f"rank {shortened(words[2])} is not a whole number from 1 on"
        raise wrong(words, label, what, f"a line of MS MARCO's run is: {FORM}", number)


def _regular(data: bytes) -> pl.DataFrame | None:
    """Parse lines of three words with one tab between them by Polars; None for any other text."""
    if any(sign in data for sign in (b"\r", b" ", b"\0", b"\n\n")) or data.startswith(b"\n"):
        return None
    schema = {"query": pl.String, "item": pl.String, "score": pl.Int64}
    try:
        frame = pl.read_csv(data, separator="\t", has_header=False, quote_char=None, schema=schema)
    except (pl.exceptions.PolarsError, OSError):
        return None
    if any(column.null_count() for column in frame) or count(data, b"\t") != 2 * frame.height:
        return None
    if not frame["score"].is_between(1, 999_999_999).all() or b"+" in data:
        return None
    return frame.with_columns((1 / pl.col("score")).alias("score"))
