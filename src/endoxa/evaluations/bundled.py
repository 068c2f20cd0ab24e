"""Runs scored against a benchmark bundle: most likely systems that did not exist when people were asked.

Such a system returns items that nobody was asked about. Therefore every number comes with the share of its lists that
was judged, and where pairs were sampled with known probabilities the estimate weights by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs import models
from endoxa.comparisons.intervals import SUMMARY
from endoxa.errors import CallError, JoinError, TableError, TextError
from endoxa.evaluations import answered, believed
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import Settings
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure, parse_all
from endoxa.notes import Note, note, noted, warning
from endoxa.statistics import propensity
from endoxa.studies import estimates
from endoxa.studies.comparison import Comparison, agreed, attempted
from endoxa.studies.grades import GIVEN, MOVED, cut
from endoxa.tables import COUNTED, Belief, Bundle, Labels, Opinions, Run, Taxonomy

DEPTHS = (10, 100)
THIN = 0.5  # share of judged results below which a warning is due
NEAR = 1e-9  # a calibrated rating so near the threshold is at it: a·x + b rounds
RESAMPLES = 500
FLAT = 1e-9  # an interval that is no wider has no width
DEFAULTS = {
    "opinions": ("P@10", "nDCG@10", "AP"), "sample": ("P@10", "P@100", "R@10", "R@100"),
    "labels": ("P@10", "R@10", "AP"), "categories": ("P@1", "RR", "AP"),
}  # fmt: skip
COLUMN = {"P": "precision", "R": "recall"}  # of the measures that a sample of pairs can estimate
FRAME: dict[str, Any] = SUMMARY | {"by": pl.String, "effective": pl.Float64, "horvitz_thompson": pl.Float64}
COVERAGE: dict[str, Any] = {
    "system": pl.String, "first_10": pl.Float64, "first_100": pl.Float64, "whole": pl.Float64, "queries": pl.Float64,
    "judged": pl.Float64, "of": pl.Int64, "by": pl.String, "effective": pl.Float64, "reached": pl.Float64,
}  # fmt: skip


def evaluate(
    run: Run, bundle: Bundle, measures: Sequence[Measure] | None, settings: Settings, *, calibrated: bool = True
) -> Evaluation:
    """Score systems against everything that a bundle holds, and report how much of their lists was judged.

    opinions  every pair judged (propensity 1, or none given): the share of people whose rating lies above the
              threshold is the probability of relevance, measures as under any belief; unjudged items are not relevant
    sample    some propensity below 1: P@k, R@k and rating@k (mean rating of the first k) weighted by 1/propensity
    labels    the run's queries are items: by example, each category that a query may be meant as is a reading
              (`endoxa.beliefs.taxonomy`); if the results are categories, who filed the item there or below says yes
    answers   weighted displacement against each subject's own order; has no other measures

    The summary has the columns `by` (what the value rests on, one of the above), `effective` (effective sample size)
    and `horvitz_thompson` (unbiased precision of a sample, which counts what could not be drawn as not relevant).
    `tables["coverage"]` has system, first_10, first_100, whole (shares of its results that somebody judged), queries
    (share of the judged queries that it answers), judged and of (how many of how many first results per query), by,
    effective, reached (sample: estimated share of its first 10 that could have been drawn).

    Ratings are calibrated first where the bundle says how.
    Misleads: a new system's lists are judged less than those of the systems at collection time, and where all pairs of
    a pool were judged its values are too low for that reason; a sample has no such bias, as far as it could reach.
    Source: docs/methods/studies.md, Bundles.
    """
    if settings.ties not in {"trec", "input"}:
        raise CallError(f"ties must be trec or input for a benchmark bundle, not {settings.ties!r}")
    bundle, machines = by_people(bundle)
    one = _Scoring(bundle, run, list(measures) if measures else None, calibrated, settings)
    ways: list[tuple[Any, Callable[[], _Part]]] = [
        (bundle.opinions, one.by_opinions), (bundle.labels, one.by_labels), (bundle.answers, one.by_answers),
    ]  # fmt: skip
    parts, strange = [], []
    for source, way in ways:
        if source is None:
            continue
        try:
            parts.append(way())
        except JoinError as error:
            strange.append(error)
    if not parts:
        raise strange[0]
    coverage = pl.concat([part.coverage for part in parts])
    summary = pl.concat([part.frame for part in parts])
    compared = compare(run, bundle, settings)
    notes = [one for part in parts for one in part.notes]
    notes += [note("bundle.strange", reason=str(error)) for error in strange]
    return Evaluation(
        kind="bundle",
        scores=None,
        summary=summary,
        settings=settings,
        tables={"coverage": coverage} | ({"compared": compared.pairs} if isinstance(compared, Comparison) else {}),
        warnings=(
            *(compared.leads if isinstance(compared, Comparison) else ()),
            *_thin(coverage),
            *([warning("bundle.machines", judges=machines)] if machines else []),
        ),
        notes=(
            *coverage_notes(coverage),
            *_beside(compared, summary, bundle),
            *dict.fromkeys(notes),
            note("bundle.intervals", confidence=settings.confidence),
            note("bundle.name", name=bundle.name, task=bundle.task, licence=bundle.licence),
        ),
    )


def by_people(bundle: Bundle) -> tuple[Bundle, list[str]]:
    """The bundle without opinions of machine judges, which are never mixed with those of people; and their names."""
    opinions = bundle.opinions
    machines = [] if opinions is None else opinions.frame.filter(pl.col("kind") == "judge")["source"].unique().to_list()
    if opinions is None or not machines:
        return bundle, []
    rest = opinions.frame.filter(pl.col("kind") != "judge")
    if not rest.height and bundle.labels is None and bundle.answers is None:
        raise JoinError(
            f"the bundle {bundle.name!r} holds grades of machine judges only",
            remedy="give it beside the runs as --judge FILE (judges=)",
        )
    return replace(bundle, opinions=Opinions(rest) if rest.height else None), sorted(machines)


def compare(run: Run, bundle: Bundle, settings: Settings) -> Comparison | Note | None:
    """The systems by the mean rating of their first results, as the dashboard of the study compares them."""
    if bundle.opinions is None:
        return None
    queries = run.frame.select("query").unique().join(bundle.opinions.frame, on="query", how="semi")["query"]
    agreement = agreed(Opinions(bundle.opinions.frame.filter(GIVEN & COUNTED)), confidence=settings.confidence)
    return attempted(
        run, bundle.opinions, scale=bundle.scale, queries=queries.to_list(), confidence=settings.confidence,
        agreement=agreement,
    )  # fmt: skip


def _beside(compared: Comparison | Note | None, summary: pl.DataFrame, bundle: Bundle) -> list[Note]:
    """The comparison in notes: a sentence for each pair, what is compared, and why the headline differs if it does."""
    if not isinstance(compared, Comparison):
        return [] if compared is None else [compared]
    first = summary.filter(pl.col("by").is_in(["opinions", "sample"]) & pl.col("value").is_not_nan())
    if not first.height:
        return []
    headline = first["measure"][0]
    why = compared.against(headline, dict(first.filter(measure=headline).select("system", "value").iter_rows()))
    asked = note("study.headline", measure=headline, threshold=bundle.threshold)
    return [*compared.statements(), compared.estimand, asked, *([why] if why else []), compared.doubts]


def coverage_notes(coverage: pl.DataFrame) -> list[Note]:
    """How far the bundle covers the lists: a note per system and kind of judgment."""
    columns = ("system", "by", "judged", "first_10", "queries", "effective")
    return [
        Note("note", "bundle.coverage", {name: row[name] for name in columns} | {"of_first": row["of"]})
        for row in coverage.iter_rows(named=True)
    ]


@dataclass(frozen=True)
class _Part:
    frame: pl.DataFrame
    coverage: pl.DataFrame
    notes: list[Note]


@dataclass(frozen=True)
class _Scoring:
    """A bundle, a run and settings; one method per kind of judgment."""

    bundle: Bundle
    run: Run
    wanted: list[Measure] | None
    calibrated: bool
    settings: Settings

    def by_opinions(self) -> _Part:
        rows, notes = rated(self.bundle, calibrated=self.calibrated)
        above = threshold_of(self.bundle, calibrated=self.calibrated) + NEAR
        sample = bool((rows["propensity"] < 1).any())
        if sample and (bare := rows["propensity"].null_count()):
            rows = rows.filter(pl.col("propensity").is_not_null())
            notes.append(note("bundle.no_propensity", ratings=bare))
        self._refuse_strangers(rows["query"], self.bundle.items["item"])
        notes += self._left_out(rows["query"])
        if sample:
            return self._by_sample(rows, above, notes)
        votes = rows.with_columns((pl.col("grade") > above).cast(pl.Float64).alias("grade"))
        belief = models.believe(Opinions.of(votes), seed=self.settings.seed)
        coverage = _coverage(self.run, rows.select("query", "item").unique(), rows["query"], "opinions")
        return self._under(belief, self.run, coverage, notes)

    def _by_sample(self, rows: pl.DataFrame, above: float, notes: list[Note]) -> _Part:
        """Weighted by what each pair stands for; relevant is a pair whose mean rating lies above the threshold."""
        wanted = self.wanted or parse_all(DEFAULTS["sample"])
        for m in wanted:
            if m.name not in COLUMN or {name for name, _ in m.settings} != {"k"}:
                raise TextError(
                    f"{m} cannot be estimated from a sample of pairs",
                    remedy="ask for P@k and R@k (rating@k comes with them)",
                )
        sampled, queries = Opinions.of(rows), self.bundle.queries["query"]
        run = Run(self.run.frame.filter(pl.col("query").is_in(queries.implode())), self.run.ties)
        cutoffs = sorted({int(m.keywords()["k"]) for m in wanted})
        curves = estimates.curves(
            run, sampled, threshold=above, cutoffs=cutoffs, resamples=self.settings.resamples or RESAMPLES,
            confidence=self.settings.confidence, rng=np.random.default_rng(self.settings.seed),
        )  # fmt: skip
        asked = [(str(m), COLUMN[m.name], int(m.keywords()["k"])) for m in wanted]
        asked += [(f"rating@{k}", "rating", k) for k in cutoffs]
        pairs = estimates.weights(sampled).filter(pl.col("rating").is_not_null())
        met = run.frame.join(pairs, on=["query", "item"], how="inner")
        counted = met.group_by("system").agg(pl.col("query").n_unique().cast(pl.Int64).alias("queries"))
        frames = [
            curves.points.filter(pl.col("cutoff") == k).select(
                "system",
                pl.lit(name).alias("measure"),
                pl.col(column).alias("value"),
                pl.col(f"{column}_lo").alias("lo"),
                pl.col(f"{column}_hi").alias("hi"),
                pl.col("effective_relevant" if column == "recall" else "effective").alias("effective"),
                (pl.col("horvitz_thompson") if column == "precision" else pl.lit(None, dtype=pl.Float64)).alias(
                    "horvitz_thompson"
                ),
            )
            for name, column, k in asked
        ]
        frame = pl.concat(frames).join(counted, on="system", how="left", maintain_order="left")
        coverage = _coverage(self.run, pairs.select("query", "item", "weight"), rows["query"], "sample")
        return _Part(
            _filled(frame.sort(_order(run, frame), maintain_order=True), "sample"),
            coverage,
            [note("bundle.sample"), *notes, *map(noted, curves.notes)],
        )

    def by_labels(self) -> _Part:
        labels, taxonomy = self.bundle.labels, self.bundle.taxonomy
        assert labels is not None
        notes = list[Note]()
        if taxonomy is None:
            categories = labels.frame["category"].unique().sort()
            taxonomy = Taxonomy.of(pl.DataFrame({"category": categories}).with_columns(pl.lit(None).alias("parent")))
            notes.append(note("bundle.no_taxonomy"))
        results = self.run.frame["item"].unique()
        known = taxonomy.categories
        if results.is_in(known).sum() > results.is_in(self.bundle.items["item"].implode()).sum():
            self._refuse_strangers(labels.frame["item"], pl.Series(known), "labels")
            coverage = _coverage(self.run, pl.DataFrame({"item": known}), labels.frame["item"], "categories")
            notes.append(note("bundle.categories"))
            belief = models.believe(_filings(labels, taxonomy, self.run), seed=self.settings.seed)
            return self._under(belief, self.run, coverage, notes + self._left_out(labels.frame["item"]))
        self._refuse_strangers(labels.frame["item"], self.bundle.items["item"], "labels")
        run = Run.of(self.run.frame.filter(pl.col("query") != pl.col("item")), ties=self.run.ties)
        if len(run) < len(self.run):
            notes.append(note("bundle.itself"))
        queries = _queries(labels, taxonomy, run)
        belief = models.believe(labels, taxonomy=taxonomy, seed=self.settings.seed, queries=queries)
        coverage = _coverage(run, labels.frame.select("item").unique(), labels.frame["item"], "labels")
        return self._under(belief, run, coverage, notes + self._left_out(labels.frame["item"]))

    def by_answers(self) -> _Part:
        answers = self.bundle.answers
        assert answers is not None
        if self.wanted is not None and self.bundle.opinions is None and self.bundle.labels is None:
            named = ", ".join(map(str, self.wanted))
            raise TextError("subjects' answers have their own measure, the displacement", remedy=f"remove {named}")
        self._refuse_strangers(answers.frame["query"], self.bundle.items["item"])
        evaluation = answered.evaluate(self.run, answers, self.settings)
        coverage = _coverage(
            self.run, answers.frame.select("query", "item").unique(), answers.frame["query"], "answers"
        )
        notes = [*evaluation.notes, *self._left_out(answers.frame["query"])]
        return _Part(_filled(evaluation.summary, "answers"), coverage, notes)

    def _under(self, belief: Belief, run: Run, coverage: pl.DataFrame, notes: list[Note]) -> _Part:
        """Measures under a belief, with all doubts in the intervals."""
        by = coverage["by"][0]
        measures = self.wanted or parse_all(DEFAULTS[by])
        evaluation = believed.evaluate(run, belief, measures, self.settings.changed(ties=run.ties))
        warned = [one._replace(kind="note") for one in evaluation.warnings]  # those of the bundle are about coverage
        notes = [*notes, *belief.notes, *warned, note("bundle.unjudged")]
        return _Part(_filled(evaluation.summary, by), coverage, notes)

    def _refuse_strangers(self, queries: pl.Series, items: pl.Series, what: str = "") -> None:
        """A system that has nothing to do with the bundle."""
        named = "its queries are items, named as in items.csv" if what == "labels" else "name queries as in queries.csv"
        more = " or the categories" if what == "labels" else ""
        for column, known, remedy in (
            ("query", queries, named),
            ("item", items, f"name results as in items.csv{more}"),
        ):
            pairs = self.run.frame.select("system", column).unique(maintain_order=True)
            met = pairs.filter(pl.col(column).is_in(known.implode()))["system"].unique()
            if len(met) < len(self.run.systems):
                stranger = next(system for system in self.run.systems if system not in met)
                mine = pairs.filter(pl.col("system") == stranger)[column].sort()
                raise JoinError(
                    f"the run {stranger!r} and the bundle {self.bundle.name!r} share no {column}: the run has "
                    f"{_some(mine)}, the bundle {_some(known.unique().sort())}",
                    remedy=f"{remedy} of the bundle",
                )

    def _left_out(self, queries: pl.Series) -> list[Note]:
        mine = self.run.frame["query"].unique()
        strangers = len(mine) - int(mine.is_in(queries.implode()).sum())
        return [note("bundle.left_out", queries=strangers)] if strangers else []


def threshold_of(bundle: Bundle, *, calibrated: bool = True) -> float:
    """The rating above which is relevant: the bundle's, or halfway to the next grade where ratings are calibrated."""
    if bundle.opinions is None or bundle.calibration is None or not calibrated:
        return bundle.threshold
    return cut(bundle.threshold, bundle.opinions.frame.filter(GIVEN & ~MOVED)["grade"].to_numpy())


