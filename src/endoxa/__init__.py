"""Endoxa tells which retrieval system is better, and how sure one may be, when nobody holds the truth.

    >>> import endoxa
    >>> scores = endoxa.measure({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR"])
    >>> scores.to_dict()["run"]["q1"]
    {'RR': 0.5}

Verbs: read, write, believe, measure, evaluate, summarise, compare, distribution, estimate, choose, rate, report, parse,
explain, pool, leave_out_uniques, check.
Nouns: Run, Opinions, Preferences, Belief, Labels, Taxonomy, Answers, Scores, Comparison, Evaluation, EndoxaError.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "read": "endoxa.verbs.read",
    "write": "endoxa.verbs.write",
    "believe": "endoxa.verbs.believe",
    "measure": "endoxa.verbs.measure",
    "distribution": "endoxa.verbs.measure",
    "evaluate": "endoxa.verbs.evaluate",
    "summarise": "endoxa.verbs.evaluate",
    "compare": "endoxa.verbs.compare",
    "estimate": "endoxa.verbs.estimate",
    "choose": "endoxa.verbs.choose",
    "rate": "endoxa.verbs.rate",
    "report": "endoxa.verbs.report",
    "explain": "endoxa.verbs.explain",
    "pool": "endoxa.verbs.pool",
    "leave_out_uniques": "endoxa.verbs.pool",
    "check": "endoxa.verbs.check",
    "parse": "endoxa.measures.grammar",
    "Measure": "endoxa.measures.grammar",
    "Preferences": "endoxa.measures.preference_judgments",
    "Run": "endoxa.tables",
    "Opinions": "endoxa.tables",
    "Belief": "endoxa.tables",
    "Labels": "endoxa.tables",
    "Taxonomy": "endoxa.tables",
    "Answers": "endoxa.tables",
    "Scores": "endoxa.tables",
    "Comparison": "endoxa.tables",
    "Evaluation": "endoxa.evaluations.evaluation",
    "EndoxaError": "endoxa.errors",
}
__all__ = [
    "Answers", "Belief", "Comparison", "EndoxaError", "Evaluation", "Labels", "Measure", "Opinions", "Preferences",
    "Run", "Scores", "Taxonomy", "believe", "check", "choose", "compare", "distribution", "estimate", "evaluate",
    "explain", "leave_out_uniques", "measure", "parse", "pool", "rate", "read", "report", "summarise", "write",
]  # fmt: skip

if TYPE_CHECKING:
    from endoxa.errors import EndoxaError
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.measures.grammar import Measure, parse
    from endoxa.measures.preference_judgments import Preferences
    from endoxa.tables import Answers, Belief, Comparison, Labels, Opinions, Run, Scores, Taxonomy
    from endoxa.verbs.believe import believe
    from endoxa.verbs.check import check
    from endoxa.verbs.choose import choose
    from endoxa.verbs.compare import compare
    from endoxa.verbs.estimate import estimate
    from endoxa.verbs.evaluate import evaluate, summarise
    from endoxa.verbs.explain import explain
    from endoxa.verbs.measure import distribution, measure
    from endoxa.verbs.pool import leave_out_uniques, pool
    from endoxa.verbs.rate import rate
    from endoxa.verbs.read import read
    from endoxa.verbs.report import report
    from endoxa.verbs.write import write


def __getattr__(name: str) -> Any:
    """Load a part when it is first used, so that `import endoxa` is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'endoxa' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
