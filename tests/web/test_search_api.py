"""The page of interactive search as programs see it: links, acts, uploads, sketches, what is refused and how."""

from __future__ import annotations

import base64
import io
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from PIL import Image
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from search_page_samples import SHAPES, URL, Hall, Seeker, opened_corpus, paint, picture_bytes, search_hall, sketch_png

from endoxa.images.corpus import Corpus
from endoxa.io import apart
from endoxa.searches.arms import Features, group_of
from endoxa.searches.seeking import replay
from endoxa.searches.session import Settings
from endoxa.store import people, schema, searches
from endoxa.web.searches import deposits
from endoxa.web.searches.deposits import MOST, PICTURE
from endoxa.web.searches.search_app import PACE
from endoxa.web.security import BODY

SAME = {"Sec-Fetch-Site": "same-origin"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
FEW = settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
GROUPS = ("look", "colours", "texture", "layout")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Features]:
    """24 small pictures."""
    return opened_corpus(paint(tmp_path_factory.mktemp("seeking") / "photos"))


@pytest.fixture
def hall(tmp_path: Path, collection: tuple[Corpus, Features]) -> Iterator[Hall]:
    """The page over it, on a home of its own."""
    with search_hall(tmp_path / "home", *collection) as found:
        yield found


@pytest.fixture
def ana(hall: Hall) -> Seeker:
    """Somebody with a search of eight pictures a page."""
    found = hall.seeker("ana")
    found.begin(8)
    return found


def places(state: dict[str, Any]) -> list[int]:
    return [tile["place"] for tile in state["page"]["tiles"]]


# ---- links and sessions -------------------------------------------------------------------------------


def test_several_people_join_by_one_link_and_come_back_by_their_own(hall: Hall) -> None:
    ana, ben = hall.seeker("ana"), hall.seeker("ben")
    assert len({hall.link, ana.link, ben.link}) == 3
    state = ana.begin()
    again = hall.enter(ana.link)  # another browser
    assert [one["id"] for one in again.get("/api/searches").json()["searches"]] == [state["id"]]
    assert ben.get("/api/searches").json() == {"searches": []}
    taken = hall.browser().post(hall.link, data={"nickname": "Ana"}, headers=SAME)
    assert taken.status_code == 422
    assert "is taken" in taken.text


def test_a_join_whose_reply_is_lost_can_be_sent_again(hall: Hall) -> None:
    browser, form = hall.browser(), {"nickname": "Lost"}
    assert browser.get(hall.link).status_code == 200
    before = list(browser.cookies.jar)
    first = browser.post(hall.link, data=form, headers=SAME)
    assert first.status_code == 303
    hall.renew()  # nothing of the reply arrived, and the server was started again
    browser = hall.browser()
    for cookie in before:
        browser.cookies.jar.set_cookie(cookie)
    again = browser.post(hall.link, data={"nickname": "lost"}, headers=SAME)
    assert again.headers["location"] == first.headers["location"], "the same personal link"
    assert browser.get("/search").status_code == 200
    others = hall.browser()
    others.get(hall.link)
    for other in (others, hall.browser()):  # with another key, and with none
        taken = other.post(hall.link, data=form, headers=SAME)
        assert taken.status_code == 422
        assert "is taken" in taken.text
    # The same browser, after the reply arrived: whoever uses it next is somebody else.
    assert browser.post(hall.link, data=form, headers=SAME).status_code == 422
    assert browser.post(hall.link, data={"nickname": "next"}, headers=SAME).status_code == 303


def test_strangers_and_guests_of_studies_stay_outside(hall: Hall) -> None:
    stranger = hall.browser()
    front = stranger.get("/", headers={"Accept": "text/html"})
    assert front.status_code == 200
    assert "Open the link" in front.text
    for path in ("/search", "/search/x", "/api/collection", "/api/searches", "/pictures/0", "/api/searches/x"):
        assert stranger.get(path).status_code == 401, path
    assert stranger.get("/join/forged").status_code == 404
    with hall.home.store.writing() as connection:
        _, token = people.invite(connection, hall.home.key, None, "organiser", now=hall.clock())
    assert stranger.get(f"/join/{token}").status_code == 404
    for _ in range(25):
        last = stranger.get("/join/guess").status_code
    assert last == 429


def test_signed_in_people_are_led_to_the_page(hall: Hall, ana: Seeker) -> None:
    assert ana.get("/").headers["location"] == "/search"
    page = ana.get(f"/search/{ana.search}")
    assert '<noscript><p class="notice card">This page needs JavaScript' in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "camera=()" in page.headers["permissions-policy"]


