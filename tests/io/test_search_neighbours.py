"""Approximate neighbours: they propose nearly what a scan finds, and belong to their features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from endoxa.errors import FileError
from endoxa.io.search_neighbours import Neighbours, build_neighbours, with_neighbours
from endoxa.searches import candidates
from endoxa.searches.arms import Features, group_of
from endoxa.searches.candidates import scan
from endoxa.searches.learner import Evidence, learn
from endoxa.searches.paging import choose_page


@pytest.fixture(scope="module")
def features() -> Features:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 30, 4000)
    look = (rng.normal(size=(30, 16))[kind] * 2 + rng.normal(size=(4000, 16))).astype(np.float32)
    look[5] = 0
    layout = np.clip(rng.integers(40, 200, (30, 24))[kind] + rng.integers(-40, 40, (4000, 24)), 0, 255)
    groups = (group_of("look", look), group_of("layout", layout.astype(np.uint8)))
    return Features(tuple(f"{at:04d}" for at in range(4000)), groups, digest="one")


def test_they_are_used_where_a_collection_is_too_large_to_scan(
    features: Features, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "ALL", 1000)
    monkeypatch.setattr(candidates, "BACKGROUND", 300)
    assert with_neighbours(features, tmp_path) is features
    build_neighbours(features, tmp_path)
    large = with_neighbours(features, tmp_path)
    liked = Evidence(np.array([10]), np.ones(1), np.full(1, 0.1))
    near, exact = (choose_page(one, learn(one, liked), np.ones(4000, np.bool_), 20) for one in (large, features))
    assert len(set(near.places) & set(exact.places)) >= 18
    monkeypatch.setattr(candidates, "ALL", 10_000)
    assert with_neighbours(features, tmp_path) is features


def test_they_propose_nearly_what_a_scan_finds(features: Features, tmp_path) -> None:
    build_neighbours(features, tmp_path)
    nearest = Neighbours(features, tmp_path)
    for group in features.groups:
        asked = group.values[10:20]
        kept = [
            len(set(near) & set(exact)) / 100
            for near, exact in zip(nearest(group, asked, 200), scan(group, asked, 100), strict=True)
        ]
        assert np.mean(kept) > 0.9


def test_they_are_refused_with_other_features_or_damage(features: Features, tmp_path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        Neighbours(features, tmp_path)
    build_neighbours(features, tmp_path)
    with pytest.raises(FileError, match="belong to other features"):
        Neighbours(replace(features, digest="two"), tmp_path)
    (tmp_path / "neighbours" / "look.faiss").write_bytes(b"nothing")
    with pytest.raises(FileError, match="cannot be read"):
        Neighbours(features, tmp_path)
