"""endoxa demo: everything from pictures or runs to a page, on data that is fetched or generated."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from endoxa.cli import output
from endoxa.cli.derived import derived, one_of
from endoxa.declared import argument, option
from endoxa.extras import need
from endoxa.verbs.parameters import Seed

WHAT = ("pictures", "documents", "study", "search", "pages")


# By hand: each kind of demo is a verb of its own, and `search` serves a page until it is stopped.
def demo(
    what: Annotated[
        str,
        argument(
            "pictures: nine systems over photographs. documents: six systems, three assessors. study: pictures to "
            "ask people about. search: find photographs by marking them. pages: three binarisers over letters.",
            "|".join(WHAT),
        ),
    ] = "pictures",
    to: Annotated[Path, option("Folder of the files that are written.", metavar="DIR")] = Path("demo"),
    seed: Seed = 1,
) -> None:
    """Run systems over pictures, judge them without ground truth, and write one page.

    The pictures are 323 photographs from Debian's packages (160 MB, kept in the cache). If they cannot be fetched
    within 90 seconds, scenes are drawn instead, and the page says so.

    Examples:
        endoxa demo --to demo
        endoxa demo documents --to demo
    """
    one_of("the demo", what, WHAT)
    program = sys.argv[0] if Path(sys.argv[0]).name == "endoxa" else "endoxa"
    demos = {"pictures": _pictures, "documents": _documents, "study": _study, "search": _search, "pages": _pages}
    demos[what](to, program, seed)


def _pictures(to: Path, program: str, seed: int) -> None:
    """A contest over photographs, or over drawn scenes if the photographs cannot be fetched."""
    need("images")
    from endoxa.cli.contest import print_contest
    from endoxa.verbs.demo import demo_pictures

    with output.stages(8) as progress:
        found = demo_pictures(to, seed=seed, program=program, progress=progress, report=output.note)
    print_contest(found.contest, found.page)
    search = shlex.join([program, "images", "search", found.corpus, found.item, "--to", str(to / "found.html")])
    output.tell(f"The same by hand: {found.command}", f"Search it yourself: {search}")


def _documents(to: Path, program: str, seed: int) -> None:
    """Six systems and three assessors, with and without the judgments; two pages."""
    from endoxa.reports import terminal
    from endoxa.verbs.demo import FIRST, demo_documents

    found = demo_documents(to, seed=seed, program=program)
    output.evaluation(found.judged, "table", None)
    output.tell("", f"The page: {found.pages[0].resolve().as_uri()}", f"The same by hand: {found.commands[0]}")
    heading = f"[bold]Without the judgments: {FIRST} within the consensus of the systems[/bold]"
    output.show(
        [
            f"\n{heading} (act on the order above)",
            terminal.frame_table(terminal.ranking(found.consensus, FIRST), width=output.width()),
        ]
    )
    output.tell("", f"Kendall's tau of this order to the judged one: {found.tau:.2f}")
    output.tell(f"The page: {found.pages[1].resolve().as_uri()}", f"The same by hand: {found.commands[1]}")


def _study(to: Path, program: str, seed: int) -> None:
    """What a study is made of, and how to start it."""
    from endoxa.verbs.demo import demo_study

    path = demo_study(to, seed=seed)
    home = to / "studies"
    output.say(f"{path} is a study of pictures, to try in the browser (make serve does all of this).")
    output.tell(
        f"  {program} study new {path} --home {home}",
        f"  {program} study invite shapes ana ben --home {home}",
        f"  {program} study serve --home {home}",
    )


def _search(to: Path, program: str, seed: int) -> None:
    """The page of interactive search over the photographs, until it is stopped."""
    need("images", "studio")
    from endoxa.cli.search import announce
    from endoxa.verbs.demo import photographs
    from endoxa.verbs.search import serve

    home = to / "searches"
    with output.stages(3) as progress:
        where, corpus = photographs(to, seed=seed, progress=progress, report=output.note)
        serve(corpus, home=home, progress=progress, started=announce(where, home))


def _pages(to: Path, program: str, seed: int) -> None:
    """Three binarisers over twelve damaged letters, by consensus and by truth."""
    need("pages")
    from endoxa.cli.pages import print_study
    from endoxa.verbs.demo import demo_pages

    with output.stages(3) as progress:
        found = demo_pages(to, seed=seed, program=program, progress=progress)
    print_study(found.studied, found.page)
    output.tell("The same by hand:", *(f"  {command}" for command in found.commands))


COMMANDS = (derived("demo", demo),)
