"""The stored form of an alert: its body and its state as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.alerts.rule import Condition, Rule, State

if TYPE_CHECKING:
    from tidegate_server.stores.alerts.alerts import Alert


def rule_of(alert: Alert) -> Rule:
    """Return the rule of a stored alert."""
    body = alert.body
    return Rule(
        condition=condition_of(body),
        enabled=body["enabled"],
        quiet_minutes=body["quiet_minutes"],
    )


def condition_of(body: Mapping[str, Any]) -> Condition:
    """Return the condition in the body of an alert."""
    names = [each.name for each in attrs.fields(Condition)]
    return Condition(**{name: body[name] for name in names})


def state_of(alert: Alert) -> State:
    """Return the stored state of an alert; a new one if it was never evaluated.

    Members that a newer version wrote are left out.
    """
    names = {each.name for each in attrs.fields(State)}
    return State(**{name: value for name, value in (alert.state or {}).items() if name in names})


def key_of(destination: Mapping[str, Any]) -> str:
    """Return a text that is the same for equal receivers."""
    return f"{destination['kind']} {destination['to']}"
