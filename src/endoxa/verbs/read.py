"""read: a table from whatever holds one."""

from __future__ import annotations

from typing import Any

from endoxa.io.formats import Wanted
from endoxa.io.read import read as read_any
from endoxa.policies import Ties
from endoxa.verbs.inputs import Report


def read(
    source: Any,
    *,
    kind: Wanted = "auto",
    name: str | None = None,
    assessors: bool = False,
    ties: Ties = "trec",
    lenient: bool = False,
    report: Report | None = None,
) -> Any:
    """Read a table: a run, opinions, a belief, labels, a taxonomy, answers, scores, a comparison, an evaluation.

    A path or `-` (standard input): TREC text, CSV, TSV, JSONL, Parquet; gzip and zstd. A list of paths of runs:
    one Run of all systems. A dict {query: {item: number}} (say kind='run', 'qrels' or 'belief') or
    {system: {query: {item: score}}}; a pandas, Polars or Arrow frame; rows with names, such as ir_measures'.
    The columns of a table say what it is: score a run, grade judgments, p a belief, category labels, category and
    parent a taxonomy, rank and relevance answers. A text of paths (animals/birds/owls) is read with kind='taxonomy'.

    kind       what it is, where the content does not tell
    name       what to call the system; otherwise the tag says
    assessors  whether column 2 of qrels names the assessor
    lenient    skip what cannot be read; `report` gets the record, or a warning is given
    """
    return read_any(source, kind=kind, name=name, assessors=assessors, ties=ties, lenient=lenient, report=report)
