"""endoxa words visual: which words are visual, beside chance and beside ratings by people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import command_line, derived
from endoxa.declared import argument, option
from endoxa.verbs.parameters import Seed

if TYPE_CHECKING:
    from endoxa.words.visualness import Visualness

FORMS = ("table", "csv", "tsv", "jsonl", "latex", "markdown")
ROWS = 40  # words that are printed


def visual(
    corpus: g.Where,
    words: Annotated[
        list[str] | None, argument("Words to measure. Default: all on enough pictures.", "[WORD…]")
    ] = None,
    norms: Annotated[
        str | None,
        option("Ratings by people (word, rating): correlate with every method.", metavar="FILE"),
    ] = None,
    topics: Annotated[
        int, option("Level of the categories. 0: the top with 4 topics.", metavar="LEVEL", least=0)
    ] = 0,
    null: Annotated[
        str, option("Compare with random topics or random pictures.", metavar="topics|pictures")
    ] = "topics",
    least: Annotated[int, option("Leave out words on fewer pictures.", least=2)] = 20,
    most: Annotated[float, option("Leave out words on a larger share of the pictures.")] = 0.5,
    components: Annotated[
        int, option("Components of each mixture. 0: by the number of regions.", least=0)
    ] = 0,
    draws: Annotated[int, option("Random words for each word.", least=19)] = 199,
    iterated: Annotated[
        bool, option("Also the source's entropy, by iterated selection of regions (slow).")
    ] = False,
    segmenter: Annotated[
        str, option("How pictures are cut into regions.", "--segmenter", "-s", metavar="NAME")
    ] = "felzenszwalb",
    regions: Annotated[int, option("Regions of a picture, the largest.", least=1)] = 8,
    vectors: Annotated[
        str | None, option("Vectors of pictures for Hessel's concreteness.", metavar="FILE")
    ] = None,
    without: g.Without = None,
    home: g.Home = None,
    workers: g.Workers = None,
    to: Annotated[Path | None, option("Write a page with regions.", metavar="PAGE.html")] = None,
    form: Annotated[str, output.form_of(*FORMS, to_file=False)] = "table",
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Say which words are visual: whether the regions of their pictures are more alike than chance allows.

    Examples:
        endoxa words visual photos --to visual.html
        endoxa words visual photos red sky idea --norms concreteness.csv
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.visual import visual as verb

    with output.stages(6 if iterated else 4) as progress:
        found = verb(
            corpus, words or None, norms=norms, topics=topics, null=null, least=least, most=most,  # type: ignore[arg-type]
            components=components, draws=draws, iterated=iterated, segmenter=segmenter, regions=regions,
            vectors=vectors, home=home, without=without or None, command=command_line(), to=to, seed=seed,
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


COMMANDS = (derived("visual", visual, needs=("images",)),)
