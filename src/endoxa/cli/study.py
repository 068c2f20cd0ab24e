"""endoxa study: collect answers from people in the browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.cli.plain import App
from endoxa.errors import CallError
from endoxa.formatting import counted
from endoxa.verbs import study as verb

study = App(
    name="study",
    needs=("store",),
    help="Collect answers from people: set up a study, invite judges by link, watch it, change it, export the answers.",
)

Where = Annotated[str, typer.Option("--home", metavar="DIR", help="Folder of the studies.", envvar="ENDOXA_HOME")]
Database = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="PostgreSQL database to use instead of SQLite.", envvar="ENDOXA_DB"),
]
Name = Annotated[str, typer.Argument(metavar="STUDY", help="Name of the study.")]
Items = Annotated[
    str | None,
    typer.Option("--items", metavar="PATH", help="Folder of pictures or texts, or a table: item, text, file."),
]
Queries = Annotated[
    str | None, typer.Option("--queries", metavar="PATH", help="Queries in the same form: query, text, file.")
]
Runs = Annotated[
    list[str] | None, typer.Option("--run", metavar="FILE", help="A run to draw results from; can be repeated.")
]
Pairs = Annotated[
    str | None, typer.Option("--pairs", metavar="FILE", help="Pairs to ask, as `endoxa next -o csv` writes them.")
]
Tree = Annotated[
    str | None,
    typer.Option("--taxonomy", metavar="FILE", help="Categories: category and parent, or paths such as a/b/c."),
]
Practice = Annotated[
    str | None, typer.Option("--practice", metavar="FILE", help="Practice items: query, item, expected.")
]
Gold = Annotated[str | None, typer.Option("--gold", metavar="FILE", help="Gold items: query, item, expected.")]
Attention = Annotated[
    str | None, typer.Option("--attention", metavar="FILE", help="Attention checks: query, item, expected.")
]
Title = Annotated[str | None, typer.Option("--title", help="Title that judges see, apart from the name.")]
Question = Annotated[
    str | None, typer.Option("--question", help="Question above every task. Default: that of the screen.")
]
Instructions = Annotated[
    str | None, typer.Option("--instructions", help="Instructions for judges; @FILE reads them from a file.")
]


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.add_typer(study)


@study.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME|STUDY.toml", help="A name, or a study file with all settings.")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN…]", help="Runs to draw results from, as with --run.")
    ] = None,
    screen: Annotated[
        str | None,
        typer.Option(
            "--screen",
            help="four-results, one-result, yes-no, five-levels, file-it or rank-it; needed without a study file.",
        ),
    ] = None,
    items: Items = None,
    queries: Queries = None,
    runs: Runs = None,
    pairs: Pairs = None,
    taxonomy: Tree = None,
    practice: Practice = None,
    gold: Gold = None,
    attention: Attention = None,
    title: Title = None,
    question: Question = None,
    instructions: Instructions = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting: overlap=2, gamma=2, comments=true …"),
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Set up a study.

    Results are drawn from the runs by rank^-gamma, mixed with a uniform floor, and the probability of each is stored.
    Some tasks go to every judge, so that judges can be calibrated.

    [bold]Examples[/bold]

      endoxa study new pets runs/*.run --screen four-results --items photos/ --set overlap=2

      endoxa study new faq --screen yes-no --items docs.csv --queries queries.csv --pairs judge.csv

      endoxa study new animals --screen file-it --items photos/ --taxonomy tree.txt --set hide_tree=true

      endoxa study new study.toml
    """
    given = {"title": title, "question": question, "instructions": _text(instructions), **_settings(settings)}
    with output.progress_bar() as progress:
        planned = o.at_call(
            lambda: verb.new(
                name, screen=screen, items=items, queries=queries, runs=[*(runs or []), *(more or [])], pairs=pairs,
                taxonomy=taxonomy, practice=practice, gold=gold, attention=attention,
                settings={key: value for key, value in given.items() if value is not None}, home=home, db=db,
                progress=progress,
            )
        )  # fmt: skip
    where = "" if home == verb.FOLDER else f" --home {home}"
    screen_of = planned.study.settings.screen
    known = f", and {planned.known:,} more with a known answer (practice, gold, attention)" if planned.known else ""
    output.say(f"Study {planned.study.name!r} has {planned.tasks:,} tasks on screen {screen_of}{known}.")
    output.tell(*(f"  {line}" for line in planned.notes))
    output.tell(f"next: endoxa study invite {planned.study.name} ana ben{where}, then endoxa study serve{where}")


