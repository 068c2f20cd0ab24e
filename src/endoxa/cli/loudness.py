"""-v and -q: how much every command says. One place, so that no command has its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any, get_args

import typer

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


def heard(app: typer.Typer) -> None:
    """Give every command of an application, and of its groups, -v and -q behind its name, as before it."""
    for command in app.registered_commands:
        if command.callback is not None and not hasattr(command.callback, "heard"):
            command.callback = _heard(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            heard(group.typer_instance)


def _heard(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with two more options. A flag that it has for something else stays its own: -q of `eval`."""
    signature = inspect.signature(command, eval_str=True)
    own = list(signature.parameters.values())
    taken = {flag for one in own for part in get_args(one.annotation) for flag in _flags(part)}
    more = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[
                bool,
                typer.Option(*(flag for flag in flags if flag not in taken), help=HELP[name], rich_help_panel=PANEL),
            ],
        )
        for name, flags in FLAGS.items()
    ]

    @wraps(command)
    def called(*, verbose: bool, quiet: bool, **values: Any) -> Any:
        if verbose or quiet:
            set_level(verbose=verbose or is_full(), quiet=quiet or is_quiet())
        return command(**values)

    called.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in [*own, *more]} | {"return": None}
    called.heard = True  # type: ignore[attr-defined]
    return called


def _flags(part: Any) -> tuple[Any, ...]:
    """The flags of an option; inside Annotated, Typer takes the first one for a default."""
    return (getattr(part, "default", None), *(getattr(part, "param_decls", None) or ()))
