"""The source's image region entropy: a worked example, erratum D-E18, and the iteration."""

from __future__ import annotations

import numpy as np
import pytest

from endoxa.errors import TextError
from endoxa.statistics.mixtures import MixtureModel, log_components, responsibilities
from endoxa.words.profiles import entropy_of
from endoxa.words.region_entropy import effective_number, region_entropy, region_shares, select

MODEL = MixtureModel(
    np.array([0.5, 0.3, 0.2]), np.array([[0.0], [3.0], [6.0]]), np.array([[1.0], [1.0], [0.01]]), np.zeros((3, 0))
)
FEATURES, WEIGHTS = np.array([[0.1], [-0.2], [5.9], [6.0]]), np.array([0.2, 0.1, 0.9, 0.8])


def test_the_worked_example() -> None:
    densities, gamma = np.exp(log_components(MODEL, FEATURES)), responsibilities(MODEL, FEATURES)
    printed = region_shares(densities, WEIGHTS, "as_printed")
    assert printed == pytest.approx([0.059247, 0.005166, 2.684637], abs=5e-7)
    assert printed.sum() == pytest.approx(2.749051, abs=5e-7)
    normalised = region_shares(densities, WEIGHTS, "density_normalised")
    assert normalised == pytest.approx([0.021552, 0.001879, 0.976569], abs=5e-7)
    assert region_entropy(densities, WEIGHTS, "density_normalised") == pytest.approx(0.169734, abs=5e-7)
    assert region_shares(gamma, WEIGHTS) == pytest.approx([0.148926, 0.003394, 0.847680], abs=5e-7)
    assert region_entropy(gamma, WEIGHTS) == pytest.approx(0.639082, abs=5e-7)
    assert effective_number(WEIGHTS) == pytest.approx(2.666667, abs=5e-7)


def test_erratum_the_printed_formula_gives_a_negative_entropy() -> None:
    densities = np.exp(log_components(MODEL, FEATURES))
    assert region_entropy(densities, WEIGHTS, "as_printed") == pytest.approx(-3.544074, abs=5e-7)
    # It depends on units: the same regions in units ten times as large.
    wide = MixtureModel(MODEL.p_l, 10 * MODEL.means, 100 * MODEL.variances, MODEL.words)
    other = np.exp(log_components(wide, 10 * FEATURES))
    assert region_entropy(other, WEIGHTS, "as_printed") > 0
    assert region_entropy(responsibilities(wide, 10 * FEATURES), WEIGHTS) == pytest.approx(0.639082, abs=5e-7)
    with pytest.raises(TextError, match="no formula is called 'printed'"):
        region_entropy(densities, WEIGHTS, "printed")  # type: ignore[arg-type]


def test_the_iteration_selects_the_regions_that_only_the_word_has() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3))
    own = np.arange(600) < 200
    special = np.arange(600) < 60
    rows[special] += (6, 0, 0)
    found = select(rows, own, rng=np.random.default_rng(1))
    assert found.chances[special[own]].min() > 0.95
    assert found.chances[~special[own]].mean() < 0.6, "the others are not told apart, as they fit both mixtures"
    assert found.share == pytest.approx(found.chances.mean())
    assert 0 < found.effective <= 200


def test_a_word_without_regions_of_its_own_is_half_selected() -> None:
    rng = np.random.default_rng(2)
    found = select(rng.normal(size=(500, 2)), np.arange(500) < 100, rng=np.random.default_rng(3), rounds=1)
    assert found.chances.mean() == pytest.approx(0.5, abs=0.05), "the first round starts from one half"


def test_nothing_selected_has_no_effective_regions() -> None:
    assert effective_number(np.zeros(3)) == 0
    assert entropy_of(np.array([1.0, 0.0])) == 0
