"""The first tables, and the rule that answers and events are only added to."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WHOLE, TEXT, JSON = sa.Integer(), sa.Text(), sa.JSON()
NUMBER: sa.Double[float] = sa.Double()
REFERRED = {
    "study_id": "studies", "invitation_id": "invitations", "item_id": "items", "query_id": "queries",
    "rater_id": "raters", "task_id": "tasks",
}  # fmt: skip


def _make(
    table: str, columns: Mapping[str, Any], *, key: Sequence[str] = ("id",), unique: Sequence[Sequence[str]] = (),
    indexes: Mapping[str, list[str]] | None = None,
) -> None:  # fmt: skip
    """Make a table. A column with `?` behind its name may be null; one in `REFERRED` refers to another table."""
    made = [sa.Column("id", WHOLE, autoincrement=True, nullable=False)] if key == ("id",) else []
    made += [sa.Column(name.removesuffix("?"), kind, nullable=name.endswith("?")) for name, kind in columns.items()]
    rules: list[sa.Constraint] = [
        sa.ForeignKeyConstraint([name], [f"{REFERRED[name]}.id"], name=op.f(f"fk_{table}_{name}_{REFERRED[name]}"))
        for name in sorted(column.name for column in made if column.name in REFERRED)
    ]
    rules.append(sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{table}")))
    rules += [sa.UniqueConstraint(*names, name=op.f(f"uq_{table}_{'_'.join(names)}")) for names in unique]
    op.create_table(table, *made, *rules)
    for name, names in (indexes or {}).items():
        op.create_index(op.f(name), table, names, unique=False)


def upgrade() -> None:
    """Make the tables, and the triggers."""
    _make(
        "studies",
        {
            "name": sa.String(60), "settings": JSON, "state": sa.String(10), "results_open": sa.Boolean(),
            "created_at": NUMBER,
        },
        unique=[["name"]],
    )  # fmt: skip
    _make(
        "invitations",
        {
            "study_id?": WHOLE, "role": sa.String(12), "nickname?": sa.String(60), "digest": sa.String(64),
            "created_at": NUMBER, "expires_at": NUMBER, "withdrawn_at?": NUMBER, "used_at?": NUMBER,
        },
        unique=[["digest"]],
        indexes={"ix_invitations_study_id": ["study_id"]},
    )  # fmt: skip
    for table in ("items", "queries"):
        columns = {"study_id": WHOLE, "name": TEXT, "text?": TEXT, "file?": sa.String(64), "original?": sa.String(64)}
        _make(table, columns, unique=[["study_id", "name"]])
    _make(
        "documents",
        {
            "study_id": WHOLE, "kind": sa.String(20), "name": TEXT, "content": sa.LargeBinary(), "detail": JSON,
            "invitation_id?": WHOLE, "created_at": NUMBER,
        },
        indexes={"ix_documents_study_id": ["study_id"]},
    )  # fmt: skip
    _make(
        "raters",
        {
            "study_id": WHOLE, "nickname": sa.String(60), "folded": sa.String(120), "invitation_id?": WHOLE,
            "seed": sa.BigInteger(), "joined_at": NUMBER,
        },
        unique=[["invitation_id"], ["study_id", "folded"]],
    )  # fmt: skip
    _make(
        "sessions",
        {
            "digest": sa.String(64), "invitation_id": WHOLE, "created_at": NUMBER, "expires_at": NUMBER,
            "ended_at?": NUMBER,
        },
        key=["digest"],
        indexes={"ix_sessions_invitation_id": ["invitation_id"]},
    )  # fmt: skip
    _make(
        "tasks",
        {"study_id": WHOLE, "query_id?": WHOLE, "role": sa.String(10), "round": WHOLE},
        indexes={"ix_tasks_study_id_role": ["study_id", "role"]},
    )
    _make(
        "answers",
        {
            "study_id": WHOLE, "rater_id": WHOLE, "task_id": WHOLE, "item_id?": WHOLE, "key": sa.String(36),
            "kind": sa.String(8), "place": WHOLE, "grade?": NUMBER, "category?": TEXT, "rank?": WHOLE,
            "relevance?": NUMBER, "comment?": TEXT, "shown?": JSON, "screen?": sa.String(40), "method?": sa.String(10),
            "active_seconds?": NUMBER, "away_seconds?": NUMBER, "propensity?": NUMBER, "selected_by?": TEXT,
            "role": sa.String(10), "at": NUMBER,
        },
        unique=[["rater_id", "key", "place"]],
        indexes={"ix_answers_rater_task": ["rater_id", "task_id"], "ix_answers_study_id": ["study_id"]},
    )  # fmt: skip
    _make(
        "assignments",
        {
            "study_id": WHOLE, "task_id": WHOLE, "rater_id?": WHOLE, "role": sa.String(10), "shuffle": NUMBER,
            "position?": WHOLE, "shown?": JSON, "state": sa.String(10), "answer_id?": WHOLE, "claimed_at?": NUMBER,
        },
        unique=[["task_id", "rater_id"]],
        indexes={
            "ix_assignments_free": ["study_id", "state", "role", "shuffle"],
            "ix_assignments_rater": ["rater_id", "state", "position"],
        },
    )  # fmt: skip
    columns = {"study_id": WHOLE, "task_id": WHOLE, "item_id": WHOLE, "system": TEXT}
    _make("draws", columns, indexes={"ix_draws_study_id": ["study_id"]})
    columns = {"study_id?": WHOLE, "rater_id?": WHOLE, "kind": sa.String(30), "detail": JSON, "at": NUMBER}
    _make("events", columns, indexes={"ix_events_study_id": ["study_id"]})
    _make(
        "task_items",
        {
            "task_id": WHOLE, "item_id": WHOLE, "place": WHOLE, "propensity?": NUMBER, "selected_by?": TEXT,
            "expected?": TEXT,
        },
        key=["task_id", "item_id"],
    )  # fmt: skip
    for table in ("answers", "events"):
        for statement in _only_added_to(table, op.get_bind().dialect.name):
            op.execute(sa.text(statement))


def _only_added_to(table: str, dialect: str) -> list[str]:
    """Triggers by which the database itself refuses to change or remove a row."""
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
    """The first tables have nothing before them: a database is removed by hand, never by a program."""
    raise NotImplementedError("there is nothing before the first tables; remove the database by hand")
