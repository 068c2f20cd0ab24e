"""JSON in one piece: nested values (see `layouts`), or a list of rows. Its kind is told by its first megabyte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from endoxa.errors import FileError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.io import faults
from endoxa.io.judge_tools import tool_of
from endoxa.io.layouts import MTEB, Layout, laid_out, model_of
from endoxa.io.limits import refuse_cells
from endoxa.io.list_rows import EXPECTED, Names, names_of_row, spread
from endoxa.io.sources import BOM, LONGEST_HEAD, Source, text_of
from endoxa.later import pl

REMEDY = "name the kind with --run or --qrels (in Python kind='run' or kind='qrels')"
NEITHER = (
    "expected {query: {item: number}}, {query: [item, …]}, {system: {query: {item: score}}}, "
    'or a list of rows like {"query_id": …, "doc_id": …, "score": …}'
)
SHOWN = 8  # keys in an error message
ENVELOPES = {
    "hits", "response", "responses", "result", "results", "data", "root", "items", "documents", "matches", "points",
    "runs", "meta", "metadata", "config", "info", "params", "settings", "summary", "experiments", "evaluations",
    "annotations", "predictions", "queries", "judgments", "test_cases", "testCases",
}  # fmt: skip
DEEPEST = 6  # levels; predictions of MTEB have four


@dataclass(frozen=True)
class Document:
    """What the beginning of a document shows: the columns of its rows, or that it is nested; `sort` of its numbers.

    The sort is that of a layout, or null where every number is. `mteb`: these are predictions of MTEB. `content` is the
    whole document, if its beginning is all of it, and `size` that of its text.
    """

    columns: tuple[str, ...] = ()
    lists: Names | None = None
    sort: str = ""
    mteb: bool = False
    model: str | None = None
    content: list[Any] | Layout | None = None
    size: int = 0


def document_of(source: Source) -> Document:
    """Return what the beginning of a document shows, parsed once; refuse what is neither runs nor judgments."""
    if source.seen.document is None:
        text = source.first.decode("utf-8", "replace")
        is_whole = len(source.first) < LONGEST_HEAD - len(BOM)
        document = _document(source, text, is_whole=is_whole)
        if not is_whole or "\ufffd" in text:  # the reader must see the rest, or say which byte is wrong
            document = replace(document, content=None)
        source.seen.document = document
    found: Document = source.seen.document
    return found


def _document(source: Source, text: str, *, is_whole: bool) -> Document:
    try:
        value = _whole(source, text) if is_whole else _begun(text)
    except RecursionError:
        raise FileError(source.label, "the JSON is nested too deeply", NEITHER) from None
    if isinstance(value, Mapping) and tool_of(value) is not None:
        value = [value]  # a table of one row
    if isinstance(value, list):
        row = value[0] if value else None
        if not isinstance(row, Mapping):
            raise FileError(source.label, "the JSON is a list, but not of rows", NEITHER)
        names = None if tool_of(row) else names_of_row(row, source.label)  # a tool's rows are for their own reader
        return Document(tuple(map(str, row)), names, content=value, size=len(text.encode()))
    if not isinstance(value, Mapping):
        raise FileError(source.label, "the JSON is neither runs nor judgments", NEITHER)
    layout = _understood(source, value)
    numbers = layout.frame["number"]
    sort = "null" if numbers.null_count() == len(numbers) else "run" if layout.listed else layout.sort
    return Document(sort=sort, mteb=MTEB in value, model=model_of(value), content=layout)


def _understood(source: Source, value: Mapping[Any, Any]) -> Layout:
    """Return the rows of a document; refuse answers of search engines and tables of scores, which only look alike."""
    names = ", ".join(str(key) for key in islice(value, SHOWN))
    keys = f"its keys are {names:.200}{', …' if len(value) > SHOWN else ''}"
    try:
        layout = laid_out(value)
    except TableError as error:
        problem = f"the JSON is neither runs nor judgments: {error.problem} ({keys})"
        raise FileError(source.label, problem, NEITHER) from None
    if MTEB in value:
        return layout
    if "system" in layout.frame.columns and not ENVELOPES.isdisjoint(value):
        raise FileError(source.label, f"the JSON is not understood: {keys}", NEITHER)
    for name in ("query", "item"):
        if _are_measures(layout.frame[name].unique(maintain_order=True)):
            what = f"the JSON holds scores of measures, not of items: {keys}"
            raise FileError(source.label, what, f"expected the score or the grade of every item; {NEITHER}")
    return layout


def _are_measures(names: pl.Series) -> bool:
    """Whether all names are measures, such as ndcg@10 and map; one word alone may be the text of a query."""
    from endoxa.measures.grammar import parse

    if len(names) == 1 and "@" not in names[0]:
        return False
    try:
        return all(parse(name) is not None for name in names)
    except TextError:
        return False


def _whole(source: Source, text: str) -> Any:
    """Parse a whole document; refuse it with the line, and an object that has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except TextError as error:
        raise FileError(source.label, error.problem, "remove one of them") from None
    except json.JSONDecodeError as error:
        raise FileError(
            source.label, f"the JSON is damaged: {error.msg}", "write the file again", error.lineno
        ) from None
    except faults.JSON as error:
        raise FileError(source.label, f"the JSON cannot be read ({faults.first_line(error)})", NEITHER) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise TextError(f"an object has the key {twice!r:.60} twice")
    return found


