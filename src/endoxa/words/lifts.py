"""From what contenders scored on resamples to their lifts, with standard errors, differences and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from endoxa.comparisons.winners import Apart, pairwise
from endoxa.errors import refuse_unknown
from endoxa.frozen import dataclass
from endoxa.policies import Policy
from endoxa.statistics.resampled import Resampled, resampled
from endoxa.tables import Floats, Scores
from endoxa.words.contenders import Contender, Outcome
from endoxa.words.scoring import Scored
from endoxa.words.splits import HELD_OUT, PARTS

MEASURE = "Rprec"  # what the score of a picture is in the terms of retrieval
FREQUENT = "frequencies"  # the system that names the most frequent words of the training pictures
RESAMPLES: dict[str, Any] = {
    "arm": pl.String, "part": pl.String, "resample": pl.Int64, "train": pl.Int64, "pictures": pl.Int64,
    "skipped": pl.Int64, "vocabulary": pl.Int64, "score": pl.Float64, "baseline": pl.Float64, "lift": pl.Float64,
    "normalised": pl.Float64,
}  # fmt: skip
SUMMARY: dict[str, Any] = {
    "arm": pl.String, "part": pl.String, "lift": pl.Float64, "lo": pl.Float64, "hi": pl.Float64, "se": pl.Float64,
    "naive": pl.Float64, "p": pl.Float64, "score": pl.Float64, "baseline": pl.Float64, "normalised": pl.Float64,
    "train": pl.Float64, "pictures": pl.Float64, "skipped": pl.Float64, "vocabulary": pl.Float64,
}  # fmt: skip
DIFFERENCES: dict[str, Any] = {
    "arm": pl.String, "reference": pl.String, "part": pl.String, "difference": pl.Float64, "lo": pl.Float64,
    "hi": pl.Float64, "se": pl.Float64, "naive": pl.Float64, "p": pl.Float64,
}  # fmt: skip
WORDS: dict[str, Any] = {
    "arm": pl.String, "word": pl.String, "pictures": pl.Int64, "predicted": pl.Int64, "correct": pl.Int64,
    "recall": pl.Float64, "precision": pl.Float64, "usual": pl.Float64, "lift": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lifts:
    """The outcomes of contenders on the same resamples, and what follows.

    items      the names of the pictures
    outcomes   one per contender and resample, by the name of the contender
    references by the name of a contender: the one that it is compared with; a reference itself has none
    """

    contenders: tuple[Contender, ...]
    items: tuple[str, ...]
    outcomes: Mapping[str, Sequence[Outcome]]
    references: Mapping[str, str]
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in (*self.references, *self.references.values()):
            refuse_unknown("contender", name, self.names, listed=True)

    @property
    def names(self) -> list[str]:
        """The contenders, in the order given."""
        return [one.name for one in self.contenders]

    @cached_property
    def parts(self) -> list[str]:
        """The parts that were scored."""
        known = {part for found in self.outcomes.values() for one in found for part in one.parts}
        return [part for part in PARTS if part in known]

    @cached_property
    def resamples(self) -> pl.DataFrame:
        """One row per contender, part and resample."""
        rows = []
        for name in self.names:
            for number, one in enumerate(self.outcomes[name], start=1):
                for part, found in one.parts.items():
                    skipped = one.sizes[part] - len(found.at)
                    row = (name, part, number, one.train, len(found.at), skipped, len(one.vocabulary))
                    rows.append((*row, *_means(found)))
        return pl.DataFrame(rows, schema=RESAMPLES, orient="row")

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per contender and part: the mean lift with its interval, corrected and naive standard error."""
        rows = []
        for name in self.names:
            for part in self.parts:
                own = self._own(name, part)
                lift = self._resampled(own["lift"].to_numpy(), own)
                means = (own[column].mean() for column in ("score", "baseline", "normalised"))
                sizes = (own[column].mean() for column in ("train", "pictures", "skipped", "vocabulary"))
                rows.append((name, part, lift.value, lift.lo, lift.hi, lift.se, lift.naive, lift.p, *means, *sizes))
        return pl.DataFrame(rows, schema=SUMMARY, orient="row")

    @cached_property
    def differences(self) -> pl.DataFrame:
        """The lift of each contender minus that of its reference, resample by resample.

        The intervals of all references hold together: each has the confidence 1 - (1 - confidence)/references.
        """
        rows = []
        for name in self.references:
            for part in self.parts:
                other, found = self.against(name, part)
                rows.append((name, other, part, found.value, found.lo, found.hi, found.se, found.naive, found.p))
        return pl.DataFrame(rows, schema=DIFFERENCES, orient="row")

    @cached_property
    def words(self) -> pl.DataFrame:
        """One row per contender and word of the held-out pictures, all resamples together.

        recall = correct / pictures with the word; usual = the recall of the frequencies; lift = recall − usual.
        """
        rows = []
        for name in self.names:
            sums: dict[str, Floats] = {}
            for one in self.outcomes[name]:
                found = one.parts[HELD_OUT]
                counts = np.stack([found.present, found.predicted, found.hit, found.usual], axis=1)
                for word, row in zip(one.vocabulary, counts, strict=True):
                    sums[word] = sums.get(word, np.zeros(4)) + row
            for word, (present, predicted, hit, usual) in sorted(sums.items()):
                recall, base = _ratio(hit, present), _ratio(usual, present)
                counted = (int(present), int(predicted), int(hit))
                rows.append((name, word, *counted, recall, _ratio(hit, predicted), base, recall - base))
        frame = pl.DataFrame(rows, schema=WORDS, orient="row")
        return frame.sort("arm", pl.col("lift").fill_nan(None), descending=[False, True], nulls_last=True)

    @cached_property
    def scores(self) -> Scores:
        """R-precision of every held-out picture, mean over the resamples that held it out: for `endoxa.compare`.

        M words for a picture with M words are the M first of a ranking of which M are relevant: a system is a
        contender, or the most frequent words (FREQUENT), a query is a picture. Intervals are then over pictures, given
        the models, while those of `summary` are over splits.
        """
        frames = [_per_picture(name, self.outcomes[name], "score") for name in self.names]
        frames.append(_per_picture(FREQUENT, self.outcomes[self.names[0]], "baseline"))
        unknown = [pl.lit(None, pl.Float64).alias(column) for column in ("sd", "lo", "hi")]
        whole = pl.concat(frames).with_columns(*unknown, pl.lit(0.0).alias("undefined"))
        names = pl.Series(self.items, dtype=pl.String)
        whole = whole.with_columns(names[whole["at"]].alias("query"))
        none = {column: [0] * len(frames) for column in ("missing", "unknown", "items", "judged", "tied")}
        coverage = pl.DataFrame({"system": [*self.names, FREQUENT], "queries": [one.height for one in frames]} | none)
        return Scores(whole.select(list(Scores.SCHEMA)), Policy(), coverage)

    def difference(self, name: str, other: str, part: str = HELD_OUT, *, confidence: float | None = None) -> Resampled:
        """The mean difference of two contenders over the same resamples."""
        own, theirs = self._own(name, part), self._own(other, part)
        return self._resampled(own["lift"].to_numpy() - theirs["lift"].to_numpy(), own, confidence)

    def against(self, name: str, part: str = HELD_OUT) -> tuple[str, Resampled]:
        """The reference of a contender, and the difference as in `differences`."""
        other = self.references[name]
        confidence = 1 - (1 - self.confidence) / len(self.references)
        return other, self.difference(name, other, part, confidence=confidence)

    @cached_property
    def apart(self) -> Apart:
        """Which contenders the resamples tell apart on held-out pictures; the intervals of all pairs hold together."""
        order, confidence = self.order(), pairwise(len(self.names), self.confidence)
        found = {pair: self.difference(*pair, confidence=confidence) for pair in combinations(order, 2)}
        return Apart(tuple(order), {pair: (one.value, one.lo, one.hi) for pair, one in found.items()})

    def peers(self, name: str) -> Apart:
        """The contender and those that it may be compared with: they have the same reference, or one is the other's.

        The reference of a segmentation has as many regions, so that no lead rests on their number.
        """
        if not self.references:
            return self.apart
        shared = self.references.get(name, name)
        return self.apart.among([one for one in self.names if self.references.get(one, one) == shared])

    def value(self, name: str, part: str = HELD_OUT) -> dict[str, float]:
        """The row of the summary."""
        return self.summary.filter((pl.col("arm") == name) & (pl.col("part") == part)).row(0, named=True)

    def order(self, part: str = HELD_OUT) -> list[str]:
        """The contenders, the greatest lift first."""
        rows = self.summary.filter(pl.col("part") == part)
        return rows.sort("lift", descending=True, nulls_last=True, maintain_order=True)["arm"].to_list()

    def _own(self, name: str, part: str) -> pl.DataFrame:
        return self._parts[name, part]

    @cached_property
    def _parts(self) -> dict[Any, pl.DataFrame]:
        """The resamples of each contender and part, in order."""
        return self.resamples.sort("resample", maintain_order=True).partition_by("arm", "part", as_dict=True)

    def _resampled(self, values: Floats, own: pl.DataFrame, confidence: float | None = None) -> Resampled:
        test, train = (own["pictures"] + own["skipped"]).to_numpy(), own["train"].to_numpy()
        return resampled(values, float(test.mean()), float(train.mean()), confidence=confidence or self.confidence)


def _per_picture(name: str, outcomes: Sequence[Outcome], what: str) -> pl.DataFrame:
    """system, at, measure, value: the mean of each held-out picture over its resamples."""
    held = [one.parts[HELD_OUT] for one in outcomes]
    at, values = (np.concatenate([getattr(one, column) for one in held]) for column in ("at", what))
    frame = pl.DataFrame({"at": at, "value": values}).group_by("at").agg(pl.col("value").mean()).sort("at")
    return frame.select(pl.lit(name).alias("system"), "at", pl.lit(MEASURE).alias("measure"), "value")


def _means(found: Scored) -> tuple[float, float, float, float]:
    """Mean score, baseline, lift and normalised lift of a part; NaN where no picture was scored."""
    if not len(found.at):
        return (np.nan,) * 4
    normal = found.normalised(found.correct) - found.normalised(found.expected)
    kept = normal[np.isfinite(normal)]
    means = float(found.score.mean()), float(found.baseline.mean()), float(found.lift.mean())
    return (*means, float(kept.mean()) if len(kept) else np.nan)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else np.nan
