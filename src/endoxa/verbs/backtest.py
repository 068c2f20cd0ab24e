"""backtest: replay decisions on a judged collection, to check whether the stated probabilities are true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import option
from endoxa.policies import UNTIL
from endoxa.verbs.parameters import Against, Measures, Seed, Title, takes_either_order
from endoxa.verbs.parameters import Runs as Systems

if TYPE_CHECKING:
    from endoxa.evaluations.backtest import Backtest
    from endoxa.progress import Progress

MEASURES = ("AP", "nDCG@10", "P@10")


def levels_of(text: str) -> tuple[int, ...]:
    """Numbers of labels a topic, as they are typed: 0,1,5,20."""
    from endoxa.errors import CallError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise CallError(f"--labels is numbers of labels a topic, such as 0,1,5,20; not {text!r}")
    return tuple(map(int, parts))


@takes_either_order
def backtest(
    run: Systems,
    reference: Against = None,
    measures: Measures = None,
    *,
    labels: Annotated[
        Any,
        option("Labels a topic after which statements are checked.", metavar="N,N…", parse=levels_of, usual="0,1,5,20"),
    ] = None,
    draws: Annotated[int, option("Draws of labels at each of these numbers.", least=1)] = 20,
    fields: Annotated[int, option("Random fields of systems beside the whole field.", least=0)] = 0,
    size: Annotated[int, option("Systems in a random field.", least=2)] = 10,
    courses: Annotated[
        int, option("Courses of the loop: labels until it is settled; of the random fields, if any.", least=0)
    ] = 0,
    most: Annotated[int, option("Labels after which a course is given up.", least=1)] = 600,
    until: Annotated[float, option("Probability above which a statement is checked.", metavar="P")] = UNTIL,
    seed: Seed = 0,
    title: Title = "",
    command: str = "",
    progress: Progress | bool | None = None,
) -> Backtest:
    """Replay decisions on a judged collection: what was stated after a few labels, and what was right.

    Labels are drawn from the judgments as `endoxa next` draws them; the truth is all judgments.
    The result has `tables` (statements, reliability, best, leaders; with `courses` also settled and courses, and the
    forecast) and `notes`. `write(result, "page.html")` writes a page with the reliability curve. `measures` need a
    linear form (AP, P@k, R@k, DCG@k, nDCG@k); AP, nDCG@10 and P@10 if none is named. `labels` are 0, 1, 5 and 20 a
    topic as far as the judgments suffice. `fields` compares random fields of `size` systems beside the whole field.

    Examples:
        endoxa backtest runs/*.gz qrels.txt
        endoxa backtest runs/*.gz qrels.txt nDCG@10 --labels 1,5,20 --fields 12 --to backtest.html
        endoxa backtest runs/*.gz qrels.txt AP --fields 12 --courses 100 -o json --to backtest.json

    >>> runs = {"a": {"q": {"x": 3, "y": 2, "z": 1}}, "b": {"q": {"z": 3, "y": 2, "x": 1}}}
    >>> result = backtest(runs, {"q": {"x": 1, "y": 0, "z": 0}}, ["AP"], labels=(0, 3), draws=2)
    >>> result.statements.filter(part="field").select("labels", "pairs", "stated").rows()
    [(0, 1, 0), (3, 2, 2)]
    """
    from endoxa import __version__
    from endoxa.errors import CallError
    from endoxa.evaluations.backtest import Plan, replay
    from endoxa.measures.grammar import parse_all
    from endoxa.progress import shown
    from endoxa.tables import Opinions
    from endoxa.verbs.inputs import is_nothing, reference_of, run_of, settings_of

    levels = None if labels is None else (labels,) if isinstance(labels, int) else tuple(labels)
    plan = Plan(levels, draws, fields, size, courses, most, until, seed)
    wanted = parse_all(measures or MEASURES)
    if is_nothing(run):
        raise CallError("no run was given", remedy="give the runs of two systems or more")
    if is_nothing(reference):
        raise CallError("a backtest needs judgments", remedy="name a file of qrels")
    settings = settings_of({"assessors": "mean"}, run)  # several people are refused by `replay`
    judgments = reference_of(reference, settings).table
    if not isinstance(judgments, Opinions):
        kind = type(judgments).__name__
        raise CallError(f"a backtest needs judgments, not {kind}", remedy="name a file of qrels")
    found = replay(run_of(run, settings), judgments, wanted, plan, progress=shown(progress))
    return found.named(
        title or f"Stated and true: {found.systems} systems on {found.topics} topics",
        {"Endoxa": __version__, "Command": command, "Seed": str(seed)},
    )
