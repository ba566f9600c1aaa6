"""Data derived from the decision log: on SQLite, a file next to the database.

It is a separate file so that commits of decisions never wait for it. Every reading connection
attaches it under the name ``derived``. It is flushed only at its checkpoints; data lost in a power
failure is derived again. A file that is missing, damaged, or from another log is rebuilt from the
log in the same way. Retention deletes log entries once they are durable here. So two things are
lost with the file: counts of deleted decisions, and what the catalog learned from them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from pysqlite3 import dbapi2
from sqlalchemy import insert, select, update
from sqlalchemy import inspect as inspect_schema

from tidegate_server.stores.base import SchemaError, StoreUnavailableError
from tidegate_server.stores.rows.connections import (
    BUSY_SECONDS,
    check_private,
    derived_path,
    deriving_engine,
    make_file,
)
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.errors import is_corrupt, translated
from tidegate_server.stores.rows.tables import derived_meta, derived_metadata

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table, Update

VERSION = 3
"""The version of the tables; a file with another version is rebuilt."""
INDEXED_SEQ = "indexed_seq"
"""The last decision in the derived tables, apart from the field catalog."""
LEARNED_SEQ = "learned_seq"
"""The last decision in the field catalog."""
_LOG_ID = "log_id"
_VERSION = "version"
_STATED = (_LOG_ID, INDEXED_SEQ, LEARNED_SEQ)


@attrs.frozen
class Found:
    """A derived file's facts about itself."""

    log_id: int
    """The id of the log it is derived from."""
    indexed_seq: int


