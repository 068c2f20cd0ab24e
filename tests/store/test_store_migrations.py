"""The migrations make just the tables that the code speaks of, in both databases, and answers are only added to."""

import pytest
import sqlalchemy as sa
from alembic import command

from endoxa.store.database import alembic_config, connect, open_store


def test_migrations_and_models_agree(database, tmp_path):
    store = open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")
    with store.engine.execution_options(write=True).begin() as connection:
        command.check(alembic_config(connection))
    store.close()


@pytest.mark.parametrize("statement", ["update events set kind = 'x'", "delete from events"])
def test_the_database_itself_refuses_changes(database, tmp_path, statement):
    store = open_store(database or f"sqlite:///{tmp_path / 'studies.db'}")
    with store.writing() as connection:
        connection.execute(sa.text("insert into events (kind, detail, at) values ('made', '{}', 0)"))
    with pytest.raises(sa.exc.DBAPIError, match="only added to"), store.writing() as connection:
        connection.execute(sa.text(statement))
    with store.reading() as connection:
        assert connection.scalar(sa.text("select count(*) from events where kind = 'made'")) == 1
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
    store.close()
