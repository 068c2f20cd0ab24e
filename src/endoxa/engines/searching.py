"""An opened corpus with its indexes: it answers many queries, and reads the corpus and each index only once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from endoxa.engines import Index, Material, Saved
from endoxa.engines.keywords import Keywords
from endoxa.engines.ranking import DEPTH, Ranked, cost, latency, rank, rank_texts
from endoxa.engines.registry import ENGINES
from endoxa.errors import FileError, JoinError, TextError, advice, did_you_mean
from endoxa.frozen import dataclass
from endoxa.images import Picture
from endoxa.images.corpus import Corpus, Progress, words_of
from endoxa.images.spoken_words import spoken, unknown_words
from endoxa.tables import Costs, Run

if TYPE_CHECKING:
    from endoxa.studies.matches import Matches

# Which system answers if none is named.
FOR_PICTURES = ("embeddings", "integrated-regions", "histograms", "shape-context")
WORDS, PREDICTING = "keywords", "rwmm"  # of words; the second where no picture has any of them


@dataclass(frozen=True, eq=False)
class Outside:
    """A query picture that is not in the corpus, and the words of its caption."""

    name: str  # in runs
    source: str  # in error messages
    picture: Callable[[], Picture]  # decodes it; called when the first engine needs it
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Text:
    """A query of words, and what it is called in runs."""

    name: str
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words that engines look for."""
        return words_of(self.text)


Query = str | Outside | Text  # a text is the name of an item


@dataclass(frozen=True, eq=False)
class Ran:
    """The runs of several systems, the costs of their queries, notes on both, and the size of the corpus."""

    run: Run
    costs: Costs
    notes: tuple[str, ...] = ()
    pictures: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """The results of one query: `frame` has item, rank, score, path, words, category, caption and matched.

    `matched` are the words of the query by which the picture was found.
    total  how many pictures match, of which `frame` has the best
    notes  words of the query that no picture has, and how the query was understood
    matches  what ratings say about them; `frame` then has the predicted rating of each
    """

    frame: pl.DataFrame
    run: Run
    system: str
    total: int
    notes: tuple[str, ...] = ()
    matches: Matches | None = None

    @property
    def good(self) -> int:
        """How many of the results shown are good matches, by the ratings; 0 without ratings."""
        return 0 if self.matches is None else int((self.frame["rating"] >= self.matches.good).sum())


