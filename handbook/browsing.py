"""What a reader does in the browser before a picture is taken, by the name of the picture."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from handbook.tutorials import LINK, Steps


def judge(page: Any, links: str) -> None:
    """Look at the first task."""
    join(page, links, re.findall(r"http://[^/\s]+(/join/\S+)", links)[0], "ana")


def join(page: Any, links: str, invitation: str, nickname: str) -> None:
    """Open an invitation at the server that runs, give a nickname unless there is one, read the instructions."""
    page.goto(f"http://{urlsplit(LINK.findall(links)[-1]).netloc}{invitation}")
    if page.locator("#nickname").get_attribute("readonly") is None:
        page.locator("#nickname").fill(nickname)
    page.locator("#join").click()
    page.locator("#help-close").click()
    page.locator("#stage .picture").first.wait_for()
    page.wait_for_load_state("networkidle")


def dashboard(page: Any, links: str) -> None:
    """Two judges answer a few tasks by keys; then the organiser looks."""
    for nickname, invitation in zip(("ben", "cleo"), re.findall(r"http://[^/\s]+(/join/\S+)", links), strict=False):
        visit = page.context.browser.new_context()
        judge_page = visit.new_page()
        join(judge_page, links, invitation, nickname)
        for _ in range(8):
            before = judge_page.locator("body").get_attribute("data-task")
            for key in "5421":
                judge_page.keyboard.press(key)
            judge_page.keyboard.press("Enter")
            judge_page.wait_for_function("before => document.body.dataset.task !== before", arg=before)
        visit.close()
    page.goto(re.findall(r"http://\S+/organise/\S+", links)[-1])
    page.get_by_role("button", name="Open my studies").click()
    page.get_by_role("link", name="Which pictures are alike?").first.click()
    page.wait_for_load_state("networkidle")


def search(page: Any, links: str) -> None:
    """Open the page of the search, read the instructions, look at pictures and mark two."""
    page.goto(LINK.findall(links)[-1])
    page.locator("#join").click()
    page.locator("#help-close").click()
    page.locator('.way[href="#results"]').click()
    page.locator("#stage .tile").nth(3).wait_for()
    page.wait_for_load_state("networkidle")


STEPS: dict[str, Steps] = {"judge": judge, "dashboard": dashboard, "search": search}
