"""Beliefs from people who filed items in categories of a taxonomy.

A category contains the items filed in it or below it. A query is an item. Each category of the query is a reading, with
a weight by how many people filed the query there; within it, the probability of another item is the share of people who
filed that item there or below.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from endoxa.errors import TableError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.policies import Mix, refuse_choice
from endoxa.tables import Belief, Floats, Ints, Labels, Taxonomy, coded, places

Floats32 = npt.NDArray[np.float32]
Printed = Literal["as_printed"]

MOST = 1 << 31  # numbers in the column `people`: 8 GB


@dataclass(frozen=True)
class RollUp:
    """The shares of people who filed each item in each category. The root is the first category.

    direct    [category, item]  p', the share of the item's people who filed it in exactly this category; sums to 1
    rolled    [category, item]  p, the share who filed it there or below; 1 at the root
    subjects  [item]            the number of people who filed the item
    """

    categories: list[str]
    items: list[str]
    direct: Floats
    rolled: Floats
    subjects: Ints


def roll_up(labels: Labels, taxonomy: Taxonomy) -> RollUp:
    """Shares of people who filed each item in each category, and in it or below.

    Formula: p'(w|i) = #{s: Ω(s,i) = w} / N_i and p(w|i) = #{s: w among Ω(s,i) and its ancestors} / N_i, with N_i the
    number of people who filed item i. A person counts once in a category, by however many paths. A person who filed an
    item in several categories counts in all of their ancestors and splits the direct share evenly.
    Misleads: with few people shares are coarse (`believe` can smooth them). The arrays are dense: categories × items.
    Source: Santini, Benchmarking without ground truth, eqs. 6-8. Eq. 8 as printed adds the direct shares of the
    children only, which leaves the root below 1 and counts items twice where a category has two parents.
    """
    filed = _Filed(labels, taxonomy)
    return RollUp(
        filed.categories, filed.items, np.ascontiguousarray(filed.direct.toarray().T) / filed.people_of,
        np.ascontiguousarray(filed.counts.toarray().T) / filed.people_of, filed.people_of,
    )  # fmt: skip


def size(rolled: RollUp, *, without: str | None = None) -> pl.DataFrame:
    """Expected number of items in each category, and its variance: category, size, variance.

    Formula: E|w| = Σ p(w|i), Var|w| = Σ p(1-p), if items are independent. `without` is the query, which is left out.
    Source: Santini, eq. 9, which calls the expectation the size.
    """
    p = rolled.rolled
    if without is not None:
        _refuse_unfiled(without, rolled.items)
        p = np.delete(p, rolled.items.index(without), axis=1)
    return pl.DataFrame({"category": rolled.categories, "size": p.sum(1), "variance": (p * (1 - p)).sum(1)})


def mixture_weights(rolled: RollUp, query: str, mix: Mix | Printed = "assigned") -> tuple[list[str], Floats]:
    """The categories that the query may mean, and their weights.

        assigned            p'(w|q)                                sums to 1
        normalised          p(w|q) / Σ p, over all categories      sums to 1
        normalised_no_root  the same without the root              sums to 1
        as_printed          p(w|q)                                 sums to more than 1

    Misleads: under `normalised` and `as_printed` the root has the greatest weight, and there every system is perfect.
    Source: Santini, eq. 13 is as_printed.
    """
    if mix == "subject":
        raise TextError("mix='subject' weighs people, not categories; each who filed the query has the same weight")
    refuse_choice("mix", mix, (*get_args(Mix), *get_args(Printed)))
    _refuse_unfiled(query, rolled.items)
    weights = (rolled.direct if mix == "assigned" else rolled.rolled)[:, rolled.items.index(query)].copy()
    if mix == "normalised_no_root":
        weights[0] = 0.0
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise _only_root(query)
    weights = weights[kept]
    if mix.startswith("normalised"):
        weights = weights / weights.sum()
    return [rolled.categories[number] for number in kept], weights


def believe(
    labels: Labels, taxonomy: Taxonomy, *, queries: Iterable[str] | None = None, mix: Mix = "assigned",
    smoothing: float = 0.0, people: int = 0, rng: np.random.Generator | None = None,
) -> Belief:  # fmt: skip
    """One reading per category that the query (an item) may be meant as; within it p(w|i) of every other item.

        assigned            the categories that the query was filed in, with the weights p'(w|q)
        normalised          every category that contains the query, with the weights p(w|q)
        normalised_no_root  the same without the root
        subject             a reading for each person who filed the query, with that person's own category and own
                            filing of the items. A person with several categories has a reading for each, and the same
                            total weight

    `queries` are items, by default all that were filed. The query itself is in no reading. Items with p = 0 are
    mentioned; under `subject` a reading mentions what the person filed. An item that a person did not file is not
    relevant to her, also where she filed the query alone, and notes tell how often that is so.
    `smoothing` is alpha: p = (people who filed it in w or below + alpha · categories in w or below) / (people +
    alpha · categories), without the root. It does not change the weights.
    `people` is the number of resamples of the people, one draw for all items, in the columns `people` and
    `people_weight`; what a resample leaves without a label keeps its value. It needs `rng`.
    Misleads: the four differ in the mean, not only in the spread. Report assigned and subject side by side.
    Source: Santini, eqs. 6-14.
    """
    if mix in get_args(Printed):
        raise TextError(
            "mix='as_printed' is no belief: its weights sum to more than 1",
            remedy="see mixture_weights(…, 'as_printed') for them, or take mix='normalised'",
        )
    refuse_choice("mix", mix, get_args(Mix))
    _refuse_negative("smoothing", smoothing)
    if mix == "subject" and smoothing:
        raise TextError(
            "mix='subject' has no shares to smooth: a person filed an item or did not", remedy="leave smoothing at 0"
        )
    filed = _Filed(labels, taxonomy)
    drawn = _drawn(filed, people, rng)
    wanted = _wanted(filed, queries)
    each = {"least": filed.people_of.min(), "most": filed.people_of.max()}
    notes = [
        note("categories.mix", mix=mix),
        note("categories.smoothing", smoothing=smoothing),
        note("categories.filed", people=len(filed.subjects), items=len(filed.items), **each),
    ]
    if drawn is not None:
        notes.append(note("categories.resampled", people=people))
    if mix == "subject":
        frame, more = _by_subject(filed, wanted, drawn, explicit=queries is not None)
    else:
        frame, more = _by_category(filed, wanted, mix, smoothing, drawn, explicit=queries is not None)
    return Belief(frame, "irrelevant", "taxonomy", (*notes, *more))  # sorted and valid: Belief.of would be slow


def levels(labels: Labels, taxonomy: Taxonomy, *, queries: Iterable[str] | None = None) -> Belief:
    """One labelling, where only the generality of the query is in doubt.

    Each category that contains the query, except the root, is a reading with the same weight, in which exactly the
    items of that category are relevant.
    Misleads: the deeper the category of the query, the more weight its general categories have.
    Source: ours, for collections with one labelling, where Santini's shares are all 0 or 1.
    """
    frame = labels.frame
    by_item = frame.group_by("item", maintain_order=True).agg(
        pl.len().alias("rows"), pl.col("source").n_unique() * pl.col("category").n_unique()
    )
    torn = by_item.filter(pl.col("rows") != pl.col("source"))
    if torn.height:
        item = torn["item"][0]
        given = frame.filter(pl.col("item") == item)["category"].unique(maintain_order=True).to_list()
        raise TableError(
            f"item {item!r} was filed differently by several people ({', '.join(given[:3])})",
            remedy="levels is for one labelling: use the model taxonomy, which takes their shares",
        )
    filed = _Filed(labels, taxonomy)
    wanted = _wanted(filed, queries)
    labelling = filed.counts.copy()
    labelling.data = np.ones(len(labelling.data))  # several people who agree are one labelling
    query, category, _, more = _chosen(filed, labelling, wanted, without_root=True, explicit=queries is not None)
    weight = 1 / np.bincount(query, minlength=len(filed.items))[query]
    used, of_reading = np.unique(category, return_inverse=True)
    p = labelling[:, used].toarray().T
    notes = [
        note("categories.levels"),
        note("categories.one_labelling", items=len(filed.items), people=len(filed.subjects)),
    ]
    table = _table(filed, query, category, weight, of_reading, p)
    return Belief(table, "irrelevant", "levels", (*notes, *more))  # sorted and valid: Belief.of would be slow


class _Filed:
    """The labels as sparse matrices. A filing is the pair of one person and one item."""

    def __init__(self, labels: Labels, taxonomy: Taxonomy) -> None:
        frame = labels.frame
        self.categories = taxonomy.categories  # the root first
        unknown = frame.filter(~pl.col("category").is_in(pl.Series(self.categories).implode()))
        if unknown.height:
            row = unknown.row(0, named=True)
            raise TableError(
                f"item {row['item']!r} is filed in {row['category']!r} by {row['source']!r}, and the taxonomy has no "
                f"such category",
                remedy=did_you_mean(row["category"], self.categories),
            )
        (subjects, subject), (items, item) = coded(frame["source"]), coded(frame["item"])
        self.subjects, self.items = subjects.to_list(), items.to_list()
        category = places(frame["category"], self.categories)
        keys, filing = np.unique(item * len(self.subjects) + subject, return_inverse=True)
        self.item_of, self.subject_of = keys // len(self.subjects), keys % len(self.subjects)
        shape = (len(keys), len(self.categories))
        self.labels = sparse.csr_array((np.ones(len(filing)), (filing, category)), shape=shape)
        self.people_of = np.bincount(self.item_of, minlength=len(self.items))
        self.above = _above(taxonomy, self.categories)
        self.reach = self.labels @ self.above
        self.reach.data = np.ones(len(self.reach.data))  # a person counts once, by however many paths
        self.to_items = sparse.csr_array(
            (np.ones(len(keys)), (self.item_of, np.arange(len(keys)))), shape=(len(self.items), len(keys))
        )

    @cached_property
    def shares(self) -> Any:
        """[filing, category]: 1, split evenly among the categories of the filing."""
        return sparse.csr_array(self.labels.multiply(1 / self.labels.sum(1)[:, None]))

    @cached_property
    def direct(self) -> Any:
        """[item, category]: the number of people who filed the item in exactly this category."""
        return self.to_items @ self.shares

    @cached_property
    def counts(self) -> Any:
        """[item, category]: the number of people who filed the item there or below."""
        return self.to_items @ self.reach

    @cached_property
    def below(self) -> Floats:
        """[category]: the number of categories that are it or below it, without the root."""
        return np.asarray(self.above[1:].sum(0), dtype=np.float64)


def _above(taxonomy: Taxonomy, categories: list[str]) -> Any:
    """[category, category]: 1 where the second is the first or an ancestor of it."""
    number = {name: place for place, name in enumerate(categories)}
    pairs = [(number[name], number[above]) for name in categories for above in taxonomy.ancestors[name]]
    row, column = np.array(pairs, dtype=np.int64).T
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(categories), len(categories)))


def _wanted(filed: _Filed, queries: Iterable[str] | None) -> Ints:
    """The numbers of the items that are queries."""
    if len(filed.items) < 2:
        raise TableError(f"only item {filed.items[0]!r} was filed", remedy="a query needs other items to be found")
    if queries is None:
        return np.arange(len(filed.items))
    number = {name: place for place, name in enumerate(filed.items)}
    names = [queries] if isinstance(queries, str) else list(dict.fromkeys(queries))
    if not names:
        raise TableError("no query is asked for", remedy="queries are items, or None for every item that was filed")
    for name in names:
        _refuse_unfiled(name, number, "query")
    return np.array(sorted(number[name] for name in names), dtype=np.int64)


def _refuse_unfiled(name: str, known: Collection[str], what: str = "item") -> None:
    if name not in known:
        raise TableError(f"nobody filed the {what} {name!r}", remedy=did_you_mean(name, known))


def _only_root(query: str) -> TableError:
    return TableError(
        f"query {query!r} was filed in the root only, and the root is no reading here",
        remedy="leave it out, or file it deeper",
    )


def _drawn(filed: _Filed, people: int, rng: np.random.Generator | None) -> Floats | None:
    """[subject, resample]: the number of times that each person was drawn."""
    if people < 0:
        raise TextError(f"people is a number of resamples, 0 or more, not {people}")
    if not people:
        return None
    if rng is None:
        raise TextError("people are resampled by chance: give rng, a numpy Generator, or leave people at 0")
    count = len(filed.subjects)
    if count < 2:
        raise TableError("one person filed all", remedy="other people of her kind cannot be drawn: leave people at 0")
    # the mean of S - 1 people drawn from S varies as the mean of S people does
    return rng.multinomial(count - 1, np.full(count, 1 / count), size=people).T.astype(np.float64)


def _chosen(
    filed: _Filed, weights: Any, wanted: Ints, *, without_root: bool, explicit: bool
) -> tuple[Ints, Ints, Floats, list[Note]]:
    """The readings of the queries (item, category, weight), and a note on items without a reading."""
    chosen = weights[wanted].tocoo()
    at, category = (np.asarray(part, dtype=np.int64) for part in chosen.coords)
    kept = (chosen.data > 0) & ((category > 0) | (not without_root))
    at, category, weight = at[kept], category[kept], chosen.data[kept]
    byte_order = pl.Series(filed.categories, dtype=pl.String).rank("dense").cast(pl.Int64).to_numpy()
    order = np.lexsort((byte_order[category], at))
    at, category, weight = at[order], category[order], weight[order]
    empty = np.setdiff1d(np.arange(len(wanted)), at)
    if len(empty) and (explicit or len(empty) == len(wanted)):
        raise _only_root(filed.items[int(wanted[empty[0]])])
    notes = [note("categories.root_only", items=len(empty))] if len(empty) else []
    return wanted[at], category, weight, notes


def _by_category(
    filed: _Filed, wanted: Ints, mix: str, smoothing: float, drawn: Floats | None, *, explicit: bool
) -> tuple[pl.DataFrame, list[Note]]:
    """The rows of a belief whose readings are categories."""
    counts = filed.direct if mix == "assigned" else filed.counts
    query, category, weight, notes = _chosen(
        filed, counts, wanted, without_root=mix == "normalised_no_root", explicit=explicit
    )
    weight = weight / np.bincount(query, weights=weight, minlength=len(filed.items))[query]
    used, of_reading = np.unique(category, return_inverse=True)
    prior, total = smoothing * filed.below[used], smoothing * (len(filed.categories) - 1)
    p = (filed.counts[:, used].toarray().T + prior[:, None]) / (filed.people_of + total)
    if drawn is None:
        return _table(filed, query, category, weight, of_reading, p), notes
    _refuse_vast(len(query) * (len(filed.items) - 1), drawn.shape[1])
    asked = _by_items(filed, np.arange(len(filed.item_of))) @ drawn  # [item, resample] people drawn who filed it
    p_people = np.empty((*p.shape, drawn.shape[1]), dtype=np.float32)
    columns = filed.reach[:, used].tocsc()
    for number in range(len(used)):
        inside = columns.indices[columns.indptr[number] : columns.indptr[number + 1]]
        found = _by_items(filed, inside) @ drawn
        shares = (found + prior[number]) / np.where(asked > 0, asked + total, 1.0)
        p_people[number] = np.where(asked > 0, np.minimum(shares, 1.0), p[number][:, None])
    values = filed.shares if mix == "assigned" else filed.reach
    of_people = _people_weights(filed, query, category, weight, drawn, values)
    return _table(filed, query, category, weight, of_reading, p, p_people, of_people), notes


def _by_items(filed: _Filed, filings: Ints) -> Any:
    """[item, subject]: 1 for these filings."""
    shape = (len(filed.items), len(filed.subjects))
    return sparse.csr_array((np.ones(len(filings)), (filed.item_of[filings], filed.subject_of[filings])), shape=shape)


def _people_weights(filed: _Filed, query: Ints, category: Ints, weight: Floats, drawn: Floats, values: Any) -> Floats32:
    """[reading, resample]: the share of each reading in its query among the people drawn."""
    entries = values.tocoo()
    filing, other = (np.asarray(part, dtype=np.int64) for part in entries.coords)
    keys = query * len(filed.categories) + category
    order = np.argsort(keys)
    found = filed.item_of[filing] * len(filed.categories) + other
    at = order[np.minimum(np.searchsorted(keys, found, sorter=order), len(keys) - 1)]
    kept = keys[at] == found
    matrix = sparse.csr_array(
        (entries.data[kept], (at[kept], filed.subject_of[filing[kept]])), shape=(len(keys), len(filed.subjects))
    )
    return _shared(matrix @ drawn, query, weight)


def _shared(values: Floats, query: Ints, weight: Floats) -> Floats32:
    """The share of each reading in its query, whose readings are adjacent; its weight where nobody was drawn."""
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    sums = np.repeat(np.add.reduceat(values, starts, axis=0), np.diff(np.append(starts, len(query))), axis=0)
    shares = np.where(sums > 0, values / np.where(sums > 0, sums, 1.0), weight[:, None])
    return shares.astype(np.float32)


@dataclass(frozen=True)
class _Own:
    """The readings of single people, sorted by query and name: arrays [reading]."""

    query: Ints
    subject: Ints
    category: Ints
    share: Floats
    name: pl.Series


def _by_subject(
    filed: _Filed, wanted: Ints, drawn: Floats | None, *, explicit: bool
) -> tuple[pl.DataFrame, list[Note]]:
    """The rows of a belief whose readings are people: each person's own filing of the query and of the other items."""
    filings = np.bincount(filed.subject_of, minlength=len(filed.subjects))
    own, notes = _own_readings(filed, wanted, filings, explicit=explicit)
    weight = own.share / np.bincount(own.query, weights=own.share, minlength=len(filed.items))[own.query]
    by_subject = np.argsort(filed.subject_of, kind="stable")  # filings of a person, by item
    first, count = (np.cumsum(filings) - filings)[own.subject], filings[own.subject]
    reading = np.repeat(np.arange(len(count)), count)
    step = np.arange(len(reading)) - (np.cumsum(count) - count)[reading]
    other = by_subject[first[reading] + step]
    kept = filed.item_of[other] != own.query[reading]
    reading, other = reading[kept], other[kept]
    p, item = np.asarray(filed.reach[other, own.category[reading]]).ravel(), filed.item_of[other]
    missing = 1 - len(reading) / (len(count) * (len(filed.items) - 1))
    notes.append(note("categories.missing_labels", missing=missing))
    bare = np.setdiff1d(np.arange(len(count)), reading)
    if len(bare):  # a reading in which nothing is relevant has a row too: of any other item, with p = 0
        reading, item = np.append(reading, bare), np.append(item, np.where(own.query[bare] == 0, 1, 0))
        order = np.argsort(reading, kind="stable")
        reading, item, p = reading[order], item[order], np.append(p, np.zeros(len(bare)))[order]
    items = pl.Series(filed.items)
    table: dict[str, Any] = {
        "query": items[own.query[reading]], "reading": own.name[reading], "weight": weight[reading],
        "item": items[item], "grade": np.ones(len(reading)), "p": p,
    }  # fmt: skip
    if drawn is not None:
        _refuse_vast(len(reading), drawn.shape[1])
        of_people = _shared(own.share[:, None] * drawn[own.subject], own.query, weight)
        table["people"] = _arrays(np.repeat(p.astype(np.float32)[:, None], drawn.shape[1], axis=1))
        table["people_weight"] = _arrays(of_people[reading])
    return pl.DataFrame(table), notes


