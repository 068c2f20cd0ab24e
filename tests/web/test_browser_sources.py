"""The page of the sources in a real browser: links lead to tables, nothing overflows, axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from sources import run

AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of Gimel'farb: tables with errata, worked examples, figures, a study."""
    path = tmp_path_factory.mktemp("sources") / "sources.html"
    run.main(["--only", "gimelfarb", "--to", str(path)])
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_the_sources(chromium: str, page: Path, width: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 800})
        asked: list[str] = []
        tab.on("request", lambda one: asked.append(one.url) if not one.url.startswith(("file:", "data:")) else None)
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.get_by_role("link", name="Gimel'farb, table").click()
        assert tab.locator("h2#gimelfarb-table").is_visible() and tab.url.endswith("#gimelfarb-table")
        assert tab.locator("section:has(#gimelfarb-table) td b").all_inner_texts() == ["0.83", "0.96", "4.20"]
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = tab.evaluate(
            "axe.run().then(result => result.violations.map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert found == []
        assert asked == []
        browser.close()
