"""evaluate: which system is better, and how sure that is, against any reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

from endoxa.declared import option
from endoxa.verbs.parameters import (
    Against,
    Labelled,
    Machines,
    Measures,
    Report,
    Runs,
    Tree,
    takes_either_order,
    takes_settings,
)

if TYPE_CHECKING:
    import polars as pl

    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.evaluations.given import Given
    from endoxa.progress import Progress
    from endoxa.tables import Scores

Tokens = Annotated[
    str | None, option("The files are texts that systems extracted, not runs.", choices=("bag", "align"), hidden=True)
]
Lines = Annotated[bool, option("With --tokens: a line is one word, such as New York.", hidden=True)]
Near = Annotated[
    float | None,
    option(
        "With --tokens align: align misread words that share this part of their letters; .8 is usual.",
        metavar="SHARE", hidden=True,
    ),
]  # fmt: skip


@takes_settings()
@takes_either_order
def evaluate(
    run: Runs = None,
    reference: Against = None,
    measures: Measures = None,
    *,
    labels: Labelled = None,
    judges: Machines = None,
    taxonomy: Tree = None,
    tokens: Tokens = None,
    lines: Lines = False,
    near: Near = None,
    curves: bool = False,
    power: bool = False,
    orders: bool = False,
    title: str = "",
    command: str = "",
    progress: Progress | bool | None = None,
    report: Report | None = None,
    **settings: Unpack[Given],
) -> Evaluation:
    """Score runs against judgments, with an interval on every mean; without judgments, within their consensus.

    The evaluation has scores, means with intervals, the pairwise comparison, doubts, warnings and sentences.
    `run` is a Run, a dict, a frame, a path or several paths. `reference` is what it is scored against: judgments,
    preferences, a belief, opinions or labels that `model` turns into a belief, votes of systems, subjects' answers, a
    bundle; or nothing: then the consensus of the systems is believed. Both may be tables, files, frames or dicts.
    `labels` are a few judged pairs beside a consensus or a belief (several rounds: the last one last). `judges` are
    grades of machine judges beside runs: files, tables or dicts; people's labels show how far to trust them. With
    `tokens` (bag or align) the files are texts that systems extracted, whose words are their votes: words between
    blanks, or with `lines` whole lines; `near` (0.8 is usual) aligns misread words with the right ones. `curves`,
    `power` and `orders` add tables: precision-recall curves, the power of the queries, whether measures order systems
    alike.
    `progress` is True for a bar, in a notebook too, or a function of what, done and whole.

    Examples:
        endoxa eval runs/*.gz
        endoxa eval runs/*.gz --labels judged.csv P@10
        endoxa eval runs/*.gz --judge grades.jsonl --labels judged.csv
        endoxa eval votes.txt bm25.run dense.run --model dawid-skene AP
        endoxa eval qrels.txt bm25.run dense.run nDCG@10 AP
        endoxa eval -q -c -m official -o trec --compat trec_eval-9 qrels.txt bm25.run
        endoxa eval qrels.txt runs/*.gz --unjudged bounds P@10 RBP -o tsv --to scores.tsv

    >>> result = evaluate({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 1}}, ["RR"])
    >>> result.summary["value"].to_list()
    [0.5]
    """
    from endoxa import __version__
    from endoxa.errors import CallError
    from endoxa.evaluations.dispatch import evaluate as evaluated
    from endoxa.progress import shown
    from endoxa.verbs.inputs import beside, foreign, mapper_of, reference_of, runs_of, settings_of, votes_of_texts

    if tokens is None and (lines or near is not None):
        raise CallError(
            "lines and near are for texts that systems extracted", remedy="say tokens=bag or tokens=align too"
        )
    if tokens is not None:
        run, reference = None, votes_of_texts(run, tokens, lines=lines, near=near)
    progress = shown(progress)
    chosen = settings_of(settings, run)
    against, more = beside(reference_of(reference, chosen, taxonomy=taxonomy, report=report), labels, chosen, judges)
    foreign(chosen, settings, against)
    wanted = None
    if against.kind not in {"answers", "bundle"} or measures:
        wanted = against.measures(measures, chosen, compared=orders)
    lists, mapper = runs_of(run, chosen, progress=progress, report=report), mapper_of(chosen)
    evaluation = evaluated(
        lists, against, wanted, chosen if chosen.on is None else chosen.changed(on=None), labels=more,
        curves=curves, power=power, orders=orders, progress=progress, mapper=mapper,
    )  # fmt: skip
    return evaluation.changed(
        title=title or _title(evaluation),
        provenance={"Endoxa": __version__, "Command": command, "Seed": str(chosen.seed)},
        drawn=_drawn,
    )


def _drawn(evaluation: Evaluation) -> str:
    """The first figure of an evaluation, for a notebook."""
    from endoxa.reports.figures import first_of
    from endoxa.reports.figures.style import to_svg

    figure = first_of(evaluation)
    return "" if figure is None else to_svg(figure, apart=True)


def _title(evaluation: Evaluation) -> str:
    systems, queries = evaluation.systems, max((row["queries"] or 0 for row in evaluation.rows), default=0)
    if evaluation.scores is not None:
        queries = len(evaluation.scores.queries)
    return f"{len(systems)} systems on {queries} queries" if len(systems) > 1 else f"{systems[0]} evaluated"


def summarise(scores: Scores, *, confidence: float = 0.95, resamples: int | None = None, seed: int = 0) -> pl.DataFrame:
    """Mean (sum, geometric mean) of every system and measure with its interval: as `evaluate(...).summary`."""
    from endoxa.evaluations.dispatch import summarise as summarised
    from endoxa.verbs.inputs import settings_of

    return summarised(scores, settings_of({"confidence": confidence, "resamples": resamples, "seed": seed}))


def kinds_of(scores: Scores) -> tuple[Any, ...]:
    """The kinds of reference that scores may come from."""
    from endoxa.evaluations.settings import DOUBTED, JUDGED

    return JUDGED if scores.draws is None else DOUBTED
