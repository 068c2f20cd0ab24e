"""Features of regions against plain definitions, pixel by pixel."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from skimage.color import rgb2lab

from endoxa.errors import TableError, TextError
from endoxa.images import Picture
from endoxa.images.features import GROUPS, NAMES, Outline, describe_regions, outline_of
from endoxa.images.filters import differences_of_gaussians, grey_of, oriented_energies

Point = tuple[int, int]
AROUND = [(-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1)]  # clockwise from the left, y down


def without_gaps(labels: np.ndarray) -> np.ndarray:
    """The same regions, numbered 0 … n - 1; -1 stays."""
    known = sorted(set(labels.ravel().tolist()) - {-1})
    return np.array([[known.index(v) if v >= 0 else -1 for v in row] for row in labels.tolist()], np.int32)


@st.composite
def cases(draw: st.DrawFn, longest: int = 9) -> tuple[Picture, np.ndarray]:
    shape = draw(st.tuples(st.integers(1, longest), st.integers(1, longest)))
    labels = without_gaps(draw(arrays(np.int32, shape, elements=st.integers(-1, 3))))
    pixels = draw(arrays(np.uint8, (*shape, 3), elements=st.sampled_from([0, 1, 17, 128, 200, 255])))
    return Picture(pixels), labels


def members(labels: np.ndarray, label: int) -> list[Point]:
    """The pixels (x, y) of a region in reading order."""
    height, width = labels.shape
    return [(x, y) for y in range(height) for x in range(width) if labels[y, x] == label]


def largest_piece(pixels: list[Point]) -> list[Point]:
    """The largest of the pieces that hang together, at corners too; of equals the one that comes first."""
    left, best = set(pixels), []
    for seed in pixels:
        if seed not in left:
            continue
        piece, front = [], [seed]
        left.remove(seed)
        while front:
            x, y = front.pop()
            piece.append((x, y))
            for dx, dy in AROUND:
                if (x + dx, y + dy) in left:
                    left.remove((x + dx, y + dy))
                    front.append((x + dx, y + dy))
        if len(piece) > len(best):
            best = piece
    return best


def walk_round(piece: list[Point]) -> list[Point]:
    """Moore's walk: from the first pixel clockwise along the outer boundary, always keeping the outside at the left."""
    inside = set(piece)
    start = min(piece, key=lambda p: (p[1], p[0]))
    way, here, behind = [start], start, (start[0] - 1, start[1])
    while True:
        turn = AROUND.index((behind[0] - here[0], behind[1] - here[1]))
        for k in range(1, 9):
            dx, dy = AROUND[(turn + k) % 8]
            step = (here[0] + dx, here[1] + dy)
            if step in inside:
                break
            behind = step
        else:
            return way
        if here == start and len(way) > 1 and step == way[1]:
            return way[:-1]
        way.append(step)
        here = step


def plain_length(way: list[Point]) -> float:
    return 4 + sum(math.dist(a, b) for a, b in zip(way, way[1:] + way[:1], strict=True))


def plain_profile(piece: list[Point], samples: int = 16) -> list[float]:
    """Distances at equal steps from the highest crossing of the vertical through the centre, its rightward one."""
    way = walk_round(piece)
    cx = Fraction(sum(x for x, _ in piece), len(piece))
    cy = Fraction(sum(y for _, y in piece), len(piece))
    if len(way) == 1:
        return [0.0] * samples
    starts, walked = [], 0.0
    sides = list(zip(way, way[1:] + way[:1], strict=True))
    for (ax, ay), (bx, by) in sides:
        if min(ax, bx) <= cx <= max(ax, bx):
            share = (cx - ax) / (bx - ax) if bx != ax else Fraction(0)
            starts.append((ay + share * (by - ay), ax - bx, walked + float(share) * math.dist((ax, ay), (bx, by))))
        walked += math.dist((ax, ay), (bx, by))
    start = min(starts)[2]
    found = []
    for k in range(samples):
        to_go = (start + k / samples * walked) % walked
        for a, b in sides:
            if to_go <= math.dist(a, b):
                share = to_go / math.dist(a, b)
                point = (a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]))
                break
            to_go -= math.dist(a, b)
        found.append(math.dist(point, (float(cx), float(cy))) / plain_length(way))
    return found


