"""ROMM and RWMM as engines: on made-up regions whose words are known."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from endoxa.engines import Index, Material
from endoxa.engines.region_mixtures import Mixture, model_of, predict_words
from endoxa.errors import TableError, TextError

THINGS = "bear cloud field flower grass house lake road rock sand sky tree".split()
SHARES = np.array([1, 5, 2, 1, 5, 2, 2, 1, 2, 2, 8, 5]) / 36


def made(images, seed, *, regions=4):
    """Pictures of things: each region looks like its thing, the picture's words name the things."""
    looks = np.random.default_rng(0).normal(size=(len(THINGS), 9)) * 3
    rng = np.random.default_rng([1, seed])
    things = np.stack([rng.choice(len(THINGS), regions, p=SHARES, replace=False) for _ in range(images)])
    rows = (looks[things.ravel()] + rng.normal(size=(things.size, 9))).astype(np.float32)
    return Material(
        tuple(f"picture{seed}-{k}" for k in range(images)),
        tuple(tuple(THINGS[thing] for thing in own) for own in things),
        {"base": rows[:, :4], "rgs": rows[:, 4:8], "texture": rows[:, 8]},
        np.full(images, regions),
    )


ENGINE = Mixture(components=24, restarts=1, iterations=12, eta=0.05)
HASTY = replace(ENGINE, iterations=2)
LEARNT, HELD_OUT = made(240, 1), made(80, 2)


@pytest.fixture(scope="module")
def index():
    return ENGINE.build(LEARNT, seed=3)


def word_score(order, truth):
    """docs/methods/words.md, Word prediction: with M words, the share of them among the M first of the prediction."""
    return np.mean([word in truth for word in order[: len(truth)]])


def test_the_word_score_of_the_worked_example():
    truths = [{"sky", "tiger"}, {"water"}, {"people", "water", "sky"}]
    predictions = [["tiger", "sky"], ["sky"], ["tiger", "people", "sky"]]
    found = [word_score(*pair) for pair in zip(predictions, truths, strict=True)]
    frequent = [word_score(["sky", "water", "people", "tiger"], truth) for truth in truths]
    np.testing.assert_allclose(found, [1, 0, 2 / 3])
    np.testing.assert_allclose(frequent, [0.5, 0, 1])
    assert round(np.mean(found) - np.mean(frequent), 6) == 0.055556


@pytest.mark.parametrize("correspondence", ["pair", "average", "max"])
def test_words_of_held_out_pictures_are_predicted(correspondence):
    index = replace(ENGINE, correspondence=correspondence).build(LEARNT, seed=3)
    vocabulary, chances = predict_words(index, HELD_OUT)
    assert vocabulary == tuple(THINGS)
    np.testing.assert_allclose(chances.sum(1), 1)
    counts = np.array([sum(word in words for words in LEARNT.words) for word in vocabulary])
    frequent = [vocabulary[at] for at in np.argsort(-counts, kind="stable")]
    scores = [
        word_score([vocabulary[at] for at in np.argsort(-row, kind="stable")], words)
        for row, words in zip(chances, HELD_OUT.words, strict=True)
    ]
    baseline = [word_score(frequent, words) for words in HELD_OUT.words]
    assert 0.4 < np.mean(baseline) < 0.7
    assert np.mean(scores) - np.mean(baseline) > 0.3


@pytest.mark.parametrize("whiten", [False, True])
def test_the_score_is_the_mean_log_density_under_the_concepts_of_the_item(whiten):
    index = replace(HASTY, whiten=whiten, words=False).build(LEARNT)
    queries = HELD_OUT.take([4, 0, 7])
    found = index.engine.score(index, queries)
    assert found.shape == (3, 240)
    model = model_of(index)
    for place, item in ((0, 5), (1, 0), (2, 239)):
        joint, log_p = [], np.log(model.p_l)
        for material, at in ((LEARNT, item), (queries, place)):
            raw = np.concatenate([np.asarray(c, float).reshape(len(c), -1) for c in material.columns.values()], 1)
            rows = (raw[4 * at : 4 * at + 4] - index.arrays["centre"]) @ index.arrays["turn"]
            joint.append(norm.logpdf(rows[:, None], model.means, np.sqrt(model.variances)).sum(-1))
        shares = np.exp(joint[0] + log_p - logsumexp(joint[0] + log_p, axis=1, keepdims=True)).mean(0)
        expected = logsumexp(joint[1] + np.log(0.9 * shares + 0.1 * model.p_l), axis=1).mean()
        np.testing.assert_allclose(found[place, item], expected, rtol=1e-4)


