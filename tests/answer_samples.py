"""What counts as an answer: the first line of a command, the first sentence of a page, the first line of a cell.

And whether it agrees with the tables under it.
"""

from __future__ import annotations

import html
import math
import re

import polars as pl

from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.standings import p_best
from endoxa.reports import terminal
from endoxa.reports.sheets import Sheet


def is_answer(line: str) -> bool:
    """A sentence: it ends in a period, has four words or more, and is neither a table, nor a remark, nor a heading."""
    words = line.split()
    return (
        line.endswith(".") and len(words) >= 4 and line == line.strip() and not re.search(r"\t| {2}", line)
        and not line.startswith(("!", "#", "|", "…"))
    )  # fmt: skip


def first_line(printed: str) -> str:
    return printed.split("\n", 1)[0]


def first_sentence(page: str) -> str:
    """The first paragraph in the body of a page that is neither a link to skip to nor a list of facts."""
    body = page[page.index("<body") :]
    body = re.sub(r"<a class=\"skip\".*?</a>|<p class=\"facts\">.*?</p>|<h1>.*?</h1>", "", body, flags=re.S)
    found = re.search(r"<p[^>]*>(.*?)</p>", body, re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", found[1])).replace("\u00a0", " ").strip() if found else ""


LEADS = re.compile(
    r"^(?:.*?(?:this consensus|this belief|labels?,) |Best guess without judgments: )?"
    r"(.+?) (?:leads on|is ahead on|share the lead on|has|\(P\(best\)) "
)
INTERVALS = [("value", ""), ("difference", ""), ("estimate", ""), ("estimate", "_queries"), ("difference", "_queries")]


def contradictions(evaluation: Evaluation) -> list[str]:
    """Where the answer disagrees with the table under it, and means that lie outside their own interval."""
    found = [*outside("summary", evaluation.summary)]
    if evaluation.scores is not None:
        found += outside("scores", evaluation.scores.frame)
    if evaluation.comparison is not None:
        found += outside("comparison", evaluation.comparison.frame)
    for name, table in evaluation.tables.items():
        found += outside(name, table)
    answer, leads = evaluation.sentences[0], LEADS.match(evaluation.sentences[0])
    if leads is None:
        return found
    leader = re.split(r", | and ", leads[1])[0]
    first = next(part for part in terminal.parts(evaluation, width=400) if isinstance(part, Sheet))
    if len(evaluation.systems) > 1 and first.rows[0][0] != leader:
        found.append(f"{first.rows[0][0]} is the first row of the table: {answer}")
    chances = {system: round(chance, 2) for system, chance in p_best(evaluation, evaluation.measures[0]).items()}
    most = max(chances, key=lambda system: chances[system], default=leader)
    if "is the best of" in answer and chances[most] > chances[leader] and f" ({most}: " not in answer:
        found.append(f"{most} has the largest P(best): {answer}")
    if (" leads on " in answer and "cannot be told apart" in answer) or (
        " is ahead " in answer and "can be told" in answer
    ):
        found.append(f"only what can be told apart from all others leads: {answer}")
    return found


def outside(name: str, table: pl.DataFrame) -> list[str]:
    """Rows of a table whose mean lies outside its own interval."""
    found = []
    for value, kind in INTERVALS:
        lo, hi = f"lo{kind}", f"hi{kind}"
        if not {value, lo, hi} <= set(table.columns):
            continue
        for row in table.iter_rows(named=True):
            ends = [math.nan if row[column] is None else row[column] for column in (lo, value, hi)]
            slack = 1e-9 * (1 + abs(ends[1]))
            if ends[1] < ends[0] - slack or ends[1] > ends[2] + slack:
                found.append(f"{name}: {ends} of {row}")
    return found
