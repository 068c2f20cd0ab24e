"""What counts as a rating: a negative grade is none (pooled but not judged), unless calibration made it negative."""

from __future__ import annotations

import polars as pl

CALIBRATED = "calibrated"  # begins the scale of grades that were moved

MOVED = pl.col("scale").fill_null("").str.starts_with(CALIBRATED)
UNJUDGED = ((pl.col("grade") < 0) & ~MOVED).fill_null(False)
GIVEN = pl.col("grade").is_not_null() & ~UNJUDGED
