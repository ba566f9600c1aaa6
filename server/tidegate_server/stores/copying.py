"""Copies everything in an SQLite database to an empty PostgreSQL one.

Rows are copied unchanged in one transaction, including the log and its derived data: an interrupted
copy leaves nothing.  Numbers, ids and the identity stay, so the service continues where it stopped,
with the same keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import Boolean, delete, func, select

from tidegate_server.stores import migrations
from tidegate_server.stores.base import ConflictError
from tidegate_server.stores.databases import (
    looking_engine,
    migrate,
    reading_engine,
    shown,
    writing_engine,
)
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.errors import translated

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

ROWS_A_READ = 256
_OWN = (tables.partitions, tables.cluster_members, tables.cluster_partitions)
"""Tables whose rows belong to one database and are not copied."""


def copy_database(
    source: str, target: str, progress: Callable[[str], None] = lambda _: None
) -> int:
    """Copy all rows of one database into another.

    Args:
        source: an SQLite URL; nothing may write to it meanwhile.
        target: a PostgreSQL URL; the database exists and is empty.
        progress: called with the name of each table.

    Returns:
        How many rows were copied.

    Raises:
        ConflictError: the target is in use, or the source has tenants in further partitions.
        SchemaError: the source has another version.
        StoreUnavailableError: one of them cannot be read or written.
    """
    look, write = looking_engine(source), writing_engine(target)
    read = reading_engine(source)
    copied = 0
    try:
        with translated():
            with look.connect() as checked:
                migrations.check_same(checked)
                used = set(tenants.placements(checked).values())
            if used.difference({0}):
                raise ConflictError(
                    "tenants of the source live in further partitions (`server.workers`), whose"
                    " logs have numbers of their own; only the first partition can be carried over"
                )
            migrate(target)
            with read.connect() as reader, write.connect() as writer, writer.begin():
                _need_unused(writer, target)
                for table in _copied():
                    progress(table.name)
                    writer.execute(delete(table))
                    copied += _copy(reader, writer, table)
    finally:
        for engine in (look, read, write):
            engine.dispose()
    return copied


def _copied() -> list[Table]:
    """The tables, each after those it refers to."""
    kept = [each for each in tables.metadata.sorted_tables if each not in _OWN]
    return [*kept, *tables.derived_metadata.sorted_tables]


def _need_unused(writer: Connection, target: str) -> None:
    for table in (tables.tenants, tables.operators, tables.decision_log):
        if writer.execute(select(func.count()).select_from(table)).scalar_one():
            raise ConflictError(
                f"{shown(target)} is in use: `{table.name}` has rows; name an empty database"
            )


def _copy(reader: Connection, writer: Connection, table: Table) -> int:
    columns = [f'"{each.name}"' for each in table.columns]
    name = table.fullname
    rows = driver_connection(reader).execute(f"SELECT {', '.join(columns)} FROM {name}")  # noqa: S608
    storable = [_storable(each.type) for each in table.columns]
    count = 0
    statement = f"COPY {name} ({', '.join(columns)}) FROM STDIN"
    with driver_connection(writer).cursor().copy(statement) as copy:
        for row in _fetched(rows):
            copy.write_row([value(each) for value, each in zip(storable, row, strict=True)])
            count += 1
    return count


def _fetched(rows: Any) -> Iterator[tuple[Any, ...]]:
    while found := rows.fetchmany(ROWS_A_READ):
        yield from found


def _storable(kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, Boolean):
        return lambda value: None if value is None else bool(value)
    return lambda value: value.replace("\0", "\ufffd") if isinstance(value, str) else value
