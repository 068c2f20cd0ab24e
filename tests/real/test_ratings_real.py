"""Ratings of people on real data: agreement before and after calibration, and systems' scores against people.

Expected are the figures in the data's README, which were worked out independently, with the usual shrinkage of 5.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.tables import Opinions, Run

ALPHA = {"facesim": (0.306, 0.398), "wordsim353 set1": (0.665, 0.722), "flickr8k_expert": (0.788, 0.852)}
PEARSON = {"clipscore_vitb32": 0.332, "tifa_mplug-large": 0.597}
SYSTEMS = [
    "meteor", "bleu", "rouge", "spice", "clipscore_vitb32", "tifa_vilt", "tifa_git-large", "tifa_ofa-large",
    "tifa_blip2-flant5xl", "tifa_mplug-large",
]  # fmt: skip
PILOT = 2747741
TOLERANCE = 0.0006  # three digits are given


def facesim(where) -> Opinions:
    """115 raters on the same 28 pairs: without the pilot (the first batch, 3 raters); the mean of who came twice."""
    frame = pl.read_csv(where / "facesim_1_9.csv.gz").filter(pl.col("batch") != PILOT)
    rows = frame.group_by(pl.col("rater").alias("source"), pl.col("pair").alias("item"), maintain_order=True).agg(
        pl.col("response").mean().alias("grade")
    )
    return Opinions.of(rows.with_columns(pl.lit("faces").alias("query")))


def wordsim(where) -> Opinions:
    """13 raters; one pair of words (money, cash) stands twice in the file, and the first counts."""
    frame = pl.read_csv(where / "wordsim353_set1.csv.gz").unique(
        ["Word 1", "Word 2"], keep="first", maintain_order=True
    )
    raters = [name for name in frame.columns if name.isdigit()]
    long = frame.unpivot(raters, index=["Word 1", "Word 2"], variable_name="source", value_name="grade")
    return Opinions.of(long.rename({"Word 1": "query", "Word 2": "item"}))


def flickr(where) -> Opinions:
    frame = pl.read_csv(where / "flickr8k_expert.csv.gz").rename({"image": "query", "caption_id": "item"})
    long = frame.unpivot(["e1", "e2", "e3"], index=["query", "item"], variable_name="source", value_name="grade")
    return Opinions.of(long)


def tifa(where) -> tuple[Opinions, Run]:
    """800 pairs of a text (the query) and a made image, two raters, ten systems."""
    frame = pl.read_csv(where / "tifa_scores.csv.gz").rename({"text_id": "query", "image_path": "item"}).drop("system")
    pair = ["query", "item"]
    people = frame.unpivot(["h1", "h2"], index=pair, variable_name="source", value_name="grade")
    scores = frame.unpivot(SYSTEMS, index=pair, variable_name="system", value_name="score")
    return Opinions.of(people.with_columns(pl.lit("1-5").alias("scale"))), Run.of(scores)


READERS = {"facesim": facesim, "wordsim353 set1": wordsim, "flickr8k_expert": flickr}


@pytest.mark.parametrize("name", READERS)
def test_alpha_before_and_after_calibration(folder, name: str) -> None:
    found = endoxa.rate(READERS[name](folder("ratings")), resamples=100).details
    assert found.after is not None
    assert found.benefit is not None
    held = dict(found.benefit.frame.select("stage", "alpha").iter_rows())["held out"]
    before, after = ALPHA[name]
    print(
        f"\n{name}: {found.raters} raters, {found.pairs} pairs; interval alpha {found.agreement.alpha:.4f} ({before}) "
        f"-> {found.after.alpha:.4f} ({after}); on pairs held out {held:.4f}"
    )
    assert found.agreement.alpha == pytest.approx(before, abs=TOLERANCE)
    assert found.after.alpha == pytest.approx(after, abs=TOLERANCE)
    assert before < held < found.after.alpha  # it helps, and less than in sample


def test_scores_against_people_on_tifa(folder) -> None:
    people, run = tifa(folder("ratings"))
    found = endoxa.rate(people, run, calibrated=False, resamples=200).details
    print(f"\ntifa: {found.pairs} pairs, alpha {found.agreement.alpha:.4f}; r on texts not seen ± its standard error")
    tables = {
        name: {row["system"]: row for row in made.frame.iter_rows(named=True)} for name, made in found.mappings.items()
    }
    for system in SYSTEMS:
        own = tables["isotonic"][system]
        print(f"  {system:20} plain {own['pearson']:.4f}  fit {own['in_sample']:.4f} (noise {own['null']:.4f})", end="")
        for name, rows in tables.items():
            print(f"  {name} {rows[system]['held_out']:.4f} ± {rows[system]['se']:.4f}", end="")
        print()
    for system, expected in PEARSON.items():
        own = tables["isotonic"][system]
        assert own["pearson"] == pytest.approx(expected, abs=TOLERANCE)
        assert own["pairs"] == 800
        assert own["in_sample"] >= abs(own["pearson"]) - 1e-9  # the isotonic map is the best of all nondecreasing ones
        for rows in tables.values():
            assert rows[system]["held_out"] <= own["in_sample"] + 1e-9
            assert rows[system]["held_out"] == pytest.approx(expected, abs=0.05)
    best = max(SYSTEMS, key=lambda system: tables["isotonic"][system]["held_out"])
    assert best == "tifa_mplug-large"
    assert np.isfinite([row["se"] for rows in tables.values() for row in rows.values()]).all()
