"""Pipelines that read pages, compared by consensus and, where transcriptions exist, by truth.

The second study of Lamiroy and Sun: its Table 6 has precision and recall by truth, its Tables 7 and 8 those by the
consensus of the pipelines, with what they found as bags of words (Method I) and aligned in order (Method II).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs.alignment import Outputs, aligned, bag_of_words
from endoxa.beliefs.consensus import Weights
from endoxa.comparisons.orders import query_weights, tau_interval, weighted_means
from endoxa.comparisons.winners import Apart, apart
from endoxa.documents.defaults import NEAR
from endoxa.errors import JoinError, TableError
from endoxa.evaluations import dispatch
from endoxa.evaluations.consensus import LONELY
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.references import Reference, voters
from endoxa.evaluations.settings import Settings
from endoxa.formatting import counted, listed, number
from endoxa.frozen import dataclass
from endoxa.measures.grammar import parse_all
from endoxa.statistics.bootstrap import TINY
from endoxa.tables import Floats, Opinions, Run

TRUTH, BAG, ALIGNED = "truth", "Method I", "Method II"
MEANINGS = {
    TRUTH: "by the transcriptions: what was found is right if the transcription has it, as often as it has it",
    BAG: "by consensus, in any order: the j-th occurrence of a word is right to the degree that the pipelines agree "
    "on it",
    ALIGNED: "by consensus, in order: the outputs are aligned, and a word in another place is another word",
}
PRECISION, RECALL, F1 = "precision", "recall", "F1"
MEASURES = {PRECISION: "GradedP", RECALL: "GradedR", F1: "GradedF"}
NOTHING = {PRECISION: np.nan, RECALL: 0.0, F1: 0.0}  # of a pipeline that found nothing
RESAMPLES = 1000  # of the pages, for the interval of tau
DRAWS = 2000  # of the pages, for P(better)
LEAST = 6  # pages below which only the pages won are counted: no interval and no P(better)
FEW = 10  # pages below which intervals over pages say too little
VOTERS = 4  # pipelines below which a consensus rests on too few votes
NAMED = 4  # pages that a warning names before it only counts them
ON_RECALL = (
    "Do not trust the order by consensus recall, nor by consensus F1, which contains it. Recall divides by everything "
    "that any pipeline found, errors included, so that it favours pipelines that put out more; on composed letters the "
    "best reader by far (RapidOCR) is first by consensus precision, and not by recall. Lead with precision."
)
ONLY_ORDERS = (
    "A consensus narrows differences: compare the orders of the ways, not their numbers. In the source the gap between "
    "Otsu and Sauvola shrinks to 28 % of the true one."
)
PAIRS: dict[str, Any] = {
    "way": pl.String, "measure": pl.String, "pipeline": pl.String, "other": pl.String, "difference": pl.Float64,
    "lo": pl.Float64, "hi": pl.Float64, "p_better": pl.Float64, "won": pl.Int64, "lost": pl.Int64, "pages": pl.Int64,
}  # fmt: skip
_TYPED = "\0truth"  # the transcriptions, as one more output; no pipeline has such a name


@dataclass(frozen=True)
class PipelineStudy:
    """Pipelines compared in two or three ways.

    pipelines in the order given
    pages     the pages that every pipeline has read, and that are compared
    judged    those of them that have a transcription
    ways      the evaluation by each way; `Method I` and `Method II`, and `truth` if there are transcriptions
    values    way, measure, pipeline, value, lo, hi, pages, undefined: means over pages with intervals; the pipeline ⊤
              returns everything that any pipeline found
    taus      way, measure, tau, lo, hi: Kendall's tau-b of the order by that way and by truth, on the same pages
    agreed    page, share: of what was found on a page, how much all pipelines found
    pairs     way, measure, pipeline, other, difference, lo, hi, p_better, won, lost, pages: every two pipelines, page
              by page. The intervals of all pairs of a measure hold together; `p_better` is the share of resamples of
              the pages in which `pipeline` has the greater mean, ties counted half. Below six pages all three are NaN
    compared  the same by way and measure, for sentences
    """

    pipelines: tuple[str, ...]
    pages: tuple[str, ...]
    judged: tuple[str, ...]
    ways: Mapping[str, Evaluation]
    values: pl.DataFrame
    taus: pl.DataFrame
    agreed: pl.DataFrame
    warnings: tuple[str, ...]
    pairs: pl.DataFrame
    compared: Mapping[tuple[str, str], Apart]

    @property
    def virtual(self) -> str | None:
        """The name of the virtual pipeline that returns everything."""
        return self.ways[BAG].virtual

    def means(self, way: str, measure: str) -> dict[str, float]:
        """The mean of every pipeline."""
        rows = self.values.filter(
            (pl.col("way") == way) & (pl.col("measure") == measure) & (pl.col("pipeline") != (self.virtual or ""))
        )
        return dict(rows.select("pipeline", "value").iter_rows())


def compare_pipelines(
    outputs: Outputs, transcriptions: Mapping[str, Sequence[str]] | None = None, *, near: float | None = NEAR,
    weights: Weights | Mapping[str, float] = "cluster", confidence: float = 0.95, seed: int = 0,
) -> PipelineStudy:  # fmt: skip
    """Compare what pipelines found, {pipeline: {page: items in order}}, by consensus and by transcriptions.

    Precision is Σ P over what a pipeline found / its number, recall Σ P / Σ P of everything that any pipeline found
    (Lamiroy and Sun, eqs 11 and 12), both per page and then averaged over pages; P is the consensus, or 1 and 0 by
    truth, where recall divides by the transcription. Numbers are those of `evaluate(..., tokens=…, plugin=True)`.
    Only pages that every pipeline has read are compared, so that none gains by failing on the difficult ones; a
    pipeline that found nothing on any page is left out. Where a pipeline found nothing, its precision is undefined and
    its recall 0; where nothing was to be found, recall is undefined. Intervals are over pages and do not hold the doubt
    about the voters.
    Pairs of pipelines are compared page by page: pages differ more than pipelines do.
    Misleads: a consensus narrows differences, and pipelines that err together are believed.
    """
    typed = dict(transcriptions or {})
    kept, pages, warnings = _on_same_pages(outputs)
    found = {page for own in kept.values() for page, items in own.items() if items}
    judged = [page for page in pages if page in typed and (page in found or typed[page])]
    warnings += list(_of_pages(pages, found, typed))
    if not found:
        raise JoinError(f"nothing was found on the {counted(len(pages), 'page', 'pages')} that all pipelines have read")
    settings = Settings(plugin=True, weights=weights, confidence=confidence, seed=seed)
    ways = _ways(kept, {page: typed[page] for page in judged}, near, settings)
    warnings += [*_of_voters(ways[BAG]), ON_RECALL, ONLY_ORDERS]
    scored = {way: _scored(one, list(kept), judged) for way, one in ways.items()} if judged else {}
    taus = _taus(scored, confidence, seed)
    warnings += list(_against_truth(taus))
    compared, pairs = {}, []
    for way, one in ways.items():
        on = judged if way == TRUTH else [page for page in pages if page in found]
        for measure, values in _scored(one, list(kept), on).items():
            compared[way, measure] = apart(
                list(kept), values, span=1.0, least=LEAST, confidence=confidence, rng=np.random.default_rng((seed, 6))
            )
            pairs += [(way, measure, *row) for row in _pairs(list(kept), values, compared[way, measure], seed)]
    return PipelineStudy(
        tuple(kept), tuple(pages), tuple(judged), ways, _values(ways, list(kept)), taus, _agreed(kept, pages),
        tuple(dict.fromkeys(warnings)), pl.DataFrame(pairs, schema=PAIRS, orient="row"), compared,
    )  # fmt: skip


def _on_same_pages(outputs: Outputs) -> tuple[dict[str, dict[str, Sequence[str]]], list[str], list[str]]:
    """The outputs on the pages that every pipeline has, these pages, and what was left out."""
    warnings = []
    kept = {name: own for name, own in outputs.items() if any(map(len, own.values()))}
    if lost := [name for name in outputs if name not in kept]:
        warnings.append(f"{listed(lost, NAMED)} found nothing on any page, and {_is(lost)} left out.")
    if not kept:
        count = counted(len({page for own in outputs.values() for page in own}), "page", "pages")
        raise TableError(
            f"no pipeline found anything on any of {count}",
            remedy="look at what was read, or look for words instead of entities (--find words)",
        )
    if len(kept) < 2:
        raise JoinError(
            "a consensus needs two pipelines or more that have found anything",
            remedy=f"there is {next(iter(kept))}: add another binariser (-b) or OCR (--ocr)",
        )
    every = list(dict.fromkeys(page for own in kept.values() for page in own))
    pages = [page for page in every if all(page in own for own in kept.values())]
    if not pages:
        raise JoinError(
            f"there is no page that all of {listed(list(kept), NAMED)} have read", remedy="compare fewer pipelines"
        )
    if missing := [page for page in every if page not in pages]:
        count = counted(len(missing), "page", "pages")
        warnings.append(
            f"{count} ({listed(missing, NAMED)}) could not be read by every pipeline, and {_is(missing)} left out for "
            "all, so that all are compared on the same pages."
        )
    return {name: {page: own[page] for page in pages} for name, own in kept.items()}, pages, warnings


def _of_pages(pages: Sequence[str], found: set[str], typed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What to know about pages without anything found, without a transcription, and about few pages."""
    if blank := [page for page in pages if page not in found]:
        yield (
            f"No pipeline found anything on {counted(len(blank), 'page', 'pages')} ({listed(blank, NAMED)}); the "
            f"consensus says nothing about {'it' if len(blank) == 1 else 'them'}."
        )
    if typed and (untyped := [page for page in pages if page not in typed]):
        yield (
            f"{counted(len(untyped), 'page has', 'pages have')} no transcription ({listed(untyped, NAMED)}); truth and "
            "tau are on the other pages."
        )
    if len(pages) < FEW:
        yield f"With only {counted(len(pages), 'page', 'pages')}, the intervals over pages are too narrow."


