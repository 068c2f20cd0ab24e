"""Tables with named columns: what is understood, and what is said of a bad row."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import polars as pl
import pytest

from endoxa.errors import EndoxaError, FileError
from endoxa.io.read import read
from endoxa.io.trec_text import Skipped
from endoxa.policies import Policy


def saved(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_ids_stay_what_they_are(tmp_path: Path) -> None:
    for name, text in (
        ("f.csv", "\ufeffqid,docno,score\r\n007,1e5,1\r\n"),
        ("f.tsv", "topic\tdocid\tsim\n007\t1e5\t1\n"),
        ("f.jsonl", '{"query_id": "007", "doc_id": "1e5", "score": 1}\n\n'),
    ):
        run = read(saved(tmp_path / name, text))
        assert run.to_dict() == {"f": {"007": {"1e5": 1.0}}}


def test_numbers_as_ids_in_json(tmp_path: Path) -> None:
    path = saved(tmp_path / "f.jsonl", '{"query": 7, "item": 1, "score": 1}\n{"query": 7, "item": "x", "score": 2.5}\n')
    assert read(path).to_dict() == {"f": {"7": {"x": 2.5, "1": 1.0}}}


def test_fractions_beside_whole_numbers_as_ids_in_json(tmp_path: Path) -> None:
    lines = [f'{{"qid": {query}, "item": "a", "grade": 1}}\n' for query in ("2", "2.5", "12345678901234567890123")]
    opinions = read(saved(tmp_path / "f.jsonl", "".join(lines)))
    assert list(opinions.to_dict()) == ["2", "2.5", "12345678901234567890123"]


@pytest.mark.parametrize("again", ['"grade": 0', '"gr\\u0061de": 0', '"grade"\t: 0', '"comment": "a", "comment": "b"'])
def test_a_key_that_an_object_has_twice(tmp_path: Path, again: str) -> None:
    lines = f'{{"query": "1", "item": "a", "grade": 1}}\n{{"query": "1", "item": "b", "grade": 1, {again}}}\n'
    with pytest.raises(FileError, match=r"f.jsonl:2: the object has the key '(grade|comment)' twice; remove one"):
        read(saved(tmp_path / "f.jsonl", lines))


def test_a_text_that_looks_like_a_key(tmp_path: Path) -> None:
    line = (
        '{"query": "1", "item": "a", "grade": 1, "comment": "say \\"grade\\": 2"}\n{"query": "2", "item": "\\u00e9"}\n'
    )
    opinions = read(saved(tmp_path / "f.jsonl", line), kind="qrels")
    assert opinions.frame.select("item", "grade").rows() == [("a", 1.0), ("é", None)]


@pytest.mark.parametrize("quoted", ["b", '"b, or ""c"""'])
def test_a_row_of_csv_that_is_cut_short_is_not_undecided(tmp_path: Path, quoted: str) -> None:
    text = f"query,item,grade\n1,a,\n\n1,{quoted}\n1,c,1"
    with pytest.raises(FileError, match=r"f.csv:4: 2 columns in .*; the header has 3"):
        read(saved(tmp_path / "f.csv", text))
    skipped: list[Skipped] = []
    opinions = read(saved(tmp_path / "f.csv", text), lenient=True, report=skipped.append)
    assert (opinions.frame["grade"].to_list(), skipped[0].count) == ([None, 1.0], 1)


def test_a_csv_with_line_breaks_inside(tmp_path: Path) -> None:
    path = saved(tmp_path / "f.csv", 'query,item,score\n"a\nb","d ""1""",1\nq,d,x\n')
    with pytest.raises(FileError, match=r"f.csv:4: score 'x' is not a number"):
        read(path)


