"""Mean shift: modes found, palettes made, pixels given their colour."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.color import rgb2luv

from endoxa.errors import TextError
from endoxa.images import Picture
from endoxa.images.mean_shift import allocated, luv, mean_shift, seek
from endoxa.images.segment import segment


def plain_seek(points, start, width):
    """Mean shift with a flat ball, one point after the other."""
    place = start
    while True:
        inside = [p for p in points if np.linalg.norm(p - place) <= width]
        after = np.mean(inside, axis=0)
        moved = np.linalg.norm(after - place)
        place = after
        if moved < 0.1:
            return place, len(inside)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([3.0, 8.0, 20.0]))
def test_a_mode_is_where_the_plain_procedure_ends(seed, width):
    rng = np.random.default_rng(seed)
    points = (rng.normal(0, 6, (60, 3)) + rng.choice([0, 30], (60, 1))).astype(np.float32)
    starts = points[rng.choice(60, 5)].astype(np.float64)
    mode, holds = seek(points, starts, width)
    counts = [int((np.linalg.norm(points - start, axis=1) <= width).sum()) for start in starts]
    expected, held = plain_seek(points.astype(np.float64), starts[int(np.argmax(counts))], width)
    assert mode == pytest.approx(expected, abs=1e-4)
    assert holds == held


def test_a_window_where_no_colour_is_holds_nothing():
    mode, holds = seek(np.zeros((4, 3), np.float32), np.full((1, 3), 50.0), 1.0)
    assert holds == 0
    assert mode.tolist() == [50, 50, 50]


def test_colours_are_those_of_cie():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 9, 3)).astype(np.uint8)
    assert luv(Picture(pixels)) == pytest.approx(rgb2luv(pixels), abs=0.5)


def grey(*lightness):
    row = np.array([lightness], np.float32)
    return np.stack([row, 0 * row, 0 * row], axis=-1), np.ones(row.shape, bool)


def test_the_doubled_window_takes_only_what_touches():
    colours, inside = grey(0, 0, 0, 0, 6, 9.5, 9.5, 6, 9.5)
    # both 6 lie in the doubled window of 0 (5 · 1.26 = 6.3); the first touches a 0 and gets it, the second goes to the
    # nearest of the final colours, (4 · 0 + 6) / 5 = 1.2 and 9.5
    assert allocated(colours, inside, np.array([[0.0, 0, 0], [14, 0, 0]]), 5.0).tolist() == [[0] * 5 + [1] * 4]


def test_what_is_left_goes_to_the_nearest_final_colour():
    colours, inside = grey(18, 22, 22, 40, 40, 40, 30.2)
    modes = np.array([[18.0, 0, 0], [42, 0, 0]])  # 30.2 is nearer to 42 than to 18, but nearer to 20.67 than to 40
    assert allocated(colours, inside, modes, 4.5).tolist() == [[0, 0, 0, 1, 1, 1, 0]]
    inside[0, 3] = False
    assert allocated(colours, inside, modes, 4.5).tolist() == [[0, 0, 0, -1, 1, 1, 0]]


def blotches(seed=0, height=60, width=90, noise=4.0):
    rng = np.random.default_rng(seed)
    truth = np.zeros((height, width), int)
    truth[:, width // 3 :] = 1
    truth[height // 2 :, 2 * width // 3 :] = 2
    colours = np.array([[30, 60, 160], [200, 180, 60], [190, 40, 40]])[truth]
    return np.clip(colours + rng.normal(0, noise, colours.shape), 0, 255).astype(np.uint8), truth


def test_a_few_colours_are_found_whatever_the_seed():
    pixels, truth = blotches()
    for seed in range(5):
        labels = mean_shift(Picture(pixels), radius=0.4, significant=400, seed=seed)
        assert len(set(zip(labels.ravel().tolist(), truth.ravel().tolist(), strict=True))) == 3


def test_the_three_options_stand_in_their_order():
    """Under-segmentation has fewer regions than over-segmentation, and that fewer than quantisation."""
    rng = np.random.default_rng(2)
    y, x = np.mgrid[:80, :120]
    waves = np.stack([128 + 90 * np.sin(x / 17), 128 + 90 * np.cos(y / 13), 128 + 60 * np.sin((x + y) / 23)], axis=-1)
    picture = Picture(np.clip(waves + rng.normal(0, 6, waves.shape), 0, 255).astype(np.uint8))
    under, over, quantised = (segment(picture, f"mean-shift-{name}").max() for name in ("under", "over", "quantised"))
    assert under < over < quantised


def test_parts_below_the_count_are_pruned():
    pixels, _ = blotches(noise=0)
    pixels[5:8, 5:8] = (200, 180, 60)  # nine pixels of another colour of the palette
    assert segment(Picture(pixels), "mean-shift-under").max() == 2
    assert segment(Picture(pixels), "mean-shift-under", contiguous=9).max() == 3


def test_transparent_pixels_have_no_say():
    pixels, _ = blotches()
    mask = np.ones(pixels.shape[:2], bool)
    mask[:, :40] = False
    other = pixels.copy()
    other[:, :40] = np.random.default_rng(1).integers(0, 256, (60, 40, 3))
    assert (mean_shift(Picture(pixels, mask)) == mean_shift(Picture(other, mask))).all()


def test_a_picture_without_significant_colours_is_one():
    pixels = np.random.default_rng(0).integers(0, 256, (30, 30, 3)).astype(np.uint8)
    assert (mean_shift(Picture(pixels), radius=0.001, significant=1e6) == 0).all()
    with pytest.raises(TextError, match="candidates is 0; expected a whole number"):
        mean_shift(Picture(pixels), candidates=0)
