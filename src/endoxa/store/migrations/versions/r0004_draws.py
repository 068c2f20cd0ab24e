"""How a pair was drawn is in columns of its own; until now it was a text in selected_by."""

import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KEYS = {"answers": ("id",), "task_items": ("task_id", "item_id")}
DRAW = ("draw", "draw_after", "draw_depth")
# next@10 round 57 after 50, pool@10, adaptive@2
OLD = re.compile(
    r"(next|pool)@([0-9]{1,15})(?: round ([0-9]{1,15})(?: after ([0-9]{1,15}))?)?|(adaptive)@([0-9]{1,15})"
)


def upgrade() -> None:
    """Add the columns and fill them. The trigger that refuses to change answers is away while this is done."""
    for table in KEYS:
        for name in DRAW:
            op.add_column(table, sa.Column(name, sa.BigInteger(), nullable=True))
    away, again = _guard(op.get_bind().dialect.name)
    op.execute(sa.text(away))
    for table, key in KEYS.items():
        _fill(table, key)
    op.execute(sa.text(again))


def _fill(table: str, key: tuple[str, ...]) -> None:
    names, bind = ", ".join(key), op.get_bind()
    rows = bind.execute(sa.text(f"SELECT {names}, selected_by FROM {table} WHERE selected_by LIKE '%@%'")).mappings()
    drawn = [{**row, **_columns(match)} for row in rows if (match := OLD.fullmatch(row["selected_by"]))]
    if drawn:
        values = ", ".join(f"{name} = :{name}" for name in ("selected_by", *DRAW))
        which = " AND ".join(f"{name} = :{name}" for name in key)
        bind.execute(sa.text(f"UPDATE {table} SET {values} WHERE {which}"), drawn)


def _columns(match: re.Match[str]) -> dict[str, Any]:
    next_or_pool, depth, number, after, adaptive, adaptive_number = match.groups()
    texts = zip(DRAW, (number or adaptive_number, after, depth), strict=True)
    return {"selected_by": next_or_pool or adaptive, **{name: text and int(text) for name, text in texts}}


def _guard(dialect: str) -> tuple[str, str]:
    """The statements that remove the trigger and make it anew, as the first revision made it."""
    if dialect == "sqlite":
        return "DROP TRIGGER answers_no_update", (
            "CREATE TRIGGER answers_no_update BEFORE UPDATE ON answers "
            "BEGIN SELECT RAISE(ABORT, 'answers are only added to'); END"
        )
    return (
        "ALTER TABLE answers DISABLE TRIGGER answers_only_added_to",
        "ALTER TABLE answers ENABLE TRIGGER answers_only_added_to",
    )


def downgrade() -> None:
    """The text is not written again."""
    raise NotImplementedError("the text that held the draws is gone; restore a backup")
