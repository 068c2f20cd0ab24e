"""A collection of small pictures, its page, and people who come in by the link."""

from __future__ import annotations

import base64
import io
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from anyio.from_thread import BlockingPortal, start_blocking_portal
from httpx2 import Response
from PIL import Image, ImageDraw
from starlette.testclient import TestClient
from web_samples import KEY, START, Clock

from endoxa.images.corpus import Corpus
from endoxa.io.corpora import read_corpus
from endoxa.io.search_features import open_features
from endoxa.searches.arms import Features
from endoxa.searches.session import Settings
from endoxa.store import people
from endoxa.store.home import Home, open_home
from endoxa.web.searches.collection import Collection
from endoxa.web.searches.search_app import SearchServer, create_search_app

URL = "http://search.example:8766"
GROUND = {"sea": (30, 90, 170), "wood": (40, 110, 50), "sand": (220, 190, 120), "night": (20, 20, 40)}
SHAPES = ("sun", "boat", "house", "tree", "bird", "star")


def paint(folder: Path, *, captions: bool = True) -> Path:
    """24 pictures: four grounds, and six things on each, in vectors that tell grounds apart; captions name both."""
    rng = np.random.default_rng(5)
    vectors = {}
    for at, (ground, colour) in enumerate(GROUND.items()):
        place = folder / ground
        place.mkdir(parents=True)
        for number, thing in enumerate(SHAPES):
            shade = tuple(int(np.clip(part + rng.integers(-12, 12), 0, 255)) for part in colour)
            canvas = Image.new("RGB", (120, 80), shade)
            x, y = 10 + 14 * number, 12 + 6 * number
            fill = tuple(int(part) for part in rng.integers(60, 255, 3))
            ImageDraw.Draw(canvas).ellipse((x, y, x + 30, y + 26), fill=fill)
            canvas.save(place / f"{thing}.jpg", quality=90, exif=_exif())
            if captions:
                (place / f"{thing}.txt").write_text(f"A {thing} on {ground}\n")
            row = np.zeros(6)
            row[at] = 3.0
            vectors[f"{ground}/{thing}"] = row + rng.normal(0, 0.5, 6)
    np.savez(folder.parent / "vectors.npz", items=np.array(list(vectors)), vectors=np.array(list(vectors.values())))
    return folder


def _exif() -> Any:
    """A camera's words, which must not leave the server."""
    found = Image.Exif()
    found[0x010E] = "secret place"
    return found


def opened_corpus(folder: Path, **more: Any) -> tuple[Corpus, Features]:
    """The corpus in a folder that `paint` made, and its features."""
    corpus = read_corpus(folder)
    vectors = folder.parent / "vectors.npz"
    return corpus, open_features(corpus, folder.parent / "index", vectors=vectors, workers=1, **more)


def sketch_png(colour: tuple[int, int, int] | None = (30, 90, 170), *, size: int = 256, part: float = 1.0) -> str:
    """A sketch in base64: this colour over a part of the height, the rest unpainted."""
    pixels = np.zeros((size, size, 4), np.uint8)
    if colour is not None:
        pixels[: int(part * size)] = (*colour, 255)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def picture_bytes(colour: tuple[int, int, int] = (30, 90, 170), form: str = "JPEG", **more: Any) -> bytes:
    """A picture from outside."""
    size, mode = more.pop("size", (120, 80)), more.pop("mode", "RGB")
    canvas = Image.new("RGB", size, colour).convert(mode)
    buffer = io.BytesIO()
    canvas.save(buffer, form, **more)
    return buffer.getvalue()


