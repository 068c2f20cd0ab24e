"""Every page and every state of it, on a laptop and on a phone, light and dark: axe finds nothing, nothing is cut off.

ENDOXA_SCREENSHOTS=DIR writes a picture of each, to be looked at.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from browser_samples import DEVICES, READY, Eye, Judge, Material, Stage, Thumb, Typist, material, staged
from playwright.sync_api import Page, expect

from endoxa import examples
from endoxa.store import catalogue, people, work
from endoxa.store.home import open_home

NUMBERS = count(1)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Stage]:
    """One server and one browser for the file."""
    with staged(tmp_path_factory.mktemp("axe"), chromium) as found:
        yield found


@pytest.fixture(scope="module")
def goods(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Material:
    """What the organiser hands in; a study of shapes for many tasks, and one for each other screen."""
    made = material(tmp_path_factory.mktemp("goods") / "all")
    shapes = tmp_path_factory.mktemp("shapes")
    stage.study("new", examples.study(shapes, rng=np.random.default_rng(3)))
    answered(stage)
    words = ("--queries", made / "queries.csv", "--set", "common=3")
    for screen in ("one-result", "five-levels", "rank-it"):
        items = made / ("photos" if screen == "one-result" else "captioned.csv")
        stage.study("new", screen, "--screen", screen, "--items", items, *words, *made.runs("words"))
    stage.study("new", "yes-no", "--screen", "yes-no", "--items", made / "texts.csv", *words, *made.runs("text"))
    filing = ("--screen", "file-it", "--taxonomy", made / "tree.txt")
    stage.study("new", "file-it", "--items", made / "photos", *filing)
    stage.study("new", "file-flat", "--items", made / "texts.csv", *filing, "--set", "hide_tree=true")
    return made


def answered(stage: Stage) -> None:
    """Three people's answers over some hours, so that the dashboard has something to say."""
    kinds = list(product(examples.SHAPES, examples.COLOURS, examples.SIZES))
    rng = np.random.default_rng(0)
    with open_home(stage.server.home) as home:
        with home.store.reading() as connection:
            study = catalogue.find(connection, "shapes")
        for who, bias in (("ada", 0.0), ("bob, who has a rather long nickname", 0.6), ("cyd", -0.7)):
            now = time.time() - 9 * 3600
            with home.store.writing() as connection:
                _, token = people.invite(connection, home.key, study, "judge", nickname=who, now=now)
                secret = people.join(connection, people.invitation_of(connection, home.key, token), "", now=now)
                visitor = people.visitor_of(connection, secret, now=now)
            assert visitor is not None
            assert visitor.rater_id is not None
            for _ in range(22):
                now += float(rng.exponential(900))
                with home.store.writing() as connection:
                    (task,), _ = work.tasks(connection, study, visitor.rater_id, count=1, now=now)
                    assert task.query is not None
                    sought = kinds[int(task.query["name"][-2:])]
                    said = []
                    for item in task.items:
                        alike = sum(a == b for a, b in zip(sought[:2], kinds[int(item["name"][-2:])][:2], strict=True))
                        grade = float(np.clip(round(1.4 + 1.6 * alike + bias + rng.normal(0, 0.5)), 1, 5))
                        said.append(work.Response(item["id"], None if rng.random() < 0.03 else grade))
                    how = work.Circumstances(active_seconds=float(rng.gamma(4, 3)), method="key")
                    work.answer(connection, study, visitor.rater_id, task.id, str(uuid4()), said, how, now=now)


@pytest.fixture(autouse=True)
def quiet(stage: Stage) -> Iterator[None]:
    """No page complains."""
    with stage.quietly():
        yield


@pytest.fixture(params=list(DEVICES))
def eye(request: pytest.FixtureRequest) -> Iterator[Eye]:
    """A laptop's, then a phone's; in the end it has found nothing."""
    made = Eye(request.param)
    yield made
    assert made.found == []


