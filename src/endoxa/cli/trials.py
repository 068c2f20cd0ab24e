"""endoxa search contest: which learner finds pictures sooner, with simulated people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output

if TYPE_CHECKING:
    from endoxa.reports.pages.trials import Held


def add_to(_app: typer.Typer) -> None:
    """Register the command."""
    g.search.command("contest", needs=("images",))(trials)


def trials(
    corpus: g.Where,
    learners: Annotated[
        list[str] | None,
        typer.Option(
            "--learner", "-l", metavar="NAME",
            help="A learner, kernel/METRIC, kernel/learnt or kernel/thompson; may be repeated. Default: seven of them.",
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None, typer.Option("--task", metavar="target|kind", help="One picture, or a kind. Default: both.")
    ] = None,
    people: Annotated[
        list[str] | None,
        typer.Option("--people", metavar="mixed|class", help="Who searches. Default: both if there are categories."),
    ] = None,
    marks: Annotated[
        str, typer.Option("--marks", metavar="all|likes|five", help="Which pictures of a page are marked.")
    ] = "all",
    noise: Annotated[float, typer.Option("--noise", help="Share of marks that are one level off.", min=0, max=1)] = 0.1,
    sessions: Annotated[int, typer.Option("--sessions", help="Number of sessions in each trial.", min=2)] = 80,
    size: Annotated[int, typer.Option("--size", help="Pictures on a page.", min=2)] = 20,
    without: g.Without = None,
    home: g.Home = None,
    workers: g.Workers = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="PAGE.html", help="Write a page with figures.")] = None,
    seed: o.Seed = 0,
) -> None:  # fmt: skip
    """Let learners search with simulated people, and say which finds pictures sooner.

    [bold]Examples[/bold]

      endoxa search contest stamps --without symbols --without cartoon --to trials.html

      endoxa search contest photos -l kernel -l rbf-svm -l none --task target --sessions 200
    """
    g.announce_home(corpus, home)
    from endoxa.verbs.trials import trials as verb

    with output.stages(6) as progress:
        found = verb(
            corpus, learners or None, tasks=tasks or ("target", "kind"), people=people or None,  # type: ignore[arg-type]
            marking=marks, noise=noise, sessions=sessions, size=size, home=home,  # type: ignore[arg-type]
            without=without or None, command=o.command_line(), to=to, seed=seed, workers=workers, progress=progress,
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
