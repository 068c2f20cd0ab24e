"""From pictures to indexes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa import __version__
from endoxa.engines import Descriptor, Engine, Material
from endoxa.engines.registry import ENGINES, engine, kind_of
from endoxa.errors import FileError, JoinError, TextError
from endoxa.images.corpus import Corpus, Skipped
from endoxa.io import efficientnet, indexes, packages
from endoxa.io.corpora import fingerprint
from endoxa.io.descriptions import Described, Progress, describe, digests_of
from endoxa.io.indexes import Saved
from endoxa.io.vectors import read_vectors
from endoxa.pictures.opening import home_of, open_corpus
from endoxa.tables import Costs, Floats

NAME = re.compile(r"\w[\w.+-]*")


def available() -> tuple[str, ...]:
    """The engines that can run here: all, or all but embeddings, whose parts are an extra."""
    missing = [part for part in efficientnet.PARTS if find_spec(part) is None]
    return tuple(name for name in ENGINES if not missing or name != "embeddings")


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
        _refuse_name(name)
        chosen[name] = engine("embeddings", source="file")
    described = _describe(corpus, chosen.values(), where, workers, progress)
    digests = digests_of(corpus, where)
    skipped = {one.name: one for made in described.values() for one in made.skipped}
    learners, indexed = (part - set(skipped) for part in _split(corpus, train, seed))  # all search the same pictures
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
        part = _only(material, indexed)
        if not len(part):
            why = next(iter(skipped.values()), None)
            told = f"; {why.name}: {why.why}" if why is not None else ""
            raise JoinError(f"{name}: none of the {len(corpus):,} pictures could be described{told}")
        there = set(part.items)
        known &= there
        aside = there | (learners if train is not None else set())
        facts = {
            "endoxa": __version__, "seed": seed, "train": sorted(learners) if train is not None else [],
            "skipped": [item for item in corpus.items if item not in aside],
            "vectors": fingerprint(files[name]) if name in files else "",
        }  # fmt: skip
        place_of = where / "indexes" / name
        kept, changed = _kept(place_of, one, part, digests, facts)
        notes += [f"{name} is built anew, with other settings: {changed}"] if changed else []
        if kept is not None:
            seconds, size = kept
        else:
            if kind_of(one) != "mixture":  # what is compiled or loaded at the first call is no cost of this corpus
                one.build(part.take([0]), seed=seed)
            begun = time.perf_counter()
            built = one.build(part, train=None if train is None else _only(material, learners), seed=seed)
            seconds = time.perf_counter() - begun
            size = indexes.save(Saved(built, digests, facts | {"seconds": seconds}), place_of)
        if made is not None:
            rows.append(cost(name, "describe", made.seconds, float(made.seconds.sum()), made.bytes))
        rows.append(cost(name, "build", np.zeros(0), seconds, size, len(part)))
    if progress is not None:
        progress("building", len(chosen), len(chosen))
    costs = Costs(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    fresh = sum(made.computed for made in described.values())
    expected = corpus.name in packages.COLLECTIONS  # what a collection leaves out is part of it, and no news
    left_out = (*(() if expected else corpus.skipped), *skipped.values())
    shared = tuple(item for item in corpus.items if item in known)
    return Indexed(corpus, where, tuple(chosen), costs, left_out, fresh, shared, tuple(notes))


def _refuse_name(name: str) -> None:
    """A name becomes a folder: it must not lead elsewhere, nor be an engine's."""
    if name in ENGINES:
        raise TextError(f"{name!r} is an engine already; give the vectors another name")
    if not NAME.fullmatch(name):
        raise TextError(f"{name!r} names vectors; expected letters, digits and . + - _, a letter or digit first")


def _kept(
    place: Path, engine: Engine, part: Material, digests: Mapping[str, str], facts: Mapping[str, Any]
) -> tuple[tuple[float, int] | None, str]:
    """Seconds and size of the index that is there, if it is just what would be built; and settings that changed."""
    try:
        saved = indexes.load(place, patience=0)
    except FileError:
        return None, ""
    was, now = ({field.name: getattr(one, field.name) for field in fields(one)} for one in (saved.index.engine, engine))  # type: ignore[arg-type]
    changed = ", ".join(f"{key} {now[key]}, was {was[key]}" for key in now if now[key] != was.get(key))
    same = (
        saved.index.engine == engine
        and all(saved.facts.get(key) == value for key, value in facts.items())
        and saved.index.items == part.items
        and saved.index.material.words == part.words
        and all(saved.digests.get(item) == digests.get(item) for item in part.items)
    )
    if not same or "seconds" not in saved.facts:
        return None, changed
    return (saved.facts["seconds"], sum(file.stat().st_size for file in place.iterdir())), changed


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


def cost(
    system: str, phase: str, each: Floats, seconds: float, size: int, items: int | None = None
) -> tuple[str, str, int, float, int, float | None, float | None]:
    """A row of costs; `each` are the seconds of single items."""
    middle = (float(np.median(each)), float(np.quantile(each, 0.95))) if len(each) else (None, None)
    return system, phase, len(each) if items is None else items, seconds, size, *middle
