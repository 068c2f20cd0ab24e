"""Sketches: worked numbers (docs/methods/search.md, Sketches), laws, and canvases that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.color import rgb2lab

from endoxa.engines.colour_layout import Layout
from endoxa.errors import TextError
from endoxa.images import Picture
from endoxa.searches.arms import Group
from endoxa.searches.sketches import Sketch, cell_distances, relevance, sketch_scale


def layout(values: np.ndarray, tau: float = 20.0) -> Group:
    return Group("layout", values, (), {"sketch": tau})


def canvas(colour: tuple[int, int, int] = (200, 40, 40), alpha: int = 0) -> np.ndarray:
    return np.full((256, 256, 4), (*colour, alpha), np.uint8)


def test_the_worked_numbers() -> None:
    sketch = Sketch(np.array([1, 0.5]), np.array([[50.0, 0, 0], [60, 40, 20]]))
    picture = np.array([[52, 3 + 128, -1 + 128, 70, 20 + 128, 40 + 128]], np.uint8)
    alone = [cell_distances(picture, sketch.colours[None], np.array([one]))[0, 0] for one in ([1.0, 0], [0, 1.0])]
    assert alone == pytest.approx([3.741657, 30], abs=5e-7)
    assert cell_distances(picture, sketch.colours[None], sketch.shares[None])[0, 0] == pytest.approx(
        12.494438, abs=5e-7
    )
    assert relevance(sketch, layout(picture)) == pytest.approx([0.695408], abs=5e-7)


def test_cells_hold_the_painted_share_and_the_mean_of_the_painted_part() -> None:
    pixels = canvas()
    pixels[:32, :8, 3] = 255  # a quarter of the first cell
    pixels[:32, 32:34, 3] = 1  # a sixteenth of the second: too little
    pixels[32:64, :16] = (255, 255, 255, 9)
    pixels[32:64, 16:32] = (0, 0, 255, 9)
    sketch = Sketch.of(pixels)
    assert sketch.shares.nonzero()[0].tolist() == [0, 8] and sketch.shares[[0, 8]].tolist() == [0.25, 1]
    assert np.allclose(sketch.colours[0], rgb2lab(pixels[0, 0, :3]))
    assert np.allclose(sketch.colours[8], (rgb2lab(pixels[40, 0, :3]) + rgb2lab(pixels[40, 31, :3])) / 2)


def test_a_sketch_of_a_picture_finds_it() -> None:
    rng = np.random.default_rng(1)
    pictures = [Picture(np.kron(rng.integers(0, 256, (8, 8, 3)), np.ones((32, 32, 1))).astype(np.uint8)) for _ in "abc"]
    values = np.concatenate([Layout().describe(picture)["layout"] for picture in pictures])
    pixels = np.dstack([pictures[1].pixels, np.full((256, 256), 255, np.uint8)])
    pixels[100:, :, 3] = 0
    u = relevance(Sketch.of(pixels), layout(values, sketch_scale(values)))
    assert u.argmax() == 1 and u[1] > 0.95


@given(st.integers(0, 999))
def test_relevance_lies_between_0_and_1_and_falls_with_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sketch = Sketch(rng.random(4) * (rng.random(4) > 0.4) + [0.1, 0, 0, 0], rng.normal(50, 20, (4, 3)))
    values = rng.integers(1, 256, (9, 12)).astype(np.uint8)
    d = cell_distances(values, sketch.colours[None], sketch.shares[None])[0]
    lab = values.reshape(9, 4, 3) - np.array([0.0, 128, 128])
    assert np.allclose(d, np.average(np.linalg.norm(lab - sketch.colours, axis=-1), axis=1, weights=sketch.shares))
    u = relevance(sketch, layout(values))
    assert ((u > 0) & (u <= 1)).all() and (np.argsort(-u) == np.argsort(d)).all()


def test_the_scale_is_the_small_quantile_of_mean_distances() -> None:
    values = np.random.default_rng(2).integers(1, 256, (40, 12)).astype(np.uint8)
    lab = values.reshape(40, 4, 3).astype(float)
    apart = np.linalg.norm(lab[:, None] - lab, axis=-1).mean(-1)[np.triu_indices(40, 1)]
    assert sketch_scale(values) == pytest.approx(np.quantile(apart, 0.05))
    assert sketch_scale(values[:1]) == 0 == sketch_scale(np.repeat(values[:1], 5, axis=0))


def test_pictures_without_layout_or_all_alike_have_no_relevance() -> None:
    sketch = Sketch(np.ones(2), np.zeros((2, 3)))
    values = np.array([[0] * 6, [9] * 6], np.uint8)
    u = relevance(sketch, layout(values))
    assert u[0] == 0 < u[1]
    assert relevance(sketch, layout(values, 0.0)).tolist() == [0, 0]
    assert relevance(sketch, layout(values[:0])).tolist() == []


def test_a_layout_without_a_scale_for_sketches_is_given_one() -> None:
    sketch = Sketch(np.ones(4), np.zeros((4, 3)))
    values = np.random.default_rng(3).integers(1, 256, (9, 12)).astype(np.uint8)
    expected = relevance(sketch, layout(values, sketch_scale(values)))
    assert relevance(sketch, Group("layout", values, (), {})).tolist() == expected.tolist()


def test_empty_canvases_are_refused_and_full_ones_are_not() -> None:
    one = canvas()
    one[40, 40, 3] = 255
    for pixels in (canvas(), one):
        with pytest.raises(TextError, match="the sketch is empty; paint a little more"):
            Sketch.of(pixels)
    assert Sketch.of(canvas(alpha=255)).shares.tolist() == [1.0] * 64
    for shape in ((256, 256, 3), (255, 256, 4), (256, 256)):
        with pytest.raises(TextError, match="256 × 256 pixels"):
            Sketch.of(np.zeros(shape, np.uint8))
