"""What a signature says about a parameter beside its type: help, flags, limits. Commands are derived from it.

    Seconds = Annotated[float, option("Time limit for one page.", least=0.1)]

A parameter with such a mark is an option or an argument of the command line too; one without is for Python only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

Role = Literal["option", "argument", "run", "reference", "measures", "form", "setting"]


class Declared(NamedTuple):
    """A parameter of a verb, as a surface shows it."""

    help: str = ""
    flags: tuple[str, ...] = ()  # of the command line; without, --name
    metavar: str = ""
    choices: tuple[str, ...] = ()  # the only words that are allowed
    least: float | None = None
    most: float | None = None
    panel: str = ""  # the heading under which the help lists it
    hidden: bool = False  # not listed by the help
    many: bool = False  # may be repeated; a parameter of type list or Sequence may, anyway
    parse: Callable[[Any], Any] | None = None  # from the text that was typed (or the texts, if many) to the value
    usual: str = ""  # what the help shows as the default, where the value would not be readable
    envvar: str = ""  # a variable of the environment that gives it, too
    role: Role = "option"


def option(help: str, *flags: str, **known: Any) -> Declared:  # noqa: A002
    """Mark a parameter as an option."""
    return Declared(help, flags, **known)


def argument(help: str, metavar: str = "", **known: Any) -> Declared:  # noqa: A002
    """Mark a parameter as a positional argument."""
    return Declared(help, metavar=metavar, role="argument", **known)


# The inputs of an evaluation. A command takes them as FILE… [MEASURE…], told apart by content, or by these options.
RUN = Declared("A run, where its content does not tell.", ("--run",), "FILE", panel="Input", many=True, role="run")
REFERENCE = Declared(
    "The reference, where its content does not tell.", ("--qrels",), "FILE", panel="Input", role="reference"
)
MEASURES = Declared(
    "A measure: nDCG@10, P(rel=2)@5, or trec_eval's map, P.5, official.", ("-m", "--measure"), "NAME", many=True,
    role="measures",
)  # fmt: skip
