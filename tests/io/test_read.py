"""The front door: whatever holds a table gives that table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from ir_measures import Qrel, ScoredDoc

from endoxa.errors import EndoxaError, FileError, TableError
from endoxa.io.formats import sniff
from endoxa.io.read import read, system_names
from endoxa.tables import Opinions, Run

SCORES = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 0.5}}
GRADES = {"q1": {"d1": 1.0, "d2": 0.0}, "q2": {"d1": 2.0}}


def saved(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1 Q0 d 1 2.5 t\n", "run"),
        ("1 Q0 d 1 2.5 t with blanks\n", "run"),
        ("#1 0 d 2\n", "qrels"),
        ("1\t0\td\t2\n", "qrels"),
        ("1 d 2 s 0.5\n", "sampled"),
        ("query,item,score\n1,d,2\n", "run"),
        ("qid,docno,score,tag\n1,d,2,t\n", "run"),
        ("query_id\tdoc_id\trelevance\n1\td\t2\n", "opinions"),
        ("system,query,measure,value\ns,1,AP,0.5\n", "scores"),
        ("measure,system,baseline,difference\nAP,a,b,0.1\n", "comparison"),
        ('{"query": "1", "item": "d", "grade": 1}\n', "opinions"),
    ],
)
def test_files_are_told_apart_by_content(tmp_path: Path, text: str, kind: str) -> None:
    path = saved(tmp_path / "f", text)
    assert sniff(path) == kind
    assert read(path).frame.height == 1


@pytest.mark.parametrize(
    "text", ["query,item,score,grade\n1,d,1,2\n", "a,b,c\n1,2,3\n", "1 2 3\n", '{"a": 1}\n', "{broken\n", "[1, 2]\n"]
)
def test_what_cannot_be_told_is_refused_with_a_remedy(tmp_path: Path, text: str) -> None:
    path = saved(tmp_path / "f", text)
    with pytest.raises(FileError) as caught:
        sniff(path)
    assert caught.value.remedy


@pytest.mark.parametrize(("text", "kind"), [("1 Q0 d 1 x t\n", "run"), ("1 0 d x\n", "qrels")])
def test_columns_tell_the_kind_and_the_reader_the_fault(tmp_path: Path, text: str, kind: str) -> None:
    path = saved(tmp_path / "f", text)
    assert sniff(path) == kind
    with pytest.raises(FileError, match="'x' is not a number") as caught:
        read(path)
    assert caught.value.line == 1


def test_kind_decides_where_the_content_does_not(tmp_path: Path) -> None:
    path = saved(tmp_path / "f", "query,item,score,grade\n1,d,1,2\n")
    assert isinstance(read(path, kind="run"), Run)
    assert isinstance(read(path, kind="qrels"), Opinions)
    with pytest.raises(FileError, match="--run or --qrels"):
        read(path)
    trec = saved(tmp_path / "g", "1 Q0 d 1 2.5 t\n")
    with pytest.raises(FileError, match=r"g:1: 6 columns in .*; a qrels line has 4"):
        read(trec, kind="qrels")
    with pytest.raises(FileError, match="expected scores, found run"):
        read(saved(tmp_path / "h.csv", "query,item,score\n1,d,1\n"), kind="scores")


def test_dicts_must_say_what_they_are() -> None:
    run, opinions = read(SCORES, kind="run", name="s"), read(GRADES, kind="qrels")
    assert run.to_dict() == {"s": SCORES}
    assert opinions.to_dict() == GRADES
    with pytest.raises(TableError, match="kind='run' or kind='qrels'"):
        read(SCORES)
    assert read({"s": SCORES, "t": SCORES}).to_dict() == {"s": SCORES, "t": SCORES}
    assert read({1: {2: 3}}, kind="run").frame.select("query", "item", "score").row(0) == ("1", "2", 3.0)


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"q": {}},
        {"q": 1},
        {"q": {"d": "x"}},
        {"q": {"d": 1, "e": {"f": 1}}},
        {"q": {"d": [[1]]}},
        {"q": {"d": None}},
    ],
)
def test_bad_dicts(source: dict[str, Any]) -> None:
    with pytest.raises(TableError):
        read(source, kind="run")


class Row(NamedTuple):
    query: str
    item: str
    score: float


def test_rows_that_name_their_fields() -> None:
    scored = [ScoredDoc(q, d, s) for q, items in SCORES.items() for d, s in items.items()]
    judged = [Qrel(q, d, int(g)) for q, items in GRADES.items() for d, g in items.items()]
    assert read(scored, name="s").to_dict() == {"s": SCORES}
    assert read(iter(scored), name="s").to_dict() == {"s": SCORES}
    assert read([Row(*row) for row in scored], name="s").to_dict() == {"s": SCORES}
    assert read(judged).frame.select("query", "item", "grade").rows() == [
        ("q1", "d1", 1.0),
        ("q1", "d2", 0.0),
        ("q2", "d1", 2.0),
    ]
    assert read([{"query": "q", "item": "d", "score": 1}]).systems == ["run"]


def test_frames_of_every_make() -> None:
    frame = pl.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["d1", "d2", "d1"], "score": [2.0, 1.0, 0.5]})
    for made in (frame, frame.lazy(), frame.to_arrow()):
        assert read(made, name="s").to_dict() == {"s": SCORES}
    import pandas as pd

    table = pd.DataFrame({"qid": [1, 1], "docno": ["a", "b"], "score": [2, 1], "extra": [None, "x"]})
    assert read(table, name="s").to_dict() == {"s": {"1": {"a": 2.0, "b": 1.0}}}
    graded = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]})
    assert isinstance(read(graded), Opinions)
    named = frame.with_columns(system=pl.lit("tag"))
    assert read(named).systems == ["tag"]
    assert read(named, name="mine").systems == ["mine"]


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame({"a": [1]}),
        pl.DataFrame({"query": ["q"], "item": ["d"], "score": [1.0], "grade": [1.0]}),
        pl.DataFrame({"query": ["q"], "item": ["d"], "score": [None]}, schema_overrides={"score": pl.Float64}),
        pl.DataFrame({"query": ["q"], "item": ["d"], "score": ["x"]}),
        [],
        [1, 2],
        [("q", "d", 1)],
        5,
        None,
    ],
)
def test_bad_objects(source: Any) -> None:
    with pytest.raises(EndoxaError):
        read(source)


def test_many_runs_make_one(tmp_path: Path) -> None:
    a = saved(tmp_path / "a.run", "1 Q0 d 1 2.5 bm25\n")
    b = saved(tmp_path / "b.csv", "query,item,score\n1,d,1\n")
    run = read([a, str(b)])
    assert run.systems == ["bm25", "b"]
    assert len(run) == 2


def test_runs_with_the_same_tag_are_called_after_their_files(tmp_path: Path) -> None:
    a = saved(tmp_path / "a.run", "1 Q0 d 1 2.5 bm25\n")
    b = saved(tmp_path / "b.run.txt", "1 Q0 d 1 2.5 bm25\n")
    with pytest.warns(UserWarning, match="several runs have the tag 'bm25'; the systems are named after their files"):
        assert read([a, b]).systems == ["a", "b"]
    (tmp_path / "x").mkdir()
    c = saved(tmp_path / "x" / "a.run", "1 Q0 d 1 2.5 bm25\n")
    with pytest.raises(FileError, match="rename one of the files"):
        read([a, c])
    later = saved(tmp_path / "later", "1 Q0 d 1 2.5 other\n2 Q0 d 1 2.5 bm25\n")
    with pytest.raises(FileError, match=r"system 'bm25' is already in .*a.run"):
        read([a, later])
    assert system_names([a, later]) == [None, None]


def test_judgments_among_runs_are_refused(tmp_path: Path) -> None:
    a = saved(tmp_path / "a.run", "1 Q0 d 1 2.5 bm25\n")
    q = saved(tmp_path / "qrels", "1 0 d 1\n")
    with pytest.raises(FileError, match="qrels:1: 4 columns"):
        read([a, q])


def test_a_run_read_leniently_from_a_table(tmp_path: Path) -> None:
    path = saved(tmp_path / "f.csv", "query,item,score\n1,d,2\n1,d,3\n1,e,x\n1,,1\n1,f,nan\n1,g\n1,h,1\n")
    with pytest.warns(UserWarning, match="5 lines skipped"):
        assert read(path, lenient=True).to_dict() == {"f": {"1": {"d": 2.0, "h": 1.0}}}
