"""Every tutorial is followed as it stands, and prints what it says. `make docs` renews the output and the pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest
from handbook.browsing import STEPS
from handbook.engines import DOCUMENT, engines
from handbook.tutorials import DOCS, PICTURE, TUTORIALS, reading

RENEW = bool(os.environ.get("ENDOXA_RENEW"))
NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")
LONG = re.compile(r"[0-9]+\.[0-9]{13,}")
PLACES = sorted(TUTORIALS.glob("*.md"))


def printed(text: str) -> str:
    """What is printed, but for the last digits of long numbers, which depend on the processor."""
    return LONG.sub(lambda number: f"{float(number[0]):.12g}", text)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("place", PLACES, ids=[place.stem for place in PLACES])
def test_a_tutorial_can_be_followed_and_prints_what_it_says(place: Path, browser: Any, tmp_path: Path) -> None:
    images = TUTORIALS / "images" if RENEW else tmp_path / "images"
    folder = tmp_path / "reader"
    folder.mkdir()
    with reading(folder, browser=browser, steps=STEPS) as reader:
        followed = reader.follow(place.read_text(), images)
    if RENEW:
        place.write_text(followed)
    assert printed(followed) == printed(place.read_text()), "the commands print something else now: make docs"
    for name in (found["name"] for found in PICTURE.finditer(followed)):
        assert (TUTORIALS / "images" / f"{name}.png").exists(), f"{name}.png is missing: make docs"
        taken = cv2.imread(str(images / f"{name}.png"), cv2.IMREAD_GRAYSCALE)
        assert taken.std() > 10, f"{name}.png shows nothing"


def test_what_a_probability_means_prints_and_draws_what_it_says(tmp_path: Path) -> None:
    page, curve = DOCS / "probability.md", DOCS / "images" / "reliability.svg"
    with reading(tmp_path) as reader:
        followed = reader.follow(page.read_text())
    drawn = (tmp_path / "reliability.svg").read_text()
    if RENEW:
        page.write_text(followed)
        curve.parent.mkdir(exist_ok=True)
        curve.write_text(drawn)
    assert printed(followed) == printed(page.read_text()), "the commands print something else now: make docs"
    kept = curve.read_text()
    assert NUMBER.sub("#", drawn) == NUMBER.sub("#", kept), "the curve is another one now: make docs"
    now, then = ([float(one) for one in NUMBER.findall(text)] for text in (drawn, kept))
    assert now == pytest.approx(then, abs=0.5), "the curve runs elsewhere now: make docs"  # half a pixel


def test_the_page_of_engines_is_what_the_registry_says() -> None:
    if RENEW:
        DOCUMENT.write_text(engines())
    assert DOCUMENT.read_text() == engines(), "make docs"
