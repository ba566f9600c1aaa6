"""The service's status for a tenant: active definitions, size of the state, progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.control.call import Answer, Call
from tidegate_server.stores.decision_log import log, snapshots
from tidegate_server.stores.index import results
from tidegate_server.stores.index.derived import indexed_seq
from tidegate_server.stores.objects import daemons, tenants
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import results as wire_results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from sqlalchemy import Connection

    from tidegate_server.stores.objects.daemons import Daemon

MINUTE_NS = results.MINUTE_NS
SEEN_NS = 5 * MINUTE_NS
"""A daemon that reported this recently counts as following."""
PAGE = 500


def read_status(call: Call) -> Answer:
    """Return the present figures."""
    live = call.app.runtime.find(call.tenant_id)
    stats = {} if live is None else live.engine.stats()
    reason = call.app.runtime.why_not_ready()
    last = call.now // MINUTE_NS * MINUTE_NS
    minute = results.Period(from_ns=last - MINUTE_NS, to_ns=last, clock="received")
    with call.app.store.read() as connection:
        tenant = tenants.find(connection, call.tenant_id)
        counted = results.of_policy(connection, call.tenant_id, period=minute)
        waiting = max(0, log.last_seq(connection) - indexed_seq(connection))
        taken_at = snapshots.newest_ns(connection, call.tenant_id)
        seen = sum(
            each.last_seen_at_ns >= call.now - SEEN_NS
            for each in _daemons(connection, call.tenant_id)
        )
    return Answer(
        body=wire_results.Status(
            ready=reason is None,
            because=reason,
            revision=tenant.definition_revision,
            active_revision=None if live is None else live.revision,
            keys=stats.get("keys"),
            max_keys=stats.get("max_keys"),
            evictions=stats.get("evictions_total"),
            decisions_a_second=round(counted.total / 60, 3),
            waiting=waiting,
            last_snapshot_at=wire_common.optional_time(taken_at),
            daemons=seen,
            address_databases=tuple(
                wire_results.AddressDatabase(
                    name=each.name,
                    type=each.kind,
                    built_at=wire_common.time_text(each.built_at * 1_000_000_000),
                    fields=each.fields,
                    problem=each.problem or None,
                )
                for each in call.app.runtime.databases()
            ),
        )
    )


def _daemons(connection: Connection, tenant_id: UUID) -> Iterator[Daemon]:
    after = None
    while page := daemons.page(connection, tenant_id, PAGE, after):
        yield from page
        after = page[-1].daemon_id