@dataclass
class Seeker:
    """Somebody's browser after they came in."""

    client: TestClient
    csrf: str
    link: str = ""  # one's own
    search: str = ""

    def get(self, path: str, **more: Any) -> Response:
        """Ask; a path without a slash in front is one of the person's search."""
        return self.client.get(self._full(path), **more)

    def post(self, path: str, json: Any = None, **more: Any) -> Response:
        """Do something, with the token that the page holds."""
        headers = {"X-CSRF-Token": self.csrf, **more.pop("headers", {})}
        return self.client.post(self._full(path), json=json, headers=headers, **more)

    def _full(self, path: str) -> str:
        return path if path.startswith("/") else f"/api/searches/{self.search}/{path}".replace("/?", "?").rstrip("/")

    def begin(self, size: int = 8, **more: Any) -> dict[str, Any]:
        """A new search; it becomes this person's."""
        made = self.post("/api/searches", {"key": str(uuid.uuid4()), "size": size, **more})
        assert made.status_code == 201, made.text
        self.search = made.json()["id"]
        return self.state()

    def state(self) -> dict[str, Any]:
        """The search as it stands."""
        found: dict[str, Any] = self.get("").json()
        return found

    def send(self, kind: str, detail: Any = None, **more: Any) -> Response:
        """An event behind the last one."""
        body = {"key": str(uuid.uuid4()), "kind": kind, "detail": detail or {}, **more}
        return self.post("events", {"after": self.state()["number"], **body} if "after" not in body else body)

    def act(self, kind: str, detail: Any = None) -> dict[str, Any]:
        """An event that is taken; the search then."""
        sent = self.send(kind, detail)
        assert sent.status_code == 200, sent.text
        found: dict[str, Any] = sent.json()
        return found


@dataclass
class Hall:
    """A page over a collection, its clock, and the link that several people may use."""

    home: Home
    corpus: Corpus
    features: Features
    portal: BlockingPortal
    clock: Clock = field(default_factory=Clock)
    ticks: Clock = field(default_factory=Clock)
    server: SearchServer = field(init=False)
    app: Any = field(init=False)
    link: str = ""

    def __post_init__(self) -> None:
        self.renew()
        with self.home.store.writing() as connection:
            _, token = people.invite(connection, self.home.key, None, "searcher", now=self.clock())
            self.link = f"/join/{token}"

    def renew(self, features: Features | None = None, settings: Settings | None = None) -> None:
        """The application as after a restart, over a collection that was indexed anew, or with other settings."""
        self.features = features or self.features
        collection = Collection(self.corpus, self.features, self.home.files)
        chosen = settings or Settings()
        self.server = SearchServer(self.home, URL, collection, settings=chosen, now=self.clock, ticks=self.ticks)
        self.app = create_search_app(self.server)

    def browser(self, address: str = "10.0.0.1") -> TestClient:
        """A browser that nobody has signed in with."""
        made = TestClient(self.app, base_url=URL, client=(address, 50_000), follow_redirects=False)
        made.portal = self.portal
        return made

    def enter(self, link: str, nickname: str = "") -> Seeker:
        """Come in by a link, as a browser does."""
        client = self.browser()
        assert client.get(link).status_code == 200
        sent = client.post(link, data={"nickname": nickname}, headers={"Sec-Fetch-Site": "same-origin"})
        assert sent.status_code == 303, sent.text
        target, _, fragment = sent.headers["location"].partition("#")
        page = client.get(target)
        assert page.status_code == 200, page.text
        found = KEY.search(page.text)
        assert found is not None
        own = fragment.partition("/")[2]
        return Seeker(client, found.group(1), f"/join/{own}" if own else link)

    def again(self, who: Seeker) -> Seeker:
        """The same person in another browser, at the same search."""
        found = self.enter(who.link)
        found.search = who.search
        return found

    def seeker(self, nickname: str) -> Seeker:
        """Somebody new."""
        return self.enter(self.link, nickname)


@contextmanager
def search_hall(folder: Path, corpus: Corpus, features: Features) -> Iterator[Hall]:
    """A page on a home of its own."""
    with open_home(folder, create=True) as home, start_blocking_portal() as portal:
        yield Hall(home, corpus, features, portal, Clock(START), Clock(0.0))
