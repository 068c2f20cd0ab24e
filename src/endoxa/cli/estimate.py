"""endoxa estimate: what a few labels say, even if the belief is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from endoxa.cli import output
from endoxa.cli.derived import derived
from endoxa.declared import option
from endoxa.verbs.estimate import estimate

if TYPE_CHECKING:
    from endoxa.comparisons.prediction import Estimates

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex")


def print_estimates(
    estimates: Estimates,
    *,
    confidence: float,
    pairs: Annotated[bool, option("Differences between systems instead of values.")] = False,
    form: Annotated[str, output.form_of(*FORMS)] = "table",
    to: output.To = None,
) -> None:
    """Print or write the estimates."""
    from endoxa.evaluations.sentences import estimated

    rows = estimates.best_first(pairs=pairs) if form == "table" else estimates.pairs if pairs else estimates.frame
    output.table(rows, form, to, estimates.notes, answer=estimated(estimates, confidence))


COMMANDS = (derived("estimate", estimate, print_estimates),)
