"""Engines against the truth of drawn scenes: words are tied to regions, and a scene's words tell its kind."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from endoxa.engines import Index, Material
from endoxa.engines.ranking import rank
from endoxa.engines.region_mixtures import predict_words
from endoxa.engines.registry import engine
from endoxa.images.scenes import draw

COUNT, TRAINED = 160, 110
SETTINGS = {"segmenter": "felzenszwalb", "side": 192, "components": 60, "restarts": 1}
NAMES = ("keywords", "histograms", "integrated-regions", "rwmm", "random")


@pytest.fixture(scope="module")
def scenes() -> tuple[dict[str, Material], dict[str, str]]:
    """The material of each engine, and the category of each scene."""
    made = [draw(number, 21, size=(192, 288)) for number in range(COUNT)]
    items = tuple(f"s{number:03d}" for number in range(COUNT))
    words = tuple(scene.words for scene in made)
    materials = {}
    for name in NAMES:
        descriptor = engine(name, **(SETTINGS if name == "rwmm" else {})).descriptor
        if descriptor is None:
            materials[name] = Material(items, words)
            continue
        rows = [descriptor.describe(scene.picture) for scene in made]
        columns = {column: np.concatenate([row[column] for row in rows]) for column in rows[0]}
        counts = np.array([len(next(iter(row.values()))) for row in rows], np.int64)
        materials[name] = Material(items, words, columns, counts)
    return materials, {item: scene.category for item, scene in zip(items, made, strict=True)}


def score(chances: np.ndarray, vocabulary: tuple[str, ...], truth: tuple[str, ...]) -> float:
    """docs/methods/words.md, Word prediction: of the M words that are known, how many are among the M most probable."""
    known = {word for word in truth if word in vocabulary}
    first = np.argsort(-chances, kind="stable")[: len(known)]
    return len(known & {vocabulary[at] for at in first}) / len(known)


def test_words_of_unseen_scenes_are_predicted_far_above_their_frequency(scenes) -> None:
    material = scenes[0]["rwmm"]
    train, test = material.take(range(TRAINED)), material.take(range(TRAINED, COUNT))
    index: Index = engine("rwmm", **SETTINGS).build(test, train=train, seed=1)
    vocabulary, chances = predict_words(index, test)
    counts = Counter(word for words in train.words for word in words)
    plain = np.array([counts[word] for word in vocabulary], float)
    gains = np.array(
        [
            score(row, vocabulary, words) - score(plain, vocabulary, words)
            for row, words in zip(chances, test.words, strict=True)
        ]
    )
    assert gains.mean() > 0.15
    assert gains.mean() > 4 * gains.std(ddof=1) / np.sqrt(len(gains))


def test_a_word_lies_where_its_region_is(scenes) -> None:
    """Asked for sea, RWMM puts scenes that show the sea before those that do not; their words are not looked at."""
    material = scenes[0]["rwmm"]
    train, test = material.take(range(TRAINED)), material.take(range(TRAINED, COUNT))
    index = engine("rwmm", **SETTINGS).build(test, train=train, seed=1)
    areas = []
    for word in sorted({word for words in train.words for word in words}):
        has = np.array([word in words for words in test.words])
        if 4 <= has.sum() <= len(has) - 4:
            row = index.engine.score_words(index, [(word,)])[0]
            areas.append((row[has][:, None] > row[~has][None]).mean())
    assert len(areas) >= 10 and np.mean(areas) > 0.7, areas


def test_keywords_lead_and_chance_comes_last(scenes) -> None:
    materials, kinds = scenes
    found = {}
    for name in NAMES:
        index = engine(name, **(SETTINGS if name == "rwmm" else {})).build(materials[name], seed=1)
        run = rank(index, materials[name], depth=5).run.frame
        hits = np.array([kinds[q] == kinds[i] for q, i in run.select("query", "item").iter_rows()], float)
        found[name] = hits.reshape(COUNT, 5).mean(1)
    for name in NAMES[1:]:
        gap = found["keywords"] - found[name]
        assert gap.mean() > 3 * gap.std(ddof=1) / np.sqrt(COUNT), {n: v.mean() for n, v in found.items()}
        if name != "random":
            lead = found[name] - found["random"]
            assert lead.mean() > 3 * lead.std(ddof=1) / np.sqrt(COUNT)
