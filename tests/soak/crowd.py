"""A real server that is killed and started again, and judges who answer as fast as they can or think in between.

A judge makes a key for every answer, sends it until the server says that it has it, and remembers what was
acknowledged. Afterwards the database is asked: every acknowledged key once, with the acknowledged grade; no key twice.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import sqlalchemy as sa

from endoxa.store import catalogue, people
from endoxa.store import schema as s
from endoxa.store.home import open_home
from endoxa.studies.design import Settings
from endoxa.studies.planning import DRAWS, TASKS, Work

STUDY = "crowded"
# a soak started by nohup hands on that a closed terminal is ignored
CALL = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\nfrom endoxa.cli import main; main()"
# The clock of this process goes as a file says: so many seconds fast.
OTHER_CLOCK = """
import sys, time
from pathlib import Path
right, file = time.time, Path(sys.argv.pop(1))
time.time = lambda: right() + float(file.read_text())
"""
TROUBLE = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)
PATIENCE = 120.0  # seconds within which one request must be answered at last
GIVE_UP = 300.0  # seconds after which work that does not go on has come to a stand


def prepare(folder: Path, url: str | None, *, judges: int, tasks: int) -> list[str]:
    """A study that every judge can work on through and through; a token for each of them."""
    rows = [
        (n, "q", f"item {n}", 0, 0.5, "a", None, None, None, "common" if n < 5 else "main", 1, None)
        for n in range(tasks)
    ]
    work = Work(pl.DataFrame(rows, schema=TASKS, orient="row"), pl.DataFrame(schema=DRAWS))
    empty = pl.lit(None, pl.String)
    items = work.tasks.select("item", pl.col("item").alias("text"), empty.alias("file"), empty.alias("original"))
    queries = pl.DataFrame({"query": ["q"], "text": ["what?"]}).with_columns(
        empty.alias("file"), empty.alias("original")
    )
    with open_home(folder, url, create=True) as home, home.store.writing() as connection:
        settings = Settings(name=STUDY, screen="one-result", overlap=judges)
        study = catalogue.create(connection, settings, now=time.time())
        catalogue.add_shown(connection, s.items, study, items)
        catalogue.add_shown(connection, s.queries, study, queries)
        catalogue.add_work(connection, study, work, rng=np.random.default_rng(0))
        return [
            people.invite(connection, home.key, study, "judge", nickname=f"judge {n}", now=time.time())[1]
            for n in range(judges)
        ]


@dataclass
class Server:
    """`endoxa study serve` in a process of its own; `clock` is a file with the seconds that its clock is fast."""

    folder: Path
    url: str | None
    clock: Path | None = None
    process: subprocess.Popen[str] | None = None
    port: int = 0
    starts: int = 0

    def start(self) -> None:
        """Start it, on the port that it had before, and wait until it listens."""
        call = ["-c", CALL] if self.clock is None else ["-c", OTHER_CLOCK + CALL, str(self.clock)]
        command = [sys.executable, *call, "study", "serve", "--port", str(self.port), *self.place]
        with self.log_file.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"at http://127\.0\.0\.1:(\d+)", line)
        if found is None:
            raise RuntimeError(f"the server did not start: {line!r} {self.log()}")
        self.port = int(found[1])
        self.starts += 1

    def kill(self, by: signal.Signals = signal.SIGKILL) -> None:
        """End it as a power cut would, or by another signal: Ctrl-C is SIGINT, a closed terminal SIGHUP."""
        assert self.process is not None
        self.process.send_signal(by)
        self.process.wait(60)  # a server that outlives its signal is a finding
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None

    @property
    def place(self) -> list[str]:
        """The options that say where the studies are."""
        return ["--home", str(self.folder), *(["--db", self.url] if self.url else [])]

    @property
    def log_file(self) -> Path:
        """Beside the folder, because the disk of the folder may be full."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def log(self) -> str:
        """What it complained of."""
        return self.log_file.read_text(encoding="utf-8")

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of the organiser, on the same studies."""
        call = [sys.executable, "-c", CALL, "study", *words, *self.place]
        return subprocess.run(call, capture_output=True, text=True, check=False)


@contextmanager
def serving(servers: list[Server]) -> Iterator[None]:
    """The servers run for as long as the block lasts."""
    try:
        for server in servers:
            server.start()
        yield
    finally:
        for server in servers:
            if server.process is not None:
                server.kill()


@dataclass
class Judge(threading.Thread):
    """Somebody with a browser."""

    server: Server
    token: str
    stop: threading.Event
    think: tuple[float, float]
    acknowledged: dict[str, float] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    problems: set[str] = field(default_factory=set)  # what the server said when it could not do what was asked
    refused: list[str] = field(default_factory=list)
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.chance = random.Random(self.token)
        self.cookie = self.csrf = ""
        self.connection: http.client.HTTPConnection | None = None

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        """Come in, and answer until told to stop."""
        try:
            self.stop.wait(self.chance.uniform(0, 2 * self.think[1]))  # people do not come all in the same second
            self.come_in()
            while not self.stop.is_set() and (tasks := self.tasks()):
                for task in tasks[:1] if self.think[1] else tasks:
                    if self.stop.is_set():
                        break
                    self.stop.wait(self.chance.uniform(*self.think))
                    self.answer(task)
        except BaseException as error:  # noqa: BLE001 (kept, and raised by whoever waits for the judge)
            self.failure = error
        finally:
            if self.connection is not None:
                self.connection.close()

    def come_in(self) -> None:
        status, headers, _ = self.ask("POST", f"/join/{self.token}", b"nickname=", "application/x-www-form-urlencoded")
        assert status == 303, status
        self.cookie = headers["set-cookie"].partition(";")[0]
        _, _, page = self.ask("GET", f"/s/{STUDY}")
        found = re.search(rb'<meta name="csrf[^"]*" content="([^"]+)"', page)
        assert found is not None, "the page has no token"
        self.csrf = found[1].decode()

    def tasks(self) -> list[dict[str, Any]]:
        status, _, body = self.timed("GET", f"/api/studies/{STUDY}/tasks?count=3")
        assert status == 200, body
        return list(json.loads(body)["tasks"])

    def answer(self, task: dict[str, Any]) -> None:
        key, grade = str(uuid.uuid4()), float(self.chance.randint(1, 9))
        responses = [{"item": item["id"], "grade": grade} for item in task["items"]]
        body = {"key": key, "task": task["id"], "responses": responses, "active_seconds": 1.5, "method": "key"}
        self.sent.add(key)
        status, _, said = self.timed("POST", f"/api/studies/{STUDY}/answers", json.dumps(body).encode())
        if status in {200, 201}:
            self.acknowledged[key] = grade
        else:
            self.refused.append(f"{status} {said!r}")

    def timed(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any, bytes]:
        """A request with its time, where it was answered at the first attempt."""
        errors, start = self.errors, time.perf_counter()
        found = self.ask(method, path, body)
        if errors == self.errors:
            self.seconds.append(time.perf_counter() - start)
        return found

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[int, Any, bytes]:
        """Send a request, again and again with the same content until it is answered."""
        headers = {"Cookie": self.cookie, "X-CSRF-Token": self.csrf}
        if body is not None:
            headers["Content-Type"] = kind
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
                self.connection.request(method, path, body, headers)
                answer = self.connection.getresponse()
                content = answer.read()
                if answer.status < 500:
                    return answer.status, answer.headers, content
            except TROUBLE as error:
                trouble: object = error
            else:
                trouble = f"{answer.status} {content[:200]!r}"
                self.problems.add(content.decode("utf-8", "replace"))
            self.errors += 1
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            if time.monotonic() > give_up:
                raise TimeoutError(f"no answer to {method} {urlsplit(path).path}: {trouble}")
            time.sleep(self.chance.uniform(0.02, 0.1))


@dataclass(frozen=True)
class Outcome:
    """What became of the answers."""

    answers: int
    lost: int
    doubled: int
    altered: int
    errors: int
    p50: float  # seconds, of requests answered at the first attempt
    p99: float
    kills: int
    seconds: float
    tracebacks: int = 0  # shown to a judge, or in the log of the server

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost, doubled or altered, and nobody saw a traceback."""
        return self.lost == self.doubled == self.altered == self.tracebacks == 0


