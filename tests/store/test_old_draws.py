"""Labels of 0.1 say in a text how they were drawn: files and databases give the same numbers as then."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import endoxa
from endoxa.beliefs.learned import Universe
from endoxa.comparisons.prediction import drawn_from
from endoxa.comparisons.rounds import last_round, rounds_of
from endoxa.io.bundles import read_bundle
from endoxa.pools.guaranteed import Draws
from endoxa.store import catalogue, exports, making, records
from endoxa.store import schema as s
from endoxa.store.home import Home, open_home
from endoxa.store.sessions import session_of
from endoxa.studies import estimates
from endoxa.studies.latest import as_answered, latest
from endoxa.tables import Opinions
from endoxa.verbs.inputs import opinions_of, run_of

HERE = Path(__file__).parent / "fixtures"
RUNS = [str(HERE / f"{system}.run") for system in ("good", "fair", "poor")]
ROUNDS = [str(HERE / f"next-{number}.csv") for number in (1, 2)]


def numbers_of_files() -> dict[str, Any]:
    """Everything that depends on how the labels of a file were drawn."""
    tables = [opinions_of(path) for path in ROUNDS]
    together, run = rounds_of(tables), run_of(RUNS)
    taught = endoxa.evaluate(RUNS, labels=ROUNDS, measures=["AP", "P@5"])
    pinned = endoxa.evaluate(RUNS, labels=ROUNDS, measures=["P@5"], model="consensus", worlds=20)
    belief = endoxa.believe(RUNS, people=0)
    universe = drawn_from(run, belief, tables[0])
    assert universe is not None
    both = Opinions.of(pl.concat([table.frame for table in tables]))
    third = endoxa.choose(RUNS, None, 20, judged=ROUNDS, seed=7)
    guarantee, adapted = str(HERE / "guarantee.csv"), opinions_of(str(HERE / "adapted.csv"))
    draws = Draws.of(Universe.of(run), opinions_of(guarantee))
    bundle = read_bundle(HERE / "adapted.zip")
    assert bundle.opinions is not None
    return {
        "rounds": rows(together.frame.select("query", "item", "propensity")),
        "reversed": rows(rounds_of(tables[::-1]).frame.select("query", "item", "propensity")),
        "last round": [last_round(one) for one in (*tables, both, adapted)],
        "summary": rows(taught.summary.select("system", "measure", "value", "lo", "hi", "p_best")),
        "estimates": rows(taught.tables["estimates"]),
        "pinned": rows(pinned.tables["estimates"]),
        "universe": universe.height,
        "strata": rows(endoxa.summarise(endoxa.measure(run, both, ["xinfAP"]))),
        "is a sample": [len(endoxa.evaluate(RUNS, ROUNDS[0], ["P@5"]).warnings)],
        "third": rows(third.select("query", "item", "propensity", "p")),
        "proved": rows(endoxa.decide(RUNS, guarantee, "P@5", guarantee=True).tables["verdict"]),
        "by the model": rows(endoxa.decide(RUNS, guarantee, "P@5").tables["verdict"]),
        "draws": [part.tolist() for part in draws.parts],
        "weights": rows(estimates.weights(adapted)),
        "adapted as rounds": rows(rounds_of([adapted]).frame.select("query", "item", "propensity")),
        "bundle": rows(endoxa.evaluate(RUNS, str(HERE / "adapted.zip"), ["P@5", "R@10"]).summary),
        "weights of the bundle": rows(estimates.weights(bundle.opinions)),
    }  # fmt: skip


def numbers_of_a_database(home: Home) -> dict[str, Any]:
    """The verdicts of its studies, the chances of their answers, and the next round of each."""
    found: dict[str, Any] = {}
    for name in ("guaranteed", "rounds", "adapted"):
        with home.store.reading() as connection:
            study = catalogue.find(connection, name)
            shares = records.answered_shares(connection, study)
            current = as_answered(latest(records.rows(connection, study)), shares)
            bundle = exports.bundle(connection, study, now=0.0)
        found[f"{name}: answers"] = rows(current.select("source", "query", "item", "grade", "propensity", "round"))
        assert bundle.opinions is not None
        found[f"{name}: weights"] = rows(estimates.weights(bundle.opinions))
        if study.settings.choose == "decide":
            look = session_of(home, study).look().verdict
            proof = None if look.proof is None else [*look.proof.left, look.proof.won, look.proof.draws]
            found[f"{name}: verdict"] = [look.leader, look.chance, look.is_settled, *look.best.tolist(), proof]
        planned = making.next_round(home, name, now=1_800_000_000.0)
        m, t = s.task_items.c, s.tasks.c
        with home.store.reading() as connection:
            last = s.task_items.join(s.tasks, t.id == m.task_id).join(s.items, s.items.c.id == m.item_id)
            query = s.tasks.select().with_only_columns(t.round, s.items.c.name, m.propensity).select_from(last)
            wanted = query.where(t.study_id == study.id).order_by(m.task_id.desc()).limit(planned.tasks)
            found[f"{name}: next round"] = [list(row) for row in connection.execute(wanted)]
    return found


def rows(frame: pl.DataFrame) -> list[list[Any]]:
    return [list(row) for row in frame.iter_rows()]


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "studies.db").write_bytes(gzip.decompress((HERE / "studies.db.gz").read_bytes()))
    return folder


def same(found: Any, expected: Any, place: str = "") -> None:
    """Equal numbers but for the last digits, in nested lists."""
    if isinstance(expected, list):
        assert len(found) == len(expected), place
        for at, (one, two) in enumerate(zip(found, expected, strict=True)):
            same(one, two, f"{place}[{at}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, nan_ok=True), place
    else:
        assert found == expected, place


EXPECTED = json.loads((HERE / "numbers.json").read_text())


def test_files_of_0_1_give_the_same_numbers() -> None:
    found = numbers_of_files()
    for name, value in found.items():
        same(value, EXPECTED[name], name)


def test_a_database_of_0_1_gives_the_same_numbers(old_home: Path) -> None:
    """But for the next adaptive round: it is chosen in another way now."""
    with open_home(old_home) as home:
        found = numbers_of_a_database(home)
    assert len(EXPECTED) == len(found) + len(numbers_of_files())
    adaptive = found.pop("adapted: next round")
    assert len(adaptive) == 40
    assert all(number == 4 and 0 < chance <= 0.8 for number, _, chance in adaptive)
    for name, value in found.items():
        same(value, EXPECTED[name], name)
