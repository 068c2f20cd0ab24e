"""Nobody where they don't belong: links, sessions, others' studies, files, scripts, other sites' pages, bodies."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from httpx2 import Client, Response
from starlette.requests import Request
from web_samples import HOSTILE, START, URL, Person, Sample, opened

from endoxa.errors import RefusedError
from endoxa.store import catalogue, people
from endoxa.store import schema as s
from endoxa.web.security import BODY, HEADERS, UPLOAD, Patience

DAY = 86_400.0
INSIDE = re.compile(r"Traceback|File \"|sqlite|psycopg|SELECT |INSERT |site-packages|/tmp/|\.py\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """One site for the whole file; tests take a study each."""
    with opened(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest) -> None:
    """Each test begins at the same time, with nobody barred."""
    if "sample" in request.fixturenames:
        found: Sample = request.getfixturevalue("sample")
        found.clock.time = START
        found.studio.site.patience.tries.clear()


@pytest.fixture(scope="module")
def pets(sample: Sample) -> str:
    """A study that nothing is answered in."""
    return sample.make("pets", "four-results")


@pytest.fixture(scope="module")
def other(sample: Sample) -> str:
    """Somebody else's study."""
    return sample.make("other", "one-result")


@pytest.fixture(scope="module")
def judge(sample: Sample, pets: str) -> Person:
    """A judge at work."""
    return sample.judge(pets, "everybody")


@pytest.fixture(scope="module")
def organiser(sample: Sample, pets: str) -> Person:
    """Who runs the studies."""
    return sample.organiser(pets)


# Links


def test_a_forged_link_is_refused_like_one_that_never_was(sample: Sample, pets: str) -> None:
    link = sample.link(pets)
    way, _, token = link.rpartition("/")
    payload, _, signature = token.partition(".")
    flipped = ("A" if payload[3] != "A" else "B").join((payload[:3], payload[4:]))
    forged = [
        f"{flipped}.{signature}", f"{payload}.{signature[:-2]}", payload, f"{payload}.", f".{signature}", signature,
        token[:-1], token + "x", token.swapcase(), "x" * 300, "%2e%2e", "%00", "%F0%9F%90%B1", "null", '"x"', "a.b.c",
        # signed with another site's key
        people.URLSafeSerializer("another key", salt="invitation").dumps("secret"),
        # signed with the right key for another purpose
        people.URLSafeSerializer(sample.home.key, salt="session").dumps("secret"),
    ]  # fmt: skip
    right_but_unknown = people.URLSafeSerializer(sample.home.key, salt="invitation").dumps("secret")
    said = set()
    for number, wrong in enumerate([*forged, right_but_unknown]):
        for method in ("GET", "POST"):
            browser = sample.browser(f"10.9.{number}.1")
            answer = browser.request(method, f"{way}/{wrong}", headers={"Accept": "text/html"})
            assert answer.status_code == 404, wrong
            assert not answer.cookies
            said.add(re.sub(r'content="[0-9a-f]*"', "", answer.text))
    assert len(said) <= 2  # "nothing at this address" and "not known here": which part was wrong is not told
    assert sample.browser().get(link).status_code == 200


def test_a_link_opens_until_it_expires_and_its_session_with_it(sample: Sample, other: str) -> None:
    link = sample.link(other, days=2)
    judge = sample.enter(link, other, "brief")
    sample.clock.time += 2 * DAY - 1
    assert judge.get("me").status_code == 200
    assert sample.browser().get(link).status_code == 200
    sample.clock.time += 1
    assert judge.get("me").status_code == 401
    for answer in (sample.browser().get(link), sample.browser().post(link, data={"nickname": "brief"})):
        assert answer.status_code == 410
        assert "expired" in answer.text
        assert not answer.cookies


def test_a_session_ends_after_thirty_days_though_the_link_opens_longer(sample: Sample, other: str) -> None:
    judge = sample.enter(sample.link(other, days=90), other, "patient")
    sample.clock.time += 30 * DAY
    assert judge.get("me").status_code == 401
    again = sample.enter(judge.link, other)
    assert again.get("me").json()["rater"]["nickname"] == "patient"


def test_withdrawing_a_link_ends_running_sessions_at_once(sample: Sample, other: str) -> None:
    judge, organiser = sample.judge(other, "unwanted"), sample.organiser(other)
    task = judge.task()
    number = organiser.get("status").json()["invitations"][-1]["id"]
    assert organiser.post(f"invitations/{number}/withdraw").status_code == 204
    for path in ("me", "tasks", "/s/other"):
        assert judge.get(path).status_code == 401
    assert judge.answer(task, 5).status_code == 401
    assert sample.browser().get(judge.link).status_code == 410
    assert sample.browser().post(judge.link, data={"nickname": "unwanted"}).status_code == 410


def test_the_organisers_link_works_once(sample: Sample) -> None:
    link = sample.link(None, "organiser")
    for _ in range(3):  # looking at the page does not use it up: mail programs and chats look too
        assert sample.browser().get(link).status_code == 200
    sample.enter(link)
    as_judge = link.replace("/organise/", "/join/")
    assert sample.browser().get(link).status_code == 410
    assert sample.browser().post(link).status_code == 410
    assert sample.browser().get(as_judge).status_code == 410
    refused = sample.browser().post(as_judge, data={"nickname": "me"})
    assert refused.status_code in {404, 410}
    assert not refused.cookies


