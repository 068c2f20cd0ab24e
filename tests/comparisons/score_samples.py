"""Scores made by hand."""

import polars as pl

from endoxa.policies import Policy
from endoxa.tables import Scores


def scores(**measures):
    """Scores from measure={system: [value of q0, q1, …]}; None leaves the row out."""
    rows = [
        (system, f"q{place:02}", measure, value)
        for measure, systems in measures.items()
        for system, values in systems.items()
        for place, value in enumerate(values)
        if value is not None
    ]
    frame = pl.DataFrame(rows, schema=["system", "query", "measure", "value"], orient="row")
    systems = list(dict.fromkeys(system for given in measures.values() for system in given))
    return Scores(frame.cast({"value": pl.Float64}), Policy(), pl.DataFrame({"system": systems}))
