from __future__ import annotations

import math

import numpy as np
import pytest
from skimage.color import rgb2luv

from endoxa.engines.block_regions import BlockRegions, block_features, clusters, inertia, lloyd, scatter
from endoxa.errors import TextError
from endoxa.images import Picture


def test_features_of_blocks_by_brute_force() -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (11, 14, 3)).astype(np.uint8)
    found = block_features(Picture(pixels))
    assert found.shape == (2, 3, 6)  # what is left at the right and the bottom is cut off
    luv = rgb2luv(pixels)
    for row in range(2):
        for column in range(3):
            block = luv[row * 4 : row * 4 + 4, column * 4 : column * 4 + 4]
            bands: dict[str, list[float]] = {"HL": [], "LH": [], "HH": []}
            for y in (0, 2):
                for x in (0, 2):
                    (a, b), (c, d) = block[y : y + 2, x : x + 2, 0]
                    # The orthonormal Haar step along rows, then along columns.
                    low, high = (np.array([a + b, c + d]) / math.sqrt(2), np.array([a - b, c - d]) / math.sqrt(2))
                    bands["HL"].append((high[0] + high[1]) / math.sqrt(2))
                    bands["LH"].append((low[0] - low[1]) / math.sqrt(2))
                    bands["HH"].append((high[0] - high[1]) / math.sqrt(2))
            energies = [math.sqrt(sum(c * c for c in bands[band]) / 4) for band in ("HL", "LH", "HH")]
            # OpenCV's white point and cube root differ from scikit-image's in the third digit.
            np.testing.assert_allclose(found[row, column], [*block.mean(axis=(0, 1)), *energies], atol=0.1)


def test_clusters_of_plain_groups() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0] * 6, [90.0] * 6, [0, 0, 0, 60, 60, 60], [-80, 40, 0, 0, 0, 0]])
    truth = rng.integers(0, 4, 400)
    found = clusters(centres[truth] + rng.normal(size=(400, 6)), 16, 25.0, 0.02)
    assert found.max() == 3
    assert len(set(zip(truth.tolist(), found.tolist(), strict=True))) == 4


def test_rules_that_stop_the_clusters() -> None:
    noise = np.random.default_rng(1).normal(size=(500, 6)) * 40
    assert clusters(noise, 5, 0.0, 0.0).max() == 4  # the most there may be
    assert clusters(noise, 16, 1e9, 0.0).max() == 0  # small distortion from the start
    assert clusters(noise, 16, 0.0, 10.0).max() == 2  # k = 3 is the first whose decrease is compared
    assert clusters(np.ones((50, 6)), 16, 0.0, 0.0).max() == 0  # all alike
    assert clusters(np.ones((1, 6)), 16, 0.0, 0.0).tolist() == [0]


def test_lloyd_ends_where_every_centre_is_the_mean_of_its_own() -> None:
    observations = np.random.default_rng(3).normal(size=(300, 6))
    labels, centres, total = lloyd(observations, observations[:4].copy(), 1000)
    squares = ((observations[:, None] - centres) ** 2).sum(-1)
    assert labels.tolist() == squares.argmin(1).tolist()
    assert total == pytest.approx(squares.min(1).sum())
    for cluster in range(4):
        np.testing.assert_allclose(centres[cluster], observations[labels == cluster].mean(0))


def test_scatter_by_hand() -> None:
    rows, columns = np.indices((8, 8)).reshape(2, -1)
    zones = rows // 2 * 4 + columns // 2
    # Two halves: each has 1/8 in eight zones, 0 in eight: 16 · (8/256 + 8/256) = 1.
    assert scatter((columns >= 4).astype(np.int64), zones) == pytest.approx(1)
    # A chessboard lies everywhere alike.
    assert scatter((rows + columns) % 2, zones) == pytest.approx(0)
    # One zone by itself: 16 · (15/16)² + 15/16 = 15; the rest, 1/15 in fifteen zones: 16 · (15/240² + 1/256) = 1/15.
    assert scatter((zones == 5).astype(np.int64), zones) == pytest.approx((15 + 1 / 15) / 2)


def test_inertia_by_brute_force() -> None:
    rows, columns = np.array([0, 0, 1, 5, 2]), np.array([0, 1, 1, 3, 2])
    labels = np.array([0, 0, 0, 1, 0])
    found = inertia(labels, rows, columns)
    for region in range(2):
        pixels = [
            (4 * int(row) + dy, 4 * int(column) + dx)
            for row, column, label in zip(rows, columns, labels, strict=True)
            if label == region
            for dy in range(4)
            for dx in range(4)
        ]
        volume = len(pixels)
        middle = (sum(y for y, _ in pixels) / volume, sum(x for _, x in pixels) / volume)
        for order in (1, 2, 3):
            spread = sum(math.dist(pixel, middle) ** order for pixel in pixels) / volume ** (1 + order / 2)
            disk = 2 / ((order + 2) * math.pi ** (order / 2))
            assert found[region, order - 1] == pytest.approx(spread / disk, rel=1e-12)


