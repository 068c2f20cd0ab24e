"""What is typed: positional words told apart, and the texts of settings parsed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from endoxa.errors import CallError, EndoxaError, TextError, advice
from endoxa.frozen import dataclass

SUFFIXES = {".txt", ".run", ".gz", ".csv", ".parquet", ".qrels", ".zip", ".json", ".jsonl", ".tsv"}  # meant as a file
SHORT = {
    "complete": ("-c", "Average over all judged topics (--missing empty).", "missing", "empty"),
    "judged_only": ("-J", "Remove unjudged items from the lists (--unjudged condensed).", "unjudged", "condensed"),
}  # settings in short: the flag, its help, the setting and its value


# ---- settings -----------------------------------------------------------------------------------------


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


PARSERS: dict[str, Callable[[Any], Any]] = {"weights": weights_of, "prior": prior_of, "families": families_of}


def at_call(check: Callable[[], Any]) -> Any:
    """What is wrong in a check like this is the call, not the input."""
    try:
        return check()
    except TextError as error:
        raise CallError(str(error)) from None


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


def texts_of(words: list[str], measures: list[str]) -> Inputs:
    """The words of a call whose files are texts that systems extracted: every file is one."""
    from endoxa.io.read import is_there

    named = [*measures, *(word for word in words if not is_there(word))]
    return Inputs(None, [word for word in words if is_there(word)], told_apart(named).measures)
