"""The second factors of operators, sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.dialects import upsert
from tidegate_server.stores.rows.tables import second_factors as table

if TYPE_CHECKING:
    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class SecondFactor:
    """A second factor.

    Attributes:
        sealed: the secret, sealed; see ``operators.second_factor``.
        confirmed_at_ns: since when logins need it; None before its first code was shown.
        last_step: the period of the last code that was taken: neither it nor an earlier one is
            taken again (RFC 6238, section 5.2).
        recovery: the digests of the recovery codes that are left, one after the other.
    """

    operator_id: UUID
    sealed: bytes = attrs.field(repr=False)
    confirmed_at_ns: int | None = None
    last_step: int = 0
    recovery: bytes = attrs.field(default=b"", repr=False)


def find(connection: Connection, operator_id: UUID) -> SecondFactor | None:
    """The second factor of an operator, confirmed or not; None if there isn't one."""
    query = select(table).where(table.c.operator_id == operator_id)
    return next(iter(records.many(connection, query, SecondFactor)), None)


def put(connection: Connection, factor: SecondFactor) -> None:
    """Store a second factor in place of an earlier one.

    Raises:
        NotFoundError: the operator doesn't exist.
    """
    values = attrs.asdict(factor, recurse=False)
    changed = {name: values[name] for name in values if name != "operator_id"}
    statement = upsert.of(connection)(table).values(values)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["operator_id"], set_=changed)
    )


def remove(connection: Connection, operator_id: UUID) -> bool:
    """Delete the second factor of an operator; return whether there was one."""
    gone = connection.execute(delete(table).where(table.c.operator_id == operator_id))
    return gone.rowcount > 0
