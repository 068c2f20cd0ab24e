"""The command line: one file per verb. Each parses, calls one verb of the library, and prints what it gives."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from typing import Any

import typer

from endoxa import __version__
from endoxa.cli import groups, loudness, output
from endoxa.cli.options import near_file
from endoxa.errors import CallError, EndoxaError, FileError, did_you_mean

NOT_COMMANDS = {"groups", "loudness", "options", "output"}
ORDER = (
    "evaluate", "compare", "report", "choose", "estimate", "believe", "measure", "rate", "pool", "fuse", "check",
    "explain", "read", "write", "study", "search", "index", "run", "find", "gallery", "contest", "compose", "fetch",
    "pages", "demo",
)  # fmt: skip

app = typer.Typer(
    name="endoxa", help="Which retrieval system is better, and how sure one may be, when nobody holds the truth.",
    no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        print(f"endoxa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
    verbose: bool = typer.Option(False, *loudness.FLAGS["verbose"], help=loudness.HELP["verbose"]),
    quiet: bool = typer.Option(False, *loudness.FLAGS["quiet"], help=loudness.HELP["quiet"]),
) -> None:
    loudness.set_level(verbose=verbose, quiet=quiet)


def commands() -> list[Any]:
    """The modules of this package that hold a command, those of an evaluation first."""
    found = [name for _, name, _ in pkgutil.iter_modules(__path__) if name not in NOT_COMMANDS]
    ordered = [*(name for name in ORDER if name in found), *(name for name in found if name not in ORDER)]
    return [importlib.import_module(f"{__name__}.{name}") for name in ordered]


def add(*modules: Any) -> None:
    """Register the commands of these modules."""
    for module in modules:
        module.add_to(app)
    loudness.heard(app)


app.add_typer(groups.images)
app.add_typer(groups.pages)
app.add_typer(groups.search)
app.add_typer(groups.words)
add(*commands())


@app.command("help")
def _help(ctx: typer.Context, words: list[str] = typer.Argument(None, metavar="COMMAND…", show_default=False)) -> None:
    """Print the help of a command: endoxa help eval, endoxa help images run."""
    found: Any = ctx.parent
    for word in words or []:
        command = found.command.get_command(found, word) if hasattr(found.command, "get_command") else None
        if command is None:
            known = getattr(found.command, "commands", {})
            ctx.fail(f"there is no command {' '.join(words)!r}{did_you_mean(word, known)}")
        found = typer.Context(command, info_name=word, parent=found)
    output.emit(found.get_help(), None)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 the input is at fault, 2 the call is at fault."""
    output.guard_terminal()
    warnings.showwarning = lambda message, *_, **__: print(f"endoxa: {message}", file=sys.stderr)
    try:
        app(prog_name="endoxa")
    except EndoxaError as error:
        near = near_file(error.path) if isinstance(error, FileError) and error.line is None else ""
        output.complain(f"endoxa: {error}{near}")
        sys.exit(2 if isinstance(error, CallError) else 1)
    except BrokenPipeError:  # the reader of a pipe went away: `endoxa eval … | head`
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a disk that fails, or a path that cannot be one
        reason = f"{error.strerror or error}; check the path, its permissions and the disk"
        output.complain(f"endoxa: {f'{error.filename}: ' if error.filename else ''}{reason}")
        sys.exit(1)
    except KeyboardInterrupt:
        output.complain("endoxa: stopped")
        sys.exit(130)
