"""The verdict beside the tasks: who may see it, that every answer moves it, and that the next round is planned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from decide_samples import write_field
from study_samples import make
from web_samples import Person, Sample, opened

import endoxa
from endoxa.io.study_files import Sources
from endoxa.store import catalogue, exports, making
from endoxa.studies import settling
from endoxa.studies.design import Settings

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


def test_every_answer_moves_the_verdict(sample: Sample, tmp_path: Path) -> None:
    ann = sample.judge(NAME, "ann")
    before = ann.get("verdict").json()
    assert before["labels"] == 0
    assert not before["settled"]
    assert before["sentence"].startswith("No label yet: what follows is only the consensus")
    assert judged(ann, 24) == 24
    some = ann.get("verdict").json()
    assert some["labels"] == 24
    assert not some["settled"]  # 25 at least
    assert [point["labels"] for point in some["history"]] == [5, 10, 15, 20, 24]
    ben = sample.judge(NAME, "ben")
    while not (now := ben.get("verdict").json())["settled"]:
        assert judged(ben, 5) > 0, "rounds are planned until it is settled"
    assert now["leader"] == "good"
    assert now["judges"] == 2
    assert now["chance"] >= 0.95
    assert now["further"] in {0, None} or now["further"] >= 0
    assert sum(one["p_best"] for one in now["systems"]) == pytest.approx(1)
    with sample.home.store.reading() as connection:
        study = catalogue.find(connection, NAME)
        exports.export(connection, study, tmp_path / "labels.csv", "csv")
        run = catalogue.run_of(connection, study)
    found = endoxa.evaluate(run, labels=tmp_path / "labels.csv", measures=["AP"]).summary
    told = {one["system"]: (one["p_best"], one["mean"]) for one in now["systems"]}
    for system, p, value in found.select("system", "p_best", "value").iter_rows():
        assert told[system] == pytest.approx((p, value), rel=1e-12)
    assert not making.round_is_due(sample.home, NAME)  # it stops asking


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
    assert now["further"] is None
    assert "Not settled with a guarantee: fair, good and poor may still be the best." in now["sentence"]
    while not (now := cat.get("verdict").json())["settled"]:
        assert judged(cat, 5) > 0
    assert now["leader"] == "good"
    assert "Settled with a guarantee: the chance of an error is at most 0.05, whatever the model" in now["sentence"]