def inspect(path: Path) -> Found | None:
    """Read a derived file's facts about itself; None if it is missing, damaged or outdated.

    Args:
        path: the database's path.

    Raises:
        StoreUnavailableError: it cannot be read for another reason.
        UnsafeDatabaseError: others may read it.
    """
    file = derived_path(path)
    if not file.exists():
        return None
    check_private(file)
    if _is_cut(file):
        return None
    connection = dbapi2.connect(file, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
            return None
        log_id, indexed, _ = (_stated(connection, name) for name in _STATED)
        return Found(log_id, indexed)
    except (dbapi2.DatabaseError, KeyError) as error:
        if _is_damage(error):
            return None
        raise StoreUnavailableError(f"`{file}` cannot be read: {error}") from error
    finally:
        connection.close()


def _is_cut(file: Path) -> bool:
    """Whether a file is shorter than its header says; WAL content may still be on its way there.

    SQLite reads the missing part of a last page as zeros.  The offsets in the header follow
    SQLite's database file format, 1.3.
    """
    wal = file.with_name(file.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        return False
    with file.open("rb") as opened:
        header = opened.read(32)
    page_bytes, pages = int.from_bytes(header[16:18]), int.from_bytes(header[28:32])
    return file.stat().st_size < pages * (page_bytes if page_bytes > 1 else 65_536)


def _stated(connection: dbapi2.Connection, name: str) -> int:
    """A fact, looked up in the same way as later: rows may be readable while their index isn't.

    Raises:
        KeyError: it is missing.
    """
    query = "SELECT value FROM derived_meta WHERE name = ?"
    row: tuple[int] | None = connection.execute(query, (name,)).fetchone()
    if row is None:
        raise KeyError(name)
    return row[0]


def make(path: Path, log_id: int) -> None:
    """Replace the derived file of a database with a new, empty one.

    Args:
        path: the database's path.  No other process may use the derived file.
        log_id: id of its log.
    """
    file = derived_path(path)
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            file.with_name(file.name + suffix).unlink()
    make_file(file)
    engine = deriving_engine(path)
    try:
        with translated(), engine.connect() as connection:
            driver = driver_connection(connection)
            driver.execute("PRAGMA derived.journal_mode=WAL")
            with connection.begin():
                make_tables(connection, log_id)
                # Last: an incomplete file has no version.
                driver.execute(f"PRAGMA derived.user_version={VERSION}")
    finally:
        engine.dispose()


def make_tables(connection: Connection, log_id: int) -> None:
    """Create the derived tables, empty, if there aren't any.

    Args:
        connection: in a transaction.
        log_id: id of the log they will be derived from.
    """
    derived_metadata.create_all(connection)
    values = {_LOG_ID: log_id, INDEXED_SEQ: 0, LEARNED_SEQ: 0, _VERSION: VERSION}
    rows = [{"name": name, "value": value} for name, value in values.items()]
    connection.execute(insert(derived_meta), rows)


def renew_tables(connection: Connection, log_id: int, *, replaces: bool = False) -> bool:
    """Recreate a schema's derived tables, unless they have this version and come from this log.

    Args:
        connection: in a transaction, in a database where the schema ``derived`` is separate.
        log_id: id of the log.
        replaces: whether to recreate tables of another version; no other process may use them.

    Returns:
        Whether they were created.

    Raises:
        SchemaError: they have another version, and must not be replaced.
    """
    if has_table(connection, derived_meta):
        found = connection.execute(select(derived_meta.c.name, derived_meta.c.value))
        stated = {name: value for name, value in found}  # noqa: C416 - rows aren't pairs to mypy
        version = stated.get(_VERSION)
        if version == VERSION and stated.get(_LOG_ID) == log_id:
            return False
        if version != VERSION and not replaces:
            raise SchemaError(
                f"the tables derived from the log are of version {version}, this version of"
                f" Tidegate knows {VERSION}; stop every node, then run `tidegate migrate`"
            )
        derived_metadata.drop_all(connection)
    make_tables(connection, log_id)
    return True


def has_table(connection: Connection, table: Table) -> bool:
    """Whether a table exists."""
    return inspect_schema(connection).has_table(table.name, connection.schema_for_object(table))


def is_whole(path: Path) -> bool:
    """Whether a database's derived file can be read to its end; this reads all of it."""
    connection = dbapi2.connect(derived_path(path), isolation_level=None, timeout=BUSY_SECONDS)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except dbapi2.DatabaseError as error:
        if is_corrupt(error):
            return False
        raise
    finally:
        connection.close()


def indexed_seq(connection: Connection) -> int:
    """Number of the last decision in the derived tables, apart from the field catalog."""
    return _position(connection, INDEXED_SEQ)


def learned_seq(connection: Connection) -> int:
    """Number of the last decision in the field catalog."""
    return _position(connection, LEARNED_SEQ)


def take(connection: Connection) -> int:
    """Like :func:`indexed_seq`, and keep other processes from changing the derived file."""
    # A transaction that begins with a write cannot find later that its reads are outdated.
    connection.execute(_set(INDEXED_SEQ, derived_meta.c.value))
    return indexed_seq(connection)


def set_indexed_seq(connection: Connection, seq: int) -> None:
    """Record the last decision in the derived tables."""
    connection.execute(_set(INDEXED_SEQ, seq))


def set_learned_seq(connection: Connection, seq: int) -> None:
    """Record the last decision in the field catalog."""
    connection.execute(_set(LEARNED_SEQ, seq))


def _position(connection: Connection, name: str) -> int:
    value: int = connection.execute(
        select(derived_meta.c.value).where(derived_meta.c.name == name)
    ).scalar_one()
    return value


def _set(name: str, value: int | ColumnElement[int]) -> Update:
    return update(derived_meta).where(derived_meta.c.name == name).values(value=value)


def _is_damage(error: Exception) -> bool:
    code: int = getattr(error, "sqlite_errorcode", dbapi2.SQLITE_ERROR)
    # An error in the statement itself: a table is missing.
    return code & 0xFF in (dbapi2.SQLITE_CORRUPT, dbapi2.SQLITE_NOTADB, dbapi2.SQLITE_ERROR)
