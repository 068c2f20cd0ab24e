"""Connections to a real server process: time limits, limits of their number, and no descriptors left."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from soak.crowd import Server, hold, prepare, serving
from soak.troubles import halving

from endoxa.errors import TextError
from endoxa.web.connections import OPEN_FILES, RESERVE, VARIABLE, Limits, limits_here

# /wait is answered once /go was asked for; /long is a response of 64 MB; anything else is answered with what was sent.
APPLICATION = """
import asyncio, json, sys
from endoxa.web.connections import Limits
from endoxa.web.serving import listen, run

gone = asyncio.Event()

async def app(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    if scope["path"] == "/wait":
        await gone.wait()
    if scope["path"] == "/go":
        gone.set()
    if scope["path"] == "/long":
        body = b"x" * (64 << 20)
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})

listening = listen("127.0.0.1", 0)
print(listening.getsockname()[1], flush=True)
run(app, listening, Limits(**json.loads(sys.argv[1])) if sys.argv[1:] else None)
"""
SECONDS = 60  # that a test waits for what must happen at once
HALF = b"GET /half HTTP/1.1\r\nHost: x\r\nX-Hal"
Peer = Callable[..., socket.socket]


@contextmanager
def served(**limits: float) -> Iterator[Peer]:
    """A server with these limits, and how to connect to it from an address of this machine."""
    command = [sys.executable, "-c", APPLICATION, json.dumps({**fields_of(Limits()), **limits})]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        port = int(process.stdout.readline())

        def peer(sends: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
            made = socket.create_connection(("127.0.0.1", port), SECONDS, (address, 0))
            stack.callback(made.close)
            made.sendall(sends)
            return made

        yield peer


def fields_of(limits: Limits) -> dict[str, float]:
    return {name: getattr(limits, name) for name in ("header", "body", "rate", "response", "per_address", "whole")}


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def post(sends: bytes, length: int) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length + sends


def is_closed(peer: socket.socket) -> bool:
    """Wait until the server closes the connection."""
    try:
        return peer.recv(1) == b""
    except ConnectionError:
        return True


def is_open(peer: socket.socket) -> bool:
    """Whether the server has sent nothing and not closed the connection either."""
    peer.setblocking(False)
    try:
        peer.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        peer.settimeout(SECONDS)
    return False


def answer(peer: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        more = peer.recv(4096)
        assert more, f"closed after {found!r}"
        found += more
    return found.partition(b" ")[2][:3]


HALVES = {
    "nothing": b"",
    "half a header": HALF,
    "a second header": get("/first") + HALF,
    "half a body": post(b"x" * 5, 10),
    "a body that nobody reads": b"POST /wrong HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
}


@pytest.mark.parametrize("name", HALVES)
def test_half_a_request_is_not_awaited_for_ever(name: str) -> None:
    with served(header=0.3, body=0.3) as peer:
        half = peer(HALVES[name])
        if HALVES[name].startswith(get("/first")):
            assert answer(half) == b"200"
        assert is_closed(half)
        assert answer(peer(get("/"))) == b"200"


@pytest.mark.parametrize(("start", "more"), [(HALF, b"f"), (post(b"", 1000), b"x")])
def test_a_byte_now_and_then_does_not_help(start: bytes, more: bytes) -> None:
    with served(header=0.5, body=0.5) as peer:
        slow = peer(start)
        with pytest.raises(OSError):  # the server closed it: the system says so at the second byte from then
            for _ in range(500):
                slow.sendall(more)
                time.sleep(0.05)


def test_a_long_body_has_the_time_that_it_takes() -> None:
    with served(body=1.0, rate=100) as peer:
        slow = peer(post(b"", 5000))
        for _ in range(5):
            time.sleep(0.4)
            slow.sendall(b"x" * 1000)
        assert answer(slow) == b"200"


def test_the_application_may_take_its_time() -> None:
    with served(header=0.2, body=0.2, response=0.2) as peer:
        patient = peer(get("/wait"))
        time.sleep(1.0)
        assert is_open(patient)
        assert answer(peer(get("/go"))) == b"200"
        assert answer(patient) == b"200"


def test_a_response_that_nobody_reads_is_dropped() -> None:
    with served(response=0.3, rate=1) as peer:
        deaf = peer(get("/long"))
        time.sleep(1.5)
        found = 0
        try:
            while more := deaf.recv(1 << 20):
                found += len(more)
        except ConnectionError:
            pass
        assert found < 64 << 20


def test_an_address_has_its_share_and_the_newest_count() -> None:
    with served(per_address=5) as peer:
        other = peer()
        halves = [peer(HALF, "127.0.0.2") for _ in range(8)]
        assert all(is_closed(one) for one in halves[:3])
        for one in halves[3:]:
            one.sendall(b"f: 1\r\n\r\n")
        assert [answer(one) for one in halves[3:]] == [b"200"] * 5
        other.sendall(get("/"))
        assert answer(other) == b"200"


def test_a_request_that_has_arrived_is_never_cut_off() -> None:
    with served(per_address=3) as peer:
        working = [peer(get("/wait"), "127.0.0.2") for _ in range(3)]
        assert answer(peer(get("/"))) == b"200"  # by now they have arrived
        assert answer(peer(get("/"), "127.0.0.2")) == b"503"
        assert answer(peer(get("/go"))) == b"200"
        assert [answer(one) for one in working] == [b"200"] * 3


def test_all_addresses_together_have_a_limit_and_the_largest_crowd_gives_way() -> None:
    with served(whole=6) as peer:
        others = [peer(HALF, f"127.0.0.{number}") for number in (3, 4)]
        halves = [peer(HALF, "127.0.0.2") for _ in range(8)]
        assert all(is_closed(one) for one in halves[:4])
        for one in [*others, *halves[4:]]:
            one.sendall(b"f: 1\r\n\r\n")
            assert answer(one) == b"200"


def test_no_descriptors_left_is_one_line_of_the_log_and_others_are_served(tmp_path: Path) -> None:
    prepare(tmp_path / "home", None, judges=1, tasks=6)
    server = Server(tmp_path / "home", None)
    with serving([server]), ExitStack() as stack:

        def peer(sends: bytes) -> socket.socket:
            made = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), SECONDS))
            made.sendall(sends)
            return made

        assert answer(peer(get("/"))) == b"200"  # it has counted its descriptors, and now gets fewer
        assert server.process is not None
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (64, hard))
        for _ in range(80):
            peer(HALF)
        assert answer(peer(get("/"))) == b"200"
    told = server.log()
    assert told.count("\n") == 1 and "raise the limit of open files" in told, told[:1000]


def test_half_sent_requests_while_judges_answer(tmp_path: Path) -> None:
    found = hold(tmp_path / "home", None, judges=3, tasks=300, during=halving(150, 2, 20))
    assert found.is_whole and found.answers >= 40, found
    assert found.errors == 0, "a judge was not served"
    assert (tmp_path / "home.log").stat().st_size < 1000


def test_the_limit_comes_from_the_descriptors_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert limits_here().whole <= OPEN_FILES - RESERVE
    lowered = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
    shown = "from endoxa.web.connections import limits_here; print(limits_here().whole)"
    assert subprocess.run([sys.executable, "-c", lowered + shown], capture_output=True, check=True).stdout == b"50\n"
    monkeypatch.setenv(VARIABLE, "1000")
    assert limits_here().per_address == 1000
    for wrong in ("0", "many", "-5", "1" * 5000, "²"):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(TextError, match=VARIABLE):
            limits_here()
