"""Alembic's entry point: runs the migrations on the connection it was given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from alembic import context
from sqlalchemy import text as sql

from tidegate_server.stores.migrations import VERSION_TABLE
from tidegate_server.stores.rows.tables import metadata

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext, MigrationInfo


def note_runs_from(
    ctx: MigrationContext, step: MigrationInfo, heads: Collection[Any], run_args: Mapping[str, Any]
) -> None:
    """Store which code a migration's tables support; the first ones don't say.

    Args:
        ctx: the migrations' context.
        step: the migration that ran.
        heads: as Alembic passes it.
        run_args: as Alembic passes it.
    """
    del heads, run_args
    runs_from = getattr(getattr(step.up_revision, "module", None), "runs_from", None)
    if runs_from is not None and ctx.connection is not None:
        statement = sql(f"UPDATE {VERSION_TABLE} SET runs_from = :number")  # noqa: S608
        ctx.connection.execute(statement, {"number": runs_from})


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # Alembic believes that SQLite cannot undo schema changes. It can, inside an explicitly begun
    # transaction, and the store begins its own.
    transactional_ddl=True,
    # If the caller has begun a transaction, all migrations run in it.
    transaction_per_migration=True,
    on_version_apply=note_runs_from,
)
with context.begin_transaction():
    context.run_migrations()
