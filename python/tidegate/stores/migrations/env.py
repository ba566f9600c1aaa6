"""The entry point of Alembic: the migrations on the connection it was given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from alembic import context
from sqlalchemy import text as sql

from tidegate.stores.migrations import VERSION_TABLE
from tidegate.stores.rows.tables import metadata

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext, MigrationInfo


def note_runs_from(
    ctx: MigrationContext, step: MigrationInfo, heads: Collection[Any], run_args: Mapping[str, Any]
) -> None:
    """Keep what a migration says of the code that runs on its tables; the first ones say nothing.

    Args:
        ctx: of the migrations.
        step: the migration that was run.
        heads: as Alembic gives it.
        run_args: as Alembic gives it.
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
    # Alembic believes SQLite cannot undo a change of tables. It can, inside a transaction that is
    # begun explicitly, as the store begins its own.
    transactional_ddl=True,
    # Where the caller has begun one, it is the transaction of all.
    transaction_per_migration=True,
    on_version_apply=note_runs_from,
)
with context.begin_transaction():
    context.run_migrations()
