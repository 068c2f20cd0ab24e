"""The tables of the study database.

Answers and events are append-only: a change is a new row, and so is an undo. The state of an assignment follows from
the answers; it is stored as well for speed, and updated in the same transaction. Searches are folds over their events,
and nothing else of their state is stored.
"""

from __future__ import annotations

import sqlalchemy as sa

from endoxa.tables import DRAW

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = sa.MetaData(naming_convention=NAMES)


def _table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """A table; its key is a number if it gives no other."""
    key = sa.Column("id", sa.Integer, primary_key=True, autoincrement=True)
    return sa.Table(name, metadata, *([] if any(getattr(one, "primary_key", 0) for one in parts) else [key]), *parts)


def _study(*, index: bool = False) -> sa.Column[int]:
    return sa.Column("study_id", sa.ForeignKey("studies.id"), nullable=False, index=index)


def _text(name: str, *, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=null)


def _draw() -> list[sa.Column[int]]:
    """How a pair was drawn: the columns of `Opinions`."""
    return [sa.Column(name, sa.BigInteger, nullable=True) for name in DRAW]


def _moment(name: str, *, null: bool = False) -> sa.Column[float]:
    """Seconds since 1970 in UTC, the same number in both databases."""
    return sa.Column(name, sa.Double, nullable=null)


studies = _table(
    "studies",
    sa.Column("name", sa.String(60), nullable=False, unique=True),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),  # open, closed, deleted
    sa.Column("results_open", sa.Boolean, nullable=False),
    _moment("created_at"),
)

