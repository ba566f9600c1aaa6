"""Figures of the engines and the store, for the metrics page.

No name or label identifies a tenant, since the number of tenants is unbounded.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)

if TYPE_CHECKING:
    from tidegate_server.engines.tenant import Tenant
    from tidegate_server.stores.port import StoreStatistics


@attrs.define
class _Sum:
    """Counts of all tenants together. They never fall, although tenants go and states restart."""

    total: int = 0
    _last: dict[UUID, int] = attrs.field(factory=dict)

    def add(self, counts: dict[UUID, int]) -> None:
        """Add the counts since the last time."""
        for tenant_id, count in counts.items():
            self.total += max(0, count - self._last.get(tenant_id, count))
        self._last = counts


@attrs.define
class EngineFigures:
    """Figures of all engines together; counts start with the first read."""

    _changes: _Sum = attrs.field(factory=_Sum)
    _evictions: _Sum = attrs.field(factory=_Sum)
    _mitigated: _Sum = attrs.field(factory=_Sum)

    def read(self, tenants: Sequence[Tenant], refused: int) -> list[Metric]:
        """Return the figures now.

        Args:
            tenants: the active tenants.
            refused: tenants whose newest definitions can't be used.
        """
        stats = {each.tenant_id: each.engine.stats() for each in tenants}
        self._changes.add({each.tenant_id: each.revision for each in tenants})
        self._evictions.add({each: one["evictions_total"] for each, one in stats.items()})
        self._mitigated.add({each: one["evictions_mitigated"] for each, one in stats.items()})
        return [
            GaugeMetricFamily("tidegate_tenants", "Active tenants.", len(tenants)),
            GaugeMetricFamily(
                "tidegate_refused_definitions",
                "Tenants whose newest definitions cannot be used; the previous ones are active.",
                refused,
            ),
            GaugeMetricFamily(
                "tidegate_definition_revision",
                "Highest revision of the active definition sets.",
                max((each.revision for each in tenants), default=0),
            ),
            CounterMetricFamily(
                "tidegate_definition_changes",
                "Changes of active definition sets.",
                self._changes.total,
            ),
            GaugeMetricFamily(
                "tidegate_state_keys",
                "Entities remembered.",
                sum(each["keys"] for each in stats.values()),
            ),
            CounterMetricFamily(
                "tidegate_evictions",
                "Entities forgotten because the state was full.",
                self._evictions.total,
            ),
            CounterMetricFamily(
                "tidegate_evictions_mitigated",
                "Of these, entities that were under a mitigation.",
                self._mitigated.total,
            ),
        ]


def policy_names(tenants: Sequence[Tenant], policies: Container[str]) -> Metric:
    """Return the slugs of policies, to be joined with their figures by ``policy_id``.

    Args:
        tenants: the active tenants.
        policies: the ids of the policies that have figures.
    """
    info = InfoMetricFamily("tidegate_policy", "The slug of a policy that has figures.")
    for tenant in tenants:
        for slug, policy_id in tenant.names.policies.items():
            if policy_id in policies:
                info.add_metric((), {"policy_id": policy_id, "policy": slug})
    return info


def store_figures(statistics: StoreStatistics) -> list[Metric]:
    """Return figures of the store."""
    return [
        GaugeMetricFamily(
            "tidegate_queue_entries",
            "Decisions handed to the store and not yet committed.",
            statistics.waiting_entries,
        ),
        GaugeMetricFamily(
            "tidegate_queue_age_seconds",
            "How long the oldest work waits for its commit.",
            statistics.oldest_waiting_seconds,
        ),
        SummaryMetricFamily(
            "tidegate_commit_duration_seconds",
            "Commits, and the time spent in them.",
            count_value=statistics.commits,
            sum_value=statistics.commit_seconds,
        ),
        CounterMetricFamily(
            "tidegate_failed_commits", "Commits that failed.", statistics.failed_commits
        ),
        CounterMetricFamily(
            "tidegate_committed_entries",
            "Decisions and lifts that were committed.",
            statistics.committed_entries,
        ),
        GaugeMetricFamily(
            "tidegate_last_commit_seconds",
            "How long the last commit took.",
            statistics.last_commit_seconds,
        ),
        GaugeMetricFamily(
            "tidegate_longest_write_seconds",
            "The longest that one change held up commits since the start, without the flush.",
            statistics.longest_write_seconds,
        ),
        GaugeMetricFamily(
            "tidegate_index_lag",
            "Decisions in the log that searches and counts do not know yet.",
            statistics.committed_seq - statistics.indexed_seq,
        ),
        GaugeMetricFamily(
            "tidegate_index_failing",
            "1 while the index cannot get on.",
            float(statistics.index_error is not None),
        ),
        CounterMetricFamily(
            "tidegate_index_seconds", "Time spent indexing.", statistics.index_seconds
        ),
        GaugeMetricFamily(
            "tidegate_catalog_lag",
            "Decisions in the log that the field catalog has not learned from yet.",
            statistics.committed_seq - statistics.learned_seq,
        ),
        CounterMetricFamily(
            "tidegate_catalog_seconds",
            "Time that the field catalog spent learning.",
            statistics.learning_seconds,
        ),
    ]
