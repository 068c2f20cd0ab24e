"""Words for pictures: predict them, and find which segmentation and which features predict them best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa import __version__
from endoxa.engines import Descriptor, Material
from endoxa.engines.searching import Outside
from endoxa.errors import FileError, JoinError, TextError, refuse_unknown
from endoxa.evaluations import dispatch
from endoxa.evaluations.evaluation import Evaluation
from endoxa.frozen import dataclass
from endoxa.images import LabelMap
from endoxa.images.corpus import Corpus, Progress, Skipped
from endoxa.images.features import GROUPS, Regions, describe_regions
from endoxa.images.marking import marks_of
from endoxa.images.segment import available, largest
from endoxa.io import resample_files
from endoxa.io.decoding import data_address, decode
from endoxa.io.descriptions import describe
from endoxa.io.label_maps import MASKS, LabelMaps
from endoxa.io.opening import find_query, home_of, open_corpus
from endoxa.io.packages import COLLECTIONS, without_generated
from endoxa.io.vectors import vectors_for
from endoxa.io.write import write_page
from endoxa.measures.grammar import parse
from endoxa.notes import text
from endoxa.reports.pages import word_studies
from endoxa.reports.pages.annotations import Annotations, Shown
from endoxa.reports.pages.annotations import page as annotated_page
from endoxa.reports.pages.word_studies import WordStudy
from endoxa.verbs.inputs import settings_of
from endoxa.words.annotating import DIMENSIONS, Annotator, Learning, learn, select
from endoxa.words.contenders import Contender, Task
from endoxa.words.feature_sets import TABLE_6, feature_set
from endoxa.words.lifts import MEASURE, Lifts
from endoxa.words.scoring import DIGITS
from endoxa.words.splits import refuse_shares
from endoxa.words.splits import resamples as draw_resamples
from endoxa.words.topics import topics_of

GRID = "grid"  # in every study of segmentations: what regions of no meaning give
VECTOR = "vector"
REGIONS, SEVERAL = 8, (2, 4, 6, 8, 10, 12)
KEPT, OVER = 12, 20  # regions that are described, of over-segmentations
CELLS = 12  # of the grid: all of them; its cells are equal, so that fewer would be the upper part of the picture only
OVERSEGMENTED = ("preseg", "mean-shift-over", "mean-shift-quantised", "slic")
BEST = ("base", "rgs", "context")  # the best of the sets on photographs, decorrelated
MODEST = ("base", "rgs", "texture")  # what the source compares segmentations with
SIDE = 480  # pixels of a picture on the page of annotations
ANNOTATED: dict[str, Any] = {
    "picture": pl.String, "rank": pl.Int64, "word": pl.String, "chance": pl.Float64, "ratio": pl.Float64,
    "right": pl.Boolean,
}  # fmt: skip
LABELLED: dict[str, Any] = {
    "picture": pl.String, "region": pl.Int64, "size": pl.Float64, "word": pl.String, "chance": pl.Float64,
}  # fmt: skip
FEW = 1000  # training pictures below which lifts are too noisy to be trusted


@dataclass(frozen=True)
class _Opened:
    """A corpus for a study, its home, and what was left out of it."""

    corpus: Corpus
    home: Path
    notes: tuple[str, ...]


def predict(
    place: str | Path | Corpus,
    segmenters: Sequence[str] | None = None,
    *,
    regions: int = REGIONS,
    groups: Sequence[str] = BEST,
    segmentations: Mapping[str, str | Path] | None = None,
    vectors: Mapping[str, str | Path] | None = None,
    resamples: int = 10,
    share: float = 0.5,
    train: float = 0.75,
    topics: int = 0,
    least: int = 0,
    components: int = 0,
    whiten: bool = True,
    sample: int | None = None,
    without: Sequence[str] | None = None,
    home: str | Path | None = None,
    title: str = "",
    command: str = "",
    to: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WordStudy:
    """How well regions predict the words of pictures: on training pictures, held-out ones, and novel topics.

    segmenters     felzenszwalb unless given; `masks` are the true regions of the corpus. The grid always takes part
    groups         groups of region features (`endoxa.images.features.GROUPS`)
    segmentations  further ones by name, each a folder of label maps; vectors: a file of vectors by name, one per
                   picture, of which 32 principal components are learnt from
    resamples      random splits: `share` of the topics are used, `train` of their pictures are learnt from
    topics         the level of the categories that is a topic; 0: the top one with four topics or more
    least          a word is learnt if it is on this many training pictures; 0: one in a hundred, 2 to 20
    components     of the mixture; 0: one per hundred regions, 10 to 500
    sample         study only so many pictures, drawn with the seed
    `to` is a file that the page is written to. What was computed is kept in `home`, so that a study goes on.
    """
    plan = _Plan(resamples, share, train, topics, seed)
    opened = _open(place, without, sample, seed, home, progress)
    named = list(dict.fromkeys([*(segmenters or ["felzenszwalb"]), *(segmentations or {}), *(vectors or {}), GRID]))
    learning = Learning(components=components, least=least, whiten=whiten)
    contenders = [
        _contender(name, name, groups, CELLS if name == GRID else regions, learning, vectors) for name in named
    ]
    lifts, warnings, costs = _study(
        opened, contenders, {name: GRID for name in named if name != GRID}, segmentations, vectors,
        plan, workers, progress,
    )  # fmt: skip
    return _finished("predict", opened, lifts, warnings, costs, title, command, to, seed)


def segmenters(
    place: str | Path | Corpus,
    names: Sequence[str] | None = None,
    *,
    regions: Sequence[int] = SEVERAL,
    groups: Sequence[str] = MODEST,
    segmentations: Mapping[str, str | Path] | None = None,
    resamples: int = 10,
    share: float = 0.5,
    train: float = 0.75,
    topics: int = 0,
    least: int = 0,
    components: int = 0,
    whiten: bool = True,
    sample: int | None = None,
    without: Sequence[str] | None = None,
    home: str | Path | None = None,
    title: str = "",
    command: str = "",
    to: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WordStudy:
    """Which segmentation predicts words best, by the number of its largest regions (Barnard et al., Figure 2).

    names    segmenters; all ten unless given, and the grid always
    regions  the numbers of regions; over-segmentations are tried with 20 as well
    Each is compared with the grid of 12 cells, which covers the picture. For the other settings see `predict`.
    """
    plan = _Plan(resamples, share, train, topics, seed)
    opened = _open(place, without, sample, seed, home, progress)
    if not regions or min(regions) < 1:
        raise TextError("the numbers of regions are 1 or more", remedy="give some, like 4,8,12")
    named = list(dict.fromkeys([*(names or available()), *(segmentations or {}), GRID]))
    learning = Learning(components=components, least=least, whiten=whiten)
    contenders, references = [], {}
    for name in named:
        over = [OVER] if name in OVERSEGMENTED and max(regions) >= KEPT else []
        for count in [CELLS] if name == GRID else sorted({*regions, *over}):
            contenders.append(_contender(f"{name}, {count}", name, groups, count, learning, None))
            if name != GRID:
                references[f"{name}, {count}"] = f"{GRID}, {CELLS}"
    lifts, warnings, costs = _study(
        opened, contenders, references, segmentations, None, plan, workers,
        progress,
    )  # fmt: skip
    return _finished("segmenters", opened, lifts, warnings, costs, title, command, to, seed)


def features(
    place: str | Path | Corpus,
    sets: Sequence[str] | None = None,
    *,
    segmenter: str = "felzenszwalb",
    regions: int = REGIONS,
    segmentations: Mapping[str, str | Path] | None = None,
    resamples: int = 10,
    share: float = 0.5,
    train: float = 0.75,
    topics: int = 0,
    least: int = 0,
    components: int = 0,
    whiten: bool = False,
    sample: int | None = None,
    without: Sequence[str] | None = None,
    home: str | Path | None = None,
    title: str = "",
    command: str = "",
    to: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WordStudy:
    """Which features of regions predict words best: the eleven sets of Barnard et al., Table 6, or `sets`.

    sets    groups joined by commas: `base,rgs`; the first is what the others are compared with
    whiten  False treats features as independent, as the source does
    For the other settings see `predict`.
    """
    plan = _Plan(resamples, share, train, topics, seed)
    opened = _open(place, without, sample, seed, home, progress)
    chosen = list(dict.fromkeys(map(feature_set, sets))) if sets else list(TABLE_6)
    learning = Learning(components=components, least=least, whiten=whiten)
    contenders = [_contender(one.name, segmenter, one.groups, regions, learning, None) for one in chosen]
    references = {one.name: chosen[0].name for one in chosen[1:]}
    lifts, warnings, costs = _study(
        opened, contenders, references, segmentations, None, plan, workers,
        progress,
    )  # fmt: skip
    return _finished("features", opened, lifts, warnings, costs, title, command, to, seed)


def annotate(
    place: str | Path | Corpus,
    pictures: Sequence[str | Path],
    *,
    count: int = 5,
    segmenter: str = "felzenszwalb",
    regions: int = REGIONS,
    groups: Sequence[str] = BEST,
    least: int = 0,
    components: int = 0,
    whiten: bool = True,
    without: Sequence[str] | None = None,
    home: str | Path | None = None,
    title: str = "",
    command: str = "",
    to: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Annotations:
    """Words for new pictures, learnt from a corpus: the `count` most probable of each, and one for each region.

    pictures  files, or items of the corpus, which are then not learnt from
    For the other settings see `predict`.
    """
    if count < 1:
        raise TextError(f"{count} words", remedy="expected 1 or more")
    if not pictures:
        raise TextError("name a picture to annotate: a file, or an item of the corpus")
    opened = _open(place, without, None, seed, home, progress)
    asked = [_asked(opened.corpus, str(typed)) for typed in pictures]
    contender = _contender(
        segmenter, segmenter, groups, regions, Learning(components=components, least=least, whiten=whiten), None
    )
    descriptor = _segmenter(segmenter, regions)
    described = describe(
        opened.corpus, [descriptor], opened.home, workers=workers, progress=progress, columns=set(groups)
    )[0]
    apart = {one.name for one in asked}
    learnt = _only(described.material, {item for item in described.material.items if item not in apart})
    annotator = learn(select(learnt, contender.groups, regions), contender.learning, seed=(seed, 1, 0))
    shown, words, rows = [], [], []
    for one in asked:
        picture, labels = descriptor.regions(one.picture())
        labels = largest(labels, regions)
        columns = describe_regions(picture, labels, contender.groups)
        counts = np.array([len(next(iter(columns.values())))])
        material = select(Material((one.name,), (one.words,), columns, counts), contender.groups)
        words += _most_probable(one, annotator, material, count)
        rows += _of_regions(one, annotator, material, labels)
        address = data_address(picture, SIDE)
        shown.append(Shown(one.name, address, picture.shape[::-1], marks_of(labels), one.words))
    inside = len(apart & set(opened.corpus.items))
    apart_note = f"{inside} of the pictures are in the corpus; they were not learnt from."
    result = Annotations(
        title or f"Words for {'a picture' if len(asked) == 1 else f'{len(asked)} pictures'}",
        pl.DataFrame(words, schema=ANNOTATED, orient="row"),
        pl.DataFrame(rows, schema=LABELLED, orient="row"),
        shown,
        [f"{annotator.pictures:,} pictures learnt from", f"{len(annotator.vocabulary):,} words"],
        _few(annotator.pictures),
        [*opened.notes, *([apart_note] if inside else [])],
        _provenance(opened.corpus, command, seed),
    )
    if to is not None:
        write_page(annotated_page(result), Path(to))
    return result


def _asked(corpus: Corpus, typed: str) -> Outside:
    """The picture that was meant: a file, or an item of the corpus."""
    found = find_query(corpus, typed)
    if found is None:
        raise FileError(typed, "is neither a file nor a picture of the corpus", "check the name")
    if isinstance(found, Outside):
        return found
    row = corpus.frame.row(corpus.rows[found], named=True)
    return Outside(found, typed, partial(decode, Path(corpus.root) / row["path"]), tuple(row["words"]))


def _most_probable(one: Outside, annotator: Annotator, material: Material, count: int) -> list[tuple[Any, ...]]:
    chances = annotator.of_pictures(material)[0]
    usual = annotator.frequencies / annotator.frequencies.sum()
    order = np.argsort(-np.round(chances, DIGITS), kind="stable")[:count]
    known = set(one.words)
    return [
        (one.name, rank, annotator.vocabulary[at], float(chances[at]), float(chances[at] / usual[at]),
         annotator.vocabulary[at] in known if known else None)
        for rank, at in enumerate(order, start=1)
    ]  # fmt: skip


def _of_regions(one: Outside, annotator: Annotator, material: Material, labels: LabelMap) -> list[tuple[Any, ...]]:
    chances = annotator.of_regions(material)
    sizes = np.bincount(labels[labels >= 0]) / labels.size
    best = np.argmax(np.round(chances, DIGITS), axis=1)
    return [
        (one.name, region, float(sizes[region]), annotator.vocabulary[at], float(chances[region, at]))
        for region, at in enumerate(best)
    ]


def evaluation(study: WordStudy, *, baseline: str | None = None, confidence: float = 0.95, seed: int = 0) -> Evaluation:
    """A study as any other evaluation: contenders and the most frequent words as systems, held-out pictures as queries.

    The score of a picture is R-precision. Intervals and tests are over pictures, given the models; those of the study
    are over splits.
    """
    scores = study.lifts.scores
    settings = settings_of({"baseline": baseline, "confidence": confidence, "seed": seed})
    return Evaluation(
        "judgments", scores, dispatch.summarise(scores, settings), settings, title=study.title, baseline=baseline,
        compared=partial(dispatch.compare, scores, settings),
        warnings=tuple(text(one, "warning") for one in study.warnings), notes=tuple(map(text, study.notes)),
        provenance=study.provenance, wanted=(parse(MEASURE),),
    )  # fmt: skip


# ---- the parts of every study ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """How pictures are split."""

    resamples: int
    share: float
    train: float
    topics: int
    seed: int

    def __post_init__(self) -> None:
        refuse_shares(self.share, self.train)
        if self.resamples < 1:
            raise TextError(f"{self.resamples} resamples", remedy="expected at least 1")


def _open(
    place: str | Path | Corpus, without: Sequence[str] | None, sample: int | None, seed: int, home: str | Path | None,
    progress: Progress | None,
) -> _Opened:  # fmt: skip
    whole = open_corpus(place, without=without, progress=progress)
    if not len(whole):
        raise FileError(whole.root, "the corpus holds no picture", "give a folder or a manifest with pictures")
    corpus, series = without_generated(whole)
    if not any(corpus.words):
        raise JoinError(
            f"{corpus.name or corpus.root}: no picture has a word",
            remedy="give captions (NAME.txt) or a manifest with words",
        )
    if sample is not None and sample < len(corpus):
        rows = np.random.default_rng((seed, 2)).choice(len(corpus), sample, replace=False)
        corpus = corpus.take(np.sort(rows))
    return _Opened(corpus, home_of(corpus, home), (series,) if series else ())


def _contender(
    name: str, source: str, groups: Sequence[str], regions: int, learning: Learning,
    vectors: Mapping[str, str | Path] | None,
) -> Contender:  # fmt: skip
    if vectors and source in vectors:
        few = Learning(components=learning.components, least=learning.least, whiten=learning.whiten, most=DIMENSIONS)
        return Contender(name, source, (VECTOR,), 0, few)
    for group in groups:
        refuse_unknown("group of region features", group, GROUPS, listed=True)
    if regions < 1:
        raise TextError(f"{regions} regions", remedy="expected 1 or more")
    return Contender(name, source, tuple(groups), regions, learning)


def _study(
    opened: _Opened, contenders: Sequence[Contender], references: Mapping[str, str],
    segmentations: Mapping[str, str | Path] | None, vectors: Mapping[str, str | Path] | None, plan: _Plan,
    workers: int | None, progress: Progress | None,
) -> tuple[Lifts, list[str], dict[str, float]]:  # fmt: skip
    """Describe what is needed, score every contender on the same resamples; the lifts, warnings, seconds a picture."""
    corpus = opened.corpus
    materials, skipped, costs = _materials(opened, contenders, segmentations, vectors, workers, progress)
    known = dict(corpus.frame.select("item", "category").iter_rows())
    items = next(iter(materials.values())).items
    topics = topics_of([known[item] for item in items], plan.topics)
    splits = draw_resamples(topics, plan.resamples, share=plan.share, train=plan.train, seed=plan.seed)
    tasks = []
    for one in contenders:
        chosen = select(materials[one.source], one.groups, one.regions)
        tasks += [Task(one, number, chosen, split, plan.seed) for number, split in enumerate(splits)]
    found = resample_files.run(tasks, opened.home, workers=workers, progress=progress)
    each = len(splits)
    outcomes = {one.name: found[at * each : (at + 1) * each] for at, one in enumerate(contenders)}
    lifts = Lifts(tuple(contenders), items, outcomes, references)
    warnings = [*_doubts(lifts, len(splits)), *_left_out(skipped)]
    if not topics.enough:
        warnings.append(
            f"There are {len(topics.names)} topics, and novel ones need 4 or more: all are used, none is novel."
        )
    return lifts, warnings, costs


def _materials(
    opened: _Opened, contenders: Sequence[Contender], segmentations: Mapping[str, str | Path] | None,
    vectors: Mapping[str, str | Path] | None, workers: int | None, progress: Progress | None,
) -> tuple[dict[str, Material], list[Skipped], dict[str, float]]:  # fmt: skip
    """What is known of the pictures that every source knows; those left out; seconds per picture."""
    sources = dict.fromkeys(one.source for one in contenders)
    files = {name: path for name, path in (vectors or {}).items() if name in sources}
    most = {name: max(one.regions for one in contenders if one.source == name) for name in sources}
    descriptors = {
        name: _descriptor(opened.corpus, name, most[name], segmentations or {}) for name in sources if name not in files
    }
    needed = {group for one in contenders for group in one.groups} - {VECTOR}
    described = describe(
        opened.corpus, list(descriptors.values()), opened.home, workers=workers, progress=progress, columns=needed
    )
    materials = {name: result.material for name, result in zip(descriptors, described, strict=True)}
    skipped = [one for result in described for one in result.skipped]
    costs = {
        name: float(np.median(result.seconds)) for name, result in zip(descriptors, described, strict=True)
        if len(result.seconds)
    }  # fmt: skip
    for name, path in files.items():
        materials[name], missing = vectors_for(opened.corpus, path)
        skipped += [Skipped(name, f"{missing:,} pictures have no vector in it")] if missing else []
    shared = set(opened.corpus.items).intersection(*(material.items for material in materials.values()))
    if not shared:
        first = f"; {skipped[0].name}: {skipped[0].why}" if skipped else ""
        raise JoinError(f"no picture is described by all of {', '.join(materials)}{first}")
    return {name: _only(material, shared) for name, material in materials.items()}, skipped, costs


def _descriptor(corpus: Corpus, name: str, regions: int, segmentations: Mapping[str, str | Path]) -> Descriptor:
    """What describes the regions of a segmentation: as many as any study needs, so that all share the result."""
    count = max(regions, OVER if name in OVERSEGMENTED else KEPT)
    if name in segmentations:
        if name in available():
            raise TextError(f"{name!r} is a segmenter already", remedy="give the segmentation another name")
        return LabelMaps.of(corpus, segmentations[name], count=count)
    if name == MASKS:
        return LabelMaps.of(corpus, None, count=count)
    refuse_unknown("segmenter", name, (*available(), MASKS), listed=True)
    return _segmenter(name, regions)


def _segmenter(name: str, regions: int) -> Regions:
    return Regions(segmenter=name, count=max(regions, OVER if name in OVERSEGMENTED else KEPT))


def _only(material: Material, items: set[str]) -> Material:
    keep = [at for at, item in enumerate(material.items) if item in items]
    return material if len(keep) == len(material) else material.take(keep)


def _doubts(lifts: Lifts, resamples: int) -> list[str]:
    """What to know before trusting the numbers."""
    first = lifts.outcomes[lifts.names[0]]
    train = float(np.mean([one.train for one in first]))
    found = _few(train)
    if resamples < 2:
        found.append("One resample has no standard error; ask for more.")
    everywhere = max(one.everywhere for one in first)
    if everywhere:
        found.append(f"Words on every training picture, on which nothing can be gained: {everywhere}.")
    return found


def _few(train: float) -> list[str]:
    if train >= FEW:
        return []
    return [f"Only {train:,.0f} pictures are learnt from; below about {FEW:,} words depend much on chance."]


def _left_out(skipped: Sequence[Skipped]) -> list[str]:
    names = {one.name: one.why for one in skipped}
    if not names:
        return []
    first = next(iter(names))
    return [f"{len(names):,} pictures are left out of every contender; {first}: {names[first]}"]


def _finished(
    kind: word_studies.Kind, opened: _Opened, lifts: Lifts, warnings: Sequence[str], costs: Mapping[str, float],
    title: str, command: str, to: str | Path | None, seed: int,
) -> WordStudy:  # fmt: skip
    corpus = opened.corpus
    name = corpus.name if corpus.name in COLLECTIONS else Path(corpus.root).name
    result = WordStudy(
        kind, title or f"{word_studies.TITLES[kind]}: {name}", lifts, costs, tuple(warnings), opened.notes,
        provenance=_provenance(corpus, command, seed),
    )  # fmt: skip
    if to is not None:
        write_page(word_studies.page(result), Path(to))
    return result


def _provenance(corpus: Corpus, command: str, seed: int) -> dict[str, str]:
    return {"Endoxa": __version__, "Corpus": corpus.name or corpus.root, "Command": command, "Seed": str(seed)}
