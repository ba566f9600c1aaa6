"""Responses by idempotency key: a repeated request to the control plane gets the first response.

A response is written in the transaction of the change it reports, so both exist or neither. It is
sealed before it gets here, since it may contain a secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import delete, func, or_, select

from tidegate_server.stores.base import ConflictError
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import kept_answers as table

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection

KEPT_NS = 24 * 3600 * 1_000_000_000
"""How long a response is kept."""
OPERATOR_ANSWERS = 1_000
OPERATOR_BYTES = 16 * 2**20
TENANT_ANSWERS = 4_000
TENANT_BYTES = 64 * 2**20
"""Most bytes that are kept. The oldest responses are deleted first; the newest stays, whatever its
size."""
STEP_ROWS = 20
"""Responses deleted in one step: each may have some MiB."""


@attrs.frozen(kw_only=True)
class KeptAnswer:
    """A response under its key.

    Attributes:
        name: identifies the operator, path and key.
        tenant_id: the tenant of the path, if it has one.
        size: size of ``sealed``, in bytes.
        fingerprint: the request body's fingerprint.
        sealed: the response.
    """

    name: bytes
    operator_id: UUID
    tenant_id: UUID | None
    at_ns: int
    size: int
    fingerprint: bytes
    sealed: bytes = attrs.field(repr=False)


def find(connection: Connection, name: bytes, now_ns: int) -> KeptAnswer | None:
    """Find the response under a name, if it is not too old."""
    query = records.of(KeptAnswer, table).where(
        table.c.name == name, table.c.at_ns > now_ns - KEPT_NS
    )
    return next(iter(records.many(connection, query, KeptAnswer)), None)


def keep(connection: Connection, answer: KeptAnswer) -> None:
    """Keep a response, in the transaction of the change, and delete the oldest past the limits.

    Raises:
        ConflictError: the name has a response already.
    """
    if find(connection, answer.name, answer.at_ns) is not None:
        raise ConflictError("another request with this idempotency key was faster; send it again")
    connection.execute(delete(table).where(table.c.name == answer.name))
    records.add(connection, table, answer)
    owner = table.c.operator_id
    _bound(connection, answer, owner, answer.operator_id, OPERATOR_ANSWERS, OPERATOR_BYTES)
    if answer.tenant_id is not None:
        owner = table.c.tenant_id
        _bound(connection, answer, owner, answer.tenant_id, TENANT_ANSWERS, TENANT_BYTES)


def prune(connection: Connection, now_ns: int, limit: int = STEP_ROWS) -> int:
    """Delete responses that are too old, at most ``limit``; return how many."""
    old = select(table.c.name).where(table.c.at_ns <= now_ns - KEPT_NS).limit(limit)
    return connection.execute(delete(table).where(table.c.name.in_(old))).rowcount


def _bound(
    connection: Connection,
    newest: KeptAnswer,
    column: Column[Any],
    owner: UUID,
    answers: int,
    size: int,
) -> None:
    """Delete an owner's oldest responses past the limits."""
    newest_first = table.c.at_ns.desc()
    kept = (
        select(
            table.c.at_ns,
            func.count().over(order_by=newest_first, rows=(None, 0)).label("answers"),
            func.sum(table.c.size).over(order_by=newest_first, rows=(None, 0)).label("size"),
        )
        .where(column == owner)
        .subquery()
    )
    over = or_(kept.c.answers > answers, kept.c.size > size)
    last = connection.execute(select(func.max(kept.c.at_ns)).where(over)).scalar()
    if last is not None:
        is_old = (column == owner, table.c.at_ns <= last, table.c.name != newest.name)
        connection.execute(delete(table).where(*is_old))
