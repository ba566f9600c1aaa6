"""Messages of alerts: what is stored until it is sent, and the form that each receiver gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from tidegate_server.alerts.rule import KINDS
from tidegate_server.stores.index.results import MINUTE_NS
from tidegate_server.wire.common import time_text

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.alerts.rule import Condition, Transition
    from tidegate_server.stores.objects.tenants import Tenant

_AROUND_NS = 30 * MINUTE_NS
"""The console shows this much time before an alert began."""
_PHRASES = {
    "blocks": "{value} blocks in {minutes}",
    "challenges": "{value} challenges in {minutes}",
    "rule_errors": "{value} decisions with rule errors in {minutes}",
    "solve_share": "{value} % of challenges solved in {minutes}",
    "key_use": "an API key used {value} % of its limit in a minute",
    "publishing_lag": "the oldest unpublished decision has waited for {value} s",
    "daemon_silence": "a daemon hasn't reported for {value} s",
    "log_unwritten": "the decision log hasn't been written for {value} s",
}


def words(condition: Condition, value: float, usual: float | None) -> str:
    """Return the value of a condition and what it is compared with, as part of a sentence."""
    unit = KINDS[condition.metric].unit
    over = condition.over_minutes
    minutes = "a minute" if over == 1 else f"{over} minutes"
    phrase = _PHRASES[condition.metric].format(value=number(value), minutes=minutes)
    compared = f"{phrase}, {condition.comparison} {number(condition.threshold)}{unit}"
    if condition.times_usual is None or usual is None:
        return compared
    return f"{compared} and {number(condition.times_usual)} times the usual {number(usual)}{unit}"


def number(value: float) -> str:
    """Return a number with one digit after the point, if it needs one."""
    return f"{value:,.1f}".removesuffix(".0")


def alert_body(
    alert_id: UUID, name: str, condition: Condition, transition: Transition
) -> dict[str, Any]:
    """Return the members of one alert in a message."""
    return {
        "alert_id": str(alert_id),
        "name": name,
        "state": "firing" if transition.is_firing else "resolved",
        "metric": condition.metric,
        "condition": words(condition, transition.value, transition.usual),
        "comparison": condition.comparison,
        "threshold": condition.threshold,
        "value": transition.value,
        "usual": transition.usual,
        "since": time_text(transition.since * MINUTE_NS),
        "at": time_text((transition.minute + 1) * MINUTE_NS),
        "unannounced": transition.unannounced,
    }


def message_body(
    tenant: Tenant, alerts: Sequence[Mapping[str, Any]], base_url: str, at_ns: int
) -> dict[str, Any]:
    """Return a message about alerts of a tenant that changed together.

    Args:
        tenant: the tenant.
        alerts: see :func:`alert_body`.
        base_url: the address that browsers reach the service by.
        at_ns: the end of the minute in which they changed.
    """
    since = min(datetime.fromisoformat(each["since"]) for each in alerts)
    from_ns = int(since.timestamp()) * 1_000_000_000 - _AROUND_NS
    span = urlencode({"from": time_text(from_ns), "to": time_text(at_ns)})
    return {
        "tenant_id": str(tenant.tenant_id),
        "tenant": tenant.name,
        "link": f"{base_url}/console/{tenant.slug}#{span}",
        "alerts": list(alerts),
    }


def title(body: Mapping[str, Any]) -> str:
    """Return one line for a message."""
    alerts = body["alerts"]
    firing = [each["name"] for each in alerts if each["state"] == "firing"]
    names = firing or [each["name"] for each in alerts]
    more = f" and {len(alerts) - 1} more" if len(alerts) > 1 else ""
    state = "firing" if firing else "resolved"
    return f"[{body['tenant']}] {names[0]}{more}: {state}"


def lines(body: Mapping[str, Any]) -> list[str]:
    """Return a line for each alert of a message."""
    return [_line(each) for each in body["alerts"]]


def _line(alert: Mapping[str, Any]) -> str:
    since = alert["since"]
    if alert["state"] == "resolved":
        return f"{alert['name']} is resolved. It fired since {since}: {alert['condition']}."
    unannounced = alert["unannounced"]
    times = "once" if unannounced == 1 else f"{unannounced} times"
    more = f" It also fired {times} in the quiet time before." if unannounced else ""
    return f"{alert['name']} fires since {since}: {alert['condition']}.{more}"


def webhook(body: Mapping[str, Any], at: str) -> bytes:
    """Return a message in the form of Standard Webhooks."""
    return orjson.dumps({"type": "alert.changed", "timestamp": at, "data": body})


def slack(body: Mapping[str, Any]) -> bytes:
    """Return a message for an incoming webhook of Slack."""
    text = "\n".join([f"*{_escaped(title(body))}*", *map(_escaped, lines(body))])
    return orjson.dumps({"text": f"{text}\n<{_escaped(body['link'])}|Open the console>"})


def _escaped(text: str) -> str:
    """Return a text without the characters that mean something in Slack's."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def teams(body: Mapping[str, Any]) -> bytes:
    """Return a message for a workflow of Teams: an adaptive card."""
    texts = [{"type": "TextBlock", "text": each, "wrap": True} for each in lines(body)]
    heading = {"type": "TextBlock", "text": title(body), "weight": "Bolder", "wrap": True}
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [heading, *texts],
        "actions": [{"type": "Action.OpenUrl", "title": "Open the console", "url": body["link"]}],
    }
    kind = "application/vnd.microsoft.card.adaptive"
    return orjson.dumps(
        {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
    )


def email(
    body: Mapping[str, Any], message_id: UUID, sender: str, recipient: str, at_ns: int
) -> EmailMessage:
    """Return a message as an e-mail.

    Args:
        body: see :func:`message_body`.
        message_id: the same for each attempt, so a mailbox can drop repetitions.
        sender: the address that it is from.
        recipient: the address that it is for.
        at_ns: when the alert changed.
    """
    made = EmailMessage()
    made["From"], made["To"] = sender, recipient
    made["Subject"] = " ".join(title(body).split())
    made["Date"] = format_datetime(datetime.fromtimestamp(at_ns // 1_000_000_000, UTC))
    made["Message-ID"] = f"<{message_id}@{sender.rpartition('@')[2].strip('> ')}>"
    made.set_content("\n\n".join([*lines(body), body["link"]]) + "\n")
    return made
