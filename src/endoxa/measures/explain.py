"""What a measure means, from its own docstring."""

from __future__ import annotations

import re
from typing import Any

from endoxa.measures.grammar import KNOWN, REQUIRED, parse_all
from endoxa.measures.pairs import PREFERENCES
from endoxa.measures.registry import ALIASES, Definition
from endoxa.measures.trec_names import FAMILIES, NICKNAMES

PARTS = ("Formula", "Misleads", "Source")


def parts(definition: Definition) -> dict[str, str]:
    """The docstring by part: Meaning, Formula, Misleads, Source."""
    found: dict[str, str] = {}
    name = "Meaning"
    for line in definition.doc.splitlines():
        match = re.match(rf"({'|'.join(PARTS)}): ", line)
        if match:
            name, line = match.group(1), line[match.end() :]  # noqa: PLW2901
        if line.strip():
            found[name] = f"{found[name]} {line.strip()}" if name in found else line.strip()
    return found


def explain(text: str) -> str:
    """Definition, formula, when it misleads, source, settings and other names of a measure.

    >>> print(explain("Success@5").splitlines()[0])
    Success: Whether the first k hold anything relevant.
    """
    if text in NICKNAMES:
        names = ", ".join(NICKNAMES[text])
        return f"{text}: a set of measures of trec_eval\n  Holds      {names}"
    name = ALIASES.get(text, text)
    definition = KNOWN[name] if name in KNOWN else parse_all(text)[0].definition
    text_of = parts(definition)
    lines = [f"{definition.name}: {text_of['Meaning']}"]
    lines += [f"  {name:10} {text_of[name]}" for name in PARTS if name in text_of]
    for setting, default in definition.settings.items():
        value = "required" if default is REQUIRED else f"default {default!r}"
        where = ", after the @" if setting == definition.cutoff else ""
        lines.append(f"  Setting    {setting} ({value}{where})")
    if others := _others(definition):
        lines.append(f"  Also       {', '.join(others)}")
    if definition.exact:
        lines.append(f"  Exact      under a belief: {'; '.join(definition.exact)}")
    if definition.aggregate != "mean":
        lines.append(f"  Over queries: {definition.aggregate}")
    return "\n".join(lines)


def _others(definition: Definition) -> list[str]:
    """Other names; those of preferences go by trec_eval's only."""
    aliases = [alias for alias, name in ALIASES.items() if name == definition.name]
    families = [family for family, row in FAMILIES.items() if row.name == definition.name]
    return [] if definition.name in PREFERENCES else aliases + families


def _place(definition: Definition) -> tuple[str, int]:
    """Module and line of the kernel, so that the order of the page does not depend on the order of imports."""
    kernel: Any = definition.kernel
    return kernel.__module__, kernel.__code__.co_firstlineno


def definition_line(text: str) -> str:
    """Meaning and formula of a measure in one line, for glossaries."""
    text_of = parts(parse_all(text)[0].definition)
    return f"{text_of['Meaning']} {text_of['Formula']}"


def reference() -> str:
    """docs/measures.md: every measure, from the registry."""
    lines = [
        "# Measures",
        "",
        "This page is generated from the registry by `python -m endoxa.measures.explain`, and a test checks that it is",
        "current. `endoxa explain NAME` prints the same text. A measure is written `Name(setting=value)@k`; the names",
        "of trec_eval are accepted everywhere.",
        "",
    ]
    for definition in sorted(KNOWN.values(), key=_place):
        text_of = parts(definition)
        lines += [f"## {definition.name}", "", text_of["Meaning"], ""]
        lines += [f"- **{name}**: {text_of[name]}" for name in PARTS]
        settings = [
            f"`{setting}`" + ("" if default is REQUIRED else f" = `{default!r}`")
            for setting, default in definition.settings.items()
        ]
        if settings:
            lines.append(f"- **Settings**: {', '.join(settings)}")
        if others := _others(definition):
            lines.append(f"- **Also**: {', '.join(f'`{name}`' for name in others)}")
        if definition.exact:
            lines.append(f"- **Exact under a belief**: {'; '.join(definition.exact)}")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    sys.stdout.write(reference())
