"""Figures of a daemon for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tidegate_server.daemon import enforcement_status
from tidegate_server.daemon.private import PrivateFileError
from tidegate_server.logging import log

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from tidegate_server.daemon.enforcement_status import EnforcementStatus
    from tidegate_server.daemon.service import Daemon

MODES = ("online", "offline", "fail-open", "fail-closed")


class DaemonFigures:
    """Collects the figures of one daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def collect(self) -> Iterator[Metric]:
        """The metric families."""
        daemon = self._daemon
        mode = GaugeMetricFamily(
            "tidegate_daemon_mode", "1 for how the daemon stands now.", labels=["mode"]
        )
        for each in MODES:
            mode.add_metric([each], float(each == daemon.local.mode))
        yield mode
        known, cursor = daemon.local.definitions, daemon.following.cursor
        for name, text, value in (
            ("revision", "Of the definitions in use.", 0 if known is None else known.revision),
            ("sequence", "Of the last change held.", 0 if cursor is None else cursor.sequence),
            ("contact_seconds", "Since the service answered; -1 when never.", daemon.silence()),
            ("spooled_decisions", "That the service does not have yet.", daemon.spool.waiting),
            ("fail_open_alarm", "1 when the budget of the hour is used up.", daemon.budget.alarm),
            ("refused_definitions", "1 when the newest do not compile.", daemon.is_refusing),
        ):
            yield GaugeMetricFamily(f"tidegate_daemon_{name}", text, float(value))
        for name, text, value in (
            ("dropped_decisions", "That could not be kept.", daemon.spool.dropped),
            ("forwarded_decisions", "That the service recorded.", daemon.forwarding.recorded),
            ("rejected_decisions", "That the service refused.", daemon.forwarding.refused),
            ("untrusted_answers", "Answers that were not used.", daemon.following.untrusted),
            ("fail_open_decisions", "Let through by the fail mode.", daemon.budget.total),
        ):
            yield CounterMetricFamily(f"tidegate_daemon_{name}", text, float(value))
        yield from daemon.geo.figures()
        yield from self._enforcement()

    def _enforcement(self) -> Iterator[Metric]:
        """The metric families of an enforcing capture on this machine."""
        try:
            found = enforcement_status.read(self._daemon.home)
        except (OSError, PrivateFileError) as error:
            log.warning("the state of the capture cannot be read", reason=str(error))
            return
        if found is not None:
            yield from of_enforcement(found)


def of_enforcement(status: EnforcementStatus) -> Iterator[Metric]:
    """The metric families of an enforcement.

    Args:
        status: its status.
    """
    state = GaugeMetricFamily(
        "tidegate_enforcement_state", "1 for the state of the enforcement now.", labels=["state"]
    )
    for each in enforcement_status.STATES:
        state.add_metric([each], float(each == status.state))
    yield state
    for name, text, value in (
        ("dropped_addresses", "Whose packets are dropped now.", status.dropped),
        ("recent_visitors", "Addresses that sent a request in the last hour.", status.visitors),
        ("spared_addresses", "Blocked visitors that may not be dropped.", status.spared),
    ):
        yield GaugeMetricFamily(f"tidegate_enforcement_{name}", text, float(value))
    waiting = GaugeMetricFamily(
        "tidegate_enforcement_waiting_addresses",
        "Blocked visitors that are not dropped because of a bound.",
        labels=["bound"],
    )
    reached = CounterMetricFamily(
        "tidegate_enforcement_bound_reached",
        "Times that visitors began to wait because of a bound.",
        labels=["bound"],
    )
    for bound, count in status.bounds_reached.items():
        waiting.add_metric([bound], float(status.waiting.get(bound, 0)))
        reached.add_metric([bound], float(count))
    yield waiting
    yield reached
    yield CounterMetricFamily(
        "tidegate_enforcement_failures",
        "Changes of the firewall that failed.",
        float(status.failures),
    )
