import math

import numpy as np
import pytest
from picture_samples import adjusted_rand, grid
from scipy import ndimage

from endoxa.errors import TextError
from endoxa.images import Picture
from endoxa.images.jseg import STEPS, jseg, merged, peers, quantised, refined, seeds, separations


def scene():
    """Sky, a checked field, a disc and a square, with a little noise."""
    y, x = np.indices((128, 192))
    truth = (y > 75).astype(int)
    truth[(x - 60) ** 2 + (y - 55) ** 2 < 30**2] = 2
    truth[(abs(x - 145) < 25) & (abs(y - 85) < 25)] = 3
    colours = np.array([[90, 150, 220], [0, 0, 0], [220, 60, 50], [230, 210, 80]])[truth].astype(float)
    checks = np.where(((x // 3 + y // 3) % 2)[..., None], [40, 90, 40], [110, 170, 70])
    colours[truth == 1] = checks[truth == 1]
    colours += np.random.default_rng(5).normal(0, 6, colours.shape)
    return np.clip(colours, 0, 255).astype(np.uint8), truth


def plain_separation(classes):
    """J as the paper writes it, pixel by pixel."""
    places = [(np.array(z, float), classes[z]) for z in np.ndindex(classes.shape) if classes[z] >= 0]
    if not places:
        return math.nan
    mean = sum(z for z, _ in places) / len(places)
    total = sum(((z - mean) ** 2).sum() for z, _ in places)
    within = 0.0
    for label in {c for _, c in places}:
        own = [z for z, c in places if c == label]
        centre = sum(own) / len(own)
        within += sum(((z - centre) ** 2).sum() for z in own)
    return (total - within) / within if within else math.nan


# J of whole maps


def test_classes_around_one_centre_have_j_zero():
    # The paper's class-map 2 has J = 0: its classes are spread alike.
    y, x = np.indices((9, 9))
    rings = np.maximum(abs(x - 4), abs(y - 4)).astype(np.int32) % 3
    assert plain_separation(rings) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("shape", "cuts", "expected"),
    [
        # Between: Σ share · (centre - mean)²; total (W² - 1 + H² - 1) / 12: 4 of 10.5, 6 of 40/3.
        ((8, 8), [4], 4 / 6.5),
        ((9, 9), [3, 6], 9 / 11),
    ],
)
def test_bands_have_the_j_of_their_moments(shape, cuts, expected):
    bands = np.broadcast_to(np.searchsorted(cuts, np.arange(shape[1]), side="right"), shape).astype(np.int32)
    assert plain_separation(bands) == pytest.approx(expected, rel=1e-12)


def test_j_is_undefined_where_every_class_is_a_point():
    assert math.isnan(plain_separation(np.array([[0, 1]], np.int32)))
    assert math.isnan(plain_separation(np.full((3, 3), -1, np.int32)))


# J around each pixel


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_the_j_image_is_j_of_round_windows(scale):
    rng = np.random.default_rng(scale)
    classes = np.kron(rng.integers(0, 4, (5, 6)), np.ones((9, 8), int)).astype(np.int32)
    classes[rng.random(classes.shape) < 0.2] = 1
    classes[:7, :5] = -1
    plane = separations(classes, scale)
    step = 2 ** (scale - 1)
    height, width = classes.shape
    for y in range(0, height, 3 * step):
        for x in range(0, width, 4 * step):
            window = np.full((9, 9), -1, np.int32)
            for v in range(-4, 5):
                for u in range(-4, 5):
                    yy, xx = y + v * step, x + u * step
                    if u * u + v * v <= 4.5**2 and 0 <= yy < height and 0 <= xx < width:
                        window[v + 4, u + 4] = classes[yy, xx]
            expected = plain_separation(window)
            assert plane[y, x] == pytest.approx(0 if math.isnan(expected) else expected, rel=1e-4, abs=1e-5)


def test_between_samples_the_j_image_is_linear():
    classes = (np.indices((16, 33))[1] > 15).astype(np.int32)
    plane = separations(classes, 2)
    assert plane[4, 13] == pytest.approx((plane[4, 12] + plane[4, 14]) / 2, rel=1e-5)
    assert plane[4, 14] > plane[4, 8] > 0


def test_one_class_has_no_border_anywhere():
    assert not separations(np.zeros((20, 30), np.int32), 1).any()


# Seeds, growth and merging


def test_seeds_are_the_valleys_of_the_threshold_that_finds_most():
    plane = np.random.default_rng(1).normal(size=(40, 50))
    plane = ndimage.gaussian_filter(plane, 2).astype(np.float32)
    region = np.ones(plane.shape, bool)
    region[:, 30:33] = False
    found = seeds(plane, region, 25)
    values = plane[region]
    counts = []
    for step in STEPS:
        parts, n = ndimage.label(region & (plane < values.mean() + step * values.std()))
        counts.append(sum((parts == k).sum() >= 25 for k in range(1, n + 1)))
    assert found.max() == max(counts) > 1
    assert not found[~region].any()
    low = values.mean() + STEPS[counts.index(max(counts))] * values.std()
    assert (plane[found > 0] < low).all()
    for k in range(1, found.max() + 1):
        assert ndimage.label(found == k)[1] == 1
        assert (found == k).sum() >= 25


def test_an_even_region_has_no_seed():
    assert not seeds(np.zeros((9, 9), np.float32), np.ones((9, 9), bool), 1).any()


def test_neighbours_with_near_histograms_merge_nearest_first():
    # Shares of class 1: 0, .25, .5 and 1: neighbours .354, .354 and .707 apart.
    labels = np.repeat(np.arange(4, dtype=np.int32), 4)[None]
    classes = np.array([[0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]], np.int32)
    assert merged(labels, classes, 0.3).max() == 3
    # 0 and 1 join (the first of two equals): .125 of class 1, now .53 from region 2.
    assert merged(labels, classes, 0.4).tolist() == [[0] * 8 + [1] * 4 + [2] * 4]
    assert merged(labels, classes, 0.6).tolist() == [[0] * 12 + [1] * 4]
    assert not merged(labels, classes, 1.4).any()


def test_nothing_merges_into_nothing():
    empty = np.full((2, 3), -1, np.int32)
    assert (merged(empty, empty, 0.4) == -1).all()


def test_valleys_grow_up_to_the_ridge_between_them():
    y, x = np.indices((40, 64))
    ridge = np.where(y < 20, 30, 34)
    plane = np.exp(-((x - ridge) ** 2) / 18).astype(np.float32)
    found = refined(np.zeros((40, 64), np.int32), {1: plane}, 1)
    # Where the ridge jumps, either may come first.
    straight = abs(y - 19.5) > 4
    assert (found[(x < ridge) & straight] == found[0, 0]).all()
    assert (found[(x > ridge) & straight] == found[0, 63]).all()
    assert set(np.unique(found)) == {0, 1}


def test_a_valley_takes_in_the_low_ground_that_touches_no_other():
    # Valleys at both ends; a slope at .4 beside the first, below the mean of the rest (.7), then a ridge. In the finer
    # plane the slope is the highest of all, so that without this step the ridge would be taken first and the slope
    # shared.
    columns = np.repeat([0, 0.4, 1, 0], [20, 10, 10, 20])
    coarse = np.broadcast_to(columns, (40, 60)).astype(np.float32)
    fine = np.broadcast_to(np.repeat([0, 9, 0, 0], [20, 10, 10, 20]), (40, 60)).astype(np.float32)
    found = refined(np.zeros((40, 60), np.int32), {2: coarse, 1: fine}, 2)
    assert (found[:, :30] == found[0, 0]).all()
    assert (found[:, 40:] == found[0, 59]).all()
    assert found[0, 0] != found[0, 59]


def test_only_neighbours_merge():
    labels = np.array([[0, 0, 1, 1, 2, 2]], np.int32)
    classes = np.array([[0, 0, 1, 1, 0, 0]], np.int32)
    assert merged(labels, classes, 0.4).tolist() == labels.tolist()
    # A gap of the mask keeps apart what looks the same.
    labels[0, 2:4] = -1
    classes[0, 2:4] = -1
    assert merged(np.where(labels == 2, 1, labels), classes, 0.4).tolist() == [[0, 0, -1, -1, 1, 1]]


# Colours


@pytest.mark.parametrize("band", [12, 1 << 15])
def test_peers_agree_with_a_plain_search(band, monkeypatch):
    monkeypatch.setattr("endoxa.images.jseg._BAND", band)
    rng = np.random.default_rng(3)
    luv = rng.normal(0, 10, (5, 6, 3)).astype(np.float32)
    luv[:, 3:] += 50
    inside = np.ones((5, 6), bool)
    inside[0, 0] = inside[2, 3] = False
    smooth, spread = peers(luv, inside)
    for y, x in np.argwhere(inside):
        around = []
        for v in (-1, 0, 1):
            for u in (-1, 0, 1):
                yy, xx = min(max(y + v, 0), 4), min(max(x + u, 0), 5)
                outside = not (0 <= y + v < 5 and 0 <= x + u < 6) or not inside[yy, xx]
                around.append(luv[y, x] if outside else luv[yy, xx])
        around = np.array(around, float)
        apart = np.linalg.norm(around - luv[y, x], axis=1)
        order = np.argsort(apart, kind="stable")
        ranked = apart[order]
        fisher = []
        for n in range(1, 9):
            low, high = ranked[:n], ranked[n:]
            scatter = ((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()
            fisher.append((high.mean() - low.mean()) ** 2 / (scatter + 1e-3))
        n = int(np.argmax(fisher)) + 1
        assert spread[y, x] == pytest.approx(ranked[n - 1], rel=1e-3, abs=1e-3)
        belongs = apart <= ranked[n - 1] + 1e-9
        assert smooth[y, x] == pytest.approx(around[belongs].mean(axis=0), rel=1e-3, abs=1e-2)


def test_flat_colours_are_one_class_each():
    colours = np.array([[255, 0, 0], [0, 160, 0], [0, 0, 255], [255, 255, 0], [0, 0, 0], [255, 255, 255]], np.uint8)
    truth = np.kron(np.arange(6).reshape(2, 3), np.ones((8, 9), int))
    found = quantised(Picture(colours[truth]))
    assert adjusted_rand(truth, found) == 1
    assert found.dtype == np.int32


def test_near_colours_share_a_class_and_distance_says_what_near_is():
    greys = np.repeat(np.array([100, 104, 200], np.uint8), 10)
    picture = Picture(np.broadcast_to(greys[None, :, None], (10, 30, 3)).copy())
    assert quantised(picture).max() == 1
    assert quantised(picture, distance=500).max() == 0
    assert quantised(picture, distance=0.5).max() == 2


def test_there_are_no_more_classes_than_allowed():
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype(np.uint8)
    assert quantised(Picture(noise), classes=7, distance=0).max() == 6


# The whole


def test_coloured_and_textured_areas_are_found():
    pixels, truth = scene()
    found = jseg(Picture(pixels))
    assert adjusted_rand(truth, found) > 0.95
    assert adjusted_rand(truth, grid(truth.shape, found.max() + 1)) < 0.5


def test_two_mixtures_of_the_same_two_colours_are_told_apart():
    rng = np.random.default_rng(2)
    truth = np.broadcast_to(np.indices((128, 128))[1] >= 64, (128, 128)).astype(int)
    dots = np.kron(rng.random((64, 64)), np.ones((2, 2))) < np.where(truth, 0.85, 0.15)
    pixels = np.where(dots[..., None], [200, 60, 60], [60, 90, 200]).astype(np.uint8)
    found = jseg(Picture(pixels), scales=1)
    assert adjusted_rand(truth, found) > 0.8


def test_regions_hang_together_and_have_numbers_without_gaps():
    pixels, _ = scene()
    mask = np.ones(pixels.shape[:2], bool)
    mask[:, 96:99] = False
    mask[100:, :20] = False
    found = jseg(Picture(pixels, mask))
    assert found.dtype == np.int32
    assert ((found == -1) == ~mask).all()
    assert set(np.unique(found[mask])) == set(range(found.max() + 1))
    for label in range(found.max() + 1):
        assert ndimage.label(found == label)[1] == 1


def test_what_the_mask_hides_does_not_matter():
    pixels, truth = scene()
    other = pixels.copy()
    other[truth == 2] = np.random.default_rng(0).integers(0, 256, (int((truth == 2).sum()), 3))
    one, two = (jseg(Picture(p, truth != 2)) for p in (pixels, other))
    assert (one == two).all()


def test_the_same_picture_gives_the_same_labels():
    pixels, _ = scene()
    assert (jseg(Picture(pixels)) == jseg(Picture(pixels.copy()))).all()


def test_fewer_merges_leave_more_regions():
    pixels, _ = scene()
    assert jseg(Picture(pixels), merge=0).max() >= jseg(Picture(pixels)).max()
    assert jseg(Picture(pixels), merge=1.4).max() == 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (1, 300), (300, 1), (2, 2), (3, 50), (70, 70)])
@pytest.mark.parametrize("kind", ["even", "noise", "grey"])
def test_odd_pictures_pass(shape, kind):
    rng = np.random.default_rng(0)
    pixels = np.full((*shape, 3), 77, np.uint8)
    if kind == "noise":
        pixels = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    if kind == "grey":
        pixels = np.broadcast_to(rng.integers(0, 256, shape)[..., None], (*shape, 3)).astype(np.uint8)
    for mask in (None, np.ones(shape, bool), rng.random(shape) < 0.5, np.zeros(shape, bool)):
        found = jseg(Picture(pixels, mask))
        inside = np.ones(shape, bool) if mask is None else mask
        assert found.shape == shape
        assert ((found >= 0) == inside).all()
        if kind == "even" and mask is None:
            assert found.max() == 0


@pytest.mark.parametrize(
    "wrong", [{"scales": 0}, {"scales": 5}, {"merge": -1}, {"distance": math.nan}, {"classes": 2.5}]
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(TextError, match=next(iter(wrong))):
        jseg(Picture(np.zeros((4, 4, 3), np.uint8)), **wrong)
