"""Connections to the database: one short transaction per answer, on the disk before it is acknowledged."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import ArgumentError, DatabaseError, IntegrityError, NoSuchModuleError

from endoxa.errors import FileError, InstallError, TextError
from endoxa.frozen import dataclass
from endoxa.store.schema import metadata

LOCK = 0x656E646F7861  # the advisory lock of a migration
BUSY = 30.0  # seconds that a write waits for another process's write


@dataclass(frozen=True)
class Store:
    """The database. `reading` gives a snapshot, `writing` a transaction that is on the disk when it ends.

    SQLite allows one writer at a time. Within a process, writers queue at a lock, which is fairer and faster than the
    polling of SQLite; between processes, BEGIN IMMEDIATE and a busy timeout serve the same purpose.
    """

    engine: Engine
    turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_sqlite(self) -> bool:
        """Whether only one writer at a time is possible."""
        return self.engine.dialect.name == "sqlite"

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for reading; all that it reads belongs to the moment of its first statement."""
        if self.is_sqlite:
            return self.engine.connect()
        return self.engine.connect().execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[Connection]:
        """A transaction; when the block ends without an error, its changes are on the disk.

        With lasting=False, SQLite does not wait for the disk. The changes survive the end of this process, and the
        next lasting write includes them; they are lost only if the machine fails before that. This is meant for slots
        that are given to judges. PostgreSQL always waits, because the end of the database process would lose the
        changes, and the answers to these slots would be refused.
        """
        if not self.is_sqlite:
            with self.engine.begin() as connection:
                yield connection
            return
        options = {"write": True, "lasting": lasting}
        with self.turn, self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_store(url: str) -> Store:
    """The store at a URL (`sqlite:///studies.db`, `postgresql://user@host/name`), with up-to-date tables."""
    from alembic.util import CommandError

    store = Store(connect(url))
    try:
        migrate(store.engine)
        with store.reading() as connection:
            connection.execute(sa.text("select count(*) from studies"))
    except CommandError:
        store.close()
        problem = "the database was created by a later version of endoxa"
        raise FileError(_shown(url), problem, "update endoxa") from None
    except DatabaseError as error:
        store.close()
        remedy = "check the directory and its permissions" if store.is_sqlite else "check address, name and password"
        raise problem_of(error, _shown(url), "opened", remedy) from None
    return store


@contextmanager
def blaming(store: Store) -> Iterator[None]:
    """Turn a failure of the database into an error of one line; contradictions between rows stay what they are."""
    try:
        yield
    except IntegrityError:
        raise
    except DatabaseError as error:
        raise problem_of(error, _shown(str(store.engine.url)), "used") from None


REMEDIES = {
    "full": "free some space; every acknowledged answer is kept",
    "readonly": "make the file and its folder writable",
    "read-only": "make the database writable",
    "malformed": "restore a backup, or save what can be read: sqlite3 studies.db .recover",
    "not a database": "restore a backup, or use another --home",
    "locked": "another program is writing; end it, or try again",
    "I/O": "check the disk",
}


def problem_of(error: DatabaseError, label: str, act: str, otherwise: str = "check the disk") -> FileError:
    """The error of one line for a database that cannot be opened or used."""
    reason = (str(error.orig).strip() or type(error.orig).__name__).splitlines()[0]
    remedy = next((remedy for words, remedy in REMEDIES.items() if words in reason), otherwise)
    return FileError(label, f"the database cannot be {act}: {reason}", remedy)


def told(error: Exception, store: Store) -> str:
    """One line about any error, for the log of a server: the problem of the database with its remedy, if it is one."""
    if isinstance(error, DatabaseError):
        return str(problem_of(error, _shown(str(store.engine.url)), "used"))
    return str(error).strip().split("\n", 1)[0]


def connect(url: str) -> Engine:
    """An engine with durable settings."""
    try:
        address = sa.make_url(url)
        if address.drivername in {"postgresql", "postgres"}:
            address = address.set(drivername="postgresql+psycopg")
        if address.drivername == "sqlite":
            engine = sa.create_engine(
                address, connect_args={"timeout": BUSY, "check_same_thread": False}, pool_size=20, max_overflow=30
            )
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        if address.get_backend_name() != "postgresql":
            raise TextError(f"studies are stored in SQLite or PostgreSQL, not in {address.get_backend_name()!r}")
        return sa.create_engine(address, pool_size=20, max_overflow=30, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError):
        raise TextError(
            f"{_shown(url)!r} is not the address of a database",
            remedy="expected sqlite:///studies.db or postgresql://user@host/name",
        ) from None
    except ModuleNotFoundError as error:
        raise InstallError(f"{error.name} is not installed", remedy="pip install 'endoxa[postgres]'") from None


def migrate(engine: Engine) -> None:
    """Bring the tables up to date; nothing is locked where they are."""
    from alembic import command

    if _is_current(engine):
        return
    with engine.execution_options(write=True).begin() as connection:
        if engine.dialect.name == "postgresql":  # two processes that start at once must not both create the tables
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
        command.upgrade(alembic_config(connection), "head")


def _is_current(engine: Engine) -> bool:
    """Whether the tables are those of this version. Commands beside a busy server read this without waiting for it."""
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    with engine.connect() as connection:
        known = ScriptDirectory.from_config(alembic_config(connection)).get_heads()
        return sorted(MigrationContext.configure(connection).get_current_heads()) == sorted(known)


def alembic_config(connection: Connection) -> Any:
    """The configuration of Alembic for an open connection."""
    from alembic.config import Config

    config = Config(stdout=sys.stdout)  # by default that of the moment at which Alembic was imported
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["metadata"] = metadata
    return config


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin explicitly, not implicitly by the driver
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={int(BUSY * 1000)}", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    """Switch to a write-ahead log. SQLite does not wait for others here, though they switch it at the same time."""
    until = time.monotonic() + BUSY
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # A plain BEGIN fails at its first write if another transaction wrote in between; IMMEDIATE waits instead.
    options = connection.get_execution_options()
    if options.get("write"):
        connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get('lasting', True) else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("write") else "BEGIN")


def _shown(url: str) -> str:
    """The address without its password."""
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "the given address"
