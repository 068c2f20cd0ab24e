"""Segmentation: methods that cut a picture into regions, behind one interface.

`segment(picture, method, **settings)` returns a label map: int32, with the shape of the picture, -1 outside the
picture's mask. Regions are numbered 0, 1, … without gaps from the largest to the smallest; regions of equal size are
ordered by their first pixel in reading order. Every region is 4-connected. `register` adds a method.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from skimage.measure import label as connected
from skimage.segmentation import felzenszwalb as skimage_felzenszwalb
from skimage.segmentation import slic as skimage_slic

from endoxa.errors import TableError, TextError, did_you_mean, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.images import LabelMap, Picture
from endoxa.tables import Floats, Ints

Lab = npt.NDArray[np.float32]
NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Segmenter:
    """A method of segmentation.

    about      what it does, in a line
    source     the function (picture, *, settings) -> labels, or where to import it from: `module:function`
    preset     settings that this method stands for
    smallest   the default of the setting `smallest`; see `segment`
    """

    about: str
    source: Callable[..., LabelMap] | str
    preset: Mapping[str, Any]
    smallest: float

    def load(self) -> Callable[..., LabelMap]:
        """The function. Its module is imported now, so that using one method does not import the others."""
        if not isinstance(self.source, str):
            return self.source
        module, _, function = self.source.partition(":")
        loaded: Callable[..., LabelMap] = getattr(import_module(module), function)
        return loaded

    def settings(self) -> dict[str, Any]:
        """The settings and their defaults; every method has `smallest`."""
        parameters = list(inspect.signature(self.load()).parameters.values())[1:]
        own = {p.name: p.default for p in parameters if p.kind not in {p.VAR_KEYWORD, p.VAR_POSITIONAL}}
        return own | dict(self.preset) | {"smallest": self.smallest}


SEGMENTERS: dict[str, Segmenter] = {}


def register(
    name: str, source: Callable[..., LabelMap] | str, about: str, preset: Mapping[str, Any] = NONE, *,
    smallest: float = 0.005,
) -> None:  # fmt: skip
    """Enter a method of segmentation under a name.

    Do it where a module is imported, not below `if __name__ == "__main__":`; worker processes import modules anew.
    """
    if name in SEGMENTERS:
        raise TextError(f"a segmenter is called {name!r} already", remedy="choose another name")
    SEGMENTERS[name] = Segmenter(about, source, preset, smallest)


def available() -> tuple[str, ...]:
    """The names of the methods."""
    return tuple(SEGMENTERS)


def segment(picture: Picture, method: str = "slic", **settings: Any) -> LabelMap:
    """Segment a picture by a method of `SEGMENTERS`; the settings are those of its function.

    Every method takes `smallest`: regions of less than this share of the opaque pixels join a neighbour. The same
    picture, method and settings give the same labels. A picture without an opaque pixel gives -1 everywhere.
    Misleads: the number of regions depends on the method far more than on the picture; compare methods at the same
    number of largest regions (`largest`).
    Source: Barnard, Shirahatti and Yanai, section 3.3, for six of the methods; docs/methods/pictures.md, Segmentation.
    """
    refuse_unknown("segmenter", method, SEGMENTERS, listed=True)
    segmenter = SEGMENTERS[method]
    known = segmenter.settings()
    for name in settings:
        if name not in known:
            near = did_you_mean(name, known) or f"it has {', '.join(known)}"
            raise TextError(f"segmenter {method} has no setting {name!r}", remedy=near)
    refuse_picture(picture)
    chosen = dict(segmenter.preset) | settings
    smallest = checked("smallest", chosen.pop("smallest", segmenter.smallest), 0, 1)
    if picture.mask is not None and not picture.mask.any():
        return np.full(picture.shape, -1, np.int32)
    return normalised(segmenter.load()(picture, **chosen), picture, smallest=smallest)


def largest(labels: LabelMap, n: int) -> LabelMap:
    """Keep the n largest regions of a label map that is numbered by size; the other regions become -1."""
    if n < 0:
        raise TextError(f"the number of regions to keep is at least 0, not {n}")
    return np.where(labels < n, labels, np.int32(-1))


def slic(picture: Picture, *, regions: int = 48, compactness: float = 10.0, iterations: int = 4) -> LabelMap:
    """Simple linear iterative clustering: k-means of (L*, a*, b*, x, y) from a grid of seeds.

    Distance² = colour² + (compactness / seed spacing)² · place²; 10 suits L*a*b*, larger values give squarer regions.
    There are four iterations instead of the authors' ten, for speed. 48 seeds in 384 x 256 pixels are 45 pixels apart.
    Misleads: regions have similar sizes by construction, so that `largest` is not informative.
    Source: Achanta et al., PAMI 34 (2012); scikit-image.
    """
    n = int(checked("regions", regions, 1, 1e6, whole=True))
    steps = int(checked("iterations", iterations, 1, 1000, whole=True))
    weight = checked("compactness", compactness, 1e-6, 1e6)
    height, width = picture.shape
    colours = lab(picture)
    reach = float(np.ptp(colours)) or 1.0  # scikit-image scales the whole range to [0, 1] before it weights
    raw = skimage_slic(
        colours, n_segments=min(n, height * width), compactness=weight / reach, max_num_iter=steps, convert2lab=False,
        enforce_connectivity=False, start_label=0, channel_axis=-1,
    )  # fmt: skip
    return np.asarray(raw, dtype=np.int32)


def felzenszwalb(picture: Picture, *, scale: float = 200.0, sigma: float = 0.8) -> LabelMap:
    """Graph-based segmentation: two parts join if the contrast between them is below the contrast within either.

    Join if the lightest edge between A and B ≤ min(I(A) + scale/|A|, I(B) + scale/|B|), I the heaviest edge of the
    part's minimum spanning tree; colours in [0, 1] times 255, smoothed with sigma 0.8, the authors' value. Scale 200
    gives about 10 to 60 regions in a thumbnail.
    Misleads: one gap in a border (gradients, haze) joins the regions on both sides.
    Source: Felzenszwalb and Huttenlocher, IJCV 59 (2004); scikit-image.
    """
    raw = skimage_felzenszwalb(
        picture.pixels, scale=checked("scale", scale, 0, 1e9), sigma=checked("sigma", sigma, 0, 100), min_size=1,
        channel_axis=-1,
    )  # fmt: skip
    return np.asarray(raw, dtype=np.int32)


def grid(picture: Picture, *, rows: int = 3, columns: int = 4) -> LabelMap:
    """Equal rectangles: pixel (y, x) lies in row ⌊y · rows / height⌋, column ⌊x · columns / width⌋. A baseline."""
    down = int(checked("rows", rows, 1, 1e5, whole=True))
    across = int(checked("columns", columns, 1, 1e5, whole=True))
    height, width = picture.shape
    row = np.arange(height, dtype=np.int64)[:, None] * down // height
    column = np.arange(width, dtype=np.int64)[None, :] * across // width
    return (row * across + column).astype(np.int32)


def lab(picture: Picture) -> Lab:
    """L*a*b* under D65: L* from 0 to 100, float32."""
    return np.asarray(cv2.cvtColor(picture.pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), dtype=np.float32)


def normalised(labels: npt.NDArray[Any], picture: Picture, *, smallest: float = 0.0) -> LabelMap:
    """Convert any labels to the form that `segment` returns. The label -1 within the mask counts as a region.

    Pixels outside the mask become -1, and each 4-connected component of a label becomes a region. Regions of less than
    smallest · (opaque pixels) join the neighbour with the nearest mean L*a*b* (then the longest common border, then the
    lowest number), smallest regions first, until every such region has joined. Regions are numbered by size. Islands
    of the mask have no neighbour and stay, even if they are small.
    """
    if labels.shape != picture.shape:
        raise TableError(
            f"labels of shape {labels.shape} do not fit a picture of {picture.shape}", remedy="one for each pixel"
        )
    inside = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    if not inside.any():
        return np.full(picture.shape, -1, np.int32)
    lowest = int(labels.min())
    shifted = np.where(inside, labels.astype(np.int64, copy=False) - (lowest - 1), 0)
    parts: Ints = connected(shifted, background=0, connectivity=1).astype(np.int64) - 1  # type: ignore[no-untyped-call]
    flat = parts[inside]
    least = smallest * len(flat)
    areas: Ints = np.bincount(flat).astype(np.int64, copy=False)
    if (areas < least).any() and len(areas) > 1:
        colours = lab(picture)[inside]
        sums: Floats = np.stack([np.bincount(flat, weights=colours[:, c]) for c in range(3)], axis=1).astype(np.float64)
        target = merged(areas, sums, *borders(parts), least=least)
        parts = np.where(inside, target[parts], -1)
    return by_size(parts)


def borders(parts: npt.NDArray[Any]) -> tuple[Ints, Ints, Ints]:
    """Adjacent regions a < b, and the length of their border in pixel sides. Negative labels are not regions."""
    one = np.concatenate([parts[:, :-1].ravel(), parts[:-1].ravel()]).astype(np.int64)
    other = np.concatenate([parts[:, 1:].ravel(), parts[1:].ravel()]).astype(np.int64)
    border = (one != other) & (np.minimum(one, other) >= 0)
    one, other = one[border], other[border]
    return _counted(np.minimum(one, other), np.maximum(one, other), np.ones(len(one), np.int64))


def _counted(a: Ints, b: Ints, length: Ints) -> tuple[Ints, Ints, Ints]:
    if not len(a):
        return a, b, length
    base = int(b.max()) + 1
    key, at = np.unique(a * base + b, return_inverse=True)
    return key // base, key % base, np.bincount(at, weights=length).astype(np.int64)


def merged(areas: Ints, sums: Floats, a: Ints, b: Ints, length: Ints, *, least: float) -> Ints:
    """The region that each region ends up in, after all below `least` pixels joined the neighbour nearest in colour.

    In each round a small region joins if no small neighbour is smaller, so that regions that join in one round are not
    adjacent. Ties are broken by a fixed shuffle: in reading order a picture of noise would need a round per pixel.
    """
    n = len(areas)
    target = np.arange(n)
    areas, sums = areas.copy(), sums.copy()
    turn = np.random.default_rng(0).permutation(n)
    while True:
        small = (areas < least) & (areas > 0)
        here, there, size = np.concatenate([a, b]), np.concatenate([b, a]), np.concatenate([length, length])
        between = small[here] & small[there]
        first, second = here[between], there[between]
        later = (areas[first] > areas[second]) | ((areas[first] == areas[second]) & (turn[first] > turn[second]))
        acts = small.copy()
        acts[first[later]] = False
        chosen = acts[here]
        if not chosen.any():
            return target
        here, there, size = here[chosen], there[chosen], size[chosen]
        means = sums / np.maximum(areas, 1)[:, None]
        distance = ((means[here] - means[there]) ** 2).sum(axis=1)
        order = np.lexsort((there, -size, distance, here))
        here, there = here[order], there[order]
        leads = np.concatenate([[True], here[1:] != here[:-1]])
        step = np.arange(n)
        step[here[leads]] = there[leads]
        gone, kept = here[leads], there[leads]
        np.add.at(areas, kept, areas[gone])
        np.add.at(sums, kept, sums[gone])
        areas[gone] = 0
        target = step[target]
        a, b = step[a], step[b]
        outer = a != b
        a, b = np.minimum(a, b)[outer], np.maximum(a, b)[outer]
        a, b, length = _counted(a, b, length[outer])


def by_size(parts: npt.NDArray[Any]) -> LabelMap:
    """Renumber regions from the largest to the smallest, ties by first pixel; negative labels become -1."""
    flat = parts.ravel()
    counts = np.bincount(np.maximum(flat, -1) + 1)
    counts[0] = 0
    first = np.zeros(len(counts), np.int64)
    first[np.maximum(flat[::-1], -1) + 1] = np.arange(len(flat) - 1, -1, -1)
    order = np.lexsort((first, -counts))[: np.count_nonzero(counts)]
    rank = np.full(len(counts), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.asarray(rank[np.maximum(flat, -1) + 1].reshape(parts.shape))


def checked(name: str, value: Any, low: float, high: float, *, whole: bool = False) -> float:
    """A setting as a number within its limits; otherwise a TextError that states the limits."""
    kind = "a whole number" if whole else "a number"
    fits = isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or not low <= value <= high or (whole and value != int(value)):
        raise TextError(f"{name} is {value!r}", remedy=f"expected {kind} from {low:g} to {high:g}")
    return float(value)


def refuse_picture(picture: Picture) -> None:
    """Refuse anything but a picture with at least one pixel of three bytes and a mask of the same shape."""
    if not isinstance(picture, Picture):
        raise TableError(
            f"expected a Picture, not {type(picture).__name__}",
            remedy="Picture(array) holds height x width x 3 bytes, endoxa.io.decoding.decode(Path(…)) reads a file",
        )
    pixels, mask = picture.pixels, picture.mask
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
        raise TableError(
            f"a picture is height x width x 3 bytes, none of them 0, not {pixels.shape} of {pixels.dtype}",
            remedy="decode it with endoxa.io.decoding",
        )
    if mask is not None and (mask.shape != picture.shape or mask.dtype != np.bool_):
        raise TableError(
            f"the mask is {mask.dtype} of shape {mask.shape}, the picture {picture.shape}",
            remedy="expected truth values, one for each pixel",
        )


register("blobworld", "endoxa.images.blobworld:blobworld", "mixture of Gaussians over colour and texture")
register("preseg", "endoxa.images.cuts:preseg", "the superpixels that normalised cuts start from", smallest=0.001)
register("ncuts", "endoxa.images.cuts:ncuts", "normalised cuts of the graph of superpixels")
for _name, _about, _radius, _significant, _contiguous in (
    ("mean-shift-over", "modes of colour, many regions", 0.3, 100, 10),
    ("mean-shift-under", "modes of colour, few regions", 0.4, 400, 10),
    ("mean-shift-quantised", "modes of colour, nothing pruned", 0.2, 50, 0),
):
    _preset = {"radius": _radius, "significant": _significant, "contiguous": _contiguous}
    register(_name, "endoxa.images.mean_shift:mean_shift", _about, _preset, smallest=0.0)
register("jseg", "endoxa.images.jseg:jseg", "colour classes, then growth where they are locally even")
register("slic", slic, "k-means of colour and place: even superpixels")
register("felzenszwalb", felzenszwalb, "minimum spanning trees, cut where the contrast exceeds that inside")
register("grid", grid, "equal rectangles, independent of the picture", smallest=0.0)
