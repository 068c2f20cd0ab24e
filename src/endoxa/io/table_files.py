"""Reads tables with named columns from CSV, TSV, JSONL (also with gzip or zstd) and Parquet; and JSON of other forms.

Text is read as text: an id like `007` keeps its zeros, and only columns that must be numbers are converted. Only
Parquet keeps a belief's settings (`unmentioned`, `model`, `notes`) and the resamples of the people asked.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from endoxa.errors import FileError, TableError, TextError
from endoxa.io import faults
from endoxa.io.beir import graded
from endoxa.io.faults import first_line
from endoxa.io.formats import COLUMNS, SEPARATORS, Format, Kind, damaged, header, lists_in
from endoxa.io.json_documents import REMEDY, rows_of_document
from endoxa.io.judge_tables import opinions_of_machines
from endoxa.io.limits import refuse_cells, refuse_rows
from endoxa.io.list_rows import EXPECTED as LISTED
from endoxa.io.list_rows import Names, names_of_row, spread
from endoxa.io.msmarco import rows_of_ranks
from endoxa.io.parquet import parquet_rows
from endoxa.io.sources import PARQUET, Source, Where, count, refuse_change, source_of, text_of
from endoxa.io.spreadsheets import unescaped
from endoxa.io.trec_text import Report, Skipped, refuse_cr, shortened, tell
from endoxa.later import pl
from endoxa.measures.preference_judgments import Preferences
from endoxa.notes import Note, of_plain
from endoxa.policies import Policy, Ties
from endoxa.tables import (
    OTHER_NAMES,
    Answers,
    Belief,
    Comparison,
    Costs,
    Draws,
    DuplicateItemError,
    DuplicateJudgmentError,
    Labels,
    Opinions,
    Run,
    Scores,
    Taxonomy,
    cast,
    grades_of,
    rename_known,
    require,
)

AnyTable = Run | Opinions | Preferences | Belief | Labels | Taxonomy | Answers | Scores | Comparison
METADATA = "endoxa."  # prefix of our keys in the metadata of a Parquet file

# Names, also where a file writes them as numbers.
NAMES = ("query", "item", "system", "source", "category", "parent", "reading", "group", "subgroup")
IDS = {*NAMES, *(other for name in NAMES for other in OTHER_NAMES.get(name, ()))}
NEAR = 10_000  # rows in which the end of a list is searched
MANY = 100  # columns; the keys of a wider table are compared by Python, in one pass
PEOPLE = ("people", "people_weight")  # columns of a belief that hold arrays; only Parquet can store them

CORRECT = "correct it, or skip such rows with --lenient (in Python lenient=True)"
# These numbers are never missing, only undefined: null in JSON stands for NaN.
NOT_MISSING = {"scores": ("value",), "comparison": ("difference", "lo", "hi", "p_value", "p_adjusted", "effect")}


def read_table(
    source: Source, kind: Kind, form: Format, *, name: str | None = None, ties: Ties = "trec", lenient: bool = False,
    report: Report | None = None, blanks: bool = False,
) -> AnyTable:  # fmt: skip
    """Read the table in a file with named columns. A run without a column `system` is named after its file."""
    rows, lines, skipped = _rows(source, kind, form, lenient=lenient, blanks=blanks)
    if rows.is_empty() and kind not in NOT_MISSING:  # a comparison of one system has no rows
        raise FileError(
            source.label, "no row can be taken from the file", f"expected rows of {', '.join(COLUMNS[kind])}"
        )
    try:
        rows = rename_known(graded(rows) if kind == "opinions" else rows, NAMED.get(kind, ()))
        if lenient and kind in {"run", "opinions"}:
            rows, left_out = _usable(source, rows, kind)
            skipped += left_out
            if rows.is_empty():
                raise FileError(source.label, "no row can be read", str(left_out.first[0]) if left_out.first else "")
        table = _table_of(source, rows, kind, form, name=name, ties=ties)
    except TableError as error:
        wrong = placed(source, rows, form, error, lines)
        if wrong.line is not None and not wrong.remedy and kind in {"run", "opinions"}:
            wrong = FileError(wrong.path, wrong.problem, CORRECT, wrong.line)
        raise wrong from None
    except MetadataError as error:
        raise FileError(source.label, f"the metadata {error} cannot be read", "write the file again") from None
    except pl.exceptions.PolarsError as error:  # for example a column of lists
        raise FileError(source.label, f"the file is not a table of {kind} ({first_line(error)})", REMEDY) from None
    tell(skipped, report)
    return table


def _rows(
    source: Source, kind: Kind, form: Format, *, lenient: bool, blanks: bool
) -> tuple[pl.DataFrame, Sequence[int | None], Skipped]:
    """Return the rows of a file, the line of each where its reader knows it, and the lines that were skipped."""
    if form == "ranks":
        return rows_of_ranks(source, text_of(source), lenient=lenient, blanks=blanks)
    if form == "json":
        return *rows_of_document(source, kind), Skipped(source.label)
    if form == "lists":
        return _listed(source, text_of(source), kind, lenient)
    rows, skipped = rows_of(source, form, lenient=lenient)
    if form == "parquet" and kind in {"run", "opinions"} and (names := lists_in(rows.schema)) is not None:
        rows, lines = spread(((None, row) for row in rows.iter_rows(named=True)), names, kind, source.label)
        return rows, lines, skipped
    return rows, (), skipped


def _listed(
    source: Source, data: bytes, kind: Kind, lenient: bool
) -> tuple[pl.DataFrame, Sequence[int | None], Skipped]:
    """Lines of JSON that hold a list each; the first row names the columns."""
    skipped, rows = Skipped(source.label), list[tuple[int, dict[str, Any]]]()
    names: Names | None = None
    for number, found in lines_of(source, data, "jsonl"):
        try:
            row = _good(found)
            names = names or names_of_row(row, source.label)
            if lenient and names is not None:
                spread([(number, row)], names, kind, source.label)
        except FileError as error:
            if not lenient:
                raise
            skipped += Skipped(source.label, 1, (error,))
        else:
            rows.append((number, row))
    if names is None:
        raise FileError(source.label, "no row holds a list", LISTED)
    frame, lines = spread(rows, names, kind, source.label)
    if frame.is_empty():
        raise FileError(source.label, "no row holds an item", LISTED)
    return frame, lines, skipped


def _good(row: dict[str, Any] | FileError) -> dict[str, Any]:
    if isinstance(row, FileError):
        raise row
    return row


def read_costs(place: Where) -> Costs:
    """Read a table of costs, as `endoxa images run` writes it."""
    source = source_of(place)
    form: Format = "parquet" if source.content.magic == PARQUET else "csv"
    rows, _ = rows_of(source, form)
    try:
        return Costs.of(rows)
    except TableError as error:
        raise placed(source, rows, form, error) from None


# The columns by which a bad row is located.
NAMED: dict[Kind, tuple[str, ...]] = {
    "run": ("system", "query", "item", "score"),
    "opinions": ("query", "item", "grade", "source", "propensity"),
    "belief": ("query", "item", "grade"),
    "labels": ("source", "item"),
    "answers": ("source", "query", "item"),
}


def _table_of(
    source: Source, rows: pl.DataFrame, kind: Kind, form: Format, *, name: str | None, ties: Ties
) -> AnyTable:
    if kind == "run":
        if name is not None:
            rows = rows.drop("system", strict=False)
        elif "system" not in rows.columns:
            name = source.stem
        return Run.of(rows, system=name, ties=ties)
    if kind == "scores":
        return _scores(source, rows, form)
    if kind == "comparison":
        require(rows, ("measure", "system", "baseline", "difference"), "comparison")
        notes = _notes("notes", metadata(source, form).get("notes", "[]"))
        return Comparison(_filled(rows, Comparison.SCHEMA, "comparison"), notes)
    if kind == "belief":
        rows = rows if form == "parquet" else rows.drop(PEOPLE, strict=False)
        return belief_of(rows, **_belief_metadata(source, form))
    return OF[kind](rows)


def belief_of(rows: pl.DataFrame, **settings: Any) -> Belief:
    """Return a Belief. An empty reading gets the empty name."""
    if "reading" in rows.columns:
        rows = rows.with_columns(pl.col("reading").fill_null(""))
    return Belief.of(rows, **settings)


OF: dict[Kind, Callable[[pl.DataFrame], AnyTable]] = {
    "opinions": Opinions.of, "preferences": Preferences.of, "belief": belief_of, "labels": Labels.of,
    "taxonomy": Taxonomy.of, "answers": Answers.of, "judge": opinions_of_machines,
}  # fmt: skip


def _belief_metadata(source: Source, form: Format) -> dict[str, Any]:
    """Return the metadata of a belief in a Parquet file: unmentioned, model, notes, files."""
    extra = metadata(source, form)
    kinds: dict[str, Any] = {"unmentioned": str | int | float, "model": str, "notes": tuple, "files": list}
    found: dict[str, Any] = {}
    for key in kinds.keys() & extra.keys():
        try:
            found[key] = json.loads(extra[key])
            if key == "notes":
                found[key] = of_plain(found[key])
        except ValueError:
            found[key] = None
        texts = key != "files" or all(isinstance(text, str) for text in found[key] or ())
        if not isinstance(found[key], kinds[key]) or not texts:
            what = f"the metadata {key} = {shortened(extra[key])} is not understood"
            raise FileError(source.label, what, "write the file again")
    return found


def read_paths(source: Source) -> Taxonomy:
    """Read a taxonomy from lines like `animals/birds/owls`. Empty lines and lines that begin with # are ignored."""
    paths: list[str] = []
    for number, line in enumerate(text_of(source).decode().split("\n"), 1):
        refuse_cr(line.encode(), source.label, number)
        if line.startswith("#") or not line.strip():
            continue
        if "\0" in line or not line.strip(" \t\r/"):
            what = f"{shortened(line)} is not a path"
            raise FileError(source.label, what, "expected categories, the widest first", number)
        paths.append("/".join(part.strip() for part in line.split("/")))
    if not any("/" in path for path in paths):
        raise FileError(source.label, "no line is a path", "expected lines like animals/birds/owls")
    try:
        return Taxonomy.of_paths(paths)
    except TableError as error:
        raise FileError.of(error, source.label) from None


