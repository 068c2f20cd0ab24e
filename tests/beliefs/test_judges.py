"""Machine judges in the learned belief: the predictors by hand, what chooses their prior, and the invariances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from deciding_samples import design, field, grades
from scipy.special import expit, logit

from endoxa.beliefs.judges import CONSTANT, ELSEWHERE, Panel
from endoxa.beliefs.learned import SPREADS, Judged, Learned, Universe, cross_fitted, fit, learn
from endoxa.comparisons.posterior import posterior
from endoxa.measures.grammar import parse
from endoxa.pools.choosing import choose
from endoxa.tables import Gradings, Opinions

RUN, TRUTH = field((0.6, 0.9, 1.2, 1.6, 2.5), topics=10)
UNIVERSE = Universe.of(RUN)
MEASURE = parse("nDCG@10")
ROWS = pl.DataFrame({"query": ["q", "q", "q", "r"], "item": ["x", "y", "z", "x"]})


def gradings(rows: list[tuple[str, str, str, float]], scale: str | None = "0-3") -> Gradings:
    frame = pl.DataFrame(rows, schema=["judge", "query", "item", "grade"], orient="row")
    return Gradings.of(frame if scale is None else frame.with_columns(scale=pl.lit(scale)))


def judge(name: str = "llm", right: float = 0.8, seed: int = 0, part: float = 1.0) -> list[tuple[str, str, str, float]]:
    """A judge that is right about each pair with this probability, of some part of the pairs."""
    rng = np.random.default_rng(seed)
    rows = []
    for (query, item), relevant in sorted(TRUTH.items()):
        says = relevant if rng.random() < right else 1 - relevant
        grade = float(rng.integers(2, 4) if says else rng.integers(0, 2))
        if rng.random() < part:
            rows.append((name, query, item, grade))
    return rows


def labels(count: int, seed: int = 0) -> Opinions:
    """Drawn as `endoxa next` draws them, answered by the truth."""
    drawn = choose(learn(UNIVERSE, Judged.of(UNIVERSE, None), [1.0]), MEASURE, count, rng=np.random.default_rng(seed))
    answers = [TRUTH[pair] for pair in drawn.select("query", "item").iter_rows()]
    return Opinions.of(drawn.select("query", "item", "propensity", pl.Series("grade", answers)))


def learned(judges: Gradings | None, count: int = 0, seed: int = 0) -> Learned:
    universe = UNIVERSE.with_judges(judges)
    return learn(universe, Judged.of(universe, labels(count, seed) if count else None), [1.0])


def test_the_predictors_by_hand() -> None:
    """Two judges on 0-3: x has grades 3 and 0, y only 2, z none; q = 2/1.5, k = q n/2."""
    panel = Panel.of(ROWS, gradings([("a", "q", "x", 3), ("b", "q", "x", 0), ("a", "q", "y", 2), ("b", "r", "x", 1)]))
    assert panel.names == ["a", "b"]
    assert panel.given.tolist() == [2, 1, 0, 1]
    assert panel.is_partial
    assert panel.mean == pytest.approx([0.5, 2 / 3, 0.5, 1 / 3])
    q = 2 / (1 + 1 / 2)
    k = [q, q / 2, 0, q / 2]
    expected = [logit((0.2 + k[n] * v) / (0.4 + k[n])) for n, v in enumerate([0.5, 2 / 3, 0.5, 1 / 3])]
    assert panel.together == pytest.approx(expected)
    assert panel.apart.tolist() == [[0.5, -0.5], [0, 0], [0, 0], [0, 0]]


def test_one_judge_moves_a_logit_by_at_most_1_79() -> None:
    panel = Panel.of(ROWS, gradings([("a", "q", "x", 3), ("a", "q", "y", 0), ("a", "q", "z", 1.5)]))
    assert panel.together == pytest.approx([np.log(6), -np.log(6), 0, 0])
    assert panel.apart.shape == (4, 0)


def test_repeated_grades_are_averaged_and_a_probability_is_itself() -> None:
    panel = Panel.of(ROWS, gradings([("a", "q", "x", 0.2), ("a", "q", "x", 0.6), ("a", "q", "y", 0.9)], None))
    assert panel.shares[:2, 0].tolist() == pytest.approx([0.4, 0.9])


def test_a_judge_that_says_nothing_is_left_out() -> None:
    rows = [("a", "q", "x", 3), ("a", "q", "y", 0), ("b", "q", "x", 2), ("b", "q", "y", 2), ("c", "s", "x", 2)]
    panel = Panel.of(ROWS, gradings(rows))
    assert panel.names == ["a"]
    assert panel.left_out == {"b": CONSTANT, "c": ELSEWHERE}


def test_without_judges_nothing_changes_to_the_last_digit() -> None:
    alone = learned(None, 60)
    assert UNIVERSE.with_judges(None) is UNIVERSE
    silent = learned(gradings([("a", "q0", "q0d0", 2), ("a", "q0", "q0d1", 2)]), 60)  # does not vary: left out
    for count, other in ((60, silent), (60, learned(gradings(judge()), 60))):
        assert len(alone.judged) == count
        same = other is silent
        assert (posterior(alone, MEASURE).mean == posterior(other, MEASURE).mean).all() == same
        assert (posterior(alone, MEASURE).sd == posterior(other, MEASURE).sd).all() == same
    back = UNIVERSE.with_judges(gradings(judge())).without_judges
    assert (learn(back, alone.judged, [1.0]).fits[0].b == alone.fits[0].b).all()


@pytest.mark.parametrize("count", [0, 20, 80])
def test_order_and_names_of_judges_do_not_matter(count: int) -> None:
    first, second = judge("a", 0.85, 1), judge("b", 0.7, 2, part=0.6)
    renamed = [("z", *row[1:]) for row in first]
    one = posterior(learned(gradings([*first, *second]), count), MEASURE)
    other = posterior(learned(gradings([*second, *renamed]), count), MEASURE)
    assert one.mean == pytest.approx(other.mean, abs=1e-9)
    assert one.better == pytest.approx(other.better, abs=1e-7)


def test_a_copied_judge_counts_for_at_most_a_third_more() -> None:
    rows = judge("a")
    one = UNIVERSE.with_judges(gradings(rows)).panel
    two = UNIVERSE.with_judges(gradings([*rows, *(("copy", *row[1:]) for row in rows)])).panel
    assert one is not None
    assert two is not None
    assert one.effective == 1
    assert two.effective == pytest.approx(4 / 3)
    assert not two.apart.any()
    assert (np.abs(two.together) <= 1.34 * np.abs(one.together)).all()


def test_where_no_judge_graded_the_consensus_has_the_weight_that_it_has_alone() -> None:
    universe = UNIVERSE.with_judges(gradings(judge(part=0.5)))
    assert universe.panel is not None
    mean, _ = universe.prior()
    alone, _ = UNIVERSE.prior()
    free = universe.panel.given == 0
    assert free.any()
    assert universe.predict(mean)[free] == pytest.approx(UNIVERSE.predict(alone)[free])
    assert (universe.predict(mean)[~free] != UNIVERSE.predict(alone)[~free]).any()


def test_without_labels_the_prior_of_the_judge_speaks() -> None:
    universe = UNIVERSE.with_judges(gradings(judge()))
    assert universe.panel is not None
    expected = expit(-1 + 0.25 * universe.offset + 1.5 * universe.panel.together)
    assert learned(gradings(judge())).free[0] == pytest.approx(expected)


def evidence(universe: Universe, rows: np.ndarray, share: np.ndarray, spread: float) -> float:
    """log p(labels) by Laplace's approximation, from dense matrices: by its definition."""
    X = design(universe, rows)
    mean, precise = universe.prior(spread)
    at = fit_at(X, share, mean, precise)
    eta = X @ at
    p = expit(eta)
    H = np.diag(precise) + X.T @ ((p * (1 - p))[:, None] * X)
    likelihood = (share * eta - np.logaddexp(0, eta)).sum()
    prior = 0.5 * (np.log(precise / (2 * np.pi)) - precise * (at - mean) ** 2).sum()
    return float(likelihood + prior + 0.5 * (len(at) * np.log(2 * np.pi) - np.linalg.slogdet(H)[1]))


