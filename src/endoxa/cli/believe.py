"""endoxa believe: from opinions to what is held to be relevant, and how surely."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.command("believe")(believe)


def believe(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="Runs, opinions or labels; a taxonomy is told apart by its columns.",
            show_default=False,
        ),
    ],
    model: o.Model = None,
    depth: o.Depth = 100,
    weights: o.Weights = "cluster",
    prior: Annotated[
        str | None,
        typer.Option("--prior", metavar="A,B|flat|informed", help="Of consensus: two numbers. Of dawid-skene: a name."),
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="full|one-coin|ordinal", help="Of dawid-skene.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option("--smoothing", help="Of votes and taxonomy: pseudo-votes per grade or category.")
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(
            "--mix", metavar="assigned|subject|normalised|normalised_no_root", help="Of taxonomy: readings of a query."
        ),
    ] = None,
    taxonomy: Annotated[str | None, typer.Option("--taxonomy", metavar="FILE", help="The categories.")] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="FILE", help="Judged pairs, which become certain.")
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", help="Resamples of the people asked, to know how much hangs on them.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="The file holds ratings: relevant is above it, raters calibrated first."),
    ] = None,
    no_calibrate: Annotated[
        bool, typer.Option("--no-calibrate", help="With --threshold: take every rater's grades as they are.")
    ] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FILE", help=".parquet keeps all; .csv the numbers.")
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
    from endoxa import doubt, verbs
    from endoxa.beliefs.models import default
    from endoxa.beliefs.votes import pinned
    from endoxa.io.read import read

    if no_calibrate and threshold is None:
        raise typer.BadParameter("--no-calibrate goes with --threshold: votes are not calibrated")
    source, found = _source(files)
    taxonomy = taxonomy or found
    chosen = model or default(source)
    settings: dict[str, Any] = {
        "smoothing": smoothing,
        "mix": mix,
        "variant": variant,
        "people": people,
        "taxonomy": taxonomy,
        "prior": prior if prior is None or chosen != "consensus" else o.prior_of(prior),
    }
    if chosen == "consensus":
        settings["weights"] = o.weights_of(weights)
        settings["depth"] = depth
    known = read(labels, kind="qrels") if labels is not None else None
    if chosen == "dawid-skene" and known is not None:
        settings["gold"] = known  # what is known also shows who errs
    given = {k: v for k, v in settings.items() if v is not None}
    with show.busy("believing"):
        if threshold is None:
            belief = doubt.believe(source, chosen, seed=seed, **given)
        else:
            belief = _rated(source, known, threshold, model=model, calibrated=not no_calibrate, seed=seed, **given)
        belief = replace(belief, files=doubt.files_of(files))
        if known is not None and chosen != "dawid-skene":
            belief = pinned(belief, known)
    if to is not None:
        verbs.write(belief, to)
        show.note(f"wrote {to}")
    else:
        show.console().print(
            show.frame_table(belief.frame.select("query", "reading", "weight", "item", "grade", "p").head(20))
        )
        if len(belief) > 20:
            print(f"… {len(belief) - 20:,} rows more; --to belief.parquet writes them all")
    print("\n".join(belief.lines()))


def _source(files: list[str]) -> tuple[Any, str | None]:
    """What is to be believed, and the taxonomy if one is among the files."""
    from endoxa.errors import TextError
    from endoxa.io.formats import sniff
    from endoxa.io.read import read

    kinds = {path: sniff(path) for path in files}
    trees = [path for path, kind in kinds.items() if kind == "taxonomy"]
    rest = [path for path, kind in kinds.items() if kind != "taxonomy"]
    if not rest:
        raise TextError("a taxonomy alone holds no opinion; add a file of labels: source, item, category")
    if all(kinds[path] == "run" for path in rest):
        return read(rest, kind="run"), None
    if len(rest) > 1:
        raise TextError(
            f"{rest[0]} holds {kinds[rest[0]]} and {rest[1]} {kinds[rest[1]]}; give runs, or one other file"
        )
    return read(rest[0], assessors=kinds[rest[0]] == "qrels"), trees[0] if trees else None


def _rated(source: Any, known: Any, threshold: float, **how: Any) -> Any:
    """The belief that ratings make through a threshold; labels are then a yes or a no."""
    from endoxa import ratings
    from endoxa.errors import TextError
    from endoxa.tables import Opinions

    if not isinstance(source, Opinions):
        raise TextError(f"--threshold is for ratings (query, item, grade), and this is {type(source).__name__}")
    if known is not None and not known.frame["grade"].drop_nulls().is_in([0.0, 1.0]).all():
        raise TextError("with --threshold a pair is relevant or not: --labels hold grades 0 and 1")
    return ratings.believe(source, threshold=threshold, **how)
