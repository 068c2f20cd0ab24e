"""Taxonomies of categories, and labels of items."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.tables.checks import Table, cast, refuse_null, rename_known, require


@dataclass(frozen=True, eq=False, repr=False)
class Taxonomy(Table):
    """A tree or acyclic graph of categories: category, parent. A root has a null parent.

    A category with several parents has several rows. If there are several roots, a root `(all)` is added above them.
    """

    frame: pl.DataFrame

    ROOT: ClassVar[str] = "(all)"

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Taxonomy:
        """Check the edges. A parent without a row becomes a root, and a cycle is refused."""
        require(frame, ("category", "parent"), "taxonomy")
        frame = cast(frame.select("category", "parent"), {"category": pl.String, "parent": pl.String}, "taxonomy")
        refuse_null(frame, ("category",), "taxonomy")
        frame = frame.with_columns(pl.col("parent").replace("", None)).unique(maintain_order=True)
        if not frame.height:
            raise TableError("the taxonomy is empty", remedy="expected rows of category and parent")
        inner = frame.filter(pl.col("parent").is_not_null())
        known = pl.concat([frame["category"], inner["parent"]]).unique(maintain_order=True)
        roots = known.filter(~known.is_in(inner["category"].implode()))
        if not len(roots):
            raise TableError(f"the taxonomy has no root: {_cycle(inner)}", remedy="remove one of these edges")
        if len(roots) > 1:
            if cls.ROOT in known:
                raise TableError(
                    f"several categories have no parent, and {cls.ROOT!r} is the name of a category", remedy="rename it"
                )
            top = pl.DataFrame({"category": roots, "parent": [cls.ROOT] * len(roots)})
            inner, root = pl.concat([inner, top]), cls.ROOT
        else:
            root = roots[0]
        found = cls(pl.concat([pl.DataFrame({"category": [root], "parent": [None]}, schema=inner.schema), inner]))
        found.ancestors  # noqa: B018  refuses a cycle
        return found

    @classmethod
    def of_paths(cls, paths: Iterable[str]) -> Taxonomy:
        """Return the tree of paths like `animals/birds/owls`; the name of a category is its whole path."""
        rows: dict[tuple[str, str | None], None] = {}
        for path in paths:
            parts = [part for part in path.split("/") if part]
            for depth in range(len(parts)):
                rows["/".join(parts[: depth + 1]), "/".join(parts[:depth]) or None] = None
        return cls.of(pl.DataFrame(list(rows), schema={"category": pl.String, "parent": pl.String}, orient="row"))

    @property
    def root(self) -> str:
        """The category above all others."""
        return str(self.frame["category"][0])

    @property
    def categories(self) -> list[str]:
        """Every category, the root first."""
        return self.frame["category"].unique(maintain_order=True).to_list()

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """The ancestors of each category, including itself."""
        parents: dict[str, list[str]] = {}
        for category, parent in self.frame.iter_rows():
            parents.setdefault(category, [])
            if parent is not None:
                parents[category].append(parent)
        found: dict[str, frozenset[str]] = {}
        waiting = dict(parents)
        while waiting:
            ready = [name for name, above in waiting.items() if all(parent in found for parent in above)]
            if not ready:
                edges = [(name, parent) for name, above in waiting.items() for parent in above if parent in waiting]
                left = pl.DataFrame(edges, schema=["category", "parent"], orient="row")
                raise TableError(f"the taxonomy is not acyclic: {_cycle(left)}", remedy="remove one of these edges")
            for name in ready:
                found[name] = frozenset({name}).union(*(found[parent] for parent in waiting.pop(name)))
        return found


def _cycle(edges: pl.DataFrame) -> str:
    """Describe a cycle among the edges."""
    parent: dict[str, str] = dict(edges.select("category", "parent").iter_rows())
    name, path = next(iter(parent)), list[str]()
    while name not in path:
        path.append(name)
        name = parent[name]
    return " is under ".join([*path[path.index(name) :], name])


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Table):
    """Categories that sources gave to items: source, item, category. A source may give an item several categories."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, *, source: str = "labels") -> Labels:
        """Check the rows. A frame without `source` has one source; a row with an empty category is ignored."""
        frame = rename_known(frame, ("source", "item"))
        require(frame, ("item", "category"), "table of labels")
        if "source" not in frame.columns:
            frame = frame.with_columns(pl.lit(source).alias("source"))
        columns = ("source", "item", "category")
        frame = cast(frame.select(columns), dict.fromkeys(columns, pl.String), "table of labels")
        refuse_null(frame, ("source", "item"), "table of labels")
        frame = frame.filter(pl.col("category").is_not_null() & (pl.col("category") != ""))
        if not frame.height:
            raise TableError("there are no labels", remedy="expected rows of item and category, and optionally source")
        return cls(frame.unique(maintain_order=True))

    @property
    def sources(self) -> list[str]:
        """The sources of the labels, in the order read."""
        return self.frame["source"].unique(maintain_order=True).to_list()
