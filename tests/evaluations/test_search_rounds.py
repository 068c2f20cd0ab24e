"""Rounds of a search are not announced as rivals, on any surface; other systems are."""

from __future__ import annotations

import pytest

import endoxa
from endoxa.evaluations.search_rounds import answer, are_rounds
from endoxa.evaluations.sentences import measured

MARKS = {"search": {"a": 4, "b": 1, "c": 4, "d": 0}}
ROUNDS = {
    "round-10": {"search": {"e": 1.0}}, "round-02": {"search": {"c": 2.0, "d": 1.0}},
    "round-01": {"search": {"a": 2.0, "b": 1.0}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("systems", "rounds"),
    [
        (["round-01", "round-02"], True),
        (["round-01", "round-100"], True),
        (["round-01"], False),
        (["round-01", "bm25"], False),
        (["round-1", "round-2"], False),
        (["my-round-01", "round-02"], False),
        ([], False),
    ],
)
def test_rounds_are_known_by_the_names_of_the_export(systems: list[str], rounds: bool) -> None:
    assert are_rounds(systems) == rounds


def test_rounds_of_a_search_are_no_rivals() -> None:
    found = endoxa.evaluate(ROUNDS, MARKS, ["P@2", "AP"])
    assert found.sentences[0] == answer(found.systems, 1)
    assert found.sentences[0].startswith("round-01 to round-10 are 3 rounds of one search, not rivals: ")
    html = found._repr_html_()
    assert "not rivals" in html and "not rivals" in measured(endoxa.measure(ROUNDS, MARKS, ["P@2"]))
    for word in ("leads", "is ahead", "share the lead", "runner-up", "best AP"):
        assert word not in found.sentences[0]
    by_name = {f"engine-{system}": lists for system, lists in ROUNDS.items()}
    assert "is ahead" in endoxa.evaluate(by_name, MARKS, ["P@2", "AP"]).sentences[0]


def test_rounds_alone_are_no_rivals_either() -> None:
    """Without judgments a consensus of rounds would vote on pictures that no other round can show."""
    assert "not rivals" in endoxa.evaluate(ROUNDS, None, ["P@2"]).sentences[0]


def test_rounds_of_several_searches_are_counted() -> None:
    runs = {system: {"one": lists["search"], "two": lists["search"]} for system, lists in ROUNDS.items()}
    marks = {"one": MARKS["search"], "two": MARKS["search"]}
    assert "3 rounds of 2 searches" in endoxa.evaluate(runs, marks, ["P@2"]).sentences[0]
