"""The native core: reads, groups and ranks TREC text and looks up judged items. It is never required.

It is built where a C++ compiler is found (hatch_build.py). It may decline any input; the readers in `io` then take
over, so that both ways give the same numbers and the same errors. ENDOXA_NATIVE=0 turns it off.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

SETTING = "ENDOXA_NATIVE"
OK, DECLINED, UNGROUPED = 0, 1, 2  # the status of a reader, as in core.hpp


def core() -> Any:
    """The extension module; None where it was not built, or is turned off."""
    return None if os.environ.get(SETTING) == "0" else _built()


@cache
def _built() -> Any:
    try:
        return importlib.import_module("endoxa.native._core")
    except ImportError:
        return None


def described() -> str:
    """Which way files are read, in words."""
    if core() is not None:
        return "files are read by the native core"
    reason = (
        f"it is turned off by {SETTING}=0" if _built() is not None else "it was not built: no C++ compiler was found"
    )
    return f"files are read without the native core: {reason}"
