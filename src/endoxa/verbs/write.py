"""write: any table, frame or evaluation, in the format that the suffix names."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.errors import FileError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.io.formats import Format
from endoxa.io.write import replacing, write_frame, write_page
from endoxa.io.write import write as write_table

if TYPE_CHECKING:
    from endoxa.evaluations.backtest import Backtest


def write(table: Any, path: str | Path, *, form: Format | None = None) -> None:
    """Write a table, a frame or an evaluation; the suffix of the path chooses the format.

    Tables: .csv, .tsv, .jsonl, .parquet, TREC text; .gz and .zst. An evaluation: .html (one self-contained page), .md
    and .tex (the summary table), .json and .parquet (everything; `read` gives it back). A backtest: .html, .json
    and .svg (the reliability curve).
    """
    if isinstance(table, pl.DataFrame):
        write_frame(table, path)
    elif _is_backtest(table):
        _write_backtest(table, Path(path))
    elif not isinstance(table, Evaluation):
        write_table(table, path, form=form)
    elif Path(path).suffix.lower() in {".json", ".parquet"}:
        from endoxa.io.evaluations import write_evaluation

        write_evaluation(table, path)
    else:
        with replacing(Path(path)) as part:
            part.write_text(_text(table, path), encoding="utf-8")


def _is_backtest(table: Any) -> bool:
    """Whether it is a Backtest; whoever has one has loaded its module, which is slow to load."""
    module = sys.modules.get("endoxa.evaluations.backtest")
    return module is not None and isinstance(table, module.Backtest)


def _write_backtest(found: Backtest, path: Path) -> None:
    if path.suffix.lower() in {".html", ".htm"}:
        from endoxa.reports.pages.backtest import page

        write_page(page(found), path)
    elif path.suffix.lower() == ".svg":
        from endoxa.reports.figures.reliability_curves import curve_of
        from endoxa.reports.figures.style import to_svg

        with replacing(path) as part:
            part.write_text(to_svg(curve_of(found)), encoding="utf-8")
    elif path.suffix.lower() == ".json":
        with replacing(path) as part:
            part.write_text(json.dumps(found.plain(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    else:
        suffix = path.suffix or "a file without a suffix"
        raise FileError(
            str(path), f"a backtest is not written as {suffix}", "use .html, .json or .svg, or write one of its tables"
        )


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
