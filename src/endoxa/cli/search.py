"""endoxa search: find pictures by marking what is shown."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.cli.typed import at_call
from endoxa.declared import argument, option
from endoxa.errors import CallError
from endoxa.verbs.parameters import CORPUS, Without, Workers
from endoxa.verbs.study import Database, Where

Session = Annotated[str, argument("Name of the search, as its address ends.", "SESSION")]
Index = Annotated[
    str | None,
    option("Folder of the index. Default: .endoxa in the corpus; cache: outside it.", "--index", metavar="DIR|cache"),
]


def open_(
    corpus: Annotated[str, CORPUS],
    serve: Annotated[bool, option("Let several people in, and open no browser.")] = False,
    host: Annotated[str, option("Address to listen at; 0.0.0.0 accepts connections from the network.")] = "127.0.0.1",
    port: Annotated[int, option("Port to listen at.", least=0, most=65535)] = 8766,
    url: Annotated[str | None, option("Address at which people reach the server, such as that of a proxy.")] = None,
    no_browser: Annotated[bool, option("Print the link only.")] = False,
    vectors: Annotated[
        str | None, option("Vectors of your own (.parquet, .npz, .npy) as the look.", metavar="FILE")
    ] = None,
    learner: Annotated[
        str,
        option("What learns from marks: kernel, or one to compare with: reweighting, rocchio, none …", metavar="NAME"),
    ] = "kernel",
    audit: Annotated[bool, option("Draw one picture of every page by chance, for honest estimates.")] = False,
    thompson: Annotated[bool, option("Draw the weights to begin with by chance, which is kept.")] = False,
    again: Annotated[bool, option("The pictures have changed: describe those that are new.")] = False,
    without: Without = None,
    workers: Workers = None,
    index: Index = None,
    home: Where = "endoxa-studies",
    db: Database = None,
) -> None:
    """Open the page: browse, sketch, use words or a picture, mark what is shown, refine.

    The pictures are described when the corpus is first opened. Every act is kept, and a search goes on where it was.

    Examples:
        endoxa search photos
        endoxa search photos --serve --host 0.0.0.0 --url https://search.example.org
    """
    g.announce_home(corpus, index, "--index")
    from endoxa.verbs import search as verb

    tell = announce(corpus, Path(home), several=serve)

    def started(address: str, link: str) -> None:
        tell(address, link)
        if host not in {"127.0.0.1", "::1", "localhost"} and not address.startswith("https://"):
            output.note("! connections are not encrypted; on the internet, put a proxy with https in front")
        if not serve and not no_browser:
            import webbrowser

            webbrowser.open(link)

    with output.stages(3) as progress:
        verb.serve(
            corpus, host=host, port=port, url=url, home=home, db=db, index=index, without=without,
            vectors=vectors, workers=workers, learner=learner, audit=audit, thompson=thompson, several=serve,
            again=again, progress=progress, skipped=g.print_skipped, started=started,
        )  # fmt: skip


def announce(corpus: str, home: Path, *, several: bool = False) -> Callable[[str, str], None]:
    """What is said when the server listens: how to come in, and where searches are kept."""

    def started(address: str, link: str) -> None:
        output.say(f"search here: {link}")
        if several:
            output.tell("Everybody who opens this link chooses a nickname and has searches of their own.")
        output.tell(f"serving {corpus} at {address}; stop with Ctrl-C, every search is kept in {home}")

    return started


def list_(home: Where = "endoxa-studies", db: Database = None) -> None:
    """List the stored searches, the newest first.

    Examples:
        endoxa search list
    """
    from endoxa.verbs import search as verb

    found = verb.searches(home=home, db=db)
    if not found.height:
        output.say("There is no search yet; endoxa search PHOTOS begins one.")
        return
    output.say(f"{found.height:,} search{' is' if found.height == 1 else 'es are'} kept, the newest first.")
    output.show_frame(found)


def replay(
    session: Session,
    corpus: Annotated[str | None, argument("The pictures; default: those it began with.", "[CORPUS]")] = None,
    index: Index = None,
    home: Where = "endoxa-studies",
    db: Database = None,
) -> None:
    """Compute every page of a search again, and compare it with what was shown. Exit code 1 if one differs.

    Examples:
        endoxa search replay 3hL9vKq2XwYtB0aP
    """
    from endoxa.verbs import search as verb

    outcome = verb.replayed(session, corpus, home=home, db=db, index=index)
    output.say(f"{session} {outcome}." if outcome.exact else f"{session}: {outcome}.")
    if not outcome.exact:
        sys.exit(1)


def export(
    session: Session,
    to: Annotated[
        str | None, option("File to write: .csv, .jsonl, .parquet; rounds also as TREC text (.run).", metavar="FILE")
    ] = None,
    part: Annotated[str, option("Marks, a run per round, or what was found.", metavar="marks|rounds|found")] = "marks",
    study: Annotated[
        str | None, option("Write items, queries and pairs of a study for others to judge.", metavar="DIR")
    ] = None,
    home: Where = "endoxa-studies",
    db: Database = None,
) -> None:
    """Write a search to files that the other commands read. Grades are from 0 to 4.

    Examples:
        endoxa search export 3hL9vKq2XwYtB0aP --to marks.csv
        endoxa search export 3hL9vKq2XwYtB0aP --part rounds --to rounds.run
        endoxa search export 3hL9vKq2XwYtB0aP --study judged
    """
    from endoxa.verbs import search as verb

    if to is None and study is None:
        raise CallError("say where to write: --to FILE, or --study DIR")
    if to is not None:
        rows = at_call(lambda: verb.export(session, to, part=part, home=home, db=db))
        output.say(f"Wrote {rows:,} rows to {to}." if rows else f"{to} has no rows: this search has no {part} now.")
    if study is not None:
        pairs = at_call(lambda: verb.ask_others(session, study, home=home, db=db))
        words = ["endoxa", "study", "new", Path(study).name.replace(" ", "-"), "--screen", verb.SCREEN]
        for name in ("items", "queries", "pairs"):
            words += [f"--{name}", str(Path(study) / f"{name}.csv")]
        output.say(f"Wrote {pairs:,} pairs to {study}.")
        output.tell(f"next: {shlex.join(words)}")


def reset(corpus: Annotated[str, CORPUS], home: Where = "endoxa-studies", db: Database = None) -> None:
    """Forget what earlier searches of a corpus taught later ones. The searches themselves are kept.

    Examples:
        endoxa search reset photos
    """
    from endoxa.verbs import search as verb

    count = verb.reset(corpus, home=home, db=db)
    output.say(
        f"Forgot what searches taught about {count:,} pairs of features and metric."
        if count
        else "Nothing was learnt yet."
    )


def neighbours(corpus: Annotated[str, CORPUS], without: Without = None, index: Index = None) -> None:
    """Build approximate neighbours, for more than some million pictures. Smaller collections need none.

    Examples:
        endoxa search neighbours photos
    """
    g.announce_home(corpus, index, "--index")
    from endoxa.verbs import search as verb

    with output.stages(4) as progress:
        count = verb.neighbours(corpus, index=index, without=without, progress=progress)
    output.say(f"Neighbours of {count:,} pictures are built; searches of more than 100,000 pictures use them.")


GROUP = g.Opening
STORED = ("images", "store")
COMMANDS = (
    derived("list", list_, needs=STORED),
    derived("replay", replay, needs=STORED),
    derived("export", export, needs=STORED),
    derived("reset", reset, needs=STORED),
    derived(g.OPEN, open_, needs=("images", "studio")),
    derived("neighbours", neighbours, needs=("images", "neighbours")),
)
