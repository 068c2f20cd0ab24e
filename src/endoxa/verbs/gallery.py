"""Show what systems returned: each query and the first results of every system, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.errors import FileError
from endoxa.later import pl
from endoxa.verbs.parameters import Page, Place, Title

if TYPE_CHECKING:
    from endoxa.images.corpus import Corpus, Progress
    from endoxa.reports.pages.gallery import Gallery, Probabilities
    from endoxa.tables import Run

QUERIES, DEPTH = 30, 8
SIDE = 128  # pixels of a thumbnail
NAMED = 3  # systems in the title


def gallery(
    place: Place,
    runs: Annotated[Any, argument("Runs over the corpus, of any system.", "RUN…", many=True)],
    *,
    belief: Annotated[Any, option("Judgments or a belief, shown below the pictures.", metavar="FILE")] = None,
    queries: Annotated[int, option("Largest number of queries shown.", least=1)] = QUERIES,
    depth: Annotated[int, option("Number of results of each system.", least=1)] = DEPTH,
    to: Page = None,
    title: Title = "",
    command: str = "",
    progress: Progress | None = None,
) -> str:
    """Write a page that shows each query and the first results of every system side by side.

    The queries are those on which systems agree least; the result is the page as HTML.

    Examples:
        endoxa images gallery photos runs/*.run --belief qrels.txt --to gallery.html
    """
    from endoxa import __version__
    from endoxa.io.opening import open_corpus
    from endoxa.io.write import replacing
    from endoxa.reports.pages.gallery import probabilities_of
    from endoxa.reports.pages.layout import render
    from endoxa.verbs.believe import believe
    from endoxa.verbs.inputs import run_of

    corpus = open_corpus(place, progress=progress)
    run = run_of(runs)
    source = belief if isinstance(belief, str | Path) else "the belief given"
    beliefs = {} if belief is None else {"relevant": (f"according to {source}", probabilities_of(believe(belief)))}
    strips = gallery_of(corpus, run, beliefs, queries=queries, depth=depth)
    named = ", ".join(run.systems[:NAMED]) + (" …" if len(run.systems) > NAMED else "")
    systems, asked = len(run.systems), run.frame["query"].n_unique()
    page = render(
        title=title or f"{named} over {len(corpus):,} pictures",
        sections=[],
        facts=[
            f"{len(corpus):,} pictures",
            "1 system" if systems == 1 else f"{systems} systems",
            "1 query" if asked == 1 else f"{asked:,} queries",
        ],
        provenance={"Endoxa": __version__, "Command": command},
        gallery=strips,
    )
    if to is not None:
        with replacing(Path(to)) as part:
            part.write_text(page, encoding="utf-8")
    return page


def gallery_of(
    corpus: Corpus,
    run: Run,
    beliefs: Mapping[str, tuple[str, Probabilities]],
    *,
    queries: int = QUERIES,
    depth: int = DEPTH,
) -> Gallery:
    """The gallery of a run, with thumbnails and captions from the corpus."""
    from endoxa.io.decoding import data_address
    from endoxa.reports.pages import gallery as galleries

    root = Path(corpus.root)
    captions, categories, paths = {}, {}, {}
    for item, path, caption, words, category in corpus.frame.select(
        "item", "path", "caption", "words", "category"
    ).iter_rows():
        captions[item] = caption or ", ".join(words) or item
        categories[item] = category or ""
        paths[item] = root / path
    needed = set(run.frame.filter(pl.col("rank") <= depth)["item"]) | set(run.frame["query"])
    addresses = {}
    for item in needed & set(paths):
        with suppress(FileError):  # a picture that does not decode is reported by `index`, and has no thumbnail
            addresses[item] = data_address(paths[item], SIDE)
    return galleries.gallery(
        run, pictures=addresses, captions=captions, categories=categories, beliefs=beliefs, queries=queries, depth=depth
    )
