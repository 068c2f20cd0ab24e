"""The model of Dawid and Skene: the true classes of items from the votes of raters who err.

Every item has a true class, drawn with probabilities π. Given the truth t, rater r votes l with probability θ_r[t, l],
independently of the other raters. Expectation-maximisation (EM) estimates π and θ, and from them the posterior of the
truth. The votes are a sparse matrix [item, rater·class], so that each step of EM is a matrix product.

Misleads: errors that raters share, such as those of similar systems, look like agreement. The votes alone do not show
it; gold items or a few people beside the systems do (measured in `tests/real/test_raters_real.py`).
Source: Dawid & Skene, Applied Statistics 28 (1979); Zhang, Chen, Zhou & Jordan, JMLR 17 (2016), for one coin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from endoxa.errors import TableError, TextError, did_you_mean
from endoxa.frozen import dataclass
from endoxa.notes import Note, note, warning
from endoxa.policies import refuse_choice
from endoxa.tables import Belief, Bools, Floats, Ints, Opinions, Unmentioned, coded

Variant = Literal["full", "one-coin", "ordinal"]

ITERATIONS = 1_000
TOLERANCE = 1e-8
RESAMPLE_ITERATIONS = 50  # a resample starts at the fit; on real data its spread is then right to 1 %
NEAR = 1e-5  # a resample stops if no posterior changes by more, which is far less than resamples differ by
FLOOR = 1e-10  # least number of votes under the flat prior, which avoids log 0; crowd-kit has the same
VISIBLE = 1e-5  # a fit whose posteriors change by less counts as converged
NOTHING = 1e-12  # a smaller probability has no row in a belief
STEEPEST = 50.0  # limit of the search for λ of an ordinal rater; the floor stops it earlier
SMALLEST = 1e-300  # replaces 0 in logarithms that no vote reads


@dataclass(frozen=True)
class Prior:
    """The prior, as numbers of votes and items with two classes: Beta(1 + right, 1 + wrong) on each row of θ.

    With K classes, row t of θ_r has Dirichlet parameters 1 + 2·right/K at t and 1 + 2·wrong/K at the other classes. All
    parameters of π are 1 + classes.
    """

    right: float
    wrong: float
    classes: float

    @property
    def flat(self) -> bool:
        """Whether the prior is uniform, so that the posterior mode is the maximum of the likelihood."""
        return self.right == self.wrong == self.classes == 0


PRIORS = {"informed": Prior(3, 1, 1), "flat": Prior(0, 0, 0)}


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes as numbers: in vote n, the rater `rater[n]` gives the item `item[n]` the class `label[n]`.

    `weight` is the weight of each vote (None: all 1); a rater with confidence 0.8 casts 0.8 for one class and 0.2 for
    the other. `pinned` has the known class of an item, or -1. `classes` are ascending grades, or names. An item in
    `items` may have no vote; its posterior is then π.
    """

    item: Ints
    rater: Ints
    label: Ints
    weight: Floats | None
    items: list[str]
    raters: list[str]
    classes: Floats | list[str]
    pinned: Ints

    def __len__(self) -> int:
        return len(self.item)

    def where(self, chosen: Bools) -> Votes:
        """The chosen votes, with the same items, raters and classes."""
        weight = None if self.weight is None else self.weight[chosen]
        return replace(self, item=self.item[chosen], rater=self.rater[chosen], label=self.label[chosen], weight=weight)


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted model, with warnings about what makes it doubtful.

    posterior   [item, class], the result of an E step with this `confusion` and `prior`
    confusion   [rater, truth, label], θ; under the flat prior, a label that a rater never used has probability 0
    prior       [class], π
    objective   log posterior density after each M step, without constants; it never falls by more than rounding, or by
                the floor of 1e-10 votes under the flat prior
    """

    posterior: Floats
    confusion: Floats
    prior: Floats
    objective: Floats
    iterations: int
    converged: bool
    warnings: tuple[Note, ...]


@dataclass(frozen=True, eq=False)
class _Model:
    """The votes and the prior, arranged for the steps of EM. Tables of raters are [rater·label, truth]."""

    matrix: Any  # sparse [item, rater·label]: the weight of each vote
    raters: int
    classes: int
    pinned: Ints  # the items whose truth is known
    truth: Ints  # and that truth
    pseudo: Floats  # [label, truth]: votes that the prior adds for each rater
    spread: float  # items that it adds to each class
    used: Bools | None  # [rater, label, 1]: labels that get the floor; None where the prior leaves nothing at 0
    variant: Variant
    distance: Floats  # [class, class], for ordinal errors


def _model(votes: Votes, prior: Prior, variant: Variant) -> _Model:
    from scipy import sparse

    K, R = len(votes.classes), len(votes.raters)
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    counts = weight > 0
    at = (votes.item[counts], (votes.rater * K + votes.label)[counts])
    matrix = sparse.csr_array((weight[counts], at), shape=(len(votes.items), R * K))
    pseudo = 2 / K * np.where(np.eye(K, dtype=bool), prior.right, prior.wrong)
    if variant != "full":
        pseudo /= K  # one number per rater, not K rows: one row's worth of votes
    used = None
    if prior.flat:
        used = np.zeros((R, K, 1), dtype=bool)
        used[votes.rater[counts], votes.label[counts]] = True
        used |= ~used.any(axis=1, keepdims=True)
    pinned = np.flatnonzero(votes.pinned >= 0)
    distance = _distance(votes, variant)
    return _Model(matrix, R, K, pinned, votes.pinned[pinned], pseudo, prior.classes, used, variant, distance)


def _distance(votes: Votes, variant: Variant) -> Floats:
    """The distances between classes, in mean steps of the scale."""
    K = len(votes.classes)
    if variant != "ordinal" or K == 1:
        return np.zeros((K, K))
    if isinstance(votes.classes, list):
        raise TextError(
            f"ordinal needs classes that are grades, not names ({votes.classes[0]!r}, …)",
            remedy="take full or one-coin",
        )
    steps = votes.classes * ((K - 1) / (votes.classes[-1] - votes.classes[0]))
    return np.asarray(np.abs(steps[:, None] - steps))


def _start(model: _Model, *, smooth: bool) -> Floats:
    """The starting posterior: shares of the votes, with one vote added to every class if `smooth`."""
    K = model.classes
    counts = np.asfortranarray(model.matrix @ np.tile(np.eye(K), (model.raters, 1))) + (1.0 if smooth else 0.0)
    total = counts.sum(axis=1, keepdims=True)
    q = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / K)
    return _pin(model, q)


def _pin(model: _Model, q: Floats) -> Floats:
    """Make the known classes certain, in place."""
    q[model.pinned] = 0
    q[model.pinned, model.truth] = 1
    return q


def _expect(model: _Model, logs: Floats, classes: Floats) -> tuple[Floats, float]:
    """E step: the posterior of every item, and the log likelihood of all votes."""
    scores = np.asfortranarray(model.matrix @ logs)  # classes are few: NumPy is slow along a short last axis
    scores += np.log(classes)
    known = float(scores[model.pinned, model.truth].sum())
    top = scores.max(axis=1, keepdims=True)
    scores -= top
    np.exp(scores, out=scores)
    total = scores.sum(axis=1, keepdims=True)
    scores /= total
    evidence = (top + np.log(total))[:, 0]
    evidence[model.pinned] = 0
    return _pin(model, scores), float(evidence.sum()) + known


def _maximise(model: _Model, q: Floats) -> tuple[Floats, Floats]:
    """M step: θ as [rater, label, truth], and π."""
    K = model.classes
    counts = (model.matrix.T @ q).reshape(model.raters, K, K) + model.pseudo
    if K == 1:
        return np.ones_like(counts), np.ones(1)
    if model.variant == "full":
        if model.used is not None:
            counts = np.where(model.used, np.maximum(counts, FLOOR), 0.0)
        classes = np.maximum((q.sum(axis=0) + model.spread) / (len(q) + K * model.spread), FLOOR)
        counts /= counts.sum(axis=1, keepdims=True)
        return counts, classes / classes.sum()
    # With one number per rater π must not be fitted: a class that raters name too readily would take all items.
    classes = np.full(K, 1 / K)
    counts[counts.sum(axis=(1, 2)) == 0] = 1 / K  # nothing is known of this rater: every answer is as likely
    if model.variant == "ordinal":
        return _geometric(counts, model.distance), classes
    right = np.maximum(np.trace(counts, axis1=1, axis2=2), FLOOR)
    wrong = np.maximum(counts.sum(axis=(1, 2)) - np.trace(counts, axis1=1, axis2=2), FLOOR)
    share = np.stack([wrong / (K - 1), right]) / (right + wrong)
    return np.where(np.eye(K, dtype=bool), share[1][:, None, None], share[0][:, None, None]), classes


def _geometric(counts: Floats, distance: Floats) -> Floats:
    """θ[r, l, t] = exp(-λ_r d[t, l]) / Σ_l exp(-λ_r d[t, l]), with the λ of greatest likelihood for these counts.

    The log likelihood is concave in λ and greatest where the expected distance equals the observed one. Newton's method
    finds λ for all raters at once; a step that leaves its bracket halves the bracket instead.
    """
    rows = counts.sum(axis=1)
    seen = (counts * distance).sum(axis=(1, 2))
    seen = np.clip(seen, FLOOR, (rows * distance.max(axis=0)).sum(axis=1) - FLOOR)
    low, high = np.full(len(counts), -STEEPEST), np.full(len(counts), STEEPEST)
    steepness = np.ones(len(counts))
    for _ in range(100):
        table = _decay(steepness, distance)
        mean = (table * distance).sum(axis=1)
        variance = (table * distance**2).sum(axis=1) - mean**2
        slope = (rows * mean).sum(axis=1) - seen
        low, high = np.where(slope > 0, steepness, low), np.where(slope > 0, high, steepness)
        newton = steepness + slope / np.maximum((rows * variance).sum(axis=1), FLOOR * FLOOR)
        after = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        step, steepness = float(np.abs(after - steepness).max()), after
        if step < 1e-12:
            break
    return _decay(steepness, distance)


def _decay(steepness: Floats, distance: Floats) -> Floats:
    exponent = -steepness[:, None, None] * distance
    table = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _logs(table: Floats) -> Floats:
    """Logarithms of [rater, label, truth] as [rater·label, truth], finite."""
    return np.log(np.maximum(table, SMALLEST)).reshape(-1, table.shape[2])


def fit(
    votes: Votes, *, prior: str | Prior = "informed", variant: Variant = "full", iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> Fit:  # fmt: skip
    """Fit the posterior of every item and the confusion matrix of every rater by MAP expectation-maximisation.

        E  q_i(t) ∝ π_t Π_votes (r, l) on i  θ_r[t, l]^weight      (in logarithms; pinned items do not change)
        M  θ_r[t, l] = (Σ_i q_i(t) weight_irl + prior votes) / Σ_l of the same;  π_t = (Σ_i q_i(t) + c) / (n + K c)

    prior    `informed` is Prior(3, 1, 1). A prior that does not favour right answers, such as Beta(2, 2) on all, can
             end with the same posterior for every item. `flat` is maximum likelihood, as in Dawid and Skene and in
             crowd-kit, with at least 1e-10 votes on every label that the rater used.
    variant  `full`: θ_r is any matrix. `one-coin`: a rater is right with probability a_r, and all errors are equally
             likely. `ordinal`: θ_r[t, l] ∝ exp(-λ_r |t - l|), for grades. The last two have one number per rater and a
             uniform π, because a fitted π would absorb the classes that raters name too seldom. They are wrong if
             raters prefer a class; a warning says so. With two classes they are the same.

    EM starts at the vote shares and stops when no posterior changes by `tolerance`, or after `iterations`. It finds a
    local maximum. Under the flat prior, posteriors go on approaching 0 and 1 long after the labels have settled.
    Misleads: pinned items count in π, which is wrong if they were chosen by class.
    """
    settings = _prior(prior)
    _check(votes, variant, iterations)
    model = _model(votes, settings, variant)
    q = _start(model, smooth=not settings.flat)
    objective: list[float] = []
    change = math.inf
    while change >= tolerance and len(objective) < iterations:
        table, classes = _maximise(model, q)
        logs = _logs(table)
        before = q
        q, likelihood = _expect(model, logs, classes)
        prior_part = (model.pseudo * logs.reshape(table.shape)).sum() + model.spread * np.log(classes).sum()
        objective.append(likelihood + float(prior_part))
        before -= q
        change = float(max(before.max(), -before.min()))
    warnings = _warnings(votes, table, q)
    if change >= max(tolerance, VISIBLE):
        warnings.append(warning("raters.no_convergence", iterations=iterations, change=change))
    return Fit(
        posterior=q, confusion=np.ascontiguousarray(table.transpose(0, 2, 1)), prior=classes,
        objective=np.array(objective), iterations=len(objective), converged=change < tolerance,
        warnings=tuple(warnings),
    )  # fmt: skip


def _prior(prior: str | Prior) -> Prior:
    if isinstance(prior, Prior):
        if not min(prior.right, prior.wrong, prior.classes) > 0 and not prior.flat:
            raise TextError(f"the votes of a prior are greater than 0, or all 0 for flat; not {prior}")
        return prior
    refuse_choice("prior", prior, PRIORS)
    return PRIORS[prior]


def _check(votes: Votes, variant: str, iterations: int) -> None:
    refuse_choice("variant", variant, get_args(Variant))
    if iterations < 1:
        raise TextError(f"iterations must be 1 or more, not {iterations}")
    if not len(votes) or (votes.weight is not None and not votes.weight.any()):
        raise TableError(
            "there is no vote, or none that weighs anything", remedy="expected rows of item, rater and label"
        )


def _warnings(votes: Votes, table: Floats, q: Floats) -> list[Note]:
    """What makes the fit doubtful."""
    found = []
    K, R = table.shape[1], len(votes.raters)
    if K == 1:
        return [warning("raters.one_class")]
    if R < 3:
        found.append(warning("raters.few", raters=R))
    cast_votes = np.bincount(votes.rater * K + votes.label, weights=votes.weight, minlength=R * K).reshape(R, K)
    same = np.flatnonzero(((cast_votes > 0).sum(axis=1) == 1) & (cast_votes.sum(axis=1) >= 3))
    if len(same):
        found.append(warning("raters.same_answer", same=[votes.raters[at] for at in same], raters=R))
    diagonal = float(np.einsum("rkk->rk", table).mean())
    if diagonal * K <= 1 + 1e-6:  # two classes: Σ(α + β - 1) ≤ 0
        found.append(warning("raters.no_better_than_chance", right=diagonal, classes=K))
    voted, believed = cast_votes.sum(axis=0) / cast_votes.sum(), q.mean(axis=0)
    for at in np.flatnonzero((voted >= 0.05) & (believed < voted / 4)):
        facts = {"label": votes.classes[at], "votes": voted[at], "items": believed[at]}
        found.append(warning("raters.swallowed_class", **facts))
    return found


def cavity(votes: Votes, fit: Fit, raters: str | Iterable[str]) -> Floats:
    """Posterior [item, class] without the votes of these raters, under the same confusion matrices.

    Use it to score a system, because its own votes and those of its family would count in its favour. An item without
    another vote has posterior π. Pinned items stay pinned.
    Misleads: π and the matrices of the other raters were fitted with these votes.
    """
    keep = _keep(votes, [raters] if isinstance(raters, str) else raters)
    model = _model(votes, PRIORS["flat"], "full")
    table = fit.confusion.transpose(0, 2, 1)
    return _expect(model, _weighted(_logs(table), keep, model.classes), fit.prior)[0]


def _keep(votes: Votes, without: Iterable[str]) -> Floats:
    """[rater]: 0 for the raters in `without`, else 1."""
    place = {name: at for at, name in enumerate(votes.raters)}
    keep = np.ones(len(place))
    for name in without:
        if name not in place:
            raise TableError(f"no rater is called {name!r}", remedy=did_you_mean(name, place))
        keep[place[name]] = 0
    return keep


def _weighted(logs: Floats, weight: Floats, classes: int) -> Floats:
    return np.asarray(logs * np.repeat(weight, classes)[:, None])


def held_out(
    votes: Votes, *, prior: str | Prior = "informed", variant: Variant = "full", iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE, folds: int = 5, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Log probability of every vote under a fit to the other folds, to compare priors and variants by its mean.

    Formula: log Σ_t q_i(t) θ_r[t, l], at least log 1e-10. A vote that is split over labels stays in one fold.
    Misleads: a model that predicts votes better need not be nearer to the truth.
    """
    if not 2 <= folds <= len(votes):
        raise TextError(f"folds must be from 2 to the number of votes ({len(votes)}), not {folds}")
    _, pair = np.unique(votes.item * len(votes.raters) + votes.rater, return_inverse=True)
    fold = rng.permutation(int(pair.max()) + 1)[pair] % folds
    result = np.empty(len(votes))
    for number in range(folds):
        out = fold == number
        if not out.any():
            continue
        found = fit(votes.where(~out), prior=prior, variant=variant, iterations=iterations, tolerance=tolerance)
        likely = found.confusion[votes.rater[out], :, votes.label[out]]
        p = (found.posterior[votes.item[out]] * likely).sum(axis=1)
        result[out] = np.log(np.maximum(p, FLOOR))
    return result


