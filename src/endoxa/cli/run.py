"""endoxa images run: run the indexed systems over queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.verbs.parameters import Seed


def run(
    corpus: g.Where,
    engines: g.Engines = None,
    queries: Annotated[
        list[str] | None, option("A query: an item, or a file; may be repeated.", "--query", "-q", metavar="ITEM|FILE")
    ] = None,
    sample: Annotated[int | None, option("Draw N pictures as queries. Default: every picture.", least=1)] = None,
    texts: Annotated[str | None, option("Queries of words, a line each: name, tab, words.", metavar="FILE")] = None,
    depth: Annotated[int, option("Number of items returned for a query.", least=1)] = 100,
    itself: Annotated[bool, option("Let a query retrieve itself.")] = False,
    to: Annotated[Path, option("Folder of the runs, one file per system.", metavar="DIR")] = Path("runs"),
    without: g.Without = None,
    home: g.Home = None,
    seed: Seed = 0,
) -> None:
    """Run the indexed systems over queries. Writes DIR/SYSTEM.run and DIR/costs.csv.

    Examples:
        endoxa images run photos --sample 60 --to runs && endoxa eval runs/*.run
        endoxa images run photos -q holiday/beach -q ~/new.jpg -e histograms
    """
    from endoxa.evaluations.contest import vote_depth
    from endoxa.verbs.run import run as run_systems

    with output.stages(2) as progress:
        ran = run_systems(
            corpus, engines or None, queries=queries or None, sample=sample, texts=texts, depth=depth, itself=itself,
            to=to, home=home, without=without or None, seed=seed, progress=progress,
        )  # fmt: skip
    systems = ran.run.systems
    older = sorted({path.stem for path in to.glob("*.run")} - set(systems))
    paths = [str(to / f"{system}.run") for system in systems] if older else [f"{to}/*.run"]
    count = "1 run" if len(systems) == 1 else f"{len(systems)} runs"
    depths = f"--depth {vote_depth(ran.pictures)}"
    are = "is" if len(systems) == 1 else "are"
    output.say(f"{count} {are} in {to} (evaluate without labels: endoxa eval {' '.join(paths)} {depths}).")
    g.print_costs(ran.costs.frame)
    for note in ran.notes:
        output.note(f"! {note}")
    if older:
        output.note(f"! {to} also holds older runs: {', '.join(older)}")


COMMANDS = (derived("run", run, needs=("images",)),)
