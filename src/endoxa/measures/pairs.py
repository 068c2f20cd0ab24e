"""Measures of preferences: how many pairs of items a list puts in the order that judges prefer.

A judge's preferences are a `Group`; a list seen through them is a `Ranking`; a measure is a function of one
`Ranking`. Only items that stand in some preference have a position; the others do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from endoxa.frozen import dataclass
from endoxa.later import np
from endoxa.measures.lists import CELLS, ratio
from endoxa.measures.registry import Definition, Kernel
from endoxa.policies import Compat
from endoxa.tables import Bools, Floats, Ints

BOTH, ONE, NEITHER = range(3)  # how many items of a preferred pair were retrieved


@dataclass(frozen=True)
class Group:
    """The preferences of one judge for one query.

    items    places of the judged items among the items of the query
    level    their levels; above 0 is relevant
    closure  [i, j] whether item i is preferred to item j, where the judge ordered only parts; without it every
             item of a higher level is preferred to every item of a lower one
    """

    items: Ints
    level: Floats
    closure: Bools | None = None

    def preferred(self, rows: Ints, columns: Ints) -> Bools:
        """[row, column] whether the one is preferred to the other; both count the items of the group."""
        if self.closure is not None:
            return self.closure[np.ix_(rows, columns)]
        return np.asarray(self.level[rows][:, None] > self.level[columns])


@dataclass(frozen=True)
class Ranking:
    """A list as the judges see it.

    groups     one per judge
    position   of every judged item of the query: 0, 1, … in rank order, then those not retrieved, by name
    retrieved  how many of these were retrieved
    """

    groups: tuple[Group, ...]
    position: Ints
    retrieved: int

    def order(self, group: Group) -> tuple[Ints, int]:
        """The group's items in order of position, and how many of them were retrieved."""
        position = self.position[group.items]
        return np.argsort(position), int((position < self.retrieved).sum())

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """Preferences fulfilled and possible, as [group, BOTH | ONE | NEITHER]."""
        made = np.array([tally(group, *self.order(group)) for group in self.groups])
        return made[:, 0], made[:, 1]

    @cached_property
    def agreement(self) -> tuple[Floats, Floats]:
        """[BOTH | ONE | NEITHER]: shares of judges that the list agrees with, summed over pairs of items; pairs."""
        if len(self.groups) == 1:  # one judge: the list agrees or it does not
            fulfilled, possible = self.counts
            return fulfilled[0].astype(float), possible[0].astype(float)
        size = len(self.position)
        shares, pairs = np.zeros(3), np.zeros(3)
        for rows in spans(size, self.retrieved):
            along, against = self._votes(rows)
            votes = along + against
            share = ratio(along, votes)
            share[votes == 0] = 0.0
            if rows.start < self.retrieved:
                shares += [share[:, : self.retrieved].sum(), share[:, self.retrieved :].sum(), 0.0]
                pairs += [_count(votes[:, : self.retrieved]), _count(votes[:, self.retrieved :]), 0]
            else:
                pairs[NEITHER] += _count(votes)
        return shares, pairs

    def _votes(self, rows: slice) -> tuple[Ints, Ints]:
        """[position, later position] how many judges prefer the earlier item, and how many the later one."""
        along = np.zeros((rows.stop - rows.start, len(self.position)), dtype=np.int64)
        against = np.zeros_like(along)
        for group in self.groups:
            position = self.position[group.items]
            mine = np.flatnonzero((position >= rows.start) & (position < rows.stop))
            everyone = np.arange(len(position))
            at = np.ix_(position[mine] - rows.start, position)
            along[at] += group.preferred(mine, everyone)
            against[at] += group.preferred(everyone, mine).T
        return np.triu(along, rows.start + 1), np.triu(against, rows.start + 1)


def _count(cells: Bools | Ints) -> int:
    return int(np.count_nonzero(cells))


