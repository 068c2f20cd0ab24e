"""Rows that hold the whole list of a query: {"query_id": …, "results": […]}, and those of RAGAS.

A row of RAGAS has what was retrieved and what should have been (`retrieved_context_ids`, `reference_context_ids`), so
that a file of them is a run and judgments at once. Lists are in order of rank; their entries may have scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from endoxa.errors import FileError, TableError
from endoxa.frozen import dataclass
from endoxa.io.layouts import entries
from endoxa.later import pl
from endoxa.tables import OTHER_NAMES

RETRIEVED = (
    "retrieved_context_ids", "retrieved_ids", "retrieved_doc_ids", "retrieved_docs", "retrieved", "results", "hits",
    "ranking", "ranked_list", "docs", "documents", "candidates", "predictions",
)  # fmt: skip
RELEVANT = (
    "reference_context_ids", "reference_ids", "relevant_ids", "relevant_doc_ids", "relevant_docs", "relevant",
    "expected_ids", "ground_truth_ids", "gold_ids", "positive_ids", "positives", "qrels",
)  # fmt: skip
# The name of a query, or else its text. Any row may have a bare id: it names a query only beside a list of SURE names.
QUERIES = (*OTHER_NAMES["query"], "_id", "id", "query", "user_input", "question")
BARE = ("_id", "id")
SURE = {*RETRIEVED[:4], *RELEVANT}
SYSTEMS = ("system", *OTHER_NAMES["system"])
EXPECTED = 'expected rows like {"query_id": "q1", "results": ["d3", "d1"]}'
# Rows of other tools: what they look like, and what they are.
FOREIGN = {
    ("data", "annotations"): "tasks of Label Studio",
    ("data", "predictions"): "tasks of Label Studio",
    ("ranking", "teams"): "a log of interleaving",
}
Held = Literal["run", "qrels", "both"]


@dataclass(frozen=True)
class Names:
    """The names of the columns: the query, what was retrieved, what is relevant, the system."""

    query: str
    retrieved: str | None
    relevant: str | None
    system: str | None

    @property
    def held(self) -> Held:
        """What the rows hold."""
        return "both" if self.retrieved and self.relevant else "run" if self.retrieved else "qrels"


def names_of(columns: Iterable[str], lists: Iterable[str]) -> Names | None:
    """The columns of rows with lists; None if these are no such rows. `lists` are the columns that hold lists."""
    columns, lists = list(columns), set(lists)
    named = [name for name in QUERIES if name in columns and (name not in BARE or lists & SURE)]
    query = named[0] if named else None
    retrieved = next((name for name in RETRIEVED if name in lists), None)
    relevant = next((name for name in RELEVANT if name in lists), None)
    if query is None or not (retrieved or relevant):
        return None
    system = next((name for name in SYSTEMS if name in columns and name not in lists), None)
    return Names(query, retrieved, relevant, system)


def names_of_row(row: Mapping[str, Any], label: str = "<rows>") -> Names | None:
    """The columns of rows with lists, by the first row; rows of other tools that only look alike are refused."""
    refuse_foreign(row, label)
    return names_of(row, [name for name, value in row.items() if isinstance(value, list | tuple | dict)])


def refuse_foreign(columns: Collection[Any], label: str) -> None:
    """Refuse rows of other tools by the names of their columns."""
    for signs, tool in FOREIGN.items():
        if all(sign in columns for sign in signs):
            what = f"the rows are {tool}, which are not understood: their keys are {', '.join(map(str, columns)):.200}"
            raise FileError(label, what, EXPECTED)


def spread(
    rows: Iterable[tuple[int | None, Mapping[str, Any]]], names: Names, kind: str, label: str
) -> tuple[pl.DataFrame, list[int | None]]:
    """Return one row per item of a run (score) or of judgments (grade), and the line of each.

    A row whose list is missing or empty gives no row: a system may find nothing, and a query may have no judgment.
    """
    wanted = names.retrieved if kind == "run" else names.relevant
    if wanted is None:
        what = "the rows hold no list of what was retrieved" if kind == "run" else "the rows hold no list of judgments"
        other = RETRIEVED if kind == "run" else RELEVANT
        raise FileError(label, what, f"expected one of the columns {', '.join(other)}")
    number = "score" if kind == "run" else "grade"
    columns: dict[str, list[Any]] = {"system": [], "query": [], "item": [], number: []}
    lines: list[int | None] = []
    for line, row in rows:
        query, system, found = row.get(names.query), row.get(names.system or ""), row.get(wanted)
        if query is None or isinstance(query, list | dict):
            raise FileError(label, f"the row has no {names.query}", EXPECTED, line)
        if isinstance(found, dict):
            found = [list(pair) for pair in found.items()]
        if not isinstance(found, list | tuple | None):
            raise FileError(label, f"{wanted} is {found!r:.60}, not a list", EXPECTED, line)
        try:
            items, numbers, form = entries(list(found or []), f"query {query!r:.60}")
        except TableError as error:
            raise FileError.of(error, label, line) from None
        if form == "listed" and kind != "run":
            numbers = [1.0] * len(items)
        columns["system"] += [None if system is None else str(system)] * len(items)
        columns["query"] += [str(query)] * len(items)
        columns["item"] += items
        columns[number] += [None if value is None else str(value) for value in numbers]
        lines += [line] * len(items)
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return frame if names.system and kind == "run" else frame.drop("system"), lines
