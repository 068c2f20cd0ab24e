"""Self-advantage: the published table, the model by least squares, and the table made from pairs."""

import math
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from endoxa.errors import JoinError, TableError, TextError
from endoxa.studies.selection import selection_bias, self_advantage
from endoxa.tables import Opinions, Run

# Barnard et al., Table 3: rows are GIFT, SIMPLIcity, ROMM, Keywords; columns who selected, in the same order.
TABLE_3 = {
    "a": [[0.18, 0.10, 0.13, 0.10], [0.13, 0.20, 0.14, 0.20], [0.17, 0.18, 0.18, 0.20], [0.17, 0.28, 0.51, 0.41]],
    "b": [[0.13, 0.16, 0.26, 0.23], [0.19, 0.23, 0.24, 0.31], [0.22, 0.26, 0.29, 0.37], [0.25, 0.32, 0.61, 0.57]],
    "c": [[0.13, 0.18, 0.22, 0.21], [0.17, 0.25, 0.23, 0.25], [0.31, 0.33, 0.43, 0.34], [0.53, 0.58, 0.62, 0.56]],
}


def rng(seed=7):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("row", "gamma", "p"), [("a", 0.05, 0.208333), ("b", 0.02, 0.375), ("c", 0.011667, 0.25)])
def test_table_3(row, gamma, p):
    """docs/methods/studies.md, Selection bias."""
    found = self_advantage(np.array(TABLE_3[row]), rng=rng())
    assert found.gamma == pytest.approx(gamma, abs=5e-7)
    assert found.p_value == pytest.approx(p, abs=5e-7)
    assert found.smallest == pytest.approx(0.0417, abs=5e-5)
    assert found.permutations == 24


def least_squares(table):
    """gamma of r = mu + alpha_t + beta_s + gamma·1[s = t], by the normal equations."""
    n = len(table)
    design = [
        [1, *(float(t == i) for i in range(1, n)), *(float(s == j) for j in range(1, n)), float(s == t)]
        for t in range(n)
        for s in range(n)
    ]
    return np.linalg.lstsq(np.array(design), table.ravel(), rcond=None)[0][-1]


@given(st.integers(3, 4).flatmap(lambda n: arrays(float, (n, n), elements=st.integers(-9, 9).map(float))))
@settings(deadline=None, max_examples=40)
def test_by_least_squares_and_enumeration(table):
    found = self_advantage(table, rng=rng())
    assert found.gamma == pytest.approx(least_squares(table), abs=1e-9)
    every = [least_squares(table[:, list(order)]) for order in permutations(range(len(table)))]
    assert found.p_value == pytest.approx(np.mean(np.array(every) >= found.gamma - 1e-9))


def test_two_systems():
    found = self_advantage(np.array([[0.5, 0.2], [0.1, 0.4]]), rng=rng())
    assert found.gamma == pytest.approx(0.9 - 1.2 / 2)
    assert found.p_value == 0.5


def test_many_systems_are_sampled():
    """Beyond seven: a clear diagonal has the smallest p, none has an even one."""
    noise = rng(1).normal(size=(9, 9))
    clear = self_advantage(noise + 9 * np.eye(9), resamples=999, rng=rng())
    assert clear.p_value == clear.smallest == 1 / 1000
    none = [self_advantage(rng(seed).normal(size=(8, 8)), resamples=199, rng=rng()).p_value for seed in range(200)]
    assert np.mean(none) == pytest.approx(0.5, abs=0.08)


def test_undefined():
    assert math.isnan(self_advantage(np.array([[0.5]]), rng=rng()).gamma)
    assert math.isnan(self_advantage(np.array([[0.5, math.nan], [0.1, 0.2]]), rng=rng()).p_value)
    with pytest.raises(TableError, match=r"square.*not \(2, 3\)"):
        self_advantage(np.zeros((2, 3)), rng=rng())


