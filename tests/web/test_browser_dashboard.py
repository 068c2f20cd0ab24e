"""What the organiser sees of judges at work: practice, known items, comments, agreement, the verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser_samples import Judge, Material, Shown, Stage, Thumb, Typist, material, staged
from playwright.sync_api import Page, expect

ADVICE = "Look at the whole picture.\n\nThere is no right answer but <b>yours</b>."
GOLD = {("q2", "p6"): 4, ("q1", "p3"): 0}  # pairs that no run holds, so that nobody meets them otherwise


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Stage]:
    """One server and one browser for the file."""
    with staged(tmp_path_factory.mktemp("dashboard"), chromium) as found:
        yield found


@pytest.fixture(scope="module")
def goods(tmp_path_factory: pytest.TempPathFactory) -> Material:
    """What the organiser hands in."""
    made = material(tmp_path_factory.mktemp("goods") / "all")
    rows = [("q0", "p0", "4"), ("q0", "p1", "0")]
    pl.DataFrame(rows, schema=["query", "item", "expected"], orient="row").write_csv(made / "practice.csv")
    known = [(*pair, str(grade)) for pair, grade in GOLD.items()]
    pl.DataFrame(known, schema=["query", "item", "expected"], orient="row").write_csv(made / "gold.csv")
    return made


@pytest.fixture(autouse=True)
def quiet(stage: Stage) -> Iterator[None]:
    """No page complains."""
    with stage.quietly():
        yield


def practised(judge: Judge, shown: Shown, grade: int, *, right: bool, words: str) -> None:
    """Answer a practice task and read the feedback."""
    judge.say(shown, [grade], again=False)
    line = judge.page.locator(f"#feedback li.{'right' if right else 'other'}")
    expect(line).to_be_visible()
    assert words in line.inner_text()
    expect(judge.page.locator("#continue")).to_be_focused()
    judge.page.keyboard.press("Enter")


def test_practice_gold_comments_and_what_the_dashboard_makes_of_them(
    stage: Stage, goods: Material, tmp_path: Path
) -> None:
    stage.study(
        "new", "trained", "--screen", "five-levels", "--items", goods / "photos", "--queries", goods / "queries.csv",
        *goods.runs("words"), "--practice", goods / "practice.csv", "--gold", goods / "gold.csv",
        "--instructions", ADVICE, "--title", "Which pictures fit?", "--set", "tasks_per_query=2", "--set", "common=2",
        "--set", "overlap=2", "--set", "gold_every=2", "--set", "comments=true", "--set", "skip=false",
    )  # fmt: skip
    board = stage.dashboard("trained")
    for part in ("agreement", "verdict", "uniformity"):
        expect(board.locator(f"#{part}")).to_contain_text(re.compile("not enough answers", re.IGNORECASE))

    ana = Typist(stage, "trained", "five-levels", "ana", stage.link("trained", "ana"))
    shown = instructed(ana)
    practised(ana, shown, 4, right=True, words="say highly relevant; you said highly relevant.")
    shown = ana.ready(old=shown.task)
    assert shown is not None
    expect(ana.page.locator("#progress")).to_have_text("1 to go")
    practised(ana, shown, 3, right=False, words="say highly irrelevant; you said relevant.")
    shown = ana.ready(old=shown.task)
    expect(ana.page.locator("#practice")).to_be_hidden()
    comment(ana, "A <i>nice</i> one")
    commented = shown
    given: dict[str, Any] = {}
    grades = iter([3, 4, 0, 3, 1, 2])
    while shown is not None:
        pair = (shown.query, shown.items[0][1])
        grade = GOLD[pair] if pair in GOLD else next(grades)
        given[shown.task] = grade
        shown = ana.answer(shown, [grade])
        if len(given) == 1:  # taking it back gives the comment back, too
            shown = ana.undo()
            expect(ana.page.locator("#comment")).to_have_value("A <i>nice</i> one")
            shown = ana.answer(shown, [grade], again=True)
    assert len(given) == 8

    ben = Thumb(stage, "trained", "five-levels", "ben", stage.link("trained", "ben"))
    shown = ben.come()
    turns = cycle([1, 3])  # the same button twice in a moment would look like a double tap
    while shown is not None:
        practice = ben.page.locator("#practice").is_visible()
        ben.say(shown, [2 if (shown.query, shown.items[0][1]) in GOLD else next(turns)], again=False)
        if practice:
            ben.page.locator("#continue").tap()
        shown = ben.ready(old=shown.task)
    ben.saved()

    expect(board.locator("#done")).to_have_text("12")  # without practice and known items
    lines = board.locator("#raters tbody tr")
    expect(lines.filter(has_text="ana").locator("td").nth(3)).to_have_text("2 of 2")
    expect(lines.filter(has_text="ben").locator("td").nth(3)).to_have_text("0 of 2")
    expect(lines.filter(has_text="ben").locator("td").nth(0)).to_contain_text("⚠")
    expect(board.locator("#agreement")).to_contain_text(re.compile(r"α = .*\d\.\d\d.*Krippendorff"))
    expect(board.locator("#verdict .bars li")).to_have_count(3)
    expect(board.locator("#verdict .pairs li")).to_have_count(3)
    _the_verdict_is_that_of_the_status(stage, board)
    expect(board.locator("#uniformity .bars li")).to_have_count(5)
    assert 1 <= board.locator("#hours-chart svg rect").count() <= 2  # two where a full hour passed meanwhile

    stage.study("export", "trained", "--to", tmp_path / "answers.csv")
    rows = pl.read_csv(tmp_path / "answers.csv", infer_schema_length=None).filter(pl.col("source") == "ana")
    noted = rows.filter(pl.col("comment").is_not_null())
    assert noted.select("task", "comment").rows() == [(int(commented.task), "A <i>nice</i> one")]
    main = rows.filter(pl.col("role") != "practice")
    assert dict(main.select(pl.col("task").cast(pl.String), "grade").iter_rows()) == given
    assert main.filter(pl.col("role") == "gold").height == 2


def _the_verdict_is_that_of_the_status(stage: Stage, board: Page) -> None:
    """Agreement is open: the page says that first, calls nobody better, and every interval has a width."""
    status = json.loads(stage.study("status", "trained", "-o", "json"))
    found = status["verdict"]
    assert status["agreement"]["lo"] <= 0 and len(found["leads"]) == 2
    expect(board.locator("#verdict > p").first).to_have_text(" ".join(found["leads"]))
    expect(board.locator("#lead")).to_contain_text(found["leads"][0])
    expect(board.locator("#lead")).to_contain_text(found["pairs"][0]["sentence"])
    for pair, line in zip(found["pairs"], board.locator("#verdict .pairs li").all(), strict=True):
        expect(line).to_have_text(f"… {pair['sentence']}")
        assert not pair["decided"]
        assert pair["lo"] is None or pair["lo"] < pair["difference"] < pair["hi"]
    expect(board.locator("#verdict")).to_contain_text(found["estimand"])
    for width in (360, 1280):
        board.set_viewport_size({"width": width, "height": 900})
        assert board.evaluate("document.documentElement.scrollWidth") <= width
        for line in board.locator("#verdict > p, #verdict .pairs li").all():
            box = line.bounding_box()
            assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] < 250


def instructed(judge: Judge) -> Shown:
    """Come in and read: the instructions are shown at first, and again behind the question mark."""
    shown = judge.come()
    assert shown is not None
    expect(judge.page.locator("#practice")).to_be_visible()
    expect(judge.page.locator("#progress")).to_have_text("2 to go")
    expect(judge.page.locator("#skip")).to_be_hidden()
    keys = judge.page.keyboard
    keys.press("s")  # nothing is skipped where the organiser does not want it
    keys.press("?")
    dialog = judge.page.locator("#help")
    expect(dialog).to_be_visible()
    assert dialog.locator("#instructions p").all_inner_texts() == ADVICE.split("\n\n")
    expect(dialog.locator("#keys")).to_contain_text("highly relevant")
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    assert judge.ready() == shown
    return shown


def comment(judge: Judge, words: str) -> None:
    """Write a comment without the mouse: Tab to it, Enter opens it; from its title on, keys judge again."""
    summary = judge.page.locator("#comment-box summary")
    for _ in range(20):
        judge.page.keyboard.press("Tab")
        if summary.evaluate("node => node === document.activeElement"):
            break
    for key in ("Enter", "Tab"):
        judge.page.keyboard.press(key)
    expect(judge.page.locator("#comment")).to_be_focused()
    judge.page.keyboard.type(words)
    judge.page.keyboard.press("Shift+Tab")


def test_one_judge_who_never_decides_breaks_nothing(stage: Stage, goods: Material) -> None:
    stage.study(
        "new", "undecided", "--screen", "one-result", "--items", goods / "photos", "--queries", goods / "queries.csv",
        *goods.runs("words"), "--set", "common=2", "--set", "tasks_per_query=1",
    )  # fmt: skip
    board = stage.dashboard("undecided")
    ana = Typist(stage, "undecided", "one-result", "ana", stage.link("undecided", "ana"))
    shown = ana.come()
    while shown is not None:
        shown = ana.answer(shown, [None])
    ana.saved()
    expect(board.locator("#undecided")).to_have_text("3")
    expect(board.locator("#raters tbody tr")).to_contain_text("ana")
    expect(board.locator("#trouble")).to_have_text("")
    stage.forgiven.append("status of 422")
    board.locator('a[data-export="qrels"]').click()  # there is no grade to write, and one is told so
    expect(board.locator("body")).to_contain_text("every answer so far is undecided")


def test_participants_send_runs_in_and_see_results_when_they_are_opened(
    stage: Stage, goods: Material, tmp_path: Path
) -> None:
    stage.study(
        "new", "open", "--screen", "one-result", "--items", goods / "photos", "--queries", goods / "queries.csv",
        *goods.runs("words"), "--set", "common=1", "--set", "tasks_per_query=1",
    )  # fmt: skip
    ana = Typist(stage, "open", "one-result", "ana", stage.link("open", "ana"))
    shown = ana.come()
    while shown is not None:
        shown = ana.answer(shown, [9])
    ana.saved()
    board = stage.dashboard("open")
    board.locator("#invite-role").select_option("participant")
    board.locator("#invite-make").click()
    expect(board.locator("#invite-made")).to_be_visible()
    page = stage.context().new_page()
    page.goto(board.locator("#invite-url").input_value())
    page.locator("#nickname").fill("lab")
    page.locator("#join").click()
    expect(page.locator("#results")).to_contain_text("has not opened the results yet")
    page.locator("#run").set_input_files(goods / "shape.words.run")
    page.locator("#submit").click()
    expect(page.locator('[data-system="shape"] .badge')).to_have_text("accepted")
    (tmp_path / "broken.run").write_text("q0 Q0 p1 one 3.5 mine\nq0 Q0 p1\n")
    page.locator("#run").set_input_files(tmp_path / "broken.run")
    page.locator("#submit").click()
    expect(page.locator("#submissions .badge.refused")).to_have_text("refused")
    expect(page.locator(".lint.errors")).to_contain_text("broken.run:")
    lines = board.locator("#submissions tbody tr")
    expect(lines).to_have_count(2)
    expect(lines.filter(has_text="shape")).to_contain_text("lab")
    board.locator("#results-switch").click()
    expect(board.locator("#results-switch")).to_have_text("Hide the results")
    page.reload()
    expect(page.locator("#results tbody tr").first).to_contain_text("shape")


def test_the_list_of_studies_leads_to_each(stage: Stage, goods: Material) -> None:
    stage.study("new", "listed", "--screen", "file-it", "--items", goods / "photos", "--taxonomy", goods / "tree.txt",
                "--title", "To be filed")  # fmt: skip
    page: Page = stage.organiser().pages[0]
    page.goto(f"{stage.server.url}/dashboard")
    page.get_by_role("link", name="To be filed").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("To be filed")
    page.locator("#state-switch").click()
    expect(page.locator("#state")).to_have_text("closed")
    page.get_by_role("link", name="All studies").click()
    expect(page.locator('[data-study="listed"] .badge')).to_have_text("closed")


def test_the_organisers_link_works_once(stage: Stage) -> None:
    stage.organiser()
    stage.forgiven.append("status of 410")
    page = stage.context().new_page()
    page.goto(stage.server.link)
    expect(page.get_by_role("heading")).to_have_text("This link no longer opens")
    expect(page.locator("body")).to_contain_text("works once")


def test_the_question_stays_in_sight_and_keys_store_what_they_say(
    stage: Stage, goods: Material, tmp_path: Path
) -> None:
    stage.study(
        "new", "sight", "--screen", "five-levels", "--items", goods / "photos", "--queries", goods / "queries.csv",
        *goods.runs("words"), "--title", "Is it in sight?", "--question", "Does the picture show it?",
        "--set", "tasks_per_query=2", "--set", "common=2", "--set", "overlap=2",
    )  # fmt: skip
    ben = Thumb(stage, "sight", "five-levels", "ben", stage.link("sight", "ben"))
    assert ben.come() is not None
    page = ben.page
    expect(page.locator("h1")).to_have_text("Is it in sight?")
    page.set_viewport_size({"width": 360, "height": 420})  # so that the task must be scrolled
    page.locator("button.undecided").scroll_into_view_if_needed()
    assert page.evaluate("window.scrollY") > 50
    box = page.locator("#question").bounding_box()
    assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 420
    expect(page.locator("#question")).to_have_text("Does the picture show it?")

    ana = Typist(stage, "sight", "five-levels", "ana", stage.link("sight", "ana"))
    shown = ana.come()
    ana.page.keyboard.press("?")
    listed = ana.page.locator("#keys div").all_inner_texts()
    assert [" ".join(line.split()) for line in listed[:6]] == [
        "0 highly irrelevant", "1 irrelevant", "2 neutral", "3 relevant", "4 highly relevant", "u undecided",
    ]  # fmt: skip
    expect(ana.page.locator("#keys-note")).to_have_text("A number key stores that number as the grade.")
    ana.page.keyboard.press("Escape")
    assert shown is not None
    shown = ana.answer(shown, [0])
    expect(ana.page.locator("#toast")).to_have_text("You said highly irrelevant.")  # beside Undo
    expect(ana.page.locator("#status")).to_have_text("Saved")
    expect(ana.page.locator("#status")).to_have_text("")  # a confirmation goes
    expect(ana.page.locator("#toast")).to_have_text("")
    assert shown is not None
    ana.answer(shown, [4])
    ana.saved()
    stage.study("export", "sight", "--to", tmp_path / "answers.csv")
    assert pl.read_csv(tmp_path / "answers.csv")["grade"].to_list() == [0, 4]


def test_the_organiser_edits_and_deletes_a_study(stage: Stage, goods: Material) -> None:
    stage.study(
        "new", "passing", "--screen", "yes-no", "--items", goods / "texts.csv", "--queries", goods / "queries.csv",
        *goods.runs("text"), "--set", "common=1", "--set", "tasks_per_query=1",
    )  # fmt: skip
    ana = Typist(stage, "passing", "yes-no", "ana", stage.link("passing", "ana"))
    shown = ana.come()
    expect(ana.page.locator("#question")).to_have_text("Is the result what the query asks for?")
    board = stage.dashboard("passing")
    expect(board.locator("h1")).to_have_text("Passing")
    expect(board.locator("#lead")).to_contain_text(re.compile(r"^0 of \d+ assignments are done, by 1 judge\."))
    expect(board.locator("#uniformity")).to_be_hidden()  # behind a fold
    board.locator("#edit-fold summary").click()
    board.locator("#edit-title").fill("In passing")
    board.locator("#edit-question").fill("Is it so?")
    board.locator("#edit-save").click()
    expect(board.locator("#edit-said")).to_have_text("Saved.")
    expect(board.locator("h1")).to_have_text("In passing")
    ana.page.reload()
    expect(ana.page.locator("#question")).to_have_text("Is it so?")
    assert ana.ready() == shown
    board.locator("#delete-fold summary").click()
    board.locator("#delete-name").fill("In passing")
    stage.forgiven.append("status of 4(22|01)")
    board.locator("#delete-do").click()
    expect(board.locator("#delete-said")).to_contain_text("nothing was deleted")
    expect(board.locator("#edit-said")).to_have_text("")
    board.locator("#delete-name").fill("passing")
    board.locator("#delete-do").click()
    expect(board.get_by_role("heading", name="Studies")).to_be_visible()
    expect(board.locator('[data-study="passing"]')).to_have_count(0)
    ana.page.reload()  # the link is withdrawn with the study
    expect(ana.page.get_by_role("heading")).to_contain_text("open your link again")
    assert "passing" not in stage.study("list")
