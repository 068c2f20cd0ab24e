from endoxa import measure
from endoxa.reports.warnings import warnings_of


def told(run, qrels, measures=("AP",), **policy) -> str:
    return "\n".join(warnings_of(measure(run, qrels, list(measures), **policy)))


def test_a_clean_run_has_no_warnings() -> None:
    assert told({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 0}}) == ""


def test_missing_and_unknown_topics() -> None:
    text = told({"q": {"a": 2.0}, "x": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 1}})
    assert "Judged topics that a run lacks (they count as empty lists): run 1." in text
    assert "Topics without judgments (ignored): run 1." in text


def test_ties_say_what_decides() -> None:
    run, qrels = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1, "b": 0}}
    assert "item id decides their order): run 100.0%" in told(run, qrels)
    assert "means over their orders" in told(run, qrels, ties="average")


def test_unjudged_items_unless_they_are_taken_out() -> None:
    run, qrels = {"q": {c: float(i) for i, c in enumerate("abcdef")}}, {"q": {"a": 1}}
    assert "Few of the retrieved items were judged (the rest counts as not relevant): run 16.7%." in told(run, qrels)
    assert told(run, qrels, unjudged="condensed") == ""


def test_undefined_values_are_counted() -> None:
    run, qrels = {"q": {"a": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 0}}
    assert "AP is undefined (0/0) for 1 of 2 lists" in told(run, qrels)


def test_many_systems_are_counted_not_listed() -> None:
    run = {f"s{n}": {"q": {"a": 1.0, "b": 1.0}} for n in range(9)}
    assert "and 5 more systems." in told(run, {"q": {"a": 1, "b": 0}})
