"""Answers come back as they were given, are kept once, and are only added to."""

import uuid
from datetime import UTC, datetime

import polars as pl
import pytest
from store_samples import Judge, held_of, rows_of, slots_of, study_of

from endoxa.errors import RefusedError
from endoxa.store import catalogue, work

HOW = work.Circumstances("a comment; with ünïcode 'and quotes'", 12.5, 3.25, "360x640@2.5", "touch")


def test_an_answer_comes_back_as_it_was_given(place):
    study = study_of(place, screen="four-results", per_task=3, main=2)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    said = [work.Response(item["id"], grade) for item, grade in zip(task.items, (1.0, None, 5.0), strict=True)]
    key = str(uuid.uuid4())
    received = ana.answer(task, responses=said, key=key, how=HOW)
    assert received.new
    rows = rows_of(place, study)
    assert rows.height == 3
    assert rows["item"].to_list() == [item["name"] for item in task.items]
    assert rows["grade"].to_list() == [1.0, None, 5.0]
    assert rows["place"].to_list() == [0, 1, 2]
    shown = [item["id"] for item in task.items]
    for row in rows.iter_rows(named=True):
        alike = {
            "source": "ana", "task": task.id, "query": task.query["name"], "key": key, "kind": "answer",
            "category": None, "rank": None, "relevance": None, "comment": HOW.comment, "screen": "360x640@2.5",
            "method": "touch", "active_seconds": 12.5, "away_seconds": 3.25, "selected_by": "a+b", "role": "main",
            "round": 1, "expected": None, "at": datetime.fromtimestamp(ana.clock, UTC), "shown": str(shown),
        }  # fmt: skip
        assert {name: row[name] for name in alike} == alike
        # the sample draws the item at place p with probability (p + 1) / 4
        assert row["propensity"] == (int(row["item"][-1]) + 1) / 4


def test_filing_and_ranking_come_back(place):
    tree = pl.DataFrame({"category": ["a", "b"], "parent": [None, "a"]})
    from endoxa.tables import Taxonomy

    study = study_of(place, screen="file-it", main=1)
    with place.store.writing() as connection:
        catalogue.add_taxonomy(connection, study, Taxonomy.of(tree), now=0)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    assert task.query is None
    ana.answer(task, responses=[work.Response(task.items[0]["id"], category="b")])
    assert rows_of(place, study).select("category", "grade", "query").row(0) == ("b", None, None)

    study = study_of(place, screen="rank-it", per_task=3, main=1)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    said = [work.Response(item["id"], rank=at, relevance=1 - at / 4) for at, item in enumerate(task.items, 1)]
    ana.answer(task, responses=said[::-1])
    assert rows_of(place, study).sort("place").select("rank", "relevance").rows() == [(1, 0.75), (2, 0.5), (3, 0.25)]


def test_the_same_key_twice_is_one_answer(place):
    study = study_of(place, screen="four-results", per_task=2, main=3)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    key = str(uuid.uuid4())
    first = ana.answer(task, 4, key=key)
    before = rows_of(place, study)
    again = ana.answer(task, 4, key=key)
    assert (first.new, again.new) == (True, False)
    assert again.progress == first.progress
    assert rows_of(place, study).equals(before)


def test_a_key_used_for_something_else_is_refused_not_acknowledged(place):
    """Were it acknowledged, the second answer would be lost without a word."""
    study = study_of(place, main=3)
    ana = Judge(place, study)
    one, two = ana.tasks(2)
    key = str(uuid.uuid4())
    ana.answer(one, 4, key=key)
    with pytest.raises(RefusedError, match="key"):
        ana.answer(two, 2, key=key)
    with pytest.raises(RefusedError, match="key"):
        ana.skip(one, key=key)
    with pytest.raises(RefusedError, match="key"):
        ana.undo(key=key)
    assert rows_of(place, study).height == 1


def test_two_judges_may_use_the_same_key(place):
    study = study_of(place, common=1)
    key = str(uuid.uuid4())
    for name, grade in (("ana", 2), ("ben", 7)):
        judge = Judge(place, study, name)
        assert judge.answer(judge.tasks()[0], grade, key=key).new
    assert held_of(place, study).select("source", "grade").sort("source").rows() == [("ana", 2.0), ("ben", 7.0)]


