"""Weights that are learnt from labels."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.errors import EndoxaError
from endoxa.fusion import fit_weights, fuse
from endoxa.tables import Opinions, Run


def field(seed: int, noise: dict[str, float], queries: int = 40, items: int = 60) -> tuple[Run, Opinions]:
    """Systems that see relevance through noise; every item is judged."""
    rng = np.random.default_rng(seed)
    truth = rng.random((queries, items)) < 0.2
    rows = [
        (system, f"q{q}", f"d{d}", float(score))
        for system, spread in noise.items()
        for q in range(queries)
        for d, score in enumerate(truth[q] + spread * rng.standard_normal(items))
    ]
    judged = [("judge", f"q{q}", f"d{d}", float(truth[q, d])) for q in range(queries) for d in range(items)]
    return (
        Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")),
        Opinions.of(pl.DataFrame(judged, schema=["source", "query", "item", "grade"], orient="row")),
    )


def test_good_systems_weigh_more_and_the_sum_is_better() -> None:
    run, labels = field(3, {"good": 0.5, "fair": 1.0, "noise": 20.0})
    made = fit_weights(run, labels)
    assert made.weights.shape == (5, 3)
    assert (made.weights[:, 0] > made.weights[:, 1]).all() and (made.weights[:, 1] > made.weights[:, 2]).all()
    assert made.weights.mean(axis=1) == pytest.approx(np.ones(5))
    fitted, plain = (endoxa.measure(one, labels, ["AP"]).frame["value"].mean() for one in (made.run, fuse(run, "sum")))
    assert fitted > plain + 0.05  # type: ignore[operator]


def test_a_query_does_not_teach_its_own_weights() -> None:
    run, labels = field(4, {"a": 0.5, "b": 2.0}, queries=10)
    turned = labels.frame.with_columns(
        pl.when(pl.col("query") == "q3").then(1 - pl.col("grade")).otherwise(pl.col("grade")).alias("grade")
    )
    before, after = (fit_weights(run, Opinions.of(one)).run.frame for one in (labels.frame, turned))
    own = pl.col("query") == "q3"
    assert before.filter(own).equals(after.filter(own))
    assert not before.equals(after)


def test_few_labels_give_nearly_equal_weights() -> None:
    run, labels = field(5, {"a": 0.5, "b": 2.0})
    few = Opinions.of(
        labels.frame.filter(pl.col("item").is_in(["d1", "d2"]) & pl.col("query").is_in([f"q{n}" for n in range(6)]))
    )
    spread = np.ptp(fit_weights(run, few).weights, axis=1).mean()
    assert spread < np.ptp(fit_weights(run, labels).weights, axis=1).mean() / 2


def test_labels_that_cannot_teach_are_told() -> None:
    run, labels = field(6, {"a": 1.0, "b": 1.0}, queries=6)
    with pytest.raises(EndoxaError, match="1 queries have a label on a listed item, fewer than the 5 folds"):
        fit_weights(run, Opinions.of(labels.frame.filter(pl.col("query") == "q1")))
    with pytest.raises(EndoxaError, match="all labels say the same"):
        fit_weights(run, Opinions.of(labels.frame.filter(pl.col("grade") == 0)))
    with pytest.raises(EndoxaError, match="at least 2"):
        fit_weights(run, labels, folds=1)
