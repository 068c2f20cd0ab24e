"""Mixtures of Gaussians over the rows of images, with or without a table of words: ROMM and RWMM.

    p(b|l) = N(mean_l, diag variance_l)      a row of features b, given concept l
    p(w|l)                                   a word, given concept l
    L = Σ_d [ kappa Σ_b log Σ_l p(l)p(b|l) + Σ_w log Σ_b (1/R_d) Σ_l p(w|l)p(l)p(b|l) ] + eta Σ_l,w log p(w|l)

over images d with R_d rows (regions) and a set of words; without words it is an ordinary diagonal mixture. A row of
weight v counts as v equal rows. L is a composite likelihood, which gives no standard errors.
Source: Barnard et al. 2003, 2005 (ROMM, RWMM); docs/methods/pictures.md, Region mixtures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from endoxa.errors import TableError, TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.tables import Floats, Ints

Correspondence = Literal["pair", "average", "max"]
Precision = Literal["single", "double"]
Matrix = npt.NDArray[Any]

ENTRIES = 2**19  # rows × components of a block: 2 MB of float32, which fit into the cache
LEAST = 1e-300
RESEEDINGS = 5  # rounds per start; an outlier may starve its component again and again, without end
SAMPLED = 20  # rows per component from which starting points are drawn
SINGLE = 1e-4  # smallest floor for single precision
MONOTONE = 1e-6  # relative decrease of L above which double precision is needed


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A mixture of L concepts over F features and V words (V is 0 without words).

    p_l (L), means and variances (L × F), words p(w|l) (L × V)
    objective  L of these parameters
    history    L before every iteration, of the start that was kept
    reseeded   places in history where a starved component had just been put elsewhere: only there L may fall
    """

    p_l: Floats
    means: Floats
    variances: Floats
    words: Floats
    objective: float = math.nan
    history: Floats = field(default_factory=lambda: np.zeros(0))
    reseeded: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    converged: bool = False


