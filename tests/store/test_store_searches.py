"""Searches in both databases: events that are only added, two tabs, links, forks, and what searches teach."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from store_samples import DAY, NOW, fresh

from endoxa.errors import RefusedError
from endoxa.searches.arms import Features, group_of
from endoxa.searches.seeking import Search, replay, start_detail
from endoxa.searches.session import Event, Settings, fold
from endoxa.store import people, searches
from endoxa.store import schema as s
from endoxa.store.home import Home

RNG = np.random.default_rng(3)
FEATURES = Features(
    tuple(f"p {number}\n" for number in range(40)),
    (
        group_of("look", RNG.normal(size=(40, 4)).astype(np.float32)),
        group_of("colours", RNG.integers(1, 9, (40, 5)).astype(np.uint8)),
    ),
    (),
    "digest",
)


def begun(place: Home, **more: Any) -> searches.Record:
    collection = more.pop("collection", None) or fresh("photos")
    start = start_detail(FEATURES, settings=Settings(size=5), seed=more.pop("seed", 0))
    with place.store.writing() as connection:
        return searches.begin(connection, start, collection=collection, **more, now=NOW)


def opened(place: Home, record: searches.Record) -> Search:
    """The search as a server has it: every event is a transaction of its own."""
    with place.store.reading() as connection:
        events = searches.events(connection, record)

    def keep(event: Event) -> None:
        key = event.key or str(uuid.uuid4())
        with place.store.writing() as connection:
            searches.append(connection, record, key, event.number - 1, event)

    return Search(FEATURES, events, name=record.name, keep=keep, clock=lambda: NOW)


def person(place: Home, nickname: str | None = None) -> tuple[int, str]:
    """Somebody who came by the open link: the number of their invitation, and their personal token."""
    with place.store.writing() as connection:
        _, token = people.invite(connection, place.key, None, "searcher", now=NOW)
        found = people.invitation_of(connection, place.key, token)
        secret, own = searches.join(connection, place.key, found, nickname or fresh("ana"), now=NOW)
        visitor = people.visitor_of(connection, secret, now=NOW)
    assert visitor is not None and own is not None
    return visitor.invitation_id, own


def stored(place: Home, record: searches.Record) -> list[Event]:
    with place.store.reading() as connection:
        return searches.events(connection, record)


def mark(item: int = 1, grade: int = 2) -> Event:
    return Event(0, "mark", {"item": FEATURES.items[item], "grade": grade}, at=NOW)


def test_a_stored_search_is_resumed_and_replays_exactly(place: Home) -> None:
    record = begun(place)
    search = opened(place, record)
    search.show()
    for item, grade in ((3, 2), (4, -1)):
        search.mark(item, grade)
        search.refine()
    search.undo()
    events = stored(place, record)
    assert [(one.number, one.kind, one.detail) for one in events] == [
        (one.number, one.kind, one.detail) for one in search.events
    ]
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert replay(FEATURES, events).exact, "numbers come back bit for bit"
    assert opened(place, record).refine().places.tolist() == search.fork().refine().places.tolist()
    assert stored(place, record)[-2].kind == "refine"
    with place.store.reading() as connection:
        assert [event.kind for event in searches.events(connection, record, after=len(events))] == ["refine", "shown"]


def test_the_same_key_again_changes_nothing(place: Home) -> None:
    record, key = begun(place), str(uuid.uuid4())
    with place.store.writing() as connection:
        first = searches.append(connection, record, key, 1, mark())
        again = searches.append(connection, record, key, 1, mark())
        assert first == again and first.number == 2
        with pytest.raises(RefusedError, match="belongs to another event"):
            searches.append(connection, record, key, 2, Event(0, "refine", {"size": 5}))
    assert len(stored(place, record)) == 2
    other = begun(place)
    with place.store.writing() as connection:
        searches.append(connection, other, key, 1, mark())  # the key of another search is another key


def test_another_tab_went_on(place: Home) -> None:
    record = begun(place)
    with place.store.writing() as connection:
        searches.append(connection, record, "one", 1, mark())
    for after in (0, 1, 3):
        with (
            pytest.raises(RefusedError, match="went on elsewhere: its last event is 2") as refused,
            place.store.writing() as connection,
        ):
            searches.append(connection, record, "two", after, mark())
        assert refused.value.status == 409


def test_of_many_at_once_one_is_added(place: Home) -> None:
    record = begun(place)

    def send(number: int) -> str:
        try:
            with place.store.writing() as connection:
                searches.append(connection, record, f"key-{number % 4}", 1, mark(number % 4))
        except RefusedError as refused:
            return str(refused.status)
        return "added"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(send, range(16)))
    events = stored(place, record)
    assert len(events) == 2
    winner = events[1].key
    assert [outcome == "added" for outcome in outcomes] == [f"key-{number % 4}" == winner for number in range(16)]


@pytest.mark.parametrize("key", ["", "x" * 37])
def test_a_key_is_a_uuid(place: Home, key: str) -> None:
    record = begun(place)
    with pytest.raises(RefusedError, match="use a UUID"), place.store.writing() as connection:
        searches.append(connection, record, key, 1, mark())


def test_what_does_not_fit_is_not_stored(place: Home) -> None:
    record = begun(place)
    for kind, detail in (("mark", {"item": "a", "grade": 3}), ("dream", {}), ("mark", {"item": "a", "grade": np.nan})):
        with pytest.raises(RefusedError) as refused, place.store.writing() as connection:
            searches.append(connection, record, "k", 1, Event(0, kind, detail))
        assert refused.value.status == 422
    assert len(stored(place, record)) == 1


@pytest.mark.parametrize("statement", ["update search_events set kind = 'x'", "delete from search_events"])
def test_events_are_only_added_to(place: Home, statement: str) -> None:
    begun(place)
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), place.store.writing() as connection:
        connection.execute(sa.text(statement))


def test_a_search_is_begun_once_per_click(place: Home) -> None:
    ana, _ = person(place)
    start, key = start_detail(FEATURES), str(uuid.uuid4())

    def click(_: int) -> str:
        with place.store.writing() as connection:
            return searches.begin(
                connection, start, collection="c", owner=ana, key=key, title=" my  dog ", now=NOW
            ).name

    with ThreadPoolExecutor(4) as pool:
        names = set(pool.map(click, range(6)))
    assert len(names) == 1
    with place.store.reading() as connection:
        [record] = searches.listed(connection, owner=ana)
    assert (record.title, record.collection, record.features) == ("my dog", "c", "digest")


def test_anothers_search_does_not_exist(place: Home) -> None:
    ana, ben = person(place)[0], person(place)[0]
    record = begun(place, owner=ana)
    with place.store.reading() as connection:
        assert searches.owned(connection, record.name, ana) == record
        for name in (record.name, "none"):
            with pytest.raises(RefusedError, match="no such search") as refused:
                searches.owned(connection, name, ben)
            assert refused.value.status == 404
        assert searches.listed(connection, owner=ben) == []
        assert searches.listed(connection, collection=record.collection) == [record]
        with pytest.raises(RefusedError, match="no search is called 'none'"):
            searches.find(connection, "none")


def test_an_open_link_lets_several_people_in_each_by_a_name_of_their_own(place: Home) -> None:
    with place.store.writing() as connection:
        _, token = people.invite(connection, place.key, None, "searcher", now=NOW)
    name = fresh("Zoë")

    def come(nickname: str, link: str = token, now: float = NOW) -> tuple[people.Visitor, str | None]:
        with place.store.writing() as connection:
            found = people.invitation_of(connection, place.key, link)
            secret, own = searches.join(connection, place.key, found, nickname, now=now)
            visitor = people.visitor_of(connection, secret, now=now)
        assert visitor is not None
        return visitor, own

    zoe, own = come(name)
    ben, _ = come(fresh("ben"))
    assert zoe.role == ben.role == "searcher" and zoe.invitation_id != ben.invitation_id
    assert (zoe.nickname, zoe.study_id) == (name, None)
    assert own is not None and come("", own)[0] == zoe, "the personal link opens the same person's searches"
    for taken in (name, name.upper()):
        with pytest.raises(RefusedError, match="is taken") as refused:
            come(taken)
        assert refused.value.status == 422
    with pytest.raises(RefusedError, match="at least one letter"):
        come(" \u200b ")
    with pytest.raises(RefusedError, match="expired"):
        come("late", now=NOW + 31 * DAY)
    with pytest.raises(RefusedError, match="invited as judge, participant, organiser, not as 'searcher'"):
        from store_samples import study_of

        study = study_of(place, main=1)
        with place.store.writing() as connection:
            people.invite(connection, place.key, study, "searcher", now=NOW)


def test_a_shared_search_is_shown_and_nothing_else(place: Home) -> None:
    record, other = begun(place), begun(place)
    with place.store.writing() as connection:
        token = searches.share(connection, place.key, record, now=NOW)
        found = people.invitation_of(connection, place.key, token)
        for _ in range(2):  # several people may look
            secret, own = searches.join(connection, place.key, found, "", now=NOW)
            visitor = people.visitor_of(connection, secret, now=NOW)
            assert visitor is not None and visitor.role == "viewer" and own is None
        assert searches.shared(connection, record.name, visitor.invitation_id) == record
        assert searches.shown_to(connection, visitor.invitation_id) == record.name
        with pytest.raises(RefusedError, match="no such search"):
            searches.shared(connection, other.name, visitor.invitation_id)
        with pytest.raises(RefusedError, match="no such search"):
            searches.owned(connection, record.name, visitor.invitation_id)


def test_a_fork_is_another_search(place: Home) -> None:
    ana, ben = person(place)[0], person(place)[0]
    record = begun(place, owner=ana, title="dogs")
    search = opened(place, record)
    search.show()
    search.mark(3, 2)
    number = search.state.number
    search.refine()
    key = str(uuid.uuid4())
    with place.store.writing() as connection:
        copy = searches.fork(connection, record, number, owner=ben, key=key, now=NOW + 5)
        assert searches.fork(connection, record, number, owner=ben, key=key, now=NOW + 9) == copy, "clicked twice"
        with pytest.raises(RefusedError, match="cannot be forked at 99"):
            searches.fork(connection, record, 99, owner=ben, now=NOW)
    assert (copy.forked, copy.owner, copy.title) == (record.name, ben, "dogs")
    events = stored(place, copy)
    assert events[-1].kind == "fork" and fold(events).marks == {FEATURES.items[3]: 2}
    again = opened(place, copy)
    assert again.refine().places.tolist() == search.show().places.tolist()
    assert len(stored(place, record)) == len(search.events)
    with place.store.reading() as connection:
        assert searches.following_key(record, 3) != searches.following_key(copy, 3)


def taught(place: Home, collection: str) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
    with place.store.reading() as connection:
        found, notes = searches.counts(connection, collection, FEATURES)
    return {"/".join(arm): pair for arm, pair in found.of.items()}, notes


def test_a_search_teaches_later_ones_once(place: Home) -> None:
    record = begun(place)
    assert taught(place, record.collection)[0]["look/cosine"] == (2.55, 1.45)
    search = opened(place, record)
    search.show()
    for item, grade in ((1, 2), (2, 1), (3, -2), (4, -1)):
        search.mark(item, grade)
    search.close()
    lesson = search.lesson()
    assert lesson is not None
    for expected in (True, False):
        with place.store.writing() as connection:
            assert searches.teach(connection, record, lesson, now=NOW) is expected
    found, notes = taught(place, record.collection)
    assert notes == ()
    for arm, share in lesson.items():
        above, below = (2.55, 1.45) if arm[0] == "look" else (2.0, 2.0)
        assert found["/".join(arm)] == pytest.approx((above + share, below + 1 - share))
    second = begun(place, collection=record.collection)
    with place.store.writing() as connection:
        assert searches.teach(connection, second, {("look", "cosine"): 1.0}, now=NOW)
        assert not searches.teach(connection, second, None, now=NOW)
    assert taught(place, record.collection)[0]["look/cosine"][0] == pytest.approx(found["look/cosine"][0] + 1)
    with place.store.writing() as connection:
        assert searches.reset(connection, record.collection) == len(lesson)
    assert taught(place, record.collection)[0]["look/cosine"] == (2.55, 1.45)


@pytest.mark.parametrize("wrong", [-1.0, 0.0, 1e300, float("inf")])
def test_damaged_counts_begin_again_and_it_is_told(place: Home, wrong: float) -> None:
    record = begun(place)
    row = {"collection": record.collection, "arm": "look/cosine", "above": wrong, "below": 2.0}
    with place.store.writing() as connection:
        connection.execute(sa.insert(s.arm_counts).values(**row))
        connection.execute(sa.insert(s.arm_counts).values(row | {"arm": "gone/l1"}))
    found, notes = taught(place, record.collection)
    assert found["look/cosine"] == (2.55, 1.45)
    assert len(notes) == 1 and "look/cosine is damaged" in notes[0]
    with place.store.writing() as connection:
        searches.teach(connection, record, {("look", "cosine"): 0.5}, now=NOW)
    found, notes = taught(place, record.collection)
    assert found["look/cosine"] == pytest.approx((3.05, 1.95)) and notes == ()


def test_searches_that_end_at_once_are_all_counted(place: Home) -> None:
    collection = fresh("photos")
    records = [begun(place, collection=collection) for _ in range(6)]

    def end(record: searches.Record) -> bool:
        with place.store.writing() as connection:
            return searches.teach(connection, record, {("look", "l1"): 1.0, ("colours", "l1"): 0.0}, now=NOW)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(end, records))
    assert taught(place, collection)[0]["look/l1"] == pytest.approx((8.55, 1.45))
    assert taught(place, collection)[0]["colours/l1"] == pytest.approx((2.0, 8.0))
