"""endoxa words: predict words from regions, compare segmentations and features by them, annotate pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import command_line, derived
from endoxa.declared import argument, option
from endoxa.errors import CallError
from endoxa.verbs.parameters import Seed

if TYPE_CHECKING:
    from endoxa.reports.pages.annotations import Annotations
    from endoxa.reports.pages.word_studies import WordStudy

FORMS = ("table", "csv", "tsv", "jsonl", "latex", "markdown")
Resamples = Annotated[int, option("Number of random splits.", "--resamples", least=1)]
Share = Annotated[float, option("Share of the topics that is used; the others are novel. 1: all are used.", "--share")]
Train = Annotated[float, option("Share of the pictures of a topic that is learnt from.", "--train")]
Least = Annotated[int, option("Least pictures of a word. 0: one in a hundred, 2 to 20.", "--least", least=0)]
Components = Annotated[
    int, option("Components of the mixture. 0: one per hundred regions, 10 to 500.", "--components", least=0)
]
Whiten = Annotated[bool, option("Decorrelate the features, or treat them as independent.", "--whiten/--plain")]
Topics = Annotated[
    int, option("Level of the categories. 0: the top with 4 or more.", "--topics", metavar="LEVEL", least=0)
]
Sample = Annotated[int | None, option("Study only so many pictures, drawn at random.", "--sample", least=2)]
Segmentations = Annotated[
    list[str] | None,
    option(
        "A segmentation of your own: a folder of label maps (grey PNGs named like the pictures).", "--segmentation",
        metavar="NAME=DIR",
    ),
]  # fmt: skip
Features = Annotated[
    str, option("Groups of features: base, rgb, lab, rgs, texture, shape …", "--features", metavar="GROUPS")
]
To = Annotated[Path | None, option("Write a page with figures.", "--to", metavar="PAGE.html")]


def predict(
    corpus: g.Where,
    segmenter: Annotated[
        list[str] | None,
        option("A segmenter, or masks. Default: felzenszwalb.", "--segmenter", "-s", metavar="NAME"),
    ] = None,
    regions: Annotated[int, option("The largest regions that are used.", least=1)] = 8,
    groups: Features = "base,rgs,context",
    segmentation: Segmentations = None, vectors: g.Vectors = None, resamples: Resamples = 10, share: Share = 0.5,
    train: Train = 0.75, topics: Topics = 0, least: Least = 0, components: Components = 0, whiten: Whiten = True,
    sample: Sample = None, without: g.Without = None, home: g.Home = None, workers: g.Workers = None, to: To = None,
    form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table", seed: Seed = 0,
) -> None:  # fmt: skip
    """Predict the words of pictures from their regions, and say how much that gains over the most frequent words.

    Examples:
        endoxa words predict emoji --share 1 --to words.html
        endoxa words predict photos -s ncuts --vectors clip=clip.npz
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.words import predict as verb

    with output.stages(3) as progress:
        found = verb(
            corpus, segmenter or None, regions=regions, groups=_list(groups), segmentations=_folders(segmentation),
            vectors=g.vectors_of(vectors), resamples=resamples, share=share, train=train, topics=topics, least=least,
            components=components, whiten=whiten, sample=sample, without=without or None, home=home,
            command=command_line(), to=to, seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    print_study(found, form, to)


def segmenters(
    corpus: g.Where,
    segmenter: Annotated[
        list[str] | None,
        option("A segmenter, or masks. Default: all ten.", "--segmenter", "-s", metavar="NAME"),
    ] = None,
    regions: Annotated[
        str, option("Numbers of regions; over-segmentations also have 20.", metavar="N,N…")
    ] = "2,4,6,8,10,12",
    groups: Features = "base,rgs,texture",
    segmentation: Segmentations = None, resamples: Resamples = 10, share: Share = 0.5, train: Train = 0.75,
    topics: Topics = 0, least: Least = 0, components: Components = 0, whiten: Whiten = True, sample: Sample = None,
    without: g.Without = None, home: g.Home = None, workers: g.Workers = None, to: To = None,
    form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table", seed: Seed = 0,
) -> None:  # fmt: skip
    """Compare segmentations by the words that their regions predict. The grid always takes part.

    The study of all ten takes long; what was done is kept, so that it goes on where it was stopped.

    Examples:
        endoxa words segmenters photos -s ncuts -s blobworld --regions 4,8,12 --to segmenters.html
        endoxa words segmenters photos --segmentation mine=labels
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.words import segmenters as verb

    with output.stages(3) as progress:
        found = verb(
            corpus, segmenter or None, regions=_numbers(regions), groups=_list(groups),
            segmentations=_folders(segmentation), resamples=resamples, share=share, train=train, topics=topics,
            least=least, components=components, whiten=whiten, sample=sample, without=without or None, home=home,
            command=command_line(), to=to, seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    print_study(found, form, to)


def features(
    corpus: g.Where,
    sets: Annotated[
        list[str] | None,
        option("A set: base,lab; may be repeated. Default: Barnard's eleven.", "--set", metavar="GROUPS"),
    ] = None,
    segmenter: Annotated[
        str, option("How pictures are cut into regions.", "--segmenter", "-s", metavar="NAME")
    ] = "felzenszwalb",
    regions: Annotated[int, option("The largest regions that are used.", least=1)] = 8,
    segmentation: Segmentations = None, resamples: Resamples = 10, share: Share = 0.5, train: Train = 0.75,
    topics: Topics = 0, least: Least = 0, components: Components = 0, whiten: Whiten = False, sample: Sample = None,
    without: g.Without = None, home: g.Home = None, workers: g.Workers = None, to: To = None,
    form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table", seed: Seed = 0,
) -> None:  # fmt: skip
    """Compare features of regions by the words that they predict, beside the table of Barnard et al.

    Examples:
        endoxa words features photos --to features.html
        endoxa words features photos --set base,rgs --set base,lab --whiten
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.words import features as verb

    with output.stages(3) as progress:
        found = verb(
            corpus, sets or None, segmenter=segmenter, regions=regions, segmentations=_folders(segmentation),
            resamples=resamples, share=share, train=train, topics=topics, least=least, components=components,
            whiten=whiten, sample=sample, without=without or None, home=home, command=command_line(), to=to,
            seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    print_study(found, form, to)


def annotate(
    corpus: g.Where,
    pictures: Annotated[list[str], argument("Files, or pictures of the corpus.", "PICTURE…")],
    count: Annotated[int, option("Words of each picture.", "--words", "-n", least=1)] = 5,
    segmenter: Annotated[
        str, option("How pictures are cut into regions.", "--segmenter", "-s", metavar="NAME")
    ] = "felzenszwalb",
    regions: Annotated[int, option("The largest regions that are used.", least=1)] = 8,
    groups: Features = "base,rgs,context",
    least: Least = 0, components: Components = 0, whiten: Whiten = True, without: g.Without = None,
    home: g.Home = None, workers: g.Workers = None,
    to: Annotated[Path | None, option("Write a page of the pictures.", metavar="PAGE.html")] = None,
    form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table", seed: Seed = 0,
) -> None:  # fmt: skip
    """Annotate pictures with words that were learnt from a corpus, and say which region each word belongs to.

    Examples:
        endoxa words annotate photos new.jpg --to new.html
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.words import annotate as verb

    with output.stages(2) as progress:
        found = verb(
            corpus, pictures, count=count, segmenter=segmenter, regions=regions, groups=_list(groups), least=least,
            components=components, whiten=whiten, without=without or None, home=home, command=command_line(), to=to,
            seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    print_annotations(found, form, to)


def print_study(study: WordStudy, form: str, to: Path | None) -> None:
    """Print the answer and a table of the contenders, or the summary in another form."""
    import polars as pl

    from endoxa.reports.pages.word_studies import answer, heads, lines

    if form != "table":
        output.table(study.lifts.summary, form, None, study.warnings)
        return
    output.say(answer(study))
    rows = [[f"{cell.text} {cell.small}".strip() for cell in line] for line in lines(study)]
    output.tell("")
    output.show_frame(pl.DataFrame(rows, schema=heads(study), orient="row"))
    output.tell(*(f"! {remark}" for remark in (*study.warnings, *study.notes)))
    if to is not None:
        output.tell(f"The page: {to.resolve().as_uri()}")


def print_annotations(found: Annotations, form: str, to: Path | None) -> None:
    """Print the words of each picture."""
    from endoxa.reports.pages.annotations import answer

    if form != "table":
        output.table(found.words, form, None, found.warnings)
        return
    output.say(answer(found))
    output.tell("")
    output.show_frame(found.words)
    output.tell(*(f"! {remark}" for remark in (*found.warnings, *found.notes)))
    if to is not None:
        output.tell(f"The page: {to.resolve().as_uri()}")


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in _list(text)]
    except ValueError:
        raise CallError(f"--regions {text!r}: expected whole numbers, like 4,8,12") from None


def _folders(options: list[str] | None) -> dict[str, str]:
    """`mine=labels` as {"mine": "labels"}."""
    folders = {}
    for text in options or []:
        name, equals, path = text.partition("=")
        if not (equals and name and path):
            raise CallError(f"--segmentation {text!r}: expected NAME=DIR, like mine=labels")
        folders[name] = path
    return folders


COMMANDS = (
    derived("predict", predict, needs=("images",)),
    derived("segmenters", segmenters, needs=("images",)),
    derived("features", features, needs=("images",)),
    derived("annotate", annotate, needs=("images",)),
)