@dataclass(frozen=True)
class Rules:
    """Settings of the fit of a mixture.

    correspondence  which row a word belongs to. pair: all rows of its image, by p(w,b), the exact EM of L.
                    average: the word is drawn from the mean of p(l|b). max: the word belongs to the row with the
                    greatest p(w,b). The last two are heuristics, and under average L may fall.
    kappa, eta      weight of the rows beside the words; words added to every cell of the table (Dirichlet)
    floor           least variance of a component, as a share of the feature's variance over all rows
    iterations      at most; tolerance: stop when L changes by less than this share of itself
    precision       single: matrices of float32, sums of float64; EM continues in double if L falls by more than 1e-6 of
                    itself, and is double from the start if the floor is below 1e-4
    """

    correspondence: Correspondence = "pair"
    kappa: float = 1.0
    eta: float = 0.01
    floor: float = 1e-3
    iterations: int = 100
    tolerance: float = 1e-6
    precision: Precision = "single"

    def __post_init__(self) -> None:
        refuse_unknown("correspondence", self.correspondence, get_args(Correspondence), listed=True)
        refuse_unknown("precision", self.precision, get_args(Precision), listed=True)
        for name in ("kappa", "floor"):
            if not 0 < getattr(self, name) < math.inf:
                raise TextError(f"{name} is {getattr(self, name)}", remedy="expected a number above 0")
        for name in ("eta", "tolerance"):
            if not 0 <= getattr(self, name) < math.inf:
                raise TextError(f"{name} is {getattr(self, name)}", remedy="expected a number of at least 0")
        if self.iterations < 1:
            raise TextError(f"iterations is {self.iterations}", remedy="expected at least 1")

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The type of the large matrices. With a very low floor, single precision cannot distinguish rows."""
        return np.float32 if self.precision == "single" and self.floor >= SINGLE else np.float64


@dataclass(frozen=True, eq=False)
class Images:
    """The rows of each image, and its words as numbers from 0 to vocabulary - 1, image by image."""

    counts: Ints
    words: Ints
    word_counts: Ints
    vocabulary: int

    @classmethod
    def of(cls, counts: Sequence[int] | Ints, words: Sequence[Sequence[int]], vocabulary: int) -> Images:
        """From one list of word numbers per image."""
        if len(counts) != len(words):
            raise TableError(
                f"{len(counts)} images have rows, but {len(words)} have lists of words", remedy="give one of each"
            )
        flat = np.array([word for image in words for word in image], dtype=np.int64)
        if len(flat) and not (flat.min() >= 0 and flat.max() < vocabulary):
            raise TableError(f"words are numbers from 0 to {vocabulary - 1}, not {flat.min()} to {flat.max()}")
        lengths = np.array([len(image) for image in words], dtype=np.int64)
        return cls(np.asarray(counts, dtype=np.int64), flat, lengths, vocabulary)


def fit(
    rows: Matrix, components: int, images: Images | None = None, *, rng: np.random.Generator,
    rules: Rules | None = None, weights: Floats | None = None, restarts: int = 5,
) -> MixtureModel:  # fmt: skip
    """The best of several EM runs from k-means++ starts, by L.

    A component with less than one row (or a tenth of an equal share, if that is less) is moved to the row with the
    lowest density. Time is O(rows · L · (F + words per image)) per iteration; memory is a few copies of the rows.
    Misleads: more components always raise L; it does not tell how many there are.
    """
    rules = rules or Rules()
    data = _laid_out(rows, images, weights, rules)
    if not 1 <= components <= len(data.weights):
        raise TableError(
            f"{components} components for {len(data.weights)} rows of weight above 0",
            remedy="expected at least 1 and no more components than rows",
        )
    if restarts < 1:
        raise TextError(f"restarts is {restarts}", remedy="expected at least 1")
    runs = (_run(_start(data, components, rules, rng), data, rules) for _ in range(restarts))
    return data.original(max(runs, key=lambda model: model.objective))


def refine(
    start: MixtureModel, rows: Matrix, images: Images | None = None, *, rules: Rules | None = None,
    weights: Floats | None = None,
) -> MixtureModel:  # fmt: skip
    """EM from given parameters."""
    rules = rules or Rules()
    data = _laid_out(rows, images, weights, rules)
    if start.means.shape[1] != len(data.centre) or start.words.shape[1] != data.vocabulary:
        raise TableError(
            f"the start has {start.means.shape[1]} features and {start.words.shape[1]} words, the rows have "
            f"{len(data.centre)} and {data.vocabulary}"
        )
    return data.original(_run(data.standard(start), data, rules))


def log_components(
    model: MixtureModel, rows: Matrix, *, prior: bool = False, precision: Precision = "double"
) -> Matrix:
    """log p(b|l), or with `prior` log p(l)p(b|l): rows × components, the whole matrix."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != model.means.shape[1]:
        raise TableError(
            f"rows have the shape {rows.shape}", remedy=f"the mixture expects {model.means.shape[1]} features"
        )
    # Centred and scaled by the whole mixture: far from 0 the squares would lose all digits.
    centre = model.p_l @ model.means
    scale = np.sqrt(model.p_l @ (model.variances + (model.means - centre) ** 2))
    inside = replace(model, means=(model.means - centre) / scale, variances=model.variances / scale**2)
    dtype: type[np.floating[Any]] = np.float32 if precision == "single" else np.float64
    coefficients = _coefficients_of(inside, np.float64, prior=prior)
    coefficients[-1] -= np.log(scale).sum()
    return np.asarray(_table_of(rows, centre, scale, dtype) @ coefficients.astype(dtype))


def log_density(model: MixtureModel, rows: Matrix, *, precision: Precision = "double") -> Floats:
    """log p(b) = log Σ_l p(l) p(b|l) of each row."""
    return _gathered(model, rows, precision, lambda greatest, _, totals: greatest + np.log(totals))


def responsibilities(model: MixtureModel, rows: Matrix, *, precision: Precision = "double") -> Floats:
    """p(l|b) = p(l)p(b|l) / p(b): rows × components."""
    return _gathered(model, rows, precision, lambda _, shares, totals: shares / totals[:, None])


