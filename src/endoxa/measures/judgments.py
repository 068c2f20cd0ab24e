"""Judgments prepared once, so that every block of a run can be looked up in them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from endoxa.errors import CallError, JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.measures.gains import gain
from endoxa.measures.grammar import Measure
from endoxa.native import core
from endoxa.tables import Floats, Ints, Opinions
from endoxa.tables.checks import Later

if TYPE_CHECKING:
    import numpy.typing as npt

MIX = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class Judgments(Later):
    """One grade per query and item, grouped by query; queries in byte order of their names.

    queries  the names
    offsets  rows of query q are offsets[q] : offsets[q + 1]
    grade, stratum  one per row; descending grade within a query
    sizes    [query, stratum] items in each stratum; empty where nothing was sampled by stratum
    frame    place (of the query), item, judged (the number of the row)
    table    the items as the native core looks them up; None where it is not there
    buffers  offsets and grade as bytes, where the native core read them
    """

    queries: list[str]
    offsets: Ints
    grade: Floats
    stratum: Ints
    sizes: Floats
    top: float
    frame: pl.DataFrame
    table: Any
    buffers: tuple[bytes, bytes] | None = None

    NATIVE: ClassVar[tuple[str, ...]] = ("table",)

    @classmethod
    def of(cls, opinions: Opinions) -> Judgments:
        """Prepare one source's judgments. An undecided answer is no judgment."""
        if opinions.judged is not None:
            return cls._of_judged(opinions)
        from endoxa.tables import COUNTED, DRAW

        rows = opinions.frame.filter(pl.col("grade").is_not_null() & COUNTED)
        if not rows.height:
            raise JoinError("there are no judgments to measure against")
        queries = rows["query"].unique().sort().to_list()
        place = rows["query"].replace_strict(queries, list(range(len(queries))), return_dtype=pl.Int64)
        sampled = rows["propensity"].null_count() < rows.height
        by = ["selected_by", *DRAW]  # every round is a stratum of its own
        strata = rows.select(by).filter(pl.col("selected_by").is_not_null() & sampled).unique().sort(by)
        named = strata.with_row_index("stratum")
        stratum = rows.join(named, on=by, how="left", nulls_equal=True, maintain_order="left")["stratum"]
        frame = rows.select(
            place.alias("place"), "item", "grade", stratum.cast(pl.Int64).fill_null(-1), "propensity"
        ).sort("place", "grade", descending=[False, True], maintain_order=True)
        counts = np.bincount(frame["place"].to_numpy(), minlength=len(queries))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        sizes = np.zeros((len(queries), strata.height))
        if strata.height:
            # a stratum of which a share pi was drawn holds sampled/pi items
            drawn = frame.filter((pl.col("grade") >= 0) & (pl.col("stratum") >= 0))
            np.add.at(
                sizes,
                (drawn["place"].to_numpy(), drawn["stratum"].to_numpy()),
                1 / drawn["propensity"].fill_null(1.0).to_numpy(),
            )
        grade = frame["grade"].to_numpy()

        def table() -> Any:
            native = core()
            return None if native is None else native.table(queries, offsets, frame["item"].to_list())

        return cls.later(
            {"table": table}, queries=queries, offsets=offsets, grade=grade, stratum=frame["stratum"].to_numpy(),
            sizes=sizes, top=float(np.max(grade, initial=0.0)),
            frame=frame.select("place", "item", judged=pl.int_range(pl.len())),
        )  # fmt: skip

    @classmethod
    def _of_judged(cls, opinions: Opinions) -> Judgments:
        """The same from what the native core read: one unnamed source, nothing sampled."""
        judged = opinions.judged
        assert judged is not None
        makers: dict[str, Callable[[], Any]] = {  # NumPy is not loaded before the run is read
            "frame": lambda: cls.of(Opinions(opinions.frame)).frame, "offsets": lambda: judged.offsets,
            "grade": lambda: judged.grade, "stratum": lambda: np.full(len(judged.grade), -1, dtype=np.int64),
            "sizes": lambda: np.zeros((len(judged.queries), 0)),
            "top": lambda: float(np.max(judged.grade, initial=0.0)),
        }  # fmt: skip
        return cls.later(makers, queries=judged.queries, table=judged.table, buffers=judged.buffers)

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
        grade = np.where(real, self.grade[rows], np.nan)
        stratum = np.where(real, self.stratum[rows], -1)
        return grade, stratum


SCALE = re.compile(r"^(-?[0-9.]+) ?[-–] ?([0-9.]+)$")


def refuse_all_relevant(opinions: Opinions, rels: Iterable[float]) -> None:
    """Refuse a scale on which every grade is relevant: ratings from 1 to 5 with the usual least relevant grade 1."""
    if opinions.judged is not None:
        return  # TREC's text names no scale
    scales = [match for name in opinions.frame["scale"].drop_nulls().unique() if (match := SCALE.match(name))]
    least = max((float(match[1]) for match in scales), default=-math.inf)
    if any(rel <= least for rel in rels):
        name = next(match[0] for match in scales if float(match[1]) == least)
        raise TextError(
            f"the grades are ratings on the scale {name}, of which even the least would count as relevant",
            remedy="say from which grade on is relevant (-l 4, P(rel=4)@10), or make a belief: endoxa believe FILE "
            "--threshold 3",
        )


def refuse_out_of_reach(
    measures: Iterable[Measure], grades: Iterable[float], whose: str,
    remedy: str = "give judgments or labels with higher grades",
) -> None:  # fmt: skip
    """Refuse a measure to which none of the `grades` that exist counts: every value would be 0 or undefined."""
    known = np.array(sorted(grades))
    top = float(known.max(initial=0.0))
    for one in measures:
        settings = dict(one.settings)
        if settings.get("rel", top) > top:
            asks = f"counts items of grade {settings.pop('rel'):g} or more"
        elif "gains" in settings and not (gain(known, "log2", dict(settings.pop("gains"))) > 0).any():
            asks = "gives a gain to higher grades only"
        else:
            continue
        plain = Measure(one.name, tuple(settings.items()))
        raise CallError(f"{one} {asks}, and {whose} has no grade above {top:g}", remedy=f"take {plain}, or {remedy}")


def keys_of(items: pl.Series, places: Ints) -> npt.NDArray[np.uint64]:
    """A hash per (query, item); equal pairs have equal hashes."""
    return np.asarray(items.hash().to_numpy() ^ _mixed(places))


def _mixed(places: Ints) -> npt.NDArray[np.uint64]:
    return np.asarray((places.astype(np.uint64) + np.uint64(1)) * np.uint64(MIX))
