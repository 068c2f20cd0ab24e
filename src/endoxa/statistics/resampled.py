"""Means over resamples of one collection, which overlap: their standard error must count the overlap."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr, stdtrit

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.tables import Floats


@dataclass(frozen=True)
class Resampled:
    """A mean over resamples: its corrected and its naive standard error, an interval, and p of "the mean is 0"."""

    value: float
    se: float
    naive: float
    lo: float
    hi: float
    p: float


def resampled(values: Floats, test: float, train: float, *, confidence: float = 0.95) -> Resampled:
    """The mean of one value per resample, with Nadeau and Bengio's correction.

    naive = sd/√R; se = sd·√(1/R + test/train), with the sizes of the test and training parts of a resample; interval
    and p by Student's t with R − 1 degrees of freedom. Values that are not finite are left out. Below two values
    nothing but the mean is known: NaN. Equal values have se 0; p is then 1 if they are 0, else NaN.
    Misleads: the correction is a heuristic for random splits of one collection. It says what other splits of these
    pictures would give, hardly what other pictures would.
    Source: Nadeau and Bengio, Machine Learning 52 (2003); docs/methods/words.md, Overlapping resamples.
    """
    if not 0 < confidence < 1:
        raise TextError(f"confidence is {confidence}", remedy="expected a share between 0 and 1")
    known = values[np.isfinite(values)]
    count = len(known)
    mean = float(known.mean()) if count else math.nan
    if count < 2 or not train > 0:
        return Resampled(mean, *[math.nan] * 5)
    sd = float(known.std(ddof=1))
    if sd <= 1e-12 * max(1.0, abs(mean)):  # equal values; the mean of ten times .1 is not .1
        return Resampled(mean, 0.0, 0.0, mean, mean, 1.0 if mean == 0 else math.nan)
    se = sd * math.sqrt(1 / count + test / train)
    reach = float(stdtrit(count - 1, 0.5 + confidence / 2)) * se
    p = 2 * float(stdtr(count - 1, -abs(mean) / se))
    return Resampled(mean, se, sd / math.sqrt(count), mean - reach, mean + reach, p)
