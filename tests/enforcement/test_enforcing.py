"""The state of the enforcement, and the lines that an operator can alert on."""

from __future__ import annotations

from ipaddress import ip_address
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from structlog.testing import capture_logs

from tidegate_server.enforcement.blocks import Change
from tidegate_server.enforcement.drops import Drops, Limits
from tidegate_server.enforcement.enforcing import Enforcing
from tidegate_server.enforcement.guard import Guard

if TYPE_CHECKING:
    from tidegate_server.enforcement.never import Never

HOUR = 3_600_000_000_000


@pytest.fixture
def parts() -> tuple[Enforcing, Drops]:
    """An enforcement without a firewall, after 30 visitors, with 2 drops a minute."""
    guard = Guard(0.2)
    for number in range(30):
        guard.saw(f"198.51.100.{number}", "browser", 0.0)
    never = cast("Never", SimpleNamespace(refresh=lambda: None))
    drops = Drops(Limits(600, 100, 2, 0.5), guard, lambda _: "")
    nobody = cast("Any", None)
    return Enforcing(nobody, nobody, None, drops, never, clock=lambda: 0), drops


def turn(enforcing: Enforcing, monkeypatch: pytest.MonkeyPatch, at: float) -> list[dict[str, Any]]:
    """Have a turn at a time, and return its log lines."""
    monkeypatch.setattr("tidegate_server.enforcement.enforcing.time.monotonic", lambda: at)
    with capture_logs() as lines:
        enforcing.turn()
    return cast("list[dict[str, Any]]", lines)


def blocked(count: int) -> list[Change]:
    return [Change(ip_address(f"198.51.100.{number}"), HOUR) for number in range(count)]


def test_a_stop_is_logged_once_as_an_error_and_is_the_state(
    parts: tuple[Enforcing, Drops], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the reason, with the figures."""
    enforcing, drops = parts
    drops.block(blocked(16))
    reason = "16 of 30 recent visitors would be dropped, more than 50%"
    assert turn(enforcing, monkeypatch, 1.0) == [
        {
            "event": "enforcement has stopped: nothing is dropped",
            "log_level": "error",
            "reason": reason,
        }
    ]
    assert turn(enforcing, monkeypatch, 2.0) == []
    status = enforcing.status
    assert (status.state, status.reason, status.dropped, status.visitors) == (
        "stopped",
        reason,
        0,
        30,
    )


def test_a_bound_is_logged_once_however_many_wait(
    parts: tuple[Enforcing, Drops], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are counted, and nobody has a line of their own."""
    enforcing, drops = parts
    drops.block(blocked(10))
    assert turn(enforcing, monkeypatch, 1.0) == [
        {
            "event": "a bound of drops is reached",
            "log_level": "warning",
            "bound": "drops_per_minute",
            "waiting": 8,
        }
    ]
    assert turn(enforcing, monkeypatch, 2.0) == []
    status = enforcing.status
    assert status.waiting == {"max_drops": 0, "drops_per_minute": 8}
    assert status.bounds_reached == {"max_drops": 0, "drops_per_minute": 1}
