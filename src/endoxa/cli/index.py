"""endoxa images index: describe pictures and build indexes."""

from __future__ import annotations

from typing import Annotated

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.verbs.parameters import Seed


def index(
    corpus: g.Where,
    engines: g.Engines = None,
    settings: g.Settings = None,
    vectors: g.Vectors = None,
    without: g.Without = None,
    train: Annotated[
        float | None, option("Learn models from this share of the pictures and index only the others (TEST).")
    ] = None,
    home: g.Home = None,
    workers: g.Workers = None,
    seed: Seed = 0,
) -> None:
    """Describe the pictures and build the indexes. Known results are reused, so an interrupted run continues.

    Examples:
        endoxa images index photos
        endoxa images index photos -e histograms -e rwmm --set rwmm.components=200
        endoxa images index photos --vectors clip=clip.npz
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.index import index as build

    with output.stages(3) as progress:
        indexed = build(
            corpus, engines or None, home=home, without=without or None, settings=g.settings_of(settings),
            vectors=g.vectors_of(vectors), train=train, seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    pictures, systems = len(indexed.items), len(indexed.systems)
    counts = "1 picture is" if pictures == 1 else f"{pictures:,} pictures are"
    counts += f" indexed by {systems} system{'' if systems == 1 else 's'}"
    output.say(f"{counts}, with {indexed.described:,} new descriptions, in {indexed.home}.")
    g.print_skipped(indexed.skipped)
    g.print_costs(indexed.costs.frame)
    for note in indexed.notes:
        output.note(f"! {note}")


COMMANDS = (derived("index", index, needs=("images",)),)
