"""From tables to things people read: a page, a table for a paper, a figure.

Everything here is pure: it gives back text, bytes or a matplotlib Figure, and writes no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from endoxa.reports.html import page
from endoxa.tables import Comparison, Costs, Scores

if TYPE_CHECKING:
    from endoxa.comparisons.appraisal import Appraisal

__all__ = ["Report", "Source", "page"]


@dataclass(frozen=True)
class Source:
    """A file that was read: its name, size in bytes, SHA-256, and what it was taken for (run, qrels)."""

    name: str
    size: int
    sha256: str
    kind: str = ""


@dataclass(frozen=True)
class Report:
    """All that a page tells.

    `summary` has one row per system and measure: system, measure, value, lo, hi, se, queries, undefined.
    `curves` has system, recall, precision, generality, generality_low, generality_high. The verdict is about
    the first measure of `scores` that is not a mere count. `lower` names the measures of which small values
    are better. `provenance` is printed as it comes (version, command, seed, …), `files` as a table. `level`
    is that of all intervals. `appraisal` is there where the truth is in doubt: if `scores` are the appraisal's own,
    the whole page is about them; else they get a section beside scores against judgments.
    """

    title: str
    scores: Scores
    summary: pl.DataFrame
    comparison: Comparison | None = None
    curves: pl.DataFrame | None = None
    warnings: tuple[str, ...] = ()
    definitions: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    notes: tuple[str, ...] = ()
    files: tuple[Source, ...] = ()
    lower: tuple[str, ...] = ()
    level: float = 0.95
    appraisal: Appraisal | None = None
    costs: Costs | None = None
