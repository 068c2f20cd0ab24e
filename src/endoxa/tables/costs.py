"""What a system's work cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from endoxa.tables.checks import Table, cast, refuse_null, require


@dataclass(frozen=True, eq=False)
class Costs(Table):
    """What a system's work cost: system, phase, items, seconds, bytes, median, p95.

    Phases: `describe` (the pictures, where that was done now), `build` (the index), `query`. `seconds` is the whole
    of a phase by the clock, `median` and `p95` are seconds per item of it: per picture, per query. `bytes` is what
    the phase left: the size of its result.
    """

    frame: pl.DataFrame

    SCHEMA: ClassVar[dict[str, Any]] = {
        "system": pl.String,
        "phase": pl.String,
        "items": pl.Int64,
        "seconds": pl.Float64,
        "bytes": pl.Int64,
        "median": pl.Float64,
        "p95": pl.Float64,
    }

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Costs:
        """Check the columns; a median may be missing, the rest not."""
        require(frame, tuple(cls.SCHEMA), "table of costs")
        frame = cast(frame.select(*cls.SCHEMA), cls.SCHEMA, "table of costs")
        refuse_null(frame, ("system", "phase", "seconds"), "table of costs")
        return cls(frame)
