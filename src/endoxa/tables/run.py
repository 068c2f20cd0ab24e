"""Runs: ranked lists of the systems. Ranks are computed here and nowhere else."""

from __future__ import annotations

from functools import cached_property

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.policies import CHOICES, Ties, refuse_choice
from endoxa.tables.checks import (
    Bools,
    Counts,
    Floats,
    Ints,
    Table,
    cast,
    first_true,
    refuse_null,
    rename_known,
    require,
)


@dataclass(frozen=True, eq=False, repr=False)
class Run(Table):
    """Ranked lists of the systems: system, query, item, rank, block, score.

    The rows of a list are adjacent and in rank order. `rank` starts at 1 and follows descending score, then descending
    item id by bytes (as in trec_eval), or the order of the input under `ties="input"`. `block` is the first rank of the
    group of equal scores that the item belongs to. `empty` names the lists that hold nothing, by system and query: a
    system that answers no to every item has answered.
    """

    frame: pl.DataFrame
    ties: Ties = "trec"
    empty: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, frame: pl.DataFrame, *, system: str | None = None, ties: Ties = "trec") -> Run:
        """Check, group and rank the rows. `system` is the name of the system if the frame has no such column."""
        refuse_choice("ties", ties, CHOICES["ties"])
        wanted = ("query", "item", "score") if system is not None else ("system", "query", "item", "score")
        frame = _scored(rename_known(frame, wanted))
        require(frame, ("query", "item", "score"), "run")
        if system is None and "system" not in frame.columns:
            system = "run"
        if system is not None:
            frame = frame.with_columns(pl.lit(system).alias("system"))
        frame = frame.select("system", "query", "item", "score")
        frame = cast(frame, {"system": pl.String, "query": pl.String, "item": pl.String, "score": pl.Float64}, "run")
        refuse_null(frame, ("system", "query", "item", "score"), "run")
        if (row := first_true(frame["score"].is_nan())) is not None:
            raise TableError(
                "score is NaN", row=row + 1, table="run",
                remedy="remove the row, because an item without a score has no rank",
            )  # fmt: skip
        frame, first = _grouped(frame)
        _refuse_duplicates(frame, first)
        order, rank, block = _ranked(first, frame["score"].to_numpy(), frame["item"], ties)
        items, scores = frame["item"], frame["score"]
        if order is not None:  # rows move only within a list, so only these two columns change
            items, scores = items[order], scores[order]
        columns = [frame["system"], frame["query"], items, pl.Series("rank", rank), pl.Series("block", block), scores]
        return cls(pl.DataFrame(columns), ties)

    def in_single_precision(self) -> Run:
        """Return the run as trec_eval ranks it: it keeps scores in single precision, in which close ones are equal."""
        if self.ties == "input":  # an order that trec_eval does not have
            return self
        with np.errstate(over="ignore"):
            score = self.frame["score"].to_numpy().astype(np.float32).astype(np.float64)
        order, rank, block = _ranked((self.frame["rank"] == 1).to_numpy(), score, self.frame["item"], self.ties)
        frame = self.frame if order is None else self.frame[order]
        return Run(frame.with_columns(pl.Series("rank", rank), pl.Series("block", block)), self.ties, self.empty)

    @property
    def systems(self) -> list[str]:
        """Names of the systems, in the order read."""
        return list(self._systems)

    @cached_property
    def _systems(self) -> list[str]:
        listed = self.frame["system"].unique(maintain_order=True).to_list()
        return list(dict.fromkeys((*listed, *(system for system, _ in self.empty))))

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return {system: {query: {item: score}}}."""
        result: dict[str, dict[str, dict[str, float]]] = {}
        for (system, query), rows in self.frame.group_by("system", "query", maintain_order=True):
            lists = result.setdefault(str(system), {})
            lists[str(query)] = dict(zip(rows["item"].to_list(), rows["score"].to_list(), strict=True))
        return result


def _scored(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of ranks without scores gets the score 1/rank."""
    if "score" in frame.columns or "rank" not in frame.columns:
        return frame
    rank = cast(frame.select("rank"), {"rank": pl.Float64}, "run")["rank"]
    if (row := first_true((~(rank >= 1)).fill_null(True))) is not None:
        raise TableError(
            f"rank {rank[row]} is not a number from 1 on", remedy="give ranks or scores", row=row + 1, table="run"
        )
    return frame.with_columns((1 / rank).alias("score"))


