"""Commands that are made from a signature: options, help, what is passed on, and what a shell completes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.shell_completion import BashComplete

from endoxa.cli.derived import derived, parameters_of
from endoxa.cli.root import root
from endoxa.declared import argument, option
from endoxa.errors import CallError

Kind = Literal["round", "square"]


def verb(
    folder: Annotated[Path, argument("Where it is.", "DIR")],
    *,
    count: Annotated[int, option("How many.", "--count", "-n", least=1)] = 3,
    kind: Annotated[Kind, option("Its shape.")] = "round",
    names: Annotated[Sequence[str], option("Names of it.", "--name")] = ("a",),
    size: Annotated[tuple[float, float], option("Its size.", parse=lambda text: tuple(map(float, text.split(","))))] = (
        1.0,
        2.0,
    ),
    kept: Annotated[bool, option("Forget it.", "--no-keep")] = True,
    home: Annotated[str | None, option("Its home.", envvar="TOY_HOME")] = None,
    unseen: Any = None,
    command: str = "",
) -> dict[str, Any]:
    """Make a toy.

    What follows is for Python.

    Examples:
        endoxa toy DIR -n 2
    """
    return dict(locals())


def called(*words: str, **environment: str) -> dict[str, Any]:
    """What the verb and the printer get."""
    results: list[dict[str, Any]] = []

    def printer(result: dict[str, Any], count: int, loud: Annotated[bool, option("Print it loudly.")] = False) -> None:
        results.append({**result, "printed": count, "loud": loud})

    command = derived("toy", verb, printer).command()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        command.main([*words], prog_name="toy", standalone_mode=False)
    return results[0]


def test_what_is_not_typed_has_the_default_of_the_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["endoxa", "toy", "here"])
    given = called("here")
    defaults = {name: one.default for name, one in parameters_of(verb).items() if name not in {"folder", "command"}}
    assert {name: given[name] for name in defaults} == defaults
    assert given["folder"] == Path("here") and given["printed"] == 3 and given["loud"] is False
    assert given["command"] == "endoxa toy here"


def test_what_is_typed_has_the_type_of_the_parameter() -> None:
    given = called("here", "-n", "5", "--kind", "square", "--name", "x", "--name", "y", "--size", "3,4", "--no-keep")
    assert given["count"] == given["printed"] == 5 and given["names"] == ["x", "y"] and given["size"] == (3.0, 4.0)
    assert given["kind"] == "square" and given["kept"] is False and given["home"] is None
    assert called("here", TOY_HOME="there")["home"] == "there"
    assert called("here", "--loud")["loud"] is True


def test_a_word_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(CallError, match="--kind is one of round, square, not 'flat'"):
        called("here", "--kind", "flat")
    with pytest.raises(click.UsageError, match="0 is not in the range x>=1"):
        called("here", "-n", "0")


def test_an_argument_without_a_default_is_required() -> None:
    with pytest.raises(click.MissingParameter) as refused:
        called()
    assert refused.value.format_message() == "Missing argument 'DIR'."


def test_the_help_is_that_of_the_marks() -> None:
    command = derived("toy", verb, lambda result: None, more="More of it.").command()
    text = command.get_help(click.Context(command))
    for line in (
        "Make a toy.", "More of it.", "endoxa toy DIR -n 2", "--kind round|square", "How many.  [default: 3; x>=1]",
        "--no-keep", "[default: 1.0,2.0]", "Where it is.  [required]", "env var: TOY_HOME",
    ):  # fmt: skip
        assert line in text
    assert "unseen" not in text and "for Python" not in text


def offered(*words: str) -> list[str]:
    """What a shell offers for the last word."""
    *before, last = words
    return [item.value for item in BashComplete(root(), {}, "endoxa", "X").get_completions(before, last)]


def test_a_shell_completes_values_measures_files_and_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nDCG.run").write_text("q Q0 a 1 1 x\n")
    assert offered("eval", "--ties", "") == ["trec", "input", "average", "range"]
    assert offered("eval", "-o", "j") == ["json", "jsonl"]
    assert offered("next", "--about", "") == ["order", "best"]
    assert offered("ratings", "--metric", "o") == ["ordinal"]
    assert {"nDCG", "nDCG.run"} <= set(offered("eval", "nD"))
    assert offered("compare", "-m", "AP_t") == ["AP_tau"] or "AP" in offered("compare", "-m", "A")
    assert {"eval", "estimate", "explain"} >= set(offered("e")) != set()
    assert set(offered("images", "co")) == {"contest", "compose"}


def test_bash_gets_the_words(tmp_path: Path) -> None:
    environment = {"_ENDOXA_COMPLETE": "bash_complete", "COMP_WORDS": "endoxa eval --ties ", "COMP_CWORD": "3"}
    ran = subprocess.run(
        [sys.executable, "-m", "endoxa"], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ran.stdout.split() == ["plain,trec", "plain,input", "plain,average", "plain,range"], ran.stderr
