"""Pairs graded by a machine judge: in parallel, each kept as soon as it is known, and resumed after an interruption.

The file has one JSON object on each line: judge, query, item, repeat, grade (null: the reply holds none), scale, reply,
model, prompt (its digest), parameters, tokens_in, tokens_out, at, key. Lines are only added. `key` is a digest of
everything that the grading depends on: a grading whose key is known is not asked again. A last line that was cut by a
kill is dropped, and asked again.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from endoxa.errors import EndoxaError, FileError
from endoxa.frozen import dataclass
from endoxa.io import faults
from endoxa.io.chat import ChatError, RejectedError
from endoxa.io.graders import Grader, Reply, Shown
from endoxa.io.missing_files import unreadable
from endoxa.io.write import unwritten
from endoxa.later import pl
from endoxa.progress import Progress
from endoxa.scale.processes import finished
from endoxa.tables import Gradings

FORMAT = 1
SETTINGS = ("model", "prompt", "scale", "parameters")
COLUMNS = (
    "judge", "query", "item", "repeat", "grade", "scale", "reply", "model", "prompt", "parameters", "tokens_in",
    "tokens_out", "at", "key",
)  # fmt: skip
TEXTS = ("judge", "query", "item", "reply", "at", "key", *SETTINGS)
BEGUN = b'{"judge": '  # how every line begins
DOWN = 3  # gradings in a row that no try could save: the server is down, and nothing further is asked
HOPELESS = 30  # in a row that failed by themselves, as with texts that are too long
CHARACTERS = 4  # of English to a token, about
Place = tuple[str, str, int]  # query, item, repeat


@dataclass(frozen=True)
class Asked:
    """One grading that is wanted."""

    place: Place
    query: Shown
    item: Shown
    key: str


@dataclass(frozen=True, eq=False)
class Judged:
    """What a machine judge said of pairs.

    gradings   the table, as `evaluate` and others take it
    replies    every reply with its grade, in the order of the pairs; `grade` is null where the reply holds none
    path       the file that keeps them
    cached     how many gradings the file held before
    failed     how many failed now, and `why` the last of them did; the same call tries them again
    left       how many were not asked, because only some were wanted
    ahead      tokens that these would send, about
    price      money for a million tokens that are read, and for a million that are written
    """

    gradings: Gradings
    replies: pl.DataFrame
    path: Path
    cached: int = 0
    failed: int = 0
    why: str = ""
    left: int = 0
    ahead: int = 0
    price: tuple[float, float] | None = None

    @cached_property
    def without(self) -> int:
        """How many replies hold no grade."""
        return self.replies["grade"].null_count()

    @cached_property
    def tokens(self) -> tuple[int, int] | None:
        """The tokens read and written for all replies; None if the judge counts none."""
        known = self.replies.select("tokens_in", "tokens_out")
        if known.null_count().sum_horizontal().item() == 2 * known.height:
            return None
        return int(known["tokens_in"].sum()), int(known["tokens_out"].sum())

    @property
    def cost(self) -> float | None:
        """The money for all replies, by `price`; None where price or tokens are unknown."""
        if self.price is None or self.tokens is None:
            return None
        return sum(count * price for count, price in zip(self.tokens, self.price, strict=True)) / 1e6


def grade_pairs(
    pairs: Sequence[tuple[str, str]], queries: Mapping[str, Shown], items: Mapping[str, Shown], grader: Grader,
    judge: str, path: Path, *, stopped: threading.Event, repeats: int = 1, workers: int = 1, most: int | None = None,
    price: tuple[float, float] | None = None, progress: Progress | None = None,
) -> Judged:  # fmt: skip
    """Grade every pair `repeats` times. What the file holds is not asked again; of the rest, at most `most` is asked.

    A grading that fails is left out and counted. After several failures in a row nothing further is asked.
    """
    wanted = list(_wanted(pairs, queries, items, grader, repeats))
    known = _known(path, judge, grader, wanted)
    lacking = [one for one in wanted if one.place not in known]
    now = lacking if most is None else lacking[:most]
    cached, watch = len(known), _Watch(stopped)
    for done, (place, row) in enumerate(_added(path, judge, grader, now, workers, watch), 1):
        if row is not None:
            known[place] = row
        if progress is not None:
            progress("grading", done, len(now))
    rows = [known[one.place] for one in wanted if one.place in known]
    later = lacking[len(now) :]
    ahead = sum(grader.length(one.query, one.item) for one in later) // CHARACTERS
    failed = len(now) - (len(rows) - cached)
    return Judged(_gradings(rows), _frame(rows), path, cached, failed, watch.why, len(later), ahead, price)


def _wanted(
    pairs: Iterable[tuple[str, str]], queries: Mapping[str, Shown], items: Mapping[str, Shown], grader: Grader,
    repeats: int,
) -> Iterator[Asked]:  # fmt: skip
    settings = [grader.settings[name] for name in SETTINGS]
    for query, item in pairs:
        shown = [*queries[query].digest, *items[item].digest]
        for repeat in range(1, repeats + 1):
            whole = json.dumps([FORMAT, *settings, *shown, repeat]).encode()
            yield Asked((query, item, repeat), queries[query], items[item], sha256(whole).hexdigest()[:32])


class _Watch:
    """Ends the work when a failure concerns all gradings, or when failures follow one another; knows the last one."""

    def __init__(self, stopped: threading.Event) -> None:
        self.stopped, self.lock, self.row, self.why = stopped, threading.Lock(), 0, ""

    def succeeded(self) -> None:
        with self.lock:
            self.row = 0

    def failed(self, error: EndoxaError) -> None:
        with self.lock:
            if self.stopped.is_set():  # why is known
                return
            self.row, self.why = self.row + 1, str(error)
            down = isinstance(error, ChatError) and not isinstance(error, RejectedError)
            if self.row >= (DOWN if down else HOPELESS) or (isinstance(error, ChatError) and error.final):
                self.stopped.set()


def _work(tasks: Sequence[Asked], grader: Grader, workers: int, watch: _Watch) -> Iterator[tuple[Asked, Reply | None]]:
    """Each task with its reply; None if it failed, or was not tried. What is under way is always waited for."""
    with ThreadPoolExecutor(workers) as pool:
        try:
            for number, future in finished(pool, partial(_tried, grader, watch), dict(enumerate(tasks)), 2 * workers):
                yield tasks[number], future.result()
        finally:  # after an interruption, what waits is not begun
            watch.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def _tried(grader: Grader, watch: _Watch, asked: Asked) -> Reply | None:
    if watch.stopped.is_set():
        return None
    try:
        reply = grader.grade(asked.query, asked.item, asked.place[2])
    except EndoxaError as error:
        watch.failed(error)
        return None
    watch.succeeded()
    return reply


# ---- the file -----------------------------------------------------------------------------------------


def _added(
    path: Path, judge: str, grader: Grader, tasks: Sequence[Asked], workers: int, watch: _Watch
) -> Iterator[tuple[Place, dict[str, Any] | None]]:
    """The row of each task, which the file has then; None if it failed."""
    if not tasks:
        return
    try:
        with path.open("ab") as file:
            _lock(file, path)
            for asked, reply in _work(tasks, grader, workers, watch):
                row = None if reply is None else _row(judge, grader, asked, reply)
                if row is not None:
                    file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
                    file.flush()
                yield asked.place, row
    except OSError as error:
        raise unwritten(path, error) from None


def _lock(file: BinaryIO, path: Path) -> None:
    """Refuse to write while another call does: it would ask for the same gradings. A kill unlocks the file."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileError(str(path), "another call is adding gradings to it", "wait until it has ended") from None


