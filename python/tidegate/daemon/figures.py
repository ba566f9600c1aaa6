"""Figures of a daemon, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from tidegate.daemon.service import Daemon

MODES = ("online", "offline", "fail-open", "fail-closed")


class DaemonFigures:
    """A collector of the figures of one daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def collect(self) -> Iterator[Metric]:
        """The families."""
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
