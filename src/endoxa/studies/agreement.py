"""Agreement between raters: Krippendorff's alpha, kappas, intraclass correlations; also by query and by rater."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import polars as pl

from endoxa.errors import TableError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.policies import Metric, refuse_outside
from endoxa.statistics.bootstrap import BLOCK, TINY, blocks
from endoxa.studies.grades import UNJUDGED
from endoxa.tables import Bools, Floats, Ints, Opinions

Weights = Literal["none", "quadratic"]

RESAMPLES = 1000
MANY = 20  # with more different grades, grades are not categories
PAIRS = 1000  # up to this number of different grades, the ratio level compares every pair of them
NOTHING = 1e-150  # relative to the largest grade; its square does not underflow


@dataclass(frozen=True, eq=False)
class Ratings:
    """Grades in long form, sorted by unit and then rater; a unit is a (query, item) pair.

    rater, unit, grade  [rating]; rater and unit are indexes of `sources` and of the rows of `units` (query, item)
    undecided           [rater]: number of answers without a grade
    unjudged            number of grades below 0, which mean pooled but not judged, unless the scale is calibrated
    """

    rater: Ints
    unit: Ints
    grade: Floats
    sources: list[str]
    units: pl.DataFrame
    undecided: Ints
    unjudged: int


@dataclass(frozen=True, eq=False)
class Agreement:
    """The agreement of the raters. Undefined values are NaN, and `notes` gives the reason.

    alpha, lo, hi       Krippendorff's alpha at `level`; its bootstrap interval over units
    units, ratings      (query, item) pairs with two grades or more, and the grades they have
    raters, undecided   number of raters with a grade; number of answers without one
    kappa, quadratic    Cohen's kappa of two raters, without weights and with quadratic weights
    fleiss              Fleiss' kappa over units with the usual number of grades
    icc                 form, value, lo, hi; over the `complete` units that every rater graded
    per_rater           source, ratings, undecided, shared, without (alpha without this rater), change (without - alpha:
                        above 0 where the others agree better without this rater), correlation (with their mean)
    per_query           query, units, ratings, alpha
    """

    alpha: float
    lo: float
    hi: float
    level: Metric
    confidence: float
    units: int
    ratings: int
    raters: int
    undecided: int
    kappa: float
    quadratic: float
    fleiss: float
    icc: pl.DataFrame
    complete: int
    per_rater: pl.DataFrame
    per_query: pl.DataFrame
    notes: tuple[str, ...] = ()


def alpha(values: Floats, *, level: Metric = "interval") -> float:
    """Krippendorff's alpha of a [rater, unit] matrix; NaN is a missing grade.

    alpha = 1 - D_o/D_e. D_o is the mean of d² over pairs of grades within a unit (a unit with n grades has weight n);
    D_e is the mean over all pairs of grades of units with two or more. d² is
        nominal   1 where grades differ       interval  (x - y)²
        ordinal   (r_x - r_y)², r the mid-ranks of all grades; the same as Krippendorff's sum of counts between the two
        ratio     ((x - y)/(x + y))², for grades from 0 up
    1 is perfect agreement, 0 is chance, below 0 is worse than chance. NaN if all grades are equal or no unit has two.
    Time and memory are proportional to the number of grades, however many of them differ.
    Misleads: alpha depends on the spread of these units; if all units are alike, good raters get a low alpha.
    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011; Content Analysis, ch. 12.
    """
    _refuse_level(level)
    unit, x = _pairable(*_long(values))
    if level == "ratio" and len(x) and x.min() < 0:
        raise TableError(f"grade {x.min():g} is negative", remedy="the ratio level needs grades of at least 0")
    return long_alpha(unit, x, level)


def long_alpha(unit: Ints, x: Floats, level: Metric = "interval") -> float:
    """Krippendorff's alpha of grades in long form, sorted by unit. See alpha."""
    unit, x = _pairable(unit, x)
    if _flat(x):
        return math.nan
    return float(_alphas(unit, x, level, np.ones((1, int(unit[-1]) + 1)))[0])


