"""Mitigations and passes ended by operators: log entries that are not decisions.

An entry is in the log for its effects, so that replaying the log repeats it. A lift appears next to
the decisions in its entity's history.  The audit entry is written with it, so both exist or
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate_server.stores.decision_log.lines import LIFT, LogBlock, encode_index, encode_line
from tidegate_server.stores.objects.audit import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

AUDIT_KIND = "active-mitigation"
REVOKED_KIND = "pass"


@attrs.frozen(kw_only=True)
class Lift:
    """Mitigations of one entity that were ended."""

    lift_id: UUID
    """A UUID of version 7."""
    tenant_id: UUID
    entity_id: UUID
    at_ns: int
    actor: str
    request_id: str
    revision: int
    """Revision of the active definitions."""
    mitigations: Sequence[Mapping[str, Any]]
    """The mitigations that were ended, as in the response, for the audit."""
    effects: bytes
    """The effects that repeat it on the state, as JSON."""


@attrs.frozen(kw_only=True)
class Revocation:
    """A pass of a challenge that was revoked."""

    revocation_id: UUID
    """A UUID of version 7."""
    tenant_id: UUID
    pass_id: UUID
    at_ns: int
    actor: str
    request_id: str
    revision: int
    """Revision of the active definitions."""
    expires_at: str
    """The time at which it would have expired, as in the response, for the audit."""
    effects: bytes
    """The effects that repeat it on the state, as JSON."""


def entry(lift: Lift) -> LogBlock:
    """The lift as a log entry."""
    before = list(lift.mitigations)
    audit = AuditEntry(
        audit_id=lift.lift_id,
        tenant_id=lift.tenant_id,
        at_ns=lift.at_ns,
        actor=lift.actor,
        action=LIFT,
        kind=AUDIT_KIND,
        object_id=str(lift.entity_id),
        before=before,
        request_id=lift.request_id,
    )
    ended = {"actor": lift.actor, "mitigations": before}
    of_entity = [str(lift.entity_id)]
    return _entry(
        lift.tenant_id, lift.lift_id, audit, lift.revision, ended, lift.effects, of_entity
    )


def revocation_entry(revocation: Revocation) -> LogBlock:
    """The revocation as a log entry."""
    ended = {"pass_id": str(revocation.pass_id), "expires_at": revocation.expires_at}
    audit = AuditEntry(
        audit_id=revocation.revocation_id,
        tenant_id=revocation.tenant_id,
        at_ns=revocation.at_ns,
        actor=revocation.actor,
        action="revoke",
        kind=REVOKED_KIND,
        object_id=str(revocation.pass_id),
        before=ended,
        request_id=revocation.request_id,
    )
    about = {"actor": revocation.actor, "pass": ended}
    tenant_id, name = revocation.tenant_id, revocation.revocation_id
    return _entry(tenant_id, name, audit, revocation.revision, about, revocation.effects, [])


def _entry(
    tenant_id: UUID,
    entry_id: UUID,
    audit: AuditEntry,
    revision: int,
    ended: Mapping[str, Any],
    effects: bytes,
    entity_ids: Sequence[str],
) -> LogBlock:
    name, at_ns = str(entry_id), audit.at_ns
    record = orjson.dumps(ended)
    line = encode_line(
        name, at_ns, None, b"null", LIFT, None, revision, 0, b"null", record, effects, b"{}"
    )
    tenant = str(tenant_id)
    index = encode_index(
        tenant, name, at_ns, None, None, at_ns, LIFT, LIFT, None, None, entity_ids, [], []
    )
    return LogBlock.of_one(tenant_id, entry_id, at_ns, line, index, audit)
