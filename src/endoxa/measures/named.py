"""Measures as objects, written as in ir_measures: `nDCG @ 10`, `P(rel=2) @ 5`."""

from __future__ import annotations

from typing import Any

from endoxa.frozen import dataclass
from endoxa.measures.grammar import KNOWN, Measure, make


@dataclass(frozen=True)
class Named:
    """A measure whose cut-off or settings may still be given.

    >>> Named("P")(rel=2) @ 5
    P(rel=2)@5
    """

    name: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __call__(self, **settings: Any) -> Named:
        """The measure with these settings."""
        return Named(self.name, (*self.settings, *settings.items()))

    def __matmul__(self, cutoff: float) -> Measure:
        """The measure at a cut-off."""
        return make(self.name, dict(self.settings) | {KNOWN[self.name].cutoff or "k": cutoff}, f"{self.name}@{cutoff}")

    def __str__(self) -> str:
        """Its name, as a text that can be parsed."""
        return str(make(self.name, dict(self.settings), self.name))