During = Callable[[list[Server], Callable[[], int]], None]


def hold(
    folder: Path, url: str | None, *, judges: int, tasks: int, think: tuple[float, float] = (0.0, 0.0),
    during: During, count: int = 1, clock: Path | None = None,
) -> Outcome:  # fmt: skip
    """Let judges work at `count` servers while `during(servers, acknowledged)` does its worst; then compare."""
    tokens = prepare(folder, url, judges=judges, tasks=tasks)
    stop = threading.Event()
    servers = [Server(folder, url, clock) for _ in range(count)]
    with serving(servers):
        crowd = [Judge(servers[at % count], token, stop, think) for at, token in enumerate(tokens)]
        start = time.perf_counter()
        for judge in crowd:
            judge.start()
        try:
            during(servers, lambda: sum(len(judge.acknowledged) for judge in crowd))
        finally:
            stop.set()
            for judge in crowd:
                judge.join(PATIENCE + 30)
        seconds = time.perf_counter() - start
        kills = sum(server.starts - 1 for server in servers)
    for judge in crowd:
        if judge.failure is not None:
            raise judge.failure
        if judge.refused:
            raise RuntimeError(f"an answer was refused: {judge.refused[0]}")
    told = [servers[0].log(), *(problem for judge in crowd for problem in judge.problems)]
    return replace(compared(folder, url, crowd, kills=kills, seconds=seconds), tracebacks=tracebacks_in(told))


