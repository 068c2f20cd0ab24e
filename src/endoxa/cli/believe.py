"""endoxa believe: from opinions to what is held to be relevant, and how surely."""

from __future__ import annotations

from typing import Annotated, Any

from endoxa.cli import loudness, output
from endoxa.cli.derived import derived
from endoxa.cli.typed import prior_of, weights_of
from endoxa.declared import argument, option
from endoxa.errors import CallError
from endoxa.verbs.parameters import Machines, Seed, Tree


# By hand: its settings are those of the models, whose registry loads NumPy.
def believe(
    files: Annotated[
        list[str], argument("Runs, opinions or labels; a taxonomy is recognised by its columns.", "FILE…")
    ],
    model: Annotated[str | None, option("How opinions become a belief; see docs/belief.md.", metavar="NAME")] = None,
    depth: Annotated[int | None, option("consensus: a run votes for its first N items.")] = None,
    weights: Annotated[
        str | None, option("consensus: weights of the systems' votes.", metavar="METHOD|NAME=W,…")
    ] = None,
    prior: Annotated[
        str | None, option("consensus: two numbers; dawid-skene: a name.", metavar="A,B|flat|informed")
    ] = None,
    variant: Annotated[str | None, option("dawid-skene: the confusions.", metavar="full|one-coin|ordinal")] = None,
    smoothing: Annotated[float | None, option("votes, taxonomy: pseudo-votes per grade or category.")] = None,
    mix: Annotated[
        str | None, option("taxonomy: readings of a query.", metavar="assigned|subject|normalised|normalised_no_root")
    ] = None,
    taxonomy: Tree = None,
    labels: Annotated[str | None, option("Judged pairs, which become certain.", metavar="FILE")] = None,
    judges: Machines = None,
    people: Annotated[int | None, option("Resamples of the people asked.")] = None,
    threshold: Annotated[
        float | None, option("The file holds ratings: relevant is above it, raters calibrated first.")
    ] = None,
    no_calibrate: Annotated[bool, option("With --threshold: take every rater's grades as they are.")] = False,
    to: Annotated[str | None, option(".parquet keeps everything; .csv the numbers.", metavar="FILE")] = None,
    seed: Seed = 0,
) -> None:
    """Make a belief: weighted readings of each query, a distribution over grades for each item.

    Examples:
        endoxa believe runs/*.gz --depth 50 --weights redundancy --to belief.parquet
        endoxa believe votes.csv --model dawid-skene --to belief.parquet
        endoxa believe ratings.csv --threshold 3 --to belief.parquet
        endoxa believe labels.csv tree.csv --model taxonomy --mix subject
        endoxa eval belief.parquet runs/*.gz
    """
    from endoxa.evaluations.sentences import believed as sentence
    from endoxa.verbs.believe import believe as verb

    if no_calibrate and threshold is None:
        raise CallError("--no-calibrate goes with --threshold: votes are not calibrated")
    numbers = prior is not None and "," in prior
    given: dict[str, Any] = {
        "depth": depth, "weights": None if weights is None else weights_of(weights), "variant": variant,
        "prior": prior_of(prior) if numbers and prior is not None else prior, "smoothing": smoothing, "mix": mix,
        "people": people,
    }  # fmt: skip
    with output.busy("making the belief"):
        belief = verb(
            files, model, taxonomy=taxonomy, labels=labels, judges=judges, threshold=threshold,
            calibrated=not no_calibrate, seed=seed,
            **{name: value for name, value in given.items() if value is not None},
        )  # fmt: skip
    output.say(sentence(belief))
    if to is not None:
        output.write_to(belief, to)
    else:
        output.head(belief.frame.select("query", "reading", "weight", "item", "grade", "p"), "--to belief.parquet")
    output.tell(*(line.marked for line in belief.lines() if loudness.is_full() or line.kind == "warning"))


COMMANDS = (derived("believe", believe),)
