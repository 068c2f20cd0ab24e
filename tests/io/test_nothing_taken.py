"""A law of all readers: a file from which no row is taken, or that is not understood, is refused with a remedy."""

from __future__ import annotations

import ast
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

import endoxa
from endoxa.errors import FileError
from endoxa.io.bundles import read_bundle
from endoxa.io.formats import COLUMNS, Kind
from endoxa.io.judge_files import read_gradings
from endoxa.io.norm_files import read_norms
from endoxa.io.read import read
from endoxa.io.run_files import map_blocks
from endoxa.io.study_files import read_any, read_known, read_pairs
from endoxa.io.table_files import read_costs
from endoxa.io.texts import read_questions
from endoxa.io.trec_text import read_zscores
from endoxa.io.vectors import read_vectors

SOURCE = Path(endoxa.__file__).parent / "io"
KINDS = [kind for kind in get_args(Kind) if kind not in {"evaluation", "bundle", "both"}]
READERS: dict[str, Callable[[Path], Any]] = {
    **{f"read {kind}": partial(read, kind=kind) for kind in ("auto", *KINDS)},
    **{f"read {kind} leniently": partial(read, kind=kind, lenient=True) for kind in ("auto", "run", "qrels")},
    "map_blocks": lambda path: map_blocks(path, len),
    "read_costs": read_costs,
    "read_norms": read_norms,
    "read_zscores": lambda path: read_zscores(str(path)),
    "read_questions": read_questions,
    "read_any": read_any,
    "read_known": partial(read_known, has_query=True),
    "read_pairs": read_pairs,
    "read_vectors": read_vectors,
    "read_bundle": read_bundle,
    "read_gradings": read_gradings,
    "gradings, leniently": partial(read_gradings, lenient=True),
}
# These take a folder, bytes or a source that was recognised: their callers have the same law, or they have tests.
ELSEWHERE = {
    "read", "read_runs", "read_run", "read_qrels", "read_preferences", "read_worded", "read_table", "read_paths",
    "read_corpus", "read_texts", "read_shown", "read_study", "read_pages", "read_sketch",
    "read_clip_art", "read_emoji", "read_symbols",
}  # fmt: skip


def parquet(**columns: list[Any]) -> bytes:
    stream = io.BytesIO()
    pl.DataFrame(columns).clear().write_parquet(stream)
    return stream.getvalue()


NOTHING = {
    "an empty file": b"",
    "empty lines": b"\n \n\t\r\n",
    "an empty object": b"{}",
    "an empty list": b"[]",
    "a list of an empty object": b"[{}]",
    "a query without items": b'{"q": {}}',
    "a query with an empty list": b'{"q": []}',
    "a row with an empty list": b'{"query_id": "q", "results": []}\n',
    "rows with empty lists": b'[{"query_id": "q", "results": []}, {"query_id": "r", "results": []}]',
    "an answer without hits": b'{"took": 3, "hits": {"total": {"value": 0}, "hits": []}}',
    "predictions of nothing": b'{"mteb_model_meta": {"model_name": "m"}, "default": {"test": {}}}',
    "tasks without predictions": b'[{"id": 7, "data": {"text": "x"}, "annotations": [], "predictions": []}]',
    "a Parquet run": parquet(system=["a"], query=["q"], item=["d"], score=[1.0]),
    "Parquet judgments": parquet(query=["q"], item=["d"], grade=[1.0]),
    "a Parquet belief": parquet(query=["q"], item=["d"], grade=[1.0], p=[0.5]),
    "Parquet lists": parquet(query_id=["q"], results=[["d"]]),
    "a request that expired": b'{"custom_id": "q|d", "result": {"type": "expired"}}\n',
    "a reply without choices": b'{"custom_id": "q|d", "response": {"body": {"choices": []}}, "error": null}\n',
    "an unparsed reply": b'{"query": "q", "passage": "p", "judgment": 0, "result_status": 0}\n',
    "no nugget": b'{"qid": "q", "docid": "d", "candidate_text": "t", "text": "t", "nuggets": []}\n',
    "requests without answers": b'{"query": {"qid": "q", "text": "t"}, "candidates": []}\n',
}
HEADERS = {f"a header of {kind}": ",".join(columns).encode() + b"\n" for kind, columns in COLUMNS.items()}


