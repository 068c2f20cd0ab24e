"""The verdict beside the tasks: who may see it, that every answer moves it, and that the next round is planned."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import polars as pl
import pytest
from decide_samples import write_field
from study_samples import make
from web_samples import Person, Sample, opened

import endoxa
from endoxa.beliefs.learned import Universe
from endoxa.evaluations.contest import STEPS
from endoxa.io.study_files import Sources
from endoxa.measures.grammar import parse
from endoxa.pools import deciding
from endoxa.pools.deciding import Deciding, Look, Question
from endoxa.store import catalogue, exports, making
from endoxa.studies import settling
from endoxa.studies.design import Settings
from endoxa.tables import Opinions
from endoxa.verbs import decide as verb
from endoxa.web.studies import verdicts
from endoxa.web.studies.verdicts import told

NAME = "decide"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """A site with a study that decides between three systems on four queries."""
    folder = tmp_path_factory.mktemp("verdicts")
    noise = {"good": 0.3, "fair": 1.0, "poor": 3.0}
    write_field(folder, noise, queries=4, items=30, listed=25, relevant=0.4, seed=4)
    with opened(folder) as found:
        settings = Settings(name=NAME, screen="yes-no", choose="decide", common=0, count=25, rounds=settling.ROUNDS)
        sources = Sources(items=folder / "items.csv", runs=tuple(sorted(folder.glob("*.run"))))
        make(found.home, settings, sources, now=found.clock())
        yield found


def judged(person: Person, count: int) -> int:
    """Answer as the texts say; how many were answered."""
    for done in range(count):
        tasks = person.get("tasks?count=1").json()["tasks"]
        if not tasks:
            return done
        said = 1.0 if tasks[0]["items"][0]["text"].endswith("fits") else 0.0
        assert person.answer(tasks[0], said).status_code == 201
        if done % 10 == 9:
            person.get("verdict")
    return count


def complete(person: Person) -> dict[str, Any]:
    """The verdict with its whole history, which is computed in the background."""
    for _ in range(600):
        if (now := person.get("verdict").json())["complete"]:
            return now
        time.sleep(0.1)
    raise AssertionError("the history is never complete")


def everywhere(page: dict[str, Any], sample: Sample, labels: Path) -> dict[str, tuple[Any, ...]]:
    """One verdict in every way of deciding: its leader, whether it is settled, all figures to twelve decimals."""

    def digits(*values: float) -> list[str]:
        return [f"{value:.12f}" for value in values]

    def look(now: Look) -> tuple[Any, ...]:
        figures = {
            name: digits(p, mean) for name, p, mean in zip(now.found.systems, now.best, now.found.mean, strict=True)
        }
        return now.leader, now.is_settled, digits(now.chance), sorted(figures.items())

    runs = sorted(sample.home.folder.parent.glob("*.run"))
    with verb.at_terminal(home=sample.home.folder) as judge:
        terminal = judge.look()
    learned = terminal.deciding.learned
    order, grades = learned.judged.rows[learned.judged.given.argsort()], np.zeros(len(learned.unjudged))
    grades[learned.judged.rows] = learned.judged.tails[0]
    *_, contest = deciding.simulate(
        learned.universe, terminal.question, lambda rows: grades[rows], batch=STEPS, most=len(order),
        rng=np.random.default_rng(0), pick=lambda now, count, _: order[len(now.judged) :][:count],
    )  # fmt: skip
    verdict = endoxa.decide(runs, labels).tables["verdict"].row(0, named=True)
    table = json.loads(command_line.endoxa("eval", *runs, "--labels", labels, "AP", "-o", "json").stdout)
    said = (verdict["leader"], verdict["settled"], digits(verdict["chance"]))
    return {
        "page": (
            page["leader"], page["settled"], digits(page["chance"]),
            sorted((one["system"], digits(one["p_best"], one["mean"])) for one in page["systems"]),
        ),
        "terminal": look(terminal),
        "contest": look(contest),
        "eval --labels": (
            *said, sorted((one["system"], digits(one["p_best"], one["value"])) for one in table)
        ),
    }  # fmt: skip


def test_every_answer_moves_the_verdict(sample: Sample, tmp_path: Path) -> None:
    ann = sample.judge(NAME, "ann")
    before = ann.get("verdict").json()
    assert before["labels"] == 0
    assert not before["settled"]
    assert before["sentence"].startswith("No label yet: the order is a guess")
    assert before["forecast"] is None
    assert judged(ann, 24) == 24
    some = complete(ann)
    assert some["labels"] == 24
    assert not some["settled"]  # 25 at least
    assert "more labels" in some["forecast"]
    assert [point["labels"] for point in some["history"]] == [5, 10, 15, 20, 24]
    ben = sample.judge(NAME, "ben")
    while not (now := ben.get("verdict").json())["settled"]:
        assert judged(ben, 5) > 0, "rounds are planned until it is settled"
    assert now["leader"] == "good"
    assert now["judges"] == 2
    assert now["chance"] >= 0.95
    assert now["labels"] >= 50  # two looks, 25 labels apart
    assert sum(one["p_best"] for one in now["systems"]) == pytest.approx(1)
    with sample.home.store.reading() as connection:
        study = catalogue.find(connection, NAME)
        exports.export(connection, study, tmp_path / "labels.csv", "csv")
    shown = everywhere(now, sample, tmp_path / "labels.csv")
    assert len(shown) == 4
    for place, figures in shown.items():
        assert figures == shown["page"], place
    assert not making.round_is_due(sample.home, NAME)  # it stops asking


def test_after_a_restart_one_fit_serves_all_requests_and_the_history_follows(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels once were fitted again five by five before the first verdict, by every request."""
    folder = sample.home.folder.parent
    runs = tuple(sorted(folder.glob("*.run")))
    first = endoxa.read(runs, kind="run").frame.filter(pl.col("rank") <= 20)
    items = first["query", "item"].unique(maintain_order=True)
    grades = pl.Series("grade", [float(place % 3 == 0) for place in range(items.height)])
    labels = items.with_columns(grades, pl.lit("earlier").alias("source"), pl.lit("person").alias("kind"))
    settings = Settings(name="long", screen="yes-no", choose="decide", common=0, count=25, rounds=settling.ROUNDS)
    sources = Sources(items=folder / "items.csv", runs=runs)
    make(sample.home, settings, sources, now=sample.clock())
    making.add_answers(sample.home, "long", Opinions.of(labels), now=sample.clock())
    ann = sample.judge("long", "ann")  # the first verdict of this server, as after a restart
    begun, sizes = threading.Event(), list[int]()
    fitted = deciding.learn

    def counted(universe: Any, judged: Any, levels: Any, start: Any = None) -> Any:
        sizes.append(len(judged))
        if threading.current_thread().name == "history":
            begun.wait()
        return fitted(universe, judged, levels, start)

    monkeypatch.setattr(deciding, "learn", counted)
    with ThreadPoolExecutor(12) as pool:
        seen = list(pool.map(lambda _: ann.get("verdict").json(), range(60)))
    assert {one["labels"] for one in seen} == {labels.height} and labels.height > 100
    assert [len(one["history"]) for one in seen] == [1] * 60
    assert sizes.count(labels.height) == 1  # for the verdict, and for whether a further round is due
    assert sizes.count(0) <= 2  # before any label, and where the history begins
    begun.set()
    last = complete(ann)
    assert {key: last[key] for key in ("sentence", "chance", "systems")} == {
        key: seen[0][key] for key in ("sentence", "chance", "systems")
    }
    assert [point["labels"] for point in last["history"]] == [*range(5, labels.height, 5), labels.height]


