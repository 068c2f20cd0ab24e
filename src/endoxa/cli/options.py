"""The options of the command line, made from `Settings`, and how positional words are told apart."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from endoxa.errors import CallError, EndoxaError, TextError, advice
from endoxa.evaluations.settings import POLICY, REGISTRY, Setting, Settings
from endoxa.extras import need
from endoxa.frozen import dataclass

FILES = "Input"
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE… [MEASURE…]",
        help="Judgments (or another reference) and runs, told apart by content: TREC, BEIR (also its folder), "
        "MS MARCO, CSV, JSON, Parquet; - is standard input; a zip is a benchmark bundle. Anything that is not a file "
        "is read as a measure.",
        show_default=False,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "-m", "--measure", metavar="NAME", help="A measure: nDCG@10, P(rel=2)@5, or trec_eval's map, P.5, official."
    ),
]
Qrels = Annotated[
    str | None, typer.Option("--qrels", metavar="FILE", help="The reference, where its content does not tell.",
                             rich_help_panel=FILES),
]  # fmt: skip
Runs = Annotated[
    list[str] | None, typer.Option("--run", metavar="FILE", help="A run, where its content does not tell.",
                                   rich_help_panel=FILES),
]  # fmt: skip
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels", metavar="FILE",
        help="A few judged pairs beside runs or a belief; several rounds and judges may be given.",
        rich_help_panel=FILES,
    ),
]  # fmt: skip
About = Annotated[
    str,
    typer.Option(
        "--about", metavar="order|best|A,B", help="What labels are to settle: the order, the best, or two systems."
    ),
]
Taxonomy = Annotated[
    str | None, typer.Option("--taxonomy", metavar="FILE", help="The categories of labels.", hidden=True)
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="FILE", help="Write there, not to the terminal; the suffix chooses the form."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help=REGISTRY["seed"].help)]
Confidence = Annotated[float, typer.Option("--confidence", metavar="SHARE", help=REGISTRY["confidence"].help)]
Worlds = Annotated[int, typer.Option("--worlds", metavar="N", help=REGISTRY["worlds"].help, min=2)]
On = Annotated[str | None, typer.Option("--on", metavar="ADDRESS", help=REGISTRY["on"].help)]
Lenient = Annotated[bool, typer.Option("--lenient", help=REGISTRY["lenient"].help)]

SUFFIXES = {".txt", ".run", ".gz", ".csv", ".parquet", ".qrels", ".zip", ".json", ".jsonl", ".tsv"}  # meant as a file


def form_option(*forms: str) -> Any:
    """-o with the forms of a command."""
    return typer.Option("-o", "--output", metavar="|".join(forms), help="Form of the output.")


# ---- settings -----------------------------------------------------------------------------------------


def takes_settings(
    *, scoring_only: bool = False, quiet: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `Settings`, grouped by what they concern.

    The command gets those that were given, by name, as the keyword `settings`. The panels in `quiet` are not listed by
    the help of this command.
    """

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name != "settings"]
        more = list(_parameters(scoring_only, quiet))

        @wraps(command)
        def called(**values: Any) -> None:
            given = {
                name: _parsed(name, value)
                for name in REGISTRY
                if (value := values.pop(name, None)) is not None and value != []
            }
            if values.pop("complete", None):
                given["missing"] = "empty"
            if values.pop("judged_only", None):
                given["unjudged"] = "condensed"
            if "on" in given:
                need("spark")
            command(**values, settings=given)

        called.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in [*own, *more]} | {"return": None}
        return called

    return wrap


def _parameters(scoring_only: bool, quiet: tuple[str, ...]) -> Iterable[inspect.Parameter]:
    for one in fields(Settings):
        known = REGISTRY[one.name]
        if known.scoring or not scoring_only:
            option = _option(one.name, one.default, known, hidden=known.hidden or known.panel in quiet)
            yield _parameter(one.name, option, _type(one.name, one.type))
    short = {
        "complete": ("-c", "Average over all judged topics (--missing empty).", "missing"),
        "judged_only": ("-J", "Remove unjudged items from the lists (--unjudged condensed).", "unjudged"),
    }
    for name, (flag, text, _) in short.items():
        yield _parameter(name, typer.Option(flag, help=text, rich_help_panel=POLICY, hidden=True), bool)


