"""The control plane's access to the active engines: reads, and a few changes.

Called from worker threads; everything that must keep the order of decisions runs on the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias
from uuid import UUID

import attrs
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tidegate_server.engines.figures import EngineFigures, policy_names, store_figures
from tidegate_server.geo.databases import GeoDatabases
from tidegate_server.hot.metrics import Families, Shown, build_page, page, process_page
from tidegate_server.hot.recorder import unavailable
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import Problem
from tidegate_server.offload.inbox import Engines
from tidegate_server.publishing.publisher import published
from tidegate_server.stores.decision_log import lifts, lines, snapshots
from tidegate_server.stores.objects import list_refreshes, passes
from tidegate_server.turns.lanes import Lanes
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import entities as wire_entities

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from tidegate.policy.key_forms import KeyForms
    from tidegate.policy.state.inspection import ActiveMitigation
    from tidegate_server.engines.compiled import Names
    from tidegate_server.engines.engines import Runtimes
    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.geo.databases import GeoDatabase
    from tidegate_server.hot.metrics import HotMetrics
    from tidegate_server.hot.recorder import Recorder
    from tidegate_server.publishing.publisher import Publisher
    from tidegate_server.stores.decision_log.lines import LogBlock
    from tidegate_server.stores.port import Store

PassStatus: TypeAlias = Literal["alive", "revoked"]

LOAD_SECONDS = 20.0
"""How long a handler waits for a tenant that isn't loaded yet."""
LIFT_SECONDS = 30.0
"""How long a lift waits for its commit; the log gives up sooner if it can't be written."""


class Runtime(Engines, Protocol):
    """The active engines and the decision log, as seen by the control plane."""

    def why_not_ready(self) -> str | None:
        """Return why no decision can be made now; None if decisions can be made."""

    def metrics(self, shown: Shown) -> bytes:
        """Return figures in Prometheus' text format."""

    def databases(self) -> Sequence[GeoDatabase]:
        """Return the state of the address databases."""

    def find(self, tenant_id: UUID) -> Tenant | None:
        """Return an active tenant; None if it isn't active."""

    def lift(
        self, tenant_id: UUID, wanted: Sequence[ActiveMitigation], actor: str, request_id: str
    ) -> bool:
        """End mitigations of one entity; the end is durable and audited when this returns.

        Args:
            tenant_id: the tenant.
            wanted: the mitigations; expired ones are skipped.
            actor: the operator.
            request_id: the request.

        Returns:
            Whether a mitigation was ended.

        Raises:
            Problem: ``decision-log-unavailable``; nothing is ended.
        """

    def revoke_pass(
        self, tenant_id: UUID, pass_id: UUID, expires_at: int, actor: str, request_id: str
    ) -> bool:
        """Revoke the pass of a challenge; this is durable and audited when it returns.

        Args:
            tenant_id: the tenant.
            pass_id: the pass.
            expires_at: when its proof expires, in nanoseconds since 1970.
            actor: the operator.
            request_id: the request.

        Returns:
            Whether it was valid until now; False if it was already revoked, or has expired.

        Raises:
            Problem: ``decision-log-unavailable``; nothing is revoked.
        """

    def pass_status(self, tenant_id: UUID, pass_id: UUID) -> PassStatus:
        """Return the state of a pass; an expired one counts as alive."""