def cohen(first: Floats, second: Floats, *, weights: Weights = "none") -> float:
    """Cohen's kappa of two raters who graded the same units; units without a grade of both (NaN) are dropped.

    none: (p_o - p_e)/(1 - p_e), the share of equal grades against that of independent raters with the same margins.
    quadratic: 1 - mean (x - y)² / (var x + var y + (mean x - mean y)²), distances in the grades' own numbers (which are
    those of the categories where grades are equally spaced). NaN if both gave only one and the same grade.
    Misleads: if one grade is frequent, kappa is low even at high agreement.
    Source: Cohen 1960, 1968; Fleiss and Cohen 1973.
    """
    if weights not in get_args(Weights):
        raise TextError(
            f"weights are none or quadratic, not {weights!r}", remedy=did_you_mean(weights, get_args(Weights))
        )
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise TableError(f"both raters need one grade per unit; the shapes are {x.shape} and {y.shape}")
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if not len(x) or _flat(np.concatenate([x, y])):
        return math.nan
    if weights == "quadratic":
        return 1 - float(((x - y) ** 2).mean() / (x.var() + y.var() + (x.mean() - y.mean()) ** 2))
    grades, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
    shares = [np.bincount(half, minlength=len(grades)) / len(x) for half in np.split(codes, 2)]
    chance = float(shares[0] @ shares[1])
    return (float((x == y).mean()) - chance) / (1 - chance)


def fleiss(values: Floats) -> tuple[float, int, int]:
    """Fleiss' kappa of a [rater, unit] matrix, its number of grades per unit, and the number of dropped units.

    kappa = (mean P_u - P_e)/(1 - P_e), P_u the share of equal pairs among the n grades of unit u, P_e the sum of the
    squared shares of the grades. All units need the same n: units that do not have the most frequent n (the larger of
    ties) are dropped. NaN where all grades are equal.
    Source: Fleiss, Psychological Bulletin 76 (1971).
    """
    return _fleiss(*_long(values))


def icc(values: Floats, *, confidence: float = 0.95) -> pl.DataFrame:
    """Intraclass correlations of a [rater, unit] matrix over its complete units: form, value, lo, hi.

    With the mean squares between units (B), between raters (J), within units (W) and of the residual (E), n units and
    k raters:
        ICC(1,1) = (B - W)/(B + (k-1)W)                    different raters for every unit
        ICC(2,1) = (B - E)/(B + (k-1)E + k(J - E)/n)       these raters are a sample; absolute agreement
        ICC(3,1) = (B - E)/(B + (k-1)E)                    only these raters; ignores constant shifts
    and ICC(·,k), the same for the mean of the k grades. Intervals from F; those of ICC(2,·) are approximate.
    NaN with fewer than two units or raters, and where a denominator is not above 0.
    Misleads: like alpha, it falls where units are alike; the intervals assume normal grades.
    Source: Shrout and Fleiss, Psychological Bulletin 86 (1979); McGraw and Wong, Psychological Methods 1 (1996).
    """
    refuse_outside("confidence", confidence)
    values = _matrix(values)
    return _icc(values[:, ~np.isnan(values).any(axis=0)].T, confidence)


