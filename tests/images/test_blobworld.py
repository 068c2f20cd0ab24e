import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_samples import adjusted_rand, grid
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from skimage.color import lab2rgb

from endoxa.errors import TableError, TextError
from endoxa.images import Picture
from endoxa.images.blobworld import (
    Mixture,
    blobworld,
    choose,
    features,
    fit,
    moments_of,
    slope_of,
    starts,
    texture,
    voted,
)


def noisy(colours, seed=5):
    pixels = colours + np.random.default_rng(seed).normal(0, 6, colours.shape)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def scene():
    """Sky, a checked field, a disc and a square."""
    y, x = np.indices((128, 192))
    truth = (y > 75).astype(int)
    truth[(x - 60) ** 2 + (y - 55) ** 2 < 30**2] = 2
    truth[(abs(x - 145) < 25) & (abs(y - 85) < 25)] = 3
    colours = np.array([[90, 150, 220], [0, 0, 0], [220, 60, 50], [230, 210, 80]])[truth].astype(float)
    checks = np.where(((x // 2 + y // 2) % 2)[..., None], [40, 90, 40], [110, 170, 70])
    colours[truth == 1] = checks[truth == 1]
    return noisy(colours), truth


def groups(k, n, seed, apart=1.0):
    """Points of k well-parted Gaussians in five dimensions with covariances of their own, and whose they are."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    means = apart * np.eye(5)[:k]
    mixes = rng.normal(0, 0.08, (k, 5, 5))
    return means[truth] + np.einsum("nij,nj->ni", mixes[truth], rng.normal(size=(n, 5))), truth


# Texture


def test_a_ramp_has_one_direction_everywhere():
    plane = np.broadcast_to(np.arange(40, dtype=np.float32) * 0.1, (30, 40))
    anisotropy, polarity, energy = (p[12:18, 12:28] for p in moments_of(slope_of(plane, np.ones((30, 40), bool)), 2.0))
    assert anisotropy == pytest.approx(np.ones_like(anisotropy), abs=1e-5)
    assert polarity == pytest.approx(np.ones_like(polarity), abs=1e-5)
    assert 2 * np.sqrt(energy) == pytest.approx(np.full_like(energy, 0.2), rel=1e-4)


def test_stripes_have_a_direction_but_no_polarity():
    plane = np.broadcast_to((np.arange(48) // 3 % 2).astype(np.float32), (40, 48))
    anisotropy, polarity, _ = (p[15:25, 15:33] for p in moments_of(slope_of(plane, np.ones((40, 48), bool)), 3.5))
    assert anisotropy.min() > 0.999
    assert polarity.max() < 0.1


def test_checks_have_no_direction():
    y, x = np.indices((48, 48))
    plane = ((x // 3 + y // 3) % 2).astype(np.float32)
    anisotropy, _, _ = (p[15:33, 15:33] for p in moments_of(slope_of(plane, np.ones((48, 48), bool)), 3.5))
    assert anisotropy.max() < 0.2


def test_moments_agree_with_sums_over_windows():
    rng = np.random.default_rng(4)
    plane = rng.random((24, 26)).astype(np.float32)
    inside = rng.random(plane.shape) < 0.9
    sigma = 1.5
    slopes = slope_of(plane, inside)
    anisotropy, polarity, energy = moments_of(slopes, sigma)
    reach = math.ceil(3 * sigma)
    bell = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    bell /= bell.sum()
    for y in range(0, 24, 5):
        for x in range(0, 26, 5):
            total, signed = np.zeros((2, 2)), []
            for v in range(-reach, reach + 1):
                for u in range(-reach, reach + 1):
                    yy, xx = y + v, x + u
                    if not (0 <= yy < 24 and 0 <= xx < 26) or not inside[yy, xx]:
                        continue

                    def beside(dy, dx, yy=yy, xx=xx):
                        a, b = yy + dy, xx + dx
                        known = 0 <= a < 24 and 0 <= b < 26 and inside[a, b]
                        return float(plane[a, b] if known else plane[yy, xx])

                    slope = np.array([beside(0, 1) - beside(0, -1), beside(1, 0) - beside(-1, 0)]) / 2
                    weight = bell[u + reach] * bell[v + reach]
                    total += weight * np.outer(slope, slope)
                    signed.append((weight, slope))
            values, axes = np.linalg.eigh(total)
            along = np.array([w * (s @ axes[:, 1]) for w, s in signed])
            up, down = along[along > 0].sum(), -along[along < 0].sum()
            assert energy[y, x] == pytest.approx(values.sum(), rel=1e-4)
            assert anisotropy[y, x] == pytest.approx(1 - values[0] / values[1], abs=1e-4)
            # Twelve directions in place of all.
            assert polarity[y, x] == pytest.approx(abs(up - down) / (up + down), abs=0.02)


def test_even_colour_is_left_as_it_is_and_has_no_texture():
    rng = np.random.default_rng(0)
    colour = (0.5 + 0.005 * rng.random((20, 30, 3))).astype(np.float32)
    smooth, textured = texture(colour, np.ones((20, 30), bool))
    assert (smooth == colour).all()
    assert not textured[..., :2].any()
    assert textured[..., 2].max() < 0.1


def test_fine_texture_is_smoothed_to_its_mean():
    y, x = np.indices((48, 48))
    colour = np.repeat(((x // 2 + y // 2) % 2).astype(np.float32)[..., None], 3, axis=2)
    smooth, textured = texture(colour, np.ones((48, 48), bool))
    assert smooth[12:36, 12:36].std() < colour.std() / 4
    assert textured[12:36, 12:36, 2].min() > 0.5


def test_features_are_colour_texture_and_place():
    found = features(Picture(np.full((10, 20, 3), 255, np.uint8)))
    assert found.shape == (10, 20, 8)
    assert found[3, 4] == pytest.approx([1, 0, 0, 0, 0, 0, 0.2, 0.15], abs=1e-3)


def test_what_the_mask_hides_does_not_matter():
    pixels, truth = scene()
    other = pixels.copy()
    other[truth == 2] = np.random.default_rng(0).integers(0, 256, (int((truth == 2).sum()), 3))
    one, two = (features(Picture(p, truth != 2))[truth != 2] for p in (pixels, other))
    assert (one == two).all()


# The mixture


@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_likelihood_never_falls(k, n, d, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d)) * rng.choice([0, 1e-3, 1, 10], d)
    points[rng.random(n) < 0.3] = points[0]
    means = points[rng.integers(0, n, (3, k))] + rng.normal(size=(3, k, d))
    history = fit(points, means, tolerance=0, iterations=60).history
    assert (np.diff(history, axis=0) >= -1e-9 * np.maximum(abs(history[1:]), 1)).all()


def test_the_likelihood_never_falls_on_a_picture():
    points = features(Picture(scene()[0])).reshape(-1, 8)[::17].astype(float)
    for k in (2, 5):
        history = fit(points, starts(points, k, np.random.default_rng(0)), tolerance=0, iterations=60).history
        assert len(history) > 10
        assert (np.diff(history, axis=0) >= -1e-9 * abs(history[1:])).all()
        assert (history[-1] > history[0] + 100).all()


def test_logs_and_likelihood_agree_with_scipy():
    points, _ = groups(3, 300, 1)
    mixture = fit(points, starts(points, 3, np.random.default_rng(0)))
    expected = np.array(
        [
            math.log(w) + multivariate_normal(m, c).logpdf(points)
            for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
        ]
    )
    assert mixture.logs(points) == pytest.approx(expected, rel=1e-8, abs=1e-7)
    assert mixture.likelihood == pytest.approx(logsumexp(expected, axis=0).sum(), rel=1e-10)
    assert (mixture.labels(points) == expected.argmax(axis=0)).all()
    assert mixture.weights.sum() == pytest.approx(1, abs=1e-12)


def test_one_group_is_the_mean_and_the_covariance():
    points, _ = groups(2, 200, 3)
    mixture = fit(points, np.zeros((1, 1, 5)))
    assert mixture.means[0] == pytest.approx(points.mean(axis=0), abs=1e-12)
    assert mixture.covariances[0] == pytest.approx(np.cov(points.T, bias=True), abs=1e-12)


def test_no_allowed_covariance_is_likelier_than_the_floored_one():
    rng = np.random.default_rng(6)
    points = rng.normal(size=(60, 3)) @ np.diag([1, 0.05, 0.001])
    mixture = fit(points, np.zeros((1, 1, 3)), floor=0.1)
    assert np.linalg.eigvalsh(mixture.covariances[0]) == pytest.approx([0.01, 0.01, points[:, 0].var()], rel=0.01)
    for _ in range(300):
        half = rng.normal(size=(3, 3)) * rng.choice([0.01, 0.1, 0.5])
        other = 0.1**2 * np.eye(3) + half @ half.T + rng.choice([0, 1]) * np.diag([0.9, 0, 0])
        assert multivariate_normal(points.mean(axis=0), other).logpdf(points).sum() <= mixture.likelihood


def test_groups_without_points_do_no_harm():
    points = np.zeros((30, 2))
    mixture = fit(points, np.array([[[0.0, 0], [1e6, 1e6], [0, 0]]]))
    assert np.isfinite(mixture.history).all()
    assert mixture.weights[1] == 0
    assert not mixture.labels(points).any()


def test_description_counts_parameters():
    # m = (K - 1) + K d + K d (d + 1) / 2: 89 for two groups of eight features, 134 for three.
    for k, m in ((2, 89), (3, 134)):
        mixture = Mixture(np.full(k, 1 / k), np.zeros((k, 8)), np.tile(np.eye(8), (k, 1, 1)), np.zeros((1, 1)), 500.0)
        assert mixture.description(2000) == pytest.approx(m / 2 * math.log(2000) - 500)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_right_number_of_clear_groups_is_chosen(k):
    points, truth = groups(k, 1200, k)
    mixture = choose(points, least=1, most=6)
    assert len(mixture.weights) == k
    assert adjusted_rand(truth, mixture.labels(points)) > 0.99


def test_one_gaussian_is_one_group():
    points = np.random.default_rng(0).normal(size=(800, 5))
    assert len(choose(points, least=1).weights) == 1


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_right_number_of_areas_of_one_lightness_is_chosen(k):
    y, x = np.indices((96, 144))
    truth = {2: (x > 60), 3: np.where(y < 40, 0, 1 + (x > 60)), 4: 2 * (y > 40) + (x > 70)}[k].astype(int)
    hues = np.array([[60, 45, 30], [60, -20, -30], [60, -40, 40], [60, 40, -35]], float)
    pixels = noisy(lab2rgb(hues[truth]) * 255)
    found = blobworld(Picture(pixels), pixels=1000)
    assert found.max() + 1 == k
    assert adjusted_rand(truth, found) > 0.95


def test_a_border_of_light_and_dark_may_be_a_group_of_its_own():
    x = np.indices((96, 144))[1]
    truth = (x > 60).astype(int)
    found = blobworld(Picture(noisy(np.array([[30.0] * 3, [220.0] * 3])[truth])))
    away = abs(x - 60) > 6
    assert adjusted_rand(truth[away][None], found[away][None]) > 0.9


def test_windows_of_the_start_lie_in_the_picture():
    x, y = np.meshgrid(np.arange(30) / 30, np.arange(20) / 30)
    points = np.stack([x.ravel() * 2, x.ravel(), y.ravel()], axis=1)
    means = starts(points, 3, np.random.default_rng(0))
    assert means.shape == (4, 3, 3)
    assert means[0, :, 1] * 30 == pytest.approx([4.5, 14.5, 24.5], abs=0.51)
    assert np.ptp(means[1, :, 1]) == pytest.approx(0, abs=1e-12)
    assert (np.diff(means[1, :, 2]) > 0.2).all()
    assert means[2, 0] == pytest.approx(points.mean(axis=0), abs=0.02)
    assert not np.allclose(means[3], means[2])


# The whole


def test_coloured_and_textured_areas_are_found():
    pixels, truth = scene()
    found = blobworld(Picture(pixels))
    assert adjusted_rand(truth, found) > 0.85
    assert adjusted_rand(truth, grid(truth.shape, found.max() + 1)) < 0.5


def test_texture_alone_parts_what_has_the_same_mean():
    x = np.indices((96, 144))[1]
    truth = (x >= 72).astype(int)
    stripes = np.where(truth, 128, np.where(x // 2 % 2, 188, 68))
    pixels = noisy(np.repeat(stripes[..., None], 3, axis=2).astype(float))
    assert adjusted_rand(truth, blobworld(Picture(pixels), most=2)) > 0.8


def test_the_same_seed_gives_the_same_labels():
    pixels, _ = scene()
    assert (blobworld(Picture(pixels), seed=3) == blobworld(Picture(pixels.copy()), seed=3)).all()


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_votes_agree_with_a_plain_count(height, width, seed):
    labels = np.random.default_rng(seed).integers(-1, 3, (height, width)).astype(np.int32)
    found = voted(labels)
    for y, x in np.ndindex(labels.shape):
        window = labels[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        counts = [(window == k).sum() for k in range(3)]
        if labels[y, x] < 0:
            assert found[y, x] == -1
        elif counts[labels[y, x]] == max(counts):
            assert found[y, x] == labels[y, x]
        else:
            assert found[y, x] == counts.index(max(counts))


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (1, 300), (300, 1), (2, 2), (3, 50), (40, 40)])
@pytest.mark.parametrize("kind", ["even", "noise", "grey"])
def test_odd_pictures_pass(shape, kind):
    rng = np.random.default_rng(0)
    pixels = np.full((*shape, 3), 77, np.uint8)
    if kind == "noise":
        pixels = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    if kind == "grey":
        pixels = np.broadcast_to(rng.integers(0, 256, shape)[..., None], (*shape, 3)).astype(np.uint8)
    for mask in (None, rng.random(shape) < 0.5, np.zeros(shape, bool)):
        inside = np.ones(shape, bool) if mask is None else mask
        assert np.isfinite(features(Picture(pixels, mask))).all()
        found = blobworld(Picture(pixels, mask), pixels=200)
        assert found.shape == shape
        assert found.dtype == np.int32
        assert ((found >= 0) == inside).all()


@pytest.mark.parametrize(
    "wrong", [{"least": 0}, {"least": 4, "most": 3}, {"pixels": 0.5}, {"iterations": -1}, {"seed": -1}]
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(TextError, match=list(wrong)[-1]):
        blobworld(Picture(np.zeros((4, 4, 3), np.uint8)), **wrong)


def test_points_and_starts_must_fit():
    with pytest.raises(TableError, match="do not fit"):
        fit(np.zeros((5, 2)), np.zeros((1, 2, 3)))
    with pytest.raises(TableError, match="0 points"):
        choose(np.zeros((0, 4)))
