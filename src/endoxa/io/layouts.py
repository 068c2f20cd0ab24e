"""Nested values, of JSON or of Python, as rows: {query: {item: number}}, {query: [item, …]}, and deeper ones.

    {query: {item: number}}                         a run or judgments: the numbers tell, as far as they can
    {system: {query: {item: score}}}                runs
    {query: [item, …]}                              a run in order of rank; entries may be [item, score] or objects
    {mteb_model_meta: …, subset: {split: {query: {item: score}}}}   predictions of MTEB, from release 2 on

Numbers are grades if they are whole, few and small, and scores if they are neither. What may be both is told to be so,
and the caller must say which: a run that is taken for judgments gives a wrong number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import floor, isfinite
from typing import Any, Literal

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.tables import OTHER_NAMES, grades_of

Sort = Literal["run", "qrels", "either"]
MTEB = "mteb_model_meta"
FORMS = "{query: {item: number}}, {query: [item, …]} or {system: {query: {item: score}}}"
GRADES = 8  # a scale of judgments has at most so many grades,
LOWEST, HIGHEST = -3, 10  # and they lie within these
NUMBERS = {
    "score": ("score", *OTHER_NAMES["score"]), "grade": ("grade", *OTHER_NAMES["grade"]), "rank": ("rank",),
}  # fmt: skip
NUMBER_OF = {"run": "score", "belief": "p"}  # the column of the numbers; else grade
ITEMS = ("item", *OTHER_NAMES["item"], "_id", "id")
OWN = ("query", *OTHER_NAMES["query"])  # an entry with one of them is a row, and not part of the list of a query
# Keys of exports that hold lists. If every key of a dict is one, none of them is a query.
PLURALS = frozenset(
    "annotations answers candidates data docs documents entries examples hits images items objects outputs predictions "
    "qrels queries ranking records responses results retrieved rows runs samples tasks".split()
)


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows of a nested value: system (if it is named), query, item, number; `listed`: the order is all there is."""

    frame: pl.DataFrame
    sort: Sort
    listed: bool = False

    def rows(self, kind: str) -> pl.DataFrame:
        """The rows as a run, judgments or a belief; listed items have the score 1/rank, or the grade 1."""
        certain = self.listed and kind != "run"
        frame = self.frame.with_columns(pl.lit(1.0).alias("number")) if certain else self.frame
        return frame.rename({"number": NUMBER_OF.get(kind, "grade")})


def laid_out(value: Mapping[Any, Any]) -> Layout:
    """Return the rows of a nested value; a TableError says where it is not as expected. Empty parts give no row."""
    if MTEB in value:
        return _mteb(value)
    systems, queries, items, numbers = [], [], [], []
    depths: set[str] = set()
    _refuse_export(value)
    for outer, inner in value.items():
        depth, parts = _parts(outer, inner)
        depths |= depth
        if len(depths) > 1:
            raise TableError("the dict mixes several forms", remedy=f"use one throughout: {FORMS}")
        for system, query, names, values in parts:
            systems += [system] * len(names)
            queries += [query] * len(names)
            items += names
            numbers += values
    if not items:
        raise TableError("the dict is empty", remedy=f"expected {FORMS}")
    columns = {"query": queries, "item": items}
    frame = pl.DataFrame(({"system": systems} if depths == {"systems"} else {}) | columns).with_columns(
        _column(numbers)
    )
    if depths == {"listed"}:
        return Layout(frame, "either", listed=True)
    if depths & {"systems", "scored"}:
        return Layout(frame, "run")
    return Layout(frame, "qrels" if depths == {"graded"} else sort_of(frame, any(map(_is_float, numbers))))


def _refuse_export(value: Mapping[Any, Any]) -> None:
    """Refuse a dict whose keys are no queries: the lists of an export, or lists of rows that name a query each."""
    lists = {key: inner for key, inner in value.items() if isinstance(inner, list | tuple) and inner}
    flat = [
        inner for inner in value.values() if isinstance(inner, Mapping) and not any(map(_is_nested, inner.values()))
    ]
    if len(lists) + len(flat) == len(value) and value and all(str(key).lower() in PLURALS for key in value):
        names = ", ".join(map(str, value))
        raise TableError(
            f"{names:.200} {'is the name of a list' if len(value) == 1 else 'are names of lists'}, not of a query",
            remedy=f"expected {FORMS}; or save the list alone, as rows with a query and an item",
        )
    for key, entry in ((key, entry) for key, inner in lists.items() for entry in inner if isinstance(entry, Mapping)):
        if (own := next((name for name in OWN if name in entry), None)) is not None:
            raise TableError(
                f"{key!r:.60}: an entry of the list names a query of its own ({own})",
                remedy="save the list alone, as rows with a query and an item",
            )


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


