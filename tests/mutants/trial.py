"""One mutant, tried: the tests run in a process of its own, in which the module is another one."""

from __future__ import annotations

import ast
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "endoxa"
OPTIONS = [
    "-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",  # plugins are loaded before the fork
]  # fmt: skip
MEMORY = 8 << 30


def started(work: Callable[[], int], seconds: float, log: Path) -> int:
    """Fork a process that does the work and exits with its number; it ends after so many seconds of the processor."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(60 + 20 * seconds))  # for one that waits
        os.chdir(ROOT)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder  # numba, loaded later, would take the machine code of the original
            tempfile.tempdir = folder
            status = work()
    except BaseException:  # noqa: BLE001  of the runner itself: it belongs into the log
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def tested(files: list[str], wanted: list[str] | None, module: str = "", tree: ast.Module | None = None) -> int:
    """Run the tests of these files (of them only the wanted ones, in that order) with another module; exit status."""
    if tree is not None:
        sys.meta_path.insert(0, Finder(f"endoxa.{module.removesuffix('.py').replace('/', '.')}", tree))
    return int(pytest.main([*OPTIONS, *files], plugins=[] if wanted is None else [Selection(wanted)]))


class Finder(MetaPathFinder):
    """Finds one module, and loads another tree than its file holds."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.tree = name, tree

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None and spec.origin is not None
        spec.loader = Loader(fullname, spec.origin, self.tree)
        return spec


class Loader(SourceFileLoader):
    """Compiles a tree in the place of the file; neither reads nor writes byte code."""

    def __init__(self, fullname: str, path: str, tree: ast.Module) -> None:
        super().__init__(fullname, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self.tree, self.path, "exec", dont_inherit=True)
        return code


class Selection:
    """Keeps the wanted tests, in that order."""

    def __init__(self, wanted: list[str]) -> None:
        self.order = {name: at for at, name in enumerate(wanted)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((one for one in items if one.nodeid in self.order), key=lambda one: self.order[one.nodeid])


class Tracer:
    """Notes how much processor time each test takes, and which functions of Endoxa it calls.

    What is called while tests are collected, or by a fixture that several tests share, counts for all of them.
    """

    def __init__(self, target: Path) -> None:
        self.target, self.shared, self.calls = target, set[str](), set[str]()
        self.seconds: dict[str, float] = {}
        self.called: dict[str, set[str]] = {}
        self.prefix = f"{SOURCE}{os.sep}"
        self.seen = self.shared
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def trace(self, frame: FrameType, _event: str, _argument: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith(self.prefix):
            self.seen.add(f"{code.co_filename[len(self.prefix) :]}:{code.co_firstlineno}")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterable[None]:
        self.seen, begun = self.called.setdefault(item.nodeid, set()), time.process_time()
        yield
        self.seen, self.seconds[item.nodeid] = self.shared, time.process_time() - begun

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterable[None]:
        before, self.seen = self.seen, self.seen if fixturedef.scope == "function" else self.shared
        yield
        self.seen = before

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        tests = {name: {"seconds": self.seconds[name], "calls": sorted(calls)} for name, calls in self.called.items()}
        self.target.write_text(json.dumps({"shared": sorted(self.shared), "tests": tests}))


def traced(file: str, target: Path) -> int:
    """Run the tests of a file as they are, and note what each calls."""
    return int(pytest.main([*OPTIONS, file], plugins=[Tracer(target)]))
