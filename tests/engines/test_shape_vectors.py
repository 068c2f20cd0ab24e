"""Recognisers that compare vectors: distances by brute force, and laws that hold for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from shape_samples import blank, drawing, material, scores, turned

from endoxa.engines.registry import available, engine
from endoxa.engines.shape_vectors import SHAPES, ShapeVectors
from endoxa.errors import TableError, TextError
from endoxa.images import Picture


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_negative_distances(shape: str) -> None:
    pictures = [drawing(seed) for seed in range(5)] + [blank()]
    one = ShapeVectors(shape)
    rows = material(one.descriptor, pictures).columns["shape"].astype(float)
    expected = np.empty((6, 6))
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            step = np.abs(row - other)
            expected[i, j] = -np.sqrt((step**2).sum()) if shape == "structure" else -step.sum()
    found = scores(one, pictures, pictures)
    assert found == pytest.approx(expected)
    assert (np.diag(found) == 0).all() and not np.signbit(found[found == 0]).any()
    assert (found[~np.eye(6, dtype=bool)] < 0).all()


@pytest.mark.parametrize("shape", ["radon", "gfd", "zernike"])
def test_a_turned_drawing_is_recognised(shape: str) -> None:
    found = scores(ShapeVectors(shape), [turned(seed, 70) for seed in range(6)], [drawing(seed) for seed in range(6)])
    assert found.argmax(axis=1).tolist() == list(range(6))


@pytest.mark.parametrize("name", available("symbols"))
@pytest.mark.parametrize("shape", [(1, 1), (500, 1), (2, 300), (128, 128)])
def test_every_picture_can_be_described(name: str, shape: tuple[int, int]) -> None:
    one = engine(name)
    noise = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    pictures = [Picture(pixels) for pixels in (np.zeros_like(noise), np.full_like(noise, 255), noise)]
    found = scores(one, pictures, pictures)
    assert np.isfinite(found).all() and (np.diag(found) == found.max(axis=1)).all()


def test_what_is_refused() -> None:
    with pytest.raises(TextError, match="no shape is called 'radom'; did you mean radon"):
        ShapeVectors("radom")
    gfd = ShapeVectors("gfd")
    described = material(gfd.descriptor, [drawing(0)])
    with pytest.raises(TableError, match="the material for gfd has no column 'shape'"):
        gfd.build(material(_Other(), [drawing(0)]))
    described.columns["shape"][0, 0] = np.nan
    with pytest.raises(TableError, match="'p0' has a feature that is not finite"):
        gfd.build(described)
    with pytest.raises(TextError, match="gfd takes no words"):
        gfd.score_words(gfd.build(material(gfd.descriptor, [drawing(0)])), [("motor",)])


class _Other:
    name, version = "other", 1

    def describe(self, _picture):
        return {"other": np.zeros((1, 2))}
