"""The agreement of people, each judged by all others: against plain sums, against every resample, by simulation."""

from itertools import product

import numpy as np
import pytest

from endoxa.errors import TableError
from endoxa.statistics.panels import agreement

NAN = np.nan


def rng(seed=7):
    return np.random.default_rng(seed)


def plain(cells, who=None, over=None):
    """Mean over queries of the mean over pairs of two different people; who and over are what was drawn."""
    people, queries = range(len(cells)) if who is None else who, range(cells.shape[2]) if over is None else over
    means = []
    for q in queries:
        pairs = [cells[s, t, q] for s in people for t in people if s != t and not np.isnan(cells[s, t, q])]
        if pairs:
            means.append(sum(pairs) / len(pairs))
    return sum(means) / len(means) if means else NAN


def sample(people=4, queries=3, seed=1):
    cells = rng(seed).uniform(size=(people, people, queries))
    cells[0, 2, 1] = cells[3, :, 0] = NAN
    return cells


def test_the_mean_is_that_of_plain_sums_and_nobody_judges_herself():
    cells = sample()
    expected = plain(cells)
    assert agreement(cells, rng=rng()).mean == pytest.approx(expected)
    for person in range(4):
        cells[person, person] = 99.0
    made = agreement(cells, rng=rng())
    assert made.mean == pytest.approx(expected)
    assert made.n == sum(not np.isnan(cells[s, t, q]) for s in range(4) for t in range(4) if s != t for q in range(3))


def test_resamples_are_spread_as_all_resamples_are():
    cells = sample(seed=2)[:3, :3]
    every = [plain(cells, who, over) for who in product(range(3), repeat=3) for over in product(range(3), repeat=3)]
    assert np.isnan(every).any()  # one person drawn three times judges nobody
    made = agreement(cells, resamples=40_000, rng=rng())
    assert made.se == pytest.approx(np.nanstd(every), rel=0.02)


def test_two_people_resample_queries_only_and_one_query_gives_no_interval():
    cells = rng().uniform(size=(2, 2, 6))
    made = agreement(cells, resamples=20_000, rng=rng())
    per_query = (cells[0, 1] + cells[1, 0]) / 2
    assert made.se == pytest.approx(per_query.std() / np.sqrt(6), rel=0.03)
    alone = agreement(cells[:, :, :1], rng=rng())
    assert alone.mean == pytest.approx(per_query[0])
    assert np.isnan(alone.lo)
    assert np.isnan(alone.hi)


def test_people_who_differ_widen_the_interval():
    calm = 0.1 * rng(3).normal(size=(6, 6, 20))
    torn = calm + rng(4).normal(size=(6, 1, 1))
    one, other = (agreement(cells, rng=rng()) for cells in (calm, torn))
    assert other.hi - other.lo > 3 * (one.hi - one.lo)


@pytest.mark.parametrize(("people", "queries", "of_people"), [(5, 20, 1.0), (12, 20, 0.5), (8, 20, 0.0)])
def test_the_interval_covers(people, queries, of_people):
    chance, hits, trials = rng(5), 0, 150
    for _ in range(trials):
        cells = (
            of_people * chance.normal(size=(people, 1, 1)) + of_people * chance.normal(size=(1, people, 1))
            + chance.normal(size=(1, 1, queries)) + chance.normal(size=(people, people, queries))
        )  # fmt: skip
        made = agreement(cells, resamples=400, rng=chance)
        hits += bool(made.lo <= 0 <= made.hi)
    assert 0.87 <= hits / trials <= 0.995


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(TableError, match="person, judge and query"):
        agreement(np.zeros((2, 3, 4)), rng=rng())
