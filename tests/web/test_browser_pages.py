"""The page of a study of pages in a real browser: marks lie on the picture, nothing overflows, axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_samples import pages, reader
from playwright.sync_api import sync_playwright

from endoxa.io.rapid import COLUMNS
from endoxa.verbs.pages import study

AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pipelines over three pages of 60 × 40 pixels, which print tables with boxes."""
    folder = tmp_path_factory.mktemp("pages")
    scans = pages(folder / "scans", {f"p{number}": "John Reed" for number in range(3)})
    engines = []
    for name, second in (("one", "Reed"), ("two", "Reecl"), ("three", "Rood")):
        cells = [(5, 1, 1, 1, 1, at, 30 * at - 25, 10, 20, 8, 90, word) for at, word in ((1, "John"), (2, second))]
        table = "\n".join("\t".join(map(str, row)) for row in (COLUMNS, *cells))
        engines.append(reader(folder, name, dict.fromkeys(("p0", "p1", "p2"), table)))
    path = folder / "study.html"
    study(scans, binarise=["grey"], ocr=engines, find="words", to=path, workers=1)
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_a_study_of_pages(chromium: str, page: Path, width: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 800})
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.get_by_text("too few to say which reads best").is_visible()
        assert tab.locator("caption", has_text="pages won–lost").count() == 3
        assert tab.get_by_text("only pages won are counted").is_visible()  # three pages tell nothing apart
        sheet = tab.locator("details.view[open] .sheet")
        mark = sheet.locator("span")
        assert mark.count() == 1 and "split" in str(mark.get_attribute("class"))
        assert (
            mark.get_attribute("title") == "grey+one: Reed · grey+two: Reecl · grey+three: Rood · transcription: Reed"
        )
        picture, box = sheet.locator("img").bounding_box(), mark.bounding_box()
        assert picture is not None and box is not None
        share = (box["x"] - picture["x"]) / picture["width"], box["width"] / picture["width"]
        assert share == pytest.approx((35 / 60, 20 / 60), abs=0.01)
        assert (box["y"] - picture["y"]) / picture["height"] == pytest.approx(10 / 40, abs=0.01)
        assert tab.locator("details.view[open] mark").all_inner_texts() == ["Reed", "Reecl", "Rood", "Reed"]
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = tab.evaluate(
            "axe.run().then(result => result.violations.map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert found == [] and said == []
        browser.close()
