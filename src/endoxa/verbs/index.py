"""Describe the pictures of a corpus and build an index per system."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import option
from endoxa.errors import FileError, JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.later import np, pl
from endoxa.verbs.parameters import Engines, EngineSettings, Home, Place, Seed, Vectors, Without, Workers

if TYPE_CHECKING:
    from endoxa.engines import Descriptor, Engine, Material
    from endoxa.images.corpus import Corpus, Progress, Skipped
    from endoxa.io.descriptions import Described
    from endoxa.tables import Costs

NAME = re.compile(r"\w[\w.+-]*")


@dataclass(frozen=True, eq=False)
class Indexed:
    """The result of indexing.

    home       the folder of descriptions and indexes
    systems    the systems that were indexed
    costs      what describing and building cost
    skipped    pictures that were left out, and why
    described  how many descriptions were computed now; the others were known
    items      the pictures that every system knows
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
    place: Place,
    engines: Engines = None,
    *,
    settings: EngineSettings = None,
    vectors: Vectors = None,
    without: Without = None,
    train: Annotated[
        float | None, option("Learn models from this share of the pictures and index only the others (TEST).")
    ] = None,
    home: Home = None,
    workers: Workers = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Indexed:
    """Describe the pictures and build the indexes. Known results are reused, so an interrupted run continues.

    settings  per engine: {"rwmm": {"components": 200}}
    train     the share of the corpus, drawn with `seed`, that models are learnt from; only the other pictures are then
              indexed, by every engine (Barnard's TEST). Without it models learn from the indexed pictures (ALL).

    Examples:
        endoxa images index photos
        endoxa images index photos -e histograms -e rwmm --set rwmm.components=200
        endoxa images index photos --vectors clip=clip.npz
    """
    from endoxa import __version__
    from endoxa.engines import Material, Saved
    from endoxa.engines.ranking import cost
    from endoxa.engines.registry import engine, engines_of
    from endoxa.io import indexes, packages
    from endoxa.io.descriptions import digests_of
    from endoxa.io.opening import home_of, open_corpus
    from endoxa.io.provenance import fingerprint
    from endoxa.io.vectors import vectors_for
    from endoxa.tables import Costs

    corpus = open_corpus(place, without=without, progress=progress)
    if not len(corpus):
        raise FileError(corpus.root, "the corpus holds no picture", "give a folder or a manifest with pictures")
    folder = home_of(corpus, home)
    chosen = engines_of(engines, settings, packages.suits(corpus))
    chosen, notes = _once(chosen, corpus, asked=bool(engines))
    files = {name: Path(path) for name, path in (vectors or {}).items()}
    for name in files:
        _refuse_name(name)
        chosen[name] = engine("embeddings", source="file")
    described = _describe(corpus, chosen.values(), folder, workers, progress)
    digests = digests_of(corpus, folder)
    skipped = {one.name: one for result in described.values() for one in result.skipped}
    # All systems search the same pictures.
    learners, indexed = (part - set(skipped) for part in _split(corpus, train, seed))
    known = set(indexed)
    rows = []
    for number, (name, one) in enumerate(chosen.items()):
        if progress is not None:
            progress(f"building {name}", number, len(chosen))
        result = described.get(one.descriptor) if one.descriptor is not None else None
        if name in files:
            material, missing = vectors_for(corpus, files[name])
            notes += [f"{name}: {missing:,} of {len(corpus):,} pictures have no vector"] if missing else []
        else:
            material = Material(tuple(corpus.items), corpus.words) if result is None else result.material
        part = material.only(indexed)
        if not len(part):
            first = next(iter(skipped.values()), None)
            reason = f"; {first.name}: {first.why}" if first is not None else ""
            raise JoinError(f"{name}: none of the {len(corpus):,} pictures could be described{reason}")
        known &= set(part.items)
        aside = set(part.items) | (learners if train is not None else set())
        facts = {
            "endoxa": __version__, "seed": seed, "train": sorted(learners) if train is not None else [],
            "skipped": [item for item in corpus.items if item not in aside],
            "vectors": fingerprint(files[name]) if name in files else "",
        }  # fmt: skip
        target = folder / "indexes" / name
        kept, changed = _kept(target, one, part, digests, facts)
        notes += [f"{name} is built anew, with other settings: {changed}"] if changed else []
        if kept is not None:
            seconds, size = kept
        else:
            one.build(part.take([0]), seed=seed)  # what is compiled or loaded at the first call is not a cost
            begun = time.perf_counter()
            built = one.build(part, train=None if train is None else material.only(learners), seed=seed)
            seconds = time.perf_counter() - begun
            size = indexes.save(Saved(built, digests, facts | {"seconds": seconds}), target)
        if result is not None:
            rows.append(cost(name, "describe", result.seconds, float(result.seconds.sum()), result.bytes))
        rows.append(cost(name, "build", np.zeros(0), seconds, size, len(part)))
    if progress is not None:
        progress("building", len(chosen), len(chosen))
    costs = Costs(pl.DataFrame(rows, schema=Costs.SCHEMA, orient="row"))
    computed = sum(result.computed for result in described.values())
    expected = corpus.name in packages.COLLECTIONS  # what a collection always leaves out is not reported
    left_out = (*(() if expected else corpus.skipped), *skipped.values())
    shared = tuple(item for item in corpus.items if item in known)
    return Indexed(corpus, folder, tuple(chosen), costs, left_out, computed, shared, tuple(notes))


