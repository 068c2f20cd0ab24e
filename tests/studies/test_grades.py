"""One rule for negative grades, whoever reads them: not judged, unless calibration made them negative."""

import numpy as np
import polars as pl
import pytest

from endoxa.studies.agreement import ratings
from endoxa.studies.estimates import weights
from endoxa.studies.grades import cut
from endoxa.studies.rater_calibration import calibrate
from endoxa.studies.score_mapping import rated
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


@pytest.mark.parametrize(
    ("threshold", "given", "at"),
    [(3, [1, 2, 3, 4, 5], 3.5), (3.2, [1, 2, 3, 4, 5], 3.2), (0.5, [0, 1], 0.5), (5, [1, 3, 5, 9], 6), (3, [3], 3)],
)
def test_calibrated_ratings_are_cut_between_grades(threshold, given, at):
    assert cut(threshold, given) == at


def test_the_cut_keeps_precision_right():
    """Three alike judges, 1 to 5, calibrated on common pairs: who says more than 3 must stay the same people."""
    rng = np.random.default_rng(5)
    wrong = {3.0: [], cut(3.0, [1, 2, 3, 4, 5]): []}
    for _ in range(30):
        truth = rng.uniform(1, 5, 60)
        said = np.clip(np.round(truth[None] + 0.3 * rng.standard_normal((3, 60))), 1, 5)
        frame = pl.DataFrame(
            {
                "source": np.repeat(["a", "b", "c"], 60),
                "query": ["q"] * 180,
                "item": [f"d{at}" for at in range(60)] * 3,
                "grade": said.ravel(),
                "role": ["common" if at < 10 else "main" for at in range(60)] * 3,
            }
        )
        moved = calibrate(Opinions.of(frame)).apply(Opinions.of(frame)).frame["grade"].to_numpy()
        for at, errors in wrong.items():
            errors.append((moved > at).mean() - (said > 3).mean())
    assert abs(np.mean(wrong[3.5])) < 0.01
    assert np.mean(wrong[3.0]) > 0.05  # what the cut is there for
