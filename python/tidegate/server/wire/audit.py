"""The audit trail."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import attrs
from msgspec import Meta

from tidegate.server.http.cursor import Paging
from tidegate.server.wire.common import (
    Time,
)


@attrs.frozen(kw_only=True)
class AuditQuery(Paging):
    actor: Annotated[str | None, Meta(description="id of the operator")] = None
    kind: str | None = None
    object_id: str | None = None


@attrs.frozen(kw_only=True)
class AuditEntry:
    audit_id: UUID
    at: Time
    actor: str
    action: str
    kind: str
    object_id: str
    before: Any
    after: Any
    request_id: str | None
