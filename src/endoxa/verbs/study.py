"""Studies with people: set up a study, invite judges, serve it, watch it, export the answers.

Each function opens the folder `home` (or the database at `db`), does one thing and closes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.errors import CallError, TextError
from endoxa.extras import need
from endoxa.frozen import dataclass
from endoxa.verbs.parameters import PathLike

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
Progress = Callable[[str, int, int], None]


def text_of(typed: str) -> str:
    """The text itself, or the content of @FILE."""
    if not typed.startswith("@"):
        return typed
    path = Path(typed[1:])
    if not path.exists():
        raise CallError(f"--instructions: there is no file {path}")
    return path.read_text(encoding="utf-8")


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE with the value in TOML syntax; any other value is text."""
    import tomllib

    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise CallError(f"--set reads KEY=VALUE, not {pair!r}")
        try:
            found[key] = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


Where = Annotated[PathLike, option("Folder of the studies.", "--home", metavar="DIR", envvar="ENDOXA_HOME")]
Database = Annotated[
    str | None, option("PostgreSQL database to use instead of SQLite.", metavar="URL", envvar="ENDOXA_DB")
]
Name = Annotated[str, argument("Name of the study.", "STUDY")]
Items = Annotated[PathLike | None, option("Folder of pictures or texts, or a table: item, text, file.", metavar="PATH")]
Queries = Annotated[PathLike | None, option("Queries in the same form: query, text, file.", metavar="PATH")]
Pairs = Annotated[PathLike | None, option("Pairs to ask, as `endoxa next -o csv` writes them.", metavar="FILE")]
Practice = Annotated[PathLike | None, option("Practice items: query, item, expected.", metavar="FILE")]
Gold = Annotated[PathLike | None, option("Gold items: query, item, expected.", metavar="FILE")]
Attention = Annotated[PathLike | None, option("Attention checks: query, item, expected.", metavar="FILE")]
Title = Annotated[str | None, option("Title that judges see, apart from the name.")]
Question = Annotated[str | None, option("Question above every task. Default: that of the screen.")]
Instructions = Annotated[str | None, option("Instructions for judges; @FILE reads them from a file.", parse=text_of)]


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
    name: Name,
    answers: Annotated[Sequence[PathLike], argument("Earlier answers: source, query, item, grade.", "[ANSWERS…]")] = (),
    *, items: Items = None, queries: Queries = None, pairs: Pairs = None, practice: Practice = None, gold: Gold = None,
    attention: Attention = None,
    further_round: Annotated[bool, option("Plan a further round, chosen from the answers so far.", "--round")] = False,
    home: Where = FOLDER, db: Database = None, now: float | None = None, progress: Progress | None = None,
) -> list[str]:  # fmt: skip
    """Add to a study: items, queries, pairs, known answers, answers from elsewhere, a further round.

    Returns sentences about each.

    Examples:
        endoxa study import pets earlier.csv
        endoxa study import pets --pairs judge.csv
        endoxa study import pets --round
    """
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
        from endoxa.store import making
        from endoxa.verbs.inputs import opinions_of

        if any(parts.values()):
            notes += making.add(opened, name, sources, now=_moment(now), progress=progress).notes
        for path in answers:
            table = opinions_of(str(path), assessors=True)
            notes.append(f"{path}: {making.add_answers(opened, name, table, now=_moment(now))}")
        if further_round:
            notes += making.next_round(opened, name, now=_moment(now)).notes
    return notes