def believe(
    opinions: Opinions, *, prior: str | Prior = "informed", variant: Variant = "full", gold: Opinions | None = None,
    without: Iterable[str] = (), people: int = 0, iterations: int = ITERATIONS, tolerance: float = TOLERANCE,
    unmentioned: Unmentioned = "irrelevant", rng: np.random.Generator | None = None,
) -> Belief:  # fmt: skip
    """Grades of every (query, item) pair from a model of how often each rater (person, system, judge) errs.

    The classes are the grades that occur. A null grade is undecided and not a vote; a pair without votes has the
    probabilities π. Rows with the role `practice` are ignored. With two grades, a confidence c casts c for the given
    grade and 1 - c for the other; with more grades, confidence is ignored. Known grades are the table `gold`, or rows
    of the source `truth` with the role `gold`; they are certain and show who errs.
    `without` removes the votes of raters that are to be scored (see `cavity`).
    `people` is the number of resamples of the raters, with replacement and within their kind, each with a few EM steps
    from the fit. It needs `rng`.

    The prior `informed` gives better probabilities, and `flat` gives labels that are as good or better. Informed and
    flat, on the real data sets rte, dog, web and edges: mean log probability of a held-out vote -0.46 / -0.69, -0.58 /
    -1.04, -1.18 / -1.90, -0.96 / -2.80; log loss of the truth 0.32 / 1.02, 1.48 / 2.66, 0.55 / 2.22, 0.50 / 0.29; share
    of right labels 0.928 / 0.928, 0.841 / 0.843, 0.815 / 0.824, 0.969 / 0.988 (`ordinal`: 0.867 on web).
    Misleads: both are overconfident where raters make the same errors.
    """
    votes, pairs, kinds, notes = _asked(opinions, gold)
    if people and rng is None:
        raise TextError("resampling people needs chance: give rng=numpy.random.default_rng(…)")
    found = fit(votes, prior=prior, variant=variant, iterations=iterations, tolerance=tolerance)
    left = [without] if isinstance(without, str) else list(without)
    posterior = cavity(votes, found, left) if left else found.posterior
    draws = np.zeros((0, *posterior.shape), dtype=np.float32)
    if people and rng is not None:
        model = _model(votes, _prior(prior), variant)
        draws = _resampled(model, found, kinds, _keep(votes, left), people, rng)
    how = {"prior": prior if isinstance(prior, str) else (prior.right, prior.wrong, prior.classes), "variant": variant}
    notes = [
        note("raters.fit", **how, converged=found.converged, iterations=found.iterations),
        *notes,
        *([note("raters.without", raters=left)] if left else []),
        *(note(one.code, **one.facts).of("warning") for one in found.warnings),
    ]
    frame = _rows(pairs, np.asarray(votes.classes, dtype=np.float64), posterior, draws)
    return Belief.of(frame, unmentioned=unmentioned, model="dawid-skene", notes=notes)


