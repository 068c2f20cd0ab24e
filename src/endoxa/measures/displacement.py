"""Weighted displacement: how far a system's list is from the ranked answer of a subject.

Each item of the answer costs the distance between its rank in the answer and its rank in the list, weighted by its
relevance. The last axis of an array is the subject's rank, along which relevance falls; NaN is padding at the end. All
other axes broadcast. Ties cost their expectation: items with equal scores, and items that the system did not return,
are in random order. Items of equal relevance are in the system's order. `_gap` computes all three cases.
"""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import polars as pl
from scipy import special

from endoxa.errors import JoinError, TableError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.measures.lists import CELLS, ratio
from endoxa.policies import Quality, Rule, Scale, refuse_choice
from endoxa.tables import Answers, Bools, Floats, Ints, Run, coded, places

NUMBERS = ("displacement", "per_item", "quality", "score", "returned")


def displacement(
    relevance: Floats, first: Ints, *, returned: Ints | int, N: Ints | int, length: Ints | int = 1,
    rule: Rule = "uniform",
) -> Floats:  # fmt: skip
    """Weighted displacement w of the subject's items in the system's list; NaN if no item is relevant.

    relevance  [..., m]  relevance s of the item at the subject's rank k, from 0 to 1, not rising; NaN is padding
    first      [..., m]  first rank of the item's group of equal scores in the system's list; 0 if it is not there
    length     [..., m]  size of that group
    returned   [...]     length m' of the system's list
    N          [...]     size of the collection

    Formula: w = Σ s_k |k - rank of item k|, with items of equal s in the system's order, which costs least. `rule`
    places the items B that the system did not return, which have the subject's ranks β_1 < β_2 < …:
        uniform      in random order at ranks m'+1 … N: Σ s E|u - β|
        optimist     at m'+1, m'+2, …, where they cost least
        tail         at N-|B|+1, … N
        worst        where they cost most
        printed      Σ s N, which is more than any rank costs
        incremental  an error: the system must return every item of the answer
    Misleads: w grows with the length of the lists, so scale it before comparing queries. Under every rule but optimist
    it grows with N, which is often a guess, and mostly shows how much was returned.
    Source: Santini, Benchmarking without ground truth, eqs. 17-23, except that eq. 17 weights the item that the system
    has at rank k. `uniform` is ours.
    """
    a, b = displacement_parts(relevance, first, returned=returned, N=N, length=length, rule=rule)
    return np.asarray(a + b)


def displacement_parts(
    relevance: Floats, first: Ints, *, returned: Ints | int, N: Ints | int, length: Ints | int = 1,
    rule: Rule = "uniform",
) -> tuple[Floats, Floats]:  # fmt: skip
    """w^A of the subject's items that the system returned, and w^B of those that it did not; see `displacement`."""
    refuse_choice("rule", rule, get_args(Rule))
    lists = _checked(relevance, first, length, returned, N)
    of_returned, of_missing = (np.zeros(len(lists.relevance)) for _ in range(2))
    flat = _flattened(lists)
    _charge(of_returned, flat, ~flat.missing)
    if rule == "uniform":
        _charge(of_missing, flat, flat.missing)
    elif flat.missing.any():
        row, place, s = flat.row[flat.missing], flat.place[flat.missing], flat.relevance[flat.missing]
        if rule == "incremental":
            raise JoinError(
                f"the system did not return the item at rank {int(place[0])} of the subject",
                remedy="rule='incremental' needs them all: ask the system for more items, or choose rule='uniform'",
            )
        m, n = lists.returned[row], lists.N[row]
        missing = np.bincount(row, minlength=len(of_missing))
        i = np.arange(len(row)) - (np.cumsum(missing) - missing)[row] + 1
        if rule == "worst":
            _charge_worst(of_missing, lists, row, place, s, i)
        else:
            ranks = {"optimist": m + i, "tail": n - missing[row] + i, "printed": n + place}[rule]
            of_missing += np.bincount(row, weights=s * (ranks - place), minlength=len(of_missing))
    a, b = (np.where(lists.worth > 0, part, np.nan).reshape(lists.shape) for part in (of_returned, of_missing))
    return a, b


def chance_displacement(relevance: Floats, N: Ints | int) -> Floats:
    """E0[w]: the expected displacement of a random order of the N items; NaN if no item is relevant.

    Formula: Σ s_k [k(k-1) + (N-k)(N-k+1)] / (2N) if all relevances differ; items of equal relevance cost less.
    """
    shape = np.asarray(relevance).shape
    return displacement(relevance, np.zeros(shape, dtype=np.int64), returned=0, N=N)


def greatest_displacement(relevance: Floats, N: Ints | int) -> Floats:
    """w_max: the displacement of the worst order of N items for this answer; NaN if no item is relevant."""
    shape = np.asarray(relevance).shape
    return displacement(relevance, np.zeros(shape, dtype=np.int64), returned=0, N=N, rule="worst")