def _gathered(
    model: MixtureModel, rows: Matrix, precision: Precision, what: Callable[[Floats, Matrix, Floats], Matrix]
) -> Floats:
    step = max(1, ENTRIES // len(model.p_l))
    blocks = (rows[k : k + step] for k in range(0, max(len(rows), 1), step))
    parts = [what(*_exponentials(log_components(model, b, prior=True, precision=precision))) for b in blocks]
    return np.concatenate(parts).astype(np.float64)


def concepts(
    model: MixtureModel, rows: Matrix, counts: Ints, *, lam: float = 0.1, precision: Precision = "double"
) -> Floats:
    """p(l|d) = (1 - lam) mean_b p(l|b) + lam p(l): images × components; NaN for an image without rows."""
    if counts.sum() != len(rows):
        raise TableError(f"images with {counts.sum()} rows do not fit {len(rows)} rows")
    found, offsets = np.full((len(counts), len(model.p_l)), np.nan), _ends_of(counts)
    for first, end in _blocks_of(offsets, len(model.p_l)):
        filled = first + np.flatnonzero(counts[first:end])
        if len(filled):
            shares = responsibilities(model, rows[offsets[first] : offsets[end]], precision=precision)
            means = np.add.reduceat(shares, offsets[filled] - offsets[first], axis=0) / counts[filled, None]
            found[filled] = (1 - lam) * means + lam * model.p_l
    return found


def word_chances(model: MixtureModel, rows: Matrix, counts: Ints, *, precision: Precision = "double") -> Floats:
    """p(w|d) = mean_b Σ_l p(w|l) p(l|b): images × words; NaN for an image without rows."""
    return np.asarray(concepts(model, rows, counts, lam=0.0, precision=precision) @ model.words)


def _ends_of(counts: Ints) -> Ints:
    """The offsets of groups of these lengths, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _table_of(x: Matrix, centre: Floats, scale: Floats, dtype: type[np.floating[Any]]) -> Matrix:
    """Rows standardised: their squares, their values, and a column of ones."""
    features = x.shape[1]
    table = np.ones((len(x), 2 * features + 1), dtype=dtype)
    table[:, features:-1] = (x - centre) / scale
    np.square(table[:, features:-1], out=table[:, :features])
    return table


def _coefficients_of(model: MixtureModel, dtype: type[np.floating[Any]], *, prior: bool) -> Matrix:
    """(2F + 1) × L: a row of squares, values and 1 times it is log p(b|l), with `prior` log p(l)p(b|l)."""
    inverse = 1 / model.variances
    constant = -0.5 * (np.log(2 * np.pi * model.variances) + model.means**2 * inverse).sum(1)
    if prior:
        constant = constant + np.log(np.maximum(model.p_l, LEAST))
    return np.concatenate([-0.5 * inverse, model.means * inverse, constant[:, None]], axis=1).T.astype(dtype)


def _exponentials(logs: Matrix) -> tuple[Floats, Matrix, Floats]:
    """The greatest of each row, exp(row - greatest) in place, and the sums of that.

    Values below e^-80 of the greatest (e^-600 in double precision) are raised to it, because subnormals are slow.
    """
    greatest = logs.max(axis=1)
    np.subtract(logs, greatest[:, None], out=logs)
    np.maximum(logs, logs.dtype.type(-80 if logs.dtype == np.float32 else -600), out=logs)
    np.exp(logs, out=logs)
    return greatest.astype(np.float64), logs, logs.sum(axis=1).astype(np.float64)


def _blocks_of(offsets: Ints, components: int) -> Iterator[tuple[int, int]]:
    """Blocks of whole images, each with about ENTRIES rows × components, or a single larger image."""
    size, first = max(1, ENTRIES // components), 0
    while first < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
        end = max(end, first + 1)
        yield first, end
        first = end


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of images in the E-step: exp(log joint - greatest), and the words."""

    shares: Matrix
    greatest: Floats
    totals: Floats
    weights: Floats
    offsets: Ints
    words: Ints
    word_offsets: Ints


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows arranged for the matrix products: squares, standardised values and a column of ones."""

    table: Matrix  # rows × (F squares, F values, 1)
    weights: Floats
    centre: Floats
    scale: Floats
    offsets: Ints  # the first row of each image, and the end
    words: Ints
    word_offsets: Ints
    vocabulary: int
    rules: Rules

    def doubled(self, rules: Rules) -> _Data:
        """The same in double precision."""
        features = len(self.centre)
        table = self.table.astype(np.float64)
        np.square(table[:, features:-1], out=table[:, :features])
        return replace(self, table=table, rules=rules)

    def standard(self, model: MixtureModel) -> MixtureModel:
        return replace(model, means=(model.means - self.centre) / self.scale, variances=model.variances / self.scale**2)

    def original(self, model: MixtureModel) -> MixtureModel:
        """The model in the units of the given rows; densities, and therefore L, change accordingly."""
        densities = self.rules.kappa * self.weights.sum()
        densities += len(self.words) if self.rules.correspondence != "average" else 0
        shift = densities * np.log(self.scale).sum()
        return replace(
            model, means=model.means * self.scale + self.centre, variances=model.variances * self.scale**2,
            objective=model.objective - shift, history=model.history - shift,
        )  # fmt: skip


def _laid_out(rows: Matrix, images: Images | None, weights: Floats | None, rules: Rules) -> _Data:
    x = np.asarray(rows)
    if x.ndim != 2 or not x.size:
        raise TableError(f"rows have the shape {x.shape}", remedy="expected at least one row of at least one feature")
    if not np.isfinite(x).all():
        place = int(np.flatnonzero(~np.isfinite(x).all(1))[0])
        raise TableError(
            f"row {place} of the features holds a value that is not finite", remedy="mend it or leave it out"
        )
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (len(x),) or not (np.isfinite(w).all() and (w >= 0).all() and (w > 0).any()):
        raise TableError(f"{len(x)} rows need as many weights, finite, at least 0 and not all 0")
    if images is None:
        nothing = np.zeros(0, np.int64)
        images = Images(np.ones(len(x), np.int64), nothing, np.zeros(len(x), np.int64), 0)
    counts, words, word_counts = images.counts, images.words, images.word_counts
    if counts.sum() != len(x) or len(counts) != len(word_counts) or word_counts.sum() != len(words):
        raise TableError(f"images with {counts.sum()} rows and {len(words)} words do not fit {len(x)} rows")
    # Rows without weight (or too little for float32) are ignored, and so are the words of images without rows.
    keep = w > 1e-12 * w.max()
    left = np.bincount(np.repeat(np.arange(len(counts)), counts)[keep], minlength=len(counts)).astype(np.int64)
    words = words[np.repeat(left > 0, word_counts)]
    counts, word_counts = left[left > 0], word_counts[left > 0]
    x, w = x[keep], w[keep]
    centre = np.average(x, axis=0, weights=w).astype(np.float64)
    scale = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=w))
    # A constant feature has no information; a scale of 1 gives it the same positive variance in every component.
    scale = np.where(scale > 1e-9 * np.maximum(np.abs(centre), 1e-9), scale, 1.0)
    table = _table_of(x, centre, scale, rules.dtype)
    return _Data(table, w, centre, scale, _ends_of(counts), words, _ends_of(word_counts), images.vocabulary, rules)


def _expect(model: MixtureModel, data: _Data) -> tuple[float, Floats, Floats, Floats]:
    """The E-step, block by block: L, sums over rows (L × (2F + 1)) and words (V × L), and log p(b) of each row.

    With joint_bl = p(l)p(b|l), S_dl = Σ_b joint_bl, Z_wd = Σ_l p(w|l) S_dl and c_dl = Σ_w p(w|l)/Z_wd, the share of
    a row in all words of its image is Σ_w tau_wbl = joint_bl c_dl. joint is scaled by the greatest of each row and then
    of each image, so that one exp per entry is enough.
    """
    rules, dtype = data.rules, data.rules.dtype
    coefficients = _coefficients_of(model, dtype, prior=True)
    table = np.ascontiguousarray(model.words.T, dtype=dtype)
    sums = np.zeros((len(model.p_l), data.table.shape[1]))
    words = np.zeros((data.vocabulary, len(model.p_l)))
    explained = np.empty(len(data.weights))
    objective = rules.eta * float(np.log(np.maximum(model.words, LEAST)).sum()) if rules.eta else 0.0
    for first, end in _blocks_of(data.offsets, len(model.p_l)):
        at = slice(data.offsets[first], data.offsets[end])
        rows, w = data.table[at], data.weights[at]
        greatest, shares, totals = _exponentials(rows @ coefficients)
        explained[at] = greatest + np.log(totals)
        objective += rules.kappa * float(w @ explained[at])
        own = (rules.kappa * w / totals).astype(dtype)[:, None]
        said = slice(data.word_offsets[first], data.word_offsets[end])
        if said.stop > said.start:
            block = _Block(
                shares, greatest, totals, w, data.offsets[first : end + 1] - data.offsets[first],
                data.words[said], data.word_offsets[first : end + 1] - data.word_offsets[first],
            )  # fmt: skip
            worth, factor = _spread(block, table, words, rules.correspondence)
            objective += worth
            factor += own
            shares *= factor
        else:
            shares *= own
        sums += shares.T @ rows
    return objective, sums, words * model.words.T, explained


def _spread(block: _Block, table: Matrix, sums: Floats, correspondence: Correspondence) -> tuple[float, Matrix]:
    """Σ log p(w|d) of a block, and the factors of shares that give Σ_w tau. Adds Σ_d S_dl / Z_wd to the sums."""
    from scipy.sparse import csr_array

    dtype = table.dtype
    images, rows = len(block.offsets) - 1, len(block.weights)
    image = np.repeat(np.arange(images), np.diff(block.offsets))  # of each row
    unit = np.repeat(np.arange(images), np.diff(block.word_offsets))  # of each word
    logs = np.log(block.weights) - np.log(np.add.reduceat(block.weights, block.offsets[:-1]))[image]
    if correspondence == "average":
        logs, reach = logs - np.log(block.totals), np.zeros(images)
    else:
        if correspondence == "max":  # the weight of a row must not matter here
            logs = logs - np.log(block.weights)
        logs = logs + block.greatest
        reach = np.maximum.reduceat(logs, block.offsets[:-1])
        logs = logs - reach[image]
    scale = np.exp(np.maximum(logs, -600)).astype(dtype)
    scale[logs < -60] = 0
    above = reach[unit]
    if correspondence == "max":
        unit = _best(block, table, scale, unit)
        summed, image = block.shares * scale[:, None], np.arange(rows)
    else:
        summed = csr_array((scale, np.arange(rows), block.offsets), shape=(images, rows)) @ block.shares
    chance = np.maximum(np.einsum("ol,ol->o", summed[unit], table[block.words]), np.finfo(dtype).tiny)
    distinct, word = np.unique(block.words, return_inverse=True)
    tie = csr_array((1 / chance, (word, unit)), shape=(len(distinct), len(summed)))
    sums[distinct] += tie @ summed
    factor = (tie.T.tocsr() @ table[distinct])[image]
    factor *= scale[:, None]
    return float((np.log(chance.astype(np.float64)) + above).sum()), factor


def _best(block: _Block, table: Matrix, scale: Matrix, unit: Ints) -> Ints:
    """The row with the greatest p(w,b) for each word; the first in ties."""
    lengths = np.diff(block.offsets)[unit]
    ends = _ends_of(lengths)
    row = np.arange(ends[-1]) + np.repeat(block.offsets[unit] - ends[:-1], lengths)
    word = np.repeat(block.words, lengths)
    fits = np.empty(len(row), table.dtype)
    step = max(1, ENTRIES // table.shape[1])
    for at in (slice(k, k + step) for k in range(0, len(row), step)):
        fits[at] = np.einsum("pl,pl->p", block.shares[row[at]], table[word[at]]) * scale[row[at]]
    order = np.lexsort((row, -fits, np.repeat(np.arange(len(unit)), lengths)))
    return np.asarray(row[order[ends[:-1]]])


def _maximise(model: MixtureModel, sums: Floats, words: Floats, rules: Rules) -> MixtureModel:
    """The M-step. The floor is the best of the allowed variances."""
    features = model.means.shape[1]
    mass = sums[:, -1]
    held = np.maximum(mass, LEAST)[:, None]
    means = sums[:, features:-1] / held
    variances = np.maximum(sums[:, :features] / held - means**2, rules.floor)
    table = model.words
    if len(words):
        table = words.T + rules.eta
        table = table / np.maximum(table.sum(1, keepdims=True), LEAST)
    return MixtureModel(mass / mass.sum(), means, variances, table)


def _run(model: MixtureModel, data: _Data, rules: Rules) -> MixtureModel:
    """EM in standardised units; continued in double precision if L decreases in single precision."""
    found = _climb(model, data, rules)
    if rules.dtype == np.float64 or rules.correspondence == "average" or _fall(found) <= MONOTONE:
        return found
    exact = replace(rules, precision="double")
    return _climb(found, data.doubled(exact), exact)


def _fall(model: MixtureModel) -> float:
    """The greatest relative decrease of L between iterations, apart from those in which a component was moved."""
    steps = np.delete(np.arange(1, len(model.history)), model.reseeded - 1)
    before, after = model.history[steps - 1], model.history[steps]
    return float(np.max((before - after) / np.maximum(np.abs(after), LEAST), initial=0.0))


def _climb(model: MixtureModel, data: _Data, rules: Rules) -> MixtureModel:
    """The best parameters of all iterations, with the whole history."""
    history: list[float] = []
    reseeded: list[int] = []
    best, converged = replace(model, objective=-math.inf), False
    scale = rules.kappa * float(data.weights.sum())
    for iteration in range(rules.iterations + 1):
        objective, sums, words, explained = _expect(model, data)
        history.append(objective)
        if objective >= best.objective:
            best = replace(model, objective=objective)
        settled = len(history) > 1 and abs(history[-1] - history[-2]) <= rules.tolerance * max(abs(history[-1]), scale)
        converged = settled and iteration not in reseeded
        if converged or iteration == rules.iterations:
            break
        model, mass = _maximise(model, sums, words, rules), sums[:, -1]
        starved = np.flatnonzero(mass < min(1.0, 0.1 * mass.sum() / len(mass)))
        if len(starved) and len(reseeded) < RESEEDINGS and iteration < rules.iterations - 1:
            model = _reseeded(model, starved, data, explained)
            reseeded.append(iteration + 1)
    return replace(
        best, history=np.array(history), reseeded=np.array(reseeded, dtype=np.int64), converged=bool(converged)
    )


def _reseeded(model: MixtureModel, starved: Ints, data: _Data, explained: Floats) -> MixtureModel:
    """Move starved components to the rows of lowest density, with the variance of all rows and uniform words."""
    features = model.means.shape[1]
    p_l, means, variances, words = (part.copy() for part in (model.p_l, model.means, model.variances, model.words))
    worst = np.argsort(explained, kind="stable")[: len(starved)]
    means[starved] = data.table[worst, features:-1]
    variances[starved] = 1.0
    p_l[starved] = 1 / len(p_l)
    if words.size:
        words[starved] = model.p_l @ model.words
    return MixtureModel(p_l / p_l.sum(), means, variances, words)


def _start(data: _Data, components: int, rules: Rules, rng: np.random.Generator) -> MixtureModel:
    """k-means++ centres from SAMPLED rows per component, every row assigned to the nearest, the moments of the groups.

    One extra row with the variance of all rows keeps the variance of small groups above the floor.
    """
    features = len(data.centre)
    x = data.table[:, features:-1]
    size = min(len(x), SAMPLED * components)
    drawn = rng.choice(len(x), size, replace=False, p=data.weights / data.weights.sum()) if size < len(x) else None
    pool = x if drawn is None else x[drawn]  # drawn by weight already
    chances = data.weights if drawn is None else np.ones(size)
    squares = np.square(pool, dtype=np.float64).sum(1)
    far, seeds = np.full(len(pool), np.inf), np.empty(components, np.int64)
    for k in range(components):
        odds = chances * (far if k else 1.0)
        odds = odds if odds.sum() > 0 else chances
        seeds[k] = np.searchsorted(np.cumsum(odds), rng.random() * odds.sum(), side="right").clip(0, len(pool) - 1)
        point = pool[seeds[k]]
        far = np.minimum(far, np.maximum(squares - 2 * (pool @ point) + squares[seeds[k]], 0))
        far[seeds[k]] = 0
    points = pool[seeds]
    half = 0.5 * np.square(points, dtype=np.float64).sum(1).astype(x.dtype)
    sums = np.zeros((components, data.table.shape[1]))
    words = np.zeros((data.vocabulary, components))
    for first, end in _blocks_of(data.offsets, components):
        at = slice(data.offsets[first], data.offsets[end])
        w, nearest = data.weights[at], np.argmax(x[at] @ points.T - half, axis=1)
        gathered = np.zeros((at.stop - at.start, components), x.dtype)
        gathered[np.arange(len(nearest)), nearest] = w
        sums += gathered.T @ data.table[at]
        said = slice(data.word_offsets[first], data.word_offsets[end])
        if said.stop > said.start:
            each = np.add.reduceat(gathered, data.offsets[first:end] - at.start, axis=0)
            each /= each.sum(1, keepdims=True)
            np.add.at(words, data.words[said], np.repeat(each, np.diff(data.word_offsets[first : end + 1]), axis=0))
    mass = sums[:, -1:]
    means = sums[:, features:-1] / np.maximum(mass, LEAST)
    means = np.where(mass > 0, means, points)
    inner = np.maximum(sums[:, :features] - mass * means**2, 0)
    variances = np.maximum((inner + 1) / (mass + 1), rules.floor)
    # Every word keeps a positive probability everywhere: EM never leaves 0.
    prior = (words.sum(1) + 1) / (words.sum() + len(words)) if len(words) else np.zeros(0)
    share = words.T + prior + rules.eta
    table = share / share.sum(1, keepdims=True) if len(words) else np.zeros((components, 0))
    return MixtureModel((mass[:, 0] + 1) / (mass.sum() + components), means, variances, table)
