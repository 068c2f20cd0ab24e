"""The command line: one file per verb. Each parses, calls one verb of the library, and prints what it gives."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from endoxa import __version__

NOT_COMMANDS = {"derived", "groups", "loudness", "output", "root", "typed"}
ORDER = (
    "evaluate", "compare", "report", "choose", "judge", "backtest", "estimate", "believe", "measure", "rate",
    "filing", "pool", "fuse", "check", "explain", "read", "write", "study", "search", "index", "run", "find", "gallery",
    "contest", "compose", "fetch", "pages", "demo",
)  # fmt: skip
GROUPS = {
    "images": "Pictures: index a folder with classical and modern retrieval systems, run them, judge them, search.",
    "pages": "Pages of text: compare binarisers and OCR on scans, without a true text or beside it.",
    "search": "Find pictures by marking what is shown: endoxa search PHOTOS opens the page.",
    "words": "Words and pictures: predict words, compare segmenters and features, find which words are visual.",
}
USAGE = """Usage: endoxa [OPTIONS] COMMAND [ARGS]...

  Which retrieval system is better, and how sure one may be, when nobody holds
  the truth.

Options:
  --version             Print the version; with -v whether the native core is in
                        use.
  -v, --verbose         Explain every choice behind the numbers.
  -q, --quiet           Print only the answer.
  --install-completion  Install completion for the current shell.
  --show-completion     Show completion for the current shell, to copy it or
                        customize the installation.
  -h, --help            Show this message and exit.

Commands:
"""
WIDTH = 80


# ---- the commands -------------------------------------------------------------------------------------


def listed() -> dict[str, str]:
    """{module: the first line of its file}, those of an evaluation first: `endoxa eval: score runs against …`."""
    found: dict[str, str] = {}
    for entry in os.scandir(os.path.dirname(__file__)):  # noqa: PTH120  pathlib takes as long as all of this
        name = entry.name.removesuffix(".py")
        if entry.name.endswith(".py") and name != "__init__" and name not in NOT_COMMANDS:
            with open(entry.path, encoding="utf-8") as file:  # noqa: PTH123
                found[name] = file.readline().strip().strip('"')
    ordered = [*(name for name in ORDER if name in found), *sorted(name for name in found if name not in ORDER)]
    return {name: found[name] for name in ordered}


def word(line: str) -> str:
    """The first word of the command in the first line of its file."""
    return line.removeprefix("endoxa ").partition(":")[0].split()[0]


def root_help() -> str:
    """The help of `endoxa` alone."""
    rows = {
        word(line): line.partition(": ")[2]
        for line in listed().values()
        if word(line) not in GROUPS
    } | {"help": "print the help of a command: endoxa help eval, endoxa help images run."} | GROUPS  # fmt: skip
    left = max(map(len, rows)) + 4
    lines = []
    for name, text in rows.items():
        line = f"  {name}".ljust(left)
        for part in (text[:1].upper() + text[1:]).split():
            if len(line) + len(part) > WIDTH - 1:
                lines.append(line.rstrip())
                line = " " * left
            line += part + " "
        lines.append(line.rstrip())
    return USAGE + "\n".join(lines)


def commands(first: str | None = None) -> list[Any]:
    """The modules that hold a command, those of an evaluation first; or only those of commands that begin so."""
    names = [name for name, line in listed().items() if first is None or word(line) == first]
    return [import_module(f"{__name__}.{name}") for name in names]


def version(verbose: bool) -> str:
    """What `endoxa --version` prints."""
    from endoxa import native

    return f"endoxa {__version__}" + (f"\n{native.described()}" if verbose else "")


# ---- running it ---------------------------------------------------------------------------------------


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 the input is at fault, 2 the call is at fault."""
    words = sys.argv[1:]
    if "_ENDOXA_COMPLETE" not in os.environ and words in ([], ["-h"], ["--help"]):
        print(root_help())
        sys.exit(0 if words else 2)
    if sorted(words) in (["--version"], ["--version", "-v"], ["--verbose", "--version"]):
        print(version(len(words) > 1))
        return
    import warnings

    from click import Abort

    from endoxa.cli import output
    from endoxa.errors import CallError, EndoxaError

    output.guard_terminal()
    warnings.showwarning = lambda message, *_, **__: print(f"endoxa: {message}", file=sys.stderr)
    try:
        output.refuse_own_input(words)
        from endoxa.cli.root import root

        sys.exit(root().main(prog_name="endoxa", standalone_mode=False))
    except EndoxaError as error:
        output.complain(f"endoxa: {error}")
        sys.exit(2 if isinstance(error, CallError) else 1)
    except ModuleNotFoundError as error:
        from endoxa.extras import refusal_of

        if (refusal := refusal_of(error.name)) is None:
            raise
        output.complain(f"endoxa: {refusal}")
        sys.exit(1)
    except BrokenPipeError:  # the reader of a pipe went away: `endoxa eval … | head`
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a disk that fails, or a path that cannot be one
        reason = f"{error.strerror or error}; check the path, its permissions and the disk"
        output.complain(f"endoxa: {f'{error.filename}: ' if error.filename else ''}{reason}")
        sys.exit(1)
    except (KeyboardInterrupt, Abort):  # Click makes an Abort of Ctrl-C, and of an input that ends at a question
        output.complain("endoxa: stopped")
        sys.exit(130)
