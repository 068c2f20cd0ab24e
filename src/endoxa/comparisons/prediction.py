"""Prediction-powered estimates: a belief about every pair, corrected by labels of a few randomly drawn pairs.

The belief gives f for every item, labels give y for items drawn with known probabilities π. The sum of y over all
items is estimated by

    Σ w (λ f) + Σ over labelled w (y - λ f) / π

which is unbiased for any f, even a wrong one: a good belief only makes the interval shorter. λ = 0 ignores the belief
(Horvitz and Thompson), λ = 1 takes it whole, and the λ in between with the least variance is found from the labels.
Only sums over items, and ratios of such sums, can be estimated so; of P@k, DCG@k and SetP the mean over queries, of
recall and F the ratio of sums over all queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.reliability import chances, decided
from endoxa.errors import JoinError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.measures.closed_forms import SumForm
from endoxa.measures.grammar import Measure, parse
from endoxa.measures.judgments import refuse_all_relevant
from endoxa.measures.registry import REGISTRY
from endoxa.notes import Note, note
from endoxa.policies import refuse_outside
from endoxa.statistics.bootstrap import BLOCK, blocks
from endoxa.tables import Belief, Bools, Floats, Ints, Opinions, Run, require

LABELS, QUERIES = 100, 10  # fewer have no normal interval
BEARING = 10  # labels that must bear on a row before its spread is estimated from them
FEW = 30  # below it a note warns
EVEN = 0.6  # Kish's effective share of the labels, below which propensities are too uneven


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error, its interval, and the λ behind it."""

    estimate: float
    se: float
    lo: float
    hi: float
    lam: float


@dataclass(frozen=True)
class Estimates:
    """What labels and belief together say about every system and pair.

    frame   system, measure, estimate, se, lo, hi (these queries as they are), se_queries, lo_queries, hi_queries
            (queries of this kind), lam, labels (that bear on the row), outside (share of its items out of reach)
    pairs   measure, system, baseline, difference, and the same columns but outside; difference = system - baseline
    """

    frame: pl.DataFrame
    pairs: pl.DataFrame
    notes: tuple[Note, ...] = ()

    def best_first(self, *, pairs: bool = False) -> pl.DataFrame:
        """The rows of each measure (of the pairs of systems), the largest first and those without a value last."""
        rows, column = (self.pairs, "difference") if pairs else (self.frame, "estimate")
        order = rows["measure"].unique(maintain_order=True).to_list()
        place = rows["measure"].replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
        return rows.sort(place, rows[column].fill_nan(None) * -1, nulls_last=True, maintain_order=True)


def is_estimable(measure: str) -> bool:
    """Whether a sample of labels gives a valid interval for the measure."""
    m = parse(measure)
    return m.sum_form is not None and m.rel == 1


def drawn_from(run: Run, belief: Belief, labels: Opinions) -> pl.DataFrame | None:
    """The pairs that could be drawn, where the labels were chosen by `next` and say how deep; otherwise None.

    These are the pairs that any run has in its first items, down to that depth, and that the belief mentions, together
    with what was labelled.
    """
    depth = labels.frame.filter(pl.col("selected_by") == "next")["draw_depth"].max()
    if depth is None:
        return None
    pairs = ["query", "item"]
    tops = run.frame.filter(pl.col("rank") <= depth).select(pairs)
    mentioned = tops.unique().join(belief.frame.select(pairs).unique(), on=pairs, how="semi")
    return pl.concat([mentioned, labels.frame.select(pairs)]).unique().sort(pairs)


