"""Normalised cuts after Shi and Malik: superpixels between contours (`preseg`), cuts of their graph (`ncuts`)."""

from __future__ import annotations

from heapq import heappop, heappush

import cv2
import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from skimage.segmentation import watershed

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.images import LabelMap, Mask, Picture
from endoxa.images.segment import checked, lab, normalised
from endoxa.tables import Bools, Floats, Ints

Maps = npt.NDArray[np.float32]
ANGLES = 6
MOST = 1000  # superpixels in the graph; memory grows with the square
STEPS = 16  # points on the line between two superpixels
REACH = 2.0  # no edges beyond this multiple of the width of distances, where the affinity is e^-4
HUES, ENERGIES = 30.0, 12.0  # ranges of colours and of energies below which a picture counts as uniform


@dataclass(frozen=True, eq=False)
class Cells:
    """Features of each superpixel: pixels, centre (y, x as shares of the diagonal), mean L*a*b*, texture."""

    areas: Ints
    centres: Floats
    colours: Floats
    textures: Floats


def preseg(picture: Picture, *, cells: int = 200, scale: float = 1.5) -> LabelMap:
    """Superpixels: the basins of the contour map, flooded from the lowest point of each of at most `cells` squares.

    Contours (`contours` at `scale` pixels) become borders of cells; the squares limit the size of cells.
    Misleads: weak contours count as much as strong ones; borders in uniform areas carry no information.
    Source: the over-segmentation of Malik, Belongie, Leung and Shi, IJCV 43 (2001); a watershed replaces their
    k-means of eigenvectors, which takes minutes, as in Arbeláez et al., PAMI 33 (2011).
    """
    edges, _ = contours(picture, scale)
    return _flooded(picture, edges, cells)


def ncuts(
    picture: Picture, *, cells: int = 200, scale: float = 1.5, regions: int = 40, threshold: float = 0.1,
    colour: float = 0.15, contour: float = 0.3, texture: float = 0.3, distance: float = 0.3,
) -> LabelMap:  # fmt: skip
    """Cut the graph of superpixels where the normalised cut is least, recursively, while it is below `threshold`.

    Ncut(A, B) = cut(A, B) / assoc(A, V) + cut(A, B) / assoc(B, V). Superpixels i and j have the affinity |i| |j|
    exp(-Σ (difference / width)²). The differences are those of mean L*a*b*, the strongest contour on the line between
    the centres, those of mean oriented energies, and the distance of the centres; the widths are given as shares of the
    greatest difference in the picture (Shi and Malik advise 10 to 20 percent, with fewer cues), that of distance as a
    share of the diagonal. A greater threshold gives more regions, at most `regions` before disconnected parts are
    separated; thumbnails have about 5 to 35. Time grows with the cube of `cells`.
    Misleads: cuts balance associations, so that a uniform sky may be halved before a bird in it is found; textures
    that differ only in grain, not in mean energy, are not separated.
    Source: Shi and Malik, PAMI 22 (2000); intervening contours: Leung and Malik, ECCV 1998.
    """
    limit = checked("threshold", threshold, 0, 2)
    widths = [
        checked(name, value, 1e-6, 1e6)
        for name, value in (("colour", colour), ("contour", contour), ("texture", texture), ("distance", distance))
    ]
    count = int(checked("cells", cells, 1, MOST, whole=True))
    most = int(checked("regions", regions, 1, MOST, whole=True))
    edges, energies = contours(picture, scale)
    labels = normalised(_flooded(picture, edges, count), picture, smallest=0.001)
    found = described(picture, labels, energies)
    known = len(found.areas)
    joined = min(known, count)  # a fragmented mask has many islands; the smallest ones are not joined
    if joined < 2:
        return labels
    head = Cells(found.areas[:joined], found.centres[:joined], found.colours[:joined], found.textures[:joined])
    groups = recursive_cut(affinities(head, edges, *widths), limit, most)
    groups = np.concatenate([groups, np.arange(joined, known)])
    return np.where(labels >= 0, groups[labels], -1).astype(np.int32)


