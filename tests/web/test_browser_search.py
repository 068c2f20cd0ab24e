"""People who search with a real browser: by keyboard, by thumb, by sketch, words, map and a picture of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from browser_samples import NARROW, WIDE, Eye, Server, Stage, staged
from playwright.sync_api import Locator, Page, expect
from search_page_samples import paint, picture_bytes

NUMBERS = count(1)
SAID = r"search here: (?P<link>(?P<url>http://[^\s/]+:(?P<port>\d+))/join/\S+)"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Stage]:
    """`endoxa search` over 24 small pictures, and one browser for the file."""
    folder = tmp_path_factory.mktemp("search")
    photos = paint(folder / "photos")
    given = ("--vectors", str(folder / "vectors.npz"), "--index", str(folder / "index"), "--workers", "1")
    server = Server(folder / "home", ("search", str(photos), "--serve", *given), SAID)
    with staged(folder, chromium, server) as found:
        yield found


@pytest.fixture(autouse=True)
def quiet(stage: Stage) -> Iterator[None]:
    """No page complains."""
    with stage.quietly():
        yield


@pytest.fixture(params=["laptop", "phone"])
def eye(request: pytest.FixtureRequest) -> Iterator[Eye]:
    """A laptop's, then a phone's; in the end it has found nothing."""
    made = Eye(request.param)
    yield made
    assert made.found == []


def come(stage: Stage, device: str = "laptop", *, link: str = "") -> Page:
    """Somebody new on the start of the page; with a link of their own, somebody who comes back."""
    phone = device == "phone"
    page = stage.context(NARROW if phone else WIDE, touch=phone).new_page()
    page.goto(link or stage.server.link)
    if not link:
        page.locator("#nickname").fill(f"{device} {next(NUMBERS)}")
    page.locator("#join").click()
    expect(page.locator("#help")).to_be_visible()
    page.locator("#help-close").click()
    expect(page.locator(".way").first).to_be_visible()
    return page


def to(page: Page, view: str) -> None:
    """One of the views, by its link above."""
    page.locator(f'#ways a[href$="#{view}"]').click()
    expect(page.locator(f'body[data-view="{view}"] #stage:not([aria-busy])')).to_be_visible()


def own_link(page: Page) -> str:
    """The link of one's own, from the start."""
    to(page, "start")
    page.locator(".own-link summary").click()
    return page.locator("#own-link").input_value()


def tiles(page: Page) -> Locator:
    return page.locator("#stage .tile")


def shown(page: Page) -> list[str]:
    return [str(place) for place in page.locator("#stage .tile").evaluate_all("all => all.map(t => t.dataset.place)")]


def saved(page: Page) -> None:
    expect(page.locator("#status")).to_have_text("Saved")


def stroke(page: Page) -> None:
    """Paint over the canvas."""
    page.locator(".board").scroll_into_view_if_needed()
    box = page.locator(".board").bounding_box()
    assert box is not None
    for part in (0.2, 0.4, 0.6, 0.8):
        page.mouse.move(box["x"] + 10, box["y"] + part * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 10, box["y"] + part * box["height"], steps=3)
        page.mouse.up()


# ---- stories ------------------------------------------------------------------------------------------


