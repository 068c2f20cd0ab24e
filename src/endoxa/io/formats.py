"""Recognises files by content: 3 columns are a run of MS MARCO, 4 qrels, 5 sampled qrels or preferences, 6 a run;
tables by column names, JSON by its form (`json_documents`, `list_rows`).

Answers have both `rank` and `relevance`, because `relevance` alone is another name for the grade of a judgment. A
taxonomy of paths is not recognised: the caller must ask for it. A zip with bundle.json is a bundle of several tables.
Rows with what was retrieved and what is relevant are of kind `both`: a run and judgments at once. Grades are of kind
`judge` if the file says that a machine gave them; a caller who knows it asks for this kind, and is told the format.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.io import faults, msmarco
from endoxa.io.beir import are_judgments
from endoxa.io.faults import first_line
from endoxa.io.json_documents import REMEDY, document_of
from endoxa.io.judge_tools import tool_of
from endoxa.io.list_rows import Names, names_of, names_of_row, refuse_foreign
from endoxa.io.sources import BOM, FIRST, PARQUET, ZIP, Source, Where, source_of
from endoxa.io.trec_text import (
    QRELS,
    RUN,
    SAMPLED,
    columns_by_tabs,
    first_columns,
    is_number,
    refuse_cr,
    shortened,
    wrong,
)
from endoxa.later import pl
from endoxa.tables import OTHER_NAMES, nearest_columns, unknown_columns
from endoxa.tables.grade_words import GRADES

Kind = Literal[
    "run", "qrels", "sampled", "opinions", "preferences", "belief", "labels", "taxonomy", "answers", "scores",
    "comparison", "evaluation", "bundle", "both", "judge",
]  # fmt: skip
Wanted = Literal["auto"] | Kind
# Beside the obvious: `lists` are lines of JSON with a list each, `ranks` MS MARCO's runs, `words` qrels in words.
Format = Literal["trec", "csv", "tsv", "jsonl", "json", "parquet", "lists", "ranks", "words", "zip"]

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
DOCUMENTS = {"auto", "run", "qrels", "sampled", "opinions", "belief", "judge"}  # kinds that JSON in one piece may hold
RENAME = "name the columns query, item and score (a run) or grade (judgments)"
TABLES_ONLY = {"belief", "labels", "answers"}  # these kinds have no TREC text
JUDGED = {"qrels", "sampled", "opinions"}  # judgments, whatever their form
GRADED = "grades: qrels, a table of query, item and grade, or what a tool of machine judges writes"
EVALUATION = b"endoxa-evaluation"
MANIFEST = "bundle.json"  # the member that makes a zip a bundle
JSON = re.compile(rb'[\[{][ \t\r]*(["\[{]|$)')  # how JSON begins; a query of TREC's text may begin with a brace too
SEPARATORS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
FORMATS: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """The kind and the format of a file, as far as its first lines show."""

    kind: Kind
    format: Format


def sniff(where: Where) -> Kind:
    """Return the kind of table in a file. Only the first lines are examined; `read` checks the rest."""
    return _look(source_of(where), "auto").kind


def look(source: Source, wanted: Wanted = "auto") -> Look:
    """Return the kind and format of a file; `wanted` decides where the content is ambiguous. A bundle is refused."""
    found = _look(source, wanted)
    if found.kind == "bundle":
        remedy = "score runs against it with endoxa eval"
        raise FileError(source.label, "the file is a bundle of several tables", remedy)
    return found


def _look(source: Source, wanted: Wanted) -> Look:
    """Recognise a file, unless what was recognised before decides."""
    looks = source.seen.looks
    found: Look | None = looks.get(wanted) or _decided(looks.get("auto"), wanted)
    if found is None:
        found = looks[wanted] = _recognised(source, wanted)
        if found.format in {"json", "jsonl", "lists", "zip"}:  # up to a mebibyte each, for thousands of files
            source.seen.first = None
    return found


def _decided(found: Look | None, wanted: Wanted) -> Look | None:
    """What a file is if `wanted`, by what it is in any case; None where that does not tell."""
    if found is None or found.kind == "bundle":
        return found
    judged = wanted in JUDGED
    if found.kind == "both":
        kind: Kind | None = "run" if wanted == "run" else "opinions" if judged else None
        return None if kind is None else Look(kind, found.format)
    same = found.kind == wanted or (judged and found.kind in {"opinions", "judge"})
    same = same or (wanted in {"qrels", "opinions"} and found.kind in {"qrels", "sampled"})
    return found if same and (found.format != "json" or wanted in DOCUMENTS) else None


def _bundle(source: Source) -> Look:
    """A zip with a manifest. Any other zip is refused."""
    import zipfile

    try:
        try:
            archive = zipfile.ZipFile(io.BytesIO(source.first))
        except faults.ZIP:  # damaged, or the list of its members is longer
            archive = zipfile.ZipFile(source.path)
        with archive:
            if MANIFEST in archive.namelist():
                return Look("bundle", "zip")
    except faults.ZIP:
        raise FileError(source.label, "the zip is damaged or incomplete", "download or create it again") from None
    raise FileError(source.label, f"the zip has no member {MANIFEST}", "unpack it and give the files in it")


def _recognised(source: Source, wanted: Wanted) -> Look:
    if source.content.magic == ZIP:
        return _bundle(source)
    if source.content.magic == PARQUET:
        try:
            schema = pl.read_parquet_schema(io.BytesIO(source.first))
            metadata = pl.read_parquet_metadata(io.BytesIO(source.first))
        except faults.PARQUET as error:
            raise damaged(source, "Parquet", error) from None
        if "endoxa.evaluation" in metadata:
            return Look("evaluation", "parquet")
        if (lists := lists_in(schema)) is not None:
            return Look(_held(lists, source.label, wanted), "parquet")
        return Look(kind_of(schema, source.label, wanted), "parquet")
    head = source.first
    if head.lstrip().startswith(b"{") and EVALUATION in head[:80]:
        return Look("evaluation", "json")
    tabs = columns_by_tabs(head)
    asked, wanted = wanted, "auto" if wanted == "judge" else wanted
    tabs = 0 if tabs == 3 and wanted not in {"auto", "run"} else tabs  # only runs have three columns
    words = first_columns(head, tabs=tabs > 0)
    if words is None:
        raise FileError(source.label, "the file is empty", f"expected {_expected(wanted)}")
    if head.strip() in {b"{}", b"[]"}:
        raise FileError(source.label, "the JSON is empty", f"expected {_expected(wanted)}")
    line = head.lstrip(b" \t\r\n").split(b"\n", 1)[0]
    if JSON.match(line) and not (4 <= len(words) <= 6 and is_number(words[min(4, len(words) - 1)])):
        return _json_look(source, line, asked)
    for form, separator in SEPARATORS.items():
        names = header(line, separator) if separator.encode() in line else []
        if len(names) > 1 and (len(known(names) & COLUMN_NAMES) > 1 or are_gradings(names)):
            return Look(kind_of(names, source.label, asked), form)
    refuse_cr(line, source.label, 1)
    if wanted != "taxonomy" and not _is_text(words):
        _refuse_foreign(head, source.label, wanted)
    if tabs == 3 and wanted == "auto" and len(first_columns(head) or ()) in {4, 5}:
        what = "three columns by tabs, but more by blanks: this may be a run of MS MARCO or judgments"
        raise FileError(source.label, what, f"name the run with --run (in Python kind='run'); {msmarco.JUDGED}")
    marco = len(words) == 3 and wanted in {"auto", "run"}
    if asked == "judge" and marco:
        what = "the lines have three columns, which are no grades, and may be a run of MS MARCO"
        raise FileError(source.label, what, f"expected {GRADED}")
    if marco and msmarco.are_ranks(head, source.label, wanted=wanted == "run", tabs=tabs > 0):
        return Look("run", "ranks")
    if len(words) == 4 and wanted == "auto":
        msmarco.refuse_ranks_with_scores(head, source.label)
    kind = _text_kind(words, source, wanted)
    if asked == "judge" and kind not in JUDGED:
        raise _no_grades(source, kind)
    worded = kind == "qrels" and len(words) > 3 and " ".join(words[3:]).lower() in GRADES
    return Look(kind, "words" if worded else "trec")


def _no_grades(source: Source, kind: Kind) -> FileError:
    """What was given as grades of a machine judge is of another kind."""
    named = "preferences" if kind == "preferences" else f"a {kind}"
    return FileError(source.label, f"the file holds {named}, not grades", f"expected {GRADED}")


def _json_look(source: Source, line: bytes, wanted: Wanted) -> Look:
    """Lines of JSON with columns or with a list each, or one document."""
    row = _json_row(line)
    columns = list(row or ())
    graded = wanted in {"auto", "judge", *JUDGED} and are_gradings(columns)
    if graded or (wanted == "judge" and tool_of(columns) is not None):
        return Look("judge", "jsonl")
    if row is not None and (lists := names_of_row(row, source.label)) is not None:
        return Look(_held(lists, source.label, wanted), "lists")
    lines = not {".jsonl", ".ndjson"}.isdisjoint(source.path.suffixes)
    if len(known(columns) & COLUMN_NAMES) > 1 or lines or wanted not in DOCUMENTS:
        return Look(kind_of(columns, source.label, wanted), "jsonl")
    document = document_of(source)
    if wanted != "judge":
        refuse_foreign(document.columns, source.label)
    if document.lists is not None:
        return Look(_held(document.lists, source.label, wanted), "json")
    if document.columns:
        return Look(kind_of(document.columns, source.label, wanted), "json")
    if wanted == "judge" and document.sort == "run":
        raise _no_grades(source, "run")
    if wanted != "auto":
        return Look("opinions" if wanted in {"qrels", "sampled"} else wanted, "json")
    if document.sort == "null":
        raise FileError(source.label, "every number in the JSON is null", "give every item of a run its score")
    if document.sort == "either":
        raise FileError(source.label, "the JSON may be a run or judgments: its numbers may be scores or grades", REMEDY)
    return Look("run" if document.sort == "run" else "opinions", "json")


def lists_in(schema: Mapping[str, pl.DataType]) -> Names | None:
    """The columns of a table whose rows hold lists (`list_rows`); None if it is another table."""
    nested = (pl.List, pl.Array, pl.Struct)
    return names_of(schema, [name for name, dtype in schema.items() if isinstance(dtype, nested)])


def _held(lists: Names, label: str, wanted: Wanted) -> Kind:
    """The kind of a file whose rows hold lists."""
    if wanted == "auto":
        return "opinions" if lists.held == "qrels" else lists.held
    asked: Kind = "opinions" if wanted in {"judge", *JUDGED} else wanted
    if asked in {"run", "opinions"} and lists.held in {"both", "run" if asked == "run" else "qrels"}:
        return asked
    raise FileError(label, f"expected {asked}, found lists of what is {_WORD[lists.held]}", f"give a file of {asked}")


_WORD = {"both": "retrieved and relevant", "run": "retrieved", "qrels": "relevant"}


def kind_of(names: Iterable[str], label: str, wanted: Wanted = "auto") -> Kind:
    """Return the kind of table that has these columns; raise a FileError if there is none, or more than one."""
    names = list(names)
    columns = f"the columns are {', '.join(names) or '(none)'}"
    asked = "opinions" if wanted in {"qrels", "sampled"} else wanted
    if asked == "judge" or (asked in {"auto", "opinions"} and are_gradings(names)):
        return "judge"  # if columns are missing, their reader names them
    if asked != "auto":
        found = known(names)
        kinds = [kind for kind, needed in COLUMNS.items() if set(needed) <= found]
        kinds += ["opinions"] if are_judgments(names) else ["run"] if _only_ranked(found) else []
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
    if beir := [name for name in ("query-id", "corpus-id") if name in names]:
        lacking = " and ".join(name for name in ("query-id", "corpus-id", "score") if name not in names)
        what = f"{beir[0]} is a column of BEIR's judgments, and {lacking or 'another one'} is missing: {columns}"
        raise FileError(label, what, "expected the columns query-id, corpus-id, score")
    if {"query", "item"} <= known(names):
        raise FileError(label, f"the column score or grade is missing: {columns}{unknown_columns(names)}", RENAME)
    absent = {kind: len(set(needed) - known(names)) for kind, needed in COLUMNS.items()}
    near = [kind for kind, count in absent.items() if count == min(absent.values())]
    needed = "; ".join(f"{kind}: {', '.join(COLUMNS[kind])}" for kind in near)
    what = f"no known table has these columns: {', '.join(names) or '(none)'}{unknown_columns(names)}"
    raise FileError(label, what, f"expected {needed}")


def _is_text(words: list[str]) -> bool:
    """Whether the words may be a line of TREC's text: some word is a number, or the last ones a grade in words."""
    return any(map(is_number, words)) or " ".join(words[3:]).lower() in GRADES


