"""Who gets which task, and when: practice, then the common part, then the rest with gold in between; nobody twice."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from store_samples import DAY, NOW, Judge, held_of, roles_of, rows_of, slots_of, study_of

from endoxa.store import work

HOUR = 3600.0


def test_practice_then_common_then_main_with_gold_in_between(place):
    study = study_of(place, practice=2, common=6, main=12, gold=2, attention=2, settings={"gold_every": 6})
    roles = roles_of(place, study)
    orders = []
    for name in ("ana", "ben", "eve"):  # three orders of six tasks are all alike once in half a million runs
        judge = Judge(place, study, name)
        done = judge.finish()
        orders.append([task.id for task in done if roles[task.id] == "common"])
        order = [roles[task.id] for task in done]
        assert order[:2] == ["practice"] * 2
        assert [task.practice for task in done] == [role == "practice" for role in order]
        rest = [role for role in order[2:] if role not in {"gold", "attention"}]
        assert rest == sorted(rest)  # common before main
        known = [at for at, role in enumerate(order[2:]) if role in {"gold", "attention"}]
        assert len(known) >= 1
        assert all(second - first == 6 for first, second in pairwise(known)), known
        assert known[0] < 6
        assert len({task.id for task in done}) == len(done)
    assert all(sorted(order) == sorted(orders[0]) for order in orders)  # the same tasks for everybody
    assert len({tuple(order) for order in orders}) > 1, "judges meet the common tasks in orders of their own"


def test_orders_on_the_page_differ_between_judges_and_stay_with_one(place):
    study = study_of(place, screen="four-results", per_task=4, common=6)
    shown = {}
    for name in ("ana", "ben"):
        judge = Judge(place, study, name)
        first = {task.id: [item["id"] for item in task.items] for task in judge.tasks(6)}
        assert {task.id: [item["id"] for item in task.items] for task in judge.tasks(6)} == first
        shown[name] = first
    assert shown["ana"].keys() == shown["ben"].keys()
    assert any(shown["ana"][task] != shown["ben"][task] for task in shown["ana"])
    assert all(sorted(shown["ana"][task]) == sorted(shown["ben"][task]) for task in shown["ana"])


def test_order_of_the_main_part_knows_nothing_of_content(place):
    """Over many judges the first task is any of them. (Fewer than 6 of 12 by bad luck: once in a million runs.)"""
    study = study_of(place, main=12, settings={"overlap": 24})
    first = Counter(Judge(place, study, f"judge {number}").tasks()[0].id for number in range(24))
    assert len(first) >= 6
    assert max(first.values()) < 15  # expected 2


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_every_main_task_has_exactly_the_wanted_judges(place, overlap):
    study = study_of(place, main=5, common=1, settings={"overlap": overlap})
    for name in ("ana", "ben", "eve", "joe"):
        Judge(place, study, name).finish()
    roles = roles_of(place, study)
    takers = held_of(place, study).group_by("task").agg("source")
    for task, sources in takers.iter_rows():
        assert len(sources) == len(set(sources)) == (4 if roles[task] == "common" else overlap)
    assert takers.height == 6


def test_judges_who_come_at_once_never_get_the_same_slot(place):
    """Eight judges in eight threads, as fast as they can, on the same tasks."""
    overlap, main = 3, 24
    study = study_of(place, main=main, common=2, settings={"overlap": overlap})
    judges = [Judge(place, study, f"judge {number}") for number in range(8)]
    barrier = threading.Barrier(len(judges))

    def work_on(judge: Judge) -> list[int]:
        barrier.wait(timeout=30)
        done = []
        while given := judge.tasks(2):
            for task in given:
                judge.answer(task, 5)
                done.append(task.id)
        return done

    with ThreadPoolExecutor(len(judges)) as pool:
        done = list(pool.map(work_on, judges))
    roles = roles_of(place, study)
    assert all(len(set(mine)) == len(mine) for mine in done)
    counts = Counter(task for mine in done for task in mine if roles[task] == "main")
    assert counts == dict.fromkeys((task for task, role in roles.items() if role == "main"), overlap)
    slots = slots_of(place, study)
    assert Counter(slot.state for slot in slots) == {"answered": overlap * main + 8 * 2}
    assert rows_of(place, study).height == overlap * main + 8 * 2


def test_one_judge_in_two_browsers_gets_the_same_tasks_and_answers_once(place):
    study = study_of(place, main=20)
    ana = Judge(place, study)
    barrier = threading.Barrier(4)
    key = "6f1d5d7e-61c0-4f2b-9b5a-0d2c4c0f7a12"

    def browser(_: int) -> tuple[list[int], bool]:
        barrier.wait(timeout=30)
        given = ana.tasks(3)
        barrier.wait(timeout=30)
        return [task.id for task in given], ana.answer(given[0], 4, key=key).new

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(browser, range(4)))
    assert len({tuple(given) for given, _ in found}) == 1
    assert sum(new for _, new in found) == 1
    assert rows_of(place, study).height == 1
    assert Counter(slot.state for slot in slots_of(place, study)) == {"free": 17, "open": 2, "answered": 1}


def test_a_task_not_answered_in_time_goes_to_others_and_a_late_answer_is_kept(place):
    study = study_of(place, main=1, settings={"hold": 2.0})
    ana, ben = Judge(place, study), Judge(place, study, "ben")
    task = ana.tasks()[0]
    ben.clock = NOW + 1.9 * HOUR
    assert ben.tasks() == []
    ben.clock = NOW + 2.1 * HOUR
    assert [one.id for one in ben.tasks()] == [task.id]
    assert sorted(slot.state for slot in slots_of(place, study)) == ["lapsed", "open"]
    assert ana.tasks() == []  # it is no longer before her; but her page still shows it
    ana.clock = NOW + 3 * HOUR
    assert ana.answer(task, 2).new
    ben.answer(task, 7)
    assert held_of(place, study).select("source", "grade").sort("source").rows() == [("ana", 2.0), ("ben", 7.0)]
    assert ana.progress().finished and ben.progress().finished


def test_a_late_answer_takes_the_place_of_one_not_given_out_yet(place):
    study = study_of(place, main=1, settings={"hold": 1.0, "overlap": 3})
    ana, ben, eve = (Judge(place, study, name) for name in ("ana", "ben", "eve"))
    task = ana.tasks()[0]
    for judge in (ben, eve):
        judge.clock = NOW + 2 * HOUR
        judge.tasks()
    # two free slots went to ben and eve; a fourth judge gets ana's, which lapsed
    joe = Judge(place, study, "joe")
    joe.clock = NOW + 2 * HOUR
    assert [one.id for one in joe.tasks()] == [task.id]
    joe.skip(task)
    assert sorted(slot.state for slot in slots_of(place, study)) == ["free", "lapsed", "open", "open", "skipped"]
    ana.answer(task, 5)
    assert sorted(slot.state for slot in slots_of(place, study)) == ["answered", "open", "open", "skipped"]


def test_a_limit_per_judge(place):
    study = study_of(place, main=8, common=2, settings={"limit": 3, "overlap": 2})
    ana = Judge(place, study)
    assert ana.progress().total == 5
    assert len(ana.tasks(10)) == 5
    assert ana.tasks(10)[-1] is not None
    assert len(ana.finish()) == 5
    assert ana.progress() == work.Progress(5, 5, 0)
    assert ana.progress().finished


def test_skipped_tasks_do_not_count_towards_the_limit(place):
    study = study_of(place, main=5, settings={"limit": 2})
    ana = Judge(place, study)
    ana.skip(ana.tasks()[0])
    assert len(ana.finish()) == 2


@pytest.mark.parametrize(
    "parts",
    [
        {"main": 6},
        {"common": 3},
        {"practice": 2, "common": 2, "main": 5, "gold": 3},
        {"practice": 3, "main": 1},
        {"main": 9, "gold": 1, "attention": 1},
    ],
)
def test_progress_begins_at_nothing_grows_by_one_and_ends(place, parts):
    study = study_of(place, settings={"gold_every": 3}, **parts)
    ana = Judge(place, study)
    before = ana.progress()
    assert before.done == 0 and not before.finished
    assert before.practice_left == parts.get("practice", 0)
    least = parts.get("main", 0) + parts.get("common", 0)
    assert least <= before.total <= sum(parts.values())
    roles = roles_of(place, study)
    while given := ana.tasks():
        after = ana.answer(given[0], 5).progress
        practised = roles[given[0].id] == "practice"
        assert after.done == before.done + (not practised)
        assert after.practice_left == before.practice_left - practised
        assert after == ana.progress()
        before = after
    assert before.finished and before.done == before.total


def test_undo_takes_progress_back(place):
    study = study_of(place, practice=1, main=3)
    ana = Judge(place, study)
    seen = [ana.progress()]
    for _ in range(3):
        ana.answer(ana.tasks()[0], 5)
        seen.append(ana.progress())
    for at in (2, 1, 0):
        ana.undo()
        assert ana.progress() == seen[at]


def test_an_empty_study_is_finished(place):
    study = study_of(place, planned=None, main=0, common=0)
    ana = Judge(place, study)
    assert ana.tasks(3) == []
    assert ana.progress() == work.Progress(0, 0, 0)
    assert ana.progress().finished


def test_common_tasks_that_come_later_reach_those_who_were_there(place):
    import numpy as np
    from store_samples import work_of

    from endoxa.store import catalogue

    study = study_of(place, common=1, main=1)
    ana = Judge(place, study)
    assert len(ana.finish()) == 2
    with place.store.writing() as connection:
        catalogue.add_work(connection, study, work_of(gold=0, common=1), rng=np.random.default_rng(0))
    assert not ana.progress().finished
    assert len(ana.finish()) == 1


def test_answers_from_the_next_day_are_dated(place):
    study = study_of(place, main=1)
    ana = Judge(place, study)
    ana.clock = NOW + DAY
    ana.answer(ana.tasks()[0], 5)
    assert rows_of(place, study)["at"][0].timestamp() == ana.clock
