"""Every outcome of a few items, and the measures by plain definition: oracles of closed forms and distributions."""

import math
from itertools import product

import numpy as np
from hypothesis import strategies as st

from endoxa.measures.distributions import gathered
from endoxa.statistics.poisson_binomial import pmf

NAN = math.nan
SEVEN = np.array([0.9, 0.6, 0.8, 0.2, 0.5, 0.1, 0.3])  # docs/methods/distributions.md, Closed forms
chances = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-9, 1 - 1e-9]), st.floats(0, 1))


def outcomes(p):
    """Every assignment of relevance, with its probability."""
    for z in product((0, 1), repeat=len(p)):
        yield z, math.prod(one if there else 1 - one for one, there in zip(p, z, strict=True))


# ---- plain definitions; z says which items of the pool are relevant, `found` = [(rank, place in the pool)]


def hits(z, found, k):
    return sum(z[place] for rank, place in found if k is None or rank <= k)


def plain_precision(z, found, length, k=None):
    size = length if k is None else k
    return hits(z, found, k) / size if size else NAN


def plain_recall(z, found, length, k=None):
    return hits(z, found, k) / sum(z) if any(z) else NAN


def plain_f(z, found, length, k=None, beta=1.0):
    if not any(z):
        return NAN
    size = length if k is None else k
    below = beta**2 * sum(z) + size
    return (1 + beta**2) * hits(z, found, k) / below if below else NAN


def plain_rr(z, found, length, k=None):
    return next((1 / rank for rank, place in found if z[place] and (k is None or rank <= k)), 0.0)


def plain_success(z, found, length, k=None):
    return float(hits(z, found, k) > 0)


def plain_ap(z, found, length, k=None):
    if not any(z):
        return NAN
    within = [(rank, place) for rank, place in found if z[place] and (k is None or rank <= k)]
    return sum((i + 1) / rank for i, (rank, _) in enumerate(within)) / sum(z)


def listed_ap(p, rest, rank):
    """The distribution of AP, every outcome of the items in doubt listed; `rest` holds the p of items not retrieved."""
    hits, sums, chance = np.zeros(1), np.zeros(1), np.ones(1)
    for one, place in zip(p.tolist(), rank.tolist(), strict=True):
        found = (hits + 1, sums + (hits + 1) / place, chance * one)
        if one == 1:
            hits, sums, chance = found
        elif one > 0:
            hits, sums = np.append(hits, found[0]), np.append(sums, found[1])
            chance = np.append(chance * (1 - one), found[2])
    missed = pmf(rest[rest > 0])
    total = hits[:, None] + np.arange(len(missed))
    mass, some = chance[:, None] * missed, total > 0
    values = np.broadcast_to(sums[:, None], total.shape)[some] / total[some]
    return gathered(values, mass[some], float(mass[~some].sum()))
