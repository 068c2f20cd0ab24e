"""Confidence sequences: the worked capital, the definition word by word, and coverage at all times at once."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError, TextError
from endoxa.statistics import betting
from endoxa.statistics.betting import confidence_sequence, growth, stake

TRIALS = 300
ALLOWED = 0.1 + 3 * math.sqrt(0.1 * 0.9 / TRIALS)  # alpha 0.1 and three standard errors of the simulation


def hedged(x, m, alpha, pool=None):
    """The hedged capital against m after each number, one at a time in plain floats."""
    high = low = 1.0
    capitals, seen, total, squares = [], 0, 0.0, 0.0
    for value in x:
        t = seen + 1
        left = m if pool is None else (pool * m - total) / (pool - seen)
        if not 0 <= left <= 1:
            return capitals + [math.inf] * (len(x) - seen)  # the numbers drawn so far rule m out
        variance = (0.25 + squares) / (seen + 1)
        bet = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(t + 1)))
        high *= 1 + min(bet, 0.5 / left if left > 0 else math.inf) * (value - left)
        low *= 1 - min(bet, 0.5 / (1 - left) if left < 1 else math.inf) * (value - left)
        seen, total = t, total + value
        squares += (value - (0.5 + total) / (t + 1)) ** 2
        capitals.append(max(0.5 * high, 0.5 * low))
    return capitals


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0, 1).map(lambda x: round(x, 6)), min_size=1, max_size=40
    ),
    st.sampled_from([0.05, 0.3, 0.9]),
    st.none() | st.integers(0, 30),
)
def test_interval_is_the_set_of_means_not_left_out(x, alpha, spare):
    """Every m whose capital stayed below 1/alpha is inside; an end is at most a grid step beyond the last of them."""
    pool, grid = None if spare is None else len(x) + spare, 20
    found = confidence_sequence(np.array(x), alpha=alpha, pool=pool, grid=grid)
    means = np.unique(np.concatenate([np.arange(101) / 100, [np.mean(x)], np.cumsum(x) / (pool or len(x))]))
    worst = np.array([np.maximum.accumulate(hedged(x, m, alpha, pool)) for m in means])  # [m, t]
    for t in range(len(x)):
        kept = means[worst[:, t] < 1 / alpha - 1e-9]
        if pool is not None:
            low, high = sum(x[: t + 1]) / pool, (sum(x[: t + 1]) + pool - t - 1) / pool
            kept = kept[(kept >= low - 1e-12) & (kept <= high + 1e-12)]
        if not len(kept):
            continue
        assert found.lo[t] <= kept[0] + 1e-9
        assert found.hi[t] >= kept[-1] - 1e-9
        if found.empty is None:
            assert found.lo[t] >= kept[0] - 1 / grid - 0.01 - 1e-9
            assert found.hi[t] <= kept[-1] + 1 / grid + 0.01 + 1e-9


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("kind", ["rare", "even", "uniform", "ends"])
def test_covers_at_all_times_together(kind, replaced):
    """Looking after every one of 200 numbers, at most alpha = 10 % of sequences ever leave the mean out."""
    draw = {
        "rare": lambda rng: (rng.random(200) < 0.1).astype(float),
        "even": lambda rng: (rng.random(200) < 0.5).astype(float),
        "uniform": lambda rng: rng.random(200),
        "ends": lambda rng: rng.beta(0.3, 0.1, 200),
    }[kind]
    true = {"rare": 0.1, "even": 0.5, "uniform": 0.5, "ends": 0.75}[kind]
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(TRIALS):
        x = draw(rng)
        mean = true if replaced else x.mean()
        found = confidence_sequence(x, alpha=0.1, grid=100, pool=None if replaced else len(x))
        missed += bool(((found.lo > mean + 1e-12) | (found.hi < mean - 1e-12)).any() or found.empty is not None)
    assert missed / TRIALS <= ALLOWED


def test_a_wald_interval_looked_at_often_would_fail():
    """The simulation above can fail: the interval mean ± 1.645 s/√t, looked at 190 times, misses far more than 10 %."""
    rng = np.random.default_rng(11)
    x, t = rng.random((TRIALS, 200)), np.arange(1, 201)
    mean = x.cumsum(axis=1) / t
    reach = 1.645 * np.sqrt(1 / 12 / t)
    assert (np.abs(mean - 0.5) > reach)[:, 10:].any(axis=1).mean() > ALLOWED


def test_without_replacement_ends_at_the_mean_and_is_shorter():
    x = np.random.default_rng(2).random(150)
    from_pool, drawn = confidence_sequence(x, pool=150), confidence_sequence(x)
    assert from_pool.lo[-1] == from_pool.hi[-1] == pytest.approx(x.mean())
    assert (from_pool.hi - from_pool.lo)[100] < (drawn.hi - drawn.lo)[100]
    assert from_pool.hi[0] <= (x[0] + 149) / 150
    assert from_pool.lo[0] >= x[0] / 150


def test_intervals_only_shrink_and_become_short():
    x = (np.random.default_rng(3).random(3000) < 0.05).astype(float)
    found = confidence_sequence(x)
    assert (np.diff(found.lo) >= 0).all()
    assert (np.diff(found.hi) <= 0).all()
    assert found.lo[-1] < 0.05 < found.hi[-1]
    assert found.hi[-1] - found.lo[-1] < 2 * math.sqrt(math.log(40) / (2 * 3000))  # Hoeffding's, at this t alone
    assert np.allclose(found.mean, np.cumsum(x) / np.arange(1, 3001))


def test_blocks_do_not_show(monkeypatch):
    x = np.random.default_rng(4).random(100)
    whole = [confidence_sequence(x, pool=pool, grid=50) for pool in (None, 120)]
    monkeypatch.setattr(betting, "BLOCK", 51 * 7)
    for before, pool in zip(whole, (None, 120), strict=True):
        after = confidence_sequence(x, pool=pool, grid=50)
        assert np.array_equal(before.lo, after.lo)
        assert np.array_equal(before.hi, after.hi)


def test_constant_numbers_are_bounded_from_one_side():
    found = confidence_sequence(np.ones(200))
    assert found.hi[-1] == 1
    assert 0.9 < found.lo[-1] < 1
    assert found.empty is None


@pytest.mark.parametrize("pool", [None, 400])
def test_a_mean_that_drifts_is_noticed(pool):
    """200 zeros, then 200 ones: no mean is left; the interval stays where it was, and at t = N is the mean itself."""
    found = confidence_sequence(np.repeat([0.0, 1.0], 200), pool=pool)
    assert found.empty is not None
    assert found.empty > 200
    assert (found.lo <= found.hi).all()
    if pool:
        assert found.lo[-1] == found.hi[-1] == 0.5


def test_no_numbers_no_intervals():
    found = confidence_sequence(np.array([]))
    assert found.lo.shape == found.hi.shape == found.mean.shape == (0,)


@pytest.mark.parametrize("wrong", [-0.1, 1.0001, math.nan, math.inf])
def test_numbers_outside_are_refused(wrong):
    with pytest.raises(TableError, match=r"number 2 is .*not in \[0, 1\]"):
        confidence_sequence(np.array([0.5, wrong]))


def test_settings_that_make_no_sense_are_refused():
    x = np.array([0.5, 0.5])
    with pytest.raises(TextError, match="alpha"):
        confidence_sequence(x, alpha=0)
    with pytest.raises(TextError, match="grid"):
        confidence_sequence(x, grid=1)
    with pytest.raises(TableError, match="pool of 1"):
        confidence_sequence(x, pool=1)
    with pytest.raises(TableError, match="one row"):
        confidence_sequence(np.ones((2, 2)))


def test_growth_is_the_capital() -> None:
    """x = 1, 1, 0, 1 at a stake of ½ against m = ½ (docs/methods/deciding.md, Confidence sequences)."""
    numbers = np.array([1.0, 1.0, 0.0, 1.0]) - 0.5
    assert math.exp(growth(np.full(4, 0.5), numbers).sum()) == pytest.approx(1.464844, abs=1e-6)


def test_a_stake_never_risks_all_and_is_infinite_only_where_nothing_can_be_lost() -> None:
    mean = np.array([0.1, 0.1, 0.1, -0.1, 0.0, 1e-15])
    variance = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    loss = np.array([0.5, 2.0, -0.1, 0.5, 0.0, -1e-15])
    assert stake(mean, variance, loss).tolist() == pytest.approx([0.1 / 1.01, 0.95 / 2, math.inf, 0, 0, 0])
    assert growth(np.array([math.inf, 0.0]), np.array([0.2, -5.0])).tolist() == [math.inf, 0.0]


@pytest.mark.parametrize("pool", [None, 400])
def test_the_first_time_without_an_interval_is_told(pool):
    x = np.concatenate([np.zeros(150), np.ones(200)])
    empty = confidence_sequence(x, pool=pool).empty
    assert empty is not None
    assert confidence_sequence(x[:empty], pool=pool).empty == empty
    assert confidence_sequence(x[: empty - 1], pool=pool).empty is None
