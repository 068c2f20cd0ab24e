"""endoxa study: ask people, in the browser."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.errors import InstallError, TextError

if TYPE_CHECKING:
    from endoxa.store.home import Home

study = typer.Typer(
    name="study",
    help="Ask people: set up a study, invite judges by link, watch it, take the answers out.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
PORT = 8765

Where = Annotated[
    str, typer.Option("--home", metavar="DIR", help="Folder that holds the studies.", envvar="ENDOXA_HOME")
]
Database = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="PostgreSQL instead of SQLite in the folder.", envvar="ENDOXA_DB"),
]
Name = Annotated[str, typer.Argument(metavar="STUDY", help="Name of the study.")]
Items = Annotated[
    str | None,
    typer.Option("--items", metavar="PATH", help="Folder of pictures or texts, or a table: item, text, file."),
]
Queries = Annotated[
    str | None,
    typer.Option("--queries", metavar="PATH", help="The same for queries: a table of query and text or file."),
]
Runs = Annotated[
    list[str] | None, typer.Option("--run", metavar="FILE", help="A run to draw results from; several times.")
]
Pairs = Annotated[
    str | None, typer.Option("--pairs", metavar="FILE", help="Pairs to ask, as `endoxa next -o csv` writes them.")
]
Tree = Annotated[
    str | None, typer.Option("--taxonomy", metavar="FILE", help="Categories: category and parent, or paths a/b/c.")
]
Practice = Annotated[
    str | None, typer.Option("--practice", metavar="FILE", help="Practice first: query, item, expected.")
]
Gold = Annotated[
    str | None, typer.Option("--gold", metavar="FILE", help="Known answers in between: query, item, expected.")
]
Attention = Annotated[
    str | None, typer.Option("--attention", metavar="FILE", help="Attention checks in between: query, item, expected.")
]
FOLDER = "endoxa-studies"


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.add_typer(study)


@contextmanager
def _home(folder: str, database: str | None, *, create: bool = False) -> Iterator[Home]:
    try:
        from endoxa.store.home import open_home
    except ModuleNotFoundError as error:
        raise InstallError(f"{error.name} is not installed; pip install 'endoxa[studio]'") from None
    with open_home(Path(folder), database, create=create) as home:
        yield home


def _sources(**parts: Any) -> Any:
    from endoxa.io.study_files import sources_of

    given = {name: value for name, value in parts.items() if value}
    for name, value in given.items():
        for one in [value] if isinstance(value, str) else value:
            if not Path(one).exists() and not any(c in one for c in "*?["):
                option = "--run" if name == "runs" else f"--{name}"
                raise typer.BadParameter(f"{option}: there is no {one}")
    return sources_of(given, Path(), "endoxa study")


@study.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME|STUDY.toml", help="A name, or a study file that says it all.")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN…]", help="Runs to draw results from, as with --run.")
    ] = None,
    screen: Annotated[
        str | None,
        typer.Option("--screen", help="four-results, one-result, yes-no, five-levels, file-it or rank-it."),
    ] = None,
    items: Items = None,
    queries: Queries = None,
    runs: Runs = None,
    pairs: Pairs = None,
    taxonomy: Tree = None,
    practice: Practice = None,
    gold: Gold = None,
    attention: Attention = None,
    title: Annotated[str | None, typer.Option("--title", help="What judges read on top.")] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", help="What judges are told; @FILE reads it from a file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting: overlap=2, gamma=2, comments=true …"),
    ] = None,
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Set up a study.

    Results are drawn from the runs by rank^-gamma mixed with a uniform floor, and the probability of each is kept;
    some tasks go to every judge, so that judges can be calibrated.

    [bold]Examples[/bold]

      endoxa study new pets runs/*.run --screen four-results --items photos/ --set overlap=2

      endoxa study new faq --screen yes-no --items docs.csv --queries queries.csv --pairs judge.csv

      endoxa study new animals --screen file-it --items photos/ --taxonomy tree.txt --set hide_tree=true

      endoxa study new study.toml
    """
    runs = [*(runs or []), *(more or [])] or None
    given = {"title": title, "instructions": _words(instructions), **_settings(settings)}
    given = {key: value for key, value in given.items() if value is not None}
    with _home(home, db, create=True) as place:
        from endoxa.io.study_files import read_study
        from endoxa.store import making
        from endoxa.studies.design import Settings

        if name.endswith(".toml"):
            if any((screen, items, queries, runs, pairs, taxonomy, practice, gold, attention, given)):
                raise typer.BadParameter("a study file says it all; put the other settings into it")
            wanted, sources = read_study(Path(name))
        else:
            if screen is None:
                raise typer.BadParameter(f"--screen is missing: {', '.join(_screens())}")
            wanted = o.at_call(lambda: Settings.of({"name": name, "screen": screen, **given}))
            sources = _sources(
                items=items, queries=queries, runs=runs, pairs=pairs, taxonomy=taxonomy, practice=practice, gold=gold,
                attention=attention,
            )  # fmt: skip
        with show.progress_bar() as progress:
            made = making.make(place, wanted, sources, now=time.time(), progress=progress)
    print(f"study {made.study.name!r}: {made.tasks:,} tasks on screen {wanted.screen}")
    for line in made.notes:
        print(f"  {line}")
    where = "" if home == FOLDER else f" --home {home}"
    print(f"next: endoxa study invite {made.study.name} ana ben{where}, then endoxa study serve{where}")


