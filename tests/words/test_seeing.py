"""V of planted words, whose truth is known; its parts by slow definitions; what does not change it."""

from __future__ import annotations

import numpy as np
import pytest
from view_samples import planted, views

from endoxa.errors import JoinError
from endoxa.words.seeing import Seen, Sight, auc, beyond, calls, seen, spread_of
from endoxa.words.views import Views


def looked(seed: int, randoms: int = 30) -> tuple[Seen, np.ndarray]:
    made, has = planted(seed, randoms)
    return seen(made, has, range(len(has))), has.sum(axis=1)


def test_planted_words_are_called_what_they_are() -> None:
    for seed in range(3):
        found, n = looked(seed, 10)
        sight, called = found.sight, calls(found.sight, n, found.topics)
        assert sight.v[0] > 0.3 and called[0] in {"visual", "visual by its company"}
        assert sight.v[1] > 0.15 and sight.own[1] < 0.1 and called[1] != "visual"
        assert found.companions[1][0] == 0, "the word whose pictures it has"
        assert sight.own[2] > 0.4 and sight.v[2] > 0.1, "a colour is seen by colours alone"
        assert "visual" not in called[3:] and "visual by its company" not in called[3:]
    assert calls(sight, n, found.topics)[1] == "visual by its company", "of the last seed"


def test_99_of_100_random_words_lie_within_three_spreads() -> None:
    """Of 400; half a per cent is the error of so few."""
    spreads = []
    for seed in range(4):
        found, n = looked(seed, 100)
        spreads.append(found.sight.v[3:] / spread_of(n[3:]))
    away = np.concatenate(spreads)
    assert (np.abs(away) < 3).mean() >= 0.985 and 0.7 < away.std() < 1.3


def test_the_order_of_pictures_and_of_words_does_not_matter() -> None:
    made, has = planted(1, 5)
    order = np.random.default_rng(0).permutation(has.shape[1])
    topics = np.arange(has.shape[1]) % 5
    for groups in (None, topics):
        first = seen(made, has, [0, 2, 4], groups)
        moved = seen(made.take(order), has[:, order], [4, 0, 2], None if groups is None else groups[order])
        assert moved.sight.v[[1, 2, 0]] == pytest.approx(first.sight.v, abs=1e-12)
        assert [moved.companions[at] for at in (1, 2, 0)] == first.companions


def test_doubling_every_picture_teaches_nothing() -> None:
    """Copies are one fold; left out one by one, each would be predicted from its twin."""
    rng = np.random.default_rng(3)
    once, has = views(60), np.array([rng.random(60) < 0.4 for _ in range(4)])
    at = np.repeat(np.arange(60), 2)
    twice = once.take(at)
    known, together = seen(once, has, range(4)).sight, seen(twice, has[:, at], range(4)).sight
    assert together.a == pytest.approx(known.a, abs=0.15) and together.v == pytest.approx(known.v, abs=0.2)
    alone = Views(twice.vectors, twice.colour, twice.texture, np.arange(120))
    assert (seen(alone, has[:, at], range(4)).sight.v > together.v + 0.4).all()


def test_equal_pictures_only_are_refused() -> None:
    made, has = planted(0, 1)
    same = Views(made.vectors, made.colour, made.texture, np.zeros(has.shape[1], np.int64))
    with pytest.raises(JoinError, match="no other picture is left to learn from"):
        seen(same, has, [0])


def test_a_word_of_three_topics_is_learnt_from_the_other_topics() -> None:
    """A look of each topic tells the word within topics, and nothing across them."""
    rng = np.random.default_rng(2)
    topics = np.repeat(np.arange(8), 30)
    made = views(240, seed=2)
    assert made.vectors is not None
    look = made.vectors + 3 * rng.normal(size=(8, 200))[topics]
    has = np.array([np.isin(topics, [0, 3, 5]), np.isin(topics, [1, 2]), topics == 4, rng.random(240) < 0.3])
    found = seen(Views(look, made.colour, made.texture, made.copies), has, range(4), topics)
    assert found.topics.tolist() == [3, 2, 1, 8] and found.by_topic.tolist() == [True, False, False, True]
    called = calls(found.sight, has.sum(axis=1), found.topics)
    assert found.sight.a[0] < 0.7 < found.sight.a[1] and called[2] == "one topic only" and called[0] == "not visual"


def test_the_null_shuffles_pictures() -> None:
    made, has = planted(0, 10)
    found = seen(made, has, range(len(has)), draws=30, seed=1)
    assert found.null.shape == (30, 13) and np.isfinite(found.null).all()
    assert abs(found.null.mean()) < 0.05 and (found.sight.v[0] > found.null[:, 0]).all()
    alone = seen(made, has, [0], draws=30, seed=1)
    assert alone.null[:, 0] == pytest.approx(found.null[:, 0], abs=1e-12)


def test_areas_under_the_curve_by_counting_pairs() -> None:
    rng = np.random.default_rng(0)
    scores, y = rng.integers(0, 5, (30, 6)) / 4, (rng.random((30, 6)) < 0.4).astype(float)
    y[:, 5] = 0
    found = auc(scores, y)
    for word in range(5):
        own, other = scores[y[:, word] == 1, word], scores[y[:, word] == 0, word]
        pairs = [(a > b) + 0.5 * (a == b) for a in own for b in other]
        assert found[word] == pytest.approx(np.mean(pairs), abs=1e-12)
    assert np.isnan(found[5])


def test_beyond_is_what_a_regression_leaves() -> None:
    rng = np.random.default_rng(0)
    f, t = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    t[:, 1] = 4
    left = beyond(f, t)
    slope, shift = np.polyfit(t[:, 0], f[:, 0], 1)
    assert left[:, 0] == pytest.approx(f[:, 0] - slope * t[:, 0] - shift, abs=1e-12)
    assert left[:, 1] == pytest.approx(f[:, 1] - f[:, 1].mean())


def test_v_from_its_parts() -> None:
    made, has = planted(0, 3)
    sight, n = seen(made, has, range(6)).sight, has.sum(axis=1)
    for word in range(6):
        a, b, d = sight.a[word], sight.b[word], sight.d[word]
        assert sight.v[word] == pytest.approx((0.8 * a + 0.6 * b + 0.6 * d - 1) * n[word] / (n[word] + 5))


def test_the_calls_at_their_limits() -> None:
    v = np.array([0.3101, 0.3099, 0.3101, 0.6, 0.9, 0.9])
    own = np.array([0.1501, 0.4, 0.1499, -0.1, 0.4, 0.4])
    n = np.array([25, 25, 25, 16, 100, 100])
    sight = Sight(own, own + 0.5, own + 0.2, v)
    told = calls(sight, n, np.array([0, 0, 0, 0, 1, 2]))
    assert told == [
        "visual",
        "not visual",
        "visual by its company",
        "visual by its company",
        "one topic only",
        "visual",
    ]
    assert calls(Sight(own, own, own, v - 0.3), n - 6, np.zeros(6, int))[:2] == ["too rare to say"] * 2