def contours(picture: Picture, scale: float) -> tuple[Maps, Maps]:
    """The strength of the contour at each pixel (height x width), and the oriented energies of L* (… x 6).

    Energy at angle θ = √((σ f_θ)² + (σ² f_θθ)²), f smoothed with a Gaussian of σ = `scale`; a step of height h gives
    about 0.4 h. The contour is √(max² + σ² |∇a|² + σ² |∇b|²), max over the angles of L*.
    Source: Perona and Malik, ICCV 1990 (quadrature pairs); Freeman and Adelson, PAMI 13 (1991) (steering).
    """
    sigma = checked("scale", scale, 0.3, 50)
    smooth = cv2.GaussianBlur(lab(picture), (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)
    dy, dx = _slopes(np.asarray(smooth, dtype=np.float32))
    dyy, dxy = _slopes(dy[..., 0])
    _, dxx = _slopes(dx[..., 0])
    energies = np.empty((*picture.shape, ANGLES), np.float32)
    for k in range(ANGLES):
        c, s = np.float32(np.cos(np.pi * k / ANGLES)), np.float32(np.sin(np.pi * k / ANGLES))
        odd = np.float32(sigma) * (c * dx[..., 0] + s * dy[..., 0])
        even = np.float32(sigma * sigma) * (c * c * dxx + 2 * c * s * dxy + s * s * dyy)
        energies[..., k] = np.sqrt(odd * odd + even * even)
    chroma = (dx[..., 1:] ** 2 + dy[..., 1:] ** 2).sum(axis=-1) * np.float32(sigma * sigma)
    return np.sqrt(energies.max(axis=-1) ** 2 + chroma), energies


def _slopes(values: Maps) -> tuple[Maps, Maps]:
    """Half the difference of the neighbours, down and across; the edge of the picture is repeated."""
    wide = np.pad(values, [(1, 1), (1, 1)] + [(0, 0)] * (values.ndim - 2), mode="edge")
    half = np.float32(0.5)
    return (wide[2:, 1:-1] - wide[:-2, 1:-1]) * half, (wide[1:-1, 2:] - wide[1:-1, :-2]) * half


def _squares(height: int, width: int, side: float) -> Ints:
    """The square of this side that each pixel lies in."""
    row, column = (np.arange(height) / side).astype(np.int64), (np.arange(width) / side).astype(np.int64)
    return np.asarray(row[:, None] * (column[-1] + 1) + column[None])


def _flooded(picture: Picture, edges: Maps, cells: int) -> LabelMap:
    """Watershed of the contours from one marker in each square: its lowest opaque pixel."""
    n = int(checked("cells", cells, 1, 1e5, whole=True))
    height, width = picture.shape
    inside: Mask = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    if not inside.any():
        return np.full(picture.shape, -1, np.int32)
    places = np.flatnonzero(inside)
    side = max(1.0, (len(places) / n) ** 0.5)
    square = _squares(height, width, side)[inside]
    while np.count_nonzero(np.bincount(square)) > n:  # squares that the edge or the mask cuts make the number larger
        side *= 1.05
        square = _squares(height, width, side)[inside]
    order = np.lexsort((places, edges[inside], square))
    places, square = places[order], square[order]
    lowest = places[np.concatenate([[True], square[1:] != square[:-1]])]
    markers = np.zeros(height * width, np.int32)
    markers[lowest] = np.arange(1, len(lowest) + 1)
    flooded = watershed(edges, markers.reshape(picture.shape), mask=inside)  # type: ignore[no-untyped-call]
    return np.asarray(flooded, dtype=np.int32) - 1


def described(picture: Picture, labels: LabelMap, energies: Maps) -> Cells:
    """Areas, centres, mean colours and mean oriented energies of regions numbered from 0."""
    inside = labels >= 0
    at = labels[inside]
    areas = np.bincount(at)
    places = np.argwhere(inside) / float(np.hypot(*picture.shape))
    columns = np.concatenate([places, lab(picture)[inside], energies[inside]], axis=1)
    means = np.stack([np.bincount(at, weights=columns[:, c]) for c in range(columns.shape[1])], axis=1) / areas[:, None]
    return Cells(areas.astype(np.int64), means[:, :2], means[:, 2:5], means[:, 5:])


def affinities(cells: Cells, edges: Maps, colour: float, contour: float, texture: float, distance: float) -> Floats:
    """The affinity of each two superpixels: symmetric, 0 beyond twice the width of distances."""
    gap = cdist(cells.centres, cells.centres)
    i, j = np.nonzero(np.triu(gap <= REACH * distance, 1))
    exponent = (gap[i, j] / distance) ** 2
    for share, between, least in (
        (colour, cdist(cells.colours, cells.colours), HUES),
        (contour, _strongest(cells.centres, edges), ENERGIES),
        (texture, cdist(cells.textures, cells.textures), ENERGIES),
    ):
        exponent += (between[i, j] / (share * max(float(between.max()), least))) ** 2
    affinity = np.diag(cells.areas.astype(np.float64) ** 2)
    affinity[i, j] = affinity[j, i] = cells.areas[i] * cells.areas[j] * np.exp(-exponent)
    return affinity


def _strongest(centres: Floats, edges: Maps) -> Floats:
    """The strongest contour that the line between each two centres crosses."""
    height, width = edges.shape
    pixels = (centres * float(np.hypot(height, width))).astype(np.float32)
    best = np.zeros((len(centres), len(centres)), np.float32)
    for t in np.linspace(0, 1, STEPS, dtype=np.float32):
        line = np.rint((1 - t) * pixels[:, None] + t * pixels[None]).astype(np.int32)
        np.maximum(best, edges[line[..., 0], line[..., 1]], out=best)
    return np.maximum(best, best.T).astype(np.float64)


def two_way_cut(affinity: Floats) -> tuple[Bools, float]:
    """The side of each node in the best cut along the second eigenvector, and its normalised cut.

    (D - W) y = λ D y is the relaxed problem. The nodes are sorted by y of the second smallest λ, and all n - 1 splits
    are tried, where the authors try a few. A disconnected graph is cut between its pieces: Ncut 0.
    Misleads: it is not always the least normalised cut, which is NP-hard to find, but usually near it.
    Source: Shi and Malik, PAMI 22 (2000), section 2.1 and 3.
    """
    n = len(affinity)
    if affinity.shape != (n, n) or n < 2:
        raise TableError(f"a graph to cut has a square table of affinities of 2 nodes or more, not {affinity.shape}")
    if not np.isfinite(affinity).all() or (affinity < 0).any() or not np.allclose(affinity, affinity.T):
        raise TableError("expected affinities that are finite, not negative and symmetric")
    pieces, piece = connected_components(affinity > 0, directed=False)
    if pieces > 1:
        return np.asarray(piece == 0), 0.0
    degree = affinity.sum(axis=1)
    root = np.sqrt(degree)
    similar = affinity / root[:, None] / root[None, :]
    _, vectors = eigh(similar, subset_by_index=[n - 2, n - 1])
    # for weakly connected parts both eigenvalues are near 1, and either vector may separate them
    sides, values = zip(*(_divided(affinity, degree, vector / root) for vector in vectors.T), strict=True)
    best = int(np.argmin(values))
    return sides[best], values[best]


def _divided(affinity: Floats, degree: Floats, y: Floats) -> tuple[Bools, float]:
    """The best of all divisions into the lowest k and the rest along y."""
    y = np.round(y / np.abs(y).max(), 10)
    if y[np.flatnonzero(y)[0]] < 0:  # the sign of an eigenvector is arbitrary; the first entry is made positive
        y = -y
    order = np.argsort(y, kind="stable")
    arranged = affinity[np.ix_(order, order)]
    ahead = np.cumsum(degree[order])
    # the cut after the first k nodes: their degrees, less the affinities among themselves
    within = np.cumsum(np.diag(arranged) + 2 * np.tril(arranged, -1).sum(axis=1))
    crossing = np.maximum(ahead - within, 0)[:-1]
    values = crossing / ahead[:-1] + crossing / np.cumsum(degree[order][::-1])[::-1][1:]
    k = int(np.argmin(values))
    side = np.zeros(len(y), np.bool_)
    side[order[: k + 1]] = True
    return side, float(values[k])


def recursive_cut(affinity: Floats, threshold: float, most: int = MOST) -> Ints:
    """The group of each node: the cheapest cut is made first, while it is below the threshold, up to `most` groups."""
    done: list[Ints] = []
    waiting: list[tuple[float, int, Ints, Bools]] = []  # the number breaks ties, in the order of creation

    def consider(nodes: Ints) -> None:
        side, value = two_way_cut(affinity[np.ix_(nodes, nodes)]) if len(nodes) > 1 else (np.zeros(1, np.bool_), 2.0)
        if len(nodes) > 1 and value < threshold:
            heappush(waiting, (value, int(nodes[0]), nodes, side))
        else:
            done.append(nodes)

    consider(np.arange(len(affinity)))
    while waiting and len(done) + len(waiting) < most:
        _, _, nodes, side = heappop(waiting)
        consider(nodes[side])
        consider(nodes[~side])
    groups = np.zeros(len(affinity), np.int64)
    for number, nodes in enumerate(done + [part[2] for part in waiting]):
        groups[nodes] = number
    return groups
