"""Nothing lost and no dead page: dead servers, lost replies, vanished files, withdrawn links, closed studies."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from browser_samples import NARROW, READY, WIDE, Judge, Material, Stage, Thumb, Typist, material, staged
from playwright.sync_api import APIResponse, Page, Route, expect
from playwright.sync_api import Error as PlaywrightError

EVIL = "<img src=x onerror=window.__pwned=1>"
DEEP = f"d0 <script>window.__pwned = 2</script>{EVIL}<svg onload=window.__pwned=3> &amp; <b>bold</b>"
UNSAVED = re.compile(r"^\d answers? not saved yet, retrying$")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Stage]:
    """One server and one browser for the file."""
    with staged(tmp_path_factory.mktemp("robust"), chromium) as found:
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


@pytest.fixture
def study(stage: Stage, goods: Material, request: pytest.FixtureRequest) -> str:
    """A study of six tasks, one picture each."""
    name = re.sub(r"\W", "-", request.node.name)[:60]
    stage.study(
        "new", name, "--screen", "one-result", "--items", goods / "photos", "--queries", goods / "queries.csv",
        *goods.runs("words"), "--set", "tasks_per_query=2", "--set", "common=2", "--set", "overlap=2",
    )  # fmt: skip
    return name


def typist(stage: Stage, study: str) -> Typist:
    """Ana, who is about to come."""
    return Typist(stage, study, "one-result", "ana", stage.link(study, "ana"))


def kept(stage: Stage, judge: Judge, folder: Path) -> None:
    """Everything that was said is in the store, in its order, once."""
    stage.study("export", judge.study, "--history", "--to", folder / "all.csv")
    rows = pl.read_csv(folder / "all.csv").filter(pl.col("source") == judge.nickname)
    assert rows.select("act", "query", "item", "grade").rows() == judge.acts


def again(page: Page) -> None:
    """Load the page anew, although it warns that something is not saved."""
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()


def test_the_server_dies_while_a_judge_answers(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append(r"ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED")
    ana = typist(stage, study)
    shown = ana.come()
    assert shown is not None
    shown = ana.answer(shown, [7])
    ana.saved()
    assert shown is not None
    ana.page.wait_for_load_state("networkidle")  # the next tasks are there, with their pictures
    stage.server.stop(signal.SIGKILL)
    shown = ana.answer(shown, [3])
    status = ana.page.locator("#status")
    expect(status).to_have_text("1 answer not saved yet, retrying")
    expect(ana.page.locator("#progress")).to_have_text("2 of 6")
    assert shown is not None
    ana.say(shown, [5], again=False)
    ana.hold(shown, [(shown.items[0][1], 5)])
    expect(status).to_have_text("2 answers not saved yet, retrying")
    stage.server.start()
    ana.saved()  # by itself
    kept(stage, ana, tmp_path)

    # The same again, and the judge loads the page while there is none.
    shown = ana.ready(old=shown.task)
    assert shown is not None
    ana.page.wait_for_load_state("networkidle")
    stage.server.stop(signal.SIGKILL)
    shown = ana.answer(shown, [9])
    expect(status).to_have_text("1 answer not saved yet, retrying")
    with pytest.raises(PlaywrightError, match="ERR_CONNECTION_REFUSED"):
        again(ana.page)
    stage.server.start()
    try:
        ana.page.goto(f"{stage.server.url}/s/{study}")
    except PlaywrightError as error:  # Chromium tries the page again by itself, and may be first
        if "ERR_ABORTED" not in str(error):
            raise
        ana.page.goto(f"{stage.server.url}/s/{study}")
    ana.saved()
    assert ana.ready() == shown
    while shown is not None:
        shown = ana.answer(shown, [len(ana.acts) + 1])
    ana.saved()
    assert len(ana.acts) == 6
    kept(stage, ana, tmp_path)


def test_answers_outlive_a_reload_while_the_server_fails(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append("status of 500")
    ana = typist(stage, study)
    shown = ana.come()
    assert shown is not None
    ana.page.context.route("**/answers", lambda route: route.fulfill(status=500, json={"detail": "it broke"}))
    shown = ana.answer(shown, [7])
    assert shown is not None
    shown = ana.answer(shown, [2])
    expect(ana.page.locator("#status")).to_have_text("2 answers not saved yet, retrying")
    again(ana.page)
    expect(ana.page.locator("#status")).to_have_text("2 answers not saved yet, retrying")
    assert ana.ready() == shown  # those two are not asked again
    ana.page.context.unroute("**/answers")
    ana.saved()
    kept(stage, ana, tmp_path)


def test_an_answer_whose_reply_was_lost_is_kept_once(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append("ERR_FAILED")
    ana = typist(stage, study)
    shown = ana.come()
    lost: list[int] = []
    held: list[tuple[Route, APIResponse]] = []  # the second reply, until the status was seen

    def lose(route: Route) -> None:
        reply = route.fetch()
        lost.append(reply.status)
        if len(lost) == 1:
            route.abort()
        else:
            held.append((route, reply))

    ana.page.route("**/answers", lose)
    assert shown is not None
    ana.answer(shown, [6])
    expect(ana.page.locator("#status")).to_have_text(UNSAVED)
    while not held:
        ana.page.wait_for_timeout(50)
    for route, reply in held:
        route.fulfill(response=reply)
    ana.saved()
    assert lost == [201, 200]
    ana.page.unroute("**/answers")
    kept(stage, ana, tmp_path)


def test_tasks_that_cannot_be_fetched_leave_a_word_and_a_button(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append("status of 503")
    ben = Thumb(stage, study, "one-result", "ben", stage.link(study, "ben"))
    ben.enter(
        lambda page: page.route(
            "**/tasks?*", lambda route: route.fulfill(status=503, json={"detail": "The database rests."})
        )
    )
    page = ben.page
    expect(page.locator("#notice")).to_contain_text("The database rests. The page tries again automatically.")
    page.unroute("**/tasks?*")
    page.route("**/tasks?*", lambda route: route.fulfill(status=200, body="<html>a portal of the hotel</html>"))
    page.locator("#retry").tap()
    expect(page.locator("#notice")).to_contain_text("could not be understood")
    page.unroute("**/tasks?*")
    page.locator("#retry").tap()
    assert ben.ready() is not None


def test_pictures_that_vanished_are_said_and_the_judge_goes_on(stage: Stage, goods: Material, tmp_path: Path) -> None:
    stage.study(
        "new", "vanished", "--screen", "four-results", "--items", goods / "photos", *goods.runs("picture"),
        "--set", "tasks_per_query=1", "--set", "common=3",
    )  # fmt: skip
    files = stage.server.home / "files"
    taken = {path: path.read_bytes() for path in files.glob("*.jpg")}
    for path in taken:
        path.unlink()
    try:
        ana = Typist(stage, "vanished", "four-results", "ana", stage.link("vanished", "ana"))
        shown = ana.come()
        assert shown is not None
        expect(ana.page.locator("#stage .missing")).to_have_count(len(shown.items))
        expect(ana.page.locator("#stage .missing").first).to_contain_text("is missing. Choose “undecided”, or skip.")
        expect(ana.page.locator("#query .missing")).to_have_count(1)
        shown = ana.answer(shown, [None] * len(shown.items))
        assert shown is not None
        assert ana.skip(shown) is not None
        ana.saved()
    finally:
        for path, content in taken.items():
            path.write_bytes(content)
    stage.study("export", "vanished", "--to", tmp_path / "answers.csv")
    assert pl.read_csv(tmp_path / "answers.csv")["grade"].is_null().all()


def test_a_picture_that_does_not_come_can_be_asked_for_again(stage: Stage, study: str) -> None:
    stage.forgiven.append("status of 404")
    ana = typist(stage, study)
    ana.come(lambda page: page.route("**/files/**", lambda route: route.fulfill(status=404)))
    page = ana.page
    expect(page.locator("#stage .missing")).to_contain_text("The image of this result could not be loaded.")
    page.unroute("**/files/**")
    page.get_by_role("button", name="Load it again").click()
    expect(page.locator("#stage .picture img")).to_have_js_property("complete", True)
    shown = ana.ready()
    assert shown is not None
    assert shown.items[0][1].startswith("p")
    ana.answer(shown, [4])
    ana.saved()


@pytest.mark.parametrize("size", [NARROW, (800, 900), WIDE], ids=["phone", "tablet", "laptop"])
def test_pictures_that_come_late_move_no_button(stage: Stage, goods: Material, size: tuple[int, int]) -> None:
    name = f"late-{size[0]}"
    stage.study("new", name, "--screen", "four-results", "--items", goods / "photos", *goods.runs("picture"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page = stage.context(size, touch=size == NARROW).new_page()
    page.route("**/files/**", hold)
    page.goto(stage.link(name, "ana"))
    page.locator("#join").click()
    page.locator("#help-close").click()
    expect(page.locator(READY)).to_be_visible()
    grades = page.locator("#stage button[data-grade]")
    grades.nth(3).hover()
    before = [grade.bounding_box() for grade in grades.all()]
    page.mouse.down()
    for route in held:
        route.continue_()
    for picture in page.locator("#query img, #stage img").all():
        expect(picture).not_to_have_js_property("naturalWidth", 0)
    assert [grade.bounding_box() for grade in grades.all()] == before
    page.mouse.up()
    expect(grades.nth(3)).to_have_attribute("aria-pressed", "true")


def test_a_withdrawn_link_gets_a_message(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append("status of (401|410)")
    ana = typist(stage, study)
    shown = ana.come()
    assert shown is not None
    shown = ana.answer(shown, [8])
    ana.saved()
    board = stage.dashboard(study)
    board.once("dialog", lambda dialog: dialog.accept())
    board.locator("[data-withdraw]").click()
    expect(board.locator("#invitations tbody tr td").nth(1)).to_have_text("withdrawn")
    assert shown is not None
    ana.say(shown, [1], again=False)
    expect(ana.page.locator("#notice")).to_contain_text("Please open your link again")
    expect(ana.page.locator("#notice")).to_contain_text("1 answer not sent yet is kept on this device")
    ana.page.goto(ana.link)
    expect(ana.page.get_by_role("heading")).to_have_text("This link no longer opens")
    expect(ana.page.locator("body")).to_contain_text("ask the organiser for a new one")
    kept(stage, ana, tmp_path)
    # Invited again under the same name, the judge goes on, and what was kept is sent.
    ana.link = stage.link(study, "ana")
    ana.page.goto(ana.link)
    ana.join()
    ana.hold(shown, [(shown.items[0][1], 1)])
    ana.saved()
    kept(stage, ana, tmp_path)


def test_a_closed_study_takes_no_more_and_says_so(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append("status of 409")
    ben = Thumb(stage, study, "one-result", "ben", stage.link(study, "ben"))
    shown = ben.come()
    board = stage.dashboard(study)
    board.locator("#state-switch").click()
    expect(board.locator("#state")).to_have_text("closed")
    assert shown is not None
    ben.answer(shown, [2])
    expect(ben.page.locator("#status")).to_have_text(re.compile("1 answer not saved.*The study is closed"))
    board.locator("#state-switch").click()
    expect(board.locator("#state")).to_have_text("open")
    ben.page.locator("#save-again").tap()
    ben.saved()
    kept(stage, ben, tmp_path)
    board.locator("#state-switch").click()
    expect(board.locator("#state")).to_have_text("closed")
    ben.page.reload()
    expect(ben.page.locator("#notice")).to_contain_text("This study is closed")


def test_stopping_for_today_and_coming_back(stage: Stage, study: str, tmp_path: Path) -> None:
    stage.forgiven.append("status of 401")
    ben = Thumb(stage, study, "one-result", "ben", stage.link(study, "ben"))
    shown = ben.come()
    assert shown is not None
    shown = ben.answer(shown, [2])
    ben.saved()
    ben.page.locator("#pause").tap()
    ben.page.locator("#leave").tap()
    expect(ben.page.locator("#notice")).to_contain_text("Goodbye")
    ben.page.reload()
    expect(ben.page.get_by_role("heading")).to_have_text("Please open your link again")
    ben.page.goto(ben.link)
    ben.join()
    assert ben.ready() == shown
    kept(stage, ben, tmp_path)


def test_an_undo_with_nothing_to_undo_is_a_word(stage: Stage, study: str) -> None:
    stage.forgiven.append("status of 409")
    ana = typist(stage, study)
    shown = ana.come()
    ana.page.keyboard.press("z")
    expect(ana.page.locator("#toast")).to_have_text("There is nothing to undo.")
    assert ana.ready() == shown


def test_a_slip_of_the_hand_judges_one_task(stage: Stage, study: str, tmp_path: Path) -> None:
    ana = typist(stage, study)
    shown = ana.come()
    assert shown is not None
    for _ in range(3):  # a key that is held down
        ana.page.keyboard.down("5")
    ana.page.keyboard.up("5")
    ana.hold(shown, [(shown.items[0][1], 5)])
    shown = ana.ready(old=shown.task)
    assert shown is not None
    ana.saved()
    # The clock stands, so that the second click comes at once on the slowest machine; and it was set by years, which
    # must cost no answer.
    ana.page.clock.set_fixed_time("2040-01-01")
    ana.say(shown, [8], again=False)
    ana.hold(shown, [(shown.items[0][1], 8)])
    shown = ana.ready(old=shown.task)
    assert shown is not None
    ana.page.locator('button[data-grade="2"]').dblclick()
    ana.hold(shown, [(shown.items[0][1], 2)])
    ana.ready(old=shown.task)
    ana.saved()
    expect(ana.page.locator("#progress")).to_have_text("3 of 6")
    kept(stage, ana, tmp_path)


def test_scripts_in_texts_names_and_comments_stay_words(stage: Stage, tmp_path: Path) -> None:
    pl.DataFrame({"item": ["d0", "d1"], "text": [DEEP, DEEP.replace("d0", "d1")]}).write_csv(tmp_path / "items.csv")
    pl.DataFrame({"query": ["q0"], "text": [f"q0 {EVIL}"]}).write_csv(tmp_path / "queries.csv")
    pl.DataFrame({"query": ["q0", "q0"], "item": ["d0", "d1"]}).write_csv(tmp_path / "pairs.csv")
    (tmp_path / "tree.txt").write_text(f"plain/{EVIL}\nplain/other\n")
    stage.study(
        "new", "evil", "--screen", "yes-no", "--items", tmp_path / "items.csv", "--queries", tmp_path / "queries.csv",
        "--pairs", tmp_path / "pairs.csv", "--title", f"{EVIL} title", "--instructions", f"{EVIL} please",
        "--set", "comments=true", "--set", "common=2",
    )  # fmt: skip
    stage.study(
        "new", "evil-tree", "--screen", "file-it", "--items", tmp_path / "items.csv", "--taxonomy",
        tmp_path / "tree.txt",
    )  # fmt: skip
    board = stage.dashboard("evil")
    ana = Typist(stage, "evil", "yes-no", EVIL, stage.link("evil"))
    shown = ana.come()
    page = ana.page
    assert shown is not None
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{EVIL} title")
    expect(page.locator("#instructions")).to_have_text(f"{EVIL} please")
    expect(page.locator("#query .text")).to_have_text(f"q0 {EVIL}")
    expect(page.locator("#stage .text")).to_have_text(DEEP.replace("d0", shown.items[0][1]))
    page.keyboard.press("Space")
    expect(page.locator("#enlarge .text")).to_have_text(DEEP.replace("d0", shown.items[0][1]))
    page.keyboard.press("Escape")
    page.locator("#comment-box summary").click()
    page.locator("#comment").fill(EVIL)
    page.locator('button[data-grade="1"]').click()
    ana.saved()
    row = board.locator("#raters tbody tr")
    expect(row.locator("th")).to_have_text(EVIL)
    expect(board.get_by_role("heading", level=1)).to_have_text(f"{EVIL} title")
    filing = Thumb(stage, "evil-tree", "file-it", "ben", stage.link("evil-tree"))
    filing.come()
    filing.page.locator("#categories button", has_text=EVIL).tap()
    expect(filing.page.locator("#choice")).to_have_text(f"Chosen: {EVIL}")
    for one in (page, board, filing.page):
        assert one.evaluate("window.__pwned") is None
        assert one.locator("img[src=x], svg[onload]").count() == 0
    stage.study("export", "evil", "--to", tmp_path / "answers.csv")
    assert pl.read_csv(tmp_path / "answers.csv").select("source", "comment").rows() == [(EVIL, EVIL)]


def test_a_page_that_complains_or_asks_elsewhere_is_noticed(stage: Stage) -> None:
    page = stage.context().new_page()
    page.goto(stage.server.url)
    for act in (
        "console.error('oh')",
        "document.body.insertAdjacentHTML('beforeend', '<b style=color:red>styled</b>')",
        "new Promise((done) => { setTimeout(() => { throw new Error('ah') }); setTimeout(done, 50); })",
    ):
        page.evaluate(act)
    page.goto(stage.server.url.replace("127.0.0.1", "localhost"))
    stage.tidy()  # now nothing more can come
    said = " ".join(stage.complaints)
    stage.complaints.clear()
    for words in ("oh", "ah", "Content Security Policy", "another host: http://localhost"):
        assert words in said


def test_a_list_of_tasks_that_comes_late_brings_back_nothing(stage: Stage, study: str) -> None:
    """It was asked for before an answer, and comes after the list that was asked for later."""
    ana = typist(stage, study)
    ana.come()
    ahead = ana.page.evaluate(
        """async () => {
            const page = document.querySelector('script[type="module"][src]').src;
            const { Tasks } = await import(new URL("tasks.js", page));
            const replies = [];
            const tasks = new Tasks({ get: () => new Promise((resolve) => replies.push(resolve)) }, () => []);
            const list = (...ids) => ({ tasks: ids.map((id) => ({ id, items: [], query: null })), progress: {} });
            const early = tasks.fill(() => null);
            tasks.answered(1);
            const late = tasks.fill(() => null);
            replies[1](list(2));
            await late;
            replies[0](list(1, 2));
            await early;
            return tasks.ahead.map((task) => task.id);
        }"""
    )
    assert ahead == [2]