def _scores(source: Source, rows: pl.DataFrame, form: Format) -> Scores:
    require(rows, ("system", "query", "measure", "value"), "table of scores")
    extra = metadata(source, form)
    written = extra.get("policy") or (rows["policy"][0] if rows.height and "policy" in rows.columns else None)
    frame = _filled(rows, Scores.SCHEMA, "scores").with_columns(
        pl.col("undefined").fill_null(pl.col("value").is_nan().cast(pl.Float64))
    )
    coverage = frame.group_by("system", maintain_order=True).agg(
        pl.col("query").n_unique().cast(pl.Int64).alias("queries"),
        *(pl.lit(None, pl.Int64).alias(name) for name in ("missing", "unknown", "items", "judged", "tied")),
    )
    if "coverage" in extra:
        coverage = _lines("coverage", extra["coverage"], coverage.schema)
    texts = _lines("texts", extra["texts"]) if "texts" in extra else None
    draws = _draws(source, extra["draws"]) if "draws" in extra else None
    return Scores(frame, _policy(source, written), coverage, texts, draws=draws)


def draws_beside(path: Path) -> Path:
    """Return the file of the possible worlds of a file of scores: scores.draws.parquet for scores.parquet."""
    return path.with_name(f"{path.name.removesuffix('.parquet')}.draws.parquet")


