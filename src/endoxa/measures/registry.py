"""The table of measures. A measure is one function: its name, settings, help and laws follow from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from endoxa.frozen import dataclass
from endoxa.later import functions_of
from endoxa.tables import Floats

if TYPE_CHECKING:
    from endoxa.measures import all_orders as orders
    from endoxa.measures import closed_forms as exact
    from endoxa.measures import linear
    from endoxa.measures.closed_forms import Difference, Moments, SumForm
    from endoxa.measures.distributions import Distribution
    from endoxa.measures.linear import LinearForm
else:  # forms under a belief and of ties, which plain judgments do not need
    orders = functions_of("endoxa.measures.all_orders")
    exact = functions_of("endoxa.measures.closed_forms")
    linear = functions_of("endoxa.measures.linear")

__all__ = ["ALIASES", "REGISTRY", "Definition", "Kernel", "exact", "linear", "orders", "register"]

Kernel = Callable[..., Any]  # Lists and settings to one value per list: a number, or a text
K = TypeVar("K", bound=Kernel)
Bounds = Callable[..., tuple[Floats, Floats]]
Aggregate = Literal["mean", "sum", "geometric"]


@dataclass(frozen=True)
class Definition:
    """What is known about a measure beside its settings.

    aggregate  how queries are summed up
    additive   linear in weights of single ranks, or without ranks: the kernel then gives the mean over tied orders
    average    tied lists, settings -> the exact mean over all orders of equal scores, if the measure is not additive
    bounds     the least and greatest value when unjudged items may be anything
    low, high  the range of one query's value
    monotone   moving a relevant item up never lowers the value
    best_first what comes first in the best order of equal scores (or in the worst, if lower is better): the most gain,
               or judged items; None if neither decides, and `ties="range"` then tries all orders
    lower      smaller is better
    text       the value is a text, not a number (relstring)
    judged     the value depends on judgments

    Closed forms apply where relevance is a probability. They take the settings of the measure except `rel`, which the
    probabilities already respect, and return None for settings that have no such form:
    moments     Chances, settings -> Moments: mean, square and undefined mass for a table of lists
    law         OneList, settings -> Distribution: every value that one list may have
    difference  p of common items, of A's and of B's own, sizes, settings -> Difference: A against B on one query
    sum_form    settings -> SumForm: the value as a sum over items, or as a ratio of such sums
    linear      settings -> LinearForm: the value at expected relevance with its derivatives
    """

    name: str
    kernel: Kernel
    aggregate: Aggregate = "mean"
    additive: bool = False
    average: Kernel | None = None
    bounds: Bounds | None = None
    low: float = 0.0
    high: float = 1.0
    monotone: bool = True
    best_first: Literal["gain", "judged"] | None = "gain"
    lower: bool = False
    text: bool = False
    judged: bool = True
    moments: Callable[..., Moments | None] | None = None
    law: Callable[..., Distribution | None] | None = None
    difference: Callable[..., Difference | None] | None = None
    sum_form: Callable[..., SumForm | None] | None = None
    linear: Callable[..., LinearForm | None] | None = None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Names and defaults of the settings; `inspect.Parameter.empty` where one must be given."""
        parameters = list(inspect.signature(self.kernel).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters}

    @property
    def cutoff(self) -> str | None:
        """The setting that stands behind the @: `k` for most, `recall` for interpolated precision, else None."""
        return next((name for name in ("k", "recall") if name in self.settings), None)

    @property
    def mean_of_orders(self) -> Kernel | None:
        """The exact mean over all orders of equal scores, from lists with `block` and `length`; None if unknown."""
        return self.kernel if self.additive else self.average

    @property
    def exact(self) -> list[str]:
        """What is exact under a belief, in words."""
        forms = {
            "mean and spread": self.moments,
            "distribution on one query": self.law,
            "comparison of two systems on one query": self.difference,
            "estimate from sampled judgments": self.sum_form,
        }
        return [words for words, form in forms.items() if form is not None]

    @property
    def doc(self) -> str:
        """The docstring, dedented."""
        return inspect.getdoc(self.kernel) or ""


REGISTRY: dict[str, Definition] = {}

ALIASES = {
    "MAP": "AP", "MRR": "RR", "NDCG": "nDCG", "Precision": "P", "Recall": "R", "BPref": "Bpref", "RPrec": "Rprec",
}  # fmt: skip


def register(name: str, **known: Any) -> Callable[[K], K]:
    """Enter a kernel into the table under its name."""

    def enter(kernel: K) -> K:
        REGISTRY[name] = Definition(name, kernel, **known)
        return kernel

    return enter
