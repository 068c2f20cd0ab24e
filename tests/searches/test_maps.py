"""Maps: neighbours are near, every picture is reached once, odd collections too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import RefusedError, TextError
from endoxa.searches import maps
from endoxa.searches.arms import Features, group_of
from endoxa.searches.maps import Map, clusters, map_vectors, middles, read_path, representatives, sorted_grid


def reached(one: Map, trail: tuple[int, ...] = ()) -> list[int]:
    """The pictures that stand alone in a cell, by opening every other cell."""
    found: list[int] = []
    tiles = one.sheet(trail).tiles
    assert len({tile.cell for tile in tiles}) == len(tiles)
    assert all(0 <= tile.cell < one.rows * one.columns for tile in tiles)
    for tile in tiles:
        found += [tile.place] if tile.count == 1 else reached(one, (*trail, tile.cell))
    return found


def random_vectors(n: int, seed: int = 1, size: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, size)).astype(np.float32)


def neighbours(cells: np.ndarray, columns: int) -> np.ndarray:
    """Pairs of pictures in cells side by side or one above the other."""
    at = {int(cell): picture for picture, cell in enumerate(cells)}
    steps = [(cell, cell + 1) for cell in at if (cell + 1) % columns] + [(cell, cell + columns) for cell in at]
    return np.array([(at[a], at[b]) for a, b in steps if b in at])


@pytest.mark.parametrize(("n", "rows", "columns"), [(144, 12, 12), (24, 6, 4), (50, 8, 8)])
def test_neighbours_are_nearer_than_by_chance(n: int, rows: int, columns: int) -> None:
    plane = np.random.default_rng(2).random((n, 2)) @ np.random.default_rng(3).normal(size=(2, 9))
    cells = sorted_grid(plane, rows, columns, np.random.default_rng(4))
    pairs = neighbours(cells, columns)
    apart = np.linalg.norm(plane[pairs[:, 0]] - plane[pairs[:, 1]], axis=1).mean()
    chance = np.linalg.norm(plane[:, None] - plane, axis=-1)[np.triu_indices(n, 1)].mean()
    assert apart < 0.45 * chance


def test_pictures_of_a_grid_come_back_in_rows_and_columns() -> None:
    """Vectors that are a grid themselves, shuffled: it may come back turned, but steps are small (by chance 5.3)."""
    true = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(64, 2)
    shuffled = true[np.random.default_rng(5).permutation(64)]
    pairs = neighbours(sorted_grid(shuffled, 8, 8, np.random.default_rng(6)), 8)
    apart = np.abs(shuffled[pairs[:, 0]] - shuffled[pairs[:, 1]]).sum(axis=1)
    assert apart.mean() < 1.6


@given(st.integers(0, 60), st.integers(2, 6), st.integers(2, 6), st.booleans(), st.integers(0, 9))
@settings(max_examples=40)
def test_every_picture_is_reached_once(n: int, rows: int, columns: int, equal: bool, seed: int) -> None:
    vectors = np.ones((n, 3), np.float32) if equal else random_vectors(n, seed, 3)
    assert sorted(reached(Map(vectors, rows, columns, seed))) == list(range(n))


def test_few_pictures_fill_the_upper_left() -> None:
    for n, cells in ((0, []), (1, [0]), (3, [0, 1, 12]), (4, [0, 1, 12, 13]), (7, [0, 1, 2, 12, 13, 14, 24])):
        tiles = Map(random_vectors(n)).sheet().tiles
        assert [tile.cell for tile in tiles] == cells and all(tile.count == 1 for tile in tiles)
    wide = Map(random_vectors(7), rows=6, columns=4).sheet().tiles
    assert max(tile.cell % 4 for tile in wide) == 2


def test_a_tile_shows_the_middle_of_the_pictures_that_it_opens() -> None:
    one = Map(random_vectors(400), rows=4, columns=4)
    top = one.sheet()
    assert len(top.tiles) == 16 and sum(tile.count for tile in top.tiles) == 400
    for tile in top.tiles:
        members = top.inside(tile.cell)
        total = ((one.vectors[members][:, None] - one.vectors[members]) ** 2).sum(axis=(1, 2))
        assert members[total.argmin()] == tile.place and len(members) == tile.count
        assert sorted(one.sheet((tile.cell,)).places) == sorted(members)


def test_the_map_does_not_depend_on_what_was_opened_before() -> None:
    vectors = random_vectors(300, 3)
    first, second = Map(vectors, 3, 3), Map(vectors, 3, 3)
    cell = next(tile.cell for tile in first.sheet().tiles if tile.count > 9)
    other = next(tile.cell for tile in first.sheet().tiles if tile.count > 9 and tile.cell != cell)
    first.sheet((other,))
    assert first.sheet((cell,)).tiles == second.sheet((cell,)).tiles
    assert () in first.kept and first.sheet() is first.kept[()]


def test_places_that_are_not_on_the_map_are_refused() -> None:
    one = Map(random_vectors(30), rows=5, columns=5)
    alone = next(tile.cell for tile in one.sheet().tiles if tile.count == 1)
    for trail in ((alone,), (99,), (alone, 0)):
        with pytest.raises(RefusedError, match="no such part of the map") as caught:
            one.sheet(trail)
        assert caught.value.status == 404
    assert read_path("") == () and read_path("3.17") == (3, 17)
    for text in ("a", "3.", "-1", "../x", "²", "1234"):
        with pytest.raises(TextError, match="is no place on the map"):
            read_path(text)
    with pytest.raises(TextError, match="from 2 to 24 rows and columns, not 1 × 4000"):
        Map(random_vectors(3), 1, 4000)


def test_clusters_are_never_empty_and_separate_what_is_apart() -> None:
    rng = np.random.default_rng(1)
    three = np.repeat([[0.0, 0], [50, 0], [0, 50]], 20, axis=0) + rng.normal(size=(60, 2))
    labels = clusters(three, 9, np.random.default_rng(2))
    assert set(labels) == set(range(9))
    assert all(len(set(np.flatnonzero(labels == label) // 20)) == 1 for label in range(9))
    same = clusters(np.ones((40, 2)), 7, np.random.default_rng(3))
    assert np.bincount(same, minlength=7).min() >= 2
    assert clusters(three[:4], 4, rng).tolist() == [0, 1, 2, 3]


def test_many_pictures_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "SAMPLE", 50)
    monkeypatch.setattr(maps, "BLOCK", 64)
    assert sorted(reached(Map(random_vectors(200, 5), 4, 4))) == list(range(200))
    assert map_vectors(collection(120)).shape == (120, 32)


def test_representatives_stand_for_the_collection() -> None:
    corners = np.repeat([[0.0, 0], [50, 0], [0, 50], [50, 50]], 30, axis=0) + np.random.default_rng(1).random((120, 2))
    # Random starts may put two into one corner; more of them reach every corner.
    assert set(representatives(corners.astype(np.float32), 12) // 30) == {0, 1, 2, 3}
    assert representatives(corners, 500).tolist() == list(range(120))
    assert representatives(corners[:0], 5).tolist() == []
    assert middles(np.array([[0.0], [1], [2], [9]]), np.array([0, 0, 0, 1]), 2).tolist() == [1, 3]


def collection(n: int, look: bool = True) -> Features:
    rng = np.random.default_rng(7)
    groups = [group_of("layout", rng.integers(1, 255, (n, 192)).astype(np.uint8))]
    if look:
        groups.append(group_of("look", rng.normal(size=(n, 40)).astype(np.float32)))
    return Features(tuple(f"p{at}" for at in range(n)), tuple(groups))


def test_vectors_are_principal_components_of_groups_with_equal_variance() -> None:
    features = collection(90)
    look, layout = (features.group(name).values.astype(float) for name in ("look", "layout"))
    both = np.concatenate(
        [(x - x.mean(0)) / np.sqrt(x.var(0).sum()) * w for x, w in ((layout, 0.5), (look, 1))], axis=1
    )
    left, size, _ = np.linalg.svd(both, full_matrices=False)
    expected = (left * size)[:, :32]
    found = map_vectors(features)[:, ::-1]
    assert np.allclose(np.abs((found * expected).sum(0)), (expected**2).sum(0), rtol=1e-4)
    alone = map_vectors(features, "look")
    assert alone.shape == (90, 32) and not np.allclose(alone, map_vectors(features))
    assert np.allclose(map_vectors(collection(90, look=False)), map_vectors(collection(90, look=False), "layout") * 0.5)


def test_vectors_of_odd_collections() -> None:
    features = collection(20)
    features.group("look").values[3] = np.nan
    features.group("layout").values[4] = 0
    vectors = map_vectors(features)
    assert np.isfinite(vectors).all()
    assert np.allclose(map_vectors(features, "look")[3], 0) and not np.allclose(vectors[3], 0)
    silent = Features(("a", "b"), (group_of("look", np.full((2, 4), np.nan, np.float32)),))
    assert not map_vectors(silent).any()
    assert map_vectors(Features((), ())).shape == (0, 1)
    assert sorted(reached(Map(map_vectors(Features(("a", "b", "c"), ()))))) == [0, 1, 2]
    with pytest.raises(TextError, match="no group of features is called 'lok'; did you mean look"):
        map_vectors(features, "lok")