def agreement(
    opinions: Opinions, *, level: Metric = "interval", confidence: float = 0.95, resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> Agreement:  # fmt: skip
    """Agreement of the sources over all pairs with two or more grades, in any role; filter the opinions beforehand.

    Undecided answers are left out and counted, and so are unjudged pairs. The interval is the central `confidence` part
    of alpha over resamples of units (`resamples` = 0 omits it). It covers other pairs under the *same* raters, and is
    too narrow if items of one query depend on each other.
    Source: alpha, cohen, fleiss, icc; for resampling units, Zapf et al., BMC Medical Research Methodology 16 (2016).
    """
    _refuse_level(level)
    refuse_outside("confidence", confidence)
    given = ratings(opinions)
    raters = len(np.unique(given.rater))
    unit, x = _pairable(given.unit, given.grade)
    notes = _why_undefined(given, x, level)
    sound = not notes
    value = long_alpha(unit, x, level) if sound else math.nan
    lo, hi = math.nan, math.nan
    if sound and resamples > 0:
        lo, hi, more = _interval(unit, x, level, confidence, resamples, rng)
        notes += more
    if given.unjudged:
        notes.append(f"{given.unjudged:,} grades are below 0, which means not judged; they are left out")
    if sound and raters < 3:
        notes.append("alpha without one rater needs at least three raters")
    kappa, quadratic, kappa_fleiss, more = _kappas(given)
    notes += more
    everyone = np.bincount(given.unit, minlength=given.units.height)[given.unit] == raters
    table = given.grade[everyone].reshape(-1, max(raters, 1))
    if sound and len(table) < 2:
        notes.append(f"intraclass correlations need at least two pairs that every rater graded; there are {len(table)}")
    return Agreement(
        alpha=value, lo=lo, hi=hi, level=level, confidence=confidence, units=int(unit[-1]) + 1 if len(unit) else 0,
        ratings=len(x), raters=raters, undecided=int(given.undecided.sum()), kappa=kappa, quadratic=quadratic,
        fleiss=kappa_fleiss, icc=_icc(table, confidence), complete=len(table),
        per_rater=_per_rater(given, value, level), per_query=_per_query(given, level, sound), notes=tuple(notes),
    )  # fmt: skip


def ratings(opinions: Opinions) -> Ratings:
    """The grades of a table of opinions in long form."""
    sources = opinions.sources
    numbers = pl.DataFrame({"source": pl.Series(sources, dtype=pl.String), "rater": np.arange(len(sources))})
    frame = opinions.frame.select("source", "query", "item", "grade", UNJUDGED.alias("unjudged")).join(
        numbers, on="source", how="left", maintain_order="left"
    )
    undecided = np.bincount(frame.filter(pl.col("grade").is_null())["rater"].to_numpy(), minlength=len(sources))
    kept = frame.filter(pl.col("grade").is_not_null() & ~pl.col("unjudged"))
    units = kept.select("query", "item").unique().sort("query", "item")
    kept = kept.join(units.with_row_index("unit"), on=["query", "item"], how="left").sort("unit", "rater")
    return Ratings(
        rater=kept["rater"].to_numpy(), unit=kept["unit"].cast(pl.Int64).to_numpy(), grade=kept["grade"].to_numpy(),
        sources=sources, units=units, undecided=undecided, unjudged=int(frame["unjudged"].sum()),
    )  # fmt: skip


def with_the_others(given: Ratings) -> tuple[Floats, Ints]:
    """Each rater's correlation with the mean of the others over shared units, and the number of these units.

    NaN with fewer than three such units (two always correlate by ±1) and where either side is constant.
    """
    count = np.bincount(given.unit, minlength=given.units.height)[given.unit]
    total = np.bincount(given.unit, weights=given.grade, minlength=given.units.height)[given.unit]
    many, shared = len(given.sources), count > 1
    rater, x = given.rater[shared], given.grade[shared]
    others = (total[shared] - x) / (count[shared] - 1)
    n = np.bincount(rater, minlength=many)

    def by_rater(values: Floats) -> Floats:
        return sums(rater, values, many)

    def centred(values: Floats) -> Floats:
        left = values - (by_rater(values) / np.maximum(n, 1))[rater]
        left[np.abs(left) <= TINY * np.abs(values)] = 0  # rounding, not data
        return left

    x, others = centred(x), centred(others)
    spread = np.sqrt(by_rater(x**2) * by_rater(others**2))
    defined = (spread > 0) & (n > 2)
    return np.where(defined, by_rater(x * others) / np.where(defined, spread, 1.0), np.nan), n


def _matrix(values: Floats) -> Floats:
    """A [rater, unit] matrix of finite numbers, or NaN where missing."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2:
        raise TableError(f"expected a matrix [rater, unit] with NaN for missing grades; the shape is {values.shape}")
    if np.isinf(values).any():
        raise TableError("a grade is infinite", remedy="give a number, or NaN where it is missing")
    return values


def _long(values: Floats) -> tuple[Ints, Floats]:
    """Unit and grade of each cell that is not missing, sorted by unit."""
    columns = _matrix(values).T
    unit, rater = np.nonzero(~np.isnan(columns))
    return unit, columns[unit, rater]


def _pairable(unit: Ints, x: Floats) -> tuple[Ints, Floats]:
    """The grades of units with two or more, and these units renumbered from 0; `unit` is sorted."""
    if not len(unit):
        return unit, x
    kept = np.bincount(unit)[unit] > 1
    unit, x = unit[kept], x[kept]
    return np.cumsum(np.diff(unit, prepend=unit[:1]) != 0), x


def _flat(x: Floats) -> bool:
    """Whether there are no grades, or all are equal up to rounding."""
    return not len(x) or bool(np.ptp(x) <= TINY * np.abs(x).max())


def _alphas(unit: Ints, x: Floats, level: Metric, weights: Floats) -> Floats:
    """alpha under each row of weights [resample, unit], how often each unit was drawn; NaN where all grades are equal.

    alpha = 1 - (n - 1) Σ_u w_u O_u / T, O_u the sum of d² over ordered pairs in u by n_u - 1, T that over all pairs.
    """
    sizes = np.bincount(unit)
    n = weights @ sizes
    if level == "interval":
        x = x - x.mean()
        observed = weights @ _within(unit, x, sizes)
        first, second = weights @ sums(unit, x), weights @ sums(unit, x**2)
        total = 2 * (n * second - first**2)
        least = TINY * n**2 * float(np.abs(x).max()) ** 2
        return _one_minus((n - 1) * observed, total, total > least)
    grades, code = np.unique(x, return_inverse=True)
    tables = np.stack([sums(code, row[unit], len(grades)) for row in weights])
    if level == "nominal":
        pairs, count = np.unique(unit * len(grades) + code, return_counts=True)
        equal = sums(pairs // len(grades), count.astype(np.float64) ** 2)
        observed = weights @ ((sizes**2 - equal) / (sizes - 1))
        total = n**2 - (tables**2).sum(axis=1)
    elif level == "ordinal":
        # the sum of counts between two grades, with half of both ends, is the difference of their mid-ranks
        ranks = np.cumsum(tables, axis=1) - tables / 2 - n[:, None] / 2
        observed = np.array([row @ _within(unit, r[code], sizes) for row, r in zip(weights, ranks, strict=True)])
        total = 2 * (n * (tables * ranks**2).sum(axis=1) - (tables * ranks).sum(axis=1) ** 2)
    else:
        observed = weights @ (_ratio_within(unit, x) / (sizes - 1))
        total = _ratio_total(grades, tables)
    return _one_minus((n - 1) * observed, total, (tables > 0).sum(axis=1) > 1)


def sums(at: Ints, values: Floats, size: int = 0) -> Floats:
    """Sum of the values at each place."""
    return np.asarray(np.bincount(at, weights=values, minlength=size), dtype=np.float64)


def _one_minus(part: Floats, whole: Floats, defined: Bools) -> Floats:
    """1 - part/whole where defined, else NaN."""
    return np.where(defined, 1 - part / np.where(defined, whole, 1), np.nan)


def _within(unit: Ints, x: Floats, sizes: Ints) -> Floats:
    """Sum of (x - y)² over the ordered pairs of each unit, by n - 1."""
    mean = sums(unit, x) / sizes
    return 2 * sizes * sums(unit, (x - mean[unit]) ** 2) / (sizes - 1)


def _ratio(x: Floats, y: Floats) -> Floats:
    """((x - y)/(x + y))², and 0 between two zeros."""
    whole = x + y
    return np.asarray(((x - y) / np.where(whole > 0, whole, 1)) ** 2)


def _ratio_within(unit: Ints, x: Floats) -> Floats:
    """Sum of the ratio d² over the ordered pairs of each unit: neighbours, then next but one, and so on."""
    found = np.zeros(int(unit[-1]) + 1)
    for lag in range(1, int(np.bincount(unit).max())):
        together = np.flatnonzero(unit[lag:] == unit[:-lag])
        found += sums(unit[together], 2 * _ratio(x[together], x[together + lag]), len(found))
    return found


def _ratio_total(grades: Floats, tables: Floats) -> Floats:
    """Sum of the ratio d² over all ordered pairs, for each table of counts [resample, grade].

    Few grades: pair by pair. Many: ((x - y)/(x + y))² = 1 - 4xy/(x + y)² and 1/(x + y)² = ∫ s exp(-s(x + y)) ds, so
    that the sum is n² - 4 ∫ s (Σ x exp(-s x))² ds, less the pairs of two zeros. With s = exp(u) the trapezoidal rule
    of step h errs by exp(-π²/h) only, 5e-15 of n²; too much where all grades are within a percent: then pair by pair.
    """
    found = np.zeros(len(tables))
    if len(grades) <= PAIRS or grades[0] > 0.99 * grades[-1]:
        for block in blocks(len(grades), BLOCK // len(grades)):
            found += ((tables @ _ratio(grades[:, None], grades[None, block])) * tables[:, block]).sum(axis=1)
        return found
    x = grades / grades[-1]
    h, least = 0.3, max(float(x[x > 0][0]), NOTHING)
    s = np.exp(np.arange(math.log(1e-9), math.log(40 / least), h))
    for block in blocks(len(s), BLOCK // len(x)):
        found += h * ((tables @ (x[:, None] * np.exp(-x[:, None] * s[block]))) ** 2 @ s[block] ** 2)
    return np.asarray(tables.sum(axis=1) ** 2 - tables[:, x == 0].sum(axis=1) ** 2 - 4 * found)


def _interval(
    unit: Ints, x: Floats, level: Metric, confidence: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float, list[str]]:
    """The central `confidence` part of alpha over resampled units, and notes on it."""
    units = int(unit[-1]) + 1
    if units < 2:
        return math.nan, math.nan, ["one pair has two grades; an interval needs more"]
    chances, found = np.full(units, 1 / units), np.empty(resamples)
    for block in blocks(resamples, BLOCK // max(units, len(np.unique(x)))):
        drawn = rng.multinomial(units, chances, size=block.stop - block.start)
        found[block] = _alphas(unit, x, level, drawn.astype(np.float64))
    defined = found[~np.isnan(found)]
    lost = resamples - len(defined)
    notes = [f"in {lost:,} of {resamples:,} resamples all grades were equal; they are left out"] if lost else []
    lo, hi = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2]) if len(defined) else (math.nan,) * 2
    return float(lo), float(hi), notes


def _why_undefined(given: Ratings, x: Floats, level: Metric) -> list[str]:
    """Why alpha is undefined: one sentence, or none."""
    if not len(given.grade):
        return [f"no grade was given ({int(given.undecided.sum()):,} answers are undecided); alpha is undefined"]
    if len(np.unique(given.rater)) < 2:
        return ["one rater gave grades; agreement needs two"]
    if not len(x):
        return ["no pair was graded by two raters; alpha is undefined"]
    if _flat(x):
        return [f"all {len(x):,} comparable grades are equal; alpha is undefined (0/0), however well the raters agree"]
    if level == "ratio" and x.min() < 0:
        return ["grades below 0 have no ratio; take the interval level"]
    return []


def _per_rater(given: Ratings, whole: float, level: Metric) -> pl.DataFrame:
    """One row per source: its grades, alpha without it, and its correlation with the mean of the others."""
    many = len(given.sources)
    without = np.full(many, np.nan)
    if not math.isnan(whole):
        for place in range(many):
            rest = given.rater != place
            without[place] = long_alpha(given.unit[rest], given.grade[rest], level)
    correlation, shared = with_the_others(given)
    columns = {
        "source": pl.Series(given.sources, dtype=pl.String), "ratings": np.bincount(given.rater, minlength=many),
        "undecided": given.undecided, "shared": shared, "without": without, "change": without - whole,
        "correlation": correlation,
    }  # fmt: skip
    return pl.DataFrame(columns)


def _per_query(given: Ratings, level: Metric, sound: bool) -> pl.DataFrame:
    """One row per query: pairs with two grades or more, their grades, alpha among them."""
    names = given.units["query"].unique(maintain_order=True)
    query = (given.units["query"].rle_id().to_numpy().astype(np.int64))[given.unit] if len(given.unit) else given.unit
    ends = np.searchsorted(query, np.arange(len(names) + 1))
    rows: list[tuple[int, int, float]] = []
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        unit, x = _pairable(given.unit[start:stop] - given.unit[start], given.grade[start:stop])
        rows.append((int(unit[-1]) + 1 if len(x) else 0, len(x), long_alpha(unit, x, level) if sound else math.nan))
    found = pl.DataFrame(rows, schema={"units": pl.Int64, "ratings": pl.Int64, "alpha": pl.Float64}, orient="row")
    return pl.DataFrame({"query": names}).hstack(found)


def _kappas(given: Ratings) -> tuple[float, float, float, list[str]]:
    """Cohen's kappa without and with quadratic weights, Fleiss' kappa, and notes on them."""
    notes: list[str] = []
    kappa = quadratic = math.nan
    names, rater = np.unique(given.rater, return_inverse=True)
    if len(names) == 2:
        both = np.full((2, given.units.height), np.nan)
        both[rater, given.unit] = given.grade
        kappa, quadratic = cohen(*both), cohen(*both, weights="quadratic")
    elif len(names) > 2:
        notes.append(f"Cohen's kappa needs exactly two raters; there are {len(names)}")
    found, size, dropped = _fleiss(given.unit, given.grade)
    if dropped:
        notes.append(f"Fleiss' kappa uses pairs with {size} grades; {dropped:,} pairs with another number are left out")
    different = len(np.unique(given.grade))
    if different > MANY:
        notes.append(f"{different:,} different grades occur; unweighted kappas count only equal grades as agreement")
    return kappa, quadratic, found, notes


def _fleiss(unit: Ints, x: Floats) -> tuple[float, int, int]:
    """Fleiss' kappa in long form, the number of grades per unit, units dropped."""
    sizes = np.bincount(unit) if len(unit) else np.zeros(1, dtype=np.int64)
    often = np.bincount(sizes[sizes > 1])
    if not len(often):
        return math.nan, 0, int((sizes > 0).sum())
    size = len(often) - 1 - int(often[::-1].argmax())
    dropped = int(((sizes > 0) & (sizes != size)).sum())
    kept = sizes[unit] == size
    unit, x = unit[kept], x[kept]
    if _flat(x):
        return math.nan, size, dropped
    grades, code = np.unique(x, return_inverse=True)
    pairs = np.unique(unit * len(grades) + code, return_counts=True)[1].astype(np.float64)
    equal = (float((pairs**2).sum()) - len(x)) / (len(x) * (size - 1))
    chance = float(((np.bincount(code) / len(x)) ** 2).sum())
    return (equal - chance) / (1 - chance), size, dropped


def _icc(table: Floats, confidence: float) -> pl.DataFrame:
    """Intraclass correlations of a complete [unit, rater] table. The names are those of Shrout and Fleiss."""
    from scipy.stats import f

    forms = ["ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)"]
    n, k = table.shape
    rows = np.full((6, 3), np.nan)
    if n > 1 and k > 1 and not _flat(table):
        table = table - table.mean()
        between = k * float((table.mean(axis=1) ** 2).sum())
        raters = n * float((table.mean(axis=0) ** 2).sum())
        whole = float((table**2).sum())
        left = whole - between - raters
        # a remainder of equal grades by rounding counts as 0
        between, raters, left = (part if part > TINY * whole else 0.0 for part in (between, raters, left))
        B, J = between / (n - 1), raters / (k - 1)
        E, W = left / ((n - 1) * (k - 1)), (raters + left) / (n * (k - 1))
        upper = (1 + confidence) / 2
        rows[0] = _single(B, W, k, f.ppf(upper, n - 1, n * (k - 1)), f.ppf(upper, n * (k - 1), n - 1))
        rows[2] = _single(B, E, k, f.ppf(upper, n - 1, (n - 1) * (k - 1)), f.ppf(upper, (n - 1) * (k - 1), n - 1))
        rho = _share(B - E, B + (k - 1) * E + k * (J - E) / n)
        rows[1] = rho, math.nan, math.nan
        a, b = k * rho * J, (n * (1 + (k - 1) * rho) - k * rho) * E
        if (n - 1) * a**2 + b**2 > 0:
            degrees = (k - 1) * (n - 1) * (a + b) ** 2 / ((n - 1) * a**2 + b**2)
            rest = k * J + (k * n - k - n) * E
            low, high = float(f.ppf(upper, n - 1, degrees)), float(f.ppf(upper, degrees, n - 1))
            rows[1, 1:] = _share(n * (B - low * E), low * rest + n * B), _share(n * (high * B - E), rest + n * high * B)
        elif J == E == 0:
            rows[1, 1:] = 1, 1
        steps = 1 + (k - 1) * rows[:3]
        rows[3:] = np.where(steps > TINY, k * rows[:3] / np.where(steps > TINY, steps, 1), np.nan)
    return pl.DataFrame({"form": forms, "value": rows[:, 0], "lo": rows[:, 1], "hi": rows[:, 2]})


def _single(B: float, E: float, k: int, low: float, high: float) -> list[float]:
    """(B - E)/(B + (k - 1)E), and the same where F = B/E is divided by `low` and multiplied by `high`."""
    return [_share(b - e, b + (k - 1) * e) for b, e in ((B, E), (B, low * E), (high * B, E))]


def _share(part: float, whole: float) -> float:
    """part/whole, NaN where the whole is not above 0."""
    return part / whole if whole > 0 else math.nan


def _refuse_level(level: str) -> None:
    if level not in get_args(Metric):
        raise TextError(
            f"levels are nominal, ordinal, interval and ratio, not {level!r}",
            remedy=did_you_mean(level, get_args(Metric)),
        )
