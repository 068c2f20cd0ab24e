"""The migrations make just the tables that the code speaks of, in both databases, and answers are only added to."""

import sys

import pytest
import sqlalchemy as sa
from alembic import command

from endoxa.store.database import alembic_config, connect, open_store


def test_migrations_and_models_agree(database, tmp_path):
    store = open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")
    with store.engine.execution_options(write=True).begin() as connection:
        command.check(alembic_config(connection))
    store.close()


def test_what_alembic_prints_goes_to_the_present_output(tmp_path):
    """Not to the one of the moment at which it was imported, which may be closed."""
    store = open_store(f"sqlite:///{tmp_path / 'studies.db'}")
    with store.reading() as connection:
        assert alembic_config(connection).stdout is sys.stdout
    store.close()


ROWS = {  # a row of each append-only table, with the columns of its unique keys
    "answers": {
        "id": 1, "study_id": 1, "rater_id": 1, "task_id": 1, "key": "'k'", "kind": "'answer'", "place": 0, "grade": 1,
        "role": "'main'", "at": 0,
    },
    "events": {"id": 1, "kind": "'made'", "detail": "'{}'", "at": 0},
    "search_events": {"id": 1, "search_id": 1, "number": 1, "key": "'k'", "kind": "'start'", "detail": "'{}'", "at": 0},
}  # fmt: skip
KEYS = {"answers": [("rater_id", "key", "place")], "events": [], "search_events": [("search_id", "number"), ("key",)]}
NUMBERS = {"id", "number"}  # of another row
BESIDE = (
    "insert into studies (id, name, settings, state, results_open, created_at) values (1, 's', '{}', 'open', '0', 0)",
    "insert into raters (id, study_id, nickname, folded, seed, joined_at) values (1, 1, 'a', 'a', 1, 0)",
    "insert into tasks (id, study_id, role, round) values (1, 1, 'main', 1)",
    "insert into searches (id, name, title, collection, features, created_at) values (1, 'n', '', 'c', 'f', 0)",
)
WAYS = (
    "update {table} set at = 1",
    "delete from {table}",
    "insert into {table} ({names}) values ({changed}) on conflict (id) do update set at = 1",
)
SQLITE = (
    "update or replace {table} set at = 1",
    "insert or replace into {table} ({names}) values ({changed})",
    "replace into {table} ({names}) values ({changed})",
)
POSTGRES = (
    "truncate {table}",
    "truncate studies, raters, tasks, searches, {table} cascade",
    "truncate studies, searches cascade",
)


def test_every_table_with_a_trigger_is_tried(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'studies.db'}")
    with store.reading() as connection:
        guarded = connection.scalars(
            sa.text("select distinct tbl_name from sqlite_master where type = 'trigger'")
        ).all()
    store.close()
    assert sorted(guarded) == sorted(ROWS)


@pytest.mark.parametrize("table", ROWS)
def test_the_database_itself_refuses_to_change_or_remove_a_row(database, tmp_path, table):
    row = ROWS[table]
    words = {"table": table, "names": ", ".join(row), "changed": ", ".join(map(str, (row | {"at": 1}).values()))}
    store = open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")
    with store.writing() as connection:
        for statement in BESIDE:
            connection.execute(sa.text(statement))
        values = ", ".join(map(str, row.values()))
        connection.execute(sa.text(f"insert into {table} ({words['names']}) values ({values})"))
    with store.reading() as connection:
        before = connection.execute(sa.text(f"select * from {table}")).all()
    statements = [way.format(**words) for way in (*WAYS, *(POSTGRES if database else SQLITE))]
    for unique in [] if database else KEYS[table]:  # the row may also be replaced by one that shares another key
        other = {name: -1 if isinstance(value, int) and name in NUMBERS else value for name, value in row.items()}
        changed = other | {name: row[name] for name in unique}
        statements.append(
            f"insert or replace into {table} ({words['names']}) values ({', '.join(map(str, changed.values()))})"
        )
    for statement in statements:
        with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
            connection.execute(sa.text(statement))
        with store.reading() as connection:
            assert connection.execute(sa.text(f"select * from {table}")).all() == before, statement
    assert len(before) == 1
    store.close()


def test_how_answers_were_drawn_becomes_columns_and_answers_are_guarded_again(database, tmp_path):
    url = database or f"sqlite:///{tmp_path / 'studies.db'}"
    split = {
        "next@10 round 57 after 50": ("next", 57, 50, 10), "next@10 round 2": ("next", 2, None, 10),
        "pool@4": ("pool", None, None, 4), "adaptive@3": ("adaptive", 3, None, None), "a@b": ("a@b", None, None, None),
    }  # fmt: skip
    engine = connect(url)
    with engine.execution_options(write=True).begin() as connection:
        command.upgrade(alembic_config(connection), "0003")
        for statement in BESIDE:
            connection.execute(sa.text(statement))
        for at, text in enumerate(split, 1):
            row = ROWS["answers"] | {"id": at, "key": f"'k{at}'", "selected_by": f"'{text}'"}
            values = ", ".join(map(str, row.values()))
            connection.execute(sa.text(f"insert into answers ({', '.join(row)}) values ({values})"))
            connection.execute(sa.text(f"insert into items (id, study_id, name) values ({at}, 1, 'd{at}')"))
            member = f"insert into task_items (task_id, item_id, place, selected_by) values (1, {at}, 0, '{text}')"
            connection.execute(sa.text(member))
    engine.dispose()
    store = open_store(url)
    with store.reading() as connection:
        for table, order in (("answers", "id"), ("task_items", "item_id")):
            columns = f"select selected_by, draw, draw_after, draw_depth from {table} order by {order}"
            assert [tuple(row) for row in connection.execute(sa.text(columns))] == list(split.values()), table
    ways = ("update answers set draw = 1", "delete from answers")
    ways += ("truncate answers",) if database else ("update or replace answers set draw = 1",)
    for way in ways:
        with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
            connection.execute(sa.text(way))
    store.close()


def test_a_database_of_the_first_release_is_brought_up_to_date_and_keeps_what_it_has(database, tmp_path):
    url = database or f"sqlite:///{tmp_path / 'studies.db'}"
    engine = connect(url)
    with engine.execution_options(write=True).begin() as connection:
        command.upgrade(alembic_config(connection), "0001")
        connection.execute(sa.text("insert into events (kind, detail, at) values ('made', '{}', 0)"))
    engine.dispose()
    store = open_store(url)
    with store.reading() as connection:
        assert connection.scalar(sa.text("select count(*) from events")) == 1
        assert connection.scalar(sa.text("select count(*) from searches")) == 0
    replacing = "insert or replace into events (id, kind, detail, at) values (1, 'other', '{}', 0)"
    emptying = "truncate events" if database else replacing
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
        connection.execute(sa.text(emptying))
    store.close()
