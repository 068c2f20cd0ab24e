"""Studies with people: set up a study, invite judges, serve it, watch it, export the answers.

Each function opens the folder `home` (or the database at `db`), does one thing and closes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endoxa.errors import TextError
from endoxa.extras import need
from endoxa.frozen import dataclass

if TYPE_CHECKING:
    import polars as pl

    from endoxa.io.study_files import Sources
    from endoxa.store.catalogue import Study
    from endoxa.store.home import Home
    from endoxa.store.making import Planned
    from endoxa.studies.design import Settings
    from endoxa.tables import Bundle, Opinions

FOLDER = "endoxa-studies"
PORT = 8765
FORMS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".qrels": "qrels", ".txt": "qrels"}
PathLike = str | Path
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Link:
    """An invitation; its link cannot be shown again. The nickname is None where the judge chooses one."""

    number: int
    nickname: str | None
    url: str


@dataclass(frozen=True)
class Invited:
    """The outcome of `invite`: new links, and the numbers of withdrawn ones with the names that were given.

    address        the address of the server in the links
    is_assumed     whether that address is a guess, because no server has run yet and no `url` was given
    is_closed      whether the study accepts no answers now
    """

    links: tuple[Link, ...]
    withdrawn: tuple[tuple[int, str], ...]
    address: str
    is_assumed: bool
    is_closed: bool


@dataclass(frozen=True)
class Edited:
    """The outcome of `edit`: the study, and the number of answers that were given to the old words."""

    study: Study
    answers: int


@dataclass(frozen=True)
class Exported:
    """The outcome of `export`: the number of rows, the form, and the lowest grade of the scale."""

    rows: int
    form: str
    lowest: float


def new(
    name: PathLike, *, screen: str | None = None, items: PathLike | None = None, queries: PathLike | None = None,
    runs: Sequence[PathLike] = (), pairs: PathLike | None = None, taxonomy: PathLike | None = None,
    practice: PathLike | None = None, gold: PathLike | None = None, attention: PathLike | None = None,
    settings: Mapping[str, Any] | None = None, home: PathLike = FOLDER, db: str | None = None,
    now: float | None = None, progress: Progress | None = None,
) -> Planned:  # fmt: skip
    """Set up a study, from a name and its parts or from a study file (`.toml`) that contains everything.

    `settings` are the other keys of a study file, such as title, overlap and gamma; an unknown one is refused.
    """
    parts = {
        "items": items, "queries": queries, "runs": runs, "pairs": pairs, "taxonomy": taxonomy, "practice": practice,
        "gold": gold, "attention": attention,
    }  # fmt: skip
    if str(name).endswith(".toml"):
        from endoxa.io.study_files import read_study

        if screen or settings or any(parts.values()):
            raise TextError("a study file contains all settings", remedy="put the other settings into the file")
        wanted, sources = read_study(Path(name))
    elif screen is None:
        raise TextError(f"a study needs a screen (--screen): {', '.join(screens())}")
    else:
        from endoxa.studies.design import Settings

        wanted = Settings.of({"name": str(name), "screen": screen, **(settings or {})})
        sources = _sources(parts)
    return make(wanted, sources, home=home, db=db, now=_moment(now), progress=progress)


def make(
    settings: Settings, sources: Sources, *, answers: Opinions | None = None, home: PathLike, db: str | None,
    now: float, progress: Progress | None,
) -> Planned:  # fmt: skip
    """Enter a study with earlier answers. The home is made only after all input was read and checked."""
    need("store")
    from endoxa.store import making
    from endoxa.store.home import staging

    with staging(Path(home)) as pictures:
        draft = making.draft(settings, sources, pictures, progress=progress)
        with opened_home(home, db, create=True) as opened:
            return making.enter(opened, draft, now=now, answers=answers)


def screens() -> list[str]:
    """The names of all screens."""
    from endoxa.studies import kinds  # noqa: F401 (a kind may register a screen)
    from endoxa.studies.design import SCREENS

    return list(SCREENS)


def add(
    name: str, *, answers: Sequence[PathLike] = (), items: PathLike | None = None, queries: PathLike | None = None,
    pairs: PathLike | None = None, practice: PathLike | None = None, gold: PathLike | None = None,
    attention: PathLike | None = None, further_round: bool = False, home: PathLike = FOLDER, db: str | None = None,
    now: float | None = None, progress: Progress | None = None,
) -> list[str]:  # fmt: skip
    """Add items, queries, pairs, known answers, earlier answers or a further round to a study; sentences about each."""
    parts = {
        "items": items, "queries": queries, "pairs": pairs, "practice": practice, "gold": gold, "attention": attention,
    }  # fmt: skip
    sources = _sources(parts)
    if not (answers or further_round or any(parts.values())):
        raise TextError(
            "there is nothing to import", remedy="name a file of answers, or use --items, --pairs, --gold, --round …"
        )
    notes: list[str] = []
    with opened_home(home, db) as opened:
        from endoxa.io.read import read
        from endoxa.store import making
        from endoxa.tables import Opinions

        if any(parts.values()):
            notes += making.add(opened, name, sources, now=_moment(now), progress=progress).notes
        for path in answers:
            table = read(str(path), kind="qrels", assessors=True)
            assert isinstance(table, Opinions)
            notes.append(f"{path}: {making.add_answers(opened, name, table, now=_moment(now))}")
        if further_round:
            notes += making.next_round(opened, name, now=_moment(now)).notes
    return notes


def invite(
    name: str, nicknames: Sequence[str] = (), *, count: int = 0, role: str = "judge", days: float = 30,
    withdraw: Sequence[str] = (), url: str | None = None, home: PathLike = FOLDER, db: str | None = None,
    now: float | None = None,
) -> Invited:  # fmt: skip
    """Make a link for each nickname and `count` links whose owners choose one; withdraw links by nickname or number."""
    if not nicknames and not count and not withdraw:
        raise TextError("name the people to invite: nicknames, or --count 20; or --withdraw NUMBER")
    moment = _moment(now)
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue, people

        last = opened.address
        address = (url or last or f"http://127.0.0.1:{PORT}").rstrip("/")
        links, withdrawn = [], []
        with opened.store.writing() as connection:
            study = catalogue.find(connection, name)
            for who in withdraw:
                for number in people.numbers_of(people.invitations(connection, study), who, moment):
                    people.withdraw(connection, study, number, now=moment)
                    withdrawn.append((number, who))
            for nickname in [*nicknames, *[None] * count]:
                number, token = people.invite(
                    connection, opened.key, study, role, nickname=nickname, days=days, now=moment
                )
                links.append(Link(number, nickname, f"{address}/join/{token}"))
    return Invited(tuple(links), tuple(withdrawn), address, url is None and last is None, study.state != "open")


def serve(
    *, host: str = "127.0.0.1", port: int = PORT, url: str | None = None, home: PathLike = FOLDER,
    db: str | None = None, started: Callable[[str, str], None],
) -> None:  # fmt: skip
    """Serve all studies until stopped. `started` gets the address and the organiser's link, which works once."""
    need("studio")
    with opened_home(home, db) as opened:
        from endoxa.web.studies.hosting import serve as host_studies

        host_studies(opened, host, port, url, started=started)


