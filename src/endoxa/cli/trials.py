"""endoxa search contest: which learner finds pictures sooner, with simulated people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import command_line, derived
from endoxa.declared import option
from endoxa.verbs.parameters import Seed

if TYPE_CHECKING:
    from endoxa.reports.pages.trials import Held


def trials(
    corpus: g.Where,
    learners: Annotated[
        list[str] | None,
        option(
            "A learner, kernel/METRIC, kernel/learnt or kernel/thompson; may be repeated. Default: seven of them.",
            "--learner", "-l", metavar="NAME",
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None, option("One picture, or a kind. Default: both.", "--task", metavar="target|kind")
    ] = None,
    people: Annotated[
        list[str] | None,
        option("Who searches. Default: both if there are categories.", metavar="mixed|class"),
    ] = None,
    marks: Annotated[
        str, option("Which pictures of a page are marked.", metavar="all|likes|five")
    ] = "all",
    noise: Annotated[float, option("Share of marks that are one level off.", least=0, most=1)] = 0.1,
    sessions: Annotated[int, option("Number of sessions in each trial.", least=2)] = 80,
    size: Annotated[int, option("Pictures on a page.", least=2)] = 20,
    without: g.Without = None,
    home: g.Home = None,
    workers: g.Workers = None,
    to: Annotated[Path | None, option("Write a page with figures.", metavar="PAGE.html")] = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Let learners search with simulated people, and say which finds pictures sooner.

    Examples:
        endoxa search contest stamps --without symbols --without cartoon --to trials.html
        endoxa search contest photos -l kernel -l rbf-svm -l none --task target --sessions 200
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.trials import trials as verb

    with output.stages(6) as progress:
        found = verb(
            corpus, learners or None, tasks=tasks or ("target", "kind"), people=people or None,  # type: ignore[arg-type]
            marking=marks, noise=noise, sessions=sessions, size=size, home=home,  # type: ignore[arg-type]
            without=without or None, command=command_line(), to=to, seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    print_trials(found)
    if to is not None:
        output.tell(f"The page: {to.resolve().as_uri()}")


def print_trials(held: Held) -> None:
    """Print the answer, then a table per trial."""
    import polars as pl

    from endoxa.formatting import capitalised
    from endoxa.reports.pages.trials import CAVEAT, answer, heads, lines

    output.say(answer(held))
    for trial in held.trials:
        output.show([f"\n[bold]{capitalised(str(trial.setting))}[/bold]"])
        rows = [[f"{cell.text} {cell.small}".strip() for cell in line] for line in lines(trial)]
        output.show_frame(pl.DataFrame(rows, schema=heads(trial), orient="row"))
    output.tell("", f"! {CAVEAT}")


COMMANDS = (derived("contest", trials, needs=("images",)),)
