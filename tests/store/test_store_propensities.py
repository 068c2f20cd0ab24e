"""What is exported can be weighted back, also when a study is stopped before its end."""

import uuid

import numpy as np
import polars as pl
import pytest
from study_samples import make

from endoxa.io.study_files import Sources
from endoxa.store import exports, people, work
from endoxa.store.home import open_home
from endoxa.studies.design import Settings
from endoxa.studies.estimates import weights
from endoxa.tables import Opinions


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_horvitz_thompson_holds_when_a_study_stops_early(tmp_path, material, share):
    """Mean over 60 studies of the estimated number of pairs in the pool, against their number."""
    truth = {query: set[str]() for query in ("p00", "p01", "p02", "p03")}
    for path in material.runs:
        for line in path.read_text().splitlines():
            query, _, item, *_ = line.split()
            truth[query].add(item)
    found = []
    with open_home(tmp_path / "home", create=True) as home:
        for number in range(60):
            settings = Settings(
                name=f"s{number}", screen="one-result", tasks_per_query=6, common=2, depth=8, seed=number
            )
            made = make(home, settings, Sources(items=material.items, runs=material.runs), now=1.0)
            with home.store.writing() as connection:
                _, token = people.invite(connection, home.key, made.study, "judge", nickname="ana", now=1.0)
                secret = people.join(connection, people.invitation_of(connection, home.key, token), "", now=1.0)
                visitor = people.visitor_of(connection, secret, now=1.0)
                assert visitor is not None and visitor.rater_id is not None
                for _ in range(round(share * made.tasks)):
                    (task, *_), _ = work.tasks(connection, made.study, visitor.rater_id, count=1, now=1.0)
                    said = [work.Response(item["id"], 5.0) for item in task.items]
                    key = str(uuid.uuid4())
                    work.answer(
                        connection, made.study, visitor.rater_id, task.id, key, said, work.Circumstances(), now=1.0
                    )
                exports.export(connection, made.study, tmp_path / "answers.parquet", "parquet")
            frame = weights(Opinions.of(pl.read_parquet(tmp_path / "answers.parquet")))
            found.append((1 / frame["propensity"]).sum())
    there = sum(len(items) for items in truth.values())
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - there) < 3.5 * error
    assert error < 0.1 * there
