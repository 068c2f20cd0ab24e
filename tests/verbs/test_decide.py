"""decide: the verdict from labels, and a judge at the terminal whose answers give the same verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.errors import EndoxaError, JoinError, RefusedError, TextError
from endoxa.pools import deciding
from endoxa.store import making
from endoxa.verbs import decide as verb
from endoxa.verbs.study import export, opened_home

NOISE = {"good": 0.4, "fair": 1.2, "poor": 3.0}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of three systems on six queries, texts of queries and items, and the truth in the texts."""
    folder = tmp_path_factory.mktemp("decide")
    rng = np.random.default_rng(2)
    relevant = rng.random((6, 40)) < 0.3
    rows = [(f"t{t}d{d}", f"text {d}: {'yes' if relevant[t, d] else 'no'}") for t in range(6) for d in range(40)]
    pl.DataFrame(rows, schema=["item", "text"], orient="row").write_csv(folder / "items.csv")
    asked = pl.DataFrame({"query": [f"q{t}" for t in range(6)], "text": [f"topic {t}" for t in range(6)]})
    asked.write_csv(folder / "queries.csv")
    for system, noise in NOISE.items():
        lines = []
        for t in range(6):
            score = relevant[t] + noise * rng.normal(size=40)
            order = np.argsort(-score)[:25]
            lines += [f"q{t} Q0 t{t}d{d} {place + 1} {score[d]:.6f} {system}" for place, d in enumerate(order)]
        (folder / f"{system}.run").write_text("\n".join(lines) + "\n")
    return folder


def runs(files: Path) -> list[str]:
    return [str(files / f"{system}.run") for system in NOISE]


def judged_to_the_end(home: Path, undecided: int = -1) -> deciding.Look:
    """A judge who answers by the truth, and leaves one pair undecided."""
    with verb.at_terminal(home=home) as judge:
        for place in range(400):
            now = judge.look()
            task = None if now.is_settled else judge.next()
            if task is None:
                break
            grade = 1.0 if task.items[0]["text"].endswith("yes") else 0.0
            judge.answer(task, None if place == undecided else grade)
        return judge.look()


def test_a_guarantee_is_settled_later_and_proved_by_the_labels(files: Path, tmp_path: Path) -> None:
    home, labels = tmp_path / "home", tmp_path / "labels.csv"
    asked = {"items": files / "items.csv", "queries": files / "queries.csv", "home": home, "guarantee": True}
    with pytest.raises(TextError, match="leave --labels out"):
        verb.prepare(runs(files), labels=[str(labels)], **asked)
    verb.prepare(runs(files), measures="P@5", **asked)
    with pytest.raises(TextError, match="were begun with guarantee True, not False"):
        verb.prepare(runs(files), measures="P@5", **{**asked, "guarantee": False})
    with verb.at_terminal(home=home) as judge, pytest.raises(RefusedError, match="cannot be skipped"):
        task = judge.next()
        assert task is not None
        judge.skip(task)
    last = judged_to_the_end(home, undecided=3)
    assert last.is_settled and last.leader == "good"
    assert last.proof is not None and last.proof.left == ("good",)
    export(verb.STUDY, labels, home=home)
    found = endoxa.decide(runs(files), str(labels), "P@5", guarantee=True).tables["verdict"].row(0, named=True)
    assert (found["leader"], found["settled"], found["by"], found["left"]) == ("good", True, "guarantee", 1)
    by_model = endoxa.decide(runs(files), str(labels), "P@5").tables["verdict"].row(0, named=True)
    assert (by_model["by"], by_model["left"]) == ("model", None)
    part = pl.read_csv(labels).filter(pl.col("draw") != 2)
    part.write_csv(labels)
    assert not endoxa.decide(runs(files), str(labels), "P@5", guarantee=True).tables["verdict"]["settled"][0]