def rational(x: Floats, p: float = 1.0) -> Floats:
    """Quality 1/(1 + x)^p, which is 1 without displacement and falls to 0. p > 0. Source: Santini, after eq. 18."""
    _positive("power", p)
    return np.asarray((1.0 + np.asarray(x, dtype=np.float64)) ** -p)


def exponential(x: Floats, lam: float = 1.0) -> Floats:
    """Quality exp(-λx), which is 1 without displacement and falls to 0. λ > 0. Source: Santini, after eq. 18."""
    _positive("power", lam)
    return np.asarray(np.exp(-lam * np.asarray(x, dtype=np.float64)))


def chance_corrected(w: Floats, chance: Floats) -> Floats:
    """1 - w/E0[w]: 1 is the subject's own order, 0 is chance; NaN if E0 is 0 because all orders cost the same."""
    return np.asarray(1 - ratio(w, chance))


def compare_answers(
    run: Run, answers: Answers, *, N: int | None = None, rule: Rule = "uniform", g: Quality = "rational",
    power: float = 1.0, scale: Scale = "mean",
) -> pl.DataFrame:  # fmt: skip
    """Compare every system's list with every subject's answer to the same query.

    Columns: system, source, query; w_A and w_B, of the items that the system returned and of the others; displacement
    w = w_A + w_B; per_item = w/Σs, a mean number of ranks; quality = g(x), with x =
    per_item (scale "mean"), w/E0[w] ("chance") or w itself ("raw"); score = 1 - w/E0[w], NaN where E0[w] is 0;
    returned, the share of the subject's items that the system returned; undefined, true where no item of the answer is
    relevant, so that all numbers but `returned` are NaN.

    N is the size of the collection. Without it, the collection of a query is all that any system returned or any
    subject named, so that another system in the run changes all values. A query that a system did not answer is an
    empty list. Under ties="input" items with equal scores are in the order read.
    Misleads: with scale "raw" queries cannot be compared, because w grows with the length of the answers.
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
            f"{row['system']!r} did not return item {row['item']!r} of {row['source']!r}, query {row['query']!r}",
            remedy="rule='incremental' needs every item of every answer: ask the system for more items, or choose "
            "rule='uniform'",
        )
    w_a, w_b, chance, worth = (np.empty(pairs.height) for _ in range(4))
    sizes, starts, listed, n = (pairs[name].to_numpy() for name in ("items", "start", "listed", "N"))
    for at in _alike(sizes):
        most = int(sizes[at].max())
        inside = np.arange(most) < sizes[at, None]
        cells = np.where(inside, starts[at, None] + np.arange(most), 0)
        relevance, first, length = (
            np.where(inside, rows[name].to_numpy()[cells], filler)
            for name, filler in (("relevance", np.nan), ("first", 0), ("length", 1))
        )
        w_a[at], w_b[at] = displacement_parts(relevance, first, length=length, returned=listed[at], N=n[at], rule=rule)
        chance[at] = chance_displacement(relevance, n[at])
        worth[at] = np.nansum(relevance, -1)
    w = w_a + w_b
    per_item = ratio(w, worth)
    x = {"mean": per_item, "chance": ratio(w, chance), "raw": w}[scale]
    return pairs.select("system", "source", "query").with_columns(
        pl.Series("w_A", w_a),
        pl.Series("w_B", w_b),
        pl.Series("displacement", w),
        pl.Series("per_item", per_item),
        pl.Series("quality", rational(x, power) if g == "rational" else exponential(x, power)),
        pl.Series("score", chance_corrected(w, chance)),
        pairs["returned"],
        pl.Series("undefined", worth == 0),
    )


def average_answers(compared: pl.DataFrame) -> pl.DataFrame:
    """Average the numbers of `compare_answers` over subjects, then over queries: one row per system.

    Every query has the same weight, however many people answered it. NaN is left out, and `undefined` counts the pairs
    of query and subject whose score is NaN. The mean quality is the mean of g(w), not g of the mean.
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
    """(systems, subjects, queries, values [system, subject, query]); NaN without an answer or if undefined."""
    if column not in NUMBERS:
        raise TextError(f"{column!r} is none of {', '.join(NUMBERS)}", remedy=did_you_mean(column, NUMBERS))
    systems = compared["system"].unique(maintain_order=True)
    (subjects, subject), (queries, query) = coded(compared["source"]), coded(compared["query"])
    values = np.full((len(systems), len(subjects), len(queries)), np.nan)
    values[places(compared["system"], systems), subject, query] = compared[column].to_numpy()
    return systems.to_list(), subjects.to_list(), queries.to_list(), values


def _some(names: pl.Series) -> str:
    some = names.unique(maintain_order=True).head(3).to_list()
    return ", ".join(repr(name) for name in some) if some else "none"


