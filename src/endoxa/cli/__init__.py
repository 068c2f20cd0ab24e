"""The command line: one file per verb. Each reads, calls the core, prints; none decides anything."""

from __future__ import annotations

import sys
import warnings

import typer

from endoxa import __version__
from endoxa.cli import believe, check, choose, compare, demo, evaluate, explain, groups, pool, ratings, report, study
from endoxa.cli.show import fail
from endoxa.errors import EndoxaError

app = typer.Typer(
    name="endoxa",
    help="Which retrieval system is better, and how sure one may be, when nobody holds the truth.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"endoxa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    pass


for verb in (evaluate, compare, believe, ratings, choose, pool, check, explain, report, study, groups, demo):
    verb.add_to(app)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 the input is at fault, 2 the call is at fault."""
    warnings.showwarning = lambda message, *_, **__: print(f"endoxa: {message}", file=sys.stderr)
    try:
        app()
    except EndoxaError as error:
        sys.exit(fail(error))
    except BrokenPipeError:  # the reader of a pipe went away: `endoxa eval … | head`
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        print("endoxa: stopped", file=sys.stderr)
        sys.exit(130)
