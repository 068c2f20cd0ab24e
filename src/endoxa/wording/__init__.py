"""The sentence of every note, by its code: a template of str.format over the facts, or a function of them.

One module for each area. `tests/architecture/messages.txt` lists all of them, to be reviewed when they change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from endoxa.wording import backtesting, believing, comparing, evaluating, machine_judges, studying
from endoxa.wording.phrases import Template

CATALOGUE: Mapping[str, Template] = (
    {"text": "{text}"}
    | backtesting.NOTES
    | believing.NOTES
    | comparing.NOTES
    | evaluating.NOTES
    | machine_judges.NOTES
    | studying.NOTES
)


def sentence(code: str, facts: Mapping[str, Any]) -> str:
    """The sentence. A code that is not in the catalogue, or a fact that its template lacks, is a KeyError."""
    known = {name: value for name, value in facts.items() if name != "of"}
    template = CATALOGUE[code]
    words = template.format(**known) if isinstance(template, str) else template(**known)
    return "".join(f"{part}: " for part in facts.get("of", ())) + words
