"""Schemas of the log's partitions in PostgreSQL: one per further partition.

The first partition is the database as it always was.  A further one has a schema with the log, the
snapshots and anything else committed with a decision, and one with the data derived from it, like
the files on SQLite (``partitions.py``).  A connection to a partition has its schemas first on the
search path, so a table missing from them resolves to the shared one.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlalchemy import MetaData, insert, select
from sqlalchemy import text as sql
from sqlalchemy.schema import CreateSchema

from tidegate_server.stores.directory.partitions import LOG_TABLES, spools
from tidegate_server.stores.index import derived
from tidegate_server.stores.migrations import check_same
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, PRUNED_SEQ, RECOVERIES
from tidegate_server.stores.rows.errors import translated
from tidegate_server.stores.rows.postgresql import (
    derived_schema,
    looking_engine,
    partition_schema,
    writing_engine,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection


def partitions_of(connection: Connection) -> list[int]:
    """The partitions of a database, in order."""
    number = tables.partitions.c.partition_id
    return list(connection.execute(select(number).order_by(number)).scalars())


def need_partitions(url: str, wanted: int) -> int:
    """Create partitions up to the wanted number; keep any beyond it.

    Args:
        url: the database's URL.
        wanted: how many there should be.

    Returns:
        How many there are.

    Raises:
        SchemaError: some are missing, and the tables have another version.
        StoreUnavailableError: the database cannot be read, or a schema cannot be created.
    """
    engine = looking_engine(url)
    try:
        with translated(), engine.connect() as connection:
            found = len(partitions_of(connection))
    finally:
        engine.dispose()
    if found >= wanted:
        return found
    engine = writing_engine(url)
    try:
        with translated(), engine.connect() as connection, connection.begin():
            check_same(connection)
            # Another process may have created them while this one waited.
            found = len(partitions_of(connection))
            for number in range(found, wanted):
                _make(connection, number)
    finally:
        engine.dispose()
    return max(found, wanted)


def _make(connection: Connection, number: int) -> None:
    """Create a partition; the transaction makes it complete or leaves nothing."""
    schema = partition_schema(number)
    connection.execute(CreateSchema(schema))
    connection.execute(CreateSchema(derived_schema(number)))
    # Changes to shared tables are counted in one place.
    shared = f"CREATE VIEW {schema}.shared_meta AS SELECT name, value FROM store_meta"  # noqa: S608
    connection.execute(sql(shared))
    made = MetaData(naming_convention=tables.metadata.naming_convention)
    meta, *_ = [each.to_metadata(made, schema=schema) for each in (*LOG_TABLES, spools)]
    made.create_all(connection, checkfirst=False)
    log_id = secrets.randbits(62)
    numbers = {CHANGES: 0, PRUNED_SEQ: 0, RECOVERIES: 0, LOG_ID: log_id}
    rows = [{"name": name, "value": value} for name, value in numbers.items()]
    connection.execute(insert(meta), rows)
    connection.execute(insert(tables.partitions).values(partition_id=number, epoch=0))
    # Alembic changes the connection itself; change it back.
    connection.execution_options(schema_translate_map={"derived": derived_schema(number)})
    derived.make_tables(connection, log_id)
    connection.execution_options(schema_translate_map=None)