def _grouped(frame: pl.DataFrame) -> tuple[pl.DataFrame, Bools]:
    """Return the rows with those of each (system, query) adjacent, and which of them begin a list."""
    first = _changes(frame)
    heads = first.arg_true()
    pairs = list(zip(frame["system"][heads], frame["query"][heads], strict=True))
    if len(set(pairs)) < len(pairs):
        systems = frame["system"].unique(maintain_order=True).to_list()
        place = frame["system"].replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64)
        frame = frame.sort(place, "query", maintain_order=True)
        first = _changes(frame)
    return frame, first.to_numpy()


def _changes(frame: pl.DataFrame) -> pl.Series:
    """Mark the first row, and the rows whose system or query differs from the row before."""
    query, system = frame["query"], frame["system"]
    changes = query.ne_missing(query.shift(1))
    if frame.height and not (system == system[0]).all():
        changes |= system.ne_missing(system.shift(1))
    return changes


def _refuse_duplicates(frame: pl.DataFrame, first: Bools) -> None:
    """Refuse an item that is listed twice. Hashes are compared first; names only where hashes are equal."""
    starts, sizes = _lists(first)
    lists = np.arange(len(starts), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = frame["item"].hash().to_numpy() ^ np.repeat(lists, sizes)
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    suspects = frame.filter(pl.Series(keys).is_duplicated())
    twice = suspects.filter(suspects.select("system", "query", "item").is_duplicated())
    if twice.height:
        raise DuplicateItemError(*twice.row(0, named=False)[:3])


def _lists(first: Bools) -> tuple[Ints, Ints]:
    """Return the first row of each list, and its number of rows."""
    starts = np.flatnonzero(first)
    return starts, np.diff(np.append(starts, len(first)))


class DuplicateItemError(TableError):
    """An item that occurs twice in one list. Readers turn it into a FileError with the line."""

    def __init__(self, system: str, query: str, item: str) -> None:
        super().__init__(
            f"query {query!r} of {system!r} lists item {item!r} twice",
            remedy="a list ranks an item once: remove one of the two",
        )
        self.system, self.query, self.item = system, query, item


def _ranked(first: Bools, score: Floats, item: pl.Series, ties: Ties) -> tuple[Ints | None, Counts, Counts]:
    """Return the order of the rows (None if it does not change), and the rank and block of each row in that order.

    `first` marks the rows that begin a list. Most files are in score order, so that the rank is the position; only
    items with equal scores are sorted by id.
    """
    starts, sizes = _lists(first)
    order: Ints | None = None
    if not (first[1:] | (score[1:] <= score[:-1])).all():
        order = np.lexsort((-score, np.repeat(np.arange(len(starts)), sizes)))
        score = score[order]
    rank = np.arange(1, len(score) + 1, dtype=np.uint32) - np.repeat(starts.astype(np.uint32), sizes)
    equal = np.zeros(len(score), dtype=bool)  # whether the score equals that of the row before
    equal[1:] = (score[1:] == score[:-1]) & ~first[1:]
    if not equal.any():
        return order, rank, rank
    tied = equal.copy()
    tied[:-1] |= equal[1:]
    rows = np.flatnonzero(tied)
    group = np.cumsum(~equal[rows]) - 1
    block = rank.copy()
    block[rows] = rank[rows[~equal[rows]]][group]
    if ties != "input":
        order = np.arange(len(score)) if order is None else order
        names = pl.DataFrame({"group": group, "item": item[order[rows]], "row": order[rows]})
        order[rows] = names.sort("group", "item", descending=[False, True])["row"].to_numpy()
    return order, rank, block
