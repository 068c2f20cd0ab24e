"""Pictures with words from Debian's packages, fetched by the machine's own apt into a cache, without root.

apt finds packages and verifies their signed records. Its lists are kept separate from those of the system, which is
not changed. What has been fetched is not fetched again; an interrupted download leaves nothing behind.
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
from contextlib import contextmanager, suppress
from pathlib import Path

from endoxa.engines import PICTURES, SYMBOLS
from endoxa.errors import FileError, InstallError, TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus, Progress
from endoxa.io.clip_art import read_clip_art
from endoxa.io.corpora import read_corpus
from endoxa.io.emoji import read_emoji
from endoxa.io.provenance import fingerprint
from endoxa.io.symbols import read_symbols

STATUS = Path("/var/lib/dpkg/status")  # dpkg's list of installed packages; apt does not start without one
MARKER = "versions.txt"
FIELD = re.compile(r"^(Version|Size|SHA256|Installed-Size): *+(\S++) *+$", re.MULTILINE)
PATIENCE = 0.1  # seconds between two checks of a child process
GRACE = 3.0  # seconds that a child process has to end after a signal


@dataclass(frozen=True)
class Collection:
    """Pictures from packages: their names, the folder in them, and what is left out by default.

    `drawings` is the folder of the SVGs that have the words of the pictures. Where `drawn` is named, `pictures` holds
    symbols, or is a font whose `letters` (a folder with their words) are drawn, into that folder, once; rename it when
    drawings change. `suits` says which systems run by default. `generated` is a category that one script drew: its
    pictures are left out where words are studied, because they all have the same words.
    """

    packages: tuple[str, ...]
    pictures: str
    drawings: str = ""
    without: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    drawn: str = ""
    letters: str = ""
    suits: str = PICTURES
    generated: str = ""


COLLECTIONS = {
    "stamps": Collection(
        ("tuxpaint-stamps-default",),
        "usr/share/tuxpaint/stamps",
        without=("symbols", "cartoon", "seasonal", "clothes", "town"),  # drawings; nearly all others are photographs
        leave_out=("*_mirror*", "*_flip*"),  # mirrored copies of a stamp, with readable writing
    ),
    "clipart": Collection(
        ("openclipart-png", "openclipart-svg"),
        "usr/share/openclipart/png",
        "usr/share/openclipart/svg",
        generated="shapes/stars",  # 1,375 stars by one script, with the same four words
    ),
    "symbols": Collection(
        ("qelectrotech-data",), "usr/share/qelectrotech/elements/10_electric/10_allpole", drawn="drawn-1", suits=SYMBOLS
    ),
    "emoji": Collection(
        ("fonts-noto-color-emoji", "unicode-cldr-core"),
        "usr/share/fonts/truetype/noto/NotoColorEmoji.ttf",
        drawn="drawn-1",
        letters="usr/share/unicode/cldr/common",
    ),
}


def corpus_of(
    name: str, *, without: Sequence[str] | None = None, language: str = "", progress: Progress | None = None,
    seconds: float | None = None,
) -> Corpus:  # fmt: skip
    """Stamps, clip art, electrical symbols or emoji, with words and categories; fetched if not in the cache.

    `without` leaves out categories with these parts in their path; None stands for those of the collection, so that
    the stamps are photographs. `language` is that of the captions of stamps and symbols: `de`, `pt_BR`, …
    """
    place, collection = fetch(name, progress=progress, seconds=seconds), COLLECTIONS[name]
    pictures = place / collection.pictures
    if collection.drawings:
        corpus = read_clip_art(pictures, place / collection.drawings, progress=progress)
    elif collection.letters:
        corpus = read_emoji(pictures, place / collection.letters, place / collection.drawn, progress=progress)
    elif collection.drawn:
        corpus = read_symbols(pictures, place / collection.drawn, language=language, progress=progress)
    else:
        corpus = read_corpus(pictures, language=language, leave_out=collection.leave_out, progress=progress)
    left = corpus.within(without=collection.without if without is None else without)
    if not len(left):
        raise TextError(
            f"no picture of {name} is left without {', '.join(without or ())}", remedy="leave out fewer categories"
        )
    return Corpus(left.frame, corpus.root, name, corpus.skipped)


def fetch(name: str, *, progress: Progress | None = None, seconds: float | None = None) -> Path:
    """The folder of an unpacked collection, which is fetched, verified and unpacked if it does not exist.

    Size and SHA-256 of each package are compared with apt's signed record. After `seconds`, apt and its child processes
    are ended, and nothing is left. `progress` is called with bytes.
    """
    refuse_unknown("collection", name, COLLECTIONS, listed=True)
    collection, cache = COLLECTIONS[name], cache_folder()
    place = cache / name
    if (place / MARKER).is_file():
        return place
    if place.exists():
        what = f"has no {MARKER}, so it is not the collection that endoxa fetched"
        raise FileError(str(place), what, "move it away, or set ENDOXA_CACHE to another folder")
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise InstallError(
                f"{program} is not on this machine, and {name} comes as packages of Debian",
                remedy=f"unpack {' and '.join(collection.packages)} elsewhere (dpkg-deb -x) and name the folder "
                f"{collection.pictures}",
            )
    errand = _Errand(name, cache / f".{name}.part", seconds, time.monotonic(), progress)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / f".{name}.lock", errand):
            if not (place / MARKER).is_file():  # another process may have fetched it meanwhile
                _fetch(collection.packages, place, errand)
    except OSError as error:
        needs = "with more space" if error.errno == errno.ENOSPC else "that you may write to"
        what = f"{name} cannot be stored here: {error.strerror or error}"
        raise FileError(str(cache), what, f"set ENDOXA_CACHE to a folder {needs}") from None
    return place


def suits(corpus: Corpus) -> str:
    """Whether systems for pictures or for symbols are the default of a corpus; a folder of one's own has pictures."""
    collection = COLLECTIONS.get(corpus.name)
    is_fetched = Path(corpus.root).is_relative_to(cache_folder() / corpus.name)
    return collection.suits if collection is not None and is_fetched else PICTURES


