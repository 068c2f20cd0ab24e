"""The grade in a reply: many spellings, none where there is none, and expected grades by hand."""

from __future__ import annotations

import math

import pytest

from endoxa.io.replies import expected_of, grade_of

SCALE = (0, 3)


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"grade": 2}', 2), ('{"grade": "2"}', 2), ('{"reason": "a {b} c", "relevance": 1}', 1),
        ('{"Score": 0.5}', 0.5),
        ('Here:\n```json\n{"label": 3}\n```\nDone.', 3), ('I think {"grade": 1} but no: {"grade": 2}.', 2),
        ('{"M": 2, "T": 1, "O": 1}', 1), ('{"O": 3}', 3), ('{"grade": 2, "M": 1, "O": 0}', 2),
        ("##final score: 2", 2), ("The passage of 1999 ... ##Final Score: 0", 0), ("final score is 3.", 3),
        ("final_score = 1", 1), ("final score: 1\nNo, final score: **2**", 2), ('{"reason": "x"} final score: 1', 1),
        ("2", 2), (" 3\n", 3), ("**1**.", 1), ("Grade: 0", 0), ("The 2", None), ("relevance 2", 2),
        ("1.5", 1.5), (".5", 0.5), ("-.5", None), ("score: .5", 0.5), ('{"grade": ".5"}', 0.5),
        ("final score: .5", 0.5),
        ("<think>0? {\"grade\": 0} or 1</think>\n2", 2), ("<think>3", None),
        ("", None), ("I cannot say.", None), ("2 of 3", None), ("2/3", None), ("between 1 and 2", None),
        ("4", None), ("-1", None), ("Grade: -1", None), ('{"grade": 4}', None), ('{"grade": true}', None),
        ('{"grade": null}', None), ('{"grade": NaN}', None), ('{"grade": 1, "score": 2}', None), ('{"items": 2}', None),
        ('{"grade": [2]}', 2), ('{"grade": [-2]}', None),
        ("[" * 100_000, None), ("9" * 5000, None), ('{"grade": ' + "9" * 400 + "}", None),
    ],
)  # fmt: skip
def test_the_grade_of_a_reply(reply: str, grade: float | None) -> None:
    assert grade_of(reply, SCALE) == grade


def test_another_scale() -> None:
    assert grade_of("5", (1, 5)) == 5 and grade_of("0", (1, 5)) is None and grade_of("0.73", (0, 1)) == 0.73


def test_the_expected_grade_by_hand() -> None:
    logs = {"1": math.log(0.5), " 2": math.log(0.2), "2": math.log(0.1), "The": math.log(0.2)}
    places = [('{"', {}), ("grade", {}), ('":', {}), (" 1", logs), ("}", {"1": 0.0})]
    found = expected_of('{"grade": 1}', places, SCALE)
    assert found is not None
    assert found[1] == pytest.approx([0, 0.5, 0.3, 0])
    assert found[0] == pytest.approx((0.5 + 2 * 0.3) / 0.8)


def test_the_last_token_that_is_the_grade_counts() -> None:
    places = [("1", {"1": 0.0}), (".", {}), ("final score: ", {}), ("1", {"1": math.log(0.25), "3": math.log(0.75)})]
    found = expected_of("1.final score: 1", places, SCALE)
    assert found is not None and found[0] == pytest.approx(2.5)


def test_without_a_grade_nothing_is_expected() -> None:
    assert expected_of("No.", [("No", {"2": -0.1}), (".", {})], SCALE) is None
    assert expected_of("2", [("two", {"2": 0.0})], SCALE) is None
    assert expected_of("2", [("2", {"x": 0.0})], SCALE) is None
