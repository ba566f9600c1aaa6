"""A tenant's alerts: create, change, delete, and try a condition over the past."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import parseaddr
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
from msgspec import UNSET

from tidegate_server.alerts import shapes
from tidegate_server.alerts.counting import RECORDED, key_use, read_minutes
from tidegate_server.alerts.form import condition_of, key_of, state_of
from tidegate_server.alerts.messages import words
from tidegate_server.alerts.rule import KINDS, USUAL_MINUTES, Measure, Rule, run
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_by_id
from tidegate_server.engines.derived_reads import indexed
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.publishing.webhook import secret_of
from tidegate_server.stores.alerts import alerts
from tidegate_server.stores.index.results import MINUTE_NS
from tidegate_server.stores.objects import tenants
from tidegate_server.wire import audit as wire_audit
from tidegate_server.wire import common as wire_common

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.alerts.rule import Minutes, Transition
    from tidegate_server.stores.alerts.alerts import Alert, AlertMessage

KIND = "alert"
MAX_ALERTS = 50
"""The most alerts of a tenant: they are evaluated each minute."""
MAX_LOOKED_THROUGH = 500_000
"""The most decisions that a preview counts by API key."""
MAX_SHOWN = 100
_DAY_MINUTES = 1_440
_CONDITION = ("metric", "comparison", "threshold", "times_usual", "over_minutes")


def list_(call: Call) -> Answer:
    """List the alerts with their states."""
    with call.app.store.read() as connection:
        waiting = alerts.messages_of(connection, call.tenant_id)
    return page_by_id(
        call,
        lambda connection, limit, after: alerts.page(connection, call.tenant_id, limit, after),
        lambda alert: shown(call, alert, waiting),
        lambda alert: alert.alert_id,
    )


def create(call: Call) -> Answer:
    """Create an alert."""
    given: shapes.AlertCreate = call.body
    body = {
        "enabled": given.enabled,
        "quiet_minutes": given.quiet_minutes,
        "destinations": [attrs.asdict(each) for each in given.destinations],
        **_condition(given),
    }
    _require_usable(call, body)
    alert = alerts.Alert(
        alert_id=new_id(),
        tenant_id=call.tenant_id,
        name=given.name,
        body=body,
        created_at_ns=call.now,
        updated_at_ns=call.now,
    )
    answer = Answer(
        body=shown(call, alert, ()),
        revision=alert.revision,
        location=f"{call.path}/{alert.alert_id}",
    )

    def work(connection: Connection) -> None:
        if alerts.number(connection, call.tenant_id) >= MAX_ALERTS:
            raise Problem("conflict", f"a tenant has at most {MAX_ALERTS} alerts; delete one")
        alerts.create(connection, alert)
        call.audit(connection, "create", KIND, alert.alert_id, after=_audited(call, alert))
        call.keep(connection, answer)

    call.write(work)
    return answer


def read(call: Call) -> Answer:
    """Return one alert."""
    with call.app.store.read() as connection:
        found = alerts.find(connection, call.tenant_id, call.ids["alert_id"])
        return _answer(call, found, alerts.messages_of(connection, call.tenant_id))


def change(call: Call) -> Answer:
    """Change an alert; a firing alert keeps its state."""
    given = wire_common.given(call.body)

    def work(connection: Connection, alert: Alert) -> None:
        name = given.get("name", alert.name)
        others = {key: value for key, value in given.items() if key != "name"}
        if "destinations" in others:
            others["destinations"] = [attrs.asdict(each) for each in others["destinations"]]
        body = {**alert.body, **others}
        if (name, body) == (alert.name, alert.body):
            return
        _require_usable(call, body)
        values: dict[str, Any] = {"name": name, "body": body}
        alerts.change(connection, call.tenant_id, alert.alert_id, call.now, **values)

    return _write(call, work)


def delete(call: Call) -> Answer:
    """Delete an alert; messages that wait are not sent."""
    alert_id = call.ids["alert_id"]

    def work(connection: Connection) -> None:
        before = alerts.find(connection, call.tenant_id, alert_id)
        call.require_revision(before.revision)
        alerts.remove(connection, call.tenant_id, alert_id)
        call.audit(connection, "delete", KIND, alert_id, before=_audited(call, before))

    call.write(work)
    return Answer()


def preview(call: Call) -> Answer:
    """Return when an alert with this condition would have fired in the past days."""
    given: shapes.AlertPreview = call.body
    body = _condition(given)
    _require_condition(body)
    condition = condition_of(body)
    last = call.now // MINUTE_NS - 1
    first = last + 1 - given.days * _DAY_MINUTES
    found: list[Transition] = []
    if condition.metric in RECORDED:
        before = USUAL_MINUTES + condition.over_minutes
        with indexed(call.app.store) as connection:
            created_ns = tenants.find(connection, call.tenant_id).created_at_ns
            # Nothing is known of the time before the tenant.
            first = max(first, min(created_ns // MINUTE_NS, last))
            minutes = _recorded(call, connection, first, last, before)
        rule = Rule(condition=condition, quiet_minutes=given.quiet_minutes)
        found = list(run(rule, minutes, first, last))
    firings = [
        shapes.Firing(
            since=_time(each.since),
            resolved_at=None if end is None else _time(end.minute + 1),
            value=each.value,
            usual=each.usual,
            condition=words(condition, each.value, each.usual),
        )
        for each, end in _pairs(found)
    ]
    return Answer(
        body=shapes.AlertPreviewed(
            since=_time(first),
            until=_time(last + 1),
            recorded=condition.metric in RECORDED,
            total=len(firings),
            firings=tuple(firings[: -MAX_SHOWN - 1 : -1]),
        )
    )


def _recorded(call: Call, connection: Connection, first: int, last: int, before: int) -> Minutes:
    now: dict[str, Mapping[int, float]] = {}
    if call.body.metric == "key_use":
        used = key_use(connection, call.tenant_id, first, last, MAX_LOOKED_THROUGH)
        if used is None:
            detail = f"the period has more than {MAX_LOOKED_THROUGH:,} decisions to count by key"
            errors = [ErrorDetail(detail=detail, pointer="/days", hint="take fewer days")]
            raise Problem("invalid-request", detail, errors=errors)
        now["key_use"] = used
    return read_minutes(connection, call.tenant_id, first - before, last, now)


def _pairs(found: list[Transition]) -> list[tuple[Transition, Transition | None]]:
    """Return each firing with its end."""
    fired = [number for number, each in enumerate(found) if each.is_firing]
    return [(found[each], found[each + 1] if each + 1 < len(found) else None) for each in fired]


def _write(call: Call, work: Callable[[Connection, Alert], None]) -> Answer:
    alert_id = call.ids["alert_id"]

    def write(connection: Connection) -> Answer:
        before = alerts.find(connection, call.tenant_id, alert_id)
        call.require_revision(before.revision)
        work(connection, before)
        after = alerts.find(connection, call.tenant_id, alert_id)
        if after.revision != before.revision:
            old, new = _audited(call, before), _audited(call, after)
            call.audit(connection, "update", KIND, alert_id, before=old, after=new)
        return _answer(call, after, alerts.messages_of(connection, call.tenant_id))

    return call.write(write)


def _condition(given: shapes.ConditionWrite) -> dict[str, Any]:
    """Return the members of a condition, with the metric's defaults for those left out."""
    written = {name: getattr(given, name) for name in _CONDITION}
    default = attrs.asdict(KINDS[given.metric].default)
    return default | {name: value for name, value in written.items() if value is not UNSET}


