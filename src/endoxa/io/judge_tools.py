"""Rows of the tools by which machines judge: batch output of OpenAI and Anthropic, UMBRELA, nuggetizer; and of tools
for people in which a model took part: Argilla's suggestions, Label Studio's predictions, Potato's annotators.

A row gives what it says of pairs: a grade, or the reason why there is none. A failed request, a reply that is cut off
and a skipped pair are no opinion; they are never the grade 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.io.judge_replies import grade_in, grade_of, number_of
from endoxa.tables.checks import IDS_OF_TEXTS, OTHER_NAMES

NO_GRADE, CUT, REFUSED = "no grade in the reply", "the reply is cut off", "refused"
FILTERED, FAILED, UNPARSED = "content filter", "the request failed", "not parsed"
EMPTY, PERSON = "no grade", "by a person"
QUERY_TEXTS = ("query", "query_text", "question", "user_input")
SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


@dataclass(frozen=True)
class Graded:
    """What a row says of a pair: a grade, or the reason why there is none.

    `ids` are query and item, or one id that packs both. With `texts` they are the texts of query and item.
    """

    ids: tuple[str, ...]
    grade: float | None = None
    reason: str = ""
    judge: str | None = None
    texts: bool = False


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool: the keys of its rows, what a row says, the scale of its grades; whether it belongs to machine judges."""

    name: str
    keys: frozenset[str]
    graded: Callable[[Row], Iterator[Graded]]
    scale: str | None = None
    machine: bool = True


def tool_of(keys: Collection[str]) -> Tool | None:
    """Return the tool whose rows have these keys, if one is known."""
    names = set(keys)
    return next((tool for tool in TOOLS if tool.keys <= names), None)


# ---- batch output -------------------------------------------------------------------------------------


def _openai(row: Row) -> Iterator[Graded]:
    ids, response = (str(row["custom_id"]),), row["response"]
    if response is None or response.get("status_code", 200) != 200:
        body = (response or {}).get("body") or {}
        yield Graded(ids, reason=_failed(row["error"] or (body.get("error") if isinstance(body, Mapping) else None)))
        return
    body = response["body"]
    for reply, reason in _chats(body["choices"]) if "choices" in body else _responses(body):
        yield _replied(ids, grade_of(reply), reason, body.get("model"))


def _replied(ids: tuple[str, ...], grade: float | None, reason: str, judge: Any) -> Graded:
    return Graded(ids, None if reason else grade, reason or ("" if grade is not None else NO_GRADE), judge)


def _failed(error: Row | None) -> str:
    """The reason of a failure, with its code."""
    code = (error or {}).get("code") or (error or {}).get("type")
    return f"{FAILED} ({code})"[:80] if code else FAILED


def _chats(choices: list[Row]) -> Iterator[tuple[str, str]]:
    """The replies in a chat completion, or the reason why there is none; with n > 1 there are several."""
    for choice in choices:
        message, end = choice["message"], choice.get("finish_reason")
        if message.get("refusal"):
            yield "", REFUSED
        elif end in {"length", "content_filter"}:
            yield "", CUT if end == "length" else FILTERED
        else:
            calls = message.get("tool_calls") or ()
            yield str(message.get("content") or "".join(call["function"]["arguments"] for call in calls)), ""


def _responses(body: Row) -> Iterator[tuple[str, str]]:
    """The reply in the form of /v1/responses, or the reason why there is none."""
    parts = [part for output in body["output"] if output.get("type") == "message" for part in output["content"]]
    if body.get("status") == "incomplete":
        why = (body.get("incomplete_details") or {}).get("reason")
        yield "", FILTERED if why == "content_filter" else CUT
    elif body.get("status") in {"failed", "cancelled"}:
        yield "", _failed(body.get("error"))
    elif any(part.get("type") == "refusal" for part in parts):
        yield "", REFUSED
    else:
        yield "".join(part["text"] for part in parts if part.get("type") == "output_text"), ""


def _anthropic(row: Row) -> Iterator[Graded]:
    ids, result = (str(row["custom_id"]),), row["result"]
    if result["type"] != "succeeded":
        error = result.get("error") or {}
        yield Graded(ids, reason=_failed(error.get("error") or (error if error else {"code": result["type"]})))
        return
    message = result["message"]
    reason = {"max_tokens": CUT, "refusal": REFUSED}.get(message.get("stop_reason"), "")
    inputs = [part["input"] for part in message["content"] if part.get("type") == "tool_use"]
    text = "".join(part["text"] for part in message["content"] if part.get("type") == "text")
    yield _replied(ids, grade_in(inputs) if inputs else grade_of(text), reason, message.get("model"))


# ---- judges of passages -------------------------------------------------------------------------------


