"""The verbs for pictures: open a corpus, index it, run engines over it, search it.

from endoxa import appraise, pictures

if __name__ == "__main__":  # pictures are described by several processes, which read a script anew
    pictures.index("photos", ["keywords", "histograms"])
    ran = pictures.run("photos", ["keywords", "histograms"], sample=60)
    print(appraise(ran.run).summary)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa import __version__
from endoxa.engines import Descriptor, Engine, Index, Material
from endoxa.engines.ranking import DEPTH, Ranked, latency, rank, rank_texts
from endoxa.engines.registry import ENGINES, engine
from endoxa.errors import FileError, JoinError, TextError, did_you_mean
from endoxa.images.corpus import Corpus, Skipped, items_of, words_of
from endoxa.io import corpora, efficientnet, indexes, packages
from endoxa.io.descriptions import Described, Progress, describe, digests_of
from endoxa.io.images import decode
from endoxa.io.indexes import Saved
from endoxa.io.vectors import read_vectors
from endoxa.tables import Costs, Floats, Labels, Opinions, Run, Taxonomy

HOME = ".endoxa"
NAME = re.compile(r"\w[\w.+-]*")
SHOWN = 3  # names in an error before it only counts


def open_corpus(place: str | Path | Corpus, *, without: Sequence[str] | None = None, **how: Any) -> Corpus:
    """A corpus: a folder of pictures, a manifest (CSV, JSONL, Parquet), or `stamps`, `clipart`: fetched if need be.

    `without` leaves out categories whose path holds one of these parts; None leaves out what the corpus itself names
    (of the stamps: drawings), () nothing.
    """
    if isinstance(place, Corpus):
        return place if without is None else place.within(without=without)
    if str(place) in packages.COLLECTIONS and not Path(place).exists():
        return packages.corpus_of(str(place), without=without, **how)
    opened = corpora.read_corpus(Path(place), **how)
    return opened if without is None else opened.within(without=without)


def available() -> tuple[str, ...]:
    """The engines that can run here: all, or all but embeddings, whose parts are an extra."""
    missing = [part for part in efficientnet.PARTS if find_spec(part) is None]
    return tuple(name for name in ENGINES if not missing or name != "embeddings")


def home_of(corpus: Corpus, home: str | Path | None = None) -> Path:
    """Where descriptions and indexes lie: beside the corpus, unless said otherwise."""
    return Path(home) if home is not None else Path(corpus.root) / HOME


def systems_of(
    names: Iterable[str] | None, *, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Engine]:
    """The engines by the names that they have in runs. `settings` are per name."""
    chosen = list(available() if names is None else names)
    given = settings or {}
    for name in given:
        if name not in chosen:
            raise TextError(f"settings are given for {name!r}, which is not among the engines: {', '.join(chosen)}")
    return {name: engine(name, **given.get(name, {})) for name in chosen}


@dataclass(frozen=True, eq=False)
class Indexed:
    """What indexing made: the names of the systems, costs, pictures left out, how many were described now.

    `items` are those that every system knows.
    """

    corpus: Corpus
    home: Path
    systems: tuple[str, ...]
    costs: Costs
    skipped: tuple[Skipped, ...]
    described: int
    items: tuple[str, ...]
    notes: tuple[str, ...] = ()


def index(
    place: str | Path | Corpus,
    engines: Iterable[str] | None = None,
    *,
    home: str | Path | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    vectors: Mapping[str, str | Path] | None = None,
    train: float | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Indexed:
    """Describe the pictures and build an index per engine; what is known already is not done again.

    `vectors` names further systems by a file of vectors each. `train` is the share of the corpus, drawn by `seed`,
    that models are learnt from; then only the other pictures are indexed, by every engine (Barnard's TEST). Without
    it models are learnt from what is indexed (ALL).
    """
    corpus = open_corpus(place)
    if not len(corpus):
        raise FileError(corpus.root, "the corpus holds no picture", "give a folder or a manifest with pictures")
    where = home_of(corpus, home)
    chosen = systems_of(engines, settings=settings)
    files = {name: Path(path) for name, path in (vectors or {}).items()}
    for name in files:
        if name in ENGINES:
            raise TextError(f"{name!r} is an engine already; give the vectors another name")
        if not NAME.fullmatch(name):
            raise TextError(f"{name!r} names vectors; expected letters, digits and . + - _, a letter or digit first")
        chosen[name] = engine("embeddings", source="file")
    described = _describe(corpus, chosen.values(), where, workers, progress)
    digests = digests_of(corpus, where)
    skipped = {one.name: one for made in described.values() for one in made.skipped}
    learners, indexed = _split(corpus, train, seed)
    learners, indexed = learners - set(skipped), indexed - set(skipped)  # every system searches the same pictures
    known = set(indexed)
    rows, notes = [], []
    for number, (name, one) in enumerate(chosen.items()):
        if progress is not None:
            progress(f"building {name}", number, len(chosen))
        made = described.get(one.descriptor) if one.descriptor is not None else None
        if name in files:
            material, missing = _from_vectors(corpus, files[name])
            notes += [f"{name}: {missing:,} of {len(corpus):,} pictures have no vector"] if missing else []
        else:
            material = _words_only(corpus) if made is None else made.material
        begun = time.perf_counter()
        part = _only(material, indexed)
        if not len(part):
            why = next(iter(skipped.values()), None)
            told = f"; {why.name}: {why.why}" if why is not None else ""
            raise JoinError(f"{name}: none of the {len(corpus):,} pictures could be described{told}")
        there = set(part.items)
        known &= there
        built = one.build(part, train=None if train is None else _only(material, learners), seed=seed)
        seconds = time.perf_counter() - begun
        facts = {
            "endoxa": __version__,
            "seed": seed,
            "train": sorted(learners) if train is not None else [],
            "root": corpus.name,
        }
        aside = there | (learners if train is not None else set())
        facts["skipped"] = [item for item in corpus.items if item not in aside]
        size = indexes.save(Saved(built, digests, facts), where / "indexes" / name)
        if made is not None:
            rows.append(_cost(name, "describe", made.seconds, float(made.seconds.sum()), made.bytes))
        rows.append(_cost(name, "build", np.zeros(0), seconds, size, len(part)))
    if progress is not None:
        progress("building", len(chosen), len(chosen))
    costs = Costs(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    fresh = sum(made.computed for made in described.values())
    expected = corpus.name in packages.COLLECTIONS  # what a collection leaves out is part of it, and no news
    left_out = (*(() if expected else corpus.skipped), *skipped.values())
    shared = tuple(item for item in corpus.items if item in known)
    return Indexed(corpus, where, tuple(chosen), costs, left_out, fresh, shared, tuple(notes))


def _describe(
    corpus: Corpus, engines: Iterable[Engine], home: Path, workers: int | None, progress: Progress | None
) -> dict[Descriptor, Described]:
    """Every descriptor that these engines need, once."""
    wanted = list(dict.fromkeys(one.descriptor for one in engines if one.descriptor is not None))
    if not wanted:
        return {}
    return dict(zip(wanted, describe(corpus, wanted, home, workers=workers, progress=progress), strict=True))


def _split(corpus: Corpus, train: float | None, seed: int) -> tuple[set[str], set[str]]:
    """The items that models learn from, and the items that are indexed."""
    if train is None:
        return set(corpus.items), set(corpus.items)
    if not 0 < train < 1:
        raise TextError(f"train is the share of the corpus that models are learnt from, between 0 and 1, not {train:g}")
    order = np.random.default_rng(seed).permutation(len(corpus))
    cut = min(max(1, round(train * len(corpus))), len(corpus) - 1)
    if cut < 1:
        raise TextError("a corpus of one picture cannot be parted into one to learn from and one to search")
    names = corpus.items
    return {names[at] for at in order[:cut]}, {names[at] for at in order[cut:]}


def _only(material: Material, items: set[str]) -> Material:
    keep = [at for at, item in enumerate(material.items) if item in items]
    return material if len(keep) == len(material) else material.take(keep)


def _words_only(corpus: Corpus) -> Material:
    return Material(tuple(corpus.items), corpus.words)


def _from_vectors(corpus: Corpus, path: Path) -> tuple[Material, int]:
    """The vectors of a file for the items of a corpus, and how many items have none."""
    items, vectors = read_vectors(path)
    at = {item: number for number, item in enumerate(items)}
    have = [number for number, item in enumerate(corpus.items) if item in at]
    if not have:
        raise JoinError(
            f"{path}: none of its {len(items):,} items is in the corpus (here {corpus.items[0]!r}, there {items[0]!r})"
        )
    rows = vectors[[at[corpus.items[number]] for number in have]]
    names, words = tuple(corpus.items[n] for n in have), tuple(corpus.words[n] for n in have)
    return Material(names, words, {"vector": rows}, np.ones(len(have), np.int64)), len(corpus) - len(have)


def _cost(
    system: str, phase: str, each: Floats, seconds: float, size: int, items: int | None = None
) -> tuple[str, str, int, float, int, float | None, float | None]:
    middle = (float(np.median(each)), float(np.quantile(each, 0.95))) if len(each) else (None, None)
    return system, phase, len(each) if items is None else items, seconds, size, *middle


@dataclass(frozen=True, eq=False)
class Ran:
    """What running made: the run of all systems, costs of queries, and remarks."""

    run: Run
    costs: Costs
    notes: tuple[str, ...] = field(default=())


def load(corpus: Corpus, systems: Iterable[str] | None = None, *, home: str | Path | None = None) -> dict[str, Saved]:
    """The indexes of a corpus by system; refused where the corpus changed since."""
    where = home_of(corpus, home) / "indexes"
    there = sorted(path.name for path in where.glob("*") if path.is_dir() and not path.name.startswith("."))
    if not there:
        raise FileError(str(where), "there is no index", "make one with `endoxa images index`")
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
    order = list(ENGINES)
    return dict(sorted(loaded.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)))


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
        raise FileError(
            corpus.root,
            f"the corpus changed since {name} was indexed: {', '.join(told)}",
            "index it again with `endoxa images index`; what did not change is kept",
        )


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
    known = set.intersection(*(set(one.index.items) for one in saved.values()))
    asked = [] if texts else list(dict.fromkeys(queries)) if queries else [i for i in corpus.items if i in known]
    if sample is not None and not texts and not queries:
        drawn = np.random.default_rng(seed).permutation(len(asked))[:sample]
        asked = [asked[at] for at in sorted(drawn)]
    if not asked and not texts:
        raise JoinError("no picture is known to every system; index them again, together")
    said = [(name, words_of(text)) for name, text in (texts or {}).items()]
    pieces, rows, notes = [], [], []
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
        rows.append(_cost(name, "query", each, ranked.seconds, size, len(said or asked)))
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
    is_picture = query in set(corpus.items) or Path(query).is_file()
    there = load(corpus, None if system is None else [system], home=home)
    suited = [name for name, one in there.items() if is_picture or one.index.engine.takes_text]
    preferred = ("embeddings", "integrated-regions", "histograms") if is_picture else ("keywords", "rwmm")
    if not suited:
        raise TextError(f"{query!r} is neither an item nor a file, and {', '.join(there)} takes no text")
    name = system or next((one for one in preferred if one in suited), suited[0])
    asked: dict[str, Any] = {"queries": [query]} if is_picture else {"texts": {"text": query}}
    try:
        made = run(corpus, [name], depth=count, home=home, **asked)
    except JoinError:
        hint = did_you_mean(query, corpus.items)
        raise JoinError(f"{name} knows none of the words of {query!r}, which is no item and no file{hint}") from None
    shown = made.run.frame.select("item", "rank", "score").join(
        corpus.frame.select("item", "words", "category", "caption"), on="item", how="left", maintain_order="left"
    )
    return Seen(shown, made.run, name)


def categories(corpus: Corpus) -> tuple[Labels, Taxonomy]:
    """The corpus's tree of categories, and every item filed in its leaf: what `believe(model="levels")` takes."""
    filed = corpus.frame.filter(pl.col("category").is_not_null())
    if not filed.height:
        raise JoinError(f"{corpus.name or corpus.root}: no picture has a category; folders or a manifest give them")
    labels = filed.select(pl.lit(corpus.name or "folders").alias("source"), "item", "category")
    return Labels.of(labels), Taxonomy.of_paths(filed["category"].unique().sort())


def same_leaf(corpus: Corpus, queries: Iterable[str]) -> Opinions:
    """The tree taken at its word: what stands in the query's own category is relevant. Labels, not truth."""
    filed = corpus.frame.filter(pl.col("category").is_not_null()).select("item", "category")
    asked = filed.filter(pl.col("item").is_in(list(queries))).rename({"item": "query"})
    pairs = asked.join(filed, on="category").filter(pl.col("item") != pl.col("query"))
    return Opinions.of(pairs.select("query", "item", pl.lit(1.0).alias("grade"), pl.lit("folders").alias("source")))