@dataclass(frozen=True, eq=False)
class Searcher:
    """An opened corpus, the names of its systems, and `load`, which is called once for each system that is used.

    place  how commands name the corpus; its folder if not given
    """

    corpus: Corpus
    systems: tuple[str, ...]
    load: Callable[[str], Saved]
    loaded: dict[str, Saved] = field(default_factory=dict)
    place: str = ""

    def saved(self, system: str) -> Saved:
        """The index of a system, and what was recorded when it was built."""
        if system not in self.systems:
            raise self._lacking(system)
        if system not in self.loaded:
            self.loaded[system] = self.load(system)
        return self.loaded[system]

    def run(
        self, queries: Sequence[Query] | None = None, systems: Iterable[str] | None = None, *,
        sample: int | None = None, depth: int = DEPTH, itself: bool = False, seed: int = 0,
        progress: Progress | None = None,
    ) -> Ran:  # fmt: skip
        """Run systems over queries, and measure how long they take.

        Without `queries`, every picture that all systems know is a query, or `sample` of them drawn with `seed`. A
        query never retrieves itself, unless itself=True. The notes name systems without a run, which take no words.
        """
        self._need_systems()
        chosen = dict.fromkeys(self.systems if systems is None else systems)
        loaded = {name: self.saved(name) for name in chosen}
        saved = {name: loaded[name] for name in self.systems if name in loaded}
        _refuse_different_training(saved)
        notes: list[str] = []
        if queries is None:
            queries, notes = self._every_picture(saved, sample, seed)
        elif sample is not None:
            raise TextError("sample draws queries from the corpus", remedy="leave it out where queries are given")
        texts = [(query.name, query.words) for query in queries if isinstance(query, Text)]
        pictures = [query for query in queries if not isinstance(query, Text)]
        if texts and pictures:
            raise TextError("queries are either pictures or words in one run, not both", remedy="run them separately")
        runs, rows = [], []
        for number, (name, one) in enumerate(saved.items()):
            if progress is not None:
                progress(f"running {name}", number, len(saved))
            if texts and not one.index.engine.takes_text:
                notes.append(f"{name} takes no text, and has no run")
                continue
            if texts:
                ranked, each = rank_texts(one.index, texts, depth=depth, system=name), np.zeros(0)
            else:
                material = _material(name, one.index, pictures)
                ranked = rank(one.index, material, depth=depth, itself=itself, system=name)
                each = latency(one.index, material)
            if not ranked.run.frame.height:
                notes.append(f"{name} returned nothing, and has no run{_why_nothing(one.index)}")
                continue
            runs.append(ranked.run.frame)
            notes += _remarks(name, ranked)
            size = ranked.run.frame.height * 16  # the number of an item and its score
            rows.append(cost(name, "query", each, ranked.seconds, size, len(queries)))
        if not runs and texts and not any(one.index.engine.takes_text for one in saved.values()):
            raise TextError(f"none of the systems takes text: {', '.join(saved)}", remedy="use keywords or rwmm")
        if not runs:
            raise JoinError(f"no system returned anything: {'; '.join(notes)}")
        if progress is not None:
            progress("running", len(saved), len(saved))
        costs = Costs(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
        return Ran(Run(pl.concat(runs)), costs, tuple(notes), len(self.corpus))

    def search(self, query: Query, system: str | None = None, *, count: int = 10) -> Found:
        """The best items for one query. Without `system`, one that suits pictures or words answers.

        Words then include those in the names of files and folders, and need no index (`images.spoken_words`); so they
        do for the system `keywords`.
        """
        if isinstance(query, Text) and system in {None, WORDS}:
            return self._by_words(query, system, count)
        if system is None:
            self._need_systems()
        name = system or next((one for one in FOR_PICTURES if one in self.systems), self.systems[0])
        index = self.saved(name).index
        if isinstance(query, Text):
            if not index.engine.takes_text:
                raise TextError(f"{query.text!r} is neither an item nor a file, and {name} takes no text")
            ranked = rank_texts(index, [(query.name, query.words)], depth=count, system=name)
        else:
            ranked = rank(index, _material(name, index, [query]), depth=count, system=name)
        if not len(ranked.run):
            if not isinstance(query, Text):
                asked = query if isinstance(query, str) else query.source
                raise JoinError(f"{name} returns nothing for {asked!r}", remedy="ask another system")
            hint = did_you_mean(query.text, self.corpus.items)
            raise JoinError(
                f"{name} knows none of the words of {query.text!r}, which is no item and no file", remedy=hint
            )
        return self._found(ranked, name)

    def answers_words(self, query: Text) -> bool:
        """Whether some picture has one of these words, in its caption or its name."""
        return any(word in self.spoken.arrays["vocabulary"] for word in query.words)

    def looks_at_pictures(self) -> bool:
        """Whether there is an index of a system that does not go by words only."""
        return any(name != WORDS for name in self.systems)

    def _by_words(self, query: Text, system: str | None, count: int) -> Found:
        """The pictures whose words, or whose names, match; if none does, what rwmm predicts, if it is there."""
        notes = unknown_words(query.words, self.spoken.material.words)
        if len(notes) < len(query.words):
            index = self.spoken
            if system is not None and system in self.systems:  # with the settings that it was indexed with
                index = self.saved(system).index.engine.build(index.material)
            ranked = rank_texts(index, [(query.name, query.words)], depth=count, system=WORDS)
            return self._found(ranked, WORDS, tuple(notes), query.words)
        if system is None and PREDICTING in self.systems:
            predicting = self.saved(PREDICTING).index
            ranked = rank_texts(predicting, [(query.name, query.words)], depth=count, system=PREDICTING)
            if len(ranked.run):
                return self._found(ranked, PREDICTING)
        hint = did_you_mean(query.text, self.corpus.items)
        why = "; ".join(notes) or "these words say nothing about a picture"
        what = "" if query.text in self.corpus.rows else f"{query.text!r} is neither an item nor a file, and "
        without = f"without words, look for pictures by marking some: `endoxa search {self._named()}`"
        raise JoinError(f"{what}{why}", remedy=advice(hint, without))

    def _found(self, ranked: Ranked, system: str, notes: tuple[str, ...] = (), words: tuple[str, ...] = ()) -> Found:
        frame = ranked.run.frame
        rows = [self.corpus.rows[item] for item in frame["item"]]
        known = self.corpus.frame[rows].select("path", "words", "category", "caption")
        own = [self.spoken.material.words[row] if words else () for row in rows]
        matched = [[word for word in words if word in one] for one in own]
        columns = frame.select("item", "rank", "score").hstack(known)
        columns = columns.with_columns(pl.Series("matched", matched, dtype=pl.List(pl.String)))
        return Found(columns, ranked.run, system, ranked.scored, notes)

    @cached_property
    def spoken(self) -> Index:
        """An index of the words of all pictures, with those of their names."""
        items = tuple(self.corpus.items)
        return Keywords().build(Material(items, spoken(items, self.corpus.words)))

    def _need_systems(self) -> None:
        if not self.systems:
            raise self._lacking()

    def _lacking(self, system: str | None = None) -> FileError:
        """The error about an index that is missing; a name that no engine has is a mistake first."""
        command = f"endoxa images index {self._named()}"
        there = f" (there are: {', '.join(self.systems)})" if self.systems else ""
        what = near = ""
        if system in ENGINES:
            what, command = f" {system!r}", f"{command} -e {system}"
        elif system is not None:
            what, near = f" and no engine {system!r}", did_you_mean(system, [*self.systems, *ENGINES])
        problem, remedy = f"there is no index{what}", f"build one with `{command}`"
        if near:
            return FileError(self.corpus.root, problem, advice(f"{near}{there}", remedy))
        return FileError(self.corpus.root, f"{problem}{there}", remedy)

    def _named(self) -> str:
        """The corpus, as an argument of a command."""
        return quote(self.place or self.corpus.root)

    def _every_picture(
        self, saved: Mapping[str, Saved], sample: int | None, seed: int
    ) -> tuple[list[Query], list[str]]:
        """The pictures that every system knows, all or a sample; a note if some system lacks pictures."""
        shared = set.intersection(*(set(one.index.items) for one in saved.values()))
        queries: list[Query] = [item for item in self.corpus.items if item in shared]
        if not queries:
            raise JoinError("no picture is known to every system", remedy="index them again, together")
        every = set[str]().union(*(one.index.items for one in saved.values()))
        lacking = [f"{name} lacks {n:,}" for name, one in saved.items() if (n := len(every - set(one.index.items)))]
        notes = [f"{len(shared):,} of {len(every):,} pictures are queries: {', '.join(lacking)}"] if lacking else []
        if sample is not None:
            drawn = np.random.default_rng(seed).permutation(len(queries))[:sample]
            queries = [queries[at] for at in sorted(drawn)]
        return queries, notes


def _refuse_different_training(saved: Mapping[str, Saved]) -> None:
    """Systems are compared over the same pictures: all were indexed with the same --train, or all without."""
    first, *others = saved
    for other in others:
        if saved[other].train != saved[first].train:
            raise JoinError(
                f"{first} and {other} search different pictures, for they were indexed with different --train",
                remedy="index them together, or name the systems that go together with -e",
            )


def _material(system: str, index: Index, queries: Sequence[str | Outside]) -> Material:
    """The material of the queries: from the index, or described now for pictures that are not in it."""
    at = {item: number for number, item in enumerate(index.items)}
    for query in queries:
        if isinstance(query, str) and query not in at:
            raise JoinError(
                f"{query!r} is in the corpus but not in the index of {system}: it was left out, or models learnt from "
                "it",
                remedy="ask for another item",
            )
    if all(isinstance(query, str) for query in queries):
        return index.material.take([at[str(query)] for query in queries])
    parts = [index.material.take([at[one]]) if isinstance(one, str) else _described(index, one) for one in queries]
    names = [item for part in parts for item in part.items]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise TextError(f"two queries are called {twice!r}", remedy="rename one of the files")
    columns = list(index.material.columns)
    return Material(
        tuple(names),
        tuple(words for part in parts for words in part.words),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in columns},
        np.concatenate([part.counts for part in parts]) if columns else np.zeros(0, np.int64),
    )


