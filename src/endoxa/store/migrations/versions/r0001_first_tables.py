"""The first tables, and the rule that answers and events are only added to."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, and the triggers."""
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("results_open", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
        sa.UniqueConstraint("name", name=op.f("uq_studies_name")),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(length=12), nullable=False),
        sa.Column("nickname", sa.String(length=60), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("withdrawn_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_invitations_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("digest", name=op.f("uq_invitations_digest")),
    )
    with op.batch_alter_table("invitations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_invitations_study_id"), ["study_id"], unique=False)

    op.create_table(
        "items",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("file", sa.String(length=64), nullable=True),
        sa.Column("original", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_items_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_items_study_id_name")),
    )
    op.create_table(
        "queries",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("file", sa.String(length=64), nullable=True),
        sa.Column("original", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_queries_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queries")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_queries_study_id_name")),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("invitation_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["invitation_id"], ["invitations.id"], name=op.f("fk_documents_invitation_id_invitations")
        ),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_documents_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
    )
    with op.batch_alter_table("documents", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_documents_study_id"), ["study_id"], unique=False)

    op.create_table(
        "raters",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("nickname", sa.String(length=60), nullable=False),
        sa.Column("folded", sa.String(length=120), nullable=False),
        sa.Column("invitation_id", sa.Integer(), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("joined_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["invitation_id"], ["invitations.id"], name=op.f("fk_raters_invitation_id_invitations")
        ),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_raters_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_raters")),
        sa.UniqueConstraint("invitation_id", name=op.f("uq_raters_invitation_id")),
        sa.UniqueConstraint("study_id", "folded", name=op.f("uq_raters_study_id_folded")),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("invitation_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["invitation_id"], ["invitations.id"], name=op.f("fk_sessions_invitation_id_invitations")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sessions_invitation_id"), ["invitation_id"], unique=False)

    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["query_id"], ["queries.id"], name=op.f("fk_tasks_query_id_queries")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_tasks_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.create_index("ix_tasks_study_id_role", ["study_id", "role"], unique=False)

    op.create_table(
        "answers",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=True),
        sa.Column("key", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("grade", sa.Double(), nullable=True),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("relevance", sa.Double(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("shown", sa.JSON(), nullable=True),
        sa.Column("screen", sa.String(length=40), nullable=True),
        sa.Column("method", sa.String(length=10), nullable=True),
        sa.Column("active_seconds", sa.Double(), nullable=True),
        sa.Column("away_seconds", sa.Double(), nullable=True),
        sa.Column("propensity", sa.Double(), nullable=True),
        sa.Column("selected_by", sa.Text(), nullable=True),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_answers_item_id_items")),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.id"], name=op.f("fk_answers_rater_id_raters")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_answers_study_id_studies")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_answers_task_id_tasks")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answers")),
        sa.UniqueConstraint("rater_id", "key", "place", name=op.f("uq_answers_rater_id_key_place")),
    )
    with op.batch_alter_table("answers", schema=None) as batch_op:
        batch_op.create_index("ix_answers_rater_task", ["rater_id", "task_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_answers_study_id"), ["study_id"], unique=False)

    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("shuffle", sa.Double(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("shown", sa.JSON(), nullable=True),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("answer_id", sa.Integer(), nullable=True),
        sa.Column("claimed_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.id"], name=op.f("fk_assignments_rater_id_raters")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_assignments_study_id_studies")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_assignments_task_id_tasks")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("task_id", "rater_id", name=op.f("uq_assignments_task_id_rater_id")),
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.create_index("ix_assignments_free", ["study_id", "state", "role", "shuffle"], unique=False)
        batch_op.create_index("ix_assignments_rater", ["rater_id", "state", "position"], unique=False)

    op.create_table(
        "draws",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_draws_item_id_items")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_draws_study_id_studies")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_draws_task_id_tasks")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_draws")),
    )
    with op.batch_alter_table("draws", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_draws_study_id"), ["study_id"], unique=False)

    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=True),
        sa.Column("rater_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=30), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.id"], name=op.f("fk_events_rater_id_raters")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_events_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_study_id"), ["study_id"], unique=False)

    op.create_table(
        "task_items",
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("propensity", sa.Double(), nullable=True),
        sa.Column("selected_by", sa.Text(), nullable=True),
        sa.Column("expected", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_task_items_item_id_items")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_task_items_task_id_tasks")),
        sa.PrimaryKeyConstraint("task_id", "item_id", name=op.f("pk_task_items")),
    )
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