def ppi_mean(
    y: Floats, f: Floats, f_rest: Floats, *, lam: float | None = None, ddof: int = 1, confidence: float = 0.95
) -> Mean:
    """Mean of y over a population, from n items with label y and prediction f, and N more with prediction only.

    θ = λ mean(f_rest) + mean(y - λ f);  Var θ = λ² s²(f_rest)/N + s²(y - λ f)/n;
    λ = Cov(y, f) / ((1 + n/N) Var f), the variance over all n + N predictions, clipped to [0, 1], unless given.
    For items drawn at random alike. ddof = 0 gives the digits of ppi-python. NaN where n or N leave no spread.
    Misleads with fewer than about 100 labels: the normal interval is then too short.
    Source: Angelopoulos et al., Science 382 (2023); PPI++, arXiv:2311.01453;
    docs/methods/comparisons.md, Prediction-powered estimates.
    """
    refuse_outside("confidence", confidence)
    _refuse_lam(lam)
    y, f, f_rest = (np.asarray(part, dtype=np.float64) for part in (y, f, f_rest))
    if y.ndim != 1 or y.shape != f.shape or f_rest.ndim != 1:
        raise TableError(f"y and f are of the same items; there are {y.size} labels and {f.size} predictions of them")
    n, N = len(y), len(f_rest)
    if min(n, N) <= ddof:
        raise TableError(
            f"{n} labels and {N} more predictions have no spread", remedy=f"give at least {ddof + 1} of each"
        )
    if lam is None:
        spread = float(np.concatenate([f, f_rest]).var(ddof=ddof))
        together = float(((y - y.mean()) * (f - f.mean())).sum() / (n - ddof))
        lam = min(max(together / ((1 + n / N) * spread), 0.0), 1.0) if spread > 0 else 0.0
    theta = lam * float(f_rest.mean()) + float((y - lam * f).mean())
    se = math.sqrt(lam**2 * float(f_rest.var(ddof=ddof)) / N + float((y - lam * f).var(ddof=ddof)) / n)
    reach = _z(confidence) * se
    return Mean(theta, se, theta - reach, theta + reach, lam)


def active_terms(f: Floats, y: Floats, labelled: Bools, propensity: Floats, *, lam: float = 1.0) -> Floats:
    """λ f + (ξ/π)(y - λ f) of every item: the terms whose mean is unbiased for mean(y). y is read where ξ = 1 only."""
    f, y, pi = (np.asarray(part, dtype=np.float64) for part in (f, y, propensity))
    xi = np.asarray(labelled, dtype=bool)
    if not f.shape == y.shape == pi.shape == xi.shape:
        raise TableError(
            f"f, y, labelled and propensity are of the same items; they have {f.size}, {y.size}, "
            f"{xi.size} and {pi.size}"
        )
    if not ((pi > 0) & (pi <= 1)).all():
        raise TableError("every propensity lies in (0, 1]; an item that could not be chosen has no unbiased estimate")
    if np.isnan(y[xi]).any():
        raise TableError(f"{int(np.isnan(y[xi]).sum())} labelled items have no y")
    return np.asarray(lam * f + np.where(xi, (y - lam * f) / pi, 0.0), dtype=np.float64)


def active_mean(
    f: Floats, y: Floats, labelled: Bools, propensity: Floats, *, lam: float = 1.0, confidence: float = 0.95
) -> Mean:
    """Mean of y over a population that the N items were drawn from; item i was labelled with probability π_i.

    θ = (1/N) Σ [λ f + (ξ/π)(y - λ f)], SE = sd(terms)/√N. y of an item without a label is not read and may be NaN.
    Misleads where some π is tiny: one label then decides. For the mean over exactly these N items the interval is
    too long (it holds the spread between items too); estimate() has the shorter one.
    Source: Zrnic and Candès, arXiv:2403.03208; docs/methods/comparisons.md, Prediction-powered estimates.
    """
    refuse_outside("confidence", confidence)
    _refuse_lam(lam)
    terms = active_terms(f, y, labelled, propensity, lam=lam)
    if len(terms) < 2:
        raise TableError(f"{len(terms)} items have no spread", remedy="give at least 2")
    theta, se = float(terms.mean()), float(terms.std(ddof=1)) / math.sqrt(len(terms))
    return Mean(theta, se, theta - _z(confidence) * se, theta + _z(confidence) * se, lam)