def test_a_disk_has_inertia_one_at_every_size() -> None:
    for radius in (40, 80):
        rows, columns = np.nonzero(np.hypot(*(np.indices((161, 161)) - 80)) <= radius)
        np.testing.assert_allclose(inertia(np.zeros(len(rows), np.int64), rows, columns), 1, atol=2e-3)
    rows, columns = np.indices((100, 100)).reshape(2, -1)
    assert inertia(np.zeros(len(rows), np.int64), rows, columns)[0, 1] == pytest.approx(math.pi / 3, abs=1e-4)


def test_regions_of_a_picture() -> None:
    pixels = np.zeros((64, 96, 3), np.uint8)
    pixels[:, :24] = (200, 30, 30)
    pixels[:, 24:] = (30, 30, 200)
    found = BlockRegions().describe(Picture(pixels))
    assert found["area"].tolist() == [0.75, 0.25]
    assert not found["textured"].any()
    np.testing.assert_allclose(found["features"][:, :3], rgb2luv(pixels[:1, [95, 0]])[0], atol=0.2)
    np.testing.assert_allclose(found["features"][:, 3:6], 0, atol=1e-6)


def test_a_texture_is_told_from_things() -> None:
    dots = np.full((128, 128, 3), 255, np.uint8)
    for y, x in np.ndindex(16, 16):
        dots[y * 8 : y * 8 + 4, x * 8 : x * 8 + 4] = (20, 120, 20)
    assert BlockRegions().describe(Picture(dots))["textured"].all()


@pytest.mark.parametrize("turned", [False, True])
def test_zones_lie_in_rows_and_in_columns(turned: bool) -> None:
    """Stripes as wide as a zone: even along one side, all in some zones along the other."""
    pixels = np.full((128, 128, 3), (200, 30, 30), np.uint8)
    pixels[:, 0:32] = pixels[:, 64:96] = (30, 30, 200)
    found = BlockRegions().describe(Picture(pixels.transpose(1, 0, 2).copy() if turned else pixels))
    assert not found["textured"].any()


def test_a_diagonal_of_zones_is_no_texture() -> None:
    """Row + column alone would not tell these zones apart; row and column do."""
    board = (np.add.outer(np.arange(4), np.arange(4)) % 2).astype(bool)
    pixels = np.where(np.kron(board, np.ones((32, 32), bool))[..., None], (200, 30, 30), (30, 30, 200)).astype(np.uint8)
    shifted = pixels.copy()
    shifted[:64] = pixels[:64][:, ::-1]
    for one in (pixels, shifted):
        labels = (one[::4, ::4, 0] > 100).astype(np.int64).ravel()
        rows, columns = (grid.ravel() for grid in np.indices((32, 32)))
        counts = np.zeros((2, 4, 4))
        for label, row, column in zip(labels, rows, columns, strict=True):
            counts[label, row // 8, column // 8] += 1
        p, q = counts.reshape(2, 16) / counts.sum((1, 2))[:, None], counts.sum(0).ravel() / counts.sum()
        plain = float(((p - q) ** 2 / q).sum(1).mean())
        assert bool(BlockRegions().describe(Picture(one))["textured"].all()) == (plain < 0.32)


def test_transparent_blocks_may_be_left_out() -> None:
    pixels = np.full((64, 64, 3), 255, np.uint8)
    pixels[16:32, 16:32] = (200, 30, 30)
    mask = np.zeros((64, 64), bool)
    mask[16:32, 16:32] = True
    assert len(BlockRegions().describe(Picture(pixels, mask))["area"]) == 2
    opaque = BlockRegions(background="opaque").describe(Picture(pixels, mask))
    assert opaque["area"].tolist() == [1.0]
    np.testing.assert_allclose(opaque["features"][0, :3], rgb2luv(pixels[16:17, 16:17])[0, 0], atol=0.2)


@pytest.mark.parametrize("background", ["white", "opaque"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 700), (700, 2), (40, 30), (5, 5)])
@pytest.mark.parametrize("kind", ["flat", "noise", "grey"])
def test_odd_pictures_are_described(shape: tuple[int, int], background: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    pixels = {
        "flat": np.full((*shape, 3), 7, np.uint8),
        "noise": rng.integers(0, 256, (*shape, 3)).astype(np.uint8),
        "grey": np.repeat(rng.integers(0, 256, (*shape, 1)), 3, axis=2).astype(np.uint8),
    }[kind]
    for mask in (None, np.zeros(shape, bool), rng.random(shape) < 0.3):
        descriptor = BlockRegions(background=background)
        found, again = descriptor.describe(Picture(pixels, mask)), descriptor.describe(Picture(pixels, mask))
        regions = len(found["area"])
        assert 1 <= regions <= 16
        assert found["features"].shape == (regions, 9)
        assert np.isfinite(found["features"]).all()
        assert found["area"].sum() == pytest.approx(1)
        assert (np.diff(found["area"]) <= 0).all()
        assert all(np.array_equal(found[name], again[name]) for name in found)


def test_refused_settings() -> None:
    with pytest.raises(TextError, match="side is 3"):
        BlockRegions(side=3)
    with pytest.raises(TextError, match="at least 1 region"):
        BlockRegions(most=0)
    with pytest.raises(TextError, match="distortion is nan"):
        BlockRegions(distortion=math.nan)