def study(seed, queries=40, own=0.0):
    """Three systems score every pair; each pair was chosen by one or two of them. `own` is the advantage built in."""
    stream = rng(seed)
    names = ["x", "y", "z"]
    rows = []
    for query in range(queries):
        for item in range(6):
            chosen = stream.permutation(3)[: 1 + (item % 3 == 0)]
            rating = float(stream.integers(0, 6))
            for at, name in enumerate(names):
                score = rating + stream.normal() * (2.0 - own * (at in chosen))
                rows.append((name, f"q{query}", f"d{item}", score, rating, "+".join(names[c] for c in chosen)))
    frame = pl.DataFrame(rows, ["system", "query", "item", "score", "grade", "selected_by"], orient="row")
    return frame, Run.of(frame), Opinions.of(frame.filter(system="x").drop("system", "score"))


def test_table_from_pairs():
    """Every cell is the correlation over the pairs whose selected_by names the column."""
    frame, run, opinions = study(1)
    made = selection_bias(run, opinions, resamples=50, rng=rng())
    for system, by, r, pairs in made.frame.iter_rows():
        rows = frame.filter((pl.col("system") == system) & pl.col("selected_by").str.contains(by))
        assert pairs == rows.height
        assert r == pytest.approx(np.corrcoef(rows["score"].to_numpy(), rows["grade"].to_numpy())[0, 1])
    table = made.frame["r"].to_numpy().reshape(3, 3)
    assert made.advantage.gamma == pytest.approx(least_squares(table))
    assert made.lo < made.advantage.gamma < made.hi
    assert "p cannot fall below 0.1667" in made.notes[-1]


def test_interval_is_the_spread_over_studies():
    """The error of gamma against its spread over 60 studies; and an advantage that was built in is found."""
    found = [selection_bias(*study(seed)[1:], resamples=60, rng=rng(seed)) for seed in range(60)]
    gammas = np.array([one.advantage.gamma for one in found])
    assert 0.8 < np.mean([one.se for one in found]) / gammas.std(ddof=1) < 1.25
    assert abs(gammas.mean()) < 3 * gammas.std() / math.sqrt(60)
    assert selection_bias(*study(3, own=1.5)[1:], rng=rng()).lo > 0


def test_mapped_is_held_out():
    """Mapped signals come from maps of other queries: below the plain correlation where that is the truth."""
    _, run, opinions = study(2)
    plain, mapped = (selection_bias(run, opinions, mapped=m, resamples=20, rng=rng()) for m in (False, True))
    difference = mapped.frame["r"].to_numpy() - plain.frame["r"].to_numpy()
    assert np.abs(difference).max() < 0.12
    assert not np.allclose(difference, 0)


def test_who_is_left_out():
    _, run, opinions = study(1)
    renamed = opinions.frame.with_columns(pl.col("selected_by").str.replace_all("z", "chance"))
    made = selection_bias(run, Opinions.of(renamed), resamples=20, rng=rng())
    assert made.frame["system"].unique().sort().to_list() == ["x", "y"]
    assert any("chosen only by chance" in note for note in made.notes)
    assert any("z chose no pair" in note for note in made.notes)


def test_a_cell_without_pairs_is_nan():
    frame, _, opinions = study(1, queries=4)
    run = Run.of(frame.filter(~((pl.col("system") == "x") & pl.col("selected_by").str.contains("y"))))
    made = selection_bias(run, opinions, resamples=20, rng=rng())
    assert math.isnan(made.advantage.gamma)
    assert math.isnan(made.se)
    assert any("gamma is undefined" in note for note in made.notes)


def test_bad_input():
    _, run, opinions = study(1, queries=3)
    with pytest.raises(JoinError, match=r"0 systems of the run have chosen pairs \(selected_by names: none\)"):
        selection_bias(run, Opinions.of(opinions.frame.drop("selected_by")), rng=rng())
    with pytest.raises(TextError, match="confidence must lie"):
        selection_bias(run, opinions, confidence=2, rng=rng())
    with pytest.raises(TextError, match="1 folds"):
        selection_bias(run, opinions, folds=1, rng=rng())
