from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from endoxa.engines import Material
from endoxa.engines.block_regions import BlockRegions
from endoxa.engines.integrated_regions import IntegratedRegions, matching, region_distances
from endoxa.errors import TableError, TextError
from endoxa.images import Picture
from endoxa.tables import Floats


def drawn(rng: np.random.Generator, regions: int, textured: bool | None = None) -> dict[str, np.ndarray]:
    features = rng.normal(size=(regions, 9)) * [30, 30, 30, 5, 5, 5, 0.4, 0.4, 0.4]
    flag = bool(rng.random() < 0.3) if textured is None else textured
    return {"features": features, "area": rng.dirichlet(np.ones(regions)), "textured": np.full(regions, flag)}


def material(pictures: list[dict[str, np.ndarray]]) -> Material:
    columns = {name: np.concatenate([picture[name] for picture in pictures]) for name in pictures[0]}
    names = tuple(f"p{i}" for i in range(len(pictures)))
    return Material(names, tuple(() for _ in names), columns, np.array([len(p["area"]) for p in pictures]))


def plain_distance(one: np.ndarray, other: np.ndarray, shaped: bool) -> float:
    colour = float(sum((one[f] - other[f]) ** 2 for f in range(6)))
    shape = float(sum((one[f] - other[f]) ** 2 for f in range(6, 9)))
    if not shaped or shape >= 0.5:
        return colour
    return colour * (0.85 if shape >= 0.2 else 0.5)


def plain_matching(pairs: list[list[float]], left: list[float], right: list[float]) -> tuple[float, Floats]:
    """The rule as it is told: sort all pairs, give each the least of what its two regions have left."""
    left, right = list(left), list(right)
    amounts = np.zeros((len(left), len(right)))
    for _, i, j in sorted((pairs[i][j], i, j) for i in range(len(left)) for j in range(len(right))):
        amounts[i, j] = min(left[i], right[j])
        left[i] -= amounts[i, j]
        right[j] -= amounts[i, j]
    return float(sum(amounts[i, j] * pairs[i][j] for i in range(len(left)) for j in range(len(right)))), amounts


def plain_score(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    shaped = not (one["textured"][0] or other["textured"][0])
    pairs = [[plain_distance(a, b, shaped) for b in other["features"]] for a in one["features"]]
    return -plain_matching(pairs, list(one["area"]), list(other["area"]))[0]


def test_a_matching_by_hand() -> None:
    # .5 of the first pair (distance 1) comes first, then .1 at 2, what remains is .4 at 5.
    pairs = np.array([[1.0, 8.0], [2.0, 5.0]])
    total, amounts = matching(pairs, np.array([0.5, 0.5]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(amounts, [[0.5, 0.0], [0.1, 0.4]])
    assert total == pytest.approx(0.5 * 1 + 0.1 * 2 + 0.4 * 5)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 16), st.integers(1, 16), st.integers(0, 2**32 - 1), st.booleans())
def test_matching_is_the_sorted_rule(m: int, n: int, seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 4, (m, n)).astype(float) if ties else rng.exponential(100, (m, n))
    left, right = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))
    total, amounts = matching(pairs, left.copy(), right.copy())
    expected, plain = plain_matching(pairs.tolist(), left.tolist(), right.tolist())
    assert total == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(amounts, plain, atol=1e-12)
    np.testing.assert_allclose(amounts.sum(1), left, atol=1e-12)
    np.testing.assert_allclose(amounts.sum(0), right, atol=1e-12)
    if not ties:
        assert matching(pairs.T.copy(), right.copy(), left.copy())[0] == pytest.approx(total, abs=1e-9)


def test_the_greedy_matching_is_never_cheaper_than_the_cheapest() -> None:
    rng = np.random.default_rng(1)
    dearer = 0
    for _ in range(20):
        pairs, left, right = rng.random((4, 5)), rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(5))
        rows = np.kron(np.eye(4), np.ones(5))
        columns = np.kron(np.ones(4), np.eye(5))
        least = linprog(pairs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([left, right])).fun
        total = matching(pairs, left.copy(), right.copy())[0]
        assert total >= least - 1e-9
        dearer += total > least + 1e-6
    assert dearer


