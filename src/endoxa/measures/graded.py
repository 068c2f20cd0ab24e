"""Gimel'farb's graded counts: precision, recall, fallout and generality with relevances in [0, 1].

With W the relevance of each item and n the cut-off: A = Σ W within n, B = n − A, C = Σ W beyond n,
D = N − n − C. A relevance outside [0, 1] is an error; five-level grades g are rescaled by (g + 2)/4.
`N`, the size of the collection, is asked for only where it matters.
"""

from __future__ import annotations

import math

from endoxa.errors import TableError, TextError
from endoxa.later import np
from endoxa.measures.lists import Lists, ratio
from endoxa.measures.registry import register
from endoxa.measures.sets import unjudged_within
from endoxa.tables import Floats


def _worth(grade: Floats) -> Floats:
    return np.where(grade > 0, grade, 0.0)


def counts(lists: Lists, k: int | None, N: int | None = None) -> tuple[Floats, Floats, Floats, Floats]:
    """A, B, C and D. D is NaN where N is not known."""
    if (lists.pool > 1).any():
        raise TableError(
            f"graded counts take relevances in [0, 1], and a grade is {np.nanmax(lists.pool):g}",
            remedy="rescale the grades",
        )
    n = lists.retrieved if k is None else np.minimum(lists.retrieved, k)
    a = np.asarray((_worth(lists.grade) * lists.within(k)).sum(-1))
    c = np.asarray(_worth(lists.pool).sum(-1)) - a
    d = np.full(a.shape, np.nan) if N is None else N - n - c
    if N is not None and (np.asarray(N) < np.maximum(n, (lists.pool >= 0).sum(-1))).any():
        raise TextError(
            f"N={N} is smaller than a list or its judgments", remedy="N is the size of the whole collection"
        )
    return a, np.asarray(n - a), c, np.asarray(d)


@register("A", additive=True, high=math.inf)
def A(lists: Lists, *, k: int) -> Floats:
    """Relevance retrieved: the sum of the relevances of the first k.

    Formula: A = Σ W over the first k.
    Misleads: a sum; it grows with k.
    Source: Gimel'farb.
    """
    return counts(lists, k)[0]


@register("B", additive=True, high=math.inf, monotone=False, lower=True)
def B(lists: Lists, *, k: int) -> Floats:
    """Irrelevance retrieved in the first k.

    Formula: B = n − A.
    Misleads: unjudged items count as irrelevant.
    Source: Gimel'farb.
    """
    return counts(lists, k)[1]


@register("C", additive=True, high=math.inf, monotone=False, lower=True)
def C(lists: Lists, *, k: int) -> Floats:
    """Relevance missed by the first k.

    Formula: C = Σ W over everything judged − A.
    Misleads: unjudged relevance is not in it.
    Source: Gimel'farb.
    """
    return counts(lists, k)[2]


@register("D", additive=True, high=math.inf)
def D(lists: Lists, *, k: int, N: int) -> Floats:
    """Irrelevance left out by the first k, in a collection of N items.

    Formula: D = N − n − C.
    Misleads: dominated by the size of the collection.
    Source: Gimel'farb.
    """
    return counts(lists, k, N)[3]


def _precision_bounds(lists: Lists, *, k: int | None = None) -> tuple[Floats, Floats]:
    a, b, _, _ = counts(lists, k)
    return ratio(a, a + b), ratio(a + unjudged_within(lists, k), a + b)


@register("GradedP", additive=True, bounds=_precision_bounds)
def GradedP(lists: Lists, *, k: int | None = None) -> Floats:
    """Graded precision of the first k, or of the whole list.

    Formula: A / n, n the number retrieved in the first k. Undefined for an empty list.
    Misleads: a mean relevance, not a share of relevant items.
    Source: Gimel'farb; Lamiroy and Sun's Pr where relevances are consensus probabilities.
    """
    a, b, _, _ = counts(lists, k)
    return ratio(a, a + b)


def _recall_bounds(lists: Lists, *, k: int | None = None, N: int | None = None) -> tuple[Floats, Floats]:
    if N is None:
        raise TextError("the bounds of graded recall need the size of the collection: GradedR(N=1000)@10")
    a, b, _, _ = counts(lists, k, N)
    return ratio(a, a + N - (a + b)), np.ones_like(a)


@register("GradedR", additive=True, bounds=_recall_bounds)
def GradedR(lists: Lists, *, k: int | None = None, N: int | None = None) -> Floats:
    """Graded recall of the first k, or of the whole list.

    Formula: A / (A + C). If only the first k were judged it lies between A/(A + N − n) and 1; the printed
    lower bound A/(N − n − A) of the source is wrong. N is needed for the bounds only.
    Misleads: unjudged relevance is taken as 0. Of probabilities it is a ratio of expectations, not expected recall.
    Source: Gimel'farb, corrected (docs/errata.md); Lamiroy and Sun's Rc.
    """
    a, _, c, _ = counts(lists, k, N)
    return ratio(a, a + c)


@register("GradedF", additive=True)
def GradedF(lists: Lists, *, k: int | None = None, beta: float = 1) -> Floats:
    """Weighted harmonic mean of graded precision and graded recall.

    Formula: (1 + beta²) A / (n + beta² (A + C)). Undefined only where the list and the relevance are both empty.
    Misleads: where relevances are shrunk towards each other, returning everything may score best.
    Source: Lamiroy and Sun 2011; docs/methods/distributions.md, Graded measures.
    """
    a, b, c, _ = counts(lists, k)
    return ratio((1 + beta * beta) * a, a + b + beta * beta * (a + c))


def _fallout_bounds(lists: Lists, *, k: int, N: int) -> tuple[Floats, Floats]:
    a, b, _, _ = counts(lists, k, N)
    least = b - unjudged_within(lists, k)  # unjudged items may all be relevant
    return ratio(least, least + N - (a + b)), np.where(b > 0, 1.0, np.nan)


@register("Fallout", additive=True, bounds=_fallout_bounds, monotone=False, lower=True)
def Fallout(lists: Lists, *, k: int, N: int) -> Floats:
    """Share of the irrelevance of a collection of N items that the first k let in; smaller is better.

    Formula: B / (B + D). If only the first k were judged it lies between B/(B + N − n) and 1.
    Misleads: the false-positive rate; tiny in large collections whatever the list.
    Source: Gimel'farb.
    """
    _, b, _, d = counts(lists, k, N)
    return ratio(b, b + d)


@register("Generality", additive=True, monotone=False)
def Generality(lists: Lists, *, N: int) -> Floats:
    """Share of relevance in a collection of N items: the expected precision of a random ranking.

    Formula: (A + C) / N.
    Misleads: says nothing of the system. Precision-recall curves of collections with different generality
    cannot be compared: P = R·G / (R·G + F·(1 − G)).
    Source: Gimel'farb.
    """
    a, _, c, _ = counts(lists, None)
    return ratio(a + c, np.asarray(N))
