"""The command line as a shell sees it: help of a command, `python -m endoxa`, completion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from command_line import done, endoxa
from command_samples import COMMANDS

from endoxa import __version__
from endoxa.cli.root import root
from endoxa.io.missing_files import near_file


@pytest.mark.parametrize("words", [(), ("eval",), ("images", "run"), ("search",)])
def test_help_of_a_command(words: tuple[str, ...]) -> None:
    assert done("help", *words).strip() == done(*words, "--help").strip()


def test_help_of_nothing_known() -> None:
    for words, said in ((("evl",), "did you mean eval?"), (("eval", "x"), "there is no command 'eval x'")):
        ran = endoxa("help", *words)
        assert ran.exit_code == 2 and said in ran.stderr


def test_control_c_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("endoxa.cli.output.say", interrupted)
    ran = endoxa("explain", "AP")
    assert (ran.exit_code, ran.stderr.strip()) == (130, "endoxa: stopped")


def test_a_file_of_nearly_this_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 1.0 bm25\n")
    wrong = tmp_path / "bm52.run"
    for words in (("eval", wrong, "AP"), ("read", wrong), ("write", wrong, tmp_path / "x.csv")):
        ran = endoxa(*words, COLUMNS="400")
        assert ran.exit_code in {1, 2} and ran.stderr.count("did you mean") == 1, ran.stderr
        assert "bm25.run?" in ran.stderr, ran.stderr
    assert near_file(str(tmp_path / "bm25.run")) == near_file("no/such/folder/at-all.run") == near_file("\0") == ""


def test_it_runs_as_a_module() -> None:
    ran = subprocess.run([sys.executable, "-m", "endoxa", "--version"], check=True, capture_output=True, text=True)
    assert ran.stdout == f"endoxa {__version__}\n"


def test_completion_is_offered() -> None:
    script = f"{sys.executable} -m endoxa --show-completion; exit $?"  # the shell is the one that calls
    ran = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert "_ENDOXA_COMPLETE" in ran.stdout, ran.stderr


def test_a_result_does_not_replace_what_it_is_made_of(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    qrels, run = tmp_path / "q.csv", tmp_path / "a.run"
    qrels.write_text("query,item,grade\nq1,a,1\n")
    run.write_text("q1 Q0 a 1 3 a\nq1 Q0 b 2 2 a\n")
    for words in (["eval", "q.csv", "a.run", "--to", "./q.csv"], ["eval", "--qrels=q.csv", "a.run", "--to=q.csv"]):
        ran = endoxa(*words)
        assert ran.exit_code == 2
        assert "q.csv would replace a file that is read; give another name" in ran.stderr
    assert qrels.read_text() == "query,item,grade\nq1,a,1\n"


def test_grades_that_were_filled_in_are_not_lost(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        lines = [f"q{q} Q0 d{d}{name if d > 2 else ''} {d} {9 - d} {name}" for q in range(4) for d in range(1, 6)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    words = ("next", "a.run", "b.run", "-n", 5, "-o", "csv", "--to", "judge.csv")
    for _ in range(2):  # nothing was filled in
        done(*words)
    filled = (tmp_path / "judge.csv").read_text().replace(",,", ",1,", 1)
    (tmp_path / "judge.csv").write_text(filled)
    ran = endoxa(*words)
    assert ran.exit_code == 2
    assert "judge.csv holds 1 grade," in ran.stderr
    assert (tmp_path / "judge.csv").read_text() == filled


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("eval bm52.run", "a file nor a measure: no such file; did you mean bm25.run? See endoxa eval -h"),
        ("eval bm25.run --foo", "No such option: --foo (Possible options: --on, --to); see endoxa eval -h"),
        ("eval bm25.run -o xml", "; see endoxa eval -h"),
        ("eval bm25.run --ties foo", "ties must be one of trec, input, average, range, not 'foo'; see endoxa eval -h"),
        ("eval bm25.run --test t", ". Remove it; see endoxa eval -h"),
        ("eval bm25.run nDCG10", "did you mean nDCG@10?\n    nDCG10\n    ^"),
        ("eval bm25.run --to bm25.run", "--to bm25.run would replace a file that is read; give another name"),
        ("-v -q eval bm25.run", "-v says more and -q says less; give one of them; see endoxa -h"),
        ("fuse bm25.run bm25.run --weights equal", "--weights reads SYSTEM=NUMBER,…, not 'equal'; see endoxa fuse -h"),
        ("study foo", "No such command 'foo'; see endoxa study -h"),
        ("study status -o xml", "-o is table or json, not 'xml'; see endoxa study status -h"),
        ("foo", "No such command 'foo'; see endoxa -h"),
        ("evl", "No such command 'evl'. Did you mean 'eval'? See endoxa -h"),
        ("-v", "Missing command; see endoxa -h"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_call_ends_with_the_command_that_helps(tmp_path: Path, monkeypatch, words, told) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bm25.run").write_text("q1 Q0 a 1 3 a\n")
    ran = endoxa(*words.split())
    assert ran.exit_code == 2
    assert ran.stderr.startswith("endoxa: ") and ran.stderr.endswith(f"{told}\n")
    assert not ran.stdout and "Usage" not in ran.stderr


@pytest.mark.parametrize("words", [(), ("study",), ("images",), ("search",)])
def test_a_group_without_a_command_prints_its_help(words: tuple[str, ...]) -> None:
    ran = endoxa(*words)
    assert ran.exit_code == 2 and "endoxa: " not in ran.output
    assert ran.output.strip() == done(*words, "-h").strip()


def required(words: list[str]) -> list[str]:
    """The arguments that a command needs, as its help lists them."""
    command: click.Command = root()
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return [str(one.metavar) for one in command.params if isinstance(one, click.Argument) and one.required]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_a_command_without_its_words_names_the_first_that_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    words = command.split()
    ran = endoxa(*words)
    missing = required(words)
    if missing:
        said = f"endoxa: Missing argument '{missing[0]}'; see endoxa {command} -h\n"
        assert (ran.exit_code, ran.stderr) == (2, said), ran.output
    elif command not in {"explain", "help"}:  # the others say what is not there
        assert ran.exit_code in {1, 2} and ran.stderr.startswith("endoxa: "), ran.output
    assert list(tmp_path.iterdir()) == []


def test_most_commands_need_a_word() -> None:
    assert sum(bool(required(name.split())) for name in COMMANDS) > 20


def test_an_estimate_without_runs_or_labels_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    ran = endoxa("estimate")
    assert ran.exit_code == 2 and ran.stderr.startswith("endoxa: no run was given; "), ran.stderr
    (tmp_path / "damaged.run").write_text("q1 Q0 a 1 3 a\nthree words here\n")
    ran = endoxa("estimate", tmp_path / "damaged.run")
    assert ran.exit_code == 2 and ran.stderr.startswith("endoxa: no labels were given; "), ran.stderr
