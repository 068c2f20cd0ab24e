"""Reads tables from files and standard input, and from what `objects` takes: dicts, frames, rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from endoxa.errors import EndoxaError, FileError, TableError
from endoxa.io.formats import Wanted, look, sniff
from endoxa.io.json_documents import REMEDY, document_of
from endoxa.io.native_files import judged_of, judged_of_dict
from endoxa.io.objects import joined, of_object, systems_in
from endoxa.io.qrels import read_preferences, read_qrels
from endoxa.io.run_files import read_run
from endoxa.io.sources import Source, Where, source_of, text_of
from endoxa.io.trec_text import Report, columns_by_tabs, first_columns
from endoxa.later import pl
from endoxa.policies import Ties
from endoxa.tables import Judged, Opinions, Run, Scores, Table

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.io.table_files import AnyTable

PLACES = (str, os.PathLike, Source)


def read(
    source: Any, *, kind: Wanted = "auto", name: str | None = None, assessors: bool = False, ties: Ties = "trec",
    lenient: bool = False, blanks: bool = False, report: Report | None = None,
) -> Any:  # fmt: skip
    """Return the table that `source` holds; `verbs.read` describes sources and parameters."""
    reading: dict[str, Any] = {"ties": ties, "lenient": lenient, "blanks": blanks, "report": report}
    if isinstance(source, PLACES):
        return _read_file(source, kind=kind, name=name, assessors=assessors, **reading)
    if isinstance(source, Table):
        return source
    if isinstance(source, list | tuple) and source and all(isinstance(part, PLACES) for part in source):
        return read_runs(source, **reading)
    if (parts := systems_in(source)) is not None:
        if kind not in {"auto", "run"}:
            raise TableError(f"several tables are several runs, not {kind}", remedy=f"give one table of {kind}")
        return joined(
            [(label, read(part, kind="run", name=label, ties=ties, lenient=lenient)) for label, part in parts]
        )
    return of_object(source, kind=kind, name=name, ties=ties)


def natively_judged(source: Source | dict[Any, Any]) -> Opinions | None:
    """Judgments in a file of qrels or in a dict, without a frame; None where only the exact readers can judge them."""
    judged = judged_of_dict(source) if isinstance(source, dict) else _judged(source)
    return None if judged is None else Opinions.of_judged(judged)


def _judged(source: Source) -> Judged | None:
    try:
        found = look(source, "qrels")
    except EndoxaError:  # the exact reader says it again
        return None
    return judged_of(source) if (found.kind, found.format) == ("qrels", "trec") else None


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is such a file or folder; a text that cannot be a path, such as a long one, is none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def kind_of(source: Source, *, strict: bool = False) -> str:
    """What a file holds; standard input, and what cannot be told, is taken for judgments: their reader says more."""
    if source.given == "-" or not is_there(source.given):
        return "qrels"
    try:
        return sniff(source)
    except EndoxaError:
        if strict:
            raise
        return "qrels"


def _read_file(
    where: Where, *, kind: Wanted, name: str | None, assessors: bool, ties: Ties, **reading: Any
) -> AnyTable | Evaluation:
    """`reading` are lenient, blanks and report, which every reader of rows takes."""
    from endoxa.io.evaluations import of_text
    from endoxa.io.table_files import metadata, read_paths, read_table

    source = source_of(where)
    found = None if kind == "judge" else look(source, kind)
    if found is None or found.kind == "judge":
        from endoxa.io.judge_files import opinions_of_judges

        return opinions_of_judges(source, lenient=reading["lenient"], report=reading["report"])
    if found.kind == "evaluation":
        if found.format == "json":
            return of_text(source, text_of(source).decode())
        words = metadata(source, "parquet")
        scores = read_table(source, "scores", "parquet") if "kind" in words else None
        return of_text(source, words["evaluation"], scores if isinstance(scores, Scores) else None)
    if found.kind == "both":
        raise FileError(source.label, "the rows hold a run and judgments", REMEDY)
    if found.format == "words":
        from endoxa.io.worded_qrels import read_worded

        return read_worded(source, text_of(source), assessors=assessors, **reading)
    if found.format != "trec":
        return read_table(source, found.kind, found.format, name=name, ties=ties, **reading)
    if found.kind == "run":
        return read_run(source, name=name, ties=ties, **reading)
    if found.kind == "taxonomy":
        return read_paths(source)
    if found.kind == "preferences":
        return read_preferences(source, **reading)
    sampled = found.kind == "sampled"
    return read_qrels(source, assessors=assessors, sampled=sampled, **reading)


def read_runs(
    places: Sequence[Where], *, ties: Ties, lenient: bool, blanks: bool, report: Report | None,
    names: list[str] | None = None,
) -> Run:  # fmt: skip
    """Read all files into one Run; a system may occur in only one of them. Without names, the tags are the names."""
    frames: list[pl.DataFrame] = []
    owner: dict[str, str] = {}
    sources = [source_of(place) for place in places]
    for source, name in zip(sources, names or system_names(sources), strict=True):
        run = _read_file(
            source, kind="run", name=name, assessors=False, ties=ties, lenient=lenient, blanks=blanks, report=report
        )
        label = source.label
        if not isinstance(run, Run):
            raise FileError(label, "the file is not a run", "read judgments separately from runs")
        for system in run.systems:
            if system in owner:
                raise FileError(label, f"system {system!r} is already in {owner[system]}", "rename one of them")
            owner[system] = label
        frames.append(run.frame)
    return Run(pl.concat(frames), ties)


def system_names(places: Iterable[Where]) -> list[str | None]:
    """Return the name of the system of each file: None if the tags differ, else the file's name, with a warning."""
    sources = [source_of(place) for place in places]
    tags, stems = [_tag(source) for source in sources], [source.stem for source in sources]
    shared = next((tag for tag in tags if tags.count(tag) > 1), None)
    if shared is None:
        return [None] * len(sources)
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        what = f"another file also has the tag {shared!r} and the name {twice!r}"
        raise FileError(sources[stems.index(twice)].label, what, "rename one of the files")
    warn(f"several runs have the tag {shared!r}; the systems are named after their files", stacklevel=3)
    return list(stems)


def _tag(source: Source) -> str:
    """Return the tag in the first line of a run or the model that MTEB names, or the file's name if there is none."""
    form = look(source, "run").format
    if form == "json":
        return document_of(source).model or source.stem
    if form == "trec":
        words = first_columns(source.first, tabs=columns_by_tabs(source.first) > 0) or []
        if len(words) >= 6:
            return words[5]
    return source.stem
