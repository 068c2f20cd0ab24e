"""read: a table from whatever holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.verbs.parameters import Lenient

if TYPE_CHECKING:
    from endoxa.io.formats import Wanted
    from endoxa.io.trec_text import Report
    from endoxa.policies import Ties
else:
    Wanted = str  # its module is slow to load, and help needs only that it is a word


def read(
    source: Annotated[Any, argument("A file of any kind; - is standard input.", "FILE")],
    *,
    kind: Annotated[
        Wanted, option("What it is (run, qrels, belief …), if its content does not tell.", metavar="KIND")
    ] = "auto",
    name: str | None = None,
    assessors: Annotated[bool, option("Column 2 of qrels names the assessor.")] = False,
    ties: Ties = "trec",
    lenient: Lenient = False,
    blanks: bool = False,
    report: Report | None = None,
) -> Any:
    """Return the table that `source` holds.

    A source is a path or `-` (standard input) of TREC text, CSV, TSV, JSON, JSONL or Parquet, also with gzip or zstd,
    or a folder of BEIR, which stands for its judgments; a dict {query: {item: number}} or {query: [item, …]} (with
    kind='run', 'qrels' or 'belief'), or {system: {query: {item: score}}}; a pandas, Polars or Arrow frame, or a Dataset
    of Hugging Face; a Run or Qrels of ranx; or rows with named fields, such as ir_measures' or RAGAS'. A list or a dict
    {system: …} of any of them holds several runs, which become one Run; docs/formats.md has all forms.
    The columns decide the kind of a table: `score` makes a run, `grade` judgments, `p` a belief, `category` labels,
    `category` and `parent` a taxonomy, `rank` and `relevance` answers. A text of paths (animals/birds/owls) is read
    with kind='taxonomy'.

    kind       kind of the table, needed where the content is ambiguous
    name       name of the system; the default is the tag in the file
    assessors  whether column 2 of qrels names the assessor
    lenient    skip lines that cannot be read; `report` gets the record of them, otherwise a warning is given
    blanks     whether any blanks separate the columns of TREC text, as in trec_eval, even where tabs do

    Examples:
        endoxa read bm25.run
        endoxa read opinions.parquet -o csv --to opinions.csv
    """
    from endoxa.io.read import read as table_of

    return table_of(
        source, kind=kind, name=name, assessors=assessors, ties=ties, lenient=lenient, blanks=blanks, report=report
    )
