"""Telling files apart by content: 4 columns qrels, 5 sampled or preferences, 6 a run; tables by column names.

A belief has `p`; labels have `category`, a taxonomy has `parent` too; answers have both `rank` and `relevance`, for
`relevance` alone is another name of the grade of a judgment. A taxonomy of paths is not told from other texts. A zip
with bundle.json is a bundle: several tables, which `endoxa.io.bundles` reads.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from endoxa.errors import FileError
from endoxa.io.sources import PARQUET, Source, Where, opened
from endoxa.io.trec_text import QRELS, RUN, SAMPLED, first_columns, is_number, shortened
from endoxa.tables import OTHER_NAMES

Kind = Literal[
    "run",
    "qrels",
    "sampled",
    "opinions",
    "preferences",
    "belief",
    "labels",
    "taxonomy",
    "answers",
    "scores",
    "comparison",
    "evaluation",
    "bundle",
]
Wanted = Literal["auto"] | Kind
Format = Literal["trec", "csv", "tsv", "jsonl", "json", "parquet"]

# a table is of this kind if it has these columns; the first two say what a list or a judgment needs
COLUMNS: dict[Kind, tuple[str, ...]] = {
    "run": ("query", "item", "score"),
    "opinions": ("query", "item", "grade"),
    "preferences": ("query", "group", "subgroup", "item", "level"),
    "belief": ("query", "item", "p"),
    "labels": ("item", "category"),
    "taxonomy": ("category", "parent"),
    "answers": ("query", "item", "rank", "relevance"),
    "scores": ("system", "query", "measure", "value"),
    "comparison": ("measure", "system", "baseline", "difference"),
}
COLUMN_NAMES = {name for columns in COLUMNS.values() for name in columns}
TABLES_ONLY = {"belief", "labels", "answers"}  # these have no plain text
ZIP = b"PK\x03\x04"
ZIP_FAULTS = (zipfile.BadZipFile, NotImplementedError, OSError, ValueError)  # what a damaged directory raises
EVALUATION = b"endoxa-evaluation"
MANIFEST = "bundle.json"  # the member that makes a zip a bundle
SEPARATORS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
REMEDY = "say which it is: --run or --qrels (in Python kind='run' or kind='qrels')"


@dataclass(frozen=True)
class Look:
    """What a glance at a file says: which table, and in which format."""

    kind: Kind
    format: Format


def sniff(where: Where) -> Kind:
    """Which table a file holds. A glance: that all of it can be read is for `read` to find out."""
    with opened(where) as source:
        return "bundle" if _holds_bundle(source) else look(source).kind


def _holds_bundle(source: Source) -> bool:
    """Whether it is a zip with a manifest. Another zip is none of ours: its files may be."""
    if source.magic() != ZIP:
        return False
    try:
        with zipfile.ZipFile(source.path) as archive:
            if MANIFEST in archive.namelist():
                return True
    except ZIP_FAULTS:
        raise FileError(source.label, "is not a whole zip", "fetch or make it again") from None
    raise FileError(source.label, f"is a zip without {MANIFEST}", "unpack it and name the files in it")


def look(source: Source, wanted: Wanted = "auto") -> Look:
    """Kind and format of a file; `wanted` decides where the content leaves a choice."""
    if _holds_bundle(source):
        raise FileError(source.label, "is a bundle of several tables", "score runs against it: endoxa eval")
    if source.magic() == PARQUET:
        columns = _parquet_columns(source)  # refuses a damaged file
        if "endoxa.evaluation" in pl.read_parquet_metadata(source.path):
            return Look("evaluation", "parquet")
        return Look(kind_of(columns, source.label, wanted), "parquet")
    head = source.head()
    if head.lstrip().startswith(b"{") and EVALUATION in head[:80]:
        return Look("evaluation", "json")
    words = first_columns(head)
    if words is None:
        remedy = REMEDY if wanted == "auto" else f"expected {_expected(wanted)}"
        raise FileError(source.label, "is empty" if not head.strip() else "holds comments only", remedy)
    line = head.lstrip(b" \t\r\n").split(b"\n", 1)[0]
    if line.startswith(b"{") and ((names := _json_names(line)) or ".jsonl" in source.path.suffixes):
        return Look(kind_of(names, source.label, wanted), "jsonl")
    for form, separator in SEPARATORS.items():
        names = _header(line, separator)
        if len(names) > 1 and len(known(names) & COLUMN_NAMES) > 1:
            return Look(kind_of(names, source.label, wanted), form)
    return Look(_text_kind(words, source, wanted), "trec")


def kind_of(names: Iterable[str], label: str, wanted: Wanted = "auto") -> Kind:
    """The kind of table that has these columns; the file is to blame if there is none, or more than one."""
    names = list(names)
    asked = "opinions" if wanted in {"qrels", "sampled"} else wanted
    kinds = kinds_of(names) if asked == "auto" else _possible(names, asked)
    if asked != "auto" and (asked in kinds or not kinds):
        return asked  # if columns are missing, the table says which
    if len(kinds) == 1 and asked == "auto":
        return kinds[0]
    columns = f"the columns are {', '.join(names) or '(none)'}"
    if asked != "auto":
        raise FileError(label, f"not {asked} but {' or '.join(kinds)}: {columns}", "give a file of that kind")
    if kinds:
        raise FileError(label, f"may be {' or '.join(kinds)}: {columns}", REMEDY)
    needed = "; ".join(f"{kind}: {', '.join(columns)}" for kind, columns in COLUMNS.items())
    raise FileError(label, f"no table known by these columns: {', '.join(names) or '(none)'}", f"expected {needed}")


def kinds_of(names: Iterable[str]) -> list[Kind]:
    """The kinds of table that these columns may be meant as: none, one, or several that nothing tells apart."""
    names = known(names)
    found = {kind for kind, columns in COLUMNS.items() if set(columns) <= names}
    if "run" in found:
        found -= {"belief", "answers"}  # a p or a relevance beside a score was joined to the run
    if found & {"belief", "answers"}:
        found.discard("opinions")  # a belief may have grades, and relevance is another name of the grade
    for common in ("labels", "taxonomy"):  # any table may say in which category an item lies
        if len(found) > 1:
            found.discard(common)
    return [kind for kind in COLUMNS if kind in found]


def _possible(names: Iterable[str], asked: Kind) -> list[Kind]:
    """The kinds that can be made of these columns. If answers are asked for, their order is enough, by any name."""
    names = known(names)
    kinds = [kind for kind, columns in COLUMNS.items() if set(columns) <= names]
    ordered = {"query", "item"} <= names and not names.isdisjoint({"rank", "relevance", "grade"})
    return [*kinds, asked] if asked == "answers" and ordered else kinds


def known(names: Iterable[str]) -> set[str]:
    """The columns by the names used here."""
    names = set(names)
    return names | {ours for ours, others in OTHER_NAMES.items() if not names.isdisjoint(others)}


def _expected(kind: Kind) -> str:
    """What a file of this kind holds."""
    if kind in {"run", "qrels", "sampled", "opinions"}:
        return f"lines of {(RUN if kind == 'run' else QRELS).words}"
    paths = ", or lines like animals/birds/owls" if kind == "taxonomy" else ""
    return f"a table with the columns {', '.join(COLUMNS[kind])}{paths}"


def _text_kind(words: list[str], source: Source, wanted: Wanted) -> Kind:
    if wanted == "taxonomy":
        return "taxonomy"  # a path per line
    if wanted in TABLES_ONLY or (wanted in {"scores", "comparison", "opinions"} and len(words) not in {4, 5}):
        raise FileError(
            source.label, f"begins with {shortened(' '.join(words))}", f"expected a table of {wanted} with a header"
        )
    sampled = len(words) == 5 and is_number(words[2]) and is_number(words[4])
    if wanted in {"run", "sampled", "preferences"}:
        return wanted
    if wanted in {"qrels", "opinions"}:
        return "sampled" if sampled else "qrels"
    if sampled:
        return "sampled"
    if len(words) == 5 and is_number(words[4]):
        return "preferences"
    if len(words) == 4:  # if the last is not a number, the reader says so, with its line
        return "qrels"
    if len(words) == 6 or (len(words) > 6 and is_number(words[4])):
        return "run"
    forms = "; ".join(f"{form.name}: {form.words}" for form in (RUN, QRELS, SAMPLED))
    raise FileError(
        source.label, f"neither run nor qrels: the first line is {shortened(' '.join(words))}", f"expected {forms}"
    )


def _header(line: bytes, separator: str) -> list[str]:
    """The names in the first line, if it is a header in this format."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    try:
        return next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error:
        return []


def _json_names(line: bytes) -> list[str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(row) if isinstance(row, dict) else []


def _parquet_columns(source: Source) -> list[str]:
    try:
        return list(pl.read_parquet_schema(source.path))
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
        raise damaged(source, "Parquet", error) from None


def damaged(source: Source, what: str, error: BaseException) -> FileError:
    """A FileError for data that Polars cannot read."""
    return FileError(source.label, f"damaged {what} data ({first_line(error)})", "write or copy the file again")


def first_line(error: BaseException) -> str:
    """What Polars says, in short."""
    return str(error).strip().split("\n", 1)[0][:80]
