"""The command line as a user calls it, in this process or in one of its own: words, exit code and what is printed."""

from __future__ import annotations

import contextvars
import io
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from endoxa import cli


@dataclass(frozen=True)
class Ran:
    """The exit code of a call and what it printed: on each stream, and on both in the order of writing."""

    exit_code: int
    stdout: str
    stderr: str
    output: str


class Stream(io.BytesIO):
    """Keeps what is written, and copies it to another stream."""

    def __init__(self, copy: io.BytesIO) -> None:
        super().__init__()
        self.copy = copy

    def write(self, data: Any) -> int:
        self.copy.write(data)
        return super().write(data)


def endoxa(*words: object, typed: str = "", **environment: str) -> Ran:
    """Run `endoxa WORDS…`; `typed` is standard input. An exception that a user would see as a traceback is raised."""
    both = io.BytesIO()
    out, err = Stream(both), Stream(both)
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(typed.encode()), "utf-8"),
        "stdout": io.TextIOWrapper(out, "utf-8", write_through=True),
        "stderr": io.TextIOWrapper(err, "utf-8", write_through=True),
    }
    code: object = 0
    with (
        patch.multiple(sys, argv=["endoxa", *map(str, words)], excepthook=sys.excepthook, **streams),
        patch.object(warnings, "showwarning", warnings.showwarning),  # main sets its own, and Typer an excepthook
        patch.dict(os.environ, environment),
    ):
        try:
            contextvars.copy_context().run(cli.main)  # -v and -q hold for this call only
        except SystemExit as left:
            code = left.code or 0
    assert isinstance(code, int), code
    return Ran(code, *(stream.getvalue().decode() for stream in (out, err, both)))


def process(*words: object, stdin: bytes | None = None, **environment: str) -> Ran:
    """Run `endoxa WORDS…` in a process of its own, for what one process cannot show; it costs 0.5 s to start."""
    command = [sys.executable, "-c", "from endoxa.cli import main; main()", *map(str, words)]
    ran = subprocess.run(command, input=stdin, capture_output=True, check=False, env={**os.environ, **environment})
    out, err = ran.stdout.decode(), ran.stderr.decode()
    return Ran(ran.returncode, out, err, out + err)


def done(*words: object, **environment: str) -> str:
    """What a call that must succeed prints on standard output."""
    ran = endoxa(*words, **environment)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def fails(*words: object, **environment: str) -> str:
    """The error of a call that must fail, on standard error."""
    ran = endoxa(*words, **environment)
    assert ran.exit_code in {1, 2} and "endoxa: " in ran.stderr, ran
    return ran.stderr
