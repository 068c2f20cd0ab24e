"""Ranked answers of subjects."""

from __future__ import annotations

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.tables.checks import Table, cast, first_true, refuse_null, rename_known, require, rows_with


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Table):
    """Each subject's own ranked answer: source, query, item, rank, relevance.

    `relevance` is between 0 and 1 and decreases with rank; if it is not given, it decreases evenly from 1. The rows of
    an answer are adjacent and in rank order, and ranks are 1, 2, 3 …. If the frame has no `rank`, decreasing relevance
    gives the ranks; gaps between ranks are closed.
    """

    frame: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame, *, source: str = "subject") -> Answers:
        """Check and rank the rows. An answer lists an item once, and items at the same rank have the same relevance."""
        frame = rename_known(frame, ("source", "query", "item"))
        if "relevance" not in frame.columns and "grade" in frame.columns:
            frame = frame.rename({"grade": "relevance"})
        require(frame, ("query", "item"), "table of answers")
        if "rank" not in frame.columns and "relevance" not in frame.columns:
            raise TableError(
                "an answer needs a column 'rank' or 'relevance', or both",
                remedy="add one that gives the order of the items",
            )
        if "source" not in frame.columns:
            frame = frame.with_columns(pl.lit(source).alias("source"))
        if "relevance" not in frame.columns:
            place = pl.col("rank").cast(pl.Float64, strict=False).rank("dense").over("source", "query")
            longest = place.max().over("source", "query")
            frame = frame.with_columns(((longest - place + 1) / longest).alias("relevance"))
        if "rank" not in frame.columns:
            falling = pl.col("relevance").cast(pl.Float64, strict=False).rank("ordinal", descending=True)
            frame = frame.with_columns(falling.over("source", "query").alias("rank"))
        types = dict.fromkeys(("source", "query", "item"), pl.String) | {"rank": pl.Float64, "relevance": pl.Float64}
        frame = cast(frame.select(list(types)), types, "table of answers")
        refuse_null(frame, tuple(types), "table of answers")
        if (at := first_true(~frame["relevance"].is_between(0, 1))) is not None:
            raise TableError(
                f"relevance of item {frame['item'][at]!r} is {frame['relevance'][at]:g}",
                remedy="it must be between 0 and 1 (five grades from -2 to 2 are rescaled by (g + 2)/4)", row=at + 1,
            )  # fmt: skip
        who = ["source", "query"]
        if (twice := frame.filter(frame.select(*who, "item").is_duplicated())).height:
            source, query, item = twice.select(*who, "item").row(0)
            raise TableError(
                f"{source!r} lists item {item!r} of query {query!r} twice",
                remedy="an answer ranks an item once: remove one of the two",
                row=rows_with(frame, source=source, query=query, item=item)[-1],
            )
        given, frame = frame, frame.sort(*who, "rank", maintain_order=True)
        rank, relevance = pl.col("rank"), pl.col("relevance")
        if (rises := frame.filter(relevance > relevance.shift(1).over(who))).height:
            source, query, item = rises.select(*who, "item").row(0)
            raise TableError(
                f"{source!r}, query {query!r}: item {item!r} has a higher relevance than the item ranked above it",
                remedy="relevance must decrease with rank",
                row=rows_with(given, source=source, query=query, item=item)[0],
            )
        same_rank = rank == rank.shift(1).over(who)
        if (torn := frame.filter(same_rank & (relevance != relevance.shift(1).over(who)))).height:
            row = torn.row(0, named=True)
            raise TableError(
                f"{row['source']!r}, query {row['query']!r}: two items at rank {row['rank']:g} have different "
                "relevance",
                remedy="give them the same relevance, or different ranks",
            )
        return cls(frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(who).alias("rank")))

    @property
    def sources(self) -> list[str]:
        """The subjects, in byte order."""
        return self.frame["source"].unique().sort().to_list()
