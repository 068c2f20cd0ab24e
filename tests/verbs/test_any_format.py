"""Every format of runs and judgments gives what the TREC form of the same data gives, through every verb."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_line
import ir_measures
import polars as pl
import pytest
from format_samples import (
    GRADES,
    JUDGED,
    RELEVANT,
    RUN_FILES,
    RUN_OBJECTS,
    RUNS,
    generated,
    qrels,
    ragas,
    ragas_rows,
    saved,
    trec,
)
from judge_file_samples import MACHINES
from polars.testing import assert_frame_equal

import endoxa
from endoxa.errors import CallError, EndoxaError, FileError, TableError, TextError
from endoxa.verbs import pool as pools
from endoxa.verbs.inputs import run_of

MEASURES = ["nDCG@10", "AP", "P@2"]
FEW: dict[str, Any] = {"worlds": 8, "seed": 1}


def frames(result: endoxa.Evaluation) -> list[pl.DataFrame]:
    pairs = [] if result.comparison is None else [result.comparison.frame]
    return [result.summary, *pairs]


Verb = Callable[[Any, Any], list[pl.DataFrame]]
JUDGING: dict[str, Verb] = {
    "measure": lambda run, ref: [endoxa.measure(run, ref, MEASURES).frame],
    "evaluate": lambda run, ref: frames(endoxa.evaluate(run, ref, MEASURES, seed=1)),
    "compare": lambda run, ref: [endoxa.compare(run, ref, ["AP"], seed=1).frame],
    "report": lambda run, ref: frames(endoxa.report(run, ref, MEASURES, seed=1)),
    "pool_states": lambda run, ref: [pools.pool_states(run, ref, 3)],
    "unseen": lambda run, ref: [pools.unseen(run, ref, 3)],  # type: ignore[list-item]
    "leave_out_uniques": lambda run, ref: [endoxa.leave_out_uniques(run, ref, "AP", depth=2).frame],
    "rate": lambda run, ref: [endoxa.rate(ref, run, resamples=40, methods=["isotonic"]).tables["figures"]],
    "distribution": lambda run, ref: [pl.DataFrame({"m": endoxa.distribution(run, ref, "P@2", "bm25", "q1").mass})],
    "labels": lambda run, ref: frames(endoxa.evaluate(run, None, ["AP"], labels=ref, **FEW)),
    "fitted": lambda run, ref: [endoxa.fuse(run, "fitted", labels=ref, folds=3).frame],
    "decide": lambda run, ref: [endoxa.decide(run, ref, ["AP"], **FEW).tables["verdict"]],
}
RUNNING: dict[str, Callable[[Any], list[pl.DataFrame]]] = {
    "consensus": lambda run: frames(endoxa.evaluate(run, None, ["AP"], **FEW)),
    "pool": lambda run: [endoxa.pool(run, 3).drop("by")],
    "fuse": lambda run: [endoxa.fuse(run).frame, endoxa.fuse(run, "sum").frame],
    "believe": lambda run: [endoxa.believe(run).frame],
    "choose": lambda run: [endoxa.choose(run, None, 4, seed=1)],
}


def outcome(verb: Callable[..., list[pl.DataFrame]], *given: Any) -> list[pl.DataFrame] | str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return verb(*given)
    except EndoxaError as error:
        return f"refused: {error}"


def same(found: list[pl.DataFrame] | str, expected: list[pl.DataFrame] | str) -> None:
    assert not isinstance(expected, str), expected
    assert not isinstance(found, str), found
    for one, other in zip(found, expected, strict=True):
        assert_frame_equal(one, other, rel_tol=1e-12, abs_tol=1e-12)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path]:
    """Runs and judgments in TREC's form."""
    folder = tmp_path_factory.mktemp("usual")
    return [trec(folder, name, run) for name, run in RUNS.items()], qrels(folder, GRADES)


KNOWN: dict[str, list[pl.DataFrame] | str] = {}


def expected(name: str, runs: list[Path], reference: Path) -> list[pl.DataFrame] | str:
    """What the verb gives for TREC's form, computed once for the same content."""
    key = name + "".join(path.read_text() for path in [*runs, reference])
    if key not in KNOWN:
        KNOWN[key] = outcome(JUDGING[name], runs, reference) if name in JUDGING else outcome(RUNNING[name], runs)
    return KNOWN[key]


RUN_FORMS = [*(f"file: {name}" for name in RUN_FILES), *RUN_OBJECTS]


