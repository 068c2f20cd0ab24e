"""Is a belief calibrated? What it stated, against labels that it has not seen."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TableError, TextError
from endoxa.frozen import dataclass
from endoxa.notes import Note, note
from endoxa.policies import refuse_outside
from endoxa.statistics import isotonic
from endoxa.tables import Belief, Bools, Floats, Ints, Opinions, Run

STEPS = 100  # Newton converges in ten; what has not by then is separated data


@dataclass(frozen=True)
class Calibration:
    """How well the probabilities of a belief agree with labels.

    brier               mean of (z - p)²
    z, p_value          Spiegelhalter's test that z ~ Bernoulli(p); two-sided
    slope, intercept    of logit Pr(z = 1) on logit p: (1, 0) if calibrated; below 1 the belief is overconfident
    slope_lo, slope_hi  its interval, clustered by query
    reliability         lowest, highest (ends of the bin), stated, observed, lo, hi (Wilson), count
    systems             system, gap, se, lo, hi, judged, queries; None without a run
    """

    brier: float
    z: float
    p_value: float
    slope: float
    slope_lo: float
    slope_hi: float
    intercept: float
    reliability: pl.DataFrame
    systems: pl.DataFrame | None
    labels: int
    queries: int
    notes: tuple[Note, ...] = ()


def chances(belief: Belief, rel: float = 1) -> pl.DataFrame:
    """Pr(grade >= rel) of every pair the belief mentions, mixed over readings: query, item, p."""
    relevant = pl.col("weight") * pl.col("p") * (pl.col("grade") >= rel)
    return belief.frame.group_by("query", "item").agg(relevant.sum().clip(0, 1).alias("p")).sort("query", "item")


def decided(labels: Opinions) -> pl.DataFrame:
    """The pairs with a label, which must be one: query, item, grade, propensity; negative grades are left out."""
    rows = labels.frame.filter(pl.col("grade") >= 0).select("query", "item", "grade", "propensity")
    if (twice := rows.filter(rows.select("query", "item").is_duplicated())).height:
        raise TableError(
            f"{twice.select('query', 'item').n_unique():,} pairs have several labels (the first: item "
            f"{twice['item'][0]!r} of query {twice['query'][0]!r})",
            remedy="keep one source, or join them into one label first",
        )
    return rows


def brier(p: Floats, z: Floats, weight: Floats | None = None) -> float:
    """Mean of (z - p)², weighted; NaN of nothing.

    Misleads: it mixes calibration with sharpness; p = share of the relevant everywhere scores well where few are.
    Source: Brier 1950.
    """
    p, z = np.asarray(p, dtype=float), np.asarray(z, dtype=float)
    w = np.ones_like(p) if weight is None else np.asarray(weight, dtype=float)
    total = float(w.sum())
    return float((w * (z - p) ** 2).sum() / total) if total > 0 else math.nan


def spiegelhalter(p: Floats, z: Floats) -> tuple[float, float]:
    """Spiegelhalter's z and its two-sided p: is the Brier score what it would be if every z were Bernoulli(p)?

    z = Σ (z - p)(1 - 2p) / √(Σ (1 - 2p)² p (1 - p)), standard normal if the belief is calibrated; NaN if every p is 0,
    1/2 or 1. It needs no weights if labels were chosen with probabilities that depend on p alone.
    Misleads: opposite errors can cancel, and correlated labels of one query make the test reject too often.
    Source: Spiegelhalter, Statistics in Medicine 5 (1986); docs/methods/beliefs.md, Reliability.
    """
    p, z = np.asarray(p, dtype=float), np.asarray(z, dtype=float)
    spread = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    if spread <= 0:
        return math.nan, math.nan
    value = float(((z - p) * (1 - 2 * p)).sum()) / math.sqrt(spread)
    return value, math.erfc(abs(value) / math.sqrt(2))


def calibrate(
    belief: Belief, labels: Opinions, run: Run | None = None, *, rel: float = 1, confidence: float = 0.95,
    depth: int | None = None, bins: int = 10,
) -> Calibration:  # fmt: skip
    """Compare a belief with labels: over all, by stated probability, and in the list of every system.

    z = 1 if the label is at least `rel`, p = Pr(grade >= rel) under the belief. A labelled pair that the belief does
    not mention has the p of unmentioned items, or is left out if that is unknown; so are labels of unknown queries. The
    weight of a label is 1/propensity if it has one (Hájek means), else 1.

    gap of a system: mean of z - p over the judged items among the first `depth` of its lists (default: all). The
    precision of the system under the belief is unbiased only if its gap is 0. The interval is clustered by query:
    residuals Σ_q w (z - p - gap) / Σ w, t with (queries - 1) degrees of freedom; NaN with fewer than two queries.
    slope and intercept: one weighted logistic regression of z on logit p, over pairs with 0 < p < 1; NaN if a
    threshold of p separates the labels or there is only one p.
    Misleads: labels that the belief was made from cannot test it, and labels chosen by hand test only their own pairs.
    Source: Cox 1958 for slope and intercept; Wilson 1927 for the bins, with Kish's effective count;
    docs/methods/beliefs.md, Reliability.
    """
    refuse_outside("confidence", confidence)
    if bins < 1:
        raise TextError(f"a table of reliability has at least 1 bin, not {bins}")
    if depth is not None and depth < 1:
        raise TextError(f"the depth of a list is at least 1, not {depth}")
    rows, notes = _faced(belief, labels, rel)
    p, z, w = (rows[name].to_numpy() for name in ("p", "z", "w"))
    inner = (p > 0) & (p < 1)
    if (~inner).any():
        wrong = int((z[~inner] != p[~inner]).sum())
        notes.append(note("reliability.certain", labels=(~inner).sum(), against=wrong))
    query = rows["query"].rank("dense").to_numpy().astype(np.int64) - 1
    intercept, slope, se, clusters = _logistic(p[inner], z[inner], w[inner], query[inner])
    reach = _t(confidence, clusters - 1) * se if clusters > 1 else math.nan
    statistic, p_value = spiegelhalter(p, z)
    return Calibration(
        brier=brier(p, z, w),
        z=statistic,
        p_value=p_value,
        slope=slope,
        slope_lo=slope - reach,
        slope_hi=slope + reach,
        intercept=intercept,
        reliability=_reliability(rows, bins, confidence),
        systems=None if run is None else _gaps(rows, run, depth, confidence),
        labels=rows.height,
        queries=rows["query"].n_unique(),
        notes=tuple(notes),
    )


def recalibrated(belief: Belief, labels: Opinions, *, rel: float = 1) -> Belief:
    """The belief with its probabilities mapped to the shares that labels show.

    Pr(grade >= rel) becomes g of it, the isotonic regression of z on p with weights 1/propensity; the grades on either
    side keep their shares. Readings are mixed into one, and resamples of the people are dropped; notes say so.
    Misleads: with few labels the ends of g are 0 and 1; errors on one system only remain (see the gaps of calibrate).
    Source: Zadrozny and Elkan 2002; docs/methods/beliefs.md, Reliability.
    """
    stated = chances(belief, rel)
    rows, _ = _faced(belief, labels, rel)
    rows = rows.join(stated.select("query", "item"), on=["query", "item"], how="semi")
    if not rows.height:
        raise JoinError("no labelled pair is mentioned by the belief; there is nothing to recalibrate it by")
    p, z, w = (rows[name].to_numpy() for name in ("p", "z", "w"))
    g = isotonic.fit(p.round(12), z, w)  # p that differ by rounding only are one
    stated = stated.with_columns(pl.Series("g", g.predict(stated["p"].to_numpy()))).rename({"p": "P"})
    relevant = pl.col("grade") >= rel
    mixed = (
        belief.frame.group_by("query", "item", "grade")
        .agg((pl.col("weight") * pl.col("p")).sum().alias("p"))
        .join(stated, on=["query", "item"], how="left")
        .filter(~relevant | (pl.col("P") > 0))
    )
    above = pl.when(pl.col("P") > 0).then(pl.col("p") * pl.col("g") / pl.col("P")).otherwise(0.0)
    below = pl.when(pl.col("P") < 1).then(pl.col("p") * (1 - pl.col("g")) / (1 - pl.col("P"))).otherwise(0.0)
    mixed = mixed.with_columns(pl.when(relevant).then(above).otherwise(below).clip(0, 1).alias("p"))
    columns = ["query", "item", "grade", "p"]
    new = stated.filter(pl.col("P") == 0).select(
        "query", "item", pl.lit(float(rel)).alias("grade"), pl.col("g").alias("p")
    )
    notes = [*belief.notes, note("recalibrated.labels", labels=rows.height, distinct=len(g.x))]
    if belief.frame.select(pl.struct("query", "reading").n_unique() > pl.col("query").n_unique()).item():
        notes.append(note("recalibrated.one_reading"))
    if "people" in belief.frame.columns:
        notes.append(note("recalibrated.no_people"))
    unmentioned = belief.unmentioned
    if not isinstance(unmentioned, str) and rel <= 1:
        unmentioned = float(g.predict(np.array([unmentioned]))[0])
    frame = pl.concat([mixed.select(columns), new.select(columns)])
    return Belief.of(frame, unmentioned=unmentioned, model=belief.model, notes=notes)


def _faced(belief: Belief, labels: Opinions, rel: float) -> tuple[pl.DataFrame, list[Note]]:
    """Labels beside what the belief stated: query, item, p, z, w; and what was left out."""
    found = decided(labels)
    rows = found.join(belief.frame.select("query").unique(), on="query", how="semi")
    if not rows.height:
        raise JoinError(
            f"none of the {found.height:,} labels is of a query that the belief knows",
            remedy="do the two belong together?",
        )
    notes: list[Note] = []
    if rows.height < found.height:
        notes.append(note("reliability.unknown_queries", labels=found.height - rows.height))
    if (bare := rows["propensity"].null_count()) and bare < rows.height:
        notes.append(note("reliability.no_propensity", labels=bare))
    if bare == rows.height:
        notes.append(note("reliability.no_propensities"))
    rows = rows.join(chances(belief, rel), on=["query", "item"], how="left", maintain_order="left")
    silent = rows["p"].null_count()
    if silent and belief.unmentioned == "unknown":
        notes.append(note("reliability.left_out", labels=silent))
        rows = rows.filter(pl.col("p").is_not_null())
        if not rows.height:
            raise JoinError(f"none of the {silent:,} labelled pairs is mentioned by the belief")
    elif silent:
        notes.append(note("reliability.unmentioned", labels=silent))
    stated = 0.0 if isinstance(belief.unmentioned, str) or rel > 1 else float(belief.unmentioned)
    return rows.select(
        "query",
        "item",
        pl.col("p").fill_null(stated),
        (pl.col("grade") >= rel).cast(pl.Float64).alias("z"),
        (1 / pl.col("propensity")).fill_null(1.0).alias("w"),
    ), notes


def _logistic(p: Floats, z: Floats, w: Floats, query: Ints) -> tuple[float, float, float, int]:
    """Intercept, slope, standard error of the slope (sandwich, clustered by query), clusters; NaN where undefined."""
    clusters = len(np.unique(query))
    lost = (math.nan, math.nan, math.nan, clusters)
    if len(p) < 2 or np.ptp(p) == 0 or _separated(p, z):
        return lost
    x = np.stack([np.ones_like(p), np.log(p) - np.log1p(-p)])
    w = w / w.mean()

    def likelihood(at: Floats) -> float:
        eta = at @ x
        return float((w * (z * eta - np.logaddexp(0, eta))).sum())

    at = np.zeros(2)
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(at @ x, -700, 700)))
        bend = (x * (w * share * (1 - share))) @ x.T
        if np.linalg.matrix_rank(bend) < 2:
            return lost
        step = np.linalg.solve(bend, x @ (w * (z - share)))
        while likelihood(at + step) < likelihood(at) and np.abs(step).max() > 1e-12:
            step = step / 2
        at = at + step
        if np.abs(step).max() < 1e-10:
            break
    else:
        return lost
    scores = x * (w * (z - 1 / (1 + np.exp(-(at @ x)))))
    sums = np.stack([np.bincount(query, weights=row) for row in scores])
    spread = np.linalg.solve(bend, np.linalg.solve(bend, sums @ sums.T).T)
    se = math.sqrt(spread[1, 1] * clusters / (clusters - 1)) if clusters > 1 else math.nan
    return float(at[0]), float(at[1]), se, clusters


def _separated(p: Floats, z: Floats) -> bool:
    """Whether some threshold of p parts all z = 1 from all z = 0 (or one of them is absent): no finite slope fits."""
    one, none = p[z == 1], p[z == 0]
    return bool(not len(one) or not len(none) or one.min() >= none.max() or one.max() <= none.min())


def _reliability(rows: pl.DataFrame, bins: int, confidence: float) -> pl.DataFrame:
    """Stated against observed, in bins of equal width; NaN where a bin is empty."""
    place = (pl.col("p") * bins).floor().clip(0, bins - 1).cast(pl.Int64).alias("bin")
    w = pl.col("w")
    found = rows.group_by(place).agg(
        ((w * pl.col("p")).sum() / w.sum()).alias("stated"),
        ((w * pl.col("z")).sum() / w.sum()).alias("observed"),
        (w.sum() ** 2 / (w**2).sum()).alias("effective"),
        pl.len().cast(pl.Int64).alias("count"),
    )
    every = pl.DataFrame(
        {"bin": np.arange(bins), "lowest": np.arange(bins) / bins, "highest": np.arange(1, bins + 1) / bins}
    )
    table = every.join(found, on="bin", how="left", maintain_order="left").with_columns(
        pl.col("count").fill_null(0),
        *(pl.col(name).fill_null(math.nan) for name in ("stated", "observed", "effective")),
    )
    lo, hi = wilson(table["observed"].to_numpy(), table["effective"].to_numpy(), confidence)
    ends = table.with_columns(pl.Series("lo", lo), pl.Series("hi", hi))
    return ends.select("lowest", "highest", "stated", "observed", "lo", "hi", "count")


def wilson(share: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a share of n: the shares whose own normal interval holds it. Source: Wilson 1927."""
    from scipy import stats

    q = float(stats.norm.ppf((1 + confidence) / 2)) ** 2
    centre = (share + q / (2 * n)) / (1 + q / n)
    half = np.sqrt(q * share * (1 - share) / n + q**2 / (4 * n**2)) / (1 + q / n)
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)


