"""Decisions that were answered but not logged, which relaxed durability reports in the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate.server.http.ids import new_id
from tidegate.server.wire import time_text
from tidegate.stores.objects import audit

if TYPE_CHECKING:
    from sqlalchemy import Connection

ACTOR = "service"
ACTION = "gap"
KIND = "decision-log"


@attrs.frozen
class Gap:
    """Decisions of one tenant that were answered and not recorded."""

    decisions: int
    first_ns: int
    """When the first of them arrived, in nanoseconds since 1970."""
    last_ns: int

    def __add__(self, other: Gap) -> Gap:
        first, last = min(self.first_ns, other.first_ns), max(self.last_ns, other.last_ns)
        return Gap(self.decisions + other.decisions, first, last)


def add(connection: Connection, gaps: Mapping[UUID, Gap], at_ns: int) -> None:
    """Write each tenant's gap into its audit: how many decisions, and from when to when."""
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
