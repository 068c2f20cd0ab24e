"""decide: a few labels settle which system is better, in the browser, on the terminal, or from a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack
from uuid import uuid4

from endoxa.declared import option
from endoxa.errors import TextError
from endoxa.extras import need
from endoxa.policies import BATCH, UNTIL
from endoxa.verbs.parameters import Labelled, Machines, Named, Runs, Seed, takes_either_order, takes_settings
from endoxa.verbs.study import PORT

if TYPE_CHECKING:
    import polars as pl

    from endoxa.evaluations.evaluation import Evaluation
    from endoxa.evaluations.given import Given
    from endoxa.io.sources import Where
    from endoxa.measures.grammar import Wanted
    from endoxa.pools.choosing import About
    from endoxa.pools.deciding import Look
    from endoxa.store.sessions import Session
    from endoxa.store.work import Task
    from endoxa.tables import Gradings, Run

FOLDER = "endoxa-decide"
STUDY = "decide"
SCREEN = "yes-no"
PathLike = str | Path
Asked = Annotated[
    str, option("What labels are to settle: the order, the best, or two systems.", metavar="order|best|A,B")
]


@takes_settings()
@takes_either_order
def decide(
    run: Any,
    labels: Any = None,
    measures: Wanted | None = None,
    *,
    judges: Any = None,
    about: About = "best",
    until: float = UNTIL,
    guarantee: bool = False,
    exactly: bool = False,
    title: str = "",
    command: str = "",
    **settings: Unpack[Given],
) -> Evaluation:
    """Which system is better by a few labels, and whether the question is settled; an Evaluation.

    `run` holds two systems or more; `labels` are judged pairs, from one or several rounds and judges, in any form. The
    question is `about` the best system, the order, or two systems (a pair of names), on the first measure that can be
    linearised. tables["verdict"] has one row: measure, about, leader, chance, until, settled, by, left, labels,
    decided, pairs, margin, p_best, and the forecast of further labels: further, further_low, further_high. It is
    settled by the model, when the chance passes `until` now and 25 labels before. The best may be within .01 (`margin`)
    of the best, but not with AP, nor with `exactly`. With `guarantee` the verdict holds
    whatever the model (`pools/guaranteed`), and `left` counts the systems that may still be the best; this needs labels
    of `endoxa decide --guarantee`. `judges` are grades of machine judges: they speed it up, but nothing is settled by
    them below 5 labels a topic. Without labels nothing is settled.

    >>> runs = {"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"y": 2, "z": 1}}}
    >>> decide(runs, {"q": {"x": 1, "y": 0}}).tables["verdict"]["leader"].to_list()
    ['a']
    """
    from dataclasses import replace

    from endoxa.evaluations import decided
    from endoxa.pools.deciding import Deciding, Question
    from endoxa.verbs.choose import measure_of
    from endoxa.verbs.evaluate import evaluate
    from endoxa.verbs.inputs import labels_of, run_of, settings_of

    evaluation = evaluate(run, None, measures, labels=labels, judges=judges, title=title, command=command, **settings)
    question = Question(measure_of(measures), about, until, guarantee=guarantee, exactly=exactly)
    if evaluation.decider is not None:
        deciding = evaluation.decider(question)
    else:  # nothing was learned from labels
        chosen = settings_of(settings, run)
        deciding = Deciding.of(decided.universe_of(run_of(run, chosen), chosen), question, labels_of(labels))
    return replace(evaluation, tables={**evaluation.tables, "verdict": _row(deciding.verdict)})


def _row(now: Look) -> pl.DataFrame:
    import polars as pl

    about, forecast = now.question.about, now.forecast
    further = {
        "further": forecast and forecast.median, "further_low": forecast and forecast.low,
        "further_high": forecast and forecast.high,
    }  # fmt: skip
    return pl.DataFrame(
        {
            "measure": [str(now.question.measure)], "about": [about if isinstance(about, str) else ",".join(about)],
            "leader": [now.leader], "chance": [now.chance], "until": [now.question.until], "settled": [now.is_settled],
            "by": ["model" if now.proof is None else "guarantee"],
            "left": pl.Series([None if now.proof is None else len(now.proof.left)], dtype=pl.Int64),
            "labels": [len(now.learned.judged)], "decided": [now.done], "pairs": [now.pairs],
            "margin": [now.question.margin], "p_best": [float(now.best[now.found.systems.index(now.leader)])],
            **{name: pl.Series([value], dtype=pl.Float64) for name, value in further.items()},
        }
    )  # fmt: skip


# ---- with judges --------------------------------------------------------------------------------------


def prepare(
    runs: Runs,
    *,
    items: Annotated[
        PathLike | None, option("What judges see of items: a folder, or a table of item and text.", metavar="PATH")
    ] = None,
    queries: Annotated[PathLike | None, option("The same of queries: a folder, or a table.", metavar="PATH")] = None,
    measures: Named = None,
    about: Asked = "best",
    until: Annotated[float, option("Probability at which it is settled.", metavar="P")] = UNTIL,
    guarantee: Annotated[bool, option("Settle it whatever the model: needs more labels, often many more.")] = False,
    exactly: Annotated[bool, option("Find the best exactly; else it may be within .01 of it (AP: always).")] = False,
    batch: Annotated[int, option("Pairs that are chosen at a time.", least=1)] = BATCH,
    screen: str = SCREEN,
    labels: Labelled = (),
    judges: Machines = (),
    home: Annotated[PathLike, option("Folder that keeps every answer.", metavar="DIR")] = FOLDER,
    db: str | None = None,
    seed: Seed = 0,
    now: float | None = None,
    progress: Any = None,
) -> bool:
    """Settle which system is better with a few labels: judge pairs on a page, and every answer moves the verdict.

    This sets up the study that asks for labels, or finds the one that was begun in `home`, and returns whether it is
    new. `items` and `queries` say what judges see: a folder of pictures or texts, or a table with the columns item
    (query) and text or file. Without them the names are shown. `judges` are files of grades by machine judges: the
    verdict before the first label rests on them. With `guarantee` no `labels` are taken: every pair must
    be drawn by the study.

    Examples:
        endoxa decide runs/*.gz --queries queries.csv --items documents.csv
        endoxa decide runs/* --items photos/ P@10 --about order
        endoxa decide a.run b.run --about a,b --terminal --to labels.csv
    """
    if guarantee and labels:
        raise TextError(
            "with a guarantee every pair is drawn by the study itself",
            remedy="leave --labels out, or leave --guarantee out",
        )
    need("store")
    from endoxa.io.sources import source_of
    from endoxa.io.study_files import Sources
    from endoxa.studies import settling
    from endoxa.studies.design import Settings
    from endoxa.verbs.choose import measure_of
    from endoxa.verbs.inputs import labels_of
    from endoxa.verbs.study import make

    settings = Settings(
        name=STUDY, screen=screen, title="Which system is better?", choose="decide", common=0, count=batch,
        rounds=settling.ROUNDS, measure=str(measure_of(measures)), about=about, until=float(until),
        guarantee=guarantee, exactly=exactly, skip=not guarantee, seed=seed,
    )  # fmt: skip
    settling.question_of(settings)  # refuses what cannot be settled before anything is read
    runs = [source_of(run) for run in runs]
    judges = [source_of(judge) for judge in judges]
    if _is_begun(settings, runs, judges, home, db):
        return False
    sources = Sources(
        items=None if items is None else Path(items), queries=None if queries is None else Path(queries),
        runs=tuple(runs), machine_judges=tuple(judges),
    )  # fmt: skip
    answers = labels_of(list(map(str, labels)))
    moment = time.time() if now is None else now
    make(settings, sources, answers=answers, home=home, db=db, now=moment, progress=progress)
    return True


def _is_begun(wanted: Any, runs: Sequence[Where], judges: Sequence[Where], home: PathLike, db: str | None) -> bool:
    """Whether `home` has the study already; one that asks another question is refused."""
    from endoxa.store import catalogue
    from endoxa.store.home import DATABASE
    from endoxa.verbs.inputs import gradings_of, run_of
    from endoxa.verbs.study import opened_home

    if db is None and not (Path(home) / DATABASE).exists():
        return False
    with opened_home(home, db, create=True) as opened, opened.store.reading() as connection:
        begun = next((study for study in catalogue.listed(connection) if study.name == STUDY), None)
        if begun is not None:
            before = catalogue.run_of(connection, begun)
            _refuse_other(wanted, begun.settings, run_of(list(runs)), before, home)
            _refuse_other_judges(gradings_of(list(judges)), catalogue.gradings_of(connection, begun), home)
    return begun is not None


def _refuse_other(wanted: Any, begun: Any, run: Run, before: Run | None, home: PathLike) -> None:
    """Refuse to go on with answers that were given to another question."""
    if before is None or set(run.systems) != set(before.systems):
        names = ", ".join(sorted(before.systems if before is not None else []))
        raise TextError(
            f"the answers in {home} are about other systems ({names})", remedy="say --home with another folder"
        )
    for name in ("measure", "about", "until", "guarantee", "exactly"):
        if (now := getattr(wanted, name)) != (then := getattr(begun, name)):
            raise TextError(
                f"the answers in {home} were begun with {name} {then}, not {now}", remedy="say the same, or --home"
            )


def _refuse_other_judges(given: Gradings | None, before: Gradings | None, home: PathLike) -> None:
    """Refuse to go on with other machine judges; without any, those of the beginning are taken."""
    if given is not None and (before is None or not given.frame.equals(before.frame)):
        raise TextError(
            f"the answers in {home} were begun with {'other' if before is not None else 'no'} machine judges",
            remedy="give the same (or none: those are kept), or say --home with another folder",
        )


def host(
    *, host: str = "127.0.0.1", port: int = PORT, url: str | None = None, home: PathLike = FOLDER,
    db: str | None = None, started: Callable[[str, str, str], None],
) -> None:  # fmt: skip
    """Serve the page until stopped. `started` gets the address, a judge's link, and the organiser's link."""
    need("studio")
    from endoxa.store import catalogue, people
    from endoxa.verbs.study import opened_home
    from endoxa.web.studies.hosting import serve

    with opened_home(home, db) as opened:

        def begun(address: str, organiser: str) -> None:
            with opened.store.writing() as connection:
                study = catalogue.find(connection, STUDY)
                _, token = people.invite(connection, opened.key, study, "judge", now=time.time())
            started(address, f"{address}/join/{token}", organiser)

        serve(opened, host, port, url, started=begun)


class Judge:
    """A judge at the terminal: the verdict, the next pair, an answer, a skip, an undo. Every answer is kept at once."""

    def __init__(self, session: Session, rater: int) -> None:
        self.session, self.rater = session, rater
        self.home, self.study = session.home, session.study

    def look(self) -> Look:
        """The verdict by the answers of all judges."""
        return self.session.look().verdict

    def next(self) -> Task | None:
        """The next pair to judge; None where the question is settled or nothing is left."""
        from endoxa.store import making, work

        making.plan_if_due(self.home, STUDY, now=time.time())
        with self.home.store.writing(lasting=False) as connection:
            tasks, _ = work.tasks(connection, self.study, self.rater, count=1, now=time.time())
        return tasks[0] if tasks else None

    def answer(self, task: Task, grade: float | None) -> None:
        """Keep a grade."""
        from endoxa.store import work
        from endoxa.studies.kinds import Response

        given = [Response(task.items[0]["id"], grade)]
        with self.home.store.writing() as connection:
            work.answer(
                connection, self.study, self.rater, task.id, str(uuid4()), given,
                work.Circumstances(method="keyboard"), now=time.time(),
            )  # fmt: skip

    def skip(self, task: Task) -> None:
        """Leave a pair to others."""
        from endoxa.store import work

        with self.home.store.writing() as connection:
            work.skip(connection, self.study, self.rater, task.id, str(uuid4()), work.Circumstances(), now=time.time())

    def undo(self) -> Task:
        """Take back the last answer; its pair is asked again."""
        from endoxa.store import work

        with self.home.store.writing() as connection:
            return work.undo(connection, self.study, self.rater, str(uuid4()), now=time.time())[0]


@contextmanager
def at_terminal(nickname: str = "terminal", *, home: PathLike = FOLDER, db: str | None = None) -> Iterator[Judge]:
    """A judge at the terminal, who is the same one every time."""
    need("store")
    import sqlalchemy as sa

    from endoxa.store import catalogue, people
    from endoxa.store import schema as s
    from endoxa.store.sessions import session_of
    from endoxa.verbs.study import opened_home

    with opened_home(home, db) as opened:
        with opened.store.writing() as connection:
            study = catalogue.find(connection, STUDY)
            known = sa.select(s.raters.c.id).where(
                s.raters.c.study_id == study.id, s.raters.c.folded == people.folded(nickname)
            )
            rater = connection.scalar(known)
            if rater is None:
                _, token = people.invite(connection, opened.key, study, "judge", nickname=nickname, now=time.time())
                invitation = people.invitation_of(connection, opened.key, token)
                people.join(connection, invitation, nickname, now=time.time())
                rater = connection.scalar(known)
        assert rater is not None
        yield Judge(session_of(opened, study), int(rater))
