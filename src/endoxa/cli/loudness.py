"""-v and -q: how much every command says. One place, so that no command has its own."""

from __future__ import annotations

from contextvars import ContextVar

from endoxa.errors import CallError

FLAGS = {"verbose": ("-v", "--verbose"), "quiet": ("-q", "--quiet")}
HELP = {"verbose": "Explain every choice behind the numbers.", "quiet": "Print only the answer."}
PANEL = "How much is said"
_LEVEL: ContextVar[int] = ContextVar("level", default=0)


def is_quiet() -> bool:
    """Whether only the answer is wanted."""
    return _LEVEL.get() < 0


def is_full() -> bool:
    """Whether every choice and note is wanted."""
    return _LEVEL.get() > 0


def set_level(*, verbose: bool, quiet: bool) -> None:
    """Say what is wanted from here on."""
    if verbose and quiet:
        raise CallError("-v says more and -q says less; give one of them")
    _LEVEL.set(1 if verbose else -1 if quiet else 0)