def rated(bundle: Bundle, *, calibrated: bool = True) -> tuple[pl.DataFrame, list[Note]]:
    """The opinions that count, calibrated where the bundle says how: rows as in Opinions, and what was done.

    Rows of practice, gold and attention tasks do not count, nor undecided ones; negative grades on a scale that has
    none mean not judged.
    """
    if bundle.opinions is None:
        raise TableError(f"the bundle {bundle.name!r} holds no opinions")
    lo, hi = bundle.scale
    done = pl.col("scale").fill_null("").str.starts_with("calibrated")
    rows = bundle.opinions.frame.filter(COUNTED)
    rows = rows.filter((pl.col("grade") >= min(lo, 0.0)) | done | pl.col("grade").is_null())
    decided = rows.filter(pl.col("grade").is_not_null())
    if not decided.height:
        raise JoinError(f"nobody has rated anything in the bundle {bundle.name!r}: all rows are undecided or practice")
    above = threshold_of(bundle, calibrated=calibrated)
    notes = [note("bundle.threshold", above=above, threshold=bundle.threshold, scale=[lo, hi])]
    if undecided := rows.height - decided.height:
        notes.append(note("bundle.undecided", answers=undecided))
    if bundle.calibration is None or not calibrated:
        return decided, notes
    maps = bundle.calibration.select("source", "a", "b")
    moved = decided.join(maps, on="source", how="left", maintain_order="left")
    bare = moved.filter(pl.col("a").is_null())["source"].n_unique()
    several = moved["source"].n_unique()
    notes.append(note("bundle.calibrated", raters=several - bare, bare=bare))
    value = pl.when(done | pl.col("a").is_null()).then("grade").otherwise(pl.col("a") * pl.col("grade") + pl.col("b"))
    return moved.with_columns(value.alias("grade")).drop("a", "b"), notes


