"""Evaluation by a few labels, machine judges, or both: the belief they teach, and how sure the order under it is.

What is modelled: the values, P(better) and P(best). What is guaranteed whatever the model: the design-based estimates
of labels that were drawn with known propensities. The order is right far more often than the sizes: act on the order
and P(better), and take sizes from the estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import polars as pl
from scipy.special import ndtri

from endoxa.beliefs.consensus import refuse_strangers
from endoxa.beliefs.judges import ELSEWHERE
from endoxa.beliefs.learned import DEPTH, Judged, Learned, Universe, belief_of, cross_fitted, learn, table_of
from endoxa.comparisons import orders, prediction
from endoxa.comparisons.forecast import Forecast
from endoxa.comparisons.intervals import SUMMARY
from endoxa.comparisons.posterior import NEARLY, SCALE, Posterior, per_topic, posterior
from endoxa.comparisons.robust import robust, shrunk
from endoxa.comparisons.rounds import rounds_of
from endoxa.errors import CallError, EndoxaError, JoinError, TextError, did_you_mean
from endoxa.evaluations import judge_cards
from endoxa.evaluations.evaluation import Evaluation
from endoxa.evaluations.settings import LEARNED, Settings
from endoxa.formatting import listed
from endoxa.frozen import dataclass
from endoxa.measures.grammar import Measure
from endoxa.measures.judgments import refuse_out_of_reach
from endoxa.measures.uncertain import mean_over_queries, measure_belief
from endoxa.notes import Note, note, warning
from endoxa.pools.deciding import LEAST, Deciding, Question
from endoxa.pools.guaranteed import Draws as Drawn
from endoxa.statistics.propensity import effective
from endoxa.tables import COUNTED, Comparison, Floats, Gradings, Opinions, Run, Scores
from endoxa.tables.scores import Draws

FEW_GROUPS = 4  # groups of systems below which a consensus is hardly a prior
TURNED, ENOUGH = 0.8, 50  # tau between learned and consensus order below which labels contradict it, from 50 labels
INFORMATIVE = 100  # effective labels from which design-based intervals are given
SEVERAL = 5  # systems below which one swap is no contradiction
OWN, FIRST = 0.3, 10  # share of a system's first items that only it found, from which a warning is due
SIZES = ("P", "DCG")  # measures whose model-based intervals cover as stated
DRAWN = 50  # draws of the model behind measures without a linear form


@dataclass(frozen=True, eq=False)
class Standing:
    """What labels have taught so far about one field of systems."""

    learned: Learned
    draws: Drawn
    measures: tuple[Measure, ...]
    posteriors: tuple[Posterior, ...]

    @property
    def first(self) -> Posterior:
        """The posterior on the first measure."""
        return self.posteriors[0]

    @property
    def found(self) -> tuple[Measure, Posterior] | None:
        """The first measure that has a linear form, and the posterior on it."""
        linear = next((m for m in self.measures if m.linear is not None), None)
        return None if linear is None else (linear, self.first)

    def deciding(self, question: Question) -> Deciding:
        """A question to the same labels, which are not learned from again."""
        return Deciding(question, self.learned, self.draws).asking(question)


def universe_of(run: Run, settings: Settings, least: int | None = None, judges: Gradings | None = None) -> Universe:
    """The pairs within reach: the first `depth` of every list, fewer in a small collection, but at least `least`."""
    if settings.ties not in {"trec", "input"}:
        raise CallError(f"ties={settings.ties} is not possible with labels", remedy="use trec or input")
    if len(run.systems) < 2:
        raise JoinError("labels decide between two systems or more", remedy="add a run")
    refuse_strangers(run.frame.select("system", "query"))
    if settings.cut is not None:
        run = Run(run.frame.filter(pl.col("rank") <= settings.cut), run.ties)
    universe = Universe.of(run, None if settings.depth == DEPTH else settings.depth)
    universe = universe if least is None or least <= universe.depth else Universe.of(run, least)
    return with_judges(universe, judges)


def with_judges(universe: Universe, judges: Gradings | None) -> Universe:
    """The universe with what machine judges say; judges that all graded something else are refused."""
    universe = universe.with_judges(judges)
    if universe.panel is not None and set(universe.panel.left_out.values()) == {ELSEWHERE} and not universe.judges:
        raise JoinError(
            f"no machine judge ({listed(list(universe.panel.left_out), 3)}) graded a pair that a system has among its "
            f"first {universe.depth} items",
            remedy="do runs and grades belong together?",
        )
    return universe


def stand(universe: Universe, labels: Opinions | None, measures: Sequence[Measure]) -> Standing:
    """Learn from labels, and what follows for every measure that has a linear form."""
    judged = Judged.of(universe, labels)
    if not len(judged):
        refuse_out_of_reach(measures, [1.0], "a consensus of votes")
    levels = {float(m.rel or 1) for m in measures if m.linear is None or m.linear.gain is None}
    if any(m.linear is None or m.linear.gain is not None for m in measures):
        levels |= set(judged.levels)
    learned = learn(universe, judged, sorted(levels))
    posteriors = tuple(posterior(learned, m) for m in measures if m.linear is not None)
    return Standing(learned, Drawn.of(universe, labels), tuple(measures), posteriors)


def score(
    run: Run, labels: Opinions | None, measures: Sequence[Measure], settings: Settings, *,
    judges: Gradings | None = None,
) -> Scores:  # fmt: skip
    """Values per system, query and measure at the relevance that the labels and machine judges teach."""
    return score_standing(_stand(run, labels, measures, settings, judges), run, settings)


def _stand(
    run: Run, labels: Opinions | None, measures: Sequence[Measure], settings: Settings, judges: Gradings | None
) -> Standing:
    standing = stand(universe_of(run, settings, judges=judges), _labels(labels), measures)
    if labels is not None:
        _refuse_nothing(standing)
    return standing


def score_standing(standing: Standing, run: Run, settings: Settings) -> Scores:
    """Values per system, query and measure from what was learned."""
    return _scores(standing, _all_posteriors(standing, run, settings), settings)


def evaluate(
    run: Run, labels: Opinions | None, measures: Sequence[Measure], settings: Settings, *,
    judges: Gradings | None = None,
) -> Evaluation:  # fmt: skip
    """The order of the systems by what a few labels teach, machine judges, or both."""
    standing = _stand(run, labels, measures, settings, judges)
    evaluation = of_standing(standing, run, settings)
    if judges is not None:
        evaluation = judge_cards.beside(
            evaluation, standing.learned, standing.found, judges, _weights(standing.learned, labels)
        )
    if labels is None:
        return evaluation
    estimated, notes = _estimated(run, standing, labels, settings)
    return replace(evaluation, tables={**evaluation.tables, **estimated}, notes=(*evaluation.notes, *notes))


def of_standing(standing: Standing, run: Run, settings: Settings) -> Evaluation:
    """An evaluation from what was learned, without estimates."""
    learned, systems = standing.learned, standing.learned.universe.systems
    if settings.baseline is not None and settings.baseline not in systems:
        raise TextError(f"no system is called {settings.baseline!r}", remedy=did_you_mean(settings.baseline, systems))
    found, labelled = _all_posteriors(standing, run, settings), _labelled(standing)
    return Evaluation(
        kind="sample", scores=_scores(standing, found, settings), summary=_summary(standing, found, settings),
        settings=settings, belief=belief_of(learned, 0, np.random.default_rng(0), _lines(learned)),
        compared=lambda: compared(standing, found, settings), forecast=partial(_forecast, standing),
        decider=standing.deciding,
        tables={"labels": labelled},
        warnings=tuple(_warnings(standing, labelled["tau_consensus"][0])), notes=tuple(_notes(standing)),
        baseline=settings.baseline, wanted=standing.measures,
    )  # fmt: skip


def _forecast(standing: Standing) -> Forecast | None:
    """How many more labels settle who is best on the first linear measure."""
    measure = next((measure for measure in standing.measures if measure.linear is not None), None)
    return None if measure is None else standing.deciding(Question(measure)).verdict.forecast


def _labels(labels: Opinions | None) -> Opinions | None:
    if labels is None:
        return None
    if not (labels.frame["grade"].drop_nulls() >= 0).any():
        raise JoinError(
            "there is no decided label: every grade is empty or negative",
            remedy="judge some pairs (endoxa next, endoxa decide)",
        )
    return labels


def _refuse_nothing(standing: Standing) -> None:
    judged, universe = standing.learned.judged, standing.learned.universe
    if not len(judged):
        raise JoinError(
            f"none of the {judged.outside:,} labels is of a pair that a system has among its first {universe.depth} "
            "items",
            remedy="do runs and labels belong together?",
        )


# ---- tables -------------------------------------------------------------------------------------------


def _all_posteriors(standing: Standing, run: Run, settings: Settings) -> list[Posterior]:
    """The posterior on every measure, in order; measures without a linear form are scored in possible worlds."""
    rest = [m for m in standing.measures if m.linear is None]
    linear = {found.measure: found for found in standing.posteriors}
    if rest:
        rng = np.random.default_rng(settings.seed)
        belief = belief_of(standing.learned, DRAWN, rng)
        scores = measure_belief(run, belief, rest, settings.policy, worlds=settings.worlds)
        draws = scores.draws
        for place, m in enumerate(rest):
            _, _, values = scores.matrix(str(m))
            drawn = None if draws is None else draws.people  # nothing is in doubt where every pair is judged
            covariance = _covariance(np.zeros((len(values), 2)) if drawn is None else _means(drawn[place]))
            linear[str(m)] = Posterior(
                str(m), scores.systems, values, np.zeros((len(values), 1)), covariance,
                standing.learned.universe.twins, per_topic(standing.learned), m.definition.lower,
            )  # fmt: skip
    return [linear[str(m)] for m in standing.measures]


def _means(worlds: Floats) -> Floats:
    """[system, world] means over queries from [system, query, world], of what is defined."""
    return mean_over_queries(worlds.swapaxes(1, 2))


def _covariance(means: Floats) -> Floats:
    """[system, system] over the worlds in which every system has a value that ever has one; 0 for the others."""
    able = ~np.isnan(means).all(1)
    kept = means[able][:, ~np.isnan(means[able]).any(0)]
    covariance = np.zeros((len(means), len(means)))
    if kept.shape[1] > 1:
        covariance[np.ix_(able, able)] = np.cov(kept)
    return covariance


def _scores(standing: Standing, found: Sequence[Posterior], settings: Settings) -> Scores:
    universe = standing.learned.universe
    systems, queries = universe.systems, universe.queries
    S, T = len(systems), len(queries)
    parts = [
        pl.DataFrame(
            {
                "system": np.repeat(systems, T), "query": queries * S, "measure": [one.measure] * (S * T),
                "value": one.values.ravel(),
            }
        )
        for one in found
    ]  # fmt: skip
    frame = pl.concat(parts).with_columns(
        *(pl.lit(None, pl.Float64).alias(name) for name in ("sd", "lo", "hi")),
        pl.col("value").is_nan().cast(pl.Float64).alias("undefined"),
    )
    listed_items = np.bincount(universe.system, minlength=S)
    judged = np.bincount(universe.system[~standing.learned.unjudged[universe.row]], minlength=S)
    coverage = pl.DataFrame(
        {
            "system": systems, "queries": T - universe.missing, "missing": universe.missing,
            "unknown": np.zeros(S, np.int64), "items": listed_items, "judged": judged, "tied": np.zeros(S, np.int64),
        }
    )  # fmt: skip
    draws = Draws([one.measure for one in found], systems, queries, None, None, (LEARNED,))
    return Scores(frame.select(list(Scores.SCHEMA)), settings.policy, coverage, draws=draws)


def reach(standing: Standing, measure: Measure, confidence: float) -> float:
    """By how many deviations a model-based interval reaches.

    NaN for measures whose sizes are compressed; without labels, because a consensus says nothing about the size of a
    value; and beside machine judges, where their coverage was not measured.
    """
    if measure.name not in SIZES or not len(standing.learned.judged) or standing.learned.universe.judges:
        return math.nan
    return float(ndtri(0.5 + confidence / 2))


def _summary(standing: Standing, found: Sequence[Posterior], settings: Settings) -> pl.DataFrame:
    rows = []
    for place, system in enumerate(standing.learned.universe.systems):
        for m, one in zip(standing.measures, found, strict=True):
            se = SCALE * math.sqrt(max(float(one.covariance[place, place]), 0.0))
            value, far = float(one.mean[place]), reach(standing, m, settings.confidence) * se
            low, high = m.definition.low, m.definition.high
            known = int((~np.isnan(one.values[place])).sum())
            rows.append(
                (system, one.measure, value, max(value - far, low) if far == far else far,  # noqa: PLR0124
                 min(value + far, high) if far == far else far, se, known,  # noqa: PLR0124
                 one.values.shape[1] - known, float(one.best[place]))
            )  # fmt: skip
    return pl.DataFrame(rows, schema=SUMMARY | {"p_best": pl.Float64}, orient="row")


def compared(standing: Standing, found: Sequence[Posterior], settings: Settings) -> Comparison:
    """Every pair of systems, or every system against the baseline: difference, P(better), model-based interval."""
    systems = standing.learned.universe.systems
    if settings.baseline is not None:
        base = systems.index(settings.baseline)
        pairs = [(place, base) for place in range(len(systems)) if place != base]
    else:
        pairs = list(combinations(range(len(systems)), 2))
    left, right = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    names = pl.Series(systems, dtype=pl.String)
    frames = []
    for m, one in zip(standing.measures, found, strict=True):
        difference, sd = (one.mean[left] - one.mean[right]), one.sd[left, right]
        far = reach(standing, m, settings.confidence) * sd
        better, tie = one.better[left, right], one.tie[left, right]
        frames.append(
            pl.DataFrame(
                {
                    "measure": [one.measure] * len(left), "system": names[left], "baseline": names[right],
                    "doubt": ["all"] * len(left), "difference": difference, "lo": difference - far,
                    "hi": difference + far, "p_better": better, "p_tie": tie.astype(np.float64),
                    "superiority": better + tie / 2,
                    "sd": sd, "queries": [int((~np.isnan(one.values[0])).sum())] * len(left),
                }
            )
        )  # fmt: skip
    frame = pl.concat(frames)
    absent = [pl.lit(None, kind).alias(name) for name, kind in Comparison.SCHEMA.items() if name not in frame.columns]
    frame = frame.with_columns(absent).select(list(Comparison.SCHEMA)).cast(Comparison.SCHEMA)
    return Comparison(frame, (note("compared.modelled"),))


def _labelled(standing: Standing) -> pl.DataFrame:
    """One row about the labels and what they changed."""
    learned = standing.learned
    judged, universe = learned.judged, learned.universe
    tau = math.nan
    if standing.posteriors:
        m = next(m for m in standing.measures if m.linear is not None)
        before = posterior(learn(universe, Judged.of(universe, None), learned.levels), m)
        tau = orders.tau(standing.first.mean, before.mean)
    return pl.DataFrame(
        {
            "labels": [len(judged)], "relevant": [float(judged.tails[0].sum())],
            "queries": [len(np.unique(universe.topic[judged.rows]))], "outside": [judged.outside],
            "disputed": [judged.torn], "pairs": [universe.rows.height], "groups": [universe.clusters],
            "tau_consensus": [tau],
        }
    )  # fmt: skip


# ---- estimates that stay valid whatever the model -----------------------------------------------------


def _estimated(
    run: Run, standing: Standing, labels: Opinions, settings: Settings
) -> tuple[dict[str, pl.DataFrame], list[Note]]:
    """Design-based means and differences, where the labels were drawn with known propensities; or why there are none.

    Sums over items (P@k, DCG@k, R@k) by prediction-powered estimates, AP doubly robust; both take predictions that have
    not seen the labels of their topic. Where judges disagree, the first one's label counts.
    """
    drawn = _drawn(labels)
    if drawn is None:
        return {}, [note("sample.no_propensity")]
    propensity = _propensities(standing.learned, drawn)
    worth = effective(1 / propensity)
    if worth < INFORMATIVE:
        more = math.ceil(len(propensity) * (INFORMATIVE / max(worth, 1e-9) - 1))
        left = int(standing.learned.unjudged.sum())
        return {}, [note("sample.little_worth", worth=worth, more=more, left=left)]
    free = cross_fitted(standing.learned)
    belief = table_of(standing.learned, free)
    sums = [str(m) for m in standing.measures if prediction.is_estimable(str(m))]
    frames, pairs, notes = [], [], list[Note]()
    if sums:
        try:
            found = prediction.estimate(run, belief, drawn, sums, confidence=settings.confidence)
            frames, pairs, notes = [found.frame], [found.pairs], list(found.notes)
        except EndoxaError as error:
            notes = [note("sample.no_interval", measures=sums, reason=str(error))]
    for m in standing.measures:
        if m.linear is not None and str(m) not in sums:
            made = robust(standing.learned, m, propensity, free).estimates(settings.confidence)
            frames.append(made.frame)
            pairs.append(made.pairs)
    if not frames:
        return {}, notes
    return {"estimates": pl.concat(frames), "estimated_pairs": _with_shrunk(standing, pl.concat(pairs))}, notes


def _drawn(labels: Opinions) -> Opinions | None:
    """One label of every pair that was drawn, with its propensity over all rounds; None where one is unknown."""
    rows = labels.frame.filter(COUNTED)
    certain = rows.filter(pl.col("grade") >= 0).unique(["query", "item"], keep="first", maintain_order=True)
    waiting = rows.join(certain, on=["query", "item"], how="anti", maintain_order="left")
    first = pl.concat([certain, waiting.unique(["query", "item"], keep="first", maintain_order=True)])
    return None if first["propensity"].is_null().any() else rounds_of([Opinions(first)])


def _propensities(learned: Learned, drawn: Opinions) -> Floats:
    """[label] the propensity of every label within reach."""
    known = drawn.frame.filter(pl.col("grade") >= 0).select("query", "item", "propensity")
    rows = learned.universe.rows.with_row_index("row").join(known, on=["query", "item"], how="inner")
    return rows.sort("row")["propensity"].to_numpy()


def _weights(learned: Learned, labels: Opinions | None) -> Floats | None:
    """[label] 1/propensity; None without labels, and where a propensity is unknown."""
    drawn = None if labels is None else _drawn(labels)
    return None if drawn is None else 1 / _propensities(learned, drawn)


def _with_shrunk(standing: Standing, pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs with a column `shrunk`: the design-based difference drawn towards the model's, for the order only."""
    parts = []
    for part in pairs.partition_by("measure", maintain_order=True):
        found = next((one for one in standing.posteriors if one.measure == part["measure"][0]), None)
        if found is None:  # the model says nothing about this measure without possible worlds
            parts.append(part.with_columns(pl.col("difference").alias("shrunk")))
            continue
        left, right = (np.array([found.systems.index(name) for name in part[side]]) for side in ("system", "baseline"))
        model = found.mean[left] - found.mean[right]
        values = shrunk(model, part["difference"].to_numpy(), part["se_queries"].to_numpy() ** 2)
        parts.append(part.with_columns(pl.Series("shrunk", values)))
    return pl.concat(parts)


