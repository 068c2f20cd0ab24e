"""endoxa images search: look for pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from endoxa.cli import output
from endoxa.cli.derived import command_line, derived
from endoxa.declared import argument, option
from endoxa.verbs.parameters import Home, Place, Without

if TYPE_CHECKING:
    from endoxa.engines.searching import Found


# By hand: the searcher that is opened for the query also gives the pictures of the page.
def find(
    corpus: Place,
    query: Annotated[str, argument("What to look for.", "ITEM|FILE|WORDS")],
    engine: Annotated[str | None, option("The system that answers.", "--engine", "-e", metavar="NAME")] = None,
    count: Annotated[int, option("Number of results.", "--count", "-n", least=1)] = 10,
    ratings: Annotated[
        str | None, option("People's ratings of other queries: separates good matches from the rest.", metavar="FILE")
    ] = None,
    good: Annotated[float | None, option("Predicted rating of a good match. Default: 3.5 on a scale 1–5.")] = None,
    to: Annotated[str | None, option("Write a page with the pictures.", metavar="PAGE.html")] = None,
    without: Without = None,
    home: Home = None,
) -> None:
    """Look for pictures that resemble an item or a file, or that match words.

    Words are those of captions (beach.txt beside beach.jpg), of a manifest, and of the names of files and folders.
    They need no index.

    A path (holiday/beach, cat.jpg) is a picture. A word that also names a picture (cat, where there is cat.jpg) is
    that picture if a system that looks at pictures is indexed, and a word otherwise; a line says so. With -e keywords
    it is always a word.

    Examples:
        endoxa images search photos holiday/beach
        endoxa images search photos ~/new.jpg -e integrated-regions --to found.html
        endoxa images search photos "red flower"
        endoxa images search photos holiday/beach --ratings ratings.csv --good 4
    """
    import polars as pl

    from endoxa.verbs.find import find as verb
    from endoxa.verbs.find import open_searcher

    with output.stages(1) as progress:
        searcher = open_searcher(corpus, home=home, without=without, progress=progress)
    found = verb(searcher, query, engine, count=count, ratings=ratings, good=good)
    words = pl.col("matched").list.set_union("words").list.join(", ")  # a match may be by the name of the file
    table = found.frame.select("rank", pl.col("path").alias("picture"), "score", words.alias("words"), "category")
    pictures = f"{found.total:,} picture{'' if found.total == 1 else 's'}"
    first = f"{table['picture'][0]} comes first of {pictures}" if table.height else "Nothing was found"
    output.say(f"{first} for {query!r}, by {found.system}.{_judged(found)}")
    if found.matches is None:
        output.show_frame(table)
    else:
        rating = [f"{value:.1f} of {found.matches.highest:g}" for value in found.frame["rating"]]
        table = table.insert_column(2, pl.Series("rating", rating, dtype=pl.String))
        for heading, part in (("Good matches:", table[: found.good]), ("The rest:", table[found.good :])):
            if part.height:
                output.tell(*([heading] if found.good else []))
                output.show_frame(part)
        output.tell(*map(str, found.matches.notes()))
    for note in found.notes:
        output.note(f"! {note}")
    if to is not None:
        from endoxa.verbs.gallery import gallery

        with output.stages(1) as progress:
            gallery(
                searcher.corpus, found.run, depth=count, title=f"{query}: found by {found.system}",
                command=command_line(), to=to, progress=progress,
            )  # fmt: skip
        output.tell_page(to)


def _judged(found: Found) -> str:
    """How many good matches there are, where ratings say it."""
    if found.matches is None or not found.frame.height:
        return ""
    if not found.good:
        return " No good match; these are the nearest."
    what = "is a good match" if found.good == 1 else "are good matches"
    return f" {found.good} of the {found.frame.height} shown {what}."


COMMANDS = (derived("search", find, needs=("images",)),)
