"""Alembic's entry: runs the migrations on the connection that is handed over."""

from alembic import context

config = context.config
context.configure(
    connection=config.attributes["connection"], target_metadata=config.attributes["metadata"], render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