# ---- words --------------------------------------------------------------------------------------------


def _lines(learned: Learned) -> list[Note]:
    universe, judged = learned.universe, learned.judged
    labels = {"labels": len(judged), "topics": len(np.unique(universe.topic[judged.rows]))}
    sizes = {"systems": len(universe.systems), "pairs": universe.rows.height, "groups": universe.clusters}
    return [note("learned.universe", **labels, whole=len(universe.queries), depth=universe.depth, **sizes)]


def _notes(standing: Standing) -> list[Note]:
    judged = standing.learned.judged
    notes = _lines(standing.learned)
    if judged.torn:
        notes.append(note("sample.torn", pairs=judged.torn))
    if ratios := [str(m) for m in standing.measures if m.linear is not None and m.linear.ratio]:
        notes.append(note("sample.ratios", measures=ratios))
    return [*notes, *_equal(standing), note("sample.modelled")]


def _equal(standing: Standing) -> list[Note]:
    """Which systems are the same on a measure, whatever the labels, and which are practically the same."""
    notes = []
    for m, one in zip((m for m in standing.measures if m.linear is not None), standing.posteriors, strict=True):
        groups = [np.flatnonzero(one.same == first) for first in np.unique(one.same)]
        for group in groups:
            if len(group) > 1:
                names = [one.systems[place] for place in group]
                depth = m.linear.k if m.linear is not None else None
                notes.append(note("sample.same", systems=names, measure=str(m), depth=depth))
        near = np.argwhere(np.triu(one.practically_same & ~one.tie, 1))
        if len(near):
            pairs = [[one.systems[first], one.systems[second]] for first, second in near.tolist()]
            notes.append(note("sample.practically_same", pairs=pairs, measure=str(m), within=NEARLY))
    return notes