def fit_at(X: np.ndarray, share: np.ndarray, mean: np.ndarray, precise: np.ndarray) -> np.ndarray:
    at = mean.copy()
    for _ in range(60):
        p = expit(X @ at)
        H = np.diag(precise) + X.T @ ((p * (1 - p))[:, None] * X)
        at = at + np.linalg.solve(H, X.T @ (share - p) - precise * (at - mean))
    return at


@pytest.mark.parametrize(("right", "part"), [(0.95, 1.0), (0.6, 1.0), (0.9, 0.5)])
def test_the_prior_of_the_systems_is_the_one_of_the_greatest_evidence(right: float, part: float) -> None:
    universe = UNIVERSE.with_judges(gradings([*judge("a", right, 3, part), *judge("b", right, 4)]))
    judged = Judged.of(universe, labels(80))
    chosen = fit(universe, judged.rows, judged.tails[0])
    known = {spread: evidence(universe, judged.rows, judged.tails[0], spread) for spread in SPREADS}
    assert known[chosen.spread] == max(known.values())
    mean, precise = universe.prior(chosen.spread)
    at = fit_at(design(universe, judged.rows), judged.tails[0], mean, precise)
    order = np.concatenate([at[: 2 + len(universe.queries)], at[2 + len(universe.queries) :]])
    assert chosen.b == pytest.approx(order, abs=1e-7)


