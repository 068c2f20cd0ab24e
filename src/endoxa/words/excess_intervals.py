"""How much excess would vary with other topics (or other pictures): a standard error and an interval.

With the components where the word exceeds the others fixed, J = {j: m_j > c_j}, excess is a difference of two ratios,
G_X/R_X - G_0/R_0, where G sums γ over J and R counts regions. Leaving out a little of topic t moves it by

    u_t = (G_Xt - (G_X/R_X) R_Xt)/R_X - (G_0t - (G_0/R_0) R_0t)/R_0,    se² = k/(k-1) Σ_t u_t²

with k topics that have the word, and the interval is excess - null mean ± t_{k-1} se (the infinitesimal jackknife, or
linearised sandwich estimator, over topics). Without topics the pictures take their place.

Coverage, simulated (tests/real/test_visual_real.py: 5 to 20 topics with the word, none to .4 of its regions special):
95 % intervals contain the average of excess - null mean over repetitions in 94 to 100 % of 200 repetitions, over topics
and over pictures alike; those of deleting a topic at a time, which let J change, in 91 to 99 %. They are too wide for
words that are not visual. Misleads: it is no interval for the share of special regions in the population, which is
larger: where a word is visual, the null mean takes away more than chance added. Where pictures come in topics and these
are not given, intervals over pictures are far too narrow (they covered 43 to 72 %).
Source: Efron, The Jackknife, 1982, chapter 6; docs/methods/words.md, Interval of the excess.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from endoxa.tables import Floats, Ints
from endoxa.words.profiles import Contrast, Has, Profiles


def excess_errors(profiles: Profiles, has: Has, found: list[Contrast], groups: Ints) -> tuple[Floats, Ints]:
    """The standard error of each word's excess, and its number k of groups (topics, or pictures); NaN where k < 2."""
    above = np.mean([sums @ (one.m > one.c).T for sums, one in zip(profiles.sums, found, strict=True)], axis=0)
    own, regions = has.T, profiles.counts[:, None]
    moved = np.zeros(above.shape)
    for inside, sign in ((own, 1.0), (~own, -1.0)):
        whole = (inside * regions).sum(axis=0)
        level = (inside * above).sum(axis=0) / whole
        moved += sign * inside * (above - level * regions) / whole
    count = int(groups.max()) + 1
    by_group = np.zeros((count, moved.shape[1]))
    np.add.at(by_group, groups, moved)
    k = np.array([len(np.unique(groups[row])) for row in has], dtype=np.int64)
    factor = np.divide(k, k - 1, out=np.full(len(k), np.nan), where=k > 1)
    return np.sqrt(factor * (by_group**2).sum(axis=0)), k


def half_widths(errors: Floats, k: Ints, confidence: float = 0.95) -> Floats:
    """t_{k-1} se: what is added on either side; NaN where k < 2."""
    return np.asarray(np.where(k > 1, student.ppf((1 + confidence) / 2, np.maximum(k - 1, 1)) * errors, np.nan))
