"""What befalls a server while judges answer: full and read-only disks, a clock that jumps, exports, half requests."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import polars as pl
from soak.crowd import GIVE_UP, STUDY, During, Server, await_more

from endoxa.io.bundles import read_bundle

HOUR = 3600.0
JUMPS = (48 * HOUR, -48 * HOUR, -0.5 * HOUR, 25 * HOUR, 0.0)  # a slot is held for a day
HALVES = (
    b"GET / HTTP/1.1\r\nHost: x\r\nX-Hal",
    b"POST /api/studies/crowded/answers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"key":',
)
Step = Callable[[Server], None]


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[bool]:
    """A disk of so many megabytes at the folder; False where we may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    call = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(call, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(server: Server) -> None:
    """Leave no room on the disk of the studies."""
    with suppress(OSError), (server.folder / "filler").open("wb", buffering=0) as file:
        for size in (1 << 16, 1):  # to the last byte
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


def free(server: Server) -> None:
    """Make room again."""
    (server.folder / "filler").unlink()


def limit(server: Server) -> None:
    """No file of the server may grow beyond what SQLite has written; for whoever may not mount a disk."""
    _limit(server, max(path.stat().st_size for path in server.folder.glob("studies.db-wal")))


def unlimit(server: Server) -> None:
    """The server may write again."""
    _limit(server, None)


def _limit(server: Server, size: int | None) -> None:
    assert server.process is not None
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def filling(times: int, between: int, *, spoil: Step = fill, mend: Step = free) -> During:
    """The disk is full for as long as no answer comes through; then there is room again, and work goes on."""

    def during(servers: list[Server], acknowledged: Callable[[], int]) -> None:
        for _ in range(times):
            await_more(acknowledged, between)
            spoil(servers[0])
            _await_rest(acknowledged)
            assert servers[0].process is not None and servers[0].process.poll() is None, "the server ended"
            mend(servers[0])
        await_more(acknowledged, between, "after the disk was full")

    return during


def _await_rest(acknowledged: Callable[[], int], seconds: float = 0.5) -> None:
    """Wait until no answer was acknowledged for so long."""
    last, since, end = acknowledged(), time.monotonic(), time.monotonic() + GIVE_UP
    while time.monotonic() - since < seconds:
        if time.monotonic() > end:
            raise TimeoutError("answers are still acknowledged")
        time.sleep(0.02)
        if acknowledged() != last:
            last, since = acknowledged(), time.monotonic()


def write_protecting(between: int) -> During:
    """The disk comes back read-only after a restart: every command says so in one line; then it is writable again."""

    def during(servers: list[Server], acknowledged: Callable[[], int]) -> None:
        (server,) = servers
        await_more(acknowledged, between)
        server.kill()
        remount(server.folder, "ro")
        for words in (("serve", "--port", str(server.port)), ("status", STUDY), ("invite", STUDY, "--count", "1")):
            done = server.command(*words)
            said = [line for line in done.stderr.splitlines() if line]
            assert done.returncode == 0 or len(said) == 1, f"{words}: {done.stderr}"
            assert "Traceback" not in done.stderr, done.stderr
        remount(server.folder, "rw")
        server.start()
        await_more(acknowledged, between, "after the disk was read-only")

    return during


def remount(folder: Path, mode: str) -> None:
    """Make the disk at the folder read-only (ro) or writable (rw)."""
    subprocess.run(["mount", "-o", f"remount,{mode}", str(folder)], check=True)


def jumping(clock: Path, between: int, jumps: tuple[float, ...] = JUMPS) -> During:
    """The clock of the server jumps by days, forwards and back."""
    set_clock(clock, 0.0)

    def during(_: list[Server], acknowledged: Callable[[], int]) -> None:
        for seconds in jumps:
            await_more(acknowledged, between)
            set_clock(clock, seconds)
        await_more(acknowledged, between, "after the clock jumped")

    return during


def set_clock(clock: Path, seconds: float) -> None:
    """So many seconds fast, from one moment to the next."""
    part = clock.with_suffix(".part")
    part.write_text(str(seconds))
    part.replace(clock)


def halving(count: int, times: int, between: int) -> During:
    """Half-sent requests lie on the server while judges answer: half of them half a header, half of them half a body.

    As many new ones come each time, as from somebody who wants to keep the judges out.
    """

    def during(servers: list[Server], acknowledged: Callable[[], int]) -> None:
        for _ in range(times):
            with ExitStack() as stack:
                for number in range(count):
                    half = stack.enter_context(socket.create_connection(("127.0.0.1", servers[0].port), GIVE_UP))
                    with suppress(ConnectionError):  # the server gave its place to another
                        half.sendall(HALVES[number % len(HALVES)])
                await_more(acknowledged, between, "while half-sent requests lay on the server")

    return during


def exporting(times: int, between: int, judges: int) -> During:
    """The organiser exports the answers and makes bundles meanwhile; each holds what was acknowledged when it began."""

    def during(servers: list[Server], acknowledged: Callable[[], int]) -> None:
        server = servers[0]
        for number in range(times):
            await_more(acknowledged, between)
            table, bundle = (server.folder / f"{number}{suffix}" for suffix in (".parquet", ".zip"))
            before = acknowledged()
            _succeed(server, "export", STUDY, "--to", str(table))
            between_them = acknowledged()
            _succeed(server, "bundle", STUDY, "--to", str(bundle))
            rows = pl.read_parquet(table)
            assert not rows.select("source", "item").is_duplicated().any(), "an answer is exported twice"
            assert before <= rows.height <= between_them + judges, (before, rows.height, between_them)
            opinions = read_bundle(bundle).opinions
            assert opinions is not None and opinions.frame.height >= between_them, "the bundle lacks answers"

    return during


def _succeed(server: Server, *words: str) -> None:
    done = server.command(*words)
    assert done.returncode == 0, f"{words}: {done.stderr}"
