"""The baselines: worked numbers (docs/methods/search.md, Feature weighting), oracles, and what all of them must do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_samples import clusters

from endoxa.errors import TextError
from endoxa.searches import baselines
from endoxa.searches.arms import Features, Group
from endoxa.searches.baselines import Marks, new_weights, spread
from endoxa.searches.learner import Evidence, learn
from endoxa.searches.learners import LEARNERS
from endoxa.searches.priors import Counts

FEEDBACK = [name for name in LEARNERS if name != "none"]
GOLD = {"abs": 5e-7}
X = np.array([[0.5, 0.2, 0.6], [0.52, 0.9, 0.5], [0.48, 0.5, 0.7], [0.9, 0.4, 0.9], [0.1, 0.3, 0.55], [0.85, 0.8, 0.1]])
G = np.array([2, 2, 1, 0, -1, -2])
LIKES, DISLIKES = np.maximum(G, 0) / 2, np.maximum(-G, 0) / 2
EVEN = np.full(3, 1 / 3)


def evidence(y: list[float], rows: list[int] | None = None) -> Evidence:
    return Evidence(np.array(rows or range(len(y)), np.int64), np.array(y), np.full(len(y), 0.1))


def test_new_weights_by_hand() -> None:
    """Worked by hand: shrunk to the deviation of the page, and without shrinking with ε = .05."""
    assert new_weights(X, LIKES, DISLIKES, EVEN, eta=1.0) == pytest.approx([0.624453, 0, 0.375547], **GOLD)
    assert new_weights(X, LIKES, DISLIKES, EVEN) == pytest.approx([0.478893, 0.166667, 0.354440], **GOLD)
    bare = {"shrink": 0.0, "epsilon": 0.05}
    assert new_weights(X, LIKES, DISLIKES, EVEN, eta=1.0, **bare) == pytest.approx([0.835015, 0, 0.164985], **GOLD)
    assert new_weights(X, LIKES, DISLIKES, EVEN, **bare) == pytest.approx([0.584174, 0.166667, 0.249159], **GOLD)


def test_new_weights_at_the_edges() -> None:
    one = np.array([1.0, 0, 0, 0, 0, 0])
    assert (new_weights(X, one, DISLIKES, EVEN) == EVEN).all()  # one like says nothing of spread
    flat = np.column_stack([X, np.ones(6)])
    assert new_weights(flat, LIKES, DISLIKES, np.full(4, 0.25), eta=1.0)[3] == 0
    assert new_weights(X, LIKES, np.zeros(6), EVEN, eta=1.0)[1] > 0  # no dislike lies among the likes
    assert (new_weights(np.ones((6, 3)), LIKES, DISLIKES, EVEN) == EVEN).all()


@given(st.integers(0, 500), st.floats(0, 1))
@settings(max_examples=40)
def test_new_weights_stay_weights(seed: int, eta: float) -> None:
    rng = np.random.default_rng(seed)
    x, g = rng.random((12, 5)), rng.integers(-2, 3, 12)
    found = new_weights(x, np.maximum(g, 0) / 2, np.maximum(-g, 0) / 2, np.full(5, 0.2), eta=eta)
    assert found.sum() == pytest.approx(1) and (found >= 0).all()


def test_metric_selection_by_hand() -> None:
    """By hand: Hedge on rewards (.6, .7, .5), (.5, .8, .4) with η = 1; a Beta(1, 1) after a reward of .583333."""
    from endoxa.searches.learner import _weights

    sums = dict(zip("abc", (0.6 + 0.5, 0.7 + 0.8, 0.5 + 0.4), strict=True))
    hedge = _weights(dict.fromkeys(sums, "l1"), {(name, "l1"): value for name, value in sums.items()}, {})
    assert list(hedge.values()) == pytest.approx([0.302064, 0.450627, 0.247309], **GOLD)
    a, b = Counts({("look", "l1"): (1.0, 1.0)}).add({("look", "l1"): 0.583333}).of["look", "l1"]
    assert (a, b, a / (a + b)) == pytest.approx((1.583333, 1.416667, 0.527778), **GOLD)


def line(values: list[float]) -> Features:
    look = np.array(values, np.float32)
    rows = np.column_stack([np.cos(look), np.sin(look)]).astype(np.float32)
    return Features(tuple(f"p{at}" for at in range(len(values))), (Group("look", rows, ("cosine",), {"cosine": 0.1}),))


def test_rocchio_by_hand() -> None:
    """Angles 0 (query), .4 (liked), 1.2 (disliked): the cosine with q + .75 p - .25 n, stretched to -1 … 1."""
    features = line([0.0, 0.4, 1.2, 0.2, 2.0])
    query = features.groups[0].values.astype(float).T @ [1 + 0.75 * 0.5, 0.75 * 0.5, -0.25, 0, 0]
    values = features.groups[0].values.astype(float) @ query
    found = LEARNERS["rocchio"][0](features, evidence([1.0, 1.0, -1.0]))
    assert found.mean == pytest.approx(2 * (values - values.min()) / np.ptp(values) - 1, abs=1e-6)


def test_best_score_by_hand() -> None:
    """The nearer of the liked (angle 0) and the disliked (angle 1) decides."""
    features = line([0.0, 1.0, 0.3, 0.8])
    scores, _ = baselines.best_score(features.groups, Marks.of(evidence([1.0, -1.0])))
    assert scores[2] == pytest.approx(np.cos(0.3) / (1 + np.cos(0.3)), abs=1e-6)
    assert scores[3] == pytest.approx(-np.cos(0.2) / (1 + np.cos(0.2)), abs=1e-6)


def test_pichunter_by_hand() -> None:
    features = line([0.0, 1.0, 0.3])
    scores, _ = baselines.pichunter(features.groups, Marks.of(evidence([1.0, -1.0])))
    like, other = np.exp(-(1 - np.cos(0.3)) / 0.1), np.exp(-(1 - np.cos(0.7)) / 0.1)
    assert scores[2] == pytest.approx(np.log(like / (like + other)), abs=1e-5)


def test_neighbours_by_hand() -> None:
    features, _ = clusters(12)
    marks = Marks.of(evidence([1.0, -1.0, -0.5]))
    everything, marked = baselines.together(features.groups, marks)
    assert everything.var(0).sum() == pytest.approx(1)
    scores, _ = baselines.neighbours(features.groups, marks)
    up, down = (min(np.linalg.norm(everything[7] - marked[at]) for at in some) for some in ([0], [1, 2]))
    assert scores[7] == pytest.approx(down / (up + down))


def test_mars_gives_the_votes_to_the_groups_that_keep_likes_together() -> None:
    features, kind = clusters(60)
    found = LEARNERS["mars"][0](features, evidence(list(np.where(kind[:18] == 0, 1.0, -1.0))))
    assert sum(found.weights.values()) == pytest.approx(1)
    assert found.weights["colours"] < min(found.weights["look"], found.weights["layout"])


@pytest.mark.parametrize("name", FEEDBACK)
def test_every_learner_finds_the_kind(name: str) -> None:
    """After marks on twelve pictures, those of the liked kind come first among the others."""
    features, kind = clusters(60)
    found = LEARNERS[name][0](features, evidence(list(np.where(kind[:12] == 1, 1.0, -1.0))))
    first = 12 + np.argsort(-found.mean[12:], kind="stable")[:12]
    assert (kind[first] == 1).mean() > 0.9
    assert np.isfinite(found.mean).all()
    assert sum(found.weights.values()) == pytest.approx(1)
    sees = {"look"} if name in ("rocchio", "best-score", "linear-svm", "pichunter") else {"look", "colours", "layout"}
    assert set(found.metrics) == set(found.weights) == sees


@pytest.mark.parametrize("name", list(LEARNERS))
@pytest.mark.parametrize("y", [[], [1.0], [-1.0], [0.0, 0.0], [1.0, 1.0], [-0.5, -1.0], [1.0, -1.0, 0.0]])
def test_no_evidence_is_too_little(name: str, y: list[float]) -> None:
    features, _ = clusters(20)
    found = LEARNERS[name][0](features, evidence(y))
    assert found.mean.shape == (20,) and np.isfinite(found.mean).all()
    hint = np.linspace(0, 1, 20)
    assert np.isfinite(LEARNERS[name][0](features, evidence(y), hint=hint).mean).all()


@pytest.mark.parametrize("name", FEEDBACK)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=12), st.integers(0, 3))
@settings(max_examples=8)
def test_items_may_come_in_any_order(name: str, y: list[float], seed: int) -> None:
    features, _ = clusters(30, seed=seed)
    rng = np.random.default_rng(seed)
    rows = rng.choice(30, len(y), replace=False)
    order = rng.permutation(30)
    place = np.argsort(order)
    groups = tuple(replace(group, values=group.values[order]) for group in features.groups)
    moved = Features(tuple(features.items[at] for at in order), groups)
    plain = LEARNERS[name][0](features, evidence(y, rows.tolist())).mean
    assert LEARNERS[name][0](moved, evidence(y, place[rows].tolist())).mean[place] == pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_broken_vectors_stay_silent(name: str) -> None:
    features, _ = clusters(20)
    look = features.groups[0].values.copy()
    look[3], look[4] = np.nan, 0
    broken = Features(features.items, (replace(features.groups[0], values=look), *features.groups[1:]))
    assert np.isfinite(LEARNERS[name][0](broken, evidence([1.0, -1.0, 0.5, 1.0, -1.0])).mean).all()
    everything_off = dict.fromkeys(["look", "colours", "layout"], "off")
    with pytest.raises(TextError, match="every group of features is off"):
        LEARNERS[name][0](features, evidence([1.0]), pins=everything_off)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_a_picture_from_outside_counts_like_any_other(name: str) -> None:
    features, _ = clusters(20)
    point = {group.name: group.values[4] for group in features.groups}
    outside = Evidence(np.array([-1, 2]), np.array([1.0, -1.0]), np.full(2, 0.1), (point,))
    found = LEARNERS[name][0](features, outside).mean
    if name == "mars":  # a picture from outside is in no list of the collection, and has no vote
        assert np.isfinite(found).all()
    else:
        assert found == pytest.approx(LEARNERS[name][0](features, evidence([1.0, -1.0], [4, 2])).mean, abs=1e-6)


def test_none_is_the_ranking_by_the_query_alone() -> None:
    features, _ = clusters(20)
    prior = Counts.start(features).weights()
    alone = learn(features, evidence([1.0], [4]), prior=prior, adapts=False).mean
    assert (baselines.none(features, evidence([1.0, -1.0, 0.5], [4, 2, 3]), prior=prior).mean == alone).all()
    assert len(np.unique(baselines.none(features, evidence([])).mean)) == 20  # by chance, the same each time


def test_values_are_stretched() -> None:
    assert spread(np.array([1.0, 3.0, 2.0])).tolist() == [-1, 1, 0]
    assert spread(np.array([2.0, 2.0])).tolist() == [-1, -1]
    assert spread(np.array([np.nan, 0.0, 4.0])).tolist() == [-1, -1, 1]


@pytest.mark.parametrize("name", ["linear-svm", "rbf-svm"])
def test_support_vectors_lie_at_the_margin(name: str) -> None:
    """Before it is stretched, the decision is at least 1 for every like and at most -1 for every dislike."""
    features, kind = clusters(60)
    score = baselines.linear_svm if name == "linear-svm" else baselines.rbf_svm
    many = np.repeat(np.arange(12), 40)  # the cost is high enough to separate them
    decided, _ = score(features.groups, Marks.of(evidence(list(np.where(kind[many] == 1, 1.0, -1.0)), many.tolist())))
    sides = np.where(kind[:12] == 1, 1.0, -1.0) * decided[:12]
    assert sides.min() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_learner_serves_a_search(name: str) -> None:
    """A search with this learner: a page, marks, a better page, a pinned group; and it replays exactly."""
    from endoxa.searches.seeking import Search, replay
    from endoxa.searches.session import Settings

    features, kind = clusters(60)
    search = Search(features, settings=Settings(size=6, learner=name))
    page = search.picture(4)
    for _ in range(2):
        for place in page.places:
            search.mark(int(place), 2 if kind[place] == kind[4] else -2)
        page = search.refine()
    assert (kind[page.places] == kind[4]).mean() >= 0.5
    search.pin("colours", "off")
    assert replay(features, search.events).round is None