def without_generated(corpus: Corpus) -> tuple[Corpus, str]:
    """The corpus without the pictures that one script drew, and a sentence about them; empty if there are none."""
    collection = COLLECTIONS.get(corpus.name)
    series = collection.generated if collection is not None else ""
    if not series or not Path(corpus.root).is_relative_to(cache_folder() / corpus.name):
        return corpus, ""
    keep = [at for at, category in enumerate(corpus.frame["category"]) if category != series]
    what = f"{len(corpus) - len(keep):,} pictures of {series} are left out: nearly all are one generated series"
    return corpus.take(keep), what


def cache_folder() -> Path:
    """The folder of packages: $ENDOXA_CACHE, else $XDG_CACHE_HOME/endoxa, else ~/.cache/endoxa."""
    if own := os.environ.get("ENDOXA_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # a relative one is invalid by its specification
    return (Path(shared) if Path(shared).is_absolute() else Path("~/.cache").expanduser()) / "endoxa"


# ---- one download ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Errand:
    """What is fetched, the folder, the time limit, the time it began, and the progress callback."""

    name: str
    part: Path
    seconds: float | None
    begun: float
    progress: Progress | None

    def report(self, what: str, done: int, whole: int) -> None:
        if self.progress is not None:
            self.progress(what, done, whole)

    def check(self) -> None:
        if self.seconds is not None and time.monotonic() > self.begun + self.seconds:
            raise InstallError(
                f"fetching {self.name} took more than {self.seconds:g} seconds and was stopped",
                remedy="nothing is left of it. Allow more time or try again with a better connection",
            )


@dataclass(frozen=True)
class _Record:
    """apt's record of a package."""

    package: str
    version: str
    size: int
    sha256: str
    unpacked: int


@contextmanager
def _alone(lock: Path, errand: _Errand) -> Iterator[None]:
    """Only one process fetches a collection; others wait. The system releases the lock of a dead process."""
    import fcntl

    with lock.open("wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                errand.check()
                errand.report("waiting for another process", 0, 1)
                time.sleep(PATIENCE)
        yield


def _fetch(packages: tuple[str, ...], place: Path, errand: _Errand) -> None:
    """Everything happens in one folder, which is always removed; the last step renames the unpacked tree."""
    part = errand.part
    shutil.rmtree(part, ignore_errors=True)  # left by a process that was killed
    try:
        tree = part / "tree"
        tree.mkdir(parents=True)
        options = _private_state(part / "apt")
        errand.report("lists of packages", 0, 1)
        output = _run(["apt-get", *options, "update"], errand, must=False)
        errand.report("lists of packages", 1, 1)
        records = [_record(package, options, output, errand) for package in packages]
        needed, free = sum(record.size + record.unpacked for record in records), shutil.disk_usage(place.parent).free
        if free < needed:
            what = f"has {free >> 20} MiB free, {errand.name} needs {(needed >> 20) + 1} MiB while it is fetched"
            raise FileError(str(place.parent), what, "free some space, or set ENDOXA_CACHE to another folder")
        for record in records:
            archive = _downloaded(record, options, part / record.package, errand)
            _verify(archive, record)
            errand.report(f"unpacking {record.package}", 0, record.unpacked)
            _run(["dpkg-deb", "-x", str(archive), str(tree)], errand)
            errand.report(f"unpacking {record.package}", record.unpacked, record.unpacked)
            archive.unlink()
        versions = "".join(f"{record.package} {record.version}\n" for record in records)
        (tree / MARKER).write_text(versions, encoding="utf-8")
        tree.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _private_state(folder: Path) -> list[str]:
    """apt's options for lists and archives of its own. apt creates no folders, and must not change to another user."""
    (folder / "state/lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    settings = f"Dir::State={folder}/state", f"Dir::State::status={STATUS}", f"Dir::Cache={folder}/cache"
    return [word for setting in (*settings, "APT::Sandbox::User=") for word in ("-o", setting)]


def _record(package: str, options: list[str], output: str, errand: _Errand) -> _Record:
    """apt's record of the version that it would install."""
    text = _run(["apt-cache", *options, "show", "--no-all-versions", package], errand, must=False)
    found = dict(FIELD.findall(text.split("\n\n")[0]))
    if not {"Version", "Size", "SHA256"} <= found.keys():
        raise InstallError(
            f"apt knows no package {package}{_complaint(output)}",
            remedy="is there a network, and does apt-get update work?",
        )
    unpacked = int(found.get("Installed-Size", "0")) * 1024
    return _Record(package, found["Version"], int(found["Size"]), found["SHA256"].lower(), unpacked)


def _downloaded(record: _Record, options: list[str], folder: Path, errand: _Errand) -> Path:
    folder.mkdir()

    def look() -> None:
        here = sum(entry.stat().st_size for entry in folder.iterdir())
        errand.report(record.package, min(here, record.size), record.size)

    _run(["apt-get", *options, "download", f"{record.package}={record.version}"], errand, folder=folder, look=look)
    archives = list(folder.glob("*.deb"))
    if len(archives) != 1:
        raise InstallError(f"apt-get download left no package of {record.package}", remedy="try it by hand")
    return archives[0]


def _verify(archive: Path, record: _Record) -> None:
    size = archive.stat().st_size
    if size != record.size:
        raise FileError(archive.name, f"has {size} bytes, apt's record says {record.size}", "fetch it again")
    digest = fingerprint(archive)
    if digest != record.sha256:
        what = f"has the SHA-256 {digest[:12]}…, apt's record says {record.sha256[:12]}…"
        raise FileError(archive.name, what, "it was changed in transit: fetch it again, or over another connection")


# ---- child processes ------------------------------------------------------------------------------------------


def _run(
    command: list[str], errand: _Errand, *, folder: Path | None = None, look: Callable[[], None] = lambda: None,
    must: bool = True,
) -> str:  # fmt: skip
    """Run a program until it ends, or end it and its child processes when time is over; its output.

    The output goes to a file, because a full pipe would block it. A failure is an InstallError if `must` is True:
    `update` fails if one of many sources is unreachable, which may not matter.
    """
    log = errand.part / "output"
    with log.open("wb") as file:
        child = subprocess.Popen(
            command, cwd=folder or errand.part, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env=os.environ | {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}, start_new_session=True,
        )  # fmt: skip
        try:
            while child.poll() is None:
                errand.check()
                look()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(PATIENCE)
        except BaseException:
            _end(child)
            raise
    look()
    output = log.read_text(encoding="utf-8", errors="replace")
    if child.returncode and must:
        raise InstallError(
            f"{command[0]} failed while fetching {errand.name}{_complaint(output)}",
            remedy="is there a network, and disk space?",
        )
    return output


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child process and its group: apt's methods, dpkg-deb's tar."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(child.pid, number)
            child.wait(GRACE)
    child.wait()


def _complaint(output: str) -> str:
    """The last error, or else the last warning, that a program printed: ` (…)`."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and "Some index files" not in line]
    for mark in ("E:", "dpkg-deb: error:", "W:", "Err:"):
        for line in reversed(lines):
            if line.startswith(mark):
                return f" ({line.removeprefix(mark).strip()[:200]})"
    return f" ({lines[-1][:200]})" if lines else ""
