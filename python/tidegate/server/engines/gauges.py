"""Figures of the engines and of the store, read for the page of metrics.

No name or label identifies a tenant, since the number of tenants is not bounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tidegate.server.engines.engines import Tenant
    from tidegate.stores.base import StoreStatistics

Gauge: TypeAlias = tuple[str, str, float]
"""Name, meaning, value."""


def engine_gauges(tenants: Iterable[Tenant], refused: int) -> list[Gauge]:
    """Figures of all engines together.

    Args:
        tenants: the active tenants.
        refused: tenants whose newest definitions cannot be used.
    """
    tenants = list(tenants)
    stats = [each.engine.stats() for each in tenants]
    return [
        ("tidegate_tenants", "Active tenants.", len(tenants)),
        (
            "tidegate_refused_definitions",
            "Tenants whose newest definitions cannot be used; the previous ones are active.",
            refused,
        ),
        (
            "tidegate_definition_revision",
            "Highest revision of the active definition sets.",
            max((each.revision for each in tenants), default=0),
        ),
        (
            "tidegate_definition_changes",
            "Sum of the revisions of the active definition sets: it grows with every change.",
            sum(each.revision for each in tenants),
        ),
        ("tidegate_state_keys", "Entities remembered.", sum(each["keys"] for each in stats)),
        (
            "tidegate_evictions",
            "Entities forgotten because the state was full, since the state was new.",
            sum(each["evictions_total"] for each in stats),
        ),
        (
            "tidegate_evictions_mitigated",
            "Of these, entities that were under a mitigation.",
            sum(each["evictions_mitigated"] for each in stats),
        ),
    ]


def store_gauges(statistics: StoreStatistics) -> list[Gauge]:
    """Figures of the store."""
    return [
        (
            "tidegate_queue_entries",
            "Decisions handed to the store and not yet committed.",
            statistics.waiting_entries,
        ),
        (
            "tidegate_queue_age_seconds",
            "How long the oldest work waits for its commit.",
            statistics.oldest_waiting_seconds,
        ),
        ("tidegate_commits", "Commits since the start.", statistics.commits),
        ("tidegate_failed_commits", "Commits that failed.", statistics.failed_commits),
        (
            "tidegate_commit_seconds",
            "Time spent in commits, all together.",
            statistics.commit_seconds,
        ),
        (
            "tidegate_last_commit_seconds",
            "How long the last commit took.",
            statistics.last_commit_seconds,
        ),
        (
            "tidegate_longest_write_seconds",
            "The longest that one change held up commits since the start, without the flush.",
            statistics.longest_write_seconds,
        ),
        (
            "tidegate_index_lag",
            "Decisions in the log that searches and counts do not know yet.",
            statistics.committed_seq - statistics.indexed_seq,
        ),
        (
            "tidegate_index_failing",
            "1 while the index cannot get on.",
            float(statistics.index_error is not None),
        ),
    ]
