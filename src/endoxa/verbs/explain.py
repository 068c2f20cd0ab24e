"""explain: what a measure means."""

from __future__ import annotations

from typing import Annotated

from endoxa.declared import argument


def explain(
    measure: Annotated[str | None, argument("A measure; without one, all are listed.", "MEASURE")] = None,
) -> str:
    """Say what a measure means: definition, formula, when it misleads, source.

    Its settings and other names follow; without a measure, all names.

    Examples:
        endoxa explain nDCG
        endoxa explain ndcg_cut_10
        endoxa explain

    >>> print(explain("Success@5").splitlines()[0])
    Success: Whether the first k hold anything relevant.
    """
    from endoxa.measures.explain import explain as explained
    from endoxa.measures.explain import parts
    from endoxa.measures.grammar import KNOWN

    if measure is not None:
        return explained(measure)
    width = max(map(len, KNOWN))
    return "\n".join(f"{name:{width}}  {parts(definition)['Meaning']}" for name, definition in KNOWN.items())
