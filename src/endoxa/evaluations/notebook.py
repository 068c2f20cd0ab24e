"""How an evaluation shows itself in a notebook: the answer, the table and a figure, in the look of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import polars as pl

from endoxa.evaluations.sentences import answer
from endoxa.evaluations.standings import best_values, contenders, counts, headline, title_of
from endoxa.formatting import chance, clean, html_of, html_table, notebook_html, number, shortened
from endoxa.notes import marked

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation

ROWS = 30  # systems that the table shows
NAME = 48  # letters of a name


def html(evaluation: Evaluation) -> str:
    """The answer, the summary best first, the first figure, the warnings, and what else is known in a fold."""
    more = [*evaluation.sentences[1:], *marked(evaluation.notes)]
    parts = [
        f'<p class="verdict">{html_of(lambda name: answer(evaluation, name=name))}</p>',
        _table(evaluation) if evaluation.measures else "",
        _machine_judges(evaluation),
        evaluation.drawn(evaluation) if evaluation.drawn is not None and len(evaluation.systems) > 1 else "",
        _list([f"⚠ {warning}" for warning in evaluation.warnings], "warnings"),
    ]
    if more:
        parts.append(f"<details><summary>Notes</summary>{_list(more, 'note')}</details>")
    return notebook_html("".join(parts))


def _table(evaluation: Evaluation) -> str:
    """Systems by measures, `value [lo, hi]`, with P(best) where the truth is in doubt; the best value is bold."""
    summary = evaluation.summary.filter(pl.col("system") != (evaluation.virtual or ""))
    if "by" in summary.columns:
        summary = summary.filter(pl.col("by") == summary["by"][0])
    best, whole = best_values(summary, evaluation.lower), counts(summary)
    order = [one.system for one in contenders(evaluation, headline(evaluation))]
    measures = summary["measure"].unique(maintain_order=True).to_list()
    probable = "p_best" in summary.columns
    cells: dict[tuple[str, str], list[str]] = {}
    for row in summary.iter_rows(named=True):
        decimals = 0 if row["measure"] in whole else 4
        value, lo, hi = row["value"], row["lo"], row["hi"]
        text = number(value, decimals)
        if value is not None and round(value, 4) == best.get(row["measure"]):
            text = f"<b>{text}</b>"
        if lo is not None and not math.isnan(lo):
            text += f" <small>[{number(lo, decimals)}, {number(hi, decimals)}]</small>"
        cells[row["system"], row["measure"]] = [text, *([chance(row["p_best"])] if probable else [])]
    empty = [number(None)] * (2 if probable else 1)
    titles = [title_of(evaluation, measure) for measure in measures]
    heads = ["system", *(head for title in titles for head in (title, *(["P(best)"] if probable else [])))]
    rows = [
        [_text(system), *(cell for measure in measures for cell in cells.get((system, measure), empty))]
        for system in order[:ROWS]
    ]
    more = f'<p class="note">… and {len(order) - ROWS} more systems</p>' if len(order) > ROWS else ""
    return html_table(heads, rows, [False, *[True] * (len(heads) - 1)]) + more


def _machine_judges(evaluation: Evaluation) -> str:
    """The cards of the machine judges: agreement with people, weight, and what each may be used for."""
    table = evaluation.tables.get("judges")
    if table is None:
        return ""
    from endoxa.evaluations.judge_cards import SHARES

    shown = [name for name in (*SHARES, "weight", "tau", "others", "same") if table[name].is_not_nan().any()]
    rows = [
        [_text(row["judge"]), f"{row['graded']:,}", f"{row['labelled']:,}", *(number(row[name], 2) for name in shown)]
        for row in table.iter_rows(named=True)
    ]
    names = {"others": "kappa, others", "same": "same again"}
    heads = ["machine judge", "graded", "labelled", *(names.get(name, name) for name in shown)]
    cards = [str(one) for one in evaluation.notes if one.code == "judges.card"]
    return html_table(heads, rows, [False, *[True] * (len(heads) - 1)]) + _list(cards, "note")


def _list(texts: Sequence[str], look: str) -> str:
    items = "".join(f"<li>{escape(clean(text))}</li>" for text in texts)
    return f'<ul class="{look}">{items}</ul>' if items else ""


def _text(text: str) -> str:
    return escape(shortened([text], NAME)[0])
