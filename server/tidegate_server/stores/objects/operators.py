"""Operators: the people who use the control plane."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import operators as table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

_NAME = "operator"
_LOWER = str.maketrans({letter: letter.lower() for letter in ascii_uppercase})


def address_key(email: str) -> str:
    """Normalise an address so that two spellings of it compare equal.

    Only ASCII letters are folded: by Unicode's rules the Kelvin sign would become a `k`, and two
    mailboxes one operator.
    """
    return email.translate(_LOWER)


@attrs.frozen(kw_only=True)
class Operator:
    """A person.  Tokens issued before ``tokens_valid_from_ns`` are invalid."""

    operator_id: UUID
    name: str
    email: str
    """As :func:`address_key` returns it, so that it is unique in any letter case."""
    password_hash: str | None = attrs.field(default=None, repr=False)
    disabled: bool = False
    tokens_valid_from_ns: int = 0
    revision: int = 1
    created_at_ns: int
    updated_at_ns: int


def create(connection: Connection, operator: Operator) -> None:
    """Add an operator.

    Raises:
        ConflictError: another has this address.
    """
    records.add(connection, table, attrs.evolve(operator, email=address_key(operator.email)))


def find(connection: Connection, operator_id: UUID) -> Operator:
    """An operator.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, table, Operator, _NAME, {"operator_id": operator_id})


def find_by_email(connection: Connection, email: str) -> Operator:
    """An operator by address.

    Raises:
        NotFoundError: it doesn't exist.
    """
    return records.find(connection, table, Operator, _NAME, {"email": address_key(email)})


def names(connection: Connection, operator_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The names of those of some operators that exist."""
    query = select(table.c.operator_id, table.c.name).where(table.c.operator_id.in_(operator_ids))
    return {row.operator_id: row.name for row in connection.execute(query)}


def page(connection: Connection, limit: int, after: UUID | None = None) -> list[Operator]:
    """Operators by id, starting after one."""
    query = select(table).order_by(table.c.operator_id).limit(limit)
    if after is not None:
        query = query.where(table.c.operator_id > after)
    return records.many(connection, query, Operator)


def change(
    connection: Connection,
    operator_id: UUID,
    now_ns: int,
    *,
    expected_revision: int | None = None,
    **values: object,
) -> int:
    """Change ``name``, ``password_hash``, ``disabled`` or ``tokens_valid_from_ns``.

    Raises:
        NotFoundError: the operator doesn't exist.
        StaleRevisionError: it is not at the expected revision.
    """
    key = {"operator_id": operator_id}
    return records.change(connection, table, _NAME, key, values, now_ns, expected_revision)
