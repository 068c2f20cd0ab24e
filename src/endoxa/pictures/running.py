"""From indexes to runs, and to what one query finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.engines import Index, Material
from endoxa.engines.ranking import DEPTH, Ranked, latency, rank, rank_texts
from endoxa.engines.registry import ENGINES
from endoxa.errors import FileError, JoinError, TextError, did_you_mean
from endoxa.images.corpus import Corpus, items_of, words_of
from endoxa.io import indexes
from endoxa.io.descriptions import Progress, digests_of
from endoxa.io.images import decode
from endoxa.io.indexes import Saved
from endoxa.pictures.indexing import cost
from endoxa.pictures.opening import home_of, item_of, open_corpus
from endoxa.tables import Costs, Run

SHOWN = 3  # names in an error before it only counts


@dataclass(frozen=True, eq=False)
class Ran:
    """What running made: the run of all systems, costs of queries, and remarks."""

    run: Run
    costs: Costs
    notes: tuple[str, ...] = field(default=())


def load(corpus: Corpus, systems: Iterable[str] | None = None, *, home: str | Path | None = None) -> dict[str, Saved]:
    """The indexes of a corpus by system; refused where the corpus changed since."""
    where = home_of(corpus, home) / "indexes"
    there = names_of(corpus, home=home)
    digests = digests_of(corpus, home_of(corpus, home))
    loaded = {}
    for name in there if systems is None else systems:
        if name not in there:
            raise FileError(
                str(where),
                f"there is no index {name!r}{did_you_mean(name, there)} (there are: {', '.join(there)})",
                f"make it with `endoxa images index … --engine {name}`",
            )
        loaded[name] = indexes.load(where / name)
        _refuse_stale(name, loaded[name], corpus, digests)
    return {name: loaded[name] for name in there if name in loaded}


def names_of(corpus: Corpus, *, home: str | Path | None = None) -> list[str]:
    """The systems that have an index, in the order of the engines; vectors of your own last."""
    where = home_of(corpus, home) / "indexes"
    there = sorted(path.name for path in where.glob("*") if path.is_dir() and not path.name.startswith("."))
    if not there:
        raise FileError(str(where), "there is no index", "make one with `endoxa images index`")
    order = list(ENGINES)
    return sorted(there, key=lambda name: order.index(name) if name in order else len(order))


def _refuse_stale(name: str, saved: Saved, corpus: Corpus, digests: Mapping[str, str]) -> None:
    """The corpus must be the one that was indexed."""
    aside = {*saved.facts.get("skipped", ()), *saved.facts.get("train", ())}
    now, then = set(corpus.items), set(saved.index.items)
    words = dict(zip(corpus.items, corpus.words, strict=True))
    was = dict(zip(saved.index.items, saved.index.material.words, strict=True))
    found = {
        "added": sorted(now - then - aside),
        "removed": sorted(then - now),
        "changed": sorted(item for item in now & then if saved.digests.get(item) != digests.get(item)),
        "given other words": sorted(item for item in now & then if was[item] != words[item]),
    }
    told = [f"{len(items):,} {what} ({_some(items)})" for what, items in found.items() if items]
    if told:
        again = f"--vectors {name}=FILE" if saved.facts.get("vectors") else f"-e {name}"
        raise FileError(
            corpus.root,
            f"the corpus changed since {name} was indexed: {', '.join(told)}",
            f"index it again with `endoxa images index … {again}`; what did not change is kept",
        )


def _refuse_apart(saved: Mapping[str, Saved]) -> None:
    """Systems are compared over the same pictures: all were indexed with the same --train, or all without."""
    learnt = {name: frozenset(one.facts.get("train", ())) for name, one in saved.items()}
    if len(set(learnt.values())) > 1:
        first, *others = learnt
        other = next(name for name in others if learnt[name] != learnt[first])
        raise JoinError(
            f"{first} and {other} search different pictures, for they were indexed with different --train; index them "
            "together, or name the systems that go together with -e"
        )


def _left_aside(saved: Mapping[str, Saved], known: set[str]) -> list[str]:
    """Pictures that are no queries, because a system does not know them."""
    every = set[str]().union(*(one.index.items for one in saved.values()))
    lacking = [f"{name} lacks {n:,}" for name, one in saved.items() if (n := len(every - set(one.index.items)))]
    return [f"{len(known):,} of {len(every):,} pictures are queries: {', '.join(lacking)}"] if lacking else []


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def run(
    place: str | Path | Corpus,
    systems: Iterable[str] | None = None,
    *,
    queries: Sequence[str] | None = None,
    sample: int | None = None,
    texts: Mapping[str, str] | None = None,
    depth: int = DEPTH,
    itself: bool = False,
    home: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ran:
    """Run every indexed system over queries: items of the corpus, files of pictures, or texts (name to text).

    Without `queries` all pictures that every system knows are queries, or `sample` of them drawn by `seed`. A query
    never retrieves itself, unless itself=True. Of texts, systems that take none have no run; that is noted.
    """
    corpus = open_corpus(place)
    saved = load(corpus, systems, home=home)
    _refuse_apart(saved)
    known = set.intersection(*(set(one.index.items) for one in saved.values()))
    named = [item_of(corpus, query) or query for query in queries or ()]
    asked = [] if texts else list(dict.fromkeys(named)) if queries else [i for i in corpus.items if i in known]
    if sample is not None and not texts and not queries:
        drawn = np.random.default_rng(seed).permutation(len(asked))[:sample]
        asked = [asked[at] for at in sorted(drawn)]
    if not asked and not texts:
        raise JoinError("no picture is known to every system; index them again, together")
    said = [(name, words_of(text)) for name, text in (texts or {}).items()]
    pieces, rows, notes = [], [], [] if texts or queries else _left_aside(saved, known)
    for number, (name, one) in enumerate(saved.items()):
        if progress is not None:
            progress(f"running {name}", number, len(saved))
        if said and not one.index.engine.takes_text:
            notes.append(f"{name} takes no text, and has no run")
            continue
        material = _queries(one.index, asked)
        ranked = (
            rank_texts(one.index, said, depth=depth, system=name)
            if said
            else rank(one.index, material, depth=depth, itself=itself, system=name)
        )
        if not ranked.run.frame.height:
            notes.append(f"{name} returned nothing, and has no run")
            continue
        pieces.append(ranked.run.frame)
        notes += _remarks(name, ranked)
        each = np.zeros(0) if said else latency(one.index, material)
        size = ranked.run.frame.height * 16  # an item's number and its score
        rows.append(cost(name, "query", each, ranked.seconds, size, len(said or asked)))
    if not pieces and said and not any(one.index.engine.takes_text for one in saved.values()):
        raise TextError(f"none of the systems takes text: {', '.join(saved)}; take keywords or rwmm")
    if not pieces:
        raise JoinError(f"no system returned anything: {'; '.join(notes)}")
    if progress is not None:
        progress("running", len(saved), len(saved))
    costs = Costs(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    return Ran(Run(pl.concat(pieces)), costs, tuple(notes))


def _remarks(name: str, ranked: Ranked) -> list[str]:
    frame = ranked.run.frame
    tied = frame.group_by("query", "block").len().filter(pl.col("len") > 1)["len"].sum()
    notes = []
    if frame.height and tied / frame.height > 0.5:
        notes.append(
            f"{name}: {tied / frame.height:.0%} of its ranks are ties; within a tie the order is that of the ids"
        )
    if ranked.unsaid:
        notes.append(f"{name}: {ranked.unsaid:,} pairs of query and item have no score, and are not returned")
    return notes


def _queries(index: Index, asked: Sequence[str]) -> Material:
    """The material of the queries: of the index itself, or described now for files that are not in it."""
    at = {item: number for number, item in enumerate(index.items)}
    inside = [at[item] for item in asked if item in at]
    if len(inside) == len(asked):
        return index.material.take(inside)
    parts = [index.material.take([at[item]]) if item in at else _outside(index, item) for item in asked]
    names = list(index.material.columns)
    called = [item for part in parts for item in part.items]
    twice = next((name for number, name in enumerate(called) if name in called[:number]), None)
    if twice is not None:
        raise TextError(f"two queries are called {twice!r}; rename one of the files")
    return Material(
        tuple(item for part in parts for item in part.items),
        tuple(words for part in parts for words in part.words),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in names},
        np.concatenate([part.counts for part in parts]) if names else np.zeros(0, np.int64),
    )


def _outside(index: Index, query: str) -> Material:
    """A picture that is not in the index, described as its pictures were; its words are unknown."""
    path = Path(query)
    if not path.is_file():
        raise FileError(
            query, f"is neither an item of the index{did_you_mean(query, index.items)} nor a file",
            "name an item of the corpus, or a file with a picture",
        )  # fmt: skip
    descriptor = index.engine.descriptor
    name = items_of(pl.Series([path.name]))[0]
    while name in index.items:  # it is not that item, which may be found
        name += "~"
    if descriptor is None:
        if index.material.columns:
            raise FileError(query, "has no vector: they came from a file", "ask for an item that has one")
        caption = path.with_suffix(".txt")
        words = words_of(caption.read_text(encoding="utf-8").partition("\n")[0]) if caption.is_file() else ()
        return Material((name,), (words,))
    arrays = descriptor.describe(decode(path))
    return Material((name,), ((),), arrays, np.array([len(next(iter(arrays.values())))], np.int64))


@dataclass(frozen=True, eq=False)
class Seen:
    """What a search found: `frame` has item, rank, score, words, category; and the run it is taken from."""

    frame: pl.DataFrame
    run: Run
    system: str


def search(
    place: str | Path | Corpus,
    query: str,
    system: str | None = None,
    *,
    count: int = 10,
    home: str | Path | None = None,
) -> Seen:
    """The best items for one query: an item, a file with a picture, or words.

    Words are what is neither an item nor a file, and go to a system that takes them: keywords, else rwmm.
    """
    corpus = open_corpus(place)
    is_picture = item_of(corpus, query) is not None or Path(query).is_file()
    there = names_of(corpus, home=home)
    preferred = ("embeddings", "integrated-regions", "histograms", *there) if is_picture else ("keywords", "rwmm")
    name = system or next((one for one in preferred if one in there), there[0])
    if not is_picture and not load(corpus, [name], home=home)[name].index.engine.takes_text:
        raise TextError(f"{query!r} is neither an item nor a file, and {name} takes no text")
    called = "_".join(query.split()) or "text"
    asked: dict[str, Any] = {"queries": [query]} if is_picture else {"texts": {called: query}}
    try:
        made = run(corpus, [name], depth=count, home=home, **asked)
    except JoinError:
        hint = did_you_mean(query, corpus.items)
        raise JoinError(f"{name} knows none of the words of {query!r}, which is no item and no file{hint}") from None
    shown = made.run.frame.select("item", "rank", "score").join(
        corpus.frame.select("item", "words", "category", "caption"), on="item", how="left", maintain_order="left"
    )
    return Seen(shown, made.run, name)
