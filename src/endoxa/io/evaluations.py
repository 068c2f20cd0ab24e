"""Writes evaluations as JSON or Parquet and reads them back. Parquet keeps the possible worlds in a second file."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from endoxa.errors import FileError
from endoxa.evaluations.evaluation import Evaluation, File
from endoxa.evaluations.settings import Settings
from endoxa.io import faults
from endoxa.io.sources import Source
from endoxa.io.write import replacing, write_whole
from endoxa.io.write import write as write_table
from endoxa.notes import of_plain, plain, texts
from endoxa.policies import Policy
from endoxa.tables import Comparison, Scores

if TYPE_CHECKING:
    from endoxa.comparisons.forecast import Forecast

FORMAT, VERSION = "endoxa-evaluation", 1
TYPES = {str(kind): kind for kind in (pl.String, pl.Float64, pl.Int64, pl.UInt32, pl.Boolean, pl.List(pl.String))}
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # JSON cannot express these


def write_evaluation(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write an evaluation without its belief; `.json` also omits the possible worlds."""
    words = json.dumps(_as_json(evaluation), ensure_ascii=False, indent=1, allow_nan=False)
    if Path(path).suffix.lower() == ".json":
        write_whole(Path(path), words + "\n")
        return
    if evaluation.scores is not None:
        write_table(evaluation.scores, path, form="parquet", metadata={"evaluation": words})
        return
    with replacing(Path(path)) as part:
        evaluation.summary.write_parquet(part, metadata={"endoxa.evaluation": words})


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    scores, comparison = evaluation.scores, evaluation.comparison
    settings = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(evaluation.settings).items()
    }
    return {
        "format": FORMAT, "version": VERSION, "kind": evaluation.kind, "title": evaluation.title,
        "sentences": list(evaluation.sentences),
        "forecast": None if evaluation.further is None else evaluation.further.facts(),
        "warnings": texts(evaluation.warnings), "notes": texts(evaluation.notes),
        "facts": {"warnings": plain(evaluation.warnings), "notes": plain(evaluation.notes)},
        "settings": settings, "baseline": evaluation.baseline, "virtual": evaluation.virtual,
        "provenance": dict(evaluation.provenance), "files": [asdict(file) for file in evaluation.files],
        "summary": _columns(evaluation.summary),
        "doubts": None if evaluation.doubts is None else _columns(evaluation.doubts),
        "comparison": None if comparison is None else {
            "notes": texts(comparison.notes), "facts": plain(comparison.notes), "frame": _columns(comparison.frame),
        },
        "tables": {name: _columns(frame) for name, frame in evaluation.tables.items()},
        "scores": None if scores is None else {
            "policy": asdict(scores.policy), "frame": _columns(scores.frame), "coverage": _columns(scores.coverage),
        },
    }  # fmt: skip


def _columns(frame: pl.DataFrame) -> dict[str, Any]:
    """Return {column: {type, values}}, so that a column keeps its type even if it is empty."""
    return {
        name: {"type": str(frame.schema[name]), "values": [_plain(v) for v in frame[name]]} for name in frame.columns
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.to_list() if isinstance(value, pl.Series) else value


def of_text(source: Source, text: str, scores: Scores | None = None) -> Evaluation:
    """Parse the evaluation in a file; `scores` are given if the file stores them separately, with their worlds."""
    try:
        content = json.loads(text)
        if content["format"] != FORMAT or content["version"] != VERSION:
            what = f"the format is {content['format']}, version {content['version']}"
            raise FileError(source.label, what, f"expected {FORMAT}, version {VERSION}")
        settings: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in content["settings"].items()
        }
        if scores is None and content["scores"] is not None:
            stored = content["scores"]
            policy = Policy(**{field.name: stored["policy"][field.name] for field in fields(Policy)})
            scores = Scores(_frame(stored["frame"]), policy, _frame(stored["coverage"]))
        pairs, facts = content["comparison"], content.get("facts", content)  # 0.1 has sentences only
        return Evaluation(
            kind=content["kind"], scores=scores, summary=_frame(content["summary"]), settings=Settings(**settings),
            compared=pairs and Comparison(_frame(pairs["frame"]), of_plain(pairs.get("facts", pairs["notes"]))),
            forecast=_forecast(content), doubts=None if content["doubts"] is None else _frame(content["doubts"]),
            tables={name: _frame(columns) for name, columns in content["tables"].items()},
            warnings=of_plain(facts["warnings"], "warning"), notes=of_plain(facts["notes"]),
            baseline=content["baseline"], virtual=content["virtual"], title=content["title"],
            provenance=content["provenance"], files=tuple(File(**file) for file in content["files"]),
        )  # fmt: skip
    except (*faults.JSON, *faults.CONTENT, *faults.PARQUET) as error:
        what = f"the evaluation is damaged ({type(error).__name__}: {str(error)[:60]})"
        raise FileError(source.label, what, "write the file again") from None


def _forecast(content: dict[str, Any]) -> Forecast | None:
    """The forecast; 0.1 has the number of further labels alone."""
    from endoxa.comparisons.forecast import Forecast  # which loads SciPy

    if content.get("forecast") is not None:
        return Forecast(**content["forecast"])
    further = content.get("further")
    return None if further is None else Forecast(further, math.nan, math.nan, math.nan, math.nan)


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    series = []
    for name, column in columns.items():
        values = column["values"]
        if column["type"] == "Float64":
            values = [NUMBERS.get(value, value) for value in values]
        series.append(pl.Series(name, values, dtype=TYPES[column["type"]]))
    return pl.DataFrame(series)
