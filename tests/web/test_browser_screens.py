"""A story per screen: an organiser makes a study, two judges finish it, and the export is what was clicked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from browser_samples import Judge, Material, Shown, Stage, Thumb, Typist, material, staged
from playwright.sync_api import Locator, Page, expect

GRADES: dict[str, list[Any]] = {
    "four-results": [1, 2, 3, 4, 5],
    "one-result": [1, 2, 3, 4, 5, 6, 7, 8, 9],
    "yes-no": [0, 1],
    "five-levels": [0, 1, 2, 3, 4],
    "file-it": ["animals/birds", "animals/cats", "places/beach", "places/town"],
}
WAYS = {"four-results": "picture", "one-result": "words", "yes-no": "text", "five-levels": "words"}
ITEMS = {"four-results": "photos", "one-result": "photos", "yes-no": "texts.csv", "five-levels": "captioned.csv"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Stage]:
    """One server and one browser for the file."""
    with staged(tmp_path_factory.mktemp("screens"), chromium) as found:
        yield found


@pytest.fixture(scope="module")
def goods(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """What the organiser hands in."""
    return material(tmp_path_factory.mktemp("goods") / "all")


@pytest.fixture(autouse=True)
def quiet(stage: Stage) -> Iterator[None]:
    """No page complains."""
    with stage.quietly():
        yield


def make(stage: Stage, goods: Material, name: str, screen: str, *more: str) -> str:
    """The study, by the command line: six tasks for each of two judges."""
    if screen == "file-it":
        parts = ["--items", goods / "photos", "--taxonomy", goods / "tree.txt", "--set", "limit=4"]
    else:
        parts = ["--items", goods / ITEMS[screen], *goods.runs(WAYS[screen]), "--set", "tasks_per_query=2"]
        if WAYS[screen] != "picture":
            parts += ["--queries", goods / "queries.csv"]
    return stage.study("new", name, "--screen", screen, *parts, "--set", "common=2", "--set", "overlap=2", *more)


def invited(board: Page, nickname: str = "") -> str:
    """A link from the dashboard's form, as the organiser copies it."""
    board.context.grant_permissions(["clipboard-read", "clipboard-write"])
    board.locator("#invite-nickname").fill(nickname)
    board.locator("#invite-make").click()
    expect(board.locator("#invite-said")).to_have_text("A new link is ready to copy.")
    board.locator("#invite-copy").click()
    expect(board.locator("#copy-said")).to_have_text("Copied.")
    expect(board.locator("#invite-said")).to_have_text("")  # one message at a time, beside its button
    link = board.locator("#invite-url").input_value()
    assert board.evaluate("navigator.clipboard.readText()") == link
    return link


def opinion(rng: Random, screen: str, shown: Shown) -> list[Any]:
    """Something about each item; never the same grade twice running, as a thumb in a hurry looks like a double tap."""
    first = rng.sample(GRADES[screen], len(GRADES[screen]))
    return [first[at % len(first)] for at in range(len(shown.items))]


