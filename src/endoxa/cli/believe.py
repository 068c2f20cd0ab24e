"""endoxa believe: from opinions to what is held to be relevant, and how surely."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from endoxa.cli import loudness, output
from endoxa.cli import options as o
from endoxa.errors import CallError


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("believe")(believe)


def believe(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="Runs, opinions or labels; a taxonomy is recognised by its columns.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="How opinions become a belief; see docs/belief.md.")
    ] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="consensus: a run votes for its first N items.")] = None,
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="METHOD|NAME=W,…", help="consensus: weights of the systems' votes."),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", metavar="A,B|flat|informed", help="consensus: two numbers; dawid-skene: a name."),
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="full|one-coin|ordinal", help="dawid-skene: the confusions.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option("--smoothing", help="votes, taxonomy: pseudo-votes per grade or category.")
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(
            "--mix", metavar="assigned|subject|normalised|normalised_no_root", help="taxonomy: readings of a query."
        ),
    ] = None,
    taxonomy: o.Taxonomy = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="FILE", help="Judged pairs, which become certain.")
    ] = None,
    people: Annotated[int | None, typer.Option("--people", help="Resamples of the people asked.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="The file holds ratings: relevant is above it, raters calibrated first."),
    ] = None,
    no_calibrate: Annotated[
        bool, typer.Option("--no-calibrate", help="With --threshold: take every rater's grades as they are.")
    ] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FILE", help=".parquet keeps everything; .csv the numbers.")
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Make a belief: weighted readings of each query, a distribution over grades for each item.

    [bold]Examples[/bold]

      endoxa believe runs/*.gz --depth 50 --weights redundancy --to belief.parquet

      endoxa believe votes.csv --model dawid-skene --to belief.parquet

      endoxa believe ratings.csv --threshold 3 --to belief.parquet

      endoxa believe labels.csv tree.csv --model taxonomy --mix subject

      endoxa eval belief.parquet runs/*.gz
    """
    from endoxa.evaluations.sentences import believed as sentence
    from endoxa.verbs.believe import believe as verb
    from endoxa.verbs.write import write

    if no_calibrate and threshold is None:
        raise CallError("--no-calibrate goes with --threshold: votes are not calibrated")
    numbers = prior is not None and "," in prior
    given: dict[str, Any] = {
        "depth": depth, "weights": None if weights is None else o.weights_of(weights), "variant": variant,
        "prior": o.prior_of(prior) if numbers and prior is not None else prior, "smoothing": smoothing, "mix": mix,
        "people": people,
    }  # fmt: skip
    with output.busy("making the belief"):
        belief = verb(
            files, model, taxonomy=taxonomy, labels=labels, threshold=threshold, calibrated=not no_calibrate, seed=seed,
            **{name: value for name, value in given.items() if value is not None},
        )  # fmt: skip
    output.say(sentence(belief))
    if to is not None:
        write(belief, to)
        output.note(f"wrote {to}")
    else:
        output.head(belief.frame.select("query", "reading", "weight", "item", "grade", "p"), "--to belief.parquet")
    output.tell(*(line.marked for line in belief.lines() if loudness.is_full() or line.kind == "warning"))
