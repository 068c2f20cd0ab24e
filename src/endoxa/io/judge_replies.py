"""The grade in what a machine judge answered: JSON, also inside a code fence, `final score: 2`, or only the grade.

Of JSON, the only number among the names of a grade counts; `O` is the overall grade beside `M` and `T`. A reply with no
grade, or with several, has none.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any

from endoxa.io import faults
from endoxa.tables.grade_words import GRADES

NAMES = ("relevance", "score", "grade", "rating", "label", "judgment", "judgement", "O", "M", "T")
OVERALL = {"O", "M", "T"}
FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL | re.IGNORECASE)
FINAL = re.compile(r"final[ _]score\W{0,8}([0-9]{1,6}(?:\.[0-9]{1,6})?)", re.IGNORECASE)
NUMBER = re.compile(r"[+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(?:e[+-]?[0-9]{1,2})?", re.IGNORECASE)
LEADING = re.compile(r"([0-9]{1,3})[^0-9]+")  # 2 relevant
LONGEST = 40  # characters of a grade with a word


def grade_of(reply: str) -> float | None:
    """Return the grade in the text of a reply; None if it holds none, or several."""
    for part in (reply, *FENCE.findall(reply)):
        try:
            value = json.loads(part)
        except faults.JSON:
            continue
        return grade_in(value)
    if found := FINAL.findall(reply):
        return float(found[-1])
    return number_of(reply)


def grade_in(value: Any) -> float | None:
    """Return the grade in a value of JSON: the value itself, or the only number under a name of a grade."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return number_of(value)
    found = {name: number for name in NAMES if name in value and (number := number_of(value[name])) is not None}
    if "O" in found and found.keys() <= OVERALL:
        return found["O"]
    return next(iter(found.values())) if len(found) == 1 else None


def number_of(value: Any) -> float | None:
    """Return a grade as a number: a number, also as text, a known word (yes, relevant …) or `2 relevant`."""
    if isinstance(value, str):
        text = value.strip().strip(".!*\"'").strip()
        if NUMBER.fullmatch(text):
            return float(text)
        if len(text) > LONGEST:
            return None
        leading = LEADING.fullmatch(text)
        return float(leading[1]) if leading else GRADES.get(text.lower())
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return number if isfinite(number) else None