def spans(size: int, cut: int) -> Iterator[slice]:
    """Rows 0 … size in pieces whose matrices have at most CELLS cells; none goes across `cut`."""
    step = max(CELLS // max(size, 1), 1)
    for low, high in ((0, cut), (cut, size)):
        for start in range(low, high, step):
            yield slice(start, min(start + step, high))


def tally(group: Group, order: Ints, retrieved: int) -> tuple[Ints, Ints]:
    """Preferences fulfilled and possible among these items, as [BOTH | ONE | NEITHER].

    A preference is fulfilled if the preferred item stands before the other, or was retrieved and the other was
    not. If neither was, it is not.
    """
    fulfilled, possible = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for rows in spans(len(order), retrieved):
        wins = group.preferred(order[rows], order)
        found, lost = wins[:, :retrieved], wins[:, retrieved:]
        if rows.start < retrieved:
            possible += [_count(found), _count(lost), 0]
            fulfilled += [_count(np.triu(found, rows.start + 1)), _count(lost), 0]
        else:
            possible += [0, _count(found), _count(lost)]
    return fulfilled, possible


def balanced(ranking: Ranking, group: Group, *, only_retrieved: bool) -> tuple[int, int]:
    """Preferences fulfilled and possible, with as many irrelevant items (cut or imagined) as relevant ones."""
    order, retrieved = ranking.order(group)
    if only_retrieved:
        order = order[:retrieved]
    relevant = group.level[order] > 0
    R, N = int(relevant.sum()), int((~relevant).sum())
    stays = relevant | (np.cumsum(~relevant) <= R)
    fulfilled, possible = tally(group, order[stays], int(stays[:retrieved].sum()))
    imagined = max(R - N, 0)
    return int(fulfilled.sum() + relevant[:retrieved].sum() * imagined), int(possible.sum() + R * imagined)


def balanced_as_trec_eval(ranking: Ranking, group: Group, *, only_retrieved: bool) -> tuple[int, int]:
    """The same with the digits of trec_eval, which departs from its own description.

    Irrelevant is level 0 if there are subgroups, else 0 and below. Without subgroups only the lowest level is cut, and
    then compared with itself. With subgroups the cut is at the number of relevant items, retrieved or not.
    """
    order, retrieved = ranking.order(group)
    level = group.level[order]
    known = int((level > 0).sum())
    lowest = level == (level.min() if group.closure is None else 0)
    if only_retrieved:
        order, level, lowest = order[:retrieved], level[:retrieved], lowest[:retrieved]
    R = int((level > 0).sum())
    N = int((level <= 0).sum() if group.closure is None else (level == 0).sum())
    if R >= N:
        fulfilled, possible = tally(group, order, retrieved)
        found = int((level[:retrieved] > 0).sum())
        return int(fulfilled.sum()) + found * (R - N), int(possible.sum()) + known * (R - N)
    stays = ~lowest | (np.cumsum(lowest) <= (R if group.closure is None else known))
    fulfilled, possible = tally(group, order[stays], int(stays[:retrieved].sum()))
    if group.closure is not None:
        return int(fulfilled.sum()), int(possible.sum())
    rivals = int(lowest.sum())
    kept = min(R, rivals)
    before = min(int(lowest[:retrieved].sum()), kept)
    return int(fulfilled.sum()) + before * kept - before * (before + 1) // 2, int(possible.sum()) + rivals * kept


def _simple(ranking: Ranking, least: int) -> Floats:
    """Preferences fulfilled / possible, where at least so many of the two items were retrieved."""
    fulfilled, possible = ranking.counts
    return ratio(fulfilled[:, : 3 - least].sum(), possible[:, : 3 - least].sum())


def _by_pair(ranking: Ranking, least: int) -> Floats:
    shares, pairs = ranking.agreement
    return ratio(shares[: 3 - least].sum(), pairs[: 3 - least].sum())


def _by_group(ranking: Ranking, least: int, compat: Compat) -> Floats:
    """Mean over the groups that express a preference; trec_eval counts the others as 0."""
    fulfilled, possible = ranking.counts
    shares = ratio(fulfilled[:, : 3 - least].sum(-1), possible[:, : 3 - least].sum(-1))
    defined = shares[~np.isnan(shares)]
    if not len(defined):
        return np.asarray(np.nan)
    return np.asarray(defined.mean() if compat == "none" else defined.sum() / len(shares))


def _by_balanced_group(ranking: Ranking, only_retrieved: bool, compat: Compat) -> Floats:
    """Mean over the groups that express a preference; in trec_eval one without spoils the query: 0."""
    count = balanced if compat == "none" else balanced_as_trec_eval
    counts = np.array([count(ranking, group, only_retrieved=only_retrieved) for group in ranking.groups])
    shares = ratio(counts[:, 0], counts[:, 1])
    defined = shares[~np.isnan(shares)]
    if not len(defined) or (compat != "none" and len(defined) < len(shares)):
        return np.asarray(np.nan)
    return np.asarray(defined.mean())


# ---- the measures, in trec_eval's order ----------------------------------------------------------------

PREFERENCES: dict[str, Definition] = {}


def prefer(**known: Any) -> Callable[[Kernel], Kernel]:
    """Enter a kernel under its own name, that of trec_eval. None is monotone: an item may pass a preferred one."""

    def enter(kernel: Kernel) -> Kernel:
        name: str = kernel.__name__
        PREFERENCES[name] = Definition(name, kernel, monotone=False, **known)
        return kernel

    return enter


COUNT = {"aggregate": "sum", "high": math.inf}


@prefer(**COUNT)
def prefs_num_prefs_poss(ranking: Ranking) -> Floats:
    """Number of preferences known.

    Formula: Σ over groups |{(A, B): A preferred to B}|, retrieved or not; summed over queries.
    Misleads: a count of judgments, not a quality; it grows with the square of the items judged.
    Source: trec_eval prefs_num_prefs_poss.
    """
    return np.asarray(float(ranking.counts[1].sum()))


@prefer(**COUNT)
def prefs_num_prefs_ful(ranking: Ranking) -> Floats:
    """Number of preferences fulfilled.

    Formula: Σ over groups |{(A, B): A preferred to B, and A stands before B or only A was retrieved}|; summed
    over queries.
    Misleads: queries with many judged items decide the sum.
    Source: trec_eval prefs_num_prefs_ful.
    """
    return np.asarray(float(ranking.counts[0].sum()))


@prefer(**COUNT)
def prefs_num_prefs_ful_ret(ranking: Ranking) -> Floats:
    """Number of preferences fulfilled where both items were retrieved.

    Formula: Σ over groups |{(A, B): A preferred to B, A stands before B, both retrieved}|; summed over queries.
    Misleads: a longer list has more pairs to get right.
    Source: trec_eval prefs_num_prefs_ful_ret.
    """
    return np.asarray(float(ranking.counts[0][:, BOTH].sum()))


@prefer()
def prefs_simp(ranking: Ranking) -> Floats:
    """Share of all preferences that the list fulfils.

    Formula: prefs_num_prefs_ful / prefs_num_prefs_poss. A pair of which neither item was retrieved fails.
    Misleads: a judge of many items outweighs a judge of few; where judges disagree 1 cannot be reached.
    Source: trec_eval prefs_simp; Carterette, Bennett, Chickering, Dumais 2008.
    """
    return _simple(ranking, 0)


@prefer()
def prefs_pair(ranking: Ranking) -> Floats:
    """Share of judges that the list agrees with on a pair of items, averaged over pairs.

    Formula: mean over pairs {A, B} with a preference of |judges who prefer the one that stands first| /
    |judges with a preference|; 0 if neither was retrieved. With one group it is prefs_simp.
    Misleads: a pair on which one judge spoke weighs as much as one on which a hundred did.
    Source: trec_eval prefs_pair.
    """
    return _by_pair(ranking, 0)


@prefer()
def prefs_avgjg(ranking: Ranking, *, compat: Compat = "none") -> Floats:
    """Share of preferences that the list fulfils, averaged over judges.

    Formula: mean over groups of fulfilled / possible; groups that prefer nothing are left out.
    Misleads: a judge of two items weighs as much as a judge of fifty. trec_eval counts a group that prefers
    nothing as 0.
    Source: trec_eval prefs_avgjg.
    """
    return _by_group(ranking, 0, compat)


@prefer()
def prefs_avgjg_Rnonrel(ranking: Ranking, *, compat: Compat = "none") -> Floats:
    """prefs_avgjg with as many irrelevant items as relevant ones in every group.

    Formula: in a group with R relevant (level above 0) and N irrelevant items count only the first R irrelevant
    ones if N > R, else add R − N that no list retrieves: R·(R − N) preferences; then as prefs_avgjg.
    Misleads: a judge who found nothing irrelevant still gets preferences, which every retrieved relevant item
    fulfils. trec_eval also compares the irrelevant items with each other, N·R pairs of which at most R·(R − 1)/2
    count as fulfilled, so that a group with many of them scores near 0; a query with one group that found
    nothing relevant scores 0.
    Source: trec_eval prefs_avgjg_Rnonrel.
    """
    return _by_balanced_group(ranking, False, compat)


@prefer()
def prefs_simp_ret(ranking: Ranking) -> Floats:
    """Share of the preferences between retrieved items that the list fulfils.

    Formula: fulfilled / possible over pairs of which both items were retrieved.
    Misleads: it rewards lists that leave out what they cannot order.
    Source: trec_eval prefs_simp_ret.
    """
    return _simple(ranking, 2)


@prefer()
def prefs_pair_ret(ranking: Ranking) -> Floats:
    """Share of judges that the list agrees with, averaged over pairs of retrieved items.

    Formula: as prefs_pair, over pairs of which both items were retrieved.
    Misleads: it rewards lists that leave out what they cannot order.
    Source: trec_eval prefs_pair_ret.
    """
    return _by_pair(ranking, 2)


@prefer()
def prefs_avgjg_ret(ranking: Ranking, *, compat: Compat = "none") -> Floats:
    """Share of the preferences between retrieved items that the list fulfils, averaged over judges.

    Formula: as prefs_avgjg, over pairs of which both items were retrieved.
    Misleads: it rewards lists that leave out what they cannot order; trec_eval counts a judge of whom no pair
    was retrieved as 0.
    Source: trec_eval prefs_avgjg_ret.
    """
    return _by_group(ranking, 2, compat)


@prefer()
def prefs_avgjg_Rnonrel_ret(ranking: Ranking, *, compat: Compat = "none") -> Floats:
    """prefs_avgjg_ret with as many irrelevant items as relevant ones in every group.

    Formula: as prefs_avgjg_Rnonrel, with R and N counted among the retrieved items.
    Misleads: as prefs_avgjg_Rnonrel; and one relevant item alone is a perfect list. trec_eval counts imagined
    preferences of relevant items that were not retrieved as possible.
    Source: trec_eval prefs_avgjg_Rnonrel_ret.
    """
    return _by_balanced_group(ranking, True, compat)


@prefer()
def prefs_simp_imp(ranking: Ranking) -> Floats:
    """Share of the preferences that touch the list which it fulfils.

    Formula: fulfilled / possible over pairs of which at least one item was retrieved.
    Misleads: what was not retrieved at all costs nothing.
    Source: trec_eval prefs_simp_imp.
    """
    return _simple(ranking, 1)


@prefer()
def prefs_pair_imp(ranking: Ranking) -> Floats:
    """Share of judges that the list agrees with, averaged over pairs that touch the list.

    Formula: as prefs_pair, over pairs of which at least one item was retrieved.
    Misleads: what was not retrieved at all costs nothing.
    Source: trec_eval prefs_pair_imp.
    """
    return _by_pair(ranking, 1)


@prefer()
def prefs_avgjg_imp(ranking: Ranking, *, compat: Compat = "none") -> Floats:
    """Share of the preferences that touch the list which it fulfils, averaged over judges.

    Formula: as prefs_avgjg, over pairs of which at least one item was retrieved.
    Misleads: what was not retrieved at all costs nothing.
    Source: trec_eval prefs_avgjg_imp.
    """
    return _by_group(ranking, 1, compat)
