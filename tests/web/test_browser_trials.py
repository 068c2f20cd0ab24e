"""The page of trials in a real browser: nothing overflows, nothing is fetched, axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from endoxa.reports.pages.trials import Held
from endoxa.reports.pages.trials import page as page_of
from endoxa.searches.arms import Features, group_of
from endoxa.searches.trials import Setting, hold

AXE = Path(__file__).parent / "axe.min.js"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(2)
    kind = np.arange(90) % 6
    look = (rng.normal(size=(6, 8))[kind] + rng.normal(size=(90, 8))).astype(np.float32)
    features = Features(tuple(f"p{at:02d}" for at in range(90)), (group_of("look", look),))
    names = ["kernel", "reweighting", "rocchio", "linear-svm", "rbf-svm", "pichunter", "none"]
    trials = [
        hold(features, [f"k{one}" for one in kind], names, Setting(task, "class", sessions=6, size=6, most=60))
        for task in ("target", "kind")
    ]
    path = tmp_path_factory.mktemp("trials") / "trials.html"
    path.write_text(page_of(Held("Trials of search", trials, ["90 pictures"])), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_of_trials(chromium: str, page: Path, width: int) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 800})
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        tab.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        tab.goto(page.as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.locator("figure svg:visible").count() == 2
        box = tab.locator("figure svg:visible").first.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
        tab.evaluate(AXE.read_text(encoding="utf-8"))
        found = tab.evaluate(
            "axe.run().then(result => result.violations.map(one => one.id + ': ' + one.nodes[0].html))"
        )
        assert found == []
        assert said == []
        browser.close()