def estimate(
    run: Run, belief: Belief, labels: Opinions, measures: Sequence[str], *, confidence: float = 0.95,
    lam: float | None = None, universe: pl.DataFrame | None = None,
) -> Estimates:  # fmt: skip
    """Measures of every system and pair of systems, with intervals that stay valid even if the belief is wrong.

    Needs labels whose pairs were drawn independently (Poisson sampling, pools.choosing) with the `propensity` each
    carries; pairs with propensity 1 are known. f is Pr(grade >= 1) under the belief (DCG: the expected grade), y
    whether the label is at least 1 (DCG: the grade). `universe` (query, item) holds the pairs that could be drawn;
    without it they are those that the labels name (`drawn_from`), or else those that the belief mentions. What lies
    outside counts as irrelevant, and `outside` says how much of the lists that is. The queries are those of the
    universe; one that a system lacks is an empty list.

    P@k, DCG@k, SetP     mean over queries of Σ w y: w = 1/k, 1/log2(rank + 1), 1/length; SetP without empty lists
    R@k, SetR, F@k, SetF micro-averages: Σ hits / Σ relevant and 2 Σ hits / Σ (k or length + relevant), summed
                         over queries before they are divided, linearised for the spread

    Two targets, one estimate:
        lo, hi                  these queries as they are; only the draw of labels is chance:
                                Var = Σ v, v = u² (1 - π)/π² (y - λ f)² over labelled; t quantile with
                                (Σ v)²/Σ v² degrees of freedom, as few labels may bear most of it
        lo_queries, hi_queries  queries of this kind; sd over queries / √Q, t quantile
    u is the weight of the item in the estimate (for a ratio N/D: (w_N - θ w_D)/D). A pair has its own weights, the
    differences: where both systems agree on an item its label adds nothing. λ minimises Var, one for every row, so
    that a difference need not equal the difference of its two rows; tuning it on the same labels is harmless.

    Misleads: ends may leave [0, 1]. The first interval says nothing of other queries. Neither is corrected for the
    number of rows. A row that fewer than 10 labels bear on, or whose labels show no spread, while others could have
    been drawn, has NaN ends: the sample does not bound it. Propensities that differ tenfold or more, for no reason
    that f knows of, give intervals that are too short (measured: 85-95 % for 95 %); a note warns.
    Source: Angelopoulos et al., Science 382 (2023); Oosterhuis et al., arXiv:2407.02464; Särndal et al. 1992, ch. 5-6;
    docs/methods/comparisons.md, Prediction-powered estimates.
    """
    refuse_outside("confidence", confidence)
    _refuse_lam(lam)
    wanted = dict(sum_of(name) for name in measures)
    if not wanted:
        raise TextError("no measure was asked for", remedy=f"there are {', '.join(names())}")
    refuse_all_relevant(labels, [1.0])
    universe = drawn_from(run, belief, labels) if universe is None else universe
    problem = _problem(run, belief, labels, universe, wanted)
    systems = problem.systems
    S = len(systems)
    alone = [(place, S) for place in range(S)]  # number S is a system that retrieves nothing
    rows = np.array(alone + list(combinations(range(S), 2)), dtype=np.int64).T
    rows_of: dict[str, list[Floats | Ints]] = {}
    outside = []
    for form in wanted.values():
        sums = _sums(problem, form)
        outside.append(sums.outside)
        for name, values in _solve(problem, sums, rows, lam, confidence).items():
            rows_of.setdefault(name, []).append(values)
    one = {name: np.concatenate([part[:S] for part in parts]) for name, parts in rows_of.items()}
    two = {name: np.concatenate([part[S:] for part in parts]) for name, parts in rows_of.items()}
    frame = pl.DataFrame(
        {
            "system": systems * len(wanted), "measure": np.repeat(list(wanted), S), **one,
            "outside": np.concatenate(outside),
        },
        schema=FRAME,
    )  # fmt: skip
    left, right = ([systems[place] for place in side] * len(wanted) for side in rows[:, S:].tolist())
    paired = pl.DataFrame(
        {
            "measure": np.repeat(list(wanted), rows.shape[1] - S), "system": left, "baseline": right,
            "difference": two.pop("estimate"), **two,
        },
        schema=PAIRS,
    )  # fmt: skip
    return Estimates(frame, paired, _notes(problem, wanted, frame, paired, lam, confidence))


_NUMBERS: dict[str, Any] = dict.fromkeys(
    ("se", "lo", "hi", "se_queries", "lo_queries", "hi_queries", "lam"), pl.Float64
) | {"labels": pl.Int64}
FRAME: dict[str, Any] = (
    {"system": pl.String, "measure": pl.String, "estimate": pl.Float64} | _NUMBERS | {"outside": pl.Float64}
)
PAIRS: dict[str, Any] = {
    "measure": pl.String, "system": pl.String, "baseline": pl.String, "difference": pl.Float64,
} | _NUMBERS  # fmt: skip


