"""Costs of the systems: time and size."""

from __future__ import annotations

from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.tables.checks import Schema, Table, cast, refuse_null, require


@dataclass(frozen=True, eq=False, repr=False)
class Costs(Table):
    """Costs of the systems: system, phase, items, seconds, bytes, median, p95.

    The phases are `describe` (of the pictures, unless they were described before), `build` (of the index) and `query`.
    `seconds` is the wall-clock time of the phase; `median` and `p95` are seconds per item, that is per picture or per
    query. `bytes` is the size of the result of the phase.
    """

    frame: pl.DataFrame

    SCHEMA = Schema(lambda: {
        "system": pl.String, "phase": pl.String, "items": pl.Int64, "seconds": pl.Float64, "bytes": pl.Int64,
        "median": pl.Float64, "p95": pl.Float64,
    })  # fmt: skip

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Costs:
        """Check the columns. Only system, phase and seconds must not be missing."""
        require(frame, tuple(cls.SCHEMA), "table of costs")
        frame = cast(frame.select(*cls.SCHEMA), cls.SCHEMA, "table of costs")
        refuse_null(frame, ("system", "phase", "seconds"), "table of costs")
        return cls(frame)