Part = tuple[str, str, list[str], list[Any]]


def _parts(outer: Any, inner: Any) -> tuple[set[str], list[Part]]:
    """What lies below a key, and which form that is: a list, numbers, or queries of a system. Empty: no form."""
    if isinstance(inner, list | tuple):
        names, numbers, form = entries(inner, f"query {outer!r:.60}")
        return {form} if names else set(), [("", str(outer), names, numbers)]
    if not isinstance(inner, Mapping):
        raise TableError(f"{outer!r:.60}: {inner!r:.60} is not a dict", remedy=f"expected {FORMS}")
    if any(isinstance(end, Mapping | list | tuple) for end in inner.values()):
        parts = []
        for query, end in inner.items():
            if isinstance(end, list | tuple):
                names, numbers, _ = entries(end, f"query {query!r:.60}")
            elif isinstance(end, Mapping):
                names, numbers = [str(item) for item in end], list(end.values())
            else:
                raise TableError(
                    f"the dict mixes several forms below {outer!r:.60}", remedy=f"use one throughout: {FORMS}"
                )
            parts.append((str(outer), str(query), names, numbers))
        return {"systems"}, parts
    names = [str(item) for item in inner]
    return {"numbers"} if names else set(), [("", str(outer), names, list(inner.values()))]


def entries(found: Sequence[Any], where: str) -> tuple[list[str], list[Any], str]:
    """Items and numbers of a list, and its form: `listed` (1/rank), `scored` or `graded`.

    An entry is an item, a pair [item, number], or an object with an item and a score, a grade or a rank.
    """
    if all(isinstance(entry, str | int | float) and not isinstance(entry, bool) for entry in found):
        return [_name(entry, where) for entry in found], [1 / rank for rank in range(1, len(found) + 1)], "listed"
    if all(isinstance(entry, list | tuple) and len(entry) == 2 for entry in found):
        return [_name(item, where) for item, _ in found], [number for _, number in found], "scored"
    if not all(isinstance(entry, Mapping) for entry in found):
        raise TableError(f"{where}: the list mixes several forms", remedy="expected items, [item, score] or objects")
    named = next((name for name in ITEMS if found and all(name in entry for entry in found)), None)
    if named is None:
        keys = ", ".join(map(str, dict.fromkeys(key for entry in found for key in entry)))
        raise TableError(
            f"{where}: no key names the item in every entry",
            remedy=f"expected one of {', '.join(ITEMS)}, not {keys:.200}",
        )
    items = [_name(entry[named], where) for entry in found]
    for meaning, names in NUMBERS.items():
        if (key := next((name for name in names if all(name in entry for entry in found)), None)) is not None:
            numbers = [entry[key] for entry in found]
            if meaning == "rank":
                numbers = [_inverse(number, where) for number in numbers]
            return items, numbers, "graded" if meaning == "grade" else "scored"
    if any(name in entry for entry in found for names in NUMBERS.values() for name in names):
        raise TableError(f"{where}: some entries have a score and others have none", remedy="give every entry one")
    return items, [1 / rank for rank in range(1, len(found) + 1)], "listed"


def _name(item: Any, where: str) -> str:
    if item is None or isinstance(item, bool | list | tuple | Mapping):
        raise TableError(f"{where}: {item!r:.60} is not the name of an item", remedy="expected a text or a number")
    return str(item)


def _inverse(rank: Any, where: str) -> float:
    try:
        number = float(rank)
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if not number >= 1:
        raise TableError(
            f"{where}: rank {rank!r:.60} is not a number from 1 on", remedy="expected the rank of the item"
        )
    return 1 / number


def _is_finite(number: Any) -> bool:
    """Whether it is a plain number that a float can hold."""
    try:
        return type(number) in {int, float} and isfinite(number)
    except OverflowError:
        return False


def _is_float(number: Any) -> bool:
    return isinstance(number, float)


def _column(numbers: list[Any]) -> pl.Series:
    """The numbers as floats, words of grades among them; a text that is no number is refused by the table."""
    try:
        return pl.Series("number", [None if value is None else float(value) for value in numbers], dtype=pl.Float64)
    except (TypeError, ValueError, OverflowError):
        pass
    for value in numbers:
        if not (value is None or isinstance(value, str | int | float)):
            raise TableError(f"{value!r:.60} is not a number", remedy=f"expected {FORMS}")
    texts = pl.Series("number", [None if value is None else str(value) for value in numbers], dtype=pl.String)
    grades = grades_of(texts)
    unread = (grades.is_null() & texts.is_not_null()).arg_true()
    if len(unread):
        raise TableError(f"{texts[int(unread[0])]!r:.60} is not a number", remedy=f"expected {FORMS}")
    return grades.alias("number")