def _refuse_foreign(head: bytes, label: str, wanted: Wanted) -> None:
    """Refuse a table whose columns have names that nobody knows, or another separator."""
    blank = b" \t\r\n"  # a vertical tab is content
    lines = [line for line in head.lstrip(blank).split(b"\n") if line.strip(blank)][:2]
    for separator in (*SEPARATORS.values(), ";"):
        first, *others = (header(line, separator) for line in lines)
        if len(first) < 2 or not all(name.strip() for name in first) or any(len(row) != len(first) for row in others):
            continue
        if separator == "\t" and not any(is_number(cell) for row in others for cell in row):
            continue  # TREC's text may have tabs, and a grade that is an unknown word: its reader says so
        columns = f"a table with the columns {', '.join(first):.200}"
        if separator not in SEPARATORS.values():
            what = f"{columns}, separated by semicolons, which are not read"
            raise FileError(label, what, "save it with commas or tabs between the columns")
        unknown = [name for name in first if not known([name]) & COLUMN_NAMES]
        named = "they" if unknown == first else f"{', '.join(unknown):.200}"
        which = f"{named} {'is' if len(unknown) == 1 else 'are'} unknown"
        asked: Wanted = "opinions" if wanted in {"qrels", "sampled"} else wanted
        remedy = RENAME if asked not in COLUMNS else f"name the columns {', '.join(COLUMNS[asked])}"
        raise FileError(label, f"{columns}; {which}{nearest_columns(unknown)}", remedy)