def tracebacks_in(texts: list[str]) -> int:
    """How many tracebacks they show."""
    return sum(text.count("Traceback (most recent call last)") for text in texts)


def compared(folder: Path, url: str | None, crowd: list[Judge], *, kills: int, seconds: float) -> Outcome:
    """What was acknowledged beside what is kept."""
    acknowledged = {key: grade for judge in crowd for key, grade in judge.acknowledged.items()}
    with open_home(folder, url) as home, home.store.reading() as connection:
        a = s.answers.c
        rows = connection.execute(sa.select(a.key, a.grade, a.rater_id, a.task_id).where(a.kind == "answer")).all()
    kept: dict[str, list[float]] = {}
    for row in rows:
        kept.setdefault(row.key, []).append(row.grade)
    strange = set(kept) - {key for judge in crowd for key in judge.sent}
    if strange:
        raise RuntimeError(f"{len(strange)} keys are kept that nobody sent")
    times = np.array([one for judge in crowd for one in judge.seconds] or [np.nan])
    return Outcome(
        answers=len(acknowledged), lost=sum(key not in kept for key in acknowledged),
        doubled=sum(len(grades) > 1 for grades in kept.values()),
        altered=sum(grade not in kept.get(key, [grade]) for key, grade in acknowledged.items()),
        errors=sum(judge.errors for judge in crowd), p50=float(np.quantile(times, 0.5)),
        p99=float(np.quantile(times, 0.99)), kills=kills, seconds=seconds,
    )  # fmt: skip


def await_more(acknowledged: Callable[[], int], more: int, what: str = "", *, give_up: float = GIVE_UP) -> None:
    """Wait until so many more answers are acknowledged."""
    wanted, end = acknowledged() + more, time.monotonic() + give_up
    while acknowledged() < wanted:
        if time.monotonic() > end:
            raise TimeoutError(f"the work came to a stand at {acknowledged()} answers {what}")
        time.sleep(0.01)


def killing(kills: int, between: int, by: Sequence[signal.Signals] = (signal.SIGKILL,)) -> During:
    """Kill the servers in turn, by these signals in turn, each time after `between` more answers.

    Work must go on after the last.
    """

    def during(servers: list[Server], acknowledged: Callable[[], int]) -> None:
        for number in range(kills + 1):
            await_more(acknowledged, between, f"after {number} kills")
            if number < kills:
                servers[number % len(servers)].kill(by[number % len(by)])
                servers[number % len(servers)].start()

    return during


def waiting(seconds: float) -> During:
    """Let them work."""

    def during(_servers: list[Server], _acknowledged: Callable[[], int]) -> None:
        time.sleep(seconds)

    return during


def processes() -> int:
    """How many processors there are, for the reader of the figures."""
    return os.cpu_count() or 1
