"""Reads what machine judges graded, unasked what it is: qrels, tables, the files of tools, bundles, folders of them.

A file holds one or several judges. A judge that a file does not name has the name of the file. Beside the files of
judges, two others may be given, which are recognised too: the request file of UMBRELA, and a table of the ids in batch
output (custom_id,query,item).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from warnings import warn

from endoxa.errors import CallError, FileError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.io import faults
from endoxa.io.formats import GRADED, Format, Look, known, look
from endoxa.io.json_documents import objects_of_document, rows_of_document
from endoxa.io.judge_ids import Pair, Pairs, Requests, named_by_texts, requests_of
from endoxa.io.judge_tables import Part, part_of
from endoxa.io.judge_tools import Graded, Tool, tool_of
from endoxa.io.qrels import read_qrels
from endoxa.io.sources import ZIP, Source, Where, source_of, text_of
from endoxa.io.table_files import lines_of, parquet_of, placed, read_table, rows_of
from endoxa.io.trec_text import QRELS, Report, Skipped, separated, tell, whole
from endoxa.io.worded_qrels import read_worded
from endoxa.later import pl
from endoxa.notes import Note, warning
from endoxa.tables import Gradings, Opinions, rename_known
from endoxa.wording.machine_judges import reasons_of

NOBODY = {"0", "1", "Q0", "q0", "-"}  # in TREC's second column
TABLES: set[Format] = {"csv", "tsv", "jsonl", "json", "parquet"}
SKIPPED = "gradings.skipped"
UNREAD = "the line cannot be read"
REMEDY = f"expected {GRADED}"


@dataclass(frozen=True)
class Found:
    """What a file holds: a table, or rows of a tool with their lines; or only what names the pairs of other files."""

    source: Source
    part: Part | None = None
    tool: Tool | None = None
    said: tuple[tuple[int | None, Graded], ...] = ()
    requests: Requests | None = None
    packed: Mapping[str, Pair] | None = None
    skipped: Skipped = Skipped("")


def read_gradings(
    sources: Where | Sequence[Where], *, queries: Where | None = None, items: Where | None = None,
    lenient: bool = False, report: Report | None = None,
) -> Gradings:  # fmt: skip
    """Return what machine judges graded, from one or several files, or folders of one file per judge.

    queries  a table of query and text, for files that name queries only by their text; also a folder of BEIR
    items    the same of items
    lenient  skip lines that cannot be read
    report   gets the record of what was skipped in each file; the notes of the result say it too

    What is no grade is counted by reason, with its first line: a failed request, a reply without a grade, a negative
    grade. A file from which no grade can be taken is refused, and so are two files with a judge of the same name.
    """
    places = [sources] if isinstance(sources, str | os.PathLike | Source) else list(sources)
    if not places:
        raise CallError("there is no file of a machine judge: give one or several files, or a folder")
    found = [_found(file, lenient) for place in places for file in _files(place)]
    packed = [one.packed for one in found if one.packed is not None]
    requests = [one.requests for one in found if one.requests is not None]
    pairs = Pairs(
        {key: pair for ids in packed for key, pair in ids.items()} if packed else None,
        None if queries is None else named_by_texts(Path(source_of(queries).given), "query"),
        None if items is None else named_by_texts(Path(source_of(items).given), "item"),
        Requests.joined(requests) if requests else None,
    )
    judged = [one for one in found if one.part is not None or one.tool is not None]
    if not judged:
        raise FileError(
            found[0].source.label, "the file holds ids of pairs, but no grades", "give the files of the judges too"
        )
    return _joined([one.source for one in judged], [_gradings(one, pairs, report) for one in judged])


def opinions_of_judges(source: Source, *, lenient: bool = False, report: Report | None = None) -> Opinions:
    """Return what machine judges said in one file as opinions: the mean over repeats. Its notes are warnings."""
    gradings = read_gradings(source, lenient=lenient, report=lambda skipped: tell(skipped, report))
    for one in gradings.notes:
        if one.code != SKIPPED:  # which is told already
            warn(str(one), stacklevel=3)
    return gradings.opinions


def _joined(sources: list[Source], found: list[Gradings]) -> Gradings:
    """The gradings of several files; a judge has one file."""
    owner: dict[str, str] = {}
    skipped: Counter[str] = Counter()
    for source, gradings in zip(sources, found, strict=True):
        for judge in gradings.judges:
            if judge in owner:
                remedy = "join the files if it is the same judge; if not, name the judges in a column judge"
                raise FileError(source.label, f"judge {judge!r:.60} is in {owner[judge]} too", remedy)
            owner[judge] = source.label
        skipped.update(gradings.skipped)
    notes = tuple(note for gradings in found for note in gradings.notes)
    return Gradings(pl.concat([gradings.frame for gradings in found]), dict(skipped), notes)


# ---- what a file holds --------------------------------------------------------------------------------


def _files(place: Where) -> list[Source]:
    """The files in a folder, or the file itself. Hidden files and READMEs hold no judge."""
    source = source_of(place)
    folder = Path(source.given)
    try:
        inside = sorted(folder.iterdir()) if source.given != "-" and folder.is_dir() else []
        kept = [one for one in inside if one.is_file() and not one.name.upper().startswith((".", "README"))]
    except (OSError, ValueError):  # ValueError: a NUL in the path; opening it says more
        return [source]
    return [source_of(one) for one in kept] or [source]


def _found(source: Source, lenient: bool) -> Found:
    if source.content.magic == ZIP:
        return Found(source, _bundled(source))
    if (requests := _requests(source)) is not None:
        return Found(source, requests=requests)
    form = look(source, "judge")
    if form.kind == "evaluation":
        raise FileError(source.label, "the file holds an evaluation, not grades", REMEDY)
    if form.format not in TABLES:
        rows, skipped = _judgments(source, form, lenient)
        return Found(source, Part(rows, rows.height), skipped=skipped)
    first = next(_records(source, form.format), (None, {}))[1]
    tool = tool_of(first) if isinstance(first, dict) else None
    if tool is not None:
        said, skipped = _said(source, tool, form.format, lenient)
        return Found(source, tool=tool, said=said, skipped=skipped)
    if form.format == "json":
        rows, skipped = rows_of_document(source, "opinions")[0], Skipped(source.label)
    else:
        rows, skipped = rows_of(source, form.format, lenient=lenient)
    if (packed := _packed(rows)) is not None:
        return Found(source, packed=packed)
    try:
        part = part_of(rows, lenient=lenient)
    except TableError as error:
        raise placed(source, rows, form.format, error) from None
    except pl.exceptions.PolarsError as error:  # for example a column of lists
        what = f"the file is not a table of grades ({faults.first_line(error)})"
        raise FileError(source.label, what, REMEDY) from None
    return Found(source, _with_lines(source, form.format, part), skipped=skipped)


def _bundled(source: Source) -> Part:
    """The opinions of machine judges in a bundle."""
    from endoxa.io.bundles import read_bundle

    opinions = read_bundle(source, check_files=False).opinions
    if opinions is None:
        raise FileError(source.label, "the bundle has no opinions", REMEDY)
    return _with_lines(source, "zip", part_of(opinions.frame))


def _requests(source: Source) -> Requests | None:
    """The requests in a request file of UMBRELA; None of any other file."""
    if b'"candidates"' not in source.first:
        return None
    text = text_of(source).decode()
    try:
        try:
            value = json.loads(text)
        except ValueError:
            value = [json.loads(line) for line in text.split("\n") if line.strip()]
        return requests_of(value if isinstance(value, list) else [value])
    except (*faults.JSON, *faults.CONTENT):
        return None


def _judgments(source: Source, form: Look, lenient: bool) -> tuple[pl.DataFrame, Skipped]:
    """Rows of qrels and of lists. TREC's second column names the judges if it has several names."""
    records: list[Skipped] = []
    reading: dict[str, Any] = {"lenient": lenient, "report": records.append}
    if form.format == "trec" and form.kind == "qrels":
        rows, skipped = whole(source, separated(source, QRELS, lenient=lenient), lenient=lenient)
        records.append(skipped)
    elif form.format == "trec":
        rows = read_qrels(source, sampled=True, **reading).frame
    elif form.format == "words":
        rows = read_worded(source, text_of(source), assessors=True, **reading).frame
    else:
        rows = read_table(source, "opinions", form.format, **reading).frame
    names = set(rows["source"].unique().to_list())
    judge = pl.col("source") if len(names) > 1 and not names & NOBODY else pl.lit(None, pl.String)
    rows = rows.select(judge.alias("judge"), "query", "item", "grade")
    return rows, sum(records, Skipped(source.label))


