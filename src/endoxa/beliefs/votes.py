"""Belief from opinions of people or automatic judges without a model of their errors: shares, readings, or grades."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError, TextError
from endoxa.notes import Note, note
from endoxa.tables import Belief, Floats, Opinions, coded

PEOPLE = 200  # resamples of the people


def crisp(opinions: Opinions) -> Belief:
    """Judgments as certain: one reading, every probability 0 or 1. Undecided answers are left out."""
    rows = _decided(opinions, negative=True)
    _refuse_repeats(rows, "votes (shares) or subjects (one reading each)")
    frame = rows.select("query", "item", "grade", pl.lit(1.0).alias("p"))
    return Belief.of(frame, model="crisp", notes=[note("belief.crisp")])


def graded(opinions: Opinions) -> Belief:
    """A grade in [0, 1] read as the probability of being relevant (Gimel'farb's W)."""
    rows = _decided(opinions)
    _refuse_repeats(rows, "votes, or subjects")
    outside = rows.filter(~pl.col("grade").is_between(0, 1))
    if outside.height:
        raise TableError(
            f"grade {outside['grade'][0]:g} of item {outside['item'][0]!r} is not a probability",
            remedy="--model graded takes grades in [0, 1]; rescale them, five levels from -2 to 2 by (g + 2)/4",
        )
    frame = rows.select("query", "item", pl.lit(1.0).alias("grade"), pl.col("grade").alias("p"))
    return Belief.of(frame, model="graded", notes=[note("belief.graded")])


def votes(
    opinions: Opinions, *, smoothing: float = 0.0, people: int = PEOPLE, rng: np.random.Generator | None = None
) -> Belief:
    """Shares of the votes: p(grade) = (votes for it + s · its share of all votes) / (votes + s). Undecided are dropped.

    `smoothing` s is a number of pseudo-votes, distributed as the grades of all items; use one or two if there are
    fewer than ten votes. Every person has the same weight; Dawid–Skene weighs them.
    """
    if not (smoothing >= 0 and np.isfinite(smoothing)):
        raise TextError(f"smoothing is a number, 0 or greater, not {smoothing}")
    rows = _decided(opinions)
    dropped = len(opinions) - rows.height
    levels, place = np.unique(rows["grade"].to_numpy(), return_inverse=True)
    if len(levels) == 1 and levels[0] > 0:  # without any no, 'no' is still a grade
        levels, place = np.array([0.0, levels[0]]), place + 1
    mass = np.zeros((rows.height, len(levels)))
    mass[np.arange(rows.height), place] = 1.0
    notes = [note("belief.votes", sources=len(opinions.sources), smoothing=smoothing, dropped=dropped)]
    return _shares(rows, levels, mass, smoothing, model="votes", notes=notes, people=people, rng=rng)


def _shares(
    rows: pl.DataFrame, levels: Floats, mass: Floats, smoothing: float, *, model: str, notes: list[Note], people: int,
    rng: np.random.Generator | None,
) -> Belief:  # fmt: skip
    """Mean over sources of their distributions, pair by pair."""
    pairs = rows.select("query", "item").unique().sort("query", "item")
    numbered = pairs.with_row_index("row")
    at = rows.join(numbered, on=["query", "item"], how="left", maintain_order="left")["row"].to_numpy()
    shares, count = _counted(at, mass, np.ones(len(at)), pairs.height)
    usual = smoothing * shares.sum(0) / max(float(count.sum()), 1.0)
    p = (shares + usual) / (count + smoothing)[:, None]
    kept = levels != 0
    if not kept.any():  # all gave grade 0
        levels, p, kept = np.append(levels, 1.0), np.column_stack([p, np.zeros(len(p))]), np.append(kept, True)
    frame = pairs[np.repeat(np.arange(pairs.height), kept.sum())].with_columns(
        pl.Series("grade", np.tile(levels[kept], pairs.height)), pl.Series("p", np.clip(p[:, kept].ravel(), 0, 1))
    )
    sources, who = coded(rows["source"])
    if people and len(sources) > 1:
        rng = rng or np.random.default_rng(0)
        drawn = rng.multinomial(len(sources) - 1, np.full(len(sources), 1 / len(sources)), size=people)  # see subjects
        several = np.empty((frame.height, people), dtype=np.float32)
        for number, weights in enumerate(drawn):
            shared, total = _counted(at, mass, weights[who].astype(float), pairs.height)
            whole = (total + smoothing)[:, None]
            own = np.where(whole > 0, (shared + usual) / np.where(whole > 0, whole, 1.0), p[:, : mass.shape[1]])
            own = np.column_stack([own, np.zeros(len(own))]) if own.shape[1] < len(kept) else own
            several[:, number] = np.clip(own[:, kept], 0, 1).ravel()
        frame = frame.with_columns(pl.Series("people", several, dtype=pl.Array(pl.Float32, people)))
    elif people:
        notes = [*notes, note("belief.one_source")]
    return Belief.of(frame, model=model, notes=notes)


def _counted(at: Any, mass: Floats, weight: Floats, rows: int) -> tuple[Floats, Floats]:
    """Weighted mass of each level and weighted number of sources, by pair."""
    sums = np.stack([np.bincount(at, weight * column, rows) for column in mass.T], axis=1)
    return sums.astype(np.float64), np.bincount(at, weight, rows).astype(np.float64)


def subjects(opinions: Opinions, *, people: int = PEOPLE, rng: np.random.Generator | None = None) -> Belief:
    """One reading per person, equally weighted, in which items that the person did not judge are not relevant."""
    rows = _decided(opinions)
    sources = rows["source"].unique().sort().to_list()
    frame = rows.select(
        "query", pl.col("source").alias("reading"), pl.lit(1.0).alias("weight"), "item", "grade", pl.lit(1.0).alias("p")
    )
    if people and len(sources) > 1:
        frame = _resampled_weights(frame, people, rng or np.random.default_rng(0))
    pairs = rows.select(pl.struct("query", "item").n_unique()).item() * len(sources)
    gaps = 1 - rows.height / max(pairs, 1)
    return Belief.of(frame, model="subjects", notes=[note("belief.subjects", people=len(sources), gaps=gaps)])


def _resampled_weights(frame: pl.DataFrame, people: int, rng: np.random.Generator) -> pl.DataFrame:
    """How often each reading's person was drawn, as a share of the query's."""
    readings, who = coded(frame["reading"])
    size = len(readings)
    # one person less than there are: the mean of S - 1 drawn from S varies by s²/S, that of S drawn by (S - 1)/S of it
    drawn = rng.multinomial(size - 1, np.full(size, 1 / size), size=people).astype(np.float64)  # [resample, person]
    queries, where = coded(frame["query"])
    asked = np.zeros((len(queries), size))
    asked[where, who] = 1.0
    total = asked @ drawn.T  # [query, resample]
    share = np.where(total > 0, 1 / np.where(total > 0, total, 1.0), 0.0)
    even = (1 / asked.sum(1))[:, None]
    weight = np.where(total[where] > 0, drawn.T[who] * share[where], even[where])
    same = np.ones((frame.height, people), dtype=np.float32) * frame["p"].to_numpy()[:, None].astype(np.float32)
    return frame.with_columns(
        pl.Series("people", same, dtype=pl.Array(pl.Float32, people)),
        pl.Series("people_weight", weight.astype(np.float32), dtype=pl.Array(pl.Float32, people)),
    )


def pinned(belief: Belief, labels: Opinions) -> Belief:
    """The belief with the judged pairs certain, in every reading; what it did not mention before is added."""
    rows = _decided(labels)
    _refuse_repeats(rows, "one label for each pair: merge them first")
    sure = rows.select("query", "item", "grade", pl.lit(1.0).alias("p"))
    readings = belief.frame.select(
        "query", "reading", "weight", *(c for c in ("people_weight",) if c in belief.frame.columns)
    ).unique(["query", "reading"], maintain_order=True)
    known = sure.join(readings, on="query", how="inner")
    rest = belief.frame.join(sure, on=["query", "item"], how="anti")
    columns = belief.frame.columns
    if "people" in columns:  # what is judged is certain under every resample of the people
        dtype: Any = belief.frame.schema["people"]
        ones = np.ones((known.height, dtype.shape[0]), dtype=np.float32)
        known = known.with_columns(pl.Series("people", ones, dtype=dtype))
    frame = pl.concat([rest.select(columns), known.select(columns)])
    lost = sure.join(readings, on="query", how="anti").height
    notes = (*belief.notes, note("belief.pinned", pairs=rows.height - lost, lost=lost))
    return Belief.of(frame, unmentioned=belief.unmentioned, model=f"{belief.model}, pinned", notes=notes)


def _decided(opinions: Opinions, *, negative: bool = False) -> pl.DataFrame:
    """Rows with a grade; a negative one means pooled but not judged, which only crisp judgments keep."""
    rows = opinions.frame.filter(pl.col("grade").is_not_null())
    if not negative:
        rows = rows.filter(pl.col("grade") >= 0)
    if not rows.height:
        raise JoinError("there is no decided opinion: every grade is empty, or negative (not judged)")
    return rows


def _refuse_repeats(rows: pl.DataFrame, remedy: str) -> None:
    pairs = rows.select("query", "item")
    if (twice := pairs.filter(pairs.is_duplicated())).height:
        query, item = twice.row(0)
        raise TableError(f"item {item!r} of query {query!r} has several opinions", remedy=f"use the model {remedy}")
