"""The state of the enforcement, as the capture leaves it to the daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from tidegate_server.daemon import enforcement_status
from tidegate_server.daemon.enforcement_status import EnforcementStatus
from tidegate_server.daemon.figures import of_enforcement
from tidegate_server.daemon.home import Home

STOPPED = EnforcementStatus(
    state="stopped",
    reason="16 of 30 recent visitors would be dropped, more than 50%",
    visitors=30,
    spared=2,
    waiting={"max_drops": 0, "drops_per_minute": 3},
    bounds_reached={"max_drops": 0, "drops_per_minute": 4},
    failures=5,
    follows="service",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return cast("Home", SimpleNamespace(cache=tmp_path))


class Found:
    """A collector of one state."""

    def __init__(self, status: EnforcementStatus) -> None:
        self.status = status

    def collect(self) -> Iterator[Metric]:
        """The families."""
        return of_enforcement(self.status)


def page(status: EnforcementStatus) -> list[str]:
    """The samples of the state."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Found(status))
    return [each for each in generate_latest(registry).decode().splitlines() if each[0] != "#"]


def test_a_state_is_read_as_it_was_written(home: Home) -> None:
    """Nothing is there before the first start and after an orderly stop."""
    assert enforcement_status.read(home) is None
    enforcement_status.write(home, STOPPED)
    assert enforcement_status.read(home) == STOPPED
    enforcement_status.remove(home)
    assert enforcement_status.read(home) is None


def test_a_capture_that_no_longer_renews_its_state_is_gone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It drops nobody, because its lease has ended too."""
    enforcement_status.write(home, STOPPED)
    now = enforcement_status.time.time()
    monkeypatch.setattr(enforcement_status.time, "time", lambda: now + 31)
    found = enforcement_status.read(home)
    assert found is not None
    assert (found.state, found.dropped, found.waiting) == ("gone", 0, {})


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"at": "x", "status": {}}', "\ud800"])
def test_a_damaged_state_is_shown_as_gone(home: Home, content: str) -> None:
    """So that the alert is raised."""
    path = home.cache / "capture.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    os.chmod(path, 0o600)
    assert enforcement_status.read(home) == EnforcementStatus(state="gone")


def test_a_stop_can_be_alerted_on() -> None:
    """Each state, bound and failure has a sample of its own."""
    assert page(STOPPED) == [
        'tidegate_enforcement_state{state="dropping"} 0.0',
        'tidegate_enforcement_state{state="dry-run"} 0.0',
        'tidegate_enforcement_state{state="stopped"} 1.0',
        'tidegate_enforcement_state{state="failing"} 0.0',
        'tidegate_enforcement_state{state="gone"} 0.0',
        "tidegate_enforcement_dropped_addresses 0.0",
        "tidegate_enforcement_recent_visitors 30.0",
        "tidegate_enforcement_spared_addresses 2.0",
        'tidegate_enforcement_waiting_addresses{bound="max_drops"} 0.0',
        'tidegate_enforcement_waiting_addresses{bound="drops_per_minute"} 3.0',
        'tidegate_enforcement_bound_reached_total{bound="max_drops"} 0.0',
        'tidegate_enforcement_bound_reached_total{bound="drops_per_minute"} 4.0',
        "tidegate_enforcement_failures_total 5.0",
    ]
