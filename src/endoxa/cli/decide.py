"""endoxa decide: judge a few pairs, and see which system is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.errors import CallError, RefusedError
from endoxa.verbs import decide as verbs
from endoxa.verbs.study import PORT

if TYPE_CHECKING:
    from endoxa.pools.deciding import Look
    from endoxa.store.work import Task
    from endoxa.verbs.decide import Judge

WORDS = {"y": "yes", "n": "no", "u": "undecided", "s": "skip", "z": "undo", "q": "quit"}


def need_runs(values: dict[str, Any]) -> None:
    """Judges are asked about runs that nobody has judged."""
    if "reference" in values:
        raise CallError(
            "with judgments nothing is to be decided; use endoxa eval, or give labels by --labels, which stands before "
            "every file: --labels A --labels B"
        )
    if not values["runs"]:
        raise CallError("name the runs of two systems or more")


def ask(
    is_new: bool,
    *,
    terminal: Annotated[bool, option("Ask on the terminal instead of a page.")] = False,
    home: Any,
    host: Annotated[str, option("Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at.", least=0, most=65535)] = PORT,
    no_browser: Annotated[bool, option("Print the link and open nothing.")] = False,
    to: Annotated[str | None, option("Write the labels to this file at the end (.csv).", metavar="FILE")] = None,
) -> None:
    """Ask for labels on a page or on the terminal, and write them."""
    from endoxa.verbs.study import export

    output.note(f"{'answers are kept in' if is_new else 'going on with the answers in'} {home}")
    if terminal:
        with verbs.at_terminal(home=home) as judge:
            _ask(judge)
    else:
        verbs.host(host=host, port=port, home=home, started=lambda *links: _tell(links, home, not no_browser))
    if to is not None:
        export(verbs.STUDY, to, home=home)
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


COMMANDS = (
    derived(
        "decide", verbs.prepare, ask, before=need_runs,
        needs=lambda typed: ("store" if typed["terminal"] else "studio",),
        more="Runs are enough; --queries and --items say what judges see. Every answer is kept in the folder --home: "
        "the same command goes on where you stopped, and others judge along by a link. `endoxa eval runs --labels "
        "FILE` gives the same verdict from the labels.",
    ),
)  # fmt: skip
