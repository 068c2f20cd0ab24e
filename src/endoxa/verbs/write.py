"""write: any table, frame or evaluation, in the format that the suffix names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from endoxa.errors import FileError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.io.formats import Format
from endoxa.io.write import replacing, write_frame
from endoxa.io.write import write as write_table


def write(table: Any, path: str | Path, *, form: Format | None = None) -> None:
    """Write a table, a frame or an evaluation; the suffix of the path chooses the format.

    Tables: .csv, .tsv, .jsonl, .parquet, TREC text; .gz and .zst. An evaluation: .html (one self-contained page), .md
    and .tex (the summary table), .json and .parquet (everything; `read` gives it back).
    """
    if isinstance(table, pl.DataFrame):
        write_frame(table, path)
    elif not isinstance(table, Evaluation):
        write_table(table, path, form=form)
    elif Path(path).suffix.lower() in {".json", ".parquet"}:
        from endoxa.io.evaluations import write_evaluation

        write_evaluation(table, path)
    else:
        with replacing(Path(path)) as part:
            part.write_text(_text(table, path), encoding="utf-8")


def _text(evaluation: Evaluation, path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix in {".html", ".htm"}:
        from endoxa.reports.pages import page

        return page(evaluation)
    if suffix in {".md", ".tex"}:
        from endoxa.reports.papers import paper_table

        return paper_table(evaluation, "markdown" if suffix == ".md" else "latex")
    raise FileError(
        str(path),
        f"an evaluation is not written as {suffix or 'a file without a suffix'}",
        "use .html, .md or .tex, .json or .parquet",
    )


def write_figures(evaluation: Evaluation, directory: str | Path) -> list[Path]:
    """Every figure of the evaluation as SVG and PNG; the paths written."""
    from endoxa.reports.figures import all_of
    from endoxa.reports.figures.style import to_png, to_svg

    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in all_of(evaluation).items():
        for suffix, data in ((".svg", to_svg(figure).encode()), (".png", to_png(figure))):
            path = target / (name + suffix)
            with replacing(path) as part:
                part.write_bytes(data)
            written.append(path)
    return written
