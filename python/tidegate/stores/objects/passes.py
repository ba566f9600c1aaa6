"""Passes: the rights that solved challenges give, until they expire.

Whether a pass was revoked is no column: that is in the state of the engine, which decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, func, select

from tidegate.stores.rows import records
from tidegate.stores.rows.bulk import STEP_ROWS
from tidegate.stores.rows.tables import passes as table

if TYPE_CHECKING:
    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class Pass:
    """The right that a solution gave; the proof that carries it is not stored.

    Attributes:
        provider: how the challenge was solved; ``wait`` for the way without JavaScript.
    """

    pass_id: UUID
    tenant_id: UUID
    challenge_id: UUID
    provider: str
    issued_at_ns: int
    expires_at_ns: int


def add(connection: Connection, made: Pass) -> None:
    """Add a pass.

    Raises:
        ConflictError: the challenge has bought one.
    """
    records.add(connection, table, made)


def find(connection: Connection, tenant_id: UUID, pass_id: UUID) -> Pass:
    """A pass.

    Raises:
        NotFoundError: the tenant has none of this id.
    """
    key = {"tenant_id": tenant_id, "pass_id": pass_id}
    return records.find(connection, table, Pass, "pass", key)


def page(
    connection: Connection,
    tenant_id: UUID,
    limit: int,
    before: UUID | None = None,
    alive_at_ns: int | None = None,
) -> list[Pass]:
    """Passes of a tenant, the newest first.

    Args:
        before: only those made before this one.
        alive_at_ns: only those that expire after this time.
    """
    query = records.of(Pass, table).where(table.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(table.c.pass_id < before)
    if alive_at_ns is not None:
        query = query.where(table.c.expires_at_ns > alive_at_ns)
    return records.many(connection, query.order_by(table.c.pass_id.desc()).limit(limit), Pass)


def alive(connection: Connection, now_ns: int, tenant_id: UUID | None = None) -> int:
    """How many passes have not expired, of a tenant or of all."""
    query = select(func.count()).where(table.c.expires_at_ns > now_ns)
    if tenant_id is not None:
        query = query.where(table.c.tenant_id == tenant_id)
    return connection.execute(query).scalar_one()


def prune(connection: Connection, tenant_id: UUID, before_ns: int, limit: int = STEP_ROWS) -> int:
    """Forget passes of a tenant that expired before a time, ``limit`` at most; how many."""
    old = (
        select(table.c.pass_id)
        .where(table.c.tenant_id == tenant_id, table.c.expires_at_ns < before_ns)
        .limit(limit)
    )
    return connection.execute(delete(table).where(table.c.pass_id.in_(old))).rowcount