def test_an_organisers_link_makes_no_judge_and_a_judges_link_no_organiser(sample: Sample, pets: str) -> None:
    fresh_link = sample.link(None, "organiser").replace("/organise/", "/join/")
    refused = sample.browser().post(fresh_link, data={"nickname": "me"})
    assert (refused.status_code, dict(refused.cookies)) == (404, {})
    as_organiser = sample.link(pets).replace("/join/", "/organise/")
    for answer in (sample.browser().get(as_organiser), sample.browser().post(as_organiser)):
        assert (answer.status_code, dict(answer.cookies)) == (404, {})


def test_of_many_clicks_at_once_on_the_organisers_link_one_gets_in(tmp_path: Path, database: str | None) -> None:
    with opened(tmp_path, database) as sample:
        link = sample.link(None, "organiser")
        start = threading.Barrier(6)

        def click(_: int) -> int:
            browser = sample.browser()
            start.wait()
            return browser.post(link).status_code

        with ThreadPoolExecutor(6) as pool:
            codes = sorted(pool.map(click, range(6)))
        assert codes == [303, 410, 410, 410, 410, 410]


def test_people_who_come_at_once_with_one_nickname_are_told_apart(tmp_path: Path, database: str | None) -> None:
    with opened(tmp_path, database) as sample:
        name = sample.make("crowd")
        links = [sample.link(name) for _ in range(8)]
        start = threading.Barrier(8)

        def click(link: str) -> int:
            browser = sample.browser()
            start.wait()
            return browser.post(link, data={"nickname": "ana"}).status_code

        with ThreadPoolExecutor(8) as pool:
            codes = sorted(pool.map(click, links))
        assert codes[0] == 303
        assert set(codes[1:]) <= {409, 422}  # choose another nickname, or try again
        with sample.home.store.reading() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(s.raters)) == 1


TAKEN = [
    ("ana", "ANA"), ("ana b", " ana\u200b  b "), ("é", "e\u0301"), ("ÄNNE", "änne"), ("Straße", "STRASSE"), ("ǅ", "ǆ")
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), TAKEN)
def test_nobody_takes_over_another_judges_work_by_their_nickname(sample: Sample, first: str, second: str) -> None:
    name = sample.make(uuid.uuid4().hex)
    owner = sample.judge(name, first)
    owner.answer(owner.task(), 5)
    refused = sample.browser().post(sample.link(name), data={"nickname": second})
    assert owner.get("me").status_code == 200
    assert refused.status_code == 422
    assert "is taken" in refused.text


def test_after_a_refused_nickname_another_can_be_written(sample: Sample, other: str) -> None:
    sample.judge(other, "first")
    link = sample.link(other)
    page = sample.browser().post(link, data={"nickname": "first"})
    field = re.search(r"<input id=\"nickname\"[^>]*>", page.text)
    assert field is not None
    assert "readonly" not in field.group()
    assert sample.browser().post(link, data={"nickname": "second"}).status_code == 303


@pytest.mark.parametrize("nickname", ["", " \t ", "\u200b\u202e", "\x00\x01", "a" * 61, "x" * 300])
def test_nicknames_that_are_none_are_refused_on_the_page(sample: Sample, other: str, nickname: str) -> None:
    answer = sample.browser().post(sample.link(other), data={"nickname": nickname})
    assert answer.status_code == 422
    assert sample.studio.site.cookie not in answer.cookies


# Sessions


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(sample: Sample, pets: str, tmp_path: Path) -> None:
    def cookie(browser: Any, link: str) -> str:
        answer: Response = browser.post(link, data={"nickname": uuid.uuid4().hex})
        return answer.headers["set-cookie"]

    plain = cookie(sample.browser(), sample.link(pets))
    assert re.match(r"endoxa-study-[0-9a-f]{8}=[\w-]{40,};", plain)
    for part in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert part in plain
    assert "Domain" not in plain
    with opened(tmp_path, url="https://study.example") as safe:
        safe.make("pets")
        behind = cookie(safe.browser(), safe.link("pets"))
        assert behind.startswith("__Host-endoxa-study-")
        for part in ("HttpOnly", "SameSite=lax", "Path=/", "Secure"):
            assert part in behind
        judge = safe.judge("pets")
        left = judge.post("leave")
        assert left.status_code == 204
        # a browser takes a __Host- cookie, and so its removal, only with Secure and Path=/
        assert "Secure" in left.headers["set-cookie"]
        assert "Path=/" in left.headers["set-cookie"]
        assert judge.get("me").status_code == 401


def test_secrets_are_kept_as_digests_only(sample: Sample, other: str) -> None:
    judge = sample.judge(other, "secretive")
    secret = judge.client.cookies[sample.studio.site.cookie]
    token = judge.link.rpartition("/")[2]
    inner = people.URLSafeSerializer(sample.home.key, salt="invitation").loads(token)
    with sample.home.store.reading() as connection:
        for table in s.metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                for value in row:
                    assert not any(one in str(value) for one in (secret, token, inner))


def test_leaving_ends_the_session_for_good(sample: Sample, other: str) -> None:
    judge = sample.judge(other, "leaver")
    secret = judge.client.cookies[sample.studio.site.cookie]
    assert judge.post("leave").status_code == 204
    for name in (sample.studio.site.cookie, "endoxa"):
        thief = sample.browser()
        thief.cookies.set(name, secret)
        assert thief.get("/api/studies/other/me").status_code == 401


