from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from endoxa.engines import Material, embeddings
from endoxa.engines.embeddings import EXTRACTORS, METRICS, Embeddings
from endoxa.errors import JoinError, TableError, TextError


def material(vectors, prefix: str = "item") -> Material:
    rows = np.asarray(vectors, dtype=np.float32)
    names = tuple(f"{prefix}{number}" for number in range(len(rows)))
    return Material(names, ((),) * len(rows), {"vector": rows}, np.ones(len(rows), np.int64))


def alike(q, v, metric: str) -> float:
    """One pair, number by number."""
    product = sum(a * b for a, b in zip(q, v, strict=True))
    if metric == "dot":
        return product
    if metric == "l1":
        return -sum(abs(a - b) for a, b in zip(q, v, strict=True))
    if metric == "l2":
        return -math.dist(q, v)
    lengths = math.hypot(*q) * math.hypot(*v)
    return product / lengths if lengths else math.nan


def brute_force(queries, items, metric: str):
    return np.array([[alike(q, v, metric) for v in items.tolist()] for q in queries.tolist()])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", [1, 3, 4096])
def test_scores_are_those_of_every_pair(metric, block, monkeypatch):
    monkeypatch.setattr(embeddings, "BLOCK", block)
    rng = np.random.default_rng(4)
    items, queries = rng.normal(size=(7, 5)).astype(np.float32), rng.normal(size=(4, 5)).astype(np.float32)
    items[3] = 0
    engine = Embeddings(metric=metric)
    scores = engine.score(engine.build(material(items)), material(queries, "other"))
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, brute_force(queries, items, metric), rtol=1e-5, atol=1e-6)


whole_numbers = st.integers(-50, 50).map(float)


@given(
    arrays(np.float32, (3, 4), elements=whole_numbers),
    arrays(np.float32, (5, 4), elements=whole_numbers),
    st.sampled_from(list(METRICS)),
)
def test_scores_of_any_vectors(queries, items, metric):
    engine = Embeddings("file", metric)
    scores = engine.score(engine.build(material(items)), material(queries))
    np.testing.assert_allclose(scores, brute_force(queries, items, metric), rtol=1e-5, atol=1e-6)
    if metric == "cosine":
        assert np.nanmax(np.abs(scores), initial=0) <= 1


def test_by_hand():
    items = material([[3, 4], [-4, 3], [-6, -8], [0, 0]])
    query = material([[6, 8]])
    expected = {
        "cosine": [1, 0, -1, math.nan],
        "dot": [50, 0, -100, 0],
        "l2": [-5, -math.hypot(10, 5), -20, -10],
        "l1": [-7, -15, -28, -14],
    }
    for metric, row in expected.items():
        engine = Embeddings("file", metric)
        np.testing.assert_allclose(engine.score(engine.build(items), query), [row], rtol=1e-6)


def test_a_zero_query_has_no_direction():
    engine = Embeddings()
    scores = engine.score(engine.build(material(np.eye(3))), material([[0, 0, 0], [0, 2, 0]]))
    assert np.isnan(scores[0]).all()
    np.testing.assert_array_equal(scores[1], [0, 1, 0])


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_vectors_that_are_very_short_or_long_have_a_direction(size):
    engine = Embeddings()
    vectors = np.array([[3, 4], [4, -3], [1, 0]]) * size
    scores = engine.score(engine.build(material(vectors)), material(vectors))
    np.testing.assert_allclose(scores, [[1, 0, 0.6], [0, 1, 0.8], [0.6, 0.8, 1]], atol=1e-6)


def test_the_same_again():
    rng = np.random.default_rng(1)
    items = material(rng.normal(size=(300, 64)))
    index = Embeddings().build(items, seed=5)
    scores = Embeddings().score(index, items.take([9, 200]))
    np.testing.assert_array_equal(Embeddings().score(index, items.take([9, 200])), scores)
    np.testing.assert_array_equal(scores.argmax(1), [9, 200])
    assert index.items == items.items


def test_what_is_learnt_from_is_of_no_matter():
    items, other = material(np.eye(3)), material(np.ones((2, 3)))
    for metric in METRICS:
        engine = Embeddings(metric=metric)
        with_train = engine.score(engine.build(items, train=other, seed=1), items)
        np.testing.assert_array_equal(with_train, engine.score(engine.build(items), items))