def run_form(name: str, folder: Path) -> Any:
    if name.startswith("file: "):
        return [RUN_FILES[name.removeprefix("file: ")](folder, system, run) for system, run in RUNS.items()]
    return {system: RUN_OBJECTS[name](run) for system, run in RUNS.items()}


@pytest.mark.parametrize("form", RUN_FORMS)
def test_every_form_of_a_run(form: str, usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    runs, reference = usual
    given = run_form(form, tmp_path)
    assert_frame_equal(run_of(given).frame, run_of(runs).frame)
    for name, verb in {**JUDGING, **RUNNING}.items():
        more = [reference] if name in JUDGING else []
        same(outcome(verb, given, *more), expected(name, runs, reference))


@pytest.mark.parametrize("form", JUDGED)
def test_every_form_of_judgments(form: str, usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    runs, _ = usual
    judged = JUDGED[form]
    given, reference = judged.made(tmp_path / "given", judged.same), qrels(tmp_path / "trec", judged.same)
    for name, verb in JUDGING.items():
        if name in {"labels", "decide", "fitted"} and judged.same is RELEVANT:
            continue  # labels that are all relevant teach nothing
        same(outcome(verb, runs, given), expected(name, runs, reference))


@pytest.mark.parametrize("form", [form for form in MACHINES if form != "nuggets"])  # nuggets are graded from 0 to 1
def test_every_form_of_a_machine_judge_has_the_same_grades(form: str, tmp_path: Path) -> None:
    """They are opinions of kind judge, and otherwise what qrels with these grades hold."""
    found = endoxa.read(MACHINES[form](tmp_path, GRADES)).frame
    assert found["kind"].unique().to_list() == ["judge"]
    rows = ["query", "item", "grade"]
    assert_frame_equal(
        found.select(rows).sort(rows), endoxa.read(qrels(tmp_path, GRADES)).frame.select(rows).sort(rows)
    )


@pytest.mark.parametrize("form", ["file: json_of_rows", "file: ms_marco", "pyterrier", "scored_docs"])
def test_either_order(form: str, usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    runs, reference = usual
    given = run_form(form, tmp_path) if form != "scored_docs" else RUN_OBJECTS[form](RUNS["bm25"])
    for name, judged in JUDGED.items():
        if judged.same is GRADES:
            other = judged.made(tmp_path / name, judged.same)
            expected = endoxa.measure(given, other, MEASURES)
            assert_frame_equal(endoxa.measure(other, given, MEASURES).frame, expected.frame)
    assert_frame_equal(endoxa.compare(reference, runs, ["AP"]).frame, endoxa.compare(runs, reference, ["AP"]).frame)
    swapped = endoxa.rate(runs, reference, resamples=40).tables["figures"]
    assert_frame_equal(swapped, endoxa.rate(reference, runs, resamples=40).tables["figures"])


def test_generators_are_read_once() -> None:
    judged = (ir_measures.Qrel(q, d, g) for q, items in GRADES.items() for d, g in items.items())
    expected = endoxa.measure(RUNS["bm25"], GRADES, [ir_measures.nDCG @ 10, ir_measures.AP])
    found = endoxa.measure(judged, generated(RUNS["bm25"]), [ir_measures.nDCG @ 10, ir_measures.AP])
    assert_frame_equal(found.frame, expected.frame)


def test_dicts_in_either_order() -> None:
    run, ints = RUNS["bm25"], {"q1": {"d1": 3, "d3": 2, "d2": 1}}
    expected = endoxa.measure(run, GRADES, MEASURES).frame
    with pytest.warns(UserWarning, match="the arguments are swapped"):
        assert_frame_equal(endoxa.measure(GRADES, run, MEASURES).frame, expected)
    assert_frame_equal(endoxa.measure(reference=GRADES, run=run, measures=MEASURES).frame, expected)
    for one, other in ((GRADES, ints), (ints, run)):
        with pytest.raises(CallError, match="cannot be told from their numbers; name them: run="):
            endoxa.measure(one, other, MEASURES)
    assert len(endoxa.measure(run=ints, reference=run, measures=["nDCG@10"]).frame)
    assert len(endoxa.measure(ints, GRADES, MEASURES).frame)  # as the signature says


def test_two_of_a_kind_are_refused(usual: tuple[list[Path], Path]) -> None:
    runs, reference = usual
    with pytest.raises(CallError, match="both arguments are runs; put all runs into the first"):
        endoxa.measure(runs[0], runs[1], MEASURES)
    with pytest.raises(CallError, match="both arguments are judgments"):
        endoxa.evaluate(reference, str(reference), MEASURES)


def test_rounds_of_labels_are_no_runs() -> None:
    rows = [(query, item, float(grade > 0)) for query, items in GRADES.items() for item, grade in items.items()]
    labels = pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row")
    expected = endoxa.decide(RUNS, labels, ["AP"], **FEW).tables["verdict"]
    assert_frame_equal(endoxa.decide(RUNS, [labels[:5], labels[5:]], ["AP"], **FEW).tables["verdict"], expected)


def test_lists_of_runs() -> None:
    run = endoxa.read([RUNS["bm25"], RUNS["dense"]])
    assert run.systems == ["run1", "run2"]
    assert endoxa.read(
        [endoxa.read(RUNS["bm25"], kind="run", name="a"), RUN_OBJECTS["pyterrier"](RUNS["dense"])]
    ).systems
    with pytest.raises(TableError, match="parts 1 and 2 both hold system 'a'; name them"):
        endoxa.read([endoxa.read(RUNS["bm25"], kind="run", name="a")] * 2)


# ---- rows that hold both --------------------------------------------------------------------------------------


def test_rows_of_ragas_are_runs_and_judgments(usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    runs, _ = usual
    both = [ragas(tmp_path, name, run) for name, run in RUNS.items()]
    expected = endoxa.evaluate(runs, RELEVANT, MEASURES)
    for found in (endoxa.evaluate(both, measures=MEASURES), endoxa.evaluate(both, both, MEASURES)):
        assert_frame_equal(found.summary, expected.summary)
    rows = [json.loads(line) for line in both[0].read_text().splitlines()]
    assert_frame_equal(
        endoxa.measure(rows, measures=MEASURES).frame, endoxa.measure(RUNS["bm25"], RELEVANT, MEASURES).frame
    )
    assert endoxa.read(both[0], kind="run").systems == ["bm25"]
    with pytest.raises(FileError, match="the rows hold a run and judgments; name the kind"):
        endoxa.read(both[0])
    with pytest.raises(TableError, match="the rows hold a run and judgments"):
        endoxa.read(rows)
    changed = both[1].read_text().replace('"reference_context_ids": ["d1", "d3"]', '"reference_context_ids": {"d1": 2}')
    with pytest.raises(TextError, match=r"item 'd1' of query 'q1' has different grades in .*bm25.jsonl and .*"):
        endoxa.evaluate([both[0], saved(tmp_path, "dense.jsonl", changed)], measures=MEASURES)


# ---- the command line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", RUN_FILES)
def test_the_command_line_tells_them_apart(form: str, usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    runs, reference = usual
    expected = command_line.done("eval", reference, *runs, "AP", "-o", "jsonl")
    given = run_form(f"file: {form}", tmp_path)
    for name in ("trec", "beir tsv", "beir folder", "beir rows", "json"):
        judged = JUDGED[name].made(tmp_path / name, GRADES)
        assert command_line.done("eval", *given, judged, "AP", "-o", "jsonl") == expected
    for command in ("check", "read"):
        assert command_line.done(command, given[0])


def test_both_on_the_command_line(tmp_path: Path) -> None:
    both = [ragas(tmp_path, name, run) for name, run in RUNS.items()]
    runs = [trec(tmp_path / "trec", name, run) for name, run in RUNS.items()]
    reference = qrels(tmp_path / "trec", RELEVANT)
    expected = command_line.endoxa("eval", reference, *runs, "AP", "-o", "jsonl")
    assert command_line.endoxa("eval", *both, "AP", "-o", "jsonl") == expected
    ran = command_line.endoxa("eval", reference, *both, "AP")
    assert ran.exit_code == 1
    assert (
        f"judgments are given twice, in {reference} and in {both[0]}; name the run with --run {both[0]}" in ran.stderr
    )
    words = [word for path in both for word in ("--run", path)]
    assert command_line.endoxa("eval", reference, *words, "AP", "-o", "jsonl") == expected


# ---- bad input ------------------------------------------------------------------------------------------------

BAD = {
    "a column is missing": (
        "test.tsv", "query-id\tcorpus-id\nq1\td1\n",
        "query-id is a column of BEIR's judgments, and score is missing: the columns are query-id, corpus-id; expected "
        "the columns query-id, corpus-id, score",
    ),
    "no query": ("test.tsv", "corpus-id\tscore\nd1\t1\n", "and query-id is missing"),
    "not a grade": ("t.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tgood\n", ":2: grade 'good' is not a number, nor a"),
    "ranks and scores": (
        "run.tsv", "1\t7\t1\t24.5\n1\t3\t2\t21.25\n1\t9\t3\t20\n2\t8\t1\t30.5\n",
        "the third counts 1, 2, 3 and the fourth falls: this is a run with ranks and scores; keep its first three",
    ),
    "neither": ("a.json", '{"name": "x", "version": 3}', "the JSON is neither runs nor judgments"),
    "a list": ("a.json", '[["a", 1], ["b", 2]]', "the JSON is a list, but not of rows; expected {query: {item"),
    "damaged": ("a.json", '{"q1": {"d1": 1.5,\n "d2": }}', "a.json:2: the JSON is damaged: Expecting value"),
    "a key twice": ("a.json", '{"q1": {"d1": 1.5, "d1": 2}}', "an object has the key 'd1' twice"),
    "either": ("a.json", '{"q1": {"d1": 3, "d2": 2, "d3": 1}}', "may be a run or judgments: its numbers may be"),
    "no list": ("a.jsonl", '{"qid": "q1", "results": ["d1"]}\n{"qid": "q2", "results": 7}\n', ":2: results is 7"),
    "ranks recur": ("a.tsv", "q1\td1\t1\nq1\td2\t1\n", "three columns, and the third is not a rank: it recurs"),
    "one line each": ("a.tsv", "q1\td1\t1\nq2\td2\t1\n", "three columns may be a run of MS MARCO"),
    "not a rank": ("a.tsv", "q1\td1\t1\nq1\td2\t2\nq1\td3\n", "a.tsv:3: 2 columns in 'q1 d3'"),
    "a word": ("q.txt", "q1 0 d1 yes\nq1 0 d2 perhaps\n", "q.txt:2: grade 'perhaps' is not a number, nor a known word"),
    "an unknown word": ("q.txt", "q1 0 d1 poor\n", "q.txt:1: grade 'poor' is not a number; expected a number, or yes"),
    "a word among numbers": ("q.txt", "q1 0 d1 1\nq1 0 d2 yes\n", "q.txt:2: grade 'yes' is not a number; grades are"),
    "semicolons": (
        "t.csv", "query;item;grade\nq;d;1\n",
        "a table with the columns query, item, grade, separated by semicolons, which are not read; save it with commas",
    ),
    "foreign columns": (
        "t.csv", "Question,Document,BM25 Score\nq,d,1.5\n",
        "Question, Document, BM25 Score; they are unknown: did you mean question_id for Question; document or",
    ),
    "one foreign column more": (
        "t.csv", "query,Dokument,Note\nq,d,gut\n", "query, Dokument, Note; Dokument, Note are unknown: did you mean"
    ),
    "foreign columns with tabs": ("t.tsv", "Frage\tDokument\tNote\nq\td\t1\n", "Dokument, Note; they are unknown"),
    "foreign columns of text": ("t.csv", "Query Text,Doc Title,My Score\na b,c d,1\n", "My Score; they are unknown"),
    "only a header": ("t.csv", "Frage,Dokument,Note\n", "Frage, Dokument, Note; they are unknown"),
    "grades in three columns": (
        "q.txt", "1 d121 0\n1 d122 1\n",
        "three columns are a run of MS MARCO (query passage rank), and '0' is not its first rank; judgments have four",
    ),
    "no score and no grade": ("t.csv", "query,item,note\nq,d,x\n", "the column score or grade is missing: the columns"),
    "no item": ("t.csv", "query,score\nq,1\n", "these columns: query, score; expected run: query, item, score"),
    "no tag": ("a.run", "q Q0 d 1 2.5\n", "5 columns in 'q Q0 d 1 2.5'; a run line has 6: query Q0 item rank score"),
    "a bare id": ("a.json", '[{"id": 3, "predictions": [5, 6]}]', "id, predictions"),
    "a bare id of lines": ("a.jsonl", '{"id": 3, "documents": ["a long text"]}\n', "id, documents"),
    "runs beside facts": ("a.json", '{"runs": {"a": ["x"]}, "meta": {"b": ["y"]}}', "its keys are runs, meta"),
    "nulls": ("a.json", '{"q": {"d": null}}', "every number in the JSON is null"),
    "a vertical tab": ("a.txt", "\v", r"neither a run nor qrels: the first line is '\x0b'"),
    "an empty file": ("a.json", "", "the file is empty; expected a run or judgments"),
    "an empty object": ("a.json", "{}\n", "the JSON is empty; expected a run or judgments"),
    "not a score": ("t.csv", "query,item,score\nq,d,n/a\n", "t.csv:2: score 'n/a' is not a number; correct it, or"),
    "a word in a table": ("q.csv", "query,item,grade\nq,d,yes\nq,e,fairly\n", "q.csv:3: grade 'fairly' is not a"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str, tmp_path: Path) -> None:
    file, text, says = BAD[name]
    with pytest.raises(FileError) as caught:
        endoxa.read(saved(tmp_path, file, text))
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / file))
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Frage,Dokument,Note\nq1,d1,1\n", "for Dokument?; name the columns query, item, grade"),
        ("query,item,p\nq1,d1,.5\n", "expected judgments, found a table of kind belief: the column grade is missing"),
        ("query,item,grade\nq1,d1,\n", "nothing is judged: every grade is empty; fill in the column grade"),
    ],
)
def test_bad_labels_are_named(text: str, says: str, usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    labels = saved(tmp_path, "labels.csv", text)
    with pytest.raises(FileError) as caught:
        endoxa.evaluate(usual[0], labels=[labels])
    assert str(caught.value).startswith(f"{labels}: ")
    assert says in str(caught.value)


def test_judgments_that_nobody_filled_in(usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    empty = saved(tmp_path, "judge.csv", "query,item,grade\nq1,d1,\n")
    with pytest.raises(FileError, match=r"judge.csv: nothing is judged: every grade is empty"):
        endoxa.evaluate(usual[0], empty)


@pytest.mark.parametrize("text", ["q1 0 d,1 1\nq1 0 d;2 0\n", "q;1\tQ0\td,1\tyes\nq;1\tQ0\td,2\tno\n"])
def test_separators_within_names_are_part_of_them(text: str, tmp_path: Path) -> None:
    assert endoxa.read(saved(tmp_path, "q.txt", text)).frame["grade"].to_list() == [1.0, 0.0]


def test_judgments_given_twice(usual: tuple[list[Path], Path], tmp_path: Path) -> None:
    runs, reference = usual
    again = saved(tmp_path, "again.txt", "q1 0 d3 1\n")
    with pytest.raises(FileError, match=r"again.txt: item 'd3' of query 'q1' is judged in .*qrels.txt too; give the"):
        endoxa.measure(runs, [reference, again], MEASURES)


def test_a_folder_without_anything_readable(tmp_path: Path) -> None:
    run = trec(tmp_path / "runs", "a", RUNS["bm25"])
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "runs"):
        ran = command_line.endoxa("eval", tmp_path / folder, run)
        assert ran.exit_code == 1
        told = f"{tmp_path / folder}: the path is a directory, and holds no judgments; expected a collection"
        assert told in ran.stderr
    for split in ("dev.tsv", "train.tsv"):
        saved(tmp_path / "beir/qrels", split, "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    with pytest.raises(FileError, match=r"several files of judgments \(dev.tsv, train.tsv\); name one of them"):
        endoxa.measure(run, tmp_path / "beir", MEASURES)


# ---- other tools, if they are there ---------------------------------------------------------------------------

PEERS = Path(__file__).parents[2] / ".venv-peers/bin/python"
RANX = """
import sys
sys.path += sys.argv[1].split(":")
import json
from ranx import Qrels, Run
import endoxa
runs, grades = json.loads(sys.argv[2])
one, two = (Run(run, name=name) for name, run in runs.items())
found = endoxa.measure([one, two], Qrels(grades), ["nDCG@10", "AP"])
swapped = endoxa.measure(Qrels(grades), {"bm25": one, "dense": two}, ["nDCG@10", "AP"])
assert found.frame.equals(swapped.frame)
print(json.dumps(found.to_dict()))
"""


@pytest.mark.skipif(not PEERS.exists(), reason="the environment of the other tools is made by make bench")
def test_objects_of_ranx() -> None:
    path = ":".join(one for one in sys.path if one)
    done = subprocess.run(
        [PEERS, "-W", "ignore", "-c", RANX, path, json.dumps([RUNS, GRADES])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == endoxa.measure(RUNS, GRADES, ["nDCG@10", "AP"]).to_dict()


def test_a_dataset_of_hugging_face() -> None:
    datasets = pytest.importorskip("datasets")
    judged = datasets.Dataset.from_list(
        [{"query-id": q, "corpus-id": d, "score": g} for q, items in GRADES.items() for d, g in items.items()]
    )
    lists = datasets.Dataset.from_list(ragas_rows(RUNS["bm25"]))
    expected = endoxa.measure(RUNS["bm25"], GRADES, MEASURES).frame
    assert_frame_equal(endoxa.measure(lists, judged, MEASURES).frame, expected)
    assert_frame_equal(endoxa.measure(judged, lists, MEASURES).frame, expected)