documents = _table(  # runs, taxonomy, and the submissions of participants
    "documents",
    _study(index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    _text("name"),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("invitation_id", sa.ForeignKey("invitations.id"), nullable=True),
    _moment("created_at"),
)

items, queries = (
    _table(
        name,
        _study(),
        _text("name"),
        _text("text", null=True),
        sa.Column("file", sa.String(64), nullable=True),  # SHA-256 of the stored picture
        sa.Column("original", sa.String(64), nullable=True),  # SHA-256 of the original file
        sa.UniqueConstraint("study_id", "name"),
    )
    for name in ("items", "queries")
)

invitations = _table(
    "invitations",
    sa.Column(
        "study_id", sa.ForeignKey("studies.id"), nullable=True, index=True
    ),  # null for an organiser and for searches
    sa.Column("role", sa.String(12), nullable=False),  # judge, participant, organiser, searcher, viewer
    sa.Column("nickname", sa.String(60), nullable=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    _moment("created_at"),
    _moment("expires_at"),
    _moment("withdrawn_at", null=True),
    _moment("used_at", null=True),
)

raters = _table(
    "raters",
    _study(),
    sa.Column("nickname", sa.String(60), nullable=False),
    sa.Column("folded", sa.String(120), nullable=False),  # without letter case
    sa.Column("invitation_id", sa.ForeignKey("invitations.id"), nullable=True, unique=True),
    sa.Column("seed", sa.BigInteger, nullable=False),
    _moment("joined_at"),
    sa.UniqueConstraint("study_id", "folded"),
)

sessions = _table(
    "sessions",
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("invitation_id", sa.ForeignKey("invitations.id"), nullable=False, index=True),
    _moment("created_at"),
    _moment("expires_at"),
    _moment("ended_at", null=True),
)

tasks = _table(
    "tasks",
    _study(),
    sa.Column("query_id", sa.ForeignKey("queries.id"), nullable=True),
    sa.Column("role", sa.String(10), nullable=False),  # practice, common, gold, attention, main
    sa.Column("round", sa.Integer, nullable=False),
    sa.Index("ix_tasks_study_id_role", "study_id", "role"),
)

task_items = _table(
    "task_items",
    sa.Column("task_id", sa.ForeignKey("tasks.id"), primary_key=True),
    sa.Column("item_id", sa.ForeignKey("items.id"), primary_key=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("propensity", sa.Double, nullable=True),
    _text("selected_by", null=True),
    *_draw(),
    sa.Column("expected", sa.Text, nullable=True),  # the known answer of gold, attention and practice, as text
)

draws = _table(  # which system drew what, for the verdict on the systems
    "draws",
    _study(index=True),
    sa.Column("task_id", sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("item_id", sa.ForeignKey("items.id"), nullable=False),
    _text("system"),
)

assignments = _table(  # a slot: one judge for one task; free where rater_id is null
    "assignments",
    _study(),
    sa.Column("task_id", sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("rater_id", sa.ForeignKey("raters.id"), nullable=True),
    sa.Column("role", sa.String(10), nullable=False),
    sa.Column("shuffle", sa.Double, nullable=False),  # the order of slots, independent of their content
    sa.Column("position", sa.Integer, nullable=True),  # ordinal position for its judge
    sa.Column("shown", sa.JSON, nullable=True),  # order of the items on the page
    sa.Column("state", sa.String(10), nullable=False),  # free, open, answered, skipped
    sa.Column("answer_id", sa.Integer, nullable=True),  # its last answer or skip
    _moment("claimed_at", null=True),
    sa.UniqueConstraint("task_id", "rater_id"),
    sa.Index("ix_assignments_free", "study_id", "state", "role", "shuffle"),
    sa.Index("ix_assignments_rater", "rater_id", "state", "position"),
)

answers = _table(
    "answers",
    _study(index=True),
    sa.Column("rater_id", sa.ForeignKey("raters.id"), nullable=False),
    sa.Column("task_id", sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("item_id", sa.ForeignKey("items.id"), nullable=True),
    sa.Column("key", sa.String(36), nullable=False),  # chosen by the page: an answer sent twice is stored once
    sa.Column("kind", sa.String(8), nullable=False),  # answer, skip, undo
    sa.Column("place", sa.Integer, nullable=False),  # position of the item on the page; -1 for a skip or an undo
    sa.Column("grade", sa.Double, nullable=True),
    _text("category", null=True),
    sa.Column("rank", sa.Integer, nullable=True),
    sa.Column("relevance", sa.Double, nullable=True),
    _text("comment", null=True),
    sa.Column("shown", sa.JSON, nullable=True),
    sa.Column("screen", sa.String(40), nullable=True),
    sa.Column("method", sa.String(10), nullable=True),
    sa.Column("active_seconds", sa.Double, nullable=True),
    sa.Column("away_seconds", sa.Double, nullable=True),
    sa.Column("propensity", sa.Double, nullable=True),
    _text("selected_by", null=True),
    *_draw(),
    sa.Column("role", sa.String(10), nullable=False),
    _moment("at"),
    sa.UniqueConstraint("rater_id", "key", "place"),
    sa.Index("ix_answers_rater_task", "rater_id", "task_id"),
)

events = _table(
    "events",
    sa.Column("study_id", sa.ForeignKey("studies.id"), nullable=True, index=True),
    sa.Column("rater_id", sa.ForeignKey("raters.id"), nullable=True),
    sa.Column("kind", sa.String(30), nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    _moment("at"),
)

searches = _table(
    "searches",
    sa.Column("name", sa.String(22), nullable=False, unique=True),  # random, as in its address
    sa.Column("invitation_id", sa.ForeignKey("invitations.id"), nullable=True, index=True),  # the owner; null: nobody
    _text("title"),
    _text("collection"),  # the folder of the pictures, under which its prior is learnt
    sa.Column("features", sa.String(64), nullable=False),  # digest of the index
    sa.Column("forked_id", sa.ForeignKey("searches.id"), nullable=True),
    _moment("created_at"),
    _moment("taught_at", null=True),  # when it was added to the prior; a search is added once
)

search_events = _table(
    "search_events",
    sa.Column("search_id", sa.ForeignKey("searches.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),  # 1, 2, 3 … in its search
    sa.Column("key", sa.String(36), nullable=False),  # chosen by the page: an event sent twice is stored once
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    _moment("at"),
    sa.UniqueConstraint("search_id", "number"),
    sa.UniqueConstraint("search_id", "key"),
)

search_shares = _table(  # links that show one search, read-only
    "search_shares",
    sa.Column("invitation_id", sa.ForeignKey("invitations.id"), primary_key=True),
    sa.Column("search_id", sa.ForeignKey("searches.id"), nullable=False),
)

arm_counts = _table(  # what earlier searches of a collection taught about each group of features and metric
    "arm_counts",
    _text("collection"),
    sa.Column("arm", sa.String(60), nullable=False),  # look/cosine
    sa.Column("above", sa.Double, nullable=False),
    sa.Column("below", sa.Double, nullable=False),
    sa.UniqueConstraint("collection", "arm"),
)
