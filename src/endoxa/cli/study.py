"""endoxa study: collect answers from people in the browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import click

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.cli.typed import at_call
from endoxa.declared import argument, option
from endoxa.errors import CallError
from endoxa.formatting import counted
from endoxa.verbs import study as verb

HELP = "Collect answers from people: set up a study, invite judges by link, watch it, change it, export the answers."

Where = Annotated[str, option("Folder of the studies.", "--home", metavar="DIR", envvar="ENDOXA_HOME")]
Database = Annotated[
    str | None, option("PostgreSQL database to use instead of SQLite.", "--db", metavar="URL", envvar="ENDOXA_DB")
]
Name = Annotated[str, argument("Name of the study.", "STUDY")]
Items = Annotated[
    str | None, option("Folder of pictures or texts, or a table: item, text, file.", "--items", metavar="PATH")
]
Queries = Annotated[str | None, option("Queries in the same form: query, text, file.", "--queries", metavar="PATH")]
Runs = Annotated[list[str] | None, option("A run to draw results from; can be repeated.", "--run", metavar="FILE")]
Pairs = Annotated[str | None, option("Pairs to ask, as `endoxa next -o csv` writes them.", "--pairs", metavar="FILE")]
Tree = Annotated[
    str | None, option("Categories: category and parent, or paths such as a/b/c.", "--taxonomy", metavar="FILE")
]
Practice = Annotated[str | None, option("Practice items: query, item, expected.", "--practice", metavar="FILE")]
Gold = Annotated[str | None, option("Gold items: query, item, expected.", "--gold", metavar="FILE")]
Attention = Annotated[str | None, option("Attention checks: query, item, expected.", "--attention", metavar="FILE")]
Title = Annotated[str | None, option("Title that judges see, apart from the name.", "--title")]
Question = Annotated[str | None, option("Question above every task. Default: that of the screen.", "--question")]
Instructions = Annotated[str | None, option("Instructions for judges; @FILE reads them from a file.", "--instructions")]


def new(
    name: Annotated[str, argument("A name, or a study file with all settings.", "NAME|STUDY.toml")],
    more: Annotated[list[str] | None, argument("Runs to draw results from, as with --run.", "[RUN…]")] = None,
    screen: Annotated[
        str | None,
        option("four-results, one-result, yes-no, five-levels, file-it or rank-it; needed without a study file."),
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
        list[str] | None, option("Any other setting: overlap=2, gamma=2, comments=true …", "--set", metavar="KEY=VALUE")
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Set up a study.

    Results are drawn from the runs by rank^-gamma, mixed with a uniform floor, and the probability of each is stored.
    Some tasks go to every judge, so that judges can be calibrated.

    Examples:
        endoxa study new pets runs/*.run --screen four-results --items photos/ --set overlap=2
        endoxa study new faq --screen yes-no --items docs.csv --queries queries.csv --pairs judge.csv
        endoxa study new animals --screen file-it --items photos/ --taxonomy tree.txt --set hide_tree=true
        endoxa study new study.toml
    """
    given = {"title": title, "question": question, "instructions": _text(instructions), **_settings(settings)}
    with output.progress_bar() as progress:
        planned = at_call(
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


def import_(
    name: Name,
    answers: Annotated[list[str] | None, argument("Earlier answers: source, query, item, grade.", "[ANSWERS…]")] = None,
    items: Items = None,
    queries: Queries = None,
    pairs: Pairs = None,
    practice: Practice = None,
    gold: Gold = None,
    attention: Attention = None,
    further: Annotated[bool, option("Plan a further round, chosen from the answers so far.", "--round")] = False,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Add to a study: items, queries, pairs, known answers, answers from elsewhere, a further round.

    Examples:
        endoxa study import pets earlier.csv
        endoxa study import pets --pairs judge.csv
        endoxa study import pets --round
    """
    with output.progress_bar() as progress:
        notes = at_call(
            lambda: verb.add(
                name, answers=answers or (), items=items, queries=queries, pairs=pairs, practice=practice, gold=gold,
                attention=attention, further_round=further, home=home, db=db, progress=progress,
            )
        )  # fmt: skip
    first, *others = notes or ["Nothing was added"]
    output.say(f"{first.rstrip('.')}.")
    output.tell(*others)


def invite(
    name: Name,
    nicknames: Annotated[list[str] | None, argument("One link each.", "[NICKNAME…]")] = None,
    count: Annotated[int, option("Number of further links whose owners choose a nickname.", least=0)] = 0,
    participant: Annotated[bool, option("Invite participants, who submit runs, instead of judges.")] = False,
    days: Annotated[float, option("Number of days for which the links are valid.")] = 30,
    withdraw: Annotated[
        list[str] | None, option("Withdraw the link with that nickname or number.", metavar="NICKNAME|NUMBER")
    ] = None,
    url: Annotated[
        str | None, option("Address at which people reach the server; by default that of the last `serve`.")
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Print a link for each judge. Until it expires, a link always opens the same judge's work.

    Links are shown only once: the database stores only their digest.

    Examples:
        endoxa study invite pets ana ben
        endoxa study invite pets --count 20 --days 7
        endoxa study invite pets --withdraw 3
    """
    invited = at_call(
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


def serve(
    host: Annotated[str, option("Address to listen at; 0.0.0.0 accepts connections from the network.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at.", least=0, most=65535)] = verb.PORT,
    url: Annotated[str | None, option("Address at which people reach the server, such as that of a proxy.")] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Serve the studies. Prints the organiser's link, which works once.

    Examples:
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


def status(
    name: Annotated[str | None, argument("Name of the study; without it, all studies.", "[STUDY]")] = None,
    form: Annotated[str, option("Form of the output.", "-o", "--output", metavar="table|json")] = "table",
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Show the status of a study: progress, agreement, judges, and the verdict on the systems so far.

    The intervals of the verdict are valid at any time, so you may stop the study whenever you like.

    Examples:
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


def list_(home: Where = verb.FOLDER, db: Database = None) -> None:
    """List the studies, the newest first. An assignment is a task for one judge.

    Examples:
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


def edit(
    name: Name,
    title: Title = None,
    question: Question = None,
    instructions: Instructions = None,
    settings: Annotated[
        list[str] | None, option("Other texts: comments=true, licence=CC0.", "--set", metavar="KEY=VALUE")
    ] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Change the title, the question or the instructions. Judges see the new words with their next page.

    What stored answers and planned tasks rest on cannot be changed: screen, overlap, gamma and the like.

    Examples:
        endoxa study edit pets --title "Which pictures match?" --question "Does it show the same animal?"
        endoxa study edit pets --instructions @instructions.txt --set comments=true
    """
    edited = at_call(
        lambda: verb.edit(
            name, title=title, question=question, instructions=_text(instructions), settings=_settings(settings),
            home=home, db=db,
        )
    )  # fmt: skip
    wording = edited.study.settings
    output.say(f"Study {name!r} asks {wording.asked!r}, under the title {wording.heading!r}.")
    if edited.answers and (question is not None or instructions is not None):
        output.note(f"! {edited.answers:,} answers were given to the old words, which are recorded beside the new ones")


def close(
    name: Name,
    reopen: Annotated[bool, option("Open a closed study again.")] = False,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Stop taking answers. The study keeps all it has, and can be opened again.

    Examples:
        endoxa study close pets
        endoxa study close pets --reopen
    """
    verb.close(name, reopen=reopen, home=home, db=db)
    output.say(f"Study {name!r} is {'open: it accepts answers' if reopen else 'closed: it accepts no more answers'}.")


def delete(
    name: Name,
    confirmed: Annotated[
        str | None, option("The name again, where nobody can be asked.", "--confirm", metavar="STUDY")
    ] = None,
    to: Annotated[str | None, option("First write the answers to this file.", "--export", metavar="FILE")] = None,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Remove a study from every list and page, after an export of its answers if you want one.

    Its links no longer open, and its name is free again. The answers stay in the database, which only ever adds
    answers; remove the folder of the studies to erase them. To stop for a while, use `endoxa study close`.

    Examples:
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
        if to is None and progress["answers"] and click.confirm(f"Export them first, to {name}.csv?", default=True):
            to = f"{name}.csv"
        confirmed = click.prompt("Type the name of the study to delete it")
    if confirmed != name:
        raise CallError(f"{confirmed!r} is not {name!r}; nothing was deleted")
    exported = at_call(lambda: verb.delete(name, export_to=to, home=home, db=db))
    output.say(f"Study {name!r} is deleted: no command or page shows it, and its links no longer open.")
    if exported is not None:
        output.note(f"wrote {exported.rows:,} rows to {to}")


def export(
    name: Name,
    to: Annotated[str, option("File to write: .csv, .jsonl, .parquet or .qrels.", metavar="FILE")],
    history: Annotated[bool, option("Write every row, including undone and skipped answers.")] = False,
    home: Where = verb.FOLDER,
    db: Database = None,
) -> None:
    """Write the answers to a file that the other verbs read. In .qrels column 2 is the judge.

    Examples:
        endoxa study export pets --to answers.parquet
        endoxa ratings answers.parquet runs/*.run --to ratings.html
    """
    exported = at_call(lambda: verb.export(name, to, history=history, home=home, db=db))
    output.say(f"Wrote {exported.rows:,} rows to {to}.")
    if exported.form == "qrels" and exported.lowest >= 1:
        output.note(f"! the lowest grade is {exported.lowest:g}: give the least relevant grade when you measure (-l 4)")


def bundle(
    name: Name, to: Annotated[str, option("File to write.", metavar="FILE.zip")],
    files: Annotated[bool, option("Include the pictures; otherwise only their hashes.")] = False,
    runs: Annotated[bool, option("Include the runs.")] = False, home: Where = verb.FOLDER,
    db: Database = None,
) -> None:  # fmt: skip
    """Write a benchmark with which others can score a new system: endoxa eval FILE.zip new.run.

    Examples:
        endoxa study bundle pets --to pets.zip
        endoxa eval pets.zip new.run
    """
    written = at_call(lambda: verb.bundle(name, to, files=files, runs=runs, home=home, db=db))
    counts = ", ".join(f"{count:,} {what}" for what, count in written.counts.items())
    output.say(f"Wrote {to}: {counts}{'' if written.licence else '; no licence is set, so nobody may use it'}.")


COMMANDS = (
    derived("new", new, needs=("store",)),
    derived("import", import_, needs=("store",)),
    derived("invite", invite, needs=("store",)),
    derived("serve", serve, needs=("studio",)),
    derived("status", status, needs=("store",)),
    derived("list", list_, needs=("store",)),
    derived("edit", edit, needs=("store",)),
    derived("close", close, needs=("store",)),
    derived("delete", delete, needs=("store",)),
    derived("export", export, needs=("store",)),
    derived("bundle", bundle, needs=("store",)),
)
