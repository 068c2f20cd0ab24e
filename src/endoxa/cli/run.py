"""endoxa images run: run the indexed systems over queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.run import run

if TYPE_CHECKING:
    from endoxa.engines.searching import Ran


def print_ran(ran: Ran, *, to: Any) -> None:
    """Print where the runs are, the costs, and what else is there."""
    from endoxa.evaluations.contest import vote_depth

    to = Path(to)
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


COMMANDS = (g.pictured("run", run, print_ran, stages=2, before=None, defaults={"to": "runs"}),)
