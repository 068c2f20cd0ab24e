"""The pigeonhole bootstrap against every resample, variance components against the analysis of variance."""

from itertools import product

import numpy as np
import pytest

from endoxa.errors import TableError, TextError
from endoxa.statistics.bootstrap import mean_intervals
from endoxa.statistics.crossed import crossed_bootstrap, variance_components

SMALL = np.array([[0.2, 0.9, 0.4], [0.1, 0.7, 0.8], [0.5, 0.95, 0.3]])


def rng(seed=7):
    return np.random.default_rng(seed)


def crossed(seed, subjects, queries, *, of_subject, of_query, error, rows=1):
    chance = rng(seed)
    return (
        of_subject * chance.normal(size=(rows, subjects, 1))
        + of_query * chance.normal(size=(rows, 1, queries))
        + error * chance.normal(size=(rows, subjects, queries))
    )


def plain_mean(cells):
    """Mean over subjects, then over queries; cells without a value are left out."""
    means = []
    for query in range(len(cells[0])):
        there = [row[query] for row in cells if not np.isnan(row[query])]
        if there:
            means.append(sum(there) / len(there))
    return sum(means) / len(means) if means else np.nan


def every_resample(cells):
    subjects, queries = cells.shape
    return np.array(
        [
            plain_mean([[cells[s, q] for q in over] for s in who])
            for who in product(range(subjects), repeat=subjects)
            for over in product(range(queries), repeat=queries)
        ]
    )


@pytest.mark.parametrize("holes", [(), ((0, 1),), ((0, 1), (2, 0))])
def test_resamples_are_spread_as_all_resamples_are(holes):
    cells = SMALL.copy()
    for hole in holes:
        cells[hole] = np.nan
    means = every_resample(cells)
    made = crossed_bootstrap(cells, resamples=60_000, rng=rng())
    assert made.mean == pytest.approx(plain_mean(cells))
    assert made.se == pytest.approx(np.nanstd(means), rel=0.02)
    assert made.n == 9 - len(holes)
    lo, hi = np.nanquantile(means, [0.025, 0.975])
    # The stretch is the same at either end, so it cancels from the ratio of the arms.
    assert (made.hi - made.mean) / (made.mean - made.lo) == pytest.approx((hi - made.mean) / (made.mean - lo), rel=0.08)


def test_the_stretch_is_that_of_the_dominating_factor():
    # Subjects that differ and queries that do not: as many degrees of freedom as subjects, less one.
    cells = rng(3).normal(size=(6, 1)) + np.zeros((1, 9))
    components = variance_components(cells)
    assert components.freedom == pytest.approx(5)
    assert components.se == pytest.approx(cells[:, 0].std(ddof=1) / np.sqrt(6))
    made = crossed_bootstrap(cells, resamples=40_000, rng=rng())
    plain = mean_intervals(cells[:, 0], method="percentile", resamples=40_000, rng=rng())
    stretch = 2.570582 / 1.959964 * np.sqrt(6 / 5)  # t with 5 degrees of freedom, from a table
    assert made.hi - made.mean == pytest.approx(stretch * (plain.hi - plain.mean), rel=0.02)
    assert made.mean - made.lo == pytest.approx(stretch * (plain.mean - plain.lo), rel=0.02)


def test_a_row_alone_is_a_row_in_a_batch():
    cells = crossed(5, 4, 6, of_subject=1, of_query=1, error=1, rows=3)
    cells[1, 2, 3] = np.nan
    batch = crossed_bootstrap(cells.reshape(3, 1, 4, 6), resamples=200, rng=rng())
    assert batch.lo.shape == (3, 1)
    for row in range(3):
        alone = crossed_bootstrap(cells[row], resamples=200, rng=rng())
        assert (alone.lo, alone.hi, alone.se) == (batch.lo[row, 0], batch.hi[row, 0], batch.se[row, 0])


def test_blocks_do_not_change_the_interval_of_a_pair(monkeypatch):
    cells = crossed(5, 4, 6, of_subject=1, of_query=1, error=1)[0]
    whole = crossed_bootstrap(np.stack([cells, 1 - cells]), resamples=300, rng=rng())
    monkeypatch.setattr("endoxa.statistics.crossed.BLOCK", 500)
    parts = crossed_bootstrap(np.stack([cells, 1 - cells]), resamples=300, rng=rng())
    # Mirrored values have mirrored intervals, in one block or in many: rows meet the same draws.
    for made in (whole, parts):
        assert made.lo[0] == pytest.approx(1 - made.hi[1])
    assert parts.se[0] == pytest.approx(whole.se[0], rel=0.3)


@pytest.mark.parametrize(
    ("subject", "query", "error"), [(1, 0.1, 0.1), (0.1, 1, 0.1), (1, 1, 1), (0.7, 1, 0.2), (0.3, 1, 1)]
)
def test_ninety_five_in_a_hundred_cover(subject, query, error):
    """Balanced crossed random effects, 20 subjects and 40 queries. The true mean is 0."""
    cells = crossed(11, 20, 40, of_subject=subject, of_query=query, error=error, rows=800)
    made = crossed_bootstrap(cells, confidence=0.95, resamples=500, rng=rng())
    covered = ((made.lo <= 0) & (made.hi >= 0)).mean()
    assert 0.93 <= covered <= 0.985


