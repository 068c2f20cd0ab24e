"""JSEG: colours are quantised into a few classes, and regions grow where the classes are evenly mixed."""

from __future__ import annotations

import heapq
import itertools
import math

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import find_objects
from skimage.segmentation import watershed

from endoxa.images import LabelMap, Mask, Picture
from endoxa.images.segment import borders, checked
from endoxa.tables import Floats, Ints

Plane = npt.NDArray[np.float32]

# The paper's scales 1 to 4: windows of 9, 17, 33, 65 pixels sampled every 1, 2, 4, 8; pictures of 64, 128, 256, 512
# pixels square start there; a valley is a seed if it has at least this many pixels.
SCALES = 4
SMALLEST_PICTURE = 64
SMALLEST_VALLEY = {1: 32, 2: 128, 3: 512, 4: 2048}
# Valleys lie below mean + a · deviation of J; the a that finds most valleys is used, the lowest in ties.
STEPS = (-0.6, -0.4, -0.2, 0.0, 0.2, 0.4)
# The basic window has 9 pixels across; it is round so that it does not favour vertical and horizontal borders.
_REACH = np.arange(-4, 5, dtype=np.float32)
_DISC = (np.hypot(_REACH[:, None], _REACH) <= 4.5).astype(np.float32)
_OFFSETS = tuple(itertools.product((-1, 0, 1), repeat=2))
_BAND = 1 << 15


def jseg(
    picture: Picture, *, scales: int = SCALES, merge: float = 0.4, distance: float = 15.0, classes: int = 20
) -> LabelMap:
    """Segment by local homogeneity of colour classes, from coarse to fine windows, then join similar regions.

    1 colours are quantised (`quantised`: at most `classes`, at least `distance` apart in L*u*v*); 2 from the scale
    that fits the size of the picture downwards, at most `scales` of them, every region is cut anew: seeds are valleys
    of the J-image, J < mean + a · deviation; they absorb parts below the mean of the rest that touch only one of
    them, at this and each finer scale; the last pixels join in the order of J at the finest scale; 3 neighbours whose
    histograms of classes are less than `merge` apart (Euclidean, nearest first) are joined.
    Misleads: a gradual change of colour is split where the quantiser splits it; regions below about 32 pixels are not
    found; a texture with a period of 9 pixels or more has borders inside at the finest scale (use fewer scales).
    Departures: J-images are computed for the whole picture, with windows that cross borders found before; at scale s
    they are computed at every 2^(s-1)-th pixel and interpolated.
    Source: Deng and Manjunath, PAMI 23 (2001).
    """
    count = int(checked("scales", scales, 1, SCALES, whole=True))
    threshold = checked("merge", merge, 0, math.sqrt(2))
    inside = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    colours = quantised(picture, distance=distance, classes=classes)
    if not inside.any():
        return colours
    first = min(max(int(math.log2(math.sqrt(int(inside.sum())) / SMALLEST_PICTURE)) + 1, 1), SCALES)
    planes = {scale: separations(colours, scale) for scale in range(1, first + 1)}
    # Separate parts of the mask are regions from the start, so that growth reaches every pixel.
    labels = np.asarray(_components(inside) - 1, dtype=np.int32)
    for scale in range(first, max(first - count, 0), -1):
        labels = refined(labels, planes, scale)
    return merged(labels, colours, threshold)


