"""Pages: one self-contained HTML file each, that opens offline, prints, and works on a phone and for screen readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import Evaluation


def page(evaluation: Evaluation) -> str:
    """The page of an evaluation, of whatever kind."""
    from endoxa.reports.pages import evaluation as any_kind
    from endoxa.reports.pages import ratings

    return ratings.page(evaluation) if evaluation.kind == "ratings" else any_kind.page(evaluation)