def test_nothing_asked_and_nothing_there():
    engine, nothing = Embeddings(), Material((), ())
    assert engine.score(engine.build(material(np.eye(3))), nothing).shape == (0, 3)
    assert engine.score(engine.build(nothing), material(np.eye(3))).shape == (3, 0)
    empty = material(np.eye(3)).take([])
    assert engine.score(engine.build(empty), empty).shape == (0, 0)


def test_where_vectors_come_from(monkeypatch):
    assert Embeddings("file").descriptor is None
    made = object()
    monkeypatch.setitem(EXTRACTORS, "mine", lambda: made)
    assert Embeddings("mine").descriptor is made
    with pytest.raises(
        TextError, match=r"no source of vectors is called 'minne'; expected .*file; did you mean mine\?"
    ):
        _ = Embeddings("minne").descriptor


def test_the_usual_source_is_known_once_its_module_is():
    from endoxa.io.efficientnet import EfficientNet

    assert Embeddings().descriptor == EfficientNet()
    assert Embeddings().descriptor == Embeddings().descriptor


def test_a_metric_that_is_none():
    with pytest.raises(TextError, match=r"no metric is called 'cosin'; expected cosine, dot, l2, l1; did you mean"):
        Embeddings(metric="cosin")


def test_words_are_refused():
    engine = Embeddings()
    assert not engine.takes_text
    with pytest.raises(TextError, match="takes no words"):
        engine.score_words(engine.build(material(np.eye(2))), [("cat",)])


def test_vectors_of_two_networks_do_not_compare():
    engine = Embeddings()
    with pytest.raises(JoinError, match="queries have 2 numbers, those of the index 3; make both"):
        engine.score(engine.build(material(np.eye(3))), material(np.eye(2)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_named(bad):
    rows = np.eye(3)
    rows[1, 2] = bad
    with pytest.raises(TableError, match="vector of item 'item1' contains NaN or infinity"):
        Embeddings().build(material(rows))
    engine = Embeddings(metric="l1")
    with pytest.raises(TableError, match="vector of item 'q1'"):
        engine.score(engine.build(material(np.eye(3))), material(rows, "q"))


def test_material_without_a_vector_each():
    words_only = Material(("a", "b"), (("x",), ("y",)))
    with pytest.raises(TableError, match="no column 'vector'; describe the pictures first"):
        Embeddings().build(words_only)
    regions = Material(("a", "b"), ((), ()), {"vector": np.zeros((3, 4), np.float32)}, np.array([1, 2]))
    with pytest.raises(TableError, match="one vector for each of the 2 items, not an array of shape 3 × 4"):
        Embeddings().build(regions)
    flat = Material(("a", "b"), ((), ()), {"vector": np.zeros(2, np.float32)}, np.array([1, 1]))
    with pytest.raises(TableError, match="array of shape 2"):
        Embeddings().build(flat)


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_equal_vectors_tie_wherever_they_stand(metric: str) -> None:
    rng = np.random.default_rng(2)
    vectors = np.repeat(rng.standard_normal((150, 1280)), 2, axis=0).astype(np.float32)
    names = tuple(f"i{k:03d}" for k in range(300))
    own = Material(names, ((),) * 300, {"vector": vectors}, np.ones(300, np.int64))
    engine = Embeddings(source="file", metric=metric)
    together = engine.score(engine.build(own), own)
    assert np.array_equal(together[:, ::2], together[:, 1::2])
    turned = own.take(np.arange(299, -1, -1))
    assert np.array_equal(engine.score(engine.build(turned), own)[:, ::-1], together)
    alone = np.concatenate([engine.score(engine.build(own), own.take([k])) for k in range(20)])
    assert np.array_equal(alone, together[:20])


def test_large_vectors_have_scores() -> None:
    vectors = np.array([[1e20, 1e20], [1.0, 1.0]], np.float32)
    own = Material(("a", "b"), ((), ()), {"vector": vectors}, np.ones(2, np.int64))
    engine = Embeddings(source="file", metric="dot")
    assert np.allclose(engine.score(engine.build(own), own), [[2e40, 2e20], [2e20, 2]], rtol=1e-6)