def test_of_equal_evidence_the_wider_prior_is_taken() -> None:
    assert list(SPREADS) == sorted(SPREADS, reverse=True)
    assert all(wide == 2 * narrow for wide, narrow in pairwise(SPREADS))


@pytest.mark.parametrize("seed", range(3))
def test_a_reversed_judge_gets_a_negative_weight(seed: int) -> None:
    """From 5 labels a topic on."""
    rows = [(name, query, item, 3 - grade) for name, query, item, grade in judge(right=0.9)]
    taught = learned(gradings(rows), 5 * len(UNIVERSE.queries), seed)
    place = 2 + len(UNIVERSE.queries) + len(UNIVERSE.systems)
    assert taught.fits[0].b[place] < 0


def test_a_good_judge_helps_and_a_bad_one_does_little_harm() -> None:
    """Mean squared error of P(relevant) over the pairs without a label: at 5 labels a topic, and at 20."""
    truth = grades(UNIVERSE, TRUTH)

    def error(judges: Gradings | None, count: int) -> float:
        taught = [learned(judges, count, seed) for seed in range(3)]
        return float(np.mean([((one.free[0] - truth)[one.unjudged] ** 2).mean() for one in taught]))

    assert error(gradings(judge(right=0.9)), 50) < 0.8 * error(None, 50)
    assert error(gradings(judge(right=0.5)), 200) < 1.1 * error(None, 200)


def test_pairs_are_drawn_from_the_consensus_whatever_the_judges_say() -> None:
    rng = np.random.default_rng
    with_judges, alone = learned(gradings(judge())), learned(None)
    assert choose(with_judges, MEASURE, 20, rng=rng(0))["p"].to_list() == (
        choose(alone, MEASURE, 20, rng=rng(0))["p"].to_list()
    )
    taught, plain = learned(gradings(judge()), 60), learned(None, 60)
    assert choose(taught, MEASURE, 20, rng=rng(0))["p"].to_list() == pytest.approx(
        choose(plain, MEASURE, 20, rng=rng(0))["p"].to_list()
    )


def test_predictions_that_have_not_seen_a_label_use_the_judges() -> None:
    taught = learned(gradings(judge(right=0.95)), 60)
    truth = grades(UNIVERSE, TRUTH)
    alone = learned(None, 60)
    assert ((cross_fitted(taught)[0] - truth) ** 2).mean() < ((cross_fitted(alone)[0] - truth) ** 2).mean()