def _of_voters(one: Evaluation) -> Iterator[str]:
    """When not to trust the consensus of these pipelines."""
    rows = one.summary.filter(pl.col("measure") == MEASURES[PRECISION])
    own = rows.filter(pl.col("system") != (one.virtual or "")).sort("unique", "system", descending=[True, False])
    if lonely := [
        f"{name} ({share:.0%})" for name, share in own.select("system", "unique").iter_rows() if share >= LONELY
    ]:
        yield (
            f"No other pipeline found half or more of what {listed(lonely, NAMED)} found. The consensus counts this "
            "against a pipeline, whether it is wrong or better than the others: look at the pages."
        )
    everything = rows.filter(pl.col("system") == (one.virtual or ""))["value"].to_list()
    if everything and (below := own.filter(pl.col("value") <= everything[0])["system"].to_list()):
        yield (
            f"{listed(below, NAMED)} {'is' if len(below) == 1 else 'are'} not more precise than {one.virtual}, which "
            "returns everything that any pipeline found."
        )
    if len(one.systems) < VOTERS:
        yield f"{len(one.systems)} pipelines are few voters; use at least four or five independent ones."


def _against_truth(taus: pl.DataFrame) -> Iterator[str]:
    """The measures whose consensus orders the pipelines against the transcriptions."""
    for way, measure, tau in taus.filter(pl.col("tau") < 0).select("way", "measure", "tau").iter_rows():
        yield (
            f"Consensus {measure} ({way}) orders the pipelines against the transcriptions: Kendall's tau is "
            f"{number(tau, 2)}."
        )


