"""judge: pairs graded by a machine judge: a model on a server, or a command."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.declared import argument, option
from endoxa.errors import CallError, EndoxaError, FileError, JoinError, did_you_mean
from endoxa.verbs.parameters import PathLike

if TYPE_CHECKING:
    import threading

    from endoxa.io.graders import Grader, Shown
    from endoxa.io.grading import Judged
    from endoxa.io.replies import Scale
    from endoxa.progress import Progress

SCALE = "0-3"
SECONDS = 120.0
SEED = 1
SERVER = "Server"  # the heading of options that are for a model on a server


def price_of(text: str) -> tuple[float, float]:
    """Two prices: `0.15,0.6`."""
    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError:
        read = written = -1.0
    if not (0 <= read < float("inf") and 0 <= written < float("inf")):
        raise CallError(f"--price {text!r}: expected the prices of a million tokens in and out, like 0.15,0.6")
    return read, written


def parameters_of(texts: list[str]) -> dict[str, Any]:
    """`top_p=0.9` as {"top_p": 0.9}; values are read as JSON where possible."""
    import json

    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name):
            raise CallError(f"--set {text!r}: expected NAME=VALUE, like top_p=0.9")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


Seen = PathLike | Mapping[str, str | Path]


def judge(
    pairs: Annotated[Any, argument("The pairs: a table with query and item, as next and pool write it.", "PAIRS")],
    *,
    queries: Annotated[Seen, option("What the machine judge sees of queries: a folder, or a table.", metavar="PATH")],
    items: Annotated[
        Seen, option("What it sees of items: a folder, or a table of item and text or file.", metavar="PATH")
    ],
    program: Annotated[
        str | None, option("Grade by a command: '[NAME=]mytool {query} {item}'.", "--with", metavar="COMMAND")
    ] = None,
    url: Annotated[
        str | None,
        option("Grade by a model on a server that speaks OpenAI's protocol.", metavar="ADDRESS", panel=SERVER),
    ] = None,
    model: Annotated[str | None, option("Name of the model.", metavar="NAME", panel=SERVER)] = None,
    prompt: Annotated[
        PathLike | None,
        option("Prompt with {query} and {item}. Default: four grades of relevance.", metavar="FILE", panel=SERVER),
    ] = None,
    key_from: Annotated[
        str | None,
        option(
            "Environment variable with the key. Default: OPENAI_API_KEY, for https addresses.",
            metavar="VARIABLE",
            panel=SERVER,
        ),
    ] = None,
    temperature: Annotated[float, option("Temperature of the model.", least=0, panel=SERVER)] = 0.0,
    seed: Annotated[int, option("Seed of the first repeat; the next has the next number.", panel=SERVER)] = SEED,
    structured: Annotated[bool, option("Do not ask the server for JSON by a schema.", panel=SERVER)] = True,
    probabilities: Annotated[
        bool, option("Take the expected grade by the probabilities of tokens.", panel=SERVER)
    ] = False,
    parameters: Annotated[
        Mapping[str, Any] | None,
        option(
            "A further parameter of the request: top_p=0.9; null removes one. May be repeated.",
            "--set",
            metavar="NAME=VALUE",
            many=True,
            parse=parameters_of,
            panel=SERVER,
        ),
    ] = None,
    price: Annotated[
        tuple[float, float] | None,
        option("Prices of a million tokens in and out.", metavar="IN,OUT", parse=price_of, panel=SERVER),
    ] = None,
    scale: Annotated[str, option("Least and greatest grade.", metavar="LEAST-MOST")] = SCALE,
    name: Annotated[
        str, option("Name of the machine judge. Default: the model, or the first word of the command.")
    ] = "",
    repeats: Annotated[int, option("Gradings of each pair.", least=1)] = 1,
    workers: Annotated[int, option("Gradings under way at once.", least=1)] = 4,
    seconds: Annotated[float, option("Time limit for one grading.", least=0.1)] = SECONDS,
    most: Annotated[int | None, option("Ask for at most N gradings; 0 only estimates.", least=0)] = None,
    to: Annotated[
        PathLike | None,
        option(
            "File that keeps the gradings. Default: beside the pairs, with the name of the machine judge.",
            metavar="FILE.jsonl",
        ),
    ] = None,
    progress: Progress | None = None,
) -> Judged:
    """Grade pairs by a machine judge: a model on a server, or a command. Every reply is kept beside its grade.

    pairs       a table, or its file
    queries, items   a folder of texts or pictures, a table, or {name: text}; a Path in place of a text is a picture
    program     a command whose standard output is the reply; or `url` and `model`
    The file `to` is added to line by line. What it holds is not asked again, so that an interrupted call goes on. A
    grading that fails is counted in `failed` and tried again by the next call; a reply without a grade is counted in
    `without`, and has no row in `gradings`.

    Examples:
        endoxa judge pairs.csv --queries q.csv --items d.csv --url http://localhost:8000/v1 --model qwen3
        endoxa judge pairs.csv --queries q.csv --items photos/ --with 'mytool {query} {item}'
        endoxa judge pairs.csv --queries q.csv --items d.csv --url https://api.openai.com/v1 --model gpt-4o --most 0
    """
    import threading

    from endoxa.io.graders import refuse_odd_pictures, scale_of
    from endoxa.io.grading import grade_pairs

    asked, label = _pairs(pairs)
    stopped = threading.Event()
    grades = scale_of(scale)
    if program is not None:
        _refuse_server_options({
            "url": url, "model": model, "prompt": prompt, "key-from": key_from, "probabilities": probabilities,
            "set": parameters, "price": price, "temperature": temperature, "seed": seed != SEED,
            "no-structured": not structured,
        })  # fmt: skip
        grader, usual = _by_command(program, grades, seconds, stopped)
    else:
        grader, usual = _by_model(url, model, prompt, key_from, grades, seconds, stopped, {
            "temperature": temperature, "seed": seed, "structured": structured, "probabilities": probabilities,
            "more": parameters or {},
        })  # fmt: skip
    path = _file(to, pairs, name or usual)
    seen_queries = _seen(queries, "query", {query for query, _ in asked}, label)
    seen_items = _seen(items, "item", {item for _, item in asked}, label)
    if program is None:
        refuse_odd_pictures([*seen_queries.values(), *seen_items.values()])
    found = grade_pairs(
        asked, seen_queries, seen_items, grader, name or usual, path, stopped=stopped, repeats=repeats,
        workers=workers, most=most, price=price, progress=progress,
    )  # fmt: skip
    if found.failed and not found.replies.height:
        if path.is_file() and not path.stat().st_size:
            path.unlink()  # made by this call, and nothing is in it
        raise EndoxaError(f"no pair was graded: {found.why}")
    if found.replies.height and found.without == found.replies.height:
        first = " ".join(found.replies["reply"][0].split())
        what = f"none of the {found.without:,} replies holds a grade of {scale}; the first is {first!r:.80}"
        raise FileError(str(path), what, "these are kept: change prompt, model or command, and give another --to")
    return found


def _pairs(source: Any) -> tuple[list[tuple[str, str]], str]:
    """The pairs, each once, in their order; and what they are called in errors."""
    from endoxa.io.study_files import pairs_in, read_pairs

    if isinstance(source, str | Path):
        frame, label = read_pairs(Path(source)), str(source)
    else:
        frame, label = pairs_in(source, "the pairs"), "the pairs"
    rows = frame.select("query", "item").unique(maintain_order=True).rows()
    if not rows or any(None in row for row in rows):
        what = "a pair lacks its query or item" if rows else "there are no pairs"
        raise FileError(label, what, "expected rows of query and item")
    return rows, label


def _by_command(typed: str, scale: Scale, seconds: float, stopped: threading.Event) -> tuple[Grader, str]:
    from endoxa.io.commands import command_of
    from endoxa.io.graders import CommandGrader

    command = command_of(typed, "query", "item")
    return CommandGrader(command, scale, seconds, stopped), command.name


def _by_model(
    url: str | None, model: str | None, prompt: PathLike | None, key_from: str | None, scale: Scale, seconds: float,
    stopped: threading.Event, settings: Mapping[str, Any],
) -> tuple[Grader, str]:  # fmt: skip
    from endoxa.io.chat import Chat
    from endoxa.io.graders import PROMPT, PROMPT_SCALE, ChatGrader, prompt_in

    if url is None or not model:
        raise CallError("name what grades: --url and --model, or --with 'mytool {query} {item}'")
    if prompt is None and scale != PROMPT_SCALE:
        raise CallError(f"the usual prompt has the grades {SCALE}", remedy="give one of your own by --prompt")
    text = PROMPT if prompt is None else prompt_in(Path(prompt))
    return ChatGrader(
        Chat(url, model, key_from=key_from, seconds=seconds, stopped=stopped), text, scale, **settings
    ), model


def _refuse_server_options(given: Mapping[str, Any]) -> None:
    for flag, value in given.items():
        if value:
            raise CallError(
                f"--{flag} is for a model on a server, and --with names a command", remedy="give one of them"
            )


def _file(to: PathLike | None, pairs: Any, name: str) -> Path:
    if to is None:
        if not isinstance(pairs, str | Path):
            raise CallError("say which file keeps the gradings: to='gradings.jsonl'")
        path = Path(pairs)
        plain = re.sub(r"[^\w.+-]+", "-", name)  # org/model
        return path.with_name(f"{path.name.split('.')[0]}.{plain}.jsonl")
    if Path(to).suffix != ".jsonl":
        raise CallError(f"the gradings are JSON lines: --to names a file .jsonl, not {str(to)!r}")
    return Path(to)


def _seen(source: Seen, name: str, wanted: Collection[str], label: str) -> dict[str, Shown]:
    """What the judge sees of the queries or items of the pairs; refuses pairs of which nothing is known."""
    from endoxa.io.graders import Shown
    from endoxa.io.study_files import rows_shown

    if isinstance(source, Mapping):
        place = f"the given {'queries' if name == 'query' else 'items'}"
        known = {
            key: Shown(None, value) if isinstance(value, Path) else Shown(value)
            for key, value in source.items()
            if key in wanted
        }
    else:
        place = str(source)
        known = {row: Shown(text, file) for row, text, file in rows_shown(Path(source), name, wanted)}
    missing = sorted(wanted - known.keys())
    if missing:
        what = f"{name} {missing[0]!r:.60} of {label} is not in {place}"
        more = f" ({len(missing):,} of {len(wanted):,} are not)" if len(missing) > 1 else ""
        raise JoinError(what + more, remedy=did_you_mean(missing[0], known) or "give its text, or leave its pairs out")
    return known
