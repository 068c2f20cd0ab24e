"""The built documentation site: every block of code is one, and no page asks another host for anything."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md"))
FENCE = re.compile(r"^ *(`{3,})[^`\n]*\n(?:.*\n)*? *\1`*$", re.MULTILINE)
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
NOT_LOADED = {"next", "prev", "canonical"}  # relations of <link> that only name a page
STYLE_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """What a page shows outside its blocks of code, how many blocks it has, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks, self.inside, self.shown = 0, 0, ""
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.blocks += tag == "pre"
        self.inside += tag in {"pre", "script", "style"}
        if tag in LOADED and not NOT_LOADED & set(given.get("rel", "").split()):
            self.loads.append(given.get(LOADED[tag], ""))
        self.loads += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]
        self.loads += [found[1] for found in STYLE_ADDRESS.finditer(given.get("style", "")) if found[1]]

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in {"pre", "script", "style"}

    def handle_data(self, data: str) -> None:
        self.shown += "" if self.inside else data


def is_foreign(address: str) -> bool:
    """Whether it is an address of another host."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in {"", "data", "file", "blob"}


@pytest.fixture(scope="module")
def site(site_builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("handbook")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(DOCS, folder / "docs")
    command = [site_builder, "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.parametrize("name", PAGES, ids=str)
def test_every_fence_is_a_block_of_code(name: Path, site: Path) -> None:
    source = DOCS.joinpath(name).with_suffix(".md").read_text()
    page = Page(site.joinpath(name).with_suffix(".html").read_text())
    assert "```" not in page.shown
    assert page.blocks == len(FENCE.findall(source))


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES)  # and the one that says that a page is missing
    loads = {(page.name, address) for page in pages for address in Page(page.read_text()).loads}
    assert [load for load in sorted(loads) if is_foreign(load[1])] == []
    for sheet in site.rglob("*.css"):
        found = [one or two for one, two in STYLE_ADDRESS.findall(sheet.read_text())]
        assert [address for address in found if is_foreign(address)] == [], sheet.name


def test_a_browser_opens_every_page_and_searches_from_the_files_alone(site: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page: Any = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        for name in PAGES:
            page.goto(site.joinpath(name).with_suffix(".html").as_uri())
            assert page.locator("h1").first.is_visible()
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("/")
        page.keyboard.type("bootstrap")
        page.locator("a", has_text="bootstrap").first.wait_for()  # a result: the page itself has no such link
        browser.close()
    assert any("search.js" in address for address in asked)
    assert [address for address in asked if is_foreign(address)] == []