@pytest.mark.parametrize(
    ("name", "text", "line", "what"),
    [
        ("f.csv", "query,item,score\n\n1,a,2\n,,\n1,b,x\n", 5, "score 'x' is not a number"),
        ("f.csv", "query,item,score\n1,a,2\n1,,1\n", 3, "item is missing"),
        ("f.csv", "query,item,score\n1,a,2\n1,b,NaN\n", 3, "score is NaN"),
        ("f.csv", "query,item,score\n1,a,2\n1,b\n", 3, "2 columns in '1,b'"),
        ("f.csv", "query,item,score\n1,a,2\n1,b,1,4\n", 3, "4 columns in '1,b,1,4'"),
        ("f.csv", "query,item,score\n1,a,2\n1,a,1\n", 3, "query '1' of 'f' lists item 'a' twice"),
        ("f.csv", "query,item,score,score\n1,a,2,2\n", 1, "two columns are named 'score'"),
        ("f.csv", b"query,item,score\n1,\xff,2\n", 2, "byte 0xff is not UTF-8"),
        ("f.tsv", "query\titem\tgrade\n1\ta\t1\n1\ta\t2\n", 3, "item 'a' of query '1' has two judgments"),
        ("f.tsv", "query\titem\tgrade\tat\n1\ta\t1\tnoon\n", 2, "at 'noon' is not a date and time"),
        ("f.jsonl", '{"query": "1", "item": "a", "score": 1}\n\n{broken\n', 3, "'{broken' is not a JSON object"),
        ("f.jsonl", '{"query": "1", "item": "a", "score": 1}\n[1]\n', 2, "'[1]' is not a JSON object"),
        ("f.jsonl", '{"query": "1", "item": "a", "score": 1}\n{"query": "1", "item": "b"}\n', 2, "score is missing"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, name: str, text: str | bytes, line: int, what: str) -> None:
    path = saved(tmp_path / name, text)
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: {what}")


@pytest.mark.parametrize("text", ["query,item,score\n", "query,item,score"])
def test_a_header_alone_is_no_table(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError, match="has no rows"):
        read(saved(tmp_path / "f.csv", text))


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        FileError,
        match=r"needs a column 'score'; the columns are query, item, scor \(scor is unknown: did you mean score",
    ):
        read(saved(tmp_path / "f.csv", "query,item,scor\n1,a,2\n"), kind="run")


def test_damaged_files(tmp_path: Path) -> None:
    run = read({"q": {f"d{i}": i for i in range(1000)}}, kind="run")
    run.frame.write_parquet(tmp_path / "f.parquet")
    whole = (tmp_path / "f.parquet").read_bytes()
    for end in (6, len(whole) // 2, len(whole) - 1):
        with pytest.raises(FileError, match="damaged Parquet data"):
            read(saved(tmp_path / "cut.parquet", whole[:end]))
    text = gzip.compress(b"query,item,score\n" + b"".join(b"1,d%d,2\n" % i for i in range(9999)))
    with pytest.raises(FileError, match="the gzip data are truncated"):
        read(saved(tmp_path / "cut.csv.gz", text[:-10]))
    run.frame.write_csv(tmp_path / "f.zst", compression="zstd", check_extension=False)
    packed = (tmp_path / "f.zst").read_bytes()
    with pytest.raises(FileError, match="damaged zstd data"):
        read(saved(tmp_path / "cut.zst", packed[:-10]))


def test_lenient_readers_skip_rows(tmp_path: Path) -> None:
    text = '{"query": "1", "item": "a", "grade": 1}\n{oops\n{"query": "1", "item": "a", "grade": 2}\n'
    text += '{"query": null, "item": "b", "grade": 2}\n{"query": "1", "item": "c", "grade": null}\n'
    records: list[Skipped] = []
    opinions = read(saved(tmp_path / "f.jsonl", text), lenient=True, report=records.append)
    assert opinions.frame.select("item", "grade").rows() == [("a", 1.0), ("c", None)]
    assert [record.count for record in records] == [3]


def test_scores_without_more(tmp_path: Path) -> None:
    path = saved(tmp_path / "f.csv", "system,query,measure,value\na,1,AP,0.5\na,2,AP,NaN\nb,1,AP,1\n")
    scores = read(path)
    assert scores.policy == Policy()
    assert scores.frame["undefined"].to_list() == [0.0, 1.0, 0.0]
    assert scores.coverage.select("system", "queries", "judged").rows() == [("a", 2, None), ("b", 1, None)]


@pytest.mark.parametrize("policy", ["ties=sideways", "what=ever", "cut=x"])
def test_a_policy_that_nobody_knows(tmp_path: Path, policy: str) -> None:
    path = saved(tmp_path / "f.csv", f"system,query,measure,value,policy\na,1,AP,0.5,{policy}\n")
    with pytest.raises(EndoxaError, match=f"policy '{policy}' is not understood"):
        read(path)


def test_parquet_of_other_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"qid": [1, 1], "docno": ["a", "b"], "score": [1, 2], "tag": ["t", "t"]})
    frame.with_columns(pl.col("tag").cast(pl.Categorical)).write_parquet(tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet").to_dict() == {"t": {"1": {"b": 2.0, "a": 1.0}}}
    frame.with_columns(docno=pl.Series([[1], [2]])).write_parquet(tmp_path / "g.parquet")
    with pytest.raises(EndoxaError):
        read(tmp_path / "g.parquet")


@pytest.mark.parametrize("words", ["", "{", "[1]", "[" * 100_000, '{"a": 1}', "null"])
@pytest.mark.parametrize("key", ["coverage", "texts", "draws", "policy", "notes"])
def test_damaged_metadata_is_one_line(tmp_path: Path, key: str, words: str) -> None:
    path = tmp_path / "f.parquet"
    scores = {"system": ["s"], "query": ["q"], "measure": ["AP"], "value": [0.5]}
    pair = {"measure": ["AP"], "system": ["s"], "baseline": ["t"], "difference": [0.5]}
    pl.DataFrame(pair if key == "notes" else scores).write_parquet(path, metadata={f"endoxa.{key}": words})
    with contextlib.suppress(FileError):  # and no other error
        read(path)
    if key in {"draws", "notes"}:
        with pytest.raises(FileError, match="cannot be read"):
            read(path)


@pytest.mark.parametrize("words", ["", "{", "[1]", "[" * 100_000, '{"a": 1}', "null"])
def test_a_damaged_evaluation_is_one_line(tmp_path: Path, words: str) -> None:
    pl.DataFrame({"system": ["s"]}).write_parquet(tmp_path / "f.parquet", metadata={"endoxa.evaluation": words})
    with pytest.raises(FileError, match=r"the evaluation is damaged .*; write the file again"):
        read(tmp_path / "f.parquet")
