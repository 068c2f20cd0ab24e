"""docs/engines.md: every retrieval engine for pictures, from the registry."""

from __future__ import annotations

import inspect
from dataclasses import fields

from endoxa.engines.registry import ENGINES, KINDS, NEEDS, SUITS
from handbook.tutorials import DOCS

DOCUMENT = DOCS / "engines.md"
HEAD = """# Engines

The systems of `endoxa images`. `-e NAME` chooses one, `--set NAME.SETTING=VALUE` changes a setting. How they compare,
and how to bring your own, is in [pictures.md](pictures.md). This page is made from the registry by `make docs`.
"""


def engines() -> str:
    """The page."""
    parts = [HEAD]
    for name, (kind, preset) in ENGINES.items():
        made = KINDS[kind]
        said = inspect.getdoc(made) or ""
        lines = [f"## {name}", "", said.split("\n\n", 1)[0]]
        rows = [
            f"| `{one.name}` | `{preset.get(one.name, one.default)}` |"
            for one in fields(made)  # type: ignore[arg-type]
            if one.init
        ]
        if rows:
            lines += ["", "| setting | here |", "|---|---|", *rows]
        if NEEDS[name]:
            lines += ["", f"Needs {', '.join(f'`{module}`' for module in NEEDS[name])}: `pip install 'endoxa[embed]'`."]
        lines += ["", f"Made for {SUITS[name]}.", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)