def separations(classes: LabelMap, scale: int) -> Plane:
    """The J-image: J of the round window around each pixel, 2^(scale+2) + 1 across and sampled every 2^(scale-1).

    J = (S_T - S_W) / S_W; S_T = Σ |z - m|² over the places z of all pixels, m their mean; S_W the same about the mean
    of each class. J is 0 if all classes share one centre, large if they are separated. Windows end at the picture and
    the mask (negative labels). With offsets u from the centre, n pixels of class c and t = Σ u over them, S_T - S_W =
    Σ_c |t_c|²/n_c - |t|²/n and S_T = Σ|u|² - |t|²/n: three filters for each class. 0 where S_W = 0.
    Source: Deng and Manjunath, equations 2 to 5.
    """
    step = 2 ** (scale - 1)
    sampled = classes[::step, ::step]
    moments = (_DISC, _DISC * _REACH, _DISC * _REACH[:, None])
    between, n, x, y = (np.zeros(sampled.shape, np.float32) for _ in range(4))
    for label in range(int(classes.max(initial=-1)) + 1):
        here = (sampled == label).astype(np.float32)
        if not here.any():
            continue
        n_c, x_c, y_c = (_filtered(here, kernel) for kernel in moments)
        between += (x_c * x_c + y_c * y_c) / np.maximum(n_c, 1)
        n, x, y = n + n_c, x + x_c, y + y_c
    centre = (x * x + y * y) / np.maximum(n, 1)
    spread = _filtered((sampled >= 0).astype(np.float32), _DISC * (_REACH**2 + _REACH[:, None] ** 2))
    within = spread - between
    # All moments are integers below 2^24, so that a true value is far above the rounding errors of the divisions.
    known = within > 1e-3
    plane = np.where(known, np.maximum(between - centre, 0) / np.where(known, within, 1), 0).astype(np.float32)
    if step == 1:
        return plane
    height, width = classes.shape
    across = np.broadcast_to(np.arange(width, dtype=np.float32) / step, classes.shape)
    down = np.broadcast_to(np.arange(height, dtype=np.float32)[:, None] / step, classes.shape)
    wide = cv2.remap(plane, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(wide, dtype=np.float32)


def _filtered(plane: Plane, kernel: Plane) -> Plane:
    return np.asarray(cv2.filter2D(plane, cv2.CV_32F, kernel, borderType=cv2.BORDER_CONSTANT), dtype=np.float32)


def refined(labels: LabelMap, planes: dict[int, Plane], scale: int) -> LabelMap:
    """Split every region that has two seeds or more at this scale."""
    result = labels.copy()
    ahead = int(labels.max()) + 1
    boxes = find_objects(labels + 1)
    for label in np.flatnonzero(np.bincount(labels[labels >= 0]) >= 2 * SMALLEST_VALLEY[scale]):
        window = boxes[label]
        region = labels[window] == label
        valleys = seeds(planes[scale][window], region, SMALLEST_VALLEY[scale])
        found = int(valleys.max())
        if found < 2:
            continue
        valleys = _absorbed(valleys, region & (valleys == 0))
        for finer in range(scale, 0, -1):
            rest = region & (valleys == 0)
            if not rest.any():
                break
            plane = planes[finer][window]
            valleys = _absorbed(valleys, rest & (plane < plane[rest].mean()))
        if (region & (valleys == 0)).any():
            # The rest joins pixel by pixel, in the order of J, the valley that has reached it.
            flooded: LabelMap = watershed(planes[1][window], valleys, mask=region)  # type: ignore[no-untyped-call]
            valleys = flooded.astype(np.int32, copy=False)
        # The first valley keeps the number of the region, so that there are no gaps.
        result[window] = np.where(region & (valleys > 1), valleys + (ahead - 2), result[window])
        ahead += found - 1
    return result


def seeds(plane: Plane, region: Mask, least: int) -> LabelMap:
    """The valleys of J within a region, numbered from 1; 0 elsewhere. The threshold that gives most is used."""
    values = plane[region].astype(np.float64)
    mean, deviation = float(values.mean()), float(values.std())
    best, most = np.zeros(region.shape, np.int32), 0
    for step in STEPS:
        parts = _components(region & (plane < mean + step * deviation))
        kept = np.bincount(parts.ravel()) >= least
        kept[0] = False
        if (found := int(kept.sum())) > most:
            most = found
            best = np.where(kept, np.cumsum(kept), 0).astype(np.int32)[parts]
    return best


def _components(mask: Mask) -> LabelMap:
    return np.asarray(cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)[1], dtype=np.int32)


def _absorbed(valleys: LabelMap, candidates: Mask) -> LabelMap:
    """Each connected part of the candidates joins the valley that it touches, if it touches only one."""
    parts = _components(candidates)
    pairs = [
        (parts[:, :-1], valleys[:, 1:]), (parts[:, 1:], valleys[:, :-1]), (parts[:-1], valleys[1:]),
        (parts[1:], valleys[:-1]),
    ]  # fmt: skip
    low = np.full(int(parts.max()) + 1, np.iinfo(np.int32).max, np.int32)
    high = np.zeros_like(low)
    for part, valley in pairs:
        touch = (part > 0) & (valley > 0)
        np.minimum.at(low, part[touch], valley[touch])
        np.maximum.at(high, part[touch], valley[touch])
    only = np.where(low == high, high, 0).astype(np.int32)
    only[0] = 0
    return valleys + only[parts]