def status(
    name: str | None = None, *, home: PathLike = FOLDER, db: str | None = None, now: float | None = None
) -> list[dict[str, Any]]:
    """The status of one study, or of all from the oldest to the newest, as plain values."""
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue
        from endoxa.store.status import status as status_of

        with opened.store.reading() as connection:
            found = [catalogue.find(connection, name)] if name else catalogue.listed(connection)[::-1]
            return [status_of(connection, study, now=_moment(now)) for study in found]


def studies(*, home: PathLike = FOLDER, db: str | None = None) -> pl.DataFrame:
    """All studies, the newest first: study, title, state, screen, done, planned, judges, answers, made."""
    import polars as pl

    with opened_home(home, db) as opened:
        from endoxa.store import catalogue, records

        with opened.store.reading() as connection:
            rows = []
            for study in catalogue.listed(connection):
                far = records.progress(connection, study)
                rows.append({
                    "study": study.name, "title": study.settings.heading, "state": study.state,
                    "screen": study.settings.screen, "done": far["done"], "planned": far["planned"],
                    "judges": far["raters"], "answers": records.answers_now(connection, study),
                    "made": datetime.fromtimestamp(study.created_at, UTC),
                })  # fmt: skip
    schema = dict.fromkeys(("study", "title", "state", "screen"), pl.String)
    whole = dict.fromkeys(("done", "planned", "judges", "answers"), pl.Int64)
    return pl.DataFrame(rows, schema={**schema, **whole, "made": pl.Datetime("us", "UTC")})


