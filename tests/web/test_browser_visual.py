"""The page of visual words in a real browser: nothing overflows, nothing is fetched, axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from visualness_samples import PIXEL, found

from endoxa.reports.pages.layout import Thumbnail
from endoxa.reports.pages.visual_words import Shown
from endoxa.reports.pages.visual_words import page as page_of

AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = found(26)
    pictures = {word: [Thumbnail(PIXEL, f"a {word}", "0.90")] * 12 for word in result.frame["word"]}
    path = tmp_path_factory.mktemp("visual") / "visual.html"
    path.write_text(page_of(Shown("Visual words", result, pictures, ["26 words"])), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_visual_words(chromium: str, page: Path, width: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 800})
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        tab.on(
            "request", lambda asked: said.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
        )
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.locator("figure svg:visible").count() == 1
        assert tab.locator(".pictures[open] img").count() == 5 * 12
        tab.locator(".pictures:not([open]) summary").first.click()
        box = tab.locator(".pictures[open] li").last.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        wrong = tab.evaluate(
            "axe.run().then(result => result.violations.map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert wrong == []
        assert said == []
        browser.close()
