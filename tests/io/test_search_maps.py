"""Maps on disk: laid out once, kept, laid out again if damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from endoxa.io.search_maps import Sheets, open_map
from endoxa.searches.arms import Features, group_of


def collection(n: int = 60) -> Features:
    values = np.random.default_rng(1).integers(1, 255, (n, 192)).astype(np.uint8)
    return Features(tuple(f"p{at}" for at in range(n)), (group_of("layout", values),), digest="d" * 64)


def test_grids_are_kept_and_read_back(tmp_path: Path) -> None:
    features = collection()
    one = open_map(features, tmp_path, rows=3, columns=2)
    top = one.sheet()
    assert top.tiles == open_map(features, tmp_path / "elsewhere", rows=3, columns=2).sheet().tiles
    large = max(top.tiles, key=lambda tile: tile.count)
    below = one.sheet((large.cell,))
    folder = tmp_path / "search" / "maps" / ("d" * 16)
    assert {path.name for path in folder.iterdir()} == {"all.npy", "all-2x3"}
    assert {path.name for path in (folder / "all-2x3").iterdir()} == {"top.parquet", f"{large.cell}.parquet"}
    again = open_map(features, tmp_path, rows=3, columns=2)
    assert isinstance(again.vectors, np.memmap)
    assert again.sheet().tiles == top.tiles and again.sheet((large.cell,)).tiles == below.tiles
    kept = Sheets(folder / "all-2x3")
    assert sorted(kept) == [(), (large.cell,)] and len(kept) == 2
    del kept[()]
    assert list(kept) == [(large.cell,)] and kept.pop((), None) is None


def test_other_groups_sides_and_features_have_maps_of_their_own(tmp_path: Path) -> None:
    features = collection()
    tiles = open_map(features, tmp_path, rows=3, columns=2).sheet().tiles
    assert len(open_map(features, tmp_path, rows=3, columns=3).sheet().tiles) == 9
    assert open_map(features, tmp_path, "layout", rows=3, columns=2).sheet().tiles
    other = Features(features.items[:9], (group_of("layout", features.group("layout").values[:9]),), digest="e" * 64)
    assert len(open_map(other, tmp_path).sheet().tiles) == 9
    assert open_map(features, tmp_path, rows=3, columns=2).sheet().tiles == tiles


def test_damaged_files_are_laid_out_again(tmp_path: Path) -> None:
    features = collection()
    tiles = open_map(features, tmp_path, rows=3, columns=2).sheet().tiles
    for path in (tmp_path / "search").rglob("*.*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:20])
    assert open_map(features, tmp_path, rows=3, columns=2).sheet().tiles == tiles
    assert open_map(features, tmp_path, rows=3, columns=2).sheet().tiles == tiles


def test_a_home_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "search").write_text("a file where a folder should be")
    one = open_map(collection(), tmp_path, rows=3, columns=2)
    assert one.sheet().tiles and not one.kept
