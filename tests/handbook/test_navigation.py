"""Every page of the documentation is in the site's navigation, and every link between pages leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(#[^)\s]*)?\)")
CODE = re.compile(r"```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r"^\s+- .+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(named) == [page.relative_to(DOCS).as_posix() for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target, _ in LINK.findall(CODE.sub("", page.read_text())):
        if target:
            found = (page.parent / target).resolve()
            assert found.is_relative_to(DOCS), f"{target} is outside the site: name the file instead"
            assert found.exists(), f"{target} is not there"
