"""The score of predicted words: a worked example, ties, what is left out, and its laws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import TableError
from endoxa.words.scoring import first, score, truths_of

VOCABULARY = ("sky", "water", "people", "tiger")
FREQUENT = np.array([50.0, 40, 30, 5])


def test_the_worked_example() -> None:
    truths = truths_of([[0, 3], [1], [2, 1, 0]], 4)
    chances = np.array([[0.3, 0.1, 0.1, 0.5], [0.4, 0.3, 0.2, 0.1], [0.2, 0.1, 0.3, 0.4]])
    found = score(chances, truths, FREQUENT)
    np.testing.assert_allclose(found.score, [1, 0, 2 / 3])
    np.testing.assert_allclose(found.baseline, [0.5, 0, 1])
    assert round(found.lift.mean(), 6) == 0.055556
    assert found.words.tolist() == [2, 1, 3]
    assert found.present.tolist() == [2, 2, 1, 1] and found.predicted.tolist() == [3, 0, 1, 2]
    assert found.hit.tolist() == [2, 0, 1, 1] and found.usual.tolist() == [2, 1, 1, 0]


def test_ties_go_to_the_first_word() -> None:
    assert first(np.array([[0.25, 0.25, 0.25, 0.25]]), np.array([2])).tolist() == [[True, True, False, False]]
    near = np.array([[0.25, 0.25 + 1e-12, 0.5, 0.0]])  # rounding must not decide
    assert first(near, np.array([2])).tolist() == [[True, False, True, False]]


def test_pictures_without_words_or_regions_are_left_out() -> None:
    chances = np.array([[0.5, 0.5], [np.nan, np.nan], [0.9, 0.1]])
    found = score(chances, truths_of([[], [0], [1]], 2), np.array([3.0, 1.0]))
    assert found.at.tolist() == [2] and found.score.tolist() == [0]
    nobody = score(chances[:1], truths_of([[]], 2), np.array([3.0, 1.0]))
    assert len(nobody.at) == 0 and nobody.present.tolist() == [0, 0]


def test_a_word_on_every_picture_gains_nothing() -> None:
    truths = truths_of([[0], [0], [0]], 3)
    found = score(np.tile([0.8, 0.1, 0.1], (3, 1)), truths, np.array([3.0, 0, 0]))
    assert found.lift.tolist() == [0, 0, 0]


def test_the_normalised_score_is_0_by_chance_and_1_if_all_is_right() -> None:
    """Over every choice of two of five words the mean is 0."""
    truths, values = truths_of([[0, 1]], 5), []
    for chosen in combinations(range(5), 2):
        chances = np.zeros((1, 5))
        chances[0, list(chosen)] = 1
        found = score(chances, truths, np.arange(5.0))
        values.append(found.normalised(found.correct)[0])
    assert np.mean(values) == pytest.approx(0, abs=1e-12) and max(values) == 1
    whole = score(np.ones((1, 2)), truths_of([[0, 1]], 2), np.ones(2))
    assert np.isnan(whole.normalised(whole.correct)).all()


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 1000))
def test_as_many_words_are_predicted_as_a_picture_has(pictures: int, words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truths, chances = rng.random((pictures, words)) < 0.4, rng.random((pictures, words))
    found = score(chances, truths, rng.random(words))
    assert found.predicted.sum() == found.present.sum() == found.words.sum()
    assert ((found.score >= 0) & (found.score <= 1)).all()
    perfect = score(truths.astype(float), truths, rng.random(words))
    assert (perfect.score == 1).all() and (perfect.hit == perfect.present).all()


def test_shapes_must_fit() -> None:
    with pytest.raises(TableError, match="do not fit"):
        score(np.ones((2, 3)), np.ones((2, 4), bool), np.ones(4))
