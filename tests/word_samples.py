"""Made-up pictures whose regions look like their words, for tests of word prediction."""

from __future__ import annotations

import numpy as np

from endoxa.engines import Material
from endoxa.words.contenders import Contender, Task, outcome
from endoxa.words.lifts import Lifts
from endoxa.words.splits import resamples
from endoxa.words.topics import topics_of

THINGS = tuple("bear cloud field flower grass house lake road rock sand sky tree".split())
SHARES = np.array([1, 5, 2, 1, 5, 2, 2, 1, 2, 2, 8, 5]) / 36
FEATURES = 9


def pictures(count: int, seed: int = 1, *, regions: int = 4, noise: float = 1.0) -> Material:
    """Each region looks like its thing; the words of a picture name its things. `base` has all, `rgs` nothing."""
    looks = np.random.default_rng(0).normal(size=(len(THINGS), FEATURES)) * 3
    rng = np.random.default_rng([1, seed])
    things = np.stack([rng.choice(len(THINGS), regions, p=SHARES, replace=False) for _ in range(count)])
    rows = looks[things.ravel()] + noise * rng.normal(size=(things.size, FEATURES))
    return Material(
        tuple(f"p{at:04d}" for at in range(count)),
        tuple(tuple(THINGS[thing] for thing in own) for own in things),
        {"base": rows.astype(np.float32), "rgs": rng.normal(size=(things.size, 3)).astype(np.float32)},
        np.full(count, regions),
    )


def lifts_of(material: Material, contenders: list[Contender], references: dict[str, str], *, count: int = 4) -> Lifts:
    """The lifts of contenders on the same resamples of six topics."""
    from endoxa.words.annotating import select

    topics = topics_of([f"topic{at % 6}" for at in range(len(material))])
    splits = resamples(topics, count, seed=3)
    outcomes = {
        one.name: [
            outcome(Task(one, number, select(material, one.groups, one.regions), split, 3))
            for number, split in enumerate(splits)
        ]
        for one in contenders
    }
    return Lifts(tuple(contenders), material.items, outcomes, references)
