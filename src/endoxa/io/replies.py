"""The grade in what a machine judge replied: JSON with one field for it, "final score: 2", or a number alone.

A reply without a grade on the scale has none: it is never read as 0.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from endoxa.io import faults

Scale = tuple[int, int]  # the least and the greatest grade

FIELDS = ("grade", "relevance", "score", "rating", "label", "judgment", "final_score")
OVERALL = "O"  # beside the parts M and T, in the prompt that Bing published
THOUGHT = "</think>"  # ends what a model thinks before it replies
DIGITS = r"-?(?:\d+(?:\.\d+)?|\.\d+)"
NUMBER = re.compile(DIGITS)
HUGE = 1e300  # beyond the range of a float, about
FENCED = re.compile(r"```\w*\s*(.*?)```", re.DOTALL)
FLAT = re.compile(r"\{[^{}]*\}")
FINAL = re.compile(rf"final\W{{0,3}}score(?:\s+is)?\W{{0,6}}?({DIGITS})", re.IGNORECASE)
ALONE = re.compile(rf"\W*?(?:(?:{'|'.join(FIELDS)})(?:\s+is)?\W*?)?({DIGITS})\W*", re.IGNORECASE)


def grade_of(reply: str, scale: Scale) -> float | None:
    """The grade in a reply; None if it has none, or one outside the scale."""
    text = reply.rpartition(THOUGHT)[2].strip()
    found = next((grade for value in _values(text) if (grade := _field(value)) is not None), None)
    if found is None and (final := FINAL.findall(text)):
        found = float(final[-1])
    if found is None and (alone := ALONE.fullmatch(text)):
        found = float(alone[1])
    return found if found is not None and scale[0] <= found <= scale[1] else None


def _values(text: str) -> Iterator[Any]:
    """What is JSON in the text: all of it, a part within a fence, its last object."""
    for part in (text, *reversed(FENCED.findall(text)), *FLAT.findall(text)[-1:]):
        try:
            yield json.loads(part)
        except faults.JSON:
            continue


def _field(value: Any) -> float | None:
    """The only number in an object that is named like a grade; else the overall grade."""
    if not isinstance(value, Mapping):
        return None
    found = [number for name, one in value.items() if name.lower() in FIELDS and (number := _number(one)) is not None]
    return found[0] if len(found) == 1 else _number(value.get(OVERALL)) if not found else None


def _number(value: Any) -> float | None:
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < HUGE else math.inf


Alternatives = Mapping[str, float]  # {token: log-probability} at one place of a reply


def expected_of(
    reply: str, places: Sequence[tuple[str, Alternatives]], scale: Scale
) -> tuple[float, list[float]] | None:
    """The expected grade by token probabilities, and the probability of each grade; None if the reply has no grade.

    `places` has every token of the reply and what else might have stood there. The grade is the last token that is the
    reply's grade; E = Σ g p(g) / Σ p(g) over the grades of the scale, in whatever spelling (`2` and ` 2`).
    """
    grade = grade_of(reply, scale)
    if grade is None:
        return None
    others = next((others for token, others in reversed(places) if _bare(token) == f"{grade:g}"), None)
    if others is None:
        return None
    grades = range(scale[0], scale[1] + 1)
    p = [math.fsum(math.exp(log) for token, log in others.items() if _bare(token) == str(one)) for one in grades]
    total = math.fsum(p)
    return (math.fsum(one * share for one, share in zip(grades, p, strict=True)) / total, p) if total > 0 else None


def _bare(token: str) -> str:
    """A token without the marks of a blank that tokenizers put before a word."""
    return token.strip(" \"'▁Ġ")