def _joined(run: Run, answers: Answers, N: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table of system and answered item, with the rank in the system's list, and a table of system and answer."""
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
    """Refuse an N that is less than the number of items that a system and a subject name together."""
    short = pairs.filter(pl.col("listed") + pl.col("absent") > pl.col("N"))
    if short.height:
        row = short.row(0, named=True)
        raise TableError(
            f"N={row['N']} is too small: {row['system']!r} and {row['source']!r} together name "
            f"{row['listed'] + row['absent']:,} items for query {row['query']!r}",
            remedy="N is the size of the collection",
        )


def _alike(sizes: Ints) -> list[Ints]:
    """Batches of pairs of similar length, so that padding stays small. No batch exceeds CELLS."""
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
    """Checked input with its leading axes flattened: arrays [row, m] and [row]."""

    relevance: Floats
    first: Ints
    length: Ints
    returned: Ints
    N: Ints
    worth: Floats
    shape: tuple[int, ...]


@dataclass(frozen=True)
class _Flat:
    """Every item of every row, by row and place; the system has it at one of `length` ranks from `first` on."""

    row: Ints
    place: Ints
    relevance: Floats
    first: Ints
    length: Ints
    missing: Bools


def _checked(
    relevance: Floats, first: Ints, length: Ints | int, returned: Ints | int, collection: Ints | int
) -> _Lists:
    """Refuse what is not an answer or not a list; broadcast and flatten the leading axes."""
    s = np.asarray(relevance, dtype=np.float64)
    if s.ndim == 0:
        raise TableError("relevance has no axis", remedy="its last axis is the subject's rank")
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
        raise TableError("relevance is NaN before the end of an answer", remedy="NaN is padding, at the end only")
    if ((s < 0) | (s > 1)).any():
        raise TableError(f"relevance {s[(s < 0) | (s > 1)][0]:g} does not lie between 0 and 1")
    if (s[:, 1:] > s[:, :-1]).any():
        raise TableError("relevance rises along an answer", remedy="the subject's items are given in falling order")
    inside = real & (firsts > 0)
    beyond = inside & ((lengths < 1) | (firsts + lengths - 1 > listed[:, None]))
    if beyond.any() or (firsts < 0).any():
        raise TableError(
            "an item stands outside the system's list",
            remedy="ranks count from 1 to its length, and 0 is an item not returned",
        )
    # Two items at one rank would be one place twice: as many items in a run as it has places, at the most.
    row = np.nonzero(inside)[0]
    taken = np.stack([row, firsts[inside], lengths[inside]], -1)
    runs, counts = np.unique(taken, axis=0, return_counts=True)
    overlap = (runs[1:, 0] == runs[:-1, 0]) & (runs[1:, 1] < runs[:-1, 1] + runs[:-1, 2])
    if (counts > runs[:, 2]).any() or overlap.any():
        raise TableError(
            "more items stand at a rank of the system's list than it has places", remedy="a list ranks an item once"
        )
    needed = listed + (real & (firsts == 0)).sum(-1)
    if (needed > n).any():
        worst = int(np.argmax(needed - n))
        raise TableError(
            f"N={n[worst]} is too small: the two lists together name {needed[worst]} items",
            remedy="N is the size of the collection",
        )
    return _Lists(s, firsts, lengths, listed, n, np.where(real, s, 0.0).sum(-1), lead)


def _flattened(lists: _Lists) -> _Flat:
    """Sort items into the subject's order, equally relevant ones into the system's order, missing ones last."""
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
    """Add s · E Σ|place - rank| of the chosen items to the costs, one group of exchangeable items at a time."""
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
    """E Σ_j |a+j-1 - U_(j)|, where `size` equal items have the subject's ranks a, a+1, … and the system's ranks
    U_(1) < U_(2) < … are drawn at random from first … first+length-1.

    Ranks are counted from `first`. If no U_(j) can be on the other side of a+j-1, the absolute value is that of the
    sum. Otherwise the result is Σ E[U_(j) - (a+j-1)] + 2 Σ E[(a+j-1 - U_(j))⁺], and the last sum is equal to
    Σ_x E[(C_x - (x-a+1)⁺)⁺] over x < a+t-1, with C_x the number of the items among the first x ranks (hypergeometric).
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
    """Σ over c = 1 … t-1 of E[(C_x - c)⁺], with x = a+c-1 and C_x the number of t items among the first x of M."""
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
    """Add the greatest cost of the missing items to the costs.

    In most rows all of them at the end, the most relevant last, is worst. If some may cost more in front of the free
    ranks, `_most` searches the row.
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
    """The greatest Σ s |place - rank| over ranks low … high, with items of equal s in the order of their ranks.

    An item costs most at one end of the free ranks, next to items before it. So this is dynamic programming over groups
    of equal s, in m² steps: `best[f]` is the greatest cost so far with f items in front. A group at places a … a+t-1
    sends its first L items to the front, at ranks low+f …, and the others to the back.
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
        raise TextError(f"{name} must be greater than 0, not {value}", remedy="1 is usual")
