"""Endoxa tells which retrieval system is better, and how sure one may be, when nobody holds the truth.

    >>> import endoxa
    >>> scores = endoxa.measure({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR"])
    >>> scores.to_dict()["run"]["q1"]
    {'RR': 0.5}

Verbs: read, believe, measure, appraise, summarise, compare, distribution, estimate, choose, report, write, parse,
explain, pool, leave_out_uniques.
Nouns: Run, Opinions, Preferences, Belief, Scores, Comparison, Policy, Measure, Report, EndoxaError.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "read": "endoxa.io.read",
    "believe": "endoxa.doubt",
    "measure": "endoxa.verbs",
    "appraise": "endoxa.doubt",
    "distribution": "endoxa.doubt",
    "estimate": "endoxa.doubt",
    "choose": "endoxa.doubt",
    "summarise": "endoxa.verbs",
    "compare": "endoxa.verbs",
    "report": "endoxa.verbs",
    "write": "endoxa.verbs",
    "parse": "endoxa.measures.grammar",
    "explain": "endoxa.measures.explain",
    "pool": "endoxa.verbs",
    "leave_out_uniques": "endoxa.verbs",
    "Run": "endoxa.tables",
    "Opinions": "endoxa.tables",
    "Preferences": "endoxa.measures.preference_judgments",
    "Belief": "endoxa.tables",
    "Scores": "endoxa.tables",
    "Comparison": "endoxa.tables",
    "Policy": "endoxa.policies",
    "Measure": "endoxa.measures.grammar",
    "Report": "endoxa.reports",
    "EndoxaError": "endoxa.errors",
}
__all__ = [
    "Belief",
    "Comparison",
    "EndoxaError",
    "Measure",
    "Opinions",
    "Policy",
    "Preferences",
    "Report",
    "Run",
    "Scores",
    "appraise",
    "believe",
    "choose",
    "compare",
    "distribution",
    "estimate",
    "explain",
    "leave_out_uniques",
    "measure",
    "parse",
    "pool",
    "read",
    "report",
    "summarise",
    "write",
]

if TYPE_CHECKING:
    from endoxa.doubt import appraise, believe, choose, distribution, estimate
    from endoxa.errors import EndoxaError
    from endoxa.io.read import read
    from endoxa.measures.explain import explain
    from endoxa.measures.grammar import Measure, parse
    from endoxa.measures.preference_judgments import Preferences
    from endoxa.policies import Policy
    from endoxa.reports import Report
    from endoxa.tables import Belief, Comparison, Opinions, Run, Scores
    from endoxa.verbs import compare, leave_out_uniques, measure, pool, report, summarise, write


def __getattr__(name: str) -> Any:
    """Load a part when it is first used, so that `import endoxa` is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'endoxa' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
