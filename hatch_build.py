"""Builds the native core where a C++ compiler is found; without one the package is pure Python and does the same.

hatchling calls this for wheels and editable installs. `python hatch_build.py` builds in place, if a source is newer.
CXX names another compiler; ENDOXA_NATIVE=0 builds nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HOME = Path(__file__).parent / "src" / "endoxa" / "native"
SOURCES = [HOME / "core.cpp", HOME / "kernels.cpp", HOME / "module.cpp"]
TARGET = HOME / "_core.abi3.so"
FLAGS = [
    "-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-pthread", "-shared",
    "-ffp-contract=off",  # as NumPy rounds: the numbers are the same with and without the native core
]  # fmt: skip


def build() -> Path | None:
    """The extension module; None where it cannot be built, with the reason on stderr."""
    inputs = [*SOURCES, *HOME.glob("*.hpp"), Path(__file__)]
    if os.environ.get("ENDOXA_NATIVE") == "0":
        return _none("ENDOXA_NATIVE=0")
    if TARGET.exists() and all(TARGET.stat().st_mtime >= path.stat().st_mtime for path in inputs):
        return TARGET
    named = shlex.split(os.environ.get("CXX", ""))
    compilers = [named] if named else [["c++"], ["g++"], ["clang++"]]
    compiler = next((words for words in compilers if shutil.which(words[0])), None)
    headers = Path(sysconfig.get_paths()["include"])
    if compiler is None or os.name == "nt":
        return _none("no C++ compiler was found")
    if not (headers / "Python.h").exists():
        return _none(f"Python's headers are not in {headers}")
    more = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    part = TARGET.with_suffix(".part")
    command = [*compiler, *FLAGS, *more, f"-I{headers}", *map(str, SOURCES), "-o", str(part)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        part.unlink(missing_ok=True)
        return _none(f"{shlex.join(compiler)} failed: {done.stderr.strip()[-2000:]}")
    part.replace(TARGET)
    return TARGET


def _none(reason: str) -> None:
    TARGET.unlink(missing_ok=True)  # what other sources were built into must not be taken for theirs
    print(f"endoxa: the native core is not built ({reason}); everything works without it", file=sys.stderr)


class Hook(BuildHookInterface[Any]):
    """Adds the native core to a wheel, which then is for this platform and every Python from 3.11 on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build."""
        target = build() if self.target_name == "wheel" else None
        if target is not None and version != "editable":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{platform}"
            build_data["artifacts"].append(f"/{target.relative_to(self.root).as_posix()}")


if __name__ == "__main__":
    build()
