"""The audit trail: who changed what and when, before and after, written with the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate_server.stores.objects import pending
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.tables import audit as table

if TYPE_CHECKING:
    from sqlalchemy import Connection


@attrs.frozen(kw_only=True)
class AuditEntry:
    """One change.  ``tenant_id`` is None if it belongs to no tenant."""

    audit_id: UUID
    """A UUID of version 7, so that ids sort in the order of changes."""
    tenant_id: UUID | None
    at_ns: int
    actor: str
    action: str
    kind: str
    object_id: str
    before: Any = None
    after: Any = None
    request_id: str | None = None


def add(connection: Connection, entry: AuditEntry) -> None:
    """Add an entry, in the transaction of the change."""
    records.add(connection, table, entry)


def page(
    connection: Connection,
    tenant_id: UUID,
    limit: int,
    before: UUID | None = None,
    *,
    from_ns: int | None = None,
    to_ns: int | None = None,
    actor: str | None = None,
    kind: str | None = None,
    object_id: str | None = None,
) -> list[AuditEntry]:
    """Entries of a tenant, the newest first, starting before one.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        limit: how many at most.
        before: id of the last entry on the previous page.
        from_ns: entries at this time or later.
        to_ns: entries before this time.
        actor: entries by this actor.
        kind: entries about this kind of object.
        object_id: entries about this object.
    """
    query = (
        records.of(AuditEntry, table)
        .where(table.c.tenant_id == tenant_id, pending.is_whole(table.c.change_id))
        .order_by(table.c.audit_id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(table.c.audit_id < before)
    if from_ns is not None:
        query = query.where(table.c.at_ns >= from_ns)
    if to_ns is not None:
        query = query.where(table.c.at_ns < to_ns)
    for column, value in (
        (table.c.actor, actor),
        (table.c.kind, kind),
        (table.c.object_id, object_id),
    ):
        if value is not None:
            query = query.where(column == value)
    return records.many(connection, query, AuditEntry)