def test_a_typist_marks_undoes_asks_why_and_finds(stage: Stage) -> None:
    page = stage.context(WIDE).new_page()
    keys = page.keyboard
    page.goto(stage.server.link)
    keys.press("Tab")
    keys.type("typist")
    keys.press("Enter")
    expect(page.locator("#help")).to_be_visible()
    keys.press("Enter")
    way = page.locator('.way[href="#results"]')
    expect(way).to_be_visible()
    while not page.locator('.way[href="#results"]:focus').count():
        keys.press("Tab")
    keys.press("Enter")
    expect(tiles(page)).to_have_count(20)
    expect(tiles(page).nth(0)).to_be_focused()
    first = shown(page)
    for key in "52":
        keys.press(key)
    expect(tiles(page).nth(2)).to_be_focused()  # a mark goes on to the next
    expect(tiles(page).nth(0)).to_have_attribute("aria-label", re.compile("marked highly relevant"))
    expect(page.locator("#announce")).to_contain_text(": irrelevant")
    pressed = tiles(page).nth(1).locator('[aria-pressed="true"]')
    expect(pressed).to_have_attribute("aria-label", "irrelevant")
    keys.press("z")
    expect(tiles(page).nth(1)).to_have_attribute("data-mark", "")
    keys.press("ArrowLeft")
    keys.press("1")
    expect(tiles(page).nth(1)).to_have_attribute("data-mark", "-2")
    keys.press("ArrowDown")
    keys.press("3")
    keys.press("ArrowLeft")
    keys.press("u")
    saved(page)
    keys.press("Enter")
    expect(page.locator("#round")).to_have_text("Round 2")
    expect(tiles(page)).to_have_count(4)  # of 24, 20 are seen
    assert not set(shown(page)) & set(first)
    keys.press("w")
    bars = page.locator("#why .why-bars li[data-value]")
    expect(bars).to_have_count(5)
    figures = [_number(text) for text in page.locator("#why .why-bars .figure").all_inner_texts()]
    assert sum(figures[:-1]) == pytest.approx(figures[-1], abs=1e-9)  # the bars add up, as they are shown
    expect(page.locator("#why")).to_contain_text(f"Expected mark: {_signed(figures[-1])}")
    keys.press("Escape")
    keys.press("Space")
    expect(page.locator("#enlarge")).to_be_visible()
    keys.press("4")
    expect(page.locator("#enlarge-bar [aria-pressed=true]")).to_have_attribute("aria-label", "relevant")
    keys.press("Escape")
    expect(tiles(page).nth(0)).to_be_focused()
    keys.press("f")
    expect(page.locator("#query-bar")).to_contain_text("★ Found")
    keys.press("h")
    expect(page.locator("#rounds button")).to_have_count(2)
    keys.press("Tab")
    keys.press("Enter")
    expect(page.locator("#round-content img")).to_have_count(20)
    keys.press("Escape")
    keys.press("?")
    expect(page.locator("#help")).to_be_visible()
    keys.press("Escape")
    keys.press("z")
    keys.press("z")
    keys.press("z")
    expect(page.locator("#round")).to_have_text("Round 1")
    assert shown(page) == first  # undo restores the page


def _number(text: str) -> float:
    return float(text.replace("−", "-"))


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{abs(value):.2f}" if round(value, 2) else "0.00"


def test_a_thumb_marks_with_the_bar_and_comes_back_in_another_browser(stage: Stage) -> None:
    page = come(stage, "phone")
    page.locator('.way[href="#results"]').tap()
    expect(tiles(page)).to_have_count(8)
    for button in page.locator("#mark-bar button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["width"] >= 56
        assert box["height"] >= 48
    tiles(page).nth(1).tap()
    page.locator('#mark-bar [data-grade="2"]').tap()
    expect(tiles(page).nth(1)).to_have_attribute("data-mark", "2")
    expect(tiles(page).nth(2)).to_have_class(re.compile("chosen"))
    page.locator('#mark-bar [data-grade="-1"]').tap()
    page.locator("#undo").tap()
    expect(tiles(page).nth(2)).to_have_attribute("data-mark", "")
    tiles(page).nth(2).tap()
    tiles(page).nth(2).tap()  # a second tap enlarges
    expect(page.locator("#enlarge")).to_be_visible()
    page.locator("#enlarge-close").tap()
    page.locator("#refine").tap()
    expect(page.locator("#round")).to_have_text("Round 2")
    saved(page)
    here = shown(page)
    other = come(stage, "laptop", link=own_link(page))
    other.locator(".saved").click()
    expect(other.locator("#round")).to_have_text("Round 2")
    assert shown(other) == here


@pytest.mark.parametrize("device", ["laptop", "phone"])
def test_a_sketch_a_picture_and_words(stage: Stage, tmp_path: Path, device: str) -> None:
    page = come(stage, device)
    to(page, "sketch")
    page.locator("#sketch-go").click()
    expect(page.locator("#status")).to_contain_text("canvas is empty")
    page.locator('.palette input[aria-label^="bright blue"]').check()
    page.locator('.choice-set label:has-text("large")').click()
    stroke(page)
    expect(page.locator(".live li")).to_have_count(12)  # live, without a click
    expect(page.locator(".live button").first).to_have_attribute("aria-label", re.compile("on (sea|night)"))
    page.locator("#sketch-undo").click()
    page.locator(".easel-cell").first.focus()
    for key in ("ArrowDown", "ArrowRight", "c", "Enter", "Delete", "s", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".easel-cell:focus")).to_have_attribute("aria-label", "row 2, column 2: bright blue")
    page.locator("#sketch-go").click()
    expect(page.locator("#query-bar .chip")).to_have_text(["Sketch×"])
    expect(tiles(page).locator(".expected i")).to_have_count(0)  # a sketch says nothing about marks
    to(page, "words")
    page.locator("#words").fill("boat")
    page.keyboard.press("Enter")
    expect(page.locator("#query-bar")).to_contain_text("Words: boat")
    to(page, "picture")
    (tmp_path / "mine.jpg").write_bytes(picture_bytes((220, 190, 120), size=(300, 200)))
    page.locator("#file").set_input_files(tmp_path / "mine.jpg")
    box = page.locator(".crop-frame").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    expect(page.locator(".crop-box")).to_be_visible()
    page.locator("#picture-go").click()
    expect(page.locator("#query-bar")).to_contain_text("My picture")
    image = page.locator("#query-bar .chip img")
    expect(image).to_have_js_property("complete", True)
    assert image.evaluate("image => image.naturalWidth") > 0
    for name in ("Remove: Sketch", "Remove: Words: boat"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(tiles(page).first).to_have_attribute("aria-label", re.compile("on sand"))


def test_the_map_opens_and_closes_and_is_searched_from(stage: Stage) -> None:
    page = come(stage, "phone")
    to(page, "map")
    expect(tiles(page)).to_have_count(24)  # 4 × 6: nothing to open
    page = come(stage, "laptop")
    page.set_viewport_size({"width": 700, "height": 600})
    page.route("**/api/collection/map?*", lambda route: route.continue_(
        url=re.sub(r"columns=\d+&rows=\d+", "columns=4&rows=3", route.request.url)))  # fmt: skip
    to(page, "map")
    expect(tiles(page)).to_have_count(12)
    tiles(page).filter(has=page.locator(".stack")).first.click()
    expect(page.locator(".crumb-list li")).to_have_count(2)
    page.keyboard.press("Backspace")
    expect(page.locator(".crumb-list li")).to_have_count(1)
    tiles(page).filter(has=page.locator(".stack")).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".crumb-list li")).to_have_count(2)
    page.get_by_role("button", name="All").click()
    expect(tiles(page)).to_have_count(12)
    tiles(page).first.focus()
    page.keyboard.press("5")
    page.locator("#from-here").click()
    expect(page.locator("#query-bar")).to_contain_text("12 seen")
    expect(page.locator('body[data-view="results"]')).to_be_visible()


