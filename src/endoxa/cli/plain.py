"""The application: its commands have plain help, which appears at once; Typer's own loads Rich's Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from endoxa import cli
from endoxa.cli import loudness, output
from endoxa.errors import CallError, unknown
from endoxa.extras import need
from endoxa.reports.sheets import unmarked

F = TypeVar("F", bound=Callable[..., Any])
# Typer does not name them: what is wrong with a call, and a group without a command, which prints its help.
UsageError: Any = typer.BadParameter.__mro__[1]
Nothing = tuple(one for one in UsageError.__subclasses__() if one.__name__ == "NoArgsIsHelpError")
CALL, INPUT = "Options", "Arguments"


class Plain:
    """What a command and a group of commands have in common."""

    help: str | None

    def invoke(self, ctx: Any) -> Any:
        """Run it; a call that is at fault learns which command was called."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except CallError as error:
            error.command = error.command or ctx.command_path
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """All options, simplified."""
        return [_simplified(one) for one in super().get_params(ctx)]  # type: ignore[misc]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help without Rich's markup."""
        self.help = self.help and unmarked(self.help)
        super().format_help_text(ctx, formatter)  # type: ignore[misc]


class Command(Plain, TyperCommand):
    """A command."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, by the panel they belong to."""
        _write_options(self, ctx, formatter)


class Group(Plain, TyperGroup):
    """A group of commands."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and the commands."""
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every command and the first sentence of its help, whole."""
        known = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_sentence(one)) for name, one in known if one and not one.hidden])


class App(typer.Typer):
    """Typer's application with these commands and groups. `needs` are the extras that its commands need."""

    def __init__(self, *, cls: Any = Group, needs: tuple[str, ...] = (), **known: Any) -> None:
        self.needs = needs
        super().__init__(
            cls=cls, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]}, **known,
        )  # fmt: skip

    def command(
        self, name: str | None = None, *, cls: Any = Command, needs: tuple[str, ...] | None = None, **known: Any
    ) -> Callable[[F], F]:
        """Register a command. `needs` are its extras, if they differ from those of the group."""
        register = super().command(name, cls=cls, **known)
        extras = self.needs if needs is None else needs

        def registered(function: F) -> F:
            register(_needing(function, extras) if extras else function)
            return function

        return registered


class Root(Group):
    """All commands."""

    def make_context(self, *given: Any, **known: Any) -> Any:
        """Read the words before the command."""
        with _one_line():
            return super().make_context(*given, **known)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _one_line():
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write what `endoxa --help` prints without loading any command."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        formatter.write(cli.root_help({name: first_sentence(one) for name, one in found.items()}) + "\n")


@contextmanager
def _one_line() -> Iterator[None]:
    """What is wrong with a call is told as all errors are, with the command that helps; usage is a page of its own."""
    try:
        yield
    except UsageError as error:
        if isinstance(error, Nothing):
            raise
        told = error.format_message().removeprefix("Invalid value: ")
        raise CallError(told, command=error.ctx.command_path if error.ctx is not None else "endoxa") from None


def _needing(command: F, extras: tuple[str, ...]) -> Callable[..., Any]:
    """The command, which refuses before it does anything if a part is not installed."""

    @wraps(command)
    def called(**values: Any) -> Any:
        need(*extras)
        return command(**values)

    return called


def application(*modules: Any) -> App:
    """The command line with the commands of these modules."""
    from endoxa.cli import groups

    app = App(name="endoxa", cls=Root)
    app.callback(invoke_without_command=True)(_options)
    for module in modules:
        module.add_to(app)
    for name in cli.GROUPS:
        if (group := getattr(groups, name)).registered_commands:
            app.add_typer(group)
    app.command("help")(_help)
    loudness.heard(app)
    return app


def _options(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version."),
    verbose: bool = typer.Option(False, *loudness.FLAGS["verbose"], help=loudness.HELP["verbose"]),
    quiet: bool = typer.Option(False, *loudness.FLAGS["quiet"], help=loudness.HELP["quiet"]),
) -> None:
    if version:
        output.emit(cli.version(verbose), None)
        raise typer.Exit
    loudness.set_level(verbose=verbose, quiet=quiet)
    if ctx.invoked_subcommand is None:
        ctx.fail("Missing command.")


def _help(ctx: typer.Context, words: list[str] = typer.Argument(None, metavar="COMMAND…", show_default=False)) -> None:
    """Print the help of a command: endoxa help eval, endoxa help images run."""
    found: Any = ctx.parent
    for word in words or []:
        command = found.command.get_command(found, word) if hasattr(found.command, "get_command") else None
        if command is None:
            known = getattr(found.command, "commands", {})
            ctx.fail(str(unknown(CallError, f"there is no command {' '.join(words)!r}", word, known)))
        found = typer.Context(command, info_name=word, parent=found)
    output.emit(found.get_help(), None)


def first_sentence(command: Any) -> str:
    """The first paragraph of the help."""
    return " ".join((command.help or "").split("\n\n", 1)[0].split())


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    panels: dict[str, list[tuple[str, str]]] = {INPUT: [], CALL: []}
    for one in command.get_params(ctx):
        usual = INPUT if one.param_type_name == "argument" else CALL
        if (record := one.get_help_record(ctx)) is not None:
            panels.setdefault(getattr(one, "rich_help_panel", None) or usual, []).append(record)
    for name, records in panels.items():
        if records:
            with formatter.section(name):
                formatter.write_dl(records)


def _simplified(one: Any) -> Any:
    """An option without Rich's markup in its help, which costs nothing where it is not given."""
    if getattr(one, "help", None):
        one.help = unmarked(one.help)
    if getattr(one, "_runtime_param", 0) is None:  # Typer would build a validator of Pydantic for each
        one._runtime_param = _Lazy(one)
    return one


class _Lazy:
    """Stands for the validator of an option; makes it where a value is given that is not a text already."""

    def __init__(self, option: Any) -> None:
        self.option = option

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command takes it."""
        several = param.multiple or param.nargs == -1
        if value is None or (isinstance(value, str) and self._is(str) and not several):
            return () if several and value is None else value
        if isinstance(value, bool) and self._is(bool):
            return value
        if several and self._is(list[str]) and all(isinstance(word, str) for word in value):
            return list(value)
        self.option._runtime_param = None
        return self.option.get_runtime_param().coerce(value, param=param, ctx=ctx)

    def _is(self, kind: Any) -> bool:
        return self.option.type_descriptor.annotation in {kind, kind | None}
