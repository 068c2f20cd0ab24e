"""The choices under which a number was made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from endoxa.errors import TextError
from endoxa.policies import CHOICES, MEANING, Policy, refuse_choice, refuse_outside


def test_every_choice_has_a_meaning() -> None:
    assert {name: set(known) for name, known in CHOICES.items()} == {name: set(said) for name, said in MEANING.items()}
    assert all(said for meanings in MEANING.values() for said in meanings.values())


def test_every_choice_is_a_field_and_its_default_is_one_of_its_values() -> None:
    for name, known in CHOICES.items():
        assert getattr(Policy(), name) in known
        for value in known:
            assert getattr(Policy(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ties": "trek"}, r"ties must be one of trec, input, average, range, not 'trek'; did you mean trec\?"),
        ({"missing": None}, "missing must be one of empty, skip, error, not None"),
        ({"unjudged": "condense"}, r"did you mean condensed\?"),
        ({"undefined": "one"}, "undefined must be one of nan, zero, skip, not 'one'"),
        ({"compat": "trec_eval"}, r"compat must be one of none, trec_eval-9, trec_eval-10, not 'trec_eval'"),
        ({"cut": 0}, "cut must be at least 1, not 0"),
        ({"shuffles": 1}, "shuffles must be at least 2, not 1"),
    ],
)
def test_a_wrong_choice_is_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(TextError, match=says):
        Policy(**settings)


def test_the_policy_of_trec_eval() -> None:
    assert Policy.like("none") == Policy()
    for compat in ("trec_eval-9", "trec_eval-10"):
        policy = Policy.like(compat)
        assert (policy.ties, policy.missing, policy.undefined, policy.compat) == ("trec", "skip", "zero", compat)
    assert Policy.like("trec_eval-9", missing="empty").missing == "empty"  # trec_eval -c
    with pytest.raises(TextError, match="compat must be one of"):
        Policy.like("trec_eval-8")  # type: ignore[arg-type]
    with pytest.raises(TextError, match="ties must be one of"):
        Policy.like("trec_eval-9", ties="none")


def test_what_a_result_prints() -> None:
    assert str(Policy()) == "ties=trec missing=empty unjudged=nonrelevant undefined=nan"
    assert str(Policy.like("trec_eval-9", cut=100)).endswith("undefined=zero compat=trec_eval-9 cut=100")
    lines = Policy().lines()
    assert [line.split("=")[0] for line in lines] == ["ties", "missing", "unjudged", "undefined"]
    assert lines[0] == "ties=trec: items with equal scores are in descending order of item id, as in trec_eval"
    more = Policy(compat="trec_eval-10", assessors="mean", cut=5).lines()
    assert [line.split("=")[0] for line in more[4:]] == ["compat", "assessors", "cut"]
    assert more[-1] == "cut=5: only the first 5 items of every list count"


def test_every_field_that_changes_numbers_is_printed_when_it_departs() -> None:
    other = {"ties": "input", "missing": "skip", "unjudged": "condensed", "undefined": "zero", "compat": "trec_eval-9",
             "assessors": "mean", "cut": 7}  # fmt: skip
    assert {field.name for field in fields(Policy)} == {*other, "seed", "shuffles"}
    for name, value in other.items():
        assert f"{name}={value}" in str(Policy(**{name: value}))
        assert any(line.startswith(f"{name}={value}:") for line in Policy(**{name: value}).lines())


def test_a_policy_is_a_value() -> None:
    assert Policy(seed=1) == Policy(seed=1)
    assert len({Policy(), Policy(), Policy(cut=3)}) == 2
    with pytest.raises(FrozenInstanceError):
        Policy().ties = "input"  # type: ignore[misc]


def test_a_confidence_lies_between_0_and_1() -> None:
    refuse_outside("confidence", 0.9)
    with pytest.raises(TextError, match=r"^confidence must lie between 0 and 1, not 95; 0.95 is usual$"):
        refuse_outside("confidence", 95)
    with pytest.raises(TextError, match=r"^alpha must lie between 0 and 1, not 0; 0.05 is usual$"):
        refuse_outside("alpha", 0, 0.05)


def test_a_choice_is_among_those_known() -> None:
    refuse_choice("ties", "trec", ("trec", "input"))
    with pytest.raises(TextError, match=r"^ties must be one of trec, input, not 'trek'; did you mean trec\?$"):
        refuse_choice("ties", "trek", ("trec", "input"))
