"""generality: precision at every recall as the same relevant items lie among more and more irrelevant ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import option
from endoxa.errors import CallError
from endoxa.verbs.parameters import Against, Lenient, PathLike, Runs, Seed, takes_either_order

if TYPE_CHECKING:
    from endoxa.evaluations.growing import Growing
    from endoxa.progress import Progress


@takes_either_order
def generality(
    run: Runs,
    reference: Against = None,
    *,
    levels: Annotated[
        Sequence[float] | None,
        option(
            "A common generality; may be repeated. Default: .5, .2, .1 … and that of the collection.", "--at",
            metavar="SHARE",
        ),
    ] = None,
    size: Annotated[
        int | None, option("Number of items in the collection. Default: those judged or retrieved.", "-N", least=2)
    ] = None,
    rel: Annotated[float, option("Least grade of a relevant item.")] = 1,
    draws: Annotated[int, option("Random choices of the irrelevant items that stay.", least=1)] = 20,
    lenient: Lenient = False,
    to: Annotated[PathLike | None, option("Write a page with curves.", "--page", metavar="PAGE.html")] = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Growing:  # fmt: skip
    """Draw precision against recall under a common generality, for a growing number of irrelevant items.

    Precision depends on how many items are irrelevant, so that curves over unlike queries, or of two collections,
    cannot be compared. Irrelevant items are left out at random, of each query as many as bring it to a common
    generality, the share of relevant items. It is also what a random ranking reaches at every recall.

    Examples:
        endoxa generality qrels.txt bm25.run dense.run
        endoxa generality qrels.txt bm25.run --at .1 --at .01 -N 50000 --page generality.html
    """
    from endoxa.evaluations.dispatch import no_run
    from endoxa.evaluations.growing import growing
    from endoxa.io.write import write_page
    from endoxa.reports.pages.growing_collections import page
    from endoxa.tables import Opinions
    from endoxa.verbs.inputs import is_nothing, reference_of, run_of, settings_of

    if is_nothing(run):
        raise no_run()
    settings = settings_of({"lenient": lenient}, run)
    against = reference_of(reference, settings)
    if against.kind != "judgments" or not isinstance(against.table, Opinions):
        raise CallError(f"curves of generality need judgments, not {against.kind}", remedy="name a file of judgments")
    found = growing(
        run_of(run, settings),
        against.table,
        levels=levels,
        size=size,
        rel=rel,
        draws=draws,
        seed=seed,
        progress=progress,
    )
    if to is not None:
        write_page(page(found), Path(to))
    return found
