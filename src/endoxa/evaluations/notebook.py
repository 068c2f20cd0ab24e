"""How an evaluation shows itself in a notebook: a small piece of HTML, escaped, without scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from endoxa.evaluations.sentences import answer
from endoxa.evaluations.standings import best_values, counts, headline, order_of
from endoxa.formatting import chance, clean, html_of, number, shortened

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation

ROWS = 30  # systems that the table shows
NAME = 48  # letters of a name
RIGHT = ' style="text-align:right"'


def html(evaluation: Evaluation) -> str:
    """The answer, the summary best first, the warnings, and the notes in a fold."""
    parts = [
        f"<p><b>{_text(evaluation.title)}</b></p>" if evaluation.title else "",
        f"<p>{html_of(lambda name: answer(evaluation, name=name))}</p>",
        _table(evaluation) if evaluation.measures else "",
        _list(f"⚠ {warning}" for warning in evaluation.warnings),
    ]
    if evaluation.notes:
        parts.append(f"<details><summary>Notes</summary>{_list(evaluation.notes)}</details>")
    return f'<div class="endoxa">{"".join(parts)}</div>'


def _table(evaluation: Evaluation) -> str:
    """Systems by measures, `value [lo, hi]`, with P(best) where the truth is in doubt; the best value is bold."""
    best, whole = best_values(evaluation.summary, evaluation.lower), counts(evaluation.summary)
    order = [one.system for one in order_of(evaluation, headline(evaluation))]
    probable = "p_best" in evaluation.summary.columns
    cells: dict[tuple[str, str], str] = {}
    for row in evaluation.summary.iter_rows(named=True):
        decimals = 0 if row["measure"] in whole else 4
        value, lo, hi = row["value"], row["lo"], row["hi"]
        text = number(value, decimals)
        if value is not None and round(value, 4) == best.get(row["measure"]):
            text = f"<b>{text}</b>"
        if lo is not None and not math.isnan(lo):
            text += f" <small>[{number(lo, decimals)}, {number(hi, decimals)}]</small>"
        cell = f"<td{RIGHT}>{text}</td>"
        if probable:
            cell += f"<td{RIGHT}>{chance(row['p_best'])}</td>"
        cells[row["system"], row["measure"]] = cell
    empty = f"<td{RIGHT}>{number(None)}</td>" * (2 if probable else 1)
    heads = [head for measure in evaluation.measures for head in (measure, *(["P(best)"] if probable else []))]
    rows = []
    for system in order[:ROWS]:
        note = " <small>(returns everything)</small>" if system == evaluation.virtual else ""
        own = "".join(cells.get((system, measure), empty) for measure in evaluation.measures)
        rows.append(f"<tr><td>{_text(system)}{note}</td>{own}</tr>")
    head = "".join(f"<th{RIGHT}>{_text(text)}</th>" for text in heads)
    table = f"<table><thead><tr><th>system</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    more = f"<p>… and {len(order) - ROWS} more systems</p>" if len(order) > ROWS else ""
    return f'<div style="overflow-x:auto">{table}</div>{more}'


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(clean(text))}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def _text(text: str) -> str:
    return escape(shortened([text], NAME)[0])
