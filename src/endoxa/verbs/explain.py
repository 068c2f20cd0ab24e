"""explain: what a measure means."""

from __future__ import annotations

from endoxa.measures.explain import explain as explained
from endoxa.measures.explain import parts
from endoxa.measures.grammar import KNOWN


def explain(measure: str | None = None) -> str:
    """Definition, formula, when it misleads, source, settings and other names of a measure; without one, all names.

    >>> print(explain("Success@5").splitlines()[0])
    Success: Whether the first k hold anything relevant.
    """
    if measure is not None:
        return explained(measure)
    width = max(map(len, KNOWN))
    return "\n".join(f"{name:{width}}  {parts(definition)['Meaning']}" for name, definition in KNOWN.items())
