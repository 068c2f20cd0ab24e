"""How long work tells how far it is: progress(what, done, whole); and a bar for whoever asks for one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Progress = Callable[[str, int, int], None]


def shown(progress: Progress | bool | None) -> Progress | None:
    """What was given; True is a bar: in a notebook in the cell, elsewhere a line on standard error."""
    if not isinstance(progress, bool):
        return progress
    if not progress:
        return None
    return _in_cell() or _on_line


def _in_cell() -> Progress | None:
    """A bar in the cell of a notebook that is updated in place; None where there is no notebook."""
    display = getattr(sys.modules.get("IPython.display"), "display", None)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if display is None or shell is None or not hasattr(shell, "kernel"):
        return None
    handle: Any = display({"text/html": ""}, raw=True, display_id=True)

    def update(what: str, done: int, whole: int) -> None:
        handle.update({"text/html": bar(what, done, whole), "text/plain": what}, raw=True)

    return update


def bar(what: str, done: int, whole: int) -> str:
    """The bar as HTML; nothing once the work is done."""
    if done >= whole:
        return ""
    from html import escape

    return f'<progress value="{done}" max="{whole}"></progress> {escape(what)}'


def _on_line(what: str, done: int, whole: int) -> None:
    share = done / whole if whole else 1.0
    sys.stderr.write(f"\r\x1b[K{what} {share:.0%}" if share < 1 else "\r\x1b[K")
    sys.stderr.flush()
