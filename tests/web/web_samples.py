"""A site with studies on it, and people who come in by the links that they were given.

Every study has eight items (three of them pictures), three queries and three systems; the clock stands still until a
test moves it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from anyio.from_thread import BlockingPortal, start_blocking_portal
from httpx2 import Response
from starlette.testclient import TestClient
from study_samples import make

from endoxa.io.study_files import Sources
from endoxa.store import catalogue, people
from endoxa.store.home import Home, open_home
from endoxa.studies.design import SCREENS, Settings
from endoxa.web.studies.app import Studio, create_app

URL = "http://study.example:8765"
START = 1_800_000_000.0
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>&amp;"
SYSTEMS = ("colour", "texture", "words")
KEY = re.compile(r'<meta name="csrf" content="([0-9a-f]*)">')


@dataclass
class Clock:
    """The time, moved by hand."""

    time: float = START

    def __call__(self) -> float:
        return self.time


@dataclass
class Person:
    """Somebody's browser after they came in."""

    client: TestClient
    study: str
    csrf: str = ""
    link: str = ""

    def get(self, path: str, **more: Any) -> Response:
        """Ask; a path without a slash in front is one of the study's API."""
        return self.client.get(self._full(path), **more)

    def post(self, path: str, json: Any = None, **more: Any) -> Response:
        """Do something, with the token that the page holds."""
        headers = {"X-CSRF-Token": self.csrf, **more.pop("headers", {})}
        return self.client.post(self._full(path), json=json, headers=headers, **more)

    def _full(self, path: str) -> str:
        return path if path.startswith("/") else f"/api/studies/{self.study}/{path}"

    def task(self) -> dict[str, Any]:
        """The task to show now."""
        found: dict[str, Any] = self.get("tasks?count=1").json()["tasks"][0]
        return found

    def answer(self, task: dict[str, Any], said: Any, **more: Any) -> Response:
        """Answer a task: the same of every item, or a list of responses."""
        responses = said if isinstance(said, list) else [{"item": item["id"], "grade": said} for item in task["items"]]
        return self.post("answers", {"key": str(uuid.uuid4()), "task": task["id"], "responses": responses, **more})

    def finish(self, said: Any) -> list[tuple[dict[str, Any], Any]]:
        """Answer all there is; `said` makes the responses of a task. What was sent."""
        sent = []
        while tasks := self.get("tasks?count=1").json()["tasks"]:
            responses = said(tasks[0])
            assert self.answer(tasks[0], responses).status_code == 201
            sent.append((tasks[0], responses))
        return sent


