"""Features from descriptions: groups, projections, pictures from outside, near-duplicates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.engines import Material
from endoxa.errors import TableError
from endoxa.images.corpus import Skipped
from endoxa.searches import describing
from endoxa.searches.arms import Group, group_of
from endoxa.searches.describing import features_of, point_from, stacks_of


def material(items: list[str], **columns: np.ndarray) -> Material:
    words = tuple((f"word-{item}",) for item in items)
    return Material(tuple(items), words, columns, np.ones(len(items), np.int64))


def seen(n: int, seed: int = 1) -> Material:
    """What the two descriptors that need no network say about n pictures."""
    rng = np.random.default_rng(seed)
    widths = {"colour_histogram": 166, "texture_histogram": 120, "layout": 192}
    columns = {name: rng.integers(1, 200, (n, width)).astype(np.uint8) for name, width in widths.items()}
    return material([f"p{at}" for at in range(n)], **columns)


def looks(items: list[str], numbers: int = 300, seed: int = 2) -> Material:
    return material(items, vector=np.random.default_rng(seed).random((len(items), numbers)).astype(np.float32))


def test_groups_with_and_without_vectors() -> None:
    pictures = seen(140)
    three = features_of([pictures])
    assert [group.name for group in three.groups] == ["colours", "texture", "layout"] and three.basis is None
    four = features_of([pictures, looks(list(pictures.items))], source="net", skipped=[Skipped("p9", "no")])
    assert [(group.name, group.values.shape) for group in four.groups] == [
        ("look", (140, 128)), ("colours", (140, 166)), ("texture", (140, 120)), ("layout", (140, 192)),
    ]  # fmt: skip
    assert four.group("look").values.dtype == np.float32 and four.group("layout").values.dtype == np.uint8
    assert four.group("layout").taus["sketch"] > 0 and four.group("look").metrics[0] == "cosine"
    assert four.words[3] == ("word-p3",) and four.skipped[0].name == "p9"
    assert four.basis is not None and four.basis.source == "net"


def test_few_items_or_numbers_keep_as_many_as_there_are() -> None:
    for items, numbers, expected in ((5, 300, 5), (40, 7, 7), (1, 300, 1)):
        names = [f"p{at}" for at in range(items)]
        assert features_of([looks(names, numbers)]).group("look").values.shape == (items, expected)
    assert features_of([looks([])]).groups == ()
    assert features_of([]).items == ()


def test_items_without_a_group_are_silent_in_it() -> None:
    features = features_of([seen(6), looks(["p4", "p1", "x"])])
    assert features.items == ("p0", "p1", "p2", "p3", "p4", "p5", "x")
    assert np.isnan(features.group("look").values).all(axis=1).tolist() == [True, False, True, True, False, True, False]
    assert not features.group("colours").values[6].any()
    assert features.group("look").taus["l1"] > 0


def test_vectors_without_a_direction_make_no_group() -> None:
    names = ["p0", "p1"]
    features = features_of([seen(2), material(names, vector=np.array([[0.0, 0.0], [np.nan, 1.0]]))])
    assert [group.name for group in features.groups] == ["colours", "texture", "layout"] and features.basis is None


def test_the_same_pictures_give_the_same_digest_and_any_change_another() -> None:
    pictures = seen(8)
    names = list(pictures.items)

    def digest(one: Material = pictures, two: Material = looks(names), digests: dict[str, str] | None = None) -> str:
        return features_of([one, two], digests=digests).digest

    changed = pictures.columns["layout"].copy()
    changed[3, 5] += 1
    other = Material(pictures.items, pictures.words, {**pictures.columns, "layout": changed}, pictures.counts)
    renamed = Material(("z", *pictures.items[1:]), pictures.words, pictures.columns, pictures.counts)
    reworded = Material(pictures.items, (("a",), *pictures.words[1:]), pictures.columns, pictures.counts)
    assert digest() == digest(digests={"p1": "a", "p2": "b"})
    every = [
        digest(), digest(other), digest(two=looks(names, seed=3)), digest(digests={"p1": "a", "p2": "a"}),
        features_of([renamed]).digest, features_of([reworded]).digest, features_of([pictures]).digest,
    ]  # fmt: skip
    assert len(set(every)) == len(every)


def test_a_picture_from_outside_is_the_one_in_the_collection_if_they_are_equal() -> None:
    pictures = seen(30)
    vectors = looks(list(pictures.items))
    features = features_of([pictures, vectors])
    columns = {name: rows[7:8] for one in (pictures, vectors) for name, rows in one.columns.items()}
    point = point_from(columns, features)
    for group in features.groups:
        assert np.allclose(point[group.name], group.values[7], atol=1e-6)
        assert point[group.name].dtype == group.values.dtype
    del columns["vector"]
    assert np.isnan(point_from(columns, features)["look"]).all()
    del columns["layout"]
    with pytest.raises(TableError, match="not described by layout"):
        point_from(columns, features)


def test_several_rows_of_a_picture_are_refused() -> None:
    regions = Material(("a",), ((),), {"vector": np.ones((2, 4))}, np.array([2]))
    with pytest.raises(TableError, match="one row of 'vector' for each of 1 items, not 2 × 4"):
        features_of([regions])


def angles(*degrees: float) -> Group:
    radians = np.radians(degrees)
    values = np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)
    return Group("look", values, ("cosine",), {"cosine": 0.1})


def test_near_duplicates_are_stacked_by_look_and_by_file() -> None:
    # 1 - cos 5° = .0038 < .01, 1 - cos 10° = .015; a chain joins 0°, 5° and 10°.
    look = angles(90, 0, 40, 5, 10, 41, 70)
    assert stacks_of([""] * 7, look).tolist() == [0, 1, 2, 1, 1, 2, 3]
    assert stacks_of(["a", "b", "", "", "", "a", "c"], look).tolist() == [0, 1, 0, 1, 1, 0, 2]
    assert stacks_of(["a", "b", "a", ""]).tolist() == [0, 1, 0, 2]
    assert stacks_of([]).tolist() == []


def test_looks_that_are_silent_stack_nothing() -> None:
    look = angles(0, 0, 90)
    look.values[2] = np.nan
    assert stacks_of(["", "", ""], look).tolist() == [0, 0, 1]
    same = group_of("look", np.ones((3, 2), np.float32))
    assert same.taus["cosine"] == 0 and stacks_of(["", "a", "a"], same).tolist() == [0, 1, 1]


@given(st.lists(st.integers(0, 359), min_size=1, max_size=24), st.integers(1, 5))
def test_blocks_find_the_same_stacks_as_all_pairs(degrees: list[int], block: int) -> None:
    look = angles(*degrees)
    near = 1 - look.values.astype(float) @ look.values.T.astype(float) < 0.01
    for _ in degrees:  # the closure of the relation
        near = near @ near
    expected = np.unique(near.argmax(axis=1), return_inverse=True)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(describing, "BLOCK", block)
        assert stacks_of([""] * len(degrees), look).tolist() == expected.tolist()


def test_beyond_the_limit_only_equal_files_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "MOST", 2)
    assert stacks_of(["a", "", "a"], angles(0, 0, 0)).tolist() == [0, 1, 0]
