"""Weighted displacement: a system's list against a subject's own ranked answer.

The subject's answer is the ideal; each of its items counts by how far the system put it from there, weighted by
the relevance that the subject gave it. Kernels take arrays whose last axis is the subject's rank; every axis before
it broadcasts. Relevance falls along it; NaN is padding, at the end.

Whatever is not ordered is in random order: items that the subject holds for equally relevant stand as the system has
them, and items in one run of equal scores, or behind the end of the system's list, take its places by chance. All
three are one question, answered by `_gap`: t equals at places a … a+t-1, drawn among M places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl
from scipy import special

from endoxa.errors import JoinError, TableError, TextError, did_you_mean
from endoxa.measures.lists import CELLS, ratio
from endoxa.policies import refuse_choice
from endoxa.tables import Answers, Bools, Floats, Ints, Run

Rule = Literal["uniform", "optimist", "printed", "tail", "worst", "incremental"]
Scale = Literal["mean", "chance", "raw"]
Quality = Literal["rational", "exponential"]

NUMBERS = ("displacement", "per_item", "quality", "score", "returned")


def displacement(
    relevance: Floats, first: Ints, *, returned: Ints | int, N: Ints | int, length: Ints | int = 1,
    rule: Rule = "uniform",
) -> Floats:  # fmt: skip
    """Weighted displacement w of the subject's items in the system's list; NaN where no item has relevance.

    relevance  [..., m]  s of the item at the subject's rank k; in [0, 1], falling; NaN is padding
    first      [..., m]  the item's rank in the system's list (the first rank of its run of equal scores); 0 where it
                         was not returned
    length     [..., m]  size of that run; the value is the expectation over its orders
    returned   [...]     length m' of the system's list
    N          [...]     size of the collection

    Formula: w = Σ s_k |k - rank of item k|. Items of equal s stand in the order in which the system has them, which
    is the order that costs least. Items B that were not returned, at the subject's ranks β_1 < β_2 < …:
        uniform      in random order at ranks m'+1 … N: Σ s E|u - β|
        optimist     at m'+1, m'+2, …: the least they can cost
        tail         at N-|B|+1, … N
        worst        the most they can cost; most relevant last, unless N is so small that some cost more in front
        printed      Σ s N, which is more than any place costs
        incremental  an error if there are any: ask the system for more items
    Misleads: grows with the length of the lists; scale it before comparing queries. Under all rules but optimist it
    grows with N, which is often a guess, and mostly says how much was returned.
    Source: Santini, Benchmarking without ground truth, eqs. 17-23. Weights the right item, where eq. 17 weights the
    one that stands at its place. `uniform` is ours; it is Σ s ((m'+1+N)/2 - β) where the system returns at least as
    many items as the subject.
    """
    refuse_choice("rule", rule, get_args(Rule))
    lists = _checked(relevance, first, length, returned, N)
    costs = np.zeros(len(lists.relevance))
    flat = _flattened(lists)
    apart = np.zeros(len(flat.row), dtype=bool) if rule == "uniform" else flat.missing
    _charge(costs, flat, ~apart)
    if apart.any():
        row, place, s = flat.row[apart], flat.place[apart], flat.relevance[apart]
        if rule == "incremental":
            raise JoinError(
                f"the system did not return the item at rank {int(place[0])} of the subject; rule='incremental' needs "
                "them all: ask the system for more items, or choose rule='uniform'"
            )
        m, n = lists.returned[row], lists.N[row]
        missing = np.bincount(row, minlength=len(costs))
        i = np.arange(len(row)) - (np.cumsum(missing) - missing)[row] + 1
        if rule == "worst":
            _charge_worst(costs, lists, row, place, s, i)
        else:
            ranks = {"optimist": m + i, "tail": n - missing[row] + i, "printed": n + place}[rule]
            costs += np.bincount(row, weights=s * (ranks - place), minlength=len(costs))
    return np.where(lists.worth > 0, costs, np.nan).reshape(lists.shape)


def chance_displacement(relevance: Floats, N: Ints | int) -> Floats:
    """E0[w]: the displacement to expect from a system that orders the N items by chance.

    Formula: Σ s_k e_k, e_k = [k(k-1) + (N-k)(N-k+1)] / (2N), where all relevances differ. Equals cost less, since
    they stand as the system has them: the expectation is over the orders of their places. Where all N items are
    equally relevant it is 0. NaN where no item has relevance.
    """
    shape = np.asarray(relevance).shape
    return displacement(relevance, np.zeros(shape, dtype=np.int64), returned=0, N=N)


def greatest_displacement(relevance: Floats, N: Ints | int) -> Floats:
    """w_max: the displacement of the order of N items that is worst for this answer.

    An item costs most at one end of the list, so the k-th goes to the front or to the back, next to those before it:
    the best of these choices by dynamic programming, m² steps for an answer of m items. Equals that went to the front
    are the first of their run. NaN where no item has relevance.
    """
    shape = np.asarray(relevance).shape
    return displacement(relevance, np.zeros(shape, dtype=np.int64), returned=0, N=N, rule="worst")


def rational(x: Floats, p: float = 1.0) -> Floats:
    """Quality 1/(1 + x)^p: 1 at no displacement, falling to 0. p > 0. Source: Santini, after eq. 18."""
    _positive("power", p)
    return np.asarray((1.0 + np.asarray(x, dtype=np.float64)) ** -p)


def exponential(x: Floats, lam: float = 1.0) -> Floats:
    """Quality exp(-λx): 1 at no displacement, falling to 0. λ > 0. Source: Santini, after eq. 18."""
    _positive("power", lam)
    return np.asarray(np.exp(-lam * np.asarray(x, dtype=np.float64)))


def chance_corrected(w: Floats, chance: Floats) -> Floats:
    """1 - w/E0[w]: 1 is the subject's own order, 0 what chance gives, below 0 worse; NaN where chance costs nothing.

    Chance costs nothing where any order is as good as any other: a collection of one item, or of equals.
    """
    return np.asarray(1 - ratio(w, chance))


def compare_answers(
    run: Run, answers: Answers, *, N: int | None = None, rule: Rule = "uniform", g: Quality = "rational",
    power: float = 1.0, scale: Scale = "mean",
) -> pl.DataFrame:  # fmt: skip
    """Every system's list against every subject's answer to the same query.

    Columns: system, source, query; displacement w; per_item = w/Σs, a mean number of ranks; quality = g(x), with x =
    per_item (scale "mean"), w/E0[w] ("chance") or w itself ("raw"); score = 1 - w/E0[w]; returned, the share of the
    subject's items that the system returned; undefined, true where no item of the answer has relevance: then all but
    `returned` is NaN. score is NaN too where chance costs nothing.

    N is the size of the collection. Without it, a query's collection is all that any system returned or any subject
    named for it: then another system in the run changes the values of all.
    A query that a system did not answer is an empty list. Equal scores: the expectation over their orders, of w, not
    of g(w), which is convex; under ties="input" the order read.
    Misleads: scale "raw" compares nothing across queries: w grows with the length of the answers.
    """
    refuse_choice("rule", rule, get_args(Rule))
    refuse_choice("g", g, get_args(Quality))
    refuse_choice("scale", scale, get_args(Scale))
    _positive("power", power)
    if not run.frame["query"].unique().is_in(answers.frame["query"].unique().implode()).any():
        raise JoinError(
            f"no query has both a list and an answer: the run has {_some(run.frame['query'])}, "
            f"the answers {_some(answers.frame['query'])}"
        )
    rows, pairs = _joined(run, answers, N)
    _refuse_too_few(pairs)
    if rule == "incremental" and (absent := rows.filter(pl.col("first") == 0)).height:
        row = absent.row(0, named=True)
        raise JoinError(
            f"{row['system']!r} did not return item {row['item']!r} of {row['source']!r}, query {row['query']!r}; "
            "rule='incremental' needs every item of every answer: ask the system for more items, "
            "or choose rule='uniform'"
        )
    w, chance, worth = (np.empty(pairs.height) for _ in range(3))
    sizes, starts = pairs["items"].to_numpy(), pairs["start"].to_numpy()
    given = {name: rows[name].to_numpy() for name in ("relevance", "first", "length")}
    of_pair = {name: pairs[name].to_numpy() for name in ("listed", "N")}
    for at in _alike(sizes):
        most = int(sizes[at].max())
        inside = np.arange(most) < sizes[at, None]
        cells = np.where(inside, starts[at, None] + np.arange(most), 0)
        relevance = np.where(inside, given["relevance"][cells], np.nan)
        n = of_pair["N"][at]
        w[at] = displacement(
            relevance, np.where(inside, given["first"][cells], 0), length=np.where(inside, given["length"][cells], 1),
            returned=of_pair["listed"][at], N=n, rule=rule,
        )  # fmt: skip
        chance[at] = chance_displacement(relevance, n)
        worth[at] = np.nansum(relevance, -1)
    per_item = ratio(w, worth)
    x = {"mean": per_item, "chance": ratio(w, chance), "raw": w}[scale]
    return pairs.select("system", "source", "query").with_columns(
        pl.Series("displacement", w),
        pl.Series("per_item", per_item),
        pl.Series("quality", rational(x, power) if g == "rational" else exponential(x, power)),
        pl.Series("score", chance_corrected(w, chance)),
        pairs["returned"],
        pl.Series("undefined", worth == 0),
    )


def average_answers(compared: pl.DataFrame) -> pl.DataFrame:
    """One row per system: every number of `compare_answers`, averaged over subjects, then over queries.

    Each query counts the same, however many people answered it. NaN is left out, and `undefined` counts the pairs
    of a query and a subject whose score is NaN. Numbers are averaged as they are: the mean of g(w), never g of a
    mean, which would be less (g is convex).
    """
    numbers = [pl.col(name).fill_nan(None).mean() for name in NUMBERS]
    by_query = compared.group_by("system", "query", maintain_order=True).agg(
        *numbers, pl.col("score").is_nan().sum().cast(pl.Int64).alias("undefined"), pl.len().alias("pairs")
    )
    return by_query.group_by("system", maintain_order=True).agg(
        *(pl.col(name).mean().fill_null(math.nan) for name in NUMBERS), pl.col("undefined").sum(),
        pl.len().cast(pl.Int64).alias("queries"), pl.col("pairs").sum().cast(pl.Int64),
    )  # fmt: skip


def answer_values(compared: pl.DataFrame, column: str = "score") -> tuple[list[str], list[str], list[str], Floats]:
    """(systems, subjects, queries, values [system, subject, query]) for `statistics.crossed_bootstrap`.

    NaN where a subject did not answer the query, or the number is undefined.
    """
    if column not in NUMBERS:
        raise TextError(f"{column!r} is none of {', '.join(NUMBERS)}{did_you_mean(column, NUMBERS)}")
    systems = compared["system"].unique(maintain_order=True)
    names = [systems, compared["source"].unique().sort(), compared["query"].unique().sort()]
    at = [_codes(compared[part], known) for part, known in zip(("system", "source", "query"), names, strict=True)]
    values = np.full([len(known) for known in names], np.nan)
    values[tuple(at)] = compared[column].to_numpy()
    return names[0].to_list(), names[1].to_list(), names[2].to_list(), values


def _codes(column: pl.Series, known: pl.Series) -> Ints:
    """The number of each name among those known."""
    return column.replace_strict(known, pl.Series(np.arange(len(known))), return_dtype=pl.Int64).to_numpy()


def _some(names: pl.Series) -> str:
    some = names.unique(maintain_order=True).head(3).to_list()
    return ", ".join(repr(name) for name in some) if some else "none"


def _joined(run: Run, answers: Answers, N: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One row per system and answered item, with where the system has it; and one per system and answer."""
    block = "rank" if run.ties == "input" else "block"
    placed = run.frame.select("system", "query", "item", pl.col(block).cast(pl.Int64).alias("first")).with_columns(
        pl.len().over("system", "query", "first").cast(pl.Int64).alias("length")
    )
    listed = run.frame.group_by("system", "query").agg(pl.len().cast(pl.Int64).alias("listed"))
    systems = pl.DataFrame({"system": run.systems}).with_row_index("number")
    rows = (
        systems.join(answers.frame, how="cross")
        .join(placed, on=["system", "query", "item"], how="left")
        .with_columns(pl.col("first").fill_null(0), pl.col("length").fill_null(1))
        .sort("number", "source", "query", "rank")
    )
    pairs = rows.group_by("system", "source", "query", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("items"),
        (pl.col("first") == 0).sum().cast(pl.Int64).alias("absent"),
        (pl.col("first") > 0).mean().alias("returned"),
    )
    pairs = pairs.join(listed, on=["system", "query"], how="left", maintain_order="left").with_columns(
        pl.col("listed").fill_null(0), (pl.col("items").cum_sum() - pl.col("items")).alias("start")
    )
    if N is not None:
        return rows, pairs.with_columns(pl.lit(N, dtype=pl.Int64).alias("N"))
    named = pl.concat([run.frame.select("query", "item"), answers.frame.select("query", "item")])
    sizes = named.unique().group_by("query").agg(pl.len().cast(pl.Int64).alias("N"))
    return rows, pairs.join(sizes, on="query", how="left", maintain_order="left")


def _refuse_too_few(pairs: pl.DataFrame) -> None:
    """The collection holds at least what the system returned and what the subject named beside it."""
    short = pairs.filter(pl.col("listed") + pl.col("absent") > pl.col("N"))
    if short.height:
        row = short.row(0, named=True)
        raise TableError(
            f"N={row['N']} is too small: {row['system']!r} and {row['source']!r} together name "
            f"{row['listed'] + row['absent']:,} items for query {row['query']!r}; N is the size of the collection"
        )


def _alike(sizes: Ints) -> list[Ints]:
    """Pairs in batches of about one length, so that padding stays small and no batch exceeds CELLS."""
    order = np.argsort(sizes, kind="stable")
    rising = sizes[order]
    batches, start = list[Ints](), 0
    while start < len(order):
        smallest = int(rising[start])
        stop = int(np.searchsorted(rising, 2 * smallest, side="right"))
        stop = min(stop, start + max(1, CELLS // (2 * smallest)))
        batches.append(order[start:stop])
        start = stop
    return batches


@dataclass(frozen=True)
class _Lists:
    """Checked input, its leading axes flattened: arrays [row, m] and [row]."""

    relevance: Floats
    first: Ints
    length: Ints
    returned: Ints
    N: Ints
    worth: Floats
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Flat:
    """Every item of every row, by row and place; `first` and `length` are the places the system may have it at."""

    row: Ints
    place: Ints
    relevance: Floats
    first: Ints
    length: Ints
    missing: Bools


def _checked(
    relevance: Floats, first: Ints, length: Ints | int, returned: Ints | int, collection: Ints | int
) -> _Lists:
    """Refuse what is no answer, or no list; leading axes broadcast and flattened."""
    s = np.asarray(relevance, dtype=np.float64)
    if s.ndim == 0:
        raise TableError("relevance has no axis; its last axis is the subject's rank")
    m = s.shape[-1]
    lead = np.broadcast_shapes(
        s.shape[:-1], np.shape(first)[:-1], np.shape(length)[:-1], np.shape(returned), np.shape(collection)
    )
    rows = math.prod(lead)
    s = np.broadcast_to(s, (*lead, m)).reshape(rows, m)
    firsts, lengths = (np.broadcast_to(part, (*lead, m)).reshape(rows, m).astype(np.int64) for part in (first, length))
    listed, n = (np.broadcast_to(part, lead).reshape(rows).astype(np.int64) for part in (returned, collection))
    real = ~np.isnan(s)
    if (real[:, 1:] & ~real[:, :-1]).any():
        raise TableError("relevance is NaN before the end of an answer; NaN is padding, at the end only")
    if ((s < 0) | (s > 1)).any():
        raise TableError(f"relevance {s[(s < 0) | (s > 1)][0]:g} does not lie between 0 and 1")
    if (s[:, 1:] > s[:, :-1]).any():
        raise TableError("relevance rises along an answer; the subject's items are given in falling order")
    inside = real & (firsts > 0)
    beyond = inside & ((lengths < 1) | (firsts + lengths - 1 > listed[:, None]))
    if beyond.any() or (firsts < 0).any():
        raise TableError(
            "an item stands outside the system's list; ranks count from 1 to its length, and 0 is an item not returned"
        )
    # Two items at one rank would be one place twice: as many items in a run as it has places, at the most.
    row = np.nonzero(inside)[0]
    taken = np.stack([row, firsts[inside], lengths[inside]], -1)
    runs, counts = np.unique(taken, axis=0, return_counts=True)
    overlap = (runs[1:, 0] == runs[:-1, 0]) & (runs[1:, 1] < runs[:-1, 1] + runs[:-1, 2])
    if (counts > runs[:, 2]).any() or overlap.any():
        raise TableError(
            "more items stand at a rank of the system's list than it has places; a list ranks an item once"
        )
    needed = listed + (real & (firsts == 0)).sum(-1)
    if (needed > n).any():
        worst = int(np.argmax(needed - n))
        raise TableError(
            f"N={n[worst]} is too small: the two lists together name {needed[worst]} items; "
            "N is the size of the collection"
        )
    return _Lists(s, firsts, lengths, listed, n, np.where(real, s, 0.0).sum(-1), lead)


def _flattened(lists: _Lists) -> _Flat:
    """Items in the subject's order, equals in the system's, what the system did not return last."""
    missing = lists.first == 0
    first = np.where(missing, lists.returned[:, None] + 1, lists.first)
    length = np.where(missing, (lists.N - lists.returned)[:, None], lists.length)
    falling = np.where(np.isnan(lists.relevance), np.inf, -lists.relevance)
    order = np.lexsort((first, falling), axis=-1)
    inside = np.isfinite(np.take_along_axis(falling, order, -1))
    row, at = np.nonzero(inside)
    first, length, missing, s = (
        np.take_along_axis(part, order, -1)[inside] for part in (first, length, missing, lists.relevance)
    )
    return _Flat(row, at + 1, s, first, length, missing)


def _charge(costs: Floats, flat: _Flat, which: Bools) -> None:
    """Add s · E Σ|place - rank| of the items chosen, one group of exchangeable items at a time."""
    which = which & (flat.relevance > 0)
    row, place, s = flat.row[which], flat.place[which], flat.relevance[which]
    first, length = flat.first[which], flat.length[which]
    if not len(row):
        return
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (s[1:] != s[:-1]) | (first[1:] != first[:-1])
    head = np.flatnonzero(new)
    size = np.diff(np.append(head, len(row)))
    gaps = _gap(place[head], size, first[head], length[head])
    costs += np.bincount(row[head], weights=s[head] * gaps, minlength=len(costs))


def _gap(place: Ints, size: Ints, first: Ints, length: Ints) -> Floats:
    """E Σ_j |a+j-1 - U_(j)|: `size` equals stand at a, a+1, …, and have by chance as many of the places
    first … first+length-1, U_(1) < U_(2) < ….

    With places counted from `first`: where no U_(j) can be on the other side of its a+j-1, the absolute value is that
    of the sum. Else Σ E[U_(j) - (a+j-1)] + 2 Σ E[(a+j-1 - U_(j))⁺], and the last sum, turned round, is
    Σ_x E[(C_x - (x-a+1)⁺)⁺] over x < a+t-1, C_x the number of the equals among the first x places (hypergeometric).
    """
    a, t, M = place - first + 1, size, length
    rise = np.asarray(t * (M + 1) / 2 - t * a - t * (t - 1) / 2)
    result = np.abs(rise)
    across = np.flatnonzero((a > 1) & (a < M - t + 1))
    below = t[across] * a[across] * (a[across] - 1) / (2 * M[across])
    several = np.flatnonzero(t[across] > 1)
    if len(several):
        keys = np.stack([a, t, M], -1)[across[several]]
        distinct, back = np.unique(keys, axis=0, return_inverse=True)
        surplus = np.array([_surplus(*key) for key in distinct.tolist()])
        below[several] += surplus[back.reshape(-1)]
    result[across] = rise[across] + 2 * below
    return result


def _surplus(a: int, t: int, M: int) -> float:
    """Σ over c = 1 … t-1 of E[(C_x - c)⁺], x = a+c-1, C_x of t marked among the first x of M places."""
    total, step = 0.0, max(1, CELLS // t)
    i = np.arange(2, t + 1)
    for start in range(1, t, step):
        c = np.arange(start, min(start + step, t))[:, None]
        x = a + c - 1
        possible = (i > c) & (i <= x) & (x - i <= M - t)
        chosen = np.where(possible, i, np.minimum(np.maximum(x - (M - t), 0), t))  # any count that can be
        log = _log_choose(t, chosen) + _log_choose(M - t, x - chosen) - _log_choose(M, x)
        total += float(np.where(possible, (i - c) * np.exp(log), 0.0).sum())
    return total


def _log_choose(n: int, k: Ints) -> Floats:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


def _charge_worst(costs: Floats, lists: _Lists, row: Ints, place: Ints, s: Floats, i: Ints) -> None:
    """Add the most that the missing items can cost.

    All at the back, the first of them last, is the worst where even the foremost of those places is as far from the
    last item as the foremost free place is. Elsewhere the front is tried too, row by row.
    """
    counts = np.bincount(row, minlength=len(costs))
    deepest = np.zeros(len(costs), dtype=np.int64)
    np.maximum.at(deepest, row, place)
    back = (lists.N - counts + 1) + (lists.returned + 1) >= 2 * deepest
    plain = back[row]
    ranks = lists.N[row] - i + 1
    costs += np.bincount(row[plain], weights=(s * (ranks - place))[plain], minlength=len(costs))
    for one in np.unique(row[~plain]).tolist():
        begin, end = np.searchsorted(row, [one, one + 1])
        costs[one] += _most(s[begin:end], place[begin:end], int(lists.returned[one]) + 1, int(lists.N[one]))


def _most(s: Floats, place: Ints, low: int, high: int) -> float:
    """The greatest Σ s |place - rank| over ranks low … high, equals in the order of their ranks.

    Runs of equals come in falling s, each at places a … a+t-1. `best[f]` is the most so far with f items in front. A
    run sends its first L to the front, at ranks low+f …, the others to the back, behind those before them. No choice
    counts more than it costs, and the worst order is among them.
    """
    s, place = s[s > 0], place[s > 0]
    head = np.flatnonzero(np.diff(s, prepend=np.inf))
    sizes = np.diff(np.append(head, len(s)))
    best = np.zeros(1)
    for begin, t in zip(head.tolist(), sizes.tolist(), strict=True):
        a, front = int(place[begin]), np.arange(begin + 1)
        behind = begin - front
        after = np.full(begin + t + 1, -np.inf)
        for L in range(t + 1):
            R = t - L
            cost = L * (a - low - front) + R * (high - behind) - R * (R - 1) / 2 - R * (a + L) - R * (R - 1) / 2
            after[L : L + begin + 1] = np.maximum(after[L : L + begin + 1], best + s[begin] * cost)
        best = after
    return float(best.max())


def _positive(name: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise TextError(f"{name} must be greater than 0, not {value}; 1 is usual")