def test_sessions_of_earlier_versions_go_on(sample: Sample, other: str) -> None:
    """Their cookie had the same name on all servers."""
    judge = sample.judge(other, "earlier")
    secret = judge.client.cookies[sample.studio.site.cookie]
    judge.client.cookies.clear()
    judge.client.cookies.set("endoxa", secret)
    assert judge.get("me").json()["rater"]["nickname"] == "earlier"
    assert judge.post("leave").status_code == 204
    assert judge.get("me").status_code == 401


@pytest.mark.parametrize("cookie", ["", "x", "a" * 5000, "é", "%00", "' or 1=1 --", '"quoted"'])
def test_cookies_that_are_none_open_nothing(sample: Sample, pets: str, cookie: str) -> None:
    for name in (sample.studio.site.cookie, "endoxa"):
        answer = sample.browser().get("/api/studies/pets/me", headers={"Cookie": f"{name}={cookie}".encode("latin-1")})
        assert answer.status_code == 401


# A reply that is lost


@pytest.mark.parametrize("role", ["judge", "participant", "organiser"])
def test_a_join_whose_reply_is_lost_can_be_sent_again(sample: Sample, other: str, role: str) -> None:
    link = sample.link(None if role == "organiser" else other, role)
    browser, form = sample.browser(), {"nickname": f"lost {role}"}
    assert browser.get(link).status_code == 200
    before = list(browser.cookies.jar)
    assert browser.post(link, data=form).status_code == 303
    sample.renew()  # nothing of the reply arrived, and the server was started again
    browser = sample.browser()
    for cookie in before:
        browser.cookies.jar.set_cookie(cookie)
    assert browser.get(link).status_code == 200  # reloaded, or opened from the mail
    again = browser.post(link, data=form)
    assert again.status_code == 303
    assert browser.get(again.headers["location"]).status_code == 200
    assert list(browser.cookies) == [sample.studio.site.cookie]  # the key is used up
    if role == "organiser":  # the link still works once
        assert browser.post(link, data=form).status_code == 410
        stranger = sample.browser()
        assert stranger.get(link).status_code == 410
        assert stranger.post(link, data=form).status_code == 410


@pytest.mark.parametrize("key", ["", "short", "x" * 31, "y" * 64])
def test_a_key_of_a_join_that_was_guessed_opens_nothing(sample: Sample, key: str) -> None:
    link = sample.link(None, "organiser")
    browser = sample.browser()
    browser.get(link)
    browser.post(link)
    stranger = sample.browser()
    stranger.cookies.set(f"{sample.studio.site.cookie}-join", key)
    assert stranger.get(link).status_code == 410
    assert stranger.post(link).status_code == 410
    assert sample.studio.site.cookie not in stranger.cookies


def test_a_session_that_ended_does_not_come_back_by_its_key(sample: Sample, other: str) -> None:
    link = sample.link(other)
    browser = sample.browser()
    browser.get(link)
    [(name, key)] = browser.cookies.items()
    browser.post(link, data={"nickname": "gone"})
    first = browser.cookies[sample.studio.site.cookie]
    with sample.home.store.writing() as connection:
        people.leave(connection, first, now=START)
    browser.cookies.set(name, key)
    assert browser.post(link, data={"nickname": "gone"}).status_code == 303
    assert browser.cookies[sample.studio.site.cookie] != first
    assert browser.get(f"/s/{other}").status_code == 200


# Other people's things

JUDGES = [("GET", "me"), ("GET", "tasks"), ("POST", "answers"), ("POST", "undo"), ("POST", "events"), ("POST", "leave")]
ORGANISERS = [
    ("GET", "status"), ("GET", "export?form=csv"), ("POST", "invitations"), ("POST", "invitations/1/withdraw"),
    ("POST", "state"), ("POST", "results"), ("POST", "edit"), ("POST", "delete"),
]  # fmt: skip
BODIES = {
    "answers": {"key": str(uuid.uuid4()), "task": 1}, "undo": {"key": str(uuid.uuid4())}, "events": {"kind": "pause"},
    "invitations": {}, "state": {"state": "closed"}, "results": {"open": True},
    "edit": {"title": "Mine"}, "delete": {"name": "pets"},
}  # fmt: skip


def ask(person: Person, study: str, method: str, path: str) -> Response:
    full = f"/api/studies/{study}/{path}"
    return person.get(full) if method == "GET" else person.post(full, BODIES.get(path))


def test_without_a_session_everything_is_closed(sample: Sample, pets: str) -> None:
    nobody = Person(sample.browser(), pets)
    for method, path in JUDGES + ORGANISERS:
        assert ask(nobody, pets, method, path).status_code == 401, path
        assert ask(nobody, "no-such-study", method, path).status_code == 401, path
    for page in ("/s/pets", "/dashboard", "/dashboard/pets", "/submit/pets", f"/files/pets/{'a' * 64}"):
        assert nobody.get(page).status_code == 401
    assert nobody.client.post("/submit/pets", files={"run": b"x"}).status_code in {401, 403}


def test_a_judge_of_one_study_does_not_learn_that_another_exists(sample: Sample, pets: str, other: str) -> None:
    judge = sample.judge(other, "curious")
    for method, path in JUDGES:
        there, nowhere = ask(judge, pets, method, path), ask(judge, "no-such-study", method, path)
        assert there.status_code == 404, path
        assert there.text == nowhere.text
    for page in ("/s/pets", "/submit/pets", "/submit/other"):
        assert judge.get(page).status_code == 404
    assert judge.get("me").status_code == 200  # and is still signed in


