"""Items that people filed in the categories of a taxonomy: shares, sizes of categories, and how far the people agree.

Source: Santini, Benchmarking without ground truth, section 4; Krippendorff, Content Analysis, ch. 12.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from endoxa.beliefs.categories import RollUp, roll_up, size
from endoxa.errors import TableError, did_you_mean
from endoxa.formatting import number
from endoxa.frozen import dataclass
from endoxa.notes import Note, note, warning
from endoxa.statistics.bootstrap import BLOCK, TINY, blocks
from endoxa.studies.agreement import RESAMPLES, sums
from endoxa.tables import Floats, Ints, Labels, Taxonomy

ENOUGH = 10  # items that two people filed, below which there is no interval


@dataclass(frozen=True, eq=False)
class Filings:
    """What people who filed items say.

    shares     item, category, p (the share of its people who filed it there or below), filed (how many exactly there)
    tree       category, parents (that above it first), depth, size (Σ p, eq. 9), variance, filed, alpha, lo, hi: the
               categories below each other; alpha is the agreement on whether an item belongs there
    items      item, people, agreeing (the share of pairs of people who filed it alike)
    agreement  distance (tree, nominal), alpha, lo, hi
    people     the number of people
    """

    shares: pl.DataFrame
    tree: pl.DataFrame
    items: pl.DataFrame
    agreement: pl.DataFrame
    people: int
    confidence: float
    notes: tuple[Note, ...] = ()

    def of(self, item: str) -> pl.DataFrame:
        """The shares of one item."""
        known = self.items["item"].to_list()
        if item not in known:
            raise TableError(f"nobody filed the item {item!r}", remedy=did_you_mean(item, known))
        return self.shares.filter(pl.col("item") == item)

    def torn(self, most: int) -> pl.DataFrame:
        """The shares of those items on which people agree least; items that one person filed come last."""
        order = self.items.select("item", pl.col("agreeing").fill_nan(None)).sort(
            "agreeing", nulls_last=True, maintain_order=True
        )
        return order.head(most).select("item").join(self.shares, on="item", maintain_order="left")

    @property
    def answer(self) -> str:
        """How far the people agree, in a sentence."""
        tree, nominal = self.agreement.rows(named=True)
        filed = f"{self.people:,} {'person' if self.people == 1 else 'people'} filed {self.items.height:,} items in "
        filed += f"{self.tree.height:,} categories"
        if math.isnan(tree["alpha"]):
            return f"{filed}; their agreement is undefined: {self._why()}."
        between = "" if math.isnan(tree["lo"]) else f" [{number(tree['lo'], 3)}, {number(tree['hi'], 3)}]"
        return (
            f"{filed} and agree with alpha {number(tree['alpha'])}{between} by distance in the tree "
            f"({number(nominal['alpha'])} if categories are only equal or not); 1 is full agreement, 0 is chance."
        )

    def _why(self) -> str:
        if (self.items["people"] > 1).any():
            return "all items were filed in the same category"
        return "no item was filed by two people"


def filings(
    labels: Labels, taxonomy: Taxonomy, *, confidence: float = 0.95, resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> Filings:  # fmt: skip
    """Shares and sizes of categories, and Krippendorff's alpha of the people, over all categories and for each.

    alpha = 1 - D_o/D_e, with the distance δ(c, c') = 1 - 2 depth(lowest common ancestor)/(depth c + depth c'), the root
    at depth 0 and the depth of a category the length of its longest way up. For one category, people agree whether an
    item belongs there or below. A person who filed an item in several categories is at the mean distance of these.
    Items that one person filed count for shares, not for alpha. The interval resamples items, from 10 of them on.
    Misleads: alpha depends on the spread of the items; if nearly all are of one category, good people get a low alpha.
    """
    rolled = roll_up(labels, taxonomy)
    filed = _filed(labels, taxonomy, rolled)
    chance = _weights(len(filed.people), resamples, rng)
    of_tree = _Alpha.of_categories(filed, distances(taxonomy, filed.names))
    of_nominal = _Alpha.of_categories(filed, 1 - np.eye(len(filed.names)))
    overall = [_with_interval(one, chance, confidence) for one in (of_tree, of_nominal)]
    nodes = _with_interval(_Alpha.of_nodes(filed, rolled), chance, confidence)
    direct = rolled.direct * rolled.subjects
    tree = _down(taxonomy)
    order = tree["category"].to_list()
    values = {"filed": direct.sum(1), "alpha": nodes[0], "lo": nodes[1], "hi": nodes[2]}
    for more in (size(rolled), pl.DataFrame({"category": rolled.categories, **values})):
        tree = tree.join(more, on="category", how="left", maintain_order="left")
    at = {name: place for place, name in enumerate(rolled.categories)}
    rows = np.array([at[name] for name in order])
    shares = pl.DataFrame(
        {
            "item": np.repeat(rolled.items, len(order)), "category": order * len(rolled.items),
            "p": rolled.rolled[rows].T.ravel(), "filed": direct[rows].T.ravel(),
        }
    )  # fmt: skip
    pairs = rolled.subjects * (rolled.subjects - 1)
    agreeing = pl.Series(np.full(len(rolled.items), np.nan))
    agreeing[np.flatnonzero(pairs > 0)] = 1 - of_nominal.within / filed.people
    return Filings(
        shares,
        tree,
        pl.DataFrame({"item": rolled.items, "people": rolled.subjects, "agreeing": agreeing}),
        pl.DataFrame(
            [{"distance": name, "alpha": float(value[0]), "lo": float(lo[0]), "hi": float(hi[0])}
             for name, (value, lo, hi) in zip(("tree", "nominal"), overall, strict=True)]
        ),
        len(labels.sources), confidence, _notes(labels, len(filed.people), confidence),
    )  # fmt: skip


# Distances


def depths(taxonomy: Taxonomy) -> dict[str, int]:
    """The length of the longest way from the root to each category; 0 for the root."""
    parents: dict[str, list[str]] = {}
    for category, parent in taxonomy.frame.iter_rows():
        parents.setdefault(category, []).extend([] if parent is None else [parent])
    found: dict[str, int] = {}
    for name in sorted(parents, key=lambda name: len(taxonomy.ancestors[name])):  # a category after those above it
        found[name] = max((found[parent] + 1 for parent in parents[name]), default=0)
    return found


def distances(taxonomy: Taxonomy, names: list[str]) -> Floats:
    """δ between these categories: 0 for the same one, 1 where only the root is above both."""
    depth = depths(taxonomy)
    shared = np.zeros((len(names), len(names)))
    below: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        for above in taxonomy.ancestors[name]:
            below.setdefault(above, []).append(place)
    for above in sorted(below, key=lambda name: depth[name]):  # a deeper common ancestor replaces a higher one
        shared[np.ix_(below[above], below[above])] = depth[above]
    own = np.array([depth[name] for name in names], dtype=np.float64)
    both = own[:, None] + own[None, :]
    found = 1 - 2 * shared / np.where(both > 0, both, 1.0)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _down(taxonomy: Taxonomy) -> pl.DataFrame:
    """The categories as the tree is drawn: category, parents (that above it first), depth.

    A category with several parents stands below the first of them that is drawn.
    """
    children: dict[str, list[str]] = {}
    parents: dict[str, list[str]] = {}
    for category, parent in taxonomy.frame.iter_rows():
        if parent is not None:
            children.setdefault(parent, []).append(category)
            parents.setdefault(category, []).append(parent)
    waiting, found = [(taxonomy.root, "", 0)], dict[str, tuple[str, str, int]]()
    while waiting:
        name, above, depth = waiting.pop()
        if name not in found:
            rest = [one for one in parents.get(name, []) if one != above]
            found[name] = (name, ", ".join([above, *rest] if above else []), depth)
            waiting += [(child, name, depth + 1) for child in reversed(children.get(name, []))]
    return pl.DataFrame(list(found.values()), schema=["category", "parents", "depth"], orient="row")


# Agreement


@dataclass(frozen=True, eq=False)
class _Filed:
    """Items that two people or more filed: counts [item, category] of those categories that were used."""

    names: list[str]
    counts: Floats
    people: Floats
    several: pl.DataFrame  # item (its place), the two places of categories that one person gave it, weight
    kept: Ints  # places of the items among all


def _filed(labels: Labels, taxonomy: Taxonomy, rolled: RollUp) -> _Filed:
    kept = np.flatnonzero(rolled.subjects > 1)
    direct = (rolled.direct * rolled.subjects)[:, kept]
    used = np.flatnonzero(direct.sum(1) > 0)
    names = [rolled.categories[place] for place in used]
    rows = labels.frame.with_columns(pl.len().over("source", "item").alias("given")).filter(pl.col("given") > 1)
    rows = rows.filter(pl.col("item").is_in([rolled.items[place] for place in kept]))
    item, category = (
        pl.col(name).replace_strict({key: at for at, key in enumerate(keys)}, return_dtype=pl.Int64)
        for name, keys in (("item", [rolled.items[place] for place in kept]), ("category", names))
    )
    rows = rows.select("source", item, category, "given")
    pairs = rows.join(rows.select("source", "item", other="category"), on=["source", "item"])
    several = pairs.select("item", "category", "other", weight=1 / pl.col("given") ** 2)
    return _Filed(names, direct[used].T, rolled.subjects[kept].astype(np.float64), several, kept)


@dataclass(frozen=True, eq=False)
class _Alpha:
    """Krippendorff's alpha as sums over items: what differs within each, and the counts that chance rests on."""

    within: Floats  # [item] or [item, node]: Σ over ordered pairs of people of δ, by m - 1
    people: Floats
    counts: Floats
    own: Floats  # [item]: what a person with several categories differs from herself, which is no pair
    delta: Floats | None  # None for nodes: in or out

    @classmethod
    def of_categories(cls, filed: _Filed, delta: Floats) -> _Alpha:
        """By a distance between categories."""
        one, other = (filed.several[name].to_numpy().astype(np.int64) for name in ("category", "other"))
        item, weight = (filed.several[name].to_numpy() for name in ("item", "weight"))
        own = sums(item.astype(np.int64), weight * delta[one, other], len(filed.people))
        between = ((filed.counts @ delta) * filed.counts).sum(1) - own
        return cls(between / np.maximum(filed.people - 1, 1), filed.people, filed.counts, own, delta)

    @classmethod
    def of_nodes(cls, filed: _Filed, rolled: RollUp) -> _Alpha:
        """For each category: whether an item belongs there or below."""
        inside = np.rint((rolled.rolled * rolled.subjects)[:, filed.kept].T)
        m = filed.people[:, None]
        return cls(
            2 * inside * (m - inside) / np.maximum(m - 1, 1), filed.people, inside, np.zeros(len(filed.people)), None
        )

    def values(self, weights: Floats) -> Floats:
        """Alpha for each row of weights of the items; [row, 1] or [row, node]."""
        n, counts = weights @ self.people, weights @ self.counts
        if self.delta is None:
            pairs, within = 2 * counts * (n[:, None] - counts), weights @ self.within
        else:
            pairs = (((counts @ self.delta) * counts).sum(1) - weights @ self.own)[:, None]
            within = (weights @ self.within)[:, None]
        defined = pairs > TINY * np.maximum(n, 1)[:, None] ** 2
        return np.where(defined, 1 - within * (n - 1)[:, None] / np.where(defined, pairs, 1.0), np.nan)


