"""The same grades of a machine judge in every form in which tools write them, as small files made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Grades = dict[str, dict[str, int]]
JUDGE = "toy-7b"
ASKED = {"q1": "why is the sky blue", "q2": "how do owls hunt", "q3": "what is rye bread"}


def passage(item: str) -> str:
    return f"All about {item}, in a few words."


def rows_of(grades: Grades) -> list[tuple[str, str, int]]:
    return [(query, item, grade) for query, items in grades.items() for item, grade in items.items()]


def saved(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def chat(custom: str, content: str | None, **message: Any) -> dict[str, Any]:
    """A line of OpenAI's batch output whose request was answered."""
    end = message.pop("finish_reason", "stop")
    said = {"role": "assistant", "content": content, "refusal": None, **message}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": end}
    body = {"id": "c1", "object": "chat.completion", "model": JUDGE, "choices": [choice], "usage": {"total_tokens": 9}}
    response = {"status_code": 200, "request_id": "r1", "body": body}
    return {"id": f"b-{custom}", "custom_id": custom, "response": response, "error": None}


def chat_batch(folder: Path, grades: Grades) -> Path:
    replies = (
        '{{"relevance": {}, "why": "it fits"}}',
        '```json\n{{"score": "{}"}}\n```',
        "I think so.\n##final score: {}",
    )
    rows = [
        chat(f"{query}|{item}", replies[at % 3].format(grade))
        for at, (query, item, grade) in enumerate(rows_of(grades))
    ]
    return saved(folder, "output.jsonl", lines(rows[::-1]))


def responses_batch(folder: Path, grades: Grades) -> Path:
    rows = []
    for query, item, grade in rows_of(grades):
        text = {"type": "output_text", "text": json.dumps({"M": 1, "T": 0, "O": grade}), "annotations": []}
        output = [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [text]}]
        body = {"id": "r", "object": "response", "status": "completed", "model": JUDGE, "output": output}
        rows.append(
            {"id": "b", "custom_id": f"{query}__{item}", "response": {"status_code": 200, "body": body}, "error": None}
        )
    return saved(folder, "responses.jsonl", lines(rows))


def anthropic_batch(folder: Path, grades: Grades) -> Path:
    rows = []
    for at, (query, item, grade) in enumerate(rows_of(grades)):
        tool = {"type": "tool_use", "id": "t", "name": "grade", "input": {"grade": grade}}
        content = [tool] if at % 2 else [{"type": "text", "text": f"{grade}"}]
        message = {
            "type": "message",
            "role": "assistant",
            "model": JUDGE,
            "content": content,
            "stop_reason": "end_turn",
        }
        rows.append({"custom_id": f"{query}:::{item}", "result": {"type": "succeeded", "message": message}})
    return saved(folder, "results.jsonl", lines(rows))


def umbrela_rows(grades: Grades) -> list[dict[str, Any]]:
    return [
        {"model": JUDGE, "query": ASKED[query], "passage": passage(item), "prompt": "p", "reasoning": None,
         "prediction": f"final score: {grade}", "judgment": grade, "result_status": 1}
        for query, item, grade in rows_of(grades)
    ]  # fmt: skip


def umbrela_with_ids(folder: Path, grades: Grades) -> Path:
    rows = [
        {**row, "qid": query, "docid": item}
        for row, (query, item, _) in zip(umbrela_rows(grades), rows_of(grades), strict=True)
    ]
    return saved(folder, "umbrela.json", json.dumps(rows, indent=1))


def nuggets(folder: Path, grades: Grades) -> Path:
    """Support 1, .5 and 0 for the grades 2, 1 and 0, as the highest of several nuggets."""
    said = {0: "not_support", 1: "partial_support", 2: "support"}
    rows = [
        {"text": ASKED[query], "qid": query, "candidate_text": passage(item), "docid": item, "nuggets": [
            {"text": "one", "importance": "vital", "assignment": "not_support"},
            {"text": "two", "importance": "okay", "assignment": said[grade]},
            {"text": "three", "importance": "vital", "assignment": "failed"}]}
        for query, item, grade in rows_of(grades)
    ]  # fmt: skip
    return saved(folder, f"{JUDGE}.jsonl", lines(rows))


def model_csv(folder: Path, grades: Grades) -> Path:
    text = "".join(f"{query},{item},{grade},{JUDGE}\n" for query, item, grade in rows_of(grades))
    return saved(folder, "grades.csv", "query_id,doc_id,rating,model\n" + text)


def command_jsonl(folder: Path, grades: Grades) -> Path:
    """What `endoxa judge` writes; the replies and the tokens are not needed."""
    rows = [
        {"judge": JUDGE, "query": query, "item": item, "repeat": 1, "grade": grade, "scale": "0-3",
         "reply": f"{grade} it is", "tokens": 12}
        for query, item, grade in rows_of(grades)
    ]  # fmt: skip
    return saved(folder, "pairs.jsonl", lines(rows))