def _coverage(run: Run, pairs: pl.DataFrame, queries: pl.Series, by: str) -> pl.DataFrame:
    """How much of each system's lists is among the pairs (query and item, or item alone), over the judged queries."""
    judged = queries.unique()
    lists = run.frame.filter(pl.col("query").is_in(judged.implode()))
    keys = [name for name in ("query", "item") if name in pairs.columns]
    lists = lists.join(pairs.with_columns(pl.lit(True).alias("seen")), on=keys, how="left", maintain_order="left")
    seen, rank = pl.col("seen").fill_null(False), pl.col("rank")
    depth = max(1, min(DEPTHS[-1], int(lists["rank"].max() or 1)))  # type: ignore[arg-type]
    shares = [seen.filter(rank <= k).mean().alias(f"first_{k}") for k in DEPTHS]
    columns = [
        (pl.col("query").n_unique() / max(len(judged), 1)).alias("queries"), *shares, seen.mean().alias("whole"),
        (seen.filter(rank <= depth).sum() / pl.col("query").n_unique()).alias("judged"),
    ]  # fmt: skip
    if "weight" in pairs.columns:
        w = pl.col("weight").filter(seen)
        columns.append((w.sum() ** 2 / (w**2).sum()).fill_nan(0.0).alias("effective"))
        columns.append((w.filter(rank.filter(seen) <= DEPTHS[0]).sum() / (rank <= DEPTHS[0]).sum()).alias("reached"))
    table = lists.group_by("system", maintain_order=True).agg(columns)
    return _shaped(table.with_columns(pl.lit(by).alias("by"), pl.lit(depth).alias("of")), COVERAGE)


