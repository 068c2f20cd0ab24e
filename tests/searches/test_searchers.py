"""Simulated people: their grades by hand, their mistakes, and what they mark."""

from __future__ import annotations

import numpy as np
import pytest
from search_samples import clusters

from endoxa.errors import JoinError, TextError
from endoxa.searches.arms import Features
from endoxa.searches.searchers import graded, mistaken, parts_of, person_of, tree_grades

PATHS = [
    "animals/birds/owls",
    "animals/birds/owls",
    "animals/birds/ducks",
    "animals/fish",
    "plants",
    None,
    "animals/birds",
]


def kinds(count: int) -> tuple[Features, list[str]]:
    features, kind = clusters(count)
    return features, [f"kind{one}" for one in kind]


def test_grades_of_a_tree() -> None:
    assert tree_grades(PATHS, 0).tolist() == [2, 2, 1, -1, -2, -2, 1]
    assert tree_grades(["a", "b", "a"], 0).tolist() == [2, -2, 2]  # without a parent: the same, or another
    assert tree_grades([None, None], 0).tolist() == [2, -2]


def test_grades_by_rank() -> None:
    """Of 1,000: 10 are 2, 40 are 1, 150 are 0, 500 are -1, 300 are -2; and the wanted picture is 2 in any case."""
    found = graded(np.arange(1000.0), 0)
    assert [int((found == grade).sum()) for grade in (2, 1, 0, -1, -2)] == [10, 40, 150, 500, 300]
    assert (np.diff(found) <= 0).all()
    assert graded(np.array([3.0, 2.0, 1.0, 0.0, 5.0]), 0).tolist() == [2, 0, 1, 2, -1]


def test_parts_are_shares_of_the_ranks() -> None:
    features, categories = kinds(30)
    parts = parts_of(features, categories, 4)
    assert list(parts) == ["tree", "look", "colours", "layout"]
    assert all(part.min() >= 0 and part.max() <= 1 for part in parts.values())
    assert all(parts[name][4] == 0 for name in ("look", "colours", "layout"))
    assert parts["tree"][4] == parts["tree"][1] < parts["tree"][0]  # ties share their mean rank
    assert list(parts_of(features, [None] * 30, 4)) == ["look", "colours", "layout"]
    with pytest.raises(JoinError, match="nothing tells the pictures apart"):
        parts_of(Features(("a", "b"), ()), [None, None], 0)


def test_mistakes_are_one_level_off() -> None:
    grades = np.repeat([-2, -1, 0, 1, 2], 4000)
    assert (mistaken(grades, 0.0, np.random.default_rng(0)) == grades).all()
    moved = mistaken(grades, 0.3, np.random.default_rng(0)) - grades
    assert set(moved.tolist()) == {-1, 0, 1}
    assert (moved != 0).mean() == pytest.approx(0.3, abs=0.02)
    assert set(moved[grades == 2].tolist()) == {-1, 0} and set(moved[grades == -2].tolist()) == {0, 1}
    assert moved[grades == 0].mean() == pytest.approx(0, abs=0.03)


def test_people() -> None:
    features, categories = kinds(60)
    same = [person_of(features, categories, 7, "mixed", noise=0.1, rng=np.random.default_rng(3)) for _ in range(2)]
    assert (same[0].marks == same[1].marks).all()
    thinks = person_of(features, categories, 7, "class", rng=np.random.default_rng(3))
    assert thinks.grades.tolist() == tree_grades(categories, 7).tolist()
    assert thinks.relevant.sum() == 19 and not thinks.relevant[7]
    one = person_of(features, categories, 7, "class", one=True, rng=np.random.default_rng(3))
    assert (one.grades == 2).sum() == 2  # by rank: only the nearest are highly relevant
    assert one.grades[[at for at in range(60) if categories[at] != categories[7]]].mean() < -1
    bare = person_of(features, [None] * 60, 7, "mixed", rng=np.random.default_rng(3))
    assert (bare.grades == 2).sum() == 2


def test_what_is_marked() -> None:
    features, categories = kinds(30)
    page = np.arange(10, 20)
    every, likes, five = (
        person_of(features, categories, 0, "class", marking=marking, rng=np.random.default_rng(0))
        for marking in ("all", "likes", "five")
    )
    assert (every.mark(page) == page).all()
    assert likes.mark(page).tolist() == [at for at in page if categories[at] == "kind0"]
    assert five.mark(page).tolist() == [12, 15, 17, 18, 19]  # the three likes first on the page, the last two dislikes
    assert len(five.mark(page[:3])) == 3


def test_what_is_refused() -> None:
    features, categories = kinds(10)
    for bad, message in (({"people": "tired"}, "kind of people"), ({"marking": "some"}, "way of marking"),
                         ({"noise": 1.5}, "noise is a probability")):  # fmt: skip
        with pytest.raises(TextError, match=message):
            person_of(features, categories, 0, rng=np.random.default_rng(0), **bad)
    with pytest.raises(JoinError, match="no picture has a category"):
        person_of(features, [None] * 10, 0, "class", rng=np.random.default_rng(0))
