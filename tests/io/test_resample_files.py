"""Resamples in files: computed once, in any number of processes, and continued after an interruption."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from word_samples import pictures

from endoxa.io.resample_files import run
from endoxa.words.annotating import Learning, select
from endoxa.words.contenders import Contender, Outcome, Task
from endoxa.words.splits import Split

ONE = Contender("one", "made", ("base",), 4, Learning(components=6, iterations=4))
SPLIT = Split(np.arange(30), np.arange(30, 40), np.arange(40, 50))


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    material = select(pictures(50), ["base"])
    return [Task(ONE, number, material, SPLIT, 1) for number in range(4)]


class Counter:
    """Counts what is computed; stops after `most`."""

    def __init__(self, most: int = 99) -> None:
        self.done, self.most = 0, most

    def __call__(self, _what: str, done: int, _whole: int) -> None:
        self.done = done
        if done == self.most:
            raise KeyboardInterrupt


def same(one: Outcome, other: Outcome) -> None:
    assert (one.vocabulary, one.train, one.everywhere, dict(one.sizes)) == (
        other.vocabulary, other.train, other.everywhere, dict(other.sizes),
    )  # fmt: skip
    assert list(one.parts) == list(other.parts)
    for part, found in one.parts.items():
        for column, values in vars(found).items():
            np.testing.assert_array_equal(values, getattr(other.parts[part], column))


def test_an_interrupted_study_goes_on(tasks: list[Task], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tasks, tmp_path / "a", workers=1, progress=Counter(2))
    rest = Counter()
    found = run(tasks, tmp_path / "a", workers=1, progress=rest)
    assert rest.done == 2
    for one, other in zip(found, run(tasks, tmp_path / "b", workers=1), strict=True):
        same(one, other)
    nothing = Counter()
    run(tasks, tmp_path / "a", workers=1, progress=nothing)
    assert nothing.done == 0


def test_a_file_depends_on_all_that_matters_and_not_on_names(tasks: list[Task], tmp_path: Path) -> None:
    run(tasks[:1], tmp_path, workers=1)
    task = tasks[0]
    renamed = replace(task, contender=replace(ONE, name="other", source="elsewhere"))
    counter = Counter()
    run([renamed], tmp_path, workers=1, progress=counter)
    assert counter.done == 0
    words = (("new",), *task.material.words[1:])
    changes = (
        replace(task, seed=2), replace(task, resample=9), replace(task, material=replace(task.material, words=words)),
        replace(task, contender=replace(ONE, learning=Learning(components=7, iterations=4))),
        replace(task, split=Split(SPLIT.train, SPLIT.novel, SPLIT.held_out)),
    )  # fmt: skip
    for changed in changes:
        counter = Counter()
        run([changed], tmp_path, workers=1, progress=counter)
        assert counter.done == 1


def test_a_damaged_file_is_computed_again(tasks: list[Task], tmp_path: Path) -> None:
    before = run(tasks[:1], tmp_path, workers=1)[0]
    path = next((tmp_path / "words").glob("*.npz"))
    path.write_bytes(path.read_bytes()[:100])
    counter = Counter()
    same(run(tasks[:1], tmp_path, workers=1, progress=counter)[0], before)
    assert counter.done == 1


def test_two_processes_give_the_same(tasks: list[Task], tmp_path: Path) -> None:
    for one, other in zip(
        run(tasks[:2], tmp_path / "a", workers=2), run(tasks[:2], tmp_path / "b", workers=1), strict=True
    ):
        same(one, other)
