"""Fuzzes one target under libFuzzer, which keeps the inputs that reach new lines; called by `tests.fuzz.hunt`.

    python -m fuzz.one TARGET FINDINGS [options of libFuzzer] CORPUS

A finding does not end the run: it is made smaller, written to a file of FINDINGS, and counted once per fault.
"""

from __future__ import annotations

import os
import sys
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import atheris

ROOT = Path(find_spec("endoxa").origin).parent
COMPILED = [  # what numba compiles must stay as it is
    ".".join(("endoxa", *path.relative_to(ROOT).with_suffix("").parts))
    for path in ROOT.rglob("*.py")
    if "import numba" in (text := path.read_text(encoding="utf-8")) or "from numba" in text
]

with atheris.instrument_imports(include=["endoxa", "PIL", "tomllib", "zipfile"], exclude=COMPILED):
    from fuzz.targets import TARGETS
    from fuzz.trial import finding, smallest

    target, findings = TARGETS[sys.argv[1]], Path(sys.argv[2])
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="endoxa-fuzz-", dir=shared if os.access(shared, os.W_OK) else None))
    for sample in target.samples():
        finding(target, sample, folder)  # the first time, parts are imported
known: set[str] = set()


def one(data: bytes) -> None:
    """Try one input."""
    what = finding(target, data, folder)
    if what is None or what in known:
        return
    known.add(what)
    small = smallest(lambda part: finding(target, part, folder) == what, data)
    name = f"{target.name}-{sha256(small).hexdigest()[:8]}"
    (findings / f"{name}.bin").write_bytes(small)
    (findings / f"{name}.txt").write_text(f"{target.name}: {what}\n")


atheris.Setup([sys.argv[0], *sys.argv[3:]], one)
atheris.Fuzz()  # it ends the process