def _parameter(name: str, option: Any, kind: Any) -> inspect.Parameter:
    annotation = Annotated[kind | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _option(name: str, default: Any, known: Setting, *, hidden: bool) -> Any:
    flags = known.flags or (f"--{name.replace('_', '-')}",)
    usual = ",".join(f"{number:g}" for number in default) if isinstance(default, tuple) else str(default)
    return typer.Option(
        *flags, help=known.help + (f" [dim]({usual})[/dim]" if default not in {None, False} else ""),
        rich_help_panel=known.panel, hidden=hidden, metavar="|".join(known.choices) or known.metavar or None,
        show_default=False,
    )  # fmt: skip


def _type(name: str, annotation: Any) -> Any:
    """What an option takes: a number, a switch, or a text."""
    if name == "families":
        return list[str]
    words = str(annotation)
    for kind in (bool, int, float):
        if words.startswith(kind.__name__):
            return kind
    return str


def _parsed(name: str, value: Any) -> Any:
    parsers: dict[str, Callable[[Any], Any]] = {"weights": weights_of, "prior": prior_of, "families": families_of}
    return parsers[name](value) if name in parsers else value


def weights_of(text: str) -> Any:
    """A named method to weight votes, or a number per system: `bm25=1,bm25-prf=0.5`."""
    if "=" not in text:
        return text
    try:
        return {name: float(number) for name, _, number in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        raise CallError(f"--weights is a name or NAME=NUMBER,…, not {text!r}") from None


def prior_of(text: str) -> tuple[float, float]:
    """Two numbers with a comma between."""
    try:
        yes, no = (float(number) for number in text.split(","))
    except ValueError:
        raise CallError(f"--prior is two numbers with a comma between, like 1,1, not {text!r}") from None
    return yes, no


def families_of(groups: list[str]) -> Any:
    """{system: team}, or True where the families are to be found."""
    return True if groups == ["auto"] else dict(pair(group) for group in groups)


def pair(text: str) -> tuple[str, str]:
    """SYSTEM=TEAM."""
    system, sign, team = text.rpartition("=")
    if not sign or not team or not system:
        raise CallError(f"--group reads SYSTEM=TEAM, not {text!r}")
    return system, team


def at_call(check: Callable[[], Any]) -> Any:
    """What is wrong in a check like this is the call, not the input."""
    try:
        return check()
    except TextError as error:
        raise CallError(str(error)) from None


def one_of(flag: str, value: str, known: Iterable[str]) -> None:
    """Refuse a word that is none of these."""
    if value not in known:
        raise CallError(f"{flag} is one of {', '.join(known)}, not {value!r}")


# ---- words --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """The positional words, told apart: the reference (None: there is none), runs, measures."""

    reference: Any
    runs: list[Any]
    measures: list[Any]


def told_apart(
    words: list[str] | None, measures: list[str] | None = None, qrels: str | None = None,
    runs: list[str] | None = None,
) -> Inputs:  # fmt: skip
    """Files are told apart by content; anything that is not a file must parse as a measure."""
    from endoxa.io.read import is_there, kind_of
    from endoxa.io.sources import source_of
    from endoxa.verbs.inputs import Files

    kinds = {}
    if qrels is not None:
        kind = kind_of(judged := source_of(qrels))
        kinds[judged] = "qrels" if kind in {"run", "both"} else kind
    found_runs, named = [source_of(run) for run in runs or []], list(measures or [])
    seen = {qrels, *(runs or [])}
    for word in words or []:
        source = source_of(word)
        if word == "-":
            found_runs.append(source)
        elif is_there(word):
            if word in seen:
                raise CallError(f"{word} is given twice; name each file once")
            seen.add(word)
            kind = kind_of(source, strict=True)
            if kind in {"run", "both"}:
                found_runs.append(source)
            if kind != "run":
                kinds[source] = kind
        else:
            named.append(word)
    parsed = _measures(named, words or [])
    piped = [source for source in found_runs if source.given == "-"]
    if not kinds and piped and len(found_runs) > 1:  # runs are there: what is piped are judgments
        found_runs.remove(piped[0])
        kinds[piped[0]] = "qrels"
    return Inputs(Files(kinds) if kinds else None, found_runs, parsed)


def _measures(named: list[str], words: list[str]) -> list[Any]:
    """The measures, parsed once. A word that is neither a file nor a measure makes the call wrong."""
    from endoxa.io.missing_files import near_file
    from endoxa.measures.grammar import parse_all

    try:
        return parse_all(named) if named else []
    except EndoxaError:
        for word in named:
            try:
                parse_all(word)
            except EndoxaError as error:
                if word not in words:
                    raise
                near = near_file(word)
                is_path = bool(near) or "/" in word or Path(word).suffix in SUFFIXES
                reason = advice("no such file", near) if is_path else str(error)
                raise CallError(f"{word!r} is neither a file nor a measure: {reason}") from None
        raise


def command_line() -> str:
    """The command as it was typed, for the provenance of a result."""
    return shlex.join(["endoxa", *sys.argv[1:]])
