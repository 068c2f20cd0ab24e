"""A corpus: pictures with the words, the category and the mask that go with them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from endoxa.errors import TableError
from endoxa.tables import Ints, Table, cast, refuse_null, require

# Words of a caption that say nothing of the picture.
STOP = frozenset(
    "a an and are as at by for from in into is it its of on or that the this to was were which with".split()
)
APOSTROPHES = "'’"


def words_of(text: str) -> tuple[str, ...]:
    """The distinct words of a caption, in any script: folded in case and form, without signs and English stop words.

    A word is a run of letters, digits and the marks that go with them (vowel signs, accents), an apostrophe within it
    too. Scripts that write no blanks between words give one word for each run.

    >>> words_of("An Adelaide Rosella, on a branch.")
    ('adelaide', 'rosella', 'branch')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(sign if _in_words(sign) or sign in APOSTROPHES else " " for sign in folded)
    words = (word.strip(APOSTROPHES) for word in kept.split())
    return tuple(dict.fromkeys(word for word in words if word and word not in STOP))


def _in_words(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LMN"


@dataclass(frozen=True)
class Skipped:
    """A file that was left out, and why."""

    name: str
    why: str


@dataclass(frozen=True, eq=False)
class Corpus(Table):
    """Pictures and what goes with them: item, path, words, category, mask, caption; one row per picture.

    `path` and `mask` are relative to `root`; a mask is a picture of the true regions (a number each), where somebody
    knows them: methods are checked against it, no system sees it. `words` is a list,
    empty where nothing is known. `category` is a path from the root of the tree of categories, `animals/birds`,
    null where nothing is known. `item` names the picture in runs: its path without the ending where that is unique.
    """

    frame: pl.DataFrame
    root: str
    name: str = ""
    skipped: tuple[Skipped, ...] = field(default=())

    COLUMNS: ClassVar = ("item", "path", "words", "category", "mask", "caption")

    @classmethod
    def of(cls, frame: pl.DataFrame, root: str, *, name: str = "", skipped: Iterable[Skipped] = ()) -> Corpus:
        """Check the rows; a caption gives the words where there are none."""
        require(frame, ("path",), "corpus")
        if "item" not in frame.columns:
            frame = frame.with_columns(items_of(frame["path"]))
        missing: dict[str, Any] = {
            "words": pl.List(pl.String),
            "category": pl.String,
            "mask": pl.String,
            "caption": pl.String,
        }
        frame = frame.with_columns(
            pl.lit(None, dtype=dtype).alias(column) for column, dtype in missing.items() if column not in frame.columns
        )
        if frame["words"].dtype != pl.List(pl.String):
            raise TableError(f"column 'words' of the corpus holds {frame['words'].dtype}, expected lists of words")
        frame = cast(frame, dict.fromkeys(("item", "path", "category", "mask", "caption"), pl.String), "corpus")
        refuse_null(frame, ("item", "path"), "corpus")
        twice = frame["item"].filter(frame["item"].is_duplicated())
        if len(twice):
            raise TableError(f"item {twice[0]!r} stands twice in the corpus; each picture needs a name of its own")
        said = [
            list(dict.fromkeys(words)) if words is not None else list(words_of(caption or ""))
            for words, caption in zip(frame["words"].to_list(), frame["caption"], strict=True)
        ]
        frame = frame.with_columns(pl.Series("words", said, dtype=pl.List(pl.String)))
        return cls(frame.select(cls.COLUMNS), root, name, tuple(skipped))

    @property
    def items(self) -> list[str]:
        """The names of the pictures, in order."""
        return self.frame["item"].to_list()

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The words of each picture, in order."""
        return tuple(tuple(words) for words in self.frame["words"].to_list())

    def take(self, rows: Iterable[int] | Ints) -> Corpus:
        """Some of the pictures, in the order given."""
        return Corpus(self.frame[np.asarray(list(rows), dtype=np.int64)], self.root, self.name)

    def within(self, *, without: Iterable[str] = ()) -> Corpus:
        """The pictures whose category path holds none of these parts (`symbols`, `cartoon`)."""
        banned = set(without)
        keep = [not banned & set((category or "").split("/")) for category in self.frame["category"]]
        return Corpus(self.frame.filter(pl.Series(keep)), self.root, self.name)


def items_of(paths: pl.Series) -> pl.Series:
    """A name for each path: without its ending, unless two would then be the same. It must stand in a run's text:
    blanks, and a # in front, become underscores.
    """
    bare = paths.str.replace(r"\.[^./]+$", "")
    named = [whole if twice else name for name, whole, twice in zip(bare, paths, bare.is_duplicated(), strict=True)]
    return pl.Series("item", named, dtype=pl.String).str.replace_all(r"\s|^#|\x00", "_")