def _once(
    chosen: Mapping[str, Engine], corpus: Corpus, *, asked: bool
) -> tuple[dict[str, Engine], list[str]]:  # fmt: skip
    """The engines without a model that would be another one: where no picture has words, rwmm is romm.

    An engine that was `asked` for by its name stays, and a note says so; two equal systems would vote as one.
    """
    if any(corpus.words) or "rwmm" not in chosen:
        return dict(chosen), []
    if asked or "romm" not in chosen:
        return dict(chosen), ["no picture has words: rwmm learns from regions only, as romm does"]
    left = {name: one for name, one in chosen.items() if name != "rwmm"}
    return left, ["rwmm is left out: no picture has words, so that it is romm"]


def _refuse_name(name: str) -> None:
    """A name becomes a folder: it must not lead elsewhere, nor be the name of an engine."""
    from endoxa.engines.registry import ENGINES

    if name in ENGINES:
        raise TextError(f"{name!r} is an engine already", remedy="give the vectors another name")
    if not NAME.fullmatch(name):
        raise TextError(
            f"{name!r} names vectors", remedy="expected letters, digits and . + - _, a letter or digit first"
        )


def _kept(
    target: Path, engine: Engine, part: Material, digests: Mapping[str, str], facts: Mapping[str, Any]
) -> tuple[tuple[float, int] | None, str]:
    """Seconds and size of the existing index, if it is what would be built; and the settings that changed."""
    from endoxa.io import indexes

    try:
        saved = indexes.load(target, patience=0)
    except FileError:
        return None, ""
    old, new = ({field.name: getattr(one, field.name) for field in fields(one)} for one in (saved.index.engine, engine))  # type: ignore[arg-type]
    changed = ", ".join(f"{key} {new[key]}, was {old[key]}" for key in new if key in old and new[key] != old[key])
    same = (
        saved.index.engine == engine
        and all(saved.facts.get(key) == value for key, value in facts.items())
        and saved.index.items == part.items
        and saved.index.material.words == part.words
        and all(saved.digests.get(item) == digests.get(item) for item in part.items)
    )
    if not same or "seconds" not in saved.facts:
        return None, changed
    return (saved.facts["seconds"], sum(file.stat().st_size for file in target.iterdir())), changed


def _describe(
    corpus: Corpus, engines: Iterable[Engine], home: Path, workers: int | None, progress: Progress | None
) -> dict[Descriptor, Described]:
    """The results of every descriptor that these engines need, each computed once."""
    from endoxa.io.descriptions import describe

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
        raise TextError("a corpus of one picture cannot be split into a part to learn from and a part to search")
    names = corpus.items
    return {names[at] for at in order[:cut]}, {names[at] for at in order[cut:]}
