"""Normalised cuts: against all cuts there are, and stage by stage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError
from endoxa.images import Picture
from endoxa.images.cuts import contours, ncuts, preseg, recursive_cut, two_way_cut
from endoxa.images.segment import segment


def plain_cut(affinity, side):
    """Shi and Malik's formula, pair by pair."""
    nodes = range(len(affinity))
    crossing = sum(affinity[i][j] for i in nodes for j in nodes if side[i] and not side[j])
    a = sum(affinity[i][j] for i in nodes for j in nodes if side[i])
    b = sum(affinity[i][j] for i in nodes for j in nodes if not side[i])
    return crossing / a + crossing / b


def least_cut(affinity):
    """The least over all cuts, by trying each."""
    n = len(affinity)
    sides = ([True, *rest] for rest in itertools.product([True, False], repeat=n - 1) if not all(rest))
    return min(((plain_cut(affinity, side), side) for side in sides), key=lambda pair: pair[0])


def clustered(first, second, seed, weak):
    rng = np.random.default_rng(seed)
    group = np.array([0] * first + [1] * second)
    affinity = np.where(group[:, None] == group[None], rng.uniform(0.6, 1, (first + second,) * 2), weak)
    affinity = affinity * rng.uniform(0.8, 1, affinity.shape)
    shuffled = rng.permutation(first + second)
    return ((affinity + affinity.T) / 2)[np.ix_(shuffled, shuffled)], group[shuffled]


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_of_two_clusters_is_the_least_of_all(seed):
    affinity, group = clustered(3 + seed % 2, 4, seed, weak=0.1)
    side, value = two_way_cut(affinity)
    least, best = least_cut(affinity.tolist())
    assert value == pytest.approx(least, rel=1e-9)
    assert side.tolist() in (best, [not s for s in best])
    assert len(set(zip(side.tolist(), group.tolist(), strict=True))) == 2


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10_000))
def test_the_value_is_that_of_the_cut_and_seldom_far_from_the_least(n, seed):
    rng = np.random.default_rng(seed)
    affinity = rng.uniform(0, 1, (n, n)) ** 3
    affinity = (affinity + affinity.T) / 2
    side, value = two_way_cut(affinity)
    assert 0 < side.sum() < n
    assert value == pytest.approx(plain_cut(affinity.tolist(), side.tolist()), rel=1e-9)
    least, _ = least_cut(affinity.tolist())
    assert least <= value + 1e-12
    assert value <= 1.6 * least


def test_parts_that_do_not_hang_together_are_cut_for_nothing():
    affinity = np.kron(np.eye(2), np.ones((3, 3)))
    side, value = two_way_cut(affinity)
    assert value == 0
    assert side.tolist() in ([True] * 3 + [False] * 3, [False] * 3 + [True] * 3)


def test_parts_that_barely_hang_together_are_cut_between():
    affinity = np.kron(np.eye(2), np.ones((3, 3))) + 1e-18
    side, value = two_way_cut(affinity)
    assert value == pytest.approx(0, abs=1e-12)
    assert side.tolist() in ([True] * 3 + [False] * 3, [False] * 3 + [True] * 3)


def test_cutting_goes_on_until_the_threshold():
    affinity = np.kron(np.eye(3), np.ones((4, 4))) + 0.01
    groups = recursive_cut(affinity, 0.2)
    assert [len(set(groups[k : k + 4])) for k in (0, 4, 8)] == [1, 1, 1]
    assert sorted(set(groups)) == [0, 1, 2]
    assert set(recursive_cut(affinity, 0.0)) == {0}
    assert len(set(recursive_cut(affinity, 2.0))) == 12


@pytest.mark.parametrize(
    "wrong", [np.ones((1, 1)), np.ones((2, 3)), np.array([[1, 2.0], [3, 1]]), -np.ones((2, 2)), np.full((2, 2), np.nan)]
)
def test_what_is_no_graph_is_refused(wrong):
    with pytest.raises(TableError, match="affinities"):
        two_way_cut(wrong)


def test_a_step_gives_a_contour_along_it_and_nowhere_else():
    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, 20:] = 255
    edges, energies = contours(Picture(pixels), 1.5)
    assert set(edges.argmax(axis=1)) <= {19, 20}
    assert edges[:, :10].max() < 1e-3
    assert edges[10, 20] == pytest.approx(40, rel=0.1)  # 0.4 of the step of 100 in L*
    assert (energies[10, 20].argmax(), energies[10, 20].argmin()) == (0, 3)  # across it most, along it least


def test_a_texture_is_told_from_the_same_grey_without():
    """Only grain differs: the mean lightness of both halves is the same."""
    x = np.arange(96)
    lightness = np.full((64, 96), 128.0)
    lightness[:, 48:] += np.where(x // 2 % 2, 40, -40)[48:]
    pixels = np.repeat(np.clip(lightness, 0, 255).astype(np.uint8)[..., None], 3, axis=2)
    labels = segment(Picture(pixels), "ncuts")
    left, right = np.bincount(labels[:, :44].ravel()), np.bincount(labels[:, 52:].ravel())
    assert left.argmax() != right.argmax()
    assert left.max() > 0.9 * left.sum()
    assert right.max() > 0.9 * right.sum()


def test_both_results_are_of_one_procedure():
    """Regions of the finished result are made of whole superpixels."""
    rng = np.random.default_rng(3)
    pixels = np.kron(rng.integers(0, 256, (4, 6, 3)), np.ones((12, 12, 1))).astype(np.uint8)
    first, last = segment(Picture(pixels), "preseg"), segment(Picture(pixels), "ncuts", smallest=0)
    assert last.max() < first.max()
    for cell in range(first.max() + 1):
        assert len(set(last[first == cell].tolist())) == 1


def test_more_cells_are_smaller_and_a_greater_threshold_gives_more_regions():
    rng = np.random.default_rng(5)
    pixels = np.clip(
        np.kron(rng.integers(0, 256, (4, 6, 3)), np.ones((12, 12, 1))) + rng.normal(0, 20, (48, 72, 3)), 0, 255
    )
    picture = Picture(pixels.astype(np.uint8))
    assert preseg(picture, cells=30).max() < preseg(picture, cells=120).max()
    counts = [len(np.unique(ncuts(picture, threshold=t))) for t in (0.0, 0.1, 0.5, 2.0)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] > counts[1] > 1