def _begun(text: str) -> Any:
    """The part of a document that is complete in its beginning; the last element of an object or list is left out."""
    return _value(text, _blank(text, 0), json.JSONDecoder(), DEEPEST)[0]


def _value(text: str, at: int, decoder: json.JSONDecoder, depth: int) -> tuple[Any, int | None]:
    """The value at a place and where it ends; of one that does not end, what is complete of it, and None."""
    try:
        return decoder.raw_decode(text, at)
    except (ValueError, IndexError):
        pass
    if text[at : at + 1] not in {"{", "["} or not depth:
        return None, None
    keyed = text[at] == "{"
    pairs: dict[str, Any] = {}
    values: list[Any] = []
    try:
        while True:
            at, key = _blank(text, at + 1), ""
            if keyed:
                key, at = decoder.raw_decode(text, at)
                at = _blank(text, _blank(text, at) + 1)
            value, end = _value(text, at, decoder, depth - 1)
            if value is not None and (end is not None or isinstance(value, dict | list)):
                pairs[key] = value
                values.append(value)
            if end is None:
                break
            at = _blank(text, end)
            if text[at : at + 1] != ",":
                break
    except (ValueError, IndexError):
        pass
    return (pairs if keyed else values), None


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] in {" ", "\t", "\n", "\r"}:
        at += 1
    return at


def rows_of_document(source: Source, kind: str) -> tuple[pl.DataFrame, list[int | None]]:
    """Return the rows of a document: of a run (score), of judgments (grade), or as they stand in a list of rows."""
    document = _complete(source)
    if not isinstance(document.content, Layout):
        return _rows(source, document.content or [], kind, document.size)
    if kind != "run" and "system" in document.content.frame.columns:
        named = "MTEB's predictions" if document.mteb else "runs: {system: {query: {item: score}}}"
        raise FileError(source.label, f"the JSON holds {named}", f"give a file of {kind}")
    return document.content.rows(kind), []


def objects_of_document(source: Source) -> list[Any]:
    """Return the rows of a document that is a list of rows, as they stand; none of any other document."""
    content = _complete(source).content
    return content if isinstance(content, list) else []


def _complete(source: Source) -> Document:
    document = document_of(source)
    return document if document.content is not None else _document(source, text_of(source).decode(), is_whole=True)


def _rows(source: Source, found: list[Any], kind: str, size: int) -> tuple[pl.DataFrame, list[int | None]]:
    """The rows of a list of objects. Texts and numbers stay what they are; anything else becomes JSON text."""
    for number, row in enumerate(found, 1):
        if not isinstance(row, Mapping):
            raise FileError(source.label, f"entry {number} of the list is {row!r:.60}, not an object", EXPECTED)
    names = names_of_row(found[0], source.label) if found else None
    if names is not None:
        return spread(((None, row) for row in found), names, kind, source.label)
    columns = list(dict.fromkeys(name for row in found for name in row))
    refuse_cells(source.label, size, len(found), len(columns))
    frame = pl.DataFrame(
        {name: pl.Series([_text(row.get(name)) for row in found], dtype=pl.String) for name in columns}
    )
    return frame, []


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
