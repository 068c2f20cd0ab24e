"""The proportional-odds model: the optimum by a general optimiser, its laws, and scales with empty grades."""

import numpy as np
import pytest
from scipy import optimize

from endoxa.statistics.ordinal import fit


def sample(n=200, seed=0, grades=5):
    """Features and grades of the model itself, with coefficients 1.5, -0.7 and 0."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * [1, 5, 0.1] + [0, 100, -3]
    eta = 1.5 * x[:, 0] - 0.7 * (x[:, 1] - 100) / 5
    latent = eta + rng.logistic(size=n)
    return x, np.searchsorted(np.linspace(-2, 2, grades - 1), latent)


def slow_loss(values, x, grade, grades):
    """The penalised likelihood as its formula is written: differences of logistic functions, row by row."""
    beta, cuts = values[: x.shape[1]], np.sort(values[x.shape[1] :])
    z = (x - x.mean(axis=0)) / x.std(axis=0)

    def probability(eta, c):
        below = [0.0, *(1 / (1 + np.exp(eta - cut)) for cut in cuts), 1.0]
        return max(below[c + 1] - below[c], 1e-300)

    total = sum(np.log(probability(row @ beta, c)) for row, c in zip(z, grade, strict=True))
    return 0.5 * beta @ beta - total - 0.5 * sum(np.log(probability(0.0, c)) for c in range(grades))


@pytest.mark.parametrize("grades", [2, 3, 5])
def test_the_optimum_by_another_optimiser(grades):
    x, grade = sample(120, grades, grades)
    made = fit(x, grade, grades)
    mine = np.concatenate([made.coefficients, made.thresholds])
    best = optimize.minimize(slow_loss, mine + 0.05, args=(x, grade, grades), method="BFGS")
    assert slow_loss(mine, x, grade, grades) == pytest.approx(best.fun, abs=1e-4)
    assert mine == pytest.approx(best.x, abs=0.02)
    below = 1 / (1 + np.exp(made.predictor(x)[:, None] - made.thresholds))
    assert made.probabilities(made.predictor(x))[:, 0] == pytest.approx(below[:, 0])


def test_it_finds_what_the_grades_were_drawn_from():
    x, grade = sample(4000)
    made = fit(x, grade, 5)
    assert made.coefficients == pytest.approx([1.5, -0.7, 0], abs=0.12)
    assert made.thresholds == pytest.approx(np.linspace(-2, 2, 4), abs=0.15)
    share = made.probabilities(made.predictor(x)).mean(axis=0)
    assert share == pytest.approx(np.bincount(grade, minlength=5) / 4000, abs=0.01)


def test_laws():
    """Probabilities sum to 1; scale and shift of a feature change nothing; reversing grades reverses the model."""
    x, grade = sample()
    made = fit(x, grade, 5)
    p = made.probabilities(made.predictor(x))
    assert p.sum(axis=1) == pytest.approx(np.ones(200))
    assert (p > 0).all()
    other = fit(x * 7 - 2, grade, 5)
    assert other.predictor(x * 7 - 2) == pytest.approx(made.predictor(x), abs=1e-3)
    turned = fit(x, 4 - grade, 5)
    assert turned.probabilities(turned.predictor(x))[:, ::-1] == pytest.approx(p, abs=2e-3)


def test_a_grade_without_answers_keeps_a_probability():
    x, grade = sample()
    made = fit(x, np.minimum(grade, 2), 5)
    p = made.probabilities(made.predictor(x)).sum(axis=0)
    assert (p[3:] > 0.1).all()  # half a pseudo-answer each
    assert (p[3:] < 2.5).all()


def test_extremes_are_finite():
    """Separable grades, constant and repeated features, few rows, and values of the predictor far from all seen."""
    line = np.linspace(-1, 1, 40)
    made = fit(np.column_stack([line, line, np.ones(40)]), (line > 0).astype(np.int64) * 4, 5)
    assert made.coefficients[0] == pytest.approx(made.coefficients[1], abs=1e-3)  # the ridge shares
    assert made.coefficients[2] == 0
    p = made.probabilities(np.array([-1e6, 0.0, 1e6]))
    assert np.isfinite(p).all()
    assert p[0, 0] == pytest.approx(1)
    assert p[2, 4] == pytest.approx(1)
    few = fit(np.zeros((1, 1)), np.array([3]), 5)
    assert few.probabilities(np.zeros(1)).argmax() == 3
