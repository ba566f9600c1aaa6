"""Decisions that were answered but not logged, which relaxed durability reports in the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.http.ids import new_id
from tidegate_server.stores.objects import audit
from tidegate_server.wire.common import time_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.hot.gap import Gap

ACTOR = "service"
ACTION = "gap"
KIND = "decision-log"


def add(connection: Connection, gaps: Mapping[UUID, Gap], at_ns: int) -> None:
    """Write each tenant's gap to its audit: how many decisions, and from when to when."""
    for tenant_id, gap in gaps.items():
        entry = audit.AuditEntry(
            audit_id=new_id(),
            tenant_id=tenant_id,
            at_ns=at_ns,
            actor=ACTOR,
            action=ACTION,
            kind=KIND,
            object_id=str(tenant_id),
            after={
                "decisions": gap.decisions,
                "from": time_text(gap.first_ns),
                "to": time_text(gap.last_ns),
            },
        )
        audit.add(connection, entry)
