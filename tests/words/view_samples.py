"""Views of pictures for tests: planted words, and views that say nothing."""

from __future__ import annotations

import numpy as np

from endoxa.words.views import Views

PICTURES = 400


def views(pictures: int, *, seed: int = 0, vectors: bool = True) -> Views:
    """Random views, with decaying components of look; all pictures differ."""
    rng = np.random.default_rng([seed, 8])
    look = rng.normal(size=(pictures, 200)) * np.arange(1.0, 201) ** -0.5
    colour = rng.dirichlet(np.full(166, 0.05), pictures)
    texture = rng.dirichlet(np.full(120, 0.5), pictures)
    return Views(look if vectors else None, colour, texture, np.arange(pictures))


def planted(seed: int, randoms: int = 30, pictures: int = PICTURES) -> tuple[Views, np.ndarray]:
    """Words × pictures: the sign of a view with noise, one with most of that word's pictures, a colour; random words.

    The colour takes a part of the pictures of its word.
    """
    rng = np.random.default_rng(seed)
    made = views(pictures, seed=seed)
    assert made.vectors is not None
    sign = made.vectors[:, 0] / made.vectors[:, 0].std() + 0.5 * rng.normal(size=pictures) > 0
    red = rng.random(pictures) < 0.3
    share = np.where(red, rng.uniform(0.2, 0.6, pictures), 0)[:, None]
    colour = made.colour * (1 - share)
    colour[:, 3] += share[:, 0]
    rows = [sign, sign & (rng.random(pictures) < 0.8), red]
    rows += [np.isin(np.arange(pictures), rng.permutation(pictures)[: rng.integers(20, 60)]) for _ in range(randoms)]
    return Views(made.vectors, colour, made.texture, made.copies), np.array(rows)
