"""Response times of the control plane, by route; hot calls are measured separately."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram, generate_latest

if TYPE_CHECKING:
    from prometheus_client.core import Metric

OTHER = "other"
"""The label for requests without a route: callers choose their paths and methods freely."""
BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ControlLatency:
    """Counts the answers of the control plane; usable from any thread."""

    def __init__(self) -> None:
        self._histogram = Histogram(
            "tidegate_control_duration_seconds",
            "From the request of the control plane to its answer.",
            ("route", "method", "status"),
            registry=None,
            buckets=BOUNDS_SECONDS,
        )
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer.

        Args:
            route: the path the route's, with names in braces.
            method: of the route.
            status: the answer's status; its class is counted.
            seconds: from the request to the answer.
        """
        self._histogram.labels(route, method, f"{status // 100}xx").observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yield the answers as a metric family."""
        for family in self._histogram.collect():
            # The times at which the labels were first seen would be another family.
            family.samples = [each for each in family.samples if not each.name.endswith("_created")]
            yield family

    def page(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)
