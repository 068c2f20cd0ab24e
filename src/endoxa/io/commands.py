"""Commands of the user's own, run in a process group of their own, within a time limit."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from endoxa.errors import CallError, EndoxaError
from endoxa.frozen import dataclass

NAMED = re.compile(r"(?P<name>\w[\w.+-]*)=(?P<rest>.*)", re.DOTALL)
NAME = re.compile(r"\w[\w.+-]*")
BLANK = re.compile(r"\{(\w+)\}")
MOST = 64 << 20  # bytes of output; a page has a few thousand
STEP = 0.25  # seconds between two looks at a command that runs long


class CommandError(EndoxaError):
    """A command that failed on one page or pair: it is left out, and the others go on."""


@dataclass(frozen=True)
class Command:
    """A command with blanks such as {page}, and its name."""

    name: str
    words: tuple[str, ...]

    def filled(self, blanks: Mapping[str, str | Path]) -> list[str]:
        """The command with paths or texts in its blanks; a blank within a text stays as it is."""
        return [filled(word, blanks) for word in self.words]


def filled(text: str, blanks: Mapping[str, object]) -> str:
    """A text with its blanks replaced, all at once; braces around other words stay."""
    return BLANK.sub(lambda found: str(blanks[found[1]]) if found[1] in blanks else found[0], text)


def command_of(typed: str, *blanks: str) -> Command:
    """`mytool {page}` or `NAME=mytool {page}` as a command; each blank must occur in it."""
    named = NAMED.fullmatch(typed)
    text = named["rest"] if named else typed
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise CallError(f"{typed!r} cannot be read as a command: {str(error).lower()}") from None
    for blank in blanks:
        if not any(f"{{{blank}}}" in word for word in words[1:]):
            usual = " ".join(f"{{{one}}}" for one in blanks)
            raise CallError(f"the command {typed!r} lacks {{{blank}}}", remedy=f"as in 'mytool {usual}'")
    if shutil.which(words[0]) is None:
        raise CallError(f"there is no program {words[0]!r}", remedy="give its path, or install it")
    name = named["name"] if named else Path(words[0]).stem
    if not NAME.fullmatch(name):  # it becomes a folder
        raise CallError(f"the command {typed!r} needs a name of letters, digits and . + - _: 'NAME={typed}'")
    return Command(name, words)


def run_command(
    words: Sequence[str], *, seconds: float, stopped: threading.Event, environment: Mapping[str, str] | None = None
) -> str:
    """What the command prints, as text. It and everything that it started are ended after `seconds`.

    Its output goes to files, because a pipe that a child of the command keeps open would never end.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as problems:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=problems, start_new_session=True,
                env={**os.environ, **(environment or {})},
            )  # fmt: skip
        except OSError as error:
            raise CommandError(f"{words[0]} cannot be started: {error.strerror}") from None
        try:
            why = _waited(process, out.fileno(), seconds, stopped)
        finally:
            _kill(process)
        if why:
            raise CommandError(f"{Path(words[0]).name} {why}")
        problems.seek(max(0, problems.seek(0, os.SEEK_END) - 2000))
        last = problems.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        if process.returncode:
            reason = f": {last[0][:200]}" if last else ""
            raise CommandError(f"{Path(words[0]).name} ended with status {process.returncode}{reason}")
        out.seek(0)
        return out.read().decode("utf-8", "replace")


def _waited(process: subprocess.Popen[bytes], out: int, seconds: float, stopped: threading.Event) -> str:
    """Wait for the end of the process; empty, or why it is ended before."""
    until = time.monotonic() + seconds
    while True:
        left = until - time.monotonic()
        try:
            process.wait(max(0.0, min(STEP, left)))
        except subprocess.TimeoutExpired:
            if stopped.is_set():
                return "was stopped"
            if left <= STEP:
                return f"did not end within {seconds:g} s"
            if os.fstat(out).st_size > MOST:
                return f"printed more than {MOST >> 20} MB"
        else:
            return f"printed more than {MOST >> 20} MB" if os.fstat(out).st_size > MOST else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and all others of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
