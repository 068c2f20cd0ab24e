"""Maps from a system's scores to ratings: the best monotone map, and its quality on unseen queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.errors import InstallError, JoinError, TextError, did_you_mean, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.policies import Inputs, Method, refuse_outside
from endoxa.statistics import isotonic, ogive
from endoxa.statistics.bootstrap import TINY
from endoxa.studies.grades import GIVEN
from endoxa.studies.score_inputs import RANK, choose, inputs, inputs_of
from endoxa.tables import Bools, Floats, Ints, Opinions, Run

Curve = Callable[[Floats], Floats]
Fitter = Callable[[Floats, Floats], Curve]

FEWEST = 10  # minimum number of pairs for a map
GRID = 101  # number of x values of a map


@dataclass(frozen=True, eq=False)
class Readings:
    """What the map of a system reads of each pair, and for each fold what the map reads that is fitted without it."""

    x: Floats
    without: dict[int, Floats]


@dataclass(frozen=True, eq=False)
class Mapping:
    """The agreement of each system's mapped scores with people.

    frame  one row per system: system, pairs, missing, queries, input, pearson, in_sample, null, held_out, se, folds,
           reversed, moved
        pairs      number of rated pairs with a score of the system; `missing` is the number of those without
        input      what the map reads: raw, z or rank (see `endoxa.studies.score_inputs`)
        pearson    correlation of score and rating (below 0 for a distance)
        in_sample  correlation of the mapped scores with the ratings that the map was fitted to: optimistic
        null       the expected in_sample for noise (isotonic, distinct scores)
        held_out   the main figure: correlation of ratings with the predictions of maps fitted to other queries
        se         its standard error
        moved      bayes: the largest change of the map under another prior (v0 x 4, lam x 3); otherwise NaN
    maps   for each system x (the input), mean, lo, hi: the map and its band
    points for each system query, item, rating, x, predicted (by the maps of the other queries)
    """

    frame: pl.DataFrame
    maps: dict[str, pl.DataFrame]
    points: dict[str, pl.DataFrame]
    method: Method
    confidence: float
    notes: tuple[str, ...] = ()

    def predict(self, system: str, scores: Floats, queries: npt.ArrayLike | None = None) -> Floats:
        """The ratings that a system's map predicts for whole lists of scores: linear between the x values, flat beyond.

        `queries` names the query of each score; without it all scores are the list of one query. Only a map that reads
        raw scores takes parts of a list.
        """
        if system not in self.maps:
            raise TextError(f"there is no map for {system!r}", remedy=did_you_mean(system, self.maps))
        row = self.frame.row(by_predicate=pl.col("system") == system, named=True)
        scores = np.asarray(scores, dtype=np.float64)
        names = np.zeros(len(scores)) if queries is None else np.asarray(queries)
        lists = np.unique(names, return_inverse=True)[1].astype(np.int64)
        table = self.maps[system]
        x = inputs(scores, lists, reverse=row["reversed"])[row["input"]]
        return np.asarray(np.interp(x, table["x"].to_numpy(), table["mean"].to_numpy()))


def mapping(
    run: Run, opinions: Opinions, *, method: Method = "isotonic",
    input: Inputs = "auto",  # noqa: A002 (the column's name)
    distances: bool | Literal["auto"] | Collection[str] = False, folds: int = 5, resamples: int = 500,
    confidence: float = 0.95, rng: np.random.Generator,
) -> Mapping:  # fmt: skip
    """Map the scores of every system to mean ratings, and correlate.

    A pair's rating is the mean over its sources (roles main and common, without undecided answers). Rated pairs that a
    system did not return have no score; they are counted, but not used.
    `input`: what the maps read. By "auto" it is, for each system, the one of raw, z and rank whose isotonic maps have
    the least squared error on held-out queries. For held_out the choice is made without the queries to be predicted.
    held_out: each of `folds` parts of the queries is predicted by a map fitted to the others, and one Pearson
    correlation is computed over all predictions. Its standard error comes from resampled queries: isotonic refits all
    maps (about 13 % too large in simulated studies of 30 queries), bayes and ogive do not (12 to 21 % too small);
    inputs are not chosen anew.
    Band of the map: for isotonic, the central `confidence` part of the refits; for bayes, that of the posterior; for
    ogive, Student's t with the jackknife error over folds.
    `distances`: systems whose scores fall as ratings rise: all, a list of names, or ("auto") those with a negative
    correlation, which is decided on the same data and favours a system that is mere noise.
    Misleads: for noise, the pooled held-out correlation lies slightly below 0. All figures refer to pairs chosen in the
    same way, such as only the best ranks.
    Compare systems by held_out under one method, never by the best of several.
    Source: Barnard et al.; docs/methods/studies.md, Score mapping.
    """
    if method not in get_args(Method):
        raise TextError(
            f"a map is isotonic, bayes or ogive, not {method!r}", remedy=did_you_mean(method, get_args(Method))
        )
    if input not in get_args(Inputs):
        raise TextError(f"a map reads {', '.join(get_args(Inputs))}, not {input!r}")
    refuse_settings(folds, resamples, confidence)
    ratings, notes = rated(opinions)
    seed = int(rng.integers(1 << 62))
    order = dealt(ratings["query"], np.random.default_rng((seed, 0)))
    turned = _turned(run, distances)
    rows, maps, points = [], dict[str, pl.DataFrame](), dict[str, pl.DataFrame]()
    for system in run.systems:
        pairs = scored(run, system, ratings)
        x, y = pairs["score"].to_numpy(), pairs["rating"].to_numpy()
        query, fold = clusters(pairs["query"], order, folds)
        plain = pearson(x, y)
        turn = plain < 0 if turned is None else system in turned
        if turned is None and turn:
            notes.append(f"{system}: scores fall as ratings rise, so they are used as distances")
        row: dict[str, object] = {"system": system, "pairs": len(x), "missing": ratings.height - len(x)}
        row |= {"queries": int(query.max(initial=-1)) + 1, "pearson": plain, "reversed": turn}
        every = inputs_of(run, system, pairs, reverse=turn)
        given = every if input == "auto" else {input: every[input]}
        reason = _unfit(x, y, query) or _unfit(next(iter(given.values())), y, query, input)
        if reason:
            notes.append(f"{system}: {reason}")
            undefined = dict.fromkeys(("in_sample", "null", "held_out", "se", "moved"), math.nan)
            rows.append(row | undefined | {"folds": 0, "input": None})
            continue
        if turn:  # ranks are counted from the best already
            given = {name: values if name == RANK else -values for name, values in given.items()}
        chosen = choose(given, y, fold)
        folded = {}
        for number in np.unique(fold).tolist():
            other: Bools = fold != number
            folded[number] = given[choose({name: x[other] for name, x in given.items()}, y[other], fold[other])]
        readings = Readings(given[chosen], folded)
        figures, table, predicted, more = _fitted(readings, y, query, fold, method, resamples, confidence, (seed, 1))
        notes += [f"{system}: {note}" for note in more]
        rows.append(row | figures | {"input": chosen})
        flip = turn and chosen != RANK
        maps[system] = table.with_columns(-pl.col("x")).reverse() if flip else table
        points[system] = pairs.select("query", "item", "rating").with_columns(
            pl.Series("x", -given[chosen] if flip else given[chosen]), pl.Series("predicted", predicted)
        )
    if method != "isotonic":
        notes.append("standard errors come from resampled queries, with unchanged maps")
    columns = "system pairs missing queries input pearson in_sample null held_out se folds reversed moved".split()
    frame = pl.DataFrame(rows, schema_overrides={"input": pl.String}).select(columns)
    return Mapping(frame, maps, points, method, confidence, tuple(notes))


def rated(opinions: Opinions) -> tuple[pl.DataFrame, list[str]]:
    """The mean rating of every pair (query, item, rating, sources), and notes on what was left out."""
    given, notes = answered(opinions)
    pairs = given.group_by("query", "item").agg(
        pl.col("grade").mean().alias("rating"), pl.len().cast(pl.Int64).alias("sources")
    )
    return pairs.sort("query", "item"), notes


def answered(opinions: Opinions) -> tuple[pl.DataFrame, list[str]]:
    """Decided ratings by people in the roles main and common, and notes on what was left out."""
    frame = opinions.frame.filter(
        pl.col("role").fill_null("main").is_in(["main", "common"]) & (pl.col("kind").fill_null("person") != "system")
    )
    given = frame.filter(GIVEN)
    if not given.height:
        raise JoinError(
            f"none of the {opinions.frame.height:,} opinions is a rating",
            remedy="expected people or judges, with role main or common, and a grade of at least 0",
        )
    notes = []
    if lost := opinions.frame.height - frame.height:
        notes.append(f"{lost:,} opinions come from systems or have other roles than main and common; they are left out")
    if lost := frame.height - given.height:
        notes.append(f"{lost:,} opinions are undecided or negative (pooled but not judged); they are left out")
    return given, notes


def scored(run: Run, system: str, ratings: pl.DataFrame) -> pl.DataFrame:
    """The rated pairs with a finite score of a system, in byte order of query and item."""
    lists = run.frame.filter((pl.col("system") == system) & pl.col("score").is_finite())
    pairs = ratings.join(lists.select("query", "item", "score"), on=["query", "item"], how="inner")
    return pairs.sort("query", "item")


def signals(
    run: Run, ratings: pl.DataFrame, *, mapped: bool, distances: bool | Literal["auto"] | Collection[str], folds: int,
    rng: np.random.Generator,
) -> pl.DataFrame:  # fmt: skip
    """The signal of each system for each rated pair that it scored: system, query, item, rating, signal.

    The signal is the score (with the opposite sign for distances) or, if `mapped`, the prediction of an isotonic map
    fitted to other queries; with only one query there is none.
    """
    order, turned, parts = dealt(ratings["query"], rng), _turned(run, distances), []
    for system in run.systems:
        pairs = scored(run, system, ratings)
        x, y = pairs["score"].to_numpy(), pairs["rating"].to_numpy()
        if pearson(x, y) < 0 if turned is None else system in turned:
            x = -x
        if mapped and len(x):
            x, _ = held_out(x, y, clusters(pairs["query"], order, folds)[1], fitter_of("isotonic", rng))
        named = pairs.select(pl.lit(system).alias("system"), "query", "item", "rating", pl.Series("signal", x))
        parts.append(named.filter(pl.col("signal").is_not_nan()))
    return pl.concat(parts)


def dealt(queries: pl.Series, rng: np.random.Generator) -> dict[str, int]:
    """A random order of the queries, from which folds are assigned, so that all systems share the folds."""
    names = queries.unique().sort().to_list()
    return dict(zip(names, rng.permutation(len(names)).tolist(), strict=True))


def clusters(queries: pl.Series, order: dict[str, int], folds: int) -> tuple[Ints, Ints]:
    """For each row the number of its query, from 0 without gaps, and its fold (at most one per query)."""
    query: Ints = queries.rank("dense").to_numpy().astype(np.int64) - 1
    names = queries.unique().sort().to_list()
    place: Ints = np.argsort(np.argsort(np.array([order[name] for name in names], dtype=np.int64)))
    return query, (place % max(1, min(folds, len(names))))[query]


def pearson(x: Floats, y: Floats, weights: Floats | None = None) -> float:
    """Pearson's weighted correlation; NaN with fewer than two values or if either side is constant."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w = np.ones_like(x) if weights is None else weights
    total = float(w.sum())
    if len(x) < 2 or total <= 0:
        return math.nan
    a, b = x - (w * x).sum() / total, y - (w * y).sum() / total
    a[np.abs(a) <= TINY * np.abs(x)] = 0
    b[np.abs(b) <= TINY * np.abs(y)] = 0
    spread = math.sqrt(float((w * a * a).sum())) * math.sqrt(float((w * b * b).sum()))
    return float((w * a * b).sum()) / spread if spread > 0 else math.nan