def _draws(source: Source, lines: str) -> Draws:
    """Read the possible worlds from the file beside the scores; it is an error if that file is missing."""
    beside = draws_beside(source.path)
    try:
        rows = pl.read_parquet(beside, glob=False)
        names = [rows[axis].unique(maintain_order=True).to_list() for axis in ("measure", "system", "query")]
        shape = tuple(map(len, names))
        truth, people = (
            rows[name].to_numpy().reshape(*shape, -1) if name in rows.columns else None for name in ("truth", "people")
        )
    except (*faults.PARQUET, ValueError, TypeError) as error:
        what = f"the possible worlds in {beside.name} cannot be read ({first_line(error)})"
        raise FileError(source.label, what, "keep both files together, or measure again") from None
    measures, systems, queries = names
    return Draws(measures, systems, queries, truth, people, _notes("draws", lines))


class MetadataError(Exception):
    """Metadata of ours in a Parquet file that somebody or something changed; the text is its key."""


def _notes(key: str, text: str) -> tuple[Note, ...]:
    """Return the list of notes in the metadata."""
    try:
        return of_plain(json.loads(text))
    except faults.JSON:
        raise MetadataError(f"{key} = {shortened(text)}") from None


def _lines(key: str, text: str, schema: pl.Schema | None = None) -> pl.DataFrame:
    """Return the table in the metadata."""
    try:
        return pl.read_ndjson(text.encode(), schema=schema)
    except faults.PARQUET:
        raise MetadataError(f"{key} = {shortened(text)}") from None