def _pairs(pipelines: Sequence[str], values: Floats, found: Apart, seed: int) -> Iterator[tuple[object, ...]]:
    """A row for every pair, the one with the greater mean first."""
    at = dict(zip(pipelines, values, strict=True))
    for (one, other), ends in found.differences.items():
        d = at[one] - at[other]
        d = d[~np.isnan(d)]
        d[np.abs(d) <= TINY] = 0
        chance = math.nan
        if len(d) >= LEAST:
            drawn = weighted_means(d, query_weights(len(d), DRAWS, np.random.default_rng((seed, 7))))
            chance = float(np.mean((drawn > TINY) + 0.5 * (np.abs(drawn) <= TINY)))
        yield one, other, *ends, chance, int((d > 0).sum()), int((d < 0).sum()), len(d)


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _ways(
    outputs: Outputs, typed: Mapping[str, Sequence[str]], near: float | None, settings: Settings
) -> dict[str, Evaluation]:
    """The evaluation by each way; truth first, as in the source."""
    measures = parse_all(list(MEASURES.values()))
    ways = {}
    if typed:
        run, judgments = _against(outputs, typed)
        judging = Settings(confidence=settings.confidence, seed=settings.seed)
        ways[TRUTH] = dispatch.evaluate(run, Reference.of(judgments, judging), measures, judging)
    for way, votes in ((BAG, bag_of_words(outputs)), (ALIGNED, aligned(outputs, near=near))):
        ways[way] = dispatch.evaluate(None, Reference.of(votes, settings), measures, settings)
    return ways


