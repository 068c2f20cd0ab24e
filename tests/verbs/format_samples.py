"""The same runs and the same judgments in every format that is read.

Scores are 1/rank, so that a format that keeps only the order holds the same data as one with scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import polars as pl
import pyarrow as pa

Lists = dict[str, dict[str, float]]
RANKED = {
    "bm25": {"q1": "d3 d1 d5 d2", "q2": "d4 d9 d2", "q3": "d7 d1 d8 d2 d6"},
    "dense": {"q1": "d1 d3 d9 d5", "q2": "d2 d4 d6", "q3": "d8 d7 d1"},
}
GRADES: dict[str, dict[str, int]] = {
    "q1": {"d1": 2, "d2": 0, "d3": 1, "d5": 0}, "q2": {"d4": 1, "d9": 0, "d2": 1}, "q3": {"d8": 2, "d7": 0, "d1": 1},
}  # fmt: skip
YES_NO = {query: {item: int(grade > 0) for item, grade in items.items()} for query, items in GRADES.items()}
RELEVANT = {query: {item: 1 for item, grade in items.items() if grade} for query, items in GRADES.items()}
RUNS: dict[str, Lists] = {
    system: {query: {item: 1 / rank for rank, item in enumerate(words.split(), 1)} for query, words in lists.items()}
    for system, lists in RANKED.items()
}
Row = tuple[str, str, float]


def rows_of(lists: Any) -> list[Row]:
    return [(query, item, number) for query, items in lists.items() for item, number in items.items()]


def saved(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# ---- files of one run -----------------------------------------------------------------------------------------


def trec(folder: Path, name: str, run: Lists) -> Path:
    text = (f"{query} Q0 {item} 0 {score} {name}\n" for query, item, score in rows_of(run))
    return saved(folder, f"{name}.run", "".join(text))


def nested_json(folder: Path, name: str, run: Lists) -> Path:
    return saved(folder, f"{name}.json", json.dumps(run))


def indented_json(folder: Path, name: str, run: Lists) -> Path:
    return saved(folder, f"{name}.json", json.dumps(run, indent=2))


def listed_json(folder: Path, name: str, run: Lists) -> Path:
    return saved(folder, f"{name}.json", json.dumps({query: list(items) for query, items in run.items()}))


def json_of_pairs(folder: Path, name: str, run: Lists) -> Path:
    return saved(folder, f"{name}.json", json.dumps({query: list(items.items()) for query, items in run.items()}))


def json_of_rows(folder: Path, name: str, run: Lists) -> Path:
    rows = [{"query_id": query, "doc_id": item, "score": score} for query, item, score in rows_of(run)]
    return saved(folder, f"{name}.json", json.dumps(rows, indent=1))


def mteb_old(folder: Path, name: str, run: Lists) -> Path:
    return saved(folder / f"{name}_old", f"{name}.json", json.dumps(run))


def mteb_new(folder: Path, name: str, run: Lists) -> Path:
    meta = {"mteb_model_meta": {"model_name": name, "revision": "1"}}
    return saved(folder / name, "Task_predictions.json", json.dumps(meta | {"default": {"test": run}}))


def results_jsonl(folder: Path, name: str, run: Lists) -> Path:
    rows = [{"query_id": query, "results": list(items)} for query, items in run.items()]
    return saved(folder, f"{name}.jsonl", lines(rows))


def scored_results_jsonl(folder: Path, name: str, run: Lists) -> Path:
    rows = [
        {"query_id": query, "results": [{"id": item, "score": score} for item, score in items.items()]}
        for query, items in run.items()
    ]
    return saved(folder, f"{name}.jsonl", lines(rows))


def ms_marco(folder: Path, name: str, run: Lists) -> Path:
    rows = [(query, item, rank) for query, items in run.items() for rank, item in enumerate(items, 1)]
    return saved(folder, f"{name}.tsv", "".join(f"{query}\t{item}\t{rank}\n" for query, item, rank in rows))


def ranks_csv(folder: Path, name: str, run: Lists) -> Path:
    rows = [(query, item, rank) for query, items in run.items() for rank, item in enumerate(items, 1)]
    text = "qid,pid,rank\n" + "".join(f"{query},{item},{rank}\n" for query, item, rank in rows)
    return saved(folder, f"{name}.csv", text)


def ragas(folder: Path, name: str, run: Lists, relevant: Any = None) -> Path:
    rows = [
        {"user_input": query, "retrieved_context_ids": list(items), "reference_context_ids": list(RELEVANT[query])}
        for query, items in run.items()
    ]
    return saved(folder, f"{name}.jsonl", lines(rows))


def ragas_parquet(folder: Path, name: str, run: Lists) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"qid": query, "retrieved_ids": list(items)} for query, items in run.items()]
    pl.DataFrame(rows).write_parquet(folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


RUN_FILES: dict[str, Callable[[Path, str, Lists], Path]] = {
    function.__name__: function
    for function in (
        trec, nested_json, indented_json, listed_json, json_of_pairs, json_of_rows, mteb_old, mteb_new, results_jsonl,
        scored_results_jsonl, ms_marco, ranks_csv, ragas_parquet,
    )
}  # fmt: skip


# ---- runs of several systems in Python ------------------------------------------------------------------------


def pyterrier(run: Lists) -> pd.DataFrame:
    rows = [
        {"qid": query, "docid": place, "docno": item, "rank": 9, "score": score, "query": f"the words of {query}"}
        for place, (query, item, score) in enumerate(rows_of(run))
    ]
    return pd.DataFrame(rows)


def polars_frame(run: Lists) -> pl.DataFrame:
    return pl.DataFrame(rows_of(run), schema=["query_id", "doc_id", "similarity"], orient="row")


def arrow_table(run: Lists) -> pa.Table:
    return polars_frame(run).to_arrow()


def scored_docs(run: Lists) -> Any:
    return [ir_measures.ScoredDoc(*row) for row in rows_of(run)]


def generated(run: Lists) -> Any:
    return (ir_measures.ScoredDoc(*row) for row in rows_of(run))


def dict_of_lists(run: Lists) -> dict[str, list[str]]:
    return {query: list(items) for query, items in run.items()}


def ragas_rows(run: Lists) -> list[dict[str, Any]]:
    return [{"user_input": query, "retrieved_context_ids": list(items)} for query, items in run.items()]


def pandas_of_lists(run: Lists) -> pd.DataFrame:
    return pd.DataFrame(ragas_rows(run))


RUN_OBJECTS: dict[str, Callable[[Lists], Any]] = {
    function.__name__: function
    for function in (pyterrier, polars_frame, arrow_table, scored_docs, dict_of_lists, pandas_of_lists)
}


# ---- judgments ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A form of judgments, and the same data in TREC's form."""

    same: dict[str, dict[str, int]]
    made: Callable[[Path, Any], Any]


