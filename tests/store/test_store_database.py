"""Databases that do not open, homes that are none, and two processes that begin at once."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from endoxa.errors import EndoxaError, FileError, TextError
from endoxa.store import catalogue
from endoxa.store.database import connect, open_store
from endoxa.store.home import open_home


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://localhost/x", "SQLite or PostgreSQL, not in 'mysql'"),
        ("no url at all", "not the address of a database"),
        ("", "not the address of a database"),
        ("nosuch://x", "SQLite or PostgreSQL, not in 'nosuch'"),
    ],
)
def test_addresses_that_are_none(url, message):
    with pytest.raises(TextError, match=message):
        connect(url)


def test_a_server_that_does_not_answer_and_no_password_in_the_message():
    with pytest.raises(FileError, match="cannot be opened") as wrong:
        open_store("postgresql://joe:secret-word@127.0.0.1:1/nowhere")
    assert "secret-word" not in str(wrong.value)
    assert "127.0.0.1" in str(wrong.value)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="no studies here"), open_home(tmp_path / "none"):
        pass
    with pytest.raises(FileError, match="cannot be opened"):
        open_store(f"sqlite:///{tmp_path / 'none' / 'studies.db'}")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError), open_home(tmp_path / "file", create=True):
        pass


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "studies.db").write_bytes(b"this is no database at all, but a text of some length" * 40)
    with pytest.raises(FileError, match=r"studies\.db.*cannot be opened"), open_home(tmp_path):
        pass
    (tmp_path / "studies.db").write_bytes(b"")  # as another process leaves it that begins at the same time
    with open_home(tmp_path) as home, home.store.reading() as connection:
        assert catalogue.listed(connection) == []


def test_a_database_that_lost_its_content(tmp_path):
    with open_home(tmp_path, create=True):
        pass
    (tmp_path / "studies.db").write_bytes(b"")
    with pytest.raises(FileError, match=r"studies\.db: the database is empty \(0 bytes\); restore a backup"):
        open_home(tmp_path).__enter__()
    assert not (tmp_path / "studies.db").stat().st_size


def test_the_database_is_private(tmp_path):
    folder = tmp_path / "home"
    with open_home(folder, create=True) as home, home.store.writing() as connection:
        connection.execute(sa.text("create table other (x)"))
        modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes == dict.fromkeys(("studies.db", "studies.db-wal", "studies.db-shm", "key"), 0o600) | {"home": 0o700}
    (folder / "studies.db").chmod(0o644)
    with open_home(folder):
        assert (folder / "studies.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("pragma", "message"),
    [
        ("max_page_count=1", "cannot be used: database or disk is full; free some space"),
        ("query_only=1", "cannot be used: attempt to write a readonly database; make the file and its folder writable"),
    ],
)
def test_a_disk_that_is_full_or_read_only(tmp_path, pragma, message):
    with open_home(tmp_path, create=True), pytest.raises(FileError, match=message), open_home(tmp_path) as home:
        home.store.engine.dispose()
        event.listen(home.store.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA {pragma}"))
        with home.store.writing() as connection:
            connection.execute(sa.text("create table other (x)"))
            connection.execute(sa.text("insert into other values (zeroblob(100000))"))


def test_a_damaged_page(tmp_path):
    with open_home(tmp_path, create=True):
        pass
    path = tmp_path / "studies.db"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    said = pytest.raises(FileError, match=r"studies\.db: the database cannot be .* malformed; restore a backup")
    with said, open_home(tmp_path) as home, home.store.reading() as connection:
        catalogue.listed(connection)


def test_a_database_of_a_later_version(database, tmp_path):
    store = open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")
    with store.writing() as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    store.close()
    with pytest.raises(EndoxaError, match="later version"):
        open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")


def test_the_key_is_kept_and_private(tmp_path):
    with open_home(tmp_path, create=True) as home:
        key = home.key
    path = tmp_path / "key"
    assert path.stat().st_mode & 0o777 == 0o600
    with open_home(tmp_path) as home:
        assert home.key == key
    path.write_text("short")
    with pytest.raises(FileError, match="not a key"), open_home(tmp_path):
        pass


BEGIN = """
import sys
from pathlib import Path
from endoxa.store.home import open_home
import alembic.command, psycopg
print("ready", flush=True)
input()
with open_home(Path(sys.argv[1]), sys.argv[2] or None, create=True) as home:
    print(home.key)
