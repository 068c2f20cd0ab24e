"""The home of studies: a folder with the database, the pictures and the key that signs links."""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from endoxa.errors import FileError
from endoxa.frozen import dataclass
from endoxa.io.read import is_there
from endoxa.store.database import Store, blaming, open_store

if TYPE_CHECKING:
    from endoxa.store.sessions import Session

FOLDER = "endoxa-studies"
DATABASE = "studies.db"


@dataclass(frozen=True)
class Home:
    """The folder, the store, the key, and the sessions of studies that decide between systems."""

    folder: Path
    store: Store
    key: str
    sessions: dict[int, Session] = field(default_factory=dict, compare=False, repr=False)
    opening: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def files(self) -> Path:
        """The folder of the pictures."""
        return self.folder / "files"

    @property
    def address(self) -> str | None:
        """The address of the last server that ran here; None where none has run."""
        path = self.folder / "address"
        return path.read_text(encoding="utf-8").strip() if path.exists() else None

    def adopt(self, pictures: Path) -> None:
        """Move the pictures of a folder, whose names are their hashes, to those of the home."""
        if pictures.is_dir():
            self.files.mkdir(exist_ok=True)
            for path in pictures.iterdir():
                path.replace(self.files / path.name)

    def remember(self, address: str) -> None:
        """Write down the address of the server, for links that are made later."""
        (self.folder / "address").write_text(address + "\n", encoding="utf-8")


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A folder inside a home for pictures of a study that is not entered yet; it is removed at the end.

    The home need not exist. Where it was made here and is still empty at the end, it is removed too. Nothing else in a
    home is ever removed: another process may have put answers there meanwhile.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    _make(folder)
    part = folder / f".new-{secrets.token_hex(8)}"
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)
        for one in missing:
            with suppress(OSError):  # it is not empty
                one.rmdir()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise FileError(str(folder), f"cannot be created: {error.strerror}") from None


@contextmanager
def open_home(folder: Path, url: str | None = None, *, create: bool = False) -> Iterator[Home]:
    """Open the folder; `url` names a database elsewhere (PostgreSQL).

    With `create` a new home is made. It stays, even if the caller fails: an empty home does no harm, and another
    process may already use it. So read all input before you open one.
    """
    if not create and not is_there(folder):
        raise FileError(str(folder), "there are no studies here", "create one with `endoxa study new`, or use --home")
    _make(folder)
    if url is None:
        _refuse_empty(folder)
    store = open_store(url or f"sqlite:///{folder / DATABASE}")
    try:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):  # there is none, or it belongs to another user
                (folder / f"{DATABASE}{suffix}").chmod(0o600)
        with blaming(store):
            yield Home(folder, store, _key(folder / "key"))
    finally:
        store.close()


def _refuse_empty(folder: Path) -> None:
    """Refuse a database that lost its content: where there is a key, it was more than an empty file once."""
    database = folder / DATABASE
    if (folder / "key").exists() and database.exists() and not database.stat().st_size:
        remedy = "restore a backup, or remove it to begin anew"
        raise FileError(str(database), "the database is empty (0 bytes)", remedy)


def _key(path: Path) -> str:
    """The key that signs links, generated once, readable by its owner only.

    It is written aside and then linked, so that a process that begins at the same time never reads half of it.
    """
    if not path.exists():
        part = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
        try:
            os.link(part, path)
        except FileExistsError:
            pass  # another process was first: its key counts
        except OSError:  # a file system without links
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    key = path.read_text(encoding="ascii", errors="replace").strip()
    if len(key) < 32:
        raise FileError(str(path), "is not a key that signs links", "remove it; all links must be made again")
    return key