def judge(stage: Stage, eye: Eye, study: str, screen: str) -> Judge:
    """Somebody new at that device."""
    kind = Thumb if eye.device == "phone" else Typist
    return kind(stage, study, screen, f"{eye.device} {next(NUMBERS)}", stage.link(study))


def page_of(stage: Stage, eye: Eye) -> Page:
    """A page of a stranger at that device."""
    phone = eye.device == "phone"
    return stage.context(DEVICES[eye.device], touch=phone).new_page()


def test_pages_for_strangers_and_participants(stage: Stage, goods: Material, eye: Eye, tmp_path: Path) -> None:
    stage.forgiven.append("status of (404|422)")
    page = page_of(stage, eye)
    page.goto(stage.server.url)
    eye.look(page, "front")
    page.goto(f"{stage.server.url}/join/nonsense")
    eye.look(page, "message")
    page.goto(f"{stage.server.url}/api")
    eye.look(page, "api")
    page.goto(stage.link("shapes"))
    eye.look(page, "join")
    page.locator("#nickname").fill("ADA")  # who is here already
    page.locator("#join").click()
    expect(page.locator("#error")).to_be_visible()
    eye.look(page, "join-refused")
    page.goto(stage.link("shapes", f"guest-{eye.device}"))
    eye.look(page, "join-named")
    said = stage.study("invite", "shapes", f"lab-{eye.device}", "--participant", "--url", stage.server.url)
    page.goto(said.split("\t")[-1].strip())
    eye.look(page, "join-participant")
    page.locator("#join").click()
    expect(page.locator("#submissions")).to_be_visible()
    eye.look(page, "submit-empty")
    lines = (goods / "colour.words.run").read_text()
    for name, text in (("strange.run", lines), ("broken.run", "q0 Q0 p1 one\n")):
        (tmp_path / name).write_text(text)
        page.locator("#run").set_input_files(tmp_path / name)
        page.locator("#submit").click()
    expect(page.locator("#submissions li.card")).to_have_count(2)
    eye.look(page, "submit")


def test_pages_for_the_organiser(stage: Stage, goods: Material, eye: Eye) -> None:
    with open_home(stage.server.home) as home, home.store.writing() as connection:
        _, token = people.invite(connection, home.key, None, "organiser", now=time.time())
    page = page_of(stage, eye)
    page.goto(f"{stage.server.url}/organise/{token}")
    eye.look(page, "organiser")
    page = stage.dashboard("shapes")
    page.set_viewport_size(dict(zip(("width", "height"), DEVICES[eye.device], strict=True)))
    expect(page.locator("#raters tbody tr").first).to_be_visible()
    expect(page.locator("#verdict")).to_contain_text(re.compile("better|cannot be"))
    page.locator("#invite-make").click()
    expect(page.locator("#invite-made")).to_be_visible()
    eye.look(page, "dashboard")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    eye.look(page, "dashboard-unfolded")
    page.goto(f"{stage.server.url}/dashboard/file-flat")
    expect(page.locator("#done")).to_have_text("0")
    eye.look(page, "dashboard-empty")
    page.goto(f"{stage.server.url}/dashboard")
    eye.look(page, "studies")


@pytest.mark.parametrize(
    ("study", "screen"),
    [(name, name) for name in ("one-result", "yes-no", "five-levels", "file-it", "rank-it")]
    + [("file-flat", "file-it")],
)
def test_screens(stage: Stage, goods: Material, eye: Eye, study: str, screen: str) -> None:
    who = judge(stage, eye, study, screen)
    shown = who.come()
    assert shown is not None
    eye.look(who.page, f"{study}-task")
    if screen == "rank-it":
        lines = who.page.locator(".ranking > li")
        for at, value in enumerate((1, 0.75, 0.75, 0.5, 0.25, 0)):
            lines.nth(at).locator(f'label:has(input[value="{value}"])').click()
        lines.nth(4).locator('label:has(input[value="1"])').click()
        expect(who.page.locator(".rank .said")).to_contain_text("raised")
    elif screen == "file-it":
        who.page.locator("#filter").fill("p")
        who.page.locator("#categories button").first.click()
    else:
        who.answer(shown, [1])
        who.undo()
    eye.look(who.page, f"{study}-answered")


