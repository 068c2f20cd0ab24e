"""The methods: docstrings cite a page and heading of docs/methods/, and every heading names the code behind it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {page.name: page for page in sorted((ROOT / "docs" / "methods").glob("*.md"))}
FILES = [
    path
    for place in ("src", "tests", "benchmarks", "sources", "handbook")
    for path in sorted((ROOT / place).rglob("*.py"))
    if path != Path(__file__)
]
# a specification outside the repository: by name, by a section of it (D.12), or by its short names of the sources
ABSENT = re.compile(
    r"\bMETHODS\b|\b(?:[Tt]he |our )specification\b|\b[Ss]pecification `|\bspecs/"
    r"|(?<![\w.])[A-H]\.\d{1,2}\b(?!\.)|\b(?:SAN|LS|GIM|BAR|QUE)\b"
)
CITED = re.compile(r"docs/methods/([\w-]+\.md), ([A-Z][\w -]*\w)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
MODULE = re.compile(r"`(endoxa(?:\.\w+)+)`")


@cache
def prose(path: Path) -> str:
    """The docstrings and comments of a module."""
    text = path.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*docstrings, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def sections(page: Path) -> dict[str, str]:
    """{heading: text} of a page."""
    _, *parts = SECTION.split(FENCE.sub("", page.read_text(encoding="utf-8")))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def headings() -> list[tuple[str, str]]:
    return [(name, heading) for name, page in PAGES.items() for heading in sections(page)]


def test_nothing_cites_a_document_that_is_not_in_the_repository() -> None:
    texts = {path.relative_to(ROOT).as_posix(): prose(path) for path in FILES}
    texts |= {page.relative_to(ROOT).as_posix(): page.read_text() for page in (ROOT / "docs").rglob("*.md")}
    assert {name: cited[0] for name, text in texts.items() if (cited := ABSENT.search(text))} == {}


def test_every_citation_leads_to_a_heading() -> None:
    known = set(headings())
    for path in FILES:
        text = prose(path)
        cited = CITED.findall(text)
        assert text.count("docs/methods/") == len(cited), f"{path.name}: cite `docs/methods/PAGE.md, Heading`"
        assert [citation for citation in cited if citation not in known] == [], path.name


@pytest.mark.parametrize(("page", "heading"), headings())
def test_every_method_names_its_code(page: str, heading: str) -> None:
    named = MODULE.findall(sections(PAGES[page])[heading].partition("**Code**:")[2])
    assert named, "a method ends with **Code**: and its modules"
    assert [module for module in named if find_spec(module) is None] == []
