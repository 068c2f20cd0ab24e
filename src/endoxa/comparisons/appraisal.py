"""What the reports read until they read an Evaluation: an adapter without any logic, to be deleted with its readers."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from endoxa.tables import Belief, Comparison, Scores


@dataclass(frozen=True)
class Appraisal:
    """The fields of an Evaluation under the names that the reports still use."""

    scores: Scores
    belief: Belief
    summary: pl.DataFrame
    doubts: pl.DataFrame
    comparison: Comparison | None = None
    depths: pl.DataFrame | None = None
    warnings: tuple[str, ...] = ()
    sentence: str = ""
    baseline: str | None = None
    level: float = 0.95
