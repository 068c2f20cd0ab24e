"""Judgments prepared once, so that every block of a run can be looked up in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.errors import JoinError, TextError
from endoxa.tables import COUNTED, Floats, Ints, Opinions

MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Judgments:
    """One grade per query and item, grouped by query; queries in byte order of their names.

    frame    place (of the query), item, grade, stratum; descending grade within a query
    queries  the names
    offsets  rows of query q are offsets[q] : offsets[q + 1]
    sizes    [query, stratum] items in each stratum; empty where nothing was sampled by stratum
    """

    frame: pl.DataFrame
    queries: list[str]
    offsets: Ints
    sizes: Floats
    top: float

    @classmethod
    def of(cls, opinions: Opinions) -> Judgments:
        """Prepare one source's judgments. An undecided answer is no judgment."""
        rows = opinions.frame.filter(pl.col("grade").is_not_null() & COUNTED)
        if not rows.height:
            raise JoinError("there are no judgments to measure against")
        queries = rows["query"].unique().sort().to_list()
        place = rows["query"].replace_strict(queries, list(range(len(queries))), return_dtype=pl.Int64)
        sampled = rows["propensity"].null_count() < rows.height
        strata = rows["selected_by"].unique().drop_nulls().sort().to_list() if sampled else []
        stratum = (
            rows["selected_by"].replace_strict(strata, list(range(len(strata))), default=-1, return_dtype=pl.Int64)
            if strata
            else pl.repeat(-1, rows.height, dtype=pl.Int64, eager=True)
        )
        frame = rows.select(place.alias("place"), "item", "grade", stratum.alias("stratum"), "propensity").sort(
            "place", "grade", descending=[False, True], maintain_order=True
        )
        counts = np.bincount(frame["place"].to_numpy(), minlength=len(queries))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        sizes = np.zeros((len(queries), len(strata)))
        if strata:
            # a stratum of which a share pi was drawn holds sampled/pi items
            drawn = frame.filter((pl.col("grade") >= 0) & (pl.col("stratum") >= 0))
            np.add.at(
                sizes,
                (drawn["place"].to_numpy(), drawn["stratum"].to_numpy()),
                1 / drawn["propensity"].fill_null(1.0).to_numpy(),
            )
        top = float(np.max(frame["grade"].to_numpy(), initial=0.0))
        return cls(frame.drop("propensity"), queries, offsets.astype(np.int64), sizes, top)

    @cached_property
    def _sieve(self) -> npt.NDArray[np.bool_]:
        """A table that is True where the first bits of a judged pair's hash point; 2^16 to 2^24 entries."""
        bits = min(max(16, (16 * self.frame.height).bit_length()), 24)
        sieve = np.zeros(1 << bits, dtype=np.bool_)
        sieve[keys_of(self.frame["item"], self.frame["place"].to_numpy()) >> np.uint64(64 - bits)] = True
        return sieve

    def sifted(self, items: pl.Series, places: Ints, sizes: Ints) -> Ints:
        """Rows that may be judged pairs, and a few others; list l has `sizes[l]` adjacent rows of query `places[l]`."""
        shift = np.uint64(65 - self._sieve.size.bit_length())
        return np.flatnonzero(self._sieve[(items.hash().to_numpy() ^ np.repeat(_mixed(places), sizes)) >> shift])

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each query, by name."""
        return {query: place for place, query in enumerate(self.queries)}

    def pools(self, places: Ints, width: int) -> tuple[Floats, npt.NDArray[Any]]:
        """Grades and strata of everything pooled for these queries, padded to `width` with NaN and -1."""
        starts, counts = self.offsets[places], np.diff(self.offsets)[places]
        columns = np.arange(width)
        real = columns < counts[:, None]
        rows = np.where(real, starts[:, None] + columns, 0)
        grade = np.where(real, self.frame["grade"].to_numpy()[rows], np.nan)
        stratum = np.where(real, self.frame["stratum"].to_numpy()[rows], -1)
        return grade, stratum


SCALE = re.compile(r"^(-?[0-9.]+) ?[-–] ?([0-9.]+)$")


def refuse_all_relevant(opinions: Opinions, rels: Iterable[float]) -> None:
    """Refuse a scale on which every grade is relevant: ratings from 1 to 5 with the usual least relevant grade 1."""
    scales = [match for name in opinions.frame["scale"].drop_nulls().unique() if (match := SCALE.match(name))]
    least = max((float(match[1]) for match in scales), default=-math.inf)
    if any(rel <= least for rel in rels):
        name = next(match[0] for match in scales if float(match[1]) == least)
        raise TextError(
            f"the grades are ratings on the scale {name}, of which even the least would count as relevant; say from "
            "which grade on is relevant (-l 4, P(rel=4)@10), or make a belief: endoxa believe FILE --threshold 3"
        )


def keys_of(items: pl.Series, places: Ints) -> npt.NDArray[np.uint64]:
    """A hash per (query, item); equal pairs have equal hashes."""
    return np.asarray(items.hash().to_numpy() ^ _mixed(places))


def _mixed(places: Ints) -> npt.NDArray[np.uint64]:
    return np.asarray((places.astype(np.uint64) + np.uint64(1)) * MIX)
