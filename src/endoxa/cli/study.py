"""endoxa study: collect answers from people in the browser."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.cli.typed import at_call
from endoxa.declared import argument, option
from endoxa.errors import CallError
from endoxa.formatting import counted
from endoxa.verbs import study as verb

if TYPE_CHECKING:
    import polars as pl

    from endoxa.tables import Bundle

STORE = ("store",)
HELP = "Collect answers from people: set up a study, invite judges by link, watch it, change it, export the answers."


# By hand: runs are given in two ways, and three texts are settings.
def new(
    name: Annotated[str, argument("A name, or a study file with all settings.", "NAME|STUDY.toml")],
    more: Annotated[list[str] | None, argument("Runs to draw results from, as with --run.", "[RUN…]")] = None,
    screen: Annotated[
        str | None,
        option("four-results, one-result, yes-no, five-levels, file-it or rank-it; needed without a study file."),
    ] = None,
    items: verb.Items = None,
    queries: verb.Queries = None,
    runs: Annotated[
        list[str] | None, option("A run to draw results from; can be repeated.", "--run", metavar="FILE")
    ] = None,
    pairs: verb.Pairs = None,
    taxonomy: Annotated[
        str | None, option("Categories: category and parent, or paths such as a/b/c.", metavar="FILE")
    ] = None,
    practice: verb.Practice = None,
    gold: verb.Gold = None,
    attention: verb.Attention = None,
    title: verb.Title = None,
    question: verb.Question = None,
    instructions: verb.Instructions = None,
    settings: Annotated[
        dict[str, Any] | None,
        option(
            "Any other setting: overlap=2, gamma=2, comments=true …", "--set", metavar="KEY=VALUE", many=True,
            parse=verb.settings_of,
        ),
    ] = None,
    home: verb.Where = verb.FOLDER,
    db: verb.Database = None,
) -> None:  # fmt: skip
    """Set up a study.

    Results are drawn from the runs by rank^-gamma, mixed with a uniform floor, and the probability of each is stored.
    Some tasks go to every judge, so that judges can be calibrated.

    Examples:
        endoxa study new pets runs/*.run --screen four-results --items photos/ --set overlap=2
        endoxa study new faq --screen yes-no --items docs.csv --queries queries.csv --pairs judge.csv
        endoxa study new animals --screen file-it --items photos/ --taxonomy tree.txt --set hide_tree=true
        endoxa study new study.toml
    """
    given = {"title": title, "question": question, "instructions": instructions, **(settings or {})}
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


def print_added(notes: list[str]) -> None:
    """Print what was added."""
    first, *others = notes or ["Nothing was added"]
    output.say(f"{first.rstrip('.')}.")
    output.tell(*others)


def print_invited(invited: verb.Invited, name: str) -> None:
    """Print the links, and what hinders them."""
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
    home: verb.Where = verb.FOLDER,
    db: verb.Database = None,
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


def print_status(
    found: list[dict[str, Any]], name: str | None, *,
    form: Annotated[str, option("Form of the output.", "-o", "--output", metavar="table|json")] = "table",
) -> None:  # fmt: skip
    """Print the status of one study or of all."""
    if form == "json":
        output.emit(json.dumps(found[0] if name else found, indent=1, ensure_ascii=False), None)
        return
    from endoxa.reports.study_status import status_answer, status_lines

    output.say(status_answer(found))
    for one in found:
        output.tell("", *status_lines(one))


def need_form(values: dict[str, Any]) -> None:
    """The form is one of two."""
    if (form := values.get("form", "table")) not in {"table", "json"}:
        raise CallError(f"-o is table or json, not {form!r}")


def print_studies(found: pl.DataFrame) -> None:
    """Print the list of studies."""
    import polars as pl

    from endoxa.reports.study_status import counted

    output.say(counted(found["state"]))
    if not found.height:
        return
    done = pl.format("{} of {}", "done", "planned").alias("assignments")
    made = pl.col("made").dt.strftime("%Y-%m-%d")
    output.show_frame(found.select("study", "title", "state", "screen", done, "judges", "answers", made))


def print_edited(edited: verb.Edited, name: str, question: str | None, instructions: str | None) -> None:
    """Print the words that judges see."""
    wording = edited.study.settings
    output.say(f"Study {name!r} asks {wording.asked!r}, under the title {wording.heading!r}.")
    if edited.answers and (question is not None or instructions is not None):
        output.note(f"! {edited.answers:,} answers were given to the old words, which are recorded beside the new ones")


def print_closed(_: None, name: str, *, reopen: bool) -> None:
    """Print whether the study takes answers."""
    output.say(f"Study {name!r} is {'open: it accepts answers' if reopen else 'closed: it accepts no more answers'}.")


# By hand: it asks before it deletes.
def delete(
    name: verb.Name,
    confirmed: Annotated[
        str | None, option("The name again, where nobody can be asked.", "--confirm", metavar="STUDY")
    ] = None,
    to: Annotated[str | None, option("First write the answers to this file.", "--export", metavar="FILE")] = None,
    home: verb.Where = verb.FOLDER,
    db: verb.Database = None,
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


def print_exported(exported: verb.Exported, to: str) -> None:
    """Print how many rows were written."""
    output.say(f"Wrote {exported.rows:,} rows to {to}.")
    if exported.form == "qrels" and exported.lowest >= 1:
        output.note(f"! the lowest grade is {exported.lowest:g}: give the least relevant grade when you measure (-l 4)")


def print_bundle(written: Bundle, to: str) -> None:
    """Print what the benchmark holds."""
    counts = ", ".join(f"{count:,} {what}" for what, count in written.counts.items())
    output.say(f"Wrote {to}: {counts}{'' if written.licence else '; no licence is set, so nobody may use it'}.")


COMMANDS = (
    derived("new", new, needs=STORE),
    derived("import", verb.add, print_added, needs=STORE, strict=True, during=lambda _: output.progress_bar()),
    derived(
        "invite", verb.invite, print_invited, needs=STORE, strict=True,
        more="Links are shown only once: the database stores only their digest.",
    ),
    derived("serve", serve, needs=("studio",)),
    derived(
        "status", verb.status, print_status, needs=STORE, before=need_form,
        more="The intervals of the verdict are valid at any time, so you may stop the study whenever you like.",
    ),
    derived("list", verb.studies, print_studies, needs=STORE),
    derived(
        "edit", verb.edit, print_edited, needs=STORE, strict=True,
        more="What stored answers and planned tasks rest on cannot be changed: screen, overlap, gamma and the like.",
    ),
    derived("close", verb.close, print_closed, needs=STORE),
    derived("delete", delete, needs=STORE),
    derived("export", verb.export, print_exported, needs=STORE, strict=True),
    derived("bundle", verb.bundle, print_bundle, needs=STORE, strict=True),
)  # fmt: skip
