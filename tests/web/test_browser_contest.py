"""The page of a contest in a real browser: pictures show, nothing overflows, axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from endoxa.io.scene_files import write_scenes
from endoxa.verbs.contest import contest

AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contest")
    write_scenes(folder / "scenes", 24, seed=2)
    path = folder / "contest.html"
    systems = ["keywords", "histograms", "random"]
    contest(folder / "scenes", systems, sample=12, worlds=40, workers=1, to=path)
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_a_contest(chromium: str, page: Path, width: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 800})
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        tab.on(
            "request",
            lambda request: said.append(request.url) if not request.url.startswith(("file:", "data:")) else None,
        )
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        curve = tab.locator("section:has(#labels) figure svg:visible")
        assert curve.count() == 1
        box = curve.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
        first = tab.locator("details.query").first
        assert first.get_attribute("open") is not None
        loaded = first.locator("img").evaluate_all(
            "images => images.map(image => image.complete && image.naturalWidth > 0)"
        )
        assert loaded and loaded[0]  # the query; further ones load when they come into view
        second = tab.locator("details.query").nth(1)
        second.locator("summary").click()
        second.locator("ol img").first.scroll_into_view_if_needed()
        tab.wait_for_function(
            "image => image.complete && image.naturalWidth > 0", arg=second.locator("ol img").first.element_handle()
        )
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = tab.evaluate(
            "axe.run().then(result => result.violations.map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert found == []
        assert said == []
        browser.close()