def _packed(rows: pl.DataFrame) -> dict[str, Pair] | None:
    """What a table of ids says: custom_id, query, item; None of a table of grades."""
    names = known(rows.columns)
    if not {"custom_id", "query", "item"} <= names or not names.isdisjoint({"grade", "p", "score"}):
        return None
    ids = rename_known(rows, ("query", "item")).select(pl.col("custom_id", "query", "item").cast(pl.String))
    return {key: (query, item) for key, query, item in ids.drop_nulls().iter_rows()}


def _with_lines(source: Source, form: Format, part: Part) -> Part:
    """The part with lines for rows, where the file has lines."""
    if form not in {"csv", "tsv", "jsonl"} or not part.missing:
        return replace(part, missing={reason: (count, None) for reason, (count, _) in part.missing.items()})
    last = max(row for _, row in part.missing.values() if row is not None)
    rows = (line for line, row in lines_of(source, text_of(source), form) if isinstance(row, dict))
    lines = dict(enumerate(islice(rows, last), 1))
    return replace(
        part, missing={reason: (count, lines.get(row or 0)) for reason, (count, row) in part.missing.items()}
    )


# ---- rows of tools ------------------------------------------------------------------------------------


def _records(source: Source, form: Format) -> Iterator[tuple[int | None, dict[str, Any] | FileError]]:
    """Every row as it stands, with its line; a row that is none is an error."""
    if form == "json":
        for row in objects_of_document(source):
            wrong = FileError(source.label, f"{row!r:.60} in the list is not an object", REMEDY)
            yield None, row if isinstance(row, dict) else wrong
    elif form == "parquet":
        yield from ((None, row) for row in parquet_of(source).iter_rows(named=True))
    else:
        yield from lines_of(source, text_of(source), form)


