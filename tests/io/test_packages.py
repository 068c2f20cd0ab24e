"""Packages: fetched once, whole or not at all. A stand-in for apt does what the real one does, and what it might."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from PIL import Image

from endoxa.errors import EndoxaError, FileError, InstallError, TextError
from endoxa.io import packages
from endoxa.io.clip_art import notes_of, read_clip_art
from endoxa.io.corpora import read_corpus
from endoxa.io.packages import Collection, cache_folder, corpus_of, fetch, suits

STAMPS = "tuxpaint-stamps-default"

# As the real one: refuses without its folders, writes lists, answers by record, downloads into the working directory.
FAKE = """#!{python}
import json, os, pathlib, signal, subprocess, sys, time
said = sys.argv[1:]
settings = dict(word.split("=", 1) for flag, word in zip(said, said[1:]) if flag == "-o")
words = [word for at, word in enumerate(said) if word != "-o" and (not at or said[at - 1] != "-o")]
store = pathlib.Path({store!r})
mode = json.loads((store / "mode.json").read_text())
with (store / "calls.txt").open("a") as file:
    file.write(f"{{pathlib.Path(sys.argv[0]).name}} {{' '.join(words)}}\\n")
lists = pathlib.Path(settings["Dir::State"]) / "lists"
archives = pathlib.Path(settings["Dir::Cache"]) / "archives"
for folder in (lists, archives):
    if not (folder / "partial").is_dir():
        sys.exit(f"E: List directory {{folder}}/partial is missing.")
if settings["APT::Sandbox::User"] or settings["Dir::State::status"] != "/var/lib/dpkg/status":
    sys.exit("E: wrong settings")
if words[0] == "update":
    if "offline" in mode:
        print("W: Failed to fetch some/InRelease  Temporary failure resolving the name")
        print("W: Some index files failed to download. They have been ignored, or old ones used instead.")
        sys.exit(0)
    (lists / "packages").write_text("known")
    sys.exit(100 if "one source is down" in mode else 0)
record = store / (words[-1].split("=")[0] + ".record")
if words[0] == "show":
    if not (lists / "packages").exists() or not record.exists():
        print("E: No packages found", file=sys.stderr)
        sys.exit(100)
    print(record.read_text())
if words[0] == "download":
    name, version = words[-1].split("=")
    content = (store / (name + ".deb")).read_bytes()
    if "full" in mode:
        sys.exit("E: Failed to fetch it  write (28: No space left on device)")
    if "changed" in mode:
        content = content[:-1] + bytes([content[-1] ^ 1])
    if "short" in mode:
        content = content[:-7]
    with open(name + "_" + version.replace(":", "%3a") + "_all.deb", "wb", buffering=0) as file:
        file.write(content[:100])
        if "hang" in mode:
            if "deaf" in mode:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(["sleep", "600"])  # as apt's methods: a child of the child
            (store / "child.txt").write_text(f"{{os.getpid()}} {{child.pid}}")
            time.sleep(600)
        if "slow" in mode:
            time.sleep(0.5)
        file.write(content[100:])
