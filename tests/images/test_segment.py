"""Every segmenter answers in one form, and finds what was drawn."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from command_line import done, fails
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from picture_samples import adjusted_rand

from endoxa.errors import TableError, TextError
from endoxa.images import Picture
from endoxa.images.segment import (
    SEGMENTERS,
    available,
    borders,
    by_size,
    largest,
    normalised,
    register,
    segment,
)  # fmt: skip
from endoxa.io.scene_files import write_scenes
from endoxa.verbs.index import index
from endoxa.verbs.run import run

OWN = [name for name in SEGMENTERS if name not in {"blobworld", "jseg"}]


def pieces(labels):
    """4-connected components by walking: list of (label, pixels), the obvious way."""
    height, width = labels.shape
    seen = np.zeros(labels.shape, bool)
    found = []
    for start in np.ndindex(labels.shape):
        if seen[start] or labels[start] < 0:
            continue
        queue, members = deque([start]), []
        seen[start] = True
        while queue:
            y, x = queue.popleft()
            members.append((y, x))
            for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= v < height and 0 <= u < width and not seen[v, u] and labels[v, u] == labels[start]:
                    seen[v, u] = True
                    queue.append((v, u))
        found.append((int(labels[start]), members))
    return found


def keeps_the_promise(labels, picture):
    assert labels.dtype == np.int32
    assert labels.shape == picture.shape
    mask = np.ones(picture.shape, bool) if picture.mask is None else picture.mask
    assert ((labels >= 0) == mask).all()
    found = pieces(labels)
    assert sorted(label for label, _ in found) == list(range(labels.max() + 1))  # none missing, none in two pieces
    order = sorted(found, key=lambda piece: (-len(piece[1]), min(piece[1])))
    assert [label for label, _ in order] == list(range(len(found)))


def drawn(height=96, width=144, noise=6.0, seed=0):
    """Sky, ground, a red disc, a yellow box, a striped box and a white disc, with noise: pixels and truth."""
    y, x = np.mgrid[:height, :width]
    truth = np.zeros((height, width), np.int64)
    colours = np.empty((height, width, 3))
    colours[:] = (120, 160, 220)
    stripes = np.where((x // 3 % 2 > 0)[..., None], (60, 40, 90), (110, 80, 150))
    areas = [
        (y > 0.66 * height, (90, 130, 60)),
        ((y - 0.35 * height) ** 2 + (x - 0.22 * width) ** 2 < (0.2 * height) ** 2, (220, 60, 50)),
        ((abs(y - 0.75 * height) < 0.12 * height) & (abs(x - 0.28 * width) < 0.14 * width), (240, 220, 90)),
        ((abs(y - 0.45 * height) < 0.3 * height) & (abs(x - 0.6 * width) < 0.1 * width), stripes),
        ((y - 0.3 * height) ** 2 + (x - 0.86 * width) ** 2 < (0.16 * height) ** 2, (250, 250, 250)),
    ]
    for number, (where, colour) in enumerate(areas, start=1):
        truth[where] = number
        colours[where] = np.broadcast_to(colour, colours.shape)[where]
    shaken = colours + np.random.default_rng(seed).normal(0, noise, colours.shape)
    return np.clip(shaken, 0, 255).astype(np.uint8), truth


@st.composite
def pictures(draw):
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    pixels = draw(arrays(np.uint8, (height, width, 3), elements=st.sampled_from([0, 9, 128, 255])))
    mask = draw(st.none() | arrays(np.bool_, (height, width)))
    return Picture(pixels, mask)


@pytest.mark.parametrize("method", OWN)
@settings(max_examples=12, deadline=None)
@given(picture=pictures())
def test_labels_are_as_promised(method, picture):
    keeps_the_promise(segment(picture, method), picture)


@pytest.mark.parametrize("method", ["blobworld", "jseg"])
def test_labels_of_the_others_are_as_promised(method):
    SEGMENTERS[method].load()
    pixels, _ = drawn(48, 64)
    mask = np.ones((48, 64), bool)
    mask[:10, :10] = False
    keeps_the_promise(segment(Picture(pixels, mask), method), Picture(pixels, mask))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_labelling_becomes_one_that_keeps_the_promise(data):
    picture = data.draw(pictures())
    labels = data.draw(arrays(np.int64, picture.shape, elements=st.integers(-1, 3)))
    smallest = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    result = normalised(labels, picture, smallest=smallest)
    keeps_the_promise(result, picture)
    if smallest == 0:  # nothing is joined: the regions are the pieces of the labelling within the mask
        inside = np.ones(picture.shape, bool) if picture.mask is None else picture.mask
        before = pieces(np.where(inside, labels + 1, -1))
        assert {frozenset(members) for _, members in before} == {frozenset(members) for _, members in pieces(result)}
    else:  # what stayed small has no neighbour
        small = np.flatnonzero(np.bincount(result[result >= 0]) < smallest * (result >= 0).sum())
        a, b, _ = borders(result)
        assert not np.isin(small, np.concatenate([a, b])).any()


def test_a_fragment_joins_the_neighbour_nearest_in_colour_not_the_one_with_the_longest_border():
    pixels = np.zeros((6, 9, 3), np.uint8)
    pixels[:, :5] = 200
    pixels[2, 4] = 40  # touches the light part on three sides, the dark one on one
    labels = np.zeros((6, 9), int)
    labels[:, 5:] = 1
    labels[2, 4] = 2
    joined = normalised(labels, Picture(pixels), smallest=0.05)
    assert joined.max() == 1
    assert joined[2, 4] == joined[2, 5] != joined[2, 3]


def test_of_neighbours_alike_in_colour_the_longest_border_wins():
    pixels = np.full((3, 7, 3), 100, np.uint8)
    labels = np.array([[0, 0, 0, 0, 2, 2, 2], [0, 0, 0, 1, 2, 2, 2], [0, 0, 0, 0, 2, 2, 2]])
    joined = normalised(labels, Picture(pixels), smallest=0.1)
    assert joined[1, 3] == joined[0, 0] != joined[0, 6]


def test_borders_are_counted_in_sides():
    a, b, length = borders(np.array([[0, 0, 1], [2, 0, 1], [2, 2, -1]]))
    assert list(zip(a.tolist(), b.tolist(), length.tolist(), strict=True)) == [(0, 1, 2), (0, 2, 3)]


def test_regions_are_numbered_by_size_then_by_first_pixel():
    assert by_size(np.array([[7, 7, -1], [3, 9, 9], [5, 5, 5]])).tolist() == [[1, 1, -1], [3, 2, 2], [0, 0, 0]]
    assert by_size(np.full((2, 2), -1)).tolist() == [[-1, -1], [-1, -1]]


def test_the_largest_are_kept():
    labels = np.array([[0, 0, 1], [2, 3, -1]], np.int32)
    assert largest(labels, 2).tolist() == [[0, 0, 1], [-1, -1, -1]]
    assert largest(labels, 2).dtype == np.int32
    assert largest(labels, 9).tolist() == labels.tolist()
    with pytest.raises(TextError, match="at least 0, not -1"):
        largest(labels, -1)


def test_a_grid_is_arithmetic():
    labels = segment(Picture(np.zeros((4, 6, 3), np.uint8)), "grid", rows=2, columns=3)
    assert labels.tolist() == [[0, 0, 1, 1, 2, 2]] * 2 + [[3, 3, 4, 4, 5, 5]] * 2
    tiny = segment(Picture(np.zeros((2, 1, 3), np.uint8)), "grid", rows=5, columns=5)
    assert tiny.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("method", "least"), [("felzenszwalb", 0.9), ("ncuts", 0.9), ("mean-shift-over", 0.9), ("mean-shift-under", 0.9)]
)
def test_what_was_drawn_is_found(method, least):
    pixels, truth = drawn()
    floor = adjusted_rand(segment(Picture(pixels), "grid"), truth)
    assert floor < 0.3
    assert adjusted_rand(segment(Picture(pixels), method), truth) > least


@pytest.mark.parametrize("method", ["slic", "preseg", "mean-shift-quantised"])
def test_regions_too_fine_still_keep_to_the_borders(method):
    """Each region given to the area it lies in most: few pixels are then wrong, where the grid has many."""
    pixels, truth = drawn()

    def wrong(labels):
        table = np.zeros((labels.max() + 1, truth.max() + 1))
        np.add.at(table, (labels.ravel(), truth.ravel()), 1)
        return 1 - table.max(axis=1).sum() / truth.size

    grid = segment(Picture(pixels), "grid", rows=6, columns=8)
    assert wrong(segment(Picture(pixels), method)) < 0.03 < wrong(grid)


@pytest.mark.parametrize("method", OWN)
def test_the_same_picture_gives_the_same_labels(method):
    picture = Picture(drawn(48, 72)[0])
    assert (segment(picture, method) == segment(picture, method)).all()


@pytest.mark.parametrize("method", OWN)
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 2), (3, 400)])
def test_odd_shapes(method, shape):
    pixels = np.random.default_rng(1).integers(0, 256, (*shape, 3)).astype(np.uint8)
    keeps_the_promise(segment(Picture(pixels), method), Picture(pixels))


@pytest.mark.parametrize("method", OWN)
@pytest.mark.parametrize("value", [0, 128, 255])
def test_even_pictures(method, value):
    picture = Picture(np.full((40, 60, 3), value, np.uint8))
    labels = segment(picture, method)
    keeps_the_promise(labels, picture)
    if method not in {"slic", "preseg", "grid"}:  # these cut by place as well
        assert labels.max() == 0


@pytest.mark.parametrize("method", OWN)
def test_masks_of_nothing_and_of_shreds(method):
    pixels = drawn(40, 60)[0]
    nothing = Picture(pixels, np.zeros((40, 60), bool))
    assert (segment(nothing, method) == -1).all()
    y, x = np.mgrid[:40, :60]
    shreds = Picture(pixels, (y + x) % 2 == 0)  # every opaque pixel an island
    labels = segment(shreds, method)
    keeps_the_promise(labels, shreds)
    assert labels.max() == 40 * 60 // 2 - 1


def test_what_is_not_known_is_refused():
    picture = Picture(np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(TextError, match="no segmenter is called 'ncut'; did you mean ncuts"):
        segment(picture, "ncut")
    with pytest.raises(TextError, match="there are: blobworld, preseg, ncuts"):
        segment(picture, "zzzzzz")
    with pytest.raises(TextError, match="slic has no setting 'region'; did you mean regions"):
        segment(picture, "slic", region=3)
    with pytest.raises(TextError, match="grid has no setting 'zzzzz'; it has rows, columns, smallest"):
        segment(picture, "grid", zzzzz=3)


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        ("slic", {"regions": 0}),
        ("slic", {"regions": 2.5}),
        ("slic", {"compactness": -1}),
        ("slic", {"iterations": float("nan")}),
        ("felzenszwalb", {"scale": "much"}),
        ("grid", {"rows": True}),
        ("grid", {"smallest": 2}),
        ("ncuts", {"cells": 10**6}),
        ("ncuts", {"threshold": -0.1}),
        ("preseg", {"scale": 0}),
        ("mean-shift-over", {"radius": 0}),
        ("mean-shift-under", {"seed": -1}),
    ],
)
def test_settings_out_of_range_are_refused(method, wrong):
    with pytest.raises(TextError, match=f"{next(iter(wrong))} is .*; expected a"):
        segment(Picture(np.zeros((4, 4, 3), np.uint8)), method, **wrong)


def test_pictures_that_are_none_are_refused():
    with pytest.raises(TableError, match="height x width x 3 bytes"):
        segment(Picture(np.zeros((4, 4), np.uint8)))
    with pytest.raises(TableError, match="height x width x 3 bytes"):
        segment(Picture(np.zeros((0, 4, 3), np.uint8)))
    with pytest.raises(TableError, match="one for each pixel"):
        segment(Picture(np.zeros((4, 4, 3), np.uint8), np.ones((3, 4), bool)))
    with pytest.raises(TableError, match="do not fit"):
        normalised(np.zeros((2, 2), int), Picture(np.zeros((4, 4, 3), np.uint8)))


def halves(picture, *, share=0.5):
    """A toy segmenter: left and right."""
    labels = np.zeros(picture.shape, np.int32)
    labels[:, : int(picture.shape[1] * share)] = 1
    return labels


@pytest.fixture
def toy(monkeypatch):
    """A segmenter that is added at run time, and removed after the test."""
    monkeypatch.setattr("endoxa.images.segment.SEGMENTERS", dict(SEGMENTERS))
    register("halves", halves, "left and right", {"share": 0.25}, smallest=0.0)
    return "halves"


def test_a_segmenter_is_added_at_run_time(toy, tmp_path) -> None:
    assert available()[-1] == toy and toy not in SEGMENTERS
    labels = segment(Picture(np.zeros((4, 8, 3), np.uint8)), toy)
    assert (labels[:, :2] == 1).all() and (labels[:, 2:] == 0).all()
    with pytest.raises(TextError, match="has no setting 'shar'; did you mean share"):
        segment(Picture(np.zeros((4, 8, 3), np.uint8)), toy, shar=0.5)
    with pytest.raises(TextError, match="called 'halves' already"):
        register(toy, halves, "again")
    with pytest.raises(TextError, match="did you mean halves"):
        segment(Picture(np.zeros((4, 8, 3), np.uint8)), "halve")
    write_scenes(tmp_path / "scenes", 6, seed=1, size=(48, 64))
    small = {"components": 2, "restarts": 1, "iterations": 2}
    indexed = index(tmp_path / "scenes", ["romm"], settings={"romm": {**small, "segmenter": toy}}, workers=1)
    assert indexed.described == 6
    assert run(tmp_path / "scenes", ["romm"], depth=3).run.frame["query"].n_unique() == 6
    words = ["images", "index", str(tmp_path / "scenes"), "-e", "romm", "--workers", "1"]
    words += [word for name, value in small.items() for word in ("--set", f"romm.{name}={value}")]
    # the command finds the same index
    assert " 0 new descriptions" in done(*words, "--set", "romm.segmenter=halves")
    assert "did you mean halves" in fails(*words, "--set", "romm.segmenter=halve")
