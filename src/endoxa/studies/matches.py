"""Good matches: which results of a search people would rate as good, by the ratings of other queries."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TextError
from endoxa.frozen import dataclass
from endoxa.notes import Note, note, warning
from endoxa.studies.score_mapping import Mapping, mapping
from endoxa.tables import Floats, Opinions, Run

GOOD = 0.625  # of the way up the scale: 3.5 on a scale from 1 to 5


@dataclass(frozen=True, eq=False)
class Matches:
    """What the ratings of some queries say about the results of others, for one system.

    good      a predicted rating from which a result is called a good match
    highest   the highest rating of the scale
    pairs     rated pairs that the map was fitted to, of `queries` queries
    called    how many of them are predicted to be good by maps of the other queries, of which `right` were rated so
    """

    system: str
    good: float
    highest: float
    pairs: int
    queries: int
    called: int
    right: int
    map: Mapping

    @property
    def precision(self) -> float:
        """The share of the pairs called good on held-out queries that people rated as good; NaN where there is none."""
        return self.right / self.called if self.called else math.nan

    def predict(self, scores: Floats) -> Floats:
        """The predicted ratings of the whole list of a query."""
        return self.map.predict(self.system, scores)

    def notes(self) -> list[Note]:
        """How far the line between good matches and the rest can be trusted, and what it was learned from."""
        trust = (
            note("matches.precision", called=self.called, right=self.right, good=self.good)
            if self.called
            else warning("matches.untested", good=self.good)
        )
        read = self.map.frame["input"][0]
        return [trust, note("matches.learned", system=self.system, pairs=self.pairs, queries=self.queries, read=read)]


def learn(
    run: Run, opinions: Opinions, *, scale: tuple[float, float], good: float | None = None, rng: np.random.Generator
) -> Matches:
    """Learn from ratings which scores of the one system of `run` people call good; the run has whole lists.

    A result is good if its predicted rating reaches `good` (by default five eighths up the scale, 3.5 of 1 to 5), and a
    rated pair is good if its mean rating does. The isotonic map and its input are those of `score_mapping`.
    Misleads: precision is that of the rated pairs; if only first ranks were rated, it holds for first ranks.
    Source: Barnard et al., section 2.3; docs/methods/studies.md, Good matches.
    """
    found = mapping(run, opinions, resamples=2, rng=rng)
    system, (lo, hi) = run.systems[0], scale
    if system not in found.maps:
        raise JoinError(f"the ratings teach nothing about the scores of {found.notes[-1]}")
    level = lo + GOOD * (hi - lo) if good is None else good
    if not lo < level <= hi:
        raise TextError(f"a good match is rated above {lo:g} and at most {hi:g}, not {level:g}")
    points, row = found.points[system], found.frame.row(0, named=True)
    called = points.filter(pl.col("predicted") >= level)
    right = called.filter(pl.col("rating") >= level).height
    return Matches(system, level, hi, row["pairs"], row["queries"], called.height, right, found)