def _against(outputs: Outputs, typed: Mapping[str, Sequence[str]]) -> tuple[Run, Opinions]:
    """What pipelines found on the pages with a transcription, as a run, and the transcriptions as judgments.

    Everything that a pipeline found is judged, so that a page whose transcription is empty counts too.
    """
    found = {name: {page: own[page] for page in typed} for name, own in outputs.items()}
    frame = bag_of_words({**found, _TYPED: dict(typed)}).frame
    grades = frame.group_by("query", "item", maintain_order=True).agg(
        ((pl.col("source") == _TYPED) & (pl.col("grade") > 0)).any().cast(pl.Float64).alias("grade")
    )
    return voters(Opinions(frame.filter(pl.col("source") != _TYPED))), Opinions.of(grades)


def _scored(one: Evaluation, pipelines: Sequence[str], pages: Sequence[str]) -> dict[str, Floats]:
    """The value of every page by measure: [pipeline, page]; NaN where the way has none.

    A pipeline that found nothing on any of these pages has no list; its recall is 0.
    """
    assert one.scores is not None
    found = {}
    for measure, name in MEASURES.items():
        systems, queries, values = one.scores.matrix(name)
        matrix = np.full((len(pipelines), len(pages)), np.nan)
        at = {query: place for place, query in enumerate(queries)}
        for row, pipeline in enumerate(pipelines):
            for column, page in enumerate(pages):
                if pipeline not in systems:
                    matrix[row, column] = NOTHING[measure]
                elif page in at:
                    matrix[row, column] = values[systems.index(pipeline), at[page]]
        found[measure] = matrix
    return found


def _values(ways: Mapping[str, Evaluation], pipelines: Sequence[str]) -> pl.DataFrame:
    """The summary of every way; a pipeline that found nothing on its pages has a row too, without an interval."""
    names = {name: measure for measure, name in MEASURES.items()}
    parts = []
    for way, one in ways.items():
        rows = one.summary.select(
            pl.lit(way).alias("way"), pl.col("measure").replace_strict(names), pl.col("system").alias("pipeline"),
            "value", "lo", "hi", pl.col("queries").alias("pages"), "undefined",
        )  # fmt: skip
        count = len(one.scores.queries) if one.scores is not None else 0
        silent = [
            (
                way,
                measure,
                name,
                value,
                np.nan,
                np.nan,
                0 if np.isnan(value) else count,
                count if np.isnan(value) else 0,
            )
            for name in pipelines
            if name not in one.systems
            for measure, value in NOTHING.items()
        ]
        parts += [rows, pl.DataFrame(silent, schema=rows.schema, orient="row")]
    return pl.concat(parts)


def _taus(scored: Mapping[str, Mapping[str, Floats]], confidence: float, seed: int) -> pl.DataFrame:
    """Tau of each consensus and truth, with its interval over resamples of the pages, the same for all."""
    schema = {"way": pl.String, "measure": pl.String, "tau": pl.Float64, "lo": pl.Float64, "hi": pl.Float64}
    if TRUTH not in scored:
        return pl.DataFrame(schema=schema)
    size = next(iter(scored[TRUTH].values())).shape[1]
    weights = query_weights(size, RESAMPLES, np.random.default_rng(seed))
    rows = [
        (way, measure, *tau_interval(values, scored[TRUTH][measure], weights, confidence))
        for way, own in scored.items()
        if way != TRUTH
        for measure, values in own.items()
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _agreed(outputs: Outputs, pages: Sequence[str]) -> pl.DataFrame:
    """Of the distinct items of a page, the share that every pipeline found; the pages of least agreement first."""
    rows = []
    for page in pages:
        sets = [set(own[page]) for own in outputs.values()]
        union = set.union(*sets)
        rows.append((page, len(set.intersection(*sets)) / len(union) if union else 1.0))
    return pl.DataFrame(rows, schema={"page": pl.String, "share": pl.Float64}, orient="row").sort("share", "page")
