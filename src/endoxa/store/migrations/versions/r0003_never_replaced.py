"""Rows of append-only tables cannot be replaced (SQLite: INSERT OR REPLACE) or emptied away (PostgreSQL: TRUNCATE)."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEYS = {
    "answers": (("id",), ("rater_id", "key", "place")),
    "events": (("id",),),
    "search_events": (("id",), ("search_id", "number"), ("search_id", "key")),
}


def upgrade() -> None:
    """Add the triggers that the first two revisions lack."""
    for table, keys in KEYS.items():
        for statement in _never_replaced(table, keys, op.get_bind().dialect.name):
            op.execute(sa.text(statement))


def _never_replaced(table: str, keys: tuple[tuple[str, ...], ...], dialect: str) -> list[str]:
    """SQLite removes the old row of a replacement without its DELETE trigger, so a taken key refuses the new row."""
    if dialect == "sqlite":
        taken = " OR ".join(
            f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{name} = NEW.{name}' for name in key)})"
            for key in keys
        )
        return [
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {taken} "
            f"BEGIN SELECT RAISE(ABORT, '{table} are only added to'); END"
        ]
    return [
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_only_added_to()"
    ]


def downgrade() -> None:
    """The triggers guard answers: a program does not remove them."""
    raise NotImplementedError("the triggers guard answers; remove them by hand")