def test_states_of_the_judging_page(stage: Stage, goods: Material, eye: Eye) -> None:
    stage.forgiven.append("status of (500|401|409)")
    who = judge(stage, eye, "shapes", "four-results")
    page = page_of(stage, eye)
    page.goto(who.link)
    page.locator("#nickname").fill(who.nickname)
    page.locator("#join").click()
    expect(page.locator("#help")).to_be_visible()
    eye.look(page, "help")
    page.locator("#help-close").click()
    grade(page, 4)
    eye.look(page, "practice")
    page.locator("#next").click()
    expect(page.locator("#feedback")).to_be_visible()
    eye.look(page, "feedback")
    page.locator("#continue").click()
    expect(page.locator("#feedback")).to_be_hidden()
    grade(page, 4)
    page.locator("#next").click()
    page.locator("#continue").click()
    expect(page.locator("#practice")).to_be_hidden()
    eye.look(page, "four-results-task")
    page.locator("#stage .picture").first.click()
    expect(page.locator("#enlarge img")).to_have_js_property("complete", True)
    eye.look(page, "enlarge")
    page.locator("#enlarge-close").click()
    page.locator("#pause").click()
    eye.look(page, "paused")
    page.locator("#resume").click()
    page.locator("#comment-box summary").click()
    grade(page, 2, but=1)
    page.locator("#next").click()  # one is missing
    expect(page.locator("#missing")).to_contain_text("Not yet")  # beside the button
    eye.look(page, "four-results-half")
    page.route("**/answers", lambda route: route.fulfill(status=500, json={"detail": "it broke"}))
    grade(page, 3)
    page.locator("#next").click()
    expect(page.locator("#status")).to_contain_text("retrying")
    eye.look(page, "unsaved")
    page.unroute("**/answers")
    expect(page.locator("body")).to_have_attribute("data-queue", "idle")
    page.route("**/answers", lambda route: route.fulfill(status=409, json={"detail": "The study is closed."}))
    grade(page, 3)
    page.locator("#next").click()
    expect(page.locator("#save-again")).to_be_visible()
    eye.look(page, "refused")
    page.unroute("**/answers")
    page.locator("#save-never").click()
    page.route("**/answers", lambda route: route.fulfill(status=401, json={"detail": "no"}))
    grade(page, 3)
    page.locator("#next").click()
    expect(page.locator("#notice")).to_be_visible()
    eye.look(page, "signed-out")


def test_the_end(stage: Stage, goods: Material, eye: Eye) -> None:
    who = judge(stage, eye, "yes-no", "yes-no")
    shown = who.come()
    turn = 0
    while shown is not None:
        turn = 1 - turn
        shown = who.answer(shown, [turn])
    who.saved()
    eye.look(who.page, "finished")


def grade(page: Page, value: int, but: int = 0) -> None:
    """Give every result the same grade, but so many."""
    expect(page.locator(READY)).to_be_visible()
    cards = page.locator("#stage [data-item]")
    for at in range(cards.count() - but):
        cards.nth(at).locator(f'button[data-grade="{value}"]').click()


def test_the_eye_sees(stage: Stage) -> None:
    page = page_of(stage, Eye("phone"))
    page.goto(stage.server.url)
    page.evaluate(
        """() => {
          const wide = Object.assign(document.createElement("canvas"), { width: 500 });
          document.querySelector("main").append(document.createElement("input"), wide);
        }"""
    )
    eye = Eye("phone")
    eye.look(page, "bad")
    assert len(eye.found) == 2
    assert "bad light: label: Form elements must have labels" in eye.found[0]
    assert re.search(r"bad: the page is 5\d\d pixels wide on a screen of 360", eye.found[1])
