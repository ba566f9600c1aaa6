"""Passes granted for solved challenges, until they expire.

Revoked passes have no column: the engine decides, and its state has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, func, select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.stores.rows.tables import passes as table

if TYPE_CHECKING:
    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class Pass:
    """A pass granted for a solution; the proof that carries it is not stored.

    Attributes:
        provider: how the challenge was solved; ``wait`` for the alternative without JavaScript.
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
        ConflictError: the challenge was exchanged for a pass already.
    """
    records.add(connection, table, made)


def find(connection: Connection, tenant_id: UUID, pass_id: UUID) -> Pass:
    """A pass.

    Raises:
        NotFoundError: the tenant has no pass with this id.
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
        before: only passes made before this one.
        alive_at_ns: only passes that expire after this time.
    """
    query = records.of(Pass, table).where(table.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(table.c.pass_id < before)
    if alive_at_ns is not None:
        query = query.where(table.c.expires_at_ns > alive_at_ns)
    return records.many(connection, query.order_by(table.c.pass_id.desc()).limit(limit), Pass)


def alive(connection: Connection, now_ns: int, tenant_id: UUID | None = None) -> int:
    """How many passes have not expired, for one tenant or all."""
    query = select(func.count()).where(table.c.expires_at_ns > now_ns)
    if tenant_id is not None:
        query = query.where(table.c.tenant_id == tenant_id)
    return connection.execute(query).scalar_one()


def prune(connection: Connection, tenant_id: UUID, before_ns: int, limit: int = STEP_ROWS) -> int:
    """Delete a tenant's passes that expired before a time, at most ``limit``; return how many."""
    old = (
        select(table.c.pass_id)
        .where(table.c.tenant_id == tenant_id, table.c.expires_at_ns < before_ns)
        .limit(limit)
    )
    return connection.execute(delete(table).where(table.c.pass_id.in_(old))).rowcount