def _thin(coverage: pl.DataFrame) -> list[Note]:
    """When little of a list was judged."""
    notes = []
    for row in coverage.iter_rows(named=True):
        share, system = row["first_10"], row["system"]
        if row["queries"] < THIN:
            notes.append(warning("bundle.few_queries", system=system, queries=row["queries"]))
        if share >= THIN:
            continue
        if row["by"] == "sample":
            notes.append(warning("bundle.thin_sample", share=share, system=system, least=propensity.LEAST))
            if row["reached"] < THIN:
                notes.append(warning("bundle.out_of_reach", share=row["reached"], system=system))
        else:
            notes.append(warning("bundle.thin", share=1 - share, system=system, by=row["by"]))
    return notes


def _filings(labels: Labels, taxonomy: Taxonomy, run: Run) -> Opinions:
    """Who filed an item in a category or below says yes to the category, and no to others that were named for it."""
    above = [(name, one) for name, many in taxonomy.ancestors.items() for one in many if one != taxonomy.root]
    up = pl.DataFrame(above, schema={"category": pl.String, "above": pl.String}, orient="row")
    known = labels.frame.filter(pl.col("category").is_in(taxonomy.categories))
    if known.height < len(labels):
        name = labels.frame.filter(~pl.col("category").is_in(taxonomy.categories))["category"][0]
        raise TableError(f"category {name!r} of the labels is not in the taxonomy", remedy="enter it there")
    known = known.filter(pl.col("item").is_in(run.frame["query"].unique().implode())).rename({"item": "query"})
    yes = known.join(up, on="category").select("source", "query", pl.col("above").alias("item")).unique()
    asked = known.select("source", "query").unique().join(yes.select("query", "item").unique(), on="query")
    rows = asked.join(yes.with_columns(pl.lit(1.0).alias("grade")), on=["source", "query", "item"], how="left")
    return Opinions.of(rows.with_columns(pl.col("grade").fill_null(0.0)).sort("source", "query", "item"))


