"""What a measure means, from its own docstring."""

from __future__ import annotations

import re
import textwrap

from endoxa.measures.grammar import KNOWN, REQUIRED, parse_all
from endoxa.measures.pairs import PREFERENCES
from endoxa.measures.registry import ALIASES, Definition
from endoxa.measures.trec_names import FAMILIES, NICKNAMES
from endoxa.policies import ORDERS

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
    if ties := _ties(definition):
        lines.append(f"  Ties       {ties}")
    if definition.aggregate != "mean":
        lines.append(f"  Over queries: {definition.aggregate}")
    return "\n".join(lines)


def _others(definition: Definition) -> list[str]:
    """Other names; those of preferences go by trec_eval's only."""
    aliases = [alias for alias, name in ALIASES.items() if name == definition.name]
    families = [family for family, row in FAMILIES.items() if row.name == definition.name]
    return [] if definition.name in PREFERENCES else aliases + families


def _ties(definition: Definition) -> str:
    """What ties=average does where it cannot be exact."""
    if definition.text or definition.name in PREFERENCES or definition.mean_of_orders is not None:
        return ""
    return f"the mean over orders (ties=average) is sampled on lists whose ties allow more than {ORDERS:,} orders"


def definition_line(text: str) -> str:
    """Meaning and formula of a measure in one line, for glossaries."""
    text_of = parts(parse_all(text)[0].definition)
    return f"{text_of['Meaning']} {text_of['Formula']}"


def reference() -> str:
    """docs/measures.md: every measure, from the registry, by module and line of its kernel."""
    lines = [
        "# Measures",
        "",
        "This page is generated from the registry by `python -m endoxa.measures.explain`, and a test checks that it is",
        "current. `endoxa explain NAME` prints the same text. A measure is written `Name(setting=value)@k`; the names",
        "of trec_eval are accepted everywhere.",
        "",
    ]
    by_line = sorted(KNOWN.values(), key=lambda one: (one.kernel.__module__, one.kernel.__code__.co_firstlineno))
    for definition in by_line:
        text_of = parts(definition)
        settings = [
            f"`{setting}`" + ("" if default is REQUIRED else f" = `{default!r}`")
            for setting, default in definition.settings.items()
        ]
        points = {name: text_of[name] for name in PARTS} | {
            "Settings": ", ".join(settings),
            "Also": ", ".join(f"`{name}`" for name in _others(definition)),
            "Exact under a belief": "; ".join(definition.exact),
            "Ties": _ties(definition),
        }
        lines += [f"## {definition.name}", "", _wrapped(text_of["Meaning"]), ""]
        lines += [_wrapped(f"- **{name}**: {point}", indent="  ") for name, point in points.items() if point]
        lines.append("")
    return "\n".join(lines)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    import sys

    sys.stdout.write(reference())