def kinds_of(names: Iterable[str]) -> list[Kind]:
    """Return the kinds of table that these columns may form: none, one, or several that cannot be distinguished."""
    names = set(names)
    if are_gradings(names):
        return ["judge"]
    if are_judgments(names):
        return ["opinions"]
    names = known(names)
    found = {kind for kind, columns in COLUMNS.items() if set(columns) <= names}
    if _only_ranked(names):
        found.add("run")
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


def are_gradings(columns: Iterable[str]) -> bool:
    """Whether the columns show that a machine gave the grades: a tool's rows, a model, or a judge and its repeats.

    Where a column `kind` says who gave each grade, that counts. A score makes a run, whatever else there is.
    """
    names = set(columns)
    tool = tool_of(names)
    if tool is not None and tool.machine:
        return True
    found = known(names)
    graded = {"query", "item"} <= found and not found.isdisjoint({"grade", "p"})
    named = "model" in names or {"judge", "repeat"} <= names
    return graded and named and found.isdisjoint({"kind", "score", "reading", "weight"})


def _only_ranked(names: set[str]) -> bool:
    """Whether ranks are all that orders the items; with a source they may be people's answers."""
    return {"query", "item", "rank"} <= names and names.isdisjoint({"score", "grade", "p", "relevance", "source"})