def test_a_change_is_a_new_row_and_the_latest_counts(place):
    study = study_of(place, screen="four-results", per_task=2, main=2)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    for grade in (1, 5, 2):
        assert ana.answer(task, grade).new
    assert rows_of(place, study)["grade"].to_list() == [1, 1, 5, 5, 2, 2]
    assert held_of(place, study)["grade"].to_list() == [2, 2]
    slot = next(one for one in slots_of(place, study) if one.rater_id == ana.number)
    assert (slot.state, slot.answer_id) == ("answered", rows_of(place, study)["number"].max())


def test_undo_is_a_row_and_several_go_back_one_by_one(place):
    study = study_of(place, main=4)
    ana = Judge(place, study)
    done = []
    for grade in (1, 2, 3):
        done += ana.tasks()
        ana.answer(done[-1], grade)
    for task, grade in zip(reversed(done), (3, 2, 1), strict=True):
        back = ana.undo()
        assert back.id == task.id
        assert [said["grade"] for said in back.previous] == [grade]
        assert [item["id"] for item in back.items] == [item["id"] for item in task.items]  # in the order seen before
    with pytest.raises(RefusedError, match="nothing to undo"):
        ana.undo()
    rows = rows_of(place, study)
    assert rows["kind"].to_list() == ["answer"] * 3 + ["undo"] * 3
    assert held_of(place, study).height == 0
    assert [task.id for task in ana.tasks(3)] == [task.id for task in done]  # redo: in the order of the first time
    assert ana.progress() == work.Progress(0, 4, 0)
    assert ana.answer(done[0], 9).new
    assert held_of(place, study)["grade"].to_list() == [9]
    assert ana.undo().previous[0]["grade"] == 9


def test_undo_of_a_changed_answer_holds_nothing(place):
    study = study_of(place, main=2)
    ana = Judge(place, study)
    first = ana.tasks()[0]
    ana.answer(first, 1)
    second = ana.tasks()[0]
    ana.answer(second, 2)
    ana.answer(first, 8)  # changed in another tab: now the last act
    assert ana.undo().id == first.id
    assert held_of(place, study)["grade"].to_list() == [2]


def test_undo_with_the_same_key_undoes_once(place):
    study = study_of(place, main=3)
    ana = Judge(place, study)
    for grade in (1, 2):
        ana.answer(ana.tasks()[0], grade)
    key = str(uuid.uuid4())
    assert ana.undo(key).id == ana.undo(key).id
    assert held_of(place, study)["grade"].to_list() == [1]


def test_undo_of_a_skip(place):
    study = study_of(place, main=1)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    ana.skip(task)
    assert held_of(place, study).height == 0
    assert ana.progress().finished
    assert sorted(one.state for one in slots_of(place, study)) == ["free", "skipped"]
    back = ana.undo()
    assert (back.id, back.previous) == (task.id, None)
    assert [one.state for one in slots_of(place, study)] == ["open"]
    ana.answer(back, 6)
    assert held_of(place, study)["grade"].to_list() == [6]


@pytest.mark.parametrize(
    ("acts", "states"),
    [
        ("skip", ["answered", "free", "skipped"]),
        ("answer skip", ["answered", "free", "skipped"]),  # an answer given up: somebody else is asked
        ("skip answer", ["answered", "answered"]),  # thought better of it: nobody else is
        ("skip undo", ["answered", "open"]),
        ("answer skip undo", ["answered", "open"]),
        ("skip skip", ["answered", "free", "skipped"]),
        ("answer answer", ["answered", "answered"]),
    ],
)
def test_a_task_always_has_as_many_takers_as_wanted(place, acts, states):
    study = study_of(place, main=1, settings={"overlap": 2})
    ben = Judge(place, study, "ben")
    ben.answer(ben.tasks()[0], 5)
    ana = Judge(place, study, "ana")
    task = ana.tasks()[0]
    for act in acts.split():
        ana.undo() if act == "undo" else getattr(ana, act)(task)
    assert sorted(one.state for one in slots_of(place, study)) == states


def test_undoing_a_skip_leaves_the_slots_of_others_alone(place):
    study = study_of(place, main=1, settings={"overlap": 3})
    ana = Judge(place, study)
    ana.skip(ana.tasks()[0])
    ben = Judge(place, study, "ben")
    ben.tasks()
    ana.undo()
    assert sorted(one.state for one in slots_of(place, study)) == ["free", "open", "open"]


