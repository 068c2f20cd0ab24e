"""Views of pictures: kernels of trace n, what takes the place of vectors, and pictures that are left out."""

from __future__ import annotations

import numpy as np
import pytest
from view_samples import views

from endoxa.words.views import COLOUR, LOOK, Views


def smoothed(kernel: np.ndarray, lam: float) -> np.ndarray:
    """K (K + λI)⁻¹ of the centred kernel, scaled to the trace n; and the mean."""
    n = len(kernel)
    centre = np.eye(n) - 1 / n
    k = centre @ kernel @ centre
    k *= n / np.trace(k)
    return np.asarray(k @ np.linalg.inv(k + lam * np.eye(n)) + 1 / n)


def kernel(shares: np.ndarray) -> np.ndarray:
    roots = np.sqrt(shares)
    return np.asarray(roots @ roots.T)


def test_both_views_are_the_kernels_of_the_specification() -> None:
    made = views(30)
    assert made.vectors is not None
    look, colour = made.smoothers()
    unit = made.vectors / np.linalg.norm(made.vectors, axis=1, keepdims=True)
    assert look.basis @ look.basis.T == pytest.approx(smoothed(unit @ unit.T, LOOK), abs=1e-9)
    assert colour.basis @ colour.basis.T == pytest.approx(smoothed(kernel(made.colour), COLOUR), abs=1e-9)


def test_without_vectors_looks_are_colours_and_textures_alike() -> None:
    made = views(30, vectors=False)
    centre = np.eye(30) - 1 / 30
    both = [centre @ kernel(one) @ centre for one in (made.colour, made.texture)]
    whole = sum(one / np.trace(one) for one in both)
    look, _ = made.smoothers()
    assert look.basis @ look.basis.T == pytest.approx(smoothed(np.asarray(whole), COLOUR), abs=1e-9)


def test_the_unit_of_shares_and_the_length_of_vectors_do_not_matter() -> None:
    made = views(20)
    assert made.vectors is not None
    scaled = Views(5 * made.vectors, np.rint(255 * made.colour), 255 * made.texture, made.copies)
    for one, other in zip(made.smoothers(), scaled.smoothers(), strict=True):
        assert one.basis @ one.basis.T == pytest.approx(other.basis @ other.basis.T, abs=0.02)


def test_pictures_of_one_colour_each_alike_say_nothing() -> None:
    flat = np.zeros((8, 166))
    flat[:, 3] = 255
    look, colour = Views(None, flat, np.zeros((8, 120)), np.arange(8)).smoothers()
    assert look.blind and colour.blind


def test_some_of_the_pictures() -> None:
    made = views(20)
    some = made.take(np.array([3, 1]))
    assert some.vectors is not None and made.vectors is not None
    assert (some.vectors == made.vectors[[3, 1]]).all() and some.copies.tolist() == [3, 1]
    assert views(20, vectors=False).take(np.array([1])).vectors is None
