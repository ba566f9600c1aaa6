"""Migrations: forward only, all pending ones in one transaction with the new revision.

An interrupted migration leaves nothing behind and starts over.  Each states in ``runs_from`` the
oldest revision whose code runs on its tables.  The database stores that number next to its own, so
older code knows whether it can use newer tables.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select
from sqlalchemy import text as sql
from sqlalchemy.schema import CreateSchema

from tidegate_server.stores.base import SchemaError
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, PRUNED_SEQ, RECOVERIES
from tidegate_server.stores.rows.dialects import Forms
from tidegate_server.stores.rows.tables import metadata, partitions, store_identity, store_meta

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0021"
"""The newest revision; numbers have no gaps."""
RUNS_FROM = "0017"
"""The oldest revision whose code runs on the tables of :data:`HEAD`."""
VERSION_TABLE = "schema_version"
_FIRST_TO_SAY = "0016"
"""The first revision whose databases say which code runs on them."""

_HAS_SCHEMAS = Forms(sqlite=False, postgresql=True)
"""Whether derived data, and the log of each further partition, have separate schemas."""


def current(connection: Connection, schema: str | None = None) -> str | None:
    """The revision of a database, or None for an empty one.

    Args:
        connection: a connection to it.
        schema: the database's name in this connection, if another file is the main one.
    """
    if not inspect(connection).has_table(VERSION_TABLE, schema):
        return None
    number: str | None = connection.execute(
        select(sql("version_num")).select_from(sql(VERSION_TABLE))
    ).scalar()
    return number


def check(connection: Connection, schema: str | None = None) -> None:
    """Refuse a database whose tables don't fit this code.

    Args:
        connection: as for :func:`current`.
        schema: as for :func:`current`.

    Raises:
        SchemaError: it is older, or so much newer that this code cannot run on it.
    """
    found = current(connection, schema)
    if found == HEAD:
        return
    if found is None or found < HEAD:
        raise SchemaError(
            f"the database is at revision {found or 'none'}, this version of Tidegate needs"
            f" {HEAD}; run `tidegate migrate`"
        )
    oldest = _runs_from(connection)
    if oldest > HEAD:
        raise SchemaError(
            f"the database is at revision {found}, which needs a version of Tidegate from revision"
            f" {oldest} on, and this one knows {HEAD}; run the version that wrote it, or a newer"
            " one"
        )


def check_same(connection: Connection) -> None:
    """Refuse a database whose tables are not exactly those of this code.

    Args:
        connection: as for :func:`current`.

    Raises:
        SchemaError: they are older, or newer.
    """
    check(connection)
    found = current(connection)
    if found != HEAD:
        raise SchemaError(
            f"the database is at revision {found}, and this version of Tidegate knows {HEAD};"
            " this needs the version that wrote it"
        )


def is_additive(connection: Connection) -> bool:
    """Whether all code that may use a database can still use it after the upgrade.

    Args:
        connection: as for :func:`current`.
    """
    found = current(connection)
    return found is not None and found >= _FIRST_TO_SAY and _runs_from(connection) >= RUNS_FROM


def _runs_from(connection: Connection) -> str:
    number: str = connection.execute(
        select(sql("runs_from")).select_from(sql(VERSION_TABLE))
    ).scalar_one()
    return number


def log_schemas(connection: Connection) -> list[str | None]:
    """The schemas with log tables, for a migration that changes such a table.

    Args:
        connection: the migration's.

    Returns:
        None for the first partition, and on PostgreSQL a name for each further one.  A further
        partition of SQLite has a file with a version of its own (``directory/partitions.py``).
    """
    if not _HAS_SCHEMAS.of(connection):
        return [None]
    from tidegate_server.stores.rows.postgresql import partition_schema

    further = select(partitions.c.partition_id).where(partitions.c.partition_id > 0)
    return [None, *map(partition_schema, connection.execute(further).scalars())]


def upgrade(connection: Connection) -> None:
    """Upgrade a database to the newest revision; leave a newer one as it is.

    An empty database gets the current tables; migrations are for tables of earlier versions.

    Args:
        connection: not in a transaction.  Its transactions are serialised with those of others.

    Raises:
        SchemaError: the database is too new for this code.
    """
    with connection.begin():
        # Another process may have upgraded it while this one waited.
        found = current(connection)
        if found is not None and found >= HEAD:
            check(connection)
        elif found is None:
            _make_whole(connection)
        else:
            _run(connection)


def _run(connection: Connection) -> None:
    # Importing Alembic takes as long as everything else together, and a server doesn't need it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _make_whole(connection: Connection) -> None:
    """Create the newest tables, and the rows that migrations add."""
    metadata.create_all(connection)
    if _HAS_SCHEMAS.of(connection):
        connection.execute(CreateSchema("derived", if_not_exists=True))
    counters = {CHANGES: 0, PRUNED_SEQ: 0, RECOVERIES: 0, LOG_ID: secrets.randbits(62)}
    rows = [{"name": name, "value": value} for name, value in counters.items()]
    connection.execute(insert(store_meta), rows)
    connection.execute(insert(store_identity).values(identity=secrets.token_bytes(16)))
    connection.execute(insert(partitions).values(partition_id=0, epoch=0))
    columns = "version_num VARCHAR(32) PRIMARY KEY, runs_from VARCHAR(32) NOT NULL"
    connection.execute(sql(f"CREATE TABLE {VERSION_TABLE} ({columns})"))
    numbers = {"number": HEAD, "runs_from": RUNS_FROM}
    made = f"INSERT INTO {VERSION_TABLE} (version_num, runs_from) VALUES (:number, :runs_from)"  # noqa: S608
    connection.execute(sql(made), numbers)