def test_the_history_has_a_limited_number_of_points() -> None:
    def points(count: int) -> list[int]:
        numbers = pl.DataFrame({"number": range(count)}, schema={"number": pl.Int64})
        return [size for size, _ in verdicts._wanted(numbers)]

    assert points(0) == []
    assert points(3) == [3]
    assert points(200) == [*range(5, 200, 5), 200]
    assert points(201) == [*range(10, 201, 10), 201]
    assert len(points(10_000)) <= verdicts.POINTS
    assert set(points(1_999)) - {1_999} <= set(range(5, 2_000, 5))  # what was computed before is used again


def test_only_those_of_the_study_see_it(sample: Sample) -> None:
    sample.make("another", "yes-no")
    stranger = sample.judge("another", "cy")
    assert stranger.client.get(f"/api/studies/{NAME}/verdict").status_code == 404
    assert stranger.get("verdict").status_code == 404  # that study decides nothing
    assert sample.browser().get(f"/api/studies/{NAME}/verdict").status_code == 401


def test_the_page_has_the_verdict_only_where_there_is_one(sample: Sample) -> None:
    ann = sample.judge(NAME, "dee")
    assert 'id="verdict"' in ann.client.get(f"/s/{NAME}").text
    other = sample.judge("another", "eve")
    assert 'id="verdict"' not in other.client.get("/s/another").text


def test_a_guarantee_says_which_systems_are_left(sample: Sample) -> None:
    settings = Settings(
        name="sure", screen="yes-no", choose="decide", common=0, count=25, rounds=settling.ROUNDS, guarantee=True,
        measure="P@5", skip=False,
    )  # fmt: skip
    folder = sample.home.folder.parent
    sources = Sources(items=folder / "items.csv", runs=tuple(sorted(folder.glob("*.run"))))
    make(sample.home, settings, sources, now=sample.clock())
    cat = sample.judge("sure", "cat")
    assert judged(cat, 6) == 6
    now = cat.get("verdict").json()
    assert now["guarantee"] and not now["settled"]
    assert now["forecast"] is None
    assert "Not settled with a guarantee: fair, good and poor may still be the best." in now["sentence"]
    while not (now := cat.get("verdict").json())["settled"]:
        assert judged(cat, 5) > 0
    assert now["leader"] == "good"
    assert "Settled with a guarantee: the chance of an error is at most 0.05, whatever the model" in now["sentence"]


@pytest.mark.parametrize("about", ["best", "order"])
def test_the_leader_is_the_first_of_the_systems(sample: Sample, about: str) -> None:
    """Also where another system than the one with the highest mean is the best more often."""
    with sample.home.store.reading() as connection:
        run = catalogue.run_of(connection, catalogue.find(connection, NAME))
    assert run is not None
    now = Deciding.of(Universe.of(run), Question(parse("AP"), "order" if about == "order" else "best")).verdict
    ends = int(now.found.mean.argmax()), int(now.found.mean.argmin())
    best = now.best.copy()
    best[list(ends)] = 0.1, 0.8
    leader = now.found.systems[ends[0] if about == "order" else ends[1]]
    shown = told(replace(now, best=best, leader=leader), None)
    assert shown["leader"] == shown["systems"][0]["system"] == leader
