"""Judgments that say which item is better, not how good it is; and runs scored against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.measures.gather import NOT_COVERED, Block, Coverage
from endoxa.measures.grammar import Measure
from endoxa.measures.lists import Lists
from endoxa.measures.pairs import PREFERENCES, Group, Ranking
from endoxa.policies import Policy
from endoxa.tables import Bools, Floats, Ints, Opinions, Run, Table, cast, refuse_null, rename_known, require
from endoxa.tables.checks import first_true

COLUMNS = ("query", "group", "subgroup", "item", "level")
TABLE = "table of preferences"


@dataclass(frozen=True)
class Topic:
    """The judged items of one query, in byte order of their names, and the judges' preferences for them."""

    items: list[str]
    groups: tuple[Group, ...]

    def ranking(self, retrieved: Ints) -> Ranking:
        """A list: the places of its judged items among `items`, in rank order."""
        position = np.full(len(self.items), -1)
        position[retrieved] = np.arange(len(retrieved))
        rest = position < 0
        position[rest] = len(retrieved) + np.arange(int(rest.sum()))
        return Ranking(self.groups, position, len(retrieved))


@dataclass(frozen=True, repr=False)
class Preferences(Table):
    """Preferences of judges: query, group, subgroup, item, level.

    A group is one judge at one time. Within a subgroup items of a higher level are preferred to those of a lower one;
    a level above 0 means relevant. Subgroups are parts that a judge ordered; preferences follow through several of
    them (A over B, B over C). Groups may disagree; a group may not contradict itself.
    """

    frame: pl.DataFrame

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Preferences:
        """Check the rows. An item stands in a subgroup once."""
        frame = rename_known(frame, ("query", "item"))
        require(frame, COLUMNS, TABLE)
        types = {name: pl.Float64 if name == "level" else pl.String for name in COLUMNS}
        frame = cast(frame.select(COLUMNS), types, TABLE)
        refuse_null(frame, COLUMNS, TABLE)
        if not frame.height:
            raise TableError("there are no preferences to measure against")
        if (row := first_true(frame["level"].is_nan())) is not None:
            raise TableError("level is NaN", remedy="give a number", row=row + 1, table=TABLE)
        _refuse_repeats(frame)
        _refuse_changes_of_mind(frame)
        made = cls(frame)
        _ = made.topics  # refuses circles
        return made

    @classmethod
    def of_opinions(cls, opinions: Opinions, *, unjudged: bool = False) -> Preferences:
        """Preferences by grade: one group per source and query, every higher grade over every lower one.

        A negative grade means not judged and is left out; with `unjudged` it is a level below 0, as in trec_eval.
        """
        rows = opinions.frame.filter(pl.col("grade").is_not_null() if unjudged else pl.col("grade") >= 0)
        return cls.of(
            rows.select(
                "query", pl.col("source").alias("group"), pl.lit("0").alias("subgroup"), "item",
                pl.col("grade").alias("level"),
            )
        )  # fmt: skip

    @property
    def queries(self) -> list[str]:
        """Names of the queries, in byte order."""
        return self.frame["query"].unique().sort().to_list()

    @cached_property
    def places(self) -> pl.DataFrame:
        """Every judged item: query, place (of the query), item, number (of the item within the query)."""
        names = self.frame.select("query", "item").unique().sort("query", "item")
        return names.with_columns(
            pl.col("query").rle_id().cast(pl.Int64).alias("place"), pl.int_range(pl.len()).over("query").alias("number")
        )

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        """The preferences of every query, closed transitively."""
        rows = (
            self.frame.with_row_index("row")
            .join(self.places, on=["query", "item"])
            .sort("query", "group", "subgroup", "row")
        )
        place, number, level, row = (rows[name].to_numpy() for name in ("place", "number", "level", "row"))
        group = rows.select(pl.struct("query", "group").rle_id()).to_series().to_numpy()
        subgroup = rows.select(pl.struct("query", "group", "subgroup").rle_id()).to_series().to_numpy()
        groups: list[list[Group]] = [[] for _ in range(int(place[-1]) + 1)]
        for part in _runs(group):
            if subgroup[part.start] == subgroup[part.stop - 1]:
                made = Group(number[part], level[part])
            else:
                made = _partial(number[part], level[part], subgroup[part])
                both: Any = made.closure
                if pairs := [pair for pair in np.argwhere(both & both.T) if pair[0] != pair[1]]:
                    here = part.start + np.flatnonzero(np.isin(number[part], made.items[pairs[0]]))
                    raise _contradiction(self.frame, int(row[here].max()), [rows["item"][int(at)] for at in here])
            groups[place[part.start]].append(made)
        names = self.places.group_by("place", maintain_order=True).agg("item")["item"].to_list()
        return tuple(Topic(items, tuple(some)) for items, some in zip(names, groups, strict=True))