def test_few_subjects_cover_too():
    cells = crossed(12, 5, 50, of_subject=0.5, of_query=0.1, error=0.1, rows=800)
    made = crossed_bootstrap(cells, confidence=0.95, resamples=500, rng=rng())
    assert ((made.lo <= 0) & (made.hi >= 0)).mean() >= 0.91


def plain_anova(cells):
    subjects, queries = cells.shape
    mean = cells.mean()
    of_subject = queries * ((cells.mean(1) - mean) ** 2).sum() / (subjects - 1)
    of_query = subjects * ((cells.mean(0) - mean) ** 2).sum() / (queries - 1)
    rest = ((cells - cells.mean(1)[:, None] - cells.mean(0)[None] + mean) ** 2).sum()
    rest /= (subjects - 1) * (queries - 1)
    return (of_query - rest) / subjects, (of_subject - rest) / queries, rest


def test_components_of_a_full_table_are_the_analysis_of_variance():
    cells = 100 + crossed(2, 7, 9, of_subject=2, of_query=1.5, error=0.5, rows=4)
    made = variance_components(cells)
    for row in range(4):
        query, subject, error = plain_anova(cells[row])
        assert min(query, subject, error) > 0
        assert made.query[row] == pytest.approx(query)
        assert made.subject[row] == pytest.approx(subject)
        assert made.error[row] == pytest.approx(error)
        assert made.se[row] ** 2 == pytest.approx(query / 9 + subject / 7 + error / 63)
        assert made.mean[row] == pytest.approx(cells[row].mean())


def test_components_are_right_on_average_where_cells_are_missing():
    cells = crossed(4, 8, 10, of_subject=2, of_query=1.5, error=1, rows=4000)
    holes = rng(9).random((8, 10)) < 0.35
    cells[:, holes] = np.nan
    made = variance_components(cells)
    for found, true in ((made.subject, 4.0), (made.query, 2.25), (made.error, 1.0)):
        assert abs(found.mean() - true) < 4 * found.std() / np.sqrt(4000)
    assert made.se.shape == (4000,)
    assert (made.se**2).mean() == pytest.approx(made.mean.var(), rel=0.06)


def test_a_negative_estimate_is_given_as_zero():
    cells = np.array([[0.0, 1.0], [1.0, 0.0]])  # all interaction: the analysis of variance gives -1/2 twice
    assert plain_anova(cells) == (-0.5, -0.5, 1.0)
    made = variance_components(cells)
    assert (made.query, made.subject, made.error) == (0, 0, 1)
    assert made.se == pytest.approx(0.5)


def test_small_spread_on_a_great_mean_is_not_lost():
    cells = 1e6 + 1e-3 * SMALL
    made, same = variance_components(cells), variance_components(SMALL)
    assert made.query == pytest.approx(1e-6 * same.query, rel=1e-3)
    assert made.error == pytest.approx(1e-6 * same.error, rel=1e-3)


def test_equal_values_leave_no_doubt():
    made = crossed_bootstrap(np.full((3, 4), 0.1), resamples=100, rng=rng())
    assert (made.lo, made.hi, made.se) == (made.mean, made.mean, 0)
    assert made.mean == pytest.approx(0.1)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1)])
def test_one_subject_or_one_query_bounds_nothing(shape):
    made = crossed_bootstrap(rng(1).random(shape), resamples=100, rng=rng())
    assert np.isfinite(made.mean)
    assert np.isnan(made.lo)
    assert np.isnan(made.hi)
    assert np.isnan(variance_components(np.zeros(shape)).se)


def test_nobody_answered_anything():
    made = crossed_bootstrap(np.full((3, 4), np.nan), resamples=100, rng=rng())
    assert np.isnan(made.mean)
    assert np.isnan(made.lo)
    assert made.n == 0
    assert np.isnan(crossed_bootstrap(np.empty((0, 4)), resamples=100, rng=rng()).mean)


def test_holes_that_leave_the_components_inseparable():
    cells = np.where(np.eye(4, dtype=bool), rng(1).random((4, 4)), np.nan)  # each subject saw one query of her own
    assert np.isnan(variance_components(cells).se)
    assert np.isnan(crossed_bootstrap(cells, resamples=100, rng=rng()).hi)


def test_bad_input():
    with pytest.raises(TableError, match=r"subject and query; these have the shape \(3,\)"):
        crossed_bootstrap(np.zeros(3), resamples=100, rng=rng())
    with pytest.raises(TableError, match="infinite"):
        variance_components(np.array([[1.0, np.inf], [0.0, 1.0]]))
    with pytest.raises(TextError, match="confidence must lie between 0 and 1, not 95"):
        crossed_bootstrap(SMALL, confidence=95, rng=rng())
    with pytest.raises(TextError, match="take at least 200"):
        crossed_bootstrap(SMALL, confidence=0.99, resamples=100, rng=rng())
