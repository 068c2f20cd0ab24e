"""From runs and judgments to scores.

The unit of work is a block of whole queries: `score_block` maps one block to values, `gather` joins the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.measures import plain, preference_judgments
from endoxa.measures.gather import NOT_COVERED, Block, Coverage, coverage_of, gather, tied_items
from endoxa.measures.grammar import Measure, Wanted, parse_all
from endoxa.measures.judgments import Judgments
from endoxa.measures.lists import BEYOND, CELLS, Lists
from endoxa.measures.looked_up import LookedUp, Sought
from endoxa.measures.pairs import PREFERENCES
from endoxa.measures.plain import Plain
from endoxa.measures.preference_judgments import Preferences
from endoxa.measures.ties import score
from endoxa.native import core
from endoxa.policies import Policy
from endoxa.tables import Bools, DuplicateJudgmentError, Floats, Ints, Opinions, Run, Scores

T = TypeVar("T")
EIGHTS = 128  # NumPy adds up to so many numbers in eight sums, one per place modulo 8, to which zeros add nothing


@dataclass(frozen=True)
class _Found:
    """The lists of a block whose query is judged, and their judged items, sorted by list and rank."""

    systems: list[str]  # per list
    places: Ints
    sizes: Ints
    owner: Ints  # per judged item: the number of its list
    rank: Ints
    block: Ints
    grade: Floats
    stratum: Ints
    length: Ints | None  # size of its run of equal scores


class Blocks(Protocol):
    """A run that is read in blocks of whole queries: a file, several files, later a cluster."""

    def map(
        self, kernel: Callable[[Run], T], sought: Sought[T] | None = None
    ) -> Iterable[tuple[list[str], dict[str, str], Sequence[T]]]:
        """For each part the names of its systems, new names for them, and the results of the kernel.

        A part that the native core can read gives one result, that of `sought`.
        """

    def whole(self) -> Run:
        """All of it as one table."""


def measure(
    run: Run | Blocks, judgments: Opinions | Preferences, measures: Wanted, policy: Policy | None = None
) -> Scores:
    """Score every list of the run against judgments or preferences: a value per system, query and measure."""
    policy = policy or Policy(ties=run.ties if isinstance(run, Run) else "trec")
    if isinstance(run, Run) and (policy.ties == "input") != (run.ties == "input"):
        raise TableError(
            f"the run was ranked with ties={run.ties} and is to be measured with ties={policy.ties}",
            remedy=f"read it with ties={policy.ties!r}",
        )
    wanted = parse_all(measures)
    panel: dict[str, Any]
    kernel: Callable[..., Block] = score_block
    empty: Callable[..., Block] = score_empty
    if isinstance(judgments, Preferences):
        policy, panel = preference_judgments.applied(policy), {"": judgments}
        kernel, empty = preference_judgments.score_preferences, preference_judgments.score_empty
    else:
        panel = prepare(judgments, policy)

    def scored(block: Run) -> dict[str, Block]:
        block = block if policy.compat == "none" else block.in_single_precision()
        return {source: kernel(block, known, wanted, policy) for source, known in panel.items()}

    def nothing(known: Any) -> Block:
        assert isinstance(run, Run)
        lists = [(system, known.queries.index(query)) for system, query in run.empty if query in known.queries]
        block = empty(known, np.array([place for _, place in lists], dtype=np.int64), wanted, policy)
        return replace(block, systems=[system for system, _ in lists])

    blocks: dict[str, list[Any]] = {source: [] for source in panel}
    systems: list[str] = []
    sought = _sought(panel, wanted, policy) if kernel is score_block and not isinstance(run, Run) else None
    parts: Any = [(run.systems, {}, [scored(run)])] if isinstance(run, Run) else run.map(scored, sought)
    for names, renamed, results in parts:
        systems += [renamed.get(name, name) for name in names]
        for result in results:
            for source, block in result.items():
                blocks[source].append(block.renamed(renamed) if renamed else block)
    ((known, some), *others) = zip(panel.values(), blocks.values(), strict=True)
    if not others and some and all(isinstance(one, Plain) and one.is_shared for one in some):
        return plain.joined(some, known, wanted, policy)
    whole = [[one.block() if isinstance(one, Plain) else one for one in some] for some in blocks.values()]
    if isinstance(run, Run) and run.empty:
        whole = [[*some, nothing(known)] for known, some in zip(panel.values(), whole, strict=True)]
    return gather(panel, whole, wanted, policy, systems=systems, empty=empty)


def _sought(
    panel: Mapping[str, Judgments], measures: Sequence[Measure], policy: Policy
) -> Sought[dict[str, Any]] | None:
    """What the native core looks up; None where it cannot: several assessors, or no native core."""
    if len(panel) > 1 or core() is None:
        return None
    ((source, judgments),) = panel.items()
    if judgments.table is None:
        return None

    asked = plain.asked(measures, policy)
    if asked is not None and judgments.buffers is not None:
        return Sought(judgments.table, policy, lambda found: {source: Plain(*found)}, (*judgments.buffers, asked))

    def scored(found: tuple[Any, ...]) -> dict[str, Any]:
        return {source: score_looked_up(LookedUp.of(found), judgments, measures, policy)}

    return Sought(judgments.table, policy, scored)


def prepare(opinions: Opinions, policy: Policy) -> dict[str, Judgments]:
    """Judgments by assessor; a single entry unless each assessor is to be scored apart."""
    if policy.assessors == "mean":
        return {
            source: Judgments.of(Opinions(opinions.frame.filter(pl.col("source") == source)))
            for source in opinions.sources
        }
    if opinions.judged is not None:
        return {"": Judgments.of(opinions)}
    pairs = opinions.frame.select("query", "item")
    twice = pairs.filter(pairs.is_duplicated())
    if twice.height:
        raise DuplicateJudgmentError("", twice["query"][0], twice["item"][0])
    return {"": Judgments.of(opinions)}


def score_block(run: Run, judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> Block:
    """Score one block of whole queries. Pure; the same for every feeder."""
    return score_looked_up(_look_up(run, judgments, policy), judgments, measures, policy)


def score_looked_up(looked_up: LookedUp, judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> Block:
    """The same for lists whose judged items were looked up, as the native core does it."""
    _refuse_preferences(measures)
    known, row = looked_up.place >= 0, looked_up.row
    kept, grade = np.cumsum(known) - 1, judgments.grade[row]
    systems = [looked_up.systems[system] for system in looked_up.system.tolist()]
    found = _Found(
        systems=[system for system, here in zip(systems, known.tolist(), strict=True) if here],
        places=looked_up.place[known],
        sizes=looked_up.size[known],
        owner=kept[looked_up.owner],
        rank=looked_up.rank,
        block=looked_up.block,
        grade=grade,
        stratum=judgments.stratum[row],
        length=looked_up.length if policy.ties in {"average", "range"} else None,
    )
    hits = np.bincount(looked_up.owner[grade >= 0], minlength=len(known))
    coverage = coverage_of(systems, known, looked_up.size, hits, looked_up.tied)
    return _scored(found, coverage, judgments, measures, policy)


def _refuse_preferences(measures: Sequence[Measure]) -> None:
    compared = next((m for m in measures if m.name in PREFERENCES), None)
    if compared is not None:
        raise TextError(
            f"{compared} needs preferences, and these are grades",
            remedy="read a file of preferences with -R prefs, or take grades as preferences with -R qrels_prefs (in "
            "Python Preferences.of_opinions)",
        )


def score_empty(judgments: Judgments, places: Ints, measures: Sequence[Measure], policy: Policy) -> Block:
    """Scores of an empty list for these queries."""
    nothing = np.zeros(0, dtype=np.int64)
    length = nothing if policy.ties in {"average", "range"} else None
    found = _Found(
        [""] * len(places), places, np.zeros_like(places), nothing, nothing, nothing, np.zeros(0), nothing, length
    )
    return _scored(found, NOT_COVERED, judgments, measures, policy)


def _scored(
    found: _Found, coverage: Coverage, judgments: Judgments, measures: Sequence[Measure], policy: Policy
) -> Block:
    """The scores of these lists, batch by batch."""
    numeric = [m for m in measures if not m.definition.text]
    count, places = len(found.systems), found.places
    values = np.full((len(numeric), count), np.nan)
    spread = np.full((3, len(numeric), count), np.nan)
    texts = [[""] * count for m in measures if m.definition.text]
    is_open = False
    for chosen, lists in _batches(found, judgments):
        plain = replace(lists, block=None, length=None)
        for row, wanted in enumerate(m for m in measures if m.definition.text):
            for place, text in zip(chosen, wanted(plain), strict=True):
                texts[row][place] = text
        values[:, chosen], ends = score(lists, numeric, policy, places[chosen])
        if ends is not None:
            is_open = True
            spread[:, :, chosen] = ends
    return Block(found.systems, places, values, spread if is_open else None, texts, coverage)


def _look_up(run: Run, judgments: Judgments, policy: Policy) -> LookedUp:
    """Which rows of the block are judged. Hashes sift the rows; names decide."""
    frame = run.frame
    if policy.cut is not None:
        frame = frame.filter(pl.col("rank") <= policy.cut)
    rank = frame["rank"].to_numpy()
    heads = np.flatnonzero(rank == 1)
    sizes = np.diff(np.append(heads, len(rank)))
    systems, queries = frame["system"][heads].to_list(), frame["query"][heads].to_list()
    places = np.array([judgments.places.get(query, -1) for query in queries], dtype=np.int64)
    number = np.repeat(np.arange(len(heads), dtype=np.int32), sizes)
    block = frame["block"].to_numpy()
    rows = judgments.sifted(frame["item"], places, sizes)
    candidates = pl.DataFrame({"place": places[number[rows]], "item": frame["item"][rows], "row": rows})
    judged = candidates.join(judgments.frame, on=["place", "item"], how="inner")
    row = judged["row"].to_numpy()
    order = np.argsort(row)
    row = row[order]
    length = row  # is not asked for
    if policy.ties in {"average", "range"}:
        starts = np.flatnonzero(np.append(True, (block[1:] != block[:-1]) | (number[1:] != number[:-1])))
        length = np.diff(np.append(starts, len(block)))[np.searchsorted(starts, row, side="right") - 1]
    return LookedUp(
        systems, np.arange(len(heads)), places, sizes, tied_items(rank, block), number[row],
        rank[row].astype(np.int64), block[row].astype(np.int64), length, judged["judged"].to_numpy()[order],
    )  # fmt: skip


def _padded(counts: Ints) -> Ints:
    """Padded lengths: multiples of 8 up to 128, whose sums agree; above, four lengths between powers of two."""
    eighths = np.maximum(-(-counts // 8), 1) * 8
    step = 2 ** np.maximum(np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64) - 3, 3)
    return np.where(counts <= EIGHTS, eighths, -(-counts // step) * step)


def _batches(found: _Found, judgments: Judgments) -> Iterator[tuple[Ints, Lists]]:
    """Padded arrays of lists with about the same number of judged items, none larger than CELLS.

    NumPy adds long rows in an order that depends on their length. So the padded length of a list depends on the list
    alone, as far as it matters, and a score does not depend on the block, the file or the machine that it is made in.
    """
    count = len(found.systems)
    if not count:
        return
    hits = np.bincount(found.owner, minlength=count)
    starts = np.concatenate([[0], np.cumsum(hits)])
    places = found.places
    pooled = np.diff(judgments.offsets)[places]
    padding = np.stack([_padded(hits), _padded(pooled)])
    width = padding.max(0)
    kind = np.where(padding > EIGHTS, padding, 0)
    order = np.lexsort((width, kind[0], kind[1]))
    changes = (kind[:, order[1:]] != kind[:, order[:-1]]).any(0)
    limits = np.append(np.flatnonzero(changes) + 1, count)
    begin = 0
    while begin < count:
        limit = limits[np.searchsorted(limits, begin, side="right")] - begin
        reach = np.searchsorted(np.arange(1, limit + 1) * width[order[begin : begin + limit]], CELLS, side="right")
        end = begin + max(int(reach), 1)
        chosen = np.sort(order[begin:end])
        begin = end
        at = np.arange(int(padding[0, chosen].max()))
        real = at < hits[chosen][:, None]
        rows = np.where(real, starts[chosen][:, None] + at, 0)

        def padded(values: Any, filler: float, rows: Ints = rows, real: Bools = real) -> Any:
            padding = np.full(real.shape, filler, dtype=values.dtype)
            return np.where(real, values[rows], padding) if len(values) else padding

        pool, pool_stratum = judgments.pools(places[chosen], int(padding[1, chosen].max()))
        more = {}
        if found.length is not None:
            more = {"block": padded(found.block, BEYOND), "length": padded(found.length, 1)}
        if judgments.sizes.shape[1]:
            sizes = judgments.sizes[places[chosen]]
            more |= {"stratum": padded(found.stratum, -1), "pool_stratum": pool_stratum, "stratum_size": sizes}
        rank, grades = padded(found.rank, BEYOND), padded(found.grade, np.nan)
        yield chosen, Lists(rank, grades, found.sizes[chosen], pool, judgments.top, **more)
