"""Visualness of 100 words over 10,000 regions, beside its plain definition in NumPy.

The plain definition draws every random word for itself and sums the shares of its regions, picture by picture; it is
timed for a few draws of a few words, and scaled. The data are drawn: regions of 1,250 pictures in 25 topics.
"""

from __future__ import annotations

import time

import numpy as np

from endoxa.engines import Material
from endoxa.statistics import mixtures
from endoxa.words.topics import topics_of
from endoxa.words.views import Views
from endoxa.words.visualness import Looking, base_mixtures, visualness, whitened

PICTURES, REGIONS, WORDS, TOPICS = 1250, 8, 100, 25
LIMIT = 60.0  # seconds
DRAWN, TRIED = 5, 10  # draws and words of the plain definition


def collection() -> tuple[Material, Views, list[str]]:
    """Pictures that look like their topic, with their regions, and 100 words, half of which cling to topics."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, TOPICS, PICTURES)
    n = PICTURES * REGIONS
    widths = {"base": 5, "rgb": 6, "texture": 16}
    centres = {name: rng.normal(size=(TOPICS, width)) for name, width in widths.items()}
    rows = np.repeat(topic, REGIONS)
    columns = {
        name: (centres[name][rows] + 2 * rng.normal(size=(n, width))).astype(np.float32)
        for name, width in widths.items()
    }
    words: list[list[str]] = [[] for _ in range(PICTURES)]
    for number in range(WORDS):
        near = np.isin(topic, rng.permutation(TOPICS)[:4]) if number % 2 else np.ones(PICTURES, np.bool_)
        for at in np.flatnonzero(near & (rng.random(PICTURES) < (0.4 if number % 2 else 0.08))):
            words[at].append(f"word{number}")
    items = tuple(f"p{at:05d}" for at in range(PICTURES))
    counts = np.full(PICTURES, REGIONS, np.int64)
    looks = rng.normal(size=(TOPICS, 1280))[topic] + 2 * rng.normal(size=(PICTURES, 1280))
    colour, texture = (rng.dirichlet(np.full(width, 0.1), PICTURES) for width in (166, 120))
    views = Views(looks, colour, texture, np.arange(PICTURES))
    return Material(items, tuple(map(tuple, words)), columns, counts), views, [f"t{one}" for one in topic]


def plain(material: Material, components: int) -> float:
    """The seconds that all draws of all words would take by the definition."""
    rows = whitened(material)
    shares = [mixtures.responsibilities(model, rows) for model in base_mixtures(rows, components, 5, seed=0)]
    picture, rng = np.repeat(np.arange(PICTURES), REGIONS), np.random.default_rng(1)
    begun = time.perf_counter()
    for _ in range(DRAWN * TRIED):
        inside = np.isin(picture, rng.permutation(PICTURES)[:100])
        for one in shares:
            np.maximum(one[inside].mean(axis=0) - one[~inside].mean(axis=0), 0).sum()
    return (time.perf_counter() - begun) * WORDS * 199 / (DRAWN * TRIED)


def main() -> None:
    """Seconds of the whole, by either null, and of the plain definition."""
    material, views, categories = collection()
    print(f"\nvisualness: {WORDS} words, {PICTURES * REGIONS:,} regions of {PICTURES:,} pictures, {TOPICS} topics")
    components = 0
    for null in ("pictures", "topics"):
        begun = time.perf_counter()
        found = visualness(material, views, topics_of(categories), looking=Looking(null=null))
        taken = time.perf_counter() - begun
        components = found.components
        visual = len(found.visual)
        print(
            f"  endoxa, random {null:8}  {taken:6.2f} s  (limit {LIMIT:.0f}), {components} components, {visual} visual"
        )
    print(f"  plain NumPy, nulls only  {plain(material, components):6.2f} s  (scaled from {DRAWN * TRIED} draws)")


if __name__ == "__main__":
    main()
