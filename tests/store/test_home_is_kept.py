"""No command removes a home: signals while a server runs, failures at every step, and several processes at once."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PIL import Image

import endoxa
from endoxa.errors import EndoxaError
from endoxa.store import database
from endoxa.store.home import staging
from endoxa.verbs import decide, search, study

PACKAGE = Path(endoxa.__file__).parent
WATCHED = ("store/home", "store/making", "store/database", "verbs/study", "verbs/decide", "verbs/search", "io/pictures",
           "web/searches/search_hosting", "web/serving")  # fmt: skip
# Under nohup, which the tests may be, a process would not hear SIGHUP.
LISTENING = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from endoxa.cli import main; main()"
MAIN = [sys.executable, "-c", "from endoxa.cli import main; main()"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    items = [f"p{number}" for number in range(6)]
    (folder / "photos").mkdir()
    for number, item in enumerate(items):
        Image.effect_mandelbrot((48, 48), (-2, -1.5, 1, 1.5), 20 + 5 * number).save(folder / "photos" / f"{item}.png")
    search.search(folder / "photos", workers=1)  # the features are there
    for name, order in (("a", items), ("b", items[::-1])):
        lines = [f"q{q} Q0 {item} {at} {-at} {name}\n" for q in range(3) for at, item in enumerate(order)]
        (folder / f"{name}.run").write_text("".join(lines))
    return folder


def make_study(parts: Path, home: Path, name: str = "mine") -> None:
    study.new(name, screen="yes-no", items=parts / "photos", runs=[parts / "a.run"], home=home)


def make_decide(parts: Path, home: Path) -> None:
    decide.prepare([parts / "a.run", parts / "b.run"], items=parts / "photos", measures="P@3", home=home)


def serve_search(parts: Path, home: Path) -> None:
    search.serve(parts / "photos", port=0, home=home, started=lambda _address, _link: None)


COMMANDS: dict[str, Callable[[Path, Path], None]] = {
    "study": make_study, "decide": make_decide, "search": serve_search
}  # fmt: skip


class Stop(BaseException):
    """What a signal or a bug may raise anywhere."""


@contextmanager
def calls(seen: Callable[[str], None]) -> Iterator[None]:
    """Report the name of each function of the watched modules when it is called."""
    names = {str(PACKAGE / f"{name}.py"): name for name in WATCHED}

    def called(frame: FrameType, event: str, _argument: Any) -> None:
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # not the body of a class or module
        if event == "call" and function and frame.f_code.co_filename in names:
            seen(f"{names[frame.f_code.co_filename]}:{frame.f_code.co_qualname}")

    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_failure_at_any_step_removes_nothing_of_others(
    parts: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY", 0.05)  # a step inside a transaction keeps the other process from writing
    steps: list[str] = []

    def note(step: str) -> None:
        steps.append(step)
        if step == "web/serving:run":
            raise Stop

    with calls(note):
        try:
            COMMANDS[command](parts, tmp_path / "first" / "x" / "y")
        except Stop:
            assert command == "search"
    distinct = sorted(set(steps))
    assert len(distinct) > 10 and {"search": "web/serving:run"}.get(command, "store/making:enter") in distinct
    beside = []
    for number, step in enumerate(distinct):
        parent = tmp_path / str(number)
        home = parent / "x" / "y"

        def interrupt(name: str, step: str = step, parent: Path = parent, home: Path = home) -> None:
            if name == step:
                sys.setprofile(None)
                (parent / "notes").mkdir(parents=True, exist_ok=True)
                (parent / "notes" / "day.txt").write_text("somebody's work")
                with suppress(EndoxaError):
                    make_study(parts, home, "theirs")  # another process meanwhile
                    beside.append(step)
                raise Stop

        with calls(interrupt), pytest.raises(Stop):
            COMMANDS[command](parts, home)
        assert (parent / "notes" / "day.txt").read_text() == "somebody's work", step
        assert not list(home.glob(".new-*")), step
        if step in beside:
            assert "theirs" in study.studies(home=home)["study"].to_list(), step
            assert list((home / "files").iterdir()), f"{step}: the pictures of the other study are gone"
    assert len(beside) > len(distinct) / 2


@pytest.mark.parametrize(
    ("command", "sent"),
    [("search", signal.SIGINT), ("search", signal.SIGTERM), ("search", signal.SIGHUP), ("decide", signal.SIGINT)],
)  # the soak has all
def test_a_signal_to_a_server_removes_nothing(parts: Path, tmp_path: Path, command: str, sent: signal.Signals) -> None:
    home = tmp_path / "par" / "x" / "y"
    words = {
        "search": ["search", str(parts / "photos"), "--no-browser"],
        "decide": ["decide", str(parts / "a.run"), str(parts / "b.run"), "P@3", "--no-browser"],
    }[command]
    server = subprocess.Popen(
        [sys.executable, "-c", LISTENING, *words, "--port", "0", "--home", str(home)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={**os.environ, "ENDOXA_DB": "", "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, "")
        link = next(found for line in lines if (found := re.search(r"http://\S+/join/\S+", line)))
        with urllib.request.urlopen(link[0]) as response:
            assert response.status == 200
        (tmp_path / "par" / "notes.txt").write_text("somebody's work")
        make_study(parts, home)
        server.send_signal(sent)
        server.wait(30)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()  # type: ignore[union-attr]
    assert (tmp_path / "par" / "notes.txt").read_text() == "somebody's work"
    assert "mine" in study.studies(home=home)["study"].to_list()
    assert (home / "key").exists()
    if command == "search":
        assert search.searches(home=home) is not None


def test_of_several_processes_on_a_new_home_none_removes_what_another_made(parts: Path, tmp_path: Path) -> None:
    home = tmp_path / "par" / "home"
    (tmp_path / "bad.run").write_text("q0 Q0 nothing 1 1 a\n")
    runs = [parts / "a.run", tmp_path / "bad.run", parts / "b.run", tmp_path / "bad.run"]
    processes = [
        subprocess.Popen(
            [*MAIN, "study", "new", f"s{at}", "--screen", "yes-no", "--items", str(parts / "photos"), "--run", str(run),
             "--home", str(home)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for at, run in enumerate(runs)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 1, 0, 1], outputs
    assert sorted(study.studies(home=home)["study"].to_list()) == ["s0", "s2"]


@pytest.mark.parametrize("command", ["study", "decide"])
def test_a_first_call_with_wrong_input_leaves_no_folder(parts: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "one.png").write_bytes(b"not a picture")
    (tmp_path / "bad" / "two.txt").write_text("a text")
    home = tmp_path / "par" / "home"
    with pytest.raises(EndoxaError, match="cannot be shown"):
        if command == "study":
            study.new("x", screen="yes-no", items=tmp_path / "bad", runs=[parts / "a.run"], home=home)
        else:
            decide.prepare([parts / "a.run", parts / "b.run"], items=tmp_path / "bad", home=home)
    assert not (tmp_path / "par").exists()


def test_labels_that_cannot_be_read_leave_no_study_behind(parts: Path, tmp_path: Path) -> None:
    runs, home = [parts / "a.run", parts / "b.run"], tmp_path / "home"
    with pytest.raises(EndoxaError):
        decide.prepare(runs, labels=[tmp_path / "none.csv"], home=home)
    assert not home.exists()


def test_a_port_that_is_taken_leaves_no_home(parts: Path, tmp_path: Path) -> None:
    from endoxa.web.serving import listen

    with listen("127.0.0.1", 0) as taken, pytest.raises(EndoxaError, match="choose another port"):
        search.serve(
            parts / "photos", port=taken.getsockname()[1], home=tmp_path / "home", started=lambda _address, _link: None
        )
    assert not (tmp_path / "home").exists()


def test_staging_removes_only_what_is_empty(tmp_path: Path) -> None:
    with staging(tmp_path / "a" / "b") as part:
        part.mkdir()
        (part / "one.jpg").write_bytes(b"")
        (tmp_path / "a" / "theirs").write_text("kept")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["theirs"]