"""


class Store:
    """A place that the stand-in takes packages from."""

    def __init__(self, folder, binaries):
        self.folder, self.binaries = folder, binaries
        folder.mkdir()
        binaries.mkdir()
        self.mode()
        for name in ("apt-get", "apt-cache"):
            (binaries / name).write_text(FAKE.format(python=sys.executable, store=str(folder)))
            (binaries / name).chmod(0o755)
        self.real = shutil.which("dpkg-deb") is not None
        if not self.real:  # a machine without Debian's tools: a package is a tar then
            (binaries / "dpkg-deb").write_text('#!/bin/sh\nexec tar -xf "$2" -C "$3"\n')
            (binaries / "dpkg-deb").chmod(0o755)

    def mode(self, *words):
        (self.folder / "mode.json").write_text(json.dumps(words))

    def add(self, name, tree, version="1:2.0-1", **changes):
        (tree / "DEBIAN").mkdir()
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b>\nDescription: tiny\n"
        (tree / "DEBIAN/control").write_text(control)
        deb = self.folder / f"{name}.deb"
        command = ["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, deb]
        if not self.real:
            command = ["tar", "-cf", deb, "-C", tree, "--exclude=./DEBIAN", "."]
        subprocess.run(command, check=True, capture_output=True)
        record = {
            "Package": name, "Version": version, "Installed-Size": "12", "Size": str(deb.stat().st_size),
            "SHA256": hashlib.sha256(deb.read_bytes()).hexdigest(),
        } | changes  # fmt: skip
        (self.folder / f"{name}.record").write_text("".join(f"{key}: {value}\n" for key, value in record.items()))

    @property
    def calls(self):
        return (self.folder / "calls.txt").read_text().splitlines()


def picture(path, text=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (2, 2), "red").save(path)
    if text is not None:
        path.with_suffix(".txt").write_text(text, encoding="utf-8")


@pytest.fixture
def store(tmp_path, monkeypatch):
    made = Store(tmp_path / "store", tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{made.binaries}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "cache"))
    return made


@pytest.fixture
def stamps(store, tmp_path):
    root = tmp_path / "stamps/usr/share/tuxpaint/stamps"
    picture(root / "animals/birds/owl.png", "An owl.\nde.utf8=Eine Eule.\n")
    picture(root / "animals/birds/owl_mirror.png")
    picture(root / "animals/cartoon/hen.png", "A hen.")
    picture(root / "symbols/a.png", "The letter a.")
    picture(root / "food/ripe pear.png", "A pear.")
    picture(root / "food/pear_flip.png")
    store.add(STAMPS, tmp_path / "stamps")
    return store


def left(tmp_path):
    """What is in the cache, locks aside."""
    cache = tmp_path / "cache"
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock") if cache.exists() else []


def test_a_folder_of_somebody_else_is_refused_not_removed(stamps, tmp_path):
    own = tmp_path / "cache/stamps/album.txt"
    own.parent.mkdir(parents=True)
    own.write_text("my stamps")
    with pytest.raises(FileError, match="move it away"):
        fetch("stamps")
    assert own.read_text() == "my stamps"


def test_fetched_once_and_never_again(stamps, tmp_path):
    told = []
    place = fetch("stamps", progress=lambda *step: told.append(step))
    assert place == tmp_path / "cache/stamps"
    assert (place / "usr/share/tuxpaint/stamps/food/ripe pear.png").is_file()
    assert (place / "versions.txt").read_text() == f"{STAMPS} 1:2.0-1\n"
    assert left(tmp_path) == ["stamps"]
    assert stamps.calls == [
        "apt-get update", f"apt-cache show --no-all-versions {STAMPS}", f"apt-get download {STAMPS}=1:2.0-1"
    ]  # fmt: skip
    size = (stamps.folder / f"{STAMPS}.deb").stat().st_size
    assert (STAMPS, size, size) in told
    assert fetch("stamps") == place
    assert len(stamps.calls) == 3


def test_progress_is_told_while_the_file_grows(stamps):
    stamps.mode("slow")
    told = []
    fetch("stamps", progress=lambda *step: told.append(step))
    done = [step[1] for step in told if step[0] == STAMPS]
    assert 100 in done
    assert done == sorted(done)


def test_what_was_fetched_works_without_apt(stamps, tmp_path, monkeypatch):
    fetch("stamps")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert len(corpus_of("stamps")) == 2


def test_the_corpus_of_stamps(stamps):
    corpus = corpus_of("stamps")
    assert corpus.items == ["animals/birds/owl", "food/ripe_pear"]
    assert corpus.words == (("owl",), ("pear",))
    assert corpus.frame["category"].to_list() == ["animals/birds", "food"]
    assert [one.name for one in corpus.skipped] == ["animals/birds/owl_mirror.png", "food/pear_flip.png"]
    assert len(corpus_of("stamps", without=())) == 4
    assert corpus_of("stamps", without=("food", "symbols", "cartoon"), language="de").words == (("eine", "eule"),)
    with pytest.raises(TextError, match="no picture of stamps is left"):
        corpus_of("stamps", without=("animals", "food", "symbols"))


def test_unknown_collections():
    with pytest.raises(TextError, match="no collection is called 'stamp'; did you mean stamps"):
        fetch("stamp")


def test_no_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match=f"apt-get is not on this machine.*{STAMPS}.*dpkg-deb -x"):
        fetch("stamps")
    assert not (tmp_path / "cache").exists()


def test_no_network(stamps, tmp_path):
    stamps.mode("offline")
    with pytest.raises(InstallError, match=r"no package tuxpaint.*\(Failed to fetch.*resolving.*is there a network"):
        fetch("stamps")
    assert left(tmp_path) == []


def test_one_source_of_many_is_down(stamps):
    stamps.mode("one source is down")
    fetch("stamps")


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("changed", r"_all\.deb: has the SHA-256 \w{12}…, apt's record says \w{12}….*fetch it again"),
        ("short", r"_all\.deb: has \d+ bytes, apt's record says \d+; fetch it again"),
        ("full", r"apt-get failed while fetching stamps \(Failed.*No space left.*disk space"),
    ],
)
def test_what_comes_is_checked_and_nothing_half_done_is_left(stamps, tmp_path, mode, said):
    stamps.mode(mode)
    with pytest.raises(EndoxaError, match=said):
        fetch("stamps")
    assert left(tmp_path) == []
    stamps.mode()
    assert len(corpus_of("stamps")) == 2


def test_a_package_that_does_not_unpack(store, tmp_path):
    (store.folder / f"{STAMPS}.deb").write_bytes(b"no package at all" * 20)
    content = (store.folder / f"{STAMPS}.deb").read_bytes()
    record = f"Version: 1\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
    (store.folder / f"{STAMPS}.record").write_text(record)
    with pytest.raises(InstallError, match="dpkg-deb failed while fetching stamps"):
        fetch("stamps")
    assert left(tmp_path) == []


def test_a_disk_without_room_is_told_before(store, tmp_path):
    (tmp_path / "tree").mkdir()
    store.add(STAMPS, tmp_path / "tree", **{"Installed-Size": str(1 << 50)})
    with pytest.raises(FileError, match=r"cache: has \d+ MiB free, stamps needs \d+ MiB.*ENDOXA_CACHE"):
        fetch("stamps")
    assert not any("download" in call for call in store.calls)


def test_a_cache_that_is_no_folder(stamps, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(FileError, match="stamps cannot be stored here: Not a directory; set ENDOXA_CACHE"):
        fetch("stamps")


def test_a_disk_that_fills_up_on_the_way(stamps, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(packages, "_downloaded", full)
    with pytest.raises(FileError, match=r"stamps cannot be stored here: No space left.*a folder with more space"):
        fetch("stamps")


def runs(process):
    """Whether a process is there and not merely waiting to be buried."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(process):
    for _ in range(100):
        if not runs(process):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("modes", [("hang",), ("hang", "deaf")])
