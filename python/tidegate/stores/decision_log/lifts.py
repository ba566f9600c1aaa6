"""Mitigations that operators ended: log entries that are no decisions.

A lift is in the log for its effects, so that whoever repeats the log repeats it, and beside the
decisions in the history of its entity.  Its audit entry is written with it: both or neither are
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import orjson

from tidegate.stores.decision_log.log import LIFT, LogBlock, encode_index, encode_line
from tidegate.stores.objects.audit import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

AUDIT_KIND = "active-mitigation"


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
    """The mitigations that were ended, as they are answered, for the audit."""
    effects: bytes
    """The effects that repeat it on the state, as JSON."""


def entry(lift: Lift) -> LogBlock:
    """The lift on its way into the log."""
    lift_id, before = str(lift.lift_id), list(lift.mitigations)
    line = encode_line(
        lift_id,
        lift.at_ns,
        None,
        b"null",
        LIFT,
        None,
        lift.revision,
        0,
        b"null",
        orjson.dumps({"actor": lift.actor, "mitigations": before}),
        lift.effects,
        b"{}",
    )
    index = encode_index(
        str(lift.tenant_id),
        lift_id,
        lift.at_ns,
        None,
        None,
        lift.at_ns,
        LIFT,
        LIFT,
        None,
        None,
        [str(lift.entity_id)],
        [],
        [],
    )
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
    return LogBlock.of_one(lift.tenant_id, lift.lift_id, lift.at_ns, line, index, audit)


def join_effects(effects: Sequence[bytes]) -> bytes:
    """The effects of several lifts, joined into one text."""
    return orjson.dumps([orjson.Fragment(each[1:-1]) for each in effects if each != b"[]"])
