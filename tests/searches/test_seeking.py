"""Searches from beginning to end: pages, undo, forks, replay, odd people and odd collections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_samples import clusters

from endoxa.errors import RefusedError
from endoxa.searches.arms import Features, group_of
from endoxa.searches.priors import Counts
from endoxa.searches.seeking import Search, replay, standing_for
from endoxa.searches.session import Event, Settings

FEATURES, KIND = clusters(90)
SMALL = Settings(size=6)


def begun(features: Features = FEATURES, **more: Any) -> Search:
    return Search(features, settings=more.pop("settings", SMALL), **more)


def names(search: Search) -> tuple[str, ...]:
    assert search.page is not None
    return search.page.items


def kinds(search: Search) -> list[int]:
    return [int(KIND[FEATURES.place[item]]) for item in names(search)]


def exactly(search: Search) -> str:
    outcome = replay(search.features, search.events, points=search.points, hints=search.hints)
    return str(outcome)


def test_marks_bring_more_of_the_same() -> None:
    search = begun()
    page = search.show()
    assert page.slots == ("map",) * 6 and np.isnan(page.mean).all()
    assert set(kinds(search)) == {0, 1, 2}, "a search without a query begins with a bit of everything"
    assert set(search.expected.values()) == {None}
    for place in page.places:
        search.mark(int(place), 2 if KIND[place] == 1 else -2)
    search.refine()
    assert kinds(search).count(1) >= 4
    assert not set(names(search)) & set(search.rounds[0].items), "seen pictures do not return"
    assert all(-2 <= (value or 0) <= 2 for value in search.expected.values())
    assert search.weights["look"] + search.weights["layout"] > search.weights["colours"]
    assert exactly(search) == "replays exactly: 2 pages"


def test_a_few_stand_for_all() -> None:
    every = np.ones(90, np.bool_)
    found = standing_for(FEATURES, every, 3, rng=np.random.default_rng(1))
    assert sorted(KIND[found]) == [0, 1, 2]
    assert found.tolist() == standing_for(FEATURES, every, 3, rng=np.random.default_rng(1)).tolist()
    some = standing_for(FEATURES, KIND > 0, 10, rng=np.random.default_rng(1))
    assert len(set(some.tolist())) == 10 and (KIND[some] > 0).all()
    values = FEATURES.groups[0].values.copy()
    values[:85] = np.nan  # only five pictures have numbers; they come first
    poor = Features(FEATURES.items, (group_of("look", values),))
    assert standing_for(poor, every, 7, rng=np.random.default_rng(1)).tolist() == [89, 88, 87, 86, 85, 84, 83]
    same = Features(tuple("abcd"), (group_of("look", np.ones((4, 2), np.float32)),))
    assert standing_for(same, np.ones(4, np.bool_), 2, rng=np.random.default_rng(0)).tolist() == [3, 2]


def test_show_is_asked_twice_and_gives_the_same() -> None:
    search = begun()
    one, two = search.show(), search.show()
    assert one.places.tolist() == two.places.tolist() and len(search.events) == 2
    assert repr(search) == "<search 'search': round 1, 0 marks, 0 found, 90 of 90 pictures left>"
    assert one.slots == two.slots


def test_a_picture_as_query_has_no_exploring_places_and_is_not_shown() -> None:
    search = begun()
    page = search.picture("p004")
    assert page.slots == ("best",) * 6 and 4 not in page.places
    assert kinds(search) == [1] * 6
    search.mark(names(search)[0], 1)
    assert search.refine().slots == ("best",) * 5 + ("explore",), "one fifth explores"
    point = {group.name: group.values[4] for group in FEATURES.groups}
    outside = begun()
    outside.picture(point)
    assert outside.page is not None and outside.page.items[0] == "p004", "from outside the picture itself is found"
    assert exactly(outside) == "replays exactly: 1 page"
    assert outside.picture(None).slots == ("map",) * 6


def test_words_and_a_sketch() -> None:
    search = begun()
    search.words("kind2")
    assert kinds(search) == [2] * 6
    search.sketch(np.where(KIND == 0, 0.9, 0.0))
    search.words("")
    assert kinds(search) == [0] * 6
    assert search.notes == ()
    search.words("словарь")
    (note,) = search.notes
    assert note.startswith("No picture has the word 'словарь'; frequent words here: kind") and "a manifest." in note
    search.words("the of")
    assert search.notes == ("These words say nothing about a picture; try others.",)
    assert exactly(search).startswith("replays exactly")
    silent = begun(replace(FEATURES, words=()))
    assert silent.words("kind2").slots == ("map",) * 6
    assert silent.notes[0].startswith("This collection has no words; the words are not used. Words come from the names")


def test_a_view_of_the_map_becomes_a_page() -> None:
    search = begun()
    search.show()
    page = search.view(["p003", 8, "p005", "p003"])
    assert page.places.tolist() == [3, 8, 5] and set(page.slots) == {"map"}
    search.mark("p005", 2)
    assert [event.kind for event in search.events][-3:] == ["view", "shown", "mark"]
    search.refine()
    assert search.state.passed == ("p003", "p008", "p005")
    assert kinds(search).count(2) >= 4
    with pytest.raises(RefusedError, match="no picture 'p999'"):
        search.view(["p999"])
    assert exactly(search) == "replays exactly: 3 pages"
    assert search.undo(3).slots == ("map",) * 6


def test_exploring_is_switched_off_and_on() -> None:
    search = begun()
    search.picture("p004")
    search.mark(names(search)[0], 1)
    assert "explore" in search.refine().slots
    assert "explore" not in search.explore(False).slots
    assert "explore" not in search.refine().slots
    assert "explore" in search.explore().slots
    assert exactly(search).startswith("replays exactly")


def test_undo_restores_the_page_exactly() -> None:
    search = begun()
    pages = [search.show()]
    for grade in (2, -1, 0):
        search.mark(names(search)[0], grade)
        pages.append(search.refine())
    for page in pages[-2::-1]:
        undone = search.undo(2)
        for name in ("places", "mean", "deviation", "propensity"):
            np.testing.assert_array_equal(getattr(undone, name), getattr(page, name))
    with pytest.raises(RefusedError, match="nothing to undo"):
        search.undo()
    search.mark(names(search)[0], 2)
    again = search.refine()
    assert again.places.tolist() == pages[1].places.tolist(), "the same act again gives the same page"
    assert exactly(search) == "replays exactly: 5 pages", "also those that were undone"


def test_a_resumed_search_goes_on_as_the_first() -> None:
    one = begun(seed=5)
    one.show()
    one.mark(names(one)[1], 2)
    two = Search(FEATURES, one.events)
    assert one.refine().places.tolist() == two.refine().places.tolist()
    assert one.why("p010") == two.why("p010")
    three = Search(FEATURES, one.events)
    assert three.why("p010") == one.why("p010"), "also where the model must be fitted again"


def test_a_fork_does_not_touch_the_first() -> None:
    one = begun(name="one")
    one.show()
    one.mark("p001", 2)
    number = one.state.number
    one.refine()
    two = one.fork(number)
    assert two.events[-1].detail == {"search": "one", "number": number}
    assert two.refine().places.tolist() == one.show().places.tolist()
    two.mark("p002", -2)
    assert "p002" not in one.marks
    two.undo(3)
    assert two.marks == {}, "past the fork"
    assert exactly(two).startswith("replays exactly")


def test_why_adds_up_to_the_expected_mark_of_the_page() -> None:
    search = begun()
    search.words("kind1")
    search.mark("p001", 2)
    search.mark("p002", -2)
    search.refine()
    assert search.page is not None
    item, mean = search.page.items[0], search.page.mean[0]
    search.mark(item, -2)  # a later mark does not change why it was shown
    reason = search.why(item)
    assert reason.base + sum(reason.groups.values()) + reason.hint == pytest.approx(mean, abs=1e-9)
    assert reason.expected == pytest.approx(search.expected[item], abs=1e-9)
    assert {"p001", "p002"} <= {item for item, _ in reason.examples}
    assert [value > 0 for _, value in reason.pulls] == sorted((value > 0 for _, value in reason.pulls), reverse=True)
    with pytest.raises(RefusedError, match="mark a picture first"):
        begun().why("p001")


def test_a_changed_mind() -> None:
    search = begun()
    search.show()
    search.mark("p001", 2)
    search.refine()
    assert search.forget().slots == ("map",) * 6
    assert not set(names(search)) & set(search.rounds[0].items)
    search.mark("p001", 2)
    search.restart(keep=True)
    assert search.marks == {"p001": 2} and search.left == 89
    search.restart()
    assert search.marks == {} and search.left == 90


@pytest.mark.parametrize("grade", [0, -2, 2])
def test_all_marks_equal(grade: int) -> None:
    search = begun()
    for _ in range(4):
        for place in search.show().places:
            search.mark(int(place), grade)
        page = search.refine()
        assert len(page) == 6 and np.isfinite(page.mean).all()
    assert exactly(search) == "replays exactly: 5 pages"


def test_contradictions_the_last_mark_counts() -> None:
    stacked = replace(FEATURES, stacks=np.array([0, 0, *range(2, 90)]))
    search = begun(stacked)
    search.show()
    for grade in (2, -2, 2):
        for item in ("p000", "p001"):
            search.mark(item, -grade if item == "p001" else grade)
    search.refine()
    other = begun(stacked)
    other.show()
    other.mark("p001", -2)
    other.refine()
    assert names(search) == names(other)


def test_refine_with_nothing_new_gives_the_next_page() -> None:
    search = begun(settings=Settings(size=6, weak=False, explore=False))
    search.picture("p004")
    long = begun(settings=Settings(size=12, weak=False, explore=False))
    long.picture("p004")
    first = names(search)
    search.refine()
    assert (*first, *names(search)) == names(long), "the same ranking goes on"
    nothing = begun()
    seen = [*nothing.show().places]
    for _ in range(3):
        seen += [*nothing.refine().places]
    assert len(set(seen)) == 24


@pytest.mark.parametrize("count", [0, 1, 3])
def test_tiny_collections(count: int) -> None:
    whole, _ = clusters(3)
    groups = tuple(group_of(group.name, group.values[:count]) for group in whole.groups)
    features = Features(whole.items[:count], groups, whole.words[:count], f"tiny{count}")
    search = begun(features)
    assert len(search.show()) == count
    if count:
        search.mark(0, 2)
    assert len(search.refine()) == 0
    told = "The collection has no pictures." if not count else "You have seen all pictures. Show seen pictures again, "
    assert search.notes[0].startswith(told)
    assert len(search.show_seen()) == count
    assert exactly(search).startswith("replays exactly")


def test_all_pictures_are_the_same() -> None:
    same = Features(tuple("abcdefgh"), (group_of("layout", np.ones((8, 3), np.float32)),))
    search = begun(same)
    search.picture("a")
    assert names(search) == tuple("hgfedc"), "ties go by name, descending"
    search.mark("h", 2)
    assert len(search.refine()) == 1


def test_every_group_off_is_refused() -> None:
    search = begun()
    search.pin("look", "off")
    search.pin("layout", "off")
    with pytest.raises(RefusedError, match="last group") as refused:
        search.pin("colours", "off")
    assert refused.value.status == 422
    with pytest.raises(RefusedError, match="no group of features is called 'shape'"):
        search.pin("shape", "off")
    search.mark("p001", 2)
    search.refine()
    assert search.weights["colours"] == 1
    assert [(one.name, one.setting) for one in search.groups] == [
        ("look", "off"), ("colours", "auto"), ("layout", "off")
    ]  # fmt: skip
    search.pin("look", 0.25)
    assert search.weights == {"look": 0.25, "colours": 0.75}


def test_what_is_not_in_the_collection_is_refused() -> None:
    search = begun()
    for item in ("../etc/passwd", "p999", -1, 90):
        with pytest.raises(RefusedError) as refused:
            search.mark(item, 1)
        assert refused.value.status == 422
    with pytest.raises(RefusedError, match="from -2 to 2"):
        search.mark("p001", 3)
    with pytest.raises(RefusedError, match="values for 90 pictures"):
        search.sketch(np.zeros(3))
    assert len(search.events) == 1, "nothing of it happened"


def test_five_thousand_marks() -> None:
    search = begun()
    for number in range(5000):
        search.mark(number % 80, (number // 80) % 5 - 2)
    assert len(search.show()) == 6
    search.undo(4990)
    assert len(search.marks) == 10


def test_a_collection_that_changed_can_be_looked_at_only() -> None:
    search = begun()
    search.show()
    search.mark("p001", 2)
    changed = Search(replace(FEATURES, digest="other"), search.events)
    assert changed.marks == {"p001": 2} and names(changed) == names(search)
    assert "has changed" in changed.notes[0]
    for act in (changed.refine, lambda: changed.mark("p001", 0), lambda: changed.why("p001")):
        with pytest.raises(RefusedError, match="has changed since") as refused:
            act()
        assert refused.value.status == 409


def test_who_stores_events_may_refuse_them() -> None:
    kept: list[Event] = []

    def keep(event: Event) -> None:
        if event.kind == "mark":
            raise RefusedError("another tab went on")
        kept.append(event)

    search = begun(keep=keep, clock=lambda: 12.5)
    search.show()
    with pytest.raises(RefusedError, match="another tab"):
        search.mark("p001", 2)
    assert search.marks == {} and [event.kind for event in kept] == ["start", "shown"]
    assert {event.at for event in kept} == {12.5}


def test_an_audit_tile_has_its_propensity() -> None:
    search = begun(settings=Settings(size=6, audit=True))
    page = search.picture("p004")
    assert page.slots[-1] == "audit"
    assert page.propensity[-1] == 1 / 84
    search.mark(names(search)[-1], 1)
    search.mark("p080", -1)
    frame = search.opinions("ana").frame
    assert frame["selected_by"].to_list() == ["audit", "browse"]
    assert frame["propensity"].to_list() == [1 / 84, None]
    assert exactly(search) == "replays exactly: 1 page"


def test_exports() -> None:
    search = begun(name="s1")
    search.picture("p004")
    search.mark("p001", 2)
    search.mark("p002", -2)
    search.refine()
    search.found("p007")
    search.found("p001")
    opinions = search.opinions("ana").frame
    assert opinions.select("source", "query", "item", "grade", "scale").rows() == [
        ("ana", "s1", "p001", 4.0, "0-4"), ("ana", "s1", "p002", 0.0, "0-4"), ("ana", "s1", "p007", 4.0, "0-4")
    ]  # fmt: skip
    run = search.run()
    assert run.systems == ["round-01", "round-02"]
    assert run.frame["item"].to_list() == [item for page in search.rounds for item in page.items]
    assert search.answers("ana").frame["item"].to_list() == ["p007", "p001"]
    empty = begun()
    assert (len(empty.opinions()), len(empty.run()), len(empty.answers())) == (0, 0, 0)


def test_the_lesson_of_a_search() -> None:
    search = begun()
    search.show()
    search.mark("p001", 2)
    assert search.lesson() is None
    for item, grade in (("p004", 2), ("p002", -2), ("p005", -1), ("p007", 1)):
        search.mark(item, grade)
    lesson = search.lesson()
    assert lesson is not None and set(lesson) == set(FEATURES.arms)
    assert lesson["look", "cosine"] > lesson["colours", "l1"]
    counts = Counts.start(FEATURES).add(lesson)
    later = begun(counts=counts)
    assert later.state.prior["look/cosine"] > search.state.prior["look/cosine"] or lesson["look", "cosine"] < 0.6375
    drawn = begun(settings=Settings(thompson=True), seed=3)
    assert drawn.events[0].detail["chances"].keys() == {"look", "colours", "layout"}
    assert drawn.state.prior != search.state.prior
    with pytest.raises(RefusedError, match="no learner is called 'oracle'"):
        begun(settings=Settings(learner="oracle"))


def test_a_replay_says_what_differs_and_why() -> None:
    search = begun()
    search.show()
    search.mark("p001", 2)
    search.refine()
    events = list(search.events)
    other, _ = clusters(90, seed=4)
    assert "round 1 differs" in str(replay(other, events)) and "indexed anew" in str(replay(other, events))
    start = replace(events[0], detail={**events[0].detail, "release": "0.0.1"})
    changed = replace(events[-1], detail={**events[-1].detail, "mean": [0.5] * 6})
    outcome = replay(FEATURES, [start, *events[1:-1], changed])
    assert not outcome.exact and outcome.round == 2
    assert "mean of place 1 was 0.5" in outcome.why and "release 0.0.1 then" in outcome.why
    assert "please report" in replay(FEATURES, [*events[:-1], changed]).why
    fewer = Features(FEATURES.items[2:], (group_of("look", FEATURES.groups[0].values[2:]),), (), "fewer")
    assert "cannot be computed again" in replay(fewer, [events[0], *events[2:]]).why
    with_point = begun()
    with_point.picture({group.name: group.values[4] for group in FEATURES.groups}, sha="s")
    gone = str(replay(FEATURES, with_point.events))
    assert "upload it again" in gone and "report" not in gone


def test_a_page_of_a_very_large_collection_does_not_depend_on_what_was_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a pool: what was liked and taken back is gone from it."""
    from endoxa.searches import candidates

    monkeypatch.setattr(candidates, "ALL", 20)
    monkeypatch.setattr(candidates, "BACKGROUND", 10)
    monkeypatch.setattr("endoxa.searches.kernels.NEAREST", 7)
    search = begun(seed=2)
    search.show()
    for item in (0, 1, 2):
        search.mark(item, 2)
        search.refine()
        search.undo(2)
    search.words("kind1")
    search.words("")
    search.mark(4, 2)
    search.refine()
    assert len(names(search)) == 6
    assert exactly(search).startswith("replays exactly")
    resumed = Search(FEATURES, search.events)
    assert resumed.refine().places.tolist() == search.refine().places.tolist()


