"""Spelling, and phrases that nobody understood: over the documentation, the help and the pages."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs", "src", "handbook")

# The phrases of STYLE's table: what they should be is there.
PHRASES = [
    "no proof is to be had", "valid whatever is believed", "levels without the own vote", "with its limits told",
    "queries are few: what is said", "who is no better tells nothing", "order hangs on the depth",
    "Where the verdicts part", "leave it away", "Some hundred judged pairs", "all that is believed, and lists end",
    "Keep only the first so many", "A word that is no file", "Of everything random", "how-manieth",
    "links hold on this machine", r"worth \d+(\.\d+)? even ones", "may still differ surely",
    "try the judge, not the item",
]  # fmt: skip


def texts() -> list[Path]:
    files = [
        path for place in PLACES for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    ]
    return [path for path in files if path.suffix in {".md", ".py", ".html", ".js"} and "__pycache__" not in path.parts]


def test_words_are_spelled_right() -> None:
    typos = Path(sysconfig.get_path("scripts")) / "typos"  # what is a name to it is in pyproject.toml
    found = subprocess.run([typos, "--format", "brief", *PLACES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == "" and found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_nobody_understood_are_gone(phrase: str) -> None:
    pattern = re.compile(phrase.replace(" ", r"\s+"), re.IGNORECASE)
    assert [str(path) for path in texts() if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_the_help_of_intervals_says_what_of_them() -> None:
    from endoxa.evaluations.settings import described

    assert "| Of the intervals." not in described()