class NoRuntime:
    """The runtime of a control plane alone, without decisions."""

    def why_not_ready(self) -> str | None:
        return "nothing decides here"

    def metrics(self, shown: Shown) -> bytes:  # noqa: ARG002
        return page([])

    def find(self, tenant_id: UUID) -> Tenant | None:  # noqa: ARG002
        return None

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:  # noqa: ARG002
        return None

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:  # noqa: ARG002
        return None

    def located(self, tenant_id: UUID, event: bytes) -> bytes:  # noqa: ARG002
        return event

    def located_fields(self) -> frozenset[str]:
        return frozenset()

    def databases(self) -> Sequence[GeoDatabase]:
        return ()

    def evictions(self, tenant_id: UUID) -> int:  # noqa: ARG002
        return 0

    def lift(
        self,
        tenant_id: UUID,  # noqa: ARG002
        wanted: Sequence[ActiveMitigation],  # noqa: ARG002
        actor: str,  # noqa: ARG002
        request_id: str,  # noqa: ARG002
    ) -> bool:
        return False

    def revoke_pass(
        self,
        tenant_id: UUID,  # noqa: ARG002
        pass_id: UUID,  # noqa: ARG002
        expires_at: int,  # noqa: ARG002
        actor: str,  # noqa: ARG002
        request_id: str,  # noqa: ARG002
    ) -> bool:
        return False

    def pass_status(self, tenant_id: UUID, pass_id: UUID) -> PassStatus:  # noqa: ARG002
        return "alive"


