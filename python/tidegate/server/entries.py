"""A decision as its entry in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import orjson

from tidegate.stores.log import LogBlock, encode_index, encode_line

if TYPE_CHECKING:
    from tidegate.policy.served import Served
    from tidegate.server.api_keys import ApiKey
    from tidegate.server.runtime import Tenant

NO_ERRORS = b'"errors":{}}'
"""How a record ends in which no expression failed."""


def log_entry(
    tenant: Tenant,
    key: ApiKey,
    endpoint: str,
    source: str | None,
    decision_id: str,
    received_at: int,
    duration: int,
    served: Served,
    answer: bytes,
    body: bytes,
    idempotency: tuple[bytes, bytes] | None,
) -> LogBlock:
    """The entry of a decision, a block of one.

    Args:
        tenant: whose decision it is.
        key: the credential of the event.
        endpoint: name of the call it came by.
        source: the event's label of its origin.
        decision_id: its UUID.
        received_at: nanoseconds since 1970.
        duration: nanoseconds it took so far.
        served: the decision.
        answer: the body that is sent.
        body: the event as received; it is redacted here.
        idempotency: hash of the key and fingerprint of the body.
    """
    line = encode_line(
        decision_id,
        received_at,
        key.id_text,
        b"null" if source is None else orjson.dumps(source),
        endpoint,
        idempotency,
        tenant.revision,
        duration // 1000,
        answer,
        served.record,
        served.effects,
        tenant.redactor.redact(body),
    )
    ids = tenant.policy_ids
    index = encode_index(
        tenant.id_text,
        decision_id,
        received_at,
        key.id_text,
        idempotency,
        served.observed_at,
        served.action,
        served.reason,
        None if served.policy is None else ids[served.policy],
        served.path,
        served.entity_ids,
        [(ids[slug], mode) for slug, mode in served.fired],
        [] if served.record.endswith(NO_ERRORS) else failed_policies(tenant, served.record),
    )
    return LogBlock.of_one(tenant.tenant_id, UUID(decision_id), received_at, line, index)


def failed_policies(tenant: Tenant, record: bytes) -> list[str]:
    """Ids of the policies an expression of which failed; ``""`` for actions and entities."""
    failed: dict[str, None] = {}
    for place in orjson.loads(record)["errors"]:
        section, slug, *_ = place.split(".", 2)
        failed[tenant.policy_ids[slug] if section == "policies" else ""] = None
    return list(failed)