def _own_readings(filed: _Filed, wanted: Ints, filings: Ints, *, explicit: bool) -> tuple[_Own, list[Note]]:
    """A reading for each person who filed the query, and for each category of it; somebody filed another item too."""
    mine = np.flatnonzero(np.isin(filed.item_of, wanted))
    own = filed.shares[mine].tocoo()
    filing, category, share = mine[own.coords[0]], np.asarray(own.coords[1], dtype=np.int64), own.data
    query, subject = filed.item_of[filing], filed.subject_of[filing]
    notes = []
    alone = filings[subject] < 2
    lost = np.setdiff1d(wanted, query[~alone])
    kept = np.flatnonzero(~np.isin(query, lost))
    if alone.any():
        if alone[kept].any():
            times = len(np.unique(filing[kept][alone[kept]]))
            notes.append(note("categories.filed_alone", times=times))
        if len(lost) and (explicit or len(lost) == len(wanted)):
            raise TableError(
                f"who filed the query {filed.items[int(lost[0])]!r} filed nothing else, so has no items to compare",
                remedy="leave it out, or take mix='assigned'",
            )
        if len(lost):
            notes.append(note("categories.no_queries", items=len(lost)))
    names = pl.Series(filed.subjects)[subject]
    if (share < 1).any():
        full = names + ": " + pl.Series(filed.categories)[category]
        names = pl.select(pl.when(pl.Series(share < 1)).then(full).otherwise(names)).to_series()
    order = kept[np.lexsort((names.rank("dense").to_numpy()[kept], query[kept]))]
    own = _Own(query[order], subject[order], category[order], share[order], names[order])
    twice = (own.query[1:] == own.query[:-1]) & (own.name[1:] == own.name[:-1]).to_numpy()
    if twice.any():
        raise TableError(f"two readings are called {own.name[int(twice.argmax())]!r}", remedy="rename that person")
    return own, notes