def _queries(labels: Labels, taxonomy: Taxonomy, run: Run) -> list[str]:
    """Items that the run asks by, and that somebody filed below the root."""
    filed = labels.frame.filter(pl.col("category") != taxonomy.root)["item"].unique()
    asked = run.frame["query"].unique()
    found = asked.filter(asked.is_in(filed.implode())).sort().to_list()
    if not found:
        raise JoinError("the queries of the run are items that nobody filed below the root: there is nothing to go by")
    return found


def _filled(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """The columns of a benchmark; an unknown error is NaN, for null would say that there can be none.

    An interval without width is none: it says that all resamples were alike, not that the value is certain.
    """
    frame = frame.with_columns(pl.lit(by).alias("by"))
    table = _shaped(frame, FRAME)
    flat = pl.col("hi") - pl.col("lo") <= FLAT
    table = table.with_columns(pl.when(~flat).then(pl.col("lo", "hi")))
    return table.with_columns(
        pl.col("value", "lo", "hi", "se").fill_null(float("nan")), pl.col("queries", "undefined").fill_null(0)
    )


def _shaped(frame: pl.DataFrame, schema: dict[str, Any]) -> pl.DataFrame:
    absent = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    return frame.with_columns(absent).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _order(run: Run, frame: pl.DataFrame) -> pl.Series:
    """The place of each row's system in the run."""
    return frame["system"].replace_strict(run.systems, list(range(len(run.systems))), return_dtype=pl.Int64)


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