def held_out(x: Floats, y: Floats, fold: Ints, fitter: Fitter) -> tuple[Floats, list[Curve]]:
    """The prediction of each y by a map fitted without its fold, and these maps; NaN if there is no other fold."""
    return _held_out(Readings(x, dict.fromkeys(fold.tolist(), x)), y, fold, fitter)


def _held_out(readings: Readings, y: Floats, fold: Ints, fitter: Fitter) -> tuple[Floats, list[Curve]]:
    """The same, with the input that was chosen without the fold."""
    predicted = np.full(len(y), np.nan)
    curves = []
    for number in np.unique(fold).tolist():
        test: Bools = fold == number
        if not test.all():
            x = readings.without[number]
            curves.append(fitter(x[~test], y[~test]))
            predicted[test] = curves[-1](x[test])
    return predicted, curves


def fitter_of(method: Method, rng: np.random.Generator) -> Fitter:
    """The function that fits a map to x and y. If all y are equal, the map is constant."""

    def make(x: Floats, y: Floats) -> Curve:
        if method == "isotonic":
            return isotonic.fit(x, y).predict
        if method == "ogive":
            return ogive.fit(x, y).predict
        if np.ptp(y) <= TINY * np.abs(y).max():
            return lambda at: np.full(len(at), y[0])
        curve: Curve = _monotone().fit(x, y, rng=rng).predict
        return curve

    return make