def test_judges_and_participants_have_no_part_in_organising(sample: Sample, pets: str, other: str) -> None:
    for person in (sample.judge(pets, "ambitious"), sample.participant(pets, "lab-a")):
        for study in (pets, other, "no-such-study"):
            for method, path in ORGANISERS:
                assert ask(person, study, method, path).status_code == 403, path
            assert person.get(f"/dashboard/{study}").status_code == 403
        assert person.get("/dashboard").status_code == 403
    with sample.home.store.reading() as connection:
        assert catalogue.find(connection, pets).state == "open"
        assert not catalogue.find(connection, pets).results_open


def test_participants_judge_nothing_and_the_organiser_does_not_either(sample: Sample, pets: str) -> None:
    for person in (sample.participant(pets, "lab-b"), sample.organiser(pets)):
        for method, path in JUDGES:
            assert ask(person, pets, method, path).status_code == 404, path
        assert person.get("/s/pets").status_code == 404


def test_tasks_and_items_of_others_cannot_be_answered(sample: Sample, pets: str, other: str) -> None:
    ana, ben, stranger = sample.judge(pets, "ana"), sample.judge(pets, "ben"), sample.judge(other, "stranger")
    mine, theirs = ana.task(), stranger.task()
    assert ana.answer(theirs, 3).status_code == 404  # another study's task
    wrong = [{"item": item["id"], "grade": 3} for item in theirs["items"]]
    assert ana.answer(mine, wrong).status_code == 422  # my task, another study's item
    tasks = {task["id"] for task in ana.get("tasks?count=10").json()["tasks"]}
    given = {task["id"] for task in ben.get("tasks?count=10").json()["tasks"]}
    with sample.home.store.reading() as connection:
        every = set(connection.scalars(sa.select(s.tasks.c.id).join(s.studies).where(s.studies.c.name == pets)))
    for number in sorted(every - tasks) + sorted(given - tasks):  # not put before me
        body = {"key": str(uuid.uuid4()), "task": number, "kind": "skip"}
        assert ana.post("answers", body).status_code == 404
    # a key that another judge used is mine as well: keys are counted per judge
    key = str(uuid.uuid4())
    assert ana.answer(mine, 3, key=key).status_code == 201
    assert ben.answer(ben.task(), 3, key=key).status_code == 201


def test_an_invitation_is_withdrawn_only_through_its_own_study(sample: Sample, pets: str, other: str) -> None:
    organiser = sample.organiser(pets)
    made = organiser.post("/api/studies/other/invitations", {"nickname": "kept"}).json()
    assert organiser.post(f"invitations/{made['id']}/withdraw").status_code == 404
    for number in (0, 10**9, 2**31 - 1):
        assert organiser.post(f"invitations/{number}/withdraw").status_code == 404
    for number in ("-1", "x", str(2**31), str(2**63), "9" * 5000, "1e3"):
        assert organiser.post(f"invitations/{number}/withdraw").status_code in {404, 422}
    assert sample.browser().get(urlsplit(made["url"]).path).status_code == 200


# Files


def test_files_open_for_the_own_study_only(sample: Sample, pets: str, other: str) -> None:
    judge, stranger = sample.judge(pets, "looker"), sample.judge(other, "peeper")
    with sample.home.store.reading() as connection:
        held = {
            name: set(connection.scalars(sa.select(s.items.c.file).join(s.studies).where(s.studies.c.name == name)))
            for name in (pets, other)
        }
    mine = next(file for file in held[pets] if file)
    theirs = next(file for file in held[other] - held[pets] if file)
    shown = judge.get(f"/files/pets/{mine}")
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/jpeg")
    assert "private" in shown.headers["cache-control"]
    assert len(judge.get(f"/files/pets/{mine}?size=small").content) < len(shown.content)
    assert stranger.get(f"/files/pets/{mine}").status_code == 404
    assert judge.get(f"/files/pets/{theirs}").status_code == 404
    assert judge.get(f"/files/other/{theirs}").status_code == 404
    assert sample.organiser().get(f"/files/other/{theirs}").status_code == 200
    # the picture lies on the disk, but this study does not hold it
    assert (sample.home.files / f"{theirs}.jpg").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../key", "..%2fkey", "%2e%2e/key", "%2e%2e%2fkey", "..%5ckey", "%2e%2e%5ckey", "/etc/passwd", "%2fetc%2fhosts",
        "..%252fkey", "key%00.jpg", "%00", "{mine}%00", "{mine}.jpg", "{mine}.small", "{mine}.small.jpg", "{MINE}",
        "{mine}%2f..%2f..%2fkey", "{mine}/../../key", "%c0%ae%c0%ae/key", "....//key", "{mine}%20", "~", "C:%5ckey",
        "{short}", "{mine}?size=../../key", "{mine}%0a", "%EF%BC%8E%EF%BC%8E/key",
    ],
)  # fmt: skip
def test_no_path_leads_out_of_the_pictures(sample: Sample, judge: Person, path: str) -> None:
    with sample.home.store.reading() as connection:
        study = catalogue.find(connection, "pets")
        pictures = sa.select(s.items.c.file).where(s.items.c.study_id == study.id, s.items.c.file.is_not(None))
        mine = connection.scalar(pictures.limit(1))
    assert mine is not None
    wanted = path.replace("{mine}", mine).replace("{MINE}", mine.upper()).replace("{short}", mine[:63])
    for start in ("/files/pets/", "/static/", "/files/"):
        answer = judge.get(start + wanted)
        assert sample.home.key not in answer.text
        assert "root:" not in answer.text
        if "?size" in path and start == "/files/pets/":
            assert answer.headers["content-type"] == "image/jpeg"
        else:
            assert answer.status_code in {404, 422}, wanted


