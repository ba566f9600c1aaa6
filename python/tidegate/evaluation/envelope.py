"""What a service asks of an event before it is decided on: the definition of the native one."""

from __future__ import annotations

import attrs

from tidegate.evaluation.event import read_event


@attrs.frozen
class Envelope:
    """The members of an event that are about it; None for one that is absent.

    ``empty`` tells that neither ``request`` nor ``fields`` has a member that is not null.
    """

    idempotency_key: str | None
    tenant_id: str | None
    source: str | None
    empty: bool


def envelope(body: bytes) -> Envelope:
    """Read an event as a decision would.

    Raises:
        EventError: the event is refused.
    """
    event = read_event(body, frozenset())
    parts = [event.members[name] for name in ("request", "fields") if name in event.members]
    return Envelope(
        idempotency_key=event.texts.get("idempotency_key"),
        tenant_id=event.texts.get("tenant_id"),
        source=event.texts.get("source"),
        empty=not any(
            member.kind != "null" for part in parts for member in (part.content or {}).values()
        ),
    )
