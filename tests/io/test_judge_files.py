"""Files of machine judges: every form gives the same gradings; what is no grade is counted; mistakes are one line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import judge_file_samples as forms
import polars as pl
import pytest
from command_line import done
from judge_file_samples import BESIDE_PEOPLE, JUDGE, MACHINES, UNMARKED, chat, lines, rows_of, saved

import endoxa
from endoxa.errors import CallError, EndoxaError, FileError
from endoxa.io.formats import sniff
from endoxa.io.judge_files import read_gradings
from endoxa.io.sources import source_of
from endoxa.io.trec_text import SkippedLinesWarning
from endoxa.io.write import write
from endoxa.tables import Bundle, Gradings, Opinions

GRADES = {"q1": {"d1": 2, "d2": 0, "d3": 1}, "q2": {"d4": 1, "d9": 0, "d2": 1}, "q3": {"d8": 2, "d7": 0}}
EXPECTED = {(JUDGE, query, item, 1, float(grade)) for query, item, grade in rows_of(GRADES)}
Triple = tuple[str, str, float]


def said(gradings: Gradings) -> set[tuple[str, str, str, int, float]]:
    return {*gradings.frame.select("judge", "query", "item", "repeat", "grade").iter_rows()}


def pairs(gradings: Gradings) -> list[Triple]:
    return [*gradings.frame.select("query", "item", "grade").iter_rows()]


def refused(*sources: Any, **given: Any) -> FileError:
    with pytest.raises(FileError) as caught:
        read_gradings(sources, **given)
    assert caught.value.problem
    return caught.value


# ---- forms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*MACHINES, *UNMARKED, *BESIDE_PEOPLE])
def test_every_form_gives_the_same_gradings(form: str, tmp_path: Path) -> None:
    path = (MACHINES | UNMARKED | BESIDE_PEOPLE)[form](tmp_path, GRADES)
    found = read_gradings(path)
    scale = 0.5 if form == "nuggets" else 1.0
    assert said(found) == {(*row[:4], scale * row[4]) for row in EXPECTED}
    assert len(found) == len(EXPECTED)
    stated = {"umbrela_with_ids": (0.0, 3.0), "command_jsonl": (0.0, 3.0), "nuggets": (0.0, 1.0)}
    assert {*found.frame.select("least", "most").iter_rows()} == {stated.get(form, (0.0, 2.0))}
    assert dict(found.skipped) == ({"by a person": 1} if form == "potato" else {})


@pytest.mark.parametrize("form", MACHINES)
def test_a_marked_file_is_recognised_and_read_as_opinions_of_kind_judge(form: str, tmp_path: Path) -> None:
    path = MACHINES[form](tmp_path, GRADES)
    assert sniff(path) == "judge"
    opinions = endoxa.read(path)
    assert isinstance(opinions, Opinions)
    assert opinions.sources == [JUDGE]
    assert opinions.frame["kind"].unique().to_list() == ["judge"]
    assert "8 grades of kind judge on 3 topics" in done("check", path)
    assert "holds grades of machine judges (kind judge): 8 rows" in done("read", path)
    write(opinions, tmp_path / "again.parquet")
    assert (
        read_gradings(tmp_path / "again.parquet")
        .frame.drop("least", "most")
        .equals(read_gradings(path).frame.drop("least", "most"))
    )
    for kind in ("qrels", "opinions", "judge"):
        assert endoxa.read(path, kind=kind).frame.equals(opinions.frame)
    with pytest.raises(FileError):
        endoxa.read(path, kind="run")


@pytest.mark.parametrize("form", UNMARKED)
def test_an_unmarked_file_is_of_a_judge_only_if_the_caller_says_so(form: str, tmp_path: Path) -> None:
    path = UNMARKED[form](tmp_path, GRADES)
    assert sniff(path) != "judge"
    assert endoxa.read(path, kind="judge").frame["kind"].unique().to_list() == ["judge"]


def test_frames_and_dicts_of_a_machine() -> None:
    frame = pl.DataFrame({"qid": ["q", "q"], "docno": ["d", "d"], "label": [1, 2], "model": ["m", "m"]})
    opinions = endoxa.read(frame)
    assert opinions.frame.select("source", "kind", "grade").rows() == [("m", "judge", 1.5)]
    assert endoxa.read({"q": {"d": 1}}, kind="judge").frame["kind"].to_list() == ["judge"]


def test_packed_files_and_pipes(tmp_path: Path) -> None:
    text = forms.qrels(tmp_path, GRADES).read_bytes()
    (tmp_path / f"{JUDGE}.qrels.gz").write_bytes(gzip.compress(text))
    assert said(read_gradings(tmp_path / f"{JUDGE}.qrels.gz")) == EXPECTED


def test_several_files_and_folders(tmp_path: Path) -> None:
    forms.qrels(tmp_path / "many", GRADES)
    saved(tmp_path / "many", "b.txt", "q1 0 d1 3\n")
    saved(tmp_path / "many", "README.md", "What this is.\n")
    saved(tmp_path / "many", ".hidden", "x")
    one = saved(tmp_path, "c.jsonl", lines([{"judge": "c", "query": "q1", "item": "d1", "repeat": 1, "grade": 1}]))
    found = read_gradings([tmp_path / "many", source_of(one)])
    assert found.judges == ["b", "c", JUDGE]
    assert found.frame.group_by("judge").agg(pl.col("most").first()).sort("judge")["most"].to_list() == [3, 1, 2]
    with pytest.raises(CallError, match="there is no file of a machine judge"):
        read_gradings([])


@pytest.mark.parametrize("second", ["0", "Q0"])
def test_the_second_column_of_qrels_names_judges_only_if_there_are_several(second: str, tmp_path: Path) -> None:
    path = saved(tmp_path, "one.txt", f"q1 {second} d1 1\nq1 {second} d2 0\n")
    assert read_gradings(path).judges == ["one"]
    path = saved(tmp_path, "two.txt", "q1 small d1 1\nq1 large d1 0\n")
    assert read_gradings(path).judges == ["large", "small"]
    for name, text in (("all", "q1 small d1 1\nq2 small d1 0\n"), ("mixed", "q1 0 d1 1\nq1 Q0 d2 0\n")):
        assert read_gradings(saved(tmp_path, f"{name}.txt", text)).judges == [name]


def test_what_marks_a_table_as_that_of_a_machine(tmp_path: Path) -> None:
    marks = {
        "model": "judge",
        "judge,repeat": "judge",
        "judge": "opinions",
        "annotator": "opinions",
        "model,kind": "opinions",
    }
    for at, (columns, kind) in enumerate(marks.items()):
        cells = ",".join({"repeat": "1", "kind": "person"}.get(name, "x") for name in columns.split(","))
        assert sniff(saved(tmp_path, f"{at}.csv", f"query,item,grade,{columns}\nq,d,1,{cells}\n")) == kind, columns
    assert sniff(saved(tmp_path, "r.csv", "query,item,score,model\nq,d,2.5,x\n")) == "run"


def test_a_bundle_gives_the_opinions_of_its_machine_judges(tmp_path: Path) -> None:
    opinions = Opinions.of(pl.DataFrame({
        "source": ["ann", "m", "m"], "kind": ["person", "judge", "judge"], "query": "q", "item": ["a", "a", "b"],
        "grade": [1, 0, 1],
    }))  # fmt: skip

    def bundled(table: Opinions) -> Path:
        bundle = Bundle(
            name="b", items=pl.DataFrame({"item": ["a", "b"]}), queries=pl.DataFrame({"query": ["q"]}), opinions=table,
            scale=(0.0, 1.0), threshold=0.0, made="2026-01-01", task="search", title="x", licence="x", screen="x",
        )  # fmt: skip
        from endoxa.io.bundles import write_bundle

        write_bundle(bundle, tmp_path / "b.zip")
        return tmp_path / "b.zip"

    found = read_gradings(bundled(opinions))
    assert said(found) == {("m", "q", "a", 1, 0.0), ("m", "q", "b", 1, 1.0)}
    assert dict(found.skipped) == {"by a person": 1}
    error = refused(bundled(Opinions.of(opinions.frame.filter(pl.col("kind") == "person"))))
    assert "no grade of a machine judge can be taken from the file (by a person: 1)" in error.problem


# ---- repeats ------------------------------------------------------------------------------------------


def test_repeats_stay_repeats(tmp_path: Path) -> None:
    several = chat("q1|d1", "2")
    several["response"]["body"]["choices"] *= 2
    path = saved(tmp_path, "o.jsonl", lines([several, chat("q1|d2", "0"), chat("q1|d1", "0")]))
    found = read_gradings(path)
    assert found.frame.select("item", "repeat", "grade").sort("item", "repeat").rows() == [
        ("d1", 1, 2.0), ("d1", 2, 2.0), ("d1", 3, 0.0), ("d2", 1, 0.0)
    ]  # fmt: skip
    assert endoxa.read(path).frame.select("item", "grade").rows() == [("d1", pytest.approx(4 / 3)), ("d2", 0.0)]


def test_the_column_repeat_gives_the_order(tmp_path: Path) -> None:
    rows = [{"judge": "m", "query": "q", "item": "d", "repeat": at, "grade": at - 1} for at in (3, 1, 2)]
    path = saved(tmp_path, "r.jsonl", lines(rows))
    assert read_gradings(path).frame.select("repeat", "grade").rows() == [(1, 0.0), (2, 1.0), (3, 2.0)]
    error = refused(saved(tmp_path, "twice.jsonl", lines(rows * 2)))
    assert str(error) == f"{tmp_path}/twice.jsonl:4: item 'd' of query 'q' has repeat 3 twice; remove one of the rows"


# ---- ids ----------------------------------------------------------------------------------------------


def test_texts_stand_for_ids_and_a_note_says_so(tmp_path: Path) -> None:
    path = forms.umbrela(tmp_path, GRADES)
    found = read_gradings(path)
    assert found.frame.row(0)[1:3] == (forms.ASKED["q1"], forms.passage("d1"))
    assert [(one.code, one.facts["names"]) for one in found.notes] == [("gradings.texts_for_ids", ["queries", "items"])]
    with pytest.warns(UserWarning, match="queries and items have no ids in this file, and their texts stand for them"):
        endoxa.read(path)


def test_texts_of_rows_without_a_grade_need_no_ids(tmp_path: Path) -> None:
    row = {"id": "7", "fields": {"query": "why", "text": "so"}, "metadata": {}, "suggestions": {}, "responses": {}}
    rows = [*json.loads(forms.argilla(tmp_path, GRADES).read_text()), row]
    found = read_gradings(saved(tmp_path, "r.json", json.dumps(rows)))
    assert said(found) == EXPECTED
    assert [one.code for one in found.notes] == ["gradings.skipped"]


def test_texts_are_looked_up(tmp_path: Path) -> None:
    path = forms.umbrela(tmp_path / "f", GRADES)
    queries, items = forms.texts(tmp_path, GRADES)
    found = read_gradings(path, queries=queries, items=items)
    assert said(found) == EXPECTED
    assert not found.notes
    only = read_gradings(path, queries=queries)
    assert only.frame.row(0)[1:3] == ("q1", forms.passage("d1"))
    assert only.notes[0].facts["names"] == ["items"]


def test_texts_that_nobody_or_several_have_are_no_grade(tmp_path: Path) -> None:
    path = forms.umbrela(tmp_path / "f", GRADES)
    queries, items = forms.texts(tmp_path, GRADES)
    items.write_text(items.read_text().replace(f'd9,"{forms.passage("d9")}"', f'd9,"{forms.passage("d4")}"'))
    found = read_gradings(path, queries=queries, items=items)
    assert dict(found.skipped) == {"several have the same text": 1, "the text is not known": 1}
    assert said(found) == {row for row in EXPECTED if row[2] not in {"d4", "d9"}}
    assert found.notes[0].facts["reasons"] == [["several have the same text", 1, 4], ["the text is not known", 1, 5]]


@pytest.mark.parametrize("way", ["texts", "order"])
def test_the_request_file_of_umbrela_names_the_pairs(way: str, tmp_path: Path) -> None:
    """By the texts, in whatever order the answers are; or in the order of the requests, where texts were changed."""
    rows = forms.umbrela_rows(GRADES)
    if way == "order":
        rows = [{**row, "passage": row["passage"][:9]} for row in rows]
    path = saved(tmp_path, "u.jsonl", lines(rows if way == "order" else rows[::-1]))
    requests = forms.umbrela_requests(tmp_path, GRADES)
    assert said(read_gradings([path, requests])) == EXPECTED
    whole = saved(
        tmp_path, "requests.json", json.dumps([json.loads(line) for line in requests.read_text().splitlines()])
    )
    assert said(read_gradings([whole, path])) == EXPECTED


def test_passages_with_the_same_text_take_turns(tmp_path: Path) -> None:
    same = {"q1": {"d1": 2, "d2": 0}}
    rows = [{**row, "passage": "the same"} for row in forms.umbrela_rows(same)]
    asked = [{"query": {"text": forms.ASKED["q1"], "qid": "q1"},
              "candidates": [{"doc": {"segment": "the same"}, "docid": item} for item in same["q1"]]}]  # fmt: skip
    found = read_gradings([saved(tmp_path, "u.jsonl", lines(rows)), saved(tmp_path, "r.jsonl", lines(asked))])
    assert pairs(found) == [("q1", "d1", 2.0), ("q1", "d2", 0.0)]


def test_an_answer_to_no_request_is_counted(tmp_path: Path) -> None:
    """With fewer answers than requests their order tells nothing."""
    rows = forms.umbrela_rows(GRADES)[:3]
    rows[1] |= {"passage": "another text"}
    found = read_gradings([saved(tmp_path, "u.jsonl", lines(rows)), forms.umbrela_requests(tmp_path, GRADES)])
    assert pairs(found) == [("q1", "d1", 2.0), ("q1", "d3", 1.0)]
    assert found.notes[0].facts["reasons"] == [["the text is not known", 1, 2]]


def test_a_request_file_of_others_is_refused(tmp_path: Path) -> None:
    path = forms.umbrela(tmp_path, GRADES)
    other = saved(
        tmp_path, "r.jsonl", lines([{"query": {"text": "x", "qid": "q"}, "candidates": [{"docid": "d", "doc": {}}]}])
    )
    assert "no text is among those of the request file" in refused(path, other).problem
    assert refused(other).problem == "the file holds ids of pairs, but no grades"


def test_a_table_of_ids_names_the_pairs_of_batch_output(tmp_path: Path) -> None:
    output = saved(tmp_path, "o.jsonl", lines([chat("task-1", "2"), chat("task-2-b", "1"), chat("task-3", "0")]))
    assert refused(output).problem == "no separator splits every id, such as 'task-1', into a query and an item"
    assert refused(output).remedy == (
        "name every request QUERY|ITEM, or give a table custom_id,query,item beside the file"
    )
    table = saved(tmp_path, "ids.csv", "custom_id,qid,docid\ntask-1,q1,d1\ntask-2-b,q1,d2\n")
    found = read_gradings([output, table])
    assert pairs(found) == [("q1", "d1", 2.0), ("q1", "d2", 1.0)]
    assert dict(found.skipped) == {"the id is not in the table of ids": 1}
    other = forms.anthropic_batch(tmp_path, GRADES)  # whose ids tell the pairs themselves
    other.write_text(other.read_text().replace(JUDGE, "b"))
    both = read_gradings([output, table, other])
    assert both.frame.group_by("judge").len().sort("judge").rows() == [("b", 8), (JUDGE, 2)]


# ---- no opinion ---------------------------------------------------------------------------------------


def test_failures_of_openai_are_counted_with_their_first_line(tmp_path: Path) -> None:
    failed = {"id": "b", "custom_id": "q1|d5", "response": None, "error": {"code": "batch_expired", "message": "late"}}
    limited = {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    rows = [
        chat("q1|d1", "2"),
        chat("q1|d2", None, refusal="I cannot help with that"),
        chat("q1|d3", '{"relevance": 3', finish_reason="length"),
        chat("q1|d4", "The passage is fine."),
        failed,
        {"id": "b", "custom_id": "q1|d6", "response": {"status_code": 429, "body": limited}, "error": None},
        chat("q1|d7", '{"relevance": 1, "score": 0.5}'),
        {"id": "b", "custom_id": "q1|d8", "response": {"status_code": 500, "body": "oops"}, "error": None},
        chat("q1|d9", "3", finish_reason="content_filter"),
    ]
    path = saved(tmp_path, "o.jsonl", lines(rows))
    found = read_gradings(path)
    assert pairs(found) == [("q1", "d1", 2.0)]
    assert dict(found.skipped) == {
        "refused": 1, "the reply is cut off": 1, "no grade in the reply": 2, "the request failed (batch_expired)": 1,
        "the request failed (rate_limit_exceeded)": 1, "the request failed": 1, "content filter": 1,
    }  # fmt: skip
    (one,) = found.notes
    assert (one.kind, one.code, one.facts["rows"]) == ("warning", "gradings.skipped", 9)
    assert one.facts["reasons"][2] == ["no grade in the reply", 2, 4]
    assert str(one) == (
        f"{path}: 8 of 9 rows hold no grade of a machine judge and are left out; refused: 1 (line 2), the reply is cut "
        "off: 1 (line 3), no grade in the reply: 2 (first in line 4), the request failed (batch_expired): 1 (line 5), "
        "the request failed (rate_limit_exceeded): 1 (line 6), and 2 more"
    )
    with pytest.warns(SkippedLinesWarning, match="8 lines skipped"):
        endoxa.read(path)


def test_failures_of_the_responses_api_and_of_anthropic(tmp_path: Path) -> None:
    row = json.loads(forms.responses_batch(tmp_path, GRADES).read_text().splitlines()[0])
    rows = []
    for at, changes in enumerate((
        {}, {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        {"status": "failed", "error": {"code": "server_error"}},
        {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]},
    )):  # fmt: skip
        body = {**row["response"]["body"], **changes}
        rows.append({**row, "custom_id": f"q1|d{at}", "response": {"status_code": 200, "body": body}})
    found = read_gradings(saved(tmp_path, "r.jsonl", lines(rows)))
    assert pairs(found) == [("q1", "d0", 2.0)]
    assert dict(found.skipped) == {
        "the reply is cut off": 1, "content filter": 1, "the request failed (server_error)": 1, "refused": 1
    }  # fmt: skip
    good = json.loads(forms.anthropic_batch(tmp_path, GRADES).read_text().splitlines()[0])
    message = {**good["result"]["message"], "stop_reason": "max_tokens"}
    error = {"type": "error", "error": {"type": "api_error", "message": "x"}}
    rows = [
        good, {"custom_id": "q1:::d8", "result": {"type": "succeeded", "message": message}},
        {"custom_id": "q1:::d2", "result": {"type": "errored", "error": error}},
        {"custom_id": "q1:::d3", "result": {"type": "canceled"}},
        {"custom_id": "q1:::d4", "result": {"type": "expired"}},
    ]  # fmt: skip
    found = read_gradings(saved(tmp_path, "a.jsonl", lines(rows)))
    assert pairs(found) == [("q1", "d1", 2.0)]
    assert list(found.skipped) == [
        "the reply is cut off", "the request failed (api_error)", "the request failed (canceled)",
        "the request failed (expired)",
    ]  # fmt: skip


@pytest.mark.parametrize("version", ["source", "PyPI"])
def test_an_unparsed_reply_of_umbrela_is_not_the_grade_0(version: str, tmp_path: Path) -> None:
    rows = forms.umbrela_rows({"q1": {"d1": 2, "d2": 0, "d3": 0}})
    rows[2] |= {"prediction": "no idea", "result_status": 0}
    if version == "PyPI":
        rows = [
            {
                **{name: row[name] for name in ("model", "query", "passage", "prompt", "judgment")},
                "predition": row["prediction"],
            }
            for row in rows
        ]
    found = read_gradings(saved(tmp_path, "u.jsonl", lines(rows)))
    assert found.frame["grade"].to_list() == [2.0, 0.0]
    assert dict(found.skipped) == {"not parsed": 1}


def test_cells_that_are_no_grade(tmp_path: Path) -> None:
    rows = "q,d1,2,m\nq,d2,,m\nq,d3,n/a,m\nq,d4,nan,m\nq,d5,-1,m\nq,d6,no,m\nq,d7,I cannot say,m\n"
    path = saved(tmp_path, "t.csv", "query,item,grade,model\n" + rows)
    found = read_gradings(path)
    assert pairs(found) == [("q", "d1", 2.0), ("q", "d6", 0.0)]
    assert dict(found.skipped) == {"no grade": 1, "the grade is not a number": 3, "negative": 1}
    assert found.notes[0].facts["reasons"] == [
        ["no grade", 1, 3], ["the grade is not a number", 3, 4], ["negative", 1, None]
    ]  # fmt: skip


def test_probabilities_are_on_a_scale_of_0_to_1(tmp_path: Path) -> None:
    for name in ("p", "probability"):
        path = saved(tmp_path, f"{name}.csv", f"query,item,{name}\nq,d1,0.25\nq,d2,0.5\n")
        assert read_gradings(path).frame.select("judge", "grade", "least", "most").rows() == [
            (name, 0.25, 0.0, 1.0), (name, 0.5, 0.0, 1.0)
        ]  # fmt: skip
    assert "outside its scale of 0 to 1" in refused(saved(tmp_path, "p.csv", "query,item,p\nq,d,1.5\n")).problem


def test_rows_of_people_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = "x,robot,q,d1,1,\nann,person,q,d1,1,\nm,judge,q,d1,0,main\nm,judge,q,d2,1,gold\nb,system,q,d1,1,\n"
    found = read_gradings(saved(tmp_path, "t.csv", "source,kind,query,item,grade,role\n" + rows))
    assert said(found) == {("m", "q", "d1", 1, 0.0)}
    assert dict(found.skipped) == {
        "of kind robot": 1, "by a person": 1, "to test the judge": 1, "by a system": 1
    }  # fmt: skip


# ---- refused ------------------------------------------------------------------------------------------

BAD: dict[str, tuple[str, str, str]] = {
    "a run": ("a.run", "q Q0 d 1 2.5 t\n", "the file holds a run, not grades"),
    "ranks": ("a.tsv", "q\td1\t1\nq\td2\t2\n", "the lines have three columns, which are no grades"),
    "a run in JSON": ("a.json", '{"q": {"d1": 12.5, "d2": 3.25}}', "the file holds a run, not grades"),
    "a run as a table": ("a.csv", "query,item,score\nq,d1,12.5\nq,d2,3.25\n", "the scores are those of a run"),
    "systems": ("a.csv", "system,query,item,score\ns,q,d1,1\n", "the scores are those of a run"),
    "a belief": ("b.csv", "query,item,grade,p\nq,d1,1,.5\n", "with their probabilities p is a belief"),
    "preferences": ("p.txt", "q a x d1 2\nq a x d2 1\n", "the file holds preferences, not grades"),
    "three columns": ("q.txt", "q0 0 p1\nq0 0 p2\n", "the lines have three columns, which are no grades"),
    "no grade": ("t.csv", "query,item,verdict\nq,d,1\n", "a table of machine judges needs a column 'grade'"),
    "no item": ("t.csv", "query,item,grade,model\nq,d,1,m\nq,,1,m\n", ":3: item is missing"),
    "outside": ("t.csv", "query,item,grade,scale\nq,d,4,0-3\n", "'t' gave 'd' of query 'q' the grade 4, outside"),
    "umbrela outside": (
        "u.jsonl", '{"query": "q", "passage": "p", "judgment": 4, "model": "m"}\n', "outside its scale of 0 to 3",
    ),
    "a scale": ("t.csv", "query,item,grade,scale\nq,d,4,low\n", ":2: scale 'low' is not understood; write its ends"),
    "only failures": (
        "o.jsonl", '{"custom_id": "q|d", "result": {"type": "expired"}}\n',
        "no grade of a machine judge can be taken from the file (the request failed (expired): 1 (line 1))",
    ),
    "only people": ("t.csv", "kind,query,item,grade\nperson,q,d,1\n", "taken from the file (by a person: 1 (line 2))"),
    "a damaged line": ("o.jsonl", lines([chat("q|d", "1")]) + "{\n", ":2: '{' is not a JSON object"),
    "a row of something else": (
        "o.jsonl", lines([chat("q|d", "1"), {"custom_id": "q|e", "response": {"body": {}}, "error": None}]),
        ":2: the row is not one of batch output of OpenAI",
    ),
    "answers of nuggetizer": (
        "n.jsonl", '{"query": "a", "qid": "q", "answer_text": "b", "run_id": "r", "nuggets": []}\n',
        ":1: the rows grade answers (answer_text), not items; give the assignments for retrieval",
    ),
    "several questions": (
        "r.json", json.dumps([{"id": "q|d", "fields": {}, "metadata": {"query_id": "q", "doc_id": "d"}, "responses": {},
                               "suggestions": {"a": {"value": 1}, "b": {"value": 2}}}]),
        "2 suggestions are numbers, and which is the grade is not known",
    ),
    "unknown words": (
        "t.csv", "query,item,grade,model\nq,d,,m\nq,e,superb,m\nq,f,poor,m\n",
        ":3: no grade is a number or a known word, such as 'superb'; expected a number, or yes, no",
    ),
    "a column of lists": ("t.jsonl", '{"query": "q", "item": "d", "grade": [1], "model": "m"}\n', "holds List(Int64)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str, tmp_path: Path) -> None:
    file, text, says = BAD[name]
    error = refused(saved(tmp_path, file, text))
    assert says in str(error)
    assert str(error).startswith(str(tmp_path / file))
    assert error.remedy or error.line
    assert "\n" not in str(error)


def test_two_judges_of_one_name(tmp_path: Path) -> None:
    one = saved(tmp_path / "a", "m.txt", "q 0 d1 1\n")
    other = saved(tmp_path / "b", "m.csv", "query,item,grade\nq,d2,0\n")
    error = refused(one, other)
    assert str(error) == (
        f"{other}: judge 'm' is in {one} too; join the files if it is the same judge; if not, name the judges in a "
        "column judge"
    )


def test_lenient_skips_what_cannot_be_read(tmp_path: Path) -> None:
    reports: list[Any] = []
    path = saved(
        tmp_path, "o.jsonl", lines([chat("q|d", "1")]) + "{\n" + lines([{"custom_id": 3, "response": 5, "error": None}])
    )
    found = read_gradings(path, lenient=True, report=reports.append)
    assert said(found) == {(JUDGE, "q", "d", 1, 1.0)}
    assert [(one.count, one.first[0].line) for one in reports] == [(2, 2)]
    assert found.notes[0].facts["reasons"] == [["the line cannot be read", 2, 2]]
    assert found.notes[0].facts["rows"] == 3
    path = saved(tmp_path, "t.csv", "query,item,grade\nq,d,1\nq\nq,,1\nq,e,\n")
    reasons = read_gradings(path, lenient=True).notes[0].facts["reasons"]
    assert reasons == [["query or item is missing", 1, 4], ["no grade", 1, 5], ["the line cannot be read", 1, 3]]
    path = saved(tmp_path, "q.txt", "q 0 d 1\nq 0 d\n")
    assert len(read_gradings(path, lenient=True)) == 1
    reports.clear()
    assert not read_gradings(forms.qrels(tmp_path, GRADES), lenient=True, report=reports.append).notes
    assert not reports


def test_nothing_read_is_lost_when_another_file_is_bad(tmp_path: Path) -> None:
    """The error names the bad file; the good one can be read without it."""
    good, bad = forms.qrels(tmp_path, GRADES), saved(tmp_path, "bad.csv", "query,item,grade\n")
    assert refused(good, bad).path == str(bad)
    assert said(read_gradings([good])) == EXPECTED


@pytest.mark.parametrize("text", ["query,item,grade,model\n", "query,item,grade,model\nq,d,,m\n"])
def test_a_table_without_a_grade_is_refused(text: str, tmp_path: Path) -> None:
    path = saved(tmp_path, "t.csv", text)
    for reader in (read_gradings, endoxa.read):
        with pytest.raises(FileError) as caught:
            reader(path)
        assert caught.value.path == str(path)
        assert caught.value.remedy


def test_an_evaluation_is_no_judge(tmp_path: Path) -> None:
    from endoxa.io.evaluations import write_evaluation

    write_evaluation(endoxa.evaluate({"s": {"q": {"a": 1.5}}}, {"q": {"a": 1}}, measures=["AP"]), tmp_path / "e.json")
    assert refused(tmp_path / "e.json").problem == "the file holds an evaluation, not grades"


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.txt").problem == "no such file"
    (tmp_path / "empty").mkdir()
    with pytest.raises(EndoxaError, match="holds no judgments"):
        read_gradings(tmp_path / "empty")
