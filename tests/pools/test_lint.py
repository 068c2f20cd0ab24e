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
