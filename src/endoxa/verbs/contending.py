"""What the studies of words have in common: contenders that are described, learnt and scored on the same splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from endoxa.engines import Descriptor, Material
from endoxa.errors import FileError, JoinError, TextError, refuse_unknown
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.images.features import GROUPS, Cells, Regions, Touching
from endoxa.images.segment import available
from endoxa.io import resample_files
from endoxa.io.descriptions import describe
from endoxa.io.label_maps import MASKS, LabelMaps
from endoxa.io.opening import called, home_of, open_corpus
from endoxa.io.packages import without_generated
from endoxa.io.picture_views import descriptors_of, views_of
from endoxa.io.vectors import vectors_for
from endoxa.io.write import write_page
from endoxa.reports.pages.word_studies import TITLES, Kind, WordStudy, page
from endoxa.verbs.parameters import PathLike, provenance_of
from endoxa.verbs.words import GRID, KEPT, OVER
from endoxa.words.annotating import DIMENSIONS, Learning, select
from endoxa.words.contenders import Contender, Task
from endoxa.words.lifts import Lifts
from endoxa.words.merging import NEIGHBOURS, SIZE
from endoxa.words.pruning import visual_words
from endoxa.words.splits import Split, refuse_shares
from endoxa.words.splits import resamples as draw_resamples
from endoxa.words.topics import Topics, topics_of

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
    visual: float | None = None, remarks: Sequence[str] = (),
) -> WordStudy:  # fmt: skip
    """Describe what is needed, score every contender on the same resamples, and write the page.

    visual  score only words with this V on the training pictures of the resample; a contender that is pruned learns
            no others
    """
    refuse_shares(share, train)
    if resamples < 1:
        raise TextError(f"{resamples} resamples", remedy="expected at least 1")
    corpus, folder, notes = opened(place, without, sample, seed, home, progress)
    materials, skipped, costs = _materials(corpus, folder, contenders, segmentations, vectors, workers, progress)
    known = dict(corpus.frame.select("item", "category").iter_rows())
    items = next(iter(materials.values())).items
    found_topics = topics_of([known[item] for item in items], topics)
    splits = draw_resamples(found_topics, resamples, share=share, train=train, seed=seed)
    kept: list[tuple[str, ...] | None] = [None] * len(splits)
    if visual is not None:
        least = contenders[0].learning.least
        kept, said = _visual_words(corpus, folder, items, found_topics, splits, visual, least, workers, progress)
        notes += said
    tasks = []
    for one in contenders:
        chosen = select(materials[_key(one)], one.groups, one.regions)
        pairs = enumerate(zip(splits, kept, strict=True))
        tasks += [Task(one, number, chosen, split, seed, words) for number, (split, words) in pairs]
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
        kind, title or f"{TITLES[kind]}: {called(corpus)}", lifts, costs, tuple(warnings), (*notes, *remarks),
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
    sources = {_key(one): one.source for one in contenders}
    files = {name: path for name, path in (vectors or {}).items() if name in sources}
    most = {key: max(one.regions for one in contenders if _key(one) == key) for key in sources}
    touching = {_key(one) for one in contenders if one.merge}
    descriptors = {
        key: _descriptor(corpus, name, most[key], segmentations or {}, touching=key in touching)
        for key, name in sources.items() if key not in files
    }  # fmt: skip
    needed = {group for one in contenders for group in one.groups} - {VECTOR}
    if touching:
        needed |= {SIZE, NEIGHBOURS}
    results = describe(corpus, list(descriptors.values()), folder, workers=workers, progress=progress, columns=needed)
    described = dict(zip(descriptors, results, strict=True))
    materials = {name: result.material for name, result in described.items()}
    skipped = [one for result in results for one in result.skipped]
    costs = {sources[key]: float(np.median(one.seconds)) for key, one in described.items() if len(one.seconds)}
    for name, path in files.items():
        materials[name], missing = vectors_for(corpus, path)
        skipped += [Skipped(name, f"{missing:,} pictures have no vector in it")] if missing else []
    shared = set(corpus.items).intersection(*(material.items for material in materials.values()))
    if not shared:
        first = f"; {skipped[0].name}: {skipped[0].why}" if skipped else ""
        raise JoinError(f"no picture is described by all of {', '.join(materials)}{first}")
    return {name: material.only(shared) for name, material in materials.items()}, skipped, costs


def _key(one: Contender) -> str:
    """What a contender's pictures are described by: a grid of another number of cells is another description."""
    return f"{GRID} {one.regions}" if one.source == GRID else one.source


def _visual_words(
    corpus: Corpus, folder: Path, items: Sequence[str], topics: Topics, splits: Sequence[Split], visual: float,
    least: int, workers: int | None, progress: Progress | None,
) -> tuple[list[tuple[str, ...] | None], list[str]]:  # fmt: skip
    """The words that are visual on the training pictures of each resample, and how many were dropped."""
    described = describe(corpus, descriptors_of(None), folder, workers=workers, progress=progress)
    for one in described:
        if lacking := set(items) - set(one.material.items):
            raise JoinError(f"{min(lacking)} has no view to compute V by", remedy="leave it out of the corpus")
    views, notes = views_of(corpus, described, items, None, folder)
    rows, kept, sizes = corpus.rows, list[tuple[str, ...] | None](), []
    words = [corpus.words[rows[item]] for item in items]
    for split in splits:
        chosen, learnt = visual_words(views, words, split.train, topics, visual=visual, least=least)
        kept.append(chosen)
        sizes.append((len(chosen), learnt))
    own, whole = (float(np.mean(column)) for column in zip(*sizes, strict=True))
    dropped = (
        f"Of {whole:,.0f} words {own:,.0f} have V ≥ {visual:g} on the training pictures, {whole - own:,.0f} are "
        "dropped (means of the resamples). All contenders are scored on the words that are kept; pruned ones learn no "
        "others."
    )
    return kept, [dropped, *notes]


def _descriptor(
    corpus: Corpus, name: str, regions: int, segmentations: Mapping[str, PathLike], *, touching: bool = False
) -> Descriptor:
    """What describes the regions of a segmentation: as many as any study needs, so that all share the result."""
    count = max(regions, OVER if name in OVERSEGMENTED else KEPT)
    if name in segmentations:
        if name in available():
            raise TextError(f"{name!r} is a segmenter already", remedy="give the segmentation another name")
        return LabelMaps.of(corpus, segmentations[name], count=count)
    if name == MASKS:
        return LabelMaps.of(corpus, None, count=count)
    refuse_unknown("segmenter", name, (*available(), MASKS), listed=True)
    if name == GRID:
        return Cells(count=regions)
    return Touching(segmenter=name, count=count) if touching else segmenter_of(name, regions)


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
