"""Collections of BEIR: a folder with qrels/test.tsv, corpus.jsonl and queries.jsonl.

The judgments have the columns query-id, corpus-id and score, which is a grade. Given as one argument, the folder stands
for its judgments; where texts are shown (`decide`, `study`), for its corpus or its queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from endoxa.errors import FileError
from endoxa.io.missing_files import unreadable
from endoxa.later import pl

QRELS = {"query-id", "corpus-id", "score"}
FOLDER, SPLIT = "qrels", "test"
TEXTS = {"item": "corpus.jsonl", "query": "queries.jsonl"}
EXPECTED = "expected a collection of BEIR (qrels/test.tsv); of any other folder, give the files in it"


def are_judgments(columns: Iterable[str]) -> bool:
    """Whether the columns are those of BEIR's judgments, whose `score` is a grade."""
    return set(columns) >= QRELS


def graded(frame: pl.DataFrame) -> pl.DataFrame:
    """The judgments with their grade by its own name."""
    return frame.rename({"score": "grade"}) if are_judgments(frame.columns) else frame


def qrels_of(folder: Path, label: str) -> Path:
    """The file of judgments in a folder: that of the test split, or the only one there is."""
    try:
        found = sorted(
            path
            for path in (folder / FOLDER if (folder / FOLDER).is_dir() else folder).iterdir()
            if path.name.removesuffix(".gz").removesuffix(".zst").endswith(".tsv") and not path.name.startswith(".")
        )
    except OSError as error:
        raise unreadable(label, error, "check its permissions") from None
    if not found:
        raise FileError(label, "the path is a directory, and holds no judgments", EXPECTED)
    tests = [path for path in found if path.name.split(".")[0] == SPLIT]
    if len(tests or found) > 1:
        names = ", ".join(path.name for path in (tests or found)[:5])
        raise FileError(label, f"the folder holds several files of judgments ({names})", "name one of them")
    return (tests or found)[0]


def texts_of(folder: Path, name: str) -> Path | None:
    """The file of the texts of items or queries in a collection of BEIR; None if the folder is none."""
    path = folder / TEXTS[name] if name in TEXTS else folder
    return path if path.is_file() else None
