"""Commands of others: blanks, failures, and time limits that end everything that was started."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from page_samples import ended, script

from endoxa.errors import CallError
from endoxa.io import commands
from endoxa.io.commands import CommandError, command_of, run_command


def run(*words: str, seconds: float = 20.0, stopped: threading.Event | None = None, **environment: str) -> str:
    return run_command(words, seconds=seconds, stopped=stopped or threading.Event(), environment=environment)


def test_blanks_are_filled_without_a_shell(tmp_path: Path) -> None:
    command = command_of("echo '{page}' a{out}b", "page", "out")
    odd = tmp_path / "a b; $(x) '.png"
    words = command.filled({"page": odd, "out": Path("y")})
    assert words == ["echo", str(odd), "ayb"] and command.name == "echo"
    assert run(*words) == f"{odd} ayb\n"


def test_a_text_in_a_blank_is_not_filled_again() -> None:
    command = command_of("echo {query}:{item} {other}", "query", "item")
    assert command.filled({"query": "{item}", "item": "a {query}"}) == ["echo", "{item}:a {query}", "{other}"]


def test_a_command_may_be_named() -> None:
    assert command_of("mine=echo x=1 {page}", "page").name == "mine"
    assert command_of(f"{sys.executable} -c '' {{page}}", "page").name == Path(sys.executable).stem


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("echo", r"lacks \{page\}"), ("{page}", r"lacks \{page\}"), ("", r"lacks \{page\}"),
        ("echo '{page}", "cannot be read as a command: no closing quotation"),
        ("no-such-program {page}", "there is no program 'no-such-program'"),
        ("[ {page}", "needs a name of letters"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_at_once(typed: str, why: str) -> None:
    with pytest.raises(CallError, match=why):
        command_of(typed, "page")


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    failing = script(tmp_path, "failing", "echo first >&2; echo 'the last line' >&2; exit 3")
    with pytest.raises(CommandError, match="failing ended with status 3: the last line"):
        run(failing)
    with pytest.raises(CommandError, match=r"ended with status -9$"):
        run(script(tmp_path, "killed", "kill -9 $$"))
    with pytest.raises(CommandError, match="cannot be started"):
        run(str(tmp_path))


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    hanging = script(tmp_path, "hanging", f'sleep 300 & echo $! > "{tmp_path}/child"\nsleep 300')
    with pytest.raises(CommandError, match=r"hanging did not end within 0\.5 s"):
        run(hanging, seconds=0.5)
    assert ended(int((tmp_path / "child").read_text()))


def test_a_child_that_keeps_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    leaving = script(tmp_path, "leaving", f'sleep 300 & echo $! > "{tmp_path}/child"\necho done')
    assert run(leaving) == "done\n"
    assert ended(int((tmp_path / "child").read_text()))


def test_a_stop_ends_what_runs(tmp_path: Path) -> None:
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(CommandError, match="was stopped"):
        run("sleep", "300", stopped=stopped)


def test_endless_output_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MOST", 1000)
    with pytest.raises(CommandError, match="printed more than"):
        run("yes")


def test_output_is_text_whatever_it_is_and_input_is_empty() -> None:
    assert run("printf", "a\\377b") == "a\ufffdb"
    assert run("cat") == ""
    assert run("sh", "-c", "echo $NUMBER", NUMBER="7") == "7\n"
