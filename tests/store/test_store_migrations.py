"""The migrations make just the tables that the code speaks of, in both databases, and answers are only added to."""

import pytest
import sqlalchemy as sa
from alembic import command

from endoxa.store.database import alembic_config, open_store


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
