"""endoxa measure: one value per system, query and measure, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from endoxa.cli import loudness, output
from endoxa.cli.derived import derived
from endoxa.verbs.measure import measure

if TYPE_CHECKING:
    from endoxa.tables import Scores

FORMS = ("table", "csv", "tsv", "json", "jsonl", "parquet", "markdown", "latex")


def print_scores(
    scores: Scores, *, form: Annotated[str, output.form_of(*FORMS)] = "table", to: output.To = None
) -> None:
    """Print or write the values."""
    from endoxa.evaluations.sentences import measured

    policy = scores.policy.lines() if loudness.is_full() else [f"{scores.policy} (-v explains)"]
    output.table(scores, form, to, policy, answer=measured(scores))


COMMANDS = (
    derived(
        "measure", measure, print_scores,
        says="Print the value of every measure for every system and query, without means and intervals.",
        more="Parquet keeps the possible worlds too, so that `endoxa.compare` can go on from the file.",
    ),
)  # fmt: skip
