"""Rows as frozen classes, and updates guarded by a revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from sqlalchemy import delete, insert, select, update

from tidegate_server.stores.base import NotFoundError, StaleRevisionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, RowMapping, Select, Table

R = TypeVar("R", bound=attrs.AttrsInstance)


def record(kind: type[R], row: RowMapping) -> R:
    """The instance for a row with columns named like the attributes."""
    return kind(**row)


def many(connection: Connection, query: Select[Any], kind: type[R]) -> list[R]:
    """The instances for the rows of a query."""
    return [record(kind, row) for row in connection.execute(query).mappings()]


def of(kind: type[R], table: Table) -> Select[Any]:
    """The columns of a table that are attributes of a class."""
    return select(*(table.c[each.name] for each in attrs.fields(kind)))


def add(connection: Connection, table: Table, instance: attrs.AttrsInstance) -> None:
    """Insert an instance.

    Raises:
        ConflictError: another row has its id, or its unique name.
        NotFoundError: an object it refers to doesn't exist.
    """
    connection.execute(insert(table).values(attrs.asdict(instance, recurse=False)))


def find(
    connection: Connection, table: Table, kind: type[R], name: str, key: Mapping[str, object]
) -> R:
    """The instance with this key.

    Raises:
        NotFoundError: it doesn't exist; ``name`` says what is missing.
    """
    row = connection.execute(of(kind, table).where(*_matches(table, key))).mappings().first()
    if row is None:
        raise NotFoundError(name)
    return record(kind, row)


def change(
    connection: Connection,
    table: Table,
    name: str,
    key: Mapping[str, object],
    values: Mapping[str, object],
    now_ns: int,
    expected_revision: int | None = None,
) -> int:
    """Change an object and return its next revision.

    Raises:
        ConflictError: another object has its unique name.
        NotFoundError: the object doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    found = _revision(connection, table, name, key, expected_revision)
    changed = connection.execute(
        update(table)
        .where(*_matches(table, key), table.c.revision == found)
        .values(**values, revision=found + 1, updated_at_ns=now_ns)
    )
    if changed.rowcount != 1:
        raise StaleRevisionError(found, found + 1)
    return found + 1


def remove(
    connection: Connection,
    table: Table,
    name: str,
    key: Mapping[str, object],
    expected_revision: int | None = None,
) -> None:
    """Delete an object.

    Raises:
        NotFoundError: the object doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    _revision(connection, table, name, key, expected_revision)
    connection.execute(delete(table).where(*_matches(table, key)))


def _revision(
    connection: Connection,
    table: Table,
    name: str,
    key: Mapping[str, object],
    expected: int | None,
) -> int:
    found: int | None = connection.execute(
        select(table.c.revision).where(*_matches(table, key))
    ).scalar()
    if found is None:
        raise NotFoundError(name)
    if expected is not None and expected != found:
        raise StaleRevisionError(expected, found)
    return found


def _matches(table: Table, key: Mapping[str, object]) -> list[Any]:
    return [table.c[column] == value for column, value in key.items()]
