"""Words from regions: what is learnt from made-up pictures, the rule of the vocabulary, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from word_samples import THINGS, pictures

from endoxa.engines import Material
from endoxa.engines.region_mixtures import CORRESPONDENCE, projection
from endoxa.errors import JoinError, TableError, TextError
from endoxa.words.annotating import FEATURES, Learning, learn, select

LEARNT, NEW = select(pictures(240), ["base"]), select(pictures(40, 2), ["base"])


@pytest.fixture(scope="module")
def annotator():
    return learn(LEARNT, Learning(components=24), seed=(1,))


def test_words_are_learnt_by_average(annotator) -> None:
    assert Learning().correspondence == CORRESPONDENCE == "average"
    chances = annotator.of_pictures(NEW)
    order = np.argsort(-chances, axis=1)[:, :4]
    right = [len({annotator.vocabulary[at] for at in row} & set(own)) / 4
             for row, own in zip(order, NEW.words, strict=True)]  # fmt: skip
    assert np.mean(right) > 0.85
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-4)


def test_a_picture_is_the_mean_of_its_regions(annotator) -> None:
    regions = annotator.of_regions(NEW).reshape(len(NEW), -1, len(annotator.vocabulary))
    np.testing.assert_allclose(regions.mean(axis=1), annotator.of_pictures(NEW), atol=1e-4)


def test_frequencies_count_pictures(annotator) -> None:
    counts = [sum(word in own for own in LEARNT.words) for word in annotator.vocabulary]
    assert annotator.frequencies.tolist() == counts and annotator.pictures == 240


def test_only_the_largest_regions_are_used() -> None:
    material = pictures(3)
    two = select(material, ["base"], 2)
    assert two.counts.tolist() == [2, 2, 2]
    np.testing.assert_array_equal(two.columns[FEATURES], material.columns["base"][[0, 1, 4, 5, 8, 9]])
    assert select(material, ["base", "rgs"]).columns[FEATURES].shape == (12, 12)
    with pytest.raises(TableError, match="no column 'texture'"):
        select(material, ["texture"])


@pytest.mark.parametrize(("rows", "components"), [(50, 5), (300, 10), (5000, 50), (90_000, 500)])
def test_one_component_for_a_hundred_regions(rows: int, components: int) -> None:
    assert Learning().components_of(rows) == components
    assert Learning(components=7).components_of(5000) == 7


def test_words_of_one_picture_are_not_learnt() -> None:
    material = pictures(60)
    alone = Material(material.items, tuple((f"only{at}",) for at in range(60)), material.columns, material.counts)
    with pytest.raises(JoinError, match=r"no word is on 2 or more of the 60 pictures.*--least"):
        learn(select(alone, ["base"]), Learning(), seed=(1,))
    words = tuple((*own, f"only{at}") for at, own in enumerate(material.words))
    both = Material(material.items, words, material.columns, material.counts)
    assert set(learn(select(both, ["base"]), Learning(components=4), seed=(1,)).vocabulary) <= set(THINGS)
    with pytest.raises(JoinError, match="no word is on 500 or more"):
        learn(LEARNT, Learning(least=500), seed=(1,))


def test_bad_settings_are_refused() -> None:
    with pytest.raises(TextError, match="components is -1"):
        Learning(components=-1)
    with pytest.raises(TextError, match="correspondence"):
        Learning(correspondence="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("whiten", [True, False])
def test_vectors_are_reduced_to_their_principal_components(whiten: bool) -> None:
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 40)) + 0.01 * rng.normal(size=(200, 40))
    centre, turn = projection(raw, whiten=whiten, most=3)
    inside = (raw - centre) @ turn
    assert inside.shape == (200, 3)
    covariance = inside.T @ inside / 200
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-8)
    standard = (raw - raw.mean(0)) / raw.std(0)
    if whiten:
        np.testing.assert_allclose(np.diag(covariance), 1, atol=1e-6)
    else:
        assert np.trace(covariance) / np.square(standard).sum(1).mean() > 0.99
