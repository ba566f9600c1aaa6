"""Counts of challenges since the start, for Prometheus; labels never name a tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from threading import Lock
from typing import Literal, TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

Outcome: TypeAlias = Literal["issued", "solved", "failed", "looped"]
BOUNDS_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0)


class ChallengeFigures:
    """Outcomes of challenges; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._outcomes: Counter[tuple[str, Outcome]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def count(self, provider: str, outcome: Outcome) -> None:
        """Count one challenge, or one solution of it."""
        with self._lock:
            self._outcomes[provider, outcome] += 1

    def solved(self, provider: str, seconds: float) -> None:
        """Count a solved challenge, with the time since its page was first shown."""
        with self._lock:
            self._outcomes[provider, "solved"] += 1
            times = self._times.setdefault(provider, [0] * (len(BOUNDS_SECONDS) + 1))
            times[sum(seconds > bound for bound in BOUNDS_SECONDS)] += 1
            self._seconds[provider] += seconds  # type: ignore[assignment]

    def page(self) -> bytes:
        """The counts in Prometheus's text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        """The counts as metric families."""
        with self._lock:
            outcomes, seconds = dict(self._outcomes), dict(self._seconds)
            times = {provider: list(counts) for provider, counts in self._times.items()}
        challenges = CounterMetricFamily(
            "tidegate_challenges",
            "Challenges that were issued, solved, failed and looped.",
            labels=("provider", "outcome"),
        )
        for labels, count in outcomes.items():
            challenges.add_metric(labels, count)
        yield challenges
        durations = HistogramMetricFamily(
            "tidegate_challenge_duration_seconds",
            "From the first page of a challenge to its solution.",
            labels=("provider",),
        )
        for provider, counts in times.items():
            buckets, total = [], 0
            for bound, count in zip((*map(str, BOUNDS_SECONDS), "+Inf"), counts, strict=True):
                total += count
                buckets.append((bound, total))
            durations.add_metric((provider,), buckets, sum_value=seconds[provider])
        yield durations
