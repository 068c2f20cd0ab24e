"""Raw scores, z and ranks of whole lists, and which of them predicts best."""

import numpy as np
import polars as pl
import pytest

from endoxa.statistics import isotonic
from endoxa.studies.score_inputs import choose, inputs, inputs_of
from endoxa.tables import Run


def test_inputs_by_hand():
    scores = np.array([1.0, 2, 3, 4, 10, 7, 7, 7, 7, 7, 5, 1])
    lists = np.array([0] * 5 + [1] * 5 + [2] * 2)
    found = inputs(scores, lists)
    assert found["raw"] is scores
    z = (np.array([1, 2, 3, 4, 10]) - 4) / np.std([1, 2, 3, 4, 10])
    assert found["z"] == pytest.approx([*z, 0, 0, 0, 0, 0, 0, 0])  # equal scores, and a list of two
    assert found["rank"].tolist() == [-5, -4, -3, -2, -1, -1, -2, -3, -4, -5, -1, -2]
    assert inputs(scores, lists, reverse=True)["rank"].tolist() == [-1, -2, -3, -4, -5, -1, -2, -3, -4, -5, -2, -1]


def test_lists_may_be_mixed_and_need_not_be_sorted():
    stream = np.random.default_rng(1)
    scores, lists = stream.normal(size=60), stream.integers(0, 4, 60)
    found = inputs(scores, lists)
    for number in range(4):
        own = lists == number
        alone = inputs(scores[own], np.zeros(own.sum(), dtype=np.int64))
        for name in ("z", "rank"):
            assert found[name][own] == pytest.approx(alone[name])
        assert found["z"][own].mean() == pytest.approx(0)
        assert found["z"][own].std() == pytest.approx(1)


def test_the_lists_are_those_of_the_run_not_of_the_rated_pairs():
    scores = [9.0, 8, 3, 2, 1, 0, float("-inf")]
    rows = {"system": "s", "query": "q", "item": list("abcdefg"), "score": scores}
    other = {"system": "t", "query": "q", "item": list("abcdefg"), "score": [1.0] * 7}
    run = Run.of(pl.concat([pl.DataFrame(rows), pl.DataFrame(other)]))
    pairs = pl.DataFrame({"query": ["q", "q"], "item": ["e", "a"]})
    found = inputs_of(run, "s", pairs, reverse=False)
    finite = np.array(scores[:-1])
    assert found["z"] == pytest.approx((finite[[4, 0]] - finite.mean()) / finite.std())
    assert found["rank"].tolist() == [-5, -1]
    assert inputs_of(run, "s", pairs, reverse=True)["rank"].tolist() == [-2, -6]


def test_the_choice_is_the_least_error_and_the_first_of_equals():
    stream = np.random.default_rng(2)
    x, fold = stream.normal(size=100), np.arange(100) % 5
    y = x + 0.2 * stream.normal(size=100)
    noise = stream.normal(size=100)
    assert choose({"raw": noise, "z": x, "rank": np.round(x)}, y, fold) == "z"
    assert choose({"raw": x, "z": 2 * x, "rank": noise}, y, fold) == "raw"  # the same fit, the first of both
    assert choose({"raw": np.ones(100), "z": noise, "rank": np.ones(100)}, y, fold) == "z"  # no spread, no map
    assert choose({"raw": noise, "z": x}, y, np.zeros(100, dtype=np.int64)) == "raw"  # nothing can be held out
    assert choose({"rank": x}, y, fold) == "rank"

    def error(values):
        total = 0.0
        for number in range(5):
            test = fold == number
            total += ((isotonic.fit(values[~test], y[~test]).predict(values[test]) - y[test]) ** 2).sum()
        return total

    assert error(x) < error(np.round(x)) < error(noise)


def test_queries_are_held_out_whole():
    """A score that only names the query predicts its other pairs, and not those of other queries."""
    stream = np.random.default_rng(3)
    query = np.repeat(np.arange(5), 20)
    y = 3.0 * query + 0.2 * stream.normal(size=100)
    names = np.array([0.0, 1, 100, 101, 200])  # between which interpolation is wrong
    given = {"raw": names[query], "z": y + stream.normal(size=100)}
    assert choose(given, y, query) == "z"
    assert choose(given, y, np.arange(100) % 5) == "raw"
