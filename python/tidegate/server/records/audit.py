"""The audit trail of a tenant: who changed what, when, from which value to which."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from tidegate.server import wire
from tidegate.server.http.call import Answer, Call
from tidegate.server.http.pages import page_by_id
from tidegate.stores.objects import audit

if TYPE_CHECKING:
    from sqlalchemy import Connection


def list_(call: Call) -> Answer:
    """Entries, the newest first."""
    query: wire.AuditQuery = call.query

    def read(connection: Connection, limit: int, before: UUID | None) -> list[audit.AuditEntry]:
        return audit.page(
            connection,
            call.tenant_id,
            limit,
            before,
            actor=query.actor,
            kind=query.kind,
            object_id=query.object_id,
        )

    return page_by_id(call, read, _answer, lambda entry: entry.audit_id)


def _answer(entry: audit.AuditEntry) -> wire.AuditEntry:
    return wire.AuditEntry(
        audit_id=entry.audit_id,
        at=wire.time_text(entry.at_ns),
        actor=entry.actor,
        action=entry.action,
        kind=entry.kind,
        object_id=entry.object_id,
        before=entry.before,
        after=entry.after,
        request_id=entry.request_id,
    )
