"""endoxa words visual: which words are visual, beside chance and beside ratings by people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output

if TYPE_CHECKING:
    from endoxa.words.visualness import Visualness

FORMS = ("table", "csv", "tsv", "jsonl", "latex", "markdown")
ROWS = 40  # words that are printed


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.words.command("visual")(visual)


def visual(
    corpus: g.Where,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD…]", help="Words to measure. Default: all on enough pictures.")
    ] = None,
    norms: Annotated[
        str | None,
        typer.Option("--norms", metavar="FILE", help="Ratings by people (word, rating): correlate with every method."),
    ] = None,
    topics: Annotated[
        int, typer.Option("--topics", metavar="LEVEL", help="Level of the categories. 0: the top with 4 topics.", min=0)
    ] = 0,
    null: Annotated[
        str, typer.Option("--null", metavar="topics|pictures", help="Compare with random topics or random pictures.")
    ] = "topics",
    least: Annotated[int, typer.Option("--least", help="Leave out words on fewer pictures.", min=2)] = 20,
    most: Annotated[float, typer.Option("--most", help="Leave out words on a larger share of the pictures.")] = 0.5,
    components: Annotated[
        int, typer.Option("--components", help="Components of each mixture. 0: by the number of regions.", min=0)
    ] = 0,
    draws: Annotated[int, typer.Option("--draws", help="Random words for each word.", min=19)] = 199,
    iterated: Annotated[
        bool, typer.Option("--iterated", help="Also the source's entropy, by iterated selection of regions (slow).")
    ] = False,
    segmenter: Annotated[
        str, typer.Option("--segmenter", "-s", metavar="NAME", help="How pictures are cut into regions.")
    ] = "felzenszwalb",
    regions: Annotated[int, typer.Option("--regions", help="Regions of a picture, the largest.", min=1)] = 8,
    vectors: Annotated[
        str | None, typer.Option("--vectors", metavar="FILE", help="Vectors of pictures for Hessel's concreteness.")
    ] = None,
    without: g.Without = None,
    home: g.Home = None,
    workers: g.Workers = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="PAGE.html", help="Write a page with regions.")] = None,
    form: Annotated[str, o.form_option(*FORMS)] = "table",
    seed: o.Seed = 0,
) -> None:  # fmt: skip
    """Say which words are visual: whether the regions of their pictures are more alike than chance allows.

    [bold]Examples[/bold]

      endoxa words visual photos --to visual.html

      endoxa words visual photos red sky idea --norms concreteness.csv
    """
    g.announce_home(corpus, home)
    output.need_form(form, None, FORMS)
    from endoxa.verbs.visual import visual as verb

    with output.stages(6 if iterated else 4) as progress:
        found = verb(
            corpus, words or None, norms=norms, topics=topics, null=null, least=least, most=most,  # type: ignore[arg-type]
            components=components, draws=draws, iterated=iterated, segmenter=segmenter, regions=regions,
            vectors=vectors, home=home, without=without or None, command=o.command_line(), to=to, seed=seed,
            workers=workers, progress=progress,
        )  # fmt: skip
    if form == "table":
        print_visual(found)
    else:
        output.table(found.frame, form, None, found.notes)
    if to is not None:
        output.note(f"wrote {to}")
        if form == "table":
            output.tell(f"The page: {to.resolve().as_uri()}")


def print_visual(found: Visualness) -> None:
    """Print the answer, the table, and what correlates with ratings."""
    import polars as pl

    from endoxa.reports.pages.visual_words import CAVEAT, answer, heads, lines, norm_lines

    output.say(answer(found))
    output.tell("")
    rows = [[f"{cell.text} {cell.small}".strip() for cell in line] for line in lines(found)]
    table = pl.DataFrame(rows, schema=heads(found), orient="row")
    used = [name for name in table.columns if name == "word" or set(table[name]) != {"–"}]
    output.head(table.select(used), "-o csv", ROWS)
    if found.correlations is not None:
        output.tell("", f"Spearman's rho with the ratings, {found.correlations['words'][0]:,} words")
        output.tell(*(f"  {line}" for line in norm_lines(found)))
    output.tell("", *(f"! {note}" for note in (*found.notes, CAVEAT)))