def _text(given: str | None) -> str | None:
    """The text itself, or the content of @FILE."""
    if given is None or not given.startswith("@"):
        return given
    path = Path(given[1:])
    if not path.exists():
        raise CallError(f"--instructions: there is no file {path}")
    return path.read_text(encoding="utf-8")


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE with the value in TOML syntax; any other value is text."""
    import tomllib

    found: dict[str, Any] = {}
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        if not sign:
            raise CallError(f"--set reads KEY=VALUE, not {pair!r}")
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
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Add to a study: items, queries, pairs, known answers, answers from elsewhere, a further round.

    [bold]Examples[/bold]

      endoxa study import pets earlier.csv

      endoxa study import pets --pairs judge.csv

      endoxa study import pets --round
    """
    with output.progress_bar() as progress:
        notes = o.at_call(
            lambda: verb.add(
                name, answers=answers or (), items=items, queries=queries, pairs=pairs, practice=practice, gold=gold,
                attention=attention, further_round=further, home=home, db=db, progress=progress,
            )
        )  # fmt: skip
    first, *others = notes or ["Nothing was added"]
    output.say(f"{first.rstrip('.')}.")
    output.tell(*others)


@study.command("invite")
def invite(
    name: Name,
    nicknames: Annotated[list[str] | None, typer.Argument(metavar="[NICKNAME…]", help="One link each.")] = None,
    count: Annotated[
        int, typer.Option("--count", help="Number of further links whose owners choose a nickname.", min=0)
    ] = 0,
    participant: Annotated[
        bool, typer.Option("--participant", help="Invite participants, who submit runs, instead of judges.")
    ] = False,
    days: Annotated[float, typer.Option("--days", help="Number of days for which the links are valid.")] = 30,
    withdraw: Annotated[
        list[str] | None,
        typer.Option("--withdraw", metavar="NICKNAME|NUMBER", help="Withdraw the link with that nickname or number."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", help="Address at which people reach the server; by default that of the last `serve`."),
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Print a link for each judge. Until it expires, a link always opens the same judge's work.

    Links are shown only once: the database stores only their digest.

    [bold]Examples[/bold]

      endoxa study invite pets ana ben

      endoxa study invite pets --count 20 --days 7

      endoxa study invite pets --withdraw 3
    """
    invited = o.at_call(
        lambda: verb.invite(
            name, nicknames or (), count=count, role="participant" if participant else "judge", days=days,
            withdraw=withdraw or (), url=url, home=home, db=db,
        )
    )  # fmt: skip
    for number, who in invited.withdrawn:
        output.emit(f"withdrew {number} ({who})", None)
    if invited.links and invited.is_closed:
        output.note(f"! study {name!r} is closed: its links take no answers until `endoxa study close {name} --reopen`")
    for link in invited.links:
        output.emit(f"{link.number}\t{link.nickname or '(chooses a nickname)'}\t{link.url}", None)
    if invited.links and invited.is_assumed:
        output.note(f"! no server has run here yet, so the links start with {invited.address}; --url gives another one")


@study.command("serve", needs=("studio",))
def serve(
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 0.0.0.0 accepts connections from the network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen at.")] = verb.PORT,
    url: Annotated[
        str | None, typer.Option("--url", help="Address at which people reach the server, such as that of a proxy.")
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Serve the studies. Prints the organiser's link, which works once.

    [bold]Examples[/bold]

      endoxa study serve

      endoxa study serve --host 0.0.0.0 --url https://judge.example.org
    """

    def started(address: str, link: str) -> None:
        output.say(f"serving {Path(home)} at {address} (stop with Ctrl-C)")
        output.tell(f"organiser, once: {link}")
        if host not in {"127.0.0.1", "::1", "localhost"} and not address.startswith("https://"):
            output.note("! connections are not encrypted; on the internet, put a proxy with https in front")
        if host in {"0.0.0.0", "::"} and url is None:
            output.note(f"! links start with {address}; if people use another name, give it with --url")

    verb.serve(host=host, port=port, url=url, home=home, db=db, started=started)


@study.command("status")
def status(
    name: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="Name of the study; without it, all studies.")
    ] = None,
    form: Annotated[str, typer.Option("-o", "--output", metavar="table|json", help="Form of the output.")] = "table",
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Show the status of a study: progress, agreement, judges, and the verdict on the systems so far.

    The intervals of the verdict are valid at any time, so you may stop the study whenever you like.

    [bold]Examples[/bold]

      endoxa study status

      endoxa study status pets
    """
    if form not in {"table", "json"}:
        raise CallError(f"-o is table or json, not {form!r}")
    found = verb.status(name, home=home, db=db)
    if form == "json":
        output.emit(json.dumps(found[0] if name else found, indent=1, ensure_ascii=False), None)
        return
    from endoxa.reports.study_status import status_answer, status_lines

    output.say(status_answer(found))
    for one in found:
        output.tell("", *status_lines(one))


@study.command("list")
def list_(home: Where = verb.FOLDER, db: Database = None) -> None:
    """List the studies, the newest first. An assignment is a task for one judge.

    [bold]Examples[/bold]

      endoxa study list
    """
    import polars as pl

    from endoxa.reports.study_status import counted

    found = verb.studies(home=home, db=db)
    output.say(counted(found["state"]))
    if not found.height:
        return
    done = pl.format("{} of {}", "done", "planned").alias("assignments")
    made = pl.col("made").dt.strftime("%Y-%m-%d")
    output.show_frame(found.select("study", "title", "state", "screen", done, "judges", "answers", made))


@study.command("edit")
def edit(
    name: Name,
    title: Title = None,
    question: Question = None,
    instructions: Instructions = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Other texts: comments=true, licence=CC0.")
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Change the title, the question or the instructions. Judges see the new words with their next page.

    What stored answers and planned tasks rest on cannot be changed: screen, overlap, gamma and the like.

    [bold]Examples[/bold]

      endoxa study edit pets --title "Which pictures match?" --question "Does it show the same animal?"

      endoxa study edit pets --instructions @instructions.txt --set comments=true
    """
    edited = o.at_call(
        lambda: verb.edit(
            name, title=title, question=question, instructions=_text(instructions), settings=_settings(settings),
            home=home, db=db,
        )
    )  # fmt: skip
    wording = edited.study.settings
    output.say(f"Study {name!r} asks {wording.asked!r}, under the title {wording.heading!r}.")
    if edited.answers and (question is not None or instructions is not None):
        output.note(f"! {edited.answers:,} answers were given to the old words, which are recorded beside the new ones")


@study.command("close")
def close(
    name: Name,
    reopen: Annotated[bool, typer.Option("--reopen", help="Open a closed study again.")] = False,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Stop taking answers. The study keeps all it has, and can be opened again.

    [bold]Examples[/bold]

      endoxa study close pets

      endoxa study close pets --reopen
    """
    verb.close(name, reopen=reopen, home=home, db=db)
    output.say(f"Study {name!r} is {'open: it accepts answers' if reopen else 'closed: it accepts no more answers'}.")


@study.command("delete")
def delete(
    name: Name,
    confirmed: Annotated[
        str | None, typer.Option("--confirm", metavar="STUDY", help="The name again, where nobody can be asked.")
    ] = None,
    to: Annotated[
        str | None, typer.Option("--export", metavar="FILE", help="First write the answers to this file.")
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Remove a study from every list and page, after an export of its answers if you want one.

    Its links no longer open, and its name is free again. The answers stay in the database, which only ever adds
    answers; remove the folder of the studies to erase them. To stop for a while, use `endoxa study close`.

    [bold]Examples[/bold]

      endoxa study delete pets

      endoxa study delete pets --export pets.csv --confirm pets
    """
    progress = verb.status(name, home=home, db=db)[0]["progress"]
    judges = counted(progress["raters"], "judge", "judges")
    counts = f"{counted(progress['answers'], 'answer', 'answers')} by {judges}"
    if confirmed is None:
        if not sys.stdin.isatty():
            raise CallError(f"study {name!r} has {counts}; repeat its name to delete it: --confirm {name}")
        output.prompt(f"Study {name!r} has {counts}.")
        if to is None and progress["answers"] and typer.confirm(f"Export them first, to {name}.csv?", default=True):
            to = f"{name}.csv"
        confirmed = typer.prompt("Type the name of the study to delete it")
    if confirmed != name:
        raise CallError(f"{confirmed!r} is not {name!r}; nothing was deleted")
    exported = o.at_call(lambda: verb.delete(name, export_to=to, home=home, db=db))
    output.say(f"Study {name!r} is deleted: no command or page shows it, and its links no longer open.")
    if exported is not None:
        output.note(f"wrote {exported.rows:,} rows to {to}")


@study.command("export")
def export(
    name: Name,
    to: Annotated[str, typer.Option("--to", metavar="FILE", help="File to write: .csv, .jsonl, .parquet or .qrels.")],
    history: Annotated[
        bool, typer.Option("--history", help="Write every row, including undone and skipped answers.")
    ] = False,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Write the answers to a file that the other verbs read. In .qrels column 2 is the judge.

    [bold]Examples[/bold]

      endoxa study export pets --to answers.parquet

      endoxa ratings answers.parquet runs/*.run --to ratings.html
    """
    exported = o.at_call(lambda: verb.export(name, to, history=history, home=home, db=db))
    output.say(f"Wrote {exported.rows:,} rows to {to}.")
    if exported.form == "qrels" and exported.lowest >= 1:
        output.note(f"! the lowest grade is {exported.lowest:g}: give the least relevant grade when you measure (-l 4)")


@study.command("bundle")
def bundle(
    name: Name, to: Annotated[str, typer.Option("--to", metavar="FILE.zip", help="File to write.")],
    files: Annotated[bool, typer.Option("--files", help="Include the pictures; otherwise only their hashes.")] = False,
    runs: Annotated[bool, typer.Option("--runs", help="Include the runs.")] = False, home: Where = verb.FOLDER,
    db: Database = None,
) -> None:  # fmt: skip
    """Write a benchmark with which others can score a new system: endoxa eval FILE.zip new.run.

    [bold]Examples[/bold]

      endoxa study bundle pets --to pets.zip

      endoxa eval pets.zip new.run
    """
    written = o.at_call(lambda: verb.bundle(name, to, files=files, runs=runs, home=home, db=db))
    counts = ", ".join(f"{count:,} {what}" for what, count in written.counts.items())
    output.say(f"Wrote {to}: {counts}{'' if written.licence else '; no licence is set, so nobody may use it'}.")
