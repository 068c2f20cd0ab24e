"""Queries and items where the files of machine judges name none: packed ids, and texts.

An id such as `q1|d7` is split where one separator splits all ids of the file into exactly two parts. Texts are looked
up in tables of queries and items (query,text and item,text), or in the request file of UMBRELA.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.io.judge_tools import Row
from endoxa.tables import OTHER_NAMES
from endoxa.tables.checks import IDS_OF_TEXTS

Pair = tuple[str, str]
# Separators that names rarely hold come first; a later group counts only if none of the earlier splits all ids.
SEPARATORS = (
    ("|", "||", ":::", "::", "__", "\t", "##", "@@", "->", "=>"),
    (":", "/", ";", ",", "#", "@", " "),
    ("_", "-"),
)
REMEDY = "name every request QUERY|ITEM, or give a table custom_id,query,item beside the file"
UNKNOWN, SEVERAL = "the text is not known", "several have the same text"
UNLISTED = "the id is not in the table of ids"


@dataclass(frozen=True)
class Requests:
    """What was asked for, in the order of the requests: ids and texts of each pair."""

    pairs: tuple[Pair, ...]
    texts: tuple[Pair, ...]

    @classmethod
    def joined(cls, parts: Sequence[Requests]) -> Requests:
        """Those of several files."""
        return cls(
            tuple(pair for one in parts for pair in one.pairs), tuple(text for one in parts for text in one.texts)
        )


@dataclass(frozen=True)
class Pairs:
    """What tells the ids: pairs by their packed id, ids by their text (None if several have it), requests."""

    packed: Mapping[str, Pair] | None = None
    queries: Mapping[str, str | None] | None = None
    items: Mapping[str, str | None] | None = None
    requests: Requests | None = None

    def of(self, named: Sequence[tuple[tuple[str, ...], bool]], label: str) -> list[Pair | str]:
        """Return query and item of each row, or the reason why they are not known.

        A row names its pair by query and item, by one id that packs both, or (True) by the texts of both.
        """
        ids = [ids[0] for ids, _ in named if len(ids) == 1]
        listed = self.packed is not None and any(one in self.packed for one in ids)
        packed = self.packed if self.packed is not None and listed else split(ids, label) if ids else {}
        texts = iter(self._of_texts([(ids[0], ids[1]) for ids, are_texts in named if are_texts], label))
        return [
            next(texts) if are_texts else packed.get(ids[0], UNLISTED) if len(ids) == 1 else (ids[0], ids[1])
            for ids, are_texts in named
        ]

    def unnamed(self, are_texts: Iterable[bool]) -> list[str]:
        """What has its text for an id: queries, items."""
        if self.requests is not None or not any(are_texts):
            return []
        return [name for name, known in (("queries", self.queries), ("items", self.items)) if known is None]

    def _of_texts(self, texts: Sequence[Pair], label: str) -> list[Pair | str]:
        if self.requests is not None:
            return _requested(texts, self.requests, label)
        found: list[Pair | str] = []
        for query, item in texts:
            one = query if self.queries is None else self.queries.get(query, "")
            other = item if self.items is None else self.items.get(item, "")
            found.append(SEVERAL if one is None or other is None else (one, other) if one and other else UNKNOWN)
        return found


def split(ids: Iterable[str], label: str) -> dict[str, Pair]:
    """Return query and item of packed ids; refuse them unless one separator splits each into exactly two parts."""
    ids = list(dict.fromkeys(ids))
    for group in SEPARATORS:
        found = {sign: parts for sign in group if (parts := _split(ids, sign)) is not None}
        if len(found) > 1:
            signs = " and ".join(map(repr, found))
            raise FileError(label, f"the ids, such as {ids[0]!r:.60}, can be split at {signs}", REMEDY)
        if found:
            return next(iter(found.values()))
    problem = f"no separator splits every id, such as {ids[0]!r:.60}, into a query and an item"
    raise FileError(label, problem, REMEDY)


def _split(ids: Sequence[str], sign: str) -> dict[str, Pair] | None:
    """The parts of all ids; None if some has not exactly two. A separator is not part of a longer run of its sign."""
    mark = re.escape(sign)
    alone = re.compile(f"(?<!{re.escape(sign[0])}){mark}(?!{re.escape(sign[-1])})")
    found: dict[str, Pair] = {}
    for one in ids:
        parts = alone.split(one)
        if len(parts) != 2 or not all(part.strip() for part in parts):
            return None
        found[one] = (parts[0], parts[1])
    return found


def named_by_texts(place: Path, name: str) -> dict[str, str | None]:
    """Return the ids of queries or items by their texts; None for a text that several have."""
    from endoxa.io.study_files import rows_shown

    found: dict[str, str | None] = {}
    for identity, text, _ in rows_shown(place, name):
        key = (text or "").strip()
        if key:
            found[key] = identity if key not in found or found[key] == identity else None
    if not found:
        raise FileError(str(place), f"no {name} has a text", f"expected the columns {name} and text")
    return found


def requests_of(rows: Iterable[Row]) -> Requests:
    """Return the pairs of UMBRELA's request file: {"query": {qid, text}, "candidates": [{docid, doc: {segment}}]}."""
    pairs, texts = [], []
    for row in rows:
        query, asked = str(_of(row["query"], "query")), str(row["query"].get("text", "")).strip()
        for candidate in row["candidates"]:
            shown = candidate.get("doc") or {}
            text = (
                shown
                if isinstance(shown, str)
                else next(
                    (shown[key] for key in ("segment", "text", "contents", "body", "passage") if shown.get(key)), ""
                )
            )
            pairs.append((query, str(_of(candidate, "item"))))
            texts.append((asked, str(text).strip()))
    return Requests(tuple(pairs), tuple(texts))


def _of(values: Mapping[str, Any], name: str) -> Any:
    """The id in an object; a KeyError if it has none."""
    names = (*IDS_OF_TEXTS[name], *OTHER_NAMES[name], "_id", "id")
    return values[next((one for one in names if one in values), names[0])]


def _requested(texts: Sequence[Pair], requests: Requests, label: str) -> list[Pair | str]:
    """The pairs by their texts, or, where the answers have other texts, in the order of the requests.

    Where several requests have the same texts, answers with these texts go to them in turn.
    """
    known: dict[Pair, list[Pair]] = defaultdict(list)
    for pair, text in zip(requests.pairs, requests.texts, strict=True):
        known[text].append(pair)
    in_order = len(texts) == len(requests.pairs) and all(
        one[0] == other[0] for one, other in zip(texts, requests.texts, strict=True)
    )
    if any(text not in known for text in texts):
        if in_order:
            return list(requests.pairs)
        if not any(text in known for text in texts):
            problem = "no text is among those of the request file, and their numbers differ"
            raise FileError(label, problem, "give the request file that these answers belong to")
    turn: dict[Pair, int] = defaultdict(int)
    found: list[Pair | str] = []
    for text in texts:
        pairs = known.get(text)
        found.append(UNKNOWN if not pairs else pairs[turn[text] % len(pairs)])
        turn[text] += 1
    return found