def test_offline_marks_are_kept_and_another_browser_is_noticed(stage: Stage) -> None:
    stage.forgiven += ["Failed to load resource"]
    page = come(stage)
    page.locator('.way[href="#results"]').click()
    expect(tiles(page)).to_have_count(20)
    page.route("**/events", lambda route: route.abort())
    page.keyboard.press("5")
    page.keyboard.press("4")
    expect(page.locator("#status")).to_contain_text("2 acts not saved yet")
    expect(tiles(page).nth(1)).to_have_attribute("data-mark", "1")
    page.unroute("**/events")
    saved(page)
    address = page.url
    other = come(stage, link=own_link(page))
    other.goto(address)
    page.goto(address)
    for one in (other, page):
        expect(tiles(one).nth(1)).to_have_attribute("data-mark", "1")
    other.locator("#refine").click()
    expect(other.locator("#round")).to_have_text("Round 2")
    page.locator("#refine").click()
    expect(page.locator("#status")).to_contain_text("went on elsewhere")
    expect(page.locator("#round")).to_have_text("Round 2")


def test_two_people_and_a_shared_search(stage: Stage) -> None:
    ana, ben = come(stage), come(stage)
    for page in (ana, ben):
        page.locator('.way[href="#results"]').click()
        expect(tiles(page)).to_have_count(20)
    before = shown(ben)
    ana.keyboard.press("5")
    ana.locator("#refine").click()
    expect(ana.locator("#round")).to_have_text("Round 2")
    ben.reload()
    expect(tiles(ben)).to_have_count(20)
    assert shown(ben) == before
    stage.forgiven += ["status of 404"]
    ben.goto(ana.url)
    expect(ben.locator("main")).to_contain_text("no such search")
    ana.locator("#more summary").click()
    ana.locator("#share-open").click()
    ana.locator("#share-fork").click()
    expect(ana.locator("#share-url")).to_have_value(re.compile(r"look="))
    ben.goto(ana.locator("#share-url").input_value())
    expect(ben.locator("#stage")).to_contain_text("somebody else")
    expect(ben.locator("#actions")).to_be_hidden()
    ben.locator("#fork").click()
    expect(ben.locator("#actions")).to_be_visible()
    expect(ben.locator("#round")).to_have_text("Round 2")
    ana.locator("#share-view").click()
    expect(ana.locator("#share-url")).to_have_value(re.compile(r"/join/"))
    eve = stage.context(NARROW, touch=True).new_page()
    eve.goto(ana.locator("#share-url").input_value())
    eve.locator("#join").tap()
    eve.locator("#help-close").tap()
    expect(eve.locator("#stage")).to_contain_text("somebody else")
    expect(eve.locator("#fork")).to_have_count(0)
    expect(eve.locator("#ways")).to_be_hidden()