def sum_of(name: str) -> tuple[str, SumForm]:
    """The measure as a sum over items or a ratio of such sums, with rel = 1; refused where it is neither."""
    m = parse(name)
    form = m.sum_form
    if form is not None and m.rel != 1:
        raise TextError(
            f"{m} counts items of grade {m.rel:g} or more, and an estimate from labels counts from grade 1 on",
            remedy=f"take {Measure(m.name, tuple(one for one in m.settings if one[0] != 'rel'))}, or give the labels "
            "to evaluate (endoxa eval --labels FILE)",
        )
    if form is None:
        raise TextError(
            f"{name!r} has no valid interval from a sample of labels, because it is not a sum over items nor a ratio "
            "of such sums",
            remedy=f"those that have one are {', '.join(names())}",
        )
    return str(m), form


def names() -> list[str]:
    """The measures that can be estimated."""
    able = [definition for definition in REGISTRY.values() if definition.sum_form is not None]
    return sorted(f"{definition.name}@k" if definition.cutoff else definition.name for definition in able)


@dataclass(frozen=True)
class _Problem:
    """All pairs that count, numbered, and where they stand in the lists."""

    systems: list[str]
    queries: int
    query: Ints  # of each pair
    f: dict[bool, Floats]  # True: graded
    y: dict[bool, Floats]  # 0 without a label
    labelled: Bools
    pi: Floats  # 1 without a label
    lists: pl.DataFrame  # system, query, pair (null: out of reach), rank, as numbers
    lengths: Ints  # [system, query] of the whole lists
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class _Sums:
    """One measure. Row `systems` of the arrays is a system that retrieves nothing, to stand against one alone.

    belief, label, faced   [system, query]: Σ w f over all pairs, Σ w y/π and Σ w f/π over labelled ones
    ratio                  whether a ratio of sums; else a mean over queries
    below                  [3, query]: the same three of all pairs, for the denominator of a ratio
    size                   [system, query]: what the denominator has beside relevant items
    defined                [system, query]: whether the query counts
    weight                 [system, labelled pair]
    """

    belief: Floats
    label: Floats
    faced: Floats
    ratio: bool
    below: Floats
    size: Floats
    defined: Bools
    weight: Floats
    graded: bool
    every: Any  # sparse [system, pair without a label]: their weights
    outside: Floats


