"""Tables and evaluations as a Python session shows them."""

from __future__ import annotations

import endoxa


def test_an_evaluation_begins_with_its_answer_and_a_table_with_what_it_is() -> None:
    run, qrels = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"x": 1.0, "y": 2.0}}}, {"q": {"x": 1}}
    evaluation = endoxa.evaluate(run, qrels, ["AP"])
    lines = repr(evaluation).splitlines()
    assert lines[0] == evaluation.sentences[0] and "│ a      ┆ AP" in repr(evaluation) and len(lines) < 15
    scores = endoxa.measure(run, qrels, ["AP"])
    assert repr(scores).startswith("Scores, 2 rows\n") and len(repr(scores).splitlines()) < 15


def test_completion_shows_what_is_not_made_yet() -> None:
    evaluation = endoxa.evaluate({"q": {"x": 2.0, "y": 1.0}}, {"q": {"x": 1}}, ["AP"])
    assert "summary" not in vars(evaluation)
    assert {"summary", "scores", "sentences"} <= {*dir(evaluation)}
    assert "_makers" not in dir(evaluation)