LAW = [
    (content, reader)
    for content in (*NOTHING, *HEADERS)
    for reader in READERS
    if not (reader == "read_questions" and content in HEADERS)  # words are a question, whatever they are
]


@pytest.mark.parametrize(("content", "reader"), LAW)
def test_a_file_from_which_nothing_is_taken_is_refused(content: str, reader: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes((NOTHING | HEADERS)[content])
    with pytest.raises(FileError) as caught:
        READERS[reader](path)
    assert caught.value.path == str(path)
    assert caught.value.problem
    assert caught.value.remedy


def test_every_reader_is_under_the_law() -> None:
    found = {
        node.name
        for path in SOURCE.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and (node.name == "read" or node.name.startswith("read_"))
    }
    known = ELSEWHERE | {name for name in READERS if name.startswith("read_")}
    assert found == known, "add the reader to READERS of this file, or to ELSEWHERE if another one calls it"


FOREIGN = {
    "an export of predictions": (
        '{"predictions": [{"id": "p1", "output": {"x": 1}}, {"id": "p2", "output": {"x": 2}}]}',
        "predictions is the name of a list, not of a query",
    ),
    "an export of several lists": (
        '{"annotations": [{"id": 1, "image_id": 2}], "images": [{"id": 1, "file_name": "a.jpg"}]}',
        "annotations, images are names of lists, not of a query",
    ),
    "numbers of predictions": ('{"predictions": {"p1": 0.5, "p2": 0.25}}', "predictions is the name of a list"),
    "rows below a name": (
        '{"test": [{"id": "p1", "query": "q", "score": 1}]}',
        "'test': an entry of the list names a query of its own (query)",
    ),
    "Label Studio": (
        '[{"id": 1, "data": {"query": "a"}, "annotations": [{"id": 2, "result": []}], "predictions": [5, 6]}]',
        "tasks of Label Studio, which are not understood: their keys are id, data, annotations, predictions",
    ),
    "a search engine": (
        '{"hits": {"hits": [{"_id": "x1", "_source": {"type": "pair"}}]}}', "is not understood: its keys are hits",
    ),
    "an answer with a head": (
        '{"took": 3, "hits": {"hits": [{"_id": "x1", "_score": 1.5}]}}', "its keys are took, hits",
    ),
    "scores by measure": (
        '{"ndcg@10": {"q1": 0.5, "q2": 0.25}, "map": {"q1": 0.125, "q2": 0.75}}',
        "scores of measures, not of items: its keys are ndcg@10, map",
    ),
    "scores by query": (
        '{"q1": {"map": 0.5, "ndcg_cut_10": 0.25}, "q2": {"map": 0.125, "ndcg_cut_10": 0.75}}',
        "scores of measures, not of items: its keys are q1, q2",
    ),
    "interleaving": (
        '{"query": "a", "ranking": ["d1", "d9"], "teams": {"x": ["d1"], "y": ["d9"]}, "clicks": ["d9"]}\n',
        "a log of interleaving, which are not understood: their keys are query, ranking, teams, clicks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", FOREIGN)
@pytest.mark.parametrize("kind", ["auto", "run", "qrels"])
def test_json_of_other_tools_is_refused_with_its_keys(tool: str, kind: Any, tmp_path: Path) -> None:
    text, says = FOREIGN[tool]
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(FileError) as caught:
        read(tmp_path / "f.json", kind=kind)
    assert says in caught.value.problem
    assert caught.value.remedy.startswith("expected ")


def test_queries_may_be_called_like_a_measure_or_a_key(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"map": {"d1": 2.5, "d2": 1.5}, "hits": {"d1": 0.5, "d3": 0.25}}')
    assert read(tmp_path / "f.json").frame["query"].unique().sort().to_list() == ["hits", "map"]
