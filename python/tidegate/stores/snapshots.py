"""Snapshots of the engines' state: what a start need not take from the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
from sqlalchemy import delete, func, insert, select

from tidegate.stores.base import DamagedLogError
from tidegate.stores.log import pack, unpack
from tidegate.stores.tables import snapshots as table
from tidegate.stores.tables import tenants

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

MAX_BYTES = 8 * 1024 * 1024 * 1024
"""What a snapshot may unpack to: millions of keys with dozens of windows each."""
KEPT = 2
"""The newest, and the one before it should the newest be damaged."""


@attrs.frozen(kw_only=True)
class Snapshot:
    """The state of a tenant's engine after the decision ``seq``."""

    tenant_id: UUID
    seq: int
    revision: int
    """Of the definitions that made it."""
    body: bytes = attrs.field(repr=False)
    created_at_ns: int


def save(connection: Connection, snapshot: Snapshot) -> None:
    """Keep a snapshot, and forget those before the last two.

    Raises:
        NotFoundError: there is no such tenant.
    """
    prepare(snapshot)(connection)


def prepare(snapshot: Snapshot) -> Callable[[Connection], None]:
    """What saves a snapshot, as :func:`save`.

    A large state takes long to compress: it is done here and now, where nobody waits for it, and
    not on the writing thread.
    """
    values = attrs.asdict(snapshot)
    values["body"] = pack([snapshot.body], b"")
    return lambda connection: _save(connection, snapshot, values)


def _save(connection: Connection, snapshot: Snapshot, values: dict[str, Any]) -> None:
    connection.execute(
        delete(table).where(table.c.tenant_id == snapshot.tenant_id, table.c.seq == snapshot.seq)
    )
    connection.execute(insert(table).values(values))
    kept = (
        select(table.c.seq)
        .where(table.c.tenant_id == snapshot.tenant_id)
        .order_by(table.c.seq.desc())
        .limit(KEPT)
    )
    connection.execute(
        delete(table).where(table.c.tenant_id == snapshot.tenant_id, table.c.seq.not_in(kept))
    )


def newest(
    connection: Connection, tenant_id: UUID, before_seq: int | None = None
) -> Iterator[Snapshot]:
    """The snapshots of a tenant, the newest first; damaged ones are passed over.

    Args:
        connection: a connection of the store.
        tenant_id: whose.
        before_seq: only those that were taken before this decision.

    One that does not fit the engine is followed by the one before it, which needs more
    of the log and gives the same state.
    """
    query = select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.seq.desc())
    if before_seq is not None:
        query = query.where(table.c.seq < before_seq)
    rows = connection.execute(query)
    for row in rows.mappings().all():
        try:
            body = unpack(row["seq"], row["body"], MAX_BYTES)
        except DamagedLogError:
            continue
        yield Snapshot(**{**row, "body": body})


def oldest_newest_ns(connection: Connection) -> int | None:
    """When the newest snapshot of the tenant was taken that waits longest for another."""
    newest = select(func.max(table.c.created_at_ns).label("at")).group_by(table.c.tenant_id)
    return connection.execute(select(func.min(newest.subquery().c.at))).scalar()


def oldest_newest_seq(connection: Connection) -> int:
    """The decision that some tenant's newest snapshot was taken after, and no other's before it;
    0 when a tenant has none."""
    newest = (
        select(func.coalesce(func.max(table.c.seq), 0).label("seq"))
        .select_from(tenants.outerjoin(table, table.c.tenant_id == tenants.c.tenant_id))
        .group_by(tenants.c.tenant_id)
    )
    return connection.execute(select(func.min(newest.subquery().c.seq))).scalar() or 0