def _require_usable(call: Call, body: Mapping[str, Any]) -> None:
    """Refuse an alert that can't do what it says.

    Raises:
        Problem: ``invalid-request``, with pointers.
    """
    _require_condition(body)
    if body["metric"] == "publishing_lag" and not call.app.alerting.publishes:
        raise _invalid("the service publishes no decisions; see `publish.url`", "/metric")
    seen = set()
    for number, each in enumerate(body["destinations"]):
        pointer = f"/destinations/{number}"
        if key_of(each) in seen:
            raise _invalid("the destination is named twice", pointer)
        seen.add(key_of(each))
        if each["kind"] != "email":
            _require_url(each["to"], f"{pointer}/to")
            continue
        if not call.app.alerting.mails:
            detail = "the service has no mail server; its operator may set `alerts.smtp_url`"
            raise _invalid(detail, f"{pointer}/kind")
        _require_mailbox(each["to"], f"{pointer}/to")


def _require_condition(body: Mapping[str, Any]) -> None:
    if KINDS[body["metric"]].measure is not Measure.NOW:
        return
    if body["over_minutes"] != 1:
        raise _invalid("the metric is a value of the moment; leave this out", "/over_minutes")
    if body["times_usual"] is not None:
        raise _invalid("the metric has no usual value; leave this out", "/times_usual")


