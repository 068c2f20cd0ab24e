"""What the studies of words have in common: contenders that are described, learnt and scored on the same splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from endoxa.engines import Descriptor, Material
from endoxa.errors import FileError, JoinError, TextError, refuse_unknown
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.images.features import GROUPS, Regions
from endoxa.images.segment import available
from endoxa.io import resample_files
from endoxa.io.descriptions import describe
from endoxa.io.label_maps import MASKS, LabelMaps
from endoxa.io.opening import called, home_of, open_corpus
from endoxa.io.packages import without_generated
from endoxa.io.vectors import vectors_for
from endoxa.io.write import write_page
from endoxa.reports.pages.word_studies import TITLES, Kind, WordStudy, page
from endoxa.verbs.parameters import PathLike, provenance_of
from endoxa.verbs.words import KEPT, OVER
from endoxa.words.annotating import DIMENSIONS, Learning, select
from endoxa.words.contenders import Contender, Task
from endoxa.words.lifts import Lifts
from endoxa.words.splits import refuse_shares
from endoxa.words.splits import resamples as draw_resamples
from endoxa.words.topics import topics_of

VECTOR = "vector"
OVERSEGMENTED = ("preseg", "mean-shift-over", "mean-shift-quantised", "slic")
FEW = 1000  # training pictures below which lifts are too noisy to be trusted


def opened(
    place: PathLike | Corpus, without: Sequence[str] | None, sample: int | None, seed: int, home: PathLike | None,
    progress: Progress | None,
) -> tuple[Corpus, Path, list[str]]:  # fmt: skip
    """A corpus for a study, its home, and what was left out of it."""
    whole = open_corpus(place, without=without, progress=progress)
    if not len(whole):
        raise FileError(whole.root, "the corpus holds no picture", "give a folder or a manifest with pictures")
    corpus, series = without_generated(whole)
    if not any(corpus.words):
        raise JoinError(
            f"{corpus.label}: no picture has a word", remedy="give captions (NAME.txt) or a manifest with words"
        )
    if sample is not None and sample < len(corpus):
        rows = np.random.default_rng((seed, 2)).choice(len(corpus), sample, replace=False)
        corpus = corpus.take(np.sort(rows))
    return corpus, home_of(corpus, home), [series] if series else []


def contender(
    name: str, source: str, groups: Sequence[str], regions: int, learning: Learning,
    vectors: Mapping[str, PathLike] | None = None,
) -> Contender:  # fmt: skip
    """A contender; of vectors, a few principal components are learnt from."""
    if vectors and source in vectors:
        return Contender(name, source, (VECTOR,), 0, replace(learning, most=DIMENSIONS))
    for group in groups:
        refuse_unknown("group of region features", group, GROUPS, listed=True)
    if regions < 1:
        raise TextError(f"{regions} regions", remedy="expected 1 or more")
    return Contender(name, source, tuple(groups), regions, learning)


def studied(
    kind: Kind, place: PathLike | Corpus, contenders: Sequence[Contender], references: Mapping[str, str],
    segmentations: Mapping[str, PathLike] | None, vectors: Mapping[str, PathLike] | None = None, *, resamples: int,
    share: float, train: float, topics: int, sample: int | None, without: Sequence[str] | None, home: PathLike | None,
    title: str, command: str, to: PathLike | None, seed: int, workers: int | None, progress: Progress | None,
) -> WordStudy:  # fmt: skip
    """Describe what is needed, score every contender on the same resamples, and write the page."""
    refuse_shares(share, train)
    if resamples < 1:
        raise TextError(f"{resamples} resamples", remedy="expected at least 1")
    corpus, folder, notes = opened(place, without, sample, seed, home, progress)
    materials, skipped, costs = _materials(corpus, folder, contenders, segmentations, vectors, workers, progress)
    known = dict(corpus.frame.select("item", "category").iter_rows())
    items = next(iter(materials.values())).items
    found_topics = topics_of([known[item] for item in items], topics)
    splits = draw_resamples(found_topics, resamples, share=share, train=train, seed=seed)
    tasks = []
    for one in contenders:
        chosen = select(materials[one.source], one.groups, one.regions)
        tasks += [Task(one, number, chosen, split, seed) for number, split in enumerate(splits)]
    found = resample_files.run(tasks, folder, workers=workers, progress=progress)
    each = len(splits)
    outcomes = {one.name: found[at * each : (at + 1) * each] for at, one in enumerate(contenders)}
    lifts = Lifts(tuple(contenders), items, outcomes, references)
    warnings = [*_doubts(lifts, len(splits)), *_left_out(skipped)]
    if not found_topics.enough:
        warnings.append(
            f"There are {len(found_topics.names)} topics, and novel ones need 4 or more: all are used, none is novel."
        )
    result = WordStudy(
        kind, title or f"{TITLES[kind]}: {called(corpus)}", lifts, costs, tuple(warnings), tuple(notes),
        provenance=provenance_of(corpus, command, seed),
    )  # fmt: skip
    if to is not None:
        write_page(page(result), Path(to))
    return result


def _materials(
    corpus: Corpus, folder: Path, contenders: Sequence[Contender], segmentations: Mapping[str, PathLike] | None,
    vectors: Mapping[str, PathLike] | None, workers: int | None, progress: Progress | None,
) -> tuple[dict[str, Material], list[Skipped], dict[str, float]]:  # fmt: skip
    """What is known of the pictures that every source knows; those left out; seconds per picture."""
    sources = dict.fromkeys(one.source for one in contenders)
    files = {name: path for name, path in (vectors or {}).items() if name in sources}
    most = {name: max(one.regions for one in contenders if one.source == name) for name in sources}
    descriptors = {
        name: _descriptor(corpus, name, most[name], segmentations or {}) for name in sources if name not in files
    }
    needed = {group for one in contenders for group in one.groups} - {VECTOR}
    results = describe(corpus, list(descriptors.values()), folder, workers=workers, progress=progress, columns=needed)
    described = dict(zip(descriptors, results, strict=True))
    materials = {name: result.material for name, result in described.items()}
    skipped = [one for result in results for one in result.skipped]
    costs = {name: float(np.median(result.seconds)) for name, result in described.items() if len(result.seconds)}
    for name, path in files.items():
        materials[name], missing = vectors_for(corpus, path)
        skipped += [Skipped(name, f"{missing:,} pictures have no vector in it")] if missing else []
    shared = set(corpus.items).intersection(*(material.items for material in materials.values()))
    if not shared:
        first = f"; {skipped[0].name}: {skipped[0].why}" if skipped else ""
        raise JoinError(f"no picture is described by all of {', '.join(materials)}{first}")
    return {name: material.only(shared) for name, material in materials.items()}, skipped, costs


def _descriptor(corpus: Corpus, name: str, regions: int, segmentations: Mapping[str, PathLike]) -> Descriptor:
    """What describes the regions of a segmentation: as many as any study needs, so that all share the result."""
    count = max(regions, OVER if name in OVERSEGMENTED else KEPT)
    if name in segmentations:
        if name in available():
            raise TextError(f"{name!r} is a segmenter already", remedy="give the segmentation another name")
        return LabelMaps.of(corpus, segmentations[name], count=count)
    if name == MASKS:
        return LabelMaps.of(corpus, None, count=count)
    refuse_unknown("segmenter", name, (*available(), MASKS), listed=True)
    return segmenter_of(name, regions)


def segmenter_of(name: str, regions: int) -> Regions:
    """What describes the regions that a segmenter finds."""
    return Regions(segmenter=name, count=max(regions, OVER if name in OVERSEGMENTED else KEPT))


def _doubts(lifts: Lifts, resamples: int) -> list[str]:
    """What to know before trusting the numbers."""
    first = lifts.outcomes[lifts.names[0]]
    train = float(np.mean([one.train for one in first]))
    found = few_pictures(train)
    if resamples < 2:
        found.append("One resample has no standard error; ask for more.")
    everywhere = max(one.everywhere for one in first)
    if everywhere:
        found.append(f"Words on every training picture, on which nothing can be gained: {everywhere}.")
    return found


def few_pictures(train: float) -> list[str]:
    """A warning if few pictures are learnt from."""
    if train >= FEW:
        return []
    return [f"Only {train:,.0f} pictures are learnt from; below about {FEW:,} words depend much on chance."]


def _left_out(skipped: Sequence[Skipped]) -> list[str]:
    names = {one.name: one.why for one in skipped}
    if not names:
        return []
    first = next(iter(names))
    return [f"{len(names):,} pictures are left out of every contender; {first}: {names[first]}"]