def _problem(
    run: Run, belief: Belief, labels: Opinions, universe: pl.DataFrame | None, wanted: dict[str, SumForm]
) -> _Problem:
    """Join lists, belief and labels once; refuse what gives no interval."""
    key = ["query", "item"]
    seen = _sampled(labels)
    stated = chances(belief).rename({"p": "f"})
    grades = belief.expected().frame.select(*key, pl.col("grade").alias("f_grade"))
    within = _universe(stated, universe)
    stray = seen.join(within, on=key, how="anti")
    # A label outside the universe is counted with f = 0, as are the pairs around it that were not drawn
    pairs = (
        pl.concat([within, stray.select(key)])
        .join(within.with_columns(pl.lit(True).alias("within")), on=key, how="left")
        .join(stated, on=key, how="left")
        .join(grades, on=key, how="left")
        .join(seen, on=key, how="left")
        .sort(key)
        .with_columns(pl.when(pl.col("within")).then(pl.col("f", "f_grade")).fill_null(0.0))
    )
    names = pairs.select(pl.col("query").unique().sort()).with_row_index("place")
    pairs = pairs.join(names, on="query", how="left", maintain_order="left").with_row_index("pair")
    labelled = pairs.filter(pl.col("grade").is_not_null())
    retrieved = run.frame.join(names, on="query", how="inner", maintain_order="left")
    if not retrieved.height:
        raise JoinError(
            "no query of the run is among those that could be judged", remedy="do run and belief belong together?"
        )
    systems = run.systems
    order = pl.DataFrame({"system": systems}).with_row_index("s")
    lengths = np.zeros((len(systems), names.height), dtype=np.int64)
    sizes = retrieved.group_by("system", "place").len().join(order, on="system", how="left")
    lengths[sizes["s"].to_numpy(), sizes["place"].to_numpy()] = sizes["len"].to_numpy()
    cuts = [form.k for form in wanted.values()]
    if None not in cuts:
        retrieved = retrieved.filter(pl.col("rank") <= max(cut for cut in cuts if cut is not None))
    lists = (
        retrieved.select("system", "query", "item", "rank", "place")
        .join(order, on="system", how="left", maintain_order="left")
        .join(pairs.select(*key, "pair"), on=key, how="left", maintain_order="left")
        .select("s", "place", "pair", "rank")
    )
    has = pairs["grade"].is_not_null().to_numpy()
    grade = pairs["grade"].fill_null(0.0).to_numpy()
    ignored = run.frame.select("query").unique().join(names, on="query", how="anti").height
    counts = {"labels": labelled.height, "labelled": labelled["query"].n_unique(), "queries": names.height}
    sure = int((labelled["propensity"] == 1).sum())
    notes = [note("estimate.labels", **counts, sure=sure, pairs=pairs.height)]
    weight = 1 / labelled["propensity"].to_numpy()
    if weight.sum() ** 2 / (weight**2).sum() < EVEN * len(weight):
        notes.append(note("estimate.uneven"))
    undecided = labels.frame.filter(pl.col("grade").is_null() | (pl.col("grade") < 0)).height
    if undecided:
        notes.append(note("estimate.undecided", pairs=undecided))
    if stray.height:
        notes.append(note("estimate.stray", pairs=stray.height))
    if ignored:
        notes.append(note("estimate.not_judged", queries=ignored))
    if (lengths == 0).any():
        notes.append(note("estimate.empty_lists", lists=int((lengths == 0).sum())))
    return _Problem(
        systems,
        names.height,
        pairs["place"].to_numpy().astype(np.int64),
        {False: pairs["f"].to_numpy(), True: pairs["f_grade"].to_numpy()},
        {False: (has & (grade >= 1)).astype(float), True: np.where(has, grade, 0.0)},
        has,
        pairs["propensity"].fill_null(1.0).to_numpy(),
        lists,
        lengths,
        tuple(notes),
    )


def _sampled(labels: Opinions) -> pl.DataFrame:
    """The labels, each with its propensity; refused where too few or chosen by hand."""
    seen = decided(labels)
    if bare := seen["propensity"].null_count():
        raise TableError(
            f"{bare:,} of {seen.height:,} labels have no propensity: labels chosen by hand give an order (pin them to "
            "the belief), not an interval",
            remedy="draw pairs with pools.choosing and keep the propensity with each label",
        )
    queries = seen["query"].n_unique()
    if seen.height < LABELS or queries < QUERIES:
        raise JoinError(
            f"there are {seen.height:,} labels in {queries:,} queries",
            remedy=f"an interval needs at least {LABELS} labels in {QUERIES} queries: judge more, or pin the labels "
            "to the belief for an order",
        )
    return seen


def _universe(stated: pl.DataFrame, universe: pl.DataFrame | None) -> pl.DataFrame:
    if universe is None:
        return stated.select("query", "item")
    require(universe, ("query", "item"), "universe")
    return universe.select(pl.col("query").cast(pl.String), pl.col("item").cast(pl.String)).unique()


