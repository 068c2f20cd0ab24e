"""The banks of filters against filters drawn out in two dimensions, and against stripes."""

import numpy as np
import pytest
from scipy import ndimage
from scipy.signal import correlate2d

from endoxa.errors import TableError
from endoxa.images.filters import (
    DIFFERENCE_NAMES,
    ENERGY_NAMES,
    GAUSSIANS,
    ORIENTATIONS,
    SCALES,
    differences_of_gaussians,
    grey_of,
    oriented_energies,
)


def stripes(angle: float, scale: float, phase: float = 0.0, side: int = 96) -> np.ndarray:
    """A wave of amplitude .5 that changes along the angle, of the length that a filter of this scale likes best."""
    y, x = np.mgrid[:side, :side]
    turn = np.deg2rad(angle)
    wave = np.cos(np.sqrt(2) / scale * (x * np.cos(turn) + y * np.sin(turn)) + phase)
    return (0.5 + 0.5 * wave).astype(np.float32)


def drawn_pair(scale: float, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """G and H as functions of the plane, turned by turning the plane; of unit gain for the wave of angle 0."""
    reach = int(np.ceil(4 * scale))
    row, column = np.mgrid[-reach : reach + 1, -reach : reach + 1]

    def pair(turn: float) -> tuple[np.ndarray, np.ndarray]:
        across = (column * np.cos(turn) + row * np.sin(turn)) / (scale * np.sqrt(2))
        bell = np.exp(-(row**2 + column**2) / (2 * scale**2))
        even = (2 * across**2 - 1) * bell
        return even - even.sum() / bell.sum() * bell, (across**3 - 2.254 * across) * bell

    even, odd = pair(0.0)
    wave = np.exp(1j * np.sqrt(2) / scale * column)
    turned_even, turned_odd = pair(np.deg2rad(angle))
    return turned_even / abs((even * wave).sum()), turned_odd / abs((odd * wave).sum())


@pytest.mark.parametrize("shape", [(23, 31), (130, 70), (1, 12), (12, 1), (2, 3)])
def test_energies_are_those_of_filters_drawn_at_each_angle(shape: tuple[int, int]) -> None:
    picture = np.random.default_rng(3).random(shape).astype(np.float32)
    found = oriented_energies(picture)
    assert found.shape == (12, *shape)
    assert found.dtype == np.float32
    for plane, (scale, angle) in enumerate((s, a) for s in SCALES for a in ORIENTATIONS):
        even, odd = drawn_pair(scale, angle)
        mirrored = np.pad(picture.astype(float), len(even) // 2, mode="symmetric")
        expected = correlate2d(mirrored, even, "valid") ** 2 + correlate2d(mirrored, odd, "valid") ** 2
        np.testing.assert_allclose(found[plane], expected, atol=1e-5)


@pytest.mark.parametrize("plane", range(12))
def test_stripes_excite_their_own_filter_most_and_give_their_amplitude_squared(plane: int) -> None:
    scale, angle = SCALES[plane // 6], ORIENTATIONS[plane % 6]
    means = oriented_energies(stripes(angle, scale))[:, 16:-16, 16:-16].mean(axis=(1, 2))
    assert means.argmax() == plane
    assert means[plane] == pytest.approx(0.25, rel=0.01)
    # The filter at a right angle sees nothing of them.
    assert means[plane // 6 * 6 + (plane % 6 + 3) % 6] < 1e-4


def test_upright_stripes_are_at_angle_0_and_level_ones_at_90() -> None:
    upright = np.tile(np.array([0, 0, 1, 1], np.float32), (40, 10))
    assert ENERGY_NAMES[oriented_energies(upright).mean(axis=(1, 2)).argmax()] == "energy_1_0"
    assert ENERGY_NAMES[oriented_energies(upright.T).mean(axis=(1, 2)).argmax()] == "energy_1_90"


def test_energy_does_not_ask_where_stripes_begin() -> None:
    at = [oriented_energies(stripes(30, 2.0, phase))[7, 48, 48] for phase in np.linspace(0, 2 * np.pi, 9)]
    np.testing.assert_allclose(at, 0.25, rtol=0.05)


def test_a_picture_turned_over_its_diagonal_has_the_angles_exchanged() -> None:
    picture = np.random.default_rng(5).random((18, 27)).astype(np.float32)
    upright, turned = oriented_energies(picture), oriented_energies(picture.T)
    for index, angle in enumerate(ORIENTATIONS):
        other = ORIENTATIONS.index((90 - angle) % 180)
        for first in (0, 6):
            np.testing.assert_allclose(turned[first + other], upright[first + index].T, atol=1e-6)


def test_differences_are_those_of_smoothed_pictures() -> None:
    picture = np.random.default_rng(4).random((40, 50))
    found = differences_of_gaussians(picture.astype(np.float32))
    assert found.shape == (len(DIFFERENCE_NAMES), 40, 50) == (4, 40, 50)
    smooth = [ndimage.gaussian_filter(picture, sigma, mode="reflect", truncate=6) for sigma in GAUSSIANS]
    for k in range(4):
        np.testing.assert_allclose(found[k], smooth[k] - smooth[k + 1], atol=3e-4)


def test_a_bright_spot_is_positive_where_it_is_and_negative_around() -> None:
    picture = np.zeros((41, 41), np.float32)
    picture[20, 20] = 1
    for plane, inner, outer in zip(differences_of_gaussians(picture), GAUSSIANS, GAUSSIANS[1:], strict=False):
        assert plane[20, 20] == pytest.approx((inner**-2 - outer**-2) / (2 * np.pi), rel=0.01)
        assert plane.min() < 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (2, 3), (30, 30)])
@pytest.mark.parametrize("level", [0.0, 0.37, 1.0])
def test_an_even_picture_of_any_size_has_no_texture(shape: tuple[int, int], level: float) -> None:
    picture = np.full(shape, level, np.float32)
    assert oriented_energies(picture).shape == (12, *shape)
    np.testing.assert_allclose(oriented_energies(picture), 0, atol=1e-9)
    np.testing.assert_allclose(differences_of_gaussians(picture), 0, atol=1e-6)


def test_brightness_is_from_0_to_1_and_weighs_green_most() -> None:
    colours = np.array([[[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)
    np.testing.assert_allclose(grey_of(colours), [[0, 1, 0.299, 0.587, 0.114]], atol=0.5 / 255)
    np.testing.assert_array_equal(grey_of(colours[:, ::-1]), grey_of(colours)[:, ::-1])


@pytest.mark.parametrize("shape", [(4, 4, 3), (5,), (0, 5)])
def test_what_is_no_plane_is_refused(shape: tuple[int, ...]) -> None:
    for bank in (oriented_energies, differences_of_gaussians):
        with pytest.raises(TableError, match="height × width"):
            bank(np.zeros(shape, np.float32))
