"""summarise(): one number per system and measure."""

import math

import numpy as np
import pytest
from score_samples import scores

from endoxa.comparisons.intervals import summarise
from endoxa.errors import TextError
from endoxa.statistics.bootstrap import mean_intervals
from endoxa.statistics.bounded import bounded_intervals

NAN = float("nan")


def rng(seed=7):
    return np.random.default_rng(seed)


def one(table, **settings):
    return summarise(table, rng=rng(), resamples=500, **settings).row(0, named=True)


def test_rows_go_by_system_then_measure_as_given():
    made = summarise(
        scores(RR={"b": [0.1, 0.2], "a": [1, 0.5]}, AP={"b": [0.3, 0.4], "a": [0.2, 0.1]}), rng=rng(), resamples=99
    )
    assert made.columns == ["system", "measure", "value", "lo", "hi", "se", "queries", "undefined"]
    assert made.select("system", "measure").rows() == [("b", "RR"), ("b", "AP"), ("a", "RR"), ("a", "AP")]
    assert made["value"].to_list() == pytest.approx([0.15, 0.35, 0.75, 0.15])


@pytest.mark.parametrize("method", ["bootstrap-t", "percentile"])
def test_mean_with_its_interval(method):
    values = rng(1).beta(1, 2, 50)
    row = summarise(scores(AP={"a": values}), interval=method, confidence=0.9, resamples=20_000, rng=rng()).row(
        0, named=True
    )
    made = mean_intervals(values, method=method, confidence=0.9, resamples=20_000, rng=rng(3))
    assert row["value"] == pytest.approx(values.mean())
    assert row["se"] == pytest.approx(values.std(ddof=1) / math.sqrt(50))
    assert (row["lo"], row["hi"]) == pytest.approx((float(made.lo), float(made.hi)), abs=0.003)


def test_an_undefined_query_is_counted_not_averaged():
    row = one(scores(AP={"a": [0.2, NAN, 0.4, 0.6], "b": [0.1, 0.1, 0.1, 0.1]}))
    assert row["value"] == pytest.approx(0.4)
    assert (row["queries"], row["undefined"]) == (3, 1)


def test_a_query_never_scored_is_neither():
    row = one(scores(AP={"a": [0.2, None, 0.4, NAN], "b": [0.1, 0.1, 0.1, 0.1]}))
    assert (row["value"], row["queries"], row["undefined"]) == (pytest.approx(0.3), 2, 1)


@pytest.mark.parametrize("way", ["mean", "geometric", "sum"])
def test_nothing_defined_is_nan(way):
    row = one(scores(AP={"a": [NAN, NAN], "b": [0.2, 0.1]}), aggregate={"AP": way})
    ends = [row[name] for name in ("lo", "hi", "se")]
    assert math.isnan(row["value"])
    assert ends == [None] * 3 if way == "sum" else all(math.isnan(end) for end in ends)
    assert (row["queries"], row["undefined"]) == (0, 2)


def test_a_sum_has_no_interval():
    row = one(scores(num_rel={"a": [1, NAN] + [0] * 48}), aggregate={"num_rel": "sum"})
    assert row["value"] == 1  # not 49 · (1/49), which falls short of it
    assert row["lo"] is row["hi"] is row["se"] is None
    assert (row["queries"], row["undefined"]) == (49, 1)


def test_geometric_mean_is_trec_evals():
    values = [0.5, 0.25, 0.0, 1.0, 0.125, 0.7]
    row = one(scores(gm_map={"a": values}), aggregate={"gm_map": "geometric"})
    assert row["value"] == pytest.approx(math.exp(sum(math.log(max(v, 1e-5)) for v in values) / 6))
    assert 0 < row["lo"] < row["value"] < row["hi"]


def test_geometric_interval_is_the_mean_of_logs_exponentiated():
    values = rng(1).uniform(0.05, 1, 40)
    row = one(scores(gm_map={"a": values}), aggregate={"gm_map": "geometric"})
    logs = one(scores(gm_map={"a": np.log(values)}))
    assert (row["lo"], row["hi"]) == pytest.approx((math.exp(logs["lo"]), math.exp(logs["hi"])))
    assert row["se"] == pytest.approx(row["value"] * logs["se"])


def test_an_unbounded_geometric_mean_stays_unbounded():
    row = one(scores(gm_map={"a": [0.5] * 20 + [0.0]}), aggregate={"gm_map": "geometric"})
    assert (row["lo"], row["hi"]) == (0, math.inf)


def test_a_row_does_not_depend_on_the_others():
    values = rng(1).beta(1, 2, (4, 30))
    whole = summarise(
        scores(RR={"x": values[0], "y": values[1]}, AP={"x": values[2], "y": values[3]}), rng=rng(), resamples=500
    )
    assert whole.row(3)[2:] == pytest.approx(
        summarise(scores(AP={"y": values[3]}), rng=rng(), resamples=500).row(0)[2:]
    )


def test_an_unknown_way_is_refused():
    with pytest.raises(TextError, match="AP is joined by one of mean, sum, geometric, not 'geometrical'; did you mean"):
        one(scores(AP={"a": [0.1, 0.2]}), aggregate={"AP": "geometrical"})


def test_a_known_range_gives_the_bounded_interval() -> None:
    values = [1.0] * 9 + [0.0, 0.5, 0.5]
    free = one(scores(RR={"a": values}))
    kept = one(scores(RR={"a": values}), limits={"RR": (0, 1)})
    within = bounded_intervals(np.array(values), 0, 1, resamples=500, rng=rng())
    assert free["hi"] > 1
    assert (kept["lo"], kept["hi"]) == (float(within.lo), float(within.hi))
    half = one(scores(DCG={"a": values}), limits={"DCG": (0, math.inf)})
    assert (half["lo"], half["hi"]) == (free["lo"], free["hi"])


def test_a_geometric_mean_has_its_range_in_logs() -> None:
    given = scores(gm_map={"a": [0.5] * 20 + [0.0]})
    row = one(given, aggregate={"gm_map": "geometric"}, limits={"gm_map": (0, 1)})
    logs = bounded_intervals(np.log([0.5] * 20 + [1e-5]), math.log(1e-5), 0, resamples=500, rng=rng())
    assert (row["lo"], row["hi"]) == pytest.approx((math.exp(logs.lo), math.exp(logs.hi)))


@pytest.mark.parametrize("failures", [0, 1])
def test_where_hardly_any_query_differs_the_interval_is_clopper_and_pearsons(failures) -> None:
    from scipy.stats import binomtest

    given = scores(Success={"a": [0.0] * failures + [1.0] * (60 - failures)})
    row = summarise(given, limits={"Success": (0, 1)}, rng=rng()).row(0, named=True)
    exact = binomtest(60 - failures, 60).proportion_ci(method="exact")
    assert (row["lo"], row["hi"]) == pytest.approx((exact.low, exact.high), abs=0.003)  # by 10,000 draws


def test_intervals_of_rare_failures_cover() -> None:
    """Success with probability .98 over 50 queries: two of three samples have at most one failure."""
    drawn = (np.random.default_rng(3).random((3000, 50)) < 0.98).astype(float)
    given = scores(Success={f"s{n}": row.tolist() for n, row in enumerate(drawn)})
    made = summarise(given, limits={"Success": (0, 1)}, rng=rng(), resamples=2000)
    covered = ((made["lo"] <= 0.98) & (made["hi"] >= 0.98)).mean()
    print(f"Success .98, 50 queries: covered {covered:.4f}")
    assert covered >= 0.93