def _table(
    filed: _Filed, query: Ints, category: Ints, weight: Floats, of_reading: Ints, p: Floats,
    p_people: Floats32 | None = None, of_people: Floats32 | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The rows of a belief: each reading with each item but the query; p is [category, item] at `of_reading`."""
    reading, item = np.nonzero(np.arange(len(filed.items)) != query[:, None])
    items = pl.Series(filed.items)
    table: dict[str, Any] = {
        "query": items[query[reading]], "reading": pl.Series(filed.categories)[category[reading]],
        "weight": weight[reading], "item": items[item], "grade": np.ones(len(item)), "p": p[of_reading[reading], item],
    }  # fmt: skip
    if p_people is not None and of_people is not None:
        table["people"] = _arrays(p_people[of_reading[reading], item])
        table["people_weight"] = _arrays(of_people[reading])
    return pl.DataFrame(table)


def _arrays(values: Floats32) -> pl.Series:
    return pl.Series(values, dtype=pl.Array(pl.Float32, values.shape[1]))


def _refuse_vast(rows: int, resamples: int) -> None:
    if rows * resamples > MOST:
        raise TableError(
            f"{rows:,} rows of belief times {resamples:,} resamples of the people do not fit in memory",
            remedy="ask for fewer queries, or for fewer resamples",
        )


def _refuse_negative(name: str, value: float) -> None:
    if not (value >= 0 and math.isfinite(value)):
        raise TextError(f"{name} is a number, 0 or greater, not {value}", remedy="0.5 is usual")
