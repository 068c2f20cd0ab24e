"""The settings as keywords: the TypedDict is that of `Settings`, and type checkers refuse what is not one.

`make generate` writes src/endoxa/evaluations/given.py anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from endoxa.evaluations import given
from endoxa.evaluations.settings import REGISTRY, Settings

ROOT = Path(__file__).parents[2]
FILE = Path(given.__file__)
ELSE = {"on": "Any"}  # a session of Spark becomes its address
HEAD = '''"""The settings as typed keywords of the verbs; `make generate` writes this file from `Settings`.

A type checker cannot derive these classes from a dataclass, so that they are written out.
"""

from __future__ import annotations

from typing import Any, TypedDict

from endoxa.evaluations.settings import Correction, Format, Interval, Name, Test
from endoxa.policies import Assessors, Compat, Missing, Mix, Quality, Rule, Scale, Ties, Undefined, Unjudged


class Scoring(TypedDict, total=False):
    """Settings that change scores."""

'''
MORE = '''

class Given(Scoring, total=False):
    """All settings of an evaluation."""

'''
CALLS = {
    "tiess='average'": "tiess",
    "ties='tric'": "tric",
    "worlds='many'": "worlds",
    "confidence='high'": "confidence",
    "test='wilcox'": "wilcox",
    "on=1, ties='average', worlds=20, weights={'a': 1.0}, prior=(1.0, 2.0)": "",
}


def written() -> str:
    lines = {one.name: f"    {one.name}: {ELSE.get(one.name, one.type)}\n" for one in fields(Settings)}
    scoring = [line for name, line in lines.items() if REGISTRY[name].scoring]
    return HEAD + "".join(scoring) + MORE + "".join(line for line in lines.values() if line not in scoring)


def test_the_typed_settings_are_the_settings() -> None:
    if os.environ.get("ENDOXA_RENEW"):
        FILE.write_text(written(), encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == written(), "call make generate"
    assert set(given.Given.__annotations__) == set(REGISTRY)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with one call in each line."""
    file = tmp_path_factory.mktemp("typed") / "program.py"
    calls = [f"endoxa.evaluate({{'q': {{'d': 1.0}}}}, {{'q': {{'d': 1}}}}, {call})" for call in CALLS]
    file.write_text("import endoxa\n" + "\n".join(calls) + "\nendoxa.measure({}, {}, confidence=0.9)\n")
    return file


def test_mypy_refuses_a_wrong_name_and_a_wrong_value(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(program)],  # with the project's cache, which `make types` fills
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    told = {int(line.split(":")[1]): line for line in done.stdout.splitlines() if ": error: " in line}
    assert sorted(told) == [2, 3, 4, 5, 6, 8], done.stdout
    for number, word in enumerate(CALLS.values(), 2):
        assert word in told.get(number, ""), told
    assert "confidence" in told[8]


def test_pyright_refuses_them_too(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--level", "error", "--outputjson", "--pythonpath", sys.executable,
         program.name], capture_output=True, text=True, check=False, cwd=program.parent,
    )  # fmt: skip
    found = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    assert sorted({one["range"]["start"]["line"] + 1 for one in found}) == [2, 3, 4, 5, 6, 8], done.stdout