@settings(max_examples=60, deadline=None)
@given(cases())
def test_base_and_shape_are_their_plain_definitions(case: tuple[Picture, np.ndarray]) -> None:
    picture, labels = case
    found = describe_regions(picture, labels, ("base", "shape"))
    height, width = labels.shape
    n = labels.max() + 1
    assert found["base"].shape == (n, 5)
    assert found["shape"].shape == (n, 16)
    for label in range(n):
        pixels = members(labels, label)
        cx, cy = statistics.fmean(x for x, _ in pixels), statistics.fmean(y for _, y in pixels)
        moment = statistics.fmean(math.dist(p, (cx, cy)) for p in pixels) / math.sqrt(len(pixels))
        piece = largest_piece(pixels)
        expected = [
            len(pixels) / (height * width),
            (cx + 0.5) / width,
            (cy + 0.5) / height,
            moment,
            len(piece) / plain_length(walk_round(piece)) ** 2,
        ]
        np.testing.assert_allclose(found["base"][label], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["shape"][label], plain_profile(piece), atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(cases(6))
def test_colours_are_means_and_variances_of_each_channel(case: tuple[Picture, np.ndarray]) -> None:
    picture, labels = case
    found = describe_regions(picture, labels, ("rgb", "lab", "rgs"))
    as_lab = rgb2lab(picture.pixels)
    for label in range(labels.max() + 1):
        channels: dict[str, list[list[float]]] = {"rgb": [], "lab": [], "rgs": []}
        for x, y in members(labels, label):
            red, green, blue = (int(v) / 255 for v in picture.pixels[y, x])
            total = red + green + blue
            channels["rgb"].append([red, green, blue])
            channels["lab"].append(as_lab[y, x].tolist())
            channels["rgs"].append([red / total, green / total, total] if total else [1 / 3, 1 / 3, 0.0])
        for group, rows in channels.items():
            columns = list(zip(*rows, strict=True))
            expected = [statistics.fmean(c) for c in columns] + [statistics.pvariance(c) for c in columns]
            # OpenCV and scikit-image differ in the fifth digit of the white and of the matrix.
            tolerance = {"rtol": 2e-3, "atol": 0.05} if group == "lab" else {"rtol": 1e-5, "atol": 1e-6}
            np.testing.assert_allclose(found[group][label], expected, **tolerance)


def test_known_colours_have_known_numbers() -> None:
    row = np.array([[[255, 0, 0], [0, 0, 0], [0, 0, 0], [51, 102, 102]]], np.uint8)
    found = describe_regions(Picture(row), np.array([[0, 1, 1, 2]], np.int32))
    np.testing.assert_allclose(found["rgb"][0], [1, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(found["lab"][0], [53.24, 80.09, 67.20, 0, 0, 0], atol=0.05)
    np.testing.assert_allclose(found["rgs"][0], [1, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(found["rgs"][1], [1 / 3, 1 / 3, 0, 0, 0, 0], atol=1e-7)
    np.testing.assert_allclose(found["rgs"][2], [0.2, 0.4, 1, 0, 0, 0], atol=1e-6)


def test_variance_is_about_the_mean_and_divides_by_the_number_of_pixels() -> None:
    row = np.array([[[0, 0, 0], [255, 51, 0]]], np.uint8)
    found = describe_regions(Picture(row), np.zeros((1, 2), np.int32), ("rgb",))["rgb"]
    np.testing.assert_allclose(found, [[0.5, 0.1, 0, 0.25, 0.01, 0]], atol=1e-7)


@settings(max_examples=20, deadline=None)
@given(cases(6))
def test_texture_is_the_mean_of_the_banks_over_the_region(case: tuple[Picture, np.ndarray]) -> None:
    picture, labels = case
    found = describe_regions(picture, labels, ("texture",))["texture"]
    grey = grey_of(picture.pixels)
    planes = [*oriented_energies(grey), *differences_of_gaussians(grey)]
    for label in range(labels.max() + 1):
        expected = [statistics.fmean(abs(float(plane[y, x])) for x, y in members(labels, label)) for plane in planes]
        np.testing.assert_allclose(found[label], expected, rtol=1e-4, atol=1e-7)


def test_stripes_in_one_half_are_texture_of_that_half() -> None:
    pixels = np.full((64, 128, 3), 128, np.uint8)
    pixels[:, 64:, :] = np.where(np.arange(64) % 4 < 2, 0, 255).astype(np.uint8)[None, :, None]
    labels = np.repeat(np.array([[0, 1]], np.int32), 64, axis=1).repeat(64, axis=0)
    even, striped = describe_regions(Picture(pixels), labels, ("texture",))["texture"]
    assert NAMES["texture"][striped.argmax()] == "energy_1_0"
    assert striped[0] > 20 * even[0]
    assert len(NAMES["texture"]) == 16


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 7), (7, 1), (5, 5), (9, 5), (4, 10)])
def test_rectangles_are_exact(width: int, height: int) -> None:
    labels = np.full((20, 16), -1, np.int32)
    labels[3 : 3 + height, 2 : 2 + width] = 0
    size, x, y, _, compactness = describe_regions(Picture(np.zeros((20, 16, 3), np.uint8)), labels, ("base",))["base"][
        0
    ]
    assert size == pytest.approx(width * height / 320)
    assert x == pytest.approx((2 + width / 2) / 16)
    assert y == pytest.approx((3 + height / 2) / 20)
    assert compactness == pytest.approx(width * height / (2 * (width + height)) ** 2)


def test_profile_of_a_rectangle_begins_at_the_middle_of_its_top_and_runs_clockwise() -> None:
    # 9 × 5 pixels: through the centres 8 × 4, 24 round, so that a sample is 1.5 steps on; length 2 · (9 + 5) = 28.
    profile = describe_regions(Picture(np.zeros((5, 9, 3), np.uint8)), np.zeros((5, 9), np.int32), ("shape",))["shape"][
        0
    ]
    places = [(0, 2), (1.5, 2), (3, 2), (4, 1.5), (4, 0), (4, -1.5), (3, -2), (1.5, -2)]
    expected = [math.hypot(x, y) / 28 for x, y in places]
    np.testing.assert_allclose(profile, expected * 2, rtol=1e-6)


def disc(radius: int, side: int) -> np.ndarray:
    y, x = np.mgrid[:side, :side]
    return np.where((x - side // 2) ** 2 + (y - side // 2) ** 2 <= radius**2, 0, -1).astype(np.int32)


def test_a_disc_has_the_numbers_of_a_disc() -> None:
    found = describe_regions(Picture(np.zeros((121, 121, 3), np.uint8)), disc(50, 121), ("base", "shape"))
    size, x, y, moment, compactness = found["base"][0]
    assert size == pytest.approx(math.pi * 50**2 / 121**2, rel=0.01)
    assert (x, y) == (pytest.approx(0.5), pytest.approx(0.5))
    assert moment == pytest.approx(2 / (3 * math.sqrt(math.pi)), rel=0.005)
    longer = 8 * (math.sqrt(2) - 1) / math.pi  # a circle walked in steps along the grid and its diagonals
    assert compactness == pytest.approx(1 / (4 * math.pi) / longer**2, rel=0.03)
    np.testing.assert_allclose(found["shape"][0], 1 / (2 * math.pi) / longer, rtol=0.03)


def test_size_cancels_in_shape_and_a_mirror_turns_the_profile_back() -> None:
    flag = np.full((12, 14), -1, np.int32)
    flag[2:10, 3:5] = 0
    flag[2:6, 5:12] = 0
    large = flag.repeat(12, axis=0).repeat(12, axis=1)

    def profile(labels: np.ndarray) -> np.ndarray:
        return describe_regions(Picture(np.zeros((*labels.shape, 3), np.uint8)), labels, ("shape",))["shape"][0]

    mirrored = profile(large[:, ::-1])
    np.testing.assert_allclose(mirrored, np.roll(profile(large)[::-1], 1), atol=1e-6)
    np.testing.assert_allclose(profile(large.repeat(3, axis=0).repeat(3, axis=1)), profile(large), atol=0.002)
    assert not np.allclose(profile(large), profile(np.rot90(large)), atol=0.01)


def test_the_way_is_clockwise_as_one_sees_it() -> None:
    labels = np.full((12, 30), -1, np.int32)
    labels[1:11, 1:11] = 0
    labels[1, 11:28] = 0  # an arm at the top, to the right
    pixels = np.zeros((12, 30, 3), np.uint8)
    right = describe_regions(Picture(pixels), labels, ("shape",))["shape"][0].argmax()
    left = describe_regions(Picture(pixels), labels[:, ::-1], ("shape",))["shape"][0].argmax()
    assert 1 <= right <= 7
    assert left == 16 - right


def test_the_outline_is_that_of_the_largest_piece_without_its_holes() -> None:
    labels = np.full((20, 20), -1, np.int32)
    labels[0:2, 0:2] = 0
    labels[5:15, 6:16] = 0
    labels[8:11, 8:11] = -1
    labels[9, 9] = 0
    outline = outline_of(labels, 0, (slice(0, 15), slice(0, 16)))
    assert outline.length == 40
    assert outline.area == 91
    assert [tuple(p) for p in outline.points.tolist()] == walk_round(
        [(x, y) for x in range(6, 16) for y in range(5, 15)]
    )


def test_of_pieces_of_one_size_the_first_in_reading_order_counts() -> None:
    labels = np.full((4, 8), -1, np.int32)
    labels[1, 5:7] = 0  # in an earlier row than the other two, but in the same pair of rows as the first column
    labels[2:4, 0] = 0
    assert outline_of(labels, 0, (slice(0, 4), slice(0, 8))).sums == (11, 2)
    labels[0:2, 2] = 0
    assert outline_of(labels, 0, (slice(0, 4), slice(0, 8))).sums == (4, 1)


def plain_context(picture: Picture, labels: np.ndarray, label: int) -> list[float]:
    """Wedge by angle, every pixel of the picture asked by itself."""
    pixels = members(labels, label)
    piece = largest_piece(pixels)
    cx, cy = (Fraction(sum(p[axis] for p in piece), len(piece)) for axis in (0, 1))
    radius = 2 * statistics.fmean(math.dist(p, (float(cx), float(cy))) for p in walk_round(piece))
    own = [statistics.fmean(int(picture.pixels[y, x, c]) for x, y in pixels) / 255 for c in range(3)]
    wedges: list[list[Point]] = [[], [], [], []]
    height, width = labels.shape
    for y in range(height):
        for x in range(width):
            dx, dy = x - cx, y - cy
            opaque = picture.mask is None or picture.mask[y, x]
            if labels[y, x] == label or not opaque or dx == dy == 0 or math.hypot(dx, dy) > radius + 1e-9:
                continue
            if abs(dx) == abs(dy):  # top right is right, bottom right bottom, bottom left left, top left top
                wedge = {(1, -1): 1, (1, 1): 2, (-1, 1): 3, (-1, -1): 0}[(1 if dx > 0 else -1, 1 if dy > 0 else -1)]
            elif abs(dy) > abs(dx):
                wedge = 0 if dy < 0 else 2
            else:
                wedge = 1 if dx > 0 else 3
            wedges[wedge].append((x, y))
    rows = []
    for wedge_pixels in wedges:
        if len(wedge_pixels) > 100:
            rows += [statistics.fmean(int(picture.pixels[y, x, c]) for x, y in wedge_pixels) / 255 for c in range(3)]
        else:
            rows += own
    return rows


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_context_is_its_plain_definition(seed: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(2, 5, 2)
    blocks = rng.integers(-1, 4, (rows, columns))
    labels = without_gaps(blocks.repeat(13, axis=0).repeat(11, axis=1))
    mask = None
    if masked:
        mask = rng.random(labels.shape) < 0.8
        mask |= labels >= 0
    picture = Picture(rng.integers(0, 256, (*labels.shape, 3), dtype=np.uint8), mask)
    found = describe_regions(picture, labels, ("context",))["context"]
    assert found.shape == (labels.max() + 1, 12)
    for label in range(labels.max() + 1):
        np.testing.assert_allclose(found[label], plain_context(picture, labels, label), atol=1e-6)


def test_each_side_has_its_own_colour() -> None:
    labels = np.full((90, 90), -1, np.int32)
    labels[30:60, 30:60] = 0
    pixels = np.zeros((90, 90, 3), np.uint8)
    pixels[:30] = (255, 0, 0)
    pixels[60:] = (0, 0, 255)
    pixels[30:60, 60:] = (0, 255, 0)
    pixels[30:60, :30] = (255, 255, 255)
    pixels[30:60, 30:60] = (51, 51, 51)
    context = dict(zip(NAMES["context"], describe_regions(Picture(pixels), labels)["context"][0], strict=True))
    assert [context[f"top_{c}"] for c in "RGB"] == [1, 0, 0]
    assert [context[f"bottom_{c}"] for c in "RGB"] == [0, 0, 1]
    assert context["right_G"] > 0.5 > context["right_R"]
    assert min(context[f"left_{c}"] for c in "RGB") > 0.4


@pytest.mark.parametrize(("opaque", "around"), [(100, 51), (101, 255)])
def test_a_wedge_of_100_pixels_is_too_small(opaque: int, around: int) -> None:
    labels = np.full((90, 90), -1, np.int32)
    labels[30:61, 30:61] = 0
    pixels = np.full((90, 90, 3), 255, np.uint8)
    pixels[30:61, 30:61] = 51
    mask = labels >= 0
    for k in range(opaque):  # straight above the region, well within the wedge
        mask[29 - k // 10, 40 + k % 10] = True
    context = describe_regions(Picture(pixels, mask), labels, ("context",))["context"][0]
    np.testing.assert_allclose(context, [around / 255] * 3 + [0.2] * 9, rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 2), (40, 40)])
@pytest.mark.parametrize("level", [0, 255])
def test_odd_pictures_give_finite_rows(shape: tuple[int, int], level: int) -> None:
    picture = Picture(np.full((*shape, 3), level, np.uint8), np.zeros(shape, np.bool_))
    found = describe_regions(picture, np.zeros(shape, np.int32))
    assert list(found) == list(GROUPS)
    for group, rows in found.items():
        assert rows.shape == (1, len(NAMES[group]))
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
    np.testing.assert_allclose(found["context"], level / 255)


def test_no_region_gives_no_rows() -> None:
    found = describe_regions(Picture(np.zeros((3, 4, 3), np.uint8)), np.full((3, 4), -1, np.int32))
    assert {group: rows.shape for group, rows in found.items()} == {g: (0, len(NAMES[g])) for g in GROUPS}


def test_views_of_larger_arrays_do() -> None:
    rng = np.random.default_rng(8)
    pixels = rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)
    labels = (np.mgrid[:60, :80][1] // 20).astype(np.int32)
    for cut in ((slice(None), slice(None, None, -1)), (slice(5, 50, 2), slice(3, 77))):
        seen = describe_regions(Picture(pixels[cut]), without_gaps(labels[cut]))
        copied = describe_regions(Picture(pixels[cut].copy()), without_gaps(labels[cut].copy()))
        for group in GROUPS:
            np.testing.assert_array_equal(seen[group], copied[group])


def test_groups_are_those_asked_for_and_the_others_do_not_change_them() -> None:
    rng = np.random.default_rng(9)
    picture = Picture(rng.integers(0, 256, (30, 40, 3), dtype=np.uint8))
    labels = np.asarray(ndimage.zoom(rng.integers(0, 3, (3, 4)), 10, order=0), np.int32)
    whole = describe_regions(picture, without_gaps(labels))
    for group in GROUPS:
        alone = describe_regions(picture, without_gaps(labels), (group,))
        assert list(alone) == [group]
        np.testing.assert_array_equal(alone[group], whole[group])


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (np.zeros((2, 3), np.int32), "does not fit a picture of 3 × 2"),
        (np.zeros((3, 2)), "expected one whole number per pixel"),
        (np.full((3, 2), -2, np.int32), "label -2 is no region"),
        (np.array([[0, 0], [2, 2], [0, 0]], np.int32), "region 1 of 0 to 2 has no pixel"),
    ],
)
def test_a_label_map_that_does_not_fit_is_refused(labels: np.ndarray, says: str) -> None:
    with pytest.raises(TableError, match=says):
        describe_regions(Picture(np.zeros((3, 2, 3), np.uint8)), labels)


def test_bad_groups_and_empty_pictures_are_refused() -> None:
    with pytest.raises(TextError, match="did you mean texture"):
        describe_regions(Picture(np.zeros((3, 2, 3), np.uint8)), np.zeros((3, 2), np.int32), ("textures",))
    with pytest.raises(TableError, match="0 × 2 pixels"):
        describe_regions(Picture(np.zeros((0, 2, 3), np.uint8)), np.zeros((0, 2), np.int32))


def test_an_outline_knows_its_centre() -> None:
    outline = Outline(np.array([[0, 0], [1, 0], [2, 0], [1, 0]]), 3, (3, 0))
    np.testing.assert_array_equal(outline.centre, [1, 0])
    np.testing.assert_array_equal(outline.distances, [1, 0, 1, 0])
    assert outline.length == 8
