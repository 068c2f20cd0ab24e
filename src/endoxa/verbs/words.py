"""Words for pictures: predict them, and find which segmentation and which features predict them best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.errors import CallError, FileError, TextError
from endoxa.later import np, pl
from endoxa.verbs.parameters import (
    Home,
    PathLike,
    Place,
    Seed,
    Vectors,
    Without,
    Workers,
    listed,
    named_paths,
    provenance_of,
)

if TYPE_CHECKING:
    from endoxa.engines import Material
    from endoxa.engines.searching import Outside
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.images import LabelMap
    from endoxa.images.corpus import Corpus, Progress
    from endoxa.reports.pages.annotations import Annotations
    from endoxa.reports.pages.word_studies import WordStudy
    from endoxa.words.annotating import Annotator

GRID = "grid"  # in every study of segmentations: what regions of no meaning give
KEPT, OVER = 12, 20  # regions that are described, of over-segmentations
BEST = ("base", "rgs", "context")  # the best of the sets on photographs, decorrelated
MODEST = ("base", "rgs", "texture")  # what the source compares segmentations with
SIDE = 480  # pixels of a picture on the page of annotations


def numbers(text: str) -> list[int]:
    """Numbers of regions as they are typed."""
    try:
        return [int(part) for part in listed(text)]
    except ValueError:
        raise CallError(f"--regions {text!r}: expected whole numbers, like 4,8,12") from None


Segmenter = Annotated[str, option("How pictures are cut into regions.", "--segmenter", "-s", metavar="NAME")]
Regions = Annotated[int, option("The largest regions that are used.", least=1)]
Resamples = Annotated[int, option("Number of random splits.", least=1)]
Share = Annotated[float, option("Share of the topics that is used; the others are novel. 1: all are used.")]
Train = Annotated[float, option("Share of the pictures of a topic that is learnt from.")]
Least = Annotated[int, option("Least pictures of a word. 0: one in a hundred, 2 to 20.", least=0)]
Components = Annotated[int, option("Components of the mixture. 0: one per hundred regions, 10 to 500.", least=0)]
Whiten = Annotated[bool, option("Decorrelate the features, or treat them as independent.", "--whiten/--plain")]
Topics = Annotated[int, option("Level of the categories. 0: the top with 4 or more.", metavar="LEVEL", least=0)]
Sample = Annotated[int | None, option("Study only so many pictures, drawn at random.", least=2)]
Segmentations = Annotated[
    Mapping[str, PathLike] | None,
    option(
        "A segmentation of your own: a folder of label maps (grey PNGs named like the pictures).", "--segmentation",
        metavar="NAME=DIR", many=True, parse=named_paths("--segmentation", "NAME=DIR, like mine=labels"),
    ),
]  # fmt: skip
Groups = Annotated[
    Sequence[str],
    option("Groups of features: base, rgb, lab, rgs, texture, shape …", "--features", metavar="GROUPS", parse=listed),
]
To = Annotated[PathLike | None, option("Write a page with figures.", metavar="PAGE.html")]


def predict(
    place: Place,
    segmenters: Annotated[
        Sequence[str] | None,
        option("A segmenter, or masks. Default: felzenszwalb.", "--segmenter", "-s", metavar="NAME"),
    ] = None,
    *, regions: Regions = 8, groups: Groups = BEST, segmentations: Segmentations = None, vectors: Vectors = None,
    resamples: Resamples = 10, share: Share = 0.5, train: Train = 0.75, topics: Topics = 0, least: Least = 0,
    components: Components = 0, whiten: Whiten = True, sample: Sample = None, without: Without = None,
    visual: Annotated[
        float | None, option("Learn only words that are as visual (V) on the training pictures; try 0.3.", metavar="V")
    ] = None,
    home: Home = None, workers: Workers = None, to: To = None, seed: Seed = 0, title: str = "", command: str = "",
    progress: Progress | None = None,
) -> WordStudy:  # fmt: skip
    """Predict the words of pictures from their regions, and say how much that gains over the most frequent words.

    Words are predicted on training pictures, held-out ones, and novel topics.

    segmenters     felzenszwalb unless given; `masks` are the true regions of the corpus. The grid always takes part,
                   with as many cells as there are regions
    groups         groups of region features (`endoxa.images.features.GROUPS`)
    segmentations  further ones by name, each a folder of label maps; vectors: a file of vectors by name, one per
                   picture, of which 32 principal components are learnt from
    resamples      random splits: `share` of the topics are used, `train` of their pictures are learnt from
    least          a word is learnt if it is on this many training pictures
    visual         keep the words with this V on the training pictures of each resample (`endoxa words visual`), and
                   compare every contender with itself, learnt from all words and scored on the same ones
    What was computed is kept in `home`, so that a study goes on.

    Examples:
        endoxa words predict emoji --share 1 --to words.html
        endoxa words predict photos -s ncuts --vectors clip=clip.npz
        endoxa words predict photos --visual 0.3
    """
    from endoxa.images.features import cells_near
    from endoxa.verbs.contending import contender, studied
    from endoxa.words.annotating import Learning

    named = list(dict.fromkeys([*(segmenters or ["felzenszwalb"]), *(segmentations or {}), *(vectors or {}), GRID]))
    learning = Learning(components=components, least=least, whiten=whiten)
    cells = cells_near(regions)
    contenders = [
        contender(name, name, groups, cells if name == GRID else regions, learning, vectors) for name in named
    ]
    references = {name: GRID for name in named if name != GRID}
    if visual is not None:
        _refuse_visual(visual)
        pruned = [replace(one, name=f"{one.name}, pruned", pruned=True) for one in contenders]
        references |= {f"{name}, pruned": name for name in named}
        contenders += pruned
    remarks = [] if cells == regions else [f"The grid has {cells} cells, the nearest number to {regions} regions."]
    return studied(
        "predict", place, contenders, references, segmentations, vectors, visual=visual, remarks=remarks,
        resamples=resamples, share=share, train=train, topics=topics, sample=sample, without=without,
        home=home, title=title, command=command, to=to, seed=seed, workers=workers, progress=progress,
    )  # fmt: skip


def segmenters(
    place: Place,
    names: Annotated[
        Sequence[str] | None, option("A segmenter, or masks. Default: all ten.", "--segmenter", "-s", metavar="NAME")
    ] = None,
    *,
    regions: Annotated[
        Sequence[int],
        option("Numbers of regions; over-segmentations also have 20.", metavar="N,N…", parse=numbers),
    ] = (2, 4, 6, 8, 10, 12),
    merge: Annotated[
        float | None,
        option("Also merge neighbours whose words agree by so much, beside random ones; try 0.95.", metavar="SHARE"),
    ] = None,
    groups: Groups = MODEST, segmentations: Segmentations = None, resamples: Resamples = 10, share: Share = 0.5,
    train: Train = 0.75, topics: Topics = 0, least: Least = 0, components: Components = 0, whiten: Whiten = True,
    sample: Sample = None, without: Without = None, home: Home = None, workers: Workers = None, to: To = None,
    seed: Seed = 0, title: str = "", command: str = "", progress: Progress | None = None,
) -> WordStudy:  # fmt: skip
    """Compare segmentations by the words that their regions predict. The grid always takes part.

    The result is by the number of the largest regions (Barnard et al., Figure 2).

    names    segmenters; all ten unless given, and the grid always
    regions  the numbers of regions; over-segmentations are tried with 20 as well
    merge    also tries every segmentation with neighbouring regions merged while their word posteriors agree by so much
             (Bhattacharyya coefficient, 0 to 1), and with as many merges at random
    Each is compared with the grid of as many cells, or of the nearest number. For the other settings see `predict`.

    Examples:
        endoxa words segmenters photos -s ncuts -s blobworld --regions 4,8,12 --to segmenters.html
        endoxa words segmenters photos --segmentation mine=labels
    """
    from endoxa.images.features import cells_near
    from endoxa.images.segment import available
    from endoxa.verbs.contending import OVERSEGMENTED, contender, studied
    from endoxa.words.annotating import Learning

    if not regions or min(regions) < 1:
        raise TextError("the numbers of regions are 1 or more", remedy="give some, like 4,8,12")
    learning = Learning(components=components, least=least, whiten=whiten)
    if merge is not None:
        _refuse_merge(merge, max(regions))
    contenders, references, cells = [], {}, set(map(cells_near, regions))
    for name in dict.fromkeys([*(names or available()), *(segmentations or {})]):
        if name == GRID:
            continue
        over = [OVER] if name in OVERSEGMENTED and max(regions) >= KEPT else []
        for count in sorted({*regions, *over}):
            one = contender(f"{name}, {count}", name, groups, count, learning)
            cells.add(cells_near(count))
            references[one.name] = f"{GRID}, {cells_near(count)}"
            contenders.append(one)
            if merge is not None:
                merged = replace(one, name=f"{one.name}, merged", merge=merge)
                contenders += [merged, replace(merged, name=f"{one.name}, merged at random", shuffled=True)]
                references |= {arm.name: one.name for arm in contenders[-2:]}
    contenders += [contender(f"{GRID}, {count}", GRID, groups, count, learning) for count in sorted(cells)]
    return studied(
        "segmenters", place, contenders, references, segmentations, resamples=resamples,
        share=share, train=train, topics=topics, sample=sample, without=without, home=home, title=title,
        command=command, to=to, seed=seed, workers=workers, progress=progress,
    )  # fmt: skip


def _refuse_visual(visual: float) -> None:
    if not -1 <= visual < 1:
        raise TextError(f"V is {visual:g}", remedy="expected a number from -1 to 1; 0 is chance, 0.3 suits captions")


def _refuse_merge(merge: float, regions: int) -> None:
    from endoxa.words.merging import MOST

    if not 0 < merge <= 1:
        raise TextError(f"merge is {merge:g}", remedy="expected a share above 0, 1 at most, like 0.95")
    if regions > MOST:
        raise TextError(f"{regions} regions cannot be merged", remedy=f"expected {MOST} or fewer")


def features(
    place: Place,
    sets: Annotated[
        Sequence[str] | None,
        option("A set: base,lab; may be repeated. Default: Barnard's eleven.", "--set", metavar="GROUPS"),
    ] = None,
    *, segmenter: Segmenter = "felzenszwalb", regions: Regions = 8, segmentations: Segmentations = None,
    resamples: Resamples = 10, share: Share = 0.5, train: Train = 0.75, topics: Topics = 0, least: Least = 0,
    components: Components = 0, whiten: Whiten = False, sample: Sample = None, without: Without = None,
    home: Home = None, workers: Workers = None, to: To = None, seed: Seed = 0, title: str = "", command: str = "",
    progress: Progress | None = None,
) -> WordStudy:  # fmt: skip
    """Compare features of regions by the words that they predict, beside the table of Barnard et al.

    sets    groups joined by commas: `base,rgs`; the first is what the others are compared with; the eleven sets of
            Barnard et al., Table 6, unless given
    whiten  False treats features as independent, as the source does
    For the other settings see `predict`.

    Examples:
        endoxa words features photos --to features.html
        endoxa words features photos --set base,rgs --set base,lab --whiten
    """
    from endoxa.verbs.contending import contender, studied
    from endoxa.words.annotating import Learning
    from endoxa.words.feature_sets import TABLE_6, feature_set

    chosen = list(dict.fromkeys(map(feature_set, sets))) if sets else list(TABLE_6)
    learning = Learning(components=components, least=least, whiten=whiten)
    contenders = [contender(one.name, segmenter, one.groups, regions, learning) for one in chosen]
    return studied(
        "features", place, contenders, {one.name: chosen[0].name for one in chosen[1:]}, segmentations,
        resamples=resamples, share=share, train=train, topics=topics, sample=sample, without=without, home=home,
        title=title, command=command, to=to, seed=seed, workers=workers, progress=progress,
    )  # fmt: skip


def annotate(
    place: Place,
    pictures: Annotated[Sequence[PathLike], argument("Files, or pictures of the corpus.", "PICTURE…")],
    *,
    count: Annotated[int, option("Words of each picture.", "--words", "-n", least=1)] = 5,
    segmenter: Segmenter = "felzenszwalb", regions: Regions = 8, groups: Groups = BEST, least: Least = 0,
    components: Components = 0, whiten: Whiten = True, without: Without = None, home: Home = None,
    workers: Workers = None,
    to: Annotated[PathLike | None, option("Write a page of the pictures.", metavar="PAGE.html")] = None,
    seed: Seed = 0, title: str = "", command: str = "", progress: Progress | None = None,
) -> Annotations:  # fmt: skip
    """Annotate pictures with words that were learnt from a corpus, and say which region each word belongs to.

    The result holds the `count` most probable words of each picture, and one for each region.

    pictures  files, or items of the corpus, which are then not learnt from
    For the other settings see `predict`.

    Examples:
        endoxa words annotate photos new.jpg --to new.html
    """
    from endoxa.engines import Material
    from endoxa.images.features import describe_regions
    from endoxa.images.marking import marks_of
    from endoxa.images.segment import largest
    from endoxa.io.decoding import data_address
    from endoxa.io.descriptions import describe
    from endoxa.io.write import write_page
    from endoxa.reports.pages.annotations import REGIONS, WORDS, Annotations, Shown, page
    from endoxa.verbs.contending import contender, few_pictures, opened, segmenter_of
    from endoxa.words.annotating import Learning, learn, select

    if count < 1:
        raise TextError(f"{count} words", remedy="expected 1 or more")
    if not pictures:
        raise TextError("name a picture to annotate: a file, or an item of the corpus")
    corpus, folder, notes = opened(place, without, None, seed, home, progress)
    asked = [_asked(corpus, str(typed)) for typed in pictures]
    learning = Learning(components=components, least=least, whiten=whiten)
    chosen = contender(segmenter, segmenter, groups, regions, learning)
    descriptor = segmenter_of(segmenter, regions)
    described = describe(corpus, [descriptor], folder, workers=workers, progress=progress, columns=set(groups))[0]
    apart = {one.name for one in asked}
    learnt = described.material.only(set(described.material.items) - apart)
    annotator = learn(select(learnt, chosen.groups, regions), learning, seed=(seed, 1, 0))
    shown, words, rows = [], [], []
    for one in asked:
        picture, labels = descriptor.regions(one.picture())
        labels = largest(labels, regions)
        columns = describe_regions(picture, labels, chosen.groups)
        counts = np.array([len(next(iter(columns.values())))])
        material = select(Material((one.name,), (one.words,), columns, counts), chosen.groups)
        words += _most_probable(one, annotator, material, count)
        rows += _of_regions(one, annotator, material, labels)
        address = data_address(picture, SIDE)
        shown.append(Shown(one.name, address, picture.shape[::-1], marks_of(labels), one.words))
    inside = len(apart & set(corpus.items))
    apart_note = f"{inside} of the pictures are in the corpus; they were not learnt from."
    result = Annotations(
        title or f"Words for {'a picture' if len(asked) == 1 else f'{len(asked)} pictures'}",
        pl.DataFrame(words, schema=WORDS, orient="row"),
        pl.DataFrame(rows, schema=REGIONS, orient="row"),
        shown,
        [f"{annotator.pictures:,} pictures learnt from", f"{len(annotator.vocabulary):,} words"],
        few_pictures(annotator.pictures),
        [*notes, *([apart_note] if inside else [])],
        provenance_of(corpus, command, seed),
    )
    if to is not None:
        write_page(page(result), Path(to))
    return result


def _asked(corpus: Corpus, typed: str) -> Outside:
    """The picture that was meant: a file, or an item of the corpus."""
    from endoxa.engines.searching import Outside
    from endoxa.io.decoding import decode
    from endoxa.io.opening import find_query

    found = find_query(corpus, typed)
    if found is None:
        raise FileError(typed, "is neither a file nor a picture of the corpus", "check the name")
    if isinstance(found, Outside):
        return found
    row = corpus.frame.row(corpus.rows[found], named=True)
    return Outside(found, typed, partial(decode, Path(corpus.root) / row["path"]), tuple(row["words"]))


def _most_probable(one: Outside, annotator: Annotator, material: Material, count: int) -> list[tuple[Any, ...]]:
    from endoxa.words.scoring import DIGITS

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
    from endoxa.words.scoring import DIGITS

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
    from endoxa.evaluations import dispatch
    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.measures.grammar import parse
    from endoxa.notes import text
    from endoxa.verbs.inputs import settings_of
    from endoxa.words.lifts import MEASURE

    scores = study.lifts.scores
    settings = settings_of({"baseline": baseline, "confidence": confidence, "seed": seed})
    return Evaluation(
        "judgments", scores, dispatch.summarise(scores, settings), settings, title=study.title, baseline=baseline,
        compared=partial(dispatch.compare, scores, settings),
        warnings=tuple(text(one, "warning") for one in study.warnings), notes=tuple(map(text, study.notes)),
        provenance=study.provenance, wanted=(parse(MEASURE),),
    )  # fmt: skip
