"""Words that training pictures show to be visual; held-out pictures have no say."""

from __future__ import annotations

import numpy as np
import pytest
from view_samples import planted

from endoxa.errors import JoinError
from endoxa.words.pruning import visual_words
from endoxa.words.topics import topics_of

NAMES = ("sign", "company", "red", *(f"random{at}" for at in range(5)))


def test_planted_words_are_kept_and_random_ones_dropped() -> None:
    views, has = planted(0, 5)
    words = [[NAMES[word] for word in np.flatnonzero(row)] + ["everywhere"] for row in has.T]
    train, topics = np.arange(300), topics_of(["one"] * 400)
    kept, learnt = visual_words(views, words, train, topics, visual=0.2, least=10)
    assert kept == ("company", "sign") and learnt == 9
    other = words[:300] + [["sign", "company", "unheard"]] * 100
    assert visual_words(views, other, train, topics, visual=0.2, least=10)[0] == kept
    with pytest.raises(JoinError, match=r"none of the 9 words has V of 0.9 or more on 300 training.*--visual"):
        visual_words(views, words, train, topics, visual=0.9, least=10)


def test_where_topics_are_enough_a_word_must_hold_across_them() -> None:
    views, _ = planted(0, 0)
    assert views.vectors is not None
    of = np.arange(400) // 50
    look = views.vectors + 3 * np.random.default_rng(2).normal(size=(8, 200))[of]
    words = [["topical"] if topic in {0, 3, 5} else ["other"] for topic in of]
    moved = type(views)(look, views.colour, views.texture, views.copies)
    calls = {}
    for names in (["one"] * 400, [f"t{topic}" for topic in of]):
        topics = topics_of(names)
        try:
            calls[len(topics.names)] = visual_words(moved, words, np.arange(400), topics, visual=0.2, least=2)[0]
        except JoinError:
            calls[len(topics.names)] = ()
    assert calls == {1: ("other", "topical"), 8: ()}