def _own_finds(standing: Standing) -> dict[str, float]:
    """The share of a system's first 10 items that no other system returned and nobody labelled, where it is large."""
    universe, unjudged = standing.learned.universe, standing.learned.unjudged
    own = (universe.rank <= universe.depth) & (universe.twins[universe.system] == universe.system)
    alone = np.bincount(universe.row[own], minlength=universe.rows.height) == 1
    first = universe.rank <= FIRST
    whole = np.bincount(universe.system[first], minlength=len(universe.systems))
    lonely = first & (alone & unjudged)[universe.row]
    share = np.bincount(universe.system[lonely], minlength=len(universe.systems)) / np.maximum(whole, 1)
    large = sorted((place for place in range(len(share)) if share[place] >= OWN), key=lambda place: -share[place])
    return {universe.systems[place]: float(share[place]) for place in large}


def _warnings(standing: Standing, tau: float) -> list[Note]:
    learned = standing.learned
    judged, universe = learned.judged, learned.universe
    warnings = []
    if judged.is_uniform:
        warnings.append(warning("sample.all_alike", labels=len(judged), relevant=bool(judged.tails[0].any())))
    if universe.clusters < FEW_GROUPS:
        warnings.append(warning("sample.few_groups", groups=universe.clusters, few=FEW_GROUPS))
    if judged.outside:
        warnings.append(warning("sample.outside", labels=judged.outside, depth=universe.depth))
    if universe.missing.any():
        names = [name for name, count in zip(universe.systems, universe.missing, strict=True) if count]
        warnings.append(warning("sample.empty_lists", systems=names))
    if 0 < len(judged) < LEAST:
        warnings.append(warning("sample.few_labels", labels=len(judged), least=LEAST))
    if not universe.judges and len(judged) >= ENOUGH and len(universe.systems) >= SEVERAL and tau < TURNED:
        warnings.append(warning("sample.against_consensus", tau=tau))
    if standing.posteriors and (own := _own_finds(standing)):
        leader = universe.systems[int(np.nanargmax(standing.first.worth))]
        rival = next(system for system in (leader, *universe.systems) if system != next(iter(own)))
        warnings.append(warning("sample.own_finds", systems=own, first=FIRST, pair=[next(iter(own)), rival]))
    return warnings
