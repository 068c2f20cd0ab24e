"""A law over every command: its first line is the answer, with -q its only one; so is the first sentence of a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from answer_samples import first_line, first_sentence, is_answer
from command_line import done, endoxa
from command_samples import AFTER, COMMANDS, World, world_in

from endoxa.cli import loudness

# Commands that do not begin with an answer, and why.
ASIDE = {
    "help": "prints the help of another command",
    "decide": "prints the address to open and goes on until it is stopped; with --terminal it begins with the verdict",
    "search open": "prints the address to open and goes on until it is stopped",
    "study serve": "prints the address to open and goes on until it is stopped",
    "study invite": "its output is data: a number, a nickname and a link on each line",
    "images fetch": "fetches packages from the network; tests/io/test_packages.py covers it",
}
# Forms in which standard output is data by contract: the answer would spoil what is piped.
DATA = {
    ("eval", "-o", "trec"): "trec_eval's own lines, to the letter (--compat)",
    ("eval", "-o", "tsv"): "a table for programs",
    ("compare", "-o", "jsonl"): "one object on each line",
    ("measure", "-o", "tsv"): "a table for programs",
    ("next", "-o", "csv"): "the file that judges fill in",
    ("eval", "-o", "latex"): "a table for a paper",
    ("eval", "-o", "markdown"): "a table for a page",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_in(tmp_path_factory.mktemp("answers"))


def test_every_command_is_asked_or_has_a_reason(world: World) -> None:
    assert sorted([*world.calls(), *ASIDE]) == COMMANDS, "a command is called in command_samples.py, or is in ASIDE"
    assert all(ASIDE.values()) and all(DATA.values())


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ASIDE])
def test_the_first_line_is_the_answer_and_with_q_the_only_one(command: str, world: World) -> None:
    if command in AFTER:  # another process may have run the tests before
        done(*AFTER[command].split(), *world.calls()[AFTER[command]])
    for flags in ((), ("-q",)):
        words = world.calls()[command]
        ran = endoxa(*flags, *command.split(), *words)
        assert ran.exit_code == 0, ran.output
        assert is_answer(first_line(ran.stdout)), ran.stdout
        if flags:
            assert ran.stdout.count("\n") == 1 and not ran.stderr, ran.output
    for path in (word for word in words if isinstance(word, Path) and word.suffix == ".html"):
        assert is_answer(first_sentence(path.read_text(encoding="utf-8"))), path


@pytest.mark.parametrize("call", DATA, ids=" ".join)
def test_data_is_data_and_q_adds_nothing(call: tuple[str, ...], world: World) -> None:
    command, *form = call
    plain, quiet = (endoxa(*flags, command, *world.calls()[command], *form) for flags in ((), ("-q",)))
    assert plain.exit_code == 0, plain.output
    assert plain.stdout == quiet.stdout and quiet.stderr == ""
    assert first_line(plain.stdout) != first_line(done(command, *world.calls()[command]))


def test_a_file_of_data_leaves_the_answer_on_the_terminal(world: World) -> None:
    answer = first_line(done("eval", *world.calls()["eval"]))
    ran = endoxa("eval", *world.calls()["eval"], "-o", "tsv", "--to", world.folder / "scores.tsv")
    assert ran.stdout == f"{answer}\n"
    assert f"wrote {world.folder / 'scores.tsv'}" in ran.stderr


def test_v_explains_what_one_line_names(world: World) -> None:
    words = world.calls()["eval"]
    short, full = done("eval", *words), done("eval", "-v", *words)
    assert short.count("ties=trec") == 1 and "ties=trec missing=empty" in short and "(-v explains)" in short
    assert "ties=trec: items with equal scores" in full and "(-v explains)" not in full
    assert full == done("-v", "eval", *words)
    assert endoxa("eval", "-v", "--quiet", *words).exit_code == 2
    assert done("-q", "eval", "-q", *words) == f"{first_line(short)}\n"  # its own -q is trec_eval's


def test_only_output_prints() -> None:
    """A command that prints by itself would print with -q too."""
    home = Path(loudness.__file__).parent
    found = [
        path.name
        for path in home.glob("*.py")
        if path.name not in {"output.py", "__init__.py"} and "print(" in path.read_text().replace("_print(", "")
    ]
    assert found == []
