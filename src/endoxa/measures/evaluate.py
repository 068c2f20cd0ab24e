"""From runs and judgments to scores.

The unit of work is a block of whole queries: `score_block` maps one block to values, `gather` joins the blocks.
Blocks are independent, so a file reader, a process pool or a cluster can feed the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from endoxa.errors import TableError, TextError
from endoxa.measures.gather import Block, gather
from endoxa.measures.grammar import Measure, parse_all
from endoxa.measures.judgments import Judgments, keys_of
from endoxa.measures.lists import BEYOND, CELLS, Lists
from endoxa.measures.pairs import PREFERENCES
from endoxa.measures.ties import score
from endoxa.policies import Policy
from endoxa.tables import Bools, DuplicateJudgmentError, Floats, Ints, Opinions, Run, Scores


@dataclass(frozen=True)
class _Found:
    """The judged items of a block, and the lists they stand in."""

    lists: pl.DataFrame  # system, place, size; one row per list of a judged query
    rows: pl.DataFrame  # list, rank, block, grade, stratum; sorted by list and rank
    length: Ints | None  # per row: size of its run of equal scores


def measure(
    run: Run,
    opinions: Opinions,
    measures: str | Measure | Iterable[str | Measure],
    policy: Policy | None = None,
) -> Scores:
    """Score every list of the run against the judgments.

    Formula: one value per system, query and measure; averages are made by `summarise`.
    """
    policy = policy or Policy(ties=run.ties)
    if (policy.ties == "input") != (run.ties == "input"):
        raise TableError(
            f"the run was ranked with ties={run.ties} and is to be measured with ties={policy.ties}; "
            f"read it with ties={policy.ties!r}"
        )
    wanted = parse_all(measures)
    panel = prepare(opinions, policy)
    blocks = [[score_block(run, judgments, wanted, policy)] for judgments in panel.values()]
    return gather(panel, blocks, wanted, policy, systems=run.systems)


def prepare(opinions: Opinions, policy: Policy) -> dict[str, Judgments]:
    """Judgments by assessor; a single entry unless each assessor is to be scored apart."""
    if policy.assessors == "mean":
        return {
            source: Judgments.of(Opinions(opinions.frame.filter(pl.col("source") == source)))
            for source in opinions.sources
        }
    pairs = opinions.frame.select("query", "item")
    twice = pairs.filter(pairs.is_duplicated())
    if twice.height:
        raise DuplicateJudgmentError("", twice["query"][0], twice["item"][0])
    return {"": Judgments.of(opinions)}


def score_block(run: Run, judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> Block:
    """Score one block of whole queries. Pure; the same for every feeder."""
    compared = next((m for m in measures if m.name in PREFERENCES), None)
    if compared is not None:
        raise TextError(
            f"{compared} needs preferences, and these are grades; read a file of preferences with -R prefs, "
            "or take grades as preferences with -R qrels_prefs (in Python Preferences.of_opinions)"
        )
    found, coverage = _look_up(run, judgments, policy)
    numeric = [m for m in measures if not m.definition.text]
    count, places = found.lists.height, found.lists["place"].to_numpy()
    values = np.full((len(numeric), count), np.nan)
    spread = np.full((3, len(numeric), count), np.nan)
    texts = [[""] * count for m in measures if m.definition.text]
    is_open = False
    for chosen, lists in _batches(found, judgments):
        plain = replace(lists, block=None, length=None)
        for row, wanted in enumerate(m for m in measures if m.definition.text):
            for place, text in zip(chosen, wanted(plain), strict=True):
                texts[row][place] = text
        values[:, chosen], some = score(lists, numeric, policy, places[chosen])
        if some is not None:
            is_open = True
            spread[:, :, chosen] = some
    return Block(
        found.lists["system"].to_list(),
        places,
        values,
        spread if is_open else None,
        texts,
        coverage,
    )


def _look_up(run: Run, judgments: Judgments, policy: Policy) -> tuple[_Found, pl.DataFrame]:
    """Which rows of the block are judged. Hashes sift the rows; names decide."""
    frame = run.frame
    if policy.depth is not None:
        frame = frame.filter(pl.col("rank") <= policy.depth)
    rank = frame["rank"].to_numpy().astype(np.int64)
    heads = np.flatnonzero(rank == 1)
    sizes = np.diff(np.append(heads, len(rank)))
    lists = frame[heads].select("system", "query").join(judgments.places, on="query", how="left", maintain_order="left")
    lists = lists.with_columns(pl.Series("size", sizes, dtype=pl.Int64), pl.col("place").fill_null(-1))
    place = np.repeat(lists["place"].to_numpy(), sizes)
    number = np.repeat(np.arange(len(heads)), sizes)
    sifted = pl.Series(keys_of(frame["item"], place)).is_in(judgments.keys.implode())
    rows = np.flatnonzero(sifted.to_numpy() & (place >= 0))
    block = frame["block"].to_numpy().astype(np.int64)
    candidates = pl.DataFrame(
        {
            "place": place[rows],
            "item": frame["item"][rows],
            "list": number[rows],
            "rank": rank[rows],
            "block": block[rows],
            "row": rows,
        }
    )
    judged = candidates.join(judgments.frame, on=["place", "item"], how="inner").sort("list", "rank")
    tied = _tied(block, number)
    length = None
    if policy.ties in {"average", "range"}:
        starts = np.flatnonzero(np.append(True, (block[1:] != block[:-1]) | (number[1:] != number[:-1])))
        lengths = np.repeat(np.diff(np.append(starts, len(block))), np.diff(np.append(starts, len(block))))
        length = lengths[judged["row"].to_numpy()]
    known = lists["place"].to_numpy() >= 0
    coverage = pl.DataFrame(
        {
            "system": lists["system"],
            "unknown": (~known).astype(np.int64),
            "items": np.where(known, sizes, 0),
            "judged": np.bincount(judged.filter(pl.col("grade") >= 0)["list"].to_numpy(), minlength=len(heads)),
            "tied": np.where(known, np.bincount(number, weights=tied, minlength=len(heads)), 0).astype(np.int64),
        }
    )
    kept = np.cumsum(known) - 1
    found = _Found(
        lists.filter(known),
        judged.select(pl.Series("list", kept[judged["list"].to_numpy()]), "rank", "block", "grade", "stratum"),
        length,
    )
    return found, coverage.group_by("system", maintain_order=True).sum()


def _tied(block: Ints, number: Ints) -> Floats:
    """1 for every row that shares its score with a neighbour."""
    same = np.zeros(len(block), dtype=bool)
    same[1:] = (block[1:] == block[:-1]) & (number[1:] == number[:-1])
    tied = same.copy()
    tied[:-1] |= same[1:]
    return tied.astype(float)


def _batches(found: _Found, judgments: Judgments) -> Iterator[tuple[Ints, Lists]]:
    """Padded arrays of lists with about the same number of judged items, none larger than CELLS."""
    count = found.lists.height
    if not count:
        return
    owner = found.rows["list"].to_numpy()
    hits = np.bincount(owner, minlength=count)
    starts = np.concatenate([[0], np.cumsum(hits)])
    places = found.lists["place"].to_numpy()
    width = np.maximum(np.maximum(hits, np.diff(judgments.offsets)[places]), 1)
    order = np.argsort(width, kind="stable")
    columns = {name: found.rows[name].to_numpy() for name in ("rank", "block", "grade", "stratum")}
    begin = 0
    while begin < count:
        end = begin + 1
        reach = np.searchsorted(np.arange(1, count - begin + 1) * width[order[begin:]], CELLS, side="right")
        end = begin + max(int(reach), 1)
        chosen = np.sort(order[begin:end])
        begin = end
        at = np.arange(int(hits[chosen].max(initial=0)))
        real = at < hits[chosen][:, None]
        rows = np.where(real, starts[chosen][:, None] + at, 0)

        def padded(values: Ints | Floats, filler: float, rows: Ints = rows, real: Bools = real) -> Ints | Floats:
            return np.where(real, values[rows], filler) if len(values) else np.full(real.shape, filler)

        pool, pool_stratum = judgments.pools(places[chosen])
        sampled = judgments.sizes.shape[1] > 0
        lists = Lists(
            rank=padded(columns["rank"], BEYOND).astype(np.int64),
            grade=padded(columns["grade"], np.nan).astype(float),
            retrieved=found.lists["size"].to_numpy()[chosen],
            pool=pool,
            top=judgments.top,
            block=padded(columns["block"], BEYOND).astype(np.int64) if found.length is not None else None,
            length=padded(found.length, 1).astype(np.int64) if found.length is not None else None,
            stratum=padded(columns["stratum"], -1).astype(np.int64) if sampled else None,
            pool_stratum=pool_stratum if sampled else None,
            stratum_size=judgments.sizes[places[chosen]] if sampled else None,
        )
        yield chosen, lists
