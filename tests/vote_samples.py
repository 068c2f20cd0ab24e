"""Votes from frames, as crowds publish them."""

import numpy as np
import polars as pl

from endoxa.beliefs.raters import Votes
from endoxa.tables import coded


def votes_of_frame(frame: pl.DataFrame) -> Votes:
    """Votes from the columns item, rater and label; a null label is no vote, but its item stays."""
    items, item = coded(frame["item"].cast(pl.String))
    raters, rater = coded(frame["rater"].cast(pl.String))
    cast = frame["label"].is_not_null().to_numpy()
    classes, label = coded(frame["label"].drop_nulls())
    named = classes.dtype == pl.String
    return Votes(
        item[cast],
        rater[cast],
        label,
        None,
        items.to_list(),
        raters.to_list(),
        classes.to_list() if named else classes.to_numpy().astype(float),
        np.full(len(items), -1),
    )
