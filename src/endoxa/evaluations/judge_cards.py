"""The card of every machine judge: how far it agrees with people, with itself and the others, and whom it favours.

What people labelled is compared with what the judge said of the same pairs, weighted by 1/propensity where the chances
of being drawn are known. Below 5 labels a topic nothing is claimed.
Source: docs/methods/judges.md, The card of a judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

from endoxa.beliefs.judges import Panel
from endoxa.beliefs.learned import Learned
from endoxa.comparisons import orders
from endoxa.comparisons.posterior import Posterior, per_topic, places_of
from endoxa.evaluations.evaluation import Evaluation
from endoxa.measures.grammar import Measure
from endoxa.measures.uncertain import mean_over_queries
from endoxa.notes import Note, note, warning
from endoxa.policies import TAUGHT
from endoxa.statistics import propensity
from endoxa.statistics.multiplicity import benjamini_hochberg
from endoxa.tables import Bools, Floats, Gradings, Ints

YES = 0.5  # share of its scale from which a judge calls a pair relevant
FAVOURED = 0.05  # of the systems that are named as favoured, at most this share is wrongly named in the mean
AGREES = 0.8  # Kendall's tau between the judges' order and the learned one, below which a warning is due
TOP, FEWEST = 0.25, 4  # the best systems by the learned order: a quarter, but at least 4
UNEVEN = 0.3  # difference between systems in the share of their first items that judges graded
WHOLE = 0.9  # share of the pairs within reach below which a warning says how many were graded
FIRST = 10  # items of a list that this share is of
ROUNDING = 1e-12  # differences below it are no differences
TAIL = 0.025  # of an exact interval where all answers are alike

Triple = tuple[float, float, float]  # a value and its interval
NOTHING: Triple = (np.nan, np.nan, np.nan)
SHARES = ("sensitivity", "specificity", "kappa")
JUDGES = {
    "judge": pl.String, "graded": pl.Int64, "labelled": pl.Int64,
    **{f"{name}{end}": pl.Float64 for name in SHARES for end in ("", "_lo", "_hi")},
    "weight": pl.Float64, "tau": pl.Float64, "tau_top": pl.Float64, "others": pl.Float64, "repeated": pl.Int64,
    "same": pl.Float64,
}  # fmt: skip
GRADES = {
    "judge": pl.String, "grade": pl.Float64, "labels": pl.Int64, "mean": pl.Float64, "bias": pl.Float64,
    "bias_lo": pl.Float64, "bias_hi": pl.Float64,
}  # fmt: skip
FAVOURS = {"judge": pl.String, "system": pl.String, "favour": pl.Float64, "q": pl.Float64}


def beside(
    evaluation: Evaluation, learned: Learned, found: tuple[Measure, Posterior] | None, gradings: Gradings,
    weights: Floats | None,
) -> Evaluation:  # fmt: skip
    """The evaluation with the cards of its machine judges: tables, warnings and notes.

    `found` is the posterior on the first measure with a linear form, `weights` are 1/propensity of the labels, where
    all are known.

    tables["judges"]        one row per judge: the pairs that it graded, how many of these have a label; sensitivity,
                            specificity, kappa with _lo and _hi; `weight` of what it says in the learned belief; `tau`
                            between its order of the systems and the learned one, `tau_top` of the best systems;
                            `others`, kappa with the other judges together; `repeated` pairs, and the share of these
                            with the `same` grade
    tables["judge_grades"]  by the grade that people gave: the mean share of its scale that the judge gave, and its
                            `bias`, how far that is above the share of people's scale
    tables["favours"]       judge, system, favour, q: how far the judge grades items of the system above items to which
                            people gave the same grade (Student's t), and its q-value
    """
    panel = learned.universe.panel
    assert panel is not None
    warnings, notes = list(_left_out(panel)), [*_heard(learned, panel), *gradings.notes]
    if gradings.skipped and not gradings.notes:  # of files, a note says more
        notes.append(note("judges.skipped", reasons=dict(gradings.skipped)))
    tables: dict[str, pl.DataFrame] = {}
    if panel.names:
        tables, more = _cards(learned, panel, found, gradings, weights)
        warnings = [*more, *warnings]
        if is_enough(learned):
            rows = tables["judges"].iter_rows(named=True)
            notes += [_card(row, learned, _favoured(tables["favours"], row["judge"])) for row in rows]
    return replace(
        evaluation, tables={**evaluation.tables, **tables}, warnings=(*warnings, *evaluation.warnings),
        notes=(*evaluation.notes, *notes),
    )  # fmt: skip


def is_enough(learned: Learned) -> bool:
    """Whether there are labels enough to say something about the judges: 5 a topic."""
    return per_topic(learned) >= TAUGHT


def _cards(
    learned: Learned, panel: Panel, found: tuple[Measure, Posterior] | None, gradings: Gradings, weights: Floats | None
) -> tuple[dict[str, pl.DataFrame], list[Note]]:
    enough, repeats = is_enough(learned), _repeats(gradings)
    strength = _weights(learned, found)
    rows, grades, favours = list[dict[str, Any]](), list[dict[str, Any]](), list[dict[str, Any]]()
    for place, name in enumerate(panel.names):
        share = panel.shares[:, place]
        repeated, same = repeats.get(name, (0, np.nan))
        known = ~np.isnan(share)
        row: dict[str, Any] = {
            "judge": name, "graded": int(known.sum()), "labelled": int(known[learned.judged.rows].sum()),
            "others": _with_others(panel, place), "repeated": repeated, "same": same,
        }  # fmt: skip
        if enough:
            tau, tau_top = _taus(learned, found, share)
            row |= _agreement(learned, share, weights, found) | {
                "weight": strength[place],
                "tau": tau,
                "tau_top": tau_top,
            }
            grades += _by_grade(name, learned, share, weights)
            favours += favours_of(name, learned, share)
        rows.append(row)
    judges = pl.DataFrame([dict.fromkeys(JUDGES, None) | row for row in rows], schema=JUDGES).fill_nan(None)
    tables = {"judges": judges.with_columns(pl.col(pl.Float64).fill_null(np.nan))}
    if enough:
        tables["judge_grades"] = pl.DataFrame(grades, schema=GRADES)
        tables["favours"] = pl.DataFrame(favours, schema=FAVOURS)
    return tables, list(_warnings(learned, panel, found, tables))


# ---- agreement with people ----------------------------------------------------------------------------


def _agreement(
    learned: Learned, share: Floats, weights: Floats | None, found: tuple[Measure, Posterior] | None
) -> dict[str, float]:
    """Sensitivity, specificity and Cohen's kappa, each with its interval; NaN where there is nothing to compare."""
    judged = learned.judged
    own = ~np.isnan(share[judged.rows])
    yes = share[judged.rows][own] >= YES
    relevant = judged.at_least(learned.levels[_level(learned, found)])[own] >= YES
    each = np.ones(len(yes)) if weights is None else weights[own]
    topics = learned.universe.topic[judged.rows][own]
    correct = yes == relevant
    values = {
        "sensitivity": _mean(correct[relevant], each[relevant], topics[relevant]),
        "specificity": _mean(correct[~relevant], each[~relevant], topics[~relevant]),
        "kappa": kappa(yes, relevant, each, topics),
    }
    ends = ("", "_lo", "_hi")
    return {f"{name}{end}": one for name, three in values.items() for end, one in zip(ends, three, strict=True)}


def _mean(correct: Bools, weights: Floats, topics: Ints) -> Triple:
    """A share with its interval; where all are alike, that of Clopper and Pearson for the effective sample size."""
    if not len(correct):
        return NOTHING
    found = propensity.mean(correct, weights, topics)
    if correct.all():
        return 1.0, TAIL ** (1 / found.effective), 1.0
    if not correct.any():
        return 0.0, 0.0, 1 - TAIL ** (1 / found.effective)
    return found.value, max(found.lo, 0.0), min(found.hi, 1.0)


def kappa(yes: Bools, relevant: Bools, weights: Floats, topics: Ints) -> Triple:
    """Cohen's kappa (agreement - chance) / (1 - chance), with its interval by linearisation, topics as clusters.

    NaN where one of the two says the same of every pair; without an interval where all pairs agree, or none.
    """
    if not len(yes) or len({*yes.tolist()}) == 1 or len({*relevant.tolist()}) == 1:
        return NOTHING
    w = weights / weights.sum()
    agreed, ours, theirs = (float(w @ part) for part in (yes == relevant, yes, relevant))
    chance = ours * theirs + (1 - ours) * (1 - theirs)
    value = (agreed - chance) / (1 - chance)
    by_chance = (2 * theirs - 1) * (yes - ours) + (2 * ours - 1) * (relevant - theirs)
    moved = ((yes == relevant) - agreed) / (1 - chance) - (1 - agreed) * by_chance / (1 - chance) ** 2
    if np.ptp(moved) < ROUNDING:  # all agree, or nobody does: the sample does not show how kappa varies
        return value, np.nan, np.nan
    found = propensity.mean(value + moved, weights, topics)
    return value, max(found.lo, -1.0), min(found.hi, 1.0)


def _by_grade(name: str, learned: Learned, share: Floats, weights: Floats | None) -> Iterator[dict[str, Any]]:
    """A row for every grade that people gave, of the pairs that the judge graded too; of several people the mean."""
    judged, levels = learned.judged, (0.0, *learned.judged.levels)
    each = np.ones(len(judged)) if weights is None else weights
    grade = np.round(np.diff(np.array(levels)) @ judged.tails, 9)
    given, topics = share[judged.rows], learned.universe.topic[judged.rows]
    for level in levels:
        own = (grade == level) & ~np.isnan(given)
        if own.any():
            found = propensity.mean(given[own] - level / levels[-1], each[own], topics[own])
            yield {
                "judge": name, "grade": level, "labels": int(own.sum()), "mean": found.value + level / levels[-1],
                "bias": found.value, "bias_lo": found.lo, "bias_hi": found.hi,
            }  # fmt: skip


# ---- agreement with itself and with the others --------------------------------------------------------


def _repeats(gradings: Gradings) -> dict[str, tuple[int, float]]:
    """{judge: number of pairs that it graded more than once, share of these with the same grade every time}."""
    alike = (pl.col("grade").n_unique() == 1).alias("same")
    pairs = gradings.frame.group_by("judge", "query", "item").agg(pl.len(), alike)
    several = pairs.filter(pl.col("len") > 1).group_by("judge").agg(pl.len(), pl.col("same").mean())
    return {judge: (count, same) for judge, count, same in several.iter_rows()}


def _with_others(panel: Panel, place: int) -> float:
    """Cohen's kappa with the mean of the other judges, over the pairs that both graded."""
    others = np.delete(panel.shares, place, axis=1)
    both = ~np.isnan(panel.shares[:, place]) & ~np.isnan(others).all(1)
    if not both.any():
        return np.nan
    ours, theirs = panel.shares[both, place] >= YES, np.nanmean(others[both], axis=1) >= YES
    return kappa(ours, theirs, np.ones(len(ours)), np.arange(len(ours)))[0]


# ---- weight, favours and order ------------------------------------------------------------------------


def _weights(learned: Learned, found: tuple[Measure, Posterior] | None) -> Floats:
    """[judge] the weight of what it says in the learned belief: a2/J + h."""
    universe, fit = learned.universe, learned.fits[_level(learned, found)]
    place, judges = 2 + len(universe.queries) + len(universe.systems), len(universe.judges)
    weight = np.full(judges, fit.b[place] / judges)
    return weight + fit.b[place + 1 : place + 1 + judges] if judges > 1 else weight


def favours_of(name: str, learned: Learned, share: Floats) -> Iterator[dict[str, Any]]:
    """Whether the judge grades items that a system ranks high above items to which people gave the same grade.

    r and x are what is left of the judge's share, and of a system's predictor, after their means by the grade of people
    and their slope on the consensus are taken away. favour = Σ_t S_t / √(Σ_t S_t²) with S_t = Σ_d x r over topic t, by
    Student's t with T − 1 degrees of freedom; q after Benjamini and Hochberg over the systems.
    """
    judged, universe = learned.judged, learned.universe
    own = ~np.isnan(share[judged.rows])
    rows, grade = judged.rows[own], np.round(2 * judged.tails.sum(0)[own]) / 2
    topic = np.unique(universe.topic[rows], return_inverse=True)[1]
    known = np.column_stack([*(grade == one for one in np.unique(grade)), universe.offset[rows]]).astype(np.float64)
    basis = np.linalg.qr(known)[0]
    both = np.column_stack([share[rows], universe.features[rows][:, : len(universe.systems)].toarray()])
    left = both - basis @ (basis.T @ both)
    products = left[:, :1] * left[:, 1:]
    parts = np.array([np.bincount(topic, weights=one) for one in products.T])
    size = np.sqrt((parts**2).sum(1))
    favour = np.where(size > ROUNDING, parts.sum(1) / np.maximum(size, ROUNDING), 0.0)
    q = benjamini_hochberg(student.sf(favour, max(parts.shape[1] - 1, 1)))
    for place, system in enumerate(universe.systems):
        first = int(universe.twins[place])  # a copy has no predictor of its own
        yield {"judge": name, "system": system, "favour": float(favour[first]), "q": float(q[first])}


def _level(learned: Learned, found: tuple[Measure, Posterior] | None) -> int:
    """The place of the learned level at which an item counts as relevant."""
    level = 1.0 if found is None else float(found[0].rel or 1)
    return learned.levels.index(level) if level in learned.levels else 0


def _taus(learned: Learned, found: tuple[Measure, Posterior] | None, share: Floats) -> tuple[float, float]:
    """Kendall's tau between the order of the systems by a judge's grades alone and the learned one: all, the best.

    The measure is taken at the share of its scale that the judge gave; what it did not grade is not relevant.
    """
    if found is None or found[0].linear is None:
        return np.nan, np.nan
    order = found[1].worth
    slopes = found[0].linear.slopes(places_of(learned), np.nan_to_num(share)[None], np.ones(1))
    alone = mean_over_queries(slopes.value)
    best = np.argsort(-order, kind="stable")[: best_of(len(order))]
    return orders.tau(alone, order), orders.tau(alone[best], order[best])


def best_of(systems: int) -> int:
    """The number of best systems: a quarter, but at least 4."""
    return min(max(FEWEST, round(TOP * systems)), systems)


# ---- what to know -------------------------------------------------------------------------------------


def _warnings(
    learned: Learned, panel: Panel, found: tuple[Measure, Posterior] | None, tables: dict[str, pl.DataFrame]
) -> Iterator[Note]:
    labels, topics = len(learned.judged), len(learned.universe.queries)
    if not labels:
        yield warning("judges.unchecked", judges=panel.names)
    elif not is_enough(learned):
        yield warning("judges.few_labels", labels=labels, needed=TAUGHT * topics, each=TAUGHT)
    else:
        alike: dict[tuple[str, ...], list[str]] = {}
        for judge in panel.names:
            alike.setdefault(tuple(sorted(_favoured(tables["favours"], judge))), []).append(judge)
        for names, judges in alike.items():
            if names:
                yield warning("judges.favoured", judges=judges, systems=list(names))
        together = np.where(panel.given > 0, panel.mean, np.nan)
        if (tau := _taus(learned, found, together)[0]) < AGREES:
            yield warning("judges.other_order", tau=tau)
    known, pairs = int((panel.given > 0).sum()), learned.universe.rows.height
    if known < WHOLE * pairs:
        yield warning("judges.partial", graded=known, pairs=pairs)
    graded = _graded_first(learned, panel)
    if np.ptp(graded) >= UNEVEN:
        most, least = int(graded.argmax()), int(graded.argmin())
        systems = learned.universe.systems
        yield warning(
            "judges.uneven", most=systems[most], most_share=graded[most], least=systems[least],
            least_share=graded[least], first=FIRST,
        )  # fmt: skip


def _favoured(favours: pl.DataFrame, judge: str) -> list[str]:
    """The systems that a judge favours, the most favoured first."""
    own = favours.filter((pl.col("judge") == judge) & (pl.col("q") <= FAVOURED) & (pl.col("favour") > 0))
    return own.sort("favour", descending=True)["system"].to_list()


def _graded_first(learned: Learned, panel: Panel) -> Floats:
    """[system] the share of the first 10 items of its lists that some judge graded."""
    universe = learned.universe
    first = universe.rank <= FIRST
    counted, count = universe.system[first], len(universe.systems)
    graded = np.bincount(counted, weights=(panel.given > 0)[universe.row[first]], minlength=count)
    return np.asarray(graded / np.maximum(np.bincount(counted, minlength=count), 1))


def _left_out(panel: Panel) -> Iterator[Note]:
    return (warning("judges.left_out", judge=name, reason=reason) for name, reason in panel.left_out.items())


def _heard(learned: Learned, panel: Panel) -> Iterator[Note]:
    if panel.names:
        graded, pairs = int((panel.given > 0).sum()), learned.universe.rows.height
        yield note("judges.heard", judges=panel.names, graded=graded, pairs=pairs)


def _card(row: dict[str, Any], learned: Learned, favoured: list[str]) -> Note:
    """What a judge may be used for, as facts."""
    top = best_of(len(learned.universe.systems))
    return note(
        "judges.card", top=top, agrees=AGREES, favoured=favoured,
        **{name: row[name] for name in ("judge", "tau", "tau_top", "weight", "kappa")},
    )  # fmt: skip
