"""Bundles: benchmarks with items, queries and judgments."""

from __future__ import annotations

import math
import re
from datetime import datetime
from pathlib import PureWindowsPath
from typing import Literal, get_args

from endoxa.errors import TableError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.tables.answers import Answers
from endoxa.tables.checks import cast, refuse_null, require
from endoxa.tables.opinions import Opinions
from endoxa.tables.run import Run
from endoxa.tables.taxonomy import Labels, Taxonomy

Task = Literal["search", "classification"]
SHA256 = re.compile(r"[0-9a-f]{64}")
LISTED = ("text", "file", "sha256")
TEXTS = ("name", "title", "task", "licence", "screen", "made")
PARTS = ("opinions", "labels", "answers", "taxonomy", "calibration", "draws", "runs")


@dataclass(frozen=True, eq=False)
class Bundle:
    """A benchmark: items, queries, judgments of people, and the settings needed to use them.

    threshold    a rating above it is relevant; `scale` has the least and the greatest possible rating
    items        item, text, file, sha256; `queries` has the same columns with query instead of item. A file is named as
                 in the collection. The zip may contain it; otherwise its hash shows whether a copy is the same
    calibration  source, a, b and any other columns: the rating x of a source is mapped to a·x + b
    draws        how pairs were drawn, as recorded by the study
    runs         runs of the systems that existed when the judgments were collected
    made         date, or date and time, in ISO format

    Names of sources are kept unchanged: replace them by pseudonyms first.
    """

    name: str
    title: str
    task: Task
    licence: str
    screen: str
    scale: tuple[float, float]
    threshold: float
    items: pl.DataFrame
    queries: pl.DataFrame
    made: str
    opinions: Opinions | None = None
    labels: Labels | None = None
    answers: Answers | None = None
    taxonomy: Taxonomy | None = None
    calibration: pl.DataFrame | None = None
    draws: pl.DataFrame | None = None
    runs: Run | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in TEXTS:
            value = getattr(self, field)
            if not isinstance(value, str) or (not value.strip() and field in {"name", "made"}):
                raise TableError(f"{field} of a bundle must be a text, not {value!r}")
        if self.task not in get_args(Task):
            hint = did_you_mean(self.task, get_args(Task))
            raise TableError(f"task of a bundle must be search or classification, not {self.task!r}", remedy=hint)
        lo, hi = self.scale
        if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi):
            raise TableError(f"the scale must go from the least to the greatest rating, not from {lo} to {hi}")
        if not lo <= self.threshold <= hi:
            raise TableError(f"the threshold {self.threshold} is outside the scale from {lo:g} to {hi:g}")
        try:
            datetime.fromisoformat(self.made)
        except ValueError:
            raise TableError(f"made must be a date like 2026-03-01, not {self.made!r}") from None
        object.__setattr__(self, "items", _listed(self.items, "item"))
        object.__setattr__(self, "queries", _listed(self.queries, "query"))
        if self.calibration is not None:
            object.__setattr__(self, "calibration", _calibration(self.calibration))
        if self.opinions is None and self.labels is None and self.answers is None:
            raise TableError(
                "the bundle has no opinions, labels or answers", remedy="add one of them, so that runs can be scored"
            )
        self._refuse_strangers()

    def _refuse_strangers(self) -> None:
        """Refuse opinions, labels and answers about items or queries that are not listed."""
        for name in ("opinions", "labels", "answers"):
            table = getattr(self, name)
            for column, kind, known in (("item", "items", self.items), ("query", "queries", self.queries)):
                if table is None or column not in table.frame.columns:
                    continue
                strangers = table.frame.select(column).unique().join(known, on=column, how="anti").sort(column)
                if strangers.height:
                    first = strangers[column][0]
                    raise TableError(
                        f"{column} {first!r} of the {name} is not in the table of {kind}", remedy="list it there"
                    )

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows of each table."""
        frames = {"items": self.items, "queries": self.queries, **self.tables}
        return {name: frame.height for name, frame in frames.items()}

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Frames other than items and queries, by name."""
        found = {name: getattr(self, name) for name in PARTS}
        return {
            name: table if isinstance(table, pl.DataFrame) else table.frame
            for name, table in found.items()
            if table is not None
        }


def _listed(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """Check item (or query), text, file, sha256: each name occurs once, and each file is in the collection."""
    table = f"table of {'items' if key == 'item' else 'queries'}"
    require(frame, (key,), table)
    frame = frame.with_columns(
        pl.lit(None, dtype=pl.String).alias(name) for name in LISTED if name not in frame.columns
    )
    frame = cast(frame.select(key, *LISTED), dict.fromkeys((key, *LISTED), pl.String), table)
    refuse_null(frame, (key,), table)
    if (twice := frame.filter(frame[key].is_duplicated())).height:
        raise TableError(f"{key} {twice[key][0]!r} occurs twice in the {table}", remedy="list it once")
    for digest in frame["sha256"].drop_nulls().unique(maintain_order=True):
        if not SHA256.fullmatch(digest):
            raise TableError(f"sha256 in the {table} must be 64 hexadecimal digits, not {digest!r}")
    for file in frame["file"].drop_nulls().unique(maintain_order=True):
        outside = file.startswith(("/", "\\")) or PureWindowsPath(file).drive or ".." in re.split(r"[/\\]", file)
        if outside or not file.strip() or "\0" in file:
            raise TableError(
                f"file {file!r} in the {table} is outside the collection", remedy="give its path within the collection"
            )
    return frame


def _calibration(frame: pl.DataFrame) -> pl.DataFrame:
    require(frame, ("source", "a", "b"), "table of calibrations")
    frame = cast(frame, {"source": pl.String, "a": pl.Float64, "b": pl.Float64}, "table of calibrations")
    refuse_null(frame, ("source", "a", "b"), "table of calibrations")
    if frame["source"].is_duplicated().any():
        raise TableError(
            f"source {frame.filter(frame['source'].is_duplicated())['source'][0]!r} is calibrated twice",
            remedy="keep one row",
        )
    wrong = frame.filter(~(pl.col("a").is_finite() & pl.col("b").is_finite() & (pl.col("a") > 0)))
    if wrong.height:
        raise TableError(
            f"calibration of {wrong['source'][0]!r}: a = {wrong['a'][0]}, b = {wrong['b'][0]}",
            remedy="expected numbers, with a above 0, because a calibration must keep the order of the ratings",
        )
    return frame
