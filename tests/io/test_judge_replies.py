"""The grade in a reply: what models answer, and what must not be taken for a grade."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.io.judge_replies import NAMES, grade_of, number_of

GRADES: dict[str, float | None] = {
    "2": 2,
    " 3.\n": 3,
    "**1**": 1,
    "0.25": 0.25,
    "-1": -1,
    "2 relevant": 2,
    "3: perfectly relevant": 3,
    "Relevant": 1,
    "not relevant.": 0,
    '{"relevance": 3, "reason": "2 facts"}': 3,
    '{"grade": "1"}': 1,
    '{"label": "2 - highly relevant"}': 2,
    '{"judgment": "irrelevant"}': 0,
    '{"rating": true}': 1,
    '{"M": 2, "T": 1, "O": 0}': 0,
    '[{"O": 2}]': 2,
    '```json\n{"score": 2}\n```': 2,
    'My answer:\n```\n{"relevance": 1}\n```\nDone.': 1,
    "It is about 1984.\n##final score: 3": 3,
    "final score: 1 ... no, final score: 2": 2,
    "Final_score = 2.5": 2.5,
    '"2"': 2,
    # no grade
    "": None,
    "The passage answers the question.": None,
    "1984 was the year in which the passage was written": None,
    "10 people were asked about it, which is a long text": None,
    "2/3": None,
    "2 or 3": None,
    "7 of 10": None,
    '{"relevance": 3, "score": 0.5}': None,
    '{"M": 2, "T": 1}': None,
    '{"O": 2, "relevance": 1}': None,
    '{"reason": "2"}': None,
    '{"relevance": null}': None,
    '{"relevance": [2]}': None,
    '[{"O": 2}, {"O": 1}]': None,
    "[]": None,
    "null": None,
    "NaN": None,
    "Infinity": None,
    '{"grade": 1e999}': None,
    f'{{"grade": {"9" * 400}}}': None,
    "9" * 5000: None,
    "[" * 5000: None,
}


@pytest.mark.parametrize("reply", GRADES, ids=lambda reply: repr(reply)[:40])
def test_replies(reply: str) -> None:
    assert grade_of(reply) == GRADES[reply]


@given(st.integers(-3, 100), st.sampled_from(NAMES), st.booleans())
def test_the_only_number_of_a_known_name_counts(grade: int, name: str, fenced: bool) -> None:
    text = json.dumps({"why": "7", name: grade, "tokens": 12})
    assert grade_of(f"Well:\n```json\n{text}```" if fenced else text) == grade


@given(st.text())
def test_any_text_is_a_grade_or_none(text: str) -> None:
    assert isinstance(grade_of(text), float | None)
    assert isinstance(number_of(text), float | None)
