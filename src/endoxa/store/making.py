"""Setting a study up and adding to it: from what an organiser hands in to items, queries, tasks in the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy import Connection

from endoxa.errors import EndoxaError, FileError, JoinError, RefusedError
from endoxa.io.read import read
from endoxa.io.study_files import SHOWN, Progress, Sources, read_known, read_pairs, read_shown
from endoxa.store import catalogue, records
from endoxa.store import schema as s
from endoxa.store.catalogue import Study
from endoxa.store.home import Home
from endoxa.studies import planning
from endoxa.studies.design import Settings
from endoxa.studies.latest import latest, opinions
from endoxa.tables import Opinions, Run, Taxonomy


@dataclass(frozen=True)
class Made:
    """What came of it, and what the organiser should know."""

    study: Study
    tasks: int
    notes: tuple[str, ...]


def make(home: Home, settings: Settings, sources: Sources, *, now: float, progress: Progress | None = None) -> Made:
    """A new study. Everything is read and checked first; then it is entered in one transaction, or not at all."""
    rng = np.random.default_rng(settings.seed)
    items = _items(sources, home.files, progress)
    run = read([str(path) for path in sources.runs], kind="run") if sources.runs else None
    pairs = read_pairs(sources.pairs) if sources.pairs else None
    tree = _tree(settings, sources)
    queries = _queries(settings, sources, home.files, run, pairs, items)
    _refuse_dangling(run, pairs, items, queries)
    work = planning.prepare(settings, run=run, items=items["item"].to_list(), pairs=pairs, rng=rng)
    known = [_known(settings, getattr(sources, role), role, tree) for role in planning.KNOWN if getattr(sources, role)]
    with home.store.writing() as connection:
        study = catalogue.create(connection, settings, now=now)
        catalogue.add_items(connection, study, items)
        catalogue.add_queries(connection, study, queries)
        if run is not None:
            catalogue.add_run(connection, study, run, now=now)
        if tree is not None:
            catalogue.add_taxonomy(connection, study, tree, now=now)
        count = sum(catalogue.add_work(connection, study, part, rng=rng) for part in (*known, work))
        catalogue.note(connection, study.id, "made", now=now, notes=list(work.notes))
    return Made(study, count, work.notes)


def add(home: Home, name: str, sources: Sources, *, now: float, progress: Progress | None = None) -> Made:
    """More items, queries, pairs, known answers for a study that is there."""
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
    works = [_known(settings, getattr(sources, role), role, tree) for role in planning.KNOWN if getattr(sources, role)]
    if sources.pairs:
        pairs = read_pairs(sources.pairs)
        _refuse_dangling(None, pairs, pl.concat([items, new_items]), pl.concat([queries, new_queries]))
        left = pairs.join(before, on=["query", "item"], how="anti", maintain_order="left")
        if left.height:
            works.append(planning.of_pairs(settings, left, rng=rng))
            notes += works[-1].notes
        if settings.choose == "proposal" and settings.shape.kind == "rate":
            notes.append("these pairs were chosen another way than the study's own: weigh the two apart (selected_by)")
        if met := pairs.height - left.height:
            were = "was asked already; it is" if met == 1 else "were asked already; they are"
            notes.append(f"{met:,} of {pairs.height:,} pairs {were} not asked again")
    if settings.shape.kind == "file":
        unknown = new_items.join(items, on="item", how="anti", maintain_order="left")["item"].to_list()
        # the common part stays as it is: judges who are through with it would have to come back
        works += [planning.filing(unknown, rng=rng)] if unknown else []
    with home.store.writing() as connection:
        added = catalogue.add_items(connection, study, new_items)
        asked = catalogue.add_queries(connection, study, new_queries)
        count = sum(catalogue.add_work(connection, study, work, rng=rng) for work in works)
        catalogue.note(connection, study.id, "added to", now=now, items=added, queries=asked, tasks=count)
    return Made(study, count, (f"{added:,} new items, {asked:,} new queries, {count:,} new tasks", *notes))


def add_answers(home: Home, name: str, table: Opinions, *, now: float) -> str:
    """Answers given elsewhere; a sentence of what became of them."""
    with home.store.writing() as connection:
        study = catalogue.find(connection, name)
        if study.settings.shape.kind != "rate":
            raise RefusedError(f"study {name!r} does not collect ratings; earlier answers are taken in for those only")
        added, there = records.add_opinions(connection, study, table, now=now)
    return f"{added:,} answers taken in; {there:,} were there already"


def next_round(home: Home, name: str, *, now: float) -> Made:
    """Plan a round from the answers so far."""
    with home.store.reading() as connection:
        study = catalogue.find(connection, name)
        run = catalogue.run_of(connection, study)
        held = opinions(latest(records.rows(connection, study)), study.settings.shape.scale_name)
        if study.settings.shape.kind != "rate" or run is None or held is None:
            raise RefusedError("a further round is chosen from runs and ratings; this study lacks them so far")
        last, asked = _last_round(connection, study), _asked(connection, study)
    rng = np.random.default_rng([study.settings.seed, last])
    # Planned outside the transaction: judges go on answering meanwhile.
    work = planning.next_round(study.settings, run, held, last + 1, asked=asked, rng=rng)
    with home.store.writing() as connection:
        connection.execute(sa.select(s.studies.c.id).where(s.studies.c.id == study.id).with_for_update(key_share=True))
        if _last_round(connection, study) != last or _asked(connection, study).height != asked.height:
            raise RefusedError(f"study {name!r} was added to while round {last + 1} was planned; plan it again")
        count = catalogue.add_work(connection, study, work, rng=rng)
        catalogue.note(connection, study.id, "round planned", now=now, round=last + 1, notes=list(work.notes))
    return Made(study, count, work.notes)


def round_is_due(home: Home, name: str) -> bool:
    """Whether a further round is wanted and the last one is nearly used up."""
    with home.store.reading() as connection:
        study = catalogue.find(connection, name)
        if study.settings.rounds < 2 or study.state != "open":
            return False
        if _last_round(connection, study) >= study.settings.rounds:
            return False
        states = records.slots(connection, study)
    free, done = states.get("free", 0), states.get("answered", 0)
    return done > 0 and free <= 0.1 * (free + done)


def _of(study: Study) -> sa.ColumnElement[bool]:
    return s.tasks.c.study_id == study.id


def _last_round(connection: Connection, study: Study) -> int:
    return int(connection.scalar(sa.select(sa.func.max(s.tasks.c.round)).where(_of(study))) or 1)


def _asked(connection: Connection, study: Study) -> pl.DataFrame:
    rows = connection.execute(
        sa.select(s.queries.c.name, s.items.c.name)
        .select_from(s.task_items)
        .join(s.tasks, s.tasks.c.id == s.task_items.c.task_id)
        .join(s.queries, s.queries.c.id == s.tasks.c.query_id)
        .join(s.items, s.items.c.id == s.task_items.c.item_id)
        .where(_of(study))
    ).all()
    return pl.DataFrame([tuple(row) for row in rows], schema={"query": pl.String, "item": pl.String}, orient="row")


def _items(sources: Sources, folder: Path, progress: Progress | None) -> pl.DataFrame:
    if sources.items is None:
        raise JoinError("a study needs items: a folder of pictures or texts, or a table of item and text (--items)")
    return read_shown(sources.items, "item", folder, progress)


def _queries(
    settings: Settings, sources: Sources, folder: Path, run: Run | None, pairs: pl.DataFrame | None, items: pl.DataFrame
) -> pl.DataFrame:
    """Queries as given; else those that runs and pairs name: the item of that name as example, else the name."""
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
        if settings.shape.kind == "file":
            raise JoinError("filing needs a taxonomy: a table of category and parent, or paths a/b/c (--taxonomy)")
        return None
    try:
        tree = read(str(sources.taxonomy), kind="taxonomy")
    except FileError:
        raise
    except EndoxaError as error:
        raise FileError(str(sources.taxonomy), str(error)) from None
    assert isinstance(tree, Taxonomy)
    return tree


def _refuse_dangling(run: Run | None, pairs: pl.DataFrame | None, items: pl.DataFrame, queries: pl.DataFrame) -> None:
    """Runs and pairs may name only what can be shown."""
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
                    f"{what} {len(absent):,} {several} that the study lacks: {shown}; add them, or take them out"
                )


def _known(settings: Settings, path: Path, role: str, tree: Taxonomy | None) -> planning.Work:
    """Tasks whose answer is known, with answers that the screen can give."""
    frame = read_known(path, has_query=settings.shape.asks_query)
    grades = {f"{grade.value:g}" for grade in settings.shape.grades}
    wanted = set(tree.categories) if settings.shape.kind == "file" and tree is not None else grades
    if settings.shape.kind != "rank":
        given = [one.removesuffix(".0") if settings.shape.kind == "rate" else one for one in frame["expected"]]
        frame = frame.with_columns(pl.Series("expected", given, dtype=pl.String))
        for at, one in enumerate(given, start=1):
            if one not in wanted:
                raise FileError(
                    str(path),
                    f"row {at}: {one!r} is not an answer of screen {settings.screen!r}",
                    f"expected one of {', '.join(sorted(wanted)[:12])}",
                )
    return planning.known(frame, role, settings.items_per_task)
