"""A real server, a real Chromium, and judges who use it by keyboard or by thumb; what they do is written down.

Nothing here reads what the page sends: a judge notes which picture or text was seen and what was pressed, and that must
come out at the other end.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from command_line import done
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

expect.set_options(timeout=30_000)  # a bound for machines with much else to do, not a wait
HERE = Path(__file__).parent
CALL = "from endoxa.cli import main; main()"
WIDE, NARROW = (1280, 800), (360, 740)
READY = 'body[data-state="task"] #stage:not([inert])'
AXE = (HERE / "axe.min.js").read_text(encoding="utf-8")
SHOTS = os.environ.get("ENDOXA_SCREENSHOTS")  # a folder for a picture of each page that is looked at
DEVICES = {"laptop": WIDE, "phone": NARROW}

# The first two draw an address bar for windows that nobody sees, a third of all work. Of several such words Chromium
# heeds the last, so that those which Playwright gives follow.
WITHOUT = "--disable-features=" + ",".join(
    "WebUIOmniboxPopup WebUIOmniboxAimPopup AimEnabled AvoidUnnecessaryBeforeUnloadCheckSync HttpsUpgrades "
    "AvoidCorsURLLoaderRestartOnRedirect DestroyProfileOnBrowserClose HttpsFirstBalancedModeAutoEnable MediaRouter "
    "NetworkTimeServiceQuerying OptimizationHints PaintHolding PreconnectToSearch ThirdPartyStoragePartitioning".split()
)

# Pictures that a program can tell apart by one pixel, in the shapes that people have: wide, tall, square.
COLOURS = {
    "p0": (214, 40, 40), "p1": (247, 127, 0), "p2": (252, 220, 90), "p3": (60, 150, 70), "p4": (30, 170, 200),
    "p5": (40, 70, 180), "p6": (140, 60, 160), "p7": (120, 120, 120),
}  # fmt: skip
FRAMES = [(640, 400), (420, 640), (500, 500), (900, 300)]
SUBJECTS = ["a lamp", "a river at dusk", "two cats on a wall", "the old town hall"]


class Server:
    """`endoxa study serve`, or another command that serves, as a process of its own.

    said  how it says where it is: the address, the port and the link
    """

    def __init__(
        self, home: Path, command: Sequence[str] = ("study", "serve"),
        said: str = r" at (?P<url>http://\S+:(?P<port>\d+)) .*\norganiser, once: (?P<link>\S+)",
    ) -> None:  # fmt: skip
        self.home, self.command, self.said = home, command, said
        self.port = 0
        self.url = self.link = ""
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it; the second time at the same address."""
        with (self.home.parent / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", CALL, *self.command, "--home", str(self.home), "--port", str(self.port)],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        heard = ""
        while (found := re.search(self.said, heard)) is None:
            line = self.process.stdout.readline()
            assert line, f"{heard}{self.log()}"
            heard += line
        self.url, self.port, self.link = found["url"], int(found["port"]), found["link"]

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Stop it and wait for its end."""
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.communicate(timeout=20)
        self.process = None

    def log(self) -> str:
        """What it said on stderr."""
        return (self.home.parent / "server.log").read_text()


@dataclass
class Stage:
    """The server, the browser, and everything that a page complained of."""

    folder: Path
    server: Server
    browser: Browser
    complaints: list[str] = field(default_factory=list)
    forgiven: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    _organiser: BrowserContext | None = None

    def study(self, *words: object) -> str:
        """`endoxa study …`; what it printed."""
        return done("study", *words, "--home", self.server.home)

    def context(self, size: tuple[int, int] = WIDE, *, touch: bool = False) -> BrowserContext:
        """A browser of somebody's own: nothing is shared with others. Everything that goes wrong in it is noted."""
        made = self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, has_touch=touch, is_mobile=touch,
            device_scale_factor=2 if touch else 1, color_scheme="light", reduced_motion="reduce",
        )  # fmt: skip
        made.set_default_timeout(30_000)
        made.on("console", lambda said: said.type in {"error", "warning"} and self._complain(said.text))
        made.on("weberror", lambda error: self._complain(str(error.error)))
        made.on("request", lambda request: self._own(request.url))
        self.contexts.append(made)
        return made

    def _complain(self, text: str) -> None:
        if not any(re.search(pattern, text) for pattern in self.forgiven):
            self.complaints.append(text)

    def _own(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ws", "wss"} and not url.startswith(self.server.url):
            self.complaints.append(f"a request to another host: {url}")

    def organiser(self) -> BrowserContext:
        """The organiser's browser, who came in by the link that the server printed."""
        if self._organiser is None:
            self._organiser = self.context()
            page = self._organiser.new_page()
            page.goto(self.server.link)
            page.get_by_role("button", name="Open my studies").click()
            expect(page.get_by_role("heading", name="Studies")).to_be_visible()
        return self._organiser

    def dashboard(self, name: str) -> Page:
        """A study's dashboard, with its first figures."""
        page = self.organiser().pages[0]
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        page.goto(f"{self.server.url}/dashboard/{name}")
        expect(page.locator("#done")).to_have_text(re.compile(r"\d"))
        return page

    def link(self, name: str, nickname: str = "") -> str:
        """A judge's link, from the command line."""
        said = self.study("invite", name, *([nickname] if nickname else ["--count", "1"]), "--url", self.server.url)
        return said.split("\t")[-1].strip()

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """A test in which no page says an error that was not forgiven, breaks its policy, or asks another host."""
        yield
        self.tidy()
        said, self.complaints, self.forgiven = self.complaints, [], []
        assert said == []

    def tidy(self) -> None:
        """Close what a test left open, but the organiser's browser."""
        for context in self.contexts:
            if context is not self._organiser:
                context.close()
        self.contexts = [] if self._organiser is None else [self._organiser]
        if self._organiser is not None:
            self._organiser.pages[0].goto("about:blank")


@contextmanager
def staged(folder: Path, chromium: str, server: Server | None = None) -> Iterator[Stage]:
    """A server on an empty home (that of studies if none is given) and a browser, for the tests of one file."""
    server = server or Server(folder / "home")
    server.home.mkdir()
    server.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", WITHOUT])
            stage = Stage(folder, server, browser)
            try:
                yield stage
            finally:
                for context in stage.contexts:
                    context.close()
                browser.close()
    finally:
        server.stop()
    assert "Traceback" not in server.log(), server.log()


@dataclass
class Eye:
    """Looks at a page with axe, in light and in dark, and keeps what it finds."""

    device: str
    found: list[str] = field(default_factory=list)

    def look(self, page: Page, name: str) -> None:
        """All rules in the light; in the dark those of colour, as no other can differ."""
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            options: dict[str, Any] = {"resultTypes": ["violations"]}
            if scheme == "dark":
                options["runOnly"] = ["color-contrast"]
            for broken in page.evaluate("options => axe.run(options).then(found => found.violations)", options):
                where = [node["html"][:200] for node in broken["nodes"]]
                self.found.append(f"{name} {scheme}: {broken['id']}: {broken['help']}: {where}")
            if SHOTS:
                Path(SHOTS).mkdir(parents=True, exist_ok=True)
                whole = not page.locator("body.desk").count()  # whose parts stick to the window
                page.screenshot(path=f"{SHOTS}/{name}-{DEVICES[self.device][0]}-{scheme}.png", full_page=whole)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        if wide[0] > wide[1]:
            self.found.append(f"{name}: the page is {wide[0]} pixels wide on a screen of {wide[1]}")


# What an organiser hands in -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Material:
    """Eight pictures, eight texts, three queries in words, three systems for either kind of query, a taxonomy."""

    folder: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def runs(self, kind: str) -> list[str]:
        """The words of the command line that name the runs."""
        return [word for path in sorted(self.folder.glob(f"*.{kind}.run")) for word in ("--run", str(path))]


def material(folder: Path) -> Material:
    """Write it. Runs of kind `picture` ask pictures by pictures, `words` pictures by words, `text` texts by words."""
    folder.mkdir()
    (folder / "photos").mkdir()
    for at, (name, colour) in enumerate(COLOURS.items()):
        canvas = Image.new("RGB", FRAMES[at % 4], colour)
        x, y = canvas.size
        ImageDraw.Draw(canvas).ellipse((x * 0.3, y * 0.3, x * 0.7, y * 0.7), fill=(250, 248, 240))
        canvas.save(folder / "photos" / f"{name}.png")
    filler = "It says what it says at some length, as pages do, so that a small screen cannot hold it all. " * 9
    texts = {f"d{at}": f"Page d{at} about {SUBJECTS[at % 4]}. {filler}" for at in range(8)}
    pl.DataFrame({"item": list(texts), "text": list(texts.values())}).write_csv(folder / "texts.csv")
    rows = {f"p{at}": (f"p{at}: {SUBJECTS[at % 4]}", f"photos/p{at}.png") for at in range(8)}
    captioned = {"item": list(rows), "text": [t for t, _ in rows.values()], "file": [f for _, f in rows.values()]}
    pl.DataFrame(captioned).write_csv(folder / "captioned.csv")
    asked = [f"Query q{at}: {subject}" for at, subject in enumerate(SUBJECTS[:3])]
    pl.DataFrame({"query": ["q0", "q1", "q2"], "text": asked}).write_csv(folder / "queries.csv")
    for kind, query, item in (("picture", "p", "p"), ("words", "q", "p"), ("text", "q", "d")):
        for turn, system in ((1, "colour"), (3, "shape"), (5, "words")):
            lines = [
                f"{query}{q} Q0 {item}{(turn * (rank + 1) + 3 * q) % 8} {rank + 1} {9 - rank} {system}\n"
                for q in range(3)
                for rank in range(7)
            ]
            (folder / f"{system}.{kind}.run").write_text("".join(lines))
    (folder / "tree.txt").write_text("animals/birds\nanimals/cats\nplaces/beach\nplaces/town\n")
    return Material(folder)


def seen(stage: Stage, thing: dict[str, str | None]) -> str | None:
    """Which item or query that was, by the look of it: the colour of a picture's corner, or the name in its text."""
    if thing["src"]:
        sha = urlsplit(thing["src"]).path.rsplit("/", 1)[1]
        with Image.open(stage.server.home / "files" / f"{sha}.jpg") as picture:
            pixel = picture.convert("RGB").getpixel((4, 4))
        found = min(COLOURS, key=lambda name: sum(abs(a - b) for a, b in zip(pixel, COLOURS[name], strict=True)))
        assert thing["text"] is None or found in thing["text"]  # a caption stands with its own picture
        return found
    named = re.search(r"\b[dq]\d\b", thing["text"] or "")
    return named and named[0]


# Judges ---------------------------------------------------------------------------------------------------------------

LOOK = """() => {
  const seen = (box) => ({ id: Number(box.dataset.item ?? 0), src: box.querySelector(".exhibit img")?.src ?? null,
                           text: box.querySelector(".exhibit .text")?.textContent ?? null });
  const query = document.getElementById("query");
  const stage = document.getElementById("stage");
  return { task: stage.dataset.task, query: query.hidden ? null : seen(query),
           items: [...stage.querySelectorAll("[data-item]")].map(seen) };
}"""


STATE = """() => [{ ...document.body.dataset }, document.activeElement.outerHTML.slice(0, 120),
  [...document.querySelectorAll("[aria-pressed=true]")].length, document.body.innerText]"""


@dataclass(frozen=True)
class Shown:
    """A task as a judge saw it: its number, the query, the items in their order (number and name)."""

    task: str
    query: str | None
    items: tuple[tuple[int, str], ...]


class Judge:
    """Somebody with a link. Every act is written down: kind, query, item, what was said."""

    page: Page

    size, touch = WIDE, False

    def __init__(self, stage: Stage, study: str, screen: str, nickname: str, link: str) -> None:
        self.stage, self.study, self.screen, self.nickname, self.link = stage, study, screen, nickname, link
        self.acts: list[tuple[str, str | None, str | None, Any]] = []
        self.held: dict[str, list[tuple[str | None, str | None, Any]]] = {}
        self.order: list[Shown] = []  # the tasks answered or skipped, for undo
        self.skips = 0

    # Coming and going

    def come(self, prepare: Callable[[Page], object] | None = None) -> Shown | None:
        """Open the link in a browser of one's own, give the nickname, read the instructions; what is shown then."""
        self.enter(prepare)
        return self.ready()

    def enter(self, prepare: Callable[[Page], object] | None = None) -> None:
        """The same, without waiting for a task; `prepare` is called with the page first."""
        self.page = self.stage.context(self.size, touch=self.touch).new_page()
        if prepare is not None:
            prepare(self.page)
        self.page.goto(self.link)
        self.join()
        expect(self.page.locator("#help")).to_be_visible()
        self.begin()

    def go(self) -> None:
        """Close the browser, once everything is saved."""
        self.saved()
        self.page.context.close()
        self.stage.contexts.remove(self.page.context)

    def saved(self) -> None:
        """Wait until the server has everything."""
        expect(self.page.locator("body")).to_have_attribute("data-queue", "idle")

    # Looking

    def ready(self, old: str = "", new: str = "") -> Shown | None:
        """Wait for a task (other than `old`, or `new` itself); what is shown, None at the end."""
        wanted = f'{READY}[data-task="{new}"]' if new else f'{READY}[data-task]:not([data-task="{old}"])'
        end = "" if new else ', body[data-state="end"] #finished'
        try:
            self.page.wait_for_selector(wanted + end, state="attached")
        except PlaywrightError as error:
            state = self.page.evaluate(STATE)
            raise AssertionError(f"no task came after {old or new!r}: {state}") from error
        if self.page.locator("#finished").count():
            return None
        found = self.page.evaluate(LOOK)
        query = None if found["query"] is None else seen(self.stage, found["query"])
        items = tuple((one["id"], seen(self.stage, one) or "") for one in found["items"])
        return Shown(found["task"], query, items)

    # Acts, written down

    def answer(self, shown: Shown, values: Sequence[Any], *, again: bool = False) -> Shown | None:
        """Say something of each item, in the order shown; what is shown then."""
        self.say(shown, values, again=again)
        self.hold(shown, [(name, value) for (_, name), value in zip(shown.items, values, strict=True)])
        return self.ready(old=shown.task)

    def hold(self, shown: Shown, said: list[tuple[str, Any]]) -> None:
        """Write an answer down."""
        self.held[shown.task] = [(shown.query, name, value) for name, value in said]
        self.acts += [("answer", *row) for row in self.held[shown.task]]
        self.order.append(shown)

    def skip(self, shown: Shown) -> Shown | None:
        """Pass it by."""
        self.press("skip")
        self.acts.append(("skip", shown.query, None, None))
        self.order.append(shown)
        self.skips += 1
        return self.ready(old=shown.task)

    def undo(self) -> Shown:
        """Take the last one back; it is shown again, with what was said."""
        last = self.order.pop()
        self.press("undo")
        shown = self.ready(new=last.task)
        assert shown is not None
        self.acts.append(("undo", last.query, None, None))
        self.skips -= last.task not in self.held
        self.held.pop(last.task, None)
        return shown

    def pause(self) -> None:
        """Pause, and go on."""
        self.press("pause")
        expect(self.page.locator("#paused")).to_be_visible()
        self.press("resume")
        expect(self.page.locator("#paused")).to_be_hidden()

    def enlarge(self) -> None:
        """Look at something in full, and come back."""
        self.widen()
        dialog = self.page.locator("#enlarge")
        expect(dialog).to_be_visible()
        picture = dialog.locator("img")
        if picture.count():
            expect(picture).to_have_js_property("complete", True)
            assert picture.evaluate("image => image.naturalWidth") > 100
        else:
            assert "at some length" in dialog.inner_text()
        self.press("close")
        expect(dialog).to_be_hidden()

    @property
    def rows(self) -> list[tuple[str, str | None, str | None, Any]]:
        """What the judge holds in the end."""
        return [(self.nickname, *row) for said in self.held.values() for row in said]

    # How, by each in their own way

    def join(self) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        raise NotImplementedError

    def widen(self) -> None:
        raise NotImplementedError

    def press(self, what: str) -> None:
        raise NotImplementedError

    def say(self, shown: Shown, values: Sequence[Any], *, again: bool) -> None:
        raise NotImplementedError


AT_ONCE = {"one-result", "yes-no", "five-levels"}  # where a grade sends the answer
KEYS = {"yes-no": {0: "n", 1: "y"}}  # on other screens a key is the grade that it stores


class Typist(Judge):
    """A laptop; the mouse is not touched."""

    method = "key"

    def join(self) -> None:
        self.page.keyboard.press("Tab")
        field = self.page.locator("#nickname")
        expect(field).to_be_focused()
        if field.get_attribute("readonly") is None:
            self.page.keyboard.type(self.nickname)
        self.page.keyboard.press("Enter")

    def begin(self) -> None:
        self.page.keyboard.press("Enter")

    def widen(self) -> None:
        self._leave_field()
        self.page.keyboard.press("Space")

    def _leave_field(self) -> None:
        if self.page.locator("#filter:focus").count():  # letters go into the field until one leaves it
            self.page.keyboard.press("Escape")

    def press(self, what: str) -> None:
        if what in {"skip", "undo", "pause"}:
            self._leave_field()
        self.page.keyboard.press({"skip": "s", "undo": "z", "pause": "p", "resume": "Enter", "close": "Escape"}[what])

    def say(self, shown: Shown, values: Sequence[Any], *, again: bool) -> None:
        keys = self.page.keyboard
        if self.screen == "file-it":
            if values[0] is None:
                self._leave_field()
                keys.press("u")
            else:
                if not self.page.locator("#filter:focus").count():
                    keys.press("/")
                keys.type(values[0].rsplit("/", 1)[-1])
                keys.press("Enter")
            expect(self.page.locator("#next")).to_be_focused()
            return keys.press("Enter")
        for at, value in enumerate(values):
            keys.press("u" if value is None else KEYS.get(self.screen, {}).get(value, str(value)))
            if again and at + 1 < len(values):
                keys.press("ArrowRight")
        if again or self.screen not in AT_ONCE:
            keys.press("Enter")
        return None


class Thumb(Judge):
    """A phone; taps only."""

    size, touch, method = NARROW, True, "touch"

    def join(self) -> None:
        field = self.page.locator("#nickname")
        if field.get_attribute("readonly") is None:
            field.tap()
            field.fill(self.nickname)
        self.page.locator("#join").tap()

    def begin(self) -> None:
        self.page.locator("#help-close").tap()

    def widen(self) -> None:
        self.page.locator("#stage :is(.picture, .more:not([hidden]))").first.tap()

    def press(self, what: str) -> None:
        self.page.locator("#enlarge-close" if what == "close" else f"#{what}").tap()

    def say(self, shown: Shown, values: Sequence[Any], *, again: bool) -> None:
        for (number, _), value in zip(shown.items, values, strict=True):
            if self.screen == "file-it":
                self.page.locator(f'button[data-category="{value or ""}"]').tap()
            else:
                self.page.touchscreen.tap(9, 9)  # elsewhere: two quick taps close by would be a double tap
                self.grade(number, value).tap()
        if again or self.screen not in AT_ONCE:
            self.page.locator("#next").tap()

    def grade(self, number: int, value: Any) -> Locator:
        """The button of a grade."""
        return self.page.locator(
            f'[data-item="{number}"] button[data-grade="{"undecided" if value is None else value}"]'
        )