def _screens() -> list[str]:
    from endoxa.studies.design import SCREENS

    return list(SCREENS)


def _words(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return text
    path = Path(text[1:])
    if not path.exists():
        raise typer.BadParameter(f"--instructions: there is no file {path}")
    return path.read_text(encoding="utf-8")


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE, as TOML would read the value; what is no TOML is text."""
    import tomllib

    found: dict[str, Any] = {}
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set reads KEY=VALUE, not {pair!r}")
        try:
            found[key] = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


@study.command("import")
def import_(
    name: Name,
    answers: Annotated[
        list[str] | None, typer.Argument(metavar="[ANSWERS…]", help="Earlier answers: source, query, item, grade.")
    ] = None,
    items: Items = None,
    queries: Queries = None,
    pairs: Pairs = None,
    practice: Practice = None,
    gold: Gold = None,
    attention: Attention = None,
    further: Annotated[
        bool, typer.Option("--round", help="Plan a further round, chosen from the answers so far.")
    ] = False,
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Add to a study: items, queries, pairs, known answers, answers that were given elsewhere, a further round.

    [bold]Examples[/bold]

      endoxa study import pets earlier.csv

      endoxa study import pets --pairs judge.csv

      endoxa study import pets --round
    """
    sources = _sources(items=items, queries=queries, pairs=pairs, practice=practice, gold=gold, attention=attention)
    if not (answers or further or any((items, queries, pairs, practice, gold, attention))):
        raise typer.BadParameter("nothing to import; name a file of answers, or --items, --pairs, --gold, --round …")
    with _home(home, db) as place:
        from endoxa.io.read import read
        from endoxa.store import making
        from endoxa.tables import Opinions

        if any((items, queries, pairs, practice, gold, attention)):
            with show.progress_bar() as progress:
                made = making.add(place, name, sources, now=time.time(), progress=progress)
            print("\n".join(made.notes))
        for path in answers or []:
            table = read(path, kind="qrels", assessors=True)
            assert isinstance(table, Opinions)
            print(f"{path}: {making.add_answers(place, name, table, now=time.time())}")
        if further:
            made = making.next_round(place, name, now=time.time())
            print("\n".join(made.notes))


@study.command("invite")
def invite(
    name: Name,
    nicknames: Annotated[list[str] | None, typer.Argument(metavar="[NICKNAME…]", help="One link each.")] = None,
    count: Annotated[
        int, typer.Option("--count", help="So many links more, whose holders choose a nickname.", min=0)
    ] = 0,
    participant: Annotated[
        bool, typer.Option("--participant", help="For people who send in runs, not for judges.")
    ] = False,
    days: Annotated[float, typer.Option("--days", help="How long a link opens.")] = 30,
    withdraw: Annotated[
        list[str] | None,
        typer.Option("--withdraw", metavar="NICKNAME|NUMBER", help="Withdraw the link of that judge or number."),
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", help="Where people reach the server; what `serve` said last otherwise.")
    ] = None,
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Print a link for each judge. A link opens the same judge's work again and again, until it expires.

    Links are shown once: the store keeps only their digest.

    [bold]Examples[/bold]

      endoxa study invite pets ana ben

      endoxa study invite pets --count 20 --days 7

      endoxa study invite pets --withdraw 3
    """
    if not nicknames and not count and not withdraw:
        raise typer.BadParameter("say whom: nicknames, or --count 20; or --withdraw NUMBER")
    with _home(home, db) as place:
        from endoxa.store import people, studies

        base = (url or _address(place)).rstrip("/")
        now = time.time()
        role = "participant" if participant else "judge"
        with place.store.writing() as connection:
            found = studies.find(connection, name)
            for who in withdraw or []:
                for number in _numbers(people.invitations(connection, found), who, now):
                    people.withdraw(connection, found, number, now=now)
                    print(f"withdrew {number} ({who})")
            lines = []
            for nickname in [*(nicknames or []), *[None] * count]:
                number, token = people.invite(connection, place.key, found, role, nickname=nickname, days=days, now=now)
                lines.append(f"{number}\t{nickname or '(chooses a nickname)'}\t{base}/join/{token}")
        print("\n".join(lines))
        if lines and url is None and not (place.folder / "address").exists():
            show.note(
                f"! the server has not run here yet: links hold for {base}; if people reach it elsewhere, say --url"
            )


def _numbers(invitations: list[Any], who: str, now: float) -> list[int]:
    """The open invitations of a nickname, or the one of that number."""
    if who.isdigit():
        return [int(who)]
    found = [one.id for one in invitations if one.nickname == who and one.state(now) in {"open", "used"}]
    if not found:
        known = ", ".join(f"{one.id} {one.nickname or '(no nickname yet)'}" for one in invitations) or "none"
        raise TextError(f"nobody called {who!r} has a link that opens; links of this study: {known}")
    return found


def _address(place: Home) -> str:
    path = place.folder / "address"
    return path.read_text(encoding="utf-8").strip() if path.exists() else f"http://127.0.0.1:{PORT}"


@study.command("serve")
def serve(
    host: Annotated[str, typer.Option("--host", help="0.0.0.0 lets others on the network in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = PORT,
    url: Annotated[
        str | None, typer.Option("--url", help="Where people reach it, if not at host and port (behind a proxy).")
    ] = None,
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Serve the studies. Prints the organiser's link, which works once.

    [bold]Examples[/bold]

      endoxa study serve

      endoxa study serve --host 0.0.0.0 --url https://judge.example.org
    """
    with _home(home, db) as place:
        from endoxa.web.serving import serve as run

        def tell(address: str, link: str) -> None:
            print(f"serving {place.folder} at {address} (stop with Ctrl-C)\norganiser, once: {link}", flush=True)
            if host not in {"127.0.0.1", "::1", "localhost"} and not address.startswith("https://"):
                show.note(
                    "! others can reach this without encryption; put a proxy with https in front for the open net"
                )
            if host in {"0.0.0.0", "::"} and url is None:
                show.note(f"! links say {address}; if people reach this machine by another name, say --url")

        run(place, host, port, url, tell=tell)


@study.command("status")
def status(
    name: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="Without it: all studies.")] = None,
    form: Annotated[str, typer.Option("-o", "--output", metavar="table|json")] = "table",
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Say where a study stands: progress, agreement, judges, and the verdict on the systems so far.

    The intervals of the verdict hold whenever you look, so you may stop when you have seen enough.

    [bold]Examples[/bold]

      endoxa study status

      endoxa study status pets
    """
    if form not in {"table", "json"}:
        raise typer.BadParameter(f"-o is table or json, not {form!r}")
    with _home(home, db) as place:
        from endoxa.store import status as now
        from endoxa.store import studies

        with place.store.reading() as connection:
            names = [name] if name else [one.name for one in reversed(studies.listed(connection))]
            found = [now.status(connection, studies.find(connection, one), now=time.time()) for one in names]
    if form == "json":
        print(json.dumps(found[0] if name else found, indent=1, ensure_ascii=False))
        return
    from endoxa.reports.study_status import status_lines

    if not found:
        print("no study yet; endoxa study new --help shows how to make one")
    print("\n\n".join("\n".join(status_lines(one)) for one in found))


@study.command("export")
def export(
    name: Name,
    to: Annotated[str, typer.Option("--to", metavar="FILE", help=".csv, .jsonl, .parquet, or .qrels.")],
    history: Annotated[
        bool, typer.Option("--history", help="Every row ever added, undone and skipped ones too.")
    ] = False,
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Write the answers to a file that the other verbs read. In .qrels column 2 is the judge.

    [bold]Examples[/bold]

      endoxa study export pets --to answers.parquet

      endoxa ratings answers.parquet runs/*.run --to ratings.html
    """
    forms = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet", ".qrels": "qrels", ".txt": "qrels"}
    form = forms.get(Path(to).suffix.lower())
    if form is None:
        raise typer.BadParameter(f"--to ends in {', '.join(forms)}, not {Path(to).suffix or 'nothing'!r}")
    with _home(home, db) as place:
        from endoxa.store import exports, studies

        with place.store.reading() as connection:
            rows = exports.export(connection, studies.find(connection, name), Path(to), form, history=history)
            least = studies.find(connection, name).settings.shape.scale[0]
    show.note(f"wrote {rows:,} rows to {to}")
    if form == "qrels" and least >= 1:
        show.note(f"! grades begin at {least:g}: say from which on is relevant when you measure (-l 4)")


@study.command("bundle")
def bundle(
    name: Name,
    to: Annotated[str, typer.Option("--to", metavar="FILE.zip", help="Where to.")],
    files: Annotated[bool, typer.Option("--files", help="Put the pictures in too; else their hashes.")] = False,
    runs: Annotated[bool, typer.Option("--runs", help="Put the runs in too.")] = False,
    home: Where = FOLDER,
    db: Database = None,
) -> None:
    """Write a benchmark that others can score a new system with: endoxa eval FILE.zip new.run.

    [bold]Examples[/bold]

      endoxa study bundle pets --to pets.zip

      endoxa eval pets.zip new.run
    """
    if not to.endswith(".zip"):
        raise TextError(f"a bundle is a zip; --to ends in .zip, not {Path(to).suffix or 'nothing'!r}")
    with _home(home, db) as place:
        from endoxa.io.bundles import write_bundle
        from endoxa.store import exports, studies

        with place.store.reading() as connection:
            found = studies.find(connection, name)
            made = exports.bundle(connection, found, now=time.time(), with_runs=runs, with_files=files)
        write_bundle(made, to, files=exports.files_of(made, place.files) if files else None)
    counts = ", ".join(f"{count:,} {what}" for what, count in made.counts.items())
    show.note(f"wrote {to}: {counts}" + ("" if made.licence else "; no licence is set, so nobody may use it"))