@pytest.mark.parametrize(
    "headers", [{"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_an_act_comes_from_our_own_page(ana: Seeker, headers: dict[str, str]) -> None:
    number = ana.state()["number"]
    mark = {"key": str(uuid.uuid4()), "after": number, "kind": "mark", "detail": {"place": 0, "grade": 1}}
    for path, body in (("events", mark), ("/api/searches", {"key": str(uuid.uuid4())}), ("preview", {"sketch": "x"})):
        assert ana.post(path, body, headers=headers).status_code == 403
    assert ana.post("uploads", content=picture_bytes(), headers=headers).status_code == 403
    assert ana.state()["number"] == number


def test_another_ones_search_does_not_exist(hall: Hall, ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    ben = hall.seeker("ben")
    ben.search = ana.search
    key = str(uuid.uuid4())
    for path in ("", "why/0", "rounds/1", f"uploads/{'0' * 64}", f"/search/{ana.search}"):
        assert ben.get(path).status_code == 404, path
    for path, body in (
        ("events", {"key": key, "after": 3, "kind": "undo", "detail": {}}), ("preview", {"sketch": sketch_png()}),
        ("links", {}), ("/api/searches", {"key": key, "fork": {"search": ana.search, "number": 2}}),
    ):  # fmt: skip
        assert ben.post(path, body).status_code == 404, path
    assert ben.post("uploads", content=picture_bytes()).status_code == 404
    assert ana.state()["number"] == 3


def test_two_people_do_not_disturb_each_other(hall: Hall, ana: Seeker) -> None:
    ben = hall.seeker("ben")
    before = ben.begin(8)
    ana.act("mark", {"place": 3, "grade": 2})
    ana.act("refine", {"size": 8})
    assert ben.state() == before
    after = ben.act("mark", {"place": 4, "grade": -2})
    assert after["marks"] == [{"place": 4, "grade": -2}]
    assert ana.state()["marks"] == [{"place": 3, "grade": 2}]


# ---- acts ---------------------------------------------------------------------------------------------


def test_marks_refine_the_page_and_bars_add_up(ana: Seeker, collection: tuple[Corpus, Features]) -> None:
    first = ana.state()
    assert len(places(first)) == 8
    assert all(tile["expected"] is None for tile in first["page"]["tiles"])
    sea, night = collection[1].place["sea/sun"], collection[1].place["night/sun"]
    ana.act("mark", {"place": sea, "grade": 2})
    ana.act("mark", {"place": night, "grade": -2})
    state = ana.act("refine", {"size": 6})
    assert state["round"] == 2
    assert len(places(state)) == 6
    assert not set(places(state)) & set(places(first))
    best = state["page"]["tiles"][0]
    assert best["name"].startswith("sea/")
    assert best["expected"] > -1
    assert [tile["slot"] for tile in state["page"]["tiles"]] == ["best"] * 5 + ["explore"]  # e = round(.2 n)
    why = ana.get(f"why/{best['place']}").json()
    assert set(why["groups"]) == set(GROUPS)
    whole = why["base"] + sum(why["groups"].values()) + why["hint"]
    assert np.clip(whole, -2, 2) == pytest.approx(why["expected"], abs=1e-9)
    assert why["expected"] == pytest.approx(best["expected"], abs=1e-6)
    assert why["examples"][0]["place"] == sea
    assert sum(group["weight"] for group in state["groups"]) == pytest.approx(1)


def test_an_act_sent_twice_counts_once_and_another_tab_is_told(ana: Seeker) -> None:
    number = ana.state()["number"]
    body = {"key": str(uuid.uuid4()), "after": number, "kind": "mark", "detail": {"place": 0, "grade": 1}}
    first, again = ana.post("events", body), ana.post("events", body)
    assert first.json() == again.json()
    assert first.json()["number"] == number + 1
    late = ana.send("mark", {"place": 1, "grade": 1}, after=number)
    assert late.status_code == 409
    assert "another tab" in late.json()["detail"]
    refine = {"key": str(uuid.uuid4()), "after": number + 1, "kind": "refine", "detail": {"size": 8}}
    assert ana.post("events", refine).json() == ana.post("events", refine).json()


def test_two_refines_at_the_same_moment(ana: Seeker) -> None:
    after = ana.state()["number"]
    gate, found = Barrier(2), []

    def go() -> None:
        body = {"key": str(uuid.uuid4()), "after": after, "kind": "refine", "detail": {"size": 4}}
        gate.wait()
        found.append(ana.post("events", body).status_code)

    threads = [Thread(target=go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [200, 409]
    assert ana.state()["round"] == 2


def test_undo_restores_the_page_and_undoing_nothing_is_refused(ana: Seeker) -> None:
    first = ana.state()
    nothing = ana.send("undo")
    assert nothing.status_code == 409
    assert "nothing to undo" in nothing.json()["detail"]
    ana.act("mark", {"place": places(first)[0], "grade": 2})
    marked = ana.act("mark", {"place": places(first)[0], "grade": -1})
    assert marked["marks"] == [{"place": places(first)[0], "grade": -1}]  # the last one counts
    second = ana.act("refine", {"size": 8})
    assert second["page"] != first["page"]
    back = ana.act("undo")
    assert places(back) == places(first)
    assert back["marks"] == marked["marks"]
    ana.act("undo")
    gone = ana.act("undo")
    assert (gone["marks"], gone["undo"]) == ([], False)


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("mark", {"place": 0, "grade": 3}), ("mark", {"place": 0, "grade": 0.5}), ("mark", {"place": 0, "grade": "2"}),
        ("mark", {"place": True, "grade": 1}), ("mark", {"place": 0, "grade": True}), ("seen", {"show": 1}),
        ("mark", {"place": 24, "grade": 1}), ("mark", {"place": -1, "grade": 1}), ("mark", {"place": 0}),
        ("mark", {"item": "sea/sun", "grade": 1}), ("found", {"place": 99}), ("picture", {"place": 99}),
        ("view", {"places": []}), ("view", {"places": [0, 99]}), ("refine", {"size": 0}), ("refine", {"size": 1000}),
        ("pin", {"group": "sound", "setting": "off"}), ("pin", {"group": "look", "setting": 0}),
        ("words", {"text": "x" * 1001}), ("dance", {}), ("start", {}), ("shown", {"items": []}),
    ],
)  # fmt: skip
def test_acts_that_make_no_sense(ana: Seeker, kind: str, detail: Any) -> None:
    before = ana.state()
    refused = ana.send(kind, detail)
    assert refused.status_code == 422
    assert refused.json()["detail"]
    assert ana.state() == before


def test_numbers_that_json_does_not_have(ana: Seeker) -> None:
    body = f'{{"key":"{uuid.uuid4()}","after":2,"kind":"mark","detail":{{"place":0,"grade":NaN}}}}'
    assert ana.post("events", content=body, headers={"Content-Type": "application/json"}).status_code == 422


def test_any_picture_can_be_marked_found_or_searched_from(ana: Seeker) -> None:
    unseen = next(place for place in range(24) if place not in places(ana.state()))
    assert ana.act("mark", {"place": unseen, "grade": 0})["marks"] == [{"place": unseen, "grade": 0}]
    assert ana.act("mark", {"place": unseen, "grade": None})["marks"] == []
    assert ana.act("found", {"place": unseen})["found"] == [unseen]
    state = ana.act("picture", {"place": unseen})
    assert state["query"]["picture"] == unseen
    assert unseen not in places(state)
    assert state["title"].startswith("like ")
    assert ana.act("picture", {})["query"]["picture"] is None


def test_all_neutral_all_bad_and_nothing_marked_go_on(ana: Seeker) -> None:
    for grade in (0, -2):
        state = ana.state()
        for place in places(state):
            ana.act("mark", {"place": place, "grade": grade})
        assert len(places(ana.act("refine", {"size": 8}))) == 8
    state = ana.act("refine", {"size": 20})  # nothing left
    assert places(state) == []
    assert "seen all pictures" in state["notes"][0]
    assert len(places(ana.act("seen", {"show": True}))) == 20


def test_changing_one_mind_and_starting_over(ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    ana.act("words", {"text": "boat"})
    assert ana.act("forget")["marks"] == []
    ana.act("mark", {"place": 1, "grade": 1})
    kept = ana.act("restart", {"keep": True})
    assert (kept["marks"], kept["query"]["words"], kept["seen"]) == ([{"place": 1, "grade": 1}], "boat", 0)
    empty = ana.act("restart", {"keep": False})
    assert (empty["marks"], empty["query"]["words"]) == ([], "")


def test_groups_are_switched_and_the_last_one_stays(ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    for group in GROUPS[:3]:
        state = ana.act("pin", {"group": group, "setting": "off"})
    assert [group["weight"] for group in state["groups"]] == [0, 0, 0, 1]
    last = ana.send("pin", {"group": "layout", "setting": "off"})
    assert last.status_code == 422
    assert "last group" in last.json()["detail"]
    state = ana.act("pin", {"group": "look", "setting": 0.5})
    assert state["groups"][0]["setting"] == 0.5


def test_exploring_is_switched(ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": -1})
    assert any(tile["slot"] == "explore" for tile in ana.act("refine", {"size": 10})["page"]["tiles"])
    state = ana.act("explore", {"on": False})
    assert not state["explore"]
    assert {tile["slot"] for tile in state["page"]["tiles"]} == {"best"}


def test_words(hall: Hall, ana: Seeker) -> None:
    state = ana.act("words", {"text": "boat"})
    assert {tile["name"].split("/")[1] for tile in state["page"]["tiles"][:4]} == {"boat"}
    assert state["query"]["words"] == "boat"
    for text, note in (
        ("the of and", "say nothing"),
        ("лодка", "No picture"),
        ("<script>alert(1)</script>", "No pict"),
    ):
        assert note in ana.act("words", {"text": text})["notes"][0]
    assert ana.act("words", {"text": "   "})["query"]["words"] == ""
    page = ana.get(f"/search/{ana.search}")
    assert "<script>alert" not in page.text


def expected_of(state: dict[str, Any]) -> list[float | None]:
    """The expected marks that the page shows."""
    return [tile["expected"] for tile in state["page"]["tiles"]]


def test_marks_are_expected_only_where_they_tell_pictures_apart(ana: Seeker) -> None:
    """An unknown word and a sketch say nothing about marks; marks do, on a page where those expected differ."""
    for kind, detail in (("words", {"text": "unicorn"}), ("words", {"text": ""}), ("sketch", {"png": sketch_png()})):
        assert set(expected_of(ana.act(kind, detail))) == {None}
    state = ana.act("sketch", {"png": None})
    for tile in state["page"]["tiles"]:
        state = ana.act("mark", {"place": tile["place"], "grade": 2 if tile["name"].startswith("sea/") else -2})
        assert set(expected_of(state)) == {None}  # marks of this page are not what it rests on
    state = ana.act("refine", {"size": 8})
    shown = expected_of(state)
    assert None not in shown and max(shown) - min(shown) >= 1
    for tile in state["page"]["tiles"]:
        ana.act("mark", {"place": tile["place"], "grade": 0})
    left = ana.act("refine", {"size": 8})
    known = [mark for mark in expected_of(left) if mark is not None]
    apart = any("cannot be told apart" in note for note in left["notes"])
    assert apart == (not known) and (not known or max(known) - min(known) >= 1)


def test_pictures_that_cannot_be_told_apart_get_no_mark_but_a_reason(ana: Seeker) -> None:
    """All that is marked is neutral: nothing tells the rest apart."""
    for tile in ana.state()["page"]["tiles"]:
        ana.act("mark", {"place": tile["place"], "grade": -2})
    state = ana.act("refine", {"size": 4})
    page = state["page"]["tiles"]
    assert {tile["expected"] for tile in page} == {None}
    assert any("cannot be told apart" in note for note in state["notes"])


def test_near_duplicates_are_counted(hall: Hall, ana: Seeker) -> None:
    leaders = hall.features.leaders
    told = ana.get("/api/collection").json()
    assert told["beside"] == sum(leader != at for at, leader in enumerate(leaders.tolist()))
    assert told["count"] - told["beside"] == len(set(leaders.tolist()))


def test_more_pages_than_anybody_can_look_at(hall: Hall, ana: Seeker) -> None:
    statuses = [ana.send("refine", {"size": 1}).status_code for _ in range(PACE + 1)]
    assert statuses == [200] * PACE + [429]
    assert ana.send("mark", {"place": 0, "grade": 1}).status_code == 200
    hall.ticks.time += 61
    hall.clock.time -= 3600  # the clock of the machine goes back
    assert ana.send("refine", {"size": 1}).status_code == 200


def test_a_search_goes_on_after_a_restart_and_replays_exactly(hall: Hall, ana: Seeker) -> None:
    ana.act("sketch", {"png": sketch_png()})
    ana.act("mark", {"place": places(ana.state())[0], "grade": 2})
    state = ana.act("refine", {"size": 8})
    hall.renew()
    ana = hall.again(ana)
    assert ana.state() == state
    assert ana.act("refine", {"size": 8})["round"] == 4
    loaded = hall.server.in_memory[ana.search]
    assert replay(hall.features, loaded.search.events, hints=loaded.search.hints).exact


def test_a_search_over_a_collection_that_changed_can_be_looked_at(hall: Hall, ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    old = hall.features
    hall.renew(Features(old.items, old.groups, old.words, "0" * 64, old.stacks))
    ana = hall.again(ana)
    state = ana.state()
    assert state["read_only"]
    assert "changed" in state["notes"][0]
    assert ana.send("refine", {"size": 8}).status_code == 409


def test_a_closed_search_teaches_and_ends(hall: Hall, ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    ana.act("mark", {"place": 12, "grade": -2})
    state = ana.act("close")
    assert state["read_only"]
    with hall.home.store.reading() as connection:
        record = searches.find(connection, ana.search)
        learnt, _ = searches.counts(connection, record.collection, hall.features)
    assert record.taught_at is not None
    assert sum(learnt.of["look", "cosine"]) == pytest.approx(5)
    assert ana.send("mark", {"place": 1, "grade": 1}).status_code == 409


def test_whoever_begins_another_search_has_taught_by_the_last_one_and_may_still_go_on(hall: Hall, ana: Seeker) -> None:
    first = ana.search
    ana.act("mark", {"place": 0, "grade": 2})
    ana.act("mark", {"place": 12, "grade": -2})
    for _ in range(2):
        ana.begin()  # the second one teaches nothing: nothing was marked
    with hall.home.store.reading() as connection:
        record = searches.find(connection, first)
        learnt, _ = searches.counts(connection, record.collection, hall.features)
    assert sum(learnt.of["look", "cosine"]) == pytest.approx(5)
    ana.search = first
    assert not ana.act("mark", {"place": 1, "grade": 1})["read_only"]


def test_who_is_here_already_goes_on_and_another_may_come_in(hall: Hall) -> None:
    ana, ben = hall.seeker("ana"), hall.seeker("ben")
    for link in (hall.link, ana.link):
        there = ana.client.get(link)
        assert (there.status_code, there.headers["location"]) == (303, "/search")
    assert ana.client.get(ben.link).status_code == 200  # a page that says whose link it is
    assert "ben" in ana.client.get(ben.link).text


def test_one_person_comes_back_after_a_restart(hall: Hall) -> None:
    def link() -> str:
        with hall.home.store.writing() as connection:
            return f"/join/{searches.come_back(connection, hall.home.key, 'me', now=hall.clock())}"

    first = hall.enter(link())
    first.begin(8)
    hall.renew()
    second = hall.enter(link())
    assert [one["id"] for one in second.get("/api/searches").json()["searches"]] == [first.search]


def test_a_search_of_a_later_release_hides_no_other(hall: Hall, ana: Seeker) -> None:
    first = ana.search
    ana.begin(8)
    with hall.home.store.writing() as connection:
        record = searches.find(connection, ana.search)
        row = {"search_id": record.id, "number": 99, "key": "later", "kind": "dance", "detail": {}, "at": 1.0}
        connection.execute(sa.insert(schema.search_events).values(**row))
    assert [one["id"] for one in ana.get("/api/searches").json()["searches"]] == [first]


def test_the_organiser_chooses_the_learner(hall: Hall) -> None:
    hall.renew(settings=Settings(learner="rocchio", audit=True, thompson=True))
    ben = hall.enter(hall.link, "ben")
    ben.begin(8)
    with hall.home.store.reading() as connection:
        start = searches.events(connection, searches.find(connection, ben.search))[0].detail
    assert (start["settings"]["learner"], start["settings"]["size"]) == ("rocchio", 8)
    assert set(start["chances"]) == {group.name for group in hall.features.groups}
    ben.act("mark", {"place": 0, "grade": 2})
    tiles = ben.act("refine", {"size": 8})["page"]["tiles"]
    assert [tile["slot"] for tile in tiles].count("audit") == 1


def test_history_and_going_on_from_an_earlier_round(ana: Seeker) -> None:
    first = ana.state()
    ana.act("mark", {"place": places(first)[0], "grade": 2})
    second = ana.act("refine", {"size": 8})
    rounds = second["rounds"]
    assert [(one["round"], one["shown"], one["marked"]) for one in rounds] == [(1, 8, 1), (2, 8, 0)]
    page = ana.get("rounds/1").json()
    assert [tile["place"] for tile in page["tiles"]] == places(first)
    assert page["tiles"][0]["mark"] == 2
    assert ana.get("rounds/9").status_code == 404
    old = ana.search
    fork = ana.begin(8, fork={"search": old, "number": rounds[0]["number"]})
    assert (places(fork), fork["marks"]) == (places(first), [])
    assert fork["id"] != old
    ana.act("mark", {"place": 5, "grade": 1})
    ana.search = old
    assert ana.state() == second
    assert (
        ana.post("/api/searches", {"key": str(uuid.uuid4()), "fork": {"search": old, "number": 99}}).status_code == 422
    )


def test_beginning_twice_with_one_key_is_one_search(hall: Hall) -> None:
    ana, key = hall.seeker("ana"), str(uuid.uuid4())
    made = [ana.post("/api/searches", {"key": key, "size": 5}).json()["id"] for _ in range(2)]
    assert made[0] == made[1]
    assert len(ana.get("/api/searches").json()["searches"]) == 1


# ---- sharing ------------------------------------------------------------------------------------------


def shared(who: Seeker, *, fork: bool) -> str:
    url: str = who.post("links", {"fork": fork}).json()["url"]
    assert url.startswith(URL)
    return url.removeprefix(URL)


def test_a_shared_search_is_looked_at_only(hall: Hall, ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    eve = hall.enter(shared(ana, fork=False))
    eve.search = ana.search
    state = eve.state()
    assert state["read_only"]
    assert not state["may_fork"]
    assert state["marks"] == [{"place": 0, "grade": 2}]
    assert eve.get("rounds/1").status_code == 200
    assert eve.get("/pictures/0").status_code == 200
    assert eve.send("mark", {"place": 1, "grade": 1}).status_code == 403
    assert eve.post("/api/searches", {"key": str(uuid.uuid4())}).status_code == 403
    assert eve.get("/api/searches").status_code == 403
    other = hall.seeker("ben")
    eve.search = other.begin()["id"]
    assert eve.get("").status_code == 404


def test_whoever_searches_here_stays_who_they_are_and_may_go_on(hall: Hall, ana: Seeker) -> None:
    ana.act("mark", {"place": 0, "grade": 2})
    ben = hall.seeker("ben")
    looked = ben.client.post(shared(ana, fork=False), headers=SAME)
    address, _, token = looked.headers["location"].partition("?")
    assert address == f"/search/{ana.search}"
    assert ben.get(f"/api/searches/{ana.search}?{token}").json()["read_only"]
    fork = {"key": str(uuid.uuid4()), "fork": {"search": ana.search, "number": 3}}
    assert ben.post(f"/api/searches?{token}", fork).status_code == 403
    address, _, token = shared(ana, fork=True).partition("?")
    assert ben.get(f"{address}?{token}").status_code == 200
    assert ben.get(f"/api/searches/{ana.search}?{token}").json()["may_fork"]
    assert not ana.get(f"?{token}").json()["read_only"]  # it stays one's own
    made = ben.post(f"/api/searches?{token}", fork).json()
    assert made["marks"] == [{"place": 0, "grade": 2}]
    assert not made["read_only"]
    other = hall.seeker("cyd").begin()["id"]
    assert ben.get(f"/api/searches/{other}?{token}").status_code == 404
    assert ben.get(f"/api/searches/{ana.search}?{token[:-2]}").status_code == 404


# ---- the collection -----------------------------------------------------------------------------------


def test_the_collection_in_order_and_as_a_map(ana: Seeker) -> None:
    about = ana.get("/api/collection").json()
    assert (about["count"], about["words"], about["map"], about["nickname"]) == (24, True, True, "ana")
    assert [grade["key"] for grade in about["grades"]] == list("12345")
    assert about["grades"][0]["label"] == "highly irrelevant"
    names = [tile["name"] for tile in ana.get("/api/collection/items").json()["tiles"]]
    assert names == sorted(names)
    assert len(names) == 24
    shuffled = [ana.get(f"/api/collection/items?order=shuffle&seed={seed}").json()["tiles"] for seed in (1, 1, 2)]
    assert shuffled[0] == shuffled[1] != shuffled[2]
    late = ana.get("/api/collection/items?order=time&page=9").json()
    assert (late["page"], late["pages"]) == (1, 1)
    tiles = ana.get("/api/collection/map?columns=4&rows=3").json()["tiles"]
    assert len({tile["cell"] for tile in tiles}) == 12
    assert sum(tile["count"] for tile in tiles) == 24
    part = next(tile for tile in tiles if tile["opens"])
    inside = ana.get(f"/api/collection/map?columns=4&rows=3&path={part['cell']}").json()
    assert len(inside["tiles"]) == part["count"]
    assert part["place"] in {tile["place"] for tile in inside["tiles"]}
    for query, status in (
        ("path=400", 404),
        ("path=../x", 422),
        ("group=sound", 422),
        ("columns=99", 422),
        ("group=../x", 422),
    ):
        assert ana.get(f"/api/collection/map?{query}").status_code == status, query


def test_a_view_of_the_map_becomes_a_page(ana: Seeker) -> None:
    tiles = ana.get("/api/collection/map?columns=4&rows=3").json()["tiles"]
    view = [tile["place"] for tile in tiles]
    ana.act("mark", {"place": view[0], "grade": 2})
    state = ana.act("view", {"places": view})
    assert places(state) == view
    refined = ana.act("refine", {"size": 8})
    assert not set(places(refined)) & set(view)
    assert refined["seen"] == 12


def test_pictures_leave_as_copies_without_metadata(hall: Hall, ana: Seeker) -> None:
    original = hall.server.collection.paths[0].read_bytes()
    assert b"secret place" in original
    for size in ("small", "large"):
        answer = ana.get(f"/pictures/0?size={size}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert "private" in answer.headers["cache-control"]
        assert b"secret" not in answer.content
        assert Image.open(io.BytesIO(answer.content)).size == (120, 80)
    for path in ("24", "-1", "999999", "sea/sun.jpg", "..%2f..%2fetc%2fpasswd", "0?size=original"):
        assert ana.get(f"/pictures/{path}").status_code in {404, 422}, path


def test_a_picture_that_is_deleted_while_serving(tmp_path: Path) -> None:
    folder = paint(tmp_path / "photos", captions=False)
    corpus, features = opened_corpus(folder)
    with search_hall(tmp_path / "home", corpus, features) as hall:
        ana = hall.seeker("ana")
        assert ana.get("/api/collection").json()["words"]  # those of the names of files and folders
        place = places(ana.begin(8))[0]
        hall.server.collection.paths[place].unlink()
        state = ana.state()
        assert [tile["missing"] for tile in state["page"]["tiles"]] == [True] + [False] * 7
        assert ana.get(f"/pictures/{place}").status_code == 404
        assert ana.act("mark", {"place": place, "grade": 1})["marks"] == [{"place": place, "grade": 1}]
        assert "No picture has the word 'zeppelin'" in ana.act("words", {"text": "zeppelin"})["notes"][0]
        assert ana.act("words", {"text": folder.joinpath(corpus.items[0]).parent.name})["notes"] == []


@pytest.mark.parametrize("count", [0, 1, 3])
def test_small_collections_with_strange_names(tmp_path: Path, count: int) -> None:
    rng = np.random.default_rng(1)
    names = ("a b\n../c", "\u202eevil.jpg", "<script>alert(1)</script>")[:count]
    values = rng.random((count, 5)).astype(np.float32)
    features = Features(names, (group_of("look", values),), ((),) * count, "1" * 64, np.arange(count))
    with search_hall(tmp_path / "home", _corpus_of(names, tmp_path), features) as hall:
        ana = hall.seeker("ana")
        state = ana.begin(8)
        assert len(places(state)) == count
        if count:
            ana.act("mark", {"place": 0, "grade": 2})
        ana.act("refine", {"size": 8})
        assert ana.get("/api/collection").json()["map"] is (count > 1)
        assert len(ana.get("/api/collection/items").json()["tiles"]) == count
        assert len(ana.get("/api/collection/map?columns=4&rows=4").json()["tiles"]) == count
        assert "<script>" not in ana.get("/search").text.replace('<script type="module"', "")
        assert ana.send("sketch", {"png": sketch_png()}).status_code == 422


def _corpus_of(names: tuple[str, ...], folder: Path) -> Corpus:
    import polars as pl

    frame = pl.DataFrame({"item": list(names), "path": [f"{at}.jpg" for at in range(len(names))]},
                         schema={"item": pl.String, "path": pl.String})  # fmt: skip
    return Corpus.of(frame, str(folder), name="<b>odd</b>")


# ---- pictures of one's own ----------------------------------------------------------------------------


def upload(who: Seeker, raw: bytes, **more: Any) -> Any:
    return who.post("uploads", content=raw, **more)


def test_a_picture_of_ones_own(hall: Hall, ana: Seeker) -> None:
    exif = Image.Exif()
    exif[0x010E] = "my home"
    sent = upload(ana, picture_bytes(exif=exif))
    assert sent.status_code == 201
    sha = sent.json()["sha"]
    state = ana.act("picture", {"upload": sha})
    assert state["query"]["upload"] == sha
    assert sum(tile["name"].startswith("sea/") for tile in state["page"]["tiles"][:6]) >= 5
    copy = ana.get(f"uploads/{sha}")
    assert copy.headers["content-type"] == "image/jpeg"
    assert b"my home" not in copy.content
    why = ana.get(f"why/{places(state)[0]}").json()
    assert why["examples"][0] == {"place": None, "upload": sha, "value": why["examples"][0]["value"]}
    part = ana.act("picture", {"upload": sha, "crop": [0, 0, 0.5, 1]})
    assert part["round"] == state["round"] + 1
    hall.server.deposits.forget()
    assert ana.get(f"uploads/{sha}").status_code == 404
    assert ana.send("picture", {"upload": sha}).status_code == 404


def test_a_search_whose_picture_is_gone_says_so_and_goes_on(hall: Hall, ana: Seeker) -> None:
    sha = upload(ana, picture_bytes()).json()["sha"]
    ana.act("picture", {"upload": sha})
    hall.server.deposits.forget()
    hall.renew()
    ana = hall.again(ana)
    state = ana.act("refine", {"size": 8})
    assert "no longer here" in state["notes"][0]
    assert ana.get("why/0").status_code == 410
    assert ana.state()["number"] == state["number"]
    assert ana.act("picture", {})["notes"] == []


def test_a_kept_picture_survives_and_forks_have_it_too(hall: Hall, ana: Seeker) -> None:
    sha = ana.post("uploads?keep=true", content=picture_bytes()).json()["sha"]
    state = ana.act("picture", {"upload": sha})
    hall.server.deposits.forget()
    hall.renew()
    ana = hall.again(ana)
    old = ana.search
    ana.act("mark", {"place": 0, "grade": 1})
    assert ana.get("why/0").status_code == 200
    ana.begin(8, fork={"search": old, "number": state["number"]})
    assert ana.act("refine", {"size": 4})["query"]["upload"] == sha


@pytest.mark.parametrize(
    "detail",
    [
        {"crop": [0, 0, 1.2, 1]}, {"crop": [-0.1, 0, 1, 1]}, {"crop": [0.5, 0, 0.5, 1]}, {"crop": [0.9, 0, 0.1, 1]},
        {"crop": [0, 0, 1]}, {"upload": "../../etc/passwd"}, {"place": 1},
    ],
)  # fmt: skip
def test_crops_and_names_that_make_no_sense(ana: Seeker, detail: dict[str, Any]) -> None:
    sha = upload(ana, picture_bytes()).json()["sha"]
    assert ana.send("picture", {"upload": sha, **detail}).status_code == 422


JPEG = picture_bytes(size=(300, 200))
TURNED = Image.Exif()
TURNED[0x0112] = 6
GOOD = {
    "one pixel": picture_bytes(size=(1, 1)), "a thread": picture_bytes(size=(1, 20_000), form="PNG"),
    "transparent": picture_bytes(form="PNG", mode="RGBA"), "four inks": picture_bytes(mode="CMYK"),
    "an animation": picture_bytes(form="GIF", save_all=True), "turned": picture_bytes(exif=TURNED),
}  # fmt: skip
BAD = {
    "empty": b"", "a page": b"<!doctype html><html><body>no</body></html>", "a drawing": b"<svg xmlns='x'></svg>",
    "heic": b"\0\0\0\x18ftypheic" + b"\0" * 40, "cut off": JPEG[: len(JPEG) // 2], "noise": bytes(range(256)) * 4,
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_odd_pictures_that_are_pictures(ana: Seeker, name: str) -> None:
    sent = upload(ana, GOOD[name], headers={"Content-Type": "text/html"})
    assert sent.status_code == 201, sent.text
    assert ana.act("picture", {"upload": sent.json()["sha"]})["page"]["tiles"]


def test_pictures_are_decoded_elsewhere(ana: Seeker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of 100 million pixels is a file of 300 kB: the process that serves does not open it."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("decoded in the process that serves")

    monkeypatch.setattr(Image, "open", refuse)
    assert upload(ana, GOOD["turned"]).status_code == 201


def test_a_picture_is_read_for_a_limited_time(ana: Seeker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "SECONDS", 0.0)
    refused = upload(ana, GOOD["turned"])
    assert refused.status_code == 422
    assert refused.json()["detail"] == "the picture: cannot be read within 0 s; send a smaller one"


def test_a_turned_picture_is_turned_back(ana: Seeker) -> None:
    sha = upload(ana, GOOD["turned"]).json()["sha"]
    assert Image.open(io.BytesIO(ana.get(f"uploads/{sha}").content)).size == (80, 120)


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_no_pictures(ana: Seeker, name: str) -> None:
    refused = upload(ana, BAD[name])
    assert refused.status_code == 422
    assert refused.json()["detail"]


def test_bombs_long_files_and_too_many(ana: Seeker, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = bytearray(picture_bytes(form="PNG", size=(10, 10)))
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    assert upload(ana, bytes(bomb)).status_code == 422
    assert upload(ana, b"x" * (PICTURE + 1)).status_code == 413
    assert ana.post("events", content=b"x" * (BODY + 1)).status_code == 413
    monkeypatch.setattr(deposits, "MOST", 3)
    assert MOST == 20
    statuses = [upload(ana, picture_bytes((at, 0, 0))).status_code for at in (0, 60, 120, 180)]
    assert statuses == [201, 201, 201, 409]
    assert upload(ana, picture_bytes((0, 0, 0))).status_code == 201  # it is there already


# ---- sketches -----------------------------------------------------------------------------------------


def test_a_sketch_finds_its_colours_and_can_be_removed(ana: Seeker) -> None:
    live = ana.post("preview", {"sketch": sketch_png(), "size": 6})
    assert {tile["name"].split("/")[0] for tile in live.json()["tiles"]} == {"sea"}
    number = ana.state()["number"]
    state = ana.act("sketch", {"png": sketch_png()})
    assert number == state["number"] - 2  # the preview recorded nothing
    assert {tile["name"].split("/")[0] for tile in state["page"]["tiles"][:6]} == {"sea"}
    assert state["query"]["sketch"]
    assert not ana.act("sketch", {"png": None})["query"]["sketch"]


def test_sketch_words_and_picture_together(ana: Seeker) -> None:
    ana.act("sketch", {"png": sketch_png()})
    ana.act("words", {"text": SHAPES[0]})
    state = ana.act("picture", {"place": 20})
    assert state["query"] == {"picture": 20, "upload": None, "sketch": True, "words": "sun"}
    why = ana.get(f"why/{places(state)[0]}").json()
    assert why["hint"] != 0


@pytest.mark.parametrize(
    "sketch",
    [
        sketch_png(None), sketch_png(size=128), "no base64!", base64.b64encode(b"no picture").decode(), "",
        base64.b64encode(picture_bytes(size=(256, 256))).decode(), "A" * 95_000,
        base64.b64encode(np.random.default_rng(0).bytes(65_000)).decode(),
    ],
)  # fmt: skip
def test_sketches_that_are_refused(ana: Seeker, sketch: str) -> None:
    for sent in (ana.send("sketch", {"png": sketch}), ana.post("preview", {"sketch": sketch})):
        assert sent.status_code in {413, 422}
        assert sent.json()["detail"]


def test_one_painted_pixel_is_too_little_and_a_full_canvas_is_fine(ana: Seeker) -> None:
    pixels = np.zeros((256, 256, 4), np.uint8)
    pixels[0, 0] = 255
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    refused = ana.send("sketch", {"png": base64.b64encode(buffer.getvalue()).decode()})
    assert refused.status_code == 422
    assert "paint a little more" in refused.json()["detail"]
    assert ana.act("sketch", {"png": sketch_png((220, 190, 120))})["page"]["tiles"]


# ---- the API as it is written down --------------------------------------------------------------------


def test_every_address_of_the_api_is_described(hall: Hall) -> None:
    document = hall.app.openapi()
    described = {f"{method.upper()} {path}" for path, operations in document["paths"].items() for method in operations}
    assert described == {
        "GET /api/collection", "GET /api/collection/items", "GET /api/collection/map", "GET /api/searches",
        "POST /api/searches", "GET /api/searches/{name}", "POST /api/searches/{name}/events",
        "POST /api/searches/{name}/uploads", "GET /api/searches/{name}/uploads/{sha}",
        "POST /api/searches/{name}/preview", "GET /api/searches/{name}/why/{place}",
        "GET /api/searches/{name}/rounds/{number}", "POST /api/searches/{name}/links",
    }  # fmt: skip
    assert hall.browser().get("/api").status_code == 200


def test_pages_send_every_act_with_the_values_of_its_event(hall: Hall) -> None:
    """Pictures by place, sketches as PNG. Pages cannot say how many acts to undo, nor send events of the server."""
    schemas = hall.app.openapi()["components"]["schemas"]
    sent = {
        name.removesuffix("Event").lower(): (
            sorted(schemas[name.replace("Event", "Detail")]["properties"]),
            schemas[name.replace("Event", "Detail")].get("required", []),
        )
        for name in schemas
        if name.endswith("Event")
    }
    assert sent == {
        "picture": (["crop", "place", "size", "upload"], []), "sketch": (["png", "size"], ["png"]),
        "words": (["size", "text"], ["text"]), "view": (["places"], ["places"]),
        "mark": (["grade", "place"], ["place", "grade"]), "refine": (["size"], []),
        "pin": (["group", "setting"], ["group", "setting"]), "seen": (["show"], ["show"]), "explore": (["on"], ["on"]),
        "forget": ([], []), "found": (["place"], ["place"]), "restart": (["keep"], []), "undo": ([], []),
        "close": ([], []),
    }  # fmt: skip


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_nothing_that_is_sent_breaks_it(hall: Hall, ana: Seeker, mode: GenerationMode) -> None:
    statuses: Counter[int] = Counter()
    document: Any = schemathesis.openapi.from_asgi("/openapi.json", hall.app)
    for found in document.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and "{name}" not in operation.path and operation.method == "get":
            continue  # nothing can be wrong with it

        @FEW
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            hall.ticks.time += 61
            if mode is GenerationMode.POSITIVE and "name" in case.path_parameters:
                case.path_parameters["name"] = ana.search
            response = case.call(headers={"X-CSRF-Token": ana.csrf}, cookies=dict(ana.client.cookies))
            case.validate_response(response, checks=CHECKS)
            statuses[response.status_code] += 1

        ask()
    assert statuses.total() > 60
    assert {200, 201} <= set(statuses) if mode is GenerationMode.POSITIVE else 422 in statuses