def exported(stage: Stage, board: Page, name: str, tmp_path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers by the dashboard's link, which are those of the command line; and everything that ever happened."""
    with board.expect_download() as arriving:
        board.locator('a[data-export="csv"]').click()
    assert arriving.value.suggested_filename == f"{name}.csv"
    arriving.value.save_as(tmp_path / "clicked.csv")
    stage.study("export", name, "--to", tmp_path / "called.csv")
    assert (tmp_path / "clicked.csv").read_bytes() == (tmp_path / "called.csv").read_bytes()
    stage.study("export", name, "--history", "--to", tmp_path / "history.csv")
    return pl.read_csv(tmp_path / "called.csv"), pl.read_csv(tmp_path / "history.csv")


def pressed(judge: Judge, shown: Shown) -> list[Any]:
    """Which answers the page shows as given."""
    kind = "category" if judge.screen == "file-it" else "grade"
    buttons = judge.page.locator(f'#stage button[data-{kind}][aria-pressed="true"]')
    found = buttons.evaluate_all(f"buttons => buttons.map(button => button.dataset.{kind})")
    assert len(found) == len(shown.items)
    return [None if one in {"", "undecided"} else one if kind == "category" else int(one) for one in found]


@pytest.mark.parametrize(
    ("name", "screen", "more"),
    [
        ("four", "four-results", ()),
        ("one", "one-result", ()),
        ("yes", "yes-no", ()),
        ("five", "five-levels", ()),
        ("file", "file-it", ()),
        ("flat", "file-it", ("--set", "hide_tree=true")),
    ],
)
def test_two_judges_finish_a_study_and_the_export_is_what_they_clicked(
    stage: Stage, goods: Material, tmp_path: Path, name: str, screen: str, more: tuple[str, ...]
) -> None:
    assert "tasks on screen" in make(stage, goods, name, screen, *more)
    board = stage.dashboard(name)
    board.evaluate("window.here = true")
    expect(board.locator("#done")).to_have_text("0")
    ana = Typist(stage, name, screen, "ana", invited(board))
    ben = Thumb(stage, name, screen, "ben", stage.link(name, "ben"))
    rng = Random(name)

    def answer(judge: Judge, shown: Shown | None, said: list[Any] | None = None, **how: Any) -> Shown | None:
        assert shown is not None
        return judge.answer(shown, said or opinion(rng, screen, shown), **how)

    shown = ana.come()
    if screen == "file-it":
        listed = ana.page.locator("#categories button").all_inner_texts()
        flat = ["animals", "beach", "birds", "cats", "places", "town"]
        assert listed == (flat if more else ["animals", "birds", "cats", "places", "beach", "town"])
        expect(ana.page.locator("#categories :is(.inner, .depth-1)")).to_have_count(0 if more else 6)
    ana.enlarge()
    shown = answer(ana, shown)
    assert shown is not None
    undecided = opinion(rng, screen, shown)
    undecided[-1] = None
    shown = answer(ana, shown, undecided)
    before = ana.undo()  # while the answer may still be on its way
    assert pressed(ana, before) == undecided
    shown = answer(ana, before, undecided, again=True)
    ana.pause()
    shown = answer(ana, shown)
    ana.go()
    back = ana.come()
    assert back == shown
    for _ in range(3):
        shown = back = answer(ana, back)
    assert back is None

    shown = answer(ben, ben.come())
    assert shown is not None
    shown = ben.skip(shown)
    shown = answer(ben, shown)
    ben.pause()
    before = ben.undo()
    shown = answer(ben, before, again=True)
    ben.enlarge()
    for _ in range(2):
        shown = answer(ben, shown)
    assert shown is not None
    undecided = [None, *opinion(rng, screen, shown)][: len(shown.items)]
    assert answer(ben, shown, undecided) is None
    ben.saved()
    before = ben.undo()  # even after the end
    assert pressed(ben, before) == undecided
    assert answer(ben, before, again=True) is None
    ben.saved()

    # The dashboard has followed, without a reload.
    both = ana.rows + ben.rows
    expect(board.locator("#done")).to_have_text("12")
    expect(board.locator("#answers")).to_have_text(str(len(both)))
    expect(board.locator("#undecided")).to_have_text("1")
    expect(board.locator("#skipped")).to_have_text("1")
    expect(board.locator("#raters tbody tr")).to_have_count(2)
    assert board.evaluate("window.here") is True

    held, history = exported(stage, board, name, tmp_path)
    value = "category" if screen == "file-it" else "grade"
    query = pl.lit(None, pl.String).alias("query") if screen == "file-it" else pl.col("query")
    assert sorted(held.select("source", query, "item", value).rows(), key=str) == sorted(map(typed, both), key=str)
    for judge in (ana, ben):
        mine = history.filter(pl.col("source") == judge.nickname).select("act", query, "item", value)
        assert mine.rows() == [typed(act) for act in judge.acts]
        how = held.filter(pl.col("source") == judge.nickname)
        assert how["method"].unique().to_list() == [judge.method]
        ratio = 2 if judge.touch else 1
        assert how["screen"].unique().to_list() == [f"{judge.size[0]}x{judge.size[1]}@{ratio}"]


def typed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Grades as the export has them: numbers with a point."""
    return tuple(float(part) if isinstance(part, int) else part for part in row)


# rank-it: order and relevance ----------------------------------------------------------------------------------------

FALLING = [1, 0.75, 0.75, 0.5, 0.25, 0]


def ranked(judge: Judge, shown: Shown, order: list[int], relevance: list[float]) -> None:
    """Check that the page stands so (places in what was shown, best first), send it, and write it down."""
    rows = judge.page.locator(".ranking > li").evaluate_all(
        "rows => rows.map(row => [Number(row.dataset.item), Number(row.querySelector('input:checked').value)])"
    )
    assert rows == [[shown.items[place][0], value] for place, value in zip(order, relevance, strict=True)]
    judge.hold(shown, [(shown.items[place][1], (at, value)) for at, (place, value) in _numbered(order, relevance)])
    if judge.touch:
        judge.page.locator("#next").tap()
    else:
        expect(judge.page.locator("#next")).to_be_focused()
        judge.page.keyboard.press("Enter")


def _numbered(order: list[int], relevance: list[float]) -> list[tuple[int, tuple[int, float]]]:
    return list(enumerate(zip(order, relevance, strict=True), start=1))


def test_two_judges_rank_and_the_export_is_their_order(stage: Stage, goods: Material, tmp_path: Path) -> None:
    stage.study(
        "new", "rank", "--screen", "rank-it", "--items", goods / "captioned.csv", "--queries", goods / "queries.csv",
        *goods.runs("words"), "--set", "common=1", "--set", "overlap=2",
    )  # fmt: skip
    board = stage.dashboard("rank")
    ana = Typist(stage, "rank", "rank-it", "ana", invited(board, "ana"))
    ben = Thumb(stage, "rank", "rank-it", "ben", invited(board))

    # By keyboard: Tab to the handle, Space takes the item, arrows carry it, Space drops it; figures give relevance.
    shown = ana.come()
    assert shown is not None
    assert len(shown.items) == 6
    ana.enlarge()
    press(ana, "Tab Space ArrowDown ArrowDown Space ArrowUp ArrowUp 4 3 3 2 1 0")
    ranked(ana, shown, [1, 2, 0, 3, 4, 5], FALLING)
    ana.ready(old=shown.task)
    before, shown = shown, ana.undo()
    assert [before.items.index(item) for item in shown.items] == [1, 2, 0, 3, 4, 5]  # as it was left
    press(ana, "ArrowDown ArrowDown ArrowDown ArrowDown ArrowDown 2")  # the last to ½: none above may be less
    expect(ana.page.locator(".rank .said")).to_contain_text("raised to ½")
    ranked(ana, shown, [0, 1, 2, 3, 4, 5], [1, 0.75, 0.75, 0.5, 0.5, 0.5])
    shown = ana.ready(old=shown.task)
    ana.pause()
    ana.go()
    assert ana.come() == shown
    assert shown is not None
    press(ana, "Tab Space ArrowDown ArrowDown Escape 4 3 3 2 1 0")  # Escape puts it back
    ranked(ana, shown, [0, 1, 2, 3, 4, 5], FALLING)
    shown = ana.ready(old=shown.task)
    assert shown is not None
    shown = ana.skip(shown)
    assert shown is None
    ana.saved()
    shown = ana.undo()
    press(ana, "4 3 3 2 1 0")
    ranked(ana, shown, [0, 1, 2, 3, 4, 5], FALLING)
    assert ana.ready(old=shown.task) is None

    # By thumb: the arrows move an item, or its handle is dragged.
    shown = ben.come()
    assert shown is not None
    ben.enlarge()
    _line(ben, shown, 0).locator(".down").tap()
    _line(ben, shown, 5).locator(".up").tap()
    for place, value in zip([1, 0, 2, 3, 5, 4], FALLING, strict=True):
        _line(ben, shown, place).locator(f'label:has(input[value="{value}"])').tap()
    ranked(ben, shown, [1, 0, 2, 3, 5, 4], FALLING)
    shown = ben.ready(old=shown.task)
    assert shown is not None
    shown = ben.skip(shown)
    assert shown is not None
    ben.pause()
    for place, value in enumerate(FALLING):
        _line(ben, shown, place).locator(f'label:has(input[value="{value}"])').tap()
    _drag(ben, _line(ben, shown, 0), _line(ben, shown, 1))  # and so becomes ¾, as the one above it now is
    expect(ben.page.locator(".rank .said")).to_contain_text("its relevance became ¾")
    ranked(ben, shown, [1, 0, 2, 3, 4, 5], [0.75, 0.75, 0.75, 0.5, 0.25, 0])
    assert ben.ready(old=shown.task) is None
    ben.saved()

    expect(board.locator("#done")).to_have_text("6")
    expect(board.locator("#skipped")).to_have_text("1")
    held, history = exported(stage, board, "rank", tmp_path)
    both = [(source, query, item, *place) for source, query, item, place in ana.rows + ben.rows]
    assert sorted(held.select("source", "query", "item", "rank", "relevance").rows()) == sorted(both)
    for judge in (ana, ben):
        mine = history.filter(pl.col("source") == judge.nickname).select("act", "query", "item", "rank", "relevance")
        assert mine.rows() == [(*act[:3], *(act[3] or (None, None))) for act in judge.acts]


def press(judge: Judge, keys: str) -> None:
    """Press one key after another."""
    for key in keys.split():
        judge.page.keyboard.press(key)


def _line(judge: Judge, shown: Shown, place: int) -> Locator:
    return judge.page.locator(f'.ranking > li[data-item="{shown.items[place][0]}"]')


def _drag(judge: Judge, line: Locator, over: Locator) -> None:
    """Drag a row by its handle with a finger until it is past the middle of another."""
    line.evaluate("line => line.scrollIntoView({ block: 'center' })")
    handle, goal = line.locator(".handle").bounding_box(), over.bounding_box()
    assert handle is not None
    assert goal is not None
    x, start, end = handle["x"] + 20, handle["y"] + 20, goal["y"] + goal["height"] / 2 + 8
    finger = judge.page.context.new_cdp_session(judge.page)
    way = [start + (end - start) * part / 4 for part in (1, 2, 3, 4)]
    rest = [end + step % 2 for step in range(8)]  # lifted while it moves, it would be a fling, which eats the next tap
    for kind, y in [("Start", start), *(("Move", y) for y in way + rest)]:
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": [{"x": x, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    finger.detach()