def _said(
    source: Source, tool: Tool, form: Format, lenient: bool
) -> tuple[tuple[tuple[int | None, Graded], ...], Skipped]:
    """What the rows of a tool say, with their lines."""
    said: list[tuple[int | None, Graded]] = []
    skipped = Skipped(source.label)
    for line, row in _records(source, form):
        try:
            if isinstance(row, FileError):
                raise row
            said += ((line, one) for one in list(tool.graded(row)))
        except FileError as error:
            wrong = error
        except TextError as error:
            raise FileError.of(error, source.label, line) from None
        except faults.CONTENT:
            remedy = "expected the rows as the tool writes them"
            wrong = FileError(source.label, f"the row is not one of {tool.name}", remedy, line)
        else:
            continue
        if not lenient:
            raise wrong
        skipped += Skipped(source.label, 1, (wrong,))
    return tuple(said), skipped


def _part(found: Found, pairs: Pairs) -> tuple[Part, tuple[Note, ...]]:
    """The rows of a tool with their ids."""
    label = found.source.label
    named = pairs.of([(one.ids, one.texts) for _, one in found.said], label)
    missing: dict[str, tuple[int, int | None]] = {}
    rows: list[tuple[str | None, str, str, float]] = []
    for (line, one), pair in zip(found.said, named, strict=True):
        reason = one.reason or (pair if isinstance(pair, str) else "")
        if reason or one.grade is None or isinstance(pair, str):
            count, first = missing.get(reason, (0, line))
            missing[reason] = count + 1, first
        else:
            rows.append((None if one.judge is None else str(one.judge), *pair, one.grade))
    frame = pl.DataFrame(
        rows, dict.fromkeys(("judge", "query", "item"), pl.String) | {"grade": pl.Float64}, orient="row"
    )
    unnamed = pairs.unnamed(one.texts for _, one in found.said if not one.reason)
    notes = (warning("gradings.texts_for_ids", file=label, names=unnamed),) if unnamed else ()
    return Part(
        frame.with_columns(pl.lit(found.tool.scale if found.tool else None, pl.String).alias("scale")),
        len(found.said),
        missing,
    ), notes


# ---- gradings -----------------------------------------------------------------------------------------


def _gradings(found: Found, pairs: Pairs, report: Report | None) -> Gradings:
    """The gradings in a file, with what was skipped and why; a file without any grade is refused."""
    source = found.source
    part, notes = (found.part, ()) if found.part is not None else _part(found, pairs)
    try:
        gradings = Gradings.of(part.rows.with_columns(pl.col("judge").fill_null(source.stem)))
    except TableError as error:
        raise FileError.of(error, source.label) from None
    missing = {**part.missing, **{reason: (count, None) for reason, count in gradings.skipped.items()}}
    errors = tuple(FileError(source.label, reason, line=first) for reason, (_, first) in missing.items())
    skipped = found.skipped + Skipped(source.label, sum(count for count, _ in missing.values()), errors)
    if (unread := found.skipped).count:
        missing[UNREAD] = unread.count, unread.first[0].line if unread.first else None
    reasons = [[reason, count, first] for reason, (count, first) in missing.items()]
    if not len(gradings):
        listed = f" ({reasons_of(reasons)})" if reasons else ""
        raise FileError(source.label, f"no grade of a machine judge can be taken from the file{listed}", REMEDY)
    if report is not None and skipped.count:
        report(skipped)
    if reasons:
        notes += (warning(SKIPPED, file=source.label, rows=part.total + unread.count, reasons=reasons),)
    return Gradings(gradings.frame, {reason: count for reason, (count, _) in missing.items()}, notes)
