"""Blobworld: pixels are grouped by a mixture of Gaussians over colour, texture and position."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError
from endoxa.frozen import dataclass
from endoxa.images import LabelMap, Mask, Picture
from endoxa.images.segment import checked, lab
from endoxa.tables import Floats

Plane = npt.NDArray[np.float32]

# The paper's scales σ = k/2 for k = 0 … 7. A scale is selected where polarity changes by less than 2 % from the last
# one; there is no texture where the contrast is below .1.
SIGMAS = tuple(k / 2 for k in range(8))
STEADY, UNIFORM = 0.02, 0.1
# Directions between which Σ G |∇L · n| is interpolated; its error is below 1 % of the gradients that lie along n.
DIRECTIONS = 12
# Four starts for each number of groups, as in the paper. Standard deviations stay above 2 units of L*a*b* (features
# are divided by 100), a just noticeable difference.
STARTS, FLOOR = 4, 0.02
# Multiplications of one matrix product. Above it OpenBLAS starts threads: twenty times the time on a busy machine.
_BLOCK = 1 << 18


def blobworld(
    picture: Picture, *, least: int = 2, most: int = 5, pixels: int = 2000, iterations: int = 100, seed: int = 0
) -> LabelMap:
    """Group pixels by colour, texture and position: the most probable of K Gaussians, K by description length.

    Eight features (`features`); mixtures of K = least … most groups with full covariances by EM from four starts
    each; the K with the largest log L - (m_K / 2) log n (`choose`); the most probable group of each pixel; the
    commonest group in its 3 x 3 window, as the paper does before it takes connected parts. Mixtures are fitted to
    `pixels` evenly spread pixels: neighbours share smoothing windows of about 7 pixels and are not independent; with
    all of them K would always be the largest. Labels are 0 … K-1 and need not be connected; -1 outside the mask.
    Misleads: there are never fewer than `least` groups, even in a uniform picture, which is then divided by position
    alone; a border between uniform colours may become a group of its own.
    Departures: the later steps of the system (colour at region borders, removal of regions below 2 %) are left out.
    Source: Belongie, Carson, Greenspan and Malik, ICCV 1998; Carson et al., PAMI 24 (2002).
    """
    low = int(checked("least", least, 1, 50, whole=True))
    high = int(checked("most", most, low, 50, whole=True))
    count = int(checked("pixels", pixels, 1, 1e7, whole=True))
    rounds = int(checked("iterations", iterations, 1, 1e6, whole=True))
    start = int(checked("seed", seed, 0, 2**63, whole=True))
    inside = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    labels = np.full(picture.shape, -1, np.int32)
    if not inside.any():
        return labels
    points = features(picture)[inside]
    # A fractional step (49.1… in a picture of 384 columns) visits all columns equally.
    sample = points[np.unique(np.linspace(0, len(points) - 1, min(count, len(points))).astype(np.int64))]
    mixture = choose(sample.astype(np.float64), least=low, most=high, iterations=rounds, seed=start)
    labels[inside] = mixture.labels(points)
    return voted(labels)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture of Gaussians; `history` is the log-likelihood before each round (rows) of each start."""

    weights: Floats
    means: Floats
    covariances: Floats
    history: Floats
    likelihood: float

    def logs(self, points: Floats) -> Floats:
        """log(weight · density) of each group (rows) at each point (columns)."""
        return _coefficients(self.weights, self.means, self.covariances) @ _monomials(points)

    def labels(self, points: Floats | Plane) -> LabelMap:
        """The most probable group of each point; ties go to the first."""
        k, d = self.means.shape
        block = _block(k, d)
        slices = (points[at : at + block].astype(np.float64) for at in range(0, len(points), block))
        return np.concatenate([self.logs(part).argmax(axis=0) for part in slices]).astype(np.int32)

    def description(self, n: int) -> float:
        """Nats that n points need under the mixture: (m / 2) log n - log L, m = (K - 1) + K d + K d (d + 1) / 2."""
        k, d = (int(length) for length in self.means.shape)
        return (k - 1 + k * d + k * d * (d + 1) / 2) / 2 * math.log(n) - self.likelihood