def test_features_are_standardised_or_whitened():
    for whiten in (False, True):
        index = replace(HASTY, whiten=whiten, words=False).build(LEARNT)
        raw = np.concatenate([np.asarray(c, float).reshape(len(c), -1) for c in LEARNT.columns.values()], 1)
        turned = (raw - index.arrays["centre"]) @ index.arrays["turn"]
        spread = turned.T @ turned / len(raw)
        np.testing.assert_allclose(np.diag(spread), 1, rtol=1e-6)
        assert (np.abs(spread - np.eye(len(spread))).max() < 1e-6) == whiten


def test_blocks_of_queries_change_nothing(index, monkeypatch):
    whole = ENGINE.score(index, HELD_OUT)
    monkeypatch.setattr("endoxa.engines.region_mixtures.ENTRIES", 3 * 4 * 240)
    np.testing.assert_allclose(ENGINE.score(index, HELD_OUT), whole, rtol=1e-5)
    one_by_one = np.concatenate([ENGINE.score(index, HELD_OUT.take([k])) for k in range(5)])
    np.testing.assert_allclose(one_by_one, whole[:5], rtol=1e-5)


@pytest.mark.parametrize("words", [False, True])
def test_pictures_of_the_same_things_come_first(words):
    """TEST: learnt from others, neither query nor items have been seen."""
    engine = replace(ENGINE, words=words, label="test")
    items, queries = made(150, 4), made(40, 5)
    index = engine.build(items, train=LEARNT, seed=1)
    assert engine.name == "test"
    assert index.items == items.items
    assert index.arrays["concepts"].shape == (150, 24)
    shared = np.array([[len({*a} & {*b}) for b in items.words] for a in queries.words])
    first = np.argsort(-engine.score(index, queries), axis=1)[:, :5]
    assert np.take_along_axis(shared, first, 1).mean() > shared.mean() + 0.7


def test_what_is_learnt_hangs_on_train_only():
    items = made(30, 6)
    one, two = (HASTY.build(material, train=LEARNT, seed=1) for material in (items, items.take([3, 1])))
    for name in ("p_l", "means", "variances", "words", "vocabulary", "centre", "turn"):
        np.testing.assert_array_equal(one.arrays[name], two.arrays[name])
    np.testing.assert_allclose(one.arrays["concepts"][[3, 1]], two.arrays["concepts"], rtol=1e-5, atol=1e-7)
    apart = HASTY.build(items, train=LEARNT, seed=2)
    assert not np.array_equal(one.arrays["means"], apart.arrays["means"])


def test_the_same_seed_gives_the_same_index():
    one, two = (HASTY.build(LEARNT, seed=3) for _ in range(2))
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])


def test_an_index_of_arrays_can_be_saved(index, tmp_path):
    np.savez(tmp_path / "index.npz", **index.arrays)
    with np.load(tmp_path / "index.npz", allow_pickle=False) as saved:
        restored = Index(Mixture(**{f.name: getattr(ENGINE, f.name) for f in fields(ENGINE)}), LEARNT, dict(saved))
    np.testing.assert_array_equal(ENGINE.score(restored, HELD_OUT), ENGINE.score(index, HELD_OUT))
    texts = [("sky", "bear")]
    np.testing.assert_array_equal(ENGINE.score_words(restored, texts), ENGINE.score_words(index, texts))


def test_a_query_of_words(index):
    scores = ENGINE.score_words(index, [("sky", "bear", "sky", "unheard"), ("unheard",), (), ("bear",)])
    assert np.isnan(scores[[1, 2]]).all()
    vocabulary, chances = predict_words(index, LEARNT)
    sky, bear = (np.log(chances[:, vocabulary.index(word)]) for word in ("sky", "bear"))
    np.testing.assert_allclose(scores[0], (sky + bear) / 2, rtol=1e-5)
    np.testing.assert_allclose(scores[3], bear, rtol=1e-5)
    has = np.array(["bear" in words for words in LEARNT.words])
    assert scores[3][has].mean() > scores[3][~has].mean() + 1


