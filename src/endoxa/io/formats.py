"""Recognises files by content: 4 columns are qrels, 5 sampled qrels or preferences, 6 a run; tables by column names.

Answers have both `rank` and `relevance`, because `relevance` alone is another name for the grade of a judgment. A
taxonomy of paths is not recognised: the caller must ask for it. A zip with bundle.json is a bundle of several tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from endoxa.errors import FileError
from endoxa.io import faults
from endoxa.io.faults import first_line
from endoxa.io.sources import PARQUET, Source, Where, opened
from endoxa.io.trec_text import QRELS, RUN, SAMPLED, first_columns, is_number, refuse_cr, shortened
from endoxa.later import pl
from endoxa.tables import OTHER_NAMES

Kind = Literal[
    "run", "qrels", "sampled", "opinions", "preferences", "belief", "labels", "taxonomy", "answers", "scores",
    "comparison", "evaluation", "bundle",
]  # fmt: skip
Wanted = Literal["auto"] | Kind
Format = Literal["trec", "csv", "tsv", "jsonl", "json", "parquet"]

# A table is of this kind if it has these columns.
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
TABLES_ONLY = {"belief", "labels", "answers"}  # these kinds have no TREC text
ZIP = b"PK\x03\x04"
EVALUATION = b"endoxa-evaluation"
MANIFEST = "bundle.json"  # the member that makes a zip a bundle
SEPARATORS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
FORMATS: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
REMEDY = "name the kind with --run or --qrels (in Python kind='run' or kind='qrels')"


@dataclass(frozen=True)
class Look:
    """The kind and the format of a file, as far as its first lines show."""

    kind: Kind
    format: Format


def sniff(where: Where) -> Kind:
    """Return the kind of table in a file. Only the first lines are examined; `read` checks the rest."""
    with opened(where) as source:
        return "bundle" if _holds_bundle(source) else look(source).kind


def _holds_bundle(source: Source) -> bool:
    """Whether the file is a zip with a manifest. Any other zip is refused."""
    if source.magic() != ZIP:
        return False
    import zipfile

    try:
        with zipfile.ZipFile(source.path) as archive:
            if MANIFEST in archive.namelist():
                return True
    except faults.ZIP:
        raise FileError(source.label, "the zip is damaged or incomplete", "download or create it again") from None
    raise FileError(source.label, f"the zip has no member {MANIFEST}", "unpack it and give the files in it")


def look(source: Source, wanted: Wanted = "auto") -> Look:
    """Return the kind and format of a file; `wanted` decides where the content is ambiguous."""
    if _holds_bundle(source):
        remedy = "score runs against it with endoxa eval"
        raise FileError(source.label, "the file is a bundle of several tables", remedy)
    if source.magic() == PARQUET:
        try:
            columns, metadata = list(pl.read_parquet_schema(source.path)), pl.read_parquet_metadata(source.path)
        except faults.PARQUET as error:
            raise damaged(source, "Parquet", error) from None
        if "endoxa.evaluation" in metadata:
            return Look("evaluation", "parquet")
        return Look(kind_of(columns, source.label, wanted), "parquet")
    head = source.head()
    if head.lstrip().startswith(b"{") and EVALUATION in head[:80]:
        return Look("evaluation", "json")
    words = first_columns(head)
    if words is None:
        what = "the file contains only comments" if head.strip() else "the file is empty"
        raise FileError(source.label, what, REMEDY if wanted == "auto" else f"expected {_expected(wanted)}")
    line = head.lstrip(b" \t\r\n").split(b"\n", 1)[0]
    if line.startswith(b"{") and ((names := _json_names(line)) or ".jsonl" in source.path.suffixes):
        return Look(kind_of(names, source.label, wanted), "jsonl")
    for form, separator in SEPARATORS.items():
        names = header(line, separator) if separator.encode() in line else []
        if len(names) > 1 and len(known(names) & COLUMN_NAMES) > 1:
            return Look(kind_of(names, source.label, wanted), form)
    refuse_cr(line, source.label, 1)
    return Look(_text_kind(words, source, wanted), "trec")


def kind_of(names: Iterable[str], label: str, wanted: Wanted = "auto") -> Kind:
    """Return the kind of table that has these columns; raise a FileError if there is none, or more than one."""
    names = list(names)
    columns = f"the columns are {', '.join(names) or '(none)'}"
    asked = "opinions" if wanted in {"qrels", "sampled"} else wanted
    if asked != "auto":
        found = known(names)
        kinds = [kind for kind, needed in COLUMNS.items() if set(needed) <= found]
        # for answers, one column that gives the order is enough
        ordered = {"query", "item"} <= found and not found.isdisjoint({"rank", "relevance", "grade"})
        if asked in kinds or not kinds or (asked == "answers" and ordered):
            return asked  # if columns are missing, the check of the table names them
        raise FileError(label, f"expected {asked}, found {' or '.join(kinds)}: {columns}", f"give a file of {asked}")
    kinds = kinds_of(names)
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise FileError(label, f"the table may be {' or '.join(kinds)}: {columns}", REMEDY)
    needed = "; ".join(f"{kind}: {', '.join(columns)}" for kind, columns in COLUMNS.items())
    raise FileError(label, f"no known table has these columns: {', '.join(names) or '(none)'}", f"expected {needed}")


def kinds_of(names: Iterable[str]) -> list[Kind]:
    """Return the kinds of table that these columns may form: none, one, or several that cannot be distinguished."""
    names = known(names)
    found = {kind for kind, columns in COLUMNS.items() if set(columns) <= names}
    if "run" in found:
        found -= {"belief", "answers"}  # a `p` or `relevance` beside a score was joined to a run
    if "opinions" in found and "propensity" in names:
        found.discard("belief")  # labels of sampled pairs may carry what was believed about them
    if found & {"belief", "answers"}:
        found.discard("opinions")  # a belief may have grades, and `relevance` is another name for the grade
    for common in ("labels", "taxonomy"):  # any table may have a column for the category of an item
        if len(found) > 1:
            found.discard(common)
    return [kind for kind in COLUMNS if kind in found]


def known(names: Iterable[str]) -> set[str]:
    """Return the column names, with the names that Endoxa uses for those of other tools."""
    names = set(names)
    return names | {ours for ours, others in OTHER_NAMES.items() if not names.isdisjoint(others)}


def _expected(kind: Kind) -> str:
    """Describe the content of a file of this kind, for an error message."""
    if kind in {"run", "qrels", "sampled", "opinions"}:
        return f"lines of {(RUN if kind == 'run' else QRELS).words}"
    paths = ", or lines like animals/birds/owls" if kind == "taxonomy" else ""
    return f"a table with the columns {', '.join(COLUMNS[kind])}{paths}"


def _text_kind(words: list[str], source: Source, wanted: Wanted) -> Kind:
    if wanted == "taxonomy":
        return "taxonomy"  # one path per line
    if wanted in TABLES_ONLY or (wanted in {"scores", "comparison", "opinions"} and len(words) not in {4, 5}):
        what = f"the first line is {shortened(' '.join(words))}"
        raise FileError(source.label, what, f"expected a table of {wanted} with a header")
    sampled = len(words) == 5 and is_number(words[2]) and is_number(words[4])
    if wanted in {"run", "sampled", "preferences"}:
        return wanted
    if wanted in {"qrels", "opinions"}:
        return "sampled" if sampled else "qrels"
    if sampled:
        return "sampled"
    if len(words) == 5 and is_number(words[4]):
        return "preferences"
    if len(words) == 4:  # if the grade is not a number, the reader refuses it with its line
        return "qrels"
    if len(words) == 6 or (len(words) > 6 and is_number(words[4])):
        return "run"
    forms = "; ".join(f"{form.name}: {form.words}" for form in (RUN, QRELS, SAMPLED))
    what = f"neither a run nor qrels: the first line is {shortened(' '.join(words))}"
    raise FileError(source.label, what, f"expected {forms}")


def header(line: bytes, separator: str) -> list[str]:
    """Return the column names in the first line, if it is a header in this format."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    import csv
    import io

    try:
        return next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error:
        return []


def _json_names(line: bytes) -> list[str]:
    import json

    try:
        row = json.loads(line)
    except faults.JSON:
        return []
    return list(row) if isinstance(row, dict) else []


def damaged(source: Source, what: str, error: BaseException) -> FileError:
    """Return a FileError for data that Polars cannot read."""
    return FileError(source.label, f"damaged {what} data ({first_line(error)})", "write or copy the file again")
