"""Setting up a study and adding to it: from the organiser's files to items, queries and tasks in the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.errors import EndoxaError, FileError, JoinError, RefusedError, TextError
from endoxa.frozen import dataclass
from endoxa.io.judge_files import read_gradings
from endoxa.io.read import read
from endoxa.io.sources import source_of
from endoxa.io.study_files import SHOWN, Progress, Sources, read_known, read_pairs, read_shown
from endoxa.pools.choosing import depth_of
from endoxa.store import catalogue, records
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.store.home import Home
from endoxa.store.sessions import session_of
from endoxa.studies import planning, settling
from endoxa.studies.design import Settings
from endoxa.studies.latest import latest
from endoxa.tables import Gradings, Opinions, Run, Taxonomy


@dataclass(frozen=True)
class Planned:
    """A study after tasks were added: how many, how many with a known answer beside them, notes for the organiser."""

    study: Study
    tasks: int
    notes: tuple[str, ...]
    known: int = 0  # practice, gold and attention tasks


@dataclass(frozen=True)
class Draft:
    """A study whose input was read and checked, and that is not in the store yet.

    pictures  the folder of its pictures until it is entered
    known     tasks with a known answer; `work` are the others
    rng       the generator after planning; it also draws the order of the tasks
    """

    settings: Settings
    pictures: Path
    items: pl.DataFrame
    queries: pl.DataFrame
    run: Run | None
    gradings: Gradings | None
    tree: Taxonomy | None
    known: tuple[planning.Work, ...]
    work: planning.Work
    rng: np.random.Generator


def draft(settings: Settings, sources: Sources, pictures: Path, *, progress: Progress | None = None) -> Draft:
    """Read and check the input of a study. Nothing is written but its pictures, into a folder that only it uses."""
    rng = np.random.default_rng(settings.seed)
    run: Run | None = read(list(sources.runs), kind="run") if sources.runs else None
    gradings = _gradings(settings, sources)
    deciding = None
    if run is not None and settings.choose == "decide":
        deciding = settling.begin(settings, run, judges=gradings)
    shown = run
    if run is not None and deciding is not None:  # other items than those that may be asked need no text or picture
        deep = depth_of(deciding.universe, deciding.question.measure)
        shown = Run(run.frame.filter(pl.col("rank") <= deep), run.ties)
    items = _items(None if deciding is None else shown, sources, pictures, progress)
    pairs = read_pairs(sources.pairs) if sources.pairs else None
    tree = _tree(settings, sources)
    queries = _queries(settings, sources, pictures, run, pairs, items)
    _refuse_dangling(shown, pairs, items, queries)
    work = planning.prepare(settings, planning.Material(run, tuple(items["item"]), pairs, deciding), rng=rng)
    known = tuple(_known(settings, sources, tree))
    return Draft(settings, pictures, items, queries, run, gradings, tree, known, work, rng)


def enter(home: Home, draft: Draft, *, now: float, answers: Opinions | None = None) -> Planned:
    """Move the pictures of a draft into the home, and enter the study, with earlier answers, in one transaction."""
    home.adopt(draft.pictures)
    with home.store.writing() as connection:
        study = catalogue.create(connection, draft.settings, now=now)
        catalogue.add_shown(connection, s.items, study, draft.items)
        catalogue.add_shown(connection, s.queries, study, draft.queries)
        if draft.run is not None:
            catalogue.add_run(connection, study, draft.run, now=now)
        if draft.gradings is not None:
            catalogue.add_gradings(connection, study, draft.gradings, now=now)
        if draft.tree is not None:
            catalogue.add_taxonomy(connection, study, draft.tree, now=now)
        works = (*draft.known, draft.work)
        *beside, count = [catalogue.add_work(connection, study, part, rng=draft.rng) for part in works]
        catalogue.note(connection, study.id, "made", now=now, notes=list(draft.work.notes))
        if answers is not None:
            records.add_opinions(connection, study, answers, now=now)
    return Planned(study, count, draft.work.notes, sum(beside))


def add(home: Home, name: str, sources: Sources, *, now: float, progress: Progress | None = None) -> Planned:
    """Add items, queries, pairs and known answers to an existing study."""
    with home.store.reading() as connection:
        study = catalogue.find(connection, name)
        tree = catalogue.taxonomy_of(connection, study)
        items = catalogue.frame_of(connection, s.items, study, "item")
        queries = catalogue.frame_of(connection, s.queries, study, "query")
        before = _asked(connection, study)
    new_items = read_shown(sources.items, "item", home.files, progress) if sources.items else items.clear()
    new_queries = read_shown(sources.queries, "query", home.files, progress) if sources.queries else queries.clear()
    settings, notes = study.settings, list[str]()
    rng = np.random.default_rng([settings.seed, int(now)])
    works = _known(settings, sources, tree)
    if sources.pairs:
        pairs = read_pairs(sources.pairs)
        _refuse_dangling(None, pairs, pl.concat([items, new_items]), pl.concat([queries, new_queries]))
        left = pairs.join(before, on=["query", "item"], how="anti", maintain_order="left")
        if left.height:
            works.append(planning.of_pairs(settings, left, rng))
            notes += works[-1].notes
        if settings.choose == "proposal" and settings.kind.gives_opinions:
            notes.append("these pairs were not chosen by the study itself: weight the two groups apart (selected_by)")
        if repeated := pairs.height - left.height:
            were = "was asked already; it is" if repeated == 1 else "were asked already; they are"
            notes.append(f"{repeated:,} of {pairs.height:,} pairs {were} not asked again")
    unknown = new_items.join(items, on="item", how="anti", maintain_order="left")["item"]
    if settings.kind.asks_every_item and len(unknown):
        # No new task becomes common: judges who have finished the common part would have to return to it.
        works.append(settings.kind.plan(settings, planning.Material(items=tuple(unknown)), rng))
    with home.store.writing() as connection:
        added = catalogue.add_shown(connection, s.items, study, new_items)
        asked = catalogue.add_shown(connection, s.queries, study, new_queries)
        count = sum(catalogue.add_work(connection, study, work, rng=rng) for work in works)
        catalogue.note(connection, study.id, "added to", now=now, items=added, queries=asked, tasks=count)
    return Planned(study, count, (f"{added:,} new items, {asked:,} new queries, {count:,} new tasks", *notes))


def add_answers(home: Home, name: str, table: Opinions, *, now: float) -> str:
    """Import answers that were given elsewhere; returns a sentence with the counts."""
    with home.store.writing() as connection:
        study = catalogue.find(connection, name)
        if not study.settings.kind.gives_opinions:
            raise RefusedError(f"study {name!r} does not collect ratings", remedy="only ratings can be imported")
        added, repeated = records.add_opinions(connection, study, table, now=now)
    return f"{added:,} answers imported; {repeated:,} were imported before"


def next_round(home: Home, name: str, *, now: float) -> Planned:
    """Plan a further round, chosen from the answers so far."""
    with home.store.reading() as connection:
        study = catalogue.find(connection, name)
    # Planning takes place outside the transaction, so that judges can go on answering meanwhile. What was asked is read
    # after the answers, so that it holds all their pairs.
    planner = _planner(home, study)
    with home.store.reading() as connection:
        last, asked = _last_round(connection, study), _asked(connection, study)
    rng = np.random.default_rng([study.settings.seed, last])
    work = planner(last + 1, asked, rng)
    with home.store.writing() as connection:
        connection.execute(sa.select(s.studies.c.id).where(s.studies.c.id == study.id).with_for_update(key_share=True))
        if _last_round(connection, study) != last or _asked(connection, study).height != asked.height:
            raise RefusedError(
                f"tasks were added to study {name!r} while round {last + 1} was planned", remedy="plan it again"
            )
        count = catalogue.add_work(connection, study, work, rng=rng)
        catalogue.note(connection, study.id, "round planned", now=now, round=last + 1, notes=list(work.notes))
    return Planned(study, count, work.notes)


def _planner(home: Home, study: Study) -> Callable[[int, pl.DataFrame, np.random.Generator], planning.Work]:
    """What plans a round from its number, the pairs that were asked and random numbers: it knows the answers so far."""
    settings, lacking = study.settings, "a further round is chosen from runs and ratings; this study lacks them so far"
    if settings.choose == "decide":
        session = session_of(home, study)
        deciding = session.look()
        if session.labels is None:
            raise RefusedError(lacking)
        return lambda number, asked, rng: settling.round_of(deciding, settings.count, number, asked=asked, rng=rng)
    with home.store.reading() as connection:
        run = catalogue.run_of(connection, study)
        answered = settings.kind.opinions(latest(records.rows(connection, study)), settings.shape)
    if settings.kind.next_round is None or run is None or answered is None:
        raise RefusedError(lacking)
    return partial(settings.kind.next_round, settings, run, answered)


def plan_if_due(home: Home, name: str, *, now: float) -> tuple[str, ...]:
    """Plan a further round if one is due; its notes. Where somebody plans it at the same moment, theirs counts."""
    if not round_is_due(home, name):
        return ()
    try:
        return next_round(home, name, now=now).notes
    except RefusedError as error:
        return (str(error),)


def round_is_due(home: Home, name: str) -> bool:
    """Whether the settings ask for a further round and at most a tenth of the tasks are still free."""
    with home.store.reading() as connection:
        study = catalogue.find(connection, name)
        rounds = study.settings.rounds
        if rounds < 2 or study.state != "open" or _last_round(connection, study) >= rounds:
            return False
        states = records.slots(connection, study)
    free, done = states.get("free", 0), states.get("answered", 0)
    if study.settings.choose == "decide":
        if not done or free > settling.AHEAD:
            return False
        deciding = session_of(home, study).look()
        if deciding.verdict.is_settled:
            return False
        with home.store.reading() as connection:
            return settling.is_left(deciding, _asked(connection, study))
    return done > 0 and free <= 0.1 * (free + done)


def _last_round(connection: Connection, study: Study) -> int:
    last = sa.select(sa.func.max(s.tasks.c.round)).where(s.tasks.c.study_id == study.id)
    return int(connection.scalar(last) or 1)


def _asked(connection: Connection, study: Study) -> pl.DataFrame:
    rows = connection.execute(
        sa.select(s.queries.c.name, s.items.c.name)
        .select_from(s.task_items)
        .join(s.tasks, s.tasks.c.id == s.task_items.c.task_id)
        .join(s.queries, s.queries.c.id == s.tasks.c.query_id)
        .join(s.items, s.items.c.id == s.task_items.c.item_id)
        .where(s.tasks.c.study_id == study.id)
    ).all()
    return pl.DataFrame([tuple(row) for row in rows], schema={"query": pl.String, "item": pl.String}, orient="row")


def _gradings(settings: Settings, sources: Sources) -> Gradings | None:
    """The grades of machine judges, which only a study that decides between systems can use."""
    if not sources.machine_judges:
        return None
    if settings.choose != "decide":
        raise TextError(
            "machine judges help to decide between systems only",
            remedy='say choose = "decide" in the study file, or leave machine_judges out',
        )
    return read_gradings([source_of(path) for path in sources.machine_judges])


def _items(run: Run | None, sources: Sources, folder: Path, progress: Progress | None) -> pl.DataFrame:
    """The given items; where none are given but a run, its items under their names."""
    if sources.items is None and run is not None:
        names = run.frame["item"].unique().sort()
        absent = [pl.lit(None, dtype).alias(name) for name, dtype in SHOWN.items() if name != "text"]
        return pl.DataFrame({"item": names, "text": names}).with_columns(absent).select("item", *SHOWN)
    if sources.items is None:
        raise JoinError("a study needs items: a folder of pictures or texts, or a table of item and text (--items)")
    return read_shown(sources.items, "item", folder, progress)


def _queries(
    settings: Settings, sources: Sources, folder: Path, run: Run | None, pairs: pl.DataFrame | None, items: pl.DataFrame
) -> pl.DataFrame:
    """The given queries; otherwise those of runs and pairs, shown as the item of that name or as the name itself."""
    if not settings.shape.asks_query:
        return pl.DataFrame(schema={"query": pl.String} | SHOWN)
    if sources.queries is not None:
        return read_shown(sources.queries, "query", folder)
    named = [frame["query"] for frame in (run.frame if run else None, pairs) if frame is not None]
    if not named:
        raise JoinError("a study of results needs queries: give runs (--run), pairs (--pairs) or a table (--queries)")
    names = pl.DataFrame({"query": pl.concat(named).unique(maintain_order=True)})
    found = names.join(items, left_on="query", right_on="item", how="left", maintain_order="left")
    is_words = pl.col("text").is_null() & pl.col("file").is_null()
    return found.with_columns(pl.when(is_words).then(pl.col("query")).otherwise(pl.col("text")).alias("text"))


def _tree(settings: Settings, sources: Sources) -> Taxonomy | None:
    if sources.taxonomy is None:
        if settings.kind.needs_taxonomy:
            raise JoinError(
                f"screen {settings.screen!r} needs a taxonomy: a table of category and parent, or paths such as a/b/c "
                "(--taxonomy)"
            )
        return None
    try:
        tree = read(str(sources.taxonomy), kind="taxonomy")
    except FileError:
        raise
    except EndoxaError as error:
        raise FileError.of(error, str(sources.taxonomy)) from None
    assert isinstance(tree, Taxonomy)
    return tree


def _refuse_dangling(run: Run | None, pairs: pl.DataFrame | None, items: pl.DataFrame, queries: pl.DataFrame) -> None:
    """Refuse runs and pairs that name items or queries which the study does not have."""
    for what, frame in (("the runs name", run.frame if run else None), ("the pairs name", pairs)):
        if frame is None:
            continue
        for name, there in (("item", items["item"]), ("query", queries["query"])):
            if name == "query" and not queries.height:
                continue
            named = frame[name].unique().sort()
            absent = named.filter(~named.is_in(there.implode()))
            if len(absent):
                shown = ", ".join(repr(one) for one in absent.head(3)) + (" …" if len(absent) > 3 else "")
                several = {"item": "items", "query": "queries"}[name] if len(absent) > 1 else name
                raise JoinError(
                    f"{what} {len(absent):,} {several} that the study lacks: {shown}", remedy="add them, or remove them"
                )


def _known(settings: Settings, sources: Sources, tree: Taxonomy | None) -> list[planning.Work]:
    """Tasks with a known answer, in the order of the roles, with answers that the screen allows."""
    works = []
    for role in planning.KNOWN:
        path: Path | None = getattr(sources, role)
        if path is None:
            continue
        frame = read_known(path, has_query=settings.shape.asks_query)
        expected = []
        for at, text in enumerate(frame["expected"], start=1):
            try:
                expected.append(settings.kind.read_expected(text, settings.shape, tree))
            except TextError as error:
                problem = f"row {at}: {text!r} is not an answer of screen {settings.screen!r}"
                raise FileError(str(path), problem, str(error)) from None
        frame = frame.with_columns(pl.Series("expected", expected, dtype=pl.String))
        works.append(planning.known(frame, role, settings.items_per_task))
    return works
