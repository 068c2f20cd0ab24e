"""endoxa explain: what a measure means."""

from __future__ import annotations

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.verbs.explain import explain


def print_meaning(text: str, measure: str | None) -> None:
    """Print what a measure means, or all names."""
    first, _, rest = text.partition("\n")
    if measure is None:
        output.say(f"{1 + rest.count(chr(10))} measures are known; endoxa explain NAME says more of one.")
        output.tell(first)
    else:
        output.say(first)
    output.tell(*rest.splitlines())


COMMANDS = (derived("explain", explain, print_meaning),)
