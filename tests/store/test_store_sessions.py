"""Ways of deciding share one session: one universe, one fit for each state of the labels, one verdict."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from deciding_samples import field, grades

import endoxa
from endoxa.beliefs import learned
from endoxa.beliefs.learned import Universe
from endoxa.errors import RefusedError
from endoxa.measures.grammar import parse
from endoxa.pools.deciding import Question, simulate
from endoxa.store import making
from endoxa.store.sessions import session_of
from endoxa.verbs import decide as verb
from endoxa.verbs.study import export

RUN, TRUTH = field()


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    paths = []
    for name in RUN.systems:
        rows = RUN.frame.filter(pl.col("system") == name).select("query", "item", "rank", "score")
        paths.append(str(tmp_path / f"{name}.run"))
        lines = [f"{query} Q0 {item} {rank} {score:.9f} {name}\n" for query, item, rank, score in rows.iter_rows()]
        Path(paths[-1]).write_text("".join(lines))
    return paths


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many universes are made, and how many fits for how many labels."""
    count: Counter[str] = Counter()
    universe, fit = Universe.of.__func__, learned.fit  # type: ignore[attr-defined]

    def made(cls: Any, *given: Any, **named: Any) -> Any:
        count["universes"] += 1
        return universe(cls, *given, **named)

    def fitted(one: Any, rows: Any, *given: Any) -> Any:
        count[f"{len(rows)} labels"] += 1
        return fit(one, rows, *given)

    monkeypatch.setattr(Universe, "of", classmethod(made))
    monkeypatch.setattr(learned, "fit", fitted)
    return count


def answered(judge: verb.Judge, count: int) -> None:
    """Answer by the truth, and look at the verdict after every answer."""
    for _ in range(count):
        task = judge.next()
        assert task is not None
        query, item = (part["text"] for part in (task.query or {}, task.items[0]))
        judge.answer(task, TRUTH[query, item])
        judge.look()


def test_one_fit_for_each_answer_whoever_looks(runs: list[str], tmp_path: Path, counted: Counter[str]) -> None:
    home = tmp_path / "home"
    verb.prepare(runs, home=home)
    assert counted == {"universes": 1, "0 labels": 1}
    counted.clear()
    with verb.at_terminal(home=home) as judge:
        answered(judge, 30)  # the next round is planned before the first one is finished
        assert counted == {"universes": 1} | {f"{count} labels": 1 for count in range(31)}
        making.round_is_due(judge.home, verb.STUDY)
        assert session_of(judge.home, judge.study).look() is session_of(judge.home, judge.study).look()
        assert counted["30 labels"] == 1


def test_the_verdict_is_the_same_from_a_file_of_labels(runs: list[str], tmp_path: Path, counted: Counter[str]) -> None:
    home, labels = tmp_path / "home", tmp_path / "labels.csv"
    verb.prepare(runs, home=home)
    with verb.at_terminal(home=home) as judge:
        answered(judge, 40)
        now = judge.look()
    export(verb.STUDY, labels, home=home)
    counted.clear()
    evaluation = endoxa.decide(runs, str(labels), ["AP"])
    assert counted == {"universes": 1, "40 labels": 1, "0 labels": 1}  # the last one for the order by consensus
    verdict = evaluation.tables["verdict"].row(0, named=True)
    assert (verdict["leader"], verdict["settled"], verdict["labels"]) == (now.leader, now.is_settled, 40)
    assert verdict["chance"] == pytest.approx(now.chance, rel=1e-12)
    assert evaluation.summary["value"].to_list() == pytest.approx(now.found.mean.tolist(), rel=1e-12)
    counted.clear()
    assert endoxa.choose(runs, count=5, judged=str(labels)).height == 5
    assert counted == {"universes": 1, "40 labels": 1}


def test_the_loop_of_a_contest_fits_once_for_each_batch(counted: Counter[str]) -> None:
    universe = Universe.of(RUN)
    known = grades(universe, TRUTH)
    course = list(simulate(universe, Question(parse("AP")), known.__getitem__, rng=np.random.default_rng(0)))
    sizes = [len(now.learned.judged) for now in course]
    looked_back = {before for before, now in pairwise(sizes) if course[sizes.index(now)].passes}
    assert counted == {"universes": 1} | {f"{size} labels": 1 + (size in looked_back) for size in sizes}


def test_a_study_without_runs_decides_nothing(runs: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    verb.prepare(runs, home=tmp_path / "home")
    monkeypatch.setattr("endoxa.store.catalogue.run_of", lambda *_: None)
    with pytest.raises(RefusedError, match="no runs to decide between"), verb.at_terminal(home=tmp_path / "home"):
        pass