def _row(judge: str, grader: Grader, asked: Asked, reply: Reply) -> dict[str, Any]:
    query, item, repeat = asked.place
    settings = grader.settings
    row = {
        "judge": judge, "query": query, "item": item, "repeat": repeat, "grade": reply.grade,
        "scale": settings["scale"], "reply": reply.text, "model": settings["model"], "prompt": settings["prompt"],
        "parameters": settings["parameters"], "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out,
        "at": datetime.now(UTC).isoformat(timespec="seconds"), "key": asked.key,
    }  # fmt: skip
    return row if reply.probabilities is None else {**row, "probabilities": list(reply.probabilities)}


def _known(path: Path, judge: str, grader: Grader, wanted: Sequence[Asked]) -> dict[Place, dict[str, Any]]:
    """The gradings of a file that are wanted. A file that it filled in another way is refused."""
    keys = {one.place: one.key for one in wanted}
    known: dict[Place, dict[str, Any]] = {}
    for number, row in _lines(path):
        if row["judge"] != judge:
            continue
        for name in SETTINGS:
            if row[name] != grader.settings[name]:
                what = f"{judge} graded here with {name} {row[name]!r:.60}, not {grader.settings[name]!r:.60}"
                raise FileError(str(path), what, "give another file by --to, and the judge another --name", number)
        place = row["query"], row["item"], row["repeat"]
        if keys.get(place, row["key"]) != row["key"]:
            what = f"the text of query {place[0]!r:.60} or of item {place[1]!r:.60} has changed since it was graded"
            raise FileError(str(path), what, "remove the lines about it, or give another file by --to", number)
        if place in keys:
            known[place] = row
    return known


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of the file, with their lines. A last line that was cut is removed from the file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise unreadable(str(path), error) from None
    *lines, last = raw.split(b"\n")
    remedy = "remove the line, or give another file by --to"
    damaged = FileError(str(path), "the line is not a grading that endoxa judge wrote", remedy, len(lines) + 1)
    for number, line in enumerate(lines, 1):
        row = _parsed(line)
        if row is not None:
            yield number, row
        elif line.strip():
            raise FileError(str(path), damaged.problem, remedy, number)
    if not last:
        return
    row = _parsed(last)
    if row is None and not (last.startswith(BEGUN) or BEGUN.startswith(last)):
        raise damaged
    try:
        with path.open("r+b") as file:
            if row is None:
                file.truncate(len(raw) - len(last))
            else:
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
    except OSError as error:
        raise unwritten(path, error) from None
    if row is not None:
        yield len(lines) + 1, row


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The row of a line, if it is one."""
    try:
        row = json.loads(line)
        whole = isinstance(row["repeat"], int) and all(isinstance(row[name], str) for name in TEXTS)
        numbers = (row["grade"], row["tokens_in"], row["tokens_out"])
        return row if whole and all(one is None or isinstance(one, int | float) for one in numbers) else None
    except (*faults.JSON, *faults.CONTENT):
        return None


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    kinds: dict[str, Any] = {
        "repeat": pl.Int64, "grade": pl.Float64, "tokens_in": pl.Int64, "tokens_out": pl.Int64,
        "probabilities": pl.List(pl.Float64),
    }  # fmt: skip
    names = (*COLUMNS, *(["probabilities"] if any("probabilities" in row for row in rows) else []))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema={name: kinds.get(name, pl.String) for name in names})


def _gradings(rows: Sequence[Mapping[str, Any]]) -> Gradings:
    frame = _frame(rows)
    return Gradings.of(frame.select("judge", "query", "item", "grade", "scale"))
