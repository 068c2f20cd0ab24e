"""The settings as typed keywords of the verbs; `make generate` writes this file from `Settings`.

A type checker cannot derive these classes from a dataclass, so that they are written out.
"""

from __future__ import annotations

from typing import Any, TypedDict

from endoxa.evaluations.settings import Correction, Format, Interval, Name, Test
from endoxa.policies import Assessors, Compat, Missing, Mix, Quality, Rule, Scale, Ties, Undefined, Unjudged


class Scoring(TypedDict, total=False):
    """Settings that change scores."""

    rel: float | None
    ties: Ties
    missing: Missing
    unjudged: Unjudged
    undefined: Undefined
    cut: int | None
    compat: Compat
    assessors: Assessors
    shuffles: int
    depth: int
    weights: Any
    prior: tuple[float, float]
    families: Any
    model: str | None
    people: int | None
    worlds: int
    plugin: bool
    mix: Mix | None
    rule: Rule
    quality: Quality
    exponent: float | None
    rate: float | None
    scale: Scale
    subjects_as_systems: bool
    seed: int
    format: Format
    lenient: bool
    name_from: Name
    on: Any


class Given(Scoring, total=False):
    """All settings of an evaluation."""

    collection: int | None
    baseline: str | None
    test: Test
    interval: Interval
    correction: Correction
    confidence: float
    resamples: int | None