def _require_url(text: str, pointer: str) -> None:
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
        is_usable = is_usable and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not text.isascii() or not text.isprintable() or " " in text:
        raise _invalid("it must be an https:// address without a user", pointer)


def _require_mailbox(text: str, pointer: str) -> None:
    name, address = parseaddr(text)
    user, _, host = address.rpartition("@")
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if name or address != text or not user or not host or not is_plain:
        raise _invalid("it must be one mailbox, as in name@example.com", pointer)


def _invalid(detail: str, pointer: str) -> Problem:
    errors = [ErrorDetail(detail=detail, pointer=pointer)]
    return Problem("invalid-request", detail, errors=errors)


def _time(minute: int) -> str:
    return wire_common.time_text(minute * MINUTE_NS)


def _answer(call: Call, alert: Alert, waiting: list[AlertMessage]) -> Answer:
    return Answer(body=shown(call, alert, waiting), revision=alert.revision)


def shown(call: Call, alert: Alert, waiting: list[AlertMessage] | tuple[()]) -> shapes.Alert:
    """Return an alert as it is answered.

    Args:
        call: the call.
        alert: the alert.
        waiting: the messages of its tenant.
    """
    state, name = state_of(alert), str(alert.alert_id)
    own = [each for each in waiting if any(a["alert_id"] == name for a in each.body["alerts"])]
    errors = [each.error for each in own if each.error]
    is_firing = state.since is not None
    members = {key: value for key, value in alert.body.items() if key != "destinations"}
    return shapes.Alert(
        alert_id=alert.alert_id,
        tenant_id=alert.tenant_id,
        name=alert.name,
        destinations=tuple(shapes.Destination(**each) for each in alert.body["destinations"]),
        evaluated=call.app.alerting.is_on and alert.body["enabled"],
        firing_since=_time(state.since) if state.since is not None else None,
        value=state.value if is_firing else None,
        messages_waiting=len(own),
        messages_dropped=alert.dropped,
        delivery_error=errors[-1] if errors else None,
        signing_secrets={
            each["to"]: secret_of(call.app.keys.alerts_of(alert.tenant_id, each["to"]))
            for each in alert.body["destinations"]
            if each["kind"] == "webhook"
        },
        created_at=wire_common.time_text(alert.created_at_ns),
        updated_at=wire_common.time_text(alert.updated_at_ns),
        revision=alert.revision,
        **members,
    )


def _audited(call: Call, alert: Alert) -> dict[str, Any]:
    """Return an alert for the audit trail, with hosts alone: an address may be a credential."""
    members = wire_audit.audited(shown(call, alert, ()))
    for each in members["destinations"]:
        if each["kind"] != "email":
            each["to"] = f"https://{urlsplit(each['to']).netloc}/…"
    return members