def test_time_is_over_and_the_children_of_the_child_end(stamps, tmp_path, monkeypatch, modes):
    """The clock jumps when the download hangs, so that no slow machine makes this fail."""
    stamps.mode(*modes)
    started, real = stamps.folder / "child.txt", time.monotonic
    monkeypatch.setattr(packages, "GRACE", 0.3)
    monkeypatch.setattr(packages.time, "monotonic", lambda: real() + (9999 if started.exists() else 0))
    with pytest.raises(InstallError, match="fetching stamps took more than 900 seconds and was stopped; nothing is"):
        fetch("stamps", seconds=900)
    monkeypatch.undo()
    assert left(tmp_path) == []
    processes = started.read_text().split()
    assert len(processes) == 2
    assert all(gone(process) for process in processes)


def test_an_interrupt_leaves_nothing(stamps, tmp_path):
    stamps.mode("hang")

    def impatient(what, done, _whole):
        if what == STAMPS and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("stamps", progress=impatient)
    assert left(tmp_path) == []


def test_what_a_killed_process_left_is_cleared_away(stamps, tmp_path):
    (tmp_path / "cache/.stamps.part/tree/usr").mkdir(parents=True)
    place = fetch("stamps")
    assert left(tmp_path) == ["stamps"]
    assert (place / "usr/share").is_dir()


def test_a_process_killed_outright(stamps, tmp_path):
    """SIGKILL gives no time to clear away; the next one fetches as if nothing had been."""
    stamps.mode("hang")
    script = "from endoxa.io.packages import fetch; fetch('stamps')"
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        for _ in range(200):
            if (stamps.folder / "child.txt").exists():
                break
            time.sleep(0.05)
        process.kill()
    for child in (stamps.folder / "child.txt").read_text().split():
        os.kill(int(child), signal.SIGKILL)
    assert left(tmp_path) == [".stamps.part"]
    stamps.mode()
    fetch("stamps")
    assert left(tmp_path) == ["stamps"]


