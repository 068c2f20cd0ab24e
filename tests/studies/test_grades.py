"""One rule for negative grades, whoever reads them: not judged, unless calibration made them negative."""

import numpy as np
import polars as pl
import pytest

from endoxa.studies.agreement import ratings
from endoxa.studies.calibration import calibrate
from endoxa.studies.estimates import weights
from endoxa.studies.mapping import rated
from endoxa.tables import Opinions


def opinions(grades: list[float], scale: str | None) -> Opinions:
    return Opinions.of(
        pl.DataFrame(
            {
                "source": ["ana"] * len(grades),
                "query": ["q"] * len(grades),
                "item": [f"d{at}" for at in range(len(grades))],
                "grade": grades,
                "scale": [scale] * len(grades),
                "propensity": [0.5] * len(grades),
            }
        )
    )


@pytest.mark.parametrize(("scale", "kept"), [("1-5", [3.0]), (None, [3.0]), ("calibrated 1-5", [-1.0, 3.0])])
def test_what_counts_as_a_rating(scale, kept):
    given = opinions([-1.0, 3.0], scale)
    assert ratings(given).grade.tolist() == kept
    assert rated(given)[0]["rating"].to_list() == kept
    assert sorted(weights(given)["rating"].drop_nulls()) == kept


def test_calibration_marks_what_it_moves_and_leaves_the_rest():
    rows = (
        [("a", at, float(at)) for at in range(1, 6)] + [("b", at, at / 4 + 3) for at in range(1, 6)] + [("b", 9, -1.0)]
    )
    frame = pl.DataFrame(rows, schema=["source", "at", "grade"], orient="row").select(
        "source", pl.lit("q").alias("query"), pl.col("at").cast(pl.String).alias("item"), "grade",
        pl.lit("1-5").alias("scale"), pl.lit("common").alias("role"),
    )  # fmt: skip
    given = Opinions.of(frame)
    moved = calibrate(given, shrinkage=0).apply(given).frame
    assert set(moved.filter(pl.col("grade") == -1)["scale"]) == {"1-5"}
    assert set(moved.filter(pl.col("item") != "9")["scale"]) == {"calibrated 1-5"}
    assert np.isfinite(moved["grade"].to_numpy()).all()
