"""Dominance: do the figures depend on the one person who gave most of the ratings?"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

import numpy as np
import polars as pl

from endoxa.errors import JoinError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.studies.score_mapping import answered, rated, refuse_settings, signals
from endoxa.studies.selection import correlations, resampled, spread, sums_by_query
from endoxa.tables import Floats, Opinions, Run

WHO = ["master", "others", "all"]


@dataclass(frozen=True, eq=False)
class Dominance:
    """The ratings of the master compared with those of all others, one row per system.

    frame: system; pairs_, r_ and se_ of master, others and all; difference (master - others), se, lo, hi; z, p_value
    (Fisher); p_equivalent (for a difference of `margin` or more); outside (r_all lies outside both); verdict in words
    """

    frame: pl.DataFrame
    master: str
    share: float
    margin: float
    confidence: float
    notes: tuple[str, ...] = ()


def dominance(
    run: Run, opinions: Opinions, *, master: str | None = None, margin: float = 0.05, mapped: bool = False,
    distances: bool | Literal["auto"] | Collection[str] = False, folds: int = 5, resamples: int = 2_000,
    confidence: float = 0.95, rng: np.random.Generator,
) -> Dominance:  # fmt: skip
    """Correlate every system's scores with the ratings of the master, of all others, and of everybody.

    The master is the person with most answers, unless given. Several ratings of a pair are averaged. The correlation
    uses the scores or (`mapped`) the ratings predicted by isotonic maps fitted to all ratings of other queries.
    se, lo and hi come from resampled queries, each with all its ratings. Fisher's z assumes independent pairs, which is
    wrong here; it is given for comparison with older tables. p_equivalent is the larger p of two one-sided tests (TOST)
    that the difference is below -margin or above margin.
    Misleads: the pooled r may lie outside both (`outside`): above, because a mean of several people is less noisy than
    one rating; on either side, if the master rates other pairs or is more lenient (Simpson's paradox).
    Source: Barnard et al., Table 5; Schuirmann 1987 for the two tests; docs/methods/studies.md, Dominance.
    """
    refuse_settings(folds, resamples, confidence)
    if not 0 < margin < 1:
        raise TextError(f"the margin of equivalence lies between 0 and 1, not {margin}", remedy="0.05 is usual")
    given, _ = answered(opinions)
    ratings, left_out = rated(opinions)
    notes = list(left_out)
    counts = given.group_by("source").agg(pl.len().alias("n")).sort(["n", "source"], descending=[True, False])
    if counts.height < 2:
        raise JoinError(f"all ratings are from {counts['source'][0]!r}; there is nobody to compare with")
    if master is None:
        master = str(counts["source"][0])
        if counts["n"][0] == counts["n"][1]:
            notes.append(f"{master} and {counts['source'][1]} gave equally many ratings; the first by name was chosen")
    elif master not in (known := counts["source"].to_list()):
        raise TextError(f"nobody called {master!r} gave a rating", remedy=did_you_mean(master, known))
    by_master = pl.col("source") == master
    share = float(given.select(by_master.mean()).item())
    notes.append(f"{master} gave {share:.0%} of the ratings")
    rows = _stacked(signals(run, ratings, mapped=mapped, distances=distances, folds=folds, rng=rng), given, by_master)
    both = rows.filter(pl.col("who") != "all").select("query", "item", "who").unique()
    shared = int(both.select("query", "item").is_duplicated().sum()) // 2
    if shared:
        notes.append(f"{shared:,} pairs were rated by {master} and others; Fisher's z treats them as different pairs")
    systems = run.systems
    sums = sums_by_query(rows, ["system", "who"], [systems, WHO])
    r = correlations(sums.sum(axis=0)).reshape(-1, 3)
    pairs = sums[:, :, 0].sum(axis=0).astype(np.int64).reshape(-1, 3)
    draws = np.full((resamples, len(systems), 3), np.nan)
    if len(sums) > 1:
        parts = [correlations(part) for part in resampled(sums, resamples, rng)]
        draws = np.concatenate(parts).reshape(draws.shape)
    table = []
    for at, system in enumerate(systems):
        row: dict[str, object] = {"system": system}
        for name, values in (("pairs", pairs[at]), ("r", r[at])):
            row |= {f"{name}_{who}": value for who, value in zip(WHO, values.tolist(), strict=True)}
        row |= {f"se_{who}": spread(draws[:, at, place], confidence)[0] for place, who in enumerate(WHO)}
        table.append(row | _compared(r[at], pairs[at].tolist(), draws[:, at], margin, confidence))
        if math.isnan(float(r[at, 0] - r[at, 1])):
            notes.append(f"{system}: fewer than 3 scored pairs of {master} or of the others, or no spread in them")
    return Dominance(pl.DataFrame(table), master, share, margin, confidence, tuple(notes))


def fisher(r1: float, n1: int, r2: float, n2: int) -> tuple[float, float]:
    """Fisher's test that two independent correlations are equal: z and two-sided p.

    z = (atanh r1 - atanh r2) / √(1/(n1-3) + 1/(n2-3)). NaN with fewer than 4 pairs or where |r| = 1.
    Source: Fisher 1921.
    """
    if n1 < 4 or n2 < 4 or not max(abs(r1), abs(r2)) < 1 or math.isnan(r1 + r2):
        return math.nan, math.nan
    z = (math.atanh(r1) - math.atanh(r2)) / math.sqrt(1 / (n1 - 3) + 1 / (n2 - 3))
    return z, math.erfc(abs(z) / math.sqrt(2))


def separation(r1: float, se1: float, r2: float, se2: float) -> float:
    """The difference of two figures in standard errors: (r1 - r2) / √(se1² + se2²).

    For tables that give only r(se). It assumes independent figures; if one uses the data of the other and more, the
    true distance is larger. NaN where both errors are 0.
    """
    error = math.hypot(se1, se2)
    return (r1 - r2) / error if error > 0 else math.nan


def equivalence(difference: float, se: float, margin: float) -> float:
    """p of the two one-sided normal tests of |difference| ≥ margin; a small p means practically equal.

    With a standard error of 0 it is 0 within the margin and 1 beyond. Source: Schuirmann 1987.
    """
    room = margin - abs(difference)
    if math.isnan(room) or math.isnan(se):
        return math.nan
    if se <= 0:
        return 0.0 if room > 0 else 1.0
    return math.erfc(room / se / math.sqrt(2)) / 2


def _stacked(rows: pl.DataFrame, given: pl.DataFrame, by_master: pl.Expr) -> pl.DataFrame:
    """The signals with the ratings of the master, of the others and of all, stacked."""
    parts = []
    for who, chosen in zip(WHO, (by_master, ~by_master, pl.lit(True)), strict=True):
        means = given.filter(chosen).group_by("query", "item").agg(pl.col("grade").mean().alias("rating"))
        parts.append(
            rows.drop("rating")
            .join(means, on=["query", "item"], how="inner", maintain_order="left")
            .with_columns(pl.lit(who).alias("who"))
        )
    return pl.concat(parts)


def _compared(r: Floats, pairs: list[int], draws: Floats, margin: float, confidence: float) -> dict[str, object]:
    """The difference between master and others, its interval, the tests and the verdict."""
    master, others, everybody = r.tolist()
    difference = master - others
    se, lo, hi = spread(draws[:, 0] - draws[:, 1], confidence)
    z, p = fisher(master, pairs[0], others, pairs[1])
    same = equivalence(difference, se, margin)
    apart = lo > 0 or hi < 0
    if math.isnan(same):
        verdict = "cannot be compared"
    elif same < 1 - confidence:
        verdict = f"differ, but by less than {margin:g}" if apart else f"equal within {margin:g}"
    else:
        verdict = "differ" if apart else "neither shown to differ nor to be equal"
    outside = bool(everybody > max(master, others) or everybody < min(master, others))
    return {
        "difference": difference, "se": se, "lo": lo, "hi": hi, "z": z, "p_value": p, "p_equivalent": same,
        "outside": outside, "verdict": verdict,
    }  # fmt: skip
