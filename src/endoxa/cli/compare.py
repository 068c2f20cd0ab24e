"""endoxa compare: which differences between systems are more than chance."""

from __future__ import annotations

from typing import Annotated, Any

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.verbs import compare as verbs

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex", "html")


def print_comparison(
    evaluation: Any, *, form: Annotated[str, output.form_of(*FORMS)] = "table", to: output.To = None
) -> None:
    """Print or write the pairs."""
    output.comparison(evaluation, form, to)


COMMANDS = (
    derived(
        "compare", verbs.compared, print_comparison,
        more="Without judgments, or under a belief: the probability that one is better, in the same possible worlds.",
    ),
)  # fmt: skip
