"""Messages that wait for their receivers, and what of them is not stored yet. Without IO.

A message has the same id for each attempt and after a restart, so a receiver can drop repetitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate_server.alerts.form import key_of

if TYPE_CHECKING:
    from tidegate_server.stores.alerts.alerts import AlertMessage

SECOND_NS = 1_000_000_000
FIRST_PAUSE, LONGEST_PAUSE = 10, 300
"""Seconds until a failed message is sent again; each failure doubles them."""
KEPT_SECONDS = 86_400
"""How long a message is tried."""
MAX_MESSAGES = 100
"""The most messages of a tenant that wait; then the oldest is dropped."""
_MAX_ERROR = 300


@attrs.define
class Unsaved:
    """Changes of a tenant that the store doesn't have yet.

    Attributes:
        states: of alerts.
        messages: new ones and attempts; None for one that is done.
        dropped: alerts whose message was dropped, once for each message.
    """

    states: dict[UUID, Mapping[str, Any]] = attrs.field(factory=dict)
    messages: dict[UUID, AlertMessage | None] = attrs.field(factory=dict)
    dropped: list[list[UUID]] = attrs.field(factory=list)


class Outbox:
    """The messages of this process; use it from one thread at a time.

    Args:
        messages: the stored ones.
    """

    def __init__(self, messages: Iterable[AlertMessage] = ()) -> None:
        self._by_tenant: dict[UUID, dict[UUID, AlertMessage]] = {}
        self.unsaved: dict[UUID, Unsaved] = {}
        """By tenant; whoever saves takes it out."""
        for each in messages:
            self._by_tenant.setdefault(each.tenant_id, {})[each.message_id] = each

    def add(self, message: AlertMessage) -> int:
        """Add a message, unless it is there; return how many were dropped for it."""
        of_tenant = self._by_tenant.setdefault(message.tenant_id, {})
        if message.message_id in of_tenant:
            return 0
        dropped = 0
        while len(of_tenant) >= MAX_MESSAGES:
            self._drop(next(iter(of_tenant.values())))
            dropped += 1
        self._put(message)
        return dropped

    def due(self, now_ns: int) -> dict[UUID, list[list[AlertMessage]]]:
        """Return the messages that are to be sent now, by tenant, with a list for each receiver.

        A receiver gets its messages in order, so those behind one that failed wait with it.
        """
        found: dict[UUID, list[list[AlertMessage]]] = {}
        for tenant_id, messages in self._by_tenant.items():
            by_receiver: dict[str, list[AlertMessage]] = {}
            for each in messages.values():
                by_receiver.setdefault(key_of(each.destination), []).append(each)
            due = [each for each in by_receiver.values() if each[0].next_at_ns <= now_ns]
            if due:
                found[tenant_id] = due
        return found

    def done(self, message: AlertMessage) -> None:
        """Remove a message that was taken, or that nobody is to get any longer."""
        self._by_tenant.get(message.tenant_id, {}).pop(message.message_id, None)
        self.changes(message.tenant_id).messages[message.message_id] = None

    def failed(self, message: AlertMessage, reason: str, now_ns: int) -> bool:
        """Note a failed attempt; return whether that was the last one."""
        if now_ns >= message.created_at_ns + KEPT_SECONDS * SECOND_NS:
            self._drop(message)
            return True
        pause = min(FIRST_PAUSE * 2 ** min(message.attempts, 10), LONGEST_PAUSE)
        next_at_ns = now_ns + pause * SECOND_NS
        error = reason[:_MAX_ERROR]
        self._put(
            attrs.evolve(message, attempts=message.attempts + 1, next_at_ns=next_at_ns, error=error)
        )
        return False

    def forget(self, tenant_id: UUID) -> None:
        """Forget a tenant that was deleted."""
        self._by_tenant.pop(tenant_id, None)
        self.unsaved.pop(tenant_id, None)

    def changes(self, tenant_id: UUID) -> Unsaved:
        """Return a tenant's changes, to add to them."""
        return self.unsaved.setdefault(tenant_id, Unsaved())

    def restore(self, tenant_id: UUID, unsaved: Unsaved) -> None:
        """Put changes back that could not be saved; later ones win."""
        newer = self.unsaved.get(tenant_id, Unsaved())
        self.unsaved[tenant_id] = Unsaved(
            {**unsaved.states, **newer.states},
            {**unsaved.messages, **newer.messages},
            [*unsaved.dropped, *newer.dropped],
        )

    def _put(self, message: AlertMessage) -> None:
        self._by_tenant.setdefault(message.tenant_id, {})[message.message_id] = message
        self.changes(message.tenant_id).messages[message.message_id] = message

    def _drop(self, message: AlertMessage) -> None:
        self.done(message)
        alerts = [UUID(each["alert_id"]) for each in message.body["alerts"]]
        self.changes(message.tenant_id).dropped.append(alerts)