def sort_of(frame: pl.DataFrame, floats: bool) -> Sort:
    """Whether the numbers of a run or of judgments are scores or grades; `either` if they may be both."""
    numbers = frame["number"].drop_nulls()
    if numbers.is_empty():
        return "qrels"
    lists = frame.group_by("query").agg(pl.len(), pl.col("number").n_unique().alias("distinct"), pl.col("number").min())
    tied = not (lists["len"] == lists["distinct"]).all()
    return _sort(
        count=len(numbers), distinct=numbers.n_unique(), tied=tied, floats=floats,
        whole=bool(((numbers == numbers.floor()) & numbers.is_finite()).all()),
        near=bool(numbers.is_between(LOWEST, HIGHEST).all()),
        ranking=not tied and bool((lists["number"] > 0).all() and (lists["len"] > 2).any()),
    )  # fmt: skip


def looks_scored(values: Mapping[Any, Any]) -> bool:
    """Whether the first list of {query: {item: number}} alone has more different numbers than grades have."""
    inner = next(iter(values.values()), None)
    if type(inner) is not dict or len(inner) <= GRADES:
        return False
    numbers = list(islice(inner.values(), 2 * GRADES))
    return all(map(_is_finite, numbers)) and len({*numbers}) > GRADES


def sort_of_numbers(values: Mapping[Any, Any]) -> Sort | None:
    """The same of a plain dict {query: {item: number}}, without a frame; None where it is not quite plain."""
    lists = []
    for query, inner in values.items():
        if type(query) is not str or type(inner) is not dict:
            return None
        numbers = list(inner.values())
        if not numbers or not all(map(_is_finite, numbers)):
            return None
        lists.append(numbers)
    every = [number for numbers in lists for number in numbers]
    if not every:
        return None
    tied = any(len(set(numbers)) < len(numbers) for numbers in lists)
    return _sort(
        count=len(every), distinct=len(set(every)), tied=tied, floats=any(map(_is_float, every)),
        whole=all(number == floor(number) for number in every), near=LOWEST <= min(every) <= max(every) <= HIGHEST,
        ranking=not tied and min(every) > 0 and any(len(numbers) > 2 for numbers in lists),
    )  # fmt: skip


def _sort(*, count: int, distinct: int, tied: bool, floats: bool, whole: bool, near: bool, ranking: bool) -> Sort:
    """What numbers are.

    tied     a number recurs within a query
    whole    all are whole
    near     all lie where grades do
    ranking  they may order the items of a query: they differ, are above 0, and some query has more than two
    """
    if not whole:  # fractional grades are few values that recur
        return "either" if tied and distinct <= GRADES and count >= 2 * distinct else "run"
    if distinct > GRADES or not near:
        return "run"
    return "either" if floats or ranking else "qrels"


# ---- MTEB ---------------------------------------------------------------------------------------------


def model_of(value: Mapping[Any, Any]) -> str | None:
    """The name of the model in predictions of MTEB, if they name it."""
    meta = value.get(MTEB)
    name = meta.get("model_name") if isinstance(meta, Mapping) else None
    return str(name) if name else None


def _mteb(value: Mapping[Any, Any]) -> Layout:
    parts = dict(_subsets(value))
    if not parts:
        raise TableError(
            "the predictions of MTEB are empty", remedy="expected {subset: {split: {query: {item: score}}}}"
        )
    frames, owner = [], dict[str, str]()
    for name, queries in parts.items():
        if not isinstance(queries, Mapping):
            raise TableError(
                f"{name}: these predictions are not those of retrieval", remedy="expected {query: {item: score}}"
            )
        layout = laid_out(queries)
        if "system" in layout.frame.columns:
            raise TableError(f"{name}: expected {{query: {{item: score}}}}, found one level more")
        for query in layout.frame["query"].unique(maintain_order=True):
            if query in owner:
                raise TableError(
                    f"query {query!r:.60} is in {owner[query]} and in {name}",
                    remedy="keep one subset and split in the file",
                )
            owner[query] = name
        frames.append(layout.frame)
    system = model_of(value)
    frame = pl.concat(frames)
    return Layout(frame if system is None else frame.select(pl.lit(system).alias("system"), pl.all()), "run")


def _subsets(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for subset, splits in value.items():
        if subset == MTEB:
            continue
        if not isinstance(splits, Mapping):
            raise TableError(f"{subset!r:.60} is not {{split: {{query: {{item: score}}}}}}, as MTEB writes predictions")
        for split, queries in splits.items():
            yield f"{subset}/{split}", queries