def model_parquet(folder: Path, grades: Grades) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [(query, item, float(grade), JUDGE) for query, item, grade in rows_of(grades)]
    pl.DataFrame(rows, ["qid", "docno", "label", "model"], orient="row").write_parquet(folder / "grades.parquet")
    return folder / "grades.parquet"


# Forms that say that a machine graded: the path of the file, from the grades
MACHINES: dict[str, Callable[[Path, Grades], Path]] = {
    made.__name__: made
    for made in (
        chat_batch, responses_batch, anthropic_batch, umbrela_with_ids, nuggets, model_csv, command_jsonl, model_parquet
    )
}  # fmt: skip


def qrels(folder: Path, grades: Grades) -> Path:
    rows = (f"{query} Q0 {item} {grade}\n" for query, item, grade in rows_of(grades))
    return saved(folder, f"{JUDGE}.qrels.txt", "".join(rows))


def plain_tsv(folder: Path, grades: Grades) -> Path:
    text = "".join(f"{query}\t{item}\t{grade}\n" for query, item, grade in rows_of(grades))
    return saved(folder, f"{JUDGE}.tsv", "query\titem\tscore\n" + text)


def worded(folder: Path, grades: Grades) -> Path:
    text = "".join(
        f"{query},{item},{grade} {'fits' if grade else 'off topic'},{JUDGE}\n" for query, item, grade in rows_of(grades)
    )
    return saved(folder, "words.csv", "query,item,label,annotator\n" + text)


def nested_json(folder: Path, grades: Grades) -> Path:
    return saved(folder, f"{JUDGE}.json", json.dumps(grades))


# Forms that do not say so: judgments, unless they are given as those of a machine
UNMARKED: dict[str, Callable[[Path, Grades], Path]] = {
    made.__name__: made for made in (qrels, plain_tsv, worded, nested_json)
}


def umbrela(folder: Path, grades: Grades) -> Path:
    """Without ids: texts only."""
    return saved(folder, "umbrela.jsonl", lines(umbrela_rows(grades)))


def umbrela_requests(folder: Path, grades: Grades) -> Path:
    rows = [
        {"query": {"text": ASKED[query], "qid": query},
         "candidates": [{"doc": {"segment": passage(item)}, "docid": item} for item in items]}
        for query, items in grades.items()
    ]  # fmt: skip
    return saved(folder, "requests.jsonl", lines(rows))


def texts(folder: Path, grades: Grades) -> tuple[Path, Path]:
    """Tables of queries and items."""
    items = sorted({item for _, item, _ in rows_of(grades)})
    asked = "".join(f"{query},{ASKED[query]}\n" for query in grades)
    shown = "".join(f'{item},"{passage(item)}"\n' for item in items)
    return saved(folder, "q.csv", "query,text\n" + asked), saved(folder, "d.csv", "item,text\n" + shown)


def argilla(folder: Path, grades: Grades) -> Path:
    rows = [
        {"id": f"{query}|{item}", "fields": {"query": ASKED[query], "text": passage(item)},
         "metadata": {"query_id": query, "doc_id": item},
         "suggestions": {"relevance": {"value": grade, "score": 0.9, "agent": JUDGE}},
         "responses": {"relevance": [{"value": 3, "user_id": "ann"}]}, "vectors": {},
         "status": "pending", "_server_id": None}
        for query, item, grade in rows_of(grades)
    ]  # fmt: skip
    return saved(folder, "records.json", json.dumps(rows))


def label_studio(folder: Path, grades: Grades) -> Path:
    values = (
        {"type": "rating", "key": "rating"},
        {"type": "choices", "key": "choices"},
        {"type": "number", "key": "number"},
    )
    rows = []
    for at, (query, item, grade) in enumerate(rows_of(grades)):
        one = values[at % 3]
        value = {one["key"]: [f"{grade} of the scale"] if one["type"] == "choices" else grade}
        result = [{"type": "textarea", "value": {"text": ["fits"]}}, {"type": one["type"], "value": value}]
        rows.append({
            "id": at, "data": {"query_id": query, "doc_id": item, "text": passage(item)}, "meta": {},
            "annotations": [{"result": []}],
            "predictions": [{"id": 5, "model_version": JUDGE, "score": 0.5, "result": result}],
        })  # fmt: skip
    return saved(folder, "tasks.json", json.dumps(rows, indent=1))


def potato(folder: Path, grades: Grades) -> Path:
    rows = [
        {"instance_id": f"{query}|{item}", "user_id": "someone", "annotator_origin": {"kind": "llm", "model": JUDGE},
         "labels": {"relevance": {str(grade): str(grade)}, "why": {"text_box": "fits"}}, "spans": {}, "links": {}}
        for query, item, grade in rows_of(grades)
    ]  # fmt: skip
    human = {
        "instance_id": "q1|d1",
        "user_id": "ann",
        "annotator_origin": {"kind": "human"},
        "labels": {"relevance": {"3": "3"}},
    }
    return saved(folder, "annotations.jsonl", lines([human, *rows]))


# Tools of people in which a model took part: only what the model said is read
BESIDE_PEOPLE: dict[str, Callable[[Path, Grades], Path]] = {
    made.__name__: made for made in (argilla, label_studio, potato)
}
