"""Pictures with words from Debian's packages, fetched by the machine's own apt into a cache, without root.

apt knows where packages lie and signs what it says of them; its lists are kept apart from the system's, so that
nothing of the system changes. What was fetched once is never fetched again; what was interrupted is as if it had
never begun.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from endoxa.errors import FileError, InstallError, TextError, did_you_mean
from endoxa.images.corpus import Corpus, Progress
from endoxa.io.clip_art import read_clip_art
from endoxa.io.corpora import read_corpus

STATUS = Path("/var/lib/dpkg/status")  # dpkg's own list of what is installed; apt does not start without one
MARKER = "versions.txt"
PATIENCE = 0.1  # seconds between two looks at a child
GRACE = 3.0  # seconds that a child has to end when it is told to


@dataclass(frozen=True)
class Collection:
    """Pictures that come as packages: which, where in them, and what of them is not taken unless asked for."""

    packages: tuple[str, ...]
    pictures: str
    drawings: str = ""
    without: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()


COLLECTIONS = {
    "stamps": Collection(
        ("tuxpaint-stamps-default",),
        "usr/share/tuxpaint/stamps",
        without=("symbols", "cartoon", "seasonal", "clothes", "town"),  # what is drawn; the rest is nearly all photos
        leave_out=("*_mirror*", "*_flip*"),  # the same stamp turned round, with its writing the right way
    ),
    "clipart": Collection(
        ("openclipart-png", "openclipart-svg"), "usr/share/openclipart/png", "usr/share/openclipart/svg"
    ),
}


def corpus_of(
    name: str,
    *,
    without: Sequence[str] | None = None,
    language: str = "",
    progress: Progress | None = None,
    seconds: float | None = None,
) -> Corpus:
    """The stamps of Tux Paint or Open Clip Art with their words and categories; fetched if they are not here yet.

    `without`: parts of category paths that are left out. None: for stamps symbols, cartoon, seasonal, clothes and
    town, which leaves photos; for clip art nothing. `language` of the captions of stamps: `de`, `pt_BR`, …
    """
    collection = _collection(name)
    place = fetch(name, progress=progress, seconds=seconds)
    pictures = place / collection.pictures
    if collection.drawings:
        corpus = read_clip_art(pictures, place / collection.drawings, progress=progress)
    else:
        corpus = read_corpus(pictures, language=language, leave_out=collection.leave_out, progress=progress)
    left = corpus.within(without=collection.without if without is None else without)
    if not len(left):
        raise TextError(f"no picture of {name} is left without {', '.join(without or ())}; leave out less")
    return Corpus(left.frame, corpus.root, name, corpus.skipped)


def fetch(name: str, *, progress: Progress | None = None, seconds: float | None = None) -> Path:
    """The folder into which a collection was unpacked. Fetched, checked and unpacked if it is not there yet.

    Size and SHA-256 of each package are compared with apt's signed record. `seconds` limits the whole of it: apt and
    whatever it started are ended then, and nothing is left. `progress` is told of bytes.
    """
    collection = _collection(name)
    cache = cache_folder()
    place = cache / name
    if (place / MARKER).is_file():
        return place
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise InstallError(
                f"{program} is not on this machine, and {name} comes as packages of Debian; unpack "
                f"{' and '.join(collection.packages)} elsewhere (dpkg-deb -x) and name the folder {collection.pictures}"
            )
    errand = _Errand(
        name, cache / f".{name}.part", None if seconds is None else time.monotonic() + seconds, seconds or 0.0, progress
    )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / f".{name}.lock", errand):
            if not (place / MARKER).is_file():  # another one may have fetched it while we waited
                _fetch(collection.packages, place, errand)
    except OSError as error:
        remedy = "set ENDOXA_CACHE to a folder with more room" if error.errno == errno.ENOSPC else ""
        remedy = remedy or "set ENDOXA_CACHE to a folder that you may write to"
        raise FileError(str(cache), f"cannot hold {name}: {error.strerror or error}", remedy) from None
    return place


def cache_folder() -> Path:
    """Where packages are kept: $ENDOXA_CACHE, else $XDG_CACHE_HOME/endoxa, else ~/.cache/endoxa."""
    if own := os.environ.get("ENDOXA_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # a relative one is invalid by its specification
    return (Path(shared) if Path(shared).is_absolute() else Path("~/.cache").expanduser()) / "endoxa"


def _collection(name: str) -> Collection:
    if name not in COLLECTIONS:
        raise TextError(
            f"no collection is called {name!r}{did_you_mean(name, COLLECTIONS)}; there are {', '.join(COLLECTIONS)}"
        )
    return COLLECTIONS[name]


# ---- one fetching ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Errand:
    """What is being fetched, in which folder, until when, and who is told."""

    name: str
    part: Path
    end: float | None
    seconds: float
    progress: Progress | None

    def tell(self, what: str, done: int, whole: int) -> None:
        if self.progress is not None:
            self.progress(what, done, whole)

    def check(self) -> None:
        if self.end is not None and time.monotonic() > self.end:
            raise InstallError(
                f"fetching {self.name} took more than {self.seconds:g} seconds and was stopped; nothing is left of it, "
                "allow more time or try again with a better connection"
            )


@dataclass(frozen=True)
class _Record:
    """What apt says of a package."""

    package: str
    version: str
    size: int
    sha256: str
    unpacked: int


@contextmanager
def _alone(lock: Path, errand: _Errand) -> Iterator[None]:
    """Only one process fetches a collection; the others wait for it. The system lets go of a lock when one dies."""
    import fcntl

    with lock.open("wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                errand.check()
                errand.tell("waiting for another process", 0, 1)
                time.sleep(PATIENCE)
        yield


def _fetch(packages: tuple[str, ...], place: Path, errand: _Errand) -> None:
    """Everything happens in one folder, which is removed in any case; the last step renames the unpacked tree."""
    part = errand.part
    shutil.rmtree(part, ignore_errors=True)  # left by one that was killed
    try:
        tree = part / "tree"
        tree.mkdir(parents=True)
        options = _private_state(part / "apt")
        errand.tell("lists of packages", 0, 1)
        said = _run(["apt-get", *options, "update"], errand, must=False)
        errand.tell("lists of packages", 1, 1)
        records = [_record(package, options, said, errand) for package in packages]
        _refuse_full(place.parent, sum(record.size + record.unpacked for record in records), errand.name)
        for record in records:
            archive = _downloaded(record, options, part / record.package, errand)
            _verify(archive, record)
            _unpack(archive, tree, record, errand)
            archive.unlink()
        versions = "".join(f"{record.package} {record.version}\n" for record in records)
        (tree / MARKER).write_text(versions, encoding="utf-8")
        if place.exists():  # without a marker: none of ours made it
            shutil.rmtree(place)
        tree.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _private_state(folder: Path) -> list[str]:
    """apt's options for lists and archives of its own. It makes no folders, and must not change to another user."""
    (folder / "state/lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    settings = {
        "Dir::State": folder / "state",
        "Dir::State::status": STATUS,
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _record(package: str, options: list[str], said: str, errand: _Errand) -> _Record:
    """What apt knows of the version that it would install."""
    text = _run(["apt-cache", *options, "show", "--no-all-versions", package], errand, must=False)
    found = dict(re.findall(r"^(Version|Size|SHA256|Installed-Size): *(\S+) *$", text.split("\n\n")[0], re.MULTILINE))
    if not {"Version", "Size", "SHA256"} <= found.keys():
        raise InstallError(
            f"apt knows no package {package}{_complaint(said)}; is there a network, and does apt-get update work?"
        )
    unpacked = int(found.get("Installed-Size", "0")) * 1024
    return _Record(package, found["Version"], int(found["Size"]), found["SHA256"].lower(), unpacked)


def _downloaded(record: _Record, options: list[str], folder: Path, errand: _Errand) -> Path:
    folder.mkdir()

    def look() -> None:
        here = sum(entry.stat().st_size for entry in folder.iterdir())
        errand.tell(record.package, min(here, record.size), record.size)

    _run(["apt-get", *options, "download", f"{record.package}={record.version}"], errand, folder=folder, look=look)
    archives = list(folder.glob("*.deb"))
    if len(archives) != 1:
        raise InstallError(f"apt-get download left no package of {record.package}; try it by hand")
    return archives[0]


def _verify(archive: Path, record: _Record) -> None:
    size = archive.stat().st_size
    if size != record.size:
        raise FileError(archive.name, f"has {size} bytes, apt's record says {record.size}", "fetch it again")
    with archive.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    if digest != record.sha256:
        what = f"has the SHA-256 {digest[:12]}…, apt's record says {record.sha256[:12]}…"
        raise FileError(archive.name, what, "it was changed on its way: fetch it again, or over another connection")


def _unpack(archive: Path, tree: Path, record: _Record, errand: _Errand) -> None:
    errand.tell(f"unpacking {record.package}", 0, record.unpacked)
    _run(["dpkg-deb", "-x", str(archive), str(tree)], errand)
    errand.tell(f"unpacking {record.package}", record.unpacked, record.unpacked)


def _refuse_full(folder: Path, needed: int, name: str) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        what = f"has {free >> 20} MiB free, {name} needs {(needed >> 20) + 1} MiB while it is fetched"
        raise FileError(str(folder), what, "make room, or set ENDOXA_CACHE to another folder")


# ---- children -------------------------------------------------------------------------------------------------


def _run(
    command: list[str],
    errand: _Errand,
    *,
    folder: Path | None = None,
    look: Callable[[], None] | None = None,
    must: bool = True,
) -> str:
    """Run a program to its end, or end it and all that it started when time is over; what it said.

    Its words go to a file, for a pipe that nobody empties would stop it. An InstallError if it fails and must not:
    `update` fails if one source of many is out of reach, and whether that matters shows later.
    """
    spoken = errand.part / "said"
    with spoken.open("wb") as file:
        child = subprocess.Popen(
            command, cwd=folder or errand.part, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env=os.environ | {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}, start_new_session=True,
        )  # fmt: skip
        try:
            while True:
                try:
                    child.wait(PATIENCE)
                    break
                except subprocess.TimeoutExpired:
                    errand.check()
                    if look is not None:
                        look()
        except BaseException:
            _end(child)
            raise
    if look is not None:
        look()
    said = spoken.read_text(encoding="utf-8", errors="replace")
    if child.returncode and must:
        raise InstallError(
            f"{command[0]} failed while fetching {errand.name}{_complaint(said)}; is there a network, and room on disk?"
        )
    return said


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child and the group it leads: apt's methods, dpkg-deb's tar."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, how)
        except ProcessLookupError:
            break
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


def _complaint(said: str) -> str:
    """The last error, or else the last warning, that a program printed: ` (…)`."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and "Some index files" not in line]
    for mark in ("E:", "dpkg-deb: error:", "W:", "Err:"):
        for line in reversed(lines):
            if line.startswith(mark):
                return f" ({line.removeprefix(mark).strip()[:200]})"
    return f" ({lines[-1][:200]})" if lines else ""