# Scripts


class Page(HTMLParser):
    """What a browser would make of a page: tags with their attributes, comments, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.words += data

    def assert_harmless(self) -> None:
        for tag, attributes in self.tags:
            assert tag not in {"img", "iframe", "object", "embed", "base"}, tag
            assert not any(name.startswith("on") or name == "style" for name in attributes), attributes
            if tag == "script":
                assert (attributes.get("src") or "").startswith("/static/")
            for name in ("href", "src", "action"):
                assert (attributes.get(name) or "/").startswith(("/", "#")), attributes
                assert not (attributes.get(name) or "/").startswith("//"), attributes


def test_scripts_in_what_people_write_stay_text(tmp_path: Path) -> None:
    with opened(tmp_path) as sample:
        sample.make(
            "study", "one-result", title=f"T{HOSTILE}", instructions=f"I{HOSTILE}\n\nSecond", comments=True,
            queries={"q1": f"Q{HOSTILE}", "q2": "b", "q3": "c"}, texts={"d3": f"D{HOSTILE}"},
            systems=("<script>s</script>", "b", "c"),
        )  # fmt: skip
        link = sample.link("study")
        joining = sample.browser().get(link)
        nickname = "<script>n</script>"
        refused = sample.browser().post(link, data={"nickname": f"{HOSTILE}{'x' * 60}"})
        judge = sample.enter(link, "study", nickname)
        taken = sample.browser().post(sample.link("study"), data={"nickname": nickname})
        judge.finish(lambda task: [{"item": item["id"], "grade": 3} for item in task["items"]])
        organiser, lab = sample.organiser("study"), sample.participant("study", "<script>p</script>")
        run = "q1 Q0 d1 1 2 <script>r</script>\nq1 Q0 d2 2 1 <script>r</script>\n"
        sent = lab.client.post(
            "/submit/study", data={"csrf": lab.csrf}, files={"run": ("<script>f</script>.run", run.encode())}
        )
        assert sent.status_code == 303
        bad = {"run": ("<img src=x onerror=alert(3)>.run", b"<script>bad</script> line\n")}
        assert lab.client.post("/submit/study", data={"csrf": lab.csrf}, files=bad).status_code == 303
        organiser.post("results", {"open": True})
        pages = {
            "join": joining, "refused": refused, "taken": taken, "judge": judge.get("/s/study"),
            "studies": organiser.get("/dashboard"), "dashboard": organiser.get("/dashboard/study"),
            "submit": lab.get("/submit/study"), "message": judge.get("/<script>", headers={"Accept": "text/html"}),
        }  # fmt: skip
        for name, answer in pages.items():
            assert answer.headers["content-type"].startswith("text/html"), name
            page = Page(answer.text)
            page.assert_harmless()
            if name in {"join", "judge", "studies", "dashboard", "submit"}:
                assert f"T{HOSTILE}" in page.words, name
        assert f"I{HOSTILE}" in Page(joining.text).words
        assert "<script>r</script>" in Page(pages["submit"].text).words
        task = organiser.get("status")
        assert task.headers["content-type"] == "application/json"
        assert task.json()["raters"][0]["nickname"] == nickname
        assert "<script>s</script>" in [one["system"] for one in task.json()["verdict"]["systems"]]
        assert task.json()["submissions"][0]["participant"] == "<script>p</script>"
        for form in ("csv", "jsonl", "qrels"):
            answer = organiser.get(f"export?form={form}")
            assert answer.headers["content-disposition"].startswith("attachment")
            assert answer.headers["x-content-type-options"] == "nosniff"


# Other sites' pages

ELSEWHERE = [
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
    {"Origin": "null"}, {"Origin": "http://study.example"}, {"Origin": "http://study.example:8765.evil.example"},
    {"Origin": "http://evil.example#study.example:8765"}, {"Sec-Fetch-Site": "cross-site", "Origin": URL},
    {"Sec-Fetch-Site": "CROSS-SITE"}, {"Sec-Fetch-Site": ""}, {"Origin": ""}, {"Origin": "//[::1"},
]  # fmt: skip


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_acts_of_another_sites_page_are_refused(
    sample: Sample, pets: str, judge: Person, organiser: Person, headers: dict[str, str]
) -> None:
    link, entrance = sample.link(pets), sample.link(None, "organiser")
    task = judge.task()
    assert judge.post("answers", _answer(task), headers=headers).status_code == 403
    assert judge.post("leave", headers=headers).status_code == 403
    assert organiser.post("state", {"state": "closed"}, headers=headers).status_code == 403
    assert organiser.post("invitations", {}, headers=headers).status_code == 403
    for path in (link, entrance):  # signing a victim in as somebody else is an attack too
        answer = sample.browser().post(path, data={"nickname": "victim"}, headers=headers)
        assert (answer.status_code, dict(answer.cookies)) == (403, {})
    assert judge.task() == task
    assert sample.browser().get(entrance).status_code == 200


def _answer(task: dict[str, Any]) -> dict[str, Any]:
    responses = [{"item": item["id"], "grade": 3} for item in task["items"]]
    return {"key": str(uuid.uuid4()), "task": task["id"], "responses": responses}


@pytest.mark.parametrize("headers", [{"Origin": URL}, {"Sec-Fetch-Site": "same-origin"}, {}], ids=str)
def test_acts_of_our_own_page_are_not(judge: Person, headers: dict[str, str]) -> None:
    assert judge.post("events", {"kind": "pause"}, headers=headers).status_code == 204


def test_acts_need_the_sessions_own_token(sample: Sample, pets: str) -> None:
    judge, another = sample.judge(pets, "token-a"), sample.judge(pets, "token-b")
    path = "/api/studies/pets/events"
    for wrong in (another.csrf, "", "x", judge.csrf[:-1], judge.csrf.upper(), judge.csrf + "0", "é", "\x7f"):
        headers = {"X-CSRF-Token": wrong.encode("latin-1")}
        assert judge.client.post(path, json={"kind": "pause"}, headers=headers).status_code == 403, wrong
    assert judge.client.post(path, json={"kind": "pause"}).status_code == 403
    assert judge.client.post(f"{path}?csrf={judge.csrf}", json={"kind": "pause"}).status_code == 403
    assert judge.post(path, {"kind": "pause"}).status_code == 204
    lab = sample.participant(pets, "token-c")
    for data in ({}, {"csrf": judge.csrf}, {"csrf": ""}):
        assert lab.client.post("/submit/pets", data=data, files={"run": b"x"}).status_code == 403
    assert lab.client.post(f"/submit/pets?csrf={lab.csrf}", files={"run": b"x"}).status_code == 403


def test_what_a_form_can_send_changes_nothing(organiser: Person) -> None:
    """An HTML form sends three kinds of content and no header of ours."""
    content = b'{"state": "closed"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = organiser.client.post("/api/studies/pets/state", content=content, headers={"Content-Type": kind})
        assert answer.status_code in {403, 422}
    assert organiser.get("status").json()["study"]["state"] == "open"


def test_looking_changes_no_answer(sample: Sample) -> None:
    name = sample.make("untouched")
    judge, organiser = sample.judge(name, "ana"), sample.organiser(name)
    judge.answer(judge.task(), 3)

    def kept() -> list[Any]:
        with sample.home.store.reading() as connection:
            tables = (s.answers, s.events, s.invitations, s.studies, s.documents)
            return [connection.execute(sa.select(table)).all() for table in tables]

    before = kept()
    for person in (judge, organiser):
        for path in ("me", "tasks", "answers", "undo", "leave", "events", "status", "state", "results", "invitations",
                     "edit", "delete", "invitations/1/withdraw", "export", "/s/untouched",
                     "/dashboard/untouched"):  # fmt: skip
            for method in ("GET", "HEAD", "OPTIONS", "TRACE"):
                person.client.request(method, person._full(path))
    assert kept() == before


# Headers, methods, addresses


def test_every_answer_carries_the_headers(sample: Sample, pets: str, judge: Person, organiser: Person) -> None:
    browser = sample.browser()
    with sample.home.store.reading() as connection:
        file = connection.scalar(sa.select(s.items.c.file).where(s.items.c.file.is_not(None)).limit(1))
    answers = [
        browser.get("/"), browser.get("/favicon.ico"), browser.get("/static/judge.js"), browser.get("/static/none"),
        browser.get("/none"), browser.get("/none", headers={"Accept": "text/html"}), browser.get("/api"),
        browser.get("/openapi.json"), browser.get("/dashboard"), browser.get(sample.link(pets)), browser.put("/"),
        browser.get("/join/wrong"), browser.post(sample.link(pets), data={"nickname": ""}), judge.get("me"),
        browser.post(sample.link(pets), data={"nickname": "heads"}), judge.get("/s/pets"), judge.get("tasks?count=99"),
        judge.get(f"/files/pets/{file}"), judge.get("/files/pets/none"), judge.post("undo", {"key": str(uuid.uuid4())}),
        judge.post("events", {"kind": "pause"}), judge.post("events", content=b"{"), organiser.get("status"),
        organiser.get("export"), organiser.get("/dashboard/pets"), judge.post("events", content=b"x" * (BODY + 1)),
        judge.post("events", content=iter([b"x" * BODY, b"x"])), browser.request("BREW", "/s/pets"),
        judge.get("me", headers={"Content-Length": "x"}),
        judge.get(f"/files/pets/{file}", headers={"Range": "bytes=x-"}),
    ]  # fmt: skip
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers.get(name) == value, (answer.url, answer.status_code, name)
        said = answer.headers["cache-control"]
        assert said == "no-store" or "/files/" in str(answer.url) or "/static/" in str(answer.url), answer.url
        assert "server" not in answer.headers
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_what_breaks_inside_is_told_without_its_insides(sample: Sample, pets: str, monkeypatch: Any) -> None:
    judge = sample.judge(pets, "unlucky")

    def broken(*_: object, **__: object) -> None:
        raise ValueError("SELECT secret FROM /tmp/place")

    monkeypatch.setattr("endoxa.store.work.progress", broken)
    judge.client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
    for path, accept in (("me", "*/*"), ("/api/studies/pets/tasks", "text/html")):
        answer = judge.get(path, headers={"Accept": accept})
        assert answer.status_code == 500
        assert not INSIDE.search(answer.text)
        assert answer.json()["detail"]
        for name, value in HEADERS.items():
            assert answer.headers.get(name) == value, name
        assert answer.headers["cache-control"] == "no-store"


def test_a_database_that_is_away_is_said_to_be_away(sample: Sample, pets: str, monkeypatch: Any) -> None:
    judge = sample.judge(pets, "waiting")

    def away(*_: object, **__: object) -> None:
        raise sa.exc.OperationalError("SELECT secret", {}, OSError("server at /tmp/socket closed the connection"))

    monkeypatch.setattr("endoxa.store.work.progress", away)
    answer = judge.get("me")
    assert answer.status_code == 503
    assert "retry-after" in answer.headers
    assert not INSIDE.search(answer.text)


def test_errors_say_nothing_of_the_inside(sample: Sample, judge: Person, organiser: Person) -> None:
    wrong = [
        judge.get("/api/studies/pets'/me"), judge.get("/api/studies/%00/me"), judge.get("/api/studies/pets%0a/me"),
        judge.get(f"/api/studies/{'x' * 500}/me"), judge.get("/api/studies/../../etc"), judge.get("tasks?count=x"),
        judge.get("tasks?count=" + "9" * 5000), organiser.get("export?form=../../etc/passwd"),
        organiser.get("export?form=qrels"), organiser.get("export?history=perhaps"), judge.post("answers", []),
        organiser.get("/dashboard/none", headers={"Accept": "text/html"}), organiser.get("export?form=csv"),
    ]  # fmt: skip
    for answer in wrong:
        assert answer.status_code < 500
        assert not INSIDE.search(answer.text), answer.text
        assert str(sample.folder) not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "study.example", "[::1]", "a b", ""])
def test_the_host_header_changes_no_link_and_no_redirect(
    sample: Sample, other: str, organiser: Person, host: str
) -> None:
    made = organiser.post("invitations", {}, headers={"Host": host})
    assert made.status_code == 201
    assert made.json()["url"].startswith(f"{URL}/join/")
    headers = {"Host": host, "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil"}
    answers = [
        sample.browser().post(sample.link(other), data={"nickname": uuid.uuid4().hex}, headers=headers),
        *(
            organiser.get(path, headers=headers)
            for path in ("/dashboard/", "/s/other/", "/static", "/api/", "/join/x/")
        ),
    ]
    for answer in answers:
        assert urlsplit(answer.headers.get("location", "/")).netloc == ""
        assert "evil" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example/", "//evil.example/dashboard/", "/\\evil.example/", "/%2f%2fevil.example", "/%0d%0aLocation:x",
        "/dashboard/?next=//evil.example", "/join/x?next=//evil.example",
    ],
)  # fmt: skip
def test_nothing_redirects_elsewhere(organiser: Person, path: str) -> None:
    answer = organiser.client.get(f"{URL}{path}")
    assert "location" not in answer.headers


# Guessing


def test_who_guesses_is_slowed_and_nobody_else(sample: Sample, pets: str) -> None:
    clock = [0.0]
    patience = Patience(clock=lambda: clock[0])
    object.__setattr__(sample.studio.site, "patience", patience)
    link = sample.link(pets)
    guesser = sample.browser("10.6.6.6")
    codes = [guesser.get(f"/join/{uuid.uuid4()}").status_code for _ in range(60)]
    assert codes == [404] * 20 + [429] * 40
    assert guesser.get(link).status_code == 429  # a right one too: else guessing would go on at full speed
    assert sample.browser("10.7.7.7").get(link).status_code == 200
    clock[0] += 61
    assert guesser.get(link).status_code == 200


def test_ten_thousand_wrong_keys_get_nowhere(sample: Sample, pets: str) -> None:
    clock = [0.0]
    object.__setattr__(sample.studio.site, "patience", Patience(clock=lambda: clock[0]))
    link = sample.link(pets)
    token = link.rpartition("/")[2]
    answers = {404: 0, 429: 0}
    begun = time.monotonic()
    for number in range(10_000):
        clock[0] += 0.01  # a hundred a second
        wrong = token[:-5] + f"{number:05d}"
        try:
            sample.studio.invitation(_from(f"10.6.6.{number % 3}"), wrong)
        except RefusedError as error:
            answers[error.status] += 1
    assert answers[404] <= 3 * 20 * 2  # 100 seconds hold two windows of a minute
    assert answers[429] == 10_000 - answers[404]
    assert time.monotonic() - begun < 30
    assert sample.browser("10.7.7.7").get(link).status_code == 200


def test_guessing_from_many_addresses_shuts_nobody_else_out(sample: Sample, pets: str) -> None:
    clock = [0.0]
    object.__setattr__(sample.studio.site, "patience", Patience(clock=lambda: clock[0]))
    link = sample.link(pets)
    tried = 0
    for number in range(3_000):
        try:
            sample.studio.invitation(_from(f"10.{number % 500 // 250}.{number % 250}.1"), f"wrong{number}")
        except RefusedError as error:
            tried += error.status == 404
    assert tried < 700  # together they are slowed as well
    assert sample.browser("10.7.7.7").get(link).status_code == 200


def test_a_whole_network_of_six_counts_as_one(sample: Sample) -> None:
    object.__setattr__(sample.studio.site, "patience", Patience(clock=lambda: 0.0))
    codes = []
    for number in range(60):  # anybody with IPv6 has 2^64 addresses
        try:
            sample.studio.invitation(_from(f"2001:db8:1:2::{number:x}"), f"wrong{number}")
        except RefusedError as error:
            codes.append(error.status)
    assert codes.count(404) == 20


def test_what_is_remembered_of_guessers_is_bounded() -> None:
    clock = [0.0]
    patience = Patience(clock=lambda: clock[0])
    for number in range(30_000):
        clock[0] += 0.1
        patience.failed(f"a{number}")
    assert len(patience.tries) <= 10_001


def _from(address: str) -> Request:
    return Request({"type": "http", "client": (address, 1), "headers": []})


# Bodies


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_that_are_too_long_are_cut_off(sample: Sample, pets: str, chunked: bool) -> None:
    judge, lab = sample.judge(pets, f"long{chunked}"), sample.participant(pets, f"longlab{chunked}")
    body = json.dumps({"kind": "pause", "x": "y" * BODY}).encode()

    def sent(content: bytes) -> Any:
        return iter([content[at : at + 65_536] for at in range(0, len(content), 65_536)]) if chunked else content

    answer = judge.post("events", content=sent(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "long" in answer.json()["detail"]
    link = sample.link(pets)
    for path in (link, "/organise/x", "/nowhere", "/s/pets"):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = sample.browser().post(path, content=sent(b"nickname=" + b"x" * BODY), headers=form)
        assert answer.status_code in ({413} if not chunked or path == link else {413, 404, 405}), path
        assert not answer.cookies
    head = b'--b\r\nContent-Disposition: form-data; name="run"; filename="r.run"\r\n\r\n'
    content = head + b"x" * (UPLOAD + 1) + b"\r\n--b--\r\n"
    answer = lab.client.post(
        "/submit/pets", content=sent(content), headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert answer.status_code == 413


@pytest.mark.parametrize("length", ["-1", "x", "1e9", "\u00b2", "9" * 5000, "0x10", " ", "+5"])
def test_lengths_that_are_none_are_refused(sample: Sample, pets: str, length: str) -> None:
    answer = sample.browser().get("/", headers={"Content-Length": length.encode("latin-1")})
    assert answer.status_code in {400, 413}


MALFORMED = [
    b"", b"{", b"null", b"[]", b"1", b'"x"', b"\xff\xfe", b'{"kind": "pause"', b"{'kind': 'pause'}", b"[" * 100_000,
    b'{"kind":' * 30_000, b'{"kind": NaN}', b'{"kind": ' + b"9" * 5_000 + b"}", b"\x00", b'{"kind": "\\ud800"}',
    b'{"\\ud800": 1, "kind": "pause"}', b'{"kind": "pause", "kind": "x"}', b'{"kind": ["pause"]}',
    b'{"kind": {"$ne": 1}}', b'{"kind": "pause", "__proto__": {}}', b"\xef\xbb\xbf{}", b'{"kind": "pause"}\x00',
]  # fmt: skip


@pytest.mark.parametrize("content", MALFORMED, ids=lambda content: repr(content[:24]))
def test_malformed_bodies_are_the_senders_fault(judge: Person, content: bytes) -> None:
    for path in ("events", "answers", "undo"):
        answer = judge.post(path, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code in {400, 422}, answer.text
        assert isinstance(answer.json()["detail"], str)
        assert not INSIDE.search(answer.text)


def test_contents_of_another_kind_are_refused(judge: Person) -> None:
    for kind in ("text/plain", "text/xml", "application/x-www-form-urlencoded", "image/png", "application/jsonx", "x"):
        answer = judge.post("events", content=b'{"kind": "pause"}', headers={"Content-Type": kind})
        assert answer.status_code in {400, 415, 422}, kind


# A real server


def test_a_real_server_keeps_to_it(tmp_path: Path) -> None:
    import uvicorn

    from endoxa.web.serving import listen

    with opened(tmp_path) as sample:
        sample.make("pets")
        listening = listen("127.0.0.1", 0)
        port = listening.getsockname()[1]
        sample.renew(f"http://127.0.0.1:{port}")
        config = uvicorn.Config(sample.app, log_level="critical", access_log=False, server_header=False, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            with Client(base_url=sample.url) as browser:
                link = sample.link("pets")
                assert browser.get(link).status_code == 200
                assert browser.post(link, data={"nickname": "ana"}).status_code == 303
                assert browser.get("/api/studies/pets/me").json()["rater"]["nickname"] == "ana"
                long = browser.post("/api/studies/pets/events", content=iter([b"x" * 65_536] * 40))
                assert long.status_code in {403, 413}
                assert "server" not in long.headers
                for path in (
                    "/files/pets/../../key",
                    "/files/pets/..%2f..%2fkey",
                    "/static/../site.py",
                    "/static/%2e%2e/site.py",
                ):
                    assert browser.get(path).status_code == 404
                assert browser.get("/join/x", headers={"X-Forwarded-For": "1.2.3.4"}).status_code == 404
            raw = _raw(port, b"GET /static/../../../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b" 404 " in raw.split(b"\r\n", 1)[0]
            assert b"root:" not in raw
            raw = _raw(port, b"POST /api/studies/pets/events HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
            assert b" 413 " in raw.split(b"\r\n", 1)[0]
        finally:
            server.should_exit = True
            thread.join(timeout=10)
            listening.close()


def _raw(port: int, sent: bytes) -> bytes:
    import socket

    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(sent)
        found = b""
        while b"\r\n\r\n" not in found and (part := connection.recv(65_536)):
            found += part
    return found