acts = st.lists(
    st.one_of(
        st.tuples(st.just("mark"), st.integers(0, 29), st.sampled_from([None, -2, -1, 0, 1, 2])),
        st.tuples(st.just("refine"), st.integers(1, 8)),
        st.tuples(st.just("undo"), st.integers(1, 4)),
        st.tuples(st.just("words"), st.sampled_from(["", "kind1", "none", "kind0 kind2"])),
        st.tuples(st.just("picture"), st.one_of(st.none(), st.integers(0, 29))),
        st.tuples(st.just("pin"), st.sampled_from(["look", "colours"]), st.sampled_from(["auto", "off", 0.3, 1.0])),
        st.tuples(st.just("show_seen"), st.booleans()),
        st.tuples(st.just("forget")),
        st.tuples(st.just("explore"), st.booleans()),
        st.tuples(st.just("view"), st.lists(st.integers(0, 29), min_size=1, max_size=4)),
    ),
    max_size=14,
)
FEW, _ = clusters(30)


@settings(max_examples=40)
@given(acts, st.integers(0, 3), st.booleans())
def test_whatever_a_person_does_it_replays_exactly(given_acts: list[tuple[Any, ...]], seed: int, audit: bool) -> None:
    search = Search(FEW, settings=Settings(size=5, audit=audit), seed=seed)
    search.show()
    for name, *arguments in given_acts:
        try:
            getattr(search, name)(*arguments)
        except RefusedError as refused:
            assert "undo" in str(refused) or "acts" in str(refused)
        search.show()
    assert replay(FEW, search.events).exact
    resumed = Search(FEW, search.events)
    assert (resumed.marks, resumed.rounds, resumed.left) == (search.marks, search.rounds, search.left)
    assert search.refine().places.tolist() == resumed.refine().places.tolist()
