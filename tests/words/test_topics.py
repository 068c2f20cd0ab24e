"""Topics: the top level with four or more, and what has no category."""

from __future__ import annotations

import pytest

from endoxa.errors import TextError
from endoxa.words.topics import WITHOUT, topics_of


def test_the_top_level_with_four_topics() -> None:
    paths = ["a/x", "a/y", "b/x", "b/z", None]
    found = topics_of(paths)
    assert found.level == 2 and found.enough
    assert found.names == (WITHOUT, "a/x", "a/y", "b/x", "b/z")
    assert [found.names[at] for at in found.of] == ["a/x", "a/y", "b/x", "b/z", WITHOUT]
    assert topics_of(paths, 1).names == (WITHOUT, "a", "b") and not topics_of(paths, 1).enough


def test_few_topics_and_levels_that_are_not_there() -> None:
    assert topics_of([None, None]).names == (WITHOUT,) and not topics_of([None, None]).enough
    with pytest.raises(TextError, match="have 1 levels, not 2"):
        topics_of(["a", "b"], 2)
    with pytest.raises(TextError, match="at level -1"):
        topics_of(["a"], -1)
