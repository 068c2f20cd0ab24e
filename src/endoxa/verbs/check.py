"""check: is there anything wrong with these files?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import RUN, option
from endoxa.errors import EndoxaError
from endoxa.later import pl
from endoxa.verbs.parameters import Against

if TYPE_CHECKING:
    from endoxa.pools.lint import Finding
    from endoxa.tables import Opinions


def check(
    runs: Annotated[Sequence[str | Path], RUN],
    judgments: Against = None,
    *,
    assessors: Annotated[
        str, option("mean: column 2 of the judgments names the assessor.", metavar="one|mean")
    ] = "one",
) -> list[Finding]:
    """Look for what spoils an evaluation: bad lines, duplicates, ties, missing topics, unjudged and dangling ids.

    Examples:
        endoxa check qrels.txt runs/*.gz
    """
    from endoxa.pools import lint
    from endoxa.pools.lint import Finding
    from endoxa.tables import Opinions
    from endoxa.verbs.inputs import paths_of, reference_of, run_of, settings_of

    findings: list[Finding] = []
    opinions: Opinions | None = None
    if judgments is not None:
        try:
            reference = reference_of(judgments, settings_of({"assessors": assessors}))
            table = reference.table if reference.judges is None else reference.judges.opinions
            if isinstance(table, Opinions):
                opinions = table
                findings += lint.judgments(table, ", ".join(map(str, paths_of(judgments))) or "judgments")
            else:
                findings.append(Finding("fine", f"{', '.join(map(str, paths_of(judgments)))}: {type(table).__name__}"))
        except EndoxaError as error:
            findings.append(Finding("error", str(error)))
    answered: list[pl.DataFrame] = []
    for path in runs:
        try:
            run = run_of(path)
            findings += lint.run(run, str(path), opinions)
            answered.append(run.frame.select("system", "query", path=pl.lit(str(path))).unique(maintain_order=True))
        except EndoxaError as error:
            findings.append(Finding("error", str(error)))
    return findings + (lint.together(pl.concat(answered)) if answered and judgments is None else [])