def _described(index: Index, query: Outside) -> Material:
    """A picture from outside, described as those of the index were; engines that see pictures get no words."""
    descriptor = index.engine.descriptor
    if descriptor is None:
        if index.material.columns:
            raise FileError(query.source, "has no vector: they came from a file", "ask for an item that has one")
        return Material((query.name,), (query.words,))
    arrays = descriptor.describe(query.picture())
    return Material((query.name,), ((),), arrays, np.array([len(next(iter(arrays.values())))], np.int64))


def _why_nothing(index: Index) -> str:
    """Why a system of words has nothing to go by; the words of names would tell it the folders, which are labels."""
    if not isinstance(index.engine, Keywords) or any(index.material.words):
        return ""
    return (
        ": no picture has a word; they come from captions (beach.txt beside beach.jpg) and manifests, for the names of "
        "files and folders count only in `endoxa images search`"
    )


def _remarks(name: str, ranked: Ranked) -> list[str]:
    frame = ranked.run.frame
    tied = frame.group_by("query", "block").len().filter(pl.col("len") > 1)["len"].sum() / frame.height
    notes = []
    if tied > 0.5:
        notes.append(f"{name}: {tied:.0%} of its ranks are ties; within a tie the order is that of the ids")
    if ranked.undefined:
        notes.append(f"{name}: {ranked.undefined:,} pairs of query and item have no score, and are not returned")
    return notes
