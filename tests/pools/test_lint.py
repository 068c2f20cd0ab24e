import polars as pl

from endoxa.io.read import read
from endoxa.pools import lint


def states(findings) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"error": [], "warning": [], "fine": []}
    for finding in findings:
        found[finding.state].append(finding.text)
    return found


def test_judgments() -> None:
    qrels = read({"q": {"a": 1, "b": 0.5, "c": -1}, "r": {"a": 0}}, kind="qrels")
    found = states(lint.judgments(qrels, "f"))
    assert found["fine"] == ["f: 4 judgments on 2 topics, grades -1 to 1"]
    assert len(found["warning"]) == 3
    assert "1 topics have no item of grade 1 or more (r)" in found["warning"][0]
    assert "1 negative grades" in found["warning"][1]
    assert "1 grades are fractions" in found["warning"][2]


def test_a_run_of_another_collection_is_an_error() -> None:
    qrels = read({"q": {"a": 1}}, kind="qrels")
    other_ids = states(lint.run(read({"q": {"x": 1.0}}, kind="run"), "f", qrels))
    assert other_ids["error"] == ["f: no item id occurs in the judgments; do the ids belong to another collection?"]
    other_topics = states(lint.run(read({"z": {"a": 1.0}}, kind="run"), "f", qrels))
    assert other_topics["error"] == ["f: no topic is judged; do run and judgments belong together?"]


def test_ties_gaps_and_shares() -> None:
    qrels = read({"q": {"a": 1, "b": 0}, "r": {"a": 1}}, kind="qrels")
    run = read({"q": {"a": 1.0, "b": 1.0, "c": float("inf")}, "z": {"a": 1.0}}, kind="run")
    found = states(lint.run(run, "f", qrels))
    text = "\n".join(found["warning"])
    assert "50.0% of the items have tied scores" in text
    assert "1 scores are infinite" in text
    assert "lacks 1 judged topics (r)" in text
    assert "1 topics have no judgments (z)" in text
    assert "66.7% of the first 10 are judged" in text
    assert not found["error"]


def test_runs_are_compared_with_each_other_where_there_are_no_judgments() -> None:
    topics = {"few.run": ["q1"], "all.run": ["q1", "q2", "q3"], "more.run": ["q1", "q2", "q3"], "other.run": ["z1"]}
    rows = [(path, "tag", query) for path, queries in topics.items() for query in queries]
    answered = pl.DataFrame(rows, schema=["path", "system", "query"], orient="row")
    found = states(lint.together(answered))
    assert [text.split(";")[0] for text in found["error"]] == [
        "other.run: shares no query with any other system: it answers 'z1', the others answer 'q1' and 2 others"
    ]
    assert found["warning"] == [
        "few.run: lacks 2 of the 3 topics of the other runs (q2, q3); they count as empty lists"
    ]
    assert lint.together(answered.filter(pl.col("path") == "few.run")) == []


def test_systems_of_one_file_are_told_apart() -> None:
    rows = [("a.csv", "x", "q1"), ("a.csv", "x", "q2"), ("a.csv", "y", "q1")]
    answered = pl.DataFrame(rows, schema=["path", "system", "query"], orient="row")
    assert states(lint.together(answered))["warning"] == [
        "a.csv: y: lacks 1 of the 2 topics of the other runs (q2); they count as empty lists"
    ]


def test_tied_items_are_counted_not_the_others() -> None:
    run = read({"q": {"a": 1.0, "b": 1.0, "c": 1.0}, "z": {"a": 1.0}}, kind="run")
    assert any("75.0% of the items have tied scores" in text for text in states(lint.run(run, "f", None))["warning"])
    untied = states(lint.run(read({"q": {"a": 2.0, "b": 1.0}}, kind="run"), "f", None))
    assert not any("tied" in text for texts in untied.values() for text in texts)