def qrels(folder: Path, grades: Any) -> Path:
    return saved(folder, "qrels.txt", "".join(f"{query} 0 {item} {grade}\n" for query, item, grade in rows_of(grades)))


def beir_tsv(folder: Path, grades: Any) -> Path:
    rows = "".join(f"{query}\t{item}\t{grade}\n" for query, item, grade in rows_of(grades))
    return saved(folder, "test.tsv", "query-id\tcorpus-id\tscore\n" + rows)


def beir_folder(folder: Path, grades: Any) -> Path:
    beir_tsv(folder / "beir/qrels", grades)
    saved(folder / "beir/qrels", "train.tsv", "query-id\tcorpus-id\tscore\nq1\td9\t2\n")
    items = sorted({item for _, item, _ in rows_of(grades)} | {f"d{number}" for number in range(10)})
    corpus = [{"_id": item, "title": f"Title {item}", "text": f"About {item}.", "metadata": {}} for item in items]
    saved(folder / "beir", "corpus.jsonl", lines(corpus))
    saved(folder / "beir", "queries.jsonl", lines([{"_id": query, "text": f"what of {query}"} for query in grades]))
    return folder / "beir"


def beir_rows(folder: Path, grades: Any) -> Path:
    rows = [{"query-id": query, "corpus-id": item, "score": grade} for query, item, grade in rows_of(grades)]
    return saved(folder, "qrels.jsonl", lines(rows))


def qrels_json(folder: Path, grades: Any) -> Path:
    return saved(folder, "qrels.json", json.dumps(grades, indent=1))


def words(folder: Path, grades: Any) -> Path:
    rows = [(query, item, "relevant" if grade else "not relevant") for query, item, grade in rows_of(grades)]
    return saved(folder, "words.txt", "".join(f"{query} 0 {item} {word}\n" for query, item, word in rows))


def words_csv(folder: Path, grades: Any) -> Path:
    rows = [(query, item, "Yes" if grade else "no") for query, item, grade in rows_of(grades)]
    return saved(folder, "words.csv", "query,item,label\n" + "".join(",".join(row) + "\n" for row in rows))


def relevant_lists(folder: Path, grades: Any) -> Path:
    rows = [{"query_id": query, "relevant_ids": list(items)} for query, items in grades.items()]
    return saved(folder, "relevant.jsonl", lines(rows))


JUDGED: dict[str, Judged] = {
    "trec": Judged(GRADES, qrels),
    "beir tsv": Judged(GRADES, beir_tsv),
    "beir folder": Judged(GRADES, beir_folder),
    "beir rows": Judged(GRADES, beir_rows),
    "json": Judged(GRADES, qrels_json),
    "words": Judged(YES_NO, words),
    "words csv": Judged(YES_NO, words_csv),
    "lists": Judged(RELEVANT, relevant_lists),
    "dict": Judged(GRADES, lambda _, grades: grades),
    "dict of words": Judged(
        YES_NO,
        lambda _, grades: {q: {d: "yes" if g else "no" for d, g in items.items()} for q, items in grades.items()},
    ),
    "dict of lists": Judged(RELEVANT, lambda _, grades: {query: list(items) for query, items in grades.items()}),
    "pyterrier": Judged(GRADES, lambda _, grades: pd.DataFrame(rows_of(grades), columns=["qid", "docno", "label"])),
    "polars": Judged(
        GRADES, lambda _, grades: pl.DataFrame(rows_of(grades), schema=["query_id", "doc_id", "rel"], orient="row")
    ),
    "hugging face": Judged(
        GRADES,
        lambda _, grades: pl.DataFrame(
            rows_of(grades), schema=["query-id", "corpus-id", "score"], orient="row"
        ).to_arrow(),
    ),
    "ir_measures": Judged(GRADES, lambda _, grades: [ir_measures.Qrel(*row) for row in rows_of(grades)]),
}