"""


def test_processes_that_begin_at_once(database, tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", BEGIN, str(tmp_path / "home"), database or ""], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    assert [one.stdout.readline() for one in started] == ["ready\n"] * 3
    for one in started:
        one.stdin.write("go\n")
        one.stdin.flush()
    found = [one.communicate(timeout=60) for one in started]
    assert [one.returncode for one in started] == [0, 0, 0], found
    assert len({out for out, _ in found}) == 1, "one key signs the links, whoever made it"


def test_sqlite_is_set_to_lose_nothing(tmp_path):
    with open_home(tmp_path, create=True) as home, home.store.reading() as connection:
        pragmas = {name: connection.scalar(sa.text(f"pragma {name}")) for name in ("journal_mode", "synchronous")}
        assert pragmas == {"journal_mode": "wal", "synchronous": 2}
        assert connection.scalar(sa.text("pragma foreign_keys")) == 1


@pytest.mark.parametrize("lasting", [True, False])
def test_postgres_always_waits_for_the_disk(postgres_url, lasting):
    """Were slots given out without, a crash of its server would take them back, and answers to them be refused."""
    store = open_store(postgres_url)
    with store.writing(lasting=lasting) as connection:
        assert connection.scalar(sa.text("show synchronous_commit")) == "on"
    store.close()


def test_a_transaction_that_fails_leaves_nothing(database, tmp_path):
    store = open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")
    with pytest.raises(ZeroDivisionError), store.writing() as connection:
        catalogue.note(connection, None, "never", now=0.0)
        1 / 0  # noqa: B018
    with store.reading() as connection:
        assert connection.scalar(sa.text("select count(*) from events")) == 0
    with store.writing() as connection:  # and the next one is let in
        catalogue.note(connection, None, "after", now=0.0)
    store.close()


def test_another_process_that_writes_is_waited_for(tmp_path):
    """`endoxa study invite` beside a running server."""
    import threading

    with open_home(tmp_path, create=True) as home:
        other = sqlite3.connect(tmp_path / "studies.db", isolation_level=None, check_same_thread=False)
        other.execute("begin immediate")
        timer = threading.Timer(0.5, lambda: other.execute("commit"))
        timer.start()
        with home.store.writing() as connection:
            catalogue.note(connection, None, "waited", now=0.0)
        timer.join()
        other.close()
        with home.store.reading() as connection:
            assert connection.scalar(sa.text("select count(*) from events")) == 1


@pytest.mark.parametrize("statement", ["update answers set grade = 1", "delete from answers"])
def test_answers_cannot_be_changed_in_the_database(place, statement):
    from store_samples import Judge, rows_of, study_of

    study = study_of(place, main=1)
    ana = Judge(place, study)
    ana.answer(ana.tasks()[0], 4.0)
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), place.store.writing() as connection:
        connection.execute(sa.text(statement))
    assert rows_of(place, study)["grade"].to_list() == [4.0]


def test_reading_is_a_snapshot(place):
    """What several statements read belongs to one moment, on both databases."""
    from store_samples import study_of

    with place.store.reading() as connection:
        before = len(catalogue.listed(connection))
        study_of(place, main=1)
        assert len(catalogue.listed(connection)) == before
    with place.store.reading() as connection:
        assert len(catalogue.listed(connection)) == before + 1


def test_a_key_is_whole_from_the_beginning(tmp_path):
    """Whoever begins at the same time reads the one key, never a part of it."""
    begin = threading.Barrier(3)

    def key(_):
        begin.wait()
        with open_home(tmp_path / "home", create=True) as home:
            return home.key

    with ThreadPoolExecutor(3) as pool:
        found = set(pool.map(key, range(3)))
    assert found == {(tmp_path / "home" / "key").read_text().strip()}
    assert not list((tmp_path / "home").glob(".key*"))


def test_a_command_opens_the_database_while_another_program_writes(tmp_path, monkeypatch):
    """The tables are current, so nothing needs the lock: an export beside a busy server does not queue for it."""
    monkeypatch.setattr("endoxa.store.database.BUSY", 0.2)
    with (
        open_home(tmp_path, create=True) as home,
        home.store.writing(),  # the lock is held until the end
        open_home(tmp_path) as second,
        second.store.reading() as connection,
    ):
        assert catalogue.listed(connection) == []
