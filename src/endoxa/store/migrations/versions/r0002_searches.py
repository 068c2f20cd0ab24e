"""Searches with their events, which are only added to, links that show one, and what searches teach later ones."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER: sa.Double[float] = sa.Double()


def upgrade() -> None:
    """Make the tables, and the triggers."""
    op.create_table(
        "searches",
        _key(),
        sa.Column("name", sa.String(22), nullable=False),
        sa.Column("invitation_id", sa.Integer(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("features", sa.String(64), nullable=False),
        sa.Column("forked_id", sa.Integer(), nullable=True),
        sa.Column("created_at", NUMBER, nullable=False),
        sa.Column("taught_at", NUMBER, nullable=True),
        _refers("searches", "invitation_id", "invitations"),
        _refers("searches", "forked_id", "searches"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_searches")),
        sa.UniqueConstraint("name", name=op.f("uq_searches_name")),
    )
    op.create_index(op.f("ix_searches_invitation_id"), "searches", ["invitation_id"], unique=False)
    op.create_table(
        "search_events",
        _key(),
        sa.Column("search_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(36), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        _refers("search_events", "search_id", "searches"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search_events")),
        sa.UniqueConstraint("search_id", "number", name=op.f("uq_search_events_search_id_number")),
        sa.UniqueConstraint("search_id", "key", name=op.f("uq_search_events_search_id_key")),
    )
    op.create_table(
        "search_shares",
        sa.Column("invitation_id", sa.Integer(), nullable=False),
        sa.Column("search_id", sa.Integer(), nullable=False),
        _refers("search_shares", "invitation_id", "invitations"),
        _refers("search_shares", "search_id", "searches"),
        sa.PrimaryKeyConstraint("invitation_id", name=op.f("pk_search_shares")),
    )
    op.create_table(
        "arm_counts",
        _key(),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("arm", sa.String(60), nullable=False),
        sa.Column("above", NUMBER, nullable=False),
        sa.Column("below", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_arm_counts")),
        sa.UniqueConstraint("collection", "arm", name=op.f("uq_arm_counts_collection_arm")),
    )
    for statement in _only_added_to("search_events", op.get_bind().dialect.name):
        op.execute(sa.text(statement))


def _key() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), autoincrement=True, nullable=False)


def _refers(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], name=op.f(f"fk_{table}_{column}_{other}"))


def _only_added_to(table: str, dialect: str) -> list[str]:
    """Triggers by which the database itself refuses to change or remove a row, as for answers."""
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} are only added to'); END"
            for act in ("UPDATE", "DELETE")
        ]
    return [
        f"CREATE FUNCTION {table}_only_added_to() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} are only added to'; END $$",
        f"CREATE TRIGGER {table}_only_added_to BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_only_added_to()",
    ]


def downgrade() -> None:
    """Searches are removed by hand, never by a program."""
    raise NotImplementedError("searches would be lost; remove their tables by hand")
