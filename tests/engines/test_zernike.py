"""Zernike moments: by hand, by Jacobi polynomials, and what they do not see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import eval_jacobi
from shape_samples import blank, drawing, placed, turned

from endoxa.engines.zernike import ORDER, ZernikeMoments, indices, moments


def described(picture) -> np.ndarray:
    return ZernikeMoments().describe(picture)["shape"][0]


def test_two_points_by_hand() -> None:
    """By hand: unit pixels at (ρ = .5, 0) and (1, π/2)."""
    found = dict(zip(indices(4), moments(np.array([0.5, 1]), np.array([0, np.pi / 2]), 4), strict=True))
    expected = {(1, 1): 0.711763, (2, 0): 0.477465, (2, 2): 0.716197, (3, 1): 1.501465, (4, 2): 2.387324}
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-6)


def test_against_jacobi_polynomials() -> None:
    """R(n, m; ρ) = (-1)^s ρ^m P_s^(m, 0)(1 - 2ρ²), s = (n - m) / 2."""
    rng = np.random.default_rng(2)
    radii, angles = rng.random(50), rng.uniform(-np.pi, np.pi, 50)
    expected = []
    for n, m in indices(ORDER):
        s = (n - m) // 2
        radial = (-1) ** s * radii**m * eval_jacobi(s, m, 0, 1 - 2 * radii**2)
        expected.append((n + 1) / np.pi * abs((radial * np.exp(-1j * m * angles)).sum()))
    assert len(expected) == 48
    assert moments(radii, angles, ORDER) == pytest.approx(expected, rel=1e-6)


def test_unchanged_by_moving_scaling_and_turning_and_different_for_another_shape() -> None:
    own, other = described(drawing(1)), described(drawing(2))
    apart = np.abs(own - other).sum()
    for change in (turned(1, 90), turned(1, 37), placed(drawing(1), 5, 60), placed(drawing(1), 60, 0)):
        assert np.abs(described(change) - own).sum() < apart / 2


def test_no_ink_has_zeros() -> None:
    assert described(blank()).tolist() == [0] * 48