def _filled(rows: pl.DataFrame, schema: dict[str, Any], table: str) -> pl.DataFrame:
    """Return all columns of the table, in order and with their types."""
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in rows.columns]
    frame = cast(rows.with_columns(absent).select(list(schema)), schema, table)
    return frame.with_columns(pl.col(name).fill_null(float("nan")) for name in NOT_MISSING[table])


def _policy(source: Source, written: str | None) -> Policy:
    """Parse the policy of a table of scores: `ties=trec missing=empty …`."""
    chosen: dict[str, Any] = {}
    kinds = {field.name: type(field.default) for field in fields(Policy)}
    try:
        for word in (written or "").split():
            setting, _, value = word.partition("=")
            chosen[setting] = value if kinds[setting] is str else int(value)
        return Policy(**chosen)
    except (KeyError, ValueError, TextError) as error:
        raise FileError(source.label, f"policy {shortened(written or '')} is not understood ({error})") from None


def metadata(source: Source, form: Format) -> dict[str, str]:
    """Return our metadata of a Parquet file."""
    if form != "parquet":
        return {}
    try:
        found = pl.read_parquet_metadata(io.BytesIO(source.first))
    except faults.PARQUET as error:
        raise damaged(source, "Parquet", error) from None
    return {key.removeprefix(METADATA): value for key, value in found.items() if key.startswith(METADATA)}


# ---- rows of a file -----------------------------------------------------------------------------------


def rows_of(source: Source, form: Format, *, lenient: bool = False) -> tuple[pl.DataFrame, Skipped]:
    """Return the rows of a file, unconverted. A line that cannot be read is an error, or skipped."""
    if form == "parquet":
        return parquet_of(source), Skipped(source.label)
    data = text_of(source)
    content = source.content.packed or data  # unpacking by lines drops CR inside quotes; Polars keeps it
    try:
        if form == "jsonl":
            rows = _json_rows(source, content, data)
        else:
            names = header(io.BytesIO(data).readline(), SEPARATORS[form])
            refuse_cells(source.label, len(data), count(data, b"\n"), len(names))
            twice = _repeated(names)
            if twice is not None:  # Polars would rename the second
                raise FileError(source.label, f"two columns are named {shortened(twice)}", "rename one", 1)
            rows = pl.read_csv(content, separator=SEPARATORS[form], infer_schema=False)
    except faults.PARQUET:
        rows = pl.DataFrame()
    doubtful = _may_repeat(rows, data) if form == "jsonl" else _may_be_short(rows, data, SEPARATORS[form])
    if doubtful and any(isinstance(row, FileError) for _, row in lines_of(source, data, form)):
        return _line_by_line(source, data, form, lenient)
    rows = rows.filter(~pl.all_horizontal(pl.all().is_null())) if rows.width else rows  # empty lines
    if rows.is_empty():
        return _line_by_line(source, data, form, lenient)
    return rows if form == "jsonl" else unescaped(rows, data), Skipped(source.label)