def _runs(values: Ints) -> list[slice]:
    """Where equal values stand side by side."""
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, len(values))
    return [slice(int(start), int(end)) for start, end in zip(np.append(0, ends), ends, strict=False)]


def _partial(number: Ints, level: Floats, subgroup: Ints) -> Group:
    """A group of several subgroups. Of an item's levels the last one stays; all are above 0 or none is."""
    items, member = np.unique(number, return_inverse=True)
    above = np.zeros((len(items), len(items)), dtype=bool)
    for part in _runs(subgroup):
        above[np.ix_(member[part], member[part])] |= level[part][:, None] > level[part]
    kept = np.empty(len(items))
    kept[member] = level
    return Group(items, kept, _closed(above))


def _closed(above: Bools) -> Bools:
    """The transitive closure: paths of twice the length in every step, until none is new."""
    while True:
        steps = above.astype(np.float32)  # counts of paths; only whether there is one matters
        further = above | (steps @ steps > 0)
        if (further == above).all():
            return above
        above = further


def _contradiction(frame: pl.DataFrame, row: int, items: list[str]) -> TableError:
    one, other = sorted(set(items))
    return TableError(
        f"group {frame['group'][row]!r} of query {frame['query'][row]!r} prefers {one!r} to {other!r} and the reverse",
        remedy="a group is one judge's order; give another opinion a group of its own", row=row + 1, table=TABLE,
    )  # fmt: skip


def _refuse_repeats(frame: pl.DataFrame) -> None:
    again = ~frame.select(pl.struct("query", "group", "subgroup", "item").is_first_distinct()).to_series()
    if (row := first_true(again)) is not None:
        query, group, subgroup, item, _ = frame.row(row)
        raise TableError(
            f"item {item!r} stands twice in subgroup {subgroup!r} of group {group!r} of query {query!r}",
            remedy="remove one of the two", row=row + 1, table=TABLE,
        )  # fmt: skip


def _refuse_changes_of_mind(frame: pl.DataFrame) -> None:
    """An item is relevant to a judge or it is not, in all subgroups."""
    relevant = pl.col("level") > 0
    turned = frame.select(relevant != relevant.first().over("query", "group", "item")).to_series()
    if (row := first_true(turned)) is not None:
        query, group, _, item, level = frame.row(row)
        raise TableError(
            f"level {level:g} of item {item!r}: elsewhere in group {group!r} of query {query!r} it is "
            + ("not relevant (0 or less)" if level > 0 else "relevant (above 0)"),
            remedy="of one judge's levels for an item all are above 0, or none", row=row + 1, table=TABLE,
        )  # fmt: skip


# ---- runs scored against preferences ------------------------------------------------------------------


def applied(policy: Policy) -> Policy:
    """The policy as far as it applies: an item that nobody compared is as good as not there."""
    if policy.ties in {"average", "range"}:
        raise TextError(f"ties={policy.ties} is not known for preferences", remedy="use ties=trec or ties=input")
    if policy.unjudged == "bounds":
        raise TextError("unjudged=bounds is not known for preferences: an item that nobody compared does not count")
    return replace(policy, unjudged="condensed", assessors="one")


