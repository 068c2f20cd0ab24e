"""Calibration of raters: a shift and a stretch of the scale for each, fitted on items that several raters graded."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.statistics.bootstrap import TINY
from endoxa.studies.agreement import Ratings, long_alpha, ratings, sums, with_the_others
from endoxa.studies.grades import CALIBRATED, GIVEN, MOVED
from endoxa.tables import Bools, Floats, Ints, Opinions

FEW = 5  # a rater with fewer common items is flagged, because their spread is uncertain


@dataclass(frozen=True, eq=False)
class Calibration:
    """The linear map of each rater's grades: x' = a x + b.

    frame   source, n (common items graded), mean, sd (of those; ddof 0), a, b, correlation (with the mean of the others
            on common items), flags: none, or
              constant          the same grade for all common items: shifted only
              few common items  fewer than five; with one the rater is shifted only, with none unchanged
              reversed          correlation <= 0: a linear map with a > 0 cannot correct a reversed scale
    common  number of common items
    """

    frame: pl.DataFrame
    shrinkage: float
    common: int
    notes: tuple[str, ...] = ()

    def apply(self, opinions: Opinions) -> Opinions:
        """All grades, each mapped by its rater's own a x + b, on common items and all others.

        Grades are not clipped to the scale and may fall below 0; `scale` begins with "calibrated", which tells them
        from unjudged pairs. Undecided and unjudged pairs stay so, and unknown raters keep their grades (see remarks).
        """
        rows = opinions.frame.join(
            self.frame.select("source", "a", "b"), on="source", how="left", maintain_order="left"
        )
        scale = pl.col("scale").fill_null("")
        moved = pl.col("a").is_not_null() & GIVEN
        named = pl.when(MOVED).then(scale).otherwise((pl.lit(CALIBRATED + " ") + scale).str.strip_chars_end())
        return Opinions.of(
            rows.with_columns(
                pl.when(moved).then(pl.col("a") * pl.col("grade") + pl.col("b")).otherwise("grade").alias("grade"),
                pl.when(moved).then(named).otherwise("scale").alias("scale"),
            ).drop("a", "b")
        )

    def remarks(self, opinions: Opinions) -> tuple[str, ...]:
        """Notes on applying the calibration to these opinions: raters that it does not know."""
        known = set(self.frame["source"].to_list())
        unknown = [source for source in opinions.sources if source not in known]
        if not unknown:
            return ()
        grades = opinions.frame.filter(pl.col("source").is_in(unknown) & pl.col("grade").is_not_null()).height
        return (
            f"{len(unknown)} raters (the first: {unknown[0]!r}) are unknown to the calibration; "
            f"their {grades:,} grades are unchanged",
        )


@dataclass(frozen=True, eq=False)
class Benefit:
    """Disagreement on common items before and after calibration: stage, variance, alpha.

    stage     before; in sample (calibrated on the same items); held out (each item calibrated on other items)
    variance  mean over items of the variance between raters (ddof 1)
    alpha     Krippendorff's alpha at the interval level, which does not depend on the scale
    """

    frame: pl.DataFrame
    items: int
    folds: int
    shrinkage: float
    notes: tuple[str, ...] = ()


def calibrate(opinions: Opinions, *, shrinkage: float = 5.0) -> Calibration:
    """A shift and a stretch for each rater, from the moments of the items that raters have in common.

    a_r = √(V/v_r), b_r = M - a_r m_r: m_r, v_r are mean and variance (ddof 0) of the rater's grades on the common items
    J_r that the rater saw, M, V those of *all* raters' grades on the same items. Each item counts once, however many
    raters graded it. After the map, the grades of each rater on J_r have M and V. A spread from few items is uncertain,
    so m_r and v_r are first shrunk towards M and V, with the weight of `shrinkage` = κ items:
    v* = ((n-1) v_unbiased + κ V)/(n-1+κ), m* = (n m + κ M)/(n + κ). κ = 0 is the plain map above (with v_r).
    A constant rater and one with a single common item are shifted only (a = 1); one without common items is unchanged.

    Common items are the rows of role 'common'; without any, all pairs with two or more raters. One that only one rater
    graded is left out.
    Misleads: V contains differences between raters as well as between items, so calibrated grades spread more than
    those of one rater. Differences in quality between the items J_r of different raters are not corrected.
    Source: Barnard and Shirahatti et al.; docs/methods/studies.md, Rater calibration.
    """
    _refuse(shrinkage)
    given, notes = _common(opinions)
    frame = _fit(given, shrinkage)
    for flag in ("constant", "few common items", "reversed"):
        marked = frame.filter(pl.col("flags").str.contains(flag, literal=True))["source"].to_list()
        if marked:
            named = ", ".join(marked[:5]) + (", …" if len(marked) > 5 else "")
            notes.append(f"{len(marked)} of {frame.height} raters flagged {flag}: {named}")
    return Calibration(frame, shrinkage, len(np.unique(given.unit)), tuple(notes))


def benefit(opinions: Opinions, *, shrinkage: float = 5.0, folds: int = 5, rng: np.random.Generator) -> Benefit:
    """Whether calibration improves agreement on items that it was not fitted on.

    Common items are split at random into `folds`; the grades of each fold are mapped by a fit to the other folds.
    In sample, the variance between raters falls by construction: rely on the row `held out`, and on alpha.
    Source: docs/methods/studies.md, Rater calibration.
    """
    _refuse(shrinkage)
    if folds < 2:
        raise TextError(f"held-out items need at least 2 folds, not {folds}", remedy="5 is usual")
    given, notes = _common(opinions)
    units, place = np.unique(given.unit, return_inverse=True)
    used = min(folds, len(units))
    predicted = np.full(len(given.grade), math.nan)
    if used < 2:
        notes.append(f"{len(units)} common items are too few to hold any out")
    else:
        if used < folds:
            notes.append(f"{len(units)} common items allow {used} folds, not {folds}")
        fold = rng.permutation(len(units)) % used
        for number in range(used):
            out = fold[place] == number
            predicted[out] = _mapped(_fit(_where(given, ~out), shrinkage), _where(given, out))
    inside = _mapped(_fit(given, shrinkage), given)
    rows = [
        (stage, _between(place, x), math.nan if np.isnan(x).any() else long_alpha(place, x))
        for stage, x in (("before", given.grade), ("in sample", inside), ("held out", predicted))
    ]
    schema = {"stage": pl.String, "variance": pl.Float64, "alpha": pl.Float64}
    notes.append("a map that shrinks all grades together lowers the variance too; alpha does not depend on the scale")
    return Benefit(pl.DataFrame(rows, schema=schema, orient="row"), len(units), used, shrinkage, tuple(notes))


def _common(opinions: Opinions) -> tuple[Ratings, list[str]]:
    """Grades on items with two or more raters, and notes on them."""
    notes: list[str] = []
    marked = pl.col("role") == "common"
    if opinions.frame.select(marked.any()).item():
        # the other grades become null instead of being dropped, so that every rater keeps a row
        given = ratings(Opinions(opinions.frame.with_columns(pl.when(marked).then("grade").alias("grade"))))
    else:
        given = ratings(opinions)
        notes.append("no row has the role 'common'; all pairs with two or more raters are used as common items")
    shared = np.bincount(given.unit, minlength=given.units.height)[given.unit] > 1
    if not notes and (alone := int((~shared).sum())):
        notes.append(f"{alone:,} common items were graded by only one rater; they are left out")
    if not shared.any():
        notes.append("no pair was graded by two raters; no rater is calibrated")
    return _where(given, shared), notes


def _where(given: Ratings, kept: Bools) -> Ratings:
    return replace(given, rater=given.rater[kept], unit=given.unit[kept], grade=given.grade[kept])


def _fit(given: Ratings, shrinkage: float) -> pl.DataFrame:
    """The table of a calibration, from grades on common items."""
    rater, unit, x, many = given.rater, given.unit, given.grade, len(given.sources)
    n, m, squares = _moments(rater, x, many)
    size, mean, within = _moments(unit, x, given.units.height)
    # all raters' grades on the items that each rater saw; a mean over items, each of them a mean over its raters
    M = _over(sums(rater, mean[unit], many), n)
    V = _over(sums(rater, within[unit] / size[unit] + (mean[unit] - M[rater]) ** 2, many), n)
    v = _over(squares, n)
    stretched = (n > 1) & (squares > 0)
    spread = (squares + shrinkage * V) / np.maximum(n - 1 + shrinkage, 1) if shrinkage > 0 else v
    a = np.where(stretched, np.sqrt(V / np.where(stretched, spread, 1)), 1.0)
    b = np.where(n > 0, M - a * (n * m + shrinkage * M) / np.maximum(n + shrinkage, 1), 0.0)
    correlation = with_the_others(given)[0]
    flags = {"constant": (n > 1) & (squares == 0), "few common items": n < FEW, "reversed": correlation <= 0}
    frame = pl.DataFrame(
        {
            "source": pl.Series(given.sources, dtype=pl.String), "n": n.astype(np.int64), "mean": m, "sd": np.sqrt(v),
            "a": a, "b": b, "correlation": correlation,
        }
    )  # fmt: skip
    words = [pl.when(pl.Series(at)).then(pl.lit(flag)) for flag, at in flags.items()]
    return frame.with_columns(pl.concat_str(words, separator=", ", ignore_nulls=True).alias("flags"))


def _mapped(frame: pl.DataFrame, given: Ratings) -> Floats:
    """a x + b of each grade."""
    a, b = frame["a"].to_numpy(), frame["b"].to_numpy()
    return np.asarray(a[given.rater] * given.grade + b[given.rater])


def _moments(at: Ints, x: Floats, many: int) -> tuple[Floats, Floats, Floats]:
    """Count, mean (NaN of none) and sum of squares about it, at each place."""
    n = np.bincount(at, minlength=many).astype(np.float64)
    mean = _over(sums(at, x, many), n)
    left = x - mean[at]
    left[np.abs(left) <= TINY * np.abs(x)] = 0  # rounding, not data
    return n, mean, sums(at, left**2, many)


def _between(unit: Ints, x: Floats) -> float:
    """Mean over items of the variance between raters (ddof 1)."""
    if not len(x) or np.isnan(x).any():
        return math.nan
    n, _, squares = _moments(unit, x, 0)
    return float((squares / (n - 1)).mean())


def _over(part: Floats, n: Floats) -> Floats:
    """part/n, NaN where n is 0."""
    return np.where(n > 0, part / np.maximum(n, 1), np.nan)


def _refuse(shrinkage: float) -> None:
    if not 0 <= shrinkage < math.inf:
        raise TextError(
            f"shrinkage is a number of items from 0 up, not {shrinkage}", remedy="5 is usual, 0 is the plain map"
        )
