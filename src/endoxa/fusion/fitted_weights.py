"""Weights of the systems in a sum of scores, learnt from labels; each query is fused by weights that did not see it."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit

from endoxa.errors import TableError, TextError
from endoxa.frozen import dataclass
from endoxa.fusion.combining import blocks, total
from endoxa.tables import Floats, Ints, Opinions, Run

PRIOR = 1.0  # standard deviation of a weight about the common one


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fused run, the weights of the systems in each fold (folds × systems, mean 1), and how many labels taught."""

    run: Run
    weights: Floats
    labels: int
    queries: int


def fit_weights(
    run: Run, labels: Opinions, *, norm: str = "min-max", folds: int = 5, rel: float = 1, seed: int = 0,
    name: str = "fitted",
) -> Fitted:  # fmt: skip
    """The weighted sum of scores, its weights fitted by logistic regression of relevance on the scores.

    log odds of relevance = a + Σ_s w_s x_s, w_s ≥ 0, w_s ~ N(w, 1) about a common w: few labels give CombSUM, many give
    what they say. Labelled queries are cut into folds, and those of a fold are fused by weights learnt from the others;
    queries without a label are fused by weights learnt from all.
    Misleads: labels of a pool made by some of the systems favour these.
    """
    if folds < 2:
        raise TextError(f"folds is {folds}", remedy="expected at least 2: a query must not teach its own weights")
    pairs, values = _gathered(run, norm)
    known = pairs.join(_yes(labels, rel), on=["query", "item"], how="left", maintain_order="left")["yes"]
    row = known.is_not_null().to_numpy()
    taught = pairs["query"].filter(known.is_not_null()).unique().sort()
    if len(taught) < folds:
        raise TableError(
            f"{len(taught)} queries have a label on a listed item, fewer than the {folds} folds",
            remedy="label more queries, or use a method that learns nothing (rrf)",
        )
    yes = known.fill_null(False).to_numpy()
    if not yes[row].any() or yes[row].all():
        raise TableError(
            "all labels say the same, which teaches nothing about the systems", remedy="use a method such as rrf"
        )
    fold = _folds(taught, pairs["query"], folds, seed)
    fitted = np.array([_fit(values[row & (fold != one)], yes[row & (fold != one)]) for one in range(-1, folds)])
    scores = np.empty(len(values))
    for one, weights in zip(range(-1, folds), fitted, strict=True):
        scores[fold == one] = total(values[fold == one] * weights)
    fused = Run.of(pairs.with_columns(pl.Series("score", scores)), system=name)
    return Fitted(fused, fitted[1:], int(row.sum()), len(taught))


def _gathered(run: Run, norm: str) -> tuple[pl.DataFrame, Floats]:
    """Every pair, and its normalised scores: pairs × systems, 0 where a system does not list it."""
    parts = list(blocks(run, norm))
    if not parts:
        raise TableError("the runs list nothing; there is nothing to fuse")
    return pl.concat([frame for _, frame in parts]), np.concatenate([np.nan_to_num(one.scores) for one, _ in parts])


def _yes(labels: Opinions, rel: float) -> pl.DataFrame:
    """Whether a pair is relevant: the majority of those who say; a draw is a yes."""
    said = labels.frame.filter(pl.col("grade").is_not_null())
    return said.group_by("query", "item").agg(((pl.col("grade") >= rel).mean() >= 0.5).alias("yes"))


def _folds(taught: pl.Series, query: pl.Series, folds: int, seed: int) -> Ints:
    """The fold of every pair; -1 for queries without a label."""
    place = np.random.default_rng(seed).permutation(len(taught)) % folds
    return query.replace_strict(taught, place, default=-1, return_dtype=pl.Int64).to_numpy()


def _fit(x: Floats, yes: Floats) -> Floats:
    """The weights, scaled to mean 1; all 1 if nothing was learnt."""
    systems = x.shape[1]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        base, common, weights = parameters[0], parameters[1], parameters[2:]
        odds = base + x @ weights
        apart = (weights - common) / PRIOR
        slope = expit(odds) - yes
        value = float(np.logaddexp(0, odds).sum() - odds[yes].sum() + (apart**2).sum() / 2)
        return value, np.concatenate([[slope.sum(), -apart.sum() / PRIOR], x.T @ slope + apart / PRIOR])

    start = np.concatenate([[0.0, 1.0], np.ones(systems)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(None, None), (0, None)] + [(0, None)] * systems)
    weights = found.x[2:]
    return weights / weights.mean() if weights.sum() > 0 else np.ones(systems)