def score_preferences(run: Run, preferences: Preferences, measures: Sequence[Measure], policy: Policy) -> Block:
    """Score one block of whole queries. Pure; the same for every feeder."""
    graded = next((m for m in measures if m.name not in PREFERENCES and m.definition.judged), None)
    if graded is not None:
        raise TextError(
            f"{graded.label or graded} needs grades, and these are preferences",
            remedy="measure them with prefs_simp, prefs_pair, prefs_avgjg, … (all_prefs)",
        )
    lists, ranked, coverage = _look_up(run, preferences, policy)
    places = lists["place"].to_numpy()
    rankings = [preferences.topics[place].ranking(found) for place, found in zip(places, ranked, strict=True)]
    return replace(_scored(places, rankings, measures, policy), systems=lists["system"].to_list(), coverage=coverage)


def score_empty(preferences: Preferences, places: Ints, measures: Sequence[Measure], policy: Policy) -> Block:
    """Scores of an empty list for these queries. trec_eval 9 counts none of their preferences."""
    rankings = [preferences.topics[place].ranking(np.zeros(0, dtype=np.int64)) for place in places]
    return _scored(places, rankings, measures, policy, ignored=policy.compat == "trec_eval-9")


def _scored(
    places: Ints, rankings: Sequence[Ranking], measures: Sequence[Measure], policy: Policy, *, ignored: bool = False
) -> Block:
    """The values of the lists; 0 for measures that need judgments if the preferences are ignored."""
    nothing = np.zeros((1, 0))
    unseen = Lists(nothing.astype(np.int64), nothing, np.zeros(1, dtype=np.int64), nothing)
    numeric = [m for m in measures if not m.definition.text]
    values = np.zeros((len(numeric), len(rankings)))
    for row, m in enumerate(numeric):
        if not m.definition.judged:  # any list has the same value
            values[row] = m(unseen)[0]
        elif not ignored:
            settings = m.keywords(compat=policy.compat)
            values[row] = [m.definition.kernel(ranking, **settings) for ranking in rankings]
    texts = [[""] * len(places) for m in measures if m.definition.text]
    return Block([""] * len(places), places, values, None, texts, NOT_COVERED)


def _look_up(run: Run, preferences: Preferences, policy: Policy) -> tuple[pl.DataFrame, list[Ints], Coverage]:
    """The lists of judged queries (system, place), for each its judged items in rank order; coverage."""
    rank = run.frame["rank"]
    frame = run.frame.select(
        "system", "query", "item", "block", (rank == 1).cum_sum().cast(pl.Int64).alias("list")
    ).with_columns((pl.len().over("list", "block") > 1).alias("tied"))
    if policy.compat != "none" and policy.ties == "trec":
        # here, and only here, trec_eval sorts equal scores by ascending id
        frame = frame.sort("list", "block", "item")
    if policy.cut is not None:
        frame = frame.filter(rank <= policy.cut)
    names = preferences.places
    queries = names.select("query", "place").unique()
    judged = frame.join(names, on=["query", "item"], how="inner", maintain_order="left")
    lists = (
        frame.group_by("list", maintain_order=True)
        .agg(pl.col("system", "query").first(), pl.len().alias("items"), pl.col("tied").sum())
        .join(queries, on="query", how="left", maintain_order="left")
        .join(judged.group_by("list").agg(pl.len().alias("judged")), on="list", how="left", maintain_order="left")
    )
    known = pl.col("place").is_not_null()
    coverage = lists.group_by("system", maintain_order=True).agg(
        (~known).sum().cast(pl.Int64).alias("unknown"),
        *(pl.col(name).filter(known).sum().cast(pl.Int64) for name in ("items", "judged", "tied")),
    )
    lists = lists.filter(known)
    cuts = np.searchsorted(judged["list"].to_numpy(), lists["list"].to_numpy())
    ranked = np.split(judged["number"].to_numpy(), cuts[1:])[: lists.height]
    return lists.select("system", "place"), ranked, {system: tuple(counts) for system, *counts in coverage.iter_rows()}
