"""The dashboard, `study status`, `ratings` and `eval bundle.zip` say the same of a study, to the digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import done
from store_samples import NOW, Judge

import endoxa
from endoxa.evaluations.rating_sentences import by_rating
from endoxa.evaluations.ratings import Analysis
from endoxa.reports.study_status import status_answer, status_lines
from endoxa.reports.terminal import remarks
from endoxa.store import work
from endoxa.store.home import open_home
from endoxa.studies.comparison import Comparison
from endoxa.verbs import study as verb

QUERIES = [f"q{number:02}" for number in range(12)]
ITEMS = [f"d{number:02}" for number in range(24)]
COLUMNS = ["system", "baseline", "difference", "lo", "hi", "decided", "state"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Texts, queries, and the runs of two good systems and a poor one: relevant is what the query's number divides."""
    folder = tmp_path_factory.mktemp("parts")
    chance = np.random.default_rng(5)
    found = {name: folder / name for name in ("items.csv", "queries.csv", "one.run", "two.run", "poor.run")}
    found["items.csv"].write_text("item,text\n" + "".join(f"{item},text {item}\n" for item in ITEMS))
    found["queries.csv"].write_text("query,text\n" + "".join(f"{query},about {query}\n" for query in QUERIES))
    for name, noise in (("one", 0.6), ("two", 0.8), ("poor", 3.0)):
        lines = []
        for query in QUERIES:
            scores = np.array([worth(query, item) for item in ITEMS]) + noise * chance.normal(size=len(ITEMS))
            best = [ITEMS[at] for at in (-scores).argsort()[:15]]
            lines += [f"{query} Q0 {item} {rank} {16 - rank} {name}\n" for rank, item in enumerate(best, 1)]
        found[f"{name}.run"].write_text("".join(lines))
    return found


def worth(query: str, item: str) -> float:
    return 2.0 * ((int(query[1:]) + int(item[1:])) % 4 == 0)


@pytest.fixture(scope="module", params=["agreeing", "random"])
def study(parts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, request: Any) -> dict[str, Any]:
    """A study that three judges answered, most of its tasks at least, in what every surface reads."""
    home = tmp_path_factory.mktemp(request.param)
    runs = [parts["one.run"], parts["two.run"], parts["poor.run"]]
    settings = {"overlap": 2, "common": 4, "tasks_per_query": 3}
    planned = verb.new(
        "pets", screen="four-results", items=parts["items.csv"], queries=parts["queries.csv"], runs=runs,
        settings=settings, home=home, now=NOW,
    )  # fmt: skip
    chance = np.random.default_rng(8)
    with open_home(home) as opened:
        for name in ("ana", "ben", "eva"):
            judge = Judge(opened, planned.study, name)
            for _ in range(16):
                if not (given := judge.tasks()):
                    break
                judge.answer(
                    given[0], responses=[_said(given[0], item, request.param, chance) for item in given[0].items]
                )
    verb.export("pets", home / "answers.csv", home=home)
    verb.export("pets", home / "answers.parquet", home=home)
    verb.bundle("pets", home / "pets.zip", home=home, now=NOW)
    (status,) = verb.status("pets", home=home, now=NOW)
    return {"home": home, "runs": [str(path) for path in runs], "status": status, "kind": request.param}


def _said(task: work.Task, item: dict[str, Any], kind: str, chance: np.random.Generator) -> work.Response:
    grade = chance.integers(1, 6) if kind == "random" else 2 + worth(task.query["name"], item["name"])
    noise = 0 if kind == "random" else chance.integers(-1, 2)
    return work.Response(item["id"], float(np.clip(grade + noise, 1, 5)))


def rows_of(pairs: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in pairs]


@pytest.mark.parametrize("form", ["answers.csv", "answers.parquet"])
def test_four_surfaces_have_the_same_numbers(study: dict[str, Any], form: str) -> None:
    verdict, home = study["status"]["verdict"], study["home"]
    shown = rows_of(verdict["pairs"])
    assert len(shown) == 3 and all(row[3] < row[2] < row[4] for row in shown)
    rated = endoxa.rate(str(home / form), study["runs"])
    assert rows_of(rated.tables["compared"].to_dicts()) == shown
    scored = endoxa.evaluate(study["runs"], str(home / "pets.zip"))
    assert rows_of(scored.tables["compared"].to_dicts()) == shown
    details: Analysis = rated.details
    assert isinstance(details.comparison, Comparison)
    assert details.comparison.systems["mean"].to_list() == [one["mean"] for one in verdict["systems"]]
    agreed = study["status"]["agreement"]
    assert (details.agreement.alpha, details.agreement.lo, details.agreement.hi) == (
        agreed["alpha"], agreed["lo"], agreed["hi"],
    )  # fmt: skip


def test_four_surfaces_have_the_same_words(study: dict[str, Any]) -> None:
    status, home = study["status"], study["home"]
    verdict = status["verdict"]
    words = [*(one["sentence"] for one in verdict["pairs"]), verdict["estimand"]]
    rated = endoxa.rate(str(home / "answers.csv"), study["runs"])
    scored = endoxa.evaluate(study["runs"], str(home / "pets.zip"))
    texts = {
        "status": status_lines(status), "ratings": by_rating(rated.details), "bundle": remarks(scored, full=False),
    }  # fmt: skip
    for surface, lines in texts.items():
        for sentence in words:
            assert any(sentence in line for line in lines), (surface, sentence)
    answers = {
        "status": status_answer([status]).partition("judges. ")[2], "ratings": rated.sentences[0],
        "bundle": scored.sentences[0],
    }  # fmt: skip
    if study["kind"] == "random":
        assert status["agreement"]["alpha"] < 0.1
        assert verdict["leads"][0].startswith("The judges do not agree (alpha ")
        assert all(text.startswith(" ".join(verdict["leads"])) for text in answers.values()), answers
    else:
        assert verdict["leads"] == []
        assert answers["status"].startswith(words[0]) and answers["ratings"].startswith(words[0])


def test_the_command_line_prints_them(study: dict[str, Any]) -> None:
    home, sentence = study["home"], study["status"]["verdict"]["pairs"][0]["sentence"]
    for command in (
        ["study", "status", "pets", "--home", home], ["ratings", home / "answers.csv", *study["runs"]],
        ["eval", home / "pets.zip", *study["runs"]],
    ):  # fmt: skip
        assert sentence in " ".join(done(*command).split()), command


def test_another_sign_is_explained(study: dict[str, Any]) -> None:
    """A bundle's headline measure and the mean rating disagree on the two best systems, or nothing is said."""
    scored = endoxa.evaluate(study["runs"], str(study["home"] / "pets.zip"))
    rows = scored.summary.filter(pl.col("measure") == scored.measures[0]).sort("value", descending=True)
    means = {one["system"]: one["mean"] for one in study["status"]["verdict"]["systems"]}
    first, second = rows["system"][:2]
    is_turned = rows["value"][0] > rows["value"][1] and means[first] < means[second]
    said = [one for one in scored.notes if one.code == "study.other_question"]
    assert bool(said) == is_turned
    assert [one.facts["measure"] for one in scored.notes if one.code == "study.headline"] == [scored.measures[0]]


def test_no_interval_of_a_bundle_is_without_width(study: dict[str, Any]) -> None:
    scored = endoxa.evaluate(study["runs"], str(study["home"] / "pets.zip"))
    known = scored.summary.filter(pl.col("lo").is_not_nan())
    assert (known["hi"] - known["lo"] > 1e-9).all()
