"""Tables as text: Markdown, LaTeX, tab-separated, JSON lines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from endoxa.errors import refuse_unknown
from endoxa.evaluations.standings import best_values, counts
from endoxa.formatting import DASH, clean, number
from endoxa.later import pl
from endoxa.tables.checks import finite

Style = Literal["markdown", "latex", "tsv", "jsonl"]

MARKDOWN = str.maketrans(
    {letter: f"\\{letter}" for letter in "\\`*_{}[]|~$#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
LETTERS = dict(zip("\\~^<>|`", "backslash asciitilde asciicircum less greater bar asciigrave".split(), strict=True))
SYMBOLS = {"−": "-", "×": r"\times", "±": r"\pm", "≤": r"\le", "≥": r"\ge", "→": r"\to", "∞": r"\infty", "⊤": r"\top"}
# After \\ a bare bracket would be read as a length, a bare star as \\*.
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {sign: rf"\text{name}{{}}" for sign, name in LETTERS.items()}
    | {sign: f"${command}$" for sign, command in SYMBOLS.items()}
    | {'"': "{''}", "[": "{[}", "*": "{*}", "–": "--", "—": "---", "…": r"\ldots{}"}
)
ABOVE = {"markdown": "<sup>{}</sup>", "latex": "$^{{{}}}$", "tsv": "^{}"}
BOLD = {"markdown": "**{}**", "latex": r"\textbf{{{}}}"}
INTERVALS = {"markdown": r" \[{}, {}\]", "latex": r" {{\scriptsize [{}, {}]}}"}
# What pdfLaTeX sets with its stock fonts; anything else needs an engine that reads Unicode.
LATIN = re.compile(r"[\x00-\u017f\u2010-\u2026−×±≤≥→∞⊤]*")


def render(
    frame: pl.DataFrame, style: Style, *, caption: str | None = None, label: str | None = None, decimals: int = 4
) -> str:
    r"""Any frame as text, ending in a newline.

    Markdown and LaTeX are for readers: `decimals` decimals, a dash for NaN and null; a number too small for
    that is written 3.1e-05. TSV and JSON lines are for programs: full precision, NaN is `nan` or null. In
    TSV a tab, newline or backslash inside a text is written \t, \n, \\. `label` is for \ref in LaTeX.
    """
    if style == "jsonl":
        return _jsonl(frame.to_dicts())
    if style == "tsv":
        return _tsv([map(_plain, row) for row in (frame.columns, *frame.iter_rows())])
    right = [dtype.is_numeric() for dtype in frame.dtypes]
    escape = _escape(style)
    cells = [[_cell(value, decimals, escape) for value in row] for row in frame.iter_rows()]
    head = [escape(name) for name in frame.columns]
    return _table(style, head, cells, right, caption=caption, label=label)


def summary_table(
    summary: pl.DataFrame, style: Style, *, caption: str | None = None, label: str | None = None,
    lower: Collection[str] = (), intervals: bool = True, letters: Mapping[str, str] | None = None,
    beaten: Mapping[tuple[str, str], str] | None = None,
) -> str:  # fmt: skip
    """Systems by measures, `value [lo, hi]` in each cell, the best of each measure bold.

    Systems and measures are in the order of the summary. `lower` names measures of which small values are
    better. Counts are whole numbers and have no best. A cell without a value is a dash; a note says how many
    queries are undefined. JSON lines give one object per system with full precision. `letters` gives each system a
    letter, and `beaten` the letters to write above the value of a system on a measure.
    """
    systems = summary["system"].unique(maintain_order=True).to_list()
    measures = summary["measure"].unique(maintain_order=True).to_list()
    rows = {(row["system"], row["measure"]): row for row in summary.iter_rows(named=True)}
    if style == "jsonl":
        objects: dict[str, dict[str, Any]] = {system: {"system": system} for system in systems}
        for (system, measure), row in rows.items():
            objects[system][measure] = {key: row[key] for key in ("value", "lo", "hi", "queries", "undefined")}
        return _jsonl(list(objects.values()))
    whole = counts(summary)
    best = best_values(summary, lower)
    escape = _escape(style)
    cells = []
    for system in systems:
        line = [*([letters[system]] if letters else []), escape(system)]
        for measure in measures:
            row = rows.get((system, measure), {"value": None, "lo": None, "hi": None})
            decimals = 0 if measure in whole else 4
            value = _shown(row["value"], decimals, escape)
            if measure in best and row["value"] is not None and round(row["value"], 4) == best[measure]:
                value = BOLD.get(style, "{}").format(value)
            if above := (beaten or {}).get((system, measure)):
                value += ABOVE[style].format(above)
            if intervals and row["lo"] is not None and not math.isnan(row["lo"]):
                ends = (_shown(row[end], decimals, escape) for end in ("lo", "hi"))
                value += INTERVALS.get(style, " [{}, {}]").format(*ends)
            line.append(value)
        cells.append(line)
    head = [*([escape("#")] if letters else []), escape("system"), *(escape(measure) for measure in measures)]
    if style == "tsv":
        return _tsv([head, *cells])
    note = undefined_note(summary)
    right = [False] * (2 if letters else 1) + [True] * len(measures)
    return _table(style, head, cells, right, caption=caption, label=label, note=escape(note) if note else None)


def undefined_note(summary: pl.DataFrame) -> str | None:
    """`– no defined value. Undefined (0/0): AP on 3 queries; ERR on 2 to 5 queries, by system.`, or None."""
    parts = []
    for (measure,), rows in summary.group_by("measure", maintain_order=True):
        numbers = [int(number) for number in rows["undefined"].fill_null(0).to_list()]
        least, most = min(numbers), max(numbers)
        if most:
            many = f"{most} quer{'y' if most == 1 else 'ies'}"
            parts.append(f"{measure} on {many}" if least == most else f"{measure} on {least} to {many}, by system")
    empty = bool((summary["value"].is_null() | summary["value"].is_nan().fill_null(value=False)).any())
    dash = f"{DASH} no defined value. " if empty else ""
    return f"{dash}Undefined (0/0): {'; '.join(parts)}." if parts else dash.strip() or None


def _escape(style: Style) -> Any:
    refuse_unknown("table style", style, get_args(Style), listed=True)
    return {"markdown": _markdown, "latex": _latex, "tsv": _plain}[style]


def _markdown(text: str) -> str:
    return clean(text).translate(MARKDOWN)


def _latex(text: str) -> str:
    text = clean(text).replace("--", "-\0-").replace("--", "-\0-")
    return text.translate(LATEX).replace("\0", "{}")


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return str(value)


def _cell(value: Any, decimals: int, escape: Any) -> str:
    if value is None:
        return str(escape(DASH))
    if isinstance(value, float):
        tiny = value and abs(value) < 0.5 * 10**-decimals
        return str(escape(f"{value:.1e}".replace("-", "−", value < 0) if tiny else number(value, decimals)))
    return str(escape(str(value)))


def _shown(value: float | None, decimals: int, escape: Any) -> str:
    return str(escape(number(value, decimals, "-" if escape is _plain else "−")))


def _table(
    style: Style, head: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], *, caption: str | None,
    label: str | None, note: str | None = None,
) -> str:  # fmt: skip
    """A table as Markdown or LaTeX; `right` says which columns are set to the right."""
    if style == "markdown":
        widths = [max(3, *map(len, column)) for column in zip(head, *cells, strict=True)]
        sides = [">" if number_like else "<" for number_like in right]
        rule = ["-" * (wide - 1) + (":" if side == ">" else "-") for wide, side in zip(widths, sides, strict=True)]
        rows = [
            " | ".join(f"{text:{side}{wide}}" for text, side, wide in zip(row, sides, widths, strict=True))
            for row in (head, rule, *cells)
        ]
        above = [f"{_markdown(caption)}\n"] if caption else []
        return "\n".join([*above, *(f"| {row} |" for row in rows), *([f"\n{note}"] if note else [])]) + "\n"
    columns = "".join("r" if number_like else "l" for number_like in right)
    body = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in cells),
        r"\bottomrule",
        *([rf"\multicolumn{{{len(head)}}}{{l}}{{\footnotesize {note}}} \\"] if note else []),
        r"\end{tabular}",
    ]
    if caption:
        reference = [rf"\label{{{label}}}"] if label else []
        opening = [r"\begin{table}[t]", r"\centering", rf"\caption{{{_latex(caption)}}}", *reference]
        body = [*opening, *body, r"\end{table}"]
    needs = [r"% needs \usepackage{booktabs}"]
    if not LATIN.fullmatch("\n".join(body)):
        needs.append("% contains letters beyond Latin: compile with LuaLaTeX or XeLaTeX and a font that has them")
    return "\n".join([*needs, *body]) + "\n"


def _tsv(rows: Iterable[Iterable[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


def _jsonl(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(finite(row), ensure_ascii=False) + "\n" for row in rows)