def _may_be_short(rows: pl.DataFrame, data: bytes, separator: str) -> bool:
    """Whether a line may have fewer columns than the header; Polars fills them with nulls. It refuses more columns."""
    if rows.width < 2 or not rows.to_series(-1).null_count():
        return False
    return b'"' in data or count(data, separator.encode()) != (rows.width - 1) * (rows.height + 1)


def _json_rows(source: Source, content: Path | bytes, data: bytes) -> pl.DataFrame:
    """Read lines of JSON by Polars. Names stay what they are: the number 2 beside 2.5 would become 2.0."""
    scan = pl.scan_ndjson(content, infer_schema_length=None)
    schema: dict[str, Any] = dict(scan.collect_schema())
    refuse_cells(source.label, len(data), count(data, b"\n"), len(schema))
    texts = {name: pl.String for name, dtype in schema.items() if name in IDS and dtype.is_float()}
    return pl.read_ndjson(content, schema=schema | texts)


def _may_repeat(rows: pl.DataFrame, data: bytes) -> bool:
    """Whether an object may have a key twice, of which Polars keeps the first. A text may only look like a key."""
    if b"\\u" in data or rows.width > MANY:  # a key can be spelt with escapes
        return True
    keys = (rf'"{re.escape(name)}"[ \t]*:' for name in rows.columns)
    repeated = [pl.col("line").str.count_matches(key).max() > 1 for key in keys]
    return bool(repeated) and bool(pl.read_lines(data).select(pl.any_horizontal(repeated)).item())


def parquet_of(source: Source) -> pl.DataFrame:
    """Return the rows of a Parquet file, unless it holds more than its size allows."""
    refuse_change(source, source.content, source.path)
    try:
        if source.span is not None:  # `row_spans` cut it
            begin, end = source.span
            rows = pl.scan_parquet(source.path, glob=False).slice(begin, end - begin).collect()
        else:
            rows = parquet_rows(source.path, source.label, footer=source.first)
    except faults.PARQUET as error:
        raise damaged(source, "Parquet", error) from None
    refuse_change(source, source.content, source.path)
    return rows


def row_spans(source: Source, size: int) -> list[tuple[int, int]]:
    """Where to cut a run in Parquet into parts of about `size` rows that end with a list. Only a little is read."""
    try:
        scan = pl.scan_parquet(source.path, glob=False)
        rows = int(scan.select(pl.len()).collect().item())
        refuse_rows(source.label, source.whole, rows)
        cuts, at = [0], size
        while at < rows:
            near = rename_known(scan.slice(at - 1, NEAR).collect(), ("system", "query"))
            names = near.select(pl.struct(name for name in ("system", "query") if name in near.columns).rle_id())
            ends = (names.to_series() > 0).arg_true()
            if not len(ends):
                at += near.height - 1 or 1
                continue
            cuts.append(at - 1 + int(ends[0]))
            at = cuts[-1] + size
    except faults.PARQUET as error:
        raise damaged(source, "Parquet", error) from None
    return list(pairwise([*cuts, rows]))


def _line_by_line(source: Source, data: bytes, form: Format, lenient: bool) -> tuple[pl.DataFrame, Skipped]:
    """Parse again, line by line, what Polars refused, to find the line that is wrong."""
    rows: list[dict[str, Any]] = []
    skipped = Skipped(source.label)
    for _, row in lines_of(source, data, form):
        if isinstance(row, dict):
            rows.append(row)
        elif lenient:
            skipped += Skipped(source.label, 1, (row,))
        else:
            raise row
    if not rows:
        raise FileError(source.label, "the file has no rows", "expected column names and one row per line")
    names = list(dict.fromkeys(name for row in rows for name in row))
    refuse_cells(source.label, len(data), len(rows), len(names))
    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
    return frame if form == "jsonl" else unescaped(frame, data), skipped