def merged(labels: LabelMap, classes: LabelMap, threshold: float) -> LabelMap:
    """Join adjacent regions, nearest histograms of classes first, while they are less than the threshold apart."""
    inside = labels >= 0
    if not inside.any():
        return labels
    many, kinds = int(labels.max()) + 1, int(classes.max()) + 1
    counts: Floats = np.bincount(labels[inside] * kinds + classes[inside], minlength=many * kinds).astype(np.float64)
    counts = counts.reshape(many, kinds)
    near: list[set[int]] = [set() for _ in range(many)]
    lower, upper, _ = borders(labels)
    for a, b in zip(lower.tolist(), upper.tolist(), strict=True):
        near[a].add(b)
        near[b].add(a)

    def apart(a: int, b: int) -> float:
        return float(np.linalg.norm(counts[a] / counts[a].sum() - counts[b] / counts[b].sum()))

    parent, age = np.arange(many), [0] * many
    queue = [(apart(a, b), a, b, 0, 0) for a in range(many) for b in sorted(near[a]) if a < b]
    heapq.heapify(queue)
    while queue:
        gap, a, b, age_a, age_b = heapq.heappop(queue)
        if gap >= threshold:
            break
        # A pair whose histogram has changed since is elsewhere in the queue, with its new distance.
        if (age_a, age_b) != (age[a], age[b]):
            continue
        parent[parent == b] = a
        counts[a] += counts[b]
        age[a], age[b] = age[a] + 1, -1
        near[a] = (near[a] | near[b]) - {a, b}
        for other in sorted(near[a]):
            near[other] = (near[other] - {b}) | {a}
            first, second = min(a, other), max(a, other)
            heapq.heappush(queue, (apart(first, second), first, second, age[first], age[second]))
    _, dense = np.unique(parent, return_inverse=True)
    return np.where(inside, dense[labels], -1).astype(np.int32)


def quantised(picture: Picture, *, distance: float = 15.0, classes: int = 20) -> LabelMap:
    """The colour class of each pixel, from 0; -1 outside the mask.

    Lloyd's algorithm in L*u*v*, of colours smoothed by `peers` and weighted by exp(-T), T the spread of the peers: from
    one class, the class with the largest distortion is split along its longest axis until there are `classes`, or none
    is wider than distance / 2. Then the two nearest classes are joined while they are closer than `distance`.
    Departure: weights are at least .01, where the paper's go to 0, so that a picture of noise keeps its colours.
    Source: Deng, Kenney, Moore and Manjunath, ISCAS 1999.
    """
    closest = checked("distance", distance, 0, 500)
    most = int(checked("classes", classes, 1, 200, whole=True))
    inside = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    result = np.full(picture.shape, -1, np.int32)
    if not inside.any():
        return result
    luv = np.asarray(cv2.cvtColor(picture.pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LUV), dtype=np.float32)
    smooth, spread = peers(luv, inside)
    weights = np.maximum(np.exp(-spread[inside].astype(np.float64)), 0.01)
    # Colours are binned in cells of two units, which look equal: thousands of cells instead of all pixels.
    cells = np.rint(smooth[inside] / 2).astype(np.int64) + 512
    _, cell = np.unique((cells[:, 0] << 40) | (cells[:, 1] << 20) | cells[:, 2], return_inverse=True)
    mass: Floats = np.bincount(cell, weights=weights).astype(np.float64)
    colours = np.stack([np.bincount(cell, weights=weights * smooth[inside][:, c]) / mass for c in range(3)], axis=1)
    centres = _joined(*_split(colours, mass, most, closest / 2), closest)
    result[inside] = _nearest(colours, centres)[cell]
    return result