def test_two_at_once_fetch_once(stamps):
    stamps.mode("slow")
    threads = [threading.Thread(target=fetch, args=("stamps",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stamps.calls.count("apt-get update") == 1


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ENDOXA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache/endoxa"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache/endoxa"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert cache_folder() == Path("/var/xdg/endoxa")
    monkeypatch.setenv("ENDOXA_CACHE", "~/own")
    assert cache_folder() == tmp_path / "own"


@pytest.mark.skipif(shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None, reason="no apt")
def test_the_real_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("ENDOXA_CACHE", str(tmp_path))
    monkeypatch.setitem(packages.COLLECTIONS, "small", Collection(("hello",), "usr/share/doc/hello"))
    try:
        place = fetch("small", seconds=60)
    except InstallError as error:
        if any(word in str(error) for word in ("Failed to fetch", "apt knows no package", "took more than")):
            pytest.skip("no network")
        raise
    assert (place / "usr/bin/hello").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".small.lock", "small"]


# ---- clip art -------------------------------------------------------------------------------------------------


def svg(rdf, before=""):
    return (
        f"<?xml version='1.0'?>{before}<svg xmlns:rdf='x'><metadata><rdf:RDF><cc:Work>{rdf}</cc:Work></rdf:RDF>"
        "</metadata><path d='M0 0'/></svg>"
    ).encode()


def bag(*words):
    return f"<dc:subject><rdf:Bag>{''.join(f'<rdf:li>{word}</rdf:li>' for word in words)}</rdf:Bag></dc:subject>"


CREATOR = "<dc:creator><cc:Agent><dc:title>Ada L.</dc:title></cc:Agent></dc:creator>"


def test_notes_of_a_drawing():
    raw = svg(
        f"<dc:title>A  bee\n&amp; me</dc:title>{bag('insect', 'ada l.', '', 'hash', 'HASH(0x8a)', 'bée')}{CREATOR}"
    )
    notes = notes_of(raw)
    assert notes.title == "A bee & me"
    assert notes.keywords == ("insect", "bée")


def test_the_second_of_two_notes_counts_where_the_first_is_empty():
    raw = svg("<dc:title></dc:title>") + svg(bag("bee")) + svg("<dc:title>Bee</dc:title>")
    assert notes_of(raw).keywords == ("bee",)
    assert notes_of(raw).title == "Bee"


LAUGHS = "<!DOCTYPE svg [" + "".join(f"<!ENTITY a{i + 1} '{f'&a{i};' * 10}'>" for i in range(9)) + "<!ENTITY a0 'ha'>]>"


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"<svg/>", b"<rdf:RDF>", b"\xff\xfe\0<", svg("<dc:title>&a9;</dc:title>", LAUGHS),
        svg("<dc:title>&x;</dc:title>", "<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"),
        svg("<dc:title>half"), svg("<!DOCTYPE x [<!ENTITY y 'z'>]><dc:title>&y;</dc:title>"),
    ],
)  # fmt: skip
def test_hostile_drawings_say_nothing(raw):
    assert notes_of(raw) == notes_of(b"")
    assert not notes_of(raw).title


def test_entities_before_the_notes_do_no_harm():
    assert notes_of(svg("<dc:title>A bee</dc:title>", LAUGHS)).title == "A bee"


def test_the_corpus_of_clip_art(store, tmp_path):
    root = tmp_path / "png/usr/share/openclipart/png"
    drawings = tmp_path / "svg/usr/share/openclipart/svg"
    for name, rdf in {"animals/bee": bag("yellow insect", "bee"), "animals/owl": "<dc:title>An owl</dc:title>"}.items():
        picture(root / f"{name}.png")
        (drawings / name).parent.mkdir(parents=True, exist_ok=True)
        (drawings / f"{name}.svg").write_bytes(svg(rdf))
    picture(root / "signs/a.png")
    (root / "signs/bee.png").symlink_to("../animals/bee.png")
    store.add("openclipart-png", tmp_path / "png")
    store.add("openclipart-svg", tmp_path / "svg")
    corpus = corpus_of("clipart")
    assert corpus.items == ["animals/bee", "animals/owl", "signs/a"]
    assert corpus.words == (("yellow", "insect", "bee"), ("owl",), ())
    assert corpus.frame["category"].to_list() == ["animals", "animals", "signs"]
    assert [(one.name, one.why[:14]) for one in corpus.skipped] == [
        ("signs/bee.png", "is a link to a"), ("signs/a.svg", "cannot be read")
    ]  # fmt: skip
    assert (tmp_path / "cache/clipart/versions.txt").read_text() == "openclipart-png 1:2.0-1\nopenclipart-svg 1:2.0-1\n"


def test_the_corpus_of_symbols(store, tmp_path):
    root = tmp_path / "deb" / packages.COLLECTIONS["symbols"].pictures
    drawing = '<line x1="0" y1="0" x2="1" y2="{}"/>'
    for number, name in enumerate(("motors/ac", "motors/dc", "fuses/slow")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        inside = f"<names><name lang='en'>{name}</name></names><description>{drawing.format(number)}</description>"
        (root / f"{name}.elmt").write_text(f"<definition>{inside}</definition>")
    store.add("qelectrotech-data", tmp_path / "deb")
    corpus = corpus_of("symbols")
    assert corpus.items == ["fuses/slow", "motors/ac", "motors/dc"] and corpus.name == "symbols"
    assert corpus.root == str(tmp_path / "cache/symbols/drawn-1")
    assert corpus_of("symbols", without=("motors",)).items == ["fuses/slow"]
    assert suits(corpus) == "symbols"


def test_a_folder_of_ones_own_is_no_collection(stamps, tmp_path):
    picture(tmp_path / "symbols/a.png")
    assert suits(read_corpus(tmp_path / "symbols")) == "pictures"
    assert suits(corpus_of("stamps")) == "pictures"


def test_clip_art_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="there is no picture in it"):
        read_clip_art(tmp_path, tmp_path)