def _fitted(
    readings: Readings, y: Floats, query: Ints, fold: Ints, method: Method, resamples: int, confidence: float,
    seed: tuple[int, int],
) -> tuple[dict[str, object], pl.DataFrame, Floats, tuple[str, ...]]:  # fmt: skip
    """The figures of one system (columns of `Mapping.frame`), map with band, held-out predictions, and notes."""
    from scipy import stats

    rng, x = np.random.default_rng(seed), readings.x
    predicted, curves = _held_out(readings, y, fold, fitter_of(method, rng))
    count = len(curves)
    grid = np.unique(np.quantile(np.unique(x), np.linspace(0, 1, GRID), method="nearest"))
    notes: tuple[str, ...] = ()
    moved = math.nan
    if method == "isotonic":
        fitted_map = isotonic.fit(x, y)
        mean, r = fitted_map.predict(grid), fitted_map.r
        se, lo, hi, notes = _resampled(readings, y, query, fold, grid, resamples, confidence, rng)
    elif method == "bayes":
        runs = _monotone().sensitivity(x, y, confidence=confidence, rng=rng)
        given = runs["given"]
        mean, r = given.predict(grid), pearson(given.predict(x), y)
        lo, hi = (np.interp(grid, given.x, end) for end in (given.lo, given.hi))
        moved = max(float(np.abs(other.levels - given.levels).max()) for other in runs.values())
        if not given.settled:
            notes = ("the chains have not converged (R-hat above 1.05 or few effective draws); the map is unreliable",)
        se = _spread(predicted, y, query, resamples, rng)
    else:
        curve = ogive.fit(x, y)
        mean, r = curve.predict(grid), curve.r
        if any(other is not x for other in readings.without.values()):  # maps of another input have no value here
            curves = held_out(x, y, fold, fitter_of(method, rng))[1]
        left_out = np.array([other(grid) for other in curves])
        error = np.sqrt((count - 1) / count * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
        reach = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * error
        lo, hi = mean - reach, mean + reach
        se = _spread(predicted, y, query, resamples, rng)
    figures: dict[str, object] = {
        "in_sample": r,
        "null": isotonic.null_correlation(len(x)),
        "held_out": pearson(predicted, y),
    }
    table = pl.DataFrame({"x": grid, "mean": mean, "lo": lo, "hi": hi})
    return figures | {"se": se, "folds": count, "moved": moved}, table, predicted, notes


def _resampled(
    readings: Readings, y: Floats, query: Ints, fold: Ints, grid: Floats, resamples: int, confidence: float,
    rng: np.random.Generator,
) -> tuple[float, Floats, Floats, tuple[str, ...]]:  # fmt: skip
    """Error of the held-out correlation and band of the isotonic map, from resampled queries with all maps refitted."""
    queries = int(query.max()) + 1  # one drawn twice counts twice and stays in its fold: no copy predicts the other
    figures, curves = np.full(resamples, np.nan), np.empty((resamples, len(grid)))
    for number in range(resamples):
        times = np.bincount(rng.integers(queries, size=queries), minlength=queries)[query]
        drawn = times > 0
        b, w, part = y[drawn], times[drawn].astype(np.float64), fold[drawn]
        curves[number] = isotonic.fit(readings.x[drawn], b, w).predict(grid)
        predicted = np.full(len(b), np.nan)
        for one in np.unique(part).tolist():
            test, a = part == one, readings.without[one][drawn]
            if not test.all():
                predicted[test] = isotonic.fit(a[~test], b[~test], w[~test]).predict(a[test])
        figures[number] = pearson(predicted, b, w)
    lo, hi = np.quantile(curves, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    seen = figures[~np.isnan(figures)]
    lost = resamples - len(seen)
    notes = (f"{lost:,} of {resamples:,} resamples have no correlation; they are left out",) if lost else ()
    return (float(seen.std(ddof=1)) if len(seen) > 1 else math.nan), lo, hi, notes


def _spread(predicted: Floats, y: Floats, query: Ints, resamples: int, rng: np.random.Generator) -> float:
    """Standard error of the held-out correlation over resampled queries, with unchanged predictions."""
    p, r = predicted - predicted.mean(), y - y.mean()
    queries = int(query.max()) + 1
    parts = np.array([np.bincount(query, v, minlength=queries) for v in (np.ones_like(p), p, r, p * p, r * r, p * r)])
    times = rng.multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    n, sp, sr, spp, srr, spr = parts @ times.T
    spread = np.sqrt(np.maximum(spp - sp**2 / n, 0) * np.maximum(srr - sr**2 / n, 0))
    seen = spread > TINY * spread.max(initial=0)
    return float(((spr - sp * sr / n)[seen] / spread[seen]).std(ddof=1)) if seen.sum() > 1 else math.nan


def _unfit(x: Floats, y: Floats, query: Ints, what: str = "raw") -> str:
    """The reason why no map can be fitted, or an empty text."""
    if len(x) < FEWEST:
        return f"{len(x)} rated pairs have a score; a map needs at least {FEWEST}"
    if query.max() < 1:
        return "all rated pairs belong to one query; a map cannot be tested on others: rate results of a second query"
    for values, name in ((y, "rating"), (x, what if what in {"z", "rank"} else "score")):
        if np.ptp(values) <= TINY * np.abs(values).max():
            return f"every pair has the same {name}; there is nothing to map"
    return ""


def _turned(run: Run, distances: bool | Literal["auto"] | Collection[str]) -> set[str] | None:
    """The systems whose scores are distances; None if the data decide."""
    if isinstance(distances, bool):
        return set(run.systems) if distances else set()
    if isinstance(distances, str):
        if distances != "auto":
            raise TextError(f"distances are True, False, 'auto' or a list of systems, not {distances!r}")
        return None
    for name in distances:
        refuse_unknown("system of the run", name, run.systems)
    return set(distances)


def refuse_settings(folds: int, resamples: int, confidence: float) -> None:
    """Refuse fewer than 2 folds or resamples, and a confidence outside 0 to 1."""
    if folds < 2 or resamples < 2:
        raise TextError(
            f"{folds} folds and {resamples} resamples", remedy="expected at least 2 of each (5 and 500 are usual)"
        )
    refuse_outside("confidence", confidence)


def _monotone() -> ModuleType:
    """The sampler, which needs numba."""
    try:
        from endoxa.statistics import monotone
    except ImportError as error:
        raise InstallError("numba is not installed", remedy="pip install 'endoxa[studio]'") from error
    return monotone
