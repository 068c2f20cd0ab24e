"""Binarisers: a worked example, doxapy as oracle, and pages without contrast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.documents.binarisers import INK, NAMES, PAPER, THRESHOLDS, binarise, ink, moments, threshold, wolf_of
from endoxa.errors import TextError

NINE = np.array(((200, 190, 60), (210, 50, 40), (205, 195, 55)), dtype=np.uint8)
INSIDE = 30  # pixels from the border, where doxapy and we see the same window


def page() -> np.ndarray:
    """Dark strokes on paper with a gradient, and noise; empty at the border, where windows differ between programs."""
    rng = np.random.default_rng(0)
    grey = np.linspace(120, 230, 260)[None, :] * np.ones((240, 1))
    for _ in range(60):
        y, x = rng.integers(60, 175), rng.integers(60, 175)
        grey[y : y + 3, x : x + 22] -= 70
    return np.clip(grey + rng.normal(0, 8, grey.shape), 0, 255).astype(np.uint8)


def test_the_worked_example() -> None:
    m, s = moments(NINE, 3)
    assert (m[1, 1], s[1, 1]) == pytest.approx((133.888889, 74.265955), abs=5e-7)
    expected = {"niblack": 119.035698, "sauvola": 122.647652, "nick": 118.578217, "phansalkar": 122.020108}
    for name, value in expected.items():
        assert threshold(NINE, name, window=3)[1, 1] == pytest.approx(value, abs=5e-7)
    assert wolf_of(m, s, 40, 80)[1, 1] == pytest.approx(130.524120, abs=5e-7)
    assert threshold(NINE, "mean", window=3)[1, 1] == pytest.approx(0.85 * 133.888889, abs=5e-7)


@pytest.mark.parametrize(
    ("name", "k"), [("otsu", None), ("niblack", -0.2), ("sauvola", 0.2), ("wolf", 0.5), ("nick", -0.1)]
)
@pytest.mark.parametrize("window", [15, 41])
def test_doxapy_finds_the_same_ink(name: str, k: float | None, window: int) -> None:
    doxapy = pytest.importorskip("doxapy")
    grey = page()
    found = np.empty_like(grey)
    algorithm = doxapy.Binarization(getattr(doxapy.Binarization.Algorithms, name.upper()))
    algorithm.initialize(grey)
    algorithm.to_binary(found, {} if k is None else {"window": window, "k": k})
    own = binarise(grey, name, window=window)
    assert 0.01 < (own == INK).mean() < 0.6
    inner = np.s_[INSIDE:-INSIDE, INSIDE:-INSIDE]
    assert (own[inner] == found[inner]).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "grey"])
@pytest.mark.parametrize("value", [0, 7, 128, 255])
def test_a_page_of_one_grey_has_no_ink(name: str, value: int) -> None:
    grey = np.full((50, 60), value, dtype=np.uint8)
    assert (binarise(grey, name) == PAPER).all()
    assert np.isfinite(threshold(grey, name)).all()


def test_grey_leaves_the_page_as_it_is() -> None:
    assert (binarise(NINE, "grey") == NINE).all()


@given(st.integers(0, 2**32), st.sampled_from(sorted(THRESHOLDS)))
def test_a_window_sees_only_its_neighbourhood(seed: int, name: str) -> None:
    """A change farther away than half the window changes nothing, but for Wolf's, which knows the whole page."""
    rng = np.random.default_rng(seed)
    grey = rng.integers(0, 256, (24, 24), dtype=np.uint8)
    other = grey.copy()
    other[20:] = rng.integers(0, 256, (4, 24), dtype=np.uint8)
    if name != "wolf":
        one, two = (threshold(values, name, window=5) for values in (grey, other))
        assert one[:18] == pytest.approx(two[:18])
    shuffled = grey.T  # and no direction is special
    assert threshold(shuffled, name, window=5) == pytest.approx(threshold(grey, name, window=5).T)


def test_moments_are_those_of_a_reflected_window() -> None:
    padded = np.pad(NINE.astype(float), 1, mode="symmetric")
    m, s = moments(NINE, 3)
    for y, x in np.ndindex(3, 3):
        window = padded[y : y + 3, x : x + 3]
        assert (m[y, x], s[y, x]) == pytest.approx((window.mean(), window.std()))


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(TextError, match=r"no binariser is called 'sauvolla'; did you mean sauvola\?"):
        binarise(NINE, "sauvolla")
    with pytest.raises(TextError, match="odd number of pixels, 3 or more, not 4"):
        binarise(NINE, "wolf", window=4)
    assert not ink(np.zeros((0, 5), dtype=np.uint8), "otsu").size
