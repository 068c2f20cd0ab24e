"""Splits by topic: shares, disjoint parts, and what happens with few topics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import JoinError, TextError
from endoxa.words.splits import draw, resamples
from endoxa.words.topics import WITHOUT, topics_of

SIXTEEN = topics_of([f"cd{at % 16:02d}" for at in range(1600)])


@given(
    sizes=st.lists(st.integers(4, 30), min_size=4, max_size=12),
    share=st.floats(0.2, 1), train=st.floats(0.3, 0.8), seed=st.integers(0, 99),
)  # fmt: skip
def test_every_picture_is_in_one_part_and_novel_topics_are_unseen(sizes, share, train, seed) -> None:
    topics = topics_of([f"t{at}" for at, size in enumerate(sizes) for _ in range(size)])
    split = draw(topics, share=share, train=train, rng=np.random.default_rng(seed))
    whole = np.concatenate([split.train, split.held_out, split.novel])
    assert sorted(whole) == list(range(sum(sizes)))
    seen = set(topics.of[split.train]) | set(topics.of[split.held_out])
    assert not seen & set(topics.of[split.novel])
    assert set(topics.of[split.held_out]) <= seen
    assert bool(len(split.novel)) == (share < 1)


def test_the_shares_are_those_of_the_source() -> None:
    split = draw(SIXTEEN, rng=np.random.default_rng(1))
    assert len(set(SIXTEEN.of[split.train])) == 8 and len(split.novel) == 800
    assert (len(split.train), len(split.held_out)) == (600, 200)


def test_small_topics_keep_the_share() -> None:
    """Topics of one picture would all be learnt from, or never, if the share were rounded."""
    topics = topics_of([f"t{at}" for at in range(4000)])
    split = draw(topics, share=1.0, rng=np.random.default_rng(1))
    assert len(split.train) == pytest.approx(3000, abs=100)


def test_a_resample_depends_on_the_seed_and_its_number_only() -> None:
    few, many = resamples(SIXTEEN, 2, seed=5), resamples(SIXTEEN, 4, seed=5)
    assert all((one.train == other.train).all() for one, other in zip(few, many, strict=False))
    assert (many[0].train != many[1].train).any()
    assert (resamples(SIXTEEN, 1, seed=6)[0].train != few[0].train).any()


def test_with_fewer_than_four_topics_none_is_novel() -> None:
    topics = topics_of(["a", "b", "c"] * 20)
    assert not topics.enough
    split = draw(topics, rng=np.random.default_rng(0))
    assert len(split.novel) == 0 and len(split.train) == pytest.approx(45, abs=3)


def test_the_level_of_topics() -> None:
    paths = ["animals/birds/owl", "animals/cats", "food/fruit", "food/bread", None]
    assert topics_of(paths).level == 2 and topics_of(paths).names[0] == WITHOUT
    assert topics_of(paths, 1).names == (WITHOUT, "animals", "food")
    assert topics_of(["a/b", "a/c"]).names == ("a/b", "a/c")  # the deepest, where no level has four
    with pytest.raises(TextError, match="3 levels, not 4"):
        topics_of(paths, 4)
    with pytest.raises(TextError, match="at level -1"):
        topics_of(paths, -1)


def test_what_cannot_be_split_is_refused() -> None:
    with pytest.raises(JoinError, match="too few"):
        draw(topics_of(["a"]), rng=np.random.default_rng(0))
    with pytest.raises(TextError, match="share is 0"):
        draw(SIXTEEN, share=0, rng=np.random.default_rng(0))
    with pytest.raises(TextError, match="train is 1"):
        draw(SIXTEEN, train=1, rng=np.random.default_rng(0))
    with pytest.raises(TextError, match="0 resamples"):
        resamples(SIXTEEN, 0)
