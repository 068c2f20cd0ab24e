"""Simulated people who search: what they want is known, and they mark pictures by it.

They are no people. What they call alike is a category, or a mixture of the same features that the learner sees, by
other metrics; real marks are less steady.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from scipy.stats import rankdata

from endoxa.errors import JoinError, TextError, refuse_unknown
from endoxa.frozen import dataclass
from endoxa.searches.arms import Features
from endoxa.searches.distances import distances
from endoxa.tables import Bools, Floats, Ints

People = Literal["class", "mixed"]
Marking = Literal["all", "likes", "five"]
LOOKS = {"look": "l1", "colours": "chi2", "texture": "chi2", "layout": "l2"}  # the metrics of simulated people
SHARES = (0.01, 0.05, 0.20, 0.70)  # of the pictures: up to 1 % are highly relevant, up to 5 % relevant, …
EVEN = 0.5  # of the Dirichlet distribution of hidden weights: small, so that one or two parts rule
TREE = 0.7  # the weight of the tree for people who look for one picture and think in categories
FIVE = (3, 2)  # of a page, the three that are liked best and the two that are liked least


@dataclass(frozen=True, eq=False)
class Person:
    """A simulated person with one wish.

    wanted   the place of the picture that is searched for, or of the example of what is wanted
    grades   the mark of every picture, -2 to 2, without mistakes
    marks    the same with mistakes: what this person would click
    marking  which pictures of a page are marked: all, those that are liked, or five
    """

    wanted: int
    grades: Ints
    marks: Ints
    marking: Marking = "all"

    @property
    def relevant(self) -> Bools:
        """The pictures that are relevant or highly relevant, without the wanted one itself."""
        found: Bools = self.grades > 0
        found[self.wanted] = False
        return found

    def mark(self, page: Ints) -> Ints:
        """The places on this page that get a mark."""
        if self.marking == "likes":
            return page[self.marks[page] > 0]
        if self.marking == "five":
            order = np.argsort(-self.marks[page], kind="stable")
            best, least = FIVE
            kept = np.unique(np.concatenate([order[:best], order[-least:]]))
            return np.asarray(page[kept])
        return page


def tree_grades(categories: Sequence[str | None], wanted: int) -> Ints:
    """The grade of every picture by its category path: same leaf 2, same parent 1, same top -1, other -2.

    A category that contains the wanted one's, or is contained in it, counts as having the same parent. A picture
    without a category is -2.
    """
    mine = (categories[wanted] or "").split("/")
    found = np.full(len(categories), -2)
    for at, category in enumerate(categories):
        if not category or not mine[0]:
            continue
        path = category.split("/")
        if path == mine:
            found[at] = 2
        elif _parent(path) == _parent(mine) != () or path == mine[: len(path)] or path[: len(mine)] == mine:
            found[at] = 1
        elif path[0] == mine[0]:
            found[at] = -1
    found[wanted] = 2
    return found


def _parent(path: list[str]) -> tuple[str, ...]:
    return tuple(path[:-1])


def parts_of(features: Features, categories: Sequence[str | None], wanted: int) -> dict[str, Floats]:
    """How far each picture is from the wanted one by the tree and by each look, as its share of the ranks, 0 to 1."""
    parts = {}
    if any(categories):
        parts["tree"] = _ranked(-tree_grades(categories, wanted).astype(np.float64))
    for name, metric in LOOKS.items():
        if any(group.name == name for group in features.groups):
            group = features.group(name)
            far = np.asarray(distances(metric, group.values, group.values[[wanted]])[0], np.float64)
            parts[name] = _ranked(np.nan_to_num(far, nan=np.inf))
    if not parts:
        raise JoinError("nothing tells the pictures apart: there are no categories, and no group of features is known")
    return parts


def _ranked(far: Floats) -> Floats:
    """Ranks from 0 to 1, ties at their mean."""
    return np.asarray((rankdata(far) - 1) / max(len(far) - 1, 1))


def graded(far: Floats, wanted: int) -> Ints:
    """Grades by rank: the nearest 1 % are 2, further 4 % are 1, 15 % are 0, 50 % are -1, the rest -2.

    The wanted picture is 2, and the nearest other one too, however small the collection is.
    """
    order = np.argsort(far, kind="stable")
    order = np.concatenate([[wanted], order[order != wanted]])
    ends = np.maximum(np.ceil(np.array(SHARES) * len(far)), [2, 3, 4, 5])
    found = np.empty(len(far), np.int64)
    found[order] = 2 - np.searchsorted(ends, np.arange(len(far)), side="right")
    return found


def person_of(
    features: Features, categories: Sequence[str | None], wanted: int, people: People = "mixed", *,
    one: bool = False, noise: float = 0.0, marking: Marking = "all", rng: np.random.Generator,
) -> Person:  # fmt: skip
    """A person who wants pictures like `wanted`, or (`one`) that very picture.

    class  thinks in categories: grades follow the tree. Who looks for one picture also looks at it: the tree has .7 of
           the weight, the looks share the rest, and grades go by rank
    mixed  has hidden weights of the tree and the looks, drawn from a Dirichlet distribution; grades go by rank
    With probability `noise` a mark is one level off.
    """
    refuse_unknown("kind of people", people, get_args(People), listed=True)
    refuse_unknown("way of marking", marking, get_args(Marking), listed=True)
    if not 0 <= noise <= 1:
        raise TextError(f"noise is a probability, not {noise:g}")
    if people == "class" and not any(categories):
        raise JoinError("no picture has a category", remedy="people who think in categories need folders or a manifest")
    if people == "class" and not one:
        grades = tree_grades(categories, wanted)
    else:
        parts = parts_of(features, categories, wanted)
        weights = rng.dirichlet(np.full(len(parts), EVEN)) if people == "mixed" else _leaning(list(parts))
        grades = graded(weights @ np.stack(list(parts.values())), wanted)
    return Person(wanted, grades, mistaken(grades, noise, rng), marking)


def _leaning(parts: list[str]) -> Floats:
    """.7 for the tree, the rest evenly for the looks."""
    looks = len(parts) - 1
    return np.array([TREE if part == "tree" and looks else 1.0 if not looks else (1 - TREE) / looks for part in parts])


def mistaken(grades: Ints, noise: float, rng: np.random.Generator) -> Ints:
    """Grades of which each moves one level with probability `noise`: up or down alike, inwards at the ends."""
    step = np.where(rng.random(len(grades)) < 0.5, 1, -1)
    step = np.where(grades == 2, -1, np.where(grades == -2, 1, step))
    return np.asarray(np.where(rng.random(len(grades)) < noise, grades + step, grades))
