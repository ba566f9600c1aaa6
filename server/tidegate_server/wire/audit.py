"""The audit trail, and objects in its entries."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import attrs
import msgspec
from msgspec import Meta

from tidegate_server.http.cursor import Paging
from tidegate_server.http.read_only_members import is_unstable
from tidegate_server.wire.common import Time
from tidegate_server.wire.definitions import MissingReference
from tidegate_server.wire.period import Span


@attrs.frozen(kw_only=True)
class AuditQuery(Paging, Span):
    actor: Annotated[str | None, Meta(description="id of the operator")] = None
    kind: str | None = None
    object_id: str | None = None


@attrs.frozen(kw_only=True)
class AuditEntry:
    """One change, with its object before and after as the object itself is answered.

    Members that change by themselves (``last_used_at``, a member's name) are left out. Entries
    that an earlier version wrote have the members that it kept.
    """

    audit_id: UUID
    tenant_id: UUID
    at: Time
    actor: Annotated[
        str, Meta(description="id of the operator, or `system`, `service` or `command-line`")
    ]
    actor_name: Annotated[
        str | None,
        Meta(description="of the operator now, also when no longer a member; null for machines"),
    ]
    action: str
    kind: str
    object_id: str
    before: Any
    after: Any
    missing_references: Annotated[
        tuple[MissingReference, ...],
        Meta(
            description=(
                "of an entry that an earlier version wrote: slugs that no object has now, with"
                " pointers into the entry"
            )
        ),
    ] = ()
    request_id: str | None


def audited(answer: Any) -> dict[str, Any]:
    """Return an object for the audit trail.

    Args:
        answer: the object as it is answered.

    Returns:
        Its JSON members, without those that change while the object doesn't.
    """
    kind: Any = type(answer)
    members: dict[str, Any] = msgspec.to_builtins(answer)
    return {name: value for name, value in members.items() if not is_unstable(kind, name)}