def _weights(items: int, resamples: int, rng: np.random.Generator) -> list[Floats]:
    """How often each item was drawn, in blocks of resamples; none with too few items."""
    if items < ENOUGH:
        return []
    even = np.full(items, 1 / items)
    return [
        rng.multinomial(items, even, size=block.stop - block.start).astype(np.float64)
        for block in blocks(resamples, BLOCK // items)
    ]


def _with_interval(one: _Alpha, chance: list[Floats], confidence: float) -> tuple[Floats, Floats, Floats]:
    """Alpha and the central part of the resampled ones that are defined."""
    value = one.values(np.ones((1, len(one.people))))[0]
    if not chance:
        return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
    drawn = np.concatenate([one.values(weights) for weights in chance])
    known = ~np.isnan(value) & ~np.isnan(drawn).all(0)
    ends = np.full((2, len(value)), np.nan)
    if known.any():
        ends[:, known] = np.nanquantile(drawn[:, known], [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return value, ends[0], ends[1]


def _notes(labels: Labels, items: int, confidence: float) -> tuple[Note, ...]:
    """Several categories of one person for one item, and how the agreement was found."""
    given = labels.frame.group_by("source", "item", maintain_order=True).agg(pl.col("category"))
    several = given.filter(pl.col("category").list.len() > 1)
    found = []
    if several.height:
        source, item, names = several.row(0)
        found.append(warning("filings.several", source=source, item=item, categories=names, filings=several.height))
    return (*found, note("filings.agreement", items=items, enough=ENOUGH, confidence=confidence))
