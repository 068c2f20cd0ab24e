"""Say which words of a corpus are visual: whether pictures tell them, beyond what the other words tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import argument, option
from endoxa.errors import FileError, JoinError
from endoxa.later import np, pl
from endoxa.verbs.parameters import Home, PathLike, Place, Seed, Without, Workers, provenance_of

if TYPE_CHECKING:
    from endoxa.images import LabelMap, Picture
    from endoxa.images.corpus import Corpus, Progress
    from endoxa.images.features import Regions
    from endoxa.reports.pages.layout import Thumbnail
    from endoxa.reports.pages.visual_words import Shown
    from endoxa.words.visualness import NullOf, Visualness
else:
    NullOf = str  # its module is slow to load

LOOSER = {"E": -1.0, "selected_E": -1.0}  # methods whose lower values are more visual


def visual(
    place: Place,
    words: Annotated[
        Sequence[str] | None, argument("Words to measure. Default: all on enough pictures.", "[WORD…]")
    ] = None,
    *,
    norms: Annotated[
        PathLike | Mapping[str, float] | None,
        option("Ratings by people (word, rating): correlate with every method.", metavar="FILE"),
    ] = None,
    topics: Annotated[
        int, option("Level of the categories. 0: the top with 4 topics.", metavar="LEVEL", least=0)
    ] = 0,
    null: Annotated[
        NullOf, option("A word must hold across topics, or across pictures.", metavar="topics|pictures")
    ] = "topics",
    least: Annotated[int, option("Leave out words on fewer pictures.", least=2)] = 20,
    most: Annotated[float, option("Leave out words on a larger share of the pictures.")] = 0.5,
    components: Annotated[int, option("Components of each mixture. 0: by the number of regions.", least=0)] = 0,
    mixtures: int = 5,
    draws: Annotated[int, option("Shuffles of the pictures for each word.", least=19)] = 199,
    iterated: Annotated[
        bool, option("Also the source's entropy, by iterated selection of regions (slow).")
    ] = False,
    segmenter: Annotated[
        str, option("How pictures are cut into regions.", "--segmenter", "-s", metavar="NAME")
    ] = "felzenszwalb",
    regions: Annotated[int, option("Regions of a picture, the largest.", least=1)] = 8,
    vectors: Annotated[
        PathLike | None, option("Vectors of how pictures look. Default: the network's.", metavar="FILE")
    ] = None,
    without: Without = None,
    home: Home = None,
    workers: Workers = None,
    to: Annotated[PathLike | None, option("Write a page with regions.", metavar="PAGE.html")] = None,
    seed: Seed = 0,
    title: str = "",
    command: str = "",
    progress: Progress | None = None,
) -> Visualness:  # fmt: skip
    """Say which words are visual: whether pictures tell them, beyond what the other words tell.

    V is 0 by chance and at most 1; the result has the words by V, with what they are called and older measures.

    words     those to be measured; None: all on at least `least` pictures and on at most the share `most` of them
    norms     ratings of words by people (a file with word and rating, or a dict): the rank correlation of every method
    null      topics: a topic at a time is left out, so that a word must hold across topics; pictures: a picture
    vectors   how whole pictures look; None: the network's, if it is installed, else their colours and textures

    Examples:
        endoxa words visual photos --to visual.html
        endoxa words visual photos red sky idea --norms concreteness.csv
    """
    from endoxa.images.features import Regions
    from endoxa.io.descriptions import describe
    from endoxa.io.norm_files import read_norms
    from endoxa.io.opening import home_of, open_corpus
    from endoxa.io.picture_views import descriptors_of, views_of
    from endoxa.io.write import write_page
    from endoxa.reports.pages.visual_words import page
    from endoxa.words.topics import topics_of
    from endoxa.words.visualness import GROUPS, Looking, visualness, vocabulary

    looking = Looking(least, most, components, mixtures, null, draws, iterated)
    descriptor = Regions(segmenter=segmenter, count=regions, groups=",".join(GROUPS))
    ratings = None if norms is None else dict(norms) if isinstance(norms, Mapping) else read_norms(norms)
    corpus = open_corpus(place, without=without, progress=progress)
    vocabulary(corpus.words, words, looking)  # a word on no picture is refused before anything is described
    if ratings is not None:
        _refuse_foreign(ratings, corpus)
    vocabulary(corpus.words, words, looking)  # refuse words on no picture before any is described
    folder = home_of(corpus, home)
    described = describe(corpus, [descriptor, *descriptors_of(vectors)], folder, workers=workers, progress=progress)
    shared = set(corpus.items).intersection(*(one.material.items for one in described))
    material, skipped = described[0].material.only(shared), described[0].skipped
    if not len(material):
        first = f"; {skipped[0].name}: {skipped[0].why}" if skipped else ""
        raise JoinError(f"none of the {len(corpus):,} pictures could be described{first}")
    views, notes = views_of(corpus, described[1:], material.items, vectors, folder)
    notes += [f"{one.name} is left out: {one.why}" for one in skipped]
    categories = dict(corpus.frame.select("item", "category").iter_rows())
    found = visualness(
        material, views, topics_of([categories[item] for item in material.items], topics), words, looking=looking,
        seed=seed, progress=progress,
    )  # fmt: skip
    found = replace(found, notes=(*found.notes, *notes))
    if ratings is not None:
        found = with_norms(found, ratings, seed=seed)
    if to is not None:
        write_page(page(_shown(found, corpus, descriptor, title, command, seed, progress)), Path(to))
    return found


def with_norms(found: Visualness, ratings: Mapping[str, float], *, seed: int = 0) -> Visualness:
    """The same with the rating of each word, and the rank correlation of every method with the ratings."""
    from endoxa.reports.pages.visual_words import METHODS
    from endoxa.words.norm_ranks import correlations

    norm = pl.Series("norm", [ratings.get(word) for word in found.frame["word"]], dtype=pl.Float64)
    frame = found.frame.with_columns(norm.fill_null(float("nan")))
    values = {method: LOOSER.get(method, 1.0) * frame[method].to_numpy() for method in METHODS}
    known = {method: one for method, one in values.items() if not np.isnan(one).all()}
    try:
        table = correlations(known, frame["norm"].to_numpy(), rng=np.random.default_rng([seed, 6]))
    except JoinError as error:  # too few ratings: the rest stands without them
        return replace(found, frame=frame, notes=(*found.notes, str(error)))
    return replace(found, frame=frame, correlations=table)


def _refuse_foreign(ratings: Mapping[str, float], corpus: Corpus) -> None:
    """Refuse ratings of which no word is in the corpus, before anything is described."""
    words = {word for one in corpus.words for word in one}
    if words and words.isdisjoint(ratings):
        raise JoinError(
            f"none of the {len(words):,} words of the corpus (like {min(words)!r}) has a rating (there are some for "
            f"{next(iter(ratings), 'nothing')!r} …)",
            remedy="give ratings of the words of the corpus, in its language",
        )


def _shown(
    found: Visualness, corpus: Corpus, descriptor: Regions, title: str, command: str, seed: int,
    progress: Progress | None,
) -> Shown:  # fmt: skip
    """The content of the page, with the typical regions cut out of their pictures."""
    from endoxa.images.cutting import SIDE, cut_out
    from endoxa.io.decoding import data_address, decode
    from endoxa.io.opening import called
    from endoxa.reports.pages.layout import Thumbnail
    from endoxa.reports.pages.visual_words import Shown, ends_of

    paths = dict(corpus.frame.select("item", "path").iter_rows())
    captions = {
        item: caption or ", ".join(words) or item
        for item, caption, words in corpus.frame.select("item", "caption", "words").iter_rows()
    }

    @lru_cache(maxsize=256)
    def regions(item: str) -> tuple[Picture, LabelMap]:
        return descriptor.regions(decode(Path(corpus.root) / paths[item]))

    pictures: dict[str, list[Thumbnail]] = {}
    words = ends_of(found.frame)["word"].to_list()
    for at, word in enumerate(words):
        pictures[word] = []
        for one in found.typical[word]:
            with suppress(FileError):  # a picture that was changed since it was described
                picture, labels = regions(one.item)
                address = data_address(cut_out(picture, labels, one.region), SIDE)
                pictures[word].append(Thumbnail(address, captions[one.item], f"{one.chance:.2f}"))
        if progress is not None:
            progress("cutting out regions", at + 1, len(words))
    count = found.frame.height
    facts = [
        f"{found.pictures:,} pictures",
        f"{found.regions:,} regions",
        "1 word" if count == 1 else f"{count:,} words",
    ]
    return Shown(
        title or f"Which words are visual in {called(corpus)}", found, pictures,
        [*facts, f"{found.topics} topics"] if found.topics else facts,
        provenance=provenance_of(corpus, command, seed),
    )  # fmt: skip
