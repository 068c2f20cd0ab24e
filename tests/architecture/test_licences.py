"""Every locked package is listed in docs/licences.md, with a licence that is allowed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("audit_run", ROOT / "audit" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(text: str) -> dict[str, tuple[str, bool]]:
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ") and "SPDX" not in line]
    return {row[0]: (row[1].rstrip(" |"), row[-1] == "yes") for row in rows}


def test_every_locked_package_is_listed_with_an_allowed_licence(audit):
    found = listed(audit.PAGE.read_text())
    assert set(found) == audit.locked(audit.ALL) | audit.locked(audit.RUNTIME), "run make audit"
    assert audit.refused({name: licence for name, (licence, _) in found.items()}) == {}
    assert {name for name, (_, installed) in found.items() if installed} == audit.locked(audit.RUNTIME), (
        "run make audit"
    )


def test_the_page_is_what_the_audit_writes(audit):
    licences = {name: licence for name, (licence, _) in listed(audit.PAGE.read_text()).items()}
    assert audit.page(licences) == audit.PAGE.read_text()


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True), ("GPL-3.0-only", False), ("MIT AND GPL-3.0-only", False), ("MIT OR GPL-3.0-only", True),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", True), ("unknown", False), ("", False),
    ],
)  # fmt: skip
def test_which_licences_are_allowed(audit, licence, allowed):
    assert audit.is_allowed(licence) is allowed
    assert list(audit.refused({"x": licence})) == ([] if allowed else ["x"])


def test_licences_come_from_the_packages(audit):
    assert audit.licence_of("numpy").startswith("BSD-3-Clause AND")
    assert audit.licence_of("matplotlib") == "PSF-2.0"  # from its classifier: it states the whole text
    assert not audit.is_allowed(audit.licence_of("no-such-package"))
