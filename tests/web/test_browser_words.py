"""The pages of words in a real browser: nothing overflows, nothing is fetched, axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright
from word_samples import lifts_of, pictures

from endoxa.reports.pages.word_studies import WordStudy
from endoxa.reports.pages.word_studies import page as study_page
from endoxa.verbs.compose import compose
from endoxa.verbs.words import annotate
from endoxa.words.annotating import Learning
from endoxa.words.contenders import Contender

AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    names = ["ncuts", "blobworld", "felzenszwalb", "mean-shift-over", "slic", "jseg", "grid"]
    contenders = [
        Contender(f"{name}, {count}", name, (group,), count, Learning(components=8 + at))
        for at, name in enumerate(names)
        for count, group in ((2, "rgs"), (4, "base" if name != "grid" else "rgs"))
    ]
    lifts = lifts_of(pictures(160), contenders, {one.name: f"grid, {one.regions}" for one in contenders[:-2]}, count=3)
    costs = dict.fromkeys(names, 0.1)
    study = WordStudy("segmenters", "Segmentations compared by the words that they predict", lifts, costs, ("Few.",))
    (folder / "segmenters.html").write_text(study_page(study), encoding="utf-8")
    compose(folder / "scenes", 30, seed=4, size=(96, 144), form="png")
    wanted = sorted((folder / "scenes").rglob("[0-9]*.png"))
    wanted = [path for path in wanted if "masks" not in path.parts][:2]
    annotate(folder / "scenes", wanted, components=8, workers=1, to=folder / "annotate.html")
    return {name: folder / f"{name}.html" for name in ("segmenters", "annotate")}


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["segmenters", "annotate"])
def test_the_pages_of_words(chromium: str, pages: dict[str, Path], name: str, width: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 800})
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        tab.on(
            "request",
            lambda request: said.append(request.url[:80]) if not request.url.startswith(("file:", "data:")) else None,
        )
        tab.goto(pages[name].as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        boxes = [one.bounding_box() for one in tab.locator("figure svg:visible").all()]
        assert boxes and all(box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = tab.evaluate(
            "axe.run().then(result => result.violations.map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert found == []
        assert said == []
        browser.close()


def test_words_are_drawn_over_the_picture(chromium: str, pages: dict[str, Path]) -> None:
    """The picture itself is shown: its middle is not the colour of the page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(pages["annotate"].as_uri())
        drawn = tab.locator("figure svg").first.screenshot()
        browser.close()
    import io

    from PIL import Image

    with Image.open(io.BytesIO(drawn)) as picture:
        values = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    assert len(np.unique(values, axis=0)) > 500
