"""Measures: a value per system, query and measure, from runs and judgments.

Every measure is here as an object too: `from endoxa.measures import nDCG, P`, then `nDCG @ 10`, `P(rel=2) @ 5`.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """A measure of the registry by its name."""
    if not name.islower():  # a name of a module is; the registry is not there yet while modules are loaded
        from endoxa.measures.grammar import KNOWN
        from endoxa.measures.named import Named

        if name in KNOWN:
            return Named(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
