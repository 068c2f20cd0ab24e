"""Whatever three judges do, in whatever order: the states of slots are the fold over the answers, and nothing goes."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_samples import NOW, rater, study_of

from endoxa.errors import RefusedError
from endoxa.store import records, work
from endoxa.store import schema as s
from endoxa.studies.latest import latest

JUDGES = ("ana", "ben", "eve")
ACTS = ("next", "next", "answer", "answer", "answer", "skip", "undo", "change", "again", "again undo", "two tabs")
acts = st.lists(
    st.tuples(st.sampled_from(JUDGES), st.sampled_from(ACTS), st.integers(0, 9), st.integers(1, 5)),
    min_size=12,
    max_size=30,
)


@dataclass
class Model:
    """What one judge should hold, worked out by hand: the slow and obvious way."""

    seen: dict[int, work.Task] = field(default_factory=dict)
    held: dict[int, tuple[str, float]] = field(default_factory=dict)  # in the order of the last act about each
    sent: list[tuple[str, int, str, float]] = field(default_factory=list)
    undone: list[tuple[str, int]] = field(default_factory=list)

    def hold(self, task: int, kind: str, grade: float) -> None:
        self.held.pop(task, None)
        self.held[task] = (kind, grade)

    @property
    def before(self) -> list[work.Task]:
        """Tasks that lie before the judge."""
        return [task for number, task in self.seen.items() if number not in self.held]


@dataclass
class Trial:
    """A study, three judges, and what they should hold."""

    connection: sa.Connection
    study: object
    ids: dict[str, int]
    models: dict[str, Model]
    clock: float = NOW

    def act(self, name: str, act: str, pick: int, grade: float) -> None:
        self.clock += 1
        model = self.models[name]
        if act == "next":
            found, _ = work.tasks(self.connection, self.study, self.ids[name], count=2, now=self.clock)
            model.seen.update({task.id: task for task in found})
            assert {task.id for task in found} <= {task.id for task in model.before}
        elif act in {"answer", "skip", "two tabs"} and model.before:
            task = model.before[pick % len(model.before)]
            self.put(name, task.id, "skip" if act == "skip" else "answer", grade, str(uuid.uuid4()))
            if act == "two tabs":  # the other tab still shows the task, and sends another answer
                self.put(name, task.id, "answer", 6 - grade, str(uuid.uuid4()))
        elif act == "change" and model.held:
            number = list(model.held)[pick % len(model.held)]
            self.put(name, number, "skip" if pick % 3 == 0 else "answer", grade, str(uuid.uuid4()))
        elif act == "again" and model.sent:
            key, number, kind, old = model.sent[pick % len(model.sent)]
            assert not self.send(name, number, kind, old, key).new
        elif act == "undo":
            self.undo(name)
        elif act == "again undo" and model.undone:
            key, number = model.undone[pick % len(model.undone)]
            task, _ = work.undo(self.connection, self.study, self.ids[name], key, now=self.clock)
            assert task.id == number

    def put(self, name: str, number: int, kind: str, grade: float, key: str) -> None:
        self.send(name, number, kind, grade, key)
        self.models[name].sent.append((key, number, kind, grade))
        self.models[name].hold(number, kind, grade)

    def send(self, name: str, number: int, kind: str, grade: float, key: str) -> work.Received:
        how, rater_id = work.Circumstances(), self.ids[name]
        if kind == "skip":
            return work.skip(self.connection, self.study, rater_id, number, key, how, now=self.clock)
        said = [work.Response(item["id"], grade) for item in self.models[name].seen[number].items]
        return work.answer(self.connection, self.study, rater_id, number, key, said, how, now=self.clock)

    def undo(self, name: str) -> None:
        model, key = self.models[name], str(uuid.uuid4())
        if not model.held:
            with pytest.raises(RefusedError, match="nothing to undo"):
                work.undo(self.connection, self.study, self.ids[name], key, now=self.clock)
            return
        number = list(model.held)[-1]
        task, _ = work.undo(self.connection, self.study, self.ids[name], key, now=self.clock)
        assert task.id == number
        del model.held[number]
        model.undone.append((key, number))

    def check(self, rows_before):
        rows = records.rows(self.connection, self.study)
        assert rows.head(rows_before.height).equals(rows_before), "a row was changed or removed"
        fold = {
            (source, task): grades
            for source, task, grades in latest(rows).group_by("source", "task").agg("grade").iter_rows()
        }
        assert fold == {
            (name, task): [grade] * 2
            for name, model in self.models.items()
            for task, (kind, grade) in model.held.items()
            if kind == "answer"
        }
        slots = self.connection.execute(sa.select(s.assignments).where(s.assignments.c.study_id == self.study.id)).all()
        for name, model in self.models.items():
            states = {slot.task_id: slot.state for slot in slots if slot.rater_id == self.ids[name]}
            wanted = {number: model.held.get(number, ("open",))[0] for number in model.seen}
            words = {"answer": "answered", "skip": "skipped", "open": "open"}
            assert {n: state for n, state in states.items() if state != "waiting"} == {
                number: words[kind] for number, kind in wanted.items()
            }
            progress = work.progress(self.connection, self.study, self.ids[name])
            assert progress.done == sum(states[n] in {"answered", "skipped"} for n in states) - self.practised(states)
            assert progress.done <= progress.total
        self.check_takers(slots)
        return rows

    def practised(self, states: dict[int, str]) -> int:
        practice = set(
            self.connection.scalars(
                sa.select(s.tasks.c.id).where(s.tasks.c.study_id == self.study.id, s.tasks.c.role == "practice")
            )
        )
        return sum(states[number] in {"answered", "skipped"} for number in states if number in practice)

    def check_takers(self, slots) -> None:
        """Every main task has as many takers as wanted; more only where somebody came back after being replaced."""
        takers = Counter(slot.task_id for slot in slots if slot.role == "main" and slot.state != "skipped")
        free = Counter(slot.task_id for slot in slots if slot.state == "free")
        for task in {slot.task_id for slot in slots if slot.role == "main"}:
            assert takers[task] >= self.study.settings.overlap
            assert takers[task] == self.study.settings.overlap or free[task] == 0


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(plan=acts)
def test_states_are_the_fold_over_answers_and_nothing_is_removed(place, plan):
    study = study_of(
        place, screen="four-results", per_task=2, practice=1, common=2, main=3, gold=1, settings={"overlap": 2}
    )
    ids = {name: rater(place, study, name) for name in JUDGES}
    with place.store.writing() as connection:
        trial = Trial(connection, study, ids, {name: Model() for name in JUDGES})
        rows = records.rows(connection, study)
        for one in plan:
            trial.act(*one)
            rows = trial.check(rows)