def _umbrela(row: Row) -> Iterator[Graded]:
    """A judgment of UMBRELA. An unparsed reply has the judgment 0: a status tells it, or else a reply without a 0."""
    query, item = (_first(row, IDS_OF_TEXTS[name]) for name in ("query", "item"))
    texts = query is None or item is None
    ids = (_text(row["query"]), _text(row["passage"])) if texts else (str(query), str(item))
    grade = number_of(row["judgment"])
    reply = row.get("prediction") or row.get("predition")
    status = row.get("result_status")
    unparsed = number_of(status) == 0 if status is not None else grade == 0 and bool(reply) and "0" not in str(reply)
    reason = UNPARSED if unparsed else EMPTY if grade is None else ""
    yield Graded(ids, None if reason else grade, reason, row.get("model"), texts)


def _answers(_: Row) -> Iterator[Graded]:
    problem = "the rows grade answers (answer_text), not items"
    raise TextError(problem, remedy="give the assignments for retrieval: docid, candidate_text, nuggets")


def _nuggetizer(row: Row) -> Iterator[Graded]:
    """The highest support that a passage gives to a nugget: 1, .5 or 0."""
    assigned = [SUPPORT[found] for nugget in row["nuggets"] if (found := nugget.get("assignment")) in SUPPORT]
    ids = (str(row["qid"]), str(row["docid"]))
    yield Graded(ids, max(assigned)) if assigned else Graded(ids, reason="no nugget is assigned")


# ---- tools of people, where a model took part ---------------------------------------------------------


def _argilla(row: Row) -> Iterator[Graded]:
    ids, texts = _named({**(row["fields"] or {}), **(row.get("metadata") or {})}, str(row.get("id")))
    found = [one for one in (row["suggestions"] or {}).values() if number_of(one.get("value")) is not None]
    _refuse_several(len(found), "suggestions")
    yield from (Graded(ids, number_of(one["value"]), "", one.get("agent"), texts) for one in found)
    if not found:
        yield Graded(ids, reason="no suggestion", texts=texts)


def _label_studio(row: Row) -> Iterator[Graded]:
    ids, texts = _named(row["data"], str(row.get("id")))
    predictions = [one for one in row.get("predictions") or () if isinstance(one, Mapping)]  # others are only ids
    for one in predictions:
        values = [part["value"] for part in one["result"] if part["type"] in {"rating", "number", "choices"}]
        grades = [
            grade for value in values
            if (grade := number_of(value.get("rating", value.get("number", _only(value.get("choices")))))) is not None
        ]  # fmt: skip
        _refuse_several(len(grades), "answers")
        yield Graded(ids, grades[0] if grades else None, "" if grades else EMPTY, one.get("model_version"), texts)
    if not predictions:
        yield Graded(ids, reason="no prediction of a model", texts=texts)


def _potato(row: Row) -> Iterator[Graded]:
    origin, ids = row["annotator_origin"] or {}, (str(row["instance_id"]),)
    if origin.get("kind") not in {"llm", "tool"}:
        yield Graded(ids, reason=PERSON)
        return
    grades = [
        grade for labels in row["labels"].values() if (grade := number_of(_only(list(labels.values())))) is not None
    ]
    _refuse_several(len(grades), "schemes")
    judge = origin.get("model") or row.get("user_id")
    yield Graded(ids, grades[0] if grades else None, "" if grades else EMPTY, judge)


def _named(values: Row, packed: str) -> tuple[tuple[str, ...], bool]:
    """The ids among the values of a row, or else the texts of the query and of the only other text; or `packed`."""
    query, item = (_first(values, (*IDS_OF_TEXTS[name], *OTHER_NAMES[name])) for name in ("query", "item"))
    if query is not None and item is not None:
        return (str(query), str(item)), False
    asked = next((name for name in QUERY_TEXTS if isinstance(values.get(name), str)), None)
    others = [value for name, value in values.items() if isinstance(value, str) and name != asked]
    return ((packed,), False) if asked is None or len(others) != 1 else ((_text(values[asked]), _text(others[0])), True)


def _first(values: Row, names: Collection[str]) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _text(value: Any) -> str:
    """A text as an id: trimmed. Anything else is no text."""
    if not isinstance(value, str):
        raise TypeError
    return value.strip()


def _only(values: Any) -> Any:
    return values[0] if isinstance(values, list) and len(values) == 1 else None


def _refuse_several(count: int, what: str) -> None:
    if count > 1:
        raise TextError(f"{count} {what} are numbers, and which is the grade is not known", remedy="export only one")


TOOLS = (
    Tool("batch output of OpenAI", frozenset({"custom_id", "response", "error"}), _openai),
    Tool("batch output of Anthropic", frozenset({"custom_id", "result"}), _anthropic),
    Tool("UMBRELA", frozenset({"query", "passage", "judgment"}), _umbrela, "0-3"),
    Tool("nuggetizer", frozenset({"qid", "docid", "candidate_text", "nuggets"}), _nuggetizer, "0-1"),
    Tool("nuggetizer", frozenset({"qid", "answer_text", "nuggets"}), _answers, machine=False),
    Tool("Argilla", frozenset({"fields", "responses", "suggestions"}), _argilla, machine=False),
    Tool("Label Studio", frozenset({"data", "annotations", "predictions"}), _label_studio, machine=False),
    Tool("Potato", frozenset({"instance_id", "annotator_origin", "labels"}), _potato, machine=False),
)  # fmt: skip
