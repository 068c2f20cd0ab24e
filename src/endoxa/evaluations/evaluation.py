"""An evaluation: one value that every surface reads (command line, page, notebook, server)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from endoxa.comparisons.intervals import frame_of
from endoxa.evaluations import sentences
from endoxa.evaluations.settings import DOUBTED, Kind, Settings
from endoxa.evaluations.standings import contenders, headline
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.measures.grammar import Measure, parse
from endoxa.notes import BEFORE, Note, plain, texts
from endoxa.policies import Policy
from endoxa.tables.checks import Later, finite, pandas_of

if TYPE_CHECKING:
    from endoxa.comparisons.forecast import Forecast
    from endoxa.pools.deciding import Deciding, Question
    from endoxa.tables import Belief, Comparison, Costs, Scores


@dataclass(frozen=True)
class File:
    """A file that was read: its name, size in bytes, SHA-256, and what it was taken for (run, judgments)."""

    name: str
    size: int
    sha256: str
    kind: str = ""


@dataclass(frozen=True, eq=False)
class Evaluation(Later):
    """Which system is better, and how sure that is.

    kind        what the runs were scored against
    scores      one value per system, query and measure; None where a method has no values per query (answers, samples)
    summary     system, measure, value, lo, hi, se, queries, undefined; under doubt also p_best; in a consensus also
                without_own_vote and unique; from a bundle also by, effective, horvitz_thompson
    compared    the pairwise comparison, or a function that makes it; read `comparison`
    deciding    makes the pairs that the answer rests on, of a measure and its best system; None: `comparison` has them
    decider     puts a question to the labels; None where nothing was learned from labels
    forecast    how many more labels settle who is best, or a function that says so; read `further`
    doubts      system, doubt, variance, share: where the doubt about the first measure comes from
    tables      further tables by name: depths, curves, coverage, orders, power, pairs, estimates, calibration …
    warnings    what to know before trusting the numbers
    notes       how the numbers were made
    baseline    the system that all others are compared with, if one was named
    virtual     the virtual system that returns everything (⊤), which is scored but is not a contender
    wanted      the measures as they were asked for, parsed; not written to files
    drawn       draws the first figure as SVG, for a notebook; what evaluates is below what draws
    details     what only one kind of evaluation has (agreement and maps of ratings, the gallery of a contest)
    """

    kind: Kind
    scores: Scores | None
    summary: pl.DataFrame
    settings: Settings = field(default_factory=Settings)
    belief: Belief | None = None
    compared: Comparison | Callable[[], Comparison | None] | None = None
    deciding: Callable[[str, str], Comparison | None] | None = None
    decider: Callable[[Question], Deciding] | None = None
    forecast: Forecast | Callable[[], Forecast | None] | None = None
    doubts: pl.DataFrame | None = None
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    warnings: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    baseline: str | None = None
    virtual: str | None = None
    title: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    costs: Costs | None = None
    wanted: tuple[Measure, ...] = ()
    details: Any = None
    drawn: Callable[[Evaluation], str] | None = None

    BESIDE: ClassVar[tuple[str, ...]] = ("rows",)

    @classmethod
    def of_rows(cls, rows: list[dict[str, Any]], **values: Any) -> Evaluation:
        """An evaluation whose summary has these rows; its frame is made when it is first read."""
        evaluation = cls.later({"summary": partial(frame_of, rows)}, **values)
        evaluation.__dict__["rows"] = rows
        return evaluation

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the summary."""
        return self.summary.to_dicts()

    @cached_property
    def comparison(self) -> Comparison | None:
        """Every pair of systems: difference, interval, test or P(better). Made when first asked for: tests are slow."""
        return self.compared() if callable(self.compared) else self.compared

    @cached_property
    def decisive(self) -> Comparison | None:
        """The pairs that the answer rests on: those of the headline measure."""
        if self.deciding is None:
            return self.comparison
        measure = headline(self)
        return self.deciding(measure, contenders(self, measure)[0].system)

    @cached_property
    def further(self) -> Forecast | None:
        """How many more labels would settle who is best; None where that is unknown."""
        return self.forecast() if callable(self.forecast) else self.forecast

    @property
    def is_modelled(self) -> bool:
        """Whether values and probabilities are those of the learned belief: runs alone, or with labels beside them."""
        return self.kind == "sample" or (self.kind == "consensus" and "consensus" in self.summary.columns)

    @property
    def measures(self) -> list[str]:
        """Names of the measures, in the order asked for."""
        return list(dict.fromkeys(row["measure"] for row in self.rows))

    @property
    def systems(self) -> list[str]:
        """The contenders, in the order given."""
        return [name for name in dict.fromkeys(row["system"] for row in self.rows) if name != self.virtual]

    @property
    def policy(self) -> Policy:
        """The choices that every number rests on."""
        return self.settings.policy if self.scores is None else self.scores.policy

    @property
    def confidence(self) -> float:
        """Confidence level of the intervals."""
        return self.settings.confidence

    @property
    def in_doubt(self) -> bool:
        """Whether the truth is in doubt: values are then expectations."""
        return self.kind in DOUBTED

    @cached_property
    def lower(self) -> tuple[str, ...]:
        """Measures of which small values are better."""
        if self.scores is None:
            return ("ranks off",) if self.kind == "answers" else ()
        return tuple(name for name in self.scores.measures if parse(name).definition.lower)

    @cached_property
    def unbounded(self) -> tuple[str, ...]:
        """Measures without a least or a greatest value."""
        return () if self.scores is None else tuple(unbounded(self.scores.measures))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What the evaluation says in words; the first one is the answer, which says first if judges do not agree."""
        first, *more = sentences.sentences(self)
        before = texts([one for one in self.warnings if one.code in BEFORE])
        return (" ".join([*before, first]), *more)

    def to_polars(self) -> pl.DataFrame:
        """The summary."""
        return self.summary

    def to_pandas(self) -> Any:
        """The summary as a pandas frame (needs pandas)."""
        return pandas_of(self.summary)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the scores per query as plain values that JSON can hold; NaN becomes None."""
        pairs = self.comparison
        frames = {"summary": self.summary, "comparison": None if pairs is None else pairs.frame, "doubts": self.doubts}
        rows = {name: None if frame is None else frame.to_dicts() for name, frame in frames.items()}
        values: dict[str, Any] = finite(
            {"kind": self.kind, "title": self.title, "sentences": self.sentences}
            | rows
            | {
                "tables": {name: frame.to_dicts() for name, frame in self.tables.items()},
                "warnings": texts(self.warnings),
                "notes": texts(self.notes),
                "facts": {"warnings": plain(self.warnings), "notes": plain(self.notes)},
                "policy": asdict(self.policy),
                "settings": asdict(self.settings),
                "provenance": dict(self.provenance),
                "files": [asdict(file) for file in self.files],
            }
        )
        return values

    def __repr__(self) -> str:
        """The answer, and the table that it rests on."""
        return f"{self.sentences[0]}\n{self.summary}"

    def _repr_html_(self) -> str:
        from endoxa.evaluations import notebook

        return notebook.html(self)


def unbounded(measures: Iterable[str]) -> list[str]:
    """The measures whose mean has an interval, and that have no least or no greatest value to bound it."""
    known = [(name, parse(name).definition) for name in measures]
    return [name for name, one in known if one.aggregate != "sum" and not math.isfinite(one.high - one.low)]
