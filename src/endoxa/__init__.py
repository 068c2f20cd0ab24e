"""Endoxa tells which retrieval system is better, and how sure one may be, when nobody holds the truth.

    >>> import endoxa
    >>> scores = endoxa.measure({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR"])
    >>> scores.to_dict()["run"]["q1"]
    {'RR': 0.5}

Verbs: read, write, believe, measure, evaluate, summarise, compare, distribution, estimate, choose, decide, judge,
backtest, rate, report, explain, pool, leave_out_uniques, fuse, check, search.
Nouns: Run, Opinions, Preferences, Belief, Labels, Taxonomy, Answers, Scores, Comparison, Evaluation, EndoxaError.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_NAMES = {
    "endoxa.verbs.read": "read",
    "endoxa.verbs.write": "write",
    "endoxa.verbs.believe": "believe",
    "endoxa.verbs.measure": "measure distribution",
    "endoxa.verbs.evaluate": "evaluate summarise",
    "endoxa.verbs.compare": "compare",
    "endoxa.verbs.estimate": "estimate",
    "endoxa.verbs.choose": "choose",
    "endoxa.verbs.decide": "decide",
    "endoxa.verbs.judge": "judge",
    "endoxa.verbs.backtest": "backtest",
    "endoxa.verbs.rate": "rate",
    "endoxa.verbs.filing": "categories",
    "endoxa.verbs.report": "report",
    "endoxa.verbs.explain": "explain",
    "endoxa.verbs.pool": "pool leave_out_uniques",
    "endoxa.verbs.fuse": "fuse",
    "endoxa.verbs.check": "check",
    "endoxa.verbs.search": "search",
    "endoxa.measures.preference_judgments": "Preferences",
    "endoxa.tables": "Run Opinions Belief Labels Taxonomy Answers Scores Comparison",
    "endoxa.evaluations.evaluation": "Evaluation",
    "endoxa.errors": "EndoxaError",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOME)

if TYPE_CHECKING:
    from endoxa.errors import EndoxaError as EndoxaError
    from endoxa.evaluations.evaluation import Evaluation as Evaluation
    from endoxa.measures.preference_judgments import Preferences as Preferences
    from endoxa.tables import Answers as Answers
    from endoxa.tables import Belief as Belief
    from endoxa.tables import Comparison as Comparison
    from endoxa.tables import Labels as Labels
    from endoxa.tables import Opinions as Opinions
    from endoxa.tables import Run as Run
    from endoxa.tables import Scores as Scores
    from endoxa.tables import Taxonomy as Taxonomy
    from endoxa.verbs.backtest import backtest as backtest
    from endoxa.verbs.believe import believe as believe
    from endoxa.verbs.check import check as check
    from endoxa.verbs.choose import choose as choose
    from endoxa.verbs.compare import compare as compare
    from endoxa.verbs.decide import decide as decide
    from endoxa.verbs.estimate import estimate as estimate
    from endoxa.verbs.evaluate import evaluate as evaluate
    from endoxa.verbs.evaluate import summarise as summarise
    from endoxa.verbs.explain import explain as explain
    from endoxa.verbs.filing import categories as categories
    from endoxa.verbs.fuse import fuse as fuse
    from endoxa.verbs.judge import judge as judge
    from endoxa.verbs.measure import distribution as distribution
    from endoxa.verbs.measure import measure as measure
    from endoxa.verbs.pool import leave_out_uniques as leave_out_uniques
    from endoxa.verbs.pool import pool as pool
    from endoxa.verbs.rate import rate as rate
    from endoxa.verbs.read import read as read
    from endoxa.verbs.report import report as report
    from endoxa.verbs.search import search as search
    from endoxa.verbs.write import write as write


def __getattr__(name: str) -> Any:
    """Load a part when it is first used, so that `import endoxa` is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'endoxa' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from endoxa.extras import refusal_of

        if (refusal := refusal_of(error.name)) is None:
            raise
        raise refusal from None


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