def edit(
    name: str, *, title: str | None = None, question: str | None = None, instructions: str | None = None,
    settings: Mapping[str, Any] | None = None, home: PathLike = FOLDER, db: str | None = None,
    now: float | None = None,
) -> Edited:  # fmt: skip
    """Change texts of a study: title, question, instructions; by `settings` also comments and licence.

    What stored answers and planned tasks rest on (screen, gamma, overlap …) is refused. The old texts are recorded.
    """
    texts = {"title": title, "question": question, "instructions": instructions}
    changes = {key: value for key, value in {**texts, **(settings or {})}.items() if value is not None}
    if not changes:
        raise TextError("there is nothing to change", remedy="give --title, --question or --instructions")
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue, records

        with opened.store.writing() as connection:
            study = catalogue.find(connection, name)
            answers = records.answers_now(connection, study)
            return Edited(catalogue.edit(connection, study, changes, now=_moment(now)), answers)


def close(
    name: str, *, reopen: bool = False, home: PathLike = FOLDER, db: str | None = None, now: float | None = None
) -> None:
    """Close a study: it accepts no answers and keeps all it has. `reopen` opens it again."""
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue

        with opened.store.writing() as connection:
            study = catalogue.find(connection, name)
            catalogue.set_state(connection, study, "open" if reopen else "closed", now=_moment(now))


def delete(
    name: str, *, export_to: PathLike | None = None, home: PathLike = FOLDER, db: str | None = None,
    now: float | None = None,
) -> Exported | None:  # fmt: skip
    """Hide a study for good, after an export of its answers to the file `export_to`, if one is named.

    No command and no page shows it again, its links no longer open, and its name is free. The rows of its answers
    stay in the database, because answers are only added to; remove the folder or the database to erase them.
    """
    exported = export(name, export_to, home=home, db=db) if export_to is not None else None
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue

        with opened.store.writing() as connection:
            catalogue.delete(connection, catalogue.find(connection, name), now=_moment(now))
    return exported


def export(
    name: str, to: PathLike, *, history: bool = False, home: PathLike = FOLDER, db: str | None = None
) -> Exported:
    """Write the answers to a file that the other verbs read; its suffix decides the form."""
    target = Path(to)
    form = FORMS.get(target.suffix.lower())
    if form is None:
        raise TextError(f"--to ends in {', '.join(FORMS)}, not in {target.suffix or 'nothing'!r}")
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue, exports

        with opened.store.reading() as connection:
            study = catalogue.find(connection, name)
            rows = exports.export(connection, study, target, form, history=history)
    return Exported(rows, form, study.settings.shape.scale[0])


def bundle(
    name: str, to: PathLike, *, files: bool = False, runs: bool = False, home: PathLike = FOLDER,
    db: str | None = None, now: float | None = None,
) -> Bundle:  # fmt: skip
    """Write a benchmark (`.zip`) with which others can score a new system."""
    if Path(to).suffix != ".zip":
        raise TextError("a bundle is a zip file", remedy=f"--to ends in .zip, not in {Path(to).suffix or 'nothing'!r}")
    with opened_home(home, db) as opened:
        from endoxa.io.bundles import write_bundle
        from endoxa.store import catalogue, exports

        with opened.store.reading() as connection:
            study = catalogue.find(connection, name)
            benchmark = exports.bundle(connection, study, now=_moment(now), with_runs=runs, with_files=files)
        write_bundle(benchmark, str(to), files=exports.files_of(benchmark, opened.files) if files else None)
    return benchmark


@contextmanager
def opened_home(home: PathLike, db: str | None, *, create: bool = False) -> Iterator[Home]:
    """The folder or database of studies, opened. Nothing in it is removed at the end, whatever happens."""
    need("store")
    from endoxa.store.home import open_home

    with open_home(Path(home), db, create=create) as opened:
        yield opened


def _sources(parts: Mapping[str, PathLike | Sequence[PathLike] | None]) -> Sources:
    """The paths of the parts; a missing one is an error that names its option."""
    from endoxa.io.missing_files import near_file
    from endoxa.io.read import is_there
    from endoxa.io.study_files import sources_of

    given: dict[str, Any] = {}
    for name, value in parts.items():
        if not value:
            continue
        paths = [str(value)] if isinstance(value, str | Path) else [str(one) for one in value]
        for path in paths:
            if not is_there(path) and not any(c in path for c in "*?["):
                which = "runs" if name == "runs" else f"--{name}"  # runs are given without an option too
                raise TextError(f"{which}: there is no {path}", remedy=near_file(path))
        given[name] = paths if name == "runs" else paths[0]
    return sources_of(given, Path(), "endoxa study")


def _moment(now: float | None) -> float:
    return time.time() if now is None else now
