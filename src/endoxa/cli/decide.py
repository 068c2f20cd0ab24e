"""endoxa decide: judge a few pairs, and see which system is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.errors import CallError, RefusedError
from endoxa.extras import need

if TYPE_CHECKING:
    from endoxa.pools.deciding import Look
    from endoxa.store.work import Task
    from endoxa.verbs.decide import Judge

FOLDER = "endoxa-decide"
WORDS = {"y": "yes", "n": "no", "u": "undecided", "s": "skip", "z": "undo", "q": "quit"}


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("decide")(decide)


def decide(
    words: o.Words = None,
    items: Annotated[
        str | None,
        typer.Option(
            "--items", metavar="PATH", help="What judges see of items: a folder, or a table of item and text."
        ),
    ] = None,
    queries: Annotated[
        str | None, typer.Option("--queries", metavar="PATH", help="The same of queries: a folder, or a table.")
    ] = None,
    labels: o.Labels = None,
    about: o.About = "best",
    until: Annotated[float, typer.Option("--until", metavar="P", help="Probability at which it is settled.")] = 0.95,
    guarantee: Annotated[
        bool, typer.Option("--guarantee", help="Settle it whatever the model: needs more labels, often many more.")
    ] = False,
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="Pairs that are chosen at a time.", min=1)] = 25,
    terminal: Annotated[bool, typer.Option("--terminal", help="Ask on the terminal instead of a page.")] = False,
    home: Annotated[str, typer.Option("--home", metavar="DIR", help="Folder that keeps every answer.")] = FOLDER,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen at.")] = 8765,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link and open nothing.")] = False,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FILE", help="Write the labels to this file at the end (.csv).")
    ] = None,
    seed: o.Seed = 0,
    runs: o.Runs = None,
) -> None:
    """Settle which system is better with a few labels: judge pairs on a page, and every answer moves the verdict.

    Runs are enough; --queries and --items say what judges see. Every answer is kept in the folder --home: the same
    command goes on where you stopped, and others judge along by a link. `endoxa eval runs --labels FILE` gives the same
    verdict from the labels.

    [bold]Examples[/bold]

      endoxa decide runs/*.gz --queries queries.csv --items documents.csv

      endoxa decide runs/* --items photos/ P@10 --about order

      endoxa decide a.run b.run --about a,b --terminal --to labels.csv
    """
    need("store" if terminal else "studio")
    from endoxa.verbs import decide as verb
    from endoxa.verbs.study import export

    inputs = o.told_apart(words, None, None, runs)
    if inputs.reference is not None:
        raise CallError(
            "with judgments nothing is to be decided; use endoxa eval, or give labels by --labels, which stands before "
            "every file: --labels A --labels B"
        )
    if not inputs.runs:
        raise CallError("name the runs of two systems or more")
    new = verb.prepare(
        inputs.runs, items=items, queries=queries, measures=inputs.measures or None, about=about, until=until,
        guarantee=guarantee, batch=batch, labels=labels or (), home=home, seed=seed,
    )  # fmt: skip
    output.note(f"{'answers are kept in' if new else 'going on with the answers in'} {home}")
    if terminal:
        with verb.at_terminal(home=home) as judge:
            _ask(judge)
    else:
        verb.host(host=host, port=port, home=home, started=lambda *links: _tell(links, home, not no_browser))
    if to is not None:
        export(verb.STUDY, to, home=home)
        output.note(f"wrote {to}; the same verdict: endoxa eval … --labels {to}")


def _tell(links: tuple[str, str, str], home: str, opens: bool) -> None:
    address, judge, organiser = links
    output.say(f"judge here: {judge}")
    output.tell(
        f"others: endoxa study invite decide --count 1 --home {home}, or the organiser's page, once: {organiser}",
        f"serving at {address}; stop with Ctrl-C, every answer is kept",
    )
    if opens:
        import webbrowser

        webbrowser.open(judge)


def _ask(judge: Judge) -> None:
    """Ask pair after pair until the question is settled, nothing is left, or the judge quits."""
    output.note(", ".join(f"{key} {word}" for key, word in WORDS.items()))
    now = judge.look()
    while True:
        output.say(_verdict(now))
        if now.is_settled:
            return
        task = judge.next()
        if task is None:
            output.note("there is nothing left to judge")
            return
        if not _answered(judge, task):
            return
        now = judge.look()


def _answered(judge: Judge, task: Task) -> bool:
    """Ask about one pair until there is an answer; False where the judge quits."""
    query, item = (_text(part) for part in (task.query or {}, task.items[0]))
    output.prompt(f"\nquery: {query}\nitem:  {item}")
    while True:
        try:
            word = input("relevant? [y/n/u/s/z/q] ").strip().lower()[:1]
        except EOFError:
            return False
        if word == "q":
            return False
        if word in {"y", "n", "u"}:
            judge.answer(task, {"y": 1.0, "n": 0.0}.get(word))
            return True
        if word in {"s", "z"}:
            try:
                judge.skip(task) if word == "s" else judge.undo()
            except RefusedError as error:
                output.note(str(error))
                continue
            return True
        output.note("y, n, u, s, z or q")


def _text(shown: dict[str, Any]) -> str:
    return str(shown.get("text") or shown.get("file") or "")


def _verdict(now: Look) -> str:
    from endoxa.evaluations.sentences import settled

    return settled(now)
