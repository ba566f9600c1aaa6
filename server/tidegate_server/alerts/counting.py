"""Read the minutes of an alert from data that is recorded already: nothing is counted twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.alerts.rule import DECISIONS, OPENED, SOLVED, Minutes
from tidegate_server.stores.decision_log import decisions, traffic
from tidegate_server.stores.index import results
from tidegate_server.stores.index.results import MINUTE_NS
from tidegate_server.stores.objects import api_keys, challenges

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.alerts.rule import Metric

MAX_SPLIT = 100_000
"""The most decisions of a minute that are counted by key: about 0.2 s of work."""
_KEYS = 1_000
_COUNTS = {
    DECISIONS: "total",
    "blocks": "block",
    "challenges": "challenge",
    "rule_errors": "errors",
}


def read_minutes(
    connection: Connection,
    tenant_id: UUID,
    first: int,
    last: int,
    now: Mapping[str, Mapping[int, float]],
) -> Minutes:
    """Return the minutes of a tenant, by the time at which events arrived.

    Args:
        connection: a connection of the store, with an index that is up to date.
        tenant_id: the tenant.
        first: the first minute since 1970.
        last: the last one.
        now: values of the moment, by metric and minute.
    """
    from_ns, to_ns = first * MINUTE_NS, (last + 1) * MINUTE_NS
    counts = {name: [0] * (last + 1 - first) for name in (*_COUNTS, OPENED, SOLVED)}
    period = results.Period(from_ns=from_ns, to_ns=to_ns, clock="received")
    for each in results.timeline(connection, tenant_id, results.ALL, period, 60):
        place = each.start_ns // MINUTE_NS - first
        for name, member in _COUNTS.items():
            counts[name][place] = getattr(each.counts, member)
    found = challenges.by_minute(connection, tenant_id, from_ns, to_ns)
    for name, by_minute in zip((OPENED, SOLVED), found, strict=True):
        for minute, number in by_minute.items():
            counts[name][minute - first] = number
    return Minutes(first, counts, now)


def key_use(
    connection: Connection, tenant_id: UUID, first: int, last: int, most: int = MAX_SPLIT
) -> dict[int, float] | None:
    """Return the use of the busiest API key in each minute, in percent of its present limit.

    Args:
        connection: a connection of the store, with an index that is up to date.
        tenant_id: the tenant.
        first: the first minute since 1970.
        last: the last one.
        most: the most decisions that are looked through.

    Returns:
        By minute; None if there are too many decisions.
    """
    from_ns, to_ns = first * MINUTE_NS, (last + 1) * MINUTE_NS
    period = results.Period(from_ns=from_ns, to_ns=to_ns, clock="received")
    if results.of_policy(connection, tenant_id, period=period).total > most:
        return None
    limits = {
        str(each.api_key_id): each.rate_limit_per_minute
        for each in api_keys.page(connection, tenant_id, _KEYS)
        if each.revoked_at_ns is None
    }
    query = decisions.DecisionQuery(from_ns=from_ns, to_ns=to_ns, clock="received")
    received = [(from_ns, to_ns)]
    found = traffic.totals(connection, tenant_id, query, received, "api_key", MINUTE_NS)
    used = dict.fromkeys(range(first, last + 1), 0.0)
    for start_ns, by_key in found.items():
        shares = [100.0 * by_key[key] / limit for key, limit in limits.items()]
        used[start_ns // MINUTE_NS] = max(shares, default=0.0)
    return used


RECORDED: Collection[Metric] = frozenset(
    {"blocks", "challenges", "rule_errors", "solve_share", "key_use"}
)
"""Metrics whose past is recorded."""