def test_a_first_call_that_fails_leaves_nothing(files: Path, tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    with pytest.raises(EndoxaError, match="expected item"):
        verb.prepare(runs(files), items=files / "queries.csv", home=home)
    assert not (tmp_path / "new").exists()
    verb.prepare(runs(files), home=home)
    with pytest.raises(TextError, match="other systems"):
        verb.prepare(runs(files)[:2], home=home)
    assert (home / "studies.db").exists()


@pytest.mark.parametrize("guarantee", [False, True])
def test_every_pair_of_tiny_runs_is_asked_once_and_then_none_is_left(guarantee: bool, tmp_path: Path) -> None:
    places = {"x": "abc", "y": "bad"}
    for system, items in places.items():
        lines = [f"q Q0 {item} {rank} {9 - rank} {system}\n" for rank, item in enumerate(items, 1)]
        (tmp_path / f"{system}.run").write_text("".join(lines))
    home = tmp_path / "home"
    verb.prepare([str(tmp_path / f"{system}.run") for system in places], home=home, until=0.999, guarantee=guarantee)
    items = []
    with verb.at_terminal(home=home) as judge:
        while (task := judge.next()) is not None:
            items.append(task.items[0]["text"])
            judge.answer(task, 1.0)  # the systems are equal: this settles nothing
    assert sorted(items) == list("abcd")
    with opened_home(home, None) as opened, pytest.raises(RefusedError, match="all pairs that bear on the measure"):
        making.next_round(opened, verb.STUDY, now=1.0)


def test_the_seed_fixes_the_order_in_which_a_judge_gets_pairs(files: Path, tmp_path: Path) -> None:
    def shown(name: str, seed: int) -> list[str]:
        home = tmp_path / name
        verb.prepare(runs(files), home=home, seed=seed)
        found = []
        with verb.at_terminal(home=home) as judge:
            for _ in range(8):
                task = judge.next()
                assert task is not None
                found.append(task.items[0]["text"])
                judge.answer(task, 0.0)
        return found

    one = shown("one", 1)
    assert shown("two", 1) == one
    assert shown("three", 2) != one


def test_a_judge_at_the_terminal_settles_it(files: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    asked = {"items": files / "items.csv", "queries": files / "queries.csv", "home": home}
    assert verb.prepare(runs(files), **asked)
    assert not verb.prepare(runs(files), **asked)  # the same study goes on
    with pytest.raises(TextError, match="are about other systems \\(fair, good, poor\\)"):
        verb.prepare(runs(files)[:2], **asked)
    with pytest.raises(TextError, match="were begun with about best, not order"):
        verb.prepare(runs(files), about="order", **asked)
    with verb.at_terminal(home=home) as judge:
        assert not judge.look().is_settled
        task = judge.next()
        assert task is not None
        judge.skip(task)
        first = judge.next()
        assert first is not None
        judge.answer(first, 0.0)
        assert len(judge.look().learned.judged) == 1
        assert judge.undo().id == first.id
        assert len(judge.look().learned.judged) == 0
    with verb.at_terminal(home=home) as judge:  # closed and resumed
        for _ in range(400):
            now = judge.look()
            task = None if now.is_settled else judge.next()
            if task is None:
                break
            judge.answer(task, 1.0 if task.items[0]["text"].endswith("yes") else 0.0)
        last = judge.look()
    assert last.is_settled
    assert last.leader == "good"
    labels = tmp_path / "labels.csv"
    assert export(verb.STUDY, labels, home=home).rows == len(last.learned.judged)
    evaluation = endoxa.evaluate(runs(files), labels=str(labels), measures=["AP"])
    assert evaluation.summary["p_best"].to_list() == last.best.tolist()
    assert evaluation.summary["value"].to_list() == pytest.approx(last.found.mean.tolist(), rel=1e-12)
    verdict = endoxa.decide(runs(files), str(labels)).tables["verdict"].row(0, named=True)
    assert (verdict["leader"], verdict["settled"]) == (last.leader, True)
    assert verdict["chance"] == pytest.approx(last.chance, rel=1e-12)
    better = endoxa.compare(runs(files), labels=str(labels), measures=["AP"]).frame["p_better"].to_list()
    assert better == pytest.approx([last.found.better[a, b] for a, b in ((0, 1), (0, 2), (1, 2))], rel=1e-12)


def test_without_labels_there_is_only_the_consensus(files: Path) -> None:
    found = endoxa.decide(runs(files), worlds=20)
    assert found.kind == "consensus"
    assert found.sentences[0].startswith("Best guess without judgments: ")
    verdict = found.tables["verdict"].row(0, named=True)
    assert (verdict["labels"], verdict["settled"]) == (0, False)


def test_names_are_shown_where_no_texts_are_given(files: Path, tmp_path: Path) -> None:
    assert verb.prepare(runs(files), home=tmp_path / "bare", measures="P@5", about="good,poor")
    with verb.at_terminal(home=tmp_path / "bare") as judge:
        task = judge.next()
        assert task is not None
        assert task.items[0]["text"].startswith("t")
        assert judge.look().question.about == ("good", "poor")
        assert str(judge.look().question.measure) == "P@5"


def test_earlier_labels_are_where_it_starts(files: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.csv"
    given.write_text("query,item,grade\nq0,t0d1,1\nq0,t0d2,0\n")
    run = endoxa.read(runs(files), kind="run")
    assert {"t0d1", "t0d2"} <= set(run.frame.filter(pl.col("query") == "q0")["item"])
    verb.prepare(runs(files), home=tmp_path / "more", labels=[given])
    with verb.at_terminal(home=tmp_path / "more") as judge:
        known = len(judge.look().learned.judged)
    inside = run.frame.filter((pl.col("rank") <= 20) & (pl.col("query") == "q0"))["item"].unique()
    assert known == len({"t0d1", "t0d2"} & set(inside))


def test_refusals(files: Path, tmp_path: Path) -> None:
    with pytest.raises(TextError, match="labels cannot settle RR"):
        verb.prepare(runs(files), home=tmp_path / "a", measures="RR")
    with pytest.raises(JoinError, match="two systems or more"):
        verb.prepare(runs(files)[:1], home=tmp_path / "b")
    few = tmp_path / "few.csv"
    few.write_text("item,text\nt0d1,only this one\n")
    with pytest.raises(JoinError, match="items that the study lacks"):
        verb.prepare(runs(files), home=tmp_path / "c", items=few)
    with pytest.raises(TextError, match="about best, order, or a pair of systems"):
        endoxa.decide(runs(files), {"q0": {"t0d1": 1}}, about="good,bed")  # type: ignore[arg-type]
    with pytest.raises(EndoxaError, match="no system is called"):
        endoxa.decide(runs(files), {"q0": {"t0d1": 1}}, about=("good", "bed"))
    with pytest.raises(JoinError, match="none of the 1 labels is of a pair"):
        endoxa.decide(runs(files), {"q0": {"nowhere": 1}})
