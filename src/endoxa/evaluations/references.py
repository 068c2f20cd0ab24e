"""What runs are scored against. The kind of a reference is decided here, once, from the table that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from endoxa.errors import CallError, JoinError, TableError
from endoxa.evaluations.settings import Kind, Settings
from endoxa.frozen import dataclass
from endoxa.later import pl
from endoxa.measures.grammar import Measure, Wanted, parse_all
from endoxa.measures.judgments import refuse_all_relevant
from endoxa.measures.preference_judgments import Preferences
from endoxa.tables import Answers, Belief, Bundle, Gradings, Labels, Opinions, Run, Taxonomy

Referred = Opinions | Preferences | Belief | Labels | Answers | Bundle
DEFAULT_MEASURES: dict[Kind, tuple[str, ...]] = {
    "judgments": ("AP", "nDCG@10", "P@10", "RR", "Bpref", "Judged@10"),
    "preferences": ("prefs_simp", "prefs_pair", "prefs_avgjg"), "opinions": ("AP", "nDCG@10", "P@10", "RR"),
    "sample": ("AP", "nDCG@10", "P@10"),
    "belief": ("AP", "nDCG@10", "P@10", "RR"), "consensus": ("AP", "nDCG@10", "P@10", "RR"),
    "votes": ("SetP", "SetR", "SetF"),
}  # fmt: skip
COMPARED = ("AP", "nDCG@10")  # what `compare` compares by, where nothing is named
# Where expected grades are taken as grades; measures that count items of a least grade make no sense then.
PLUGIN_MEASURES: dict[Kind, tuple[str, ...]] = {
    "votes": ("GradedP", "GradedR", "GradedF"), "consensus": ("nDCG@10", "GradedP@10"), "belief": ("nDCG@10",),
    "opinions": ("nDCG@10",),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Reference:
    """A table that runs are scored against, and its kind.

    consensus    nothing was given: the systems themselves vote
    judgments    one grade per query and item (or each assessor scored separately)
    preferences  which of two items is better
    opinions     opinions or labels of people that a model turns into a belief
    belief       probabilities of relevance
    sample       a few judged pairs beside the runs, or grades of machine judges, or both: the relevance of all other
                 pairs is learned from them; `table` has the judged pairs, `judges` the grades of machine judges
    votes        yes, no or unknown of systems on named items
    answers      each subject's own ranked answer
    bundle       a benchmark in one file
    """

    kind: Kind
    table: Referred | None = None
    taxonomy: Taxonomy | None = None
    judges: Gradings | None = None

    @classmethod
    def of(cls, table: Referred | None, settings: Settings, taxonomy: Taxonomy | None = None) -> Reference:
        """The reference in a table. Opinions are judgments unless a model is named, or machine judges gave them."""
        if taxonomy is not None and not isinstance(table, Labels):
            raise CallError("a taxonomy goes with labels (source, item, category)", remedy="give a file of labels too")
        if isinstance(table, Opinions) and table.by_machines:
            return cls("sample", judges=_gradings(table, settings))
        kind = _kind(table, settings)
        if kind == "judgments" and isinstance(table, Opinions):
            _refuse_several(table, settings)
        return cls(kind, table, taxonomy)

    def measures(self, wanted: Wanted | None, settings: Settings, *, compared: bool = False) -> list[Measure]:
        """The measures asked for, or the default ones of this kind of reference (fewer for comparisons), parsed."""
        named: Wanted = [] if wanted is None else wanted if isinstance(wanted, str | Measure) else list(wanted)
        if not named:
            usual = DEFAULT_MEASURES[self.kind]
            named = PLUGIN_MEASURES.get(self.kind, usual) if settings.plugin else usual
            named = [name for name in named if not compared or "AP" not in named or name in COMPARED]
        measures = parse_all(named, rel=settings.rel)
        if isinstance(self.table, Opinions) and self.kind in {"judgments", "opinions"}:
            refuse_all_relevant(self.table, _least_grades(measures))
        return measures


def _gradings(opinions: Opinions, settings: Settings) -> Gradings:
    """The opinions of machine judges, which no model of people's opinions takes."""
    if settings.model not in {None, "learned"}:
        raise CallError(
            f"the model {settings.model} is for opinions of people, and these are of machine judges",
            remedy="leave the model out: labels of people then show how far to trust the machine judges",
        )
    return Gradings.of_opinions(opinions)


def _kind(table: Referred | None, settings: Settings) -> Kind:
    if table is None:
        return "consensus"
    if isinstance(table, Opinions):
        if table.judged is None and set(table.frame["kind"]) == {"system"} and settings.model is None:
            return "votes"
        return "opinions" if settings.model is not None else "judgments"
    if isinstance(table, Labels):
        return "opinions"
    if isinstance(table, Belief):
        return "belief"
    if isinstance(table, Preferences):
        return "preferences"
    if isinstance(table, Answers):
        return "answers"
    if isinstance(table, Bundle):
        return "bundle"
    raise TableError(
        f"a {type(table).__name__} is not something to score against",
        remedy="give judgments, preferences, a belief, labels, answers or a bundle",
    )


def _refuse_several(opinions: Opinions, settings: Settings) -> None:
    """Several people judged the same pair: whoever asks must say what to make of it."""
    if settings.assessors == "mean" or opinions.judged is not None:
        return
    if not opinions.frame.select("query", "item").is_duplicated().any():
        return
    raise JoinError(
        f"{len(opinions.sources)} people judged the same pairs",
        remedy="score each of them separately (assessors=mean, --assessors mean) or turn their opinions into a belief "
        "(model=votes, --model votes or dawid-skene)",
    )


def _least_grades(measures: Sequence[Measure]) -> list[float]:
    grades = [m.keywords().get("rel", 1.0) for m in measures if "rel" in m.definition.settings]
    return [grade for grade in grades if grade is not None]


def voters(votes: Opinions) -> Run:
    """What each system said yes to, as lists without an order: all scores are equal. A list of noes is empty."""
    named = votes.frame.select(pl.col("source").alias("system"), "query", "item", "grade")
    yes, lists = named.filter(pl.col("grade") > 0), ["system", "query"]
    none = named.select(lists).unique(maintain_order=True).join(yes, on=lists, how="anti", maintain_order="left")
    return replace(Run.of(yes.drop("grade").with_columns(score=pl.lit(0.0))), empty=tuple(none.iter_rows()))
