"""Commands and groups of Click: help by panels, errors of one line, commands that are loaded when they are called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import click

from endoxa import cli
from endoxa.cli import loudness, output
from endoxa.errors import CallError, unknown

CALL, INPUT = "Options", "Arguments"
HELP = {"help_option_names": ["-h", "--help"]}
START = {
    "bash": ("~/.bashrc", 'eval "$(_ENDOXA_COMPLETE=bash_source endoxa)"'),
    "zsh": ("~/.zshrc", 'eval "$(_ENDOXA_COMPLETE=zsh_source endoxa)"'),
    "fish": ("~/.config/fish/completions/endoxa.fish", "_ENDOXA_COMPLETE=fish_source endoxa | source"),
}  # what a shell reads when it starts, and the line that is added


class Lazy(click.Group):
    """A group that makes a command when it is called."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command of the first word; an unknown one is refused with the nearest."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing and not args[0].startswith("-"):
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)


class Command(click.Command):
    """A command, whose options are listed under panels."""

    def __init__(self, name: str, **known: Any) -> None:
        super().__init__(name, context_settings=HELP, **known)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; a call that is at fault learns which command was called."""
        try:
            return super().invoke(ctx)
        except CallError as error:
            error.command = error.command or ctx.command_path
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by the panel they belong to."""
        panels: dict[str, list[tuple[str, str]]] = {INPUT: [], CALL: []}
        for one in self.get_params(ctx):
            usual = INPUT if one.param_type_name == "argument" else CALL
            if (record := one.get_help_record(ctx)) is not None:
                panels.setdefault(getattr(one, "panel", "") or usual, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class Group(Lazy):
    """A group of commands. Each has a name and its first sentence; its `command()` is made when it is called."""

    def __init__(self, name: str, members: tuple[Any, ...], **known: Any) -> None:
        super().__init__(name, no_args_is_help=True, context_settings=HELP, **known)
        self.members = {member.name: member for member in members}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which they were declared."""
        return [*self.members]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        member = self.members.get(cmd_name)
        return member if member is None or isinstance(member, click.Command) else member.command()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every command and the first sentence of its help, whole."""
        with formatter.section("Commands"):
            formatter.write_dl([
                (name, first_sentence(one)) for name, one in self.members.items() if not getattr(one, "hidden", False)
            ])  # fmt: skip


class Root(Lazy):
    """All commands; the file of one is loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The first words of all commands."""
        return [*dict.fromkeys(cli.word(line) for line in cli.listed().values()), "help"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or the group, of this name."""
        if cmd_name == "help":
            words = click.Argument(["words"], nargs=-1, metavar="[COMMAND…]...")
            return Command("help", callback=_help, params=[words], help=_help.__doc__)
        modules = [module for module in cli.commands(cmd_name) if hasattr(module, "COMMANDS")]
        members = tuple(member for module in modules for member in module.COMMANDS)
        if not members:
            return None
        if len(members) == 1 and members[0].name == cmd_name:
            return members[0] if isinstance(members[0], click.Command) else members[0].command()
        group = next((module.GROUP for module in modules if hasattr(module, "GROUP")), Group)
        text = cli.GROUPS.get(cmd_name) or modules[0].HELP
        return group(cmd_name, members, help=text)

    def make_context(self, *given: Any, **known: Any) -> click.Context:
        """Read the words before the command."""
        with _one_line():
            return super().make_context(*given, **known)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _one_line():
            return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what `endoxa --help` prints without loading any command."""
        formatter.write(cli.root_help() + "\n")


@contextmanager
def _one_line() -> Iterator[None]:
    """An error of Click is reported as all errors are, with the command for help; usage is a page of its own."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        output.emit(error.ctx.get_help() if error.ctx else "", None)
        raise click.exceptions.Exit(2) from None
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "endoxa"
        raise CallError(_worded(error), command=command) from None
    except CallError as error:  # what stands before a command
        error.command = error.command or "endoxa"
        raise


def _worded(error: click.UsageError) -> str:
    """The message, which does not depend on the version of Click."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message().removeprefix("Invalid value: ")
    near = error.possibilities or []
    hint = f" Did you mean {near[0]}?" if len(near) == 1 else f" (Possible options: {', '.join(sorted(near))})"
    return f"No such option: {error.option_name}{hint if near else ''}"


def root() -> Root:
    """The command line."""
    params = [
        click.Option(["--version"], is_flag=True),
        *(click.Option([*flags, name], is_flag=True) for name, flags in loudness.FLAGS.items()),
        click.Option(["--install-completion", "install"], is_flag=True),
        click.Option(["--show-completion", "show"], is_flag=True),
    ]
    return Root("endoxa", callback=_options, params=params, invoke_without_command=True, context_settings=HELP)


def _options(version: bool, verbose: bool, quiet: bool, install: bool, show: bool) -> None:
    """Do what stands before a command."""
    ctx = click.get_current_context()
    if version:
        output.emit(cli.version(verbose), None)
    elif install or show:
        _complete(install)
    else:
        loudness.set_level(verbose=verbose, quiet=quiet)
        if ctx.invoked_subcommand is None:
            ctx.fail("Missing command.")
        return
    ctx.exit()


def _complete(install: bool) -> None:
    """Print the script of completion for the present shell, or let the shell load it when it starts."""
    from pathlib import Path

    import shellingham
    from click.shell_completion import get_completion_class

    try:
        shell = shellingham.detect_shell()[0]
    except shellingham.ShellDetectionFailure:
        shell = "this shell"
    kind = get_completion_class(shell)
    if kind is None or shell not in START:
        raise CallError(f"there is no completion for {shell}", remedy=f"there is for {', '.join(START)}")
    if not install:
        output.emit(kind(root(), {}, "endoxa", "_ENDOXA_COMPLETE").source(), None)
        return
    place, line = START[shell]
    path = Path(place).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or line not in path.read_text():
        with path.open("a") as file:
            file.write(f"{line}\n")
    output.say(f"Completion is installed in {path}. It works in new shells.")


def _help(words: tuple[str, ...]) -> None:
    """Print the help of a command: endoxa help eval, endoxa help images run."""
    ctx = click.get_current_context()
    place = ctx.parent
    assert place is not None
    for word in words:
        group = place.command
        command = group.get_command(place, word) if isinstance(group, click.Group) else None
        if command is None:
            names = group.list_commands(place) if isinstance(group, click.Group) else []
            ctx.fail(str(unknown(CallError, f"there is no command {' '.join(words)!r}", word, names)))
        place = click.Context(command, info_name=word, parent=place)
    output.emit(place.get_help(), None)


def first_sentence(member: Any) -> str:
    """The first paragraph of the help."""
    return " ".join((member.help or "").split("\n\n", 1)[0].split())
