"""What a search tells its learner: marks, the query, what was passed over, hints; and what its next page may show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from search_samples import clusters

from endoxa.errors import JoinError, RefusedError
from endoxa.searches.session import Query, Settings, Shown, State
from endoxa.searches.signals import ROWS, both_sides, evidence_of, exploring_of, hint_of, unseen_of, upload_key

FEATURES, _ = clusters(30)
STACKED = replace(FEATURES, stacks=np.array([0, 0, 0, *range(3, 30)]))  # p000, p001 and p002 are near-duplicates


def rows(state: State, features=FEATURES, points=None) -> list[tuple[int, float, float]]:
    found = evidence_of(state, features, points or {})
    return list(zip(found.rows.tolist(), found.y.tolist(), found.noise.tolist(), strict=True))


def test_marks_the_query_and_what_was_passed_over() -> None:
    state = State(query=Query(item="p004"), marks={"p001": 2, "p002": -1}, passed=("p001", "p005", "p006"))
    assert rows(state) == [(4, 1, 0.1), (1, 1, 0.1), (2, -0.5, 0.1), (5, -0.5, 1), (6, -0.5, 1)]
    assert rows(replace(state, settings=Settings(weak=False))) == [(4, 1, 0.1), (1, 1, 0.1), (2, -0.5, 0.1)]
    assert rows(State()) == []


def test_the_query_can_be_marked_otherwise() -> None:
    assert rows(State(query=Query(item="p004"), marks={"p004": -2})) == [(4, -1, 0.1)]
    assert rows(State(query=Query(item="p004"), passed=("p004",))) == [(4, 1, 0.1)]


def test_a_picture_from_outside() -> None:
    point = {group.name: group.values[3] for group in FEATURES.groups}
    state = State(query=Query(upload="s", crop=(0.0, 0.0, 0.5, 1.0)))
    found = evidence_of(state, FEATURES, {upload_key("s", (0, 0, 0.5, 1)): point})
    assert (found.rows.tolist(), found.outside) == ([-1], (point,))
    with pytest.raises(RefusedError, match="upload it again"):
        evidence_of(state, FEATURES, {upload_key("s"): point})


def test_at_most_160_rows_marks_first_then_the_newest() -> None:
    features, _ = clusters(400)
    marks = dict.fromkeys(features.items[:100], 1)
    state = State(marks=marks, passed=features.items[90:390])
    found = evidence_of(state, features, {})
    assert len(found) == ROWS
    assert found.rows.tolist() == [*range(100), *range(330, 390)]
    many = evidence_of(replace(state, marks=dict.fromkeys(features.items[:300], 1)), features, {})
    assert many.rows.tolist() == list(range(140, 300))
    with_query = replace(state, marks=dict.fromkeys(features.items[:300], 1), query=Query(item="p399"))
    assert evidence_of(with_query, features, {}).rows.tolist() == [399, *range(141, 300)]


def test_a_mark_goes_to_the_stack_and_the_last_one_counts() -> None:
    assert rows(State(marks={"p001": 2, "p005": 0, "p000": -2}), STACKED) == [(5, 0, 0.1), (0, -1, 0.1)]
    assert rows(State(marks={"p001": 2}, passed=("p000", "p002", "p007")), STACKED) == [(1, 1, 0.1), (7, -0.5, 1)]
    assert rows(State(query=Query(item="p000"), marks={"p002": 1}), STACKED) == [(2, 0.5, 0.1)]


def test_what_may_be_shown() -> None:
    state = State(seen=frozenset({"p003"}), marks={"p004": 1}, query=Query(item="p005"))
    assert np.flatnonzero(~unseen_of(state, FEATURES)).tolist() == [3, 4, 5]
    assert unseen_of(replace(state, show_seen=True), FEATURES).all()
    assert np.flatnonzero(~unseen_of(State(), STACKED)).tolist() == [1, 2], "the first of a stack stands for it"
    assert np.flatnonzero(~unseen_of(State(marks={"p002": 1}), STACKED)).tolist() == [0, 1, 2]


def test_words_and_sketches_are_hints() -> None:
    assert hint_of(Query(), FEATURES, {}) is None
    words = hint_of(Query(words="the kind2 thing"), FEATURES, {})
    assert words is not None
    assert words.max() == 1 and np.flatnonzero(words).tolist() == list(range(2, 30, 3))
    sketch = np.linspace(0, 1, 30)
    both = hint_of(Query(words="kind2", sketch="k"), FEATURES, {"k": sketch})
    assert both == pytest.approx((words > 0) * 0.5 + sketch / 2)
    assert hint_of(Query(words="kind2"), replace(FEATURES, words=()), {}) is None, "a collection without words"
    assert hint_of(Query(words="the of"), FEATURES, {}) is None, "stop words only"
    nothing = hint_of(Query(words="слово <script>"), FEATURES, {})
    assert nothing is not None and not nothing.any()
    with pytest.raises(RefusedError, match="draw it again"):
        hint_of(Query(sketch="gone"), FEATURES, {})
    assert hint_of(Query(sketch="k"), FEATURES, {"k": np.full(30, np.nan)}).tolist() == [0] * 30


def test_exploring_begins_with_the_second_page() -> None:
    assert exploring_of(State(), FEATURES) == 0
    assert exploring_of(State(submitted=True), FEATURES) == 8
    assert exploring_of(State(submitted=True, marks={"p001": 1}), FEATURES) == 4
    assert exploring_of(State(submitted=True, marks={"p000": 1, "p001": -1}), STACKED) == 8, "the last one counts"
    page = Shown(2, 1, ("p001", "p004"), ("best", "best"), (0.0, 0.0), (0.0, 0.0), (1.0, 1.0))
    assert exploring_of(State(submitted=True, marks={"p001": 1}, pages=(page,)), FEATURES) == 0, "half of it is liked"
    assert exploring_of(State(submitted=True, settings=Settings(explore=False)), FEATURES) == 0


def test_marks_on_both_sides() -> None:
    assert not both_sides(State(marks={"p004": 2, "p005": 0}), FEATURES)
    assert both_sides(State(marks={"p004": 2, "p005": -1}), FEATURES)
    assert not both_sides(State(marks={"p000": 2, "p001": -1}), STACKED), "one picture, the last mark counts"


def test_a_picture_that_was_removed_is_told() -> None:
    with pytest.raises(JoinError, match="'gone' is not in the collection"):
        evidence_of(State(marks={"gone": 1}), FEATURES, {})