def _gaps(rows: pl.DataFrame, run: Run, depth: int | None, confidence: float) -> pl.DataFrame:
    """The gap of every system, in the order of the run."""
    lists = run.frame if depth is None else run.frame.filter(pl.col("rank") <= depth)
    w, error = pl.col("w"), pl.col("z") - pl.col("p")
    met = lists.select("system", "query", "item").join(rows, on=["query", "item"], how="inner", maintain_order="left")
    gaps = met.group_by("system").agg(
        ((w * error).sum() / w.sum()).alias("gap"),
        w.sum().alias("total"),
        pl.len().cast(pl.Int64).alias("judged"),
        pl.col("query").n_unique().cast(pl.Int64).alias("queries"),
    )
    residuals = (
        met.join(gaps, on="system", how="left", maintain_order="left")
        .group_by("system", "query", maintain_order=True)  # keeps the last bits of the next sum the same in every call
        .agg((w * (error - pl.col("gap")) / pl.col("total")).sum().alias("residual"))
        .group_by("system")
        .agg((pl.col("residual") ** 2).sum().alias("squares"))
    )
    table = (
        pl.DataFrame({"system": run.systems})
        .join(gaps, on="system", how="left", maintain_order="left")
        .join(residuals, on="system", how="left", maintain_order="left")
        .with_columns(pl.col("judged", "queries").fill_null(0), pl.col("gap", "squares").fill_null(math.nan))
    )
    n = table["queries"].to_numpy()
    enough: Bools = n > 1
    se = np.where(enough, np.sqrt(table["squares"].to_numpy() * n / np.maximum(n - 1, 1)), np.nan)
    reach = np.array([_t(confidence, count - 1) if count > 1 else math.nan for count in n.tolist()]) * se
    gap = table["gap"].to_numpy()
    ends = {"se": se, "lo": gap - reach, "hi": gap + reach}
    return table.with_columns(pl.Series(name, values) for name, values in ends.items()).select(
        "system", "gap", "se", "lo", "hi", "judged", "queries"
    )


def _t(confidence: float, degrees: int) -> float:
    """Student's quantile of a two-sided interval."""
    from scipy import stats

    return float(stats.t.ppf((1 + confidence) / 2, degrees))