def _plain(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def lines_of(source: Source, data: bytes, form: Format) -> Iterator[tuple[int, dict[str, Any] | FileError]]:
    """Yield every row with its line: the row itself, or the error in it."""
    return _json_lines(source, data) if form == "jsonl" else _csv_lines(source, data, SEPARATORS[form])


def _json_lines(source: Source, data: bytes) -> Iterator[tuple[int, dict[str, Any] | FileError]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except TextError as error:
            yield number, FileError(source.label, error.problem, "remove one", number)
            continue
        except faults.JSON:
            row = None
        if isinstance(row, dict):
            yield number, row
        else:
            shown = shortened(line.decode().strip())
            yield number, FileError(source.label, f"{shown} is not a JSON object", "expected {…}", number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of JSON with these pairs; refuse a key that it has twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = _repeated([name for name, _ in pairs])
        raise TextError(f"the object has the key {shortened(str(twice))} twice")
    return found


def _repeated(names: list[str]) -> str | None:
    """Return the first name that occurs again, if any."""
    counts = Counter(names)
    return next((name for name in names if counts[name] > 1), None) if len(counts) < len(names) else None


def _csv_lines(source: Source, data: bytes, separator: str) -> Iterator[tuple[int, dict[str, Any] | FileError]]:
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator)
    names: list[str] | None = None
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            what = f"the text is not a table ({error})"
            raise FileError(source.label, what, "check that it is a text file", reader.line_num) from None
        if row is None:
            return
        if not any(row):
            continue
        if names is None:
            names = row
        elif len(row) == len(names):
            yield reader.line_num, {name: word or None for name, word in zip(names, row, strict=True)}
        else:
            what, line = f"{len(row)} columns in {shortened(separator.join(row))}", reader.line_num
            yield line, FileError(source.label, what, f"the header has {len(names)}", line)


# ---- bad rows -----------------------------------------------------------------------------------------


def _usable(source: Source, rows: pl.DataFrame, kind: Kind) -> tuple[pl.DataFrame, Skipped]:
    """Return the rows that a run or a table of judgments accepts, and a record of the others."""
    number = "score" if kind == "run" else "grade"
    require(rows, ("query", "item", number), "run" if kind == "run" else "table of judgments")
    key = [name for name in ("system", "source", "query", "item") if name in rows.columns]
    value = grades_of(rows[number]) if number == "grade" else rows[number].cast(pl.Float64, strict=False)
    missing = rows.select(pl.any_horizontal(pl.col(key).is_null())).to_series()
    # a judgment may have no grade, a run needs scores
    wrong = value.is_nan() | (value.is_null() if kind == "run" else value.is_null() & rows[number].is_not_null())
    usable = ~(missing | wrong.fill_null(False))
    again = usable & ~rows.select(pl.struct(key).is_first_distinct()).to_series()
    kept = usable & ~again
    errors = tuple(
        FileError(source.label, f"row {row + 1} is {'repeated' if again[row] else 'not usable'}")
        for row in (~kept).arg_true()[:5]
    )
    return rows.filter(kept).with_columns(value.filter(kept)), Skipped(source.label, int((~kept).sum()), errors)


def placed(
    source: Source, rows: pl.DataFrame, form: Format, error: TableError, lines: Sequence[int | None] = ()
) -> FileError:
    """Return a FileError with the line of the row that the table refused."""
    row = None if error.row is None else error.row - 1
    if isinstance(error, DuplicateItemError | DuplicateJudgmentError):
        key = {"query": error.query, "item": error.item}
        other = "system" if isinstance(error, DuplicateItemError) else "source"
        if other in rows.columns:
            key[other] = getattr(error, other)
        hits = rows.select(pl.all_horizontal(pl.col(name).cast(pl.String) == value for name, value in key.items()))
        places = hits.to_series().arg_true()
        row = int(places[1]) if len(places) > 1 else None
    if row is not None and lines:
        return FileError(source.label, error.problem, error.remedy, lines[row])
    if row is None or form in {"parquet", "json"}:
        return FileError.of(error, source.label)
    number, line = next(islice(lines_of(source, text_of(source), form), row, None), (None, None))
    if isinstance(line, FileError):  # the row has too few columns
        return line
    return FileError(source.label, error.problem, error.remedy, number)