@attrs.define
class LiveRuntime:
    """The runtime of a running service.

    Attributes:
        is_ready: whether decisions are accepted: after the start, before the stop.
        lanes: the queues of the tenants' calls.
        geo: the address databases.
        lost_decisions: lost entries of the log, found at the start or earlier.
        recorder: writes to the log, from the start on.
        publisher: exports decisions, from the start on, if configured.
        loop: the event loop that decides, from the start on.
        refreshes: refreshes of published lists, by outcome.
        alerts: messages of alerts, by outcome.
    """

    _store: Store
    _runtimes: Runtimes
    _metrics: HotMetrics
    lanes: Lanes = attrs.field(factory=Lanes)
    geo: GeoDatabases = attrs.field(factory=lambda: GeoDatabases([]))
    is_ready: bool = False
    lost_decisions: int = 0
    recorder: Recorder | None = None
    publisher: Publisher | None = None
    loop: asyncio.AbstractEventLoop | None = None
    refreshes: Counter[str] = attrs.field(factory=Counter)
    alerts: Counter[str] = attrs.field(factory=Counter)
    _clock: Callable[[], int] = time.time_ns
    _engine_figures: EngineFigures = attrs.field(factory=EngineFigures)
    _gathered: Mapping[Shown, list[Metric]] = attrs.field(
        factory=lambda: {shown: [] for shown in Shown}
    )

    def why_not_ready(self) -> str | None:
        """See :class:`Runtime`."""
        if not self.is_ready or self.recorder is None:
            return "the service is starting or stopping"
        if not self.recorder.is_deciding:
            return "the decision log cannot be written"
        return None

    def metrics(self, shown: Shown) -> bytes:
        """See :class:`Runtime`; on the event loop."""
        health = Families([*self._present(), *self._gathered[Shown.HEALTH]])
        if shown is Shown.HEALTH:
            return page([health]) + process_page()
        lanes = self.lanes.figures(time.monotonic_ns())
        to_load = GaugeMetricFamily(
            "tidegate_tenants_to_load",
            "Tenants that are not loaded yet after a start; their calls wait.",
            self._runtimes.left_to_load,
        )
        tenants = Families([to_load, *lanes, *self._gathered[Shown.ALL]])
        return page([self._metrics, health, tenants]) + process_page() + build_page()

    def find(self, tenant_id: UUID) -> Tenant | None:
        """See :class:`Runtime`; waits for a tenant that isn't loaded yet.

        Raises:
            Problem: ``not-ready``; loading takes too long.
        """
        if self.loop is not None and self._runtimes.is_loading(tenant_id):
            loaded = asyncio.run_coroutine_threadsafe(self._runtimes.wait_for(tenant_id), self.loop)
            try:
                loaded.result(LOAD_SECONDS)
            except TimeoutError:
                loaded.cancel()
                raise Problem(
                    "not-ready", "the tenant is being loaded", headers={"retry-after": "1"}
                ) from None
        return self._runtimes.find(tenant_id)

    def key_forms(self, tenant_id: UUID) -> KeyForms | None:
        """See :class:`Runtime`."""
        tenant = self.find(tenant_id)
        return None if tenant is None else tenant.keys

    def state_of(self, tenant_id: UUID, event: bytes, at: int) -> bytes | None:
        """See :class:`Runtime`."""
        tenant = self.find(tenant_id)
        return None if tenant is None else tenant.engine.state_of(event, at)

    def located(self, tenant_id: UUID, event: bytes) -> bytes:
        """See :class:`Runtime`."""
        tenant, databases = self.find(tenant_id), self.geo.current
        if tenant is None or databases is None:
            return event
        return tenant.engine.located(event, databases)

    def located_fields(self) -> frozenset[str]:
        """See :class:`Runtime`."""
        return self.geo.fields

    def databases(self) -> Sequence[GeoDatabase]:
        """See :class:`Runtime`."""
        return self.geo.state()

    def evictions(self, tenant_id: UUID) -> int:
        """See :class:`Runtime`."""
        tenant = self.find(tenant_id)
        return 0 if tenant is None else tenant.engine.stats()["evictions_total"]

    def lift(
        self, tenant_id: UUID, wanted: Sequence[ActiveMitigation], actor: str, request_id: str
    ) -> bool:
        """See :class:`Runtime`."""

        def lifted(tenant: Tenant) -> LogBlock | None:
            return self._lifted(tenant, wanted, actor, request_id)

        return self._end(tenant_id, lifted)

    def revoke_pass(
        self, tenant_id: UUID, pass_id: UUID, expires_at: int, actor: str, request_id: str
    ) -> bool:
        """See :class:`Runtime`."""

        def revoked(tenant: Tenant) -> LogBlock | None:
            now = self._clock()
            effects = tenant.engine.revoke_pass(pass_id, expires_at, now)
            if effects is None:
                return None
            return lifts.revocation_entry(
                lifts.Revocation(
                    revocation_id=new_id(),
                    tenant_id=tenant_id,
                    pass_id=pass_id,
                    at_ns=now,
                    actor=actor,
                    request_id=request_id,
                    revision=tenant.revision,
                    expires_at=wire_common.time_text(expires_at),
                    effects=effects,
                )
            )

        return self._end(tenant_id, revoked)

    def pass_status(self, tenant_id: UUID, pass_id: UUID) -> PassStatus:
        """See :class:`Runtime`."""
        tenant = self.find(tenant_id)
        is_revoked = tenant is not None and tenant.engine.is_revoked(pass_id)
        return "revoked" if is_revoked else "alive"

    def _end(self, tenant_id: UUID, end: Callable[[Tenant], LogBlock | None]) -> bool:
        """End something in a tenant's state, and wait until that is durable.

        Args:
            tenant_id: the tenant.
            end: ends it between two decisions; returns the entry for the log, None if there was
                nothing to end.
        """
        if self.loop is None:
            return False
        ending = self._end_between(tenant_id, end)
        return asyncio.run_coroutine_threadsafe(ending, self.loop).result(LIFT_SECONDS)

    async def _end_between(self, tenant_id: UUID, end: Callable[[Tenant], LogBlock | None]) -> bool:
        await self._runtimes.wait_for(tenant_id)
        if self.recorder is None or self._runtimes.find(tenant_id) is None:
            return False
        async with self.lanes.still(tenant_id):
            ended = self._end_now(self.recorder, tenant_id, end)
        if ended is None:
            return False
        await ended
        return True

    def _end_now(
        self,
        recorder: Recorder,
        tenant_id: UUID,
        end: Callable[[Tenant], LogBlock | None],
    ) -> asyncio.Future[None] | None:
        """End it in engine and log together, so that both have the same order.

        Returns:
            Done when it is durable; None if there was nothing to end.
        """
        recorder.check(tenant_id)
        if not recorder.is_available:
            raise unavailable()  # relaxed durability is for decisions: this is audited in the log
        tenant = self._runtimes.find(tenant_id)
        block = None if tenant is None else end(tenant)
        return None if block is None else recorder.append(block)

    def _lifted(
        self,
        tenant: Tenant,
        wanted: Sequence[ActiveMitigation],
        actor: str,
        request_id: str,
    ) -> LogBlock | None:
        """Lift an entity's active mitigations; return the entry for the log."""
        now, tenant_id = self._clock(), tenant.tenant_id
        effects = {
            each: tenant.engine.lift(each.definition, each.key, each.policy, each.clause, now)
            for each in wanted
        }
        lifted = {each: effect for each, effect in effects.items() if effect is not None}
        if not lifted:
            return None
        return lifts.entry(
            lifts.Lift(
                lift_id=new_id(),
                tenant_id=tenant_id,
                entity_id=UUID(wanted[0].entity_id),
                at_ns=now,
                actor=actor,
                request_id=request_id,
                revision=tenant.revision,
                mitigations=[
                    wire_audit.audited(mitigation_answer(tenant_id, each, tenant.names))
                    for each in lifted
                ],
                effects=lines.join_effects(list(lifted.values())),
            )
        )

    def gather(self) -> None:
        """Read the figures that are slow to compute, on any thread."""
        with self._store.read() as connection:
            oldest = snapshots.oldest_newest_ns(connection)
            alive = passes.alive(connection, self._clock())
            refused = list_refreshes.refused(connection)
        tenants = list(self._runtimes.all())
        age = GaugeMetricFamily(
            "tidegate_snapshot_age_seconds",
            "Age of the oldest of the tenants' newest snapshots; 0 without any.",
            0.0 if oldest is None else max(0, self._clock() - oldest) / 1e9,
        )
        self._gathered = {
            Shown.HEALTH: [age, *store_figures(self._store.statistics())],
            Shown.ALL: [
                GaugeMetricFamily("tidegate_passes_alive", "Passes that have not expired.", alive),
                GaugeMetricFamily(
                    "tidegate_lists_refused", "Lists whose last refresh was refused.", refused
                ),
                policy_names(tenants, self._metrics.policies),
                *self._engine_figures.read(tenants, len(self._runtimes.refused)),
            ],
        }

    def _present(self) -> list[Metric]:
        waiting = 0 if self.recorder is None else self.recorder.waiting
        unrecorded = 0 if self.recorder is None else self.recorder.unrecorded
        return [
            GaugeMetricFamily(
                "tidegate_ready", "1 when decisions can be made.", float(not self.why_not_ready())
            ),
            GaugeMetricFamily(
                "tidegate_waiting_decisions", "Decisions made and not yet durable.", waiting
            ),
            GaugeMetricFamily(
                "tidegate_lost_decisions",
                "Entries of the log that were recorded and found lost.",
                self.lost_decisions,
            ),
            CounterMetricFamily(
                "tidegate_unrecorded_decisions",
                "Decisions answered that are not in the log (relaxed durability).",
                unrecorded,
            ),
            *self.geo.figures(),
            *published(self.publisher),
            self._refreshed(),
            self._alerted(),
        ]

    def _refreshed(self) -> Metric:
        found = CounterMetricFamily(
            "tidegate_list_refreshes",
            "Refreshes of lists from their sources; the outcome of a refused one is its code.",
            labels=["outcome"],
        )
        for outcome, count in list(self.refreshes.items()):
            found.add_metric([outcome], count)
        return found

    def _alerted(self) -> Metric:
        found = CounterMetricFamily(
            "tidegate_alert_messages",
            "Messages of alerts: sent, attempts that failed, and dropped ones.",
            labels=["outcome"],
        )
        for outcome, count in list(self.alerts.items()):
            found.add_metric([outcome], count)
        return found


def mitigation_answer(
    tenant_id: UUID, active: ActiveMitigation, names: Names
) -> wire_entities.EntityMitigation:
    """Return a mitigation in the form of the answer."""
    return wire_entities.EntityMitigation(
        tenant_id=tenant_id,
        entity_id=UUID(active.entity_id),
        entity_definition_id=UUID(names.entities[active.definition]),
        definition=active.definition,
        key=active.key,
        policy_id=UUID(names.policies[active.policy]),
        policy=active.policy,
        clause=active.clause,
        mitigation_id=UUID(names.mitigations[active.mitigation]),
        mitigation=active.mitigation,
        mode=active.mode,
        expires_at=wire_common.time_text(active.expires_at),
    )