@pytest.mark.parametrize(
    ("screen", "per_task", "said", "message"),
    [
        ("one-result", 1, [{"grade": 10}], "not on the scale from 1 to 9"),
        ("one-result", 1, [{"grade": 2.5}], "not on the scale"),
        ("one-result", 1, [{"grade": float("nan")}], "not on the scale"),
        ("one-result", 1, [], "0 items, and the task has 1"),
        ("one-result", 1, [{"grade": 1}, {"grade": 1}], "2 items, and the task has 1"),
        ("one-result", 1, [{"grade": 1, "category": "x"}], "takes a grade"),
        ("one-result", 1, [{"rank": 1, "relevance": 1}], "takes a grade"),
        ("file-it", 1, [{"category": "nowhere"}], "not a category"),
        ("file-it", 1, [{"grade": 1}], "takes a category"),
        ("rank-it", 2, [{"rank": 1, "relevance": 1}, {"rank": 3, "relevance": 0}], "without a gap"),
        ("rank-it", 2, [{"rank": 1, "relevance": 0}, {"rank": 2, "relevance": 1}], "falls with rank"),
        ("rank-it", 2, [{"rank": 1, "relevance": 1}, {"rank": 2, "relevance": None}], "between 0 and 1"),
        ("rank-it", 2, [{"rank": 1, "relevance": 1.5}, {"rank": 2, "relevance": 0}], "between 0 and 1"),
        ("rank-it", 2, [{}, {}], "without a gap"),
    ],
)
def test_what_is_no_answer_is_refused_and_leaves_nothing(place, screen, per_task, said, message):
    study = study_of(place, screen=screen, per_task=per_task, main=1)
    ana = Judge(place, study)
    task = ana.tasks()[0]
    ids = [item["id"] for item in task.items] * 2
    with pytest.raises(RefusedError, match=message) as refused:
        ana.answer(task, responses=[work.Response(number, **one) for number, one in zip(ids, said, strict=False)])
    assert refused.value.status == 422
    assert rows_of(place, study).height == 0


def test_tasks_of_others_are_not_there(place):
    study = study_of(place, main=2, common=1)
    other = study_of(place, main=1)
    ana, ben, eve = Judge(place, study), Judge(place, study, "ben"), Judge(place, other, "eve")
    mine = ana.tasks(3)
    ben.tasks()
    common = ben.tasks()[0]
    theirs = next(task for task in mine if task.id != common.id)
    for judge in (ben, eve):
        with pytest.raises(RefusedError, match="no such task") as refused:
            judge.answer(theirs, 1)
        assert refused.value.status == 404
    with pytest.raises(RefusedError, match="no such judge"), place.store.writing() as connection:
        work.tasks(connection, other, ana.number, count=1, now=0)
    assert rows_of(place, study).height == 0


def test_skipping_where_it_is_not_wanted(place):
    study = study_of(place, main=1, settings={"skip": False})
    ana = Judge(place, study)
    with pytest.raises(RefusedError, match="cannot be skipped"):
        ana.skip(ana.tasks()[0])


def test_a_closed_study_takes_no_answers_and_loses_none(place):
    study = study_of(place, main=3, common=1)
    ana = Judge(place, study)
    ana.answer(ana.tasks()[0], 4)
    open_one = ana.tasks()[0]
    with place.store.writing() as connection:
        catalogue.set_state(connection, study, "closed", now=0)
        ana.study = catalogue.find(connection, study.name)
    for act in (lambda: ana.answer(open_one, 1), lambda: ana.skip(open_one), ana.undo):
        with pytest.raises(RefusedError, match="closed"):
            act()
    late = Judge(place, ana.study, "late")
    assert late.tasks(3) == []
    assert held_of(place, study)["grade"].to_list() == [4]
    with place.store.writing() as connection:
        catalogue.set_state(connection, study, "open", now=0)
    ana.study = study
    assert ana.answer(open_one, 1).new


def test_practice_says_what_was_looked_for(place):
    study = study_of(place, practice=2, main=1)
    ana = Judge(place, study)
    key = str(uuid.uuid4())
    task = ana.tasks()[0]
    item = task.items[0]["id"]
    right = [{"item": item, "expected": "4", "said": 4.0, "right": True}]
    assert ana.answer(task, 4, key=key).feedback == right
    assert ana.answer(task, 4, key=key).feedback == right  # the reply got lost: it is given again
    task = ana.tasks()[0]
    wrong = {"item": task.items[0]["id"], "expected": "4", "said": None, "right": False}
    assert ana.answer(task, None).feedback == [wrong]
    assert ana.answer(ana.tasks()[0], 4).feedback is None  # the main part tells nothing