def test_a_narrow_window_with_a_mouse_does_not_overflow(stage: Stage) -> None:
    """It shows the keys of a laptop on the width of a phone: the buttons below the page did not fit."""
    page = come(stage, "laptop")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    to(page, "results")
    tiles(page).first.press("5")
    saved(page)
    page.locator("#refine").click()
    expect(page.locator("#round")).to_have_text("Round 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    box = page.locator("#refine").bounding_box()
    assert box is not None and box["x"] + box["width"] <= NARROW[0]


@pytest.mark.parametrize("device", ["laptop", "phone"])
def test_dots_are_shown_where_marks_tell_pictures_apart(stage: Stage, device: str) -> None:
    page = come(stage, device)
    to(page, "words")
    page.locator("#words").fill("unicorn")
    page.keyboard.press("Enter")
    expect(page.locator("#query-bar")).to_contain_text("Words: unicorn")
    dots = tiles(page).locator(".expected i")
    expect(tiles(page).first).to_be_visible()
    expect(dots).to_have_count(0)  # an unknown word says nothing about any picture
    page.get_by_role("button", name="Remove: Words: unicorn").click()
    expect(page.locator("#query-bar .chip")).to_have_count(0)
    for number, label in enumerate(tiles(page).evaluate_all("all => all.map(t => t.ariaLabel)")):
        tiles(page).nth(number).press("5" if " on sea" in label else "1")
    saved(page)
    expect(dots).to_have_count(0)
    reason = page.locator(".said", has_text="cannot be told apart")
    page.locator("#refine").click()
    expect(page.locator("#round")).to_have_text("Round 4")
    expect(tiles(page).first).to_be_visible()
    assert bool(dots.count()) != bool(reason.count())  # dots, or why there are none


# ---- every screen -------------------------------------------------------------------------------------


def test_axe_finds_nothing(stage: Stage, eye: Eye) -> None:
    page = stage.context(NARROW if eye.device == "phone" else WIDE, touch=eye.device == "phone").new_page()
    page.goto(stage.server.link)
    eye.look(page, "search-join")
    page.locator("#nickname").fill(f"eye {next(NUMBERS)}")
    page.locator("#join").click()
    expect(page.locator("#help")).to_be_visible()
    eye.look(page, "search-help")
    page.locator("#help-close").click()
    for view in ("browse", "map", "words", "picture", "sketch"):
        to(page, view)
        if view == "sketch":
            stroke(page)
            expect(page.locator(".live li")).to_have_count(12)
        loaded(page)
        eye.look(page, f"search-{view}")
    page.locator("#sketch-go").click()
    expect(page.locator("#round")).to_be_visible()
    for grade in ("5", "1", "3"):
        tiles(page).first.press(grade)
    tiles(page).first.focus()
    page.locator("#refine").click()
    expect(page.locator("#round")).to_have_text("Round 3")
    page.keyboard.press("f")
    expect(page.locator("#query-bar")).to_contain_text("★ Found")
    loaded(page)
    eye.look(page, "search-results")
    for opener, dialog in (("w", "why"), ("h", "history"), (" ", "enlarge")):
        tiles(page).first.press(opener)
        expect(page.locator(f"#{dialog}")).to_be_visible()
        if dialog == "history":
            page.locator("#rounds button").first.click()
            expect(page.locator("#go-on")).to_be_visible()
        loaded(page)
        eye.look(page, f"search-{dialog}")
        page.keyboard.press("Escape")
    for button in ("counts", "share", "over"):
        page.locator("#more summary").click()
        page.locator(f"#{button}-open").click()
        expect(page.locator(f"#{button}")).to_be_visible()
        if button == "counts":
            page.locator("#pin-layout").select_option("fixed")
            expect(page.get_by_label("Weight of Layout")).to_be_visible()
        eye.look(page, f"search-{button}")
        page.keyboard.press("Escape")
    page.locator("#more summary").click()
    eye.look(page, "search-more")
    page.keyboard.press("Escape")
    to(page, "start")
    loaded(page)
    eye.look(page, "search-start")


def loaded(page: Page) -> None:
    """Every picture is there."""
    images: Any = page.locator("img")
    for image in images.all():
        expect(image).to_have_js_property("complete", True)
