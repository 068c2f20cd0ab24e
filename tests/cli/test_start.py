"""Quick commands load only what they need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command_line import done
from command_samples import COMMANDS

from endoxa import cli
from endoxa.cli.root import root

HEAVY = ("polars", "numpy", "scipy", "matplotlib", "rich.markdown", "pydantic", "jinja2")
LOADED = """
import json, sys
sys.argv = ["endoxa", *sys.argv[1:]]
from endoxa.cli import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*words: str, heavy: tuple[str, ...] = HEAVY, **environment: str) -> set[str]:
    """Those of the heavy modules that a command has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.stdout
    return set(heavy) & set(__import__("json").loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], [], ["--version", "-v"], ["eval", "--help"], ["compare", "--help"], ["explain", "AP"]]
)
def test_help_and_explanations_load_nothing_heavy(words: list[str]) -> None:
    assert loaded(*words) == set()
    if words[:1] != ["explain"] and "eval" not in words and "compare" not in words:
        assert loaded(*words, heavy=("click", "endoxa.cli.evaluate", "endoxa.cli.output")) == set()


HELP = """
import json, sys
from endoxa.cli.root import root
first = {}
for words in json.loads(sys.argv[1]):
    root().main([*words, "-h"], prog_name="endoxa", standalone_mode=False)
    for name in sys.modules:
        first.setdefault(name, " ".join(words))
print(json.dumps(first), file=sys.stderr)
"""


def test_the_help_of_no_command_loads_anything_heavy() -> None:
    words = json.dumps([command.split() for command in COMMANDS])
    ran = subprocess.run([sys.executable, "-c", HELP, words], capture_output=True, text=True, check=True)
    first = json.loads(ran.stderr.splitlines()[-1])
    heavy = {*HEAVY, "rich", "sqlalchemy", "fastapi", "PIL", "endoxa.reports", "endoxa.web"}
    assert {name: first[name] for name in heavy & set(first)} == {}


@pytest.fixture
def files(core, tmp_path: Path) -> list[str]:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 a 1 3 bm25\nq1 Q0 b 2 2 bm25\nq2 Q0 d 1 3 bm25\nq2 Q0 c 2 2 bm25\n")
    return [str(tmp_path / "qrels.txt"), str(tmp_path / "bm25.run")]


def test_a_native_evaluation_loads_numpy_only(files: list[str]) -> None:
    assert loaded("eval", *files, heavy=(*HEAVY, "rich", "concurrent.futures"), ENDOXA_NATIVE="1") == {"numpy"}


@pytest.mark.parametrize("words", [["eval"], ["eval", "-o", "trec"], ["measure"]])
def test_an_evaluation_by_frames_loads_no_scipy(words: list[str], files: list[str]) -> None:
    """Reading of saved evaluations loaded it for their forecasts: 0.15 s of every call."""
    assert loaded(*words, *files, "AP", heavy=("polars", "scipy"), ENDOXA_NATIVE="0") == {"polars"}


def test_a_native_measurement_makes_no_frame(files: list[str]) -> None:
    code = (
        "import sys, endoxa; qrels, run = sys.argv[1:]; print(endoxa.measure(run, qrels, ['AP']).to_dict());"
        "print(endoxa.measure({'q': {'a': 2.0}}, {'q': {'a': 1}}, ['AP']).to_dict()); print('polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "{'bm25': {'q1': {'AP': 1.0}, 'q2': {'AP': 0.5}}}", "{'run': {'q': {'AP': 1.0}}}", "False"
    ]  # fmt: skip


def test_every_file_of_a_command_begins_with_the_command() -> None:
    """The first line tells which file to load, and is the help in the list of commands."""
    whole = done("--help")
    for module, line in cli.listed().items():
        assert line.startswith("endoxa ") and ": " in line, f"cli/{module}.py"
    for name in root().list_commands(click.Context(root())):
        assert f"  {name} " in whole
        assert name == "help" or cli.commands(name), name


def test_the_help_without_loading_is_that_of_the_application() -> None:
    assert done("help").strip() == cli.root_help()
