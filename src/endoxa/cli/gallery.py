"""endoxa images gallery: a page of what systems returned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import command_line, derived
from endoxa.declared import argument, option

QUERIES, DEPTH = 30, 8


def gallery(
    corpus: g.Where,
    runs: Annotated[list[str], argument("Runs over the corpus, of any system.", "RUN…")],
    belief: Annotated[str | None, option("Judgments or a belief, shown below the pictures.", metavar="FILE")] = None,
    queries: Annotated[int, option("Largest number of queries shown.", least=1)] = QUERIES,
    depth: Annotated[int, option("Number of results of each system.", least=1)] = DEPTH,
    to: Annotated[str, option("The page to write.", metavar="PAGE.html")] = "gallery.html",
    title: Annotated[str, option("Heading of the page.")] = "",
) -> None:
    """Write a page that shows each query and the first results of every system side by side.

    Examples:
        endoxa images gallery photos runs/*.run --belief qrels.txt --to gallery.html
    """
    output.need_page(to)
    write_gallery(corpus, list(runs), to, title=title, belief=belief, queries=queries, depth=depth)


def write_gallery(
    corpus: Any,
    runs: Any,
    to: str,
    *,
    title: str,
    belief: str | None = None,
    queries: int = QUERIES,
    depth: int,
    answers: bool = True,
) -> None:
    """Write the page and print its address."""
    from endoxa.verbs.gallery import gallery as verb

    with output.stages(1) as progress:
        verb(
            corpus, runs, belief=belief, queries=queries, depth=depth, title=title, command=command_line(), to=to,
            progress=progress,
        )  # fmt: skip
    if answers:
        output.say(f"{to} shows each query and the first {depth} results of every system.")
    output.tell(f"The page: {Path(to).resolve().as_uri()}")


COMMANDS = (derived("gallery", gallery, needs=("images",)),)
