"""Hold a contest of retrieval systems over pictures: index, run, judge in three ways, and write a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import option
from endoxa.errors import JoinError
from endoxa.later import pl
from endoxa.verbs.parameters import (
    Engines,
    EngineSettings,
    Home,
    Page,
    Place,
    Seed,
    Title,
    Vectors,
    Without,
    Workers,
    Worlds,
    provenance_of,
)

if TYPE_CHECKING:
    from endoxa.images.corpus import Progress
    from endoxa.reports.pages.contest import Contest
    from endoxa.tables import Run

MEASURES = ("nDCG@10", "P@5")
SAMPLE = 120


def contest(
    place: Place,
    engines: Engines = None,
    *, settings: EngineSettings = None, vectors: Vectors = None, without: Without = None,
    sample: Annotated[
        int | None, option("Number of queries that are drawn. Default: 120; of symbols all.", least=2)
    ] = None,
    cutoffs: Annotated[
        int | None,
        option(
            "Set consensus beside folders at cut-offs 1 to K. Default: 10 for symbols, else 0 (no cut-offs).",
            metavar="K", least=0,
        ),
    ] = None,
    depth: int = 100, measures: Sequence[str] = MEASURES, worlds: Worlds = 400, title: Title = "",
    command: str = "", to: Page = None, home: Home = None, workers: Workers = None, seed: Seed = 0,
    progress: Progress | None = None,
) -> tuple[Contest, Run]:  # fmt: skip
    """Index the pictures, run every system, judge by consensus and by folders, and write a page with a gallery.

    A sample of the pictures are queries. They are judged by 1. the consensus of the systems; 2. categories: what shares
    the category of the query is relevant; 3. categories, with doubt about the level. Without categories there is only
    the first. With them, the categories also answer the loop of `decide`: the result says how many labels settle which
    system is best. Queries are pictures that share their category with another one.

    Consensus and categories are set side by side at cut-offs as in Lamiroy and Sun's study.

    Examples:
        endoxa images contest photos --to contest.html
        endoxa images contest symbols
    """
    from endoxa.engines import SYMBOLS
    from endoxa.evaluations import contest as judging
    from endoxa.evaluations.cutoffs import DEEPEST
    from endoxa.evaluations.cutoffs import cutoffs as at_cutoffs
    from endoxa.io import packages
    from endoxa.io.opening import open_corpus
    from endoxa.io.write import write_page
    from endoxa.reports.pages.contest import Contest, page
    from endoxa.reports.pages.gallery import probabilities_of
    from endoxa.tables import Costs
    from endoxa.verbs.find import open_searcher
    from endoxa.verbs.gallery import gallery_of
    from endoxa.verbs.index import index
    from endoxa.verbs.run import run as run_systems

    corpus = open_corpus(place, without=without, progress=progress)
    indexed = index(
        corpus, engines, home=home, settings=settings, vectors=vectors, seed=seed, workers=workers, progress=progress
    )
    are_symbols = packages.suits(corpus) == SYMBOLS
    wanted = (len(indexed.items) if are_symbols else SAMPLE) if sample is None else sample
    deepest = (DEEPEST if are_symbols else 0) if cutoffs is None else cutoffs
    queries = judging.sampled(corpus, indexed.items, wanted, seed)
    searcher = open_searcher(corpus, home=home)
    ran = run_systems(searcher, indexed.systems, queries=queries, depth=depth, seed=seed, progress=progress)
    if len(ran.run.systems) < 2:
        why = "".join(f"; {note}" for note in ran.notes)
        raise JoinError(f"a contest needs two systems or more; there is {', '.join(ran.run.systems)}{why}")
    ways = judging.judged(ran.run, corpus, queries, measures=measures, worlds=worlds, seed=seed, progress=progress)
    beliefs = {
        name: (f"{way}: {judging.MEANINGS[way]}", probabilities_of(belief))
        for name, way in (("votes", judging.CONSENSUS), ("tree", judging.LEVELS))
        if way in ways and (belief := ways[way].belief) is not None
    }
    course = None
    if judging.FOLDERS in ways:
        first = ways[judging.CONSENSUS].measures[0]
        course = judging.labelled(ran.run, corpus, queries, measure=first, seed=seed, progress=progress)
    systems = len(ran.run.systems)
    result = Contest(
        title or f"{systems} systems over {len(indexed.items):,} pictures",
        judging.verdicts(ways),
        {way: judging.MEANINGS[way] for way in ways},
        Costs(pl.concat([indexed.costs.frame, ran.costs.frame])),
        judging.ties_of(ran.run),
        gallery_of(corpus, ran.run, beliefs),
        course,
        at_cutoffs(ran.run, corpus, queries, deepest=deepest, seed=seed) if deepest else None,
        facts=[
            f"{len(indexed.items):,} pictures",
            f"{systems} systems",
            f"{len(queries)} queries",
            f"{len(ways)} ways to judge",
        ],
        warnings=[f"{one.name} was left out: {one.why}" for one in indexed.skipped],
        remarks=(*indexed.notes, *ran.notes),
        notes=[
            f"{way}: {line.marked}"
            for way, one in ways.items()
            if one.belief is not None
            for line in one.belief.lines()
        ],
        provenance=provenance_of(corpus, command, seed),
    )
    if to is not None:
        write_page(page(result), Path(to))
    return result, ran.run
