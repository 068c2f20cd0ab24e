"""Matches of words, against a worked example (docs/methods/pictures.md, Keywords) and sets counted one by one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.engines import Index, Material
from endoxa.engines.keywords import MATCHES, Keywords
from endoxa.errors import TextError

GOLDEN = {"jaccard": 0.666667, "dice": 0.8, "overlap": 1.0, "cosine": 0.816497, "coverage": 0.666667, "precision": 1.0}


def of(*words):
    return Material(tuple(f"item{k}" for k in range(len(words))), tuple(tuple(w) for w in words))


def plain(match, query, item):
    one, two = set(query), set(item)
    shared = len(one & two)
    above, below = {
        "jaccard": (shared, len(one | two)),
        "dice": (2 * shared, len(one) + len(two)),
        "overlap": (shared, min(len(one), len(two))),
        "cosine": (shared, math.sqrt(len(one) * len(two))),
        "coverage": (shared, len(one)),
        "precision": (shared, len(two)),
    }[match]
    return above / below if below else math.nan


def test_the_worked_example():
    query, item = ("sky", "water", "tiger"), ("sky", "tiger")
    for match, expected in GOLDEN.items():
        engine = Keywords(match)
        index = engine.build(of(item))
        assert round(engine.score(index, of(query))[0, 0], 6) == expected
        assert round(engine.score_words(index, [query])[0, 0], 6) == expected
    assert tuple(GOLDEN) == MATCHES


word_lists = st.lists(st.lists(st.sampled_from("abcdefg")), min_size=1, max_size=6)


@given(items=word_lists, queries=word_lists, match=st.sampled_from(MATCHES))
def test_every_pair_is_that_of_its_sets(items, queries, match):
    engine = Keywords(match)
    found = engine.score(engine.build(of(*items)), of(*queries))
    expected = np.array([[plain(match, query, item) for item in items] for query in queries])
    expected[expected == 0] = -np.inf  # what shares no word is no answer
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(items=word_lists, query=st.lists(st.sampled_from("abcdefg"), min_size=1))
def test_dice_and_jaccard_rank_alike(items, query):
    jaccard, dice = (Keywords(m).score(Keywords(m).build(of(*items)), of(query))[0] for m in ("jaccard", "dice"))
    np.testing.assert_array_equal(np.isfinite(jaccard), np.isfinite(dice))
    shares = np.isfinite(jaccard)
    np.testing.assert_allclose(dice[shares], 2 * jaccard[shares] / (1 + jaccard[shares]), rtol=1e-12)
    np.testing.assert_array_equal(np.argsort(-jaccard, kind="stable"), np.argsort(-dice, kind="stable"))


@pytest.mark.parametrize("match", MATCHES)
def test_nothing_against_nothing_is_undefined(match):
    engine = Keywords(match)
    found = engine.score(engine.build(of((), ("sky",))), of((), ("sky",), ("unheard",)))
    assert np.isnan(found[0, 0])
    assert found[1, 1] == 1
    assert found[2, 1] == -np.inf  # not returned


def test_more_queries_than_a_block(monkeypatch):
    rng = np.random.default_rng(0)
    items = [tuple(rng.choice(list("abcdefgh"), 3)) for _ in range(20)]
    engine = Keywords()
    index = engine.build(of(*items))
    whole = engine.score(index, of(*items))
    monkeypatch.setattr("endoxa.engines.keywords.BLOCK", 7)
    np.testing.assert_array_equal(engine.score(index, of(*items)), whole)
    np.testing.assert_array_equal(np.diag(whole), 1)


def test_names_and_kinds(tmp_path):
    assert [Keywords().name, Keywords("dice").name] == ["keywords", "keywords-dice"]
    assert Keywords().descriptor is None
    assert Keywords().takes_text
    material = of(("sky", "été"), ("sky",))
    index = Keywords().build(material)
    np.savez(tmp_path / "index.npz", **index.arrays)
    with np.load(tmp_path / "index.npz", allow_pickle=False) as saved:
        restored = Index(Keywords(), material, dict(saved))
    np.testing.assert_array_equal(Keywords().score(restored, material), [[1, 0.5], [0.5, 1]])
    with pytest.raises(TextError, match="no match of words is called 'jacard'; did you mean jaccard"):
        Keywords("jacard")