def invite(
    name: Name,
    nicknames: Annotated[Sequence[str], argument("One link each.", "[NICKNAME…]")] = (),
    *,
    count: Annotated[int, option("Number of further links whose owners choose a nickname.", least=0)] = 0,
    participant: Annotated[bool, option("Invite participants, who submit runs, instead of judges.")] = False,
    days: Annotated[float, option("Number of days for which the links are valid.")] = 30,
    withdraw: Annotated[
        Sequence[str], option("Withdraw the link with that nickname or number.", metavar="NICKNAME|NUMBER")
    ] = (),
    url: Annotated[
        str | None, option("Address at which people reach the server; by default that of the last `serve`.")
    ] = None,
    home: Where = FOLDER,
    db: Database = None,
    now: float | None = None,
) -> Invited:
    """Print a link for each judge. Until it expires, a link always opens the same judge's work.

    Makes a link for each nickname and `count` links whose owners choose one; withdraws links by nickname or number.

    Examples:
        endoxa study invite pets ana ben
        endoxa study invite pets --count 20 --days 7
        endoxa study invite pets --withdraw 3
    """
    if not nicknames and not count and not withdraw:
        raise TextError("name the people to invite: nicknames, or --count 20; or --withdraw NUMBER")
    moment, role = _moment(now), "participant" if participant else "judge"
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
    name: Annotated[str | None, argument("Name of the study; without it, all studies.", "[STUDY]")] = None, *,
    home: Where = FOLDER, db: Database = None, now: float | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Show the status of a study: progress, agreement, judges, and the verdict on the systems so far.

    Returns plain values, of one study, or of all from the oldest to the newest.

    Examples:
        endoxa study status
        endoxa study status pets
    """
    with opened_home(home, db) as opened:
        from endoxa.store import catalogue
        from endoxa.store.status import status as status_of

        with opened.store.reading() as connection:
            found = [catalogue.find(connection, name)] if name else catalogue.listed(connection)[::-1]
            return [status_of(connection, study, now=_moment(now)) for study in found]


def studies(*, home: Where = FOLDER, db: Database = None) -> pl.DataFrame:
    """List the studies, the newest first. An assignment is a task for one judge.

    The columns are study, title, state, screen, done, planned, judges, answers, made.

    Examples:
        endoxa study list
    """
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
    name: Name, *, title: Title = None, question: Question = None, instructions: Instructions = None,
    settings: Annotated[
        Mapping[str, Any] | None,
        option("Other texts: comments=true, licence=CC0.", "--set", metavar="KEY=VALUE", many=True, parse=settings_of),
    ] = None,
    home: Where = FOLDER, db: Database = None, now: float | None = None,
) -> Edited:  # fmt: skip
    """Change the title, the question or the instructions. Judges see the new words with their next page.

    By `settings` also comments and licence. The old texts are recorded.

    Examples:
        endoxa study edit pets --title "Which pictures match?" --question "Does it show the same animal?"
        endoxa study edit pets --instructions @instructions.txt --set comments=true
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
    name: Name, *, reopen: Annotated[bool, option("Open a closed study again.")] = False, home: Where = FOLDER,
    db: Database = None, now: float | None = None,
) -> None:  # fmt: skip
    """Stop taking answers. The study keeps all it has, and can be opened again.

    Examples:
        endoxa study close pets
        endoxa study close pets --reopen
    """
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
    name: Name,
    to: Annotated[PathLike, option("File to write: .csv, .jsonl, .parquet or .qrels.", metavar="FILE")],
    *, history: Annotated[bool, option("Write every row, including undone and skipped answers.")] = False,
    home: Where = FOLDER, db: Database = None,
) -> Exported:  # fmt: skip
    """Write the answers to a file that the other verbs read. In .qrels column 2 is the judge.

    Examples:
        endoxa study export pets --to answers.parquet
        endoxa ratings answers.parquet runs/*.run --to ratings.html
    """
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
    name: Name,
    to: Annotated[PathLike, option("File to write.", metavar="FILE.zip")],
    *, files: Annotated[bool, option("Include the pictures; otherwise only their hashes.")] = False,
    runs: Annotated[bool, option("Include the runs.")] = False, home: Where = FOLDER, db: Database = None,
    now: float | None = None,
) -> Bundle:  # fmt: skip
    """Write a benchmark with which others can score a new system: endoxa eval FILE.zip new.run.

    Examples:
        endoxa study bundle pets --to pets.zip
        endoxa eval pets.zip new.run
    """
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
