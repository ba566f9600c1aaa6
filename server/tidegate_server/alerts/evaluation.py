"""Evaluate the alerts of a tenant at the end of a minute. Without a clock.

Alerts that change in the same minute are in one message to each receiver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

import attrs

from tidegate_server.alerts.counting import key_use, read_minutes
from tidegate_server.alerts.form import key_of, rule_of
from tidegate_server.alerts.messages import alert_body, message_body
from tidegate_server.alerts.rule import KINDS, USUAL_MINUTES, Measure, State, step
from tidegate_server.stores.alerts.alerts import AlertMessage
from tidegate_server.stores.index.results import MINUTE_NS
from tidegate_server.stores.objects import daemons

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.alerts.rule import Minutes, Transition
    from tidegate_server.stores.alerts.alerts import Alert
    from tidegate_server.stores.objects.tenants import Tenant

CATCH_UP_MINUTES = 5
"""The most minutes that are evaluated after a pause, such as a restart."""
DAEMON_NS = 1_440 * MINUTE_NS
"""A daemon that has been silent for longer is taken for gone."""


def moments(
    connection: Connection,
    tenant_id: UUID,
    alerts: Sequence[Alert],
    minute: int,
    sampled: Mapping[str, float],
    started_ns: int,
) -> dict[str, dict[int, float]]:
    """Return the values of the moment that a tenant's alerts watch, by metric and minute.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant.
        alerts: its alerts.
        minute: the minute that ended.
        sampled: values of the process.
        started_ns: when this process began to listen to daemons; they can't be silent for longer.
    """
    metrics = {each.body["metric"] for each in alerts}
    now = {name: {minute: value} for name, value in sampled.items()}
    end_ns = (minute + 1) * MINUTE_NS
    if "daemon_silence" in metrics:
        seen = daemons.longest_silent(connection, tenant_id, end_ns - DAEMON_NS)
        silence = 0.0 if seen is None else (end_ns - max(seen, started_ns)) / 1e9
        now["daemon_silence"] = {minute: max(0.0, silence)}
    if "key_use" in metrics:
        now["key_use"] = key_use(connection, tenant_id, minute, minute) or {}
    return now


def minutes_of(
    connection: Connection,
    tenant_id: UUID,
    alerts: Sequence[Alert],
    first: int,
    minute: int,
    now: Mapping[str, Mapping[int, float]],
) -> Minutes:
    """Return the minutes that an evaluation from a first to a last minute needs."""
    longest = max(each.body["over_minutes"] for each in alerts)
    return read_minutes(connection, tenant_id, first - longest - USUAL_MINUTES, minute, now)


@attrs.frozen
class Evaluated:
    """The result for one alert."""

    alert: Alert
    state: State
    transitions: Sequence[Transition]


def first_minute(alert: Alert, state: State, minute: int) -> int:
    """Return the first minute to evaluate.

    A pause is caught up with, within bounds, unless the alert is about a value of the moment, which
    nobody read in the pause.
    """
    is_now = KINDS[alert.body["metric"]].measure is Measure.NOW
    return max(state.evaluated + 1, minute if is_now else minute - CATCH_UP_MINUTES)


def evaluated(alert: Alert, state: State, minutes: Minutes, minute: int) -> Evaluated:
    """Evaluate an alert for each minute since the last one."""
    rule, transitions = rule_of(alert), []
    for each in range(first_minute(alert, state, minute), minute + 1):
        state, transition = step(rule, minutes, state, each)
        if transition is not None:
            transitions.append(transition)
    return Evaluated(alert, state, transitions)


def messages_of(
    tenant: Tenant, found: Sequence[Evaluated], minute: int, base_url: str
) -> list[AlertMessage]:
    """Return the messages about what changed, one for each receiver.

    The id of a message is derived from its content: a process that ended before it stored the
    message makes the same one again.
    """
    by_receiver: dict[str, tuple[Mapping[str, Any], list[dict[str, Any]]]] = {}
    for each in found:
        rule = rule_of(each.alert)
        for transition in each.transitions:
            body = alert_body(each.alert.alert_id, each.alert.name, rule.condition, transition)
            for destination in each.alert.body["destinations"]:
                of_receiver = by_receiver.setdefault(key_of(destination), (destination, []))
                of_receiver[1].append(body)
    at_ns = (minute + 1) * MINUTE_NS
    return [
        AlertMessage(
            message_id=uuid5(tenant.tenant_id, f"{key} {_identity(alerts)}"),
            tenant_id=tenant.tenant_id,
            destination=destination,
            body=message_body(tenant, alerts, base_url, at_ns),
            created_at_ns=at_ns,
            next_at_ns=0,
        )
        for key, (destination, alerts) in by_receiver.items()
    ]


def _identity(alerts: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(f"{each['alert_id']} {each['state']} {each['since']}" for each in alerts)
