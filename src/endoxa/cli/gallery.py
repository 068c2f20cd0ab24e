"""endoxa images gallery: a page of what systems returned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output

QUERIES, DEPTH = 30, 8


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.images.command("gallery")(gallery)


def gallery(
    corpus: g.Where,
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs over the corpus, of any system.")],
    belief: Annotated[
        str | None, typer.Option("--belief", metavar="FILE", help="Judgments or a belief, shown below the pictures.")
    ] = None,
    queries: Annotated[int, typer.Option("--queries", help="Largest number of queries shown.", min=1)] = QUERIES,
    depth: Annotated[int, typer.Option("--depth", help="Number of results of each system.", min=1)] = DEPTH,
    to: Annotated[str, typer.Option("--to", metavar="PAGE.html", help="The page to write.")] = "gallery.html",
    title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "",
) -> None:
    """Write a page that shows each query and the first results of every system side by side.

    [bold]Examples[/bold]

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
            corpus, runs, belief=belief, queries=queries, depth=depth, title=title, command=o.command_line(), to=to,
            progress=progress,
        )  # fmt: skip
    if answers:
        output.say(f"{to} shows each query and the first {depth} results of every system.")
    output.tell(f"The page: {Path(to).resolve().as_uri()}")
