"""endoxa search contest: which learner finds pictures sooner, with simulated people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs.trials import trials

if TYPE_CHECKING:
    from endoxa.reports.pages.trials import Held


def print_trials(held: Held, *, to: Any) -> None:
    """Print the answer, then a table per trial."""
    from endoxa.formatting import capitalised
    from endoxa.reports.pages.trials import CAVEAT, answer, heads, lines

    output.say(answer(held))
    for trial in held.trials:
        output.show([f"\n[bold]{capitalised(str(trial.setting))}[/bold]"])
        output.show_frame(output.frame_of(heads(trial), lines(trial)))
    output.tell("", f"! {CAVEAT}")
    output.tell_page(to)


COMMANDS = (g.pictured("contest", trials, print_trials, stages=6),)