def known(names: Iterable[str]) -> set[str]:
    """Return the column names, with the names that Endoxa uses for those of other tools."""
    names = set(names)
    return names | {ours for ours, others in OTHER_NAMES.items() if not names.isdisjoint(others)}


def _expected(kind: Wanted) -> str:
    """Describe the content of a file of this kind, for an error message."""
    if kind == "auto":
        return "a run or judgments: write the file again"
    if kind == "judge":
        return GRADED
    if kind == "run" or kind in JUDGED:
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
        return "preferences" if _are_preferences(source.first) else "sampled"
    if len(words) == 5 and words[1].lower() == "q0":
        what = f"5 columns in {shortened(' '.join(words))}"
        raise FileError(source.label, what, f"a run line has 6: {RUN.words}; one is missing, perhaps the tag")
    if len(words) == 5 and is_number(words[4]):
        return "preferences"
    if len(words) == 4:  # if the grade is not a number, the reader refuses it with its line
        return "qrels"
    if len(words) == 6 or (len(words) > 6 and is_number(words[4])):
        return "run"
    if len(words) == 3 and is_number(words[2]):
        what = f"three columns are a run of MS MARCO ({msmarco.FORM}), and {shortened(words[2])} is not its first rank"
        raise FileError(source.label, what, msmarco.JUDGED)
    forms = "; ".join(f"{form.name}: {form.words}" for form in (RUN, QRELS, SAMPLED))
    what = f"neither a run nor qrels: the first line is {shortened(' '.join(words))}"
    raise wrong(words, source.label, what, f"expected {forms}", None)


def _are_preferences(head: bytes) -> bool:
    """Whether lines that may be sampled judgments are preferences with numbers for subgroups.

    Some level is no probability then, and a group has several lines. With a line per item, judgments have a mistake.
    """
    lines = head.split(b"\n")
    rows = [words for line in lines[: -1 if len(lines) > 2 and len(head) >= FIRST - len(BOM) else None]
            if len(words := line.decode("utf-8", "replace").split()) == 5]  # fmt: skip
    likely = all(is_number(words[4]) and 0 < float(words[4]) <= 1 for words in rows)
    return not likely and len({(words[0], words[1]) for words in rows}) < len(rows)


def header(line: bytes, separator: str) -> list[str]:
    """Return the column names in the first line, if it is a header in this format."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    import csv

    try:
        return next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error:
        return []


def _json_row(line: bytes) -> dict[str, Any] | None:
    import json

    try:
        row = json.loads(line)
    except faults.JSON:
        return None
    return row if isinstance(row, dict) else None


def damaged(source: Source, what: str, error: BaseException) -> FileError:
    """Return a FileError for data that Polars cannot read."""
    return FileError(source.label, f"damaged {what} data ({first_line(error)})", "write or copy the file again")
