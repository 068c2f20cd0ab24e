"""Random scores: the same for a pair wherever it stands, and evenly spread."""

import numpy as np
from scipy.stats import kstest, pearsonr

from endoxa.engines import Index, Material
from endoxa.engines.chance import Chance


def of(names):
    return Material(tuple(names), tuple(() for _ in names))


PINNED = [[0.8589645865556828, 0.34509922465180265], [0.35382508347139596, 0.5981496271930556]]
NAMES = [f"animals/bird{k}" for k in range(300)]


def test_a_pair_has_one_score_in_every_corpus():
    engine = Chance()
    whole = engine.score(engine.build(of(NAMES), seed=4), of(NAMES))
    assert whole.shape == (300, 300)
    part = [7, 250, 3]
    some = engine.score(engine.build(of([NAMES[k] for k in part]), seed=4), of([NAMES[9], NAMES[7]]))
    np.testing.assert_array_equal(some, whole[np.ix_([9, 7], part)])


def test_it_stays_the_same_over_the_years():
    """Written down when it was made: saved runs must be made again alike, on any machine."""
    scores = Chance().score(Chance().build(of(["a", "b"]), seed=1), of(["a", "é"]))
    np.testing.assert_array_equal(scores, PINNED)


def test_scores_are_even_and_independent():
    engine = Chance()
    one, two = (engine.score(engine.build(of(NAMES), seed=seed), of(NAMES)) for seed in (0, 1))
    assert one.min() >= 0
    assert one.max() < 1
    assert kstest(one.ravel(), "uniform").pvalue > 1e-3
    assert len(np.unique(one)) == one.size
    for x, y in ((one, two), (one, one.T + np.eye(300)), (one[:-1], one[1:]), (one[:, :-1], one[:, 1:])):
        assert abs(pearsonr(x.ravel(), y.ravel()).statistic) < 0.02


def test_words_are_queries_too():
    engine = Chance()
    index = engine.build(of(NAMES))
    scores = engine.score_words(index, [("sky", "sea"), ("sea", "sky", "sea"), ("skysea",), ()])
    np.testing.assert_array_equal(scores[0], scores[1])
    assert len(np.unique(scores)) == 3 * 300
    assert engine.score_words(index, []).shape == (0, 300)


def test_names_kinds_and_saving(tmp_path):
    engine = Chance()
    assert engine.name == "random"
    assert engine.descriptor is None
    assert engine.takes_text
    index = engine.build(of(NAMES), seed=-3)
    np.savez(tmp_path / "index.npz", **index.arrays)
    with np.load(tmp_path / "index.npz", allow_pickle=False) as saved:
        restored = Index(engine, of(NAMES), dict(saved))
    np.testing.assert_array_equal(engine.score(restored, of(NAMES[:2])), engine.score(index, of(NAMES[:2])))
