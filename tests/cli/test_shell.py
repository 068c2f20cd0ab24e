"""The command line as a shell sees it: help of a command, `python -m endoxa`, completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from endoxa import __version__, cli
from endoxa.io.sources import near_file


def printed(*words: str) -> str:
    ran = CliRunner().invoke(cli.app, list(words), prog_name="endoxa")
    assert ran.exit_code == 0, ran.output
    return ran.stdout.strip()


@pytest.mark.parametrize("words", [(), ("eval",), ("images", "run"), ("search",)])
def test_help_of_a_command(words: tuple[str, ...]) -> None:
    assert printed("help", *words) == printed(*words, "--help")


def test_help_of_nothing_known() -> None:
    for words, said in ((("evl",), "did you mean eval?"), (("eval", "x"), "there is no command 'eval x'")):
        ran = CliRunner().invoke(cli.app, ["help", *words])
        assert ran.exit_code == 2 and said in ran.output


def test_a_file_of_nearly_this_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 1.0 bm25\n")
    wrong = tmp_path / "bm52.run"
    for words in (("eval", wrong, "AP"), ("read", wrong), ("write", wrong, tmp_path / "x.csv")):
        ran = subprocess.run(
            [sys.executable, "-m", "endoxa", *map(str, words)], check=False, capture_output=True, text=True,
            env={**os.environ, "COLUMNS": "400"},
        )  # fmt: skip
        assert ran.returncode in {1, 2} and ran.stderr.count("did you mean") == 1, ran.stderr
        assert "bm25.run?" in ran.stderr, ran.stderr
    assert near_file(str(tmp_path / "bm25.run")) == near_file("no/such/folder/at-all.run") == near_file("\0") == ""


def test_it_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "endoxa", "--version"], check=True, capture_output=True, text=True)
    assert ran.stdout == f"endoxa {__version__}\n"


def test_completion_is_offered() -> None:
    script = "import sys; from endoxa.cli import main; sys.argv = ['endoxa', '--show-completion', 'bash']; main()"
    ran = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert "_ENDOXA_COMPLETE" in ran.stdout + ran.stderr