@dataclass
class Sample:
    """A site, its application, its clock."""

    folder: Path
    home: Home
    clock: Clock
    portal: BlockingPortal  # one event loop for all browsers: starting one per request takes longer than the request
    url: str = URL
    studio: Studio = field(init=False)
    app: Any = field(init=False)

    def __post_init__(self) -> None:
        self.renew()

    def renew(self, url: str | None = None) -> None:
        """The application as after a restart."""
        self.url = url or self.url
        self.studio = Studio(self.home, self.url, now=self.clock)
        self.app = create_app(self.studio)

    def make(self, name: str, screen: str = "one-result", *, known: bool = False, **settings: Any) -> str:
        """A study; `known`: with one practice task."""
        place = self.folder / "material" / name
        place.mkdir(parents=True)
        shape = SCREENS[screen]
        _items(place, settings.pop("texts", {}))
        queries = settings.pop("queries", {"q1": "a red thing", "q2": "a blue thing", "q3": "anything else"})
        pl.DataFrame({"query": list(queries), "text": list(queries.values())}).write_csv(place / "queries.csv")
        parts: dict[str, Any] = {"items": place / "items.csv"}
        if shape.asks_query:
            parts |= {"queries": place / "queries.csv", "runs": _runs(place, settings.pop("systems", SYSTEMS))}
        else:
            (place / "tree.txt").write_text("animals/birds\nanimals/cats\nplaces/beach\nplaces/town\n")
            parts["taxonomy"] = place / "tree.txt"
        if known:
            wanted = "animals/cats" if shape.kind == "file" else f"{shape.grades[-1].value:g}"
            count = settings.get("per_task") or shape.per_task
            rows = {"query": ["q1"] * count, "item": [f"d{n}" for n in range(count)], "expected": [wanted] * count}
            pl.DataFrame(rows).write_csv(place / "practice.csv")
            parts["practice"] = place / "practice.csv"
        settings = {"common": 2, "tasks_per_query": 2} | settings
        make(self.home, Settings(name=name, screen=screen, **settings), Sources(**parts), now=self.clock())
        return name

    def link(self, study: str | None, role: str = "judge", *, nickname: str | None = None, days: float = 30) -> str:
        """The path of a new link."""
        with self.home.store.writing() as connection:
            found = catalogue.find(connection, study) if study else None
            _, token = people.invite(
                connection, self.home.key, found, role, nickname=nickname, days=days, now=self.clock()
            )
        return f"/{'organise' if role == 'organiser' else 'join'}/{token}"

    def browser(self, address: str = "10.0.0.1") -> TestClient:
        """A browser that nobody has signed in with."""
        made = TestClient(self.app, base_url=self.url, client=(address, 50_000), follow_redirects=False)
        made.portal = self.portal
        return made

    def enter(self, link: str, study: str = "", nickname: str = "") -> Person:
        """Come in by a link, as a browser does: look at the page, send its form, follow where it leads."""
        client = self.browser()
        assert client.get(link).status_code == 200
        sent = client.post(link, data={"nickname": nickname}, headers={"Sec-Fetch-Site": "same-origin"})
        assert sent.status_code == 303, sent.text
        page = client.get(sent.headers["location"])
        assert page.status_code == 200, page.text
        found = KEY.search(page.text)
        assert found is not None
        return Person(client, study, found.group(1), link)

    def judge(self, study: str, nickname: str = "ana") -> Person:
        """A judge at work."""
        return self.enter(self.link(study), study, nickname)

    def participant(self, study: str, nickname: str = "lab") -> Person:
        """Somebody who sends runs in."""
        return self.enter(self.link(study, "participant"), study, nickname)

    def organiser(self, study: str = "") -> Person:
        """Who runs the studies."""
        return self.enter(self.link(None, "organiser"), study)


@contextmanager
def opened(folder: Path, database: str | None = None, url: str = URL) -> Iterator[Sample]:
    """A site in a folder, on a database (None: SQLite)."""
    with open_home(folder / "home", database, create=True) as home, start_blocking_portal() as portal:
        yield Sample(folder, home, Clock(), portal, url)


def _items(place: Path, texts: dict[str, str]) -> None:
    """Items d0 … d7; the first three are pictures, other texts as given."""
    from PIL import Image

    rows = {f"d{number}": f"text number {number}" for number in range(8)} | texts
    files: list[str | None] = [None] * len(rows)
    for number in range(3):
        files[number] = f"{number}.png"
        colour = (80 * number, 40, len(place.name) % 200)
        Image.new("RGB", (500 + sum(place.name.encode()) % 90, 12), colour).save(place / f"{number}.png")
    pl.DataFrame({"item": list(rows), "text": list(rows.values()), "file": files}).write_csv(place / "items.csv")


def run_text(system: str, queries: tuple[str, ...] = ("q1", "q2", "q3"), turn: int = 1) -> str:
    """A run over the eight items."""
    return "".join(
        f"{query} Q0 d{(turn * (rank + 1) + 3 * at) % 8} {rank + 1} {9 - rank} {system}\n"
        for at, query in enumerate(queries)
        for rank in range(7)
    )


def _runs(place: Path, systems: tuple[str, ...]) -> tuple[Path, ...]:
    paths = []
    for at, system in enumerate(systems):
        paths.append(place / f"run{at}.run")
        paths[-1].write_text(run_text(system, turn=(1, 3, 5)[at % 3]))
    return tuple(paths)