def _asked(opinions: Opinions, gold: Opinions | None) -> tuple[Votes, pl.DataFrame, list[str], list[Note]]:
    """The votes, the (query, item) pairs in order, the kind of each rater, and notes."""
    frame = opinions.frame.filter(pl.col("role").ne_missing("practice"))
    is_truth = (pl.col("source") == "truth") & pl.col("role").eq_missing("gold")
    known = [frame.filter(is_truth)] + ([] if gold is None else [gold.frame])
    truth = pl.concat(table.select("query", "item", "grade") for table in known).drop_nulls("grade").unique()
    if (torn := truth.filter(truth.select("query", "item").is_duplicated())).height:
        raise TableError(
            f"query {torn['query'][0]!r}: item {torn['item'][0]!r} has two known grades", remedy="it has one truth"
        )
    frame = frame.filter(~is_truth)
    keys = ["query", "item"]
    pairs = pl.concat([frame.select(keys), truth.select(keys)]).unique().sort(keys)
    voted = frame.filter(pl.col("grade") >= 0)  # null is undecided; a negative grade means pooled but not judged
    if not voted.height:
        raise TableError(
            "nobody gave a grade (all are missing, practice, or known truth)", remedy="a rater model needs votes"
        )
    grades = np.unique(np.concatenate([voted["grade"].to_numpy(), truth["grade"].to_numpy()]))
    raters, rater = coded(voted["source"])
    item = _pair_places(voted, pairs)
    label = np.searchsorted(grades, voted["grade"].to_numpy())
    pinned = np.full(pairs.height, -1, dtype=np.int64)
    pinned[_pair_places(truth, pairs)] = np.searchsorted(grades, truth["grade"].to_numpy())
    sizes = {"votes": voted.height, "raters": len(raters), "pairs": pairs.height}
    notes = [note("raters.votes", **sizes, undecided=frame.height - voted.height)]
    if truth.height:
        notes.append(note("raters.gold", pairs=truth.height))
    weight: Floats | None = None
    if voted["confidence"].is_not_null().any():
        if len(grades) == 2:
            sure = _confidence(voted)
            item, rater, label = np.tile(item, 2), np.tile(rater, 2), np.concatenate([label, 1 - label])
            weight = np.concatenate([sure, 1 - sure])
        else:
            notes.append(note("raters.confidence_unused", grades=len(grades)))
    items = pairs.select(pl.concat_str(keys, separator=" ")).to_series().to_list()
    votes = Votes(item, rater, label, weight, items, raters.to_list(), grades, pinned)
    kind = dict(voted.select("source", pl.col("kind").fill_null("person")).iter_rows())
    return votes, pairs, [kind[name] for name in votes.raters], notes


