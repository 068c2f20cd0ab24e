"""A person decides in the browser: judges 40 pairs, undoes two, closes, resumes; a second judge joins.

The verdict on the page is that of `endoxa eval --labels` on the export, to the digit.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from browser_samples import AXE, CALL, NARROW, READY, WIDE, WITHOUT
from decide_samples import write_field
from playwright.sync_api import Browser, Page, expect, sync_playwright

import endoxa
from endoxa.formatting import chance
from endoxa.verbs.study import export, invite


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four systems on ten queries; the text of an item says whether it is relevant."""
    folder = tmp_path_factory.mktemp("story")
    noise = {"alpha": 0.7, "beta": 0.9, "gamma": 1.5, "delta": 2.5}
    write_field(folder, noise, queries=10, items=40, listed=30, relevant=0.3, seed=7)
    return folder


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", WITHOUT])
        yield made
        made.close()


class Server:
    """`endoxa decide` as a process of its own."""

    def __init__(self, files: Path, home: str = "home", *more: str) -> None:
        words = [str(path) for path in sorted(files.glob("*.run"))]
        words += ["--items", str(files / "items.csv"), "--home", str(files / home), "--port", "0", "--no-browser"]
        words += ["--until", "0.9999", *more]
        self.log = (files / "server.log").open("a")
        self.process = subprocess.Popen(
            [sys.executable, "-c", CALL, "decide", *words], stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        assert self.process.stdout is not None
        said = "".join(self.process.stdout.readline() for _ in range(3))
        found = re.search(r"judge here: (\S+)", said)
        assert found is not None, said + (files / "server.log").read_text()
        self.link = found[1]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)
        self.log.close()


def come(browser: Browser, link: str, nickname: str, size: tuple[int, int] = WIDE) -> Page:
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce").new_page()
    page.set_default_timeout(30_000)
    page.goto(link)
    if (name := page.locator("input[name=nickname]:not([readonly])")).count():
        name.fill(nickname)
    page.get_by_role("button").first.click()
    page.locator("#help-close").click()
    return page


def judge(page: Page, count: int) -> None:
    """Answer as the texts say."""
    for _ in range(count):
        page.wait_for_selector(READY, state="attached")
        task = page.locator("#stage").get_attribute("data-task")
        fits = "fits" in page.locator("#stage .text").first.inner_text()
        page.keyboard.press("y" if fits else "n")
        page.wait_for_selector(f'#stage:not([data-task="{task}"])', state="attached")


def undo(page: Page) -> None:
    task = page.locator("#stage").get_attribute("data-task")
    page.locator("#undo").click()
    page.wait_for_selector(f'{READY}:not([data-task="{task}"])', state="attached")


def labels(page: Page, count: int) -> None:
    expect(page.locator("#verdict")).to_have_attribute("data-labels", str(count))


def test_a_person_decides(files: Path, browser: Browser, tmp_path: Path) -> None:
    server = Server(files)
    try:
        ann = come(browser, server.link, "ann")
        expect(ann.locator("#verdict-sentence")).to_contain_text("No label yet")
        judge(ann, 40)
        labels(ann, 40)
        undo(ann)
        undo(ann)
        labels(ann, 38)
        ann.context.close()
    finally:
        server.stop()
    server = Server(files)  # closed and resumed: the same folder, the same study
    try:
        again = invite("decide", ["ann-again"], home=files / "home", url=server.link.split("/join/")[0]).links[0].url
        ann = come(browser, again, "ann-again")
        labels(ann, 38)
        ben = come(browser, server.link, "ben", NARROW)
        judge(ben, 4)
        judge(ann, 3)
        ann.reload()
        labels(ann, 45)
        sentence = ann.locator("#verdict-sentence").inner_text()
        bars = ann.locator("#verdict-bars .verdict-row")
        shown = {
            bars.nth(n).locator(".name").inner_text(): bars.nth(n).locator(".share").inner_text() for n in range(4)
        }
        for page in (ann, ben):
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0
            page.evaluate(AXE)
            wrong = "(r) => r.violations.map((v) => v.id + ': ' + v.nodes[0].html)"
            assert page.evaluate(f"axe.run(document, {{resultTypes: ['violations']}}).then({wrong})") == []
    finally:
        server.stop()
    target = tmp_path / "labels.csv"
    assert export("decide", target, home=files / "home").rows == 45
    runs = [str(path) for path in sorted(files.glob("*.run"))]
    summary = endoxa.evaluate(runs, labels=str(target), measures=["AP"]).summary
    best = dict(summary.select("system", "p_best").iter_rows())
    leader = max(best, key=lambda system: best[system])
    assert sentence.startswith(
        f"{leader} is the best with probability {chance(best[leader])}, by the model and 45 labels."
    )
    for system, told in shown.items():
        p = best[system]
        assert told == (">.99" if 0.995 < p < 1 else "<.01" if 0 < p < 0.005 else f"{p:.2f}".removeprefix("0"))
    assert "Traceback" not in (files / "server.log").read_text()


def test_a_machine_judge_speaks_first_and_people_move_the_verdict(
    files: Path, browser: Browser, tmp_path: Path
) -> None:
    """Before the first label the verdict rests on the judge and says so; from five labels a query on, on the labels."""
    texts = pl.read_csv(files / "items.csv")
    grades = texts.select(
        pl.lit("llm").alias("judge"), pl.col("item").str.extract("^(q[0-9]+)d").alias("query"), "item",
        (3 * pl.col("text").str.contains("fits").cast(pl.Int64)).alias("grade"), pl.lit("0-3").alias("scale"),
    )  # fmt: skip
    grades.write_csv(files / "grades.csv")
    server = Server(files, "judged", "--judge", str(files / "grades.csv"))
    try:
        ann = come(browser, server.link, "ann")
        sentence = ann.locator("#verdict-sentence")
        expect(sentence).to_contain_text("No label yet: the order rests on 1 machine judge and the systems")
        expect(sentence).to_contain_text("a system that uses the same model as the judge is favoured")
        expect(sentence).to_contain_text("50 labels check the judge")
        first = sentence.inner_text()
        judge(ann, 10)
        labels(ann, 10)
        expect(sentence).to_contain_text("10 labels so far")
        assert sentence.inner_text() != first
        judge(ann, 40)
        labels(ann, 50)
        expect(sentence).to_contain_text("by the model and 50 labels")
        best = sentence.inner_text()
    finally:
        server.stop()
    target = tmp_path / "labels.csv"
    export("decide", target, home=files / "judged")
    runs = [str(path) for path in sorted(files.glob("*.run"))]
    evaluation = endoxa.evaluate(runs, labels=str(target), judges=str(files / "grades.csv"), measures=["AP"])
    chances = dict(evaluation.summary.select("system", "p_best").iter_rows())
    leader = best.split(" is ")[0]
    assert f"with probability {chance(chances[leader])}" in best
    assert "Traceback" not in (files / "server.log").read_text()
