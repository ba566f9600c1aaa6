"""The rows of the log, readable even if pages of the database are damaged.

A statement that hits a damaged page fails as a whole.  The rows are then read one by one, by their
numbers in an index, and those that fail are returned as unreadable.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from tidegate_server.stores.rows.dialects import Forms
from tidegate_server.stores.rows.errors import is_corrupt
from tidegate_server.stores.rows.tables import decision_log

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import ColumnElement, Connection, Row

ROWS_A_READ = 64
"""Rows fetched in one step when many are read: fast, with little memory."""
_NUMBERS_A_READ = 1_000
_HINTS = Forms(
    sqlite=(
        " INDEXED BY ix_decision_log_tenant_id_first_seq",
        " INDEXED BY ix_decision_log_tenant_id_last_id_first_id",
    ),
    postgresql=("",),
)


@attrs.frozen
class Unreadable:
    """Entries of rows that cannot be read."""

    first_seq: int
    last_seq: int


def rows(
    connection: Connection,
    columns: Sequence[ColumnElement[Any]],
    position: int,
    until: int,
    tenant_id: UUID | None = None,
    limit: int = ROWS_A_READ,
) -> Generator[Row[*tuple[Any, ...]] | Unreadable]:
    """Rows of the log in order, a few in memory at a time.

    Args:
        connection: a connection of the store.
        columns: columns of ``decision_log``; the first is ``first_seq``.
        position: rows that begin after this number,
        until: and up to this one.
        tenant_id: only this tenant's, as far as a row's tenant is known.
        limit: rows read at once.
    """
    query = select(*columns).order_by(decision_log.c.first_seq).limit(limit)
    if tenant_id is not None:
        query = query.where(decision_log.c.tenant_id == tenant_id)
    while True:
        of_range = decision_log.c.first_seq.between(position + 1, until)
        try:
            found = connection.execute(query.where(of_range)).all()
        except DBAPIError as error:
            if not is_corrupt(error):
                raise
            yield from _one_by_one(connection, columns, position, until, tenant_id)
            return
        yield from found
        if len(found) < limit:
            return
        position = found[-1][0]


def _one_by_one(
    connection: Connection,
    columns: Sequence[ColumnElement[Any]],
    position: int,
    until: int,
    tenant_id: UUID | None,
) -> Generator[Row[*tuple[Any, ...]] | Unreadable]:
    query = select(*columns, decision_log.c.count)
    unreadable: int | None = None
    for first_seq in row_numbers(connection, position, until, tenant_id):
        if first_seq is None:
            # No index leads further, so later rows can't be told from missing ones.
            unreadable = position + 1 if unreadable is None else unreadable
            break
        try:
            row = connection.execute(query.where(decision_log.c.first_seq == first_seq)).first()
        except DBAPIError as error:
            if not is_corrupt(error):
                raise
            row = None
        if row is None:
            unreadable = first_seq if unreadable is None else unreadable
            continue
        if unreadable is not None:
            yield Unreadable(unreadable, first_seq - 1)
            unreadable = None
        position = first_seq + row[-1] - 1
        yield row
    if unreadable is not None:
        yield Unreadable(unreadable, max(unreadable, until))


def row_numbers(
    connection: Connection, position: int, until: int, tenant_id: UUID | None = None
) -> Iterator[int | None]:
    """First numbers of rows, from a readable index; None if there isn't one."""
    of_tenant = "" if tenant_id is None else "AND tenant_id = :tenant"
    values: dict[str, Any] = {} if tenant_id is None else {"tenant": tenant_id.bytes}
    for hint in _HINTS.of(connection):
        query = text(
            f"SELECT first_seq FROM decision_log{hint}"  # noqa: S608 - names of ours
            f" WHERE first_seq > :position AND first_seq <= :until {of_tenant}"
            " ORDER BY first_seq LIMIT :limit"
        )
        try:
            while True:
                found = connection.execute(
                    query,
                    {
                        "position": position,
                        "until": until,
                        "limit": _NUMBERS_A_READ,
                        **values,
                    },
                ).all()
                for row in found:
                    position = row.first_seq
                    yield position
                if len(found) < _NUMBERS_A_READ:
                    return
        except DBAPIError as error:
            if not is_corrupt(error):
                raise
    yield None
