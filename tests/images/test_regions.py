"""The descriptor of regions: settings, rows, and pictures that have none."""

import dataclasses
import json

import numpy as np
import pytest

from endoxa.engines import Descriptor
from endoxa.errors import TextError
from endoxa.images import Picture
from endoxa.images.features import GROUPS, NAMES, Cells, Regions, Touching, describe_regions, neighbours_of, shape_near
from endoxa.images.segment import segment


def scene(height: int = 60, width: int = 90) -> Picture:
    """Sky over grass with a red square, and some noise."""
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[: height // 2] = (90, 150, 230)
    pixels[height // 2 :] = (60, 160, 50)
    pixels[height // 4 : height // 2, width // 2 : width // 2 + height // 4] = (200, 20, 20)
    noise = np.random.default_rng(1).integers(-8, 9, pixels.shape)
    return Picture(np.clip(pixels + noise, 0, 255).astype(np.uint8))


def test_it_is_a_descriptor_with_plain_settings() -> None:
    descriptor: Descriptor = Regions()
    assert (descriptor.name, descriptor.version) == ("regions", 1)
    written = json.loads(json.dumps(dataclasses.asdict(Regions(count=4, groups="base,rgs"))))
    assert written == {"segmenter": "slic", "count": 4, "side": 384, "groups": "base,rgs"}
    assert Regions(**written) == Regions(count=4, groups="base,rgs")


@pytest.mark.parametrize("segmenter", ["slic", "grid", "felzenszwalb"])
def test_rows_are_the_largest_regions_from_the_largest_on(segmenter: str) -> None:
    picture = scene()
    found = Regions(segmenter=segmenter, count=3).describe(picture)
    assert list(found) == [*GROUPS, "size"]
    whole = segment(picture, segmenter)
    sizes = sorted((int((whole == k).sum()) for k in range(whole.max() + 1)), reverse=True)[:3]
    np.testing.assert_allclose(found["size"], np.array(sizes) / whole.size, rtol=1e-6)
    for group in GROUPS:
        assert found[group].shape == (len(sizes), len(NAMES[group]))
        np.testing.assert_array_equal(found[group], describe_regions(picture, whole, (group,))[group][: len(sizes)])


def test_the_same_picture_has_the_same_numbers_and_only_the_groups_asked_for() -> None:
    once, again = (Regions(groups="rgs,base").describe(scene()) for _ in range(2))
    assert list(once) == ["rgs", "base", "size"]
    for name, rows in once.items():
        np.testing.assert_array_equal(rows, again[name])


def test_a_large_picture_is_brought_down_first() -> None:
    picture = scene(200, 300)
    small = Regions(side=75).describe(picture.fitted(75))
    for name, rows in Regions(side=75).describe(picture).items():
        np.testing.assert_array_equal(rows, small[name])


def test_what_is_transparent_is_in_no_region() -> None:
    picture = scene()
    mask = np.zeros(picture.shape, np.bool_)
    mask[:, :30] = True
    found = Regions(segmenter="grid", count=1000).describe(Picture(picture.pixels, mask))
    assert found["size"].sum() == pytest.approx(1 / 3)
    assert (found["base"][:, 1] < 1 / 3).all()


def test_a_picture_without_a_region_is_one_region_of_all_its_pixels() -> None:
    picture = Picture(scene().pixels, np.zeros((60, 90), np.bool_))
    found = Regions().describe(picture)
    expected = describe_regions(picture, np.zeros((60, 90), np.int32))
    assert found.pop("size").tolist() == [1.0]
    for group, rows in found.items():
        assert rows.shape == (1, len(NAMES[group]))
        np.testing.assert_array_equal(rows, expected[group])


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (3, 2)])
def test_odd_pictures_have_finite_rows(shape: tuple[int, int]) -> None:
    found = Regions(side=100).describe(Picture(np.full((*shape, 3), 200, np.uint8)))
    rows = len(found["size"])
    assert rows >= 1
    for values in found.values():
        assert len(values) == rows
        assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"count": 0}, "count = 0"),
        ({"side": 0}, "side = 0"),
        ({"groups": "base,colour"}, "no group of region features is called 'colour'"),
        ({"groups": ""}, "no group of region features is called ''"),
        ({"groups": "base,textur"}, "did you mean texture"),
        ({"segmenter": "slick"}, "did you mean slic"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(TextError, match=says):
        Regions(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "shape"),
    [(1, (1, 1)), (2, (1, 2)), (3, (2, 2)), (4, (2, 2)), (6, (2, 3)), (7, (2, 4)), (8, (2, 4)), (9, (3, 3)),
     (10, (2, 5)), (12, (3, 4)), (14, (3, 5)), (16, (4, 4)), (20, (4, 5))],
)  # fmt: skip
def test_the_grid_nearest_to_a_number_of_regions(count: int, shape: tuple[int, int]) -> None:
    assert shape_near(count) == shape


def test_a_grid_of_cells_covers_the_picture_in_its_own_shape() -> None:
    wide = Picture(np.random.default_rng(0).integers(0, 256, (40, 60, 3)).astype(np.uint8))
    upright = Picture(wide.pixels.transpose(1, 0, 2).copy())
    for picture, columns in ((wide, 4), (upright, 2)):
        _, labels = Cells(count=8).regions(picture)
        assert labels.max() == 7 and labels.min() == 0 and len(np.unique(labels[0])) == columns
    assert len(Cells(count=8).describe(wide)["size"]) == 8


def test_neighbours_are_the_regions_that_touch() -> None:
    labels = np.array([[0, 0, 1], [0, 0, 2], [3, -1, 2]], np.int32)
    assert [f"{int(bits):04b}" for bits in neighbours_of(labels)] == ["1110", "0101", "0011", "0001"]
    assert neighbours_of(np.zeros((2, 2), np.int32)).tolist() == [0]


def test_regions_and_their_neighbours() -> None:
    own, touching = Regions(count=4).describe(scene()), Touching(count=4).describe(scene())
    for name, rows in own.items():
        np.testing.assert_array_equal(rows, touching[name])
    bits = touching["neighbours"]
    matrix = (bits[:, None] >> np.arange(len(bits))) & 1
    assert (matrix == matrix.T).all() and not matrix.diagonal().any() and matrix.any()
