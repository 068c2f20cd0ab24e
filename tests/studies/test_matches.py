"""Good matches: the level, the share of right calls on held-out queries by a slow count, and what is refused."""

import math

import numpy as np
import polars as pl
import pytest

from endoxa.errors import JoinError, TextError
from endoxa.studies.matches import learn
from endoxa.studies.score_mapping import mapping
from endoxa.tables import Opinions, Run

SCALE = (1.0, 5.0)


def rng(seed=7):
    return np.random.default_rng(seed)


def scene(seed=0, queries=30, size=20, moved=0.0):
    """Whole lists of one system whose scores follow ratings; `moved`: every query has a level of its own."""
    stream = rng(seed)
    score = stream.normal(size=queries * size)
    rating = np.clip(np.round(2.2 + 1.2 * score + 0.5 * stream.normal(size=len(score))), 1, 5)
    frame = pl.DataFrame(
        {
            "system": "s",
            "query": np.repeat([f"q{q:02}" for q in range(queries)], size),
            "item": np.tile([f"d{d:02}" for d in range(size)], queries),
            "score": score + np.repeat(moved * stream.normal(size=queries), size),
            "grade": rating,
        }
    )
    some = frame.sample(fraction=0.4, seed=seed).select("query", "item", "grade")
    return Run.of(frame.drop("grade")), Opinions.of(some, source="ann"), frame


@pytest.mark.parametrize(("moved", "read"), [(0.0, "raw"), (9.0, "z")])
def test_what_is_called_good_is_mostly_good_and_by_the_stated_share(moved, read):
    run, opinions, frame = scene(moved=moved)
    found = learn(run, opinions, scale=SCALE, rng=rng())
    assert (found.good, found.highest, found.queries) == (3.5, 5.0, 30)
    assert found.map.frame["input"].to_list() == [read]
    points = mapping(run, opinions, resamples=2, rng=rng()).points["s"]
    called = [(p, r) for p, r in points.select("predicted", "rating").iter_rows() if p >= 3.5]
    assert found.called == len(called) > 10
    assert found.right == sum(r >= 3.5 for _, r in called)
    # the share holds for pairs that nobody rated
    right = every = 0
    for (_,), rows in frame.group_by("query"):
        good = found.predict(rows["score"].to_numpy()) >= 3.5
        every += good.sum()
        right += (rows["grade"].to_numpy()[good] >= 3.5).sum()
    assert right / every == pytest.approx(found.precision, abs=0.12)
    assert right / every > 0.6
    assert (frame["grade"] >= 3.5).mean() < 0.25


def test_the_level():
    run, opinions, _ = scene()
    easy = learn(run, opinions, scale=SCALE, good=2.0, rng=rng())
    low = Opinions.of(opinions.frame.select("query", "item", pl.col("grade").clip(1, 4)), source="ann")
    hard = learn(run, low, scale=SCALE, good=5.0, rng=rng())
    assert easy.called > learn(run, opinions, scale=SCALE, rng=rng()).called > hard.called
    assert hard.called == 0
    assert math.isnan(hard.precision)
    assert [one.code for one in hard.notes()] == ["matches.untested", "matches.learned"]
    codes = {one.code: one.facts for one in easy.notes()}
    assert codes["matches.precision"] == {"called": easy.called, "right": easy.right, "good": 2.0}
    assert codes["matches.learned"]["read"] == "raw"
    for level in (1.0, 5.5, float("nan")):
        with pytest.raises(TextError, match="rated above 1 and at most 5"):
            learn(run, opinions, scale=SCALE, good=level, rng=rng())
    binary = Opinions.of(opinions.frame.select("query", "item", (pl.col("grade") > 3).cast(float)), source="ann")
    assert learn(run, binary, scale=(0.0, 1.0), rng=rng()).good == 0.625


def test_one_query_teaches_nothing():
    run, opinions, _ = scene(queries=1, size=40)
    with pytest.raises(JoinError, match=r"scores of s: all rated pairs belong to one query.+rate results of a second"):
        learn(run, opinions, scale=SCALE, rng=rng())
