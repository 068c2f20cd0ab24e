"""Nothing lost: a server that is killed three times while five judges answer, on both databases."""

import pytest
from soak.crowd import hold, killing


def test_nothing_is_lost_and_nothing_doubled_when_the_server_is_killed(database, tmp_path):
    found = hold(tmp_path / "home", database, judges=5, tasks=400, during=killing(3, 40))
    assert (found.lost, found.doubled, found.altered) == (0, 0, 0)
    assert found.kills == 3
    assert found.answers >= 160
    assert found.errors > 0, "nobody noticed the kills: they came when nothing was under way"


@pytest.mark.parametrize("crime", ["lost", "doubled", "altered"])
def test_the_comparison_finds_what_went_wrong(tmp_path, crime, monkeypatch):
    """A test of the test: answers that are missing, twice or otherwise in the database are counted."""
    import uuid
    from types import SimpleNamespace

    import sqlalchemy as sa
    from soak import crowd

    from endoxa.store import schema as s
    from endoxa.store.home import open_home

    key = str(uuid.uuid4())
    crowd.prepare(tmp_path, None, judges=1, tasks=6)
    with open_home(tmp_path) as home, home.store.writing() as connection:
        connection.execute(sa.insert(s.raters).values(study_id=1, nickname="x", folded="x", seed=1, joined_at=0.0))
        task, item = connection.execute(sa.select(s.task_items.c.task_id, s.task_items.c.item_id)).first()
        row = {
            "study_id": 1,
            "rater_id": 1,
            "task_id": task,
            "item_id": item,
            "kind": "answer",
            "role": "main",
            "at": 0.0,
        }
        for place in range({"lost": 0, "doubled": 2, "altered": 1}[crime]):
            grade = 5.0 if crime == "altered" else 4.0
            connection.execute(sa.insert(s.answers).values(**row, key=key, place=place, grade=grade))
    judge = SimpleNamespace(acknowledged={key: 4.0}, sent={key}, seconds=[0.1], errors=0)
    found = crowd.compared(tmp_path, None, [judge], kills=0, seconds=1.0)
    assert {name: getattr(found, name) for name in ("lost", "doubled", "altered")} == {
        "lost": 0, "doubled": 0, "altered": 0, crime: 1,
    }  # fmt: skip
    assert not found.is_whole