def test_names_and_kinds():
    assert Mixture().name == "rwmm"
    assert Mixture(words=False).name == "romm"
    assert Mixture().takes_text
    assert not Mixture(words=False).takes_text
    descriptor = Mixture(count=5, segmenter="slic").descriptor
    assert (descriptor.count, descriptor.groups) == (5, "base,rgs,texture")
    index = Mixture(words=False, components=3, restarts=1, iterations=2).build(LEARNT)
    with pytest.raises(TextError, match="romm has not learnt words"):
        index.engine.score_words(index, [("sky",)])
    with pytest.raises(TextError, match="no words to predict"):
        predict_words(index, LEARNT)


def test_the_vocabulary_and_the_number_of_components_follow_the_corpus():
    few = made(15, 8)
    index = Mixture(components=500, restarts=1).build(few)
    assert len(index.arrays["p_l"]) == 6  # 60 regions
    counts = {word: sum(word in words for words in few.words) for word in THINGS}
    assert set(index.arrays["vocabulary"]) == {word for word, count in counts.items() if count >= 2}
    index = Mixture(least_count=7, restarts=1).build(few)
    assert set(index.arrays["vocabulary"]) == {word for word, count in counts.items() if count >= 7} != set()
    index = Mixture(least_count=99, restarts=1).build(few)  # no word is left: regions only
    assert np.isnan(index.engine.score_words(index, [("sky",)])).all()
    assert np.isfinite(index.engine.score(index, few)).all()


def test_pictures_that_are_all_alike_are_no_trouble():
    columns = {"base": np.ones((6, 4)), "rgs": np.full((6, 3), 0.5), "texture": np.zeros((6, 2))}
    alike = Material(tuple("abc"), (("one",), (), ("one",)), columns, np.array([1, 3, 2]))
    for whiten in (False, True):
        index = Mixture(whiten=whiten).build(alike)
        scores = index.engine.score(index, alike)
        assert np.isfinite(scores).all()
        assert np.ptp(scores) < 1e-6
    assert index.engine.score(index, alike.take([])).shape == (0, 3)


def test_bad_input_is_named(index):
    with pytest.raises(TableError, match="no column 'rgs'"):
        ENGINE.build(Material(("a",), ((),), {"base": np.zeros((1, 2))}, np.array([1])))
    with pytest.raises(TableError, match="no picture to learn from"):
        ENGINE.build(LEARNT, train=LEARNT.take([]))
    broken = {name: np.array(column) for name, column in HELD_OUT.columns.items()}
    broken["rgs"][9, 0] = np.nan
    with pytest.raises(TableError, match="item 'picture2-2' has a feature"):
        ENGINE.score(index, Material(HELD_OUT.items, HELD_OUT.words, broken, HELD_OUT.counts))
    with pytest.raises(TableError, match="item 'b' has no region"):
        ENGINE.score(index, Material(("a", "b"), ((), ()), LEARNT.take([0]).columns, np.array([4, 0])))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"lam": 1.5}, "lam is 1.5"),
        ({"components": 0}, "components is 0"),
        ({"restarts": 0}, "restarts is 0"),
        ({"correspondence": "pairs"}, "did you mean pair"),
        ({"groups": "base,rsg"}, "rsg"),
    ],
)
def test_bad_settings_are_named(setting, message):
    with pytest.raises(TextError, match=message):
        Mixture(**setting)


def test_a_word_said_twice_counts_once():
    """In learning and in the vocabulary: a caption that repeats itself says no more."""
    twice = replace_words(LEARNT, tuple((*words, *words) for words in LEARNT.words))
    one, two = (HASTY.build(material, seed=3) for material in (LEARNT, twice))
    for name in ("p_l", "means", "words", "vocabulary"):
        np.testing.assert_array_equal(one.arrays[name], two.arrays[name])
    rare = replace_words(LEARNT, (("hapax", "hapax", "hapax"), *LEARNT.words[1:]))
    assert "hapax" not in replace(HASTY, least_count=2).build(rare).arrays["vocabulary"]


def replace_words(material, words):
    return Material(material.items, words, material.columns, material.counts)