def _sums(problem: _Problem, form: SumForm) -> _Sums:
    """Sums per system and query, and the weights of the labelled pairs."""
    from scipy import sparse

    graded, k = form.graded, form.k
    lists = problem.lists if k is None else problem.lists.filter(pl.col("rank") <= k)
    S, Q = len(problem.systems), problem.queries
    cell = lists["s"].to_numpy().astype(np.int64) * Q + lists["place"].to_numpy()
    shown = np.bincount(cell // Q, minlength=S)
    here = lists["pair"].is_not_null().to_numpy()
    outside = np.bincount(cell[~here] // Q, minlength=S)
    cell, pair = cell[here], lists["pair"].drop_nulls().to_numpy().astype(np.int64)
    w = form.weight(lists["rank"].to_numpy()[here], problem.lengths.ravel()[cell])
    f, y, pi, has = problem.f[graded], problem.y[graded], problem.pi, problem.labelled
    parts = (f, y / pi * has, f / pi * has)

    size = np.zeros((S, Q)) if form.size is None else form.size(problem.lengths)
    weights = sparse.csr_array((w, (cell // Q, pair)), shape=(S + 1, len(f)))
    belief, label, faced = (
        np.bincount(cell, weights=w * values[pair], minlength=(S + 1) * Q).reshape(S + 1, Q).astype(np.float64)
        for values in parts
    )
    return _Sums(
        belief,
        label,
        faced,
        ratio=form.ratio,
        below=np.stack([np.bincount(problem.query, weights=values, minlength=Q) for values in parts]),
        size=np.pad(size, ((0, 1), (0, 0))).astype(float),
        defined=np.pad((problem.lengths > 0) | form.empty, ((0, 1), (0, 0)), constant_values=True),
        weight=weights[:, np.flatnonzero(has)].toarray(),
        graded=graded,
        every=weights[:, np.flatnonzero(~has)],
        outside=np.divide(outside, shown, out=np.full(S, np.nan), where=shown > 0),
    )


def _solve(
    problem: _Problem, sums: _Sums, rows: Ints, lam: float | None, confidence: float
) -> dict[str, Floats | Ints]:
    """Every row (left, right): estimate of left - right and both intervals. Blocks bound the memory."""
    from scipy import stats

    total, has = rows.shape[1], np.flatnonzero(problem.labelled)
    y, f, pi = problem.y[sums.graded][has], problem.f[sums.graded][has], problem.pi[has]
    query, noise = problem.query[has], (1 - pi) / pi**2
    columns = ("estimate", "se", "se_queries", "lam", "labels", "bearing", "degrees", "effective")
    found = {name: np.full(total, np.nan) for name in columns}
    for block in blocks(total, BLOCK // max(1, len(has), problem.queries)):
        left, right = rows[:, block]
        at = np.full(len(left), 0.0 if lam is None else lam)
        for _ in range(3 if lam is None else 1):  # λ needs the weights of a ratio, and they λ
            theta, u, residual, degrees = _linear(sums, left, right, at, query)
            if lam is None:
                squares = noise * u**2
                faced = squares @ f**2
                # Where no label is left to chance, or f is 0, λ changes nothing
                at = np.clip(np.divide(squares @ (y * f), faced, out=np.ones(len(at)), where=faced > 0), 0, 1)
        theta, u, residual, degrees = _linear(sums, left, right, at, query)
        parts = u**2 * noise * (y - at[:, None] * f) ** 2
        variance, squares = parts.sum(1), (parts**2).sum(1)
        found["effective"][block] = np.divide(variance**2, squares, out=np.ones(len(at)), where=squares > 0)
        found["estimate"][block] = theta
        found["lam"][block] = np.where(np.isnan(theta), np.nan, at)
        found["se"][block] = np.sqrt(variance)
        spread = (residual**2).sum(1) / np.maximum(degrees * (degrees + 1), 1)
        found["se_queries"][block] = np.where(degrees > 0, np.sqrt(spread), np.nan)
        found["labels"][block] = (u != 0).sum(1)
        found["bearing"][block] = ((u != 0) & (pi < 1)).sum(1)
        found["degrees"][block] = degrees
    unbounded = (found["bearing"] < BEARING) | (found["se"] == 0)
    for row in np.flatnonzero(found["bearing"] == 0):  # all known, or nothing drawn?
        unbounded[row] = _open(problem, sums, *rows[:, row])
    for name in ("se", "se_queries"):
        found[name][unbounded] = np.nan
    reach = stats.t.ppf((1 + confidence) / 2, np.maximum(found["effective"], 1)) * found["se"]
    wide = stats.t.ppf((1 + confidence) / 2, np.maximum(found["degrees"], 1)) * found["se_queries"]
    theta = found["estimate"]
    return {
        "estimate": theta, "se": found["se"], "lo": theta - reach, "hi": theta + reach,
        "se_queries": found["se_queries"], "lo_queries": theta - wide, "hi_queries": theta + wide, "lam": found["lam"],
        "labels": found["labels"].astype(np.int64),
    }  # fmt: skip


def _linear(sums: _Sums, left: Ints, right: Ints, lam: Floats, query: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Estimate [row], weights of the labelled pairs [row, label], residuals [row, query], degrees of freedom [row]."""
    at = lam[:, None]
    if not sums.ratio:
        both = sums.defined[left] & sums.defined[right]
        n = both.sum(1)
        per = np.maximum(n, 1)[:, None]
        value = both * (_at(sums, left, at) - _at(sums, right, at))
        theta = np.where(n > 0, value.sum(1) / per[:, 0], np.nan)
        u = both[:, query] * (sums.weight[left] - sums.weight[right]) / per
        return theta, u, np.where(both, value - theta[:, None], 0.0), n - 1.0
    theta, u, residual = _quotient(sums, left, at)
    real = right < len(sums.size) - 1
    minus = _quotient(sums, right, at)
    theta, u, residual = (
        whole - np.where(real if whole.ndim == 1 else real[:, None], part, 0.0)
        for whole, part in zip((theta, u, residual), minus, strict=True)
    )
    return theta, u, residual, np.full(len(left), residual.shape[1] - 1.0)


def _at(sums: _Sums, system: Ints, lam: Floats) -> Floats:
    """Σ w y of each query, as estimated with λ."""
    return np.asarray(sums.label[system] + lam * (sums.belief[system] - sums.faced[system]))


def _quotient(sums: _Sums, system: Ints, lam: Floats) -> tuple[Floats, Floats, Floats]:
    """Ratio of sums over queries, linearised: θ + Σ (N - θ D)/D. NaN where the denominator is not above 0."""
    above = _at(sums, system, lam)
    below = sums.size[system] + sums.below[1] + lam * (sums.below[0] - sums.below[2])
    total = below.sum(1)
    total = np.where(total > 0, total, np.nan)
    theta = above.sum(1) / total
    u = (sums.weight[system] - theta[:, None]) / total[:, None]
    residual = (above - theta[:, None] * below) * (below.shape[1] / total[:, None])
    return theta, u, residual


def _open(problem: _Problem, sums: _Sums, left: int, right: int) -> bool:
    """Whether a pair without a label bears on the difference."""
    if problem.labelled.all():
        return False
    apart = bool((sums.every[[left]] != sums.every[[right]]).nnz)
    if not sums.ratio:
        return apart
    # Every relevant item is in the denominator: only equal lists, or lists without a hit, do not depend on it
    sizes = (sums.size[left] != sums.size[right]).any() and (sums.weight[left].any() or sums.every[[left]].nnz)
    return apart or bool(sizes or (sums.weight[left] != sums.weight[right]).any())


def _notes(
    problem: _Problem, wanted: dict[str, SumForm], frame: pl.DataFrame, pairs: pl.DataFrame, lam: float | None,
    confidence: float,
) -> tuple[Note, ...]:  # fmt: skip
    """How the rows were made."""
    notes = [*problem.notes, note("estimate.tuning", lam=lam), note("estimate.intervals", confidence=confidence)]
    if ratios := [name for name, form in wanted.items() if form.ratio]:
        notes.append(note("estimate.ratios", measures=ratios))
    if pairs.height and lam is None:
        notes.append(note("estimate.own_tuning"))
    outside = frame["outside"].drop_nans()
    if len(outside) and (most := float(outside.max())) > 0:  # type: ignore[arg-type]
        notes.append(note("estimate.outside", share=most))
    both = pl.concat([frame.select("se", "labels"), pairs.select("se", "labels")])
    if lost := both.filter(pl.col("se").is_nan()).height:
        notes.append(note("estimate.no_interval", rows=lost, bearing=BEARING))
    if few := both.filter(pl.col("se").is_not_nan() & (pl.col("se") > 0) & (pl.col("labels") < FEW)).height:
        notes.append(note("estimate.rough", rows=few, few=FEW))
    return tuple(notes)


def _refuse_lam(lam: float | None) -> None:
    if lam is not None and not 0 <= lam <= 1:
        raise TextError(f"lam lies between 0 (labels alone) and 1 (the belief taken whole), not {lam}")


def _z(confidence: float) -> float:
    """Normal quantile of a two-sided interval."""
    from scipy import stats

    return float(stats.norm.ppf((1 + confidence) / 2))
