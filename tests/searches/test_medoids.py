"""Pictures that stand for all."""

from __future__ import annotations

import numpy as np
from search_samples import clusters

from endoxa.searches.arms import Features, group_of
from endoxa.searches.medoids import medoids


def test_one_of_each_kind_and_the_same_for_the_same_seed() -> None:
    features, kind = clusters(60)
    every = np.ones(60, np.bool_)
    found = medoids(features, every, 3, rng=np.random.default_rng(1))
    assert sorted(kind[found]) == [0, 1, 2]
    assert found.tolist() == medoids(features, every, 3, rng=np.random.default_rng(1)).tolist()
    some = medoids(features, kind > 0, 10, rng=np.random.default_rng(1))
    assert len(set(some.tolist())) == 10 and (kind[some] > 0).all()


def test_each_is_the_middle_of_its_cluster() -> None:
    """Two tight groups on a line: the medoids are their middles."""
    values = np.array([1, 2, 3, 101, 102, 103, 104, 105], np.float32)[:, None]
    features = Features(tuple("abcdefgh"), (group_of("layout", values),))
    found = medoids(features, np.ones(8, np.bool_), 2, rng=np.random.default_rng(0))
    assert found.tolist() == [5, 1], "the larger cluster first"


def test_few_pictures_equal_pictures_and_none() -> None:
    same = Features(tuple("abcd"), (group_of("layout", np.ones((4, 2), np.float32)),))
    every = np.ones(4, np.bool_)
    assert medoids(same, every, 2, rng=np.random.default_rng(0)).tolist() == [3, 2], "by id, descending"
    assert medoids(same, every, 9, rng=np.random.default_rng(0)).tolist() == [3, 2, 1, 0]
    none = Features((), (group_of("look", np.ones((0, 2), np.float32)),))
    assert len(medoids(none, np.ones(0, np.bool_), 5, rng=np.random.default_rng(0))) == 0
    half = np.repeat(np.array([[1.0, 0], [0, 1]], np.float32), 4, axis=0)  # only two different pictures
    two = Features(tuple("abcdefgh"), (group_of("look", half),))
    assert len(set(medoids(two, np.ones(8, np.bool_), 5, rng=np.random.default_rng(0)).tolist())) == 5
