"""Settings: one table for the library, the command line, the help and the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from endoxa.errors import CallError
from endoxa.evaluations.settings import KINDS, REGISTRY, Settings, described
from endoxa.policies import Policy

DOCS = Path(__file__).parents[2] / "docs"


def test_the_documentation_has_the_settings() -> None:
    """To renew it: paste described() of endoxa.evaluations.settings into the section Settings of docs/cli.md."""
    assert described() in (DOCS / "cli.md").read_text()


def test_every_setting_has_help_and_applies_somewhere() -> None:
    for name, one in REGISTRY.items():
        assert one.help.endswith((".", "…")), name
        assert one.kinds, name
        assert set(one.kinds) <= set(KINDS)


def test_the_policy_is_that_of_the_settings() -> None:
    assert Settings().policy == Policy()
    chosen = Settings.of({"compat": "trec_eval-9", "cut": 5, "seed": 3})
    assert chosen.policy == Policy(compat="trec_eval-9", missing="skip", undefined="zero", cut=5, seed=3)
    assert Settings.of({"compat": "trec_eval-9", "missing": "empty"}).missing == "empty"
    assert Settings.of({"format": "qrels_jg"}).assessors == "mean"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"wolrds": 3}, "did you mean worlds"),
        ({"ties": "foo"}, "ties must be one of"),
        ({"confidence": 95}, "confidence must lie between 0 and 1"),
        ({"worlds": 1}, "worlds must be at least 2"),
        ({"worlds": "many"}, "worlds must be a number"),
        ({"test": "chi"}, "test must be one of randomisation"),
    ],
)
def test_wrong_settings_are_refused(given: dict, words: str) -> None:
    with pytest.raises(CallError, match=words):
        Settings.of(given)


def test_settings_that_do_not_change_scores_are_not_for_measure() -> None:
    with pytest.raises(CallError, match="baseline does not change scores"):
        Settings.of({"baseline": "bm25"}, scoring_only=True)


def test_a_setting_of_another_kind_says_where_it_belongs() -> None:
    with pytest.raises(
        CallError, match="depth does not apply to relevance judgments; it is for runs without judgments"
    ):
        Settings().refuse_foreign(["depth"], ["judgments"])
    Settings().refuse_foreign(["depth", "seed"], ["consensus"])
