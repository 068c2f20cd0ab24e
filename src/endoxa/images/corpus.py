"""A corpus: pictures with their words, categories and masks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError
from endoxa.frozen import dataclass
from endoxa.tables import Ints, Labels, Opinions, Table, Taxonomy, cast, refuse_null, require

Progress = Callable[[str, int, int], None]  # the stage, what is done of it, and the whole

# Words of a caption that carry no information about the picture.
STOP = frozenset(
    "a an and are as at by for from in into is it its of on or that the this to was were which with".split()
)
APOSTROPHES = "'’"


def words_of(text: str) -> tuple[str, ...]:
    """The distinct words of a caption, in any script, lower-cased, without punctuation and English stop words.

    A word is a run of letters, digits and combining marks; an apostrophe inside a word belongs to it.

    >>> words_of("An Adelaide Rosella, on a branch.")
    ('adelaide', 'rosella', 'branch')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(sign if unicodedata.category(sign)[0] in "LMN" or sign in APOSTROPHES else " " for sign in folded)
    words = (word.strip(APOSTROPHES) for word in kept.split())
    return tuple(dict.fromkeys(word for word in words if word and word not in STOP))


@dataclass(frozen=True)
class Skipped:
    """A file that was left out, and why."""

    name: str
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(Table):
    """Pictures and what is known about them: item, path, words, category, mask, caption; one row per picture.

    item      the name of the picture in runs: its path without the suffix, where that is unique
    path      where the picture is, relative to `root`
    words     a list; empty if no words are known
    category  a path from the root of the tree of categories, `animals/birds`; null if unknown
    mask      a picture of the true regions (one number each), relative to `root`; null if unknown. Methods are tested
              against masks; no system sees them.
    """

    frame: pl.DataFrame
    root: str
    name: str = ""
    skipped: tuple[Skipped, ...] = field(default=())

    COLUMNS: ClassVar = ("item", "path", "words", "category", "mask", "caption")

    @classmethod
    def of(cls, frame: pl.DataFrame, root: str, *, name: str = "", skipped: Iterable[Skipped] = ()) -> Corpus:
        """Check the rows. Where words are missing, they are taken from the caption."""
        require(frame, ("path",), "corpus")
        if "item" not in frame.columns:
            frame = frame.with_columns(items_of(frame["path"]))
        frame = frame.with_columns(
            pl.lit(None, pl.List(pl.String) if column == "words" else pl.String).alias(column)
            for column in cls.COLUMNS
            if column not in frame.columns
        )
        if frame["words"].dtype != pl.List(pl.String):
            raise TableError(f"column 'words' of the corpus holds {frame['words'].dtype}, expected lists of words")
        frame = cast(frame, dict.fromkeys(("item", "path", "category", "mask", "caption"), pl.String), "corpus")
        refuse_null(frame, ("item", "path"), "corpus")
        twice = frame["item"].filter(frame["item"].is_duplicated())
        if len(twice):
            raise TableError(
                f"item {twice[0]!r} occurs twice in the corpus", remedy="each picture needs a name of its own"
            )
        words = [
            list(dict.fromkeys(given)) if given is not None else list(words_of(caption or ""))
            for given, caption in zip(frame["words"].to_list(), frame["caption"], strict=True)
        ]
        frame = frame.with_columns(pl.Series("words", words, dtype=pl.List(pl.String)))
        return cls(frame.select(cls.COLUMNS), root, name, tuple(skipped))

    @property
    def items(self) -> list[str]:
        """The names of the pictures, in order."""
        return self.frame["item"].to_list()

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each picture, in order."""
        return tuple(tuple(words) for words in self.frame["words"].to_list())

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each picture, by name."""
        return {item: row for row, item in enumerate(self.frame["item"])}

    @cached_property
    def by_path(self) -> dict[str, str]:
        """The name of each picture, by path."""
        return dict(self.frame.select("path", "item").iter_rows())

    @property
    def label(self) -> str:
        """Its name, or else its folder."""
        return self.name or self.root

    def take(self, rows: Iterable[int] | Ints) -> Corpus:
        """The pictures in these rows, in this order."""
        return Corpus(self.frame[np.asarray(list(rows), dtype=np.int64)], self.root, self.name)

    def within(self, *, without: Iterable[str] = ()) -> Corpus:
        """The pictures whose category path contains none of these parts (`symbols`, `cartoon`)."""
        banned = set(without)
        keep = [not banned & set((category or "").split("/")) for category in self.frame["category"]]
        return Corpus(self.frame.filter(pl.Series(keep)), self.root, self.name)


def items_of(paths: pl.Series) -> pl.Series:
    """A name for each path: without its suffix, unless two names would then be equal.

    Names are written into text files of runs, so that white space, and # at the beginning, become underscores.
    """
    bare = paths.str.replace(r"\.[^./]+$", "")
    named = [whole if twice else name for name, whole, twice in zip(bare, paths, bare.is_duplicated(), strict=True)]
    return pl.Series("item", named, dtype=pl.String).str.replace_all(r"\s|^#|\x00", "_")


def labels_of(corpus: Corpus) -> tuple[Labels, Taxonomy]:
    """The categories as labels (not truth) of the items, and their tree: `believe(labels, "levels", taxonomy=tree)`."""
    filed = corpus.frame.filter(pl.col("category").is_not_null())
    if not filed.height:
        raise JoinError(f"{corpus.label}: no picture has a category", remedy="folders or a manifest give them")
    labels = filed.select(pl.lit(corpus.name or "folders").alias("source"), "item", "category")
    return Labels.of(labels), Taxonomy.of_paths(filed["category"].unique().sort())


def same_category(corpus: Corpus, queries: Iterable[str]) -> Opinions:
    """Judgments by category: what shares the category of the query is relevant. They are labels, not truth."""
    filed = corpus.frame.filter(pl.col("category").is_not_null()).select("item", "category")
    asked = filed.filter(pl.col("item").is_in(list(queries))).rename({"item": "query"})
    pairs = asked.join(filed, on="category").filter(pl.col("item") != pl.col("query"))
    return Opinions.of(pairs.select("query", "item", pl.lit(1.0).alias("grade"), pl.lit("folders").alias("source")))