def choose(points: Floats, *, least: int = 2, most: int = 5, iterations: int = 100, seed: int = 0) -> Mixture:
    """The mixture of least … most groups, at most one per point, with the shortest description."""
    if not len(points) or least > most:
        raise TableError(
            f"{len(points)} points cannot form {least} to {most} groups",
            remedy="expected at least one point, as a row of features, and a largest number of groups that is not "
            "below the least",
        )
    rng = np.random.default_rng(seed)
    counts = range(min(least, len(points)), min(most, len(points)) + 1)
    fits = [fit(points, starts(points, k, rng), iterations=iterations) for k in counts]
    return min(fits, key=lambda mixture: mixture.description(len(points)))


def starts(points: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Four sets of k means: of k windows side by side; one above the other; at centre and corners; these with noise.

    A window has 1/k of the width (height), or a third of both. The noise has a third of the standard deviation of each
    feature. A window without a point has the mean of all points.
    """
    place = points[:, -2:]
    low, high = place.min(axis=0), place.max(axis=0)
    place = np.where(high > low, (place - low) / np.where(high > low, high - low, 1), 0.5)
    tiles = np.minimum((place * k).astype(np.int64), k - 1)
    centres = np.array([(0.5, 0.5), (0, 0), (1, 1), (1, 0), (0, 1)])[np.arange(k) % 5]
    near = [(np.abs(place - centre) <= 1 / 3).all(axis=1) for centre in centres]
    members = [[tiles[:, axis] == j for j in range(k)] for axis in (0, 1)] + [near]
    mean = points.mean(axis=0)
    sets = [[points[m].mean(axis=0) if m.any() else mean for m in windows] for windows in members]
    means = np.array([*sets, sets[-1]])
    # The first two sets have no noise. From the sixth, windows repeat positions, so that noise must separate them.
    noise = rng.normal(size=means.shape) * points.std(axis=0) / 3
    means[3:] += noise[3:]
    if k > 5:
        means[2, 5:] += noise[2, 5:]
    return means


def fit(
    points: Floats, means: Floats, *, floor: float = FLOOR, iterations: int = 100, tolerance: float = 1e-3
) -> Mixture:
    """EM for a mixture of Gaussians with full covariances, from several starts at once; the most likely is kept.

    means: starts x groups x features; all start with the covariance of the points and equal weights. Variances in any
    direction stay ≥ floor²: smaller eigenvalues are raised to it, which maximises the likelihood under that bound, so
    that log L never decreases. It ends when no start gains more than `tolerance` per point in a round.
    A group that has lost all its points keeps its mean, with weight 0.
    """
    if points.ndim != 2 or not points.size or means.ndim != 3 or means.shape[2] != points.shape[1]:
        raise TableError(
            f"points of shape {points.shape} and starts of shape {means.shape} do not fit",
            remedy="expected points x features with at least one of each, and starts x groups x features",
        )
    tries, k, d = means.shape
    n, centre = len(points), points.mean(axis=0)
    # Centred points keep the precision of sums of squares. Blocks x monomials x points of a block; the last block is
    # padded with zeros, which add nothing to moments.
    flat, block = _monomials(points - centre), _block(tries * k, d)
    count = -(-n // block)
    flat = np.pad(flat, ((0, 0), (0, count * block - n)))
    terms = np.ascontiguousarray(flat.reshape(len(flat), count, block).transpose(1, 0, 2))
    whole = np.cov(points.T, bias=True).reshape(d, d)
    mean = (means - centre).reshape(-1, d)
    covariance = np.broadcast_to(_floored(whole[None], floor), (tries * k, d, d)).copy()
    weight = np.full(tries * k, 1 / k)
    one, other = np.triu_indices(d)
    history: list[Floats] = []
    while True:
        logs = (_coefficients(weight, mean, covariance) @ terms).reshape(len(terms), tries, k, -1)
        top = logs.max(axis=2, keepdims=True)
        shares = np.exp(logs - top)
        sums = shares.sum(axis=2, keepdims=True)
        # The first monomial is 1, and 0 in the columns that fill the last block.
        history.append(((top + np.log(sums))[:, :, 0] * terms[:, None, 0]).sum(axis=(0, 2)))
        gained = len(history) < 2 or (history[-1] - history[-2] > tolerance * n).any()
        if len(history) > iterations or not gained:
            break
        moments = ((shares / sums).reshape(len(terms), tries * k, -1) @ terms.transpose(0, 2, 1)).sum(axis=0)
        mass = moments[:, 0]
        alive = mass > 1e-9 * n
        mass = np.where(alive, mass, 1)
        mean = np.where(alive[:, None], moments[:, 1 : d + 1] / mass[:, None], mean)
        second = np.empty((tries * k, d, d))
        second[:, one, other] = second[:, other, one] = moments[:, d + 1 :] / mass[:, None]
        fresh = _floored(second - mean[:, :, None] * mean[:, None, :], floor)
        covariance = np.where(alive[:, None, None], fresh, covariance)
        weight = np.where(alive, mass / n, 0)
    won = int(np.argmax(history[-1]))
    own = slice(won * k, won * k + k)
    return Mixture(weight[own], mean[own] + centre, covariance[own], np.array(history), float(history[-1][won]))


def _floored(matrices: Floats, floor: float) -> Floats:
    values, axes = np.linalg.eigh(matrices)
    return np.asarray((axes * np.maximum(values, floor**2)[:, None, :]) @ axes.transpose(0, 2, 1))


def _monomials(points: Floats) -> Floats:
    """1, x_i, x_i x_j (i ≤ j) of each point, in columns. Log densities are linear in them, and EM sums them."""
    columns = np.ascontiguousarray(points.T)
    one, other = np.triu_indices(len(columns))
    return np.concatenate([np.ones((1, len(points))), columns, columns[one] * columns[other]])


def _block(rows: int, d: int) -> int:
    return max(1, _BLOCK // (rows * (1 + d + d * (d + 1) // 2)))


def _coefficients(weights: Floats, means: Floats, covariances: Floats) -> Floats:
    """log w - ½ log|2πΣ| - ½ (x - m)' Σ⁻¹ (x - m) as coefficients of the monomials; -1e300 in place of log 0."""
    d = means.shape[1]
    inverse = np.linalg.inv(covariances)
    linear = np.einsum("kij,kj->ki", inverse, means)
    known = weights > 0
    logs = np.where(known, np.log(np.where(known, weights, 1)), -1e300)
    constant = logs - (d * math.log(2 * math.pi) + np.linalg.slogdet(covariances)[1] + (linear * means).sum(1)) / 2
    one, other = np.triu_indices(d)
    quadratic = inverse[:, one, other] * np.where(one == other, -0.5, -1.0)
    return np.concatenate([constant[:, None], linear, quadratic], axis=1)


def features(picture: Picture) -> Plane:
    """height x width x 8: L*, a*, b* (over 100), anisotropy x contrast, polarity x contrast, contrast, x, y.

    Colour and texture have the scale that `texture` selects for the pixel; positions run from 0 to 1 along the longer
    side. Outside the mask the values are undefined.
    """
    inside = np.ones(picture.shape, np.bool_) if picture.mask is None else picture.mask
    colour, textured = texture(lab(picture) / np.float32(100), inside)
    y, x = np.indices(picture.shape) / max(*picture.shape, 2)
    return np.dstack([colour, textured, x.astype(np.float32), y.astype(np.float32)])


def texture(colour: Plane, inside: Mask) -> tuple[Plane, Plane]:
    """Colour smoothed at each pixel's scale, and (anisotropy x contrast, polarity x contrast, contrast) there.

    M_σ = G_σ * ∇L ∇L' with eigenvalues λ1 ≥ λ2: anisotropy 1 - λ2/λ1, contrast 2 √(λ1 + λ2). Polarity is
    |E₊ - E₋| / (E₊ + E₋), E± = G_σ * [∇L · n]±, n the main direction of the pixel: 1 at an edge, near 0 in a texture.
    The scale is the first σ = ½, 1, … 3½ at which polarity, smoothed with 2σ, differs by less than .02 from that of
    the σ before. Below contrast .1 the pixel is uniform: σ = 0, anisotropy and polarity 0.
    Windows end at the picture and the mask. 0/0 counts as 0: no gradient, no direction.
    """
    here = inside.astype(np.float32)
    colours = [np.ascontiguousarray(colour[..., c]) * here for c in range(3)]
    slopes = slope_of(colour[..., 0], inside)
    chosen = np.zeros((6, *inside.shape), np.float32)
    before: Plane = (np.hypot(*slopes) > 0).astype(np.float32)
    unsettled = inside.copy()
    for sigma in SIGMAS[1:]:
        inverse = 1 / np.maximum(blurred(here, sigma), np.float32(1e-6))
        anisotropy, polarity, energy = moments_of(slopes, sigma)
        steadier = _ratio(blurred(polarity * here, 2 * sigma), blurred(here, 2 * sigma))
        settled = unsettled & ((np.abs(steadier - before) < STEADY) | (sigma == SIGMAS[-1]))
        contrast = 2 * np.sqrt(energy * inverse)
        found = [*(blurred(plane, sigma) * inverse for plane in colours), anisotropy * contrast, polarity * contrast]
        for plane, values in zip(chosen, [*found, contrast], strict=True):
            np.copyto(plane, values, where=settled)
        unsettled &= ~settled
        before = steadier
        if not unsettled.any():
            break
    uniform = chosen[5] < UNIFORM
    for plane, values in zip(chosen[:5], [*colours, *np.zeros_like(chosen[:2])], strict=True):
        np.copyto(plane, values, where=uniform)
    return np.dstack(list(chosen[:3])), np.dstack(list(chosen[3:]))


def slope_of(plane: Plane, inside: Mask) -> tuple[Plane, Plane]:
    """∇ along x and y: half the difference of the two neighbours; a neighbour outside counts as the pixel itself."""
    slopes = []
    for axis in (1, 0):
        values, known = np.moveaxis(plane, axis, 0), np.moveaxis(inside, axis, 0)
        step = np.diff(values, axis=0) * (known[1:] & known[:-1]) / 2
        slope = np.zeros_like(values)
        slope[1:] += step
        slope[:-1] += step
        slopes.append(np.ascontiguousarray(np.moveaxis(slope, 0, axis)))
    return slopes[0], slopes[1]


def moments_of(slopes: tuple[Plane, Plane], sigma: float) -> tuple[Plane, Plane, Plane]:
    """Anisotropy, polarity and the trace of M under a Gaussian window; see `texture`.

    E₊ - E₋ = n · (G * ∇L) is exact; E₊ + E₋ = G * |∇L · n| is interpolated between n of twelve directions.
    """
    gx, gy = slopes
    xx, xy, yy, mx, my = (blurred(plane, sigma) for plane in (gx * gx, gx * gy, gy * gy, gx, gy))
    gap = np.hypot(xx - yy, 2 * xy)
    theta = np.arctan2(2 * xy, xx - yy) / 2
    cosine, sine = np.cos(theta), np.sin(theta)
    turn = theta * np.float32(DIRECTIONS / math.pi)
    low = np.floor(turn)
    part = turn - low
    first = low.astype(np.int64) % DIRECTIONS
    either = np.zeros_like(gx)
    for k in range(DIRECTIONS):
        angle = k * math.pi / DIRECTIONS
        along = blurred(np.abs(gx * np.float32(math.cos(angle)) + gy * np.float32(math.sin(angle))), sigma)
        np.copyto(either, either + (1 - part) * along, where=first == k)
        np.copyto(either, either + part * along, where=first == (k - 1) % DIRECTIONS)
    polarity = np.minimum(_ratio(np.abs(mx * cosine + my * sine), either), 1)
    return np.minimum(_ratio(2 * gap, xx + yy + gap), 1), polarity, xx + yy


def blurred(plane: Plane, sigma: float) -> Plane:
    """The plane smoothed by a Gaussian window of 3σ; the value beyond the picture is 0."""
    side = 2 * math.ceil(3 * sigma) + 1
    smooth = cv2.GaussianBlur(plane, (side, side), sigma, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(smooth, dtype=np.float32)


def _ratio(above: Plane, below: Plane) -> Plane:
    # Below 1e-12 there is only the rounding error of a uniform colour.
    known = below > 1e-12
    return np.where(known, above / np.where(known, below, 1), 0).astype(np.float32)


def voted(labels: LabelMap) -> LabelMap:
    """The most frequent label in each 3 x 3 window; ties go to the pixel's own label; -1 stays."""
    votes = np.stack(
        [
            cv2.boxFilter((labels == k).astype(np.float32), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
            + 0.5 * (labels == k)
            for k in range(max(int(labels.max()), 0) + 1)
        ]
    )
    return np.where(labels >= 0, votes.argmax(axis=0), -1).astype(np.int32)
