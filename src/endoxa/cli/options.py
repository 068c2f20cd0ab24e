"""Options that several verbs share, spelt the same everywhere, and how positional words are told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from endoxa.errors import EndoxaError, TextError
from endoxa.policies import CHOICES, Policy


def _choice(name: str) -> str:
    return "|".join(CHOICES[name])


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE… [MEASURE…]",
        help="Judgments and runs, told apart by content (4 columns: judgments, 6: run; CSV and Parquet by column "
        "names; - is standard input; a zip is a benchmark bundle). A word that is no file is a measure.",
        show_default=False,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="A measure: nDCG@10, P(rel=2)@5, or trec_eval's map, P.5,10, official."),
]
Qrels = Annotated[str | None, typer.Option("--qrels", help="The judgments, where the content does not tell.")]
Runs = Annotated[list[str] | None, typer.Option("--run", help="A run, where the content does not tell.")]
Level = Annotated[
    float | None, typer.Option("-l", "--level", help="Least grade that is relevant, for measures that do not say it.")
]
Cut = Annotated[int | None, typer.Option("-M", "--cut", help="Keep only the first so many items of every list.")]
JudgedOnly = Annotated[bool, typer.Option("-J", help="Take unjudged items out of the lists (--unjudged condensed).")]
Complete = Annotated[bool, typer.Option("-c", help="Average over all judged topics (--missing empty).")]
Compat = Annotated[str, typer.Option("--compat", metavar=_choice("compat"), help="Give trec_eval's digits.")]
Ties = Annotated[str, typer.Option("--ties", metavar=_choice("ties"), help="Order of equal scores.")]
Missing = Annotated[
    str | None, typer.Option("--missing", metavar=_choice("missing"), help="Judged topics that a run lacks.")
]
Unjudged = Annotated[str, typer.Option("--unjudged", metavar=_choice("unjudged"), help="Items without a judgment.")]
Undefined = Annotated[
    str | None, typer.Option("--undefined", metavar=_choice("undefined"), help="Where a measure is 0/0.")
]
Assessors = Annotated[
    str,
    typer.Option(
        "--assessors", metavar=_choice("assessors"), help="mean: column 2 of the judgments names the assessor."
    ),
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Report bad lines and go on without them.")]
NameFrom = Annotated[str, typer.Option("--name-from", metavar="tag|file", help="Where a system's name comes from.")]
Seed = Annotated[int, typer.Option("--seed", help="Of everything random: resamples, shuffles.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]
Depth = Annotated[
    int, typer.Option("--depth", help="Without judgments: a run votes yes for its first so many items.", min=1)
]
Weights = Annotated[
    str,
    typer.Option(
        "--weights", metavar="equal|cluster|redundancy|minimum-variance|NAME=W,…", help="Of the systems' votes."
    ),
]
Prior = Annotated[str, typer.Option("--prior", metavar="A,B", help="Pseudo-votes for yes and no: the virtual systems.")]
Worlds = Annotated[int, typer.Option("--worlds", help="Possible worlds that are drawn.", min=2)]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", help="How opinions become a belief: votes, dawid-skene, subjects, graded, judge, taxonomy, levels …"
    ),
]
To = Annotated[str | None, typer.Option("--to", metavar="FILE", help="Write there instead of to the terminal.")]


PATHS = {".txt", ".run", ".gz", ".csv", ".parquet", ".qrels", ".zip"}  # a word that ends so was meant as a file


@dataclass(frozen=True)
class Inputs:
    """The positional words, told apart."""

    qrels: str | None
    runs: list[str]
    measures: list[str]
    kind: str = ""  # what the file of judgments holds: qrels, opinions, belief, answers, labels …
    taxonomy: str | None = None
    bundle: str | None = None  # a benchmark in one file, in place of judgments


def sort_words(
    words: list[str] | None, measures: list[str] | None, qrels: str | None, runs: list[str] | None, *,
    bundles: bool = False,
) -> Inputs:  # fmt: skip
    """Files are told apart by content; a word that is no file must parse as a measure.

    A bundle stands in the place of judgments, for the verbs that take one.
    """
    from endoxa.io.formats import sniff
    from endoxa.measures.grammar import parse_all

    found_qrels, found_runs, found_measures = qrels, list(runs or []), list(measures or [])
    found_kind = _kind_of(qrels)
    found_taxonomy: str | None = None
    for word in words or []:
        if word == "-" or Path(word).exists():
            kind = sniff(word) if word != "-" else "run"
            if kind == "run":
                found_runs.append(word)
            elif kind in {"qrels", "sampled", "opinions", "preferences", "belief", "answers", "labels", "bundle"}:
                if found_qrels is not None:
                    raise TextError(f"{_two(kind, found_kind)}: {found_qrels} and {word}; give one")
                found_qrels, found_kind = word, kind
            elif kind == "taxonomy":
                found_taxonomy = word
            else:
                raise TextError(f"{word} holds {kind}; expected judgments or runs, or say --qrels, --run")
            continue
        try:
            parse_all(word)
        except EndoxaError as error:
            looks_like_path = "/" in word or Path(word).suffix in PATHS
            reason = "no such file" if looks_like_path else str(error)
            raise typer.BadParameter(f"{word!r} is neither a file nor a measure: {reason}") from None
        found_measures.append(word)
    if found_qrels is None and "-" in found_runs and len(found_runs) > 1:  # runs are there: what is piped are judgments
        found_runs.remove("-")
        found_qrels = "-"
    if found_kind != "bundle":
        return Inputs(found_qrels, found_runs, found_measures, found_kind, found_taxonomy)
    if not bundles:
        raise TextError(f"{found_qrels} is a bundle; runs are scored against it by endoxa eval")
    if found_taxonomy is not None:
        raise TextError(f"{found_qrels} is a bundle and holds its own taxonomy; leave {found_taxonomy} away")
    return Inputs(None, found_runs, found_measures, found_kind, bundle=found_qrels)


def _two(*kinds: str) -> str:
    """What is one too many."""
    if "bundle" not in kinds:
        return "two files of judgments"
    return "two bundles" if set(kinds) == {"bundle"} else "a bundle and judgments beside it"


def _kind_of(path: str | None) -> str:
    """What a file named by --qrels holds; a pipe, or what cannot be told, is taken for qrels."""
    from endoxa.io.formats import sniff

    if path is None:
        return ""
    try:
        return "qrels" if path == "-" or not Path(path).exists() else sniff(path)
    except EndoxaError:  # its reader will say what is wrong, with the line
        return "qrels"


def weights_of(text: str) -> Any:
    """A named way to weigh votes, or a number per system: `bm25=1,bm25-prf=0.5`."""
    if "=" not in text:
        return text
    try:
        return {name: float(number) for name, _, number in (part.rpartition("=") for part in text.split(","))}
    except ValueError:
        raise typer.BadParameter(f"--weights is a name or NAME=NUMBER,…, not {text!r}") from None


def pair(text: str) -> tuple[str, str]:
    """SYSTEM=TEAM."""
    system, sign, team = text.rpartition("=")
    if not sign or not team or not system:
        raise typer.BadParameter(f"--group reads SYSTEM=TEAM, not {text!r}")
    return system, team


def prior_of(text: str) -> tuple[float, float]:
    """Two numbers with a comma between."""
    try:
        yes, no = (float(number) for number in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--prior is two numbers with a comma between, like 1,1, not {text!r}") from None
    return yes, no


def need_both(inputs: Inputs) -> tuple[str, list[str]]:
    """Judgments and at least one run, or the call is at fault."""
    if inputs.qrels is None:
        raise typer.BadParameter("no judgments were given; name a file with 4 columns, or say --qrels FILE")
    if not inputs.runs:
        raise typer.BadParameter("no run was given; name a file with 6 columns, or say --run FILE")
    return inputs.qrels, inputs.runs


def policy_of(
    *,
    compat: str = "none",
    ties: str = "trec",
    missing: str | None = None,
    unjudged: str = "nonrelevant",
    undefined: str | None = None,
    assessors: str = "one",
    cut: int | None = None,
    complete: bool = False,
    judged_only: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """The settings of a Policy as `measure` takes them; trec_eval's short options win."""
    settings: dict[str, Any] = {
        "compat": compat,
        "ties": ties,
        "unjudged": "condensed" if judged_only else unjudged,
        "assessors": assessors,
        "cut": cut,
        "seed": seed,
    }
    if complete:
        missing = "empty"
    if missing is not None:
        settings["missing"] = missing
    if undefined is not None:
        settings["undefined"] = undefined
    at_call(lambda: Policy.like(settings["compat"], **{k: v for k, v in settings.items() if k != "compat"}))
    return settings


def at_call(check: Callable[[], Any]) -> Any:
    """What is wrong in a check like this is the call, not the input."""
    try:
        return check()
    except TextError as error:
        raise typer.BadParameter(str(error)) from None


def share(name: str, value: float) -> None:
    """Refuse what is not between 0 and 1."""
    if not 0 < value < 1:
        raise typer.BadParameter(f"{name} lies between 0 and 1, like 0.95, not {value:g}")
