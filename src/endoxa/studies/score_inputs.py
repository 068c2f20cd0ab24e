"""What a map from scores to ratings reads: the score, its place among the scores of the query, or the rank.

Raw scores suit systems whose scores mean the same for every query, such as a share of matching words. Where each query
has a level of its own, the score is compared within the query, or only the order counts.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from endoxa.policies import Input
from endoxa.statistics import isotonic
from endoxa.statistics.bootstrap import TINY
from endoxa.tables import Floats, Ints, Run

RANK: Input = "rank"
SHORTEST = 5  # a list with fewer scores has no z: it is 0
TIED = 1e-9  # errors that differ by no more are equal


def inputs(scores: Floats, lists: Ints, *, reverse: bool = False) -> dict[Input, Floats]:
    """Every input of whole lists: raw, z and rank; `lists` numbers the list of each score, from 0.

    raw   the score
    z     (score − mean)/sd over the list; 0 if all its scores are equal or there are fewer than 5
    rank  −rank in the list, of the highest score first (`reverse`: of the lowest)
    """
    count = np.bincount(lists)
    mean = np.bincount(lists, scores) / count
    away = scores - mean[lists]
    sd = np.sqrt(np.bincount(lists, away**2) / count)
    greatest = np.zeros(len(count))
    np.maximum.at(greatest, lists, np.abs(scores))
    known = (count >= SHORTEST) & (sd > TINY * greatest)
    z = np.where(known[lists], away / np.where(known, sd, 1.0)[lists], 0.0)
    order = np.lexsort((np.arange(len(scores)), scores if reverse else -scores, lists))
    rank = np.empty(len(scores))
    rank[order] = np.arange(len(scores)) - (np.cumsum(count) - count)[lists[order]] + 1
    return {"raw": scores, "z": z, RANK: -rank}


def inputs_of(run: Run, system: str, pairs: pl.DataFrame, *, reverse: bool) -> dict[Input, Floats]:
    """The inputs of these pairs (query, item), each with a finite score; the lists are those of the whole run."""
    own = (pl.col("system") == system) & pl.col("score").is_finite()
    lists = run.frame.filter(own).join(pairs.select("query").unique(), on="query", how="semi", maintain_order="left")
    number = lists["query"].rank("dense").to_numpy().astype(np.int64) - 1
    found = inputs(lists["score"].to_numpy(), number, reverse=reverse)
    columns = lists.select("query", "item").with_columns(pl.Series(name, values) for name, values in found.items())
    at = pairs.select("query", "item").join(columns, on=["query", "item"], how="left", maintain_order="left")
    return {name: at[name].to_numpy() for name in found}


def choose(given: Mapping[Input, Floats], y: Floats, fold: Ints) -> Input:
    """The input whose isotonic maps have the least squared error on held-out folds; ties in the order given.

    An input without spread is left out. Without a second fold nothing can be held out, and the first input is chosen.
    """
    usable = [name for name, x in given.items() if np.ptp(x) > TINY * np.abs(x).max(initial=0)]
    folds = np.unique(fold).tolist()
    if len(usable) < 2 or len(folds) < 2:
        return (usable or list(given))[0]
    errors = {}
    for name in usable:
        x, total = given[name], 0.0
        for number in folds:
            test = fold == number
            total += float(((isotonic.fit(x[~test], y[~test]).predict(x[test]) - y[test]) ** 2).sum())
        errors[name] = total / len(y)
    least = min(errors.values())
    return next(name for name, error in errors.items() if error <= least + TIED)
