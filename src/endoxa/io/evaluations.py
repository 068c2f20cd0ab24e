"""Evaluations in files: JSON for everybody, Parquet with the possible worlds beside. Both are read back."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import polars as pl

from endoxa.errors import FileError
from endoxa.evaluations.evaluation import Evaluation, File
from endoxa.evaluations.settings import Settings
from endoxa.io.sources import Source
from endoxa.io.write import replacing
from endoxa.io.write import write as write_table
from endoxa.policies import Policy
from endoxa.tables import Comparison, Scores

FORMAT, VERSION = "endoxa-evaluation", 1
TYPES = {str(kind): kind for kind in (pl.String, pl.Float64, pl.Int64, pl.UInt32, pl.Boolean, pl.List(pl.String))}
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # JSON has none of them


def write_evaluation(evaluation: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write everything but the belief; `.json` also leaves out the possible worlds."""
    words = json.dumps(_told(evaluation), ensure_ascii=False, indent=1, allow_nan=False)
    if Path(path).suffix.lower() == ".json":
        with replacing(Path(path)) as part:
            part.write_text(words + "\n", encoding="utf-8")
        return
    if evaluation.scores is not None:
        write_table(evaluation.scores, path, form="parquet", metadata={"evaluation": words})
        return
    with replacing(Path(path)) as part:
        evaluation.summary.write_parquet(part, metadata={"endoxa.evaluation": words})


def _told(evaluation: Evaluation) -> dict[str, Any]:
    scores, comparison = evaluation.scores, evaluation.comparison
    settings = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(evaluation.settings).items()
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": evaluation.kind,
        "title": evaluation.title,
        "sentences": list(evaluation.sentences),
        "warnings": list(evaluation.warnings),
        "notes": list(evaluation.notes),
        "settings": settings,
        "baseline": evaluation.baseline,
        "virtual": evaluation.virtual,
        "provenance": dict(evaluation.provenance),
        "files": [asdict(file) for file in evaluation.files],
        "summary": _columns(evaluation.summary),
        "doubts": None if evaluation.doubts is None else _columns(evaluation.doubts),
        "comparison": None
        if comparison is None
        else {"notes": list(comparison.notes), "frame": _columns(comparison.frame)},
        "tables": {name: _columns(frame) for name, frame in evaluation.tables.items()},
        "scores": None
        if scores is None
        else {
            "policy": asdict(scores.policy),
            "frame": _columns(scores.frame),
            "coverage": _columns(scores.coverage),
        },
    }


def _columns(frame: pl.DataFrame) -> dict[str, Any]:
    """{column: {type, values}}, so that a column keeps its type even if it is empty."""
    return {
        name: {"type": str(frame.schema[name]), "values": [_plain(v) for v in frame[name]]} for name in frame.columns
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.to_list() if isinstance(value, pl.Series) else value


def of_text(source: Source, text: str, scores: Scores | None = None) -> Evaluation:
    """The evaluation that a file holds; `scores` with their worlds, where the file has them apart."""
    try:
        told = json.loads(text)
        if told["format"] != FORMAT or told["version"] != VERSION:
            raise FileError(
                source.label, f"is {told['format']} of version {told['version']}", f"expected version {VERSION}"
            )
        return _evaluation(told, scores)
    except (ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise FileError(
            source.label, f"is not a whole evaluation ({type(error).__name__}: {str(error)[:60]})", "write it again"
        ) from None


def _evaluation(told: dict[str, Any], scores: Scores | None) -> Evaluation:
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told["settings"].items()
    }
    if scores is None and told["scores"] is not None:
        known = told["scores"]
        policy = Policy(**{one.name: known["policy"][one.name] for one in fields(Policy)})
        scores = Scores(_frame(known["frame"]), policy, _frame(known["coverage"]))
    pairs = told["comparison"]
    return Evaluation(
        kind=told["kind"],
        scores=scores,
        summary=_frame(told["summary"]),
        settings=Settings(**settings),
        compared=None if pairs is None else Comparison(_frame(pairs["frame"]), tuple(pairs["notes"])),
        doubts=None if told["doubts"] is None else _frame(told["doubts"]),
        tables={name: _frame(columns) for name, columns in told["tables"].items()},
        warnings=tuple(told["warnings"]),
        notes=tuple(told["notes"]),
        baseline=told["baseline"],
        virtual=told["virtual"],
        title=told["title"],
        provenance=told["provenance"],
        files=tuple(File(**file) for file in told["files"]),
    )


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            pl.Series(name, [_number(value, one["type"]) for value in one["values"]], dtype=TYPES[one["type"]])
            for name, one in columns.items()
        ]
    )


def _number(value: Any, kind: str) -> Any:
    return NUMBERS.get(value, value) if kind == "Float64" and isinstance(value, str) else value
