"""Files of the log's partitions: one per further partition, next to the database.

The first partition is the database itself.  A further one has a file with the log, the snapshots
and anything else committed with a decision, and nothing more: definitions, operators and audit are
in the database.  A process that opens such a file attaches the database under the name ``shared``,
so a table missing from the file resolves to the database's.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from pysqlite3 import dbapi2
from sqlalchemy import (
    BigInteger,
    Column,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    insert,
    select,
)

from tidegate_server.stores.base import SchemaError, StoreUnavailableError
from tidegate_server.stores.directory.mark import Mark, Noted
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.columns import Id
from tidegate_server.stores.rows.connections import (
    BUSY_SECONDS,
    check_private,
    looking_engine,
    make_file,
    partition_path,
    single_engine,
)
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, PRUNED_SEQ, RECOVERIES
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.errors import translated

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
"""Version of the tables of such a file; changing them requires a step in :func:`check`."""

LOG_TABLES = (
    tables.store_meta,
    tables.log_gaps,
    tables.decision_log,
    tables.snapshots,
    tables.snapshot_parts,
)
"""The tables that each partition has for itself, whatever the database; and ``spools``."""

_metadata = MetaData(naming_convention=tables.metadata.naming_convention)
for _table in (*LOG_TABLES, tables.store_identity, tables.partitions):
    _table.to_metadata(_metadata)

spools = Table(
    "spools",
    _metadata,
    Column("tenant_id", Id, nullable=False),
    Column("daemon_id", Id, nullable=False),
    Column("spool_id", Id, nullable=False),
    Column("number", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "daemon_id", "spool_id"),
    comment="as in the database, without a foreign key: the tenant is in another file",
)
audit_written = Table(
    "audit_written",
    _metadata,
    *(Column(each.name, each.type, primary_key=each.primary_key) for each in tables.audit.columns),
    comment="entries of the last commit with any: a failure of the power may keep this file's part"
    " of it and lose the other's",
)


def partitions_of(database: Path) -> list[int]:
    """The partitions of a database, in order; the first is the database itself."""
    found = [0]
    for each in database.parent.glob(f"{database.stem}-*{database.suffix}"):
        number = each.stem.removeprefix(f"{database.stem}-")
        if number.isdecimal() and str(int(number)) == number and int(number):
            found.append(int(number))
    return sorted(found)


def make_partition(database: Path, number: int, identity: bytes) -> None:
    """Create the file of a missing partition.

    Args:
        database: the database it belongs to; this process owns the directory.
        number: the partition's number, from 1.
        identity: the directory's identity.

    Raises:
        StoreUnavailableError: it cannot be created.
    """
    path = partition_path(database, number)
    log_id = secrets.randbits(62)
    for suffix in ("", "-wal", "-shm"):  # left over from an interrupted creation
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    make_file(path)
    engine = single_engine(path)
    try:
        with translated(), engine.connect() as connection:
            with connection.begin():
                _metadata.create_all(connection)
                counters = {CHANGES: 0, PRUNED_SEQ: 0, RECOVERIES: 0, LOG_ID: log_id}
                rows = [{"name": name, "value": value} for name, value in counters.items()]
                connection.execute(insert(tables.store_meta), rows)
                connection.execute(insert(tables.store_identity).values(identity=identity))
                connection.execute(insert(tables.partitions).values(partition_id=number, epoch=0))
            mark = Mark(path)
            mark.note(Noted(0, 0, log_id))
            mark.close()
            # Last: an incomplete file has no version, and is created again.
            driver_connection(connection).execute(f"PRAGMA user_version={VERSION}")
    finally:
        engine.dispose()


def is_made(database: Path, number: int) -> bool:
    """Whether the file of a partition is complete.

    Raises:
        SchemaError: it has another version.
        StoreUnavailableError: it cannot be read.
    """
    path = partition_path(database, number)
    if not path.exists() or not path.stat().st_size:
        return False
    version = _version(path)
    if version not in (0, VERSION):
        raise SchemaError(
            f"`{path}` is of version {version}, this version of Tidegate knows {VERSION}"
        )
    return version == VERSION


def identity_of(database: Path, number: int) -> bytes:
    """The identity of the directory that a partition's file was created in.

    Raises:
        StoreUnavailableError: it cannot be read.
        UnsafeDatabaseError: others may read it.
    """
    path = partition_path(database, number)
    check_private(path)
    engine = looking_engine(path)
    try:
        with translated(), engine.connect() as connection:
            found: bytes = connection.execute(select(tables.store_identity.c.identity)).scalar_one()
            return found
    finally:
        engine.dispose()


def _version(path: Path) -> int:
    try:
        connection = dbapi2.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        finally:
            connection.close()
    except dbapi2.Error as error:
        raise StoreUnavailableError(f"`{path}` cannot be read: {error}") from error
    return int(version)
