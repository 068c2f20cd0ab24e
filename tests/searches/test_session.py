"""A search as a fold over events: what each kind does, undo to any depth, forks, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import RefusedError
from endoxa.searches.session import ACTS, KINDS, Event, Query, State, before_page, checked, fold, forked, step

ITEMS = tuple("abcdefghij")


def start(**settings: Any) -> list[tuple[str, dict[str, Any]]]:
    return [("start", {"features": "f", "release": "1", "seed": 7, "prior": {"look/l1": 1.0}, "settings": settings})]


def page(*items: str, at: int = 1) -> tuple[str, dict[str, Any]]:
    many = len(items)
    columns = {"mean": [0.5] * many, "deviation": [0.1] * many, "propensity": [1.0] * many}
    return "shown", {"items": list(items), "slots": ["best"] * many, **columns, "round": at, "size": 4}


def events(*acts: tuple[str, dict[str, Any]]) -> list[Event]:
    return [Event(number, kind, checked(kind, detail)) for number, (kind, detail) in enumerate(acts, start=1)]


def after(*acts: tuple[str, dict[str, Any]]) -> State:
    return fold(events(*start(), *acts))


def mark(item: str, grade: int | None) -> tuple[str, dict[str, Any]]:
    return "mark", {"item": item, "grade": grade}


REFINE = ("refine", {"size": 4})


def test_the_last_mark_counts_and_a_mark_can_be_taken_away() -> None:
    state = after(page(*"abc"), mark("a", 2), mark("b", -1), mark("a", -2), mark("z", 1))
    assert dict(state.marks) == {"b": -1, "a": -2, "z": 1}
    assert list(state.marks) == ["b", "a", "z"], "in the order of marking"
    same = after(page(*"abc"), mark("a", 2), mark("b", -1), mark("a", 2))
    assert list(same.marks) == ["a", "b"], "the same mark again changes nothing"
    assert after(mark("a", 2), mark("a", None)).marks == {}


def test_refine_submits_the_page() -> None:
    state = after(page(*"abc"), mark("a", 2), REFINE)
    assert (state.passed, state.seen, state.due, state.submitted) == (("a", "b", "c"), {"a", "b", "c"}, True, True)
    assert state.round == 2
    again = fold(events(*start(), page(*"abc"), REFINE, page(*"cd", at=2), ("refine", {"size": 8})))
    assert again.passed == ("a", "b", "c", "d")
    assert again.size == 8
    assert after(page(*"abc"), REFINE, REFINE).passed == ("a", "b", "c"), "a page that was never shown is not seen"


def test_another_query_replaces_the_page_without_submitting_it() -> None:
    state = after(page(*"abc"), ("words", {"text": " red flower "}))
    assert (state.due, state.seen, state.passed) == (True, frozenset(), ())
    assert state.query == Query(words="red flower")
    state = after(("picture", {"upload": "s", "crop": [0, 0, 0.5, 1]}), ("sketch", {"sha": "k"}))
    assert state.query == Query(upload="s", crop=(0.0, 0.0, 0.5, 1.0), sketch="k")
    assert after(("picture", {"item": "a"}), ("picture", {})).query == Query()


def test_a_changed_mind_drops_marks_and_a_restart_what_was_seen() -> None:
    begun = [page(*"abc"), ("words", {"text": "x"}), mark("a", 2), ("pin", {"group": "look", "setting": "off"}), REFINE]
    shown = [page(*"abc"), *begun[1:4], page(*"de", at=2), REFINE, ("found", {"item": "d"})]
    state = after(*shown, ("forget", {}))
    assert (state.marks, state.passed, state.seen, state.query.words) == ({}, (), {"d", "e"}, "x")
    state = after(*shown, ("restart", {"keep": True}))
    assert (state.marks, state.passed, state.seen, state.pins) == ({"a": 2}, (), frozenset(), {"look": "off"})
    state = after(*shown, ("restart", {"keep": False}))
    assert (state.marks, state.query, state.pins, state.found) == ({}, Query(), {}, ("d",))


def test_pins_and_seen_ask_for_another_page() -> None:
    state = after(page("a"), ("pin", {"group": "look", "setting": 0.5}))
    assert (state.pins, state.due) == ({"look": 0.5}, True)
    assert after(("pin", {"group": "look", "setting": 0.5}), ("pin", {"group": "look", "setting": "auto"})).pins == {}
    assert after(page("a"), ("seen", {"show": True})).show_seen


def test_undo_takes_back_acts_with_their_pages() -> None:
    acts = [page(*"abc"), mark("a", 2), REFINE, page(*"def", at=2), mark("d", -1)]
    state = after(*acts, ("undo", {"n": 2}))
    before = after(*acts[:2])
    assert (state.page, state.marks, state.seen, state.due) == (before.page, before.marks, before.seen, before.due)
    assert state.number == 7
    assert after(*acts, ("undo", {"n": 3})).acts == 0
    with pytest.raises(RefusedError, match="nothing to undo") as refused:
        after(page(*"abc"), ("undo", {"n": 1}))
    assert refused.value.status == 409
    with pytest.raises(RefusedError, match="only 3 acts"):
        after(*acts, ("undo", {"n": 4}))
    with pytest.raises(RefusedError, match="nothing to undo"):
        after(*acts, ("undo", {"n": 3}), ("undo", {"n": 1}))


def test_the_page_rests_on_what_was_known_when_it_was_made() -> None:
    state = after(page(*"abc"), mark("a", 2), REFINE, page(*"def", at=2), mark("d", -1), mark("a", 0))
    assert dict(before_page(state).marks) == {"a": 2}
    assert before_page(state).due


def test_a_fork_begins_as_the_other_did_and_can_be_undone_past_its_beginning() -> None:
    first = events(*start(), page(*"abc"), mark("a", 2), REFINE, page(*"def", at=2), ("close", {}))
    copy = forked(first, "one", 3)
    assert [event.kind for event in copy] == ["start", "shown", "mark", "fork"]
    assert fold(copy).marks == {"a": 2}
    assert fold([*copy, Event(5, "undo", {"n": 1})]).marks == {}
    whole = fold(forked(first, "one", 6))
    assert not whole.closed, "a fork of a closed search goes on"
    for number in (0, 7):
        with pytest.raises(RefusedError, match="1 to 6"):
            forked(first, "one", number)


def test_a_closed_search_takes_nothing_more() -> None:
    with pytest.raises(RefusedError, match="closed"):
        after(("close", {}), mark("a", 1))


def test_a_search_begins_with_start_and_once() -> None:
    with pytest.raises(RefusedError, match="begins with the event start"):
        fold(events(mark("a", 1)))
    with pytest.raises(RefusedError, match="begins with the event start"):
        after(*start())


@pytest.mark.parametrize(
    ("kind", "detail"),
    [("dream", {}), ("shown", {"items": ["a"]}), ("mark", {"grade": 1}), ("refine", {}), ("undo", {})],
)
def test_an_event_of_another_release_or_a_damaged_one_is_told(kind: str, detail: dict[str, Any]) -> None:
    with pytest.raises(
        RefusedError, match=rf"event 2 of this search \('{kind}'\) is damaged.*update endoxa"
    ) as refused:
        step(after(mark("a", 1)), Event(2, kind, detail))
    assert refused.value.status == 422


def test_an_act_that_changes_nothing_is_not_undone() -> None:
    state = after(mark("a", 1), mark("a", 1), mark("b", None), ("found", {"item": "c"}), ("found", {"item": "c"}))
    assert state.acts == 2
    assert fold([Event(9, "undo", {"n": 1})], state).found == ()
    assert fold([Event(9, "undo", {"n": 2})], state).marks == {}


@pytest.mark.parametrize(
    ("kind", "detail", "words"),
    [
        ("mark", {"item": "a", "grade": 3}, "from -2 to 2, not 3"),
        ("mark", {"item": "a", "grade": -3}, "from -2 to 2"),
        ("mark", {"item": "a", "grade": math.nan}, "not nan"),
        ("mark", {"item": "a", "grade": math.inf}, "not inf"),
        ("mark", {"item": "a", "grade": 0.5}, "whole number"),
        ("mark", {"item": "a", "grade": True}, "not True"),
        ("mark", {"item": "a", "grade": "2"}, "not '2'"),
        ("mark", {"grade": 1}, "item of 'mark' is a text"),
        ("mark", {"item": "a\0b", "grade": 1}, "is a text"),
        ("marc", {}, "did you mean mark"),
        ("mark", [1], "an object"),
        ("refine", {"size": 0}, "from 1 to 200"),
        ("refine", {"size": 5000}, "from 1 to 200"),
        ("words", {"text": "x" * 10_000}, "10,000 characters"),
        ("words", {"text": 4}, "is a text"),
        ("picture", {"item": "a", "upload": "b"}, "not both"),
        ("picture", {"upload": "b", "crop": [0, 0, 2, 1]}, "from 0 to 1"),
        ("picture", {"upload": "b", "crop": [0, 0, math.nan, 1]}, "from 0 to 1"),
        ("picture", {"upload": "b", "crop": [0.5, 0, 0.5, 1]}, "no area"),
        ("picture", {"upload": "b", "crop": "all"}, "four numbers"),
        ("pin", {"group": "look", "setting": 0}, "auto, off or a weight"),
        ("pin", {"group": "look", "setting": 2}, "auto, off or a weight"),
        ("pin", {"group": "look", "setting": math.nan}, "auto, off or a weight"),
        ("pin", {"group": "look", "setting": None}, "auto, off or a weight"),
        ("seen", {"show": "yes"}, "true or false"),
        ("explore", {"on": 1}, "true or false"),
        ("view", {"items": []}, "1 to 200 items"),
        ("view", {"items": ["a"] * 201}, "1 to 200 items"),
        ("view", {"items": [3]}, "is a text"),
        ("undo", {"n": 0}, "from 1"),
        ("fork", {"search": "x", "number": 0}, "from 1"),
        ("shown", {"items": ["a"]}, "has lists"),
        ("shown", page("a")[1] | {"mean": []}, "different lengths"),
        ("shown", page("a")[1] | {"slots": ["worst"]}, "not as 'worst'"),
        ("start", {"settings": {"sise": 3}}, "did you mean size"),
        ("start", {"settings": {"weak": 1}}, "true or false"),
        ("start", {"settings": 3}, "names with values"),
        ("start", {"prior": {"look/l1": math.nan}}, "positive number"),
        ("found", {"item": "a", "active_seconds": -1}, "active_seconds"),
        ("found", {"item": "a", "active_seconds": math.nan}, "active_seconds"),
        ("found", {"item": "a", "method": "thought"}, "method is one of"),
    ],
)
def test_what_no_event_may_say(kind: str, detail: Any, words: str) -> None:
    with pytest.raises(RefusedError, match=words) as refused:
        checked(kind, detail)
    assert refused.value.status == 422


def test_what_an_event_does_not_know_is_dropped_and_how_it_was_made_is_kept() -> None:
    assert checked("mark", {"item": "a", "grade": 1.0, "extra": 3}) == {"item": "a", "grade": 1}
    kept = checked("forget", {"active_seconds": 3, "method": "touch"})
    assert kept == {"active_seconds": 3.0, "method": "touch"}
    assert set(ACTS) < set(KINDS)


acts = st.lists(
    st.one_of(
        st.tuples(st.just("mark"), st.fixed_dictionaries({
            "item": st.sampled_from(ITEMS), "grade": st.one_of(st.none(), st.integers(-2, 2))})),
        st.just(REFINE),
        st.just(("forget", {})),
        st.just(("words", {"text": "red"})),
        st.tuples(st.just("found"), st.fixed_dictionaries({"item": st.sampled_from(ITEMS)})),
        st.tuples(st.just("restart"), st.fixed_dictionaries({"keep": st.booleans()})),
        st.builds(lambda items: page(*items), st.lists(st.sampled_from(ITEMS), unique=True, max_size=4)),
        st.tuples(st.just("undo"), st.fixed_dictionaries({"n": st.integers(1, 5)})),
    ),
    max_size=25,
)  # fmt: skip


def bare(state: State) -> dict[str, Any]:
    """All but the number and the history."""
    return {name: value for name, value in vars(state).items() if name not in {"number", "trail"}}


@given(acts, st.integers(1, 6))
def test_undo_is_the_fold_of_what_came_before(given_acts: list[tuple[str, dict[str, Any]]], n: int) -> None:
    """Undoing n acts equals never having done them, whatever was undone before. Events are never changed."""
    state = fold(events(*start()))
    live: list[tuple[Event, bool]] = []  # with whether it is an act that changed something
    for number, (kind, detail) in enumerate(given_acts, start=2):
        event = Event(number, kind, checked(kind, detail))
        try:
            new = step(state, event)
        except RefusedError:
            continue
        if kind == "undo":
            for _ in range(detail["n"]):
                while not live.pop()[1]:
                    pass
            assert bare(new) == bare(fold([*events(*start()), *(event for event, _ in live)]))
        else:
            live.append((event, new.acts > state.acts))
            assert new.acts > state.acts or kind not in ACTS or bare(new) == bare(state)
        state = new
    if state.acts >= n:
        undone = step(state, Event(999, "undo", {"n": n}))
        assert (undone.acts, undone.number) == (state.acts - n, 999)
        assert step(state, Event(999, "undo", {"n": state.acts})).marks == {}
