"""Belief from what the systems themselves returned: each system is a voter, with pseudo-votes as a prior.

Misleads: a consensus rewards similarity to the majority. It ranks a whole field tolerably and its best systems badly,
and near-duplicates outvote a single better system. Weights reduce that effect and do not remove it.
Source: Lamiroy and Sun 2011; docs/methods/beliefs.md, Consensus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from endoxa.errors import JoinError, TableError, TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.notes import Note, note, warning
from endoxa.policies import refuse_choice
from endoxa.statistics.bootstrap import BLOCK, blocks
from endoxa.tables import Belief, Bools, Floats, Ints, Opinions, Run, coded, places

DEPTH = 100
ALIKE = 0.8  # Jaccard above which two systems are clones of one another
PEOPLE = 200  # resamples of the voters
Weights = Literal["equal", "redundancy", "cluster", "minimum-variance"]
WEIGHTS: Weights = "cluster"  # clones share one vote; without clones it is `equal`
Pseudo = tuple[float, float]  # pseudo-votes for yes and for no


def votes(run: Run, depth: int = DEPTH) -> Opinions:
    """A row, grade 1, for every item that a system has among its first `depth`; the universe is their union."""
    _refuse_depth(depth)
    empty = Opinions.of(pl.DataFrame(schema={"query": pl.String, "item": pl.String, "grade": pl.Float64})).frame
    rows = run.frame.filter(pl.col("rank") <= depth).select(
        "query", "item", source="system", kind=pl.lit("system"), grade=pl.lit(1.0), role=pl.lit("main")
    )
    return Opinions(pl.concat([empty, rows], how="diagonal"))  # a run lists an item once: nothing is left to check


def spelt_out(opinions: Opinions) -> Opinions:
    """The same opinions with a row of grade 0 for every item that a system could have listed and did not.

    An absent row of a person means not asked; of a system it means no, if it answers the query and any row names the
    item. Models of raters count rows, so these rows must be written out.
    """
    frame = opinions.frame
    systems = frame.filter(pl.col("kind") == "system")
    if not systems.height:
        return opinions
    universe = frame.select("query", "item").unique(maintain_order=True)
    answering = systems.select("source", "query").unique(maintain_order=True)
    noes = (
        answering.join(universe, on="query", how="inner")
        .join(systems, on=["source", "query", "item"], how="anti")
        .with_columns(pl.lit("system").alias("kind"), pl.lit(0.0).alias("grade"), pl.lit("main").alias("role"))
    )
    return Opinions(pl.concat([frame, noes], how="diagonal"))


@dataclass(frozen=True)
class Tally:
    """The votes counted: a row per (query, item) of the universe, in byte order of query and item.

    rows     query, item
    systems  the voters
    yes      [row, system] sparse: how much of a yes, 1, a soft vote or the confidence
    silent   [row, system] sparse: 1 where the system answered 'unknown'
    voting   [query, system] whether the system answers the query at all
    weights  [system]
    prior    (a, b): pseudo-votes for yes and for no
    """

    rows: pl.DataFrame
    systems: list[str]
    yes: Any
    silent: Any
    voting: Bools
    weights: Floats
    prior: Pseudo

    @cached_property
    def queries(self) -> list[str]:
        """The queries, in byte order."""
        return self.rows["query"].unique().sort().to_list()

    @cached_property
    def place(self) -> Ints:
        """The number of each row's query."""
        return _place(self.rows)

    @cached_property
    def counts(self) -> tuple[Floats, Floats]:
        """Weighted yes-votes, and weighted answers, of each row."""
        answered = (self.voting @ self.weights)[self.place] - self.silent @ self.weights
        return self.yes @ self.weights, answered

    def p(self, without: Sequence[int] = ()) -> Floats:
        """P = (a + Σ w c v) / (a + b + Σ w c), the votes of some systems subtracted."""
        a, b = self.prior
        yes, answered = self.counts
        if len(without):
            chosen = list(without)
            own = self.weights[chosen]
            yes = yes - self.yes[:, chosen] @ own
            answered = answered - (self.voting[:, chosen] @ own)[self.place] + self.silent[:, chosen] @ own
        whole = a + b + np.maximum(answered, 0.0)
        if (whole <= 0).any():
            row = int(np.flatnonzero(whole <= 0)[0])
            raise TableError(
                f"no system answered for item {self.rows['item'][row]!r} of query {self.rows['query'][row]!r}, and "
                "the prior is (0, 0)",
                remedy="give a prior, such as (1, 1)",
            )
        return np.clip((a + np.maximum(yes, 0.0)) / whole, 0.0, 1.0)

    def resampled(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
        """P under `count` resamples of the voters: [row, resample].

        The Bayesian bootstrap (Rubin 1981) draws weights from a Dirichlet, because whole counts of a system's own vote
        would be lumpy. The parameter (S - 2)/S makes a share vary by p(1 - p)/(S - 1), as in a sample of S voters.
        """
        a, b = self.prior
        size = len(self.systems)
        drawn = size * rng.dirichlet(np.full(size, max((size - 2) / size, 0.25)), size=count).T * self.weights[:, None]
        answered, p = self.voting @ drawn, self.p()
        resampled = np.empty((self.rows.height, count), dtype=np.float32)
        for block in blocks(self.rows.height, BLOCK // (8 * max(count, 1))):  # blocks that stay in the cache
            whole = a + b + answered[self.place[block]]
            if self.silent.nnz:
                whole -= self.silent[block] @ drawn
            yes, voted = self.yes[block] @ drawn + a, whole > 0
            if voted.all():
                resampled[block] = yes / whole
            else:
                resampled[block] = np.where(voted, yes / np.where(voted, whole, 1.0), p[block, None])
        return resampled

    @cached_property
    def unique(self) -> Floats:
        """Per system, the share of its yes-votes that no other system shares: nothing here can confirm them."""
        votes = (self.yes > 0).astype(np.int64)
        alone = np.asarray(votes.sum(1)).ravel() == 1
        mine = np.asarray(votes.sum(0)).ravel()
        return np.where(mine > 0, np.asarray(votes[alone].sum(0)).ravel() / np.maximum(mine, 1), np.nan)

    def families(self, named: Mapping[str, str] | None = None) -> list[list[int]]:
        """For each system the numbers of those of its family, itself among them: by name, else by clustering."""
        if named is None:
            owner = clusters(overlap(self.yes))
        else:
            for name in named:
                refuse_unknown("system", name, self.systems)
            labels = [named.get(system, f"\0{system}") for system in self.systems]
            owner = np.unique(labels, return_inverse=True)[1]
        return [np.flatnonzero(owner == mine).tolist() for mine in owner]


def overlap(yes: Any) -> Floats:
    """Jaccard's index of every pair of systems' yes-votes; a system without votes overlaps with itself alone."""
    rows, systems = yes.shape
    columns = (yes > 0).tocsc()
    bits = np.zeros((systems, -(-rows // 64)), dtype=np.uint64)
    for system in range(systems):
        votes = np.zeros(64 * bits.shape[1], dtype=bool)
        votes[columns.indices[columns.indptr[system] : columns.indptr[system + 1]]] = True
        bits[system] = np.packbits(votes).view(np.uint64)
    both = np.zeros((systems, systems))
    for system in range(systems):  # a machine word holds 64 votes, and no thread of a matrix product waits
        both[system, system:] = np.bitwise_count(bits[system] & bits[system:]).sum(1)
    both = np.maximum(both, both.T)
    size = np.diag(both)
    union = size[:, None] + size - both
    shared: Floats = np.divide(both, union, out=np.zeros(both.shape), where=union > 0)
    np.fill_diagonal(shared, 1.0)
    return shared


def clusters(alike: Floats, threshold: float = ALIKE) -> Ints:
    """Complete-link clusters of systems all of which overlap by more than the threshold; a number per system."""
    if np.count_nonzero(alike >= threshold + 1e-12) == len(alike):  # each is near itself alone
        return np.arange(len(alike))
    owner, near = np.arange(len(alike)), alike.copy()
    np.fill_diagonal(near, 0.0)
    while (nearest := near.max()) >= threshold + 1e-12:
        kept, joined = np.unravel_index(int((near == nearest).argmax()), near.shape)
        owner[owner == joined] = kept
        near[kept] = near[:, kept] = np.minimum(near[kept], near[joined])
        near[joined] = near[:, joined] = near[kept, kept] = 0.0
    return np.unique(owner, return_inverse=True)[1]


def weigh(yes: Any, systems: Sequence[str], method: Weights | Mapping[str, float]) -> Floats:
    """A weight per system.

    equal             1
    redundancy        1 / Σ_j Jaccard(k, j): k clones count as one
    cluster           1 / size of the system's complete-link cluster (Jaccard > .8)
    minimum-variance  ∝ K⁻¹1, K the Jaccard matrix, negative ones set to 0, scaled to redundancy's sum
    or a number per name; those not named have 1.
    """
    if isinstance(method, Mapping):
        for name, weight in method.items():
            refuse_unknown("system", name, systems)
            if not (np.isfinite(weight) and weight >= 0):
                raise TextError(f"the weight of {name!r} is {weight}", remedy="a weight is a number, 0 or greater")
        given = np.array([float(method.get(system, 1.0)) for system in systems])
        if not given.sum() > 0:
            raise TextError("the weights of the systems sum to 0", remedy="at least one system must have a vote")
        return given
    if method == "equal":
        return np.ones(len(systems))
    refuse_choice("weights", method, get_args(Weights))
    alike = overlap(yes)
    if method == "cluster":
        return 1 / np.bincount(clusters(alike))[clusters(alike)]
    redundancy: Floats = 1 / alike.sum(1)
    if method == "redundancy":
        return redundancy
    raw = np.maximum(np.linalg.lstsq(alike, np.ones(len(alike)), rcond=None)[0], 0.0)
    return np.asarray(raw * redundancy.sum() / raw.sum())


def tally(opinions: Opinions, *, prior: Pseudo = (1.0, 1.0), weights: Weights | Mapping[str, float] = WEIGHTS) -> Tally:
    """Count the systems' votes. The universe is every pair that any row names, also with 'no' or 'unknown'."""
    _refuse_prior(prior)
    frame = opinions.frame
    systems = opinions.sources
    _refuse_few(systems)
    rows, at = _numbered(frame.select("query", "item"))
    who = places(frame["source"], systems)
    voting = _voting(rows, at, who, systems)
    outside = frame.filter(~pl.col("confidence").is_between(0, 1))
    if outside.height:
        raise TableError(
            f"the confidence of {outside['source'][0]!r} in item {outside['item'][0]!r} is "
            f"{outside['confidence'][0]:g}",
            remedy="it must lie between 0 and 1",
        )
    # a grade between 0 and 1 is a soft vote; a confidence c casts c for it and 1 - c for its opposite
    vote, sure = pl.col("grade").clip(0, 1), pl.col("confidence").fill_null(1.0)
    share = frame.select(vote * sure + (1 - vote) * (1 - sure)).to_series()
    unknown = frame["grade"].is_null().to_numpy()
    value = np.where(unknown, 0.0, share.fill_null(0.0).to_numpy())
    shape = (rows.height, len(systems))
    yes = sparse.csr_matrix((value, (at, who)), shape=shape)
    yes.eliminate_zeros()
    silent = sparse.csr_matrix((np.ones(int(unknown.sum())), (at[unknown], who[unknown])), shape=shape)
    return Tally(rows, systems, yes, silent, voting, weigh(yes, systems, weights), (float(prior[0]), float(prior[1])))


@dataclass(frozen=True, eq=False)
class Ballots:
    """The lists of a run with every pair of query and item numbered once, so that votes can be counted at any depth.

    rows               query, item: every pair of the run, in byte order
    systems            the voters, in order of name
    pair, voter, rank  numbers of the pair and the system of every line, and its rank, in order of query, system, rank
    """

    rows: pl.DataFrame
    systems: list[str]
    pair: Ints
    voter: Ints
    rank: Ints

    @classmethod
    def of(cls, run: Run) -> Ballots:
        """Number the lines of a run."""
        systems = sorted(run.systems)
        _refuse_few(systems)
        rows, pair = _numbered(run.frame.select("query", "item"))
        voter = places(run.frame["system"], systems)
        order = np.argsort(_place(rows)[pair] * len(systems) + voter, kind="stable")  # a list is in order of rank
        return cls(rows, systems, pair[order], voter[order], run.frame["rank"].to_numpy().astype(np.int64)[order])

    @cached_property
    def query(self) -> Ints:
        """The number of every line's query."""
        return _place(self.rows)[self.pair]

    def universe(self, depth: int) -> Bools:
        """Which pairs any system has among its first `depth` items: [pair]."""
        inside = np.zeros(self.rows.height, dtype=bool)
        inside[self.pair[self.rank <= depth]] = True
        return inside

    def tally(
        self, depth: int = DEPTH, *, prior: Pseudo = (1.0, 1.0), weights: Weights | Mapping[str, float] = WEIGHTS
    ) -> Tally:
        """The votes of the first `depth` items of every list, counted: the same as `tally(votes(run, depth))`."""
        _refuse_depth(depth)
        _refuse_prior(prior)
        universe, cast = self.universe(depth), self.rank <= depth
        rows = self.rows.filter(pl.Series(universe))
        at, who = (np.cumsum(universe) - 1)[self.pair[cast]], self.voter[cast]
        shape = (rows.height, len(self.systems))
        yes = sparse.csr_matrix((np.ones(len(at)), (at, who)), shape=shape)
        voting = _voting(rows, at, who, self.systems)
        weight = weigh(yes, self.systems, weights)
        return Tally(
            rows, self.systems, yes, sparse.csr_matrix(shape), voting, weight, (float(prior[0]), float(prior[1]))
        )


def _refuse_depth(depth: int) -> None:
    if depth < 1:
        raise TextError(f"the vote depth must be at least 1, not {depth}")


def _refuse_prior(prior: Pseudo) -> None:
    a, b = prior
    if not (a >= 0 and b >= 0 and np.isfinite(a + b)):
        raise TextError(f"the prior must be two numbers, 0 or greater, not {prior}")


def _refuse_few(systems: Sequence[str]) -> None:
    if len(systems) < 2:
        raise JoinError(
            "a consensus needs two systems or more",
            remedy=f"there is {systems[0] if systems else 'none'}: add the outputs of others",
        )


def _voting(rows: pl.DataFrame, at: Ints, who: Ints, systems: Sequence[str]) -> Bools:
    """Whether a system answers a query: [query, system]."""
    place = _place(rows)
    voting = np.zeros((int(place.max(initial=-1)) + 1, len(systems)), dtype=bool)
    voting[place[at], who] = True
    if not voting[voting.sum(1) > 1].any(0).all():
        queries = rows["query"].unique(maintain_order=True)
        query, system = np.nonzero(voting)
        refuse_strangers(pl.DataFrame({"system": pl.Series(systems)[system], "query": queries[query]}))
    return voting


def strangers(answered: pl.DataFrame) -> dict[str, str]:
    """{system: what is wrong} for those of two systems or more that share no query with any other.

    `answered` has the columns system and query.
    """
    answered = answered.unique(maintain_order=True)
    alone = answered.join(answered.filter(pl.len().over("query") > 1), on="system", how="anti", maintain_order="left")
    found = {}
    for name in alone["system"].unique(maintain_order=True):
        own, others = (answered.filter(part)["query"] for part in (pl.col("system") == name, pl.col("system") != name))
        found[name] = (
            f"shares no query with any other system: it answers {_first(own)}, the others answer "
            f"{_first(others.unique())}; leave it out, or give the same queries the same ids"
        )
    return found


def refuse_strangers(answered: pl.DataFrame) -> None:
    """Refuse a system that shares no query with any other: its mean is of other queries than theirs."""
    for name, wrong in strangers(answered).items():
        raise JoinError(f"system {name!r} {wrong}")


def _first(queries: pl.Series) -> str:
    rest = len(queries) - 1
    return f"{queries.min()!r:.60}" + (f" and {rest:,} other{'' if rest == 1 else 's'}" if rest else "")


def _place(rows: pl.DataFrame) -> Ints:
    """The number of each row's query; rows are in order of query."""
    return rows["query"].rle_id().to_numpy().astype(np.int64)


def _numbered(pairs: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """The distinct pairs in byte order, and the place of each row among them."""
    (queries, query), (items, item) = (coded(pairs[name]) for name in ("query", "item"))
    key = query * len(items) + item
    if len(queries) * len(items) <= 16 * len(key):  # a table of all pairs is smaller than what sorting would take
        present = np.zeros(len(queries) * len(items), dtype=bool)
        present[key] = True
        distinct, place = np.flatnonzero(present), (np.cumsum(present) - 1)[key]
    else:
        distinct, place = np.unique(key, return_inverse=True)
    return pl.DataFrame({"query": queries[distinct // len(items)], "item": items[distinct % len(items)]}), place


def believe(
    opinions: Opinions | Run,
    *,
    depth: int = DEPTH,
    prior: Pseudo = (1.0, 1.0),
    weights: Weights | Mapping[str, float] = WEIGHTS,
    people: int = PEOPLE,
    rng: np.random.Generator | None = None,
) -> Belief:
    """The consensus of systems: P(item) = (a + Σ w c v) / (a + b + Σ w c).

    v is a vote (1, 0, or between them a soft vote or a calibrated confidence; grades above 1 are 1), c whether the
    system answered, w its weight. A Run votes yes for its first `depth` items. `people` is the number of resamples of
    the voters, which show how much the belief depends on who voted. Misleads: correlated systems confirm each other's
    errors; read rankings from it, not absolute scores.
    Source: Lamiroy and Sun 2011, eq 10; docs/methods/beliefs.md, Consensus.
    """
    ranked = isinstance(opinions, Run)
    counted = tally(votes(opinions, depth) if isinstance(opinions, Run) else opinions, prior=prior, weights=weights)
    return belief_of(counted, people=people, rng=rng, depth=depth if ranked else None, weights=weights)


def belief_of(
    counted: Tally,
    *,
    people: int = 0,
    rng: np.random.Generator | None = None,
    depth: int | None = None,
    weights: Weights | Mapping[str, float] = WEIGHTS,
) -> Belief:
    """The belief that follows from the counted votes."""
    frame = counted.rows.select(
        "query", pl.lit("").alias("reading"), pl.lit(1.0).alias("weight"), "item", pl.lit(1.0).alias("grade")
    ).with_columns(pl.Series("p", counted.p()))
    if people:
        resampled = counted.resampled(people, rng or np.random.default_rng(0))
        frame = frame.with_columns(pl.Series("people", resampled.ravel()).reshape((-1, people)))
    notes = tuple(notes_of(counted, depth, weights))
    return Belief(frame, model="consensus", notes=notes)  # sorted, distinct and between 0 and 1 as it was counted


def notes_of(counted: Tally, depth: int | None, weights: Weights | Mapping[str, float]) -> list[Note]:
    """How the consensus was made."""
    kind = "given" if isinstance(weights, Mapping) else weights
    votes = float(counted.weights.sum())
    notes = [
        note(
            "consensus.votes", systems=len(counted.systems), depth=depth, prior=counted.prior, weights=kind, votes=votes
        )
    ]
    if lonely := int((counted.voting.sum(1) == 1).sum()):
        notes.append(warning("consensus.lonely_queries", lonely=lonely, queries=len(counted.queries)))
    return notes
