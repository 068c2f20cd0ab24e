"""A contest of retrieval systems over pictures, start to end: index, run, judge in three ways, show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa import __version__, doubt, pictures
from endoxa.errors import FileError, TextError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.verdicts import verdicts
from endoxa.images.corpus import Corpus
from endoxa.io.descriptions import Progress
from endoxa.io.images import thumbnail
from endoxa.reports.pages.contest import Contest
from endoxa.reports.pages.gallery import Gallery, Probabilities, gallery, probabilities_of
from endoxa.tables import Belief, Costs, Run

MEASURES = ("nDCG@10", "P@5")
CONSENSUS, LEAF, LEVELS = "consensus", "folders", "folders, level in doubt"
MEANINGS = {
    CONSENSUS: "nobody judged: an item is relevant as far as the systems agree on it, each with a vote, those that "
    "return the same things with a shared one",
    LEAF: "labels, not truth: what stands in the same folder (category) as the query is relevant, nothing else",
    LEVELS: "labels, not truth: how general the query was meant is not known; each category on its path below the root "
    "is one reading, all weigh the same",
}
VOTES = (
    20  # a system votes for so many of its first items, or a fifth of a small corpus: who votes for all says nothing
)
SIDE = 128  # pixels of a thumbnail


def contest(
    place: str | Path | Corpus,
    engines: Iterable[str] | None = None,
    *,
    home: str | Path | None = None,
    sample: int = 120,
    depth: int = 100,
    measures: Sequence[str] = MEASURES,
    worlds: int = 400,
    title: str = "",
    command: str = "",
    seed: int = 0,
    workers: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    vectors: Mapping[str, str | Path] | None = None,
    progress: Progress | None = None,
) -> tuple[Contest, Run]:
    """Index a corpus, run every engine over a sample of its pictures, judge in three ways: the page's matter, the runs.

    1. by consensus alone; 2. the tree of categories at its word: the same leaf is relevant; 3. the tree with doubt
    about the level. Without categories only the first. Queries are pictures that share their category with another.
    """
    corpus = pictures.open_corpus(place)
    made = pictures.index(
        corpus, engines, home=home, settings=settings, vectors=vectors, seed=seed, workers=workers, progress=progress
    )
    queries = sampled(corpus, made.items, sample, seed)
    ran = pictures.run(corpus, made.systems, queries=queries, depth=depth, home=home, seed=seed, progress=progress)
    ways = judged(ran.run, corpus, queries, measures=measures, worlds=worlds, seed=seed, progress=progress)
    found = verdicts(ways)
    beliefs = {
        name: (f"{way}: {MEANINGS[way]}", probabilities_of(belief))
        for name, way in (("votes", CONSENSUS), ("tree", LEVELS))
        if way in ways and (belief := ways[way].belief) is not None
    }
    systems = len(ran.run.systems)
    page = Contest(
        title or f"{systems} systems over {len(made.items):,} pictures",
        found,
        {way: MEANINGS[way] for way in ways},
        Costs(pl.concat([made.costs.frame, ran.costs.frame])),
        ties_of(ran.run),
        shown(corpus, ran.run, beliefs),
        facts=[
            f"{len(made.items):,} pictures",
            f"{systems} systems",
            f"{len(queries)} queries",
            f"{len(ways)} ways to judge",
        ],
        warnings=[f"{one.name} was left out: {one.why}" for one in made.skipped],
        remarks=(*made.notes, *ran.notes),
        notes=[f"{way}: {line}" for way, one in ways.items() if one.belief for line in one.belief.lines()],
        provenance={"Endoxa": __version__, "Corpus": corpus.name or corpus.root, "Command": command, "Seed": str(seed)},
    )
    return page, ran.run


def sampled(corpus: Corpus, items: Iterable[str], sample: int, seed: int) -> list[str]:
    """Pictures to ask for, of these: drawn by the seed, each shares its category with another, where there are any."""
    if sample < 2:
        raise TextError(f"a contest needs two queries or more, not {sample}; some 60 tell systems apart")
    usable = corpus.frame.filter(pl.col("item").is_in(list(items)))
    mates = usable.filter(pl.col("category").is_not_null() & (pl.col("category").count().over("category") > 1))
    found = (mates if mates.height >= 2 else usable)["item"].to_list()
    drawn = np.random.default_rng(seed).permutation(len(found))[:sample]
    return [found[at] for at in sorted(drawn)]


def judged(
    run: Run, corpus: Corpus, queries: Sequence[str], *, measures: Sequence[str], worlds: int, seed: int,
    progress: Progress | None = None,
) -> dict[str, Evaluation]:  # fmt: skip
    """The run under each way of judging."""
    from endoxa.policies import Policy

    held: dict[str, Belief | None] = {CONSENSUS: None}
    if corpus.frame["category"].drop_nulls().n_unique() > 1:
        labels, taxonomy = pictures.categories(corpus)
        leaf = pictures.same_leaf(corpus, queries)
        if len(leaf):  # else every folder holds one picture, and says nothing at its word
            held[LEAF] = doubt.believe(leaf, "crisp")
        held[LEVELS] = doubt.believe(labels, "levels", taxonomy=taxonomy, queries=list(queries))
    ways = {}
    for number, (way, belief) in enumerate(held.items()):
        if progress is not None:
            progress(f"judging by {way}", number, len(held))
        votes: dict[str, Any] = {"depth": max(1, min(VOTES, len(corpus) // 5))} if belief is None else {}
        found = doubt.appraise(run, belief, measures, worlds=worlds, policy=Policy(seed=seed), **votes)
        ways[way] = doubt.evaluation_of(found)
    if progress is not None:
        progress("judging", len(held), len(held))
    return ways


def ties_of(run: Run) -> dict[str, float]:
    """The share of each system's ranks that stand in a block of equal scores."""
    blocks = run.frame.group_by("system", "query", "block").len()
    tied = blocks.group_by("system").agg(
        (pl.col("len").filter(pl.col("len") > 1).sum() / pl.col("len").sum()).alias("share")
    )
    return dict(tied.select("system", "share").iter_rows())


def shown(corpus: Corpus, run: Run, beliefs: Mapping[str, tuple[str, Probabilities]], **how: Any) -> Gallery:
    """The gallery of a run: thumbnails and captions from the corpus."""
    root = Path(corpus.root)
    rows = corpus.frame.select("item", "path", "caption", "words", "category").iter_rows()
    captions, kinds, paths = {}, {}, {}
    for item, path, caption, words, category in rows:
        captions[item] = caption or ", ".join(words) or item
        kinds[item] = category or ""
        paths[item] = root / path
    needed = set(run.frame.filter(pl.col("rank") <= how.get("depth", 8))["item"]) | set(run.frame["query"])
    addresses = {}
    for item in needed & set(paths):
        with suppress(FileError):  # a picture that does not decode is named elsewhere, and has no thumbnail
            addresses[item] = thumbnail_address(paths[item])
    return gallery(run, pictures=addresses, captions=captions, categories=kinds, beliefs=beliefs, **how)


def thumbnail_address(path: Path) -> str:
    """A small picture as a data address, for a page that opens offline."""
    import base64

    return "data:image/jpeg;base64," + base64.b64encode(thumbnail(path, SIDE)).decode()
