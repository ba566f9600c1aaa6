"""Evaluates alerts each minute and sends their messages, in the process that owns a partition.

It works from memory and stores changes as it goes: where the store can't be written, which an alert
may be about, messages are sent all the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as NotWrittenInTime
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate_server.alerts import evaluation
from tidegate_server.alerts.form import key_of, state_of
from tidegate_server.alerts.outbox import Outbox
from tidegate_server.alerts.rule import Minutes
from tidegate_server.engines.derived_reads import indexed
from tidegate_server.logging import log
from tidegate_server.publishing.base import NotTakenError
from tidegate_server.stores.alerts import alerts
from tidegate_server.stores.base import NotFoundError, StoreError
from tidegate_server.stores.index.results import MINUTE_NS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.alerts.evaluation import Evaluated
    from tidegate_server.alerts.outbox import Unsaved
    from tidegate_server.alerts.rule import State
    from tidegate_server.alerts.sending import Sender
    from tidegate_server.stores.alerts.alerts import Alert, AlertMessage
    from tidegate_server.stores.objects.tenants import Tenant
    from tidegate_server.stores.port import Store

LOOK_SECONDS = 2.0
"""How often it looks whether a minute has ended and a message is due."""
GRACE_NS = 3_000_000_000
"""A minute is evaluated this long after its end, so that its decisions are in the log."""
WRITE_SECONDS = 5.0
"""How long it waits for the store."""
AT_ONCE = 16
"""The most tenants whose messages are sent at the same time."""


@attrs.define
class _Round:
    """The evaluation of one minute.

    Attributes:
        kept: messages of the store.
    """

    minute: int
    alerts: Sequence[Alert]
    tenants: Mapping[UUID, Tenant]
    kept: Sequence[AlertMessage]
    evaluated: list[Evaluated] = attrs.field(factory=list)
    messages: list[AlertMessage] = attrs.field(factory=list)


class Watcher:
    """The alerts of this process.

    Args:
        store: has the alerts and the counts.
        sender: sends messages.
        sampled: returns values of the process, by metric, at a time.
        base_url: returns the address that browsers reach the service by.
        started_ns: when this process began, in nanoseconds since 1970.
        counts: messages by outcome.
    """

    def __init__(
        self,
        store: Store,
        sender: Sender,
        sampled: Callable[[int], Mapping[str, float]],
        base_url: Callable[[], str],
        started_ns: int,
        counts: Counter[str],
    ) -> None:
        self._store = store
        self._sender = sender
        self._sampled = sampled
        self._base_url = base_url
        self._started_ns = started_ns
        self._counts = counts
        self._outbox: Outbox | None = None
        self._alerts: Sequence[Alert] = ()
        self._tenants: Mapping[UUID, Tenant] = {}
        self._states: dict[UUID, State] = {}
        self._minute = 0
        self._busy: set[UUID] = set()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._saving = asyncio.Lock()

    async def run(self, clock: Callable[[], int]) -> None:
        """Evaluate and send for as long as the service runs.

        Args:
            clock: nanoseconds since 1970.
        """
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    await self.evaluate(clock())
                    for tenant_id in self.due(clock()):
                        group.create_task(self._deliver_quietly(tenant_id, clock))
                except Exception:
                    log.exception("alerts could not be evaluated; it is tried again")
                await asyncio.sleep(LOOK_SECONDS)

    async def evaluate(self, now_ns: int) -> None:
        """Evaluate the minute that ended last, unless that was done, and store what changed.

        Args:
            now_ns: nanoseconds since 1970.
        """
        made = await asyncio.to_thread(self._compute, now_ns)
        if made is not None:
            self._apply(made)
        await self._save()

    def due(self, now_ns: int) -> list[UUID]:
        """Return the tenants that have messages to send, and for which nothing is being sent."""
        found = [] if self._outbox is None else self._outbox.due(now_ns)
        return [tenant_id for tenant_id in found if tenant_id not in self._busy]

    async def deliver(self, tenant_id: UUID, clock: Callable[[], int]) -> None:
        """Send a tenant's messages that are due, and store what came of it.

        Args:
            tenant_id: one of :meth:`due`.
            clock: nanoseconds since 1970.
        """
        assert self._outbox is not None
        self._busy.add(tenant_id)
        try:
            async with self._places:
                for batch in self._outbox.due(clock()).get(tenant_id, ()):
                    await self._deliver_batch(self._outbox, batch, clock)
        finally:
            self._busy.remove(tenant_id)
        await self._save()

    async def _deliver_quietly(self, tenant_id: UUID, clock: Callable[[], int]) -> None:
        try:
            await self.deliver(tenant_id, clock)
        except Exception:
            log.exception("messages of alerts could not be sent; it is tried again")

    async def _deliver_batch(
        self, outbox: Outbox, batch: Sequence[AlertMessage], clock: Callable[[], int]
    ) -> None:
        """Send messages to one receiver, in order; those behind one that fails wait with it."""
        for message in batch:
            if not self._has_receiver(message):
                outbox.done(message)
                continue
            reason = await self._refusal(message)
            if reason is None:
                outbox.done(message)
                self._counts["sent"] += 1
                continue
            self._counts["failed"] += 1
            log.warning("a message of an alert is not taken", reason=reason)
            if outbox.failed(message, reason, clock()):
                self._counts["dropped"] += 1
                log.error("a message of an alert is dropped", reason=reason)
            return

    async def _refusal(self, message: AlertMessage) -> str | None:
        """Send a message; return why it wasn't taken, None if it was."""
        try:
            await self._sender.send(message)
        except NotTakenError as error:
            return str(error)
        except Exception:
            log.exception("a message of an alert could not be sent")
            return "the service failed; its log says why"
        return None

    def _has_receiver(self, message: AlertMessage) -> bool:
        """Whether an alert of the tenant still names the receiver."""
        return any(
            key_of(each) == key_of(message.destination)
            for alert in self._alerts
            if alert.tenant_id == message.tenant_id
            for each in alert.body["destinations"]
        )

    def _compute(self, now_ns: int) -> _Round | None:
        """Evaluate all tenants, on a thread; None if the minute was evaluated already."""
        sampled = self._sampled(now_ns)
        minute = (now_ns - GRACE_NS) // MINUTE_NS - 1
        if minute <= self._minute:
            return None
        made = self._read(minute)
        by_tenant: dict[UUID, list[Alert]] = defaultdict(list)
        for each in made.alerts:
            by_tenant[each.tenant_id].append(each)
        for tenant_id, of_tenant in by_tenant.items():
            with suppress(KeyError):  # the tenant is new, or was deleted since
                found = self._evaluate_tenant(made, tenant_id, of_tenant, sampled)
                tenant, base_url = made.tenants[tenant_id], self._base_url()
                made.evaluated += found
                made.messages += evaluation.messages_of(tenant, found, minute, base_url)
        return made

    def _read(self, minute: int) -> _Round:
        """Read the alerts; while the store can't be read, those before stay."""
        partition = self._store.partition
        try:
            with self._store.read() as connection:
                found = alerts.of_partition(connection, partition)
                of = alerts.tenants_of(connection, found)
                kept = alerts.messages_of_partition(connection, partition)
        except StoreError:
            if self._outbox is None:
                raise
            return _Round(minute, self._alerts, self._tenants, ())
        return _Round(minute, found, of, kept)

    def _evaluate_tenant(
        self,
        made: _Round,
        tenant_id: UUID,
        of_tenant: Sequence[Alert],
        sampled: Mapping[str, float],
    ) -> list[Evaluated]:
        minute = made.minute
        states = {each.alert_id: self._state(each) for each in of_tenant}
        first = min(
            evaluation.first_minute(each, states[each.alert_id], minute) for each in of_tenant
        )
        try:
            with indexed(self._store) as connection:
                now = evaluation.moments(
                    connection, tenant_id, of_tenant, minute, sampled, self._started_ns
                )
                minutes = evaluation.minutes_of(
                    connection, tenant_id, of_tenant, first, minute, now
                )
        except StoreError as error:
            log.warning("counts for alerts can't be read", reason=type(error).__name__)
            # An alert about the store itself needs none.
            of_tenant = [each for each in of_tenant if each.body["metric"] in sampled]
            minutes = Minutes(first, {}, {name: {minute: each} for name, each in sampled.items()})
        return [
            evaluation.evaluated(each, states[each.alert_id], minutes, minute) for each in of_tenant
        ]

    def _state(self, alert: Alert) -> State:
        return self._states.get(alert.alert_id) or state_of(alert)

    def _apply(self, made: _Round) -> None:
        """Take over the results, on the event loop."""
        if self._outbox is None:
            self._outbox = Outbox(made.kept)
        self._minute, self._alerts, self._tenants = made.minute, made.alerts, made.tenants
        states = {each.alert_id: self._state(each) for each in made.alerts}
        for each in made.evaluated:
            alert, before = each.alert, states[each.alert.alert_id]
            states[alert.alert_id] = each.state
            # A state that says nothing new is not stored.
            if attrs.evolve(each.state, evaluated=0) != attrs.evolve(before, evaluated=0):
                changes = self._outbox.changes(alert.tenant_id)
                changes.states[alert.alert_id] = attrs.asdict(each.state)
        self._states = states
        for message in made.messages:
            self._counts["dropped"] += self._outbox.add(message)

    async def _save(self) -> None:
        """Store what changed; what can't be stored now is stored later."""
        async with self._saving:  # or an older change could be stored last
            if self._outbox is not None:
                await self._save_all(self._outbox)

    async def _save_all(self, outbox: Outbox) -> None:
        unsaved, outbox.unsaved = outbox.unsaved, {}
        reason = ""
        for tenant_id, changes in unsaved.items():
            if reason:
                outbox.restore(tenant_id, changes)
                continue
            try:
                await asyncio.to_thread(self._write, tenant_id, changes)
            except NotFoundError:
                outbox.forget(tenant_id)
            except (StoreError, NotWrittenInTime) as error:
                reason = type(error).__name__
                outbox.restore(tenant_id, changes)
                log.warning("the state of alerts is not stored", reason=reason)

    def _write(self, tenant_id: UUID, changes: Unsaved) -> None:
        def work(connection: Connection) -> None:
            for alert_id, state in changes.states.items():
                alerts.put_state(connection, alert_id, state)
            for message_id, message in changes.messages.items():
                if message is None:
                    alerts.remove_message(connection, message_id)
                else:
                    alerts.put_message(connection, message)
            for dropped in changes.dropped:
                alerts.count_dropped(connection, tenant_id, dropped)

        self._store.write(work, quietly=True).result(WRITE_SECONDS)
