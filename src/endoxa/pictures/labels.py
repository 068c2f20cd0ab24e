"""The tree of categories as labels. Labels, not truth."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from endoxa.errors import JoinError
from endoxa.images.corpus import Corpus
from endoxa.tables import Labels, Opinions, Taxonomy


def categories(corpus: Corpus) -> tuple[Labels, Taxonomy]:
    """The corpus's tree of categories, and every item filed in its leaf: what `believe(model="levels")` takes."""
    filed = corpus.frame.filter(pl.col("category").is_not_null())
    if not filed.height:
        raise JoinError(f"{corpus.name or corpus.root}: no picture has a category; folders or a manifest give them")
    labels = filed.select(pl.lit(corpus.name or "folders").alias("source"), "item", "category")
    return Labels.of(labels), Taxonomy.of_paths(filed["category"].unique().sort())


def same_leaf(corpus: Corpus, queries: Iterable[str]) -> Opinions:
    """The tree taken at its word: what stands in the query's own category is relevant. Labels, not truth."""
    filed = corpus.frame.filter(pl.col("category").is_not_null()).select("item", "category")
    asked = filed.filter(pl.col("item").is_in(list(queries))).rename({"item": "query"})
    pairs = asked.join(filed, on="category").filter(pl.col("item") != pl.col("query"))
    return Opinions.of(pairs.select("query", "item", pl.lit(1.0).alias("grade"), pl.lit("folders").alias("source")))
