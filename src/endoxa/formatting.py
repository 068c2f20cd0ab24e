"""How numbers and names are written: one place, so that sentences, pages, tables and figures agree."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

DASH = "–"
MINUS = "−"
UNBROKEN = re.compile(r"(?<=\d) (?=[%±])|(?<=\b[pr]) (?=[=<] )|(?<=[=<>±]) (?=[\d−])")  # spaces inside a quantity
BOLD = str.maketrans({"\x02": "<b>", "\x03": "</b>"})
WORD = re.compile(r"[^-_./:+ ]+[-_./:+ ]*|[-_./:+ ]+")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def number(value: float | None, decimals: int = 4, minus: str = MINUS) -> str:
    """`0.3120`; a dash for null and NaN; never `-0.0000`."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{minus}∞"
    text = f"{abs(value):.{decimals}f}"
    return minus + text if value < 0 and float(text) else text


def signed(value: float | None, decimals: int = 4) -> str:
    """A difference with its sign: `+0.0310`, `−0.0310`, `0.0000`."""
    text = number(value, decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def probability(p: float | None) -> str:
    """`p = 0.004`, `p < 0.001`; three decimals are all that a resampling test supports."""
    if p is None or math.isnan(p):
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def share(part: float, whole: float) -> str:
    """`3.2 %`; a dash where the whole is zero. A small share is never printed as zero."""
    if not whole or math.isnan(whole) or math.isnan(part):
        return DASH
    percent = 100 * part / whole
    return "< 0.1 %" if 0 < percent < 0.05 else f"{percent:.1f} %"


def size(count: int) -> str:
    """A file size: `812 B`, `1.4 kB`, `23.0 MB`."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def chance(p: float | None, decimals: int = 2) -> str:
    """`0.62`, `< 0.01`, `> 0.99`: a probability that was counted in draws is never printed as certain."""
    if p is None or math.isnan(p):
        return DASH
    text = f"{p:.{decimals}f}"
    if float(text) >= 1:
        return f"> {1 - 10**-decimals:.{decimals}f}"
    return text if float(text) else f"< {10**-decimals:.{decimals}f}"


def counted(count: int, one: str, several: str) -> str:
    """`1 query`, `2 queries`, `12\u202f000 queries`."""
    return f"{count:,} {one if count == 1 else several}".replace(",", "\u202f")


def listed(names: Sequence[str], most: int, count: int | None = None) -> str:
    """`a, b and c`; `a, b, c and 2 others` where there are more than `most`, or `count` says so."""
    total = len(names) if count is None else count
    shown = list(names[:most])
    if total > len(shown):
        shown.append(f"{total - len(shown)} other{'' if total - len(shown) == 1 else 's'}")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def capitalised(text: str) -> str:
    """The text with its first letter large and all others as they were."""
    return text[:1].upper() + text[1:]


def clean(text: str) -> str:
    """The text on one line, without the characters that break XML or reverse the direction of writing."""
    return CONTROL.sub(" ", text)


def html_of(sentence: Callable[[Callable[[str], str]], str], limit: int = 80) -> str:
    """A sentence as HTML: escaped, names bold, quantities on one line. `sentence` is given what to do with names."""
    text = sentence(lambda name: f"\x02{shortened([name], limit)[0]}\x03")  # `shortened` leaves no such characters
    from html import escape

    return escape(UNBROKEN.sub("\u00a0", text)).translate(BOLD)


def notebook_html(body: str) -> str:
    """HTML for a cell of a notebook; nothing in it is a script. Its colours are those of reports/templates/page.css."""
    look = Path(__file__).with_name("notebook.css").read_text(encoding="utf-8").strip()
    return f'<div class="endoxa"><style>{look}</style>{body}</div>'


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table in that look. The heads are text, the cells HTML; `right` says which columns are set to the right."""
    from html import escape

    sides = [' class="n"' if side else "" for side in right]
    head = "".join(f"<th{side}>{escape(text)}</th>" for text, side in zip(heads, sides, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{side}>{cell}</td>" for cell, side in zip(row, sides, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def width(text: str) -> float:
    """Width in em, rounded up: as in DejaVu Sans, the widest of the fonts in use."""
    return sum(_letter(letter) for letter in text)


def _letter(letter: str) -> float:
    if letter in "iljtfrI.,:;|!'()[]{} -/":
        return 0.42
    if letter in "mwMW@%…" or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.76 if letter.isupper() else 0.65


def shortened(names: Sequence[str], limit: int) -> list[str]:
    """Names cut in the middle to at most `limit` letters, and still distinct.

    Runs of one family differ at the end (`bm25-k1-0.9`, `bm25-k1-1.2`), so the end is kept. Names that
    become equal get a number.
    """
    short = [_cut(clean(name), limit) for name in names]
    seen: dict[str, int] = {}
    result = []
    for name, label in zip(names, short, strict=True):
        seen[label] = seen.get(label, 0) + 1
        mark = f" ({seen[label]})"
        twice = seen[label] > 1
        result.append(_cut(clean(name), max(limit - len(mark), 3)) + mark if twice else label)
    return result


def words_of(name: str) -> list[str]:
    """The words of a name, each with the sign that ends it: `bm25-`, `k1_`, `0.9`."""
    return WORD.findall(name)


def longest(text: str) -> int:
    """Letters of the longest word."""
    return max(map(len, text.split()), default=0)


def folded(name: str, room: int) -> str:
    """The name on lines of at most `room` letters, broken between its words only; a longer word is cut by `…`."""
    if len(name) <= room:
        return name
    lines = [""]
    for word in words_of(name):
        if lines[-1] and len(lines[-1]) + len(word.rstrip(" ")) > room:
            lines.append("")
        lines[-1] += word if len(word) <= room else _cut(word, room)
    return "\n".join(line.rstrip(" ") for line in lines)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = (limit - 1) * 2 // 5
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"
