"""The entry point of Alembic: the migrations on the connection it was given."""

from __future__ import annotations

from alembic import context

from tidegate.stores.migrations import VERSION_TABLE
from tidegate.stores.rows.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # Alembic believes SQLite cannot undo a change of tables. It can, inside a transaction that is
    # begun explicitly, as the store begins its own.
    transactional_ddl=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
