"""Counters of the hot path, and the page for Prometheus.

The hot path adds to plain integers; a collector turns them into metric families when the page is
requested. No label names a tenant, since the number of tenants is unbounded; the number of policies
with their own figures is bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from enum import Enum
from hmac import compare_digest
from importlib.metadata import version

import attrs
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

BOUNDS_SECONDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
)  # fmt: skip
MAX_POLICIES = 500
"""How many policies have their own figures, unless the settings say otherwise."""
OTHER_POLICIES = "other"
"""The label for the policies past the bound."""
_BOUNDS = tuple(int(bound * 1e9) for bound in BOUNDS_SECONDS)


class Shown(Enum):
    """Which figures to show."""

    HEALTH = "of the process and the store"
    ALL = "also what tenants have and decide"


@attrs.frozen
class Figures:
    """The access to figures.

    Attributes:
        public: the figures shown without a credential: ``none``, ``health`` or ``all``.
        token: a bearer token that shows all figures; empty for no token.
    """

    public: str = "health"
    token: str = attrs.field(default="", repr=False)

    def shown_to(self, authorization: str | None) -> Shown | None:
        """Return which figures a caller may see; None for no figures.

        Args:
            authorization: the value of the header.
        """
        if self.public == "all" or self._is_token(authorization or ""):
            return Shown.ALL
        return Shown.HEALTH if self.public == "health" and authorization is None else None

    def _is_token(self, authorization: str) -> bool:
        scheme, _, text = authorization.partition(" ")
        is_same = compare_digest(text.encode(), self.token.encode())
        return bool(self.token) and scheme.lower() == "bearer" and is_same


class HotMetrics:
    """The counters of the hot path; write them only on the event loop.

    Args:
        policies: how many have their own figures; later ones are counted together.
    """

    def __init__(self, policies: int = MAX_POLICIES) -> None:
        self.decisions: dict[tuple[str, str], int] = {}
        """Decisions by endpoint and action."""
        self.by_policy: dict[tuple[str, str, str], int] = {}
        """Decisions by deciding policy, reason and action; the policy is empty if none decided."""
        self._policies: set[str] = {""}
        self._most_policies = policies
        self.refusals: dict[str, int] = {}
        """Refusals by error code."""
        self.handed_on = 0
        """Single hot calls that a gateway forwarded."""
        self.rule_errors = 0
        self.over_budget = 0
        self.client_problems: dict[str, int] = {}
        """Decisions on events that name a client without an address, by the reason."""
        self._latency = [0] * (len(_BOUNDS) + 1)
        self._latency_sum = 0

    def decided(
        self, actions: Iterable[tuple[str, str, int]], started: Iterable[int], now: int
    ) -> None:
        """Count decisions that became durable together.

        Args:
            actions: endpoint, action, and how many.
            started: when each began, in nanoseconds of the same clock as ``now``.
            now: when they became durable.
        """
        for endpoint, action, count in actions:
            at = (endpoint, action)
            self.decisions[at] = self.decisions.get(at, 0) + count
        # Nearly always in order already: then sorting only checks each once.
        ordered = sorted(started)
        slower = len(ordered)
        for bucket, bound in enumerate(_BOUNDS):
            if not slower:
                break
            still_slower = bisect_left(ordered, now - bound)
            self._latency[bucket] += slower - still_slower
            slower = still_slower
        self._latency[-1] += slower
        self._latency_sum += len(ordered) * now - sum(ordered)

    def answered(self, outcomes: Iterable[tuple[str, str, str, int]]) -> None:
        """Count durable decisions by the policy that decided.

        Args:
            outcomes: id of the deciding policy or nothing, reason, action, and how many.
        """
        for policy, reason, action, count in outcomes:
            if policy not in self._policies:
                if len(self._policies) > self._most_policies:
                    policy = OTHER_POLICIES
                else:
                    self._policies.add(policy)
            at = (policy, reason, action)
            self.by_policy[at] = self.by_policy.get(at, 0) + count

    @property
    def policies(self) -> frozenset[str]:
        """The ids of the policies with their own figures; on any thread."""
        return frozenset(self._policies)

    def refused(self, code: str, calls: int = 1) -> None:
        """Count refusals."""
        self.refusals[code] = self.refusals.get(code, 0) + calls

    def collect(self) -> Iterator[Metric]:
        """Yield the counters as metric families."""
        decisions = CounterMetricFamily(
            "tidegate_decisions", "Decisions that were made durable.", labels=("endpoint", "action")
        )
        for labels, count in list(self.decisions.items()):
            decisions.add_metric(labels, count)
        yield decisions
        by_policy = CounterMetricFamily(
            "tidegate_policy_decisions",
            "Decisions that were made durable, by what answered.",
            labels=("policy_id", "reason", "action"),
        )
        for names, count in list(self.by_policy.items()):
            by_policy.add_metric(names, count)
        yield by_policy
        refusals = CounterMetricFamily(
            "tidegate_refusals", "Hot calls that were refused.", labels=("code",)
        )
        for code, count in list(self.refusals.items()):
            refusals.add_metric((code,), count)
        yield refusals
        yield CounterMetricFamily(
            "tidegate_calls_handed_on",
            "Single hot calls that came to their owner through a gateway.",
            value=self.handed_on,
        )
        yield CounterMetricFamily(
            "tidegate_rule_errors",
            "Decisions in which an expression ended in an error.",
            value=self.rule_errors,
        )
        yield CounterMetricFamily(
            "tidegate_budget_exceeded",
            "Decisions whose budget ended before all was decided.",
            value=self.over_budget,
        )
        problems = CounterMetricFamily(
            "tidegate_unreadable_client_addresses",
            "Decisions whose event names a client, and no address could be read.",
            labels=("problem",),
        )
        for code, count in list(self.client_problems.items()):
            problems.add_metric((code,), count)
        yield problems
        buckets, total = [], 0
        for bound, count in zip((*map(str, BOUNDS_SECONDS), "+Inf"), self._latency, strict=True):
            total += count
            buckets.append((bound, total))
        yield HistogramMetricFamily(
            "tidegate_decision_duration_seconds",
            "From the body to the durable decision.",
            buckets=buckets,
            sum_value=self._latency_sum / 1e9,
        )


class Families:
    """Figures at this moment.

    Args:
        families: each with its type, name, meaning and value.
    """

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Yield each metric."""
        yield from self._families


def page(collectors: Iterable[HotMetrics | Families]) -> bytes:
    """Return the figures in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry)


def process_page() -> bytes:
    """Return the figures of the process: memory, CPU time, files, garbage collections."""
    return generate_latest(_PROCESS)


def add_to_process(collector: Collector) -> None:
    """Show further figures among those of the process."""
    _PROCESS.register(collector)


def build_page() -> bytes:
    """Return the versions that are running."""
    return page([Families([_BUILD])]) + generate_latest(_PLATFORM)


_BUILD = InfoMetricFamily(
    "tidegate_build", "The version that runs.", value={"version": version("tidegate")}
)
_PROCESS = CollectorRegistry(auto_describe=False)
ProcessCollector(registry=_PROCESS)
GCCollector(registry=_PROCESS)
_PLATFORM = CollectorRegistry(auto_describe=False)
PlatformCollector(registry=_PLATFORM)
