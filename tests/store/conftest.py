"""One home per database for all tests of the store; every test makes a study of its own in it."""

import secrets

import pytest
import sqlalchemy as sa

from endoxa.store.home import open_home


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def place(request, tmp_path_factory):
    """A folder with a database: SQLite, then PostgreSQL."""
    url = None
    if request.param == "postgres":
        server = sa.make_url(request.getfixturevalue("postgres_server")).set(drivername="postgresql+psycopg")
        name = f"endoxa_{secrets.token_hex(6)}"
        engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(f"create database {name}"))
        engine.dispose()
        url = server.set(database=name).render_as_string(hide_password=False)
    with open_home(tmp_path_factory.mktemp("home"), url, create=True) as home:
        yield home