def peers(luv: Plane, inside: Mask) -> tuple[Plane, Plane]:
    """Each pixel as the mean of its peers in the 3 x 3 window, and the distance of the farthest peer.

    Distances to the centre are sorted and split where Fisher's (a1 - a2)² / (s1² + s2²) is largest; the nearer part
    are the peers. Edges stay sharp, and stray pixels inside a uniform colour have little weight.
    """
    height, width = inside.shape
    padded = np.pad(luv, ((1, 1), (1, 1), (0, 0)), mode="edge")
    known = np.pad(inside, 1)
    # In bands, because the nine neighbours need nine times the memory of the picture.
    band = max(1, _BAND // width)
    ends = [(top, min(top + band, height) + 2) for top in range(0, height, band)]
    parts = [_peers(padded[top:end], known[top:end]) for top, end in ends]
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([farthest for _, farthest in parts])


def _peers(padded: Plane, known: Mask) -> tuple[Plane, Plane]:
    luv = padded[1:-1, 1:-1]
    height, width = luv.shape[:2]
    around = np.empty((9, height, width, 3), np.float32)
    for k, (dy, dx) in enumerate(_OFFSETS):
        window = (slice(1 + dy, 1 + dy + height), slice(1 + dx, 1 + dx + width))
        # A neighbour outside counts as the pixel itself.
        around[k] = np.where(known[window][..., None], padded[window], luv)
    apart = np.sqrt(((around - luv) ** 2).sum(-1))
    ranked = np.sort(apart, axis=0)
    sums, squares = np.cumsum(ranked, axis=0), np.cumsum(ranked**2, axis=0)
    n = np.arange(1, 9, dtype=np.float32)[:, None, None]
    low, high = sums[:-1] / n, (sums[-1] - sums[:-1]) / (9 - n)
    scatter = (squares[:-1] - n * low**2) + (squares[-1] - squares[:-1] - (9 - n) * high**2)
    cut = np.argmax((high - low) ** 2 / (np.maximum(scatter, 0) + 1e-3), axis=0)
    farthest = np.take_along_axis(ranked, cut[None], axis=0)[0]
    belongs = (apart <= farthest).astype(np.float32)
    mean = np.einsum("khw,khwc->hwc", belongs, around) / belongs.sum(0)[..., None]
    return mean.astype(np.float32), farthest


def _nearest(colours: Floats, centres: Floats) -> Ints:
    return np.asarray(((centres**2).sum(1) - 2 * (colours @ centres.T)).argmin(axis=1), dtype=np.int64)


def _split(colours: Floats, mass: Floats, most: int, narrow: float) -> tuple[Floats, Floats]:
    """Centres and masses of classes: split the class of largest distortion, then iterate Lloyd's algorithm."""
    centres: Floats = (mass @ colours / mass.sum())[None]
    weight: Floats = mass.sum()[None]
    while True:
        for _ in range(4):
            at = _nearest(colours, centres)
            weight = np.bincount(at, weights=mass, minlength=len(centres)).astype(np.float64)
            sums = np.stack([np.bincount(at, mass * colours[:, c], len(centres)) for c in range(3)], axis=1)
            full = weight > 0
            centres, weight = sums[full] / weight[full, None], weight[full]
        at = _nearest(colours, centres)
        distortion = np.bincount(at, mass * ((colours - centres[at]) ** 2).sum(1), len(centres))
        wide = np.where(distortion > weight * narrow**2, distortion, -1)
        worst = int(wide.argmax())
        if len(centres) >= most or wide[worst] <= 0:
            return centres, weight
        own = (colours[at == worst] - centres[worst]) * np.sqrt(mass[at == worst])[:, None]
        spread, axes = np.linalg.eigh(own.T @ own / weight[worst])
        # The sign of an eigenvector depends on the library; the largest entry is made positive.
        axis = axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])
        shift = math.sqrt(max(float(spread[-1]), 0)) * axis
        centres = np.vstack([centres, centres[worst] + shift])
        centres[worst] -= shift


def _joined(centres: Floats, weight: Floats, closest: float) -> Floats:
    """Replace the two nearest centres by their weighted mean while they are less than `closest` apart."""
    while len(centres) > 1:
        apart = np.linalg.norm(centres[:, None] - centres, axis=-1)
        np.fill_diagonal(apart, np.inf)
        a, b = sorted(int(i) for i in np.unravel_index(apart.argmin(), apart.shape))
        if apart[a, b] >= closest:
            break
        centres[a] = (weight[a] * centres[a] + weight[b] * centres[b]) / (weight[a] + weight[b])
        weight[a] += weight[b]
        centres, weight = np.delete(centres, b, axis=0), np.delete(weight, b)
    return centres