def test_shapes_lower_the_distance_in_steps() -> None:
    one = np.zeros((1, 9))
    others = np.zeros((4, 9))
    others[:, 0] = 10
    others[:, 6] = np.sqrt([0.19, 0.21, 0.49, 0.51])
    assert region_distances(one, others, True).tolist() == [[50.0, 85.0, 85.0, 100.0]]
    assert region_distances(one, others, False).tolist() == [[100.0] * 4]


def test_scores_by_brute_force_identity_and_symmetry() -> None:
    rng = np.random.default_rng(4)
    pictures = [drawn(rng, int(regions)) for regions in rng.integers(1, 17, 25)]
    outside = [drawn(rng, int(regions)) for regions in rng.integers(1, 17, 4)]
    assert {bool(picture["textured"][0]) for picture in pictures} == {True, False}
    engine = IntegratedRegions()
    index = engine.build(material(pictures))
    found = engine.score(index, material(outside))
    expected = [[plain_score(query, item) for item in pictures] for query in outside]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    among = engine.score(index, index.material)
    np.testing.assert_array_equal(np.diag(among), 0)
    assert not np.signbit(np.diag(among)).any()
    np.testing.assert_allclose(among, among.T, rtol=0, atol=1e-9)
    assert (among <= 0).all()


def test_uniform_significance_counts_regions() -> None:
    rng = np.random.default_rng(5)
    pictures = [drawn(rng, 3), drawn(rng, 5)]
    engine = IntegratedRegions(significance="uniform")
    found = engine.score(engine.build(material(pictures)), material(pictures[:1]))
    even = [{**picture, "area": np.full(len(picture["area"]), 1 / len(picture["area"]))} for picture in pictures]
    assert found[0, 1] == pytest.approx(plain_score(even[0], even[1]), abs=1e-9)
    assert found[0, 1] != pytest.approx(plain_score(pictures[0], pictures[1]), abs=1e-3)


def test_classes_may_be_kept_apart() -> None:
    rng = np.random.default_rng(6)
    pictures = [drawn(rng, 4, True), drawn(rng, 4, False), drawn(rng, 2, True)]
    engine = IntegratedRegions(apart=True)
    found = engine.score(engine.build(material(pictures)), material(pictures))
    assert np.isnan(found).tolist() == [[False, True, False], [True, False, True], [False, True, False]]


def test_pictures_end_to_end() -> None:
    pixels = np.zeros((64, 96, 3), np.uint8)
    pixels[:, :48] = (200, 30, 30)
    pixels[:, 48:] = (30, 30, 200)
    near = pixels.copy()
    near[:, :48] = (190, 40, 40)
    far = np.full_like(pixels, (20, 200, 20))
    engine = IntegratedRegions()
    collection = material([engine.descriptor.describe(Picture(shown)) for shown in (far, near, pixels)])
    scores = engine.score(engine.build(collection), collection.take([2]))
    assert scores[0].argsort().tolist() == [0, 1, 2]
    assert scores[0, 2] == 0


def test_names_and_refusals() -> None:
    engine = IntegratedRegions()
    assert engine.name == "integrated-regions"
    assert not engine.takes_text
    assert IntegratedRegions(background="opaque").descriptor == BlockRegions(background="opaque")
    with pytest.raises(TextError, match="expected area or uniform"):
        IntegratedRegions(significance="size")
    with pytest.raises(TextError, match="no background is called"):
        IntegratedRegions(background="grey")
    rng = np.random.default_rng(0)
    index = engine.build(material([drawn(rng, 2)]))
    with pytest.raises(TextError, match="takes no words"):
        engine.score_words(index, [("bird",)])
    with pytest.raises(TableError, match="no column 'features'"):
        engine.score(index, Material(("a",), ((),)))
    empty = Material(("a", "b"), ((), ()), index.material.columns, np.array([2, 0]))
    with pytest.raises(TableError, match="item 'b' has no region"):
        engine.build(empty)
    assert engine.score(index, index.material.take([])).shape == (0, 1)