def _pair_places(rows: pl.DataFrame, pairs: pl.DataFrame) -> Ints:
    """The position of the pair of each row among the pairs."""
    place = rows.join(pairs.with_row_index("place"), on=["query", "item"], how="left", maintain_order="left")["place"]
    return place.to_numpy().astype(np.int64)


def _confidence(voted: pl.DataFrame) -> Floats:
    if (wrong := voted.filter(~pl.col("confidence").is_between(0, 1))).height:
        row = wrong.row(0, named=True)
        raise TableError(
            f"{row['source']!r} has confidence {row['confidence']:g} in item {row['item']!r} of query {row['query']!r}",
            remedy="it is the probability of the grade given, between 0 and 1",
        )
    return voted["confidence"].fill_null(1.0).to_numpy()


def _resampled(
    model: _Model, found: Fit, kinds: list[str], keep: Floats, people: int, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Posterior [resample, item, class] under resamples of the raters of each kind: the E step counts them as drawn."""
    strata = [np.flatnonzero(np.array(kinds) == kind) for kind in sorted(set(kinds))]
    draws = np.empty((people, *found.posterior.shape), dtype=np.float32)
    for draw in draws:
        weight = np.zeros(model.raters)
        for members in strata:
            weight[members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)))
        q = found.posterior
        for _ in range(RESAMPLE_ITERATIONS):
            table, classes = _maximise(model, q)
            logs, before = _logs(table), q
            q, _ = _expect(model, _weighted(logs, weight, model.classes), classes)
            if np.abs(q - before).max() < NEAR:
                break
        draw[:] = q if keep.all() else _expect(model, _weighted(logs, weight * keep, model.classes), classes)[0]
    return draws


def _rows(pairs: pl.DataFrame, grades: Floats, posterior: Floats, draws: npt.NDArray[np.float32]) -> pl.DataFrame:
    """A row for every grade but 0 with a positive probability, and at least one per pair; the rest is grade 0."""
    shown = grades != 0 if (grades != 0).any() else np.ones(len(grades), dtype=bool)
    likely = np.maximum(posterior, draws.max(axis=0, initial=0))
    keep = (likely >= NOTHING) & shown
    best = np.where(shown, likely, -1).argmax(axis=1)
    silent = ~keep.any(axis=1)
    keep[silent, best[silent]] = True
    at, grade = np.nonzero(keep)
    columns = {
        "query": pairs["query"][at], "item": pairs["item"][at], "grade": pl.Series(grades[grade]),
        "p": pl.Series(np.minimum(posterior[at, grade], 1.0)),
    }  # fmt: skip
    if len(draws):
        columns["people"] = pl.Series(np.ascontiguousarray(draws[:, at, grade].T))
    return pl.DataFrame(columns)
