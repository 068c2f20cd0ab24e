"""What a search gives to others: its marks as opinions, its pages as runs, what was found as an answer."""

from __future__ import annotations

from typing import Any

import polars as pl

from endoxa.searches.session import State
from endoxa.tables import Answers, Opinions, Run

OPINION: dict[str, Any] = {
    "source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64, "scale": pl.String,
    "selected_by": pl.String, "propensity": pl.Float64,
}  # fmt: skip
LISTED: dict[str, Any] = {"system": pl.String, "query": pl.String, "item": pl.String, "score": pl.Float64}
FOUND: dict[str, Any] = {"source": pl.String, "query": pl.String, "item": pl.String, "rank": pl.Int64}
BROWSED = ("browse", None)  # of a picture that no page of the search showed


def opinions(state: State, name: str, source: str) -> Opinions:
    """The marks as opinions about the query `name`: grades from 0 to 4, for a negative one would mean unjudged.

    A picture that was found, and not marked, is highly relevant. `selected_by` is the place for which the picture was
    shown last, and `propensity` the chance by which it was drawn, which a page of the map has not.
    """
    shown = {
        item: (slot, chance)
        for page in state.pages
        for item, slot, chance in zip(page.items, page.slots, page.propensity, strict=True)
    }
    marks = {**state.marks, **{item: 2 for item in state.found if item not in state.marks}}
    rows = [(source, name, item, grade + 2.0, "0-4", *shown.get(item, BROWSED)) for item, grade in marks.items()]
    return Opinions.of(pl.DataFrame(rows, schema=OPINION, orient="row"))


def run(state: State, name: str) -> Run:
    """What was shown for the query `name`: one system per round, its pictures in the order of the page."""
    rows = [
        (f"round-{page.round:02d}", name, item, float(len(page.items) - at))
        for page in state.pages
        for at, item in enumerate(page.items)
    ]
    return Run.of(pl.DataFrame(rows, schema=LISTED, orient="row"))


def answers(state: State, name: str, source: str) -> Answers:
    """What was found for the query `name`, in the order of finding."""
    rows = [(source, name, item, rank) for rank, item in enumerate(state.found, start=1)]
    return Answers.of(pl.DataFrame(rows, schema=FOUND, orient="row"))
