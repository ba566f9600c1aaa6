"""The audit trail of a tenant: each change with its author, time, old and new value."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_by_id
from tidegate_server.records.earlier_audit import Earlier
from tidegate_server.stores.objects import audit, operators
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection


def list_(call: Call) -> Answer:
    """List entries, newest first, with the names of the operators who acted.

    The actor was a member, and other members could see the name. So the name stays when the
    membership ends; the address is never shown.
    """
    query: wire_audit.AuditQuery = call.query

    def read(
        connection: Connection, limit: int, before: UUID | None
    ) -> list[wire_audit.AuditEntry]:
        found = audit.page(
            connection,
            call.tenant_id,
            limit,
            before,
            from_ns=query.from_ns,
            to_ns=query.to_ns,
            actor=query.actor,
            kind=query.kind,
            object_id=query.object_id,
        )
        names = operators.names(connection, _operators(found))
        actors = {str(operator_id): name for operator_id, name in names.items()}
        earlier = Earlier(connection, call.tenant_id)
        return [_answer(call.tenant_id, each, actors.get(each.actor), earlier) for each in found]

    return page_by_id(call, read, lambda entry: entry, lambda entry: entry.audit_id)


def _operators(entries: Iterable[audit.AuditEntry]) -> set[UUID]:
    """Return the actors that aren't machines."""
    found = set()
    for each in entries:
        with suppress(ValueError):
            found.add(UUID(each.actor))
    return found


def _answer(
    tenant_id: UUID, entry: audit.AuditEntry, actor_name: str | None, earlier: Earlier
) -> wire_audit.AuditEntry:
    before, missing_before = earlier.to_wire(entry, entry.before, "/before")
    after, missing_after = earlier.to_wire(entry, entry.after, "/after")
    return wire_audit.AuditEntry(
        audit_id=entry.audit_id,
        tenant_id=tenant_id,
        at=wire_common.time_text(entry.at_ns),
        actor=entry.actor,
        actor_name=actor_name,
        action=entry.action,
        kind=entry.kind,
        object_id=entry.object_id,
        before=before,
        after=after,
        missing_references=(*missing_before, *missing_after),
        request_id=entry.request_id,
    )
