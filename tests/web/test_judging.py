"""What a judge's page is told and may say, on every screen; and that no answer is lost, doubled or changed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from web_samples import START, Person, Sample, opened

from endoxa.store import catalogue
from endoxa.store import schema as s
from endoxa.studies.design import SCREENS

PROGRESS = {"done", "total", "practice_left", "finished"}
Said = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """One site for the whole file; tests take a study each."""
    with opened(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(sample: Sample) -> None:
    """Each test begins at the same time."""
    sample.clock.time = START


def rows(sample: Sample, study: str) -> list[dict[str, Any]]:
    """Every row of answers, in the order that they came."""
    with sample.home.store.reading() as connection:
        found = connection.execute(
            sa.select(s.answers).join(s.studies).where(s.studies.c.name == study).order_by(s.answers.c.id)
        )
        return [dict(row._mapping) for row in found]


def said(screen: str, task: dict[str, Any], undecided: bool = False) -> Said:
    """An answer that the screen can give."""
    items = [item["id"] for item in task["items"]]
    if screen == "file-it":
        return [{"item": items[0], "category": None if undecided else "animals/cats"}]
    if screen == "rank-it":
        return [
            {"item": item, "rank": at, "relevance": max(0.0, 1.25 - 0.25 * at)}
            for at, item in enumerate(items, start=1)
        ]
    grade = SCREENS[screen].grades[-1].value
    return [{"item": item, "grade": None if undecided else grade} for item in items]


# Every screen


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_from_the_first_look_to_the_end(sample: Sample, screen: str) -> None:
    shape = SCREENS[screen]
    study = sample.make(
        f"all-{screen}", screen, known=shape.kind != "rank", title="A title", instructions="One.\nStill one.\n\nTwo."
    )
    judge = sample.judge(study, "ana")
    me = judge.get("me").json()
    assert set(me) == {"study", "rater", "progress"}
    assert me["study"]["instructions"] == ["One. Still one.", "Two."]
    assert me["study"] | {"screen": None, "categories": None, "instructions": None} == {
        "name": study, "title": "A title", "state": "open", "instructions": None, "comments": False, "skip": True,
        "screen": None, "categories": None, "question": shape.asks,
    }  # fmt: skip
    assert me["study"]["screen"] == {
        "name": screen, "kind": shape.kind, "per_task": shape.per_task,
        "grades": [{"value": g.value, "label": g.label, "key": g.key} for g in shape.grades],
    }  # fmt: skip
    assert (me["study"]["categories"] is not None) == (screen == "file-it")
    assert me["rater"] == {"nickname": "ana"}
    assert set(me["progress"]) == PROGRESS
    seen = []
    while tasks := judge.get("tasks").json()["tasks"]:
        task = tasks[0]
        assert set(task) == {"id", "practice", "query", "items", "previous"}
        assert (task["query"] is None) == (screen == "file-it")
        assert task["previous"] is None
        assert 1 <= len(task["items"]) <= shape.per_task
        for item in task["items"]:
            assert set(item) == {"id", "text", "image", "alt", "missing"}
            assert item["alt"]
            assert not item["missing"]
            if item["image"]:
                assert judge.get(item["image"]).headers["content-type"] == "image/jpeg"
        # the same come again until they are answered, and the next ones are those that were announced
        assert judge.get("tasks?count=1").json()["tasks"] == tasks[:1]
        if seen and len(tasks) > 1 and len(seen[-1]) > 1:
            assert [one["id"] for one in tasks[: len(seen[-1]) - 1]] == [one["id"] for one in seen[-1][1:]]
        answer = judge.answer(task, said(screen, task, undecided=len(seen) == 1 and shape.kind != "rank"))
        assert answer.status_code == 201, answer.text
        received = answer.json()
        assert set(received) == {"progress", "feedback"}
        assert (received["feedback"] is not None) == task["practice"]
        seen.append(tasks)
    last = judge.get("tasks").json()
    assert last["tasks"] == []
    assert last["progress"]["finished"]
    assert last["progress"]["done"] == last["progress"]["total"] == sum(not tasks[0]["practice"] for tasks in seen)
    kept = rows(sample, study)
    assert [row["task_id"] for row in kept] == [tasks[0]["id"] for tasks in seen for _ in tasks[0]["items"]]
    shown = {row["task_id"]: row["shown"] for row in kept}
    assert shown == {tasks[0]["id"]: [item["id"] for item in tasks[0]["items"]] for tasks in seen}
    assert all(row["propensity"] is None or 0 < row["propensity"] <= 1 for row in kept)
    assert [row["place"] for row in kept] == [at for tasks in seen for at in range(len(tasks[0]["items"]))]


def test_a_rating_task_knows_with_what_probability_it_was_chosen(sample: Sample) -> None:
    study = sample.make("chances", "four-results")
    judge = sample.judge(study)
    judge.finish(lambda task: said("four-results", task))
    kept = rows(sample, study)
    assert kept
    assert all(row["propensity"] is not None and row["selected_by"] for row in kept)


@pytest.mark.parametrize("hidden", [False, True])
def test_the_tree_is_shown_or_hidden(sample: Sample, hidden: bool) -> None:
    study = sample.make(f"tree-{hidden}", "file-it", hide_tree=hidden)
    judge = sample.judge(study)
    told = judge.get("me").json()["study"]["categories"]
    names = {"animals", "animals/birds", "animals/cats", "places", "places/beach", "places/town"}
    assert {one["name"] for one in told} == names
    if hidden:
        assert {one["depth"] for one in told} == {0}
        assert {one["leaf"] for one in told} == {True}
        labels = [one["label"] for one in told]
        assert labels == sorted(labels)
    else:
        assert [(one["label"], one["depth"], one["leaf"]) for one in told] == [
            ("animals", 0, False), ("birds", 1, True), ("cats", 1, True),
            ("places", 0, False), ("beach", 1, True), ("town", 1, True),
        ]  # fmt: skip
    task = judge.task()
    item = task["items"][0]["id"]
    for wrong in ("animals/dogs", "", "ANIMALS/CATS", "root"):
        assert judge.answer(task, [{"item": item, "category": wrong}]).status_code == 422
    assert judge.answer(task, [{"item": item, "category": "animals"}]).status_code == 201


def test_a_hidden_tree_does_not_give_its_shape_away(sample: Sample) -> None:
    judge = sample.judge(sample.make("shapeless", "file-it", hide_tree=True))
    told = judge.get("me").json()["study"]["categories"]
    assert len({tuple(sorted(one)) for one in told}) == 1
    assert [one["label"] for one in told] == ["animals", "beach", "birds", "cats", "places", "town"]


# Practice, gold


def test_practice_comes_first_and_says_what_was_looked_for(sample: Sample) -> None:
    study = sample.make("practice", "four-results", known=True)
    judge = sample.judge(study)
    tasks = judge.get("tasks").json()
    assert [task["practice"] for task in tasks["tasks"]] == [True, False, False]
    assert tasks["progress"]["practice_left"] == 1
    first = tasks["tasks"][0]
    grades = [5, 4, None, 5]
    responses = [{"item": item["id"], "grade": grade} for item, grade in zip(first["items"], grades, strict=True)]
    received = judge.answer(first, responses).json()
    assert received["feedback"] == [
        {
            "item": item["id"],
            "expected": "5",
            "expected_label": SCREENS["four-results"].grades[-1].label,
            "said": grade,
            "right": grade == 5,
        }
        for item, grade in zip(first["items"], grades, strict=True)
    ]
    assert received["progress"] | {"total": 0} == {"done": 0, "total": 0, "practice_left": 0, "finished": False}
    assert judge.answer(judge.task(), 3).json()["feedback"] is None


def test_practice_in_filing(sample: Sample) -> None:
    judge = sample.judge(sample.make("practice-file", "file-it", known=True))
    task = judge.task()
    received = judge.answer(task, [{"item": task["items"][0]["id"], "category": "places/town"}]).json()
    [told] = received["feedback"]
    assert (told["expected"], told["said"], told["right"]) == ("animals/cats", "places/town", False)


# Answering


def test_the_same_key_again_is_the_same_answer(sample: Sample) -> None:
    study = sample.make("twice", "one-result", known=True)
    judge = sample.judge(study)
    task, key = judge.task(), str(uuid.uuid4())
    first = judge.answer(task, 9, key=key)
    again = judge.answer(task, 9, key=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = judge.answer(task, 2, key=key)  # the key says that it is known; what it says now does not count
    assert other.status_code == 200
    assert [row["grade"] for row in rows(sample, study)] == [9.0]
    assert judge.answer(task, 2, key=key.upper()).status_code == 200  # the same key, spelt otherwise
    later = judge.answer(judge.task(), 2, key=key)  # a key of another task is no retry: the page must make a new one
    assert later.status_code in {409, 422}
    assert len(rows(sample, study)) == 1


def test_a_changed_mind_is_a_new_row(sample: Sample) -> None:
    study = sample.make("changed", "one-result")
    judge = sample.judge(study)
    task = judge.task()
    assert [judge.answer(task, grade).status_code for grade in (2, 7)] == [201, 201]
    assert [row["grade"] for row in rows(sample, study)] == [2.0, 7.0]
    csv = sample.organiser(study).get("export").text
    assert len(csv.splitlines()) == 2


def test_how_an_answer_came_about_is_kept(sample: Sample) -> None:
    study = sample.make("how", "one-result", comments=True)
    judge = sample.judge(study)
    assert judge.get("me").json()["study"]["comments"]
    how = {
        "comment": "blurred\nbut fine", "active_seconds": 4.25, "away_seconds": 1.5, "screen": "360x780@2.625",
        "method": "touch",
    }  # fmt: skip
    task = judge.task()
    sample.clock.time += 60
    assert judge.answer(task, 4, **how, shown=[item["id"] for item in task["items"]]).status_code == 201
    [row] = rows(sample, study)
    assert {name: row[name] for name in how} == how
    assert row["at"] == START + 60


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no responses": lambda task: [],
    "one too few": lambda task: [{"item": item["id"], "grade": 3} for item in task["items"][1:]],
    "one twice": lambda task: [{"item": task["items"][0]["id"], "grade": 3}] * len(task["items"]),
    "off the scale": lambda task: [{"item": item["id"], "grade": 6} for item in task["items"]],
    "between grades": lambda task: [{"item": item["id"], "grade": 2.5} for item in task["items"]],
    "no number": lambda task: [{"item": item["id"], "grade": "much"} for item in task["items"]],
    "true": lambda task: [{"item": item["id"], "grade": {"x": 1}} for item in task["items"]],
    "huge": lambda task: [{"item": item["id"], "grade": 1e300} for item in task["items"]],
    "unknown item": lambda task: [{"item": 2**31 - 1, "grade": 3} for _ in task["items"]],
    "item beyond": lambda task: [{"item": 2**63, "grade": 3} for _ in task["items"]],
    "negative item": lambda task: [{"item": -1, "grade": 3} for _ in task["items"]],
    "very many": lambda task: [{"item": 1, "grade": 3}] * 101,
    "unknown field": lambda task: [{"item": item["id"], "grade": 3, "rater": 1} for item in task["items"]],
    "not a list": lambda task: {"item": 1},
}


def test_what_is_no_answer_is_refused_and_nothing_is_kept(sample: Sample) -> None:
    study = sample.make("wrong", "four-results")
    judge = sample.judge(study)
    task = judge.task()
    body = {"key": str(uuid.uuid4()), "task": task["id"], "responses": []}
    for what, make in WRONG.items():
        answer = judge.post("answers", body | {"responses": make(task)})
        assert answer.status_code == 422, what
        assert answer.json()["detail"], what
    right = [{"item": item["id"], "grade": 3} for item in task["items"]]
    for grade in (True, "3"):  # neither is a number
        loose = [{"item": item["id"], "grade": grade} for item in task["items"]]
        assert judge.post("answers", body | {"responses": loose}).status_code == 422, grade
    for wrong in (
        {"key": "x"}, {"key": 5}, {"key": None}, {"task": "x"}, {"task": 2**31}, {"task": -1}, {"task": 10**400},
        {"kind": "undo"}, {"comment": "x" * 2001}, {"comment": 5}, {"active_seconds": -1}, {"active_seconds": "long"},
        {"away_seconds": 1e9}, {"screen": "big"}, {"screen": "1x1@111111111"}, {"method": "mind"}, {"shown": [1] * 101},
        {"shown": ["x"]}, {"shown": [True]}, {"task": True}, {"task": "1"}, {"active_seconds": True},
        {"rater": 7}, {"at": 5}, {"propensity": 1},
    ):  # fmt: skip
        assert judge.post("answers", body | {"responses": right} | wrong).status_code == 422, wrong
    for text in ("NaN", "Infinity", "-Infinity", "1e999"):
        content = json.dumps(body | {"responses": right, "active_seconds": 5}).replace("5}", f"{text}}}")
        answer = judge.post("answers", content=content.encode(), headers={"Content-Type": "application/json"})
        assert answer.status_code == 422, text
    assert rows(sample, study) == []
    assert judge.task() == task
    assert judge.post("answers", body | {"responses": right}).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda rank, at: {"rank": 1, "relevance": 0.5}, "gap"),
        (lambda rank, at: {"rank": rank + 1, "relevance": 0.5}, "gap"),
        (lambda rank, at: {"rank": rank, "relevance": rank / 10}, "falls"),
        (lambda rank, at: {"rank": rank, "relevance": 1.5 - rank / 100}, "between"),
        (lambda rank, at: {"rank": rank}, "between"),
        (lambda rank, at: {"relevance": 0.5}, "gap"),
        (lambda rank, at: {"grade": 3}, ""),
    ],
)
def test_an_order_has_no_gaps_and_relevance_falls(ranking: Person, wrong: Any, why: str) -> None:
    task = ranking.task()
    responses = [{"item": item["id"], **wrong(at + 1, at)} for at, item in enumerate(task["items"])]
    answer = ranking.answer(task, responses)
    assert answer.status_code == 422
    assert why in answer.json()["detail"]


@pytest.fixture(scope="module")
def ranking(sample: Sample) -> Person:
    """A judge who puts results in order."""
    return sample.judge(sample.make("ranking", "rank-it"))


def test_ties_in_relevance_are_fine(sample: Sample) -> None:
    study = sample.make("ties", "rank-it")
    judge = sample.judge(study)
    task = judge.task()
    responses = [{"item": item["id"], "rank": at, "relevance": 0.5} for at, item in enumerate(task["items"], start=1)]
    assert judge.answer(task, responses[::-1]).status_code == 201
    assert sorted((row["rank"], row["relevance"]) for row in rows(sample, study)) == [(n, 0.5) for n in range(1, 7)]


# Skip, undo, events, leave


def test_a_skipped_task_goes_to_somebody_else(sample: Sample) -> None:
    study = sample.make("skipping", "one-result", common=0)
    ana = sample.judge(study, "ana")
    task = ana.task()
    skipped = ana.post("answers", {"key": str(uuid.uuid4()), "task": task["id"], "kind": "skip"})
    assert skipped.status_code in {200, 201}
    assert skipped.json()["progress"]["done"] == 1
    ana.finish(lambda one: said("one-result", one))
    assert task["id"] not in {row["task_id"] for row in rows(sample, study) if row["kind"] == "answer"}
    ben = sample.judge(study, "ben")
    assert [one["id"] for one in ben.get("tasks").json()["tasks"]] == [task["id"]]


def test_a_skip_that_is_new_is_said_to_be_new(sample: Sample) -> None:
    judge = sample.judge(sample.make("new-skip", "one-result"))
    body = {"key": str(uuid.uuid4()), "task": judge.task()["id"], "kind": "skip"}
    assert [judge.post("answers", body).status_code for _ in range(2)] == [201, 200]


def test_skipping_can_be_switched_off(sample: Sample) -> None:
    study = sample.make("no-skip", "one-result", skip=False)
    judge = sample.judge(study)
    assert not judge.get("me").json()["study"]["skip"]
    refused = judge.post("answers", {"key": str(uuid.uuid4()), "task": judge.task()["id"], "kind": "skip"})
    assert refused.status_code == 422
    assert "undecided" in refused.json()["detail"]


def test_undo_brings_the_task_back_with_what_was_said(sample: Sample) -> None:
    study = sample.make("undoing", "four-results", comments=True)
    judge = sample.judge(study)
    nothing = judge.post("undo", {"key": str(uuid.uuid4())})
    assert (nothing.status_code, nothing.json()) == (409, {"detail": "there is nothing to undo"})
    task = judge.task()
    responses = [{"item": item["id"], "grade": at + 1} for at, item in enumerate(task["items"])]
    done = judge.answer(task, responses, comment="hm").json()["progress"]
    key = str(uuid.uuid4())
    undone = judge.post("undo", {"key": key})
    assert undone.status_code == 200
    back = undone.json()
    assert {name: back["task"][name] for name in ("id", "items", "query")} == {
        name: task[name] for name in ("id", "items", "query")
    }
    assert [(one["item"], one["grade"], one["comment"]) for one in back["task"]["previous"]] == [
        (one["item"], float(one["grade"]), "hm") for one in responses
    ]
    assert back["progress"]["done"] == done["done"] - 1
    assert judge.post("undo", {"key": key}).json() == back  # safe to retry
    assert judge.task() == back["task"]
    assert judge.post("undo", {"key": str(uuid.uuid4())}).status_code == 409
    assert judge.answer(task, 5).status_code == 201
    assert [row["kind"] for row in rows(sample, study)] == ["answer"] * len(responses) + ["undo"] + ["answer"] * len(
        responses
    )


def test_undo_of_a_skip_takes_the_spare_slot_back(sample: Sample) -> None:
    study = sample.make("unskip", "one-result", common=0)
    judge = sample.judge(study)
    total = judge.get("tasks").json()["progress"]["total"]
    task = judge.task()
    judge.post("answers", {"key": str(uuid.uuid4()), "task": task["id"], "kind": "skip"})
    back = judge.post("undo", {"key": str(uuid.uuid4())}).json()
    assert back["task"]["id"] == task["id"]
    assert back["progress"]["total"] == total
    assert len(judge.finish(lambda one: said("one-result", one))) == total


def test_events_are_kept_and_leaving_ends_this_browser_only(sample: Sample) -> None:
    study = sample.make("events", "one-result")
    judge = sample.judge(study)
    elsewhere = sample.enter(judge.link, study)
    for kind in ("pause", "resume", "hidden", "visible", "enlarge"):
        answer = judge.post("events", {"kind": kind})
        assert (answer.status_code, answer.content) == (204, b"")
    assert judge.post("events", {"kind": "sleep"}).status_code == 422
    with sample.home.store.reading() as connection:
        found = catalogue.find(connection, study)
        kinds = connection.scalars(sa.select(s.events.c.kind).where(s.events.c.study_id == found.id)).all()
    assert kinds[-5:] == ["pause", "resume", "hidden", "visible", "enlarge"]
    task = judge.task()
    judge.answer(task, 3)
    assert judge.post("leave").status_code == 204
    assert judge.get("me").status_code == 401
    assert elsewhere.get("me").json()["progress"]["done"] == 1
    again = sample.enter(judge.link, study)
    assert again.get("me").json() == elsewhere.get("me").json()


# Together, closed, vanished


def test_two_judges_never_share_a_slot_and_see_orders_of_their_own(sample: Sample) -> None:
    study = sample.make("two", "four-results", common=2, overlap=1)
    judges = [sample.judge(study, name) for name in ("ana", "ben", "eva")]
    done: dict[str, list[int]] = {judge.link: [] for judge in judges}
    for _ in range(20):
        for judge in judges:
            if tasks := judge.get("tasks?count=1").json()["tasks"]:
                judge.answer(tasks[0], 3)
                done[judge.link].append(tasks[0]["id"])
    sets = [set(found) for found in done.values()]
    everybody = set.intersection(*sets)
    assert len(everybody) == 2
    beyond = [number for found in sets for number in found - everybody]
    assert len(beyond) == len(set(beyond)) == 4
    for found in done.values():
        assert set(found[:2]) == everybody  # common ones come first


def test_a_closed_study_takes_no_answers_and_says_so(sample: Sample) -> None:
    study = sample.make("closing", "one-result")
    judge, organiser = sample.judge(study), sample.organiser(study)
    judge.answer(judge.task(), 3)
    task = judge.task()
    assert organiser.post("state", {"state": "closed"}).status_code == 204
    me = judge.get("me").json()
    assert me["study"]["state"] == "closed"
    assert me["progress"]["finished"]
    refused = judge.answer(task, 3)
    assert refused.status_code == 409
    assert "closed" in refused.json()["detail"]
    assert judge.post("undo", {"key": str(uuid.uuid4())}).status_code == 409
    assert judge.get("tasks").status_code == 200
    assert judge.get(f"/s/{study}").status_code == 200
    organiser.post("state", {"state": "open"})
    assert judge.answer(task, 3).status_code == 201


@pytest.mark.parametrize("screen", ["four-results", "rank-it", "file-it"])
def test_a_picture_that_vanished_is_said_to_be_missing(sample: Sample, screen: str) -> None:
    study = sample.make(f"vanished-{screen}", screen)
    judge = sample.judge(study)
    before = {item["image"] for task in judge.get("tasks?count=10").json()["tasks"] for item in task["items"]} - {None}
    assert before
    for image in before:
        (sample.home.files / f"{image.rpartition('/')[2]}.jpg").unlink()
    tasks = judge.get("tasks?count=10").json()["tasks"]
    gone = [item for task in tasks for item in task["items"] if item["missing"]]
    assert len(gone) >= len(before)
    assert all(item["image"] is None and item["alt"] for item in gone)
    assert judge.get(before.pop()).status_code == 404
    assert judge.answer(tasks[0], said(screen, tasks[0], undecided=screen != "rank-it")).status_code == 201
    assert sample.organiser(study).get("status").status_code == 200


@pytest.mark.parametrize("count", ["0", "11", "-1", "x", "", "1.5", "9" * 400])
def test_counts_of_tasks_have_bounds(ranking: Person, count: str) -> None:
    assert ranking.get(f"tasks?count={count}").status_code == 422


# What no database can keep

NASTY = ["\x00", "a\x00b", "\ud800", "\udfff x", "\x1b[31m", "\u202e", "\ufffe", "𝕏" * 900, "'; DROP TABLE answers; --"]


def test_texts_that_a_database_refuses_never_break_it(tmp_path: Path, database: str | None) -> None:
    with opened(tmp_path, database) as sample:
        study = sample.make("nasty", "file-it", comments=True)
        judge, organiser = sample.judge(study), sample.organiser(study)
        kinds = {"Content-Type": "application/json"}
        for text in NASTY:
            task = judge.task()
            item = task["items"][0]["id"]
            body = {"key": str(uuid.uuid4()), "task": task["id"], "comment": text, "responses": [{"item": item}]}
            assert judge.post("answers", content=json.dumps(body).encode(), headers=kinds).status_code in {201, 422}
            judge.post("undo", {"key": str(uuid.uuid4())})
            wrong: list[tuple[Person, str, Any]] = [
                (judge, "answers", body | {"responses": [{"item": item, "category": text}]}),
                (judge, "answers", body | {"key": text}),
                (judge, "answers", body | {"screen": text}),
                (judge, "answers", body | {"method": text}),
                (judge, "answers", body | {text: 1}),
                (judge, "events", {"kind": text}),
                (organiser, "state", {"state": text}),
                (organiser, "invitations", {"role": text}),
                (organiser, "results", {"open": text}),
            ]
            for person, path, content in wrong:
                answer = person.post(path, content=json.dumps(content).encode(), headers=kinds)
                assert answer.status_code in {200, 422}, (path, content)
                answer.json()
            made = organiser.post("invitations", content=json.dumps({"nickname": text}).encode(), headers=kinds)
            assert made.status_code in {201, 409, 422}
            raw = text.encode("utf-8", "surrogatepass")
            form = b"nickname=n" + b"".join(b"%%%02X" % one for one in raw)
            answer = sample.browser().post(
                sample.link(study), content=form, headers={"Content-Type": "application/x-www-form-urlencoded"}
            )
            assert answer.status_code in {303, 422}
            escaped = "".join(f"%{one:02X}" for one in raw)[:200]
            for path in (f"/api/studies/{escaped}/me", f"/files/nasty/{escaped}", f"/join/{escaped}", f"/s/{escaped}"):
                assert judge.get(path).status_code in {404, 422, 429}
            assert judge.get(f"tasks?count={escaped}").status_code == 422
            assert organiser.get(f"export?form={escaped}").status_code == 422
        status = organiser.get("status")
        assert status.status_code == 200
        json.loads(status.text)
        for form_name in ("csv", "jsonl", "parquet"):
            for history in ("true", "false"):
                assert organiser.get(f"export?form={form_name}&history={history}").status_code == 200
        comments = [row["comment"] for row in rows(sample, study) if row["comment"]]
        assert "ab" in comments
        assert "𝕏" * 900 in comments
        assert not any("\x00" in comment for comment in comments)


def test_a_judge_on_both_databases(tmp_path: Path, database: str | None) -> None:
    """The same acts, whatever keeps them."""
    with opened(tmp_path, database) as sample:
        study = sample.make("both", "four-results", known=True)
        judge = sample.judge(study, "Ünïcødé 猫")
        assert judge.get("me").json()["rater"]["nickname"] == "Ünïcødé 猫"
        key, task = str(uuid.uuid4()), judge.task()
        codes = [judge.answer(task, 5, key=key).status_code for _ in range(3)]
        assert codes == [201, 200, 200]
        judge.post("undo", {"key": str(uuid.uuid4())})
        judge.post("answers", {"key": str(uuid.uuid4()), "task": judge.task()["id"], "kind": "skip"})
        judge.finish(lambda one: said("four-results", one))
        assert judge.get("me").json()["progress"]["finished"]
        assert sample.organiser(study).get("status").json()["raters"][0]["nickname"] == "Ünïcødé 猫"
