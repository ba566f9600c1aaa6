"""Migrations: forward only, each in one transaction together with its number.

A migration that is interrupted leaves nothing behind and is run again from its start.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select
from sqlalchemy import text as sql
from sqlalchemy.schema import CreateSchema

from tidegate.stores.base import SchemaError
from tidegate.stores.rows.counters import CHANGES, LOG_ID, PRUNED_SEQ, RECOVERIES
from tidegate.stores.rows.dialects import Forms
from tidegate.stores.rows.tables import metadata, partitions, store_identity, store_meta

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0015"
"""The newest revision; they are numbered without a gap."""
VERSION_TABLE = "schema_version"


def current(connection: Connection, schema: str | None = None) -> str | None:
    """The revision of a database, or None for an empty one.

    Args:
        connection: to it.
        schema: the name of the database in this connection, where another file is the main one.
    """
    if not inspect(connection).has_table(VERSION_TABLE, schema):
        return None
    number: str | None = connection.execute(
        select(sql("version_num")).select_from(sql(VERSION_TABLE))
    ).scalar()
    return number


def check(connection: Connection, schema: str | None = None) -> None:
    """Refuse a database of another version.

    Args:
        connection: as of :func:`current`.
        schema: as of :func:`current`.

    Raises:
        SchemaError: it is older, or newer.
    """
    found = current(connection, schema)
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        raise SchemaError(
            f"the database is at revision {found}, this version of Tidegate knows {HEAD};"
            " run the version that wrote it, or a newer one"
        )
    raise SchemaError(
        f"the database is at revision {found or 'none'}, this version of Tidegate needs"
        f" {HEAD}; run `tidegate migrate`"
    )


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest revision.

    An empty database of PostgreSQL gets the tables as they are now: no version of Tidegate left
    older ones there.  From then on both databases have the same migrations.

    Args:
        connection: not in a transaction; each revision is committed by itself.

    Raises:
        SchemaError: the database is newer than this code.
    """
    found = current(connection)
    connection.rollback()
    if found is not None and found > HEAD:
        check(connection)
    if found == HEAD:
        return
    if found is None and _BEGINS_WHOLE.of(connection):
        with connection.begin():
            # Another process may have made them while this one waited for its turn.
            if current(connection) is None:
                _make_whole(connection)
        return
    # Alembic takes as long to import as everything else together, and a server needs none of it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


_BEGINS_WHOLE = Forms(sqlite=False, postgresql=True)


def _make_whole(connection: Connection) -> None:
    """Make the newest tables, and the rows that migrations put into them."""
    metadata.create_all(connection)
    derived_schema = CreateSchema("derived", if_not_exists=True)
    connection.execute(derived_schema)
    numbers = {CHANGES: 0, PRUNED_SEQ: 0, RECOVERIES: 0, LOG_ID: secrets.randbits(62)}
    rows = [{"name": name, "value": value} for name, value in numbers.items()]
    connection.execute(insert(store_meta), rows)
    connection.execute(insert(store_identity).values(identity=secrets.token_bytes(16)))
    connection.execute(insert(partitions).values(partition_id=0, epoch=0))
    connection.execute(sql(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) PRIMARY KEY)"))
    number = {"number": HEAD}
    connection.execute(sql(f"INSERT INTO {VERSION_TABLE} VALUES (:number)"), number)  # noqa: S608
